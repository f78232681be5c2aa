// Several exact machines over the same points: which points are held, which one leaves when the window is full, and how
// an operation that fails is undone.
//
// Position i of every array is row i of the store. A point that leaves is marked dead first; its position is removed by
// `close`, so that a failed operation can be undone.
#pragma once

#include "hingeline/algo/incremental/machine.hpp"

namespace hingeline::incremental {

enum class Problem : int { classes, sphere, plane };
enum class Rule : int { relevance, oldest };
enum class Scope : int { all, each_class };

/// One machine: class `positive` against all others.
struct Unit {
    Index positive = 0;
    State state{};
};

struct Model {
    Problem problem = Problem::classes;
    double C = 1;
    double nu = 0;     // above 0: C = 1 / (nu n)
    Index window = 0;  // 0: none
    Rule rule = Rule::relevance;
    Scope scope = Scope::all;  // one window for all points, or one for each class
    bool by_path = false;      // points come and leave one by one along the path ([INC] Algorithm 1), never by sets
    Index n = 0;               // positions that have been added; the positions behind are pending
    Index last = -1;           // serial number of the last point
    Points points;
    Array<Unit> units;
    SelfGram<double> kernel{0};
    double kernel_seconds = 0;
    Reached visited;  // worst of the states that the last path or leave-one-out call has visited

    /// Points held.
    Index live() const { return static_cast<Index>(std::count(points.dead.begin(), points.dead.begin() + n, char(0))); }
    double label(const Unit& u, Index i) const {
        return problem != Problem::classes || points.code[i] == u.positive ? 1.0 : -1.0;
    }

    /// Add a machine for a class without points.
    void add(Index positive) { units.push_back(unit(positive)); }
    /// A machine for a class without points: all points are on its negative side.
    Unit unit(Index positive) const {
        Unit u{positive, {}};
        State& s = u.state;
        s.C = C;
        s.total = problem == Problem::classes ? 0.0 : 1.0;
        s.ready = s.total == 0;
        for (Index i = 0; i < n; ++i) {
            admit(u, i);
            s.mu = label(u, i);
            s.place[i] = s.mu > 0 ? Place::low : Place::high;
        }
        return u;
    }

    template <class Source> auto machine(Unit& u, const Source& source, std::vector<Scratch<double>>& scratch) {
        return Machine<Source>(u.state, kernel, source, scratch, points);
    }

    /// Add the last `fresh` points, one after another.
    template <class Source> void learn(const Source& source, std::vector<Scratch<double>>& scratch, Index fresh) {
        const Index all = points.size();
        const auto start = std::chrono::steady_clock::now();
        if (!kernel.append(source, Ids::run(0, all), fresh, scratch)) throw Interrupted();
        kernel_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        for (Index c = all - fresh; c < all; ++c)
            points.diagonal[c] = kernel.row(c, source, Ids::run(0, all), scratch)[c];
        for (Index g = find_crowded(); g >= 0; g = find_crowded()) forget(source, scratch, {victim(g)});
        if (fresh > 1 && window == 0 && by_sets()) take_in_all(source, scratch, fresh);
        while (n < all) take_in(source, scratch);
        for (Index c = all - fresh; c < all; ++c)
            if (!supports(c)) kernel.release(c);
    }

    /// Number of the window that counts position i.
    Index group(Index i) const { return scope == Scope::all ? 0 : points.code[i]; }
    /// Points held that window `which` counts.
    Index live(Index which) const {
        if (scope == Scope::all) return live();
        Index count = 0;
        for (Index i = 0; i < n; ++i) count += !points.dead[i] && group(i) == which;
        return count;
    }
    /// Number of a window with more points than allowed, or -1.
    Index find_crowded() const {
        if (window == 0) return -1;
        Array<Index> held;
        for (Index i = 0; i < n; ++i) {
            if (points.dead[i]) continue;
            held.resize(std::max(std::ssize(held), group(i) + 1), 0);
            if (++held[group(i)] > window) return group(i);
        }
        return -1;
    }

    /// Remove these positions from all machines and mark them dead. Removing all positions needs no kernel value.
    template <class Source>
    void forget(const Source& source, std::vector<Scratch<double>>& scratch, const Array<Index>& which) {
        transaction([&](const Array<Unit>& before) {
            if (which.size() == live()) return empty();
            const bool bears = std::any_of(which.begin(), which.end(), [&](Index c) { return supports(c); });
            if (by_sets() && bears && jump(source, scratch, which, {}, before)) return;
            Index left = live();
            for (const Index c : which) {
                if (nu > 0 && --left > 0) bound(source, scratch, 1.0 / (nu * static_cast<double>(left)), true);
                for (Unit& u : units) machine(u, source, scratch).unlearn(c);
            }
        });
        for (const Index c : which) points.dead[c] = 1;
    }

