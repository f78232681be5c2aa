// Rows: a view of a matrix, dense or CSR, that owns nothing. Code differs between the two forms here and in the classes
// built on it (Store, Lines, Panel, Gram), which ask once per block of rows, never per entry.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

#include "hingeline/core/ids.hpp"
#include "hingeline/core/wipe.hpp"
#include "hingeline/vector/layout.hpp"

namespace hingeline {

/// Element (i, j) is data[i * row_stride + j * column_stride]; strides count elements and may be negative.
template <class T> struct DenseRows {
    const T* data = nullptr;
    Index n = 0, d = 0, row_stride = 0, column_stride = 1;
    bool contiguous() const { return column_stride == 1 || d <= 1; }
    const T* row(Index i) const { return data + i * row_stride; }
    void copy_row(Index i, T* out) const {
        const T* x = row(i);
        for (Index k = 0; k < d; ++k) out[k] = x[k * column_stride];
    }
};

/// Compressed sparse rows; columns of a row ascending, each at most once (see `canonical`).
template <class T, class I> struct CsrRows {
    const T* values = nullptr;
    const I* columns = nullptr;
    const I* starts = nullptr;
    Index n = 0, d = 0;
    SparseRow<T, I> row(Index i) const {
        return {values + starts[i], columns + starts[i], static_cast<Index>(starts[i + 1] - starts[i])};
    }
};

template <class T> using Rows = std::variant<DenseRows<T>, CsrRows<T, std::int32_t>, CsrRows<T, std::int64_t>>;

template <class T> Index row_count(const Rows<T>& rows) {
    return std::visit([](const auto& r) { return r.n; }, rows);
}
template <class T> Index column_count(const Rows<T>& rows) {
    return std::visit([](const auto& r) { return r.d; }, rows);
}

/// Number of stored entries.
template <class T> Index entry_count(const Rows<T>& rows) {
    return std::visit(
        [](const auto& r) {
            if constexpr (std::is_same_v<std::decay_t<decltype(r)>, DenseRows<T>>)
                return r.n * r.d;
            else
                return static_cast<Index>(r.starts[r.n]);
        },
        rows);
}

/// Row i as d contiguous values.
template <class T> void spread(const Rows<T>& rows, Index i, T* out) {
    std::visit(
        [&](const auto& x) {
            if constexpr (std::is_same_v<std::decay_t<decltype(x)>, DenseRows<T>>) {
                x.copy_row(i, out);
            } else {
                std::fill(out, out + x.d, T(0));
                const auto row = x.row(i);
                for (Index j = 0; j < row.count; ++j) out[row.column[j]] = row.value[j];
            }
        },
        rows);
}

/// A CSR matrix that owns its arrays.
template <class T, class I, template <class...> class Storage = Array> struct OwnedCsr {
    Storage<T> values;
    Storage<I> columns;
    Storage<I> starts;
    Index d = 0;
    CsrRows<T, I> view() const { return {values.data(), columns.data(), starts.data(), starts.size() - 1, d}; }
};

/// Check the limits of the rows of a CSR matrix of `stored` entries.
template <class I> void require_starts(const I* starts, Index n, Index stored) {
    if (starts[0] != 0) throw std::invalid_argument("indptr must start with 0");
    for (Index i = 0; i < n; ++i)
        if (starts[i + 1] < starts[i] || starts[i + 1] > stored)
            throw std::invalid_argument("indptr must ascend and end within the stored entries");
}

/// Check the arrays of a CSR matrix, so that a damaged one is never read out of bounds. Returns nothing if the view can
/// be used as it is, otherwise a sorted copy with duplicates summed.
template <class T, class I> std::optional<OwnedCsr<T, I>> canonical(const CsrRows<T, I>& x, Index stored) {
    require_starts(x.starts, x.n, stored);
    // Count the steps to a column that is not larger: over all entries, and between one row and the next. The rows are
    // sorted if the two counts agree. The loop over all entries has no branches.
    Index falls = 0, between = 0;
    const Index all = static_cast<Index>(x.starts[x.n]);
    for (Index j = 1; j < all; ++j) falls += x.columns[j] <= x.columns[j - 1];
    for (Index i = 1, last = 0; i < x.n; ++i) {
        const Index j = static_cast<Index>(x.starts[i]);
        if (j == last || j == all || j == 0) continue;  // no entry before this row, or none after it
        between += x.columns[j] <= x.columns[j - 1];
        last = j;
    }
    const bool sorted = falls == between;
    for (Index i = 0; i < x.n; ++i) {
        const Index from = static_cast<Index>(x.starts[i]), to = static_cast<Index>(x.starts[i + 1]);
        bool inside = true;
        if (sorted && from < to)
            inside = x.columns[from] >= 0 && x.columns[to - 1] < x.d;
        else
            for (Index j = from; j < to; ++j) inside &= x.columns[j] >= 0 && x.columns[j] < x.d;
        if (!inside) throw std::invalid_argument("CSR: column index out of bounds in row " + std::to_string(i));
    }
    if (sorted) return std::nullopt;
    OwnedCsr<T, I> out;
    out.d = x.d;
    out.starts.push_back(0);
    Array<std::pair<I, T>> entries;
    for (Index i = 0; i < x.n; ++i) {
        entries.clear();
        for (Index j = x.starts[i]; j < x.starts[i + 1]; ++j) entries.emplace_back(x.columns[j], x.values[j]);
        std::stable_sort(entries.begin(), entries.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [column, value] : entries) {
            if (static_cast<I>(out.columns.size()) > out.starts.back() && out.columns.back() == column)
                out.values.back() += value;
            else {
                out.columns.push_back(column);
                out.values.push_back(value);
            }
        }
        out.starts.push_back(static_cast<I>(out.columns.size()));
    }
    return out;
}

/// Sparse tiles cost about 2.5 times a dense tile's time per entry.
inline constexpr double tiles_break_even = 0.35;

/// Number of nonzero entries, if they are at most the fraction `break_even` of all and a compressed copy fits `budget`
/// bytes.
template <class T>
std::optional<Index> few_entries(const DenseRows<T>& x, std::size_t budget, double break_even = tiles_break_even) {
    constexpr Index fewest = 16;
    const Index d = x.d;
    if (!x.contiguous() || d < fewest || d > INT32_MAX) return std::nullopt;
    const double limit_by_speed = break_even * static_cast<double>(x.n) * static_cast<double>(d);
    const double limit_by_size =
        (static_cast<double>(budget) - 4.0 * static_cast<double>(x.n + 1)) / (sizeof(T) + sizeof(std::int32_t));
    const double limit = std::min({limit_by_speed, limit_by_size, static_cast<double>(INT32_MAX)});
    Index stored = 0;
    for (Index i = 0; i < x.n; ++i) {
        const T* row = x.row(i);
        int count = 0;
        for (Index k = 0; k < d; ++k) count += row[k] != T(0);
        stored += count;
        if (static_cast<double>(stored) > limit) return std::nullopt;
    }
    return stored;
}

/// A compressed copy of dense rows with few nonzero entries. Kernel values keep their bits (vector/tiles.hpp).
template <class T> std::optional<OwnedCsr<T, std::int32_t, Wiped>> compressed(const DenseRows<T>& x, std::size_t budget,
                                                                              double break_even = tiles_break_even) {
    const std::optional<Index> few = few_entries(x, budget, break_even);
    if (!few) return std::nullopt;
    const Index d = x.d, stored = *few;
    OwnedCsr<T, std::int32_t, Wiped> out;
    out.d = d;
    // Every entry is written where the next nonzero one goes: no branch to mispredict.
    out.values.resize(stored + 1);
    out.columns.resize(stored + 1);
    out.starts.reserve(x.n + 1);
    out.starts.push_back(0);
    Index at = 0;
    for (Index i = 0; i < x.n; ++i) {
        const T* row = x.row(i);
        for (Index k = 0; k < d; ++k) {
            out.values[at] = row[k];
            out.columns[at] = static_cast<std::int32_t>(k);
            at += row[k] != T(0);
        }
        out.starts.push_back(static_cast<std::int32_t>(at));
    }
    out.values.resize(at);
    out.columns.resize(at);
    return out;
}

/// Rows of zeros and ones as bits.
struct BitRows {
    Wiped<std::uint64_t> words;
    Index per_row = 0;
    const std::uint64_t* row(Index i) const { return words.data() + i * per_row; }
};

/// The rows as bits if every entry is 0 or 1, a row has fewer words than ones on average, and the copy fits `budget`
/// bytes.
template <class T> std::optional<BitRows> as_bits(const Rows<T>& rows, std::size_t budget) {
    return std::visit(
        [&](const auto& x) -> std::optional<BitRows> {
            if constexpr (std::is_same_v<std::decay_t<decltype(x)>, DenseRows<T>>) {
                return std::nullopt;  // dense tiles are faster for rows with many nonzero entries
            } else {
                const Index stored = x.starts[x.n];
                const Index per_row = (x.d + 63) / 64;
                if (per_row * x.n > stored || static_cast<std::size_t>(per_row * x.n) > budget / 8) return std::nullopt;
                for (Index j = 0; j < stored; ++j)
                    if (x.values[j] != T(1)) return std::nullopt;
                BitRows out{Wiped<std::uint64_t>(per_row * x.n, 0), per_row};
                for (Index i = 0; i < x.n; ++i) {
                    const auto row = x.row(i);
                    for (Index j = 0; j < row.count; ++j)
                        out.words[i * per_row + row.column[j] / 64] |= std::uint64_t{1} << (row.column[j] % 64);
                }
                return out;
            }
        },
        rows);
}

}  // namespace hingeline
