// NNISDA and the minimal-norm machine: a hand-worked problem, and what must not change a bit.
#include "check.hpp"
#include "data.hpp"
#include "hingeline/algo/l2/min_norm.hpp"
#include "hingeline/algo/l2/nnisda.hpp"

namespace hingeline::l2 {
namespace {

using namespace testing;

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * (1 + std::abs(b)); }

/// The three algorithms behind one name.
enum Kind { one_datum, mdm, imdm };
template <class Source> void learn(Kind kind, State& s, const Params& p, const Source& source, const Stop& stop = {}) {
    if (kind == one_datum)
        nnisda::learn(s, p, source, stop);
    else
        min_norm::learn(s, p, source, stop, kind == imdm);
}
l2::Solution solution(Kind kind, const State& s) {
    return kind == one_datum ? nnisda::solution(s) : min_norm::solution(s);
}

// Linear kernel, points 2, 1 (+) and -1 (-), C = 1, no bias: Q = [[5, 2, 2], [2, 2, 1], [2, 1, 2]], and the optimum is
// v = 0, 1/3, 1/3 with Qv = 4/3, 1, 1 and D = 1/3.
CASE(three_points_by_hand) {
    const Array<double> x{2, 1, -1}, penalty{1, 1, 1};
    const Gram<double> gram({KernelKind::linear, 1.0, 0.0, 3}, dense_view(x, 3, 1), 0);
    for (const Kind kind : {one_datum, mdm, imdm}) {
        State s = l2::start({{0, 1}, {2}}, penalty.data());
        learn(kind, s, {false, 1e-13, 1 << 20, 1000}, gram);
        const auto found = solution(kind, s);
        CHECK(s.reason == Reason::tolerance, kind, name(s.reason));
        CHECK(std::abs(found.v[0]) < 1e-12 && near(found.v[1], 1.0 / 3) && near(found.v[2], 1.0 / 3), kind);
        CHECK(near(found.dual, 1.0 / 3) && near(found.primal, 1.0 / 3) && near(found.largest, 4.0 / 3), kind);
    }
}

/// Two clouds; most rows lie well beyond the margin, so that they may rest.
template <class T> struct Clouds {
    Array<T> x;
    Array<Array<Index>> rows{{}, {}};
    Array<double> penalty;
    explicit Clouds(Index n, double distance) {
        Random random(7);
        for (Index i = 0; i < n; ++i) {
            const Index code = below(random, 2);
            for (int k = 0; k < 2; ++k)
                x.push_back(static_cast<T>((code ? distance : -distance) + uniform(random, -1.0, 1.0) +
                                           uniform(random, -1.0, 1.0)));
            rows[code].push_back(i);
            penalty.push_back(uniform(random, 5.0, 20.0));
        }
    }
    Index n() const { return penalty.size(); }
    State start() const { return l2::start(rows, penalty.data()); }
};

bool same(const State& a, const State& b) {
    return same_bits(a.v, b.v) && same_bits(a.r, b.r) && same_bits(a.value, b.value) && a.steps == b.steps &&
           a.reason == b.reason && same_bits(a.violation, b.violation);
}

template <class T> void nothing_changes(Index n) {
    const Clouds<T> clouds(n, 1.3);
    const Gram<T> gram({KernelKind::rbf, 0.2, 0.0, 3}, dense_view(clouds.x, n, 2), 0);
    for (const Kind kind : {one_datum, mdm, imdm})
        for (const bool bias : {true, false}) {
            Params p{bias, 1e-4, Index{1} << 40, std::size_t{1} << 26};
            p.newton = n < 512;  // no working sets
            State whole = clouds.start();
            learn(kind, whole, p, gram);
            CHECK(whole.reason == Reason::tolerance && whole.steps > 100, kind, n, whole.steps);
            // r is that of v, and the verdict holds for all rows.
            const auto found = solution(kind, whole);
            CHECK(found.primal - found.dual >= 0 && found.primal - found.dual < 1e-3 * found.dual, kind, n);
            for (const std::size_t cache : {std::size_t{0}, std::size_t{60000}}) {
                Params small = p;
                small.cache_bytes = cache;
                State s = clouds.start();
                learn(kind, s, small, gram);
                CHECK(same(s, whole), kind, n, cache);
                CHECK(s.kernel_evals > whole.kernel_evals, kind, n, cache);
            }
            State sliced = clouds.start();
            bool rested = false;
            for (Index slice = 1; sliced.reason == Reason::running; slice = slice % 97 + 1) {
                learn(kind, sliced, p, gram, {slice, nullptr});
                rested = rested || !sliced.inner.empty();
            }
            CHECK(same(sliced, whole), kind, n, sliced.steps, whole.steps);
            CHECK(rested == (n >= 512), kind, n);
        }
}

CASE_ONCE(cache_and_slices_change_nothing) {
    nothing_changes<double>(300);
    nothing_changes<float>(900);
}

// Features of very different size: steps alone would take millions. Kernel values that Newton's method holds, in either
// precision, or computes again give the same solution; the cache changes no bit.
CASE_ONCE(newton_holds_or_computes_kernel_values) {
    constexpr Index n = 400;
    Clouds<double> clouds(n, 0.3);
    for (Index i = 0; i < n; ++i) clouds.x[2 * i] *= 1e3;
    const Gram<double> gram({KernelKind::linear, 1.0, 0.0, 3}, dense_view(clouds.x, n, 2), 0);
    const Params held{true, 1e-4, Index{1} << 40, std::size_t{1} << 26};
    Params computed = held;
    computed.most_held = 0;
    State first = clouds.start(), second = clouds.start();
    learn(imdm, first, held, gram), learn(imdm, second, computed, gram);
    for (const State* s : {&first, &second}) {
        const auto found = solution(imdm, *s);
        CHECK(s->reason == Reason::tolerance && s->steps < 100000, s->steps, name(s->reason));
        CHECK(found.primal - found.dual >= 0 && found.primal - found.dual < 1e-3 * found.dual);
    }
    const double one = solution(imdm, first).dual, other = solution(imdm, second).dual;
    CHECK(std::abs(one - other) < 1e-3 * one, one, other);
    Index evals[2];
    for (Params p : {held, computed}) {
        p.cache_bytes = 0;
        State s = clouds.start();
        learn(imdm, s, p, gram);
        CHECK(same(s, p.most_held ? first : second), p.most_held);
        evals[p.most_held > 0] = s.kernel_evals - s.steps * n;  // less those of the other steps
    }
    CHECK(evals[false] > evals[true], evals[false], evals[true]);
}

CASE(cholesky_drops_pivots_that_are_rounding_errors) {
    // a = b b' with b of two columns: rank 2 of 3. R R' = a, and the third pivot is dropped.
    const double b[3][2] = {{1, 0}, {2, 1}, {3, -1}};
    l2::Cholesky<double> factor;
    factor.values.resize(3);
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j <= i; ++j) factor.values.row(i)[j] = b[i][0] * b[j][0] + b[i][1] * b[j][1];
    CHECK(factor.decompose(1e-12, nullptr));
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j <= i; ++j) CHECK(near(factor.values.row(i)[j], j < 2 ? b[i][j] : 0.0), i, j);
}

