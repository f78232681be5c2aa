// Soft-margin SVMs for Python.
#include <map>

#include "hingeline/model/one_machine.hpp"
#include "machines.hpp"

namespace hingeline::bindings {

namespace {

/// Kernel values of rows, with the objects behind them.
struct PyRowValues {
    nb::object source, matrix;
    RowValues values;
    PyRowValues(nb::object s, nb::object x)
        : source(s), matrix(x), values(nb::cast<const PySource&>(s).source, nb::cast<const Matrix&>(x).rows) {}
};

/// Pairs of classes: `sizes[k]` rows of pair k, one behind the other.
Array<Shuffled> shuffled(const Numbers& rows, const Contiguous1<bool>& first, const Numbers& sizes) {
    if (rows.size() != first.size()) throw std::invalid_argument("one side per row expected");
    Array<Shuffled> out;
    Index at = 0;
    const Index count = static_cast<Index>(rows.size());
    for (std::size_t k = 0; k < sizes.size(); ++k) {
        const Index size = sizes.data()[k];
        if (size < 0 || size > count - at) throw std::invalid_argument("sizes must add up to the number of rows");
        Shuffled& pair = out.emplace_back();
        pair.rows.assign(rows.data() + at, rows.data() + at + size);
        pair.first.assign(first.data() + at, first.data() + at + size);
        at += size;
    }
    return out;
}

/// Methods of machines of the engine.
template <class M> void define_engine(nb::class_<Locked<M>>& c) {
    c.def(
         "solution", [](Locked<M>& l) { return l.read([&](M& model) { return to_dict(model.solution()); }); },
         "The attributes that predictions need, and the number of machines that have not reached the tolerance.")
        .def(
            "guess",
            [](Locked<M>& l, Index machine, Contiguous1<double> v) {
                l.read([&](M& model) { model.guess(machine, v.data(), static_cast<Index>(v.size())); });
            },
            nb::arg("machine"), nb::arg("v"), "Starting values of a machine, by row.")
        .def(
            "resume",
            [](Locked<M>& l, Index machine, Contiguous1<double> beta, Contiguous1<double> v) {
                if (beta.size() != v.size()) throw std::invalid_argument("one slope per coefficient expected");
                l.read([&](M& model) { model.resume(machine, beta.data(), v.data(), static_cast<Index>(v.size())); });
            },
            nb::arg("machine"), nb::arg("beta"), nb::arg("v"),
            "Coefficients and slopes of a machine that belong together, by row.")
        .def(
            "problem",
            [](Locked<M>& l, Index machine) {
                return l.read([&](M& model) { return to_dict(model.problem(machine)); });
            },
            nb::arg("machine"), "The problem of a machine, by position, and where it stands.")
        .def(
            "adopt",
            [](Locked<M>& l, Index machine, Contiguous1<double> beta, Contiguous1<double> v, Numbers active,
               Contiguous1<double> synced, Contiguous1<double> synced_v, double synced_dual,
               std::tuple<Index, Index, Index> counts, const std::string& reason,
               const std::vector<std::vector<double>>& records) {
                const auto [outer, steps, kernel_evals] = counts;
                l.read([&](M& model) {
                    model.adopt(machine, {listed(beta), listed(v), listed(active), listed(synced), listed(synced_v),
                                          synced_dual, outer, steps, kernel_evals, reason, records});
                });
            },
            nb::arg("machine"), nb::arg("beta"), nb::arg("v"), nb::kw_only(), nb::arg("active"), nb::arg("synced"),
            nb::arg("synced_v"), nb::arg("synced_dual"), nb::arg("counts"), nb::arg("reason"), nb::arg("records"),
            "Put a machine where another solver of its problem stands.")
        .def(
            "slopes",
            [](Locked<M>& l, const PyRowValues& values, int threads) {
                return to_numpy(l.change(
                    [&](M& model, Interrupt* interrupt) { return model.slopes(values.values, threads, interrupt); }));
            },
            nb::arg("values"), nb::arg("threads"), "Slopes of all rows, machine after machine; may be empty.")
        .def(
            "raise_bounds",
            [](Locked<M>& l, Contiguous1<double> bounds, bool single) {
                l.read([&](M& model) { model.raise_bounds(listed(bounds), single); });
            },
            nb::arg("bounds"), nb::arg("single"), "Prepare for larger bounds, keeping results that do not change.");
    define_machines<PyRowValues>(c);
}

}  // namespace

void bind_svc(nb::module_& m) {
    nb::class_<PyRowValues>(m, "RowValues", "Kernel values of rows that are copied when they are needed.")
        .def(nb::init<nb::object, nb::object>(), nb::arg("source"), nb::arg("x"))
        .def_prop_ro(
            "single", [](const PyRowValues& v) { return v.values.single(); },
            "Whether kernel values in single precision are good approximations.");
    m.def(
        "fit_sigmoid",
        [](Contiguous1<double> decisions, Contiguous1<bool> positive) {
            if (decisions.size() != positive.size()) throw std::invalid_argument("one side per decision expected");
            const Array<char> sides(positive.data(), positive.data() + positive.size());
            const Sigmoid found = PlattFit(decisions.data(), sides.data(), sides.size()).run();
            return std::pair(found.slope, found.offset);
        },
        nb::arg("decisions"), nb::arg("positive"), "Slope and offset of Platt's sigmoid.");
    m.def(
        "svc_sigmoids",
        [](const PyRowValues& values, Contiguous1<double> bounds, Numbers rows, Contiguous1<bool> first, Numbers sizes,
           double tol, Index max_iter, bool shrinking, Index single_rows, std::size_t cache_bytes, int threads,
           double nu) {
            const CrossValidated fit({tol, max_iter, shrinking, cache_bytes}, listed(bounds), single_rows, nu);
            const Array<Shuffled> pairs = shuffled(rows, first, sizes);
            const Array<Sigmoid> found =
                Session().run([&](Interrupt* i) { return fit.sigmoids(values.values, pairs, threads, i); });
            std::vector<double> out;
            for (const Sigmoid& one : found) out.push_back(one.slope);
            for (const Sigmoid& one : found) out.push_back(one.offset);
            return to_numpy(std::move(out), {2, static_cast<std::size_t>(found.size())});
        },
        nb::arg("values"), nb::arg("bounds"), nb::arg("rows"), nb::arg("first"), nb::arg("sizes"), nb::kw_only(),
        nb::arg("tol"), nb::arg("max_iter"), nb::arg("shrinking"), nb::arg("single_rows"), nb::arg("cache_bytes"),
        nb::arg("threads"), nb::arg("nu") = 0.0,
        "Slopes and offsets of all pairs of classes, from rows left out of training.");
    nb::class_<Locked<Svc>> svc(m, "Svc", "Soft-margin SVMs of all class pairs.");
    svc.def(
        "__init__",
        [](Locked<Svc>* self, Contiguous1<std::int64_t> codes, Contiguous1<double> bounds, Index classes, double tol,
           Index max_iter, bool shrinking, bool single, std::size_t cache_bytes, double nu) {
            new (self) Locked<Svc>(
                Svc({tol, max_iter, shrinking, cache_bytes}, listed(codes), classes, listed(bounds), single, nu));
        },
        nb::arg("codes"), nb::arg("bounds"), nb::arg("classes"), nb::kw_only(), nb::arg("tol"), nb::arg("max_iter"),
        nb::arg("shrinking"), nb::arg("single"), nb::arg("cache_bytes"), nb::arg("nu") = 0.0);
    define_engine(svc);
    nb::class_<Locked<OneMachine>> one(m, "OneMachine", "Regression or one-class machine over all rows.");
    one.def(
        "__init__",
        [](Locked<OneMachine>* self, const std::string& kind, Contiguous1<double> targets, Contiguous1<double> bounds,
           double epsilon, double total, double tol, Index max_iter, bool shrinking, bool single,
           std::size_t cache_bytes) {
            static const std::map<std::string, OneKind> kinds{
                {"svr", OneKind::svr}, {"nu_svr", OneKind::nu_svr}, {"one_class", OneKind::one_class}};
            new (self) Locked<OneMachine>(OneMachine(kinds.at(kind), {tol, max_iter, shrinking, cache_bytes},
                                                     listed(targets), listed(bounds), epsilon, total, single));
        },
        nb::arg("kind"), nb::arg("targets"), nb::arg("bounds"), nb::kw_only(), nb::arg("epsilon") = 0.0,
        nb::arg("total") = 0.0, nb::arg("tol"), nb::arg("max_iter"), nb::arg("shrinking"), nb::arg("single"),
        nb::arg("cache_bytes"));
    define_engine(one);
}

}  // namespace hingeline::bindings
