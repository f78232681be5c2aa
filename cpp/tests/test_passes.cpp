// Passes over the examples and packed matrices, for every instruction set and both precisions.
#include <cmath>
#include <limits>

#include "check.hpp"
#include "data.hpp"
#include "tables.hpp"

namespace hingeline {

namespace {

using namespace testing;

template <class T> void least_case(const TypedTables<T>& op, Random& random, Index n, bool ties) {
    // Numbers of 24 bits: k * a is exact, so that fused or not makes no difference.
    Array<double> z;
    Array<T> k;
    for (Index i = 0; i < n; ++i) {
        z.push_back(ties ? static_cast<double>(below(random, 3)) : uniform(random, -5.0, 5.0));
        k.push_back(ties ? T(1) : static_cast<T>(static_cast<float>(uniform(random, -1.0, 1.0))));
        if (below(random, 4) == 0) z.back() = std::numeric_limits<double>::infinity();
    }
    const double a = static_cast<float>(uniform(random, -2.0, 2.0)), b = uniform(random, -1.0, 1.0);
    auto expected = z;
    Least naive{std::numeric_limits<double>::infinity(), n};
    for (Index i = 0; i < n; ++i) {
        expected[i] += static_cast<double>(k[i]) * a + b;
        if (expected[i] < naive.value) naive = {expected[i], i};
    }
    const Least least = op.passes.add_and_least(z.data(), k.data(), a, b, n);
    CHECK(same_bits(z, expected), op.name, n, ties);
    CHECK(same_bits(least.value, naive.value), op.name, n, ties);
    CHECK(least.at == naive.at, op.name, n, ties, least.at, naive.at);
}

CASE(add_and_least) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(14);
        for (const Index n : {0, 1, 2, 7, 8, 31, 32, 33, 1023, 1024, 1025, 2048, 5000})
            for (int repeat = 0; repeat < 20; ++repeat) least_case(op, random, n, repeat % 2 == 1);
        // The least value in every position, alone and with a later double.
        for (Index at = 0; at < 2100; ++at) {
            Array<double> z(2100, 1.0);
            const Array<T> k(z.size(), T(0));
            z[at] = z[(at + 2100) / 2] = -1.0;
            const Least least = op.passes.add_and_least(z.data(), k.data(), 1.0, 0.0, 2100);
            CHECK(least.at == at && least.value == -1.0, op.name, at, least.at);
        }
        Array<double> z(1500, std::numeric_limits<double>::infinity());
        const Array<T> k(z.size(), T(1));
        const Least none = op.passes.add_and_least(z.data(), k.data(), 3.0, -1e300, 1500);
        CHECK(none.at == 1500 && none.value == std::numeric_limits<double>::infinity(), op.name);
    });
}

// ---- passes over a dual with penalised bias ------------------------------------------------------

/// Multiples of 1/8 make every operation exact and ties frequent.
struct Eighths {
    Random& random;
    Index levels;
    double operator()() { return static_cast<double>(below(random, 2 * levels + 1) - levels) / 8; }
};

template <class T>
void peaks_case(const TypedTables<T>& op, Random& random, Index n, int terms, double room, Index levels) {
    Eighths eighths{random, levels};
    Array<double> r, v;
    Array<T> k, l;
    for (Index i = 0; i < n; ++i) {
        r.push_back(eighths());
        v.push_back(uniform(random) < room ? 0.5 : 0.0);
        k.push_back(static_cast<T>(eighths()));
        l.push_back(static_cast<T>(eighths()));
    }
    const double a = eighths(), b = eighths(), c = eighths();
    auto expected = r;
    Peaks naive{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), -1, -1};
    for (Index i = 0; i < n; ++i) {
        if (terms > 0) expected[i] += a * static_cast<double>(k[i]) + b;
        if (terms > 1) expected[i] += c * static_cast<double>(l[i]);
        if (expected[i] > naive.high) naive.high = expected[i], naive.high_at = i;
        if (v[i] > 0 && expected[i] < naive.low) naive.low = expected[i], naive.low_at = i;
    }
    const Peaks peaks = op.passes.add_and_peaks(r.data(), terms > 0 ? k.data() : nullptr, a,
                                                terms > 1 ? l.data() : nullptr, c, b, v.data(), n);
    CHECK(same_bits(r, expected), op.name, n, terms);
    CHECK(peaks.high == naive.high && peaks.low == naive.low, op.name, n, terms, peaks.high, peaks.low);
    CHECK(peaks.high_at == naive.high_at, op.name, n, terms, peaks.high_at, naive.high_at);
    CHECK(peaks.low_at == naive.low_at, op.name, n, terms, peaks.low_at, naive.low_at);
}

