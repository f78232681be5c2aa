// Descent: an active-set method for problems on which the path breaks down.
//
// If K is singular up to rounding (equal rows, kernel values that are nearly constant, features of very different
// scale), the direction of the path and the order of its events are rounding errors. Here the objective falls with
// every step and gradients may have any sign on the way, so such errors cannot lead into a cycle.
//
// W is a set of free coefficients with a positive definite system. The sum of the coefficients is fixed, so that only
// differences of kernel values matter. With the first member r of W as reference, h = K a - p, and a step d of sum 0:
//   H_ij = K_ij - K_ir - K_rj + K_rr,   sum_j H_ij d_j = h_r - h_i,   i, j in W without r.
// H and its factor L (H = L L^T) are computed in long double from the kernel values. A point that violates the KKT
// conditions enters W if its pivot exceeds the rounding errors of the kernel values. Otherwise it moves together with W
// along a direction without curvature until a coefficient reaches a bound. Reasons: docs/decisions/0016.
#pragma once

#include "hingeline/algo/incremental/margin.hpp"

namespace hingeline::incremental {

template <class Source> class Descent {
  public:
    explicit Descent(Margin<Source>& margin) : M(margin), s(margin.s) {}

    /// Go to the optimum over `points`, from the current coefficients. Sets alpha, mu and G; all others are zero.
    void solve(const Array<Index>& points) {
        start(points);
        const Index most = 40 * points.size() + 1000, usual = most / 4;
        for (Index round = 0; round < most; ++round) {
            relax();
            const Index c = choose(round > usual);
            if (c < 0) break;
            drive(c);
        }
        finish();
    }
    /// Members of W: free coefficients with an invertible system.
    const Array<Index>& members() const { return w_; }
    /// Whether a direction of clearly negative curvature was met.
    bool indefinite() const { return indefinite_; }

  private:
    using Real = long double;
    using Reals = Wiped<Real>;
    static constexpr Real infinity = std::numeric_limits<Real>::infinity();

    // ---- start and end -------------------------------------------------------------------------------

    void start(const Array<Index>& points) {
        a_.assign(s.n, 0), moved_.assign(s.n, 0), h_.assign(s.n, 0);
        movable_.clear(), clear();
        indefinite_ = false;
        for (Index i = 0; i < s.n; ++i) h_[i] = -static_cast<Real>(s[line::p][i]);
        for (const Index k : points) {
            if (s.fixed(k)) continue;
            movable_.push_back(k);
            push(k, std::clamp(s[line::alpha][k], s.low(k), s.high(k)));
        }
        flush();
        rebalance();
        for (const Index k : movable_)
            if (a_[k] > s.low(k) && a_[k] < s.high(k)) enter(k);
    }
    /// Bring the sum of the coefficients to `total`, by the points whose gradients are the least suitable.
    void rebalance() {
        Real excess = -static_cast<Real>(s.total);
        for (const Index k : movable_) excess += a_[k];
        Array<Index> order = movable_;
        const Real sign = excess > 0 ? 1 : -1;
        std::sort(order.begin(), order.end(),
                  [&](Index i, Index j) { return sign * h_[i] > sign * h_[j] || (h_[i] == h_[j] && M.earlier(i, j)); });
        for (const Index k : order) {
            if (excess == 0) break;
            const Real room = excess > 0 ? a_[k] - s.low(k) : s.high(k) - a_[k];
            const Real part = sign * std::min(room, std::abs(excess));
            push(k, -part);
            excess -= part;
        }
        flush();
    }
    void finish() {
        std::fill_n(s[line::alpha], s.n, 0.0);
        for (const Index k : movable_)
            s[line::alpha][k] = std::clamp(static_cast<double>(a_[k]), s.low(k), s.high(k)) + 0.0;
        s.mu = static_cast<double>(mu_);
        for (Index i = 0; i < s.n; ++i) s[line::g][i] = static_cast<double>(h_[i] + mu_);
    }

    // ---- coefficients and gradients --------------------------------------------------------------------

    /// Change a coefficient; `flush` updates h.
    void push(Index k, Real change) {
        if (change == 0) return;
        a_[k] += change, moved_[k] += change;
        touched_.push_back(k);
    }
    void flush() {
        for (const Index k : touched_) {
            const Real weight = std::exchange(moved_[k], 0);
            if (weight == 0) continue;
            M.kernel.poll();
            const double* row = M.row(k);
            for (Index i = 0; i < s.n; ++i) h_[i] += weight * row[i];
        }
        touched_.clear();
        ++s.counts.steps;
    }
    /// Distance that coefficient k can move in the direction of `sign`.
    Real room(Index k, Real sign) const { return std::max<Real>(sign > 0 ? s.high(k) - a_[k] : a_[k] - s.low(k), 0); }
    void put_at_bound(Index k, Real sign) { push(k, (sign > 0 ? s.high(k) : s.low(k)) - a_[k]); }
    /// KKT violation of k at gradient g.
    Real violation(Index k, Real g) const {
        return std::max(a_[k] < s.high(k) ? -g : Real(0), a_[k] > s.low(k) ? g : Real(0));
    }
    /// Violations up to this size are rounding errors.
    Real tolerance() const {
        Real mass = 0;
        for (const Index k : movable_) mass += std::abs(a_[k]);
        return std::max<Real>(1e-11L, 400 * std::numeric_limits<Real>::epsilon() * mass * M.largest);
    }

    // ---- steps ---------------------------------------------------------------------------------------

    /// Minimise over W. Members that reach a bound leave W.
    void relax() {
        Reals residual;
        for (const Index k : w_) residual.push_back(h_[k]);
        while (w_.size() > 1) {
            M.kernel.poll();
            const Reals d = solve_system(residual);
            Real step = 1;
            Index at = -1;
            for (Index j = 0; j < w_.size(); ++j)
                if (d[j] != 0 && room(w_[j], d[j]) < step * std::abs(d[j]))
                    step = room(w_[j], d[j]) / std::abs(d[j]), at = j;
            for (Index j = 0; j < w_.size(); ++j)
                if (j != at) push(w_[j], step * d[j]);
            if (at < 0) break;
            put_at_bound(w_[at], d[at]);
            for (Real& r : residual) r = residual[0] + (1 - step) * (r - residual[0]);
            remove(at, &residual);
        }
        flush();
    }
    /// Set mu; returns the point that violates the KKT conditions most (with `first`: that came first), or -1.
    Index choose(bool first) {
        const Real allowed = tolerance();
        if (w_.empty() && !open(allowed)) return -1;
        mu_ = 0;
        for (const Index k : w_) mu_ -= h_[k] / static_cast<Real>(w_.size());
        Index best = -1;
        Real most = allowed;
        for (const Index k : movable_) {
            const Real size = violation(k, h_[k] + mu_);
            if (size <= allowed || in_w_[k]) continue;
            if (best < 0 || (first ? M.earlier(k, best) : size > most)) best = k, most = size;
        }
        return best;
    }
    /// W is empty: start it with one point of the most violating pair. False if no pair violates; mu is set then.
    bool open(Real allowed) {
        Index up = -1, down = -1;
        for (const Index k : movable_) {
            if (a_[k] < s.high(k) && (up < 0 || h_[k] < h_[up])) up = k;
            if (a_[k] > s.low(k) && (down < 0 || h_[k] > h_[down])) down = k;
        }
        if (up >= 0 && down >= 0 && h_[down] - h_[up] > 2 * allowed) return enter(down);
        if (up >= 0 && down >= 0)
            mu_ = -(h_[up] + h_[down]) / 2;
        else if (up >= 0 || down >= 0)
            mu_ = -h_[std::max(up, down)];
        return false;
    }
    /// Move c towards its optimum until it enters W, reaches a bound or W is empty.
    void drive(Index c) {
        while (!w_.empty()) {
            const Real g = h_[c] + mu_, sign = g < 0 ? 1 : -1;
            if (violation(c, g) <= 0 || enter(c) || !slide(c, sign, std::abs(g))) return;
        }
    }
    /// Move c and W along the direction found by `enter`, which has no curvature, down the gradient `slope`. Returns
    /// whether a member of W has reached a bound and left.
    bool slide(Index c, Real sign, Real slope) {
        Real step = room(c, sign);
        Index at = -1;
        if (pivot_ > 0) step = std::min(step, slope / pivot_);
        const Reals d = direction_;
        for (Index j = 0; j < w_.size(); ++j)
            if (d[j] != 0 && room(w_[j], sign * d[j]) < step * std::abs(d[j]))
                step = room(w_[j], sign * d[j]) / std::abs(d[j]), at = j;
        for (Index j = 0; j < w_.size(); ++j)
            if (j != at) push(w_[j], sign * step * d[j]);
        if (at < 0 && step == room(c, sign))
            put_at_bound(c, sign);
        else
            push(c, sign * step);
        if (at >= 0) put_at_bound(w_[at], sign * d[at]), remove(at, nullptr);
        flush();
        if (!w_.empty()) mu_ = -h_[w_.front()];
        return at >= 0;
    }

    // ---- the system ----------------------------------------------------------------------------------

    void clear() { w_.clear(), values_.clear(), lower_.clear(), in_w_.assign(s.n, 0); }
    Real entry(Index i, Index j) const {  // of H, i >= j
        return (static_cast<Real>(values_[i][j]) - values_[i][0]) - (static_cast<Real>(values_[j][0]) - values_[0][0]);
    }
    /// Compute row i of L without its diagonal entry; returns the square of that entry, the pivot.
    Real factor(Index i) {
        Reals row(i + 1, 0);
        Real pivot = i > 0 ? entry(i, i) : Real(0);
        for (Index j = 1; j < i; ++j) {
            Real sum = entry(i, j);
            for (Index k = 1; k < j; ++k) sum -= row[k] * lower_[j][k];
            row[j] = sum / lower_[j][j];
            pivot -= row[j] * row[j];
        }
        lower_[i] = std::move(row);
        return pivot;
    }
    /// y = L^-T x over the first `count` members; their sum is balanced by the reference.
    void solve_back(Reals& y, Index count, Real sum) const {
        for (Index i = count - 1; i > 0; --i) {
            for (Index k = i + 1; k < count; ++k) y[i] -= lower_[k][i] * y[k];
            y[i] /= lower_[i][i];
        }
        y[0] = -sum;
        for (Index i = 1; i < count; ++i) y[0] -= y[i];
    }
    /// Step of sum zero to the minimum over W, from the gradients on W.
    Reals solve_system(const Reals& gradient) const {
        Reals y(w_.size(), 0);
        for (Index i = 1; i < w_.size(); ++i) {
            y[i] = gradient[0] - gradient[i];
            for (Index k = 1; k < i; ++k) y[i] -= lower_[i][k] * y[k];
            y[i] /= lower_[i][i];
        }
        solve_back(y, w_.size(), 0);
        return y;
    }
    /// Point c enters W. False if its pivot may be a rounding error; then direction_ is how W follows c.
    bool enter(Index c) {
        const double* row = M.row(c);
        const Index last = w_.size();
        Numbers values;
        for (const Index k : w_) values.push_back(row[k]);
        values.push_back(row[c]);
        values_.push_back(std::move(values)), lower_.emplace_back();
        pivot_ = factor(last);
        if (last > 0) {
            direction_ = lower_[last];
            direction_.resize(last);
            for (Real& x : direction_) x = -x;
            solve_back(direction_, last, 1);
            if (!is_sound()) {
                values_.pop_back(), lower_.pop_back();
                return false;
            }
        }
        lower_[last][last] = std::sqrt(pivot_);
        w_.push_back(c), in_w_[c] = 1;
        return true;
    }
    /// Whether the last pivot exceeds the rounding errors of kernel values.
    bool is_sound() {
        Real size = 1, square = 1;
        for (const Real x : direction_) size += std::abs(x), square += x * x;
        if (pivot_ < -1e-5L * M.largest * square) indefinite_ = true;
        return pivot_ > 1e-15L * size * size * M.largest;
    }
    /// Member `at` leaves W; `beside` holds one value per member.
    void remove(Index at, Reals* beside) {
        const auto erase = [&](Index i) {
            in_w_[w_[i]] = 0;
            w_.erase(w_.begin() + i), values_.erase(values_.begin() + i), lower_.erase(lower_.begin() + i);
            for (Index k = i; k < w_.size(); ++k) values_[k].erase(values_[k].begin() + i);
            if (beside) beside->erase(beside->begin() + i);
        };
        erase(at);
        for (Index i = std::max<Index>(at, 1); i < w_.size();) {
            const Real pivot = factor(i);
            if (pivot > 0)
                lower_[i][i] = std::sqrt(pivot), ++i;
            else
                erase(i);  // stays free, outside W
        }
    }

    Margin<Source>& M;
    State& s;
    Reals a_, h_, moved_;      // coefficients, gradients without mu, changes that h does not have yet
    Array<Index> touched_;     // positions with such changes
    Array<Index> movable_;     // points of the problem whose weight is not zero
    Array<Index> w_;           // W
    Array<char> in_w_;         // by position
    Array<Numbers> values_;    // kernel values between the members, lower triangle
    Array<Reals> lower_;       // L, with an unused column 0
    Reals direction_;          // how W follows the point that `enter` has rejected
    Real pivot_ = 0, mu_ = 0;  // pivot of the last `enter`
    bool indefinite_ = false;
};

}  // namespace hingeline::incremental
