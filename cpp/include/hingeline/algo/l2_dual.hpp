// The L2-SVM with penalised bias, for the algorithms that solve it a column of the kernel matrix at a time.
//
// Problem. Labels y = +1, -1, penalties c_i = C w_i:
//
//     minimise 1/2 (|w|^2 + b^2) + 1/2 sum c_i xi_i^2,  y_i (w.phi(x_i) + b) >= 1 - xi_i
//
// has the dual  maximise D(v) = sum v_i - 1/2 v'Qv, v >= 0,  Q_ij = y_i y_j (K_ij + 1) + delta_ij / c_i, without the
// "+ 1" where there is no bias; f(x) = sum v_i y_i (K(x_i, x) + 1), b = sum v_i y_i, xi_i = v_i / c_i. More than two
// classes at once: -1 / (classes - 1) stands for y_i y_j between different ones.
//
// What is held. Positions are rows, class after class, so that the sign y_i y_j is one factor for a stretch of a
// column. v and r are held in double whatever the precision of K; r = 1 - Qv (nnisda.hpp) or -Qv (min_norm.hpp).
//
// Laws. r is computed again from v before it is believed to be converged, and now and then on the way. Columns
// computed ahead of need and columns evicted change nothing: a step depends on v and r only. For a kernel that is
// positive semi-definite, D <= 1/2 sum c_i (the primal at w = 0): a step beyond that proves it is not, and is not
// taken.
#pragma once

#include <cmath>
#include <numeric>

#include "hingeline/kernel/columns.hpp"
#include "hingeline/run/stop.hpp"
#include "hingeline/run/trace.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline::l2 {

struct Params {
    bool bias = true;
    double tol = 1e-3;
    Index max_steps = std::numeric_limits<Index>::max();  // of a machine, over all calls
    std::size_t cache_bytes = std::size_t{200} << 20;
};

/// One machine: all that the next `learn` needs, and what it has found.
struct State {
    Array<Index> row;           // class after class, ascending within a class
    Array<int> code;            // class of each position
    Array<Index> end;           // where each class ends
    Array<double> c;            // penalties, > 0
    double other = -1.0;        // factor of the kernel between different classes
    double penalties = 0.0;     // sum of c
    Array<double> v;            // before the first step: a guess, or zeros
    Array<double> r, q;         // q: diagonal of Q, where a column has been used
    Peaks peaks{0, 0, -1, -1};  // of r; low: where v > 0
    double value = 0.0;         // D(v), or v'Qv
    double violation = 0.0;
    bool begun = false;
    bool stale = false;      // v has moved and r has not
    Array<State> inner;      // while rows rest: the others
    Array<Index> positions;  // of an inner state in the outer one
    double tol = 0;          // of an inner state
    Index steps = 0;
    Index since = 0;        // steps since r was computed from v
    Index doubts = 0;       // times that r, computed again, was not converged after all
    double last_value = 0;  // when r was last computed on the way
    Index note_every = 64;
    Index kernel_evals = 0;
    Reason reason = Reason::running;
    Trace trace{{"step", true},       {"seconds", false},   {"n_support", true},
                {"violation", false}, {"objective", false}, {"kernel_evals", true}};

    Index n() const { return row.size(); }
    double sign(int one, int another) const { return one == another ? 1.0 : other; }
};

/// A machine over the rows of some classes (ascending); `penalty[row]` > 0 for rows that take part.
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

/// What is known of a solution: v, D(v), the primal at the function of v, the largest |f| over the training rows, the
/// largest violation. NaN while that is not known: before the first step from a guess, and after an interrupt while
/// rows rest; largest is then 0.
struct Solution {
    Array<double> v;
    double dual = 0, primal = 0, largest = 0, violation = 0;
};
/// Of `v` with outputs Qv and value D(v).
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

enum class Step { taken, interrupted, stuck, indefinite };

