// Steps of SMO on a working set, made by one thread or by several.
//
// Each thread owns a part of the working set: it alone changes v, beta and the rooms of its points. A step has two
// meetings: of the partners that the threads offer to the top, and of the tops after v has changed. All threads then
// compute the same step from the same numbers. The passes that choose a partner compare quotients with rounding errors,
// so the best depends on where a pass begins and ends: it is chosen in pieces that depend on the size of the working
// set alone, and the bits do not depend on the number of threads.
#pragma once

#include <optional>

#include "hingeline/algo/engine/state.hpp"
#include "hingeline/algo/engine/working_rows.hpp"
#include "hingeline/run/meeting.hpp"
#include "hingeline/vector/parallel.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline::engine {

inline constexpr double least_curve = 1e-12;  // as LIBSVM

/// Steps and choices of pairs with rows of kernel values in the precision of v.
template <class T> struct FineRows {
    using Value = T;
    /// v -= d (K_i - K_j); returns the new top, the largest of v + up.
    static Top rise(T* v, const T* row_i, const T* row_j, double d, const T* up, Index n) {
        return pass_ops<T>().rise(v, row_i, row_j, -d, up, n);
    }
    static Partner partner(const T* v, const T* row, const T* diagonal, const T* low, double top, double own, Index n,
                           Index reach) {
        return pass_ops<T>().partner(v, row, diagonal, low, top, own, n, reach);
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
    static Partner partner(const T* v, const Coarse* row, const T*, const T* low, double top, double, Index n,
                           Index reach) {
        return coarse_ops().partner(v, row, low, top, n, reach);
    }
    static double curve(double, double, Coarse value) { return std::max(2.0 * value, 1.0) * coarse_unit; }
};

/// The points of a working set.
template <class T> struct Points {
    Index size = 0;
    Index split = 0;        // first position of the second group
    T shift = 0;            // e
    bool even = false;      // the diagonal is constant
    Parallel<T, 7> arrays;  // v, diagonal, violations; up and low of each group
    WorkingRows<T> rows;

    T* v() { return arrays[0]; }
    T* diagonal() { return arrays[1]; }
    T* violation() { return arrays[2]; }
    T* up(int group) { return arrays[3 + 2 * group]; }
    T* low(int group) { return arrays[4 + 2 * group]; }
    int group(Index p) const { return p >= split; }
    /// Position i of the state is p here.
    void set_room(const State& s, Index p, Index i) {
        constexpr T none = std::numeric_limits<T>::infinity();
        up(group(p))[p] = !s.is_up(i) ? -none : s.beta[i] < 0 ? shift : -shift;
        low(group(p))[p] = !s.is_low(i) ? none : s.beta[i] > 0 ? -shift : shift;
    }
    // Passes over one group: in the padded arrays its positions are part of one stretch, and the others have no room.
    Index begin_of(int group) const { return group == 0 ? 0 : split / pass_step * pass_step; }
    Index end_of(int group) const { return group == 0 ? std::min(size, padded(split)) : size; }

    /// Pieces in which partners are chosen: as many as threads may gain something, in powers of two.
    int pieces() const {
        constexpr Index least_size = 512;
        int count = 1;
        while (count < most_pieces && 2 * count * least_size <= size) count *= 2;
        return count;
    }
    Index piece_begin(int piece) const {
        const Index stretches = padded(size) / pass_step, count = pieces();
        return std::min(size, (stretches * piece + count - 1) / count * pass_step);
    }
    static constexpr int most_pieces = 16;
};
/// A coefficient beside its bound away from zero, or there.
inline bool reaches_bound(const State& s, Index i) {
    constexpr double almost = 1 - 1e-9;  // rounding errors leave coefficients beside their bounds
    return std::abs(s.beta[i]) >= almost * s.bound(i);
}

/// Length of a step of a coefficient `a` upwards and of `b` downwards, where the slope is `fall` at first.
template <class T> double step_length(double e, double a, double b, double fall, double curve, double room) {
    double from = 0;  // of the piece
    if (e > 0) {
        const double first = a < 0 ? -a : infinity, second = b > 0 ? b : infinity;
        for (const double kink : {std::min(first, second), std::max(first, second)}) {
            if (!(kink < room)) break;
            const double lost = std::max(curve, 0.0) * (kink - from);
            if (fall <= lost) break;
            fall -= lost + 2 * e;
            if (fall <= 0) return kink;
            from = kink;
        }
    }
    // A step to no bound may be rounded: factors in the precision of v are faster.
    const double wanted = static_cast<double>(static_cast<T>(fall / (curve > 0 ? curve : least_curve)));
    return curve > 0 || std::isinf(room) ? std::min(from + wanted, room) : room;
}

/// Why a run of steps has ended.
enum class Pause { limit, missing, tolerance, rounding };

/// A run of steps: what the threads share, and what the first one reports.
struct StepRun {
    double tol = 0;
    Index limit = 0;           // steps; 0: look whether the tolerance is reached
    std::array<Top, 2> top{};  // of each group, before and after
    Pause pause = Pause::limit;
    Index missing = -1;  // position without a row
    Index steps = 0;
    double gain = 0, seconds = 0;
    Pair gap{};  // of the last pairs
    std::atomic<bool> bounded{false};
};

/// The top of each group, with what a step needs to know of its point.
template <int Groups> struct Tops {
    std::array<Top, Groups> top;
    std::array<double, Groups> beta, room;
    bool ends = false;  // a thread has waited for too long
};
/// A partner of the top of a group.
struct Offer {
    std::int32_t j = -1, place = 0;
    double gain = 0, gap = 0;
    double slope = 0, curve = 1, beta = 0, room = 0;
    /// Whether a single pass would have chosen this one: passes over equal rows find equal gains.
    bool before(const Offer& o) const {
        if (j < 0 || o.j < 0) return j >= 0;
        return gain > o.gain || (gain == o.gain && (place < o.place || (place == o.place && j < o.j)));
    }
    void merge(const Offer& o) {
        const double wider = std::max(gap, o.gap);
        if (o.before(*this)) *this = o;
        gap = wider;
    }
};

/// Where the threads of a run of steps meet.
template <int Groups> struct StepMeetings {
    static constexpr int most = 16;
    Meeting<Tops<Groups>, most> tops;
    Meeting<std::array<Offer, Groups>, most> offers;
    Waiting waking, steps;
    std::uint64_t number = 0;  // of meetings so far
};

/// One of the threads that make steps; `Alone` if there are no others.
template <class Form, class T, int Groups, bool Alone> class Stepper {
  public:
    using K = typename Form::Value;
    Stepper(State& state, const Array<Index>& positions, Points<T>& points, StepRun& run,
            StepMeetings<Groups>* meetings, int rank, int size)
        : s(state), positions_(positions), w(points), run_(run), meetings_(meetings), rank_(rank), size_(size) {
        const int pieces = w.pieces();
        first_piece_ = pieces * rank / size, end_piece_ = pieces * (rank + 1) / size;
        from_ = w.piece_begin(first_piece_), to_ = w.piece_begin(end_piece_);
        if (!Alone) number_ = meetings->number;
    }

    /// Make steps until there is a reason to pause; the first thread notes what came out.
    void steps() {
        at_ = describe(run_.top);
        gap_ = run_.gap;
        if constexpr (!Alone) gather();
        const auto start = std::chrono::steady_clock::now();
        Index made = 0;
        std::optional<Pause> pause;
        while (!(pause = made > 0 && made == run_.limit ? Pause::limit : step())) {
            ++made;
            if (!Alone && at_.ends) {
                pause = Pause::limit;
                break;
            }
        }
        if (bounded_) run_.bounded.store(true, std::memory_order_relaxed);
        if (rank_ > 0) return;
        for (int g = 0; g < Groups; ++g) run_.top[g] = at_.top[g];
        run_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        run_.pause = *pause, run_.missing = missing_, run_.steps = made, run_.gain = gain_, run_.gap = gap_;
        if (!Alone) meetings_->number = number_;
    }

    /// v -= d (K_i - K_j) from a position to another, unless the rows are null; the top of each group there.
    static std::array<Top, 2> advance(Points<T>& w, const K* row_i, const K* row_j, double d, Index from, Index to) {
        std::array<Top, 2> top{Top{-infinity, -1}, Top{-infinity, -1}};
        const auto rise = [&](int group, Index begin, Index end, bool moves) {
            begin = std::max(begin, from), end = std::min(end, to);
            if (begin >= end) return;
            const bool with_rows = moves && row_i;
            const Top one = Form::rise(w.v() + begin, with_rows ? row_i + begin : nullptr,
                                       with_rows ? row_j + begin : nullptr, d, w.up(group) + begin, end - begin);
            if (one.value > top[group].value) top[group] = {one.value, one.at < 0 ? one.at : one.at + begin};
        };
        if (Groups == 1) {
            rise(0, from, to, true);
            return top;
        }
        rise(0, 0, w.end_of(0), true);
        if (w.split == w.size) return top;
        rise(1, w.begin_of(1), padded(w.split), false);
        rise(1, padded(w.split), w.size, true);
        return top;
    }

  private:
    struct Choice {
        double fall = 0, curve = 1;
        double gain() const { return fall * fall / std::max(curve, least_curve); }
    };

    /// One step, or the reason why there is none.
    std::optional<Pause> step() {
        std::array<const K*, Groups> row_i{};
        for (int g = 0; g < Groups; ++g)
            if (at_.top[g].at >= 0 && !(row_i[g] = row(at_.top[g].at))) return miss(at_.top[g].at);
        const std::array<Offer, Groups> offers = choose(row_i);
        int best = -1;
        Choice chosen;
        for (int g = 0; g < Groups; ++g) {
            gap_[g] = offers[g].gap;
            if (!(at_.top[g].at >= 0 && gap_[g] > run_.tol)) continue;
            const Choice found{offers[g].j >= 0 ? at_.top[g].value - offers[g].slope : 0.0, offers[g].curve};
            if (best < 0 || found.gain() > chosen.gain()) best = g, chosen = found;
        }
        if (best < 0) return Pause::tolerance;
        if (run_.limit == 0) return Pause::limit;
        if (offers[best].j < 0) return Pause::rounding;
        const K* const row_j = row(offers[best].j);
        if (!row_j) return miss(offers[best].j);
        const double d = change(best, offers[best], chosen);
        if (d == 0) return Pause::rounding;
        at_ = describe(advance(w, row_i[best], row_j, d, from_, to_));
        if constexpr (!Alone) meet_tops();
        return std::nullopt;
    }
    /// Change beta of the top of a group and of its partner. The length of the step, 0 if neither changes.
    double change(int group, const Offer& offer, const Choice& chosen) {
        const Index i = at_.top[group].at, j = offer.j;
        const double beta_i = at_.beta[group], room_i = at_.room[group], room = std::min(room_i, offer.room);
        const double d = step_length<T>(s.e, beta_i, offer.beta, chosen.fall, chosen.curve, room);
        const bool moves_i = d == room_i ? room_i != 0 : beta_i + d != beta_i;
        const bool moves_j = d == offer.room ? offer.room != 0 : offer.beta - d != offer.beta;
        if (!moves_i && !moves_j) return 0;
        if (is_own(i)) set(i, d == room_i ? s.high(positions_[i]) : beta_i + d);
        if (is_own(j)) set(j, d == offer.room ? s.low(positions_[j]) : offer.beta - d);
        gain_ += d * (chosen.fall - 0.5 * d * chosen.curve);
        return d;
    }
    Pause miss(Index p) {
        missing_ = p;
        return Pause::missing;
    }
    /// The row of a position, on its way to the cache; null if there is none. The first thread keeps record of the rows
    /// used last.
    const K* row(Index p) {
        const K* const out = rank_ == 0 ? w.rows.template find<K>(p) : w.rows.template peek<K>(p);
        if (out) fetch(out + from_, out + to_);
        return out;
    }
    /// The passes fetch what comes later. All of a part that is not long is on its way at the same time.
    static void fetch(const K* from, const K* to) {
#if defined(__GNUC__) || defined(__clang__)
        constexpr Index line = 64 / sizeof(K), most = 2048 / sizeof(K);
        for (const K *at = from, *end = std::min(to, from + most); at < end; at += line) __builtin_prefetch(at);
#else
        (void)from, (void)to;
#endif
    }
    bool is_own(Index p) const { return Alone || (p >= from_ && p < to_); }
    void set(Index p, double beta) {
        const Index i = positions_[p];
        s.beta[i] = beta;
        bounded_ = bounded_ || reaches_bound(s, i);
        w.set_room(s, p, i);
    }
    Tops<Groups> describe(const std::array<Top, 2>& top) const {
        Tops<Groups> out;
        for (int g = 0; g < Groups; ++g) {
            out.top[g] = top[g];
            out.beta[g] = out.room[g] = 0;
            if (top[g].at < 0) continue;
            const Index i = positions_[top[g].at];
            out.beta[g] = s.beta[i], out.room[g] = s.high(i) - s.beta[i];
        }
        return out;
    }
    /// The partner of each top.
    std::array<Offer, Groups> choose(const std::array<const K*, Groups>& rows) {
        std::array<Offer, Groups> out{};
        for (int g = 0; g < Groups; ++g)
            if (at_.top[g].at >= 0) out[g] = choose(g, at_.top[g], rows[g]);
        if constexpr (!Alone)
            meetings_->offers.meet(rank_, size_, ++number_, meetings_->steps, out, [&](const auto& others) {
                for (int g = 0; g < Groups; ++g) out[g].merge(others[g]);
            });
        return out;
    }
    Offer choose(int group, const Top& top, const K* row) {
        const double own = static_cast<double>(w.diagonal()[top.at]);
        Offer out;
        for (int piece = first_piece_; piece < end_piece_; ++piece) {
            Index from = w.piece_begin(piece), to = w.piece_begin(piece + 1);
            if (Groups > 1) from = std::max(from, w.begin_of(group)), to = std::min(to, w.end_of(group));
            if (from >= to) continue;
            const Partner one = Form::partner(w.v() + from, row + from, w.even ? nullptr : w.diagonal() + from,
                                              w.low(group) + from, top.value, own, to - from, to_ - from);
            const Index at = one.at < 0 ? -1 : from + one.at;
            out.merge({.j = static_cast<std::int32_t>(at), .place = one.place, .gain = one.gain, .gap = one.gap});
        }
        if (out.j < 0) return out;
        const Index j = out.j, b = positions_[j];
        out.slope = static_cast<double>(w.v()[j]) + static_cast<double>(w.low(group)[j]);
        out.curve = Form::curve(own, static_cast<double>(w.diagonal()[j]), row[j]);
        out.beta = s.beta[b], out.room = s.beta[b] - s.low(b);
        return out;
    }
    /// Wait until all threads are there. Those that are asleep need long.
    void gather() {
        meetings_->tops.meet(rank_, size_, ++number_, meetings_->waking, at_, [](const auto&) {});
    }
    /// The tops of all threads; the first of equal ones.
    void meet_tops() {
        at_.ends = rank_ == 0 && meetings_->steps.lost();
        const Tops<Groups> mine = at_;
        meetings_->tops.meet(rank_, size_, ++number_, meetings_->steps, mine, [&](const Tops<Groups>& other) {
            at_.ends = at_.ends || other.ends;
            for (int g = 0; g < Groups; ++g) {
                const Top &a = at_.top[g], &b = other.top[g];
                if (b.at < 0 || b.value < a.value || (b.value == a.value && a.at >= 0 && a.at < b.at)) continue;
                at_.top[g] = b, at_.beta[g] = other.beta[g], at_.room[g] = other.room[g];
            }
        });
    }

    State& s;
    const Array<Index>& positions_;
    Points<T>& w;
    StepRun& run_;
    StepMeetings<Groups>* const meetings_;
    const int rank_, size_;
    int first_piece_ = 0, end_piece_ = 0;
    Index from_ = 0, to_ = 0;
    std::uint64_t number_ = 0;
    Tops<Groups> at_;
    Pair gap_{};
    double gain_ = 0;
    Index missing_ = -1;
    bool bounded_ = false;
};

}  // namespace hingeline::engine
