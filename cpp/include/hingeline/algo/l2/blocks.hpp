// Blocks: an L2-SVM of two classes by steps on working sets, whose kernel values are held.
//
//     repeat: W = at first some rows at random; then all rows that are near a loss, or if they are too many, the worst
//                 violators, and others that violate at random
//             the kernel values between the rows of W are computed;  steps on W (joint.hpp)
//             v moves towards the result, to the largest D on the line;  r follows on all rows, in the precision of
//                 the source
//
// Why. Nearly all support vectors of an L2-SVM are free, often half of all rows: kernel columns that are computed when
// a step needs them fit no cache, and a step on all rows takes long. Here a kernel value between rows of W is computed
// once for the many steps of a working set, and those outside of W once for all of them together.
//
// Precision. The steps use kernel values of 16 bits or single precision; r, D and the stopping rule do not. Errors of
// the steps are corrected by the next working set (iterative refinement). D rises with every one: where the errors are
// too large for that, the next ones are more precise, and in the end there are none (Held).
//
// Bounds. A working set takes at most `most_bytes` of memory; it depends on nothing but the rows and v, so the result
// is that of any cache.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>

#include "hingeline/algo/l2/joint.hpp"
#include "hingeline/algo/l2/newton.hpp"

namespace hingeline::l2 {

template <class Source> class Blocks {
    using T = typename Source::Value;

  public:
    /// Machines with fewer rows take steps on one or two columns: there these take no time.
    static constexpr Index fewest_rows = 512;

    Blocks(Walk<Source>& walk, bool bias) : walk_(walk), s(walk.s), bias_(bias) {}

    /// One working set: v and r = 1 - Qv move, to a violation of at most `goal` on W, by at most `most` steps. Stuck:
    /// nothing has changed.
    Step round(double goal, Index most) {
        choose();
        if (!walk_.columns.diagonals(s.working)) return Step::interrupted;
        for (const Index i : s.working) {
            const double own = s.q[i] - (bias_ ? 1.0 : 0.0) - 1 / s.c[i];  // K_ii, to rounding
            if (!(s.q[i] > 0) || (s.held == Held::coarse && std::abs(own - 1) > unit_error * s.q[i])) return fail();
        }
        return s.held == Held::coarse ? solve(coarse_, goal, most) : solve(single_, goal, most);
    }
    /// Of the last working set.
    Index steps() const { return steps_; }
    /// Time of the last working set, in kernel values: a step on a row takes half as long as one.
    double work() const {
        const auto m = static_cast<double>(s.working.size()), n = static_cast<double>(s.n());
        return m * m / 2 + static_cast<double>(from_.size()) * n + static_cast<double>(steps_) * m / 2;
    }
    /// Kernel values must be more precise.
    Step fail() {
        if (s.held != Held::coarse) return end();
        s.held = Held::single;
        s.working.clear();
        release();
        return Step::stuck;
    }
    /// No more working sets.
    Step end() {
        s.held = Held::none;
        s.working.clear();
        release();
        return Step::stuck;
    }
    /// Release the kernel values.
    void release() { coarse_ = {}, single_ = {}, filled_ = false; }

  private:
    /// Of the kernel values held: 8192 rows in 16 bits, 5792 in single precision.
    static constexpr Index most_bytes = Index{1} << 27;
    /// The first working set of a large machine is small: it tells which rows are near a loss.
    static constexpr Index first_rows = 1024;
    /// Rows without a loss this close to one belong to W: they may enter the next time.
    static constexpr double near_loss = 0.05;
    /// Violation left on W, relative to that before: the rows outside of W change it anyway.
    static constexpr double inner = 0.05;
    /// Steps for each row of W (usually 0.5 to 3), so that Newton's method is considered in time.
    static constexpr Index steps_per_row = 30;
    /// Kernel values of 16 bits are between 0 and 1, and 1 on the diagonal, up to this error. The values decide, so
    /// that a kernel matrix gives the same result as the kernel it is of.
    static constexpr double unit_error = 1e-6;
    /// Lengths of a move below `short_move` are due to errors of the kernel values; above `full_move` it is not cut.
    static constexpr double short_move = 0.5, full_move = 0.9;

    double sign(Index i) const { return s.code[i] == s.code[0] ? 1.0 : -1.0; }
    double violation(Index i) const { return s.v[i] > 0 ? std::abs(s.r[i]) : std::max(0.0, s.r[i]); }
    Index largest() const {
        const auto width = static_cast<double>(s.held == Held::coarse ? sizeof(Coarse) : sizeof(float));
        return static_cast<Index>(std::sqrt(static_cast<double>(most_bytes) / width));
    }
    /// The next working set, ascending: the last one if it has all rows that are near a loss.
    void choose() {
        const Index most = s.rounds == 0 ? std::min(first_rows, largest()) : largest();
        Array<Index> rows;
        for (Index i = 0; i < s.n(); ++i)
            if (s.v[i] > 0 || s.r[i] > -near_loss) rows.push_back(i);
        const bool all = rows.size() <= most;
        if (!all) reduce(rows, most);
        ++s.rounds;
        if (all && std::includes(s.working.begin(), s.working.end(), rows.begin(), rows.end())) return;
        s.working = std::move(rows);
        filled_ = false;
    }
    /// Half of them are the worst violators.
    void reduce(Array<Index>& rows, Index most) {
        const Index worst = s.rounds == 0 ? 0 : most / 2;
        std::nth_element(rows.begin(), rows.begin() + worst, rows.end(), [&](Index a, Index b) {
            const double one = violation(a), other = violation(b);
            return one > other || (one == other && a < b);
        });
        std::sort(rows.begin() + worst, rows.end());
        std::erase_if(rows, [&](Index i) { return !(violation(i) > 0); });
        std::minstd_rand random(static_cast<unsigned>(s.rounds + 1));
        for (Index i = worst; i < std::min(most, rows.size()); ++i)
            std::swap(rows[i], rows[i + static_cast<Index>(random()) % (rows.size() - i)]);
        if (rows.size() > most) rows.resize(most);
        std::sort(rows.begin(), rows.end());
    }

    template <class K> Step solve(Joint<K>& joint, double goal, Index most) {
        const Index m = s.working.size();
        joint.resize(m, bias_);
        double before = 0;
        for (Index k = 0; k < m; ++k) {
            const Index i = s.working[k];
            joint.set(k, sign(i) > 0, s.v[i], s.r[i], s.c[i], s.q[i]);
            before = std::max(before, violation(i));
        }
        bool fits = true;
        filled_ = filled_ || fill(joint, fits);
        if (!filled_) return Step::interrupted;
        if (!fits) return fail();
        steps_ = joint.solve(std::max(goal, inner * before), std::min(most, steps_per_row * m), walk_.interrupt());
        if (walk_.interrupted()) return Step::interrupted;
        return move(joint);
    }
    /// From the bits: those of floats from 0 on are ordered as the floats, and negative ones have the first bit set.
    static bool in_unit_interval(const float* k, Index n) {
        constexpr auto most = std::bit_cast<std::uint32_t>(1.0f + static_cast<float>(unit_error));
        std::uint32_t outside = 0;
        for (Index i = 0; i < n; ++i) {
            const auto bits = std::bit_cast<std::uint32_t>(k[i]);
            outside |= bits | (most - bits);
        }
        return outside >> 31 == 0;
    }
    /// Kernel values of W; whether they fit the type. False when interrupted.
    template <class K> bool fill(Joint<K>& joint, bool& fits) {
        constexpr Index group = 32;  // rows whose values are mirrored together: they fill cache lines
        const Index m = s.working.size();
        Array<float> line(joint.width());
        return walk_.columns.pairs(s.working, [&](Index k, const T* values) {
            K* const to = joint.row(k);
            for (Index i = 0; i <= k; ++i) line[i] = static_cast<float>(values[i]);
            if constexpr (std::is_same_v<K, Coarse>) {
                fits = fits && in_unit_interval(line.data(), k + 1);
                coarse_ops().coarsen(line.data(), to, padded(k + 1));
            } else {
                std::copy_n(line.data(), k + 1, to);
            }
            std::fill(to + m, to + joint.width(), K(0));
            if ((k + 1) % group != 0 && k + 1 < m) return;
            const Index from = k / group * group;
            for (Index i = 0; i <= k; ++i)
                for (Index j = std::max(from, i + 1); j <= k; ++j) joint.row(i)[j] = joint.row(j)[i];
        });
    }
    /// v towards the coefficients of `joint`, and r.
    template <class K> Step move(const Joint<K>& joint) {
        from_.clear();
        Array<double> target, change;  // of v
        double total = 0;
        for (Index k = 0; k < s.working.size(); ++k) {
            const Index i = s.working[k];
            const double d = joint.v(k) - s.v[i];
            if (d == 0) continue;
            from_.push_back(i), target.push_back(joint.v(k)), change.push_back(sign(i) * d);
            total += bias_ ? sign(i) * d : 0.0;
        }
        if (from_.empty()) return fail();
        Array<Index> all(s.n());
        std::iota(all.begin(), all.end(), Index{0});
        Array<double> fall(padded(s.n()));
        if (!walk_.columns.products(from_, all, change.data(), fall.data())) return Step::interrupted;
        for (Index i = 0; i < s.n(); ++i) fall[i] = sign(i) * (fall[i] + total);
        double slope = 0, bend = 0;
        for (Index k = 0; k < from_.size(); ++k) {
            const Index i = from_[k];
            const double d = sign(i) * change[k];
            fall[i] += d / s.c[i];
            slope += d * s.r[i], bend += d * fall[i];
        }
        return move(target, fall, slope, bend);
    }
    /// To the maximum of D at t = slope / bend, but not beyond the target.
    Step move(const Array<double>& target, const Array<double>& fall, double slope, double bend) {
        const double best = bend > 0 ? slope / bend : slope / 0.0;
        if (!(best > 0) || !std::isfinite(slope) || !std::isfinite(bend)) return fail();
        const double t = best >= full_move ? 1.0 : best;
        // A dual objective beyond its bound proves that the kernel is indefinite: others find out.
        const double dual = (sum(s.v) + dot(s.v, s.r)) / 2 + t * (slope - t * bend / 2);
        if (dual > s.penalties / 2 * (1 + 1e-9)) return end();
        for (Index k = 0; k < from_.size(); ++k) {
            double& v = s.v[from_[k]];
            v = t == 1 ? target[k] : v + t * (target[k] - v);
        }
        for (Index i = 0; i < s.n(); ++i) s.r[i] -= t * fall[i];
        if (best < short_move) fail();
        return Step::taken;
    }

    Walk<Source>& walk_;
    State& s;
    const bool bias_;
    Joint<Coarse> coarse_;
    Joint<float> single_;
    bool filled_ = false;  // whether the kernel values of W are there
    Array<Index> from_;    // rows whose coefficients change
    Index steps_ = 0;
};

}  // namespace hingeline::l2
