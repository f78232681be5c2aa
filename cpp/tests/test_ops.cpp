// The vector arithmetic, for every instruction set that this processor has and both precisions.
#include <cmath>
#include <limits>
#include <type_traits>

#include "../src/tables.hpp"
#include "check.hpp"
#include "data.hpp"

namespace hingeline {

namespace {

using namespace testing;

template <class T> const Ops<T>& pick(const Ops<float>& f32, const Ops<double>& f64) {
    if constexpr (std::is_same_v<T, float>)
        return (void)f64, f32;
    else
        return (void)f32, f64;
}

template <class T> std::vector<const Ops<T>*> tables() {
    std::vector<const Ops<T>*> out{&pick<T>(baseline::table_f32, baseline::table_f64)};
#ifdef HINGELINE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        out.push_back(&pick<T>(avx2::table_f32, avx2::table_f64));
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        out.push_back(&pick<T>(avx512::table_f32, avx512::table_f64));
#endif
    return out;
}

/// f(table) for all of them.
template <class F> void each_table(F&& f) {
    for (const auto* op : tables<float>()) f(*op);
    for (const auto* op : tables<double>()) f(*op);
}
template <class Table> struct ValueOf;
template <class T> struct ValueOf<Ops<T>> {
    using type = T;
};
template <class Table> using Value = typename ValueOf<std::decay_t<Table>>::type;

template <class T> constexpr T epsilon = std::numeric_limits<T>::epsilon();

/// The d values of `width` queries, feature by feature; the rows of x beyond the last repeat it.
template <class T> std::vector<T> panel_of(const std::vector<T>& x, Index d, int width) {
    std::vector<T> panel(static_cast<std::size_t>(d * width));
    for (Index k = 0; k < d; ++k)
        for (int q = 0; q < width; ++q) panel[k * width + q] = x[q * d + k];
    return panel;
}
/// tile_rows pointers to `count` rows, the last one repeated.
template <class T> std::vector<const T*> pointers(const std::vector<T>& x, Index d, int count) {
    std::vector<const T*> rows;
    for (int r = 0; r < tile_rows; ++r) rows.push_back(x.data() + std::min(r, count - 1) * d);
    return rows;
}
template <class T> std::vector<T> dense_tile(const Ops<T>& op, const std::vector<T>& queries, int vectors, Index d,
                                             const std::vector<T>& base, int row_count) {
    const int width = vectors * op.lanes;
    std::vector<T> tile(static_cast<std::size_t>(tile_rows * width));
    op.dense(panel_of(queries, d, width).data(), vectors, d, pointers(base, d, row_count).data(), row_count,
             tile.data());
    tile.resize(static_cast<std::size_t>(row_count * width));
    return tile;
}

CASE(names_and_shapes) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        CHECK(op.lanes >= 1 && tile_rows % op.lanes == 0, op.name);
        CHECK(line_step % (8 * op.lanes) == 0, op.name);
        CHECK(op.max_vectors >= 1, op.name);
        CHECK(op.lanes <= static_cast<int>(64 / sizeof(T)), op.name);
    });
    bool found = false;
    for (const auto* op : tables<float>()) found = found || op == &ops<float>();
    CHECK(found);
}

template <class T> void dense_case(Index d) {
    constexpr int most = 64;
    Random random(static_cast<std::uint64_t>(d) + 1);
    const auto queries = random_values<T>(random, most, d), base = random_values<T>(random, tile_rows, d);
    std::vector<long double> dots, sizes;
    for (int r = 0; r < tile_rows; ++r)
        for (int q = 0; q < most; ++q) {
            long double sum = 0, size = 0;
            for (Index k = 0; k < d; ++k) {
                const long double product = static_cast<long double>(base[r * d + k]) * queries[q * d + k];
                sum += product;
                size += std::abs(product);
            }
            dots.push_back(sum);
            sizes.push_back(size);
        }
    for (const auto* op : tables<T>()) {
        std::vector<T> first(tile_rows * most);  // entry (r, q) as one vector of queries gave it
        for (int vectors = 1; vectors <= op->max_vectors; ++vectors) {
            const int width = vectors * op->lanes;
            for (const int row_count : {tile_rows, 1, 5, 6, 7, 47}) {
                const auto tile = dense_tile(*op, queries, vectors, d, base, row_count);
                for (int r = 0; r < row_count; ++r)
                    for (int q = 0; q < width; ++q) {
                        const T value = tile[r * width + q];
                        if (vectors == 1 || q >= width - op->lanes) {
                            if (row_count == tile_rows) first[r * most + q] = value;
                        }
                        CHECK(same_bits(value, first[r * most + q]), op->name, d, vectors, row_count, r, q);
                        const long double error = std::abs(value - dots[r * most + q]);
                        CHECK(error <= static_cast<long double>(d) * epsilon<T> * sizes[r * most + q], op->name, d, r,
                              q);
                    }
            }
        }
    }
}

CASE(dense_dots) {
    for (const Index d : {1, 2, 15, 16, 17, 511, 512, 513, 1500}) {
        dense_case<float>(d);
        dense_case<double>(d);
    }
}

