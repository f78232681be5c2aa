// Newton: the L2-SVM by Newton's method on the primal, where steps on one or two rows take long: the kernel matrix is
// ill-conditioned if C is large, if the kernel is flat, or if features are not scaled.
//
// Problem. At f = sum x_j y_j K_j the primal is 1/2 x'(Q - 1/c)x + 1/2 sum c_i max(0, 1 - z_i)^2 with z = y f. On the
// rows with a loss, S = {z < 1}, it is quadratic, and minimal where Q x = 1 on S and x = 0 elsewhere.
//
//     repeat: b = solution of Q b = 1 on S, b = 0 elsewhere, by conjugate gradients from x on, preconditioned by the
//                 diagonal of Q
//             x moves to the minimum of the primal on the line from x to b
//     until |x_i - c_i max(0, 1 - z_i)| <= goal c_i
//     v = max(x, 0) if that raises the dual D
//
// Few iterations are needed (O. Chapelle, "Training a support vector machine in the primal", Neural Computation 19,
// 2007), and few products: their number depends on the eigenvalues of K above 1 / C.
//
// State. r = 1 - Qv, so z = 1 - r - v / c. Two classes only: Q_ij = y_i y_j (K_ij + 1) + delta_ij / c_i.
#pragma once

#include "hingeline/algo/l2/walk.hpp"
#include "hingeline/core/aligned.hpp"

