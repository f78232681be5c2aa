// The block solver on SVR, the nu machines and the one-class machine: problems worked by hand, a naive solver of the
// problems with doubled variables, and what must not change a bit.
#include "engine_problems.hpp"
#include "hingeline/model/handover.hpp"

namespace hingeline::engine::machines {
namespace {

enum class Machine { svr, nu_svc, nu_svr, one_class };
constexpr Machine all_machines[] = {Machine::svr, Machine::nu_svc, Machine::nu_svr, Machine::one_class};

/// Clouds whose rows have a target as well.
template <class T> struct Targets : Clouds<T> {
    Array<double> target;
    Array<Index> all;
    Targets(Index n, Index d, double distance, double C) : Clouds<T>(n, d, distance, C), target(n), all(n) {
        Random random(5);
        std::iota(all.begin(), all.end(), Index{0});
        for (Index i = 0; i < n; ++i)
            target[i] = std::sin(3 * static_cast<double>(this->x[i * d])) + uniform(random, -0.5, 0.5);
    }
    double sum(const Array<Index>& rows) const {
        double out = 0;
        for (const Index i : rows) out += this->bound[i];
        return out;
    }
    /// Sum of |beta|, of each class with NuSVC.
    double total(Machine machine, double nu) const {
        return machine != Machine::nu_svc ? nu * sum(all)
                                          : std::min({0.5 * nu * sum(all), sum(this->rows[0]), sum(this->rows[1])});
    }
    State begin(Machine machine, double parameter, bool single) const {
        const double* const c = this->bound.data();
        State s = machine == Machine::svr      ? start_svr(all, target, parameter, c)
                  : machine == Machine::nu_svc ? start_nu_svc(this->rows[0], this->rows[1], -1.0, parameter, c)
                  : machine == Machine::nu_svr ? start_nu_svr(all, target, total(machine, parameter), c)
                                               : start_one_class(all, total(machine, parameter), c);
        s.single = single;
        return s;
    }
};

/// Variable of the doubled problem: maximise sum q a - 1/2 beta'K beta, 0 <= a <= top, where beta of a row is the sum
/// of its sign a, and the sum of sign a is fixed in each group.
struct Variable {
    Index row;
    double sign, q, top;
    int group;
    double a = 0;
};
struct Twin {
    Array<double> beta;
    double dual = 0, levels[2] = {0, 0};
};
template <class T> Array<Variable> variables(const Targets<T>& data, Machine machine, double parameter) {
    Array<Variable> out;
    for (Index i = 0; i < data.n(); ++i) {
        const double y = data.target[i], top = data.bound[i];
        const bool first = std::find(data.rows[0].begin(), data.rows[0].end(), i) != data.rows[0].end();
        if (machine == Machine::svr)
            for (const double sign : {1.0, -1.0}) out.push_back({i, sign, sign * y - parameter, top, 0});
        if (machine == Machine::nu_svc) out.push_back({i, first ? -1.0 : 1.0, 0, top, first ? 0 : 1});
        if (machine == Machine::nu_svr)
            for (const double sign : {1.0, -1.0}) out.push_back({i, sign, sign * y, top, sign > 0 ? 0 : 1});
        if (machine == Machine::one_class) out.push_back({i, 1.0, 0, top, 0});
    }
    if (machine == Machine::svr) return out;
    const double total = data.total(machine, parameter);
    for (const int group : {0, 1}) {
        double left = machine == Machine::nu_svr ? 0.5 * total : total;
        for (auto at = out.rbegin(); at != out.rend(); ++at)  // another start than that of the solver
            if (at->group == group) at->a = std::min(at->top, left), left -= at->a;
    }
    return out;
}
/// Pairs that violate most.
Twin naive(Array<Variable> z, const Array<double>& K, Index n, double tol) {
    Array<double> v(n, 0.0);
    for (const Variable& one : z)
        for (Index t = 0; t < n; ++t) v[t] -= one.sign * one.a * K[t * n + one.row];
    const auto slope = [&](const Variable& one) { return one.sign * one.q + v[one.row]; };  // of sign a
    Twin out;
    for (bool open = true; open;) {
        open = false;
        for (const int group : {0, 1}) {
            Variable *up = nullptr, *low = nullptr;
            double mean = 0, free = 0;
            for (Variable& one : z) {
                if (one.group != group) continue;
                const bool rises = one.sign > 0 ? one.a < one.top : one.a > 0;
                const bool falls = one.sign > 0 ? one.a > 0 : one.a < one.top;
                if (rises && (!up || slope(one) > slope(*up))) up = &one;
                if (falls && (!low || slope(one) < slope(*low))) low = &one;
                if (rises && falls) mean += slope(one), ++free;
            }
            out.levels[group] = free > 0 ? mean / free : up && low ? 0.5 * (slope(*up) + slope(*low)) : 0;
            if (!up || !low || slope(*up) - slope(*low) <= tol) continue;
            const Index i = up->row, j = low->row;
            const double curve = K[i * n + i] + K[j * n + j] - 2 * K[i * n + j];
            const double room_up = up->sign > 0 ? up->top - up->a : up->a;
            const double room_low = low->sign > 0 ? low->a : low->top - low->a;
            const double d = std::min({(slope(*up) - slope(*low)) / std::max(curve, 1e-12), room_up, room_low});
            up->a = d == room_up ? (up->sign > 0 ? up->top : 0.0) : up->a + up->sign * d;
            low->a = d == room_low ? (low->sign > 0 ? 0.0 : low->top) : low->a - low->sign * d;
            for (Index t = 0; t < n; ++t) v[t] -= d * (K[t * n + i] - K[t * n + j]);
            open = true;
        }
    }
    out.beta.assign(n, 0.0);
    for (const Variable& one : z) out.beta[one.row] += one.sign * one.a, out.dual += one.q * one.a;
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) out.dual -= 0.5 * out.beta[i] * K[i * n + j] * out.beta[j];
    return out;
}
/// Coefficients by row.
Array<double> by_row(const State& s, Index n) {
    Array<double> out(n, 0.0);
    for (Index i = 0; i < s.n(); ++i) out[s.row[i]] += s.beta[i];
    return out;
}
Array<double> matrix(const Kernel& kernel, const Array<double>& x, Index n, Index d) {
    Array<double> out(n * n);
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) out[i * n + j] = kernel_value(kernel, x.data() + i * d, x.data() + j * d, d);
    return out;
}
/// The box and the fixed sums hold.
void check_feasible(const State& s) {
    Pair sums{};
    for (Index i = 0; i < s.n(); ++i) {
        CHECK(s.beta[i] >= s.low(i) && s.beta[i] <= s.high(i), i);
        sums[s.group(i)] += s.beta[i];
    }
    for (const int g : {0, 1}) CHECK(std::abs(sums[g] - s.total[g]) <= 1e-11 * (1 + std::abs(s.total[g])), g, sums[g]);
}