CASE(dense_without_features) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        std::vector<T> tile(static_cast<std::size_t>(tile_rows * op.lanes), T(7));
        const T* none = nullptr;
        const std::vector<const T*> rows(tile_rows, none);
        op.dense(none, 1, 0, rows.data(), 48, tile.data());
        for (const T value : tile) CHECK(value == 0, op.name);
    });
}

CASE(dense_integers_are_exact) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(3);
        const Index d = 700;
        std::vector<T> queries(static_cast<std::size_t>(64 * d)), base(static_cast<std::size_t>(tile_rows * d));
        for (auto* x : {&queries, &base})
            for (T& value : *x) value = static_cast<T>(below(random, 21) - 10);
        const auto tile = dense_tile(op, queries, op.max_vectors, d, base, tile_rows);
        const int width = op.max_vectors * op.lanes;
        for (int r = 0; r < tile_rows; ++r)
            for (int q = 0; q < width; ++q) {
                Index sum = 0;
                for (Index k = 0; k < d; ++k)
                    sum += static_cast<Index>(base[r * d + k]) * static_cast<Index>(queries[q * d + k]);
                CHECK(tile[r * width + q] == static_cast<T>(sum), op.name, r, q);
            }
    });
}

CASE(packing) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(4);
        for (const Index d : {0, 1, 3, 15, 16, 17, 33, 100})
            for (int vectors = 1; vectors <= op.max_vectors; ++vectors) {
                const int width = vectors * op.lanes;
                const auto x = random_values<T>(random, width, d);
                std::vector<const T*> rows;
                for (int q = 0; q < width; ++q) rows.push_back(x.data() + q * d);
                std::vector<T> panel(static_cast<std::size_t>(d * width));
                op.pack(rows.data(), vectors, d, panel.data());
                CHECK(same_bits(panel, panel_of(x, d, width)), op.name, d, vectors);
            }
    });
}

CASE(norms_are_dots) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(5);
        for (const Index d : {0, 1, 2, 17, 513})
            for (const int count : {1, 7, 8, 9, 16, 23, 48}) {
                const auto x = random_values<T>(random, tile_rows, d);
                std::vector<T> norms(static_cast<std::size_t>(count));
                op.norms(pointers(x, d, tile_rows).data(), count, d, norms.data());
                for (int r = 0; r < count; ++r) {
                    std::vector<T> repeated;
                    for (int q = 0; q < op.lanes; ++q)
                        repeated.insert(repeated.end(), x.begin() + r * d, x.begin() + (r + 1) * d);
                    const auto tile = dense_tile(op, repeated, 1, d, repeated, 1);
                    CHECK(same_bits(norms[r], tile[0]), op.name, d, count, r);
                }
            }
    });
}

/// CSR rows, tile by tile and query by query, with and without slots.
template <class T, class I> void sparse_case(const Ops<T>& op, Index d, double density) {
    Random random(static_cast<std::uint64_t>(d) + 6);
    const auto queries = random_values<T>(random, 64, d, density),
               base = random_values<T>(random, tile_rows, d, density);
    const auto csr = to_csr<T, I>(base, tile_rows, d);
    std::vector<SparseRow<T, I>> rows;
    for (Index r = 0; r < tile_rows; ++r) rows.push_back(csr.view().row(r));
    const auto tile_of = [&](const T* panel, int vectors, const std::int32_t* slot, int row_count) {
        std::vector<T> tile(static_cast<std::size_t>(row_count * vectors * op.lanes));
        if constexpr (sizeof(I) == 4)
            op.sparse32(panel, vectors, slot, rows.data(), row_count, tile.data());
        else
            op.sparse64(panel, vectors, slot, rows.data(), row_count, tile.data());
        return tile;
    };
    for (int vectors = 1; vectors <= op.max_vectors; ++vectors) {
        const int width = vectors * op.lanes;
        const auto panel = panel_of(queries, d, width);
        // Lines 1, 2, ... for the columns that occur in a query, last column first; line 0 is zero.
        std::vector<std::int32_t> slot(static_cast<std::size_t>(d), 0);
        std::vector<T> compact(static_cast<std::size_t>(width), T(0));
        for (Index k = d - 1; k >= 0; --k) {
            const auto line = panel.begin() + k * width;
            if (std::all_of(line, line + width, [](T x) { return x == T(0); })) continue;
            slot[k] = static_cast<std::int32_t>(compact.size() / width);
            compact.insert(compact.end(), line, line + width);
        }
        for (const int row_count : {1, 5, 48}) {
            const auto dense = dense_tile(op, queries, vectors, d, base, row_count);
            CHECK(same_bits(dense, tile_of(panel.data(), vectors, nullptr, row_count)), op.name, d, vectors, row_count);
            CHECK(same_bits(dense, tile_of(compact.data(), vectors, slot.data(), row_count)), op.name, d, vectors,
                  row_count);
        }
    }
    const auto dense = dense_tile(op, queries, op.max_vectors, d, base, tile_rows);
    const int width = op.max_vectors * op.lanes;
    for (int q = 0; q < width; ++q) {
        std::vector<T> dots(tile_rows);
        if constexpr (sizeof(I) == 4)
            op.sparse_one32(queries.data() + q * d, rows.data(), tile_rows, dots.data());
        else
            op.sparse_one64(queries.data() + q * d, rows.data(), tile_rows, dots.data());
        for (int r = 0; r < tile_rows; ++r) CHECK(same_bits(dots[r], dense[r * width + q]), op.name, d, r, q);
    }
}

