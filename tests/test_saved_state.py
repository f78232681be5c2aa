"""Damaged saved models are refused, or harmless: no crash, no values that are not finite."""

import json
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hingeline import (
    LASVC,
    SVC,
    SVR,
    IncrementalOneClassSVM,
    IncrementalSVC,
    LinearSVC,
    NystroemMap,
    NystroemSVC,
    OneClassSVM,
    OrdinalSVC,
    WorstViolatorSVC,
)
from hingeline.base.frame import Frame

from .damage import MODELS, REFUSED, fields, model_and_rows, replaced
from .data import blobs
from .private import CORE, saved_state, with_saved_state

SLOW = ("lasvm", "window")


@cache
def damaged(*names):
    """Model, field, kind of damage and outcome of every case; the child is started again after a crash."""
    found = []
    while True:
        child = subprocess.run(
            [sys.executable, "-m", "tests.damage", str(len(found)), *names],
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        lines = [json.loads(line) for line in child.stdout.splitlines()]
        found += [(*case, result) for case, result in zip(lines[::2], lines[1::2], strict=False)]
        if child.returncode == 0:
            return found
        assert len(lines) % 2, child.stderr  # it ended in the middle of a case
        found.append((*lines[-1], f"exit code {child.returncode}: {child.stderr[-300:]}"))
        if sum(result.startswith("exit") for *_, result in found) == 5:
            return found


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in MODELS])
def test_damaged_states_are_refused_or_harmless(name):
    names = SLOW if name in SLOW else (n for n in MODELS if n not in SLOW)
    found = [case for of, *case in damaged(*names) if of == name]
    assert len({field for field, _, _ in found}) > 8
    wrong = [case for case in found if not case[2].startswith(("refused", "accepted"))]
    wrong += [case for case in found if case[1] in REFUSED and not case[2].startswith("refused")]
    wrong = [case for case in wrong if case != ["rows", "longer", "accepted"]]  # a row that no machine uses
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("name", MODELS)
def test_a_state_without_damage_is_the_model(name):
    model, X, _ = model_and_rows(name)
    other = with_saved_state(model, pickle.loads(pickle.dumps(saved_state(model))))
    assert other.decision_function(X).tobytes() == model.decision_function(X).tobytes()


def other_types(part):
    """Values of types that the field does not have."""
    if isinstance(part, np.ndarray):
        kinds = [np.float32, np.complex128, np.bool_, np.int16, object]
        return [part.astype(kind) for kind in kinds if kind != part.dtype]
    return [2**70, -(2**70), b"bytes", [None], [3.5], {1: 2}, np.float32(1)]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", MODELS)
def test_other_types_are_a_value_error(name):
    model, _, _ = model_and_rows(name)
    state = saved_state(model)
    tried = 0
    for path in fields({part: state[part] for part in CORE}):
        part = state
        for key in path:
            part = part[key]
        for value in other_types(part):
            with pytest.raises(ValueError, match="damaged"):
                with_saved_state(model, replaced(state, path, lambda _, value=value: value))
            tried += 1
    assert tried > 100


@pytest.mark.parametrize("name", MODELS)
def test_other_lists_are_a_value_error(name):
    model, _, _ = model_and_rows(name)
    for value in ([None], [1.0], ["machine"], [[]], {}, 2**70):
        state = replaced(saved_state(model), ("state", "machines"), lambda _, value=value: value)
        with pytest.raises(ValueError, match="damaged"):
            with_saved_state(model, state)
    state = saved_state(model)
    state["state"][3] = 1.0
    with pytest.raises(ValueError, match="a name is no string"):
        with_saved_state(model, state)


@pytest.mark.parametrize("name", ["indices", "indptr"])
def test_sparse_coefficients_with_wrong_places_are_refused(name):
    """SciPy would write outside of an array."""
    X, y = blobs(60)
    state = SVC(gamma=0.5).fit(sp.csr_array(X), y).__getstate__()
    setattr(state["dual_coef_"], name, getattr(state["dual_coef_"], name) + 10**6)
    with pytest.raises(ValueError, match="damaged: dual_coef_"):
        SVC().__setstate__(state)


