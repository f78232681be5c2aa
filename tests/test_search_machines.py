"""KernelSearchCV with regressors, nu machines and outlier detectors: scores of separate fits, to the bit."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import make_scorer
from sklearn.model_selection import ShuffleSplit, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hingeline import SVR, NuSVC, NuSVR, OneClassSVM
from hingeline.model_selection import KernelSearchCV, default_param_grid, nested_cross_validate

from .test_search import SCORES, assert_same, both, samples


def _digest(y, predictions):
    """All bits of the predictions in one number."""
    return float(np.ascontiguousarray(predictions).view(np.int64).sum() % 2**50)


TARGET_SCORES = {"r2": "r2", "mae": "neg_mean_absolute_error", "bits": make_scorer(_digest)}
OUTLIER_SCORES = SCORES | {"auc": "roc_auc", "f1": "f1"}
#: Grid, scores, and the score that chooses.
CASES = {
    SVR: ({"C": [100.0, 0.1, 3.0], "gamma": [0.05, 5.0], "epsilon": [0.0, 0.2]}, TARGET_SCORES, "r2"),
    NuSVR: ({"C": [100.0, 0.1], "gamma": [0.05, 5.0], "nu": [0.25, 0.6]}, TARGET_SCORES, "mae"),
    NuSVC: ({"nu": [0.23, 0.6], "gamma": [0.05, 5.0]}, SCORES, "accuracy"),
    OneClassSVM: ({"nu": [0.13, 0.6], "gamma": [0.05, 5.0]}, OUTLIER_SCORES, "auc"),
}
PATHS = {SVR: "C", NuSVR: "nu", NuSVC: "nu", OneClassSVM: "nu"}


def data(estimator, n=90, dtype=np.float64):
    """Samples, and what the estimator or its scores compare answers with."""
    X, y = samples(n, dtype=dtype)
    if estimator is OneClassSVM:
        return X, np.where(y == 0, -1, 1)
    return X, y if estimator is NuSVC else np.sin(X[:, 0]) + X[:, 1] / 4


@pytest.mark.parametrize("estimator", list(CASES))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_are_those_of_separate_fits(estimator, dtype):
    grid, scores, best = CASES[estimator]
    X, y = data(estimator, dtype=dtype)
    ours, theirs = both(estimator(), grid, X, y, scoring=scores, refit=best, return_train_score=True)
    assert ours.kernel_storage_ == "matrix"
    assert_same(ours, theirs)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("estimator", list(CASES))
def test_forms_of_the_samples(estimator):
    grid, scores, best = CASES[estimator]
    X, y = data(estimator)
    X[np.abs(X) < 0.5] = 0.0
    weight = np.random.default_rng(1).integers(1, 4, len(y)) / 2
    options = {"scoring": scores, "refit": best}
    assert_same(*both(estimator(), grid, sp.csr_array(X), y, **options))
    weighted = {"scoring": scores[best], "fit": {"sample_weight": weight}}
    assert_same(*both(estimator(kernel="linear", shrinking=False), grid, X, y, **weighted))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    grid = {name: values for name, values in grid.items() if name != "gamma"}
    assert_same(*both(estimator(kernel="precomputed"), grid, K, y, **options))
    assert_same(*both(estimator(), grid, X, y, cv=ShuffleSplit(2, random_state=0), **options))  # gamma="scale"


@pytest.mark.parametrize("estimator", list(CASES))
def test_many_rows_in_single_precision(estimator):
    grid, scores, best = CASES[estimator]
    X, y = data(estimator, 1200)
    grid = {name: values[-1:] if name == "gamma" else values[1:] for name, values in grid.items()}
    split = ShuffleSplit(1, train_size=1000, random_state=0)
    ours, theirs = both(estimator(tol=0.01), grid, X, y, cv=split, scoring=scores, refit=best)
    assert ours.kernel_storage_ == "rows"
    assert_same(ours, theirs)


@pytest.mark.parametrize("estimator", list(CASES))
def test_classes_of_scikit_learn(estimator):
    X, y = data(estimator)
    theirs_class = getattr(sklearn.svm, estimator.__name__)
    scoring = {"scoring": "roc_auc"} if estimator is OneClassSVM else {}
    ours, theirs = both(theirs_class(tol=1e-9, gamma=0.3), {PATHS[estimator]: CASES[estimator][0][PATHS[estimator]]},
                        X, y, **scoring)  # fmt: skip
    assert type(ours.best_estimator_) is theirs_class
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-5)


@pytest.mark.parametrize("estimator", [SVR, OneClassSVM])
def test_nested_scores_are_those_of_cross_validate(estimator):
    X, y = data(estimator)
    grid = CASES[estimator][0]
    pipe = make_pipeline(StandardScaler(), estimator())
    scoring = "roc_auc" if estimator is OneClassSVM else None
    for model, own in ((estimator(), grid), (pipe, {f"{estimator.__name__.lower()}__{k}": v for k, v in grid.items()})):
        result = nested_cross_validate(model, X, y, own, outer=3, inner=2, scoring=scoring)
        expected = cross_validate(KernelSearchCV(model, own, cv=2, scoring=scoring), X, y, cv=3, scoring=scoring)
        np.testing.assert_array_equal(result.test_score, expected["test_score"])


def test_threads_and_memory_do_not_change_scores():
    X, y = data(SVR, 300)
    _, scores, best = CASES[SVR]
    grid = {"C": [0.1, 3.0], "gamma": [0.3, 5.0]}
    expected = KernelSearchCV(SVR(), grid, scoring=scores, refit=best).fit(X, y)
    again = KernelSearchCV(SVR(), grid, scoring=scores, refit=best, n_jobs=2, memory_limit=0.3)
    with pytest.warns(UserWarning, match="three quarters of memory_limit=0.3"):
        assert_same(again.fit(X, y), expected)


def test_halving_takes_parts_of_the_rows_of_a_regression():
    X, y = data(SVR, 2000)
    grid = {"C": [0.01, 1.0, 100.0], "gamma": [0.001, 0.1, 10.0]}
    search = KernelSearchCV(SVR(tol=0.1), grid, search="halving", cv=2).fit(X, y)
    assert sorted(set(search.cv_results_["n_resources"])) == [112, 334, 1000]
    assert search.best_score_ > 0.95


def test_search_spaces_follow_the_unit_of_the_targets():
    X, y = data(SVR)
    plain, scaled = (default_param_grid(SVR(), X, k * y) for k in (1.0, 1024.0))
    assert set(plain) == {"C", "epsilon", "gamma"}
    assert scaled["C"] == [1024 * value for value in plain["C"]]
    assert scaled["epsilon"] == [1024 * value for value in plain["epsilon"]]
    assert scaled["gamma"] == plain["gamma"]
    assert set(default_param_grid(NuSVR(), X, y)) == {"C", "nu", "gamma"}
    assert default_param_grid(OneClassSVM(kernel="linear"), X) == {"nu": [0.01, 0.05, 0.2]}
    assert default_param_grid(SVR(), X, np.ones(90))["C"] == [1.0, 10.0, 100.0]
    with pytest.raises(ValueError, match="y is needed"):
        default_param_grid(SVR(), X)
    labels = np.repeat([0, 1], [9, 81])
    assert max(default_param_grid(NuSVC(), X, labels)["nu"]) == pytest.approx(0.6 * 0.2)
    assert KernelSearchCV(NuSVC()).fit(X, labels).best_score_ >= 0.8  # each nu is feasible


def test_failing_cells():
    X, _ = samples()
    y = np.repeat([0, 1], [9, 81])
    with pytest.warns(FitFailedWarning, match="3 fits failed"), pytest.warns(UserWarning, match="non-finite"):
        search = KernelSearchCV(NuSVC(), {"nu": [0.1, 0.9]}, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"][0])
    assert np.isnan(search.cv_results_["mean_test_score"][1])
    with pytest.raises(ValueError, match="Unknown label type"):
        KernelSearchCV(SVR(), {"C": [1.0]}, error_score="raise").fit(X, ["a"] * 90)
    with pytest.raises(TypeError, match="score"):
        KernelSearchCV(OneClassSVM(), {"nu": [0.1]}).fit(X, y)


def test_searches_of_outlier_detectors_may_do_without_labels():
    X, _ = samples()
    grid = {"nu": [0.1, 0.5]}

    def boundary(model, X, y=None):
        return -abs(float(np.mean(model.predict(X) < 0)) - 0.1)

    assert KernelSearchCV(OneClassSVM(gamma=0.1), grid, scoring=boundary).fit(X).best_params_ == {"nu": 0.1}