CASE(add_and_peaks) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(15);
        for (const Index n : {0, 1, 2, 7, 8, 9, 31, 32, 33, 127, 128, 129, 255, 400, 1000, 1283})
            for (int repeat = 0; repeat < 24; ++repeat)
                peaks_case(op, random, n, repeat % 3, repeat % 4 ? 0.2 : 0.0, repeat % 2 ? 3 : 400);
        // The peaks in every position, alone and with a later double.
        for (Index at = 0; at < 700; ++at) {
            Array<double> r(700, 0.0);
            const Array<double> v(700, 1.0);
            r[at] = r[(at + 700) / 2] = 1.0;
            Peaks peaks =
                op.passes.add_and_peaks(r.data(), static_cast<const T*>(nullptr), 0, nullptr, 0, 0, v.data(), 700);
            CHECK(peaks.high == 1.0 && peaks.high_at == at, op.name, at, peaks.high_at);
            r[at] = r[(at + 700) / 2] = -1.0;
            peaks = op.passes.add_and_peaks(r.data(), static_cast<const T*>(nullptr), 0, nullptr, 0, 0, v.data(), 700);
            CHECK(peaks.low == -1.0 && peaks.low_at == at, op.name, at, peaks.low_at);
        }
    });
}

template <class T> void partner_case(const TypedTables<T>& op, Random& random, Index n, double room, Index levels) {
    Eighths eighths{random, levels};
    Array<double> r, v, q;
    Array<T> k;
    const double top = static_cast<double>(levels) / 8;
    for (Index i = 0; i < n; ++i) {
        r.push_back(eighths());
        v.push_back(uniform(random) < room ? static_cast<double>(below(random, 9)) / 8 : 0.0);
        k.push_back(static_cast<T>(eighths()));
        q.push_back(std::exp2(static_cast<double>(below(random, 5) - 1)));  // quotients by a power of two are exact
    }
    const bool flat = below(random, 2);  // then bend = q, and every operation is exact
    const double a = flat ? 0.0 : eighths(), b = flat ? 0.0 : eighths();
    Most naive{0, -1};
    Array<double> gains;
    for (Index i = 0; i < n; ++i) {
        const double fall = top - r[i], bend = q[i] + (a * static_cast<double>(k[i]) + b);
        const double theta = bend > 0 ? std::min(fall / bend, v[i]) : v[i];
        gains.push_back(theta * (2 * fall - theta * bend));
        if (gains.back() > naive.value) naive = {gains.back(), i};
    }
    const Most best = op.passes.best_partner(r.data(), k.data(), q.data(), v.data(), top, a, b, n);
    CHECK((best.at < 0) == (naive.at < 0), op.name, n, best.at, naive.at);
    CHECK(std::abs(best.value - naive.value) <= 1e-13 * naive.value, op.name, n, best.value, naive.value);
    if (naive.at < 0) return;
    if (flat) CHECK(best.at == naive.at, op.name, n, best.at, naive.at);
    CHECK(gains[best.at] >= naive.value * (1 - 1e-13), op.name, n, best.at, naive.at);
}

CASE(best_partner) {
    each_table([](const auto& op) {
        Random random(16);
        for (const Index n : {0, 1, 2, 7, 8, 9, 31, 32, 33, 127, 128, 129, 400, 1283})
            for (int repeat = 0; repeat < 40; ++repeat)
                partner_case(op, random, n, repeat % 4 ? 0.3 : 0.0, repeat % 3 ? 3 : 100);
    });
}

// ---- passes over an expansion --------------------------------------------------------------------

/// Arrays of n values with zeros up to the next multiple of `pass_step`, and a mark behind that.
template <class X> Array<X> padded(Array<X> x) {
    x.resize((x.size() + pass_step - 1) / pass_step * pass_step, X(0));
    return x;
}

