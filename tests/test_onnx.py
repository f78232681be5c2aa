"""Export to ONNX: the same labels and decision values in onnxruntime."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone, is_regressor
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hingeline import (
    L2SVC,
    LASVC,
    SVC,
    SVR,
    IncrementalOneClassSVM,
    IncrementalSVC,
    KernelSGDClassifier,
    LinearSVC,
    NuSVC,
    NuSVR,
    NystroemMap,
    NystroemSVC,
    OneClassSVM,
    OrdinalSVC,
    WorstViolatorSVC,
    _registry,
)

from .data import blobs
from .estimators import MODELS

onnx = pytest.importorskip("onnx", reason="onnx is not installed (group test-onnx)")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (group test-onnx)")

import hingeline.onnx  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:The `probability` parameter:FutureWarning"
)
KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.3, "coef0": 1.5, "degree": 2},
    "rbf": {"gamma": 0.3},
    "sigmoid": {"gamma": 0.05, "coef0": -0.5},
    "precomputed": {},
}
WORDS = np.array(["zero", "eins", "日本"])


def problem(n_classes, dtype=np.float64):
    X, y = blobs(160, n_classes, d=5, seed=1, dtype=dtype)
    return X[:100], y[:100], X


def run(made, X):
    """Outputs by name."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, {name: X}), strict=True))


def reference(model, X):
    """Decision values (of regressors predictions) in double precision; those of NystroemSVC may be in single."""
    if is_regressor(model):
        return model.predict(X)
    if not isinstance(model, NystroemSVC):
        return model.decision_function(X)
    kernel = model.map_._kernel()
    values = pairwise_kernels(X, model.map_.components_, metric=kernel.metric, filter_params=True, **kernel.params)
    return (values @ model.landmark_coef_.T + model.intercept_).squeeze(axis=1 if len(model.classes_) == 2 else ())


def check(model, X, dtype=np.float64):
    found = run(hingeline.onnx.export(model, dtype=dtype), X.astype(dtype))
    expected = reference(model, X)
    scores = found["prediction" if is_regressor(model) else "scores"]
    assert scores.shape == expected.shape
    size = max(1.0, np.abs(expected[np.isfinite(expected)]).max())
    np.testing.assert_allclose(scores / size, expected / size, rtol=0, atol=1e-10)
    if not is_regressor(model):
        np.testing.assert_array_equal(found["label"], model.predict(X))
    return found


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_every_estimator(name, n_classes):
    X, y, other = problem(n_classes)
    check(clone(MODELS[name]).fit(X, y), other)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("learner", [SVC, WorstViolatorSVC, LASVC, KernelSGDClassifier, IncrementalSVC])
def test_kernels(learner, kernel, n_classes):
    if learner is IncrementalSVC and kernel in ("sigmoid", "precomputed"):
        return
    X, y, other = problem(n_classes)
    if kernel == "precomputed":
        X, other = X @ X.T, other @ X.T
    check(learner(kernel=kernel, **KERNELS[kernel]).fit(X, y), other)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("learner", [NuSVC, SVR, NuSVR, OneClassSVM])
def test_kernels_of_machines_of_the_block_solver(learner, kernel, form):
    X, y, other = problem(2)
    if kernel == "precomputed":
        X, other, form = X @ X.T, other @ X.T, np.asarray
    model = learner(kernel=kernel, nu=0.2, **KERNELS[kernel]) if learner is not SVR else SVR(kernel=kernel)
    model.fit(form(X), y if learner is NuSVC else 2.0 * y + X[:, 0])
    sparse = sp.issparse(getattr(model, "support_vectors_", None))
    assert sparse == (form is sp.csr_array)
    check(model, other)


def test_regression_without_support_vectors():
    X, y, other = problem(2)
    for kernel in ("linear", "rbf"):
        model = SVR(kernel=kernel, epsilon=10.0).fit(X, y)
        assert not len(model.support_)
        check(model, other)


@pytest.mark.parametrize("learner", [SVC, SVR, OneClassSVM, LASVC, LinearSVC, OrdinalSVC, IncrementalOneClassSVM])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_float32(learner, n_classes):
    """Rows that float32 holds exactly: decisions of models that were trained in double are the same."""
    X, y, other = problem(n_classes)
    X, other = (np.round(64 * rows) / 64 for rows in (X, other))
    check(learner().fit(X, y), other, np.float32)


