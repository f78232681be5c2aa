// The inverse Q of the margin system R = [[0, 1^T], [1, K_MM]], updated as points enter and leave M ([INC] 2.4).
//
// Q is symmetric: only its lower triangle is stored, row behind row, so that a point enters by appending a row
// (eq. 16 as row additions, eq. 31) and leaves by changing places with the last. Row 0 belongs to the multiplier.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "hingeline/data/wipe.hpp"
#include "hingeline/kernel/ops.hpp"

namespace hingeline {

class Inverse {
  public:
    /// Rows: one more than points, or none.
    Index size() const { return m_; }
    std::size_t bytes() const { return q_.capacity() * sizeof(double); }
    const Wiped<double>& packed() const { return q_; }
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
    /// Back to what `packed` gave.
    void load(const double* values, Index rows) {
        q_.assign(values, values + rows * (rows + 1) / 2);
        m_ = rows;
    }

    /// y = Q x.
    void multiply(const double* x, double* y) const { ops<double>().packed_multiply(q_.data(), m_, x, y); }

    /// A point enters: b = -Q (1, K_Mk), kappa = K_kk + (1, K_Mk) b > 0.
    void append(const double* b, double kappa) {
        const std::size_t wanted = q_.size() + static_cast<std::size_t>(m_ + 1);
        if (wanted > q_.capacity()) q_.reserve(wanted + wanted / 2);  // before anything changes: it may throw
        ops<double>().packed_update(q_.data(), m_, 1.0 / kappa, b);
        for (Index j = 0; j < m_; ++j) q_.push_back(b[j] / kappa);
        q_.push_back(1.0 / kappa);
        ++m_;
    }

    /// Row p >= 1 leaves, and the last one takes its place.
    void remove(Index p) {
        const Index last = m_ - 1;
        if (m_ == 2) return clear();
        if (p != last) {
            for (Index j = 0; j < p; ++j) std::swap(at(p, j), at(last, j));
            for (Index j = p + 1; j < last; ++j) std::swap(at(j, p), at(last, j));
            std::swap(at(p, p), at(last, last));
        }
        const double* row = &at(last, 0);
        ops<double>().packed_update(q_.data(), last, -1.0 / row[last], row);
        std::fill(q_.end() - m_, q_.end(), 0.0);
        q_.resize(static_cast<std::size_t>(last * m_ / 2));
        m_ = last;
    }

    /// The largest sum of absolute values in a row.
    double norm() const {
        std::vector<double> sums(static_cast<std::size_t>(m_), 0.0);
        for (Index i = 0; i < m_; ++i)
            for (Index j = 0; j <= i; ++j) {
                const double size = std::abs(q_[static_cast<std::size_t>(i * (i + 1) / 2 + j)]);
                sums[static_cast<std::size_t>(i)] += size;
                if (j < i) sums[static_cast<std::size_t>(j)] += size;
            }
        return sums.empty() ? 0.0 : *std::max_element(sums.begin(), sums.end());
    }

  private:
    double& at(Index i, Index j) { return q_[static_cast<std::size_t>(i * (i + 1) / 2 + j)]; }
    Index m_ = 0;
    Wiped<double> q_;
};

}  // namespace hingeline