CASE(sparse_dots_are_dense_dots) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        for (const auto& [d, density] :
             {std::pair<Index, double>{1, 0.5}, {17, 0.3}, {130, 0.0}, {513, 0.1}, {1500, 0.02}}) {
            sparse_case<T, std::int32_t>(op, d, density);
            sparse_case<T, std::int64_t>(op, d, density);
        }
    });
}

CASE(bit_dots_are_dense_dots) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(7);
        for (const Index d : {1, 63, 64, 65, 128, 129, 640}) {
            const Index words = (d + 63) / 64;
            const auto queries = random_ones<T>(random, op.lanes, d, 0.4),
                       base = random_ones<T>(random, tile_rows, d, 0.6);
            const auto bits_of = [&](const std::vector<T>& x, Index n) {
                std::vector<std::uint64_t> bits(static_cast<std::size_t>(n * words), 0);
                for (Index i = 0; i < n; ++i)
                    for (Index k = 0; k < d; ++k)
                        if (x[i * d + k] != T(0)) bits[i * words + k / 64] |= std::uint64_t{1} << (k % 64);
                return bits;
            };
            const auto query_bits = bits_of(queries, op.lanes), base_bits = bits_of(base, tile_rows);
            const auto dense = dense_tile(op, queries, 1, d, base, tile_rows);
            std::vector<Index> list;
            for (int i = 0; i < 60; ++i) list.push_back(below(random, tile_rows));
            for (int q = 0; q < op.lanes; ++q) {
                std::vector<T> dots(list.size());
                op.bits_one(query_bits.data() + q * words, words, base_bits.data(), list.data(), 60, dots.data());
                for (int i = 0; i < 60; ++i) CHECK(same_bits(dots[i], dense[list[i] * op.lanes + q]), op.name, d, i, q);
            }
        }
    });
}

/// Kernel values of dots and norms by `to_line`; inputs padded as the contract asks, the output not.
template <class T>
std::vector<T> line_of(const Ops<T>& op, const Kernel& kernel, std::vector<T> dots, std::vector<T> norms, T norm) {
    const Index n = static_cast<Index>(dots.size());
    dots.resize(static_cast<std::size_t>((n + line_step - 1) / line_step * line_step));
    norms.resize(dots.size());
    std::vector<T> out(static_cast<std::size_t>(n));
    op.to_line(kernel, dots.data(), n, norms.data(), norm, out.data());
    return out;
}

/// Whether the table's sums of products are fused: whether a * a - (a * a, rounded) is what the rounding lost.
template <class T> bool fuses(const Ops<T>& op) {
    const T a = 1 + std::sqrt(epsilon<T> / 2);
    const T values[] = {1, a}, query[] = {-(a * a), a};
    const std::int32_t columns[] = {0, 1};
    const SparseRow<T, std::int32_t> row{values, columns, 2};
    T rest = 0;
    op.sparse_one32(query, &row, 1, &rest);
    return rest != 0;
}

/// With fused operations the error does not grow with the argument; without, gamma and the argument are rounded.
template <class T> void check_rbf(const Ops<T>& op, double gamma, const std::vector<T>& d2, const std::vector<T>& k) {
    constexpr long double least = std::numeric_limits<T>::min();
    const bool exact_argument = fuses(op);
    for (std::size_t i = 0; i < k.size(); ++i) {
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
            std::vector<T> d2;
            for (int i = 0; i < 6000; ++i) d2.push_back(static_cast<T>(uniform(random, 0.0, deepest) / gamma));
            for (int i = 0; i < 2000; ++i)
                d2.push_back(static_cast<T>(std::exp2(uniform(random, -60.0, 11.0)) / gamma));
            d2.push_back(T(0));
            // d2 = |x|^2 + |z|^2 - 2 x.z, with the last two zero and so exact.
            const std::vector<T> zeros(d2.size(), T(0));
            const auto k = line_of(op, kernel, zeros, d2, T(0));
            check_rbf(op, gamma, d2, k);
            CHECK(k.back() == 1);
            // The same values from a tile.
            const int width = op.max_vectors * op.lanes;
            const std::vector<T> tile(static_cast<std::size_t>(tile_rows * width), T(0)),
                panel_norms(static_cast<std::size_t>(width), T(0));
            for (std::size_t at = 0; at + tile_rows <= d2.size(); at += tile_rows) {
                std::vector<T> out(tile.size());
                std::vector<T*> lines;
                for (int r = 0; r < tile_rows; ++r) lines.push_back(out.data() + r * width);
                op.to_rows(kernel, tile.data(), op.max_vectors, tile_rows, d2.data() + at, panel_norms.data(),
                           lines.data(), 0);
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
            std::vector<T> dots, norms, d2;
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
            std::vector<T> d2;
            for (T x = most; x * gamma > 1100; x /= T(1.7)) d2.push_back(x);
            const auto k =
                line_of(op, Kernel{KernelKind::rbf, gamma, 0.0, 3}, std::vector<T>(d2.size(), T(0)), d2, T(0));
            for (std::size_t i = 0; i < k.size(); ++i) CHECK(k[i] == 0, op.name, sizeof(T), gamma, d2[i], k[i]);
        }
    });
}

