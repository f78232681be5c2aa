// WorkingRows: rows of the kernel matrix of a working set against itself, computed in blocks when they are needed and
// dropped (least recently used first) when they do not fit the budget. A value computed again has the same bits.
#pragma once

#include <numeric>

#include "hingeline/core/large.hpp"
#include "hingeline/kernel/local.hpp"
#include "hingeline/run/team.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline::engine {

template <class T> class WorkingRows {
  public:
    /// Forget all rows and prepare for `size` positions; `most` is the largest number that any working set may have.
    /// `width` is the size of a value: that of T, or of coarse values.
    void reset(Index size, Index most, std::size_t bytes, std::size_t width) {
        size_ = size;
        stride_ = padded(size) * static_cast<Index>(width);
        const Index fit = static_cast<Index>(bytes) / stride_;
        capacity_ = std::min(size, std::max(fit, fewest));
        if (capacity_ * stride_ > memory_.size()) {
            // All that may ever be needed: pages that are never written take no memory, but new ones must be cleared.
            const Index room = std::min(static_cast<Index>(bytes), most * padded(most) * Index{sizeof(T)});
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
    template <class K> const K* find(Index p) {
        if (slot_[p] < 0) return nullptr;
        used_[p] = ++clock_;
        return place<K>(p);
    }
    /// The same, without a record of the use.
    template <class K> const K* peek(Index p) const {
        return slot_[p] < 0 ? nullptr : reinterpret_cast<const K*>(memory_.data() + slot_[p] * stride_);
    }
    bool holds(Index p) const { return slot_[p] >= 0; }
    /// Positions whose rows are held.
    const Array<Index>& held() const { return held_; }
    /// Number of rows to compute at a time: a block for every thread while there is room for rows that may be needed
    /// later, else as few as is worth a call.
    Index block(Index widest, Index fewest_at_once, Index threads) const {
        for (; threads > 0; threads /= 2)
            if (held_.size() + threads * widest <= capacity_ / (threads > 1 ? 2 : 1)) return threads * widest;
        return std::max<Index>(1, std::min(fewest_at_once, capacity_ / 2));
    }

    /// Compute the rows of positions that are not held, at most `block`; a thread takes `widest` at a time.
    template <class K, class L>
    void fetch(const Array<Index>& positions, Index widest, const L& local, std::vector<SumScratch<T>>& scratch) {
        evict(held_.size() + positions.size() - capacity_);
        for (const Index p : positions) {
            slot_[p] = take();
            used_[p] = ++clock_;
            held_.push_back(p);
        }
        // Few rows are divided among the threads as far as they cost no more for it.
        const Index threads = std::ssize(scratch), share = (positions.size() + threads - 1) / threads;
        const Index each = std::clamp<Index>(share, std::min<Index>(local.ahead(), widest), widest);
        const Index blocks = (positions.size() + each - 1) / each;
        const double work = static_cast<double>(positions.size() * size_) * local.nanoseconds();
        run_tasks(blocks, worth(work, threads), nullptr, [&](Index block, int rank) {
            const Index at = block * each, some = std::min(each, positions.size() - at);
            compute<K>(Ids::of(positions).part(at, some), local, scratch[rank]);
        });
    }
    /// Whether all rows fit the budget.
    bool holds_all() const { return capacity_ == size_; }
    /// Compute all rows, with coarse values. The matrix is symmetric: values on and above the diagonal blocks are
    /// computed and stored twice. Returns the number of values computed. When interrupted, rows have no meaning.
    template <class L> Index fill(const L& local, std::vector<SumScratch<T>>& scratch, Interrupt* interrupt) {
        for (Index p = 0; p < size_; ++p) slot_[p] = p, used_[p] = ++clock_;
        held_.resize(size_);
        std::iota(held_.begin(), held_.end(), Index{0});
        const Index widest = local.block(), blocks = (size_ + widest - 1) / widest;
        run_tasks(blocks, static_cast<int>(std::ssize(scratch)), interrupt,
                  [&](Index block, int rank) { fill_block(block * widest, widest, local, scratch[rank]); });
        Index computed = 0;
        for (Index at = 0; at < size_; at += widest) computed += std::min(widest, size_ - at) * (size_ - at);
        return computed;
    }
    /// Threads that are worth starting, each for `widest` rows of values that take `nanoseconds`.
    Index threads(Index widest, double nanoseconds, Index most) const {
        return static_cast<double>(widest * size_) * nanoseconds >= least_time ? most : 1;
    }

  private:
    static constexpr double least_time = 8e4;  // of a thread that sleeps, in nanoseconds: less is less than waking it
    /// Threads for work of so many nanoseconds.
    static int worth(double work, Index most) {
        constexpr double waking = 5e3;
        return static_cast<int>(std::clamp(work / waking, 1.0, static_cast<double>(most)));
    }
    static constexpr Index fewest = 8;  // rows held in any case: a pair, and a block computed beside it

    template <class K> K* place(Index p) { return reinterpret_cast<K*>(memory_.data() + slot_[p] * stride_); }
    /// Coarse rows are computed in T and then rounded.
    template <class K, class L> void compute(Ids positions, const L& local, SumScratch<T>& scratch) {
        const Index width = padded(size_);
        Array<T*> rows(positions.count);
        T* const buffer = std::is_same_v<K, T> ? nullptr : scratch.lines.reserve(positions.count * width);
        for (Index k = 0; k < positions.count; ++k) {
            if constexpr (std::is_same_v<K, T>)
                rows[k] = place<T>(positions[k]);
            else
                rows[k] = buffer + k * width;
            std::fill(rows[k] + size_, rows[k] + width, T(0));
        }
        local.columns(positions, Ids::run(0, size_), rows.data(), scratch);
        if constexpr (!std::is_same_v<K, T>)
            for (Index k = 0; k < positions.count; ++k) coarse_ops().coarsen(rows[k], place<K>(positions[k]), width);
    }

    /// Values of the rows from `first` on, `widest` of them, against all rows from `first` on: in the places of both.
    template <class L> void fill_block(Index first, Index widest, const L& local, SumScratch<T>& scratch) {
        constexpr Index depth = 2 * tile_rows;  // rows that are transposed at a time
        static_assert(depth % turn_step == 0);
        const Index own = std::min(widest, size_ - first);
        Coarse* const tile = scratch.coarse.reserve(2 * depth * widest);
        scratch.turned.resize(widest);
        for (Index q = 0; q < widest; ++q) scratch.turned[q] = tile + (widest + q) * depth;
        local.tiles(Ids::run(first, own), first, scratch, [&](Index at, int rows, int width) {
            const Index from = at % depth, end = at + rows;
            coarse_ops().coarsen(scratch.tiles.tile.data(), tile + from * width, rows * width);
            for (Index r = 0; r < rows; ++r)
                std::copy_n(tile + (from + r) * width, own, place<Coarse>(first + at + r) + first);
            if (end % depth != 0 && first + end < size_) return;
            coarse_ops().turn(tile, width, depth, width, scratch.turned.data());
            for (Index q = 0; q < own; ++q)
                std::copy_n(scratch.turned[q], end - (at - from), place<Coarse>(first + q) + first + (at - from));
        });
        for (Index q = 0; q < own; ++q)
            std::fill(place<Coarse>(first + q) + size_, place<Coarse>(first + q) + padded(size_), Coarse{0});
    }

    /// Memory that is neither initialised nor overwritten.
    class Memory {
      public:
        Memory() = default;
        explicit Memory(Index size) : data_(LargePages<char>().allocate(static_cast<std::size_t>(size))), size_(size) {}
        Memory(Memory&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
        Memory& operator=(Memory&& o) noexcept {
            std::swap(data_, o.data_);
            std::swap(size_, o.size_);
            return *this;
        }
        ~Memory() {
            if (data_) LargePages<char>().deallocate(data_, static_cast<std::size_t>(size_));
        }
        char* data() const { return data_; }
        Index size() const { return size_; }

      private:
        char* data_ = nullptr;
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

    Index size_ = 0, stride_ = 0, capacity_ = 0;  // stride and memory in bytes
    Memory memory_;
    Array<Index> slot_, held_, free_;
    Array<std::uint64_t> used_;
    /// Changed in every step, while other threads read what stands before it.
    alignas(128) std::uint64_t clock_ = 0;
};

}  // namespace hingeline::engine
