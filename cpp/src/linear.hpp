// Products of rows with weight vectors and back, for linear machines, and passes over their outputs. In double for rows
// of either precision. Part of tables.cpp: everything has internal linkage (see there).
#pragma once

#include "passes.hpp"

namespace hingeline::HINGELINE_ISA {
namespace {

// ---- one machine ---------------------------------------------------------------------------------

/// Sum of the lanes, in a fixed order.
HL_INLINE double lane_sum(Vec<double> v) {
    double lane[lanes<double>];
    store(lane, v);
    double sum = 0;
    for (int w = 0; w < lanes<double>; ++w) sum += lane[w];
    return sum;
}

template <class T, int Rows> HL_INLINE void dots_of(const T* const* rows, Index d, const double* w, double* out) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    V acc[Rows][2] = {};
    Index j = 0;
    for (; j + 2 * W <= d; j += 2 * W)
        for (int u = 0; u < 2; ++u) {
            const V weight = load<V>(w + j + u * W);
            for (int r = 0; r < Rows; ++r) acc[r][u] = fused(load_double(rows[r] + j + u * W), weight, acc[r][u]);
        }
    for (; j + W <= d; j += W) {
        const V weight = load<V>(w + j);
        for (int r = 0; r < Rows; ++r) acc[r][0] = fused(load_double(rows[r] + j), weight, acc[r][0]);
    }
    double rest[Rows] = {};
    for (; j < d; ++j)
        for (int r = 0; r < Rows; ++r) rest[r] = madd(static_cast<double>(rows[r][j]), w[j], rest[r]);
    for (int r = 0; r < Rows; ++r) out[r] = lane_sum(acc[r][0] + acc[r][1]) + rest[r];
}

template <class T> void line_dots(const T* const* rows, Index n, Index d, const double* w, double* out) {
    constexpr int group = 4;
    Index r = 0;
    for (; r + group <= n; r += group) dots_of<T, group>(rows + r, d, w, out + r);
    for (; r < n; ++r) dots_of<T, 1>(rows + r, d, w, out + r);
}

template <class T, int Rows> HL_INLINE void add_of(const T* const* rows, const double* c, Index d, double* g) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    Index j = 0;
    for (; j + W <= d; j += W) {
        V sum = load<V>(g + j);
        for (int r = 0; r < Rows; ++r) sum = fused(load_double(rows[r] + j), splat<V>(c[r]), sum);
        store(g + j, sum);
    }
    for (; j < d; ++j)
        for (int r = 0; r < Rows; ++r) g[j] = madd(static_cast<double>(rows[r][j]), c[r], g[j]);
}

template <class T> void line_add(const T* const* rows, Index n, Index d, const double* c, double* g) {
    constexpr int group = 8;
    Index r = 0;
    for (; r + group <= n; r += group) add_of<T, group>(rows + r, c + r, d, g);
    for (; r < n; ++r) add_of<T, 1>(rows + r, c + r, d, g);
}

template <class T, class I> void sparse_line_dots(const SparseRow<T, I>* rows, Index n, const double* w, double* out) {
    for (Index r = 0; r < n; ++r) {
        const SparseRow<T, I> row = rows[r];
        double even = 0, odd = 0;  // two chains hide the latency of long rows
        Index j = 0;
        for (; j + 2 <= row.count; j += 2) {
            even = madd(static_cast<double>(row.value[j]), w[row.column[j]], even);
            odd = madd(static_cast<double>(row.value[j + 1]), w[row.column[j + 1]], odd);
        }
        if (j < row.count) even = madd(static_cast<double>(row.value[j]), w[row.column[j]], even);
        out[r] = even + odd;
    }
}

template <class T, class I> void sparse_line_add(const SparseRow<T, I>* rows, Index n, const double* c, double* g) {
    for (Index r = 0; r < n; ++r) {
        const SparseRow<T, I> row = rows[r];
        const double factor = c[r];
        if (factor == 0) continue;
        for (Index j = 0; j < row.count; ++j)
            g[row.column[j]] = madd(static_cast<double>(row.value[j]), factor, g[row.column[j]]);
    }
}

