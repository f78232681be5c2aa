// TileOps: blocks of dot products and kernel values.
//
// Layout. Queries lie in *panels*: up to `max_vectors` registers of `lanes` queries each, stored feature by feature
// (`panel[k * width + lane]`, width = vectors * lanes). Base rows stay where they are. A *tile* holds `row_count` base
// rows by `width` queries, row after row.
//
// Invariant (same bits). An entry is accumulated over the features in ascending order, in one lane, by one fused
// multiply-add each (multiply and add where the instruction set has none). Zeros do not change an accumulator. So dense
// and sparse rows give the same bits, and so does every tile shape.
#pragma once

#include "hingeline/vector/kernels.hpp"
#include "hingeline/vector/layout.hpp"

namespace hingeline {

template <class T> struct TileOps {
    int lanes;
    int max_vectors;

    /// tile[r][q] = rows[r] . panel[q]. `rows` holds pointers to d contiguous values up to the next multiple of
    /// `row_step`: whole strips are computed, so repeat one row beyond row_count.
    void (*dense)(const T* panel, int vectors, Index d, const T* const* rows, int row_count, T* tile);
    /// The same from CSR rows. `slot` maps a column to a line of the panel (null: the column itself).
    void (*sparse32)(const T* panel, int vectors, const std::int32_t* slot, const SparseRow<T, std::int32_t>* rows,
                     int row_count, T* tile);
    void (*sparse64)(const T* panel, int vectors, const std::int32_t* slot, const SparseRow<T, std::int64_t>* rows,
                     int row_count, T* tile);
    /// dots[r] = rows[r] . query for one query with d contiguous values.
    void (*sparse_one32)(const T* query, const SparseRow<T, std::int32_t>* rows, Index row_count, T* dots);
    void (*sparse_one64)(const T* query, const SparseRow<T, std::int64_t>* rows, Index row_count, T* dots);
    /// The same where every value is 0 or 1 and a row is `words` words of bits: rows list[0..row_count). Sums of ones
    /// are exact, so the bits are the same again.
    void (*bits_one)(const std::uint64_t* query, Index words, const std::uint64_t* rows, const Index* list,
                     Index row_count, T* dots);
    /// out[r] = rows[r] . rows[r], with the bits that `dense` gives.
    void (*norms)(const T* const* rows, int row_count, Index d, T* out);
    /// panel[k * width + lane] = rows[lane][k] for vectors * lanes row pointers.
    void (*pack)(const T* const* rows, int vectors, Index d, T* panel);
    /// Dot products to kernel values: out[r][at + lane]. The tile and the row norms must be readable up to the next
    /// multiple of `row_step` rows.
    void (*to_rows)(const Kernel&, const T* tile, int vectors, int row_count, const T* row_norms, const T* panel_norms,
                    T* const* out, Index at);
    /// The same, transposed: columns[q][at + r] for q < queries.
    void (*to_columns)(const Kernel&, const T* tile, int vectors, int row_count, int queries, const T* row_norms,
                       const T* panel_norms, T* const* columns, Index at);
    /// The same for one query: out[i] from dots[i], i < n; both readable up to the next multiple of `line_step`.
    void (*to_line)(const Kernel&, const T* dots, Index n, const T* row_norms, T query_norm, T* out);
    /// sums[o * width + q] += sum_r coef[o * coef_ld + r] * tile[r][q], r ascending, in double.
    void (*accumulate)(const T* tile, int width, int row_count, const double* coef, Index coef_ld, Index outputs,
                       double* sums);
};

template <class T> const TileOps<T>& tile_ops();
template <> const TileOps<float>& tile_ops<float>();
template <> const TileOps<double>& tile_ops<double>();

}  // namespace hingeline
