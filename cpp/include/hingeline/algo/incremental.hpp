// Exact incremental and decremental SVM: one point in, one point out, another C, and the state is the optimum again.
//
// Problem. min 1/2 a'Ka - p'a over sum a = total, -dn C <= a <= up C, with the gradient G = K a + mu - p:
//   G >= 0 where a is at its lower bound, G = 0 in between (the margin set M), G <= 0 at its upper bound.
// Classification: p = y, total = 0, (dn, up) = (0, w) for y = +1 and (w, 0) for y = -1; f = sum a K + mu.
// Sphere (SVDD): p = K_ii / 2, total = 1, (dn, up) = (0, 1); R^2 = 2 mu + a'Ka, and 2 G = R^2 - d^2.
// Plane (one-class SVM): p = 0, total = 1; rho = -mu.
//
// Paper. P. Laskov, C. Gehl, S. Krueger, K.-R. Mueller, "Incremental support vector learning", JMLR 7, 2006; [INC].
//
// A driver (a point whose coefficient changes, or C itself) moves; mu and a_M follow so that G_M stays 0:
//   beta = -Q (e, col_M),  gamma = col + K_:M beta_M + beta_0,   (eqs. 7, 9; e, col: what the driver itself adds)
// until a coefficient of M reaches a bound, a gradient outside reaches zero, or the driver is where it should be.
//
// Where we differ, and why
// - Signed coefficients: the paper's H, c, e become K, p, 1. Then Q does not depend on the labels, sphere and plane
//   differ from classification by p and `total` alone, and machines of several classes share rows of K.
// - gamma on M is the residual of beta. It is looked at in every step and beta is refined when it is not small, which
//   takes the place of probing Q with random vectors.
// - A new point whose system is nearly singular gets its b refined the same way before its kappa is believed.
// - Ties go to the point that came first, so that the order of positions does not matter.
// - The true residual of M is computed after every operation and corrected by Newton steps; then Q and G are computed
//   anew; then everything is learnt from scratch. Each is counted.
#pragma once

#include "hingeline/algo/incremental_path.hpp"
#include "hingeline/algo/incremental_sets.hpp"

