// OLLAWV: on-line learning by worst violators (Melki 2018, Algorithm 1.1).
//
// Problem. Binary labels y = +1, -1, kernel K. Find f(x) = sum_i a_i K(x_i, x) + b with y_i f(x_i) >= M for
// every example outside the expansion, where M = margin * C, by stochastic gradient steps on the hinge loss,
// always at the example with the smallest y f.
//
// Symbols. z_i = y_i o_i, o the current output; t counts steps; wv is the worst violator, v its z.
//
//     while v < M and t < ceil(cap * n):
//         t += 1;  eta = 2 / sqrt t, or 1 / t;  L = eta C w_y w_wv y_wv;  B = L / n (0 without bias)
//         a_wv = L;  b += B;  wv leaves the free examples;  stop when none is free
//         o_free += L K(free, wv) + B;  (wv, v) = argmin, min of z over the free (lowest row on ties)
//
// Invariants. Each example is chosen at most once, so |a| = eta C w in the order of choice; outputs of
// chosen examples are stale by design; with w = 1, a, b and f scale with C and the sequence does not depend
// on it.
//
// Where we differ. (1) M is margin * C as in the authors' program, not a constant, and the loop also ends when no
// example is free. (2) Weights w_y of classes and w_i of examples scale the steps. (3) Columns of K are computed in
// speculative blocks: if the worst violator has no column, the columns of the currently worst violators are computed
// together and used when they are needed. The sequence of updates is that of the plain algorithm. (4) z is in double
// for both precisions of K.
//
// Cost. One column of K restricted to the free examples and one pass over z for each step.
#pragma once

#include <cmath>

#include "hingeline/algo/ollawv_share.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline::ollawv {

struct Params {
    double C = 1.0;
    double margin = 0.1;
    double cap = 1.0;
    bool bias = true;
    std::size_t cache_bytes = std::size_t{200} << 20;
    bool inverse = false;  // eta = 1/t

    double rate(Index t) const {
        return inverse ? 1.0 / static_cast<double>(t) : 2.0 / std::sqrt(static_cast<double>(t));
    }
};