CASE(linear_poly_sigmoid) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(10);
        std::vector<T> dots, norms, base;
        for (int i = 0; i < 517; ++i) {  // 0.5 x + 0.25 is exact for multiples of 1/64
            dots.push_back(static_cast<T>(below(random, 1000) - 500) / 64);
            norms.push_back(static_cast<T>(uniform(random)));
            base.push_back(dots.back() * T(0.5) + T(0.25));
        }
        CHECK(same_bits(dots, line_of(op, Kernel{KernelKind::linear, 0.5, 0.25, 3}, dots, norms, T(1))), op.name);
        for (int degree = 0; degree <= 7; ++degree) {
            const auto k = line_of(op, Kernel{KernelKind::poly, 0.5, 0.25, degree}, dots, norms, T(1));
            for (std::size_t i = 0; i < k.size(); ++i) {
                const long double exact = std::pow(static_cast<long double>(base[i]), degree);
                CHECK(std::abs(k[i] - exact) <= degree * epsilon<T> * std::abs(exact), op.name, degree, base[i], k[i]);
                if (degree <= 1) CHECK(k[i] == (degree == 0 ? T(1) : base[i]), op.name, degree);
            }
        }
        const auto k = line_of(op, Kernel{KernelKind::sigmoid, 0.5, 0.25, 3}, dots, norms, T(1));
        for (std::size_t i = 0; i < k.size(); ++i) {
            const long double exact = std::tanh(static_cast<long double>(base[i]));
            CHECK(std::abs(k[i] - exact) <= 2 * epsilon<T> * std::abs(exact), op.name, base[i], k[i]);
        }
    });
}

/// Every way from dots to values: rows, columns and lines agree to the bit and write nothing else.
template <class T> void maps_agree(const Ops<T>& op, const Kernel& kernel, int vectors, int row_count) {
    Random random(11);
    constexpr Index at = 5, length = at + tile_rows + 16;
    const int width = vectors * op.lanes;
    const T mark = T(-77);
    const auto tile = random_values<T>(random, tile_rows, width);
    std::vector<T> row_norms, panel_norms;
    for (int i = 0; i < tile_rows; ++i) row_norms.push_back(static_cast<T>(uniform(random, 0.0, 3.0)));
    for (int i = 0; i < width; ++i) panel_norms.push_back(static_cast<T>(uniform(random, 0.0, 3.0)));
    std::vector<std::vector<T>> rows(static_cast<std::size_t>(row_count),
                                     std::vector<T>(static_cast<std::size_t>(at + width + 1), mark));
    std::vector<T*> lines;
    for (auto& row : rows) lines.push_back(row.data());
    op.to_rows(kernel, tile.data(), vectors, row_count, row_norms.data(), panel_norms.data(), lines.data(), at);
    for (const auto& row : rows) {
        for (Index i = 0; i < at; ++i) CHECK(row[i] == mark, op.name);
        CHECK(row.back() == mark, op.name);
    }
    for (const int queries : {1, op.lanes - 1, op.lanes, op.lanes + 1, width - 1, width}) {
        if (queries < 1 || queries > width) continue;
        std::vector<std::vector<T>> columns(static_cast<std::size_t>(queries), std::vector<T>(length, mark));
        std::vector<T*> to;
        for (auto& column : columns) to.push_back(column.data());
        op.to_columns(kernel, tile.data(), vectors, row_count, queries, row_norms.data(), panel_norms.data(), to.data(),
                      at);
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
        std::vector<T> dots, norms(row_norms.begin(), row_norms.begin() + row_count);
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
            for (int vectors = 1; vectors <= op.max_vectors; ++vectors)
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
        op.to_line(kernel, place.data(), 640, norms.data(), T(2), place.data());
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
                const int widest = op.max_vectors * op.lanes;
                const auto tile = random_values<T>(random, row_count, widest);
                const auto start = random_values<double>(random, outputs, widest);
                std::vector<double> all;
                for (int vectors = op.max_vectors; vectors >= 1; --vectors) {
                    const int width = vectors * op.lanes;
                    std::vector<T> narrow;
                    std::vector<double> sums;
                    for (int r = 0; r < row_count; ++r)
                        narrow.insert(narrow.end(), tile.begin() + r * widest, tile.begin() + r * widest + width);
                    for (Index o = 0; o < outputs; ++o)
                        sums.insert(sums.end(), start.begin() + o * widest, start.begin() + o * widest + width);
                    op.accumulate(narrow.data(), width, row_count, coef.data(), ld, outputs, sums.data());
                    if (vectors == op.max_vectors) all = sums;
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

template <class T> void least_case(const Ops<T>& op, Random& random, Index n, bool ties) {
    // Numbers of 24 bits: k * a is exact, so that fused or not makes no difference.
    std::vector<double> z;
    std::vector<T> k;
    for (Index i = 0; i < n; ++i) {
        z.push_back(ties ? static_cast<double>(below(random, 3)) : uniform(random, -5.0, 5.0));
        k.push_back(ties ? T(1) : static_cast<T>(static_cast<float>(uniform(random, -1.0, 1.0))));
        if (below(random, 4) == 0) z.back() = std::numeric_limits<double>::infinity();
    }
    const double a = static_cast<float>(uniform(random, -2.0, 2.0)), b = uniform(random, -1.0, 1.0);
    auto expected = z;
    Least naive{std::numeric_limits<double>::infinity(), n};
    for (Index i = 0; i < n; ++i) {
        expected[i] += static_cast<double>(k[i]) * a + b;
        if (expected[i] < naive.value) naive = {expected[i], i};
    }
    const Least least = op.add_and_least(z.data(), k.data(), a, b, n);
    CHECK(same_bits(z, expected), op.name, n, ties);
    CHECK(same_bits(least.value, naive.value), op.name, n, ties);
    CHECK(least.at == naive.at, op.name, n, ties, least.at, naive.at);
}

CASE(add_and_least) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(14);
        for (const Index n : {0, 1, 2, 7, 8, 31, 32, 33, 1023, 1024, 1025, 2048, 5000})
            for (int repeat = 0; repeat < 20; ++repeat) least_case(op, random, n, repeat % 2 == 1);
        // The least value in every position, alone and with a later double.
        for (Index at = 0; at < 2100; ++at) {
            std::vector<double> z(2100, 1.0);
            const std::vector<T> k(z.size(), T(0));
            z[at] = z[(at + 2100) / 2] = -1.0;
            const Least least = op.add_and_least(z.data(), k.data(), 1.0, 0.0, 2100);
            CHECK(least.at == at && least.value == -1.0, op.name, at, least.at);
        }
        std::vector<double> z(1500, std::numeric_limits<double>::infinity());
        const std::vector<T> k(z.size(), T(1));
        const Least none = op.add_and_least(z.data(), k.data(), 3.0, -1e300, 1500);
        CHECK(none.at == 1500 && none.value == std::numeric_limits<double>::infinity(), op.name);
    });
}

