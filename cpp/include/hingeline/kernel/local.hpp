// Local: kernel values of some rows of a source, between these rows or against any rows, in a precision that may differ
// from that of the source.
//
// The rows are copied, which makes them contiguous, converts them once and lets sparse ones be compressed. Sums of
// kernel values over the rows use each tile while it is in the cache; the values are not stored.
//
// A Local has
//
//     take(source, rows, threads)              copy the rows
//     prepare(scratch)                         promise to call `columns` with all rows as base, until the next promise
//     columns(queries, base, columns, scratch) columns[q][j] = K(rows[base[j]], rows[queries[q]])
//     tiles(queries, first, scratch, sink)     tiles of kernel values between some rows and all rows from the first on
//     unit_diagonal(source)                    whether all values are between 0 and 1 and K(x, x) = 1
//     block()                                  largest number of queries of a call
//     ahead()                                  number of queries that cost little more than one
//     nanoseconds()                            time of a kernel value, roughly
//     diagonal(out)                            out[j] = K(rows[j], rows[j])
//     sums(source, queries, coef, scratch, out)
//         out[q] = sum_j coef[j] K(rows[j], queries[q]) in double, j ascending, for at most block() queries of the
//         source
#pragma once

#include "hingeline/data/modes.hpp"
#include "hingeline/kernel/byte_gram.hpp"

