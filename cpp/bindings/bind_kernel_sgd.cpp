#include "hingeline/algo/kernel_sgd.hpp"
#include "online.hpp"

namespace hingeline::bindings {

namespace {

using namespace kernel_sgd;

Rule rule_of(const std::string& name) {
    if (name == "olsvm") return Rule::olsvm;
    if (name == "olsvm-reg") return Rule::olsvm_reg;
    if (name == "norma") return Rule::norma;
    if (name == "norma-literal") return Rule::norma_literal;
    if (name == "pegaz") return Rule::pegaz;
    throw std::invalid_argument("unknown rule: " + name);
}

/// A machine, what it is learning from, and where these examples are in the chunk.
struct Learner : Sides {
    kernel_sgd::State state{};
    Window window{};
    std::vector<std::size_t> from{};
    void release() { window = {}, from.clear(); }
};

struct KernelSgd : MachinesOf<Learner> {
    Params params;

    KernelSgd(const std::string& rule, double C, bool inverse, bool decay_first, bool bias, bool average,
              double truncate, std::size_t cache_bytes) {
        configure(rule, C, inverse, decay_first, bias, average, truncate, cache_bytes);
    }
    void configure(const std::string& rule, double C, bool inverse, bool decay_first, bool bias, bool average,
                   double truncate, std::size_t cache_bytes) {
        params = {rule_of(rule), C, inverse, decay_first, bias, average, truncate, cache_bytes};
    }

    /// Give every machine its examples, to be seen `epochs` times.
    void begin(const SourceSpec& spec, const Chunk& chunk, Index epochs, bool stream) {
        const Index first = append(spec, chunk);
        for (std::size_t m = 0; m < machines.size(); ++m) {
            Learner& machine = machines[m];
            machine.from.clear();
            machine.window = Window(examples(static_cast<Index>(m), chunk, first, machine.from), epochs);
            plan_average(machine.state, params, stream ? 0 : machine.window.total);
        }
    }
    /// Up to so many steps of every machine; whether there are more. margins[i][c] as in `Lasvm`.
    bool advance(const SourceSpec& spec, Index steps, Writable2<double> margins, Contiguous1<std::int64_t> codes,
                 int threads, Interrupt* interrupt) {
        const std::size_t classes = margins.shape(1);
        if (codes.shape(0) != margins.shape(0)) throw std::invalid_argument("one line of margins per code expected");
        with_source(spec, [&](const auto& source) {
            const Index count = static_cast<Index>(machines.size());
            for (const Learner& machine : machines) check(machine, source.size(), codes, classes);
            run_tasks(count, threads, interrupt, [&](Index m, int) {
                Learner& machine = machines[static_cast<std::size_t>(m)];
                double largest = 0;
                for (const Example& e : machine.window.examples) largest = std::max(largest, std::abs(e.box));
                require_range(source, params.C * largest, false);
                Params mine = params;
                mine.cache_bytes /= static_cast<std::size_t>(std::clamp<Index>(threads, 1, count));
                std::vector<double> z(machine.from.size(), std::numeric_limits<double>::quiet_NaN());
                const auto put = [&] {
                    for (std::size_t i = 0; i < z.size(); ++i)
                        if (z[i] == z[i])
                            margins.data()[machine.from[i] * classes +
                                           static_cast<std::size_t>(machine.other(codes.data()[machine.from[i]]))] =
                                z[i];
                };
                try {
                    kernel_sgd::learn(machine.state, machine.window, mine, source, Stop{steps, interrupt}, z.data());
                } catch (...) {
                    put();
                    throw;
                }
                put();
            });
        });
        return std::any_of(machines.begin(), machines.end(), [](const Learner& m) { return m.window.running(); });
    }
    /// What is held from now on.
    void end() {
        release();
        settle();
    }

