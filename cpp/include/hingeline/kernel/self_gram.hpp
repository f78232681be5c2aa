// SelfGram: the kernel matrix of a changing set of examples against itself, row by row, within a memory budget.
//
// Examples are appended in blocks and removed by `close`. While all rows fit, every kernel value is computed once: the
// columns of a block are the transposed rows of the block. When they do not fit, the least recently used rows are
// dropped and computed again when needed. The values keep their bits, so results do not depend on the budget.
//
// Rows are padded with zeros up to the next multiple of `pass_step`, as the passes need (vector/passes.hpp).
#pragma once

#include "hingeline/data/store.hpp"
#include "hingeline/kernel/gram.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline {

template <class T> class SelfGram {
  public:
    /// Holds as many rows as fit `bytes`, but at least `fewest`.
    explicit SelfGram(std::size_t bytes) : bytes_(bytes) {}

    Index size() const { return rows_.size(); }
    Index n_held() const { return held_; }
    /// Change the budget.
    void allow(std::size_t bytes) noexcept {
        bytes_ = bytes;
        if (stride_ == 0) return;
        spare_.clear();
        evict(held_ - room(stride_));
        spare_.clear();
    }
    /// Number of kernel values computed again since the last call of this function.
    Index take_recomputed() { return std::exchange(recomputed_, 0); }
    std::size_t bytes() const { return static_cast<std::size_t>((held_ + spare_.size()) * stride_) * sizeof(T); }
    /// Number of rows that may be held.
    Index room() const { return stride_ ? room(stride_) : std::numeric_limits<Index>::max(); }
    /// Mark row p as used last.
    void touch(Index p) { used_[p] = ++clock_; }
    /// Drop row p; it is computed again when needed.
    void release(Index p) noexcept {
        drop(p);
        if (spare_.size() > widest) spare_.pop_back();
    }
    /// Largest number of examples of one `append`.
    Index block() const { return std::clamp<Index>(room(std::max(stride_, padded(size() + widest))) / 2, 1, widest); }

    /// Append the last `fresh` of `ids` (row numbers of the source, one per position), at most `block()`. False when
    /// interrupted; then nothing has changed, as after an exception (but rows may have been dropped). One thread per
    /// scratch.
    template <class Source> bool append(const Source& source, Ids ids, Index fresh, std::vector<Scratch<T>>& scratch) {
        const Index n = ids.count, before = n - fresh;
        stretch(n);
        reserve(n);
        Array<Aligned<T>> lines = take(fresh, n);
        if (!compute(source, ids.part(before, fresh), ids, lines, scratch)) return false;
        transpose(before, lines);
        used_.resize(n, ++clock_);  // from here on nothing is allocated
        for (Aligned<T>& line : lines) rows_.push_back(std::move(line));
        held_ += fresh;
        return true;
    }

    /// Start over with positions 0 .. ids.count - 1, as after loading a model; rows that fit are computed now. False
    /// when interrupted; then it is empty.
    template <class Source> bool restore(const Source& source, Ids ids, std::vector<Scratch<T>>& scratch) {
        expect(ids.count);
        Array<Index> some(std::min(size(), room(stride_)));
        std::iota(some.begin(), some.end(), Index{0});
        if (fetch(some, source, ids, scratch)) return true;
        clear();
        return false;
    }

    /// Start over with `count` positions whose rows are computed when needed. It is empty if it throws.
    void expect(Index count) {
        clear();
        stretch(count);
        reserve(count);
        used_.resize(count, 0);  // from here on nothing is allocated
        rows_.resize(count);
    }

    /// Compute the rows of these positions, none of which is held. False when interrupted.
    template <class Source>
    bool fetch(const Array<Index>& which, const Source& source, Ids ids, std::vector<Scratch<T>>& scratch) {
        Array<Index> queries;
        const Index step = std::clamp<Index>(room(stride_) / 2, 1, widest);
        for (Index at = 0; at < which.size(); at += step) {
            const Index count = std::min(step, which.size() - at);
            queries.clear();
            for (Index i = at; i < at + count; ++i) queries.push_back(ids[which[i]]);
            Array<Aligned<T>> lines = take(count, size());
            if (!compute(source, Ids::of(queries), ids, lines, scratch)) return false;
            for (Index i = 0; i < count; ++i) rows_[which[at + i]] = std::move(lines[i]);
            held_ += count;
            recomputed_ += count * size();
        }
        return true;
    }

    /// Row of position p; null when interrupted. It is valid until two other rows have been requested.
    template <class Source> const T* row(Index p, const Source& source, Ids ids, std::vector<Scratch<T>>& scratch) {
        if (!rows_[p].size() && !fetch({p}, source, ids, scratch)) return nullptr;
        used_[p] = ++clock_;
        return rows_[p].data();
    }

    /// Row of position p if it is held, else null.
    const T* find(Index p) const {
        const Aligned<T>& row = rows_[p];
        return row.size() ? row.data() : nullptr;
    }

    /// Remove positions; others take their places. With `forget`, no buffer keeps a value of the removed ones.
    void close(const Array<char>& keep, const Closing& c, bool forget = false) noexcept {
        const Index n = size();
        for (Index p = 0; p < n; ++p)
            if (!keep[p]) drop(p);
        if (forget) spare_.clear();
        for (const auto& [from, to] : c.moves) {
            rows_[to] = std::move(rows_[from]);
            used_[to] = used_[from];
        }
        shorten(c.size);
        for (Aligned<T>& row : rows_) {
            if (!row.size()) continue;
            T* line = row.data();
            for (const auto& [from, to] : c.moves) line[to] = line[from];
            std::fill(line + c.size, line + n, T(0));
        }
    }
    /// Remove the positions from `size` on. No buffer keeps their values.
    void truncate(Index size) noexcept {
        const Index n = rows_.size();
        if (n <= size) return;
        for (Index p = size; p < n; ++p) drop(p);
        spare_.clear();
        shorten(size);
        for (Aligned<T>& row : rows_)
            if (row.size()) std::fill(row.data() + size, row.data() + n, T(0));
    }

    void clear() noexcept {
        rows_.clear();
        used_.clear();
        spare_.clear();
        held_ = stride_ = 0;
    }

    /// lines[q][j] = K(queries[q], ids[j]); the positions are divided among the threads. False when interrupted.
    template <class Source> static bool compute(const Source& source, Ids queries, Ids ids, Array<Aligned<T>>& lines,
                                                std::vector<Scratch<T>>& scratch) {
        constexpr Index fewest_values = 1 << 17;  // fewer take less time than starting a thread
        const Index threads = std::clamp<Index>(queries.count * ids.count / fewest_values, 1, scratch.size());
        std::atomic<bool> complete{true};
        run_team(static_cast<int>(threads), scratch[0].interrupt, [&](int rank, int size) {
            const auto cut = [&](int r) {
                return r == size ? ids.count : ids.count * r / size / tile_rows * tile_rows;
            };
            const Index from = cut(rank), count = cut(rank + 1) - from;
            Array<T*> to;
            for (Index at = 0; at < queries.count && count > 0; at += source.block()) {
                const Index some = std::min<Index>(source.block(), queries.count - at);
                to.clear();
                for (Index q = at; q < at + some; ++q) to.push_back(lines[q].data() + from);
                if (!source.columns(queries.part(at, some), ids.part(from, count), to.data(), scratch[rank]))
                    complete = false;
                if (!complete) return;
            }
        });
        return complete;
    }

  private:
    static constexpr Index widest = 64;              // queries of the widest tile
    static constexpr Index fewest = 4;               // rows held in any case: a pair, and two computed beside it
    static constexpr Index most_spare = 4 * widest;  // buffers kept for the next rows

    /// Number of rows of `stride` values that fit.
    Index room(Index stride) const {
        return std::max(fewest, static_cast<Index>(bytes_ / (static_cast<std::size_t>(stride) * sizeof(T))));
    }

    /// Memory for n positions and for the buffers of dropped rows: removing rows allocates nothing.
    void reserve(Index n) {
        const auto grow = [n](auto& list) {
            if (n > list.capacity()) list.reserve(std::max(n, 2 * list.capacity()));
        };
        grow(rows_), grow(used_), grow(order_);
        spare_.reserve(most_spare);
    }
    void shorten(Index n) noexcept {
        rows_.resize(n);
        used_.resize(n);
    }

    /// Make rows at least n values long, and a quarter longer if all rows still fit then.
    void stretch(Index n) {
        if (n <= stride_) return;
        const Index generous = padded(n + n / 4);
        const Index stride = room(generous) >= generous ? generous : padded(n + widest);
        spare_.clear();
        evict(held_ - room(stride));
        spare_.clear();
        for (Aligned<T>& row : rows_) {
            if (!row.size()) continue;
            Aligned<T> longer = allocate(stride);
            std::copy_n(row.data(), stride_, longer.data());
            row = std::move(longer);
        }
        stride_ = stride;  // last: if an allocation fails before, all rows are still long enough
    }

    static Aligned<T> allocate(Index stride) {
        Aligned<T> line;
        std::fill_n(line.reserve(stride), stride, T(0));
        return line;
    }

    /// Buffers for `count` rows, zero from position n on.
    Array<Aligned<T>> take(Index count, Index n) {
        evict(held_ + count - room(stride_));
        Array<Aligned<T>> lines;
        lines.reserve(count);
        for (Index i = 0; i < count; ++i) {
            if (spare_.empty()) {
                lines.push_back(allocate(stride_));
                continue;
            }
            std::fill(spare_.back().data() + n, spare_.back().data() + stride_, T(0));
            lines.push_back(std::move(spare_.back()));
            spare_.pop_back();
        }
        return lines;
    }

    /// Drop the `count` least recently used rows.
    void evict(Index count) noexcept {
        if (count <= 0) return;
        order_.clear();
        for (Index p = 0; p < size(); ++p)
            if (rows_[p].size()) order_.push_back(p);
        count = std::min(count, order_.size());
        if (count == 0) return;
        std::nth_element(order_.begin(), order_.begin() + (count - 1), order_.end(), [&](Index a, Index b) {
            const auto ua = used_[a], ub = used_[b];
            return ua < ub || (ua == ub && a < b);
        });
        for (Index i = 0; i < count; ++i) drop(order_[i]);
    }

    void drop(Index p) noexcept {
        Aligned<T>& row = rows_[p];
        if (!row.size()) return;
        --held_;
        Aligned<T> gone = std::move(row);
        if (spare_.size() < most_spare && gone.size() >= stride_) spare_.push_back(std::move(gone));
    }

    /// Extend the rows held by the columns of the new lines, transposed in strips that stay in the L1 cache.
    void transpose(Index before, const Array<Aligned<T>>& lines) {
        const auto& op = tile_ops<T>();
        constexpr Index strip = 64;
        const Index fresh = lines.size(), width = op.lanes * op.max_vectors;
        Aligned<T> turned;
        turned.reserve(strip * width);
        Array<const T*> from(width);
        for (Index at = 0; at < fresh; at += width) {
            const Index some = std::min(width, fresh - at);
            const int vectors = static_cast<int>((some + op.lanes - 1) / op.lanes);
            for (Index p = 0; p < before; p += strip) {
                const Index count = std::min(strip, before - p);
                for (Index q = 0; q < vectors * op.lanes; ++q) from[q] = lines[at + std::min(q, some - 1)].data() + p;
                op.pack(from.data(), vectors, count, turned.data());
                for (Index r = 0; r < count; ++r) {
                    Aligned<T>& row = rows_[p + r];
                    if (row.size()) std::copy_n(turned.data() + r * vectors * op.lanes, some, row.data() + before + at);
                }
            }
        }
    }

    std::size_t bytes_;
    Index stride_ = 0, held_ = 0, recomputed_ = 0;
    std::uint64_t clock_ = 0;
    Array<Aligned<T>> rows_;  // by position; empty where the row is not held
    Array<std::uint64_t> used_;
    Array<Index> order_;  // positions by their last use, while rows are dropped
    Array<Aligned<T>> spare_;
};

}  // namespace hingeline
