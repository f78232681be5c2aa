// Ids: which rows, in which order, without owning the list.
#pragma once

#include <vector>

#include "hingeline/core/index.hpp"

namespace hingeline {

/// A list of row numbers, or a run of consecutive ones.
struct Ids {
    const Index* list = nullptr;
    Index first = 0;
    Index count = 0;
    static Ids run(Index first, Index count) { return {nullptr, first, count}; }
    static Ids of(const std::vector<Index>& v) { return {v.data(), 0, static_cast<Index>(v.size())}; }
    Index operator[](Index i) const { return list ? list[i] : first + i; }
    Ids part(Index at, Index some) const { return list ? Ids{list + at, 0, some} : run(first + at, some); }
};

}  // namespace hingeline