    /// Run work(copy of the machines); if it throws, machines, C and nu are restored.
    template <class F> void transaction(F&& work) {
        Array<Unit> before = units;
        const double before_C = C, before_nu = nu;
        try {
            work(before);
        } catch (...) {
            units = std::move(before);
            C = before_C, nu = before_nu;
            throw;
        }
    }

    template <class Source>
    void bound(const Source& source, std::vector<Scratch<double>>& scratch, double value, bool removes = false) {
        for (Unit& u : units) machine(u, source, scratch).set_bound(value, removes);
        C = value;
    }

    /// KKT violation of a machine by its gradients. Its limit is 1e-8 max(1, C max K), or less if coefficients are
    /// small.
    Reached reached(const State& s) const {
        double mass = 0, largest = 0, worst = s.ready ? std::abs(s.excess()) : 0.0;
        for (Index i = 0; i < s.n; ++i) {
            if (s.place[i] == Place::out) continue;
            mass += std::abs(s[line::alpha][i]);
            largest = std::max(largest, points.diagonal[i]);
            if (s.ready && !s.fixed(i)) worst = std::max(worst, s.violation(i, s[line::g][i]));
        }
        return {worst, std::max(1e-8, std::min(1e-8 * s.C, 1e-14 * mass) * largest)};
    }
    /// The worst of all machines.
    Reached reached() const {
        Reached worst;
        for (const Unit& u : units) note(worst, u.state);
        return worst;
    }
    /// Replace `worst` by what a machine has reached if that is further above its limit.
    void note(Reached& worst, const State& s) const {
        const Reached now = reached(s);
        if (now.violation / now.limit > worst.violation / worst.limit) worst = now;
    }

    /// Leave-one-out outputs: values[unit][i] is the output at position which[i] of the machine without that point.
    template <class Source> void leave_one_out(const Source& source, std::vector<Scratch<double>>& scratch,
                                               const Array<Index>& which, double* values) {
        for (Unit& u : units)
            for (const Index c : which) {
                const State& s = u.state;
                if (s[line::alpha][c] == 0) {
                    *values++ = s[line::g][c] + s[line::p][c] + s.constant(c) - s.mu;
                    continue;
                }
                Unit copy = u;
                if (by_path || !machine(copy, source, scratch).jump({c}, {})) {
                    copy = u;
                    machine(copy, source, scratch).unlearn(c);
                }
                u.state.counts = copy.state.counts;
                note(visited, copy.state);
                *values++ = copy.state[line::g][c] + s[line::p][c] + copy.state.constant() - copy.state.mu;
            }
    }

    /// Memory for `close`, allocated before a change so that removing positions afterwards cannot fail.
    struct Removal {
        Array<char> kept;
        Closing closing;
        Array<Index> now;
        /// For up to `size` positions.
        explicit Removal(Index size) {
            kept.reserve(size);
            closing.moves.reserve(size);
            now.reserve(size);
        }
    };
    /// Remove the dead and the pending positions. `r` tells which positions stayed and where they are.
    void close(Removal& r) noexcept {
        r.kept.assign(points.dead.size(), 0);
        for (Index i = 0; i < n; ++i) r.kept[i] = !points.dead[i];
        close_up(r.kept, r.closing);
        if (r.closing.size == points.size()) return;
        r.now.resize(points.size());
        std::iota(r.now.begin(), r.now.end(), Index{0});
        for (const auto& [from, to] : r.closing.moves) r.now[from] = to;
        points.close(r.closing);
        for (Unit& u : units) u.state.close(r.closing, r.now);
        if (kernel.size() >= n)
            kernel.close(r.kept, r.closing, true);
        else
            kernel.clear();
        n = r.closing.size;
    }

    /// Remove the points from `size` on, which no machine has.
    void truncate(Index size) noexcept {
        points.close({{}, std::min(size, points.size())});
        kernel.truncate(size);
    }

