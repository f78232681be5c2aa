// Rows that a model keeps: they come, go and change places (data/store.hpp).
#include "check.hpp"
#include "data.hpp"
#include "hingeline/data/store.hpp"

namespace hingeline {
namespace {

using namespace testing;

/// Row i of any view as d values.
template <class T> Array<T> row_of(const Rows<T>& rows, Index i) {
    Array<T> out(column_count(rows));
    spread(rows, i, out.data());
    return out;
}

/// A store against a list of rows.
template <class T> void check_same(const Store<T>& store, const Array<Array<T>>& expected, bool sparse) {
    CHECK(store.size() == expected.size() && store.sparse() == sparse);
    const Rows<T> view = store.view();
    CHECK(row_count(view) == store.size() && column_count(view) == store.columns());
    for (Index i = 0; i < store.size(); ++i) CHECK(same_bits(row_of(view, i), expected[i]), i);
    std::visit(
        [&](const auto& x) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(x)>, DenseRows<T>>)
                for (Index i = 0; i < x.n; ++i) {
                    const auto row = x.row(i);
                    CHECK(row.count >= 0);
                    for (Index j = 1; j < row.count; ++j) CHECK(row.column[j - 1] < row.column[j]);
                }
        },
        view);
}

template <class T> void random_sequence(std::uint64_t seed, bool sparse) {
    Random random(seed);
    const Index n = 40, d = 1 + below(random, 12);
    const auto x = random_values<T>(random, n, d, 0.4);
    const auto narrow = to_csr<T, std::int32_t>(x, n, d);
    const auto wide = to_csr<T, std::int64_t>(x, n, d);
    const Array<Rows<T>> forms{dense_view(x, n, d), narrow.view(), wide.view()};
    Store<T> store(d, sparse);
    Array<Array<T>> model;
    for (int step = 0; step < 60; ++step) {
        const Rows<T>& rows = forms[below(random, 3)];
        switch (below(random, 4)) {
            case 0: {
                Array<Index> ids;
                for (Index i = below(random, 9); i > 0; --i) ids.push_back(below(random, n));
                store.append(rows, Ids::of(ids));
                for (const Index i : ids) model.push_back(row_of(rows, i));
                break;
            }
            case 1: {
                const Index first = below(random, n), count = below(random, n - first + 1) / 4;
                store.append(rows, Ids::run(first, count));
                for (Index i = first; i < first + count; ++i) model.push_back(row_of(rows, i));
                break;
            }
            case 2: {
                Array<char> keep;
                for (Index i = 0; i < store.size(); ++i) keep.push_back(below(random, 3) > 0);
                const Closing c = close_up(keep);
                for (const auto& [from, to] : c.moves) model[to] = model[from];
                model.resize(c.size);
                store.close(keep, c);
                break;
            }
            case 3: {
                const Index size = store.size() - below(random, store.size() / 3 + 1);
                store.truncate(size);
                model.resize(size);
            }
        }
        check_same(store, model, sparse);
    }
}

CASE(random_sequences) {
    for (std::uint64_t seed = 0; seed < 60; ++seed)
        for (const bool sparse : {false, true}) {
            random_sequence<float>(seed, sparse);
            random_sequence<double>(seed, sparse);
        }
}

CASE(closing_up) {
    const Closing none = close_up({});
    CHECK(none.size == 0 && none.moves.empty());
    const Closing all = close_up({1, 1, 1});
    CHECK(all.size == 3 && all.moves.empty());
    const Closing gone = close_up({0, 0});
    CHECK(gone.size == 0 && gone.moves.empty());
    // Three stay: 1, 3 and 5. Position 0 gets 3, position 2 gets 5.
    const Closing some = close_up({0, 1, 0, 1, 0, 1});
    CHECK(some.size == 3 && some.moves.size() == 2);
    CHECK(some.moves[0] == (std::pair<Index, Index>{3, 0}) && some.moves[1] == (std::pair<Index, Index>{5, 2}));
    Random random(1);
    for (int repeat = 0; repeat < 500; ++repeat) {
        Array<char> keep;
        for (Index i = below(random, 30); i > 0; --i) keep.push_back(below(random, 2) > 0);
        const Closing c = close_up(keep);
        Array<Index> at(keep.size());
        for (Index i = 0; i < at.size(); ++i) at[i] = static_cast<Index>(i);
        for (Index i = 0; i < c.moves.size(); ++i) {
            const auto& [from, to] = c.moves[i];
            CHECK(from >= c.size && to < c.size && keep[from] && !keep[to]);
            CHECK(i == 0 || (c.moves[i - 1].first < from && c.moves[i - 1].second < to));
            at[to] = from;
        }
        at.resize(c.size);
        std::sort(at.begin(), at.end());
        Array<Index> stay;
        for (Index i = 0; i < keep.size(); ++i)
            if (keep[i]) stay.push_back(static_cast<Index>(i));
        CHECK(at == stay);
    }
}

CASE(what_has_gone_is_not_left_in_memory) {
    const Array<double> x{1, 2, 3, 4, 5, 6};
    Store<double> store(2, false);
    store.append(Rows<double>(dense_view(x, 3, 2)), Ids::run(0, 3));
    const double* data = std::get<0>(store.view()).data;
    const Array<char> keep{1, 0, 1};
    store.close(keep, close_up(keep));
    CHECK(data[0] == 1 && data[1] == 2 && data[2] == 5 && data[3] == 6);
    CHECK(data[4] == 0 && data[5] == 0, "the place that the last row left");
}

CASE(zeros_are_not_stored) {
    const Array<float> x{0, 2, 0, 0, 0, 0};
    Store<float> store(3, true);
    store.append(Rows<float>(dense_view(x, 2, 3)), Ids::run(0, 2));
    const auto csr = std::get<1>(store.view());
    CHECK(csr.starts[1] == 1 && csr.starts[2] == 1 && csr.columns[0] == 1 && csr.values[0] == 2);
}

CASE(very_wide_rows) {
    const Index d = Index{1} << 40;
    Store<double> store(d, true);
    const Array<double> value{7};
    const Array<std::int64_t> column{d - 1}, starts{0, 1};
    store.append(Rows<double>(CsrRows<double, std::int64_t>{value.data(), column.data(), starts.data(), 1, d}),
                 Ids::run(0, 1));
    const auto csr = std::get<2>(store.view());
    CHECK(csr.n == 1 && csr.columns[0] == d - 1 && csr.values[0] == 7);
    const Array<char> keep{0};
    store.close(keep, close_up(keep));
    CHECK(store.size() == 0 && row_count(store.view()) == 0);
}

}  // namespace
}  // namespace hingeline