/// An expansion of n positions. Multiples of 1/8 below 2^10 make every operation exact and ties frequent.
template <class T> struct Expansion {
    Index n;
    Array<T> g, up, dn, k, l;
    Array<double> a, c;
    Expansion(Random& random, Index n_, int levels, double room) : n(n_) {
        const auto eighths = [&] { return static_cast<double>(below(random, 2 * levels + 1) - levels) / 8; };
        for (Index i = 0; i < n; ++i) {
            g.push_back(static_cast<T>(eighths()));
            up.push_back(uniform(random) < room ? static_cast<T>(below(random, 8) + 1) / 8 : T(0));
            dn.push_back(uniform(random) < room ? static_cast<T>(below(random, 8) + 1) / 8 : T(0));
            k.push_back(static_cast<T>(eighths()));
            l.push_back(static_cast<T>(eighths()));
            a.push_back(below(random, 3) ? eighths() : 0.0);
            c.push_back(eighths());
        }
        g = padded(g), up = padded(up), dn = padded(dn), k = padded(k), l = padded(l), a = padded(a), c = padded(c);
    }
};

template <class T> constexpr T inf = std::numeric_limits<T>::infinity();
/// Shifts of slopes: none where there is room, `none` elsewhere and in the padding.
template <class T> Array<T> shifts(const Array<T>& room, T none) {
    Array<T> out;
    for (const T one : room) out.push_back(one > 0 ? T(0) : none);
    return out;
}

CASE(partner) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(21);
        for (const Index n : {1, 2, 15, 16, 17, 127, 128, 129, 700})
            for (const double room : {0.0, 0.1, 1.0})
                for (const bool even : {false, true}) {
                    const Expansion<T> e(random, n, 40, room);
                    const double top = 4, corner = 8;
                    const auto fall = [&](Index i) {
                        return e.dn[i] > 0 ? std::max(top - static_cast<double>(e.g[i]), 0.0) : 0.0;
                    };
                    const auto gain = [&](Index i) {
                        const double other = even ? corner : static_cast<double>(e.l[i]);
                        const double bend = corner + other - 2 * static_cast<double>(e.k[i]);
                        return fall(i) * fall(i) / std::max(bend, static_cast<double>(T(1e-12)));
                    };
                    double best = 0, gap = 0;
                    for (Index i = 0; i < n; ++i) best = std::max(best, gain(i)), gap = std::max(gap, fall(i));
                    const Partner found = op.passes.partner(e.g.data(), e.k.data(), even ? nullptr : e.l.data(),
                                                            shifts(e.dn, inf<T>).data(), top, corner, n, n);
                    CHECK(found.gap == gap, op.name, n, found.gap, gap);
                    CHECK((found.at < 0) == (best == 0), op.name, n, found.at, best);
                    if (best > 0)  // products of quotients are rounded: a near tie may be decided either way
                        CHECK(gain(found.at) >= best * (1 - 4 * epsilon<T>), op.name, n, found.at, best);
                }
    });
}

CASE(coarse_blocks_turned) {
    for (const Tables* set : instruction_sets()) {
        Random random(7);
        for (const int rows : {turn_step, 3 * turn_step})
            for (const int columns : {turn_step, 2 * turn_step}) {
                const Index stride = columns + 3;
                Array<Coarse> from(rows * stride), to(rows * columns);
                for (Coarse& value : from) value = static_cast<Coarse>(below(random, 65536));
                Array<Coarse*> lines;
                for (int c = 0; c < columns; ++c) lines.push_back(to.data() + c * rows);
                set->coarse.turn(from.data(), stride, rows, columns, lines.data());
                for (int r = 0; r < rows; ++r)
                    for (int c = 0; c < columns; ++c)
                        CHECK(lines[c][r] == from[r * stride + c], set->f32.name, r, c, rows, columns);
            }
    }
}

