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

  private:
    const Source& source_;
    Interrupt* interrupt_;
    const std::size_t panel_bytes_;
    std::vector<Index> layout_;
    RowCache<T> cache_;
    Scratch<T> scratch_;
};

}  // namespace hingeline
