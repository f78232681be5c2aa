"""NystroemMap, NystroemSVC and nystroem_svc_path: equality with scikit-learn and LinearSVC, laws, errors."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise

from hingeline import LinearSVC, NystroemMap, NystroemSVC, nystroem_svc_path
from hingeline.linear.sums import SHAPES

from .signals import interrupt
from .watching import Recorder

RNG = np.random.default_rng(0)
X = np.where(RNG.random((400, 6)) < 0.4, 0.0, RNG.normal(size=(400, 6)))
SCORE = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * RNG.normal(size=400)
Y2 = (SCORE > 0).astype(int)
Y3 = Y2 + (X[:, 3] > 0.5)
LOSSES = ["squared_hinge", "huber", "hinge", "squared"]


def overlap(a, b, c=1.0):
    """A kernel of two rows that pickles."""
    return c * np.minimum(np.abs(a), np.abs(b)).sum()


KERNELS = [
    {"gamma": 0.3},
    {},
    {"kernel": "poly", "degree": 2, "coef0": 0.5},
    {"kernel": "polynomial", "gamma": 0.1},
    {"kernel": "sigmoid", "gamma": 0.01},
    {"kernel": "linear"},
    {"kernel": "laplacian", "gamma": 0.2},
    {"kernel": "cosine"},
    {"kernel": overlap, "kernel_params": {"c": 2.0}},
]


def fitted(**parameters):
    return NystroemSVC(**{"n_components": 40, "gamma": 0.3, "random_state": 0, **parameters})


def same_bits(a, b, rows=X):
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    np.testing.assert_array_equal(a.decision_function(rows), b.decision_function(rows))


# ---- the map -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-8), (np.float32, 2e-3)])
@pytest.mark.parametrize(
    "kernel", KERNELS, ids=lambda kernel: str(getattr(kernel.get("kernel", "rbf"), "__name__", kernel))
)
def test_the_map_is_that_of_scikit_learn(kernel, dtype, rtol, container):
    rows = container(X.astype(dtype))
    if callable(kernel.get("kernel")) and sp.issparse(rows):
        pytest.skip("scikit-learn passes sparse rows to the function")
    count = (
        6 if kernel.get("kernel") in ("linear", "cosine") else 20
    )  # beyond their rank the normalization is arbitrary
    options = {"n_components": count, "random_state": 3, **kernel}
    exact = rows.astype(np.float64)  # rounding errors of scikit-learn in single precision depend on its version
    ours, theirs = NystroemMap(**options).fit(rows[:300]), Nystroem(**options).fit(exact[:300])
    np.testing.assert_array_equal(ours.component_indices_, theirs.component_indices_)
    Z, expected = ours.transform(rows), theirs.transform(exact)
    assert Z.dtype == dtype
    np.testing.assert_allclose(Z, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    np.testing.assert_allclose(ours.normalization_, theirs.normalization_, rtol=50 * rtol, atol=50 * rtol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("landmarks", ["uniform", "kmeans++"])
def test_features_do_not_depend_on_chunks_forms_and_threads(dtype, landmarks):
    rows = np.tile(X, (3, 1)).astype(dtype)
    model = NystroemMap(gamma=0.3, n_components=90, landmarks=landmarks).fit(rows)
    Z = model.transform(rows)
    np.testing.assert_array_equal(model.transform(rows[7:711]), Z[7:711])
    np.testing.assert_array_equal(model.transform(rows[5:6]), Z[5:6])
    np.testing.assert_array_equal(model.set_params(n_jobs=2).transform(rows), Z)
    sparse = clone(model).fit(sp.csr_matrix(rows))
    np.testing.assert_array_equal(sparse.transform(sp.csr_matrix(rows)), Z)


def test_precision_follows_the_data():
    model = NystroemMap(gamma=0.3).fit(X.astype(np.float32))
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.transform(X).dtype == np.float64
    assert NystroemMap().fit(X.astype(int)).transform(X.astype(int)).dtype == np.float64
    np.testing.assert_allclose(model.transform(X.astype(np.float32)), model.transform(X), atol=1e-3)


def test_large_norms_need_double():
    """Far from the origin, single precision loses the distances between rows."""
    far = (X + 1000).astype(np.float32)
    model = NystroemMap(gamma=0.3, n_components=30).fit(far)
    Z = model.transform(far).astype(float)
    double = NystroemMap(gamma=0.3, n_components=30).fit(far.astype(float)).transform(far.astype(float))
    np.testing.assert_allclose(Z @ Z.T, double @ double.T, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_repeated_landmarks_do_no_harm(dtype):
    rows = np.tile(X[:20], (5, 1)).astype(dtype)
    model = NystroemMap(gamma=0.3, n_components=100).fit(rows)
    Z = model.transform(rows)
    np.testing.assert_allclose(Z @ Z.T, pairwise.pairwise_kernels(rows, metric="rbf", gamma=0.3), atol=1e-4)
    assert np.abs(model.normalization_).max() < 10


def test_kmeans_landmarks_lie_far_apart():
    rows = np.concatenate([np.zeros((390, 2)), 10 + np.arange(20).reshape(10, 2)])
    assert {*range(390, 400)} <= {*NystroemMap(n_components=40, landmarks="kmeans++").fit(rows).component_indices_}
    assert not {*range(390, 400)} <= {*NystroemMap(n_components=40).fit(rows).component_indices_}


def test_balanced_landmarks_are_drawn_from_all_classes_alike():
    y = np.array(["c"] * 300 + ["a"] * 95 + ["b"] * 5)
    model = NystroemMap(n_components=35, landmarks="balanced", random_state=1).fit(X, y)
    chosen = model.component_indices_
    assert len({*chosen}) == 35
    assert [(y[chosen] == label).sum() for label in "abc"] == [15, 5, 15]  # all of the rare class
    assert [{*y[chosen[at : at + 3]]} for at in (0, 3, 12)] == [{"a", "b", "c"}] * 3  # they take turns
    np.testing.assert_array_equal(model.components_, X[chosen])
    other = clone(model).set_params(random_state=2).fit(X, y).component_indices_
    assert {*other} != {*chosen}
    few = clone(model).set_params(n_components=7).fit(X, y).component_indices_
    np.testing.assert_array_equal(few, chosen[:7])
    weight = (np.arange(400) % 3 > 0) + 0.0
    weighted = fitted(n_components=35).fit(X, y, weight).map_.component_indices_
    assert (weight[weighted] > 0).all()
    assert (y[weighted] == "b").sum() == (weight[395:] > 0).sum()
    with pytest.raises(ValueError, match="landmarks='balanced' needs the labels y in fit"):
        clone(model).fit(X)


def test_the_map_as_a_transformer():
    model = NystroemMap(n_components=3).fit(X)
    assert model.get_feature_names_out().tolist() == ["nystroemmap0", "nystroemmap1", "nystroemmap2"]
    pytest.importorskip("pandas")
    assert model.set_output(transform="pandas").transform(X).columns.tolist() == [f"nystroemmap{k}" for k in range(3)]
    with pytest.warns(UserWarning, match="n_components=500 is more than the 400 samples"):
        assert NystroemMap(n_components=500).fit_transform(X).shape == (400, 400)
    with pytest.raises(NotFittedError):
        NystroemMap().transform(X)


# ---- the classifier ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("y", [Y2, Y3], ids=["two", "three"])
@pytest.mark.parametrize("kernel", [{"gamma": 0.3}, {"kernel": "laplacian", "gamma": 0.2}], ids=str)
def test_it_is_the_linear_machine_on_the_map(kernel, y, loss):
    model = NystroemSVC(n_components=40, random_state=0, loss=loss, tol=1e-9, C=3.0, **kernel).fit(X, y)
    mapping = NystroemMap(n_components=40, random_state=0, landmarks="balanced", **kernel).fit(X, y)
    linear = LinearSVC(loss=loss, tol=1e-9, C=3.0).fit(mapping.transform(X), y)
    np.testing.assert_allclose(model.coef_, linear.coef_, atol=2e-4 * np.abs(linear.coef_).max())
    expected = linear.decision_function(mapping.transform(X))
    np.testing.assert_allclose(model.decision_function(X), expected, atol=2e-4)
    np.testing.assert_allclose(model.objective_, linear.objective_, rtol=1e-6)
    np.testing.assert_array_equal(model.map_.component_indices_, mapping.component_indices_)
    shown = model.map_.transform(X) @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(shown.squeeze(), model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("solver", ["gram", "cg"])
def test_streamed_kernel_values_give_the_same_bits(solver, loss, monkeypatch):
    monkeypatch.setattr("hingeline.linear.problem.FEW_ENTRIES", 0)  # a sample comes first
    rows, y = np.tile(X, (5, 1)).astype(np.float32), np.tile(Y2, 5)
    options = {"solver": solver, "loss": loss, "n_components": 30}
    kept = fitted(**options).fit(rows, y)
    for more in ({"cache_size": 0}, {"cache_size": 0, "n_jobs": 2}, {"n_jobs": 2}):
        same_bits(fitted(**options, **more).fit(rows, y), kept, rows)
    same_bits(fitted(**options, cache_size=0).fit(sp.csr_matrix(rows), y), kept, rows)


@pytest.mark.parametrize("change", [lambda X: X + 1e4, lambda X: 1e-30 * X], ids=["offset", "size"])
def test_streamed_kernel_values_do_not_depend_on_offset_and_unit(change):
    rows = change(np.tile(X, (5, 1)))
    options = {"n_components": 30, "gamma": "scale"}
    kept, streamed = (fitted(**options, cache_size=size).fit(rows, np.tile(Y2, 5)) for size in (4096, 0))
    same_bits(streamed, kept, rows)


@pytest.mark.parametrize("transforms", [0, 10**6])
def test_threads_share_several_machines(transforms, monkeypatch):
    """Fewer machines than threads, and more; Hessians in one piece, and in several."""
    monkeypatch.setattr("hingeline.linear.mapped.TRANSFORMS", transforms)
    rows, y = np.tile(X, (20, 1)).astype(np.float32), np.tile(Y3, 20)
    rows += 0.1 * np.random.default_rng(1).normal(size=rows.shape)
    one = fitted(C=10.0).fit(rows, y)
    for n_jobs in (2, 3, 5):
        same_bits(fitted(C=10.0, n_jobs=n_jobs).fit(rows, y), one, rows)


def test_few_machines_and_many_have_the_same_optimum(monkeypatch):
    """Coordinates are computed where that is less work than transforming Hessians."""
    computed = fitted(tol=1e-10).fit(X, Y3)
    monkeypatch.setattr("hingeline.linear.mapped.TRANSFORMS", 0)
    transformed = fitted(tol=1e-10).fit(X, Y3)
    np.testing.assert_allclose(transformed.decision_function(X), computed.decision_function(X), atol=1e-5)


def with_coarse_starts(monkeypatch):
    """Small problems start from fewer landmarks, as large ones do."""
    monkeypatch.setattr("hingeline.linear.mapped.FEW_ENTRIES", 0)
    monkeypatch.setattr("hingeline.linear.mapped.FEWEST", 2)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("transforms", [0, 20])
def test_starts_from_fewer_landmarks(loss, transforms, monkeypatch):
    """The optimum is the same, with fewer iterations over all landmarks."""
    monkeypatch.setattr("hingeline.linear.mapped.TRANSFORMS", transforms)
    options = {"n_components": 100, "C": 5.0, "tol": 1e-8 if loss == "hinge" else 1e-9, "loss": loss}
    plain = fitted(**options).fit(X, Y3)
    with_coarse_starts(monkeypatch)
    coarse = fitted(**options).fit(X, Y3)
    np.testing.assert_allclose(coarse.decision_function(X), plain.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(coarse.objective_, plain.objective_, rtol=1e-7)
    if loss == "squared_hinge":
        assert coarse.n_iter_.sum() < plain.n_iter_.sum()
    models = nystroem_svc_path(X, Y3, Cs=[0.5, 5.0], random_state=0, gamma=0.3, **{**options, "C": 1.0})
    np.testing.assert_allclose(models[1].objective_, plain.objective_, rtol=1e-7)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_streamed_coarse_starts_give_the_same_bits(loss, monkeypatch):
    with_coarse_starts(monkeypatch)
    options = {"loss": loss, "n_components": 100}
    rows, y = np.tile(X, (6, 1)).astype(np.float32), np.tile(Y2, 6)
    rows += 0.1 * np.random.default_rng(1).normal(size=rows.shape)
    kept = fitted(**options).fit(rows, y)
    for more in ({"cache_size": 0}, {"cache_size": 0, "n_jobs": 2}, {"n_jobs": 2}):
        same_bits(fitted(**options, **more).fit(rows, y), kept, rows)


@pytest.mark.parametrize("transforms", [0, 10**6])
def test_points_of_fewer_landmarks_are_points_of_all(transforms, monkeypatch):
    """A point and its image under `lift` have the same loss and the same norm."""
    monkeypatch.setattr("hingeline.linear.mapped.TRANSFORMS", transforms)
    with_coarse_starts(monkeypatch)
    problem = fitted(n_components=100)._problems(X, Y2, None)[2][0]
    sample = problem.samples("gram")[0]
    assert sample.problem.length < problem.length / 3
    point = RNG.normal(size=(1, sample.problem.length))
    losses = [
        own.source(SHAPES["squared_hinge"].clip).start(np.arange(1), np.ascontiguousarray(at)).loss[0]
        for own, at in ((sample.problem, point), (problem, sample.lift(point)))
    ]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(sample.lift(point)), np.linalg.norm(point), rtol=1e-5)


@pytest.mark.parametrize("n_rows", [1, 7, 399])
def test_predictions_do_not_depend_on_chunks_and_forms(n_rows):
    model = fitted().fit(X, Y3)
    np.testing.assert_array_equal(model.decision_function(X[:n_rows]), model.decision_function(X)[:n_rows])
    np.testing.assert_array_equal(model.decision_function(sp.csr_matrix(X)), model.decision_function(X))
    assert model.predict(X[:n_rows]).tolist() == model.predict(X)[:n_rows].tolist()


def test_weights_are_repetitions():
    times = RNG.integers(0, 3, len(X))
    again = np.repeat(np.arange(len(X)), times)
    options = {"n_components": 1000, "gamma": "scale", "tol": 1e-11}
    weighted = fitted(**options).fit(X, Y3, times)
    repeated = fitted(**options).fit(X[again], Y3[again])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-3)
    assert (times[weighted.map_.component_indices_] > 0).all()


def test_class_weights_move_the_boundary():
    share = [(fitted(class_weight=w).fit(X, Y2).predict(X) == 1).mean() for w in ({1: 0.1}, None, {1: 10.0})]
    assert share[0] < share[1] < share[2]
    assert fitted(class_weight="balanced").fit(X, Y3).class_weight_.tolist() != [1.0, 1.0, 1.0]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_a_path_is_many_fits(loss):
    Cs = [1.0, 0.1, 10.0]
    models = nystroem_svc_path(X, Y3, Cs=Cs, n_components=40, gamma=0.3, random_state=0, tol=1e-9, loss=loss)
    assert [model.C for model in models] == Cs
    for model in models:
        alone = fitted(C=model.C, tol=1e-9, loss=loss).fit(X, Y3)
        np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-4)
        np.testing.assert_allclose(model.objective_, alone.objective_, rtol=1e-7)
        assert model.score(X, Y3) == alone.score(X, Y3)
        assert model.map_ is models[0].map_
    same_bits(pickle.loads(pickle.dumps(models[2])), models[2])


def test_rows_with_few_coordinates():
    """Constant rows have a kernel matrix of rank one."""
    constant = np.ones((30, 2))
    model = fitted().fit(constant, np.arange(30) % 2)
    assert np.isfinite(model.decision_function(constant)).all()
    same = fitted(kernel="linear", n_components=50).fit(X, Y2)
    np.testing.assert_allclose(
        same.decision_function(X), LinearSVC(tol=1e-3).fit(X, Y2).decision_function(X), atol=0.05
    )


def test_copies_predict_the_same():
    model = fitted().fit(X, Y3)
    copy = pickle.loads(pickle.dumps(model))
    same_bits(copy, model)
    assert "_coordinates" not in vars(copy)
    assert not hasattr(clone(model), "coef_")
    function = NystroemSVC(kernel=overlap, n_components=20).fit(X, Y2)
    same_bits(pickle.loads(pickle.dumps(function)), function)


def test_more_components_fit_better():
    scores = [fitted(n_components=m, C=100.0).fit(X, Y2).score(X, Y2) for m in (2, 20, 200)]
    assert scores[0] < scores[1] < scores[2]


# ---- callbacks, Ctrl-C ---------------------------------------------------------------------------------


@pytest.mark.parametrize("coarse", [False, True])
def test_callbacks_see_models_and_change_nothing(coarse, monkeypatch):
    if coarse:
        with_coarse_starts(monkeypatch)
    recorder = Recorder()
    watched = fitted().set_callbacks(recorder).fit(X, Y2)
    same_bits(watched, fitted().fit(X, Y2))
    assert recorder.events[:2] == ["setup", "begin fit"]
    assert len(recorder.models) > 1
    assert all(seen.predict(X).shape == Y2.shape for seen in recorder.models)


def test_ctrl_c_keeps_the_model():
    rows, y = np.tile(X, (400, 1)), np.tile(Y2, 400)  # a fit takes two seconds or more
    rows = rows + 0.01 * np.random.default_rng(1).normal(size=rows.shape)
    model = fitted(loss="hinge", tol=0.0, n_components=200, cache_size=0)
    interrupt(lambda: model.fit(rows, y), learnt=lambda: hasattr(model, "stop_reason_"))
    assert set(model.stop_reason_) == {"interrupted"}
    assert np.isfinite(model.decision_function(rows[:10])).all()


# ---- errors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "'n_components' parameter of NystroemSVC must be an integer >= 1"),
        ({"landmarks": "random"}, "'landmarks' parameter of NystroemSVC must be one of 'uniform', 'balanced', 'k"),
        ({"kernel": "precomputed"}, "'kernel' parameter of NystroemSVC must be one of"),
        ({"gamma": -1.0}, "'gamma' parameter"),
        ({"solver": "dual"}, "'solver' parameter of NystroemSVC must be one of 'auto', 'gram', 'cg'"),
        ({"cache_size": -1}, "'cache_size' parameter of NystroemSVC must be a finite number >= 0 and <= 1e\\+12"),
        ({"kernel": "laplacian", "cache_size": 0}, "cache_size is too small: .* take 0 MB. Raise cache_size"),
        ({"kernel": lambda a, b: np.nan}, "returned NaN, infinity or values that are not real"),
        ({"kernel": lambda a, b: 0.0}, "kernel values between the landmarks are all zero"),
    ],
)
def test_bad_parameters(parameters, message):
    model = fitted().fit(X, Y2)
    before = model.coef_
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(X, Y2)
    assert model.coef_ is before


def test_bad_input():
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        fitted().fit(bad, Y2)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        NystroemMap().fit(bad)
    with pytest.raises(ValueError, match="squared norm beyond the range"):
        fitted().fit(X * 1e150, Y2)
    with pytest.raises(ValueError, match="gamma, coef0 and degree must be None with a callable kernel"):
        NystroemMap(kernel=overlap, gamma=1.0).fit(X)
    with pytest.raises(ValueError, match="features"):
        fitted().fit(X, Y2).predict(X[:, :3])
    with pytest.raises(ValueError, match="Cs must be a list of numbers"):
        nystroem_svc_path(X, Y2, Cs=[-1.0])
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or tol"):
        fitted(max_iter=0).fit(X, Y2)


def test_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NystroemSVC().fit(X, Y3).predict(X)
        NystroemSVC(C=1e6).fit(X, Y2)
        NystroemSVC(C=1e-6).fit(X, Y2)


# ---- Dask ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gamma": "scale"},
        {"solver": "cg"},
        {"loss": "hinge"},
        {"landmarks": "uniform"},
        {"landmarks": "kmeans++"},
        {"kernel": "laplacian"},
    ],
    ids=str,
)
def test_partitions(options):
    da = pytest.importorskip("dask.array")
    rows, weight = np.tile(X, (6, 1)), np.arange(2400) % 3 + 0.0
    rows = rows + 0.1 * np.random.default_rng(1).normal(size=rows.shape)
    y = np.tile(Y3, 6)
    parts = [da.from_array(a, chunks=(700, *a.shape[1:])) for a in (rows, y, weight)]
    options = {"tol": 1e-9, "n_components": 20, **options}
    here, there = fitted(**options).fit(rows, y, weight), fitted(**options).fit(*parts)
    np.testing.assert_array_equal(there.map_.component_indices_, here.map_.component_indices_)
    expected = here.decision_function(rows)
    np.testing.assert_allclose(there.decision_function(rows), expected, atol=1e-3)
    np.testing.assert_allclose(there.decision_function(parts[0]).compute(), there.decision_function(rows))
    assert there.score(parts[0], parts[1]) == there.score(rows, y)


def test_few_rows_in_partitions():
    da = pytest.importorskip("dask.array")
    there = fitted(n_components=500, tol=1e-9).fit(da.from_array(X[:50], chunks=(20, 6)), Y2[:50])
    here = fitted(n_components=500, tol=1e-9).fit(X[:50], Y2[:50])
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-4)
    sparse = da.from_array(X, chunks=(150, 6)).map_blocks(sp.csr_matrix)
    assert fitted().fit(sparse, Y2).score(X, Y2) == fitted().fit(X, Y2).score(X, Y2)
    with pytest.raises(TypeError, match="nystroem_svc_path needs X in memory"):
        nystroem_svc_path(da.from_array(X), Y2, Cs=[1.0])
