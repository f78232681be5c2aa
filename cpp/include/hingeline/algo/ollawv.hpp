// OLLAWV: on-line learning by worst violators (Melki 2018, Algorithm 1.1).
//
// Problem. Binary labels y = +1, -1, kernel K. Find f(x) = sum_i a_i K(x_i, x) + b with y_i f(x_i) >= M for
// every example outside the expansion, where M = margin * C, by stochastic gradient steps on the hinge loss,
// always at the example with the smallest y f.
//
// Symbols. z_i = y_i o_i, o the current output; t counts steps; wv is the worst violator, v its z.
//
//     while v < M and t < ceil(cap * n):
//         t += 1;  L = (2 / sqrt t) C w_y y_wv;  B = L / n (0 without bias)
//         a_wv = L;  b += B;  wv leaves the free examples;  stop when none is free
//         o_free += L K(free, wv) + B;  (wv, v) = argmin, min of z over the free (lowest row on ties)
//
// Invariants. Each example is chosen at most once, so |a| = 2 C w / sqrt t in the order of choice; outputs of
// chosen examples are stale by design; with w = 1, a, b and f scale with C and the sequence does not depend
// on it.
//
// Where we differ. (1) M is margin * C as in the authors' program, not a constant, and the loop also ends
// when no example is free. (2) A class weight w_y scales the step of its class. (3) Columns of K come in
// speculative blocks: when the worst violator has no column, the columns of the worst violators of this
// moment are computed together and used when their turn comes. The sequence of updates is that of the
// plain algorithm. (4) z is held in double whatever the precision of K.
//
// Cost. One column of K restricted to the free examples and one pass over z for each step.
#pragma once

#include <cmath>

#include "hingeline/kernel/gram.hpp"
#include "hingeline/kernel/row_cache.hpp"
#include "hingeline/run/team.hpp"
#include "hingeline/run/trace.hpp"

namespace hingeline::ollawv {

struct Params {
    double C = 1.0;
    double margin = 0.1;
    double cap = 1.0;
    bool bias = true;
    std::size_t cache_bytes = std::size_t{200} << 20;
};

/// Examples of one label that are still free: row numbers (ascending) and z.
struct Side {
    double label = 1.0;
    double weight = 1.0;
    std::vector<Index> row;
    std::vector<double> z;
};

/// One two-class problem: all that the next `learn` needs, and what it has found.
struct State {
    Side side[2];
    Index n = 0;         // examples at the start
    Index next = -1;     // row of the worst violator
    int next_side = 0;   // and where it belongs
    double v = 0.0;      // its z
    double largest = 0;  // largest |o| of the chosen at their choice
    Reason reason = Reason::running;
    std::vector<Index> chosen;  // rows in the order of choice
    std::vector<double> a;      // their coefficients
    double b = 0.0;
    Index kernel_evals = 0;
    Trace trace;
};

/// Largest |o| seen in training: of the chosen when they were chosen, of the others now.
inline double largest_output(const State& state) {
    double largest = state.largest;
    for (const Side& side : state.side)
        for (const double z : side.z) largest = std::max(largest, std::abs(z));
    return largest;
}

/// Rows of the two labels, ascending; `first` is the row that the first step takes.
inline State start(Side one, Side other, Index first) {
    State s;
    s.n = static_cast<Index>(one.row.size() + other.row.size());
    s.next = first;
    s.next_side = std::binary_search(one.row.begin(), one.row.end(), first) ? 0 : 1;
    s.side[0] = std::move(one);
    s.side[1] = std::move(other);
    for (Side& side : s.side) side.z.assign(side.row.size(), 0.0);
    return s;
}

namespace detail {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Candidate {
    double z = infinity;
    Index row = -1;
    int side = 0;
    bool operator<(const Candidate& o) const { return z < o.z || (z == o.z && row < o.row); }
};

/// What the ranks tell each other. Offers have two buffers in turn: a rank may write its next one while
/// another still reads the last, but cannot be two steps ahead.
struct Board {
    explicit Board(int size)
        : offers{std::vector<Candidate>(size), std::vector<Candidate>(size)},
          wanted{std::vector<std::vector<Candidate>>(size), std::vector<std::vector<Candidate>>(size)},
          meet(size) {}
    std::vector<Candidate> offers[2];
    bool halt[2] = {false, false};
    std::vector<std::vector<Candidate>> wanted[2];  // by side
    bool abandon = false;
    std::atomic<bool> failed{false};
    Barrier meet;
};

/// How many columns to compute together. Where the order of violators is stable most of a large block is
/// used; where every step upsets it (wide kernels, noisy labels) hardly any is. A block doubles when at
/// least half of the last one served and shrinks to the least when less than a quarter did; where the least
/// is a single column, a block is tried again after longer and longer waits.
class Speculation {
  public:
    template <class Source> Speculation(const Source& source, Index t)
        : least_(source.grain()),
          most_(source.blocks_pay() ? source.block() : source.grain()),
          size_(least_),
          since_(t) {}