/// The columns of one machine, and passes with them.
template <class Source> class Walk {
  public:
    using T = typename Source::Value;

    Walk(State& state, bool bias, std::size_t cache_bytes, const Source& source, Interrupt* interrupt)
        : s(state),
          bias_(bias),
          interrupt_(interrupt),
          held_(s.row.size(), nullptr),
          used_(s.row.size(), 0),
          columns_(source, std::max(cache_bytes, least_bytes(s.n())), s.n(), interrupt),
          speculation_(source, 0),
          all_fit_(columns_.room() >= s.n()) {
        columns_.lay_out(s.row);
    }

    /// The column of position `at`, or null when interrupted. The one asked for before stays where it is.
    const T* column(Index at) {
        if (!used_[at]) ++first_uses_;
        if (!held_[at]) {
            if (!fetch(at)) return nullptr;
        } else if (!all_fit_) {
            columns_.find(s.row[at]);  // in use: others are evicted first
        }
        if (!used_[at]) {
            used_[at] = 1;
            s.q[at] = static_cast<double>(held_[at][at]) + (bias_ ? 1.0 : 0.0) + 1.0 / s.c[at];
        }
        return held_[at];
    }

    /// Q(i, j), k being the column of j.
    double entry(Index i, Index j, const T* k) const {
        const double sign = s.sign(s.code[i], s.code[j]);
        return sign * (static_cast<double>(k[i]) + (bias_ ? 1.0 : 0.0));
    }

    /// r -= d Q(., i) + e Q(., j), k and l being the columns (l null: one only), after v has changed.
    void move(Index i, double d, const T* k, Index j = -1, double e = 0, const T* l = nullptr) {
        s.peaks = add(s.r.data(), i, d, k, j, e, l);
    }
    /// The peaks as they are.
    void look() {
        s.peaks = none;
        over_classes([&](int, Index from, Index count) {
            merge(s.peaks,
                  pass_ops<T>().add_and_peaks(s.r.data() + from, nullptr, 0, nullptr, 0, 0, s.v.data() + from, count),
                  from);
        });
    }

    /// The position with v > 0 whose step together with `at`, whose column is k, gains most (min_norm.hpp); -1: none.
    Index partner(Index at, const T* k) const {
        Most best{0, -1};
        const double top = s.r[at], own = s.q[at];
        over_classes([&](int code, Index from, Index count) {
            const double a = -2 * s.sign(code, s.code[at]);
            const Most some = pass_ops<T>().best_partner(s.r.data() + from, k + from, s.q.data() + from,
                                                         s.v.data() + from, top, a, own + (bias_ ? a : 0.0), count);
            if (some.at < 0 || some.value < best.value) return;
            if (some.value > best.value || row(from + some.at) < row(best.at)) best = {some.value, from + some.at};
        });
        return best.at;
    }

    /// r = start - Qv, computed from v. False when interrupted, and then nothing has changed.
    bool refresh(double start) {
        Array<double> r(s.v.size(), start);
        Peaks peaks = none;
        bool any = false;
        for (Index at = 0; at < s.n(); ++at) {
            if (!(s.v[at] > 0)) continue;
            const T* k = column(at);
            if (!k || (at % 64 == 0 && interrupted())) return false;
            peaks = add(r.data(), at, s.v[at], k, -1, 0, nullptr);
            any = true;
        }
        s.r = std::move(r);
        s.peaks = peaks;
        s.since = 0;
        if (!any) look();
        return true;
    }

    Index position_of(Index row) const {
        Index from = 0;
        for (const Index end : s.end) {
            const auto last = s.row.begin() + end, it = std::lower_bound(s.row.begin() + from, last, row);
            if (it != last && *it == row) return it - s.row.begin();
            from = end;
        }
        return -1;  // never
    }

    bool interrupted() { return interrupt_ && interrupt_->requested(); }
    Index row(Index at) const { return s.row[at]; }

    State& s;
    double level = 0.0;  // rows with r beyond this may need their columns soon

  private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr Peaks none{-infinity, infinity, -1, -1};

    /// Three columns at least: two are in use at a time.
    static std::size_t least_bytes(Index n) { return static_cast<std::size_t>(n + 256) * sizeof(T) * 4; }

    /// f(code, from, count) for the stretch of positions of each class.
    template <class F> void over_classes(F&& f) const {
        Index from = 0;
        for (Index code = 0; code < s.end.size(); ++code) {
            if (s.end[code] > from) f(static_cast<int>(code), from, s.end[code] - from);
            from = s.end[code];
        }
    }
    /// The lowest row on ties.
    void merge(Peaks& all, const Peaks& some, Index from) const {
        if (some.high_at >= 0 &&
            (some.high > all.high || (some.high == all.high && before(from + some.high_at, all.high_at))))
            all.high = some.high, all.high_at = from + some.high_at;
        if (some.low_at >= 0 && (some.low < all.low || (some.low == all.low && before(from + some.low_at, all.low_at))))
            all.low = some.low, all.low_at = from + some.low_at;
    }
    bool before(Index one, Index another) const { return another < 0 || row(one) < row(another); }

    Peaks add(double* r, Index i, double d, const T* k, Index j, double e, const T* l) const {
        r[i] -= d / s.c[i];
        if (l) r[j] -= e / s.c[j];
        Peaks all = none;
        over_classes([&](int code, Index from, Index count) {
            const double a = -d * s.sign(code, s.code[i]);
            const double c = l ? -e * s.sign(code, s.code[j]) : 0.0;
            merge(all,
                  pass_ops<T>().add_and_peaks(r + from, k + from, a, l ? l + from : nullptr, c, bias_ ? a + c : 0.0,
                                              s.v.data() + from, count),
                  from);
        });
        return all;
    }

    /// The column of `at`, and of others whose turn may come soon.
    bool fetch(Index at) {
        const Index room = columns_.room();
        const Index count = std::min(speculation_.next(first_uses_), all_fit_ ? room : room - 1);
        const Array<Index> positions = wanted(at, count);
        Array<Index> rows;
        for (const Index position : positions) rows.push_back(row(position));
        if (!columns_.fetch(rows, [&](Index old) { held_[position_of(old)] = nullptr; })) return false;
        s.kernel_evals += rows.size() * s.n();
        for (Index i = positions.size(); i-- > 0;)  // the first is then the last to be evicted
            held_[positions[i]] = columns_.find(rows[i]);
        return true;
    }
    /// `at` and at most count - 1 others without a column: support vectors where it is one, else the worst violators.
    Array<Index> wanted(Index at, Index count) {
        Array<Index> out{at};
        if (count <= 1) return out;
        // The smaller, the sooner: the next support vectors, or the largest r.
        const bool supports = s.v[at] > 0;
        Array<std::pair<double, Index>> heap;
        double bar = supports ? infinity : -level;
        for (Index i = 0; i < s.n(); ++i) {
            const double key = supports ? static_cast<double>(i > at ? i : i + s.n()) : -s.r[i];
            if (!(key < bar) || held_[i] || i == at || (supports && !(s.v[i] > 0))) continue;
            heap.emplace_back(key, i);
            std::push_heap(heap.begin(), heap.end());
            if (heap.size() < count) continue;
            std::pop_heap(heap.begin(), heap.end());
            heap.pop_back();
            bar = heap.front().first;
        }
        for (const auto& [key, i] : heap) out.push_back(i);
        return out;
    }
    const bool bias_;
    Interrupt* interrupt_;
    Array<const T*> held_;
    Array<char> used_;
    Index first_uses_ = 0;
    Columns<Source> columns_;
    Speculation speculation_;
    const bool all_fit_;
};

