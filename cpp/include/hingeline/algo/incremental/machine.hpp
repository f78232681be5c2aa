// Exact incremental and decremental SVM: add a point, remove a point, change C; the state is the optimum after each
// call.
//
// Problem. min 1/2 a'Ka - p'a over sum a = total, -dn C <= a <= up C, with the gradient G = K a + mu - p:
//   G >= 0 where a is at its lower bound, G = 0 in between (the margin set M), G <= 0 at its upper bound.
// Classification: p = y, total = 0, (dn, up) = (0, w) for y = +1 and (w, 0) for y = -1; f = sum a K + mu.
// Sphere (SVDD): p = K_ii / 2, total = 1, (dn, up) = (0, 1); R^2 = 2 mu + a'Ka, and 2 G = R^2 - d^2.
// Plane (one-class SVM): p = 0, total = 1; rho = -mu.
//
// Paper. P. Laskov, C. Gehl, S. Krueger, K.-R. Mueller, "Incremental support vector learning", JMLR 7, 2006; [INC].
//
// Points come and leave by sets (sets.hpp), and by the path of the paper if that fails, if nu > 0, or if C changes. On
// the path a driver (a point whose coefficient changes, or C itself) moves; mu and a_M follow so that G_M stays 0:
//   beta = -Q (e, col_M),  gamma = col + K_:M beta_M + beta_0,   (eqs. 7, 9; e, col: contribution of the driver itself)
// until a coefficient of M reaches a bound, a gradient outside M reaches zero, or the driver is done.
//
// Invariant. After every operation the KKT conditions hold up to rounding, and the coefficients sum to `total`.
//
// Where we differ, and why
// - Signed coefficients: the paper's H, c, e become K, p, 1. Then Q does not depend on the labels, sphere and plane
//   differ from classification by p and `total` alone, and machines of several classes share rows of K.
// - gamma on M is the residual of beta. It is checked in every step and beta is refined if it is not small, which
//   replaces probing Q with random vectors.
// - If the system of a new point is nearly singular, its b is refined the same way before its kappa is used.
// - Ties go to the point that came first, so the order of positions does not matter.
// - The true residual of M is computed after every operation and corrected by Newton steps. If that is not enough, Q
//   and G are computed again. If that is not enough, or points still violate the KKT conditions, the problem is solved
//   by an active-set method in extended precision (descent.hpp). Each is counted.
#pragma once

#include "hingeline/algo/incremental/descent.hpp"
#include "hingeline/algo/incremental/path.hpp"
#include "hingeline/algo/incremental/sets.hpp"

