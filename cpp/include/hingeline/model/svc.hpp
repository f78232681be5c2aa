// Soft-margin SVMs as models: the machines of all class pairs over rows owned by the caller.
#pragma once

#include <mutex>

#include "hingeline/algo/platt.hpp"
#include "hingeline/algo/svc/solve.hpp"
#include "hingeline/model/batch.hpp"

namespace hingeline {

/// Where the block solver gets kernel values: rows that are copied when needed, or a precomputed matrix.
class RowValues {
  public:
    /// The rows must outlive this.
    RowValues(const Source& source, const AnyRows& rows) {
        if (const auto* kernel = std::get_if<0>(&source.from))
            std::visit([&](const auto& x) { values_ = form(*kernel, x); }, rows);
        else if (const auto* matrix = std::get_if<1>(&source.from))
            std::visit([&](const auto& k) { values_ = gathered(source, k); }, *matrix);
        else
            throw std::invalid_argument("a kernel function must be evaluated before training");
        single_ = std::visit([](const auto& v) { return single_suffices(v); }, values_);
    }
    template <class F> decltype(auto) visit(F&& f) const { return std::visit(f, values_); }
    Index size() const {
        return visit([](const auto& v) { return v.size(); });
    }
    /// Whether kernel values in single precision are good approximations.
    bool single() const { return single_; }

  private:
    /// Few rows stay as they are: there is little to gain, and other forms round differently.
    template <class S> static RowKernel<S> form(const Kernel& kernel, const Rows<S>& rows) {
        constexpr Index few = 1000;
        return row_count(rows) < few ? RowKernel<S>{kernel, rows} : row_kernel(kernel, rows);
    }
    template <class S> static bool single_suffices(const Gathered<S>&) { return false; }
    template <class S> static bool single_suffices(const RowKernel<S>& k) {
        return hingeline::single_suffices(k.kernel, k.rows);
    }

    std::variant<RowKernel<float>, RowKernel<double>, Gathered<float>, Gathered<double>> values_ =
        RowKernel<double>{{}, DenseRows<double>{}};
    bool single_ = false;
};

/// Objects that are reused: a thread takes one and gives it back.
template <class T> class Pool {
  public:
    template <class F> void with(F&& f) {
        std::unique_ptr<T> mine = take();
        f(*mine);
        std::lock_guard lock(mutex_);
        idle_.push_back(std::move(mine));
    }

  private:
    std::unique_ptr<T> take() {
        std::lock_guard lock(mutex_);
        if (idle_.empty()) return std::make_unique<T>();
        std::unique_ptr<T> one = std::move(idle_.back());
        idle_.pop_back();
        return one;
    }
    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> idle_;
};

struct SvcKind {
    using Params = svc::Params;
    using State = svc::State;
    static Index size(const State& s) { return s.n(); }
    template <class V> void learn(State& s, const Params& p, const V& values, const Stop& stop, int threads) {
        std::get<Pool<svc::Workspace<V>>>(*pools).with(
            [&](svc::Workspace<V>& work) { svc::learn(s, p, values, stop, threads, work); });
    }
    static void put(Record& out, const Array<State>& machines, const Array<Index>& order, const Array<Index>& codes,
                    Index classes, const Params&) {
        put_lines(out, machines, codes, classes);
        Numeric<double> dual, gap;
        for (const State& s : machines) {
            const svc::Objectives found = objectives(s);
            dual.values.push_back(found.dual);
            gap.values.push_back(found.primal - found.dual);
        }
        put_each(out, "n_iter", machines, order, [](const State& s) { return s.steps; });
        put_each(out, "kkt_violation", machines, order, [](const State& s) { return std::max(s.violation, 0.0); });
        out.put("dual_objective", std::move(dual));
        out.put("duality_gap", std::move(gap));
    }

