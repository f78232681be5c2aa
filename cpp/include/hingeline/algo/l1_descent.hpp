// Coordinate descent on the models of a proximal Newton method with an L1 penalty.
//
// Problem. A model of the losses around w, with gradient g and Hessian H, and the penalty itself:
//
//     min over z    g.(z - w) + 1/2 (z - w)' H (z - w) + lambda |z|_1
//
//     repeat for the coordinates j:
//         q = g_j + (H (z - w))_j;  z_j = soft(H_jj z_j - q, lambda) / H_jj,  soft(a, l) = sign(a) max(0, |a| - l)
//
// H_jj = 0 where no row with curvature has the feature; for the squared hinge q = 0 then, and z_j = 0 is the minimum.
//
// H is given as a matrix (few features), or as X^T D X with weights D of the rows: then (H (z - w))_j comes from
// r = D X (z - w), which is kept up to date, and a coordinate costs two passes over its column of X.
//
// The violation of a coordinate is the distance of -q from the subdifferential of lambda |z_j|.
//
// Papers. Yuan, Ho, Lin, "An improved GLMNET for L1-regularized logistic regression", JMLR 13, 2012, whose shrinking is
// here: a coordinate at zero is left out while its gradient is smaller than lambda by more than the largest violation
// of the last sweep. The driver (Python, linear/l1.py) evaluates all coordinates again.
#pragma once

#include <cmath>
#include <vector>

#include "hingeline/core/interrupt.hpp"
#include "hingeline/data/rows.hpp"

namespace hingeline::l1_descent {

inline double soft(double a, double lambda) { return std::copysign(std::max(0.0, std::abs(a) - lambda), a); }

/// Change of a coordinate to its minimum.
inline double step(double own, double q, double z, double lambda) {
    return (own > 0 ? soft(own * z - q, lambda) / own : 0.0) - z;
}

/// Distance of -q from lambda times the subdifferential of |z|.
inline double violation(double q, double z, double lambda) {
    return z != 0 ? std::abs(q + std::copysign(lambda, z)) : std::max(0.0, std::abs(q) - lambda);
}

/// At most `sweeps` sweeps over the coordinates of a model with the symmetric matrix h of n lines, until the largest
/// violation is at most tol. q (the gradient at z) and z are updated. Returns the largest violation at the end.
///
/// A sweep over all coordinates is followed by sweeps over those that are not zero.
inline double descend(const double* h, Index n, double* q, double* z, double lambda, double tol, Index sweeps) {
    const auto update = [&](Index j) {
        const double* line = h + j * n;
        const double change = step(line[j], q[j], z[j], lambda);
        if (change == 0) return;
        z[j] += change;
        for (Index k = 0; k < n; ++k) q[k] += change * line[k];
    };
    const auto worst = [&](bool nonzero) {
        double most = 0;
        for (Index j = 0; j < n; ++j)
            if (z[j] != 0 || !nonzero) most = std::max(most, violation(q[j], z[j], lambda));
        return most;
    };
    for (Index sweep = 0; sweep < sweeps;) {
        for (Index j = 0; j < n; ++j) update(j);
        ++sweep;
        if (worst(false) <= tol) break;
        for (; sweep < sweeps && worst(true) > tol; ++sweep)
            for (Index j = 0; j < n; ++j)
                if (z[j] != 0) update(j);
    }
    return worst(false);
}

/// A model with Hessian X^T D X. A line of `columns` is a feature; the threshold, if there is one, is a feature with
/// the value -offset in every row.
template <class T> class Model {
  public:
    /// `weights`: D, one per row.
    Model(const Rows<T>& columns, const double* weights, Index rows, bool threshold, double offset)
        : columns_(columns), rows_(size(rows)), features_(row_count(columns)), threshold_(threshold), offset_(offset) {
        for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].weight = weights[i];
    }

    /// At most `sweeps` sweeps from z over the coordinates that are not zero or have a violation. g is the gradient
    /// there. Ends when the largest violation seen in a sweep is at most tol. Returns the number of entries visited.
    double descend(const double* g, double* z, double lambda, double tol, Index sweeps, Interrupt* interrupt) {
        std::vector<Index> left;
        for (Index j = 0; j < features_ + threshold_; ++j)
            if (z[j] != 0 || violation(g[j], z[j], lambda) > 0) left.push_back(j);
        curvature_.assign(left.size(), 0.0);
        double entries = 0, last = std::numeric_limits<double>::infinity();
        for (Index sweep = 0; sweep < sweeps && !left.empty(); ++sweep) {
            double most = 0;
            std::size_t kept = 0;
            for (std::size_t place = 0; place < left.size(); ++place) {
                if (place % 64 == 0 && interrupt && interrupt->requested()) return entries;
                const Index j = left[place];
                const double own = sweep == 0 ? bend(j) : curvature_[place];
                const double q = g[j] + slope(j);
                entries += static_cast<double>(count(j));
                if (z[j] == 0 && (own <= 0 || std::abs(q) < lambda - last)) continue;
                left[kept] = j, curvature_[kept] = own, ++kept;
                most = std::max(most, violation(q, z[j], lambda));
                const double change = step(own, q, z[j], lambda);
                if (change == 0) continue;
                z[j] += change;
                add(j, change);
                entries += static_cast<double>(count(j));
            }
            left.resize(kept);
            if (most <= tol) break;
            last = most;
        }
        return entries;
    }

  private:
    struct Row {
        double weight = 0, moved = 0;  // D, and D times the change of the output
    };
    static std::size_t size(Index n) { return static_cast<std::size_t>(n); }

    /// f(row, value) for the entries of column j.
    template <class F> void each(Index j, F&& f) {
        if (j == features_) {
            for (Row& row : rows_) f(row, -offset_);
            return;
        }
        std::visit(
            [&](const auto& x) {
                if constexpr (std::is_same_v<std::decay_t<decltype(x)>, DenseRows<T>>) {
                    const T* column = x.row(j);
                    for (Index i = 0; i < x.d; ++i) f(rows_[size(i)], static_cast<double>(column[i * x.column_stride]));
                } else {
                    const auto column = x.row(j);
                    for (Index k = 0; k < column.count; ++k)
                        f(rows_[size(column.column[k])], static_cast<double>(column.value[k]));
                }
            },
            columns_);
    }
    Index count(Index j) const {
        if (j == features_) return static_cast<Index>(rows_.size());
        return std::visit(
            [&](const auto& x) {
                if constexpr (std::is_same_v<std::decay_t<decltype(x)>, DenseRows<T>>)
                    return x.d;
                else
                    return x.row(j).count;
            },
            columns_);
    }
    double bend(Index j) {
        double sum = 0;
        each(j, [&](Row& row, double value) { sum += row.weight * value * value; });
        return sum;
    }
    double slope(Index j) {
        double sum = 0;
        each(j, [&](Row& row, double value) { sum += row.moved * value; });
        return sum;
    }
    void add(Index j, double change) {
        each(j, [&](Row& row, double value) { row.moved += change * row.weight * value; });
    }

    const Rows<T>& columns_;
    std::vector<Row> rows_;
    std::vector<double> curvature_;  // H_jj of the coordinates that are left
    const Index features_;
    const bool threshold_;
    const double offset_;
};

}  // namespace hingeline::l1_descent
