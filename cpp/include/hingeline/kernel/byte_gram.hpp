// ByteGram: kernel values between rows of bytes, from exact integer products (vector/bytes.hpp). It owns the base rows,
// as the groups of four bytes that are not zero.
#pragma once

#include <cstring>

#include "hingeline/data/bytes.hpp"
#include "hingeline/kernel/gram.hpp"
#include "hingeline/run/team.hpp"

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
    template <class S> void take(const Kernel& kernel, double unit, const Rows<S>& rows, Ids ids, int threads = 1) {
        d_ = column_count(rows);
        groups_ = (d_ + group_features - 1) / group_features;
        inverse_ = static_cast<float>(1 / unit);
        kernel_ = kernel;
        // The distances of an RBF kernel stay integers.
        square_ = unit * unit;
        if (is_of_distance(kernel)) kernel_.gamma *= square_, square_ = 1.0;
        const Index count = parts_for(ids.count, threads);
        parts_.resize(static_cast<std::size_t>(count));
        run_tasks(count, threads, nullptr, [&](Index k, int) {
            Part& part = parts_[static_cast<std::size_t>(k)];
            part.clear();
            Wiped<std::uint8_t> line(groups_ * group_features, 0);
            for (Index i = ids.count * k / count; i < ids.count * (k + 1) / count; ++i) {
                to_bytes(rows, ids[i], inverse_, line.data());
                append(line.data(), part);
            }
        });
        std::swap(own_, parts_[0]);
        for (std::size_t k = 1; k < parts_.size(); ++k) own_.add(parts_[k]);
        largest_norm_ = 0;
        for (const T norm : own_.norms) largest_norm_ = std::max(largest_norm_, static_cast<double>(norm));
        require_finite_poly<T>(kernel_, largest_norm_, largest_norm_);
    }
    Index size() const { return own_.norms.size(); }
    Index features() const { return d_; }
    static int block() { return byte_ops<T>().lanes * byte_ops<T>().max_vectors; }
    static int grain() { return byte_ops<T>().lanes; }
    void diagonal(T* out) const { kernel_diagonal(kernel_, own_.norms, out); }

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
            for (Index j = own_.starts[queries[q]]; j < own_.starts[queries[q] + 1]; ++j)
                std::memcpy(line + own_.number[j] * group_features, &own_.group[j], group_features);
            b.norms.data()[q] = own_.norms[queries[q]];
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
    /// The groups of some rows that are not zero, with their numbers; the start of each row among them, the sums of its
    /// bytes and its squared norm.
    struct Part {
        Wiped<std::uint32_t> group;
        Wiped<std::int32_t> number;
        Array<Index> starts;
        Array<std::int32_t> sums;
        Wiped<T> norms;
        void clear() { group.clear(), number.clear(), starts.assign(1, 0), sums.clear(), norms.clear(); }
        /// Append the rows of another part.
        void add(const Part& o) {
            const Index before = starts.back();
            group.insert(group.end(), o.group.begin(), o.group.end());
            number.insert(number.end(), o.number.begin(), o.number.end());
            for (Index i = 1; i < o.starts.size(); ++i) starts.push_back(before + o.starts[i]);
            sums.insert(sums.end(), o.sums.begin(), o.sums.end());
            norms.insert(norms.end(), o.norms.begin(), o.norms.end());
        }
    };
    static Index parts_for(Index rows, int threads) {
        constexpr Index fewest_rows = 128;  // are worth a thread
        return std::clamp<Index>(rows / fewest_rows, 1, std::max(threads, 1));
    }
    void append(const std::uint8_t* line, Part& part) const {
        // Every group is written where the next one that is not zero goes: no branch to mispredict.
        Index at = part.starts.back();
        part.group.resize(at + groups_);
        part.number.resize(at + groups_);
        for (Index g = 0; g < groups_; ++g) {
            std::memcpy(&part.group[at], line + g * group_features, group_features);
            part.number[at] = static_cast<std::int32_t>(g);
            at += part.group[at] != 0;
        }
        part.group.resize(at);
        part.number.resize(at);
        part.starts.push_back(at);
        part.sums.push_back(std::accumulate(line, line + groups_ * group_features, std::int32_t{0}));
        part.norms.push_back(static_cast<T>(square(line)) * static_cast<T>(square_));
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
            for (int r = 0; r < tile_rows; ++r) s.row_norms.data()[r] = own_.norms[base[at + std::min(r, count - 1)]];
            for (int r = 0; r < count; ++r) {
                const Index i = base[at + r];
                b.rows[r] = {own_.group.data() + own_.starts[i], own_.number.data() + own_.starts[i],
                             own_.starts[i + 1] - own_.starts[i], own_.sums[i]};
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
    Part own_;
    std::vector<Part> parts_;  // kept for their memory
};

}  // namespace hingeline
