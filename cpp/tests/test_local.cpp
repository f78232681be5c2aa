// Forms of rows that the block solver computes with (kernel/local.hpp): bytes and shifted columns are recognised where
// they are exact, and give the kernel values of the rows to rounding, with the same bits for every form of the rows.
#include "check.hpp"
#include "data.hpp"
#include "hingeline/kernel/local.hpp"

namespace hingeline {
namespace {

using namespace testing;

/// n by d multiples of `unit`, up to `most` times it.
template <class S> Array<S> multiples(Index n, Index d, double unit, Index most, double density) {
    Random random(5);
    Array<S> x(n * d, S(0));
    for (S& value : x)
        if (uniform(random) < density) value = static_cast<S>(static_cast<double>(1 + below(random, most)) * unit);
    x[0] = static_cast<S>(static_cast<double>(most) * unit);
    return x;
}

/// Kernel values of all rows against all, by blocks of queries.
template <class S, class T> Array<T> columns_of(const RowKernel<S>& source, Local<RowKernel<S>, T>& local) {
    const Index n = source.size();
    local.take(source, Ids::run(0, n));
    SumScratch<T> scratch;
    Array<T> out(n * n, T(-77));
    for (Index at = 0; at < n; at += local.block()) {
        const Index count = std::min<Index>(local.block(), n - at);
        Array<T*> to;
        for (Index q = 0; q < count; ++q) to.push_back(out.data() + (at + q) * n);
        CHECK(local.columns(Ids::run(at, count), Ids::run(0, n), to.data(), scratch));
    }
    return out;
}

template <class S, class T>
Array<double> sums_of(const RowKernel<S>& source, const Local<RowKernel<S>, T>& local, const Array<double>& coef) {
    SumScratch<T> scratch;
    Array<double> out(source.size());
    for (Index at = 0; at < source.size(); at += local.block()) {
        const Index count = std::min<Index>(local.block(), source.size() - at);
        local.sums(source, Ids::run(at, count), coef.data(), scratch, out.data() + at);
    }
    return out;
}

/// Values, sums and diagonal of a Local against the definition of the kernel; the same bits for CSR and turned rows.
template <class S, class T>
void check_values(const Kernel& kernel, const Array<S>& x, Index n, Index d, double allowed = 0) {
    const RowKernel<S> source = row_kernel<S>(kernel, dense_view(x, n, d));
    Local<RowKernel<S>, T> local;
    const Array<T> values = columns_of(source, local);
    Array<double> exact(x.begin(), x.end()), coef;
    Random random(3);
    for (Index i = 0; i < n; ++i) coef.push_back(uniform(random, -1.0, 1.0));
    const Array<double> sums = sums_of(source, local, coef);
    Array<T> diagonal(n);
    local.diagonal(diagonal.data());
    double scale = 0;
    for (Index i = 0; i < n; ++i)
        scale = std::max(scale, std::abs(kernel_value(kernel, &exact[i * d], &exact[i * d], d)));
    const double rounding = allowed > 0 ? allowed : (sizeof(T) == 4 ? 2e-6 : 1e-13) * (1 + scale);
    for (Index i = 0; i < n; ++i) {
        double sum = 0;
        for (Index j = 0; j < n; ++j) {
            const double wanted = kernel_value(kernel, &exact[i * d], &exact[j * d], d);
            const auto value = static_cast<double>(values[i * n + j]);
            CHECK(std::abs(value - wanted) <= rounding, i, j, value, wanted, d);
            sum += coef[j] * value;
        }
        CHECK(std::abs(sums[i] - sum) <= 1e-12 * (1 + scale) * static_cast<double>(n), sums[i], sum);
        CHECK(std::abs(static_cast<double>(diagonal[i]) - static_cast<double>(values[i * n + i])) <= rounding);
    }
    const auto csr = to_csr<S, std::int64_t>(x, n, d);
    Array<S> turned(n * d);
    for (Index i = 0; i < n; ++i)
        for (Index k = 0; k < d; ++k) turned[k * n + i] = x[i * d + k];
    for (const Rows<S>& rows : {Rows<S>(csr.view()), Rows<S>(DenseRows<S>{turned.data(), n, d, 1, n})}) {
        const RowKernel<S> other = row_kernel(kernel, rows);
        Local<RowKernel<S>, T> twin;
        CHECK(same_bits(columns_of(other, twin), values), "form of the rows");
        CHECK(same_bits(sums_of(other, twin, coef), sums), "form of the rows");
    }
}

template <class S> void check_bytes(const Kernel& kernel, double unit) {
    for (const Index d : {1, 6, 16, 67, 130})
        for (const double density : {0.15, 1.0}) {
            const Index n = 101;
            const Array<S> x = multiples<S>(n, d, unit, 255, density);
            const ByteUnit found = byte_unit<S>(dense_view(x, n, d));
            CHECK(found && std::abs(found.unit / unit - 1) < 1e-6, found.unit, unit);
            CHECK(found.in_double == (sizeof(S) == 8 || unit == 1.0 || unit == 0.25), unit);
            check_values<S, float>(kernel, x, n, d);
            check_values<S, double>(kernel, x, n, d);
        }
}

CASE(bytes_give_the_kernel_values_of_the_rows) {
    check_bytes<float>({KernelKind::rbf, 0.003, 0.0, 3}, 1 / 255.0);
    check_bytes<double>({KernelKind::rbf, 2e-7, 0.0, 3}, 1.0);
    check_bytes<float>({KernelKind::linear, 1.0, 0.0, 3}, 0.25);
    check_bytes<double>({KernelKind::poly, 0.01, 1.0, 2}, 1 / 255.0);
    check_bytes<float>({KernelKind::sigmoid, 0.01, -0.5, 3}, 1 / 255.0);
}

/// Integers are exact: a distance of one unit between rows of large norm is exact in single precision.
CASE(distances_of_bytes_are_exact) {
    const Index d = 128;
    Array<float> x(2 * d, 255.0f);
    x[d] = 254.0f;
    const RowKernel<float> source = row_kernel<float>({KernelKind::rbf, 1.0, 0.0, 3}, dense_view(x, 2, d));
    Local<RowKernel<float>, float> local;
    CHECK(source.bytes);
    const Array<float> values = columns_of(source, local);
    CHECK(values[0] == 1.0f && std::abs(values[1] - std::exp(-1.0f)) < 1e-7f, values[1]);
}

CASE(what_does_not_fit_bytes) {
    const Index n = 40, d = 7;
    const auto fits = [&](const Array<float>& x) { return static_cast<bool>(byte_unit<float>(dense_view(x, n, d))); };
    const Array<float> good = multiples<float>(n, d, 0.1, 200, 0.8);
    CHECK(fits(good));
    for (const float value : {-0.1f, 0.15f, 26.0f, 0.10001f, 1e30f, 1e-30f}) {
        Array<float> bad = good;
        bad[n * d - 1] = value;
        CHECK(!fits(bad), value);
    }
    CHECK(!fits(Array<float>(n * d, 0.0f)));
    Random random(1);
    CHECK(!fits(random_values<float>(random, n, d)));
    const Array<float> wide(2 * (most_byte_features + 1), 1.0f);
    CHECK(!byte_unit<float>(dense_view(wide, 2, most_byte_features + 1)));
    CHECK(byte_unit<float>(dense_view(wide, 2, most_byte_features)));
    // A row that the sample misses.
    Array<double> tall(4 * sampled_rows, 1.0);
    CHECK(byte_unit<double>(dense_view(tall, 4 * sampled_rows, 1)));
    tall[4 * sampled_rows - 2] = 0.5;
    CHECK(!byte_unit<double>(dense_view(tall, 4 * sampled_rows, 1)));
}

/// Two features and indicators, all with an offset.
template <class S> Array<S> indicators(Index n, Index d) {
    Random random(2);
    Array<S> x;
    for (Index i = 0; i < n; ++i) {
        const Index one = below(random, d);
        for (Index k = 0; k < d; ++k)
            x.push_back(static_cast<S>(k < 2 ? uniform(random, -1.0, 1.0) : k == one ? 2.3 : -0.17));
    }
    return x;
}

CASE(shifted_columns_give_the_kernel_values_of_the_rows) {
    const Index n = 120, d = 20;
    const Array<float> x = indicators<float>(n, d);
    const Kernel rbf{KernelKind::rbf, 0.3, 0.0, 3};
    const RowKernel<float> source = row_kernel<float>(rbf, dense_view(x, n, d));
    CHECK(source.origin.size() == d);
    for (Index k = 0; k < d; ++k) CHECK(source.origin[k] == (k < 2 ? 0.0f : -0.17f), k);
    CHECK((row_kernel<float>({KernelKind::linear, 1.0, 0.0, 3}, dense_view(x, n, d)).origin.empty()));
    check_values<float, float>(rbf, x, n, d);
    check_values<float, double>(rbf, x, n, d);
    const Array<double> y = indicators<double>(n, d);
    check_values<double, float>(rbf, y, n, d);
    check_values<double, double>(rbf, y, n, d);
}

CASE(columns_that_are_not_shifted) {
    const Index n = 200, d = 20;
    Random random(4);
    CHECK(common_values<double>(dense_view(random_values<double>(random, n, d), n, d)).empty());
    CHECK(common_values<double>(dense_view(random_values<double>(random, n, d, 0.1), n, d)).empty());
    Array<double> x = indicators<double>(n, d);
    CHECK(!common_values<double>(dense_view(x, n, d)).empty());
    // A mark for missing values would take the digits of the others.
    for (Index i = 0; i < n; ++i)
        if (i % 3 > 0) x[i * d] = -1e9;
    CHECK(common_values<double>(dense_view(x, n, d))[0] == 0.0);
    // Less than half of the entries.
    for (Index i = 0; i < n; ++i) x[i * d] = 5 * i >= 3 * n ? 0.7 : uniform(random, 0.1, 1.0);
    CHECK(common_values<double>(dense_view(x, n, d))[0] == 0.0);
}

/// The difference from the origin is computed in double before it is rounded: single precision would lose its digits.
CASE(shifts_in_double_are_rounded_once) {
    const Index n = 60, d = 20;
    Random random(6);
    Array<double> x(n * d, 10.0);
    for (double& value : x)
        if (uniform(random) < 0.2) value += 1e-6 * uniform(random, -1.0, 1.0);
    const Kernel rbf{KernelKind::rbf, 2e11, 0.0, 3};
    CHECK((!row_kernel<double>(rbf, dense_view(x, n, d)).origin.empty()));
    check_values<double, float>(rbf, x, n, d, 1e-3);
}

}  // namespace
}  // namespace hingeline
