// ByteOps: dot products of rows of bytes, as exact integers.
//
// Layout. A *group* is four features in one word of 32 bits. Queries lie in panels, group by group: `words` words per
// query and group, panel[(g * words + w) * width + lane], width = vectors * lanes. Base rows hold the groups that are
// not zero. A tile is as in TileOps.
//
// Sums of products of at most `most_features` features fit 32 bits, so no order and no layout changes a result.
#pragma once

#include "hingeline/vector/layout.hpp"

namespace hingeline {

/// Features of a group, and the largest number of features of a row.
inline constexpr Index group_features = 4, most_byte_features = 4096;

/// One row: `count` groups and their numbers, ascending; `sum` is that of its bytes.
struct ByteRow {
    const std::uint32_t* group;
    const std::int32_t* number;
    Index count;
    std::int32_t sum;
};

template <class T> struct ByteOps {
    int lanes;        // queries of a register
    int max_vectors;  // registers of a panel
    int words;        // per query and group
    /// Lay out vectors * lanes rows of `groups` groups each.
    void (*pack)(const std::uint8_t* const* rows, int vectors, Index groups, std::int32_t* panel);
    /// tile[r][q] = scale * (rows[r] . panel[q]), the product converted to T first.
    void (*dots)(const std::int32_t* panel, int vectors, const ByteRow* rows, int row_count, T scale, T* tile);
};

template <class T> const ByteOps<T>& byte_ops();
template <> const ByteOps<float>& byte_ops<float>();
template <> const ByteOps<double>& byte_ops<double>();

}  // namespace hingeline
