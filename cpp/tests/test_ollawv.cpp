// OLLAWV: a hand-worked problem, a plain loop step for step, and the laws that hold to the bit.
#include "check.hpp"
#include "data.hpp"
#include "hingeline/algo/ollawv.hpp"

namespace hingeline::ollawv {
namespace {

using namespace testing;

/// A side of one label, nothing computed yet.
Side side(double label, Array<Index> rows, double weight = 1.0) {
    Side s;
    s.label = label;
    s.weight = weight;
    s.row = std::move(rows);
    return s;
}

// ---- four points by hand -------------------------------------------------------------------------
//
// Linear kernel on the line, C = 1: x = 2 (+), 1 (+), -1 (-), 1/2 (-, in the wrong place); n = 4, the first step
// takes row 0. With r = sqrt 2 and s = sqrt 3:
//
//   t = 1  row 0  L = 2      B = 1/2       o_1 = 4 + 1/2 = 4.5     o_2 = -4 + 1/2 = -3.5     o_3 = 2 + 1/2 = 2.5
//                                          z_1 = 4.5               z_2 = 3.5                 z_3 = -2.5: the worst
//   t = 2  row 3  L = -r     B = -r/4      o_1 = 4.5 - 3r/4 = 3.44                o_2 = -3.5 + r/4 = -3.15
//                                          z_2 = 3.5 - r/4 is the least, and beyond M = 1: margin reached
//   t = 3  row 2  L = -2/s   B = -1/(2s)   o_1 = 4.5 - 3r/4 + 2/s - 1/(2s) = 4.5 - 3r/4 + s/2
//   t = 4  row 1  L = 1      B = 1/4       none is left

const double r2 = std::sqrt(2.0), r3 = std::sqrt(3.0);

template <class T> State four_points(const Params& p, double weight = 1.0, Index max_steps = 99) {
    static const Array<T> x{2, 1, -1, T(0.5)};
    const Gram<T> gram({KernelKind::linear, 1.0, 0.0, 3}, dense_view(x, 4, 1), 0);
    State s = ollawv::start(side(1.0, {0, 1}), side(-1.0, {2, 3}, weight), 0);
    ollawv::learn(s, p, gram, {max_steps, nullptr}, 1);
    return s;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-14; }
bool near(const Array<double>& a, const Array<double>& b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return near(x, y); });
}

template <class T> void by_hand() {
    const State margin = four_points<T>({1.0, 1.0, 1.0, true, 1000});
    CHECK(margin.reason == Reason::margin && margin.chosen == (Array<Index>{0, 3}));
    CHECK(near(margin.a, {2, -r2}) && near(margin.b, 0.5 - r2 / 4) && near(margin.v, 3.5 - r2 / 4));
    CHECK(margin.next == 2 && margin.side[0].row == Array<Index>{1} && margin.side[1].row == Array<Index>{2});
    CHECK(near(margin.side[0].z, {4.5 - 0.75 * r2}) && near(margin.side[1].z, {3.5 - r2 / 4}));

    const State all = four_points<T>({1.0, 100.0, 1.0, true, 1000});
    CHECK(all.reason == Reason::exhausted && all.chosen == (Array<Index>{0, 3, 2, 1}));
    CHECK(near(all.a, {2, -r2, -2 / r3, 1}) && near(all.b, 0.5 - r2 / 4 - 0.5 / r3 + 0.25));
    CHECK(near(all.v, 4.5 - 0.75 * r2 + r3 / 2));
    CHECK(all.side[0].row.empty() && all.side[1].row.empty());

    const State half = four_points<T>({1.0, 100.0, 0.5, true, 1000});  // ceil(0.5 * 4) steps
    CHECK(half.reason == Reason::cap && half.chosen == margin.chosen && half.a == margin.a && half.b == margin.b);
    CHECK(four_points<T>({1.0, 100.0, 0.51, true, 1000}).chosen.size() == 3);

    const State three = four_points<T>({1.0, 100.0, 1.0, true, 1000}, 1.0, 3);  // the budget of a call is no reason
    CHECK(three.reason == Reason::running && three.chosen.size() == 3 && three.next == 1);
    CHECK(four_points<T>({1.0, 100.0, 1.0, true, 1000}, 1.0, 0).chosen.empty());

    // Without bias: z_3 = -2, z_2 = 4, then z_2 = 4 - r/2 and z_1 = 4 - r/2 tie to rounding; M = 3 is reached.
    const State flat = four_points<T>({1.0, 3.0, 1.0, false, 1000});
    CHECK(flat.reason == Reason::margin && flat.b == 0.0 && near(flat.a, {2, -r2}) && near(flat.v, 4 - r2 / 2));

    // A weight of 3 for the second label: L = -3r at t = 2, so z_2 = 3.5 - 3r/4 and z_1 = 4.5 - 9r/4 = 1.318.
    const State heavy = four_points<T>({1.0, 1.0, 1.0, true, 1000}, 3.0);
    CHECK(near(heavy.a, {2, -3 * r2}) && near(heavy.v, 4.5 - 2.25 * r2) && heavy.next == 1);

    // C scales the coefficients and leaves the sequence alone.
    const State eight = four_points<T>({8.0, 1.0, 1.0, true, 1000});
    CHECK(eight.chosen == margin.chosen && near(eight.a, {16, -8 * r2}) && near(eight.b, 8 * margin.b));
}