    /// Called at a step whose column is missing.
    Index next(Index t) {
        const Index served = t - since_;
        since_ = t;
        if (size_ == 1) {
            if (most_ > 1 && ++misses_ >= wait_) misses_ = 0, size_ = std::min<Index>(most_, trial);
        } else if (served * 4 < size_) {
            if (size_ > least_ && least_ == 1) wait_ = std::min<Index>(2 * wait_, 1024);
            size_ = least_;
        } else if (served * 2 >= size_) {
            size_ = std::min(most_, 2 * size_);
        }
        return size_;
    }

  private:
    static constexpr Index trial = 16;  // enough columns to fill the lanes of one register
    const Index least_, most_;
    Index size_, since_, misses_ = 0, wait_ = 8;
};

/// One rank's share of the free examples: a stretch of both sides, and the columns restricted to it.
template <class Source> class Share {
  public:
    using T = typename Source::Value;

    Share(const Source& source, const State& state, std::size_t cache_bytes, int rank, int size, Interrupt* interrupt)
        : source_(source),
          interrupt_(interrupt),
          panel_bytes_(cache_bytes / static_cast<std::size_t>(size) / 4),
          cache_(cache_bytes / static_cast<std::size_t>(size) - panel_bytes_, largest_share(state, size)) {
        for (int k = 0; k < 2; ++k) {
            const Side& side = state.side[k];
            const auto cut = [&](int r) { return static_cast<std::ptrdiff_t>(side.row.size()) * r / size; };
            part_[k].label = side.label;
            part_[k].row.assign(side.row.begin() + cut(rank), side.row.begin() + cut(rank + 1));
            part_[k].z.assign(side.z.begin() + cut(rank), side.z.begin() + cut(rank + 1));
            part_[k].held.assign(part_[k].row.size(), 0);
        }
        lay_out();
    }

    const T* column(Index row) { return cache_.find(row); }
    Index room() const { return cache_.capacity(); }

    /// The worst violators of side k that have no column, at most `count`.
    std::vector<Candidate> worst(int k, Index count) const {
        std::vector<Candidate> heap;
        if (count == 0) return heap;
        for (std::size_t i = 0; i < part_[k].row.size(); ++i) {
            const Candidate c{part_[k].z[i], part_[k].row[i], k};
            if (static_cast<Index>(heap.size()) == count && !(c < heap.front())) continue;
            if (c.z == infinity || part_[k].held[i]) continue;
            if (static_cast<Index>(heap.size()) == count) {
                std::pop_heap(heap.begin(), heap.end());
                heap.pop_back();
            }
            heap.push_back(c);
            std::push_heap(heap.begin(), heap.end());
        }
        return heap;
    }

    /// Columns of `rows` on this share; incomplete when interrupted (a single one never is).
    void fetch(const std::vector<Index>& rows) {
        scratch_.interrupt = rows.size() > 1 ? interrupt_ : nullptr;
        std::vector<T*> columns;
        for (const Index row : rows) {
            columns.push_back(cache_.insert(row, [&](Index old) { hold(old, 0); }));
            hold(row, 1);
        }
        source_.columns(Ids::of(rows), Ids::of(layout_), columns.data(), scratch_);
    }

    /// Row `wv` leaves the free examples.
    void choose(Index wv) {
        at(wv, [](Part& part, std::size_t i) { part.z[i] = infinity; });
    }

    /// Row `wv` leaves the free examples, o += L K(., wv) + B on the others; the worst violator among them.
    Candidate step(Index wv, const T* column, double L, double B) {
        choose(wv);
        Candidate best;
        for (int k = 0; k < 2; ++k) {
            Part& part = part_[k];
            const Index count = static_cast<Index>(part.row.size());
            const Least least = ops<T>().add_and_least(part.z.data(), column, part.label * L, part.label * B, count);
            if (least.at < count)
                best = std::min(best, Candidate{least.value, part.row[static_cast<std::size_t>(least.at)], k});
            column += count;
        }
        cache_.erase(wv);
        return best;
    }

    /// Forget the examples that were chosen, here and in the columns held.
    void compact() {
        std::vector<Index> keep;
        Index position = 0;
        for (Part& part : part_) {
            std::size_t kept = 0;
            for (std::size_t i = 0; i < part.row.size(); ++i, ++position) {
                if (part.z[i] == infinity) continue;
                keep.push_back(position);
                part.row[kept] = part.row[i];
                part.held[kept] = part.held[i];
                part.z[kept++] = part.z[i];
            }
            part.row.resize(kept);
            part.held.resize(kept);
            part.z.resize(kept);
        }
        cache_.compact(keep);
        lay_out();
    }

    /// Put the share back into the state, after those of the ranks before it.
    void give_back(State& state) {
        for (int k = 0; k < 2; ++k)
            for (std::size_t i = 0; i < part_[k].row.size(); ++i) {
                if (part_[k].z[i] == infinity) continue;
                state.side[k].row.push_back(part_[k].row[i]);
                state.side[k].z.push_back(part_[k].z[i]);
            }
    }

  private:
    struct Part {
        double label = 1.0;
        std::vector<Index> row;
        std::vector<double> z;   // infinity: chosen
        std::vector<char> held;  // a column is held for this row
    };

    static Index largest_share(const State& s, int size) {
        Index n = 0;
        for (const Side& side : s.side) n += (static_cast<Index>(side.row.size()) + size - 1) / size;
        return n;
    }
    void lay_out() {
        layout_.clear();
        for (const Part& part : part_) layout_.insert(layout_.end(), part.row.begin(), part.row.end());
        source_.prepare(Ids::of(layout_), scratch_, panel_bytes_);
    }
    /// f(part, position) where `row` lies, if it lies here.
    template <class F> void at(Index row, F&& f) {
        for (Part& part : part_) {
            const auto it = std::lower_bound(part.row.begin(), part.row.end(), row);
            if (it != part.row.end() && *it == row) f(part, static_cast<std::size_t>(it - part.row.begin()));
        }
    }
    void hold(Index row, char held) {
        at(row, [&](Part& part, std::size_t i) { part.held[i] = held; });
    }

    const Source& source_;
    Interrupt* interrupt_;
    const std::size_t panel_bytes_;  // of the cache, for base rows packed once
    Part part_[2];
    std::vector<Index> layout_;  // rows of both parts: the positions of a column
    RowCache<T> cache_;
    Scratch<T> scratch_;
};

/// The loop as one rank runs it; all ranks hold the same t, wv and v.
template <class Source> class Loop {
  public:
    Loop(State& state, const Params& p, const Source& source, const Stop& stop, Index last)
        : state_(state), p_(p), source_(source), stop_(stop), last_(last) {}

    void run(int rank, int size) {
        {
            std::lock_guard lock(building_);
            if (!board_) board_ = std::make_unique<Board>(size), shares_.resize(static_cast<std::size_t>(size));
        }
        try {
            auto& share = shares_[static_cast<std::size_t>(rank)];
            share = std::make_unique<Share<Source>>(source_, state_, p_.cache_bytes, rank, size, stop_.interrupt);
            loop(*share, rank, size);
        } catch (...) {
            board_->failed = true;
            board_->meet.leave();
            throw;
        }
        board_->meet.leave();  // a rank that saw another's failure early must not be waited for
    }

    void finish() {
        for (Side& side : state_.side) side.row.clear(), side.z.clear();
        for (auto& share : shares_)
            if (share) share->give_back(state_);
    }

  private:
    void loop(Share<Source>& share, int rank, int size) {
        const double M = p_.margin * p_.C;
        const Index cap = static_cast<Index>(std::ceil(p_.cap * static_cast<double>(state_.n)));
        const Index trace_every = std::max<Index>(64, state_.n / 128);
        const double labels[2] = {state_.side[0].label, state_.side[1].label};
        const double weights[2] = {state_.side[0].weight, state_.side[1].weight};
        Index t = static_cast<Index>(state_.chosen.size()), compacted_at = t;
        Candidate wv{state_.v, state_.next, state_.next_side};
        Speculation speculation(source_, t);
        Reason reason = Reason::running;
        if (!meet(size)) return;  // every share has read the state: rank 0 may write to it

        while (reason == Reason::running && t < last_) {
            const bool only_one_free = t + 1 == state_.n;
            const typename Share<Source>::T* column = only_one_free ? nullptr : share.column(wv.row);
            if (!column && !only_one_free) {
                const Index count = std::min({speculation.next(t), share.room(), cap - t});
                const Index fetched = fetch(share, wv, count, rank, size);
                if (fetched == 0) {
                    if (board_->failed) return;
                    reason = Reason::interrupted;
                    break;
                }
                if (rank == 0) state_.kernel_evals += fetched * (state_.n - compacted_at);
                column = share.column(wv.row);
            }
            ++t;
            const double L = 2.0 / std::sqrt(static_cast<double>(t)) * p_.C * weights[wv.side] * labels[wv.side];
            const double B = p_.bias ? L / static_cast<double>(state_.n) : 0.0;
            if (rank == 0) {
                state_.chosen.push_back(wv.row);
                state_.a.push_back(L);
                state_.b += B;
                state_.largest = std::max(state_.largest, std::abs(wv.z));
            }
            if (only_one_free) {
                share.choose(wv.row);
                reason = Reason::exhausted;
                break;
            }
            wv = share.step(wv.row, column, L, B);
            bool halt = false;
            if (!agree(wv, halt, t, rank, size)) return;
            if (rank == 0) {
                state_.next = wv.row;
                state_.next_side = wv.side;
                state_.v = wv.z;
                if (t % trace_every == 0) state_.trace.add(t, t, wv.z, state_.kernel_evals);
            }
            if ((t - compacted_at) * 4 >= state_.n - compacted_at) {
                share.compact();
                compacted_at = t;
            }
            if (wv.z >= M)
                reason = Reason::margin;
            else if (t >= cap)
                reason = Reason::cap;
            else if (halt)
                reason = Reason::interrupted;
        }
        if (rank == 0) state_.reason = reason;
    }

    /// Wait for the others. False when one of them failed.
    bool meet(int size) {
        if (size > 1) board_->meet.wait();
        return !board_->failed;
    }

    /// The worst of all ranks' offers, and whether rank 0 was interrupted.
    bool agree(Candidate& wv, bool& halt, Index t, int rank, int size) {
        const int turn = static_cast<int>(t & 1);
        if (rank == 0) board_->halt[turn] = stop_.interrupt && stop_.interrupt->requested();
        board_->offers[turn][static_cast<std::size_t>(rank)] = wv;
        if (!meet(size)) return false;
        halt = board_->halt[turn];
        wv = *std::min_element(board_->offers[turn].begin(), board_->offers[turn].end());
        return true;
    }

    /// Columns of the worst violators of all shares: their number, 0 when interrupted or when a rank failed.
    Index fetch(Share<Source>& share, const Candidate& wv, Index count, int rank, int size) {
        if (count == 1) {
            share.fetch({wv.row});
            return 1;
        }
        for (int k = 0; k < 2; ++k)
            board_->wanted[k][static_cast<std::size_t>(rank)] = share.worst(k, k == wv.side ? count : count / 2);
        if (!meet(size)) return 0;
        std::vector<Candidate> all[2];
        for (int k = 0; k < 2; ++k) {
            for (const auto& some : board_->wanted[k]) all[k].insert(all[k].end(), some.begin(), some.end());
            std::sort(all[k].begin(), all[k].end());
        }
        const int other = 1 - wv.side;
        const Index from_other = std::min<Index>(count / 2, static_cast<Index>(all[other].size()));
        std::vector<Index> rows{wv.row};  // the first row of all need not be the worst
        for (const Candidate& c : all[wv.side])
            if (c.row != wv.row && static_cast<Index>(rows.size()) < count - from_other) rows.push_back(c.row);
        for (Index i = 0; i < from_other; ++i) rows.push_back(all[other][static_cast<std::size_t>(i)].row);
        share.fetch(rows);
        if (rank == 0) board_->abandon = stop_.interrupt && stop_.interrupt->requested();
        if (!meet(size) || board_->abandon) return 0;
        return static_cast<Index>(rows.size());
    }

    State& state_;
    const Params& p_;
    const Source& source_;
    const Stop& stop_;
    const Index last_;
    std::mutex building_;
    std::unique_ptr<Board> board_;
    std::vector<std::unique_ptr<Share<Source>>> shares_;
};

}  // namespace detail

/// Go on learning until the margin is reached, the budget is spent or someone interrupts. The result does
/// not depend on `threads`, on the cache or on how the steps are split over calls.
template <class Source> void learn(State& state, const Params& p, const Source& source, const Stop& stop, int threads) {
    if (state.reason == Reason::interrupted) state.reason = Reason::running;
    if (state.reason != Reason::running) return;
    const Index done = static_cast<Index>(state.chosen.size());
    const Index last = stop.max_steps < state.n - done ? done + stop.max_steps : state.n;
    // A thread's share of a step must outweigh the meeting at its end.
    constexpr Index fewest_rows = 2048;
    threads = static_cast<int>(std::clamp<Index>((state.n - done) / fewest_rows, 1, threads));
    state.trace.start();
    detail::Loop<Source> loop(state, p, source, stop, last);
    const double b = state.b, v = state.v;
    const Index next = state.next;
    const int next_side = state.next_side;
    const auto come_to_rest = [&] {
        const Index steps = static_cast<Index>(state.chosen.size());
        loop.finish();
        state.trace.add(steps, steps, state.v, state.kernel_evals);
        state.trace.pause();
    };
    try {
        run_team(threads, stop.interrupt, [&](int rank, int size) { loop.run(rank, size); });
    } catch (...) {
        state.reason = Reason::interrupted;
        if (threads == 1) {  // a kernel function of the user's may throw: what was learnt before stays
            come_to_rest();
        } else {  // memory ran out, and the ranks may have stopped at different steps: back to the start of this call
            state.chosen.resize(static_cast<std::size_t>(done));
            state.a.resize(static_cast<std::size_t>(done));
            state.b = b, state.v = v, state.next = next, state.next_side = next_side;
            state.trace.pause();
        }
        throw;
    }
    come_to_rest();
}

}  // namespace hingeline::ollawv
