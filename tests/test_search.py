"""KernelSearchCV: scores of separate fits, to the bit, and the interface of GridSearchCV."""

import pickle
import threading
import warnings
from contextlib import nullcontext
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import sklearn.svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, ShuffleSplit, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from hingeline import L2SVC, LASVC, SVC, LinearSVC, NystroemMap, WorstViolatorSVC
from hingeline._registry import ESTIMATORS, class_of
from hingeline._sklearn import route_parameters
from hingeline.model_selection import KernelSearchCV, default_param_grid, evaluator, nested_cross_validate, shared

GRIDS = {
    SVC: {"C": [100.0, 0.1, 3.0], "gamma": [0.05, 5.0]},
    WorstViolatorSVC: {"margin": [0.3, 0.01, 1.0], "gamma": [0.05, 5.0]},
    L2SVC: {"C": [0.5, 20.0], "gamma": [0.1], "solver": ["auto", "nnisda"]},
}


def samples(n=90, n_classes=3, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return (rng.normal(size=(n, 4)) + 1.5 * np.eye(n_classes, 4)[y]).astype(dtype), y


def _digest(y, decisions):
    """All bits of the decision values in one number."""
    return float(np.ascontiguousarray(decisions).view(np.int64).sum() % 2**50)


SCORES = {"accuracy": "accuracy", "bits": make_scorer(_digest, response_method="decision_function")}


def results_of(search):
    return {name: value for name, value in search.cv_results_.items() if "time" not in name}


def assert_same(ours, theirs):
    """Both searches have the same results, to the bit."""
    expected = results_of(theirs)
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(ours.cv_results_[name], value, err_msg=name)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_


def refused(*args, **kwargs):
    raise AssertionError("a cell was fitted by itself")


def both(estimator, grid, X, y, fit=None, shared=True, **options):
    """Search by KernelSearchCV, with shared kernel values for all cells unless told otherwise, and by GridSearchCV."""
    options.setdefault("cv", 2)
    way = mock.patch.object(evaluator, "fit_and_score", refused) if shared else nullcontext()
    with way:
        ours = KernelSearchCV(estimator, grid, **options).fit(X, y, **(fit or {}))
    return ours, GridSearchCV(clone(estimator), grid, **options).fit(X, y, **(fit or {}))


# ---- scores ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", list(GRIDS))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_are_those_of_separate_fits(estimator, n_classes, dtype):
    X, y = samples(n_classes=n_classes, dtype=dtype)
    options = {"scoring": SCORES, "refit": "accuracy", "return_train_score": True}
    ours, theirs = both(estimator(), GRIDS[estimator], X, y, **options)
    assert ours.kernel_storage_ == "matrix"
    assert_same(ours, theirs)
    np.testing.assert_array_equal(ours.decision_function(X), theirs.decision_function(X))


@pytest.mark.parametrize("estimator", [SVC, WorstViolatorSVC])
@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid"])
def test_other_kernels(estimator, kernel):
    X, y = samples()
    own = estimator(kernel=kernel, coef0=1.0)
    if estimator is WorstViolatorSVC:
        own.set_params(margin=1e-3)
    ours, theirs = both(own, {"gamma": [0.05, 0.2]}, X, y, scoring=SCORES, refit="accuracy")
    assert ours.kernel_storage_ == "matrix"
    assert_same(ours, theirs)


@pytest.mark.parametrize("estimator", list(GRIDS))
def test_forms_of_the_samples(estimator):
    X, y = samples()
    grid = GRIDS[estimator]
    X[np.abs(X) < 0.5] = 0.0
    options = {"scoring": SCORES, "refit": "accuracy"}
    assert_same(*both(estimator(), grid, sp.csr_array(X), y, **options))
    assert_same(*both(estimator(), grid, np.asfortranarray(X), [f"label {k}" for k in y], **options))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    grid = {name: values for name, values in grid.items() if name != "gamma"}
    assert_same(*both(estimator(kernel="precomputed"), grid, K, y, **options))


@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_by_name(gamma):
    X, y = samples()
    for estimator in (SVC, WorstViolatorSVC):
        assert_same(*both(estimator(), {"gamma": [gamma, 0.3]}, X, y, scoring=SCORES, refit="accuracy"))


@pytest.mark.parametrize("estimator", [SVC, WorstViolatorSVC, L2SVC])
def test_weights_and_class_weights(estimator):
    X, y = samples()
    weight = np.random.default_rng(1).integers(0, 4, len(y)) / 2
    grid = {**GRIDS[estimator], "class_weight": [None, "balanced", {0: 3.0}]}
    ours, theirs = both(estimator(), grid, X, y, fit={"sample_weight": weight})
    assert ours.kernel_storage_ == "matrix"
    assert_same(ours, theirs)


def test_splits_of_any_kind():
    """Rows in any order, rows that are left out, rows that are repeated."""
    X, y = samples()
    rng = np.random.default_rng(2)
    bootstrap = [(rng.integers(0, 90, 60), rng.integers(0, 90, 20)) for _ in range(2)]
    groups = np.arange(90) % 5
    for estimator in (SVC(), WorstViolatorSVC()):
        options = {"scoring": SCORES, "refit": "accuracy"}
        assert_same(*both(estimator, GRIDS[type(estimator)], X, y, cv=bootstrap, **options))
        assert_same(*both(estimator, GRIDS[type(estimator)], X, y, cv=ShuffleSplit(2, random_state=0), **options))
        assert_same(*both(estimator, GRIDS[type(estimator)], X, y, cv=GroupKFold(2), fit={"groups": groups}, **options))


def test_many_rows_in_single_precision():
    """SVC with 1000 training rows or more computes in single precision, and so does the search."""
    X, y = samples(1600, 2, seed=3)
    ours, theirs = both(SVC(), {"C": [1.0, 30.0], "gamma": [0.5]}, X, y, cv=3, scoring=SCORES, refit="accuracy")
    assert ours.kernel_storage_ == "rows"
    assert_same(ours, theirs)


def test_newton_steps_along_C():
    """Ill-conditioned problems: steps on all free points, some of which reach the bound."""
    X, y = samples(80, 2)
    grid = {"C": [1.0, 1e3, 1e6], "kernel": ["linear", "poly"]}
    assert_same(*both(SVC(gamma=0.3, coef0=1.0), grid, X, y, scoring=SCORES, refit="accuracy"))


def test_many_rows_in_a_matrix_and_without():
    """A matrix pays if there are many features, or many splits of few samples."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2100)
    for n_features, storage in ((3, "rows"), (600, "matrix")):
        X = rng.normal(size=(2100, n_features)) + y[:, np.newaxis]
        splits = [(np.arange(k, 300 + k), np.arange(400 + k, 500 + k)) for k in range(10)]
        grid = {"margin": [0.1, 1.0], "gamma": [0.1 / n_features, 1.0 / n_features]}
        ours, theirs = both(WorstViolatorSVC(), grid, X, y, cv=splits, scoring=SCORES, refit="accuracy")
        assert ours.kernel_storage_ == storage
        assert_same(ours, theirs)


def test_a_matrix_pays_earlier_if_each_C_is_trained_from_zero():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 2100)
    X = rng.normal(size=(2100, 64)) + y[:, np.newaxis]
    splits = [(np.arange(k, 300 + k), np.arange(400 + k, 500 + k)) for k in range(10)]
    for estimator, name, storage in ((WorstViolatorSVC(), "margin", "rows"), (L2SVC(), "C", "matrix")):
        grid = {name: [0.1, 0.5, 1.0], "gamma": [0.001, 0.01]}
        ours, theirs = both(estimator, grid, X, y, cv=splits, scoring=SCORES, refit="accuracy")
        assert ours.kernel_storage_ == storage
        assert_same(ours, theirs)


def test_options_of_the_estimators():
    X, y = samples()
    for estimator, grid in (
        (SVC(decision_function_shape="ovo"), {"C": [1.0, 5.0], "shrinking": [True, False]}),
        (SVC(break_ties=True, gamma=3.0), {"C": [0.01, 1.0]}),
        (WorstViolatorSVC(random_state=3), {"cap": [0.2, 1.0], "margin": [0.1, 0.2]}),
        (L2SVC(multi_class="all"), {"C": [1.0, 5.0], "solver": ["min_norm_mdm", "min_norm"]}),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert_same(*both(estimator, grid, X, y, scoring=SCORES, refit="accuracy"))


def test_svc_of_scikit_learn():
    X, y = samples()
    ours, theirs = both(sklearn.svm.SVC(tol=1e-8), GRIDS[SVC], X, y)
    assert ours.kernel_storage_ == "matrix"
    assert type(ours.best_estimator_) is sklearn.svm.SVC
    assert_same(ours, theirs)


# ---- sharing -----------------------------------------------------------------------------------------


def test_c_has_no_effect_on_worst_violators():
    X, y = samples()
    plain = KernelSearchCV(WorstViolatorSVC(), {"gamma": [0.1, 1.0]}).fit(X, y)
    search = KernelSearchCV(WorstViolatorSVC(), {"C": [1.0, 10.0, 100.0], "gamma": [0.1, 1.0]}).fit(X, y)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], np.tile(plain.cv_results_["mean_test_score"], 3)
    )
    assert search.best_params_ == {"C": 1.0, **plain.best_params_}
    assert not hasattr(search.best_estimator_, "C")
    with pytest.raises(ValueError, match="Invalid parameter 'D'"):
        KernelSearchCV(WorstViolatorSVC(), {"D": [1.0]}, error_score="raise").fit(X, y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_do_not_depend_on_threads_and_memory(n_jobs):
    X, y = samples(300)
    for estimator in (SVC, WorstViolatorSVC, L2SVC):
        grid = GRIDS[estimator]
        expected = KernelSearchCV(estimator(), grid, scoring=SCORES, refit="accuracy").fit(X, y)
        assert expected.kernel_storage_ == "matrix"
        again = KernelSearchCV(estimator(), grid, scoring=SCORES, refit="accuracy", n_jobs=n_jobs, memory_limit=0.3)
        with pytest.warns(UserWarning, match="three quarters of memory_limit=0.3"):
            again.fit(X, y)
        assert again.kernel_storage_ == "blocks"
        assert_same(again, expected)


@pytest.mark.parametrize("estimator", [SVC, WorstViolatorSVC, sklearn.svm.SVC])
def test_pipelines_are_fitted_once_for_each_split(estimator):
    X, y = samples()
    calls = []

    class Scaler(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            calls.append(len(X))
            return super().fit(X, y, sample_weight)

    grid = GRIDS.get(estimator, GRIDS[SVC])
    grid = {f"machine__{name}": values for name, values in grid.items()}
    pipe = Pipeline(
        [("scale", Scaler()), ("machine", estimator(**({"tol": 1e-8} if estimator is sklearn.svm.SVC else {})))]
    )
    ours = KernelSearchCV(pipe, grid, cv=3).fit(X * [1, 10, 100, 1], y)
    assert len(calls) == 4  # 3 splits and the last fit
    assert_same(ours, GridSearchCV(pipe, grid, cv=3).fit(X * [1, 10, 100, 1], y))
    mixed = {"scale__with_mean": [True, False], **grid}
    assert_same(KernelSearchCV(pipe, mixed, cv=2).fit(X, y), GridSearchCV(pipe, mixed, cv=2).fit(X, y))


def test_pipelines_without_arguments():
    X, y = samples()
    pipe = make_pipeline(StandardScaler(), WorstViolatorSVC())
    search = KernelSearchCV(pipe).fit(X * [1, 10, 100, 1000], y)
    assert search.kernel_storage_ == "matrix"
    assert set(search.best_params_) == {"worstviolatorsvc__gamma", "worstviolatorsvc__margin"}
    result = nested_cross_validate(pipe, X, y, outer=3, inner=3)
    expected = cross_validate(KernelSearchCV(pipe, cv=3), X, y, cv=3)
    np.testing.assert_array_equal(result.test_score, expected["test_score"])
    both_names = {"worstviolatorsvc__C": [1.0, 2.0], "worstviolatorsvc__gamma": [0.1]}
    assert KernelSearchCV(pipe, both_names).fit(X, y).best_params_["worstviolatorsvc__C"] == 1.0


# ---- errors and other estimators ---------------------------------------------------------------------


def test_failing_cells():
    X, y = samples()
    alone = np.flatnonzero(y == 0)[:20]  # one class: the fit fails
    splits = [(alone, np.arange(30)), (np.arange(60), np.arange(60, 90))]
    with pytest.warns(FitFailedWarning, match="3 fits failed"), pytest.warns(UserWarning, match="non-finite"):
        search = KernelSearchCV(SVC(), {"gamma": [0.1, 0.2, 0.3]}, cv=splits).fit(X, y)
    assert np.isnan(search.cv_results_["split0_test_score"]).all()
    assert np.isfinite(search.cv_results_["split1_test_score"]).all()
    with pytest.raises(ValueError, match="number of classes"):
        KernelSearchCV(SVC(), {"gamma": [0.1]}, cv=splits, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match="C must be"):
        KernelSearchCV(SVC(), {"C": [1.0, -1.0]}, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        KernelSearchCV(SVC(), {"C": [1.0, 2.0]}, error_score="raise").fit(np.where(X > 1, np.nan, X), y)


def test_warnings_of_the_fits_are_summarised():
    X, y = samples()
    with pytest.warns(ConvergenceWarning, match="10 warnings about 10 fits of the search") as caught:
        KernelSearchCV(SVC(max_iter=3), {"C": [1.0, 10.0]}, cv=5, refit=False).fit(X, y)
    assert len(caught) == 1


@pytest.mark.parametrize("estimator", [LASVC(), SVC(kernel=lambda A, B: A @ B.T)], ids=["LASVC", "callable"])
def test_other_estimators_are_fitted(estimator):
    X, y = samples(60)
    ours, theirs = both(estimator, {"C": [0.5, 5.0]}, X, y, shared=False)
    assert_same(ours, theirs)


def test_scorers_that_need_an_estimator():
    X, y = samples()

    def n_support(estimator, X, y):
        return -len(estimator.support_)

    assert_same(*both(SVC(), GRIDS[SVC], X, y, scoring=n_support, shared=False))
    assert KernelSearchCV(SVC(), GRIDS[SVC], scoring=n_support).fit(X, y).kernel_storage_ == "none"


def test_search_spaces_do_not_depend_on_units():
    X, y = samples()
    plain = KernelSearchCV(WorstViolatorSVC()).fit(X, y)
    scaled = KernelSearchCV(WorstViolatorSVC()).fit(1024 * X, y)
    np.testing.assert_array_equal(plain.cv_results_["mean_test_score"], scaled.cv_results_["mean_test_score"])
    assert plain.param_grid_ == default_param_grid(WorstViolatorSVC(), X)
    assert set(default_param_grid(sklearn.svm.SVC(kernel="linear"), X)) == {"C"}
    assert default_param_grid(SVC(), np.ones((5, 2)))["gamma"]
    with pytest.raises(ValueError, match="param_grid is needed for NystroemMap"):
        default_param_grid(NystroemMap(), X)
    with pytest.raises(ValueError, match="param_grid is needed for GaussianNB"):
        KernelSearchCV(GaussianNB()).fit(X, y)


@pytest.mark.parametrize("name", [row.name for row in ESTIMATORS.values() if row.command_line])
def test_every_estimator_has_a_default_space(name):
    """Its parameters exist, more than one value is tried, and the extremes can be fitted."""
    X, y = samples(60, n_classes=2)
    X = X + 1.0
    model = class_of(name)()
    grid = default_param_grid(model, X, y)
    assert all(len(set(values)) > 1 for values in grid.values()) and grid.keys() <= model.get_params().keys()
    for k in (0, -1):
        tried = clone(model).set_params(**{parameter: values[k] for parameter, values in grid.items()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            tried.fit(X, y)
    if name in ("SVR", "LinearSVR"):
        large = default_param_grid(model, X, 1024 * y)
        assert {one: [value / 1024 for value in large[one]] for one in ("C", "epsilon")} == {
            one: grid[one] for one in ("C", "epsilon")
        }
    far = default_param_grid(model, X * 1024, y)
    assert far.get("gamma", []) == [value / 2**20 for value in grid.get("gamma", [])]


@pytest.mark.parametrize("learner", [LASVC, LinearSVC])
def test_searches_of_estimators_without_a_shared_matrix(learner):
    X, y = samples()
    search = KernelSearchCV(learner(), cv=3).fit(X, y)
    wanted = GridSearchCV(learner(), default_param_grid(learner(), X, y), cv=3).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], wanted.cv_results_["mean_test_score"])


def test_searches_are_estimators():
    X, y = samples()
    search = KernelSearchCV(SVC(), GRIDS[SVC], memory_limit=50)
    assert clone(search).memory_limit == 50
    again = pickle.loads(pickle.dumps(search.fit(X, y)))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    for wrong in ({"memory_limit": 0}, {"search": "best"}, {"progress": "yes"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            clone(search).set_params(**wrong).fit(X, y)


# ---- strategies --------------------------------------------------------------------------------------


def test_pattern_search_finds_the_top_of_a_hill():
    X, y = samples(200)
    grid = {"C": 4.0 ** np.arange(-2, 6), "gamma": 4.0 ** np.arange(-5, 3)}
    full = KernelSearchCV(SVC(), grid).fit(X, y)
    some = KernelSearchCV(SVC(), grid, search="pattern").fit(X, y)
    tried = {(p["C"], p["gamma"]): k for k, p in enumerate(full.cv_results_["params"])}
    rows = [tried[p["C"], p["gamma"]] for p in some.cv_results_["params"]]
    assert len(set(rows)) == len(rows) <= 32
    np.testing.assert_array_equal(some.cv_results_["mean_test_score"], full.cv_results_["mean_test_score"][rows])
    assert some.best_score_ >= full.best_score_ - 0.02
    assert some.cv_results_["params"][0] == {"C": 16.0, "gamma": 0.25}  # the centre
    with pytest.raises(ValueError, match="one dictionary"):
        KernelSearchCV(SVC(), [grid, grid], search="pattern").fit(X, y)
    with pytest.raises(ValueError, match="can be sorted"):
        KernelSearchCV(SVC(), {"gamma": ["scale", 1.0]}, search="pattern").fit(X, y)


def test_pattern_search_leaves_points_that_fail():
    X, y = samples(60, 2)
    grid = {"C": [-3.0, -2.0, -1.0, 0.0, 1.0, 10.0, 100.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = KernelSearchCV(SVC(), grid, search="pattern").fit(X, y)
    assert {"C": 10.0} in search.cv_results_["params"] and np.isfinite(search.best_score_)


@pytest.mark.parametrize("form", [list, lambda rows: np.isin(np.arange(450), rows)], ids=["list", "mask"])
def test_splits_in_any_form(form):
    X, y = samples(450, 2)
    splits = list(StratifiedKFold(3).split(X, y))
    given = [tuple(map(form, split)) for split in splits]
    grid = {"margin": [0.01, 0.1, 1.0], "gamma": [1e-3, 0.1, 1.0, 50.0]}
    for search in ("grid", "halving"):
        ours, theirs = (
            KernelSearchCV(WorstViolatorSVC(), grid, search=search, cv=cv).fit(X, y) for cv in (given, splits)
        )
        np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    ours, theirs = (nested_cross_validate(WorstViolatorSVC(), X, y, grid, outer=cv) for cv in (given, splits))
    np.testing.assert_array_equal(ours.test_score, theirs.test_score)


def test_halving_ends_with_all_rows():
    X, y = samples(1500, 2)
    search = KernelSearchCV(
        WorstViolatorSVC(), {"margin": [0.01, 0.1, 1.0], "gamma": [1e-3, 0.1, 1.0, 50.0]}, search="halving"
    )
    search.fit(X, y)
    rounds, rows = search.cv_results_["iter"], search.cv_results_["n_resources"]
    assert np.bincount(rounds).tolist() == [12, 4, 2]
    assert rows[rounds == 2].tolist() == [1200, 1200]
    assert (rows[rounds == 0] < 140).all()
    assert rounds[search.best_index_] == 2
    assert search.best_score_ == search.cv_results_["mean_test_score"][rounds == 2].max()


# ---- threads and memory ------------------------------------------------------------------------------


def test_splits_with_a_gamma_of_their_own_are_trained_side_by_side(monkeypatch):
    monkeypatch.setattr(shared, "WORTH_THREADS", 0.0)
    both_there, met = threading.Barrier(2), []
    attempt = shared.SharedKernel._attempt

    def meet(self, run, done):
        if threading.current_thread() is not threading.main_thread():
            met.append(both_there.wait(timeout=60))
        return attempt(self, run, done)

    monkeypatch.setattr(shared.SharedKernel, "_attempt", meet)
    X, y = samples()
    search = KernelSearchCV(SVC(gamma="scale"), {"C": [1.0]}, cv=4, n_jobs=2, refit=False).fit(X, y)
    assert sorted(met) == [0, 1]  # the first two of the four runs are made by the main thread
    assert_same(search, GridSearchCV(SVC(gamma="scale"), {"C": [1.0]}, cv=4, refit=False).fit(X, y))


def test_few_threads_and_small_caches_if_newtons_method_takes_much_memory():
    """5,000 rows: 50 MB of held values, 67 of a factor, 20 of landmarks."""
    X, y = np.zeros((5000, 1)), np.arange(5000) % 2
    for limit, solver, threads in ((100, "auto", 1), (300, "auto", 2), (1000, "auto", 4), (100, "min_norm", 4)):
        problem = shared.SearchData(L2SVC(gamma=1.0, solver=solver), X, y, None)
        kernels = shared.SharedKernel(problem, limit * 2**20, 4)
        train = np.arange(4000)
        runs, _ = kernels.runs([shared.Cell({"C": c}, train, train) for c in (1.0, 2.0)])
        kernels.workers = kernels._count_workers(runs)
        assert kernels.workers == threads, limit
        used = threads * (kernels._work(runs[0]) / 2**20 + kernels._cache_size(runs[0]))
        assert used <= limit or threads == 1


# ---- nested ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [SVC, WorstViolatorSVC])
def test_nested_scores_are_those_of_cross_validate(estimator):
    X, y = samples()
    result = nested_cross_validate(estimator(), X, y, GRIDS[estimator], outer=3, inner=4, return_estimator=True)
    search = GridSearchCV(estimator(), GRIDS[estimator], cv=4)
    expected = cross_validate(search, X, y, cv=3, return_estimator=True)
    np.testing.assert_array_equal(result.test_score, expected["test_score"])
    for k, theirs in enumerate(expected["estimator"]):
        assert result.best_params[k] == theirs.best_params_
        assert result.best_score[k] == theirs.best_score_
        np.testing.assert_array_equal(result.cv_results[k]["mean_test_score"], theirs.cv_results_["mean_test_score"])
        np.testing.assert_array_equal(result.estimator[k].predict(X), theirs.predict(X))
    assert "3 outer folds" in repr(result)


def test_nested_with_several_scores_groups_and_weights():
    X, y = samples()
    groups, weight = np.arange(90) % 6, 1.0 + np.arange(90) % 2
    options = {"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro"}
    result = nested_cross_validate(
        SVC(),
        X,
        y,
        GRIDS[SVC],
        outer=GroupKFold(3),
        inner=GroupKFold(2),
        groups=groups,
        sample_weight=weight,
        **options,
    )
    search = GridSearchCV(SVC(), GRIDS[SVC], cv=GroupKFold(2), **options)
    weigh = "sample_weight" in route_parameters(search, {"sample_weight": weight}).scorer.score  # not in 1.6
    for k, (train, test) in enumerate(GroupKFold(3).split(X, y, groups)):
        np.testing.assert_array_equal(result.indices["test"][k], test)
        search.fit(X[train], y[train], groups=groups[train], sample_weight=weight[train])
        assert result.best_params[k] == search.best_params_
        weights = weight[test] if weigh else None
        expected = sklearn.metrics.accuracy_score(y[test], search.predict(X[test]), sample_weight=weights)
        assert result.test_accuracy[k] == expected


@pytest.mark.parametrize("search", ["pattern", "halving"])
def test_nested_strategies_and_default_space(search):
    X, y = samples(150, 2)
    splits = {"outer": StratifiedKFold(3), "inner": StratifiedKFold(3)}
    result = nested_cross_validate(WorstViolatorSVC(), X, y, search=search, **splits)
    expected = cross_validate(KernelSearchCV(WorstViolatorSVC(), search=search, cv=3), X, y, cv=3)
    np.testing.assert_array_equal(result.test_score, expected["test_score"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("memory_limit", 0), ("search", "random"), ("outer", "loo"), ("inner", 2.5), ("progress", 3), ("n_jobs", "2")],
)
def test_errors_about_parameters_name_nested_cross_validate(name, value):
    X, y = samples(60)
    with pytest.raises(ValueError, match=f"The '{name}' parameter of nested_cross_validate must be"):
        nested_cross_validate(SVC(), X, y, GRIDS[SVC], **{name: value})


def test_subclasses_have_a_fit_of_their_own():
    class Fixed(SVC):
        def fit(self, X, y):
            return super().fit(X, np.roll(y, 1))

    X, y = samples(60)
    ours, theirs = both(Fixed(), {"C": [1.0, 5.0]}, X, y, shared=False)
    assert ours.kernel_storage_ == "none"
    assert_same(ours, theirs)