// Linear kernel, rows -1 and 1.
CASE(two_points_by_hand) {
    const Array<double> x{-1, 1}, weights{1, 1};
    const RowKernel<double> source{{KernelKind::linear, 1.0, 0.0, 3}, dense_view(x, 2, 1)};
    {  // SVR of y = x, epsilon 0.1: f = 0.9 x if C allows it, D = 2 (0.9 beta - beta^2)
        for (const double C : {1.0, 0.25}) {
            const double beta = std::min(0.45, C);
            const Array<double> bounds{C, C};
            const State s = solved(start_svr({0, 1}, {-1, 1}, 0.1, bounds.data()), source, {});
            CHECK(std::abs(s.beta[1] - beta) < 1e-15 && s.beta[0] == -s.beta[1] && s.intercept() == 0, C, s.beta[1]);
            CHECK(std::abs(objectives(s).dual - 2 * (0.9 * beta - beta * beta)) < 1e-15, C);
            CHECK(std::abs(objectives(s).primal - (2 * beta * beta + 2 * C * (0.9 - 2 * beta))) < 1e-15, C);
        }
        const State flat = solved(start_svr({0, 1}, {-1, 1}, 1.0, weights.data()), source, {});
        CHECK(flat.beta[0] == 0 && flat.beta[1] == 0 && flat.steps == 0);
    }
    {  // NuSVC, nu = 1: both at their bounds; f = x after the division by the margin
        const State s = solved(start_nu_svc({0}, {1}, -1.0, 1.0, weights.data()), source, {});
        CHECK(s.beta[0] == -1 && s.beta[1] == 1 && s.reason == Reason::tolerance);
        CHECK(s.beta[1] / margin(s, -1.0) == 0.5 && nu_intercept(s, -1.0) == 0, margin(s, -1.0));
    }
    {  // NuSVR of y = x, sum of |beta| = 1/2: f = x / 2, epsilon = 1/2
        const State s = solved(start_nu_svr({0, 1}, {-1, 1}, 0.5, weights.data()), source, {});
        CHECK(by_row(s, 2)[0] == -0.25 && by_row(s, 2)[1] == 0.25, by_row(s, 2)[1]);
        CHECK(0.5 * (s.level[0] - s.level[1]) == 0.5, s.level[0], s.level[1]);
        CHECK(support_count(s) == 2 && objectives(s).dual == 0.5 - 0.0625 * 2);
    }
    {  // one class, points (1, 0) and (0, 1), sum 1: beta = 1/2, <w, x> = 1/2, D = -1/4
        const Array<double> corners{1, 0, 0, 1};
        const RowKernel<double> plane{{KernelKind::linear, 1.0, 0.0, 3}, dense_view(corners, 2, 2)};
        const State s = solved(start_one_class({0, 1}, 1.0, weights.data()), plane, {});
        CHECK(s.beta[0] == 0.5 && s.beta[1] == 0.5 && s.intercept() == -0.5, s.beta[0], s.intercept());
        CHECK(objectives(s).dual == -0.25 && objectives(s).primal == -0.25, objectives(s).primal);
    }
}

