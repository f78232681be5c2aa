// Stochastic-gradient kernel machines: OL SVM, NORMA and Pegaz.
//
// Problem. Binary labels y = +1, -1, kernel K, f(x) = sum_i alpha_i K(x_i, x) + b. NORMA and Pegaz descend on
// 1/2 |w|^2 + C/n sum_i hinge(y_i f(x_i)), OL SVM on the hinge alone (olsvm) or towards the optimum of the SVM without
// bias and with penalty C (olsvm_reg), one example at a time in a fixed order, t = 1, 2, ...
//
// Symbols. eta = C sqrt(2/t) or C/t; o the outputs without b; w_i the weight of an example; v = y_i (o_i + b).
//
//     olsvm        v < 1: alpha_i += eta w_i y_i
//     olsvm_reg    rho = min(1, eta/C); v < 1: alpha_i += rho (C w_i y_i - alpha_i); v > 1: alpha_i -= rho alpha_i
//     norma        phi = max(0, 1 - eta/C): alpha *= phi after v is known (before, with decay_first);
//                  v <= 1: alpha_i += eta w_i y_i
//     norma_literal  the same, but alpha_i itself does not decay, and is overwritten by eta w_i y_i
//     pegaz        alpha = eta beta; v <= 1: beta_i += w_i y_i
//     with bias (olsvm, olsvm_reg)  v < 1: b += eta w_i y_i
//
// Paper: Kecman and Melki, Fast online algorithms for support vector machines, SoutheastCon 2016, Lists 1 to 3.
//
// Where we differ. (1) Coefficients are sigma * a and outputs sigma * o with one scalar sigma (NORMA: the product of
// the phi; Pegaz: eta), so that a step without violation costs O(1) in all rules. sigma is brought back by powers of
// two, which round nothing. (2) phi and rho are clipped; the index wraps round. (3) b stays out of o. (4) Columns of
// examples that violate now and whose turn comes soon are computed in one block; the sequence of steps is that of the
// plain algorithm. (5) Coefficients below `truncate` times the largest go every `stretch` steps; the sum of what went
// bounds the change of any output, per unit of the largest kernel value. (6) The mean of the coefficients over the
// steps of a window costs O(1) for each change.
//
// Streams. Outputs of examples that come later are sums over the expansion in the order of its entries, each added by
// one fused multiply-add: the sums that updates one by one would have given. So a stream may be cut anywhere.
#pragma once

#include <array>
#include <cmath>

#include "hingeline/algo/example.hpp"
#include "hingeline/core/large.hpp"
#include "hingeline/kernel/columns.hpp"
#include "hingeline/run/stop.hpp"
#include "hingeline/run/trace.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline::kernel_sgd {

using online::Example;

enum class Rule { olsvm, olsvm_reg, norma, norma_literal, pegaz };

struct Params {
    Rule rule = Rule::olsvm;
    double C = 1.0;
    bool inverse = false;  // eta = C/t
    bool decay_first = false;
    bool bias = false;
    bool average = false;
    double truncate = 0;
    std::size_t cache_bytes = std::size_t{200} << 20;

    double rate(Index t) const {
        return inverse ? C / static_cast<double>(t) : C * std::sqrt(2.0 / static_cast<double>(t));
    }
    bool decays() const { return rule == Rule::norma || rule == Rule::norma_literal; }
};

/// Steps between truncations; outputs of a stream's examples are computed for as many at a time.
inline constexpr Index stretch = 1024;

/// Sums of coefficients over the steps after `from`: held + a * scales, entry by entry.
struct Average {
    Index from = 0;
    double scales = 0;  // sum of sigma since held was last brought up to date
    double b = 0;
    Array<double> held;
};

struct State {
    Array<Index> row, id, code;
    Array<double> a;  // coefficients over sigma, in the order in which examples entered
    double sigma = 1, b = 0;
    double flushed = 1;  // sigma when averages were brought up to date
    double dropped = 0;  // sum of |a| that was truncated
    double largest = 0;  // largest |f| of an example when it came
    Index t = 0, violations = 0, kernel_evals = 0;
    Index note_every = 16;      // steps between rows of the trace
    Index average_from = -1;    // where the last half of a fit begins; -1: windows start at powers of two
    Array<Average> averages{};  // the older first
    Reason reason = Reason::running;
    Trace trace{
        {"step", true}, {"seconds", false}, {"n_support", true}, {"n_violations", true}, {"kernel_evals", true}};

    Index size() const { return row.size(); }
    Index n_support() const {
        return static_cast<Index>(std::count_if(a.begin(), a.end(), [](double x) { return x != 0; }));
    }
    /// Coefficients to predict with, and the constant.
    Array<double> coefficients(double& constant) const {
        Array<double> out(a.size());
        constant = b;
        if (averages.empty() || averages.front().from >= t) {
            for (Index s = 0; s < a.size(); ++s) out[s] = sigma * a[s];
            return out;
        }
        const Average& mean = averages.front();
        const double steps = static_cast<double>(t - mean.from);
        for (Index s = 0; s < a.size(); ++s) out[s] = (mean.held[s] + a[s] * mean.scales) / steps;
        constant = mean.b / steps;
        return out;
    }
};

