// Numbers for the tests, and their comparison to the bit.
#pragma once

#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "hingeline/kernel/gram.hpp"

namespace hingeline::testing {

using Random = std::mt19937_64;

/// The generators of <random> are the same everywhere, its distributions are not: these are.
inline double uniform(Random& random, double low = 0.0, double high = 1.0) {
    return low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
}
inline Index below(Random& random, Index n) { return static_cast<Index>(random() % static_cast<std::uint64_t>(n)); }

template <class T> bool same_bits(const T* a, const T* b, Index n) {
    return n == 0 || std::memcmp(a, b, static_cast<std::size_t>(n) * sizeof(T)) == 0;
}
template <class T>
    requires std::is_arithmetic_v<T>
bool same_bits(T a, T b) {
    return same_bits(&a, &b, 1);
}
template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && same_bits(a.data(), b.data(), static_cast<Index>(a.size()));
}

/// n by d values in [-1, 1], each zero unless a draw falls below `density`.
template <class T> Array<T> random_values(Random& random, Index n, Index d, double density = 1.0) {
    Array<T> x(n * d, T(0));
    for (T& value : x)
        if (density >= 1.0 || uniform(random) < density) value = static_cast<T>(uniform(random, -1.0, 1.0));
    return x;
}
/// n by d zeros and ones.
template <class T> Array<T> random_ones(Random& random, Index n, Index d, double density) {
    Array<T> x(n * d, T(0));
    for (T& value : x) value = uniform(random) < density ? T(1) : T(0);
    return x;
}

/// One kernel value by its formula.
inline double kernel_value(const Kernel& k, const double* a, const double* b, Index d) {
    double dot = 0, distance = 0;
    for (Index i = 0; i < d; ++i) dot += a[i] * b[i], distance += (a[i] - b[i]) * (a[i] - b[i]);
    if (k.kind == KernelKind::linear) return dot;
    if (k.kind == KernelKind::rbf) return std::exp(-k.gamma * distance);
    if (k.kind == KernelKind::poly) return std::pow(k.gamma * dot + k.coef0, k.degree);
    return std::tanh(k.gamma * dot + k.coef0);
}

template <class T> DenseRows<T> dense_view(const std::vector<T>& x, Index n, Index d) { return {x.data(), n, d, d, 1}; }

/// The entries that differ from zero.
template <class T, class I> OwnedCsr<T, I> to_csr(const std::vector<T>& x, Index n, Index d) {
    OwnedCsr<T, I> out;
    out.d = d;
    out.starts.push_back(0);
    for (Index i = 0; i < n; ++i) {
        for (Index k = 0; k < d; ++k)
            if (const T value = x[i * d + k]; value != T(0)) {
                out.columns.push_back(static_cast<I>(k));
                out.values.push_back(value);
            }
        out.starts.push_back(static_cast<I>(out.columns.size()));
    }
    return out;
}

/// K[queries][base].
template <class T> Array<T> kernel_values(const Gram<T>& gram, Ids queries, Ids base) {
    Array<T> out(queries.count * base.count);
    Scratch<T> scratch;
    for (Index at = 0; at < queries.count; at += gram.block()) {
        Array<Index> rows;
        Array<T*> columns;
        for (Index q = at; q < std::min(at + gram.block(), queries.count); ++q) {
            rows.push_back(queries[q]);
            columns.push_back(out.data() + q * base.count);
        }
        gram.columns(Ids::of(rows), base, columns.data(), scratch);
    }
    return out;
}

/// A source that asks to stop, or fails, at one of its calls.
template <class Source> struct Troubled {
    using Value = typename Source::Value;
    const Source& source;
    Index when;
    bool fails;
    mutable std::atomic<Index> calls{0};
    int block() const { return source.block(); }
    bool columns(Ids queries, Ids base, Value* const* columns, Scratch<Value>& s) const {
        if (++calls == when) {
            if (fails) throw std::runtime_error("trouble");
            return false;
        }
        return source.columns(queries, base, columns, s);
    }
};

}  // namespace hingeline::testing
