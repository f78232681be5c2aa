// Expansion: f_o(x) = sum_s coef[o][s] K(s, x) + bias_o, the one prediction routine.
//
// Support vectors form consecutive groups; each group contributes to its own list of outputs. One-vs-one over c classes
// has c groups of c - 1 outputs out of c(c - 1)/2, one-vs-rest has one group that contributes to all. Every kernel
// value is computed once.
//
// Sums run over the support vectors in their order, in double, one lane per query: a decision value does not depend on
// the other queries or on the number of threads.
#pragma once

#include "hingeline/kernel/gram.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline {

struct Group {
    Index first = 0, count = 0;
    Array<Index> outputs;
};

/// Coefficients: `lines` rows of `support` values; group g uses line m for outputs[m].
struct Coefficients {
    const double* values = nullptr;
    Index support = 0;
    Array<Group> groups;
    Array<double> bias;
    Index outputs() const { return bias.size(); }
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

/// Decision values out[i * outputs + o] for i < n. False when interrupted; then `out` is not complete.
template <class T, class Tiles>
bool decide(const Tiles& prototype, const Coefficients& c, Index n, int threads, Interrupt* interrupt, double* out) {
    const auto& op = tile_ops<T>();
    const Index block = op.lanes * op.max_vectors;
    std::atomic<bool> complete{true};
    std::vector<Scratch<T>> scratch(std::max(threads, 1));
    Array<Aligned<double>> sums(scratch.size());
    run_tasks((n + block - 1) / block, threads, interrupt, [&](Index task, int rank) {
        Scratch<T>& s = scratch[rank];
        s.interrupt = interrupt;
        Tiles tiles = prototype;
        const Index from = task * block;
        const int count = static_cast<int>(std::min(block, n - from));
        tiles.load(Ids::run(from, count), s);
        const int width = tiles.vectors(s) * op.lanes;
        double* mine = out + from * c.outputs();
        for (int q = 0; q < count; ++q) std::copy(c.bias.begin(), c.bias.end(), mine + q * c.outputs());
        for (const Group& g : c.groups) {
            const Index lines = g.outputs.size();
            double* sum = sums[rank].reserve(lines * width);
            std::fill(sum, sum + lines * width, 0.0);
            const bool ok = tiles.values(Ids::run(g.first, g.count), s, [&](Index at, int rows) {
                op.accumulate(s.tile.data(), width, rows, c.values + g.first + at, c.support, lines, sum);
            });
            if (!ok) {
                complete = false;
                return;
            }
            for (Index m = 0; m < lines; ++m)
                for (int q = 0; q < count; ++q) mine[q * c.outputs() + g.outputs[m]] += sum[m * width + q];
        }
    });
    return complete && !(interrupt && interrupt->requested());
}

}  // namespace hingeline