namespace hingeline::incremental {

/// One machine at work: a state, the kernel rows, and which point came first.
template <class Source> class Machine {
  public:
    Machine(State& state, SelfGram<double>& kernel, const Source& source, std::vector<Scratch<double>>& scratch,
            const Points& points)
        : s(state), M(state, kernel, source, scratch, points), path_(M), sets_(M) {}
    Machine(const Machine&) = delete;

    /// Whether position c is content with the coefficient zero, that is, whether learning it changes nothing.
    bool content(Index c) {
        const double g = M.gradient(c);
        return s.ready && (s.fixed(c) || (s[line::up][c] > 0 ? g >= -M.slack() : g <= M.slack()));
    }

    /// Take position c into the problem.
    void learn(Index c) {
        guarded([&] { begin(c); }, c, -1);
    }

    /// Take position c out of the problem. Afterwards G of c is that of a point the machine has never seen.
    void unlearn(Index c) {
        guarded(
            [&] {
                if (!s.ready || !bears(held() - 1, s.C)) {
                    drop(c);
                    return again(members());
                }
                if (s[line::alpha][c] == 0) return drop(c);
                path_.release(c);
                settle();
            },
            -1, c);
    }

    /// Take several positions out of the problem and others in. Whole sets change at a time until all is in order;
    /// false when that does not come to an end, and then the state is of no use.
    bool jump(const Array<Index>& leaving, const Array<Index>& coming) {
        if (!s.ready || M.m() == 0 || !bears(held() - leaving.size(), s.C)) return false;
        try {
            sets_.leave(leaving);
            for (const Index c : coming) {
                s[line::g][c] = M.gradient(c);
                M.place(c) = s[line::up][c] > 0 ? Place::low : Place::high;
            }
            if (!sets_.pivot()) return false;
            settle();
        } catch (const Stuck&) {
            return false;
        } catch (const Full&) {  // the path needs fewer rows at a time
            return false;
        }
        return true;
    }

    /// Another C, along the exact path.
    void set_bound(double C) {
        guarded(
            [&] {
                if (!s.ready || !bears(held(), C)) {
                    s.C = C;
                    return again(members());
                }
                path_.follow(C);
                settle();
            },
            -1, -1, C);
    }

    /// The largest violation of the optimality conditions, from kernel values computed anew.
    double violation() {
        if (!s.ready) return 0;
        Numbers g(M.padded(), 0.0);
        M.outputs(g.data(), true);
        double worst = std::abs(M.balance());
        for (Index i = 0; i < s.n; ++i) {
            if (M.place(i) == Place::out || s.fixed(i)) continue;
            const double value = g[i] + s.mu - s[line::p][i], a = s[line::alpha][i];
            if (a > s.low(i)) worst = std::max(worst, value);
            if (a < s.high(i)) worst = std::max(worst, -value);
            worst = std::max({worst, s.low(i) - a, a - s.high(i)});
        }
        return worst;
    }

    /// Condition number of R in the 1-norm.
    double condition() const {
        double norm = static_cast<double>(s.margin.size());
        for (Index j = 0; j < s.margin.size(); ++j) {
            double sum = 1;
            for (const Index k : s.margin) sum += std::abs(M.rows[j][k]);
            norm = std::max(norm, sum);
        }
        return norm * s.q.norm();
    }

  private:
    static constexpr Index refresh_every = 1 << 14;  // steps: rounding errors of G have grown by 1e-14 then

    void drop(Index c) {
        if (M.place(c) == Place::margin) M.remove(c);
        s[line::alpha][c] = 0;
        M.place(c) = Place::out;
    }

    /// Too few points to bear the weight: each bears what it may, until the last one takes what is left.
    void gather(Index c) {
        double* alpha = s[line::alpha];
        const double left = s.total - static_cast<double>(held()) * s.C;  // c is not among them
        if (left > s.C + rounding) {
            M.file(c, true);
            return;
        }
        alpha[c] = left >= s.C - rounding ? s.C : left;
        M.place(c) = Place::high;
        M.driver = c;
        M.measure();
        s.mu = 0;
        M.refresh();
        s.mu = -std::numeric_limits<double>::infinity();
        for (Index i = 0; i < s.n; ++i)
            if (M.place(i) != Place::out) s.mu = std::max(s.mu, s[line::g][i]);
        s.mu = -s.mu;
        for (Index i = 0; i < s.n; ++i) s[line::g][i] += s.mu;
        s.ready = true;
        if (alpha[c] < s.C) {
            if (s[line::g][c] < -M.slack())
                path_.drive(c);
            else
                M.add(c);
        }
        M.driver = -1;
        settle();
    }

    /// Every operation ends here: correct to rounding, and nobody on the wrong side of zero. What rounding, a
    /// dependence or a tie has left there is driven on as if it had just come.
    void settle() {
        correct();
        Array<Index> hopeless;  // cannot be told from M
        for (int round = 0; round < 50; ++round) {
            Index worst = -1;
            for (Index i = 0; i < s.n; ++i)
                if ((M.place(i) == Place::low || M.place(i) == Place::high) && !s.fixed(i) &&
                    M.violation(i) > M.slack() && (worst < 0 || M.violation(i) > M.violation(worst)) &&
                    std::find(hopeless.begin(), hopeless.end(), i) == hopeless.end())
                    worst = i;
            if (worst < 0) return;
            const double before = M.violation(worst);
            path_.drive(worst);
            correct();
            if (M.place(worst) != Place::margin && M.violation(worst) > 0.5 * before) hopeless.push_back(worst);
        }
    }
    /// The true residual of the margin set must be no more than rounding; Newton steps bring it there.
    void correct() {
        const Clock clock(s.counts, Part::check);
        path_.rest();
        M.measure();
        const double allowed = std::max(1e-11, M.noise);
        if (s.counts.steps - s.refreshed_at >= refresh_every || M.drift > allowed) M.refresh();
        Numbers residual, change;
        Array<Index> gone;
        for (int attempt = 0; M.m() > 0; ++attempt) {
            residual.resize(M.m() + 1);
            change.resize(residual.size());
            const double off = std::abs(residual[0] = M.balance()) * M.largest;
            double worst = off;
            for (Index j = 0; j < s.margin.size(); ++j) {
                const Index k = s.margin[j];
                residual[j + 1] = M.op().inner(M.rows[j], s[line::alpha], M.padded()) + s.mu - s[line::p][k];
                worst = std::max(worst, std::abs(residual[j + 1]));
                if (!std::isfinite(residual[j + 1])) throw Stuck();
            }
            // The sum can be had to rounding, and must be: it decides who is at a bound. Not for ever, though.
            if (worst <= allowed && (off <= M.noise || attempt >= 2)) return M.dust();
            if (attempt == 4) throw Stuck();
            if (attempt == 2) {
                path_.rebuild();
                M.refresh();
                continue;  // M may be another
            }
            ++s.counts.corrections;
            s.q.multiply(residual.data(), change.data());
            for (double& x : change) x = -x;
            s.mu += change[0];
            gone.clear();
            for (Index j = 0; j < s.margin.size(); ++j) {
                const Index k = s.margin[j];
                const double before = s[line::alpha][k], wanted = before + change[j + 1];
                if (!std::isfinite(wanted)) throw Stuck();
                s[line::alpha][k] = std::clamp(wanted, s.low(k), s.high(k));
                change[j + 1] = s[line::alpha][k] - before;
                if (s[line::alpha][k] != wanted) gone.push_back(k);
            }
            const double constant = change[0];
            change.erase(change.begin());
            M.shift(constant, M.rows, change);
            for (const Index k : s.margin) s[line::g][k] = 0;
            for (const Index k : gone) M.file(k, s[line::alpha][k] >= s.high(k));
            M.remove(gone);
            if (!gone.empty()) attempt = std::min(attempt, 1);
        }
        if (std::abs(M.balance()) > 1e-9 * s.C) throw Stuck();  // all have left M, and nobody bears the rest
    }

    /// Run one operation; when its safety net is used up, learn all that is in the problem from scratch: point
    /// `joins` too, point `leaves` not, with this C.
    template <class F> void guarded(F&& work, Index joins, Index leaves, double C = 0) {
        path_.start();
        M.measure();
        Array<Index> all = members();
        try {
            return work();
        } catch (const Stuck&) {
        }
        ++s.counts.restarts;
        if (C > 0) s.C = C;
        std::erase(all, leaves);
        if (joins >= 0) all.push_back(joins);
        try {
            again(all);
        } catch (const Stuck&) {
            throw std::runtime_error(
                "no optimum was found: the kernel matrix does not seem to be positive semi-definite");
        }
    }
    /// Positions in the problem.
    Array<Index> members() const {
        Array<Index> all;
        for (Index i = 0; i < s.n; ++i)
            if (s.place[i] != Place::out) all.push_back(i);
        return all;
    }
    Index held() const { return static_cast<Index>(members().size()); }
    /// Whether so many points can bear the weight.
    bool bears(Index points, double C) const {
        return s.total == 0 || static_cast<double>(points) * C >= s.total - rounding;
    }
    /// Learn these, in the order in which they came, and nothing else.
    void again(Array<Index> points) {
        std::sort(points.begin(), points.end(), [&](Index a, Index b) { return M.earlier(a, b); });
        std::fill_n(s[line::alpha], s.n, 0.0);
        std::fill_n(s[line::g], s.n, 0.0);
        std::fill(s.place.begin(), s.place.end(), Place::out);
        M.clear();
        M.driver = -1;
        s.mu = 0;
        s.ready = s.total == 0;
        for (const Index c : points) {
            path_.start();
            begin(c);
        }
    }
    /// One point into the problem.
    void begin(Index c) {
        if (!s.ready) return gather(c);
        s[line::g][c] = M.gradient(c);
        M.place(c) = s[line::up][c] > 0 ? Place::low : Place::high;
        if (s.fixed(c) || M.violation(c) <= M.slack()) return;
        path_.drive(c);
        settle();
    }

    State& s;
    Margin<Source> M;
    Path<Source> path_;
    Sets<Source> sets_;
};

}  // namespace hingeline::incremental
