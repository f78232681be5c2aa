// Dual coordinate descent for linear machines, where there are fewer rows than weights.
//
// Problem. That of finite_newton.hpp with at most one threshold: lambda/2 |beta|^2 + sum_i s_i loss(t_i beta.x_i), x_i
// with the last entry -offset if there is a threshold. The dual has a multiplier a_i in [low, high] for each row:
//
//     beta = 1/lambda sum_i s_i a_i t_i x_i,   D = sum_i s_i (margin a_i - curved a_i^2 / 2) - lambda/2 |beta|^2
//
// curved = 1 for the losses of a Clip (a is then the slope of the loss at the minimum), 0 for the hinge (0 <= a <= 1).
//
//     repeat for the rows in random order:
//         G = t_i beta.x_i + curved a_i - margin;  a_i -= G / (curved + s_i |x_i|^2 / lambda), clipped to [low, high]
//         beta += s_i t_i (change of a_i) / lambda x_i
//
// The duality gap is a sum over the rows, s_i times loss(u_i) + a_i u_i - (margin a_i - curved a_i^2 / 2) >= 0. It is
// estimated during an epoch and computed for all rows when the estimate is small enough.
//
// Regression (a folded loss): t_i = 1, beta.x_i is less the target, a_i lies in [-high, high], and its absolute value
// takes its place in D. The step is then that of a function with a kink at zero.
//
// Papers. Hsieh, Chang, Lin, Keerthi, Sundararajan, "A dual coordinate descent method for large-scale linear SVM", ICML
// 2008, with its shrinking: a row at a bound is left out while its gradient points beyond the extremes of the last
// epoch. Regression: Ho and Lin, "Large-scale linear support vector regression", JMLR 13, 2012.
//
// The order of the rows depends on the machine and the epoch only. Machines run in parallel; each is sequential.
#pragma once

#include "hingeline/algo/finite_newton_data.hpp"

namespace hingeline::dual_descent {

using finite_newton::Data;
using finite_newton::size;

/// `curved`: the dual has the term a^2 / 2.
struct Loss {
    Clip clip;
    bool curved;