CASE(four_points_by_hand) {
    by_hand<float>();
    by_hand<double>();
}

CASE(a_single_example) {
    const Array<double> x{3};
    const Gram<double> gram({KernelKind::rbf, 1.0, 0.0, 3}, dense_view(x, 1, 1), 0);
    State s = ollawv::start(side(1.0, {0}), side(-1.0, {}), 0);
    ollawv::learn(s, {}, gram, {}, 1);
    CHECK(s.reason == Reason::exhausted && s.chosen == Array<Index>{0} && s.a == Array<double>{2.0});
}

// ---- a plain loop --------------------------------------------------------------------------------

/// Whether this machine's ops fuse z + (k a + b): then so does the plain loop.
template <class T> bool fuses() {
    const T k = T(1) + T(0x1p-20);
    const double a = 1 + 0x1p-40;
    double z = 0;
    return pass_ops<T>().add_and_least(&z, &k, a, -(static_cast<double>(k) * a), 1).value != 0;
}

/// Two of three classes of a random problem: row numbers have gaps, some labels are wrong.
template <class T> struct Problem {
    Index n, d;
    Array<T> x;
    OwnedCsr<T, std::int32_t> csr;
    Array<Index> rows[2];
    Kernel kernel;

    Problem(Index n_, Index d_, double density, bool ones, const Kernel& k) : n(n_), d(d_), kernel(k) {
        Random random(static_cast<std::uint64_t>(n * 7 + d));
        x = ones ? random_ones<T>(random, n, d, density) : random_values<T>(random, n, d, density);
        csr = to_csr<T, std::int32_t>(x, n, d);
        for (Index i = 0; i < n; ++i) {
            if (random() % 4 == 0) continue;  // the third class
            const double score =
                static_cast<double>(x[i * d]) - static_cast<double>(x[i * d + d - 1]) + uniform(random, -0.5, 0.7);
            rows[score > 0 ? 0 : 1].push_back(i);
        }
        for (auto& r : rows)
            if (r.empty())
                std::swap(r, rows[&r == rows]), r.push_back(rows[&r == rows].back()), rows[&r == rows].pop_back();
    }
    State start(Index first_at, double weight = 1.0) const {
        const Side one = side(1.0, rows[0]), other = side(-1.0, rows[1], weight);
        const Index all = static_cast<Index>(rows[0].size() + rows[1].size());
        const Index at = first_at % all, ones = rows[0].size();
        return ollawv::start(one, other, at < ones ? rows[0][at] : rows[1][at - ones]);
    }
    Rows<T> dense() const { return dense_view(x, n, d); }
    Array<T> matrix() const {
        const Rows<T> view = dense();
        return kernel_values(Gram<T>(kernel, view, 0), Ids::run(0, n), Ids::run(0, n));
    }
};