ESTIMATORS = {
    "batch": WorstViolatorSVC(gamma=0.3),
    "stream": LASVC(gamma=0.3),
    "exact": IncrementalSVC(gamma=0.3),
    "linear": LinearSVC(),
    "ordinal": OrdinalSVC(),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_missing_attributes_are_a_value_error(name):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 3
    model = ESTIMATORS[name].fit(X, y)
    make, args, state = model.__reduce_ex__(4)[:3]
    needed = {"_gamma", "_model"} if "_model" in state else set(model._needed)
    for missing in needed & state.keys():
        with pytest.raises(ValueError, match=r"the saved state is damaged: .* is missing"):
            make(*args).__setstate__({key: value for key, value in state.items() if key != missing})
    for damaged in {"dual_coef_", "support_vectors_", "coef_", "intercept_", "_model"} & state.keys():
        for value in ([1.0], "damaged", None, 1.0, np.full((1, 1), np.nan)):
            with pytest.raises(ValueError, match="damaged"):
                make(*args).__setstate__({**state, damaged: value})


OTHERS = [
    (SVC(gamma=0.3), "support_vectors_", np.zeros((1, 3))),
    (SVC(gamma=0.3), "n_support_", np.array([1, 1, 1])),
    (SVC(gamma=0.3), "intercept_", np.zeros(2)),
    (SVC(gamma=0.3), "classes_", 3),
    (SVC(gamma=0.3), "classes_", np.array([0, 1, 1])),
    (SVC(gamma=0.3), "sigmoids_", np.zeros((2, 5))),
    (SVC(gamma=0.3), "_gamma", "scale"),
    (SVC(gamma=0.3), "n_features_in_", 2.5),
    (SVC(kernel="precomputed"), "support_", np.array([0.5])),
    (SVC(gamma=0.3), "kernel", "other"),
    (OneClassSVM(gamma=0.3), "kernel", None),
    (SVC(gamma=0.3), "support_", np.array(5)),
    (WorstViolatorSVC(gamma=0.3), "decision_scale_", np.ones(1)),
    (LASVC(gamma=0.3), "_gamma", [0.3]),
    (SVR(gamma=0.3), "intercept_", np.zeros(2)),
    (OneClassSVM(gamma=0.3), "intercept_", np.zeros(2)),
    (LinearSVC(), "coef_", np.zeros((3, 2))),
    (LinearSVC(multi_class="ovo"), "decision_scale_", 1.0),
    (LinearSVC(), "intercept_", np.zeros(1)),
    (OrdinalSVC(), "thresholds_", np.zeros(3)),
    (OrdinalSVC(), "coef_", np.zeros(2)),
    (NystroemSVC(n_components=9), "landmark_coef_", np.zeros((3, 8))),
    (NystroemSVC(n_components=9), "map_", SVC()),
    (NystroemSVC(n_components=9), "map_", NystroemMap(kernel="other")),
    (NystroemMap(n_components=9), "normalization_", np.zeros((9, 8))),
    (NystroemMap(n_components=9), "normalization_", np.full((9, 9), np.nan)),
    (NystroemMap(n_components=9), "components_", np.zeros(9)),
    (NystroemMap(n_components=9), "_single", "yes"),
]


@pytest.mark.parametrize(("model", "name", "value"), OTHERS, ids=lambda part: part if isinstance(part, str) else "")
def test_attributes_that_do_not_fit_together_are_a_value_error(model, name, value):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 3
    state = model.fit(X @ X.T if getattr(model, "kernel", "") == "precomputed" else X, y).__getstate__()
    type(model)().__setstate__(state)
    with pytest.raises(ValueError, match=r"damaged|parameter of |group sizes must|must have shape"):
        type(model)().__setstate__({**state, name: value})


@pytest.mark.parametrize("model", [SVC(), LASVC(), OneClassSVM(), NystroemSVC(n_components=5)])
def test_a_damaged_number_of_threads_is_a_value_error(model):
    X = np.random.default_rng(0).standard_normal((30, 3))
    state = model.fit(X, X[:, 0] > 0).__getstate__()
    other = type(model)()
    other.__setstate__({**state, "n_jobs": np.inf})
    with pytest.raises(ValueError, match="'n_jobs' parameter"):
        other.predict(X)


def test_an_origin_of_another_width_is_refused():
    X = np.random.default_rng(0).standard_normal((30, 3)) + 1e8
    state = SVC(gamma=0.3).fit(X, X[:, 0] > 1e8).__getstate__()
    origin = state["_frame"].origin
    with pytest.raises(ValueError, match="damaged: the origin of the frame"):
        SVC().__setstate__({**state, "_frame": Frame(origin[:2], 1.0, False)})


def test_features_beyond_the_range_are_refused():
    model = NystroemMap(n_components=9, gamma=0.3).fit(np.random.default_rng(0).standard_normal((30, 3)))
    model.normalization_ = np.full((9, 9), 1.7e308)
    with pytest.raises(ValueError, match="Features leave the range"):
        model.transform(np.zeros((1, 3)))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("field", ["kind", "other"])
def test_half_of_a_surrogate_pair(name, field):
    """Such a text has no bytes in UTF-8."""
    model, _, _ = model_and_rows(name)
    state = saved_state(model)
    state["state"] = {**state["state"], "\ud800" if field == "other" else field: "\ud800"}
    with pytest.raises(ValueError, match="damaged: a text holds half of a surrogate pair"):
        with_saved_state(model, state)


@pytest.mark.parametrize("shape", ["plane", "sphere"])
def test_a_saved_state_without_the_parameters_that_are_fixed(shape):
    X = np.random.default_rng(0).standard_normal((6, 2))
    for model in (IncrementalOneClassSVM(gamma=0.3, shape=shape).fit(X), IncrementalSVC(gamma=0.3).fit(X, X[:, 0] > 0)):
        other = with_saved_state(model, {**saved_state(model), "frozen": {}})
        assert other.set_C(0.5).C == 0.5
        if hasattr(model, "set_nu"):
            assert other.set_nu(0.5).nu == 0.5


@pytest.mark.parametrize("name", ["dense", "own_ids"])
def test_flags_of_a_saved_state(name):
    model = IncrementalOneClassSVM(gamma=0.3).fit(np.random.default_rng(0).standard_normal((6, 2)))
    state = saved_state(model)
    for damaged in ({**state, name: "damaged"}, {key: value for key, value in state.items() if key != name}):
        with pytest.raises(ValueError, match="damaged"):
            with_saved_state(model, damaged)


def test_ids_of_a_saved_state():
    X = np.random.default_rng(0).standard_normal((6, 2))
    for ids, wrong in ((None, (77, 3, "a", None)), ([*"abcdef"], (None, (), 1.5))):
        model = IncrementalOneClassSVM(gamma=0.3)
        model.add(X, ids=ids)
        state = pickle.dumps(saved_state(model))
        for name in wrong:
            damaged = pickle.loads(state)
            damaged["name_of"][2] = name
            with pytest.raises(ValueError, match="damaged"):
                with_saved_state(model, damaged)
        with_saved_state(model, pickle.loads(state))


def test_decisions_beyond_the_range_are_refused():
    X, y = np.array([[1.0], [-1.0], [2.0], [-2.0]]), [0, 1, 0, 1]
    kernel = WorstViolatorSVC(gamma=0.3).fit(X, y)
    kernel.dual_coef_ = np.full_like(kernel.dual_coef_, 1.7e308)
    linear, ordinal = LinearSVC().fit(X, y), OrdinalSVC().fit(X, y)
    linear.coef_, ordinal.coef_ = 1e300 * linear.coef_, 1e300 * ordinal.coef_
    for model, row in ((kernel, 0.0), (linear, 1e20), (ordinal, 1e20)):
        for call in (model.predict, model.decision_function):
            with pytest.raises(ValueError, match="range of floating-point numbers"), np.errstate(over="ignore"):
                call([[row]])


@pytest.mark.parametrize("name", MODELS)
def test_counts_that_would_overflow(name):
    model, _, _ = model_and_rows(name)
    for count in (2**63 - 1, 2**62, -1):
        state = replaced(saved_state(model), ("state", "n_seen"), lambda _, count=count: count)
        with pytest.raises(ValueError, match="damaged: n_seen"):
            with_saved_state(model, state)
