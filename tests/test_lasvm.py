"""LASVC: epochs and finishing, kernels, several classes, interrupts.

What it shares with KernelSGDClassifier is in test_online_streams.py and test_online_estimators.py.
"""

import copy
import pickle
from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from hingeline import LASVC

from .copies import COPIES
from .data import blobs, noisy
from .online import LIVELY, SOON, VARIANTS, FailingKernel, coefficients, same, stream
from .private import kernel_bytes, kernel_matrix
from .watching import Recorder

# ---- fit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"cache_size": 1e-6}, {"cache_size": 0.05}, {"n_jobs": 2}, {"n_jobs": 3}])
@pytest.mark.parametrize("variant", VARIANTS)
def test_cache_and_threads_change_nothing(variant, options):
    X, y = blobs(500, 3, d=10, dtype=np.float32)
    common = {"variant": variant, "C": 3.0, "gamma": 0.1, "n_epochs": 2, "random_state": 0}
    common |= {"solver_options": {"warm_sv": 20}, "tol": 1e-4 if variant in ("full", "lasvm") else None}
    reference, other = (LASVC(**common, **more).fit(X, y) for more in ({}, options))
    same(reference, other)
    if "cache_size" in options:
        assert other.n_kernel_recomputed_ > 0 == reference.n_kernel_recomputed_
    np.testing.assert_array_equal(reference.decision_function(X), other.decision_function(X))


def test_threads_share_a_large_expansion():
    X, y = noisy(3000, 5, dtype=np.float32)
    options = {"variant": "full", "gamma": 0.3}
    one, two = (stream(LASVC(**options, n_jobs=k), X, y, [1500]) for k in (1, 2))
    same(one, two)


@pytest.mark.parametrize("how", ["fit", "stream"])
def test_without_a_ramp_nc_is_g(how):
    X, y = blobs(300, 3)
    options = {**LIVELY, "s": -1e9, "solver_options": {**SOON, "warm_sv": 0}, "gamma": 0.3, "random_state": 0}
    models = [LASVC(variant=variant, **options) for variant in ("g", "nc")]
    for model in models:
        if how == "fit":
            model.fit(X, y)
        else:
            stream(model, X, y, [100])
    same(*models)
    assert (LASVC(variant="nc", **{**options, "s": 0.0}).fit(X, y).n_iter_ != models[0].n_iter_).any()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("variant", "finish"), [*((v, "all") for v in VARIANTS), ("lasvm", "expansion")])
def test_finish_then_partial_fit(variant, finish, n_classes):
    X, y = blobs(200, n_classes)
    options = {"gamma": 0.3, "C": 2.0, "tol": 1e-3, "solver_options": {"finish": finish}}
    model = LASVC(variant=variant, **options, random_state=0).fit(X, y)
    other = pickle.loads(pickle.dumps(model))
    for begin, end in ((0, 7), (7, 20)):
        other.partial_fit(X[begin:end] + 0.1, np.full(end - begin, n_classes))
    model.partial_fit(X[:20] + 0.1, np.full(20, n_classes))
    same(model, other)
    assert len(model.duality_gap_) == len(model.intercept_) == (n_classes + 1) * n_classes // 2
    assert np.isfinite(model.duality_gap_).all() and (model.duality_gap_ >= -1e-9).all()
    same(model, copy.deepcopy(model))


@pytest.mark.parametrize("period", [7, 64, None])
@pytest.mark.parametrize("variant", VARIANTS)
def test_watching_changes_nothing(variant, period):
    # Epochs are cut into other calls of the core, which must not show.
    X, y = blobs(330, 3)
    options = {**LIVELY, "gamma": 0.3, "variant": variant, "n_epochs": 3, "random_state": 0}
    options["solver_options"] = {**SOON, "clean_period": period}
    one = LASVC(**options).fit(X, y)
    assert one.history_["step"].max() <= 3 * np.bincount(y)[np.argsort(np.bincount(y))[1:]].sum()
    same(one, LASVC(**options).set_callbacks(Recorder()).fit(X, y))
    X, y = noisy(330, seed=15)
    options |= {"tol": 1e-3, "gamma": 1.0}
    same(LASVC(**options).fit(X, y), LASVC(**options).set_callbacks(Recorder()).fit(X, y))


# ---- kernels -------------------------------------------------------------------------------------------


class Distance:
    """A kernel that is an object with a state."""

    def __init__(self, gamma):
        self.gamma = gamma

    def __call__(self, A, B):
        return rbf_kernel(A, B, gamma=self.gamma)


def test_kernels_that_are_objects():
    X, y = blobs(120, 3)
    known = np.argsort(y >= 2, kind="stable")
    X, y = X[known], y[known]
    model = LASVC(kernel=Distance(0.3)).partial_fit(X[:30], y[:30], [0, 1])
    for begin in (30, 60, 90):  # a class comes on the way
        model.partial_fit(X[begin : begin + 30], y[begin : begin + 30])
    assert model.classes_.tolist() == [0, 1, 2]
    for copied in COPIES.values():
        copied(model).partial_fit(X, y)
    one = stream(LASVC(gamma=0.3), X, y, classes=[0, 1])
    np.testing.assert_allclose(model.decision_function(X), one.decision_function(X), atol=1e-6)


def test_precomputed_is_computed():
    X, y = blobs(150, 3)
    options = {**LIVELY, "gamma": 0.3, "n_epochs": 2, "random_state": 0}
    for variant in VARIANTS:
        model = LASVC(variant=variant, **options).fit(X, y)
        K = kernel_matrix(LASVC(**options), X)
        other = LASVC(variant=variant, **{**options, "kernel": "precomputed"}).fit(K, y)
        same(model, other)
        np.testing.assert_allclose(model.decision_function(X), other.decision_function(K), rtol=1e-12, atol=1e-12)


