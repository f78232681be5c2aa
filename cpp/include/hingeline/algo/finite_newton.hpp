// The modified finite Newton method for linear machines: the part of it that touches the training rows.
//
// Problem. min over (w, b)  lambda/2 (|w|^2 + |b|^2) + sum_i s_i sum_r loss(margin - t_ir (w.x_i - offset b_r))
// with thresholds b_1..b_S: one stands for the intercept (b = -intercept/offset), several for ordinal regression
// (t_ir = +1 where the class of i is above r). Losses with slope c = clip(xi, low, high) (vector/tiles.hpp, Clip):
// squared hinge (margin 1, low 0, high inf), modified Huber (1, 0, 2), squared (1, -inf, inf), and the hinge smoothed
// over a width tau (1 + tau, 0, 2 tau).
//
// Paper: Keerthi and DeCoste, A modified finite Newton method for fast solution of large scale linear SVMs, JMLR 2005,
// Appendix A and sections 6 and 7.
//
// A Part holds rows and, for each of several machines over them, outputs y = Xw at the current point and at the target
// of the current Newton direction. Its calls return sums over its rows (value, gradient, derivatives along the line
// between the two points, changes of the Hessian); the driver (Python, linear/newton.py) adds the lambda terms, solves
// the small systems and chooses the step. The sums of several Parts add up, so the rows may lie in several files or on
// several computers.
//
// Files: _data (rows, weights, pieces of a pass), _margins (passes for losses, gradients, slopes), _curvature (Hessian
// sketch, products), _chosen (sums over selected rows), _groups (several machines in one pass); here: the state and the
// step.
//
// Where we differ. (1) The zero of the slope along the line is found by Newton's method on that piecewise linear
// function instead of by sorting its breakpoints; it is the same point. (2) A pass computes outputs and gradient
// together, row by row. After a step of another length the gradient follows from the two ends of the line and the rows
// that changed their piece of the loss on it. (3) Conjugate gradients take X^T X p in one pass over the rows instead of
// two.
#pragma once

#include <numeric>

#include "hingeline/algo/dual_descent.hpp"
#include "hingeline/algo/finite_newton_curvature.hpp"
#include "hingeline/algo/finite_newton_margins.hpp"

