"""Bad and odd input: every case works or raises a clear error, and none takes the interpreter down.

Cases that could crash are `hazard`s: they run in a child process (this file as a script), which is started again
after a crash, so that one bad case does not hide the next.
"""

import copy
import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError

from hingeline import LASVC, KernelSGDClassifier, WorstViolatorSVC

COMPUTED = ["linear", "poly", "rbf", "sigmoid"]
REASONS = {"margin", "cap", "exhausted"}


def problem(n=70, d=6, n_classes=2, dtype=np.float64, seed=0):
    """Noisy labels, half of the entries zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    return X.astype(dtype), y


def fingerprint(model, X):
    """Everything that makes a model, to the bit."""
    arrays = [model.support_, model.n_support_, model.dual_coef_, model.intercept_, model.decision_scale_]
    return b"".join(np.ascontiguousarray(a).tobytes() for a in [*arrays, model.decision_function(X)])


def with_entry(X, value):
    X = X.copy()
    X[3, 2] = value
    return X


def linear_kernel(A, B):
    return A @ B.T


# ---- values of X ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_not_finite(value, word, container):
    X, y = problem()
    bad = container(with_entry(X, value))
    with pytest.raises(ValueError, match=word):
        WorstViolatorSVC().fit(bad, y)
    with pytest.raises(ValueError, match=word):
        WorstViolatorSVC().fit(X, y).predict(bad)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(("dtype", "value"), [(np.float64, 1e200), (np.float64, -1e300), (np.float32, 1e30)])
@pytest.mark.parametrize("kernel", COMPUTED)
def test_norm_overflow_at_fit(kernel, dtype, value, container):
    X, y = problem(dtype=dtype)
    with pytest.raises(ValueError, match=r"row 3 .*scale the features"):
        WorstViolatorSVC(kernel=kernel, gamma=1.0).fit(container(with_entry(X, value)), y)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("kernel", COMPUTED)
def test_norm_overflow_says_nothing_else(kernel, container):
    """No warning of NumPy's on the way to the error, whatever gamma='scale' computes."""
    X, y = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="scale the features"):
            WorstViolatorSVC(kernel=kernel).fit(container(with_entry(X, 1e200)), y)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    ("dtype", "query_dtype", "value"),
    [
        (np.float64, np.float64, 1e200),
        (np.float32, np.float32, 1e30),
        (np.float32, np.float64, 1e30),
        (np.float32, np.float64, 1e60),
    ],
)
@pytest.mark.parametrize("kernel", COMPUTED)
def test_norm_overflow_at_predict(kernel, dtype, query_dtype, value, container):
    X, y = problem(dtype=dtype)
    model = WorstViolatorSVC(kernel=kernel, gamma=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"row 3 .*scale the features"):
        model.predict(container(with_entry(X.astype(query_dtype), value)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_poly_overflow(dtype):
    """Norms that fit and powers that do not."""
    X, y = problem(dtype=dtype)
    far = X * (1e10 if dtype == np.float32 else 1e60)
    model = WorstViolatorSVC(kernel="poly", gamma=1.0, degree=6)
    with pytest.raises(ValueError, match=r"polynomial kernel .*degree"):
        model.fit(far, y)
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"polynomial kernel .*degree"):
        model.decision_function(far)


@pytest.mark.parametrize(("gamma", "unit"), [(1e20, 1), (1e300, 1), (1.0, 1e8)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_rows_far_apart(container, dtype, gamma, unit):
    """A huge gamma, or features without a scale: K is 1 for a row and itself and exactly 0 otherwise."""
    X, y = problem(d=23, dtype=dtype)
    X *= unit
    model = WorstViolatorSVC(gamma=gamma).fit(container(X), y)
    expected = np.zeros(len(X))
    expected[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(model.decision_function(X), expected + model.intercept_, rtol=1e-12)


def test_gamma_zero_is_a_constant():
    X, y = problem()
    values = WorstViolatorSVC(gamma=0).fit(X, y).decision_function(X)
    assert np.isfinite(values[0])
    assert (values == values[0]).all()


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_constant_features(container):
    X, y = container(np.full((20, 3), 2.5)), np.arange(20) % 2
    with pytest.warns(UserWarning, match="gamma"):
        model = WorstViolatorSVC().fit(X, y)
    assert fingerprint(model, X) == fingerprint(WorstViolatorSVC(gamma=1.0).fit(X, y), X)


# ---- shapes and types of X -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (np.empty((0, 3)), [], "0 sample"),
        (np.empty((3, 0)), [0, 1, 0], "0 feature"),
        (np.zeros(3), [0, 1, 0], "2D array"),
        (np.zeros((3, 2, 2)), [0, 1, 0], "dim 3"),
        (np.zeros((1, 2)), [0], "number of classes"),
        (np.zeros((4, 2)), [7, 7, 7, 7], "number of classes"),
        (np.zeros((3, 2)), None, "requires y"),
        (np.zeros((3, 2)), [0, 1], "inconsistent"),
        (np.zeros((3, 2)), [0.5, 1.25, 2.0], "continuous"),
        (np.zeros((3, 2)), [0, 1, np.nan], "NaN"),
        (np.zeros((3, 2)), [[0, 1], [1, 0], [1, 1]], "1d array|multilabel"),
        (np.ones((3, 2)) * 1j, [0, 1, 0], "[Cc]omplex"),
        (np.full((3, 2), "x"), [0, 1, 0], "convert string"),
        (np.array([["a", {}]] * 3, dtype=object), [0, 1, 0], "convert string"),
    ],
)
def test_refused_by_fit(X, y, match):
    with pytest.raises(ValueError, match=match):
        WorstViolatorSVC().fit(X, y)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda X: X[:, :-1], "features"),
        (lambda X: np.hstack([X, X]), "features"),
        (lambda X: X[0], "2D array"),
        (lambda X: X[:0], "0 sample"),
        (lambda X: X + 1j, "[Cc]omplex"),
        (lambda X: sp.csr_matrix(X)[:, :-1], "features"),
    ],
)
@pytest.mark.parametrize("method", ["predict", "decision_function", "score"])
def test_refused_by_predict(method, change, match):
    X, y = problem()
    model = WorstViolatorSVC().fit(X, y)
    arguments = (change(X), y) if method == "score" else (change(X),)
    with pytest.raises(ValueError, match=match):
        getattr(model, method)(*arguments)


