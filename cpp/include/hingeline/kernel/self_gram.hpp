// SelfGram: the kernel matrix of a changing set of examples against itself, row by row, within a number of bytes.
//
// Examples come in blocks at the end and go by `close`. While all rows fit, every kernel value is computed once:
// the columns of a block are the transposed rows of the block. When they do not, the rows used least recently go and
// are computed again when asked for; the values are the same to the bit, so results do not depend on the memory.
//
// Rows are zero from the last example to the next multiple of `pass_step`, as the passes of kernel/ops.hpp want it.
#pragma once

#include "hingeline/data/store.hpp"
#include "hingeline/kernel/gram.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline {

template <class T> class SelfGram {
  public:
    /// Room for as many rows as fit `bytes`, and for a few in any case.
    explicit SelfGram(std::size_t bytes) : bytes_(bytes) {}

    Index size() const { return static_cast<Index>(rows_.size()); }
    Index held() const { return held_; }
    /// Change the number of bytes.
    void allow(std::size_t bytes) {
        bytes_ = bytes;
        if (stride_ == 0) return;
        spare_.clear();
        evict(held_ - room(stride_));
        spare_.clear();
    }
    /// Kernel values that were computed again since the last time this was asked.
    Index recomputed() { return std::exchange(recomputed_, 0); }
    std::size_t bytes() const {
        return static_cast<std::size_t>((held_ + static_cast<Index>(spare_.size())) * stride_) * sizeof(T);
    }
    /// Rows that may be held now.
    Index room() const { return stride_ ? room(stride_) : std::numeric_limits<Index>::max(); }
    /// Count row p among the rows used last.
    void touch(Index p) { used_[static_cast<std::size_t>(p)] = ++clock_; }
    /// Row p is not worth its memory; it is computed again when asked for.
    void release(Index p) {
        drop(p);
        if (static_cast<Index>(spare_.size()) > widest) spare_.pop_back();
    }
    /// Examples that one `append` may bring.
    Index block() const { return std::clamp<Index>(room(std::max(stride_, padded(size() + widest))) / 2, 1, widest); }

    /// The last `fresh` of `ids` (row numbers of the source, one per position) are new: at most `block()`. False when
    /// interrupted, and then nothing has changed. One thread per scratch.
    template <class Source> bool append(const Source& source, Ids ids, Index fresh, std::vector<Scratch<T>>& scratch) {
        const Index n = ids.count, before = n - fresh;
        stretch(n);
        std::vector<Aligned<T>> lines = take(fresh, n);
        if (!compute(source, ids.part(before, fresh), ids, lines, scratch)) return false;
        rows_.reserve(static_cast<std::size_t>(n));
        used_.resize(static_cast<std::size_t>(n), ++clock_);
        transpose(before, lines);
        for (Aligned<T>& line : lines) rows_.push_back(std::move(line));
        held_ += fresh;
        return true;
    }

    /// Positions 0 .. ids.count - 1 whose rows are not here, as after a model was read from a file; those that fit
    /// are computed now. False when interrupted, and then it is empty.
    template <class Source> bool restore(const Source& source, Ids ids, std::vector<Scratch<T>>& scratch) {
        expect(ids.count);
        std::vector<Index> some(static_cast<std::size_t>(std::min(size(), room(stride_))));
        std::iota(some.begin(), some.end(), Index{0});
        if (fetch(some, source, ids, scratch)) return true;
        clear();
        return false;
    }

    /// So many positions whose rows are not here, and are not computed before they are asked for.
    void expect(Index count) {
        clear();
        stretch(count);
        rows_.resize(static_cast<std::size_t>(count));
        used_.resize(static_cast<std::size_t>(count), 0);
    }

    /// Compute the rows of these positions, which are not here. False when interrupted.
    template <class Source>
    bool fetch(const std::vector<Index>& which, const Source& source, Ids ids, std::vector<Scratch<T>>& scratch) {
        std::vector<Index> queries;
        const Index step = std::clamp<Index>(room(stride_) / 2, 1, widest);
        for (std::size_t at = 0; at < which.size(); at += static_cast<std::size_t>(step)) {
            const std::size_t count = std::min(static_cast<std::size_t>(step), which.size() - at);
            queries.clear();
            for (std::size_t i = at; i < at + count; ++i) queries.push_back(ids[which[i]]);
            std::vector<Aligned<T>> lines = take(static_cast<Index>(count), size());
            if (!compute(source, Ids::of(queries), ids, lines, scratch)) return false;
            for (std::size_t i = 0; i < count; ++i)
                rows_[static_cast<std::size_t>(which[at + i])] = std::move(lines[i]);
            held_ += static_cast<Index>(count);
            recomputed_ += static_cast<Index>(count) * size();
        }
        return true;
    }

    /// Row of position p; null when interrupted. It stays until another two have been asked for.
    template <class Source> const T* row(Index p, const Source& source, Ids ids, std::vector<Scratch<T>>& scratch) {
        if (!rows_[static_cast<std::size_t>(p)].size() && !fetch({p}, source, ids, scratch)) return nullptr;
        used_[static_cast<std::size_t>(p)] = ++clock_;
        return rows_[static_cast<std::size_t>(p)].data();
    }

    /// Row of position p where it is held, or null.
    const T* find(Index p) const {
        const Aligned<T>& row = rows_[static_cast<std::size_t>(p)];
        return row.size() ? row.data() : nullptr;
    }

    /// Positions go and others take their places. With `forget` nothing of those that go stays in any buffer.
    void close(const std::vector<char>& keep, const Closing& c, bool forget = false) {
        const Index n = size();
        for (Index p = 0; p < n; ++p)
            if (!keep[static_cast<std::size_t>(p)]) drop(p);
        if (forget) spare_.clear();
        for (const auto& [from, to] : c.moves) {
            rows_[static_cast<std::size_t>(to)] = std::move(rows_[static_cast<std::size_t>(from)]);
            used_[static_cast<std::size_t>(to)] = used_[static_cast<std::size_t>(from)];
        }
        rows_.resize(static_cast<std::size_t>(c.size));
        used_.resize(static_cast<std::size_t>(c.size));
        for (Aligned<T>& row : rows_) {
            if (!row.size()) continue;
            T* line = row.data();
            for (const auto& [from, to] : c.moves) line[to] = line[from];
            std::fill(line + c.size, line + n, T(0));
        }
    }

    void clear() {
        rows_.clear();
        used_.clear();
        spare_.clear();
        held_ = stride_ = 0;
    }

    /// lines[q][j] = K(queries[q], ids[j]); the positions are shared out among the threads.
    template <class Source> static bool compute(const Source& source, Ids queries, Ids ids,
                                                std::vector<Aligned<T>>& lines, std::vector<Scratch<T>>& scratch) {
        constexpr Index fewest_values = 1 << 15;  // less is not worth waking a thread
        const Index threads =
            std::clamp<Index>(queries.count * ids.count / fewest_values, 1, static_cast<Index>(scratch.size()));
        std::atomic<bool> complete{true};
        run_team(static_cast<int>(threads), scratch[0].interrupt, [&](int rank, int size) {
            const auto cut = [&](int r) {
                return r == size ? ids.count : ids.count * r / size / tile_rows * tile_rows;
            };
            const Index from = cut(rank), count = cut(rank + 1) - from;
            std::vector<T*> to;
            for (Index at = 0; at < queries.count && count > 0; at += source.block()) {
                const Index some = std::min<Index>(source.block(), queries.count - at);
                to.clear();
                for (Index q = at; q < at + some; ++q) to.push_back(lines[static_cast<std::size_t>(q)].data() + from);
                if (!source.columns(queries.part(at, some), ids.part(from, count), to.data(),
                                    scratch[static_cast<std::size_t>(rank)]))
                    complete = false;
                if (!complete) return;
            }
        });
        return complete;
    }

  private:
    static constexpr Index widest = 64;  // as many queries as the widest tile takes
    static constexpr Index fewest = 4;   // rows held whatever the memory: a pair, and what comes beside it
    static Index padded(Index n) { return (n + pass_step - 1) / pass_step * pass_step; }

    /// Rows of `stride` values that fit.
    Index room(Index stride) const {
        return std::max(fewest, static_cast<Index>(bytes_ / (static_cast<std::size_t>(stride) * sizeof(T))));
    }

    /// Make rows at least n values long: a quarter longer where they all still fit then.
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
        stride_ = stride;  // last: when memory runs out before, all rows are still long enough
    }

    static Aligned<T> allocate(Index stride) {
        Aligned<T> line;
        std::fill_n(line.reserve(static_cast<std::size_t>(stride)), stride, T(0));
        return line;
    }

    /// Buffers for `count` rows, zero from position n on.
    std::vector<Aligned<T>> take(Index count, Index n) {
        evict(held_ + count - room(stride_));
        std::vector<Aligned<T>> lines;
        lines.reserve(static_cast<std::size_t>(count));
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

    /// Let the `count` rows go that were used least recently.
    void evict(Index count) {
        if (count <= 0) return;
        std::vector<Index> here;
        for (Index p = 0; p < size(); ++p)
            if (rows_[static_cast<std::size_t>(p)].size()) here.push_back(p);
        count = std::min(count, static_cast<Index>(here.size()));
        if (count == 0) return;
        std::nth_element(here.begin(), here.begin() + (count - 1), here.end(), [&](Index a, Index b) {
            const auto ua = used_[static_cast<std::size_t>(a)], ub = used_[static_cast<std::size_t>(b)];
            return ua < ub || (ua == ub && a < b);
        });
        for (Index i = 0; i < count; ++i) drop(here[static_cast<std::size_t>(i)]);
    }

    void drop(Index p) {
        Aligned<T>& row = rows_[static_cast<std::size_t>(p)];
        if (!row.size()) return;
        --held_;
        Aligned<T> gone = std::move(row);
        if (static_cast<Index>(spare_.size()) < 4 * widest && gone.size() >= static_cast<std::size_t>(stride_))
            spare_.push_back(std::move(gone));
    }

    /// The columns of the rows held that belong to new lines: strips of positions are turned in the first cache.
    void transpose(Index before, const std::vector<Aligned<T>>& lines) {
        const auto& op = tile_ops<T>();
        constexpr Index strip = 64;
        const Index fresh = static_cast<Index>(lines.size()), width = op.lanes * op.max_vectors;
        Aligned<T> turned;
        turned.reserve(static_cast<std::size_t>(strip * width));
        std::vector<const T*> from(static_cast<std::size_t>(width));
        for (Index at = 0; at < fresh; at += width) {
            const Index some = std::min(width, fresh - at);
            const int vectors = static_cast<int>((some + op.lanes - 1) / op.lanes);
            for (Index p = 0; p < before; p += strip) {
                const Index count = std::min(strip, before - p);
                for (Index q = 0; q < vectors * op.lanes; ++q)
                    from[static_cast<std::size_t>(q)] =
                        lines[static_cast<std::size_t>(at + std::min(q, some - 1))].data() + p;
                op.pack(from.data(), vectors, count, turned.data());
                for (Index r = 0; r < count; ++r) {
                    Aligned<T>& row = rows_[static_cast<std::size_t>(p + r)];
                    if (row.size()) std::copy_n(turned.data() + r * vectors * op.lanes, some, row.data() + before + at);
                }
            }
        }
    }

    std::size_t bytes_;
    Index stride_ = 0, held_ = 0, recomputed_ = 0;
    std::uint64_t clock_ = 0;
    std::vector<Aligned<T>> rows_;  // by position; empty where the row is not held
    std::vector<std::uint64_t> used_;
    std::vector<Aligned<T>> spare_;
};

}  // namespace hingeline
