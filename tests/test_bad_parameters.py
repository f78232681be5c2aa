"""Bad and extreme parameters are named by the error, or work."""

import numpy as np
import pytest

from hingeline import LASVC, SVC, IncrementalOneClassSVM, IncrementalSVC, KernelSGDClassifier, WorstViolatorSVC

from .citizens import fingerprint, linear_function
from .data import noise as problem

NO_POSITIVE = [0, -1, -0.5, np.nan, np.inf, "1", None, True, [1.0]]

BAD = {
    "margin": NO_POSITIVE,
    "cap": [*NO_POSITIVE, 1.01],
    "learning_rate": ["constant", None, 0.1],
    "cache_size": [*NO_POSITIVE, 1e300],
    "gamma": [-1, -1e-300, np.nan, np.inf, "large", None, True, [1.0], 10**400],
    "degree": [-1, 2.0, 2.5, np.nan, "3", None, True, 2**31],
    "coef0": [np.nan, np.inf, "0", None, 1j],
    "kernel": ["gauss", "RBF", None, 3, ["rbf"]],
    "fit_intercept": [1, 0.0, "yes", None],
    "class_weight": [
        "even",
        1.0,
        [1.0, 2.0],
        {0: 0.0, 1: 1.0},
        {0: -1.0, 1: 1.0},
        {0: np.nan, 1: 1.0},
        {0: np.inf, 1: 1.0},
        {0: 1.0, 2: 1.0},
        {"a": 1.0},
        {0: "heavy", 1: 1.0},
    ],
    "decision_function_shape": ["ova", None, 1],
    "n_jobs": [0, "2"],
}

BAD_ONLINE = {
    "variant": ["NC", None, 1],
    "C": [*NO_POSITIVE, 10**400],
    "s": [1, 1.5, np.nan, np.inf, -np.inf, "0", None],
    "n_epochs": [0, -1, 1.5, "2", None],
    "tol": [-1e-9, np.nan, np.inf, "0"],
    "solver_options": [
        *(1, "paper", [("tau", 1e-3)], {"tau": 1e-3, "period": 7}, {0: 1}),
        *({"tau": bad} for bad in (-1e-9, np.nan, np.inf, "0", None)),
        *({"reprocess": bad} for bad in ("Paper", None, 1)),
        *({"clean_period": bad} for bad in (0, -1, 2.5, "10", np.nan)),
        *({"max_non_sv": bad} for bad in (-1, 2.5, "10", None)),
        *({"warm_sv": bad} for bad in (-1, 2.5, "10")),
        *({"finish": bad} for bad in (True, None, "whole")),
    ],
    "max_iter": [-2, 1.5, "7", None],
    "multi_class": ["ova", None, 1],
    **{name: BAD[name] for name in ("cache_size", "gamma", "degree", "coef0", "kernel", "n_jobs")},
    "decision_function_shape": BAD["decision_function_shape"],
    "class_weight": [weight for weight in BAD["class_weight"] if weight not in ({0: 1.0, 2: 1.0}, {"a": 1.0})],
}

