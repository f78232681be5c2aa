#include "hingeline/algo/finite_newton.hpp"
#include "packed.hpp"

namespace hingeline::bindings {

namespace {

namespace fn = finite_newton;
using Which = Contiguous1<std::int64_t>;
using Loss = std::tuple<double, double, double, bool>;  // fields of a Clip

Clip clip_of(const Loss& fields) {
    return std::apply([](auto... of) { return Clip{of...}; }, fields);
}

/// A Part of either precision, the matrix that it refers to, and the number of threads of its passes.
struct LinearRows {
    nb::object matrix, landmarks;
    Contiguous2<double> weights;
    std::optional<Contiguous1<double>> targets;
    std::variant<std::unique_ptr<fn::Part<float>>, std::unique_ptr<fn::Part<double>>> part;
    int threads;
    std::vector<hingeline::dual_descent::State> descents;  // by machine, once `descend` was called

    LinearRows(nb::object x, Contiguous2<double> signed_weights, Contiguous1<std::int64_t> plane_of, Index thresholds,
               double offset, Loss clip, std::optional<Contiguous1<std::int64_t>> rows,
               std::optional<Contiguous1<std::int32_t>> codes, std::optional<Contiguous1<double>> targets_,
               nb::object packed, int threads_)
        : matrix(x), landmarks(packed), weights(signed_weights), targets(targets_), threads(threads_) {
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
        if (targets) machines.targets = targets->data();
        if (targets && targets->shape(0) != weights.shape(1))
            throw std::invalid_argument("one target per row expected");
        const Clip shape = clip_of(clip);
        const auto make = [&]<class V>(const auto& form) {
            part = std::make_unique<fn::Part<V>>(form, std::move(ids), std::move(machines), shape);
        };
        if (packed.is_none())
            std::visit([&](const auto& rows) { make.template operator()<ValueOf<decltype(rows)>>(rows); }, view.rows);
        else
            nb::cast<const PyPacked&>(packed).packed.with_rows(view.rows, [&](const auto& rows) {
                make.template operator()<typename std::decay_t<decltype(rows)>::Value>(rows);
            });
    }
    template <class F> decltype(auto) visit(F&& f) {
        return std::visit([&](auto& p) -> decltype(auto) { return f(*p); }, part);
    }
    /// f(part, interrupt) without the GIL; its result.
    template <class F> auto run(F&& f) {
        return Session().run([&](Interrupt* interrupt) { return visit([&](auto& p) { return f(p, interrupt); }); });
    }

    // ---- checks --------------------------------------------------------------------------------------

