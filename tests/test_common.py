"""scikit-learn's own battery: nothing may fail but what an algorithm cannot have."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hingeline import LASVC, WorstViolatorSVC

ORDER = "learns example by example: a sample of weight two is one visit, two equal samples are two"


def expected_failures(estimator):
    if not isinstance(estimator, LASVC) or estimator.finish:
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": ORDER,
        "check_sample_weight_equivalence_on_sparse_data": ORDER,
    }


@parametrize_with_checks(
    [
        WorstViolatorSVC(),
        WorstViolatorSVC(kernel="precomputed"),
        WorstViolatorSVC(n_jobs=2),
        LASVC(),
        LASVC(variant="i"),
        LASVC(variant="g", multi_class="ovr", n_jobs=2),
        LASVC(variant="full", finish=True, tol=1e-12),
        LASVC(variant="lasvm", finish=True, tol=1e-12),
        LASVC(kernel="precomputed"),
        LASVC(kernel="precomputed", variant="full", finish=True),
    ],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)
