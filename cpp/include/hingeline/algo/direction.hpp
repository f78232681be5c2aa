// Direction searches on the expansion of an online SVM: what all members of the LASVM family share.
//
// Problem (no bias). max over alpha of G = sum alpha_i y_i - 1/2 sum alpha_i alpha_j K_ij, lo_i <= alpha_i <= hi_i,
// with lo = min(0, C_i y) and hi = max(0, C_i y), both shifted by -C_i y for an example taken for an outlier
// (lasvm_nc.hpp). Letters as in online_state.hpp.
//
//     STEP(t)      alpha_t moves to the maximum of G along its axis, or to the bound before it; g -= lambda K_t
//     REPROCESS    STEP at the largest |g| with room in its direction; none when max g - min g <= tau
//     GAP          sum max(up g, -dn g): exactly primal minus dual of the problem restricted to S
//     TARGET       standard deviation of the sum of h_i = C_i y_i g_i over the support vectors
//     CLEAN(m)     of the examples with alpha = 0 keep the m with the smallest |g|
//
// Paper: Ertekin, Bottou, Giles, "Nonconvex online support vector machines", TPAMI 33(2), 2011, sections 4 and 5, with
// its misprints corrected (docs/math/lasvm.md lists them).
//
// Where we differ. (1) Kernel values of the next examples are computed in blocks against the whole expansion; blocks
// end where a cleaning is due, so that they leave no trace: the result is that of one example at a time, however the
// examples are cut into calls. (2) A step, the gap after it and the choice of the next step are one pass over g
// (`Ops::ascend`). (3) Cleaning moves the last positions into the holes.
#pragma once

#include <unordered_map>

#include "hingeline/algo/online_state.hpp"
#include "hingeline/kernel/self_gram.hpp"

