// Sums over selected rows of a linear machine: contributions to its Hessian, its gradient and the Hessian's diagonal.
// Symbols as in finite_newton.hpp.
#pragma once

#include "hingeline/algo/finite_newton_data.hpp"
#include "hingeline/algo/moments.hpp"

namespace hingeline::finite_newton {

/// Rows and, for each threshold, weights for the Hessian (turns) and for the gradient (bends).
struct Chosen {
    Large<Index> rows;
    Large<double> turns, bends;
};

template <class T> class ChosenSums {
  public:
    explicit ChosenSums(const Data<T>& data) : data_(data), d_(data.d), length_(data.length()) {}

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
            data_.rows);
        for (Index piece = 0; piece < pieces; ++piece) {
            for (std::size_t j = 0; j < hessians[size(piece)].size(); ++j) hessian[j] += hessians[size(piece)][j];
            for (std::size_t j = 0; j < gradients[size(piece)].size(); ++j) gradient[j] += gradients[size(piece)][j];
        }
    }

    /// Squares of entries with the turns as weights, a value for each weight of the machine.
    std::vector<double> diagonal(const Chosen& chosen, Interrupt* interrupt) const {
        std::vector<double> out(size(length_), 0.0);
        std::visit([&](const auto& x) { squares(x, chosen, out, interrupt); }, data_.rows);
        return out;
    }

  private:
    /// Number of the row at a place among those that take part.
    Index number(Index place) const { return data_.ids.empty() ? place : data_.ids[size(place)]; }

    /// Number of pieces of a sum over selected rows. Their buffers are small beside the work, and take at most 64 MiB.
    Index pieces_of(Index count, bool hessian) const {
        const double row = data_.entries_per_row(), line = static_cast<double>(length_);
        const double work = static_cast<double>(count) * (hessian ? row * row / 2 : row);
        const double area = std::max(hessian ? line * line : line, 1.0);
        // Products of dense rows are made in tiles: a hundred cost as much as an entry of a buffer.
        const double least = hessian && row == static_cast<double>(d_) ? 1024 : 8;
        return std::clamp<Index>(static_cast<Index>(std::min(work / (least * area), 8388608.0 / area)), 1, 16);
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
                    for (Index r = 0; r < data_.lines; ++r) {
                        const double bend = chosen.bends[size((at + i) * data_.lines + r)];
                        sum[size(i)] -= bend;
                        if (r < data_.m.thresholds) gradient[size(d_ + r)] += data_.m.offset * bend;
                    }
                lines.add(sum.data(), gradient.data());
            }
            if (!hessian) continue;
            std::fill_n(sum.data(), some, 0.0);
            for (Index r = 0; r < data_.lines; ++r) {
                double total = 0;
                for (Index i = 0; i < some; ++i) {
                    const double turn = chosen.turns[size((at + i) * data_.lines + r)];
                    sum[size(i)] += turn;
                    one[size(i)] = -data_.m.offset * turn;
                    total += turn;
                }
                if (r >= data_.m.thresholds) continue;
                double* line = hessian + (d_ + r) * length_;
                lines.add(one.data(), line);
                line[d_ + r] += data_.m.offset * data_.m.offset * total;
            }
            moments.add(lines, sum.data());
        }
        if (hessian) moments.flush();
    }

    template <class Form>
    void squares(const Form& x, const Chosen& chosen, std::vector<double>& out, Interrupt* interrupt) const {
        const Index count = static_cast<Index>(chosen.rows.size());
        std::vector<double> weights(size(lines_most));
        std::vector<Index> ids(size(lines_most));
        Lines<Form> lines(x);
        for (Index at = 0; at < count; at += lines.block()) {
            if (interrupt && interrupt->requested()) return;
            const Index some = std::min(lines.block(), count - at);
            for (Index i = 0; i < some; ++i) {
                weights[size(i)] = 0;
                for (Index r = 0; r < data_.lines; ++r) {
                    const double turn = chosen.turns[size((at + i) * data_.lines + r)];
                    weights[size(i)] += turn;
                    if (r < data_.m.thresholds) out[size(d_ + r)] += data_.m.offset * data_.m.offset * turn;
                }
                ids[size(i)] = number(chosen.rows[size(at + i)]);
            }
            lines.gather({ids.data(), 0, some});
            for (Index i = 0; i < some; ++i)
                lines.each_entry(i, [&](Index j, double value) { out[size(j)] += weights[size(i)] * value * value; });
        }
    }

    const Data<T>& data_;
    Index d_, length_;
};

}  // namespace hingeline::finite_newton
