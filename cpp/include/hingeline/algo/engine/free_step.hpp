// FreeStep: the Newton step on the free points of a working set.
//
// Pairs of coefficients converge slowly if the kernel matrix of the free points is ill-conditioned, such as that of a
// linear kernel with a large C. With a reference point r among the free points F, beta_r = -(sum of the others), the
// dual objective on F is a quadratic function of the others with
//
//     gradient v_i - v_r,  curvature A_ij = K_ij - K_ir - K_jr + K_rr
//
// Its maximum is at d = A^-1 (v - v_r). Columns of A that depend on those before them, to rounding, do not move. The
// step is shortened to the first bound that it meets, or points that would pass their bounds are held there. Newton
// steps between steps of pairs are an active set method: pairs bring points into F, and points that meet a bound leave
// it.
#pragma once

#include <numeric>

#include "hingeline/algo/l2/cholesky.hpp"

namespace hingeline::engine {

template <class T> class FreeStep {
  public:
    /// The reference and others of the free positions, at most `most`, and their d. `slope_of(p)` is the slope of the
    /// objective, `row_of(p)` a row of K over the working set. False if there are too few positions.
    template <class SlopeOf, class RowOf>
    bool find(Array<Index> free, SlopeOf&& slope_of, const T* diagonal, Index most, RowOf&& row_of) {
        choose(std::move(free), slope_of, diagonal, most);
        return solve(slope_of, diagonal, rounding, row_of, nullptr);
    }
    /// The same for given positions, the first of which is the reference. `ridge` is added to the diagonal of A,
    /// relative to that of K. False also when interrupted.
    template <class SlopeOf, class RowOf> bool find_all(const Array<Index>& positions, SlopeOf&& slope_of,
                                                        const T* diagonal, double ridge, RowOf&& row_of,
                                                        Interrupt* interrupt) {
        free_ = positions;
        return solve(slope_of, diagonal, ridge, row_of, interrupt);
    }
    /// The same step with the further condition direction()[k] = value: cheaper than a factorisation without the point.
    /// False if the conditions depend on each other.
    bool hold(Index k, double value) {
        const Index m = free_.size() - 1;
        Array<double> column(padded(m), 0.0);
        if (k > 0)
            column[k - 1] = scale_[k - 1];
        else
            for (Index i = 0; i < m; ++i) column[i] = -scale_[i];
        factor_.solve(column.data());
        held_.push_back({k, value});
        columns_.push_back(std::move(column));
        const Index count = held_.size();
        products_.resize(count * (count + 1) / 2);  // rows of the lower triangle
        for (Index j = 0; j < count; ++j) products_[count * (count - 1) / 2 + j] = component(k, columns_[j]);
        Array<double> right;
        for (const auto& [at, wanted] : held_) right.push_back(component(at, solution_) - wanted);
        if (!solve_small(products_, right)) return false;
        Array<double> changed = solution_;
        for (Index j = 0; j < count; ++j)
            for (Index i = 0; i < m; ++i) changed[i] -= right[j] * columns_[j][i];
        return spread(changed);
    }
    const Array<Index>& positions() const { return free_; }
    const Array<double>& direction() const { return direction_; }

    /// Time of a step on `free` points, in steps of pairs of a working set of `size` points.
    static double cost(Index free, Index size) {
        const double f = static_cast<double>(free);
        return f + f * f * (f / 24 + 4) / static_cast<double>(size);
    }

    /// Size of rounding errors of kernel values, relative to the diagonal; of values between 0 and 1.
    static constexpr double rounding = sizeof(T) == 8 ? 1e-11 : 1e-5, small_rounding = sizeof(T) == 8 ? 1e-11 : 1e-6;

  private:
    /// x = A^-1 x by Cholesky. False if A is not positive definite to rounding.
    static bool solve_small(Array<double> a, Array<double>& x) {
        const auto at = [&](Index i, Index j) -> double& { return a[i * (i + 1) / 2 + j]; };
        const Index n = x.size();
        for (Index i = 0; i < n; ++i) {
            const double whole = at(i, i);
            for (Index j = 0; j <= i; ++j) {
                for (Index k = 0; k < j; ++k) at(i, j) -= at(i, k) * at(j, k);
                if (j < i) at(i, j) /= at(j, j);
            }
            if (!(at(i, i) > 1e-12 * whole)) return false;
            at(i, i) = std::sqrt(at(i, i));
            for (Index j = 0; j < i; ++j) x[i] -= at(i, j) * x[j];
            x[i] /= at(i, i);
        }
        for (Index i = n; i-- > 0;) {
            x[i] /= at(i, i);
            for (Index j = 0; j < i; ++j) x[j] -= at(i, j) * x[i];
        }
        return true;
    }
    template <class SlopeOf, class RowOf>
    bool solve(SlopeOf&& slope_of, const T* diagonal, double ridge, RowOf&& row_of, Interrupt* interrupt) {
        const Index m = free_.size() - 1;
        if (m < 1) return false;
        fill(diagonal, ridge, row_of);
        if (!factor_.decompose(0.0, interrupt)) return false;
        solution_.assign(padded(m), 0.0);
        const double reference = slope_of(free_[0]);
        for (Index i = 0; i < m; ++i) solution_[i] = scale_[i] * (slope_of(free_[i + 1]) - reference);
        factor_.solve(solution_.data());
        held_.clear(), columns_.clear(), products_.clear();
        return spread(solution_);
    }
    /// The direction of a solution in scaled coordinates.
    bool spread(const Array<double>& solution) {
        const Index m = free_.size() - 1;
        direction_.assign(m + 1, 0.0);
        for (Index i = 0; i < m; ++i) {
            direction_[i + 1] = scale_[i] * solution[i];
            direction_[0] -= direction_[i + 1];
        }
        return std::isfinite(direction_[0]);
    }
    /// Value of direction k for a solution in scaled coordinates.
    double component(Index k, const Array<double>& solution) const {
        if (k > 0) return scale_[k - 1] * solution[k - 1];
        return -std::inner_product(scale_.begin(), scale_.end(), solution.begin(), 0.0);
    }

    /// The reference is the point with the smallest diagonal: the differences with it lose least.
    template <class SlopeOf> void choose(Array<Index> free, SlopeOf&& slope_of, const T* diagonal, Index most) {
        free_ = std::move(free);
        if (free_.size() > most) {
            const auto first = free_.begin();
            const auto above = [&](Index a, Index b) {
                return slope_of(a) > slope_of(b) || (slope_of(a) == slope_of(b) && a < b);
            };
            std::nth_element(first, first + most / 2, free_.end(), above);
            std::nth_element(first + most / 2, free_.end() - most / 2, free_.end(), above);
            free_.erase(first + most / 2, free_.end() - most / 2);
        }
        const auto least =
            std::min_element(free_.begin(), free_.end(), [&](Index a, Index b) { return diagonal[a] < diagonal[b]; });
        if (least != free_.end()) std::swap(*least, free_[0]);
    }
    /// A, scaled to a unit diagonal.
    template <class RowOf> void fill(const T* diagonal, double ridge, RowOf&& row_of) {
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
    Array<std::pair<Index, double>> held_;  // conditions, the solutions for them, and the products of both
    Array<Array<double>> columns_;
    Array<double> products_;
    l2::Cholesky<double> factor_;
};

}  // namespace hingeline::engine
