// Exact incremental machines as a model: points with their rows and norms; a call that fails changes nothing.
#pragma once

#include <unordered_map>

#include "hingeline/algo/incremental/model.hpp"
#include "hingeline/model/ensemble.hpp"

namespace hingeline::incremental {

template <class Archive, class U> void fields(Archive& a, U& u) {
    auto& s = u.state;
    a("positive", u.positive), a("ready", s.ready), a("refreshed_at", s.refreshed_at);
    a("C", s.C), a("mu", s.mu);
    a("steps", s.counts.steps), a("rebuilds", s.counts.rebuilds), a("corrections", s.counts.corrections);
    a("restarts", s.counts.restarts), a("refinements", s.counts.refinements), a("bytes", s.counts.bytes);
    a.array("seconds", s.counts.seconds, static_cast<Index>(Part::count));
    a("place", s.place), a("margin", s.margin);
    if constexpr (Archive::reads) {
        s.n = static_cast<Index>(s.place.size());
        s.lines.resize(s.n);
        Array<double> packed;
        a("inverse", packed);
        const Index m = std::ssize(s.margin);
        require_sound(std::ssize(packed) == (m ? (m + 1) * (m + 2) / 2 : 0), "inverse");
        if (m) s.q.load(packed.data(), m + 1);
        wipe(packed.data(), static_cast<std::size_t>(packed.size()) * sizeof(double));
    } else {
        a("inverse", s.q.entries());
    }
    const char* names[] = {"alpha", "gradient", "target", "upper", "lower"};
    for (int k = 0; k < line::count; ++k) a.array(names[k], s.lines[k], s.n);
}

/// Reject values that no machine over n points can have.
inline void check(const Unit& u, Index n, Index classes) {
    const State& s = u.state;
    require_sound(u.positive >= 0 && u.positive < std::max<Index>(classes, 1), "positive");
    require_sound(s.n == n && s.C > 0 && is_count(s.refreshed_at), "size of a machine");
    for (const Index count :
         {s.counts.steps, s.counts.rebuilds, s.counts.corrections, s.counts.restarts, s.counts.refinements})
        require_sound(is_count(count), "counts");
    Index inside = 0;
    for (const Place p : s.place) {
        require_sound(p >= Place::out && p <= Place::high, "place");
        inside += p == Place::margin;
    }
    for (Index i = 0; i < n; ++i) require_sound(s[line::up][i] >= 0 && s[line::dn][i] >= 0, "bounds of a machine");
    Array<char> named(n, 0);
    for (const Index k : s.margin)
        require_sound(k >= 0 && k < n && s.place[k] == Place::margin && !std::exchange(named[k], 1), "margin");
    require_sound(inside == std::ssize(s.margin), "margin");
}

class Incremental {
  public:
    static constexpr const char* kind = "incremental";
    static constexpr Index version = 1;
    Model model;
    Classes classes;
    std::size_t cache_bytes = 0;

    Incremental(Problem problem, double C, double nu) {
        model.problem = problem, model.C = C, model.nu = nu;
        classes.one_vs_rest = true;
        if (problem != Problem::classes) {
            classes.insert(0);
            model.add(0);
        }
    }
    Index n_rows() const { return store_.size(); }
    const Store<double>& rows() const { return store_; }
    std::size_t bytes() const { return model.kernel.bytes() + inverse_bytes(); }
    /// Points that have come so far; serials count from 0 in the order of arrival.
    Index n_seen() const { return std::max(seen_, model.last + 1); }

    /// A label becomes known; see Ensemble::add_class. If it throws, nothing has changed.
    void add_class(Index place) {
        Classes known = classes;
        known.insert(place);
        const Index fresh = known.size() - 1;
        Array<Unit> units;
        if (fresh == 2) units.push_back({1 - model.units.front().positive, mirror_state(model.units.front().state)});
        if (fresh > 0) units.push_back(model.unit(fresh == 1 && known.at(1) < known.at(0) ? 0 : fresh));
        model.units.reserve(model.units.size() + units.size());
        for (Unit& u : units) model.units.push_back(std::move(u));
        classes = std::move(known);
    }

