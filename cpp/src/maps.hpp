// Kernel maps: dot products and squared norms to kernel values, several registers in lockstep. Part of tables.cpp.
#pragma once

#include "simd.hpp"

namespace hingeline::HINGELINE_ISA {
namespace {

/// exp(-gamma d2) = 2^(n + f) for d2 >= 0. With a fused multiply-add the factor -gamma log2 e is kept in two
/// parts and the argument is never rounded; without one the argument is rounded once and reduced by parts of
/// ln 2 whose products with n are exact (Cody and Waite).
template <class T> struct Rbf {
    using V = Vec<T>;
    T high, low, rate, farthest;
    explicit Rbf(const Kernel& k) {
        const double log2e = 1.4426950408889634074, log2e_rest = 2.0355273740931033e-17;
        const double gamma = k.gamma < Bits<T>::steepest ? k.gamma : Bits<T>::steepest;
        const double factor = -gamma * log2e;
        rate = static_cast<T>(-gamma);
        high = static_cast<T>(factor);
        low = sizeof(T) == 4 ? static_cast<T>(factor - static_cast<double>(high))
                             : static_cast<T>(::fma(-gamma, log2e, -factor) - gamma * log2e_rest);
        farthest = static_cast<T>(Bits<T>::vanished) / -high;  // beyond it the value is zero; infinite for gamma = 0
    }
    template <int N> HL_INLINE void operator()(V (&x)[N], const V (&norms)[N]) const {
        using B = Bits<T>;
        V d2[N], whole[N], f[N], p[N];
        for (int i = 0; i < N; ++i) d2[i] = larger(static_cast<V>(norms[i] - static_cast<T>(2) * x[i]), V{});
        for (int i = 0; i < N; ++i) d2[i] = smaller(d2[i], splat<V>(farthest));
        if constexpr (fuses) {
            for (int i = 0; i < N; ++i) whole[i] = nearest(static_cast<V>(d2[i] * high));
            for (int i = 0; i < N; ++i) f[i] = fused(d2[i], splat<V>(high), static_cast<V>(-whole[i]));
            for (int i = 0; i < N; ++i) f[i] = fused(d2[i], splat<V>(low), f[i]);
        } else {
            for (int i = 0; i < N; ++i) f[i] = d2[i] * rate;
            for (int i = 0; i < N; ++i) whole[i] = nearest(static_cast<V>(f[i] * B::log2e));
            for (int i = 0; i < N; ++i) f[i] = ((f[i] - whole[i] * B::ln2_high) - whole[i] * B::ln2_low) * B::log2e;
        }
        for (int i = 0; i < N; ++i) p[i] = fused(f[i], splat<V>(B::poly[B::degree]), splat<V>(B::poly[B::degree - 1]));
        for (int c = B::degree - 2; c >= 0; --c)
            for (int i = 0; i < N; ++i) p[i] = fused(p[i], f[i], splat<V>(B::poly[c]));
        for (int i = 0; i < N; ++i) x[i] = scale(p[i], whole[i]);
    }
};
template <class T> struct Linear {
    using V = Vec<T>;
    template <int N> HL_INLINE void operator()(V (&)[N], const V (&)[N]) const {}
};
template <class T> struct Poly {
    using V = Vec<T>;
    T gamma, coef0;
    int degree;
    explicit Poly(const Kernel& k) : gamma(static_cast<T>(k.gamma)), coef0(static_cast<T>(k.coef0)), degree(k.degree) {}
    template <int N> HL_INLINE void operator()(V (&x)[N], const V (&)[N]) const {
        for (int i = 0; i < N; ++i) {
            V base = fused(x[i], splat<V>(gamma), splat<V>(coef0));
            x[i] = splat<V>(static_cast<T>(1));
            for (int e = degree; e > 0; e >>= 1) {
                if (e & 1) x[i] = x[i] * base;
                base = base * base;
            }
        }
    }
};
HL_INLINE float tanh_of(float x) { return ::tanhf(x); }
HL_INLINE double tanh_of(double x) { return ::tanh(x); }
template <class T> struct Sigmoid {
    using V = Vec<T>;
    T gamma, coef0;
    explicit Sigmoid(const Kernel& k) : gamma(static_cast<T>(k.gamma)), coef0(static_cast<T>(k.coef0)) {}
    template <int N> HL_INLINE void operator()(V (&x)[N], const V (&)[N]) const {
        for (int i = 0; i < N; ++i) {
            T lane[lanes<T>];
            store(lane, fused(x[i], splat<V>(gamma), splat<V>(coef0)));
            for (int w = 0; w < lanes<T>; ++w) lane[w] = tanh_of(lane[w]);
            x[i] = load<V>(lane);
        }
    }
};

}  // namespace
}  // namespace hingeline::HINGELINE_ISA