template <class V> void cholesky_solves(double error) {
    constexpr Index n = 150;  // several panels
    Random random(3);
    Array<double> a(n * n), x(padded(n), 0.0), product(padded(n), 0.0);
    for (double& value : a) value = uniform(random, -1.0, 1.0);
    l2::Cholesky<V> factor;
    l2::Triangle<V> matrix;
    factor.values.resize(n), matrix.resize(n);
    for (Index i = 0; i < n; ++i) {
        x[i] = uniform(random, -1.0, 1.0);
        for (Index j = 0; j <= i; ++j) {
            double sum = i == j ? 1.0 : 0.0;
            for (Index k = 0; k < n; ++k) sum += a[i * n + k] * a[j * n + k];
            matrix.row(i)[j] = factor.values.row(i)[j] = static_cast<V>(sum);
        }
    }
    const Array<double> right(x);
    CHECK(factor.decompose(V(0), nullptr));
    factor.solve(x.data());
    matrix.multiply(x.data(), Array<char>(n, 1), product.data());
    for (Index i = 0; i < n; ++i) CHECK(std::abs(product[i] - right[i]) < error, i, product[i], right[i]);
    // Elements that are not wanted do not change the others.
    Array<char> wanted(n, 1);
    for (Index i = 0; i < n; i += 3) wanted[i] = 0, x[i] = 0.0;
    Array<double> all(padded(n), 0.0), some(padded(n), 0.0);
    matrix.multiply(x.data(), Array<char>(n, 1), all.data());
    matrix.multiply(x.data(), wanted, some.data());
    for (Index i = 0; i < n; ++i) CHECK(!wanted[i] || all[i] == some[i], i, all[i], some[i]);
}
CASE(cholesky_solves_in_both_precisions) {
    cholesky_solves<double>(1e-9);
    cholesky_solves<float>(0.1);
}

