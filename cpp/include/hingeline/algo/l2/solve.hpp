// The loop of the L2-SVM algorithms: steps, refreshes of r, shrinking.
//
// Rule. `begin(walk)` prepares v and r, `step(walk)` takes one step; `violation`, `measure` (sets value), `dual`,
// `level` (r of a row with v = 0 and a given violation), `sound` and `better` (value compared with an earlier one)
// describe the objective; `start` is r at v = 0. `newton` says whether Newton's method may come between the steps; then
// `to_dual` and `from_dual` convert v and r to the form r = 1 - Qv.
//
// Shrinking. Rows with v = 0 that are far from a violation are left out for a while: an inner machine over the other
// rows takes the steps, then r of all rows is computed again. The inner machine is part of the state, so that a call
// may end in between.
//
// Blocks. Machines of two classes with 512 rows or more take their steps on working sets (blocks.hpp), each as a whole,
// where the paper's steps are not asked for. Newton's method follows if they take long.
//
// Newton, without working sets. If the steps left would take longer, Newton's method (newton.hpp) comes in between, as
// one step. They are extrapolated from the fall of the violation, which is nearly geometric. Large machines make it
// after a few steps.
//
// Precision. Training ends early only after a run of Newton's method that did not halve the violation: if steps change
// nothing and the violation is within the rounding errors of r, or after several such runs. It then returns to the run
// with the smallest violation in proportion to the dual objective.
#pragma once

#include "hingeline/algo/l2/blocks.hpp"

