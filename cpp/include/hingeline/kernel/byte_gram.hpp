// ByteGram: kernel values between rows of bytes, from exact integer products (vector/bytes.hpp). It owns the base rows,
// as the groups of four bytes that are not zero.
#pragma once

#include <cstring>

#include "hingeline/data/bytes.hpp"
#include "hingeline/kernel/gram.hpp"

namespace hingeline {

/// Buffers of one thread.
template <class T> struct ByteScratch {
    Aligned<std::int32_t> panel;
    Aligned<std::uint8_t> bytes;
    Aligned<T> norms;
    Array<const std::uint8_t*> lanes;
    Array<ByteRow> rows;
    int count = 0, vectors = 0;  // queries in the panel, and its registers of words
};

template <class T> class ByteGram {
  public:
    /// Copy the rows `ids`, whose entries are bytes times `unit`.
    template <class S> void take(const Kernel& kernel, double unit, const Rows<S>& rows, Ids ids) {
        d_ = column_count(rows);
        groups_ = (d_ + group_features - 1) / group_features;
        inverse_ = static_cast<float>(1 / unit);
        kernel_ = kernel;
        // The distances of an RBF kernel stay integers.
        square_ = unit * unit;
        if (is_of_distance(kernel)) kernel_.gamma *= square_, square_ = 1.0;
        group_.clear(), number_.clear(), starts_.assign(1, 0), sums_.clear(), norms_.clear();
        largest_norm_ = 0;
        Wiped<std::uint8_t> line(groups_ * group_features, 0);
        for (Index i = 0; i < ids.count; ++i) {
            to_bytes(rows, ids[i], inverse_, line.data());
            append(line.data());
        }
        for (const T norm : norms_) largest_norm_ = std::max(largest_norm_, static_cast<double>(norm));
        require_finite_poly<T>(kernel_, largest_norm_, largest_norm_);
    }
    Index size() const { return norms_.size(); }
    Index features() const { return d_; }
    static int block() { return byte_ops<T>().lanes * byte_ops<T>().max_vectors; }
    static int grain() { return byte_ops<T>().lanes; }
    void diagonal(T* out) const { kernel_diagonal(kernel_, norms_, out); }

    /// columns[q][j] = K(base[j], queries[q]), both among the base rows. False when interrupted.
    bool columns(Ids queries, Ids base, T* const* columns, Scratch<T>& s, ByteScratch<T>& b) const {
        load(queries, b);
        return tiles(base, s, b, [&](Index at, int rows) {
            tile_ops<T>().to_columns(kernel_, s.tile.data(), registers(b), rows, b.count, s.row_norms.data(),
                                     b.norms.data(), columns, at);
        });
    }
    /// Lay base rows out as queries.
    void load(Ids queries, ByteScratch<T>& b) const {
        begin(queries.count, b);
        for (int q = 0; q < b.count; ++q) {
            std::uint8_t* line = b.bytes.data() + q * groups_ * group_features;
            std::fill_n(line, groups_ * group_features, std::uint8_t{0});
            for (Index j = starts_[queries[q]]; j < starts_[queries[q] + 1]; ++j)
                std::memcpy(line + number_[j] * group_features, &group_[j], group_features);
            b.norms.data()[q] = norms_[queries[q]];
        }
        pack(b);
    }
    /// Lay at most block() other rows out as queries.
    template <class S> void load(const Rows<S>& rows, Ids queries, ByteScratch<T>& b) const {
        begin(queries.count, b);
        for (int q = 0; q < b.count; ++q) {
            std::uint8_t* line = b.bytes.data() + q * groups_ * group_features;
            to_bytes(rows, queries[q], inverse_, line);
            std::fill(line + d_, line + groups_ * group_features, std::uint8_t{0});
            b.norms.data()[q] = static_cast<T>(square(line)) * static_cast<T>(square_);
            require_finite_poly<T>(kernel_, static_cast<double>(b.norms.data()[q]), largest_norm_);
        }
        pack(b);
    }
    /// Queries in a row of a tile, with padding.
    static int width(const ByteScratch<T>& b) { return registers(b) * tile_ops<T>().lanes; }
    /// Tiles of kernel values between the rows `base` and the queries loaded: calls sink(at, rows) with the values in
    /// s.tile. False when interrupted.
    template <class Sink> bool values(Ids base, Scratch<T>& s, ByteScratch<T>& b, Sink&& sink) const {
        return tiles(base, s, b, [&](Index at, int rows) {
            if (!is_linear(kernel_)) {
                s.lines.resize(tile_rows);
                for (int r = 0; r < rows; ++r) s.lines[r] = s.tile.data() + r * width(b);
                tile_ops<T>().to_rows(kernel_, s.tile.data(), registers(b), rows, s.row_norms.data(), b.norms.data(),
                                      s.lines.data(), 0);
            }
            sink(at, rows);
        });
    }

  private:
    void append(const std::uint8_t* line) {
        // Every group is written where the next one that is not zero goes: no branch to mispredict.
        Index at = starts_.back();
        group_.resize(at + groups_);
        number_.resize(at + groups_);
        for (Index g = 0; g < groups_; ++g) {
            std::memcpy(&group_[at], line + g * group_features, group_features);
            number_[at] = static_cast<std::int32_t>(g);
            at += group_[at] != 0;
        }
        group_.resize(at);
        number_.resize(at);
        starts_.push_back(at);
        sums_.push_back(std::accumulate(line, line + groups_ * group_features, std::int32_t{0}));
        norms_.push_back(static_cast<T>(square(line)) * static_cast<T>(square_));
    }
    std::int32_t square(const std::uint8_t* line) const {
        std::int32_t sum = 0;
        for (Index k = 0; k < groups_ * group_features; ++k) sum += std::int32_t{line[k]} * line[k];
        return sum;
    }
    static int registers(const ByteScratch<T>& b) { return b.vectors * byte_ops<T>().lanes / tile_ops<T>().lanes; }

    void begin(Index count, ByteScratch<T>& b) const {
        const auto& op = byte_ops<T>();
        b.count = static_cast<int>(count);
        b.vectors = (b.count + op.lanes - 1) / op.lanes;
        const Index width = b.vectors * op.lanes;
        b.panel.reserve(groups_ * op.words * width);
        b.bytes.reserve(groups_ * group_features * width);
        b.norms.reserve(width);
    }
    void pack(ByteScratch<T>& b) const {
        const auto& op = byte_ops<T>();
        const Index width = b.vectors * op.lanes;
        b.lanes.resize(width);
        for (Index q = 0; q < width; ++q)
            b.lanes[q] = b.bytes.data() + std::min<Index>(q, b.count - 1) * groups_ * group_features;
        std::fill(b.norms.data() + b.count, b.norms.data() + width, b.norms.data()[b.count - 1]);
        op.pack(b.lanes.data(), b.vectors, groups_, b.panel.data());
    }
    template <class Sink> bool tiles(Ids base, Scratch<T>& s, ByteScratch<T>& b, Sink&& sink) const {
        s.tile.reserve(tile_rows * b.vectors * byte_ops<T>().lanes);
        s.row_norms.reserve(tile_rows);
        b.rows.resize(tile_rows);
        for (Index at = 0; at < base.count; at += tile_rows) {
            if (s.interrupted()) return false;
            const int count = static_cast<int>(std::min<Index>(tile_rows, base.count - at));
            for (int r = 0; r < tile_rows; ++r) s.row_norms.data()[r] = norms_[base[at + std::min(r, count - 1)]];
            for (int r = 0; r < count; ++r) {
                const Index i = base[at + r];
                b.rows[r] = {group_.data() + starts_[i], number_.data() + starts_[i], starts_[i + 1] - starts_[i],
                             sums_[i]};
            }
            byte_ops<T>().dots(b.panel.data(), b.vectors, b.rows.data(), count, static_cast<T>(square_), s.tile.data());
            sink(at, count);
        }
        return true;
    }

    Kernel kernel_;
    double square_ = 1, largest_norm_ = 0;
    float inverse_ = 1;
    Index d_ = 0, groups_ = 0;
    Wiped<std::uint32_t> group_;
    Wiped<std::int32_t> number_;
    Array<Index> starts_;
    Array<std::int32_t> sums_;
    Wiped<T> norms_;
};

}  // namespace hingeline
