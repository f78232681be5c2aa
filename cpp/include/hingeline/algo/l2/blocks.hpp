// Blocks: a large L2-SVM by steps on working sets.
//
//     loop
//         W = rows near a loss, or if these are too many: the worst violators and others at random
//         kernel values of W are computed and held;  steps on W (joint.hpp)
//         r -= Q[., W] (change of v)  on all rows, in the precision of the source
#pragma once

#include <random>

#include "hingeline/algo/l2/joint.hpp"
#include "hingeline/algo/l2/newton.hpp"

namespace hingeline::l2 {

struct Tune { Index largest=8192; Index first=1024; double inner=0.1; double perrow=30; double nearby=0.25; int policy=0; bool log=false; };
inline Tune tune;

template <class Source> class Blocks {
    using T = typename Source::Value;

  public:
    Blocks(Walk<Source>& walk, bool bias) : walk_(walk), s(walk.s), bias_(bias) {}

    /// One working set. v and r = 1 - Qv move.
    Step round(double goal, Index most, Index number) {
        const Index largest = number == 0 ? tune.first : tune.largest;
        choose(std::min(largest, s.n()), number);
        if (rows_.empty()) return Step::stuck;
        if (!walk_.columns.diagonals(rows_)) return Step::interrupted;
        return solve(coarse_, goal, most);
    }
    Index steps() const { return steps_; }
    double worst(Index i) const { return s.v[i] > 0 ? std::abs(s.r[i]) : std::max(0.0, s.r[i]); }
    Index size() const { return rows_.size(); }
    Index changed() const { return from_.size(); }

  private:
    void choose(Index most, Index number) {
        rows_.clear();
        Array<Index> some;
        for (Index i = 0; i < s.n(); ++i)
            if (s.v[i] > 0 || s.r[i] > -tune.nearby) some.push_back(i);
        if (some.size() > most) {
            std::minstd_rand random(static_cast<unsigned>(number + 1));
            const Index sharp = number == 0 ? 0 : tune.policy == 0 ? most / 2 : tune.policy == 1 ? most : 0;
            std::nth_element(some.begin(), some.begin() + sharp, some.end(),
                             [&](Index a, Index b) { return worst(a) > worst(b) || (worst(a) == worst(b) && a < b); });
            std::sort(some.begin() + sharp, some.end());
            // Others that may move.
            const auto end = std::remove_if(some.begin() + sharp, some.end(), [&](Index i) { return !(worst(i) > 0); });
            some.resize(end - some.begin());
            for (Index i = sharp; i < std::min(most, some.size()); ++i)
                std::swap(some[i], some[i + static_cast<Index>(random()) % (some.size() - i)]);
            if (some.size() > most) some.resize(most);
            std::sort(some.begin(), some.end());
        }
        rows_ = std::move(some);
    }
    template <class K> Step solve(Joint<K>& joint, double goal, Index most) {
        const Index m = rows_.size();
        joint.resize(m);
        joint.set_bias(bias_);
        double before = 0;
        for (Index k = 0; k < m; ++k) {
            const Index i = rows_[k];
            joint.set(k, s.code[i] == s.code[0], s.v[i], s.r[i], s.c[i], s.q[i]);
            before = std::max(before, worst(i));
        }
        if (!fill(joint)) return Step::interrupted;
        most = std::min(most, static_cast<Index>(tune.perrow * static_cast<double>(m)));
        steps_ = joint.solve(std::max(goal, tune.inner * before), most, walk_.interrupt());
        if (walk_.interrupted()) return Step::interrupted;
        return sweep(joint);
    }
    template <class K> bool fill(Joint<K>& joint) {
        constexpr Index group = 32;  // rows that are mirrored together: their values fill cache lines
        const Index m = rows_.size();
        Array<float> line(joint.width());
        return walk_.columns.pairs(rows_, [&](Index k, const T* values) {
            K* const to = joint.row(k);
            for (Index i = 0; i <= k; ++i) line[i] = static_cast<float>(values[i]);
            if constexpr (std::is_same_v<K, Coarse>)
                coarse_ops().coarsen(line.data(), to, padded(k + 1));
            else
                std::copy_n(line.data(), k + 1, to);
            std::fill(to + m, to + joint.width(), K(0));
            if ((k + 1) % group != 0 && k + 1 < m) return;
            const Index from = k / group * group;
            for (Index i = 0; i <= k; ++i)
                for (Index j = std::max(from, i + 1); j <= k; ++j) joint.row(i)[j] = joint.row(j)[i];
        });
    }
    template <class K> Step sweep(Joint<K>& joint) {
        Array<double> change, sums(padded(s.n()));
        double total = 0;
        from_.clear();
        for (Index k = 0; k < rows_.size(); ++k) {
            const Index i = rows_[k];
            const double d = joint.v(k) - s.v[i];
            if (d == 0) continue;
            from_.push_back(i);
            change.push_back(sign(i) * d);
            total += bias_ ? sign(i) * d : 0.0;
        }
        if (from_.empty()) return Step::stuck;
        Array<Index> all(s.n());
        std::iota(all.begin(), all.end(), Index{0});
        if (!walk_.columns.products(from_, all, change.data(), sums.data())) return Step::interrupted;
        for (Index i = 0; i < s.n(); ++i) s.r[i] -= sign(i) * (sums[i] + total);
        for (Index k = 0; k < from_.size(); ++k) {
            const Index i = from_[k];
            const double d = sign(i) * change[k];
            s.v[i] = std::max(0.0, s.v[i] + d), s.r[i] -= d / s.c[i];
        }
        for (Index k = 0; k < rows_.size(); ++k) if (joint.v(k)==0) s.v[rows_[k]] = 0;
        return Step::taken;
    }
    double sign(Index i) const { return s.code[i] == s.code[0] ? 1.0 : -1.0; }

    Walk<Source>& walk_;
    State& s;
    const bool bias_;
    Joint<Coarse> coarse_;
    Array<Index> rows_, from_;
    Index steps_ = 0;
};

}  // namespace hingeline::l2
