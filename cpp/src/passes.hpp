// Passes over the examples: one step of an algorithm and the choice of the next (vector/passes.hpp). Part of
// tables.cpp: everything has internal linkage (see there).
#pragma once

#include "simd.hpp"

namespace hingeline::HINGELINE_ISA {
namespace {

constexpr int pass_group = 4;  // independent sums and maxima hide the latency of the operations
static_assert(pass_step % (pass_group * lanes<float>) == 0);

/// A kernel row is read from memory, and the hardware prefetcher stops at every page: prefetch 2 KiB ahead.
template <class T> HL_INLINE void fetch_ahead(const T* p) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(p + 2048 / sizeof(T));
#else
    (void)p;
#endif
}
/// The same, but no further than `last`: what follows belongs to another thread.
template <class T> HL_INLINE void fetch_ahead(const T* row, Index j, Index last) {
#if defined(__GNUC__) || defined(__clang__)
    const Index ahead = j + static_cast<Index>(2048 / sizeof(T));
    __builtin_prefetch(row + (ahead < last ? ahead : last));
#else
    (void)row, (void)j, (void)last;
#endif
}
/// Registers per cache line: one prefetch each.
template <class T> inline constexpr int line_registers =
    64 / (lanes<T> * sizeof(T)) < pass_group ? 64 / (lanes<T> * sizeof(T)) : pass_group;

/// A factor for values of type T; in single precision as a sum of two floats.
template <class T> struct Factor {
    T head, tail;
    HL_INLINE explicit Factor(double a)
        : head(static_cast<T>(a)), tail(static_cast<T>(a - static_cast<double>(head))) {}
    HL_INLINE Vec<T> add_to(Vec<T> x, Vec<T> k) const {
        x = fused(k, splat<Vec<T>>(head), x);
        if constexpr (sizeof(T) == 4) x = fused(k, splat<Vec<T>>(tail), x);
        return x;
    }
};

/// Largest value seen in each lane, and the stretch of `pass_step` positions where it was seen first.
template <class T> struct LaneMost {
    static constexpr int W = lanes<T>;
    Vec<T> value, stretch;
    HL_INLINE explicit LaneMost(T start) : value(splat<Vec<T>>(start)), stretch{} {}
    HL_INLINE void see(Vec<T> x, Index from) {
        stretch = x > value ? splat<Vec<T>>(static_cast<T>(from / pass_step)) : stretch;
        value = larger(value, x);
    }
    T most() const { return largest_lane<T>(value); }
    /// First position with `holds`, among the lanes whose largest value is `best`; -1 when none.
    template <class F> Index first(T best, F&& holds) const {
        T lane[W], start[W];
        store(lane, value);
        store(start, stretch);
        Index at = -1;
        for (int w = 0; w < W; ++w) {
            if (lane[w] != best) continue;
            const Index begin = static_cast<Index>(start[w]) * pass_step;
            for (Index i = begin + w; i < begin + pass_step; i += W)
                if (holds(i)) {
                    if (at < 0 || i < at) at = i;
                    break;
                }
        }
        return at;
    }
};

template <class T> HL_INLINE double total(const Vec<T> (&parts)[pass_group]) {
    T lane[lanes<T>];
    double sum = 0;
    store(lane, (parts[0] + parts[1]) + (parts[2] + parts[3]));
    for (int w = 0; w < lanes<T>; ++w) sum += static_cast<double>(lane[w]);
    return sum;
}

template <class T, int Terms>
Ascent ascend_pass(T* g, const T* k, double a, const T* l, double c, const T* up, const T* dn, Index n) {
    using V = Vec<T>;
    constexpr int W = lanes<T>;
    const V zero{};
    const Factor<T> factor(a), both(a + c);
    V sum[pass_group] = {};
    LaneMost<T> most(0);
    V tied{};  // values that occurred again in their lane
    for (Index from = 0; from < n; from += pass_step) {
        V high[pass_group] = {};
        for (Index i = from; i < from + pass_step; i += pass_group * W)
            for (int u = 0; u < pass_group; ++u) {
                const Index j = i + u * W;
                V x = load<V>(g + j);
                if constexpr (Terms == 1) {
                    if (u % line_registers<T> == 0) fetch_ahead(k + j);
                    x = factor.add_to(x, load<V>(k + j));
                    store(g + j, x);
                } else if constexpr (Terms == 2) {
                    if (u % line_registers<T> == 0) fetch_ahead(k + j), fetch_ahead(l + j);
                    const V other = load<V>(l + j);
                    x = factor.add_to(both.add_to(x, other), load<V>(k + j) - other);
                    store(g + j, x);
                }
                const V room = x > zero ? load<V>(up + j) : load<V>(dn + j);
                const V size = magnitude(x);
                sum[u] = fused(size, room, sum[u]);
                high[u] = larger_where(room, high[u], size);
            }
        const V here = larger(larger(high[0], high[1]), larger(high[2], high[3]));
        tied = here == most.value ? here : tied;
        most.see(here, from);
    }
    const double gap = total<T>(sum);
    const T worst = most.most();
    if (!(worst > 0)) return {gap, 0.0, -1};
    const auto rise = [&](Index i) { return g[i] == worst && up[i] > 0; };
    const auto fall = [&](Index i) { return g[i] == -worst && dn[i] > 0; };
    if (any(tied == worst)) {  // the same value twice in one lane: a rise may stand behind a fall
        for (Index i = 0; i < n; ++i)
            if (rise(i)) return {gap, static_cast<double>(worst), i};
        for (Index i = 0; i < n; ++i)
            if (fall(i)) return {gap, static_cast<double>(worst), i};
    }
    const Index at = most.first(worst, rise);
    return {gap, static_cast<double>(worst), at >= 0 ? at : most.first(worst, fall)};
}

template <class T> Ascent ascend(T* g, const T* k, double a, const T* up, const T* dn, Index n) {
    return k ? ascend_pass<T, 1>(g, k, a, nullptr, 0, up, dn, n) : ascend_pass<T, 0>(g, k, a, nullptr, 0, up, dn, n);
}
template <class T>
Ascent ascend_both(T* g, const T* k, double a, const T* l, double c, const T* up, const T* dn, Index n) {
    return ascend_pass<T, 2>(g, k, a, l, c, up, dn, n);
}

template <class T, bool Moves>
Extremes pair_pass(T* g, const T* k, const T* l, double a, const T* up, const T* dn, Index n) {
    using V = Vec<T>;
    constexpr int W = lanes<T>;
    const Factor<T> factor(a), opposite(-a);
    const T infinity = static_cast<T>(INFINITY);
    LaneMost<T> high(-infinity), low(-infinity);  // of g, and of -g
    for (Index from = 0; from < n; from += pass_step) {
        V rise[pass_group], fall[pass_group];
        for (int u = 0; u < pass_group; ++u) rise[u] = fall[u] = splat<V>(-infinity);
        for (Index i = from; i < from + pass_step; i += pass_group * W)
            for (int u = 0; u < pass_group; ++u) {
                const Index j = i + u * W;
                V x = load<V>(g + j);
                if (Moves) {
                    if (u % line_registers<T> == 0) fetch_ahead(k + j), fetch_ahead(l + j);
                    if constexpr (sizeof(T) == 4)
                        x = opposite.add_to(factor.add_to(x, load<V>(k + j)), load<V>(l + j));
                    else
                        x = factor.add_to(x, load<V>(k + j) - load<V>(l + j));
                    store(g + j, x);
                }
                rise[u] = larger_where(load<V>(up + j), rise[u], x);
                fall[u] = larger_where(load<V>(dn + j), fall[u], -x);
            }
        high.see(larger(larger(rise[0], rise[1]), larger(rise[2], rise[3])), from);
        low.see(larger(larger(fall[0], fall[1]), larger(fall[2], fall[3])), from);
    }
    const T top = high.most(), bottom = -low.most();
    Extremes out{static_cast<double>(top), static_cast<double>(bottom), -1, -1};
    if (top > -infinity) out.high_at = high.first(top, [&](Index i) { return g[i] == top && up[i] > 0; });
    if (bottom < infinity) out.low_at = low.first(-bottom, [&](Index i) { return g[i] == bottom && dn[i] > 0; });
    return out;
}

template <class T> Extremes ascend_pair(T* g, const T* k, const T* l, double a, const T* up, const T* dn, Index n) {
    return k ? pair_pass<T, true>(g, k, l, a, up, dn, n) : pair_pass<T, false>(g, k, l, a, up, dn, n);
}

template <class T> Least add_and_least(double* z, const T* k, double a, double b, Index n) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    constexpr int group = 4;         // independent minima hide the latency of the comparisons
    constexpr Index stretch = 1024;  // the first position of the least value is searched in one stretch only
    const double infinity = static_cast<double>(INFINITY);
    double best = infinity;
    Index best_from = 0;
    for (Index from = 0; from < n; from += stretch) {
        const Index to = n - from < stretch ? n : from + stretch;
        V low[group];
        for (int g = 0; g < group; ++g) low[g] = splat<V>(infinity);
        Index i = from;
        for (; i + group * W <= to; i += group * W)
            for (int g = 0; g < group; ++g) {
                double* at = z + i + g * W;
                const V value = load<V>(at) + fused(load_double(k + i + g * W), splat<V>(a), splat<V>(b));
                store(at, value);
                low[g] = value < low[g] ? value : low[g];
            }
        double least = infinity;
        for (int g = 0; g < group; ++g) {
            double lane[W];
            store(lane, low[g]);
            for (int w = 0; w < W; ++w) least = lane[w] < least ? lane[w] : least;
        }
        for (; i < to; ++i) {
            z[i] = z[i] + madd(static_cast<double>(k[i]), a, b);
            least = z[i] < least ? z[i] : least;
        }
        if (least < best) {
            best = least;
            best_from = from;
        }
    }
    if (best == infinity) return {infinity, n};
    Index at = best_from;
    while (z[at] != best) ++at;
    return {best, at};
}

