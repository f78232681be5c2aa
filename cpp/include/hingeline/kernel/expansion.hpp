// Expansion: f_o(x) = sum_s coef[o][s] K(s, x) + bias_o, the one prediction routine.
//
// Support vectors form consecutive groups; each group contributes to its own list of outputs. One-vs-one over c classes
// has c groups of c - 1 outputs out of c(c - 1)/2, one-vs-rest has one group that contributes to all. Every kernel
// value is computed once.
//
// Sums run over the support vectors in their order, in double, one lane per query: a decision value does not depend on
// the other queries or on the number of threads.
#pragma once

#include <bit>

#include "hingeline/kernel/gram.hpp"
#include "hingeline/kernel/votes.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline {

struct Group {
    Index first = 0, count = 0;
    Array<Index> outputs;  // empty: one-vs-one, where they follow from the number of the group
};

/// Coefficients: `lines` rows of `support` values; group g uses line m for output(g, m).
struct Coefficients {
    const double* values = nullptr;
    Index support = 0;
    Array<Group> groups;
    Array<double> bias;
    Index outputs() const { return bias.size(); }
    Index lines(Index g) const { return groups[g].outputs.empty() ? groups.size() - 1 : groups[g].outputs.size(); }
    Index output(Index g, Index m) const {
        if (!groups[g].outputs.empty()) return groups[g].outputs[m];
        return m < g ? pair_number(m, g, groups.size()) : pair_number(g, m + 1, groups.size());
    }
};

/// Kernel values of support vectors against queries from a computed Gram.
template <class T, class S> struct ComputedTiles {
    const Gram<T>& gram;
    const Rows<S>& queries;
    void load(Ids ids, Scratch<T>& s) const { gram.load(queries, ids, s); }
    int vectors(const Scratch<T>& s) const { return s.panel.vectors(); }
    template <class Sink> bool values(Ids base, Scratch<T>& s, Sink&& sink) const { return gram.values(base, s, sink); }
};

/// Kernel values from a precomputed matrix: row rows[q] and column columns[s].
template <class T> struct GatheredTiles {
    const DenseRows<T>& matrix;
    Ids rows, columns;
    mutable Ids current{};
    void load(Ids ids, Scratch<T>&) const { current = ids; }
    int vectors(const Scratch<T>&) const {
        return static_cast<int>((current.count + tile_ops<T>().lanes - 1) / tile_ops<T>().lanes);
    }
    template <class Sink> bool values(Ids base, Scratch<T>& s, Sink&& sink) const {
        const int width = vectors(s) * tile_ops<T>().lanes;
        T* tile = s.tile.reserve(tile_rows * width);
        for (Index at = 0; at < base.count; at += tile_rows) {
            if (s.interrupted()) return false;
            const int count = static_cast<int>(std::min<Index>(tile_rows, base.count - at));
            for (int q = 0; q < width; ++q) {
                const T* row = matrix.row(rows[current[std::min<Index>(q, current.count - 1)]]);
                for (int r = 0; r < count; ++r) tile[r * width + q] = row[columns[base[at + r]] * matrix.column_stride];
            }
            sink(at, count);
        }
        return true;
    }
};

/// Decision values as a matrix: out[i * outputs + o].
struct DecisionMatrix {
    double* out = nullptr;
    Index outputs = 0;

    void start(int) const {}
    Index block(Index most) const { return most; }
    void begin(const Array<double>& bias, Index from, int count, int) const {
        for (int q = 0; q < count; ++q) std::copy(bias.begin(), bias.end(), out + (from + q) * outputs);
    }
    void add(Index o, const double* sums, Index from, int count, int) const {
        for (int q = 0; q < count; ++q) out[(from + q) * outputs + o] += sums[q];
    }
    void end(Index, int, int) const {}
};

/// Decision values as votes. The values of a block of queries are in a buffer, one lane per query.
class DecisionVotes {
  public:
    DecisionVotes(const VoteRule& rule, const VoteResults& to) : rule_(rule), to_(to) {}

    void start(int threads) {
        for (int rank = 0; rank < threads; ++rank) counters_.emplace_back(rule_), buffers_.emplace_back();
    }
    /// Queries of a block: a power of two, less than `most` if the buffer would be too large.
    Index block(Index most) {
        const Index affordable = std::max<Index>(buffer_bytes / (8 * rule_.pairs()), 1);
        return stride_ = static_cast<Index>(std::bit_floor(static_cast<std::size_t>(std::min(most, affordable))));
    }
    void begin(const Array<double>& bias, Index, int, int rank) {
        double* to = buffers_[rank].reserve(rule_.pairs() * stride_);
        for (const double b : bias) to = std::fill_n(to, stride_, b);
    }
    void add(Index o, const double* sums, Index, int count, int rank) {
        double* to = buffers_[rank].data() + o * stride_;
        for (int q = 0; q < count; ++q) to[q] += sums[q];
    }
    void end(Index from, int count, int rank) {
        for (int q = 0; q < count; q += VoteCounter::width) {
            const int some = std::min(VoteCounter::width, count - q);
            counters_[rank].count(buffers_[rank].data() + q, stride_, some);
            to_.put(counters_[rank], from + q, some, rule_.classes);
        }
    }

  private:
    static constexpr Index buffer_bytes = Index{32} << 20;
    const VoteRule& rule_;
    VoteResults to_;
    Array<VoteCounter> counters_;
    Array<Aligned<double>> buffers_;
    Index stride_ = 1;
};

/// Decision values of n queries, given to `sink` block by block. False when interrupted; then they are not complete.
template <class T, class Tiles, class Sink>
bool decide(const Tiles& prototype, const Coefficients& c, Index n, int threads, Interrupt* interrupt, Sink& sink) {
    const auto& op = tile_ops<T>();
    const Index block = sink.block(op.lanes * op.max_vectors);
    std::atomic<bool> complete{true};
    std::vector<Scratch<T>> scratch(std::max(threads, 1));
    Array<Aligned<double>> sums(scratch.size());
    sink.start(static_cast<int>(scratch.size()));
    run_tasks((n + block - 1) / block, threads, interrupt, [&](Index task, int rank) {
        Scratch<T>& s = scratch[rank];
        s.interrupt = interrupt;
        Tiles tiles = prototype;
        const Index from = task * block;
        const int count = static_cast<int>(std::min(block, n - from));
        tiles.load(Ids::run(from, count), s);
        const int width = tiles.vectors(s) * op.lanes;
        sink.begin(c.bias, from, count, rank);
        for (Index k = 0; k < c.groups.size(); ++k) {
            const Group& g = c.groups[k];
            const Index lines = c.lines(k);
            double* sum = sums[rank].reserve(lines * width);
            std::fill(sum, sum + lines * width, 0.0);
            const bool ok = tiles.values(Ids::run(g.first, g.count), s, [&](Index at, int rows) {
                op.accumulate(s.tile.data(), width, rows, c.values + g.first + at, c.support, lines, sum);
            });
            if (!ok) {
                complete = false;
                return;
            }
            for (Index m = 0; m < lines; ++m) sink.add(c.output(k, m), sum + m * width, from, count, rank);
        }
        sink.end(from, count, rank);
    });
    return complete && !(interrupt && interrupt->requested());
}

}  // namespace hingeline
