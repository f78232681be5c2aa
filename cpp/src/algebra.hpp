// Sums of rows, and symmetric matrices stored as the rows of their lower triangle: where exact methods spend their
// time. Part of tables.cpp: everything has internal linkage (see there).
#pragma once

#include "passes.hpp"

namespace hingeline::HINGELINE_ISA {
namespace {

/// Add one group of rows to a stretch of sums, and prefetch the stretch of the next group. With `a`, also add the
/// products of the rows with it to `products`.
template <class T, int Count, bool Products> HL_INLINE void add_rows(const T* const* rows, const double* w,
                                                                     const T* const* next, Index from, Index to,
                                                                     double* sums, const double* a, double* products) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    constexpr Index line = 64 / sizeof(T);
    V product[Count] = {};
    for (Index i = from; i < to; i += W) {
        if (next && i % line == 0)
            for (int r = 0; r < Count; ++r) {
#if defined(__GNUC__) || defined(__clang__)
                __builtin_prefetch(next[r] + i);
#endif
            }
        V sum = load<V>(sums + i);
        for (int r = 0; r < Count; ++r) {
            const V x = load_double(rows[r] + i);
            sum = fused(x, splat<V>(w[r]), sum);
            if constexpr (Products) product[r] = fused(x, load<V>(a + i), product[r]);
        }
        store(sums + i, sum);
    }
    if constexpr (Products)
        for (int r = 0; r < Count; ++r) {
            double lane[W];
            store(lane, product[r]);
            for (int k = 0; k < W; ++k) products[r] += lane[k];
        }
}

template <class T, bool Products> HL_INLINE void combine_all(const T* const* rows, const double* weights, Index count,
                                                             Index from, Index to, double* sums, const double* a,
                                                             double* products) {
    constexpr int group = 4;
    constexpr Index stretch = 1024;  // sums that stay in the L1 cache while all rows are read
    for (Index at = from; at < to; at += stretch) {
        const Index end = to - at < stretch ? to : at + stretch;
        const auto products_of = [&](Index r) { return Products ? products + r : nullptr; };
        Index r = 0;
        for (; r + group <= count; r += group)
            add_rows<T, group, Products>(rows + r, weights + r, r + 2 * group <= count ? rows + r + group : nullptr, at,
                                         end, sums, a, products_of(r));
        for (; r < count; ++r)
            add_rows<T, 1, Products>(rows + r, weights + r, nullptr, at, end, sums, a, products_of(r));
    }
}

template <class T>
void combine(const T* const* rows, const double* weights, Index count, Index from, Index to, double* sums) {
    combine_all<T, false>(rows, weights, count, from, to, sums, nullptr, nullptr);
}

template <class T> void combine_and_inner(const T* const* rows, const double* weights, Index count, Index n,
                                          double* sums, const double* a, double* products) {
    for (Index r = 0; r < count; ++r) products[r] = 0;
    combine_all<T, true>(rows, weights, count, 0, n, sums, a, products);
}

template <class T> double inner(const T* k, const double* a, Index n) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    V sum[pass_group] = {};
    for (Index i = 0; i < n; i += pass_group * W)
        for (int u = 0; u < pass_group; ++u) {
            if (u % line_registers<T> == 0) fetch_ahead(k + i + u * W);
            sum[u] = fused(load_double(k + i + u * W), load<V>(a + i + u * W), sum[u]);
        }
    return total<double>(sum);
}

void packed_multiply(const double* a, Index m, const double* x, double* y) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    for (Index i = 0; i < m; ++i) y[i] = 0;
    for (Index i = 0; i < m; ++i) {
        const double* row = a + i * (i + 1) / 2;
        const double factor = x[i];
        V sum[2] = {};
        Index j = 0;
        for (; j + 2 * W <= i; j += 2 * W)
            for (int u = 0; u < 2; ++u) {
                const V v = load<V>(row + j + u * W);
                sum[u] = fused(v, load<V>(x + j + u * W), sum[u]);
                store(y + j + u * W, fused(v, splat<V>(factor), load<V>(y + j + u * W)));
            }
        double lane[W], rest = row[i] * factor;
        store(lane, sum[0] + sum[1]);
        for (; j < i; ++j) {
            rest = madd(row[j], x[j], rest);
            y[j] = madd(row[j], factor, y[j]);
        }
        for (int w = 0; w < W; ++w) rest += lane[w];
        y[i] += rest;
    }
}

template <int Count>
HL_INLINE void add_products(double* row, Index end, const double* factors, const double* const* b) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    Index j = 0;
    for (; j + W <= end; j += W) {
        V sum = load<V>(row + j);
        for (int r = 0; r < Count; ++r) sum = fused(load<V>(b[r] + j), splat<V>(factors[r]), sum);
        store(row + j, sum);
    }
    for (; j < end; ++j)
        for (int r = 0; r < Count; ++r) row[j] = madd(b[r][j], factors[r], row[j]);
}

void packed_update(double* a, Index m, double scale, const double* const* b, Index count) {
    constexpr int group = 4;  // vectors to one pass over the matrix
    double factors[group];
    for (Index r = 0; r < count; r += group) {
        const int some = static_cast<int>(count - r < group ? count - r : group);
        for (Index i = 0; i < m; ++i) {
            double* row = a + i * (i + 1) / 2;
            for (int k = 0; k < some; ++k) factors[k] = scale * b[r + k][i];
            if (some == group)
                add_products<group>(row, i + 1, factors, b + r);
            else
                for (int k = 0; k < some; ++k) add_products<1>(row, i + 1, factors + k, b + r + k);
        }
    }
}

}  // namespace
}  // namespace hingeline::HINGELINE_ISA
