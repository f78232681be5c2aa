// NNISDA: non-negative iterative single-data algorithm (Kecman and others; compared with OLLAWV in Melki 2018).
//
// Problem. The dual of the L2-SVM in state.hpp: maximise D(v) = sum v - 1/2 v'Qv, v >= 0.
//
// Symbols. r = 1 - Qv, the gradient of D. Row i violates by |r_i| if v_i > 0, else by max(0, r_i).
//
//     v = 0, r = 1
//     repeat: i = the worst violator (lowest row on ties);  stop if it violates by at most tol
//             d = max(-v_i, r_i / Q_ii);  v_i += d;  r -= d Q(., i)
//
// Invariants. v >= 0, zeros are exact; D rises with every step; r = 1 - Qv.
//
// Where we differ. (1) The papers take rows at random or in cycles; here it is always the worst violator. (2) A warm
// start may replace v = 0: its best multiple, or itself if nothing violates by more than tol. (3) Each row has its own
// penalty.
//
// Cost. One column of K, usually a cached one, and one pass over r for each step.
#pragma once

#include "hingeline/algo/l2/solve.hpp"

namespace hingeline::nnisda {

struct Rule {
    static constexpr double start = 1.0;
    static constexpr bool newton = false;

    template <class Source> l2::Step begin(l2::Walk<Source>& walk) const {
        l2::State& s = walk.s;
        if (!walk.refresh(start)) return l2::Step::interrupted;
        measure(s);
        if (violation(s) <= tol) return l2::Step::taken;
        const double sum = l2::sum(s.v);
        if (!(sum > 0)) return l2::Step::taken;
        const double scale = sum / (sum - l2::dot(s.v, s.r));  // 1'v / v'Qv
        const bool sound = scale > 0 && scale * sum / 2 <= bound(s);
        for (double& r : s.r) r = sound ? 1 - scale * (1 - r) : 1.0;
        for (double& v : s.v) v = sound ? scale * v : 0.0;
        walk.look();
        measure(s);
        return l2::Step::taken;
    }

    double violation(const l2::State& s) const { return std::max({0.0, s.peaks.high, -s.peaks.low}); }
    void measure(l2::State& s) const { s.value = (l2::sum(s.v) + l2::dot(s.v, s.r)) / 2; }
    double dual(const l2::State& s) const { return s.value; }
    /// r of a row with v = 0 and this violation.
    double level(const l2::State&, double violation) const { return violation; }
    /// Whether the value is possible.
    bool sound(const l2::State&) const { return true; }
    /// Whether the value has improved by more than rounding errors.
    bool better(double value, double before) const { return value > before + 1e-14 * std::abs(before); }

    template <class Source> l2::Step step(l2::Walk<Source>& walk) const {
        l2::State& s = walk.s;
        const Index i = worst(walk);
        const auto* k = walk.columns.at(i);
        if (!k) return l2::Step::interrupted;
        double& v = s.v[i];
        const double r = s.r[i], q = s.q[i];
        if (!(q > 0)) return l2::Step::indefinite;
        const bool leaves = r / q <= -v;
        const double d = leaves ? -v : r / q, value = s.value + d * (r - d * q / 2);
        if (value > bound(s)) return l2::Step::indefinite;
        if (v + d == v) return l2::Step::stuck;
        v = leaves ? 0.0 : v + d;
        s.value = value;
        walk.move(i, d, k);
        return l2::Step::taken;
    }

    double tol = 1e-3;

  private:
    static double bound(const l2::State& s) { return s.penalties / 2 * (1 + 1e-9); }

    template <class Source> static Index worst(const l2::Walk<Source>& walk) {
        const Peaks& p = walk.s.peaks;
        if (p.low_at < 0 || p.high > -p.low) return p.high_at;
        if (-p.low > p.high) return p.low_at;
        return walk.row(p.low_at) < walk.row(p.high_at) ? p.low_at : p.high_at;
    }
};

template <class Source> void learn(l2::State& s, const l2::Params& p, const Source& source, const Stop& stop) {
    l2::learn(s, p, source, stop, Rule{p.tol});
}

inline l2::Solution solution(const l2::State& s) {
    Array<double> outputs(s.r);
    for (double& x : outputs) x = 1 - x;
    return l2::solution(s, s.v, outputs, s.value);
}

}  // namespace hingeline::nnisda