// ---- passes over a dual with penalised bias ------------------------------------------------------

/// Multiples of 1/8 make every operation exact and ties frequent.
struct Eighths {
    Random& random;
    Index levels;
    double operator()() { return static_cast<double>(below(random, 2 * levels + 1) - levels) / 8; }
};

template <class T> void peaks_case(const Ops<T>& op, Random& random, Index n, int terms, double room, Index levels) {
    Eighths eighths{random, levels};
    std::vector<double> r, v;
    std::vector<T> k, l;
    for (Index i = 0; i < n; ++i) {
        r.push_back(eighths());
        v.push_back(uniform(random) < room ? 0.5 : 0.0);
        k.push_back(static_cast<T>(eighths()));
        l.push_back(static_cast<T>(eighths()));
    }
    const double a = eighths(), b = eighths(), c = eighths();
    auto expected = r;
    Peaks naive{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), -1, -1};
    for (Index i = 0; i < n; ++i) {
        if (terms > 0) expected[i] += a * static_cast<double>(k[i]) + b;
        if (terms > 1) expected[i] += c * static_cast<double>(l[i]);
        if (expected[i] > naive.high) naive.high = expected[i], naive.high_at = i;
        if (v[i] > 0 && expected[i] < naive.low) naive.low = expected[i], naive.low_at = i;
    }
    const Peaks peaks = op.add_and_peaks(r.data(), terms > 0 ? k.data() : nullptr, a, terms > 1 ? l.data() : nullptr, c,
                                         b, v.data(), n);
    CHECK(same_bits(r, expected), op.name, n, terms);
    CHECK(peaks.high == naive.high && peaks.low == naive.low, op.name, n, terms, peaks.high, peaks.low);
    CHECK(peaks.high_at == naive.high_at, op.name, n, terms, peaks.high_at, naive.high_at);
    CHECK(peaks.low_at == naive.low_at, op.name, n, terms, peaks.low_at, naive.low_at);
}

CASE(add_and_peaks) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(15);
        for (const Index n : {0, 1, 2, 7, 8, 9, 31, 32, 33, 127, 128, 129, 255, 400, 1000, 1283})
            for (int repeat = 0; repeat < 24; ++repeat)
                peaks_case(op, random, n, repeat % 3, repeat % 4 ? 0.2 : 0.0, repeat % 2 ? 3 : 400);
        // The peaks in every position, alone and with a later double.
        for (Index at = 0; at < 700; ++at) {
            std::vector<double> r(700, 0.0);
            const std::vector<double> v(700, 1.0);
            r[at] = r[(at + 700) / 2] = 1.0;
            Peaks peaks = op.add_and_peaks(r.data(), static_cast<const T*>(nullptr), 0, nullptr, 0, 0, v.data(), 700);
            CHECK(peaks.high == 1.0 && peaks.high_at == at, op.name, at, peaks.high_at);
            r[at] = r[(at + 700) / 2] = -1.0;
            peaks = op.add_and_peaks(r.data(), static_cast<const T*>(nullptr), 0, nullptr, 0, 0, v.data(), 700);
            CHECK(peaks.low == -1.0 && peaks.low_at == at, op.name, at, peaks.low_at);
        }
    });
}

