"""scikit-learn's own battery: nothing may fail but what an algorithm cannot have."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hingeline import LASVC, WorstViolatorSVC

ORDER = "learns example by example: a sample of weight two is one visit, two equal samples are two"
NO_BIAS = "kernel values of nearly zero, where only a constant could speak for a class"


def expected_failures(estimator):
    if not isinstance(estimator, LASVC):
        return {}
    failures = {}
    if not estimator.finish:
        failures |= {f"check_sample_weight_equivalence_on_{form}_data": ORDER for form in ("dense", "sparse")}
    if (estimator.kernel == "precomputed" or estimator.gamma == 1.0) and estimator.variant != "lasvm":
        failures |= {"check_class_weight_classifiers": NO_BIAS}
    return failures


@parametrize_with_checks(
    [
        WorstViolatorSVC(),
        WorstViolatorSVC(kernel="precomputed"),
        WorstViolatorSVC(n_jobs=2),
        LASVC(),
        LASVC(variant="i"),
        LASVC(variant="g", multi_class="ovr", n_jobs=2),
        # gamma='scale' knows no weights.
        LASVC(variant="full", finish=True, tol=1e-15, max_iter=200_000, gamma=1.0),
        LASVC(variant="lasvm", finish=True, tol=1e-15, max_iter=200_000, gamma=1.0),
        LASVC(kernel="precomputed"),
        LASVC(kernel="precomputed", variant="lasvm"),
    ],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)
