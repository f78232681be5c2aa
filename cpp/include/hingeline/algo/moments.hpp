// Second moments: A += sum_i h_i x_i x_i^T over selected rows, the lower triangle of a square matrix stored by rows.
//
// Dense rows are collected by the hundred and multiplied in tiles of vector/tiles.hpp: the block itself is the panel,
// and a transposed copy, multiplied by h, gives the rows of the tile. Sparse rows add their pairs of entries one by
// one. Sums run over rows in the order given.
#pragma once

#include "hingeline/kernel/landmarks.hpp"

namespace hingeline {

/// V is the type of products and of their sums over some rows; sums over all rows are in double.
template <class Form, class V> class Moments;

template <class T, class V> class Moments<DenseRows<T>, V> {
  public:
    Moments(Index d, double* a, Index ld) : d_(d), ld_(ld), a_(a) {
        const auto& op = tile_ops<V>();
        width_ = vectors * op.lanes;
        panels_ = (d + width_ - 1) / width_;
        depth_ = d < 512 ? 128 : 512;  // a large matrix leaves the caches between two products
        panel_.reserve(size(panels_ * width_ * depth_));
        scaled_.reserve(size(panels_ * width_ * depth_));
        turned_.reserve(size((d + row_step) * depth_));
        tile_.reserve(size(tile_rows * width_));
    }
    void add(const Lines<DenseRows<T>>& lines, const double* h) {
        for (Index i = 0; i < lines.count(); ++i) {
            if (h[i] == 0) continue;
            V* row = scaled_.data() + filled_ * panels_ * width_;
            lines.spread(i, row);
            std::fill(row + d_, row + panels_ * width_, V(0));
            for (Index p = 0; p < panels_; ++p)
                std::copy_n(row + p * width_, width_, panel_.data() + (p * depth_ + filled_) * width_);
            const V factor = static_cast<V>(h[i]);
            for (Index j = 0; j < d_; ++j) row[j] *= factor;
            if (++filled_ == depth_) flush();
        }
    }
    void flush() {
        if (filled_ == 0) return;
        const auto& op = tile_ops<V>();
        const Index lines = panels_ * width_;
        const Index vectors_deep = (filled_ + op.lanes - 1) / op.lanes, deep = vectors_deep * op.lanes;
        // Rows beyond the last one are zero in the copy that is multiplied by h, so they have no effect.
        std::fill(scaled_.data() + filled_ * lines, scaled_.data() + deep * lines, V(0));
        for (Index p = 0; p < panels_; ++p)
            std::fill(panel_.data() + (p * depth_ + filled_) * width_, panel_.data() + (p * depth_ + deep) * width_,
                      V(0));
        std::vector<const V*> rows(size(deep));
        for (Index r = 0; r < deep; ++r) rows[size(r)] = scaled_.data() + r * lines;
        op.pack(rows.data(), static_cast<int>(vectors_deep), d_, turned_.data());
        std::vector<const V*> strips(size(d_ + row_step));
        for (Index f = 0; f < d_ + row_step; ++f) strips[size(f)] = turned_.data() + std::min(f, d_ - 1) * deep;
        for (Index p = 0; p < panels_; ++p) {  // a panel stays in the first-level cache, strips are streamed
            const Index from = p * width_, columns = std::min(width_, d_ - from);
            for (Index f = from / row_step * row_step; f < d_; f += row_step) {
                const Index some = std::min<Index>(row_step, d_ - f);
                op.dense(panel_.data() + p * depth_ * width_, vectors, deep, strips.data() + f, static_cast<int>(some),
                         tile_.data());
                for (Index r = 0; r < some; ++r) {
                    double* to = a_ + (f + r) * ld_ + from;
                    const V* tile = tile_.data() + r * width_;
                    for (Index q = 0; q < columns; ++q) to[q] += static_cast<double>(tile[q]);
                }
            }
        }
        filled_ = 0;
    }

  private:
    static constexpr int vectors = 2;  // narrower panels waste less above the diagonal
    static std::size_t size(Index n) { return static_cast<std::size_t>(n); }
    Index d_, ld_, width_ = 0, panels_ = 0, filled_ = 0;
    Index depth_ = 0;  // rows to a product; a multiple of every lane count
    double* a_;
    Aligned<V> panel_, scaled_, turned_, tile_;
};

template <class T, class V> class Moments<KernelRows<T>, V> : public Moments<DenseRows<T>, V> {
    using Moments<DenseRows<T>, V>::Moments;
};

template <class T, class I, class V> class Moments<CsrRows<T, I>, V> {
  public:
    Moments(Index, double* a, Index ld) : ld_(ld), a_(a) {}
    void add(const Lines<CsrRows<T, I>>& lines, const double* h) { lines.pairs(h, a_, ld_); }
    void flush() {}

  private:
    Index ld_;
    double* a_;
};

}  // namespace hingeline
