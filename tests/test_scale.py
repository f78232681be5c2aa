"""Laws of scale and translation: the unit and the offset of the features do not change a model.

All kernels of the core depend on ``gamma x.z`` or ``gamma |x - z|^2``. So features times s with gamma / s^2 give the
same kernel values, and for the RBF kernel an offset of all rows changes nothing. Rows are rounded before the law is
applied: the model of the moved rows is compared with the model of the rows that they stand for exactly.
"""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.svm import SVC as Reference

import hingeline
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
    WorstViolatorSVC,
)
from hingeline.base.frame import Frame, choose_frame, warn_of_lost_digits
from hingeline.model_selection import KernelSearchCV

from .torture import scale
from .torture.worker import generator

LEARNERS = (
    SVC,
    WorstViolatorSVC,
    L2SVC,
    LASVC,
    KernelSGDClassifier,
    IncrementalSVC,
    NystroemSVC,
    NuSVC,
    SVR,
    NuSVR,
    OneClassSVM,
)
#: Learners that stop before the optimum: a rounding error may lead to another sequence of steps.
PATHS = (WorstViolatorSVC, LASVC)
#: Powers of two near 1e-30, 1e-20, 1e20 and 1e30: scaled rows are exact.
SCALES = [2.0**-100, 2.0**-66, 2.0**66, 2.0**100]


def problem(n, dtype=np.float64, seed=0):
    random = np.random.RandomState(seed)
    X = random.randn(n, 4)
    y = (X[:, 0] * X[:, 1] + 0.3 * random.randn(n) > 0).astype(int)
    return X.astype(dtype), y


def build(learner, **parameters):
    own = {"random_state": 0} if learner in (LASVC, KernelSGDClassifier, NystroemSVC) else {}
    return learner(**own, **parameters)


def rows_of(learner, n):
    """Rows for training: the exact machines take one row at a time."""
    return min(n, 200) if learner is IncrementalSVC else n


def outputs(model, X):
    """Decision values, or predictions of regressors."""
    return model.predict(X) if is_regressor(model) else model.decision_function(X)


def require_same(model, other, X, Z):
    """Same labels for X by one model as for Z by the other, except where a decision is near a tie.

    Regressors: nearly the same predictions.
    """
    decisions = outputs(model, X)
    if is_regressor(model):
        np.testing.assert_allclose(other.predict(Z), decisions, rtol=0, atol=0.02 * np.ptp(decisions))
        return
    clear = np.abs(decisions) > 0.02 * np.abs(decisions).max()
    assert clear.mean() > (0.3 if is_outlier_detector(model) else 0.8)  # half of the rows are support vectors
    np.testing.assert_array_equal(model.predict(X)[clear], other.predict(Z)[clear])


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [500, 1500])
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_unit_of_the_features_changes_nothing(learner, n, dtype, scale):
    X, y = problem(n, dtype)
    Z, m = X * dtype(scale), rows_of(learner, n)
    model = build(learner).fit(X[:m], y[:m])
    require_same(model, build(learner).fit(Z[:m], y[:m]), X, Z)


@pytest.mark.parametrize("scale", [min(SCALES), max(SCALES)])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_unit_with_a_number_for_gamma(learner, kernel, scale):
    X, y = problem(1000, np.float32)
    m = rows_of(learner, 1000)
    if learner is IncrementalSVC and kernel == "sigmoid":
        pytest.skip("IncrementalSVC has no sigmoid kernel")
    parameters = {"kernel": kernel, "coef0": 0.5}
    gamma = 0.02 if kernel == "sigmoid" else 0.3
    model = build(learner, gamma=gamma, **parameters).fit(X[:m], y[:m])
    other = build(learner, gamma=gamma / scale**2, **parameters).fit((X * np.float32(scale))[:m], y[:m])
    decisions, found = outputs(model, X), outputs(other, X * np.float32(scale))
    np.testing.assert_allclose(found, decisions, rtol=0, atol=0.05 * np.abs(decisions).max())


@pytest.mark.parametrize("offset", [1e4, 1e7, 1e8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [500, 1500])
@pytest.mark.parametrize("learner", LEARNERS)
def test_an_offset_changes_nothing_for_rbf(learner, n, dtype, offset):
    """The rows that the moved rows stand for are their exact differences from the offset."""
    X, y = problem(n)
    Z = (X * 1024 + offset).astype(dtype)
    X, m = Z.astype(np.float64) - offset, rows_of(learner, n)
    gamma = 0.3 / 1024**2
    model = build(learner, gamma=gamma).fit(X[:m].astype(dtype), y[:m])
    other = build(learner, gamma=gamma).fit(Z[:m], y[:m])
    if learner in PATHS and dtype == np.float32:
        assert (model.predict(X.astype(dtype)) == other.predict(Z)).mean() > 0.95
    else:
        require_same(model, other, X.astype(dtype), Z)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_constant_column(learner):
    X, y = problem(1500)
    m = rows_of(learner, 1500)
    models = []
    for value in (0.0, 1e8):
        Z = np.hstack([X, np.full((len(X), 1), value)])
        models.append((build(learner, gamma=0.3).fit(Z[:m], y[:m]), Z))
    (model, A), (other, B) = models
    require_same(model, other, A, B)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [1e20, 1e30])
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_huge_constant_column(learner, value, dtype):
    """The unit suits the differences from the origin, not the origin."""
    X, y = problem(1500, dtype)
    m = rows_of(learner, 1500)
    A, B = (np.hstack([X, np.full((len(X), 1), dtype(one))]) for one in (0.0, value))
    model, other = (build(learner, gamma=0.3).fit(Z[:m], y[:m]) for Z in (A, B))
    require_same(model, other, A, B)


