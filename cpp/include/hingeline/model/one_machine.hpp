// Regression and one-class machines as models: one machine over rows owned by the caller.
#pragma once

#include "hingeline/model/svc.hpp"

namespace hingeline {

enum class OneKind { svr, nu_svr, one_class };

class OneMachine {
  public:
    engine::Params params;

    /// By row: `targets` (of regression) and `bounds`, C times the weights or the weights. Rows of bound zero are left
    /// out. `epsilon` is that of SVR, `total` the sum of |beta| of the other machines. `single` asks for kernel values
    /// in single precision.
    OneMachine(OneKind kind, const engine::Params& p, Array<double> targets, Array<double> bounds, double epsilon,
               double total, bool single)
        : params(p), kind_(kind), n_(targets.size()) {
        if (bounds.size() != n_) throw std::invalid_argument("one bound per row expected");
        if (!(epsilon >= 0) || !(total >= 0)) throw std::invalid_argument("epsilon and total must not be negative");
        Array<Index> rows;
        for (Index i = 0; i < n_; ++i)
            if (bounds[i] > 0) rows.push_back(i);
        Array<double> of_rows;
        for (const Index row : rows) of_rows.push_back(targets[row]);
        machines_.push_back(kind == OneKind::svr      ? engine::start_svr(rows, of_rows, epsilon, bounds.data())
                            : kind == OneKind::nu_svr ? engine::start_nu_svr(rows, of_rows, total, bounds.data())
                                                      : engine::start_one_class(rows, total, bounds.data()));
        state().single = single;
        sampled_start_ = kind == OneKind::one_class;
    }

    static Index n_machines() { return 1; }

    /// Solve up to `most` working sets. Returns whether steps are left.
    bool learn(const RowValues& values, int threads, Index most, Interrupt* interrupt) {
        if (values.size() != n_) throw std::invalid_argument("one target per row of the kernel matrix expected");
        values.visit([&](const auto& v) {
            engine::Workspace<std::decay_t<decltype(v)>> work;
            if (sampled_start_) return learn_from_sample(v, Stop{most, interrupt}, threads, work);
            engine::learn(state(), params, v, Stop{most, interrupt}, threads, work);
        });
        return state().reason == Reason::running || state().reason == Reason::interrupted;
    }

    /// Fitted attributes by name; `unfinished` is the stop reason if steps are left.
    Record attributes(const std::string& unfinished) const {
        const engine::State& s = machines_[0];
        const engine::Objectives value = engine::objectives(s);
        Record out = put_solution();
        const auto put = [&](const char* name, double x) { out.put(name, Numeric<double>{{x}}); };
        out.put("n_iter", Numeric<Index>{{s.steps}});
        put("kkt_violation", std::max(s.violation, 0.0));
        put("dual_objective", value.dual);
        put("duality_gap", value.primal - value.dual);
        if (kind_ == OneKind::nu_svr) put("epsilon", 0.5 * (s.level[0] - s.level[1]));
        out.put("stop_reason",
                std::vector<std::string>{s.reason == Reason::running ? unfinished : std::string(name(s.reason))});
        out.put("n_kernel_evals", s.kernel_evals);
        put_history(out, machines_, {0}, [](const engine::State& one) -> const Trace& { return one.trace; });
        return out;
    }
    /// What predictions need, and the number of machines that have not reached the tolerance.
    Record solution() const {
        Record out = put_solution();
        out.put("unfinished", Index{machines_[0].reason != Reason::tolerance});
        return out;
    }

    /// Prepare SVR for larger bounds. If no coefficient has reached its bound the result is kept; otherwise training
    /// starts again from zero. The result is that of training with `bounds` from the start.
    void raise_bounds(const Array<double>& bounds, bool single) {
        if (kind_ != OneKind::svr) throw std::invalid_argument("only SVR has bounds to raise");
        if (bounds.size() != n_) throw std::invalid_argument("one bound per row expected");
        engine::State& s = state();
        bool endless = false;
        for (Index i = 0; i < s.n(); ++i) {
            if (!(bounds[s.row[i]] >= s.bound(i))) throw std::invalid_argument("bounds must not decrease");
            endless = endless || std::isinf(bounds[s.row[i]]);
        }
        if (!s.bounded && s.reason == Reason::tolerance && !endless)
            return engine::set_box(s, bounds.data(), [](Index) { return 0.0; });
        engine::restart(s, bounds.data());
        s.single = single;
    }
    /// Starting values of the coefficients, by row, before the first step.
    void guess(Index machine, const double* beta, Index n) {
        if (machine != 0 || n != n_) throw std::invalid_argument("a guess names a machine and has one value per row");
        engine::State& s = state();
        if (s.outer > 0) throw std::invalid_argument("a guess comes before the first step");
        sampled_start_ = false;
        Array<double> values;
        for (Index i = 0; i < s.n(); ++i) values.push_back(beta[s.row[i]]);
        engine::guess(s, values);
    }
    /// Continue from coefficients and v, by row, before the first step; see engine::resume.
    void resume(Index machine, const double* beta, const double* v, Index n) {
        if (machine != 0 || n != n_) throw std::invalid_argument("a start names a machine and has one value per row");
        engine::State& s = state();
        if (s.outer > 0 || s.mirrored) throw std::invalid_argument("a start comes before the first step");
        sampled_start_ = false;
        Array<double> values, slopes;
        for (Index i = 0; i < s.n(); ++i) values.push_back(beta[s.row[i]]), slopes.push_back(v[s.row[i]]);
        engine::resume(s, std::move(values), std::move(slopes));
    }
    /// The problem and where the machine stands, for another solver; see handover.hpp.
    Record problem(Index machine) const {
        if (machine != 0) throw std::invalid_argument("no such machine");
        return engine::problem(machines_[0]);
    }
    /// Continue from where another solver stands.
    void adopt(Index machine, engine::Standing found) {
        if (machine != 0) throw std::invalid_argument("no such machine");
        engine::adopt(state(), std::move(found));
        sampled_start_ = false;
    }
    /// v by row, zero for rows that are left out; empty when interrupted, or with two values for each row.
    Array<double> slopes(const RowValues& values, int threads, Interrupt* interrupt) {
        engine::State& s = state();
        if (s.mirrored) return {};
        Array<double> out(n_, 0.0);
        const bool complete = values.visit([&](const auto& v) {
            engine::Workspace<std::decay_t<decltype(v)>> work;
            return engine::complete(s, params, v, Stop{0, interrupt}, threads, work);
        });
        if (!complete) return {};
        for (Index i = 0; i < s.n(); ++i) out[s.row[i]] = s.v[i];
        return out;
    }