/// A += sum_r h[r] x_r x_r^T, lower triangle by rows of `ld` values.
template <class T, class I>
void sparse_pairs(const SparseRow<T, I>* rows, Index n, const double* h, double* a, Index ld) {
    for (Index r = 0; r < n; ++r) {
        const SparseRow<T, I> row = rows[r];
        if (h[r] == 0) continue;
        for (Index j = 0; j < row.count; ++j) {
            const double factor = h[r] * static_cast<double>(row.value[j]);
            double* to = a + static_cast<Index>(row.column[j]) * ld;
            for (Index k = 0; k <= j; ++k)
                to[row.column[k]] = madd(factor, static_cast<double>(row.value[k]), to[row.column[k]]);
        }
    }
}

// ---- several machines side by side ---------------------------------------------------------------

/// panel[j * NV * W + lane] += sum over `Rows` rows of row[j] * tile[row][lane].
template <int NV, int Rows>
HL_INLINE void tile_add_of(const double* const* rows, const double* tile, Index d, double* panel) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    V c[Rows][NV];
    for (int r = 0; r < Rows; ++r)
        for (int v = 0; v < NV; ++v) c[r][v] = load<V>(tile + (r * NV + v) * W);
    for (Index j = 0; j < d; ++j, panel += NV * W)
        for (int v = 0; v < NV; ++v) {
            V sum = load<V>(panel + v * W);
            for (int r = 0; r < Rows; ++r) sum = fused(splat<V>(rows[r][j]), c[r][v], sum);
            store(panel + v * W, sum);
        }
}

template <int NV> void tile_add_all(const double* const* rows, Index n, Index d, const double* tile, double* panel) {
    constexpr int group = 4;
    constexpr int width = NV * lanes<double>;
    Index r = 0;
    for (; r + group <= n; r += group) tile_add_of<NV, group>(rows + r, tile + r * width, d, panel);
    for (; r < n; ++r) tile_add_of<NV, 1>(rows + r, tile + r * width, d, panel);
}

template <class T, class I, int NV>
void sparse_tile_dots_of(const SparseRow<T, I>* rows, Index n, const double* panel, double* tile) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    for (Index r = 0; r < n; ++r) {
        const SparseRow<T, I> row = rows[r];
        V acc[NV] = {};
        for (Index j = 0; j < row.count; ++j) {
            const V x = splat<V>(static_cast<double>(row.value[j]));
            const double* p = panel + static_cast<Index>(row.column[j]) * (NV * W);
            for (int v = 0; v < NV; ++v) acc[v] = fused(x, load<V>(p + v * W), acc[v]);
        }
        for (int v = 0; v < NV; ++v) store(tile + (r * NV + v) * W, acc[v]);
    }
}

template <class T, class I, int NV>
void sparse_tile_add_of(const SparseRow<T, I>* rows, Index n, const double* tile, double* panel) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    for (Index r = 0; r < n; ++r) {
        const SparseRow<T, I> row = rows[r];
        V c[NV];
        for (int v = 0; v < NV; ++v) c[v] = load<V>(tile + (r * NV + v) * W);
        for (Index j = 0; j < row.count; ++j) {
            const V x = splat<V>(static_cast<double>(row.value[j]));
            double* p = panel + static_cast<Index>(row.column[j]) * (NV * W);
            for (int v = 0; v < NV; ++v) store(p + v * W, fused(x, c[v], load<V>(p + v * W)));
        }
    }
}

/// f with the number of registers as a constant.
template <class F> HL_INLINE void with_vectors(int vectors, F&& f) {
    switch (vectors) {
        case 1:
            return f.template operator()<1>();
#if HINGELINE_VECTOR_BYTES == 64 || defined(__aarch64__)
        case 3:
            return f.template operator()<3>();
        case 4:
            return f.template operator()<4>();
#endif
        default:
            return f.template operator()<2>();
    }
}
void tile_add(const double* const* rows, Index n, Index d, const double* tile, int vectors, double* panel) {
    with_vectors(vectors, [&]<int NV>() { tile_add_all<NV>(rows, n, d, tile, panel); });
}
template <class T, class I>
void sparse_tile_dots(const SparseRow<T, I>* rows, Index n, const double* panel, int vectors, double* tile) {
    with_vectors(vectors, [&]<int NV>() { sparse_tile_dots_of<T, I, NV>(rows, n, panel, tile); });
}
template <class T, class I>
void sparse_tile_add(const SparseRow<T, I>* rows, Index n, const double* tile, int vectors, double* panel) {
    with_vectors(vectors, [&]<int NV>() { sparse_tile_add_of<T, I, NV>(rows, n, tile, panel); });
}

