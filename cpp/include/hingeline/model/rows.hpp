// HeldRows: the rows that a model keeps, in the precision and form (dense or CSR) of the first rows.
#pragma once

#include "hingeline/data/store.hpp"
#include "hingeline/model/source.hpp"

namespace hingeline {

class HeldRows {
  public:
    /// Whether rows were ever added; models with a precomputed kernel hold none.
    bool started() const { return store_.index() != 0; }
    Index size() const {
        return visit([](const auto& store) { return store.size(); }, Index{0});
    }
    Index columns() const {
        return visit([](const auto& store) { return store.columns(); }, Index{0});
    }
    AnyRows view() const {
        return visit([](const auto& store) { return AnyRows(store.view()); },
                     AnyRows(Rows<double>(DenseRows<double>{})));
    }
    /// Append some of `rows`. Returns the position of the first. If it throws, nothing has changed.
    Index append(const AnyRows& rows, Ids which) {
        const Index first = size();
        std::visit(
            [&](const auto& x) {
                using T = ValueOf<decltype(x)>;
                if (!started()) {
                    Store<T> store(column_count(x), x.index() != 0);
                    store.append(x, which);
                    store_ = std::move(store);
                    return;
                }
                auto* mine = std::get_if<Store<T>>(&store_);
                if (!mine || mine->columns() != column_count(x))
                    throw std::invalid_argument(
                        "rows must have the precision and the number of features of the first rows");
                mine->append(x, which);
            },
            rows);
        return first;
    }
    /// Drop the rows from `size` on.
    void truncate(Index size) noexcept {
        change([&](auto& store) { store.truncate(size); });
    }
    /// Drop the rows that are not to be kept; the last ones fill the holes. If it throws, nothing has changed.
    void close(const Array<char>& keep, const Closing& closing) {
        change([&](auto& store) { store.close(keep, closing); });
    }
    void clear() noexcept { store_ = std::monostate{}; }

    template <class F, class R> R visit(F&& f, R otherwise) const {
        if (const auto* narrow = std::get_if<1>(&store_)) return f(*narrow);
        if (const auto* wide = std::get_if<2>(&store_)) return f(*wide);
        return otherwise;
    }

  private:
    template <class F> void change(F&& f) {
        if (auto* narrow = std::get_if<1>(&store_)) f(*narrow);
        if (auto* wide = std::get_if<2>(&store_)) f(*wide);
    }
    std::variant<std::monostate, Store<float>, Store<double>> store_{};
};

}  // namespace hingeline
