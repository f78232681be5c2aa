// Soft-margin SVM (C-SVC) with an intercept: problem, state of one machine, quantities of its solution.
//
// Problem. Labels y = +1, -1, bounds c_i = C w_i (infinity allowed):
//
//     minimise 1/2 |w|^2 + sum c_i xi_i,  y_i (w.phi(x_i) + b) >= 1 - xi_i,  xi >= 0
//
// has the dual  maximise D(beta) = sum y_i beta_i - 1/2 beta'K beta,  sum beta_i = 0,  0 <= y_i beta_i <= c_i, and
// f(x) = sum beta_i K(x_i, x) + b.
//
// Symbols. v = y - K beta. A point is *up* if its beta may rise, *low* if it may fall, *free* if both. m is the largest
// v of the up points, M the smallest v of the low points. beta is optimal iff the violation m - M is at most 0; LIBSVM
// stops at m - M <= tol, and so do we. D = 1/2 sum beta_i (y_i + v_i); f(x_i) = y_i - v_i + b.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "hingeline/core/array.hpp"
#include "hingeline/run/stop.hpp"
#include "hingeline/run/trace.hpp"

namespace hingeline::engine {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

struct Params {
    double tol = 1e-3;
    Index max_steps = -1;  // of one machine, over all calls; -1: the limit of `most_steps`
    bool shrinking = true;
    std::size_t cache_bytes = std::size_t{200} << 20;
};

/// Limit of steps of a machine of n points. It ends problems that are too badly scaled; LIBSVM has a limit of 1e7
/// steps or 100 n.
inline Index most_steps(const Params& p, Index n) {
    return p.max_steps >= 0 ? p.max_steps : std::max<Index>(10'000'000, 1000 * n);
}

/// One machine: everything that the next `learn` needs, and its result. Positions are the rows of the first class, then
/// those of the second.
struct State {
    Array<Index> row;     // number in the source
    Array<double> y;      // labels
    Array<double> bound;  // c
    Array<double> beta, v;
    bool stale = false;    // v does not belong to beta: compute it before the next step
    bool bounded = false;  // a coefficient has reached its upper bound; if not, larger bounds give the same steps

    Array<Index> active;  // positions whose v is up to date, ascending; all of them unless `shrunk`
    bool shrunk = false;
    // beta, v and D when v was last up to date everywhere; empty unless `shrunk`
    Array<double> synced, synced_v;
    double synced_dual = 0;
    Array<Index> working;    // the last working set
    double length = 0;       // norm of the last change of beta
    double effort = 0;       // steps per point of the last working set
    Index newton_at = 0;     // steps at the last try of a Newton step with clipping
    double newton_wait = 1;  // until the next one, in units of twice its cost
    double gap_at_sync = infinity;
    // Smallest violation and largest dual objective so far, over all points; outer steps since one of them improved.
    double best = infinity, best_dual = -infinity;
    Index waiting = 0;
    // Steps at which the objective is compared with that of half as many, with infinite bounds.
    Index next_look = 0;
    double dual_at_look = infinity, violation_at_look = infinity;
    bool filling = true;  // the last working set held random violators
    bool single = false;  // kernel values are in single precision
    std::uint64_t random = 0;

    Index outer = 0;  // working sets solved
    Index steps = 0;  // pairs of coefficients changed
    Index kernel_evals = 0;
    double violation = infinity, intercept = 0;
    Reason reason = Reason::running;
    Trace trace{
        {"step", true}, {"seconds", false}, {"n_support", true}, {"kkt_violation", false}, {"kernel_evals", true}};

