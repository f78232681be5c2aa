// Search: direction searches on the expansion of an online SVM, shared by all members of the LASVM family.
//
// Problem (no intercept). max over alpha of G = sum alpha_i y_i - 1/2 sum alpha_i alpha_j K_ij, lo_i <= alpha_i <=
// hi_i, with lo = min(0, C_i y) and hi = max(0, C_i y), both shifted by -C_i y for an example flagged as an outlier
// (lasvm_nc.hpp). Symbols as in state.hpp.
//
//     STEP(t)      alpha_t moves to the maximum of G along its axis, or to the bound before it; g -= lambda K_t
//     REPROCESS    STEP at the largest |g| with room in its direction; none if max g - min g <= tau
//     JOINT(t, l)  alpha_t and alpha_l move to the maximum of G over both, or to the first bound on the way there
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
// (3) Cleaning moves the last positions into the holes. (4) Unless `paper` is set, REPROCESS takes the best JOINT step
// with one of the last `memory` positions where that gains more than STEP. Nearly equal examples with different labels
// otherwise take turns, in steps of 1 / K up to a bound of C.
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
        const double slope = static_cast<double>(e.g()[t]);
        const double bound = slope < 0 ? s[line::lo][t] : s[line::hi][t];
        const double room = bound - s[line::alpha][t];
        if (room == 0 || slope == 0) return false;
        const T* row = e.row(t);
        if (!row) return false;
        const double curvature = static_cast<double>(row[t]);
        double lambda = room;
        if (curvature > 0) lambda = slope < 0 ? std::max(room, slope / curvature) : std::min(room, slope / curvature);
        if (lambda == 0) return false;
        gain_ = lambda * (slope - 0.5 * lambda * curvature);
        shift(t, lambda, room, bound);
        s.ascent = pass_ops<T>().ascend(e.g(), row, -lambda, e.up(), e.dn(), s.n);
        ++s.steps;
        return true;
    }
    /// Put `share` of the bounds in force, a power of two. Coefficients beyond move to the new bound. False when
    /// interrupted: then the share stays, and some coefficients may have moved.
    bool set_share(double share) {
        Expansion<Source>& e = expansion;
        const double ratio = share / s.share;
        for (Index t = 0; t < s.n; ++t) {
            const double alpha = s[line::alpha][t], bound = ratio * (alpha < 0 ? s[line::lo][t] : s[line::hi][t]);
            if (std::abs(alpha) <= std::abs(bound)) continue;
            const T* row = e.row(t);
            if (!row) return false;
            shift(t, bound - alpha, bound - alpha, bound);
            s.ascent = pass_ops<T>().ascend(e.g(), row, alpha - bound, e.up(), e.dn(), s.n);
            ++s.steps;
        }
        for (Index t = 0; t < s.n; ++t) {
            s[line::lo][t] *= ratio, s[line::hi][t] *= ratio;
            if (!s.dead[t]) expansion.set_room(t);
        }
        s.share = share;
        rescan();
        return true;
    }
    /// REPROCESS; false if no violation exceeds tau.
    bool reprocess(double tau) {
        if (s.ascent.worst <= tau) {
            const Extremes x = extremes();
            if (!(std::max(x.high, 0.0) - std::min(x.low, 0.0) > tau)) return false;
        }
        if (s.ascent.at < 0) return false;
        return p.paper ? step(s.ascent.at) : step_with_partner(s.ascent.at);
    }
    /// Forget the positions of earlier steps, except `at`.
    void keep_partner(Index at) { partners_.assign(1, at); }
    void forget_partners() { partners_.clear(); }
    /// Increase of G by the last step.
    double gain() const { return gain_; }
    /// Dual objective, from g as it is.
    double dual() {
        double sum = 0;
        for (Index t = 0; t < s.n; ++t)
            sum += 0.5 * s[line::alpha][t] * (s.y(t) + static_cast<double>(expansion.g()[t]));
        return sum;
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
        const T* slope = expansion.g();
        kill_all_but(m, idle([](Index) { return true; }), [&](Index t) { return std::abs(slope[t]); });
        sweep();
    }
    /// CLEAN while a label may be missing: for each label keep a sample of the positions with alpha = 0.
    void clean_run() {
        for (const bool side : {false, true})
            s.runs.removed[side] += kill_all_but(sample_size(p), idle([&](Index t) { return (s.y(t) > 0) == side; }),
                                                 [&](Index t) { return sample_order(s.id[t]); });
        sweep();
    }
    /// An example of label `side` comes: the sample of the other label gets the bounds of the examples it stands for.
    /// Whether bounds have changed.
    bool weigh_sample(bool side) {
        double& removed = s.runs.removed[!side];
        if (removed == 0) return false;
        const Array<Index> sample = idle([&](Index t) { return (s.y(t) > 0) != side; });
        double own = 0;
        for (const Index t : sample) own += std::abs(s[line::box][t]);
        if (own == 0) return false;
        const double factor = 1 + std::exchange(removed, 0.0) / own;
        for (const Index t : sample) {
            for (const auto name : {line::box, line::lo, line::hi}) s[name][t] *= factor;
            expansion.set_room(t);
        }
        rescan();
        return true;
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
    /// Live positions with alpha = 0 for which keep(t) holds.
    template <class F> Array<Index> idle(F&& keep) {
        Array<Index> out;
        for (Index t = 0; t < s.n; ++t)
            if (!s.dead[t] && s[line::alpha][t] == 0 && keep(t)) out.push_back(t);
        return out;
    }
    /// Kill all positions except the m with the smallest key(t). Returns the sum of the bounds of those killed.
    template <class F> double kill_all_but(Index m, Array<Index> at, F&& key) {
        double killed = 0;
        if (at.size() <= m) return killed;
        std::nth_element(at.begin(), at.begin() + m, at.end(), [&](Index a, Index b) {
            const auto one = key(a), other = key(b);
            return one < other || (one == other && a < b);
        });
        for (auto t = at.begin() + m; t != at.end(); ++t) {
            killed += std::abs(s[line::box][*t]);
            expansion.kill(*t);
        }
        return killed;
    }
    /// Positions of earlier steps that may take part in the next one.
    static constexpr Index memory = 32;
    /// A joint step must gain so much more than a step on one coordinate, which is cheaper.
    static constexpr double worthwhile = 1.3;

    /// A step of JOINT: changes of alpha_t and alpha_l, and the increase of G.
    struct Joint {
        double t = 0, l = 0, gain = 0;
    };
    double room(Index t, double direction) {
        return direction < 0 ? s[line::alpha][t] - s[line::lo][t] : s[line::hi][t] - s[line::alpha][t];
    }
    /// JOINT(t, l) for the kernel values tt, ll and tl.
    Joint joint(Index t, Index l, double tt, double ll, double tl) {
        constexpr double singular = 1e-12;
        const double gt = static_cast<double>(expansion.g()[t]), gl = static_cast<double>(expansion.g()[l]);
        const double det = std::max(tt * ll - tl * tl, singular * tt * ll);
        if (!(tt > 0 && ll > 0 && det > 0)) return {};
        Joint out{(ll * gt - tl * gl) / det, (tt * gl - tl * gt) / det};
        const double slope = out.t * gt + out.l * gl;
        const double share_t = room(t, out.t) / std::abs(out.t), share_l = room(l, out.l) / std::abs(out.l);
        double share = 1;
        if (share_t < share && share_t <= share_l) {
            share = share_t;
            out = {std::copysign(room(t, out.t), out.t), share * out.l};
        } else if (share_l < share) {
            share = share_l;
            out = {share * out.t, std::copysign(room(l, out.l), out.l)};
        }
        out.gain = slope * share * (1 - 0.5 * share);
        return out;
    }
    /// STEP(t), or a joint step with the best of the partners; false as in `step`.
    bool step_with_partner(Index t) {
        Expansion<Source>& e = expansion;
        const T* row = e.row(t);
        if (!row) return false;
        const double tt = static_cast<double>(row[t]), slope = std::abs(static_cast<double>(e.g()[t]));
        double alone = room(t, static_cast<double>(e.g()[t]));
        if (tt > 0) alone = std::min(alone, slope / tt);
        double most = worthwhile * alone * (slope - 0.5 * alone * tt);
        Index best = -1;
        for (const Index l : partners_) {
            if (l == t) continue;
            const double gain = joint(t, l, tt, s[line::diagonal][l], static_cast<double>(row[l])).gain;
            if (gain > most) most = gain, best = l;
        }
        if (partners_.size() == memory) partners_.erase(partners_.begin());
        partners_.push_back(t);
        return best < 0 ? step(t) : step_both(t, best);
    }
    bool step_both(Index t, Index l) {
        Expansion<Source>& e = expansion;
        const T* row_t = e.row(t);
        const T* row_l = row_t ? e.row(l) : nullptr;
        if (!row_l) return false;
        const Joint to =
            joint(t, l, static_cast<double>(row_t[t]), static_cast<double>(row_l[l]), static_cast<double>(row_t[l]));
        if (!(to.gain > 0)) return step(t);
        gain_ = to.gain;
        for (const auto& [at, change] : {std::pair{t, to.t}, std::pair{l, to.l}})
            shift(at, change, room(at, change), change < 0 ? s[line::lo][at] : s[line::hi][at]);
        s.ascent = pass_ops<T>().ascend_both(e.g(), row_t, -to.t, row_l, -to.l, e.up(), e.dn(), s.n);
        ++s.steps;
        return true;
    }

    Array<Index> partners_;
    double gain_ = 0;

    void set_target(const Glance& at) {
        const double l = static_cast<double>(s.n_support());
        s.target = l > 0 ? s.share * std::sqrt(std::max(0.0, at.squares - at.sum * at.sum / l)) : 0.0;
    }
};

}  // namespace hingeline::online