/// Algorithm 1.1 as it is written: every output of every free example, one after another. column(row) points to
/// the kernel values of `row` with all rows.
template <class T, class Column> State plain_loop(State s, const Params& p, Column&& column) {
    const bool fused = fuses<T>();
    struct Example {
        Index row;
        int side;
        double z;
    };
    Array<Example> free;
    for (int j = 0; j < 2; ++j)
        for (const Index row : s.side[j].row) free.push_back({row, j, 0.0});
    std::sort(free.begin(), free.end(), [](const Example& a, const Example& b) { return a.row < b.row; });
    const double n = static_cast<double>(free.size());
    Index wv = s.next;
    double v = 0;
    for (Index t = 1;; ++t) {
        const auto it = std::find_if(free.begin(), free.end(), [&](const Example& e) { return e.row == wv; });
        const Side& from = s.side[it->side];
        const double step = static_cast<double>(t), eta = p.inverse ? 1.0 / step : 2.0 / std::sqrt(step);
        const double L = eta * p.C * from.weight * from.label;
        const double B = p.bias ? L / n : 0.0;
        s.chosen.push_back(wv);
        s.a.push_back(L);
        s.b += B;
        free.erase(it);
        s.reason = Reason::exhausted;
        if (free.empty()) break;
        const T* k = column(wv);
        v = std::numeric_limits<double>::infinity();
        for (Example& e : free) {
            const double value = static_cast<double>(k[e.row]);
            e.z += s.side[e.side].label * (fused ? std::fma(value, L, B) : value * L + B);
            if (e.z < v) v = e.z, wv = e.row;
        }
        s.reason = Reason::margin;
        if (v >= p.margin * p.C) break;
        s.reason = Reason::cap;
        if (t >= static_cast<Index>(std::ceil(p.cap * n))) break;
    }
    s.v = v;
    s.next = wv;
    for (Side& one : s.side) one.row.clear(), one.z.clear();
    for (const Example& e : free) {
        s.side[e.side].row.push_back(e.row);
        s.side[e.side].z.push_back(e.z);
    }
    return s;
}
template <class T> State plain_loop(const State& s, const Params& p, const Array<T>& k, Index size) {
    return plain_loop<T>(s, p, [&](Index row) { return k.data() + row * size; });
}
template <class T> State plain_loop(const State& s, const Params& p, const Problem<T>& problem) {
    const Rows<T> rows = problem.dense();
    const Gram<T> gram(problem.kernel, rows, 0);
    Array<T> column;
    return plain_loop<T>(s, p, [&](Index row) {
        column = kernel_values(gram, Ids{&row, 0, 1}, Ids::run(0, problem.n));
        return column.data();
    });
}

/// Whether two states agree in all that a caller can see and the next call needs, except the counters.
bool same(const State& a, const State& b) {
    bool equal = a.chosen == b.chosen && same_bits(a.a, b.a) && same_bits(a.b, b.b) && same_bits(a.v, b.v) &&
                 a.next == b.next && a.reason == b.reason;
    for (int k = 0; k < 2; ++k) equal = equal && a.side[k].row == b.side[k].row && same_bits(a.side[k].z, b.side[k].z);
    return equal;
}

template <class T> Array<Problem<T>> problems() {
    Array<Problem<T>> all;
    const Kernel rbf{KernelKind::rbf, 0.8, 0.0, 3}, narrow{KernelKind::rbf, 8.0, 0.0, 3};
    all.emplace_back(4, 2, 1.0, false, rbf);
    all.emplace_back(13, 1, 1.0, false, rbf);
    all.emplace_back(260, 2, 1.0, false, narrow);
    all.emplace_back(240, 5, 1.0, false, rbf);
    all.emplace_back(200, 120, 1.0, false, Kernel{KernelKind::rbf, 0.01, 0.0, 3});
    all.emplace_back(220, 30, 0.2, false, rbf);
    all.emplace_back(250, 20, 0.3, true, Kernel{KernelKind::rbf, 0.1, 0.0, 3});  // many ties
    all.emplace_back(150, 6, 1.0, false, Kernel{KernelKind::linear, 1.0, 0.0, 3});
    all.emplace_back(150, 6, 1.0, false, Kernel{KernelKind::poly, 0.5, 1.0, 2});
    return all;
}

const Params some_params[] = {{1.0, 0.1, 1.0, true, 1u << 20},       {3.0, 2.0, 1.0, true, 1u << 20},
                              {0.5, 1.0, 0.3, false, 1u << 20},      {1.0, 1e6, 1.0, true, 1u << 20},
                              {1.0, 0.1, 1.0, true, 1u << 20, true}, {1.0, 1e-9, 1.0, false, 1u << 20}};