def test_small_features_are_as_good_as_with_scikit_learn():
    X, y = problem(2500)
    X = X * 1e-20
    ours = SVC().fit(X[:1500], y[:1500])
    theirs = Reference().fit(X[:1500], y[:1500])
    assert abs(ours.score(X[1500:], y[1500:]) - theirs.score(X[1500:], y[1500:])) < 0.005


@pytest.mark.parametrize("offset", [1e7, 1e8])
def test_the_kkt_violation_under_an_offset_is_the_true_one(offset):
    """Recomputed from differences of rows in double."""
    X, y = problem(1500)
    Z = np.hstack([X, np.full((len(X), 1), offset)])
    model = SVC(gamma=0.3).fit(Z, y)
    K = np.exp(-0.3 * np.square(X[:, np.newaxis] - X).sum(axis=2))
    beta = np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    signs = np.where(y == 1, 1.0, -1.0)
    slopes = signs - K @ beta
    alpha = signs * beta
    up = np.where(signs > 0, alpha < 1, alpha > 0)
    low = np.where(signs > 0, alpha > 0, alpha < 1)
    violation = slopes[up].max() - slopes[low].min()
    assert violation <= 1.1e-3
    assert abs(max(violation, 0.0) - model.kkt_violation_[0]) < 1e-5


@pytest.mark.parametrize("learner", [LASVC, KernelSGDClassifier, IncrementalSVC])
@pytest.mark.parametrize(("scale", "offset"), [(2.0**-66, 0.0), (1.0, 1e8)])
def test_streams_keep_the_rows_of_the_user(learner, scale, offset):
    X, y = problem(300)
    Z = X * scale + offset
    gamma = 0.3 / scale**2
    model = build(learner, gamma=gamma)
    for at in range(0, 300, 100):
        model.partial_fit(Z[at : at + 100], y[at : at + 100], classes=[0, 1])
    np.testing.assert_array_equal(model.support_vectors_, Z[model.support_])
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(Z), model.decision_function(Z))


@pytest.mark.parametrize("learner", LEARNERS)
def test_model_files_keep_the_frame(learner, tmp_path):
    X, y = problem(300)
    Z = X * 2.0**-66 + 2.0**-40
    model = build(learner, gamma=0.3 * 2.0**132).fit(Z, y)
    hingeline.save(model, tmp_path / "model")
    np.testing.assert_array_equal(hingeline.load(tmp_path / "model").predict(Z), model.predict(Z))


@pytest.mark.parametrize("scale", SCALES)
def test_searches_of_scaled_features(scale):
    X, y = problem(1200)
    grid = {"C": [0.1, 1.0], "gamma": ["scale"]}
    plain = KernelSearchCV(SVC(), grid, cv=3).fit(X, y)
    other = KernelSearchCV(SVC(), grid, cv=3).fit(X * scale, y)
    np.testing.assert_allclose(other.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=0.003)
    fixed = {"C": [0.1, 1.0], "gamma": [0.1 / scale**2, 0.3 / scale**2]}
    others = {"C": [0.1, 1.0], "gamma": [0.1, 0.3]}
    a = KernelSearchCV(SVC(), fixed, cv=3).fit(X * scale, y).cv_results_["mean_test_score"]
    b = KernelSearchCV(SVC(), others, cv=3).fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_allclose(a, b, atol=0.003)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("shape", ["sphere", "plane"])
