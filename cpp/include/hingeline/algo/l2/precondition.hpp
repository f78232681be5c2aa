// Preconditioner: an approximate inverse of a block of Q on a set S of its rows, for conjugate gradients.
//
// Low rank. With k landmarks among the m rows, A their columns without penalties, A_k the landmarks' own rows:
//
//     A_k = R R',  L = A R^-T,  M = L L' + D,  D = own + what L L' leaves of the diagonal
//
// and restricted to S, with B = D^(-1/2) L:
//
//     M^-1 = D^(-1/2) (1 - B G^-1 B') D^(-1/2),  G = 1 + B'B
//
// L L' is A up to rounding if the kernel has rank k or less on the rows, as a linear kernel of k features, or if all
// rows are landmarks: then few products are needed, however ill-conditioned Q is.
//
// Factor. If many products are needed all the same, the Cholesky factor of the block on S takes its place, for this
// solution and for later ones, also of other blocks that are not too large. It remains in use while few rows enter and
// leave S: each of them costs about one product.
#pragma once

#include <random>

#include "hingeline/algo/l2/block.hpp"

namespace hingeline::l2 {

template <class Source> class LowRank {
    using T = typename Source::Value;

  public:
    LowRank(Block<Source>& block, Interrupt* interrupt) : block_(block), interrupt_(interrupt) {}

    /// Up to this order all rows are landmarks; beyond, one in `share`, between the two limits.
    static constexpr Index all_rows = 256, share = 16, fewest = 128, most = 512;

    /// One landmark for so many rows. They are drawn from the members `likely` first. False when interrupted.
    bool build(const Array<char>& likely, Index rows_per_mark) {
        const Index m = block_.size();
        choose(likely, rows_per_mark);
        rank_ = marks_.size(), width_ = padded(rank_);
        rows_.reserve(m * width_);
        std::fill_n(rows_.data(), m * width_, 0.0);
        Index next = 0;
        const bool done = block_.each(marks_, [&](Index j, const T* column) {
            for (Index i = 0; i < m; ++i) row(i)[next] = block_.entry(i, j, column[block_.at[i]]);
            ++next;
        });
        if (!done || !project()) return false;
        root_.assign(m, 0.0);
        missing_ = 0;
        for (Index i = 0; i < m; ++i) {
            double held = 0;
            for (Index k = 0; k < rank_; ++k) held += row(i)[k] * row(i)[k];
            const double rest = std::max(0.0, block_.diagonal(i) - held);
            missing_ += rest / static_cast<double>(m);
            root_[i] = 1 / std::sqrt(block_.own[i] + rest);
            for (Index k = 0; k < rank_; ++k) row(i)[k] *= root_[i];
        }
        on_.clear();
        return true;
    }
    /// Mean of what L L' leaves of the diagonal, which is 1 at most.
    double missing() const { return missing_; }
    /// Set S. False when interrupted.
    bool restrict(const Array<char>& on) {
        const bool fresh = !can_update(on);
        if (fresh) {
            gram_.assign(rank_ * (rank_ + 1) / 2, 0.0);
            for (Index k = 0; k < rank_; ++k) gram_[k * (k + 1) / 2 + k] = 1.0;
        }
        Array<const double*> enter, leave;
        for (Index i = 0; i < on.size(); ++i) {
            const bool before = !fresh && on_[i];
            if (on[i] != before) (on[i] ? enter : leave).push_back(row(i));
        }
        on_.clear();  // if interrupted
        if (!add(enter, 1.0) || !add(leave, -1.0)) return false;
        on_ = on;
        factor_.values.resize(rank_);
        for (Index k = 0; k < rank_; ++k) std::copy_n(gram_.data() + k * (k + 1) / 2, k + 1, factor_.values.row(k));
        return factor_.decompose(0.0, interrupt_);
    }
    /// out = M^-1 residual on S, 0 elsewhere.
    void apply(const double* residual, double* out) {
        const auto& op = pass_ops<double>();
        const Index m = block_.size();
        weights_.assign(m, 0.0);
        sums_.assign(width_, 0.0);
        lines_.clear(), some_.clear();
        for (Index i = 0; i < m; ++i)
            if (on_[i]) weights_[i] = root_[i] * residual[i], lines_.push_back(row(i)), some_.push_back(weights_[i]);
        op.combine(lines_.data(), some_.data(), lines_.size(), 0, width_, sums_.data());
        factor_.solve(sums_.data());
        for (Index i = 0; i < m; ++i)
            out[i] = on_[i] ? root_[i] * (weights_[i] - op.inner(row(i), sums_.data(), rank_)) : 0.0;
    }

    /// out = M p on all rows.
    void multiply(const double* p, double* out) {
        const auto& op = pass_ops<double>();
        const Index m = block_.size();
        sums_.assign(width_, 0.0);
        lines_.clear(), some_.clear();
        for (Index i = 0; i < m; ++i)
            if (p[i] != 0) lines_.push_back(row(i)), some_.push_back(p[i] / root_[i]);
        op.combine(lines_.data(), some_.data(), lines_.size(), 0, width_, sums_.data());
        for (Index i = 0; i < m; ++i) out[i] = (p[i] / root_[i] + op.inner(row(i), sums_.data(), rank_)) / root_[i];
    }

  private:
    /// Pivots of the landmarks, relative to a unit diagonal, that are rounding errors.
    static constexpr double rounding = 1e-13;
    /// G is computed again if rows beyond this size take part: removing them would leave rounding errors.
    static constexpr double largest_row = 1e6;

    double* row(Index i) { return rows_.data() + i * width_; }
    bool interrupted() { return interrupt_ && interrupt_->requested(); }

    void choose(const Array<char>& likely, Index rows_per_mark) {
        const Index m = block_.size();
        const Index count = m <= all_rows ? m : std::clamp(padded(m / rows_per_mark), fewest, most);
        marks_.clear();
        for (const char wanted : {1, 0}) {
            const Index from = marks_.size();
            for (Index i = 0; i < m; ++i)
                if (likely[i] == wanted) marks_.push_back(i);
            std::minstd_rand random(1);
            for (Index i = from; i < std::min(marks_.size(), count); ++i)
                std::swap(marks_[i], marks_[i + static_cast<Index>(random()) % (marks_.size() - i)]);
        }
        marks_.resize(count);
        std::sort(marks_.begin(), marks_.end());
    }
    /// Each row a of A becomes a R^-T.
    bool project() {
        if (!invert()) return false;
        const auto& op = tile_ops<double>();
        const Index wide = op.lanes * op.max_vectors, count = (rank_ + wide - 1) / wide, m = block_.size();
        Aligned<double> panels, tile, lines;
        panels.reserve(count * wide * width_), tile.reserve(tile_rows * wide), lines.reserve(tile_rows * width_);
        // Row j of R^-1 is zero beyond j.
        const auto length = [&](Index p) { return std::min(rank_, (p + 1) * wide); };
        Array<const double*> some(std::max<Index>(wide, tile_rows));
        for (Index p = 0; p < count; ++p) {
            for (Index q = 0; q < wide; ++q) some[q] = inverse_.data() + std::min(p * wide + q, rank_ - 1) * width_;
            op.pack(some.data(), op.max_vectors, length(p), panels.data() + p * wide * width_);
        }
        for (Index from = 0; from < m; from += tile_rows) {
            const int rows = static_cast<int>(std::min<Index>(tile_rows, m - from));
            for (int r = 0; r < tile_rows; ++r) some[r] = row(from + std::min(r, rows - 1));
            for (Index p = 0; p < count; ++p) {
                op.dense(panels.data() + p * wide * width_, op.max_vectors, length(p), some.data(), rows, tile.data());
                const Index kept = std::min(wide, rank_ - p * wide);
                for (int r = 0; r < rows; ++r)
                    std::copy_n(tile.data() + r * wide, kept, lines.data() + r * width_ + p * wide);
            }
            for (int r = 0; r < rows; ++r) std::copy_n(lines.data() + r * width_, rank_, row(from + r));
            if (interrupted()) return false;
        }
        return true;
    }
    /// R^-1 by rows of `width_` values; the rows of dropped pivots are zeros.
    bool invert() {
        factor_.values.resize(rank_);
        for (Index j = 0; j < rank_; ++j) std::copy_n(row(marks_[j]), j + 1, factor_.values.row(j));
        if (!factor_.decompose(rounding, interrupt_)) return false;
        inverse_.assign(rank_ * width_, 0.0);
        for (Index j = 0; j < rank_; ++j) {
            const double* const r = factor_.values.row(j);
            double* const to = inverse_.data() + j * width_;
            if (!(r[j] > 0)) continue;
            for (Index k = 0; k < j; ++k)
                for (Index t = 0; t <= k; ++t) to[t] -= r[k] * inverse_[k * width_ + t];
            for (Index t = 0; t < j; ++t) to[t] /= r[j];
            to[j] = 1 / r[j];
        }
        return !interrupted();
    }
    /// Whether few rows of moderate size enter and leave S.
    bool can_update(const Array<char>& on) const {
        if (on_.empty()) return false;
        Index changed = 0, chosen = 0;
        for (Index i = 0; i < on.size(); ++i) {
            changed += on[i] != on_[i], chosen += on[i];
            if ((on[i] || on_[i]) && root_[i] > largest_row) return false;
        }
        return 2 * changed < chosen;
    }
    bool add(const Array<const double*>& rows, double factor) {
        constexpr Index chunk = 64;  // rows between two polls
        for (Index at = 0; at < rows.size(); at += chunk) {
            packed_ops().update(gram_.data(), rank_, factor, rows.data() + at, std::min(chunk, rows.size() - at));
            if (interrupted()) return false;
        }
        return true;
    }

    Block<Source>& block_;
    Interrupt* interrupt_;
    Index rank_ = 0, width_ = 0;
    Array<Index> marks_;
    Aligned<double> rows_;  // B, padded rows
    Array<double> root_;    // D^(-1/2)
    double missing_ = 0;
    Array<char> on_;
    Array<double> gram_, inverse_;  // G, packed; R^-1
    Cholesky<double> factor_;       // of A_k, then of G
    Array<double> weights_, sums_, some_;
    Array<const double*> lines_;
};

template <class Source> class Preconditioner {
  public:
    Preconditioner(Block<Source>& block, Interrupt* interrupt)
        : block_(block), interrupt_(interrupt), low_(block, interrupt) {}

    /// For a new block. False when interrupted.
    bool build(const Array<char>& likely, Index rows_per_mark) {
        members_.clear();
        whole_ = (whole_ || too_coarse(likely)) && can_factorise(block_.size());
        return whole_ || low_.build(likely, rows_per_mark);
    }
    /// Set S. False when interrupted.
    bool restrict(const Array<char>& on) {
        Array<Index> members;
        for (Index i = 0; i < on.size(); ++i)
            if (on[i]) members.push_back(i);
        if (!whole_) {
            members_ = std::move(members);
            return low_.restrict(on);
        }
        on_ = on;
        Index changed = members.size();
        for (const Index i : members_) changed += on[i] ? -1 : 1;
        stale_ = changed > 0;
        if (changed * reuse <= members_.size()) return true;
        members_ = std::move(members);
        stale_ = false;
        return factorise();
    }
    /// out = M^-1 residual on S, 0 elsewhere.
    void apply(const double* residual, double* out) {
        if (!whole_) return low_.apply(residual, out);
        x_.assign(padded(members_.size()), 0.0);
        for (Index k = 0; k < members_.size(); ++k) x_[k] = on_[members_[k]] ? residual[members_[k]] : 0.0;
        rough_ ? single_.solve(x_.data()) : double_.solve(x_.data());
        for (Index i = 0; i < block_.size(); ++i) out[i] = on_[i] ? residual[i] : 0.0;
        for (Index k = 0; k < members_.size(); ++k)
            if (on_[members_[k]]) out[members_[k]] = x_[k];
    }
    /// Of the approximation of low rank.
    double missing() const { return low_.missing(); }
    /// Whether the factor is in use.
    bool is_factor() const { return whole_; }
    /// out = M p with the approximation of low rank, which must be in use.
    void multiply(const double* p, double* out) { low_.multiply(p, out); }
    /// A solution has taken so many products. If a factor costs less, use it from the next `restrict` on: then true.
    bool took(Index products) {
        const Index rows = members_.size();
        if ((whole_ && !stale_) || !can_factorise(rows) || rows > worth(rows) * products) return false;
        members_.clear();
        return whole_ = true;
    }

  private:
    /// A factor of n rows costs about as much as n / 25 products, or n / 40 from this number of rows on.
    static constexpr Index many = 512, most_factored = 4096;
    /// Least eigenvalue of a block for single precision, in rounding errors.
    static constexpr double margin = 16.0;
    /// The factor of an earlier S is used if at most one row in so many has entered or left S.
    static constexpr Index reuse = 80;

    static Index worth(Index rows) { return rows < many ? 25 : 40; }
    /// Whether more products are expected than a factor costs, judging by the approximation of an earlier block. Their
    /// number grows with the square root of the condition number.
    bool too_coarse(const Array<char>& likely) const {
        constexpr double slow = 6.0;  // measured
        if (!(low_.missing() > 0)) return false;
        const Index rows = std::count(likely.begin(), likely.end(), 1);
        const double own = sum(block_.own) / static_cast<double>(block_.size());
        return static_cast<double>(worth(rows)) * slow * std::sqrt(low_.missing() / own) > static_cast<double>(rows);
    }
    bool can_factorise(Index rows) const { return block_.held() && rows <= most_factored; }
    /// The eigenvalues of the block are at least the least `own`.
    bool factorise() {
        double least = 1.0;
        for (const Index i : members_) least = std::min(least, block_.own[i]);
        rough_ =
            least > margin * std::sqrt(static_cast<double>(members_.size())) * std::numeric_limits<float>::epsilon();
        return rough_ ? factorise(single_) : factorise(double_);
    }
    template <class V> bool factorise(Cholesky<V>& factor) {
        factor.values.resize(members_.size());
        for (Index k = 0; k < members_.size(); ++k)
            for (Index l = 0; l <= k; ++l)
                factor.values.row(k)[l] = static_cast<V>(block_.held_entry(members_[k], members_[l]));
        if (factor.decompose(V(0), interrupt_)) return true;
        members_.clear();
        return false;
    }

    Block<Source>& block_;
    Interrupt* interrupt_;
    LowRank<Source> low_;
    Cholesky<float> single_;   // of the block on S, if rounding errors are small against its eigenvalues
    Cholesky<double> double_;  // else
    bool rough_ = false;       // whether it is `single_`
    Array<Index> members_;     // S, or that of the factor
    Array<char> on_;           // S, if the factor is in use
    bool stale_ = false;       // whether the factor is of another S
    Array<double> x_;
    bool whole_ = false;  // whether the factor is in use
};

}  // namespace hingeline::l2
