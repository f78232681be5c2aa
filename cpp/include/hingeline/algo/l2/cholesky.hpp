// Triangle: a symmetric matrix as the rows of its lower triangle. Cholesky: its factor, in place.
#pragma once

#include <algorithm>
#include <cmath>

#include "hingeline/core/aligned.hpp"
#include "hingeline/core/array.hpp"
#include "hingeline/core/interrupt.hpp"
#include "hingeline/vector/passes.hpp"
#include "hingeline/vector/tiles.hpp"

namespace hingeline::l2 {

/// Each row is padded with zeros for vector passes.
template <class V> class Triangle {
  public:
    void resize(Index order) {
        start_.assign(order + 1, 0);
        for (Index i = 0; i < order; ++i) start_[i + 1] = start_[i] + padded(i + 1);
        std::fill_n(values_.reserve(start_[order]), start_[order], V(0));
    }
    Index order() const { return start_.size() - 1; }
    V* row(Index i) { return values_.data() + start_[i]; }
    const V* row(Index i) const { return values_.data() + start_[i]; }
    /// out += A p; both padded.
    void multiply(const double* p, double* out) const {
        const auto& op = pass_ops<V>();
        for (Index i = 0; i < order(); ++i) {
            const V* const line = row(i);
            out[i] += op.inner(line, p, i + 1) - static_cast<double>(line[i]) * p[i];
            op.combine(&line, p + i, 1, 0, padded(i + 1), out);
        }
    }

  private:
    Array<Index> start_{0};
    Aligned<V> values_;
};

class Cholesky {
  public:
    /// Set the matrix here, then call `decompose`.
    Triangle<double> values;

    /// values = R R'. Pivots not above `least` are dropped: their columns of R become zeros. False when interrupted.
    bool decompose(double least, Interrupt* interrupt) {
        const auto& op = tile_ops<double>();
        const Index n = values.order(), width = op.lanes * op.max_vectors;
        panel_.reserve(width * std::max<Index>(n, 1));
        tile_.reserve(tile_rows * width);
        for (Index first = 0; first < n; first += width) {
            const Index end = std::min(first + width, n);
            if (!subtract_previous(first, end, interrupt)) return false;
            for (Index i = first; i < n; ++i) finish_row(i, first, end, least);
        }
        return true;
    }
    /// x = (R R')^-1 x, padded; dropped pivots count as infinite.
    void solve(double* x) {
        const auto& op = pass_ops<double>();
        const Index n = values.order();
        y_.assign(padded(n), 0.0);
        for (Index i = 0; i < n; ++i) {
            const double* const row = values.row(i);
            y_[i] = row[i] > 0 ? (x[i] - op.inner(row, y_.data(), i)) / row[i] : 0.0;
        }
        for (Index i = n; i-- > 0;) {
            const double* const row = values.row(i);
            x[i] = row[i] > 0 ? y_[i] / row[i] : 0.0;
            const double step = -x[i];
            op.combine(&row, &step, 1, 0, padded(i + 1), y_.data());
        }
    }

  private:
    /// Columns first..end of the rows from `first` on, less the products of the columns before them.
    bool subtract_previous(Index first, Index end, Interrupt* interrupt) {
        if (first == 0) return true;
        const auto& op = tile_ops<double>();
        const Index n = values.order(), width = op.lanes * op.max_vectors;
        rows_.resize(std::max<Index>(width, tile_rows));
        for (Index q = 0; q < width; ++q) rows_[q] = values.row(std::min(first + q, end - 1));
        op.pack(rows_.data(), op.max_vectors, first, panel_.data());
        for (Index from = first; from < n; from += tile_rows) {
            const int count = static_cast<int>(std::min<Index>(tile_rows, n - from));
            for (int r = 0; r < tile_rows; ++r) rows_[r] = values.row(from + std::min(r, count - 1));
            op.dense(panel_.data(), op.max_vectors, first, rows_.data(), count, tile_.data());
            for (int r = 0; r < count; ++r) {
                double* const to = values.row(from + r) + first;
                const double* const product = tile_.data() + r * width;
                for (Index q = 0; q < std::min(end, from + r + 1) - first; ++q) to[q] -= product[q];
            }
            if (interrupt && interrupt->requested()) return false;
        }
        return true;
    }
    /// Columns first..end of row i, whose rows above are finished.
    void finish_row(Index i, Index first, Index end, double least) {
        double* const row = values.row(i);
        for (Index j = first; j < std::min(end, i + 1); ++j) {
            const double* const other = values.row(j);
            double sum = row[j];
            for (Index k = first; k < j; ++k) sum -= row[k] * other[k];
            if (j < i)
                row[j] = other[j] > 0 ? sum / other[j] : 0.0;
            else
                row[j] = sum > least ? std::sqrt(sum) : 0.0;
        }
    }

    Aligned<double> panel_, tile_;
    Array<const double*> rows_;
    Array<double> y_;
};

}  // namespace hingeline::l2
