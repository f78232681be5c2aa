// State of an exact incremental machine: coefficients, gradients, sets and the inverse, by position; the points.
#pragma once

#include <chrono>
#include <new>
#include <string>

#include "hingeline/algo/incremental/inverse.hpp"
#include "hingeline/core/interrupt.hpp"
#include "hingeline/data/store.hpp"
#include "hingeline/vector/parallel.hpp"

namespace hingeline::incremental {

/// Smaller sensitivities count as zero ([INC] 2.3); those of gradients are relative to the largest K_ii.
inline constexpr double eps = 1e-10;
/// If two events are this close, the end of the driver's own move wins.
inline constexpr double tie = 1.0 + 1e-12;
/// Size of rounding errors of the sum of coefficients.
inline constexpr double rounding = 1e-12;

/// Names of the arrays of a state.
namespace line {
enum Name : int { alpha, g, p, up, dn, count };
}

/// Where a point is: not in the problem, at its lower bound, in the margin set, at its upper bound.
enum class Place : std::int8_t { out, low, margin, high };

/// Parts of the running time that are measured ([INC] Fig. 3).
enum class Part : int { kernel, sensitivity, gradient, search, inverse, check, count };

/// The points, by position.
struct Points {
    Array<Index> serial, code;
    Array<double> weight;
    Numbers diagonal;  // K_ii
    Array<char> dead;  // is removed by the next `close`
    Index size() const { return serial.size(); }
    void push(Index number, Index label, double w) {
        serial.push_back(number), code.push_back(label), weight.push_back(w), diagonal.push_back(0), dead.push_back(0);
    }
    void close(const Closing& c) noexcept {
        for (const auto& [from, to] : c.moves) {
            serial[to] = serial[from], code[to] = code[from], weight[to] = weight[from];
            diagonal[to] = diagonal[from], dead[to] = dead[from];
        }
        std::fill(diagonal.begin() + c.size, diagonal.end(), 0.0);
        serial.resize(c.size), code.resize(c.size), weight.resize(c.size), diagonal.resize(c.size), dead.resize(c.size);
    }
};

/// Sets of [INC]: coefficient zero, between zero and C, at C.
enum class Set : Index { O, S, E };

/// A point and the set that it has joined.
struct Passage {
    Index serial;
    Set set;
};

struct Counts {
    Index steps = 0, rebuilds = 0, corrections = 0, restarts = 0, refinements = 0;
    double bytes = 0;  // of kernel rows read to compute gamma
    double seconds[static_cast<int>(Part::count)] = {};
};

struct State {
    Parallel<double, line::count> lines;
    Array<Place> place;
    Array<Index> margin;  // positions in the order of the rows of q
    Inverse q;
    double C = 1, mu = 0, total = 0;
    bool ready = true;       // the coefficients add up to `total`
    Index n = 0;             // positions
    Index refreshed_at = 0;  // steps when g was last computed from alpha
    Counts counts;
    Array<Passage> events;  // on the path of the last operation, in their order

    double* operator[](line::Name k) { return lines[k]; }
    const double* operator[](line::Name k) const { return lines[k]; }
    double low(Index i) const { return -lines[line::dn][i] * C; }
    double high(Index i) const { return lines[line::up][i] * C; }
    /// A point of weight zero stays where it is.
    bool fixed(Index i) const { return lines[line::up][i] + lines[line::dn][i] <= 0; }

    /// mu; if no coefficient is inside its box, the middle of the interval of optimal values. Ignores point `skip`.
    double constant(Index skip = -1) const {
        const double infinity = std::numeric_limits<double>::infinity();
        double least = -infinity, most = infinity;
        for (Index i = 0; i < n; ++i) {
            if (place[i] == Place::out || fixed(i) || i == skip) continue;
            const double a = lines[line::alpha][i], value = mu - lines[line::g][i];
            if (a > low(i) && a < high(i)) return mu;
            if (a <= low(i)) least = std::max(least, value);
            if (a >= high(i)) most = std::min(most, value);
        }
        return least > -infinity && most < infinity ? (least + most) / 2 : mu;
    }

