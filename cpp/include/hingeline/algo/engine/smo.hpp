// SMO on a working set: pairs of coefficients with second-order choice (Fan, Chen and Lin 2005, WSS 2).
//
//     i = argmax v over up;  stop if v_i - min v over low <= tol
//     j = argmax (v_i - v_j)^2 / a_ij over low with v_j < v_i,  a_ij = K_ii + K_jj - 2 K_ij, or 1e-12 if that is <= 0
//     d = (v_i - v_j) / a_ij, clipped to the box (up to it if a_ij <= 0);  beta_i += d, beta_j -= d, v -= d (K_i - K_j)
//
// Here v_i is the rise of i and v_j the fall of j (state.hpp). With e > 0 a coefficient that passes zero loses 2 e of
// its slope there: d is the maximum of a concave function of three pieces. With two groups each has its pair, and the
// step is made for the one that promises more, as in LIBSVM.
//
// v is in the precision of the kernel values and relative to a centre for each group, so that single precision resolves
// the differences that decide. beta is in double. The slopes are v + up and v + low, with +-e in these arrays, and
// infinity where there is no room.
#pragma once

#include "hingeline/algo/engine/free_step.hpp"
#include "hingeline/algo/engine/state.hpp"
#include "hingeline/algo/engine/working_rows.hpp"
#include "hingeline/algo/engine/working_set.hpp"
#include "hingeline/vector/parallel.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline::engine {

enum class SmoEnd { tolerance, steps, rounding, interrupted };

/// Steps and choices of pairs with rows of kernel values in the precision of v.
template <class T> struct FineRows {
    using Value = T;
    /// v -= d (K_i - K_j); returns the new top, the largest of v + up.
    static Top rise(T* v, const T* row_i, const T* row_j, double d, const T* up, Index n) {
        return pass_ops<T>().rise(v, row_i, row_j, -d, up, n);
    }
    static Partner partner(const T* v, const T* row, const T* diagonal, const T* low, double top, double own, Index n) {
        return pass_ops<T>().partner(v, row, diagonal, low, top, own, n);
    }
    static double curve(double own, double other, T value) { return own + other - 2 * static_cast<double>(value); }
};
/// The same with rows in 16 bits. Curvatures are at least half a unit: that of nearly equal rows is rounded to zero,
/// and a pair without curvature would go to its bound.
template <class T> struct CoarseRows {
    using Value = Coarse;
    static Top rise(T* v, const Coarse* row_i, const Coarse* row_j, double d, const T* up, Index n) {
        return coarse_ops().rise(v, row_i, row_j, d * coarse_unit, up, n);
    }
    static Partner partner(const T* v, const Coarse* row, const T*, const T* low, double top, double, Index n) {
        return coarse_ops().partner(v, row, low, top, n);
    }
    static double curve(double, double, Coarse value) { return std::max(2.0 * value, 1.0) * coarse_unit; }
};

