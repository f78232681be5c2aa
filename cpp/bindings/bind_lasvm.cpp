#include "hingeline/algo/full_svm.hpp"
#include "hingeline/algo/lasvm.hpp"
#include "hingeline/algo/lasvm_i.hpp"
#include "hingeline/algo/lasvm_nc.hpp"
#include "online.hpp"

namespace hingeline::bindings {

namespace {

using namespace online;

enum class Variant { lasvm, g, nc, i, full };

Variant variant_of(const std::string& name) {
    if (name == "lasvm") return Variant::lasvm;
    if (name == "g") return Variant::g;
    if (name == "nc") return Variant::nc;
    if (name == "i") return Variant::i;
    if (name == "full") return Variant::full;
    throw std::invalid_argument("unknown variant: " + name);
}

/// Two-class machines over shared rows.
struct Lasvm : MachinesOf<Machine> {
    Variant variant;
    Params params;

    Lasvm(const std::string& name, double C, double s, double tau, Index period, Index most_non_sv, Index warm_support,
          std::size_t cache_bytes)
        : variant(variant_of(name)) {
        configure(C, s, tau, period, most_non_sv, warm_support, cache_bytes);
    }
    void configure(double C, double s, double tau, Index period, Index most_non_sv, Index warm_support,
                   std::size_t cache_bytes) {
        if (period < 1 || most_non_sv < 0) throw std::invalid_argument("period and most_non_sv out of range");
        params = {C, s, tau, period, most_non_sv, warm_support, cache_bytes, 1};
    }

    /// work(search, machine number) for every machine, side by side where there are threads.
    template <class Work> void each(const SourceSpec& spec, int threads, Interrupt* interrupt, Work&& work) {
        with_source(spec, [&](const auto& source) {
            using Source = std::decay_t<decltype(source)>;
            const Index count = static_cast<Index>(machines.size());
            for (const Machine& m : machines)
                for (const Index row : m.state.row)
                    if (row >= source.size()) throw std::invalid_argument("the kernel has fewer rows than the model");
            run_tasks(count, threads, interrupt, [&](Index m, int) {
                Machine& machine = machines[static_cast<std::size_t>(m)];
                Params mine = params;
                mine.threads = static_cast<int>(std::max<Index>(1, threads / std::max<Index>(count, 1)));
                auto& kernel =
                    machine.kernel<typename Source::Value>(params.cache_bytes / static_cast<std::size_t>(count));
                Search<Source> search(machine.state, mine, source, kernel, interrupt);
                const Trace::Running clock(machine.state.trace);
                work(search, m);
            });
        });
    }

    std::size_t kernel_bytes() const {
        std::size_t all = 0;
        for (const Machine& m : machines) {
            if (const auto* narrow = std::get_if<1>(&m.kernel_rows)) all += (*narrow)->bytes();
            if (const auto* wide = std::get_if<2>(&m.kernel_rows)) all += (*wide)->bytes();
        }
        return all;
    }

