// Columns in which one value is more frequent than all others together, such as standardised indicators. Relative to
// these values the rows are sparse, which does not change their distances.
#pragma once

#include "hingeline/data/bytes.hpp"

namespace hingeline {

namespace modes {

struct Column {
    double mode = 0;  // candidate (Boyer and Moore's vote), then its votes
    Index votes = 0, held = 0, zeros = 0;
    double others = 0;  // sum of magnitudes of the other values
};

template <class S> Array<Column> count(const Rows<S>& rows) {
    Array<Column> out(column_count(rows));
    each_sampled(rows, [&](const S* x) {
        for (Index k = 0; k < out.size(); ++k) {
            Column& c = out[k];
            if (c.votes == 0) c.mode = static_cast<double>(x[k]);
            c.votes += static_cast<double>(x[k]) == c.mode ? 1 : -1;
        }
    });
    each_sampled(rows, [&](const S* x) {
        for (Index k = 0; k < out.size(); ++k) {
            const auto value = static_cast<double>(x[k]);
            out[k].zeros += value == 0;
            if (value == out[k].mode)
                ++out[k].held;
            else
                out[k].others += std::abs(value);
        }
    });
    return out;
}

}  // namespace modes

/// The most frequent value of each column, where it is more frequent than all others; zero in the other columns. Empty
/// if the rows are not sparse relative to it, or are sparse as they are. Judged from some of the rows: any origin gives
/// the same distances.
template <class S> Array<S> common_values(const Rows<S>& rows) {
    constexpr Index widest = 4096, fewest = 16;  // columns
    const Index d = column_count(rows), sampled = std::min(row_count(rows), sampled_rows);
    if (d < fewest || d > widest || sampled == 0) return {};
    const Array<modes::Column> columns = modes::count(rows);
    Array<S> out(d, S(0));
    Index nonzero = 0, before = 0;
    for (Index k = 0; k < d; ++k) {
        const modes::Column& c = columns[k];
        const Index others = sampled - c.held;
        before += sampled - c.zeros;
        // A value far larger than the others, as of a mark for missing entries, would take their digits.
        const double mean = others > 0 ? c.others / static_cast<double>(others) : 1.0;
        const bool moves = 2 * c.held > sampled && std::abs(c.mode) <= 16 * mean;
        if (moves) out[k] = static_cast<S>(c.mode);
        nonzero += moves ? others : sampled - c.zeros;
    }
    const double all = static_cast<double>(sampled) * static_cast<double>(d);
    if (nonzero == before || static_cast<double>(nonzero) > tiles_break_even * all) return {};
    return out;
}

}  // namespace hingeline
