// Tiles of dot products, for every instruction set that this processor has and both precisions.
#include <cmath>
#include <limits>

#include "check.hpp"
#include "data.hpp"
#include "tables.hpp"

namespace hingeline {

namespace {

using namespace testing;

/// The d values of `width` queries, feature by feature; the rows of x beyond the last repeat it.
template <class T> Array<T> panel_of(const Array<T>& x, Index d, int width) {
    Array<T> panel(d * width);
    for (Index k = 0; k < d; ++k)
        for (int q = 0; q < width; ++q) panel[k * width + q] = x[q * d + k];
    return panel;
}
/// tile_rows pointers to `count` rows, the last one repeated.
template <class T> Array<const T*> pointers(const Array<T>& x, Index d, int count) {
    Array<const T*> rows;
    for (int r = 0; r < tile_rows; ++r) rows.push_back(x.data() + std::min(r, count - 1) * d);
    return rows;
}
template <class T> Array<T> dense_tile(const TypedTables<T>& op, const Array<T>& queries, int vectors, Index d,
                                       const Array<T>& base, int row_count) {
    const int width = vectors * op.tiles.lanes;
    Array<T> tile(tile_rows * width);
    op.tiles.dense(panel_of(queries, d, width).data(), vectors, d, pointers(base, d, row_count).data(), row_count,
                   tile.data());
    tile.resize(row_count * width);
    return tile;
}

CASE(names_and_shapes) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        CHECK(op.tiles.lanes >= 1 && tile_rows % op.tiles.lanes == 0, op.name);
        CHECK(line_step % (8 * op.tiles.lanes) == 0, op.name);
        CHECK(op.tiles.max_vectors >= 1, op.name);
        CHECK(op.tiles.lanes <= static_cast<int>(64 / sizeof(T)), op.name);
    });
    bool found = false;
    for (const auto* op : tables<float>()) found = found || &op->tiles == &tile_ops<float>();
    CHECK(found);
}

template <class T> void dense_case(Index d) {
    constexpr int most = 64;
    Random random(static_cast<std::uint64_t>(d) + 1);
    const auto queries = random_values<T>(random, most, d), base = random_values<T>(random, tile_rows, d);
    Array<long double> dots, sizes;
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
        Array<T> first(tile_rows * most);  // entry (r, q) as one vector of queries gave it
        for (int vectors = 1; vectors <= op->tiles.max_vectors; ++vectors) {
            const int width = vectors * op->tiles.lanes;
            for (const int row_count : {tile_rows, 1, 5, 6, 7, 47}) {
                const auto tile = dense_tile(*op, queries, vectors, d, base, row_count);
                for (int r = 0; r < row_count; ++r)
                    for (int q = 0; q < width; ++q) {
                        const T value = tile[r * width + q];
                        if (vectors == 1 || q >= width - op->tiles.lanes) {
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
        Array<T> tile(tile_rows * op.tiles.lanes, T(7));
        const T* none = nullptr;
        const Array<const T*> rows(tile_rows, none);
        op.tiles.dense(none, 1, 0, rows.data(), 48, tile.data());
        for (const T value : tile) CHECK(value == 0, op.name);
    });
}

CASE(dense_integers_are_exact) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(3);
        const Index d = 700;
        Array<T> queries(64 * d), base(tile_rows * d);
        for (auto* x : {&queries, &base})
            for (T& value : *x) value = static_cast<T>(below(random, 21) - 10);
        const auto tile = dense_tile(op, queries, op.tiles.max_vectors, d, base, tile_rows);
        const int width = op.tiles.max_vectors * op.tiles.lanes;
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
            for (int vectors = 1; vectors <= op.tiles.max_vectors; ++vectors) {
                const int width = vectors * op.tiles.lanes;
                const auto x = random_values<T>(random, width, d);
                Array<const T*> rows;
                for (int q = 0; q < width; ++q) rows.push_back(x.data() + q * d);
                Array<T> panel(d * width);
                op.tiles.pack(rows.data(), vectors, d, panel.data());
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
                Array<T> norms(count);
                op.tiles.norms(pointers(x, d, tile_rows).data(), count, d, norms.data());
                for (int r = 0; r < count; ++r) {
                    Array<T> repeated;
                    for (int q = 0; q < op.tiles.lanes; ++q)
                        repeated.insert(repeated.end(), x.begin() + r * d, x.begin() + (r + 1) * d);
                    const auto tile = dense_tile(op, repeated, 1, d, repeated, 1);
                    CHECK(same_bits(norms[r], tile[0]), op.name, d, count, r);
                }
            }
    });
}