@pytest.mark.parametrize("use", [lambda m, X: m.predict(X), lambda m, X: m.decision_function(X), lambda m, X: m.coef_])
def test_not_fitted(use):
    with pytest.raises(NotFittedError):
        use(WorstViolatorSVC(kernel="linear"), problem()[0])


def test_one_feature():
    X = np.linspace(-1, 1, 40)[:, None]
    assert WorstViolatorSVC().fit(X, X[:, 0] > 0.2).score(X, X[:, 0] > 0.2) > 0.9


def test_two_rows():
    model = WorstViolatorSVC().fit([[0.0], [1.0]], ["far", "near"])
    assert model.predict([[0.0], [1.0]]).tolist() == ["far", "near"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_duplicates_with_opposite_labels(n_jobs):
    X, y = np.tile(problem()[0][:1], (60, 1)), np.arange(60) % 2
    model = WorstViolatorSVC(gamma=1.0, n_jobs=n_jobs).fit(X, y)
    assert model.stop_reason_ == ["exhausted"]
    assert model.support_.tolist() == [*range(0, 60, 2), *range(1, 60, 2)]
    assert np.unique(model.decision_function(X)).size == 1


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


LAYOUTS = {
    "read-only": read_only,
    "fortran": np.asfortranarray,
    "rows backwards": lambda X: X[::-1].copy()[::-1],
    "columns backwards": lambda X: X[:, ::-1].copy()[:, ::-1],
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every third column": lambda X: np.repeat(X, 3, axis=1)[:, ::3],
    "window": lambda X: np.pad(X, 3, constant_values=9)[3:-3, 3:-3],
}


@pytest.mark.parametrize("seed", range(4))  # with 'scale' the order of a sum could show, by luck of the numbers
@pytest.mark.parametrize("gamma", [0.1, "scale"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_same_bits_in_any_layout(layout, dtype, gamma, seed):
    X, y = problem(n=50, d=5, n_classes=3, dtype=dtype, seed=seed)
    odd = LAYOUTS[layout](X)
    model = WorstViolatorSVC(gamma=gamma).fit(X, y)
    again = WorstViolatorSVC(gamma=gamma).fit(odd, y)
    assert again._gamma == model._gamma
    assert fingerprint(again, X) == fingerprint(model, X)
    assert again.decision_function(odd).tobytes() == model.decision_function(X).tobytes()


def test_memmap(tmp_path):
    X, y = problem(n_classes=3)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    assert fingerprint(WorstViolatorSVC().fit(mapped, y), mapped) == fingerprint(WorstViolatorSVC().fit(X, y), X)


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.astype(object),
        lambda X: X.tolist(),
        lambda X: X.astype(np.longdouble),
        lambda X: X.astype(X.dtype.newbyteorder()),
    ],
    ids=["object", "list", "long double", "byte order"],
)
def test_converted_types(convert):
    X, y = problem()
    model = WorstViolatorSVC().fit(convert(X), y)
    assert model.support_vectors_.dtype == np.float64
    assert fingerprint(model, X) == fingerprint(WorstViolatorSVC().fit(X, y), X)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, bool])
def test_integers(dtype):
    X, y = problem()
    X = np.rint(X).astype(dtype)
    as_float = X.astype(float)
    assert fingerprint(WorstViolatorSVC().fit(X, y), X) == fingerprint(WorstViolatorSVC().fit(as_float, y), as_float)


def test_data_frame_columns():
    pd = pytest.importorskip("pandas")
    X, y = problem()
    frame = pd.DataFrame(X, columns=[*"abcdef"])
    model = WorstViolatorSVC().fit(frame, y)
    assert model.predict(frame).tolist() == WorstViolatorSVC().fit(X, y).predict(X).tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[[*"bacdef"]])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))
    with pytest.raises(TypeError, match="string names"):
        model.predict(frame.rename(columns={"a": 0}))
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(X)


# ---- sparse matrices -----------------------------------------------------------------------------------


def wide_indices(X, container=sp.csr_matrix):
    X = container(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted(X, flag=False):
    X = sp.csr_matrix(X)
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[begin:end] = X.indices[begin:end][::-1].copy()
        X.data[begin:end] = X.data[begin:end][::-1].copy()
    X.has_sorted_indices = flag
    return X


def duplicated(X):
    """Every entry as two halves, which add up exactly."""
    X = sp.csr_matrix(X)
    return sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)


def explicit_zeros(X):
    return sp.csr_matrix(
        (X.ravel(), np.tile(np.arange(X.shape[1]), X.shape[0]), np.arange(X.shape[0] + 1) * X.shape[1]), shape=X.shape
    )


