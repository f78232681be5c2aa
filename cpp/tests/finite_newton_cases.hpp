// Plain sums in double for the tests of finite_newton.hpp: rows in all forms, losses, problems with several machines.
#pragma once

#include <limits>
#include <numeric>

#include "check.hpp"
#include "data.hpp"
#include "hingeline/algo/finite_newton.hpp"

namespace hingeline::finite_newton {
namespace {

using namespace hingeline::testing;

using Numbers = std::vector<double>;

constexpr double infinite = std::numeric_limits<double>::infinity();
/// Squared hinge, modified Huber, squared, hinge smoothed over a width of 1/4.
constexpr Clip clips[] = {{1, 0, infinite}, {1, 0, 2}, {1, -infinite, infinite}, {1.25, 0, 0.5}};

bool near(double a, double b, double size = 1.0) { return std::abs(a - b) <= 1e-12 * (1 + size); }
bool near(const double* a, const double* b, Index n) {
    double size = 0;
    for (Index i = 0; i < n; ++i) size = std::max(size, std::abs(b[i]));
    for (Index i = 0; i < n; ++i)
        if (!near(a[i], b[i], size)) return false;
    return true;
}
bool near(const Numbers& a, const Numbers& b) {
    return a.size() == b.size() && near(a.data(), b.data(), static_cast<Index>(a.size()));
}
bool near(const MarginSums& a, const MarginSums& b) {
    const double x[] = {a.loss, a.pull, a.weighted, a.squares, a.active, a.hinge};
    const double y[] = {b.loss, b.pull, b.weighted, b.squares, b.active, b.hinge};
    for (int j = 0; j < 6; ++j)
        if (!near(x[j], y[j], std::abs(y[j]))) return false;
    return a.active == b.active;
}
/// The lower triangles; products may have been rounded to single precision.
bool near(const Numbers& a, const Numbers& b, Index length, bool precise = true) {
    double size = precise ? 0 : 1;
    for (const double x : b) size = std::max(size, std::abs(x));
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j <= i; ++j)
            if (!near(a[i * length + j], b[i * length + j], precise ? size : 1e6 * size)) return false;
    return true;
}

Numbers random_numbers(Random& random, Index n, double size = 1.0) {
    Numbers out = random_values<double>(random, 1, n);
    for (double& x : out) x *= size;
    return out;
}

/// The same rows in every form: dense (as they are, with gaps between rows, by columns, backwards), CSR.
template <class T> struct Matrix {
    static constexpr int forms = 6;
    Index n, d;
    std::vector<T> x, gaps, turned, backwards;
    OwnedCsr<T, std::int32_t> csr32;
    OwnedCsr<T, std::int64_t> csr64;
    Matrix(Random& random, Index n_, Index d_, double density) : n(n_), d(d_) {
        x = random_values<T>(random, n, d, density);
        for (Index i = 0; i < n; ++i)  // some rows have no entries
            if (i == 0 || i == n - 1 || (i / 2) % 11 == 3) std::fill_n(x.begin() + i * d, n > 2 ? d : 0, T(0));
        gaps.assign(x.size() + 3 * n, std::numeric_limits<T>::quiet_NaN());
        turned.resize(x.size());
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < d; ++j) gaps[i * (d + 3) + j] = turned[j * n + i] = x[i * d + j];
        backwards.assign(x.rbegin(), x.rend());
        csr32 = to_csr<T, std::int32_t>(x, n, d);
        csr64 = to_csr<T, std::int64_t>(x, n, d);
    }
    Rows<T> form(int kind) const {
        switch (kind) {
            case 0:
                return dense_view(x, n, d);
            case 1:
                return DenseRows<T>{gaps.data(), n, d, d + 3, 1};
            case 2:
                return DenseRows<T>{turned.data(), n, d, 1, n};
            case 3:
                return DenseRows<T>{backwards.data() + std::max<Index>(n * d, 1) - 1, n, d, -d, -1};
            case 4:
                return csr32.view();
            default:
                return csr64.view();
        }
    }
    double at(Index i, Index j) const { return static_cast<double>(x[i * d + j]); }
};

// ---- losses ------------------------------------------------------------------------------------------

/// One row against one threshold.
struct Loss {
    double sign, weight, xi, pull, curved;
    Loss(const Clip& clip, double f, double s, double t) : sign(t), weight(s), xi(clip.margin - t * f) {
        pull = std::min(std::max(xi, clip.low), clip.high);
        curved = clip.low < xi && xi < clip.high ? s : 0.0;
    }
    Loss(const Clip& clip, double f, double v) : Loss(clip, f, std::abs(v), v > 0 ? 1.0 : -1.0) {}
    void add_to(MarginSums& sums) const {
        sums.loss += weight * pull * (xi - pull / 2);
        sums.pull += weight * pull;
        sums.weighted += weight * pull * sign;
        sums.squares += curved * xi * xi;
        sums.active += curved > 0;
    }
};
double hinge(double f, double v) { return std::abs(v) * std::max(0.0, v > 0 ? 1 - f : 1 + f); }
double distance(const Loss& at, const Clip& clip, double made, double margin, double curved) {
    if (!(at.weight > 0)) return 0;
    const double g = at.sign * made + curved * at.pull - margin;
    if (at.pull <= clip.low) return std::max(0.0, -g);
    if (at.pull >= clip.high) return std::max(0.0, g);
    return std::abs(g);
}