def test_kernel_values_keep_to_their_memory():
    X, y = noisy(3000, 5, seed=2, dtype=np.float32)
    model = LASVC(variant="g", C=10.0, gamma=0.5, cache_size=1.0)
    for at in range(0, 3000, 500):
        model.partial_fit(X[at : at + 500], y[at : at + 500], [0, 1])
        assert kernel_bytes(model) <= 2**20
    assert model.n_kernel_recomputed_ > 0


# ---- several classes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_pairs_are_binary_machines(variant):
    X, y = blobs(200, 4)
    options = {**LIVELY, "gamma": 0.3, "variant": variant}
    model = stream(LASVC(**options, decision_function_shape="ovo"), X, y)
    begin = np.concatenate([[0], np.cumsum(model.n_support_)])
    values = model.decision_function(X)
    for k, (i, j) in enumerate(combinations(range(4), 2)):
        rows = np.flatnonzero((y == i) | (y == j))
        binary = stream(LASVC(**options), X[rows], (y[rows] == j).astype(int))
        line = np.zeros(200)
        for label, row in ((i, j - 1), (j, i)):
            of_class = slice(begin[label], begin[label + 1])
            line[model.support_[of_class]] = model.dual_coef_[row, of_class]
        expected = np.zeros(200)
        expected[rows[binary.support_]] = -binary.dual_coef_[0]
        np.testing.assert_array_equal(line, expected)
        np.testing.assert_array_equal(model.intercept_[k], -binary.intercept_[0] + 0.0)
        for name in (
            "n_iter_",
            "duality_gap_",
            "dual_objective_",
            "duality_gap_target_",
            "n_expansion_",
            "decision_scale_",
        ):
            assert getattr(model, name)[k] == getattr(binary, name)[0], name
        for key, counts in model.ramp_counts_.items():
            np.testing.assert_array_equal(counts[k], binary.ramp_counts_[key][0])
        other = np.where(y[rows] == i, j, i)
        np.testing.assert_array_equal(model.admission_margin_[rows, other], binary.admission_margin_)
        np.testing.assert_allclose(values[:, k], -binary.decision_function(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("how", ["fit", "stream"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_rest_machines_are_binary_machines(variant, how):
    X, y = blobs(200, 4)
    options = {**LIVELY, "gamma": 0.3, "variant": variant, "random_state": 5}
    model = LASVC(**options, multi_class="ovr")
    model.fit(X, y) if how == "fit" else stream(model, X, y)
    values = model.decision_function(X)
    for k in range(4):
        binary = LASVC(**options)
        label = (y == k).astype(int)
        binary.fit(X, label) if how == "fit" else stream(binary, X, label)
        line = np.zeros(200)
        line[model.support_] = model.dual_coef_[k]
        np.testing.assert_array_equal(line, coefficients(binary, 200))
        for name in ("intercept_", "n_iter_", "duality_gap_", "n_expansion_"):
            assert getattr(model, name)[k] == getattr(binary, name)[0], name
        np.testing.assert_array_equal(model.admission_margin_[:, k], binary.admission_margin_)
        np.testing.assert_allclose(values[:, k], binary.decision_function(X), rtol=1e-9, atol=1e-12)
    assert (model.predict(X) == model.classes_[values.argmax(axis=1)]).all()


# ---- failures and Ctrl-C -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [{"variant": "g"}, {"gamma": 2.0}, {"kernel": "linear"}, {"degree": 2}, {"coef0": 1.0}, {"multi_class": "ovr"}],
    ids=str,
)
def test_a_stream_keeps_its_kernel(change):
    X, y = noisy(60)
    model = stream(LASVC(gamma=1.0), X, y)
    expected = model.decision_function(X)
    (name,) = change
    with pytest.raises(ValueError, match=f"{name} cannot change"):
        model.set_params(**change).partial_fit(X, y)
    model.set_params(**LASVC(gamma=1.0).get_params())
    np.testing.assert_array_equal(model.decision_function(X), expected)
    model.set_params(C=2.0, s=-0.2, solver_options={"tau": 1e-2, "clean_period": 7}, cache_size=1, n_jobs=2)
    model.partial_fit(X, y)
    assert model.n_samples_seen_ == 120 and np.abs(model.dual_coef_).max() > 1.0


def test_a_failed_chunk_leaves_the_gap():
    X, y = blobs(200, 2)
    model = LASVC(**{**LIVELY, "variant": "lasvm", "kernel": FailingKernel(), "tol": 0.5}).fit(X, y)
    gap = model.duality_gap_.copy()
    model.kernel.fail(ZeroDivisionError, 0)
    with pytest.raises(ZeroDivisionError):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.duality_gap_, gap)


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_interrupted_model_fits_together(variant):
    X, y = blobs(300, 2)
    for patience in (1, 4, 9):
        model = LASVC(**{**LIVELY, "variant": variant, "kernel": FailingKernel()})
        model.kernel.fail(KeyboardInterrupt, patience)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X, y, [0, 1])
        model.kernel.fail(None, 0)
        known = ~np.isnan(model.admission_margin_)
        assert len(known) == 300 and 0 < known.sum() < 300 and known[: known.sum()].all()
        counts = model.ramp_counts_
        assert counts["admitted"].sum() + counts["skipped"].sum() == known.sum()
        assert (counts["admitted"] - counts["cleaned"]).sum() == model.n_expansion_.sum()
        assert (model.duality_gap_ >= -1e-9).all() and set(model.stop_reason_) == {"interrupted"}