CASE(coarse_values) {
    for (const Tables* set : instruction_sets()) {
        const char* const name = set->f32.name;
        Random random(22);
        for (const Index n : {1, 2, 15, 16, 17, 127, 128, 129, 700})
            for (const double room : {0.0, 0.1, 1.0}) {
                Expansion<float> e(random, n, 40, room);
                const Index all = hingeline::padded(n);
                Array<float> values(all, 0.0f);
                for (Index i = 0; i < n; ++i) values[i] = i % 7 == 0 ? 1.0f : static_cast<float>(uniform(random));
                Array<Coarse> k(all), l(all);
                set->coarse.coarsen(values.data(), k.data(), all);
                for (Index i = 0; i < all; ++i) {
                    const double value = static_cast<double>(values[i]), back = 1 - coarse_unit * k[i];
                    CHECK(std::abs(back - value) <= (value < coarse_unit ? 1.0 : 0.5) * coarse_unit + 1e-7, name, value,
                          back);
                    CHECK(value < 1 || k[i] == 0, name, i, k[i]);
                    l[i] = static_cast<Coarse>(below(random, 65536));
                }
                const double top = 4;
                const auto fall = [&](Index i) {
                    return e.dn[i] > 0 ? std::max(top - static_cast<double>(e.g[i]), 0.0) : 0.0;
                };
                const auto gain = [&](Index i) { return fall(i) * fall(i) / std::max(2.0 * k[i], 1.0); };
                double best = 0, gap = 0;
                for (Index i = 0; i < n; ++i) best = std::max(best, gain(i)), gap = std::max(gap, fall(i));
                const Partner found =
                    set->coarse.partner(e.g.data(), k.data(), shifts(e.dn, inf<float>).data(), top, n, n);
                CHECK(found.gap == gap && (found.at < 0) == (best == 0), name, n, found.gap, gap, found.at);
                if (best > 0) CHECK(gain(found.at) >= best * (1 - 4 * epsilon<float>), name, n, found.at, best);
                for (const double a : {0.75 * coarse_unit, 0.1 * coarse_unit}) {  // in one part, in two
                    auto g = e.g;
                    const Top high =
                        set->coarse.rise(g.data(), k.data(), l.data(), a, shifts(e.up, -inf<float>).data(), n);
                    Index at = -1;
                    for (Index i = 0; i < n; ++i) {
                        const double exact = static_cast<double>(e.g[i]) + a * (k[i] - l[i]);
                        CHECK(std::abs(static_cast<double>(g[i]) - exact) <= 4 * epsilon<float>, name, i, g[i], exact);
                        if (e.up[i] > 0 && (at < 0 || g[i] > g[at])) at = i;
                    }
                    CHECK(high.at == at && (at < 0 || high.value == static_cast<double>(g[at])), name, n, high.at, at);
                }
            }
    }
}

/// Of equal gains a pass over pieces chooses as a pass over all of them does.
CASE(partners_of_pieces) {
    for (const Tables* set : instruction_sets()) {
        Random random(23);
        for (int round = 0; round < 200; ++round) {
            const Index pieces = 1 + below(random, 5), all = 4 * pieces * pass_step;
            Array<float> g(all), low(all, 0.0f);
            Array<Coarse> k(all);
            for (Index i = 0; i < all; ++i)
                g[i] = static_cast<float>(below(random, 2)), k[i] = static_cast<Coarse>(1 << below(random, 3));
            const Partner whole = set->coarse.partner(g.data(), k.data(), low.data(), 2.0, all, all);
            Partner best{-1, 0.0, 0.0, 0};
            for (Index from = 0; from < all; from += 4 * pass_step) {
                const Partner one = set->coarse.partner(g.data() + from, k.data() + from, low.data() + from, 2.0,
                                                        4 * pass_step, all - from);
                const bool first = one.gain == best.gain && one.place < best.place;
                if (one.gain > best.gain || first) best = {from + one.at, one.gap, one.gain, one.place};
            }
            CHECK(best.at == whole.at && best.gain == whole.gain, set->f32.name, round, best.at, whole.at);
        }
    }
}

