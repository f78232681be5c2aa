// WorkingRows: rows of the kernel matrix of a working set against itself, computed in blocks when they are needed and
// dropped (least recently used first) when they do not fit the budget. A value computed again has the same bits.
#pragma once

#include "hingeline/core/large.hpp"
#include "hingeline/kernel/local.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline::svc {

template <class T> class WorkingRows {
  public:
    /// Forget all rows and prepare for `size` positions; `most` is the largest number that any working set may have.
    void reset(Index size, Index most, std::size_t bytes) {
        size_ = size;
        stride_ = padded(size);
        const Index fit = static_cast<Index>(bytes / (static_cast<std::size_t>(stride_) * sizeof(T)));
        capacity_ = std::min(size, std::max(fit, fewest));
        if (capacity_ * stride_ > memory_.size()) {
            // All that may ever be needed: pages that are never written take no memory, but new ones must be cleared.
            const Index room = std::min(static_cast<Index>(bytes / sizeof(T)), most * padded(most));
            memory_ = Memory();  // never both
            memory_ = Memory(std::max(capacity_ * stride_, room));
        }
        slot_.assign(size, -1);
        used_.assign(size, 0);
        held_.clear();
        free_.clear();
        clock_ = 0;
    }
    /// The row of position p if it is held, else null.
    const T* find(Index p) {
        if (slot_[p] < 0) return nullptr;
        used_[p] = ++clock_;
        return memory_.data() + slot_[p] * stride_;
    }
    bool holds(Index p) const { return slot_[p] >= 0; }
    /// Number of rows to compute at a time: a block for every thread while there is room for rows that may be needed
    /// later, else as few as is worth a call.
    Index block(Index widest, Index fewest_at_once, Index threads) const {
        for (; threads > 0; threads /= 2)
            if (held_.size() + threads * widest <= capacity_ / (threads > 1 ? 2 : 1)) return threads * widest;
        return std::max<Index>(1, std::min(fewest_at_once, capacity_ / 2));
    }

    /// Compute the rows of positions that are not held, at most `block`; a thread takes `widest` at a time.
    template <class L>
    void fetch(const Array<Index>& positions, Index widest, const L& local, std::vector<SumScratch<T>>& scratch) {
        evict(held_.size() + positions.size() - capacity_);
        Array<T*> rows;
        for (const Index p : positions) {
            slot_[p] = take();
            used_[p] = ++clock_;
            held_.push_back(p);
            rows.push_back(memory_.data() + slot_[p] * stride_);
            std::fill(rows.back() + size_, rows.back() + stride_, T(0));
        }
        const Index blocks = (positions.size() + widest - 1) / widest;
        run_tasks(blocks, static_cast<int>(std::ssize(scratch)), nullptr, [&](Index block, int rank) {
            const Index at = block * widest, some = std::min(widest, positions.size() - at);
            local.columns(Ids::of(positions).part(at, some), Ids::run(0, size_), rows.data() + at, scratch[rank]);
        });
    }
    /// Threads that are worth starting, each for `widest` rows of values that take `nanoseconds`.
    Index threads(Index widest, double nanoseconds, Index most) const {
        constexpr double least_time = 8e4;  // of a thread, in nanoseconds: less is less than starting it
        return static_cast<double>(widest * size_) * nanoseconds >= least_time ? most : 1;
    }

  private:
    static constexpr Index fewest = 8;  // rows held in any case: a pair, and a block computed beside it

    /// Memory that is neither initialised nor overwritten.
    class Memory {
      public:
        Memory() = default;
        explicit Memory(Index size) : data_(LargePages<T>().allocate(static_cast<std::size_t>(size))), size_(size) {}
        Memory(Memory&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
        Memory& operator=(Memory&& o) noexcept {
            std::swap(data_, o.data_);
            std::swap(size_, o.size_);
            return *this;
        }
        ~Memory() {
            if (data_) LargePages<T>().deallocate(data_, static_cast<std::size_t>(size_));
        }
        T* data() const { return data_; }
        Index size() const { return size_; }

      private:
        T* data_ = nullptr;
        Index size_ = 0;
    };

    Index take() {
        if (free_.empty()) return held_.size();
        const Index slot = free_.back();
        free_.pop_back();
        return slot;
    }
    void evict(Index count) {
        if (count <= 0) return;
        std::nth_element(held_.begin(), held_.begin() + (count - 1), held_.end(),
                         [&](Index a, Index b) { return used_[a] < used_[b]; });
        for (Index i = 0; i < count; ++i) {
            free_.push_back(slot_[held_[i]]);
            slot_[held_[i]] = -1;
        }
        held_.erase(held_.begin(), held_.begin() + count);
    }

    Index size_ = 0, stride_ = 0, capacity_ = 0;
    std::uint64_t clock_ = 0;
    Memory memory_;
    Array<Index> slot_, held_, free_;
    Array<std::uint64_t> used_;
};

}  // namespace hingeline::svc
