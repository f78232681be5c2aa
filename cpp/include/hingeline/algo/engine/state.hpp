// Exact kernel machines: the problem, the state of one machine, quantities of its solution.
//
// Problem. With a linear term p, a penalty e >= 0 and bounds l_i <= 0 <= u_i (infinity allowed):
//
//     maximise D(beta) = p'beta - 1/2 beta'K beta - e sum |beta_i|,  l_i <= beta_i <= u_i
//
// where the sum of beta is fixed: over all points, or over each of two groups of points. With c_i = C w_i:
//
//     machine      p     e        box of beta_i            fixed
//     SVC          y     0        y_i beta_i in [0, c_i]   sum = 0
//     SVR          y     epsilon  [-c_i, c_i]              sum = 0
//     one-class    0     0        [0, w_i]                 sum = nu sum w
//     NuSVC        0     0        y_i beta_i in [0, w_i]   sum of each class = y nu sum w / 2
//     NuSVR        y     0        [0, c_i], [-c_i, 0]      sum of each group = +- nu sum c / 2
//
// NuSVR has two positions for each row, one of each group; the coefficient of the row is the sum of both.
//
// Symbols. v = p - K beta. The rise of a point is the slope of D if its beta rises, its fall the slope that is undone
// if its beta falls: v_i - e on the positive side, v_i + e on the negative side; at beta_i = 0 they differ. A point is
// *up* if its beta may rise, *low* if it may fall, *free* if it may do both at one slope. In each group m is the
// largest rise of the up points, M the smallest fall of the low points. beta is optimal iff m <= M in each group;
// LIBSVM stops if the violation, the largest m - M, is at most tol, and so do we. The level b of a group is the
// multiplier of its sum: v = b +- e at the free points. With one group it is the intercept, and f(x_i) = p_i - v_i + b.
//
// D = 1/2 sum beta_i (p_i + v_i) - e sum |beta_i|. The primal objective exceeds it by the sum over the points of
// h_i(v_i - b) - beta_i (v_i - b) + e |beta_i|, where h_i(u) = max(u_i (u - e), l_i (u + e), 0) is the loss.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "hingeline/core/array.hpp"
#include "hingeline/run/stop.hpp"
#include "hingeline/run/trace.hpp"

namespace hingeline::engine {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Problems of at most `smallest` points are solved in one working set; larger ones in blocks of up to `widest`, or
/// more if there are so many free points. The kernel matrix of `widest` points takes 200 MB in single precision, that
/// of `widest_coarse` points in 16 bits. Only tests have other sizes.
struct BlockSizes {
    Index largest_whole = 16384;  // points; if more are wanted at once, they are still a part
    Index smallest = 3072, finishing = 2048, widest = 7168, widest_coarse = 10000;
    Index sampled = 512;   // points whose errors of v tell those of at least eight times as many
    int step_threads = 0;  // that make steps together; 0: as many as are fastest
};

struct Params {
    double tol = 1e-3;
    Index max_steps = -1;  // of one machine, over all calls; -1: the limit of `most_steps`
    bool shrinking = true;
    std::size_t cache_bytes = std::size_t{200} << 20;
    BlockSizes blocks{};
};

/// Limit of steps of a machine of n points. It ends problems that are too badly scaled; LIBSVM has a limit of 1e7
/// steps or 100 n.
inline Index most_steps(const Params& p, Index n) {
    return p.max_steps >= 0 ? p.max_steps : std::max<Index>(10'000'000, 1000 * n);
}

/// One value for each group.
using Pair = std::array<double, 2>;

/// One machine: everything that the next `learn` needs, and its result. The positions of the first group come before
/// those of the second.
struct State {
    Array<Index> row;            // number in the source
    Array<double> p;             // linear term
    Array<double> lower, upper;  // bounds
    double e = 0;                // penalty of |beta|
    Index split = 0;             // first position of the second group, n if there is one group
    Pair total{};                // fixed sums of beta
    bool mirrored = false;       // the second group repeats the rows and p of the first
    double unit = 1;             // size of the differences of v
    Array<double> beta, v;
    bool stale = false;    // v does not belong to beta: compute it before the next step
    bool resumed = false;  // v belongs to beta, but beta may break bounds and sums: mend it before the next step
    bool carried = false;  // v comes from an earlier solution, with its rounding errors
    bool bounded =
        false;  // a coefficient has reached the bound away from zero; if not, larger bounds give the same steps