template <class T> void partner_case(const Ops<T>& op, Random& random, Index n, double room, Index levels) {
    Eighths eighths{random, levels};
    std::vector<double> r, v, q;
    std::vector<T> k;
    const double top = static_cast<double>(levels) / 8;
    for (Index i = 0; i < n; ++i) {
        r.push_back(eighths());
        v.push_back(uniform(random) < room ? static_cast<double>(below(random, 9)) / 8 : 0.0);
        k.push_back(static_cast<T>(eighths()));
        q.push_back(std::exp2(static_cast<double>(below(random, 5) - 1)));  // quotients by a power of two are exact
    }
    const bool flat = below(random, 2);  // then bend = q, and every operation is exact
    const double a = flat ? 0.0 : eighths(), b = flat ? 0.0 : eighths();
    Most naive{0, -1};
    std::vector<double> gains;
    for (Index i = 0; i < n; ++i) {
        const double fall = top - r[i], bend = q[i] + (a * static_cast<double>(k[i]) + b);
        const double theta = bend > 0 ? std::min(fall / bend, v[i]) : v[i];
        gains.push_back(theta * (2 * fall - theta * bend));
        if (gains.back() > naive.value) naive = {gains.back(), i};
    }
    const Most best = op.best_partner(r.data(), k.data(), q.data(), v.data(), top, a, b, n);
    CHECK((best.at < 0) == (naive.at < 0), op.name, n, best.at, naive.at);
    CHECK(std::abs(best.value - naive.value) <= 1e-13 * naive.value, op.name, n, best.value, naive.value);
    if (naive.at < 0) return;
    if (flat) CHECK(best.at == naive.at, op.name, n, best.at, naive.at);
    CHECK(gains[best.at] >= naive.value * (1 - 1e-13), op.name, n, best.at, naive.at);
}

CASE(best_partner) {
    each_table([](const auto& op) {
        Random random(16);
        for (const Index n : {0, 1, 2, 7, 8, 9, 31, 32, 33, 127, 128, 129, 400, 1283})
            for (int repeat = 0; repeat < 40; ++repeat)
                partner_case(op, random, n, repeat % 4 ? 0.3 : 0.0, repeat % 3 ? 3 : 100);
    });
}

// ---- passes over an expansion --------------------------------------------------------------------

/// Arrays of n values with zeros up to the next multiple of `pass_step`, and a mark behind that.
template <class X> std::vector<X> padded(std::vector<X> x) {
    x.resize((x.size() + pass_step - 1) / pass_step * pass_step, X(0));
    return x;
}

/// An expansion of n positions. Multiples of 1/8 below 2^10 make every operation exact and ties frequent.
template <class T> struct Expansion {
    Index n;
    std::vector<T> g, up, dn, k, l;
    std::vector<double> a, c;
    Expansion(Random& random, Index n_, int levels, double room) : n(n_) {
        const auto eighths = [&] { return static_cast<double>(below(random, 2 * levels + 1) - levels) / 8; };
        for (Index i = 0; i < n; ++i) {
            g.push_back(static_cast<T>(eighths()));
            up.push_back(uniform(random) < room ? static_cast<T>(below(random, 8) + 1) / 8 : T(0));
            dn.push_back(uniform(random) < room ? static_cast<T>(below(random, 8) + 1) / 8 : T(0));
            k.push_back(static_cast<T>(eighths()));
            l.push_back(static_cast<T>(eighths()));
            a.push_back(below(random, 3) ? eighths() : 0.0);
            c.push_back(eighths());
        }
        g = padded(g), up = padded(up), dn = padded(dn), k = padded(k), l = padded(l), a = padded(a), c = padded(c);
    }
};

template <class T> Ascent naive_ascent(const Expansion<T>& e, const std::vector<T>& g) {
    Ascent out{0, 0, -1};
    const auto room = [&](Index i) { return g[i] > 0 ? e.up[i] : e.dn[i]; };
    for (Index i = 0; i < e.n; ++i) {
        out.gap += static_cast<double>(std::abs(g[i])) * static_cast<double>(room(i));
        if (room(i) > 0) out.worst = std::max(out.worst, static_cast<double>(std::abs(g[i])));
    }
    for (const double sign : {1.0, -1.0})  // a rise before a fall
        for (Index i = 0; i < e.n && out.at < 0 && out.worst > 0; ++i)
            if (static_cast<double>(g[i]) == sign * out.worst && room(i) > 0) out.at = i;
    return out;
}