namespace hingeline::online {

struct Params {
    double C = 1.0;
    double s = -1.0;           // left end of the ramp
    double tau = 1e-3;         // violations up to this are none
    Index period = 256;        // examples between cleanings
    Index most_non_sv = 100;   // m of CLEAN
    Index warm_support = 100;  // support vectors before the ramp has a say
    std::size_t cache_bytes = std::size_t{200} << 20;
    int threads = 1;  // for kernel values
};

template <class Source> class Search {
  public:
    using T = typename Source::Value;

    Search(State& state, const Params& p, const Source& source, SelfGram<T>& kernel, Interrupt* interrupt)
        : s(state), p(p), source_(source), k_(kernel), scratch_(std::max(p.threads, 1)) {
        for (Scratch<T>& x : scratch_) x.interrupt = interrupt;
        interrupt_ = interrupt;
        quick_.resize(s.n);
        for (Index t = 0; t < s.n; ++t) {
            g()[t] = static_cast<T>(s[line::g][t]);
            if (!s.dead[t]) set_room(t);
        }
    }
    Search(const Search&) = delete;
    ~Search() {
        rest();
        s.kernel_recomputed += k_.recomputed();
    }

    State& s;
    const Params& p;

    // g and the room in the box, in the precision of the kernel values, while the search lasts
    T* g() { return quick_[0]; }
    T* up() { return quick_[1]; }
    T* dn() { return quick_[2]; }
    void set_room(Index t) {
        up()[t] = static_cast<T>(s[line::hi][t] - s[line::alpha][t]);
        dn()[t] = static_cast<T>(s[line::alpha][t] - s[line::lo][t]);
    }
    /// Bring the state up to date.
    void rest() { std::copy_n(g(), s.n, s[line::g]); }

    /// Coefficients up to `box` times kernel values must stay in range.
    void require_range(double box) const { hingeline::require_range(source_, box, single); }

    bool interrupted() { return halted_ || (interrupt_ && interrupt_->requested() && (halted_ = true)); }

    /// Kernel rows of the positions held; false when interrupted.
    bool wake() {
        if (k_.size() == s.n || k_.restore(source_, Ids::of(s.row), scratch_)) return true;
        halted_ = true;
        return false;
    }

    // ---- examples to come ------------------------------------------------------------------------

    Index block() const { return k_.block(); }

    /// Give the next examples their positions behind `n` and compute their kernel rows.
    bool look_ahead(const Array<Example>& next) {
        for (const Example& e : next) {
            s.row.push_back(e.row);
            s.id.push_back(e.id);
            s.code.push_back(e.code);
        }
        const Index all = s.row.size();
        s.zone.resize(s.row.size(), Zone::ramp);
        s.dead.resize(s.row.size(), 0);
        s.lines.resize(all);
        quick_.resize(all);
        const bool done = next.empty() || k_.append(source_, Ids::of(s.row), next.size(), scratch_);
        if (!done) cut();
        return done;
    }
    /// Forget the examples whose turn has not come.
    void cut() {
        halted_ = true;
        s.row.resize(s.n), s.id.resize(s.n), s.code.resize(s.n), s.zone.resize(s.n), s.dead.resize(s.n);
        s.lines.resize(s.n);
        quick_.resize(s.n);
        if (k_.size() > s.n) {
            Array<char> keep(k_.size(), 1);
            std::fill(keep.begin() + s.n, keep.end(), 0);
            k_.close(keep, close_up(keep));
        }
    }

    /// A kernel function of the user's may throw: what was learnt before stays, and is consistent.
    struct CutOnError {
        Search& search;
        const int before = std::uncaught_exceptions();
        ~CutOnError() {
            if (std::uncaught_exceptions() > before) search.cut();
        }
    };

    /// Output sum alpha K of the example whose turn it is, which is at position n, and the target of this moment.
    /// Nothing when interrupted.
    std::optional<double> regard() {
        const T* row = row_of(s.n);
        if (!row) return std::nullopt;
        const Glance at = pass_ops<T>().glance(row, s[line::alpha], g(), s[line::box], s.n);
        s.lines[line::diagonal][s.n] = static_cast<double>(row[s.n]);
        s.kernel_evals += s.n + 1;
        set_target(at);
        return at.output;
    }
    void set_target(const Glance& at) {
        const double l = static_cast<double>(s.n_support());
        s.target = l > 0 ? std::sqrt(std::max(0.0, at.squares - at.sum * at.sum / l)) : 0.0;
    }
    /// The target where no example is regarded.
    void set_target() {
        Glance at{0, 0, 0};
        for (Index t = 0; t < s.n; ++t)
            if (s[line::alpha][t] != 0) {
                const double h = s[line::box][t] * static_cast<double>(g()[t]);
                at.sum += h;
                at.squares += h * h;
            }
        set_target(at);
    }

    /// Turn the example at position n away.
    void turn_away() {
        g()[s.n] = 0;
        s.dead[s.n++] = 1;
        ++s.n_dead;
    }
    /// Take the example at position n in, with alpha = 0; its box is shifted when it is `flagged`.
    void admit(const Example& e, double gradient, Zone zone, bool flagged) {
        const Index t = s.n++;
        const double shift = flagged ? e.box : 0.0;
        g()[t] = static_cast<T>(gradient);
        s[line::box][t] = e.box;
        s[line::lo][t] = std::min(0.0, e.box) - shift;
        s[line::hi][t] = std::max(0.0, e.box) - shift;
        set_room(t);
        s.zone[t] = zone;
        ++s.admitted[zone];
    }

    /// f(i, sum alpha K) for rows of the source that are not held, at most `block()`; false when interrupted.
    template <class F> bool outputs(const Array<Index>& rows, F&& f) {
        Array<Aligned<T>> lines(rows.size());
        const auto length = s.n + pass_step;
        for (Aligned<T>& line : lines) std::fill_n(line.reserve(length), length, T(0));
        if (s.n > 0 && !SelfGram<T>::compute(source_, Ids::of(rows), Ids::of(s.row), lines, scratch_)) {
            halted_ = true;
            return false;
        }
        for (Index i = 0; i < rows.size(); ++i) f(i, output(lines[i].data()));
        return true;
    }

    /// In single precision every step rounds g: compute it again from alpha now and then, where this leaves no trace
    /// of how examples are cut into calls.
    void refresh_sometimes(Index steps) {
        if (single && s.steps - s.refreshed_at >= steps) refresh();
    }
    static constexpr bool single = sizeof(T) == 4;
    /// Between refreshes while learning, where errors of some 3e-5 |g| are far below tau, and while finishing.
    static constexpr Index steps_learning = 1 << 20, steps_finishing = 1 << 14;
    /// g = y - sum alpha K; false when interrupted, and then nothing has changed.
    bool refresh() {
        Array<T> fresh(s.n, T(0));
        Array<Index> missing, rows;
        const auto set = [&](Index t, double f) { fresh[t] = static_cast<T>(s.y(t) - f); };
        for (Index t = 0; t < s.n; ++t) {
            if (t % 64 == 0 && interrupted()) return false;
            if (const T* row = k_.find(t))
                set(t, output(row));
            else
                missing.push_back(t);
        }
        for (Index at = 0; at < missing.size(); at += rows.size()) {
            rows.clear();
            for (Index i = at; i < missing.size() && rows.size() < block(); ++i) rows.push_back(s.row[missing[i]]);
            if (!outputs(rows, [&](Index i, double f) { set(missing[at + i], f); })) return false;
        }
        std::copy(fresh.begin(), fresh.end(), g());
        s.refreshed_at = s.steps;
        rescan();
        return true;
    }

    // ---- steps -----------------------------------------------------------------------------------

    /// Change alpha_t, landing on a bound exactly where the step is as long as the room to it.
    void shift(Index t, double lambda, double room, double bound) {
        double& alpha = s[line::alpha][t];
        Index& support = s.support[s.y(t) > 0];
        support -= alpha != 0;
        alpha = std::abs(lambda) >= std::abs(room) ? bound : alpha + lambda;
        support += alpha != 0;
        set_room(t);
    }

    /// STEP(t); false when there was no step to take or its row could not be had.
    bool step(Index t) {
        const double slope = static_cast<double>(g()[t]), curvature = s[line::diagonal][t];
        const double bound = slope < 0 ? s[line::lo][t] : s[line::hi][t];
        const double room = bound - s[line::alpha][t];
        double lambda = room;
        if (curvature > 0) lambda = slope < 0 ? std::max(room, slope / curvature) : std::min(room, slope / curvature);
        if (lambda == 0) return false;
        const T* row = row_of(t);
        if (!row) return false;
        shift(t, lambda, room, bound);
        s.ascent = pass_ops<T>().ascend(g(), row, -lambda, up(), dn(), s.n);
        ++s.steps;
        return true;
    }
    /// REPROCESS; false when there is nothing to gain.
    bool reprocess(double tau) {
        if (s.ascent.worst <= tau) {
            const Extremes x = pass_ops<T>().ascend_pair(g(), nullptr, nullptr, 0, up(), dn(), s.n);
            if (!(std::max(x.high, 0.0) - std::min(x.low, 0.0) > tau)) return false;
        }
        return s.ascent.at >= 0 && step(s.ascent.at);
    }
    /// Violations below this are rounding errors.
    double noise() {
        double largest = 0;
        for (Index t = 0; t < s.n && single; ++t)
            if (!s.dead[t]) largest = std::max(largest, std::abs(static_cast<double>(g()[t])));
        return single ? std::max(s.noise(), 3e-7 * (1.0 + largest)) : s.noise();
    }
    /// sum alpha K over a kernel row.
    double output(const T* row) { return pass_ops<T>().glance(row, s[line::alpha], g(), s[line::box], s.n).output; }
    void rescan() { s.ascent = pass_ops<T>().ascend(g(), nullptr, 0, up(), dn(), s.n); }

    /// Kernel row of position t; null when interrupted.
    const T* row_of(Index t) {
        const T* row = k_.row(t, source_, Ids::of(s.row), scratch_);
        if (!row) halted_ = true;
        return row;
    }

    // ---- cleaning --------------------------------------------------------------------------------

    /// Remove the dead, and of the living with alpha = 0 all but the m with the smallest |g|.
    void clean(Index m) {
        Array<Index> idle;
        for (Index t = 0; t < s.n; ++t)
            if (!s.dead[t] && s[line::alpha][t] == 0) idle.push_back(t);
        if (idle.size() > m) {
            const T* slope = g();
            std::nth_element(idle.begin(), idle.begin() + m, idle.end(), [&](Index a, Index b) {
                const T one = std::abs(slope[a]), other = std::abs(slope[b]);
                return one < other || (one == other && a < b);
            });
            for (auto t = idle.begin() + m; t != idle.end(); ++t) kill(*t);
        }
        sweep();
    }
    /// A living position takes no part from now on.
    void kill(Index t) {
        s.dead[t] = 1;
        ++s.n_dead;
        up()[t] = dn()[t] = 0;
        ++s.cleaned[s.zone[t]];
    }
    /// A position that was killed takes part again, with alpha = 0; its g has been kept up to date.
    void revive(Index t, Zone zone) {
        s.dead[t] = 0;
        --s.n_dead;
        set_room(t);
        s.zone[t] = zone;
        ++s.admitted[zone];
    }
    /// Remove the dead.
    void sweep() {
        if (s.n_dead == 0) return;
        Array<char> keep(s.n);
        for (Index t = 0; t < keep.size(); ++t) keep[t] = !s.dead[t];
        const Closing c = close_up(keep);
        if (k_.size() == s.n)
            k_.close(keep, c);
        else
            k_.clear();
        for (const auto& [from, to] : c.moves) {
            s.lines.move(from, to);
            quick_.move(from, to);
            s.row[to] = s.row[from], s.id[to] = s.id[from], s.code[to] = s.code[from], s.zone[to] = s.zone[from];
        }
        s.n = c.size;
        s.n_dead = 0;
        s.lines.resize(s.n);
        quick_.resize(s.n);
        s.row.resize(s.n), s.id.resize(s.n), s.code.resize(s.n), s.zone.resize(s.n);
        s.dead.assign(s.n, 0);
        ++sweeps_;
        rescan();
    }
    /// Changes when positions have changed hands.
    Index sweeps() const { return sweeps_; }

    /// After finishing, the outputs are known afresh: f = y - g + b.
    void set_largest() {
        s.largest = 0;
        for (Index t = 0; t < s.n; ++t)
            if (!s.dead[t]) s.largest = std::max(s.largest, std::abs(s.y(t) - static_cast<double>(g()[t]) + s.b));
    }

    // ---- what is written down --------------------------------------------------------------------

    void note() {
        rest();
        const double gap = s.ascent.gap;
        s.trace.add({static_cast<double>(s.visited), static_cast<double>(s.n_support()),
                     static_cast<double>(s.n_live()), s.dual(), gap, s.target, static_cast<double>(s.kernel_evals),
                     static_cast<double>(s.kernel_needed)});
    }
    /// At most 256 rows, evenly over the examples, wherever calls begin and end.
    void note_sometimes() {
        if (s.visited % s.note_every) return;
        note();
        if (s.trace.size() < 256) return;
        s.trace.thin();
        s.note_every *= 2;
    }

  private:
    const Source& source_;
    SelfGram<T>& k_;
    std::vector<Scratch<T>> scratch_;
    Interrupt* interrupt_ = nullptr;
    Parallel<T, 3> quick_;
    Index sweeps_ = 0;
    bool halted_ = false;
};

/// Whether a gap that is measured in single precision has come as far as it will: not a thousandth better than its
/// best for many steps.
class AtRest {
  public:
    bool operator()(double gap, const State& s) {
        if (gap < 0.999 * best_) {
            best_ = gap;
            since_ = s.steps;
        }
        return s.steps - since_ > std::max<Index>(1 << 17, 32 * s.n);
    }

