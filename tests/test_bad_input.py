"""Bad and odd rows and labels: every case works or raises a clear error."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning, NotFittedError

from hingeline import LASVC, SVC, KernelSGDClassifier, NystroemMap, WorstViolatorSVC

from .citizens import fingerprint
from .data import noise as problem
from .data import read_only, wide_indices, with_entry
from .estimators import CLASSIFIERS, STREAMS

COMPUTED = ["linear", "poly", "rbf", "sigmoid"]

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
@pytest.mark.parametrize("value", [1e200, -1e300])
@pytest.mark.parametrize("kernel", COMPUTED)
def test_norm_overflow_at_fit(kernel, value, container):
    X, y = problem()
    with pytest.raises(ValueError, match=r"row 3 .*scale the features"):
        WorstViolatorSVC(kernel=kernel, gamma=1.0).fit(container(with_entry(X, value)), y)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("kernel", COMPUTED)
def test_norm_overflow_says_nothing_else(kernel, container):
    """No warning of NumPy's on the way to the error, also from gamma='scale'."""
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
    queries = container(with_entry(X.astype(query_dtype), value))
    if kernel == "linear" and value < 1e100:  # the weights of the features are double, and so are the products
        assert np.isfinite(model.decision_function(queries)).all()
        return
    with pytest.raises(ValueError, match=r"row 3 .*scale the features"):
        model.predict(queries)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_poly_overflow(dtype):
    """Norms that fit and powers that do not."""
    X, y = problem(dtype=dtype)
    far = X * (1e19 if dtype == np.float32 else 1e60)
    model = WorstViolatorSVC(kernel="poly", gamma=1.0, degree=6)
    with pytest.raises(ValueError, match=r"polynomial kernel .*degree"):
        model.fit(far, y)
    model.fit(X, y)
    if dtype == np.float32:  # values of degree 6 need double precision, which has room for these
        assert np.isfinite(model.decision_function(far)).all()
        return
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
    assert sp.issparse(again.support_vectors_)
    assert again.support_vectors_.dtype == dtype
    assert fingerprint(again, canonical) == fingerprint(model, canonical)
    assert again.decision_function(odd).tobytes() == model.decision_function(canonical).tobytes()


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


each_type_of_label = pytest.mark.parametrize(
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


@each_type_of_label
def test_label_types(labels):
    X, y = problem()
    model = WorstViolatorSVC().fit(X, labels[y])
    assert model.classes_.dtype == labels.dtype
    assert model.classes_.tolist() == labels.tolist()
    assert model.predict(X).tolist() == labels[WorstViolatorSVC().fit(X, y).predict(X)].tolist()


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@each_type_of_label
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


@pytest.mark.parametrize("labels", [[None, "a"], [0, None], [None, None], [0, "a"], [1.5, 2]])
@pytest.mark.parametrize("learner", [*CLASSIFIERS, NystroemMap])
def test_labels_of_mixed_types(learner, labels):
    """Sorting them would raise an error that names no argument."""
    X, y = problem()
    model = learner(landmarks="balanced") if learner is NystroemMap else learner()
    with pytest.raises(ValueError, match=r"y must hold numbers, or strings. Got objects of type .*convert y"):
        model.fit(X, np.array(labels, dtype=object)[y])


@pytest.mark.parametrize("learner", STREAMS)
def test_declared_labels_of_mixed_types(learner):
    X, y = problem()
    with pytest.raises(ValueError, match=r"classes must hold numbers, or strings. Got objects of type NoneType and"):
        learner().partial_fit(X, y, classes=[0, 1, None])


def test_labels_of_mixed_types_with_a_callable_kernel():
    X, y = problem()
    with pytest.raises(ValueError, match="Got objects of type NoneType and str"):
        SVC(kernel=lambda A, B: np.dot(A, np.transpose(B))).fit(X, np.array([None, "a"], dtype=object)[y])