template <class T> Extremes naive_extremes(const Expansion<T>& e, const std::vector<T>& g) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Extremes out{-infinity, infinity, -1, -1};
    for (Index i = 0; i < e.n; ++i) {
        const double x = static_cast<double>(g[i]);
        if (e.up[i] > 0 && x > out.high) out.high = x, out.high_at = i;
        if (e.dn[i] > 0 && x < out.low) out.low = x, out.low_at = i;
    }
    return out;
}

template <class T> void pass_case(const Ops<T>& op, Random& random, Index n, int levels, double room) {
    Expansion<T> e(random, n, levels, room);
    const double a = static_cast<double>(below(random, 17) - 8) / 8;
    auto moved = e.g, apart = e.g;
    for (Index i = 0; i < n; ++i) {
        moved[i] += static_cast<T>(a) * e.k[i];
        apart[i] += static_cast<T>(a) * (e.k[i] - e.l[i]);
    }
    const auto check_ascent = [&](const Ascent& found, const Ascent& expected, const char* what) {
        CHECK(found.gap == expected.gap && found.worst == expected.worst, op.name, what, n, room, found.gap,
              expected.gap, found.worst, expected.worst);
        CHECK(found.at == expected.at, op.name, what, n, levels, room, found.at, expected.at);
    };
    const auto check_extremes = [&](const Extremes& found, const Extremes& expected, const char* what) {
        CHECK(found.high == expected.high && found.low == expected.low, op.name, what, n, room);
        CHECK(found.high_at == expected.high_at && found.low_at == expected.low_at, op.name, what, n, found.high_at,
              expected.high_at, found.low_at, expected.low_at);
    };
    auto g = e.g;
    check_ascent(op.ascend(g.data(), nullptr, 0, e.up.data(), e.dn.data(), n), naive_ascent(e, e.g), "look");
    check_extremes(op.ascend_pair(g.data(), nullptr, nullptr, 0, e.up.data(), e.dn.data(), n), naive_extremes(e, e.g),
                   "look");
    CHECK(same_bits(g, e.g), op.name, n);
    check_ascent(op.ascend(g.data(), e.k.data(), a, e.up.data(), e.dn.data(), n), naive_ascent(e, moved), "move");
    CHECK(same_bits(g.data(), moved.data(), n), op.name, n);
    g = e.g;
    check_extremes(op.ascend_pair(g.data(), e.k.data(), e.l.data(), a, e.up.data(), e.dn.data(), n),
                   naive_extremes(e, apart), "move");
    for (Index i = 0; i < n; ++i) CHECK(g[i] == apart[i], op.name, n, i);
    for (Index i = n; i < static_cast<Index>(g.size()); ++i) CHECK(g[i] == 0, op.name, n, i);

    Glance expected{0, 0, 0};
    for (Index i = 0; i < n; ++i) {
        expected.output += e.a[i] * static_cast<double>(e.k[i]);
        const double h = e.a[i] != 0 ? e.c[i] * static_cast<double>(e.g[i]) : 0.0;
        expected.sum += h;
        expected.squares += h * h;
    }
    const Glance found = op.glance(e.k.data(), e.a.data(), e.g.data(), e.c.data(), n);
    CHECK(found.output == expected.output && found.sum == expected.sum && found.squares == expected.squares, op.name, n,
          found.output, expected.output);
}

CASE(passes_over_an_expansion) {
    each_table([](const auto& op) {
        Random random(15);
        for (const Index n : {0, 1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 1000, 2049})
            for (int repeat = 0; repeat < 24; ++repeat)
                pass_case(op, random, n,
                          repeat % 3 == 0   ? 1
                          : repeat % 3 == 1 ? 4
                                            : 500,
                          repeat % 4 == 0   ? 0.0
                          : repeat % 4 == 1 ? 0.02
                          : repeat % 4 == 2 ? 0.5
                                            : 1.0);
    });
}

CASE(ties_between_rises_and_falls) {
    // A fall before a rise of the same size, at every pair of positions: the rise is chosen; of two falls the first.
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        const Index n = 400;
        Random random(16);
        for (int repeat = 0; repeat < 4000; ++repeat) {
            std::vector<T> g(512, T(0)), up(512, T(1)), dn(512, T(1));
            std::fill(up.begin() + n, up.end(), T(0)), std::fill(dn.begin() + n, dn.end(), T(0));
            for (Index i = 0; i < n; ++i) g[i] = static_cast<T>(below(random, 5) - 2) / 8;
            const Index lane = below(random, 32);
            Index first = below(random, n), second = repeat % 2 ? below(random, n) : (first + 32 * lane) % n;
            if (first > second) std::swap(first, second);
            if (first == second) continue;
            g[first] = T(-1), g[second] = T(1);
            CHECK(op.ascend(g.data(), nullptr, 0, up.data(), dn.data(), n).at == second, op.name, first, second);
            up[second] = 0;  // no room any more
            CHECK(op.ascend(g.data(), nullptr, 0, up.data(), dn.data(), n).at == first, op.name, first, second);
            g[second] = T(-1);
            CHECK(op.ascend(g.data(), nullptr, 0, up.data(), dn.data(), n).at == first, op.name, first, second);
            const Extremes x = op.ascend_pair(g.data(), nullptr, nullptr, 0, up.data(), dn.data(), n);
            CHECK(x.low == -1 && x.low_at == first, op.name, first, second, x.low_at);
            dn[first] = 0;
            CHECK(op.ascend(g.data(), nullptr, 0, up.data(), dn.data(), n).at == second, op.name, first, second);
            dn[second] = 0;
            const Ascent rest = op.ascend(g.data(), nullptr, 0, up.data(), dn.data(), n);
            CHECK(rest.worst <= 0.25 && rest.at != first && rest.at != second, op.name);
        }
    });
}