    /// The loss at t f(x) = u.
    double at(double u) const {
        const double xi = clip.margin - (clip.folded ? -std::abs(u) : u);
        if (!curved) return clip.high * std::max(0.0, xi);
        const double c = std::clamp(xi, clip.low, clip.high);
        return c * (xi - c / 2);
    }
    double dual(double a) const {
        if (clip.folded) a = std::abs(a);
        return a * (clip.margin - (curved ? a / 2 : 0.0));
    }
    /// Sign of a multiplier at t f(x) = u: that which it has, or would get; 1 unless the loss is folded.
    double sign(double u, double a) const {
        if (!clip.folded) return 1.0;
        return a != 0 ? (a < 0 ? -1.0 : 1.0) : (u < 0 ? 1.0 : -1.0);
    }
    /// Minimum along a multiplier from a, where the second derivative is `bend`.
    double step(double u, double a, double bend) const {
        const double pull = u + (curved ? a : 0.0);
        if (!clip.folded) return std::clamp(a - (pull - clip.margin) / bend, clip.low, clip.high);
        const double z = a - pull / bend;
        return std::copysign(std::clamp(std::abs(z) + clip.margin / bend, 0.0, clip.high), z);
    }
};

/// One machine: its multipliers, and what `run` has reached.
struct State {
    std::vector<double> a;
    Index epochs = 0, visits = 0;                  // visits: of single rows, which are fewer in a shrunk epoch
    double objective = 0, gap = 0, violation = 0;  // after `run`; violation: largest projected gradient
    double norm = 0;                               // |beta|^2, updated step by step
    // Shrinking: rows in use, and the extremes of the projected gradient of the last epoch.
    std::vector<Index> rows;
    double high = 0, low = 0;
};

template <class T> class Descent {
  public:
    Descent(const Data<T>& data, Loss loss, double lambda) : data_(data), loss_(loss), lambda_(lambda) {
        if (data.m.thresholds > 1 || !data.m.codes.empty()) throw std::invalid_argument("one threshold at most");
        if (std::holds_alternative<KernelRows<T>>(data.rows))
            throw std::invalid_argument("coordinate descent needs rows in memory");
        norms_.resize(size(data.n));
        const double own = data.m.thresholds ? data.m.offset * data.m.offset : 0.0;
        for (Index i = 0; i < data.n; ++i) norms_[size(i)] = squares(i) + own;
    }

    /// At most `epochs` epochs of machine k, and as many as `visits` visits of rows pay for, until the gap is at most
    /// tol times the objective. beta has `length` values.
    void run(Index k, State& s, double* beta, double tol, Index epochs, Index visits, Interrupt* interrupt) const {
        if (s.a.empty()) start(s);
        const Index end = s.visits + visits;
        for (Index epoch = 0; epoch < epochs && s.visits < end; ++epoch) {
            if (!pass(k, s, beta, interrupt)) return;
            if (s.gap <= tol * (s.objective + lambda_ / 2 * s.norm) || s.rows.empty()) {
                if (!measure(k, s, beta, interrupt)) return;
                if (s.gap <= tol * s.objective) return;
                use_all(s);
            }
        }
        measure(k, s, beta, interrupt);
    }

    /// Go on from multipliers a of machine k; sets beta to what they make up.
    void put(Index k, State& s, const double* a, double* beta) const {
        s.a.assign(a, a + data_.n);
        use_all(s);
        std::fill(beta, beta + data_.length(), 0.0);
        for (Index i = 0; i < data_.n; ++i)
            if (a[i] != 0) add(i, data_.plane(k)[i] * a[i] / lambda_, beta);
        s.norm = inner(beta);
    }

  private:
    void use_all(State& s) const {
        s.rows.resize(size(data_.n));
        for (Index i = 0; i < data_.n; ++i) s.rows[size(i)] = i;
        s.high = std::numeric_limits<double>::infinity(), s.low = -s.high;
    }
    void start(State& s) const {
        s.a.assign(size(data_.n), 0.0);  // low <= 0 <= high
        use_all(s);
    }
    /// One epoch; sets `objective` to the sum of losses and `gap`, both as seen on the way. False when interrupted.
    bool pass(Index k, State& s, double* beta, Interrupt* interrupt) const {
        const double infinity = std::numeric_limits<double>::infinity();
        const double* weights = data_.plane(k);
        shuffle(s.rows, static_cast<std::uint64_t>(k) * 1000003u + static_cast<std::uint64_t>(s.epochs));
        double high = -infinity, low = infinity, gap = 0, losses = 0;
        std::size_t kept = 0;
        for (std::size_t place = 0; place < s.rows.size(); ++place) {
            if (place % 256 == 0 && interrupt && interrupt->requested()) {
                s.rows.erase(s.rows.begin() + static_cast<std::ptrdiff_t>(kept),
                             s.rows.begin() + static_cast<std::ptrdiff_t>(place));
                return false;
            }
            const Index i = s.rows[place];
            const double weight = std::abs(weights[i]), t = weights[i] < 0 ? -1.0 : 1.0;
            if (weight == 0) continue;
            double& a = s.a[size(i)];
            const double u = t * output(i, beta), sign = loss_.sign(u, a), size_of_a = sign * a;
            const double g = slope(sign * u, size_of_a), loss = loss_.at(u);
            losses += weight * loss;
            gap += weight * std::max(0.0, loss + a * u - loss_.dual(a));
            if ((size_of_a <= loss_.clip.low && g > s.high) || (size_of_a >= loss_.clip.high && g < s.low)) continue;
            s.rows[kept++] = i;
            const double inside = project(size_of_a, g);
            high = std::max(high, inside), low = std::min(low, inside);
            if (inside == 0) continue;
            const double bend = (loss_.curved ? 1.0 : 0.0) + weight * norms_[size(i)] / lambda_;
            const double next = bend > 0 ? loss_.step(u, a, bend) : sign * loss_.clip.high;
            if (next != a) {
                const double factor = weights[i] * (next - a) / lambda_;
                s.norm += factor * (2 * (t * u + target(i)) + factor * norms_[size(i)]);
                add(i, factor, beta);
                a = next;
            }
        }
        s.visits += static_cast<Index>(s.rows.size());
        s.rows.resize(kept);
        ++s.epochs;
        if (loss_.clip.folded) high = std::max(high, -low), low = -high;
        s.high = high > 0 ? high : infinity, s.low = low < 0 ? low : -infinity;
        s.gap = gap, s.objective = losses;
        return true;
    }
    /// Objective and gap from all rows; false when interrupted.
    bool measure(Index k, State& s, const double* beta, Interrupt* interrupt) const {
        const double* weights = data_.plane(k);
        double losses = 0, gap = 0;
        s.violation = 0;
        for (Index i = 0; i < data_.n; ++i) {
            if (i % 256 == 0 && interrupt && interrupt->requested()) return false;
            if (weights[i] == 0) continue;
            const double u = (weights[i] < 0 ? -1.0 : 1.0) * output(i, beta), a = s.a[size(i)];
            losses += std::abs(weights[i]) * loss_.at(u);
            gap += std::abs(weights[i]) * std::max(0.0, loss_.at(u) + a * u - loss_.dual(a));
            const double sign = loss_.sign(u, a);
            s.violation = std::max(s.violation, std::abs(project(sign * a, slope(sign * u, sign * a))));
        }
        s.norm = inner(beta);
        s.objective = losses + lambda_ / 2 * s.norm, s.gap = gap;
        return true;
    }
    double slope(double u, double a) const { return u + (loss_.curved ? a : 0.0) - loss_.clip.margin; }
    /// The gradient without the part that points out of [low, high].
    double project(double a, double g) const {
        if (a <= loss_.clip.low) return std::min(g, 0.0);
        return a >= loss_.clip.high ? std::max(g, 0.0) : g;
    }
    double inner(const double* beta) const {
        double sum = 0;
        for (Index i = 0; i < data_.length(); ++i) sum += beta[i] * beta[i];
        return sum;
    }
    static void shuffle(std::vector<Index>& rows, std::uint64_t seed) {
        std::uint64_t x = seed * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u;
        for (std::size_t left = rows.size(); left > 1; --left) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            std::swap(rows[left - 1], rows[x % left]);
        }
    }

