// Sources of kernel values. A source has
//
//     Value                                      type of its kernel values
//     columns(queries, base, columns, scratch)   columns[q][j] = K(base[j], queries[q]); false when interrupted
//     block()                                    largest number of queries of one call of `columns`
//     grain()                                    smallest number of queries worth a call: fewer cost as much
//     blocks_pay()                               whether a block is cheaper than its queries one by one
//     prepare(base, scratch, budget)             promise to use these base rows until the next promise
//
// Queries and base rows are row numbers. `Gram` (gram.hpp) computes the values, `Gathered` reads them from a kernel
// matrix, `Called` asks a function.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "hingeline/core/interrupt.hpp"
#include "hingeline/kernel/panel.hpp"

namespace hingeline {

/// Buffers of one thread, and the interrupt it polls.
template <class T> struct Scratch {
    Panel<T> panel;
    Aligned<T> tile, row_norms, copies;
    Array<const T*> rows;
    Array<T*> lines;
    Array<Index> run;
    Array<Panel<T>> kept;  // base rows in panels, from one `prepare` to the next
    Array<SparseRow<T, std::int32_t>> sparse32;
    Array<SparseRow<T, std::int64_t>> sparse64;
    Interrupt* interrupt = nullptr;
    bool interrupted() { return interrupt && interrupt->requested(); }
};

/// A precomputed kernel matrix: columns[q][j] = K[queries[q]][base[j]]. With `rows`, which must outlive this, row
/// number i of the source is rows[i] of the matrix.
template <class T> class Gathered {
  public:
    using Value = T;
    explicit Gathered(const DenseRows<T>& matrix) : Gathered(matrix, Ids::run(0, matrix.n)) {}
    Gathered(const DenseRows<T>& matrix, Ids rows) : matrix_(matrix), rows_(rows) {}
    Index size() const { return rows_.count; }
    T value(Index i, Index j) const { return line(i)[place(j)]; }
    /// K(i, j) = line(i)[place(j)].
    const T* line(Index i) const { return matrix_.row(rows_[i]); }
    Index place(Index j) const { return rows_[j] * matrix_.column_stride; }
    static int block() { return 1; }
    static int grain() { return 1; }
    static bool blocks_pay() { return false; }
    static void prepare(Ids, Scratch<T>&, std::size_t) {}
    bool columns(Ids queries, Ids base, T* const* columns, Scratch<T>& s) const {
        for (Index q = 0; q < queries.count; ++q) {
            if (s.interrupted()) return false;
            const T* row = matrix_.row(rows_[queries[q]]);
            for (Index j = 0; j < base.count; ++j) columns[q][j] = row[rows_[base[j]] * matrix_.column_stride];
        }
        return true;
    }

  private:
    DenseRows<T> matrix_;
    Ids rows_;
};

/// A function that fills columns[q][j]. It runs on the calling thread only.
template <class T> class Called {
  public:
    using Value = T;
    using Function = std::function<void(Ids queries, Ids base, T* const* columns)>;
    Called(Index size, Function f) : size_(size), f_(std::move(f)) {}
    Index size() const { return size_; }
    static int block() { return 64; }
    static int grain() { return 1; }
    static bool blocks_pay() { return true; }
    static void prepare(Ids, Scratch<T>&, std::size_t) {}
    bool columns(Ids queries, Ids base, T* const* columns, Scratch<T>& s) const {
        if (s.interrupted()) return false;
        f_(queries, base, columns);
        return true;
    }

  private:
    Index size_;
    Function f_;
};

/// Throw if coefficients up to `box` times kernel values may leave the range of the type.
template <class Source> void require_range(const Source& source, double box, bool single) {
    if constexpr (requires { source.largest(); }) {
        if (box * source.largest() <= (single ? 1e30 : 1e200)) return;
        throw std::invalid_argument("C times the weights times the largest kernel value leaves the range of " +
                                    std::string(single ? "float32; scale the features, lower C, or give float64 data"
                                                       : "float64; scale the features or lower C"));
    }
}

}  // namespace hingeline
