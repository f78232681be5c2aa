// The LASVM family in the core: what holds after any sequence of examples, however it is cut.
#include "check.hpp"
#include "data.hpp"
#include "hingeline/algo/lasvm/full_svm.hpp"
#include "hingeline/algo/lasvm/lasvm.hpp"
#include "hingeline/algo/lasvm/lasvm_i.hpp"
#include "hingeline/algo/lasvm/lasvm_nc.hpp"

namespace hingeline::online {
namespace {

using namespace testing;

enum class Variant { g, nc, i, full, lasvm };
constexpr Variant variants[] = {Variant::g, Variant::nc, Variant::i, Variant::full, Variant::lasvm};

/// Two classes that overlap, some labels wrong, some rows twice; boxes of several sizes.
template <class T> struct Problem {
    Index n, d;
    Array<T> x, k;
    Array<Example> examples;
    Rows<T> rows;
    std::unique_ptr<Gram<T>> gram;
    Problem(Index n_, Index d_, double C, std::uint64_t seed, bool labels_twice = false) : n(n_), d(d_) {
        Random random(seed);
        x = random_values<T>(random, n, d);
        for (Index i = n - n / 10; i < n; ++i) std::copy_n(x.begin() + (i % 7) * d, d, x.begin() + i * d);
        rows = dense_view(x, n, d);
        gram = std::make_unique<Gram<T>>(Kernel{KernelKind::rbf, 2.0, 0.0, 3}, rows, 0);
        k = kernel_values(*gram, Ids::run(0, n), Ids::run(0, n));
        for (Index i = 0; i < n; ++i) {
            const double score = static_cast<double>(x[i * d]) + 0.3 * static_cast<double>(x[i * d + d - 1]);
            const bool positive = (score > 0) != (uniform(random) < 0.12);
            const double box = C * (below(random, 3) ? 1.0 : labels_twice ? 1.0 : 0.5);
            examples.push_back({i, i, positive, positive ? box : -box});
        }
    }
    double at(Index i, Index j) const { return static_cast<double>(k[i * n + j]); }
};

template <class Source> void learn_some(Search<Source>& search, Variant variant, const Array<Example>& examples,
                                        bool known, Array<double>& margins) {
    Array<double> z(examples.size() + 1);
    switch (variant) {
        case Variant::g:
            learn<RuleG>(search, examples, known, z.data());
            break;
        case Variant::nc:
            learn<RuleNC>(search, examples, known, z.data());
            break;
        case Variant::i:
            learn<RuleI>(search, examples, known, z.data());
            break;
        case Variant::full:
            learn<RuleFull>(search, examples, known, z.data());
            break;
        case Variant::lasvm:
            learn_pairs(search, examples, known, true, z.data());
    }
    margins.insert(margins.end(), z.begin(), z.end() - 1);
}

/// A machine with its kernel rows.
template <class T> struct Machine {
    State state{};
    Params params;
    SelfGram<T> kernel;
    Array<double> margins{};
    Machine(const Params& p) : params(p), kernel(p.cache_bytes) {}
    template <class Source> void learn(const Source& source, Variant variant, const Array<Example>& examples,
                                       bool known = false, Interrupt* interrupt = nullptr) {
        Search<Source> search(state, params, source, kernel, interrupt);
        learn_some(search, variant, examples, known, margins);
    }
};

/// g = y - K alpha, alpha in its box, the gap is primal minus dual, and the counters count.
template <class T> void check_laws(const Problem<T>& p, const State& s, Variant variant, double C) {
    const double precision = sizeof(T) == 8 ? 1e-10 : 2e-5;
    CHECK(s.row.size() == s.n && s.id.size() == s.row.size() && s.dead.size() == s.row.size());
    CHECK(s.zone.size() == s.row.size() && s.code.size() == s.row.size() && s.lines.size() == s.n);
    Index dead = 0, support[2] = {0, 0};
    double dual = 0, norm = 0, primal = 0, total = 0, mass = 0;
    for (Index t = 0; t < s.n; ++t) {
        const double alpha = s[line::alpha][t], box = s[line::box][t];
        if (s.dead[t]) {
            ++dead;
            CHECK(alpha == 0);
            continue;
        }
        double f = 0;
        for (Index u = 0; u < s.n; ++u)
            if (s[line::alpha][u] != 0) f += s[line::alpha][u] * p.at(s.row[t], s.row[u]);
        mass += std::abs(alpha);
        total += alpha;
        support[box > 0] += alpha != 0;
        const double y = box > 0 ? 1.0 : -1.0, z = y * (f + s.b), bound = s.share * std::abs(box);
        CHECK(std::abs(s[line::g][t] - (y - f)) <= precision * (1 + C * 20), t, s[line::g][t], y - f);
        CHECK(s[line::lo][t] <= alpha && alpha <= s[line::hi][t], t, alpha, s[line::lo][t], s[line::hi][t]);
        CHECK(s[line::hi][t] - s[line::lo][t] == bound && s[line::diagonal][t] == 1, t);
        const bool flagged = y * (box > 0 ? s[line::lo][t] : s[line::hi][t]) < 0;
        CHECK(!flagged || variant == Variant::nc);
        CHECK(!flagged || y * alpha <= 0);
        dual += alpha * y - 0.5 * alpha * f;
        norm += 0.5 * alpha * f;
        primal += bound * std::max(0.0, 1 - z) + (flagged ? bound * (z - 1) : 0.0);
    }
    primal += norm;
    CHECK(dead == s.n_dead && support[0] == s.support[0] && support[1] == s.support[1]);
    CHECK(std::abs(s.ascent.gap - (primal - dual)) <= precision * 10 * (1 + std::abs(primal)), s.ascent.gap,
          primal - dual, primal);
    CHECK(s.ascent.gap >= -precision * (1 + primal));
    CHECK(std::abs(s.dual() - dual) <= precision * 10 * (1 + std::abs(dual) + mass));
    if (variant == Variant::lasvm)
        CHECK(std::abs(total) <= 1e-12 * (1 + mass));
    else
        CHECK(s.b == 0);
    Index held = 0;
    for (int zone = 0; zone < 3; ++zone) held += s.admitted.count[zone] - s.cleaned.count[zone];
    CHECK(held == s.n_live(), held, s.n_live());
}

bool same(const State& a, const State& b) {
    bool equal = a.n == b.n && a.n_dead == b.n_dead && a.row == b.row && a.id == b.id && a.zone == b.zone &&
                 a.dead == b.dead && same_bits(a.b, b.b) && same_bits(a.target, b.target) &&
                 same_bits(a.ascent.gap, b.ascent.gap) && same_bits(a.largest, b.largest) && a.visited == b.visited &&
                 a.steps == b.steps && a.kernel_evals == b.kernel_evals && a.kernel_needed == b.kernel_needed;
    for (int k = 0; k < line::count && equal; ++k)
        for (Index t = 0; t < a.n; ++t)  // g of a dead position is not used
            equal = equal && (a.dead[t] || same_bits(a.lines[k][t], b.lines[k][t]));
    for (int zone = 0; zone < 3; ++zone)
        equal = equal && a.admitted.count[zone] == b.admitted.count[zone] &&
                a.cleaned.count[zone] == b.cleaned.count[zone] && a.skipped.count[zone] == b.skipped.count[zone];
    return equal;
}

Array<Params> some_params() {
    Array<Params> all(3);
    all[0].C = 1.0;
    all[1].C = 5.3, all[1].s = -0.5, all[1].period = 16, all[1].most_non_sv = 3, all[1].warm_support = 5;
    all[2].C = 0.2, all[2].s = 0.2, all[2].period = 5, all[2].most_non_sv = 0, all[2].warm_support = 0;
    return all;
}

template <class T> void any_cuts() {
    Random random(1);
    for (const Params& params : some_params()) {
        const Problem<T> p(230, 2, params.C, 7);
        for (const Variant variant : variants) {
            Machine<T> one(params);
            one.learn(*p.gram, variant, p.examples);
            check_laws(p, one.state, variant, params.C);
            CHECK(one.state.reason == Reason::pass && one.state.visited == p.n);
            for (int repeat = 0; repeat < 4; ++repeat) {
                Params mine = params;
                mine.cache_bytes = repeat == 0 ? 0 : repeat == 1 ? 60'000 : std::size_t{1} << 26;
                mine.threads = 1 + repeat % 2;
                Machine<T> cut(mine);
                for (auto from = p.examples.begin(); from != p.examples.end();) {
                    const auto left = p.examples.end() - from;
                    const auto to = from + std::min<std::ptrdiff_t>(left, repeat == 3 ? 1 : below(random, 90));
                    cut.learn(*p.gram, variant, {from, to});
                    if (repeat != 3 || below(random, 20) == 0) check_laws(p, cut.state, variant, params.C);
                    if (below(random, 4) == 0) cut.kernel.clear();
                    from = to;
                }
                CHECK(same(one.state, cut.state), static_cast<int>(variant), repeat, params.C);
                CHECK(same_bits(one.margins, cut.margins), static_cast<int>(variant), repeat);
            }
        }
    }
}

CASE(any_cuts_float) { any_cuts<float>(); }
CASE(any_cuts_double) { any_cuts<double>(); }

template <class T> void several_passes() {
    Random random(2);
    for (const Params& params : some_params()) {
        const Problem<T> p(200, 2, params.C, 8);
        for (const Variant variant : variants) {
            Machine<T> one(params), cut(params);
            for (int pass = 0; pass < 3; ++pass) {
                auto order = p.examples;
                for (Index i = p.n - 1; i > 0; --i) std::swap(order[i], order[below(random, i + 1)]);
                one.learn(*p.gram, variant, order, pass > 0);
                check_laws(p, one.state, variant, params.C);
                for (auto from = order.begin(); from != order.end();) {
                    const auto to = from + std::min<std::ptrdiff_t>(order.end() - from, 1 + below(random, 60));
                    cut.learn(*p.gram, variant, {from, to}, pass > 0);
                    from = to;
                }
                CHECK(same(one.state, cut.state), static_cast<int>(variant), pass, params.C);
            }
            CHECK(one.state.visited == 3 * p.n);
            Array<Index> ids;
            for (Index t = 0; t < one.state.n; ++t)
                if (!one.state.dead[t]) ids.push_back(one.state.id[t]);
            std::sort(ids.begin(), ids.end());
            CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end(), "an example is held twice");
            if (variant == Variant::full) CHECK(one.state.kernel_evals == p.n * (p.n + 1) / 2);
        }
    }
}

CASE(several_passes_float) { several_passes<float>(); }
CASE(several_passes_double) { several_passes<double>(); }

CASE(finishing) {
    for (const Params& params : some_params()) {
        const Problem<double> p(200, 2, params.C, 9);
        for (const Variant variant : variants) {
            Machine<double> m(params);
            m.learn(*p.gram, variant, p.examples);
            double before = m.state.dual();
            for (const Index most : {Index{3}, Index{300}, Index{1} << 40}) {
                Search<Gram<double>> search(m.state, m.params, *p.gram, m.kernel, nullptr);
                const Index steps = m.state.steps;
                const Index made =
                    variant == Variant::lasvm ? finish_pairs(search, 1e-9, most) : finish(search, 1e-9, most);
                CHECK(made <= most && m.state.steps - steps == made, static_cast<int>(variant), most, made);
                search.expansion.store_gradients();
                check_laws(p, m.state, variant, params.C);
                const double now = m.state.dual();
                CHECK(now >= before - 1e-12 * (1 + std::abs(now)), before, now);
                before = now;
            }
            CHECK(m.state.reason == Reason::gap && m.state.ascent.gap <= 1e-9 * (before + m.state.ascent.gap));
        }
    }
}

CASE(cleaning_leaves_those_nearest_to_the_margin) {
    const Params params = some_params()[1];
    const Problem<double> p(200, 2, params.C, 10);
    Params late = params;
    late.period = 1000;
    Machine<double> m(late);
    m.learn(*p.gram, Variant::g, p.examples);
    Array<double> idle;
    for (Index t = 0; t < m.state.n; ++t)
        if (m.state[line::alpha][t] == 0) idle.push_back(std::abs(m.state[line::g][t]));
    std::sort(idle.begin(), idle.end());
    CHECK(idle.size() > 20);
    for (const Index left : {12, 5, 0}) {
        {
            Search<Gram<double>> search(m.state, m.params, *p.gram, m.kernel, nullptr);
            search.clean(left);
        }
        check_laws(p, m.state, Variant::g, params.C);
        Array<double> now;
        for (Index t = 0; t < m.state.n; ++t)
            if (m.state[line::alpha][t] == 0) now.push_back(std::abs(m.state[line::g][t]));
        std::sort(now.begin(), now.end());
        CHECK(now.size() == left);
        for (Index i = 0; i < left; ++i) CHECK(now[i] == idle[i]);
    }
    CHECK(m.state.n == m.state.n_support());
}

CASE(steps_land_on_the_bound) {
    // start + (1.3 - start) is not always 1.3.
    const Array<double> k{1.0};
    const Gathered<double> source(dense_view(k, 1, 1));
    Params params;
    params.C = 1.3;
    Random random(14);
    for (int repeat = 0; repeat < 500; ++repeat)
        for (const double sign : {1.0, -1.0}) {
            Machine<double> m(params);
            m.learn(source, Variant::full, {{0, 0, 1, sign * 1.3}});
            CHECK(m.state[line::alpha][0] == sign && m.state[line::g][0] == 0);
            m.state[line::alpha][0] = sign * uniform(random, 0.0, 1.3);
            m.state[line::g][0] = sign * 9;
            Search<Gathered<double>> search(m.state, m.params, source, m.kernel, nullptr);
            CHECK(search.step(0) && m.state[line::alpha][0] == sign * 1.3);
            CHECK(!search.step(0), "no room");
        }
}

CASE(without_a_ramp_nc_is_g) {
    Params params = some_params()[1];
    params.s = -1e9;
    const Problem<float> p(250, 2, params.C, 11);
    Machine<float> g(params), nc(params);
    g.learn(*p.gram, Variant::g, p.examples);
    nc.learn(*p.gram, Variant::nc, p.examples);
    CHECK(same(g.state, nc.state));
}

CASE(interrupts_leave_a_state_that_goes_on) {
    for (Params params : some_params())
        for (const std::size_t bytes : {std::size_t{1} << 26, std::size_t{0}}) {
            params.cache_bytes = bytes;
            const Problem<double> p(120, 2, params.C, 12);
            for (const Variant variant : variants)
                for (const Index when : {1, 2, 3, 5, 9, 30, 77}) {
                    Machine<double> m(params);
                    const Troubled<Gram<double>> source{*p.gram, when, false};
                    m.learn(source, variant, p.examples);
                    if (source.calls < when) continue;
                    const State& s = m.state;
                    CHECK(s.reason == Reason::interrupted && s.visited < p.n);
                    CHECK(s.row.size() == s.n && s.lines.size() == s.n);
                    CHECK(m.kernel.size() == s.n || m.kernel.size() == 0, m.kernel.size(), s.n);
                    check_laws(p, s, variant, params.C);
                    m.learn(*p.gram, variant, {p.examples.begin() + s.visited, p.examples.end()});
                    check_laws(p, s, variant, params.C);
                    CHECK(s.reason == Reason::pass);
                }
        }
}

CASE(one_class_and_no_examples) {
    const Problem<double> p(60, 2, 1.0, 13);
    Array<Example> ones;
    for (Example e : p.examples) e.box = std::abs(e.box), ones.push_back(e);
    for (const Variant variant : variants) {
        Machine<double> m(some_params()[1]);
        m.learn(*p.gram, variant, {});
        CHECK(m.state.n == 0 && m.state.visited == 0 && m.state.reason == Reason::pass);
        m.learn(*p.gram, variant, ones);
        check_laws(p, m.state, variant, 1.0);
        CHECK(m.state.visited == 60 && (m.state.n_support() > 0) == (variant != Variant::lasvm));
        if (variant == Variant::lasvm) CHECK(m.state.n_live() == 30 + 12);  // a sample and what came since
        m.learn(*p.gram, variant, p.examples);
        check_laws(p, m.state, variant, 1.0);
    }
}

}  // namespace
}  // namespace hingeline::online
