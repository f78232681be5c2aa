// FOO: what the letters stand for (Author year, Algorithm n).
//
// Problem. Objective and constraints, as the paper states them, with its equation numbers.
//
// Symbols. What alpha, g, C mean here; signs.
//
//     the pseudo-code, in the paper's letters
//
// Invariants. What holds after every step; each has a test.
//
// Where we differ. (1) What, and why.
//
// Cost. Kernel values and bytes for one step.
#pragma once

#include "hingeline/kernel/gram.hpp"
#include "hingeline/run/team.hpp"
#include "hingeline/run/trace.hpp"

namespace hingeline::foo {

struct Params {
    double C = 1.0;
    std::size_t cache_bytes = std::size_t{200} << 20;
};

/// All that the next `learn` needs, and what it has found.
struct State {
    std::vector<Index> row;
    std::vector<double> y, alpha;
    double b = 0.0;
    Index kernel_evals = 0;
    Reason reason = Reason::running;
    Trace trace{{"step", true}, {"seconds", false}};  // columns; `add` fills them
};

/// Consume rows in order; safe to call again with the next ones.
template <class Source>
void learn(State& state, const Params& p, const Source& source, const Stop& stop, int threads) {
    (void)threads;
    state.trace.start();
    Scratch<typename Source::Value> scratch;
    scratch.interrupt = stop.interrupt;
    for (std::size_t i = 0; i < state.row.size(); ++i) {
        if (stop.interrupt && stop.interrupt->requested()) {
            state.reason = Reason::interrupted;
            break;
        }
        state.alpha[i] = p.C * state.y[i];  // one step of the paper
    }
    (void)source;
    state.trace.pause();
}

}  // namespace hingeline::foo
