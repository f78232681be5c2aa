// Newton: the L2-SVM by Newton's method on the primal, where steps on one or two rows take long: the kernel matrix is
// ill-conditioned if C is large, if the kernel is flat, or if features are not scaled.
//
// Problem. At f = sum x_j y_j K_j the primal is 1/2 x'(Q - 1/c)x + 1/2 sum c_i max(0, 1 - z_i)^2 with z = y f. On the
// rows with a loss, S = {z < 1}, it is quadratic, and minimal where Q x = 1 on S and x = 0 elsewhere.
//
//     S = that of the minimum with an approximation of Q of low rank (precondition.hpp), if far from the solution
//     repeat: U = rows with a loss or near it
//             repeat: b = solution of Q b = 1 on S, b = 0 elsewhere, by preconditioned conjugate gradients (block.hpp,
//                         precondition.hpp)
//                     x = b, or the minimum of the primal on the line from x to b
//                     S = rows with a loss at x
//             until v = max(x, 0) violates the conditions of the dual on U by at most `goal`
//             r = 1 - Qv on all rows, in the precision of the source
//     until v violates them nowhere, or as much as before
//     v is taken if it raises the dual D
//
// Few iterations are needed (O. Chapelle, "Training a support vector machine in the primal", Neural Computation 19,
// 2007). The work of a run is bounded by constants below.
//
// Full steps. x = b needs about half as many iterations as the line search, but may cycle. So the line search takes
// over when several full steps have not reduced the number of rows that enter or leave S, until that number is the
// smallest so far. This is block principal pivoting (J. J. Judice and F. M. Pires, Computers & Operations Research 21,
// 1994) with the line search in place of its backup rule. Small machines use the line search only, and so does a run
// whose full steps have failed.
//
// Inexact solutions. The residual is reduced to a fraction of its start, since S will change. After a full step the
// fraction is proportional to the number of rows that enter or leave S; it is lowered if that does not halve. A line
// search that does not reach b may be due to the error of b: then the fraction is lowered.
//
// Damping. Where rounding errors of the kernel values exceed 1 / c, Q may have negative eigenvalues and conjugate
// gradients break down. Then each round maximises D less damping (v - start)'diag(Q)(v - start) / 2, which has the same
// maximum, and the round with the smallest violation counts.
//
// State. r = 1 - Qv, so z = 1 - r - v / c.
#pragma once

#include <utility>

#include "hingeline/algo/l2/precondition.hpp"