CASE(same_optimum_as_doubled_variables) {
    for (const Kernel& kernel : {Kernel{KernelKind::rbf, 0.5, 0.0, 3}, Kernel{KernelKind::linear, 1.0, 0.0, 3},
                                 Kernel{KernelKind::poly, 0.7, 1.0, 3}})
        for (const Machine machine : all_machines)
            for (const double parameter : {0.05, 0.4}) {
                const Targets<double> data(100, 4, 0.8, machine == Machine::svr ? 5.0 : 1.0);
                const RowKernel<double> source{kernel, data.view()};
                const Array<double> K = matrix(kernel, data.x, data.n(), data.d);
                const Twin twin = naive(variables(data, machine, parameter), K, data.n(), 1e-9);
                Params p;
                p.tol = 1e-9;
                const State s = solved(data.begin(machine, parameter, false), source, p);
                const int what = static_cast<int>(machine);
                const Objectives found = objectives(s);
                const double size = 1e-3 + std::abs(twin.dual);
                CHECK(s.reason == Reason::tolerance, what, parameter);
                check_feasible(s);
                CHECK(std::abs(found.dual - twin.dual) <= 1e-8 * size, what, parameter, found.dual, twin.dual);
                const double gap = 1e-9 * data.sum(data.all);  // that violations of tol allow
                CHECK(std::abs(found.primal - twin.dual) <= 1e-8 * size + gap, what, parameter, found.primal);
                for (int g = 0; g < s.groups(); ++g)
                    CHECK(std::abs(s.level[g] - twin.levels[g]) <= 1e-6, what, parameter, s.level[g], twin.levels[g]);
                const Array<double> beta = by_row(s, data.n());
                double far = 0;  // in the norm of the feature space: beta need not be unique
                for (Index i = 0; i < data.n(); ++i)
                    for (Index j = 0; j < data.n(); ++j)
                        far += (beta[i] - twin.beta[i]) * K[i * data.n() + j] * (beta[j] - twin.beta[j]);
                CHECK(std::sqrt(std::max(far, 0.0)) <= 1e-5, what, parameter, far);
            }
}

