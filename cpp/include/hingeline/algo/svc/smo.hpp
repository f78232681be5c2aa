// SMO on a working set: pairs of coefficients with second-order choice (Fan, Chen and Lin 2005, WSS 2).
//
//     i = argmax v over up;  stop if v_i - min v over low <= tol
//     j = argmax (v_i - v_j)^2 / a_ij over low with v_j < v_i,  a_ij = K_ii + K_jj - 2 K_ij, or 1e-12 if that is <= 0
//     d = (v_i - v_j) / a_ij, clipped to the box;  beta_i += d, beta_j -= d, v -= d (K_i - K_j)
//
// v is in the precision of the kernel values and relative to `centre`, so that single precision resolves the
// differences that decide. beta is in double.
#pragma once

#include "hingeline/algo/svc/state.hpp"
#include "hingeline/algo/svc/working_rows.hpp"
#include "hingeline/algo/svc/working_set.hpp"
#include "hingeline/vector/parallel.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline::svc {

enum class SmoEnd { tolerance, steps, rounding, interrupted };

template <class T> class Smo {
  public:
    /// Solve the problem restricted to `positions`; beta of the state is changed, its v is not.
    template <class L> SmoEnd solve(State& s, const Array<Index>& positions, const L& local, double centre, double tol,
                                    Index most, std::size_t bytes, std::vector<SumScratch<T>>& scratch,
                                    Interrupt* interrupt) {
        load(s, positions, local, centre, bytes);
        const auto& op = pass_ops<T>();
        const auto row_of = [&](Index p) {
            const T* row = rows_.find(p);
            if (row) return row;
            const Index threads = rows_.threads(local.block(), std::ssize(scratch));
            rows_.fetch(wanted(p, rows_.block(local.block(), local.grain(), threads)), local, scratch);
            s.kernel_evals += fetched_ * size_;
            return rows_.find(p);
        };
        Extremes e = op.ascend_pair(v(), nullptr, nullptr, 0.0, up(), low(), size_);
        for (Index step = 0;; ++step) {
            if (e.high_at < 0 || e.low_at < 0 || e.high - e.low <= tol) return SmoEnd::tolerance;
            if (step >= most) return SmoEnd::steps;
            if (step % poll_every == 0 && interrupt && interrupt->requested()) return SmoEnd::interrupted;
            middle_ = 0.5 * (e.high + e.low);
            const Index i = e.high_at;
            const T* row_i = row_of(i);
            const Index j =
                op.second_order(v(), row_i, diagonal(), low(), e.high, static_cast<double>(diagonal()[i]), size_).at;
            if (j < 0) return SmoEnd::rounding;
            const double curve = static_cast<double>(diagonal()[i]) + static_cast<double>(diagonal()[j]) -
                                 2 * static_cast<double>(row_i[j]);
            const double wanted_step =
                (static_cast<double>(v()[i]) - static_cast<double>(v()[j])) / (curve > 0 ? curve : least_curve);
            const Index a = positions[i], b = positions[j];
            const double room_i = s.high(a) - s.beta[a], room_j = s.beta[b] - s.low(b);
            const double d = std::min({wanted_step, room_i, room_j});
            const double before = s.beta[a], other = s.beta[b];
            s.beta[a] = d == room_i ? s.high(a) : before + d;
            s.beta[b] = d == room_j ? s.low(b) : other - d;
            s.bounded = s.bounded || std::abs(s.beta[a]) == s.bound[a] || std::abs(s.beta[b]) == s.bound[b];
            if (s.beta[a] == before && s.beta[b] == other) return SmoEnd::rounding;
            set_room(s, i, a), set_room(s, j, b);
            const T* row_j = row_of(j);
            e = op.ascend_pair(v(), row_i, row_j, -d, up(), low(), size_);
            ++s.steps;
        }
    }
    /// v of position p of the working set after `solve`.
    double value(Index p) const { return centre_ + static_cast<double>(arrays_[0][p]); }

  private:
    static constexpr double least_curve = 1e-12;  // as LIBSVM
    static constexpr Index poll_every = 256;

    T* v() { return arrays_[0]; }
    T* up() { return arrays_[1]; }
    T* low() { return arrays_[2]; }
    T* diagonal() { return arrays_[3]; }

    template <class L>
    void load(const State& s, const Array<Index>& positions, const L& local, double centre, std::size_t bytes) {
        size_ = positions.size();
        centre_ = centre;
        arrays_.resize(0);
        arrays_.resize(size_);
        rows_.reset(size_, std::max(size_, std::min(s.n(), largest_block)), bytes);
        local.diagonal(diagonal());
        for (Index p = 0; p < size_; ++p) {
            v()[p] = static_cast<T>(s.v[positions[p]] - centre);
            set_room(s, p, positions[p]);
        }
    }
    void set_room(const State& s, Index p, Index i) {
        up()[p] = s.is_up(i) ? T(1) : T(0);
        low()[p] = s.is_low(i) ? T(1) : T(0);
    }

    /// p and the positions without a row that violate most, `count` in all.
    const Array<Index>& wanted(Index p, Index count) {
        candidates_.clear();
        const T middle = static_cast<T>(middle_);
        for (Index i = 0; i < size_; ++i) {
            if (i == p || rows_.holds(i)) continue;
            const T above = v()[i] - middle;
            if ((above > 0 && up()[i] > 0) || (above < 0 && low()[i] > 0)) candidates_.push_back(i);
        }
        const Index others = std::min(count - 1, candidates_.size());
        const auto size_of = [&](Index i) { return std::abs(v()[i] - middle); };
        std::nth_element(candidates_.begin(), candidates_.begin() + others, candidates_.end(), [&](Index a, Index b) {
            return size_of(a) > size_of(b) || (size_of(a) == size_of(b) && a < b);
        });
        candidates_.resize(others);
        candidates_.push_back(p);
        fetched_ = candidates_.size();
        return candidates_;
    }

    Index size_ = 0, fetched_ = 0;
    double centre_ = 0, middle_ = 0;
    Parallel<T, 4> arrays_;
    WorkingRows<T> rows_;
    Array<Index> candidates_;
};

}  // namespace hingeline::svc