CASE(steps_in_single_precision_round_once) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        if (sizeof(T) == 8) return;
        Random random(17);
        const std::vector<T> none(512, T(0));
        for (int repeat = 0; repeat < 50; ++repeat) {
            std::vector<T> g, k;
            for (int i = 0; i < 512; ++i) {
                g.push_back(static_cast<T>(uniform(random, -2.0, 2.0)));
                k.push_back(static_cast<T>(uniform(random)));
            }
            const auto before = g;
            const double a = uniform(random, -3.0, 3.0);
            op.ascend(g.data(), k.data(), a, none.data(), none.data(), 512);
            for (int i = 0; i < 512; ++i) {
                const double exact = static_cast<double>(before[i]) + a * static_cast<double>(k[i]);
                const double size = std::abs(static_cast<double>(before[i])) + std::abs(a);
                CHECK(std::abs(static_cast<double>(g[i]) - exact) <= 1.01 * epsilon<T> * size, op.name, i, g[i], exact);
            }
        }
    });
}

// ---- sums of rows, symmetric matrices --------------------------------------------------------------

CASE(rows_are_summed_in_order) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(23);
        for (const Index count : {0, 1, 3, 4, 7, 8, 21}) {
            const Index n = 20 * pass_step, from = pass_step;  // more than one stretch
            std::vector<std::vector<T>> rows;
            std::vector<const T*> pointers;
            std::vector<double> weights, sums(static_cast<std::size_t>(n), 0.5), expected = sums;
            for (Index r = 0; r < count; ++r) {
                rows.push_back(random_values<T>(random, 1, n));
                weights.push_back(static_cast<double>(below(random, 9)) / 4 - 1);
            }
            for (const auto& row : rows) pointers.push_back(row.data());
            op.combine(pointers.data(), weights.data(), count, from, n, sums.data());
            for (Index i = 0; i < n; ++i) {
                for (Index r = 0; r < count && i >= from; ++r)
                    expected[i] += weights[r] * static_cast<double>(rows[r][i]);
                CHECK(std::abs(sums[i] - expected[i]) <= 1e-14 * (1 + count), op.name, count, i);
            }
            double product = 0;
            const std::vector<T> k = padded(random_values<T>(random, 1, 100 + count));
            const std::vector<double> a = padded(random_values<double>(random, 1, 100 + count));
            for (std::size_t i = 0; i < k.size(); ++i) product += static_cast<double>(k[i]) * a[i];
            CHECK(std::abs(op.inner(k.data(), a.data(), static_cast<Index>(k.size())) - product) < 1e-13, op.name);
        }
    });
}

CASE(a_packed_matrix_is_symmetric) {
    each_table([](const auto& op) {
        Random random(29);
        for (const Index m : {1, 2, 7, 8, 16, 17, 33, 50})
            for (const Index count : {1, 3, 4, 9}) {
                std::vector<double> a = random_values<double>(random, 1, m * (m + 1) / 2);
                const auto at = [m](const std::vector<double>& p, Index i, Index j) {
                    (void)m;
                    return i >= j ? p[i * (i + 1) / 2 + j] : p[j * (j + 1) / 2 + i];
                };
                const std::vector<double> x = random_values<double>(random, 1, m);
                std::vector<double> y(static_cast<std::size_t>(m), 7.0);
                op.packed_multiply(a.data(), m, x.data(), y.data());
                for (Index i = 0; i < m; ++i) {
                    double sum = 0;
                    for (Index j = 0; j < m; ++j) sum += at(a, i, j) * x[j];
                    CHECK(std::abs(y[i] - sum) < 1e-13, op.name, m, i);
                }
                std::vector<std::vector<double>> b;
                std::vector<const double*> pointers;
                for (Index k = 0; k < count; ++k) b.push_back(random_values<double>(random, 1, m));
                for (const auto& v : b) pointers.push_back(v.data());
                const std::vector<double> before = a;
                op.packed_update(a.data(), m, -0.5, pointers.data(), count);
                for (Index i = 0; i < m; ++i)
                    for (Index j = 0; j <= i; ++j) {
                        double sum = at(before, i, j);
                        for (const auto& v : b) sum -= 0.5 * v[i] * v[j];
                        CHECK(std::abs(at(a, i, j) - sum) < 1e-13, op.name, m, i, j);
                    }
            }
    });
}

}  // namespace
}  // namespace hingeline