SPARSE = {
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "lil": sp.lil_matrix,
    "int64 indices": wide_indices,
    "unsorted": unsorted,
    "unsorted, flag stale": lambda X: unsorted(X, flag=True),
    "duplicates": duplicated,
    "explicit zeros": explicit_zeros,
}


@pytest.mark.parametrize("gamma", [0.1, "scale"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", SPARSE)
def test_same_bits_in_any_sparse_form(form, dtype, gamma):
    """The reference is the canonical CSR matrix."""
    X, y = problem(d=20, n_classes=3, dtype=dtype)
    canonical, odd = sp.csr_matrix(X), SPARSE[form](X)
    model = WorstViolatorSVC(gamma=gamma).fit(canonical, y)
    again = WorstViolatorSVC(gamma=gamma).fit(odd, y)
    assert again._gamma == pytest.approx(model._gamma, rel=1e-12)
    assert sp.issparse(again.support_vectors_)
    assert again.support_vectors_.dtype == dtype
    assert fingerprint(again, canonical) == fingerprint(model, canonical)
    assert again.decision_function(odd).tobytes() == model.decision_function(canonical).tobytes()


def test_int64_indices_reach_the_core():
    """The parametrised case above is no accident of a conversion on the way."""
    X, y = problem()
    assert WorstViolatorSVC().fit(wide_indices(X), y)._validate_predict(wide_indices(X)).indices.dtype == np.int64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", COMPUTED)
def test_dense_and_sparse_mix(kernel, dtype):
    X, y = problem(d=20, n_classes=3, dtype=dtype)
    dense = WorstViolatorSVC(kernel=kernel, gamma=0.1).fit(X, y)
    sparse = WorstViolatorSVC(kernel=kernel, gamma=0.1).fit(sp.csr_matrix(X), y)
    expected = fingerprint(dense, X)
    assert fingerprint(dense, sp.csr_matrix(X)) == expected
    assert fingerprint(sparse, X) == expected
    assert fingerprint(sparse, sp.csr_matrix(X)) == expected


# ---- labels --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-1.0, 3.0]),
        np.array([7, 200], dtype=np.uint8),
        np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_label_types(labels):
    X, y = problem()
    model = WorstViolatorSVC().fit(X, labels[y])
    assert model.classes_.dtype == labels.dtype
    assert model.classes_.tolist() == labels.tolist()
    assert model.predict(X).tolist() == labels[WorstViolatorSVC().fit(X, y).predict(X)].tolist()


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-1.0, 3.0]),
        np.array([7, 200], dtype=np.uint8),
        np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
    ],
    ids=lambda labels: str(labels.dtype),
)
@pytest.mark.parametrize("learner", [LASVC, KernelSGDClassifier])
def test_label_types_of_streams(labels, learner, how):
    X, y = problem()

    def train(y, classes):
        model = learner(random_state=0)
        return model.fit(X, y) if how == "fit" else model.partial_fit(X, y, classes)

    model = train(labels[y], labels)
    assert model.classes_.dtype == labels.dtype
    assert model.classes_.tolist() == labels.tolist()
    assert model.predict(X).tolist() == labels[train(y, [0, 1]).predict(X)].tolist()


def test_column_of_labels():
    X, y = problem()
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = WorstViolatorSVC().fit(X, y[:, None])
    assert fingerprint(model, X) == fingerprint(WorstViolatorSVC().fit(X, y), X)


def test_labels_of_mixed_types():
    X, y = problem()
    with pytest.raises((TypeError, ValueError)):
        WorstViolatorSVC().fit(X, np.array([None, "a"], dtype=object)[y])


# ---- parameters ----------------------------------------------------------------------------------------

NO_POSITIVE = [0, -1, -0.5, np.nan, np.inf, "1", None, True, [1.0]]
BAD = {
    "margin": NO_POSITIVE,
    "cap": [*NO_POSITIVE, 1.01],
    "C": [*NO_POSITIVE, 10**400],
    "cache_size": [*NO_POSITIVE, 1e300],
    "gamma": [-1, -1e-300, np.nan, np.inf, "large", None, True, [1.0], 10**400],
    "degree": [-1, 2.0, 2.5, np.nan, "3", None, True, 2**31],
    "coef0": [np.nan, np.inf, "0", None, 1j],
    "kernel": ["gauss", "RBF", None, 3, ["rbf"]],
    "bias": [1, 0.0, "yes", None],
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


BAD_ONLINE = {
    "variant": ["NC", None, 1],
    "C": [*NO_POSITIVE, 10**400],
    "s": [1, 1.5, np.nan, np.inf, -np.inf, "0", None],
    "tau": [-1e-9, np.nan, np.inf, "0", None],
    "clean_period": [0, -1, 2.5, "10", np.nan],
    "max_non_sv": [-1, 2.5, "10", None],
    "warm_sv": [-1, 2.5, "10"],
    "n_epochs": [0, -1, 1.5, "2", None],
    "finish": [1, "yes", None],
    "tol": [-1e-9, np.nan, np.inf, "0", None],
    "max_iter": [-2, 1.5, "7", None],
    "multi_class": ["ova", None, 1],
    **{name: BAD[name] for name in ("cache_size", "gamma", "degree", "coef0", "kernel", "n_jobs")},
    "decision_function_shape": BAD["decision_function_shape"],
    "class_weight": [weight for weight in BAD["class_weight"] if weight not in ({0: 1.0, 2: 1.0}, {"a": 1.0})],
}


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in BAD_ONLINE.items() for value in values],
    ids=lambda value: repr(value)[:24],
)
def test_bad_parameter_of_lasvc_is_named(name, value, how):
    X, y = problem()
    model = LASVC(**{name: value})
    with pytest.raises((ValueError, TypeError), match=name) as caught:
        model.fit(X, y) if how == "fit" else model.partial_fit(X, y, [0, 1])
    assert "incompatible function arguments" not in str(caught.value), "the message is of the compiled core"
    assert vars(model).keys() == model.get_params().keys()