/// Multiples of 1/8 in a and c, and of 1 in k, make every move exact; rooms are 0 or 1.
template <class K> void joint_case(const JointOps<K>& op, const char* name, Random& random, Index n, double room) {
    Expansion<float> e(random, n, 40, room);
    for (Array<float>* some : {&e.up, &e.dn})
        for (float& x : *some) x = x > 0 ? 1.0f : 0.0f;
    Array<K> k(e.k.size(), K(0)), l(k);
    Array<float> q(e.k.size(), 1.0f);
    for (Index i = 0; i < n; ++i) {
        k[i] = static_cast<K>(below(random, 30)), l[i] = static_cast<K>(below(random, 30));
        q[i] = static_cast<float>(5 + below(random, 7));
    }
    const double a = 0.5, c = -0.375, b = 0.125;
    for (const bool moves : {false, true}) {
        Array<float> g(e.g);
        Index at = -1;
        double most = 0;
        for (Index i = 0; i < n; ++i) {
            const double x = e.g[i] + (moves ? a * k[i] + c * l[i] + b : 0.0);
            const double size = std::max(e.up[i] * x, -e.dn[i] * x);
            if (size > most) most = size, at = i;
        }
        const Top top =
            op.move(g.data(), moves ? k.data() : nullptr, a, l.data(), c, b, e.up.data(), e.dn.data(), e.g.size());
        CHECK(top.at == at && (at < 0 || top.value == most), name, n, moves, top.at, at);
        for (Index i = 0; i < n; ++i)
            CHECK(g[i] == static_cast<float>(e.g[i] + (moves ? a * k[i] + c * l[i] + b : 0.0)), name, n, i, g[i]);
    }
    const JointRow row{2.0, -0.0625, 1.0 / 8, 0.25};  // Q_ij = 2 - k / 16, Q_ii = 8, g_i = 2
    const auto gain = [&](Index j) {
        const double value = row.base + row.unit * k[j], slope = e.g[j] - row.ratio * value;
        const bool open = slope > 0 ? e.up[j] > 0 : e.dn[j] > 0;
        return open ? slope * slope / (q[j] - value * value * row.inverse) : 0.0;
    };
    double best = 0;
    for (Index j = 0; j < n; ++j) best = std::max(best, gain(j));
    const Index found = op.partner(e.g.data(), k.data(), row, q.data(), e.up.data(), e.dn.data(), e.g.size());
    CHECK((found < 0) == (best == 0), name, n, found, best);
    if (best > 0) CHECK(gain(found) >= best * (1 - 16 * epsilon<float>), name, n, found, gain(found), best);
}
CASE(joint_steps) {
    for (const Tables* set : instruction_sets()) {
        Random random(23);
        for (const Index n : {1, 2, 15, 16, 17, 127, 128, 129, 700})
            for (const double room : {0.0, 0.1, 1.0}) {
                joint_case(set->joint, set->f32.name, random, n, room);
                joint_case(set->coarse_joint, set->f32.name, random, n, room);
            }
    }
}

template <class T> Ascent naive_ascent(const Expansion<T>& e, const Array<T>& g) {
    Ascent out{0, 0, -1};
    const auto room = [&](Index i) { return g[i] > 0 ? e.up[i] : e.dn[i]; };
    for (Index i = 0; i < e.n; ++i) {
        out.gap += static_cast<double>(std::abs(g[i])) * static_cast<double>(room(i));
        if (room(i) > 0) out.worst = std::max(out.worst, static_cast<double>(std::abs(g[i])));
    }
    for (const double sign : {1.0, -1.0})  // a rise before a fall
        for (Index i = 0; i < e.n && out.at < 0 && out.worst > 0; ++i)
            if (static_cast<double>(g[i]) == sign * out.worst && room(i) > 0) out.at = i;
    return out;
}

template <class T> Extremes naive_extremes(const Expansion<T>& e, const Array<T>& g) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Extremes out{-infinity, infinity, -1, -1};
    for (Index i = 0; i < e.n; ++i) {
        const double x = static_cast<double>(g[i]);
        if (e.up[i] > 0 && x > out.high) out.high = x, out.high_at = i;
        if (e.dn[i] > 0 && x < out.low) out.low = x, out.low_at = i;
    }
    return out;
}