// ---- outputs and margins -------------------------------------------------------------------------

/// Registers or single values: sign and size of a signed weight, the residual xi, and its clipped value. The sign of a
/// folded loss is that of its output.
template <bool Folded, class V> struct Residual {
    V sign, weight, xi, pull;
    HL_INLINE Residual(const Clip& clip, V output, V v) {
        const V label = Folded ? -output : v;
        sign = label > V{} ? splat<V>(1.0) : splat<V>(-1.0);
        weight = Folded ? v : v * sign;
        xi = clip.margin - sign * output;
        pull = smaller(larger(xi, splat<V>(clip.low)), splat<V>(clip.high));
    }
    /// The weight where the loss is curved, 0 elsewhere.
    HL_INLINE V curved(const Clip& clip) const { return xi > clip.low ? (xi < clip.high ? weight : V{}) : V{}; }
    /// The pull, with its sign where the signed weight does not have it.
    HL_INLINE V turned() const { return Folded ? pull * sign : pull; }
};

/// Runs body(V{}, i) over registers, then body(double{}, i) over the remaining values.
template <class F> HL_INLINE void over(Index n, F&& body) {
    Index i = 0;
    for (; i + lanes<double> <= n; i += lanes<double>) body(Vec<double>{}, i);
    if constexpr (lanes<double> > 1)
        for (; i < n; ++i) body(double{}, i);
}
HL_INLINE void add_to(Vec<double>& lanes_, double&, Vec<double> x) { lanes_ += x; }
#if HINGELINE_VECTOR_BYTES > 0
HL_INLINE void add_to(Vec<double>&, double& rest, double x) { rest += x; }
#endif
/// A sum of registers and single values.
struct Sum {
    Vec<double> lanes_{};
    double rest = 0;
    template <class V> HL_INLINE void add(V x) { add_to(lanes_, rest, x); }
    HL_INLINE double value() const { return lane_sum(lanes_) + rest; }
};

/// The terms of MarginSums at one output.
struct Terms {
    Sum loss, pull, weighted, squares, active, hinge;
    template <bool Folded, class V> HL_INLINE void see(const Clip& clip, const Residual<Folded, V>& r) {
        loss.add(r.weight * r.pull * (r.xi - 0.5 * r.pull));
        pull.add(Folded ? r.weight * r.pull * r.xi : r.weight * r.pull);
        weighted.add(r.weight * r.pull * r.sign);
        const V curved = r.curved(clip);
        squares.add(curved * r.xi * r.xi);
        active.add(curved > V{} ? splat<V>(1.0) : V{});
        hinge.add(r.weight * larger(Folded ? r.xi : r.xi + (1.0 - clip.margin), V{}));
    }
    HL_INLINE MarginSums sums() const {
        return {loss.value(), pull.value(), weighted.value(), squares.value(), active.value(), hinge.value()};
    }
};

template <bool Folded>
MarginSums margins_of(const double* y, const double* v, Index n, double offset, const Clip& clip, double* pull) {
    Terms terms;
    over(n, [&](auto kind, Index i) HL_LAMBDA_INLINE {
        using V = decltype(kind);
        const Residual<Folded, V> r(clip, load<V>(y + i) - offset, load<V>(v + i));
        terms.see(clip, r);
        store(pull + i, load<V>(pull + i) + r.weight * r.pull * r.sign);
    });
    return terms.sums();
}

MarginSums margins(const double* y, const double* v, Index n, double offset, const Clip& clip, double* pull) {
    return (clip.folded ? margins_of<true> : margins_of<false>)(y, v, n, offset, clip, pull);
}

template <bool Folded>
void weights_of(const double* y, const double* v, Index n, double offset, const Clip& clip, double* h) {
    over(n, [&](auto kind, Index i) HL_LAMBDA_INLINE {
        using V = decltype(kind);
        store(h + i, Residual<Folded, V>(clip, load<V>(y + i) - offset, load<V>(v + i)).curved(clip));
    });
}

void weights(const double* y, const double* v, Index n, double offset, const Clip& clip, double* h) {
    (clip.folded ? weights_of<true> : weights_of<false>)(y, v, n, offset, clip, h);
}