namespace hingeline::finite_newton {

/// Training rows with the state of their machines. `passes` counts the work in passes over all rows, partial passes by
/// the share of rows that take part.
template <class T> class Part {
  public:
    Part(const Rows<T>& rows, std::vector<Index> ids, Machines machines, Clip clip)
        : Part(Data<T>(std::visit([](const auto& form) { return Forms<T>(form); }, rows), std::move(ids),
                       std::move(machines)),
               clip) {}
    Part(const KernelRows<T>& rows, std::vector<Index> ids, Machines machines, Clip clip)
        : Part(Data<T>(rows, std::move(ids), std::move(machines)), clip) {}
    Part(Data<T> data, Clip clip)
        : data_(std::move(data)),
          clip_(clip),
          here_(data_.machine_count, data_.n, data_.lines),
          target_(data_.machine_count, data_.n, data_.lines) {}
    Index rows() const { return data_.n; }
    Index machines() const { return data_.machine_count; }
    /// Length of a machine's weight vector, thresholds included.
    Index length() const { return data_.length(); }
    double entries_per_row() const { return data_.entries_per_row(); }
    double passes() const { return passes_; }
    void set_clip(Clip clip) { clip_ = clip; }
    /// Hessians from one row in `rows`, times that: enough where there are many more rows than weights. The gradient
    /// is that of all rows. Products of dense rows are in single precision unless they are to be `precise`.
    void set_sketch(Index rows, bool precise) {
        if (rows < 1 || (rows & (rows - 1)) != 0) throw std::invalid_argument("one row in 1, 2, 4, 8, ... expected");
        sketch_ = {rows, precise};
    }

    /// Put machines `which` at the points b (lines of `length` values). Sums there.
    Sums start(Ids which, const double* b, int threads, Interrupt* interrupt) {
        passes_ += 1;
        Sums out = pass(data_, clip_, which, b, here_, threads, interrupt);
        count_active(out);
        return out;
    }
    /// Aim them at the points b. Sums there.
    Sums aim(Ids which, const double* b, int threads, Interrupt* interrupt) {
        passes_ += 1;
        return pass(data_, clip_, which, b, target_, threads, interrupt);
    }
    /// Derivatives of the losses at y + delta (target - y).
    std::vector<Slope> slopes(Ids which, const double* deltas, int threads, Interrupt* interrupt) const {
        return finite_newton::slopes(data_, clip_, which, deltas, here_, target_, threads, interrupt);
    }

    /// Step by delta towards the point aimed at; b holds the points that result. The margins are those there; the
    /// gradient is what must be added to the mean of the gradients of both ends, weighted by delta. Where hessians[q]
    /// is not null, the lower triangle of `length` lines gets the changes of machine q's Hessian, or is computed from
    /// scratch (`rebuilt`) where that is less work.
    Sums move(Ids which, const double* deltas, const double* b, double* const* hessians, int threads,
              Interrupt* interrupt) {
        Sums out(which.count, length());
        // Many machines: one per thread, since a Hessian of few rows has one piece.
        const int inside = which.count >= threads ? 1 : threads;
        run_tasks(which.count, inside == 1 ? threads : 1, interrupt, [&](Index q, int) {
            move_one(which[q], deltas[q], b + q * length(), hessians[q], out, q, inside, interrupt);
        });
        const Index changed = std::accumulate(out.changed.begin(), out.changed.end(), Index{0});
        if (changed > 0) passes_ += static_cast<double>(changed) / static_cast<double>(which.count) / rows_as_double();
        count_active(out);
        return out;
    }

    /// The lower triangle of machine k's Hessian (without lambda) added to h, at the point reached.
    void hessian(Index k, double* h, int threads, Interrupt* interrupt) {
        passes_ += active_ / static_cast<double>(sketch_.rows);
        chosen_sums().add(curved(k), h, nullptr, sketch_.precise, threads, interrupt);
    }
    /// Products of the machines' Hessians (without lambda) with the lines of p.
    std::vector<double> curvature(Ids which, const double* p, int threads, Interrupt* interrupt) {
        passes_ += active_;
        return Curvature<T>(data_, clip_, here_, which, p).run(threads, interrupt);
    }
    /// Diagonal of machine k's Hessian (without lambda), of its sketch where there is one.
    std::vector<double> diagonal(Index k, Interrupt* interrupt) {
        passes_ += active_;
        return chosen_sums().diagonal(curved(k), interrupt);
    }

    /// At most `epochs` epochs of dual coordinate descent of machines `which`, and about `passes` times n visits of
    /// rows at most, from the points b that their `states` made up (zero at first) to a gap of tol times the objective.
    void descend(Ids which, double* b, std::vector<dual_descent::State>& states, dual_descent::Loss loss, double lambda,
                 double tol, Index epochs, Index passes, int threads, Interrupt* interrupt) {
        const dual_descent::Descent<T> descent(data_, loss, lambda);
        states.resize(size(machines()));
        std::vector<double> made(size(which.count), 0.0);
        run_tasks(which.count, threads, interrupt, [&](Index q, int) {
            dual_descent::State& s = states[size(which[q])];
            const Index before = s.visits;
            descent.run(which[q], s, b + q * length(), tol, epochs, passes * data_.n, interrupt);
            made[size(q)] = static_cast<double>(s.visits - before) / static_cast<double>(data_.n);
        });
        passes_ += made.empty() ? 0.0 : *std::max_element(made.begin(), made.end());
    }
    /// Let the descent of machine k go on from multipliers a; sets the point b to what they make up.
    void put_multipliers(Index k, const double* a, double* b, dual_descent::State& s, dual_descent::Loss loss,
                         double lambda) {
        passes_ += 1;
        dual_descent::Descent<T>(data_, loss, lambda).put(k, s, a, b);
    }
    /// s a t of every row for a machine with these multipliers.
    std::vector<double> pulls(Index k, const dual_descent::State& s) const {
        std::vector<double> out(s.a);
        for (Index i = 0; i < data_.n; ++i) out[size(i)] *= data_.plane(k)[i];
        return out;
    }

    /// The largest violation of the optimality conditions of the dual by the pulls at the point reached, where b holds
    /// the points that the pulls make up. The point aimed at is lost. With `curved` the dual has the term c^2 / 2, and
    /// `margin` is the loss's.
    std::vector<double> violation(Ids which, const double* b, double margin, bool curved, int threads,
                                  Interrupt* interrupt) {
        passes_ += 1;
        return finite_newton::violation(data_, clip_, which, b, margin, curved, here_, target_, threads, interrupt);
    }
    /// s c t of every row for machine k at the point reached, added up over the thresholds.
    std::vector<double> pulls(Index k) const { return finite_newton::pulls(data_, clip_, k, here_); }
    const double* outputs(Index k) const { return here_.of(k); }
    /// Largest |w.x - offset b| of machine k among the rows with a weight, at the point reached (one threshold).
    double largest_output(Index k) const {
        double most = 0;
        for (Index i = 0; i < data_.n; ++i)
            if (data_.plane(k)[i] != 0) most = std::max(most, std::abs(outputs(k)[i] - here_.offset(k, 0)));
        return most;
    }

  private:
    ChosenSums<T> chosen_sums() const { return ChosenSums<T>(data_); }
    Chosen curved(Index k) const { return curved_rows(data_, clip_, sketch_, k, here_); }
    double rows_as_double() const { return static_cast<double>(data_.n); }
    /// Share of the rows that have curvature, of the machine with most of them.
    void count_active(const Sums& sums) {
        double most = 0;
        for (const MarginSums& m : sums.margins) most = std::max(most, m.active);
        active_ = std::min(1.0, most / rows_as_double());
    }

    // ---- steps ---------------------------------------------------------------------------------------

    void move_one(Index k, double delta, const double* b, double* hessian, Sums& out, Index q, int threads,
                  Interrupt* interrupt) {
        std::vector<double> offsets(size(data_.lines));
        data_.read_offsets(b, offsets.data());
        const Index pieces = data_.pieces(1);
        std::vector<MarginSums> sums(size(pieces), MarginSums{});
        std::vector<Chosen> found(size(pieces));
        std::vector<Index> turned(size(pieces), 0);
        run_tasks(pieces, threads, nullptr, [&](Index piece, int) {
            turned[size(piece)] = shift_piece(k, delta, offsets, piece, pieces, sums[size(piece)], found[size(piece)]);
        });
        std::copy_n(offsets.data(), data_.lines, here_.offsets_of(k));
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
            chosen_sums().add(chosen, hessian, gradient, sketch_.precise, threads, interrupt);
        } else {  // more rows changed than are active: computing it from scratch is less work
            out.rebuilt[size(q)] = 1;
            chosen_sums().add(chosen, nullptr, gradient, sketch_.precise, threads, interrupt);
            std::fill_n(hessian, length() * length(), 0.0);
            chosen_sums().add(curved(k), hessian, nullptr, sketch_.precise, threads, interrupt);
        }
    }

