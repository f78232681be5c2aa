// Tiles of dot products and kernel values; see vector/tiles.hpp for the layout and the law of the same bits. Part of
// tables.cpp: everything has internal linkage (see there).
#pragma once

#include "simd.hpp"

#define HINGELINE_MAPS
#include "hingeline/vector/kernels.hpp"

namespace hingeline::HINGELINE_ISA {
namespace {

// Register tile: height x vectors accumulators; 24 of 32 registers, or 12 of 16.
#if HINGELINE_VECTOR_BYTES == 64 || defined(__aarch64__)
constexpr int max_vectors = 4;
#else
constexpr int max_vectors = 2;
#endif
constexpr int tile_height = strip_rows;
constexpr int map_group = 8;  // registers mapped in lockstep: one alone would wait for its own chain
static_assert(tile_rows % row_step == 0 && row_step % tile_height == 0);
static_assert(row_step % map_group == 0);
// Features per pass: the slice of a panel (4 registers x 512 features, 128 KiB) stays in the second-level cache.
constexpr Index feature_block = 512;

// ---- dense tiles ---------------------------------------------------------------------------------

/// Add features [from, to) of `tile_height` rows to their dot products in the tile.
template <class T, int NV>
HL_INLINE void dense_strip(const T* panel, Index from, Index to, const T* const* rows, T* tile) {
    using V = Vec<T>;
    constexpr int W = lanes<T>;
    V acc[tile_height][NV];
    for (int r = 0; r < tile_height; ++r)
        for (int v = 0; v < NV; ++v) acc[r][v] = from == 0 ? V{} : load<V>(tile + (r * NV + v) * W);
    const T* row[tile_height];
    for (int r = 0; r < tile_height; ++r) row[r] = rows[r];
    const T* p = panel + from * (NV * W);
    for (Index k = from; k < to; ++k, p += NV * W) {
        V query[NV];
        for (int v = 0; v < NV; ++v) query[v] = load<V>(p + v * W);
        for (int r = 0; r < tile_height; ++r) {
            const V x = splat<V>(row[r][k]);
            for (int v = 0; v < NV; ++v) acc[r][v] = fused(x, query[v], acc[r][v]);
        }
    }
    for (int r = 0; r < tile_height; ++r)
        for (int v = 0; v < NV; ++v) store(tile + (r * NV + v) * W, acc[r][v]);
}

template <class T, int NV> void dense_dots(const T* panel, Index d, const T* const* rows, int row_count, T* tile) {
    Index from = 0;
    do {
        const Index to = d - from > feature_block ? from + feature_block : d;
        for (int r = 0; r < row_count; r += tile_height)
            dense_strip<T, NV>(panel, from, to, rows + r, tile + r * NV * lanes<T>);
        from = to;
    } while (from < d);
}

template <class T> void dense(const T* panel, int vectors, Index d, const T* const* rows, int row_count, T* tile) {
    switch (vectors) {
        case 1:
            dense_dots<T, 1>(panel, d, rows, row_count, tile);
            break;
#if HINGELINE_VECTOR_BYTES == 64 || defined(__aarch64__)
        case 3:
            dense_dots<T, 3>(panel, d, rows, row_count, tile);
            break;
        case 4:
            dense_dots<T, 4>(panel, d, rows, row_count, tile);
            break;
#endif
        default:
            dense_dots<T, 2>(panel, d, rows, row_count, tile);
    }
}

// ---- sparse tiles --------------------------------------------------------------------------------

template <class T, class I, int NV, bool Slots>
void sparse_dots(const T* panel, const std::int32_t* slot, const SparseRow<T, I>* rows, int row_count, T* tile) {
    using V = Vec<T>;
    constexpr int W = lanes<T>;
    for (int r = 0; r < row_count; ++r) {
        const SparseRow<T, I> row = rows[r];
        V acc[NV] = {};
        for (Index j = 0; j < row.count; ++j) {
            const Index line = Slots ? static_cast<Index>(slot[row.column[j]]) : static_cast<Index>(row.column[j]);
            const V x = splat<V>(row.value[j]);
            const T* p = panel + line * (NV * W);
            for (int v = 0; v < NV; ++v) acc[v] = fused(x, load<V>(p + v * W), acc[v]);
        }
        for (int v = 0; v < NV; ++v) store(tile + (r * NV + v) * W, acc[v]);
    }
}

template <class T, class I, int NV>
void sparse_dots(const T* panel, const std::int32_t* slot, const SparseRow<T, I>* rows, int row_count, T* tile) {
    if (slot)
        sparse_dots<T, I, NV, true>(panel, slot, rows, row_count, tile);
    else
        sparse_dots<T, I, NV, false>(panel, slot, rows, row_count, tile);
}

template <class T, class I> void sparse(const T* panel, int vectors, const std::int32_t* slot,
                                        const SparseRow<T, I>* rows, int row_count, T* tile) {
    switch (vectors) {
        case 1:
            sparse_dots<T, I, 1>(panel, slot, rows, row_count, tile);
            break;
#if HINGELINE_VECTOR_BYTES == 64 || defined(__aarch64__)
        case 3:
            sparse_dots<T, I, 3>(panel, slot, rows, row_count, tile);
            break;
        case 4:
            sparse_dots<T, I, 4>(panel, slot, rows, row_count, tile);
            break;
#endif
        default:
            sparse_dots<T, I, 2>(panel, slot, rows, row_count, tile);
    }
}

// ---- one query -----------------------------------------------------------------------------------

template <class T, class I> void sparse_one(const T* query, const SparseRow<T, I>* rows, Index row_count, T* dots) {
    for (Index r = 0; r < row_count; ++r) {
        const SparseRow<T, I> row = rows[r];
        T sum = 0;
        for (Index j = 0; j < row.count; ++j) sum = madd(row.value[j], query[row.column[j]], sum);
        dots[r] = sum;
    }
}

HL_INLINE int bits_in(std::uint64_t x) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_popcountll(x);
#else
    int count = 0;
    for (; x; x &= x - 1) ++count;
    return count;
#endif
}

template <class T> void bits_one(const std::uint64_t* query, Index words, const std::uint64_t* rows, const Index* list,
                                 Index row_count, T* dots) {
    if (words == 2) {
        for (Index r = 0; r < row_count; ++r) {
            const std::uint64_t* row = rows + list[r] * 2;
            dots[r] = static_cast<T>(bits_in(row[0] & query[0]) + bits_in(row[1] & query[1]));
        }
        return;
    }
    for (Index r = 0; r < row_count; ++r) {
        const std::uint64_t* row = rows + list[r] * words;
        int count = 0;
        for (Index w = 0; w < words; ++w) count += bits_in(row[w] & query[w]);
        dots[r] = static_cast<T>(count);
    }
}

// ---- norms ---------------------------------------------------------------------------------------

template <class T> void norms(const T* const* rows, int row_count, Index d, T* out) {
    constexpr int group = 8;  // independent chains hide the latency of the additions
    int r = 0;
    for (; r + group <= row_count; r += group) {
        T sum[group] = {};
        for (Index k = 0; k < d; ++k)
            for (int i = 0; i < group; ++i) sum[i] = madd(rows[r + i][k], rows[r + i][k], sum[i]);
        for (int i = 0; i < group; ++i) out[r + i] = sum[i];
    }
    for (; r < row_count; ++r) {
        T sum = 0;
        for (Index k = 0; k < d; ++k) sum = madd(rows[r][k], rows[r][k], sum);
        out[r] = sum;
    }
}

// ---- from dot products to kernel values ----------------------------------------------------------

/// As they lie: out[r][at + lane].
template <class T, class Map> void map_rows(const Map map, const T* tile, int vectors, int row_count,
                                            const T* row_norms, const T* panel_norms, T* const* out, Index at) {
    using V = Vec<T>;
    constexpr int W = lanes<T>;
    for (int r = 0; r < row_count; r += map_group)
        for (int v = 0; v < vectors; ++v) {
            const V query_norms = load<V>(panel_norms + v * W);
            V x[map_group], norms[map_group];
            for (int i = 0; i < map_group; ++i) {
                x[i] = load<V>(tile + ((r + i) * vectors + v) * W);
                norms[i] = row_norms[r + i] + query_norms;
            }
            map(x, norms);
            for (int i = 0; i < map_group && r + i < row_count; ++i) store(out[r + i] + at + v * W, x[i]);
        }
}

/// Transposed: columns[q][at + r].
template <class T, class Map> void map_columns(const Map map, const T* tile, int vectors, int row_count, int queries,
                                               const T* row_norms, const T* panel_norms, T* const* columns, Index at) {
    using V = Vec<T>;
    constexpr int W = lanes<T>;
    constexpr int group = map_group < W ? map_group : W;
    for (int q = 0; q < queries; q += W) {
        const int some = queries - q < W ? queries - q : W;
        T turned[W * tile_rows];
        for (int r = 0; r < row_count; r += W) {
            V block[W];
            for (int i = 0; i < W; ++i) block[i] = load<V>(tile + ((r + i) * vectors) * W + q);
            transpose(block);
            for (int i = 0; i < W; ++i) store(turned + i * tile_rows + r, block[i]);
        }
        for (int r = 0; r < row_count; r += W) {
            const V base_norms = load<V>(row_norms + r);
            const int rows = row_count - r < W ? row_count - r : W;
            for (int i = 0; i < some; i += group) {
                V x[group], norms[group];
                for (int j = 0; j < group; ++j) {
                    x[j] = load<V>(turned + (i + j) * tile_rows + r);
                    norms[j] = base_norms + panel_norms[q + i + j];
                }
                map(x, norms);
                T* const* to = columns + q + i;
                if (rows == W && some - i >= group)
                    for (int j = 0; j < group; ++j) store(to[j] + at + r, x[j]);
                else
                    for (int j = 0; j < group && i + j < some; ++j) memcpy(to[j] + at + r, &x[j], sizeof(T) * rows);
            }
        }
    }
}

/// One query against a line of rows: out[i] from dots[i], in place or not.
template <class T, class Map>
void map_line(const Map map, const T* dots, Index n, const T* row_norms, T query_norm, T* out) {
    using V = Vec<T>;
    constexpr int W = lanes<T>;
    for (Index i = 0; i < n; i += map_group * W) {
        V x[map_group], norms[map_group];
        for (int j = 0; j < map_group; ++j) {
            x[j] = load<V>(dots + i + j * W);
            norms[j] = load<V>(row_norms + i + j * W) + query_norm;
        }
        map(x, norms);
        if (n - i >= map_group * W)
            for (int j = 0; j < map_group; ++j) store(out + i + j * W, x[j]);
        else
            memcpy(out + i, x, sizeof(T) * static_cast<size_t>(n - i));
    }
}

template <class T> void to_rows(const Kernel& kernel, const T* tile, int vectors, int row_count, const T* row_norms,
                                const T* panel_norms, T* const* out, Index at) {
    with_map<T>(kernel, [&](auto map) { map_rows(map, tile, vectors, row_count, row_norms, panel_norms, out, at); });
}
template <class T> void to_columns(const Kernel& kernel, const T* tile, int vectors, int row_count, int queries,
                                   const T* row_norms, const T* panel_norms, T* const* columns, Index at) {
    with_map<T>(kernel, [&](auto map) {
        map_columns(map, tile, vectors, row_count, queries, row_norms, panel_norms, columns, at);
    });
}

template <class T>
void to_line(const Kernel& kernel, const T* dots, Index n, const T* row_norms, T query_norm, T* out) {
    with_map<T>(kernel, [&](auto map) { map_line(map, dots, n, row_norms, query_norm, out); });
}

/// panel[k * width + lane] = rows[lane][k] for `width` row pointers.
template <class T> void pack(const T* const* rows, int vectors, Index d, T* panel) {
    using V = Vec<T>;
    constexpr int W = lanes<T>;
    const Index width = vectors * W;
    for (int v = 0; v < vectors; ++v) {
        const T* const* row = rows + v * W;
        T* to = panel + v * W;
        Index k = 0;
        for (; k + W <= d; k += W) {
            V block[W];
            for (int i = 0; i < W; ++i) block[i] = load<V>(row[i] + k);
            transpose(block);
            for (int i = 0; i < W; ++i) store(to + (k + i) * width, block[i]);
        }
        for (; k < d; ++k)
            for (int i = 0; i < W; ++i) to[k * width + i] = row[i][k];
    }
}

template <class T> void accumulate(const T* tile, int width, int row_count, const double* coef, Index coef_ld,
                                   Index outputs, double* sums) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    constexpr int group = 4;  // lane groups at once; a width is a multiple of one, two or four of them
    for (Index o = 0; o < outputs; ++o) {
        const double* c = coef + o * coef_ld;
        double* s = sums + o * width;
        int q = 0;
        for (; q + group * W <= width; q += group * W) {
            V acc[group];
            for (int g = 0; g < group; ++g) acc[g] = load<V>(s + q + g * W);
            for (int r = 0; r < row_count; ++r) {
                const V x = splat<V>(c[r]);
                for (int g = 0; g < group; ++g) acc[g] = fused(x, load_double(tile + r * width + q + g * W), acc[g]);
            }
            for (int g = 0; g < group; ++g) store(s + q + g * W, acc[g]);
        }
        for (; q < width; q += W) {
            V acc = load<V>(s + q);
            for (int r = 0; r < row_count; ++r) acc = fused(splat<V>(c[r]), load_double(tile + r * width + q), acc);
            store(s + q, acc);
        }
    }
}

}  // namespace
}  // namespace hingeline::HINGELINE_ISA
