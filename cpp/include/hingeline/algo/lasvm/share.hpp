// The share of the bounds C_i that is in force, so that a limited number of steps solves the problem at hand whatever
// C.
//
// Steps of length 1 / K towards coefficients of C need C K steps, or many more where kernel rows are nearly dependent.
// An expansion on which the steps cannot keep up is far from any optimum: every new example is fitted at the expense of
// the others. So if the duality gap exceeds `largest_gap` times the dual objective after a cleaning, the bounds are
// lowered to a share, a power of two, at which it does not; where the gap is small they are doubled again. The model is
// then a solution for a smaller C, which regularises more. Coefficients below their bounds do not depend on it.
//
//     SETTLE(r, m)   REPROCESS until the gap is at most r times the dual objective, at most m times
//     ADAPT          lower the share if the gap is too large, double it if the gap is small; SETTLE
//
// `Steps` is `Axes` for the variants without intercept and `PairSearch` for LASVM. Not part of the papers: with
// `Params::paper` the share is always 1.
#pragma once

#include "hingeline/algo/lasvm/drive.hpp"

namespace hingeline::online {

/// Gap relative to the dual objective above which the bounds are lowered. Measured: at 0.5 the bounds stay at C on
/// noisy sets up to C = 100; at 0.2 they are lowered there, at 1 accuracy is lost (benchmarks/results, lasvm-C).
inline constexpr double largest_gap = 0.5;
/// The gap after lowering, and the gap below which the bounds are doubled, which doubles the gap at most.
inline constexpr double small_gap = 0.25 * largest_gap;
/// The gap at the end of a fit, below which neither accuracy nor support vectors change.
inline constexpr double final_gap = 0.01;
/// Steps at the end of a fit for each example: about what the passes take.
inline constexpr Index final_steps = 2;
/// Steps between measurements of the gap and of the dual objective, which cost about a step.
inline constexpr Index steps_between_looks = 16;

/// Steps of the variants without intercept.
template <class Source> struct Axes {
    Search<Source>& search;
    void measure() {}
    bool reprocess(double tau) { return search.reprocess(tau); }
    bool set_share(double share) { return search.set_share(share); }
};

/// SETTLE. Whether the gap was reached.
template <class Source, class Steps> bool settle(Search<Source>& search, Steps& steps, double gap, Index most) {
    const State& s = search.s;
    const auto reached = [&] {
        steps.measure();
        return s.ascent.gap <= gap * search.dual();
    };
    for (Index count = 0; count < most; ++count) {
        if (count % steps_between_looks == 0 && (search.interrupted() || reached())) break;
        if (!steps.reprocess(search.p.tau)) break;
    }
    return reached();
}

/// Lower the share until the gap may be `largest_gap` of the dual objective: the gap is proportional to the bounds.
/// Whether it was larger.
template <class Source, class Steps> bool lower_share(Search<Source>& search, Steps& steps) {
    constexpr int most_halvings = 10;  // at a time: the gap is an estimate
    const State& s = search.s;
    const double dual = search.dual();
    if (!(s.ascent.gap > largest_gap * dual && dual > 0)) return false;
    const double halvings = std::ceil(std::log2(s.ascent.gap / (largest_gap * dual)));
    steps.set_share(std::ldexp(s.share, -std::clamp(static_cast<int>(halvings), 1, most_halvings)));
    return true;
}

/// ADAPT, after a cleaning.
template <class Source, class Steps> void adapt_share(Search<Source>& search, Steps& steps) {
    const State& s = search.s;
    if (search.p.paper || search.interrupted()) return;
    search.forget_partners();
    steps.measure();
    const bool small = s.ascent.gap <= small_gap * search.dual(), lowered = lower_share(search, steps);
    if (small && s.share < 1) steps.set_share(2 * s.share);
    settle(search, steps, small_gap, lowered ? std::max(search.p.period, s.n_live()) : search.p.period);
}

/// At the end of a fit: SETTLE, and double the bounds as long as coefficients are at bounds below C and steps are left.
template <class Source, class Steps> void settle_last(Search<Source>& search, Steps& steps) {
    const State& s = search.s;
    if (search.p.paper || !search.expansion.kernel.restore(s.row)) return;
    search.forget_partners();
    const Index end = s.steps + final_steps * s.visited;
    while (settle(search, steps, final_gap, end - s.steps) && s.n_lowered() > 0 && s.steps < end)
        if (!steps.set_share(2 * s.share)) return;
    if (lower_share(search, steps)) settle(search, steps, final_gap, std::max(search.p.period, s.n_live()));
}

}  // namespace hingeline::online
