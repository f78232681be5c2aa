// State of an online SVM between examples: the expansion S, position by position.
//
// Symbols. alpha signed coefficient; g = y - sum_s alpha_s K_s the gradient of the dual; [lo, hi] the box of alpha;
// box = C_i y_i, whose sign is the label; diagonal = K_ii.
//
// The bounds are those of the paper times `share` (share.hpp).
//
// A *dead* position is an example that was evaluated and rejected, or evicted: alpha = up = dn = 0. It takes no part
// and is removed at the next cleaning. Positions from `n` on are pending examples, whose kernel rows are computed but
// which have not been visited; they take no part either.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hingeline/algo/lasvm/ramp.hpp"
#include "hingeline/algo/lasvm/runs.hpp"
#include "hingeline/core/array.hpp"
#include "hingeline/run/stop.hpp"
#include "hingeline/run/trace.hpp"
#include "hingeline/vector/parallel.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline::online {

struct Params {
    double C = 1.0;
    double s = -1.0;           // left end of the ramp loss
    double tau = 1e-3;         // smaller violations are ignored
    Index period = 256;        // examples between cleanings
    Index most_non_sv = 100;   // m of CLEAN
    Index warm_support = 100;  // support vectors before the ramp loss applies
    std::size_t cache_bytes = std::size_t{200} << 20;
    int threads = 1;     // for kernel values
    bool paper = false;  // steps as published: on single coordinates, with no limit but the gap
};

/// Examples of one label in a sample (runs.hpp).
inline Index sample_size(const Params& p) {
    return sample_factor * std::min(p.most_non_sv, std::numeric_limits<Index>::max() / sample_factor);
}

/// Names of the arrays of a state.
namespace line {
enum Name : int { alpha, g, lo, hi, box, diagonal, count };
}

/// Numbers of examples by their zone of the ramp loss when they were visited.
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
    Ascent ascent{0, 0, -1};    // duality gap, largest violation and its position
    double share = 1;           // of the bounds C_i that is in force, a power of two (lasvm_g.hpp)
    double lag = 0;             // mean of gap / dual objective (share.hpp)
    double b = 0;               // intercept, 0 if there is none
    double target = 0;          // duality gap target at the last example
    double largest = 0;         // largest |f| of an example when it was visited
    double last_margin = 0;     // y f of the last example
    Index visited = 0, steps = 0, kernel_evals = 0, kernel_needed = 0, kernel_recomputed = 0;
    Index refreshed_at = 0;  // steps when g was last computed from alpha
    Index note_every = 16;   // examples between rows of the trace
    Tally admitted, cleaned, skipped;
    Runs runs;
    Reason reason = Reason::running;
    Trace trace{{"step", true},
                {"seconds", false},
                {"n_support", true},
                {"n_expansion", true},
                {"dual_objective", false},
                {"duality_gap", false},
                {"duality_gap_target", false},
                {"kernel_evals", true},
                {"kernel_needed", true}};

    Index n_support() const { return support[0] + support[1]; }
    Index n_live() const { return n - n_dead; }
    /// Whether a label is missing, so that the stream may be sorted (runs.hpp).
    bool in_run(const Params& p) const { return !p.paper && runs.missing(p.period); }
    /// Coefficients at a bound that is lower than C: without the share they would be larger.
    Index n_lowered() const {
        Index count = 0;
        for (Index t = 0; t < n && share < 1; ++t) {
            const double alpha = lines[line::alpha][t];
            count += alpha != 0 && (alpha == lines[line::lo][t] || alpha == lines[line::hi][t]);
        }
        return count;
    }
    double* operator[](line::Name k) { return lines[k]; }
    const double* operator[](line::Name k) const { return lines[k]; }
    double y(Index t) const { return lines[line::box][t] > 0 ? 1.0 : -1.0; }

    /// Gradients below this are rounding errors of the sums they come from.
    double noise() const {
        double mass = 0, curvature = 0;
        for (Index t = 0; t < n; ++t) {
            mass += std::abs(lines[line::alpha][t]);
            curvature = std::max(curvature, std::abs(lines[line::diagonal][t]));
        }
        return 1e-14 * (1.0 + mass * curvature);
    }
    /// Dual objective D = sum alpha y - 1/2 alpha K alpha = 1/2 sum alpha (y + g).
    double dual() const {
        double sum = 0;
        for (Index t = 0; t < n; ++t) sum += 0.5 * lines[line::alpha][t] * (y(t) + lines[line::g][t]);
        return sum;
    }
};

/// The state for the problem with all labels negated.
inline State mirror_state(State s) {
    for (Index t = 0; t < s.n; ++t) {
        for (const auto name : {line::alpha, line::g, line::box}) s[name][t] = -s[name][t];
        s[line::lo][t] = -std::exchange(s[line::hi][t], -s[line::lo][t]);
    }
    std::swap(s.support[0], s.support[1]);
    for (Index* side : {s.runs.seen, s.runs.last}) std::swap(side[0], side[1]);
    std::swap(s.runs.removed[0], s.runs.removed[1]);
    s.b = -s.b;
    return s;
}

}  // namespace hingeline::online