    Ids machines(const Which& which, std::size_t lines) {
        if (which.shape(0) != lines) throw std::invalid_argument("one line per machine expected");
        return ids(which, visit([](auto& p) { return p.machines(); }));
    }
    Ids machines(const Which& which, const Contiguous2<double>& points) {
        if (static_cast<Index>(points.shape(1)) != visit([](auto& p) { return p.length(); }))
            throw std::invalid_argument("a weight for every feature and threshold expected");
        return machines(which, points.shape(0));
    }
    Index machine(Index k) {
        if (k < 0 || k >= visit([](auto& p) { return p.machines(); })) throw nb::index_error("no such machine");
        return k;
    }
    double* square(const nb::handle& h) {
        const auto length = static_cast<std::size_t>(visit([](auto& p) { return p.length(); }));
        Writable2<double> square;
        if (!nb::try_cast(h, square, false) || square.shape(0) != length || square.shape(1) != length)
            throw std::invalid_argument("a square float64 array with a line per weight expected");
        return square.data();
    }
};

/// Losses, terms of the dual, squares, rows with curvature, losses of the hinge, gradients: arrays by machine.
auto arrays(const fn::Sums& sums, std::size_t length) {
    const auto column = [&](double MarginSums::* field) {
        std::vector<double> values;
        for (const MarginSums& m : sums.margins) values.push_back(m.*field);
        return to_numpy(std::move(values));
    };
    return std::make_tuple(column(&MarginSums::loss), column(&MarginSums::pull), column(&MarginSums::squares),
                           column(&MarginSums::active), column(&MarginSums::hinge),
                           to_numpy(sums.gradient, {sums.margins.size(), length}));
}

auto start(LinearRows& x, Which which, Contiguous2<double> b) {
    const Ids machines = x.machines(which, b);
    return arrays(x.run([&](auto& part, Interrupt* i) { return part.start(machines, b.data(), x.threads, i); }),
                  b.shape(1));
}
auto aim(LinearRows& x, Which which, Contiguous2<double> b) {
    const Ids machines = x.machines(which, b);
    return arrays(x.run([&](auto& part, Interrupt* i) { return part.aim(machines, b.data(), x.threads, i); }),
                  b.shape(1));
}
auto slopes(LinearRows& x, Which which, Contiguous1<double> deltas) {
    const Ids machines = x.machines(which, deltas.shape(0));
    std::vector<double> out;
    for (const Slope& s :
         x.run([&](auto& part, Interrupt* i) { return part.slopes(machines, deltas.data(), x.threads, i); }))
        out.insert(out.end(), {s.first, s.second});
    return to_numpy(std::move(out), {which.shape(0), 2});
}
auto move(LinearRows& x, Which which, Contiguous1<double> deltas, Contiguous2<double> b, nb::list hessians) {
    const Ids machines = x.machines(which, b);
    if (deltas.shape(0) != which.shape(0) || hessians.size() != which.shape(0))
        throw std::invalid_argument("one step and one matrix (or None) per machine expected");
    std::vector<double*> to;
    for (nb::handle h : hessians) to.push_back(h.is_none() ? nullptr : x.square(h));
    const fn::Sums sums = x.run([&](auto& part, Interrupt* i) {
        return part.move(machines, deltas.data(), b.data(), to.data(), x.threads, i);
    });
    return std::make_tuple(arrays(sums, b.shape(1)), to_numpy(sums.rebuilt));
}
void hessian(LinearRows& x, Index machine, nb::object matrix) {
    double* to = x.square(matrix);
    x.machine(machine);
    x.run([&](auto& part, Interrupt* i) { part.hessian(machine, to, x.threads, i); });
}
auto curvature(LinearRows& x, Which which, Contiguous2<double> directions) {
    const Ids machines = x.machines(which, directions);
    return to_numpy(
        x.run([&](auto& part, Interrupt* i) { return part.curvature(machines, directions.data(), x.threads, i); }),
        {directions.shape(0), directions.shape(1)});
}
auto diagonal(LinearRows& x, Index machine) {
    x.machine(machine);
    return to_numpy(x.run([&](auto& part, Interrupt* i) { return part.diagonal(machine, i); }));
}
auto violation(LinearRows& x, Which which, Contiguous2<double> b, double margin, bool curved) {
    const Ids machines = x.machines(which, b);
    return to_numpy(x.run(
        [&](auto& part, Interrupt* i) { return part.violation(machines, b.data(), margin, curved, x.threads, i); }));
}
auto pulls(LinearRows& x, Index machine) {
    x.machine(machine);
    return to_numpy(x.visit([&](auto& part) { return part.pulls(machine); }));
}
auto descend(LinearRows& x, Which which, Writable2<double> points, Loss clip, bool curved, double lam, double tol,
             Index epochs, Index passes) {
    if (static_cast<Index>(points.shape(1)) != x.visit([](auto& p) { return p.length(); }))
        throw std::invalid_argument("a weight for every feature and threshold expected");
    const Ids machines = x.machines(which, points.shape(0));
    const dual_descent::Loss loss{clip_of(clip), curved};
    Session().run([&](Interrupt* i) {
        x.visit([&](auto& p) {
            p.descend(machines, points.data(), x.descents, loss, lam, tol, epochs, passes, x.threads, i);
        });
    });
    std::vector<double> out;
    for (Index q = 0; q < machines.count; ++q) {
        const auto& s = x.descents[static_cast<std::size_t>(machines[q])];
        const auto epochs_made = static_cast<double>(s.epochs), visits = static_cast<double>(s.visits);
        out.insert(out.end(), {epochs_made, s.objective, s.gap, s.violation, visits});
    }
    return to_numpy(std::move(out), {which.shape(0), 5});
}
void put_multipliers(LinearRows& x, Index machine, Contiguous1<double> multipliers, Writable2<double> points, Loss clip,
                     bool curved, double lam) {
    x.machine(machine);
    const auto place = static_cast<std::size_t>(machine);
    if (place >= x.descents.size()) throw std::invalid_argument("call descend first");
    const dual_descent::Loss loss{clip_of(clip), curved};
    x.visit([&](auto& p) {
        if (static_cast<Index>(multipliers.shape(0)) != p.rows() || static_cast<Index>(points.shape(1)) != p.length() ||
            points.shape(0) != 1)
            throw std::invalid_argument("a multiplier for every row and a weight for every feature expected");
        p.put_multipliers(machine, multipliers.data(), points.data(), x.descents[place], loss, lam);
    });
}
auto descended_pulls(LinearRows& x, Index machine) {
    x.machine(machine);
    const auto place = static_cast<std::size_t>(machine);
    if (place >= x.descents.size() || x.descents[place].a.empty()) throw std::invalid_argument("call descend first");
    return to_numpy(x.visit([&](auto& part) { return part.pulls(machine, x.descents[place]); }));
}
double largest_output(LinearRows& x, Index machine) {
    x.machine(machine);
    return x.visit([&](auto& part) { return part.largest_output(machine); });
}

}  // namespace

void bind_finite_newton(nb::module_& m) {
    nb::class_<LinearRows>(m, "LinearRows",
                           "Rows in memory with the state of their linear machines (hingeline.linear.sums).")
        .def(nb::init<nb::object, Contiguous2<double>, Contiguous1<std::int64_t>, Index, double, Loss,
                      std::optional<Contiguous1<std::int64_t>>, std::optional<Contiguous1<std::int32_t>>,
                      std::optional<Contiguous1<double>>, nb::object, int>(),
             nb::arg("matrix"), nb::arg("weights"), nb::arg("plane_of"), nb::kw_only(), nb::arg("thresholds"),
             nb::arg("offset"), nb::arg("clip"), nb::arg("rows") = nb::none(), nb::arg("codes") = nb::none(),
             nb::arg("targets") = nb::none(), nb::arg("landmarks") = nb::none(), nb::arg("threads") = 1,
             "With `landmarks` (Packed) the rows of `matrix` stand for their kernel values against these.")
        .def_prop_ro("n_passes", [](LinearRows& x) { return x.visit([](auto& part) { return part.passes(); }); })
        .def(
            "set_clip", [](LinearRows& x, Loss clip) { x.visit([&](auto& p) { p.set_clip(clip_of(clip)); }); },
            nb::arg("clip"))
        .def(
            "use_hessians",
            [](LinearRows& x, Index sketch, bool precise) { x.visit([&](auto& p) { p.set_sketch(sketch, precise); }); },
            nb::arg("sketch"), nb::arg("precise"))
        .def("start", &start, nb::arg("which"), nb::arg("points"))
        .def("aim", &aim, nb::arg("which"), nb::arg("points"))
        .def("slopes", &slopes, nb::arg("which"), nb::arg("deltas"))
        .def("move", &move, nb::arg("which"), nb::arg("deltas"), nb::arg("points"), nb::arg("hessians"))
        .def("hessian", &hessian, nb::arg("machine"), nb::arg("matrix"))
        .def("curvature", &curvature, nb::arg("which"), nb::arg("directions"))
        .def("diagonal", &diagonal, nb::arg("machine"))
        .def("violation", &violation, nb::arg("which"), nb::arg("points"), nb::arg("margin"), nb::arg("curved"))
        .def("pulls", &pulls, nb::arg("machine"))
        .def("descend", &descend, nb::arg("which"), nb::arg("points"), nb::kw_only(), nb::arg("clip"),
             nb::arg("curved"), nb::arg("lam"), nb::arg("tol"), nb::arg("epochs"), nb::arg("passes"),
             "Dual coordinate descent. Returns epochs, objective, gap, violation and visits of rows of each machine.")
        .def("put_multipliers", &put_multipliers, nb::arg("machine"), nb::arg("multipliers"), nb::arg("points"),
             nb::kw_only(), nb::arg("clip"), nb::arg("curved"), nb::arg("lam"),
             "Let the descent of a machine go on from these multipliers; `points` is set to what they make up.")
        .def("descended_pulls", &descended_pulls, nb::arg("machine"))
        .def("largest_output", &largest_output, nb::arg("machine"));
}

}  // namespace hingeline::bindings
