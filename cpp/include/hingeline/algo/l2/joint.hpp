// Joint: steps on two coefficients of a working set whose kernel values are held.
//
// Problem. Two classes; with beta_i = y_i v_i the dual of state.hpp has no signs in its matrix:
//
//     maximise sum |beta_i| - 1/2 beta'Q beta,  y_i beta_i >= 0,  Q_ij = K_ij + bias + delta_ij / c_i
//
// on the rows of the working set, the other coefficients fixed. g is the gradient, y_i r_i.
//
//     repeat: i = coefficient with the largest |g_i| that has room to move;  stop if it is at most tol
//             j = coefficient with room, with the largest (g_j - Q_ij g_i / Q_ii)^2 / (Q_jj - Q_ij^2 / Q_ii)
//             beta_i, beta_j = maximiser given all others;  g follows
//
// The quotient is twice the gain of j after the step on i alone, without bounds. The step is neither restricted to a
// constant sum, as in MNSVM, nor to one coefficient, as in NNISDA: a third and a tenth of the number of steps.
//
// Precision. Kernel values are floats, or 16 bits for kernels with values from 0 to 1 and a unit diagonal; g is in
// single precision. The caller computes r again from the change of beta (blocks.hpp), so errors do not accumulate.
#pragma once

#include "hingeline/core/interrupt.hpp"
#include "hingeline/core/large.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline::l2 {

/// K: float, or Coarse.
template <class K> class Joint {
  public:
    /// Make room for m coefficients, all zero.
    void resize(Index m, bool bias) {
        width_ = padded(m), bias_ = bias ? 1.0 : 0.0;
        if (width_ * m > memory_.size()) memory_ = LargeMemory<K>(), memory_ = LargeMemory<K>(width_ * m);
        for (Array<float>* some : {&g_, &up_, &down_, &single_}) some->assign(width_, 0.0f);
        std::fill(single_.begin() + m, single_.end(), 1.0f);
        beta_.assign(m, 0.0), own_.assign(m, 0.0), q_.assign(m, 1.0), positive_.assign(m, 0);
    }
    /// Kernel values of coefficient i, to be set by the caller; the padding is zero.
    K* row(Index i) { return memory_.data() + i * width_; }
    Index width() const { return width_; }
    /// Coefficient i, with gradient r of D in v, curvature q = Q_ii.
    void set(Index i, bool positive, double v, double r, double c, double q) {
        positive_[i] = positive;
        beta_[i] = positive ? v : -v;
        g_[i] = static_cast<float>(positive ? r : -r);
        own_[i] = 1 / c, q_[i] = q, single_[i] = static_cast<float>(q);
        set_room(i);
    }
    double v(Index i) const { return std::abs(beta_[i]); }

    /// At most `most` steps; returns their number. Ends early when interrupted.
    Index solve(double tol, Index most, Interrupt* interrupt) {
        constexpr float out = 1e30f;  // as curvature: i is not its own partner
        const auto& op = joint_ops<K>();
        Top top = op.move(g_.data(), nullptr, 0, nullptr, 0, 0, up_.data(), down_.data(), width_);
        Index steps = 0;
        for (; steps < most && top.at >= 0 && top.value > tol; ++steps) {
            if (steps % 64 == 0 && interrupt && interrupt->requested()) break;
            const Index i = top.at;
            const double g = g_[i], q = q_[i];
            const float kept = std::exchange(single_[i], out);
            const Index best = op.partner(g_.data(), row(i), {base(), unit(), 1 / q, g / q}, single_.data(), up_.data(),
                                          down_.data(), width_);
            const Index j = best == i ? -1 : best;  // i, where no other gains anything
            single_[i] = kept;
            const auto [a, b] = j < 0 ? Change{within(i, g / q), 0.0} : best_change(i, j);
            if (beta_[i] + a == beta_[i] && (j < 0 || beta_[j] + b == beta_[j])) break;  // in rounding errors
            change(i, a);
            if (j >= 0) change(j, b);
            top = op.move(g_.data(), row(i), -a * unit(), row(j < 0 ? i : j), -b * unit(), -(a + b) * base(),
                          up_.data(), down_.data(), width_);
        }
        return steps;
    }

  private:
    struct Change {
        double a, b;
    };
    // K + bias = base + unit * stored.
    static constexpr double unit() { return std::is_same_v<K, Coarse> ? -coarse_unit : 1.0; }
    double base() const { return std::is_same_v<K, Coarse> ? 1.0 + bias_ : bias_; }

    void set_room(Index i) {
        up_[i] = positive_[i] || beta_[i] < 0 ? 1.0f : 0.0f;
        down_[i] = !positive_[i] || beta_[i] > 0 ? 1.0f : 0.0f;
    }
    /// The change nearest to d that keeps the sign of beta_i.
    double within(Index i, double d) const { return positive_[i] ? std::max(d, -beta_[i]) : std::min(d, -beta_[i]); }
    void change(Index i, double d) {
        beta_[i] += d;
        g_[i] = static_cast<float>(g_[i] - d * own_[i]);
        set_room(i);
    }
    /// Maximiser of a g_i + b g_j - (q_i a^2 + q_j b^2) / 2 - a b k within the bounds.
    Change best_change(Index i, Index j) {
        const double k = base() + unit() * static_cast<double>(row(i)[j]);
        const double gi = g_[i], gj = g_[j], qi = q_[i], qj = q_[j], bend = qi * qj - k * k;
        if (bend > 1e-12 * qi * qj) {
            const Change free{(qj * gi - k * gj) / bend, (qi * gj - k * gi) / bend};
            if (within(i, free.a) == free.a && within(j, free.b) == free.b) return free;
        }
        // On a bound of one, the other is best within its own.
        const auto gain = [&](Change x) {
            return x.a * gi + x.b * gj - (qi * x.a * x.a + qj * x.b * x.b) / 2 - x.a * x.b * k;
        };
        const double a = -beta_[i], b = -beta_[j];
        const Change first{a, within(j, (gj - k * a) / qj)}, second{within(i, (gi - k * b) / qi), b};
        const Change alone{within(i, gi / qi), 0.0};
        const Change better = gain(first) > gain(second) ? first : second;
        return gain(better) > gain(alone) ? better : alone;
    }

    Index width_ = 0;
    double bias_ = 0.0;
    LargeMemory<K> memory_;
    Array<double> beta_, own_, q_;  // own: 1 / c
    Array<float> g_, up_, down_, single_;
    Array<char> positive_;
};

}  // namespace hingeline::l2
