// Exact incremental machines as Python holds them: rows, kernel values, calls that change all or nothing.
#pragma once

#include "incremental_saved.hpp"

namespace hingeline::bindings {

namespace exact {

using namespace hingeline::incremental;

/// What a call may have to bring back.
struct Before {
    std::vector<Unit> units;
    Points points;
    Index n, last;
    double C, nu;
};

struct Incremental {
    Model model;
    Store<double> store{0, false};
    Wiped<double> norms;
    std::size_t memory = 0;
    std::vector<Index> evicted;
    std::recursive_mutex busy;
    bool running = false;

    Incremental(const std::string& problem, double C, double nu) {
        const std::unordered_map<std::string, Problem> known = {
            {"classes", Problem::classes}, {"sphere", Problem::sphere}, {"plane", Problem::plane}};
        if (!known.count(problem)) throw std::invalid_argument("unknown problem: " + problem);
        model.problem = known.at(problem);
        model.C = C;
        model.nu = nu;
    }
    Incremental(const Incremental&) = delete;

    std::unique_lock<std::recursive_mutex> hold() {
        nb::gil_scoped_release release;
        return std::unique_lock(busy);
    }
    /// The same for calls that change something: none while another one of this thread is under way.
    std::unique_lock<std::recursive_mutex> enter() {
        auto lock = hold();
        if (running) throw std::runtime_error("a kernel function must not change the model that it is called for");
        return lock;
    }
    void configure(Index window, bool oldest, std::size_t memory_bytes) {
        const auto lock = enter();
        model.window = window;
        model.rule = oldest ? Rule::oldest : Rule::relevance;
        memory = memory_bytes;
    }
    Unit& at(Index m) {
        if (m < 0 || m >= static_cast<Index>(model.units.size())) throw nb::index_error("no such machine");
        return model.units[static_cast<std::size_t>(m)];
    }
    std::size_t inverse_bytes() const {
        std::size_t all = 0;
        for (const Unit& u : model.units) all += u.state.q.bytes();
        return all;
    }

    Before before() const { return {model.units, model.points, model.n, model.last, model.C, model.nu}; }
    /// Back to an earlier state of the same rows.
    void back(Before&& b) {
        model.units = std::move(b.units);
        model.points = std::move(b.points);
        model.n = b.n, model.last = b.last, model.C = b.C, model.nu = b.nu;
    }
    void close() {
        for (Index i = 0; i < model.n; ++i)
            if (model.points.dead[static_cast<std::size_t>(i)])
                evicted.push_back(model.points.serial[static_cast<std::size_t>(i)]);
        const Closing c = model.close();
        store.close(model.kept(), c);
        for (const auto& [from, to] : c.moves)
            norms[static_cast<std::size_t>(to)] = norms[static_cast<std::size_t>(from)];
        std::fill(norms.begin() + c.size, norms.end(), 0.0);
        norms.resize(static_cast<std::size_t>(c.size));
    }

    /// Kernel rows may have what the inverses leave.
    void prepare() {
        model.kernel.allow(memory - std::min(memory, inverse_bytes()));
        if (model.kernel.size() == 0 && model.n > 0) model.kernel.expect(model.n);
    }
    /// f(source, scratch) without Python's lock; after Ctrl-C its exception leaves.
    template <class F> void run(const SourceSpec& spec, int threads, F&& f) {
        Session().run([&](Interrupt* interrupt) {
            std::vector<Scratch<double>> scratch(static_cast<std::size_t>(std::max(threads, 1)));
            for (auto& s : scratch) s.interrupt = interrupt;
            prepare();
            running = true;
            try {
                if (spec.kernel)
                    f(Gram<double>(*spec.kernel, store.view(), norms), scratch);
                else
                    f(Called<double>(store.size(), called(spec.function)), scratch);
            } catch (const Interrupted&) {  // the session knows, and says so
            } catch (...) {
                running = false;
                throw;
            }
            running = false;
        });
    }
    /// A call on the points held that leaves them as they are when it fails, or in any case (`look`).
    template <class F> void change(const SourceSpec& spec, int threads, F&& f, bool look = false) {
        Before b = before();
        try {
            run(spec, threads, f);
        } catch (...) {
            back(std::move(b));
            throw;
        }
        if (look) back(std::move(b));
    }

