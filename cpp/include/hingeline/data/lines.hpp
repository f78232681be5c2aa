// Lines: a block of rows by their addresses, dense or CSR, and its products with weight vectors. A pass of a linear
// machine over its rows consists of these; the arithmetic is in vector/linear.hpp.
#pragma once

#include "hingeline/core/aligned.hpp"
#include "hingeline/data/rows.hpp"
#include "hingeline/vector/linear.hpp"
#include "hingeline/vector/tiles.hpp"

namespace hingeline {

/// Largest number of rows in a block.
inline constexpr Index lines_most = 256;

template <class Form> class Lines;

template <class T> class Lines<DenseRows<T>> {
  public:
    explicit Lines(const DenseRows<T>& x) : x_(x) { rows_.resize(lines_most + row_step); }
    Index d() const { return x_.d; }
    Index count() const { return count_; }
    /// Rows that stay in the second-level cache between a product and the product back.
    Index block() const {
        const Index fitting = (Index{256} << 10) / (std::max<Index>(x_.d, 1) * Index{sizeof(T)});
        return std::clamp<Index>(fitting, 16, lines_most);
    }
    void gather(Ids ids) {
        count_ = ids.count;
        if (x_.contiguous()) {
            for (Index i = 0; i < count_; ++i) rows_[i] = x_.row(ids[i]);
        } else {
            T* to = copy_.reserve(lines_most * x_.d);
            for (Index i = 0; i < count_; ++i, to += x_.d) {
                x_.copy_row(ids[i], to);
                rows_[i] = to;
            }
        }
    }
    void dots(const double* w, double* out) const { linear_ops<T>().line_dots(rows_.data(), count_, x_.d, w, out); }
    void add(const double* c, double* g) {
        some_.clear();
        factors_.clear();
        for (Index i = 0; i < count_; ++i)
            if (c[i] != 0) {
                some_.push_back(rows_[i]);
                factors_.push_back(c[i]);
            }
        linear_ops<T>().line_add(some_.data(), some_.size(), x_.d, factors_.data(), g);
    }
    /// The tile must have room up to the next multiple of `row_step` rows.
    void tile_dots(const double* panel, int vectors, double* tile) {
        const double* const* rows = wide();
        tile_ops<double>().dense(panel, vectors, x_.d, rows, static_cast<int>(count_), tile);
    }
    void tile_add(const double* tile, int vectors, double* panel) {
        linear_ops<double>().tile_add(wide(), count_, x_.d, tile, vectors, panel);
    }
    /// Row i as d values of either type.
    template <class V> void spread(Index i, V* out) const { std::copy_n(rows_[i], x_.d, out); }
    /// f(column, value) for the entries of row i.
    template <class F> void each_entry(Index i, F&& f) const {
        for (Index j = 0; j < x_.d; ++j) f(j, static_cast<double>(rows_[i][j]));
    }

  private:
    /// The rows as doubles; the last one is repeated up to a whole `row_step`.
    const double* const* wide() {
        wide_.resize(count_ + row_step);
        if constexpr (std::is_same_v<T, double>) {
            std::copy_n(rows_.data(), count_, wide_.data());
        } else {
            double* to = doubles_.reserve(lines_most * x_.d);
            for (Index i = 0; i < count_; ++i, to += x_.d) {
                std::copy_n(rows_[i], x_.d, to);
                wide_[i] = to;
            }
        }
        for (Index i = count_; i < count_ + row_step; ++i) wide_[i] = wide_[count_ - 1];
        return wide_.data();
    }
    DenseRows<T> x_;
    Index count_ = 0;
    Array<const T*> rows_, some_;
    Array<double> factors_;
    Array<const double*> wide_;
    Aligned<T> copy_;
    Aligned<double> doubles_;
};

template <class T, class I> class Lines<CsrRows<T, I>> {
  public:
    explicit Lines(const CsrRows<T, I>& x) : x_(x) { rows_.resize(lines_most); }
    Index d() const { return x_.d; }
    Index count() const { return count_; }
    Index block() const { return lines_most; }
    void gather(Ids ids) {
        count_ = ids.count;
        for (Index i = 0; i < count_; ++i) rows_[i] = x_.row(ids[i]);
    }
    void dots(const double* w, double* out) const {
        if constexpr (sizeof(I) == 4)
            linear_ops<T>().line_dots32(rows_.data(), count_, w, out);
        else
            linear_ops<T>().line_dots64(rows_.data(), count_, w, out);
    }
    void add(const double* c, double* g) const {
        if constexpr (sizeof(I) == 4)
            linear_ops<T>().line_add32(rows_.data(), count_, c, g);
        else
            linear_ops<T>().line_add64(rows_.data(), count_, c, g);
    }
    /// f(column, value) for the entries of row i.
    template <class F> void each_entry(Index i, F&& f) const {
        for (Index j = 0; j < rows_[i].count; ++j)
            f(static_cast<Index>(rows_[i].column[j]), static_cast<double>(rows_[i].value[j]));
    }
    void pairs(const double* h, double* a, Index ld) const {
        if constexpr (sizeof(I) == 4)
            linear_ops<T>().pairs32(rows_.data(), count_, h, a, ld);
        else
            linear_ops<T>().pairs64(rows_.data(), count_, h, a, ld);
    }
    void tile_dots(const double* panel, int vectors, double* tile) const {
        if constexpr (sizeof(I) == 4)
            linear_ops<T>().tile_dots32(rows_.data(), count_, panel, vectors, tile);
        else
            linear_ops<T>().tile_dots64(rows_.data(), count_, panel, vectors, tile);
    }
    void tile_add(const double* tile, int vectors, double* panel) const {
        if constexpr (sizeof(I) == 4)
            linear_ops<T>().tile_add32(rows_.data(), count_, tile, vectors, panel);
        else
            linear_ops<T>().tile_add64(rows_.data(), count_, tile, vectors, panel);
    }

  private:
    CsrRows<T, I> x_;
    Index count_ = 0;
    Array<SparseRow<T, I>> rows_;
};

}  // namespace hingeline