namespace hingeline::l2 {

enum class Step { taken, interrupted, stuck, indefinite };

template <class Source> class Newton {
    using T = typename Source::Value;

  public:
    Newton(Walk<Source>& walk, bool bias) : walk_(walk), s(walk.s), bias_(bias), x_(s.v), r_(s.r) {}

    /// Move v and r. Stuck: nothing has changed.
    Step move(double goal) {
        if (s.other != -1.0) return Step::stuck;  // several classes at once
        Array<double> b, r_b;
        for (Index iteration = 0; iteration < most_iterations && distance() > goal; ++iteration) {
            const Step solved = solve(goal, b, r_b);
            if (solved != Step::taken) return solved;
            if (!descend(b, r_b)) break;
        }
        return accept();
    }

  private:
    static constexpr Index most_iterations = 30, most_products = 1000;
    /// Largest S, whose kernel values are held, and largest number of kernel values of its columns.
    static constexpr Index most_rows = 4000;
    static constexpr double most_values = 5e7;

    /// xi_i = max(0, 1 - z_i).
    static double loss(double r, double x, double c) { return std::max(0.0, r + x / c); }
    /// Largest |x_i - c_i xi_i| / c_i.
    double distance() const {
        double worst = 0;
        for (Index i = 0; i < s.n(); ++i)
            worst = std::max(worst, std::abs(x_[i] / s.c[i] - loss(r_[i], x_[i], s.c[i])));
        return worst;
    }
    /// b and r_b = 1 - Qb.
    Step solve(double goal, Array<double>& b, Array<double>& r_b) {
        on_.clear();
        for (Index i = 0; i < s.n(); ++i)
            if (r_[i] + x_[i] / s.c[i] > 0) on_.push_back(i);
        const Index m = on_.size();
        if (m > most_rows || static_cast<double>(m) * static_cast<double>(s.n()) > most_values) return Step::stuck;
        if (!gather()) return Step::interrupted;
        Array<double> step(m, 0.0), p(m, 0.0), residual(m), product(m);
        for (Index i = 0; i < m; ++i) p[i] = x_[on_[i]];
        multiply(p, residual);
        for (double& value : residual) value = 1 - value;
        double rho = 0;
        for (Index count = 0; count < most_products; ++count) {
            double fresh = 0, worst = 0;
            for (Index i = 0; i < m; ++i) {
                fresh += residual[i] * residual[i] / s.q[on_[i]];
                worst = std::max(worst, std::abs(residual[i]));
            }
            if (worst <= goal / 2) break;
            for (Index i = 0; i < m; ++i) p[i] = residual[i] / s.q[on_[i]] + (count > 0 ? fresh / rho * p[i] : 0.0);
            rho = fresh;
            multiply(p, product);
            const double length = rho / dot(p, product);
            if (!(length > 0 && std::isfinite(length))) return Step::stuck;
            for (Index i = 0; i < m; ++i) step[i] += length * p[i], residual[i] -= length * product[i];
            if (walk_.interrupted()) return Step::interrupted;
        }
        b.assign(x_.size(), 0.0);
        for (Index i = 0; i < m; ++i) b[on_[i]] = x_[on_[i]] + step[i];
        Array<double> change(b);
        for (Index i = 0; i < s.n(); ++i) change[i] -= x_[i];
        if (!walk_.multiply(change, r_b)) return Step::interrupted;
        for (Index i = 0; i < s.n(); ++i) r_b[i] = r_[i] - r_b[i];
        return Step::taken;
    }
    /// Kernel values between the rows of S; false when interrupted.
    bool gather() {
        const Index m = on_.size(), width = padded(m);
        T* to = block_.reserve(m * width);
        for (const Index i : on_) {
            const T* k = walk_.columns.at(i);
            if (!k) return false;
            for (const Index j : on_) *to++ = k[j];
            to = std::fill_n(to, width - m, T(0));
        }
        return true;
    }
    /// out = Qp on S.
    void multiply(const Array<double>& p, Array<double>& out) {
        const Index m = on_.size(), width = padded(m);
        const auto y = [&](Index i) { return s.sign(s.code[on_[i]], 0); };
        double* const turned = signed_.reserve(width);
        std::fill_n(turned, width, 0.0);
        double total = 0;
        for (Index i = 0; i < m; ++i) total += turned[i] = y(i) * p[i];
        for (Index i = 0; i < m; ++i)
            out[i] = y(i) * (pass_ops<T>().inner(block_.data() + i * width, turned, m) + (bias_ ? total : 0.0)) +
                     p[i] / s.c[on_[i]];
    }
    /// Derivative of the primal at x + t (b - x).
    double slope(const Array<double>& b, const Array<double>& r_b, double t) const {
        double sum = 0;
        for (Index i = 0; i < s.n(); ++i) {
            const double x = x_[i] + t * (b[i] - x_[i]), r = r_[i] + t * (r_b[i] - r_[i]), c = s.c[i];
            const double rise = (r_[i] - r_b[i]) + (x_[i] - b[i]) / c;  // of z
            sum += (x - c * loss(r, x, c)) * rise;
        }
        return sum;
    }
    /// Move x to the minimum on the line to b; false if it is at x.
    bool descend(const Array<double>& b, const Array<double>& r_b) {
        double low = 0, high = 1;
        if (!(slope(b, r_b, 0) < 0)) return false;
        if (slope(b, r_b, 1) > 0)
            for (int halving = 0; halving < 30; ++halving) {
                const double middle = 0.5 * (low + high);
                (slope(b, r_b, middle) > 0 ? high : low) = middle;
            }
        else
            low = 1;
        for (Index i = 0; i < s.n(); ++i) {
            x_[i] = low == 1 ? b[i] : x_[i] + low * (b[i] - x_[i]);
            r_[i] = low == 1 ? r_b[i] : r_[i] + low * (r_b[i] - r_[i]);
        }
        return low > 0;
    }
    Step accept() {
        Array<double> negative(x_.size(), 0.0), product;
        bool any = false;
        for (Index i = 0; i < s.n(); ++i)
            if (x_[i] < 0) negative[i] = std::exchange(x_[i], 0.0), any = true;
        if (any) {
            if (!walk_.multiply(negative, product)) return Step::interrupted;
            for (Index i = 0; i < s.n(); ++i) r_[i] += product[i];
        }
        const auto dual = [](const Array<double>& v, const Array<double>& r) { return (sum(v) + dot(v, r)) / 2; };
        if (!(dual(x_, r_) > dual(s.v, s.r))) return Step::stuck;
        s.v = std::move(x_), s.r = std::move(r_);
        return Step::taken;
    }

    Walk<Source>& walk_;
    State& s;
    const bool bias_;
    Array<double> x_, r_;  // r_ = 1 - Q x_
    Array<Index> on_;      // S
    Aligned<T> block_;
    Aligned<double> signed_;
};

}  // namespace hingeline::l2
