// KernelRows: where an online SVM gets the kernel rows of its expansion from, and whether it was interrupted.
//
// Positions are those of the state: position t stands for row number `row[t]` of the source.
#pragma once

#include <algorithm>

#include "hingeline/core/interrupt.hpp"
#include "hingeline/kernel/self_gram.hpp"

namespace hingeline::online {

template <class Source> class KernelRows {
  public:
    using T = typename Source::Value;

    KernelRows(const Source& source, SelfGram<T>& kernel, int threads, Interrupt* interrupt)
        : source_(source), kernel_(kernel), scratch_(std::max(threads, 1)), interrupt_(interrupt) {
        for (Scratch<T>& x : scratch_) x.interrupt = interrupt;
    }

    /// Whether an interrupt was requested, now or at an earlier call.
    bool interrupted() { return halted_ || (interrupt_ && interrupt_->requested() && (halted_ = true)); }
    /// Count this search as interrupted.
    void halt() { halted_ = true; }

    /// Largest number of examples of one `append`.
    Index block() const { return kernel_.block(); }
    Index size() const { return kernel_.size(); }
    Index take_recomputed() { return kernel_.take_recomputed(); }

    /// Make the kernel rows those of `row`; false when interrupted.
    bool restore(const Array<Index>& row) {
        return note(kernel_.size() == row.size() || kernel_.restore(source_, Ids::of(row), scratch_));
    }
    /// Compute the kernel rows of the last `fresh` positions; false when interrupted.
    bool append(const Array<Index>& row, Index fresh) {
        return note(fresh == 0 || kernel_.append(source_, Ids::of(row), fresh, scratch_));
    }
    /// Kernel row of position t; null when interrupted.
    const T* at(Index t, const Array<Index>& row) {
        const T* found = kernel_.row(t, source_, Ids::of(row), scratch_);
        note(found);
        return found;
    }
    /// Kernel row of position t if it is held, else null.
    const T* find(Index t) const { return kernel_.find(t); }
    /// lines[i][t] = K(rows[i], row[t]) for rows of the source that are not held; false when interrupted.
    bool compute(const Array<Index>& rows, const Array<Index>& row, Array<Aligned<T>>& lines) {
        return note(SelfGram<T>::compute(source_, Ids::of(rows), Ids::of(row), lines, scratch_));
    }
    void close(const Array<char>& keep, const Closing& c) { kernel_.close(keep, c); }
    void truncate(Index n) noexcept { kernel_.truncate(n); }
    void clear() { kernel_.clear(); }

    /// Throw if coefficients up to `box` times kernel values may leave the range of the type.
    void require_range(double box) const { hingeline::require_range(source_, box, sizeof(T) == 4); }

  private:
    bool note(bool complete) {
        if (!complete) halted_ = true;
        return complete;
    }
    const Source& source_;
    SelfGram<T>& kernel_;
    std::vector<Scratch<T>> scratch_;
    Interrupt* interrupt_;
    bool halted_ = false;
};

}  // namespace hingeline::online
