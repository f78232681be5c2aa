// The block solver of exact kernel machines (state.hpp): SMO on working sets of thousands of points.
//
//     A = all points (active)
//     loop
//         m, M over A, of each group;  gap = the largest m - M
//         if gap <= tol, or A is shrunk and the gap has fallen to a few percent (or per mille):
//             bring v outside A up to date;  stop if gap <= tol over all points
//             A = points near the margin, if they are fewer than 60 %
//         W = working set out of A (working_set.hpp);  SMO on W (smo.hpp)
//         v[A] -= K[A, changed] (change of beta), in tiles that are summed at once and not stored
//
// Precision. v and the sums are in double. Large problems use kernel values in single precision. Before the solver
// stops, v of the points near the margin is computed again from kernel values in double; if the violation then exceeds
// tol, it goes on from there. Later changes of beta are small, and so are the errors of their products with values in
// single precision (iterative refinement). If this does not converge, all further kernel values are in double. The
// other points are further from violating than any error seen.
//
// Invariants. The fixed sums hold, D never decreases (to rounding). The result does not depend on threads, cache or how
// the steps are divided into calls.
//
// Where we differ from LIBSVM: the sequence of pairs, not the problem, the stopping rule or the treatment of kernels
// that are not positive semi-definite.
#pragma once

#include "hingeline/algo/engine/smo.hpp"
#include "hingeline/algo/engine/working_set.hpp"

