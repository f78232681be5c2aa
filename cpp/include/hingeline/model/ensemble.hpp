// Ensemble: two-class machines over one set of rows, and their labels.
//
// The code of a label is its position in the order in which labels became known; its place is its rank among the sorted
// labels. One-vs-one has a machine for each pair of codes, whose positive class is the larger label. One-vs-rest has
// one machine for two labels, and one machine per label for more.
#pragma once

#include "hingeline/algo/example.hpp"
#include "hingeline/model/joint.hpp"
#include "hingeline/model/rows.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline {

/// The sides of a two-class machine: class `positive` against class `negative`, or against all others (-1).
struct Sides {
    Index positive = 0, negative = -1;
    /// The class on the other side of an example of class `code`; for one-vs-rest the positive class.
    Index other(Index code) const { return negative < 0 || code != positive ? positive : negative; }
    /// +1, -1, or 0 if the machine does not learn from examples of this class.
    double label(Index code) const { return code == positive ? 1.0 : negative < 0 || code == negative ? -1.0 : 0.0; }
};

/// Known labels, by code.
struct Classes {
    bool one_vs_rest = false;
    Array<Index> place;  // rank of each code among the sorted labels
    Index size() const { return place.size(); }
    Index at(Index code) const { return place[code]; }
    /// A label with rank `where` becomes known.
    void insert(Index where) {
        if (where < 0 || where > size()) throw std::invalid_argument("place of a label out of range");
        place.push_back(where);  // may throw, so it comes first
        for (Index k = 0; k + 1 < size(); ++k) place[k] += place[k] >= where;
    }
    /// Numbers of the machines in the order of their classes.
    template <class Machines> Array<Index> order(const Machines& machines) const {
        Array<Index> out(machines.size());
        std::iota(out.begin(), out.end(), Index{0});
        const auto key = [&](Index m) {
            const Sides& s = machines[m];
            return s.negative < 0 ? std::pair(at(s.positive), Index{0}) : std::pair(at(s.negative), at(s.positive));
        };
        std::sort(out.begin(), out.end(), [&](Index a, Index b) { return key(a) < key(b); });
        return out;
    }
};

/// A label that becomes known before example `at` of a chunk, and its rank among the labels known at that point.
struct Arrival {
    Index at = 0, place = 0;
};

/// Examples: rows of x, their numbers, classes, and boxes (C times weight; for exact machines the weight).
struct Chunk {
    const AnyRows* x = nullptr;
    Ids rows;
    const Index *id = nullptr, *code = nullptr;
    const double* box = nullptr;
    Array<Arrival> arrivals{};
    Index size() const { return rows.count; }
    double largest_box() const { return *std::max_element(box, box + size()); }
};

/// margins[i][c]: y f(x) of example i when it was visited, in the machine for its class and class c (one-vs-rest: in
/// the machine of class c). NaN if no such machine visited it.
struct Margins {
    double* values = nullptr;
    Index rows = 0, classes = 0;
    bool by_id = false;  // line i belongs to the example with id i, not to example i of the chunk
};

/// Margins of the examples of one machine; those that were written reach the table in the end.
class MarginColumn {
  public:
    MarginColumn(const Margins& to, const Sides& sides, const Chunk& chunk, const Array<Index>& where)
        : to_(to), sides_(sides), chunk_(chunk), where_(where), z_(where.size(), unseen) {}
    MarginColumn(const MarginColumn&) = delete;
    ~MarginColumn() {
        for (Index i = 0; i < z_.size(); ++i)
            if (const Index k = where_[i]; z_[i] == z_[i])
                to_.values[(to_.by_id ? chunk_.id[k] : k) * to_.classes + sides_.other(chunk_.code[k])] = z_[i];
    }
    double* data() const { return z_.data(); }

  private:
    static constexpr double unseen = std::numeric_limits<double>::quiet_NaN();
    const Margins& to_;
    const Sides& sides_;
    const Chunk& chunk_;
    const Array<Index>& where_;
    mutable Array<double> z_;
};