def test_the_one_class_machine(shape, scale):
    X, _ = problem(150)
    model = IncrementalOneClassSVM(nu=0.2, shape=shape, gamma=0.3).fit(X)
    other = IncrementalOneClassSVM(nu=0.2, shape=shape, gamma=0.3 / scale**2).fit(X * scale)
    np.testing.assert_allclose(other.score_samples(X * scale), model.score_samples(X), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", SCALES)
def test_the_nystroem_map(scale, dtype):
    X, _ = problem(400, dtype)
    plain = NystroemMap(gamma=0.3, n_components=50, random_state=0).fit(X)
    other = NystroemMap(gamma=0.3 / scale**2, n_components=50, random_state=0).fit(X * dtype(scale))
    np.testing.assert_array_equal(other.transform(X * dtype(scale)), plain.transform(X))


@pytest.mark.parametrize("learner", LEARNERS)
def test_large_float32_rows_are_accepted_by_fit_and_predict(learner):
    X, y = problem(300, np.float32)
    Z = X * np.float32(2.0**100)
    model = build(learner).fit(Z, y)
    assert np.isfinite(outputs(model, Z)).all()


def test_a_linear_kernel_of_small_float32_rows():
    """C / s^2 takes the place of gamma / s^2."""
    X, y = problem(400, np.float32)
    y = (X[:, 0] > 0).astype(int)
    scale = 2.0**-66
    for learner in (SVC, LASVC):  # the L2-SVMs penalise the intercept
        model = build(learner, kernel="linear", C=1.0).fit(X, y)
        other = build(learner, kernel="linear", C=1.0 / scale**2).fit(X * np.float32(scale), y)
        agree = (model.predict(X) == other.predict(X * np.float32(scale))).mean()
        assert agree > 0.97, learner


def test_rows_that_lose_their_digits_are_reported():
    """Two groups 1e9 apart: no origin serves both."""
    X, y = problem(300)
    X[::2, 3] += 1e9
    for learner in (*LEARNERS, NystroemMap):
        with pytest.warns(UserWarning, match="Rounding errors spoil the RBF kernel") as caught:
            build(learner, gamma=0.3).fit(X, y)
        assert caught[0].filename == __file__, learner  # the line that calls fit
    with pytest.warns(UserWarning, match="Pass X as a dense array"):
        SVC(gamma=0.3).fit(sp.csr_matrix(problem(300)[0] + 1e9), y)


@pytest.mark.parametrize("learner", [LASVC, KernelSGDClassifier, IncrementalSVC])
def test_a_later_chunk_that_loses_its_digits_is_reported(learner):
    X, y = problem(200)
    model = build(learner, gamma=0.3).partial_fit(X[:100], y[:100], classes=[0, 1])
    with pytest.warns(UserWarning, match="Rounding errors spoil the RBF kernel"):
        model.partial_fit(X[100:] + 1e9, y[100:])


def test_the_digits_of_sparse_rows_are_checked_without_memory_for_empty_columns():
    """SciPy's indexing of two billion columns would take 8 GiB."""
    X = sp.csr_array(([1e9, 1e9 + 1], [2**31 - 2] * 2, [0, 1, 2]), shape=(2, 2**31 - 1))
    tracemalloc.start()
    with pytest.warns(UserWarning, match="Rounding errors spoil the RBF kernel"):
        warn_of_lost_digits(X, None, 0.3)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def test_ordinary_rows_have_no_frame_and_no_warning():
    X, y = problem(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for unit in (1e-3, 1.0, 1e3):
            model = SVC().fit(X * unit, y)
            assert model._frame is None
        SVC(gamma=1e12).fit(X, y)  # a kernel of unit vectors: all distances are large


def test_frames():
    X = np.array([[1.0, 1e8], [2.0, 1e8 + 1], [3.0, 1e8 + 2], [0.0, 0.0]])
    frame = choose_frame(X, "rbf", 1.0, 0.0, 3)
    np.testing.assert_array_equal(frame.origin, [0.0, 1e8 + 1])  # only the second column has an offset
    np.testing.assert_array_equal(frame.restore(frame.apply(X)), X)
    assert choose_frame(X, "poly", 1e-16, 0.0, 3) is None
    assert choose_frame(X.astype(np.float32), "poly", 1.0, 0.0, 3).wide
    assert choose_frame(X * 1e-40, "rbf", 1.0, 0.0, 3).unit > 1e30
    assert choose_frame(np.zeros((3, 2)), "rbf", 1.0, 0.0, 3) is None
    assert choose_frame(np.array([[-1e3], [0.0], [1e3]]), "rbf", 1.0, 0.0, 3) is None  # spread, without an offset
    assert choose_frame(np.full((2, 1), 1e3, np.float32), "linear", 1.0, 0.0, 3) is None
    assert Frame(None, 2.0**-900, False).gamma(1.0) == 1e300  # not infinity


@pytest.mark.parametrize("scale", [2.0**-50, 2.0**50])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_linear_machines(scale, dtype):
    """C / s^2 with features times s, and an intercept that is not penalised much: near the same labels."""
    X, _ = problem(1500, dtype)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    model = LinearSVC(C=1.0).fit(X, y)
    other = LinearSVC(C=1.0 / scale**2).fit(X * dtype(scale), y)
    assert (model.predict(X) == other.predict(X * dtype(scale))).mean() > 0.98


@pytest.mark.parametrize(("case", "number"), [("NystroemSVC", 22), ("KernelSGDClassifier-olsvm", 534)])
def test_an_offset_of_single_precision_rows(case, number):
    """Trials of the campaign that failed while offsets of float32 rows were kept up to gamma |x|^2 = 256."""
    assert scale.trial(case, generator("scale", 28, case, number), number) == "works"