template <class T, int Terms>
Peaks peaks_pass(double* r, const T* k, double a, const T* l, double c, double b, const double* v, Index n) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    const double infinity = static_cast<double>(INFINITY);
    const V factor = splat<V>(a), other = splat<V>(c), constant = splat<V>(b);
    LaneMost<double> high(-infinity), low(-infinity);  // of r, and of -r
    const auto step = [&](Index j, V& rise, V& fall) HL_LAMBDA_INLINE {
        V x = load<V>(r + j);
        if constexpr (Terms > 0) {
            V change = fused(load_double(k + j), factor, constant);
            if constexpr (Terms > 1) change = fused(load_double(l + j), other, change);
            x += change;
            store(r + j, x);
        }
        rise = larger(rise, x);
        fall = larger_where(load<V>(v + j), fall, -x);
    };
    const Index vectors = n / W * W;
    for (Index from = 0; from < vectors; from += pass_step) {
        V rise[pass_group], fall[pass_group];
        for (int u = 0; u < pass_group; ++u) rise[u] = fall[u] = splat<V>(-infinity);
        if (from + pass_step <= vectors) {
            for (Index i = from; i < from + pass_step; i += pass_group * W)
                for (int u = 0; u < pass_group; ++u) step(i + u * W, rise[u], fall[u]);
        } else {
            for (Index i = from; i < vectors; i += W) step(i, rise[0], fall[0]);
        }
        high.see(larger(larger(rise[0], rise[1]), larger(rise[2], rise[3])), from);
        low.see(larger(larger(fall[0], fall[1]), larger(fall[2], fall[3])), from);
    }
    const double top = high.most(), bottom = low.most();
    Peaks out{-infinity, infinity, -1, -1};
    if (top > -infinity) {
        out.high = top;
        out.high_at = high.first(top, [&](Index i) { return i < vectors && r[i] == top; });
    }
    if (bottom > -infinity) {
        out.low = -bottom;
        out.low_at = low.first(bottom, [&](Index i) { return i < vectors && r[i] == -bottom && v[i] > 0; });
    }
    for (Index i = vectors; i < n; ++i) {
        if constexpr (Terms > 0) {
            double change = madd(static_cast<double>(k[i]), a, b);
            if constexpr (Terms > 1) change = madd(static_cast<double>(l[i]), c, change);
            r[i] += change;
        }
        if (r[i] > out.high) out.high = r[i], out.high_at = i;
        if (v[i] > 0 && r[i] < out.low) out.low = r[i], out.low_at = i;
    }
    return out;
}

