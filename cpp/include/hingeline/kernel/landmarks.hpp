// Rows as vectors of kernel values: entry j of row i is K(x_i, landmark j), computed when it is needed, and products of
// such vectors with a matrix. The Nystroem map of a row is its vector times the inverse square root of the landmarks'
// kernel matrix.
//
// Sums run in one fixed order for each entry (vector/tiles.hpp), so results do not depend on blocks and threads.
#pragma once

#include "hingeline/data/lines.hpp"
#include "hingeline/kernel/gram.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline {

/// Rows of X as vectors of kernel values in the precision T of the landmarks. Both must outlive this.
template <class T> struct KernelRows {
    using Value = T;
    const Gram<T>* landmarks = nullptr;
    std::variant<Rows<float>, Rows<double>> x;
    Index n = 0, d = 0;  // rows of X, landmarks

    template <class S> KernelRows(const Gram<T>& gram, const Rows<S>& rows)
        : landmarks(&gram), x(rows), n(row_count(rows)), d(gram.size()) {}

    /// out[i][j] = K(x[ids[i]], landmark j). False when interrupted.
    bool values(Ids ids, T* const* out, Scratch<T>& s) const {
        return std::visit(
            [&](const auto& rows) {
                for (Index at = 0; at < ids.count; at += Gram<T>::block()) {
                    const Ids some = ids.part(at, std::min<Index>(Gram<T>::block(), ids.count - at));
                    if (!landmarks->against(rows, some, out + at, s)) return false;
                }
                return true;
            },
            x);
    }
};

/// A block of such rows, computed by `gather`. It has the size of a block of dense rows, so sums have the same bits.
template <class T> struct KernelBlock {
    Aligned<T> values;
    Scratch<T> scratch;
    Array<T*> out;
};
template <class T> class Lines<KernelRows<T>> : KernelBlock<T>, public Lines<DenseRows<T>> {
  public:
    explicit Lines(const KernelRows<T>& x)
        : Lines<DenseRows<T>>(DenseRows<T>{this->values.reserve(lines_most * x.d), lines_most, x.d, x.d, 1}), x_(x) {
        for (Index i = 0; i < lines_most; ++i) this->out.push_back(this->values.data() + i * x.d);
    }
    void gather(Ids ids) {
        x_.values(ids, this->out.data(), this->scratch);
        Lines<DenseRows<T>>::gather(Ids::run(0, ids.count));
    }

  private:
    KernelRows<T> x_;
};

/// Calls f(first row, number of rows, their vectors of kernel values, rank) for blocks of rows. False when interrupted.
/// The vectors end with copies of the last one, up to a multiple of `row_step`.
template <class T, class F> bool each_block(const KernelRows<T>& x, int threads, Interrupt* interrupt, F&& f) {
    const Index block = Index{4} * Gram<T>::block();
    std::vector<KernelBlock<T>> blocks(static_cast<std::size_t>(std::max(threads, 1)));
    run_tasks((x.n + block - 1) / block, threads, interrupt, [&](Index task, int rank) {
        KernelBlock<T>& mine = blocks[static_cast<std::size_t>(rank)];
        mine.scratch.interrupt = interrupt;
        const Index from = task * block, count = std::min(block, x.n - from);
        T* values = mine.values.reserve(block * x.d);
        mine.out.resize(block + row_step);
        for (Index i = 0; i < block + row_step; ++i) mine.out[i] = values + std::min(i, count - 1) * x.d;
        if (x.values(Ids::run(from, count), mine.out.data(), mine.scratch)) f(from, count, mine.out.data(), rank);
    });
    return !(interrupt && interrupt->requested());
}

/// out[i * landmarks + j] = K(x_i, landmark j). False when interrupted.
template <class T> bool kernel_values(const KernelRows<T>& x, int threads, Interrupt* interrupt, T* out) {
    return each_block(x, threads, interrupt, [&](Index from, Index count, T* const* rows, int) {
        for (Index i = 0; i < count; ++i) std::copy_n(rows[i], x.d, out + (from + i) * x.d);
    });
}

/// out[i * rows + r] = sum_j matrix[r * landmarks + j] K(x_i, landmark j). False when interrupted.
template <class T>
bool map_rows(const KernelRows<T>& x, const T* matrix, Index rows, int threads, Interrupt* interrupt, T* out) {
    const auto& op = tile_ops<T>();
    const Index width = Gram<T>::block();
    const Rows<T> lines = DenseRows<T>{matrix, rows, x.d, x.d, 1};
    std::vector<Panel<T>> panels;
    const Wiped<T> no_norms(rows);
    for (Index at = 0; at < rows; at += width)
        panels.emplace_back().fill(lines, Ids::run(at, std::min(width, rows - at)), true, no_norms.data());
    std::vector<Aligned<T>> tiles(static_cast<std::size_t>(std::max(threads, 1)));
    return each_block(x, threads, interrupt, [&](Index from, Index count, T* const* values, int rank) {
        T* tile = tiles[static_cast<std::size_t>(rank)].reserve((count + row_step) * width);
        Index at = 0;
        for (const Panel<T>& panel : panels) {
            const Index covered = panel.vectors() * op.lanes;
            op.dense(panel.values(), panel.vectors(), x.d, values, static_cast<int>(count), tile);
            for (Index i = 0; i < count; ++i)
                std::copy_n(tile + i * covered, panel.count(), out + (from + i) * rows + at);
            at += panel.count();
        }
    });
}

}  // namespace hingeline
