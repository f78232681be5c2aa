// Exact incremental machines for Python.
#include "incremental.hpp"

namespace hingeline::bindings {

void bind_incremental(nb::module_& m) {
    using I = exact::Incremental;
    nb::class_<I>(m, "Incremental", "Exact incremental machines over shared points.")
        .def(nb::init<const std::string&, double, double>(), nb::arg("problem"), nb::kw_only(), nb::arg("C"),
             nb::arg("nu"))
        .def("configure", &I::configure, nb::kw_only(), nb::arg("window"), nb::arg("oldest"), nb::arg("memory"),
             "Options of the next call.")
        .def(
            "add",
            [](I& i, Index positive, Index) {
                const auto lock = i.enter();
                i.model.add(positive);
            },
            nb::arg("positive"), nb::arg("negative") = -1)
        .def(
            "add_mirrored",
            [](I& i, Index machine, Index positive) {
                const auto lock = i.enter();
                i.model.units.push_back({positive, incremental::mirrored(i.at(machine).state)});
            },
            nb::arg("machine"), nb::arg("positive"))
        .def(
            "learn",
            [](I& i, nb::object source, const Matrix& x, Contiguous1<std::int64_t> rows,
               Contiguous1<std::int64_t> serials, Contiguous1<std::int64_t> codes, Contiguous1<double> weights,
               int threads) { i.learn(SourceSpec(source), Chunk{&x, rows, serials, codes, weights}, threads); },
            nb::arg("source"), nb::arg("x"), nb::arg("rows"), nb::arg("serials"), nb::arg("codes"), nb::arg("weights"),
            nb::kw_only(), nb::arg("threads"))
        .def(
            "evicted",
            [](I& i) {
                const auto lock = i.hold();
                return to_numpy(std::exchange(i.evicted, {}));
            },
            "Points that have gone since the last time this was asked.")
        .def(
            "forget",
            [](I& i, nb::object source, Contiguous1<std::int64_t> serials, int threads) {
                i.forget(SourceSpec(source), serials, threads);
            },
            nb::arg("source"), nb::arg("serials"), nb::kw_only(), nb::arg("threads"))
        .def(
            "bound",
            [](I& i, nb::object source, double C, double nu, int threads) {
                i.bound(SourceSpec(source), C, nu, threads);
            },
            nb::arg("source"), nb::kw_only(), nb::arg("C"), nb::arg("nu"), nb::arg("threads"))
        .def(
            "leave_one_out",
            [](I& i, nb::object source, Contiguous1<std::int64_t> serials, int threads) {
                return i.leave_one_out(SourceSpec(source), serials, threads);
            },
            nb::arg("source"), nb::arg("serials"), nb::kw_only(), nb::arg("threads"))
        .def(
            "path",
            [](I& i, nb::object source, Contiguous1<double> Cs, Contiguous1<std::int64_t> serials, int threads) {
                return i.path(SourceSpec(source), Cs, serials, threads);
            },
            nb::arg("source"), nb::arg("Cs"), nb::arg("serials"), nb::kw_only(), nb::arg("threads"))
        .def(
            "violation", [](I& i, nb::object source, int threads) { return i.violation(SourceSpec(source), threads); },
            nb::arg("source"), nb::kw_only(), nb::arg("threads"))
        .def(
            "condition",
            [](I& i, nb::object source, Index machine, int threads) {
                return i.condition(SourceSpec(source), machine, threads);
            },
            nb::arg("source"), nb::arg("machine"), nb::kw_only(), nb::arg("threads"))
        .def("result", &I::result, nb::arg("machine"))
        .def("held", &I::held, "The points held, in the order of the stored rows.")
        .def(
            "take",
            [](I& i, Contiguous1<std::int64_t> rows) {
                const auto lock = i.hold();
                return taken(i.store, ids(rows, i.store.size()));
            },
            nb::arg("rows"), "Stored rows: an array, or the arrays of a CSR matrix.")
        .def(
            "take_dense",
            [](I& i, Contiguous1<std::int64_t> rows) {
                const auto lock = i.hold();
                const Ids wanted = ids(rows, i.store.size());
                const Index d = i.store.columns();
                std::vector<double> out(static_cast<std::size_t>(wanted.count * d));
                for (Index r = 0; r < wanted.count; ++r) spread(i.store.view(), wanted[r], out.data() + r * d);
                return to_numpy(std::move(out), {rows.shape(0), static_cast<std::size_t>(d)});
            },
            nb::arg("rows"), "Stored rows as an array.")
        .def("states", &I::states, "All that learning on needs, but for the points and their rows.")
        .def("restore", &I::restore, nb::arg("states"), nb::arg("points"), nb::arg("rows").none(), nb::arg("classes"))
        .def_prop_ro("C", [](const I& i) { return i.model.C; })
        .def_prop_ro("last_serial", [](const I& i) { return i.model.last; })
        .def_prop_ro("kernel_seconds", [](const I& i) { return i.model.kernel_seconds; })
        .def_prop_ro("n_stored", [](const I& i) { return i.store.size(); })
        .def_prop_ro("n_features", [](const I& i) { return i.store.columns(); })
        .def_prop_ro("has_rows", [](const I& i) { return i.store.size() > 0; })
        .def_prop_ro("memory", [](const I& i) { return i.model.kernel.bytes() + i.inverse_bytes(); });
}

}  // namespace hingeline::bindings
