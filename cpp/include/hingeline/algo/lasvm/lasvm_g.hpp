// LASVM-G: an online SVM without intercept that reduces the duality gap after every example.
//
//     for each example i:
//         thr = max(C, TARGET);  PROCESS(i);  while GAP > thr and there is progress: REPROCESS(tau)
//         every `period` examples: CLEAN(m), ADAPT
//     at the end: REDUCE, or if requested FINISH to a duality gap; CLEAN(0)
//
// PROCESS(i) adds i to the expansion with alpha = 0 and makes a STEP there. An example that is in the expansion, as
// happens from the second pass on, keeps its alpha and makes a STEP.
//
// Progress. The loop also ends after a REPROCESS that raised the dual objective D by at most `least_progress` D / |S|,
// and after `most_bounded_steps`. If that is too little for C, bounds below C are in force (ADAPT, share.hpp), and `C`
// in the threshold stands for them. The paper has none of this (`Params::paper`); then the loop makes at most
// `most_steps` steps. Runs of examples of one label: runs.hpp.
//
// Paper. Ertekin, Bottou, Giles 2011, section 4. Problem, symbols, invariants and differences: search.hpp.
//
// A Rule states what a variant adds: whether it skips an example, whether it flags it as an outlier, whether it cleans.
// LASVM-NC, LASVM-I and FULL SVM are this header with another rule.
#pragma once

#include "hingeline/algo/lasvm/share.hpp"

namespace hingeline::online {

/// LASVM-G takes every example as it is.
struct RuleG {
    static constexpr bool cleans = true;
    static bool skips(const State&, const Params&, double) { return false; }
    static bool flags(const State&, const Params&, double) { return false; }
};

/// Steps for an example end when as many of them as there are examples in the expansion would raise the dual objective
/// by less than this share.
inline constexpr double least_progress = 1e-3;
/// Steps for one example at most. The cost of an example at C = 1 is that of its kernel values and about two steps;
/// with eight the time is less than three times that.
inline constexpr Index most_bounded_steps = 8;
/// Steps for one example at most by the rule of the paper, which makes C K of them for nearly equal examples with
/// different labels.
inline constexpr Index most_steps = 1'000'000;

/// Visit one example; `known` is its position if it is in the expansion, else -1.
template <class Rule, class Source> void visit(Search<Source>& search, const Example& e, Index known) {
    State& s = search.s;
    const Params& p = search.p;
    double z = 0;
    s.runs.see(e.y() > 0, s.visited);
    search.weigh_sample(e.y() > 0);
    if (known < 0) {
        const std::optional<double> f = search.evaluate_next();
        if (!f) return;
        s.largest = std::max(s.largest, std::abs(*f));
        z = e.y() * *f;
    } else {
        search.set_target();
        z = 1.0 - e.y() * static_cast<double>(search.expansion.g()[known]);
    }
    const Zone zone = Ramp{p.s}.zone(z);
    s.last_margin = z;
    ++s.visited;
    if (Rule::skips(s, p, z)) {
        ++s.skipped[zone];
        s.kernel_needed += known < 0 ? s.n_support() : 0;
        if (known < 0) search.expansion.reject();
        return;
    }
    if (known < 0) {
        s.kernel_needed += s.n_live() + 1;
        search.expansion.admit(e, e.y() - e.y() * z, zone, Rule::flags(s, p, z));
        known = s.n - 1;
    }
    const double threshold = std::max(s.share * p.C, s.target);
    search.keep_partner(known);
    search.step(known);
    std::optional<double> dual;
    const Index most = p.paper ? most_steps : most_bounded_steps;
    for (Index count = 1; s.ascent.gap > threshold && count <= most; ++count) {
        if (count % steps_between_polls == 0 && search.interrupted()) return;
        if (!search.reprocess(p.tau)) return;
        if (p.paper) continue;
        dual = dual ? *dual + search.gain() : std::max(search.dual(), 0.0);  // below 0 by rounding only
        if (!(search.gain() * static_cast<double>(s.n_live()) > least_progress * *dual)) return;
    }
}

/// Learn from examples in their order; see `in_blocks`.
template <class Rule, class Source>
Index learn(Search<Source>& search, const Array<Example>& examples, bool known, double* margins) {
    search.rescan();
    Axes<Source> axes{search};
    return in_blocks(search, examples, known, margins, [&](const Example& e, Index at) {
        const Index before = search.s.visited;
        visit<Rule>(search, e, at);
        if (search.s.visited == before) return;  // interrupted
        note_lag(search);
        if (search.s.visited % search.p.period) return;
        if (Rule::cleans && search.s.in_run(search.p))
            search.clean_run();
        else if (Rule::cleans)
            search.clean(search.p.most_non_sv);
        search.refresh_sometimes(search.steps_learning);
        adapt_share(search, axes);
    });
}

/// REPROCESS until the duality gap is small enough; see `work_off`.
template <class Source> Index finish(Search<Source>& search, double tol, Index most) {
    search.s.reason = Reason::interrupted;
    if (!search.expansion.kernel.restore(search.s.row)) return 0;
    search.forget_partners();
    if (!search.set_share(1)) return 0;
    return work_off(search, tol, most, 1.0, [&] { search.rescan(); }, [&] { return search.reprocess(0); });
}

}  // namespace hingeline::online