/// Several outer steps, shrinking, single precision: the tolerance holds in double for all points.
CASE_ONCE(blocks_meet_the_tolerance_in_double) {
    const Kernel kernel{KernelKind::rbf, 2.0, 0.0, 3};
    const Targets<double> data(3400, 3, 0.7, 1.0);
    const RowKernel<double> source{kernel, data.view()};
    const Array<double> K = matrix(kernel, data.x, data.n(), data.d);
    for (const Machine machine : all_machines)
        for (const bool single : {false, true}) {
            State s = solved(data.begin(machine, 0.1, single), source, {});
            const int what = static_cast<int>(machine);
            CHECK(s.reason == Reason::tolerance && s.outer > 1 && s.single == single, what, s.outer);
            check_feasible(s);
            const Objectives told = objectives(s);
            const Array<double> beta = by_row(s, data.n());
            s.shrunk = false;
            s.active.resize(s.n());
            std::iota(s.active.begin(), s.active.end(), Index{0});
            for (Index i = 0; i < s.n(); ++i)
                s.v[i] = s.p[i] - std::inner_product(beta.begin(), beta.end(), K.begin() + s.row[i] * data.n(), 0.0);
            const double gap = look(s, s.active).gap();
            CHECK(gap <= 1e-3 * (1 + 1e-9), what, single, gap);
            CHECK(std::abs(gap - s.violation) <= 1e-9, what, gap, s.violation);
            const Objectives found = objectives(s);
            const double accuracy = (single ? 1e-5 : 1e-9) * std::abs(found.dual);
            CHECK(std::abs(told.dual - found.dual) <= accuracy, what, single, told.dual, found.dual);
            CHECK(std::abs(told.primal - found.primal) <= accuracy, what, single, told.primal, found.primal);
            CHECK(found.primal >= found.dual && found.primal - found.dual <= gap * data.sum(data.all), what,
                  found.primal, found.dual);
        }
}

CASE_ONCE(same_bits_for_threads_caches_slices_and_sparse_rows) {
    Targets<float> data(3400, 20, 0.7, 1.0);
    Random random(3);
    for (float& value : data.x)
        if (uniform(random) < 0.7) value = 0;
    const Kernel kernel{KernelKind::rbf, 1.0, 0.0, 3};
    const RowKernel<float> dense{kernel, data.view()};
    const OwnedCsr<float, std::int64_t> csr = to_csr<float, std::int64_t>(data.x, data.n(), data.d);
    const RowKernel<float> sparse{kernel, csr.view()};
    Params little;
    little.cache_bytes = 1 << 20;
    for (const Machine machine : all_machines) {
        const State first = data.begin(machine, 0.05, true), s = solved(first, dense, {});
        CHECK(s.outer > 1, s.outer);
        Params together;
        together.blocks.step_threads = 3;
        for (const State& other :
             {solved(first, dense, little, 3, 1), solved(first, sparse, {}), solved(first, dense, together, 3)}) {
            CHECK(same_bits(s.beta, other.beta) && same_bits(s.v, other.v), static_cast<int>(machine));
            CHECK(same_bits(s.level[0], other.level[0]) && same_bits(s.level[1], other.level[1]));
            CHECK(s.steps == other.steps, s.steps, other.steps);
        }
    }
}

