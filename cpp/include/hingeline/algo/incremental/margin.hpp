// Margin: the set M of points exactly on the margin, and the inverse Q of its system R = [[0, 1], [1, K_MM]].
//
// Invariants. s.margin, rows and the rows 1, 2, ... of Q are in the same order; place(k) == margin exactly for the
// members; G = 0 for the members, except between the steps of sets.hpp.
#pragma once

#include "hingeline/algo/incremental/rows.hpp"

namespace hingeline::incremental {

template <class Source> struct Margin {
    Margin(State& state, SelfGram<double>& gram, const Source& source, std::vector<Scratch<double>>& scratch,
           const Points& points)
        : s(state), kernel(state, gram, source, scratch), points(points) {
        kernel.hold(s.margin);
        for (const Index k : s.margin) rows.push_back(row(k));
        measure();
    }

    State& s;
    KernelRows<Source> kernel;
    const Points& points;
    Array<const double*> rows;                        // kernel rows of the members
    Numbers eta;                                      // right-hand side of the last `solve`
    double largest = 0;                               // largest K_ii
    double noise = 0;                                 // size of rounding errors of G
    double excess = 0;                                // size of rounding errors of the sum of coefficients
    Index changes = 0;                                // number of changes of the set
    static constexpr double dependent = 1e-11;        // kappa below this times max K_ii: in the span of M
    static constexpr double smallest_pivot = 1e-280;  // its inverse, and products with it, stay in range
    static constexpr double suspicious = 1e-6;        // kappa below this times max K_ii: refine b first

    Place& place(Index i) { return s.place[i]; }
    Index m() const { return s.margin.size(); }
    const double* row(Index p) { return kernel.at(p); }

    // ---- one point -----------------------------------------------------------------------------------

    /// KKT violation of position c: how far G is on the wrong side of zero.
    double violation(Index c) const { return s.violation(c, s[line::g][c]); }
    /// Sum of the coefficients minus `total`; zero up to rounding.
    double balance() const {
        double sum = -s.total;
        for (Index i = 0; i < s.n; ++i) sum += s[line::alpha][i];
        return sum;
    }
    /// Set the largest K_ii and the size of rounding errors of G.
    void measure() {
        double mass = 0;
        largest = 0;
        for (Index i = 0; i < s.n; ++i) {
            mass += std::abs(s[line::alpha][i]);
            if (!points.dead[i]) largest = std::max(largest, points.diagonal[i]);
        }
        noise = 1e-14 * mass * largest;
        excess = std::max(1e-9, 2e-16 * mass);
    }
    /// Error of G that is accepted. Where rounding errors of the path would be visible in decision values, less is
    /// accepted than they may be; extended precision is better.
    double tolerance() const { return std::min(noise, std::max(1e-6, 0.1 * noise)); }
    /// Smaller violations are ignored.
    double slack() const { return std::max(1e-10, tolerance()); }
    /// Larger violations are not accepted.
    double limit() const { return std::max(1e-8, tolerance()); }
    /// Smaller changes of a coefficient are rounding errors, relative to its box and to the gradients.
    double least_change() const { return 1e-12 * std::min(s.C, 1.0 / std::max(largest, 1e-300)); }

    /// G of position c, which is not in the problem yet.
    double gradient(Index c) {
        return pass_ops<double>().inner(row(c), s[line::alpha], padded(s.n)) + s.mu - s[line::p][c];
    }
    /// Whether the point at a came before the point at b; breaks ties.
    /// Number of a point in the order of arrival.
    Index serial(Index k) const { return points.serial[k]; }
    bool earlier(Index a, Index b) const { return points.serial[a] < points.serial[b]; }

    /// Put a point that is not in M at its upper or lower bound. (+ 0.0 turns -0.0 into 0.0.)
    void file(Index k, bool high) {
        s[line::alpha][k] = (high ? s.high(k) : s.low(k)) + 0.0;
        place(k) = high ? Place::high : Place::low;
    }

    /// Coefficients of M that differ from a bound by rounding errors are set to the bound.
    void snap_to_bounds() {
        double* alpha = s[line::alpha];
        for (const Index k : s.margin)
            for (const double end : {s.low(k), s.high(k)})
                if (std::abs(alpha[k] - end) <= least_change()) alpha[k] = end + 0.0;
    }

    // ---- the set -----------------------------------------------------------------------------------

    /// Point k enters M and its gradient becomes zero; false if k depends linearly on M.
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
    /// Point k leaves M; the caller files it.
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
    /// Place of a member in M.
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
    /// Smaller pivots may be rounding errors, which grow with the square of b.
    double least_pivot(const Numbers& b) const {
        double size = 1;
        for (const double x : b) size += std::abs(x);
        size -= std::abs(b[0]);
        return std::max(std::max(dependent, 1e-14 * size * size) * largest, smallest_pivot);
    }
    /// Improve b = -Q eta by its residual R b + eta (iterative refinement).
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
    /// Compute Q again from the members. Returns those that depend linearly on others; they are in no set.
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
    /// Points enter M with their current gradients, except those that nearly depend on it. Whether any did.
    bool add(const Array<Index>& points) {
        kernel.hold(points);
        Array<const double*> lines;
        for (const Index k : points) lines.push_back(row(k));
        const Clock clock(s.counts, Part::inverse);
        Array<Numbers> b(points.size()), kappa(points.size());
        for (Index k = 0; k < points.size(); ++k) {
            kernel.poll();
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

    /// Points leave M; the caller has filed them. `beside`, with one value more than M, is permuted the same way.
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
};

}  // namespace hingeline::incremental
