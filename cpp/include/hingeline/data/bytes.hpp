// Rows whose entries are k * unit with k = 0..255: how to recognise them, and their bytes.
#pragma once

#include "hingeline/data/rows.hpp"
#include "hingeline/vector/bytes.hpp"

namespace hingeline {

/// Largest number of rows that are looked at to guess the form of all.
inline constexpr Index sampled_rows = 512;

/// Calls f(row as d values) for some rows, evenly spaced.
template <class S, class F> void each_sampled(const Rows<S>& rows, F&& f) {
    const Index n = row_count(rows), count = std::min(n, sampled_rows);
    Array<S> line(column_count(rows));
    for (Index i = 0; i < count; ++i) {
        spread(rows, i * n / count, line.data());
        f(line.data());
    }
}

/// Unit of rows that fit bytes; zero if they do not.
struct ByteUnit {
    double unit = 0;
    bool in_double = false;  // whether k * unit is the entry to the precision of double, not only of single
    explicit operator bool() const { return unit > 0; }
    /// Whether the bytes may stand for the entries in computations of type T.
    template <class T> bool fits() const { return unit > 0 && (sizeof(T) == 4 || in_double); }
};

namespace bytes {

/// A common divisor of a and b to rounding, found by Euclid; zero if it is less than `least`.
inline double divisor(double a, double b, double least) {
    constexpr double rounding = 0.1;  // of the least; errors grow from step to step; the exact test comes later
    while (b >= least) {
        const double rest = std::abs(a - std::round(a / b) * b);
        if (rest <= rounding * least) return b;
        a = b, b = rest;
    }
    return 0;
}

/// The unit that some of the rows suggest, or zero.
template <class S> double suggest_unit(const Rows<S>& rows) {
    double unit = 0, largest = 0;
    bool possible = true;
    each_sampled(rows, [&](const S* x) {
        for (Index k = 0; possible && k < column_count(rows); ++k) {
            const auto value = static_cast<double>(x[k]);
            if (value == 0) continue;
            if (value > largest) largest = value;
            unit = unit == 0 ? value : divisor(std::max(unit, value), std::min(unit, value), largest / 256);
            possible = value > 0 && unit > 0 && largest < 255.5 * unit;
            if (possible) unit = largest / std::round(largest / unit);  // without the errors of Euclid's steps
        }
    });
    return possible ? unit : 0;
}

/// Largest relative distance of the entries from multiples of the unit; infinite if one is out of range.
template <class S> double distance(const S* x, Index count, double unit) {
    const double inverse = 1 / unit, most = 255.25 * unit;
    double worst[4] = {};
    bool inside = true;
    for (Index k = 0; k < count; ++k) {
        const auto value = static_cast<double>(x[k]);
        const bool fits = value >= 0 && value <= most;
        inside &= fits;
        const double multiple = static_cast<double>(static_cast<int>((fits ? value : 0.0) * inverse + 0.5)) * unit;
        const double off = std::abs(value - multiple) - worst[k % 4] * value;  // positive: worse than before
        if (off > 0) worst[k % 4] = value > 0 ? std::abs(value - multiple) / value : 0.0;
    }
    if (!inside) return 1.0;
    return std::max(std::max(worst[0], worst[1]), std::max(worst[2], worst[3]));
}

}  // namespace bytes

/// Whether all entries are k * unit with k = 0..255, to the rounding of their type.
template <class S> ByteUnit byte_unit(const Rows<S>& rows) {
    const Index n = row_count(rows), d = column_count(rows);
    if (n == 0 || d == 0 || d > most_byte_features) return {};
    const double unit = bytes::suggest_unit(rows);
    if (!(unit > 0)) return {};
    const double rounding = sizeof(S) == 4 ? 0x1p-22 : 0x1p-51;
    double worst = 0;
    std::visit(
        [&](const auto& x) {
            Array<S> line(d);
            for (Index i = 0; i < n && worst <= rounding; ++i) {
                if constexpr (std::is_same_v<std::decay_t<decltype(x)>, DenseRows<S>>) {
                    if (!x.contiguous()) x.copy_row(i, line.data());
                    worst = std::max(worst, bytes::distance(x.contiguous() ? x.row(i) : line.data(), d, unit));
                } else {
                    const auto row = x.row(i);
                    worst = std::max(worst, bytes::distance(row.value, row.count, unit));
                }
            }
        },
        rows);
    if (worst > rounding) return {};
    return {unit, worst <= 0x1p-51};
}

/// Row i as bytes, d of them.
template <class S> void to_bytes(const Rows<S>& rows, Index i, float inverse, std::uint8_t* out) {
    const auto byte = [&](S x) {
        return static_cast<std::uint8_t>(static_cast<std::int32_t>(static_cast<float>(x) * inverse + 0.5f));
    };
    std::visit(
        [&](const auto& x) {
            if constexpr (std::is_same_v<std::decay_t<decltype(x)>, DenseRows<S>>) {
                const S* row = x.row(i);
                if (x.contiguous())
                    for (Index k = 0; k < x.d; ++k) out[k] = byte(row[k]);
                else
                    for (Index k = 0; k < x.d; ++k) out[k] = byte(row[k * x.column_stride]);
            } else {
                std::fill_n(out, x.d, std::uint8_t{0});
                const auto row = x.row(i);
                for (Index j = 0; j < row.count; ++j) out[row.column[j]] = byte(row.value[j]);
            }
        },
        rows);
}

}  // namespace hingeline