template <class T> class Smo {
  public:
    /// Solve the problem restricted to `positions`; beta of the state is changed, its v is not. `coarse`: with kernel
    /// values in 16 bits.
    template <class L> SmoEnd solve(State& s, const Array<Index>& positions, const L& local, const Pair& centre,
                                    double tol, Index most, std::size_t bytes, std::vector<SumScratch<T>>& scratch,
                                    Interrupt* interrupt, bool coarse = false) {
        load(s, positions, local, centre, bytes, coarse ? sizeof(Coarse) : sizeof(T));
        for (SumScratch<T>& one : scratch) local.prepare(one);
        if constexpr (sizeof(T) == 4)
            if (coarse) {
                if (rows_.holds_all() && most_rows_needed(s)) s.kernel_evals += rows_.fill(local, scratch, interrupt);
                if (interrupt && interrupt->requested()) return SmoEnd::interrupted;
                return pairs<CoarseRows<T>>(s, positions, local, tol, most, scratch, interrupt);
            }
        return pairs<FineRows<T>>(s, positions, local, tol, most, scratch, interrupt);
    }
    /// v of position i of the state, p of the working set, after `solve`.
    double value(const State& s, Index i, Index p) const {
        return centre_[s.group(i)] + static_cast<double>(arrays_[0][p]);
    }

    /// Newton steps of the last `solve`; they leave larger errors in v than pairs.
    Index newton_steps() const { return newton_steps_; }
    /// out = sum_k coef[k] K[.][list[k]] over the working set, in double, k ascending. The bits are those of the kernel
    /// values of every source. `list` are positions of the working set, `out` has room for `padded` values.
    template <class L> void product(State& s, const Array<Index>& list, const Array<double>& coef, const L& local,
                                    std::vector<SumScratch<T>>& scratch, double* out) {
        std::fill_n(out, padded(size_), 0.0);
        for (Index k = 0; k < list.size(); ++k) {
            if (!rows_.holds(list[k])) {
                next_missing(list, k, room(s, local, scratch));
                fetch<T>(s, local, scratch);
            }
            const T* const values = rows_.template find<T>(list[k]);
            pass_ops<T>().combine(&values, &coef[k], 1, 0, padded(size_), out);
        }
    }
    /// Compute v from beta again after a `solve` of all points. Returns the largest error that it had.
    template <class L>
    double renew(State& s, const Array<Index>& positions, const L& local, std::vector<SumScratch<T>>& scratch) {
        Aligned<double> sums;
        Array<Index> list;
        Array<double> coef;
        for (Index p = 0; p < size_; ++p)
            if (const double beta = s.beta[positions[p]]; beta != 0) list.push_back(p), coef.push_back(beta);
        product(s, list, coef, local, scratch, sums.reserve(padded(size_)));
        double error = 0;
        for (Index p = 0; p < size_; ++p) {
            const T fresh = static_cast<T>(s.p[positions[p]] - sums.data()[p] - centre_[s.group(positions[p])]);
            error = std::max(error, static_cast<double>(std::abs(fresh - v()[p])));
            v()[p] = fresh;
        }
        return error;
    }

  private:
    static constexpr double least_curve = 1e-12;  // as LIBSVM
    static constexpr Index poll_every = 256;
    static constexpr Index stretch = 16;  // violations looked at together
    static_assert(pass_step % stretch == 0);

    template <class Form, class L> SmoEnd pairs(State& s, const Array<Index>& positions, const L& local, double tol,
                                                Index most, std::vector<SumScratch<T>>& scratch, Interrupt* interrupt) {
        if (s.groups() == 1) return pairs<Form, 1>(s, positions, local, tol, most, scratch, interrupt);
        return pairs<Form, 2>(s, positions, local, tol, most, scratch, interrupt);
    }
    /// `Groups` is a constant: a step of a small problem takes some hundred cycles.
    template <class Form, int Groups, class L> SmoEnd pairs(State& s, const Array<Index>& positions, const L& local,
                                                            double tol, Index most, std::vector<SumScratch<T>>& scratch,
                                                            Interrupt* interrupt) {
        using K = typename Form::Value;
        constexpr bool fine = std::is_same_v<K, T>;
        const auto row_of = [&](Index p) { return row<K>(s, p, local, scratch); };
        std::array<Top, 2> top = advance<Form, Groups>(nullptr, nullptr, 0.0);
        gap_ = {};
        for (Index step = 0;; ++step) {
            if (step % poll_every == 0 && interrupt && interrupt->requested()) return SmoEnd::interrupted;
            for (int g = 0; g < Groups; ++g) middle_[g] = top[g].value - 0.5 * gap_[g];
            if (top[0].at < 0 && (Groups == 1 || top[1].at < 0)) return SmoEnd::tolerance;
            if constexpr (fine)
                if (const Index made = free_points(s, positions, step, most, row_of, interrupt); made >= 0) {
                    top = advance<Form, Groups>(nullptr, nullptr, 0.0);
                    if (made > 0) {
                        step += made - 1;
                        continue;
                    }
                }
            Choice best;
            const K* row_i = nullptr;
            for (int g = 0; g < Groups; ++g) {
                const Choice found = partner<Form, Groups>(g, top[g], row_of, row_i);
                gap_[g] = found.gap;
                if (found.gap > tol && (best.i < 0 || found.gain() > best.gain())) best = found;
            }
            if (best.i < 0) return SmoEnd::tolerance;
            if (step >= most) return SmoEnd::steps;
            const auto [i, j, fall, curve, gap] = best;
            if (j < 0) return SmoEnd::rounding;
            const Index a = positions[i], b = positions[j];
            const double room_i = s.high(a) - s.beta[a], room_j = s.beta[b] - s.low(b);
            const double d = length(s, a, b, fall, curve, std::min(room_i, room_j));
            const double before = s.beta[a], other = s.beta[b];
            s.beta[a] = d == room_i ? s.high(a) : before + d;
            s.beta[b] = d == room_j ? s.low(b) : other - d;
            if (s.beta[a] == before && s.beta[b] == other) return SmoEnd::rounding;
            note_change(s, i, a), note_change(s, j, b);
            pace_.gain += d * (fall - 0.5 * d * curve);
            if (Groups == 2) row_i = row_of(i);  // rows used last are kept when that of j is computed
            top = advance<Form, Groups>(row_i, row_of(j), d);
            ++s.steps;
        }
    }
    /// A pair, the slope along it and its curvature; the violation of the group.
    struct Choice {
        Index i = -1, j = -1;
        double fall = 0, curve = 1, gap = 0;
        double gain() const { return fall * fall / std::max(curve, least_curve); }
    };
    // Passes over one group: in the padded arrays its positions are part of one stretch, and the others have no room.
    Index begin_of(int group) const { return group == 0 ? 0 : split_ / pass_step * pass_step; }
    Index end_of(int group) const { return group == 0 ? std::min(size_, padded(split_)) : size_; }

    /// The partner of the top of a group, and the row of the top.
    template <class Form, int Groups, class RowOf>
    Choice partner(int group, const Top& top, RowOf&& row_of, const typename Form::Value*& row_i) {
        if (top.at < 0) return {};
        const Index i = top.at, from = Groups == 1 ? 0 : begin_of(group), end = Groups == 1 ? size_ : end_of(group);
        row_i = row_of(i);
        const double own = static_cast<double>(diagonal()[i]);
        const auto [at, gap] = Form::partner(v() + from, row_i + from, even_ ? nullptr : diagonal() + from,
                                             low(group) + from, top.value, own, end - from);
        if (at < 0) return {.i = i, .gap = gap};
        const Index j = from + at;
        const double fall = top.value - (static_cast<double>(v()[j]) + static_cast<double>(low(group)[j]));
        return {i, j, fall, Form::curve(own, static_cast<double>(diagonal()[j]), row_i[j]), gap};
    }
    /// v -= d (K_i - K_j), unless the rows are null; the top of each group.
    template <class Form, int Groups>
    std::array<Top, 2> advance(const typename Form::Value* row_i, const typename Form::Value* row_j, double d) {
        const Index end = Groups == 1 ? size_ : end_of(0);
        std::array<Top, 2> top{Form::rise(v(), row_i, row_j, d, up(0), end), {-infinity, -1}};
        if (Groups == 1 || split_ == size_) return top;
        const auto later = [](Top one, Index from) { return Top{one.value, one.at < 0 ? one.at : one.at + from}; };
        const Index from = begin_of(1), to = padded(split_);
        if (from < to) top[1] = later(Form::rise(v() + from, nullptr, nullptr, 0.0, up(1) + from, to - from), from);
        if (to >= size_) return top;
        const Top rest =
            Form::rise(v() + to, row_i ? row_i + to : nullptr, row_j ? row_j + to : nullptr, d, up(1) + to, size_ - to);
        if (rest.value > top[1].value) top[1] = later(rest, to);
        return top;
    }
    /// Length of a step of beta_a upwards and beta_b downwards, where the slope is `fall` at first.
    static double length(const State& s, Index a, Index b, double fall, double curve, double room) {
        double from = 0;  // of the piece
        if (s.e > 0) {
            const double first = s.beta[a] < 0 ? -s.beta[a] : infinity, second = s.beta[b] > 0 ? s.beta[b] : infinity;
            for (const double kink : {std::min(first, second), std::max(first, second)}) {
                if (!(kink < room)) break;
                const double lost = std::max(curve, 0.0) * (kink - from);
                if (fall <= lost) break;
                fall -= lost + 2 * s.e;
                if (fall <= 0) return kink;
                from = kink;
            }
        }
        // A step to no bound may be rounded: factors in the precision of v are faster.
        const double wanted = static_cast<double>(static_cast<T>(fall / (curve > 0 ? curve : least_curve)));
        return curve > 0 || std::isinf(room) ? std::min(from + wanted, room) : room;
    }

    /// When to try Newton steps: after ten steps per point, and then as often as it pays.
    struct Pace {
        Index next = 0, last = 0;  // steps at the next and after the last try
        double gain = 0;           // ascent by pairs since the last try
        double wait = 1;           // pause after a try, in units of twice its cost
    };
    static constexpr Index first_try = 10, few_points = 100;
    struct Move {
        double gain = 0, cost = 0, length = 1;
        Index pairs = 0;
    };

    /// Newton steps on the free points if it is time for them. Returns the number of pairs changed, -1: not tried.
    template <class RowOf> Index free_points(State& s, const Array<Index>& positions, Index step, Index most,
                                             RowOf&& row_of, Interrupt* interrupt) {
        if (step >= most) return -1;
        if (step >= size_ && most - step >= size_ && clipped_pays(s)) return clipped(s, positions, row_of, interrupt);
        return step >= pace_.next ? newton(s, positions, step, most - step, row_of, interrupt) : -1;
    }
    /// Newton steps on the free points until no bound shortens one. Returns the number of pairs changed, at most
    /// `most`.
    template <class RowOf> Index newton(State& s, const Array<Index>& positions, Index step, Index most, RowOf&& row_of,
                                        Interrupt* interrupt) {
        const double since = static_cast<double>(std::max<Index>(step - pace_.last, 1)), usual = pace_.gain / since;
        const Index points = all_points_cost() <= since ? size_ : few_points;
        Move all;
        for (Move one{.length = 0}; one.length < 1; ++newton_steps_) {
            if (interrupt && interrupt->requested()) break;
            if (!free_step_.find(list_free(), split_, slopes(), diagonal(), points, row_of)) break;
            if (all.pairs + free_step_.positions().size() - 1 > most) break;
            one = move(s, positions, row_of);
            all.gain += one.gain, all.cost += one.cost, all.pairs += one.pairs;
        }
        pace_.wait = all.gain > usual * all.cost ? std::max(0.125, 0.5 * pace_.wait) : 2 * pace_.wait;
        pace_.last = step + all.pairs;
        pace_.next = pace_.last + static_cast<Index>(2 * std::max(all.cost, 1.0) * pace_.wait) + 1;
        pace_.gain = 0;
        return all.pairs;
    }
    /// Whether more than half of the rows will be needed: those of violators drawn at random and of free points, unless
    /// few of the last working set were.
    bool most_rows_needed(const State& s) { return s.changed_share > 0.5 && (s.filling || 2 * free_count() > size_); }
    bool is_free(Index p) {
        return up(group(p))[p] == low(group(p))[p];
    }  // one slope: other points have two, or no room
    Index free_count() {
        Index free = 0;
        for (Index p = 0; p < size_; ++p) free += is_free(p);
        return free;
    }
    Array<Index> list_free() {
        Array<Index> free;
        for (Index p = 0; p < size_; ++p)
            if (is_free(p)) free.push_back(p);
        return free;
    }
    /// Slope of the objective at a free position.
    auto slopes() {
        return [this](Index p) { return static_cast<double>(v()[p]) + static_cast<double>(up(group(p))[p]); };
    }
    /// Expected cost of Newton steps on all free points: each bound that is met costs one.
    double all_points_cost() {
        const Index free = free_count();
        return FreeStep<T>::cost(free, size_) * (1 + static_cast<double>(free) / 10);
    }
    /// Whether to try a Newton step with clipping: if the pairs since the last try have cost more than it will, and the
    /// working set is no longer filled with random violators.
    bool clipped_pays(const State& s) {
        constexpr Index most_free = 3072;  // their matrix takes 36 MB
        const Index since = s.steps - s.newton_at;
        if (size_ == s.n() || s.filling || since < next_count_) return false;
        const Index free = free_count();
        next_count_ = static_cast<Index>(2 * s.newton_wait * FreeStep<T>::cost(free, size_)) + 1;
        return free <= most_free && since >= next_count_;
    }
    /// Newton step on all free points, of which those that would leave the box go to their bounds: the others are
    /// solved for again until none leaves it. The step is as long as the objective rises. Returns the number of pairs
    /// changed.
    template <class RowOf>
    Index clipped(State& s, const Array<Index>& positions, RowOf&& row_of, Interrupt* interrupt) {
        s.newton_at = s.steps;
        s.newton_wait = std::max(1.0, 2 * s.newton_wait);  // unless it succeeds
        next_count_ = 0;
        const Array<Index> free = list_free();
        if (!clip(s, positions, free, row_of, interrupt)) return 0;
        double slope = 0, bend = 0;
        for (const Index p : free) {
            const double change = target_[p] - s.beta[positions[p]];
            slope += change * slopes()(p);
            bend += change * (static_cast<double>(v()[p]) - target_v_[p]);
        }
        if (!(slope > 0)) return 0;
        const double length = slope < bend ? slope / bend : 1.0;
        for (const Index p : free) {
            const Index i = positions[p];
            s.beta[i] = length < 1 ? s.beta[i] + length * (target_[p] - s.beta[i]) : target_[p];
            note_change(s, p, i);
        }
        for (Index p = 0; p < size_; ++p) {
            const double before = static_cast<double>(v()[p]);
            v()[p] = static_cast<T>(before + length * (target_v_[p] - before));
        }
        ++newton_steps_;
        s.steps += free.size() - 1;
        s.newton_at = s.steps;
        if (length > 0.25) s.newton_wait = 1.0 / 16;  // the next one will be shorter
        return free.size() - 1;
    }
    /// Optimum on the points of `list` if those that leave the box are at their bounds, in `target_` and `target_v_`.
    /// False if too many do, or when interrupted.
    template <class RowOf>
    bool clip(const State& s, const Array<Index>& positions, Array<Index> list, RowOf&& row_of, Interrupt* interrupt) {
        constexpr int most_rounds = 8;
        constexpr Index most_held = 12;
        target_.assign(size_, 0.0), target_v_.assign(padded(size_), 0.0);
        for (Index p = 0; p < size_; ++p) {
            target_[p] = s.beta[positions[p]];
            target_v_[p] = static_cast<double>(v()[p]);
        }
        const double ridge = even_ ? FreeStep<T>::small_rounding : FreeStep<T>::rounding;
        const auto target_slopes = [&](Index p) { return target_v_[p] + static_cast<double>(up(group(p))[p]); };
        const auto move_to = [&](Index p, double to) {
            const T* const row = row_of(p);
            const double weight = target_[p] - to;
            pass_ops<T>().combine(&row, &weight, 1, 0, padded(size_), target_v_.data());
            target_[p] = to;
        };
        for (int round = 0; round < most_rounds && list.size() > 1; ++round) {
            if (!free_step_.find_all(list, split_, target_slopes, diagonal(), ridge, row_of, interrupt)) return false;
            const Array<double>& direction = free_step_.direction();
            Array<double> ends(list.size(), infinity);  // bounds of the points that leave the box
            Array<Index> leaving;
            const auto find_leaving = [&] {
                leaving.clear();
                for (Index k = 0; k < list.size(); ++k) {
                    const Index i = positions[list[k]];
                    const double to = target_[list[k]] + direction[k];
                    if (ends[k] < infinity || (to >= s.smooth_low(i) && to <= s.smooth_high(i))) continue;
                    ends[k] = to < s.smooth_low(i) ? s.smooth_low(i) : s.smooth_high(i);
                    leaving.push_back(k);
                }
            };
            Index held = 0;
            for (find_leaving(); !leaving.empty() && held + leaving.size() <= most_held; find_leaving()) {
                for (const Index k : leaving)
                    if (!free_step_.hold(k, ends[k] - target_[list[k]])) return false;
                held += leaving.size();
            }
            if (4 * leaving.size() > list.size()) return false;
            Pair lost{};
            std::array<Index, 2> first{-1, -1};  // points inside of each group
            Array<Index> inside;
            for (Index k = 0; k < list.size(); ++k) {
                const double to = target_[list[k]] + direction[k];
                const int g = group(list[k]);
                if (ends[k] < infinity) {
                    lost[g] += ends[k] - to;
                } else {
                    inside.push_back(list[k]);
                    if (first[g] < 0) first[g] = list[k];
                }
                move_to(list[k], ends[k] < infinity ? ends[k] : to);
            }
            if (leaving.empty()) return true;
            for (const int g : {0, 1}) {
                if (lost[g] == 0) continue;
                if (first[g] < 0) return false;
                move_to(first[g], target_[first[g]] - lost[g]);
            }
            list = std::move(inside);
        }
        return false;
    }
    /// Make the step of `free_step_` up to the first bound.
    template <class RowOf> Move move(State& s, const Array<Index>& positions, RowOf&& row_of) {
        const auto& op = pass_ops<T>();
        const Array<Index>& free = free_step_.positions();
        const Array<double>& direction = free_step_.direction();
        const auto reach = [&](Index k) {  // steps to the bound
            const Index i = positions[free[k]];
            if (direction[k] == 0) return infinity;
            return ((direction[k] > 0 ? s.smooth_high(i) : s.smooth_low(i)) - s.beta[i]) / direction[k];
        };
        Move out{.cost = FreeStep<T>::cost(free.size(), size_), .pairs = free.size() - 1};
        for (Index k = 0; k < free.size(); ++k) out.length = std::min(out.length, reach(k));
        Array<double> change, shift;  // changes, and slopes minus v on this piece
        for (const Index p : free) shift.push_back(static_cast<double>(up(group(p))[p]));
        const auto count_gain = [&](Index k) {
            out.gain += 0.5 * change[k] * (static_cast<double>(v()[free[k]]) + shift[k]);
        };
        for (Index k = 0; k < free.size(); ++k) {
            const Index i = positions[free[k]];
            const double before = s.beta[i], bound = direction[k] > 0 ? s.smooth_high(i) : s.smooth_low(i);
            const double after = std::clamp(before + out.length * direction[k], s.smooth_low(i), s.smooth_high(i));
            s.beta[i] = reach(k) <= out.length ? bound : after;
            note_change(s, free[k], i);
            change.push_back(s.beta[i] - before);
            count_gain(k);
        }
        for (Index k = 0; k < free.size(); ++k) {
            if (free_step_.is_reference(k)) continue;
            const T* const row = row_of(free[k]);
            op.rise(v(), row, row_of(free[free_step_.reference(k)]), -change[k], up(0), size_);
        }
        for (Index k = 0; k < free.size(); ++k) count_gain(k);
        s.steps += out.pairs;
        return out;
    }

    template <class K, class L> const K* row(State& s, Index p, const L& local, std::vector<SumScratch<T>>& scratch) {
        if (const K* held = rows_.template find<K>(p)) return held;
        next_violators(p, room(s, local, scratch));
        fetch<K>(s, local, scratch);
        return rows_.template find<K>(p);
    }
    /// Compute the rows of `wanted_`.
    template <class K, class L> void fetch(State& s, const L& local, std::vector<SumScratch<T>>& scratch) {
        rows_.template fetch<K>(wanted_, widest(s, local), local, scratch);
        s.kernel_evals += wanted_.size() * size_;
    }
    /// Rows to compute at a time on one thread. Most points of a chosen working set violate, and their rows will be
    /// needed; most rows of a whole problem never are.
    template <class L> Index widest(const State& s, const L& local) const {
        return size_ < s.n() ? local.block() : local.ahead();
    }
    /// Rows to compute at a time.
    template <class L> Index room(const State& s, const L& local, const std::vector<SumScratch<T>>& scratch) const {
        const Index each = widest(s, local), threads = rows_.threads(each, local.nanoseconds(), std::ssize(scratch));
        return rows_.block(each, local.ahead(), threads);
    }
    T* v() { return arrays_[0]; }
    T* diagonal() { return arrays_[1]; }
    T* up(int group) { return arrays_[3 + 2 * group]; }
    T* low(int group) { return arrays_[4 + 2 * group]; }
    int group(Index p) const { return p >= split_; }

    template <class L> void load(const State& s, const Array<Index>& positions, const L& local, const Pair& centre,
                                 std::size_t bytes, std::size_t width) {
        size_ = positions.size();
        centre_ = centre;
        split_ = size_;
        while (split_ > 0 && s.group(positions[split_ - 1]) == 1) --split_;
        // Also in lower precision a point at zero has two slopes.
        shift_ = s.e > 0 ? std::max(static_cast<T>(s.e), std::numeric_limits<T>::min()) : T(0);
        pace_ = {.next = first_try * size_};
        newton_steps_ = 0;
        next_count_ = 0;
        arrays_.resize(0);
        arrays_.resize(size_);
        rows_.reset(size_, std::max(size_, std::min(s.n(), BlockSizes{}.widest_coarse)), bytes, width);
        local.diagonal(diagonal());
        even_ = std::all_of(diagonal(), diagonal() + size_, [&](T value) { return value == diagonal()[0]; });
        for (Index p = 0; p < size_; ++p) {
            const Index i = positions[p];
            v()[p] = static_cast<T>(s.v[i] - centre[s.group(i)]);
        }
        set_rooms(s, positions);
    }
    /// beta of position i, at p of the working set, has changed.
    void note_change(State& s, Index p, Index i) {
        constexpr double almost = 1 - 1e-9;  // rounding errors leave coefficients beside their bounds
        s.bounded = s.bounded || std::abs(s.beta[i]) >= almost * s.bound(i);
        set_room(s, p, i);
    }
    void set_room(const State& s, Index p, Index i) {
        constexpr T none = std::numeric_limits<T>::infinity();
        up(group(p))[p] = !s.is_up(i) ? -none : s.beta[i] < 0 ? shift_ : -shift_;
        low(group(p))[p] = !s.is_low(i) ? none : s.beta[i] > 0 ? -shift_ : shift_;
    }
    void set_rooms(const State& s, const Array<Index>& positions) {
        for (int group = 0; group < s.groups(); ++group) {
            std::fill_n(up(group), padded(size_), -std::numeric_limits<T>::infinity());
            std::fill_n(low(group), padded(size_), std::numeric_limits<T>::infinity());
        }
        for (Index p = 0; p < size_; ++p) set_room(s, p, positions[p]);
    }

    /// Violations of a stretch of positions of one group, on either side of its middle. A function of its own, whose
    /// bounds do not change, is vectorised; otherwise this takes a tenth of the time of problems of 1,000 points.
    void measure_violations(int group, Index from, Index to) {
        const T middle = static_cast<T>(middle_[group]);
        const T *const values = v(), *const rise = up(group), *const fall = low(group);
        T* const violation = arrays_[2];
        for (Index i = from; i < to; ++i) {
            const T above = values[i] - middle;
            violation[i] = std::max(above + rise[i], -(above + fall[i]));
        }
    }
    /// Whether one of `stretch` values exceeds a bound. Few stretches do: to branch at every value takes a tenth of the
    /// time of problems of 1,000 points.
    static bool any_above(const T* values, T bound) {
        int any = 0;
        for (Index i = 0; i < stretch; ++i) any |= values[i] > bound;
        return any != 0;
    }
    /// p and the positions without a row that violate most, at most `count` in all.
    void next_violators(Index p, Index count) {
        wanted_.assign(1, p);
        if (count == 1) return;
        T* const violation = arrays_[2];
        measure_violations(0, 0, split_);
        if (split_ < size_) measure_violations(1, split_, size_);
        violation[p] = 0;
        for (const Index held : rows_.held()) violation[held] = 0;
        most_.clear();
        T least = 0;
        const auto smaller = [](const auto& a, const auto& b) { return a.first > b.first; };
        for (Index from = 0; from < size_; from += stretch) {
            if (!any_above(violation + from, least)) continue;
            for (Index i = from; i < from + stretch; ++i) {  // the padding does not violate
                if (!(violation[i] > least)) continue;
                if (most_.size() == count - 1) {
                    std::pop_heap(most_.begin(), most_.end(), smaller);
                    most_.pop_back();
                }
                most_.emplace_back(violation[i], i);
                std::push_heap(most_.begin(), most_.end(), smaller);
                if (most_.size() == count - 1) least = most_.front().first;
            }
        }
        for (const auto& one : most_) wanted_.push_back(one.second);
    }
    /// The positions list[at], list[at + 1], ... without a row, at most `count`.
    void next_missing(const Array<Index>& list, Index at, Index count) {
        wanted_.clear();
        for (; at < list.size() && wanted_.size() < count; ++at)
            if (!rows_.holds(list[at])) wanted_.push_back(list[at]);
    }

    Index size_ = 0, newton_steps_ = 0;
    Pair centre_{};
    Index split_ = 0;        // first position of the second group
    T shift_ = 0;            // e
    Pair gap_{}, middle_{};  // of the last pairs
    bool even_ = false;      // the diagonal is constant
    Parallel<T, 7> arrays_;  // v, diagonal, violations; up and low of each group
    WorkingRows<T> rows_;
    FreeStep<T> free_step_;
    Pace pace_;
    Index next_count_ = 0;             // steps since the last Newton step with clipping before the next look
    Array<double> target_, target_v_;  // beta and v at its end
    Array<Index> wanted_;              // rows to compute next
    Array<std::pair<T, Index>> most_;  // a heap of violations and their positions
};

}  // namespace hingeline::engine
