// Maps from dot products to kernel values, and sums of kernel values, for every instruction set and both precisions.
#include <cmath>
#include <limits>

#include "check.hpp"
#include "data.hpp"
#include "tables.hpp"

namespace hingeline {

namespace {

using namespace testing;

/// Kernel values of dots and norms by `to_line`; inputs padded as the contract asks, the output not.
template <class T>
Array<T> line_of(const TypedTables<T>& op, const Kernel& kernel, Array<T> dots, Array<T> norms, T norm) {
    const Index n = dots.size();
    dots.resize((n + line_step - 1) / line_step * line_step);
    norms.resize(dots.size());
    Array<T> out(n);
    op.tiles.to_line(kernel, dots.data(), n, norms.data(), norm, out.data());
    return out;
}

/// Whether the table's sums of products are fused: whether a * a - (a * a, rounded) is what the rounding lost.
template <class T> bool fuses(const TypedTables<T>& op) {
    const T a = 1 + std::sqrt(epsilon<T> / 2);
    const T values[] = {1, a}, query[] = {-(a * a), a};
    const std::int32_t columns[] = {0, 1};
    const SparseRow<T, std::int32_t> row{values, columns, 2};
    T rest = 0;
    op.tiles.sparse_one32(query, &row, 1, &rest);
    return rest != 0;
}

/// With fused operations the error does not grow with the argument; without, gamma and the argument are rounded.
template <class T> void check_rbf(const TypedTables<T>& op, double gamma, const Array<T>& d2, const Array<T>& k) {
    constexpr long double least = std::numeric_limits<T>::min();
    const bool exact_argument = fuses(op);
    for (Index i = 0; i < k.size(); ++i) {
        const double bound = (sizeof(T) == 4 ? 2e-7 : 1e-15) + (exact_argument ? 0.0 : gamma * d2[i] * epsilon<T>);
        const long double exact = std::exp(-static_cast<long double>(gamma) * d2[i]);
        if (exact >= 2 * least)
            CHECK(std::abs(k[i] - exact) <= bound * exact, op.name, sizeof(T), gamma, d2[i], k[i]);
        else  // below the normal numbers: zero, or the nearest there is
            CHECK(k[i] == 0 || std::abs(k[i] - exact) <= bound * exact + std::numeric_limits<T>::denorm_min(), op.name,
                  sizeof(T), gamma, d2[i], k[i]);
        if (exact < std::numeric_limits<T>::denorm_min() / 4.0L)
            CHECK(k[i] == 0, op.name, sizeof(T), gamma, d2[i], k[i]);
    }
}

CASE(rbf_is_accurate) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(8);
        const double deepest = -std::log(static_cast<double>(std::numeric_limits<T>::min())) + 20;
        for (const double gamma : {1.0, 0.1, 1.0 / 3, 7.3, 1e-3, 12345.678, 0x1p-6}) {
            const Kernel kernel{KernelKind::rbf, gamma, 0.0, 3};
            Array<T> d2;
            for (int i = 0; i < 6000; ++i) d2.push_back(static_cast<T>(uniform(random, 0.0, deepest) / gamma));
            for (int i = 0; i < 2000; ++i)
                d2.push_back(static_cast<T>(std::exp2(uniform(random, -60.0, 11.0)) / gamma));
            d2.push_back(T(0));
            // d2 = |x|^2 + |z|^2 - 2 x.z, with the last two zero and so exact.
            const Array<T> zeros(d2.size(), T(0));
            const auto k = line_of(op, kernel, zeros, d2, T(0));
            check_rbf(op, gamma, d2, k);
            CHECK(k.back() == 1);
            // The same values from a tile.
            const int width = op.tiles.max_vectors * op.tiles.lanes;
            const Array<T> tile(tile_rows * width, T(0)), panel_norms(width, T(0));
            for (Index at = 0; at + tile_rows <= d2.size(); at += tile_rows) {
                Array<T> out(tile.size());
                Array<T*> lines;
                for (int r = 0; r < tile_rows; ++r) lines.push_back(out.data() + r * width);
                op.tiles.to_rows(kernel, tile.data(), op.tiles.max_vectors, tile_rows, d2.data() + at,
                                 panel_norms.data(), lines.data(), 0);
                bool same = true;
                for (int r = 0; r < tile_rows; ++r)
                    for (int q = 0; q < width; ++q) same = same && same_bits(out[r * width + q], k[at + r]);
                CHECK(same, op.name, gamma, at);
            }
        }
    });
}