  private:
    double best_ = std::numeric_limits<double>::infinity();
    Index since_ = 0;
};

/// Steps between looks at the interrupt: well below a millisecond for some thousand examples.
inline constexpr Index steps_between_looks = 256;

/// step() until the gap is at most tol times the primal objective, until rounding errors are all that is left, or for
/// `most` steps. Now and then measure() brings the gap and the worst violation up to date. Returns the steps made.
template <class Source, class Measure, class Step>
Index work_off(Search<Source>& search, double tol, Index most, double noise_factor, Measure&& measure, Step&& step) {
    State& s = search.s;
    Index count = 0;
    AtRest at_rest;
    const auto reached = [&] {
        measure();
        search.rest();
        return s.ascent.gap <= tol * (s.dual() + s.ascent.gap);
    };
    const auto state = [&] {
        if (count >= most) return Reason::steps;
        if (count % steps_between_looks) return Reason::running;
        if (search.interrupted()) return Reason::interrupted;
        search.refresh_sometimes(search.steps_finishing);
        if (reached()) {  // in single precision: by gradients that are fresh
            if (!search.single || s.steps == s.refreshed_at || (search.refresh() && reached())) return Reason::gap;
            if (search.interrupted()) return Reason::interrupted;
        }
        if (!std::isfinite(s.ascent.gap) || s.ascent.worst <= noise_factor * search.noise()) return Reason::precision;
        if (search.single && s.steps == s.refreshed_at && at_rest(s.ascent.gap, s)) return Reason::precision;
        return Reason::running;
    };
    while ((s.reason = state()) == Reason::running && step()) ++count;
    if (s.reason == Reason::running) s.reason = search.interrupted() ? Reason::interrupted : Reason::precision;
    if (search.single && s.steps != s.refreshed_at && !search.interrupted()) search.refresh();
    if (reached() && s.reason != Reason::interrupted) s.reason = Reason::gap;
    search.set_largest();
    search.note();
    return count;
}

/// Visit examples in their order: visit(example, its position where it is in the expansion already, or -1), with the
/// kernel rows of some computed ahead. An example that was killed has its position until the next cleaning. Returns how
/// many were visited: all, unless someone interrupts. `known` says whether some may be in the expansion, by their id;
/// margins[i] gets y f of example i when its turn came.
template <class Source, class Visit>
Index in_blocks(Search<Source>& search, const Array<Example>& examples, bool known, double* margins, Visit&& visit) {
    State& s = search.s;
    const Index begin = s.visited, count = examples.size();
    std::unordered_map<Index, Index> where;
    Index indexed = -1;
    s.reason = Reason::interrupted;
    const typename Search<Source>::CutOnError cut{search};
    if (!search.wake()) return 0;
    Array<Example> fresh;
    for (Index at = 0; at < count;) {
        if (known && indexed != search.sweeps()) {
            where.clear();
            for (Index t = 0; t < s.n; ++t)
                if (s[line::box][t] != 0) where[s.id[t]] = t;
            indexed = search.sweeps();
        }
        const Index due = search.p.period - s.visited % search.p.period;
        const Index end = at + std::min({count - at, due, search.block()});
        fresh.clear();
        for (Index i = at; i < end; ++i)
            if (!where.count(examples[i].id)) fresh.push_back(examples[i]);
        if (!search.look_ahead(fresh)) return s.visited - begin;
        for (; at < end; ++at) {
            const Example& e = examples[at];
            const auto found = where.find(e.id);
            const Index before = s.visited;
            if (!search.interrupted()) visit(e, found == where.end() ? Index{-1} : found->second);
            if (s.visited > before) margins[at] = s.last_margin;
            if (search.interrupted()) {
                search.cut();
                return s.visited - begin;
            }
            search.note_sometimes();
        }
    }
    s.reason = Reason::pass;
    return s.visited - begin;
}

}  // namespace hingeline::online
