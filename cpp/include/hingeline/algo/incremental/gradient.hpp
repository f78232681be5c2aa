// Gradient: how G follows a move of the coefficients.
//
// Direction of a driver ([INC] eqs. 7, 9): beta = -Q (e, col_M), gamma = col + K_:M beta_M + beta_0, where e and col
// are what the driver itself adds. gamma on M is the residual of beta: it is checked every time, and beta is refined if
// it is not small.
#pragma once

#include "hingeline/algo/incremental/margin.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline::incremental {

template <class Source> class Gradient {
  public:
    explicit Gradient(Margin<Source>& margin) : M(margin), s(margin.s) {}

    Numbers beta;           // change of mu and of the members' coefficients per unit of the driver
    Aligned<double> gamma;  // change of G per unit of the driver
    double residual = 0;    // largest |gamma| on M, where it should be zero
    Numbers outputs;        // K alpha of the points of the last `settle`
    double drift = 0;       // bound on the error of G that such residuals have added up to

    /// Compute beta and gamma for a driver that adds `first` to the sum of coefficients and `column` to G. False if Q
    /// is not accurate enough.
    bool sense(const double* column, double first) {
        {
            const Clock clock(s.counts, Part::sensitivity);
            beta = M.solve(column, first);
        }
        double limit = sum_up(column, first);
        for (int round = 0; residual > limit && round < 2; ++round) {
            ++s.counts.refinements;
            Numbers error(beta.size()), change(beta.size());
            error[0] = first;
            for (Index j = 1; j < beta.size(); ++j) {
                error[0] += beta[j];
                error[j] = gamma.data()[s.margin[j - 1]];
            }
            s.q.multiply(error.data(), change.data());
            for (Index j = 0; j < beta.size(); ++j) beta[j] -= change[j];
            limit = sum_up(column, first);
        }
        return residual <= 100 * limit;
    }
    /// gamma from beta, and its residual; returns the residual that is allowed.
    double sum_up(const double* column, double first) {
        const Clock clock(s.counts, Part::gradient);
        double* to = gamma.reserve(padded(s.n));
        for (Index i = 0; i < s.n; ++i) to[i] = column[i] + beta[0];
        std::fill(to + s.n, to + padded(s.n), 0.0);
        constexpr Index worth_a_thread = 1 << 20;  // values
        const Index blocks = padded(s.n) / pass_step;
        const Index threads = std::clamp<Index>(M.m() * padded(s.n) / worth_a_thread, 1, M.kernel.threads());
        run_team(static_cast<int>(threads), M.kernel.interrupt(), [&](int rank, int size) {
            const Index begin = blocks * rank / size * pass_step, end = blocks * (rank + 1) / size * pass_step;
            pass_ops<double>().combine(M.rows.data(), beta.data() + 1, M.m(), begin, end, to);
        });
        s.counts.bytes += static_cast<double>(M.m() * padded(s.n)) * sizeof(double);
        double sum = first, size = std::abs(first);
        residual = 0;
        for (Index j = 1; j < beta.size(); ++j) {
            sum += beta[j];
            size += std::abs(beta[j]);
            residual = std::max(residual, std::abs(to[s.margin[j - 1]]));
        }
        residual = std::max(residual, M.largest * std::abs(sum));
        return 1e-11 * M.largest * (1.0 + size);
    }

    /// G += constant + sum of weighted rows.
    void shift(double constant, const Array<const double*>& from, const Numbers& weights) {
        const Clock clock(s.counts, Part::gradient);
        double* g = s[line::g];
        for (Index i = 0; i < s.n; ++i) g[i] += constant;
        pass_ops<double>().combine(from.data(), weights.data(), from.size(), 0, padded(s.n), g);
        std::fill(g + s.n, g + padded(s.n), 0.0);
        s.counts.bytes += static_cast<double>(from.size() * padded(s.n)) * sizeof(double);
    }
    /// As `shift`, for the rows of all points whose coefficients have changed. Sets `outputs` of these points.
    void settle(double constant, const Array<Index>& who, const Array<const double*>& from, const Numbers& weights) {
        const Clock clock(s.counts, Part::gradient);
        double* g = s[line::g];
        Numbers products(from.size());
        for (Index i = 0; i < s.n; ++i) g[i] += constant;
        pass_ops<double>().combine_and_inner(from.data(), weights.data(), from.size(), padded(s.n), g, s[line::alpha],
                                             products.data());
        std::fill(g + s.n, g + padded(s.n), 0.0);
        outputs.resize(s.n);
        for (Index j = 0; j < who.size(); ++j) outputs[who[j]] = products[j];
        s.counts.bytes += static_cast<double>(from.size() * padded(s.n)) * sizeof(double);
    }
    /// Compute G from alpha.
    void refresh() {
        Numbers sums(padded(s.n), 0.0);
        M.kernel.outputs(sums.data());
        for (Index i = 0; i < s.n; ++i) s[line::g][i] = sums[i] + s.mu - s[line::p][i];
        for (const Index k : s.margin) s[line::g][k] = 0;
        s.refreshed_at = s.counts.steps;
        drift = 0;
    }

  private:
    Margin<Source>& M;
    State& s;
};

}  // namespace hingeline::incremental