CASE(rbf_of_dots_and_norms) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(9);
        for (const double gamma : {0.25, 0.01}) {
            Array<T> dots, norms, d2;
            for (int i = 0; i < 1000; ++i) {  // multiples of 1/8, so that nothing is rounded
                dots.push_back(static_cast<T>(below(random, 2000) - 1000) / 8);
                norms.push_back(static_cast<T>(below(random, 4000)) / 8);
                d2.push_back(std::max(norms.back() + T(33.5) - 2 * dots.back(), T(0)));
            }
            check_rbf(op, gamma, d2, line_of(op, Kernel{KernelKind::rbf, gamma, 0.0, 3}, dots, norms, T(33.5)));
        }
    });
}

CASE(rbf_of_far_rows_is_zero) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        const T most = std::numeric_limits<T>::max() / 4;
        for (const double gamma : {1.0, 1e-3, 1.0 / 3, 1e4, 1e30}) {
            Array<T> d2;
            for (T x = most; x * gamma > 1100; x /= T(1.7)) d2.push_back(x);
            const auto k = line_of(op, Kernel{KernelKind::rbf, gamma, 0.0, 3}, Array<T>(d2.size(), T(0)), d2, T(0));
            for (Index i = 0; i < k.size(); ++i) CHECK(k[i] == 0, op.name, sizeof(T), gamma, d2[i], k[i]);
        }
    });
}

CASE(linear_poly_sigmoid) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(10);
        Array<T> dots, norms, base;
        for (int i = 0; i < 517; ++i) {  // 0.5 x + 0.25 is exact for multiples of 1/64
            dots.push_back(static_cast<T>(below(random, 1000) - 500) / 64);
            norms.push_back(static_cast<T>(uniform(random)));
            base.push_back(dots.back() * T(0.5) + T(0.25));
        }
        CHECK(same_bits(dots, line_of(op, Kernel{KernelKind::linear, 0.5, 0.25, 3}, dots, norms, T(1))), op.name);
        for (int degree = 0; degree <= 7; ++degree) {
            const auto k = line_of(op, Kernel{KernelKind::poly, 0.5, 0.25, degree}, dots, norms, T(1));
            for (Index i = 0; i < k.size(); ++i) {
                const long double exact = std::pow(static_cast<long double>(base[i]), degree);
                CHECK(std::abs(k[i] - exact) <= degree * epsilon<T> * std::abs(exact), op.name, degree, base[i], k[i]);
                if (degree <= 1) CHECK(k[i] == (degree == 0 ? T(1) : base[i]), op.name, degree);
            }
        }
        const auto k = line_of(op, Kernel{KernelKind::sigmoid, 0.5, 0.25, 3}, dots, norms, T(1));
        for (Index i = 0; i < k.size(); ++i) {
            const long double exact = std::tanh(static_cast<long double>(base[i]));
            CHECK(std::abs(k[i] - exact) <= 2 * epsilon<T> * std::abs(exact), op.name, base[i], k[i]);
        }
    });
}

/// Every way from dots to values: rows, columns and lines agree to the bit and write nothing else.
template <class T> void maps_agree(const TypedTables<T>& op, const Kernel& kernel, int vectors, int row_count) {
    Random random(11);
    constexpr Index at = 5, length = at + tile_rows + 16;
    const int width = vectors * op.tiles.lanes;
    const T mark = T(-77);
    const auto tile = random_values<T>(random, tile_rows, width);
    Array<T> row_norms, panel_norms;
    for (int i = 0; i < tile_rows; ++i) row_norms.push_back(static_cast<T>(uniform(random, 0.0, 3.0)));
    for (int i = 0; i < width; ++i) panel_norms.push_back(static_cast<T>(uniform(random, 0.0, 3.0)));
    Array<Array<T>> rows(row_count, Array<T>(at + width + 1, mark));
    Array<T*> lines;
    for (auto& row : rows) lines.push_back(row.data());
    op.tiles.to_rows(kernel, tile.data(), vectors, row_count, row_norms.data(), panel_norms.data(), lines.data(), at);
    for (const auto& row : rows) {
        for (Index i = 0; i < at; ++i) CHECK(row[i] == mark, op.name);
        CHECK(row.back() == mark, op.name);
    }
    for (const int queries : {1, op.tiles.lanes - 1, op.tiles.lanes, op.tiles.lanes + 1, width - 1, width}) {
        if (queries < 1 || queries > width) continue;
        Array<Array<T>> columns(queries, Array<T>(length, mark));
        Array<T*> to;
        for (auto& column : columns) to.push_back(column.data());
        op.tiles.to_columns(kernel, tile.data(), vectors, row_count, queries, row_norms.data(), panel_norms.data(),
                            to.data(), at);
        bool same = true, untouched = true;
        for (int q = 0; q < queries; ++q)
            for (Index i = 0; i < length; ++i) {
                if (i >= at && i < at + row_count)
                    same = same && same_bits(columns[q][i], rows[i - at][at + q]);
                else
                    untouched = untouched && columns[q][i] == mark;
            }
        CHECK(same, op.name, static_cast<int>(kernel.kind), vectors, row_count, queries);
        CHECK(untouched, op.name, static_cast<int>(kernel.kind), vectors, row_count, queries);
    }
    for (int q = 0; q < width; ++q) {
        Array<T> dots, norms(row_norms.begin(), row_norms.begin() + row_count);
        for (int r = 0; r < row_count; ++r) dots.push_back(tile[r * width + q]);
        const auto line = line_of(op, kernel, dots, norms, panel_norms[q]);
        for (int r = 0; r < row_count; ++r)
            CHECK(same_bits(line[r], rows[r][at + q]), op.name, static_cast<int>(kernel.kind), r, q);
    }
}