template <class T> void pass_case(const TypedTables<T>& op, Random& random, Index n, int levels, double room) {
    Expansion<T> e(random, n, levels, room);
    const double a = static_cast<double>(below(random, 17) - 8) / 8;
    auto moved = e.g, apart = e.g;
    for (Index i = 0; i < n; ++i) {
        moved[i] += static_cast<T>(a) * e.k[i];
        apart[i] += static_cast<T>(a) * (e.k[i] - e.l[i]);
    }
    const auto check_ascent = [&](const Ascent& found, const Ascent& expected, const char* what) {
        CHECK(found.gap == expected.gap && found.worst == expected.worst, op.name, what, n, room, found.gap,
              expected.gap, found.worst, expected.worst);
        CHECK(found.at == expected.at, op.name, what, n, levels, room, found.at, expected.at);
    };
    const auto check_extremes = [&](const Extremes& found, const Extremes& expected, const char* what) {
        CHECK(found.high == expected.high && found.low == expected.low, op.name, what, n, room);
        CHECK(found.high_at == expected.high_at && found.low_at == expected.low_at, op.name, what, n, found.high_at,
              expected.high_at, found.low_at, expected.low_at);
    };
    auto g = e.g;
    check_ascent(op.passes.ascend(g.data(), nullptr, 0, e.up.data(), e.dn.data(), n), naive_ascent(e, e.g), "look");
    check_extremes(op.passes.ascend_pair(g.data(), nullptr, nullptr, 0, e.up.data(), e.dn.data(), n),
                   naive_extremes(e, e.g), "look");
    CHECK(same_bits(g, e.g), op.name, n);
    check_ascent(op.passes.ascend(g.data(), e.k.data(), a, e.up.data(), e.dn.data(), n), naive_ascent(e, moved),
                 "move");
    CHECK(same_bits(g.data(), moved.data(), n), op.name, n);
    g = e.g;
    check_extremes(op.passes.ascend_pair(g.data(), e.k.data(), e.l.data(), a, e.up.data(), e.dn.data(), n),
                   naive_extremes(e, apart), "move");
    for (Index i = 0; i < n; ++i) CHECK(g[i] == apart[i], op.name, n, i);
    for (Index i = n; i < g.size(); ++i) CHECK(g[i] == 0, op.name, n, i);
    const auto check_top = [&](const Top& found, const Extremes& expected) {
        CHECK(found.value == expected.high && found.at == expected.high_at, op.name, n, found.at, expected.high_at);
    };
    g = e.g;
    check_top(op.passes.rise(g.data(), nullptr, nullptr, 0, shifts(e.up, -inf<T>).data(), n), naive_extremes(e, e.g));
    CHECK(same_bits(g, e.g), op.name, n);
    check_top(op.passes.rise(g.data(), e.k.data(), e.l.data(), a, shifts(e.up, -inf<T>).data(), n),
              naive_extremes(e, apart));
    for (Index i = 0; i < n; ++i) CHECK(g[i] == apart[i], op.name, n, i);

    Glance expected{0, 0, 0};
    for (Index i = 0; i < n; ++i) {
        expected.output += e.a[i] * static_cast<double>(e.k[i]);
        const double h = e.a[i] != 0 ? e.c[i] * static_cast<double>(e.g[i]) : 0.0;
        expected.sum += h;
        expected.squares += h * h;
    }
    const Glance found = op.passes.glance(e.k.data(), e.a.data(), e.g.data(), e.c.data(), n);
    CHECK(found.output == expected.output && found.sum == expected.sum && found.squares == expected.squares, op.name, n,
          found.output, expected.output);
}

CASE(passes_over_an_expansion) {
    each_table([](const auto& op) {
        Random random(15);
        for (const Index n : {0, 1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 1000, 2049})
            for (int repeat = 0; repeat < 24; ++repeat)
                pass_case(op, random, n,
                          repeat % 3 == 0   ? 1
                          : repeat % 3 == 1 ? 4
                                            : 500,
                          repeat % 4 == 0   ? 0.0
                          : repeat % 4 == 1 ? 0.02
                          : repeat % 4 == 2 ? 0.5
                                            : 1.0);
    });
}

