// State of the stochastic-gradient kernel machines; see kernel_sgd.hpp for the algorithms and the symbols.
#pragma once

#include <algorithm>
#include <cmath>

#include "hingeline/algo/example.hpp"
#include "hingeline/core/array.hpp"
#include "hingeline/core/large.hpp"
#include "hingeline/run/stop.hpp"
#include "hingeline/run/trace.hpp"

namespace hingeline::kernel_sgd {

using online::Example;

enum class Variant { olsvm, olsvm_reg, norma, norma_literal, pegaz, olsvm_reg_literal };

/// Coefficients for prediction: the last ones, or their mean over the last half of the steps or over all steps.
enum class Averaging { none, half, all };

struct Params {
    Variant variant = Variant::olsvm;
    double C = 1.0;
    bool inverse = false;  // eta = C/t
    bool decay_first = false;
    bool bias = false;
    Averaging average = Averaging::none;
    double truncate = 0;
    std::size_t cache_bytes = std::size_t{200} << 20;

    double rate(Index t) const {
        return inverse ? C / static_cast<double>(t) : C * std::sqrt(2.0 / static_cast<double>(t));
    }
    bool decays() const { return variant == Variant::norma || variant == Variant::norma_literal; }
};

/// Steps between truncations; the outputs of a stream are computed for as many examples at a time.
inline constexpr Index stretch = 1024;

/// Sums of coefficients over the steps after `from`: held + a * scales, entry by entry.
struct Average {
    Index from = 0;
    double scales = 0;  // sum of sigma since the last flush
    double b = 0;
    Array<double> held;
};

struct State {
    Array<Index> row, id, code;
    Array<double> a;  // coefficients divided by sigma, in the order in which examples entered
    double sigma = 1, b = 0;
    double flushed = 1;  // sigma at the last flush of the averages
    double dropped = 0;  // sum of |a| of the truncated coefficients
    double largest = 0;  // largest |f| of an example when it was visited
    Index t = 0, violations = 0, kernel_evals = 0;
    Index note_every = 16;      // steps between rows of the trace
    Index average_from = -1;    // half: step where the last half of a fit begins; -1: windows start at powers of two
    Array<Average> averages{};  // oldest first
    Reason reason = Reason::running;
    Trace trace{
        {"step", true}, {"seconds", false}, {"n_support", true}, {"n_violations", true}, {"kernel_evals", true}};

    Index size() const { return row.size(); }
    Index n_support() const {
        return static_cast<Index>(std::count_if(a.begin(), a.end(), [](double x) { return x != 0; }));
    }
    /// Coefficients for prediction; sets the intercept.
    Array<double> coefficients(double& constant) const {
        Array<double> out(a.size());
        constant = b;
        if (averages.empty() || averages.front().from >= t) {
            for (Index s = 0; s < a.size(); ++s) out[s] = sigma * a[s];
            return out;
        }
        const Average& mean = averages.front();
        const double steps = static_cast<double>(t - mean.from);
        for (Index s = 0; s < a.size(); ++s) out[s] = (mean.held[s] + a[s] * mean.scales) / steps;
        constant = mean.b / steps;
        return out;
    }
};

/// Add a row to the trace; it is thinned when it becomes long.
inline void note(State& s) {
    s.trace.add({static_cast<double>(s.t), static_cast<double>(s.n_support()), static_cast<double>(s.violations),
                 static_cast<double>(s.kernel_evals)});
    if (s.trace.size() < 512) return;
    s.trace.thin();
    s.note_every *= 2;
}

/// The state for the problem with all labels negated.
inline State mirror_state(State s) {
    for (double& a : s.a) a = -a;
    s.b = -s.b;
    for (Average& mean : s.averages) {
        for (double& held : mean.held) held = -held;
        mean.b = -mean.b;
    }
    return s;
}

/// The examples of one call, which are visited `epochs` times, and the position reached.
struct Window {
    Array<Example> examples;
    Index total = 0, cursor = 0;  // steps to make, and steps made
    Index from = 0, to = 0;       // outputs are known for these examples
    Large<double> o;              // over sigma
    Array<Index> entry;           // position of an example in the expansion; -1: none

    Window() = default;
    Window(Array<Example> of, Index epochs) : examples(std::move(of)), total(epochs * examples.size()) {
        entry.assign(examples.size(), -1);
    }
    bool several() const { return total > examples.size(); }
    bool running() const { return cursor < total; }
};

}  // namespace hingeline::kernel_sgd