  private:
    static void check(const Learner& machine, Index rows, Contiguous1<std::int64_t> codes, std::size_t classes) {
        for (const Index row : machine.state.row)
            if (row >= rows) throw std::invalid_argument("the kernel has fewer rows than the model");
        for (const std::size_t i : machine.from)
            if (i >= codes.shape(0) || static_cast<std::size_t>(machine.other(codes.data()[i])) >= classes)
                throw std::invalid_argument("margins: one row per example and one column per class expected");
    }
};

/// One pass over a chunk of a stream. An error leaves the model as it was; Ctrl-C is none, and leaves what was learnt.
void learn_chunk(KernelSgd& model, const SourceSpec& spec, const Chunk& chunk, Writable2<double> margins, int threads) {
    const auto lock = model.hold();
    std::vector<kernel_sgd::State> before;
    for (const Learner& m : model.machines) before.push_back(m.state);
    const Index first = spec.matrix ? -1 : model.stored();
    try {
        model.begin(spec, chunk, 1, true);
        Session().run([&](Interrupt* interrupt) {
            model.advance(spec, std::numeric_limits<Index>::max(), margins, chunk.codes, threads, interrupt);
        });
    } catch (const nb::python_error& error) {
        if (error.matches(PyExc_KeyboardInterrupt))
            model.end();
        else
            model.undo(before, first);
        throw;
    } catch (...) {
        model.undo(before, first);
        throw;
    }
    model.end();
}

nb::dict result(KernelSgd& model, Index m) {
    const auto lock = model.hold();
    const kernel_sgd::State& s = model.at(m).state;
    double constant = 0;
    const std::vector<double> all = s.coefficients(constant);
    std::vector<Index> row, id, code;
    std::vector<double> coef;
    for (std::size_t e = 0; e < all.size(); ++e)
        if (all[e] != 0) {
            row.push_back(s.row[e]);
            id.push_back(s.id[e]);
            code.push_back(s.code[e]);
            coef.push_back(all[e]);
        }
    nb::dict d;
    d["row"] = to_numpy(std::move(row));
    d["chosen"] = to_numpy(std::move(id));
    d["code"] = to_numpy(std::move(code));
    d["coef"] = to_numpy(std::move(coef));
    d["intercept"] = constant;
    d["largest"] = s.largest;
    d["reason"] = name(s.reason);
    d["steps"] = s.t;
    d["violations"] = s.violations;
    d["truncated"] = s.sigma * s.dropped;
    d["kernel_evals"] = s.kernel_evals;
    d["history"] = history(s.trace);
    return d;
}

/// All that a machine needs to learn on, but for its rows.
nb::dict saved(const Learner& m) {
    const kernel_sgd::State& s = m.state;
    nb::dict d;
    d["whole"] = to_numpy(std::vector<Index>{m.positive, m.negative, s.t, s.violations, s.kernel_evals, s.note_every,
                                             static_cast<Index>(s.reason)});
    d["real"] = to_numpy(std::vector<double>{s.sigma, s.b, s.flushed, s.dropped, s.largest, s.trace.paused_at()});
    d["row"] = to_numpy(s.row);
    d["id"] = to_numpy(s.id);
    d["code"] = to_numpy(s.code);
    d["a"] = to_numpy(s.a);
    nb::list averages;
    for (const Average& mean : s.averages)
        averages.append(nb::make_tuple(mean.from, mean.scales, mean.b, to_numpy(mean.held)));
    d["averages"] = averages;
    std::vector<double> trace;
    for (const Trace::Column& c : s.trace.columns()) trace.insert(trace.end(), c.values.begin(), c.values.end());
    d["trace"] = to_numpy(std::move(trace), {s.trace.columns().size(), s.trace.size()});
    return d;
}

/// The machine that `saved` gave; rows lie below `bound`, classes below `classes`. What comes from a file is not
/// believed.
Learner loaded(const nb::dict& d, Index bound, Index classes) {
    const auto whole = nb::cast<Contiguous1<std::int64_t>>(d["whole"]);
    const auto real = nb::cast<Contiguous1<double>>(d["real"]), a = nb::cast<Contiguous1<double>>(d["a"]);
    const auto row = nb::cast<Contiguous1<std::int64_t>>(d["row"]), id = nb::cast<Contiguous1<std::int64_t>>(d["id"]),
               code = nb::cast<Contiguous1<std::int64_t>>(d["code"]);
    const auto trace = nb::cast<Contiguous2<double>>(d["trace"]);
    Learner m;
    kernel_sgd::State& s = m.state;
    const std::size_t n = row.shape(0);
    const auto valid = [](bool holds) {
        if (!holds) throw std::invalid_argument("the saved state of a machine is damaged");
    };
    valid(whole.shape(0) == 7 && real.shape(0) == 6 && id.shape(0) == n && code.shape(0) == n && a.shape(0) == n &&
          trace.shape(0) == s.trace.columns().size());
    for (std::size_t e = 0; e < n; ++e)
        valid(row.data()[e] >= 0 && row.data()[e] < bound && code.data()[e] >= 0 && code.data()[e] < classes &&
              std::isfinite(a.data()[e]));
    for (std::size_t i = 0; i < real.shape(0); ++i) valid(std::isfinite(real.data()[i]));
    const std::int64_t* w = whole.data();
    m.positive = w[0], m.negative = w[1];
    valid(m.positive >= 0 && m.positive < classes && m.negative >= -1 && m.negative < classes &&
          m.positive != m.negative);
    for (std::size_t i = 2; i < whole.shape(0); ++i) valid(w[i] >= 0);
    valid(w[5] > 0 && w[6] <= static_cast<Index>(Reason::precision) && real.data()[0] > 0 && real.data()[2] > 0);
    s.t = w[2], s.violations = w[3], s.kernel_evals = w[4], s.note_every = w[5], s.reason = static_cast<Reason>(w[6]);
    s.sigma = real.data()[0], s.b = real.data()[1], s.flushed = real.data()[2], s.dropped = real.data()[3];
    s.largest = real.data()[4];
    s.trace.resume_from(real.data()[5]);
    s.row.assign(row.data(), row.data() + n);
    s.id.assign(id.data(), id.data() + n);
    s.code.assign(code.data(), code.data() + n);
    s.a.assign(a.data(), a.data() + n);
    for (nb::handle saved : nb::cast<nb::list>(d["averages"])) {
        const auto mean = nb::cast<nb::tuple>(saved);
        valid(mean.size() == 4);
        const auto held = nb::cast<Contiguous1<double>>(mean[3]);
        valid(held.shape(0) == n && s.averages.size() < 2);
        s.averages.push_back({nb::cast<Index>(mean[0]), nb::cast<double>(mean[1]), nb::cast<double>(mean[2]),
                              std::vector<double>(held.data(), held.data() + n)});
        const Average& last = s.averages.back();
        valid(last.from >= 0 && last.from <= s.t && std::isfinite(last.scales) && std::isfinite(last.b));
        for (const double value : last.held) valid(std::isfinite(value));
    }
    for (std::size_t c = 0; c < trace.shape(0); ++c)
        s.trace.columns()[c].values.assign(trace.data() + c * trace.shape(1), trace.data() + (c + 1) * trace.shape(1));
    return m;
}

}  // namespace

void bind_kernel_sgd(nb::module_& m) {
    nb::class_<KernelSgd> sgd(m, "KernelSgd",
                              "Two-class machines that learn by stochastic gradients, over shared rows.");
    bind_machines<KernelSgd, Learner>(sgd, &saved, &loaded);
    sgd.def(nb::init<const std::string&, double, bool, bool, bool, bool, double, std::size_t>(), nb::arg("rule"),
            nb::kw_only(), nb::arg("C"), nb::arg("inverse"), nb::arg("decay_first"), nb::arg("bias"),
            nb::arg("average"), nb::arg("truncate"), nb::arg("cache_bytes"))
        .def("configure", &KernelSgd::configure, nb::arg("rule"), nb::kw_only(), nb::arg("C"), nb::arg("inverse"),
             nb::arg("decay_first"), nb::arg("bias"), nb::arg("average"), nb::arg("truncate"), nb::arg("cache_bytes"),
             "Options of the next call.")
        .def(
            "learn",
            [](KernelSgd& k, nb::object source, const Matrix& x, Contiguous1<std::int64_t> rows,
               Contiguous1<std::int64_t> ids, Contiguous1<std::int64_t> codes, Contiguous1<double> boxes,
               Writable2<double> margins, int threads) {
                learn_chunk(k, SourceSpec(source), Chunk{&x, rows, ids, codes, boxes}, margins, threads);
            },
            nb::arg("source"), nb::arg("x"), nb::arg("rows"), nb::arg("ids"), nb::arg("codes"), nb::arg("boxes"),
            nb::kw_only(), nb::arg("margins"), nb::arg("threads"))
        .def(
            "begin",
            [](KernelSgd& k, nb::object source, const Matrix& x, Contiguous1<std::int64_t> rows,
               Contiguous1<std::int64_t> ids, Contiguous1<std::int64_t> codes, Contiguous1<double> boxes,
               Index epochs) {
                const auto lock = k.hold();
                k.begin(SourceSpec(source), Chunk{&x, rows, ids, codes, boxes}, epochs, false);
            },
            nb::arg("source"), nb::arg("x"), nb::arg("rows"), nb::arg("ids"), nb::arg("codes"), nb::arg("boxes"),
            nb::kw_only(), nb::arg("epochs"))
        .def(
            "advance",
            [](KernelSgd& k, nb::object source, Contiguous1<std::int64_t> codes, Index steps, Writable2<double> margins,
               int threads) {
                const SourceSpec spec(source);  // with Python's lock
                const auto lock = k.hold();
                bool more = false;
                Session().run(
                    [&](Interrupt* interrupt) { more = k.advance(spec, steps, margins, codes, threads, interrupt); });
                return more;
            },
            nb::arg("source"), nb::arg("codes"), nb::arg("steps"), nb::kw_only(), nb::arg("margins"),
            nb::arg("threads"))
        .def("end",
             [](KernelSgd& k) {
                 const auto lock = k.hold();
                 k.end();
             })
        .def("result", &result, nb::arg("machine"));
}

}  // namespace hingeline::bindings
