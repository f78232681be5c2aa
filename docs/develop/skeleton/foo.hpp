// FOO: what the letters stand for (Author year, Algorithm n).
//
// Problem. Objective and constraints, as in the paper, with its equation numbers.
//
// Symbols. What alpha, g, C mean here; signs.
//
//     the pseudo-code, with the letters of the paper
//
// Invariants. What holds after every step; each has a test.
//
// Differences from the paper. (1) What, and why.
//
// Cost. Kernel values and bytes for one step.
#pragma once

#include "hingeline/core/array.hpp"
#include "hingeline/kernel/gram.hpp"
#include "hingeline/run/stop.hpp"
#include "hingeline/run/trace.hpp"

namespace hingeline::foo {

struct Params {
    double C = 1.0;
    std::size_t cache_bytes = std::size_t{200} << 20;
};

/// What the next `learn` needs, and the result. One binary problem.
struct State {
    Array<Index> row;  // of the training data
    Array<double> y, alpha;
    double b = 0.0;
    Index steps = 0, kernel_evals = 0;
    Reason reason = Reason::running;
    Trace trace{{"step", true}, {"seconds", false}, {"n_support", true}, {"kernel_evals", true}};
};

/// Make steps until the end, the budget of `stop` or an interrupt. Safe to call again.
template <class Source> void learn(State& s, const Params& p, const Source& source, const Stop& stop) {
    if (s.reason == Reason::interrupted) s.reason = Reason::running;
    const Index n = s.row.size(), last = stop.max_steps < n - s.steps ? s.steps + stop.max_steps : n;
    Scratch<typename Source::Value> scratch;  // for source.columns
    scratch.interrupt = stop.interrupt;
    const Trace::Running clock(s.trace);
    for (; s.steps < last; ++s.steps) {
        if (stop.interrupt && stop.interrupt->requested()) {
            s.reason = Reason::interrupted;
            return;
        }
        s.alpha[s.steps] = p.C * s.y[s.steps];  // one step of the paper
    }
    (void)source;
    if (s.steps == n) s.reason = Reason::exhausted;
}

}  // namespace hingeline::foo
