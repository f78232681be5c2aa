// Store: rows that a model keeps. It owns them, grows at the end, and lets rows go by moving the last ones into
// the holes. Dense or CSR, as its first rows were; rows of the other form are converted on the way in, which leaves
// their kernel values as they are (kernel/ops.hpp).
#pragma once

#include <utility>

#include "hingeline/data/rows.hpp"
#include "hingeline/data/wipe.hpp"

namespace hingeline {

/// How positions close up when some go: `moves` are (from, to) pairs, both ascending, `size` is what remains.
struct Closing {
    std::vector<std::pair<Index, Index>> moves;
    Index size = 0;
};

/// Survivors behind the new end fill the holes before it, first into first.
inline Closing close_up(const std::vector<char>& keep) {
    Closing c;
    c.size = static_cast<Index>(std::count_if(keep.begin(), keep.end(), [](char k) { return k != 0; }));
    Index from = c.size;
    for (Index to = 0; to < c.size; ++to) {
        if (keep[static_cast<std::size_t>(to)]) continue;
        while (!keep[static_cast<std::size_t>(from)]) ++from;
        c.moves.emplace_back(from++, to);
    }
    return c;
}

template <class T> class Store {
  public:
    Store(Index d, bool sparse) : d_(d) {
        if (!sparse) return;
        if (d <= INT32_MAX)
            rows_ = Csr<std::int32_t>{{}, {}, {0}, d};
        else
            rows_ = Csr<std::int64_t>{{}, {}, {0}, d};
    }

    Index size() const { return n_; }
    Index columns() const { return d_; }
    bool sparse() const { return rows_.index() != 0; }
    /// All rows, or those from `first` on.
    Rows<T> view(Index first = 0) const {
        if (const auto* dense = std::get_if<0>(&rows_))
            return DenseRows<T>{dense->data() + first * d_, n_ - first, d_, d_, 1};
        const auto behind = [&](const auto& csr) {
            auto all = csr.view();
            all.starts += first;
            all.n -= first;
            return Rows<T>(all);
        };
        if (const auto* narrow = std::get_if<1>(&rows_)) return behind(*narrow);
        return behind(std::get<2>(rows_));
    }

    void append(const Rows<T>& rows, Ids ids) {
        const Index before = n_;
        try {
            std::visit([&](const auto& x) { add(x, ids); }, rows);
        } catch (...) {
            truncate(before);
            throw;
        }
        n_ += ids.count;
    }

    /// Let the rows from `size` on go.
    void truncate(Index size) {
        n_ = size;
        if (auto* dense = std::get_if<0>(&rows_))
            shorten(*dense, size * d_);
        else if (auto* narrow = std::get_if<1>(&rows_))
            cut(*narrow);
        else
            cut(std::get<2>(rows_));
    }

    /// Let the rows go that are not to be kept. What they held is overwritten or released.
    void close(const std::vector<char>& keep, const Closing& closing) {
        if (closing.size == n_) return;
        if (auto* dense = std::get_if<0>(&rows_)) {
            for (const auto& [from, to] : closing.moves)
                std::copy_n(dense->data() + from * d_, d_, dense->data() + to * d_);
            shorten(*dense, closing.size * d_);
            constexpr std::size_t slack = std::size_t{1} << 18;  // values that are not worth giving back
            if (dense->capacity() > 2 * dense->size() + slack) dense->shrink_to_fit();
        } else if (auto* narrow = std::get_if<1>(&rows_)) {
            gather(*narrow, keep, closing);
        } else {
            gather(std::get<2>(rows_), keep, closing);
        }
        n_ = closing.size;
    }

  private:
    template <class I> using Csr = OwnedCsr<T, I, Wiped>;

    template <class X> void add(const X& x, Ids ids) {
        constexpr bool from_dense = std::is_same_v<X, DenseRows<T>>;
        if (auto* dense = std::get_if<0>(&rows_)) {
            dense->resize(static_cast<std::size_t>((n_ + ids.count) * d_));
            for (Index i = 0; i < ids.count; ++i) spread(Rows<T>(x), ids[i], dense->data() + (n_ + i) * d_);
            return;
        }
        Index entries = 0;
        for (Index i = 0; i < ids.count; ++i) {
            if constexpr (from_dense)
                entries += x.d;
            else
                entries += x.row(ids[i]).count;
        }
        widen(entries);
        if (auto* narrow = std::get_if<1>(&rows_))
            add_sparse(*narrow, x, ids);
        else
            add_sparse(std::get<2>(rows_), x, ids);
    }

    template <class I, class X> static void add_sparse(Csr<I>& to, const X& x, Ids ids) {
        for (Index i = 0; i < ids.count; ++i) {
            const auto put = [&](Index column, T value) {
                to.columns.push_back(static_cast<I>(column));
                to.values.push_back(value);
            };
            if constexpr (std::is_same_v<X, DenseRows<T>>) {
                const T* row = x.row(ids[i]);
                for (Index k = 0; k < x.d; ++k)
                    if (row[k * x.column_stride] != T(0)) put(k, row[k * x.column_stride]);
            } else {
                const auto row = x.row(ids[i]);
                to.columns.insert(to.columns.end(), row.column, row.column + row.count);
                to.values.insert(to.values.end(), row.value, row.value + row.count);
            }
            to.starts.push_back(static_cast<I>(to.columns.size()));
        }
    }

    /// Wider indices before more entries come than 32 bits count.
    void widen(Index more) {
        auto* narrow = std::get_if<1>(&rows_);
        if (!narrow || static_cast<Index>(narrow->values.size()) <= INT32_MAX - std::min<Index>(more, INT32_MAX))
            return;
        Csr<std::int64_t> wide{std::move(narrow->values), {}, {}, d_};
        wide.columns.assign(narrow->columns.begin(), narrow->columns.end());
        wide.starts.assign(narrow->starts.begin(), narrow->starts.end());
        rows_ = std::move(wide);
    }

    template <class V> static void shorten(V& values, Index size) {
        if (static_cast<std::size_t>(size) >= values.size()) return;
        std::fill(values.begin() + static_cast<std::ptrdiff_t>(size), values.end(), typename V::value_type(0));
        values.resize(static_cast<std::size_t>(size));
    }

    template <class I> void cut(Csr<I>& x) const {
        shorten(x.starts, n_ + 1);
        shorten(x.columns, x.starts.back());
        shorten(x.values, x.starts.back());
    }

    template <class I> void gather(Csr<I>& x, const std::vector<char>& keep, const Closing& closing) const {
        std::vector<Index> from(static_cast<std::size_t>(closing.size));
        for (Index i = 0; i < closing.size; ++i)
            if (keep[static_cast<std::size_t>(i)]) from[static_cast<std::size_t>(i)] = i;
        for (const auto& [source, to] : closing.moves) from[static_cast<std::size_t>(to)] = source;
        Csr<I> out{{}, {}, {0}, d_};
        out.values.reserve(x.values.size());
        out.columns.reserve(x.columns.size());
        add_sparse(out, x.view(), Ids::of(from));
        x = std::move(out);
    }

    Index n_ = 0, d_;
    std::variant<Wiped<T>, Csr<std::int32_t>, Csr<std::int64_t>> rows_;
};

}  // namespace hingeline