/// M has sides, a `state` with the held `row` of each entry, copy(), without values that can be recomputed, and
/// release(), which frees these.
template <class M> struct Ensemble {
    Classes classes;
    Array<M> machines;
    HeldRows rows;
    Index n_seen = 0;
    std::string unfinished;  // why the last call ended early, or empty

    explicit Ensemble(bool one_vs_rest) { classes.one_vs_rest = one_vs_rest; }

    /// A label becomes known, with the machines that it needs. If it throws, nothing has changed.
    void add_class(Index place) {
        Classes known = classes;
        known.insert(place);
        Array<M> fresh = machines_for(known);
        machines.reserve(machines.size() + fresh.size());
        for (M& m : fresh) machines.push_back(std::move(m));
        classes = std::move(known);
    }
    Array<Index> order() const { return classes.order(machines); }
    /// Put the attributes that decision values need, of machines in the given order; terms_of(state) are coefficients.
    template <class F> void put_decisions(Record& out, const Array<Index>& by_class, F&& terms_of) const {
        Array<Terms> terms;
        for (const Index m : by_class) terms.push_back(orient(terms_of(machines[m].state)));
        put_joint(out, terms, classes.size(), classes.one_vs_rest && classes.size() > 2);
        put_each(out, "decision_scale", machines, by_class, [](const M& m) { return m.state.largest; });
    }

    /// Append the rows of a chunk; the position of the first. -1 for a precomputed kernel, which needs no rows.
    Index append(const Source& source, const Chunk& chunk) {
        return source.precomputed() ? -1 : rows.append(*chunk.x, chunk.rows);
    }
    /// The examples [from, to) of a chunk that machine m learns from; `where` gets their positions in the chunk.
    Array<online::Example> examples(Index m, const Chunk& chunk, Index first, Index from, Index to,
                                    Array<Index>& where) const {
        Array<online::Example> out;
        for (Index i = from; i < to; ++i) {
            const double y = machines[m].label(chunk.code[i]);
            if (y == 0 || chunk.box[i] == 0) continue;
            out.push_back({first < 0 ? chunk.rows[i] : first + i, chunk.id[i], chunk.code[i], y * chunk.box[i]});
            where.push_back(i);
        }
        return out;
    }

    /// Drop rows that no machine holds. If it throws, nothing has changed.
    void settle() {
        if (!rows.started()) return;
        Array<char> keep(rows.size(), 0);
        for (const M& m : machines)
            for (const Index row : m.state.row) keep[row] = 1;
        const Closing closing = close_up(keep);
        Array<Index> now(keep.size());
        std::iota(now.begin(), now.end(), Index{0});
        for (const auto& [from, to] : closing.moves) now[from] = to;
        rows.close(keep, closing);  // the last step that may throw
        for (M& m : machines)
            for (Index& row : m.state.row) row = now[row];
    }
    void release() {
        for (M& m : machines) m.release();
    }

    /// State to restore if a call fails; rows from `n_rows` on were added by the call.
    struct Before {
        Classes classes;
        Array<M> machines;
        bool had_rows;
        Index n_rows, n_seen;
        std::string unfinished;
    };
    Before before() const { return {classes, copies(), rows.started(), rows.size(), n_seen, unfinished}; }
    Array<M> copies() const {
        Array<M> out;
        out.reserve(machines.size());
        for (const M& m : machines) out.push_back(m.copy());
        return out;
    }
    void undo(Before&& b) noexcept {
        classes = std::move(b.classes);
        machines = std::move(b.machines);
        if (b.had_rows)
            rows.truncate(b.n_rows);
        else
            rows.clear();
        n_seen = b.n_seen;
        unfinished = std::move(b.unfinished);
    }

    /// Make one call: work(), then settle() if `closes`. An error leaves the ensemble as it was, also one raised while
    /// Ctrl-C was handled. Ctrl-C stops `work` early, and what was learnt so far is kept.
    template <class Work> void transact(Interrupt* interrupt, bool closes, Work&& work) {
        Before b = before();
        try {
            try {
                work();
            } catch (const Interrupted&) {
            }
            if (interrupt && interrupt->failed()) return undo(std::move(b));
            if (closes) settle();
        } catch (...) {
            undo(std::move(b));
            throw;
        }
    }

    /// Learn from a chunk of a stream. work(from, to) learns from some of its examples and returns how far all machines
    /// have come. After Ctrl-C the ensemble is that of the first n_seen examples: one machine keeps what it has learnt;
    /// several go through the chunk in pieces of `piece` examples or more, and a piece that is interrupted is undone.
    template <class Work> void learn_chunk(const Chunk& chunk, Index piece, Interrupt* interrupt, Work&& work) {
        const auto stopped = [&] { return interrupt && interrupt->requested(); };
        const Index seen_before = n_seen;
        transact(interrupt, true, [&] {
            unfinished = "interrupted";
            Index next = 0;
            Index at = 0;
            while (!stopped()) {
                while (next < std::ssize(chunk.arrivals) && chunk.arrivals[next].at <= at)
                    add_class(chunk.arrivals[next++].place);
                if (at == chunk.size()) break;
                Index end = next < std::ssize(chunk.arrivals) ? chunk.arrivals[next].at : chunk.size();
                const bool several = std::ssize(machines) > 1;
                if (several) end = std::min(end, at + std::max(piece, chunk.size() / 64));
                Array<M> states = several ? copies() : Array<M>();
                const Index reached = work(at, end);
                if (several && reached < end) {
                    machines = std::move(states);
                    for (M& m : machines) m.state.reason = Reason::interrupted;
                } else {
                    at = reached;
                }
                n_seen = seen_before + at;
                if (reached < end) break;  // interrupted
            }
            if (!stopped()) unfinished.clear();
        });
        release_window();
    }
    void release_window() {
        if constexpr (requires(M m) { m.window; }) release();
    }

    /// Coefficients of machine m as LIBSVM has them: with more than two classes one-vs-one machines vote for the class
    /// that sorts first.
    Terms orient(Terms terms) const {
        for (Index& code : terms.code) code = classes.at(code);
        if (classes.size() > 2 && !classes.one_vs_rest) {
            for (double& value : terms.coef) value = -value;
            terms.intercept = -terms.intercept;
        }
        return terms;
    }
    void require_rows(Index available) const {
        for (const M& m : machines)
            for (const Index row : m.state.row)
                if (row >= available) throw std::invalid_argument("the kernel has fewer rows than the model");
    }

  private:
    /// New machines for the last of the `known` labels.
    Array<M> machines_for(const Classes& known) const {
        Array<M> out;
        const Index fresh = known.size() - 1;
        if (known.one_vs_rest && fresh >= 2) {
            if (fresh == 2) {  // two classes had one machine; the other class gets its own
                const Index second = 1 - machines.front().positive;
                out.push_back({{second, -1}, mirror_state(machines.front().state)});
            }
            out.push_back({{fresh, -1}});
            return out;
        }
        for (Index old = 0; old < fresh; ++old) {
            const Index larger = known.at(fresh) > known.at(old) ? fresh : old;
            out.push_back({{larger, known.one_vs_rest ? -1 : fresh + old - larger}});
        }
        return out;
    }
};

