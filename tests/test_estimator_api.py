"""Batch and online classifiers as scikit-learn's estimators: parameters, copies, attributes, meta-estimators."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hingeline import LASVC, KernelSGDClassifier, WorstViolatorSVC

from .citizens import MODELS, fingerprint, problem
from .copies import COPIES

FITTED = {
    "support_",
    "support_vectors_",
    "n_support_",
    "dual_coef_",
    "intercept_",
    "decision_scale_",
    "n_iter_",
    "worst_margin_",
    "n_kernel_evals_",
    "stop_reason_",
    "history_",
    "classes_",
    "class_weight_",
    "n_features_in_",
}

# ---- parameters and copies -----------------------------------------------------------------------------

SHARED = {
    "kernel": "poly",
    "gamma": 0.5,
    "degree": 2,
    "coef0": 1.0,
    "class_weight": "balanced",
    "cache_size": 10,
    "random_state": 3,
    "n_jobs": 2,
    "decision_function_shape": "ovo",
}
OTHER_PARAMETERS = {
    "margin": 0.5,
    "cap": 0.25,
    "learning_rate": "inverse",
    "fit_intercept": False,
    **SHARED,
}

OTHER_PARAMETERS_ONLINE = {
    "variant": "full",
    "C": 2.0,
    "s": -0.5,
    "n_epochs": 2,
    "tol": 1e-2,
    "solver_options": {"tau": 1e-2, "reprocess": "paper", "clean_period": None, "max_non_sv": 7, "warm_sv": 3},
    "max_iter": 500,
    "multi_class": "ovr",
    **SHARED,
}

OTHER_PARAMETERS_SGD = {
    "variant": "olsvm_reg",
    "C": 2.0,
    "n_epochs": 2,
    "learning_rate": "inverse",
    "decay_first": True,
    "fit_intercept": True,
    "average": "all",
    "truncate": 1e-3,
    "multi_class": "ovr",
    **SHARED,
}


@pytest.mark.parametrize(
    ("model", "others"),
    [
        (WorstViolatorSVC(), OTHER_PARAMETERS),
        (LASVC(), OTHER_PARAMETERS_ONLINE),
        (KernelSGDClassifier(), OTHER_PARAMETERS_SGD),
    ],
)
def test_parameters_go_round(model, others):
    defaults = model.get_params()
    assert defaults.keys() == others.keys()
    assert all(defaults[name] != value for name, value in others.items())
    assert model.set_params(**others) is model
    assert model.get_params() == type(model)(**others).get_params() == others
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*problem())
    assert vars(clone(model)) == others


def test_unknown_parameter():
    with pytest.raises(ValueError, match="Invalid parameter 'nu'"):
        WorstViolatorSVC().set_params(nu=0.5)


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("learner", [WorstViolatorSVC, LASVC, KernelSGDClassifier])
def test_copies_are_the_same_to_the_bit(learner, kind, copied):
    make, parameters = MODELS[kind]
    X, y = problem()
    X = make(X)
    model = learner(**parameters, random_state=0).fit(X, y)
    expected = fingerprint(model, X)
    one = COPIES[copied](model)
    model.fit(X, y[::-1])
    assert fingerprint(COPIES[copied](one), X) == fingerprint(one, X) == expected
    assert one.history_["seconds"].tolist() == COPIES[copied](one).history_["seconds"].tolist()
    assert one.get_params().keys() == model.get_params().keys()


def test_feature_names():
    pd = pytest.importorskip("pandas")
    X, y = problem()
    model = WorstViolatorSVC().fit(pd.DataFrame(X, columns=[*"vwxyz"]), y)
    assert model.feature_names_in_.tolist() == [*"vwxyz"]
    assert model.n_features_in_ == 5
    model.fit(X[:, :3], y)
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")


# ---- attributes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_shapes_and_types(n_classes, dtype, container):
    X, y = problem(n_classes=n_classes, dtype=dtype)
    model = WorstViolatorSVC().fit(container(X), y)
    n_pairs, n_support = n_classes * (n_classes - 1) // 2, len(model.support_)
    expected = {
        "support_": ((n_support,), np.int32),
        "support_vectors_": ((n_support, 5), dtype),
        "n_support_": ((n_classes,), np.int32),
        "dual_coef_": ((n_classes - 1, n_support), np.float64),
        "intercept_": ((n_pairs,), np.float64),
        "decision_scale_": ((n_pairs,), np.float64),
        "n_iter_": ((n_pairs,), np.int64),
        "classes_": ((n_classes,), y.dtype),
        "class_weight_": ((n_classes,), np.float64),
    }
    assert {name: (getattr(model, name).shape, getattr(model, name).dtype.type) for name in expected} == {
        name: (shape, np.dtype(kind).type) for name, (shape, kind) in expected.items()
    }
    assert model.stop_reason_.shape == (n_pairs,)
    assert model.n_support_.sum() == n_support
    assert sp.issparse(model.support_vectors_) == (container is sp.csr_matrix)
    rows = model.support_vectors_.toarray() if sp.issparse(model.support_vectors_) else model.support_vectors_
    assert (rows == X[model.support_]).all()
    assert (np.repeat(np.arange(n_classes), model.n_support_) == y[model.support_]).all()
    assert type(model.n_kernel_evals_) is int
    assert {name for name in vars(model) if name.endswith("_")} == FITTED


def test_precomputed_stores_no_rows():
    X, y = problem()
    assert WorstViolatorSVC(kernel="precomputed").fit(X @ X.T, y).support_vectors_.size == 0


def test_classes_are_sorted():
    X, y = problem()
    model = WorstViolatorSVC().fit(X, np.array(["pear", "apple", "fig"])[y])
    assert model.classes_.tolist() == ["apple", "fig", "pear"]
    assert model.score(X, np.array(["pear", "apple", "fig"])[y]) > 0.7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_gamma_is_that_of_scikit_learn(container, dtype):
    X, y = problem(d=7, dtype=dtype)
    X = X + dtype(3)
    for gamma, value in {"scale": 1 / (7 * X.astype(np.float64).var()), "auto": 1 / 7}.items():
        model, other = (WorstViolatorSVC(gamma=choice).fit(container(X), y) for choice in (gamma, value))
        assert model.support_.tolist() == other.support_.tolist()
        np.testing.assert_allclose(
            model.decision_function(X), other.decision_function(X), rtol=0, atol=1e-5 if dtype == np.float32 else 1e-12
        )


@pytest.mark.parametrize("margin", [0.1, 0.5])
def test_history(margin):
    X, y = problem(n=1500, n_classes=2)
    model = WorstViolatorSVC(margin=margin).fit(X, y)
    history = model.history_
    assert set(history) == {"machine", "step", "seconds", "n_support", "worst_margin", "kernel_evals"}
    assert len({len(column) for column in history.values()}) == 1
    assert len(history["step"]) > 3
    assert (np.diff(history["seconds"]) >= 0).all()
    assert history["seconds"][0] > 0
    assert (np.diff(history["step"]) >= 0).all()
    assert (np.diff(history["kernel_evals"]) >= 0).all()
    assert history["step"][-1] == history["n_support"][-1] == model.n_iter_[0]
    assert history["kernel_evals"][-1] == model.n_kernel_evals_
    assert model.stop_reason_ == ["margin"]
    assert history["worst_margin"][-1] >= margin > history["worst_margin"][:-1].max()


def test_history_of_several_pairs():
    model = WorstViolatorSVC(n_jobs=2).fit(*problem())
    history = model.history_
    assert (np.diff(history["machine"]) >= 0).all()
    last = [np.flatnonzero(history["machine"] == pair)[-1] for pair in range(3)]
    assert history["step"][last].tolist() == model.n_iter_.tolist()
    assert history["kernel_evals"][last].sum() == model.n_kernel_evals_
    reached = model.stop_reason_ == "margin"
    assert reached.any()
    assert ((history["worst_margin"][last] >= 0.1) == reached).all()


# ---- meta-estimators -----------------------------------------------------------------------------------


def searched():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), WorstViolatorSVC())
    grid = {"worstviolatorsvc__margin": [0.1, 0.5], "worstviolatorsvc__gamma": [0.01, 0.5]}
    return GridSearchCV(pipeline, grid, cv=3).fit(X, y)


def test_pipeline_and_grid_search():
    X, y = load_iris(return_X_y=True)
    search = searched()
    assert search.best_score_ > 0.93
    best = search.best_estimator_[-1]
    assert best.gamma == search.best_params_["worstviolatorsvc__gamma"]
    scaled = StandardScaler().fit_transform(X)
    assert fingerprint(best, scaled) == fingerprint(clone(best).fit(scaled, y), scaled)


@pytest.mark.parametrize(
    ("learner", "grid", "precomputed"),
    [
        (LASVC, {"lasvc__variant": ["nc", "i"]}, LASVC(kernel="precomputed", variant="lasvm", tol=1e-3)),
        (
            KernelSGDClassifier,
            {"kernelsgdclassifier__variant": ["olsvm", "olsvm_reg"]},
            KernelSGDClassifier(kernel="precomputed", variant="olsvm_reg", n_epochs=20, random_state=0),
        ),
    ],
)
def test_streams_in_a_search(learner, grid, precomputed):
    X, y = load_iris(return_X_y=True)
    grid = {**grid, f"{learner.__name__.lower()}__C": [0.1, 10.0]}
    search = GridSearchCV(make_pipeline(StandardScaler(), learner(random_state=0)), grid).fit(X, y)
    assert search.best_score_ > 0.93
    assert cross_val_score(precomputed, X @ X.T, y, cv=3).min() > 0.9
    weights = np.linspace(0.5, 1.5, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = learner(random_state=0).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, model).fit(X, y, sample_weight=weights)
        alone = learner(random_state=0).fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
        assert fingerprint(routed[-1], X) == fingerprint(alone, X)


def test_metadata_routing():
    expected = searched().cv_results_["mean_test_score"]
    with sklearn.config_context(enable_metadata_routing=True):
        assert (searched().cv_results_["mean_test_score"] == expected).all()
        assert not WorstViolatorSVC().get_metadata_routing().consumes("fit", ["sample_weight"])


def test_cross_validation_slices_kernel_matrices():
    """Digits are integers, so both ways to the kernel are exact."""
    X, y = (a[:300] for a in load_digits(return_X_y=True))
    expected = cross_val_score(WorstViolatorSVC(kernel="linear"), X, y, cv=3)
    assert expected.min() > 0.85
    assert (cross_val_score(WorstViolatorSVC(kernel="precomputed"), X @ X.T, y, cv=3) == expected).all()


def test_calibration():
    X, y = load_iris(return_X_y=True)
    model = CalibratedClassifierCV(WorstViolatorSVC(), ensemble=False).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (model.classes_[probabilities.argmax(axis=1)] == y).mean() > 0.9


def test_one_vs_rest():
    X, y = load_iris(return_X_y=True)
    model = OneVsRestClassifier(WorstViolatorSVC(gamma=0.5)).fit(X, y)
    columns = [WorstViolatorSVC(gamma=0.5).fit(X, y == c).decision_function(X) for c in range(3)]
    assert (model.decision_function(X) == np.column_stack(columns)).all()
    assert model.score(X, y) > 0.9


# ---- warnings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_nothing_is_deprecated(kind):
    make, parameters = MODELS[kind]
    X, y = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = WorstViolatorSVC(**parameters).fit(make(X), y)
        model.predict(make(X))
        clone(model)
        repr(model)
        model._repr_html_()
        pickle.dumps(model)


def test_warning_about_the_cap():
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match="3 of 3 class pairs used up cap=0.01"):
        model = WorstViolatorSVC(cap=0.01).fit(X, y)
    assert set(model.stop_reason_) == {"cap"}
    assert (model.n_iter_ == 1).all()
