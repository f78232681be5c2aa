// Rows as vectors of kernel values: against plain sums, and linear machines over them against the same values in
// memory.
#include "check.hpp"
#include "data.hpp"
#include "hingeline/algo/finite_newton.hpp"

namespace hingeline {
namespace {

using namespace testing;

template <class T> double plain(const std::vector<T>& x, Index i, const std::vector<T>& z, Index j, Index d) {
    double square = 0;
    for (Index k = 0; k < d; ++k) {
        const double a = static_cast<double>(x[i * d + k]) - static_cast<double>(z[j * d + k]);
        square += a * a;
    }
    return std::exp(-0.4 * square);
}

template <class T> std::vector<T> random_rows(Index n, Index d, unsigned seed) {
    std::vector<T> out;
    std::uint64_t state = seed;
    for (Index i = 0; i < n * d; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double value = static_cast<double>(state >> 40) / (1 << 23) - 1.0;
        out.push_back(i % 3 ? static_cast<T>(value) : T(0));
    }
    return out;
}

template <class T> void values_case(Index n, Index m, Index d, Index lines) {
    const std::vector<T> x = random_rows<T>(n, d, 1), z = random_rows<T>(m, d, 2), b = random_rows<T>(lines, m, 3);
    const Gram<T> gram(Kernel{KernelKind::rbf, 0.4}, dense_view(z, m, d), std::size_t{1} << 30);
    const KernelRows<T> rows(gram, Rows<T>(dense_view(x, n, d)));
    std::vector<T> k(n * m), again(n * m), product(n * lines), one(n * lines);
    CHECK(kernel_values(rows, 1, nullptr, k.data()));
    CHECK(kernel_values(rows, 3, nullptr, again.data()));
    CHECK(k == again);
    CHECK(map_rows(rows, b.data(), lines, 1, nullptr, product.data()));
    CHECK(map_rows(rows, b.data(), lines, 2, nullptr, one.data()));
    CHECK(product == one);
    const double tol = sizeof(T) == 4 ? 1e-5 : 1e-12;
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < m; ++j)
            CHECK(std::abs(static_cast<double>(k[i * m + j]) - plain(x, i, z, j, d)) < tol, i, j);
        for (Index r = 0; r < lines; ++r) {
            double sum = 0;
            for (Index j = 0; j < m; ++j) sum += static_cast<double>(b[r * m + j]) * static_cast<double>(k[i * m + j]);
            CHECK(std::abs(static_cast<double>(product[i * lines + r]) - sum) < tol * static_cast<double>(m), i, r);
        }
    }
}

CASE(kernel_values_and_products) {
    for (const Index n : {1, 24, 65, 300})
        for (const Index m : {1, 7, 70}) {
            values_case<float>(n, m, 5, m);
            values_case<double>(n, m, 110, 3);
        }
}

CASE(interrupts_end_the_work) {
    const std::vector<float> x = random_rows<float>(2000, 4, 1);
    const Gram<float> gram(Kernel{KernelKind::rbf, 0.4}, dense_view(x, 50, 4), std::size_t{0});
    Interrupt interrupt([] { return true; });
    interrupt.request();
    std::vector<float> k(2000 * 50);
    CHECK(!kernel_values(KernelRows<float>(gram, Rows<float>(dense_view(x, 2000, 4))), 2, &interrupt, k.data()));
}

/// The same machines over kernel values computed in each pass and over stored ones.
template <class T, class S> void machines_case(Index n, Index m, Index machine_count) {
    namespace fn = finite_newton;
    const Index d = 6, length = m + 1;
    const std::vector<S> x = random_rows<S>(n, d, 4);
    const std::vector<T> z = random_rows<T>(m, d, 5);
    const Gram<T> gram(Kernel{KernelKind::rbf, 0.4}, dense_view(z, m, d), std::size_t{0});
    const KernelRows<T> rows(gram, Rows<S>(dense_view(x, n, d)));
    std::vector<T> k(n * m);
    CHECK(kernel_values(rows, 1, nullptr, k.data()));
    std::vector<double> planes, points, targets;
    std::vector<Index> which;
    for (Index i = 0; i < n * machine_count; ++i) planes.push_back((i * 7) % 5 < 2 ? -1.5 : 1.0);
    for (Index i = 0; i < length * machine_count; ++i) {
        points.push_back(0.01 * static_cast<double>(i % 11) - 0.04);
        targets.push_back(0.3 * static_cast<double>(i % 3) - 0.2);
    }
    fn::Machines machines;
    machines.planes = planes.data();
    machines.plane_count = machine_count;
    for (Index q = 0; q < machine_count; ++q) machines.plane_of.push_back(q), which.push_back(q);
    const Clip clip{1.0, 0.0, 2.0};
    fn::Part<T> streamed(rows, {}, machines, clip), stored(Rows<T>(dense_view(k, n, m)), {}, machines, clip);
    const Ids all = Ids::of(which);
    const auto same = [](const fn::Sums& a, const fn::Sums& b) {
        for (std::size_t q = 0; q < a.margins.size(); ++q) CHECK(a.margins[q].loss == b.margins[q].loss);
        CHECK(a.gradient == b.gradient);
    };
    same(streamed.start(all, points.data(), 2, nullptr), stored.start(all, points.data(), 1, nullptr));
    same(streamed.aim(all, targets.data(), 2, nullptr), stored.aim(all, targets.data(), 1, nullptr));
    for (const bool precise : {true, false}) {
        streamed.set_sketch(1, precise), stored.set_sketch(1, precise);
        std::vector<double> h(length * length, 0.0), g = h;
        streamed.hessian(0, h.data(), 2, nullptr), stored.hessian(0, g.data(), 1, nullptr);
        CHECK(h == g);
    }
    CHECK(streamed.diagonal(0, nullptr) == stored.diagonal(0, nullptr));
    CHECK(streamed.curvature(all, targets.data(), 2, nullptr) == stored.curvature(all, targets.data(), 1, nullptr));
    std::vector<dual_descent::State> states;
    CHECK_THROWS(streamed.descend(all, points.data(), states, {}, 1.0, 0.1, 1, 1, 1, nullptr), std::invalid_argument);
}

CASE(machines_over_kernel_values) {
    for (const Index m : {1, 30, 500}) {
        machines_case<float, float>(300, m, 1);
        machines_case<float, double>(300, m, 3);
        machines_case<double, float>(300, m, 2);
    }
}

}  // namespace
}  // namespace hingeline