    /// Learn from points in their order; labels may be new. An error leaves the model as it was. After Ctrl-C it is the
    /// optimum of the points learnt so far; `n_seen()` counts them.
    void learn(const Source& source, const Chunk& chunk, int threads, Interrupt* interrupt) {
        prepare();
        const Index size = chunk.size();
        std::optional<Before> b;  // not needed for one point: the algorithm undoes it
        if (size > 1 || model.find_crowded() >= 0 || !chunk.arrivals.empty()) b = before();
        const Index stored = store_.size();
        std::optional<Store<double>> rows;  // copy needed if points may be removed during the call
        Wiped<double> lengths;
        if (model.window > 0 && size > model.kernel.block()) rows = store_, lengths = norms_;
        const auto undo = [&]() noexcept {
            if (b) back(std::move(*b));
            if (rows) {
                store_ = std::move(*rows);
                norms_ = std::move(lengths);
                model.kernel.clear();
                return;
            }
            store_.truncate(stored);
            norms_.resize(std::min<Index>(stored, std::ssize(norms_)));
            model.truncate(stored);
        };
        try {
            for (const Arrival& a : chunk.arrivals) add_class(a.place);
            for (Index at = 0; at < size && !(interrupt && interrupt->requested());) {
                const Index count = std::min(size - at, model.kernel.block());
                append(chunk, at, count);
                Room room(*this, model.window > 0);
                run(source, threads, interrupt,
                    [&](const auto& values, auto& scratch) { model.learn(values, scratch, count); });
                if (interrupt && interrupt->failed()) return undo();  // before rows of one block are removed
                close(std::move(room));
                at += count;
            }
            if (interrupt && interrupt->failed()) return undo();
            allow();  // inverses have grown, so less memory is left for kernel rows
        } catch (...) {
            undo();
            throw;
        }
    }
    /// Remove points exactly. An error or Ctrl-C leaves the model as it was.
    void forget(const Source& source, const Array<Index>& serials, int threads, Interrupt* interrupt) {
        const Array<Index> which = positions(serials);
        Room room(*this, true);
        const auto leave = [&]() noexcept {
            close(std::move(room));
            wipe_stack();
        };
        try {
            run(source, threads, interrupt,
                [&](const auto& values, auto& scratch) { model.forget(values, scratch, which); });
        } catch (...) {
            leave();
            throw;
        }
        leave();
    }
    /// Follow the exact path to another C, or to another nu if it is above 0.
    void bound(const Source& source, double C, double nu, int threads, Interrupt* interrupt) {
        change(source, threads, interrupt, [&](const auto& values, auto& scratch) {
            model.nu = nu;
            const double points = static_cast<double>(std::max<Index>(model.live(), 1));
            model.bound(values, scratch, nu > 0 ? 1.0 / (nu * points) : C);
        });
    }
    /// Output at each point of the machine without that point; machine after machine in the order of the classes.
    Array<double> leave_one_out(const Source& source, const Array<Index>& serials, int threads, Interrupt* interrupt) {
        const Array<Index> which = positions(serials);
        const Array<Index> by_class = order();
        Array<double> values(which.size() * model.units.size()), out;
        out.reserve(values.size());
        model.visited = {};
        const auto visit = [&](const auto& kernel, auto& scratch) {
            model.leave_one_out(kernel, scratch, which, values.data());
        };
        change(source, threads, interrupt, visit, true);
        for (const Index m : by_class)
            out.insert(out.end(), values.begin() + m * which.size(), values.begin() + (m + 1) * which.size());
        return out;
    }
    /// For each C and machine: coefficients of the points `serials`, intercept, and size of the margin set.
    Record path(const Source& source, const Array<double>& Cs, const Array<Index>& serials, int threads,
                Interrupt* interrupt) {
        const Array<Index> which = positions(serials), by_class = order();
        Numeric<double> coef{{}, shape(Cs.size(), by_class.size(), which.size())},
            constant{{}, shape(Cs.size(), by_class.size())};
        Numeric<Index> margin{{}, shape(Cs.size(), by_class.size())};
        model.visited = {};
        const auto visit = [&](const auto& values, auto& scratch) {
            for (const double C : Cs) {
                model.bound(values, scratch, C);
                for (const Index m : by_class) {
                    const State& s = model.units[m].state;
                    model.note(model.visited, s);
                    for (const Index c : which) coef.values.push_back(s[line::alpha][c]);
                    constant.values.push_back(s.constant());
                    margin.values.push_back(static_cast<Index>(s.margin.size()));
                }
            }
        };
        change(source, threads, interrupt, visit, true);
        Record out;
        out.put("dual_coef", std::move(coef));
        out.put("intercept", std::move(constant));
        out.put("n_margin", std::move(margin));
        return out;
    }
    /// Largest KKT violation, from recomputed kernel values.
    double violation(const Source& source, int threads, Interrupt* interrupt) {
        double worst = 0;
        change(source, threads, interrupt, [&](const auto& values, auto& scratch) {
            for (Unit& u : model.units) worst = std::max(worst, model.machine(u, values, scratch).violation());
        });
        return worst;
    }
    /// Condition number of each machine's margin system, in the order of the classes.
    Array<double> condition(const Source& source, int threads, Interrupt* interrupt) {
        Array<double> out;
        change(source, threads, interrupt, [&](const auto& values, auto& scratch) {
            for (const Index m : order()) out.push_back(model.machine(model.units[m], values, scratch).condition());
        });
        return out;
    }