template <class T>
Peaks add_and_peaks(double* r, const T* k, double a, const T* l, double c, double b, const double* v, Index n) {
    if (!k) return peaks_pass<T, 0>(r, k, a, l, c, b, v, n);
    return l ? peaks_pass<T, 2>(r, k, a, l, c, b, v, n) : peaks_pass<T, 1>(r, k, a, l, c, b, v, n);
}

template <class T> Most best_partner(const double* r, const T* k, const double* q, const double* v, double top,
                                     double a, double b, Index n) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    constexpr int group = 4;
    const V zero{}, factor = splat<V>(a), constant = splat<V>(b);
    V gain[group] = {}, at[group] = {};  // in each lane the largest and where its register begins
    const auto step = [&](Index j, V& most, V& where) HL_LAMBDA_INLINE {
        const V fall = top - load<V>(r + j), room = load<V>(v + j);
        const V bend = load<V>(q + j) + fused(load_double(k + j), factor, constant);
        const V free = fall / bend;
        const V theta = bend > zero ? smaller(free, room) : room;
        const V here = theta * fused(-theta, bend, fall + fall);
        where = here > most ? splat<V>(static_cast<double>(j)) : where;
        most = larger(most, here);
    };
    Index i = 0;
    for (; i + group * W <= n; i += group * W)
        for (int g = 0; g < group; ++g) step(i + g * W, gain[g], at[g]);
    for (; i + W <= n; i += W) step(i, gain[0], at[0]);
    Most out{0, -1};
    for (int g = 0; g < group; ++g) {
        double lane[W], start[W];
        store(lane, gain[g]);
        store(start, at[g]);
        for (int w = 0; w < W; ++w) {
            const Index position = static_cast<Index>(start[w]) + w;
            if (lane[w] > out.value || (lane[w] == out.value && out.at >= 0 && position < out.at))
                out = {lane[w], position};
        }
    }
    for (; i < n; ++i) {
        const double fall = top - r[i], bend = q[i] + madd(static_cast<double>(k[i]), a, b);
        const double theta = bend > 0 && fall / bend < v[i] ? fall / bend : v[i];
        const double here = theta * madd(-theta, bend, fall + fall);
        if (here > out.value) out = {here, i};
    }
    return out;
}

