// Exact incremental and decremental SVM: one point in, one point out, another C, and the state is the optimum again.
//
// Problem. min 1/2 a'Ka - p'a over sum a = total, -dn C <= a <= up C, with the gradient G = K a + mu - p:
//   G >= 0 where a is at its lower bound, G = 0 in between (the margin set M), G <= 0 at its upper bound.
// Classification: p = y, total = 0, (dn, up) = (0, w) for y = +1 and (w, 0) for y = -1; f = sum a K + mu.
// Sphere (SVDD): p = K_ii / 2, total = 1, (dn, up) = (0, 1); R^2 = 2 mu + a'Ka, and 2 G = R^2 - d^2.
// Plane (one-class SVM): p = 0, total = 1; rho = -mu.
//
// Paper. P. Laskov, C. Gehl, S. Krueger, K.-R. Mueller, "Incremental support vector learning", JMLR 7, 2006; [INC].
//
// A driver (a point whose coefficient changes, or C itself) moves; mu and a_M follow so that G_M stays 0:
//   beta = -Q (e, col_M),  gamma = col + K_:M beta_M + beta_0,   (eqs. 7, 9; e, col: what the driver itself adds)
// until a coefficient of M reaches a bound, a gradient outside reaches zero, or the driver is where it should be.
//
// Where we differ, and why
// - Signed coefficients: the paper's H, c, e become K, p, 1. Then Q does not depend on the labels, sphere and plane
//   differ from classification by p and `total` alone, and machines of several classes share rows of K.
// - gamma on M is the residual of beta. It is looked at in every step and beta is refined when it is not small, which
//   takes the place of probing Q with random vectors.
// - A new point whose system is nearly singular gets its b refined the same way before its kappa is believed.
// - Ties go to the point that came first, so that the order of positions does not matter.
// - The true residual of M is computed after every operation and corrected by Newton steps; then Q and G are computed
//   anew; then everything is learnt from scratch. Each is counted.
#pragma once

#include <chrono>

#include "hingeline/algo/inverse.hpp"
#include "hingeline/kernel/parallel.hpp"
#include "hingeline/kernel/self_gram.hpp"

namespace hingeline::incremental {

/// Names of the arrays of a state.
namespace line {
enum Name : int { alpha, g, p, up, dn, count };
}

/// Where a point is: not in the problem, at its lower bound, in the margin set, at its upper bound.
enum class Place : std::int8_t { out, low, margin, high };

/// Where the time goes ([INC] Fig. 3).
enum class Part : int { kernel, sensitivity, gradient, search, inverse, check, count };

/// Points as they came, by position.
struct Points {
    std::vector<Index> serial, code;
    std::vector<double> weight;
    Numbers diagonal;          // K_ii
    std::vector<char> dead;                // goes when the model closes up
    Index size() const { return static_cast<Index>(serial.size()); }
    void push(Index number, Index label, double w) {
        serial.push_back(number), code.push_back(label), weight.push_back(w), diagonal.push_back(0), dead.push_back(0);
    }
    void close(const Closing& c) {
        for (const auto& [from, to] : c.moves) {
            const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
            serial[t] = serial[f], code[t] = code[f], weight[t] = weight[f], diagonal[t] = diagonal[f], dead[t] = dead[f];
        }
        const auto size = static_cast<std::size_t>(c.size);
        std::fill(diagonal.begin() + c.size, diagonal.end(), 0.0);
        serial.resize(size), code.resize(size), weight.resize(size), diagonal.resize(size), dead.resize(size);
    }
};

struct Counts {
    Index steps = 0, rebuilds = 0, corrections = 0, restarts = 0, refinements = 0;
    double bytes = 0;  // of kernel rows read to find gamma
    double seconds[static_cast<int>(Part::count)] = {};
};

struct State {
    Parallel<double, line::count> lines;
    std::vector<Place> place;
    std::vector<Index> margin;  // positions in the order of the rows of q
    Inverse q;
    double C = 1, mu = 0, total = 0;
    bool ready = true;      // the coefficients add up to `total`
    Index n = 0;            // positions
    Index refreshed_at = 0;  // steps when g was last computed from alpha
    Counts counts;

    double* operator[](line::Name k) { return lines[k]; }
    const double* operator[](line::Name k) const { return lines[k]; }
    double low(Index i) const { return -lines[line::dn][i] * C; }
    double high(Index i) const { return lines[line::up][i] * C; }
    /// A point of weight zero stays where it is.
    bool fixed(Index i) const { return lines[line::up][i] + lines[line::dn][i] <= 0; }

    /// mu, or where no coefficient is inside its box the middle of all that serve as well; without point `skip`.
    double constant(Index skip = -1) const {
        const double infinity = std::numeric_limits<double>::infinity();
        double least = -infinity, most = infinity;
        for (Index i = 0; i < n; ++i) {
            if (place[static_cast<std::size_t>(i)] == Place::out || fixed(i) || i == skip) continue;
            const double a = lines[line::alpha][i], value = mu - lines[line::g][i];
            if (a > low(i) && a < high(i)) return mu;
            if (a <= low(i)) least = std::max(least, value);
            if (a >= high(i)) most = std::min(most, value);
        }
        return least > -infinity && most < infinity ? (least + most) / 2 : mu;
    }