namespace hingeline::l2 {

/// Machines with so many rows use Newton's method after a few steps.
constexpr Index large_machine = 4096;

/// Outcome of a step. Stuck, declined: nothing has changed; declined: steps are expected to take less time.
enum class Step { taken, interrupted, stuck, declined, indefinite };

template <class Source> class Newton {
    using T = typename Source::Value;

  public:
    /// Rows this far from a loss belong to U, and all rows if these are nearly all, or most are support vectors.
    static constexpr double near = 0.25;
    /// Rows for each landmark of two approximations; the first has as few landmarks as possible.
    static constexpr Index few_landmarks = std::numeric_limits<Index>::max(), many_landmarks = 32;
    /// With so many rows, and beyond this violation, a run begins with an approximation of low rank.
    static constexpr Index approximated = 1024;
    static constexpr double rough = 0.1;
    /// Machines that are not large do without it if this share of the diagonal is missing from it.
    static constexpr double most_missing = 0.3;

    /// Up to `most_held` kernel values of the rows of U are held in memory.
    Newton(Walk<Source>& walk, bool bias, Index most_held)
        : walk_(walk), s(walk.s), most_held_(most_held), block_(walk, bias), inverse_(block_, walk.interrupt()) {}

    /// Move v and r. `choosy`: decline if U is too large to hold and steps are expected to take less time.
    Step move(double goal, bool choosy) {
        Array<double> v(s.v), r(s.r), best_v, best_r;
        double before = std::numeric_limits<double>::infinity(), least = before;
        bool precise = false;
        damping_ = 0.0;
        bold_ = s.n() >= many;
        if (s.n() >= approximated && violation(v, r) > rough) {
            if (!foresee(goal)) return Step::interrupted;
            if (choosy && !foreseen_.empty() && !pays()) return Step::declined;
            if (!foreseen_.empty()) std::fill(v.begin(), v.end(), 0.0), std::fill(r.begin(), r.end(), 1.0);
        }
        for (Index round = 0; round < most_rounds; ++round) {
            const double left = violation(v, r);
            if (left <= goal) break;
            if (!(left <= before / 2)) {
                if (precise && damping_ == 0) break;
                precise = true;  // single precision does not suffice
            }
            before = std::min(before, left);
            Step step = improve(v, r, goal, precise);
            foreseen_.clear();
            if (step == Step::stuck && std::exchange(bold_, false)) step = improve(v, r, goal, precise);
            if (step == Step::stuck && damping_ == 0) {
                damping_ = rounding(s.n());
                step = improve(v, r, goal, precise);
            }
            if (step == Step::interrupted) return step;
            if (step == Step::stuck) break;
            const double reached = violation(v, r);
            if (reached < least) least = reached, best_v = v, best_r = r;
        }
        const bool rises = !best_v.empty() && dual(best_v, best_r) > dual(s.v, s.r);
        if (!rises && !(damping_ > 0 && least < violation(s.v, s.r) / 2)) return Step::stuck;
        s.v = std::move(best_v), s.r = std::move(best_r);
        return Step::taken;
    }

    /// Steps that take as long as the run that was declined.
    double cost() const { return cost_; }

  private:
    /// Products of a run: fewest + more * (diagonal missing from the approximation / penalties)^(1/2). Steps compute
    /// `columns_per_step` kernel columns each, and `steps_per_support` for each support vector (measured: 2 to 10, 1 to
    /// 20).
    static constexpr double fewest_products = 10.0, more_products = 125.0;
    static constexpr double columns_per_step = 5.0, steps_per_support = 9.0;
    static constexpr Index most_rounds = 8, most_iterations = 60, most_products = 500;
    /// Largest U whose kernel values are held in the precision of the source, from the first round on and if single
    /// precision does not suffice.
    static constexpr Index most_exact = 1024, most_precise = 4096;
    /// Fraction of the residual that may be left, its factor if that is too much, and its least.
    static constexpr double first_fraction = 0.1, sharper = 0.1, least_fraction = 1e-10, early = 0.3;
    /// After a full step: the fraction for each share of the rows that enter or leave S.
    static constexpr double first_factor = 0.3;
    /// Full steps that need not reduce the number of rows that enter or leave S.
    static constexpr Index full_steps = 3;
    /// If at most one row in so many has entered or left S, the solution is accurate to the goal.
    static constexpr Index settled = 50;
    /// From this size of U on, steps may be full. Products are restricted to S, and r_b elsewhere is computed at the
    /// end: faster, but its rounding errors are larger.
    static constexpr Index many = 512;
    /// The line search goes to b if the slope there is at most this fraction of the first one.
    static constexpr double flat = 1e-3;

    /// Error of the eigenvalues of a scaled block of this order due to rounding of its elements.
    static double rounding(Index order) {
        return 4 * std::sqrt(static_cast<double>(order)) * std::numeric_limits<T>::epsilon();
    }

    static double dual(const Array<double>& v, const Array<double>& r) { return (sum(v) + dot(v, r)) / 2; }
    static double violation(const Array<double>& v, const Array<double>& r) {
        double worst = 0;
        for (Index i = 0; i < v.size(); ++i) worst = std::max({worst, r[i], v[i] > 0 ? -r[i] : 0.0});
        return worst;
    }

    enum class Place : char { far, near, loss };

    /// One round: v >= 0 and r = 1 - Qv move.
    Step improve(Array<double>& v, Array<double>& r, double goal, bool precise) {
        Array<Index> rows = foreseen_.empty() ? near_loss(v, r, most_held_) : foreseen_rows();
        const Index m = rows.size();
        if (m == 0) return Step::stuck;
        const bool exact = m <= std::min(most_held_, precise ? most_precise : most_exact);
        const Form form = exact ? Form::exact : m <= most_held_ ? Form::single : Form::none;
        if (!block_.take(std::move(rows), form, damping_)) return Step::interrupted;
        restrict(v, r);
        if (!foreseen_.empty())
            for (Index i = 0; i < m; ++i) on_[i] = foreseen_[block_.at[i]] == Place::loss;
        if (!inverse_.build(on_, LowRank<Source>::share)) return Step::interrupted;
        if (const Step step = minimise(goal); step != Step::taken) return step;
        return extend(v, r) ? Step::taken : Step::interrupted;
    }
    /// Find S and U nearly, with an approximation of low rank in place of Q: no kernel values are needed but those of
    /// the landmarks. False when interrupted.
    bool foresee(double goal) {
        const Index n = s.n();
        Array<Index> rows(n);
        std::iota(rows.begin(), rows.end(), Index{0});
        if (!block_.take(std::move(rows), Form::none, damping_)) return false;
        restrict(Array<double>(n, 0.0), Array<double>(n, 1.0));
        for (const Index share : {few_landmarks, many_landmarks}) {
            if (share == many_landmarks && n < large_machine) break;  // as few
            if (!inverse_.build(on_, share)) return false;
            if (n < large_machine && inverse_.missing() > most_missing) return true;
            if (const Step step = minimise_model(goal); step != Step::taken) return step == Step::stuck;
        }
        foreseen_.assign(n, Place::far);
        for (const Index i : near_loss(x_, r_, most_held_)) foreseen_[i] = x_[i] > 0 ? Place::loss : Place::near;
        return true;
    }
    /// Compare the foreseen run with steps, if each of its products computes kernel values again.
    bool pays() {
        Index supports = 0, rows = 0;
        for (const Place place : foreseen_) supports += place == Place::loss, rows += place != Place::far;
        if (rows <= most_held_) return true;
        const auto m = static_cast<double>(supports), n = static_cast<double>(s.n());
        const double products = fewest_products + more_products * std::sqrt(inverse_.missing() / (sum(block_.own) / n));
        cost_ = products * m * m / (2 * n) / columns_per_step;
        return cost_ <= steps_per_support * m;
    }
    /// Move x_ and r_ to the minimum with the approximation of low rank.
    Step minimise_model(double goal) {
        model_ = true;
        Step step = evaluate_model() ? minimise(goal) : Step::interrupted;
        if (step == Step::taken && !evaluate_model()) step = Step::interrupted;
        model_ = false;
        return step;
    }
    /// r_ = 1 - Q x_; false when interrupted.
    bool evaluate_model() {
        Array<double> p(padded(x_.size()), 0.0), product(p.size());
        std::copy(x_.begin(), x_.end(), p.begin());
        r_.assign(p.size(), 1.0);
        return subtract(p, all_, product, r_);
    }
    /// U as foreseen.
    Array<Index> foreseen_rows() const {
        Array<Index> rows;
        for (Index i = 0; i < s.n(); ++i)
            if (foreseen_[i] != Place::far) rows.push_back(i);
        return rows;
    }
    /// U, ascending: rows at most this far from a loss; nearer ones if these are more than `most`.
    Array<Index> near_loss(const Array<double>& v, const Array<double>& r, Index most) const {
        const Index supports = std::count_if(v.begin(), v.end(), [](double x) { return x > 0; });
        Array<Index> rows;
        for (double far = near; far > near / 20; far /= 2) {
            rows.clear();
            for (Index i = 0; i < s.n(); ++i)
                if (v[i] > 0 || r[i] > -far) rows.push_back(i);
            if ((6 * rows.size() > 5 * s.n() || 2 * supports > s.n()) && (s.n() <= most || supports > most))
                rows.resize(s.n()), std::iota(rows.begin(), rows.end(), Index{0});
            if (rows.size() <= most || supports > most) break;
        }
        return rows;
    }
    /// x_, r_ and S from v and r.
    void restrict(const Array<double>& v, const Array<double>& r) {
        const Index m = block_.size();
        x_.assign(m, 0.0), r_.assign(padded(m), 0.0), on_.assign(m, 0), off_.assign(m, 0), all_.assign(m, 1);
        for (Index i = 0; i < m; ++i) x_[i] = v[block_.at[i]], r_[i] = r[block_.at[i]], on_[i] = has_loss(i);
    }
    /// v = x_ on U, and r. False when interrupted.
    bool extend(Array<double>& v, Array<double>& r) {
        Array<double> change(s.n(), 0.0), product;
        for (Index i = 0; i < x_.size(); ++i) change[block_.at[i]] = x_[i] - v[block_.at[i]], v[block_.at[i]] = x_[i];
        if (!walk_.multiply(change, product)) return false;
        for (Index i = 0; i < s.n(); ++i) r[i] -= product[i];
        return true;
    }

    // ---- on U ----------------------------------------------------------------------------------------

    /// c of the damped problem.
    double penalty(Index i) const { return damping_ > 0 ? 1 / (block_.own[i] * s.q[block_.at[i]]) : s.c[block_.at[i]]; }
    bool has_loss(Index i) const { return r_[i] + x_[i] / penalty(i) > 0; }

    /// out = Q p, scaled; false when interrupted.
    bool multiply(const double* p, const Array<char>& wanted, double* out) {
        if (!model_) return block_.multiply(p, wanted, out);
        inverse_.multiply(p, out);
        return !walk_.interrupted();
    }

    /// How accurate a solution is: |r_b| on S is at most min(fraction of its start, most), or `least` if that is more.
    struct Accuracy {
        double fraction, most, least;
    };
    /// Move x_ >= 0 and r_ towards the minimum.
    Step minimise(double goal) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        double fraction = first_fraction, factor = first_factor, floor = goal / 2, least = infinity;
        Index fewest = std::numeric_limits<Index>::max(), patience = bold_ && x_.size() >= many ? full_steps : 0;
        const bool bold = patience > 0;
        Array<double> best(x_), b, r_b;
        for (Index iteration = 0; iteration < most_iterations; ++iteration) {
            Index changed = 0;
            for (Index i = 0; i < x_.size() && (iteration > 0 || !bold); ++i)
                if (on_[i] != has_loss(i)) on_[i] = !on_[i], ++changed;
            if (bold && iteration > 0) {
                if (2 * changed > fewest) factor *= sharper;
                patience = changed < fewest ? full_steps : std::max<Index>(0, patience - 1);
                fewest = std::min(fewest, changed);
            }
            const bool full = patience > 0, last = iteration > 0 && changed * settled <= x_.size();
            Accuracy accuracy{fraction, last ? goal / 2 : infinity, 0.0};
            if (full) {
                const auto share = static_cast<double>(changed) / static_cast<double>(x_.size());
                const double part = iteration == 0 ? first_fraction : std::min(first_fraction, factor * share);
                accuracy = {inverse_.is_factor() ? 0.0 : part, inverse_.is_factor() ? 0.0 : part, floor};
            }
            if (const Step step = solve(accuracy, b, r_b); step != Step::taken) return step;
            const double length = descend(b, r_b, full);
            double left = infinity;
            const bool judged = full ? may_end(goal) : length == 1 || (last && x_.size() >= many);
            if (judged && !clipped_violation(left)) return Step::interrupted;
            if (left < least) best = x_, least = left;
            if (left <= goal) break;
            if (full && last && accuracy.most <= floor) floor = std::max(sharper * floor, least_fraction);
            if (length < early) {
                if (fraction <= least_fraction) break;
                fraction *= sharper;
            }
        }
        if (!std::isfinite(least)) return Step::stuck;
        x_ = std::move(best);
        for (double& x : x_) x = std::max(x, 0.0);
        return Step::taken;
    }
    /// Whether the violation of max(x, 0) may be small: few rows enter or leave S, or they hardly violate.
    bool may_end(double goal) const {
        Index some = 0;
        double change = 0, worst = 0;  // of r by max(x, 0), at most; r of rows that enter S
        for (Index i = 0; i < x_.size(); ++i) {
            if (on_[i] == has_loss(i)) continue;
            ++some;
            change += std::max(0.0, -x_[i]) * s.q[block_.at[i]];
            worst = std::max(worst, r_[i]);
        }
        return some * settled <= x_.size() || change + worst <= goal;
    }
    /// b and r_b = 1 - Qb.
    Step solve(const Accuracy& accuracy, Array<double>& b, Array<double>& r_b) {
        const Index m = x_.size(), width = padded(m);
        const Array<char>& rows = m >= many ? on_ : all_;  // where r_b follows b
        b = x_, r_b = r_;
        Array<double> p(width, 0.0), product(width), z(width, 0.0), residual(width, 0.0);
        bool any = false;
        for (Index i = 0; i < m; ++i)
            if (!on_[i] && x_[i] != 0) p[i] = -x_[i], b[i] = 0.0, any = true;
        if (any && !subtract(p, rows, product, r_b)) return Step::interrupted;
        if (!inverse_.restrict(on_)) return Step::interrupted;
        double rho = 0, limit = 0;
        std::fill(p.begin(), p.end(), 0.0);
        bool first = true;
        for (Index count = 0; count < most_products; ++count) {
            double worst = 0, fresh = 0;
            for (Index i = 0; i < m; ++i)
                if (on_[i]) worst = std::max(worst, std::abs(r_b[i])), residual[i] = block_.scale[i] * r_b[i];
            if (count == 0) limit = std::max(std::min(accuracy.fraction * worst, accuracy.most), accuracy.least);
            if (worst <= limit) break;
            if (!model_ && inverse_.took(count)) {
                if (!inverse_.restrict(on_)) return Step::interrupted;
                first = true;
            }
            inverse_.apply(residual.data(), z.data());
            for (Index i = 0; i < m; ++i)
                if (on_[i]) fresh += residual[i] * z[i];
            for (Index i = 0; i < m; ++i) p[i] = z[i] + (first ? 0.0 : fresh / rho * p[i]);
            first = false;
            rho = fresh;
            if (!multiply(p.data(), rows, product.data())) return Step::interrupted;
            const double length = rho / std::inner_product(p.begin(), p.begin() + m, product.begin(), 0.0);
            if (!(length > 0 && std::isfinite(length))) {
                if (count == 0) return Step::stuck;
                break;
            }
            for (Index i = 0; i < m; ++i)
                if (rows[i]) b[i] += length * block_.scale[i] * p[i], r_b[i] -= length * product[i] / block_.scale[i];
        }
        for (Index i = 0; i < m; ++i) p[i] = b[i] - x_[i], off_[i] = !rows[i];
        return subtract(p, off_, product, r_b) ? Step::taken : Step::interrupted;
    }
    /// r -= Q p at the rows `wanted`; p is changed. False when interrupted.
    bool subtract(Array<double>& p, const Array<char>& wanted, Array<double>& product, Array<double>& r) {
        if (std::find(wanted.begin(), wanted.end(), 1) == wanted.end()) return true;
        for (Index i = 0; i < x_.size(); ++i) p[i] /= block_.scale[i];
        if (!multiply(p.data(), wanted, product.data())) return false;
        for (Index i = 0; i < x_.size(); ++i)
            if (wanted[i]) r[i] -= product[i] / block_.scale[i];
        return true;
    }
    /// Violation of max(x, 0).
    bool clipped_violation(double& left) {
        const Index m = x_.size();
        Array<double> v(x_), r(r_), p(padded(m), 0.0), product(padded(m));
        bool any = false;
        for (Index i = 0; i < m; ++i)
            if (x_[i] < 0) p[i] = -x_[i], v[i] = 0.0, any = true;
        if (any && !subtract(p, all_, product, r)) return false;
        left = violation(v, r);
        return true;
    }
    /// Derivative of the primal at x + t (b - x).
    double slope(const Array<double>& b, const Array<double>& r_b, double t) const {
        double sum = 0;
        for (Index i = 0; i < x_.size(); ++i) {
            const double x = x_[i] + t * (b[i] - x_[i]), r = r_[i] + t * (r_b[i] - r_[i]), c = penalty(i);
            const double rise = (r_[i] - r_b[i]) + (x_[i] - b[i]) / c;  // of z
            sum += (x - c * std::max(0.0, r + x / c)) * rise;
        }
        return sum;
    }
    /// Move x to b, or to the minimum on the line there unless `full`; returns the fraction of the way.
    double descend(const Array<double>& b, const Array<double>& r_b, bool full) {
        double low = 0, high = 1;
        if (!full && slope(b, r_b, 1) > flat * std::abs(slope(b, r_b, 0)))
            for (int halving = 0; halving < 30; ++halving) {
                const double middle = 0.5 * (low + high);
                (slope(b, r_b, middle) > 0 ? high : low) = middle;
            }
        else
            low = 1;
        for (Index i = 0; i < x_.size(); ++i) {
            x_[i] = low == 1 ? b[i] : x_[i] + low * (b[i] - x_[i]);
            r_[i] = low == 1 ? r_b[i] : r_[i] + low * (r_b[i] - r_[i]);
        }
        return low;
    }

    Walk<Source>& walk_;
    State& s;
    const Index most_held_;
    Block<Source> block_;
    Preconditioner<Source> inverse_;
    double damping_ = 0.0, cost_ = 0.0;
    bool model_ = false;          // whether the approximation of low rank takes the place of Q
    bool bold_ = false;           // whether steps may be full
    Array<Place> foreseen_;       // of each position; empty: not known
    Array<double> x_, r_;         // on U; r_ = 1 - Q x_
    Array<char> on_, off_, all_;  // S, its complement in U, U
};

}  // namespace hingeline::l2
