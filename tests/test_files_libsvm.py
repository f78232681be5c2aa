"""Models in LIBSVM's text format: exchanged with LIBSVM and scikit-learn; damaged files are refused."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone, is_regressor

import hingeline
from hingeline import (
    L2SVC,
    LASVC,
    SVC,
    IncrementalOneClassSVM,
    IncrementalSVC,
    KernelSGDClassifier,
    LinearSVC,
    NuSVC,
    NystroemSVC,
    WorstViolatorSVC,
)

from .data import blobs

pytestmark = pytest.mark.filterwarnings(
    "ignore:The `probability` parameter:FutureWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
svmutil = pytest.importorskip("libsvm.svmutil", reason="libsvm-official is not installed")

KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.3, "coef0": 1.5, "degree": 2},
    "rbf": {"gamma": 0.3},
    "sigmoid": {"gamma": 0.05, "coef0": -0.5},
    "precomputed": {},
}
NUMBER_OF = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3, "precomputed": 4}


def problem(n_classes, kernel="rbf"):
    """Rows, labels that are not 0, 1, ..., and other rows; kernel matrices if precomputed."""
    X, y = blobs(150, n_classes, d=5, seed=3)
    y = np.array([7, -2, 0, 11])[y]
    train, test = X[:90], X[90:]
    return (train @ train.T, y[:90], test @ train.T) if kernel == "precomputed" else (train, y[:90], test)


def in_libsvm(path, X, kernel="rbf", options="-q"):
    """Labels and decision values, or probabilities, of a model that LIBSVM reads."""
    # svm_predict of LIBSVM's Python package writes all decision values of NuSVC to memory for one of them.
    copy = path.with_name("copy")
    copy.write_text(path.read_text().replace("svm_type nu_svc", "svm_type c_svc"))
    model = svmutil.svm_load_model(str(copy))
    rows = [{0: k + 1, **dict(enumerate(row, 1))} for k, row in enumerate(X.tolist())]
    rows = rows if kernel == "precomputed" else X.tolist()
    labels, _, values = svmutil.svm_predict([], rows, model, options)
    return np.array(labels), np.array(values)


def trained_by_libsvm(X, y, path, kernel, options):
    """A model of LIBSVM in a file."""
    rows = [{0: k + 1, **dict(enumerate(row, 1))} for k, row in enumerate(X.tolist())]
    rows = rows if kernel == "precomputed" else X.tolist()
    parameters = KERNELS[kernel]
    letters = {"gamma": "-g", "coef0": "-r", "degree": "-d"}
    text = " ".join(f"{letters[name]} {value}" for name, value in parameters.items())
    model = svmutil.svm_train(y.tolist(), rows, f"-q -t {NUMBER_OF[kernel]} {text} {options}")
    svmutil.svm_save_model(str(path), model)
    return model


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", KERNELS)
def test_libsvm_predicts_as_we_do(kernel, n_classes, tmp_path):
    X, y, other = problem(n_classes, kernel)
    model = SVC(kernel=kernel, C=3.0, decision_function_shape="ovo", **KERNELS[kernel]).fit(X, y)
    hingeline.save_libsvm(model, tmp_path / "m")
    labels, values = in_libsvm(tmp_path / "m", other, kernel)
    np.testing.assert_array_equal(labels, model.predict(other))
    ours = -model.decision_function(other)[:, np.newaxis] if n_classes == 2 else model.decision_function(other)
    np.testing.assert_allclose(values, ours, rtol=1e-9, atol=1e-9)
    again = hingeline.load_libsvm(tmp_path / "m", n_features=X.shape[1])
    np.testing.assert_array_equal(again.predict(other), labels)
    again.set_params(decision_function_shape="ovo")
    np.testing.assert_allclose(again.decision_function(other), model.decision_function(other), atol=1e-12)


@pytest.mark.parametrize("library", ["hingeline", "sklearn"])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", KERNELS)
def test_we_predict_as_libsvm_does(kernel, n_classes, order, library, tmp_path):
    """LIBSVM's labels have the order in which they appear."""
    X, y, other = problem(n_classes, kernel)
    if kernel != "precomputed":
        X, y = X[::order], y[::order]
    theirs = trained_by_libsvm(X, y, tmp_path / "m", kernel, "-c 3")
    model = hingeline.load_libsvm(tmp_path / "m", n_features=X.shape[1], library=library)
    assert isinstance(model, SVC if library == "hingeline" else svm.SVC)
    labels, values = in_libsvm(tmp_path / "m", other, kernel)
    np.testing.assert_array_equal(model.predict(other), labels)
    model.set_params(decision_function_shape="ovo")
    found = model.decision_function(other)
    if n_classes == 2:
        assert list(model.classes_) == sorted(model.classes_)
        sign = 1.0 if theirs.get_labels()[0] == model.classes_[1] else -1.0
        np.testing.assert_allclose(found, sign * values.ravel(), rtol=1e-7, atol=1e-7)
    else:
        assert list(model.classes_) == theirs.get_labels()
        np.testing.assert_allclose(found, values, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities(n_classes, order, tmp_path):
    X, y, other = problem(n_classes)
    theirs = trained_by_libsvm(X[::order], y[::order], tmp_path / "m", "rbf", "-b 1")
    _, expected = in_libsvm(tmp_path / "m", other, options="-q -b 1")
    model = hingeline.load_libsvm(tmp_path / "m")
    columns = [theirs.get_labels().index(label) for label in model.classes_]
    np.testing.assert_allclose(model.predict_proba(other), expected[:, columns], atol=1e-6)
    hingeline.save_libsvm(model, tmp_path / "again")
    _, back = in_libsvm(tmp_path / "again", other, options="-q -b 1")
    np.testing.assert_allclose(back, expected[:, columns], atol=1e-6)


@pytest.mark.parametrize("learner", [SVC, NuSVC, IncrementalSVC])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_our_probabilities_in_libsvm(learner, n_classes, tmp_path):
    if learner is IncrementalSVC and n_classes > 2:
        return
    X, y, other = problem(n_classes)
    model = learner(gamma=0.3, probability=True, **({"nu": 0.2} if learner is NuSVC else {})).fit(X, y)
    hingeline.save_libsvm(model, tmp_path / "m")
    _, values = in_libsvm(tmp_path / "m", other, options="-q -b 1")
    np.testing.assert_allclose(values, model.predict_proba(other), atol=1e-6)


PAIRWISE = [
    SVC(gamma=0.3),
    NuSVC(gamma=0.3, nu=0.1),
    WorstViolatorSVC(gamma=0.3),
    L2SVC(gamma=0.3),
    LASVC(gamma=0.3),
    LASVC(gamma=0.3, variant="lasvm"),
    KernelSGDClassifier(gamma=0.3),
    svm.SVC(gamma=0.3),
    svm.NuSVC(gamma=0.3, nu=0.1),
]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", [*PAIRWISE, IncrementalSVC(gamma=0.3)], ids=lambda model: type(model).__name__)
def test_estimators(model, n_classes, form, tmp_path):
    if isinstance(model, IncrementalSVC) and n_classes > 2:
        return
    X, y, other = problem(n_classes)
    X = form(X) if form is not np.float32 else X.astype(np.float32)
    model = model.fit(X, y).set_params(**({"decision_function_shape": "ovo"} if n_classes > 2 else {}))
    hingeline.save_libsvm(model, tmp_path / "m")
    labels, values = in_libsvm(tmp_path / "m", other)
    expected = model.decision_function(form(other) if form is sp.csr_matrix else other)
    near = {"rtol": 1e-4, "atol": 1e-4} if form is np.float32 else {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(values.ravel() if n_classes > 2 else -values.ravel(), expected.ravel(), **near)
    clear = np.abs(expected.reshape(len(other), -1)).min(axis=1) > 1e-3
    found = hingeline.load_libsvm(tmp_path / "m", n_features=5)
    np.testing.assert_array_equal(found.predict(other)[clear], labels[clear])


def outputs(model, X):
    """Decision values, or predictions of regressors."""
    return (model.predict if is_regressor(model) else model.decision_function)(X)


SINGLE = {
    "incremental": IncrementalOneClassSVM(nu=0.2),
    **{
        f"{kind.__name__} {kind.__module__.partition('.')[0]}": kind()
        for library in (hingeline.svm, svm)
        for kind in (library.OneClassSVM, library.SVR, library.NuSVR)
    },
}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", SINGLE)
def test_one_machine(name, kernel, form, tmp_path):
    """Regression and one class: written for LIBSVM, and read as an estimator of both libraries."""
    if (name == "incremental" and kernel in ("sigmoid", "precomputed")) or (form, kernel) == (
        sp.csr_matrix,
        "precomputed",
    ):
        return
    X, y, other = problem(2, kernel)
    y = 3.0 * y + np.random.default_rng(0).normal(size=90)
    model = clone(SINGLE[name]).set_params(kernel=kernel, **KERNELS[kernel]).fit(form(X), y)
    hingeline.save_libsvm(model, tmp_path / "m")
    labels, values = in_libsvm(tmp_path / "m", other, kernel)
    other = form(other)
    np.testing.assert_allclose(values.ravel(), outputs(model, other), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(labels, model.predict(other), rtol=1e-9, atol=1e-9)
    kind = type(model).__name__.removeprefix("Incremental")
    other = other.toarray() if sp.issparse(other) else other
    for library in (hingeline, svm):
        again = hingeline.load_libsvm(
            tmp_path / "m", n_features=X.shape[1], library="sklearn" if library is svm else "hingeline"
        )
        assert type(again) is getattr(library, kind)
        np.testing.assert_allclose(outputs(again, other), values.ravel(), rtol=1e-9, atol=1e-9)
        if not is_regressor(model):
            np.testing.assert_allclose(again.score_samples(other), model.score_samples(other), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("number, kind", list(enumerate(["SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR"])))
@pytest.mark.parametrize("kernel, options", [*((kernel, "") for kernel in KERNELS), ("rbf", "-b 1")])
def test_types_of_libsvm(number, kind, kernel, options, tmp_path):
    X, y, other = problem(2, kernel)
    trained_by_libsvm(X, y, tmp_path / "m", kernel, f"-s {number} -n 0.2 {options}")
    _, values = in_libsvm(tmp_path / "m", other, kernel)
    model = hingeline.load_libsvm(tmp_path / "m", n_features=X.shape[1])
    assert type(model) is getattr(hingeline, kind)
    sign = 1.0 if number > 1 or model.classes_[1] == y[0] else -1.0
    np.testing.assert_allclose(outputs(model, other), sign * values.ravel(), rtol=1e-6, atol=1e-6)
    hingeline.save_libsvm(model, tmp_path / "again")
    assert (tmp_path / "again").read_text().split()[1] == (tmp_path / "m").read_text().split()[1]


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (IncrementalSVC(), ValueError, "machine for each class against the rest"),
        (LASVC(multi_class="ovr"), ValueError, "multi_class='ovo'"),
        (L2SVC(multi_class="all"), ValueError, "machine for each class against the rest"),
        (SVC(kernel=lambda A, B: A @ B.T), ValueError, "kernel is a function"),
        (NystroemSVC(), TypeError, "NystroemSVC has no support vectors"),
        (LinearSVC(), TypeError, "must be a kernel classifier"),
        (IncrementalOneClassSVM(shape="sphere"), ValueError, "shape='plane'"),
    ],
)
def test_models_that_libsvm_does_not_have(model, error, message, tmp_path):
    X, y, _ = problem(3)
    with pytest.raises(error, match=message):
        hingeline.save_libsvm(model.fit(X, y), tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_labels_must_be_integers(tmp_path):
    X, y, other = problem(2)
    for labels in (y.astype(str), y * 2**40):
        with pytest.raises(ValueError, match="32-bit integers"):
            hingeline.save_libsvm(SVC().fit(X, labels), tmp_path / "m")
    for labels in (y > 0, y.astype(float)):
        model = SVC().fit(X, labels)
        hingeline.save_libsvm(model, tmp_path / "m")
        np.testing.assert_array_equal(hingeline.load_libsvm(tmp_path / "m").predict(other), model.predict(other))


def test_numbers_are_written_with_all_digits(tmp_path):
    X, y, _ = problem(3)
    model = SVC(gamma=1 / 3).fit(X, y)
    hingeline.save_libsvm(model, tmp_path / "m")
    again = hingeline.load_libsvm(tmp_path / "m")
    assert again.gamma == 1 / 3
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    for name in ("dual_coef_", "support_vectors_"):
        found = getattr(again, name)
        np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, getattr(model, name))


def test_a_file_that_was_read_is_a_model_for_save(tmp_path):
    X, y, other = problem(3)
    hingeline.save_libsvm(SVC().fit(X, y), tmp_path / "m")
    model = hingeline.load_libsvm(tmp_path / "m")
    hingeline.save(model, tmp_path / "s")
    np.testing.assert_array_equal(hingeline.load(tmp_path / "s").predict(other), model.predict(other))


# ---- damaged files -------------------------------------------------------------------------------------

GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 3
rho 0.25
label 1 -1
nr_sv 2 1
SV
0.5 1:1 3:2.5
0.25 2:-1e-3
-0.75 1:0.5 2:1
"""

DAMAGES = {  # users.md: the first five crash LIBSVM 3.37, the next two are accepted by it
    "garbage in a support vector": (("0.25 2:-1e-3", "\\xff%s 2:::x"), "line 11: expected"),
    "no rho": (("rho 0.25\n", ""), "rho must have 1 values, got 0"),
    "huge nr_sv": (("nr_sv 2 1", "nr_sv 2000000000 1"), "nr_sv must have the sum total_sv=3"),
    "huge total_sv": (("total_sv 3", "total_sv 2000000000"), "nr_sv must have the sum"),
    "huge total_sv and nr_sv": (
        ("total_sv 3", "total_sv 2000000001", "nr_sv 2", "nr_sv 2000000000"),
        "is too large for a file of",
    ),
    "negative total_sv": (("total_sv 3", "total_sv -3"), "total_sv must be at least 0"),
    "negative index": (("2:-1e-3", "-2:1"), "line 11: expected pairs"),
    "missing support vectors": (("-0.75 1:0.5 2:1\n", ""), "line 12: the file has 2 support vectors, total_sv is 3"),
    "unknown type": (("c_svc", "c_svm"), "svm_type must be one of c_svc, .*. Got c_svm."),
    "three classes of regression": (
        ("c_svc", "epsilon_svr", "nr_class 2", "nr_class 3", "rho 0.25", "rho 1 2 3"),
        "nr_class must be 2 for epsilon",
    ),
    "unknown kernel": (("rbf", "gauss"), "kernel_type must be one of"),
    "unknown key": (("gamma", "gama"), "line 3: unknown key 'gama'"),
    "no gamma": (("gamma 0.5\n", ""), "gamma is missing"),
    "negative gamma": (("gamma 0.5", "gamma -0.5"), "gamma must be at least 0"),
    "infinite gamma": (("gamma 0.5", "gamma 1e999"), "line 3: gamma: a number is out of range"),
    "NaN": (("gamma 0.5", "gamma nan"), "line 3: gamma: expected numbers"),
    "two values": (("gamma 0.5", "gamma 0.5 1"), "line 3: gamma must have one value, got 2"),
    "twice": (("gamma 0.5", "gamma 0.5\ngamma 0.5"), "line 4: gamma is given twice"),
    "many classes": (("nr_class 2", "nr_class 46341"), "rho must have"),
    "too many classes": (("nr_class 2", "nr_class 2147483647"), "nr_class must be at least 2 and at most"),
    "one class": (("nr_class 2", "nr_class 1"), "nr_class must be at least 2"),
    "equal labels": (("label 1 -1", "label 1 1"), "label must have different values"),
    "no labels": (("label 1 -1\n", ""), "label must have 2 values, got 0"),
    "label not an integer": (("label 1 -1", "label 1 0.5"), "line 7: label: expected integers"),
    "negative nr_sv": (("nr_sv 2 1", "nr_sv 4 -1"), "no negative values"),
    "more support vectors": (("-0.75", "0.5 1:1\n-0.75"), "line 13: more support vectors than total_sv=3"),
    "no SV": (("SV\n", ""), "line 9: unknown key '0.5'"),
    "nothing after the header": (("SV\n0.5 1:1 3:2.5\n0.25 2:-1e-3\n-0.75 1:0.5 2:1\n", ""), "'SV' is missing"),
    "index zero": (("2:-1e-3", "0:1"), "line 11: indices must ascend"),
    "huge index": (("2:-1e-3", "99999999999:1"), "line 11: indices must ascend, from 1 to at most"),
    "descending indices": (("1:1 3:2.5", "3:1 1:2.5"), "line 10: indices must ascend"),
    "equal indices": (("1:1 3:2.5", "1:1 1:2.5"), "line 10: indices must ascend"),
    "infinite value": (("3:2.5", "3:1e999"), "line 10: a number is out of range"),
    "three parts": (("1:1 3:2.5", "1:1:3 2.5:1"), "line 10: expected pairs"),
    "no coefficient": (("0.25 2:-1e-3", "2:-1e-3"), "line 11: "),
    "probA alone": (("nr_sv", "probA 1\nnr_sv"), "probB must have 1 values, got 0"),
    "probA of another length": (("nr_sv", "probA 1 2\nprobB 1\nnr_sv"), "probA must have 1 values, got 2"),
    "precomputed": (("rbf", "precomputed"), "line 10: expected 0:number"),
    "bytes": (("svm_type", "\0\0"), "line 1: unknown key"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_models_are_refused(name, tmp_path):
    parts, message = DAMAGES[name]
    text = GOOD
    for old, new in zip(parts[::2], parts[1::2], strict=True):
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / "m.model").write_text(text)
    with pytest.raises(ValueError, match=rf"m\.model: .*{message}"):
        hingeline.load_libsvm(tmp_path / "m.model")


def test_the_model_without_damage(tmp_path):
    for text in (GOOD, GOOD.replace("\n", "\r\n"), GOOD + "\n\n", GOOD.replace("0.25 2:-1e-3", "0.25")):
        (tmp_path / "m").write_bytes(text.encode())
        model = hingeline.load_libsvm(tmp_path / "m")
        assert model.predict([[1.0, 0.0, 2.5]]) == [1]
        assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="n_features must be at least 3"):
        hingeline.load_libsvm(tmp_path / "m", n_features=2)
    with pytest.raises(ValueError, match="library must be"):
        hingeline.load_libsvm(tmp_path / "m", library="other")


def many(line, n):
    """A change that puts many equal support vectors before the others."""
    return ("total_sv 3", f"total_sv {n + 3}", "nr_sv 2 1", f"nr_sv {n + 2} 1", "SV\n", "SV\n" + line * n)


@pytest.mark.parametrize(
    "change",
    [
        ("3:2.5", "2147483647:2.5"),  # far from dense
        ("3:2.5", " ".join(f"{k}:1" for k in range(3, 20_000))),  # one long line
        ("0.25 2:-1e-3", "0 " * 100_000),
        ("label 1 -1", "label" + " 1" * 100_000),
        ("SV\n", "SV\n" + "0 1:1\n" * 8_000),
        pytest.param(many("0 1:1\n", 40_000), marks=pytest.mark.slow),
        pytest.param(many("0\n", 40_000), marks=pytest.mark.slow),
        many("0 1:1\n", 3_000),
    ],
    ids=range(8),
)
def test_memory_is_bounded(change, tmp_path):
    """At most 16 times the size of the file, and a megabyte or two."""
    text = GOOD
    for old, new in zip(change[::2], change[1::2], strict=True):
        text = text.replace(old, new, 1)
    (tmp_path / "m").write_text(text)
    tracemalloc.start()
    try:
        hingeline.load_libsvm(tmp_path / "m")
    except ValueError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 16 * len(text) + (2 << 20)
