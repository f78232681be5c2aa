// LASVM-G: an online SVM without bias that works off the duality gap as it goes.
//
//     for each example i:
//         thr = max(C, TARGET);  PROCESS(i);  while GAP > thr: REPROCESS(tau)
//         every `period` examples: CLEAN(m)
//     at the end: FINISH to a duality gap, if wanted; CLEAN(0)
//
// PROCESS(i) takes i into the expansion with alpha = 0 and makes a STEP there; an example that is in it already, as
// happens from the second pass on, keeps its alpha and makes a STEP.
//
// Paper: Ertekin, Bottou, Giles 2011, section 4. Problem, letters and differences: direction.hpp.
//
// A Rule says what a variant adds: whether it turns an example away, whether it takes it for an outlier, whether it
// cleans. LASVM-NC, LASVM-I and FULL SVM are this header with another rule.
#pragma once

#include "hingeline/algo/direction.hpp"

namespace hingeline::online {

/// LASVM-G takes every example as it is.
struct RuleG {
    static constexpr bool cleans = true;
    static bool skips(const State&, const Params&, double) { return false; }
    static bool flags(const State&, const Params&, double) { return false; }
};

/// Visit one example; `known` is its position where it is in the expansion already, or -1.
template <class Rule, class Source> void visit(Search<Source>& search, const Example& e, Index known) {
    State& s = search.s;
    const Params& p = search.p;
    double z = 0;
    if (known < 0) {
        const std::optional<double> f = search.regard();
        if (!f) return;
        s.largest = std::max(s.largest, std::abs(*f));
        z = e.y() * *f;
    } else {
        search.set_target();
        z = 1.0 - e.y() * static_cast<double>(search.g()[known]);
    }
    const Zone zone = Ramp{p.s}.zone(z);
    s.last_margin = z;
    ++s.visited;
    if (Rule::skips(s, p, z)) {
        ++s.skipped[zone];
        s.kernel_needed += known < 0 ? s.n_support() : 0;
        if (known < 0) search.turn_away();
        return;
    }
    if (known < 0) {
        s.kernel_needed += s.n_live() + 1;
        search.admit(e, e.y() - e.y() * z, zone, Rule::flags(s, p, z));
        known = s.n - 1;
    }
    const double threshold = std::max(p.C, s.target);
    search.step(known);
    for (Index count = 1; s.ascent.gap > threshold; ++count) {
        if (count % steps_between_looks == 0 && search.interrupted()) return;
        if (!search.reprocess(p.tau)) return;
    }
}

/// Learn from examples in their order; see `in_blocks`.
template <class Rule, class Source>
Index learn(Search<Source>& search, const Array<Example>& examples, bool known, double* margins) {
    search.rescan();
    return in_blocks(search, examples, known, margins, [&](const Example& e, Index at) {
        visit<Rule>(search, e, at);
        if (search.s.visited % search.p.period) return;
        if (Rule::cleans) search.clean(search.p.most_non_sv);
        search.refresh_sometimes(search.steps_learning);
    });
}

/// REPROCESS until the gap is worked off; see `work_off`.
template <class Source> Index finish(Search<Source>& search, double tol, Index most) {
    search.s.reason = Reason::interrupted;
    if (!search.wake()) return 0;
    return work_off(search, tol, most, 1.0, [&] { search.rescan(); }, [&] { return search.reprocess(0); });
}

}  // namespace hingeline::online
