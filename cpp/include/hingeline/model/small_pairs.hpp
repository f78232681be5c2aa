// Pairs of small classes: their machines read kernel values that have been computed for one class against many others
// at a time. Kernel values have the same bits wherever they are computed, and so have the machines.
#pragma once

#include "hingeline/algo/engine/solve.hpp"
#include "hingeline/kernel/local.hpp"

namespace hingeline {

/// Kernel values of the rows of two classes, those of the first class before those of the second. A source.
struct PairValues {
    const double* first = nullptr;               // of the first class, row after row
    const double* second = nullptr;              // of the second class
    const double* between = nullptr;             // rows of the first class, columns of the second
    Index n_first = 0, n_second = 0, pitch = 0;  // distance between the rows of `between`

    Index size() const { return n_first + n_second; }
    double value(Index i, Index j) const {
        if (i > j) std::swap(i, j);
        if (j < n_first) return first[i * n_first + j];
        if (i < n_first) return between[i * pitch + j - n_first];
        return second[(i - n_first) * n_second + j - n_first];
    }
};

template <> class Local<PairValues, double> {
  public:
    void take(const PairValues& source, Ids rows, int = 1) { source_ = &source, rows_ = rows; }
    static void prepare(SumScratch<double>&) {}
    static bool unit_diagonal(const PairValues&) { return false; }
    Index size() const { return rows_.count; }
    static int block() { return 1; }
    static int ahead() { return 1; }
    static double nanoseconds() { return 1; }
    void diagonal(double* out) const {
        for (Index j = 0; j < size(); ++j) out[j] = source_->value(rows_[j], rows_[j]);
    }
    bool columns(Ids queries, Ids base, double* const* columns, SumScratch<double>&) const {
        for (Index q = 0; q < queries.count; ++q)
            for (Index j = 0; j < base.count; ++j) columns[q][j] = source_->value(rows_[queries[q]], rows_[base[j]]);
        return true;
    }
    void sums(const PairValues& source, Ids queries, const double* coef, SumScratch<double>&, double* out) const {
        for (Index q = 0; q < queries.count; ++q) {
            out[q] = 0;
            for (Index j = 0; j < size(); ++j) out[q] += coef[j] * source.value(rows_[j], queries[q]);
        }
    }

  private:
    const PairValues* source_ = nullptr;
    Ids rows_;
};

/// Kernel values of some rows of a source, in double.
template <class Source> class RowBlock {
  public:
    /// Values between the first `queries` of the rows and all of them.
    void compute(const Source& source, const Array<Index>& rows, Index queries, engine::Workspace<Source>& work) {
        auto& tools = work.twice;
        tools.local.take(source, Ids::of(rows));
        if (tools.scratch.empty()) tools.scratch.resize(1);
        tools.local.prepare(tools.scratch[0]);
        pitch_ = padded(rows.size());
        double* const to = values_.reserve(queries * pitch_);
        for (Index at = 0; at < queries; at += tools.local.block()) {
            lines_.clear();
            const Index end = std::min<Index>(queries, at + tools.local.block());
            for (Index q = at; q < end; ++q) lines_.push_back(to + q * pitch_);
            tools.local.columns(Ids::run(at, end - at), Ids::run(0, rows.size()), lines_.data(), tools.scratch[0]);
        }
    }
    const double* line(Index query) const { return values_.data() + query * pitch_; }
    Index pitch() const { return pitch_; }

  private:
    Aligned<double> values_;
    Array<double*> lines_;
    Index pitch_ = 0;
};

}  // namespace hingeline