/// f(name, source) for the three sources, the first in several forms.
template <class T, class F> void each_source(const Problem<T>& p, const Array<T>& k, F&& f) {
    const Rows<T> dense = p.dense(), csr = p.csr.view();
    f("dense", Gram<T>(p.kernel, dense, 0));
    f("compressed", Gram<T>(p.kernel, dense, 1u << 20));
    f("csr", Gram<T>(p.kernel, csr, 0));
    f("csr or bits", Gram<T>(p.kernel, csr, 1u << 20));
    f("gathered", Gathered<T>(dense_view(k, p.n, p.n)));
    f("called", Called<T>(p.n, [&](Ids queries, Ids base, T* const* columns) {
          for (Index q = 0; q < queries.count; ++q)
              for (Index j = 0; j < base.count; ++j) columns[q][j] = k[queries[q] * p.n + base[j]];
      }));
}

template <class T> void against_the_plain_loop() {
    Random random(1);
    for (const Problem<T>& p : problems<T>()) {
        const auto k = p.matrix();
        for (const Params& params : some_params) {
            const double weight = random() % 2 ? 1.0 : 2.5;
            const State start = p.start(static_cast<Index>(random() % 1000), weight);
            const State expected = plain_loop(start, params, k, p.n);
            each_source(p, k, [&](const char* name, const auto& source) {
                for (const std::size_t cache : {std::size_t{0}, std::size_t{3000}, std::size_t{1} << 26}) {
                    Params mine = params;
                    mine.cache_bytes = cache;
                    State s = start;
                    ollawv::learn(s, mine, source, {}, 1);
                    CHECK(same(s, expected), name, sizeof(T), p.n, p.d, params.margin, cache,
                          hingeline::name(s.reason));
                    const State before = s;
                    ollawv::learn(s, mine, source, {}, 1);  // nothing is left to do
                    CHECK(same(s, before), name);
                }
            });
        }
    }
}

CASE(against_the_plain_loop_float) { against_the_plain_loop<float>(); }
CASE(against_the_plain_loop_double) { against_the_plain_loop<double>(); }

// ---- laws ----------------------------------------------------------------------------------------

// Teams form only where each thread has a few thousand examples.
constexpr Index many = 12'000;

template <class T> Problem<T> many_dense() { return {many, 2, 1.0, false, {KernelKind::rbf, 8.0, 0.0, 3}}; }
template <class T> Problem<T> many_sparse() { return {many, 30, 0.2, false, {KernelKind::rbf, 0.8, 0.0, 3}}; }
template <class T> Problem<T> many_ones() { return {many, 20, 0.3, true, {KernelKind::rbf, 0.1, 0.0, 3}}; }

template <class Source> void same_with_threads(const char* name, const State& start, const Params& p,
                                               const Source& source, const State& expected) {
    Random random(2);
    double largest = -1;
    for (const int threads : {1, 2, 4}) {
        Params mine = p;
        mine.cache_bytes = std::size_t{1} << (12 + 4 * below(random, 4));
        State s = start;
        ollawv::learn(s, mine, source, {}, threads);
        CHECK(same(s, expected), name, threads, mine.cache_bytes);
        if (largest < 0) largest = s.largest;
        CHECK(same_bits(s.largest, largest), name, threads);
    }
}

template <class T> void any_number_of_threads() {
    for (const auto make : {many_dense<T>, many_sparse<T>, many_ones<T>}) {
        const Problem<T> p = make();
        const Params params{1.0, 2.0, 0.01, true, 1u << 20};
        const State start = p.start(4321), expected = plain_loop(start, params, p);
        const Rows<T> dense = p.dense(), csr = p.csr.view();
        same_with_threads("dense", start, params, Gram<T>(p.kernel, dense, 0), expected);
        same_with_threads("compressed", start, params, Gram<T>(p.kernel, dense, 1u << 24), expected);
        same_with_threads("csr", start, params, Gram<T>(p.kernel, csr, 1u << 24), expected);
    }
    // Kernel values that exist: K[i][j] = h[i + j], a matrix that needs no room.
    Random random(3);
    const auto h = random_values<T>(random, 1, 2 * many);
    const Params params{1.0, 2.0, 0.02, true, 1u << 20};
    const State start = many_dense<T>().start(17),
                expected = plain_loop<T>(start, params, [&](Index row) { return h.data() + row; });
    same_with_threads("gathered", start, params, Gathered<T>(DenseRows<T>{h.data(), many, many, 1, 1}), expected);
}

CASE_ONCE(any_number_of_threads_float) { any_number_of_threads<float>(); }
CASE_ONCE(any_number_of_threads_double) { any_number_of_threads<double>(); }

