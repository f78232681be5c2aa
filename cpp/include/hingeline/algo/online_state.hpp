// What an online SVM keeps between examples: the expansion S, position by position.
//
// Symbols. alpha signed coefficient; g = y - sum_s alpha_s K_s the gradient of the dual; [lo, hi] the box of alpha;
// box = C_i y_i, whose sign is the label; diagonal = K_ii.
//
// A *dead* position is an example that was looked at and turned away: alpha = up = dn = 0, it takes no part and goes
// at the next cleaning. Positions from `n` on are examples whose turn has not come; they take no part either.
#pragma once

#include <cmath>
#include <utility>

#include "hingeline/loss/ramp.hpp"
#include "hingeline/run/stop.hpp"
#include "hingeline/run/trace.hpp"
#include "hingeline/vector/parallel.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline::online {

/// Names of the arrays of a state.
namespace line {
enum Name : int { alpha, g, lo, hi, box, diagonal, count };
}

/// One example of a two-class problem.
struct Example {
    Index row = 0;   // in the source of kernel values
    Index id = 0;    // as the caller numbers them
    Index code = 0;  // its class, as the caller numbers them
    double box = 0;  // C_i y_i
    double y() const { return box > 0 ? 1.0 : -1.0; }
};

/// Examples by the part of the ramp they were on when they came.
struct Tally {
    Index count[3] = {0, 0, 0};
    Index& operator[](Zone z) { return count[static_cast<int>(z)]; }
};

struct State {
    Parallel<double, line::count> lines;
    Array<Index> row, id, code;
    Array<Zone> zone;
    Array<char> dead;
    Index n = 0;
    Index n_dead = 0;
    Index support[2] = {0, 0};  // positions with alpha != 0, by label -1, +1
    Ascent ascent{0, 0, -1};    // what is to be gained now
    double b = 0;               // bias, where there is one
    double target = 0;          // of the last example
    double largest = 0;         // largest |f| of an example when it came
    double last_margin = 0;     // y f of the last one
    Index visited = 0, steps = 0, kernel_evals = 0, kernel_needed = 0, kernel_recomputed = 0;
    Index refreshed_at = 0;  // steps when g was last computed from alpha
    Index note_every = 16;   // examples between rows of the trace
    Tally admitted, cleaned, skipped;
    Reason reason = Reason::running;
    Trace trace{{"step", true}, {"seconds", false}, {"n_support", true},    {"n_expansion", true},  {"dual", false},
                {"gap", false}, {"target", false},  {"kernel_evals", true}, {"kernel_needed", true}};

    Index n_support() const { return support[0] + support[1]; }
    Index n_live() const { return n - n_dead; }
    double* operator[](line::Name k) { return lines[k]; }
    const double* operator[](line::Name k) const { return lines[k]; }
    double y(Index t) const { return lines[line::box][t] > 0 ? 1.0 : -1.0; }

    /// Gradients below this are rounding errors of the sums that they came from.
    double noise() const {
        double mass = 0, curvature = 0;
        for (Index t = 0; t < n; ++t) {
            mass += std::abs(lines[line::alpha][t]);
            curvature = std::max(curvature, std::abs(lines[line::diagonal][t]));
        }
        return 1e-14 * (1.0 + mass * curvature);
    }
    /// D = sum alpha y - 1/2 alpha K alpha = 1/2 sum alpha (y + g).
    double dual() const {
        double sum = 0;
        for (Index t = 0; t < n; ++t) sum += 0.5 * lines[line::alpha][t] * (y(t) + lines[line::g][t]);
        return sum;
    }
};

/// What would have been learnt with all labels turned round.
inline State mirrored(State s) {
    for (Index t = 0; t < s.n; ++t) {
        for (const auto name : {line::alpha, line::g, line::box}) s[name][t] = -s[name][t];
        s[line::lo][t] = -std::exchange(s[line::hi][t], -s[line::lo][t]);
    }
    std::swap(s.support[0], s.support[1]);
    s.b = -s.b;
    return s;
}

}  // namespace hingeline::online