    void append(const Chunk& chunk, Index from, Index count) {
        const auto* rows = std::get_if<Rows<double>>(&chunk.x->rows);
        if (!rows || (store.size() > 0 && store.columns() != chunk.x->d))
            throw std::invalid_argument("rows must be float64 and have the features of those before");
        if (store.size() == 0) store = Store<double>(chunk.x->d, worth_compressing(*rows));
        const Index first = store.size();
        store.append(*rows, bindings::ids(chunk.rows, chunk.x->n).part(from, count));
        const Wiped<double> lengths = Gram<double>::norms_of(store.view(first));
        norms.resize(static_cast<std::size_t>(first));
        norms.insert(norms.end(), lengths.begin(), lengths.end());
        for (Index i = from; i < from + count; ++i)
            model.points.push(chunk.ids.data()[i], chunk.codes.data()[i], chunk.boxes.data()[i]);
    }
    /// Rows with many zeros are kept compressed from the start.
    static bool worth_compressing(const Rows<double>& rows) {
        const auto* dense = std::get_if<0>(&rows);
        return !dense || few_entries(*dense, std::numeric_limits<std::size_t>::max() / 2).has_value();
    }

    void learn(const SourceSpec& spec, const Chunk& chunk, int threads) {
        const auto lock = enter();
        chunk.check();
        prepare();
        const Index size = static_cast<Index>(chunk.size());
        std::optional<Before> b;  // one point is all or nothing by itself
        if (size > 1 || model.crowded()) b = before();
        const Index stored = store.size();
        const std::size_t gone = evicted.size();
        std::optional<Store<double>> rows;  // where points may leave before the call ends
        Wiped<double> lengths;
        if (model.window > 0 && size > model.kernel.block()) rows = store, lengths = norms;
        const auto undo = [&] {
            evicted.resize(gone);
            if (b) back(std::move(*b));
            if (rows) {
                store = std::move(*rows);
                norms = std::move(lengths);
                model.kernel.clear();
                return;
            }
            store.truncate(stored);
            norms.resize(static_cast<std::size_t>(std::min<Index>(stored, static_cast<Index>(norms.size()))));
            model.truncate(stored);
        };
        try {
            for (Index at = 0; at < size;) {
                const Index count = std::min(size - at, model.kernel.block());
                append(chunk, at, count);
                run(spec, threads, [&](const auto& source, auto& scratch) { model.learn(source, scratch, count); });
                close();
                at += count;
            }
            prepare();  // inverses have grown
        } catch (const nb::python_error& error) {
            if (error.matches(PyExc_KeyboardInterrupt))
                close();
            else
                undo();
            throw;
        } catch (...) {
            undo();
            throw;
        }
    }
    std::vector<Index> positions(const Contiguous1<std::int64_t>& serials) const {
        std::unordered_map<Index, Index> where;
        for (Index i = 0; i < model.n; ++i) where[model.points.serial[static_cast<std::size_t>(i)]] = i;
        std::vector<Index> out;
        for (std::size_t i = 0; i < serials.shape(0); ++i) {
            const auto found = where.find(serials.data()[i]);
            if (found == where.end()) throw std::invalid_argument("no such point, or named twice");
            out.push_back(found->second);
            where.erase(found);
        }
        return out;
    }

    void forget(const SourceSpec& spec, Contiguous1<std::int64_t> serials, int threads) {
        const auto lock = enter();
        const std::vector<Index> which = positions(serials);
        const auto leave = [&] {
            close();
            wipe_stack();
        };
        try {
            run(spec, threads, [&](const auto& source, auto& scratch) { model.forget(source, scratch, which); });
        } catch (...) {  // Ctrl-C may come when all is done
            leave();
            throw;
        }
        leave();
    }
    void bound(const SourceSpec& spec, double C, double nu, int threads) {
        const auto lock = enter();
        change(spec, threads, [&](const auto& source, auto& scratch) {
            model.nu = nu;
            const double points = static_cast<double>(std::max<Index>(model.live(), 1));
            model.bound(source, scratch, nu > 0 ? 1.0 / (nu * points) : C);
        });
    }
    nb::ndarray<nb::numpy, double> leave_one_out(const SourceSpec& spec, Contiguous1<std::int64_t> serials,
                                                 int threads) {
        const auto lock = enter();
        const std::vector<Index> which = positions(serials);
        std::vector<double> values(which.size() * model.units.size());
        change(spec, threads,
               [&](const auto& source, auto& scratch) { model.leave_one_out(source, scratch, which, values.data()); });
        return to_numpy(std::move(values), {model.units.size(), which.size()});
    }

