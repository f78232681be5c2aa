// RowCache: rows of equal length under keys, bounded in bytes; the least recently used row is evicted first. It knows
// nothing of kernels, coefficients or steps.
#pragma once

#include <algorithm>
#include <list>
#include <unordered_map>

#include "hingeline/core/aligned.hpp"

namespace hingeline {

template <class T> class RowCache {
  public:
    /// Holds as many rows of `length` values as fit `bytes`, and at least one.
    RowCache(std::size_t bytes, Index length) : length_(length), stride_(stride_for(length)) {
        capacity_ = std::max<Index>(1, static_cast<Index>(bytes / (static_cast<std::size_t>(stride_) * sizeof(T))));
    }

    Index capacity() const { return capacity_; }
    Index size() const { return static_cast<Index>(where_.size()); }
    Index length() const { return length_; }
    /// Bytes of the rows allocated so far.
    std::size_t bytes() const { return static_cast<std::size_t>(stride_ * allocated_) * sizeof(T); }

    /// The row under `key`, now the most recently used, or null.
    T* find(Index key) {
        const auto it = where_.find(key);
        if (it == where_.end()) return nullptr;
        recency_.splice(recency_.begin(), recency_, it->second);
        return it->second->row;
    }
    bool contains(Index key) const { return where_.count(key) != 0; }

    /// A new row under `key`, which must be absent. Its values are not set. If the cache is full, the least recently
    /// used row is evicted and evicted(its key) is called.
    template <class F> T* insert(Index key, F&& evicted) {
        if (size() >= capacity_) {
            const Index last = recency_.back().key;
            erase(last);
            evicted(last);
        }
        T* row = take();
        recency_.push_front({key, row});
        where_.emplace(key, recency_.begin());
        return row;
    }

    void erase(Index key) {
        const auto it = where_.find(key);
        if (it == where_.end()) return;
        free_.push_back(it->second->row);
        recency_.erase(it->second);
        where_.erase(it);
    }

    /// Keep only the values at `positions` (ascending) of every row.
    void compact(const Array<Index>& positions) {
        for (auto& entry : recency_)
            for (Index i = 0; i < positions.size(); ++i) entry.row[i] = entry.row[positions[i]];
        length_ = positions.size();
    }

  private:
    struct Entry {
        Index key;
        T* row;
    };

    /// An odd number of cache lines, so that neighbouring rows start in different sets of every cache level.
    static Index stride_for(Index length) {
        constexpr Index line = 64 / sizeof(T);
        const Index lines = (std::max<Index>(length, 1) + line - 1) / line;
        return (lines | 1) * line;
    }

    T* take() {
        if (free_.empty()) {
            const Index slab = std::min<Index>(64, capacity_ - allocated_);
            slabs_.emplace_back();
            T* rows = slabs_.back().reserve(slab * stride_);
            for (Index i = slab - 1; i >= 0; --i) free_.push_back(rows + i * stride_);
            allocated_ += slab;
        }
        T* row = free_.back();
        free_.pop_back();
        return row;
    }

    Index length_, stride_, capacity_ = 0, allocated_ = 0;
    std::list<Entry> recency_;
    std::unordered_map<Index, typename std::list<Entry>::iterator> where_;
    Array<Aligned<T>> slabs_;
    Array<T*> free_;
};

}  // namespace hingeline