/// Labels by the first coordinate with noise; no working sets, as in machines of more than two classes.
State noisy_line(Index n, double penalty, Array<double>& x) {
    Random random(5);
    Array<Array<Index>> rows{{}, {}};
    for (Index i = 0; i < n; ++i) {
        for (int k = 0; k < 2; ++k) x.push_back(uniform(random, -2.0, 2.0));
        rows[x[2 * i] + uniform(random, -1.0, 1.0) > 0].push_back(i);
    }
    State s = l2::start(rows, Array<double>(n, penalty).data());
    s.held = Held::none;
    return s;
}
CASE(newton_runs_where_steps_left_cost_more) {
    constexpr Index n = 1200;
    for (const bool hard : {false, true}) {
        Array<double> x;
        State s = noisy_line(n, hard ? 1000.0 : 1.0, x);
        const Gram<double> gram({KernelKind::rbf, hard ? 0.1 : 3.0, 0.0, 3}, dense_view(x, n, 2), 0);
        learn(imdm, s, {}, gram);
        CHECK(s.reason == Reason::tolerance && s.steps > 2048, hard, s.steps);
        CHECK(std::isfinite(s.pace.best) == hard, hard, s.steps);  // whether Newton's method ran
        CHECK(!hard || s.steps < 5 * n, s.steps);
    }
}

/// Newton's method comes after a few steps. Kernel values that it holds or computes again give the same solution; the
/// cache and an interrupt change no bit.
CASE(large_machines_begin_with_newton) {
    constexpr Index n = 4096, few = l2::detail::few_steps;
    Array<double> x;
    const State start = noisy_line(n, 10.0, x);
    const Gram<double> gram({KernelKind::rbf, 1.0, 0.0, 3}, dense_view(x, n, 2), 0);
    double duals[2];
    Index evals[2];
    for (const bool held : {false, true}) {
        Params p;
        p.most_held = held ? n : 0;
        State s = start, other = start;
        learn(imdm, s, p, gram);
        CHECK(s.reason == Reason::tolerance && s.steps < few + 10, s.steps);
        const auto found = solution(imdm, s);
        CHECK(found.primal - found.dual < 1e-3 * found.dual, found.primal, found.dual);
        duals[held] = found.dual, evals[held] = s.kernel_evals;
        p.cache_bytes = 0;
        learn(imdm, other, p, gram, {few, nullptr});
        Interrupt now([] { return true; });
        learn(imdm, other, p, gram, {Index{1} << 40, &now});
        CHECK(other.reason == Reason::interrupted && other.steps == few, name(other.reason), other.steps);
        learn(imdm, other, p, gram);
        CHECK(same(s, other), held, s.steps, other.steps);
    }
    CHECK(std::abs(duals[0] - duals[1]) < 1e-3 * duals[0], duals[0], duals[1]);
    CHECK(evals[0] != evals[1], evals[0], evals[1]);
}

// A narrow kernel is far from low rank: conjugate gradients need many products. If each computes its kernel values
// again, a large machine takes steps instead.
CASE(large_machines_decline_newton_where_steps_are_faster) {
    constexpr Index n = 4096;
    Array<double> x;
    const State start = noisy_line(n, 10.0, x);
    for (const double gamma : {1.0, 1000.0})
        for (const bool held : {false, true}) {
            const Gram<double> gram({KernelKind::rbf, gamma, 0.0, 3}, dense_view(x, n, 2), 0);
            Params p;
            p.most_held = held ? n : 0;
            State s = start;
            learn(imdm, s, p, gram);
            const bool declined = !held && gamma == 1000.0;
            CHECK(s.reason == Reason::tolerance && (s.pace.cost > 0) == declined, gamma, held, s.pace.cost);
            CHECK(std::isfinite(s.pace.best) == !declined && (s.steps > 1000) == declined, gamma, held, s.steps);
            const auto found = solution(imdm, s);
            CHECK(found.primal - found.dual < 2e-3 * found.dual, gamma, held, found.primal, found.dual);
        }
}

