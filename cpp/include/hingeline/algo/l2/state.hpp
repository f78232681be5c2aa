// L2-SVM with penalised intercept: problem and state, for algorithms that use one column of the kernel matrix at a time
// (nnisda.hpp, min_norm.hpp).
//
// Problem. Labels y = +1, -1, penalties c_i = C w_i:
//
//     minimise 1/2 (|w|^2 + b^2) + 1/2 sum c_i xi_i^2,  y_i (w.phi(x_i) + b) >= 1 - xi_i
//
// has the dual  maximise D(v) = sum v_i - 1/2 v'Qv, v >= 0,  Q_ij = y_i y_j (K_ij + 1) + delta_ij / c_i, without the
// "+ 1" if there is no intercept; f(x) = sum v_i y_i (K(x_i, x) + 1), b = sum v_i y_i, xi_i = v_i / c_i. With more than
// two classes at once, -1 / (classes - 1) replaces y_i y_j between different classes.
//
// State. Positions are rows, class after class, so that the sign y_i y_j is one factor for a stretch of a column. v and
// r are in double for both precisions of K; r = 1 - Qv (nnisda.hpp) or -Qv (min_norm.hpp).
//
// Invariants. r is computed again from v before convergence is accepted, and from time to time before that. Columns
// computed ahead of need and evicted columns change nothing: a step depends on v and r only. For a positive
// semi-definite kernel D <= 1/2 sum c_i (the primal objective at w = 0); a step beyond that bound proves that the
// kernel is not, and is not taken.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "hingeline/core/array.hpp"
#include "hingeline/run/stop.hpp"
#include "hingeline/run/trace.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline::l2 {

struct Params {
    bool bias = true;
    double tol = 1e-3;
    Index max_steps = -1;  // of one machine, over all calls; -1: the limit of `most_steps`
    std::size_t cache_bytes = std::size_t{200} << 20;
    bool newton = true;      // Newton's method and blocks, where the rule allows; false: only the steps of the papers
    Index most_held = 8192;  // rows between which Newton's method holds kernel values, in single precision
};

/// Limit of steps of a machine of n rows. Newton's method needs none; the steps of the papers alone make hardly any
/// progress on badly scaled problems.
inline Index most_steps(const Params& p, Index n) {
    if (p.max_steps >= 0) return p.max_steps;
    return p.newton ? std::numeric_limits<Index>::max() : std::max<Index>(10'000'000, 1000 * n);
}

/// Kernel values of the working sets of blocks.hpp; none: there are no more working sets.
enum class Held : char { coarse, single, none };

/// When Newton's method is due, and whether it helps.
struct Pace {
    static constexpr Index stretch = 256;
    bool tried = false;                                     // whether a run was not interrupted
    Index rest = 0;                                         // steps since its last run
    double cost = 0.0;                                      // of a run that was declined, in steps
    double work = 0.0;                                      // of the working sets since its last run, in kernel values
    Array<double> course;                                   // logarithm of the violation after each stretch of them
    Index patience = 4;                                     // steps for each support vector before the next one
    Index failures = 0;                                     // runs since the violation was last halved
    double best = std::numeric_limits<double>::infinity();  // violation then
};

/// One machine: everything that the next `learn` needs, and its result.
struct State {
    Array<Index> row;           // class after class, ascending within a class
    Array<int> code;            // class of each position
    Array<Index> end;           // where each class ends
    Array<double> c;            // penalties, > 0
    double other = -1.0;        // factor of the kernel between different classes
    double penalties = 0.0;     // sum of c
    Array<double> v;            // before the first step: a warm start, or zeros
    Array<double> r, q;         // q: diagonal of Q at positions whose column was used
    Peaks peaks{0, 0, -1, -1};  // of r; low: where v > 0
    double value = 0.0;         // D(v), or v'Qv
    double violation = 0.0;
    bool begun = false;
    bool stale = false;      // v has changed since r was computed
    Array<State> inner;      // while rows are shrunk away: the machine of the other rows
    Array<Index> positions;  // of an inner state in the outer one
    double tol = 0;          // of an inner state
    Index steps = 0;
    Index since = 0;  // steps since r was computed from v
    Pace pace;
    Held held = Held::coarse;
    Index rounds = 0;      // working sets so far
    Array<Index> working;  // positions of the last one
    Array<double> best;    // v after the run of Newton's method that left the smallest violation / D
    double best_merit = std::numeric_limits<double>::infinity();
    Index doubts = 0;       // number of times that a refreshed r was not converged after all
    double last_value = 0;  // when r was last refreshed before convergence
    Index note_every = 64;
    Index kernel_evals = 0;
    Reason reason = Reason::running;
    Trace trace{{"step", true},           {"seconds", false},        {"n_support", true},
                {"kkt_violation", false}, {"dual_objective", false}, {"kernel_evals", true}};

