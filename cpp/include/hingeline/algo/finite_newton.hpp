// The modified finite Newton method for linear machines: everything in it that touches the training rows.
//
// Problem. min over (w, b)  lambda/2 (|w|^2 + |b|^2) + sum_i s_i sum_r loss(margin - t_ir (w.x_i - offset b_r))
// with thresholds b_1..b_S: one stands for the intercept (b = -intercept/offset), several for ordinal regression
// (t_ir = +1 where the class of i is above r). Losses with slope c = clip(xi, low, high) (kernel/ops.hpp, Clip):
// squared hinge (margin 1, low 0, high inf), modified Huber (1, 0, 2), squared (1, -inf, inf), and the hinge smoothed
// over a width tau (1 + tau, 0, 2 tau).
//
// Paper: Keerthi and DeCoste, A modified finite Newton method for fast solution of large scale linear SVMs, JMLR 2005,
// Appendix A and sections 6 and 7.
//
// A Part holds rows and, for each of several machines over them, outputs y = Xw at the point reached and at the point
// aimed at. Its calls return sums over its rows (value, gradient, derivatives along the line between the two points,
// changes of the Hessian); whoever drives it adds the lambda terms, solves the small systems and chooses the step.
// The sums of several Parts add up, so the rows may lie in several files or on several computers.
//
// Where we differ. (1) The zero of the slope along the line is found by Newton's method on that piecewise linear
// function instead of by sorting its breakpoints; it is the same point. (2) A pass computes outputs and gradient
// together, row by row. After a step of another length the gradient follows from the two ends of the line and the rows
// that changed their piece of the loss on it. (3) Conjugate gradients take X^T X p in one pass over the rows instead of
// two.
#pragma once

#include "hingeline/algo/finite_newton_chosen.hpp"
#include "hingeline/algo/finite_newton_groups.hpp"

