// Decision values: against plain sums, and the same to the bit in any company (kernel/expansion.hpp).
#include "check.hpp"
#include "data.hpp"
#include "hingeline/kernel/expansion.hpp"

namespace hingeline {
namespace {

using namespace testing;

struct Shape {
    const char* name;
    Array<Group> groups;
    Index outputs;
};

/// One output; one-vs-rest; one-vs-one over four classes, one of them empty, one of a single support vector.
Array<Shape> shapes() {
    return {{"one output", {{0, 131, {0}}}, 1},
            {"one-vs-rest", {{0, 131, {0, 1, 2, 3, 4}}}, 5},
            {"one-vs-one", {{0, 47, {0, 1, 2}}, {47, 0, {0, 3, 4}}, {47, 1, {1, 3, 5}}, {48, 83, {2, 4, 5}}}, 6},
            {"mixed", {{0, 60, {2}}, {60, 71, {2, 0, 1}}}, 3},
            {"no support vectors", {}, 2}};
}

constexpr Index support = 131;

template <class T> struct Problem {
    Index d, n;
    Array<T> sv, x;
    Kernel kernel;
    Problem(Index d_, Index n_, double density, const Kernel& k) : d(d_), n(n_), kernel(k) {
        Random random(static_cast<std::uint64_t>(d * 1000 + n));
        sv = random_values<T>(random, support, d, density);
        x = random_values<T>(random, n, d, density);
    }
    /// K[query][support vector], from the Gram of both together.
    Array<T> values() const {
        auto both = sv;
        both.insert(both.end(), x.begin(), x.end());
        const Rows<T> rows = dense_view(both, support + n, d);
        return kernel_values(Gram<T>(kernel, rows, 0), Ids::run(support, n), Ids::run(0, support));
    }
};

Coefficients coefficients(const Shape& shape, const Array<double>& values) {
    Coefficients c;
    c.values = values.data();
    c.support = support;
    c.groups = shape.groups;
    for (Index o = 0; o < shape.outputs; ++o) c.bias.push_back(0.1 * static_cast<double>(o) - 0.2);
    return c;
}

template <class T, class S>
Array<double> decided(const Gram<T>& gram, const Coefficients& c, const Rows<S>& rows, int threads) {
    Array<double> out(row_count(rows) * c.outputs(), -77.0);
    DecisionMatrix sink{out.data(), c.outputs()};
    CHECK(decide<T>(ComputedTiles<T, S>{gram, rows}, c, row_count(rows), threads, nullptr, sink));
    return out;
}

template <class T> void expansion_case(const Problem<T>& p) {
    Random random(1);
    const auto coef = random_values<double>(random, 5, support);
    const auto k = p.values();
    const Rows<T> sv = dense_view(p.sv, support, p.d), x = dense_view(p.x, p.n, p.d);
    const auto sparse_sv = to_csr<T, std::int32_t>(p.sv, support, p.d);
    const auto sparse_x = to_csr<T, std::int64_t>(p.x, p.n, p.d);
    const Gram<T> gram(p.kernel, sv, 0), csr(p.kernel, sparse_sv.view(), 0);
    for (const Shape& shape : shapes()) {
        const Coefficients c = coefficients(shape, coef);
        Array<double> naive, size;
        for (Index i = 0; i < p.n; ++i) {
            naive.insert(naive.end(), c.bias.begin(), c.bias.end());
            size.insert(size.end(), c.bias.size(), 1.0);
            for (const Group& g : c.groups)
                for (Index m = 0; m < g.outputs.size(); ++m)
                    for (Index s = g.first; s < g.first + g.count; ++s) {
                        const double term = coef[m * support + s] * static_cast<double>(k[i * support + s]);
                        naive[i * c.outputs() + g.outputs[m]] += term;
                        size[i * c.outputs() + g.outputs[m]] += std::abs(term);
                    }
        }
        const auto out = decided(gram, c, x, 1);
        for (Index i = 0; i < out.size(); ++i)
            CHECK(std::abs(out[i] - naive[i]) <= 1e-14 * size[i], shape.name, p.d, i, out[i], naive[i]);
        // Any number of threads, any form of rows on either side.
        for (int threads = 0; threads <= 4; ++threads) {
            CHECK(same_bits(decided(gram, c, x, threads), out), shape.name, threads);
            CHECK(same_bits(decided(csr, c, Rows<T>(sparse_x.view()), threads), out), shape.name, threads);
        }
        CHECK(same_bits(decided(gram, c, Rows<T>(sparse_x.view()), 1), out), shape.name);
        CHECK(same_bits(decided(csr, c, x, 2), out), shape.name);
        // Any queries beside it: alone, backwards, without the first ones.
        for (Index i = 0; i < p.n; i += 7) {
            const auto one = decided(gram, c, Rows<T>(DenseRows<T>{p.x.data() + i * p.d, 1, p.d, p.d, 1}), 1);
            CHECK(same_bits(one.data(), out.data() + i * c.outputs(), c.outputs()), shape.name, i);
        }
        const auto backwards =
            decided(gram, c, Rows<T>(DenseRows<T>{p.x.data() + (p.n - 1) * p.d, p.n, p.d, -p.d, 1}), 3);
        for (Index i = 0; i < p.n; ++i)
            CHECK(same_bits(backwards.data() + (p.n - 1 - i) * c.outputs(), out.data() + i * c.outputs(), c.outputs()),
                  shape.name, i);
        const auto later = decided(gram, c, Rows<T>(DenseRows<T>{p.x.data() + 5 * p.d, p.n - 5, p.d, p.d, 1}), 2);
        CHECK(same_bits(later.data(), out.data() + 5 * c.outputs(), (p.n - 5) * c.outputs()), shape.name);
        // From kernel values that exist, among other columns and in either order in memory.
        Array<Index> columns;
        for (Index s = 0; s < support; ++s) columns.push_back((s * 29 + 3) % (support + 10));
        Array<T> matrix(p.n * (support + 10), T(99)), turned(matrix);
        for (Index i = 0; i < p.n; ++i)
            for (Index s = 0; s < support; ++s)
                matrix[i * (support + 10) + columns[s]] = turned[columns[s] * p.n + i] = k[i * support + s];
        const DenseRows<T> by_rows = dense_view(matrix, p.n, support + 10),
                           by_columns{turned.data(), p.n, support + 10, 1, p.n};
        for (int threads = 1; threads <= 3; ++threads)
            for (const auto& rows : {by_rows, by_columns}) {
                Array<double> gathered(out.size(), -77.0);
                DecisionMatrix sink{gathered.data(), c.outputs()};
                CHECK(decide<T>(GatheredTiles<T>{rows, Ids::run(0, p.n), Ids::of(columns)}, c, p.n, threads, nullptr,
                                sink));
                CHECK(same_bits(gathered, out), shape.name, threads);
                const Index last = p.n - 1;  // one of the rows
                CHECK(decide<T>(GatheredTiles<T>{rows, Ids::run(last, 1), Ids::of(columns)}, c, 1, threads, nullptr,
                                sink));
                CHECK(same_bits(gathered.data(), out.data() + last * c.outputs(), c.outputs()), shape.name);
            }
    }
}

template <class T> void all_problems() {
    expansion_case(Problem<T>(6, 150, 1.0, {KernelKind::rbf, 0.3, 0.0, 3}));
    expansion_case(Problem<T>(140, 70, 0.2, {KernelKind::rbf, 0.05, 0.0, 3}));
    expansion_case(Problem<T>(6, 65, 1.0, {KernelKind::linear, 1.0, 0.0, 3}));
    expansion_case(Problem<T>(20, 64, 0.3, {KernelKind::poly, 0.2, 1.0, 3}));
    expansion_case(Problem<T>(4500, 33, 0.01, {KernelKind::rbf, 0.05, 0.0, 3}));
}

CASE(decisions_float) { all_problems<float>(); }
CASE(decisions_double) { all_problems<double>(); }

CASE(expansions_of_the_other_precision) {
    const Problem<double> p(9, 80, 1.0, {KernelKind::rbf, 0.3, 0.0, 3});
    const Array<float> sv(p.sv.begin(), p.sv.end()), x(p.x.begin(), p.x.end());
    const Rows<float> base = dense_view(sv, support, p.d);
    const Gram<float> gram(p.kernel, base, 0);
    Random random(2);
    const auto coef = random_values<double>(random, 5, support);
    for (const Shape& shape : shapes()) {
        const Coefficients c = coefficients(shape, coef);
        CHECK(same_bits(decided(gram, c, Rows<double>(dense_view(p.x, p.n, p.d)), 2),
                        decided(gram, c, Rows<float>(dense_view(x, p.n, p.d)), 1)));
    }
}

/// Votes of one query by the formula, from its decision values.
Array<double> naive_votes(const VoteRule& rule, const double* d) {
    Array<double> votes(rule.classes, 0.0), sums(rule.classes, 0.0);
    for (Index i = 0, k = 0; i < rule.classes; ++i)
        for (Index j = i + 1; j < rule.classes; ++j, ++k) {
            CHECK(pair_number(i, j, rule.classes) == k);
            ++votes[d[k] > 0 || (d[k] == 0 && rule.zero_for_first) ? i : j];
            const double value = rule.scale.empty() ? d[k] : std::clamp(d[k] / rule.scale[k], -1e100, 1e100);
            sums[i] += value, sums[j] -= value;
        }
    for (Index c = 0; rule.sums && c < rule.classes; ++c) votes[c] += sums[c] / (3 * (std::abs(sums[c]) + 1));
    return votes;
}

/// Votes counted block by block are those of the decision values, for any width of a block and number of threads.
CASE(votes) {
    const Problem<double> p(4, 77, 1.0, {KernelKind::rbf, 0.3, 0.0, 3});
    const Gram<double> gram(p.kernel, dense_view(p.sv, support, p.d), 0);
    const Rows<double> x = dense_view(p.x, p.n, p.d);
    Random random(3);
    for (const Index classes : {3, 11, 131}) {
        const auto coef = random_values<double>(random, classes - 1, support);
        Coefficients c;
        c.values = coef.data(), c.support = support;
        for (Index g = 0; g < classes; ++g) c.groups.push_back({g, g + 1 < classes ? 1 : support - g, {}});
        for (Index k = 0; k < classes * (classes - 1) / 2; ++k) c.bias.push_back(uniform(random, -1, 1));
        const auto decisions = decided(gram, c, x, 1);
        for (const bool scaled : {false, true})
            for (const bool sums : {false, true}) {
                VoteRule rule{classes, {}, scaled, sums};
                for (Index k = 0; scaled && k < rule.pairs(); ++k) rule.scale.push_back(uniform(random, 0.1, 2));
                Array<double> expected, out(p.n * classes);
                Array<Index> best, winners(p.n);
                for (Index i = 0; i < p.n; ++i) {
                    const auto one = naive_votes(rule, decisions.data() + i * rule.pairs());
                    expected.insert(expected.end(), one.begin(), one.end());
                    best.push_back(std::max_element(one.begin(), one.end()) - one.begin());
                }
                count_votes(rule, decisions.data(), p.n, {out.data(), nullptr});
                CHECK(same_bits(out, expected), classes, scaled, sums);
                for (int threads = 1; threads <= 3; ++threads) {
                    DecisionVotes to_scores(rule, {out.data(), nullptr}), to_winners(rule, {nullptr, winners.data()});
                    const ComputedTiles<double, double> tiles{gram, x};
                    std::fill(out.begin(), out.end(), -1.0);
                    CHECK(decide<double>(tiles, c, p.n, threads, nullptr, to_scores));
                    CHECK(decide<double>(tiles, c, p.n, threads, nullptr, to_winners));
                    CHECK(same_bits(out, expected), classes, threads);
                    CHECK(winners == best, classes, threads);
                }
            }
    }
    CHECK_THROWS(VoteRule{2}.check(), std::invalid_argument);
    CHECK_THROWS((VoteRule{3, {1.0}}.check()), std::invalid_argument);
}

CASE(votes_without_a_number) {
    const double inf = std::numeric_limits<double>::infinity();
    const double d[] = {1, 2, 3, 1, inf, 3, 1, 2, inf - inf};
    double out[9];
    Index winners[3];
    const VoteRule rule{3};
    count_votes(rule, d, 3, {out, nullptr});
    count_votes(rule, d, 3, {nullptr, winners});
    CHECK(winners[0] == 0 && winners[1] == -1 && winners[2] == -1);
    CHECK(std::isfinite(out[0]) && std::isnan(out[3]) && std::isnan(out[6]));
}

CASE(no_queries) {
    const Problem<float> p(3, 10, 1.0, {});
    const Rows<float> sv = dense_view(p.sv, support, 3), none = dense_view(p.x, 0, 3);
    const Array<double> coef(support, 1.0);
    CHECK(decided(Gram<float>({}, sv, 0), coefficients(shapes()[0], coef), none, 4).empty());
}

CASE(a_bad_query_reaches_the_caller) {
    Problem<float> p(3, 500, 1.0, {});
    p.x[3 * 321] = 1e30f;
    const Rows<float> sv = dense_view(p.sv, support, 3), x = dense_view(p.x, p.n, 3);
    const Array<double> coef(support, 1.0);
    const Gram<float> gram({}, sv, 0);
    for (int threads = 1; threads <= 4; ++threads)
        CHECK_THROWS(decided(gram, coefficients(shapes()[0], coef), x, threads), std::invalid_argument);
}

CASE(interrupted_decisions) {
    const Problem<float> p(3, 3000, 1.0, {});
    const Rows<float> sv = dense_view(p.sv, support, 3), x = dense_view(p.x, p.n, 3);
    const Array<double> coef(support, 1.0);
    const Coefficients c = coefficients(shapes()[0], coef);
    const Gram<float> gram({}, sv, 0);
    Array<double> out(3000);
    DecisionMatrix sink{out.data(), 1};
    for (int threads = 1; threads <= 3; ++threads) {
        Interrupt now([] { return true; }), never([] { return false; });
        CHECK(!decide<float>(ComputedTiles<float, float>{gram, x}, c, p.n, threads, &now, sink), threads);
        CHECK(decide<float>(ComputedTiles<float, float>{gram, x}, c, p.n, threads, &never, sink), threads);
    }
}

}  // namespace
}  // namespace hingeline