BAD_SGD = {
    "rule": ["OLSVM", "sgd", None, 1],
    "C": [*NO_POSITIVE, 1e101, 10**400],
    "n_epochs": [0, -1, 1.5, "2", None, True, 2**31, 10**30],
    "learning_rate": ["constant", None, 0.1],
    "decay_first": [1, "yes", None],
    "bias": [1, 0.0, "yes", None],
    "average": [1, "yes", None],
    "truncate": [-1e-9, 1, 1.5, np.nan, np.inf, "0", None, True],
    **{name: BAD_ONLINE[name] for name in ("multi_class", "cache_size", "gamma", "degree", "coef0", "kernel")},
    **{name: BAD_ONLINE[name] for name in ("n_jobs", "decision_function_shape", "class_weight")},
}


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in BAD_SGD.items() for value in values],
    ids=lambda value: repr(value)[:24],
)
def test_bad_parameter_of_kernel_sgd_is_named(name, value, how):
    X, y = problem()
    model = KernelSGDClassifier(**{name: value})
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
    """Finite values or an error that names C."""
    X, y = problem(dtype=dtype)
    try:
        model = LASVC(variant=variant, C=C, gamma=0.1, max_iter=1000).fit(X, y)
    except ValueError as e:
        assert "C" in str(e)
        assert C > 1e10
        return
    for name in ("dual_coef_", "intercept_", "gap_", "dual_"):
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
@pytest.mark.parametrize("kernel", ["rbf", "precomputed", linear_kernel], ids=["rbf", "precomputed", "function"])
def test_tiny_cache(kernel, cache_size, n_jobs):
    X, y = problem(n=120, n_classes=3)
    X = X @ X.T if kernel == "precomputed" else X
    expected = fingerprint(WorstViolatorSVC(kernel=kernel).fit(X, y), X)
    model = WorstViolatorSVC(kernel=kernel, cache_size=cache_size, n_jobs=n_jobs).fit(X, y)
    assert fingerprint(model, X) == expected


@pytest.mark.parametrize("variant", ["nc", "g", "i", "full", "lasvm"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "sigmoid", "gamma": 5.0, "coef0": -2.0},
        {"kernel": "poly", "degree": 3, "coef0": -1.0},
        {"kernel": "precomputed"},
        {"kernel": lambda A, B: -(A @ B.T) - 1},
    ],
    ids=["sigmoid", "poly", "precomputed", "negative definite"],
)
def test_lasvc_with_kernels_that_are_not_positive(parameters, variant):
    """Training ends and the values are finite."""
    X, y = problem(n_classes=3)
    X = indefinite(X, X) if parameters["kernel"] == "precomputed" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LASVC(variant=variant, **parameters, finish=True, max_iter=10_000, random_state=0).fit(X, y)
    assert set(model.stop_reason_) <= {"gap", "max_iter", "precision"}
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("rule", ["olsvm", "olsvm-reg", "norma", "norma-literal", "pegaz"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "sigmoid", "gamma": 5.0, "coef0": -2.0},
        {"kernel": "poly", "degree": 3, "coef0": -1.0},
        {"kernel": "precomputed"},
        {"kernel": lambda A, B: -(A @ B.T) - 1},
    ],
    ids=["sigmoid", "poly", "precomputed", "negative definite"],
)
def test_kernel_sgd_with_kernels_that_are_not_positive(parameters, rule):
    X, y = problem(n_classes=3)
    X = indefinite(X, X) if parameters["kernel"] == "precomputed" else X
    model = KernelSGDClassifier(rule=rule, **parameters, random_state=0).fit(X, y)
    assert set(model.stop_reason_) == {"pass"}
    assert np.isfinite(model.decision_function(X)).all()


# ---- kernels given by the user -------------------------------------------------------------------------


class MoodyKernel:
    """A linear kernel that raises while `broken`, from its third call on."""

    def __init__(self, error=None):
        self.error = error or ZeroDivisionError("the kernel's own")
        self.broken = False
        self.calls = 0

    def __call__(self, A, B):
        self.calls += 1
        if self.broken and self.calls > 2:
            raise self.error
        return A @ B.T

    def breaks(self):
        self.broken, self.calls = True, 0
        return self


@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), MemoryError("mine"), SystemExit("mine")], ids=repr)
def test_kernel_that_raises(error):
    X, y = problem()
    kernel = MoodyKernel(error).breaks()
    with pytest.raises(type(error), match="mine") as caught:
        WorstViolatorSVC(kernel=kernel).fit(X, y)
    assert caught.value is error
    kernel.broken = False
    model = WorstViolatorSVC(kernel=kernel).fit(X, y)
    kernel.breaks().calls = 9
    with pytest.raises(type(error), match="mine") as caught:
        model.predict(X)
    assert caught.value is error