    /// Support vectors, coefficients and intercepts.
    static void put_lines(Record& out, const Array<State>& machines, const Array<Index>& codes, Index classes) {
        Array<Terms> terms;
        for (const State& s : machines) {
            Terms& one = terms.emplace_back();
            for (Index i = 0; i < s.n(); ++i)
                if (s.beta[i] != 0) one.add(s.row[i], s.row[i], codes[s.row[i]], s.beta[i]);
            one.intercept = s.intercept;
        }
        put_joint(out, terms, classes, false);
    }

    template <class... Sources> using PoolsOf = std::tuple<Pool<svc::Workspace<Sources>>...>;
    using Pools = PoolsOf<RowKernel<float>, RowKernel<double>, Gathered<float>, Gathered<double>>;
    std::shared_ptr<Pools> pools = std::make_shared<Pools>();
};
using Svc = Batch<SvcKind>;

/// Machines of all class pairs; `bounds` are C times the weights, by row. Rows of bound zero are left out. `single`
/// asks for kernel values in single precision.
inline Svc start_svc(const svc::Params& params, Array<Index> codes, Index classes, const Array<double>& bounds,
                     bool single) {
    if (bounds.size() != codes.size()) throw std::invalid_argument("one bound per row expected");
    auto rows = rows_by_class(codes.data(), codes.size(), classes);
    for (auto& some : rows) std::erase_if(some, [&](Index row) { return !(bounds[row] > 0); });
    Svc out({}, params, std::move(codes), classes);
    for (Index i = 0; i < classes; ++i)
        for (Index j = i + 1; j < classes; ++j) {
            out.machines.push_back(svc::start(rows[i], rows[j], first_label(classes), bounds.data()));
            out.machines.back().single = single;
        }
    return out;
}

/// Prepare for larger bounds. Machines in which no coefficient has reached its bound have their result already; the
/// others start again from zero. The result is that of training with `bounds` from the start.
inline void raise_bounds(Svc& all, const Array<double>& bounds, bool single) {
    if (bounds.size() != all.codes().size()) throw std::invalid_argument("one bound per row expected");
    for (const svc::State& s : all.machines)
        for (Index i = 0; i < s.n(); ++i)
            if (!(bounds[s.row[i]] >= s.bound[i])) throw std::invalid_argument("bounds must not decrease");
    for (svc::State& s : all.machines) {
        const bool endless = std::any_of(s.row.begin(), s.row.end(), [&](Index r) { return std::isinf(bounds[r]); });
        if (!s.bounded && s.reason == Reason::tolerance && !endless) {
            for (Index i = 0; i < s.n(); ++i) s.bound[i] = bounds[s.row[i]];
            continue;
        }
        svc::restart(s, bounds.data());
        s.single = single;
    }
}

/// What predictions need, and the number of machines that have not reached the tolerance.
inline Record solution(const Svc& all) {
    Record out;
    SvcKind::put_lines(out, all.machines, all.codes(), all.classes());
    out.put("unfinished",
            static_cast<Index>(std::count_if(all.machines.begin(), all.machines.end(),
                                             [](const svc::State& s) { return s.reason != Reason::tolerance; })));
    return out;
}

/// Starting values of y beta, by row, of a machine that has made no step. They are clipped to the box, and those of the
/// class with the larger sum are scaled down until the sums agree.
inline void guess(Svc& all, Index machine, const double* v, Index n) {
    if (machine < 0 || machine >= all.machines.size() || n != all.codes().size())
        throw std::invalid_argument("a guess names a machine and has one value per row");
    svc::State& s = all.machines[machine];
    if (s.outer > 0) throw std::invalid_argument("a guess comes before the first step");
    double sum[2] = {0, 0};
    for (Index i = 0; i < s.n(); ++i) {
        const double value = v[s.row[i]];
        const double size = value > 0 && std::isfinite(value) ? std::min(value, s.bound[i]) : 0.0;
        s.beta[i] = s.y[i] * size;
        sum[s.y[i] > 0] += size;
    }
    constexpr double rounding = 1e-12;
    const double small = std::min(sum[0], sum[1]), large = std::max(sum[0], sum[1]);
    if (large - small > rounding * large)
        for (Index i = 0; i < s.n(); ++i)
            if (sum[s.y[i] > 0] == large) s.beta[i] *= small / large;
    s.stale = true;
}

// ---- probabilities ---------------------------------------------------------------------------------------

/// Rows of two classes in random order. Folds are stretches of it, of equal sizes up to one.
struct Shuffled {
    Array<Index> rows;
    Array<char> first;  // whether a row is of the first class