HL_INLINE void most_of(Vec<double>& lanes_, double&, Vec<double> x) { lanes_ = larger(lanes_, x); }
#if HINGELINE_VECTOR_BYTES > 0
HL_INLINE void most_of(Vec<double>&, double& rest, double x) { rest = larger(rest, x); }
#endif

template <bool Folded> double violation_of(const double* y, const double* made, const double* v, Index n,
                                           const double* offsets, const Clip& clip, double margin, double curved) {
    Vec<double> most{};
    double rest = 0;
    over(n, [&](auto kind, Index i) HL_LAMBDA_INLINE {
        using V = decltype(kind);
        const V weight = load<V>(v + i);
        const Residual<Folded, V> r(clip, load<V>(y + i) - offsets[0], weight);
        const V there = load<V>(made + i) - offsets[1];
        const V g = r.sign * there + curved * r.pull - margin;
        const V inside = magnitude(g), below = Folded ? magnitude(there) + margin : -g;
        const V bad = r.pull > clip.low ? (r.pull < clip.high ? inside : g) : below;
        most_of(most, rest, r.weight > V{} ? bad : V{});
    });
    double lane[lanes<double>];
    store(lane, most);
    for (int w = 0; w < lanes<double>; ++w) rest = larger(rest, lane[w]);
    return rest;
}

double violation(const double* y, const double* made, const double* v, Index n, const double* offsets, const Clip& clip,
                 double margin, double curved) {
    return (clip.folded ? violation_of<true> : violation_of<false>)(y, made, v, n, offsets, clip, margin, curved);
}

template <bool Folded> Slope slope_of(const double* y, const double* target, const double* v, Index n, double offset,
                                      double target_offset, const Clip& clip, double delta) {
    Sum first, second;
    over(n, [&](auto kind, Index i) HL_LAMBDA_INLINE {
        using V = decltype(kind);
        const V from = load<V>(y + i) - offset;
        const V change = (load<V>(target + i) - target_offset) - from;
        const Residual<Folded, V> r(clip, from + delta * change, load<V>(v + i));
        first.add(r.weight * r.pull * r.sign * change);
        second.add(r.curved(clip) * change * change);
    });
    return {-first.value(), second.value()};
}

Slope slope(const double* y, const double* target, const double* v, Index n, double offset, double target_offset,
            const Clip& clip, double delta) {
    return (clip.folded ? slope_of<true> : slope_of<false>)(y, target, v, n, offset, target_offset, clip, delta);
}

template <bool Folded> MarginSums shift_of(const double* y, const double* target, const double* moved, const double* v,
                                           Index n, const double* offsets, const Clip& clip, double delta, double* bend,
                                           double* turn) {
    Terms terms;
    over(n, [&](auto kind, Index i) HL_LAMBDA_INLINE {
        using V = decltype(kind);
        const V weight = load<V>(v + i);
        const Residual<Folded, V> before(clip, load<V>(y + i) - offsets[0], weight);
        const Residual<Folded, V> ahead(clip, load<V>(target + i) - offsets[1], weight);
        const Residual<Folded, V> now(clip, load<V>(moved + i) - offsets[2], weight);
        terms.see(clip, now);
        const V was = before.curved(clip), is = now.curved(clip), will = ahead.curved(clip);
        // Within one piece of the loss the pull is linear in the step; elsewhere the line between its ends is off.
        const V straight = before.turned() + delta * (ahead.turned() - before.turned());
        const V off = weight * (now.turned() - straight);
        auto same = (was == will) & (was == is) & (was > V{});  // the step may lead beyond the target
        if (Folded && clip.margin != 0) same &= (before.sign == ahead.sign) & (before.sign == now.sign);
        store(bend + i, load<V>(bend + i) + (same ? V{} : off));
        store(turn + i, load<V>(turn + i) + (is - was));
    });
    return terms.sums();
}
MarginSums shift(const double* y, const double* target, const double* moved, const double* v, Index n,
                 const double* offsets, const Clip& clip, double delta, double* bend, double* turn) {
    const auto of = clip.folded ? shift_of<true> : shift_of<false>;
    return of(y, target, moved, v, n, offsets, clip, delta, bend, turn);
}

}  // namespace
}  // namespace hingeline::HINGELINE_ISA
