// Stochastic-gradient kernel machines: OL SVM, NORMA and Pegaz.
//
// Problem. Binary labels y = +1, -1, kernel K, f(x) = sum_i alpha_i K(x_i, x) + b. NORMA and Pegaz descend on
// 1/2 |w|^2 + C/n sum_i hinge(y_i f(x_i)), OL SVM on the hinge loss alone (olsvm) or towards the optimum of the SVM
// without intercept and with penalty C (olsvm_reg), one example at a time in a fixed order, t = 1, 2, ...
//
// Symbols. eta = C sqrt(2/t) or C/t; o the outputs without b; w_i the weight of an example; v = y_i (o_i + b).
//
//     olsvm        v < 1: alpha_i += eta w_i y_i
//     olsvm_reg    rho = min(1, eta/C); v < 1: alpha_i += rho (C w_i y_i - alpha_i); v > 1: alpha_i -= rho alpha_i
//     norma        phi = max(0, 1 - eta/C): alpha *= phi after v is known (before, with decay_first);
//                  v <= 1: alpha_i += eta w_i y_i
//     olsvm_reg_literal  as olsvm_reg with rho = eta/C, which is sqrt(2) at t = 1
//     norma_literal  the same, but alpha_i itself does not decay, and is overwritten by eta w_i y_i
//     pegaz        alpha = eta beta; v <= 1: beta_i += w_i y_i
//     with intercept  on a violation (v < 1 or v <= 1, as above): b += eta w_i y_i; b does not decay
//
// Paper. Kecman and Melki, Fast online algorithms for support vector machines, SoutheastCon 2016, Lists 1 to 3,
// equations 6 and 7.
//
// Where we differ. (1) Coefficients are sigma * a and outputs sigma * o with one scalar sigma (NORMA: the product of
// the phi; Pegaz: eta), so that a step without violation costs O(1) in all variants. sigma is rescaled by powers of
// two, which is exact. (2) phi and rho are clipped; the example index wraps around. (3) b is not part of o. (4) Columns
// of examples that violate now and are visited soon are computed in one block; the sequence of steps is that of the
// plain algorithm. (5) Coefficients below `truncate` times the largest are removed every `stretch` steps; the sum of
// the removed ones bounds the change of any output, per unit of the largest kernel value. (6) The mean of the
// coefficients over the steps of a window, or over all steps, costs O(1) for each change.
//
// Invariant (streams). Outputs of examples that come later are sums over the expansion in the order of its entries,
// each added by one fused multiply-add: the same bits as updates one by one. So a stream may be divided into calls
// anywhere.
#pragma once

#include "hingeline/algo/kernel_sgd_state.hpp"
#include "hingeline/kernel/columns.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline::kernel_sgd {