namespace hingeline::engine {

/// Lower precision of the kernel values: values that are computed can be computed in single precision.
template <class Source> struct Lower {
    using type = double;
};
template <class S> struct Lower<RowKernel<S>> {
    using type = float;
};

/// Buffers in one precision; nothing in them outlives a step.
template <class Source, class T> struct Tools {
    Local<Source, T> local;
    Smo<T> smo;
    std::vector<SumScratch<T>> scratch;
};

/// Buffers of one machine at a time, reused from machine to machine.
template <class Source> struct Workspace {
    Tools<Source, typename Lower<Source>::type> single;
    Tools<Source, double> twice;
    Array<double> sums, change, before;
    Aligned<double> products;
    Array<Index> ids, positions, rows, changed;
};

template <class Source> class Solver {
  public:
    Solver(State& state, const Params& p, const Source& source, const Stop& stop, int threads, Workspace<Source>& work)
        : s(state),
          p_(p),
          source_(source),
          stop_(stop),
          threads_(threads),
          most_steps_(most_steps(p, state.n())),
          w(work) {
        endless_ = std::any_of(s.upper.begin(), s.upper.end(), [](double c) { return std::isinf(c); }) ||
                   std::any_of(s.lower.begin(), s.lower.end(), [](double c) { return std::isinf(c); });
    }

    /// Bring v of all points up to date. False when interrupted; then nothing has changed.
    bool complete() {
        if (s.stale) return refresh();
        if (!s.shrunk) return true;
        Array<char> inside(s.n(), 0);
        for (const Index i : s.active) inside[i] = 1;
        Array<Index> outside, changed;
        Array<double> change;
        for (Index i = 0; i < s.n(); ++i) {
            if (!inside[i]) outside.push_back(i);
            if (s.beta[i] != s.synced[i]) changed.push_back(i), change.push_back(s.beta[i] - s.synced[i]);
        }
        if (!(s.single ? apply(w.single, outside, changed, change) : apply(w.twice, outside, changed, change)))
            return false;
        activate_all();
        return true;
    }

    /// Make outer steps until the tolerance is reached or the budget is spent.
    void run() {
        if (s.stale && !refresh()) return interrupt();
        if (s.resumed && !mend()) return interrupt();
        if (s.unit == 0) measure();
        for (Index done = 0; s.reason == Reason::running; ++done) {
            if (!settle()) return interrupt();
            if (s.reason != Reason::running || done >= stop_.max_steps) return;
            const bool complete = s.single ? step(w.single) : step(w.twice);
            if (!complete) return interrupt();
        }
    }

  private:
    static constexpr Index rows_at_once = 4096;          // copied for one sweep
    static constexpr double light_effort = 0.5;          // steps per point
    static constexpr Index patience = 20;                // outer steps without progress
    static constexpr Index first_look = Index{1} << 19;  // steps; few problems that have a solution need as many

    void interrupt() { s.reason = Reason::interrupted; }

    /// The unit of v: its standard deviation in the groups.
    void measure() {
        double sum = 0;
        for (const int g : {0, 1}) {
            const Index from = g == 0 ? 0 : s.split, to = g == 0 ? s.split : s.n();
            if (from == to) continue;
            const auto size = static_cast<double>(to - from);
            const double mean = std::accumulate(s.v.begin() + from, s.v.begin() + to, 0.0) / size;
            for (Index i = from; i < to; ++i) sum += (s.v[i] - mean) * (s.v[i] - mean);
        }
        s.unit = sum > 0 ? std::sqrt(sum / static_cast<double>(s.n())) : 1.0;
    }

    // ---- sums of kernel values -------------------------------------------------------------------------

    /// out[k] = sum_j coef[j] K(base[j], queries[k]), positions of the state. False when interrupted.
    template <class T> bool sweep(Tools<Source, T>& tools, const Array<Index>& queries, const Array<Index>& base,
                                  const double* coef, double* out) {
        const auto of_second = [&](const Array<Index>& list) { return !list.empty() && list.back() >= s.split; };
        if (s.mirrored && (of_second(queries) || of_second(base))) return sweep_rows(tools, queries, base, coef, out);
        std::fill_n(out, queries.size(), 0.0);
        w.ids.resize(queries.size());
        for (Index k = 0; k < queries.size(); ++k) w.ids[k] = s.row[queries[k]];
        Array<Index> rows;
        for (Index at = 0; at < base.size(); at += rows_at_once) {
            const Index count = std::min(rows_at_once, base.size() - at);
            rows.clear();
            for (Index j = at; j < at + count; ++j) rows.push_back(s.row[base[j]]);
            tools.local.take(source_, Ids::of(rows), threads_);
            const Index block = tools.local.block(), tasks = (queries.size() + block - 1) / block;
            constexpr Index fewest_values = Index{1} << 19;  // fewer are not worth a thread
            const int threads =
                static_cast<int>(std::clamp<Index>(queries.size() * count / fewest_values, 1, threads_));
            prepare(tools);
            run_tasks(tasks, threads, stop_.interrupt, [&](Index task, int rank) {
                double part[128];
                const Index from = task * block, some = std::min(block, queries.size() - from);
                tools.local.sums(source_, Ids::of(w.ids).part(from, some), coef + at, tools.scratch[rank], part);
                for (Index k = 0; k < some; ++k) out[from + k] += part[k];
            });
            if (stop_.interrupt && stop_.interrupt->requested()) return false;
            s.kernel_evals += queries.size() * count;
        }
        return true;
    }
    /// The same where two positions may have one row: with each row once, named by its position in the first group.
    template <class T> bool sweep_rows(Tools<Source, T>& tools, const Array<Index>& queries, const Array<Index>& base,
                                       const double* coef, double* out) {
        const auto first = [&](Index i) { return i < s.split ? i : i - s.split; };
        Array<double> change(s.split, 0.0);
        for (Index j = 0; j < base.size(); ++j) change[first(base[j])] += coef[j];
        Array<Index> place(s.split, -1), some, rows;
        for (const Index i : queries) place[first(i)] = 0;
        Array<double> weights;
        for (Index i = 0; i < s.split; ++i) {
            if (place[i] == 0) place[i] = some.size(), some.push_back(i);
            if (change[i] != 0) rows.push_back(i), weights.push_back(change[i]);
        }
        Array<double> sums(some.size());
        if (!sweep(tools, some, rows, weights.data(), sums.data())) return false;
        for (Index k = 0; k < queries.size(); ++k) out[k] = sums[place[first(queries[k])]];
        return true;
    }
    template <class T> void prepare(Tools<Source, T>& tools) { tools.scratch.resize(std::max(threads_, 1)); }

    /// v of some positions from beta, in double. False when interrupted; then v is not changed.
    bool compute(const Array<Index>& positions) {
        Array<Index> base;
        Array<double> coef;
        for (Index i = 0; i < s.n(); ++i)
            if (s.beta[i] != 0) base.push_back(i), coef.push_back(s.beta[i]);
        w.sums.resize(positions.size());
        if (!sweep(w.twice, positions, base, coef.data(), w.sums.data())) return false;
        for (Index k = 0; k < positions.size(); ++k) s.v[positions[k]] = s.p[positions[k]] - w.sums[k];
        return true;
    }

    /// All v from beta.
    bool refresh() {
        activate_all();
        if (!compute(s.active)) return false;
        s.stale = false;
        return true;
    }

    /// v[positions] -= K (beta - before). False when interrupted; then v is not changed.
    template <class T> bool apply(Tools<Source, T>& tools, const Array<Index>& positions, const Array<Index>& changed,
                                  const Array<double>& change) {
        w.sums.resize(positions.size());
        if (!sweep(tools, positions, changed, change.data(), w.sums.data())) return false;
        for (Index k = 0; k < positions.size(); ++k) s.v[positions[k]] -= w.sums[k];
        return true;
    }

    // ---- resumed states --------------------------------------------------------------------------------

    /// Bring beta of a resumed state into the box, then to the fixed sums. False when interrupted.
    bool mend() {
        Array<double> beta(s.n());
        for (Index i = 0; i < s.n(); ++i) beta[i] = std::clamp(s.beta[i], s.lower[i], s.upper[i]);
        if (!move_to(beta)) return false;
        for (int g = 0; g < s.groups(); ++g) balance(g, beta);
        if (!move_to(beta)) return false;
        s.resumed = false;
        return true;
    }
    /// Change beta, and v with it. False when interrupted; then neither has changed.
    bool move_to(const Array<double>& beta) {
        Array<Index> changed;
        Array<double> change;
        for (Index i = 0; i < s.n(); ++i)
            if (beta[i] != s.beta[i]) changed.push_back(i), change.push_back(beta[i] - s.beta[i]);
        if (changed.empty()) return true;
        if (!(s.single ? apply(w.single, s.active, changed, change) : apply(w.twice, s.active, changed, change)))
            return false;
        s.beta = beta;
        return true;
    }
    /// Move the points of a group for which it raises D most until their sum is the fixed one. A point takes no more
    /// than a support vector has on average, as long as there is room elsewhere: its neighbours shall have a share.
    void balance(int g, Array<double>& beta) const {
        const Index from = g == 0 ? 0 : s.split, to = g == 0 ? s.split : s.n();
        const double sum = std::accumulate(beta.begin() + from, beta.begin() + to, 0.0);
        double missing = std::abs(s.total[g] - sum), sizes = 0;
        const bool up = s.total[g] > sum;
        Index support = 0;
        Array<Index> order;
        for (Index i = from; i < to; ++i) {
            support += beta[i] != 0, sizes += std::abs(beta[i]);
            if (up ? beta[i] < s.upper[i] : beta[i] > s.lower[i]) order.push_back(i);
        }
        const auto steeper = [&](Index a, Index b) {
            const double slope_a = up ? s.rise(a) : -s.fall(a), slope_b = up ? s.rise(b) : -s.fall(b);
            return slope_a != slope_b ? slope_a > slope_b : a < b;
        };
        std::sort(order.begin(), order.end(), steeper);
        double share = support > 0 ? sizes / static_cast<double>(support) : missing;
        for (constexpr double rounding = 1e-12; missing > rounding * sizes; share = infinity) {
            for (const Index i : order) {
                const double size = std::min({up ? s.upper[i] - beta[i] : beta[i] - s.lower[i], share, missing});
                beta[i] += up ? size : -size;
                if ((missing -= size) <= 0) break;
            }
            if (share == infinity) break;
        }
    }

    // ---- active set ------------------------------------------------------------------------------------

    void activate_all() {
        s.active.resize(s.n());
        std::iota(s.active.begin(), s.active.end(), Index{0});
        s.shrunk = false;
        s.synced.clear(), s.synced_v.clear();
    }

    /// Bring v outside the active set up to date where it may matter: afterwards the violation over the active set is
    /// that over all points. Few points join the active set; otherwise all are brought up to date and become active.
    bool synchronise() {
        Array<char> inside(s.n(), 0);
        for (const Index i : s.active) inside[i] = 1;
        Array<Index> outside, changed, near;
        Array<double> change;
        const double reach = farthest_move();
        for (Index i = 0; i < s.n(); ++i) {
            if (s.beta[i] != s.synced[i]) changed.push_back(i), change.push_back(s.beta[i] - s.synced[i]);
            if (inside[i]) continue;
            outside.push_back(i);
            const Look& l = l_.of[s.group(i)];
            if ((s.is_up(i) && s.rise(i) + reach > l.top) || (s.is_low(i) && s.fall(i) - reach < l.bottom))
                near.push_back(i);
        }
        const bool few = 2 * near.size() <= outside.size();
        const Array<Index>& late = few ? near : outside;
        if (!(s.single ? apply(w.single, late, changed, change) : apply(w.twice, late, changed, change))) return false;
        if (!few) {
            activate_all();
            return true;
        }
        s.active.insert(s.active.end(), near.begin(), near.end());
        std::sort(s.active.begin(), s.active.end());
        return true;
    }
    /// Bound of the change of any v since the last synchronisation: |d v_i| <= |d w| sqrt(K_ii), where |d w|^2 =
    /// d beta' K d beta = -d beta' d v needs v of active points only. Rounding errors of v are less than `rounding`, or
    /// `verify` finds them.
    double farthest_move() const {
        const double rounding = 0.05 * s.unit;
        if (!Local<Source, double>::unit_diagonal(source_)) return infinity;
        double square = 0;
        for (const Index i : s.active) square += (s.beta[i] - s.synced[i]) * (s.synced_v[i] - s.v[i]);
        return std::sqrt(std::max(square, 0.0)) + rounding;
    }

    void shrink(const Looks& l) {
        constexpr double share = 0.6;  // a larger active set does not pay for the synchronisation
        Array<Index> active = near_margin(s, l.levels(), active_band(s, l.levels()));
        if (static_cast<double>(active.size()) >= share * static_cast<double>(s.n())) return;
        s.active = std::move(active);
        s.synced_dual = dual_objective(s);
        s.synced = s.beta, s.synced_v = s.v;
        s.shrunk = true;
    }

    /// Decide whether to stop, synchronise or shrink before the next step. False when interrupted.
    bool settle() {
        l_ = look(s, s.active);
        if (s.shrunk) {
            // The fewer points are active, the dearer is a synchronisation compared with a step.
            const double fall = 10 * s.active.size() < s.n() ? 0.003 : 0.03;
            if (l_.gap() > std::max(p_.tol, fall * s.gap_at_sync)) return true;
            if (!synchronise()) return false;
            l_ = look(s, s.active);
        }
        s.gap_at_sync = s.violation = l_.gap();
        if (s.violation <= p_.tol && !(s.single || s.carried ? verify() : true)) return false;
        s.level = engine::levels(s, s.active, l_);
        if (s.steps >= most_steps_) {  // even if the last step reached the tolerance, as LIBSVM
            s.reason = Reason::steps;
        } else if (s.violation <= p_.tol) {
            s.reason = Reason::tolerance;
        } else {
            if (!watch()) return false;
            if (endless_) inspect();
            if (p_.shrinking && !s.shrunk && s.outer >= 3 && s.n() > p_.blocks.smallest) shrink(l_);
        }
        return true;
    }

    /// Compute v near the margin in double, and the violation from it. False when interrupted.
    bool verify() {
        double band = 0.05 * s.unit;
        for (;;) {
            const Array<Index> near = near_margin(s, l_.levels(), band);
            bool settled = false;
            if (!verify_extremes(near, settled)) return false;
            if (settled) break;
            double error = 0;
            if (!correct(near, error)) return false;
            if (near.size() == s.n() || 8 * error <= band) break;
            band = 16 * error;
        }
        l_ = look(s, s.active);
        s.violation = l_.gap();
        return true;
    }
    /// Compute v of some positions in double, and the largest error it had. False when interrupted.
    bool correct(const Array<Index>& positions, double& error) {
        Array<double> before;
        for (const Index i : positions) before.push_back(s.v[i]);
        if (!compute(positions)) return false;
        for (Index k = 0; k < positions.size(); ++k) error = std::max(error, std::abs(s.v[positions[k]] - before[k]));
        return true;
    }
    /// Of many points near the margin, only those matter that may be the largest rise or the smallest fall. The errors
    /// of v are known from a sample; `settled` if they are far below the tolerance. False when interrupted.
    bool verify_extremes(const Array<Index>& near, bool& settled) {
        const Index sampled = p_.blocks.sampled;
        if (near.size() < 8 * sampled) return true;
        Array<Index> some;
        for (Index k = 0; k < sampled; ++k) some.push_back(near[k * near.size() / sampled]);
        double error = 0;
        if (!correct(some, error)) return false;
        const double most = 3 * error;  // of all points
        if (4 * most > p_.tol) return true;
        const Looks l = look(s, s.active);
        some.clear();
        for (const Index i : near) {
            const Look& own = l.of[s.group(i)];
            if ((s.is_up(i) && s.rise(i) > own.top - 2 * most) || (s.is_low(i) && s.fall(i) < own.bottom + 2 * most))
                some.push_back(i);
        }
        error = 0;
        if (!correct(some, error)) return false;
        settled = error <= most;
        return true;
    }

    /// Note progress, of the violation or of the objective; without any, change to double, then give up. False when
    /// interrupted.
    bool watch() {
        const double visible =
            s.single ? 1e-8 : 1e-13;  // relative; smaller changes of the objective are rounding errors
        const double dual = dual_objective(s);
        const bool higher = dual > s.best_dual + visible * std::abs(s.best_dual);
        const bool progress = s.violation < 0.9 * s.best || !std::isfinite(s.best_dual) || higher;
        s.best = std::min(s.best, s.violation);
        s.best_dual = std::max(s.best_dual, dual);
        s.waiting =
            progress || s.filling ? 0 : s.waiting + 1;  // random violators say little about the largest violation
        return s.waiting < patience ? true : stuck();
    }
    /// Change to double precision, or stop for a reason. False when interrupted.
    bool stuck(Reason reason = Reason::precision) {
        s.waiting = 0;
        if (!s.single) {
            s.reason = reason;
            return take_stock();
        }
        s.single = false;
        s.best = infinity, s.best_dual = -infinity;
        return refresh();
    }

    /// Violation and levels from v without the rounding errors of the steps. False when interrupted.
    bool take_stock() {
        if (!refresh()) return false;
        l_ = look(s, s.active);
        s.violation = l_.gap();
        s.level = engine::levels(s, s.active, l_);
        if (s.violation <= p_.tol) s.reason = Reason::tolerance;
        return true;
    }

    /// With infinite bounds and points that no function of the kernel separates, the objective has no maximum: it grows
    /// as the number of steps.
    void inspect() {
        if (s.reason != Reason::running || s.steps < s.next_look) return;
        const double dual = dual_objective(s);
        if (dual > 1.5 * s.dual_at_look && s.violation > 0.5 * s.violation_at_look) s.reason = Reason::unbounded;
        if (s.next_look > 0) s.dual_at_look = dual, s.violation_at_look = s.violation;
        s.next_look = std::max({first_look, 20 * s.n(), 2 * s.steps});
    }

    // ---- one outer step --------------------------------------------------------------------------------

    template <class T> bool step(Tools<Source, T>& tools) {
        // Errors of kernel values of 16 bits change v by about this, if the step is as long as the last one.
        const double error_of_coarse =
            sizeof(T) == 4 && Local<Source, T>::unit_diagonal(source_) ? coarse_unit * s.length : infinity;
        const Filling filling{.random = s.filling,
                              .wide = error_of_coarse <= 0.1 * l_.gap() && s.effort < 3,
                              .light = s.filling && s.effort < light_effort && s.n() / 13 > p_.blocks.widest};
        Index q =
            s.n() <= p_.blocks.smallest ? s.n() : block_size(p_.blocks, s.n(), s.active.size(), l_.free(), filling);
        const bool whole = q == s.n() && q <= p_.blocks.largest_whole;
        if (whole) {
            w.positions = s.active;
            s.filling = false;
        } else {
            Working chosen = choose(q, filling.light);
            w.positions = std::move(chosen.positions);
            s.filling = chosen.random;
        }
        const double inner_tol = inner_tolerance(q, whole, filling.light, error_of_coarse);
        w.rows.clear();
        for (const Index i : w.positions) w.rows.push_back(s.row[i]);
        tools.local.take(source_, Ids::of(w.rows), threads_);
        prepare(tools);
        const bool coarse = !whole && error_of_coarse <= (s.filling ? 1.0 : 0.25) * inner_tol;
        w.before.clear();
        for (const Index i : w.positions) w.before.push_back(s.beta[i]);
        const Index most = std::min(whole ? most_of_whole() : 20 * q, most_steps_ - s.steps);
        const Index steps_before = s.steps;
        tools.smo.fix_team(p_.blocks.step_threads);
        const SmoEnd end = tools.smo.solve(s, w.positions, tools.local, l_.middles(), inner_tol, most, p_.cache_bytes,
                                           tools.scratch, stop_.interrupt, coarse);
        ++s.outer;
        s.effort = static_cast<double>(s.steps - steps_before) / static_cast<double>(q);
        list_changes();
        s.length = std::sqrt(std::inner_product(w.change.begin(), w.change.end(), w.change.begin(), 0.0));
        double error = 0;  // of v in SMO
        const bool complete = end != SmoEnd::interrupted && update(tools, whole, w.changed, error);
        if (!whole) s.working = w.positions;
        if (!complete) {
            s.stale = true;
            keep_levels(tools.smo);
            return false;
        }
        s.changed_share = static_cast<double>(w.changed.size()) / static_cast<double>(q);
        s.violation = look(s, s.active).gap();
        note(s);
        // The problem needs double precision, or more than that: with infinite bounds it has no maximum then.
        const bool hard =
            whole && end == SmoEnd::steps && s.steps < most_steps_ && (s.single || 4 * error > s.violation);
        if (s.steps > steps_before && end != SmoEnd::rounding && !hard) return true;
        return stuck(hard && endless_ ? Reason::unbounded : Reason::precision);
    }
    /// The tolerance of SMO on a working set of q points.
    double inner_tolerance(Index q, bool whole, bool light, double error_of_coarse) const {
        const double fraction = whole ? 0.0 : !s.filling ? 0.03 : light ? 0.2 : 0.1;
        // What single precision resolves in one working set; large problems are refined in further ones.
        const double resolved = whole && s.single ? 5e-7 * s.unit : 0.0;
        const double finest = whole && !s.single ? p_.tol : std::max(0.5 * p_.tol, resolved);
        const double usual = std::max(finest, fraction * l_.gap());
        // One more outer step would change all free points again: close to the end go on to what 16 bits resolve.
        const bool last = !whole && !s.filling && q > p_.blocks.widest_coarse && usual < 4 * p_.tol;
        return last ? std::max(finest, std::min(usual, 4 * error_of_coarse)) : usual;
    }
    /// The positions whose beta the step has changed, and the changes.
    void list_changes() {
        w.changed.clear(), w.change.clear();
        for (Index k = 0; k < w.positions.size(); ++k)
            if (const Index i = w.positions[k]; s.beta[i] != w.before[k])
                w.changed.push_back(i), w.change.push_back(s.beta[i] - w.before[k]);
    }
    /// The working set of q points. A light one has few free points, because each of them changes in every outer step;
    /// once there are few violators left, it is extended to all free points and violators.
    Working choose(Index& q, bool light) {
        const Index most_free = q - q / 10, few_free = q * 3 / 10;
        if (!light) return choose_working(s, l_, q, most_free);
        Working chosen = choose_working(s, l_, q, few_free, true);
        if (chosen.random || l_.free() <= few_free) return chosen;
        s.filling = false;
        q = std::min(s.active.size(), l_.free() + q);
        return choose_working(s, l_, q, q - q / 10);
    }
    /// Limit of the steps on all points. Problems that need many are ill-conditioned: single precision does not suffice
    /// for Newton steps on their free points, and v must be computed again from time to time.
    Index most_of_whole() const {
        constexpr Index per_point = 100, between = Index{1} << 18;
        const Index most = s.single ? per_point * s.n() : between;
        return endless_ ? std::min(most, s.next_look - s.steps) : most;
    }

    /// v of the active points after a step. With everything in the working set, SMO has the kernel values, and in
    /// double precision v, up to an `error` after Newton steps. False when interrupted.
    template <class T> bool update(Tools<Source, T>& tools, bool whole, const Array<Index>& changed, double& error) {
        if (!whole) return apply(tools, s.active, changed, w.change);
        if (sizeof(T) < 8) {
            double* const sums = w.products.reserve(padded(s.n()));
            tools.smo.product(s, changed, w.change, tools.local, tools.scratch, sums);
            for (Index i = 0; i < s.n(); ++i) s.v[i] -= sums[i];
            return true;
        }
        if (tools.smo.newton_steps() > 0) error = tools.smo.renew(s, w.positions, tools.local, tools.scratch);
        for (Index k = 0; k < w.positions.size(); ++k) s.v[w.positions[k]] = tools.smo.value(s, w.positions[k], k);
        return true;
    }

    /// Levels of an interrupted step from the values of the working set.
    template <class T> void keep_levels(const Smo<T>& smo) {
        w.sums.resize(w.positions.size());
        const auto exchange = [&] {
            for (Index k = 0; k < w.positions.size(); ++k) std::swap(s.v[w.positions[k]], w.sums[k]);
        };
        for (Index k = 0; k < w.positions.size(); ++k) w.sums[k] = smo.value(s, w.positions[k], k);
        exchange();
        s.level = look(s, w.positions).levels();
        exchange();
    }

    State& s;
    const Params& p_;
    const Source& source_;
    const Stop& stop_;
    const int threads_;
    const Index most_steps_;
    bool endless_ = false;  // a bound is infinite
    Workspace<Source>& w;
    Looks l_;
};

/// Make outer steps until the tolerance is reached, the budget is spent or an interrupt is requested.
template <class Source> void learn(State& state, const Params& p, const Source& source, const Stop& stop, int threads,
                                   Workspace<Source>& work) {
    if (state.reason == Reason::interrupted) state.reason = Reason::running;
    if (state.reason != Reason::running) return;
    const Trace::Running running(state.trace);
    const Crew crew(threads > 1 ? std::max(std::min(threads, cores()), p.blocks.step_threads) : 1);
    Solver<Source>(state, p, source, stop, threads, work).run();
    note(state);
}

/// Bring v of all points up to date, without a step. False when interrupted.
template <class Source> bool complete(State& state, const Params& p, const Source& source, const Stop& stop,
                                      int threads, Workspace<Source>& work) {
    return Solver<Source>(state, p, source, stop, threads, work).complete();
}

/// out[k] = f(queries[k]), rows of the source, in double.
template <class Source>
void outputs(const State& state, const Source& source, Ids queries, Workspace<Source>& work, double* out) {
    Array<Index> rows;
    Array<double> coef;
    for (Index i = 0; i < state.n(); ++i)
        if (state.beta[i] != 0) rows.push_back(state.row[i]), coef.push_back(state.beta[i]);
    std::fill_n(out, queries.count, state.intercept());
    if (rows.empty()) return;
    Local<Source, double>& local = work.twice.local;
    local.take(source, Ids::of(rows));
    work.twice.scratch.resize(std::max<std::size_t>(work.twice.scratch.size(), 1));
    Array<double> sums(local.block());
    for (Index at = 0; at < queries.count; at += local.block()) {
        const Index some = std::min<Index>(local.block(), queries.count - at);
        local.sums(source, queries.part(at, some), coef.data(), work.twice.scratch[0], sums.data());
        for (Index k = 0; k < some; ++k) out[at + k] += sums[k];
    }
}

}  // namespace hingeline::engine
