// Votes: one-vs-one decisions of c classes as votes for each class, in memory that does not grow with the rows.
//
// Machine (i, j) votes for class i if its decision value is positive. Ties are broken by the sums of the signed values:
// each sum is mapped to (-1/3, 1/3) and never outweighs a vote. A sum runs over the pairs in their order, in one lane
// per query, so the scores of a query do not depend on the other queries.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "hingeline/core/aligned.hpp"
#include "hingeline/core/array.hpp"

namespace hingeline {

/// Number of the pair (i, j), i < j, in the order (0, 1), (0, 2), ..., (c-2, c-1).
inline Index pair_number(Index i, Index j, Index classes) { return i * (2 * classes - i - 3) / 2 + j - 1; }

/// How decisions of pairs become scores of classes.
struct VoteRule {
    Index classes = 0;
    Array<double> scale{};        // divisor of each machine's values in the sums; empty: 1
    bool zero_for_first = false;  // whether a decision of zero is a vote for the first class of a pair
    bool sums = true;             // whether the sums break ties; otherwise the first class with most votes wins
    Index pairs() const { return classes * (classes - 1) / 2; }
    void check() const {
        if (classes < 3) throw std::invalid_argument("votes need at least three classes");
        if (!scale.empty() && scale.size() != pairs())
            throw std::invalid_argument("one scale per pair of classes expected");
    }
};

/// Scores of up to `width` queries at a time.
class VoteCounter {
  public:
    static constexpr int width = 8;
    explicit VoteCounter(const VoteRule& rule) : rule_(rule), votes_(rule.classes), sums_(rule.classes) {}

    /// Decision k of query q is at d[k * pair_step + q].
    void count(const double* d, Index pair_step, int queries) {
        if (queries == width)
            add([=](Index k, int q) { return d[k * pair_step + q]; });
        else
            count(d, pair_step, 1, queries);
    }
    /// Decision k of query q is at d[k * pair_step + q * query_step].
    void count(const double* d, Index pair_step, Index query_step, int queries) {
        Lanes<Index> at;  // idle lanes repeat a query
        for (int q = 0; q < width; ++q) at[q] = std::min(q, queries - 1) * query_step;
        add([=](Index k, int q) { return d[k * pair_step + at[q]]; });
    }
    /// Scores of one of the queries; NaN if a decision is not finite.
    void scores(int q, double* out) const {
        for (Index c = 0; c < rule_.classes; ++c) out[c] = finite_[q] ? score(c, q) : nan;
    }
    /// First class with the largest score; -1 if a decision is not finite.
    Index winner(int q) const {
        Index best = 0;
        double most = score(0, q);
        for (Index c = 1; c < rule_.classes; ++c)
            if (const double own = score(c, q); own > most) best = c, most = own;
        return finite_[q] ? best : -1;
    }

  private:
    template <class T> using Lanes = std::array<T, width>;
    static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    static constexpr double largest = 1e100;  // of a scaled value: sums stay finite

    double score(Index c, int q) const {
        const double votes = votes_[c][q], sum = sums_[c][q];
        return rule_.sums ? votes + sum / (3 * (std::abs(sum) + 1)) : votes;
    }
    template <class At> void add(At at) {
        const bool zero = rule_.zero_for_first;
        if (!rule_.sums)
            zero ? add<true, false, false>(at) : add<false, false, false>(at);
        else if (rule_.scale.empty())
            zero ? add<true, true, false>(at) : add<false, true, false>(at);
        else
            zero ? add<true, true, true>(at) : add<false, true, true>(at);
    }
    template <bool Zero, bool Sums, bool Scaled, class At> void add(At at) {
        for (Index c = 0; c < rule_.classes; ++c)
            votes_[c].fill(static_cast<double>(c)), sums_[c].fill(0.0);  // one vote from each pair (i, c) until i wins
        Lanes<double> checked{};
        for (Index i = 0, k = 0; i < rule_.classes; ++i) {
            Lanes<double> votes = votes_[i], sums = sums_[i];
            for (Index j = i + 1; j < rule_.classes; ++j, ++k) {
                Lanes<double>&other = votes_[j], &other_sums = sums_[j];
                for (int q = 0; q < width; ++q) {
                    double value = at(k, q);
                    const double wins = (Zero ? value >= 0 : value > 0) ? 1.0 : 0.0;
                    votes[q] += wins;
                    other[q] -= wins;
                    checked[q] += value - value;  // 0, or NaN from the first value that is not finite
                    if constexpr (Scaled) value = std::clamp(value / rule_.scale[k], -largest, largest);
                    if constexpr (Sums) sums[q] += value, other_sums[q] -= value;
                }
            }
            votes_[i] = votes, sums_[i] = sums;
        }
        for (int q = 0; q < width; ++q) finite_[q] = checked[q] == 0;
    }

    const VoteRule& rule_;
    Array<Lanes<double>> votes_, sums_;
    Lanes<bool> finite_{};
};

/// Where results of votes go: n rows of scores, or n classes.
struct VoteResults {
    double* scores = nullptr;
    Index* winners = nullptr;
    void put(const VoteCounter& counter, Index row, int queries, Index classes) const {
        for (int q = 0; q < queries; ++q)
            if (scores)
                counter.scores(q, scores + (row + q) * classes);
            else
                winners[row + q] = counter.winner(q);
    }
};

/// Votes from decision values of n rows, one line each.
inline void count_votes(const VoteRule& rule, const double* decisions, Index n, const VoteResults& to) {
    VoteCounter counter(rule);
    for (Index row = 0; row < n; row += VoteCounter::width) {
        const int queries = static_cast<int>(std::min<Index>(VoteCounter::width, n - row));
        counter.count(decisions + row * rule.pairs(), 1, rule.pairs(), queries);
        to.put(counter, row, queries, rule.classes);
    }
}

}  // namespace hingeline
