#include "arrays.hpp"
#include "hingeline/algo/finite_newton.hpp"

namespace hingeline::bindings {

namespace {

namespace fn = finite_newton;

/// A Part of either precision, and the matrix that it looks at.
struct LinearPart {
    nb::object matrix;
    Contiguous2<double> weights;
    std::variant<std::unique_ptr<fn::Part<float>>, std::unique_ptr<fn::Part<double>>> part;

    LinearPart(nb::object x, Contiguous2<double> signed_weights, Contiguous1<std::int64_t> plane_of, Index thresholds,
               double offset, std::tuple<double, double, double> clip, std::optional<Contiguous1<std::int64_t>> rows,
               std::optional<Contiguous1<std::int32_t>> codes)
        : matrix(x), weights(signed_weights) {
        fn::Machines machines;
        machines.planes = weights.data();
        machines.plane_count = static_cast<Index>(weights.shape(0));
        const Matrix& view = nb::cast<const Matrix&>(x);
        if (static_cast<Index>(weights.shape(1)) != (rows ? static_cast<Index>(rows->shape(0)) : view.n))
            throw std::invalid_argument("one weight per row expected");
        machines.plane_of.assign(plane_of.data(), plane_of.data() + plane_of.size());
        machines.thresholds = thresholds;
        machines.offset = offset;
        if (codes) machines.codes.assign(codes->data(), codes->data() + codes->size());
        std::vector<Index> ids;
        if (rows && rows->shape(0) == 0) throw std::invalid_argument("no rows");
        if (rows) ids.assign(rows->data(), rows->data() + rows->size());
        const Clip shape{std::get<0>(clip), std::get<1>(clip), std::get<2>(clip)};
        std::visit(
            [&](const auto& form) {
                using Dense = std::decay_t<decltype(std::get<0>(form))>;
                using V = std::remove_const_t<std::remove_pointer_t<decltype(Dense::data)>>;
                part = std::make_unique<fn::Part<V>>(form, std::move(ids), std::move(machines), shape);
            },
            view.rows);
    }
    template <class F> decltype(auto) visit(F&& f) {
        return std::visit([&](auto& p) -> decltype(auto) { return f(*p); }, part);
    }
};

using Which = Contiguous1<std::int64_t>;

/// Machine numbers, and lines of weights for them.
Ids checked(LinearPart& p, const Which& which, std::size_t lines) {
    const Index machines = p.visit([](auto& part) { return part.machines(); });
    if (which.shape(0) != lines) throw std::invalid_argument("one line per machine expected");
    return ids(which, machines);
}
void check_length(LinearPart& p, std::size_t length) {
    if (static_cast<Index>(length) != p.visit([](auto& part) { return part.length(); }))
        throw std::invalid_argument("a weight for every feature and threshold expected");
}

/// Sums as arrays: columns loss, pull, weighted, squares, active, hinge; gradients; rows that changed.
nb::tuple arrays(const fn::Sums& sums, Index length) {
    const std::size_t machines = sums.margins.size();
    std::vector<double> columns;
    for (const MarginSums& m : sums.margins)
        columns.insert(columns.end(), {m.loss, m.pull, m.weighted, m.squares, m.active, m.hinge});
    return nb::make_tuple(to_numpy(std::move(columns), {machines, 6}),
                          to_numpy(sums.gradient, {machines, static_cast<std::size_t>(length)}),
                          to_numpy(sums.changed));
}

template <class F> nb::tuple pass(LinearPart& p, const Which& which, const Contiguous2<double>& b, F&& f) {
    const Ids machines = checked(p, which, b.shape(0));
    check_length(p, b.shape(1));
    fn::Sums sums;
    Session().run([&](Interrupt* interrupt) { p.visit([&](auto& part) { sums = f(part, machines, interrupt); }); });
    return arrays(sums, static_cast<Index>(b.shape(1)));
}

nb::tuple start(LinearPart& p, Which which, Contiguous2<double> b, int threads) {
    return pass(p, which, b,
                [&](auto& part, Ids machines, Interrupt* i) { return part.start(machines, b.data(), threads, i); });
}
nb::tuple aim(LinearPart& p, Which which, Contiguous2<double> b, int threads) {
    return pass(p, which, b,
                [&](auto& part, Ids machines, Interrupt* i) { return part.aim(machines, b.data(), threads, i); });
}
auto slopes(LinearPart& p, Which which, Contiguous1<double> deltas, int threads) {
    const Ids machines = checked(p, which, deltas.shape(0));
    std::vector<double> out;
    Session().run([&](Interrupt* interrupt) {
        p.visit([&](auto& part) {
            for (const Slope& s : part.slopes(machines, deltas.data(), threads, interrupt))
                out.insert(out.end(), {s.first, s.second});
        });
    });
    return to_numpy(std::move(out), {which.shape(0), 2});
}

double* square(const nb::handle& h, std::size_t length) {
    Writable2<double> matrix;
    if (!nb::try_cast(h, matrix, false) || matrix.shape(0) != length || matrix.shape(1) != length)
        throw std::invalid_argument("a square float64 array with a line per weight expected");
    return matrix.data();
}

nb::tuple move(LinearPart& p, Which which, Contiguous1<double> deltas, Contiguous2<double> b, nb::list hessians,
               int threads) {
    if (deltas.shape(0) != which.shape(0) || hessians.size() != which.shape(0))
        throw std::invalid_argument("one step and one matrix (or None) per machine expected");
    std::vector<double*> to;
    for (nb::handle h : hessians) to.push_back(h.is_none() ? nullptr : square(h, b.shape(1)));
    return pass(p, which, b, [&](auto& part, Ids machines, Interrupt* i) {
        return part.move(machines, deltas.data(), b.data(), to.data(), threads, i);
    });
}

void hessian(LinearPart& p, Index machine, nb::object h, int threads) {
    if (machine < 0 || machine >= p.visit([](auto& part) { return part.machines(); }))
        throw nb::index_error("no such machine");
    double* to = square(h, static_cast<std::size_t>(p.visit([](auto& part) { return part.length(); })));
    Session().run(
        [&](Interrupt* interrupt) { p.visit([&](auto& part) { part.hessian(machine, to, threads, interrupt); }); });
}

auto curvature(LinearPart& p, Which which, Contiguous2<double> directions, int threads) {
    const Ids machines = checked(p, which, directions.shape(0));
    check_length(p, directions.shape(1));
    std::vector<double> out;
    Session().run([&](Interrupt* interrupt) {
        p.visit([&](auto& part) { out = part.curvature(machines, directions.data(), threads, interrupt); });
    });
    return to_numpy(std::move(out), {directions.shape(0), directions.shape(1)});
}

auto diagonal(LinearPart& p, Index machine) {
    if (machine < 0 || machine >= p.visit([](auto& part) { return part.machines(); }))
        throw nb::index_error("no such machine");
    std::vector<double> out;
    Session().run([&](Interrupt* interrupt) { p.visit([&](auto& part) { out = part.diagonal(machine, interrupt); }); });
    return to_numpy(std::move(out));
}

auto violation(LinearPart& p, Which which, Contiguous2<double> b, double margin, bool curved, int threads) {
    const Ids machines = checked(p, which, b.shape(0));
    check_length(p, b.shape(1));
    std::vector<double> out;
    Session().run([&](Interrupt* interrupt) {
        p.visit([&](auto& part) { out = part.violation(machines, b.data(), margin, curved, threads, interrupt); });
    });
    return to_numpy(std::move(out));
}

auto pulls(LinearPart& p, Index machine) {
    if (machine < 0 || machine >= p.visit([](auto& part) { return part.machines(); }))
        throw nb::index_error("no such machine");
    return to_numpy(p.visit([&](auto& part) { return part.pulls(machine); }));
}

auto outputs(LinearPart& p, Index machine) {
    if (machine < 0 || machine >= p.visit([](auto& part) { return part.machines(); }))
        throw nb::index_error("no such machine");
    return to_numpy(p.visit(
        [&](auto& part) { return std::vector<double>(part.outputs(machine), part.outputs(machine) + part.rows()); }));
}

}  // namespace

void bind_finite_newton(nb::module_& m) {
    nb::class_<LinearPart>(m, "LinearPart", "Rows of linear machines, with their outputs; sums over the rows.")
        .def(nb::init<nb::object, Contiguous2<double>, Contiguous1<std::int64_t>, Index, double,
                      std::tuple<double, double, double>, std::optional<Contiguous1<std::int64_t>>,
                      std::optional<Contiguous1<std::int32_t>>>(),
             nb::arg("matrix"), nb::arg("weights"), nb::arg("plane_of"), nb::kw_only(), nb::arg("thresholds"),
             nb::arg("offset"), nb::arg("clip"), nb::arg("rows") = nb::none(), nb::arg("codes") = nb::none())
        .def("set_clip", [](LinearPart& p, double margin, double low,
                            double high) { p.visit([&](auto& part) { part.set_clip({margin, low, high}); }); })
        .def(
            "set_sketch",
            [](LinearPart& p, Index rows, bool precise) {
                p.visit([&](auto& part) { part.set_sketch(rows, precise); });
            },
            nb::arg("rows"), nb::arg("precise"))
        .def("start", &start, nb::arg("which"), nb::arg("points"), nb::arg("threads"))
        .def("aim", &aim, nb::arg("which"), nb::arg("points"), nb::arg("threads"))
        .def("slopes", &slopes, nb::arg("which"), nb::arg("deltas"), nb::arg("threads"))
        .def("move", &move, nb::arg("which"), nb::arg("deltas"), nb::arg("points"), nb::arg("hessians"),
             nb::arg("threads"))
        .def("hessian", &hessian, nb::arg("machine"), nb::arg("matrix"), nb::arg("threads"))
        .def("curvature", &curvature, nb::arg("which"), nb::arg("directions"), nb::arg("threads"))
        .def("diagonal", &diagonal, nb::arg("machine"))
        .def("violation", &violation, nb::arg("which"), nb::arg("points"), nb::arg("margin"), nb::arg("curved"),
             nb::arg("threads"))
        .def("pulls", &pulls, nb::arg("machine"))
        .def("outputs", &outputs, nb::arg("machine"));
}

}  // namespace hingeline::bindings
