// State of OLLAWV, and the share of one thread; see ollawv.hpp for the algorithm and the symbols.
#pragma once

#include <cmath>
#include <memory>

#include "hingeline/kernel/columns.hpp"
#include "hingeline/run/stop.hpp"
#include "hingeline/run/trace.hpp"
#include "hingeline/vector/passes.hpp"

namespace hingeline::ollawv {

/// Examples of one label that are still free: row numbers (ascending) and z.
struct Side {
    double label = 1.0;
    double weight = 1.0;
    Array<Index> row;
    Array<double> z;
};

/// One two-class problem: everything that the next `learn` needs, and its result.
struct State {
    Side side[2];
    std::shared_ptr<const Array<double>> weight;  // of each row, a factor on its step; null: 1
    Index n = 0;                                  // examples at the start
    Index next = -1;                              // row of the worst violator
    int next_side = 0;                            // side of the worst violator
    double v = 0.0;                               // its z
    double largest = 0;                           // largest |o| of a chosen example when it was chosen
    Reason reason = Reason::running;
    Array<Index> chosen;  // rows in the order of choice
    Array<double> a;      // their coefficients
    double b = 0.0;
    Index kernel_evals = 0;
    Trace trace{
        {"step", true}, {"seconds", false}, {"n_support", true}, {"worst_margin", false}, {"kernel_evals", true}};
};

/// Add a row to the trace. Every step adds one support vector.
inline void note(State& s) {
    const double steps = static_cast<double>(s.chosen.size());
    s.trace.add({steps, steps, s.v, static_cast<double>(s.kernel_evals)});
}

/// Largest |o| seen in training: of chosen examples when they were chosen, of the others now.
inline double largest_output(const State& state) {
    double largest = state.largest;
    for (const Side& side : state.side)
        for (const double z : side.z) largest = std::max(largest, std::abs(z));
    return largest;
}

/// A machine over the rows of two labels, ascending; the first step takes row `first`.
inline State start(Side one, Side other, Index first) {
    State s;
    s.n = one.row.size() + other.row.size();
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

/// The share of one rank: a stretch of the free examples of both sides, and the columns restricted to it.
template <class Source> class Share {
  public:
    using T = typename Source::Value;

    Share(const Source& source, const State& state, std::size_t cache_bytes, int rank, int size, Interrupt* interrupt)
        : columns_(source, cache_bytes / static_cast<std::size_t>(size), largest_share(state, size), interrupt) {
        for (int k = 0; k < 2; ++k) {
            const Side& side = state.side[k];
            const auto cut = [&](int r) { return side.row.size() * r / size; };
            part_[k].label = side.label;
            part_[k].row.assign(side.row.begin() + cut(rank), side.row.begin() + cut(rank + 1));
            part_[k].z.assign(side.z.begin() + cut(rank), side.z.begin() + cut(rank + 1));
            part_[k].held.assign(part_[k].row.size(), 0);
        }
        lay_out();
    }

    const T* column(Index row) { return columns_.find(row); }
    Index room() const { return columns_.room(); }

    /// The worst violators of side k that have no column, at most `count`.
    Array<Candidate> worst(int k, Index count) const {
        Array<Candidate> heap;
        if (count == 0) return heap;
        for (Index i = 0; i < part_[k].row.size(); ++i) {
            const Candidate c{part_[k].z[i], part_[k].row[i], k};
            if (heap.size() == count && !(c < heap.front())) continue;
            if (c.z == infinity || part_[k].held[i]) continue;
            if (heap.size() == count) {
                std::pop_heap(heap.begin(), heap.end());
                heap.pop_back();
            }
            heap.push_back(c);
            std::push_heap(heap.begin(), heap.end());
        }
        return heap;
    }

    /// Compute the columns of `rows` on this share; none is held when interrupted.
    void fetch(const Array<Index>& rows) {
        if (!columns_.fetch(rows, [&](Index old) { hold(old, 0); })) return;
        for (const Index row : rows) hold(row, 1);
    }

    /// Row `wv` leaves the free examples.
    void choose(Index wv) {
        at(wv, [](Part& part, Index i) { part.z[i] = infinity; });
    }

    /// Row `wv` leaves the free examples; o += L K(., wv) + B on the others. Returns the worst violator among them.
    Candidate step(Index wv, const T* column, double L, double B) {
        choose(wv);
        Candidate best;
        for (int k = 0; k < 2; ++k) {
            Part& part = part_[k];
            const Index count = part.row.size();
            const Least least =
                pass_ops<T>().add_and_least(part.z.data(), column, part.label * L, part.label * B, count);
            if (least.at < count) best = std::min(best, Candidate{least.value, part.row[least.at], k});
            column += count;
        }
        columns_.erase(wv);
        return best;
    }

    /// Remove the chosen examples, here and from the columns held.
    void compact() {
        Array<Index> keep;
        Index position = 0;
        for (Part& part : part_) {
            Index kept = 0;
            for (Index i = 0; i < part.row.size(); ++i, ++position) {
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
        lay_out(&keep);
    }

    /// Append the share to the state, after those of the ranks before it.
    void give_back(State& state) {
        for (int k = 0; k < 2; ++k)
            for (Index i = 0; i < part_[k].row.size(); ++i) {
                if (part_[k].z[i] == infinity) continue;
                state.side[k].row.push_back(part_[k].row[i]);
                state.side[k].z.push_back(part_[k].z[i]);
            }
    }

  private:
    struct Part {
        double label = 1.0;
        Array<Index> row;
        Array<double> z;   // infinity: chosen
        Array<char> held;  // a column is held for this row
    };

    static Index largest_share(const State& s, int size) {
        Index n = 0;
        for (const Side& side : s.side) n += (side.row.size() + size - 1) / size;
        return n;
    }
    void lay_out(const Array<Index>* keep = nullptr) {
        Array<Index> rows;
        for (const Part& part : part_) rows.insert(rows.end(), part.row.begin(), part.row.end());
        columns_.lay_out(std::move(rows), keep);
    }
    /// Call f(part, position) if `row` is in this share.
    template <class F> void at(Index row, F&& f) {
        for (Part& part : part_) {
            const auto it = std::lower_bound(part.row.begin(), part.row.end(), row);
            if (it != part.row.end() && *it == row) f(part, (it - part.row.begin()));
        }
    }
    void hold(Index row, char held) {
        at(row, [&](Part& part, Index i) { part.held[i] = held; });
    }

    Part part_[2];
    Columns<Source> columns_;  // over the rows of both parts
};

}  // namespace detail

}  // namespace hingeline::ollawv
