// Source: where kernel values come from. They are computed from rows, read from a precomputed matrix, or returned by a
// function. Only this file distinguishes the three.
#pragma once

#include <memory>
#include <optional>

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
    std::optional<Ids> rows{};  // of a precomputed matrix; none: all
    bool computed() const { return from.index() == 0; }
    bool precomputed() const { return from.index() == 1; }
};

/// The dense rows behind precomputed kernel values.
template <class T> const DenseRows<T>& kernel_matrix(const Rows<T>& rows) {
    const auto* dense = std::get_if<0>(&rows);
    if (!dense) throw std::invalid_argument("a precomputed kernel must be dense");
    return *dense;
}
/// Precomputed kernel values of the rows of a source.
template <class T> Gathered<T> gather_values(const Source& source, const Rows<T>& matrix) {
    const DenseRows<T>& dense = kernel_matrix(matrix);
    return {dense, source.rows.value_or(Ids::run(0, dense.n))};
}

/// Kernel values of one of several kinds.
template <class... Kinds> class ValuesOf {
  public:
    /// Between `rows`, which must outlive this, or those of the precomputed matrix. A compressed copy of the rows may
    /// take `copy_bytes`.
    ValuesOf(const Source& source, const AnyRows& rows, std::size_t copy_bytes) {
        if (const auto* kernel = std::get_if<0>(&source.from))
            std::visit([&](const auto& x) { set<Gram<ValueOf<decltype(x)>>>(*kernel, x, copy_bytes); }, rows);
        else if (const auto* matrix = std::get_if<1>(&source.from))
            std::visit([&](const auto& k) { set<Gathered<ValueOf<decltype(k)>>>(gather_values(source, k)); }, *matrix);
        else
            set<Called<double>>(row_count(rows), std::get<2>(source.from));
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
    template <class Kind, class... Args> void set(Args&&... args) {
        if constexpr ((std::is_same_v<Kind, Kinds> || ...))
            values_ = std::make_unique<Kind>(std::forward<Args>(args)...);
        else
            throw std::invalid_argument("this kind of kernel values was left out of the build");
    }
    std::variant<std::unique_ptr<Kinds>...> values_;
};

#if defined(HINGELINE_FEW_KINDS)  // tests of the model layer under sanitizers, which would take minutes to compile
using Values = ValuesOf<Gram<double>, Called<double>>;
#else
using Values = ValuesOf<Gram<float>, Gram<double>, Gathered<float>, Gathered<double>, Called<double>>;
#endif

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
