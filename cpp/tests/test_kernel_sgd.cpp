// OL SVM, NORMA and Pegaz in the core, and the columns they walk over: against plain loops, however the steps are cut.
#include "check.hpp"
#include "data.hpp"
#include "hingeline/algo/kernel_sgd.hpp"

namespace hingeline::kernel_sgd {
namespace {

using namespace testing;

/// A source that asks to stop, or fails, at one of its calls.
template <class Source> struct Moody {
    using Value = typename Source::Value;
    const Source& source;
    Index when;
    bool fails;
    mutable Index calls = 0;
    int block() const { return source.block(); }
    int grain() const { return source.grain(); }
    bool blocks_pay() const { return source.blocks_pay(); }
    void prepare(Ids base, Scratch<Value>& s, std::size_t budget) const { source.prepare(base, s, budget); }
    bool columns(Ids queries, Ids base, Value* const* columns, Scratch<Value>& s) const {
        if (++calls == when) {
            for (Index q = 0; q < queries.count; ++q) std::fill_n(columns[q], base.count, Value(1e30));
            if (fails) throw std::runtime_error("moody");
            return false;
        }
        return source.columns(queries, base, columns, s);
    }
};

// ---- columns -------------------------------------------------------------------------------------

template <class T> struct Plane {
    Index n, d;
    Array<T> x, k;
    Rows<T> rows;
    Gram<T> gram;
    Plane(Index n_, Index d_, std::uint64_t seed)
        : n(n_),
          d(d_),
          x([&] {
              Random random(seed);
              return random_values<T>(random, n_, d_);
          }()),
          rows(dense_view(x, n, d)),
          gram(Kernel{KernelKind::rbf, 1.5, 0.0, 3}, rows, 0) {
        k = kernel_values(gram, Ids::run(0, n), Ids::run(0, n));
    }
    Plane(const Plane&) = delete;
    bool is_column(const T* column, Index row, const Array<Index>& layout) const {
        for (Index j = 0; j < layout.size(); ++j)
            if (!same_bits(column[j], k[row * n + layout[j]])) return false;
        return true;
    }
};

Array<Index> some_rows(Random& random, Index n, Index count) {
    Array<Index> rows;
    for (Index i = 0; i < count; ++i) rows.push_back(below(random, n));
    return rows;
}

template <class T> void sweeps() {
    const Plane<T> p(300, 3, 1);
    Random random(2);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 22})
        for (const Index count : {0, 1, 5, 200, 299}) {
            Columns<Gram<T>> columns(p.gram, bytes, 128, nullptr);
            const auto layout = some_rows(random, p.n, 100), rows = some_rows(random, p.n, count);
            columns.lay_out(layout);
            Index next = 0;
            CHECK(columns.sweep(Ids::of(rows), [&](Index first, Index many, const T* const* block) {
                CHECK(first == next && many > 0 && many <= p.gram.block(), first, next, many);
                for (Index c = 0; c < many; ++c) CHECK(p.is_column(block[c], rows[first + c], layout), first + c);
                next = first + many;
            }));
            CHECK(next == count, next, count);
            for (const Index row : rows) CHECK(!columns.holds(row), "none is kept");
        }
}
CASE(sweep_goes_over_all_columns) {
    sweeps<float>();
    sweeps<double>();
}

CASE(sweep_is_interrupted) {
    const Plane<double> p(300, 3, 3);
    Array<Index> layout, rows;
    for (Index i = 0; i < p.n; ++i) layout.push_back(i), rows.push_back(i);
    const Index blocks = (p.n + p.gram.block() - 1) / p.gram.block();
    CHECK(blocks > 2);
    for (const Index when : {Index{1}, Index{2}, blocks}) {
        const Moody<Gram<double>> source{p.gram, when, false};
        Columns<Moody<Gram<double>>> columns(source, 1 << 20, 304, nullptr);
        columns.lay_out(layout);
        Index calls = 0;
        CHECK(!columns.sweep(Ids::of(rows), [&](Index, Index, const double* const*) { ++calls; }));
        CHECK(calls == when - 1);
    }
    Interrupt now([] { return true; });
    Columns<Gram<double>> columns(p.gram, 1 << 20, 304, &now);
    columns.lay_out(layout);
    CHECK(!columns.sweep(Ids::of(rows), [](Index, Index, const double* const*) {}));
}

