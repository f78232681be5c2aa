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
    /// out += A p, both padded. Only the elements `wanted` are complete.
    void multiply(const double* p, const Array<char>& wanted, double* out) const {
        constexpr Index together = 8;  // rows of one length, which share p and out while they are in registers
        static_assert(pass_step % together == 0);
        const V* lines[together];
        Index at[together];
        double weights[together], products[together];
        for (Index first = 0; first < order(); first += together) {
            Index count = 0;
            for (Index i = first; i < std::min(first + together, order()); ++i)
                if (wanted[i] || p[i] != 0) at[count] = i, lines[count] = row(i), weights[count] = p[i], ++count;
            pass_ops<V>().combine_and_inner(lines, weights, count, padded(first + together), out, p, products);
            for (Index k = 0; k < count; ++k)
                out[at[k]] += products[k] - static_cast<double>(lines[k][at[k]]) * weights[k];
        }
    }

  private:
    Array<Index> start_{0};
    Aligned<V> values_;
};

template <class V> class Cholesky {
  public:
    /// Set the matrix here, then call `decompose`.
    Triangle<V> values;

    /// values = R R'. Pivots not above `least` are dropped: their columns of R become zeros. False when interrupted.
    bool decompose(V least, Interrupt* interrupt) {
        const auto& op = tile_ops<V>();
        const Index n = values.order(), width = op.lanes * vectors();
        panel_.reserve(width * std::max<Index>(n, 1));
        tile_.reserve(tile_rows * width);
        for (Index first = 0; first < n; first += width) {
            const Index end = std::min(first + width, n);
            if (!subtract_previous(first, end, interrupt)) return false;
            finish_panel(first, end, least);
        }
        return true;
    }
    /// x = (R R')^-1 x, padded; dropped pivots count as infinite.
    void solve(double* x) {
        const auto& op = pass_ops<V>();
        const Index n = values.order();
        y_.assign(padded(n), 0.0);
        for (Index i = 0; i < n; ++i) {
            const V* const row = values.row(i);
            y_[i] = row[i] > 0 ? (x[i] - op.inner(row, y_.data(), i)) / row[i] : 0.0;
        }
        for (Index i = n; i-- > 0;) {
            const V* const row = values.row(i);
            x[i] = row[i] > 0 ? y_[i] / row[i] : 0.0;
            const double step = -x[i];
            op.combine(&row, &step, 1, 0, padded(i + 1), y_.data());
        }
    }

  private:
    /// Of a panel. Finishing it takes longer in proportion to its width.
    static int vectors() { return std::clamp(widest / tile_ops<V>().lanes, 1, tile_ops<V>().max_vectors); }
    static constexpr int widest = 32;

    /// Columns first..end of the rows from `first` on, less the products of the columns before them.
    bool subtract_previous(Index first, Index end, Interrupt* interrupt) {
        if (first == 0) return true;
        const auto& op = tile_ops<V>();
        const Index n = values.order(), width = op.lanes * vectors();
        rows_.resize(std::max<Index>(width, tile_rows));
        for (Index q = 0; q < width; ++q) rows_[q] = values.row(std::min(first + q, end - 1));
        op.pack(rows_.data(), vectors(), first, panel_.data());
        for (Index from = first; from < n; from += tile_rows) {
            const int count = static_cast<int>(std::min<Index>(tile_rows, n - from));
            for (int r = 0; r < tile_rows; ++r) rows_[r] = values.row(from + std::min(r, count - 1));
            op.dense(panel_.data(), vectors(), first, rows_.data(), count, tile_.data());
            for (int r = 0; r < count; ++r) {
                V* const to = values.row(from + r) + first;
                const V* const product = tile_.data() + r * width;
                for (Index q = 0; q < std::min(end, from + r + 1) - first; ++q) to[q] -= product[q];
            }
            if (interrupt && interrupt->requested()) return false;
        }
        return true;
    }
    /// Columns first..end of the rows from `first` on.
    void finish_panel(Index first, Index end, V least) {
        const Index n = values.order(), width = end - first;
        corner_.assign(width * width, V(0));
        for (Index at = 0; at < width; ++at) {
            V* const row = values.row(first + at) + first;
            eliminate(first + at, 1, first, at, width);
            for (Index j = 0; j < at; ++j) row[at] -= row[j] * row[j];
            row[at] = row[at] > least ? std::sqrt(row[at]) : V(0);
            for (Index j = 0; j <= at; ++j) corner_[j * width + at] = row[j];
        }
        constexpr Index together = 8;  // independent rows, so that their chains of operations overlap
        for (Index i = end; i < n; i += together) eliminate(i, std::min(together, n - i), first, width, width);
    }
    /// Solve for the first `columns` of a panel in `count` rows.
    void eliminate(Index from, Index count, Index first, Index columns, Index width) {
        for (Index j = 0; j < columns; ++j) {
            const V* const column = corner_.data() + j * width;
            for (Index i = from; i < from + count; ++i) {
                V* const row = values.row(i) + first;
                const V x = row[j] = column[j] > 0 ? row[j] / column[j] : V(0);
                for (Index k = j + 1; k < columns; ++k) row[k] -= x * column[k];
            }
        }
    }

    Aligned<V> panel_, tile_;
    Array<const V*> rows_;
    Array<V> corner_;  // R on the diagonal of a panel, by columns
    Array<double> y_;
};

}  // namespace hingeline::l2
