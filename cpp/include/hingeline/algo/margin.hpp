// Margin: the points of a machine that are exactly on the margin, the kernel rows they need, and the linear algebra of
// the system R = [[0, 1], [1, K_MM]] that keeps their gradients at zero.
//
// beta = -Q (e, col_M),  gamma = col + K_:M beta_M + beta_0  (eqs. 7, 9 of [INC]; e, col: what the driver itself adds).
// gamma on M is the residual of beta: it is looked at every time, and beta is refined when it is not small.
#pragma once

#include "hingeline/algo/incremental_state.hpp"

namespace hingeline::incremental {

template <class Source> struct Margin {
    Margin(State& state, SelfGram<double>& kernel_, const Source& source_, std::vector<Scratch<double>>& scratch_,
           const Points& points_)
        : s(state), kernel(kernel_), source(source_), scratch(scratch_), points(points_) {
        hold(s.margin);
        for (const Index k : s.margin) rows.push_back(row(k));
        measure();
    }

    State& s;
    SelfGram<double>& kernel;
    const Source& source;
    std::vector<Scratch<double>>& scratch;
    const Points& points;
    Array<const double*> rows;                        // of the members
    Numbers eta, beta;                                // of the last direction
    Aligned<double> gamma;                            // what it does to all gradients
    double residual = 0;                              // on the members, where it should be zero
    double drift = 0;                                 // of G, by such residuals
    double largest = 0;                               // K_ii
    double noise = 0;                                 // rounding errors of G
    Index driver = -1;                                // its row is needed too
    Index outer = -1;                                 // and that of a driver that waits for this one
    Index changes = 0;                                // of the set
    static constexpr double dependent = 1e-11;        // kappa below this, times Hmax: a point of the span of M
    static constexpr double smallest_pivot = 1e-280;  // its inverse, and products with it, stay in range
    static constexpr double suspicious = 1e-6;        // kappa below this, times Hmax: not believed without refinement

    static const PassOps<double>& op() { return pass_ops<double>(); }
    Place& place(Index i) { return s.place[i]; }
    Index m() const { return s.margin.size(); }
    Index padded() const { return (s.n + pass_step - 1) / pass_step * pass_step; }
    /// How far G is on the wrong side of zero.
    double violation(Index c) const {
        const double a = s[line::alpha][c], g = s[line::g][c];
        return std::max(a < s.high(c) ? -g : 0.0, a > s.low(c) ? g : 0.0);
    }
    double balance() const {
        double sum = -s.total;
        for (Index i = 0; i < s.n; ++i) sum += s[line::alpha][i];
        return sum;
    }
    /// Largest diagonal value, and the rounding errors of G.
    void measure() {
        double mass = 0;
        largest = 0;
        for (Index i = 0; i < s.n; ++i) {
            mass += std::abs(s[line::alpha][i]);
            if (!points.dead[i]) largest = std::max(largest, points.diagonal[i]);
        }
        noise = 1e-14 * mass * largest;
    }
    double slack() const { return std::max(1e-10, noise); }
    /// Changes of a coefficient below this are rounding errors, seen from its box and from the gradients.
    double least_change() const { return 1e-12 * std::min(s.C, 1.0 / std::max(largest, 1e-300)); }

    /// G of position c, which is not in the problem yet.
    double gradient(Index c) { return op().inner(row(c), s[line::alpha], padded()) + s.mu - s[line::p][c]; }
    bool earlier(Index a, Index b) const { return points.serial[a] < points.serial[b]; }

    void file(Index k, bool high) {
        s[line::alpha][k] = (high ? s.high(k) : s.low(k)) + 0.0;
        place(k) = high ? Place::high : Place::low;
    }

    /// A coefficient that is at its bound but for rounding errors is at its bound.
    void dust() {
        double* alpha = s[line::alpha];
        for (const Index k : s.margin)
            for (const double end : {s.low(k), s.high(k)})
                if (std::abs(alpha[k] - end) <= least_change()) alpha[k] = end + 0.0;
    }

    // ---- kernel rows -------------------------------------------------------------------------------

    /// Rows that are needed together, beside those of M, are computed together.
    void hold(const Array<Index>& some) {
        Array<Index> missing;
        Index others = 0;
        for (const Index k : s.margin) kernel.touch(k);
        for (const Index k : some) {
            kernel.touch(k);
            others += place(k) != Place::margin;
            if (!kernel.find(k)) missing.push_back(k);
        }
        require_room(others);
        if (missing.empty()) return;
        const Clock clock(s.counts, Part::kernel);
        if (!kernel.fetch(missing, source, Ids::run(0, kernel.size()), scratch)) throw Interrupted();
    }
    /// Room for the rows of M, those of so many other points, of two drivers and one more.
    void require_room(Index others) const {
        const Index needed = m() + others + 3;
        if (needed > kernel.room()) throw Full(needed, kernel.size(), kernel.room());
    }
    /// Row of position p; rows of the margin set stay.
    const double* row(Index p) {
        if (const double* held = kernel.find(p)) {
            kernel.touch(p);
            return held;
        }
        const Clock clock(s.counts, Part::kernel);
        require_room(1);
        for (const Index k : s.margin) kernel.touch(k);
        for (const Index k : {driver, outer})
            if (k >= 0) kernel.touch(k);
        const double* found = kernel.row(p, source, Ids::run(0, kernel.size()), scratch);
        if (!found) throw Interrupted();
        return found;
    }

    // ---- the set -----------------------------------------------------------------------------------

    /// Point k enters, unless it depends on the others; its gradient is zero then.
    bool add(Index k) {
        const double* line_k = row(k);
        const Clock clock(s.counts, Part::inverse);
        if (m() == 0) {
            s.q.start(line_k[k]);
        } else {
            Numbers b = solve(line_k, 1.0);
            double kappa = pivot(b, line_k[k]);
            if (kappa < suspicious * largest) {
                b = direction(line_k);
                kappa = pivot(b, line_k[k]);
            }
            if (!(kappa > least_pivot(b))) return false;
            s.q.append(b.data(), kappa);
        }
        s.margin.push_back(k);
        rows.push_back(line_k);
        place(k) = Place::margin;
        s[line::g][k] = 0;
        ++changes;
        return true;
    }
    /// Point k leaves; the caller files it.
    void remove(Index k) {
        const Clock clock(s.counts, Part::inverse);
        const Index found = where(k);
        s.q.remove(found + 1);
        s.margin[found] = s.margin.back();
        rows[found] = rows.back();
        s.margin.pop_back();
        rows.pop_back();
        place(k) = Place::out;
        ++changes;
    }
    /// Place of a member.
    Index where(Index k) const {
        const auto found = std::find(s.margin.begin(), s.margin.end(), k);
        if (found == s.margin.end()) throw std::logic_error("not on the margin");
        return static_cast<Index>(found - s.margin.begin());
    }
    /// -Q eta, eta = (first, column on M).
    Numbers solve(const double* column, double first) {
        eta.resize(m() + 1);
        eta[0] = first;
        for (Index j = 0; j < s.margin.size(); ++j) eta[j + 1] = column[s.margin[j]];
        Numbers b(eta.size());
        s.q.multiply(eta.data(), b.data());
        for (double& x : b) x = -x;
        return b;
    }
    double pivot(const Numbers& b, double diagonal) const {
        double kappa = diagonal;
        for (Index j = 0; j < b.size(); ++j) kappa += eta[j] * b[j];
        return kappa;
    }
    /// Pivots up to this may be rounding errors: they grow with the square of b.
    double least_pivot(const Numbers& b) const {
        double size = 1;
        for (const double x : b) size += std::abs(x);
        size -= std::abs(b[0]);
        return std::max(std::max(dependent, 1e-14 * size * size) * largest, smallest_pivot);
    }
    /// b = -Q eta, made better by its residual R b + eta.
    void refine(Numbers& b) {
        Numbers residual(b.size()), change(b.size());
        for (int round = 0; round < 2; ++round) {
            residual = eta;
            for (Index j = 1; j < b.size(); ++j) {
                residual[0] += b[j];
                residual[j] += b[0];
                const double* line_j = rows[j - 1];
                for (Index i = 1; i < b.size(); ++i) residual[i] += b[j] * line_j[s.margin[i - 1]];
            }
            s.q.multiply(residual.data(), change.data());
            for (Index j = 0; j < b.size(); ++j) b[j] -= change[j];
            ++s.counts.refinements;
        }
    }
    /// b = -Q (1, column on M), refined.
    Numbers direction(const double* column) {
        Numbers b = solve(column, 1.0);
        refine(b);
        return b;
    }
    /// All members anew; those that depend on others come back, out of every set.
    Array<Index> rebuild() {
        ++s.counts.rebuilds;
        const Array<Index> before = s.margin;
        clear();
        Array<Index> spanned;
        for (const Index k : before)
            if (!add(k)) spanned.push_back(k), place(k) = Place::out;
        return spanned;
    }
    void clear() {
        s.margin.clear();
        rows.clear();
        s.q.clear();
        ++changes;
    }
    /// Points enter M with the gradients they have, but for those that nearly depend on it; whether any did.
    bool add(const Array<Index>& points) {
        hold(points);
        Array<const double*> lines;
        for (const Index k : points) lines.push_back(row(k));
        const Clock clock(s.counts, Part::inverse);
        Array<Numbers> b(points.size()), kappa(points.size());
        for (Index k = 0; k < points.size(); ++k) {
            if (scratch[0].interrupted()) throw Interrupted();
            b[k] = solve(lines[k], 1.0);
            for (Index l = 0; l <= k; ++l) {
                double sum = lines[k][points[l]];
                for (Index j = 0; j < eta.size(); ++j) sum += eta[j] * b[l][j];
                kappa[k].push_back(sum);
            }
        }
        const Array<char> kept = s.q.append(b, kappa, std::max(suspicious * largest, smallest_pivot));
        bool any = false;
        for (Index k = 0; k < points.size(); ++k)
            if (kept[k]) {
                s.margin.push_back(points[k]);
                rows.push_back(lines[k]);
                place(points[k]) = Place::margin;
                any = true;
                ++changes;
            }
        return any;
    }

    /// Points leave M; the caller has filed them. `beside` has one value more than M, and follows.
    void remove(const Array<Index>& points, Numbers* beside = nullptr) {
        const Clock clock(s.counts, Part::inverse);
        if (points.empty()) return;
        if (points.size() == m()) return clear();
        ++changes;
        Array<Index> places;
        for (const Index k : points) places.push_back(where(k));
        std::sort(places.begin(), places.end(), std::greater<>());
        for (const Index p : places) {
            s.margin[p] = s.margin.back();
            rows[p] = rows.back();
            s.margin.pop_back();
            rows.pop_back();
            if (!beside) continue;
            (*beside)[p + 1] = beside->back();
            beside->pop_back();
        }
        for (Index& p : places) ++p;
        s.q.remove(places);
    }

    // ---- directions --------------------------------------------------------------------------------

    /// beta and gamma for a driver that adds `first` to the sum and `column` to G; false when Q is not good enough.
    bool sense(const double* column, double first) {
        {
            const Clock clock(s.counts, Part::sensitivity);
            beta = solve(column, first);
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
    /// gamma from beta; its residual, and what that may be.
    double sum_up(const double* column, double first) {
        const Clock clock(s.counts, Part::gradient);
        double* to = gamma.reserve(padded());
        for (Index i = 0; i < s.n; ++i) to[i] = column[i] + beta[0];
        std::fill(to + s.n, to + padded(), 0.0);
        constexpr Index worth_a_thread = 1 << 20;  // values
        const Index blocks = padded() / pass_step;
        const Index threads = std::clamp<Index>(m() * padded() / worth_a_thread, 1, scratch.size());
        run_team(static_cast<int>(threads), scratch[0].interrupt, [&](int rank, int size) {
            const Index begin = blocks * rank / size * pass_step, end = blocks * (rank + 1) / size * pass_step;
            op().combine(rows.data(), beta.data() + 1, m(), begin, end, to);
        });
        s.counts.bytes += static_cast<double>(m() * padded()) * sizeof(double);
        double sum = first, size = std::abs(first);
        residual = 0;
        for (Index j = 1; j < beta.size(); ++j) {
            sum += beta[j];
            size += std::abs(beta[j]);
            residual = std::max(residual, std::abs(to[s.margin[j - 1]]));
        }
        residual = std::max(residual, largest * std::abs(sum));
        return 1e-11 * largest * (1.0 + size);
    }

    /// G += constant + sum of weighted rows.
    void shift(double constant, const Array<const double*>& from, const Numbers& weights) {
        const Clock clock(s.counts, Part::gradient);
        double* g = s[line::g];
        for (Index i = 0; i < s.n; ++i) g[i] += constant;
        op().combine(from.data(), weights.data(), from.size(), 0, padded(), g);
        std::fill(g + s.n, g + padded(), 0.0);
        s.counts.bytes += static_cast<double>(from.size() * padded()) * sizeof(double);
    }
    /// out += K alpha, from the rows of the support vectors in their order: those that are held, or all `anew`.
    void outputs(double* out, bool anew = false) {
        constexpr Index together = 64;
        Array<Index> support, missing;
        for (Index i = 0; i < s.n; ++i)
            if (s[line::alpha][i] != 0) support.push_back(i);
        Array<Aligned<double>> lines;
        Array<const double*> from;
        Numbers weights;
        for (Index at = 0; at < support.size(); at += together) {
            const Index some = std::min(together, support.size() - at);
            missing.clear();
            const auto find = [&](Index k) { return anew ? nullptr : kernel.find(k); };
            for (Index i = at; i < at + some; ++i)
                if (!find(support[i])) missing.push_back(support[i]);
            lines.clear();
            for (Index i = 0; i < missing.size(); ++i) {
                lines.emplace_back();
                std::fill_n(lines.back().reserve(padded()), padded(), 0.0);
            }
            if (!missing.empty() &&
                !SelfGram<double>::compute(source, Ids::of(missing), Ids::run(0, s.n), lines, scratch))
                throw Interrupted();
            from.clear();
            weights.clear();
            Index next = 0;
            for (Index i = at; i < at + some; ++i) {
                const double* held = find(support[i]);
                from.push_back(held ? held : lines[next++].data());
                weights.push_back(s[line::alpha][support[i]]);
            }
            op().combine(from.data(), weights.data(), static_cast<Index>(some), 0, padded(), out);
        }
    }
    /// G from alpha.
    void refresh() {
        Numbers sums(padded(), 0.0);
        outputs(sums.data());
        for (Index i = 0; i < s.n; ++i) s[line::g][i] = sums[i] + s.mu - s[line::p][i];
        for (const Index k : s.margin) s[line::g][k] = 0;
        s.refreshed_at = s.counts.steps;
        drift = 0;
    }
};

}  // namespace hingeline::incremental