CASE(rows_columns_and_lines_agree) {
    each_table([](const auto& op) {
        for (const Kernel& kernel : {Kernel{KernelKind::linear}, Kernel{KernelKind::rbf, 0.7},
                                     Kernel{KernelKind::poly, 0.7, 0.3, 3}, Kernel{KernelKind::sigmoid, 0.7, 0.3}})
            for (int vectors = 1; vectors <= op.tiles.max_vectors; ++vectors)
                for (const int row_count : {1, 7, 8, 9, 15, 16, 17, 33, 47, 48})
                    maps_agree(op, kernel, vectors, row_count);
    });
}

CASE(lines_of_any_length_and_in_place) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(12);
        const Kernel kernel{KernelKind::rbf, 0.7, 0.0, 3};
        const auto dots = random_values<T>(random, 1, 640), norms = random_values<T>(random, 1, 640);
        const auto whole = line_of(op, kernel, dots, norms, T(2));
        for (const Index n : {0, 1, 7, 63, 64, 65, 127, 128, 129, 600}) {
            const auto part =
                line_of<T>(op, kernel, {dots.begin(), dots.begin() + n}, {norms.begin(), norms.begin() + n}, T(2));
            CHECK(same_bits(part.data(), whole.data(), n), op.name, n);
        }
        auto place = dots;
        op.tiles.to_line(kernel, place.data(), 640, norms.data(), T(2), place.data());
        CHECK(same_bits(place, whole), op.name);
    });
}

CASE(accumulating) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(13);
        for (const Index outputs : {0, 1, 2, 7})
            for (const int row_count : {1, 5, 48}) {
                const Index ld = 60;
                const auto coef = random_values<double>(random, outputs, ld);
                const int widest = op.tiles.max_vectors * op.tiles.lanes;
                const auto tile = random_values<T>(random, row_count, widest);
                const auto start = random_values<double>(random, outputs, widest);
                Array<double> all;
                for (int vectors = op.tiles.max_vectors; vectors >= 1; --vectors) {
                    const int width = vectors * op.tiles.lanes;
                    Array<T> narrow;
                    Array<double> sums;
                    for (int r = 0; r < row_count; ++r)
                        narrow.insert(narrow.end(), tile.begin() + r * widest, tile.begin() + r * widest + width);
                    for (Index o = 0; o < outputs; ++o)
                        sums.insert(sums.end(), start.begin() + o * widest, start.begin() + o * widest + width);
                    op.tiles.accumulate(narrow.data(), width, row_count, coef.data(), ld, outputs, sums.data());
                    if (vectors == op.tiles.max_vectors) all = sums;
                    for (Index o = 0; o < outputs; ++o)
                        for (int q = 0; q < width; ++q) {
                            double sum = start[o * widest + q];
                            for (int r = 0; r < row_count; ++r) sum += coef[o * ld + r] * tile[r * widest + q];
                            CHECK(std::abs(sums[o * width + q] - sum) <= 1e-14 * (row_count + 1), op.name, o, q);
                            CHECK(same_bits(sums[o * width + q], all[o * widest + q]), op.name, vectors, o, q);
                        }
                }
            }
    });
}

}  // namespace
}  // namespace hingeline
