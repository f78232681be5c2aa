// Source: where kernel values come from. They are computed from rows, read from a precomputed matrix, or returned by a
// function. Only this file distinguishes the three.
#pragma once

#include <memory>

#include "hingeline/kernel/gram.hpp"

namespace hingeline {

/// Rows of either precision.
using AnyRows = std::variant<Rows<float>, Rows<double>>;

inline Index row_count(const AnyRows& rows) {
    return std::visit([](const auto& x) { return row_count(x); }, rows);
}
inline Index column_count(const AnyRows& rows) {
    return std::visit([](const auto& x) { return column_count(x); }, rows);
}

/// Precision of the rows.
template <class R> using ValueOf =
    std::remove_const_t<std::remove_pointer_t<decltype(std::variant_alternative_t<0, std::decay_t<R>>::data)>>;

struct Source {
    std::variant<Kernel, AnyRows, Called<double>::Function> from;
    bool computed() const { return from.index() == 0; }
    bool precomputed() const { return from.index() == 1; }
};

/// The dense rows behind precomputed kernel values.
template <class T> const DenseRows<T>& kernel_matrix(const Rows<T>& rows) {
    const auto* dense = std::get_if<0>(&rows);
    if (!dense) throw std::invalid_argument("a precomputed kernel must be dense");
    return *dense;
}

/// Kernel values between rows, or between the rows of a precomputed matrix.
class Values {
  public:
    /// `rows` must outlive this. A compressed copy of them may take `copy_bytes`.
    Values(const Source& source, const AnyRows& rows, std::size_t copy_bytes) {
        if (const auto* kernel = std::get_if<0>(&source.from))
            std::visit(
                [&](const auto& x) { values_ = std::make_unique<Gram<ValueOf<decltype(x)>>>(*kernel, x, copy_bytes); },
                rows);
        else if (const auto* matrix = std::get_if<1>(&source.from))
            std::visit(
                [&](const auto& k) {
                    using T = ValueOf<decltype(k)>;
                    values_ = std::make_unique<Gathered<T>>(kernel_matrix(k));
                },
                *matrix);
        else
            values_ = std::make_unique<Called<double>>(row_count(rows), std::get<2>(source.from));
    }
    /// f(kernel values) with their own type.
    template <class F> decltype(auto) visit(F&& f) const {
        return std::visit([&](const auto& v) -> decltype(auto) { return f(*v); }, values_);
    }
    Index size() const {
        return visit([](const auto& v) { return v.size(); });
    }
    /// Bytes of copies of the rows.
    std::size_t copy_bytes() const {
        return visit([](const auto& v) -> std::size_t {
            if constexpr (requires { v.copy_bytes(); })
                return static_cast<std::size_t>(v.copy_bytes());
            else
                return 0;
        });
    }

  private:
    std::variant<std::unique_ptr<Gram<float>>, std::unique_ptr<Gram<double>>, std::unique_ptr<Gathered<float>>,
                 std::unique_ptr<Gathered<double>>, std::unique_ptr<Called<double>>>
        values_;
};

/// f(kernel values between `rows` with squared norms `norms`), in double; not for precomputed kernels.
template <class F> void with_values(const Source& source, const Rows<double>& rows, const Wiped<double>& norms, F&& f) {
    if (const auto* kernel = std::get_if<0>(&source.from))
        f(Gram<double>(*kernel, rows, norms));
    else if (source.precomputed())
        throw std::invalid_argument("points that come and go need rows: a precomputed kernel has none");
    else
        f(Called<double>(row_count(rows), std::get<2>(source.from)));
}

}  // namespace hingeline
