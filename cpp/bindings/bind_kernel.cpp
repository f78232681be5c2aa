// Kernel values and predictions for Python.
#include "hingeline/kernel/dots.hpp"
#include "hingeline/kernel/local.hpp"
#include "packed.hpp"

namespace hingeline::bindings {

namespace {

/// Kernel values of function(queries, base), which returns a float64 array of shape (len(queries), len(base)). The
/// function is called with the GIL, and held by address because this wrapper may be copied without the GIL.
Called<double>::Function call_python(const nb::callable* function) {
    return [function](Ids queries, Ids base, double* const* columns) {
        nb::gil_scoped_acquire acquire;
        const auto numbers = [](Ids ids) {
            std::vector<Index> list(static_cast<std::size_t>(ids.count));
            for (Index i = 0; i < ids.count; ++i) list[static_cast<std::size_t>(i)] = ids[i];
            return to_numpy(std::move(list));
        };
        try {
            const nb::object result = (*function)(numbers(queries), numbers(base));
            Contiguous2<double> k;
            if (!nb::try_cast(result, k, false) || static_cast<Index>(k.shape(0)) != queries.count ||
                static_cast<Index>(k.shape(1)) != base.count)
                throw std::invalid_argument("the kernel function must return a float64 array, one row per query");
            for (Index q = 0; q < queries.count; ++q) std::copy_n(k.data() + q * base.count, base.count, columns[q]);
        } catch (const nb::python_error& error) {
            if (!Session::current() || !error.matches(PyExc_KeyboardInterrupt)) throw;
            Session::current()->interrupt(std::current_exception());
            throw Interrupted();
        }
    };
}

}  // namespace

PySource::PySource(nb::object from, std::optional<Numbers> rows) : numbers(std::move(rows)) {
    if (numbers) source.rows = ids(*numbers, nb::cast<const Matrix&>(from).n);
    if (nb::isinstance<Kernel>(from)) {
        source.from = nb::cast<const Kernel&>(from);
    } else if (nb::isinstance<Matrix>(from)) {
        keep = from;
        source.from = nb::cast<const Matrix&>(from).rows;
    } else {
        function = nb::cast<nb::callable>(from);
        source.from = call_python(&function);
    }
}

std::vector<std::pair<Index, Index>> listed(const Arrivals& arrivals) {
    std::vector<std::pair<Index, Index>> out;
    for (nb::handle one : arrivals) out.push_back(nb::cast<std::pair<Index, Index>>(one));
    return out;
}

Chunk PyChunk::check(Index known) const {
    const Index labels = known + static_cast<Index>(arrivals.size());
    Chunk chunk{&x->rows, ids(rows, x->n), id.data(), code.data(), box.data(), {}};
    const std::size_t n = rows.size();
    if (id.size() != n || code.size() != n || box.size() != n)
        throw std::invalid_argument("rows, ids, codes and boxes must be equally long");
    ids(code, labels);
    for (const auto& [at, place] : arrivals) chunk.arrivals.push_back({at, place});
    for (std::size_t i = 0; i < n; ++i) {
        const Index arrival = code.data()[i] - known;
        if (arrival >= 0 && arrivals[static_cast<std::size_t>(arrival)].first > static_cast<Index>(i))
            throw std::invalid_argument("a label is used before it arrives");
    }
    return chunk;
}

namespace {

using AnyArray = nb::ndarray<nb::numpy>;

nb::object columns(const PyValues& v, const Contiguous1<std::int64_t>& queries, const Contiguous1<std::int64_t>& base) {
    return v.values.visit([&](const auto& values) -> nb::object {
        using T = typename std::decay_t<decltype(values)>::Value;
        const Ids wanted = ids(queries, values.size()), against = ids(base, values.size());
        std::vector<T> out(queries.size() * base.size());
        Session().run([&](Interrupt* interrupt) {
            Scratch<T> scratch;
            scratch.interrupt = interrupt;
            for (Index at = 0; at < wanted.count; at += values.block()) {
                const Ids some = wanted.part(at, std::min<Index>(values.block(), wanted.count - at));
                std::vector<T*> lines;
                for (Index q = 0; q < some.count; ++q) lines.push_back(out.data() + (at + q) * against.count);
                if (!values.columns(some, against, lines.data(), scratch)) return;
            }
        });
        return nb::cast(to_numpy(std::move(out), {queries.size(), base.size()}));
    });
}

/// Coefficients, and the array that they are in.
struct PyLines {
    Contiguous2<double> coef;
    SupportLines lines;
    PyLines(Contiguous2<double> c, const Contiguous1<std::int64_t>& group_sizes,
            const std::optional<Contiguous2<std::int64_t>>& outputs, const Contiguous1<double>& bias)
        : coef(c),
          lines(c.data(), static_cast<Index>(c.shape(0)), static_cast<Index>(c.shape(1)), listed(group_sizes),
                outputs ? Array<Index>(outputs->data(), outputs->data() + outputs->size()) : Array<Index>(),
                listed(bias)) {}
};

/// Array of decision values, scores or classes.
using AnyArray = nb::ndarray<nb::numpy>;

/// Votes of pairs of classes, and whether the result is scores or classes.
struct Votes {
    VoteRule rule;
    bool winners;
    Votes(Index classes, std::optional<Contiguous1<double>> scale, bool zero_for_first, bool sums, bool labels)
        : rule{classes, scale ? listed(*scale) : std::vector<double>(), zero_for_first, sums}, winners(labels) {
        rule.check();
    }
    /// f(results) as an array: n scores of each class, or n classes.
    template <class F> AnyArray fill(Index n, F&& f) const {
        if (winners) {
            std::vector<Index> out(static_cast<std::size_t>(n));
            Session().run([&](Interrupt* interrupt) { f(interrupt, VoteResults{nullptr, out.data()}); });
            return AnyArray(to_numpy(std::move(out)));
        }
        std::vector<double> out(static_cast<std::size_t>(n * rule.classes));
        Session().run([&](Interrupt* interrupt) { f(interrupt, VoteResults{out.data(), nullptr}); });
        return AnyArray(to_numpy(std::move(out), shape(n, rule.classes)));
    }
    AnyArray count(const Contiguous2<double>& decisions) const {
        if (static_cast<Index>(decisions.shape(1)) != rule.pairs())
            throw std::invalid_argument("one decision per pair of classes expected");
        const Index n = static_cast<Index>(decisions.shape(0));
        return fill(n, [&](Interrupt*, const VoteResults& to) { count_votes(rule, decisions.data(), n, to); });
    }
};

/// f(interrupt, sink) as an array with one line per row: decision values, or their votes.
template <class F> AnyArray run_decisions(const PyLines& l, Index n, const Votes* votes, F&& f) {
    const Index outputs = l.lines.coefficients.outputs();
    if (votes) {
        if (outputs != votes->rule.pairs()) throw std::invalid_argument("one machine per pair of classes expected");
        return votes->fill(n, [&](Interrupt* interrupt, const VoteResults& to) {
            DecisionVotes sink(votes->rule, to);
            f(interrupt, sink);
        });
    }
    std::vector<double> out(static_cast<std::size_t>(n * outputs));
    Session().run([&](Interrupt* interrupt) {
        DecisionMatrix sink{out.data(), outputs};
        f(interrupt, sink);
    });
    return AnyArray(to_numpy(std::move(out), shape(n, outputs)));
}

/// Data of a C-contiguous array of this shape and type.
template <class T> T* written(const nb::handle& array, Index rows, Index columns) {
    Writable2<T> view;
    if (!nb::try_cast(array, view, false) || static_cast<Index>(view.shape(0)) != rows ||
        static_cast<Index>(view.shape(1)) != columns)
        throw std::invalid_argument("a C-contiguous array in the precision of the support vectors expected");
    return view.data();
}

void kernel_values(const PyPacked& p, const Matrix& x, nb::object out, int threads) {
    p.packed.with_rows(x.rows, [&](const auto& rows) {
        using T = typename std::decay_t<decltype(rows)>::Value;
        T* to = written<T>(out, x.n, p.packed.size());
        Session().run([&](Interrupt* interrupt) { hingeline::kernel_values(rows, threads, interrupt, to); });
    });
}

void map_rows(const PyPacked& p, const Matrix& x, nb::object matrix, nb::object out, int threads) {
    p.packed.with_rows(x.rows, [&](const auto& rows) {
        using T = typename std::decay_t<decltype(rows)>::Value;
        Contiguous2<T> by;
        if (!nb::try_cast(matrix, by, false) || static_cast<Index>(by.shape(1)) != p.packed.size())
            throw std::invalid_argument("a matrix with one column per support vector, in their precision, expected");
        const Index lines = static_cast<Index>(by.shape(0));
        T* to = written<T>(out, x.n, lines);
        Session().run(
            [&](Interrupt* interrupt) { hingeline::map_rows(rows, by.data(), lines, threads, interrupt, to); });
    });
}

template <class T> bool try_map_dots(const Kernel& kernel, nb::object dots, nb::object out, int threads) {
    Contiguous2<T> from;
    if (!nb::try_cast(dots, from, false) || from.shape(0) != from.shape(1)) return false;
    const Index n = static_cast<Index>(from.shape(0));
    T* to = written<T>(out, n, n);
    Session().run([&](Interrupt* interrupt) { map_dots(kernel, from.data(), n, threads, interrupt, to); });
    return true;
}

}  // namespace

void bind_kernel(nb::module_& m) {
    nb::class_<Kernel>(m, "Kernel", "Kernel function and its parameters.")
        .def(
            "__init__",
            [](Kernel* k, const std::string& name, double gamma, double coef0, int degree) {
#define HINGELINE_PAIR(name, map) {#name, KernelKind::name},
                new (k) Kernel{choice<KernelKind>(name, {HINGELINE_KERNELS(HINGELINE_PAIR)}), gamma, coef0, degree};
#undef HINGELINE_PAIR
            },
            nb::arg("name"), nb::arg("gamma") = 1.0, nb::arg("coef0") = 0.0, nb::arg("degree") = 3);
    m.def(
        "single_suffices",
        [](const Kernel& kernel, const Matrix& x) {
            return std::visit([&](const auto& rows) { return single_suffices(kernel, rows); }, x.rows);
        },
        nb::arg("kernel"), nb::arg("x"), "Whether kernel values in single precision are good approximations.");
    nb::class_<PySource>(m, "Source", nb::type_slots(Collected<PySource>::slots),
                         "Where kernel values come from: a Kernel, a Matrix of them, or a function.")
        .def(nb::init<nb::object, std::optional<Numbers>>(), nb::arg("origin"), nb::arg("rows") = nb::none());
    nb::class_<PyChunk>(m, "Chunk", nb::type_slots(Collected<PyChunk>::slots),
                        "Examples: rows of x, their numbers, classes and boxes, and labels that arrive.")
        .def(nb::init<nb::object, Numbers, Numbers, Numbers, Contiguous1<double>, const Arrivals&>(), nb::arg("x"),
             nb::arg("rows"), nb::arg("ids"), nb::arg("codes"), nb::arg("boxes"), nb::arg("arrivals") = nb::list());
    nb::class_<PyValues>(m, "Values", nb::type_slots(Collected<PyValues>::slots),
                         "Kernel values between the rows of a matrix.")
        .def(nb::init<nb::object, nb::object, std::size_t>(), nb::arg("source"), nb::arg("x"),
             nb::arg("copy_bytes") = 0)
        .def("columns", &columns, nb::arg("queries"), nb::arg("base"), "K[queries][:, base].")
        .def_prop_ro("copy_bytes", [](const PyValues& v) { return v.values.copy_bytes(); });
    nb::class_<PyLines>(m, "Lines", "Coefficients of support vectors in LIBSVM's layout.")
        .def(nb::init<Contiguous2<double>, const Contiguous1<std::int64_t>&,
                      const std::optional<Contiguous2<std::int64_t>>&, const Contiguous1<double>&>(),
             nb::arg("coef"), nb::arg("group_sizes"), nb::arg("outputs").none(), nb::arg("bias"));
    nb::class_<Votes>(m, "Votes", "Votes of pairs of classes: how scores of classes, or their winner, are counted.")
        .def(nb::init<Index, std::optional<Contiguous1<double>>, bool, bool, bool>(), nb::arg("classes"), nb::kw_only(),
             nb::arg("scale") = nb::none(), nb::arg("zero_for_first") = false, nb::arg("sums") = true,
             nb::arg("labels"))
        .def("count", &Votes::count, nb::arg("decisions"), "Scores or winners from decision values, one row each.");
    nb::class_<PyPacked>(m, "Packed", nb::type_slots(Collected<PyPacked>::slots),
                         "Support vectors prepared for prediction.")
        .def(nb::init<const Kernel&, nb::object>(), nb::arg("kernel"), nb::arg("support"))
        .def(
            "decide",
            [](const PyPacked& p, const PyLines& l, const Matrix& x, int threads, const Votes* votes) {
                return run_decisions(l, x.n, votes, [&](Interrupt* interrupt, auto& sink) {
                    p.packed.decide(l.lines, x.rows, threads, interrupt, sink);
                });
            },
            nb::arg("lines"), nb::arg("x"), nb::arg("threads") = 1, nb::arg("votes").none() = nb::none(),
            "Decision values or their votes, one row per query.")
        .def("values", &kernel_values, nb::arg("x"), nb::arg("out"), nb::arg("threads") = 1,
             "Write kernel values to `out`: a row for each query, a column for each support vector.")
        .def("map_rows", &map_rows, nb::arg("x"), nb::arg("matrix"), nb::arg("out"), nb::arg("threads") = 1,
             "Write the products of `values` with the transposed `matrix` to `out`.");
    m.def(
        "map_dots",
        [](const Kernel& kernel, nb::object dots, nb::object out, int threads) {
            if (!try_map_dots<double>(kernel, dots, out, threads) && !try_map_dots<float>(kernel, dots, out, threads))
                throw std::invalid_argument("a square C-contiguous matrix of dot products expected");
        },
        nb::arg("kernel"), nb::arg("dots"), nb::arg("out"), nb::arg("threads") = 1,
        "Write the kernel values of rows to `out`, given their dot products.");
    m.def(
        "feature_weights",
        [](const PyLines& l, const Matrix& support) {
            return to_numpy(Session().run([&](Interrupt*) { return feature_weights(l.lines, support.rows); }),
                            shape(l.lines.coefficients.outputs(), support.d));
        },
        nb::arg("lines"), nb::arg("support"), "Weights of the features with a linear kernel, one row per machine.");
    m.def(
        "decide_gathered",
        [](const PyLines& l, const Matrix& k, Numbers columns, int threads, std::optional<Numbers> rows,
           const Votes* votes) {
            const Ids wanted = ids(columns, k.d), queries = rows ? ids(*rows, k.n) : Ids::run(0, k.n);
            return run_decisions(l, queries.count, votes, [&](Interrupt* interrupt, auto& sink) {
                decide_gathered(l.lines, k.rows, queries, wanted, threads, interrupt, sink);
            });
        },
        nb::arg("lines"), nb::arg("k"), nb::arg("columns"), nb::arg("threads") = 1, nb::arg("rows") = nb::none(),
        nb::arg("votes").none() = nb::none(),
        "Decision values or their votes from precomputed kernel values, for all or some of their rows.");
}

}  // namespace hingeline::bindings
