// LASVM: the online SVM with intercept from which the others were derived.
//
// Problem. max sum alpha_i y_i - 1/2 sum alpha_i alpha_j K_ij, lo_i <= alpha_i <= hi_i, sum alpha_i = 0: the problem of
// LIBSVM. f(x) = sum alpha K + b.
//
//     PAIR(i, j)    alpha_i += lambda, alpha_j -= lambda, to the maximum or the nearest bound; none if g_i - g_j <= tau
//     PROCESS(k)    k enters with alpha = 0 and is paired with the most violating partner
//     REPROCESS     PAIR(argmax g with room to rise, argmin g with room to fall); b is the mean of these two gradients;
//                   examples with alpha = 0 beyond them are evicted
//     one PROCESS and one REPROCESS for each example
//
// Paper. Bordes, Ertekin, Weston, Bottou, "Fast kernel classifiers with online and active learning", JMLR 6, 2005;
// compared against in Ertekin, Bottou, Giles 2011.
//
// Invariants. sum alpha = 0 up to rounding; `extremes_` belongs to the current g.
//
// Where we differ. (1) No seeding: until both classes occur, a few examples of one class are kept; unless `paper` is
// set, a sample of them (runs.hpp), and bounds may be lower than C (share.hpp). (2) Evicted examples
// take no part from then on, but their positions are removed only every `period` examples. (3) `finish_pairs` stops by
// the duality gap and evicts nothing, so that it solves the problem of the expansion. `outside` gives the contribution
// to the gap of the examples that are not in the expansion, so that they can be added until the whole problem is
// solved.
#pragma once

#include <unordered_set>

#include "hingeline/algo/lasvm/share.hpp"