/// Registers of kernel values; coarse ones are integers.
HL_INLINE Vec<float> load_values(const float* p) { return load<Vec<float>>(p); }
HL_INLINE Vec<double> load_values(const double* p) { return load<Vec<double>>(p); }
HL_INLINE IntVec<float> load_values(const Coarse* p) {
#if HINGELINE_VECTOR_BYTES == 64 && defined(__AVX512F__)
    return (IntVec<float>)_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif HINGELINE_VECTOR_BYTES > 0
    typedef Coarse Half __attribute__((vector_size(HINGELINE_VECTOR_BYTES / 2)));
    return __builtin_convertvector(load<Half>(p), IntVec<float>);
#else
    return *p;
#endif
}
HL_INLINE Vec<float> to_float(IntVec<float> x) {
#if HINGELINE_VECTOR_BYTES > 0
    return __builtin_convertvector(x, Vec<float>);
#else
    return static_cast<float>(x);
#endif
}

/// x + a (k - l) with `a` in one or two parts. Differences of coarse values are exact; those of values in single
/// precision are not, and the products are added one by one.
template <int Parts> HL_INLINE Vec<double> moved(Vec<double> x, const double* k, const double* l, Factor<double> a) {
    return fused(load_values(k) - load_values(l), splat<Vec<double>>(a.head), x);
}
template <int Parts> HL_INLINE Vec<float> moved(Vec<float> x, const float* k, const float* l, Factor<float> a) {
    const Vec<float> first = load_values(k), second = load_values(l);
    x = fused(first, splat<Vec<float>>(a.head), x);
    if constexpr (Parts == 2) x = fused(first, splat<Vec<float>>(a.tail), x);
    x = fused(second, splat<Vec<float>>(-a.head), x);
    if constexpr (Parts == 2) x = fused(second, splat<Vec<float>>(-a.tail), x);
    return x;
}
template <int Parts> HL_INLINE Vec<float> moved(Vec<float> x, const Coarse* k, const Coarse* l, Factor<float> a) {
    const Vec<float> difference = to_float(load_values(k) - load_values(l));
    x = fused(difference, splat<Vec<float>>(a.head), x);
    if constexpr (Parts == 2) x = fused(difference, splat<Vec<float>>(a.tail), x);
    return x;
}