  private:
    /// Whether points come and leave by sets first. With nu, C changes with every point.
    bool by_sets() const { return nu <= 0 && !by_path; }
    /// Take all points out of all machines.
    void empty() {
        if (nu > 0) C = 1.0 / nu;
        for (Unit& u : units) {
            u.state.empty();
            u.state.C = C;
        }
    }
    /// Change several points at once in all machines; false if one of them fails, and then all are as before.
    template <class Source> bool jump(const Source& source, std::vector<Scratch<double>>& scratch,
                                      const Array<Index>& leaving, const Array<Index>& coming,
                                      const Array<Unit>& before) {
        for (Unit& u : units)
            if (!machine(u, source, scratch).jump(leaving, coming)) {
                for (Index k = 0; k < units.size(); ++k) {
                    const Counts counts = units[k].state.counts;
                    units[k] = before[k];
                    units[k].state.counts = counts;
                }
                return false;
            }
        return true;
    }
    /// Add all pending points at once, if that succeeds; else none.
    template <class Source> void take_in_all(const Source& source, std::vector<Scratch<double>>& scratch, Index fresh) {
        Array<Index> coming(fresh);
        std::iota(coming.begin(), coming.end(), n);
        transaction([&](const Array<Unit>& before) {
            for (Unit& u : units)
                for (const Index c : coming) admit(u, c);
            if (!jump(source, scratch, {}, coming, before)) return;
            n += fresh;
            last = points.serial.back();
        });
    }
    /// Whether the kernel row of position i is likely to be needed again.
    bool supports(Index i) const {
        return std::any_of(units.begin(), units.end(), [&](const Unit& u) {
            return u.state[line::alpha][i] != 0 || u.state.place[i] == Place::margin;
        });
    }
    /// Whether removing position i changes no machine.
    bool idle(Index i) const { return problem == Problem::classes && !supports(i); }
    void admit(Unit& u, Index i) const {
        const double y = label(u, i), w = points.weight[i];
        const double half = points.diagonal[i] / 2;
        u.state.append(problem == Problem::classes  ? y
                       : problem == Problem::sphere ? half
                                                    : 0.0,
                       y > 0 ? w : 0.0, y > 0 ? 0.0 : w);
    }

    /// The point that leaves window `which` if it is full and another point comes, or -1.
    Index victim(Index which) const {
        if (window == 0 || live(which) < window) return -1;
        Index best = -1;
        double least = 0, widest = 0;
        const auto relevance = [&](Index i) {
            double size = 0;
            for (const Unit& u : units) size += std::abs(u.state[line::alpha][i]);
            return rule == Rule::relevance ? size : 0.0;
        };
        double most = 0;
        for (Index i = 0; i < n; ++i) most = std::max(most, relevance(i));
        for (Index i = 0; i < n; ++i) {
            if (points.dead[i] || group(i) != which) continue;
            const double size = relevance(i);
            double slack = 0;
            if (rule == Rule::relevance)
                for (const Unit& u : units) slack += label(u, i) * u.state[line::g][i];
            const bool earlier = best >= 0 && points.serial[i] < points.serial[best];
            // Differences within rounding errors count as ties.
            constexpr double near = 1e-9;
            const bool smaller = size < least - near * most, as_small = size <= least + near * most;
            const bool wider = slack > widest + near, as_wide = slack >= widest - near;
            if (best < 0 || smaller || (as_small && (wider || (as_wide && earlier))))
                best = i, least = size, widest = slack;
        }
        return best;
    }

    /// Add the next point, remove one if the window is full, adapt C to nu: all or nothing.
    template <class Source> void take_in(const Source& source, std::vector<Scratch<double>>& scratch) {
        const Index c = n, out = victim(group(c)), held = live() + (out < 0);
        const auto undo = [&]() noexcept {
            for (Unit& u : units) u.state.truncate(c);
        };
        try {
            for (Unit& u : units) u.state.events.clear(), admit(u, c);
            bool quiet = nu <= 0 && (out < 0 || idle(out));
            for (Index k = 0; quiet && k < units.size(); ++k) quiet = machine(units[k], source, scratch).rest(c);
            if (!quiet) change(source, scratch, c, out, held);
            if (quiet && out >= 0)
                for (Unit& u : units) u.state.place[out] = Place::out;
        } catch (...) {
            undo();
            throw;
        }
        last = points.serial[n++];
        if (out >= 0) points.dead[out] = 1;
    }
    template <class Source>
    void change(const Source& source, std::vector<Scratch<double>>& scratch, Index c, Index out, Index held) {
        transaction([&](const Array<Unit>& before) {
            if (by_sets() && jump(source, scratch, out < 0 ? Array<Index>{} : Array<Index>{out}, {c}, before)) return;
            if (nu > 0 && held == 1) {
                C = 1.0 / nu;
                for (Unit& u : units) u.state.C = C;
            }
            for (Unit& u : units) {
                auto worker = machine(u, source, scratch);
                worker.learn(c);
                if (out >= 0) worker.unlearn(out);
            }
            if (nu > 0) bound(source, scratch, 1.0 / (nu * static_cast<double>(held)));
        });
    }
};

}  // namespace hingeline::incremental