namespace detail {

/// Messages between the ranks. Offers alternate between two buffers: a rank may write its next offer while another
/// still reads the last one, but cannot be two steps ahead.
struct Board {
    explicit Board(int size)
        : offers{Array<Candidate>(size), Array<Candidate>(size)},
          wanted{Array<Array<Candidate>>(size), Array<Array<Candidate>>(size)},
          meet(size) {}
    Array<Candidate> offers[2];
    bool halt[2] = {false, false};
    Array<Array<Candidate>> wanted[2];  // by side
    bool abandon = false;
    std::atomic<bool> failed{false};
    Barrier meet;
};

/// The loop of one rank. All ranks have the same t, wv and v.
template <class Source> class Loop {
  public:
    Loop(State& state, const Params& p, const Source& source, const Stop& stop, Index last)
        : state_(state), p_(p), source_(source), stop_(stop), last_(last) {}

    void run(int rank, int size) {
        {
            std::lock_guard lock(building_);
            if (!board_) board_ = std::make_unique<Board>(size), shares_.resize(size);
        }
        try {
            auto& share = shares_[rank];
            share = std::make_unique<Share<Source>>(source_, state_, p_.cache_bytes, rank, size, stop_.interrupt);
            loop(*share, rank, size);
        } catch (...) {
            board_->failed = true;
            board_->meet.leave();
            throw;
        }
        board_->meet.leave();  // a rank that has seen the failure of another is not waited for
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
        Index t = state_.chosen.size(), compacted_at = t;
        Candidate wv{state_.v, state_.next, state_.next_side};
        Speculation speculation(source_, t);
        Reason reason = Reason::running;
        if (!meet(size)) return;  // every rank has read the state: rank 0 may write to it

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
            const double own = state_.weight ? (*state_.weight)[wv.row] : 1.0;
            const double L = p_.rate(t) * p_.C * (weights[wv.side] * own) * labels[wv.side];
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
                if (t % trace_every == 0) note(state_);
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

    /// Wait for the other ranks. False if one of them failed.
    bool meet(int size) {
        if (size > 1) board_->meet.wait();
        return !board_->failed;
    }

    /// Set wv to the worst offer of all ranks, and halt to whether rank 0 was interrupted. False if a rank failed.
    bool agree(Candidate& wv, bool& halt, Index t, int rank, int size) {
        const int turn = static_cast<int>(t & 1);
        if (rank == 0) board_->halt[turn] = stop_.interrupt && stop_.interrupt->requested();
        board_->offers[turn][rank] = wv;
        if (!meet(size)) return false;
        halt = board_->halt[turn];
        wv = *std::min_element(board_->offers[turn].begin(), board_->offers[turn].end());
        return true;
    }

    /// Compute the columns of the worst violators of all shares. Returns their number, 0 if interrupted or a rank
    /// failed.
    Index fetch(Share<Source>& share, const Candidate& wv, Index count, int rank, int size) {
        if (count == 1) {
            share.fetch({wv.row});
            return 1;
        }
        for (int k = 0; k < 2; ++k) board_->wanted[k][rank] = share.worst(k, k == wv.side ? count : count / 2);
        if (!meet(size)) return 0;
        Array<Candidate> all[2];
        for (int k = 0; k < 2; ++k) {
            for (const auto& some : board_->wanted[k]) all[k].insert(all[k].end(), some.begin(), some.end());
            std::sort(all[k].begin(), all[k].end());
        }
        const int other = 1 - wv.side;
        const Index from_other = std::min<Index>(count / 2, all[other].size());
        Array<Index> rows{wv.row};  // the row of the first step need not be the worst violator
        for (const Candidate& c : all[wv.side])
            if (c.row != wv.row && rows.size() < count - from_other) rows.push_back(c.row);
        for (Index i = 0; i < from_other; ++i) rows.push_back(all[other][i].row);
        share.fetch(rows);
        if (rank == 0) board_->abandon = stop_.interrupt && stop_.interrupt->requested();
        if (!meet(size) || board_->abandon) return 0;
        return rows.size();
    }

    State& state_;
    const Params& p_;
    const Source& source_;
    const Stop& stop_;
    const Index last_;
    std::mutex building_;
    std::unique_ptr<Board> board_;
    Array<std::unique_ptr<Share<Source>>> shares_;
};

}  // namespace detail

/// Take steps until the margin is reached, the budget is spent or an interrupt is requested. The result does not depend
/// on `threads`, on the cache or on how the steps are divided into calls.
template <class Source> void learn(State& state, const Params& p, const Source& source, const Stop& stop, int threads) {
    if (state.reason == Reason::interrupted) state.reason = Reason::running;
    if (state.reason != Reason::running) return;
    const Index done = state.chosen.size();
    const Index last = stop.max_steps < state.n - done ? done + stop.max_steps : state.n;
    // The share of a thread in a step must cost more than the barrier at its end.
    constexpr Index fewest_rows = 8192;
    threads = static_cast<int>(std::clamp<Index>((state.n - done) / fewest_rows, 1, threads));
    state.trace.start();
    detail::Loop<Source> loop(state, p, source, stop, last);
    const double b = state.b, v = state.v;
    const Index next = state.next;
    const int next_side = state.next_side;
    const auto close = [&] {
        loop.finish();
        note(state);
        state.trace.pause();
    };
    try {
        run_team(threads, stop.interrupt, [&](int rank, int size) { loop.run(rank, size); });
    } catch (...) {
        state.reason = Reason::interrupted;
        if (threads == 1) {  // a callable kernel may throw: the steps before it are kept
            close();
        } else {  // out of memory, and ranks may have stopped at different steps: undo this call
            state.chosen.resize(done);
            state.a.resize(done);
            state.b = b, state.v = v, state.next = next, state.next_side = next_side;
            state.trace.pause();
        }
        throw;
    }
    close();
}

}  // namespace hingeline::ollawv