    /// Fitted attributes by name; empty if there is no machine yet. `brief`: only those that decision values need.
    Record attributes(bool brief = false) const {
        Record out;
        if (model.units.empty()) return out;
        const Array<Index> by_class = order();
        Array<Terms> terms;
        for (const Index m : by_class) terms.push_back(terms_of(model.units[m].state));
        put_joint(out, terms, classes.size(), classes.size() > 2);
        const auto put = [&](const char* name, auto&& f) {
            put_each(out, name, model.units, by_class, [&](const Unit& u) { return f(u.state); });
        };
        put("square", [](const auto& s) { return s.square(); });
        bool ready = true;
        for (const Unit& u : model.units) ready &= u.state.ready;
        out.put("C", model.C);
        out.put("ready", ready);
        if (model.problem != Problem::classes) put_list(out, "near", near_boundary(model.units.front().state));
        if (brief) return out;
        put("n_iter", [](const auto& s) { return s.counts.steps; });
        put("n_margin", [](const auto& s) { return static_cast<Index>(s.margin.size()); });
        put("n_rebuilds", [](const auto& s) { return s.counts.rebuilds; });
        put("n_corrections", [](const auto& s) { return s.counts.corrections; });
        put("n_refinements", [](const auto& s) { return s.counts.refinements; });
        put("n_restarts", [](const auto& s) { return s.counts.restarts; });
        const char* names[] = {"kernel", "sensitivity", "gradient", "search", "inverse", "check"};
        Record seconds;
        double bytes = 0;
        for (int k = 0; k < static_cast<int>(Part::count); ++k) {
            double sum = k == static_cast<int>(Part::kernel) ? model.kernel_seconds : 0.0;
            for (const Unit& u : model.units) sum += u.state.counts.seconds[k];
            seconds.put(names[k], sum);
        }
        for (const Unit& u : model.units) bytes += u.state.counts.bytes;
        out.put("profile", std::vector<Record>{std::move(seconds)});
        out.put("bytes_touched", bytes);
        return out;
    }
    /// Events on the path of the last operation: machine, number of the point, set.
    Record events() const {
        Record out;
        Numeric<Index> machine, point, set;
        const Array<Index> by_class = order();
        for (Index m = 0; m < std::ssize(by_class); ++m)
            for (const Passage& e : model.units[by_class[m]].state.events) {
                machine.values.push_back(m), point.values.push_back(e.serial);
                set.values.push_back(static_cast<Index>(e.set));
            }
        out.put("machine", std::move(machine));
        out.put("point", std::move(point));
        out.put("set", std::move(set));
        return out;
    }
    /// Serials, classes and weights of the points held, in the order of the rows.
    Record points() const {
        Record out;
        put_list(out, "serial", model.points.serial);
        Numeric<Index> code;
        for (const Index c : model.points.code) code.values.push_back(classes.at(c));
        out.put("code", std::move(code));
        put_list(out, "weight", model.points.weight);
        return out;
    }

