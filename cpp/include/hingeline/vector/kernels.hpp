// Kernels: everything about each is here. A kernel is a function of x.z, |x|^2 and |z|^2.
//
// A new kernel is a line of HINGELINE_KERNELS, cases in the functions below where the general one does not fit, and a
// map in the second part. The second part is compiled once per instruction set (cpp/src/tables.cpp).
#ifndef HINGELINE_VECTOR_KERNELS_HPP
#define HINGELINE_VECTOR_KERNELS_HPP

#ifndef HINGELINE_ISA
#include <cmath>
#endif

/// X(name in Python and enumerator, class of the map).
#define HINGELINE_KERNELS(X) \
    X(linear, Linear)        \
    X(rbf, Rbf)              \
    X(poly, Poly)            \
    X(sigmoid, Sigmoid)

namespace hingeline {

#define HINGELINE_ENUMERATOR(name, map) name,
enum class KernelKind : int { HINGELINE_KERNELS(HINGELINE_ENUMERATOR) };
#undef HINGELINE_ENUMERATOR

struct Kernel {
    KernelKind kind = KernelKind::rbf;
    double gamma = 1.0;
    double coef0 = 0.0;
    int degree = 3;
};

#ifndef HINGELINE_ISA  // tables.cpp may not emit functions that others share

/// Whether values are the products x.z, without a map.
inline bool is_linear(const Kernel& kernel) { return kernel.kind == KernelKind::linear; }
/// Whether values depend on x - z only, lie between 0 and 1, and K(x, x) = 1. Then rows may be shifted.
inline bool is_of_distance(const Kernel& kernel) { return kernel.kind == KernelKind::rbf; }

/// Size of what the map is computed from, for rows with squared norms up to `norm`; of a power, its size. Its rounding
/// errors must be small beside kernel values.
inline double argument_size(const Kernel& kernel, double norm) {
    if (is_linear(kernel)) return norm;
    const double inner = std::abs(kernel.gamma) * norm + std::abs(kernel.coef0);
    return kernel.kind == KernelKind::poly ? std::pow(inner, kernel.degree) : inner;
}

/// Since |x.z| <= |x||z|, a polynomial that is in range at the product of the norms is in range for all pairs. `a` and
/// `b` are the largest squared norms of both sides.
inline double poly_bound(const Kernel& kernel, double a, double b) {
    return std::pow(std::abs(kernel.gamma) * std::sqrt(a) * std::sqrt(b) + std::abs(kernel.coef0), kernel.degree);
}
/// Whether values may leave the range of floating-point numbers on rows that are moderate.
inline bool may_overflow(const Kernel& kernel) { return kernel.kind == KernelKind::poly; }
/// An upper bound of |K| for rows with squared norms up to `norm`.
inline double value_bound(const Kernel& kernel, double norm) {
    if (is_linear(kernel)) return norm;
    return kernel.kind == KernelKind::poly ? poly_bound(kernel, norm, norm) : 1.0;
}

#endif

}  // namespace hingeline

#endif

// ---- maps ---------------------------------------------------------------------------------------------
// Dot products x[i] and sums of squared norms norms[i] to kernel values, several registers in lockstep.
#ifdef HINGELINE_MAPS

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
    explicit Linear(const Kernel&) {}
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

/// Call f with the map of a kernel.
template <class T, class F> void with_map(const Kernel& kernel, F&& f) {
    switch (kernel.kind) {
#define HINGELINE_CASE(name, map) \
    case KernelKind::name:        \
        return f(map<T>(kernel));
        HINGELINE_KERNELS(HINGELINE_CASE)
#undef HINGELINE_CASE
    }
}

}  // namespace
}  // namespace hingeline::HINGELINE_ISA

#endif
