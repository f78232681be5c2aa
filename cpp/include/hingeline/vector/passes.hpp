// PassOps: one pass over the examples per step of an algorithm, with the choice of the next step in the same pass.
// PackedOps: a symmetric matrix stored as the rows of its lower triangle.
#pragma once

#include <cstdint>

#include "hingeline/vector/layout.hpp"

namespace hingeline {

/// The smallest value and the first position that holds it.
struct Least {
    double value;
    Index at;
};
/// Gradients g with room `up` to rise and room `dn` to fall: the sum of max(up g, -dn g), the largest |g| with room in
/// its direction, and its first position (a rise before a fall; -1: none).
struct Ascent {
    double gap, worst;
    Index at;
};
/// The largest gradient with room to rise and the smallest with room to fall, with their first positions (-1: none).
struct Extremes {
    double high, low;
    Index high_at, low_at;
};
/// The largest value, and the smallest among positions with v > 0, with their first positions (-1: none).
struct Peaks {
    double high, low;
    Index high_at, low_at;
};
/// The largest value above zero and its first position (-1: none).
struct Most {
    double value;
    Index at;
};
/// The largest slope with room to rise and its first position (-1: none).
struct Top {
    double value;
    Index at;
};
/// Partner of a top slope (-1: none), the distance from it to the smallest slope with room to fall (0: none is
/// smaller). It is chosen by the gain; of equal gains by the least place in the registers of the pass, then by `at`.
struct Partner {
    Index at;
    double gap, gain;
    int place;
};
/// sum a k, and the sums of h and h^2 over a != 0, where h = c g.
struct Glance {
    double output, sum, squares;
};

template <class T> struct PassOps {
    /// z[i] += a * k[i] + b; returns the least z and its first position.
    Least (*add_and_least)(double* z, const T* k, double a, double b, Index n);
    /// r[i] += a * k[i] + c * l[i] + b, each term only where its array is not null (k null: r is not changed); returns
    /// the largest r, and the smallest where v > 0. No NaN may arise.
    Peaks (*add_and_peaks)(double* r, const T* k, double a, const T* l, double c, double b, const double* v, Index n);
    /// With fall = top - r[i] >= 0 and bend = q[i] + a * k[i] + b: the largest gain theta * (2 fall - theta * bend),
    /// where theta = min(fall / bend, v[i]), or v[i] if bend <= 0. v >= 0.
    Most (*best_partner)(const double* r, const T* k, const double* q, const double* v, double top, double a, double b,
                         Index n);
    /// g[i] += a * k[i] (no change where k is null), and the ascent left. Arrays padded as for `pass_step`. In single
    /// precision a is taken in two parts, so that only the sum is rounded.
    Ascent (*ascend)(T* g, const T* k, double a, const T* up, const T* dn, Index n);
    /// g[i] += a * (k[i] - l[i]) + (a + c) * l[i], which is a * k[i] + c * l[i] without cancellation for two nearly
    /// equal rows, and the ascent left.
    Ascent (*ascend_both)(T* g, const T* k, double a, const T* l, double c, const T* up, const T* dn, Index n);
    /// g[i] += a * (k[i] - l[i]) (no change where k is null), and the extremes then.
    Extremes (*ascend_pair)(T* g, const T* k, const T* l, double a, const T* up, const T* dn, Index n);
    /// g[i] += a * (k[i] - l[i]) (no change where k is null), and the largest g[i] + up[i] then, the top. `up` is
    /// -infinity where there is no room to rise, and in the padding. In single precision a is taken in two parts,
    /// unless it is a number of single precision, which is faster.
    Top (*rise)(T* g, const T* k, const T* l, double a, const T* up, Index n);
    /// With fall = top - (g[i] + low[i]) > 0, and bend = top_diagonal + diagonal[i] - 2 k[i], or 1e-12 if that is less:
    /// the position with the largest fall^2 / bend, the gain. `low` is infinity where there is no room to fall, and in
    /// the padding. A null diagonal is top_diagonal everywhere. Arrays padded as for `pass_step`; n < 2^24. The row is
    /// fetched ahead as far as `reach`, at least n.
    Partner (*partner)(const T* g, const T* k, const T* diagonal, const T* low, double top, double top_diagonal,
                       Index n, Index reach);
    /// Accumulates in double.
    Glance (*glance)(const T* k, const double* a, const T* g, const double* c, Index n);
    /// sums[i] += sum_r weights[r] * rows[r][i], r ascending, for from <= i < to; both multiples of `pass_step`.
    void (*combine)(const T* const* rows, const double* weights, Index count, Index from, Index to, double* sums);
    /// As `combine` from 0 to n, and products[r] = sum_i rows[r][i] * a[i]: the rows are read once.
    void (*combine_and_inner)(const T* const* rows, const double* weights, Index count, Index n, double* sums,
                              const double* a, double* products);
    /// sum_i k[i] * a[i]; arrays padded as for `pass_step`.
    double (*inner)(const T* k, const double* a, Index n);
};

template <class T> const PassOps<T>& pass_ops();
template <> const PassOps<float>& pass_ops<float>();
template <> const PassOps<double>& pass_ops<double>();

/// Kernel value of 16 bits: k stands for 1 - k / 2^16. Values below 2^-16 are stored as 2^-16.
using Coarse = std::uint16_t;
inline constexpr double coarse_unit = 1.0 / 65536;

/// Passes of kernel values between 0 and 1 with a unit diagonal, in 16 bits.
struct CoarseOps {
    /// out[i] = k[i] rounded; n is a multiple of `pass_step`.
    void (*coarsen)(const float* k, Coarse* out, Index n);
    /// g[i] += a * (k[i] - l[i]), otherwise as `PassOps::rise`.
    Top (*rise)(float* g, const Coarse* k, const Coarse* l, double a, const float* up, Index n);
    /// As `PassOps::partner` with bend = max(2 k[i], 1), in the units of k.
    Partner (*partner)(const float* g, const Coarse* k, const float* low, double top, Index n, Index reach);
    /// to[c][r] = from[r * stride + c]; rows and columns are multiples of `turn_step`.
    void (*turn)(const Coarse* from, Index stride, int rows, int columns, Coarse* const* to);
};
inline constexpr int turn_step = 32;
const CoarseOps& coarse_ops();

/// Row i of a matrix Q as base + unit * k, with 1 / Q_ii and g_i / Q_ii.
struct JointRow {
    double base, unit, inverse, ratio;
};
/// Steps on two coordinates of a quadratic problem with gradients g; rows k of type K. `up` and `dn` are 1 where the
/// coordinate may rise and fall, else 0, and 0 in the padding. Arrays padded as for `pass_step`; n is a multiple of it.
template <class K> struct JointOps {
    /// g[i] += a * k[i] + c * l[i] + b (no change where k is null); the largest of up g and -dn g then, and its first
    /// position.
    Top (*move)(float* g, const K* k, double a, const K* l, double c, double b, const float* up, const float* dn,
                Index n);
    /// The position with the largest gain slope^2 / bend of a step together with i, -1 if none has room:
    /// slope = g[j] - Q_ij g_i / Q_ii, bend = q[j] - Q_ij^2 / Q_ii. n < 2^24.
    Index (*partner)(const float* g, const K* k, const JointRow& row, const float* q, const float* up, const float* dn,
                     Index n);
};
template <class K> const JointOps<K>& joint_ops();
template <> const JointOps<float>& joint_ops<float>();
template <> const JointOps<Coarse>& joint_ops<Coarse>();

/// A is symmetric of order m: the rows of its lower triangle, one behind the other.
struct PackedOps {
    /// y = A x.
    void (*multiply)(const double* a, Index m, const double* x, double* y);
    /// A += scale sum_k b_k b_k^T.
    void (*update)(double* a, Index m, double scale, const double* const* b, Index count);
};

const PackedOps& packed_ops();

}  // namespace hingeline