SPOILED = {
    "a column less": (lambda K: K[:, :-1], "shape"),
    "flat": (lambda K: K.ravel(), "shape"),
    "transposed": (lambda K: K.T, "shape"),
    "a number": (lambda K: 1.0, "shape"),
    "None": (lambda K: None, "shape"),
    "sparse": (sp.csr_matrix, "shape"),
    "NaN": (lambda K: K * np.nan, "NaN"),
    "infinity": (lambda K: np.full(K.shape, -np.inf), "infinity"),
    "strings": (lambda K: np.full(K.shape, "x"), "convert string"),
    "complex": (lambda K: K + 1j, "[Cc]omplex|real"),
}


@pytest.mark.parametrize(("spoil", "match"), SPOILED.values(), ids=SPOILED)
def test_kernel_with_a_bad_result(spoil, match):
    X, y = problem()
    with pytest.raises((ValueError, TypeError), match=match):
        WorstViolatorSVC(kernel=lambda A, B: spoil(A @ B.T)).fit(X, y)
    model = WorstViolatorSVC(kernel=linear_kernel).fit(X, y)
    model.set_params(kernel=lambda A, B: spoil(A @ B.T))
    with pytest.raises((ValueError, TypeError), match=match):
        model.predict(X)


@pytest.mark.parametrize(
    "convert",
    [
        lambda K: K.astype(np.int64),
        lambda K: K.astype(np.float32),
        lambda K: K.astype(object),
        lambda K: K.tolist(),
        np.asfortranarray,
        read_only,
    ],
)
def test_kernel_with_an_odd_result(convert):
    """Of integers, so that every type holds the values exactly."""
    X, y = problem()
    X = np.rint(4 * X)
    model = WorstViolatorSVC(kernel=lambda A, B: convert(A @ B.T)).fit(X, y)
    assert fingerprint(model, X) == fingerprint(WorstViolatorSVC(kernel=linear_kernel).fit(X, y), X)


def indefinite(A, B):
    return np.sin(7 * A @ B.T) - 0.3


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "sigmoid", "gamma": 5.0, "coef0": -2.0},
        {"kernel": "poly", "degree": 3, "coef0": -1.0},
        {"kernel": "precomputed"},
        {"kernel": indefinite},
        {"kernel": lambda A, B: -(A @ B.T) - 1},
    ],
    ids=["sigmoid", "poly", "precomputed", "function", "negative definite"],
)
def test_kernels_that_are_not_positive(parameters, n_jobs):
    """Training ends within its budget of steps and the values are finite."""
    X, y = problem(n_classes=3)
    X = indefinite(X, X) if parameters["kernel"] == "precomputed" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = WorstViolatorSVC(**parameters, n_jobs=n_jobs).fit(X, y)
    assert (model.n_iter_ <= len(y)).all()
    assert set(model.stop_reason_) <= REASONS
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda K: K[:, :-1], ValueError, "square"),
        (lambda K: K[:-1], ValueError, "inconsistent|square"),
        (sp.csr_matrix, TypeError, "[Ss]parse"),
        (lambda K: with_entry(K, np.nan), ValueError, "NaN"),
    ],
)
def test_bad_kernel_matrix(change, error, match):
    X, y = problem()
    with pytest.raises(error, match=match):
        WorstViolatorSVC(kernel="precomputed").fit(change(X @ X.T), y)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda K: K[:, :-1], ValueError, "features"),
        (sp.csr_matrix, TypeError, "[Ss]parse"),
        (lambda K: with_entry(K, np.inf), ValueError, "infinity"),
    ],
)
def test_bad_kernel_matrix_at_predict(change, error, match):
    X, y = problem()
    model = WorstViolatorSVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(error, match=match):
        model.predict(change(X @ X.T))


# ---- after a fit that failed ---------------------------------------------------------------------------
#
# The rule: `fit` is all or nothing for errors. An estimator whose first fit failed is not fitted; one that was
# fitted before either predicts as before or is not fitted, but never mixes the old model with the new data.

FAILURES = {
    "NaN": lambda m, X, y: m.fit(with_entry(X, np.nan), y),
    "one class": lambda m, X, y: m.fit(X, np.zeros_like(y)),
    "continuous labels": lambda m, X, y: m.fit(X, y + 0.5),
    "class_weight": lambda m, X, y: m.set_params(class_weight={0: -1.0}).fit(X, y),
    "kernel raises": lambda m, X, y: (m.kernel.breaks(), m.fit(X, y)),
}


def fails(failure, model, X, y):
    with pytest.raises((ValueError, ZeroDivisionError)):
        FAILURES[failure](model, X, y)
    model.kernel.broken = False