    /// Moves the outputs of a piece. Rows that change to another piece of the loss go into `found`. Returns the number
    /// of rows that gain or lose curvature.
    Index shift_piece(Index k, double delta, const std::vector<double>& offsets, Index piece, Index pieces,
                      MarginSums& sums, Chosen& found) {
        std::vector<double> signs(size(lines_most)), moved(size(lines_most));
        std::vector<double> bends(size(lines_most * data_.lines)), turns(size(lines_most * data_.lines));
        Index turned = 0;
        data_.blocks(piece, pieces, lines_most, nullptr, [&](Index from, Index some) {
            double* y = here_.of(k) + from;
            const double* target = target_.of(k) + from;
            if (delta == 1.0)
                std::copy_n(target, some, moved.data());
            else
                for (Index i = 0; i < some; ++i) moved[size(i)] = y[i] + delta * (target[i] - y[i]);
            std::fill(bends.begin(), bends.end(), 0.0);
            std::fill(turns.begin(), turns.end(), 0.0);
            for (Index r = 0; r < data_.lines; ++r) {
                const double at[3] = {here_.offset(k, r), target_.offset(k, r), offsets[size(r)]};
                sums +=
                    margin_ops().shift(y, target, moved.data(), data_.signed_weights(k, r, from, some, signs), some, at,
                                       clip_, delta, bends.data() + r * lines_most, turns.data() + r * lines_most);
            }
            std::copy_n(moved.data(), some, y);
            for (Index i = 0; i < some; ++i) {
                bool bent = false, turn = false;
                for (Index r = 0; r < data_.lines; ++r) {
                    bent |= bends[size(r * lines_most + i)] != 0;
                    turn |= turns[size(r * lines_most + i)] != 0;
                }
                turned += turn;
                const double counts = turn ? sketch_.weight(from + i) : 0.0;
                if (!bent && counts == 0) continue;
                found.rows.push_back(from + i);
                for (Index r = 0; r < data_.lines; ++r) {
                    found.bends.push_back(bends[size(r * lines_most + i)]);
                    found.turns.push_back(counts * turns[size(r * lines_most + i)]);
                }
            }
        });
        return turned;
    }

    Data<T> data_;
    Clip clip_;
    Outputs here_, target_;
    Sketch sketch_;
    double passes_ = 0, active_ = 1;
};

}  // namespace hingeline::finite_newton