namespace hingeline::l2 {

/// Source of the kernel values of a walk at some of its positions.
template <class Source> class Restricted {
  public:
    using Value = typename Source::Value;
    Restricted(Walk<Source>& whole, const Array<Index>& positions) : whole_(whole), positions_(positions) {}
    static int block() { return 1; }
    static int grain() { return 1; }
    static bool blocks_pay() { return false; }
    static void prepare(Ids, Scratch<Value>&, std::size_t) {}
    bool columns(Ids queries, Ids base, Value* const* columns, Scratch<Value>& scratch) const {
        if (base.count < positions_.size()) return whole_.columns.source().columns(queries, base, columns, scratch);
        for (Index q = 0; q < queries.count; ++q) {
            const Value* k = whole_.columns.at(whole_.columns.position_of(queries[q]));
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

/// Steps between refreshes of r: rounding errors of so many steps are small.
inline Index refresh_period(const State& s) { return std::max<Index>(1 << 16, 8 * s.n()); }

/// Shrinking is used in machines with at least so many rows, and tried every so many steps.
constexpr Index fewest_rows = 512, shrink_period = 250;
/// Rows with v = 0 whose output is this far beyond the margin may be shrunk away.
constexpr double shrink_margin = 0.1;
/// All rows are checked again when the violation has fallen to this fraction.
constexpr double shrink_fraction = 0.02;

/// Fewest steps between two runs of Newton's method: in small machines steps cost nothing.
inline Index fewest_steps(const State& s) { return std::clamp<Index>((1 << 22) / s.n(), 2048, 32768); }
/// A run of Newton's method on m of n rows takes as long as m^2 / n * steps_per_row + m * steps_per_column steps
/// (measured), or Pace::cost if m rows are too many to hold their kernel values. Such a run comes after least_spent
/// times as many steps, since the first of them tell little; any run comes after most_spent times as many.
constexpr double steps_per_row = 10.0, steps_per_column = 10.0, least_spent = 0.25, most_spent = 4.0;
/// A run that does not halve the violation doubles `patience`; after this many of them in a row, rounding errors
/// prevent progress.
constexpr Index most_failures = 5;
/// Accuracy of Newton's method relative to the tolerance.
constexpr double newton_goal = 0.5;
/// A run of Newton's method on m rows takes as long as m^2 times so many kernel values (measured: 50 to 400), if those
/// between the rows are held, and if not.
constexpr double values_held = 200.0, values_computed = 1000.0;
/// Violation after the steps on a working set, relative to the tolerance: it is measured on both sides of the margin.
constexpr double block_goal = 0.8;
/// Steps of a large machine before the first run of Newton's method.
constexpr Index few_steps = 32;

/// One call of `learn`.
template <class Rule> class Run {
  public:
    /// `book` holds the counters and the trace.
    Run(State& book, const Params& p, const Rule& rule, Index last, Interrupt* interrupt)
        : book_(book), p_(p), rule_(rule), last_(last), most_steps_(most_steps(p, book.n())), interrupt_(interrupt) {}

    template <class Source> Reason whole(Walk<Source>& walk) {
        const Reason reason = loop(walk);
        if (reason == Reason::precision && 2 * walk.s.best_merit < merit(walk.s)) return put_back_best(walk);
        return reason;
    }

  private:
    static constexpr Index most_doubts = 20;

    template <class Source> Reason loop(Walk<Source>& walk) {
        State& s = walk.s;
        if (s.row.empty()) return Reason::tolerance;
        Blocks<Source> blocks(walk, p_.bias);
        walk.at_once = in_blocks<Source>(s);
        if (!s.begun)
            if (const Reason reason = begin(walk); reason != Reason::running) return reason;
        while (true) {
            walk.at_once = in_blocks<Source>(s);
            if (!s.inner.empty()) {
                const Reason reason = inner(walk);
                if (reason != Reason::running || !s.inner.empty()) return reason;
            }
            if (s.since >= refresh_period(s)) {
                if (const Reason reason = again(walk, false); reason != Reason::running) return reason;
                if (!rule_.better(s.value, s.last_value))
                    if (const Reason reason = last_resort(walk); reason != Reason::running) return reason;
                s.last_value = s.value;
            }
            if (s.violation <= p_.tol) {
                if (s.since == 0) return Reason::tolerance;
                if (const Reason reason = again(walk, false); reason != Reason::running) return reason;
                if (s.violation <= p_.tol) return Reason::tolerance;
                if (++s.doubts > most_doubts) return Reason::precision;
            }
            if (!walk.at_once && s.n() >= fewest_rows && s.since % shrink_period == 0 && shrink(s)) continue;
            if (book_.steps >= last_) return Reason::running;
            if constexpr (Rule::newton)
                if (walk.at_once) {
                    if (const Reason reason = block(walk, blocks); reason != Reason::running) return reason;
                    continue;
                }
            if (const Reason reason = one(walk); reason != Reason::running) return reason;
        }
    }

    template <class Source> Reason begin(Walk<Source>& walk) {
        State& s = walk.s;
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
        return Reason::running;
    }

    /// Steps in rounding errors may have made it worse: return to the best v, if a fresh r confirms that it is better.
    template <class Source> Reason put_back_best(Walk<Source>& walk) {
        State& s = walk.s;
        const Array<double> r(s.r);
        const double value = s.value, before = merit(s);
        bool done = false;
        std::swap(s.v, s.best);
        try {
            done = walk.refresh(Rule::start);
        } catch (...) {
            std::swap(s.v, s.best);
            throw;
        }
        if (done) rule_.measure(s), s.violation = rule_.violation(s);
        if (!done || !(merit(s) < before)) {
            std::swap(s.v, s.best), s.r = r, s.value = value;
            walk.look();
        }
        s.violation = rule_.violation(s);
        if (!done) return Reason::interrupted;
        return s.violation <= p_.tol ? Reason::tolerance : Reason::precision;
    }

    /// Whether steps are taken on working sets.
    template <class Source> bool in_blocks(const State& s) const {
        // A kernel value from a function costs far more than a step: none is computed twice while it fits the cache.
        constexpr bool asked = std::is_same_v<Source, Called<typename Source::Value>>;
        return Rule::newton && !asked && p_.newton && s.held != Held::none && s.other == -1 &&
               s.n() >= Blocks<Source>::fewest_rows;
    }
    /// One working set, or a run of Newton's method. It is not divided into calls.
    template <class Source> Reason block(Walk<Source>& walk, Blocks<Source>& blocks) {
        State& s = walk.s;
        if (s.steps >= most_steps_) return Reason::steps;
        Step step = Step::stuck;
        const bool newton_now = newton_is_tried(s);
        if (newton_now) {
            blocks.release();
            step = newton(walk, false);
            if (s.pace.failures > most_failures && s.violation > p_.tol) return Reason::precision;
            s.steps += step == Step::taken;
        } else {
            step = round(walk, blocks);
        }
        if (step == Step::interrupted) return Reason::interrupted;
        if (step == Step::stuck) return Reason::running;
        ++s.since;
        note(s, s, rule_.dual(s));
        if (s.trace.size() >= 256) s.trace.thin();
        return Reason::running;
    }
    /// Steps on a working set; unless they are taken, v and r keep their bits.
    template <class Source> Step round(Walk<Source>& walk, Blocks<Source>& blocks) {
        State& s = walk.s;
        const Array<double> v(s.v), r(s.r);
        const Array<Index> working(s.working);
        const double value = s.value, violation = s.violation;
        const Index rounds = s.rounds;
        Step step = Step::interrupted;
        const auto put_back = [&] {
            s.v = v, s.r = r, s.value = value;
            if (step == Step::interrupted) s.working = working, s.rounds = rounds;
        };
        try {
            rule_.to_dual(s);
            step = blocks.round(block_goal * p_.tol, most_steps_ - s.steps);
            if (step == Step::taken) rule_.from_dual(s);
        } catch (...) {
            put_back();
            throw;
        }
        if (step != Step::taken || !rule_.sound(s)) {
            put_back();
            if (step == Step::taken) step = blocks.end();
            return step;
        }
        s.steps += blocks.steps();
        walk.look();
        s.violation = rule_.violation(s);
        s.pace.work += blocks.work();
        if (s.violation >= violation && !rule_.better(s.value, value)) blocks.fail();  // in rounding errors
        return step;
    }
    /// Whether the working sets since the last run of Newton's method have taken as long as one takes: then the time is
    /// at most about twice that of the better of the two. A run that does not help doubles the wait.
    bool newton_is_tried(const State& s) const {
        const auto m = static_cast<double>(std::count_if(s.v.begin(), s.v.end(), [](double v) { return v > 0; }));
        const double cost = (m > static_cast<double>(p_.most_held) ? values_computed : values_held) * m * m;
        return s.pace.work > std::ldexp(cost, static_cast<int>(s.pace.failures));
    }

    /// One step.
    template <class Source> Reason one(Walk<Source>& walk) {
        State& s = walk.s;
        if (book_.steps >= most_steps_) return Reason::steps;
        const Index columns = book_.kernel_evals;
        bool newton_now = false;
        Step step = Step::interrupted;
        if constexpr (Rule::newton) {
            const bool at_once = p_.newton && newton_at_once(s);
            newton_now = at_once || (p_.newton && newton_is_due(walk));
            if (newton_now) step = newton(walk, at_once);
        }
        if (!newton_now) step = rule_.step(walk);
        s.pace.tried = s.pace.tried || (newton_now && step != Step::interrupted);
        if (newton_now && s.pace.failures > most_failures && s.violation > p_.tol) return Reason::precision;
        if (newton_now && (step == Step::stuck || step == Step::declined)) return Reason::running;
        if (step == Step::interrupted) return Reason::interrupted;
        // Rounding errors of many steps may look like an indefinite kernel: refresh r first.
        if (step == Step::indefinite && s.since == 0 && rounding(walk) < 1) return Reason::indefinite;
        if (step == Step::indefinite) return s.since == 0 ? last_resort(walk) : again(walk, true);
        if (step == Step::stuck) return s.since == 0 ? last_resort(walk) : again(walk, true);  // in rounding errors
        ++book_.steps, ++s.since;
        s.violation = rule_.violation(s);
        if (++s.pace.rest % Pace::stretch == 0) s.pace.course.push_back(std::log(s.violation));
        if (book_.steps % book_.note_every == 0) {
            note(book_, s, rule_.dual(s));
            if (book_.trace.size() >= 256) book_.trace.thin(), book_.note_every *= 2;
        }
        // A step is short and reading the clock is not free; computing a column may take long.
        if ((book_.steps % 16 == 0 || book_.kernel_evals != columns) && interrupt_ && interrupt_->requested())
            return Reason::interrupted;
        return Reason::running;
    }

    /// Columns of large machines do not fit the cache: there Newton's method comes after a few steps. They are the
    /// model that Ctrl-C leaves while the first run lasts.
    bool newton_at_once(const State& s) const {
        return &s == &book_ && s.steps >= few_steps && !s.pace.tried && s.n() >= large_machine && s.violation > p_.tol;
    }
    /// The first run: when the steps left would take longer. Until steps are 1.5 for each support vector, most of them
    /// make support vectors, and the violation says little.
    template <class Source> bool newton_is_due(const Walk<Source>& walk) const {
        const State& s = walk.s;
        if (s.pace.rest < fewest_steps(s) || s.pace.rest % Pace::stretch) return false;
        const double far = rule_.level(s, -Newton<Source>::near);
        Index supports = 0, rows = 0;
        for (Index i = 0; i < s.n(); ++i) supports += s.v[i] > 0, rows += s.v[i] > 0 || s.r[i] > far;
        if (!std::isinf(s.pace.best)) return s.pace.rest >= s.pace.patience * supports;
        if (2 * s.pace.rest < 3 * supports) return false;
        const auto m = static_cast<double>(rows), n = static_cast<double>(s.n());
        const double held = steps_per_row * m * m / n + steps_per_column * m;
        const double computed = rows > p_.most_held ? s.pace.cost : 0.0;
        const auto spent = static_cast<double>(s.pace.rest);
        const double cost = std::max(held, computed);  // of a run, in steps
        return spent >= least_spent * computed && (steps_left(s.pace) > cost || spent > most_spent * cost);
    }
    /// Until the violation is `tol`, if it goes on to fall as in the second half of the steps so far.
    double steps_left(const Pace& pace) const {
        const auto half = pace.course.size() / 4;
        const auto end = pace.course.end(), middle = end - half;
        const double late = std::accumulate(middle, end, 0.0) / static_cast<double>(half);
        const double early = std::accumulate(middle - half, middle, 0.0) / static_cast<double>(half);
        if (!(late < early)) return std::numeric_limits<double>::infinity();
        return (late - std::log(p_.tol)) / (early - late) * static_cast<double>(half * Pace::stretch);
    }
    /// Rounding errors of r = 1 - Qv due to those of type T in Q or in the sums; sum v = 2 D at the optimum.
    template <class T> double rounding_of(const State& s) const {
        const double largest = *std::max_element(s.q.begin(), s.q.end());
        return std::numeric_limits<T>::epsilon() * largest * 2 * std::abs(rule_.dual(s));
    }
    template <class Source> double rounding(const Walk<Source>& walk) const {
        return rounding_of<typename Source::Value>(walk.s);
    }
    /// Steps on one or two rows do not help any more, r is fresh: Newton's method, or the end.
    template <class Source> Reason last_resort(Walk<Source>& walk) {
        if constexpr (Rule::newton)
            if (p_.newton) return newton_at_last(walk);
        return Reason::precision;
    }
    /// If Newton's method does not help either and what is left may be due to rounding errors, training ends.
    template <class Source> Reason newton_at_last(Walk<Source>& walk) {
        State& s = walk.s;
        const Step step = newton(walk, false);
        if (step == Step::interrupted) return Reason::interrupted;
        if (step == Step::taken) ++book_.steps, ++s.since;
        if (s.pace.failures == 0 || s.violation <= p_.tol) return Reason::running;
        const bool ends = s.violation <= std::min(rounding(walk), 2 * s.pace.best) || s.pace.failures > most_failures;
        return ends ? Reason::precision : Reason::running;
    }
    /// Violation in proportion to the dual objective. Where rounding errors are large, the violation may be small
    /// though the dual objective is far below its maximum.
    double merit(const State& s) const {
        const double dual = rule_.dual(s);
        return rule_.sound(s) && dual > 0 ? s.violation / dual : std::numeric_limits<double>::infinity();
    }
    /// Newton's method, which may decline if `choosy`; unless the step is taken, v and r keep their bits. If rounding
    /// errors of sums may exceed the tolerance, r is computed from v before and after it: the errors of many steps, and
    /// of the changes of v in Newton's method, may exceed the violation by orders of magnitude.
    template <class Source> Step newton(Walk<Source>& walk, bool choosy) {
        State& s = walk.s;
        const bool rough = rounding_of<double>(s) > p_.tol;
        if (rough && s.since > 0) {
            if (!walk.refresh(Rule::start)) return Step::interrupted;
            rule_.measure(s);
        }
        if (!rule_.sound(s)) {
            s.violation = rule_.violation(s);
            keep_pace(s.pace, s.violation);
            return Step::stuck;
        }
        const Array<double> v(s.v), r(s.r);
        const double value = s.value;
        Step step = Step::interrupted;
        const auto put_back = [&] { s.v = v, s.r = r, s.value = value; };
        try {
            rule_.to_dual(s);
            Newton<Source> method(walk, p_.bias, p_.most_held);
            step = method.move(newton_goal * std::max(p_.tol, s.tol), choosy);
            if (step == Step::declined) s.pace.cost = method.cost();
            rule_.from_dual(s);
        } catch (...) {
            put_back();
            throw;
        }
        const auto finite = [](const Array<double>& x) {
            return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
        };
        if (step == Step::taken && !(finite(s.v) && finite(s.r))) step = Step::stuck;  // v was 0, or out of range
        if (step == Step::taken && rough) {
            bool done = false;
            try {
                done = walk.refresh(Rule::start);
            } catch (...) {
                put_back();
                throw;
            }
            if (done) rule_.measure(s);
            if (!done || !rule_.sound(s)) step = done ? Step::stuck : Step::interrupted;
        }
        if (step != Step::taken) put_back();
        if (step == Step::interrupted || step == Step::declined) return step;
        walk.look();
        s.violation = rule_.violation(s);
        if (merit(s) < s.best_merit) s.best = s.v, s.best_merit = merit(s);
        keep_pace(s.pace, s.violation);
        return step;
    }

    /// After a run of Newton's method that ended with this violation.
    static void keep_pace(Pace& pace, double violation) {
        pace.rest = 0, pace.work = 0;
        if (violation <= pace.best / 2)
            pace = {.course = {}, .best = violation};
        else
            pace.course.clear(), ++pace.failures, pace.patience *= 2;
    }
    /// Refresh r from v; `doubt`: the last step could not be taken.
    template <class Source> Reason again(Walk<Source>& walk, bool doubt) {
        State& s = walk.s;
        if (!walk.refresh(Rule::start)) return Reason::interrupted;
        rule_.measure(s);
        s.violation = rule_.violation(s);
        if (!rule_.sound(s)) return Reason::precision;
        return doubt && ++s.doubts > most_doubts ? Reason::precision : Reason::running;
    }

    /// Shrink away the rows with v = 0 that are far from a violation, if they are at least half of all.
    bool shrink(State& s) const {
        Array<Index> near;
        const double far = rule_.level(s, -std::max(shrink_margin, s.violation));
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
        t.violation = s.violation, t.pace = s.pace;
        t.begun = true;
        t.tol = std::max(p_.tol, shrink_fraction * s.violation);
        t.positions = std::move(near);
        s.inner.push_back(std::move(t));
        return true;
    }

    /// Steps on the rows that are left, then a check of all rows.
    template <class Source> Reason inner(Walk<Source>& outer) {
        State &s = outer.s, &t = s.inner.front();
        Reason reason = Reason::running;
        const auto put_back = [&] {
            for (Index i = 0; i < t.positions.size(); ++i) s.v[t.positions[i]] = t.v[i];
            s.value = t.value, s.violation = t.violation, s.pace = t.pace;
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
    const Index last_, most_steps_;
    Interrupt* interrupt_;
};

}  // namespace detail

/// Take steps until no row violates the conditions by more than `tol`, the budget is spent or an interrupt is
/// requested. `rule` chooses the step. The result does not depend on the cache or on how the steps are divided into
/// calls.
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
    } catch (...) {  // a callable kernel may throw: the steps before it are kept
        s.reason = Reason::interrupted;
        if (s.begun) note(s, s, rule.dual(s));
        throw;
    }
    if (s.begun) note(s, s, rule.dual(s));
}

}  // namespace hingeline::l2
