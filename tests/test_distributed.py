"""Dask collections: same result as in memory for any partitions; workers that die; files on disk."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.exceptions import NotFittedError

from hingeline import LinearSVC, OrdinalSVC

dask = pytest.importorskip("dask", reason="Dask is not installed (pip install 'hingeline[dask]')")
da = pytest.importorskip("dask.array", reason="dask.array is not installed (pip install 'hingeline[dask]')")
pytest.importorskip("distributed", reason="distributed is not installed (pip install 'hingeline[dask]')")

import hingeline.linear.dask as hd  # noqa: E402
from hingeline.linear import training  # noqa: E402
from hingeline.linear.dask import reader, rounds  # noqa: E402
from hingeline.linear.sums import Source  # noqa: E402

from .watching import NO_CALLBACKS  # noqa: E402

N, D, CHUNK = 1500, 6, 400


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="sync"):
        yield


def rows(n=N, d=D, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.2
    return X, 2 * X[:, 0] - X[:, 1] + rng.standard_normal(n) + 8 * (rng.random(n) < 0.03)


def labels(score, n_classes):
    return np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))


def chunked(X, chunk=CHUNK):
    """A Dask array, of CSR chunks where X is sparse."""
    if not sp.issparse(X):
        return da.from_array(X, chunks=(chunk, -1) if X.ndim == 2 else chunk)
    meta = sp.csr_matrix((0, 0), dtype=X.dtype)
    blocks = [
        da.from_delayed(dask.delayed(X[at : at + chunk]), shape=(min(chunk, X.shape[0] - at), X.shape[1]), meta=meta)
        for at in range(0, X.shape[0], chunk)
    ]
    return da.concatenate(blocks, axis=0)


def same(ours, local, X=None, Z=None, rtol=1e-4):
    np.testing.assert_array_equal(ours.classes_, local.classes_)
    np.testing.assert_allclose(ours.objective_, local.objective_, rtol=1e-6)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=rtol, atol=rtol * np.abs(local.coef_).max())
    assert np.all(ours.duality_gap_ <= ours.tol * np.asarray(ours.objective_))
    if X is not None:
        np.testing.assert_allclose(
            ours.decision_function(Z).compute(), local.decision_function(X), rtol=1e-2, atol=1e-3
        )


# ---- the answer of one machine ---------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("loss", ["squared_hinge", "huber", "squared"])
def test_two_classes(solver, form, loss):
    X, score = rows()
    X = sp.csr_matrix(np.where(np.abs(X) > 0.7, X, 0)) if form == "csr" else X
    y = np.array(["no", "yes"])[labels(score, 2)]
    weight = np.random.default_rng(1).integers(0, 4, N) / 2
    model = {
        "loss": loss,
        "solver": solver,
        "tol": 1e-9,
        "C": 0.3,
        "class_weight": "balanced",
        "intercept_scaling": 2.0,
    }
    local = LinearSVC(**model).fit(X, y, weight)
    Z = chunked(X)
    ours = LinearSVC(**model).fit(Z, chunked(y), chunked(weight))
    same(ours, local, X, Z)
    assert ours.solver_ == solver
    np.testing.assert_allclose(ours.intercept_, local.intercept_, rtol=1e-4)
    np.testing.assert_allclose(ours.class_weight_, local.class_weight_)
    assert (ours.predict(Z).compute() == local.predict(X)).mean() > 0.999
    assert ours.score(Z, y, weight) == pytest.approx(local.score(X, y, weight), abs=2e-3)
    assert not hasattr(ours, "support_")


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("model", [LinearSVC(), OrdinalSVC()], ids=["rest", "ordinal"])
def test_the_hinge(model, form):
    X, score = rows(600)
    X = sp.csr_matrix(np.where(np.abs(X) > 0.7, X, 0)) if form == "csr" else X
    y = labels(score, 3)
    model.set_params(loss="hinge", tol=1e-5, C=0.1)
    local = model.fit(X, y)
    ours = type(model)(**model.get_params()).fit(chunked(X, 250), y)
    np.testing.assert_allclose(ours.objective_, local.objective_, rtol=2e-5)
    assert np.all(ours.duality_gap_ <= 1e-5 * np.asarray(ours.objective_))


@pytest.mark.parametrize("solver", ["gram", "cg"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_more_classes(solver, multi_class):
    X, score = rows()
    y = labels(score, 4)
    y[:CHUNK] = np.minimum(y[:CHUNK], 2)  # a partition without one of the classes
    model = {"solver": solver, "multi_class": multi_class, "tol": 1e-9, "class_weight": {0: 2.0, 3: 0.5}}
    local = LinearSVC(**model).fit(X, y)
    ours = LinearSVC(**model).fit(chunked(X), chunked(y))
    same(ours, local, X, chunked(X))
    if multi_class == "ovo":
        np.testing.assert_allclose(ours.decision_scale_, local.decision_scale_, rtol=1e-3)
    assert (ours.predict(chunked(X)).compute() == local.predict(X)).mean() > 0.999


@pytest.mark.parametrize("solver", ["gram", "cg"])
def test_ordered_classes(solver):
    X, score = rows()
    names = np.array(["low", "middle", "high"])
    y = names[labels(score, 3)]
    weight = np.random.default_rng(1).random(N)
    model = {"solver": solver, "tol": 1e-9, "classes": [*names, "never"], "class_weight": "balanced"}
    local = OrdinalSVC(**model).fit(X, y, weight)
    ours = OrdinalSVC(**model).fit(chunked(X), y, weight)
    same(ours, local, X, chunked(X))
    np.testing.assert_allclose(ours.thresholds_, local.thresholds_, rtol=1e-3)
    assert ours.score(chunked(X), y) == pytest.approx(local.score(X, y), abs=2e-3)


def test_one_weight_only():
    X, score = rows()
    y = labels(score, 2)
    local = LinearSVC(fit_intercept=False, tol=1e-9).fit(X[:, :1], y)
    same(LinearSVC(fit_intercept=False, tol=1e-9, solver="gram").fit(chunked(X[:, :1]), y), local)


def test_single_precision_and_integers():
    X, score = rows()
    y = labels(score, 2)
    for Z in (X.astype(np.float32), np.round(3 * X).astype(np.int16)):
        for solver in ("gram", "cg"):
            model = {"solver": solver, "tol": 1e-7}
            same(LinearSVC(**model).fit(chunked(Z), y), LinearSVC(**model).fit(Z, y), rtol=1e-3)


def test_a_start_that_is_given():
    X, score = rows()
    y = labels(score, 2)
    local = LinearSVC(tol=1e-9).fit(X, y)
    guess = local.coef_ * 17
    # Without an intercept the guess is scaled; in memory for the rows that have a loss, which are all with 'squared'.
    starts = [("squared", {}), ("squared_hinge", {"intercept_init": [0.3]})]
    for loss, intercept in starts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, here = (
                LinearSVC(tol=1e-4, max_iter=0, loss=loss).fit(Z, y, coef_init=guess, **intercept)
                for Z in (chunked(X), X)
            )
        np.testing.assert_allclose(ours.coef_, here.coef_, rtol=1e-9)
        np.testing.assert_allclose(ours.intercept_, here.intercept_, rtol=1e-9)
    again = LinearSVC(tol=1e-4, warm_start=True).fit(chunked(X), y)
    assert again.fit(chunked(X), y).n_iter_ == 0


def test_few_rounds():
    X, score = rows(20_000, 10)
    ours = LinearSVC(C=0.5).fit(chunked(X, 4000), labels(score, 2))
    assert ours.n_passes_ < 7
    assert ours.n_iter_ <= 3


def test_partitions_do_not_matter():
    X, score = rows()
    y = labels(score, 2)
    one = LinearSVC(tol=1e-9).fit(chunked(X, N), y)
    for sizes in ((1, 0, N - 1), (700, 3, 797)):
        Z = da.from_array(X, chunks=((*sizes,), -1))
        same(LinearSVC(tol=1e-9).fit(Z, y), one)


def test_partitions_are_a_source():
    for name in dir(Source):
        if not name.startswith("_"):
            assert hasattr(rounds.PartitionSource(SimpleNamespace(n_machines=1, length=4), None), name), name


# ---- collections -----------------------------------------------------------------------------------


def test_dataframes():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, score = rows()
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(D)])
    frame["label"] = np.array(["a", "b"])[labels(score, 2)]
    frame["weight"] = np.random.default_rng(0).random(N)
    names = list(frame.columns[:D])
    local = LinearSVC(tol=1e-9).fit(frame[names], frame["label"], frame["weight"])
    parts = dd.from_pandas(frame, npartitions=4)
    parts = parts[parts["f0"] < 100]  # numbers of rows are not known any more
    ours = LinearSVC(tol=1e-9).fit(parts[names], parts["label"], parts["weight"])
    same(ours, local)
    assert ours.feature_names_in_.tolist() == names
    assert (ours.predict(parts[names]).compute() == local.predict(frame[names])).mean() > 0.999
    assert ours.score(parts[names], parts["label"]) == pytest.approx(
        local.score(frame[names], frame["label"]), abs=2e-3
    )
    same(LinearSVC(tol=1e-9).fit(parts[names], frame["label"], frame["weight"]), local)
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(parts[names[::-1]]).compute()


def test_chunks_of_unknown_size_and_of_columns():
    X, score = rows()
    y = labels(score, 2)
    local = LinearSVC(tol=1e-9).fit(X, y)
    Z, v = chunked(X), chunked(y)
    kept = Z[:, 0] > -100
    same(LinearSVC(tol=1e-9).fit(Z[kept], v[kept]), local)
    same(LinearSVC(tol=1e-9).fit(Z[kept], y), local)
    same(LinearSVC(tol=1e-9).fit(Z[kept], chunked(y, 100)), local)
    same(LinearSVC(tol=1e-9).fit(Z.rechunk((300, 2)), chunked(y, 100)), local, X, Z.rechunk((300, 2)))
    assert np.isnan(local.predict(Z[kept]).shape[0])


def test_predictions_are_lazy():
    X, score = rows()
    model = LinearSVC().fit(X, labels(score, 3))
    out = model.decision_function(chunked(X))
    assert isinstance(out, da.Array)
    assert out.shape == (N, 3)
    assert out.chunks[0] == chunked(X).chunks[0]
    np.testing.assert_allclose(out.compute(), model.decision_function(X))
    assert model.predict(chunked(X)).dtype == model.predict(X).dtype


def test_dask_is_not_imported_unasked():
    code = "import sys; from hingeline import *; assert 'dask' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- errors ----------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong():
    X, score = rows()
    y = labels(score, 2)
    Z, v = chunked(X), chunked(y)

    def refuses(match, *args, **options):
        model = LinearSVC(**options)
        with pytest.raises(ValueError, match=match):
            model.fit(*args)
        assert not hasattr(model, "classes_")

    refuses("X and y have different numbers of rows: 1500 and 1400", Z, y[:1400])
    refuses("X and y have different numbers of rows: 1500 and 1400", Z, v[:1400])
    refuses("X and sample_weight have different numbers of rows", Z, v, np.ones(3))
    known = Z[:, 0] > -100
    refuses("y has 399 rows in partition 1, where X has 400", Z, v[da.from_array(np.arange(N) != 500, chunks=CHUNK)])
    refuses("X has 4 partitions and y has 2.*compute_chunk_sizes", Z[known], v.rechunk(800)[known.rechunk(800)])
    refuses("y.*None", Z, None)
    refuses("two dimensions", v, v)
    refuses("greater than one; got 1 class", Z, np.ones(N))
    refuses("Unknown label type", Z, score)
    refuses("sample_weight", Z, v, -np.ones(N))
    refuses("sample_weight must not be zero", Z, v, np.zeros(N))
    refuses("sample_weight.*NaN", Z, v, np.full(N, np.nan))
    refuses("class_weight", Z, v, class_weight={0: -1.0})
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[700, 3] = bad
        refuses(r"X \(partition 1\) contains (NaN|infinity)", chunked(broken), v)
        refuses(r"X \(partition 1\) contains (NaN|infinity)", chunked(sp.csr_matrix(broken)), v)
    refuses("range of a double", chunked(X * 1e200), v)
    with pytest.raises(TypeError, match="y must be a Dask array or dataframe"):
        LinearSVC().fit(Z, dask.delayed(y))
    with pytest.raises(ValueError, match="classes must list every label"):
        OrdinalSVC(classes=[0, 5]).fit(Z, v)
    with pytest.raises(NotFittedError):
        LinearSVC().predict(Z)
    with pytest.raises(ValueError, match="expecting 6 features"):
        LinearSVC().fit(Z, v).predict(Z[:, :3])


def test_a_failed_fit_changes_nothing():
    X, score = rows()
    y = labels(score, 2)
    model = LinearSVC().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="different numbers"):
        model.fit(chunked(X), y[:-1])
    assert all(vars(model)[name] is value for name, value in before.items())


# ---- Ctrl-C, callbacks -----------------------------------------------------------------------------


def test_ctrl_c_leaves_a_model(monkeypatch):
    X, score = rows(4000)
    calls = []

    def broken(self, *args, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return whole(self, *args, **options)

    whole = rounds.PartitionSource._round
    monkeypatch.setattr(rounds.PartitionSource, "_round", broken)
    model = LinearSVC(tol=1e-9)
    with pytest.raises(KeyboardInterrupt):
        model.fit(chunked(X), labels(score, 2))
    assert model.stop_reason_.tolist() == ["interrupted"]
    assert model.score(chunked(X), labels(score, 2)) > 0.8


def test_callbacks_watch():
    pytest.importorskip("sklearn.callback", reason=NO_CALLBACKS)
    X, score = rows()
    Z, y = chunked(X), chunked(labels(score, 2))
    seen = []

    class Watch:
        def setup(self, *args, **options): ...
        def teardown(self, *args, **options): ...
        def on_fit_task_begin(self, *args, **options): ...
        def on_fit_task_end(self, *args, **options):
            seen.append(1)

    LinearSVC(loss="hinge").set_callbacks(Watch()).fit(Z, y)
    assert len(seen) > 3


def test_a_bar_in_a_terminal(monkeypatch):
    told = []

    class Bar:
        def __enter__(self):
            return told.append

        def __exit__(self, *args): ...

    monkeypatch.setattr(training, "progress", lambda wanted, total, label: told.append(wanted) or Bar())
    X, score = rows()
    LinearSVC(tol=1e-9).fit(chunked(X), labels(score, 2))
    assert told[0] is None
    assert told[-1] == 100


# ---- a cluster -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 5, "logging.distributed": "critical"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="1GiB"
        ) as found,
        distributed.Client(found) as client,
    ):
        yield client


def lazy(n_parts, each, flag=None):
    """Partitions that are computed from their number; the first task that finds the flag removes it and dies."""

    def block(number):
        if flag is not None:
            with contextlib.suppress(FileNotFoundError):
                os.remove(flag)
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        return rows(each, D, number)[0]

    def target(number):
        return (rows(each, D, number)[1] > 0.5).astype(int)

    X = [da.from_delayed(dask.delayed(block)(k), shape=(each, D), dtype=float) for k in range(n_parts)]
    y = [da.from_delayed(dask.delayed(target)(k), shape=(each,), dtype=int) for k in range(n_parts)]
    return da.concatenate(X), da.concatenate(y)


def test_a_cluster(cluster):
    with dask.config.set(scheduler=None), cluster.as_current():
        X, y = lazy(4, 500)
        local = LinearSVC(tol=1e-9).fit(*dask.compute(X, y, scheduler="sync"))
        Z = X.persist()
        ours = LinearSVC(tol=1e-9).fit(Z, y)
        same(ours, local)
        assert ours.score(Z, y) == pytest.approx(local.score(*dask.compute(X, y, scheduler="sync")), abs=2e-3)
        with pytest.raises(ValueError, match="Unknown label type"):
            LinearSVC().fit(Z, y + 0.123)


@pytest.mark.parametrize("solver", [pytest.param("gram", marks=pytest.mark.slow), "cg"])
def test_a_worker_dies(cluster, solver, tmp_path, monkeypatch):
    flag = str(tmp_path / "flag")
    with dask.config.set(scheduler=None), cluster.as_current():
        X, y = lazy(3, 400, flag)
        local = LinearSVC(tol=1e-6).fit(*dask.compute(X, y, scheduler="sync"))
        before = set(cluster.run(os.getpid).values())
        seen = []

        def compute(*values):
            seen.append(1)
            if len(seen) == 3:
                open(flag, "w").close()
            return real(*values)

        real = rounds.persist if solver == "cg" else rounds.compute
        monkeypatch.setattr(rounds, "persist" if solver == "cg" else "compute", compute)
        ours = LinearSVC(tol=1e-6, solver=solver).fit(X, y)
        assert len(seen) >= 3
        assert not os.path.exists(flag)
        deadline = time.monotonic() + 20
        while len(after := set(cluster.run(os.getpid).values())) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert after != before
        same(ours, local, rtol=1e-2)


# ---- larger than memory ----------------------------------------------------------------------------


def test_a_mapped_file_is_not_copied(tmp_path):
    X, score = rows(20_000, 20)
    y = labels(score, 2)
    mapped = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    mapped.flush()
    mapped = np.memmap(tmp_path / "X", dtype=np.float64, mode="r", shape=X.shape)
    LinearSVC().fit(X[:2000], y[:2000])
    tracemalloc.start()
    try:
        model = LinearSVC(tol=1e-9).fit(mapped, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes / 2
    np.testing.assert_array_equal(model.coef_, LinearSVC(tol=1e-9).fit(X, y).coef_)


def test_partition_after_partition():
    """No more partitions are alive than threads work on."""
    alive, most = set(), [0]

    class Block(np.ndarray):
        def __del__(self):
            alive.discard(id(self))

    def block(number):
        out = rows(500, D, number)[0].view(Block)
        alive.add(id(out))
        most[0] = max(most[0], len(alive))
        return out

    X = da.concatenate([da.from_delayed(dask.delayed(block)(k), shape=(500, D), dtype=float) for k in range(12)])
    y = np.concatenate([rows(500, D, k)[1] > 0 for k in range(12)])
    with dask.config.set(scheduler="threads", num_workers=2):
        LinearSVC(tol=1e-9).fit(X, y)
        LinearSVC(tol=1e-9, solver="cg").fit(X, y)
    assert most[0] <= 5


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("cached", [False, True])
def test_read_libsvm(tmp_path, zero_based, cached):
    X, score = rows(300)
    X = sp.csr_matrix(np.where(np.abs(X) > 0.7, X, 0))
    y = labels(score, 2)
    file = tmp_path / "rows.txt"
    dump_svmlight_file(X, y, str(file), zero_based=zero_based)
    cache = tmp_path / "cache" if cached else None
    Z, v = hd.read_libsvm(file, blocksize=4000, cache=cache)
    assert Z.shape == X.shape
    assert Z.numblocks[0] > 3
    X, y = load_svmlight_file(str(file), n_features=D, zero_based=zero_based)
    blocks = dask.compute(*Z.to_delayed().ravel())
    np.testing.assert_array_equal(sp.vstack(blocks).toarray(), X.toarray())
    np.testing.assert_array_equal(v.compute(), y)
    if cached:
        file.touch()  # as if it were another file: the cache must not answer for it
        count = len(list(cache.iterdir()))
        Z, v = hd.read_libsvm(file, blocksize=4000, cache=cache, n_features=D, zero_based=zero_based)
        v.compute()
        assert len(list(cache.iterdir())) == 2 * count
    lazily, labels_too = hd.read_libsvm([file], blocksize=4000, n_features=D, zero_based=zero_based, dtype="float32")
    assert np.isnan(lazily.shape[0])
    local = LinearSVC(tol=1e-7).fit(X, y)
    same(LinearSVC(tol=1e-7).fit(Z, v), local, rtol=1e-3)
    same(LinearSVC(tol=1e-7).fit(lazily, labels_too), local, rtol=1e-3)


def test_read_libsvm_refuses(tmp_path):
    X, score = rows(50)
    file = tmp_path / "rows.txt"
    dump_svmlight_file(X, labels(score, 2), str(file), zero_based=False)
    with pytest.raises(FileNotFoundError):
        hd.read_libsvm(tmp_path / "nothing*")
    with pytest.raises(ValueError, match="zero_based"):
        hd.read_libsvm(file, zero_based="perhaps")
    with pytest.raises(ValueError, match="n_features is 3, but the files have 6"):
        hd.read_libsvm(file, n_features=3)
    with pytest.raises(ValueError, match="numbered from 1 to 6"):
        hd.read_libsvm(file, n_features=3, zero_based=False)[0].compute()
    with pytest.raises(ValueError, match="float64 or float32"):
        hd.read_libsvm(file, dtype=int)
    with pytest.raises(ValueError, match="blocksize"):
        hd.read_libsvm(file, blocksize=0)


@pytest.mark.slow
def test_cached_text_is_parsed_once(tmp_path, monkeypatch):
    X, score = rows(200)
    file = tmp_path / "rows.txt"
    dump_svmlight_file(X, labels(score, 2), str(file))
    parsed = []
    real = reader.load_svmlight_file
    monkeypatch.setattr(reader, "load_svmlight_file", lambda *a, **k: parsed.append(1) or real(*a, **k))
    Z, y = hd.read_libsvm(str(tmp_path / "*.txt"), blocksize=5000, cache=tmp_path / "cache")
    LinearSVC().fit(Z, y).score(Z, y)
    assert len(parsed) == Z.numblocks[0]
