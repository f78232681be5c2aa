// Search: direction searches on the expansion of an online SVM, shared by all members of the LASVM family.
//
// Problem (no intercept). max over alpha of G = sum alpha_i y_i - 1/2 sum alpha_i alpha_j K_ij, lo_i <= alpha_i <=
// hi_i, with lo = min(0, C_i y) and hi = max(0, C_i y), both shifted by -C_i y for an example flagged as an outlier
// (lasvm_nc.hpp). Symbols as in state.hpp.
//
//     STEP(t)      alpha_t moves to the maximum of G along its axis, or to the bound before it; g -= lambda K_t
//     REPROCESS    STEP at the largest |g| with room in its direction; none if max g - min g <= tau
//     GAP          sum max(up g, -dn g): the duality gap of the problem restricted to S
//     TARGET       standard deviation of the sum of h_i = C_i y_i g_i over the support vectors
//     CLEAN(m)     of the examples with alpha = 0 keep the m with the smallest |g|
//
// Paper. Ertekin, Bottou, Giles, "Nonconvex online support vector machines", TPAMI 33(2), 2011, sections 4 and 5, with
// its misprints corrected (docs/math/lasvm.md lists them).
//
// Invariants. g = y - sum alpha K at every position, dead ones included, up to rounding errors; alpha is in its box,
// and exactly at a bound where a step ended there; `ascent` belongs to the current g.
//
// Where we differ. (1) Kernel values of the next examples are computed in blocks against the whole expansion. A block
// ends where a cleaning is due, so that the result is that of one example at a time, however the examples are divided
// into calls. (2) A step, the gap after it and the choice of the next step are one pass over g (`PassOps::ascend`).
// (3) Cleaning moves the last positions into the holes.
#pragma once

#include <optional>

#include "hingeline/algo/lasvm/expansion.hpp"

