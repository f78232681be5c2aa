// LinearOps: products of rows with weight vectors and back. MarginOps: losses and slopes at the outputs of linear
// machines. All sums are in double.
#pragma once

#include "hingeline/vector/layout.hpp"

namespace hingeline {

/// A loss of the residual xi = margin - t f(x) whose slope is clip(xi, low, high): with c that slope the loss is
/// c (xi - c / 2). For regression the loss is `folded`: f is the output less the target, its label t is the sign that
/// it should have, so that xi = margin + |f|, low = 0, and -margin is the width without loss.
struct Clip {
    double margin, low, high;
    bool folded = false;
};
/// Over outputs with weights s: sums of s * loss, s c (folded: s c xi), s c t; of s xi^2 and 1 where the loss is curved
/// (low < xi < high); of s max(0, 1 - t f) (folded: s max(0, xi)).
struct MarginSums {
    double loss, pull, weighted, squares, active, hinge;
    MarginSums& operator+=(const MarginSums& o) {
        loss += o.loss, pull += o.pull, weighted += o.weighted;
        squares += o.squares, active += o.active, hinge += o.hinge;
        return *this;
    }
};
/// First and second derivative of a sum of losses along a line.
struct Slope {
    double first, second;
};

template <class T> struct LinearOps {
    /// out[r] = rows[r] . w.
    void (*line_dots)(const T* const* rows, Index n, Index d, const double* w, double* out);
    void (*line_dots32)(const SparseRow<T, std::int32_t>* rows, Index n, const double* w, double* out);
    void (*line_dots64)(const SparseRow<T, std::int64_t>* rows, Index n, const double* w, double* out);
    /// g += sum_r c[r] rows[r].
    void (*line_add)(const T* const* rows, Index n, Index d, const double* c, double* g);
    void (*line_add32)(const SparseRow<T, std::int32_t>* rows, Index n, const double* c, double* g);
    void (*line_add64)(const SparseRow<T, std::int64_t>* rows, Index n, const double* c, double* g);
    /// A += sum_r h[r] rows[r] rows[r]^T: lower triangle, by rows of `ld` values.
    void (*pairs32)(const SparseRow<T, std::int32_t>* rows, Index n, const double* h, double* a, Index ld);
    void (*pairs64)(const SparseRow<T, std::int64_t>* rows, Index n, const double* h, double* a, Index ld);
    /// The same for the machines of a panel of doubles (vector/tiles.hpp): tile[r][q] = rows[r] . panel[q], and
    /// panel[q] += sum_r tile[r][q] rows[r]. For dense rows `TileOps<double>::dense` gives the products.
    void (*tile_dots32)(const SparseRow<T, std::int32_t>* rows, Index n, const double* panel, int vectors,
                        double* tile);
    void (*tile_dots64)(const SparseRow<T, std::int64_t>* rows, Index n, const double* panel, int vectors,
                        double* tile);
    void (*tile_add)(const double* const* rows, Index n, Index d, const double* tile, int vectors, double* panel);
    void (*tile_add32)(const SparseRow<T, std::int32_t>* rows, Index n, const double* tile, int vectors, double* panel);
    void (*tile_add64)(const SparseRow<T, std::int64_t>* rows, Index n, const double* tile, int vectors, double* panel);
};

template <class T> const LinearOps<T>& linear_ops();
template <> const LinearOps<float>& linear_ops<float>();
template <> const LinearOps<double>& linear_ops<double>();

struct MarginOps {
    /// At outputs y - offset with signed weights v = s t: the sums, and pull[i] += s c t.
    MarginSums (*margins)(const double* y, const double* v, Index n, double offset, const Clip&, double* pull);
    /// h[i] = s where the loss is curved, 0 elsewhere.
    void (*weights)(const double* y, const double* v, Index n, double offset, const Clip&, double* h);
    /// The largest violation of the dual's conditions by multipliers c at y - offsets[0], which make up outputs
    /// made - offsets[1]: g = t made + curved c - margin is 0 for low < c < high, >= 0 at low, <= 0 at high (where t is
    /// the label of `made` for a folded loss).
    double (*violation)(const double* y, const double* made, const double* v, Index n, const double* offsets,
                        const Clip&, double margin, double curved);
    /// Derivatives at y - offset + delta ((target - target_offset) - (y - offset)).
    Slope (*slope)(const double* y, const double* target, const double* v, Index n, double offset, double target_offset,
                   const Clip&, double delta);
    /// A step from `y` towards `target` has led to `moved`; offsets of the three. Sums at `moved`;
    /// turn[i] += change of the weight where the loss is curved;
    /// bend[i] += s t (c - what c would be between its values at y and target).
    MarginSums (*shift)(const double* y, const double* target, const double* moved, const double* v, Index n,
                        const double* offsets, const Clip&, double delta, double* bend, double* turn);
};

const MarginOps& margin_ops();

}  // namespace hingeline
