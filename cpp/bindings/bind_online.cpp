// Ensembles that learn from a stream, for Python: the LASVM family and the stochastic-gradient machines.
#include "arrays.hpp"
#include "hingeline/model/kernel_sgd.hpp"
#include "hingeline/model/lasvm.hpp"

namespace hingeline::bindings {

namespace {

using kernel_sgd::KernelSgd;
using lasvm::Lasvm;

Margins margins_of(const Writable2<double>& m, Index rows, Index classes, bool by_id = false) {
    if (static_cast<Index>(m.shape(0)) != rows || static_cast<Index>(m.shape(1)) != classes)
        throw std::invalid_argument("margins: one row per example and one column per class expected");
    return {m.data(), rows, classes, by_id};
}

/// Methods that both kinds of ensembles have in addition: chunks, rows, early ends.
template <class M> void define(nb::class_<Locked<M>>& c) {
    using L = Locked<M>;
    c.def(
         "learn",
         [](L& l, const PySource& source, const PyChunk& given, Writable2<double> margins, int threads) {
             l.change([&](M& model, Interrupt* interrupt) {
                 const Chunk chunk = given.check(model.classes.size());
                 const Index classes = model.classes.size() + static_cast<Index>(chunk.arrivals.size());
                 model.learn(source.source, chunk, margins_of(margins, chunk.size(), classes), threads, interrupt);
             });
         },
         nb::arg("source"), nb::arg("chunk"), nb::kw_only(), nb::arg("margins"), nb::arg("threads"),
         "Learn from a chunk of a stream.")
        .def(
            "take",
            [](L& l, Numbers rows) {
                return l.read([&](M& model) {
                    const Ids wanted = ids(rows, model.rows.size());
                    return model.rows.visit([&](const auto& store) { return take_rows(store, wanted); },
                                            nb::object(nb::none()));
                });
            },
            nb::arg("rows"), "Rows held: an array, or the arrays of a CSR matrix.")
        .def(
            "attributes",
            [](L& l, bool brief) { return l.read([&](M& model) { return to_dict(model.attributes(brief)); }); },
            nb::arg("brief") = false, "Fitted attributes by name; `brief`: only those that decision values need.")
        .def(
            "end_early",
            [](L& l, std::string why, Index seen) {
                l.change([&](M& model, Interrupt*) { model.unfinished = std::move(why), model.n_seen = seen; });
            },
            nb::arg("why"), nb::arg("seen"),
            "Set why a fit ended early ('' if it did not), and the number of its samples.")
        .def_prop_ro("n_seen", [](L& l) { return l.read([](M& model) { return model.n_seen; }); })
        .def_prop_ro("n_rows", [](L& l) { return l.read([](M& model) { return model.rows.size(); }); })
        .def_prop_ro("n_features", [](L& l) { return l.read([](M& model) { return model.rows.columns(); }); })
        .def_prop_ro("has_rows", [](L& l) { return l.read([](M& model) { return model.rows.started(); }); });
    define_stream(c);
}

void bind_lasvm(nb::module_& m) {
    using L = Locked<Lasvm>;
    using lasvm::Variant;
    nb::class_<L> c(m, "Lasvm", "Machines of the LASVM family over shared rows.");
    c.def(
         "__init__",
         [](L* self, const std::string& variant, bool one_vs_rest) {
             new (self) L(choice<Variant>(variant, {{"lasvm", Variant::lasvm},
                                                    {"g", Variant::g},
                                                    {"nc", Variant::nc},
                                                    {"i", Variant::i},
                                                    {"full", Variant::full}}),
                          one_vs_rest);
         },
         nb::arg("variant"), nb::arg("one_vs_rest"))
        .def(
            "configure",
            [](L& l, double C, double s, double tau, Index period, Index most_non_sv, Index warm_support,
               std::size_t cache_bytes, bool paper) {
                if (period < 1 || most_non_sv < 0) throw std::invalid_argument("period and most_non_sv out of range");
                l.configure([&](Lasvm& model) {
                    model.params = {C, s, tau, period, most_non_sv, warm_support, cache_bytes, 1, paper};
                });
            },
            nb::kw_only(), nb::arg("C"), nb::arg("s"), nb::arg("tau"), nb::arg("period"), nb::arg("most_non_sv"),
            nb::arg("warm_support"), nb::arg("cache_bytes"), nb::arg("paper"), "Options of the next call.")
        .def(
            "visit",
            [](L& l, const PySource& source, const PyChunk& given, Writable2<double> margins, int threads, bool known,
               bool evicts) {
                l.change([&](Lasvm& model, Interrupt* interrupt) {
                    const Chunk chunk = given.check(model.classes.size());
                    ids(given.id, static_cast<Index>(margins.shape(0)));
                    const Margins to =
                        margins_of(margins, static_cast<Index>(margins.shape(0)), model.classes.size(), true);
                    model.visit(source.source, chunk, to, threads, interrupt, known, evicts);
                });
            },
            nb::arg("source"), nb::arg("chunk"), nb::kw_only(), nb::arg("margins"), nb::arg("threads"),
            nb::arg("known"), nb::arg("evicts"), "Learn from examples of a fit.")
        .def(
            "outside",
            [](L& l, const PySource& source, const PyChunk& chunk, int threads) {
                return to_numpy(l.change([&](Lasvm& model, Interrupt* interrupt) {
                    return model.outside(source.source, chunk.check(model.classes.size()), threads, interrupt);
                }));
            },
            nb::arg("source"), nb::arg("chunk"), nb::kw_only(), nb::arg("threads"),
            "Add losses outside the expansion to the gaps. Returns the examples with a loss.")
        .def(
            "settle",
            [](L& l, const PySource& source, int threads) {
                l.change([&](Lasvm& model, Interrupt* interrupt) { model.settle(source.source, threads, interrupt); });
            },
            nb::arg("source"), nb::kw_only(), nb::arg("threads"), "Reduce the gaps in a limited number of steps.")
        .def_prop_ro("n_lowered", [](L& l) { return l.read([](Lasvm& model) { return model.n_lowered(); }); })
        .def_prop_ro("least_C", [](L& l) { return l.read([](Lasvm& model) { return model.least_C(); }); })
        .def_prop_ro("n_machines", [](L& l) { return l.read([](Lasvm& model) { return std::ssize(model.machines); }); })
        .def("forget_outside", [](L& l) { l.change([](Lasvm& model, Interrupt*) { model.forget_outside(); }); })
        .def(
            "finish",
            [](L& l, const PySource& source, double tol, Index most, bool definite, int threads) {
                return l.change([&](Lasvm& model, Interrupt* interrupt) {
                    return model.finish(source.source, tol, most, definite, threads, interrupt);
                });
            },
            nb::arg("source"), nb::arg("tol"), nb::arg("most"), nb::arg("definite"), nb::arg("threads"),
            "Optimise. Returns the largest number of steps of a machine.")
        .def(
            "end",
            [](L& l, const PySource& source) { l.change([&](Lasvm& model, Interrupt*) { model.end(source.source); }); },
            nb::arg("source"))
        .def(
            "reached", [](L& l, double tol) { return l.read([&](Lasvm& model) { return model.reached(tol); }); },
            nb::arg("tol"), "Whether all duality gaps are at most `tol` times the primal objective.")
        .def_prop_ro("n_expansion", [](L& l) { return l.read([](Lasvm& model) { return model.n_expansion(); }); })
        .def_prop_ro("kernel_bytes", [](L& l) { return l.read([](Lasvm& model) { return model.kernel_bytes(); }); });
    define(c);
}

void bind_kernel_sgd(nb::module_& m) {
    using L = Locked<KernelSgd>;
    using kernel_sgd::Averaging;
    using kernel_sgd::Variant;
    nb::class_<L> c(m, "KernelSgd", "Machines that learn by stochastic gradients, over shared rows.");
    c.def(nb::init<bool>(), nb::arg("one_vs_rest"))
        .def(
            "configure",
            [](L& l, const std::string& variant, double C, bool inverse, bool decay_first, bool fit_intercept,
               const std::string& average, double truncate, std::size_t cache_bytes) {
                const Variant chosen = choice<Variant>(variant, {{"olsvm", Variant::olsvm},
                                                                 {"olsvm_reg", Variant::olsvm_reg},
                                                                 {"olsvm_reg_literal", Variant::olsvm_reg_literal},
                                                                 {"norma", Variant::norma},
                                                                 {"norma_literal", Variant::norma_literal},
                                                                 {"pegaz", Variant::pegaz}});
                const Averaging mean = choice<Averaging>(
                    average, {{"none", Averaging::none}, {"half", Averaging::half}, {"all", Averaging::all}});
                l.configure([&](KernelSgd& model) {
                    model.params = {chosen, C, inverse, decay_first, fit_intercept, mean, truncate, cache_bytes};
                });
            },
            nb::kw_only(), nb::arg("variant"), nb::arg("C"), nb::arg("inverse"), nb::arg("decay_first"),
            nb::arg("fit_intercept"), nb::arg("average"), nb::arg("truncate"), nb::arg("cache_bytes"),
            "Options of the next call.")
        .def(
            "begin",
            [](L& l, const PySource& source, const PyChunk& chunk, Index epochs) {
                l.change([&](KernelSgd& model, Interrupt*) {
                    model.begin(source.source, chunk.check(model.classes.size()), epochs);
                });
            },
            nb::arg("source"), nb::arg("chunk"), nb::kw_only(), nb::arg("epochs"), "Examples for `advance`.")
        .def(
            "advance",
            [](L& l, const PySource& source, Index steps, Writable2<double> margins, int threads) {
                return l.change([&](KernelSgd& model, Interrupt* interrupt) {
                    const Margins to = margins_of(margins, static_cast<Index>(margins.shape(0)), model.classes.size());
                    return model.advance(source.source, steps, to, threads, interrupt);
                });
            },
            nb::arg("source"), nb::arg("steps"), nb::kw_only(), nb::arg("margins"), nb::arg("threads"),
            "Make up to `steps` steps of every machine. Returns whether steps are left.")
        .def("end", [](L& l) { l.change([](KernelSgd& model, Interrupt*) { model.end(); }); })
        .def_prop_ro("most_examples",
                     [](L& l) { return l.read([](KernelSgd& model) { return model.most_examples(); }); });
    define(c);
}

}  // namespace

void bind_online(nb::module_& m) {
    bind_lasvm(m);
    bind_kernel_sgd(m);
}

}  // namespace hingeline::bindings
