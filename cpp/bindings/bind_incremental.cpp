// Exact incremental machines for Python.
#include "arrays.hpp"
#include "hingeline/model/incremental.hpp"

namespace hingeline::bindings {

void bind_incremental(nb::module_& m) {
    using incremental::Incremental;
    using incremental::Problem;
    using L = Locked<Incremental>;
    using Serials = Contiguous1<std::int64_t>;
    nb::class_<L>(m, "Incremental", "Exact incremental machines over shared points.")
        .def(
            "__init__",
            [](L* self, const std::string& problem, double C, double nu) {
                new (self) L(choice<Problem>(problem, {{"classes", Problem::classes},
                                                       {"sphere", Problem::sphere},
                                                       {"plane", Problem::plane}}),
                             C, nu);
            },
            nb::arg("problem"), nb::kw_only(), nb::arg("C"), nb::arg("nu"))
        .def(
            "configure",
            [](L& l, Index window, bool oldest, std::size_t cache_bytes) {
                l.configure([&](Incremental& model) {
                    model.model.window = window;
                    model.model.rule = oldest ? incremental::Rule::oldest : incremental::Rule::relevance;
                    model.cache_bytes = cache_bytes;
                });
            },
            nb::kw_only(), nb::arg("window"), nb::arg("oldest"), nb::arg("cache_bytes"), "Options of the next call.")
        .def(
            "add_class",
            [](L& l, Index place) { l.change([&](Incremental& model, Interrupt*) { model.add_class(place); }); },
            nb::arg("place"), "Add a label with rank `place` among the sorted labels.")
        .def(
            "learn",
            [](L& l, const PySource& source, const Matrix& x, Serials rows, Serials serials, Serials codes,
               Contiguous1<double> weights, std::vector<std::pair<Index, Index>> arrivals, int threads) {
                const PyChunk given{&x, rows, serials, codes, weights, std::move(arrivals)};
                l.change([&](Incremental& model, Interrupt* interrupt) {
                    model.learn(source.source, given.checked(model.classes.size()), threads, interrupt);
                });
            },
            nb::arg("source"), nb::arg("x"), nb::arg("rows"), nb::arg("serials"), nb::arg("codes"), nb::arg("weights"),
            nb::kw_only(), nb::arg("arrivals"), nb::arg("threads"), "Learn from points in their order.")
        .def(
            "forget",
            [](L& l, const PySource& source, Serials serials, int threads) {
                l.change([&](Incremental& model, Interrupt* interrupt) {
                    model.forget(source.source, listed(serials), threads, interrupt);
                });
            },
            nb::arg("source"), nb::arg("serials"), nb::kw_only(), nb::arg("threads"))
        .def(
            "bound",
            [](L& l, const PySource& source, double C, double nu, int threads) {
                l.change([&](Incremental& model, Interrupt* interrupt) {
                    model.bound(source.source, C, nu, threads, interrupt);
                });
            },
            nb::arg("source"), nb::kw_only(), nb::arg("C"), nb::arg("nu"), nb::arg("threads"))
        .def(
            "leave_one_out",
            [](L& l, const PySource& source, Serials serials, int threads) {
                std::vector<double> values;
                l.change([&](Incremental& model, Interrupt* interrupt) {
                    values = model.leave_one_out(source.source, listed(serials), threads, interrupt);
                });
                return to_numpy(std::move(values), shape(l.model.model.units.size(), serials.size()));
            },
            nb::arg("source"), nb::arg("serials"), nb::kw_only(), nb::arg("threads"))
        .def(
            "path",
            [](L& l, const PySource& source, Contiguous1<double> Cs, Serials serials, int threads) {
                Record path;
                l.change([&](Incremental& model, Interrupt* interrupt) {
                    path = model.path(source.source, listed(Cs), listed(serials), threads, interrupt);
                });
                return to_dict(std::move(path));
            },
            nb::arg("source"), nb::arg("Cs"), nb::arg("serials"), nb::kw_only(), nb::arg("threads"))
        .def(
            "violation",
            [](L& l, const PySource& source, int threads) {
                double worst = 0;
                l.change([&](Incremental& model, Interrupt* interrupt) {
                    worst = model.violation(source.source, threads, interrupt);
                });
                return worst;
            },
            nb::arg("source"), nb::kw_only(), nb::arg("threads"))
        .def(
            "condition",
            [](L& l, const PySource& source, int threads) {
                std::vector<double> values;
                l.change([&](Incremental& model, Interrupt* interrupt) {
                    values = model.condition(source.source, threads, interrupt);
                });
                return to_numpy(std::move(values));
            },
            nb::arg("source"), nb::kw_only(), nb::arg("threads"))
        .def("attributes", [](L& l) { return l.read([](Incremental& model) { return to_dict(model.attributes()); }); })
        .def("points", [](L& l) { return l.read([](Incremental& model) { return to_dict(model.points()); }); })
        .def(
            "take",
            [](L& l, Serials rows) {
                return l.read([&](Incremental& model) { return taken(model.rows(), ids(rows, model.n_rows())); });
            },
            nb::arg("rows"), "Rows held: an array, or the arrays of a CSR matrix.")
        .def(
            "take_dense",
            [](L& l, Serials rows) {
                return l.read([&](Incremental& model) {
                    const Ids wanted = ids(rows, model.n_rows());
                    const Index d = model.rows().columns();
                    std::vector<double> out(static_cast<std::size_t>(wanted.count * d));
                    for (Index r = 0; r < wanted.count; ++r) spread(model.rows().view(), wanted[r], out.data() + r * d);
                    return to_numpy(std::move(out), {rows.shape(0), static_cast<std::size_t>(d)});
                });
            },
            nb::arg("rows"), "Rows held, as an array.")
        .def("save", [](L& l) { return l.read([](Incremental& model) { return to_dict(model.save()); }); })
        .def(
            "restore",
            [](L& l, nb::dict state, nb::object rows) {
                const Record record = from_dict(state);
                const AnyRows* held = rows.is_none() ? nullptr : &nb::cast<const Matrix&>(rows).rows;
                l.change([&](Incremental& model, Interrupt*) { model.restore(record, held); });
            },
            nb::arg("state"), nb::arg("rows").none(),
            "Restore a state made by `save`; `rows` are the rows held at that time.")
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
        .def_prop_ro("C", [](L& l) { return l.model.model.C; })
        .def_prop_ro("n_seen", [](L& l) { return l.model.n_seen(); })
        .def_prop_ro("version", &L::version)
        .def_prop_ro("n_classes", [](L& l) { return l.model.classes.size(); })
        .def_prop_ro("n_machines", [](L& l) { return l.model.model.units.size(); })
        .def_prop_ro("n_rows", [](L& l) { return l.model.n_rows(); })
        .def_prop_ro("n_features", [](L& l) { return l.model.rows().columns(); })
        .def_prop_ro("has_rows", [](L& l) { return l.model.n_rows() > 0; })
        .def_prop_ro("memory", [](L& l) { return l.model.bytes(); });
}

}  // namespace hingeline::bindings