    /// Sum of the coefficients minus `total`, in extended precision.
    double excess() const {
        long double sum = -static_cast<long double>(total);
        for (Index i = 0; i < n; ++i) sum += lines[line::alpha][i];
        return static_cast<double>(sum);
    }

    /// KKT violation of position i at gradient g: how far it is on the wrong side of zero.
    double violation(Index i, double g) const {
        const double a = lines[line::alpha][i];
        return std::max(a < high(i) ? -g : 0.0, a > low(i) ? g : 0.0);
    }

    /// Whether coefficients between their bounds are outside M, because the system of all of them is singular up to
    /// rounding. The path cannot start from such a state; see descent.hpp.
    bool loose() const {
        if (!ready) return false;
        for (Index i = 0; i < n; ++i)
            if ((place[i] == Place::low && lines[line::alpha][i] != low(i)) ||
                (place[i] == Place::high && lines[line::alpha][i] != high(i)))
                return true;
        return false;
    }

    /// a'Ka.
    double square() const {
        double sum = 0;
        for (Index i = 0; i < n; ++i) sum += lines[line::alpha][i] * (lines[line::g][i] - mu + lines[line::p][i]);
        return sum;
    }

    /// Take all points out of the problem.
    void empty() {
        for (const auto name : {line::alpha, line::g}) std::fill_n(lines[name], n, 0.0);
        std::fill(place.begin(), place.end(), Place::out);
        margin.clear();
        q.clear();
        mu = 0;
        ready = total == 0;
    }
    /// Append a position that is not in the problem.
    void append(double p, double up, double dn) {
        lines.resize(n + 1);
        place.push_back(Place::out);
        lines[line::p][n] = p, lines[line::up][n] = up, lines[line::dn][n] = dn;
        ++n;
    }
    /// Remove the positions from `size` on, which were never in the problem.
    void truncate(Index size) noexcept {
        n = size;
        lines.resize(n);
        place.resize(n);
    }
    /// Remove positions that are out of the problem; others take their places. `now` has the new position of each.
    void close(const Closing& c, const Array<Index>& now) noexcept {
        for (const auto& [from, to] : c.moves) {
            if (from >= n) continue;  // not in this state yet
            lines.move(from, to);
            place[to] = place[from];
        }
        for (Index& k : margin) k = now[k];
        n = std::min(n, c.size);
        lines.resize(n);
        place.resize(n);
    }
};

/// Largest KKT violation of a machine, and the largest one that rounding errors explain.
struct Reached {
    double violation = 0, limit = std::numeric_limits<double>::infinity();
    bool missed() const { return violation > limit; }
};

/// The state for the problem with all labels negated.
inline State mirror_state(State s) {
    for (Index i = 0; i < s.n; ++i) {
        for (const auto name : {line::alpha, line::g, line::p}) s[name][i] = -s[name][i];
        std::swap(s[line::up][i], s[line::dn][i]);
        Place& place = s.place[i];
        if (place == Place::low || place == Place::high) place = place == Place::low ? Place::high : Place::low;
    }
    s.mu = -s.mu;
    return s;
}

/// The path has broken down, even after Q and G were computed again.
struct Stuck : std::exception {};
/// The kernel rows of the margin set do not fit into cache_size.
class Full : public std::bad_alloc {
  public:
    Full(Index needed, Index length, Index room)
        : message_("the kernel rows of the margin set do not fit cache_size: " + std::to_string(needed) + " rows of " +
                   std::to_string(length) + " values are needed, " + std::to_string(room) +
                   " fit. Increase cache_size, or bound the number of points with window.") {}
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    std::string message_;
};

/// Adds its lifetime to the seconds of a part.
struct Clock {
    Clock(Counts& c, Part part) : seconds(c.seconds[static_cast<int>(part)]) {}
    Clock(const Clock&) = delete;
    ~Clock() { seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
    double& seconds;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

}  // namespace hingeline::incremental