/// A row of the trace, from the rows in use.
inline void note(State& book, const State& s, double dual) {
    const auto supports = std::count_if(s.v.begin(), s.v.end(), [](double v) { return v > 0; });
    book.trace.add({static_cast<double>(book.steps), static_cast<double>(supports), s.violation, dual,
                    static_cast<double>(book.kernel_evals)});
}

/// Kernel values of a walk at some of its positions.
template <class Source> class Restricted {
  public:
    using Value = typename Source::Value;
    Restricted(Walk<Source>& whole, const Array<Index>& positions) : whole_(whole), positions_(positions) {}
    static int block() { return 1; }
    static int grain() { return 1; }
    static bool blocks_pay() { return false; }
    static void prepare(Ids, Scratch<Value>&, std::size_t) {}
    bool columns(Ids queries, Ids, Value* const* columns, Scratch<Value>&) const {
        for (Index q = 0; q < queries.count; ++q) {
            const Value* k = whole_.column(whole_.position_of(queries[q]));
            if (!k) return false;
            Value* to = columns[q];
            for (const Index position : positions_) *to++ = k[position];
        }
        return true;
    }

  private:
    Walk<Source>& whole_;
    const Array<Index>& positions_;
};

namespace detail {

/// Rounding errors of this many steps are of no concern.
inline Index refresh_period(const State& s) { return std::max<Index>(1 << 16, 8 * s.n()); }

/// Rows rest only in machines with at least so many, and it is asked every so many steps whether they might.
constexpr Index fewest_rows = 512, rest_period = 250;
/// Rows without weight whose output is this far beyond the margin may rest.
constexpr double rest_margin = 0.1;
/// What is left of a violation when resting rows are looked at again.
constexpr double rest_part = 0.02;

/// One call of `learn`.
template <class Rule> class Run {
  public:
    /// `book` has the counters and the trace.
    Run(State& book, const Params& p, const Rule& rule, Index last, Interrupt* interrupt)
        : book_(book), p_(p), rule_(rule), last_(last), interrupt_(interrupt) {}

    template <class Source> Reason whole(Walk<Source>& walk) {
        State& s = walk.s;
        if (s.row.empty()) return Reason::tolerance;
        if (!s.begun) {
            Array<double> guess(s.v);
            Step begun = Step::interrupted;
            try {
                begun = rule_.begin(walk);
            } catch (...) {
                s.v = std::move(guess);
                throw;
            }
            if (begun == Step::interrupted) s.v = std::move(guess);
            if (begun != Step::taken) return begun == Step::interrupted ? Reason::interrupted : Reason::indefinite;
            s.begun = true;
            s.violation = rule_.violation(s);
            s.last_value = s.value;
        }
        while (true) {
            if (!s.inner.empty()) {
                const Reason reason = inner(walk);
                if (reason != Reason::running || !s.inner.empty()) return reason;
            }
            if (s.since >= refresh_period(s)) {
                if (const Reason reason = again(walk, false); reason != Reason::running) return reason;
                if (!rule_.better(s.value, s.last_value)) return Reason::precision;
                s.last_value = s.value;
            }
            if (s.violation <= p_.tol) {
                if (s.since == 0) return Reason::tolerance;
                if (const Reason reason = again(walk, false); reason != Reason::running) return reason;
                if (s.violation <= p_.tol) return Reason::tolerance;
                if (++s.doubts > most_doubts) return Reason::precision;
            }
            if (s.n() >= fewest_rows && s.since % rest_period == 0 && rest(s)) continue;
            if (book_.steps >= last_) return Reason::running;
            if (const Reason reason = one(walk); reason != Reason::running) return reason;
        }
    }

  private:
    static constexpr Index most_doubts = 20;

    /// One step.
    template <class Source> Reason one(Walk<Source>& walk) {
        State& s = walk.s;
        if (book_.steps >= p_.max_steps) return Reason::steps;
        const Index columns = book_.kernel_evals;
        const Step step = rule_.step(walk);
        if (step == Step::interrupted) return Reason::interrupted;
        // Rounding errors of many steps may look like it.
        if (step == Step::indefinite) return s.since == 0 ? Reason::indefinite : again(walk, true);
        if (step == Step::stuck) return s.since == 0 ? Reason::precision : again(walk, true);  // in rounding errors
        ++book_.steps, ++s.since;
        s.violation = rule_.violation(s);
        if (book_.steps % book_.note_every == 0) {
            note(book_, s, rule_.dual(s));
            if (book_.trace.size() >= 256) book_.trace.thin(), book_.note_every *= 2;
        }
        // Steps are short, and asking for the time is not free; a column may take long.
        if ((book_.steps % 16 == 0 || book_.kernel_evals != columns) && interrupt_ && interrupt_->requested())
            return Reason::interrupted;
        return Reason::running;
    }

    /// r from v.
    template <class Source> Reason again(Walk<Source>& walk, bool doubt) {
        State& s = walk.s;
        if (!walk.refresh(Rule::start)) return Reason::interrupted;
        rule_.measure(s);
        s.violation = rule_.violation(s);
        if (!rule_.sound(s)) return Reason::precision;
        return doubt && ++s.doubts > most_doubts ? Reason::precision : Reason::running;
    }

    /// Let the rows rest that have no weight and violate nothing by far, if they are many.
    bool rest(State& s) const {
        Array<Index> near;
        const double far = rule_.level(s, -std::max(rest_margin, s.violation));
        for (Index i = 0; i < s.n(); ++i)
            if (s.v[i] > 0 || s.r[i] > far) near.push_back(i);
        if (2 * near.size() > s.n()) return false;
        State t;
        t.end.assign(s.end.size(), 0);
        for (const Index i : near) {
            t.row.push_back(s.row[i]), t.code.push_back(s.code[i]), t.c.push_back(s.c[i]);
            t.v.push_back(s.v[i]), t.r.push_back(s.r[i]), t.q.push_back(s.q[i]);
            ++t.end[s.code[i]];
        }
        for (Index k = 1; k < t.end.size(); ++k) t.end[k] += t.end[k - 1];
        t.other = s.other, t.penalties = s.penalties, t.value = t.last_value = s.value;
        t.violation = s.violation;
        t.begun = true;
        t.tol = std::max(p_.tol, rest_part * s.violation);
        t.positions = std::move(near);
        s.inner.push_back(std::move(t));
        return true;
    }

    /// Steps on the rows that do not rest, then a look at all.
    template <class Source> Reason inner(Walk<Source>& outer) {
        State &s = outer.s, &t = s.inner.front();
        Reason reason = Reason::running;
        const auto put_back = [&] {
            for (Index i = 0; i < t.positions.size(); ++i) s.v[t.positions[i]] = t.v[i];
            s.value = t.value, s.violation = t.violation;
            s.stale = true;
        };
        try {
            const Restricted<Source> source(outer, t.positions);
            Walk<Restricted<Source>> walk(t, p_.bias, p_.cache_bytes / 8, source, interrupt_);
            walk.look();
            while (t.violation > t.tol && t.since < refresh_period(t) && book_.steps < last_) {
                reason = one(walk);
                if (reason != Reason::running) break;
            }
        } catch (...) {
            put_back();
            throw;
        }
        put_back();
        if (reason == Reason::interrupted) return reason;
        const bool goes_on = reason == Reason::running && book_.steps >= last_ && t.violation > t.tol;
        if (const Reason halt = again(outer, false); halt != Reason::running) return halt;
        s.stale = false;
        if (goes_on) return Reason::running;
        s.inner.clear();
        if (s.violation <= p_.tol) return Reason::tolerance;
        if (!rule_.better(s.value, s.last_value) && ++s.doubts > most_doubts) return Reason::precision;
        s.last_value = s.value;
        return reason;
    }

    State& book_;
    const Params& p_;
    const Rule& rule_;
    const Index last_;
    Interrupt* interrupt_;
};

}  // namespace detail

/// Go on until no row violates the conditions by more than `tol`, the budget is spent or someone interrupts. `rule`
/// says which step to take. The result does not depend on the cache or on how the steps are split over calls.
template <class Rule, class Source>
void learn(State& s, const Params& p, const Source& source, const Stop& stop, const Rule& rule) {
    if (s.reason == Reason::interrupted) s.reason = Reason::running;
    if (s.reason != Reason::running) return;
    const Index most = std::numeric_limits<Index>::max();
    const Index last = stop.max_steps < most - s.steps ? s.steps + stop.max_steps : most;
    Trace::Running clock(s.trace);
    try {
        Walk<Source> walk(s, p.bias, p.cache_bytes - p.cache_bytes / 8, source, stop.interrupt);
        s.reason = detail::Run<Rule>(s, p, rule, last, stop.interrupt).whole(walk);
    } catch (...) {  // a kernel function of the user's may throw: what was learnt before stays
        s.reason = Reason::interrupted;
        if (s.begun) note(s, s, rule.dual(s));
        throw;
    }
    if (s.begun) note(s, s, rule.dual(s));
}

}  // namespace hingeline::l2