namespace detail {

template <class Source> class Loop {
  public:
    using T = typename Source::Value;
    Loop(State& state, Window& window, const Params& p, const Source& source, Interrupt* interrupt, double* margins)
        : s_(state),
          w_(window),
          p_(p),
          interrupt_(interrupt),
          margins_(margins),
          speculation_(source, 0),
          columns_(source, p.cache_bytes, padded(w_.several() ? w_.examples.size() : stretch), interrupt) {
        if (w_.to > w_.from) lay_out();
    }

    /// Make at most `most` steps; false when interrupted.
    bool run(Index most) {
        const Index last = most < w_.total - w_.cursor ? w_.cursor + most : w_.total;
        const Index n = w_.examples.size();
        while (w_.cursor < last) {
            const Index i = w_.cursor % n;
            if ((w_.several() ? w_.to == 0 : i == w_.to) && !open(i)) return false;
            if (w_.cursor % 32 == 0 && interrupt_ && interrupt_->requested()) return false;
            if (!step(i)) return false;
            ++w_.cursor;
            if (s_.t % s_.note_every == 0) note(s_);
        }
        return true;
    }

  private:
    // ---- outputs -------------------------------------------------------------------------------------

    /// Compute the outputs of the examples from i on: of all if they are visited several times, else up to the next
    /// truncation.
    bool open(Index i) {
        const Index n = w_.examples.size();
        const Index from = w_.from, to = w_.to;
        w_.from = i;
        w_.to = w_.several() ? n : std::min(n, i + stretch - s_.t % stretch);
        lay_out();
        w_.o.assign(padded(w_.to - w_.from), 0.0);
        s_.kernel_evals += s_.size() * (w_.to - w_.from);
        const bool whole = columns_.sweep(Ids::of(s_.row), [&](Index first, Index count, const T* const* columns) {
            pass_ops<T>().combine(columns, s_.a.data() + first, count, 0, padded(w_.to - w_.from), w_.o.data());
        });
        if (!whole) w_.from = from, w_.to = to;
        return whole;
    }
    void lay_out() {
        Array<Index> rows;
        for (Index i = w_.from; i < w_.to; ++i) rows.push_back(w_.examples[i].row);
        columns_.lay_out(std::move(rows));
    }
    double output(Index i) const { return s_.sigma * w_.o[i - w_.from] + s_.b; }

    // ---- one step ------------------------------------------------------------------------------------

    bool step(Index i) {
        const Example& e = w_.examples[i];
        const double y = e.y(), weight = std::abs(e.box);
        const Index t = s_.t + 1;
        const double eta = p_.rate(t);
        const Index entry = w_.entry[i];
        // Fetching a column may be interrupted, so it is done before anything changes.
        const double phi = p_.decays() ? std::max(0.0, 1.0 - eta / p_.C) : 1.0;
        const double before = s_.sigma * (entry < 0 ? 0.0 : s_.a[entry]);
        double f = (p_.variant == Variant::pegaz ? eta : s_.sigma) * w_.o[i - w_.from];
        if (p_.decays() && p_.decay_first) f *= phi;
        f += s_.b;
        const double v = y * f;
        const double push = eta * weight * y;
        double change = 0;  // change of alpha_i, apart from the decay of all coefficients
        bool violates = v < 1;
        switch (p_.variant) {
            case Variant::olsvm:
                if (violates) change = push;
                break;
            case Variant::olsvm_reg:
            case Variant::olsvm_reg_literal: {
                const double ratio = eta / p_.C;
                const double rho = p_.variant == Variant::olsvm_reg ? std::min(1.0, ratio) : ratio;
                if (violates)
                    change = rho * (p_.C * weight * y - before);
                else if (v > 1)
                    change = -rho * before;
                break;
            }
            case Variant::norma:
                violates = v <= 1;
                if (violates) change = push;
                break;
            case Variant::norma_literal:
                violates = v <= 1;
                change = (violates ? push : before) - phi * before;
                break;
            case Variant::pegaz:
                violates = v <= 1;
                if (violates) change = push;
                break;
        }
        const T* column = nullptr;
        if (change != 0 && w_.to - w_.from > (w_.several() ? 0 : i - w_.from + 1) && !(column = column_of(i)))
            return false;
        s_.t = t;
        s_.largest = std::max(s_.largest, std::abs(f));
        if (margins_ && w_.cursor < w_.examples.size()) margins_[i] = v;
        if (p_.decays()) decay(phi);
        if (p_.variant == Variant::pegaz) s_.sigma = eta;
        if (change != 0) add(i, p_.variant == Variant::pegaz ? weight * y : change / s_.sigma, column);
        s_.violations += violates;
        if (p_.bias && violates) s_.b += push;
        if (p_.average != Averaging::none) count();
        if (t % stretch == 0) truncate();
        return true;
    }

    /// All coefficients and outputs times phi.
    void decay(double phi) {
        constexpr int exponent = 256;
        if (phi == 0) {
            flush();
            std::fill(s_.a.begin(), s_.a.end(), 0.0);
            std::fill(w_.o.begin(), w_.o.end(), 0.0);
            s_.sigma = s_.flushed = 1;
            s_.dropped = 0;
            return;
        }
        s_.sigma *= phi;
        if (s_.sigma < std::ldexp(s_.flushed, -8)) flush();
        if (s_.sigma < std::ldexp(1.0, -exponent)) {
            flush();
            const double factor = std::ldexp(1.0, -exponent);
            for (double& a : s_.a) a *= factor;
            for (double& o : w_.o) o *= factor;
            s_.dropped *= factor;
            s_.sigma = std::ldexp(s_.sigma, exponent);
            s_.flushed = s_.sigma;
        }
    }
    void add(Index i, double d, const T* column) {
        Index& entry = w_.entry[i];
        if (entry < 0) {
            const Example& e = w_.examples[i];
            entry = s_.size();
            s_.row.push_back(e.row);
            s_.id.push_back(e.id);
            s_.code.push_back(e.code);
            s_.a.push_back(0.0);
            for (Average& mean : s_.averages) mean.held.push_back(0.0);
        }
        s_.a[entry] += d;
        for (Average& mean : s_.averages) mean.held[entry] -= d * mean.scales;
        if (!column) return;
        const Index from = w_.several() ? 0 : (i - w_.from) / pass_step * pass_step;
        pass_ops<T>().combine(&column, &d, 1, from, padded(w_.to - w_.from), w_.o.data());
        if (!w_.several()) columns_.erase(w_.examples[i].row);
    }

    // ---- averages ------------------------------------------------------------------------------------

    void count() {
        for (Average& mean : s_.averages)
            if (s_.t > mean.from) mean.scales += s_.sigma, mean.b += s_.b;
        if (p_.average == Averaging::all) return;
        const bool power = (s_.t & (s_.t - 1)) == 0;
        if (s_.average_from < 0 ? power : s_.t == s_.average_from) {
            if (s_.average_from >= 0) s_.averages.clear();
            s_.averages.push_back({s_.t, 0, 0, Array<double>(s_.a.size(), 0.0)});
            if (s_.averages.size() > 2) s_.averages.erase(s_.averages.begin());
        }
    }
    /// Move the sums of sigma into the sums of the entries, before their last terms become too small beside them.
    void flush() {
        for (Average& mean : s_.averages) {
            for (Index e = 0; e < s_.a.size(); ++e) mean.held[e] += s_.a[e] * mean.scales;
            mean.scales = 0;
        }
        s_.flushed = s_.sigma;
    }

    // ---- truncation ----------------------------------------------------------------------------------

    void truncate() {
        if (p_.average != Averaging::none) return;
        double most = 0;
        for (const double a : s_.a) most = std::max(most, std::abs(a));
        const double least = p_.truncate * most;
        Array<Index> now(s_.a.size(), -1);
        Index kept = 0;
        for (Index e = 0; e < s_.a.size(); ++e) {
            if (s_.a[e] == 0 || std::abs(s_.a[e]) < least) {
                s_.dropped += std::abs(s_.a[e]);
                continue;
            }
            now[e] = kept;
            s_.row[kept] = s_.row[e], s_.id[kept] = s_.id[e], s_.code[kept] = s_.code[e];
            s_.a[kept++] = s_.a[e];
        }
        if (kept == s_.a.size()) return;
        s_.row.resize(kept), s_.id.resize(kept), s_.code.resize(kept), s_.a.resize(kept);
        for (Index& entry : w_.entry)
            if (entry >= 0) entry = now[entry];
    }

    // ---- columns -------------------------------------------------------------------------------------

    /// The column of example i, computed together with those likely to be needed next; null when interrupted.
    const T* column_of(Index i) {
        const Index row = w_.examples[i].row;
        if (const T* held = columns_.find(row)) {
            ++served_;
            return held;
        }
        const Index wanted = std::min(speculation_.next(served_), columns_.room());
        ++served_;
        Array<Index> rows{row};
        const Index left = w_.total - w_.cursor, span = w_.to - w_.from;
        constexpr Index patience = 16;  // examples inspected per column wanted
        const Index reach = std::min({left, w_.several() ? span : w_.to - i, patience * wanted});
        for (Index k = 1; k < reach && rows.size() < wanted; ++k) {
            const Index j = w_.from + (i - w_.from + k) % span;
            if (likely(j) && !columns_.holds(w_.examples[j].row)) rows.push_back(w_.examples[j].row);
        }
        if (!columns_.fetch(rows, [](Index) {})) return nullptr;
        s_.kernel_evals += rows.size() * span;
        return columns_.find(row);
    }
    bool likely(Index j) const {
        if (w_.examples[j].y() * output(j) < 1) return true;
        if (p_.variant == Variant::olsvm || p_.variant == Variant::norma || p_.variant == Variant::pegaz) return false;
        return w_.entry[j] >= 0 && s_.a[w_.entry[j]] != 0;
    }

    State& s_;
    Window& w_;
    const Params& p_;
    Interrupt* interrupt_;
    double* margins_;  // output: y f of each example at its first visit
    Index served_ = 0;
    Speculation speculation_;
    Columns<Source> columns_;
};

}  // namespace detail

