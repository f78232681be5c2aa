#include "hingeline/algo/ollawv.hpp"
#include "hingeline/algo/pairs.hpp"
#include "kernels.hpp"

namespace hingeline::bindings {

namespace {

/// The class pairs of one problem.
struct Ollawv {
    ollawv::Params params;
    std::vector<ollawv::State> pairs;
    Index n = 0;

    Ollawv(Contiguous1<std::int64_t> codes, Contiguous1<double> class_weights, double first_label,
           Contiguous1<std::int64_t> first, double C, double margin, double cap, bool bias, std::size_t cache_bytes)
        : params{C, margin, cap, bias, cache_bytes}, n(static_cast<Index>(codes.shape(0))) {
        const Index classes = static_cast<Index>(class_weights.shape(0));
        const auto rows = rows_by_class(codes.data(), n, classes);
        if (static_cast<Index>(first.shape(0)) != classes * (classes - 1) / 2)
            throw std::invalid_argument("one first row per class pair expected");
        for (Index i = 0; i < classes; ++i)
            for (Index j = i + 1; j < classes; ++j) {
                const auto &a = rows[static_cast<std::size_t>(i)], &b = rows[static_cast<std::size_t>(j)];
                const Index begin = first.data()[pairs.size()];
                if (begin < 0 || begin >= n || (codes.data()[begin] != i && codes.data()[begin] != j))
                    throw std::invalid_argument("the first row must belong to its class pair");
                pairs.push_back(ollawv::start({first_label, class_weights.data()[i], a, {}},
                                              {-first_label, class_weights.data()[j], b, {}}, begin));
            }
    }

    template <class Source> void learn(const Source& source, int threads, Index max_steps, Interrupt* interrupt) {
        run_pairs(
            static_cast<Index>(pairs.size()), threads, interrupt,
            [&](Index i) { return pairs[static_cast<std::size_t>(i)].n; },
            [&](Index i, int team, int at_a_time) {
                ollawv::Params mine = params;
                mine.cache_bytes /= static_cast<std::size_t>(at_a_time);
                ollawv::learn(pairs[static_cast<std::size_t>(i)], mine, source, Stop{max_steps, interrupt}, team);
            });
    }
};

void learn_gram(Ollawv& o, const AnyGram& gram, int threads, Index max_steps) {
    if (gram.n != o.n) throw std::invalid_argument("one label per row expected");
    Session().run([&](Interrupt* interrupt) {
        std::visit([&](const auto& g) { o.learn(*g, threads, max_steps, interrupt); }, gram.gram);
    });
}

void learn_matrix(Ollawv& o, const Matrix& k, int threads, Index max_steps) {
    if (k.n != o.n || k.d != o.n) throw std::invalid_argument("a square kernel matrix with one row per label expected");
    Session().run([&](Interrupt* interrupt) {
        std::visit(
            [&](const auto& rows) {
                const auto* dense = std::get_if<0>(&rows);
                if (!dense) throw std::invalid_argument("a precomputed kernel must be dense");
                o.learn(Gathered(*dense), threads, max_steps, interrupt);
            },
            k.rows);
    });
}

void learn_function(Ollawv& o, nb::callable function, Index max_steps) {
    Session().run(
        [&](Interrupt* interrupt) { o.learn(Called<double>(o.n, called(function)), 1, max_steps, interrupt); });
}

nb::dict result(const Ollawv& o, Index i) {
    if (i < 0 || i >= static_cast<Index>(o.pairs.size())) throw nb::index_error("no such class pair");
    const ollawv::State& s = o.pairs[static_cast<std::size_t>(i)];
    nb::dict d;
    d["chosen"] = to_numpy(s.chosen);
    d["coef"] = to_numpy(s.a);
    d["intercept"] = s.b;
    d["violation"] = s.v;
    d["largest"] = ollawv::largest_output(s);
    d["reason"] = name(s.reason);
    d["kernel_evals"] = s.kernel_evals;
    d["history"] = history(s.trace);
    return d;
}

}  // namespace

void bind_ollawv(nb::module_& m) {
    nb::class_<Ollawv>(m, "Ollawv", "Worst-violator learning of all class pairs.")
        .def(nb::init<Contiguous1<std::int64_t>, Contiguous1<double>, double, Contiguous1<std::int64_t>, double, double,
                      double, bool, std::size_t>(),
             nb::arg("codes"), nb::arg("class_weights"), nb::arg("first_label"), nb::arg("first"), nb::kw_only(),
             nb::arg("C"), nb::arg("margin"), nb::arg("cap"), nb::arg("bias"), nb::arg("cache_bytes"))
        .def("learn", &learn_gram, nb::arg("source"), nb::arg("threads"), nb::arg("max_steps"))
        .def("learn", &learn_matrix, nb::arg("source"), nb::arg("threads"), nb::arg("max_steps"))
        .def("learn_function", &learn_function, nb::arg("function"), nb::arg("max_steps"))
        .def("result", &result, nb::arg("pair"))
        .def_prop_ro("n_pairs", [](const Ollawv& o) { return o.pairs.size(); })
        .def_prop_ro("n_running", [](const Ollawv& o) {
            return std::count_if(o.pairs.begin(), o.pairs.end(), [](const ollawv::State& s) {
                return s.reason == Reason::running || s.reason == Reason::interrupted;
            });
        });
}

}  // namespace hingeline::bindings
