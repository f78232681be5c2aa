// FreeStep: the Newton step on the free points of a working set.
//
// Pairs of coefficients converge slowly if the kernel matrix of the free points is ill-conditioned, such as that of a
// linear kernel with a large C. With a reference point r among the free points F, beta_r = -(sum of the others), the
// dual objective on F is a quadratic function of the others with
//
//     gradient v_i - v_r,  curvature A_ij = K_ij - K_ir - K_jr + K_rr
//
// Its maximum is at d = A^-1 (v - v_r). Columns of A that depend on those before them, to rounding, do not move. The
// step is shortened to the first bound that it meets. Newton steps between steps of pairs are an active set method:
// pairs bring points into F, and points that meet a bound leave it.
#pragma once

#include "hingeline/algo/l2/cholesky.hpp"

namespace hingeline::svc {

template <class T> class FreeStep {
  public:
    /// The free positions, the reference first, and their d. `row_of(p)` is a row of K over the working set. False if
    /// there are too few of them.
    template <class RowOf>
    bool find(const T* v, const T* up, const T* low, const T* diagonal, Index size, Index most, RowOf&& row_of) {
        choose(v, up, low, diagonal, size, most);
        const Index m = free_.size() - 1;
        if (m < 1) return false;
        fill(diagonal, row_of);
        factor_.decompose(0.0, nullptr);
        solution_.assign(padded(m), 0.0);
        const double reference = static_cast<double>(v[free_[0]]);
        for (Index i = 0; i < m; ++i) solution_[i] = scale_[i] * (static_cast<double>(v[free_[i + 1]]) - reference);
        factor_.solve(solution_.data());
        direction_.assign(m + 1, 0.0);
        for (Index i = 0; i < m; ++i) {
            direction_[i + 1] = scale_[i] * solution_[i];
            direction_[0] -= direction_[i + 1];
        }
        return std::isfinite(direction_[0]);
    }
    const Array<Index>& positions() const { return free_; }
    const Array<double>& direction() const { return direction_; }

    /// Time of a step on `free` points, in steps of pairs of a working set of `size` points.
    static double cost(Index free, Index size) {
        const double f = static_cast<double>(free);
        return f + f * f * (f / 24 + 4) / static_cast<double>(size);
    }

  private:
    /// Added to the diagonal of A, relative to that of K: the size of rounding errors.
    static constexpr double ridge = sizeof(T) == 8 ? 1e-11 : 1e-5;

    /// The reference is the point with the smallest diagonal: the differences with it lose least.
    void choose(const T* v, const T* up, const T* low, const T* diagonal, Index size, Index most) {
        free_.clear();
        for (Index p = 0; p < size; ++p)
            if (up[p] > 0 && low[p] > 0) free_.push_back(p);
        if (free_.size() > most) {
            const auto first = free_.begin();
            const auto above = [&](Index a, Index b) { return v[a] > v[b] || (v[a] == v[b] && a < b); };
            std::nth_element(first, first + most / 2, free_.end(), above);
            std::nth_element(first + most / 2, free_.end() - most / 2, free_.end(), above);
            free_.erase(first + most / 2, free_.end() - most / 2);
        }
        const auto least =
            std::min_element(free_.begin(), free_.end(), [&](Index a, Index b) { return diagonal[a] < diagonal[b]; });
        if (least != free_.end()) std::swap(*least, free_[0]);
    }
    /// A, scaled to a unit diagonal.
    template <class RowOf> void fill(const T* diagonal, RowOf&& row_of) {
        const Index m = free_.size() - 1;
        base_.clear();
        const T* const first = row_of(free_[0]);
        for (const Index p : free_) base_.push_back(static_cast<double>(first[p]));
        const double corner = static_cast<double>(diagonal[free_[0]]);
        factor_.values.resize(m);
        scale_.assign(m, 0.0);
        for (Index i = 0; i < m; ++i) {
            const T* const row = row_of(free_[i + 1]);
            double* const to = factor_.values.row(i);
            const double own = static_cast<double>(diagonal[free_[i + 1]]);
            const double curve = own - 2 * base_[i + 1] + corner + ridge * (own + corner);
            scale_[i] = curve > 0 ? 1 / std::sqrt(curve) : 0.0;
            for (Index j = 0; j < i; ++j)
                to[j] = scale_[i] * scale_[j] *
                        (static_cast<double>(row[free_[j + 1]]) - base_[i + 1] - base_[j + 1] + corner);
            to[i] = scale_[i] > 0 ? 1.0 : 0.0;
        }
    }

    Array<Index> free_;
    Array<double> base_, scale_, solution_, direction_;
    l2::Cholesky<double> factor_;
};

}  // namespace hingeline::svc