@pytest.mark.parametrize("failure", FAILURES)
def test_failed_fit_is_no_fit(failure):
    X, y = problem()
    model = WorstViolatorSVC(kernel=MoodyKernel())
    fails(failure, model, X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("failure", FAILURES)
def test_failed_fit_mixes_nothing(failure):
    X, y = problem()
    wider, three = problem(d=9, n_classes=3, seed=1)
    model = WorstViolatorSVC(kernel=MoodyKernel()).fit(X, y)
    before = fingerprint(model, X)
    fails(failure, model, wider, three)
    try:
        after = fingerprint(model, X)
    except NotFittedError:
        return
    assert after == before
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("failure", FAILURES)
def test_fit_after_a_failed_fit(failure):
    X, y = problem()
    model = WorstViolatorSVC(kernel=MoodyKernel())
    fails(failure, model, *problem(d=9, n_classes=3, seed=1))
    model.set_params(class_weight=None).fit(X, y)
    assert fingerprint(model, X) == fingerprint(WorstViolatorSVC(kernel=linear_kernel).fit(X, y), X)


# ---- hazards: what could take the interpreter down -----------------------------------------------------

HAZARDS = {}


def hazard(name, *outcomes):
    """Register a case that must end in one of the outcomes: 'fine' or the names of exceptions."""

    def register(case):
        HAZARDS[name] = (case, outcomes)
        return case

    return register


def corrupt(X, part, at, value):
    """Write into a CSR matrix behind scipy's back; its flags stay as they were."""
    assert X.has_canonical_format
    getattr(X, part)[at] = value
    return X


DAMAGE = {
    "column too large": ("indices", 5, 10**6),
    "column just too large": ("indices", -1, 6),
    "column negative": ("indices", 0, -1),
    "columns all large": ("indices", slice(None), 2**31 - 1),
    "indptr descends": ("indptr", 3, 10**6),
    "indptr past the end": ("indptr", -1, 10**9),
    "indptr negative": ("indptr", 4, -(10**6)),
    "indptr begins late": ("indptr", 0, 2),
}


def damaged_at_fit(damage, make):
    X, y = problem()
    WorstViolatorSVC(gamma=0.1).fit(corrupt(make(X), *damage), y)


def damaged_at_predict(damage, make):
    X, y = problem()
    WorstViolatorSVC(gamma=0.1).fit(X, y).predict(corrupt(make(X), *damage))


for what, damage in DAMAGE.items():
    for width, make in {"int32": sp.csr_matrix, "int64": wide_indices}.items():
        hazard(f"fit: {what} {width}", "ValueError")(lambda d=damage, m=make: damaged_at_fit(d, m))
        hazard(f"predict: {what} {width}", "ValueError")(lambda d=damage, m=make: damaged_at_predict(d, m))


def tampered(kernel="rbf", **changes):
    """Predict with fitted attributes replaced by change(model)."""
    X, y = problem(n_classes=3)
    X = X @ X.T if kernel == "precomputed" else X
    model = WorstViolatorSVC(kernel=kernel).fit(X, y)
    model.predict(X)
    odd = copy.deepcopy(model)
    for name, change in changes.items():
        setattr(odd, f"{name}_", change(model))
    odd.predict(X)


def sizes(*counts):
    """n_support_ in 64 bits; the number of support vectors is added to the last."""
    return lambda m: np.array([*counts[:-1], counts[-1] + len(m.support_)], dtype=np.int64)


TAMPERED = {
    "n_support_ too large": {"n_support": lambda m: m.n_support_ + 1},
    "n_support_ too small": {"n_support": lambda m: m.n_support_ - 1},
    "n_support_ negative": {"n_support": sizes(-5, 0, 5)},
    "n_support_ wraps around": {"n_support": sizes(2**63 - 1, 2**63 - 1, 2)},
    "n_support_ short": {"n_support": lambda m: m.n_support_[:-1]},
    "n_support_ long": {"n_support": lambda m: np.append(m.n_support_, 0)},
    "dual_coef_ fewer columns": {"dual_coef": lambda m: m.dual_coef_[:, :-1]},
    "dual_coef_ fewer rows": {"dual_coef": lambda m: m.dual_coef_[:-1]},
    "dual_coef_ transposed": {"dual_coef": lambda m: m.dual_coef_.T},
    "support_vectors_ fewer rows": {"support_vectors": lambda m: m.support_vectors_[:-1]},
    "support_vectors_ more rows": {"support_vectors": lambda m: np.tile(m.support_vectors_, (2, 1))},
    "support_vectors_ fewer columns": {"support_vectors": lambda m: m.support_vectors_[:, :-1]},
    "support_vectors_ more columns": {"support_vectors": lambda m: np.tile(m.support_vectors_, (1, 2))},
    "support_vectors_ NaN": {"support_vectors": lambda m: m.support_vectors_ * np.nan},
    "support_vectors_ damaged": {
        "support_vectors": lambda m: corrupt(sp.csr_matrix(m.support_vectors_), "indices", 0, 10**6)
    },
    "intercept_ short": {"intercept": lambda m: m.intercept_[:-1]},
    "intercept_ long": {"intercept": lambda m: np.append(m.intercept_, 0.0)},
    "decision_scale_ short": {"decision_scale": lambda m: m.decision_scale_[:-1]},
    "classes_ short": {"classes": lambda m: m.classes_[:-1]},
    "classes_ long": {"classes": lambda m: np.arange(4)},
    "support_ out of range": {"kernel": "precomputed", "support": lambda m: m.support_ + len(m.support_)},
    "support_ negative": {"kernel": "precomputed", "support": lambda m: m.support_ - len(m.support_)},
    "support_ short": {"kernel": "precomputed", "support": lambda m: m.support_[:-1]},
}

for what, changes in TAMPERED.items():
    hazard(f"tampered: {what}", "ValueError")(lambda c=changes: tampered(**c))
hazard("tampered: nothing", "fine")(lambda: tampered())


@hazard("tampered: binary intercept_ long", "ValueError")
def tampered_binary():
    X, y = problem()
    model = WorstViolatorSVC().fit(X, y)
    model.intercept_ = np.append(model.intercept_, 0.0)
    model.predict(X)


@hazard("kernel changed after fit", "ValueError")
def kernel_changed():
    X, y = problem()
    WorstViolatorSVC().fit(X, y).set_params(kernel="precomputed").predict(X)


def damaged_stream(damage, make, first, learner):
    X, y = problem()
    model = learner(gamma=0.1)
    if not first:
        model.partial_fit(X, y, [0, 1])
    try:
        model.partial_fit(corrupt(make(X), *damage), y, [0, 1])
    finally:
        if not first:
            assert model.n_samples_seen_ == len(y)
            model.partial_fit(X, y).predict(X)


for what, damage in DAMAGE.items():
    for width, make in {"int32": sp.csr_matrix, "int64": wide_indices}.items():
        for first in (True, False):
            for learner in (LASVC, KernelSGDClassifier):
                hazard(f"stream: {what} {width} {first} {learner.__name__}", "ValueError")(
                    lambda d=damage, m=make, f=first, c=learner: damaged_stream(d, m, f, c)
                )


def tampered_state(change, model):
    """Go on from a saved model whose parts do not fit together."""
    X, y = problem(n=60)
    model.partial_fit(X, y, [0, 1])
    saved = model._online.__getstate__()
    odd = copy.deepcopy(saved)
    change(odd)
    online = object.__new__(type(model._online))
    online.__setstate__(odd)
    model._online = online
    model.predict(X)
    model.partial_fit(X, y).predict(X)


def in_state(key, change):
    def apply(saved):
        state = saved["states"][0]
        state[key] = np.ascontiguousarray(change(state[key].copy()))

    return apply


def put(at, value):
    def apply(array):
        array[at] = value
        return array

    return apply


TAMPERED_STATES = {
    "rows fewer": lambda saved: saved.update(rows=saved["rows"][:-1]),
    "row out of range": in_state("row", put(0, 10**9)),
    "row negative": in_state("row", put(0, -1)),
    "row short": in_state("row", lambda a: a[:-1]),
    "id short": in_state("id", lambda a: a[:-1]),
    "code short": in_state("code", lambda a: a[:-1]),
    "code out of range": in_state("code", put(0, 10**9)),
    "zone out of range": in_state("zone", put(0, 9)),
    "dead short": in_state("dead", lambda a: a[:-1]),
    "all dead": in_state("dead", lambda a: a * 0 + 1),
    "lines short": in_state("lines", lambda a: a[:, :-1]),
    "lines fewer": in_state("lines", lambda a: a[:-1]),
    "lines NaN": in_state("lines", lambda a: a * np.nan),
    "whole short": in_state("whole", lambda a: a[:-1]),
    "whole large": in_state("whole", lambda a: a * 0 + 10**9),
    "whole negative": in_state("whole", lambda a: a * 0 - 1),
    "real short": in_state("real", lambda a: a[:-1]),
    "trace narrow": in_state("trace", lambda a: a[:-1]),
}
for what, change in TAMPERED_STATES.items():
    outcomes_allowed = (
        ("ValueError", "IndexError", "fine") if what in ("lines NaN", "all dead") else ("ValueError", "IndexError")
    )
    hazard(f"state: {what}", *outcomes_allowed)(lambda c=change: tampered_state(c, LASVC(gamma=0.1)))
hazard("state: nothing", "fine")(lambda: tampered_state(lambda saved: None, LASVC(gamma=0.1)))


def in_averages(position, change):
    def apply(saved):
        averages = saved["states"][0]["averages"]
        for k, mean in enumerate(averages):
            parts = list(mean)
            parts[position] = change(parts[position])
            averages[k] = tuple(parts)

    return apply


def sgd(average=False, rule="norma"):
    return KernelSGDClassifier(gamma=0.1, rule=rule, C=10.0, average=average)


TAMPERED_SGD = {
    **{what: TAMPERED_STATES[what] for what in ("rows fewer", "row out of range", "row negative", "row short")},
    **{what: TAMPERED_STATES[what] for what in ("id short", "code short", "code out of range", "whole short")},
    **{what: TAMPERED_STATES[what] for what in ("whole large", "whole negative", "real short", "trace narrow")},
    "a short": in_state("a", lambda a: a[:-1]),
    "a NaN": in_state("a", lambda a: a * np.nan),
    "real zero": in_state("real", lambda a: a * 0),
    "real NaN": in_state("real", lambda a: a * np.nan),
    "averages short": in_averages(3, lambda a: a[:-1].copy()),
    "averages empty": in_averages(3, lambda a: a[:0].copy()),
}
for what, change in TAMPERED_SGD.items():
    hazard(f"sgd state: {what}", "ValueError", "IndexError", "RuntimeError")(
        lambda c=change: tampered_state(c, sgd(average=True))
    )
# What does not fit together but is in range: no crash.
for what, change in {
    "steps large": in_state("whole", put(2, 2**62)),
    "notes large": in_state("whole", put(5, 2**62)),
    "scale small": in_state("real", put(0, 5e-324)),
    "scale large": in_state("real", put(0, 1e300)),
    "id large": in_state("id", put(0, 2**62)),
    "id twice": in_state("id", put(0, 1)),
    "averages late": in_averages(0, lambda _: 2**62),
    "averages gone": lambda saved: saved["states"][0].update(averages=[]),
    "averages many": lambda saved: saved["states"][0].update(averages=saved["states"][0]["averages"] * 3),
    "trace empty": in_state("trace", lambda a: a[:, :0]),
}.items():
    hazard(f"sgd state in range: {what}", "ValueError", "fine")(lambda c=change: tampered_state(c, sgd(average=True)))
for rule in ("olsvm", "norma", "pegaz"):
    for average in (False, True):
        hazard(f"sgd state: nothing {rule} {average}", "fine")(
            lambda r=rule, a=average: tampered_state(lambda saved: None, sgd(a, r))
        )


def stream_memory_limit(make, n, spare):
    """No memory for what a chunk needs: MemoryError, and the model is as it was."""
    import resource

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 5)), rng.integers(0, 2, n)
    model = make().partial_fit(X[:200], y[:200], [0, 1])
    expected = fingerprint(model, X[:300])
    with open("/proc/self/statm") as f:
        in_use = int(f.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (in_use + (spare << 20), before[1]))
    try:
        model.partial_fit(X, y)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        assert fingerprint(model, X[:300]) == expected
        model.partial_fit(X[:200], y[:200])