namespace hingeline::online {

template <class Source> class Search {
  public:
    using T = typename Source::Value;
    static constexpr bool single = sizeof(T) == 4;

    Search(State& state, const Params& p, const Source& source, SelfGram<T>& kernel, Interrupt* interrupt)
        : s(state), p(p), expansion(state, source, kernel, p.threads, interrupt) {}

    State& s;
    const Params& p;
    Expansion<Source> expansion;

    bool interrupted() { return expansion.kernel.interrupted(); }
    /// Throw if coefficients up to `box` times kernel values may leave the range of the type.
    void require_range(double box) const { expansion.kernel.require_range(box); }

    // ---- steps -----------------------------------------------------------------------------------

    /// Change alpha_t; it lands exactly on the bound if the step is as long as the room to it.
    void shift(Index t, double lambda, double room, double bound) {
        double& alpha = s[line::alpha][t];
        Index& support = s.support[s.y(t) > 0];
        support -= alpha != 0;
        alpha = std::abs(lambda) >= std::abs(room) ? bound : alpha + lambda;
        support += alpha != 0;
        expansion.set_room(t);
    }
    /// STEP(t); false if the step has length zero or was interrupted.
    bool step(Index t) {
        Expansion<Source>& e = expansion;
        const double slope = static_cast<double>(e.g()[t]), curvature = s[line::diagonal][t];
        const double bound = slope < 0 ? s[line::lo][t] : s[line::hi][t];
        const double room = bound - s[line::alpha][t];
        double lambda = room;
        if (curvature > 0) lambda = slope < 0 ? std::max(room, slope / curvature) : std::min(room, slope / curvature);
        if (lambda == 0) return false;
        const T* row = e.row(t);
        if (!row) return false;
        shift(t, lambda, room, bound);
        s.ascent = pass_ops<T>().ascend(e.g(), row, -lambda, e.up(), e.dn(), s.n);
        ++s.steps;
        return true;
    }
    /// REPROCESS; false if no violation exceeds tau.
    bool reprocess(double tau) {
        if (s.ascent.worst <= tau) {
            const Extremes x = extremes();
            if (!(std::max(x.high, 0.0) - std::min(x.low, 0.0) > tau)) return false;
        }
        return s.ascent.at >= 0 && step(s.ascent.at);
    }
    /// The gap and the next step, from g as it is.
    void rescan() {
        Expansion<Source>& e = expansion;
        s.ascent = pass_ops<T>().ascend(e.g(), nullptr, 0, e.up(), e.dn(), s.n);
    }
    Extremes extremes() {
        Expansion<Source>& e = expansion;
        return pass_ops<T>().ascend_pair(e.g(), nullptr, nullptr, 0, e.up(), e.dn(), s.n);
    }
    /// Violations below this are rounding errors.
    double noise() {
        double largest = 0;
        for (Index t = 0; t < s.n && single; ++t)
            if (!s.dead[t]) largest = std::max(largest, std::abs(static_cast<double>(expansion.g()[t])));
        return single ? std::max(s.noise(), 3e-7 * (1.0 + largest)) : s.noise();
    }

    // ---- the next example ------------------------------------------------------------------------

    /// Output sum alpha K of the example at position n; sets the duality gap target. Nothing when interrupted.
    std::optional<double> evaluate_next() {
        const T* row = expansion.row(s.n);
        if (!row) return std::nullopt;
        const Glance at = expansion.glance(row);
        s.lines[line::diagonal][s.n] = static_cast<double>(row[s.n]);
        s.kernel_evals += s.n + 1;
        set_target(at);
        return at.output;
    }
    /// TARGET when no new example is evaluated.
    void set_target() {
        Glance at{0, 0, 0};
        for (Index t = 0; t < s.n; ++t)
            if (s[line::alpha][t] != 0) {
                const double h = s[line::box][t] * static_cast<double>(expansion.g()[t]);
                at.sum += h;
                at.squares += h * h;
            }
        set_target(at);
    }

    // ---- gradients computed again ----------------------------------------------------------------

    /// Steps between refreshes: while learning, where errors of some 3e-5 |g| are far below tau, and while finishing.
    static constexpr Index steps_learning = 1 << 20, steps_finishing = 1 << 14;
    /// In single precision every step rounds g. Refresh it after so many steps, at moments that do not depend on how
    /// the examples are divided into calls.
    void refresh_sometimes(Index steps) {
        if (single && s.steps - s.refreshed_at >= steps) refresh();
    }
    /// g = y - sum alpha K; false when interrupted, and then nothing has changed.
    bool refresh() {
        Array<T> fresh(s.n, T(0));
        Array<Index> missing, rows;
        const auto set = [&](Index t, double f) { fresh[t] = static_cast<T>(s.y(t) - f); };
        for (Index t = 0; t < s.n; ++t) {
            if (t % 64 == 0 && interrupted()) return false;
            if (const T* row = expansion.kernel.find(t))
                set(t, expansion.glance(row).output);
            else
                missing.push_back(t);
        }
        for (Index at = 0; at < missing.size(); at += rows.size()) {
            rows.clear();
            for (Index i = at; i < missing.size() && rows.size() < expansion.kernel.block(); ++i)
                rows.push_back(s.row[missing[i]]);
            if (!expansion.outputs(rows, [&](Index i, double f) { set(missing[at + i], f); })) return false;
        }
        std::copy(fresh.begin(), fresh.end(), expansion.g());
        s.refreshed_at = s.steps;
        rescan();
        return true;
    }

    // ---- cleaning --------------------------------------------------------------------------------

    /// CLEAN(m): remove the dead, and of the live positions with alpha = 0 all except the m with the smallest |g|.
    void clean(Index m) {
        Array<Index> idle;
        for (Index t = 0; t < s.n; ++t)
            if (!s.dead[t] && s[line::alpha][t] == 0) idle.push_back(t);
        if (idle.size() > m) {
            const T* slope = expansion.g();
            std::nth_element(idle.begin(), idle.begin() + m, idle.end(), [&](Index a, Index b) {
                const T one = std::abs(slope[a]), other = std::abs(slope[b]);
                return one < other || (one == other && a < b);
            });
            for (auto t = idle.begin() + m; t != idle.end(); ++t) expansion.kill(*t);
        }
        sweep();
    }
    /// Remove the dead positions.
    void sweep() {
        if (expansion.sweep()) rescan();
    }

    // ---- records ---------------------------------------------------------------------------------

    /// After finishing, outputs follow from the gradients: f = y - g + b.
    void set_largest() {
        s.largest = 0;
        for (Index t = 0; t < s.n; ++t)
            if (!s.dead[t])
                s.largest = std::max(s.largest, std::abs(s.y(t) - static_cast<double>(expansion.g()[t]) + s.b));
    }
    void note() {
        expansion.store_gradients();
        s.trace.add({static_cast<double>(s.visited), static_cast<double>(s.n_support()),
                     static_cast<double>(s.n_live()), s.dual(), s.ascent.gap, s.target,
                     static_cast<double>(s.kernel_evals), static_cast<double>(s.kernel_needed)});
    }
    /// At most 256 rows of the trace, evenly over the examples, however they are divided into calls.
    void note_sometimes() {
        if (s.visited % s.note_every) return;
        note();
        if (s.trace.size() < 256) return;
        s.trace.thin();
        s.note_every *= 2;
    }

  private:
    void set_target(const Glance& at) {
        const double l = static_cast<double>(s.n_support());
        s.target = l > 0 ? std::sqrt(std::max(0.0, at.squares - at.sum * at.sum / l)) : 0.0;
    }
};

}  // namespace hingeline::online
