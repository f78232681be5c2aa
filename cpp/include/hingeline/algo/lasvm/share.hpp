// The share of the bounds C_i that is in force, so that a limited number of steps solves the problem at hand whatever
// C.
//
// Steps of length 1 / K towards coefficients of C need C K steps, or many more where kernel rows are nearly dependent.
// An expansion on which the steps cannot keep up is far from any optimum: every new example is fitted at the expense of
// the others. So if the duality gap exceeds `largest_gap` times the dual objective, the bounds are lowered after the
// next cleaning to a share, a power of two, at which it does not; where the gap is small they are doubled again. The
// model is then a solution for a smaller C, which regularises more. Coefficients below their bounds do not depend on
// it.
//
//     REDUCE(r, m)   REPROCESS until the gap is at most r times the dual objective, at most m times
//     LAG            moving average of gap / dual objective after the steps for an example
//     ADAPT          lower the share if the lag is too large, double it if the lag is small; REDUCE
//
// `Steps` is `Axes` for the variants without intercept and `PairSearch` for LASVM. Not part of the papers: with
// `Params::paper` the share is always 1.
#pragma once

#include "hingeline/algo/lasvm/drive.hpp"

namespace hingeline::online {

/// Gap relative to the dual objective above which the bounds are lowered. Measured: at 0.5 the bounds stay at C on
/// noisy sets up to C = 100; at 0.2 they are lowered there, at 1 accuracy is lost (benchmarks/results, lasvm-C).
inline constexpr double largest_gap = 0.5;
/// The gap after ADAPT, and the lag below which the bounds are doubled, which doubles the gap at most.
inline constexpr double small_gap = 0.25 * largest_gap;
/// The gap at the end of a fit, below which neither accuracy nor support vectors change.
inline constexpr double final_gap = 0.01;
/// Steps at the end of a fit for each example: about what the passes take.
inline constexpr Index final_steps = 2;
/// Rounds of lowering at the end of a fit; one is enough unless the fit is shorter than a cleaning period.
inline constexpr int final_rounds = 2;
/// One in so many support vectors is few: the problem with larger bounds is nearly the same.
inline constexpr Index few_support = 8;
/// Examples between measurements of the lag, which cost a step, and the weight of one: a mean over some 128 examples.
inline constexpr Index examples_between_lags = 16;
inline constexpr double lag_weight = 0.125;
/// Steps between measurements of the gap and of the dual objective, which cost about a step.
inline constexpr Index steps_between_looks = 16;

/// Whether the solution depends on bounds below C: they hold more than a few of the support vectors.
inline bool depends_on_share(const State& s) { return s.n_lowered() > s.n_support() / few_support; }

/// Steps of the variants without intercept.
template <class Source> struct Axes {
    Search<Source>& search;
    void settle() {}
    bool reprocess(double tau) { return search.reprocess(tau); }
    bool set_share(double share) { return search.set_share(share); }
};

/// REDUCE. Whether the gap was reached.
template <class Source, class Steps> bool reduce_gap(Search<Source>& search, Steps& steps, double gap, Index most) {
    const State& s = search.s;
    const auto reached = [&] {
        steps.settle();
        return s.ascent.gap <= gap * search.dual();
    };
    for (Index count = 0; count < most; ++count) {
        if (count % steps_between_looks == 0 && (search.interrupted() || reached())) break;
        if (!steps.reprocess(search.p.tau)) break;
    }
    return reached();
}

/// Put LAG in the place of the gap of one example, which depends much on that example.
template <class Source> void note_lag(Search<Source>& search) {
    State& s = search.s;
    if (search.p.paper || s.visited % examples_between_lags) return;
    const double dual = search.dual();
    if (dual > 0) s.lag += lag_weight * (s.ascent.gap / dual - s.lag);
}

/// Lower the share so that a gap of `ratio` times the dual objective may become `largest_gap` times: the gap is
/// proportional to the bounds. Whether it was larger.
template <class Source, class Steps> bool lower_share(Search<Source>& search, Steps& steps, double ratio) {
    constexpr int most_halvings = 10;  // at a time: the ratio is an estimate
    State& s = search.s;
    if (!(ratio > largest_gap)) return false;
    const int halvings = std::clamp(static_cast<int>(std::ceil(std::log2(ratio / largest_gap))), 1, most_halvings);
    if (!steps.set_share(std::ldexp(s.share, -halvings))) return false;
    s.lag = std::min(s.lag, largest_gap);
    return true;
}

/// ADAPT, after a cleaning.
template <class Source, class Steps> void adapt_share(Search<Source>& search, Steps& steps) {
    State& s = search.s;
    if (search.p.paper || search.interrupted()) return;
    search.forget_partners();
    const bool lowered = lower_share(search, steps, s.lag);
    if (s.share < 1 && s.lag <= small_gap && steps.set_share(2 * s.share)) s.lag *= 2;
    reduce_gap(search, steps, small_gap, lowered ? std::max(search.p.period, s.n_live()) : search.p.period);
}

/// REDUCE at the end of a fit. If few coefficients are at bounds below C, these are raised; if the gap stays too large,
/// they are lowered.
template <class Source, class Steps> void settle_last(Search<Source>& search, Steps& steps) {
    const State& s = search.s;
    if (search.p.paper || !search.expansion.kernel.restore(s.row)) return;
    search.forget_partners();
    const Index end = s.steps + final_steps * s.visited;
    const auto few_lowered = [&] { return s.n_lowered() > 0 && !depends_on_share(s); };
    while (reduce_gap(search, steps, final_gap, end - s.steps) && few_lowered())
        if (!steps.set_share(2 * s.share)) return;
    for (int round = 0; round < final_rounds && !search.interrupted(); ++round) {
        const double dual = search.dual();
        if (!(dual > 0) || !lower_share(search, steps, s.ascent.gap / dual)) return;
        reduce_gap(search, steps, final_gap, final_steps * s.visited);
    }
}

}  // namespace hingeline::online
