// Columns of the kernel matrix over rows laid out once, some computed ahead of need and kept within a number of bytes.
// Whoever walks over examples, taking those whose turn it is, gets kernel values from here.
#pragma once

#include "hingeline/kernel/gram.hpp"
#include "hingeline/kernel/row_cache.hpp"
#include "hingeline/kernel/speculation.hpp"

namespace hingeline {

template <class Source> class Columns {
  public:
    using T = typename Source::Value;

    /// For at most `longest` rows; a quarter of the bytes is for rows packed once.
    Columns(const Source& source, std::size_t bytes, Index longest, Interrupt* interrupt)
        : source_(source), interrupt_(interrupt), panel_bytes_(bytes / 4), cache_(bytes - panel_bytes_, longest) {}

    /// The rows that the positions of a column stand for. `keep`: the positions, ascending, that columns held had
    /// before for them.
    void lay_out(std::vector<Index> rows, const std::vector<Index>* keep = nullptr) {
        layout_ = std::move(rows);
        if (keep) cache_.compact(*keep);
        source_.prepare(Ids::of(layout_), scratch_, panel_bytes_);
    }
    /// The column of `row` where it is held, or null.
    const T* find(Index row) { return cache_.find(row); }
    bool holds(Index row) const { return cache_.contains(row); }
    Index room() const { return cache_.capacity(); }
    void erase(Index row) { cache_.erase(row); }

    /// Columns of rows that have none, at most `room()`; evicted(row) for each one that made room. False when
    /// interrupted, and then none is held (a single one is computed in any case).
    template <class F> bool fetch(const std::vector<Index>& rows, F&& evicted) {
        scratch_.interrupt = rows.size() > 1 ? interrupt_ : nullptr;
        std::vector<T*> columns;
        for (const Index row : rows) columns.push_back(cache_.insert(row, evicted));
        if (source_.columns(Ids::of(rows), Ids::of(layout_), columns.data(), scratch_)) return true;
        for (const Index row : rows) cache_.erase(row);
        return false;
    }

    /// Columns of any rows, a block at a time, none of them kept: f(first, count, columns). False when interrupted.
    template <class F> bool sweep(Ids rows, F&& f) {
        scratch_.interrupt = interrupt_;
        const Index most = std::min<Index>(std::max<Index>(source_.block(), 1), std::max<Index>(rows.count, 1));
        T* block = block_.reserve(static_cast<std::size_t>(most * cache_.length()));
        std::vector<T*> columns;
        for (Index c = 0; c < most; ++c) columns.push_back(block + c * cache_.length());
        for (Index at = 0; at < rows.count; at += most) {
            const Index count = std::min(most, rows.count - at);
            if (!source_.columns(rows.part(at, count), Ids::of(layout_), columns.data(), scratch_)) return false;
            f(at, count, columns.data());
        }
        return true;
    }

  private:
    const Source& source_;
    Interrupt* interrupt_;
    const std::size_t panel_bytes_;
    std::vector<Index> layout_;
    RowCache<T> cache_;
    Scratch<T> scratch_;
    Aligned<T> block_;
};

}  // namespace hingeline
