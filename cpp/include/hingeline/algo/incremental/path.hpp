// Path: the exact path of [INC] 2.3, 4.1, Algorithm 1. A driver moves, mu and the coefficients of M follow so that G_M
// = 0, until the next event: a member of M reaches a bound, a gradient outside M reaches zero, or the driver is done.
#pragma once

#include "hingeline/algo/incremental/gradient.hpp"

namespace hingeline::incremental {

template <class Source> class Path {
  public:
    Path(Margin<Source>& margin, Gradient<Source>& gradient) : M(margin), G(gradient), s(margin.s) {}

    /// Start a new operation: reset the step counter.
    void start() {
        taken_ = idle_ = 0;
        rescued_ = false;
        s.events.clear();
    }
    /// Called once per step. Poll for interrupts; detect cycling.
    void count_step() {
        ++s.counts.steps;
        M.kernel.poll();
        if (++taken_ <= 50 * s.n + 1000) return;
        if (rescued_) throw Stuck();
        rescued_ = true;
        taken_ = 0;
        rebuild();
        G.refresh();
    }

    /// Move the coefficient of c until G of c is zero or it reaches its bound ([INC] Algorithm 1).
    void drive(Index c) {
        double *alpha = s[line::alpha], *g = s[line::g];
        const double sign = g[c] < 0 ? 1.0 : -1.0;
        M.place(c) = Place::out;
        M.kernel.driver = c;
        const double* column = M.row(c);
        const auto room = [&] { return sign > 0 ? s.high(c) - alpha[c] : alpha[c] - s.low(c); };
        while (sign * g[c] < -M.slack() && room() > 0) {
            count_step();
            if (M.m() == 0) {
                const Index k = move_mu(sign, c);
                if (k == c) break;
                enter(k);
                continue;
            }
            sense(column, 1.0);
            Event e = find(sign, 0.0);
            bool done = false;
            const double slope = G.gamma.data()[c];
            if (slope > eps * M.largest && -sign * g[c] / slope <= e.step * tie)
                e.step = -sign * g[c] / slope, done = true;
            bool bound = false;
            if (room() <= e.step * tie) e.step = room(), done = bound = true;
            apply(e.step, sign);
            alpha[c] = bound ? (sign > 0 ? s.high(c) : s.low(c)) + 0.0 : alpha[c] + sign * e.step;
            if (done && !bound) g[c] = 0;
            if (done) break;
            migrate(e);
        }
        seat(c, sign);
        M.kernel.driver = -1;
    }

    /// Put the driver into its set. A point in the span of M moves on, at G = 0, until it or a member reaches a bound.
    void seat(Index c, double sign) {
        double* alpha = s[line::alpha];
        while (alpha[c] > s.low(c) && alpha[c] < s.high(c)) {
            if (M.add(c)) return note(c);
            count_step();
            sense(M.row(c), 1.0);
            Event e = find(sign, 0.0);
            const double room = sign > 0 ? s.high(c) - alpha[c] : alpha[c] - s.low(c);
            const bool bound = room <= e.step * tie;
            apply(bound ? room : e.step, sign);
            alpha[c] = bound ? (sign > 0 ? s.high(c) : s.low(c)) + 0.0 : alpha[c] + sign * e.step;
            if (std::abs(s[line::g][c]) <= M.slack()) s[line::g][c] = 0;
            if (!bound) migrate(e);
        }
        M.place(c) = alpha[c] >= s.high(c) ? Place::high : Place::low;
        note(c);
    }

    /// Move the coefficient of c to zero.
    void release(Index c) {
        double* alpha = s[line::alpha];
        if (M.place(c) == Place::margin) M.remove(c);
        M.place(c) = Place::out;
        M.kernel.driver = c;
        const double* column = M.row(c);
        const double sign = alpha[c] > 0 ? -1.0 : 1.0;
        while (alpha[c] != 0) {
            count_step();
            if (M.m() == 0) {
                if (const Index k = move_mu(sign, -1); k >= 0) {
                    enter(k);
                    continue;
                }
                // No other coefficient can balance it: it is a rounding error of a sum of coefficients at bounds.
                if (std::abs(alpha[c]) > 1e-9 * (s[line::up][c] + s[line::dn][c]) * s.C) throw Stuck();
                alpha[c] = 0;
                break;
            }
            sense(column, 1.0);
            Event e = find(sign, 0.0);
            const bool done = std::abs(alpha[c]) <= e.step * tie + 1e-2 * M.least_change();
            if (done) e.step = std::abs(alpha[c]);
            apply(e.step, sign);
            alpha[c] = done ? 0.0 : alpha[c] + sign * e.step;
            if (!done) migrate(e);
        }
        M.kernel.driver = -1;
    }
    /// Move C to another value; coefficients at their bounds move with it.
    void follow(double target) {
        double *alpha = s[line::alpha], *g = s[line::g];
        // col: change of G per unit of C, from the coefficients at bounds.
        Aligned<double> column;
        double* col = column.reserve(padded(s.n));
        Numbers weights(s.margin.size());
        double first = 0;
        for (Index j = 0; j < weights.size(); ++j) weights[j] = -alpha[s.margin[j]];
        for (Index i = 0; i < s.n; ++i) col[i] = g[i] - s.mu + s[line::p][i];
        std::fill(col + s.n, col + padded(s.n), 0.0);
        pass_ops<double>().combine(M.rows.data(), weights.data(), M.m(), 0, padded(s.n), col);
        for (Index i = 0; i < s.n; ++i) {
            col[i] /= s.C;
            if (M.place(i) != Place::margin) first += alpha[i] / s.C;
        }
        const auto joins = [&](Index k, double times) {  // times 1: k is at a bound from now on; -1: no longer
            const double rate = times * alpha[k] / s.C;
            if (rate == 0) return;
            first += rate;
            const double* line_k = M.row(k);
            for (Index i = 0; i < s.n; ++i) col[i] += rate * line_k[i];
        };
        // If no coefficient is at a bound that moves, the optimum is that of every larger C. A path would multiply
        // rounding errors of its direction by the distance.
        const auto unbounded = [&] {
            for (Index i = 0; i < s.n; ++i)
                if ((M.place(i) == Place::high || M.place(i) == Place::low) && alpha[i] != 0) return false;
            return true;
        };
        while (s.C != target) {
            if (target > s.C && unbounded()) {
                s.C = target;
                return;
            }
            count_step();
            const double sign = target > s.C ? 1.0 : -1.0;
            if (M.m() == 0 && std::abs(first) > eps) {
                const Index k = move_mu(first > 0 ? sign : -sign, -1);
                if (k >= 0) {
                    joins(k, -1.0);
                    enter(k);
                    continue;
                }
            }
            if (M.m() == 0) {
                std::copy_n(col, s.n, G.gamma.reserve(padded(s.n)));
                G.beta.assign(1, 0.0);
                G.residual = 0;
            } else {
                sense(col, first);
            }
            Event e = find(sign, 1.0);
            const bool done = std::abs(target - s.C) <= e.step * tie;
            if (done) e.step = std::abs(target - s.C);
            s.C = done ? target : s.C + sign * e.step;
            apply(e.step, sign);
            for (Index i = 0; i < s.n; ++i)
                if (M.place(i) == Place::high || M.place(i) == Place::low)
                    alpha[i] = (M.place(i) == Place::high ? s.high(i) : s.low(i)) + 0.0;
            if (done) return;
            if (e.at < 0) throw Stuck();
            if (e.kind == Kind::margin) {
                joins(e.at, -1.0);
                if (!enter(e.at)) {
                    joins(e.at, 1.0);
                    block(e.at);
                }
            } else {
                migrate(e);
                joins(e.at, 1.0);
            }
        }
    }

    /// Compute the inverse again; members that depend linearly on others leave M.
    void rebuild() {
        const Index before = std::exchange(M.kernel.outer, M.kernel.driver);
        for (const Index k : M.rebuild()) {
            M.kernel.driver = k;
            seat(k, 1.0);
        }
        M.kernel.driver = std::exchange(M.kernel.outer, before);
        G.drift = std::numeric_limits<double>::infinity();  // earlier directions were inaccurate: G is computed again
                                                            // at the end
    }
    /// Points that have left M may enter again.
    void forget_left() { left_.clear(); }

  private:
    enum class Kind { none, low, high, margin };
    struct Event {
        double step = std::numeric_limits<double>::infinity();
        Index at = -1;
        Kind kind = Kind::none;
    };

    void sense(const double* column, double first) {
        if (G.sense(column, first)) return;
        rebuild();
        G.sense(column, first);
    }
    /// Point k enters M; false if it depends linearly on M. If it has violated the KKT conditions before, its gradient
    /// is not zero: G is computed again at the end.
    bool enter(Index k) {
        if (std::abs(s[line::g][k]) > M.slack()) G.drift = std::numeric_limits<double>::infinity();
        if (!M.add(k)) return false;
        note(k);
        return true;
    }
    /// Record the set that point k has joined.
    void note(Index k) {
        const bool inside = M.place(k) == Place::margin;
        s.events.push_back({M.serial(k), inside ? Set::S : s[line::alpha][k] == 0 ? Set::O : Set::E});
    }
    static bool among(const Array<Index>& some, Index k) {
        return std::find(some.begin(), some.end(), k) != some.end();
    }
    void block(Index k) {
        if (blocked_at_ != M.changes) blocked_.clear();
        blocked_at_ = M.changes;
        blocked_.push_back(k);
    }
    /// The first event if the driver moves in direction `sign`; `rate` is 1 if C is the driver.
    Event find(double sign, double rate) {
        const Clock clock(s.counts, Part::search);
        Event best;
        // More steps of no length than ties explain, or many times the usual number of steps.
        const bool circling = idle_ > 16 || taken_ > 4 * s.n + 100;
        const auto consider = [&](double step, Index at, Kind kind) {
            step = std::max(step, 0.0);
            if (!(step <= best.step) ||
                (step == best.step && best.at >= 0 && !(M.earlier(at, best.at) && best.kind == kind)))
                return;
            if (kind == Kind::margin && blocked_at_ == M.changes && among(blocked_, at)) return;
            if (kind == Kind::margin && circling && step <= M.least_change() && among(left_, at)) return;
            best = {step, at, kind};
        };
        const double *alpha = s[line::alpha], *g = s[line::g], *gamma = G.gamma.data();
        for (Index j = 0; j < s.margin.size(); ++j) {
            const Index k = s.margin[j];
            const double rise = sign * G.beta[j + 1];
            const double up = rise - sign * rate * s[line::up][k], down = -rise - sign * rate * s[line::dn][k];
            if (up > eps) consider((s.high(k) - alpha[k]) / up, k, Kind::high);
            if (down > eps) consider((alpha[k] - s.low(k)) / down, k, Kind::low);
        }
        const double least = eps * M.largest;
        for (Index i = 0; i < s.n; ++i) {
            const double slope = sign * gamma[i];
            const Place where = s.place[i];
            const bool nears = (where == Place::low && slope < -least) || (where == Place::high && slope > least);
            if (nears && !s.fixed(i)) consider(-g[i] / slope, i, Kind::margin);
        }
        return best;
    }
    /// Move mu, the coefficients of M and all gradients by `step` in direction `sign`.
    void apply(double step, double sign) {
        const Clock clock(s.counts, Part::search);
        ++idle_;
        if (step > M.least_change()) left_.clear(), idle_ = 0;
        G.drift += step * G.residual;
        const double theta = sign * step;
        double *alpha = s[line::alpha], *g = s[line::g];
        const double* gamma = G.gamma.data();
        s.mu += theta * G.beta[0];
        for (Index j = 0; j < s.margin.size(); ++j) {
            const Index k = s.margin[j];
            const double wanted = alpha[k] + theta * G.beta[j + 1];
            alpha[k] = std::clamp(wanted, s.low(k), s.high(k));
            if (std::abs(alpha[k] - wanted) > M.least_change()) G.drift = std::numeric_limits<double>::infinity();
        }
        for (Index i = 0; i < s.n; ++i) g[i] += theta * gamma[i];
        for (const Index k : s.margin) g[k] = 0;
    }

    /// Move the point of an event to its new set. Throw if there is no event: numbers are out of range.
    void migrate(const Event& e) {
        if (e.at < 0) throw Stuck();
        if (e.kind == Kind::margin) {
            if (!enter(e.at)) block(e.at);
            return;
        }
        M.remove(e.at);
        M.file(e.at, e.kind == Kind::high);
        note(e.at);
        left_.push_back(e.at);
    }
    /// M is empty: move mu in direction `sign` until a gradient is zero. Returns its position or -1; `self` is a
    /// candidate.
    Index move_mu(double sign, Index self) {
        double* g = s[line::g];
        double best = self >= 0 ? std::abs(g[self]) : std::numeric_limits<double>::infinity();
        Index at = self;
        for (Index i = 0; i < s.n; ++i) {
            if (M.place(i) != (sign > 0 ? Place::high : Place::low) || s.fixed(i)) continue;
            const double step = std::max(-sign * g[i], 0.0);
            if (step < best || (step == best && at != self && M.earlier(i, at))) best = step, at = i;
        }
        if (at < 0) return -1;
        s.mu += sign * best;
        for (Index i = 0; i < s.n; ++i) g[i] += sign * best;
        if (std::abs(g[at]) <= M.slack()) g[at] = 0;
        return at;
    }

    Margin<Source>& M;
    Gradient<Source>& G;
    State& s;
    Array<Index> blocked_;  // depend linearly on M as it was after `blocked_at_` changes
    Index blocked_at_ = -1;
    Array<Index> left_;  // have left M since the last step of nonzero length; entering again would cycle
    Index taken_ = 0;
    Index idle_ = 0;  // steps since the last one of nonzero length
    bool rescued_ = false;
};

}  // namespace hingeline::incremental
