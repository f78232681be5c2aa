// Sets: several points at a time, by an active-set method that goes to the optimum without following a path.
//
// From any coefficients within their boxes: Newton steps on M stop at the first bounds, whose points leave M, until one
// step is complete. Such a step scales the residual of M by a known factor, so it needs no kernel rows. Then points
// that violate the KKT conditions enter M. The objective falls from round to round.
//
// Only the gradients of a few points, those likely to change sign, are updated in every round. When none of them
// violates its condition, all gradients are updated in one pass over the kernel rows of M (`flush`), which also gives
// the true outputs of M. Reasons: docs/decisions/0010.
#pragma once

#include "hingeline/algo/incremental/gradient.hpp"

namespace hingeline::incremental {

template <class Source> class Sets {
  public:
    Sets(Margin<Source>& margin, Gradient<Source>& gradient) : M(margin), G(gradient), s(margin.s) {}

    /// Set coefficients to zero and update the gradients. Returns whether any coefficient has changed: then the sum of
    /// the coefficients is out of balance.
    bool leave(const Array<Index>& points) {
        constexpr Index together = 32;
        Array<Index> inside, bearing;
        for (const Index c : points)
            if (s[line::alpha][c] != 0) bearing.push_back(c);
        for (Index at = 0; at < bearing.size(); at += together) {
            const Array<Index> some(bearing.begin() + at, bearing.begin() + (std::min(bearing.size(), at + together)));
            M.kernel.hold(some);
            Array<const double*> from;
            Numbers weights;
            for (const Index c : some) {
                from.push_back(M.row(c));
                weights.push_back(-s[line::alpha][c]);
            }
            G.shift(0.0, from, weights);
        }
        for (const Index c : points) {
            if (M.place(c) == Place::margin) inside.push_back(c);
            s[line::alpha][c] = 0;
            M.place(c) = Place::out;
        }
        M.remove(inside);
        return !bearing.empty();
    }
    /// Go to the optimum after `count` points have come or left; false if it takes too many rounds or a system is
    /// singular. `balanced`: G of M and the sum of the coefficients are zero up to rounding.
    bool pivot(Index count, bool balanced) {
        constexpr int most_rounds = 400;
        most_ = 4 * count;
        moved_.assign(s.n, 0.0);
        knows_outputs_ = false;
        catch_up();
        if (!balanced && !complete_step()) return false;
        if (!balanced) flush();
        Array<Index> in;
        for (int round = 0; round < most_rounds;) {
            M.measure();
            in.clear();
            for (Index i = 0; i < s.n; ++i)
                if (violates(i)) in.push_back(i);
            if (in.empty()) {
                for (const Index k : s.margin) s[line::g][k] = 0;
                return true;
            }
            watch(in);
            for (; !in.empty() && round < most_rounds; ++round) {
                if (!enter(in) || !complete_step()) return false;
                in.clear();
                for (const Index i : watched_)
                    if (violates(i)) in.push_back(i);
            }
            flush();
        }
        return false;
    }

    /// Whether `pivot` has set G.outputs of M.
    bool knows_outputs() const { return knows_outputs_; }

  private:
    bool violates(Index i) const {
        return (s.place[i] == Place::low || s.place[i] == Place::high) && !s.fixed(i) &&
               s.violation(i, now_[i]) > M.slack();
    }
    /// Some of the points `in` enter M, the worst first. Many points at once make M large, and they leave it one by
    /// one; few at once make many rounds. False if no point can enter, or M is empty: then no direction keeps the sum.
    bool enter(Array<Index>& in) {
        if (M.m() == 0) return false;
        const auto violation = [&](Index i) { return s.violation(i, now_[i]); };
        std::sort(in.begin(), in.end(), [&](Index a, Index b) {
            return violation(a) > violation(b) || (violation(a) == violation(b) && M.earlier(a, b));
        });
        in.resize(std::min({in.size(), most_, s.margin.size() / 4 + 8}));
        if (M.add(in)) return true;
        flush();
        return exchange(in.front());
    }
    /// Watch the points that violate their conditions most, or are nearest to it. If only a few points are about to
    /// enter M, distances are relative to the kernel values with them: points that are similar move most. Kernel values
    /// of watched points are scattered over the rows of M, so each costs as much time as some ten others in `flush`.
    void watch(const Array<Index>& in) {
        constexpr Index most = 64, few = 4;
        Numbers pull(s.n, 1.0);
        if (in.size() <= few && M.largest > 0) {
            std::fill(pull.begin(), pull.end(), 0.01);
            M.kernel.hold(in);
            for (const Index k : in) {
                const double* row = M.row(k);
                for (Index i = 0; i < s.n; ++i) pull[i] += std::abs(row[i]) / M.largest;
            }
        }
        const auto distance = [&](Index i) { return (s.place[i] == Place::low ? now_[i] : -now_[i]) / pull[i]; };
        for (Index i = 0; i < s.n; ++i)
            if ((s.place[i] == Place::low || s.place[i] == Place::high) && !s.fixed(i)) watched_.push_back(i);
        const Index count = std::min(watched_.size(), most);
        std::nth_element(watched_.begin(), watched_.begin() + count, watched_.end(), [&](Index i, Index j) {
            return distance(i) < distance(j) || (distance(i) == distance(j) && M.earlier(i, j));
        });
        watched_.resize(count);
        std::sort(watched_.begin(), watched_.end());
        for (const Index i : watched_) watching_[i] = 1;
    }
    /// All gradients are known.
    void catch_up() {
        now_.assign(s[line::g], s[line::g] + s.n);
        constant_ = 0;
        touched_.clear();
        watched_.clear();
        watching_.assign(s.n, 0);
    }
    /// Update all gradients by what has moved since the last time. G.outputs of M are known then.
    void flush() {
        Array<const double*> from;
        Numbers weights;
        for (const Index k : s.margin)
            if (moved_[k] == 0) touched_.push_back(k);
        M.kernel.hold(touched_);
        for (const Index k : touched_) {
            from.push_back(M.row(k));
            weights.push_back(std::exchange(moved_[k], 0.0));
        }
        G.settle(constant_, touched_, from, weights);
        knows_outputs_ = true;
        catch_up();
    }
    /// Move a point in the span of M together with M, which changes no gradient, until one of them reaches a bound.
    bool exchange(Index c) {
        double *alpha = s[line::alpha], *g = s[line::g];
        const double sign = g[c] < 0 ? 1.0 : -1.0, before = g[c];
        if (M.add(c)) {
            g[c] = before;
            return true;
        }
        Array<const double*> from = M.rows;
        from.push_back(M.row(c));
        Numbers b = M.direction(from.back());
        double step = sign > 0 ? s.high(c) - alpha[c] : alpha[c] - s.low(c);
        Index at = c;
        for (Index j = 0; j < s.margin.size(); ++j) {
            const Index k = s.margin[j];
            const double d = sign * b[j + 1];
            const double reach = (d > 0 ? s.high(k) - alpha[k] : alpha[k] - s.low(k)) / std::max(std::abs(d), eps);
            if (reach < step || (reach == step && at != c && M.earlier(k, at))) step = std::max(reach, 0.0), at = k;
        }
        const double constant = sign * step * b[0];
        b.erase(b.begin());
        b.push_back(1.0);
        for (double& x : b) x *= sign * step;
        for (Index j = 0; j < s.margin.size(); ++j) {
            const Index k = s.margin[j];
            const double wanted = alpha[k] + b[j], reached = std::clamp(wanted, s.low(k), s.high(k));
            if (reached != wanted) b[j] = reached - alpha[k];
            alpha[k] = reached;
        }
        alpha[c] += b.back();
        s.mu += constant;
        G.shift(constant, from, b);
        catch_up();
        ++s.counts.steps;
        if (at == c) {
            M.file(c, sign > 0);
            return true;
        }
        const bool high = std::abs(s.high(at) - alpha[at]) < std::abs(alpha[at] - s.low(at));
        M.remove(at);
        M.file(at, high);
        const double now = g[c];
        if (M.m() == 0 || !M.add(c)) return false;
        g[c] = now;
        return true;
    }
    /// Bring G of M and the balance to zero; members that reach a bound on the way leave M.
    bool complete_step() {
        double* alpha = s[line::alpha];
        Numbers residual(1, M.balance()), change;
        for (const Index k : s.margin) residual.push_back(now_[k]);
        Array<const double*> from = M.rows;  // rows of all coefficients that move
        Array<Index> who = s.margin, gone;
        Numbers before;
        for (const Index k : who) before.push_back(alpha[k]);
        double constant = 0;
        for (bool whole = false; !whole;) {
            ++s.counts.steps;
            M.kernel.poll();
            if (M.m() == 0) return false;
            change.resize(residual.size());
            {
                const Clock clock(s.counts, Part::sensitivity);
                s.q.multiply(residual.data(), change.data());
            }
            double step = 1;
            const auto reach = [&](Index j) {  // fraction of the step -change at which member j reaches a bound
                const Index k = s.margin[j];
                const double d = -change[j + 1];
                if (d == 0) return std::numeric_limits<double>::infinity();
                return std::max(0.0, (d > 0 ? s.high(k) - alpha[k] : s.low(k) - alpha[k]) / d);
            };
            for (Index j = 0; j < s.margin.size(); ++j) step = std::min(step, reach(j));
            whole = step >= 1;
            gone.clear();
            constant -= step * change[0];
            s.mu -= step * change[0];
            for (Index j = 0; j < s.margin.size(); ++j) {
                const Index k = s.margin[j];
                if (!whole && reach(j) <= step * tie) {
                    gone.push_back(k);
                    M.file(k, change[j + 1] < 0);
                    continue;
                }
                alpha[k] = std::clamp(alpha[k] - step * change[j + 1], s.low(k), s.high(k));
            }
            for (double& r : residual) r *= 1 - step;
            if (gone.empty()) continue;
            M.remove(gone, &residual);
        }
        for (const Index k : who)
            if (M.place(k) != Place::margin && !std::exchange(watching_[k], 1)) watched_.push_back(k);
        for (const Index i : watched_) now_[i] += constant;
        constant_ += constant;
        for (Index j = 0; j < who.size(); ++j) {
            const Index k = who[j];
            const double change = alpha[k] - before[j], *row = from[j];
            if (change == 0) continue;
            if (moved_[k] == 0) touched_.push_back(k);
            moved_[k] += change;
            for (const Index i : watched_) now_[i] += change * row[i];
        }
        for (const Index k : s.margin) now_[k] = 0;
        return true;
    }

    Margin<Source>& M;
    Gradient<Source>& G;
    State& s;
    Numbers now_;           // gradients of M and of the points watched; G of all points lags behind
    Numbers moved_;         // changes of coefficients that G does not have yet, by position
    Array<Index> touched_;  // positions with such changes
    double constant_ = 0;   // change of mu that G does not have yet
    Array<Index> watched_;  // positions whose gradients are kept up to date
    Index most_ = 0;        // points that enter M together
    bool knows_outputs_ = false;
    Array<char> watching_;  // whether a position is among them
};

}  // namespace hingeline::incremental
