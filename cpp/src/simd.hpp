// Registers of the instruction set this file is compiled for: vector types of the compiler, or single values if it has
// none. Part of tables.cpp: everything has internal linkage (see there).
#pragma once

#include <math.h>
#include <string.h>

#include "tables.hpp"
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#ifndef HINGELINE_ISA
#define HINGELINE_ISA baseline
#endif
#if !defined(__GNUC__) && !defined(__clang__)
#undef HINGELINE_VECTOR_BYTES
#define HINGELINE_VECTOR_BYTES 0
#endif

#if defined(__GNUC__) || defined(__clang__)
#define HL_INLINE inline __attribute__((always_inline))
#define HL_LAMBDA_INLINE __attribute__((always_inline))
#else
#define HL_INLINE inline
#define HL_LAMBDA_INLINE
#endif

#define HL_STRING2(x) #x
#define HL_STRING(x) HL_STRING2(x)

namespace hingeline::HINGELINE_ISA {
namespace {

template <class T> struct Bits;
template <> struct Bits<float> {
    using Int = std::int32_t;
    static constexpr int mantissa = 23;
    static constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    static constexpr float least_exponent = -125.0f;
    static constexpr float log2e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    static constexpr double steepest = 1e37, vanished = 160;  // largest gamma; 2^-vanished is zero
    static constexpr int degree = 6;
    // Minimax polynomial of 2^f on [-1/2, 1/2], relative error 1.9e-9, constant term rounded to 1.
    static constexpr float poly[7] = {1.0f,           0.693147206f,   0.240226469f,   0.0555032878f,
                                      0.00961848896f, 0.00133999312f, 0.000153458122f};
};
template <> struct Bits<double> {
    using Int = std::int64_t;
    static constexpr int mantissa = 52;
    static constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double least_exponent = -1021.0;
    static constexpr double log2e = 1.4426950408889634, ln2_high = 6.93147180369123816490e-01,
                            ln2_low = 1.90821492927058770002e-10;
    static constexpr double steepest = 1e307, vanished = 1100;
    static constexpr int degree = 11;
    // The same, relative error 3.1e-18.
    static constexpr double poly[12] = {1.0,
                                        0.69314718055994533046,
                                        0.24022650695910156205,
                                        0.055504108664819921483,
                                        0.0096181291075883350833,
                                        0.0013333558146789950323,
                                        0.00015403530462514613026,
                                        0.0000152527334899608046,
                                        1.3215433089594629037e-6,
                                        1.0178198033328527662e-7,
                                        7.0741056262456593708e-9,
                                        4.4352809446103361611e-10};
};

#if HINGELINE_VECTOR_BYTES > 0
template <class T, int Bytes = HINGELINE_VECTOR_BYTES> struct Pack {
    typedef T Vec __attribute__((vector_size(Bytes)));
    static constexpr int lanes = Bytes / sizeof(T);
};
#else
template <class T> struct Pack {
    using Vec = T;
    static constexpr int lanes = 1;
};
#endif
template <class T> using Vec = typename Pack<T>::Vec;
template <class T> using IntVec = typename Pack<typename Bits<T>::Int>::Vec;
template <class T> inline constexpr int lanes = Pack<T>::lanes;

template <class V> struct LaneOf {
    using type = V;
};
#if HINGELINE_VECTOR_BYTES > 0
template <> struct LaneOf<Vec<float>> {
    using type = float;
};
template <> struct LaneOf<Vec<double>> {
    using type = double;
};
#endif
template <class V> using Lane = typename LaneOf<V>::type;

template <class V, class T> HL_INLINE V load(const T* p) {
    V v;
    memcpy(&v, p, sizeof(V));
    return v;
}
template <class V, class T> HL_INLINE void store(T* p, V v) { memcpy(p, &v, sizeof(V)); }
template <class V, class T> HL_INLINE V splat(T x) { return x - V{}; }
/// As many values as a register holds doubles, as doubles.
template <class T> HL_INLINE Vec<double> load_double(const T* p) {
#if HINGELINE_VECTOR_BYTES > 0
    if constexpr (sizeof(T) == 4) {
#if HINGELINE_VECTOR_BYTES == 64 && defined(__AVX512F__)  // GCC would convert the halves one by one
        return (Vec<double>)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#else
        typedef float Half __attribute__((vector_size(HINGELINE_VECTOR_BYTES / 2)));
        return __builtin_convertvector(load<Half>(p), Vec<double>);
#endif
    } else {
        return load<Vec<double>>(p);
    }
#else
    return static_cast<double>(*p);
#endif
}
template <class To, class From> HL_INLINE To reinterpret(From v) {
    To out;
    memcpy(&out, &v, sizeof(To));
    return out;
}

/// a * b + c for one value, fused exactly where the vector code fuses. Contraction is off: which sums a compiler fuses
/// depends on its version (GCC 13 leaves some chains of sums unfused that GCC 12 fuses).
HL_INLINE float madd(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}
HL_INLINE double madd(double a, double b, double c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

/// The same for registers.
#if HINGELINE_VECTOR_BYTES == 64 && defined(__AVX512F__)
constexpr bool fuses = true;
HL_INLINE Vec<float> fused(Vec<float> a, Vec<float> b, Vec<float> c) { return (Vec<float>)_mm512_fmadd_ps(a, b, c); }
HL_INLINE Vec<double> fused(Vec<double> a, Vec<double> b, Vec<double> c) {
    return (Vec<double>)_mm512_fmadd_pd(a, b, c);
}
#elif HINGELINE_VECTOR_BYTES == 32 && defined(__FMA__)
constexpr bool fuses = true;
HL_INLINE Vec<float> fused(Vec<float> a, Vec<float> b, Vec<float> c) { return (Vec<float>)_mm256_fmadd_ps(a, b, c); }
HL_INLINE Vec<double> fused(Vec<double> a, Vec<double> b, Vec<double> c) {
    return (Vec<double>)_mm256_fmadd_pd(a, b, c);
}
#elif HINGELINE_VECTOR_BYTES == 16 && defined(__aarch64__)
constexpr bool fuses = true;
HL_INLINE Vec<float> fused(Vec<float> a, Vec<float> b, Vec<float> c) { return (Vec<float>)vfmaq_f32(c, a, b); }
HL_INLINE Vec<double> fused(Vec<double> a, Vec<double> b, Vec<double> c) { return (Vec<double>)vfmaq_f64(c, a, b); }
#else
constexpr bool fuses = false;
template <class V> HL_INLINE V fused(V a, V b, V c) { return a * b + c; }
#endif

/// The larger and the smaller of each pair of lanes.
template <class V> HL_INLINE V larger(V a, V b) { return a > b ? a : b; }
template <class V> HL_INLINE V smaller(V a, V b) { return a < b ? a : b; }
template <class V> HL_INLINE V magnitude(V x) { return x > V{} ? x : -x; }
/// The larger of a and b where `room` is positive, a elsewhere.
template <class V> HL_INLINE V larger_where(V room, V a, V b) { return larger(a, room > V{} ? b : a); }
/// First lane that holds `value`; one does.
template <class T> HL_INLINE int first_lane(Vec<T> x, T value) {
    T lane[lanes<T>];
    store(lane, x);
    int w = 0;
    while (lane[w] != value) ++w;
    return w;
}
/// Whether a comparison holds in any lane.
template <class M> HL_INLINE bool any(M mask) {
    std::int64_t lane[sizeof(M) / sizeof(std::int64_t) > 0 ? sizeof(M) / sizeof(std::int64_t) : 1] = {};
    memcpy(lane, &mask, sizeof(M));
    std::int64_t bits = 0;
    for (const std::int64_t x : lane) bits |= x;
    return bits != 0;
}
/// Round each lane to an integer (|x| < 2^22, or 2^51 in double).
template <class V> HL_INLINE V nearest(V x) {
    using B = Bits<Lane<V>>;
    return (x + B::magic) - B::magic;
}
/// p * 2^whole; subnormal results become zero.
template <class V> HL_INLINE V scale(V p, V whole) {
    using B = Bits<Lane<V>>;
    using IV = IntVec<Lane<V>>;
    const IV exponent = reinterpret<IV>(static_cast<V>(whole + B::magic)) << B::mantissa;
    const V scaled = reinterpret<V>(static_cast<IV>(reinterpret<IV>(p) + exponent));
    return whole < B::least_exponent ? V{} : scaled;
}
#if HINGELINE_VECTOR_BYTES == 64 && defined(__AVX512F__)
template <> HL_INLINE Vec<float> smaller(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm512_min_ps(a, b); }
template <> HL_INLINE Vec<double> smaller(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm512_min_pd(a, b); }
// GCC 12 warns without cause that an operand of the form without a mask is uninitialised.
template <> HL_INLINE Vec<float> larger(Vec<float> a, Vec<float> b) {
    return (Vec<float>)_mm512_maskz_max_ps(0xffff, a, b);
}
template <> HL_INLINE Vec<double> larger(Vec<double> a, Vec<double> b) {
    return (Vec<double>)_mm512_maskz_max_pd(0xff, a, b);
}
template <> HL_INLINE Vec<double> magnitude(Vec<double> x) { return (Vec<double>)_mm512_abs_pd(x); }
template <> HL_INLINE Vec<float> magnitude(Vec<float> x) { return (Vec<float>)_mm512_abs_ps(x); }
template <> HL_INLINE Vec<float> larger_where(Vec<float> room, Vec<float> a, Vec<float> b) {
    return (Vec<float>)_mm512_mask_max_ps(a, _mm512_cmp_ps_mask(room, _mm512_setzero_ps(), _CMP_GT_OQ), a, b);
}
template <> HL_INLINE Vec<double> larger_where(Vec<double> room, Vec<double> a, Vec<double> b) {
    return (Vec<double>)_mm512_mask_max_pd(a, _mm512_cmp_pd_mask(room, _mm512_setzero_pd(), _CMP_GT_OQ), a, b);
}
template <> HL_INLINE int first_lane<float>(Vec<float> x, float value) {
    return __builtin_ctz(_mm512_cmp_ps_mask(x, _mm512_set1_ps(value), _CMP_EQ_OQ));
}
template <> HL_INLINE int first_lane<double>(Vec<double> x, double value) {
    return __builtin_ctz(_mm512_cmp_pd_mask(x, _mm512_set1_pd(value), _CMP_EQ_OQ));
}
template <> HL_INLINE Vec<float> nearest(Vec<float> x) { return (Vec<float>)_mm512_roundscale_ps(x, 8); }
template <> HL_INLINE Vec<double> nearest(Vec<double> x) { return (Vec<double>)_mm512_roundscale_pd(x, 8); }
template <> HL_INLINE Vec<float> scale(Vec<float> p, Vec<float> n) { return (Vec<float>)_mm512_scalef_ps(p, n); }
template <> HL_INLINE Vec<double> scale(Vec<double> p, Vec<double> n) { return (Vec<double>)_mm512_scalef_pd(p, n); }
#endif

#if HINGELINE_VECTOR_BYTES > 0
template <int... I> struct Seq {};
template <int N, int... I> struct MakeSeq : MakeSeq<N - 1, N - 1, I...> {};
template <int... I> struct MakeSeq<0, I...> {
    using type = Seq<I...>;
};
template <int Shift, class V, int... I> HL_INLINE V rotated(V x, Seq<I...>) {
    return __builtin_shufflevector(x, x, ((I + Shift) % static_cast<int>(sizeof...(I)))...);
}
/// In every lane the largest one.
template <int Shift, class V> HL_INLINE V largest_everywhere(V x) {
    if constexpr (Shift > 0) {
        const V other = rotated<Shift>(x, typename MakeSeq<lanes<Lane<V>>>::type{});
        return largest_everywhere<Shift / 2>(larger(x, other));
    } else {
        return x;
    }
}
/// Largest lane. No NaN.
template <class T> HL_INLINE T largest_lane(Vec<T> x) { return largest_everywhere<lanes<T> / 2>(x)[0]; }
template <class V, int... I> HL_INLINE V interleave_low(V a, V b, Seq<I...>) {
    constexpr int W = sizeof...(I);
    return __builtin_shufflevector(a, b, (I / 2 + (I % 2) * W)...);
}
template <class V, int... I> HL_INLINE V interleave_high(V a, V b, Seq<I...>) {
    constexpr int W = sizeof...(I);
    return __builtin_shufflevector(a, b, (W / 2 + I / 2 + (I % 2) * W)...);
}
/// Transpose a square block in registers: log2(W) rounds of perfect shuffles.
template <class V, int W> HL_INLINE void transpose(V (&a)[W]) {
    using S = typename MakeSeq<W>::type;
    for (int s = 1; s < W; s *= 2) {
        V b[W];
        for (int i = 0; i < W / 2; ++i) {
            b[2 * i] = interleave_low(a[i], a[i + W / 2], S{});
            b[2 * i + 1] = interleave_high(a[i], a[i + W / 2], S{});
        }
        for (int i = 0; i < W; ++i) a[i] = b[i];
    }
}
#else
template <class T> HL_INLINE T largest_lane(T x) { return x; }
template <class V> HL_INLINE void transpose(V (&)[1]) {}
#endif

}  // namespace
}  // namespace hingeline::HINGELINE_ISA
