// Exact incremental machines for Python.
#include "arrays.hpp"
#include "hingeline/model/incremental.hpp"

namespace hingeline::bindings {

void bind_incremental(nb::module_& m) {
    using incremental::Incremental;
    using incremental::Problem;
    using L = Locked<Incremental>;
    const auto number = [](auto f) { return [f](L& l) { return l.read(f); }; };
    nb::class_<L> c(m, "Incremental", "Exact incremental machines over shared points.");
    c.def(
         "__init__",
         [](L* self, const std::string& problem, double C, double nu) {
             new (self) L(
                 choice<Problem>(
                     problem, {{"classes", Problem::classes}, {"sphere", Problem::sphere}, {"plane", Problem::plane}}),
                 C, nu);
         },
         nb::arg("problem"), nb::kw_only(), nb::arg("C"), nb::arg("nu"))
        .def(
            "configure",
            [](L& l, Index window, bool oldest, bool by_class, bool by_path, std::size_t cache_bytes) {
                l.configure([&](Incremental& model) {
                    model.model.window = window;
                    model.model.rule = oldest ? incremental::Rule::oldest : incremental::Rule::relevance;
                    model.model.scope = by_class ? incremental::Scope::each_class : incremental::Scope::all;
                    model.model.by_path = by_path;
                    model.cache_bytes = cache_bytes;
                });
            },
            nb::kw_only(), nb::arg("window"), nb::arg("oldest"), nb::arg("by_class"), nb::arg("by_path"),
            nb::arg("cache_bytes"), "Options of the next call.")
        .def(
            "learn",
            [](L& l, const PySource& source, const PyChunk& chunk, int threads) {
                l.change([&](Incremental& model, Interrupt* interrupt) {
                    model.learn(source.source, chunk.check(model.classes.size()), threads, interrupt);
                });
            },
            nb::arg("source"), nb::arg("chunk"), nb::kw_only(), nb::arg("threads"), "Learn from points in their order.")
        .def(
            "forget",
            [](L& l, const PySource& source, Numbers serials, int threads) {
                l.change([&](Incremental& model, Interrupt* interrupt) {
                    model.forget(source.source, listed(serials), threads, interrupt);
                });
            },
            nb::arg("source"), nb::arg("serials"), nb::kw_only(), nb::arg("threads"))
        .def(
            "bound",
            [](L& l, const PySource& source, double C, double nu, int threads, nb::callable commit) {
                l.change([&](Incremental& model, Interrupt* interrupt) {
                    model.bound(source.source, C, nu, threads, interrupt);
                });
                commit();
            },
            nb::arg("source"), nb::kw_only(), nb::arg("C"), nb::arg("nu"), nb::arg("threads"), nb::arg("commit"),
            "Follow the path to another C or nu. If it was not interrupted, call `commit`, before a signal can be "
            "raised if `commit` runs no Python code.")
        .def(
            "leave_one_out",
            [](L& l, const PySource& source, Numbers serials, int threads) {
                Index machines = 0;
                auto values = l.change([&](Incremental& model, Interrupt* interrupt) {
                    machines = model.model.units.size();
                    return model.leave_one_out(source.source, listed(serials), threads, interrupt);
                });
                return to_numpy(std::move(values), shape(machines, serials.size()));
            },
            nb::arg("source"), nb::arg("serials"), nb::kw_only(), nb::arg("threads"))
        .def(
            "path",
            [](L& l, const PySource& source, Contiguous1<double> Cs, Numbers serials, int threads) {
                return to_dict(l.change([&](Incremental& model, Interrupt* interrupt) {
                    return model.path(source.source, listed(Cs), listed(serials), threads, interrupt);
                }));
            },
            nb::arg("source"), nb::arg("Cs"), nb::arg("serials"), nb::kw_only(), nb::arg("threads"))
        .def(
            "violation",
            [](L& l, const PySource& source, int threads) {
                return l.change([&](Incremental& model, Interrupt* interrupt) {
                    return model.violation(source.source, threads, interrupt);
                });
            },
            nb::arg("source"), nb::kw_only(), nb::arg("threads"))
        .def(
            "condition",
            [](L& l, const PySource& source, int threads) {
                return to_numpy(l.change([&](Incremental& model, Interrupt* interrupt) {
                    return model.condition(source.source, threads, interrupt);
                }));
            },
            nb::arg("source"), nb::kw_only(), nb::arg("threads"))
        .def("events", [](L& l) { return l.read([](Incremental& model) { return to_dict(model.events()); }); })
        .def("points", [](L& l) { return l.read([](Incremental& model) { return to_dict(model.points()); }); })
        .def(
            "take",
            [](L& l, Numbers rows) {
                return l.read([&](Incremental& model) { return take_rows(model.rows(), ids(rows, model.n_rows())); });
            },
            nb::arg("rows"), "Rows held: an array, or the arrays of a CSR matrix.")
        .def(
            "take_dense",
            [](L& l, Numbers rows) {
                return l.read([&](Incremental& model) {
                    const Ids wanted = ids(rows, model.n_rows());
                    const Index d = model.rows().columns();
                    std::vector<double> out(static_cast<std::size_t>(wanted.count * d));
                    for (Index r = 0; r < wanted.count; ++r) spread(model.rows().view(), wanted[r], out.data() + r * d);
                    return to_numpy(std::move(out), {rows.shape(0), static_cast<std::size_t>(d)});
                });
            },
            nb::arg("rows"), "Rows held, as an array.")
        .def(
            "reached",
            [](L& l, bool visited) {
                return l.read([&](Incremental& model) {
                    const auto worst = visited ? model.model.visited : model.model.reached();
                    return std::pair(worst.violation, worst.limit);
                });
            },
            nb::kw_only(), nb::arg("visited"),
            "Largest KKT violation by the gradients held, and its limit: of the state, or of the states that the last "
            "path or leave-one-out call has visited.")
        .def(
            "attributes",
            [](L& l, bool brief) {
                return l.read([&](Incremental& model) { return to_dict(model.attributes(brief)); });
            },
            nb::arg("brief") = false, "Fitted attributes by name; `brief`: only those that decision values need.")
        .def_prop_ro("C", number([](Incremental& model) { return model.model.C; }))
        .def_prop_ro("nu", number([](Incremental& model) { return model.model.nu; }))
        .def_prop_ro("n_seen", number([](Incremental& model) { return model.n_seen(); }))
        .def_prop_ro("n_machines", number([](Incremental& model) { return model.model.units.size(); }))
        .def_prop_ro("n_rows", number([](Incremental& model) { return model.n_rows(); }))
        .def_prop_ro("n_features", number([](Incremental& model) { return model.rows().columns(); }))
        .def_prop_ro("has_rows", number([](Incremental& model) { return model.n_rows() > 0; }))
        .def_prop_ro("memory", number([](Incremental& model) { return model.bytes(); }));
    define_stream(c);
}

}  // namespace hingeline::bindings