    // ---- rows --------------------------------------------------------------------------------------------

    Index number(Index i) const { return data_.ids.empty() ? i : data_.ids[size(i)]; }
    double output(Index i, const double* beta) const {
        double out = 0;
        std::visit([&](const auto& rows) { dot(rows, number(i), beta, out); }, data_.rows);
        if (data_.m.thresholds) out -= data_.m.offset * beta[data_.d];
        return out - target(i);
    }
    double target(Index i) const { return data_.m.targets ? data_.m.targets[i] : 0.0; }
    void add(Index i, double factor, double* beta) const {
        std::visit([&](const auto& rows) { add(rows, number(i), factor, beta); }, data_.rows);
        if (data_.m.thresholds) beta[data_.d] -= factor * data_.m.offset;
    }
    double squares(Index i) const {
        return std::visit([&](const auto& rows) { return squares(rows, number(i)); }, data_.rows);
    }
    static void dot(const DenseRows<T>& x, Index i, const double* w, double& out) {
        const T* row = x.row(i);
        if (x.contiguous()) return linear_ops<T>().line_dots(&row, 1, x.d, w, &out);
        for (Index j = 0; j < x.d; ++j) out += static_cast<double>(row[j * x.column_stride]) * w[j];
    }
    static void add(const DenseRows<T>& x, Index i, double factor, double* w) {
        const T* row = x.row(i);
        if (x.contiguous()) return linear_ops<T>().line_add(&row, 1, x.d, &factor, w);
        for (Index j = 0; j < x.d; ++j) w[j] += factor * static_cast<double>(row[j * x.column_stride]);
    }
    static double squares(const DenseRows<T>& x, Index i) {
        double sum = 0;
        for (Index j = 0; j < x.d; ++j) {
            const auto value = static_cast<double>(x.row(i)[j * x.column_stride]);
            sum += value * value;
        }
        return sum;
    }
    // Kernel values are too dear for one row at a time; the constructor rejects them.
    static void dot(const KernelRows<T>&, Index, const double*, double&) {}
    static void add(const KernelRows<T>&, Index, double, double*) {}
    static double squares(const KernelRows<T>&, Index) { return 0; }
    template <class I> static void dot(const CsrRows<T, I>& x, Index i, const double* w, double& out) {
        const SparseRow<T, I> row = x.row(i);
        for (Index j = 0; j < row.count; ++j) out += static_cast<double>(row.value[j]) * w[row.column[j]];
    }
    template <class I> static void add(const CsrRows<T, I>& x, Index i, double factor, double* w) {
        const SparseRow<T, I> row = x.row(i);
        for (Index j = 0; j < row.count; ++j) w[row.column[j]] += factor * static_cast<double>(row.value[j]);
    }
    template <class I> static double squares(const CsrRows<T, I>& x, Index i) {
        const SparseRow<T, I> row = x.row(i);
        double sum = 0;
        for (Index j = 0; j < row.count; ++j)
            sum += static_cast<double>(row.value[j]) * static_cast<double>(row.value[j]);
        return sum;
    }

    const Data<T>& data_;
    const Loss loss_;
    const double lambda_;
    std::vector<double> norms_;
};

}  // namespace hingeline::dual_descent