    Array<Index> active;  // positions whose v is up to date, ascending; all of them unless `shrunk`
    bool shrunk = false;
    // beta, v and D when v was last up to date everywhere; empty unless `shrunk`
    Array<double> synced, synced_v;
    double synced_dual = 0;
    Array<Index> working;      // the last working set
    double length = 0;         // norm of the last change of beta
    double effort = 0;         // steps per point of the last working set
    double changed_share = 1;  // part of the last working set whose beta has changed
    Index newton_at = 0;       // steps at the last try of a Newton step with clipping
    double newton_wait = 1;    // until the next one, in units of twice its cost
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
    double violation = infinity;
    Pair level{};
    Reason reason = Reason::running;
    Trace trace{
        {"step", true}, {"seconds", false}, {"n_support", true}, {"kkt_violation", false}, {"kernel_evals", true}};

    Index n() const { return row.size(); }
    int groups() const { return split < n() ? 2 : 1; }
    int group(Index i) const { return i >= split; }
    double low(Index i) const { return lower[i]; }
    double high(Index i) const { return upper[i]; }
    /// The bound away from zero.
    double bound(Index i) const { return std::max(-lower[i], upper[i]); }
    bool is_up(Index i) const { return beta[i] < upper[i]; }
    bool is_low(Index i) const { return beta[i] > lower[i]; }
    bool is_free(Index i) const { return is_up(i) && is_low(i) && !(e > 0 && beta[i] == 0); }
    double rise(Index i) const { return beta[i] < 0 ? v[i] + e : v[i] - e; }
    double fall(Index i) const { return beta[i] > 0 ? v[i] - e : v[i] + e; }
    /// Ends of the stretch around beta_i on which D is smooth.
    double smooth_low(Index i) const { return e > 0 && beta[i] > 0 ? 0.0 : lower[i]; }
    double smooth_high(Index i) const { return e > 0 && beta[i] < 0 ? 0.0 : upper[i]; }
    double intercept() const { return level[0]; }
};

/// Start from zero with all arrays of the rows and of p; v = p. Memory of the state is kept.
inline void begin(State& s) {
    s.split = s.n();
    s.beta.assign(s.n(), 0.0);
    s.v = s.p;
    s.active.resize(s.n());
    std::iota(s.active.begin(), s.active.end(), Index{0});
}

/// The box of bounds by row of the source. `side(i)` is the sign that beta_i may have, 0: both.
template <class Side> void set_box(State& s, const double* bounds, Side&& side) {
    s.lower.resize(s.n()), s.upper.resize(s.n());
    for (Index i = 0; i < s.n(); ++i) {
        const double sign = side(i), bound = bounds[s.row[i]];
        s.lower[i] = sign > 0 ? 0.0 : -bound;
        s.upper[i] = sign < 0 ? 0.0 : bound;
    }
}
/// Start again from zero with other bounds. If it throws, nothing has changed.
inline void restart(State& s, const double* bounds) {
    s.active.reserve(s.n());
    State fresh;
    fresh.row = std::move(s.row), fresh.p = std::move(s.p);
    fresh.lower = std::move(s.lower), fresh.upper = std::move(s.upper);
    fresh.beta = std::move(s.beta), fresh.v = std::move(s.v), fresh.active = std::move(s.active);
    fresh.e = s.e, fresh.split = s.split, fresh.total = s.total, fresh.mirrored = s.mirrored, fresh.unit = s.unit;
    set_box(fresh, bounds,
            [&](Index i) { return (fresh.lower[i] < 0 ? -1.0 : 0.0) + (fresh.upper[i] > 0 ? 1.0 : 0.0); });
    std::fill(fresh.beta.begin(), fresh.beta.end(), 0.0);
    std::copy(fresh.p.begin(), fresh.p.end(), fresh.v.begin());
    fresh.active.resize(fresh.n());
    std::iota(fresh.active.begin(), fresh.active.end(), Index{0});
    s = std::move(fresh);
}

/// Starting values of beta before the first step, of any size. They are clipped to the box. Then the positive or the
/// negative ones of each group are scaled down until their sum is the fixed one; if that is not enough, others are
/// moved to their bounds, position after position.
inline void guess(State& s, const Array<double>& values) {
    constexpr double rounding = 1e-12;
    for (Index i = 0; i < s.n(); ++i)
        s.beta[i] = std::clamp(std::isfinite(values[i]) ? values[i] : 0.0, s.lower[i], s.upper[i]);
    for (const int g : {0, 1}) {
        const Index from = g == 0 ? 0 : s.split, to = g == 0 ? s.split : s.n();
        Pair sum{};  // of negative and of positive values
        for (Index i = from; i < to; ++i) sum[s.beta[i] > 0] += s.beta[i];
        const bool positive = sum[0] + sum[1] > s.total[g];  // values that are too large
        const double large = std::abs(sum[positive]), wanted = (s.total[g] - sum[!positive]) * (positive ? 1 : -1);
        if (large > 0 && large - wanted > rounding * large)
            for (Index i = from; i < to; ++i)
                if ((s.beta[i] > 0) == positive) s.beta[i] *= std::max(wanted, 0.0) / large;
        double missing = std::max(-wanted, 0.0);
        if (missing <= rounding * std::abs(s.total[g])) continue;
        for (Index i = from; i < to && missing > 0; ++i) {
            const double size = std::min(positive ? s.beta[i] - s.lower[i] : s.upper[i] - s.beta[i], missing);
            s.beta[i] += positive ? -size : size;
            missing -= size;
        }
    }
    s.stale = true;
}

/// Start from beta and v = p - K beta of a solution for other bounds or other rows, before the first step. beta may
/// break the bounds and the fixed sums: the solver mends both, and changes v by the columns of the points that it
/// moves.
inline void resume(State& s, Array<double> beta, Array<double> v) {
    s.beta = std::move(beta), s.v = std::move(v);
    s.resumed = s.carried = true;
    s.filling = false;  // few points violate the conditions
}

// ---- machines --------------------------------------------------------------------------------------------

/// The rows of the first class, then those of the second, in an empty state.
inline void set_classes(State& s, const Array<Index>& first, const Array<Index>& second) {
    s.row.reserve(first.size() + second.size());
    s.row.insert(s.row.end(), first.begin(), first.end());
    s.row.insert(s.row.end(), second.begin(), second.end());
}
/// SVC. All `bounds` are by row of the source.
inline State start(const Array<Index>& first, const Array<Index>& second, double first_label, const double* bounds) {
    State s;
    set_classes(s, first, second);
    s.p.assign(s.n(), -first_label);
    std::fill_n(s.p.begin(), first.size(), first_label);
    begin(s);
    set_box(s, bounds, [&](Index i) { return s.p[i]; });
    return s;
}

/// Set the coefficients of a group to their bounds, position after position, until the sum of their sizes is `total`.
inline void fill_group(State& s, int group, double total) {
    const Index from = group == 0 ? 0 : s.split, to = group == 0 ? s.split : s.n();
    if (from == to) return;  // all bounds are zero: no coefficients
    s.total[group] = s.upper[from] > 0 ? total : -total;
    for (Index i = from; i < to && total > 0; ++i) {
        const double size = std::min(s.bound(i), total);
        s.beta[i] = s.upper[i] > 0 ? size : -size;
        total -= size;
    }
    s.stale = true;
}
/// NuSVC: `bounds` are the weights. If a class has no room for nu, the largest that it has room for is taken.
inline State start_nu_svc(const Array<Index>& first, const Array<Index>& second, double first_label, double nu,
                          const double* bounds) {
    State s;
    set_classes(s, first, second);
    s.p.assign(s.n(), 0.0);
    begin(s);
    s.split = first.size();
    set_box(s, bounds, [&](Index i) { return s.group(i) == 0 ? first_label : -first_label; });
    Pair sums{};
    for (Index i = 0; i < s.n(); ++i) sums[s.group(i)] += s.bound(i);
    const double total = std::min({0.5 * nu * (sums[0] + sums[1]), sums[0], sums[1]});
    for (const int group : {0, 1}) fill_group(s, group, total);
    s.unit = 0;
    return s;
}
/// SVR: p are the targets of the rows.
inline State start_svr(Array<Index> rows, Array<double> p, double e, const double* bounds) {
    State s;
    s.row = std::move(rows), s.p = std::move(p), s.e = e;
    begin(s);
    set_box(s, bounds, [](Index) { return 0.0; });
    s.unit = 0;
    return s;
}
/// NuSVR: `total` is the sum of |beta|.
inline State start_nu_svr(const Array<Index>& rows, const Array<double>& p, double total, const double* bounds) {
    State s;
    set_classes(s, rows, rows);
    s.p.reserve(s.n());
    for (const int group : {0, 1}) {
        (void)group;
        s.p.insert(s.p.end(), p.begin(), p.end());
    }
    begin(s);
    s.split = rows.size(), s.mirrored = true;
    set_box(s, bounds, [&](Index i) { return s.group(i) == 0 ? 1.0 : -1.0; });
    for (const int group : {0, 1}) fill_group(s, group, 0.5 * total);
    s.unit = 0, s.stale = false;  // beta of each row is zero
    return s;
}
/// One-class machine: `bounds` are the weights, `total` is the sum of beta.
inline State start_one_class(Array<Index> rows, double total, const double* bounds) {
    State s;
    s.row = std::move(rows);
    s.p.assign(s.n(), 0.0);
    begin(s);
    set_box(s, bounds, [](Index) { return 1.0; });
    fill_group(s, 0, total);
    s.unit = 0;
    return s;
}

// ---- quantities of a state -------------------------------------------------------------------------------

/// m, M and where they are, the number of free points among some positions and the mean of their slopes.
struct Look {
    double top = -infinity, bottom = infinity;
    Index top_at = -1, bottom_at = -1;
    Index free = 0;
    double free_mean = 0;  // of the free points, once all have been added
    double gap() const { return top - bottom; }
    /// Threshold between up and low points.
    double middle() const {
        return bounded() ? 0.5 * (top + bottom) : std::isinf(top) ? (std::isinf(bottom) ? 0.0 : bottom) : top;
    }
    bool bounded() const { return std::isfinite(top) && std::isfinite(bottom); }
    /// Level: the mean slope of the free points, or the middle of the interval of optimal values (as LIBSVM).
    double level() const { return free > 0 ? free_mean : middle(); }
    bool decided() const { return free > 0 || bounded(); }
};
/// The look of each group.
struct Looks {
    std::array<Look, 2> of;
    double gap() const { return std::max(of[0].gap(), of[1].gap()); }
    Index free() const { return of[0].free + of[1].free; }
    Pair middles() const { return {of[0].middle(), of[1].middle()}; }
    Pair levels() const { return {of[0].level(), of[1].level()}; }
};

/// `Plain`: one group and no penalty, so that rise and fall are v.
template <bool Plain> Looks look_at(const State& s, const Array<Index>& positions, double rounding) {
    Looks out;
    for (const Index i : positions) {
        Look& l = out.of[Plain ? 0 : s.group(i)];
        const double beta = s.beta[i], rise = Plain ? s.v[i] : s.rise(i), fall = Plain ? s.v[i] : s.fall(i);
        const bool up = s.upper[i] - beta > rounding, low = beta - s.lower[i] > rounding;
        if (up && rise > l.top) l.top = rise, l.top_at = i;
        if (low && fall < l.bottom) l.bottom = fall, l.bottom_at = i;
        if (up && low && (Plain || !(s.e > 0 && std::abs(beta) <= rounding)))
            ++l.free, l.free_mean += beta > 0 ? fall : rise;
    }
    for (Look& l : out.of)
        if (l.free > 0) l.free_mean /= static_cast<double>(l.free);
    return out;
}
/// Coefficients within `rounding` of a bound count as at the bound.
inline Looks look(const State& s, const Array<Index>& positions, double rounding = 0) {
    const bool plain = s.e == 0 && s.groups() == 1;
    return plain ? look_at<true>(s, positions, rounding) : look_at<false>(s, positions, rounding);
}

/// Levels of the solution whose look is `l`. If the upper bounds of both classes have the same sum (balanced classes
/// and a small C), all coefficients are at their bounds and b is any value of an interval; rounding errors leave a
/// coefficient beside its bound, which would choose an end of the interval. They are at most those of sum |beta|.
inline Pair levels(const State& s, const Array<Index>& positions, const Looks& l) {
    double sum = 0;
    for (const double beta : s.beta) sum += std::abs(beta);
    const Looks settled = look(s, positions, 4 * std::numeric_limits<double>::epsilon() * sum);
    Pair out{};
    for (const int g : {0, 1}) out[g] = (settled.of[g].decided() ? settled : l).of[g].level();
    return out;
}

/// Rows with a coefficient.
inline Index support_count(const State& s) {
    if (!s.mirrored) return std::count_if(s.beta.begin(), s.beta.end(), [](double b) { return b != 0; });
    Index count = 0;
    for (Index i = 0; i < s.split; ++i) count += s.beta[i] + s.beta[s.split + i] != 0;
    return count;
}

struct Objectives {
    double dual = 0, primal = 0;
};

/// D from the current v. If v of some points is not up to date, from the change since it was: only active points have
/// changed, and without e, D(beta + d) - D(beta) = 1/2 d'(v before + v after).
inline double dual_objective(const State& s) {
    double dual = 0, sizes = 0;
    if (s.shrunk) {
        for (const Index i : s.active) {
            dual += 0.5 * (s.beta[i] - s.synced[i]) * (s.synced_v[i] + s.v[i]);
            sizes += std::abs(s.beta[i]) - std::abs(s.synced[i]);
        }
        return s.synced_dual + (dual - s.e * sizes);
    }
    for (Index i = 0; i < s.n(); ++i) {
        dual += 0.5 * s.beta[i] * (s.p[i] + s.v[i]);
        sizes += std::abs(s.beta[i]);
    }
    return dual - s.e * sizes;
}

/// NuSVC: half of the distance between the levels of the classes. f and the coefficients are divided by it. At the
/// optimum it is at least beta'K beta / sum |beta|; smaller values are errors within the tolerance, which must not
/// change the sign of f. Without any margin f has no scale, and is not divided.
inline double margin(const State& s, double first_label) {
    const double levels = 0.5 * first_label * (s.level[1] - s.level[0]);
    const double least = -2 * dual_objective(s) / (std::abs(s.total[0]) + std::abs(s.total[1]));
    const double value = std::max(levels, least);
    return value > 0 ? value : 1.0;
}
/// NuSVC: the intercept of f.
inline double nu_intercept(const State& s, double first_label) {
    return 0.5 * (s.level[0] + s.level[1]) / margin(s, first_label);
}

/// Both objectives; the primal one is infinite if a point with an infinite bound has a loss. Points that are not active
/// have no loss, or a coefficient at its bound: h_i = beta_i (v_i - b) - e |beta_i| for them, and the sum of their
/// beta v is what beta'v = 2 (D + e sum |beta|) - beta'p leaves.
inline Objectives objectives(const State& s) {
    Objectives out{.dual = dual_objective(s)};
    double linear = 0, left = 0, sizes = 0, loss = 0, outside_sizes = 0;
    Pair outside{};  // sums of beta of the points that are not active
    for (Index i = 0; i < s.n(); ++i) {
        linear += s.beta[i] * s.p[i];
        sizes += std::abs(s.beta[i]);
        outside[s.group(i)] += s.beta[i];
    }
    outside_sizes = sizes;
    left = 2 * (out.dual + s.e * sizes) - linear;
    for (const Index i : s.active) {
        const int g = s.group(i);
        left -= s.beta[i] * s.v[i], outside[g] -= s.beta[i], outside_sizes -= std::abs(s.beta[i]);
        const double above = s.v[i] - s.level[g];
        if (above > s.e && s.upper[i] > 0)
            loss += s.upper[i] * (above - s.e);
        else if (above < -s.e && s.lower[i] < 0)
            loss += s.lower[i] * (above + s.e);
    }
    if (s.shrunk) loss += left - s.level[0] * outside[0] - s.level[1] * outside[1] - s.e * outside_sizes;
    out.primal = linear - (out.dual + s.e * sizes) + loss;
    for (const int g : {0, 1}) out.primal += s.level[g] * s.total[g];
    return out;
}

inline void note(State& s) {
    s.trace.add({static_cast<double>(s.outer), static_cast<double>(support_count(s)), std::max(s.violation, 0.0),
                 static_cast<double>(s.kernel_evals)});
}

}  // namespace hingeline::engine