    template <class Source> void learn_one(Search<Source>& search, const std::vector<Example>& examples, bool known,
                                           bool evicts, double* margins) {
        switch (variant) {
            case Variant::lasvm:
                return void(learn_pairs(search, examples, known, evicts, margins));
            case Variant::g:
                return void(learn<RuleG>(search, examples, known, margins));
            case Variant::nc:
                return void(learn<RuleNC>(search, examples, known, margins));
            case Variant::i:
                return void(learn<RuleI>(search, examples, known, margins));
            case Variant::full:
                return void(learn<RuleFull>(search, examples, known, margins));
        }
    }
};

/// Let every machine learn from a chunk. margins[i][c] gets y f of example i when its turn came, in the machine that
/// tells it from class c (against the rest: in the machine of class c). With `undo` an error leaves the model as it
/// was; Ctrl-C is none, and leaves what was learnt.
void learn_chunk(Lasvm& model, const SourceSpec& spec, const Chunk& chunk, Writable2<double> margins, int threads,
                 bool known, bool evicts, bool undo) {
    const auto lock = model.hold();
    const std::size_t classes = margins.shape(1);
    for (const Machine& m : model.machines)
        if (std::max(m.positive, m.negative) >= static_cast<Index>(classes) || margins.shape(0) != chunk.size())
            throw std::invalid_argument("margins: one row per example and one column per class expected");
    std::vector<State> before;
    if (undo)
        for (const Machine& m : model.machines) before.push_back(m.state);
    const Index first = model.append(spec, chunk);
    try {
        Session().run([&](Interrupt* interrupt) {
            model.each(spec, threads, interrupt, [&](auto& search, Index m) {
                search.require_range(*std::max_element(chunk.boxes.data(), chunk.boxes.data() + chunk.size()));
                std::vector<std::size_t> from;
                const auto examples = model.examples(m, chunk, first, from);
                std::vector<double> z(examples.size(), std::numeric_limits<double>::quiet_NaN());
                const auto put = [&] {
                    for (std::size_t i = 0; i < from.size(); ++i)
                        margins.data()[from[i] * classes +
                                       static_cast<std::size_t>(model.at(m).other(chunk.codes.data()[from[i]]))] = z[i];
                };
                try {
                    model.learn_one(search, examples, known, evicts, z.data());
                } catch (...) {
                    put();
                    throw;
                }
                put();
            });
        });
    } catch (const nb::python_error& error) {
        if (undo && !error.matches(PyExc_KeyboardInterrupt))
            model.undo(before, first);
        else
            model.settle();
        throw;
    } catch (...) {
        if (undo) model.undo(before, first);
        throw;
    }
    model.settle();
}

/// Optimise what the machines hold; the steps made by each.
nb::ndarray<nb::numpy, Index> finish_all(Lasvm& model, const SourceSpec& spec, double tol, Index most, int threads) {
    const auto lock = model.hold();
    std::vector<Index> steps(model.machines.size(), 0);
    Session().run([&](Interrupt* interrupt) {
        model.each(spec, threads, interrupt, [&](auto& search, Index m) {
            steps[static_cast<std::size_t>(m)] =
                model.variant == Variant::lasvm ? finish_pairs(search, tol, most) : online::finish(search, tol, most);
        });
    });
    return to_numpy(std::move(steps));
}

/// The last cleaning: support vectors only, but all that is alive in LASVM and FULL SVM.
void end(Lasvm& model, const SourceSpec& spec) {
    const auto lock = model.hold();
    Session().run([&](Interrupt*) {
        model.each(spec, 1, nullptr, [&](auto& search, Index) {
            if (model.variant == Variant::lasvm)
                sweep_pairs(search);
            else if (model.variant != Variant::full)
                search.clean(0);
            search.note();
        });
        model.settle();
    });
}

/// Losses of the examples of a chunk that are not in the expansion, by machine, and which of them have a loss.
std::pair<nb::ndarray<nb::numpy, double>, nb::ndarray<nb::numpy, std::int64_t>> outside_all(Lasvm& model,
                                                                                            const SourceSpec& spec,
                                                                                            const Chunk& chunk,
                                                                                            int threads) {
    const auto lock = model.hold();
    const std::size_t count = model.machines.size();
    std::vector<double> losses(count, 0.0);
    std::vector<std::int64_t> marked(chunk.size(), 0);
    const Index first = model.append(spec, chunk);
    std::mutex mutex;
    Session().run([&](Interrupt* interrupt) {
        model.each(spec, threads, interrupt, [&](auto& search, Index m) {
            std::vector<std::size_t> from;
            const auto examples = model.examples(m, chunk, first, from);
            std::vector<Index> with_loss;
            const auto loss = outside(search, examples, with_loss);
            std::lock_guard lock(mutex);
            losses[static_cast<std::size_t>(m)] = loss.value_or(std::numeric_limits<double>::quiet_NaN());
            for (const Index i : with_loss) marked[from[static_cast<std::size_t>(i)]] = 1;
        });
        model.settle();
    });
    return {to_numpy(std::move(losses)), to_numpy(std::move(marked))};
}

nb::dict result(Lasvm& model, Index m) {
    const auto lock = model.hold();
    const State& s = model.at(m).state;
    std::vector<Index> row, id, code;
    std::vector<double> coef;
    for (std::size_t t = 0; t < static_cast<std::size_t>(s.n); ++t)
        if (const double alpha = s[line::alpha][t]; alpha != 0) {
            row.push_back(s.row[t]);
            id.push_back(s.id[t]);
            code.push_back(s.code[t]);
            coef.push_back(alpha);
        }
    nb::dict d;
    d["row"] = to_numpy(std::move(row));
    d["chosen"] = to_numpy(std::move(id));
    d["code"] = to_numpy(std::move(code));
    d["coef"] = to_numpy(std::move(coef));
    d["intercept"] = s.b;
    d["gap"] = s.ascent.gap;
    d["target"] = s.target;
    d["dual"] = s.dual();
    d["largest"] = s.largest;
    d["reason"] = name(s.reason);
    d["steps"] = s.steps;
    d["n_expansion"] = s.n_live();
    d["kernel_evals"] = s.kernel_evals;
    d["kernel_needed"] = s.kernel_needed;
    d["kernel_recomputed"] = s.kernel_recomputed;
    d["admitted"] = to_numpy(std::vector<Index>(s.admitted.count, s.admitted.count + 3));
    d["cleaned"] = to_numpy(std::vector<Index>(s.cleaned.count, s.cleaned.count + 3));
    d["skipped"] = to_numpy(std::vector<Index>(s.skipped.count, s.skipped.count + 3));
    d["history"] = history(s.trace);
    return d;
}

}  // namespace

void bind_lasvm(nb::module_& m) {
    nb::class_<Lasvm> lasvm(m, "Lasvm", "Two-class machines of the LASVM family over shared rows.");
    bind_machines<Lasvm, Machine>(lasvm, &saved, &loaded);
    lasvm
        .def(nb::init<const std::string&, double, double, double, Index, Index, Index, std::size_t>(),
             nb::arg("variant"), nb::kw_only(), nb::arg("C"), nb::arg("s"), nb::arg("tau"), nb::arg("period"),
             nb::arg("most_non_sv"), nb::arg("warm_support"), nb::arg("cache_bytes"))
        .def(
            "learn",
            [](Lasvm& l, nb::object source, const Matrix& x, Contiguous1<std::int64_t> rows,
               Contiguous1<std::int64_t> ids, Contiguous1<std::int64_t> codes, Contiguous1<double> boxes,
               Writable2<double> margins, int threads, bool known, bool evicts, bool undo) {
                learn_chunk(l, SourceSpec(source), Chunk{&x, rows, ids, codes, boxes}, margins, threads, known, evicts,
                            undo);
            },
            nb::arg("source"), nb::arg("x"), nb::arg("rows"), nb::arg("ids"), nb::arg("codes"), nb::arg("boxes"),
            nb::kw_only(), nb::arg("margins"), nb::arg("threads"), nb::arg("known"), nb::arg("evicts"), nb::arg("undo"))
        .def(
            "outside",
            [](Lasvm& l, nb::object source, const Matrix& x, Contiguous1<std::int64_t> rows,
               Contiguous1<std::int64_t> ids, Contiguous1<std::int64_t> codes, Contiguous1<double> boxes,
               int threads) { return outside_all(l, SourceSpec(source), Chunk{&x, rows, ids, codes, boxes}, threads); },
            nb::arg("source"), nb::arg("x"), nb::arg("rows"), nb::arg("ids"), nb::arg("codes"), nb::arg("boxes"),
            nb::kw_only(), nb::arg("threads"))
        .def(
            "finish",
            [](Lasvm& l, nb::object source, double tol, Index most, int threads) {
                return finish_all(l, SourceSpec(source), tol, most, threads);
            },
            nb::arg("source"), nb::arg("tol"), nb::arg("most"), nb::arg("threads"))
        .def(
            "end", [](Lasvm& l, nb::object source) { end(l, SourceSpec(source)); }, nb::arg("source"))
        .def("result", &result, nb::arg("machine"))
        .def(
            "release",
            [](Lasvm& l) {
                const auto lock = l.hold();
                l.release();
            },
            "Let go of the kernel rows; they are computed again when needed.")
        .def("configure", &Lasvm::configure, nb::kw_only(), nb::arg("C"), nb::arg("s"), nb::arg("tau"),
             nb::arg("period"), nb::arg("most_non_sv"), nb::arg("warm_support"), nb::arg("cache_bytes"),
             "Options of the next call.")
        .def_prop_ro("kernel_bytes", &Lasvm::kernel_bytes);
}

}  // namespace hingeline::bindings