def test_models_trained_in_single_precision():
    X, y, other = problem(3, np.float32)
    for model in (SVC(gamma=0.3), LASVC(gamma=0.3), LinearSVC()):
        model.fit(X, y)
        found = run(hingeline.onnx.export(model, dtype=np.float32), other)
        np.testing.assert_allclose(found["scores"], model.decision_function(other), atol=1e-4)


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("learner", [SVC, LASVC, L2SVC])
def test_shapes_of_decisions(learner, shape):
    X, y, other = problem(4)
    check(learner(gamma=0.3, decision_function_shape=shape).fit(X, y), other)


def test_ties():
    X, y, other = problem(3)
    check(SVC(gamma=0.3, break_ties=True).fit(X, y), other)
    check(LinearSVC(multi_class="ovo").fit(X, y), other)
    check(LinearSVC(multi_class="ovo", decision_function_shape="ovo").fit(X, y), other)


def test_labels():
    X, y, other = problem(3)
    for labels in (WORDS[y], WORDS[y].astype(object), y - 1.0, y.astype(np.int8), y > 0):
        for model in (SVC(gamma=0.3), LinearSVC(), IncrementalSVC(gamma=0.3)):
            check(model.fit(X, labels), other)


def check_probabilities(model, X, dtype=np.float64):
    found = check(model, X, dtype)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("learner", [SVC, NuSVC, IncrementalSVC])
def test_probabilities(learner, n_classes, dtype):
    """Overlapping classes: the coupling of SVC makes one to four rounds, not as many for each row."""
    X, y = blobs(150, n_classes, d=2, seed=3)
    X = np.round(64 * X) / 64  # exact in float32
    model = learner(gamma=0.3, probability=True, **({"nu": 0.2} if learner is NuSVC else {})).fit(X[:100], y[:100])
    check_probabilities(model, X, dtype)
    check_probabilities(model, X[:1], dtype)
    assert run(hingeline.onnx.export(model, dtype=dtype), X[:0].astype(dtype))["probabilities"].shape == (0, n_classes)


def test_probabilities_of_extreme_sigmoids():
    """Pairs that contradict one another; with size 0 the coupling makes no round."""
    X, y, _ = problem(4)
    model = SVC(gamma=0.3, probability=True).fit(X, y)
    rng = np.random.default_rng(0)
    for size in (0.0, 1.0, 30.0, 1e3):
        model.sigmoids_ = size * rng.standard_normal(model.sigmoids_.shape)
        check_probabilities(model, X)


def test_probabilities_without_sigmoids():
    X, y, other = problem(3)
    model = SVC(gamma=0.3).fit(X, y).set_params(probability=True)
    assert "probabilities" not in check(model, other)


