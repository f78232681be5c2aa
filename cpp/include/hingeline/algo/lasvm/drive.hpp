// The two loops that all members of the LASVM family share: visit examples in blocks, and optimise the expansion to a
// duality gap.
#pragma once

#include <limits>
#include <unordered_map>

#include "hingeline/algo/lasvm/search.hpp"

namespace hingeline::online {

/// Steps between polls of the interrupt: well below a millisecond for some thousand examples.
inline constexpr Index steps_between_polls = 256;

/// Detects that a duality gap measured in single precision no longer falls: it was not a thousandth better than its
/// best for many steps.
class Stalled {
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

/// Call step() until the duality gap is at most tol times the primal objective, until only rounding errors are left, or
/// for `most` steps. measure() brings the gap and the largest violation up to date. Returns the number of steps.
template <class Source, class Measure, class Step>
Index work_off(Search<Source>& search, double tol, Index most, double noise_factor, Measure&& measure, Step&& step) {
    State& s = search.s;
    Index count = 0;
    Stalled stalled;
    const auto reached = [&] {
        measure();
        search.expansion.store_gradients();
        return s.ascent.gap <= tol * (s.dual() + s.ascent.gap);
    };
    const auto state = [&] {
        if (count >= most) return Reason::steps;
        if (count % steps_between_polls) return Reason::running;
        if (search.interrupted()) return Reason::interrupted;
        search.refresh_sometimes(search.steps_finishing);
        if (reached()) {  // in single precision only refreshed gradients count
            if (!search.single || s.steps == s.refreshed_at || (search.refresh() && reached())) return Reason::gap;
            if (search.interrupted()) return Reason::interrupted;
        }
        if (!std::isfinite(s.ascent.gap) || s.ascent.worst <= noise_factor * search.noise()) return Reason::precision;
        if (search.single && s.steps == s.refreshed_at && stalled(s.ascent.gap, s)) return Reason::precision;
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

/// Visit examples in their order, with the kernel rows of some computed ahead: visit(example, its position if it is in
/// the expansion, else -1). A killed example keeps its position until the next cleaning. Returns the number of examples
/// visited: all, unless interrupted. `known`: whether some may be in the expansion, recognised by their id. margins[i]
/// is set to y f of example i at its visit.
template <class Source, class Visit>
Index in_blocks(Search<Source>& search, const Array<Example>& examples, bool known, double* margins, Visit&& visit) {
    State& s = search.s;
    Expansion<Source>& e = search.expansion;
    const Index begin = s.visited, count = examples.size();
    std::unordered_map<Index, Index> where;
    Index indexed = -1;
    s.reason = Reason::interrupted;
    const typename Expansion<Source>::DropOnError drop{e};
    if (!e.kernel.restore(s.row)) return 0;
    Array<Example> fresh;
    for (Index at = 0; at < count;) {
        if (known && indexed != e.sweeps()) {
            where.clear();
            for (Index t = 0; t < s.n; ++t)
                if (s[line::box][t] != 0) where[s.id[t]] = t;
            indexed = e.sweeps();
        }
        const Index due = search.p.period - s.visited % search.p.period;
        const Index end = at + std::min({count - at, due, e.kernel.block()});
        fresh.clear();
        for (Index i = at; i < end; ++i)
            if (!where.count(examples[i].id)) fresh.push_back(examples[i]);
        if (!e.append(fresh)) return s.visited - begin;
        for (; at < end; ++at) {
            const auto found = where.find(examples[at].id);
            const Index before = s.visited;
            if (!search.interrupted()) visit(examples[at], found == where.end() ? Index{-1} : found->second);
            if (s.visited > before) margins[at] = s.last_margin;
            if (search.interrupted()) {
                e.drop_pending();
                return s.visited - begin;
            }
            search.note_sometimes();
        }
    }
    s.reason = Reason::pass;
    return s.visited - begin;
}

}  // namespace hingeline::online
