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
    }

    static Index n_machines() { return 1; }

    /// Solve up to `most` working sets. Returns whether steps are left.
    bool learn(const RowValues& values, int threads, Index most, Interrupt* interrupt) {
        if (values.size() != n_) throw std::invalid_argument("one target per row of the kernel matrix expected");
        values.visit([&](const auto& v) {
            engine::Workspace<std::decay_t<decltype(v)>> work;
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
        Array<double> values;
        for (Index i = 0; i < s.n(); ++i) values.push_back(beta[s.row[i]]);
        engine::guess(s, values);
    }
    /// Continue from coefficients and v, by row, before the first step; see engine::resume.
    void resume(Index machine, const double* beta, const double* v, Index n) {
        if (machine != 0 || n != n_) throw std::invalid_argument("a start names a machine and has one value per row");
        engine::State& s = state();
        if (s.outer > 0 || s.mirrored) throw std::invalid_argument("a start comes before the first step");
        Array<double> values, slopes;
        for (Index i = 0; i < s.n(); ++i) values.push_back(beta[s.row[i]]), slopes.push_back(v[s.row[i]]);
        engine::resume(s, std::move(values), std::move(slopes));
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
    Index n_;
    Array<engine::State> machines_;  // one
};

}  // namespace hingeline
