// MNSVM: the minimal-norm point of the convex hull of y_i phi(x_i), by MDM or IMDM (Strack and Kecman, "Minimal
// norm support vector machines for large classification tasks", ICMLA 2012; compared with OLLAWV in Melki 2018).
//
// Problem. minimise u'Qu, u >= 0, sum u = 1, with the Q of state.hpp. With w2 the minimum, v = u / w2 solves the
// problem stated there, and u = v / sum v, w2 = 1 / sum v.
//
// Symbols. F = Qu, w2 = u'Qu; r = -F is stored. Weight moves from row p to row v.
//
//     u = e_first, F = Q(., first), w2 = Q(first, first)
//     repeat: v = row with the smallest F;  stop if F_v >= w2 (1 - tol)
//             theta(p) = min((F_p - F_v) / bend(p), u_p),  bend(p) = Q_pp + Q_vv - 2 Q_pv
//             MDM:  p = row with u_p > 0 and the largest F
//             IMDM: p = row with u_p > 0 and the largest decrease theta (2 (F_p - F_v) - theta bend) of w2
//             u_v += theta;  u_p -= theta;  F += theta (Q(., v) - Q(., p));  w2 -= the decrease
//
// Ties: lowest row.
//
// Invariants. u >= 0, zeros are exact, sum u = 1; w2 falls with every step; min F -> w2. At the end the relative gap
// between the primal at u / min F and the dual at u / w2 is at most about 2 tol.
//
// Where we differ. (1) The authors' program samples about 600 rows and takes one that violates; here v is the exact
// minimum. (2) Its thresholds are w2 (1 - eps)^2 or w2 - eps sqrt(w2 Q_ii); ours makes r = 1 - F / w2 that of NNISDA.
// (3) A warm start may replace e_first.
//
// Cost. One pass over F and, in IMDM, one more over the kernel column of v, for each step.
#pragma once

#include "hingeline/algo/l2/solve.hpp"

namespace hingeline::min_norm {

struct Rule {
    static constexpr double start = 0.0;
    static constexpr bool newton = true;

    template <class Source> l2::Step begin(l2::Walk<Source>& walk) const {
        l2::State& s = walk.s;
        const double sum = l2::sum(s.v);
        if (sum > 0) {
            for (double& v : s.v) v /= sum;
            if (!walk.refresh(start)) return l2::Step::interrupted;
            measure(s);
            if (s.value >= floor(s)) return l2::Step::taken;
        }
        std::fill(s.v.begin(), s.v.end(), 0.0);
        s.v[std::min_element(s.row.begin(), s.row.end()) - s.row.begin()] = 1.0;
        if (!walk.refresh(start)) return l2::Step::interrupted;
        measure(s);
        if (s.value >= floor(s)) return l2::Step::taken;
        std::fill(s.v.begin(), s.v.end(), 0.0);
        return l2::Step::indefinite;
    }

    double violation(const l2::State& s) const { return 1 + s.peaks.high / std::max(s.value, floor(s)); }
    void measure(l2::State& s) const { s.value = -l2::dot(s.v, s.r); }
    double dual(const l2::State& s) const { return 1 / (2 * s.value); }
    double level(const l2::State& s, double violation) const { return (violation - 1) * s.value; }
    /// v = u / w2, r = 1 - F / w2.
    void to_dual(l2::State& s) const {
        for (double& v : s.v) v /= s.value;
        for (double& r : s.r) r = 1 + r / s.value;
    }
    void from_dual(l2::State& s) const {
        const double sum = l2::sum(s.v);
        for (double& v : s.v) v /= sum;
        for (double& r : s.r) r = (r - 1) / sum;
        measure(s);
    }
    /// Whether the value is possible: rounding errors have not taken it below the floor.
    bool sound(const l2::State& s) const { return s.value >= floor(s); }
    bool better(double value, double before) const { return value < before - 1e-14 * before; }

    template <class Source> l2::Step step(l2::Walk<Source>& walk) const {
        l2::State& s = walk.s;
        const Index v = s.peaks.high_at;
        walk.columns.level = -s.value;
        const auto* k = walk.columns.at(v);
        if (!k) return l2::Step::interrupted;
        const Index p = improved ? walk.partner(v, k) : s.peaks.low_at;
        if (p < 0 || p == v) return l2::Step::stuck;
        const auto* l = walk.columns.at(p);
        if (!l) return l2::Step::interrupted;
        const double fall = s.r[v] - s.r[p], bend = s.q[p] + s.q[v] - 2 * walk.entry(p, v, k);
        const bool leaves = !(bend > 0 && fall / bend < s.v[p]);
        const double theta = leaves ? s.v[p] : fall / bend;
        // A value below the floor by no more than rounding errors is set to the floor.
        const double noise = 64 * std::numeric_limits<typename Source::Value>::epsilon() * std::max(s.q[p], s.q[v]);
        const double next = s.value - theta * (2 * fall - theta * bend);
        if (!(next >= floor(s) - noise)) return l2::Step::indefinite;
        const double value = std::max(next, floor(s));
        if (s.v[v] + theta == s.v[v] && s.v[p] - theta == s.v[p]) return l2::Step::stuck;
        s.v[v] += theta;
        s.v[p] = leaves ? 0.0 : s.v[p] - theta;
        s.value = value;
        walk.move(v, theta, k, p, -theta, l);
        return l2::Step::taken;
    }

    bool improved = true;

  private:
    /// Since Q - diag(1 / c) is positive semi-definite, u'Qu >= sum u^2 / c >= 1 / sum c.
    static double floor(const l2::State& s) { return 1 / s.penalties * (1 - 1e-9); }
};

template <class Source>
void learn(l2::State& s, const l2::Params& p, const Source& source, const Stop& stop, bool improved) {
    l2::learn(s, p, source, stop, Rule{improved});
}

inline l2::Solution solution(const l2::State& s) {
    const auto scaled = [&](double scale) {
        Array<double> v(s.v), outputs(s.r);
        for (double& x : v) x *= scale;
        for (double& x : outputs) x *= -scale;
        return l2::solution(s, std::move(v), outputs, s.value > 0 ? 1 / (2 * s.value) : s.penalties / 2);
    };
    if (!s.begun) return scaled(1.0);
    return scaled(s.value > 0 ? 1 / s.value : s.penalties);
}

}  // namespace hingeline::min_norm