  private:
    engine::State& state() { return machines_[0]; }

    /// The first call of a one-class machine. LIBSVM starts with the first points at their bounds, whose sums take as
    /// many kernel values as those of the solution; then nearly all of them leave. Here the solution of a sample comes
    /// first: its coefficients, and outliers by it until the sum is the fixed one. When interrupted before the first
    /// step the state is that of LIBSVM's start, and the next call begins again.
    template <class V>
    void learn_from_sample(const V& values, const Stop& stop, int threads, engine::Workspace<V>& work) {
        engine::State& s = state();
        const Array<double> before = s.beta;
        begin_from_sample(s, values, stop.interrupt, threads, work);
        engine::learn(s, params, values, stop, threads, work);
        sampled_start_ = s.outer == 0 && s.reason == Reason::interrupted;
        if (sampled_start_) s.beta = before, s.stale = true, s.resumed = false;
    }
    template <class V> void begin_from_sample(engine::State& s, const V& values, Interrupt* interrupt, int threads,
                                              engine::Workspace<V>& work) {
        constexpr Index thinning = 4;   // with samples of samples, a third of the kernel values of the solution
        constexpr double fewest = 250;  // support vectors of the sample; fewer make the start slower, not faster
        const double all = std::accumulate(s.upper.begin(), s.upper.end(), 0.0);
        const double support = s.total[0] / all * static_cast<double>(s.n() / thinning);  // about
        if (s.n() < thinning * params.blocks.smallest || !(support >= fewest)) return;
        std::uint64_t random = 0;
        Array<Index> chosen(s.n());
        std::iota(chosen.begin(), chosen.end(), Index{0});
        engine::shuffle_front(chosen, s.n() / thinning, random);
        chosen.resize(s.n() / thinning);
        std::sort(chosen.begin(), chosen.end());
        Array<Index> rows;
        Array<double> bounds(n_, 0.0);
        double part = 0;
        for (const Index i : chosen) {
            rows.push_back(s.row[i]);
            bounds[s.row[i]] = s.upper[i];
            part += s.upper[i];
        }
        engine::State sample = engine::start_one_class(std::move(rows), s.total[0] * (part / all), bounds.data());
        sample.single = s.single;
        begin_from_sample(sample, values, interrupt, threads, work);
        engine::learn(sample, params, values, Stop{std::numeric_limits<Index>::max(), interrupt}, threads, work);
        if (sample.reason == Reason::interrupted) return;
        s.kernel_evals += sample.kernel_evals, s.steps += sample.steps;
        std::fill(s.beta.begin(), s.beta.end(), 0.0);
        for (Index k = 0; k < chosen.size(); ++k) s.beta[chosen[k]] = sample.beta[k];
        s.stale = s.resumed = true;
    }
    Record put_solution() const {
        const engine::State& s = machines_[0];
        Array<double> beta(n_, 0.0);
        for (Index i = 0; i < s.n(); ++i) beta[s.row[i]] += s.beta[i];
        Numeric<Index> support;
        Numeric<double> coefficients;
        for (Index i = 0; i < n_; ++i)
            if (beta[i] != 0) support.values.push_back(i), coefficients.values.push_back(beta[i]);
        const auto count = static_cast<Index>(support.values.size());
        coefficients.shape = shape(1, count);
        const double intercept = kind_ == OneKind::nu_svr ? 0.5 * (s.level[0] + s.level[1]) : s.intercept();
        Record out;
        out.put("row", Numeric<Index>{support.values});
        out.put("support", std::move(support));
        out.put("n_support", Numeric<Index>{{count}});
        out.put("dual_coef", std::move(coefficients));
        out.put("intercept", Numeric<double>{{intercept + 0.0}});  // no negative zero
        return out;
    }

    OneKind kind_;
    bool sampled_start_ = false;  // the next call begins with a sample
    Index n_;
    Array<engine::State> machines_;  // one
};

}  // namespace hingeline
