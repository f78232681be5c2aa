// Kernel values have the same bits for every form of the rows, every way to compute them and every company of
// each entry (kernel/gram.hpp, kernel/panel.hpp).
#include <numeric>

#include "check.hpp"
#include "data.hpp"
#include "hingeline/kernel/dots.hpp"

namespace hingeline {
namespace {

using namespace testing;

constexpr std::size_t plenty = std::size_t{1} << 30;

/// One matrix in every form in which it may come.
template <class T> struct Forms {
    Index n, d;
    Array<T> x, padded, turned, upside_down, mirrored;
    OwnedCsr<T, std::int32_t> csr32;
    OwnedCsr<T, std::int64_t> csr64;
    Array<std::pair<const char*, Rows<T>>> all;

    Forms(Array<T> values, Index n_, Index d_)
        : n(n_),
          d(d_),
          x(std::move(values)),
          padded(n * (d + 3), T(55)),
          turned(x),
          upside_down(x),
          mirrored(x),
          csr32(to_csr<T, std::int32_t>(x, n, d)),
          csr64(to_csr<T, std::int64_t>(x, n, d)) {
        for (Index i = 0; i < n; ++i)
            for (Index k = 0; k < d; ++k) {
                const T value = x[i * d + k];
                padded[i * (d + 3) + k] = value;
                turned[k * n + i] = value;
                upside_down[(n - 1 - i) * d + k] = value;
                mirrored[i * d + d - 1 - k] = value;
            }
        all = {{"dense", dense_view(x, n, d)},
               {"padded", DenseRows<T>{padded.data(), n, d, d + 3, 1}},
               {"column by column", DenseRows<T>{turned.data(), n, d, 1, n}},
               {"last row first", DenseRows<T>{upside_down.data() + (n - 1) * d, n, d, -d, 1}},
               {"last column first", DenseRows<T>{mirrored.data() + d - 1, n, d, d, -1}},
               {"csr32", csr32.view()},
               {"csr64", csr64.view()}};
    }
    Forms(const Forms&) = delete;
};

Ids part(Ids ids, Index at, Index count) {
    return ids.list ? Ids{ids.list + at, 0, count} : Ids::run(ids.first + at, count);
}

/// K[queries][base] by calls of at most `split` queries.
template <class T> Array<T> block_of(const Gram<T>& gram, Ids queries, Ids base, Index split, Scratch<T> scratch = {}) {
    const T mark = T(-77);
    const Index stride = base.count + 1;
    Array<T> out(queries.count * stride, mark), tight;
    for (Index at = 0; at < queries.count; at += split) {
        const Index count = std::min(split, queries.count - at);
        Array<T*> columns;
        for (Index q = 0; q < count; ++q) columns.push_back(out.data() + (at + q) * stride);
        CHECK(gram.columns(part(queries, at, count), base, columns.data(), scratch));
    }
    for (Index q = 0; q < queries.count; ++q) {
        CHECK(out[q * stride + base.count] == mark, "written beyond the column");
        tight.insert(tight.end(), out.begin() + q * stride, out.begin() + q * stride + base.count);
    }
    return tight;
}

/// The same by `load` and `values`.
template <class T, class S>
Array<T> tiles_of(const Gram<T>& gram, const Rows<S>& rows, Ids queries, Ids base, Index split, Scratch<T>& scratch) {
    Array<T> out(queries.count * base.count);
    for (Index from = 0; from < queries.count; from += split) {
        const Index count = std::min(split, queries.count - from);
        gram.load(rows, part(queries, from, count), scratch);
        const int width = scratch.panel.vectors() * tile_ops<T>().lanes;
        const bool done = gram.values(base, scratch, [&](Index at, int rows_here) {
            for (int r = 0; r < rows_here; ++r)
                for (Index q = 0; q < count; ++q)
                    out[(from + q) * base.count + at + r] = scratch.tile.data()[r * width + q];
        });
        CHECK(done);
    }
    return out;
}

template <class T> Array<T> pick(const Array<T>& k, Index n, Ids queries, Ids base) {
    Array<T> out;
    for (Index q = 0; q < queries.count; ++q)
        for (Index j = 0; j < base.count; ++j) out.push_back(k[queries[q] * n + base[j]]);
    return out;
}

Array<Index> shuffled(Random& random, Index n) {
    Array<Index> list(n);
    std::iota(list.begin(), list.end(), Index{0});
    for (Index i = n - 1; i > 0; --i) std::swap(list[i], list[below(random, i + 1)]);
    return list;
}

const Kernel kernels[] = {{KernelKind::rbf, 0.37, 0.0, 3},
                          {KernelKind::linear, 1.0, 0.0, 3},
                          {KernelKind::poly, 0.21, 0.7, 3},
                          {KernelKind::sigmoid, 0.05, -0.1, 3}};

/// K is close to the exact kernel matrix, symmetric, and 1 on the diagonal of an RBF.
template <class T> void check_reference(const Kernel& kernel, const Forms<T>& f, const Array<T>& k) {
    const double epsilon = std::numeric_limits<T>::epsilon();
    const auto dot = [&](Index i, Index j) {
        double sum = 0;
        for (Index c = 0; c < f.d; ++c)
            sum += static_cast<double>(f.x[i * f.d + c]) * static_cast<double>(f.x[j * f.d + c]);
        return sum;
    };
    for (Index i = 0; i < f.n; ++i) {
        if (kernel.kind == KernelKind::rbf) CHECK(k[i * f.n + i] == 1, i);
        for (Index j = 0; j < f.n; ++j) {
            CHECK(same_bits(k[i * f.n + j], k[j * f.n + i]), i, j);
            if ((i + j) % 10 != 0) continue;  // a sample is enough for the slow part
            const double xz = dot(i, j), norms = dot(i, i) + dot(j, j),
                         slack = static_cast<double>(f.d + 4) * epsilon * (norms + 1);
            double exact = xz, bound = slack;
            if (kernel.kind == KernelKind::rbf)
                exact = std::exp(-kernel.gamma * std::max(0.0, norms - 2 * xz)),
                bound = 3 * kernel.gamma * slack + 2 * epsilon;
            if (kernel.kind == KernelKind::poly) {
                exact = std::pow(kernel.gamma * xz + kernel.coef0, kernel.degree);
                bound = slack * 3 * std::pow(kernel.gamma * norms + 1, 2) + 8 * epsilon * std::abs(exact);
            }
            if (kernel.kind == KernelKind::sigmoid) exact = std::tanh(kernel.gamma * xz + kernel.coef0), bound = slack;
            CHECK(std::abs(static_cast<double>(k[i * f.n + j]) - exact) <= bound, static_cast<int>(kernel.kind), f.d, i,
                  j);
        }
    }
}

template <class T> void same_in_every_way(const Forms<T>& f, const Kernel& kernel) {
    Random random(static_cast<std::uint64_t>(f.d));
    const Ids everything = Ids::run(0, f.n);
    const auto reference = block_of(Gram<T>(kernel, f.all[0].second, 0), everything, everything, 1);
    check_reference(kernel, f, reference);
    const Index lanes = tile_ops<T>().lanes, block = Gram<T>::block();
    for (const auto& [name, rows] : f.all)
        for (const std::size_t budget : {std::size_t{0}, plenty}) {
            const Gram<T> gram(kernel, rows, budget);
            CHECK(gram.size() == f.n);
            CHECK(budget > 0 || gram.copy_bytes() == 0, name);
            CHECK(gram.grain() >= 1 && gram.grain() <= block);
            Scratch<T> scratch;
            const Index few = random() % 2 ? 1 : lanes / 4 + 1, many = random() % 2 ? lanes + 1 : block;
            for (const Index split : {few, std::min(many, block)}) {
                const auto queries = shuffled(random, f.n);
                auto base = shuffled(random, f.n);
                base.push_back(base[3]);  // a row may occur twice
                if (random() % 2) base.resize(base.size() / 2);
                const Ids bases[] = {Ids::of(base), Ids::run(f.n / 3, f.n / 2), everything, Ids::run(2, 1),
                                     Ids::run(0, 0)};
                const Ids chosen = bases[below(random, 5)], asked = random() % 2 ? Ids::of(queries) : everything;
                const auto expected = pick(reference, f.n, asked, chosen);
                CHECK(same_bits(block_of(gram, asked, chosen, split), expected), name, f.n, f.d,
                      static_cast<int>(kernel.kind), budget, split, chosen.count);
                Scratch<T> prepared;
                gram.prepare(everything, prepared, plenty);
                gram.prepare(chosen, prepared, random() % 2 ? plenty : 2000);
                CHECK(same_bits(block_of(gram, asked, chosen, split, std::move(prepared)), expected), name, f.n, f.d,
                      split);
                for (const auto& [query_name, query_rows] : f.all)
                    if (random() % 3 == 0)
                        CHECK(same_bits(tiles_of(gram, query_rows, asked, chosen, split, scratch), expected), name,
                              query_name, f.n, f.d, budget, split);
            }
        }
}

template <class T> void all_shapes() {
    Random random(1);
    const std::pair<Index, Index> full[] = {{97, 1},  {97, 2},  {130, 7},  {80, 40},
                                            {60, 96}, {60, 97}, {50, 130}, {50, 600}};
    int turn = 0;
    const auto check = [&](const Forms<T>& f) {
        same_in_every_way(f, kernels[0]);
        if (++turn % 2) same_in_every_way(f, kernels[1 + turn / 2 % 3]);  // the others share all but the map
    };
    for (const auto& [n, d] : full) check(Forms<T>(random_values<T>(random, n, d), n, d));
    for (const auto& [n, d] : {std::pair<Index, Index>{110, 20}, {50, 200}, {35, 600}})
        check(Forms<T>(random_values<T>(random, n, d, 0.2), n, d));
    for (const auto& [n, d] : {std::pair<Index, Index>{100, 20}, {60, 64}, {60, 128}, {50, 129}, {40, 300}}) {
        const Forms<T> f(random_ones<T>(random, n, d, 0.25), n, d);
        check(f);
        CHECK(!Gram<T>(kernels[0], f.csr32.view(), plenty).blocks_pay(), d);  // as bits
        CHECK(!Gram<T>(kernels[0], f.all[0].second, plenty).blocks_pay(), d);
        CHECK(Gram<T>(kernels[0], f.csr32.view(), 0).blocks_pay(), d);
    }
    check(Forms<T>(random_values<T>(random, 30, 5000, 0.01), 30, 5000));  // panels keep the columns that occur
}

CASE(same_bits_in_every_way_float) { all_shapes<float>(); }
CASE(same_bits_in_every_way_double) { all_shapes<double>(); }

template <class T> void long_columns() {
    // Several stretches of the loops over base rows; one query, few and many.
    Random random(2);
    const Index n = 2500, d = 30;
    const Forms<T> values(random_values<T>(random, n, d, 0.3), n, d), ones(random_ones<T>(random, n, d, 0.3), n, d);
    const auto base = shuffled(random, n);
    for (const auto* f : {&values, &ones}) {
        const auto reference = block_of(Gram<T>(kernels[0], f->all[0].second, 0), Ids::run(7, 20), Ids::of(base), 1);
        for (const auto& [name, rows] : f->all)
            for (const std::size_t budget : {std::size_t{0}, plenty})
                for (const Index split : {1, 2, 8, 20}) {
                    const Gram<T> gram(kernels[0], rows, budget);
                    if (split > gram.block()) continue;
                    CHECK(same_bits(block_of(gram, Ids::run(7, 20), Ids::of(base), split), reference), name, budget,
                          split);
                }
    }
}

CASE(long_columns_float) { long_columns<float>(); }
CASE(long_columns_double) { long_columns<double>(); }

template <class T, class S> void other_precision() {
    Random random(3);
    for (const auto& [n, d, density] :
         {std::tuple<Index, Index, double>{40, 12, 1.0}, {40, 150, 0.2}, {30, 5000, 0.01}}) {
        const auto x = random_values<T>(random, n, d, density);
        const auto z = random_values<S>(random, n, d, density);
        const Forms<T> base(x, n, d), converted({z.begin(), z.end()}, n, d);
        const Forms<S> queries(z, n, d);
        Scratch<T> scratch;
        const Gram<T> gram(kernels[0], base.all[0].second, 0), csr(kernels[0], base.csr32.view(), 0);
        const auto expected = tiles_of(gram, converted.all[0].second, Ids::run(0, n), Ids::run(0, n), 1, scratch);
        for (const auto& [name, rows] : queries.all)
            for (const Gram<T>* g : {&gram, &csr})
                CHECK(same_bits(tiles_of(*g, rows, Ids::run(0, n), Ids::run(0, n), g->block(), scratch), expected),
                      name, d);
    }
}

CASE(queries_of_the_other_precision) {
    other_precision<float, double>();
    other_precision<double, float>();
}

template <class T> void panel_case() {
    Random random(4);
    const int lanes = tile_ops<T>().lanes, block = lanes * tile_ops<T>().max_vectors;
    Panel<T> panel;  // one for all: nothing of an earlier filling may show through
    for (const auto& [n, d, density] : {std::tuple<Index, Index, double>{70, 9, 1.0},
                                        {70, 5000, 0.01},
                                        {70, 6000, 0.01},
                                        {70, 300, 0.1},
                                        {70, 5000, 0.01},
                                        {70, 4096, 0.01},
                                        {70, 4097, 0.01}}) {
        const Forms<T> f(random_values<T>(random, n, d, density), n, d);
        for (const auto& [name, rows] : f.all)
            for (const bool whole : {false, true})
                for (const int count : {1, lanes, block - 1, block}) {
                    const auto list = shuffled(random, n);
                    panel.fill(rows, {list.data(), 0, count}, whole);
                    const int width = panel.vectors() * lanes;
                    const bool dense = std::holds_alternative<DenseRows<T>>(rows);
                    CHECK(panel.count() == count && width >= count && width < count + lanes, name);
                    CHECK((panel.slots() != nullptr) == (!dense && !whole && d > Panel<T>::direct_limit), name, d,
                          whole);
                    bool same = true;
                    for (Index k = 0; k < d; ++k)
                        for (int q = 0; q < count; ++q) {
                            const Index line = panel.slots() ? panel.slots()[k] : k;
                            same = same && panel.values()[line * width + q] == f.x[list[q] * d + k];
                        }
                    CHECK(same, name, d, whole, count);
                    for (int q = 0; q < width; ++q) {
                        T norm = 0;
                        const T* row = f.x.data() + list[std::min(q, count - 1)] * d;
                        tile_ops<T>().norms(&row, 1, d, &norm);
                        CHECK(same_bits(panel.norms()[q], norm), name, d, q);
                    }
                    const Array<T> given(n, T(3));
                    panel.fill(rows, {list.data(), 0, count}, whole, given.data());
                    CHECK(panel.norms()[0] == 3 && panel.norms()[count - 1] == 3, name);
                }
    }
}

CASE(panels) {
    panel_case<float>();
    panel_case<double>();
}

template <class T> void out_of_range() {
    const T large = std::sqrt(std::numeric_limits<T>::max()), nan = std::numeric_limits<T>::quiet_NaN();
    const Array<T> good(20, T(1));
    for (const T bad : {large, -large, std::numeric_limits<T>::infinity(), nan}) {
        Array<T> x(20, T(1));
        x[13] = bad;
        const auto csr = to_csr<T, std::int64_t>(x, 5, 4);
        for (const Kernel& kernel : kernels) {
            CHECK_THROWS(Gram<T>(kernel, dense_view(x, 5, 4), 0), std::invalid_argument);
            CHECK_THROWS(Gram<T>(kernel, csr.view(), 0), std::invalid_argument);
            Scratch<T> scratch;
            const Rows<T> base = dense_view(good, 5, 4), queries = dense_view(x, 5, 4);
            const Gram<T> gram(kernel, base, 0);
            gram.load(queries, Ids::run(0, 3), scratch);
            CHECK_THROWS(gram.load(queries, Ids::run(0, 5), scratch), std::invalid_argument);
            CHECK_THROWS(gram.load(Rows<T>(csr.view()), Ids::run(3, 1), scratch), std::invalid_argument);
        }
    }
    try {
        Array<T> x(20, T(1));
        x[13] = large;
        Gram<T>(kernels[0], dense_view(x, 5, 4), 0);
    } catch (const std::invalid_argument& e) {
        CHECK(std::string(e.what()).find("row 3 ") != std::string::npos, e.what());  // element 13 of rows of 4
    }
    const Array<T> x(8, std::sqrt(large));
    CHECK_THROWS(Gram<T>({KernelKind::poly, 1.0, 0.0, 3}, dense_view(x, 2, 4), 0), std::invalid_argument);
    CHECK_THROWS(Gram<T>({KernelKind::poly, -1.0, 0.0, 3}, dense_view(x, 2, 4), 0), std::invalid_argument);
    CHECK_THROWS(Gram<T>({KernelKind::poly, 1e-3, large, 3}, dense_view(x, 2, 4), 0), std::invalid_argument);
    Gram<T>({KernelKind::poly, 1.0, 0.0, 1}, dense_view(x, 2, 4), 0);
    Gram<T>({KernelKind::poly, 1.0 / large, 0.0, 9}, dense_view(x, 2, 4), 0);
}

CASE(numbers_out_of_range) {
    out_of_range<float>();
    out_of_range<double>();
    // A double that no float can hold.
    const Array<float> x(8, 1.0f);
    const Array<double> far(8, 1e200);
    const Gram<float> gram(kernels[0], dense_view(x, 2, 4), 0);
    Scratch<float> scratch;
    CHECK_THROWS(gram.load(Rows<double>(dense_view(far, 2, 4)), Ids::run(0, 2), scratch), std::invalid_argument);
}

CASE(more_features_than_slots) {
    const Index d = (Index{1} << 31) + 5;
    OwnedCsr<float, std::int64_t> x;
    x.d = d;
    for (Index i = 0; i <= 64; ++i) x.starts.push_back(i);
    for (Index i = 0; i < 64; ++i) x.columns.push_back(d - 1 - i), x.values.push_back(1.0f);
    const Gram<float> gram(kernels[0], x.view(), plenty);
    Array<float> out(gram.block() * 64);
    Array<float*> columns;
    for (int q = 0; q < gram.block(); ++q) columns.push_back(out.data() + q * 64);
    Scratch<float> scratch;
    CHECK_THROWS(gram.columns(Ids::run(0, std::min(64, gram.block())), Ids::run(0, 64), columns.data(), scratch),
                 std::invalid_argument);
}

template <class T> void nothing_to_see() {
    const Array<T> none;
    OwnedCsr<T, std::int32_t> csr;
    csr.starts.assign(6, 0);
    for (const Rows<T>& rows : {Rows<T>(dense_view(none, 5, 0)), Rows<T>(csr.view())})
        for (const std::size_t budget : {std::size_t{0}, plenty}) {  // five rows without features are all alike
            const Gram<T> gram(kernels[0], rows, budget);
            CHECK(block_of(gram, Ids::run(0, 4), Ids::run(0, 5), 2) == Array<T>(20, T(1)));
        }
    csr.starts.assign(1, 0);
    csr.d = 3;
    CHECK(Gram<T>(kernels[2], dense_view(none, 0, 3), plenty).size() == 0);
    CHECK(Gram<T>(kernels[2], csr.view(), plenty).size() == 0);
}

CASE(no_rows_and_no_features) {
    nothing_to_see<float>();
    nothing_to_see<double>();
}

CASE(zeros_with_signs) {
    Random random(5);
    auto x = random_values<float>(random, 40, 40, 0.2);
    for (float& value : x)
        if (value == 0 && random() % 2) value = -0.0f;
    const Forms<float> f(x, 40, 40);
    for (const Kernel& kernel : kernels) same_in_every_way(f, kernel);
}

CASE(interrupting_columns) {
    Random random(6);
    const Forms<double> values(random_values<double>(random, 200, 20, 0.3), 200, 20),
        ones(random_ones<double>(random, 200, 20, 0.3), 200, 20);
    Interrupt interrupt([] { return true; });
    for (const auto* f : {&values, &ones})
        for (const auto& [name, rows] : f->all)
            for (const Index count : {1, 4}) {
                const Gram<double> gram(kernels[0], rows, plenty);
                Scratch<double> scratch;
                scratch.interrupt = &interrupt;
                Array<double> out(800);
                double* columns[] = {out.data(), out.data() + 200, out.data() + 400, out.data() + 600};
                CHECK(!gram.columns(Ids::run(0, count), Ids::run(0, 200), columns, scratch), name);
                gram.load(rows, Ids::run(0, count), scratch);
                CHECK(!gram.values(Ids::run(0, 200), scratch, [](Index, int) {}), name);
            }
}

template <class T> void other_sources() {
    Random random(7);
    const Index n = 30;
    const auto k = random_values<T>(random, n, n);
    const auto list = shuffled(random, n);
    const Ids queries{list.data(), 0, 7}, base{list.data() + 3, 0, 20};
    const auto check = [&](const auto& source, const Array<T>& expected) {
        Array<T> out(140);
        Array<T*> columns;
        for (int q = 0; q < 7; ++q) columns.push_back(out.data() + q * 20);
        Scratch<T> scratch;
        CHECK(source.columns(queries, base, columns.data(), scratch));
        CHECK(same_bits(out, expected));
        Interrupt interrupt([] { return true; });
        scratch.interrupt = &interrupt;
        CHECK(!source.columns(queries, base, columns.data(), scratch));
        CHECK(source.size() == n);
    };
    const auto expected = pick(k, n, queries, base);
    check(Gathered<T>(dense_view(k, n, n)), expected);
    Array<T> turned(k.size());
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) turned[j * n + i] = k[i * n + j];
    check(Gathered<T>(DenseRows<T>{turned.data(), n, n, 1, n}), expected);
    const auto places = shuffled(random, 2 * n);  // the kernel matrix among the rows and columns of a larger one
    Array<T> larger(4 * n * n, T(99));
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) larger[places[i] * 2 * n + places[j]] = k[i * n + j];
    const Gathered<T> part(dense_view(larger, 2 * n, 2 * n), Ids{places.data(), 0, n});
    check(part, expected);
    CHECK(part.value(4, 9) == k[4 * n + 9]);
    check(Called<T>(n,
                    [&](Ids q, Ids b, T* const* columns) {
                        for (Index i = 0; i < q.count; ++i)
                            for (Index j = 0; j < b.count; ++j) columns[i][j] = k[q[i] * n + b[j]];
                    }),
          expected);
}