/// Columns are those of the kernel matrix, the least recently used go first, and whoever wants to hears of it.
template <class T> void fetches() {
    const Plane<T> p(200, 4, 4);
    Random random(5);
    Array<Index> layout = some_rows(random, p.n, 64);
    const std::size_t row_bytes = 5 * 64 * sizeof(T) / 4;  // an odd number of lines, about
    Columns<Gram<T>> columns(p.gram, 12 * row_bytes * 4 / 3 + row_bytes, 64, nullptr);
    columns.lay_out(layout);
    const Index room = columns.room();
    CHECK(room >= 3 && room < 40, room);
    Array<Index> held;  // the least recently used first
    for (int round = 0; round < 400; ++round) {
        Array<Index> rows, gone;
        const Index wanted = 1 + below(random, room);
        while (rows.size() < wanted) {
            const Index row = below(random, p.n);
            if (!columns.holds(row) && std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
        }
        CHECK(columns.fetch(rows, [&](Index row) { gone.push_back(row); }));
        for (const Index row : gone) {
            CHECK(!held.empty() && held.front() == row && !columns.holds(row), row);
            if (!held.empty()) held.erase(held.begin());
        }
        held.insert(held.end(), rows.begin(), rows.end());
        CHECK(held.size() <= room);
        for (const Index row : rows) CHECK(columns.holds(row) && p.is_column(columns.find(row), row, layout), row);
        for (Index row = 0; row < p.n; ++row)
            CHECK(columns.holds(row) == (std::find(held.begin(), held.end(), row) != held.end()), row);
        if (round % 3 == 0) {  // finding a column makes it the latest
            const Index row = held[below(random, held.size())];
            CHECK(p.is_column(columns.find(row), row, layout));
            held.erase(std::find(held.begin(), held.end(), row));
            held.push_back(row);
        }
        if (round % 5 == 0) {
            const Index row = held[below(random, held.size())];
            columns.erase(row);
            CHECK(!columns.holds(row) && !columns.find(row));
            held.erase(std::find(held.begin(), held.end(), row));
        }
        if (round % 50 == 49 && layout.size() > 20) {  // fewer positions; what is held stays right
            Array<Index> keep, rest;
            for (Index j = 0; j < layout.size(); ++j)
                if (below(random, 8) != 0) keep.push_back(j), rest.push_back(layout[j]);
            layout = rest;
            columns.lay_out(layout, &keep);
            for (const Index row : held) CHECK(p.is_column(columns.find(row), row, layout), row);
        }
    }
}
CASE(fetch_keeps_and_evicts) {
    fetches<float>();
    fetches<double>();
}

CASE(an_interrupted_fetch_holds_none_of_its_columns) {
    const Plane<double> p(100, 3, 6);
    Array<Index> layout;
    for (Index i = 0; i < p.n; ++i) layout.push_back(i);
    const Moody<Gram<double>> source{p.gram, 2, false};
    Columns<Moody<Gram<double>>> columns(source, 1 << 20, 104, nullptr);
    columns.lay_out(layout);
    CHECK(columns.fetch({7, 8}, [](Index) {}));
    CHECK(!columns.fetch({9, 10, 11}, [](Index) {}));
    for (const Index row : {9, 10, 11}) CHECK(!columns.holds(row) && !columns.find(row));
    CHECK(columns.holds(7) && p.is_column(columns.find(8), 8, layout));
    CHECK(columns.fetch({9, 10}, [](Index) {}) && p.is_column(columns.find(9), 9, layout));
    // Several columns are given up, a single one is computed in any case.
    Interrupt now([] { return true; });
    Columns<Gram<double>> hurried(p.gram, 1 << 20, 104, &now);
    hurried.lay_out(layout);
    CHECK(!hurried.fetch({1, 2}, [](Index) {}) && !hurried.holds(1) && !hurried.holds(2));
    CHECK(hurried.fetch({1}, [](Index) {}) && p.is_column(hurried.find(1), 1, layout));
}

// ---- machines ------------------------------------------------------------------------------------

/// Two classes that overlap, some labels wrong; weights of several sizes, some of them small.
template <class T> struct Problem : Plane<T> {
    Array<Example> examples;
    Array<Index> order;
    Problem(Index n, Index d, std::uint64_t seed) : Plane<T>(n, d, seed) {
        Random random(seed + 1000);
        for (Index i = 0; i < n; ++i) order.push_back(i);
        for (Index i = n - 1; i > 0; --i) std::swap(order[i], order[below(random, i + 1)]);
        const double weights[] = {1.0, 0.5, 0.03};
        for (const Index i : order) {
            const double score = static_cast<double>(this->x[i * d] * this->x[i * d + d - 1]);
            const bool positive = (score > 0) != (uniform(random) < 0.1);
            examples.push_back({i, 1000 + i, positive, (positive ? 1.0 : -1.0) * weights[below(random, 3)]});
        }
    }
    double at_(Index i, Index j) const { return static_cast<double>(this->k[i * this->n + j]); }
};

/// Lists 1 to 3 as they are written, with every coefficient and every output.
struct Plain {
    Array<double> alpha, margins;
    double b = 0, largest = 0, dropped = 0;
    Index violations = 0;
    Array<double> mean;  // over the steps after `from`
    double mean_b = 0;
    Index from = 0;
};

Index window_start(Index t) {  // of a stream: the last power of two but one
    Index power = 1;
    while (2 * power <= t) power *= 2;
    return power / 2;
}

/// epochs > 0: as in `fit`; 0: a stream.
template <class T> Plain plain(const Problem<T>& p, const Params& q, Index epochs) {
    const Index n = p.n, total = std::max<Index>(epochs, 1) * n;
    const bool several = epochs > 1, pegaz = q.variant == Variant::pegaz;
    Plain s;
    Array<double> a(n, 0.0), o(n, 0.0);
    const auto current = [&](Index i, double eta) { return (pegaz ? eta : 1.0) * a[i]; };
    s.from = q.average == Averaging::all ? 0 : epochs > 0 ? total / 2 : window_start(total);
    s.mean.assign(n, 0.0);
    for (Index t = 1; t <= total; ++t) {
        const Index i = (t - 1) % n;
        const Example& e = p.examples[i];
        const double y = e.box > 0 ? 1 : -1, w = std::abs(e.box);
        const double eta = q.inverse ? q.C / static_cast<double>(t) : q.C * std::sqrt(2.0 / static_cast<double>(t));
        const double phi = q.decays() ? std::max(0.0, 1 - eta / q.C) : 1.0;
        const double f = (pegaz ? eta : q.decay_first && q.decays() ? phi : 1.0) * o[i] + s.b;
        const double v = y * f, own = a[i];
        if (t <= n) s.margins.push_back(v);
        s.largest = std::max(s.largest, std::abs(f));
        const bool literal = q.variant == Variant::olsvm_reg_literal, reg = literal || q.variant == Variant::olsvm_reg;
        const bool violates = q.variant == Variant::olsvm || reg ? v < 1 : v <= 1;
        double change = violates ? eta * w * y : 0.0;
        if (reg) {
            const double rho = literal ? eta / q.C : std::min(1.0, eta / q.C);
            change = violates ? rho * (q.C * w * y - own) : v > 1 ? -rho * own : 0.0;
        } else if (q.variant == Variant::norma_literal) {
            change = (violates ? eta * w * y : own) - phi * own;
        } else if (pegaz) {
            change = violates ? w * y : 0.0;
        }
        for (double& value : a) value *= phi;
        for (double& value : o) value *= phi;
        s.dropped *= phi;
        a[i] += change;
        for (Index j = 0; j < n; ++j) o[j] += change * p.at_(p.examples[i].row, p.examples[j].row);
        if (q.bias && violates) s.b += eta * w * y;
        s.violations += violates;
        if (t > s.from) {
            for (Index j = 0; j < n; ++j) s.mean[j] += current(j, eta) / static_cast<double>(total - s.from);
            s.mean_b += s.b / static_cast<double>(total - s.from);
        }
        if (t % stretch == 0 && q.average == Averaging::none) {
            double most = 0;
            for (const double value : a) most = std::max(most, std::abs(value));
            for (double& value : a)
                if (std::abs(value) < q.truncate * most) s.dropped += std::abs(value), value = 0;
            for (Index j = 0; j < n && !several; ++j) {
                o[j] = 0;
                for (Index u = 0; u < n; ++u) o[j] += a[u] * p.at_(p.examples[u].row, p.examples[j].row);
            }
        }
        if (t == total) {
            for (Index j = 0; j < n; ++j) s.alpha.push_back(current(j, eta));
            if (pegaz) s.dropped *= eta;
        }
    }
    return s;
}

bool near(double a, double b, double scale) { return std::abs(a - b) <= 1e-10 * scale; }

template <class T> void check_plain(const Problem<T>& p, const Params& q, const State& s, const Array<double>& margins,
                                    const Plain& expected) {
    const int variant = static_cast<int>(q.variant);
    double b = 0;
    const Array<double> coef = s.coefficients(b);
    Array<double> alpha(p.n, 0.0);
    Array<Index> place(p.n);
    for (Index i = 0; i < p.n; ++i) place[p.examples[i].row] = i;
    CHECK(s.id.size() == s.row.size() && s.code.size() == s.row.size() && s.a.size() == s.row.size());
    for (Index e = 0; e < coef.size(); ++e) {
        const Index i = place[s.row[e]];
        CHECK(alpha[i] == 0, "an example is there twice");
        CHECK(s.id[e] == p.examples[i].id && s.code[e] == p.examples[i].code);
        alpha[i] = coef[e];
    }
    const bool last = q.average == Averaging::none;
    const Array<double>& right = last ? expected.alpha : expected.mean;
    for (Index i = 0; i < p.n; ++i)
        CHECK(near(alpha[i], right[i], q.C), variant, last, q.inverse, i, alpha[i], right[i]);
    CHECK(near(b, last ? expected.b : expected.mean_b, q.C), variant, b, expected.b, expected.mean_b);
    CHECK(s.violations == expected.violations, variant, q.C, s.violations, expected.violations);
    CHECK(near(s.largest, expected.largest, 1 + expected.largest), variant, s.largest, expected.largest);
    CHECK(near(s.sigma * s.dropped, expected.dropped, 1 + expected.dropped), variant, s.sigma * s.dropped,
          expected.dropped);
    for (Index i = 0; i < p.n; ++i)
        CHECK(near(margins[i], expected.margins[i], 1 + 20 * q.C), variant, i, margins[i], expected.margins[i]);
}

/// All but the counter of kernel values, to the bit.
bool same(const State& a, const State& b) {
    bool equal = a.row == b.row && a.id == b.id && a.code == b.code && same_bits(a.a, b.a) &&
                 same_bits(a.sigma, b.sigma) && same_bits(a.b, b.b) && same_bits(a.flushed, b.flushed) &&
                 same_bits(a.dropped, b.dropped) && same_bits(a.largest, b.largest) && a.t == b.t &&
                 a.violations == b.violations && a.note_every == b.note_every && a.reason == b.reason &&
                 a.averages.size() == b.averages.size() && a.trace.column("step") == b.trace.column("step") &&
                 a.trace.column("n_support") == b.trace.column("n_support");
    for (Index m = 0; m < a.averages.size() && equal; ++m)
        equal = a.averages[m].from == b.averages[m].from && same_bits(a.averages[m].scales, b.averages[m].scales) &&
                same_bits(a.averages[m].b, b.averages[m].b) && same_bits(a.averages[m].held, b.averages[m].held);
    return equal;
}

/// What a window knows is true: outputs of what is to come, and where examples are in the expansion.
template <class T> void check_window(const Problem<T>& p, const State& s, const Window& w, double C, bool truncates) {
    for (Index i = 0; i < w.examples.size(); ++i)
        if (w.entry[i] >= 0) CHECK(w.entry[i] < s.size() && s.row[w.entry[i]] == w.examples[i].row, i, w.entry[i]);
    if (truncates) return;
    const Index n = w.examples.size(), first = w.several() ? w.from : w.cursor;
    for (Index i = std::max(first, w.from); i < std::min(w.to, n); i += 7) {
        double f = 0;
        for (Index e = 0; e < s.size(); ++e) f += s.a[e] * p.at_(s.row[e], w.examples[i].row);
        CHECK(near(s.sigma * w.o[i - w.from], s.sigma * f, 1 + 20 * C), i, w.o[i - w.from], f);
    }
}

/// Every variant with several options; for long runs each with one of the two rates.
Array<Params> some_params(bool few = false) {
    Array<Params> all;
    for (const Variant variant : {Variant::olsvm, Variant::olsvm_reg, Variant::norma, Variant::norma_literal,
                                  Variant::pegaz, Variant::olsvm_reg_literal})
        for (const bool inverse : {false, true}) {
            if (few && inverse == (static_cast<int>(variant) % 2 == 0)) continue;
            Params p;
            p.variant = variant, p.inverse = inverse, p.C = 3.7, p.cache_bytes = std::size_t{1} << 26;
            p.bias = inverse;
            all.push_back(p);
            p.C = 0.9, p.average = Averaging::half, p.bias = !inverse;
            all.push_back(p);
            p.C = 1.3, p.average = Averaging::all, p.bias = inverse;
            all.push_back(p);
            p.C = 60, p.average = Averaging::none, p.truncate = 0.1, p.decay_first = variant == Variant::norma;
            all.push_back(p);
        }
    return all;
}

/// A run over a window, in calls of up to `most` steps.
template <class Source>
void run(State& s, Window& w, const Params& p, const Source& source, Random& random, Index most, double* margins) {
    while (w.running()) {
        const Index steps = most > 0 ? below(random, most) : std::numeric_limits<Index>::max();
        const Index before = s.t;
        learn(s, w, p, source, {steps, nullptr}, margins);
        CHECK(s.t - before <= steps && s.reason == (w.running() ? Reason::running : Reason::pass));
    }
}

template <class T> void epochs_in_any_calls(Index n, Index epochs) {
    const Problem<T> p(n, 3, 7);
    Random random(8);
    const auto csr = to_csr<T, std::int32_t>(p.x, p.n, p.d);
    const Rows<T> sparse = csr.view();
    const Gram<T> compressed(Kernel{KernelKind::rbf, 1.5, 0.0, 3}, sparse, 1 << 20);
    const Gathered<T> gathered(dense_view(p.k, p.n, p.n));
    const Called<T> called(p.n, [&](Ids queries, Ids base, T* const* columns) {
        for (Index q = 0; q < queries.count; ++q)
            for (Index j = 0; j < base.count; ++j) columns[q][j] = p.k[queries[q] * p.n + base[j]];
    });
    for (const Params& params : some_params(n > stretch)) {
        State one;
        Window window(p.examples, epochs);
        CHECK(window.several() == (epochs > 1) && window.total == epochs * n);
        plan_average(one, params, window.total);
        Array<double> margins(n, 99.0);
        learn(one, window, params, p.gram, {}, margins.data());
        CHECK(one.reason == Reason::pass && one.t == epochs * n && !window.running());
        check_plain(p, params, one, margins, plain(p, params, epochs));
        check_window(p, one, window, params.C, params.truncate > 0 && epochs * n >= stretch);
        const auto again = [&](const auto& source, std::size_t bytes, Index most, const char* name) {
            Params mine = params;
            mine.cache_bytes = bytes;
            State s;
            Window w(p.examples, epochs);
            plan_average(s, mine, w.total);
            Array<double> z(n, 99.0);
            run(s, w, mine, source, random, most, z.data());
            CHECK(same(one, s), name, static_cast<int>(params.variant), bytes, most);
            CHECK(same_bits(margins, z), name, static_cast<int>(params.variant), bytes, most);
        };
        again(p.gram, 0, 0, "no cache");
        again(p.gram, 40'000, n / 3, "small cache");
        again(p.gram, 1 << 26, 40, "calls");
        again(compressed, 1 << 26, n, "sparse");
        again(gathered, 1 << 20, 0, "gathered");
        again(called, 100'000, n / 2, "called");
    }
}
CASE_ONCE(one_epoch_float) { epochs_in_any_calls<float>(1100, 1); }
CASE(one_epoch_double) { epochs_in_any_calls<double>(330, 1); }
CASE(epochs_float) { epochs_in_any_calls<float>(150, 3); }
CASE_ONCE(epochs_double) { epochs_in_any_calls<double>(280, 4); }

template <class T> void streams_in_any_chunks(Index n) {
    const Problem<T> p(n, 3, 9);
    Random random(10);
    for (const Params& params : some_params(n > stretch)) {
        State one;
        Window window(p.examples, 1);
        plan_average(one, params, 0);
        Array<double> margins(n);
        learn(one, window, params, p.gram, {}, margins.data());
        check_plain(p, params, one, margins, plain(p, params, 0));
        for (int repeat = 0; repeat < 3; ++repeat) {
            Params mine = params;
            mine.cache_bytes = repeat == 0 ? 0 : std::size_t{1} << (14 + 6 * repeat);
            State s;
            Array<double> z(n);
            for (Index begin = 0; begin < n;) {
                const Index chunk = std::min(n - begin, repeat == 0 ? 1 + below(random, 40) : 1 + below(random, n));
                const Array<Example> part(p.examples.begin() + begin, p.examples.begin() + begin + chunk);
                Window w(part, 1);
                plan_average(s, mine, 0);
                run(s, w, mine, p.gram, random, repeat == 1 ? 50 : 0, z.data() + begin);
                begin += chunk;
            }
            CHECK(same(one, s), static_cast<int>(params.variant), repeat);
            CHECK(same_bits(margins, z), static_cast<int>(params.variant), repeat);
        }
    }
}
CASE(streams_float) { streams_in_any_chunks<float>(300); }
CASE_ONCE(streams_double) { streams_in_any_chunks<double>(1300); }

CASE_ONCE(after_an_interrupt_it_goes_on_as_if_there_had_been_none) {
    const Problem<double> p(160, 3, 11);
    for (const Index epochs : {1, 3})
        for (const Params& params : some_params(true))
            for (const std::size_t bytes : {std::size_t{1} << 26, std::size_t{0}}) {
                Params mine = params;
                mine.cache_bytes = bytes;
                State one;
                Window window(p.examples, epochs);
                plan_average(one, mine, window.total);
                Array<double> margins(p.n);
                learn(one, window, mine, p.gram, {}, margins.data());
                for (const Index when : {1, 2, 3, 7, 30}) {
                    State s;
                    Window w(p.examples, epochs);
                    plan_average(s, mine, w.total);
                    Array<double> z(p.n);
                    const Moody<Gram<double>> source{p.gram, when, false};
                    learn(s, w, mine, source, {}, z.data());
                    if (source.calls < when) continue;
                    CHECK(s.reason == Reason::interrupted && s.t == w.cursor && w.running());
                    check_window(p, s, w, mine.C, mine.truncate > 0);
                    learn(s, w, mine, source, {}, z.data());
                    CHECK(same(one, s), static_cast<int>(mine.variant), when, epochs, bytes);
                    CHECK(same_bits(margins, z), when);
                }
            }
}

CASE_ONCE(interrupts_between_chunks) {
    const Problem<double> p(200, 3, 12);
    for (const Params& params : some_params()) {
        State known;
        Window first(Array<Example>(p.examples.begin(), p.examples.begin() + 120), 1);
        plan_average(known, params, 0);
        learn(known, first, params, p.gram, {}, nullptr);
        const Array<Example> rest(p.examples.begin() + 120, p.examples.end());
        State one = known;
        Window window(rest, 1);
        learn(one, window, params, p.gram, {}, nullptr);
        for (const Index when : {1, 2, 4})
            for (const bool fails : {false, true}) {
                State s = known;
                Window w(rest, 1);
                const Moody<Gram<double>> source{p.gram, when, fails};
                bool threw = false;
                try {
                    learn(s, w, params, source, {}, nullptr);
                } catch (const std::runtime_error&) {
                    threw = true;
                }
                if (source.calls < when) continue;
                CHECK(threw == fails && s.reason == Reason::interrupted);
                CHECK(s.t == known.t + w.cursor && s.size() >= known.size());
                // What it is now, it is after so many examples.
                State part = known;
                Window some(Array<Example>(rest.begin(), rest.begin() + w.cursor), 1);
                learn(part, some, params, p.gram, {}, nullptr);
                part.reason = s.reason;
                CHECK(same(part, s), static_cast<int>(params.variant), when, fails, w.cursor);
                if (fails) continue;
                learn(s, w, params, source, {}, nullptr);
                CHECK(same(one, s), static_cast<int>(params.variant), when);
            }
    }
}

CASE(a_request_to_stop_is_heard) {
    const Problem<float> p(100, 3, 13);
    for (const Index epochs : {1, 1000}) {
        State s;
        Window w(p.examples, epochs);
        Interrupt now([] { return true; });
        learn(s, w, Params{}, p.gram, {std::numeric_limits<Index>::max(), &now}, nullptr);
        CHECK(s.reason == Reason::interrupted && s.t < 32, s.t);
    }
    // Steps that need no column look, too.
    Params still;
    still.C = 1e3;
    Problem<float> easy(100, 3, 14);
    for (Example& e : easy.examples) e.box = 1;
    State s;
    Window w(easy.examples, 10'000'000);
    bool stop = false;
    Interrupt later([&] { return std::exchange(stop, true); });  // at the second look, 20 ms later
    learn(s, w, still, easy.gram, {std::numeric_limits<Index>::max(), &later}, nullptr);
    CHECK(s.reason == Reason::interrupted && s.t > 100 && s.t < w.total && s.violations < 100);
}

CASE(nothing_to_learn) {
    const Problem<double> p(20, 2, 15);
    for (const Params& params : some_params()) {
        State s;
        Window w(Array<Example>{}, 3);
        CHECK(!w.running() && !w.several());
        plan_average(s, params, w.total);
        learn(s, w, params, p.gram, {}, nullptr);
        CHECK(s.t == 0 && s.size() == 0 && s.reason == Reason::pass);
        double b = 1;
        CHECK(s.coefficients(b).empty() && b == 0);
        Window none(p.examples, 1);
        learn(s, none, params, p.gram, {0, nullptr}, nullptr);
        CHECK(s.t == 0 && none.running() && s.reason == Reason::running);
    }
}

CASE(one_example) {
    // K = 1: Pegaz with C/t has alpha = C/t times the violations; an average of one step is that step.
    const Plane<double> p(1, 2, 16);
    for (const double y : {1.0, -1.0})
        for (const Index epochs : {1, 2, 5}) {
            Params q;
            q.variant = Variant::pegaz, q.inverse = true, q.C = 0.75;
            State s;
            Window w({{0, 5, 1, y}}, epochs);
            learn(s, w, q, p.gram, {}, nullptr);
            CHECK(s.violations == epochs && s.t == epochs && s.n_support() == 1);
            double b = 0;
            CHECK(near(s.coefficients(b)[0], y * 0.75, 1));
            State mean;
            q.average = Averaging::half;
            Window again({{0, 5, 1, y}}, epochs);
            plan_average(mean, q, again.total);
            learn(mean, again, q, p.gram, {}, nullptr);
            CHECK(near(mean.coefficients(b)[0], y * 0.75, 1), epochs);
            State alone;
            Window once({{0, 5, 1, y}}, 1);
            plan_average(alone, q, 0);
            learn(alone, once, q, p.gram, {}, nullptr);
            CHECK(near(alone.coefficients(b)[0], y * 0.75, 1));
            // In a stream behind it the window of the fit is still the first.
            Window next({{0, 6, 1, -y}}, 1);
            plan_average(mean, q, 0);
            learn(mean, next, q, p.gram, {}, nullptr);
            const double last = 0.75 * static_cast<double>(epochs) / static_cast<double>(epochs + 1);
            const double steps = static_cast<double>(epochs - epochs / 2);  // of alpha = C
            CHECK(near(mean.coefficients(b)[0], y * (0.75 * steps + last) / (steps + 1), 1), epochs);
        }
}

CASE(a_mean_remembers_what_is_wiped) {
    // NORMA forgets its first step at the second, and the mean over both does not.
    const Plane<double> p(1, 2, 16);
    Params q;
    q.variant = Variant::norma, q.C = 0.75, q.average = Averaging::half;
    State s;
    Window first({{0, 5, 1, 1.0}}, 1), second({{0, 6, 0, -1.0}}, 1);
    plan_average(s, q, 1);
    learn(s, first, q, p.gram, {}, nullptr);
    plan_average(s, q, 0);
    learn(s, second, q, p.gram, {}, nullptr);
    double b = 0;
    const Array<double> coef = s.coefficients(b);
    CHECK(coef.size() == 2 && near(coef[0], 0.75 * std::sqrt(2.0) / 2, 1) && near(coef[1], -0.75 / 2, 1));
    CHECK(s.a[0] == 0 && s.n_support() == 1);
}

CASE(a_margin_of_exactly_one) {
    // K = 1: after one step f = C for all but Pegaz, which has C/2 at the second.
    const Plane<double> p(1, 2, 20);
    const struct {
        Variant variant;
        double C;
        Index violations;
        double alpha;
    } all[] = {{Variant::olsvm, 1, 1, 1},
               {Variant::olsvm_reg, 1, 1, 1},
               {Variant::norma, 1, 2, 1},
               {Variant::norma_literal, 1, 2, 0.5},
               {Variant::pegaz, 2, 2, 2}};
    for (const auto& one : all) {
        Params q;
        q.variant = one.variant, q.inverse = true, q.C = one.C;
        State s;
        Window w({{0, 0, 1, 1.0}}, 2);
        learn(s, w, q, p.gram, {}, nullptr);
        double b = 0;
        CHECK(s.violations == one.violations && s.coefficients(b)[0] == one.alpha, static_cast<int>(one.variant),
              s.violations, s.coefficients(b)[0]);
    }
}

CASE(labels_turned_round) {
    const Problem<double> p(150, 3, 17);
    for (const Params& params : some_params()) {
        State one, other;
        Array<Example> turned = p.examples;
        for (Example& e : turned) e.box = -e.box;
        Window w(p.examples, 1), v(turned, 1);
        plan_average(one, params, 0), plan_average(other, params, 0);
        learn(one, w, params, p.gram, {}, nullptr), learn(other, v, params, p.gram, {}, nullptr);
        State turn = mirror_state(one);
        turn.b += 0.0;  // of two zeros the positive one
        for (double& a : turn.a) a += 0.0;
        for (Average& mean : turn.averages) {
            mean.b += 0.0;
            for (double& held : mean.held) held += 0.0;
        }
        CHECK(same(turn, other), static_cast<int>(params.variant));
        CHECK(!same(one, other));
    }
}

CASE(a_scale_that_is_brought_back) {
    // 2^-256 and again 2^-256 in a stream and in epochs; in both the plain loop says what is right.
    const Problem<double> p(80, 3, 18);
    for (const Averaging average : {Averaging::none, Averaging::half, Averaging::all})
        for (const bool first : {false, true}) {
            Params q;
            q.variant = Variant::norma, q.C = 8, q.average = average, q.decay_first = first;
            q.truncate = first ? 0.3 : 0;
            State s;
            Window w(p.examples, 250);
            plan_average(s, q, w.total);
            Array<double> margins(p.n);
            learn(s, w, q, p.gram, {}, margins.data());
            CHECK(s.sigma > 0x1p-256 && s.sigma <= 1);
            check_plain(p, q, s, margins, plain(p, q, 250));
            check_window(p, s, w, q.C, q.truncate > 0);
        }
}

CASE(the_trace_stays_short) {
    const Problem<double> p(64, 2, 19);
    State s;
    Params q;
    Window w(p.examples, 2000);
    learn(s, w, q, p.gram, {}, nullptr);
    const auto& step = s.trace.column("step");
    CHECK(step.size() >= 200 && step.size() < 512, step.size());
    for (Index i = 0; i < step.size(); ++i)
        CHECK(step[i] == static_cast<double>((static_cast<Index>(i) + 1) * s.note_every), i, step[i]);
    CHECK(s.trace.column("n_violations").back() <= static_cast<double>(s.violations));
    CHECK(s.trace.column("kernel_evals").back() <= static_cast<double>(s.kernel_evals));
    // A column of the matrix for each example that ever violates, and no more where all fit.
    CHECK(s.kernel_evals <= p.n * p.n);
}

}  // namespace
}  // namespace hingeline::kernel_sgd