/// Fields of the labels and counters of an ensemble.
template <class Archive, class E> void ensemble_fields(Archive& a, E& e) {
    a("one_vs_rest", e.classes.one_vs_rest);
    a("place", e.classes.place);
    a("n_seen", e.n_seen);
}

/// The fields of each machine.
template <class Machines> std::vector<Record> saved_machines(Machines& machines) {
    std::vector<Record> out;
    for (auto& m : machines) {
        Writer one;
        fields(one, m);
        out.push_back(std::move(one.record));
    }
    return out;
}

template <class E> Record saved_ensemble(E& e, const char* kind, Index version) {
    Writer out;
    put_header(out.record, kind, version);
    ensemble_fields(out, e);
    out.record.put("unfinished", e.unfinished);
    out.record.put("machines", saved_machines(e.machines));
    return std::move(out.record);
}

/// A restored ensemble with the options of `e` and the rows `held`; null with a precomputed kernel. check(machine)
/// rejects values that a machine cannot have.
template <class E, class Check> E restored_ensemble(const E& e, const Record& record, const char* kind, Index version,
                                                    const AnyRows* held, Check&& check) {
    using M = typename decltype(e.machines)::value_type;
    check_header(record, kind, version);
    E fresh = e.like();
    const Reader in{record};
    ensemble_fields(in, fresh);
    fresh.unfinished = record.get<std::string>("unfinished");
    const Index classes = fresh.classes.size();
    Array<char> seen(classes, 0);
    for (const Index p : fresh.classes.place)
        require_sound(p >= 0 && p < classes && !std::exchange(seen[p], 1), "place");
    require_sound(is_count(fresh.n_seen), "n_seen");
    require_sound(fresh.unfinished.empty() || fresh.unfinished == "stopped" || fresh.unfinished == "interrupted",
                  "unfinished");
    if (held) fresh.rows.append(*held, Ids::run(0, row_count(*held)));
    const auto& machines = record.get<std::vector<Record>>("machines");
    const Index wanted = classes < 2                  ? 0
                         : !fresh.classes.one_vs_rest ? classes * (classes - 1) / 2
                         : classes == 2               ? 1
                                                      : classes;
    require_sound(std::ssize(machines) == wanted, "machines");
    for (const Record& one : machines) {
        M m{};
        Reader from{one};
        fields(from, m);
        require_sound(m.positive >= 0 && m.positive < classes && m.negative >= -1 && m.negative < classes &&
                          m.positive != m.negative && (m.negative < 0) == fresh.classes.one_vs_rest,
                      "sides of a machine");
        const Index n = std::ssize(m.state.row);
        require_sound(std::ssize(m.state.id) == n && std::ssize(m.state.code) == n, "lengths of a machine's arrays");
        for (Index i = 0; i < n; ++i)
            require_sound(m.state.row[i] >= 0 && (!held || m.state.row[i] < fresh.rows.size()) &&
                              m.state.code[i] >= 0 && m.state.code[i] < classes,
                          "rows or classes of a machine");
        check(m);
        fresh.machines.push_back(std::move(m));
    }
    return fresh;
}

}  // namespace hingeline
