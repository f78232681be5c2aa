// Training rows of linear machines with their labels and weights, and how a pass over them is cut into pieces.
// Symbols as in finite_newton.hpp.
#pragma once

#include "hingeline/core/large.hpp"
#include "hingeline/kernel/landmarks.hpp"
#include "hingeline/vector/linear.hpp"

namespace hingeline::finite_newton {

inline std::size_t size(Index n) { return static_cast<std::size_t>(n); }

/// Machines over the same rows: signed weights s t of the rows (planes of n values, machine k has plane `plane_of[k]`);
/// with `codes` the weights are unsigned and t follows from the code and the threshold. With `targets` (regression)
/// they are unsigned too, and outputs are less the target of the row.
struct Machines {
    const double* planes = nullptr;  // kept alive by the owner
    Index plane_count = 0;
    std::vector<Index> plane_of;
    std::vector<std::int32_t> codes;
    const double* targets = nullptr;  // a value per row, kept alive by the owner
    Index thresholds = 1;
    double offset = 1.0;
};

/// Outputs w.x (less the target) of every machine for every row at one point per machine, and offset * b of its
/// thresholds.
struct Outputs {
    Outputs(Index machines, Index rows, Index lines)
        : y(size(machines * rows), 0.0), offsets(size(machines * lines), 0.0), rows_(rows), lines_(lines) {}
    double* of(Index k) { return y.data() + k * rows_; }
    const double* of(Index k) const { return y.data() + k * rows_; }
    double* offsets_of(Index k) { return offsets.data() + k * lines_; }
    double offset(Index k, Index r) const { return offsets[size(k * lines_ + r)]; }

    Large<double> y;
    std::vector<double> offsets;

  private:
    Index rows_, lines_;
};

/// Rows as they are, or as vectors of kernel values.
template <class T> using Forms =
    std::variant<DenseRows<T>, CsrRows<T, std::int32_t>, CsrRows<T, std::int64_t>, KernelRows<T>>;

/// Rows and machines, checked once. Constant during training.
template <class T> struct Data {
    Data(Forms<T> x, std::vector<Index> numbers, Machines machines)
        : rows(std::move(x)), ids(std::move(numbers)), m(std::move(machines)) {
        const Index all = std::visit([](const auto& form) { return form.n; }, rows);
        d = std::visit([](const auto& form) { return form.d; }, rows);
        n = ids.empty() ? all : static_cast<Index>(ids.size());
        for (const Index i : ids)
            if (i < 0 || i >= all) throw std::invalid_argument("row number out of range");
        if (n == 0) throw std::invalid_argument("no rows");
        for (const Index p : m.plane_of)
            if (p < 0 || p >= m.plane_count) throw std::invalid_argument("no such plane of weights");
        if (m.thresholds < 0 || (m.codes.empty() ? m.thresholds > 1 : static_cast<Index>(m.codes.size()) != n))
            throw std::invalid_argument("several thresholds need one code per row");
        machine_count = static_cast<Index>(m.plane_of.size());
        lines = std::max<Index>(m.thresholds, 1);
        entries = std::visit([&](const auto& form) { return entries_of(form); }, rows);
    }
    /// Length of a machine's weight vector, thresholds included.
    Index length() const { return d + m.thresholds; }
    double entries_per_row() const { return static_cast<double>(entries) / static_cast<double>(n); }

    /// Number of pieces of a pass. It does not depend on the number of threads, so results do not either, and is small
    /// enough for the sums of `width` gradients per piece to be small beside the rows.
    Index pieces(Index width) const {
        const Index by_rows = (n + 4095) / 4096, by_sums = entries / std::max<Index>(32 * length() * width, 1);
        return std::clamp<Index>(std::min(by_rows, by_sums), 1, 64);
    }
    /// f(first row, number of rows) for the blocks of a piece, until an interrupt.
    template <class F> void blocks(Index piece, Index of, Index block, Interrupt* interrupt, F&& f) const {
        const Index to = n * (piece + 1) / of;
        for (Index from = n * piece / of; from < to; from += block) {
            if (interrupt && interrupt->requested()) return;
            f(from, std::min(block, to - from));
        }
    }
    /// Row numbers of a block.
    Ids numbers(Index from, Index some) const {
        return ids.empty() ? Ids::run(from, some) : Ids{ids.data() + from, 0, some};
    }
    const double* plane(Index k) const { return m.planes + m.plane_of[size(k)] * n; }
    /// s t of `some` rows of machine k against threshold r.
    const double* signed_weights(Index k, Index r, Index from, Index some, std::vector<double>& scratch) const {
        const double* weights = plane(k) + from;
        if (m.codes.empty()) return weights;
        for (Index i = 0; i < some; ++i) scratch[size(i)] = m.codes[size(from + i)] > r ? weights[i] : -weights[i];
        return scratch.data();
    }
    /// Subtract the targets, if there are any, from outputs of `some` rows.
    void subtract_targets(Index from, Index some, double* y) const {
        if (!m.targets) return;
        for (Index i = 0; i < some; ++i) y[i] -= m.targets[from + i];
    }
    /// offset * b of a weight vector's thresholds; 0 without thresholds.
    void read_offsets(const double* b, double* offsets) const {
        for (Index r = 0; r < lines; ++r) offsets[r] = r < m.thresholds ? m.offset * b[d + r] : 0.0;
    }

    Forms<T> rows;
    std::vector<Index> ids;  // rows that take part; empty: all
    Machines m;
    Index n = 0, d = 0, machine_count = 0, entries = 0;
    Index lines = 1;  // labels of a row: one per threshold, at least one

  private:
    Index entries_of(const DenseRows<T>& x) const { return x.d * n; }
    Index entries_of(const KernelRows<T>& x) const { return x.d * n; }
    template <class I> Index entries_of(const CsrRows<T, I>& x) const {
        if (ids.empty()) return static_cast<Index>(x.starts[x.n]);
        Index sum = 0;
        for (const Index i : ids) sum += x.row(i).count;
        return sum;
    }
};

}  // namespace hingeline::finite_newton