template <class T, class K, int Parts> Top rise_pass(T* g, const K* k, const K* l, double a, const T* up, Index n) {
    using V = Vec<T>;
    constexpr int W = lanes<T>;
    const Factor<T> factor(a);
    const T infinity = static_cast<T>(INFINITY);
    LaneMost<T> high(-infinity);
    for (Index from = 0; from < n; from += pass_step) {
        V rise[pass_group];
        for (int u = 0; u < pass_group; ++u) rise[u] = splat<V>(-infinity);
        const Index end = n - from < pass_step ? n : from + pass_step;
        for (Index i = from; i < end; i += pass_group * W)
            for (int u = 0; u < pass_group; ++u) {
                const Index j = i + u * W;
                V x = load<V>(g + j);
                if constexpr (Parts > 0) {
                    if (u % line_registers<T> == 0) fetch_ahead(k, j, n - 1), fetch_ahead(l, j, n - 1);
                    x = moved<Parts>(x, k + j, l + j, factor);
                    store(g + j, x);
                }
                rise[u] = larger(rise[u], x + load<V>(up + j));
            }
        high.see(larger(larger(rise[0], rise[1]), larger(rise[2], rise[3])), from);
    }
    const T top = high.most();
    if (!(top > -infinity)) return {static_cast<double>(top), -1};
    return {static_cast<double>(top), high.first(top, [&](Index i) { return g[i] + up[i] == top; })};
}
template <class T, class K> Top rise(T* g, const K* k, const K* l, double a, const T* up, Index n) {
    if (!k) return rise_pass<T, K, 0>(g, k, l, a, up, n);
    return Factor<T>(a).tail == 0 ? rise_pass<T, K, 1>(g, k, l, a, up, n) : rise_pass<T, K, 2>(g, k, l, a, up, n);
}

