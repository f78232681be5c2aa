// Online machines as Python holds them: rows shared by several two-class machines, and where kernel values come from.
#pragma once

#include "hingeline/algo/direction.hpp"
#include "kernels.hpp"

namespace hingeline::bindings {

/// Where kernel values come from: a kernel over the store, a matrix that exists, or a function of Python's.
struct SourceSpec {
    const Kernel* kernel = nullptr;
    const Matrix* matrix = nullptr;
    nb::callable function{};
    explicit SourceSpec(nb::object x) {
        if (nb::isinstance<Kernel>(x))
            kernel = nb::cast<const Kernel*>(x);
        else if (nb::isinstance<Matrix>(x))
            matrix = nb::cast<const Matrix*>(x);
        else
            function = nb::cast<nb::callable>(x);
    }
};

/// Examples: rows of x, their numbers, classes and boxes (C times weight; exact machines: the weight).
struct Chunk {
    const Matrix* x;
    Contiguous1<std::int64_t> rows, ids, codes;
    Contiguous1<double> boxes;
    std::size_t size() const { return rows.shape(0); }
    void check() const {
        if (ids.shape(0) != size() || codes.shape(0) != size() || boxes.shape(0) != size())
            throw std::invalid_argument("rows, ids, codes and boxes must be equally long");
        bindings::ids(rows, x->n);
    }
};

/// The sides of a two-class machine: class `positive` against class `negative`, or against all others (-1).
struct Sides {
    Index positive = 0, negative = -1;
    /// The class that an example of class `code` is told apart from; where that is the rest, the machine's own class.
    Index other(Index code) const { return negative < 0 || code != positive ? positive : negative; }
    /// +1, -1, or 0 for an example that is none of this machine's.
    double label(Index code) const { return code == positive ? 1.0 : negative < 0 || code == negative ? -1.0 : 0.0; }
};

/// One machine of the LASVM family.
struct Machine : Sides {
    online::State state{};
    std::variant<std::monostate, std::unique_ptr<SelfGram<float>>, std::unique_ptr<SelfGram<double>>> kernel_rows{};