CASE_ONCE(threads_and_many_steps) {
    // More than a quarter of the examples: chosen ones are dropped from the shares on the way.
    const Problem<float> p = many_dense<float>();
    const Params params{1.0, 100.0, 0.26, true, 1u << 22};
    const State start = p.start(0), expected = plain_loop(start, params, p);
    CHECK(expected.chosen.size() > 2000);
    const Rows<float> dense = p.dense();
    const Gram<float> gram(p.kernel, dense, 0);
    for (const int threads : {1, 4}) {
        State s = start;
        while (s.reason == Reason::running) ollawv::learn(s, params, gram, {2300, nullptr}, threads);
        CHECK(same(s, expected), threads);
    }
}

CASE(any_split_into_calls) {
    Random random(3);
    for (const Problem<float>& p : problems<float>()) {
        const auto k = p.matrix();
        const Params& params = some_params[random() % 5];
        const State start = p.start(static_cast<Index>(random() % 1000));
        const State expected = plain_loop(start, params, k, p.n);
        each_source(p, k, [&](const char* name, const auto& source) {
            for (const Index most : {1, 7, 60}) {
                State s = start;
                int calls = 0;
                while (s.reason == Reason::running && calls++ < 1000) {
                    const Index before = s.chosen.size();
                    const Index steps = 1 + below(random, most);
                    ollawv::learn(s, params, source, {steps, nullptr}, 1);
                    CHECK(s.chosen.size() <= before + steps && s.chosen.size() > before, name);
                }
                CHECK(same(s, expected), name, p.n, p.d, most);
            }
        });
    }
}

/// A source that waits at one call, raises a flag before or after its columns, or throws.
template <class Source> struct Troubled {
    using Value = typename Source::Value;
    const Source& source;
    int when;
    enum Kind { flag_before, flag_after, fail } kind;
    std::atomic<bool>& flag;
    mutable std::atomic<int> calls{0};
    Index size() const { return source.size(); }
    int block() const { return source.block(); }
    int grain() const { return source.grain(); }
    bool blocks_pay() const { return source.blocks_pay(); }
    void prepare(Ids base, Scratch<Value>& s, std::size_t budget) const { source.prepare(base, s, budget); }
    bool columns(Ids queries, Ids base, Value* const* columns, Scratch<Value>& s) const {
        const bool now = ++calls == when;
        if (now && kind == fail) throw std::runtime_error("no columns");
        // The interrupt is asked at most every 20 ms.
        if (now && kind == flag_before) flag = true, std::this_thread::sleep_for(std::chrono::milliseconds(25));
        const bool done = source.columns(queries, base, columns, s);
        if (now && kind == flag_after) flag = true, std::this_thread::sleep_for(std::chrono::milliseconds(25));
        return done;
    }
};

/// What holds after any call, finished or not.
void check_usable(const State& s, const State& expected, int threads, int when) {
    CHECK(s.chosen.size() == s.a.size(), threads, when);
    CHECK(s.side[0].row.size() + s.side[1].row.size() + s.chosen.size() == s.n, threads, when);
    CHECK(s.chosen.size() <= expected.chosen.size(), threads, when);
    CHECK(std::equal(s.chosen.begin(), s.chosen.end(), expected.chosen.begin()), threads, when);
    CHECK(same_bits(s.a.data(), expected.a.data(), s.a.size()), threads, when);
}

CASE_ONCE(an_interrupted_run_goes_on_to_the_same_result) {
    using Source = Troubled<Gram<float>>;
    const Params params{1.0, 2.0, 0.02, true, 1u << 20};
    int interrupted = 0;
    for (const bool sparse : {false, true}) {  // columns by blocks, or mostly one by one
        const Problem<float> p = sparse ? many_sparse<float>() : many_dense<float>();
        const Rows<float> rows = sparse ? Rows<float>(p.csr.view()) : p.dense();
        const Gram<float> gram(p.kernel, rows, 0);
        const State start = p.start(5), expected = plain_loop(start, params, p);
        for (const int threads : {1, 3})
            for (const int when : {1, 7}) {
                State s = start;
                for (const auto kind : {Source::flag_before, Source::flag_after}) {
                    std::atomic<bool> flag{false};
                    Interrupt interrupt([&] { return flag.load(); });
                    const Source source{gram, when, kind, flag};
                    ollawv::learn(s, params, source, {std::numeric_limits<Index>::max(), &interrupt}, threads);
                    interrupted += s.reason == Reason::interrupted;
                    CHECK(s.reason == Reason::interrupted || same(s, expected), threads, when);
                    check_usable(s, expected, threads, when);
                }
                ollawv::learn(s, params, gram, {}, threads);
                CHECK(same(s, expected), threads, when);
            }
    }
    CHECK(interrupted > 10, interrupted);
}