@pytest.mark.parametrize("shape", ["plane", "sphere"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_one_class(shape, kernel):
    X, _, other = problem(2)
    check(IncrementalOneClassSVM(nu=0.2, shape=shape, kernel=kernel, **KERNELS[kernel]).fit(X), other)


def test_points_on_the_boundary_are_inside():
    X = np.random.default_rng(0).standard_normal((60, 3)) + 10.0
    for shape in ("plane", "sphere"):
        model = IncrementalOneClassSVM(nu=0.2, gamma=0.5, shape=shape).fit(X)
        np.testing.assert_array_equal(run(hingeline.onnx.export(model), X)["label"], model.predict(X))


@pytest.mark.parametrize("kernel", [row.name for row in _registry.KERNELS.values() if row.onnx])
def test_landmarks(kernel):
    X, y, other = problem(3)
    X, other = np.abs(X), np.abs(other)
    model = NystroemMap(kernel, n_components=20).fit(X)
    found = run(hingeline.onnx.export(model), other)["features"]
    expected = pairwise_kernels(other, model.components_, metric=kernel) @ model.normalization_.T
    size = np.abs(pairwise_kernels(other, model.components_, metric=kernel)).max() * np.abs(model.normalization_).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * size * 20)
    model = NystroemSVC(kernel=kernel, gamma=0.3, n_components=20, C=0.1).fit(X, y)
    found = run(hingeline.onnx.export(model), other)
    size = np.abs(model.landmark_coef_).sum() * 20
    np.testing.assert_allclose(found["scores"], reference(model, other), rtol=0, atol=1e-12 * size)


def test_streams_and_sparse_rows():
    X, y, other = problem(2)
    check(LASVC(gamma=0.3).partial_fit(X[:50], y[:50], classes=[0, 1, 2]), other)
    check(SVC(gamma=0.3).fit(sp.csr_array(X), y), other)
    check(NystroemSVC(n_components=20).fit(sp.csr_array(X), y), other)


def test_a_stream_without_support_vectors():
    X, y, other = problem(2)
    model = KernelSGDClassifier(gamma=0.3).partial_fit(X[:2], y[:2], classes=[0, 1], sample_weight=[0.0, 0.0])
    check(model, other)


def test_unscaled_rows():
    """Distances are computed from shifted rows: little cancellation far from the origin."""
    X, y, other = problem(2)
    model = SVC(gamma=0.3).fit(X + 1e5, y)
    found = run(hingeline.onnx.export(model), other + 1e5)["scores"]
    values = np.exp(-0.3 * cdist(other + 1e5, model.support_vectors_, "sqeuclidean"))
    np.testing.assert_allclose(found, (values @ model.dual_coef_.T + model.intercept_).ravel(), rtol=0, atol=1e-10)


def test_what_cannot_be_exported():
    X, y, _ = problem(2)
    with pytest.raises(ValueError, match="kernel is a function"):
        hingeline.onnx.export(SVC(kernel=lambda A, B: A @ B.T).fit(X, y))
    with pytest.raises(TypeError, match="StandardScaler cannot be exported"):
        hingeline.onnx.export(StandardScaler().fit(X))
    with pytest.raises(ValueError, match="dtype must be float64 or float32"):
        hingeline.onnx.export(SVC().fit(X, y), dtype=np.float16)


# ---- skl2onnx ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_classes", "dtype"), [(2, np.float64), (3, np.float64), (3, np.float32)])
@pytest.mark.parametrize("name", MODELS)
def test_pipelines(name, n_classes, dtype):
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed (group test-onnx)")
    hingeline.onnx.register()
    X, y, other = problem(n_classes)
    X, other = X.astype(dtype), other.astype(dtype)
    model = make_pipeline(StandardScaler(), clone(MODELS[name])).fit(X.astype(np.float64), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})
    found = run(made, other)
    expected = reference(model[-1], model[0].transform(other.astype(np.float64)))
    size = max(1.0, np.abs(expected[np.isfinite(expected)]).max())
    near = 1e-10 if dtype == np.float64 else 1e-3
    scores = found["prediction" if is_regressor(model[-1]) else "scores"]
    np.testing.assert_allclose(scores / size, expected / size, rtol=0, atol=near)
    if dtype == np.float64 and not is_regressor(model):
        np.testing.assert_array_equal(found["label"], model.predict(other))


@pytest.mark.parametrize("opset", [13, 18])
def test_probabilities_in_pipelines(opset):
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed (group test-onnx)")
    hingeline.onnx.register()
    X, y, other = problem(4)
    model = make_pipeline(StandardScaler(), SVC(gamma=0.3, probability=True)).fit(X, y)
    found = run(skl2onnx.to_onnx(model, X[:1], target_opset=opset), other)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(other), rtol=0, atol=1e-10)


def test_labels_and_features_in_pipelines():
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed (group test-onnx)")
    hingeline.onnx.register()
    X, y, other = problem(3)
    for labels in (WORDS[y], y > 0, y - 1.0):
        model = make_pipeline(NystroemMap(n_components=20), LinearSVC()).fit(X, labels)
        found = run(skl2onnx.to_onnx(model, X[:1]), other)
        np.testing.assert_array_equal(found["label"], model.predict(other))
    with pytest.raises(ValueError, match="target_opset must be at least 13"):
        skl2onnx.to_onnx(SVC().fit(X, y), X[:1], target_opset=12)


@pytest.mark.parametrize("model", [SVC(), SVC(break_ties=True), WorstViolatorSVC()], ids=str)
def test_many_classes(model):
    """The file holds the coefficients once: no matrix with a row for each pair of classes."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 60
    X = rng.normal(size=(60, 5))[y] + 0.3 * rng.normal(size=(120, 5))
    model = clone(model).fit(X, y)
    check(model, X)
    assert len(hingeline.onnx.export(model).SerializeToString()) < 3 * model.dual_coef_.nbytes + 400_000