/// Dot products, then a map, have the bits of kernel values computed at once.
template <class T> void from_dots() {
    Random random(5);
    for (const Index n : {1, 7, 200}) {
        const auto x = random_values<T>(random, n, 11);
        const Rows<T> rows = dense_view(x, n, 11);
        const Array<T> dots =
            kernel_values(Gram<T>({KernelKind::linear, 1.0, 0.0, 3}, rows, 0), Ids::run(0, n), Ids::run(0, n));
        for (const Kernel& kernel :
             {Kernel{KernelKind::rbf, 0.3, 0.0, 3}, Kernel{KernelKind::poly, 0.2, 1.0, 3},
              Kernel{KernelKind::sigmoid, 0.1, 0.5, 3}, Kernel{KernelKind::linear, 1.0, 0.0, 3}}) {
            const auto expected = kernel_values(Gram<T>(kernel, rows, 0), Ids::run(0, n), Ids::run(0, n));
            for (const int threads : {1, 3}) {
                Array<T> out(n * n, T(99));
                CHECK(map_dots(kernel, dots.data(), n, threads, nullptr, out.data()));
                CHECK(same_bits(out, expected), n, threads, static_cast<int>(kernel.kind));
            }
        }
    }
    Interrupt interrupt([] { return true; });
    T one = T(1);
    CHECK(!map_dots({KernelKind::rbf, 1.0, 0.0, 3}, &one, 1, 1, &interrupt, &one));
    T large = std::numeric_limits<T>::max();
    CHECK_THROWS(map_dots({KernelKind::poly, 1.0, 0.0, 3}, &large, 1, 1, nullptr, &large), std::invalid_argument);
}

CASE(kernel_values_from_dot_products) {
    from_dots<float>();
    from_dots<double>();
}

CASE(gathered_and_called) {
    other_sources<float>();
    other_sources<double>();
}

}  // namespace
}  // namespace hingeline