CASE(ties_between_rises_and_falls) {
    // A fall before a rise of the same size, at every pair of positions: the rise is chosen; of two falls the first.
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        const Index n = 400;
        Random random(16);
        for (int repeat = 0; repeat < 4000; ++repeat) {
            Array<T> g(512, T(0)), up(512, T(1)), dn(512, T(1));
            std::fill(up.begin() + n, up.end(), T(0)), std::fill(dn.begin() + n, dn.end(), T(0));
            for (Index i = 0; i < n; ++i) g[i] = static_cast<T>(below(random, 5) - 2) / 8;
            const Index lane = below(random, 32);
            Index first = below(random, n), second = repeat % 2 ? below(random, n) : (first + 32 * lane) % n;
            if (first > second) std::swap(first, second);
            if (first == second) continue;
            g[first] = T(-1), g[second] = T(1);
            CHECK(op.passes.ascend(g.data(), nullptr, 0, up.data(), dn.data(), n).at == second, op.name, first, second);
            up[second] = 0;  // no room any more
            CHECK(op.passes.ascend(g.data(), nullptr, 0, up.data(), dn.data(), n).at == first, op.name, first, second);
            g[second] = T(-1);
            CHECK(op.passes.ascend(g.data(), nullptr, 0, up.data(), dn.data(), n).at == first, op.name, first, second);
            const Extremes x = op.passes.ascend_pair(g.data(), nullptr, nullptr, 0, up.data(), dn.data(), n);
            CHECK(x.low == -1 && x.low_at == first, op.name, first, second, x.low_at);
            dn[first] = 0;
            CHECK(op.passes.ascend(g.data(), nullptr, 0, up.data(), dn.data(), n).at == second, op.name, first, second);
            dn[second] = 0;
            const Ascent rest = op.passes.ascend(g.data(), nullptr, 0, up.data(), dn.data(), n);
            CHECK(rest.worst <= 0.25 && rest.at != first && rest.at != second, op.name);
        }
    });
}

CASE(steps_in_single_precision_round_once) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        if (sizeof(T) == 8) return;
        Random random(17);
        const Array<T> none(512, T(0)), still(512, -inf<T>);
        for (int repeat = 0; repeat < 50; ++repeat) {
            Array<T> g, k;
            for (int i = 0; i < 512; ++i) {
                g.push_back(static_cast<T>(uniform(random, -2.0, 2.0)));
                k.push_back(static_cast<T>(uniform(random)));
            }
            const auto before = g;
            const double a = uniform(random, -3.0, 3.0);
            op.passes.ascend(g.data(), k.data(), a, none.data(), none.data(), 512);
            for (int i = 0; i < 512; ++i) {
                const double exact = static_cast<double>(before[i]) + a * static_cast<double>(k[i]);
                const double size = std::abs(static_cast<double>(before[i])) + std::abs(a);
                CHECK(std::abs(static_cast<double>(g[i]) - exact) <= 1.01 * epsilon<T> * size, op.name, i, g[i], exact);
            }
            auto other = before;
            const Array<T> zero(512, T(0));
            op.passes.rise(other.data(), k.data(), zero.data(), a, still.data(), 512);
            for (int i = 0; i < 512; ++i) CHECK(other[i] == g[i], op.name, i, other[i], g[i]);
        }
    });
}

CASE(two_rows_at_once) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(18);
        const Index n = 3 * pass_step;
        for (const double apart : {1.0, 1e-6, 0.0}) {  // distance of the two rows: at 0 large moves cancel
            Array<T> g, k, l, room(n, T(1));
            for (Index i = 0; i < n; ++i) {
                g.push_back(static_cast<T>(uniform(random, -2.0, 2.0)));
                k.push_back(static_cast<T>(uniform(random)));
                l.push_back(static_cast<T>(static_cast<double>(k.back()) + apart * uniform(random)));
            }
            const auto before = g;
            const double a = apart == 1.0 ? 1.5 : 1e6, c = apart == 1.0 ? -0.7 : -1e6;
            const Ascent found = op.passes.ascend_both(g.data(), k.data(), a, l.data(), c, room.data(), room.data(), n);
            for (Index i = 0; i < n; ++i) {
                const double one = static_cast<double>(k[i]), other = static_cast<double>(l[i]);
                const double exact = static_cast<double>(before[i]) + a * (one - other) + (a + c) * other;
                const double size = 3 + std::abs(a * (one - other)) + std::abs((a + c) * other);
                CHECK(std::abs(static_cast<double>(g[i]) - exact) <= 3 * epsilon<T> * size, op.name, apart, i);
            }
            const Ascent again = op.passes.ascend(g.data(), nullptr, 0, room.data(), room.data(), n);
            CHECK(found.at == again.at && found.worst == again.worst && found.gap == again.gap, op.name, apart);
        }
    });
}

