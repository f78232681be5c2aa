"""The naive LASVM twin itself: by hand, against batch solvers, and the laws of the algorithm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from .oracle.naive_lasvm import VARIANTS, NaiveLasvm, naive_lasvm
from .oracle.qp import box_qp, cccp, dual_value, primal_value, ramp_objective, shifted_box

FORGETFUL = ["g", "nc", "i"]
WITHOUT_BIAS = [*FORGETFUL, "full"]


def noisy(n, seed, gamma=1.0, flips=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = (X[:, 0] * X[:, 1] + 0.3 * X[:, 0] > 0) ^ (rng.random(n) < flips)
    return rbf_kernel(X, gamma=gamma), np.where(y, 1.0, -1.0)


def line(*points):
    """Linear kernel of points on a line."""
    return np.outer(points, points).astype(float)


def weights(n, seed):
    """Factors of C, some of them zero."""
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], n, p=[0.1, 0.3, 0.3, 0.3])


def parts(m):
    """K, y, alpha, c, beta of the live entries."""
    on = m.ids[m.live]
    return m.K[np.ix_(on, on)], m.y[on], m.alpha[m.live], m.c[on], m.c[on] * m.flagged[m.live]


class Watched(NaiveLasvm):
    """Looks at the dual and the box around every move."""

    moves = 0

    def watch(self, move, *args):
        K, y, alpha, *_ = parts(self)
        before = dual_value(K, y, alpha)
        result = move(*args)
        after = dual_value(K, y, self.alpha[self.live])
        assert after >= before - 1e-12 * (1 + abs(before))
        assert np.all((self.lo <= self.alpha) & (self.alpha <= self.hi))
        self.moves += after > before
        return result

    def step(self, t):
        return self.watch(super().step, t)

    def pair(self, i, j, tau):
        return self.watch(super().pair, i, j, tau)


def check(m):
    """The laws that hold after any sequence of operations."""
    K, y, alpha, c, beta = parts(m)
    np.testing.assert_allclose(m.g[m.live], y - K @ alpha, atol=1e-10)
    lo, hi = shifted_box(y, c, beta)
    np.testing.assert_array_equal([m.lo[m.live], m.hi[m.live]], [lo, hi])
    assert np.all((m.lo <= m.alpha) & (m.alpha <= m.hi))
    dual = dual_value(K, y, alpha)
    primal = primal_value(K, y, alpha, c, beta, m.b)
    assert m.dual == pytest.approx(dual, rel=1e-10, abs=1e-10)
    assert m.gap == pytest.approx(primal - dual, rel=1e-9, abs=1e-9 * (1 + abs(primal)))
    assert m.gap >= -1e-12
    assert not m.alpha[~m.live].any() and m.n_sv == np.count_nonzero(alpha)
    assert len(set(m.ids[m.live])) == m.live.sum() == m.admitted.sum() - m.cleaned.sum()
    assert np.all(y[beta > 0] * alpha[beta > 0] <= 0)
    if m.variant == "lasvm":
        assert abs(m.alpha.sum()) <= 1e-12 * (1 + np.abs(m.alpha).sum())
    else:
        assert m.b == 0
    assert m.variant == "nc" or not m.flagged.any()


# ---- by hand ------------------------------------------------------------------------------------------------


def test_two_steps_by_hand():
    K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), [1, -1]
    m = NaiveLasvm(K, y, variant="full").learn([0])
    assert m.alpha.tolist() == [0.5] and m.g.tolist() == [0.0]
    # f(x_1) = 1/2, so g = -3/2 and the step is -3/4; it lifts g_0 by 3/4.
    m.learn([1])
    assert m.alpha.tolist() == [0.5, -0.75] and m.g.tolist() == [0.75, 0.0]
    assert m.margins == {0: 0.0, 1: -0.5} and m.n_steps == 2
    # Gap: (1 - 1/2) 3/4 + 0.  Dual: 5/4 - (1/2 + 9/8 - 3/4) / 2.  Target: h = (3/4, 0), 9/16 - 9/32.
    assert m.gap == 0.375 and m.dual == 0.8125
    assert m.target == pytest.approx(np.sqrt(9 / 32))
    # The next step is min(1 - 1/2, (3/4) / 2) at entry 0; the end is K^-1 y = (1, -1).
    assert m.reprocess(0.0) and m.alpha.tolist() == [0.875, -0.75] and m.g.tolist() == [0.0, -0.375]
    m.finish(1e-12)
    np.testing.assert_allclose(m.alpha, [1.0, -1.0], atol=1e-5)
    assert m.dual == pytest.approx(1.0)


def test_step_lands_on_the_bound():
    m = NaiveLasvm(line(1, 0), [1, -1], [0.3, 0.7], variant="full").learn([0, 1])
    assert m.alpha.tolist() == [0.3, -0.7]  # the second has K_tt = 0: all the way
    assert m.g.tolist() == [0.7, -1.0]
    assert not m.reprocess(0.0)
    m.step(0)
    assert m.n_steps == 2
    m = NaiveLasvm(line(1), [1], [1.3], variant="full").learn([0])
    for start in np.random.default_rng(0).uniform(0, 1.3, 500):  # start + (1.3 - start) is not always 1.3
        m.alpha[0], m.g[0] = start, 9.0
        m.step(0)
        assert m.alpha[0] == 1.3
    assert m.n_steps == 501


def test_pair_lands_on_the_bounds():
    # Twins of opposite labels: no curvature, so as far as the tighter of the two bounds.
    m = NaiveLasvm(line(1, 1), [1, -1], [1.3, 2.0], variant="lasvm").learn([0, 1])
    assert m.alpha.tolist() == [1.3, -1.3] and m.g.tolist() == [1.0, -1.0]
    assert not m.pair(0, None, 0.0) and not m.pair(0, 1, 2.0) and m.n_steps == 1
    m = NaiveLasvm([[1.0, 1.1], [1.1, 1.0]], [1, -1], [1.3, 2.0], variant="lasvm").learn([0, 1])  # less than none
    assert m.alpha.tolist() == [1.3, -1.3]
    m = NaiveLasvm(line(1, 1), [1, -1], [1.3, 1.3], variant="lasvm").learn([0, 1])
    for start in np.random.default_rng(0).uniform(0, 1.3, 500):
        m.alpha[:], m.g[:] = [start, -start], [1.0, -1.0]
        assert m.pair(0, 1, 0.0) and m.alpha.tolist() == [1.3, -1.3]


def test_target_by_hand():
    m = NaiveLasvm(np.eye(4), [1, -1, 1, 1], [1, 2, 1, 1], variant="full")
    assert m.target == 0.0
    m.append(0, 0.0), m.append(1, 0.0), m.append(2, 0.0)
    m.alpha[:], m.g[:] = [0.5, -0.5, 0.0], [0.5, -0.25, 7.0]
    assert m.target == 0.0  # h = 1/2 for both support vectors
    m.append(3, 0.0)
    m.alpha[3], m.g[3] = 1.0, -1.0
    assert m.target == pytest.approx(np.sqrt(1.5))  # h = 1/2, 1/2, -1 with sum 0


def test_reprocess_clips_and_breaks_ties():
    # Both gradients positive: 0.6 and 0.6 differ by nothing but the state is not optimal.  The lower position moves.
    m = NaiveLasvm(np.eye(2), [1, 1], variant="full")
    m.append(0, 0.0), m.append(1, 0.0)
    m.alpha[:] = 0.4
    m.g[:] = 0.6
    assert not m.reprocess(0.6) and m.reprocess(0.59)
    assert m.alpha.tolist() == [1.0, 0.4]
    m.alpha[:], m.g[:] = 0.4, -0.6
    assert not m.reprocess(0.6) and m.reprocess(0.59)
    assert m.alpha.tolist() == [0.0, 0.4]
    # Down and up equally bad: up.
    m.alpha[:], m.g[:] = 0.5, [-0.25, 0.25]
    assert m.reprocess(0.0) and m.alpha.tolist() == [0.5, 0.75]


def test_flagged_by_hand():
    # Two points at 1 with label +1, then one there with label -1: z = -1 < s = -0.5, so its box is [0, 2].
    K, y = line(1, 1, 1), [1, 1, -1]
    m = NaiveLasvm(K, y, variant="nc", C=2.0, s=-0.5, warm_sv=0).learn([0, 1, 2])
    assert m.flagged.tolist() == [False, False, True]
    assert m.alpha.tolist() == [1.0, 0.0, 0.0] and m.g.tolist() == [0.0, 0.0, -2.0]
    assert (m.lo[2], m.hi[2]) == (0.0, 2.0)
    assert m.gap == 0.0 and m.admitted.tolist() == [1, 2, 0]
    # One support vector is not more than one: no flag.
    m = NaiveLasvm(K, y, variant="nc", C=2.0, s=-0.5, warm_sv=1).learn([0, 1, 2])
    assert not m.flagged.any() and m.lo[2] == -2.0


def test_filter_by_hand():
    # w = 1, then the second is taken unseen because there is one class only: step max(-1, -1/2 / 1/4), w = 3/2.
    # Now points 3 (z = 9/2) and -2 (z = -3) are skipped, 1/2 (z = 3/4) is taken up to its bound: w = 2.
    m = NaiveLasvm(line(1, -0.5, 3, -2, 0.5), [1, -1, 1, 1, 1], variant="i").learn(range(5))
    assert m.ids.tolist() == [0, 1, 2, 3, 4] and m.live.tolist() == [True, True, False, False, True]
    assert m.alpha.tolist() == [1.0, -1.0, 0.0, 0.0, 1.0]
    np.testing.assert_array_equal(m.g[m.live], [-1.0, 0.0, 0.0])
    assert m.margins == {0: 0.0, 1: 0.5, 2: 4.5, 3: -3.0, 4: 0.75}
    assert m.admitted.tolist() == [0, 3, 0] and m.skipped.tolist() == [1, 0, 1]
    assert m.kernel_evals == 1 + 2 + 3 + 4 + 5 and m.kernel_needed == 1 + 2 + 2 + 2 + 3
    # Example 0 has z = 2 now: skipped, and stays as it is.  Example 2 comes again as a stranger.
    m.learn([0, 2])
    assert m.alpha.tolist() == [1.0, -1.0, 0.0, 0.0, 1.0, 0.0] and m.ids[5] == 2
    assert m.skipped.tolist() == [1, 0, 3] and m.margins[0] == 2.0 and m.margins[2] == 6.0
    assert m.kernel_evals == 15 + 6 and m.kernel_needed == 10 + 3 and m.visited == 7
    m.clean(100)
    assert m.ids.tolist() == [0, 1, 4] and m.cleaned.sum() == 0
    # Nothing is skipped while there are no more than S0 support vectors, or only one class of them.
    m = NaiveLasvm(line(1, -0.5, 3), [1, -1, 1], variant="i", warm_sv=2).learn(range(3))
    assert m.live.all() and m.admitted.tolist() == [0, 2, 1]
    assert NaiveLasvm(line(1, 3, 3), [1, 1, -1], variant="i").learn(range(3)).live.all()


def test_clean_by_hand():
    def machine(variant="i"):
        m = NaiveLasvm(np.eye(7), np.ones(7), variant=variant)
        for k in range(7):
            m.append(k, [-3.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0][k], live=k != 2)
        m.alpha[[1, 5, 6]] = 0.5
        m.g[[0, 3, 4]] = 0.3, -0.1, -0.3
        return m

    m = machine()
    m.clean(1)  # 0, 2 and 4 go; the last two fill the holes 0 and 2
    assert m.ids.tolist() == [5, 1, 6, 3] and m.alpha.tolist() == [0.5, 0.5, 0.5, 0.0]
    assert m.cleaned.tolist() == [1, 0, 1] and m.live.all() and m.g[3] == -0.1
    m = machine()
    m.clean(2)  # of 0 and 4, equally far from their margin, the first stays
    assert m.ids.tolist() == [0, 1, 5, 3, 6] and m.cleaned.tolist() == [0, 0, 1]
    m = machine()
    m.clean(3)
    assert m.ids.tolist() == [0, 1, 6, 3, 4, 5] and m.cleaned.tolist() == [0, 0, 0]
    m = machine("lasvm")
    m.clean(0)
    assert m.ids.tolist() == [0, 1, 6, 3, 4, 5]


def test_bias_by_hand():
    # Points 1 and -1: lambda = 2 / 4, w = 1.  Point 3 (y = +1) has z = 3 and g = -2 <= gmin = 0: evicted at once.
    m = NaiveLasvm(line(1, -1, 3, -2), [1, -1, 1, -1], variant="lasvm").learn([0, 1, 2])
    assert m.alpha.tolist() == [0.5, -0.5, 0.0] and m.live.tolist() == [True, True, False] and m.b == 0.0
    assert m.cleaned.tolist() == [0, 0, 1] and m.admitted.tolist() == [0, 2, 1] and m.margins[2] == 3.0
    m.learn([3, 2, 0])  # -2 (y = -1) goes the same way, then 2 comes back to life and is evicted again
    assert m.ids.tolist() == [0, 1, 2, 3] and m.live.sum() == 2 and m.n_steps == 1
    assert m.cleaned.tolist() == [0, 0, 3] and m.admitted.tolist() == [0, 2, 3]
    assert m.kernel_evals == 1 + 2 + 3 + 4 and m.kernel_needed == 1 + 2 + 3 + 3
    # Point 0 (y = +1) has g = 1.  PROCESS pairs it with position 0 (lambda = 1/2, g = 1/2, -1/2, 1), REPROCESS with
    # position 1 (lambda = 1/2, g = 0, 0, 1).  Now gmax = 0, gmin = 1: position 0 is evicted.
    m = NaiveLasvm(line(1, -1, 0, 2), [1, -1, 1, 1], variant="lasvm").learn([0, 1, 2])
    assert m.alpha.tolist() == [0.0, -1.0, 1.0] and m.live.tolist() == [False, True, True]
    assert m.n_steps == 3 and m.b == 0.5
    assert m.learn([3]).margins[3] == 2.5
    # Shifted by 5 the bias has to do the work: f(x) = x - 5.
    m = naive_lasvm(line(6, 4), [1, -1], [0, 1], variant="lasvm")
    assert m.alpha.tolist() == [0.5, -0.5] and m.b == -5.0


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_bias_takes_five_of_a_class(label):
    K, _ = noisy(10, 0)
    y = label * np.array([1, 1, 1, 1, 1, 1, 1, -1, 1, -1])
    m = NaiveLasvm(K, y, variant="lasvm", clean_period=7).learn(range(6))
    assert m.live.tolist() == [True] * 5 + [False] and m.n_sv == 0 and m.skipped.tolist() == [0, 1, 0]
    m.learn(range(6, 10))
    assert m.admitted.sum() == 8 and m.skipped.sum() == 2 and m.n_sv > 2
    assert m.kernel_evals == sum(range(1, 8)) + 6 + 7 + 8  # the two dead ones went after the seventh visit


# ---- laws ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("variant", VARIANTS)
def test_laws(variant, seed):
    n = 90
    K, y = noisy(n, seed)
    rng = np.random.default_rng(seed)
    c = 2.0 * weights(n, seed)
    m = Watched(K, y, c, variant=variant, C=2.0, clean_period=20, max_non_sv=2, warm_sv=5)
    for order in np.array_split(np.concatenate([rng.permutation(n) for _ in range(3)]), 9):
        m.learn(order)
        check(m)
    assert m.visited == 3 * np.count_nonzero(c) and m.moves > n / 2
    assert m.skipped.sum() > 0 if variant == "i" else variant == "lasvm" or m.skipped.sum() == 0
    assert m.cleaned.sum() > 0 if variant in ("lasvm", "g", "nc") else variant == "i" or m.cleaned.sum() == 0
    assert not np.isin(m.ids, np.flatnonzero(c == 0)).any()
    if variant == "full":
        assert m.ids.tolist() == list(dict.fromkeys(m.ids)) and len(m.ids) == np.count_nonzero(c)
    assert m.kernel_needed <= m.kernel_evals
    m.finish(1e-6)
    check(m)
    assert m.gap <= 1e-6 * m.primal
    if variant in FORGETFUL:
        assert len(m.ids) == m.n_sv


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(VARIANTS),
    st.integers(0, 10**6),
    st.lists(st.one_of(st.integers(0, 14), st.sampled_from(["clean", "finish"])), max_size=40),
    st.sampled_from([0.1, 1.0, 50.0]),
    st.sampled_from([-1.0, 0.0, 0.9]),
    st.integers(1, 6),
)
def test_laws_in_any_order(variant, seed, events, C, s, period):
    # Few examples, some of them twins: strangers, revisits, dead entries and cleaning in every mixture.
    K, y = noisy(15, seed, flips=0.3)
    twin = np.arange(15)
    twin[10:] = twin[:5]
    K = K[np.ix_(twin, twin)]
    m = Watched(K, y, C * weights(15, seed), variant=variant, C=C, s=s, clean_period=period, max_non_sv=2, warm_sv=2)
    for event in events:
        if event == "clean":
            m.clean(1)
        elif event == "finish":
            m.finish(1e-4)
        else:
            m.learn([event])
        check(m)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_stream_is_one_long_order(variant):
    K, y = noisy(60, 3)
    order = np.random.default_rng(3).permutation(np.repeat(np.arange(60), 2))
    once = NaiveLasvm(K, y, variant=variant, clean_period=16, max_non_sv=4).learn(order)
    many = NaiveLasvm(K, y, variant=variant, clean_period=16, max_non_sv=4)
    for part in np.split(order, [1, 7, 40, 41]):
        many.learn(part)
    for name in ("ids", "alpha", "g", "live", "admitted", "cleaned", "skipped", "b", "kernel_evals", "kernel_needed"):
        np.testing.assert_array_equal(getattr(once, name), getattr(many, name))


@pytest.mark.parametrize("m", [0, 3, 12])
@pytest.mark.parametrize("variant", FORGETFUL)
def test_clean_leaves_m_of_the_smallest(variant, m):
    K, y = noisy(120, 4)
    machine = NaiveLasvm(K, y, variant=variant, clean_period=None, warm_sv=10).learn(range(120))
    non_sv = machine.live & (machine.alpha == 0)
    if variant != "i":
        assert non_sv.sum() > 12
    smallest = np.sort(np.abs(machine.g[non_sv]))[:m]
    f = K[:, machine.ids] @ machine.alpha
    machine.clean(m)
    assert len(machine.ids) - machine.n_sv == min(m, non_sv.sum())
    np.testing.assert_array_equal(np.sort(np.abs(machine.g[machine.alpha == 0])), smallest)
    np.testing.assert_allclose(K[:, machine.ids] @ machine.alpha, f, atol=1e-12)


@pytest.mark.parametrize("variant", FORGETFUL)
def test_clean_comes_by_visits(variant):
    K, y = noisy(64, 5)
    m = NaiveLasvm(K, y, variant=variant, clean_period=32, max_non_sv=2, warm_sv=5).learn(range(31))
    before = len(m.ids)
    assert before == 31 and (m.live & (m.alpha == 0)).sum() + (~m.live).sum() > 3
    m.learn([31])
    assert m.live.all() and len(m.ids) - m.n_sv <= 2 and len(m.ids) < before


def test_full_counts_every_pair_once():
    n = 50
    K, y = noisy(n, 6)
    m = NaiveLasvm(K, y, variant="full", clean_period=10).learn(np.random.default_rng(0).permutation(n))
    assert m.kernel_evals == m.kernel_needed == n * (n + 1) // 2
    m.learn(range(n))
    assert m.kernel_evals == n * (n + 1) // 2 and m.admitted.sum() == n and m.visited == 2 * n


def test_without_a_ramp_nc_is_g():
    K, y = noisy(200, 7, flips=0.2)
    options = {"C": 10.0, "clean_period": 25, "max_non_sv": 10, "warm_sv": 0}
    g, far, near = (
        naive_lasvm(K, y, range(200), variant=variant, s=s, finish=True, **options)
        for variant, s in [("g", -1e9), ("nc", -1e9), ("nc", -0.5)]
    )
    for name in ("ids", "alpha", "g", "lo", "hi", "n_steps", "admitted", "cleaned"):
        np.testing.assert_array_equal(getattr(g, name), getattr(far, name))
    assert near.n_sv < g.n_sv


def test_flagged_pull_the_other_way():
    K, y = noisy(200, 11, flips=0.2)
    m = NaiveLasvm(K, y, variant="nc", C=5.0, s=-0.5, warm_sv=5, max_non_sv=200).learn(range(200))
    assert np.all(y[m.ids[m.flagged]] * m.alpha[m.flagged] <= 0)
    assert m.flagged.sum() > 10 and np.any(m.alpha[m.flagged] != 0)


# ---- against batch solvers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["random", "near singular", "one row"])
def test_box_qp_proves_itself(shape):
    K, y = noisy(80, 9, gamma=1e-3 if shape == "near singular" else 1.0)
    if shape == "one row":
        K, y = K[:1, :1], y[:1]
    c = 3.0 * weights(len(y), 1) + (shape == "one row")
    beta = c * (np.arange(len(y)) % 5 == 4)
    lo, hi = shifted_box(y, c, beta)
    alpha = box_qp(K, y, lo, hi)
    assert np.all((lo <= alpha) & (alpha <= hi))
    primal, dual = primal_value(K, y, alpha, c, beta), dual_value(K, y, alpha)
    assert 0 <= primal - dual + 1e-12 and primal - dual < 1e-10 * (1 + abs(dual))


def test_box_qp_by_hand():
    K = np.array([[2.0, 1.0], [1.0, 2.0]])
    y = np.array([1.0, -1.0])
    np.testing.assert_allclose(box_qp(K, y, -5.0, 5.0), [1.0, -1.0], atol=1e-6)
    # alpha_0 at most 1/2: alpha_1 = (-1 - 1/2) / 2.
    np.testing.assert_allclose(box_qp(K, y, [0, -1], [0.5, 0]), [0.5, -0.75], atol=1e-6)
    np.testing.assert_allclose(box_qp(K, y, [0.5, -1], [0.5, 0]), [0.5, -0.75], atol=1e-6)


@pytest.mark.parametrize(("C", "gamma"), [(1.0, 1.0), (20.0, 2.0), (0.01, 0.1)])
def test_full_finished_is_the_qp(C, gamma):
    n = 100
    K, y = noisy(n, 10, gamma=gamma)
    c = C * weights(n, 2)
    m = naive_lasvm(K, y, range(n), c, variant="full", C=C, finish=True, tol=1e-10)
    alpha = box_qp(K, y, *shifted_box(y, c))
    assert m.dual == pytest.approx(dual_value(K, y, alpha), rel=1e-9)
    np.testing.assert_allclose(K[:, m.ids] @ m.alpha, K @ alpha, atol=2e-4)
    assert m.gap <= 1e-10 * m.primal


@pytest.mark.parametrize("variant", FORGETFUL)
def test_finished_is_the_qp_of_what_is_left(variant):
    K, y = noisy(150, 11, flips=0.2)
    c = 5.0 * np.random.default_rng(1).uniform(0.5, 2.0, 150)
    m = NaiveLasvm(K, y, c, variant=variant, C=5.0, s=-0.5, clean_period=40, max_non_sv=30, warm_sv=5).learn(range(150))
    ids, alpha = m.ids[m.live], box_qp(*parts(m)[:2], m.lo[m.live], m.hi[m.live])
    assert variant != "nc" or np.any(m.flagged & (m.alpha != 0))
    loose = m.dual
    m.finish(1e-10)
    best = dual_value(K[np.ix_(ids, ids)], y[ids], alpha)
    assert loose < best * (1 - 1e-6) and m.dual == pytest.approx(best, rel=1e-9)
    np.testing.assert_allclose(K[:, m.ids] @ m.alpha, K[:, ids] @ alpha, atol=2e-4)


@pytest.mark.parametrize(("seed", "C"), [(0, 2.0), (1, 0.3), (2, 10.0)])
def test_with_bias_finished_is_svc(seed, C):
    # Two epochs may evict an example too many, depending on rounding; the next round brings it back.
    n = 120
    K, y = noisy(n, 20 + seed)
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 2.0, n)
    svc = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y, sample_weight=weight)
    alpha = np.zeros(n)
    alpha[svc.support_] = svc.dual_coef_[0]
    best = dual_value(K, y, alpha)
    m = NaiveLasvm(K, y, C * weight, variant="lasvm", C=C)
    for _ in range(3):
        m.learn([*rng.permutation(n), *rng.permutation(n)])
        m.finish(1e-11)
        assert m.dual <= best * (1 + 1e-10)
    assert m.dual == pytest.approx(best, rel=1e-9)
    assert m.b == pytest.approx(svc.intercept_[0], abs=1e-4)
    np.testing.assert_allclose(K[:, m.ids] @ m.alpha + m.b, svc.decision_function(K), atol=1e-3)
    assert set(m.ids[np.abs(m.alpha) > 1e-3]) == set(svc.support_[np.abs(svc.dual_coef_[0]) > 1e-3])


@pytest.mark.parametrize("s", [-1.0, -0.3])
def test_cccp_goes_down(s):
    C = 10.0
    K, y = noisy(150, 12, flips=0.15)
    alpha, flagged, values = cccp(K, y, C, s)
    assert len(values) > 2 and flagged.any()
    assert np.all(np.diff(values) < 0)
    z = y * (K @ alpha)
    np.testing.assert_array_equal(flagged, z < s)
    # The ramp loss is the hinge loss cut off at 1 - s.
    assert values[-1] == pytest.approx(alpha @ K @ alpha / 2 + C * np.clip(1 - z, 0, 1 - s).sum())
    # LASVM-NC gets more than half the way down from the hinge loss, too.
    m = naive_lasvm(K, y, range(150), variant="nc", C=C, s=s, clean_period=25, warm_sv=30, finish=True)
    online = np.zeros(150)
    online[m.ids] = m.alpha
    assert ramp_objective(K, y, online, C, s) < (values[0] + values[-1]) / 2
