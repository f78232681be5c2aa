// Columns: columns of the kernel matrix over a fixed layout of rows, some computed ahead of need, within a memory
// budget. Algorithms that take one example at a time get their kernel values from here.
#pragma once

#include "hingeline/kernel/row_cache.hpp"
#include "hingeline/kernel/source.hpp"
#include "hingeline/kernel/speculation.hpp"

namespace hingeline {

template <class Source> class Columns {
  public:
    using T = typename Source::Value;

    /// For layouts of at most `longest` rows; a quarter of the bytes is for packed rows.
    Columns(const Source& source, std::size_t bytes, Index longest, Interrupt* interrupt)
        : source_(source), interrupt_(interrupt), panel_bytes_(bytes / 4), cache_(bytes - panel_bytes_, longest) {}

    /// Set the rows that the positions of a column stand for. With `keep`, columns held are reduced to these positions
    /// (ascending), which become the new layout.
    void lay_out(Array<Index> rows, const Array<Index>* keep = nullptr) {
        layout_ = std::move(rows);
        if (keep) cache_.compact(*keep);
        source_.prepare(Ids::of(layout_), scratch_, panel_bytes_);
    }
    /// The column of `row` if it is held, else null.
    const T* find(Index row) { return cache_.find(row); }
    bool holds(Index row) const { return cache_.contains(row); }
    Index room() const { return cache_.capacity(); }
    void erase(Index row) { cache_.erase(row); }

    /// Compute the columns of rows that have none, at most `room()`; calls evicted(row) for each column evicted. False
    /// when interrupted; then none of them is held. A single column is never interrupted.
    template <class F> bool fetch(const Array<Index>& rows, F&& evicted) {
        scratch_.interrupt = rows.size() > 1 ? interrupt_ : nullptr;
        Array<T*> columns;
        for (const Index row : rows) columns.push_back(cache_.insert(row, evicted));
        if (source_.columns(Ids::of(rows), Ids::of(layout_), columns.data(), scratch_)) return true;
        for (const Index row : rows) cache_.erase(row);
        return false;
    }

    /// Compute columns of any rows, a block at a time, and keep none: f(first, count, columns). False when interrupted.
    template <class F> bool sweep(Ids rows, F&& f) {
        scratch_.interrupt = interrupt_;
        const Index most = std::min<Index>(std::max<Index>(source_.block(), 1), std::max<Index>(rows.count, 1));
        T* block = block_.reserve(most * cache_.length());
        Array<T*> columns;
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
    Array<Index> layout_;
    RowCache<T> cache_;
    Scratch<T> scratch_;
    Aligned<T> block_;
};

}  // namespace hingeline
