// What an online SVM keeps between examples: the expansion S, position by position.
//
// Symbols. alpha signed coefficient; g = y - sum_s alpha_s K_s the gradient of the dual; [lo, hi] the box of alpha;
// up = hi - alpha and dn = alpha - lo the room in it; box = C_i y_i, whose sign is the label; diagonal = K_ii.
//
// A *dead* position is an example that was looked at and turned away: alpha = up = dn = 0, it takes no part and goes
// at the next cleaning. Positions from `n` on are examples whose turn has not come; they take no part either.
#pragma once

#include <cmath>

#include "hingeline/kernel/panel.hpp"
#include "hingeline/loss/ramp.hpp"
#include "hingeline/run/stop.hpp"
#include "hingeline/run/trace.hpp"

namespace hingeline::online {

/// Parallel arrays of doubles, zero up to the next multiple of `pass_step`.
class Lines {
  public:
    enum Name : int { alpha, g, lo, hi, up, dn, box, diagonal, count };
    Lines() = default;
    Lines(const Lines& o) { *this = o; }
    Lines& operator=(const Lines& o) {
        if (this == &o) return *this;
        Lines fresh;
        fresh.resize(o.size_);
        for (int k = 0; k < count; ++k) std::copy_n(o[k], o.size_, fresh[k]);
        return *this = std::move(fresh);
    }
    Lines(Lines&&) = default;
    Lines& operator=(Lines&&) = default;

    double* operator[](int k) { return data_.data() + k * pitch(); }
    const double* operator[](int k) const { return data_.data() + k * pitch(); }
    Index size() const { return size_; }

    /// New values are zero.
    void resize(Index n) {
        if (n > capacity_) {
            Lines wider;
            wider.capacity_ = (n + n / 4 + pass_step) / pass_step * pass_step;
            wider.size_ = size_;
            const auto all = static_cast<std::size_t>(count * wider.pitch());
            std::fill_n(wider.data_.reserve(all), all, 0.0);
            for (int k = 0; k < count && size_ > 0; ++k) std::copy_n((*this)[k], size_, wider[k]);
            *this = std::move(wider);
        }
        for (int k = 0; k < count && n < size_; ++k) std::fill((*this)[k] + n, (*this)[k] + size_, 0.0);
        size_ = n;
    }
    void move(Index from, Index to) {
        for (int k = 0; k < count; ++k) (*this)[k][to] = (*this)[k][from];
    }

  private:
    /// Arrays a whole number of pages apart would have their loads and stores mistaken for each other's.
    Index pitch() const { return capacity_ + 17 * 8; }
    Aligned<double> data_;
    Index capacity_ = 0, size_ = 0;
};

/// One example of a two-class problem.
struct Example {
    Index row = 0;   // in the source of kernel values
    Index id = 0;    // as the caller numbers them
    Index code = 0;  // its class, as the caller numbers them
    double box = 0;  // C_i y_i
    double y() const { return box > 0 ? 1.0 : -1.0; }
};

/// Examples by the part of the ramp they were on when they came.
struct Tally {
    Index count[3] = {0, 0, 0};
    Index& operator[](Zone z) { return count[static_cast<int>(z)]; }
};

struct State {
    Lines lines;
    std::vector<Index> row, id, code;
    std::vector<Zone> zone;
    std::vector<char> dead;
    Index n = 0;
    Index n_dead = 0;
    Index support[2] = {0, 0};  // positions with alpha != 0, by label -1, +1
    Ascent ascent{0, 0, -1};    // what is to be gained now
    double b = 0;               // bias, where there is one
    double target = 0;          // of the last example
    double dual = 0;            // when it was last computed
    double largest = 0;         // largest |f| of an example when it came
    double last_margin = 0;     // y f of the last one
    Index visited = 0, steps = 0, kernel_evals = 0, kernel_needed = 0;
    Index note_every = 16;  // examples between rows of the trace
    Tally admitted, cleaned, skipped;
    Reason reason = Reason::running;
    Trace trace{{"step", true}, {"seconds", false}, {"n_support", true},    {"n_expansion", true},  {"dual", false},
                {"gap", false}, {"target", false},  {"kernel_evals", true}, {"kernel_needed", true}};

    Index n_support() const { return support[0] + support[1]; }
    Index n_live() const { return n - n_dead; }
    double* operator[](Lines::Name k) { return lines[k]; }
    const double* operator[](Lines::Name k) const { return lines[k]; }
    double y(Index t) const { return lines[Lines::box][t] > 0 ? 1.0 : -1.0; }

    /// Gradients below this are rounding errors of the sums that they came from.
    double noise() const {
        double mass = 0, curvature = 0;
        for (Index t = 0; t < n; ++t) {
            mass += std::abs(lines[Lines::alpha][t]);
            curvature = std::max(curvature, std::abs(lines[Lines::diagonal][t]));
        }
        return 1e-14 * (1.0 + mass * curvature);
    }
    /// D = sum alpha y - 1/2 alpha K alpha = 1/2 sum alpha (y + g).
    double compute_dual() {
        dual = 0;
        for (Index t = 0; t < n; ++t) dual += 0.5 * lines[Lines::alpha][t] * (y(t) + lines[Lines::g][t]);
        return dual;
    }
};

}  // namespace hingeline::online