    template <class T> SelfGram<T>& kernel(std::size_t bytes) {
        using Held = std::unique_ptr<SelfGram<T>>;
        if (!std::holds_alternative<Held>(kernel_rows)) kernel_rows = std::make_unique<SelfGram<T>>(bytes);
        std::get<Held>(kernel_rows)->allow(bytes);
        return *std::get<Held>(kernel_rows);
    }
    /// Kernel rows are computed again when needed.
    void release() { kernel_rows = std::monostate{}; }
};

/// A new array that owns what it holds, of a matrix's rows: dense, or (values, columns, starts).
template <class T> nb::object taken(const Store<T>& store, Ids ids) {
    Store<T> out(store.columns(), store.sparse());
    out.append(store.view(), ids);
    return std::visit(
        [&](const auto& x) -> nb::object {
            if constexpr (std::is_same_v<std::decay_t<decltype(x)>, DenseRows<T>>) {
                return nb::cast(to_numpy(std::vector<T>(x.data, x.data + x.n * x.d),
                                         {static_cast<std::size_t>(x.n), static_cast<std::size_t>(x.d)}));
            } else {
                using I = std::decay_t<decltype(*x.starts)>;
                const auto stored = x.starts[x.n];
                return nb::make_tuple(to_numpy(std::vector<T>(x.values, x.values + stored)),
                                      to_numpy(std::vector<I>(x.columns, x.columns + stored)),
                                      to_numpy(std::vector<I>(x.starts, x.starts + x.n + 1)));
            }
        },
        out.view());
}

/// Machines over one store of rows. M has sides, a state with the stored `row` of each entry, and `release`.
template <class M> struct MachinesOf {
    using State = decltype(M::state);
    MachinesOf() = default;
    MachinesOf(const MachinesOf&) = delete;
    /// One call at a time: another thread waits, without Python's lock. A kernel function may call back.
    std::unique_lock<std::recursive_mutex> hold() {
        nb::gil_scoped_release release;
        return std::unique_lock(busy_);
    }
    std::vector<M> machines;
    std::variant<std::monostate, Store<float>, Store<double>> store{};

    Index stored() const {
        return std::visit(
            [](const auto& s) -> Index {
                if constexpr (std::is_same_v<std::decay_t<decltype(s)>, std::monostate>)
                    return 0;
                else
                    return s.size();
            },
            store);
    }

    Index features() const {
        if (const auto* narrow = std::get_if<Store<float>>(&store)) return narrow->columns();
        if (const auto* wide = std::get_if<Store<double>>(&store)) return wide->columns();
        return 0;
    }
    const M& at(Index m) const {
        if (m < 0 || m >= static_cast<Index>(machines.size())) throw nb::index_error("no such machine");
        return machines[static_cast<std::size_t>(m)];
    }
    void release() {
        for (M& m : machines) m.release();
    }
    /// A machine that has learnt the opposite of what machine m has: `positive` against all others.
    void add_mirrored(Index m, Index positive) {
        const auto lock = hold();
        machines.push_back({{positive, -1}, mirrored(at(m).state)});
    }
    nb::object take(Contiguous1<std::int64_t> rows) const {
        const Ids wanted = ids(rows, stored());
        if (const auto* narrow = std::get_if<Store<float>>(&store)) return taken(*narrow, wanted);
        if (const auto* wide = std::get_if<Store<double>>(&store)) return taken(*wide, wanted);
        return nb::none();
    }
    void load(const Matrix& x) {
        store = std::monostate{};
        std::visit(
            [&](const auto& rows) {
                using T = std::remove_const_t<std::remove_pointer_t<decltype(std::get<0>(rows).data)>>;
                store.emplace<Store<T>>(x.d, rows.index() != 0);
                std::get<Store<T>>(store).append(rows, Ids::run(0, x.n));
            },
            x.rows);
    }

    /// Rows of the chunk behind those stored; the number of the first. A matrix of kernel values needs no rows.
    Index append(const SourceSpec& spec, const Chunk& chunk) {
        chunk.check();
        if (spec.matrix) return -1;
        const Index first = stored();
        std::visit(
            [&](const auto& rows) {
                using T = std::remove_const_t<std::remove_pointer_t<decltype(std::get<0>(rows).data)>>;
                if (std::holds_alternative<std::monostate>(store)) store = Store<T>(chunk.x->d, rows.index() != 0);
                auto* mine = std::get_if<Store<T>>(&store);
                if (!mine || mine->columns() != chunk.x->d)
                    throw std::invalid_argument("rows must have the precision and the features of those before");
                mine->append(rows, bindings::ids(chunk.rows, chunk.x->n));
            },
            chunk.x->rows);
        return first;
    }

    /// The examples of machine m; `from` gets their places in the chunk.
    std::vector<online::Example> examples(Index m, const Chunk& chunk, Index first,
                                          std::vector<std::size_t>& from) const {
        std::vector<online::Example> out;
        for (std::size_t i = 0; i < chunk.size(); ++i) {
            const double y = machines[static_cast<std::size_t>(m)].label(chunk.codes.data()[i]);
            if (y == 0 || chunk.boxes.data()[i] == 0) continue;
            const Index row = first < 0 ? chunk.rows.data()[i] : first + static_cast<Index>(i);
            out.push_back({row, chunk.ids.data()[i], chunk.codes.data()[i], y * chunk.boxes.data()[i]});
            from.push_back(i);
        }
        return out;
    }

    /// Let go of rows that no machine holds.
    void settle() {
        if (std::holds_alternative<std::monostate>(store)) return;
        std::vector<char> keep(static_cast<std::size_t>(stored()), 0);
        for (const M& m : machines)
            for (const Index row : m.state.row) keep[static_cast<std::size_t>(row)] = 1;
        const Closing closing = close_up(keep);
        std::vector<Index> now(keep.size());
        std::iota(now.begin(), now.end(), Index{0});
        for (const auto& [from, to] : closing.moves) now[static_cast<std::size_t>(from)] = to;
        if (auto* narrow = std::get_if<Store<float>>(&store)) narrow->close(keep, closing);
        if (auto* wide = std::get_if<Store<double>>(&store)) wide->close(keep, closing);
        for (M& m : machines)
            for (Index& row : m.state.row) row = now[static_cast<std::size_t>(row)];
    }

    /// Back to states from before, when rows from `first` on were not there.
    void undo(const std::vector<State>& before, Index first) {
        for (std::size_t i = 0; i < before.size(); ++i) {
            machines[i].state = before[i];
            machines[i].release();
        }
        if (first < 0) return;
        if (auto* narrow = std::get_if<Store<float>>(&store)) narrow->truncate(first);
        if (auto* wide = std::get_if<Store<double>>(&store)) wide->truncate(first);
    }

    /// f(source of kernel values between stored rows, or between the rows of the matrix).
    template <class F> void with_source(const SourceSpec& spec, F&& f) {
        if (spec.matrix) {
            std::visit(
                [&](const auto& rows) {
                    const auto* dense = std::get_if<0>(&rows);
                    if (!dense) throw std::invalid_argument("a precomputed kernel must be dense");
                    f(Gathered(*dense));
                },
                spec.matrix->rows);
        } else if (spec.kernel) {
            std::visit(
                [&](const auto& s) {
                    if constexpr (!std::is_same_v<std::decay_t<decltype(s)>, std::monostate>) {
                        using T = std::remove_const_t<
                            std::remove_pointer_t<decltype(std::get<0>(std::declval<decltype(s.view())>()).data)>>;
                        constexpr std::size_t everything = std::numeric_limits<std::size_t>::max() / 2;
                        f(Gram<T>(*spec.kernel, s.view(), everything));
                    }
                },
                store);
        } else {
            f(Called<double>(stored(), called(spec.function)));
        }
    }

  private:
    std::recursive_mutex busy_;
};

/// All that a machine needs to learn on, but for its rows.
inline nb::dict saved(const Machine& m) {
    const online::State& s = m.state;
    const auto n = static_cast<std::size_t>(s.n);
    nb::dict d;
    std::vector<Index> whole = {m.positive,
                                m.negative,
                                s.ascent.at,
                                s.visited,
                                s.steps,
                                s.kernel_evals,
                                s.kernel_needed,
                                s.note_every,
                                static_cast<Index>(s.reason),
                                s.refreshed_at,
                                s.kernel_recomputed};
    for (const online::Tally* tally : {&s.admitted, &s.cleaned, &s.skipped})
        whole.insert(whole.end(), tally->count, tally->count + 3);
    d["whole"] = to_numpy(std::move(whole));
    d["real"] = to_numpy(std::vector<double>{s.ascent.gap, s.ascent.worst, s.b, s.target, s.largest, s.last_margin,
                                             s.trace.paused_at()});
    d["row"] = to_numpy(s.row);
    d["id"] = to_numpy(s.id);
    d["code"] = to_numpy(s.code);
    std::vector<std::int8_t> zone, dead(s.dead.begin(), s.dead.end());
    for (const Zone z : s.zone) zone.push_back(static_cast<std::int8_t>(z));
    d["zone"] = to_numpy(std::move(zone));
    d["dead"] = to_numpy(std::move(dead));
    std::vector<double> lines;
    for (int k = 0; k < online::line::count; ++k) lines.insert(lines.end(), s.lines[k], s.lines[k] + s.n);
    d["lines"] = to_numpy(std::move(lines), {online::line::count, n});
    std::vector<double> trace;
    for (const Trace::Column& c : s.trace.columns()) trace.insert(trace.end(), c.values.begin(), c.values.end());
    d["trace"] = to_numpy(std::move(trace), {s.trace.columns().size(), s.trace.size()});
    return d;
}

/// The machine that `saved` gave; rows lie below `bound`, classes below `classes`. What comes from a file is not
/// believed.
inline Machine loaded(const nb::dict& d, Index bound, Index classes) {
    const auto whole = nb::cast<Contiguous1<std::int64_t>>(d["whole"]);
    const auto real = nb::cast<Contiguous1<double>>(d["real"]);
    const auto row = nb::cast<Contiguous1<std::int64_t>>(d["row"]), id = nb::cast<Contiguous1<std::int64_t>>(d["id"]),
               code = nb::cast<Contiguous1<std::int64_t>>(d["code"]);
    const auto zone = nb::cast<Contiguous1<std::int8_t>>(d["zone"]),
               dead = nb::cast<Contiguous1<std::int8_t>>(d["dead"]);
    const auto lines = nb::cast<Contiguous2<double>>(d["lines"]), trace = nb::cast<Contiguous2<double>>(d["trace"]);
    Machine m;
    online::State& s = m.state;
    const std::size_t n = row.shape(0);
    const auto valid = [](bool holds) {
        if (!holds) throw std::invalid_argument("the saved state of a machine is damaged");
    };
    valid(whole.shape(0) == 20 && real.shape(0) == 7 && id.shape(0) == n && code.shape(0) == n && zone.shape(0) == n &&
          dead.shape(0) == n && lines.shape(0) == online::line::count && lines.shape(1) == n &&
          trace.shape(0) == s.trace.columns().size());
    for (std::size_t t = 0; t < n; ++t)
        valid(row.data()[t] >= 0 && row.data()[t] < bound && code.data()[t] >= 0 && code.data()[t] < classes &&
              zone.data()[t] >= 0 && zone.data()[t] <= 2 && (dead.data()[t] == 0 || dead.data()[t] == 1));
    for (std::size_t i = 0; i < lines.size(); ++i) valid(std::isfinite(lines.data()[i]));
    for (std::size_t i = 0; i < real.size(); ++i) valid(std::isfinite(real.data()[i]));
    for (std::size_t i = 3; i < whole.size(); ++i) valid(whole.data()[i] >= 0);
    const std::int64_t* w = whole.data();
    m.positive = w[0], m.negative = w[1], s.n = static_cast<Index>(n);
    valid(m.positive >= 0 && m.positive < classes && m.negative >= -1 && m.negative < classes &&
          m.positive != m.negative);
    const double* r = real.data();
    s.ascent = {r[0], r[1], w[2]};
    valid(s.ascent.at >= -1 && s.ascent.at < s.n && w[7] > 0 && w[8] <= static_cast<Index>(Reason::precision));
    s.visited = w[3], s.steps = w[4], s.kernel_evals = w[5], s.kernel_needed = w[6], s.note_every = w[7];
    s.reason = static_cast<Reason>(w[8]);
    s.refreshed_at = w[9], s.kernel_recomputed = w[10];
    online::Tally* tallies[3] = {&s.admitted, &s.cleaned, &s.skipped};
    for (int k = 0; k < 9; ++k) tallies[k / 3]->count[k % 3] = w[11 + k];
    s.b = r[2], s.target = r[3], s.largest = r[4], s.last_margin = r[5];
    s.trace.resume_from(r[6]);
    s.row.assign(row.data(), row.data() + n);
    s.id.assign(id.data(), id.data() + n);
    s.code.assign(code.data(), code.data() + n);
    s.dead.assign(dead.data(), dead.data() + n);
    for (std::size_t t = 0; t < n; ++t) s.zone.push_back(static_cast<Zone>(zone.data()[t]));
    s.lines.resize(s.n);
    for (int k = 0; k < online::line::count; ++k)
        std::copy_n(lines.data() + static_cast<std::size_t>(k) * n, n, s.lines[k]);
    for (Index t = 0; t < s.n; ++t) {
        const double alpha = s[online::line::alpha][t];
        valid(s[online::line::lo][t] <= alpha && alpha <= s[online::line::hi][t]);
        s.n_dead += s.dead[static_cast<std::size_t>(t)];
        s.support[s.y(t) > 0] += alpha != 0;
    }
    for (std::size_t c = 0; c < trace.shape(0); ++c)
        s.trace.columns()[c].values.assign(trace.data() + c * trace.shape(1), trace.data() + (c + 1) * trace.shape(1));
    return m;
}

/// What Python may ask of any machines over one store of rows.
template <class Model, class M>
void bind_machines(nb::class_<Model>& model, nb::dict (*save)(const M&), M (*load)(const nb::dict&, Index, Index)) {
    model
        .def(
            "add",
            [](Model& l, Index positive, Index negative) {
                const auto lock = l.hold();
                l.machines.push_back({{positive, negative}});
            },
            nb::arg("positive"), nb::arg("negative"))
        .def(
            "add_mirrored", [](Model& l, Index m, Index positive) { l.add_mirrored(m, positive); }, nb::arg("machine"),
            nb::arg("positive"))
        .def(
            "take",
            [](Model& l, Contiguous1<std::int64_t> rows) {
                const auto lock = l.hold();
                return l.take(rows);
            },
            nb::arg("rows"), "Stored rows: an array, or the arrays of a CSR matrix.")
        .def(
            "states",
            [save](Model& l) {
                const auto lock = l.hold();
                nb::list all;
                for (const M& machine : l.machines) all.append(save(machine));
                return all;
            },
            "All that learning on needs, but for the rows, as dictionaries of arrays.")
        .def(
            "restore",
            [load](Model& l, nb::list states, nb::object rows, Index classes) {
                const auto lock = l.hold();
                l.machines.clear();
                if (!rows.is_none()) l.load(nb::cast<const Matrix&>(rows));
                const Index bound = rows.is_none() ? std::numeric_limits<Index>::max() : l.stored();
                for (nb::handle state : states) l.machines.push_back(load(nb::cast<nb::dict>(state), bound, classes));
            },
            nb::arg("states"), nb::arg("rows").none(), nb::arg("classes"),
            "Back to what `states` gave; `rows` are those stored then.")
        .def_prop_ro("n_stored", [](const Model& l) { return l.stored(); })
        .def_prop_ro("n_features", [](const Model& l) { return l.features(); })
        .def_prop_ro("has_rows", [](const Model& l) { return l.store.index() != 0; });
}

}  // namespace hingeline::bindings
