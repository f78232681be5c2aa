// Sums over chosen rows of a linear machine: their share of its Hessian, of its gradient, of the Hessian's diagonal.
// Symbols as in finite_newton.hpp.
#pragma once

#include "hingeline/algo/moments.hpp"
#include "hingeline/core/large.hpp"
#include "hingeline/data/lines.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline::finite_newton {

/// Rows and, for each threshold, weights for the Hessian (turns) and for the gradient (bends).
struct Chosen {
    Large<Index> rows;
    Large<double> turns, bends;
};

template <class T> class ChosenSums {
  public:
    /// Places of rows are numbers in `ids`, or row numbers where that is empty.
    ChosenSums(const Rows<T>& rows, const std::vector<Index>& ids, Index thresholds, double offset,
               double entries_per_row)
        : rows_(rows),
          ids_(ids),
          d_(column_count(rows)),
          thresholds_(thresholds),
          s_(std::max<Index>(thresholds, 1)),
          length_(d_ + thresholds),
          offset_(offset),
          entries_per_row_(entries_per_row) {}

    /// Turns of the chosen rows to the Hessian (lower triangle), -bends to the gradient, where these are given.
    void add(const Chosen& chosen, double* hessian, double* gradient, bool precise, int threads,
             Interrupt* interrupt) const {
        const Index count = static_cast<Index>(chosen.rows.size());
        if (count == 0) return;
        const Index pieces = pieces_of(count, hessian != nullptr);
        std::vector<std::vector<double>> hessians(size(pieces)), gradients(size(pieces));
        std::visit(
            [&](const auto& x) {
                run_tasks(pieces, threads, interrupt, [&](Index piece, int) {
                    double* to = hessian;  // the first piece works in place: one piece is the usual case
                    if (hessian && piece > 0) {
                        hessians[size(piece)].assign(size(length_ * length_), 0.0);
                        to = hessians[size(piece)].data();
                    }
                    if (gradient) gradients[size(piece)].assign(size(length_), 0.0);
                    const Index from = count * piece / pieces, end = count * (piece + 1) / pieces;
                    if (precise)
                        add_rows<double>(x, chosen, from, end, to, gradients[size(piece)], interrupt);
                    else
                        add_rows<float>(x, chosen, from, end, to, gradients[size(piece)], interrupt);
                });
            },
            rows_);
        for (Index piece = 0; piece < pieces; ++piece) {
            for (std::size_t j = 0; j < hessians[size(piece)].size(); ++j) hessian[j] += hessians[size(piece)][j];
            for (std::size_t j = 0; j < gradients[size(piece)].size(); ++j) gradient[j] += gradients[size(piece)][j];
        }
    }

    /// Squares of entries with the turns as weights, a value for each weight of the machine.
    std::vector<double> diagonal(const Chosen& chosen, Interrupt* interrupt) const {
        std::vector<double> out(size(length_), 0.0);
        std::visit([&](const auto& x) { squares(x, chosen, out, interrupt); }, rows_);
        return out;
    }

  private:
    static std::size_t size(Index n) { return static_cast<std::size_t>(n); }
    Index number(Index place) const { return ids_.empty() ? place : ids_[size(place)]; }

    /// Pieces of a sum over chosen rows: what they sum into is small beside the work, and takes at most 64 MiB.
    Index pieces_of(Index count, bool hessian) const {
        const double row = entries_per_row_, line = static_cast<double>(length_);
        const double work = static_cast<double>(count) * (hessian ? row * row / 2 : row);
        const double area = std::max(hessian ? line * line : line, 1.0);
        return std::clamp<Index>(static_cast<Index>(std::min(work / (8 * area), 8388608.0 / area)), 1, 16);
    }

    template <class V, class Form> void add_rows(const Form& x, const Chosen& chosen, Index begin, Index end,
                                                 double* hessian, std::vector<double>& gradient,
                                                 Interrupt* interrupt) const {
        Lines<Form> lines(x);
        Moments<Form, V> moments(hessian ? d_ : 0, hessian, length_);
        std::vector<double> sum(size(lines_most)), one(size(lines_most));
        std::vector<Index> ids(size(lines_most));
        for (Index at = begin; at < end; at += lines.block()) {
            if (interrupt && interrupt->requested()) return;
            const Index some = std::min(lines.block(), end - at);
            for (Index i = 0; i < some; ++i) ids[size(i)] = number(chosen.rows[size(at + i)]);
            lines.gather({ids.data(), 0, some});
            if (!gradient.empty()) {
                std::fill_n(sum.data(), some, 0.0);
                for (Index i = 0; i < some; ++i)
                    for (Index r = 0; r < s_; ++r) {
                        const double bend = chosen.bends[size((at + i) * s_ + r)];
                        sum[size(i)] -= bend;
                        if (r < thresholds_) gradient[size(d_ + r)] += offset_ * bend;
                    }
                lines.add(sum.data(), gradient.data());
            }
            if (!hessian) continue;
            std::fill_n(sum.data(), some, 0.0);
            for (Index r = 0; r < s_; ++r) {
                double total = 0;
                for (Index i = 0; i < some; ++i) {
                    const double turn = chosen.turns[size((at + i) * s_ + r)];
                    sum[size(i)] += turn;
                    one[size(i)] = -offset_ * turn;
                    total += turn;
                }
                if (r >= thresholds_) continue;
                double* line = hessian + (d_ + r) * length_;
                lines.add(one.data(), line);
                line[d_ + r] += offset_ * offset_ * total;
            }
            moments.add(lines, sum.data());
        }
        if (hessian) moments.flush();
    }

    template <class Form>
    void squares(const Form& x, const Chosen& chosen, std::vector<double>& out, Interrupt* interrupt) const {
        std::vector<T> row(size(d_));
        for (Index c = 0; c < chosen.rows.size(); ++c) {
            if (interrupt && c % 256 == 0 && interrupt->requested()) return;
            double weight = 0;
            for (Index r = 0; r < s_; ++r) {
                const double turn = chosen.turns[c * s_ + r];
                weight += turn;
                if (r < thresholds_) out[size(d_ + r)] += offset_ * offset_ * turn;
            }
            const Index i = number(chosen.rows[c]);
            const auto add = [&](Index j, double value) { out[size(j)] += weight * value * value; };
            if constexpr (std::is_same_v<Form, DenseRows<T>>) {
                x.copy_row(i, row.data());
                for (Index j = 0; j < d_; ++j) add(j, static_cast<double>(row[size(j)]));
            } else {
                const auto line = x.row(i);
                for (Index j = 0; j < line.count; ++j)
                    add(static_cast<Index>(line.column[j]), static_cast<double>(line.value[j]));
            }
        }
    }

    const Rows<T>& rows_;
    const std::vector<Index>& ids_;
    Index d_, thresholds_, s_, length_;
    double offset_, entries_per_row_;
};

}  // namespace hingeline::finite_newton
