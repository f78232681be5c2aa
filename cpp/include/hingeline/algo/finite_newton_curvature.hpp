// Hessians of linear machines: the rows where the loss has curvature, a sketch of them, and products with directions.
// Symbols as in finite_newton.hpp.
#pragma once

#include "hingeline/algo/finite_newton_chosen.hpp"
#include "hingeline/algo/finite_newton_groups.hpp"

namespace hingeline::finite_newton {

/// Which rows make up a Hessian: one in `rows` (a power of two), with that weight. Products of dense rows are in single
/// precision unless they are to be `precise`.
struct Sketch {
    static constexpr Index neighbours = 16;  // rows that are in the sketch together, or not
    Index rows = 1;
    bool precise = false;
    /// Sampling weight of row i. Rows are chosen by a hash, so the choice does not depend on any order in the data.
    double weight(Index i) const {
        if (rows == 1) return 1.0;
        const std::uint64_t mixed = (static_cast<std::uint64_t>(i / neighbours) + 1) * 0x9E3779B97F4A7C15u;
        return ((mixed >> 33) & static_cast<std::uint64_t>(rows - 1)) == 0 ? static_cast<double>(rows) : 0.0;
    }
};

/// Weights of `some` rows of machine k where the loss is curved, 0 elsewhere: h[r * lines_most + i].
template <class T> void weigh(const Data<T>& data, const Clip& clip, Index k, Index from, Index some,
                              const Outputs& here, std::vector<double>& signs, std::vector<double>& h) {
    for (Index r = 0; r < data.lines; ++r)
        margin_ops().weights(here.of(k) + from, data.signed_weights(k, r, from, some, signs), some, here.offset(k, r),
                             clip, h.data() + r * lines_most);
}

/// The rows of machine k where the loss is curved, with their weights as turns.
template <class T>
Chosen curved_rows(const Data<T>& data, const Clip& clip, const Sketch& sketch, Index k, const Outputs& here) {
    Chosen out;
    const Index step = sketch.rows == 1 ? lines_most : Sketch::neighbours;
    std::vector<double> signs(size(lines_most)), h(size(lines_most * data.lines));
    for (Index from = 0; from < data.n; from += step) {
        const Index some = std::min(step, data.n - from);
        const double weight = sketch.weight(from);
        if (weight == 0) continue;
        weigh(data, clip, k, from, some, here, signs, h);
        for (Index i = 0; i < some; ++i) {
            bool any = false;
            for (Index r = 0; r < data.lines; ++r) any |= h[size(r * lines_most + i)] != 0;
            if (!any) continue;
            out.rows.push_back(from + i);
            for (Index r = 0; r < data.lines; ++r) out.turns.push_back(weight * h[size(r * lines_most + i)]);
        }
    }
    return out;
}

// ---- products with directions --------------------------------------------------------------------------

/// Products of the machines' Hessians (without lambda) with lines of p: H p = X^T (h * (X p)), in one pass.
template <class T> class Curvature {
  public:
    Curvature(const Data<T>& data, const Clip& clip, const Outputs& here, Ids which, const double* p)
        : data_(data), clip_(clip), here_(here), which_(which), p_(p), groups_(which.count, data.d, data.length(), p) {}

    std::vector<double> run(int threads, Interrupt* interrupt) const {
        const Index pieces = data_.pieces(groups_.width);
        std::vector<std::vector<double>> parts(size(pieces));
        std::visit(
            [&](const auto& x) {
                run_tasks(pieces, threads, interrupt,
                          [&](Index piece, int) { multiply(x, piece, pieces, parts[size(piece)], interrupt); });
            },
            data_.rows);
        return groups_.collect(parts, which_.count, data_.m.thresholds);
    }

  private:
    /// Memory of one piece: weights of a block's rows, their products with p, their factors in the product back.
    struct Scratch {
        explicit Scratch(Index lines)
            : signs(size(lines_most)),
              h(size(lines_most * lines)),
              dots(size(lines_most)),
              factors(size(lines_most)),
              ids(size(lines_most)) {}
        std::vector<double> signs, h, dots, factors, tile;
        std::vector<Index> ids;
    };

    template <class Form>
    void multiply(const Form& x, Index piece, Index pieces, std::vector<double>& back, Interrupt* interrupt) const {
        back.assign(size(groups_.width * data_.d + which_.count * data_.m.thresholds), 0.0);
        double* tail = back.data() + groups_.width * data_.d;
        Lines<Form> lines(x);
        Scratch s(data_.lines);
        data_.blocks(piece, pieces, lines.block(), interrupt, [&](Index from, Index some) {
            for (const auto& g : groups_.list)
                if (g.vectors)
                    several(lines, g, from, some, s, tail, back.data() + g.at);
                else
                    one(lines, g, from, some, s, tail, back.data() + g.at);
        });
    }
    /// One machine: only the rows with curvature.
    template <class L>
    void one(L& lines, const Groups::Group& g, Index from, Index some, Scratch& s, double* tail, double* back) const {
        weigh(data_, clip_, which_[g.first], from, some, here_, s.signs, s.h);
        const Index count = compact(data_.numbers(from, some), some, s);
        if (count == 0) return;
        lines.gather({s.ids.data(), 0, count});
        lines.dots(groups_.panel(g), s.dots.data());
        factors(g.first, count, s, tail);
        lines.add(s.factors.data(), back);
    }
    /// Machines side by side: all rows, in tiles.
    template <class L> void several(L& lines, const Groups::Group& g, Index from, Index some, Scratch& s, double* tail,
                                    double* back) const {
        const Index w = Groups::lanes_of(g);
        lines.gather(data_.numbers(from, some));
        s.tile.resize(size((some + row_step) * w));
        lines.tile_dots(groups_.panel(g), g.vectors, s.tile.data());
        for (Index q = 0; q < g.count; ++q) {
            weigh(data_, clip_, which_[g.first + q], from, some, here_, s.signs, s.h);
            for (Index i = 0; i < some; ++i) s.dots[size(i)] = s.tile[size(i * w + q)];
            factors(g.first + q, some, s, tail);
            for (Index i = 0; i < some; ++i) s.tile[size(i * w + q)] = s.factors[size(i)];
        }
        Groups::clear_spare(g, some, s.tile);
        lines.tile_add(s.tile.data(), g.vectors, back);
    }
    /// From products of rows with line q of p to the factors of the rows in the product back.
    void factors(Index q, Index count, Scratch& s, double* tail) const {
        const Index thresholds = data_.m.thresholds;
        const double* line = p_ + q * data_.length();
        std::fill_n(s.factors.data(), count, 0.0);
        for (Index r = 0; r < data_.lines; ++r) {
            const double shift = r < thresholds ? data_.m.offset * line[data_.d + r] : 0.0;
            double sum = 0;
            for (Index i = 0; i < count; ++i) {
                const double f = s.h[size(r * lines_most + i)] * (s.dots[size(i)] - shift);
                s.factors[size(i)] += f;
                sum += f;
            }
            if (r < thresholds) tail[q * thresholds + r] -= data_.m.offset * sum;
        }
    }
    /// Rows of a block that have weights, moved together with their weights.
    Index compact(Ids all, Index some, Scratch& s) const {
        Index count = 0;
        for (Index i = 0; i < some; ++i) {
            bool any = false;
            for (Index r = 0; r < data_.lines; ++r) {
                any |= s.h[size(r * lines_most + i)] != 0;
                s.h[size(r * lines_most + count)] = s.h[size(r * lines_most + i)];
            }
            s.ids[size(count)] = all[i];
            count += any;
        }
        return count;
    }

    const Data<T>& data_;
    const Clip& clip_;
    const Outputs& here_;
    Ids which_;
    const double* p_;
    Groups groups_;
};

}  // namespace hingeline::finite_newton