// ---- sums of rows, symmetric matrices --------------------------------------------------------------

CASE(rows_are_summed_in_order) {
    each_table([](const auto& op) {
        using T = Value<decltype(op)>;
        Random random(23);
        for (const Index count : {0, 1, 3, 4, 7, 8, 21}) {
            const Index n = 20 * pass_step, from = pass_step;  // more than one stretch
            Array<Array<T>> rows;
            Array<const T*> pointers;
            Array<double> weights, sums(n, 0.5), expected = sums;
            for (Index r = 0; r < count; ++r) {
                rows.push_back(random_values<T>(random, 1, n));
                weights.push_back(static_cast<double>(below(random, 9)) / 4 - 1);
            }
            for (const auto& row : rows) pointers.push_back(row.data());
            op.passes.combine(pointers.data(), weights.data(), count, from, n, sums.data());
            for (Index i = 0; i < n; ++i) {
                for (Index r = 0; r < count && i >= from; ++r)
                    expected[i] += weights[r] * static_cast<double>(rows[r][i]);
                CHECK(std::abs(sums[i] - expected[i]) <= 1e-14 * (1 + count), op.name, count, i);
            }
            // The same sums, to the bit, and products with `a`.
            Array<double> again(n, 0.5), plain = again, products(count, 7.0);
            const Array<double> a_n = random_values<double>(random, 1, n);
            op.passes.combine(pointers.data(), weights.data(), count, 0, n, plain.data());
            op.passes.combine_and_inner(pointers.data(), weights.data(), count, n, again.data(), a_n.data(),
                                        products.data());
            CHECK(again == plain, op.name, count);
            for (Index r = 0; r < count; ++r) {
                double wanted = 0;
                for (Index i = 0; i < n; ++i) wanted += static_cast<double>(rows[r][i]) * a_n[i];
                CHECK(std::abs(products[r] - wanted) < 1e-11, op.name, count, r);
            }
            double product = 0;
            const Array<T> k = padded(random_values<T>(random, 1, 100 + count));
            const Array<double> a = padded(random_values<double>(random, 1, 100 + count));
            for (Index i = 0; i < k.size(); ++i) product += static_cast<double>(k[i]) * a[i];
            CHECK(std::abs(op.passes.inner(k.data(), a.data(), k.size()) - product) < 1e-13, op.name);
        }
    });
}

CASE(a_packed_matrix_is_symmetric) {
    for (const Tables* set : instruction_sets()) {
        const PackedOps& op = set->packed;
        const char* name = set->f64.name;
        Random random(29);
        for (const Index m : {1, 2, 7, 8, 16, 17, 33, 50})
            for (const Index count : {1, 3, 4, 9}) {
                Array<double> a = random_values<double>(random, 1, m * (m + 1) / 2);
                const auto at = [m](const Array<double>& p, Index i, Index j) {
                    (void)m;
                    return i >= j ? p[i * (i + 1) / 2 + j] : p[j * (j + 1) / 2 + i];
                };
                const Array<double> x = random_values<double>(random, 1, m);
                Array<double> y(m, 7.0);
                op.multiply(a.data(), m, x.data(), y.data());
                for (Index i = 0; i < m; ++i) {
                    double sum = 0;
                    for (Index j = 0; j < m; ++j) sum += at(a, i, j) * x[j];
                    CHECK(std::abs(y[i] - sum) < 1e-13, name, m, i);
                }
                Array<Array<double>> b;
                Array<const double*> pointers;
                for (Index k = 0; k < count; ++k) b.push_back(random_values<double>(random, 1, m));
                for (const auto& v : b) pointers.push_back(v.data());
                const Array<double> before = a;
                op.update(a.data(), m, -0.5, pointers.data(), count);
                for (Index i = 0; i < m; ++i)
                    for (Index j = 0; j <= i; ++j) {
                        double sum = at(before, i, j);
                        for (const auto& v : b) sum -= 0.5 * v[i] * v[j];
                        CHECK(std::abs(at(a, i, j) - sum) < 1e-13, name, m, i, j);
                    }
            }
    }
}

}  // namespace
}  // namespace hingeline