    /// One more position, not in the problem yet.
    void append(double p, double up, double dn) {
        lines.resize(n + 1);
        place.push_back(Place::out);
        lines[line::p][n] = p, lines[line::up][n] = up, lines[line::dn][n] = dn;
        ++n;
    }
    /// The positions from `size` on were never in the problem.
    void truncate(Index size) {
        n = size;
        lines.resize(n);
        place.resize(static_cast<std::size_t>(n));
    }
    /// Positions that are out go, and others take their places.
    void close(const Closing& c) {
        std::vector<Index> now(static_cast<std::size_t>(n));
        std::iota(now.begin(), now.end(), Index{0});
        for (const auto& [from, to] : c.moves) {
            if (from >= n) continue;  // not here yet
            lines.move(from, to);
            place[static_cast<std::size_t>(to)] = place[static_cast<std::size_t>(from)];
            now[static_cast<std::size_t>(from)] = to;
        }
        for (Index& k : margin) k = now[static_cast<std::size_t>(k)];
        n = std::min(n, c.size);
        lines.resize(n);
        place.resize(static_cast<std::size_t>(n));
    }
};

/// What would have been learnt with all labels turned round.
inline State mirrored(State s) {
    for (Index i = 0; i < s.n; ++i) {
        for (const auto name : {line::alpha, line::g, line::p}) s[name][i] = -s[name][i];
        std::swap(s[line::up][i], s[line::dn][i]);
        Place& place = s.place[static_cast<std::size_t>(i)];
        if (place == Place::low || place == Place::high) place = place == Place::low ? Place::high : Place::low;
    }
    s.mu = -s.mu;
    return s;
}

/// Ctrl-C.
struct Interrupted : std::exception {};
/// The safety net of one operation is used up.
struct Stuck : std::exception {};
/// The rows of the margin set do not fit.
class Full : public std::bad_alloc {
  public:
    Full(Index needed, Index length, Index room)
        : message_("the kernel rows of the margin set do not fit memory_limit: " + std::to_string(needed) +
                   " rows of " + std::to_string(length) + " values are needed, " + std::to_string(room) +
                   " fit. Raise memory_limit, or bound the number of points with window.") {}
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    std::string message_;
};

/// One machine at work: a state, the kernel rows, and which point came first.
template <class Source> class Machine {
  public:
    Machine(State& state, SelfGram<double>& kernel, const Source& source, std::vector<Scratch<double>>& scratch,
            const Points& points)
        : s(state), kernel_(kernel), source_(source), scratch_(scratch), points_(points) {
        open();
    }

    /// G of position c, which is not in the problem yet.
    double gradient(Index c) {
        return op().inner(row(c), s[line::alpha], padded()) + s.mu - s[line::p][c];
    }
    /// Whether position c is content with the coefficient zero, that is, whether learning it changes nothing.
    bool content(Index c) {
        const double g = gradient(c);
        return s.ready && (s.fixed(c) || (s[line::up][c] > 0 ? g >= -slack() : g <= slack()));
    }

    /// Take position c into the problem.
    void learn(Index c) {
        guarded([&] { begin(c); }, c, -1);
    }

    /// Take position c out of the problem. Afterwards G of c is that of a point the machine has never seen.
    void unlearn(Index c) {
        guarded(
            [&] {
                if (!s.ready || !bears(held() - 1, s.C)) {
                    drop(c);
                    return again(members());
                }
                if (s[line::alpha][c] == 0) return drop(c);
                release(c);
                settle();
            },
            -1, c);
    }

    /// Take several positions out of the problem and others in. Whole sets change at a time until all is in order;
    /// false when that does not come to an end, and then the state is of no use.
    bool jump(const std::vector<Index>& leaving, const std::vector<Index>& coming) {
        if (!s.ready || m() == 0 || !bears(held() - static_cast<Index>(leaving.size()), s.C)) return false;
        try {
            leave(leaving);
            for (const Index c : coming) {
                s[line::g][c] = gradient(c);
                place(c) = s[line::up][c] > 0 ? Place::low : Place::high;
            }
            if (!pivot_sets()) return false;
            settle();
        } catch (const Stuck&) {
            return false;
        }
        return true;
    }

    /// Another C, along the exact path.
    void set_bound(double C) {
        guarded(
            [&] {
                if (!s.ready || !bears(held(), C)) {
                    s.C = C;
                    return again(members());
                }
                follow(C);
                settle();
            },
            -1, -1, C);
    }

    /// The largest violation of the optimality conditions, from kernel values alone.
    double violation() {
        if (!s.ready) return 0;
        Numbers g(static_cast<std::size_t>(padded()), 0.0);
        outputs(g.data());
        double worst = std::abs(balance());
        for (Index i = 0; i < s.n; ++i) {
            if (place(i) == Place::out || s.fixed(i)) continue;
            const double value = g[static_cast<std::size_t>(i)] + s.mu - s[line::p][i], a = s[line::alpha][i];
            if (a > s.low(i)) worst = std::max(worst, value);
            if (a < s.high(i)) worst = std::max(worst, -value);
            worst = std::max({worst, s.low(i) - a, a - s.high(i)});
        }
        return worst;
    }

    /// Condition number of R in the 1-norm.
    double condition() const {
        double norm = static_cast<double>(s.margin.size());
        for (std::size_t j = 0; j < s.margin.size(); ++j) {
            double sum = 1;
            for (const Index k : s.margin) sum += std::abs(rows_[j][k]);
            norm = std::max(norm, sum);
        }
        return norm * s.q.norm();
    }

  private:
    static constexpr double eps = 1e-10;         // sensitivities below this are none ([INC] 2.3); gamma: times Hmax
    static constexpr double tie = 1.0 + 1e-12;   // the driver's own end wins ties
    static constexpr double rounding = 1e-12;    // of the sum of coefficients
    static constexpr double dependent = 1e-11;   // kappa below this, times Hmax: a point of the span of M
    static constexpr double suspicious = 1e-6;   // kappa below this, times Hmax: not believed without refinement
    static constexpr Index refresh_every = 1 << 14;  // steps: rounding errors of G have grown by 1e-14 then
    enum class Kind { none, low, high, margin };
    struct Event {
        double step = std::numeric_limits<double>::infinity();
        Index at = -1;
        Kind kind = Kind::none;
    };

    /// Adds the time that it lives to a part.
    struct Clock {
        Clock(Counts& c, Part part) : seconds(c.seconds[static_cast<int>(part)]) {}
        Clock(const Clock&) = delete;
        ~Clock() { seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
        double& seconds;
        std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    };

    static const Ops<double>& op() { return ops<double>(); }
    Place& place(Index i) { return s.place[static_cast<std::size_t>(i)]; }
    Index m() const { return static_cast<Index>(s.margin.size()); }
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
        largest_ = 0;
        for (Index i = 0; i < s.n; ++i) {
            mass += std::abs(s[line::alpha][i]);
            if (!points_.dead[static_cast<std::size_t>(i)])
                largest_ = std::max(largest_, points_.diagonal[static_cast<std::size_t>(i)]);
        }
        noise_ = 1e-14 * mass * largest_;
    }
    double slack() const { return std::max(1e-10, noise_); }
    /// Changes of a coefficient below this are rounding errors, seen from its box and from the gradients.
    double least_change() const { return 1e-12 * std::min(s.C, 1.0 / std::max(largest_, 1e-300)); }

    // ---- kernel rows -------------------------------------------------------------------------------

    void open() {
        hold(s.margin);
        rows_.clear();
        for (const Index k : s.margin) rows_.push_back(row(k));
        measure();
    }
    /// Rows that are needed together are computed together.
    void hold(const std::vector<Index>& points) {
        std::vector<Index> missing;
        for (const Index k : s.margin) kernel_.touch(k);
        for (const Index k : points) {
            kernel_.touch(k);
            if (!kernel_.find(k)) missing.push_back(k);
        }
        if (missing.empty()) return;
        const Clock clock(s.counts, Part::kernel);
        require_room(static_cast<Index>(missing.size()));
        if (!kernel_.fetch(missing, source_, Ids::run(0, kernel_.size()), scratch_)) throw Interrupted();
    }
    void require_room(Index more) const {
        if (m() + more + 2 > kernel_.room()) throw Full(m() + more + 2, kernel_.size(), kernel_.room());
    }
    /// Row of position p; rows of the margin set stay.
    const double* row(Index p) {
        if (const double* held = kernel_.find(p)) {
            kernel_.touch(p);
            return held;
        }
        const Clock clock(s.counts, Part::kernel);
        require_room(1);
        for (const Index k : s.margin) kernel_.touch(k);
        if (driver_ >= 0) kernel_.touch(driver_);
        const double* found = kernel_.row(p, source_, Ids::run(0, kernel_.size()), scratch_);
        if (!found) throw Interrupted();
        return found;
    }

    // ---- linear algebra ----------------------------------------------------------------------------

    bool add(Index k) {
        const double* line_k = row(k);
        const Clock clock(s.counts, Part::inverse);
        if (m() == 0) {
            s.q.start(line_k[k]);
        } else {
            pull(line_k, 1.0);
            Numbers b(eta_.size());
            s.q.multiply(eta_.data(), b.data());
            for (double& x : b) x = -x;
            double kappa = pivot(b, line_k[k]);
            if (kappa < suspicious * largest_) {
                b = direction(line_k);
                kappa = pivot(b, line_k[k]);
            }
            if (!(kappa > least_pivot(b))) return false;
            s.q.append(b.data(), kappa);
        }
        s.margin.push_back(k);
        rows_.push_back(line_k);
        place(k) = Place::margin;
        s[line::g][k] = 0;
        blocked_.clear();
        return true;
    }
    void remove(Index k) {
        const Clock clock(s.counts, Part::inverse);
        const auto found = std::find(s.margin.begin(), s.margin.end(), k) - s.margin.begin();
        s.q.remove(static_cast<Index>(found) + 1);
        s.margin[static_cast<std::size_t>(found)] = s.margin.back();
        rows_[static_cast<std::size_t>(found)] = rows_.back();
        s.margin.pop_back();
        rows_.pop_back();
        place(k) = Place::out;
        blocked_.clear();
    }
    /// eta = (first, column on M).
    void pull(const double* column, double first) {
        eta_.resize(static_cast<std::size_t>(m()) + 1);
        eta_[0] = first;
        for (std::size_t j = 0; j < s.margin.size(); ++j) eta_[j + 1] = column[s.margin[j]];
    }
    double pivot(const Numbers& b, double diagonal) const {
        double kappa = diagonal;
        for (std::size_t j = 0; j < b.size(); ++j) kappa += eta_[j] * b[j];
        return kappa;
    }
    /// Pivots up to this may be rounding errors: they grow with the square of b.
    double least_pivot(const Numbers& b) const {
        double size = 1;
        for (const double x : b) size += std::abs(x);
        size -= std::abs(b[0]);
        return std::max(dependent, 1e-14 * size * size) * largest_;
    }
    /// b = -Q eta, made better by its residual R b + eta.
    void refine(Numbers& b) {
        Numbers residual(b.size()), change(b.size());
        for (int round = 0; round < 2; ++round) {
            residual = eta_;
            for (std::size_t j = 1; j < b.size(); ++j) {
                residual[0] += b[j];
                residual[j] += b[0];
                const double* line_j = rows_[j - 1];
                for (std::size_t i = 1; i < b.size(); ++i) residual[i] += b[j] * line_j[s.margin[i - 1]];
            }
            s.q.multiply(residual.data(), change.data());
            for (std::size_t j = 0; j < b.size(); ++j) b[j] -= change[j];
            ++s.counts.refinements;
        }
    }
    /// b = -Q (1, column on M), refined.
    Numbers direction(const double* column) {
        pull(column, 1.0);
        Numbers b(eta_.size());
        s.q.multiply(eta_.data(), b.data());
        for (double& x : b) x = -x;
        refine(b);
        return b;
    }
    void rebuild() {
        ++s.counts.rebuilds;
        const std::vector<Index> members = s.margin;
        s.margin.clear();
        rows_.clear();
        s.q.clear();
        std::vector<Index> spanned;  // by those before
        for (const Index k : members)
            if (!add(k)) spanned.push_back(k), place(k) = Place::out;
        const Index before = driver_;
        for (const Index k : spanned) {
            driver_ = k;
            seat(k, 1.0);
        }
        driver_ = before;
    }

    /// beta and gamma for a driver that adds `first` to the sum and `column` to G.
    void sense(const double* column, double first) {
        for (int attempt = 0;; ++attempt) {
            {
                const Clock clock(s.counts, Part::sensitivity);
                pull(column, first);
                beta_.resize(eta_.size());
                s.q.multiply(eta_.data(), beta_.data());
                for (double& x : beta_) x = -x;
            }
            double limit = sum_up(column, first);
            for (int round = 0; residual_ > limit && round < 2; ++round) {
                ++s.counts.refinements;
                Numbers residual(beta_.size()), change(beta_.size());
                residual[0] = first;
                for (std::size_t j = 1; j < beta_.size(); ++j) {
                    residual[0] += beta_[j];
                    residual[j] = gamma_.data()[s.margin[j - 1]];
                }
                s.q.multiply(residual.data(), change.data());
                for (std::size_t j = 0; j < beta_.size(); ++j) beta_[j] -= change[j];
                limit = sum_up(column, first);
            }
            if (residual_ <= 100 * limit || attempt == 1) return;
            rebuild();
        }
    }
    /// gamma from beta; its residual, and what that may be.
    double sum_up(const double* column, double first) {
        const Clock clock(s.counts, Part::gradient);
        double* gamma = gamma_.reserve(static_cast<std::size_t>(padded()));
        for (Index i = 0; i < s.n; ++i) gamma[i] = column[i] + beta_[0];
        std::fill(gamma + s.n, gamma + padded(), 0.0);
        constexpr Index worth_a_thread = 1 << 20;  // values
        const Index blocks = padded() / pass_step;
        const Index threads =
            std::clamp<Index>(m() * padded() / worth_a_thread, 1, static_cast<Index>(scratch_.size()));
        run_team(static_cast<int>(threads), scratch_[0].interrupt, [&](int rank, int size) {
            const Index from = blocks * rank / size * pass_step, to = blocks * (rank + 1) / size * pass_step;
            op().combine(rows_.data(), beta_.data() + 1, m(), from, to, gamma);
        });
        s.counts.bytes += static_cast<double>(m() * padded()) * sizeof(double);
        double sum = first, size = std::abs(first);
        residual_ = 0;
        for (std::size_t j = 1; j < beta_.size(); ++j) {
            sum += beta_[j];
            size += std::abs(beta_[j]);
            residual_ = std::max(residual_, std::abs(gamma[s.margin[j - 1]]));
        }
        residual_ = std::max(residual_, largest_ * std::abs(sum));
        return 1e-11 * largest_ * (1.0 + size);
    }

    // ---- steps -------------------------------------------------------------------------------------

    /// The first event when the driver goes in direction `sign`; `rate` is 1 where C is the driver.
    Event find(double sign, double rate) {
        const Clock clock(s.counts, Part::search);
        Event best;
        const bool circling = taken_ > 4 * s.n + 100;  // many times what an operation needs
        const auto consider = [&](double step, Index at, Kind kind) {
            step = std::max(step, 0.0);
            if (step > best.step || (step == best.step && best.at >= 0 && !(earlier(at, best.at) && best.kind == kind)))
                return;
            if (kind == Kind::margin && among(blocked_, at)) return;
            if (kind == Kind::margin && circling && step <= least_change() && among(resting_, at)) return;
            best = {step, at, kind};
        };
        const double *alpha = s[line::alpha], *g = s[line::g], *gamma = gamma_.data();
        for (std::size_t j = 0; j < s.margin.size(); ++j) {
            const Index k = s.margin[j];
            const double rise = sign * beta_[j + 1];
            const double up = rise - sign * rate * s[line::up][k], down = -rise - sign * rate * s[line::dn][k];
            if (up > eps) consider((s.high(k) - alpha[k]) / up, k, Kind::high);
            if (down > eps) consider((alpha[k] - s.low(k)) / down, k, Kind::low);
        }
        const double least = eps * largest_;
        for (Index i = 0; i < s.n; ++i) {
            const double slope = sign * gamma[i];
            const Place where = s.place[static_cast<std::size_t>(i)];
            const bool nears = (where == Place::low && slope < -least) || (where == Place::high && slope > least);
            if (nears && !s.fixed(i)) consider(-g[i] / slope, i, Kind::margin);
        }
        return best;
    }
    static bool among(const std::vector<Index>& some, Index k) {
        return std::find(some.begin(), some.end(), k) != some.end();
    }
    bool earlier(Index a, Index b) const {
        return points_.serial[static_cast<std::size_t>(a)] < points_.serial[static_cast<std::size_t>(b)];
    }

    /// mu, the margin set and all gradients go along by `step` in direction `sign`.
    void apply(double step, double sign) {
        const Clock clock(s.counts, Part::search);
        if (step > least_change()) resting_.clear();
        drift_ += step * residual_;
        const double theta = sign * step;
        double *alpha = s[line::alpha], *g = s[line::g];
        const double* gamma = gamma_.data();
        s.mu += theta * beta_[0];
        for (std::size_t j = 0; j < s.margin.size(); ++j) {
            const Index k = s.margin[j];
            alpha[k] = std::clamp(alpha[k] + theta * beta_[j + 1], s.low(k), s.high(k));
        }
        for (Index i = 0; i < s.n; ++i) g[i] += theta * gamma[i];
        for (const Index k : s.margin) g[k] = 0;
    }

    /// The point of an event changes its set.
    void migrate(const Event& e) {
        if (e.kind == Kind::margin) {
            if (!add(e.at)) blocked_.push_back(e.at);
            return;
        }
        remove(e.at);
        file(e.at, e.kind == Kind::high);
        resting_.push_back(e.at);
    }
    void file(Index k, bool high) {
        s[line::alpha][k] = (high ? s.high(k) : s.low(k)) + 0.0;
        place(k) = high ? Place::high : Place::low;
    }

    /// M is empty: mu moves in direction `sign` until a gradient is zero. The position, or -1; `self` may be one.
    Index move_mu(double sign, Index self) {
        double* g = s[line::g];
        double best = self >= 0 ? std::abs(g[self]) : std::numeric_limits<double>::infinity();
        Index at = self;
        for (Index i = 0; i < s.n; ++i) {
            if (place(i) != (sign > 0 ? Place::high : Place::low) || s.fixed(i)) continue;
            const double step = std::max(-sign * g[i], 0.0);
            if (step < best || (step == best && at != self && earlier(i, at))) best = step, at = i;
        }
        if (at < 0) return -1;
        s.mu += sign * best;
        for (Index i = 0; i < s.n; ++i) g[i] += sign * best;
        g[at] = 0;
        return at;
    }

    void count_step() {
        ++s.counts.steps;
        if (scratch_[0].interrupted()) throw Interrupted();
        if (++taken_ <= 50 * s.n + 1000) return;
        if (rescued_) throw Stuck();
        rescued_ = true;
        taken_ = 0;
        rebuild();
        refresh();
    }

    /// The coefficient of c moves until G of c is zero or it has reached its bound ([INC] Algorithm 1).
    void drive(Index c) {
        double *alpha = s[line::alpha], *g = s[line::g];
        const double sign = g[c] < 0 ? 1.0 : -1.0;
        place(c) = Place::out;
        driver_ = c;
        const double* column = row(c);
        const auto room = [&] { return sign > 0 ? s.high(c) - alpha[c] : alpha[c] - s.low(c); };
        while (sign * g[c] < -slack() && room() > 0) {
            count_step();
            if (m() == 0) {
                const Index k = move_mu(sign, c);
                if (k == c) break;
                add(k);
                continue;
            }
            sense(column, 1.0);
            Event e = find(sign, 0.0);
            bool done = false;
            const double slope = gamma_.data()[c];
            if (slope > eps * largest_ && -sign * g[c] / slope <= e.step * tie) e.step = -sign * g[c] / slope, done = true;
            bool bound = false;
            if (room() <= e.step * tie) e.step = room(), done = bound = true;
            apply(e.step, sign);
            alpha[c] = bound ? (sign > 0 ? s.high(c) : s.low(c)) + 0.0 : alpha[c] + sign * e.step;
            if (done && !bound) g[c] = 0;
            if (done) break;
            migrate(e);
        }
        seat(c, sign);
        driver_ = -1;
    }

    /// Put the driver into its set. A point in the span of M slides on, at G = 0, until it or another is at a bound.
    void seat(Index c, double sign) {
        double* alpha = s[line::alpha];
        while (alpha[c] > s.low(c) && alpha[c] < s.high(c)) {
            if (add(c)) return;
            count_step();
            sense(row(c), 1.0);
            Event e = find(sign, 0.0);
            const double room = sign > 0 ? s.high(c) - alpha[c] : alpha[c] - s.low(c);
            const bool bound = room <= e.step * tie;
            apply(bound ? room : e.step, sign);
            alpha[c] = bound ? (sign > 0 ? s.high(c) : s.low(c)) + 0.0 : alpha[c] + sign * e.step;
            s[line::g][c] = 0;
            if (!bound) migrate(e);
        }
        place(c) = alpha[c] >= s.high(c) ? Place::high : Place::low;
    }

    /// The coefficient of c goes to zero.
    void release(Index c) {
        double* alpha = s[line::alpha];
        if (place(c) == Place::margin) remove(c);
        place(c) = Place::out;
        driver_ = c;
        const double* column = row(c);
        const double sign = alpha[c] > 0 ? -1.0 : 1.0;
        while (alpha[c] != 0) {
            count_step();
            if (m() == 0) {
                const Index k = std::abs(alpha[c]) > 1e-9 * s.C ? move_mu(sign, -1) : -1;
                if (k >= 0) {
                    add(k);
                    continue;
                }
                if (std::abs(alpha[c]) > 1e-9 * s.C) throw Stuck();
                alpha[c] = 0;
                break;
            }
            sense(column, 1.0);
            Event e = find(sign, 0.0);
            const bool done = std::abs(alpha[c]) <= e.step * tie + 1e-2 * least_change();
            if (done) e.step = std::abs(alpha[c]);
            apply(e.step, sign);
            alpha[c] = done ? 0.0 : alpha[c] + sign * e.step;
            if (!done) migrate(e);
        }
        driver_ = -1;
    }
    void drop(Index c) {
        if (place(c) == Place::margin) remove(c);
        s[line::alpha][c] = 0;
        place(c) = Place::out;
    }

    /// C moves to another value; all that is at a bound moves with it.
    void follow(double target) {
        double *alpha = s[line::alpha], *g = s[line::g];
        // What one unit of C adds to G: the part of K a that belongs to bounds, divided by C.
        Aligned<double> column;
        double* col = column.reserve(static_cast<std::size_t>(padded()));
        Numbers weights(s.margin.size());
        double first = 0;
        for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = -alpha[s.margin[j]];
        for (Index i = 0; i < s.n; ++i) col[i] = g[i] - s.mu + s[line::p][i];
        std::fill(col + s.n, col + padded(), 0.0);
        op().combine(rows_.data(), weights.data(), m(), 0, padded(), col);
        for (Index i = 0; i < s.n; ++i) {
            col[i] /= s.C;
            if (place(i) != Place::margin) first += alpha[i] / s.C;
        }
        const auto joins = [&](Index k, double times) {  // at a bound from now on, or no longer
            const double rate = times * alpha[k] / s.C;
            if (rate == 0) return;
            first += rate;
            const double* line_k = row(k);
            for (Index i = 0; i < s.n; ++i) col[i] += rate * line_k[i];
        };
        while (s.C != target) {
            count_step();
            const double sign = target > s.C ? 1.0 : -1.0;
            if (m() == 0 && std::abs(first) > eps) {
                const Index k = move_mu(first > 0 ? sign : -sign, -1);
                if (k >= 0) {
                    joins(k, -1.0);
                    add(k);
                    continue;
                }
            }
            if (m() == 0) {
                std::copy_n(col, s.n, gamma_.reserve(static_cast<std::size_t>(padded())));
                beta_.assign(1, 0.0);
            } else {
                sense(col, first);
            }
            Event e = find(sign, 1.0);
            const bool done = std::abs(target - s.C) <= e.step * tie;
            if (done) e.step = std::abs(target - s.C);
            s.C = done ? target : s.C + sign * e.step;
            apply(e.step, sign);
            for (Index i = 0; i < s.n; ++i)
                if (place(i) == Place::high || place(i) == Place::low)
                    alpha[i] = (place(i) == Place::high ? s.high(i) : s.low(i)) + 0.0;
            if (done) return;
            if (e.kind == Kind::margin) {
                joins(e.at, -1.0);
                if (!add(e.at)) {
                    joins(e.at, 1.0);
                    blocked_.push_back(e.at);
                }
            } else {
                migrate(e);
                joins(e.at, 1.0);
            }
        }
    }

    // ---- sets at a time ----------------------------------------------------------------------------

    /// Coefficients become zero at once; gradients follow, and the sum is out of balance.
    void leave(const std::vector<Index>& points) {
        std::vector<const double*> from;
        Numbers weights;
        std::vector<Index> inside, bearing;
        for (const Index c : points)
            if (s[line::alpha][c] != 0) bearing.push_back(c);
        hold(bearing);
        for (const Index c : points) {
            if (const double a = s[line::alpha][c]; a != 0) {
                from.push_back(row(c));
                weights.push_back(-a);
            }
            if (place(c) == Place::margin) inside.push_back(c);
            s[line::alpha][c] = 0;
            place(c) = Place::out;
        }
        drop_from_margin(inside);
        shift(0.0, from, weights);
    }
    /// G += constant + sum of weighted rows.
    void shift(double constant, const std::vector<const double*>& from, const Numbers& weights) {
        const Clock clock(s.counts, Part::gradient);
        double* g = s[line::g];
        for (Index i = 0; i < s.n; ++i) g[i] += constant;
        op().combine(from.data(), weights.data(), static_cast<Index>(from.size()), 0, padded(), g);
        std::fill(g + s.n, g + padded(), 0.0);
        s.counts.bytes += static_cast<double>(static_cast<Index>(from.size()) * padded()) * sizeof(double);
    }
    /// Points leave M; the caller has filed them. `beside` has one value more than M, and follows.
    void drop_from_margin(const std::vector<Index>& points, Numbers* beside = nullptr) {
        const Clock clock(s.counts, Part::inverse);
        if (points.empty()) return;
        if (static_cast<Index>(points.size()) == m()) {
            s.q.clear();
            s.margin.clear();
            rows_.clear();
            return;
        }
        std::vector<Index> where;
        for (const Index k : points)
            where.push_back(static_cast<Index>(std::find(s.margin.begin(), s.margin.end(), k) - s.margin.begin()));
        std::sort(where.begin(), where.end(), std::greater<>());
        for (const Index p : where) {
            s.margin[static_cast<std::size_t>(p)] = s.margin.back();
            rows_[static_cast<std::size_t>(p)] = rows_.back();
            s.margin.pop_back();
            rows_.pop_back();
            if (!beside) continue;
            (*beside)[static_cast<std::size_t>(p) + 1] = beside->back();
            beside->pop_back();
        }
        for (Index& p : where) ++p;
        s.q.remove(where);
    }
    /// Points enter M with the gradients they have, but for those that nearly depend on it; whether any did.
    bool add_to_margin(const std::vector<Index>& points) {
        hold(points);
        std::vector<const double*> lines;
        for (const Index k : points) lines.push_back(row(k));
        const Clock clock(s.counts, Part::inverse);
        std::vector<Numbers> b(points.size()), kappa(points.size());
        for (std::size_t k = 0; k < points.size(); ++k) {
            pull(lines[k], 1.0);
            b[k].resize(eta_.size());
            s.q.multiply(eta_.data(), b[k].data());
            for (double& x : b[k]) x = -x;
            for (std::size_t l = 0; l <= k; ++l) {
                double sum = lines[k][points[l]];
                for (std::size_t j = 0; j < eta_.size(); ++j) sum += eta_[j] * b[l][j];
                kappa[k].push_back(sum);
            }
        }
        const std::vector<char> kept = s.q.append(b, kappa, suspicious * largest_);
        bool any = false;
        for (std::size_t k = 0; k < points.size(); ++k)
            if (kept[k]) {
                s.margin.push_back(points[k]);
                rows_.push_back(lines[k]);
                place(points[k]) = Place::margin;
                any = true;
            }
        return any;
    }

    /// An active-set method from any coefficients within their boxes. Newton steps on M stop at the first bounds, whose
    /// points leave, until one is complete; only then do all gradients follow, and all points on the wrong side of
    /// zero enter. The objective falls from round to round. False when it is not worth going on.
    bool pivot_sets() {
        constexpr int most_rounds = 200;
        double* g = s[line::g];
        std::vector<Index> in;
        for (int round = 0; round < most_rounds; ++round) {
            if (!complete_step()) return false;
            measure();
            in.clear();
            for (Index i = 0; i < s.n; ++i) {
                const Place where = place(i);
                if ((where == Place::low || where == Place::high) && !s.fixed(i) && violation(i) > slack()) in.push_back(i);
            }
            if (in.empty()) {
                for (const Index k : s.margin) g[k] = 0;
                return true;
            }
            std::sort(in.begin(), in.end(), [&](Index a, Index b) {
                return violation(a) > violation(b) || (violation(a) == violation(b) && earlier(a, b));
            });
            // Many at once make a large M of points that leave it one by one; few at once make many rounds.
            in.resize(std::min(in.size(), s.margin.size() / 4 + 8));
            if (!add_to_margin(in) && !exchange(in.front())) return false;
        }
        return false;
    }
    /// A point in the span of M goes up or down with M, which changes no gradient, until one of them is at a bound.
    bool exchange(Index c) {
        double *alpha = s[line::alpha], *g = s[line::g];
        const double sign = g[c] < 0 ? 1.0 : -1.0, before = g[c];
        if (add(c)) {
            g[c] = before;
            return true;
        }
        std::vector<const double*> from = rows_;
        from.push_back(row(c));
        Numbers b = direction(from.back());
        double step = sign > 0 ? s.high(c) - alpha[c] : alpha[c] - s.low(c);
        Index at = c;
        for (std::size_t j = 0; j < s.margin.size(); ++j) {
            const Index k = s.margin[j];
            const double d = sign * b[j + 1];
            const double reach = (d > 0 ? s.high(k) - alpha[k] : alpha[k] - s.low(k)) / std::max(std::abs(d), eps);
            if (reach < step || (reach == step && at != c && earlier(k, at))) step = std::max(reach, 0.0), at = k;
        }
        const double constant = sign * step * b[0];
        b.erase(b.begin());
        b.push_back(1.0);
        for (double& x : b) x *= sign * step;
        for (std::size_t j = 0; j < s.margin.size(); ++j) {
            const Index k = s.margin[j];
            alpha[k] = std::clamp(alpha[k] + b[j], s.low(k), s.high(k));
        }
        alpha[c] += b.back();
        s.mu += constant;
        shift(constant, from, b);
        ++s.counts.steps;
        if (at == c) {
            file(c, sign > 0);
            return true;
        }
        const bool high = std::abs(s.high(at) - alpha[at]) < std::abs(alpha[at] - s.low(at));
        remove(at);
        file(at, high);
        const double now = g[c];
        if (m() == 0 || !add(c)) return false;
        g[c] = now;
        return true;
    }
    /// Bring G of M and the sum to zero, or M's members to their bounds.
    bool complete_step() {
        double *alpha = s[line::alpha], *g = s[line::g];
        Numbers residual(1, balance()), change, moved;
        for (const Index k : s.margin) residual.push_back(g[k]);
        std::vector<const double*> from = rows_;  // rows of all that move, and how far they have come
        std::vector<Index> who = s.margin, gone;
        Numbers before;
        for (const Index k : who) before.push_back(alpha[k]);
        double constant = 0;
        for (bool whole = false; !whole;) {
            ++s.counts.steps;
            if (scratch_[0].interrupted()) throw Interrupted();
            if (m() == 0) return false;
            change.resize(residual.size());
            {
                const Clock clock(s.counts, Part::sensitivity);
                s.q.multiply(residual.data(), change.data());
            }
            double step = 1;
            const auto reach = [&](std::size_t j) {  // of the step -change, at which member j is at a bound
                const Index k = s.margin[j];
                const double d = -change[j + 1];
                if (d == 0) return std::numeric_limits<double>::infinity();
                return std::max(0.0, (d > 0 ? s.high(k) - alpha[k] : s.low(k) - alpha[k]) / d);
            };
            for (std::size_t j = 0; j < s.margin.size(); ++j) step = std::min(step, reach(j));
            whole = step >= 1;
            gone.clear();
            constant -= step * change[0];
            s.mu -= step * change[0];
            for (std::size_t j = 0; j < s.margin.size(); ++j) {
                const Index k = s.margin[j];
                if (!whole && reach(j) <= step * tie) {
                    gone.push_back(k);
                    file(k, change[j + 1] < 0);
                    continue;
                }
                alpha[k] = std::clamp(alpha[k] - step * change[j + 1], s.low(k), s.high(k));
            }
            for (double& r : residual) r *= 1 - step;
            if (gone.empty()) continue;
            drop_from_margin(gone, &residual);
        }
        moved.resize(who.size());
        for (std::size_t j = 0; j < who.size(); ++j) moved[j] = alpha[who[j]] - before[j];
        shift(constant, from, moved);
        return true;
    }

    // ---- one-class start ---------------------------------------------------------------------------

    /// Too few points to bear the weight: each bears what it may, until the last one takes what is left.
    void gather(Index c) {
        double* alpha = s[line::alpha];
        const double left = s.total - static_cast<double>(held()) * s.C;  // c is not among them
        if (left > s.C + rounding) {
            file(c, true);
            return;
        }
        alpha[c] = left >= s.C - rounding ? s.C : left;
        place(c) = Place::high;
        driver_ = c;
        measure();
        s.mu = 0;
        refresh();
        s.mu = -std::numeric_limits<double>::infinity();
        for (Index i = 0; i < s.n; ++i)
            if (place(i) != Place::out) s.mu = std::max(s.mu, s[line::g][i]);
        s.mu = -s.mu;
        for (Index i = 0; i < s.n; ++i) s[line::g][i] += s.mu;
        s.ready = true;
        if (alpha[c] < s.C) {
            if (s[line::g][c] < -slack())
                drive(c);
            else
                add(c);
        }
        driver_ = -1;
        settle();
    }

    // ---- safety net --------------------------------------------------------------------------------

    /// out += K alpha, from the rows of the support vectors in their order.
    void outputs(double* out) {
        constexpr std::size_t together = 64;
        std::vector<Index> support, missing;
        for (Index i = 0; i < s.n; ++i)
            if (s[line::alpha][i] != 0) support.push_back(i);
        std::vector<Aligned<double>> lines;
        std::vector<const double*> from;
        Numbers weights;
        for (std::size_t at = 0; at < support.size(); at += together) {
            const std::size_t some = std::min(together, support.size() - at);
            missing.clear();
            for (std::size_t i = at; i < at + some; ++i)
                if (!kernel_.find(support[i])) missing.push_back(support[i]);
            lines.clear();
            for (std::size_t i = 0; i < missing.size(); ++i) {
                lines.emplace_back();
                std::fill_n(lines.back().reserve(static_cast<std::size_t>(padded())), padded(), 0.0);
            }
            if (!missing.empty() && !SelfGram<double>::compute(source_, Ids::of(missing), Ids::run(0, s.n), lines, scratch_))
                throw Interrupted();
            from.clear();
            weights.clear();
            std::size_t next = 0;
            for (std::size_t i = at; i < at + some; ++i) {
                const double* held = kernel_.find(support[i]);
                from.push_back(held ? held : lines[next++].data());
                weights.push_back(s[line::alpha][support[i]]);
            }
            op().combine(from.data(), weights.data(), static_cast<Index>(some), 0, padded(), out);
        }
    }
    /// G from alpha.
    void refresh() {
        Numbers sums(static_cast<std::size_t>(padded()), 0.0);
        outputs(sums.data());
        for (Index i = 0; i < s.n; ++i) s[line::g][i] = sums[static_cast<std::size_t>(i)] + s.mu - s[line::p][i];
        for (const Index k : s.margin) s[line::g][k] = 0;
        s.refreshed_at = s.counts.steps;
        drift_ = 0;
    }

    /// Every operation ends here: correct to rounding, and nobody on the wrong side of zero. What rounding, a dependence
    /// or a tie has left there is driven on as if it had just come.
    void settle() {
        correct();
        std::vector<Index> hopeless;  // cannot be told from M
        for (int round = 0; round < 50; ++round) {
            Index worst = -1;
            for (Index i = 0; i < s.n; ++i)
                if ((place(i) == Place::low || place(i) == Place::high) && !s.fixed(i) && violation(i) > slack() &&
                    (worst < 0 || violation(i) > violation(worst)) && !among(hopeless, i))
                    worst = i;
            if (worst < 0) return;
            const double before = violation(worst);
            drive(worst);
            correct();
            if (place(worst) != Place::margin && violation(worst) > 0.5 * before) hopeless.push_back(worst);
        }
    }
    /// The true residual of the margin set must be no more than rounding; Newton steps bring it there.
    void correct() {
        const Clock clock(s.counts, Part::check);
        resting_.clear();
        measure();
        const double allowed = std::max(1e-11, noise_);
        if (s.counts.steps - s.refreshed_at >= refresh_every || drift_ > allowed) refresh();
        Numbers residual, change;
        std::vector<Index> gone;
        for (int attempt = 0; m() > 0; ++attempt) {
            residual.resize(static_cast<std::size_t>(m()) + 1);
            change.resize(residual.size());
            double worst = std::abs(residual[0] = balance()) * largest_;
            for (std::size_t j = 0; j < s.margin.size(); ++j) {
                const Index k = s.margin[j];
                residual[j + 1] = op().inner(rows_[j], s[line::alpha], padded()) + s.mu - s[line::p][k];
                worst = std::max(worst, std::abs(residual[j + 1]));
            }
            if (worst <= allowed) return dust();
            if (attempt == 4) throw Stuck();
            if (attempt == 2) {
                rebuild();
                refresh();
            }
            ++s.counts.corrections;
            s.q.multiply(residual.data(), change.data());
            for (double& x : change) x = -x;
            s.mu += change[0];
            gone.clear();
            for (std::size_t j = 0; j < s.margin.size(); ++j) {
                const Index k = s.margin[j];
                const double before = s[line::alpha][k], wanted = before + change[j + 1];
                s[line::alpha][k] = std::clamp(wanted, s.low(k), s.high(k));
                change[j + 1] = s[line::alpha][k] - before;
                if (s[line::alpha][k] != wanted) gone.push_back(k);
            }
            const double constant = change[0];
            change.erase(change.begin());
            shift(constant, rows_, change);
            for (const Index k : s.margin) s[line::g][k] = 0;
            for (const Index k : gone) file(k, s[line::alpha][k] >= s.high(k));
            drop_from_margin(gone);
            if (!gone.empty()) attempt = std::min(attempt, 1);
        }
    }

    /// A coefficient that is at its bound but for rounding errors is at its bound.
    void dust() {
        double* alpha = s[line::alpha];
        for (const Index k : s.margin)
            for (const double end : {s.low(k), s.high(k)})
                if (std::abs(alpha[k] - end) <= least_change()) alpha[k] = end + 0.0;
    }

    /// Run one operation; when its safety net is used up, learn all that is in the problem from scratch: point
    /// `joins` too, point `leaves` not, with this C.
    template <class F> void guarded(F&& work, Index joins, Index leaves, double C = 0) {
        taken_ = 0;
        rescued_ = false;
        measure();
        try {
            return work();
        } catch (const Stuck&) {
        }
        ++s.counts.restarts;
        if (C > 0) s.C = C;
        if (leaves >= 0) place(leaves) = Place::out;
        std::vector<Index> all = members();
        if (joins >= 0 && place(joins) == Place::out) all.push_back(joins);
        try {
            again(all);
        } catch (const Stuck&) {
            throw std::runtime_error("no optimum was found: the kernel matrix does not seem to be positive semi-definite");
        }
    }
    /// Positions in the problem.
    std::vector<Index> members() const {
        std::vector<Index> all;
        for (Index i = 0; i < s.n; ++i)
            if (s.place[static_cast<std::size_t>(i)] != Place::out) all.push_back(i);
        return all;
    }
    Index held() const { return static_cast<Index>(members().size()); }
    /// Whether so many points can bear the weight.
    bool bears(Index points, double C) const {
        return s.total == 0 || static_cast<double>(points) * C >= s.total - rounding;
    }
    /// Learn these, in the order in which they came, and nothing else.
    void again(std::vector<Index> points) {
        std::sort(points.begin(), points.end(), [&](Index a, Index b) { return earlier(a, b); });
        std::fill_n(s[line::alpha], s.n, 0.0);
        std::fill_n(s[line::g], s.n, 0.0);
        std::fill(s.place.begin(), s.place.end(), Place::out);
        s.margin.clear();
        rows_.clear();
        s.q.clear();
        blocked_.clear();
        driver_ = -1;
        s.mu = 0;
        s.ready = s.total == 0;
        for (const Index c : points) {
            taken_ = 0;
            rescued_ = false;
            begin(c);
        }
    }
    /// One point into the problem.
    void begin(Index c) {
        if (!s.ready) return gather(c);
        s[line::g][c] = gradient(c);
        place(c) = s[line::up][c] > 0 ? Place::low : Place::high;
        if (s.fixed(c) || violation(c) <= slack()) return;
        drive(c);
        settle();
    }

    State& s;
    SelfGram<double>& kernel_;
    const Source& source_;
    std::vector<Scratch<double>>& scratch_;
    const Points& points_;
    std::vector<const double*> rows_;  // of the margin set
    Numbers eta_, beta_;
    Aligned<double> gamma_;
    std::vector<Index> blocked_;  // depend on M as it is
    std::vector<Index> resting_;  // have left M since the last step that led anywhere, and would go round in circles
    Index driver_ = -1, taken_ = 0;
    bool rescued_ = false;
    double largest_ = 0, noise_ = 0, residual_ = 0;
    double drift_ = 0;  // of G, by residuals of directions
};

}  // namespace hingeline::incremental