// ---- the reference -----------------------------------------------------------------------------------

/// Sums at a point, by definition.
struct Truth {
    MarginSums sums{};
    Numbers gradient, hessian, outputs, pulls;
    Numbers curved;  // by row and threshold
};

template <class T> struct Problem {
    const Matrix<T>& m;
    std::vector<Index> ids;  // none: all rows
    Machines machines;
    Clip clip;
    Numbers planes, shares;
    Index n, s, length, sketch = 1;
    bool precise = true;

    Problem(Random& random, const Matrix<T>& m_, const Clip& clip_, Index count, Index thresholds, bool codes,
            bool subset)
        : m(m_), clip(clip_) {
        n = subset ? 2 * m.n / 3 : m.n;
        for (Index i = 0; subset && i < n; ++i) ids.push_back(below(random, m.n));
        machines.plane_count = std::min<Index>(count, 3);
        planes = random_numbers(random, machines.plane_count * n);
        for (double& v : planes) {
            if (codes) v = std::abs(v);
            if (uniform(random) < 0.15) v = 0;
        }
        for (Index k = 0; k < count; ++k) machines.plane_of.push_back((2 * k + 1) % machines.plane_count);
        for (Index i = 0; codes && i < n; ++i)
            machines.codes.push_back(static_cast<std::int32_t>(below(random, thresholds + 2)));
        machines.thresholds = thresholds;
        machines.offset = 1.5;
        s = std::max<Index>(thresholds, 1);
        length = m.d + thresholds;
        shares.assign(n, 1.0);
    }
    Part<T> part(int kind) {
        machines.planes = planes.data();
        return Part<T>(m.form(kind), ids, machines, clip);
    }
    Index row(Index i) const { return ids.empty() ? i : ids[i]; }
    double shift(const double* b, Index r) const { return r < machines.thresholds ? machines.offset * b[m.d + r] : 0; }
    Numbers outputs(const double* b) const {
        Numbers out(n, 0.0);
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < m.d; ++j) out[i] += m.at(row(i), j) * b[j];
        return out;
    }
    double signed_weight(Index k, Index i, Index r) const {
        const double v = planes[machines.plane_of[k] * n + i];
        return machines.codes.empty() || machines.codes[i] > r ? v : -v;
    }
    Loss loss(Index k, Index i, Index r, double f) const { return Loss(clip, f, signed_weight(k, i, r)); }
    Truth at(Index k, const double* b) const {
        Truth out;
        out.outputs = outputs(b);
        out.gradient.assign(length, 0.0);
        out.hessian.assign(length * length, 0.0);
        Numbers x(length);  // the output against a threshold is linear in this
        for (Index i = 0; i < n; ++i) {
            double pull = 0;
            for (Index j = 0; j < m.d; ++j) x[j] = m.at(row(i), j);
            for (Index r = 0; r < s; ++r) {
                const double f = out.outputs[i] - shift(b, r);
                const Loss one = loss(k, i, r, f);
                one.add_to(out.sums);
                out.sums.hinge += hinge(f, signed_weight(k, i, r));
                out.curved.push_back(one.curved);
                const double p = one.weight * one.pull * one.sign;
                pull += p;
                std::fill(x.begin() + m.d, x.end(), 0.0);
                if (r < machines.thresholds) x[m.d + r] = -machines.offset;
                for (Index j = 0; j < length; ++j) {
                    if (x[j] == 0) continue;
                    out.gradient[j] -= p * x[j];
                    for (Index l = 0; l <= j; ++l) out.hessian[j * length + l] += shares[i] * one.curved * x[j] * x[l];
                }
            }
            out.pulls.push_back(pull);
        }
        return out;
    }
    Slope slope(Index k, const double* from, const double* to, double delta) const {
        Slope out{0, 0};
        const Numbers y = outputs(from), target = outputs(to);
        for (Index i = 0; i < n; ++i)
            for (Index r = 0; r < s; ++r) {
                const double f = y[i] - shift(from, r), change = target[i] - shift(to, r) - f;
                const Loss one = loss(k, i, r, f + delta * change);
                out.first -= one.weight * one.pull * one.sign * change;
                out.second += one.curved * change * change;
            }
        return out;
    }
    double violation(Index k, const double* at, const double* b, double margin, double curved) const {
        double worst = 0;
        const Numbers y = outputs(at), made = outputs(b);
        for (Index i = 0; i < n; ++i)
            for (Index r = 0; r < s; ++r)
                worst = std::max(
                    worst, distance(loss(k, i, r, y[i] - shift(at, r)), clip, made[i] - shift(b, r), margin, curved));
        return worst;
    }
};

/// The lower triangle times p.
Numbers times(const Numbers& h, const double* p, Index length) {
    Numbers out(length, 0.0);
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) out[i] += h[std::max(i, j) * length + std::min(i, j)] * p[j];
    return out;
}
Numbers line(const Numbers& lines, Index q, Index length) {
    return Numbers(lines.begin() + q * length, lines.begin() + (q + 1) * length);
}

}  // namespace
}  // namespace hingeline::finite_newton