namespace hingeline::finite_newton {

/// Machines over the same rows: signed weights s t of the rows (planes of n values, machine k has plane `plane_of[k]`);
/// with `codes` the weights are unsigned and t follows from the code and the threshold.
struct Machines {
    const double* planes = nullptr;  // kept alive by the owner
    Index plane_count = 0;
    std::vector<Index> plane_of;
    std::vector<std::int32_t> codes;
    Index thresholds = 1;
    double offset = 1.0;
};

/// What a pass returns, one entry (line) per machine asked for. A line of the gradient has d + thresholds values.
struct Sums {
    std::vector<MarginSums> margins;
    std::vector<double> gradient;
    std::vector<Index> changed;  // rows whose curvature changed (after a move)
};

template <class T> class Part {
  public:
    Part(Rows<T> rows, std::vector<Index> ids, Machines machines, Clip clip)
        : rows_(rows), ids_(std::move(ids)), m_(std::move(machines)), clip_(clip), d_(column_count(rows)) {
        n_ = ids_.empty() ? row_count(rows) : static_cast<Index>(ids_.size());
        for (const Index i : ids_)
            if (i < 0 || i >= row_count(rows)) throw std::invalid_argument("row number out of range");
        if (n_ == 0) throw std::invalid_argument("no rows");
        for (const Index p : m_.plane_of)
            if (p < 0 || p >= m_.plane_count) throw std::invalid_argument("no such plane of weights");
        if (m_.thresholds < 0 || (m_.codes.empty() ? m_.thresholds > 1 : static_cast<Index>(m_.codes.size()) != n_))
            throw std::invalid_argument("several thresholds need one code per row");
        k_ = static_cast<Index>(m_.plane_of.size());
        s_ = std::max<Index>(m_.thresholds, 1);
        y_.assign(size(k_ * n_), 0.0);
        offsets_.assign(size(k_ * s_), 0.0);
        target_.assign(size(k_ * n_), 0.0);
        target_offsets_ = offsets_;
        entries_ = std::visit([&](const auto& x) { return entries(x); }, rows_);
    }
    Index rows() const { return n_; }
    Index machines() const { return k_; }
    /// Length of a machine's weight vector, thresholds included.
    Index length() const { return d_ + m_.thresholds; }
    double entries_per_row() const { return static_cast<double>(entries_) / static_cast<double>(n_); }
    void set_clip(Clip clip) { clip_ = clip; }
    /// Hessians from one row in `rows`, times that: enough where there are many more rows than weights. The gradient
    /// is that of all rows. Products of dense rows are in single precision unless they are to be `precise`.
    void set_sketch(Index rows, bool precise) {
        if (rows < 1 || (rows & (rows - 1)) != 0) throw std::invalid_argument("one row in 1, 2, 4, 8, ... expected");
        sketch_ = rows;
        precise_ = precise;
    }

    /// Put machines `which` at the points b (lines of `length` values). Sums there.
    Sums start(Ids which, const double* b, int threads, Interrupt* interrupt) {
        return pass(which, b, y_, offsets_, threads, interrupt);
    }
    /// Aim them at the points b. Sums there.
    Sums aim(Ids which, const double* b, int threads, Interrupt* interrupt) {
        return pass(which, b, target_, target_offsets_, threads, interrupt);
    }
    /// Derivatives of the losses at y + delta (target - y).
    std::vector<Slope> slopes(Ids which, const double* deltas, int threads, Interrupt* interrupt) const {
        const Index pieces = chunks(1);
        std::vector<Slope> parts(size(pieces * which.count), Slope{0, 0});
        run_tasks(pieces, threads, interrupt, [&](Index piece, int) {
            std::vector<double> signs(size(lines_most));
            blocks(piece, pieces, lines_most, interrupt, [&](Index from, Index some) {
                for (Index q = 0; q < which.count; ++q) {
                    const Index k = which[q];
                    Slope& sum = parts[size(piece * which.count + q)];
                    for (Index r = 0; r < s_; ++r) {
                        const Slope one = margin_ops().slope(y_.data() + k * n_ + from, target_.data() + k * n_ + from,
                                                             signed_weights(k, r, from, some, signs), some,
                                                             offsets_[size(k * s_ + r)],
                                                             target_offsets_[size(k * s_ + r)], clip_, deltas[q]);
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

    /// Step by delta towards the point aimed at; b holds the points that result. The margins are those there; the
    /// gradient is what must be added to the mean of the gradients of both ends, weighted by delta. Where hessians[q]
    /// is not null, the lower triangle of `length` lines gets the changes of machine q's Hessian, or is made anew where
    /// that is less work.
    Sums move(Ids which, const double* deltas, const double* b, double* const* hessians, int threads,
              Interrupt* interrupt) {
        Sums out = empty(which.count);
        for (Index q = 0; q < which.count; ++q) {
            if (interrupt && interrupt->requested()) break;
            move_one(which[q], deltas[q], b + q * length(), hessians[q], out, q, threads, interrupt);
        }
        return out;
    }

    /// The lower triangle of machine k's Hessian (without lambda) added to h, at the point reached.
    void hessian(Index k, double* h, int threads, Interrupt* interrupt) const {
        chosen_sums().add(curved_rows(k), h, nullptr, precise_, threads, interrupt);
    }

    /// Products of the machines' Hessians (without lambda) with the lines of p.
    std::vector<double> curvature(Ids which, const double* p, int threads, Interrupt* interrupt) const {
        const Groups groups(which.count, d_, length(), p);
        const Index pieces = chunks(groups.width);
        std::vector<std::vector<double>> parts(size(pieces));
        std::visit(
            [&](const auto& x) {
                run_tasks(pieces, threads, interrupt, [&](Index piece, int) {
                    curvature_of(x, which, p, groups, piece, pieces, parts[size(piece)], interrupt);
                });
            },
            rows_);
        return groups.collect(parts, which.count, m_.thresholds);
    }

    /// Diagonal of machine k's Hessian (without lambda).
    std::vector<double> diagonal(Index k, Interrupt* interrupt) const {
        return chosen_sums().diagonal(curved_rows(k), interrupt);  // of a sketch where there is one
    }

    /// The largest violation of the optimality conditions of the dual by the pulls at the point reached, where
    /// b holds the points that the pulls make up. What was aimed at is lost. With `curved` the dual has the term c^2 /
    /// 2, and `margin` is the loss's.
    std::vector<double> violation(Ids which, const double* b, double margin, bool curved, int threads,
                                  Interrupt* interrupt) {
        for (Index q = 0; q < which.count; ++q) read_offsets(b + q * length(), target_offsets_.data() + which[q] * s_);
        const Groups groups(which.count, d_, length(), b);
        const Index pieces = chunks(1);
        std::vector<std::vector<double>> parts(size(pieces), std::vector<double>(size(which.count), 0.0));
        std::visit(
            [&](const auto& x) {
                run_tasks(pieces, threads, interrupt, [&](Index piece, int) {
                    violation_of(x, which, groups, margin, curved, piece, pieces, parts[size(piece)], interrupt);
                });
            },
            rows_);
        std::vector<double> worst(size(which.count), 0.0);
        for (const auto& part : parts)
            for (std::size_t q = 0; q < part.size(); ++q) worst[q] = std::max(worst[q], part[q]);
        return worst;
    }

    /// s c t of every row for machine k at the point reached, added up over the thresholds.
    std::vector<double> pulls(Index k) const {
        std::vector<double> out(size(n_), 0.0), signs(size(lines_most));
        for (Index from = 0; from < n_; from += lines_most)
            for (Index r = 0; r < s_; ++r) {
                const Index some = std::min(lines_most, n_ - from);
                margin_ops().margins(y_.data() + k * n_ + from, signed_weights(k, r, from, some, signs), some,
                                     offsets_[size(k * s_ + r)], clip_, out.data() + from);
            }
        return out;
    }
    const double* outputs(Index k) const { return y_.data() + k * n_; }

  private:
    static constexpr Index neighbours = 16;
    static std::size_t size(Index n) { return static_cast<std::size_t>(n); }

    Index entries(const DenseRows<T>& x) const { return x.d * n_; }
    template <class I> Index entries(const CsrRows<T, I>& x) const {
        if (ids_.empty()) return static_cast<Index>(x.starts[x.n]);
        Index sum = 0;
        for (const Index i : ids_) sum += x.row(i).count;
        return sum;
    }

    ChosenSums<T> chosen_sums() const { return {rows_, ids_, m_.thresholds, m_.offset, entries_per_row()}; }

    // ---- the shape of a pass -------------------------------------------------------------------------

    /// Pieces that a pass is cut into: as many whatever the number of threads, and few enough for their sums of
    /// `width` gradients to be small beside the rows.
    Index chunks(Index width) const {
        const Index by_rows = (n_ + 4095) / 4096, by_sums = entries_ / std::max<Index>(32 * length() * width, 1);
        return std::clamp<Index>(std::min(by_rows, by_sums), 1, 64);
    }
    template <class F> void blocks(Index piece, Index pieces, Index block, Interrupt* interrupt, F&& f) const {
        const Index to = n_ * (piece + 1) / pieces;
        for (Index from = n_ * piece / pieces; from < to; from += block) {
            if (interrupt && interrupt->requested()) return;
            f(from, std::min(block, to - from));
        }
    }
    Ids numbers(Index from, Index some) const {
        return ids_.empty() ? Ids::run(from, some) : Ids{ids_.data() + from, 0, some};
    }
    /// s t of `some` rows against threshold r.
    const double* signed_weights(Index k, Index r, Index from, Index some, std::vector<double>& scratch) const {
        const double* plane = m_.planes + m_.plane_of[size(k)] * n_ + from;
        if (m_.codes.empty()) return plane;
        for (Index i = 0; i < some; ++i) scratch[size(i)] = m_.codes[size(from + i)] > r ? plane[i] : -plane[i];
        return scratch.data();
    }
    Sums empty(Index machines) const {
        return {std::vector<MarginSums>(size(machines), MarginSums{}),
                std::vector<double>(size(machines * length()), 0.0), std::vector<Index>(size(machines), 0)};
    }
    void read_offsets(const double* b, double* offsets) const {
        for (Index r = 0; r < s_; ++r) offsets[r] = r < m_.thresholds ? m_.offset * b[d_ + r] : 0.0;
    }

    // ---- outputs and gradients -----------------------------------------------------------------------

    /// Outputs and, while the rows are in the cache, what follows from them.
    Sums pass(Ids which, const double* b, Large<double>& outputs, std::vector<double>& offsets, int threads,
              Interrupt* interrupt) {
        Sums out = empty(which.count);
        for (Index q = 0; q < which.count; ++q) read_offsets(b + q * length(), offsets.data() + which[q] * s_);
        const Groups groups(which.count, d_, length(), b);
        const Index pieces = chunks(groups.width);
        std::vector<std::vector<double>> parts(size(pieces));
        std::vector<std::vector<MarginSums>> margins(size(pieces));
        std::visit(
            [&](const auto& x) {
                run_tasks(pieces, threads, interrupt, [&](Index piece, int) {
                    auto& sums = margins[size(piece)];
                    sums.assign(size(which.count), MarginSums{});
                    pass_of(x, which, groups, piece, pieces, outputs, offsets, sums, parts[size(piece)], interrupt);
                });
            },
            rows_);
        for (const auto& sums : margins)
            for (std::size_t q = 0; q < sums.size(); ++q) out.margins[q] += sums[q];
        out.gradient = groups.collect(parts, which.count, m_.thresholds);
        return out;
    }

    /// Outputs of a group's machines for a block of rows.
    template <class L> void project(L& lines, const Groups& groups, const Groups::Group& g, Ids which, Index from,
                                    std::vector<double>& tile, Large<double>& outputs) const {
        if (!g.vectors) return lines.dots(groups.panel(g), outputs.data() + which[g.first] * n_ + from);
        const Index w = Groups::lanes_of(g), some = lines.count();
        tile.resize(size((some + row_step) * w));
        lines.tile_dots(groups.panel(g), g.vectors, tile.data());
        for (Index q = 0; q < g.count; ++q) {
            double* y = outputs.data() + which[g.first + q] * n_ + from;
            for (Index i = 0; i < some; ++i) y[i] = tile[size(i * w + q)];
        }
    }

    template <class Form> void violation_of(const Form& x, Ids which, const Groups& groups, double margin, bool curved,
                                            Index piece, Index pieces, std::vector<double>& worst,
                                            Interrupt* interrupt) {
        Lines<Form> lines(x);
        std::vector<double> signs(size(lines_most)), tile;
        blocks(piece, pieces, lines.block(), interrupt, [&](Index from, Index some) {
            lines.gather(numbers(from, some));
            for (const auto& g : groups.list) {
                project(lines, groups, g, which, from, tile, target_);
                for (Index q = g.first; q < g.first + g.count; ++q)
                    for (Index r = 0; r < s_; ++r)
                        worst[size(q)] =
                            std::max(worst[size(q)], violation_in(which[q], r, from, some, margin, curved, signs));
            }
        });
    }
    double violation_in(Index k, Index r, Index from, Index some, double margin, bool curved,
                        std::vector<double>& signs) const {
        const double offsets[2] = {offsets_[size(k * s_ + r)], target_offsets_[size(k * s_ + r)]};
        return margin_ops().violation(y_.data() + k * n_ + from, target_.data() + k * n_ + from,
                                      signed_weights(k, r, from, some, signs), some, offsets, clip_, margin,
                                      curved ? 1.0 : 0.0);
    }

    template <class Form> void pass_of(const Form& x, Ids which, const Groups& groups, Index piece, Index pieces,
                                       Large<double>& outputs, const std::vector<double>& offsets,
                                       std::vector<MarginSums>& sums, std::vector<double>& back,
                                       Interrupt* interrupt) const {
        back.assign(size(groups.width * d_ + which.count * m_.thresholds), 0.0);
        double* tail = back.data() + groups.width * d_;
        Lines<Form> lines(x);
        std::vector<double> signs(size(lines_most)), pull(size(lines_most)), tile;
        blocks(piece, pieces, lines.block(), interrupt, [&](Index from, Index some) {
            lines.gather(numbers(from, some));
            for (const auto& g : groups.list) {
                const Index w = Groups::lanes_of(g);
                project(lines, groups, g, which, from, tile, outputs);
                for (Index q = 0; q < g.count; ++q) {
                    const Index k = which[g.first + q];
                    const double* y = outputs.data() + k * n_ + from;
                    std::fill_n(pull.data(), some, 0.0);
                    for (Index r = 0; r < s_; ++r) {
                        const MarginSums one = margin_ops().margins(y, signed_weights(k, r, from, some, signs), some,
                                                                    offsets[size(k * s_ + r)], clip_, pull.data());
                        sums[size(g.first + q)] += one;
                        if (r < m_.thresholds) tail[(g.first + q) * m_.thresholds + r] += m_.offset * one.weighted;
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

    // ---- curvature -----------------------------------------------------------------------------------

    /// Weights of `some` rows of machine k where the loss is curved: h[r * lines_most + i].
    void weigh(Index k, Index from, Index some, std::vector<double>& signs, std::vector<double>& h) const {
        for (Index r = 0; r < s_; ++r) {
            margin_ops().weights(y_.data() + k * n_ + from, signed_weights(k, r, from, some, signs), some,
                                 offsets_[size(k * s_ + r)], clip_, h.data() + r * lines_most);
        }
    }
    /// What a turn of row i counts for in the Hessian. Rows are picked, some neighbours at a time, by a number that has
    /// nothing to do with their order.
    double share(Index i) const {
        if (sketch_ == 1) return 1.0;
        const std::uint64_t mixed = (static_cast<std::uint64_t>(i / neighbours) + 1) * 0x9E3779B97F4A7C15u;
        return ((mixed >> 33) & static_cast<std::uint64_t>(sketch_ - 1)) == 0 ? static_cast<double>(sketch_) : 0.0;
    }
    /// The rows of machine k where the loss is curved, with their weights as turns.
    Chosen curved_rows(Index k) const {
        Chosen out;
        const Index step = sketch_ == 1 ? lines_most : neighbours;
        std::vector<double> signs(size(lines_most)), h(size(lines_most * s_));
        for (Index from = 0; from < n_; from += step) {
            const Index some = std::min(step, n_ - from);
            const double counts = share(from);
            if (counts == 0) continue;
            weigh(k, from, some, signs, h);
            for (Index i = 0; i < some; ++i) {
                bool any = false;
                for (Index r = 0; r < s_; ++r) any |= h[size(r * lines_most + i)] != 0;
                if (!any) continue;
                out.rows.push_back(from + i);
                for (Index r = 0; r < s_; ++r) out.turns.push_back(counts * h[size(r * lines_most + i)]);
            }
        }
        return out;
    }

    template <class Form> void curvature_of(const Form& x, Ids which, const double* p, const Groups& groups,
                                            Index piece, Index pieces, std::vector<double>& back,
                                            Interrupt* interrupt) const {
        back.assign(size(groups.width * d_ + which.count * m_.thresholds), 0.0);
        double* tail = back.data() + groups.width * d_;
        Lines<Form> lines(x);
        std::vector<double> signs(size(lines_most)), h(size(lines_most * s_)), dots(size(lines_most)), tile;
        std::vector<double> factors(size(lines_most));
        std::vector<Index> ids(size(lines_most));
        // From products of rows with p (line q) to the factors of the rows in the product back.
        const auto weighted = [&](Index q, Index count) {
            const double* line = p + q * length();
            std::fill_n(factors.data(), count, 0.0);
            for (Index r = 0; r < s_; ++r) {
                const double shift = r < m_.thresholds ? m_.offset * line[d_ + r] : 0.0;
                double sum = 0;
                for (Index i = 0; i < count; ++i) {
                    const double f = h[size(r * lines_most + i)] * (dots[size(i)] - shift);
                    factors[size(i)] += f;
                    sum += f;
                }
                if (r < m_.thresholds) tail[q * m_.thresholds + r] -= m_.offset * sum;
            }
        };
        blocks(piece, pieces, lines.block(), interrupt, [&](Index from, Index some) {
            const Ids all = numbers(from, some);
            for (const auto& g : groups.list) {
                if (!g.vectors) {  // one machine: only the rows with curvature
                    weigh(which[g.first], from, some, signs, h);
                    const Index count = compact(all, some, h, ids);
                    if (count == 0) continue;
                    lines.gather({ids.data(), 0, count});
                    lines.dots(groups.panel(g), dots.data());
                    weighted(g.first, count);
                    lines.add(factors.data(), back.data() + g.at);
                    continue;
                }
                const Index w = Groups::lanes_of(g);
                lines.gather(all);
                tile.resize(size((some + row_step) * w));
                lines.tile_dots(groups.panel(g), g.vectors, tile.data());
                for (Index q = 0; q < g.count; ++q) {
                    weigh(which[g.first + q], from, some, signs, h);
                    for (Index i = 0; i < some; ++i) dots[size(i)] = tile[size(i * w + q)];
                    weighted(g.first + q, some);
                    for (Index i = 0; i < some; ++i) tile[size(i * w + q)] = factors[size(i)];
                }
                Groups::clear_spare(g, some, tile);
                lines.tile_add(tile.data(), g.vectors, back.data() + g.at);
            }
        });
    }
    /// Rows of a block that have weights, these moved together.
    Index compact(Ids all, Index some, std::vector<double>& h, std::vector<Index>& ids) const {
        Index count = 0;
        for (Index i = 0; i < some; ++i) {
            bool any = false;
            for (Index r = 0; r < s_; ++r) {
                any |= h[size(r * lines_most + i)] != 0;
                h[size(r * lines_most + count)] = h[size(r * lines_most + i)];
            }
            ids[size(count)] = all[i];
            count += any;
        }
        return count;
    }

    // ---- steps ---------------------------------------------------------------------------------------

    void move_one(Index k, double delta, const double* b, double* hessian, Sums& out, Index q, int threads,
                  Interrupt* interrupt) {
        std::vector<double> offsets(size(s_));
        read_offsets(b, offsets.data());
        const Index pieces = chunks(1);
        std::vector<MarginSums> sums(size(pieces), MarginSums{});
        std::vector<Chosen> found(size(pieces));
        std::vector<Index> turned(size(pieces), 0);
        run_tasks(pieces, threads, nullptr, [&](Index piece, int) {
            turned[size(piece)] = shift_piece(k, delta, offsets, piece, pieces, sums[size(piece)], found[size(piece)]);
        });
        std::copy_n(offsets.data(), s_, offsets_.data() + k * s_);
        Chosen chosen;
        for (Index piece = 0; piece < pieces; ++piece) {
            const Chosen& some = found[size(piece)];
            out.margins[size(q)] += sums[size(piece)];
            out.changed[size(q)] += turned[size(piece)];
            chosen.rows.insert(chosen.rows.end(), some.rows.begin(), some.rows.end());
            chosen.turns.insert(chosen.turns.end(), some.turns.begin(), some.turns.end());
            chosen.bends.insert(chosen.bends.end(), some.bends.begin(), some.bends.end());
        }
        double* gradient = out.gradient.data() + q * length();
        if (!hessian || static_cast<double>(out.changed[size(q)]) <= out.margins[size(q)].active) {
            chosen_sums().add(chosen, hessian, gradient, precise_, threads, interrupt);
        } else {  // less work than to follow the changes
            chosen_sums().add(chosen, nullptr, gradient, precise_, threads, interrupt);
            std::fill_n(hessian, length() * length(), 0.0);
            chosen_sums().add(curved_rows(k), hessian, nullptr, precise_, threads, interrupt);
        }
    }

    /// Moves the outputs of a piece; rows whose piece of the loss is another one go into `found`. Returns how many
    /// have gained or lost curvature.
    Index shift_piece(Index k, double delta, const std::vector<double>& offsets, Index piece, Index pieces,
                      MarginSums& sums, Chosen& found) {
        std::vector<double> signs(size(lines_most)), moved(size(lines_most));
        std::vector<double> bends(size(lines_most * s_)), turns(size(lines_most * s_));
        Index turned = 0;
        blocks(piece, pieces, lines_most, nullptr, [&](Index from, Index some) {
            double* y = y_.data() + k * n_ + from;
            const double* target = target_.data() + k * n_ + from;
            if (delta == 1.0)
                std::copy_n(target, some, moved.data());
            else
                for (Index i = 0; i < some; ++i) moved[size(i)] = y[i] + delta * (target[i] - y[i]);
            std::fill(bends.begin(), bends.end(), 0.0);
            std::fill(turns.begin(), turns.end(), 0.0);
            for (Index r = 0; r < s_; ++r) {
                const double at[3] = {offsets_[size(k * s_ + r)], target_offsets_[size(k * s_ + r)], offsets[size(r)]};
                sums += margin_ops().shift(y, target, moved.data(), signed_weights(k, r, from, some, signs), some, at,
                                           clip_, delta, bends.data() + r * lines_most, turns.data() + r * lines_most);
            }
            std::copy_n(moved.data(), some, y);
            for (Index i = 0; i < some; ++i) {
                bool bent = false, turn = false;
                for (Index r = 0; r < s_; ++r) {
                    bent |= bends[size(r * lines_most + i)] != 0;
                    turn |= turns[size(r * lines_most + i)] != 0;
                }
                turned += turn;
                const double counts = turn ? share(from + i) : 0.0;
                if (!bent && counts == 0) continue;
                found.rows.push_back(from + i);
                for (Index r = 0; r < s_; ++r) {
                    found.bends.push_back(bends[size(r * lines_most + i)]);
                    found.turns.push_back(counts * turns[size(r * lines_most + i)]);
                }
            }
        });
        return turned;
    }

    Rows<T> rows_;
    std::vector<Index> ids_;
    Machines m_;
    Clip clip_;
    Index n_ = 0, d_ = 0, k_ = 0, s_ = 1, entries_ = 0, sketch_ = 1;
    bool precise_ = false;
    Large<double> y_, target_;
    std::vector<double> offsets_, target_offsets_;
};

}  // namespace hingeline::finite_newton