if sys.platform == "linux":
    hazard("lasvc memory limit", "MemoryError")(
        lambda: stream_memory_limit(lambda: LASVC(variant="full", cache_size=4096), 20_000, 30)
    )
    for spare in (8, 20, 30):
        hazard(f"sgd memory limit {spare}", "MemoryError")(
            lambda mb=spare: stream_memory_limit(lambda: KernelSGDClassifier(gamma=1.0), 500_000, mb)
        )


def overflow(scale, n_jobs=1):
    """Kernel values whose sums leave the range of double: the loop must still end."""
    X, y = problem(n_classes=3)
    K = indefinite(X, X) * scale
    warnings.simplefilter("ignore")
    WorstViolatorSVC(kernel="precomputed", n_jobs=n_jobs).fit(K, y).predict(K)


for n_jobs in (1, 2):
    hazard(f"overflow {n_jobs}", "fine", "ValueError")(lambda j=n_jobs: overflow(1e308, j))


def unchecked(kernel):
    """NaN where the user has told scikit-learn not to look."""
    X, y = problem(n_classes=3)
    X = with_entry(X @ X.T if kernel == "precomputed" else X, np.nan)
    warnings.simplefilter("ignore")
    with sklearn.config_context(assume_finite=True):
        WorstViolatorSVC(kernel=kernel, gamma=0.1).fit(X, y).predict(X)