namespace hingeline::online {

template <class Source> class PairSearch {
  public:
    using T = typename Source::Value;
    explicit PairSearch(Search<Source>& search) : search(search), e(search.expansion), s(search.s) {}

    /// PAIR(i, j); -1 stands for no position.
    bool pair(Index i, Index j, double tau) {
        if (i < 0 || j < 0) return false;
        const double slope = static_cast<double>(e.g()[i]) - static_cast<double>(e.g()[j]);
        if (!(slope > tau)) return false;
        const T* row_i = e.row(i);
        const T* row_j = row_i ? e.row(j) : nullptr;
        if (!row_j) return false;
        const double curvature =
            static_cast<double>(row_i[i]) + static_cast<double>(row_j[j]) - 2.0 * static_cast<double>(row_i[j]);
        const double up = s[line::hi][i] - s[line::alpha][i], dn = s[line::alpha][j] - s[line::lo][j];
        const double lambda = curvature > 0 ? std::min({slope / curvature, up, dn}) : std::min(up, dn);
        search.shift(i, lambda, up, s[line::hi][i]);
        search.shift(j, -lambda, dn, s[line::lo][j]);
        extremes_ = pass_ops<T>().ascend_pair(e.g(), row_i, row_j, -lambda, e.up(), e.dn(), s.n);
        ++s.steps;
        return true;
    }
    /// Find the extremes of g as it is.
    void look() { extremes_ = search.extremes(); }
    bool reprocess(double tau) { return pair(extremes_.high_at, extremes_.low_at, tau); }
    bool complete() const { return extremes_.high_at >= 0 && extremes_.low_at >= 0; }
    double violation() const { return complete() ? extremes_.high - extremes_.low : 0.0; }

    /// Set b, and the duality gap for it.
    void settle() {
        if (complete()) s.b = 0.5 * (extremes_.high + extremes_.low);
        measure();
    }
    /// The duality gap: sum max(up h, -dn h) with h = g - b.
    void measure() {
        s.ascent.gap = 0;
        for (Index t = 0; t < s.n; ++t) {
            const double h = static_cast<double>(e.g()[t]) - s.b;
            s.ascent.gap += static_cast<double>(h > 0 ? e.up()[t] : e.dn()[t]) * std::abs(h);
        }
        s.ascent.worst = violation();
    }
    /// Put `share` of the bounds in force. All coefficients shrink with the bounds, which keeps their sum at 0 and the
    /// signs of f.
    bool set_share(double share) {
        const double ratio = share / s.share, scale = std::min(ratio, 1.0);
        for (Index t = 0; t < s.n; ++t) {
            s[line::alpha][t] *= scale, s[line::lo][t] *= ratio, s[line::hi][t] *= ratio;
            e.g()[t] = static_cast<T>(s.y(t) + scale * (static_cast<double>(e.g()[t]) - s.y(t)));
            if (!s.dead[t]) e.set_room(t);
        }
        s.b *= scale;
        s.share = share;
        look();
        settle();
        return true;
    }
    void evict() {
        if (!complete()) return;
        for (Index t = 0; t < s.n; ++t) {
            if (s[line::alpha][t] != 0 || s.dead[t]) continue;
            const double g = static_cast<double>(e.g()[t]);
            if (s.y(t) < 0 ? g >= extremes_.high : g <= extremes_.low) e.kill(t);
        }
    }
    const Extremes& extremes() const { return extremes_; }

  private:
    Search<Source>& search;
    Expansion<Source>& e;
    State& s;
    Extremes extremes_{0, 0, -1, -1};
};

/// Learn from examples in their order; see `in_blocks`.
template <class Source>
Index learn_pairs(Search<Source>& search, const Array<Example>& examples, bool known, bool evicts, double* margins) {
    constexpr Index seeds = 5;  // examples of one class that are kept until the other class occurs
    State& s = search.s;
    Expansion<Source>& expansion = search.expansion;
    PairSearch<Source> pairs(search);
    pairs.look();
    Index living[2] = {0, 0};
    const auto count_living = [&] {
        living[0] = living[1] = 0;
        for (Index t = 0; t < s.n; ++t) living[s.y(t) > 0] += !s.dead[t];
    };
    count_living();
    const auto process = [&](Index k, bool positive) {
        const Extremes& x = pairs.extremes();
        if (!(positive ? pairs.pair(k, x.low_at, search.p.tau) : pairs.pair(x.high_at, k, search.p.tau))) pairs.look();
    };
    return in_blocks(search, examples, known, margins, [&](const Example& e, Index at) {
        const bool positive = e.y() > 0;
        s.runs.see(positive, s.visited);
        if (search.weigh_sample(positive)) pairs.look();
        if (at < 0) {
            const std::optional<double> f = search.evaluate_next();
            if (!f) return;
            const double z = e.y() * (*f + s.b);
            s.largest = std::max(s.largest, std::abs(z));
            s.last_margin = z;
            const Zone zone = Ramp{search.p.s}.zone(z);
            s.kernel_needed += s.n_live() + 1;
            if (evicts && search.p.paper && living[!positive] == 0 && living[positive] >= seeds) {
                expansion.reject();
                ++s.skipped[zone];
            } else {
                expansion.admit(e, e.y() - *f, zone, false);
                ++living[positive];
                process(s.n - 1, positive);
            }
        } else {
            s.last_margin = 1.0 - e.y() * (static_cast<double>(expansion.g()[at]) - s.b);
            if (s.dead[at]) {
                expansion.revive(at, Ramp{search.p.s}.zone(s.last_margin));
                ++living[positive];
                process(at, positive);
            }
        }
        pairs.reprocess(search.p.tau);
        pairs.settle();
        ++s.visited;
        note_lag(search);
        const Index dead = s.n_dead;
        if (evicts && !s.in_run(search.p)) pairs.evict();
        if (s.n_dead != dead) count_living(), pairs.look();
        if (s.visited % search.p.period == 0) {
            if (evicts && s.in_run(search.p))
                search.clean_run(), count_living();
            else
                search.sweep();
            search.refresh_sometimes(search.steps_learning);
            pairs.look();
            adapt_share(search, pairs);
            pairs.measure();
        }
    });
}

/// Remove the dead positions.
template <class Source> void sweep_pairs(Search<Source>& search) {
    search.sweep();
    PairSearch<Source> pairs(search);
    pairs.look();
    pairs.measure();
}

/// Sum of the losses C_i [1 - y f]_+ of the examples that are not in the expansion: their contribution to the duality
/// gap. Appends the places of those with a loss to `with_loss`. Nothing when interrupted.
template <class Source>
std::optional<double> outside(Search<Source>& search, const Array<Example>& examples, Array<Index>& with_loss) {
    State& s = search.s;
    std::unordered_set<Index> held;
    for (Index t = 0; t < s.id.size(); ++t)
        if (!s.dead[t]) held.insert(s.id[t]);
    double loss = 0;
    Array<Index> places, rows;
    const auto flush = [&] {
        s.kernel_evals += rows.size() * s.n;
        s.kernel_needed += rows.size() * s.n_support();
        const bool done = search.expansion.outputs(rows, [&](Index i, double f) {
            const Example& e = examples[places[i]];
            const double z = e.y() * (f + s.b);
            if (z >= 1.0) return;
            loss += std::abs(e.box) * (1.0 - z);
            with_loss.push_back(places[i]);
        });
        places.clear(), rows.clear();
        return done;
    };
    for (Index i = 0; i < examples.size(); ++i) {
        if (held.count(examples[i].id)) continue;
        places.push_back(i), rows.push_back(examples[i].row);
        if (rows.size() == search.expansion.kernel.block() && !flush()) return std::nullopt;
    }
    if (!rows.empty() && !flush()) return std::nullopt;
    return loss;
}

/// PAIR until the duality gap is small enough; see `work_off`.
template <class Source> Index finish_pairs(Search<Source>& search, double tol, Index most) {
    search.s.reason = Reason::interrupted;
    if (!search.expansion.kernel.restore(search.s.row)) return 0;
    PairSearch<Source> pairs(search);
    pairs.set_share(1);
    constexpr double noise_factor = 4.0;  // two gradients, two rows
    const auto measure = [&] {
        pairs.look();
        pairs.settle();
    };
    return work_off(search, tol, most, noise_factor, measure, [&] { return pairs.reprocess(0); });
}

}  // namespace hingeline::online