CASE(max_steps_interrupts_and_guesses) {
    const Targets<double> data(1200, 3, 0.5, 1.0);
    const RowKernel<double> source{{KernelKind::rbf, 2.0, 0.0, 3}, data.view()};
    for (const Machine machine : all_machines) {
        const int what = static_cast<int>(machine);
        const State first = data.begin(machine, 0.2, true);
        Params p;
        p.max_steps = 7;
        State s = solved(first, source, p);
        CHECK(s.reason == Reason::steps && s.steps == 7, what, s.steps);
        check_feasible(s);
        for (const int after : {0, 1, 3}) {
            engine::Workspace<RowKernel<double>> work;
            State t = first;
            Interrupt interrupt([count = after]() mutable { return count-- <= 0; });
            engine::learn(t, {}, source, Stop{1 << 30, &interrupt}, 1, work);
            CHECK(t.reason == Reason::interrupted || t.reason == Reason::tolerance, what);
            CHECK(std::isfinite(t.level[0]) && std::isfinite(t.level[1]), what);
            engine::learn(t, {}, source, {}, 1, work);
            CHECK(t.reason == Reason::tolerance && t.violation <= 1e-3, what, after, name(t.reason));
        }
        const State solution = solved(first, source, {});
        State again = first;
        guess(again, solution.beta);
        CHECK(solved(again, source, {}).steps <= solution.steps / 10, what);
        for (const double size : {-1e300, 0.3, 1e300}) {  // any guess becomes feasible
            State wild = first;
            guess(wild, Array<double>(wild.n(), size));
            check_feasible(wild);
            const double dual = objectives(solved(wild, source, {})).dual, gap = 1e-3 * data.sum(data.all);
            CHECK(std::abs(dual - objectives(solution).dual) <= gap, what, size, dual);
        }
    }
}

/// A machine that takes over where another one stands publishes the same, with v of all points or of the active ones.
CASE(handover) {
    Targets<double> data(150, 3, 0.5, 1.0);
    const RowKernel<double> source{{KernelKind::rbf, 0.5, 0.0, 3}, data.view()};
    for (const Machine machine : all_machines) {
        const State fresh = data.begin(machine, 0.4, false), solution = solved(fresh, source, {});
        const int what = static_cast<int>(machine);
        Standing all;
        all.beta = solution.beta, all.v = solution.v, all.steps = solution.steps, all.reason = "tol";
        State whole = fresh;
        adopt(whole, all);
        CHECK(whole.violation == solution.violation && whole.level == solution.level, what, whole.violation);
        CHECK(whole.reason == Reason::tolerance && whole.steps == solution.steps && !whole.stale, what);
        CHECK(objectives(whole).primal == objectives(solution).primal, what);

        Standing some = all;  // nothing has changed since v of all points was known
        for (Index i = 0; i < fresh.n(); i += 2) some.active.push_back(i);
        some.synced = solution.beta, some.synced_v = solution.v, some.synced_dual = dual_objective(solution);
        State part = fresh;
        adopt(part, some);
        CHECK(part.shrunk && dual_objective(part) == dual_objective(solution), what);

        Standing wrong = some;
        wrong.synced.pop_back();
        State kept = fresh;
        bool refused = false;
        try {
            adopt(kept, wrong);
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        CHECK(refused && kept.beta == fresh.beta && kept.reason == Reason::running, what);
    }
}

/// Rows with both signs in NuSVR, repeated rows, rows without weight.
CASE(degenerate_rows) {
    Targets<double> data(120, 2, 0.8, 1.0);
    std::copy_n(data.x.begin(), 2, data.x.begin() + 2);
    data.target[1] = -data.target[0];
    data.bound[5] = data.bound[17] = 0;
    const Kernel kernel{KernelKind::rbf, 1.0, 0.0, 3};
    const RowKernel<double> source{kernel, data.view()};
    const Array<double> K = matrix(kernel, data.x, data.n(), data.d);
    for (const Machine machine : all_machines)
        for (const double parameter : {0.0, 0.5, 1.0}) {
            const State s = solved(data.begin(machine, parameter, false), source, {.tol = 1e-6});
            const int what = static_cast<int>(machine);
            CHECK(s.reason == Reason::tolerance, what, parameter, name(s.reason));
            check_feasible(s);
            CHECK(by_row(s, data.n())[5] == 0 && by_row(s, data.n())[17] == 0, what);
            const Twin twin = naive(variables(data, machine, parameter), K, data.n(), 1e-6);
            CHECK(std::abs(objectives(s).dual - twin.dual) <= 1e-5 * (1 + std::abs(twin.dual)), what, parameter,
                  objectives(s).dual, twin.dual);
        }
}

}  // namespace
}  // namespace hingeline::engine::machines