/// The caller gets the exception, no thread hangs, and what is left can go on.
CASE_ONCE(a_source_that_throws) {
    const Params params{1.0, 2.0, 0.01, true, 1u << 20};
    for (const bool sparse : {false, true}) {
        const Problem<float> p = sparse ? many_sparse<float>() : many_dense<float>();
        const Rows<float> rows = sparse ? Rows<float>(p.csr.view()) : p.dense();
        const Gram<float> gram(p.kernel, rows, 0);
        const State start = p.start(5), expected = plain_loop(start, params, p);
        for (const int threads : {1, 2, 4})
            for (const int when : {1, 2, 5, 13}) {
                State s = start;
                ollawv::learn(s, params, gram, {3, nullptr}, threads);
                std::atomic<bool> flag{false};
                const Troubled<Gram<float>> source{gram, when, Troubled<Gram<float>>::fail, flag};
                bool thrown = false;
                try {
                    ollawv::learn(s, params, source, {}, threads);
                } catch (const std::runtime_error&) {
                    thrown = true;
                }
                CHECK(thrown || source.calls < when, threads, when);
                check_usable(s, expected, threads, when);
                ollawv::learn(s, params, gram, {}, threads);
                CHECK(same(s, expected), threads, when);
            }
    }
}

CASE(the_trace_tells_the_story) {
    const Problem<double> p(400, 3, 1.0, false, {KernelKind::rbf, 2.0, 0.0, 3});
    const Rows<double> dense = p.dense();
    const Gram<double> gram(p.kernel, dense, 0);
    State s = p.start(0);
    ollawv::learn(s, {1.0, 1e6, 1.0, true, 1u << 20}, gram, {100, nullptr}, 1);
    ollawv::learn(s, {1.0, 1e6, 1.0, true, 1u << 20}, gram, {}, 2);
    const auto step = s.trace.column("step"), evals = s.trace.column("kernel_evals");
    const auto seconds = s.trace.column("seconds"), violation = s.trace.column("worst_margin");
    CHECK(s.chosen.size() > 200 && step.size() >= 4);
    CHECK(step.back() == static_cast<double>(s.chosen.size()) && evals.back() == static_cast<double>(s.kernel_evals));
    CHECK(violation.back() == s.v && s.trace.column("n_support") == step);
    CHECK(std::is_sorted(step.begin(), step.end()) && std::is_sorted(seconds.begin(), seconds.end()));
    CHECK(std::is_sorted(evals.begin(), evals.end()) && evals.front() > 0);
}

CASE(every_first_row_is_taken_first) {
    const Problem<float> p(90, 3, 1.0, false, {KernelKind::rbf, 2.0, 0.0, 3});
    const Rows<float> dense = p.dense();
    const Gram<float> gram(p.kernel, dense, 0);
    const auto k = p.matrix();
    for (Index first = 0; first < 60; ++first)
        for (int threads = 1; threads <= 2; ++threads) {
            State s = p.start(first);
            const State expected = plain_loop(s, {}, k, p.n);
            const Index row = s.next;
            ollawv::learn(s, {}, gram, {}, threads);
            CHECK(s.chosen[0] == row && same(s, expected), first, threads);
        }
}

CASE(a_label_swap_swaps_signs) {
    const Problem<double> p(150, 4, 1.0, false, {KernelKind::rbf, 2.0, 0.0, 3});
    const Rows<double> dense = p.dense();
    const Gram<double> gram(p.kernel, dense, 0);
    State one = ollawv::start(side(1.0, p.rows[0]), side(-1.0, p.rows[1]), p.rows[0][0]);
    State other = ollawv::start(side(-1.0, p.rows[0]), side(1.0, p.rows[1]), p.rows[0][0]);
    ollawv::learn(one, {}, gram, {}, 1);
    ollawv::learn(other, {}, gram, {}, 1);
    CHECK(one.chosen == other.chosen && same_bits(one.b, -other.b) && same_bits(one.v, other.v));
    for (Index i = 0; i < one.a.size(); ++i) CHECK(same_bits(one.a[i], -other.a[i]), i);
}

}  // namespace
}  // namespace hingeline::ollawv