    static constexpr Index folds = 5;
    Index begin(Index fold) const { return fold * (rows.size() / folds) + std::min(fold, rows.size() % folds); }
    /// Rows of one class outside a fold, ascending.
    Array<Index> others(Index fold, bool of_first) const {
        Array<Index> out;
        for (Index k = 0; k < rows.size(); ++k)
            if ((k < begin(fold) || k >= begin(fold + 1)) && (first[k] != 0) == of_first) out.push_back(rows[k]);
        std::sort(out.begin(), out.end());
        return out;
    }
};

/// Sigmoids of pairs of classes, from decision values of the rows of each fold by a machine of the rows outside it,
/// positive for the first class. `bounds` by row; machines of `single_rows` or more begin in single precision.
class CrossValidated {
  public:
    CrossValidated(const svc::Params& params, Array<double> bounds, Index single_rows)
        : params_(params), bounds_(std::move(bounds)), single_rows_(single_rows) {}

    /// Without meaning when interrupted.
    Array<Sigmoid> sigmoids(const RowValues& values, const Array<Shuffled>& pairs, int threads,
                            Interrupt* interrupt) const {
        for (const Shuffled& pair : pairs)
            for (const Index row : pair.rows)
                if (row < 0 || row >= std::min(values.size(), bounds_.size()))
                    throw std::invalid_argument("row number out of range");
        Array<Array<double>> decisions;
        for (const Shuffled& pair : pairs) decisions.emplace_back(pair.rows.size(), 0.0);
        SvcKind::Pools pools;
        values.visit([&](const auto& v) {
            run_pairs(
                pairs.size() * Shuffled::folds, threads, interrupt,
                [&](Index task) { return pairs[task / Shuffled::folds].rows.size(); },
                [&](Index task, int team, int at_a_time) {
                    const Index pair = task / Shuffled::folds, fold = task % Shuffled::folds;
                    auto mine = params_;
                    mine.cache_bytes /= static_cast<std::size_t>(at_a_time);
                    const Stop stop{std::numeric_limits<Index>::max(), interrupt};
                    leave_out(v, pairs[pair], fold, mine, stop, team, pools, decisions[pair].data());
                });
        });
        Array<Sigmoid> out;
        for (Index k = 0; k < pairs.size(); ++k)
            out.push_back(PlattFit(decisions[k].data(), pairs[k].first.data(), pairs[k].rows.size()).run());
        return out;
    }

  private:
    /// Decision values of the rows of a fold; if all other rows are of one class, that one is certain.
    template <class V> void leave_out(const V& values, const Shuffled& pair, Index fold, const svc::Params& params,
                                      const Stop& stop, int threads, SvcKind::Pools& pools, double* decisions) const {
        const Index begin = pair.begin(fold), count = pair.begin(fold + 1) - begin;
        if (count == 0) return;
        const Array<Index> first = pair.others(fold, true), second = pair.others(fold, false);
        if (first.empty() || second.empty()) {
            std::fill_n(decisions + begin, count, first.empty() ? (second.empty() ? 0.0 : -1.0) : 1.0);
            return;
        }
        svc::State state = svc::start(second, first, -1.0, bounds_.data());
        state.single = state.n() >= single_rows_;
        std::get<Pool<svc::Workspace<V>>>(pools).with([&](svc::Workspace<V>& work) {
            svc::learn(state, params, values, stop, threads, work);
            svc::outputs(state, values, Ids::of(pair.rows).part(begin, count), work, decisions + begin);
        });
    }

    svc::Params params_;
    Array<double> bounds_;
    Index single_rows_;
};

}  // namespace hingeline
