// Sets: several points at a time, by an active-set method that goes to the optimum without following a path.
//
// From any coefficients within their boxes: Newton steps on M stop at the first bounds, whose points leave M, until one
// step is complete. Such a step scales the residual of M by a known factor, so it needs no kernel rows. Then all
// gradients are updated in one pass, and points that violate the KKT conditions enter M. The objective falls from round
// to round. Reasons: docs/decisions/0010.
#pragma once

#include "hingeline/algo/incremental/gradient.hpp"

namespace hingeline::incremental {

template <class Source> class Sets {
  public:
    Sets(Margin<Source>& margin, Gradient<Source>& gradient) : M(margin), G(gradient), s(margin.s) {}

    /// Set coefficients to zero and update the gradients. The sum of the coefficients is then out of balance.
    void leave(const Array<Index>& points) {
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
    }
    /// Go to the optimum; false if it takes too many rounds or a system is singular.
    bool pivot() {
        constexpr int most_rounds = 200;
        double* g = s[line::g];
        Array<Index> in;
        for (int round = 0; round < most_rounds; ++round) {
            if (!complete_step()) return false;
            M.measure();
            in.clear();
            for (Index i = 0; i < s.n; ++i) {
                const Place where = M.place(i);
                if ((where == Place::low || where == Place::high) && !s.fixed(i) && M.violation(i) > M.slack())
                    in.push_back(i);
            }
            if (in.empty()) {
                for (const Index k : s.margin) g[k] = 0;
                return true;
            }
            std::sort(in.begin(), in.end(), [&](Index a, Index b) {
                return M.violation(a) > M.violation(b) || (M.violation(a) == M.violation(b) && M.earlier(a, b));
            });
            // Many points at once make M large, and they leave it one by one; few at once make many rounds.
            in.resize(std::min(in.size(), s.margin.size() / 4 + 8));
            if (!M.add(in) && !exchange(in.front())) return false;
        }
        return false;
    }

  private:
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
        double *alpha = s[line::alpha], *g = s[line::g];
        Numbers residual(1, M.balance()), change, moved;
        for (const Index k : s.margin) residual.push_back(g[k]);
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
        moved.resize(who.size());
        for (Index j = 0; j < who.size(); ++j) moved[j] = alpha[who[j]] - before[j];
        G.shift(constant, from, moved);
        return true;
    }

    Margin<Source>& M;
    Gradient<Source>& G;
    State& s;
};

}  // namespace hingeline::incremental
