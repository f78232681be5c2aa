// Views of matrices: dense, CSR, compressed, bits.
#include "check.hpp"
#include "data.hpp"
#include "hingeline/data/rows.hpp"

namespace hingeline {
namespace {

using namespace testing;

template <class T, class I>
CsrRows<T, I> view(const Array<T>& values, const Array<I>& columns, const Array<I>& starts, Index d) {
    return {values.data(), columns.data(), starts.data(), starts.size() - 1, d};
}

template <class T, class I> void canonical_case() {
    const auto stored = [](const Array<I>& columns) { return columns.size(); };
    {  // as it should be: sorted, with an empty row and an explicit zero
        const Array<T> values{1, 0, 3};
        const Array<I> columns{0, 4, 2}, starts{0, 2, 2, 3};
        CHECK(!canonical(view(values, columns, starts, 5), 3));
    }
    {  // no rows; entries beyond the last row are not looked at
        const Array<T> values{1};
        const Array<I> columns{99}, starts{0};
        CHECK(!canonical(view(values, columns, starts, 5), 1));
    }
    {  // unsorted and duplicate: sorted copy, duplicates added in the order in which they are stored
        const Array<T> values{1, 2, 3, 10, 20, 30, 7};
        const Array<I> columns{3, 0, 3, 1, 1, 1, 0}, starts{0, 3, 3, 6, 7};
        const auto copy = canonical(view(values, columns, starts, 4), 7);
        CHECK(copy.has_value());
        if (!copy) return;
        CHECK(copy->starts == (Array<I>{0, 2, 2, 3, 4}));
        CHECK(copy->columns == (Array<I>{0, 3, 1, 0}));
        CHECK(copy->values == (Array<T>{2, 4, 60, 7}));
        CHECK(copy->d == 4 && copy->view().n == 4 && copy->view().d == 4);
        CHECK(!canonical(copy->view(), stored(copy->columns)));
    }
    {  // the same last column in two rows is no duplicate
        const Array<T> values{1, 2, 3};
        const Array<I> columns{2, 1, 2}, starts{0, 2, 3};
        const auto copy = canonical(view(values, columns, starts, 3), 3);
        CHECK(copy && copy->columns == (Array<I>{1, 2, 2}) && copy->values == (Array<T>{2, 1, 3}));
    }
    const auto malformed = [&](const Array<I>& columns, const Array<I>& starts, Index d) {
        const Array<T> values(columns.size(), T(1));
        CHECK_THROWS(canonical(view(values, columns, starts, d), stored(columns)), std::invalid_argument);
    };
    malformed({0, 1}, {1, 2}, 2);  // does not start with 0
    malformed({0, 1}, {-1, 2}, 2);
    malformed({0, 1, 0}, {0, 2, 1, 3}, 2);  // descends
    malformed({0, 1}, {0, 3}, 2);           // ends beyond the entries
    malformed({0, 1}, {0, std::numeric_limits<I>::max()}, 2);
    malformed({0, 1}, {0, 1, std::numeric_limits<I>::min()}, 2);
    malformed({0, 2}, {0, 2}, 2);  // column beyond d
    malformed({0, -1}, {0, 2}, 2);
    malformed({0}, {0, 1}, 0);
}

CASE(canonical_csr) {
    canonical_case<float, std::int32_t>();
    canonical_case<float, std::int64_t>();
    canonical_case<double, std::int32_t>();
    canonical_case<double, std::int64_t>();
}

/// Rows by rows: columns as they are stored. Values count up from 1.
template <class I> struct Listed {
    Array<double> values;
    Array<I> columns, starts{0};
    explicit Listed(const Array<Array<I>>& rows) {
        for (const auto& row : rows) {
            columns.insert(columns.end(), row.begin(), row.end());
            starts.push_back(static_cast<I>(columns.size()));
        }
        for (Index j = 0; j < columns.size(); ++j) values.push_back(static_cast<double>(j + 1));
    }
    std::optional<OwnedCsr<double, I>> canonical(Index d) const {
        return hingeline::canonical(view(values, columns, starts, d), columns.size());
    }
    std::string error(Index d) const {
        try {
            canonical(d);
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "none";
    }
};

/// Steps between rows may fall, steps within a row may not: every place of empty rows, every pattern of steps.
template <class I> void steps_case() {
    const Array<I> up{1, 3, 4}, from_zero{0}, down{1, 4, 3}, twice{1, 1}, late{1, 3, 3}, none{};
    const Array<Array<I>> sorted[] = {{},
                                      {none},
                                      {none, none},
                                      {up},
                                      {none, up},
                                      {up, none},
                                      {none, none, up, none, none},
                                      {up, up},
                                      {up, none, up},
                                      {up, none, none, from_zero},
                                      {up, from_zero, from_zero, up},
                                      {from_zero, up, none, up, none},
                                      {{4}, {4}, {3}, {2}, none, {2}, {0}},
                                      {{0, 4}, {4}, none, {4}},
                                      {{2}, {3}, {4}},
                                      {{0, 1}, {1, 2}, {2, 4}}};
    for (const auto& rows : sorted) {
        CHECK(!Listed<I>(rows).canonical(5), rows.size());
        for (const auto& bad : {down, twice, late})  // in every place
            for (Index at = 0; at <= rows.size(); ++at) {
                auto mixed = rows;
                mixed.insert(mixed.begin() + at, bad);
                const Listed<I> listed(mixed);
                const auto copy = listed.canonical(5);
                CHECK(copy.has_value(), rows.size(), at);
                if (!copy) continue;
                Array<double> expected(mixed.size() * 5, 0.0), found(5);
                Index entry = 0;
                for (Index i = 0; i < mixed.size(); ++i)
                    for (const I column : mixed[i]) expected[i * 5 + column] += ++entry;
                CHECK(copy->view().n == mixed.size());
                for (Index i = 0; i < mixed.size(); ++i) {
                    spread(Rows<double>(copy->view()), static_cast<Index>(i), found.data());
                    CHECK(same_bits(found.data(), expected.data() + i * 5, 5), rows.size(), at, i);
                }
                CHECK(!canonical(copy->view(), copy->columns.size()), rows.size(), at);
            }
        for (Index at = 0; at <= rows.size(); ++at)  // a column out of bounds, in rows that are sorted and not
            for (const Array<I>& bad : {Array<I>{5},
                                        {-1},
                                        {0, 5},
                                        {-1, 2},
                                        {0, 2, 7},
                                        {-3, -2},
                                        {5, 0},
                                        {2, -1},
                                        {1, 5, 2},
                                        {2, -1, 3},
                                        {1, 1, 5},
                                        {-1, -1},
                                        {std::numeric_limits<I>::min(), std::numeric_limits<I>::max()}}) {
                auto mixed = rows;
                mixed.insert(mixed.begin() + at, bad);
                const std::string place = "out of bounds in row " + std::to_string(at);
                const std::string said = Listed<I>(mixed).error(5);
                CHECK(said.ends_with(place), rows.size(), at, said);
                mixed.push_back(down);
                CHECK(Listed<I>(mixed).error(5).ends_with(place), rows.size(), at);
            }
    }
    CHECK(Listed<I>({{0, 1}, {0}}).error(1).ends_with("row 0") &&
          Listed<I>({{0}, {}, {1}}).error(1).ends_with("row 2"));
    // As many falls within rows as rises between them.
    CHECK(Listed<I>({{4, 3}, {4}}).canonical(5) && Listed<I>({{0}, {4, 3}}).canonical(5));
    CHECK(Listed<I>({{0}, {1}, {4, 3, 2}, {3}}).canonical(5) && Listed<I>({{}, {4, 3}, {}, {4}, {}}).canonical(5));
}

CASE(steps_within_rows_and_between_them) {
    steps_case<std::int32_t>();
    steps_case<std::int64_t>();
}

template <class I> void starts_case() {
    const Array<double> values(4, 1.0);
    const Array<I> columns{0, 2, 1, 3};
    for (const Array<I>& starts : {Array<I>{1},
                                   {-1},
                                   {1, 4},
                                   {-1, 4},
                                   {0, 5},
                                   {0, 2, 5},
                                   {0, 5, 4},
                                   {0, 2, 1},
                                   {0, 3, 2, 4},
                                   {0, -1},
                                   {0, 2, -1, 4},
                                   {0, 0, 4, 3},
                                   {0, std::numeric_limits<I>::max()},
                                   {0, std::numeric_limits<I>::min(), 4}})
        CHECK_THROWS(canonical(view(values, columns, starts, 4), 4), std::invalid_argument);
    for (const Array<I>& starts : {Array<I>{0}, {0, 0}, {0, 2}, {0, 2, 4}, {0, 0, 2, 2, 4, 4}, {0, 1, 2, 4}})
        CHECK(!canonical(view(values, columns, starts, 4), 4), starts.size());
    CHECK(canonical(view(values, columns, Array<I>{0, 4}, 4), 4).has_value());
    // What is stored behind the last row is not looked at, nor is it copied.
    const Array<I> behind{1, 0, 99, -5}, starts{0, 2};
    const auto copy = canonical(view(values, behind, starts, 2), 4);
    CHECK(copy && copy->columns == (Array<I>{0, 1}) && copy->starts == starts);
    CHECK(!canonical(view(values, Array<I>{0, 1, 0, 0}, starts, 2), 4));
    CHECK_THROWS(canonical(view(values, columns, starts, 4), 1), std::invalid_argument);  // fewer than the rows ask for
}

CASE(bad_and_good_starts) {
    starts_case<std::int32_t>();
    starts_case<std::int64_t>();
}

CASE(canonical_of_a_shuffle) {
    Random random(1);
    for (int repeat = 0; repeat < 50; ++repeat) {
        const Index n = 1 + below(random, 20), d = 1 + below(random, 30);
        const auto x = random_values<double>(random, n, d, 0.4);
        const auto sorted = to_csr<double, std::int32_t>(x, n, d);
        auto mixed = sorted;
        for (Index i = 0; i < n; ++i)
            for (Index j = sorted.starts[i]; j < sorted.starts[i + 1]; ++j) {
                const Index other = sorted.starts[i] + below(random, sorted.starts[i + 1] - sorted.starts[i]);
                std::swap(mixed.columns[j], mixed.columns[other]);
                std::swap(mixed.values[j], mixed.values[other]);
            }
        const auto back = canonical(mixed.view(), mixed.columns.size());
        const auto& result = back ? *back : mixed;
        CHECK(result.starts == sorted.starts && result.columns == sorted.columns && result.values == sorted.values);
    }
}

template <class T> void spread_case() {
    Random random(2);
    const Index n = 9, d = 23;
    const auto x = random_values<T>(random, n, d, 0.3);
    Array<T> turned(x.size());
    for (Index i = 0; i < n; ++i)
        for (Index k = 0; k < d; ++k) turned[k * n + i] = x[i * d + k];
    const auto csr32 = to_csr<T, std::int32_t>(x, n, d);
    const auto csr64 = to_csr<T, std::int64_t>(x, n, d);
    const Rows<T> forms[] = {dense_view(x, n, d), DenseRows<T>{turned.data(), n, d, 1, n}, csr32.view(), csr64.view()};
    for (const auto& rows : forms) {
        CHECK(row_count(rows) == n && column_count(rows) == d);
        for (Index i = 0; i < n; ++i) {
            Array<T> out(d, T(99));
            spread(rows, i, out.data());
            CHECK(same_bits(out.data(), x.data() + i * d, d), i);
        }
    }
    // Backwards in both directions: element (i, j) is x[n - 1 - i][d - 1 - j].
    const Rows<T> backwards = DenseRows<T>{x.data() + n * d - 1, n, d, -d, -1};
    Array<T> out(d);
    spread(backwards, Index{2}, out.data());
    for (Index k = 0; k < d; ++k) CHECK(out[k] == x[(n - 3) * d + d - 1 - k]);
}

CASE(spreading) {
    spread_case<float>();
    spread_case<double>();
    const Array<float> x(3);
    CHECK(dense_view(x, 1, 3).contiguous());
    CHECK((DenseRows<float>{x.data(), 3, 1, 1, 7}.contiguous()));
    CHECK(!(DenseRows<float>{x.data(), 1, 2, 3, 2}.contiguous()));
}

CASE(row_numbers) {
    const Array<Index> list{4, 2, 9};
    const Ids some = Ids::of(list), run = Ids::run(5, 3);
    CHECK(some.count == 3 && some[0] == 4 && some[2] == 9);
    CHECK(run.count == 3 && run[0] == 5 && run[2] == 7);
}

template <class T> void compressed_case() {
    Random random(3);
    const Index n = 40, d = 50;
    const auto sparse = random_values<T>(random, n, d, 0.2), full = random_values<T>(random, n, d, 0.9);
    const auto expected = to_csr<T, std::int32_t>(sparse, n, d);
    const std::size_t needed = expected.values.size() * (sizeof(T) + 4) + expected.starts.size() * 4;
    for (const std::size_t budget : {needed, std::size_t{1} << 40}) {
        const auto copy = compressed(dense_view(sparse, n, d), budget);
        CHECK(copy.has_value(), budget);
        if (!copy) continue;
        CHECK(std::ranges::equal(copy->starts, expected.starts) &&
              std::ranges::equal(copy->columns, expected.columns) && std::ranges::equal(copy->values, expected.values));
        CHECK(copy->d == d);
    }
    for (const std::size_t budget : {needed - 1, std::size_t{100}, std::size_t{0}})
        CHECK(!compressed(dense_view(sparse, n, d), budget), budget);
    CHECK(!compressed(dense_view(full, n, d), std::size_t{1} << 40));
    CHECK(!compressed(dense_view(sparse, 100, 15), std::size_t{1} << 40));              // too few features
    CHECK(!compressed(DenseRows<T>{sparse.data(), d, n, 1, d}, std::size_t{1} << 40));  // not contiguous
    const auto padded = compressed(DenseRows<T>{sparse.data(), n / 2, d, 2 * d, 1}, std::size_t{1} << 40);
    CHECK(padded && padded->view().n == n / 2);
    Array<T> signs(32, T(0));
    signs[3] = T(-0.0);
    const auto zeros = compressed(dense_view(signs, 2, 16), 1000);
    CHECK(zeros && zeros->values.empty() && zeros->starts == (Wiped<std::int32_t>{0, 0, 0}));
    CHECK(!compressed(dense_view(signs, 2, 16), 0));
}

CASE(compressing) {
    compressed_case<float>();
    compressed_case<double>();
}

template <class T, class I> void bits_case() {
    Random random(4);
    constexpr std::size_t plenty = std::size_t{1} << 30;
    for (const Index d : {1, 5, 63, 64, 65, 128, 200}) {
        const Index n = 30;
        auto x = random_ones<T>(random, n, d, 0.5);
        for (Index i = 0; i < n; ++i) x[i * d] = T(1);
        auto csr = to_csr<T, I>(x, n, d);
        const auto bits = as_bits(Rows<T>(csr.view()), plenty);
        CHECK(bits.has_value(), d);
        if (!bits) continue;
        CHECK(bits->per_row == (d + 63) / 64);
        for (Index i = 0; i < n; ++i)
            for (Index k = 0; k < bits->per_row * 64; ++k) {
                const bool set = (bits->row(i)[k / 64] >> (k % 64)) & 1;
                CHECK(set == (k < d && x[i * d + k] == T(1)), d, i, k);
            }
        const std::size_t needed = bits->words.size() * 8;
        CHECK(as_bits(Rows<T>(csr.view()), needed).has_value(), d);
        CHECK(!as_bits(Rows<T>(csr.view()), needed - 1), d);
        csr.values.back() = T(2);
        CHECK(!as_bits(Rows<T>(csr.view()), plenty), d);
        csr.values.back() = T(0);
        CHECK(!as_bits(Rows<T>(csr.view()), plenty), d);
        CHECK(!as_bits(Rows<T>(dense_view(x, n, d)), plenty), d);
    }
    const auto thin = to_csr<T, I>(random_ones<T>(random, 20, 300, 0.005), 20, 300);  // fewer ones than words
    CHECK(!as_bits(Rows<T>(thin.view()), plenty));
}

CASE(rows_as_bits) {
    bits_case<float, std::int32_t>();
    bits_case<float, std::int64_t>();
    bits_case<double, std::int32_t>();
    bits_case<double, std::int64_t>();
}

}  // namespace
}  // namespace hingeline