/// CSR rows, tile by tile and query by query, with and without slots.
template <class T, class I> void sparse_case(const TypedTables<T>& op, Index d, double density) {
    Random random(static_cast<std::uint64_t>(d) + 6);
    const auto queries = random_values<T>(random, 64, d, density),
               base = random_values<T>(random, tile_rows, d, density);
    const auto csr = to_csr<T, I>(base, tile_rows, d);
    Array<SparseRow<T, I>> rows;
    for (Index r = 0; r < tile_rows; ++r) rows.push_back(csr.view().row(r));
    const auto tile_of = [&](const T* panel, int vectors, const std::int32_t* slot, int row_count) {
        Array<T> tile(row_count * vectors * op.tiles.lanes);
        if constexpr (sizeof(I) == 4)
            op.tiles.sparse32(panel, vectors, slot, rows.data(), row_count, tile.data());
        else
            op.tiles.sparse64(panel, vectors, slot, rows.data(), row_count, tile.data());
        return tile;
    };
    for (int vectors = 1; vectors <= op.tiles.max_vectors; ++vectors) {
        const int width = vectors * op.tiles.lanes;
        const auto panel = panel_of(queries, d, width);
        // Lines 1, 2, ... for the columns that occur in a query, last column first; line 0 is zero.
        Array<std::int32_t> slot(d, 0);
        Array<T> compact(width, T(0));
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
    const auto dense = dense_tile(op, queries, op.tiles.max_vectors, d, base, tile_rows);
    const int width = op.tiles.max_vectors * op.tiles.lanes;
    for (int q = 0; q < width; ++q) {
        Array<T> dots(tile_rows);
        if constexpr (sizeof(I) == 4)
            op.tiles.sparse_one32(queries.data() + q * d, rows.data(), tile_rows, dots.data());
        else
            op.tiles.sparse_one64(queries.data() + q * d, rows.data(), tile_rows, dots.data());
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
            const auto queries = random_ones<T>(random, op.tiles.lanes, d, 0.4),
                       base = random_ones<T>(random, tile_rows, d, 0.6);
            const auto bits_of = [&](const Array<T>& x, Index n) {
                Array<std::uint64_t> bits(n * words, 0);
                for (Index i = 0; i < n; ++i)
                    for (Index k = 0; k < d; ++k)
                        if (x[i * d + k] != T(0)) bits[i * words + k / 64] |= std::uint64_t{1} << (k % 64);
                return bits;
            };
            const auto query_bits = bits_of(queries, op.tiles.lanes), base_bits = bits_of(base, tile_rows);
            const auto dense = dense_tile(op, queries, 1, d, base, tile_rows);
            Array<Index> list;
            for (int i = 0; i < 60; ++i) list.push_back(below(random, tile_rows));
            for (int q = 0; q < op.tiles.lanes; ++q) {
                Array<T> dots(list.size());
                op.tiles.bits_one(query_bits.data() + q * words, words, base_bits.data(), list.data(), 60, dots.data());
                for (int i = 0; i < 60; ++i)
                    CHECK(same_bits(dots[i], dense[list[i] * op.tiles.lanes + q]), op.name, d, i, q);
            }
        }
    });
}

}  // namespace
}  // namespace hingeline
