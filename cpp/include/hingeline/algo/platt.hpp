// Platt's sigmoid: P(positive | f) = 1 / (1 + exp(A f + B)), fitted to decision values f of points left out of
// training.
//
// Newton's method with backtracking on the cross entropy with the targets (n+ + 1) / (n+ + 2) and 1 / (n- + 2) (Lin,
// Lin and Weng, "A note on Platt's probabilistic outputs for support vector machines", 2007), as LIBSVM does it.
#pragma once

#include <algorithm>
#include <cmath>

#include "hingeline/core/array.hpp"

namespace hingeline {

struct Sigmoid {
    double slope = 0, offset = 0;  // A, B
};

class PlattFit {
  public:
    /// n decision values and whether each is of the positive class.
    PlattFit(const double* decisions, const char* positive, Index n)
        : f_(decisions), positive_(positive), n_(n), positives_(std::count(positive, positive + n, char{1})) {}

    Sigmoid run() const {
        constexpr int most_steps = 100;
        constexpr double small_gradient = 1e-5, shortest = 1e-10, sufficient = 1e-4;
        const auto p = static_cast<double>(positives_), q = static_cast<double>(n_ - positives_);
        Sigmoid at{0.0, std::log((q + 1) / (p + 1))};
        double value = loss(at);
        for (int step = 0; step < most_steps; ++step) {
            const Slope g = slope(at);
            if (std::max(std::abs(g.slope), std::abs(g.offset)) < small_gradient) break;
            const double determinant = g.ss * g.oo - g.so * g.so;
            const Sigmoid move{(g.so * g.offset - g.oo * g.slope) / determinant,
                               (g.so * g.slope - g.ss * g.offset) / determinant};
            const double descent = g.slope * move.slope + g.offset * move.offset;
            double length = 1;
            for (; length >= shortest; length /= 2) {
                const Sigmoid next{at.slope + length * move.slope, at.offset + length * move.offset};
                const double there = loss(next);
                if (!(there < value + sufficient * length * descent)) continue;
                at = next, value = there;
                break;
            }
            if (length < shortest) break;
        }
        return at;
    }

  private:
    struct Slope {
        double slope = 0, offset = 0;           // gradient
        double ss = ridge, so = 0, oo = ridge;  // Hessian
    };
    static constexpr double ridge = 1e-12;

    double target(Index i) const {
        return positive_[i] ? (static_cast<double>(positives_) + 1) / (static_cast<double>(positives_) + 2)
                            : 1 / (static_cast<double>(n_ - positives_) + 2);
    }
    double loss(const Sigmoid& at) const {
        double sum = 0;
        for (Index i = 0; i < n_; ++i) {
            const double z = at.slope * f_[i] + at.offset;
            sum += (z >= 0 ? target(i) : target(i) - 1) * z + std::log1p(std::exp(-std::abs(z)));
        }
        return sum;
    }
    Slope slope(const Sigmoid& at) const {
        Slope out;
        for (Index i = 0; i < n_; ++i) {
            const double z = at.slope * f_[i] + at.offset, e = std::exp(-std::abs(z));
            const double p = (z >= 0 ? e : 1) / (1 + e), d = e / ((1 + e) * (1 + e)), rest = target(i) - p;
            out.slope += rest * f_[i], out.offset += rest;
            out.ss += d * f_[i] * f_[i], out.so += d * f_[i], out.oo += d;
        }
        return out;
    }

    const double* f_;
    const char* positive_;
    Index n_, positives_;
};

}  // namespace hingeline
