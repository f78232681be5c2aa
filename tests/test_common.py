"""scikit-learn's own battery: nothing may fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hingeline import WorstViolatorSVC


@parametrize_with_checks(
    [
        WorstViolatorSVC(),
        WorstViolatorSVC(kernel="precomputed"),
        WorstViolatorSVC(n_jobs=2),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)