for kernel in COMPUTED:
    hazard(f"unchecked NaN {kernel}", "ValueError")(lambda k=kernel: unchecked(k))
hazard("unchecked NaN precomputed", "fine", "ValueError")(lambda: unchecked("precomputed"))


@hazard("more threads than rows", "fine")
def more_threads_than_rows():
    X, y = np.array([[0.0], [1.0], [3.0]]), [0, 1, 1]
    expected = fingerprint(WorstViolatorSVC().fit(X, y), X)
    assert fingerprint(WorstViolatorSVC(n_jobs=16).fit(X, y), X) == expected


def memory_limit(n_jobs):
    """A cache larger than what the system gives: MemoryError, and a usable process afterwards."""
    import resource

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20_000, 5)), rng.integers(0, 2, 20_000)
    small = WorstViolatorSVC(n_jobs=n_jobs).fit(X[:200], y[:200])
    with open("/proc/self/statm") as f:
        in_use = int(f.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (in_use + (30 << 20), before[1]))
    try:
        WorstViolatorSVC(cache_size=4096, n_jobs=n_jobs).fit(X, y)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        again = WorstViolatorSVC(n_jobs=n_jobs).fit(X[:200], y[:200])
        assert fingerprint(again, X) == fingerprint(small, X)


if sys.platform == "linux":
    for n_jobs in (1, 2):
        hazard(f"memory limit {n_jobs}", "MemoryError")(lambda j=n_jobs: memory_limit(j))


@hazard("many failures", "fine")
def many_failures():
    """Errors of every origin, then a good fit: nothing is left behind."""
    X, y = problem()
    expected = fingerprint(WorstViolatorSVC(kernel=linear_kernel).fit(X, y), X)
    for _ in range(20):
        for failure in FAILURES.values():
            model = WorstViolatorSVC(kernel=MoodyKernel())
            try:
                failure(model, X, y)
            except (ValueError, ZeroDivisionError):
                continue
            raise AssertionError("the failure did not fail")
    assert fingerprint(WorstViolatorSVC(kernel=linear_kernel).fit(X, y), X) == expected


def run_hazards(names):
    """In the child: one line of JSON for each case, as soon as it has ended."""
    for name in names:
        try:
            HAZARDS[name][0]()
            outcome = ["fine", ""]
        except BaseException as e:
            outcome = [type(e).__name__, str(e)]
        print(json.dumps([name, *outcome]), flush=True)


@pytest.fixture(scope="module")
def outcomes():
    """Outcome and message of every hazard; the outcome of a crash is the exit code of the child."""
    found, waiting = {}, list(HAZARDS)
    while waiting:
        child = subprocess.run(
            [sys.executable, __file__, *waiting], capture_output=True, text=True, timeout=120, check=False
        )
        for name, *outcome in map(json.loads, child.stdout.splitlines()):
            found[name] = outcome
            waiting.remove(name)
        if waiting:
            found[waiting.pop(0)] = [f"exit code {child.returncode}", child.stderr]
    return found


@pytest.mark.parametrize("name", HAZARDS)
def test_hazard(name, outcomes):
    outcome, message = outcomes[name]
    assert outcome in HAZARDS[name][1], f"{outcome}: {message}"


if __name__ == "__main__":
    run_hazards(sys.argv[1:])
