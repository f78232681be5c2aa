// Gram: kernel values between base rows and queries, a block at a time. It has no cache.
//
// There are three ways to the same bits (vector/tiles.hpp): queries in panels against dense base rows, queries in
// panels against CSR base rows, and, if rows are short, base rows in panels against the queries, which saves the
// transposition of the result.
#pragma once

#include <cmath>
#include <numeric>

#include "hingeline/kernel/source.hpp"

namespace hingeline {

template <class T> void require_finite_poly(const Kernel& kernel, double a, double b) {
    if (!may_overflow(kernel)) return;
    if (!(poly_bound(kernel, a, b) <=
          (sizeof(T) == 4 ? static_cast<double>(std::numeric_limits<T>::max()) : largest_value)))
        throw std::invalid_argument("the polynomial kernel leaves the range of " +
                                    std::string(sizeof(T) == 4 ? "float32" : "float64") +
                                    " on these rows; scale the features or lower gamma or degree");
}

/// out[i] = K(i, i) from the squared norms of the rows.
template <class T> void kernel_diagonal(const Kernel& kernel, const Wiped<T>& norms, T* out) {
    const Index n = norms.size(), room = (n + line_step - 1) / line_step * line_step;
    if (is_of_distance(kernel)) {
        std::fill_n(out, n, T(1));
        return;
    }
    Aligned<T> dots;
    std::copy(norms.begin(), norms.end(), dots.reserve(room));
    std::fill(dots.data() + n, dots.data() + room, T(0));
    tile_ops<T>().to_line(kernel, dots.data(), n, dots.data(), T(0), out);
}

template <class T> class Gram {
  public:
    using Value = T;

    /// `base` must outlive the Gram. Dense rows with many zeros are also kept compressed if the copy fits `copy_budget`
    /// bytes.
    Gram(const Kernel& kernel, const Rows<T>& base, std::size_t copy_budget)
        : kernel_(kernel), rows_(base), base_(base) {
        if (const auto* dense = std::get_if<DenseRows<T>>(&base))
            if ((copy_ = compressed(*dense, copy_budget))) base_ = copy_->view();
        bits_ = as_bits(base_, copy_budget - std::min(copy_budget, static_cast<std::size_t>(copy_bytes())));
        norms_ = norms_of(base_);
        for (const T norm : norms_) largest_norm_ = std::max(largest_norm_, static_cast<double>(norm));
        require_finite_kernel(largest_norm_);
    }
    /// From rows whose squared norms (`norms_of`) are known. Only the norms are copied.
    Gram(const Kernel& kernel, const Rows<T>& base, const Wiped<T>& norms)
        : kernel_(kernel), rows_(base), base_(base), norms_(norms) {
        for (const T norm : norms_) largest_norm_ = std::max(largest_norm_, static_cast<double>(norm));
        require_finite_kernel(largest_norm_);
    }
    Gram(const Gram&) = delete;
    Gram& operator=(const Gram&) = delete;

    /// Squared norms of rows; throws if one is too large.
    static Wiped<T> norms_of(const Rows<T>& rows) {
        const auto& op = tile_ops<T>();
        Wiped<T> out(row_count(rows));
        Scratch<T> s;
        std::visit(
            [&](const auto& x) {
                if constexpr (std::is_same_v<std::decay_t<decltype(x)>, DenseRows<T>>) {
                    for (Index at = 0; at < x.n; at += tile_rows) {
                        const int count = static_cast<int>(std::min<Index>(tile_rows, x.n - at));
                        point_at(x, Ids::run(0, x.n), at, count, count, s);
                        op.norms(s.rows.data(), count, x.d, out.data() + at);
                    }
                } else {
                    for (Index i = 0; i < x.n; ++i) {
                        const auto row = x.row(i);
                        op.norms(&row.value, 1, row.count, out.data() + i);
                    }
                }
            },
            rows);
        for (Index i = 0; i < out.size(); ++i) require_moderate(out[i], i);
        return out;
    }

    Index size() const { return row_count(rows_); }
    Index copy_bytes() const {
        return (copy_ ? static_cast<Index>(copy_->values.size() * (sizeof(T) + 4) + copy_->starts.size() * 4) : 0) +
               (bits_ ? static_cast<Index>(bits_->words.size() * 8) : 0);
    }
    /// An upper bound of |K| over the base rows.
    double largest() const { return value_bound(kernel_, largest_norm_); }
    static int block() { return tile_ops<T>().lanes * tile_ops<T>().max_vectors; }
    /// Queries fill a strip of rows (short rows), the lanes of a register (dense rows), or are taken one by one.
    int grain() const {
        if (!std::holds_alternative<DenseRows<T>>(base_)) return 1;
        return short_rows() ? std::min(strip_rows, block()) : tile_ops<T>().lanes;
    }
    bool blocks_pay() const { return !bits_; }

    /// Short rows are then packed only once, if that fits `budget` bytes.
    void prepare(Ids base, Scratch<T>& s, std::size_t budget) const {
        s.kept.clear();
        const Index width = block();
        const Index bytes = (base.count + width) * (column_count(base_) + 1) * static_cast<Index>(sizeof(T));
        if (!short_rows() || static_cast<std::size_t>(bytes) > budget) return;
        for (Index at = 0; at < base.count; at += width)
            s.kept.emplace_back().fill(rows_, base.part(at, std::min(width, base.count - at)), true, norms_.data());
    }

    bool columns(Ids queries, Ids base, T* const* columns, Scratch<T>& s) const {
        const auto* dense = std::get_if<DenseRows<T>>(&base_);
        constexpr Index spread_limit = 1 << 20;  // largest number of features for which a query is laid out densely
        const bool few = !dense && queries.count * 4 <= tile_ops<T>().lanes && column_count(base_) <= spread_limit;
        if (bits_ || few) return one_by_one(queries, base, columns, s);
        if (short_rows()) return base_in_panels(*dense, queries, base, columns, s);
        s.panel.fill(rows_, queries, dense != nullptr, norms_.data());
        const auto& op = tile_ops<T>();
        return tiles(
            base, s,
            [&](Index at, int rows) {
                op.to_columns(kernel_, s.tile.data(), s.panel.vectors(), rows, s.panel.count(), s.row_norms.data(),
                              s.panel.norms(), columns, at);
            },
            [&](Index at, int rows) { prefetch(columns, s.panel.count(), at, rows); });
    }

    /// out[i] = K(i, i) of all base rows.
    void diagonal(T* out) const { kernel_diagonal(kernel_, norms_, out); }

    /// Lay the queries out in the panel of `s`.
    template <class S> void load(const Rows<S>& queries, Ids ids, Scratch<T>& s) const {
        s.panel.fill(queries, ids, std::holds_alternative<DenseRows<T>>(base_));
        const T* norms = s.panel.norms();
        require_finite_kernel(static_cast<double>(*std::max_element(norms, norms + s.panel.count())));
    }
    /// Kernel values of at most block() other rows against all base rows: columns[q][j]. False when interrupted.
    template <class S> bool against(const Rows<S>& queries, Ids ids, T* const* columns, Scratch<T>& s) const {
        load(queries, ids, s);
        return tiles(
            Ids::run(0, size()), s,
            [&](Index at, int rows) {
                tile_ops<T>().to_columns(kernel_, s.tile.data(), s.panel.vectors(), rows, s.panel.count(),
                                         s.row_norms.data(), s.panel.norms(), columns, at);
            },
            [](Index, int) {});
    }
    /// Lay base rows out as queries in the panel of `s`.
    void load(Ids queries, Scratch<T>& s) const {
        s.panel.fill(rows_, queries, std::holds_alternative<DenseRows<T>>(base_), norms_.data());
    }
    /// Tiles of kernel values between the rows `base` and the queries loaded: calls sink(at, rows) with the values in
    /// s.tile. False when interrupted.
    template <class Sink> bool values(Ids base, Scratch<T>& s, Sink&& sink) const {
        const auto& op = tile_ops<T>();
        const int width = s.panel.vectors() * op.lanes;
        return tiles(
            base, s,
            [&](Index at, int rows) {
                if (!is_linear(kernel_)) {
                    s.lines.resize(tile_rows);
                    for (int r = 0; r < rows; ++r) s.lines[r] = s.tile.data() + r * width;
                    op.to_rows(kernel_, s.tile.data(), s.panel.vectors(), rows, s.row_norms.data(), s.panel.norms(),
                               s.lines.data(), 0);
                }
                sink(at, rows);
            },
            [](Index, int) {});
    }

  private:
    /// Packing costs d values per base row; transposing costs one value per query and leaves registers half empty. So
    /// short base rows are packed.
    bool short_rows() const {
        const auto* dense = std::get_if<DenseRows<T>>(&base_);
        return dense && dense->contiguous() && dense->d <= 96;
    }

    template <class Sink, class Before> bool tiles(Ids base, Scratch<T>& s, Sink&& sink, Before&& before) const {
        return std::visit([&](const auto& rows) { return tiles_of(rows, base, s, sink, before); }, base_);
    }

    template <class R, class Sink, class Before>
    bool tiles_of(const R& rows, Ids base, Scratch<T>& s, Sink&& sink, Before&& before) const {
        const auto& op = tile_ops<T>();
        const int width = s.panel.vectors() * op.lanes;
        s.tile.reserve(tile_rows * width);
        s.row_norms.reserve(tile_rows);
        for (Index at = 0; at < base.count; at += tile_rows) {
            if (s.interrupted()) return false;
            const int count = static_cast<int>(std::min<Index>(tile_rows, base.count - at));
            before(at, count);
            for (int r = 0; r < tile_rows; ++r) s.row_norms.data()[r] = norms_[base[at + std::min(r, count - 1)]];
            dots(rows, base, at, count, s);
            sink(at, count);
        }
        return true;
    }

    void dots(const DenseRows<T>& x, Ids base, Index at, int count, Scratch<T>& s) const {
        point_at(x, base, at, count, tile_rows, s);
        tile_ops<T>().dense(s.panel.values(), s.panel.vectors(), x.d, s.rows.data(), count, s.tile.data());
    }
    void dots(const CsrRows<T, std::int32_t>& x, Ids base, Index at, int count, Scratch<T>& s) const {
        s.sparse32.resize(tile_rows);
        for (int r = 0; r < count; ++r) s.sparse32[r] = x.row(base[at + r]);
        tile_ops<T>().sparse32(s.panel.values(), s.panel.vectors(), s.panel.slots(), s.sparse32.data(), count,
                               s.tile.data());
    }
    void dots(const CsrRows<T, std::int64_t>& x, Ids base, Index at, int count, Scratch<T>& s) const {
        s.sparse64.resize(tile_rows);
        for (int r = 0; r < count; ++r) s.sparse64[r] = x.row(base[at + r]);
        tile_ops<T>().sparse64(s.panel.values(), s.panel.vectors(), s.panel.slots(), s.sparse64.data(), count,
                               s.tile.data());
    }

    /// s.rows[0..length): contiguous rows at..at+count of `ids`, the last one repeated.
    static void point_at(const DenseRows<T>& x, Ids ids, Index at, int count, int length, Scratch<T>& s) {
        s.rows.resize(length);
        if (x.contiguous()) {
            for (int r = 0; r < count; ++r) s.rows[r] = x.row(ids[at + r]);
        } else {
            T* copy = s.copies.reserve(length * x.d);
            for (int r = 0; r < count; ++r) {
                x.copy_row(ids[at + r], copy + r * x.d);
                s.rows[r] = copy + r * x.d;
            }
        }
        for (int r = count; r < length; ++r) s.rows[r] = s.rows[count - 1];
    }

    bool base_in_panels(const DenseRows<T>& x, Ids queries, Ids base, T* const* columns, Scratch<T>& s) const {
        const auto& op = tile_ops<T>();
        const int width = block(), count = static_cast<int>(queries.count);
        const int rows = (count + row_step - 1) / row_step * row_step;
        s.tile.reserve(rows * width);
        s.row_norms.reserve(rows);
        for (int r = 0; r < rows; ++r) s.row_norms.data()[r] = norms_[queries[std::min(r, count - 1)]];
        point_at(x, queries, 0, count, rows, s);
        s.lines.resize(count);
        for (Index at = 0; at < base.count; at += width) {
            if (s.interrupted()) return false;
            const int lanes = static_cast<int>(std::min<Index>(width, base.count - at));
            if (s.kept.empty()) s.panel.fill(rows_, base.part(at, lanes), true, norms_.data());
            const Panel<T>& panel = s.kept.empty() ? s.panel : s.kept[at / width];
            op.dense(panel.values(), panel.vectors(), x.d, s.rows.data(), count, s.tile.data());
            const int covered = panel.vectors() * op.lanes;
            T* const* to = columns;
            if (lanes < covered) {  // whole registers are written: copy the last ones through the tile
                for (int r = 0; r < count; ++r) s.lines[r] = s.tile.data() + r * covered;
                to = s.lines.data();
            }
            op.to_rows(kernel_, s.tile.data(), panel.vectors(), count, s.row_norms.data(), panel.norms(), to,
                       lanes < covered ? 0 : at);
            if (lanes < covered)
                for (int r = 0; r < count; ++r) std::copy_n(to[r], lanes, columns[r] + at);
        }
        return true;
    }

    /// One query at a time against sparse rows or bits. The rows are read in stretches that stay in the L1 cache.
    bool one_by_one(Ids queries, Ids base, T* const* columns, Scratch<T>& s) const {
        constexpr Index stretch = 8 * line_step;
        const auto& op = tile_ops<T>();
        T* dots = s.tile.reserve(stretch);
        T* norms = s.row_norms.reserve(stretch);
        const Index d = column_count(base_);
        if (!base.list) {
            s.run.resize(base.count);
            std::iota(s.run.begin(), s.run.end(), base.first);
            base = Ids::of(s.run);
        }
        for (Index q = 0; q < queries.count; ++q) {
            if (!bits_) spread(rows_, queries[q], s.copies.reserve(d));
            for (Index at = 0; at < base.count; at += stretch) {
                if (s.interrupted()) return false;
                const Index count = std::min(stretch, base.count - at);
                for (Index r = 0; r < count; ++r) norms[r] = norms_[base[at + r]];
                if (bits_)
                    op.bits_one(bits_->row(queries[q]), bits_->per_row, bits_->words.data(), base.list + at, count,
                                dots);
                else
                    std::visit([&](const auto& x) { dots_one(x, base, at, count, s); }, base_);
                op.to_line(kernel_, dots, count, norms, norms_[queries[q]], columns[q] + at);
            }
        }
        return true;
    }
    void dots_one(const DenseRows<T>&, Ids, Index, Index, Scratch<T>&) const {}  // never called: dense rows use tiles
    template <class I> void dots_one(const CsrRows<T, I>& x, Ids base, Index at, Index count, Scratch<T>& s) const {
        auto& rows = [&]() -> auto& {
            if constexpr (sizeof(I) == 4)
                return s.sparse32;
            else
                return s.sparse64;
        }();
        rows.resize(std::max<Index>(count, tile_rows));
        for (Index r = 0; r < count; ++r) rows[r] = x.row(base[at + r]);
        if constexpr (sizeof(I) == 4)
            tile_ops<T>().sparse_one32(s.copies.data(), rows.data(), count, s.tile.data());
        else
            tile_ops<T>().sparse_one64(s.copies.data(), rows.data(), count, s.tile.data());
    }

    /// Prefetch the cache lines that a tile will write while its dot products are computed.
    static void prefetch(T* const* columns, int queries, Index at, int rows) {
#if defined(__GNUC__)
        constexpr Index line = 64 / sizeof(T);
        for (int q = 0; q < queries; ++q)
            for (Index r = 0; r < rows; r += line) __builtin_prefetch(columns[q] + at + r, 1);
#else
        (void)columns, (void)queries, (void)at, (void)rows;
#endif
    }

    /// `norm` is the largest squared norm on the other side.
    void require_finite_kernel(double norm) const { require_finite_poly<T>(kernel_, norm, largest_norm_); }

    Kernel kernel_;
    Rows<T> rows_;  // queries are read from here
    Rows<T> base_;  // base rows from here: the same, or their compressed copy
    std::optional<OwnedCsr<T, std::int32_t, Wiped>> copy_;
    std::optional<BitRows> bits_;
    Wiped<T> norms_;
    double largest_norm_ = 0;
};

}  // namespace hingeline