namespace hingeline {

/// A kernel function of rows. The rows must outlive this.
template <class S> struct RowKernel {
    Kernel kernel;
    Rows<S> rows;
    ByteUnit bytes{};   // unit of rows that fit bytes
    Array<S> origin{};  // of the features, for kernels that do not depend on it; empty: zero
    Index size() const { return row_count(rows); }
};

/// Largest squared norm of a row. Throws if a norm is too large in double.
template <class S> double largest_norm(const Rows<S>& rows) {
    double largest = 0;
    Array<S> line(column_count(rows));
    for (Index i = 0; i < row_count(rows); ++i) {
        spread(rows, i, line.data());
        double parts[8] = {};  // independent sums hide the latency of the additions
        Index k = 0;
        for (; k + 8 <= line.size(); k += 8)
            for (int u = 0; u < 8; ++u) parts[u] += static_cast<double>(line[k + u]) * static_cast<double>(line[k + u]);
        for (; k < line.size(); ++k) parts[0] += static_cast<double>(line[k]) * static_cast<double>(line[k]);
        const double norm = std::accumulate(parts, parts + 8, 0.0);
        require_moderate(norm, i);
        largest = std::max(largest, norm);
    }
    return largest;
}

/// Whether kernel values in single precision are good approximations: the errors of products of rows, relative to
/// single precision, must not dominate the kernel values. Throws if rows are too large in double.
template <class S> bool single_suffices(const Kernel& kernel, const Rows<S>& rows) {
    constexpr double most = 1e4;
    return argument_size(kernel, largest_norm(rows)) <= most;
}

/// With the cheapest form of the rows that gives the same kernel values.
template <class S> RowKernel<S> row_kernel(const Kernel& kernel, const Rows<S>& rows) {
    RowKernel<S> out{kernel, rows};
    out.bytes = byte_unit(rows);
    if (!out.bytes && is_of_distance(kernel)) out.origin = common_values(rows);
    return out;
}

/// Buffers of one thread.
template <class T> struct SumScratch {
    Scratch<T> tiles;
    ByteScratch<T> bytes;
    Aligned<double> sums;
    Aligned<T> lines;
    Aligned<std::uint16_t> coarse;
    Array<std::uint16_t*> turned;
    Wiped<T> rows;
};

template <class Source, class T> class Local;

template <class S, class T> class Local<RowKernel<S>, T> {
  public:
    static bool unit_diagonal(const RowKernel<S>& source) { return is_of_distance(source.kernel); }
    void take(const RowKernel<S>& source, Ids rows, int threads = 1) {
        gram_.reset();
        in_bytes_ = source.bytes.template fits<T>();
        if (in_bytes_) return bytes_.take(source.kernel, source.bytes.unit, source.rows, rows, threads);
        if (source.origin.empty())
            std::visit([&](const auto& x) { copy(x, rows); }, source.rows);
        else
            view_ = shift_rows(source, rows, dense_, threads);
        constexpr std::size_t own_size = std::size_t{1} << 62;  // a compressed copy is smaller than the rows
        gram_.emplace(source.kernel, view_, own_size);
    }
    void prepare(SumScratch<T>& s) const {
        constexpr std::size_t most_bytes = std::size_t{8} << 20;
        in_bytes_ ? s.tiles.kept.clear() : gram_->prepare(Ids::run(0, size()), s.tiles, most_bytes);
    }
    Index size() const { return in_bytes_ ? bytes_.size() : gram_->size(); }
    int block() const { return in_bytes_ ? bytes_.block() : Gram<T>::block(); }
    int ahead() const {
        if (in_bytes_) return bytes_.grain();
        return gram_->blocks_pay() && gram_->grain() == 1 ? tile_ops<T>().lanes : gram_->grain();
    }
    double nanoseconds() const {
        const Index products = in_bytes_ ? bytes_.features() / 4 : entry_count(view_) / std::max<Index>(size(), 1);
        return 0.3 + 0.02 * static_cast<double>(products);
    }
    void diagonal(T* out) const { in_bytes_ ? bytes_.diagonal(out) : gram_->diagonal(out); }
    bool columns(Ids queries, Ids base, T* const* columns, SumScratch<T>& s) const {
        if (in_bytes_) return bytes_.columns(queries, base, columns, s.tiles, s.bytes);
        return gram_->columns(queries, base, columns, s.tiles);
    }
    /// Calls sink(at, rows, width): s.tiles.tile[r * width + q] = K(rows[first + at + r], rows[queries[q]]) for all
    /// rows from `first` on.
    template <class Sink> void tiles(Ids queries, Index first, SumScratch<T>& s, Sink&& sink) const {
        in_bytes_ ? bytes_.load(queries, s.bytes) : gram_->load(queries, s.tiles);
        load_base(Ids::run(first, size() - first), s, sink);
    }
    void sums(const RowKernel<S>& source, Ids queries, const double* coef, SumScratch<T>& s, double* out) const {
        if (in_bytes_)
            bytes_.load(source.rows, queries, s.bytes);
        else if (source.origin.empty())
            gram_->load(source.rows, queries, s.tiles);
        else
            gram_->load(Rows<T>(shift_rows(source, queries, s.rows)), Ids::run(0, queries.count), s.tiles);
        double* const sum = s.sums.reserve(Gram<T>::block());
        std::fill_n(sum, Gram<T>::block(), 0.0);
        load_base(Ids::run(0, size()), s, [&](Index at, int rows, int width) {
            tile_ops<T>().accumulate(s.tiles.tile.data(), width, rows, coef + at, size(), 1, sum);
        });
        std::copy_n(sum, queries.count, out);
    }

  private:
    /// Tiles of kernel values of the queries loaded.
    template <class Sink> void load_base(Ids base, SumScratch<T>& s, Sink&& sink) const {
        if (in_bytes_) {
            bytes_.values(base, s.tiles, s.bytes, [&](Index at, int rows) { sink(at, rows, bytes_.width(s.bytes)); });
            return;
        }
        const int width = s.tiles.panel.vectors() * tile_ops<T>().lanes;
        gram_->values(base, s.tiles, [&](Index at, int rows) { sink(at, rows, width); });
    }
    /// Rows relative to the origin, in `to`. The difference is rounded once.
    static DenseRows<T> shift_rows(const RowKernel<S>& source, Ids rows, Wiped<T>& to, int threads = 1) {
        using Wide = std::conditional_t<(sizeof(S) > sizeof(T)), S, T>;
        const Index d = column_count(source.rows);
        to.resize(rows.count * d);
        constexpr Index rows_at_once = 256;
        run_tasks((rows.count + rows_at_once - 1) / rows_at_once, threads, nullptr, [&](Index task, int) {
            Array<S> line(d);
            for (Index i = task * rows_at_once; i < std::min((task + 1) * rows_at_once, rows.count); ++i) {
                spread(source.rows, rows[i], line.data());
                for (Index k = 0; k < d; ++k)
                    to[i * d + k] = static_cast<T>(static_cast<Wide>(line[k]) - static_cast<Wide>(source.origin[k]));
            }
        });
        return {to.data(), rows.count, d, d, 1};
    }
    void copy(const DenseRows<S>& x, Ids rows) {
        dense_.resize(rows.count * x.d);
        T* to = dense_.data();
        for (Index i = 0; i < rows.count; ++i, to += x.d) {
            const S* from = x.row(rows[i]);
            if (x.contiguous())
                std::transform(from, from + x.d, to, [](S value) { return static_cast<T>(value); });
            else
                for (Index k = 0; k < x.d; ++k) to[k] = static_cast<T>(from[k * x.column_stride]);
        }
        view_ = DenseRows<T>{dense_.data(), rows.count, x.d, x.d, 1};
    }
    template <class I> void copy(const CsrRows<S, I>& x, Ids rows) {
        auto& to = std::get<OwnedCsr<T, I, Wiped>>(sparse_);
        to.d = x.d;
        to.values.clear(), to.columns.clear(), to.starts.assign(1, 0);
        for (Index i = 0; i < rows.count; ++i) {
            const auto row = x.row(rows[i]);
            for (Index j = 0; j < row.count; ++j) to.values.push_back(static_cast<T>(row.value[j]));
            to.columns.insert(to.columns.end(), row.column, row.column + row.count);
            to.starts.push_back(static_cast<I>(to.columns.size()));
        }
        view_ = to.view();
    }

    Wiped<T> dense_;
    std::tuple<OwnedCsr<T, std::int32_t, Wiped>, OwnedCsr<T, std::int64_t, Wiped>> sparse_;
    Rows<T> view_;
    std::optional<Gram<T>> gram_;
    ByteGram<T> bytes_;
    bool in_bytes_ = false;
};

template <class S, class T> class Local<Gathered<S>, T> {
  public:
    void take(const Gathered<S>& source, Ids rows, int = 1) {
        lines_.clear(), places_.clear();
        for (Index i = 0; i < rows.count; ++i) {
            lines_.push_back(source.line(rows[i]));
            places_.push_back(source.place(rows[i]));
        }
    }
    static void prepare(SumScratch<T>&) {}
    static bool unit_diagonal(const Gathered<S>&) { return false; }
    Index size() const { return places_.size(); }
    static int block() { return tile_ops<T>().lanes; }
    static int ahead() { return 1; }  // reading values that may not be needed costs as much as reading needed ones
    static double nanoseconds() { return 1; }
    void diagonal(T* out) const {
        for (Index i = 0; i < size(); ++i) out[i] = static_cast<T>(lines_[i][places_[i]]);
    }
    bool columns(Ids queries, Ids base, T* const* columns, SumScratch<T>& s) const {
        for (Index q = 0; q < queries.count; ++q) {
            if (s.tiles.interrupted()) return false;
            const S* line = lines_[queries[q]];
            if (base.list)
                for (Index j = 0; j < base.count; ++j) columns[q][j] = static_cast<T>(line[places_[base.list[j]]]);
            else
                for (Index j = 0; j < base.count; ++j) columns[q][j] = static_cast<T>(line[places_[base.first + j]]);
        }
        return true;
    }
    /// With the operation that adds up computed values: the same bits.
    void sums(const Gathered<S>& source, Ids queries, const double* coef, SumScratch<T>& s, double* out) const {
        constexpr Index most_rows = 64;
        const int width = block();
        T* const tile = s.tiles.tile.reserve(most_rows * width);
        std::fill_n(tile, most_rows * width, T{0});
        double* const sum = s.sums.reserve(width);
        std::fill_n(sum, width, 0.0);
        for (Index at = 0; at < size(); at += most_rows) {
            const Index rows = std::min(most_rows, size() - at);
            for (Index q = 0; q < queries.count; ++q) {
                const S* line = source.line(queries[q]);
                for (Index r = 0; r < rows; ++r) tile[r * width + q] = static_cast<T>(line[places_[at + r]]);
            }
            tile_ops<T>().accumulate(tile, width, static_cast<int>(rows), coef + at, size(), 1, sum);
        }
        std::copy_n(sum, queries.count, out);
    }

  private:
    Array<const S*> lines_;
    Array<Index> places_;  // K(i, j) = lines_[i][places_[j]]
};

}  // namespace hingeline