/// The largest fall^2 / bend and the largest fall, where fall_at(u, j) and bend_at(j) are registers of values from zero
/// on and of positive values.
template <class T, class Fall, class Bend> Partner best_quotient(Index n, Fall&& fall_at, Bend&& bend_at) {
    using V = Vec<T>;
    constexpr int W = lanes<T>;
    // In each lane the best quotient as numerator and denominator (quotients are compared by cross products, which is
    // faster than dividing), and the number of its register; the largest fall.
    V square[pass_group] = {}, bend[pass_group], at[pass_group] = {}, most[pass_group] = {}, now{};
    for (int u = 0; u < pass_group; ++u) bend[u] = splat<V>(static_cast<T>(1));
    const auto see = [&](int u, V s, V b, V number) HL_LAMBDA_INLINE {
        const auto better = s * bend[u] > square[u] * b;
        square[u] = better ? s : square[u];
        bend[u] = better ? b : bend[u];
        at[u] = better ? number : at[u];
    };
    for (Index i = 0; i < n; i += pass_group * W) {
        for (int u = 0; u < pass_group; ++u) {
            const Index j = i + u * W;
            const V fall = fall_at(u, j);
            most[u] = larger(most[u], fall);
            see(u, fall * fall, bend_at(j), now);
        }
        now += static_cast<T>(pass_group);
    }
    for (int u = 1; u < pass_group; ++u) {
        see(0, square[u], bend[u], at[u] + static_cast<T>(u));
        most[0] = larger(most[0], most[u]);
    }
    const double gap = static_cast<double>(largest_lane<T>(most[0]));
    const V gain = square[0] / bend[0];
    const T best = largest_lane<T>(gain);
    if (!(best > 0)) return {-1, gap, 0.0, 0};
    const int lane = first_lane<T>(gain, best);
    T where[W];
    store(where, at[0]);
    const Index number = static_cast<Index>(where[lane]);
    const int place = lane * pass_group + static_cast<int>(number % pass_group);
    return {number * W + lane, gap, static_cast<double>(best), place};
}
/// The same with fall = top - (g + low).
template <class T, class K, class Bend>
Partner partner_pass(const T* g, const K* k, const T* low, double top, Index n, Index reach, Bend&& bend_at) {
    using V = Vec<T>;
    const V zero{}, high = splat<V>(static_cast<T>(top));
    const auto fall = [&](int u, Index j) HL_LAMBDA_INLINE {
        if (u % line_registers<T> == 0) fetch_ahead(k, j, reach - 1);
        return larger(static_cast<V>(high - (load<V>(g + j) + load<V>(low + j))), zero);
    };
    return best_quotient<T>(n, fall, bend_at);
}
template <class T> Partner partner(const T* g, const T* k, const T* diagonal, const T* low, double top,
                                   double top_diagonal, Index n, Index reach) {
    using V = Vec<T>;
    const V least = splat<V>(static_cast<T>(1e-12)), corner = splat<V>(static_cast<T>(top_diagonal));
    const auto bend = [&](V sum, Index j) HL_LAMBDA_INLINE {
        return larger(fused(load<V>(k + j), splat<V>(static_cast<T>(-2)), sum), least);
    };
    const V twice = corner + corner;
    if (!diagonal)
        return partner_pass(g, k, low, top, n, reach, [&](Index j) HL_LAMBDA_INLINE { return bend(twice, j); });
    return partner_pass(g, k, low, top, n, reach,
                        [&](Index j) HL_LAMBDA_INLINE { return bend(corner + load<V>(diagonal + j), j); });
}

void coarsen(const float* k, Coarse* out, Index n) {
    for (Index i = 0; i < n; ++i) {
        const float x = (1.0f - k[i]) * 65536.0f + 0.5f;
        out[i] = static_cast<Coarse>(static_cast<std::int32_t>(x < 65535.0f ? x : 65535.0f));
    }
}
/// Blocks of 2 W x 2 W values. Pairs of rows become words of two values, one word for each column; words are
/// transposed.
void turn(const Coarse* from, Index stride, int rows, int columns, Coarse* const* to) {
    using V = Vec<float>;  // only moved
    using I = IntVec<float>;
    constexpr int W = lanes<float>;
    for (int c = 0; c < columns; c += 2 * W)
        for (int r = 0; r < rows; r += 2 * W) {
            V even[W], odd[W];
            for (int i = 0; i < W; ++i) {
                const Coarse* const pair = from + (r + 2 * i) * stride + c;
                const I first = load<I>(pair), second = load<I>(pair + stride);
                even[i] = reinterpret<V>(static_cast<I>((first & 0xffff) | (second << 16)));
                odd[i] = reinterpret<V>(static_cast<I>(((first >> 16) & 0xffff) | (second & ~0xffff)));
            }
            transpose(even);
            transpose(odd);
            for (int i = 0; i < W; ++i) {
                store(to[c + 2 * i] + r, even[i]);
                store(to[c + 2 * i + 1] + r, odd[i]);
            }
        }
}
Partner coarse_partner(const float* g, const Coarse* k, const float* low, double top, Index n, Index reach) {
    const Vec<float> least = splat<Vec<float>>(0.5f);
    return partner_pass(g, k, low, top, n, reach,
                        [&](Index j) HL_LAMBDA_INLINE { return larger(to_float(load_values(k + j)), least); });
}