/// Begin the means that `p.average` asks for. `half`: over the last half of `steps` steps; 0: a stream, over its last
/// half to three quarters. `all`: over all steps of the machine, also those of later calls.
inline void plan_average(State& s, const Params& p, Index steps) {
    if (p.average == Averaging::none) s.averages.clear();
    s.average_from = steps > 0 ? s.t + steps / 2 : -1;
    const bool now = p.average == Averaging::all ? s.averages.empty() : s.average_from == s.t;
    if (p.average != Averaging::none && now) s.averages = {{s.t, 0, 0, Array<double>(s.a.size(), 0.0)}};
}

/// Take steps until the window is done, the budget of `stop` is spent or an interrupt is requested. The result does not
/// depend on the cache or on how the steps are divided into calls.
template <class Source>
void learn(State& state, Window& window, const Params& p, const Source& source, const Stop& stop, double* margins) {
    if (!window.running()) {
        state.reason = Reason::pass;
        return;
    }
    const Trace::Running clock(state.trace);
    detail::Loop<Source> loop(state, window, p, source, stop.interrupt, margins);
    state.reason = Reason::interrupted;
    if (loop.run(stop.max_steps)) state.reason = window.running() ? Reason::running : Reason::pass;
}

}  // namespace hingeline::kernel_sgd
