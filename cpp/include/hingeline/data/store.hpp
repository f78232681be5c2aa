// Store: rows that a model owns. It grows at the end and removes rows by moving the last ones into the holes. It is
// dense or CSR, as its constructor says; rows of the other form are converted when they are appended, which does not
// change their kernel values (vector/tiles.hpp).
#pragma once

#include <new>
#include <utility>

#include "hingeline/core/wipe.hpp"
#include "hingeline/data/rows.hpp"

namespace hingeline {

/// How positions close up when some are removed: `moves` are (from, to) pairs, both ascending, `size` is the new size.
struct Closing {
    Array<std::pair<Index, Index>> moves;
    Index size = 0;
};

/// Positions kept behind the new end fill the holes before it, the first into the first.
inline void close_up(const Array<char>& keep, Closing& c) {
    c.moves.clear();
    c.size = static_cast<Index>(std::count_if(keep.begin(), keep.end(), [](char k) { return k != 0; }));
    Index from = c.size;
    for (Index to = 0; to < c.size; ++to) {
        if (keep[to]) continue;
        while (!keep[from]) ++from;
        c.moves.emplace_back(from++, to);
    }
}
inline Closing close_up(const Array<char>& keep) {
    Closing c;
    close_up(keep, c);
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

    /// Remove the rows from `size` on.
    void truncate(Index size) noexcept {
        n_ = size;
        if (auto* dense = std::get_if<0>(&rows_))
            shorten(*dense, size * d_);
        else if (auto* narrow = std::get_if<1>(&rows_))
            cut(*narrow);
        else
            cut(std::get<2>(rows_));
    }

    /// Memory for `close`, allocated in advance so that `close` cannot fail.
    class Room {
        friend Store;
        Array<Index> from;
        std::variant<std::monostate, OwnedCsr<T, std::int32_t, Wiped>, OwnedCsr<T, std::int64_t, Wiped>> rows;
    };
    /// Room to remove any of the rows held now.
    Room room() const {
        Room room;
        const auto reserve = [&](const auto& x) {
            auto& rows = room.rows.template emplace<std::decay_t<decltype(x)>>();
            room.from.reserve(n_);
            rows.values.reserve(x.values.size());
            rows.columns.reserve(x.columns.size());
            rows.starts.reserve(n_ + 1);
        };
        if (const auto* narrow = std::get_if<1>(&rows_)) reserve(*narrow);
        if (const auto* wide = std::get_if<2>(&rows_)) reserve(*wide);
        return room;
    }

    /// Remove the rows that are not kept. Their values are overwritten or released. If it throws, nothing has changed.
    void close(const Array<char>& keep, const Closing& closing) {
        if (closing.size < n_) close(keep, closing, room());
    }
    void close(const Array<char>& keep, const Closing& closing, Room room) noexcept {
        if (closing.moves.empty()) {
            if (closing.size < n_) truncate(closing.size);
        } else if (auto* dense = std::get_if<0>(&rows_)) {
            for (const auto& [from, to] : closing.moves)
                std::copy_n(dense->data() + from * d_, d_, dense->data() + to * d_);
            shorten(*dense, closing.size * d_);
        } else if (auto* narrow = std::get_if<1>(&rows_)) {
            gather(*narrow, keep, closing, room);
        } else {
            gather(std::get<2>(rows_), keep, closing, room);
        }
        n_ = closing.size;
        if (auto* dense = std::get_if<0>(&rows_)) release_slack(*dense);
    }

  private:
    template <class I> using Csr = OwnedCsr<T, I, Wiped>;

    template <class X> void add(const X& x, Ids ids) {
        constexpr bool from_dense = std::is_same_v<X, DenseRows<T>>;
        if (auto* dense = std::get_if<0>(&rows_)) {
            dense->resize((n_ + ids.count) * d_);
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

    /// Switch to 64-bit indices before the number of entries exceeds 32 bits.
    void widen(Index more) {
        auto* narrow = std::get_if<1>(&rows_);
        if (!narrow || narrow->values.size() <= INT32_MAX - std::min<Index>(more, INT32_MAX)) return;
        Csr<std::int64_t> wide{{}, {}, {}, d_};
        wide.columns.assign(narrow->columns.begin(), narrow->columns.end());
        wide.starts.assign(narrow->starts.begin(), narrow->starts.end());
        wide.values = std::move(narrow->values);  // last: an allocation may fail before
        rows_ = std::move(wide);
    }

    template <class V> static void shorten(V& values, Index size) {
        if (size >= values.size()) return;
        std::fill(values.begin() + size, values.end(), typename V::value_type(0));
        values.resize(size);
    }

    template <class I> void cut(Csr<I>& x) const {
        shorten(x.starts, n_ + 1);
        shorten(x.columns, x.starts.back());
        shorten(x.values, x.starts.back());
    }

    /// Release memory if much of it is unused; it may stay.
    static void release_slack(Wiped<T>& dense) noexcept {
        constexpr Index slack = Index{1} << 18;  // values that are not worth releasing
        if (dense.capacity() <= 2 * dense.size() + slack) return;
        try {
            dense.shrink_to_fit();
        } catch (const std::bad_alloc&) {
        }
    }

    template <class I> void gather(Csr<I>& x, const Array<char>& keep, const Closing& closing, Room& room) const {
        room.from.resize(closing.size);
        for (Index i = 0; i < closing.size; ++i)
            if (keep[i]) room.from[i] = i;
        for (const auto& [source, to] : closing.moves) room.from[to] = source;
        Csr<I>& out = std::get<Csr<I>>(room.rows);
        out.starts.push_back(0);
        out.d = d_;
        add_sparse(out, x.view(), Ids::of(room.from));
        x = std::move(out);
    }

    Index n_ = 0, d_;
    std::variant<Wiped<T>, Csr<std::int32_t>, Csr<std::int64_t>> rows_;
};

}  // namespace hingeline