// Rows near a loss are left out of U if it would be too large to hold.
CASE(a_smaller_set_is_held_rather_than_none) {
    constexpr Index n = 4096;
    Array<double> x;
    const State start = noisy_line(n, 10.0, x);
    const Gram<double> gram({KernelKind::rbf, 1.0, 0.0, 3}, dense_view(x, n, 2), 0);
    const auto evals = [&](Index most_held, State& s) {
        Params p;
        p.most_held = most_held, p.cache_bytes = 0;
        s = start;
        learn(imdm, s, p, gram);
        CHECK(s.reason == Reason::tolerance && s.steps < l2::detail::few_steps + 10, most_held, s.steps);
        return s.kernel_evals;
    };
    State s;
    const Index none = evals(0, s);
    Index supports = 0, near = 0;
    for (Index i = 0; i < n; ++i)
        supports += s.v[i] > 0, near += s.v[i] > 0 || s.r[i] > -l2::Newton<Gram<double>>::near;
    CHECK(supports + 400 < near, supports, near);
    CHECK(4 * evals(supports + 200, s) < 3 * none, supports, near, none, s.kernel_evals);
}

// Nothing is held, so that the number of kernel values tells the number of products. The kernel has a small rank: S is
// foreseen, and a few full steps suffice. Line searches take 10 n^2 values with C = 100, and 9 n^2 from another start.
CASE(few_products_where_full_steps_lead_to_the_solution) {
    constexpr Index n = 4096;
    for (const double penalty : {1.0, 10.0, 100.0}) {
        Array<double> x;
        State s = noisy_line(n, penalty, x);
        const Gram<double> gram({KernelKind::rbf, 0.3, 0.0, 3}, dense_view(x, n, 2), 0);
        Params p;
        p.most_held = 0;
        learn(imdm, s, p, gram);
        CHECK(s.reason == Reason::tolerance && s.kernel_evals < 3 * n * n, penalty, s.kernel_evals);
    }
}

// If much of the kernel matrix is missing from the approximation of low rank and C is large, conjugate gradients take
// long: the Cholesky factor is used from the next block on.
CASE(a_factor_replaces_an_approximation_that_is_too_coarse) {
    constexpr Index n = 600;
    for (const double gamma : {0.1, 30.0})
        for (const double penalty : {0.1, 1000.0}) {
            Array<double> x;
            State s = noisy_line(n, penalty, x);
            const Gram<double> gram({KernelKind::rbf, gamma, 0.0, 3}, dense_view(x, n, 2), 0);
            l2::Walk<Gram<double>> walk(s, true, std::size_t{1} << 26, gram, nullptr);
            l2::Block<Gram<double>> block(walk, true);
            Array<Index> all(n);
            std::iota(all.begin(), all.end(), Index{0});
            CHECK(block.take(all, l2::Form::exact, 0.0));
            l2::Preconditioner<Gram<double>> inverse(block, nullptr);
            const Array<char> likely(n, 1);
            CHECK(inverse.build(likely, 16) && !inverse.is_factor(), gamma, penalty);
            CHECK(penalty < 1 || (inverse.missing() > 0.2) == (gamma == 30.0), gamma, inverse.missing());
            CHECK(inverse.build(likely, 16) && inverse.is_factor() == (gamma == 30.0 && penalty == 1000.0), gamma,
                  penalty);
            // The block times p, with the diagonal, which is not held.
            Array<double> p(padded(n), 0.0), product(padded(n));
            p[7] = 1.0;
            CHECK(block.multiply(p.data(), likely, product.data()));
            CHECK(near(product[7], 1.0) && near(product[5], block.held_entry(7, 5)), product[7], product[5]);
        }
}

// ---- working sets --------------------------------------------------------------------------------