    Record save() {
        Writer out;
        put_header(out.record, kind, version);
        all_fields(out, *this);
        out.record.put("machines", saved_machines(model.units));
        return std::move(out.record);
    }
    void restore(const Record& record, const AnyRows* held) {
        check_header(record, kind, version);
        Incremental fresh(model.problem, 1, 0);
        fresh.model.units.clear();
        Reader in{record};
        all_fields(in, fresh);
        fresh.check_points();
        for (const Record& one : record.get<std::vector<Record>>("machines")) {
            Unit u{0, {}};
            u.state.total = model.problem == Problem::classes ? 0.0 : 1.0;
            Reader from{one};
            fields(from, u);
            check(u, fresh.model.n, fresh.classes.size());
            fresh.model.units.push_back(std::move(u));
        }
        const Index n = fresh.classes.size();
        require_sound(std::ssize(fresh.model.units) == (n < 2    ? Index{model.problem != Problem::classes}
                                                        : n == 2 ? 1
                                                                 : n),
                      "machines");
        fresh.take_rows(held);
        fresh.model.window = model.window, fresh.model.rule = model.rule, fresh.cache_bytes = cache_bytes;
        *this = std::move(fresh);
    }
    Array<Index> order() const {
        Array<Index> out(model.units.size());
        std::iota(out.begin(), out.end(), Index{0});
        std::sort(out.begin(), out.end(), [&](Index a, Index b) {
            return classes.at(model.units[a].positive) < classes.at(model.units[b].positive);
        });
        return out;
    }

  private:
    /// State to restore if a call fails.
    struct Before {
        Classes classes;
        Array<Unit> units;
        Points points;
        Index n, last;
        double C, nu;
    };
    Before before() const { return {classes, model.units, model.points, model.n, model.last, model.C, model.nu}; }
    void back(Before&& b) noexcept {
        classes = std::move(b.classes);
        model.units = std::move(b.units);
        model.points = std::move(b.points);
        model.n = b.n, model.last = b.last, model.C = b.C, model.nu = b.nu;
    }

    template <class Archive, class I> static void all_fields(Archive& a, I& i) {
        a("place", i.classes.place);
        Index seen = i.n_seen();
        a("n_seen", seen), a("C", i.model.C), a("nu", i.model.nu), a("kernel_seconds", i.model.kernel_seconds);
        auto& p = i.model.points;
        a("serial", p.serial), a("code", p.code), a("weight", p.weight), a("diagonal", p.diagonal);
        if constexpr (Archive::reads) {
            i.seen_ = seen;
            i.model.n = static_cast<Index>(p.serial.size());
            p.dead.assign(p.serial.size(), 0);
        }
    }
    void check_points() const {
        const Points& p = model.points;
        require_sound(is_count(seen_), "n_seen");
        const Index n = std::ssize(p.serial);
        const Index count = classes.size();
        Array<char> seen(count, 0);
        for (const Index where : classes.place)
            require_sound(where >= 0 && where < count && !std::exchange(seen[where], 1), "place");
        require_sound(model.problem == Problem::classes || count == 1, "place");
        require_sound(std::ssize(p.code) == n && std::ssize(p.weight) == n && std::ssize(p.diagonal) == n,
                      "lengths of the points");
        require_sound(model.C > 0 && model.nu >= 0 && model.nu <= (model.problem == Problem::classes ? 0 : 1), "C");
        std::unordered_map<Index, bool> named;
        for (Index i = 0; i < n; ++i)
            require_sound(p.code[i] >= 0 && p.code[i] < count && p.serial[i] >= 0 && p.serial[i] < seen_ &&
                              p.weight[i] >= 0 && !std::exchange(named[p.serial[i]], true),
                          "points");
    }
    void take_rows(const AnyRows* held) {
        if (held) {
            const auto* rows = std::get_if<Rows<double>>(held);
            require_sound(rows != nullptr, "rows");
            store_ = Store<double>(column_count(*rows), rows->index() != 0);
            store_.append(*rows, Ids::run(0, row_count(*rows)));
            norms_ = Gram<double>::norms_of(store_.view());
        }
        require_sound(store_.size() == model.n, "rows");
    }