    /// Coefficients by value of C, machine and point (in the order given), constants and sizes of margin sets.
    nb::tuple path(const SourceSpec& spec, Contiguous1<double> Cs, Contiguous1<std::int64_t> serials, int threads) {
        const auto lock = enter();
        const std::vector<Index> which = positions(serials);
        const std::size_t count = Cs.shape(0), units = model.units.size();
        std::vector<double> coef, constant;
        std::vector<Index> margin;
        const auto visit = [&](const auto& source, auto& scratch) {
            for (std::size_t i = 0; i < count; ++i) {
                model.bound(source, scratch, Cs.data()[i]);
                for (const Unit& u : model.units) {
                    for (const Index c : which) coef.push_back(u.state[line::alpha][c]);
                    constant.push_back(u.state.constant());
                    margin.push_back(static_cast<Index>(u.state.margin.size()));
                }
            }
        };
        change(spec, threads, visit, true);
        return nb::make_tuple(to_numpy(std::move(coef), {count, units, which.size()}),
                              to_numpy(std::move(constant), {count, units}),
                              to_numpy(std::move(margin), {count, units}));
    }
    double violation(const SourceSpec& spec, int threads) {
        const auto lock = enter();
        double worst = 0;
        change(spec, threads, [&](const auto& source, auto& scratch) {
            for (Unit& u : model.units) worst = std::max(worst, model.machine(u, source, scratch).violation());
        });
        return worst;
    }
    double condition(const SourceSpec& spec, Index m, int threads) {
        const auto lock = enter();
        Unit& unit = at(m);
        double value = 0;
        change(spec, threads,
               [&](const auto& source, auto& scratch) { value = model.machine(unit, source, scratch).condition(); });
        return value;
    }

    nb::dict result(Index m) {
        const auto lock = hold();
        const Unit& u = at(m);
        const State& s = u.state;
        std::vector<Index> row, serial, code;
        std::vector<double> coef;
        for (Index i = 0; i < s.n; ++i)
            if (const double alpha = s[line::alpha][i]; alpha != 0) {
                row.push_back(i);
                serial.push_back(model.points.serial[static_cast<std::size_t>(i)]);
                code.push_back(model.points.code[static_cast<std::size_t>(i)]);
                coef.push_back(alpha);
            }
        nb::dict d;
        d["row"] = to_numpy(std::move(row));
        d["chosen"] = to_numpy(std::move(serial));
        d["code"] = to_numpy(std::move(code));
        d["coef"] = to_numpy(std::move(coef));
        d["intercept"] = s.constant();
        d["square"] = s.square();
        d["ready"] = s.ready;
        d["margin"] = s.margin.size();
        d["steps"] = s.counts.steps;
        d["rebuilds"] = s.counts.rebuilds;
        d["corrections"] = s.counts.corrections;
        d["restarts"] = s.counts.restarts;
        d["refinements"] = s.counts.refinements;
        d["bytes"] = s.counts.bytes;
        nb::dict seconds;
        const char* names[] = {"kernel", "sensitivity", "gradient", "search", "inverse", "check"};
        for (int k = 0; k < static_cast<int>(Part::count); ++k) seconds[names[k]] = s.counts.seconds[k];
        d["seconds"] = seconds;
        return d;
    }

    nb::list states() {
        const auto lock = hold();
        nb::list all;
        for (const Unit& u : model.units) all.append(saved_unit(u));
        return all;
    }
    nb::dict held() {
        const auto lock = hold();
        return saved_points(model);
    }

    /// Back to what `states` and `held` gave.
    void restore(const nb::list& saved, const nb::dict& points, nb::object rows, Index classes) {
        const auto lock = enter();
        Model fresh = loaded_model(model.problem, saved, points, classes);
        Store<double> held(0, false);
        Wiped<double> lengths;
        if (!rows.is_none()) {
            const Matrix& x = nb::cast<const Matrix&>(rows);
            const auto* doubles = std::get_if<Rows<double>>(&x.rows);
            require_sound(doubles && x.n == fresh.n);
            held = Store<double>(x.d, doubles->index() != 0);
            held.append(*doubles, Ids::run(0, x.n));
            lengths = Gram<double>::norms_of(held.view());
        }
        require_sound(held.size() == fresh.n);
        store = std::move(held);
        norms = std::move(lengths);
        model.kernel.clear();
        back({std::move(fresh.units), std::move(fresh.points), fresh.n, -1, fresh.C, fresh.nu});
        model.kernel_seconds = fresh.kernel_seconds;
    }
};

}  // namespace exact

}  // namespace hingeline::bindings