    Index n() const { return row.size(); }
    double low(Index i) const { return y[i] > 0 ? 0.0 : -bound[i]; }
    double high(Index i) const { return y[i] > 0 ? bound[i] : 0.0; }
    bool is_up(Index i) const { return beta[i] < high(i); }
    bool is_low(Index i) const { return beta[i] > low(i); }
    bool is_free(Index i) const { return is_up(i) && is_low(i); }
};

/// Start from zero, with bounds by row of the source.
inline State start(Array<Index> rows, Array<double> labels, const double* bounds) {
    State s;
    s.row = std::move(rows);
    s.y = std::move(labels);
    s.bound.reserve(s.n());
    for (const Index row : s.row) s.bound.push_back(bounds[row]);
    s.beta.assign(s.n(), 0.0);
    s.v = s.y;
    s.active.resize(s.n());
    std::iota(s.active.begin(), s.active.end(), Index{0});
    return s;
}
/// Start again with other bounds. If it throws, nothing has changed.
inline void restart(State& s, const double* bounds) {
    s.active.reserve(s.n());
    State fresh;
    fresh.row = std::move(s.row), fresh.y = std::move(s.y), fresh.bound = std::move(s.bound);
    fresh.beta = std::move(s.beta), fresh.v = std::move(s.v), fresh.active = std::move(s.active);
    for (Index i = 0; i < fresh.n(); ++i) fresh.bound[i] = bounds[fresh.row[i]];
    std::fill(fresh.beta.begin(), fresh.beta.end(), 0.0);
    std::copy(fresh.y.begin(), fresh.y.end(), fresh.v.begin());
    fresh.active.resize(fresh.n());
    std::iota(fresh.active.begin(), fresh.active.end(), Index{0});
    s = std::move(fresh);
}
inline State start(const Array<Index>& first, const Array<Index>& second, double first_label, const double* bounds) {
    Array<Index> rows;
    rows.reserve(first.size() + second.size());
    rows.insert(rows.end(), first.begin(), first.end());
    rows.insert(rows.end(), second.begin(), second.end());
    Array<double> labels(rows.size(), -first_label);
    std::fill_n(labels.begin(), first.size(), first_label);
    return start(std::move(rows), std::move(labels), bounds);
}

/// m, M and where they are, the number of free points among some positions and the mean of their v.
struct Look {
    double top = -infinity, bottom = infinity;
    Index top_at = -1, bottom_at = -1;
    Index free = 0;
    double free_mean = 0;
    double gap() const { return top - bottom; }
    /// Threshold between up and low points.
    double middle() const { return 0.5 * (top + bottom); }
    /// Intercept: the mean v of the free points, or the middle of the interval of optimal values (as LIBSVM).
    double intercept() const {
        if (free > 0) return free_mean;
        if (std::isinf(top) || std::isinf(bottom)) return std::isinf(top) ? (std::isinf(bottom) ? 0.0 : bottom) : top;
        return middle();
    }
};

/// Coefficients within `rounding` of a bound count as at the bound.
inline Look look(const State& s, const Array<Index>& positions, double rounding = 0) {
    Look out;
    double sum = 0;
    for (const Index i : positions) {
        const double beta = s.beta[i];
        const bool up = s.high(i) - beta > rounding, low = beta - s.low(i) > rounding;
        if (up && s.v[i] > out.top) out.top = s.v[i], out.top_at = i;
        if (low && s.v[i] < out.bottom) out.bottom = s.v[i], out.bottom_at = i;
        if (up && low) ++out.free, sum += s.v[i];
    }
    if (out.free > 0) out.free_mean = sum / static_cast<double>(out.free);
    return out;
}

/// Intercept of the solution whose look is `l`. If the upper bounds of both classes have the same sum (balanced classes
/// and a small C), all coefficients are at their bounds and b is any value of an interval; rounding errors leave a
/// coefficient beside its bound, which would choose an end of the interval. They are at most those of sum |beta|.
inline double intercept(const State& s, const Array<Index>& positions, const Look& l) {
    double sum = 0;
    for (const double beta : s.beta) sum += std::abs(beta);
    const Look settled = look(s, positions, 4 * std::numeric_limits<double>::epsilon() * sum);
    const bool decided = settled.free > 0 || (std::isfinite(settled.top) && std::isfinite(settled.bottom));
    return decided ? settled.intercept() : l.intercept();
}

inline Index support_count(const State& s) {
    return std::count_if(s.beta.begin(), s.beta.end(), [](double b) { return b != 0; });
}

struct Objectives {
    double dual = 0, primal = 0;
};

/// D from the current v. If v of some points is not up to date, from the change since it was: only active points have
/// changed, and D(beta + d) - D(beta) = 1/2 d'(v before + v after).
inline double dual_objective(const State& s) {
    double dual = 0;
    if (s.shrunk) {
        for (const Index i : s.active) dual += 0.5 * (s.beta[i] - s.synced[i]) * (s.synced_v[i] + s.v[i]);
        return s.synced_dual + dual;
    }
    for (Index i = 0; i < s.n(); ++i) dual += 0.5 * s.beta[i] * (s.y[i] + s.v[i]);
    return dual;
}

/// Both objectives; the primal one is infinite if a point with an infinite bound violates its margin. Points that are
/// not active lie on the right side of the margin or have their upper bounds: the sum of beta v over these is what
/// beta'v = 2 D - beta'y leaves.
inline Objectives objectives(const State& s) {
    Objectives out{.dual = dual_objective(s)};
    double labels = 0, left = 0, bounded = 0, loss = 0;  // sums of beta y; of beta v and beta without the active points
    for (Index i = 0; i < s.n(); ++i) labels += s.beta[i] * s.y[i], bounded += s.beta[i];
    left = 2 * out.dual - labels;
    for (const Index i : s.active) {
        left -= s.beta[i] * s.v[i], bounded -= s.beta[i];
        const double slack = s.y[i] * (s.v[i] - s.intercept);
        if (slack > 0) loss += s.bound[i] * slack;
    }
    if (s.shrunk) loss += left - s.intercept * bounded;
    out.primal = labels - out.dual + loss;
    return out;
}

inline void note(State& s) {
    s.trace.add({static_cast<double>(s.outer), static_cast<double>(support_count(s)), std::max(s.violation, 0.0),
                 static_cast<double>(s.kernel_evals)});
}

}  // namespace hingeline::engine
