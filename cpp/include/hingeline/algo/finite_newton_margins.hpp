// Passes that compute outputs and margins: losses and gradients at a point, slopes along a line, violations of the
// optimality conditions. Symbols as in finite_newton.hpp.
#pragma once

#include "hingeline/algo/finite_newton_data.hpp"
#include "hingeline/algo/finite_newton_groups.hpp"

namespace hingeline::finite_newton {

/// Results of a pass, one entry (line) per machine asked for. A line of the gradient has d + thresholds values.
struct Sums {
    Sums() = default;
    Sums(Index machines, Index length)
        : margins(size(machines), MarginSums{}),
          gradient(size(machines * length), 0.0),
          changed(size(machines), 0),
          rebuilt(size(machines), 0) {}
    std::vector<MarginSums> margins;
    std::vector<double> gradient;
    std::vector<Index> changed;         // rows whose curvature changed (after a move)
    std::vector<std::uint8_t> rebuilt;  // Hessians that a move computed from scratch
};

/// Outputs of a group's machines for a block of rows.
template <class T, class L> void project(const Data<T>& data, L& lines, const Groups& groups, const Groups::Group& g,
                                         Ids which, Index from, std::vector<double>& tile, Outputs& outputs) {
    const Index w = Groups::lanes_of(g), some = lines.count();
    if (!g.vectors) {
        double* y = outputs.of(which[g.first]) + from;
        lines.dots(groups.panel(g), y);
        return data.subtract_targets(from, some, y);
    }
    tile.resize(size((some + row_step) * w));
    lines.tile_dots(groups.panel(g), g.vectors, tile.data());
    for (Index q = 0; q < g.count; ++q) {
        double* y = outputs.of(which[g.first + q]) + from;
        for (Index i = 0; i < some; ++i) y[i] = tile[size(i * w + q)];
        data.subtract_targets(from, some, y);
    }
}

// ---- losses and gradients at a point -------------------------------------------------------------------

/// One piece of a pass: outputs and, while the rows are in the cache, sums of margins and the product back.
template <class T, class Form> void pass_piece(const Data<T>& data, const Form& x, const Clip& clip, Ids which,
                                               const Groups& groups, Index piece, Index pieces, Outputs& outputs,
                                               std::vector<MarginSums>& sums, std::vector<double>& back,
                                               Interrupt* interrupt) {
    const Index thresholds = data.m.thresholds;
    back.assign(size(groups.width * data.d + which.count * thresholds), 0.0);
    double* tail = back.data() + groups.width * data.d;
    Lines<Form> lines(x);
    std::vector<double> signs(size(lines_most)), pull(size(lines_most)), tile;
    data.blocks(piece, pieces, lines.block(), interrupt, [&](Index from, Index some) {
        lines.gather(data.numbers(from, some));
        for (const auto& g : groups.list) {
            const Index w = Groups::lanes_of(g);
            project(data, lines, groups, g, which, from, tile, outputs);
            for (Index q = 0; q < g.count; ++q) {
                const Index k = which[g.first + q];
                std::fill_n(pull.data(), some, 0.0);
                for (Index r = 0; r < data.lines; ++r) {
                    const double* weights = data.signed_weights(k, r, from, some, signs);
                    const MarginSums one = margin_ops().margins(outputs.of(k) + from, weights, some,
                                                                outputs.offset(k, r), clip, pull.data());
                    sums[size(g.first + q)] += one;
                    if (r < thresholds) tail[(g.first + q) * thresholds + r] += data.m.offset * one.weighted;
                }
                if (g.vectors)
                    for (Index i = 0; i < some; ++i) tile[size(i * w + q)] = -pull[size(i)];
            }
            if (g.vectors) {
                Groups::clear_spare(g, some, tile);
                lines.tile_add(tile.data(), g.vectors, back.data() + g.at);
            } else {
                for (Index i = 0; i < some; ++i) pull[size(i)] = -pull[size(i)];
                lines.add(pull.data(), back.data() + g.at);
            }
        }
    });
}

/// Outputs, sums of margins and gradients of machines `which` at the points b (lines of `length` values).
template <class T> Sums pass(const Data<T>& data, const Clip& clip, Ids which, const double* b, Outputs& outputs,
                             int threads, Interrupt* interrupt) {
    Sums out(which.count, data.length());
    for (Index q = 0; q < which.count; ++q) data.read_offsets(b + q * data.length(), outputs.offsets_of(which[q]));
    const Groups groups(which.count, data.d, data.length(), b);
    const Index pieces = data.pieces(groups.width);
    std::vector<std::vector<double>> parts(size(pieces));
    std::vector<std::vector<MarginSums>> margins(size(pieces));
    std::visit(
        [&](const auto& x) {
            run_tasks(pieces, threads, interrupt, [&](Index piece, int) {
                auto& sums = margins[size(piece)];
                sums.assign(size(which.count), MarginSums{});
                pass_piece(data, x, clip, which, groups, piece, pieces, outputs, sums, parts[size(piece)], interrupt);
            });
        },
        data.rows);
    for (const auto& sums : margins)
        for (std::size_t q = 0; q < sums.size(); ++q) out.margins[q] += sums[q];
    out.gradient = groups.collect(parts, which.count, data.m.thresholds);
    return out;
}

// ---- the line between two points -----------------------------------------------------------------------

/// Derivatives of the losses at here + delta (target - here).
template <class T> std::vector<Slope> slopes(const Data<T>& data, const Clip& clip, Ids which, const double* deltas,
                                             const Outputs& here, const Outputs& target, int threads,
                                             Interrupt* interrupt) {
    const Index pieces = data.pieces(1);
    std::vector<Slope> parts(size(pieces * which.count), Slope{0, 0});
    run_tasks(pieces, threads, interrupt, [&](Index piece, int) {
        std::vector<double> signs(size(lines_most));
        data.blocks(piece, pieces, lines_most, interrupt, [&](Index from, Index some) {
            for (Index q = 0; q < which.count; ++q) {
                const Index k = which[q];
                Slope& sum = parts[size(piece * which.count + q)];
                for (Index r = 0; r < data.lines; ++r) {
                    const Slope one = margin_ops().slope(here.of(k) + from, target.of(k) + from,
                                                         data.signed_weights(k, r, from, some, signs), some,
                                                         here.offset(k, r), target.offset(k, r), clip, deltas[q]);
                    sum.first += one.first;
                    sum.second += one.second;
                }
            }
        });
    });
    std::vector<Slope> out(size(which.count), Slope{0, 0});
    for (Index piece = 0; piece < pieces; ++piece)
        for (Index q = 0; q < which.count; ++q) {
            out[size(q)].first += parts[size(piece * which.count + q)].first;
            out[size(q)].second += parts[size(piece * which.count + q)].second;
        }
    return out;
}

// ---- multipliers ---------------------------------------------------------------------------------------

/// s c t of every row for machine k, added up over the thresholds.
template <class T> std::vector<double> pulls(const Data<T>& data, const Clip& clip, Index k, const Outputs& here) {
    std::vector<double> out(size(data.n), 0.0), signs(size(lines_most));
    for (Index from = 0; from < data.n; from += lines_most)
        for (Index r = 0; r < data.lines; ++r) {
            const Index some = std::min(lines_most, data.n - from);
            margin_ops().margins(here.of(k) + from, data.signed_weights(k, r, from, some, signs), some,
                                 here.offset(k, r), clip, out.data() + from);
        }
    return out;
}

template <class T, class Form> void violation_piece(const Data<T>& data, const Form& x, const Clip& clip, Ids which,
                                                    const Groups& groups, double margin, bool curved, Index piece,
                                                    Index pieces, const Outputs& here, Outputs& made,
                                                    std::vector<double>& worst, Interrupt* interrupt) {
    Lines<Form> lines(x);
    std::vector<double> signs(size(lines_most)), tile;
    data.blocks(piece, pieces, lines.block(), interrupt, [&](Index from, Index some) {
        lines.gather(data.numbers(from, some));
        for (const auto& g : groups.list) {
            project(data, lines, groups, g, which, from, tile, made);
            for (Index q = g.first; q < g.first + g.count; ++q)
                for (Index r = 0; r < data.lines; ++r) {
                    const Index k = which[q];
                    const double offsets[2] = {here.offset(k, r), made.offset(k, r)};
                    worst[size(q)] = std::max(worst[size(q)],
                                              margin_ops().violation(here.of(k) + from, made.of(k) + from,
                                                                     data.signed_weights(k, r, from, some, signs), some,
                                                                     offsets, clip, margin, curved ? 1.0 : 0.0));
                }
        }
    });
}

/// Largest violation of the optimality conditions of the dual by the pulls at `here`; b holds the points that the pulls
/// make up, and `made` receives their outputs. With `curved` the dual has the term c^2 / 2; `margin` is the loss's.
template <class T> std::vector<double> violation(const Data<T>& data, const Clip& clip, Ids which, const double* b,
                                                 double margin, bool curved, const Outputs& here, Outputs& made,
                                                 int threads, Interrupt* interrupt) {
    for (Index q = 0; q < which.count; ++q) data.read_offsets(b + q * data.length(), made.offsets_of(which[q]));
    const Groups groups(which.count, data.d, data.length(), b);
    const Index pieces = data.pieces(1);
    std::vector<std::vector<double>> parts(size(pieces), std::vector<double>(size(which.count), 0.0));
    std::visit(
        [&](const auto& x) {
            run_tasks(pieces, threads, interrupt, [&](Index piece, int) {
                violation_piece(data, x, clip, which, groups, margin, curved, piece, pieces, here, made,
                                parts[size(piece)], interrupt);
            });
        },
        data.rows);
    std::vector<double> worst(size(which.count), 0.0);
    for (const auto& part : parts)
        for (std::size_t q = 0; q < part.size(); ++q) worst[q] = std::max(worst[q], part[q]);
    return worst;
}

}  // namespace hingeline::finite_newton
