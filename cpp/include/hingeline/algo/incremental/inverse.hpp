// The inverse Q of the margin system R = [[0, 1^T], [1, K_MM]], updated as points enter and leave M ([INC] 2.4).
//
// Q is symmetric: only its lower triangle is stored, row after row, so that a point enters by appending a row (eq. 16
// as row additions, eq. 31) and leaves after it is exchanged with the last. Row 0 belongs to the multiplier mu.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "hingeline/core/wipe.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline {

/// Numbers computed from kernel values; wiped like them.
using Numbers = Wiped<double>;

class Inverse {
  public:
    /// Number of rows: one more than points, or 0.
    Index size() const { return m_; }
    std::size_t bytes() const { return static_cast<std::size_t>(q_.capacity()) * sizeof(double); }
    const Numbers& entries() const { return q_; }
    void clear() {
        std::fill(q_.begin(), q_.end(), 0.0);
        q_.clear();
        m_ = 0;
    }
    /// The first point, with K_kk.
    void start(double diagonal) {
        q_ = {-diagonal, 1.0, 0.0};
        m_ = 2;
    }
    /// Restore what `packed` returned.
    void load(const double* values, Index rows) {
        q_.assign(values, values + rows * (rows + 1) / 2);
        m_ = rows;
    }

    /// y = Q x.
    void multiply(const double* x, double* y) const { packed_ops().multiply(q_.data(), m_, x, y); }

    /// A point enters: b = -Q (1, K_Mk), kappa = K_kk + (1, K_Mk) b > 0.
    void append(const double* b, double kappa) {
        const Index wanted = q_.size() + (m_ + 1);
        if (wanted > q_.capacity()) q_.reserve(wanted + wanted / 2);  // before anything changes, since it may throw
        packed_ops().update(q_.data(), m_, 1.0 / kappa, &b, 1);
        for (Index j = 0; j < m_; ++j) q_.push_back(b[j] / kappa);
        q_.push_back(1.0 / kappa);
        ++m_;
    }

    /// Several points enter: b_k = -Q (1, K_Mk), and the lower triangle of kappa, K_kl + (1, K_Mk) b_l, row by row.
    /// Points whose pivot is not above `least` are left out. Returns which points were kept. There is a first point.
    Array<char> append(Array<Numbers>& b, Array<Numbers>& kappa, double least) {
        if (m_ == 0) throw std::logic_error("no first point");
        const Index count = b.size();
        Array<char> kept(count, 0);
        Array<Numbers> rows;  // of L^-1 (b, 1), kappa = L L^T
        Array<Index> place;
        for (Index k = 0; k < count; ++k) {
            Numbers& row = kappa[k];  // becomes a row of L
            double pivot = row[k];
            for (Index i = 0; i < place.size(); ++i) {
                double sum = row[place[i]];
                for (Index j = 0; j < i; ++j) sum -= row[place[j]] * kappa[place[i]][place[j]];
                row[place[i]] = sum / kappa[place[i]][place[i]];
                pivot -= row[place[i]] * row[place[i]];
            }
            if (!(pivot > least)) continue;
            row[k] = std::sqrt(pivot);
            Numbers v = std::move(b[k]);
            v.resize(m_ + place.size(), 0.0);
            v.push_back(1.0);
            for (Index i = 0; i < place.size(); ++i)
                for (Index j = 0; j < rows[i].size(); ++j) v[j] -= row[place[i]] * rows[i][j];
            for (double& x : v) x /= row[k];
            rows.push_back(std::move(v));
            place.push_back(k);
            kept[k] = 1;
        }
        const Index after = m_ + rows.size();
        q_.resize(after * (after + 1) / 2, 0.0);
        m_ = after;
        update(rows, 1.0);
        return kept;
    }

    /// Remove row p >= 1; the last one takes its place.
    void remove(Index p) {
        const Index last = m_ - 1;
        if (m_ == 2) return clear();
        exchange(p, last);
        const double* row = &at(last, 0);
        packed_ops().update(q_.data(), last, -1.0 / row[last], &row, 1);
        shorten(last);
    }

    /// Remove several rows >= 1, given in descending order, but not all: each is exchanged with the last remaining row.
    void remove(const Array<Index>& which) {
        Index last = m_;
        for (const Index p : which) exchange(p, --last);
        Array<Numbers> rows;  // of L^-1 Q_21, Q_22 = L L^T
        Array<Numbers> lower;
        for (Index k = last; k < m_; ++k) {
            Numbers row(&at(k, 0), &at(k, 0) + k + 1), v(row.begin(), row.begin() + last);
            Numbers factor(row.begin() + last, row.end());
            const Index own = factor.size() - 1;
            double pivot = factor[own];
            for (Index i = 0; i < own; ++i) {
                for (Index j = 0; j < i; ++j) factor[i] -= factor[j] * lower[i][j];
                factor[i] /= lower[i][i];
                pivot -= factor[i] * factor[i];
                for (Index j = 0; j < v.size(); ++j) v[j] -= factor[i] * rows[i][j];
            }
            factor[own] = std::sqrt(pivot);
            for (double& x : v) x /= factor[own];
            rows.push_back(std::move(v));
            lower.push_back(std::move(factor));
        }
        shorten(last);
        update(rows, -1.0);
    }

    /// The largest sum of absolute values in a row.
    double norm() const {
        Numbers sums(m_, 0.0);
        for (Index i = 0; i < m_; ++i)
            for (Index j = 0; j <= i; ++j) {
                const double size = std::abs(q_[i * (i + 1) / 2 + j]);
                sums[i] += size;
                if (j < i) sums[j] += size;
            }
        return sums.empty() ? 0.0 : *std::max_element(sums.begin(), sums.end());
    }

  private:
    void exchange(Index p, Index last) {
        if (p == last) return;
        for (Index j = 0; j < p; ++j) std::swap(at(p, j), at(last, j));
        for (Index j = p + 1; j < last; ++j) std::swap(at(j, p), at(last, j));
        std::swap(at(p, p), at(last, last));
        for (Index j = last + 1; j < m_; ++j) std::swap(at(j, p), at(j, last));
    }
    void shorten(Index rows) {
        std::fill(q_.begin() + rows * (rows + 1) / 2, q_.end(), 0.0);
        q_.resize(rows * (rows + 1) / 2);
        m_ = rows;
    }
    /// Q += scale sum v v^T; the vectors may be shorter than Q is wide.
    void update(Array<Numbers>& rows, double scale) {
        Array<const double*> pointers;
        for (Numbers& row : rows) {
            row.resize(m_, 0.0);
            pointers.push_back(row.data());
        }
        packed_ops().update(q_.data(), m_, scale, pointers.data(), pointers.size());
    }
    double& at(Index i, Index j) { return q_[i * (i + 1) / 2 + j]; }
    Index m_ = 0;
    Numbers q_;
};

}  // namespace hingeline
