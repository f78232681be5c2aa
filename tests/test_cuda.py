"""device='cuda': the solver on the twin of a card, and the same tests on a card where there is one."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp

import hingeline.batch.card as batch_card
from hingeline import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from hingeline.cuda import is_usable, machine
from hingeline.model_selection import KernelSearchCV
from tests.cuda_twin import COMPILER, Twin

DEVICES = [
    pytest.param("twin", marks=pytest.mark.skipif(COMPILER is None, reason="no compiler of C++")),
    pytest.param("card", marks=pytest.mark.skipif(not is_usable(), reason="no CUDA device with CuPy")),
]


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch):
    """The twin in place of a card, or the card."""
    if request.param == "twin":
        monkeypatch.setattr(batch_card, "Card", Twin)
    return request.param


def make_problem(n=900, d=6, seed=0, flip=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0) ^ (rng.random(n) < flip)
    return X, y.astype(int)


def assert_same_model(card, cpu, X, tol=1e-3):
    """Two solutions of one problem within the tolerance of each."""
    assert (np.atleast_1d(card.stop_reason_) == "tol").all()
    assert (np.atleast_1d(card.kkt_violation_) <= tol).all()
    np.testing.assert_allclose(card.dual_objective_, cpu.dual_objective_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(card.decision_function(X), cpu.decision_function(X), atol=10 * tol)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
def test_a_kernel_gives_the_solution_of_the_processor(device, kernel):
    X, y = make_problem(400)
    own = {"kernel": kernel, "gamma": 0.05, "coef0": 1.0 if kernel == "poly" else 0.0}
    assert_same_model(SVC(**own, device="cuda").fit(X, y), SVC(**own).fit(X, y), X)


@pytest.fixture
def small_blocks(monkeypatch):
    """Working sets of a few hundred points, so that small problems need many."""
    monkeypatch.setattr(machine, "SIZES", (64, 128, 256, 512))
    monkeypatch.setattr(machine, "USUAL", 128)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_blocks_give_the_solution_of_the_processor(device, small_blocks, C):
    X, y = make_problem(1500)
    card = SVC(C=C, gamma=0.1, device="cuda").fit(X, y)
    assert_same_model(card, SVC(C=C, gamma=0.1).fit(X, y), X)
    assert card.history_["step"][-1] > 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_violation_in_double_is_at_most_tol(device, small_blocks, dtype):
    X, y = make_problem(1200)
    X, sign = X.astype(dtype), np.where(y == 1, 1.0, -1.0)
    model = SVC(C=10.0, gamma=0.1, device="cuda").fit(X, y)
    f = model.decision_function(X.astype(np.float64)) - model.intercept_
    beta = np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    assert abs(beta.sum()) < 1e-9 * np.abs(beta).sum()
    assert (np.where(sign > 0, beta, -beta) >= 0).all() and np.abs(beta).max() <= 10.0
    v = sign - f
    up, low = beta < np.where(sign > 0, 10.0, 0.0), beta > np.where(sign > 0, 0.0, -10.0)
    violation = v[up].max() - v[low].min()
    assert violation <= 1e-3
    assert model.kkt_violation_[0] == pytest.approx(violation, abs=1e-5)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [
        SVR(C=2.0, epsilon=0.1, gamma=0.2),
        SVR(C=2.0, epsilon=0.0, gamma=0.2),
        NuSVR(C=2.0, nu=0.3, gamma=0.2),
        OneClassSVM(nu=0.2, gamma=0.2),
    ],
    ids=["svr", "svr0", "nu_svr", "one_class"],
)
def test_machines_over_all_rows(device, request, estimator, blocks):
    if blocks:
        request.getfixturevalue("small_blocks")
    X, _ = make_problem(700)
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] * X[:, 2]
    card, cpu = copy.copy(estimator).set_params(device="cuda").fit(X, y), copy.copy(estimator).fit(X, y)
    card, cpu = (copy.copy(estimator).set_params(tol=1e-5, device=place).fit(X, y) for place in ("cuda", "cpu"))
    np.testing.assert_allclose(card.dual_objective_, cpu.dual_objective_, rtol=1e-6)
    assert card.stop_reason_ == "tol" and card.kkt_violation_ <= 1e-5
    found, wanted = (getattr(m, "decision_function", m.predict)(X) for m in (card, cpu))
    np.testing.assert_allclose(found, wanted, atol=1e-3)
    if isinstance(estimator, NuSVR):
        assert card.epsilon_ == pytest.approx(cpu.epsilon_, abs=1e-4)


@pytest.mark.parametrize("blocks", [False, True])
def test_nu_svc(device, request, blocks):
    if blocks:
        request.getfixturevalue("small_blocks")
    X, y = make_problem(600)
    card, cpu = NuSVC(nu=0.4, gamma=0.2, device="cuda").fit(X, y), NuSVC(nu=0.4, gamma=0.2).fit(X, y)
    np.testing.assert_allclose(card.decision_function(X), cpu.decision_function(X), atol=2e-2)
    np.testing.assert_allclose(card.dual_objective_, cpu.dual_objective_, rtol=1e-4)


def random_problem(seed):
    """Rows of very different kinds: few distinct ones, far from the origin, of one feature, ill-conditioned kernels."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 300)), int(rng.integers(1, 12))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3)
    kind = seed % 5
    if kind == 1:
        X = np.round(2 * X / np.abs(X).max())
    elif kind == 2:
        X += 100 * np.abs(X).max()
    elif kind == 3:
        X *= 10.0 ** rng.uniform(-2, 2, d)
    elif kind == 4:
        X = X[rng.integers(0, max(1, n // 3), n)]
    y = rng.permutation(np.arange(n) % 2)
    kernel = ("rbf", "rbf", "linear", "poly")[seed % 4]
    C = 10.0 ** rng.uniform(-3, 4 if kernel == "rbf" else 1)  # kernels of low rank take too many steps on the twin
    own = {"C": C, "kernel": kernel, "coef0": 1.0, "degree": 2}
    return X.astype(np.float32 if seed % 3 else np.float64), y, own


def test_random_problems_have_the_solution_of_the_processor(device, recwarn):
    """Objectives agree to what the tolerance allows: the violation times the sum of the sizes of the coefficients."""
    for seed in range(40 if device == "twin" else 200):
        X, y, own = random_problem(seed)
        cpu = SVC(**own).fit(X, y)
        if cpu.stop_reason_ != "tol":  # beyond double precision
            continue
        card = SVC(**own, device="cuda").fit(X, y)
        allowed = 1e-5 * abs(cpu.dual_objective_[0]) + 1.5e-3 * np.abs(cpu.dual_coef_).sum()
        assert abs(card.dual_objective_ - cpu.dual_objective_) <= allowed, (seed, own)
        assert card.stop_reason_ == "tol" and card.kkt_violation_ <= 1e-3, (seed, own)
        f, g = card.decision_function(X), cpu.decision_function(X)
        near = np.abs(g) < 1e-2 * max(1.0, np.abs(g).max())
        assert ((f > 0) == (g > 0))[~near].all(), (seed, own)


def test_many_classes_weights_and_sparse_rows(device):
    rng = np.random.default_rng(3)
    X = sp.random(400, 30, density=0.3, random_state=3, format="csr")
    y = np.array(["a", "b", "c", "d"])[rng.integers(0, 4, 400)]
    weight = rng.uniform(0, 2, 400)
    weight[:20] = 0
    own = {"C": 3.0, "gamma": 0.3, "class_weight": {"b": 2.0}}
    card = SVC(**own, device="cuda").fit(X, y, sample_weight=weight)
    cpu = SVC(**own).fit(X, y, sample_weight=weight)
    assert_same_model(card, cpu, X)
    assert sp.issparse(card.dual_coef_) and sp.issparse(card.support_vectors_)


def test_a_precomputed_matrix(device):
    X, y = make_problem(300)
    K = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(np.float64)
    own = {"kernel": "precomputed", "C": 2.0}
    assert_same_model(SVC(**own, device="cuda").fit(K, y), SVC(**own).fit(K, y), K)


def test_a_fit_has_the_same_bits_twice(device, small_blocks):
    X, y = make_problem(1000)
    one, two = (SVC(C=10.0, gamma=0.1, device="cuda").fit(X, y) for _ in range(2))
    assert np.array_equal(one.dual_coef_, two.dual_coef_) and np.array_equal(one.support_, two.support_)


def test_slices_do_not_change_a_bit(device, small_blocks):
    X, y = make_problem(1000)
    y[:200] = 2
    whole, sliced = SVC(C=10.0, gamma=0.1, device="cuda").fit(X, y), SVC(C=10.0, gamma=0.1, device="cuda")
    training = sliced._prepare(X, y, None, None, None)
    while training.advance(1):
        found = training.snapshot()
        assert "stopped" in found["stop_reason_"] and np.isfinite(found["dual_objective_"]).all()
    found = training.attributes("")
    for name in ("dual_coef_", "intercept_", "n_iter_", "dual_objective_", "duality_gap_"):
        assert np.array_equal(found[name], getattr(whole, name)), name
    assert found["n_kernel_evals_"] == whole.n_kernel_evals_


def test_a_search_trains_from_its_kernel_matrix(device):
    X, y = make_problem(300)
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.05, 0.2]}
    card, cpu = (KernelSearchCV(SVC(device=place), grid, cv=3).fit(X, y) for place in ("cuda", "cpu"))
    np.testing.assert_allclose(
        card.cv_results_["mean_test_score"], cpu.cv_results_["mean_test_score"], atol=2.5 / len(X)
    )


def test_saved_models_predict_without_a_card(device, tmp_path):
    from hingeline.files import load, save

    X, y = make_problem(300)
    model = SVC(device="cuda").fit(X, y)
    save(model, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert again.device == "cuda"
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_a_warm_start_takes_fewer_steps(device):
    X, y = make_problem(500)
    model = SVC(C=10.0, gamma=0.1, warm_start=True, device="cuda").fit(X, y)
    cold = model.n_iter_[0]
    assert model.fit(X, y).n_iter_[0] < 0.1 * cold
    assert (
        SVC(C=10.0, gamma=0.1, device="cuda").fit(X, y, dual_init=SVC(C=10.0, gamma=0.1).fit(X, y)).n_iter_[0]
        < 0.1 * cold
    )


def test_rows_are_forgotten_and_added(device):
    X, y = make_problem(500)
    model = SVC(C=2.0, gamma=0.1, device="cuda").fit(X, y, ids=range(500))
    model.forget(range(10))
    assert_same_model(model, SVC(C=2.0, gamma=0.1).fit(X[10:], y[10:]), X)


def test_a_limit_of_steps(device):
    X, y = make_problem(500)
    with pytest.warns(UserWarning, match="max_iter=20"):
        model = SVC(C=10.0, gamma=0.1, max_iter=20, device="cuda").fit(X, y)
    assert model.stop_reason_.tolist() == ["max_iter"] and model.n_iter_[0] == 20


def test_an_interrupted_fit_keeps_its_model(device, small_blocks, monkeypatch):
    X, y = make_problem(1200)
    step, done = machine.Machine._step, []

    def interrupted(self, look):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(step(self, look))

    monkeypatch.setattr(machine.Machine, "_step", interrupted)
    model = SVC(C=10.0, gamma=0.1, device="cuda")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.stop_reason_.tolist() == ["interrupted"]
    assert model.score(X, y) > 0.6 and model.history_["step"][-1] == 3


def test_working_sets_within_the_memory(monkeypatch):
    if COMPILER is None:
        pytest.skip("no compiler of C++")
    X, y = make_problem(1500, flip=0.3)
    monkeypatch.setattr(machine, "SIZES", (64, 128, 256, 512, 1024))
    monkeypatch.setattr(machine, "USUAL", 128)
    monkeypatch.setattr(machine.Machine, "least_bytes", staticmethod(lambda n: 0))
    memory = 2 * 256**2 / machine.MATRIX_SHARE
    monkeypatch.setattr(batch_card, "Card", lambda: Twin(memory=int(memory)))
    assert_same_model(SVC(gamma=0.3, device="cuda").fit(X, y), SVC(gamma=0.3).fit(X, y), X)


# ---- errors and choices ----------------------------------------------------------------------------------


def test_what_a_card_cannot_do_is_refused(monkeypatch):
    monkeypatch.setattr(batch_card, "Card", Twin)
    X, y = make_problem(50)
    with pytest.raises(ValueError, match=r"C is infinite.*device='cpu'"):
        SVC(C=np.inf, device="cuda").fit(X, y)
    with pytest.raises(ValueError, match=r"kernel is a function.*precomputed"):
        SVC(kernel=lambda a, b: a @ b.T, device="cuda").fit(X, y)
    with pytest.raises(ValueError, match="device"):
        SVC(device="gpu").fit(X, y)


def test_too_little_memory_is_an_error_before_training(monkeypatch):
    monkeypatch.setattr(batch_card, "Card", lambda: Twin(memory=1000))
    model, (X, y) = SVC(device="cuda"), make_problem(50)
    with pytest.raises(MemoryError, match=r"needs .* MiB on the card for 50 x 6 values.*device='cpu'"):
        model.fit(X, y)
    assert not hasattr(model, "dual_coef_")


@pytest.mark.skipif(is_usable(), reason="CuPy and a card are there")
def test_a_missing_card_is_an_error_that_names_the_remedy():
    X, y = make_problem(50)
    with pytest.raises((ImportError, RuntimeError), match=r"hingeline\[cuda\]|device='cpu'"):
        SVC(device="cuda").fit(X, y)
    assert_same_model(SVC(device="auto").fit(X, y), SVC().fit(X, y), X)


def test_auto_takes_the_card_for_large_problems(monkeypatch):
    X, y = make_problem(400)
    made = []
    monkeypatch.setattr(batch_card, "is_usable", lambda: True)
    monkeypatch.setattr(batch_card, "Card", lambda: made.append(Twin()) or made[-1])
    SVC(device="auto").fit(X, y)
    assert not made
    if COMPILER is None:
        pytest.skip("no compiler of C++")
    monkeypatch.setattr(batch_card, "AUTO_ROWS", 400)
    SVC(device="auto").fit(X, y)
    assert len(made) == 1