BAD_SGD = {
    "variant": ["OLSVM", "olsvm-reg", "sgd", None, 1],
    "C": [*NO_POSITIVE, 1e101, 10**400],
    "n_epochs": [0, -1, 1.5, "2", None, True, 2**31, 10**30],
    "learning_rate": ["constant", None, 0.1],
    "decay_first": [1, "yes", None],
    "fit_intercept": [1, 0.0, "yes", None],
    "average": [1, "yes", "half", None],
    "truncate": [-1e-9, 1, 1.5, np.nan, np.inf, "0", None, True],
    **{name: BAD_ONLINE[name] for name in ("multi_class", "cache_size", "gamma", "degree", "coef0", "kernel")},
    **{name: BAD_ONLINE[name] for name in ("n_jobs", "decision_function_shape", "class_weight")},
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in BAD.items() for value in values],
    ids=lambda value: repr(value)[:24],
)
def test_bad_parameter_is_named(name, value):
    X, y = problem()
    with pytest.raises((ValueError, TypeError), match=name) as caught:
        WorstViolatorSVC(**{name: value}).fit(X, y)
    assert "incompatible function arguments" not in str(caught.value), "the message is of the compiled core"


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("learner", "name", "value"),
    [
        (learner, name, value)
        for learner, bad in ((LASVC, BAD_ONLINE), (KernelSGDClassifier, BAD_SGD))
        for name, values in bad.items()
        for value in values
    ],
    ids=lambda value: repr(value)[:24] if not isinstance(value, type) else value.__name__,
)
def test_bad_parameter_of_a_stream_is_named(learner, name, value, how):
    X, y = problem()
    model = learner(**{name: value})
    with pytest.raises((ValueError, TypeError), match=name) as caught:
        model.fit(X, y) if how == "fit" else model.partial_fit(X, y, [0, 1])
    assert "incompatible function arguments" not in str(caught.value), "the message is of the compiled core"
    assert vars(model).keys() == model.get_params().keys()


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("learner", [LASVC, KernelSGDClassifier])
@pytest.mark.parametrize(("parameters", "weight"), [({"C": 1e60}, 1e60), ({"class_weight": {0: 1e70}}, 1e70)])
def test_products_of_weights_out_of_range(parameters, weight, learner, how):
    X, y = problem()
    weights = np.where(y == 0, weight, 1.0)
    model = learner(**parameters)
    with pytest.raises(ValueError, match="weights"):
        if how == "fit":
            model.fit(X, y, sample_weight=weights)
        else:
            model.partial_fit(X, y, [0, 1], sample_weight=weights)


@pytest.mark.parametrize("C", [1e-30, 1e-300, 1e20, 1e99])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variant", ["nc", "g", "i", "full", "lasvm"])
def test_extreme_C(variant, dtype, C):
    """Finite values, or an error that names C where it leaves the range of float32."""
    X, y = problem(dtype=dtype)
    model = LASVC(variant=variant, C=C, gamma=0.1, max_iter=1000)
    if dtype == np.float32 and C == 1e99:
        with pytest.raises(ValueError, match=r"C times the weights must not exceed 1e\+30 for float32"):
            model.fit(X, y)
        return
    model.fit(X, y)
    for name in ("dual_coef_", "intercept_", "duality_gap_", "dual_objective_"):
        assert np.isfinite(getattr(model, name)).all(), name
    assert np.isfinite(model.decision_function(X)).all()


def test_bad_seed():
    with pytest.raises(ValueError, match="seed"):
        WorstViolatorSVC(random_state="today").fit(*problem())


def test_class_without_weight_has_weight_one():
    """As in scikit-learn: a dictionary need not name every class."""
    X, y = problem()
    model = WorstViolatorSVC(class_weight={0: 2.0}).fit(X, y)
    assert model.class_weight_.tolist() == [2.0, 1.0]
    assert fingerprint(model, X) == fingerprint(WorstViolatorSVC(class_weight={0: 2.0, 1: 1.0}).fit(X, y), X)
    assert fingerprint(model, X) != fingerprint(WorstViolatorSVC().fit(X, y), X)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("cache_size", [1e-6, 1e-300, 0.01])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed", linear_function], ids=["rbf", "precomputed", "function"])
def test_tiny_cache(kernel, cache_size, n_jobs):
    X, y = problem(n=120, n_classes=3)
    X = X @ X.T if kernel == "precomputed" else X
    expected = fingerprint(WorstViolatorSVC(kernel=kernel).fit(X, y), X)
    model = WorstViolatorSVC(kernel=kernel, cache_size=cache_size, n_jobs=n_jobs).fit(X, y)
    assert fingerprint(model, X) == expected


@pytest.mark.parametrize("value", [5e-324, 1e-310])
def test_subnormal_bounds(value):
    """1 / C is infinite: refused with the name of the parameter, where it is needed, or harmless."""
    X, y = problem()
    for learner in (LASVC, IncrementalSVC, SVC):
        assert np.isfinite(learner(C=value).fit(X, y).decision_function(X)).all()
    for name in ("C", "nu"):
        with pytest.raises(ValueError, match=f"'{name}' parameter of IncrementalOneClassSVM must be"):
            IncrementalOneClassSVM(**{name: value}).fit(X)
        model = IncrementalOneClassSVM().fit(X)
        with pytest.raises(ValueError, match=f"{name} must be"):
            getattr(model, f"set_{name}")(value)
