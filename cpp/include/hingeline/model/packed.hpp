// Packed: support vectors prepared for prediction (norms, compressed copy), and their coefficients. Both are immutable,
// so any number of threads may use them.
#pragma once

#include "hingeline/kernel/expansion.hpp"
#include "hingeline/kernel/landmarks.hpp"
#include "hingeline/model/source.hpp"

namespace hingeline {

/// Coefficients in LIBSVM's layout: `lines` lines over groups of support vectors that follow one another, group g
/// feeding output outputs[g][m] from line m. Without `outputs` there is a group per class, and an output per pair of
/// classes. The coefficients must outlive this.
struct SupportLines {
    Coefficients coefficients;

    SupportLines(const double* coef, Index lines, Index support, const Array<Index>& group_sizes,
                 const Array<Index>& outputs, Array<double> bias) {
        const Index groups = group_sizes.size();
        coefficients.values = coef;
        coefficients.support = support;
        coefficients.bias = std::move(bias);
        const bool pairs = outputs.empty();
        if (pairs && (groups < 2 || lines != groups - 1 || coefficients.outputs() != groups * (groups - 1) / 2))
            throw std::invalid_argument("one group per class and one output per pair of classes expected");
        if (!pairs && outputs.size() != groups * lines)
            throw std::invalid_argument("outputs must have one line per group and one column per line of coefficients");
        Index first = 0;
        for (Index g = 0; g < groups; ++g) {
            Group group{first, group_sizes[g], {}};
            for (Index m = 0; !pairs && m < lines; ++m) {
                const Index o = outputs[g * lines + m];
                if (o < 0 || o >= coefficients.outputs()) throw std::invalid_argument("output number out of range");
                group.outputs.push_back(o);
            }
            if (group.count < 0 || group.count > support - first)
                throw std::invalid_argument("group sizes must add up to the support vectors");
            first += group.count;
            coefficients.groups.push_back(std::move(group));
        }
        if (first != support) throw std::invalid_argument("group sizes must add up to the support vectors");
    }
    SupportLines(const SupportLines&) = delete;
};

/// Weights of the features with a linear kernel: out[o * columns + k] = sum_s coef[o][s] x[s][k], in the order of the
/// support vectors, so that dense rows and CSR rows give the same bits.
inline Array<double> feature_weights(const SupportLines& lines, const AnyRows& support) {
    const Coefficients& c = lines.coefficients;
    if (row_count(support) != c.support) throw std::invalid_argument("one coefficient per support vector expected");
    const Index d = column_count(support);
    Array<double> out(c.outputs() * d, 0.0);
    std::visit(
        [&](const auto& rows) {
            using T = ValueOf<decltype(rows)>;
            Array<T> row(d);
            for (Index g = 0; g < c.groups.size(); ++g)
                for (Index s = c.groups[g].first; s < c.groups[g].first + c.groups[g].count; ++s) {
                    spread(rows, s, row.data());
                    for (Index m = 0; m < c.lines(g); ++m) {
                        const double value = c.values[m * c.support + s];
                        double* to = out.data() + c.output(g, m) * d;
                        for (Index k = 0; value != 0 && k < d; ++k) to[k] += value * static_cast<double>(row[k]);
                    }
                }
        },
        support);
    return out;
}

class Packed {
  public:
    /// Computed kernel values against `support`, which must outlive this.
    Packed(const Kernel& kernel, const AnyRows& support) {
        constexpr std::size_t own_size = std::size_t{1} << 62;  // a compressed copy is smaller than the rows
        std::visit([&](const auto& x) { gram_ = std::make_unique<Gram<ValueOf<decltype(x)>>>(kernel, x, own_size); },
                   support);
        n_ = row_count(support), d_ = column_count(support);
    }
    /// f(rows of x as vectors of kernel values against the support vectors).
    template <class F> decltype(auto) with_rows(const AnyRows& x, F&& f) const {
        require_features(x);
        return std::visit(
            [&](const auto& gram, const auto& rows) -> decltype(auto) {
                return f(KernelRows<typename std::decay_t<decltype(*gram)>::Value>(*gram, rows));
            },
            gram_, x);
    }
    Index size() const { return n_; }
    /// Decision values of rows, one line each: out[i * outputs + o]. False when interrupted.
    bool decide(const SupportLines& lines, const AnyRows& x, int threads, Interrupt* interrupt, double* out) const {
        DecisionMatrix matrix{out, lines.coefficients.outputs()};
        return decide(lines, x, threads, interrupt, matrix);
    }
    template <class Sink>
    bool decide(const SupportLines& lines, const AnyRows& x, int threads, Interrupt* interrupt, Sink& sink) const {
        if (n_ != lines.coefficients.support)
            throw std::invalid_argument("one coefficient per support vector expected");
        require_features(x);
        return std::visit(
            [&](const auto& gram, const auto& rows) {
                using T = typename std::decay_t<decltype(*gram)>::Value;
                using S = ValueOf<decltype(rows)>;
                return hingeline::decide<T>(ComputedTiles<T, S>{*gram, rows}, lines.coefficients, row_count(rows),
                                            threads, interrupt, sink);
            },
            gram_, x);
    }

  private:
    void require_features(const AnyRows& x) const {
        if (d_ != column_count(x)) throw std::invalid_argument("queries and support vectors differ in their features");
    }
    std::variant<std::unique_ptr<Gram<float>>, std::unique_ptr<Gram<double>>> gram_;
    Index n_ = 0, d_ = 0;
};

/// Decision values of some rows of precomputed kernel values: x[rows[i]][columns[s]] for support vector s.
template <class Sink> bool decide_gathered(const SupportLines& lines, const AnyRows& x, Ids rows, Ids columns,
                                           int threads, Interrupt* interrupt, Sink& sink) {
    if (columns.count != lines.coefficients.support)
        throw std::invalid_argument("one column per support vector expected");
    return std::visit(
        [&](const auto& matrix) {
            using T = ValueOf<decltype(matrix)>;
            return decide<T>(GatheredTiles<T>{kernel_matrix(matrix), rows, columns}, lines.coefficients, rows.count,
                             threads, interrupt, sink);
        },
        x);
}

}  // namespace hingeline