/// A row of the trace, of which there are never many.
inline void note(State& s) {
    s.trace.add({static_cast<double>(s.t), static_cast<double>(s.n_support()), static_cast<double>(s.violations),
                 static_cast<double>(s.kernel_evals)});
    if (s.trace.size() < 512) return;
    s.trace.thin();
    s.note_every *= 2;
}

/// What would have been learnt with all labels turned round.
inline State mirrored(State s) {
    for (double& a : s.a) a = -a;
    s.b = -s.b;
    for (Average& mean : s.averages) {
        for (double& held : mean.held) held = -held;
        mean.b = -mean.b;
    }
    return s;
}

/// Examples being learnt from, `epochs` times, and how far that has come.
struct Window {
    Array<Example> examples;
    Index total = 0, cursor = 0;  // steps, and those made
    Index from = 0, to = 0;       // outputs are known for these examples
    Large<double> o;              // over sigma
    Array<Index> entry;           // of an example in the expansion; -1: none

    Window() = default;
    Window(Array<Example> of, Index epochs) : examples(std::move(of)), total(epochs * examples.size()) {
        entry.assign(examples.size(), -1);
    }
    bool several() const { return total > examples.size(); }
    bool running() const { return cursor < total; }
};

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

    /// Make up to `most` steps; false when interrupted.
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

    /// Outputs of the examples from i on: of all when they are seen several times, else up to the next truncation.
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
        // Whether there is a column to be added is known before anything changes: fetching it may be interrupted.
        const double phi = p_.decays() ? std::max(0.0, 1.0 - eta / p_.C) : 1.0;
        const double before = s_.sigma * (entry < 0 ? 0.0 : s_.a[entry]);
        double f = output(i);
        if (p_.rule == Rule::pegaz) f = eta * w_.o[i - w_.from];
        if (p_.decays() && p_.decay_first) f *= phi;
        const double v = y * f;
        const double push = eta * weight * y;
        double change = 0;  // of alpha_i, beside the decay of all
        bool violates = v < 1;
        switch (p_.rule) {
            case Rule::olsvm:
                if (violates) change = push;
                break;
            case Rule::olsvm_reg: {
                const double rho = std::min(1.0, eta / p_.C);
                if (violates)
                    change = rho * (p_.C * weight * y - before);
                else if (v > 1)
                    change = -rho * before;
                break;
            }
            case Rule::norma:
                violates = v <= 1;
                if (violates) change = push;
                break;
            case Rule::norma_literal:
                violates = v <= 1;
                change = (violates ? push : before) - phi * before;
                break;
            case Rule::pegaz:
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
        if (p_.rule == Rule::pegaz) s_.sigma = eta;
        if (change != 0) add(i, p_.rule == Rule::pegaz ? weight * y : change / s_.sigma, column);
        s_.violations += violates;
        if (p_.bias && violates) s_.b += push;
        if (p_.average) count();
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
        const bool power = (s_.t & (s_.t - 1)) == 0;
        for (Average& mean : s_.averages)
            if (s_.t > mean.from) mean.scales += s_.sigma, mean.b += s_.b;
        if (s_.average_from < 0 ? power : s_.t == s_.average_from) {
            if (s_.average_from >= 0) s_.averages.clear();
            s_.averages.push_back({s_.t, 0, 0, Array<double>(s_.a.size(), 0.0)});
            if (s_.averages.size() > 2) s_.averages.erase(s_.averages.begin());
        }
    }
    /// The sums of sigma become large beside their last terms: put them into the sums of the entries.
    void flush() {
        for (Average& mean : s_.averages) {
            for (Index e = 0; e < s_.a.size(); ++e) mean.held[e] += s_.a[e] * mean.scales;
            mean.scales = 0;
        }
        s_.flushed = s_.sigma;
    }

    // ---- truncation ----------------------------------------------------------------------------------

    void truncate() {
        if (p_.average) return;
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

    /// The column of example i, with those of examples that seem to be next; null when interrupted.
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
        constexpr Index patience = 16;  // examples to look at for each column wanted
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
        if (p_.rule != Rule::olsvm_reg && p_.rule != Rule::norma_literal) return false;
        return w_.entry[j] >= 0 && s_.a[w_.entry[j]] != 0;
    }

    State& s_;
    Window& w_;
    const Params& p_;
    Interrupt* interrupt_;
    double* margins_;  // of examples when they come for the first time, by their place in the window
    Index served_ = 0;
    Speculation speculation_;
    Columns<Source> columns_;
};

}  // namespace detail

/// The mean of the coefficients will be that over the last half of `steps` steps; 0: of a stream, over its last half to
/// three quarters.
inline void plan_average(State& s, const Params& p, Index steps) {
    if (!p.average) s.averages.clear();
    s.average_from = steps > 0 ? s.t + steps / 2 : -1;
    if (p.average && s.average_from == s.t) s.averages = {{s.t, 0, 0, Array<double>(s.a.size(), 0.0)}};
}

/// Go on until the window is through, `stop` says so or someone interrupts. The result does not depend on the cache nor
/// on how the steps are split over calls.
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