// Two coefficients and one without room, by hand: K = [[2, 1, 0], [1, 2, 0], [0, 0, 1]], c = 1, no bias, y = +1, -1,
// +1. One step solves the first two exactly: Q = [[3, 1], [1, 3]], beta = (1 / 2, -1 / 2); the third is 1 / 2.
CASE(joint_steps_by_hand) {
    l2::Joint<float> joint;
    joint.resize(3, false);
    const float k[3][3] = {{2, 1, 0}, {1, 2, 0}, {0, 0, 1}};
    for (Index i = 0; i < 3; ++i) {
        std::fill_n(joint.row(i), joint.width(), 0.0f);
        std::copy_n(k[i], 3, joint.row(i));
        joint.set(i, i != 1, 0.0, 1.0, 1.0, static_cast<double>(k[i][i]) + 1);
    }
    CHECK(joint.solve(1e-6, 1, nullptr) == 1);
    CHECK(near(joint.v(0), 0.5) && near(joint.v(1), 0.5) && joint.v(2) == 0, joint.v(0), joint.v(1), joint.v(2));
    CHECK(joint.solve(1e-6, 100, nullptr) == 1 && joint.v(2) == 0.5, joint.v(2));
    CHECK(joint.solve(1e-6, 100, nullptr) == 0);
}

/// Noise, with the first coordinate stretched.
State noisy_rows(Index n, double penalty, double stretch, Array<double>& x) {
    State s = noisy_line(n, penalty, x);
    for (Index i = 0; i < n; ++i) x[2 * i] *= stretch;
    s.held = Held::coarse;
    return s;
}
/// Largest violation of v of the dual, from every kernel value.
double violation_of(const State& s, const Array<double>& v, const Kernel& kernel, const Array<double>& x) {
    double worst = 0;
    for (Index i = 0; i < s.n(); ++i) {
        double r = 1 - v[i] / s.c[i];
        for (Index j = 0; j < s.n(); ++j)
            if (v[j] > 0)
                r -= s.sign(s.code[i], s.code[j]) * v[j] *
                     (testing::kernel_value(kernel, &x[2 * s.row[i]], &x[2 * s.row[j]], 2) + 1);
        worst = std::max(worst, r);
    }
    return worst;
}
CASE_ONCE(working_sets_reach_the_optimum) {
    constexpr Index n = 1500;
    struct Problem {
        Kernel kernel;
        double penalty;
        Held held;
    };
    const Kernel narrow{KernelKind::rbf, 1.0, 0.0, 3}, flat{KernelKind::rbf, 1e-3, 0.0, 3};
    const Kernel linear{KernelKind::linear, 1.0, 0.0, 3};
    for (const Problem& p :
         {Problem{narrow, 10.0, Held::coarse}, Problem{flat, 1e5, Held::single}, Problem{linear, 1.0, Held::single}})
        for (const double tol : {1e-3, 1e-7}) {
            Array<double> x;
            State s = noisy_rows(n, p.penalty, 1.0, x);
            const Gram<double> gram(p.kernel, dense_view(x, n, 2), 0);
            Params params;
            params.tol = tol;
            learn(imdm, s, params, gram);
            const auto found = solution(imdm, s);
            CHECK(s.reason == Reason::tolerance && s.rounds > 1, p.penalty, tol, name(s.reason), s.rounds);
            CHECK(tol < 1e-6 || s.held == p.held, p.penalty, tol, static_cast<int>(s.held));
            const double left = violation_of(s, found.v, p.kernel, x);
            const double rounding = 1e-15 * l2::sum(found.v);  // of the sums above
            CHECK(left <= tol * (1 + 1e-3) + rounding, p.penalty, tol, left);
            CHECK(found.primal - found.dual >= 0, p.penalty, tol);
        }
}
CASE_ONCE(working_sets_do_not_depend_on_cache_slices_and_interrupts) {
    constexpr Index n = 1500;
    Array<double> x;
    const State start = noisy_rows(n, 10.0, 3.0, x);
    const Gram<double> gram({KernelKind::rbf, 1.0, 0.0, 3}, dense_view(x, n, 2), 0);
    State whole = start;
    learn(imdm, whole, {}, gram);
    CHECK(whole.reason == Reason::tolerance && whole.rounds > 2, whole.rounds);
    Params small;
    small.cache_bytes = 0;
    State other = start, sliced = start;
    learn(imdm, other, small, gram);
    CHECK(same(other, whole));
    for (Index calls = 0; sliced.reason == Reason::running || sliced.reason == Reason::interrupted; ++calls) {
        Interrupt now([] { return true; });
        if (calls % 2)
            learn(imdm, sliced, {}, gram, {1, nullptr});
        else
            learn(imdm, sliced, {}, gram, {Index{1} << 40, &now});
    }
    CHECK(same(sliced, whole), sliced.steps, whole.steps);
    // The limit of steps holds within a working set, too.
    Params few;
    few.max_steps = 100;
    State cut = start;
    learn(imdm, cut, few, gram);
    CHECK(cut.reason == Reason::steps && cut.steps == 100, name(cut.reason), cut.steps);
}
// tanh is no kernel: no working set goes beyond the bound of the dual objective, and the steps find out.
CASE_ONCE(working_sets_leave_indefinite_kernels_to_the_steps) {
    constexpr Index n = 600;
    Array<double> x;
    State s = noisy_rows(n, 1e6, 1.0, x);
    const Gram<double> gram({KernelKind::sigmoid, 1.0, -1.0, 3}, dense_view(x, n, 2), 0);
    learn(imdm, s, {}, gram);
    CHECK(s.reason == Reason::indefinite && s.held == Held::none, name(s.reason), static_cast<int>(s.held));
}

