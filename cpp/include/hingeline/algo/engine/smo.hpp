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
#include "hingeline/algo/engine/step_team.hpp"
#include "hingeline/algo/engine/steps.hpp"
#include "hingeline/algo/engine/working_set.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline::engine {

enum class SmoEnd { tolerance, steps, rounding, interrupted };

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
                if (w_.rows.holds_all() && most_rows_needed(s))
                    s.kernel_evals += w_.rows.fill(local, scratch, interrupt);
                if (interrupt && interrupt->requested()) return SmoEnd::interrupted;
                return pairs<CoarseRows<T>>(s, positions, local, tol, most, scratch, interrupt);
            }
        return pairs<FineRows<T>>(s, positions, local, tol, most, scratch, interrupt);
    }
    /// Make steps with so many threads, in tests; 0: with as many as are fastest.
    void fix_team(int size) { team_.fix(size); }
    /// v of position i of the state, p of the working set, after `solve`.
    double value(const State& s, Index i, Index p) const {
        return centre_[s.group(i)] + static_cast<double>(w_.arrays[0][p]);
    }

    /// Newton steps of the last `solve`; they leave larger errors in v than pairs.
    Index newton_steps() const { return newton_steps_; }
    /// out = sum_k coef[k] K[.][list[k]] over the working set, in double, k ascending. The bits are those of the kernel
    /// values of every source. `list` are positions of the working set, `out` has room for `padded` values.
    template <class L> void product(State& s, const Array<Index>& list, const Array<double>& coef, const L& local,
                                    std::vector<SumScratch<T>>& scratch, double* out) {
        std::fill_n(out, padded(w_.size), 0.0);
        for (Index k = 0; k < list.size(); ++k) {
            if (!w_.rows.holds(list[k])) {
                next_missing(list, k, room(s, local, scratch));
                fetch<T>(s, local, scratch);
            }
            const T* const values = w_.rows.template find<T>(list[k]);
            pass_ops<T>().combine(&values, &coef[k], 1, 0, padded(w_.size), out);
        }
    }
    /// Compute v from beta again after a `solve` of all points. Returns the largest error that it had.
    template <class L>
    double renew(State& s, const Array<Index>& positions, const L& local, std::vector<SumScratch<T>>& scratch) {
        Aligned<double> sums;
        Array<Index> list;
        Array<double> coef;
        for (Index p = 0; p < w_.size; ++p)
            if (const double beta = s.beta[positions[p]]; beta != 0) list.push_back(p), coef.push_back(beta);
        product(s, list, coef, local, scratch, sums.reserve(padded(w_.size)));
        double error = 0;
        for (Index p = 0; p < w_.size; ++p) {
            const T fresh = static_cast<T>(s.p[positions[p]] - sums.data()[p] - centre_[s.group(positions[p])]);
            error = std::max(error, static_cast<double>(std::abs(fresh - w_.v()[p])));
            w_.v()[p] = fresh;
        }
        return error;
    }

  private:
    static constexpr Index poll_every = 256;  // steps: the longest run
    static constexpr Index stretch = 16;      // violations looked at together
    static_assert(pass_step % stretch == 0);

    template <class Form, class L> SmoEnd pairs(State& s, const Array<Index>& positions, const L& local, double tol,
                                                Index most, std::vector<SumScratch<T>>& scratch, Interrupt* interrupt) {
        const Steps steps{tol, most, static_cast<int>(std::ssize(scratch)), interrupt};
        if (s.groups() == 1) return pairs<Form, 1>(s, positions, local, steps, scratch);
        return pairs<Form, 2>(s, positions, local, steps, scratch);
    }
    /// What bounds the steps.
    struct Steps {
        double tol;
        Index most;
        int threads;
        Interrupt* interrupt;
    };
    /// `Groups` is a constant: a step of a small problem takes some hundred cycles.
    template <class Form, int Groups, class L> SmoEnd pairs(State& s, const Array<Index>& positions, const L& local,
                                                            const Steps& limits, std::vector<SumScratch<T>>& scratch) {
        using K = typename Form::Value;
        constexpr bool fine = std::is_same_v<K, T>;
        const auto row_of = [&](Index p) { return row<K>(s, p, local, scratch); };
        const auto find_tops = [&] {
            return Stepper<Form, T, Groups, true>::advance(w_, nullptr, nullptr, 0.0, 0, w_.size);
        };
        StepRun run{.tol = limits.tol, .top = find_tops()};
        const int useful = std::min(limits.threads, w_.pieces());
        team_.begin(useful > 1 ? std::min(useful, cores()) : 1);
        for (Index step = 0;;) {
            if (limits.interrupt && limits.interrupt->requested()) return SmoEnd::interrupted;
            note_middles(run);
            if (run.top[0].at < 0 && run.top[1].at < 0) return SmoEnd::tolerance;
            if constexpr (fine)
                if (const Index made = free_points(s, positions, step, limits.most, row_of, limits.interrupt);
                    made >= 0) {
                    run.top = find_tops();
                    step += made;
                    if (made > 0) continue;
                    note_middles(run);
                }
            run.limit = std::min(poll_every, limits.most - step);
            if (fine) run.limit = std::min(run.limit, until_newton(s, step));
            make_steps<Form, Groups>(s, positions, run);
            step += run.steps, s.steps += run.steps;
            pace_.gain += run.gain;
            s.bounded = s.bounded || run.bounded;
            if (run.pause == Pause::tolerance) return SmoEnd::tolerance;
            if (run.pause == Pause::rounding) return SmoEnd::rounding;
            if (run.pause == Pause::limit && step >= limits.most && run.limit == 0) return SmoEnd::steps;
            note_middles(run);
            if (run.pause == Pause::missing) row_of(run.missing);
        }
    }
    /// One run of steps, by one thread or by several.
    template <class Form, int Groups> void make_steps(State& s, const Array<Index>& positions, StepRun& run) {
        if (!team_.varies()) {
            Stepper<Form, T, Groups, true>(s, positions, w_, run, nullptr, 0, 1).steps();
            return;
        }
        Crew* const crew = Crew::idle();
        const int size = crew ? crew->size(team_.size()) : 1;
        bool late = false;
        if (size == 1) {
            Stepper<Form, T, Groups, true>(s, positions, w_, run, nullptr, 0, 1).steps();
        } else {
            auto& meetings = std::get<StepMeetings<Groups>>(meetings_);
            meetings.steps.begin();
            crew->run(size, nullptr, [&](int rank, int of) {
                Stepper<Form, T, Groups, false>(s, positions, w_, run, &meetings, rank, of).steps();
            });
            late = meetings.steps.lost();
        }
        team_.note(run.steps, run.seconds, late);
    }
    /// Middle of the violating slopes of each group, for the choice of rows.
    void note_middles(const StepRun& run) {
        for (const int g : {0, 1}) middle_[g] = run.top[g].value - 0.5 * run.gap[g];
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
        if (step >= w_.size && most - step >= w_.size && clipped_pays(s))
            return clipped(s, positions, row_of, interrupt);
        return step >= pace_.next ? newton(s, positions, step, most - step, row_of, interrupt) : -1;
    }
    /// Steps until `free_points` may be due.
    Index until_newton(const State& s, Index step) const {
        Index out = pace_.next - step;
        if (w_.size < s.n() && !s.filling)
            out = std::min(out, std::max(w_.size - step, next_count_ - (s.steps - s.newton_at)));
        return std::max<Index>(out, 1);
    }
    /// Newton steps on the free points until no bound shortens one. Returns the number of pairs changed, at most
    /// `most`.
    template <class RowOf> Index newton(State& s, const Array<Index>& positions, Index step, Index most, RowOf&& row_of,
                                        Interrupt* interrupt) {
        const double since = static_cast<double>(std::max<Index>(step - pace_.last, 1)), usual = pace_.gain / since;
        const Index points = all_points_cost() <= since ? w_.size : few_points;
        Move all;
        for (Move one{.length = 0}; one.length < 1; ++newton_steps_) {
            if (interrupt && interrupt->requested()) break;
            if (!free_step_.find(list_free(), w_.split, slopes(), w_.diagonal(), points, row_of)) break;
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
    bool most_rows_needed(const State& s) { return s.changed_share > 0.5 && (s.filling || 2 * free_count() > w_.size); }
    bool is_free(Index p) {
        return w_.up(w_.group(p))[p] == w_.low(w_.group(p))[p];
    }  // one slope: other points have two, or no room
    Index free_count() {
        Index free = 0;
        for (Index p = 0; p < w_.size; ++p) free += is_free(p);
        return free;
    }
    Array<Index> list_free() {
        Array<Index> free;
        for (Index p = 0; p < w_.size; ++p)
            if (is_free(p)) free.push_back(p);
        return free;
    }
    /// Slope of the objective at a free position.
    auto slopes() {
        return [this](Index p) { return static_cast<double>(w_.v()[p]) + static_cast<double>(w_.up(w_.group(p))[p]); };
    }
    /// Expected cost of Newton steps on all free points: each bound that is met costs one.
    double all_points_cost() {
        const Index free = free_count();
        return FreeStep<T>::cost(free, w_.size) * (1 + static_cast<double>(free) / 10);
    }
    /// Whether to try a Newton step with clipping: if the pairs since the last try have cost more than it will, and the
    /// working set is no longer filled with random violators.
    bool clipped_pays(const State& s) {
        constexpr Index most_free = 3072;  // their matrix takes 36 MB
        const Index since = s.steps - s.newton_at;
        if (w_.size == s.n() || s.filling || since < next_count_) return false;
        const Index free = free_count();
        next_count_ = static_cast<Index>(2 * s.newton_wait * FreeStep<T>::cost(free, w_.size)) + 1;
        if (since < next_count_) return false;
        if (free > most_free) next_count_ = since + poll_every;
        return free <= most_free;
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
            bend += change * (static_cast<double>(w_.v()[p]) - target_v_[p]);
        }
        if (!(slope > 0)) return 0;
        const double length = slope < bend ? slope / bend : 1.0;
        for (const Index p : free) {
            const Index i = positions[p];
            s.beta[i] = length < 1 ? s.beta[i] + length * (target_[p] - s.beta[i]) : target_[p];
            note_change(s, p, i);
        }
        for (Index p = 0; p < w_.size; ++p) {
            const double before = static_cast<double>(w_.v()[p]);
            w_.v()[p] = static_cast<T>(before + length * (target_v_[p] - before));
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
        target_.assign(w_.size, 0.0), target_v_.assign(padded(w_.size), 0.0);
        for (Index p = 0; p < w_.size; ++p) {
            target_[p] = s.beta[positions[p]];
            target_v_[p] = static_cast<double>(w_.v()[p]);
        }
        const double ridge = w_.even ? FreeStep<T>::small_rounding : FreeStep<T>::rounding;
        const auto target_slopes = [&](Index p) { return target_v_[p] + static_cast<double>(w_.up(w_.group(p))[p]); };
        const auto move_to = [&](Index p, double to) {
            const T* const row = row_of(p);
            const double weight = target_[p] - to;
            pass_ops<T>().combine(&row, &weight, 1, 0, padded(w_.size), target_v_.data());
            target_[p] = to;
        };
        for (int round = 0; round < most_rounds && list.size() > 1; ++round) {
            if (!free_step_.find_all(list, w_.split, target_slopes, w_.diagonal(), ridge, row_of, interrupt))
                return false;
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
                const int g = w_.group(list[k]);
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
        Move out{.cost = FreeStep<T>::cost(free.size(), w_.size), .pairs = free.size() - 1};
        for (Index k = 0; k < free.size(); ++k) out.length = std::min(out.length, reach(k));
        Array<double> change, shift;  // changes, and slopes minus v on this piece
        for (const Index p : free) shift.push_back(static_cast<double>(w_.up(w_.group(p))[p]));
        const auto count_gain = [&](Index k) {
            out.gain += 0.5 * change[k] * (static_cast<double>(w_.v()[free[k]]) + shift[k]);
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
            op.rise(w_.v(), row, row_of(free[free_step_.reference(k)]), -change[k], w_.up(0), w_.size);
        }
        for (Index k = 0; k < free.size(); ++k) count_gain(k);
        s.steps += out.pairs;
        return out;
    }

    template <class K, class L> const K* row(State& s, Index p, const L& local, std::vector<SumScratch<T>>& scratch) {
        if (const K* held = w_.rows.template find<K>(p)) return held;
        next_violators(p, room(s, local, scratch));
        fetch<K>(s, local, scratch);
        return w_.rows.template find<K>(p);
    }
    /// Compute the rows of `wanted_`.
    template <class K, class L> void fetch(State& s, const L& local, std::vector<SumScratch<T>>& scratch) {
        w_.rows.template fetch<K>(wanted_, widest(s, local), local, scratch);
        s.kernel_evals += wanted_.size() * w_.size;
    }
    /// Rows to compute at a time on one thread. Most points of a chosen working set violate, and their rows will be
    /// needed; most rows of a whole problem never are.
    template <class L> Index widest(const State& s, const L& local) const {
        return w_.size < s.n() ? local.block() : local.ahead();
    }
    /// Rows to compute at a time.
    template <class L> Index room(const State& s, const L& local, const std::vector<SumScratch<T>>& scratch) const {
        const Index each = widest(s, local), threads = w_.rows.threads(each, local.nanoseconds(), std::ssize(scratch));
        return w_.rows.block(each, local.ahead(), threads);
    }
    template <class L> void load(const State& s, const Array<Index>& positions, const L& local, const Pair& centre,
                                 std::size_t bytes, std::size_t width) {
        w_.size = positions.size();
        centre_ = centre;
        w_.split = w_.size;
        while (w_.split > 0 && s.group(positions[w_.split - 1]) == 1) --w_.split;
        // Also in lower precision a point at zero has two slopes.
        w_.shift = s.e > 0 ? std::max(static_cast<T>(s.e), std::numeric_limits<T>::min()) : T(0);
        pace_ = {.next = first_try * w_.size};
        newton_steps_ = 0;
        next_count_ = 0;
        w_.arrays.resize(0);
        w_.arrays.resize(w_.size);
        w_.rows.reset(w_.size, std::max(w_.size, std::min(s.n(), BlockSizes{}.widest_coarse)), bytes, width);
        local.diagonal(w_.diagonal());
        w_.even =
            std::all_of(w_.diagonal(), w_.diagonal() + w_.size, [&](T value) { return value == w_.diagonal()[0]; });
        for (Index p = 0; p < w_.size; ++p) {
            const Index i = positions[p];
            w_.v()[p] = static_cast<T>(s.v[i] - centre[s.group(i)]);
        }
        set_rooms(s, positions);
    }
    /// beta of position i, at p of the working set, has changed.
    void note_change(State& s, Index p, Index i) {
        s.bounded = s.bounded || reaches_bound(s, i);
        w_.set_room(s, p, i);
    }
    void set_rooms(const State& s, const Array<Index>& positions) {
        for (int group = 0; group < s.groups(); ++group) {
            std::fill_n(w_.up(group), padded(w_.size), -std::numeric_limits<T>::infinity());
            std::fill_n(w_.low(group), padded(w_.size), std::numeric_limits<T>::infinity());
        }
        for (Index p = 0; p < w_.size; ++p) w_.set_room(s, p, positions[p]);
    }

    /// Violations of a stretch of positions of one group, on either side of its middle. A function of its own, whose
    /// bounds do not change, is vectorised; otherwise this takes a tenth of the time of problems of 1,000 points.
    void measure_violations(int group, Index from, Index to) {
        const T middle = static_cast<T>(middle_[group]);
        const T *const values = w_.v(), *const rise = w_.up(group), *const fall = w_.low(group);
        T* const violation = w_.violation();
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
        T* const violation = w_.violation();
        measure_violations(0, 0, w_.split);
        if (w_.split < w_.size) measure_violations(1, w_.split, w_.size);
        violation[p] = 0;
        for (const Index held : w_.rows.held()) violation[held] = 0;
        most_.clear();
        T least = 0;
        const auto smaller = [](const auto& a, const auto& b) { return a.first > b.first; };
        for (Index from = 0; from < w_.size; from += stretch) {
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
            if (!w_.rows.holds(list[at])) wanted_.push_back(list[at]);
    }

    Points<T> w_;
    Index newton_steps_ = 0;
    Pair centre_{};
    Pair middle_{};  // of the violating slopes
    StepTeam team_;
    std::tuple<StepMeetings<1>, StepMeetings<2>> meetings_;
    FreeStep<T> free_step_;
    Pace pace_;
    Index next_count_ = 0;             // steps since the last Newton step with clipping before the next look
    Array<double> target_, target_v_;  // beta and v at its end
    Array<Index> wanted_;              // rows to compute next
    Array<std::pair<T, Index>> most_;  // a heap of violations and their positions
};

}  // namespace hingeline::engine