    Index n() const { return row.size(); }
    double sign(int one, int another) const { return one == another ? 1.0 : other; }
};

/// A machine over the rows of some classes (ascending). Rows with penalty[row] > 0 take part.
inline State start(const Array<Array<Index>>& classes, const double* penalty) {
    State s;
    double present = 0;
    for (const auto& rows : classes) {
        const Index before = s.n();
        for (const Index row : rows) {
            if (!(penalty[row] > 0)) continue;
            s.row.push_back(row);
            s.code.push_back(static_cast<int>(s.end.size()));
            s.c.push_back(penalty[row]);
            s.penalties += penalty[row];
        }
        s.end.push_back(s.n());
        present += s.n() > before;
    }
    s.other = -1.0 / std::max(1.0, present - 1.0);
    s.v.assign(s.row.size(), 0.0);
    s.r.assign(s.row.size(), 0.0);
    s.q.assign(s.row.size(), 0.0);
    return s;
}

/// sum of a_i.
inline double sum(const Array<double>& a) { return std::accumulate(a.begin(), a.end(), 0.0); }
/// sum of a_i b_i.
inline double dot(const Array<double>& a, const Array<double>& b) {
    double sum = 0;
    for (Index i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

/// A solution: v, D(v), the primal objective at the function of v, the largest |f| over the training rows, the largest
/// KKT violation. Values are NaN if training was interrupted before they were computed: before the first step from a
/// warm start, and while rows are shrunk away; largest is then 0.
struct Solution {
    Array<double> v;
    double dual = 0, primal = 0, largest = 0, violation = 0;
};
/// Primal minus dual objective; 0 if it is negative by rounding errors of the two sums only.
inline double gap(const Solution& s) {
    const double gap = s.primal - s.dual, rounding = 1e-12 * std::abs(s.dual);
    return gap < 0 && gap >= -rounding ? 0.0 : gap;
}
/// The solution `v` with outputs Qv and value D(v).
inline Solution solution(const State& s, Array<double> v, const Array<double>& outputs, double dual) {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    Solution out;
    if (!s.begun) {
        const bool zero = std::all_of(v.begin(), v.end(), [](double x) { return x == 0; });
        out = {{}, zero ? 0.0 : unknown, zero ? s.penalties / 2 : unknown, 0.0, zero ? 1.0 : unknown};
    } else if (s.stale) {
        out = {{}, dual, unknown, 0.0, unknown};
    } else {
        double norm = 0, loss = 0;
        for (Index i = 0; i < v.size(); ++i) {
            const double slack = v[i] / s.c[i], z = outputs[i] - slack, xi = std::max(0.0, 1 - z);
            norm += v[i] * z;
            loss += s.c[i] * xi * xi;
            out.largest = std::max(out.largest, std::abs(z));
        }
        out.dual = dual, out.primal = (norm + loss) / 2, out.violation = s.violation;
    }
    out.v = std::move(v);
    return out;
}

/// Add a row to the trace of `book`, from the state of the rows in use.
inline void note(State& book, const State& s, double dual) {
    const auto supports = std::count_if(s.v.begin(), s.v.end(), [](double v) { return v > 0; });
    book.trace.add({static_cast<double>(book.steps), static_cast<double>(supports), s.violation, dual,
                    static_cast<double>(book.kernel_evals)});
}

}  // namespace hingeline::l2