CASE(no_rows) {
    const Array<double> x{1, 2}, penalty{0, 0};
    const Gram<double> gram({KernelKind::linear, 1.0, 0.0, 3}, dense_view(x, 2, 1), 0);
    for (const Kind kind : {one_datum, mdm, imdm}) {
        State s = l2::start({{0}, {1}}, penalty.data());
        learn(kind, s, {}, gram);
        CHECK(s.reason == Reason::tolerance && solution(kind, s).v.empty(), kind);
    }
}

/// Every second call is interrupted at its first poll: the state can always go on, to the same end.
void goes_on_after_interrupts(const Clouds<double>& clouds, const Gram<double>& gram, Index slice,
                              const Array<Kind>& kinds) {
    for (const Kind kind : kinds) {
        const Params p{true, 1e-4, Index{1} << 40, std::size_t{1} << 26};
        State whole = clouds.start(), s = clouds.start();
        learn(kind, whole, p, gram);
        Index calls = 0;
        while (s.reason == Reason::running || s.reason == Reason::interrupted) {
            if (++calls % 2) {
                Interrupt now([] { return true; });
                const Index before = s.steps;
                learn(kind, s, p, gram, {Index{1} << 40, &now});
                CHECK(s.reason != Reason::interrupted || s.steps <= before + 16, kind);
            } else {
                learn(kind, s, p, gram, {slice, nullptr});
            }
            if (calls > 20000) break;
        }
        CHECK(s.reason == Reason::tolerance && same(s, whole), kind, calls, s.steps, whole.steps);
    }
}

CASE(interrupts_leave_it_able_to_go_on) {
    const Clouds<double> clouds(700, 1.3);
    goes_on_after_interrupts(clouds, {{KernelKind::rbf, 0.2, 0.0, 3}, dense_view(clouds.x, 700, 2), 0}, 53,
                             {one_datum, mdm, imdm});
}

CASE(interrupts_of_newton_leave_it_able_to_go_on) {
    Clouds<double> clouds(400, 0.3);
    for (Index i = 0; i < clouds.n(); ++i) clouds.x[2 * i] *= 1e3;
    const Gram<double> gram({KernelKind::linear, 1.0, 0.0, 3}, dense_view(clouds.x, clouds.n(), 2), 0);
    goes_on_after_interrupts(clouds, gram, 1000, {mdm, imdm});
    // An interrupted run changes nothing.
    const Params p{true, 1e-4, Index{1} << 40, std::size_t{1} << 26};
    State ready = clouds.start();
    learn(imdm, ready, p, gram, {2000, nullptr});
    Interrupt now([] { return true; });
    l2::Walk<Gram<double>> walk(ready, true, p.cache_bytes, gram, &now);
    const Array<double> v(ready.v), r(ready.r);
    CHECK(l2::Newton<Gram<double>>(walk, true, p.most_held).move(1e-4, false) == l2::Step::interrupted);
    CHECK(same_bits(ready.v, v) && same_bits(ready.r, r));
}

}  // namespace
}  // namespace hingeline::l2
