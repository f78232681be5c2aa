#include "hingeline/kernel/expansion.hpp"
#include "kernels.hpp"

namespace hingeline::bindings {

namespace {

KernelKind kind_of(const std::string& name) {
    if (name == "linear") return KernelKind::linear;
    if (name == "rbf") return KernelKind::rbf;
    if (name == "poly") return KernelKind::poly;
    if (name == "sigmoid") return KernelKind::sigmoid;
    throw std::invalid_argument("unknown kernel: " + name);
}

/// K[queries][:, base] into `out`, or into a new array.
template <class T> nb::object columns(const Gram<T>& gram, Ids queries, Ids base, const nb::object& out) {
    using Result = nb::ndarray<nb::numpy, T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    const std::size_t shape[2] = {static_cast<std::size_t>(queries.count), static_cast<std::size_t>(base.count)};
    nb::object holder = out;
    Result result;
    if (out.is_none()) {
        T* fresh = new T[shape[0] * shape[1]];
        nb::capsule owner(fresh, [](void* p) noexcept { delete[] static_cast<T*>(p); });
        holder = nb::cast(nb::ndarray<nb::numpy, T>(fresh, 2, shape, owner));
    }
    if (!nb::try_cast(holder, result, false) || result.shape(0) != shape[0] || result.shape(1) != shape[1])
        throw std::invalid_argument("out must be a C-contiguous array of the kernel's precision, one row per query");
    Session().run([&](Interrupt* interrupt) {
        Scratch<T> scratch;
        scratch.interrupt = interrupt;
        const Index block = gram.block();
        for (Index at = 0; at < queries.count; at += block) {
            std::vector<T*> lines;
            for (Index q = at; q < std::min(at + block, queries.count); ++q)
                lines.push_back(result.data() + q * base.count);
            const Ids some = {queries.list + at, 0, static_cast<Index>(lines.size())};
            if (!gram.columns(some, base, lines.data(), scratch)) return;
        }
    });
    return holder;
}

/// Coefficients with the array that holds their values.
struct Weights {
    Contiguous2<double> values;
    Coefficients coefficients;
    Weights(Contiguous2<double> coef, Contiguous1<std::int64_t> group_sizes, Contiguous2<std::int64_t> outputs,
            Contiguous1<double> bias)
        : values(std::move(coef)) {
        const std::size_t lines = values.shape(0), groups = group_sizes.shape(0);
        coefficients.values = values.data();
        coefficients.support = static_cast<Index>(values.shape(1));
        coefficients.bias.assign(bias.data(), bias.data() + bias.shape(0));
        if (outputs.shape(0) != groups || outputs.shape(1) != lines)
            throw std::invalid_argument("outputs must have one line per group and one column per line of coef");
        Index first = 0;
        for (std::size_t g = 0; g < groups; ++g) {
            Group group{first, group_sizes.data()[g], {}};
            for (std::size_t m = 0; m < lines; ++m) {
                const Index o = outputs.data()[g * lines + m];
                if (o < 0 || o >= coefficients.outputs()) throw std::invalid_argument("output number out of range");
                group.outputs.push_back(o);
            }
            if (group.count < 0 || group.count > coefficients.support - first)
                throw std::invalid_argument("group sizes must add up to the support vectors");
            first += group.count;
            coefficients.groups.push_back(std::move(group));
        }
        if (first != coefficients.support)
            throw std::invalid_argument("group sizes must add up to the support vectors");
    }
};

template <class T, class Tiles>
nb::ndarray<nb::numpy, double> decided(const Tiles& tiles, const Coefficients& c, Index n, int threads) {
    std::vector<double> out(static_cast<std::size_t>(n * c.outputs()));
    Session().run([&](Interrupt* interrupt) { decide<T>(tiles, c, n, threads, interrupt, out.data()); });
    return to_numpy(std::move(out), {static_cast<std::size_t>(n), static_cast<std::size_t>(c.outputs())});
}

}  // namespace

void bind_expansion(nb::module_& m) {
    nb::class_<Kernel>(m, "Kernel", "Kernel function and its parameters.")
        .def(
            "__init__",
            [](Kernel* k, const std::string& name, double gamma, double coef0, int degree) {
                new (k) Kernel{kind_of(name), gamma, coef0, degree};
            },
            nb::arg("name"), nb::arg("gamma") = 1.0, nb::arg("coef0") = 0.0, nb::arg("degree") = 3);
    nb::class_<AnyGram>(m, "Gram", "Kernel values between the rows of a matrix.")
        .def(nb::init<const Kernel&, const Matrix&, std::size_t>(), nb::arg("kernel"), nb::arg("x"),
             nb::arg("copy_bytes") = 0, nb::keep_alive<1, 3>())
        .def(
            "columns",
            [](const AnyGram& g, Contiguous1<std::int64_t> queries, Contiguous1<std::int64_t> base, nb::object out) {
                return std::visit(
                    [&](const auto& gram) { return columns(*gram, ids(queries, g.n), ids(base, g.n), out); }, g.gram);
            },
            nb::arg("queries"), nb::arg("base"), nb::arg("out") = nb::none(),
            "K[queries][:, base], into `out` where one is given.")
        .def_prop_ro("copy_bytes", [](const AnyGram& g) {
            return std::visit([](const auto& gram) { return gram->copy_bytes(); }, g.gram);
        });
    nb::class_<Weights>(m, "Weights", "Coefficients of an expansion: groups of support vectors and their outputs.")
        .def(nb::init<Contiguous2<double>, Contiguous1<std::int64_t>, Contiguous2<std::int64_t>, Contiguous1<double>>(),
             nb::arg("coef"), nb::arg("group_sizes"), nb::arg("outputs"), nb::arg("bias"));
    m.def(
        "decide",
        [](const AnyGram& support, const Weights& w, const Matrix& x, int threads) {
            if (support.n != w.coefficients.support)
                throw std::invalid_argument("one coefficient per support vector expected");
            if (support.d != x.d) throw std::invalid_argument("queries and support vectors differ in their features");
            return std::visit(
                [&](const auto& gram, const auto& rows) {
                    using T = typename std::decay_t<decltype(*gram)>::Value;
                    using S = std::remove_const_t<std::remove_pointer_t<decltype(std::get<0>(rows).data)>>;
                    return decided<T>(ComputedTiles<T, S>{*gram, rows}, w.coefficients, x.n, threads);
                },
                support.gram, x.rows);
        },
        nb::arg("support"), nb::arg("weights"), nb::arg("x"), nb::arg("threads") = 1,
        "Decision values, one row per query.");
    m.def(
        "decide_gathered",
        [](const Matrix& k, Contiguous1<std::int64_t> columns, const Weights& w, int threads) {
            if (static_cast<Index>(columns.shape(0)) != w.coefficients.support)
                throw std::invalid_argument("one column per support vector expected");
            const Ids wanted = ids(columns, k.d);
            return std::visit(
                [&](const auto& rows) {
                    const auto* dense = std::get_if<0>(&rows);
                    if (!dense) throw std::invalid_argument("a precomputed kernel must be dense");
                    using T = std::remove_const_t<std::remove_pointer_t<decltype(dense->data)>>;
                    return decided<T>(GatheredTiles<T>{*dense, wanted}, w.coefficients, k.n, threads);
                },
                k.rows);
        },
        nb::arg("k"), nb::arg("columns"), nb::arg("weights"), nb::arg("threads") = 1,
        "Decision values from kernel values that exist.");
}

}  // namespace hingeline::bindings
