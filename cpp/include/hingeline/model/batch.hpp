// Batch machines as models: one machine per class pair, or one for all classes, over rows owned by the caller.
#pragma once

#include "hingeline/algo/l2/min_norm.hpp"
#include "hingeline/algo/l2/nnisda.hpp"
#include "hingeline/algo/ollawv.hpp"
#include "hingeline/algo/pairs.hpp"
#include "hingeline/model/joint.hpp"
#include "hingeline/model/source.hpp"

namespace hingeline {

/// Machines of one kind. `Kind` has Params (with cache_bytes), State (with reason, trace and kernel_evals),
/// size(state), learn(state, params, values, stop, threads).
template <class Kind> class Batch {
  public:
    using State = typename Kind::State;
    typename Kind::Params params;
    Array<State> machines;

    Batch(Kind kind, typename Kind::Params p, Array<Index> codes, Index classes)
        : params(p), kind_(std::move(kind)), codes_(std::move(codes)), classes_(classes) {}

    /// Make up to `most` steps of every machine. Returns whether steps are left. `V` is `Values`, or another choice of
    /// sources with size() and visit().
    template <class V> bool learn(const V& values, int threads, Index most, Interrupt* interrupt) {
        if (values.size() != std::ssize(codes_))
            throw std::invalid_argument("one label per row of the kernel matrix expected");
        values.visit([&](const auto& v) {
            run_pairs(
                std::ssize(machines), threads, interrupt, [&](Index i) { return kind_.size(machines[i]); },
                [&](Index i, int team, int at_a_time) {
                    auto mine = params;
                    mine.cache_bytes /= static_cast<std::size_t>(at_a_time);
                    kind_.learn(machines[i], mine, v, Stop{most, interrupt}, team);
                });
        });
        return std::any_of(machines.begin(), machines.end(), [](const State& s) {
            return s.reason == Reason::running || s.reason == Reason::interrupted;
        });
    }

    /// Fitted attributes by name; `unfinished` is the stop reason of machines with steps left.
    Record attributes(const std::string& unfinished) const {
        Record out;
        Array<Index> order(machines.size());
        std::iota(order.begin(), order.end(), Index{0});
        kind_.put(out, machines, order, codes_, classes_, params);
        put_each(out, "stop_reason", machines, order, [&](const State& s) {
            return s.reason == Reason::running ? unfinished : std::string(name(s.reason));
        });
        Index evals = 0;
        for (const State& s : machines) evals += s.kernel_evals;
        out.put("n_kernel_evals", evals);
        put_history(out, machines, order, [](const State& s) -> const Trace& { return s.trace; });
        return out;
    }
    const Array<Index>& codes() const { return codes_; }
    Index classes() const { return classes_; }
    Index n_machines() const { return machines.size(); }

  private:
    Kind kind_;
    Array<Index> codes_;
    Index classes_;
};

/// Label of the first class of a pair: with two classes positive values vote for the second, with more for the first.
inline double first_label(Index classes) { return classes == 2 ? -1.0 : 1.0; }

// ---- OLLAWV --------------------------------------------------------------------------------------------

struct OllawvKind {
    using Params = ollawv::Params;
    using State = ollawv::State;
    static Index size(const State& s) { return s.n; }
    template <class V> static void learn(State& s, const Params& p, const V& values, const Stop& stop, int threads) {
        ollawv::learn(s, p, values, stop, threads);
    }
    static void put(Record& out, const Array<State>& machines, const Array<Index>& order, const Array<Index>& codes,
                    Index classes, const Params&) {
        Array<Terms> terms;
        for (const State& s : machines) {
            Terms one;
            for (Index k = 0; k < std::ssize(s.chosen); ++k)
                one.add(s.chosen[k], s.chosen[k], codes[s.chosen[k]], s.a[k]);
            one.intercept = s.b;
            terms.push_back(std::move(one));
        }
        put_joint(out, terms, classes, false);
        put_each(out, "decision_scale", machines, order, [](const State& s) { return ollawv::largest_output(s); });
        put_each(out, "n_iter", machines, order, [](const State& s) { return static_cast<Index>(s.chosen.size()); });
        put_each(out, "worst_margin", machines, order, [](const State& s) { return s.v; });
    }
};
using Ollawv = Batch<OllawvKind>;

/// Machines of all class pairs; `first` is the row that each starts with. `own` are weights of the rows, empty: 1; rows
/// of weight 0 are left out.
inline Ollawv start_ollawv(const ollawv::Params& params, Array<Index> codes, const Array<double>& weights,
                           const Array<Index>& first, Array<double> own = {}) {
    const Index n = codes.size(), classes = weights.size();
    auto rows = rows_by_class(codes.data(), n, classes);
    std::shared_ptr<const Array<double>> by_row;
    if (!own.empty()) {
        if (own.size() != n) throw std::invalid_argument("one weight per row expected");
        for (auto& some : rows) std::erase_if(some, [&](Index row) { return own[row] == 0; });
        by_row = std::make_shared<const Array<double>>(std::move(own));
    }
    if (first.size() != classes * (classes - 1) / 2)
        throw std::invalid_argument("one first row per class pair expected");
    const double label = first_label(classes);
    Array<ollawv::State> machines;
    for (Index i = 0; i < std::ssize(rows); ++i)
        for (Index j = i + 1; j < std::ssize(rows); ++j) {
            const Index begin = first[machines.size()];
            const Index code = begin < 0 || begin >= n ? -1 : codes[begin];
            if ((code != i && code != j) || (by_row && (*by_row)[begin] == 0))
                throw std::invalid_argument("the first row must belong to its class pair");
            machines.push_back(
                ollawv::start({label, weights[i], rows[i], {}}, {-label, weights[j], rows[j], {}}, begin));
            machines.back().weight = by_row;
        }
    Ollawv out({}, params, std::move(codes), classes);
    out.machines = std::move(machines);
    return out;
}

/// Go on from the result for a smaller margin. The result is that of training with `margin` from the start: the margin
/// only decides where the sequence of steps ends.
inline void raise_margin(Ollawv& all, double margin) {
    if (!(margin >= all.params.margin)) throw std::invalid_argument("the margin must not decrease");
    all.params.margin = margin;
    for (ollawv::State& s : all.machines)
        if (s.reason == Reason::margin && s.v < margin * all.params.C) s.reason = Reason::running;
}

// ---- L2-SVM --------------------------------------------------------------------------------------------

/// Pairwise summation with eight partial sums per block: the rounding error grows with log(n).
inline double pairwise_sum(const double* values, Index n) {
    constexpr Index lanes = 8, block = 128;
    if (n > block) {
        const Index half = n / 2 - n / 2 % lanes;
        return pairwise_sum(values, half) + pairwise_sum(values + half, n - half);
    }
    if (n < lanes) return std::accumulate(values, values + n, 0.0);
    double r[lanes];
    std::copy_n(values, lanes, r);
    const Index whole = n - n % lanes;
    for (Index i = lanes; i < whole; ++i) r[i % lanes] += values[i];
    const double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    return std::accumulate(values + whole, values + n, sum);
}

enum class L2Rule { nnisda, mdm, imdm };

struct L2Kind {
    using Params = l2::Params;
    using State = l2::State;
    L2Rule rule = L2Rule::nnisda;
    static Index size(const State& s) { return s.n(); }
    template <class V> void learn(State& s, const Params& p, const V& values, const Stop& stop, int) const {
        if (rule == L2Rule::nnisda)
            nnisda::learn(s, p, values, stop);
        else
            min_norm::learn(s, p, values, stop, rule == L2Rule::imdm);
    }
    void put(Record& out, const Array<State>& machines, const Array<Index>& order, const Array<Index>& codes,
             Index classes, const Params& params) const {
        const bool at_once = classes > 2 && machines.size() == 1;
        const double label = first_label(classes);
        Array<l2::Solution> found;
        for (const State& s : machines)
            found.push_back(rule == L2Rule::nnisda ? nnisda::solution(s) : min_norm::solution(s));
        Array<Terms> lines;
        for (Index line = 0; line < (at_once ? classes : std::ssize(machines)); ++line) {
            const Index m = at_once ? 0 : line;
            const State& s = machines[m];
            Terms one;
            for (Index i = 0; i < std::ssize(s.row); ++i)
                if (found[m].v[i] > 0) {
                    const double sign = at_once ? (s.code[i] == line ? 1.0 : s.other) : s.code[i] ? -label : label;
                    one.add(s.row[i], s.row[i], codes[s.row[i]], found[m].v[i] * sign);
                }
            if (params.bias) one.intercept = pairwise_sum(one.coef.data(), one.coef.size());
            lines.push_back(std::move(one));
        }
        put_joint(out, lines, classes, at_once);
        Numeric<double> scale, dual, gap, violation;
        for (const l2::Solution& s : found) {
            scale.values.insert(scale.values.end(), at_once ? classes : 1, s.largest);
            dual.values.push_back(s.dual), gap.values.push_back(l2::gap(s));
            violation.values.push_back(s.violation);
        }
        out.put("decision_scale", std::move(scale));
        out.put("dual_objective", std::move(dual));
        out.put("duality_gap", std::move(gap));
        out.put("kkt_violation", std::move(violation));
        put_each(out, "n_iter", machines, order, [](const State& s) { return s.steps; });
    }
};
using L2Machines = Batch<L2Kind>;

/// Machines of all class pairs, or one machine for all classes; `penalties` by row.
inline L2Machines start_l2(L2Rule rule, bool at_once, const l2::Params& params, Array<Index> codes, Index classes,
                           const Array<double>& penalties) {
    if (penalties.size() != codes.size()) throw std::invalid_argument("one penalty per row expected");
    const auto rows = rows_by_class(codes.data(), codes.size(), classes);
    L2Machines out({rule}, params, std::move(codes), classes);
    if (at_once) {
        out.machines.push_back(l2::start(rows, penalties.data()));
        return out;
    }
    for (Index i = 0; i < std::ssize(rows); ++i)
        for (Index j = i + 1; j < std::ssize(rows); ++j)
            out.machines.push_back(l2::start({rows[i], rows[j]}, penalties.data()));
    return out;
}

/// Starting values v, by row, of a machine that has made no step.
inline void guess(L2Machines& all, Index machine, const double* v, Index n) {
    if (machine < 0 || machine >= all.machines.size() || n != all.codes().size())
        throw std::invalid_argument("a guess names a machine and has one value per row");
    l2::State& s = all.machines[machine];
    if (s.begun) throw std::invalid_argument("a guess comes before the first step");
    for (Index i = 0; i < std::ssize(s.row); ++i) {
        const double value = v[s.row[i]];
        s.v[i] = value > 0 && std::isfinite(value) ? value : 0.0;
    }
}

}  // namespace hingeline
