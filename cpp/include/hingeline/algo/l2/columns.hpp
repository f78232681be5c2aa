// HeldColumns: the kernel columns of one machine, some computed ahead of need.
#pragma once

#include "hingeline/algo/l2/state.hpp"
#include "hingeline/kernel/columns.hpp"

namespace hingeline::l2 {

template <class Source> class HeldColumns {
  public:
    using T = typename Source::Value;

    HeldColumns(State& state, bool bias, std::size_t cache_bytes, const Source& source, Interrupt* interrupt)
        : s(state),
          source_(source),
          bias_(bias),
          interrupt_(interrupt),
          held_(s.n(), nullptr),
          used_(s.n(), 0),
          columns_(source, std::max(cache_bytes, least_bytes(s.n())), s.n(), interrupt),
          speculation_(source, 0),
          all_fit_(columns_.room() >= s.n()) {
        columns_.lay_out(s.row);
    }

    /// The column of position `at`, or null when interrupted. The column requested before it stays valid. Sets q.
    const T* at(Index at) {
        if (!used_[at]) ++first_uses_;
        if (!held_[at]) {
            if (!fetch(at)) return nullptr;
        } else if (!all_fit_) {
            columns_.find(s.row[at]);  // mark as used: others are evicted first
        }
        if (!used_[at]) {
            used_[at] = 1;
            set_diagonal(at, held_[at][at]);
        }
        return held_[at];
    }

    /// f(k, column of positions[k]) in this order; false when interrupted. Columns are kept only if all of them fit.
    template <class F> bool each(const Array<Index>& positions, F&& f) {
        if (all_fit_) {
            for (Index k = 0; k < positions.size(); ++k) {
                const T* column = at(positions[k]);
                if (!column || (k % 64 == 0 && interrupt_ && interrupt_->requested())) return false;
                f(k, column);
            }
            return true;
        }
        Array<Index> rows;
        for (const Index position : positions) rows.push_back(s.row[position]);
        s.kernel_evals += rows.size() * s.n();
        return columns_.sweep(Ids::of(rows), [&](Index first, Index count, T* const* columns) {
            for (Index k = 0; k < count; ++k) f(first + k, columns[k]);
        });
    }
    /// Whether the columns of all positions fit the cache.
    bool all_fit() const { return all_fit_; }
    /// f(k, values) with values[i] = K(positions[i], positions[k]) for i <= k; none is kept. False when interrupted.
    template <class F> bool pairs(const Array<Index>& positions, F&& f) {
        Array<Index> rows;
        for (const Index position : positions) rows.push_back(s.row[position]);
        const Ids all = Ids::of(rows);
        return blocks(
            all, [&](Index at) { return all.part(0, std::min<Index>(at + most_queries, all.count)); },
            [&](Index at, Index count, T* const* values) {
                for (Index k = 0; k < count; ++k) f(at + k, values[k]);
            });
    }
    /// Set q of these positions, from small blocks of kernel values; false when interrupted.
    bool diagonals(const Array<Index>& positions) {
        Array<Index> unknown, rows;
        for (const Index position : positions)
            if (s.q[position] == 0) unknown.push_back(position), rows.push_back(s.row[position]);
        const Ids all = Ids::of(rows);
        return blocks(
            all, [&](Index at) { return all.part(at, std::min<Index>(few, all.count - at)); },
            [&](Index at, Index count, T* const* values) {
                for (Index k = 0; k < count; ++k) set_diagonal(unknown[at + k], values[k][k]);
            },
            few);
    }
    /// out[i] = sum_j K(i, j) a[j] over these positions, j != i; each pair is computed once and none is kept. a and out
    /// are padded, a with zeros. False when interrupted.
    bool products(const Array<Index>& positions, const double* a, double* out) {
        Array<Index> rows;
        for (const Index position : positions) rows.push_back(s.row[position]);
        const Ids all = Ids::of(rows);
        std::fill_n(out, padded(all.count), 0.0);
        // Padded from any place on.
        Array<double> given(all.count + pass_step, 0.0), found(given), sums;
        std::copy_n(a, all.count, given.begin());
        return blocks(
            all, [&](Index at) { return all.part(at, all.count - at); },
            [&](Index at, Index count, T* const* values) {
                for (Index k = 0; k < count; ++k) std::fill_n(values[k], k + 1, T(0));
                sums.assign(count, 0.0);
                pass_ops<T>().combine_and_inner(values, given.data() + at, count, padded(all.count - at),
                                                found.data() + at, given.data() + at, sums.data());
                for (Index k = 0; k < count; ++k) found[at + k] += sums[k];
                std::copy_n(found.data() + at, count, out + at);
            });
    }
    /// out[i] = sum_j K(to[i], from[j]) a[j]; out is padded. False when interrupted.
    bool products(const Array<Index>& from, const Array<Index>& to, const double* a, double* out) {
        Array<Index> queries, rows;
        for (const Index position : from) queries.push_back(s.row[position]);
        for (const Index position : to) rows.push_back(s.row[position]);
        std::fill_n(out, padded(rows.size()), 0.0);
        return blocks(
            Ids::of(queries), [&](Index) { return Ids::of(rows); },
            [&](Index at, Index count, T* const* values) {
                pass_ops<T>().combine(values, a + at, count, 0, padded(rows.size()), out);
            });
    }

    Index position_of(Index row) const {
        Index from = 0;
        for (const Index end : s.end) {
            const auto last = s.row.begin() + end, it = std::lower_bound(s.row.begin() + from, last, row);
            if (it != last && *it == row) return it - s.row.begin();
            from = end;
        }
        return -1;  // not reached
    }

    const Source& source() const { return source_; }

    double level = 0.0;  // rows with r above this may need their columns soon

  private:
    /// At least three columns: two are in use at a time.
    static std::size_t least_bytes(Index n) { return static_cast<std::size_t>(n + 256) * sizeof(T) * 4; }

    static constexpr Index few = 8, most_queries = 64;

    /// f(at, count, columns) with columns[k][j] = K(base(at)[j], queries[at + k]), padded with zeros, for blocks of at
    /// most `most` queries. False when interrupted.
    template <class Base, class F> bool blocks(Ids queries, Base&& base, F&& f, Index most = most_queries) {
        Scratch<T> scratch;
        scratch.interrupt = interrupt_;
        most = std::min<Index>(most, std::max(1, source_.block()));
        Aligned<T> values;
        Array<T*> columns(most);
        for (Index at = 0; at < queries.count; at += most) {
            const Ids some = queries.part(at, std::min(most, queries.count - at)), rows = base(at);
            const Index length = padded(rows.count);
            values.reserve(most * length);
            for (Index k = 0; k < most; ++k) columns[k] = values.data() + k * length;
            if (!source_.columns(some, rows, columns.data(), scratch)) return false;
            for (Index k = 0; k < some.count; ++k) std::fill(columns[k] + rows.count, columns[k] + length, T(0));
            s.kernel_evals += some.count * rows.count;
            f(at, some.count, columns.data());
        }
        return true;
    }
    void set_diagonal(Index at, T value) { s.q[at] = static_cast<double>(value) + (bias_ ? 1.0 : 0.0) + 1.0 / s.c[at]; }
    /// Compute the column of `at`, and of others that may be needed soon.
    bool fetch(Index at) {
        const Index room = columns_.room();
        const Index count = std::min(speculation_.next(first_uses_), all_fit_ ? room : room - 1);
        const Array<Index> positions = wanted(at, count);
        Array<Index> rows;
        for (const Index position : positions) rows.push_back(s.row[position]);
        if (!columns_.fetch(rows, [&](Index old) { held_[position_of(old)] = nullptr; })) return false;
        s.kernel_evals += rows.size() * s.n();
        for (Index i = positions.size(); i-- > 0;)  // the first becomes the last to be evicted
            held_[positions[i]] = columns_.find(rows[i]);
        return true;
    }
    /// `at` and at most count - 1 others without a column: support vectors if it is one, else the worst violators.
    Array<Index> wanted(Index at, Index count) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        Array<Index> out{at};
        if (count <= 1) return out;
        // Smaller keys first: the next support vectors, or the largest r.
        const bool supports = s.v[at] > 0;
        Array<std::pair<double, Index>> heap;
        double bar = supports ? infinity : -level;
        for (Index i = 0; i < s.n(); ++i) {
            const double key = supports ? static_cast<double>(i > at ? i : i + s.n()) : -s.r[i];
            if (!(key < bar) || held_[i] || i == at || (supports && !(s.v[i] > 0))) continue;
            heap.emplace_back(key, i);
            std::push_heap(heap.begin(), heap.end());
            if (heap.size() < count) continue;
            std::pop_heap(heap.begin(), heap.end());
            heap.pop_back();
            bar = heap.front().first;
        }
        for (const auto& [key, i] : heap) out.push_back(i);
        return out;
    }

    State& s;
    const Source& source_;
    const bool bias_;
    Interrupt* interrupt_;
    Array<const T*> held_;
    Array<char> used_;
    Index first_uses_ = 0;
    Columns<Source> columns_;
    Speculation speculation_;
    const bool all_fit_;
};

}  // namespace hingeline::l2