    Terms terms_of(const State& s) const {
        Terms out;
        for (Index i = 0; i < s.n; ++i)
            if (const double alpha = s[line::alpha][i]; alpha != 0)
                out.add(i, model.points.serial[i], classes.at(model.points.code[i]), alpha);
        out.intercept = s.constant();
        return out;
    }
    /// Positions of points that are not outside, on the boundary up to rounding.
    Array<Index> near_boundary(const State& s) const {
        Array<Index> out;
        if (!s.ready) return out;
        const double limit = model.reached(s).limit;
        for (Index i = 0; i < s.n; ++i)
            if (s.place[i] != Place::out && s[line::alpha][i] < s.high(i) && s[line::g][i] <= limit) out.push_back(i);
        return out;
    }
    std::size_t inverse_bytes() const {
        std::size_t all = 0;
        for (const Unit& u : model.units) all += u.state.q.bytes();
        return all;
    }
    Array<Index> positions(const Array<Index>& serials) const {
        std::unordered_map<Index, Index> where;
        for (Index i = 0; i < model.n; ++i) where[model.points.serial[i]] = i;
        Array<Index> out;
        for (const Index serial : serials) {
            const auto found = where.find(serial);
            if (found == where.end()) throw std::invalid_argument("no such point, or named twice");
            out.push_back(found->second);
            where.erase(found);
        }
        return out;
    }

    void append(const Chunk& chunk, Index from, Index count) {
        const auto* rows = std::get_if<Rows<double>>(chunk.x);
        if (!rows || (store_.size() > 0 && store_.columns() != column_count(*rows)))
            throw std::invalid_argument("rows must be float64 and have the features of those before");
        if (store_.size() == 0) store_ = Store<double>(column_count(*rows), worth_compressing(*rows));
        const Index first = store_.size();
        store_.append(*rows, chunk.rows.part(from, count));
        const Wiped<double> lengths = Gram<double>::norms_of(store_.view(first));
        norms_.resize(first);
        norms_.insert(norms_.end(), lengths.begin(), lengths.end());
        for (Index i = from; i < from + count; ++i) model.points.push(chunk.id[i], chunk.code[i], chunk.box[i]);
    }
    /// Rows with many zeros are kept compressed from the start.
    static bool worth_compressing(const Rows<double>& rows) {
        const auto* dense = std::get_if<0>(&rows);
        return !dense || few_entries(*dense, std::numeric_limits<std::size_t>::max() / 2).has_value();
    }
    /// Memory for `close`, allocated before a change so that removing points afterwards cannot fail.
    struct Room {
        Model::Removal positions;
        Store<double>::Room rows{};
        /// `any`: any point may leave, otherwise only the last ones, which were not learnt.
        Room(const Incremental& of, bool any) : positions(of.model.points.size()) {
            if (any) rows = of.store_.room();
        }
    };
    /// Remove dead points and points that were not learnt, with their rows.
    void close(Room room) noexcept {
        model.close(room.positions);
        const Closing& c = room.positions.closing;
        store_.close(room.positions.kept, c, std::move(room.rows));
        for (const auto& [from, to] : c.moves) norms_[to] = norms_[from];
        std::fill(norms_.begin() + c.size, norms_.end(), 0.0);
        norms_.resize(c.size);
    }
    /// Kernel rows may use the part of the cache that the inverses do not need.
    void allow() noexcept { model.kernel.allow(cache_bytes - std::min(cache_bytes, inverse_bytes())); }
    void prepare() {
        allow();
        if (model.kernel.size() == 0 && model.n > 0) model.kernel.expect(model.n);
    }
    /// f(kernel values, scratch); Ctrl-C ends it early.
    template <class F> void run(const Source& source, int threads, Interrupt* interrupt, F&& f) {
        Array<Scratch<double>> scratch(std::max(threads, 1));
        for (auto& s : scratch) s.interrupt = interrupt;
        prepare();
        try {
            with_values(source, store_.view(), norms_, [&](const auto& values) { f(values, scratch); });
        } catch (const Interrupted&) {
        }
    }
    /// Run f on the points held. The model is restored if f fails or is interrupted; with `look` always.
    template <class F> void change(const Source& source, int threads, Interrupt* interrupt, F&& f, bool look = false) {
        Before b = before();
        try {
            run(source, threads, interrupt, f);
        } catch (...) {
            back(std::move(b));
            throw;
        }
        if (look || (interrupt && interrupt->requested())) back(std::move(b));
    }

    Store<double> store_{0, false};
    Wiped<double> norms_;
    Index seen_ = 0;  // before the state was restored
};

}  // namespace hingeline::incremental