/// Kernel values of a row as floats.
HL_INLINE Vec<float> float_values(const float* p) { return load<Vec<float>>(p); }
HL_INLINE Vec<float> float_values(const Coarse* p) { return to_float(load_values(p)); }
/// The larger of up x and -dn x.
HL_INLINE Vec<float> with_room(Vec<float> x, const float* up, const float* dn) {
    return larger(static_cast<Vec<float>>(load<Vec<float>>(up) * x),
                  static_cast<Vec<float>>(-(load<Vec<float>>(dn) * x)));
}

template <class K, bool Moves> Top joint_move_pass(float* g, const K* k, float a, const K* l, float c, float b,
                                                   const float* up, const float* dn, Index n) {
    using V = Vec<float>;
    constexpr int W = lanes<float>;
    const V first = splat<V>(a), second = splat<V>(c), constant = splat<V>(b);
    LaneMost<float> high(0);
    for (Index from = 0; from < n; from += pass_step) {
        V worst[pass_group] = {};
        for (Index i = from; i < from + pass_step; i += pass_group * W)
            for (int u = 0; u < pass_group; ++u) {
                const Index j = i + u * W;
                V x = load<V>(g + j);
                if constexpr (Moves) {
                    if (u % line_registers<float> == 0) fetch_ahead(k + j), fetch_ahead(l + j);
                    x += fused(float_values(k + j), first, fused(float_values(l + j), second, constant));
                    store(g + j, x);
                }
                worst[u] = larger(worst[u], with_room(x, up + j, dn + j));
            }
        high.see(larger(larger(worst[0], worst[1]), larger(worst[2], worst[3])), from);
    }
    const float top = high.most();
    if (!(top > 0)) return {0.0, -1};
    const auto holds = [&](Index i) { return up[i] * g[i] == top || -(dn[i] * g[i]) == top; };
    return {static_cast<double>(top), high.first(top, holds)};
}
template <class K> Top joint_move(float* g, const K* k, double a, const K* l, double c, double b, const float* up,
                                  const float* dn, Index n) {
    const float x = static_cast<float>(a), y = static_cast<float>(c), z = static_cast<float>(b);
    return k ? joint_move_pass<K, true>(g, k, x, l, y, z, up, dn, n)
             : joint_move_pass<K, false>(g, k, x, l, y, z, up, dn, n);
}
template <class K> Index joint_partner(const float* g, const K* k, const JointRow& row, const float* q, const float* up,
                                       const float* dn, Index n) {
    using V = Vec<float>;
    const V base = splat<V>(static_cast<float>(row.base)), unit = splat<V>(static_cast<float>(row.unit));
    const V ratio = splat<V>(static_cast<float>(-row.ratio)), inverse = splat<V>(static_cast<float>(-row.inverse));
    const V least = splat<V>(1e-30f);
    const auto value = [&](Index j) HL_LAMBDA_INLINE { return fused(float_values(k + j), unit, base); };
    const auto slope = [&](int u, Index j) HL_LAMBDA_INLINE {
        if (u % line_registers<float> == 0) fetch_ahead(k + j);
        return with_room(fused(value(j), ratio, load<V>(g + j)), up + j, dn + j);
    };
    const auto bend = [&](Index j) HL_LAMBDA_INLINE {
        const V x = value(j);
        return larger(fused(static_cast<V>(x * inverse), x, load<V>(q + j)), least);
    };
    return best_quotient<float>(n, slope, bend).at;
}

template <class T> Glance glance(const T* k, const double* a, const T* g, const double* c, Index n) {
    using V = Vec<double>;
    constexpr int W = lanes<double>;
    const V zero{};
    V output[pass_group] = {}, sum[pass_group] = {}, squares[pass_group] = {};
    for (Index i = 0; i < n; i += pass_group * W)
        for (int u = 0; u < pass_group; ++u) {
            const Index j = i + u * W;
            const V x = load<V>(a + j);
            output[u] = fused(x, load_double(k + j), output[u]);
            const V h = x != zero ? load<V>(c + j) * load_double(g + j) : zero;
            sum[u] += h;
            squares[u] = fused(h, h, squares[u]);
        }
    return {total<double>(output), total<double>(sum), total<double>(squares)};
}

}  // namespace
}  // namespace hingeline::HINGELINE_ISA