namespace hingeline::incremental {

/// The operations on one machine.
template <class Source> class Machine {
  public:
    Machine(State& state, SelfGram<double>& kernel, const Source& source, std::vector<Scratch<double>>& scratch,
            const Points& points)
        : s(state), M(state, kernel, source, scratch, points), G(M), path_(M, G), sets_(M, G), descent_(M) {}
    Machine(const Machine&) = delete;

    /// Add position c with the coefficient zero. Whether that satisfies its KKT condition: then nothing else changes.
    bool rest(Index c) {
        if (!s.ready) return false;
        s[line::g][c] = M.gradient(c);
        M.place(c) = s[line::up][c] > 0 ? Place::low : Place::high;
        return s.fixed(c) || M.violation(c) <= M.slack();
    }

    /// Add position c to the problem.
    void learn(Index c) {
        run_guarded([&] { begin(c); }, c, -1, false);
    }

    /// Remove position c from the problem. Afterwards G of c is that of a point the machine has never seen.
    void unlearn(Index c) {
        run_guarded(
            [&] {
                if (!s.ready || !bears(n_held() - 1, s.C)) {
                    drop(c);
                    return again(members());
                }
                if (s[line::alpha][c] == 0) {
                    drop(c);
                    if (n_held() == 0) s.mu = 0;
                    return;
                }
                require_path();
                path_.release(c);
                settle();
            },
            -1, c, true);
    }

    /// Remove several positions from the problem and add others, changing whole sets at a time. False if the method
    /// fails; then the state is not usable.
    bool jump(const Array<Index>& leaving, const Array<Index>& coming) {
        if (s.loose()) return solve(leaving, coming), true;
        if (!s.ready || M.m() == 0 || !bears(n_held() - leaving.size(), s.C)) return false;
        try {
            const bool balanced = !sets_.leave(leaving);
            bool rests = balanced;
            for (const Index c : coming) rests = rest(c) && rests;
            if (rests) return true;
            if (!sets_.pivot(leaving.size() + coming.size(), balanced)) return false;
            settle(sets_.knows_outputs());
        } catch (const Stuck&) {
            return false;
        } catch (const Full&) {  // the path needs fewer rows at once
            return false;
        }
        return true;
    }

    /// Change C along the exact path. `removes`: a point is about to leave, so this does not fail.
    void set_bound(double C, bool removes = false) {
        run_guarded(
            [&] {
                if (!s.ready || !bears(n_held(), C)) {
                    s.C = C;
                    return again(members());
                }
                require_path();
                // The direction has the errors of G, which grow with C; the errors of a large C stay when C falls, in
                // mu too.
                if (C < 1e-6 * s.C) throw Stuck();
                const bool far = C > 100 * s.C || C < 0.01 * s.C;
                path_.follow(C);
                if (far) G.refresh();
                settle();
            },
            -1, -1, removes, C);
    }

    /// Largest violation of the KKT conditions, from kernel values computed again.
    double violation() {
        if (!s.ready) return 0;
        Numbers g(padded(s.n), 0.0);
        M.kernel.outputs(g.data(), true);
        double worst = std::abs(s.excess());
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
        if (s.loose()) return std::numeric_limits<double>::infinity();
        double norm = static_cast<double>(s.margin.size());
        for (Index j = 0; j < s.margin.size(); ++j) {
            double sum = 1;
            for (const Index k : s.margin) sum += std::abs(M.rows[j][k]);
            norm = std::max(norm, sum);
        }
        return norm * s.q.norm();
    }

  private:
    /// Kernels that are computed are positive semi-definite: negative curvature is a rounding error of their values.
    static constexpr bool computed = requires(const Source& source) { source.largest(); };
    static constexpr Index refresh_every = 1 << 14;  // steps; rounding errors of G are some 1e-14 then

    void drop(Index c) {
        if (M.place(c) == Place::margin) M.remove(c);
        s[line::alpha][c] = 0;
        M.place(c) = Place::out;
    }

    /// The points so far cannot reach the sum `total`: each is at its upper bound, until the last one takes the rest.
    void gather(Index c) {
        double* alpha = s[line::alpha];
        const double left = s.total - static_cast<double>(n_held()) * s.C;  // c is not among them
        if (left > s.C + rounding) {
            M.file(c, true);
            return;
        }
        alpha[c] = left >= s.C - rounding ? s.C : left;
        M.place(c) = Place::high;
        M.kernel.driver = c;
        M.measure();
        s.mu = 0;
        G.refresh();
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
        M.kernel.driver = -1;
        settle();
    }

    /// Every operation ends here. Restore the KKT conditions up to rounding; points that still violate them, because of
    /// rounding, linear dependence or a tie, are processed again. `known`: see `correct`.
    void settle(bool known = false) {
        correct(known);
        Array<Index> hopeless;  // depend linearly on M
        for (int round = 0; round < 50; ++round) {
            Index worst = -1;
            for (Index i = 0; i < s.n; ++i)
                if ((M.place(i) == Place::low || M.place(i) == Place::high) && !s.fixed(i) &&
                    M.violation(i) > M.slack() && (worst < 0 || M.violation(i) > M.violation(worst)) &&
                    std::find(hopeless.begin(), hopeless.end(), i) == hopeless.end())
                    worst = i;
            if (worst < 0) return require_optimum();
            const double before = M.violation(worst);
            path_.drive(worst);
            correct();
            if (M.place(worst) != Place::margin && M.violation(worst) > 0.5 * before) hopeless.push_back(worst);
        }
        throw Stuck();
    }
    void require_optimum() const {
        double worst = residual_;
        for (Index i = 0; i < s.n; ++i)
            if (s.place[i] != Place::out && !s.fixed(i)) worst = std::max(worst, M.violation(i));
        if (worst > M.limit()) throw Stuck();
    }
    /// Bring the true residual of M down to rounding errors by Newton steps. `known`: G.outputs are those of M.
    void correct(bool known = false) {
        const Clock clock(s.counts, Part::check);
        path_.forget_left();
        M.measure();
        const double allowed = std::max(1e-11, M.tolerance());
        if (s.counts.steps - s.refreshed_at >= refresh_every || G.drift > allowed) G.refresh();
        Numbers residual, change;
        Array<Index> gone;
        residual_ = 0;
        for (int attempt = 0; M.m() > 0; ++attempt) {
            residual.resize(M.m() + 1);
            change.resize(residual.size());
            const double off = std::abs(residual[0] = M.balance()) * M.largest;
            double worst = off;
            for (Index j = 0; j < s.margin.size(); ++j) {
                const Index k = s.margin[j];
                const double output =
                    known ? G.outputs[k] : pass_ops<double>().inner(M.rows[j], s[line::alpha], padded(s.n));
                residual[j + 1] = output + s.mu - s[line::p][k];
                worst = std::max(worst, std::abs(residual[j + 1]));
                if (!std::isfinite(residual[j + 1])) throw Stuck();
            }
            // The sum must be exact up to rounding: it decides which coefficients are at a bound. At most two attempts.
            residual_ = worst;
            if (worst <= allowed && (off <= M.noise || attempt >= 2)) return M.snap_to_bounds(), balance_out();
            if (attempt == 4) throw Stuck();
            if (attempt == 2) {
                path_.rebuild();
                G.refresh();
                known = false;
                continue;  // M may have changed
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
            for (Index j = 0; j < s.margin.size(); ++j) s[line::g][s.margin[j]] = residual[j + 1];
            G.settle(constant, s.margin, M.rows, change);
            known = true;
            // A step that was cut short at a bound leaves true gradients above rounding errors.
            for (const Index k : s.margin)
                if (gone.empty() || std::abs(s[line::g][k]) <= M.slack()) s[line::g][k] = 0;
            for (const Index k : gone) M.file(k, s[line::alpha][k] >= s.high(k));
            M.remove(gone);
            if (!gone.empty()) attempt = std::min(attempt, 1);
        }
        if (std::abs(s.excess()) > M.excess) throw Stuck();  // M is empty and the sum is not balanced
    }

    /// Add the remaining error of the sum to the coefficient with the most room. The gradients change by less than the
    /// rounding errors that `correct` allows.
    void balance_out() {
        const double excess = s.excess();
        if (std::abs(excess) <= M.excess) return;
        const auto room = [&](Index k) {
            return excess > 0 ? s[line::alpha][k] - s.low(k) : s.high(k) - s[line::alpha][k];
        };
        const Index k =
            *std::max_element(s.margin.begin(), s.margin.end(), [&](Index i, Index j) { return room(i) < room(j); });
        if (room(k) < std::abs(excess)) throw Stuck();
        s[line::alpha][k] -= excess;
    }
    /// Run one operation. If the path breaks down, solve the problem by descent: with point `joins`, without point
    /// `leaves`, with this C. With `removes` it does not fail: a point can always be removed.
    template <class F> void run_guarded(F&& work, Index joins, Index leaves, bool removes, double C = 0) {
        path_.start();
        M.measure();
        Array<Index> all = members();
        try {
            return work();
        } catch (const Stuck&) {
        }
        if (C > 0) {
            for (Index i = 0; i < s.n; ++i) s[line::alpha][i] *= C / s.C;
            s.C = C;
        }
        std::erase(all, leaves);
        if (joins >= 0 && std::find(all.begin(), all.end(), joins) == all.end()) all.push_back(joins);
        descend(all);
        if (descent_.indefinite() && !removes && !computed)
            throw std::runtime_error("no optimum was found: the kernel matrix is not positive semi-definite");
    }
    /// Solve the problem by descent, without the points `leaving` and with the points `coming`.
    void solve(const Array<Index>& leaving, const Array<Index>& coming) {
        path_.start();
        const auto among = [](const Array<Index>& some, Index c) {
            return std::find(some.begin(), some.end(), c) != some.end();
        };
        Array<Index> all;
        for (const Index c : members())
            if (!among(leaving, c) && !among(coming, c)) all.push_back(c);  // a point may rest here already
        all.insert(all.end(), coming.begin(), coming.end());
        descend(all);
    }
    void require_path() const {
        if (s.loose()) throw Stuck();
    }
    /// Solve the problem over `points` by descent. The path can continue from the result if the system of all
    /// coefficients between their bounds is accurate enough.
    void descend(const Array<Index>& points) {
        ++s.counts.restarts;
        if (!bears(points.size(), s.C)) return again(points);
        M.kernel.driver = M.kernel.outer = -1;
        M.clear();
        s.ready = true;
        {
            const Clock clock(s.counts, Part::search);
            descent_.solve(points);
        }
        s.refreshed_at = s.counts.steps;
        G.drift = 0;
        M.measure();
        const State loose = s;
        file(points);
        if (!tighten()) {
            const Counts counts = s.counts;
            s = loose;
            s.counts = counts;
            M.clear();
            file(points);
        }
    }
    /// Sets from coefficients, with an empty M.
    void file(const Array<Index>& points) {
        std::fill(s.place.begin(), s.place.end(), Place::out);
        for (const Index c : points) {
            const bool low = s[line::up][c] > 0 ? s[line::alpha][c] < s.high(c) : s[line::alpha][c] <= s.low(c);
            M.place(c) = low ? Place::low : Place::high;
        }
    }
    /// Move the coefficients between their bounds to M. False if their system is singular or inaccurate.
    bool tighten() {
        try {
            for (const Index c : descent_.members())
                if (s[line::alpha][c] > s.low(c) && s[line::alpha][c] < s.high(c) && !M.add(c)) return false;
            if (s.loose()) return false;
            path_.start();
            correct();
            require_optimum();
        } catch (const Stuck&) {
            return false;
        }
        return true;
    }
    /// Positions in the problem.
    Array<Index> members() const {
        Array<Index> all(s.n);
        Index count = 0;
        for (Index i = 0; i < s.n; ++i) all[count] = i, count += s.place[i] != Place::out;
        all.resize(count);
        return all;
    }
    Index n_held() const {
        return std::count_if(s.place.begin(), s.place.begin() + s.n, [](Place p) { return p != Place::out; });
    }
    /// Whether so many points can reach the sum `total`.
    bool bears(Index points, double C) const {
        return s.total == 0 || static_cast<double>(points) * C >= s.total - rounding;
    }
    /// Learn these points, in the order in which they came, from scratch.
    void again(Array<Index> points) {
        std::sort(points.begin(), points.end(), [&](Index a, Index b) { return M.earlier(a, b); });
        M.clear();
        s.empty();
        M.kernel.driver = -1;
        for (const Index c : points) {
            path_.start();
            begin(c);
        }
    }
    /// Add one point to the problem.
    void begin(Index c) {
        if (!s.ready) return gather(c);
        if (rest(c)) return;
        require_path();
        path_.drive(c);
        settle();
    }

    State& s;
    Margin<Source> M;
    Gradient<Source> G;
    Path<Source> path_;
    Sets<Source> sets_;
    Descent<Source> descent_;
    double residual_ = 0;  // largest residual of M after `correct`
};

}  // namespace hingeline::incremental
