// The arithmetic that runs at vector speed, as one table of functions per value type.
//
// `src/ops.cpp` is compiled once for each instruction set (AVX-512, AVX2 with FMA, the compiler's
// baseline); `ops<T>()` picks the widest that the processor has, once per process. A compiler
// without vector types builds the same source with one lane.
//
// Layout. Queries lie in *panels*: up to `max_vectors` registers of `lanes` queries each, stored
// feature by feature (`panel[k * width + lane]`, width = vectors * lanes). Base rows stay where they
// are. A *tile* holds `row_count` base rows by `width` queries, row after row.
//
// Law: an entry is accumulated over the features in ascending order, in one lane, by one fused
// multiply-add each (multiply and add where the set has none). Zeros leave an accumulator as it is,
// so dense and sparse rows give the same bits, and so does every tile shape.
#pragma once

#include <cstdint>

namespace hingeline {

using Index = std::int64_t;

enum class KernelKind : int { linear, rbf, poly, sigmoid };

/// K(x, z) as a function of x.z, |x|^2 and |z|^2.
struct Kernel {
    KernelKind kind = KernelKind::rbf;
    double gamma = 1.0;
    double coef0 = 0.0;
    int degree = 3;
};

/// Base rows in a tile; a multiple of the register tile's height and of every lane count.
inline constexpr int tile_rows = 48;

/// Rows that the tile functions read and compute at a time: a multiple of the height of every register tile and
/// of the group that is mapped together.
inline constexpr int row_step = 24;
/// Rows of a register tile.
inline constexpr int strip_rows = 6;

/// Values that `to_line` reads at a time: a multiple of eight registers of every set.
inline constexpr Index line_step = 128;

/// The smallest value and the first position that holds it.
struct Least {
    double value;
    Index at;
};

/// Passes over an expansion read this many values at a time: its arrays and kernel rows have room, filled with
/// zeros, up to the next multiple.
inline constexpr Index pass_step = 128;

/// Gradients g under room to rise `up` and room to fall `dn`: the sum of max(up g, -dn g), the largest |g| with room
/// in its direction, and where it is (first position; a rise before a fall; -1 when there is none).
struct Ascent {
    double gap, worst;
    Index at;
};
/// The largest gradient with room to rise and the smallest with room to fall, with their first positions (-1: none).
struct Extremes {
    double high, low;
    Index high_at, low_at;
};
/// The largest value, and the smallest among positions that count, with their first positions (-1: none).
struct Peaks {
    double high, low;
    Index high_at, low_at;
};
/// The largest value above zero and its first position (-1: none).
struct Most {
    double value;
    Index at;
};
/// sum a k, and the sums of h and h^2 over a != 0, where h = c g.
struct Glance {
    double output, sum, squares;
};

/// One CSR row: `count` pairs (column, value), columns ascending.
template <class T, class I> struct SparseRow {
    const T* value;
    const I* column;
    Index count;
};

/// A loss of the residual xi = margin - t f(x) whose slope is clip(xi, low, high): with c that slope the loss is
/// c (xi - c / 2).
struct Clip {
    double margin, low, high;
};
/// Over outputs with weights s: sums of s * loss, s c, s c t; of s xi^2 and 1 where the loss is curved
/// (low < xi < high); of s max(0, 1 - t f).
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

template <class T> struct Ops {
    const char* name;
    int lanes;
    int max_vectors;

    /// tile[r][q] = rows[r] . panel[q]. `rows` holds pointers to d contiguous values up to the next
    /// multiple of `row_step` (repeat one for the rows beyond row_count: whole strips are computed).
    void (*dense)(const T* panel, int vectors, Index d, const T* const* rows, int row_count, T* tile);
    /// The same from CSR rows. `slot` maps a column to a line of the panel (null: the column itself).
    void (*sparse32)(const T* panel, int vectors, const std::int32_t* slot, const SparseRow<T, std::int32_t>* rows,
                     int row_count, T* tile);
    void (*sparse64)(const T* panel, int vectors, const std::int32_t* slot, const SparseRow<T, std::int64_t>* rows,
                     int row_count, T* tile);
    /// dots[r] = rows[r] . query for one query with d contiguous values.
    void (*sparse_one32)(const T* query, const SparseRow<T, std::int32_t>* rows, Index row_count, T* dots);
    void (*sparse_one64)(const T* query, const SparseRow<T, std::int64_t>* rows, Index row_count, T* dots);
    /// The same where every value is 0 or 1 and a row is `words` words of bits: rows list[0..row_count).
    /// Sums of ones are exact, hence the same bits again.
    void (*bits_one)(const std::uint64_t* query, Index words, const std::uint64_t* rows, const Index* list,
                     Index row_count, T* dots);
    /// out[r] = rows[r] . rows[r], the bits that `dense` gives.
    void (*norms)(const T* const* rows, int row_count, Index d, T* out);
    /// panel[k * width + lane] = rows[lane][k] for vectors * lanes row pointers.
    void (*pack)(const T* const* rows, int vectors, Index d, T* panel);
    /// Dot products to kernel values: out[r][at + lane]. The tile and the row norms must be readable up to
    /// the next multiple of `row_step` rows.
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
    /// z[i] += a * k[i] + b; returns the least z and its first position.
    Least (*add_and_least)(double* z, const T* k, double a, double b, Index n);
    /// r[i] += a * k[i] + c * l[i] + b, each term only where its array is not null (k null: r stays as it is);
    /// returns the largest r, and the smallest where v > 0. No NaN may arise.
    Peaks (*add_and_peaks)(double* r, const T* k, double a, const T* l, double c, double b, const double* v, Index n);
    /// With fall = top - r[i] >= 0 and bend = q[i] + a * k[i] + b: the largest gain theta * (2 fall - theta * bend),
    /// where theta = min(fall / bend, v[i]), or v[i] if bend <= 0. v >= 0.
    Most (*best_partner)(const double* r, const T* k, const double* q, const double* v, double top, double a, double b,
                         Index n);
    /// g[i] += a * k[i] (nothing where k is null), and what is then to be gained. Arrays as for `pass_step`. In single
    /// precision a is taken in two parts, so that only the sum is rounded.
    Ascent (*ascend)(T* g, const T* k, double a, const T* up, const T* dn, Index n);
    /// g[i] += a * (k[i] - l[i]) (nothing where k is null), and the extremes then.
    Extremes (*ascend_pair)(T* g, const T* k, const T* l, double a, const T* up, const T* dn, Index n);
    /// In double throughout.
    Glance (*glance)(const T* k, const double* a, const T* g, const double* c, Index n);
    /// sums[i] += sum_r weights[r] * rows[r][i], r ascending, for from <= i < to; both multiples of `pass_step`.
    void (*combine)(const T* const* rows, const double* weights, Index count, Index from, Index to, double* sums);
    /// sum_i k[i] * a[i]; arrays as for `pass_step`.
    double (*inner)(const T* k, const double* a, Index n);
    /// y = A x and A += scale sum_k b_k b_k^T, A symmetric: rows of its lower triangle, one behind the other.
    void (*packed_multiply)(const double* a, Index m, const double* x, double* y);
    void (*packed_update)(double* a, Index m, double scale, const double* const* b, Index count);

    // Linear machines, in double throughout.
    /// out[r] = rows[r] . w and g += sum_r c[r] rows[r].
    void (*line_dots)(const T* const* rows, Index n, Index d, const double* w, double* out);
    void (*line_dots32)(const SparseRow<T, std::int32_t>* rows, Index n, const double* w, double* out);
    void (*line_dots64)(const SparseRow<T, std::int64_t>* rows, Index n, const double* w, double* out);
    void (*line_add)(const T* const* rows, Index n, Index d, const double* c, double* g);
    void (*line_add32)(const SparseRow<T, std::int32_t>* rows, Index n, const double* c, double* g);
    void (*line_add64)(const SparseRow<T, std::int64_t>* rows, Index n, const double* c, double* g);
    /// A += sum_r h[r] rows[r] rows[r]^T: lower triangle, by rows of `ld` values.
    void (*pairs32)(const SparseRow<T, std::int32_t>* rows, Index n, const double* h, double* a, Index ld);
    void (*pairs64)(const SparseRow<T, std::int64_t>* rows, Index n, const double* h, double* a, Index ld);
    /// The same for the machines of a panel (see above) of doubles: tile[r][q] = rows[r] . panel[q], and
    /// panel[q] += sum_r tile[r][q] rows[r]. `Ops<double>::dense` is the one that is missing here.
    void (*tile_dots32)(const SparseRow<T, std::int32_t>* rows, Index n, const double* panel, int vectors,
                        double* tile);
    void (*tile_dots64)(const SparseRow<T, std::int64_t>* rows, Index n, const double* panel, int vectors,
                        double* tile);
    void (*tile_add)(const double* const* rows, Index n, Index d, const double* tile, int vectors, double* panel);
    void (*tile_add32)(const SparseRow<T, std::int32_t>* rows, Index n, const double* tile, int vectors, double* panel);
    void (*tile_add64)(const SparseRow<T, std::int64_t>* rows, Index n, const double* tile, int vectors, double* panel);
    /// At outputs y - offset with signed weights v = s t: the sums, and pull[i] += s c t.
    MarginSums (*margins)(const double* y, const double* v, Index n, double offset, const Clip&, double* pull);
    /// h[i] = s where the loss is curved, 0 elsewhere.
    void (*weights)(const double* y, const double* v, Index n, double offset, const Clip&, double* h);
    /// The largest violation of the dual's conditions by multipliers c at y - offsets[0], which make up outputs
    /// made - offsets[1]: g = t made + curved c - margin is 0 for low < c < high, >= 0 at low, <= 0 at high.
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

template <class T> const Ops<T>& ops();
template <> const Ops<float>& ops<float>();
template <> const Ops<double>& ops<double>();

}  // namespace hingeline
