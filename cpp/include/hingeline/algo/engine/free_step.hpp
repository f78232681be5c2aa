// FreeStep: the Newton step on the free points of a working set.
//
// Pairs of coefficients converge slowly if the kernel matrix of the free points is ill-conditioned, such as that of a
// linear kernel with a large C. With a reference point r among the free points F, beta_r = -(sum of the others), the
// dual objective on F is a quadratic function of the others with
//
//     gradient v_i - v_r,  curvature A_ij = K_ij - K_ir - K_jr + K_rr
//
// Its maximum is at d = A^-1 (v - v_r). If the sums of two groups of points are fixed, each has a reference, with r and
// s those of i and j: A_ij = K_ij - K_is - K_rj + K_rs. Columns of A that depend on those before them, to rounding, do
// not move. The step is shortened to the first bound that it meets, or points that would pass their bounds are held
// there. Newton steps between steps of pairs are an active set method: pairs bring points into F, and points that meet
// a bound leave it.
#pragma once

#include <algorithm>
#include <array>

#include "hingeline/algo/l2/cholesky.hpp"
#include "hingeline/core/wipe.hpp"

namespace hingeline::engine {

template <class T> class FreeStep {
  public:
    /// The references and others of the free positions, at most `most`, and their d. Positions from `split` on are
    /// those of the second group. `slope_of(p)` is the slope of the objective, `row_of(p)` a row of K over the working
    /// set. False if there are too few positions.
    template <class SlopeOf, class RowOf> bool find(const Array<Index>& free, Index split, SlopeOf&& slope_of,
                                                    const T* diagonal, Index most, RowOf&& row_of) {
        choose(free, split, slope_of, diagonal, most);
        return solve(slope_of, diagonal, rounding, row_of, nullptr);
    }
    /// The same for given positions, ascending by group; the first of each group is its reference. `ridge` is added to
    /// the diagonal of A, relative to that of K. False also when interrupted.
    template <class SlopeOf, class RowOf> bool find_all(const Array<Index>& positions, Index split, SlopeOf&& slope_of,
                                                        const T* diagonal, double ridge, RowOf&& row_of,
                                                        Interrupt* interrupt) {
        take(positions, split);
        return solve(slope_of, diagonal, ridge, row_of, interrupt);
    }
    /// The same step with the further condition direction()[k] = value: cheaper than a factorisation without the point.
    /// False if the conditions depend on each other.
    bool hold(Index k, double value) {
        const Index m = unknowns();
        Array<double> column(padded(m), 0.0);
        if (k != reference(k))
            column[unknown(k)] = scale_[unknown(k)];
        else
            for (Index i = 0; i < m; ++i) column[i] = reference(point(i)) == k ? -scale_[i] : 0.0;
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
    /// Place in `positions` of the reference of point k.
    Index reference(Index k) const { return k < second_ ? 0 : second_; }
    bool is_reference(Index k) const { return k == reference(k); }

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
        const Index m = unknowns();
        if (m < 1) return false;
        fill(diagonal, ridge, row_of);
        if (!factor_.decompose(0.0, interrupt)) return false;
        solution_.assign(padded(m), 0.0);
        for (Index i = 0; i < m; ++i)
            solution_[i] = scale_[i] * (slope_of(free_[point(i)]) - slope_of(free_[reference(point(i))]));
        factor_.solve(solution_.data());
        held_.clear(), columns_.clear(), products_.clear();
        return spread(solution_);
    }
    /// The direction of a solution in scaled coordinates.
    bool spread(const Array<double>& solution) {
        direction_.assign(free_.size(), 0.0);
        for (Index i = 0; i < unknowns(); ++i) {
            const Index k = point(i);
            direction_[k] = scale_[i] * solution[i];
            direction_[reference(k)] -= direction_[k];
        }
        return std::isfinite(direction_[0]) && std::isfinite(direction_[reference(free_.size() - 1)]);
    }
    /// Value of direction k for a solution in scaled coordinates.
    double component(Index k, const Array<double>& solution) const {
        if (k != reference(k)) return scale_[unknown(k)] * solution[unknown(k)];
        double sum = 0;
        for (Index i = 0; i < unknowns(); ++i)
            if (reference(point(i)) == k) sum += scale_[i] * solution[i];
        return -sum;
    }

    // Unknowns are the points without the references.
    int groups() const { return second_ < free_.size() ? 2 : 1; }
    Index unknowns() const { return free_.size() - groups(); }
    Index point(Index unknown) const { return unknown + 1 + (unknown + 1 >= second_); }
    Index unknown(Index point) const { return point - 1 - (point > second_); }
    void take(const Array<Index>& positions, Index split) {
        free_ = positions;
        second_ = std::lower_bound(free_.begin(), free_.end(), split) - free_.begin();
        if (second_ == 0) second_ = free_.size();
    }

    /// Of each group the largest and the smallest slopes if there are too many. The reference is the point with the
    /// smallest diagonal: the differences with it lose least.
    template <class SlopeOf>
    void choose(const Array<Index>& free, Index split, SlopeOf&& slope_of, const T* diagonal, Index most) {
        take(free, split);
        const auto above = [&](Index a, Index b) {
            return slope_of(a) > slope_of(b) || (slope_of(a) == slope_of(b) && a < b);
        };
        const auto smaller = [&](Index a, Index b) { return diagonal[a] < diagonal[b]; };
        const Index half = most / (2 * groups());
        const auto shorten = [&](Index from, Index to) {
            if (to - from > 2 * half && free_.size() > most) {
                const auto first = free_.begin() + from, last = free_.begin() + to;
                std::nth_element(first, first + half, last, above);
                std::nth_element(first + half, last - half, last, above);
                free_.erase(first + half, last - half);
                to = from + 2 * half;
            }
            const auto least = std::min_element(free_.begin() + from, free_.begin() + to, smaller);
            if (from < to) std::swap(*least, free_[from]);
            return to;
        };
        const Index all = free_.size(), of_second = all - second_;
        if (of_second > 0) shorten(second_, all);
        const Index later = free_.size() - second_;
        shorten(0, second_);
        second_ = free_.size() - later;
    }
    /// A, scaled to a unit diagonal.
    template <class RowOf> void fill(const T* diagonal, double ridge, RowOf&& row_of) {
        const Index m = unknowns();
        std::array<std::array<double, 2>, 2> corner{};  // K of the references
        const auto group = [&](Index k) { return k >= second_; };
        for (int g = 0; g < groups(); ++g) {
            const T* const row = row_of(free_[g * second_]);
            base_[g].clear();
            for (const Index p : free_) base_[g].push_back(static_cast<double>(row[p]));
            for (int h = 0; h < groups(); ++h)
                corner[g][h] = g == h ? static_cast<double>(diagonal[free_[g * second_]]) : base_[g][h * second_];
        }
        factor_.values.resize(m);
        scale_.assign(m, 0.0);
        for (Index i = 0; i < m; ++i) {
            const Index k = point(i);
            const int g = group(k);
            const T* const row = row_of(free_[k]);
            double* const to = factor_.values.row(i);
            const double own = static_cast<double>(diagonal[free_[k]]), to_own = base_[g][k];
            const double curve = own - 2 * to_own + corner[g][g] + ridge * (own + corner[g][g]);
            scale_[i] = curve > 0 ? 1 / std::sqrt(curve) : 0.0;
            for (Index j = 0; j < i; ++j) {
                const Index l = point(j);
                const int h = group(l);
                to[j] = scale_[i] * scale_[j] *
                        (static_cast<double>(row[free_[l]]) - base_[h][k] - base_[g][l] + corner[g][h]);
            }
            to[i] = scale_[i] > 0 ? 1.0 : 0.0;
        }
    }

    Array<Index> free_;
    Index second_ = 0;                   // first point of the second group, the number of points if there is one group
    std::array<Wiped<double>, 2> base_;  // rows of the references
    Array<double> scale_, solution_, direction_;
    Array<std::pair<Index, double>> held_;  // conditions, the solutions for them, and the products of both
    Array<Array<double>> columns_;
    Array<double> products_;
    l2::Cholesky<double> factor_;
};

}  // namespace hingeline::engine
