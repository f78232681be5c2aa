// Machines of the L2-SVM (algo/l2_dual.hpp) as Python holds them, whichever algorithm moves them.
#pragma once

#include "hingeline/algo/l2_dual.hpp"
#include "hingeline/algo/pairs.hpp"
#include "kernels.hpp"

namespace hingeline::bindings {

/// One machine per class pair, or one for all classes. `Algorithm` has learn(state, params, source, stop) and
/// solution(state).
template <class Algorithm> struct L2Machines {
    l2::Params params;
    Algorithm algorithm;
    std::vector<l2::State> machines;
    Index n = 0;

    L2Machines(Contiguous1<std::int64_t> codes, Contiguous1<double> penalties, Index classes, bool all_at_once,
               const l2::Params& p, const Algorithm& a)
        : params(p), algorithm(a), n(static_cast<Index>(codes.shape(0))) {
        if (static_cast<Index>(penalties.shape(0)) != n) throw std::invalid_argument("one penalty per row expected");
        const auto rows = rows_by_class(codes.data(), n, classes);
        if (all_at_once) {
            machines.push_back(l2::start(rows, penalties.data()));
            return;
        }
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t j = i + 1; j < rows.size(); ++j)
                machines.push_back(l2::start({rows[i], rows[j]}, penalties.data()));
    }

    /// Where a machine that has not begun should begin: v by row.
    void guess(Index machine, Contiguous1<double> v) {
        l2::State& s = at(machine);
        if (s.begun || static_cast<Index>(v.shape(0)) != n)
            throw std::invalid_argument("a guess has one value per row and comes before the first step");
        for (std::size_t i = 0; i < s.row.size(); ++i) {
            const double value = v.data()[s.row[i]];
            s.v[i] = value > 0 && std::isfinite(value) ? value : 0.0;
        }
    }

    template <class Source> void learn(const Source& source, int threads, Index max_steps, Interrupt* interrupt) {
        run_pairs(
            static_cast<Index>(machines.size()), threads, interrupt, [&](Index i) { return at(i).n(); },
            [&](Index i, int, int at_a_time) {
                l2::Params mine = params;
                mine.cache_bytes /= static_cast<std::size_t>(at_a_time);
                algorithm.learn(at(i), mine, source, Stop{max_steps, interrupt});
            });
    }
    void learn_gram(const AnyGram& gram, int threads, Index max_steps) {
        if (gram.n != n) throw std::invalid_argument("one label per row expected");
        Session().run([&](Interrupt* interrupt) {
            std::visit([&](const auto& g) { learn(*g, threads, max_steps, interrupt); }, gram.gram);
        });
    }
    void learn_matrix(const Matrix& k, int threads, Index max_steps) {
        if (k.n != n || k.d != n) throw std::invalid_argument("a square kernel matrix with one row per label expected");
        Session().run([&](Interrupt* interrupt) {
            std::visit(
                [&](const auto& rows) {
                    const auto* dense = std::get_if<0>(&rows);
                    if (!dense) throw std::invalid_argument("a precomputed kernel must be dense");
                    learn(Gathered(*dense), threads, max_steps, interrupt);
                },
                k.rows);
        });
    }
    void learn_function(nb::callable function, Index max_steps) {
        Session().run(
            [&](Interrupt* interrupt) { learn(Called<double>(n, called(function)), 1, max_steps, interrupt); });
    }

    nb::dict result(Index machine) {
        const l2::State& s = at(machine);
        const l2::Solution solution = algorithm.solution(s);
        std::vector<Index> rows;
        std::vector<std::int64_t> side;
        std::vector<double> v;
        for (std::size_t i = 0; i < s.row.size(); ++i)
            if (solution.v[i] > 0) rows.push_back(s.row[i]), side.push_back(s.code[i]), v.push_back(solution.v[i]);
        nb::dict d;
        d["chosen"] = to_numpy(std::move(rows));
        d["side"] = to_numpy(std::move(side));
        d["v"] = to_numpy(std::move(v));
        d["other"] = s.other;
        d["steps"] = s.steps;
        d["violation"] = solution.violation;
        d["dual"] = solution.dual;
        d["primal"] = solution.primal;
        d["largest"] = solution.largest;
        d["reason"] = name(s.reason);
        d["kernel_evals"] = s.kernel_evals;
        d["history"] = history(s.trace);
        return d;
    }

    std::size_t n_machines() const { return machines.size(); }
    std::size_t n_running() const {
        return static_cast<std::size_t>(std::count_if(machines.begin(), machines.end(), [](const l2::State& s) {
            return s.reason == Reason::running || s.reason == Reason::interrupted;
        }));
    }

  private:
    l2::State& at(Index machine) {
        if (machine < 0 || machine >= static_cast<Index>(machines.size())) throw nb::index_error("no such machine");
        return machines[static_cast<std::size_t>(machine)];
    }
};

/// All but the constructor.
template <class Machines> void define(nb::class_<Machines>& c) {
    c.def("guess", &Machines::guess, nb::arg("machine"), nb::arg("v"))
        .def("learn", &Machines::learn_gram, nb::arg("source"), nb::arg("threads"), nb::arg("max_steps"))
        .def("learn", &Machines::learn_matrix, nb::arg("source"), nb::arg("threads"), nb::arg("max_steps"))
        .def("learn_function", &Machines::learn_function, nb::arg("function"), nb::arg("max_steps"))
        .def("result", &Machines::result, nb::arg("machine"))
        .def_prop_ro("n_machines", &Machines::n_machines)
        .def_prop_ro("n_running", &Machines::n_running);
}

}  // namespace hingeline::bindings
