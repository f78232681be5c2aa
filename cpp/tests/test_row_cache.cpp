// The row cache against a model: a vector of (key, row), most recently used first.
#include "check.hpp"
#include "data.hpp"
#include "hingeline/kernel/row_cache.hpp"

namespace hingeline {
namespace {

using namespace testing;

template <class T> struct Model {
    struct Entry {
        Index key;
        Array<T> row;
    };
    Array<Entry> entries;  // most recently used first
    auto find(Index key) {
        return std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == key; });
    }
};

template <class T> void same_as_model(std::size_t bytes, Index length, Index keys, int operations, std::uint64_t seed) {
    Random random(seed);
    RowCache<T> cache(bytes, length);
    Model<T> model;
    const Index capacity = cache.capacity();
    CHECK(capacity >= 1);
    int evictions = 0;
    for (int i = 0; i < operations; ++i) {
        const Index key = below(random, keys);
        const auto known = model.find(key);
        CHECK(cache.contains(key) == (known != model.entries.end()));
        const int kind = static_cast<int>(below(random, 1000));
        if (kind < 500) {
            T* row = cache.find(key);
            CHECK((row != nullptr) == (known != model.entries.end()), key);
            if (row && known != model.entries.end()) {
                CHECK(same_bits(row, known->row.data(), length), key);
                std::rotate(model.entries.begin(), known, known + 1);
            }
        } else if (kind < 850) {
            if (known != model.entries.end()) continue;
            Index expected = -1, gone = -1;
            if (model.entries.size() == capacity) {
                expected = model.entries.back().key;
                model.entries.pop_back();
            }
            T* row = cache.insert(key, [&](Index old) {
                gone = old;
                CHECK(!cache.contains(old), "still there when it is reported");
            });
            evictions += gone >= 0;
            CHECK(gone == expected, gone, expected);
            CHECK(reinterpret_cast<std::uintptr_t>(row) % 64 == 0);
            Array<T> values;
            for (Index k = 0; k < length; ++k) values.push_back(static_cast<T>(uniform(random)));
            std::copy(values.begin(), values.end(), row);
            model.entries.insert(model.entries.begin(), {key, values});
        } else if (kind < 998) {
            cache.erase(key);
            if (known != model.entries.end()) model.entries.erase(known);
        } else if (length > 1) {
            Array<Index> positions;
            for (Index k = 0; k < length; ++k)
                if (below(random, 20) != 0) positions.push_back(k);
            cache.compact(positions);
            for (auto& entry : model.entries) {
                Array<T> kept;
                for (const Index k : positions) kept.push_back(entry.row[k]);
                entry.row = kept;
            }
            length = positions.size();
        }
        CHECK(cache.length() == length && cache.size() == model.entries.size());
        CHECK(cache.size() <= cache.capacity() && cache.capacity() == capacity);
        CHECK(cache.bytes() <= std::max(bytes, cache.bytes() / static_cast<std::size_t>(capacity)));
        if (i % 1000 == 0)  // every row, in an order that changes the recency of none in the end
            for (Index e = model.entries.size() - 1; e >= 0; --e) {
                const T* row = cache.find(model.entries[e].key);
                CHECK(row && same_bits(row, model.entries[e].row.data(), length), i);
            }
    }
    CHECK(keys <= capacity || evictions > 0);
}

CASE(against_the_model) {
    same_as_model<float>(20'000, 37, 60, 100'000, 1);      // a hundred rows: never full
    same_as_model<float>(20'000, 300, 60, 100'000, 2);     // a dozen
    same_as_model<double>(300'000, 100, 600, 100'000, 3);  // several slabs
    same_as_model<double>(0, 50, 10, 10'000, 4);           // one row always
    same_as_model<float>(1'000, 1, 40, 10'000, 5);
}

CASE(capacities) {
    // A row takes an odd number of 64-byte lines.
    CHECK(RowCache<float>(0, 100).capacity() == 1);
    CHECK(RowCache<float>(64 * 10, 16).capacity() == 10);
    CHECK(RowCache<float>(64 * 10 - 1, 16).capacity() == 9);
    CHECK(RowCache<float>(64 * 30, 17).capacity() == 10);  // two lines become three
    CHECK(RowCache<double>(64 * 30, 24).capacity() == 10);
    CHECK(RowCache<double>(64 * 30, 0).capacity() == 30);
    RowCache<double> cache(std::size_t{1} << 50, 8);  // room is not taken before it is needed
    CHECK(cache.bytes() == 0);
    cache.insert(1, [](Index) {});
    CHECK(cache.bytes() > 0 && cache.bytes() <= 64 * 64);
}

CASE(rows_do_not_overlap) {
    const Index length = 33;
    RowCache<float> cache(std::size_t{1} << 20, length);
    for (Index key = 0; key < cache.capacity(); ++key)
        std::fill_n(cache.insert(key, [](Index) {}), length, static_cast<float>(key));
    for (Index key = 0; key < cache.capacity(); ++key) {
        const Array<float> expected(length, static_cast<float>(key));
        CHECK(same_bits(cache.find(key), expected.data(), length), key);
    }
}

}  // namespace
}  // namespace hingeline
