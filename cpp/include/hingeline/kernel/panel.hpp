// Panel: up to max_vectors * lanes rows laid side by side, feature by feature, with their squared norms. It is filled
// from rows of any form (dense of any stride, CSR, either precision).
#pragma once

#include <limits>
#include <string>

#include "hingeline/core/aligned.hpp"
#include "hingeline/data/rows.hpp"
#include "hingeline/vector/tiles.hpp"

namespace hingeline {

/// Largest squared norm and kernel value allowed in double: their products with coefficients stay finite.
inline constexpr double largest_value = 1e200;

/// Throw if a squared norm is so large that the sum of two overflows; the message names the row.
template <class T> inline void require_moderate(T norm, Index row) {
    if (norm <= (sizeof(T) == 4 ? std::numeric_limits<T>::max() / 4 : static_cast<T>(largest_value))) return;
    throw std::invalid_argument("row " + std::to_string(row) + " of X has a squared norm beyond the range of " +
                                (sizeof(T) == 4 ? "float32" : "float64") +
                                "; scale the features (for example with sklearn.preprocessing.StandardScaler)");
}

template <class T> class Panel {
  public:
    /// Above this many features a panel of CSR rows keeps only the columns that occur in it.
    static constexpr Index direct_limit = 4096;

    /// Lay out the rows `ids`. `norms` (by row number) are the squared norms if they are known. With `whole` the panel
    /// has a line for every feature, which dense base rows need.
    template <class S> void fill(const Rows<S>& rows, Ids ids, bool whole, const T* norms = nullptr) {
        const auto& op = tile_ops<T>();
        count_ = static_cast<int>(ids.count);
        vectors_ = (count_ + op.lanes - 1) / op.lanes;
        const int width = vectors_ * op.lanes;
        norms_.reserve(width);
        std::visit([&](const auto& r) { lay(r, ids, whole, norms); }, rows);
        T* own = norms_.data();
        for (int q = 0; q < count_; ++q)
            if (norms)
                own[q] = norms[ids[q]];
            else
                require_moderate(own[q], ids[q]);
        std::fill(own + count_, own + width, own[count_ - 1]);
    }

    const T* values() const { return values_.data(); }
    const T* norms() const { return norms_.data(); }
    /// Line of each column, or null if lines are columns.
    const std::int32_t* slots() const { return compact_ ? slots_.data() : nullptr; }
    int vectors() const { return vectors_; }
    int count() const { return count_; }

  private:
    template <class S> void lay(const DenseRows<S>& x, Ids ids, bool, const T* norms) {
        const auto& op = tile_ops<T>();
        compact_ = false;
        const int width = vectors_ * op.lanes;
        T* to = values_.reserve(x.d * width);
        lanes_.resize(width);
        bool direct = false;
        if constexpr (std::is_same_v<S, T>) {
            direct = x.contiguous();
            if (direct)
                for (int q = 0; q < count_; ++q) lanes_[q] = x.row(ids[q]);
        }
        if (!direct) {
            copy_.reserve(x.d * count_);
            for (int q = 0; q < count_; ++q) {
                T* line = copy_.data() + q * x.d;
                const S* row = x.row(ids[q]);
                for (Index k = 0; k < x.d; ++k) line[k] = static_cast<T>(row[k * x.column_stride]);
                lanes_[q] = line;
            }
        }
        std::fill(lanes_.begin() + count_, lanes_.end(), lanes_[count_ - 1]);
        op.pack(lanes_.data(), vectors_, x.d, to);
        if (!norms) op.norms(lanes_.data(), count_, x.d, norms_.data());
    }

    template <class S, class I> void lay(const CsrRows<S, I>& x, Ids ids, bool whole, const T* norms) {
        const auto& op = tile_ops<T>();
        const int width = vectors_ * op.lanes;
        compact_ = !whole && x.d > direct_limit;
        if (compact_) assign_slots(x, ids);
        const Index lines = compact_ ? used_.size() + 1 : x.d;
        T* to = values_.reserve(lines * width);
        std::fill(to, to + lines * width, T(0));
        for (int q = 0; q < count_; ++q) {
            const auto row = x.row(ids[q]);
            copy_.reserve(row.count + 1);
            for (Index j = 0; j < row.count; ++j) {
                const T value = static_cast<T>(row.value[j]);
                const Index line = compact_ ? slots_[row.column[j]] : row.column[j];
                to[line * width + q] = value;
                copy_.data()[j] = value;
            }
            if (!norms) {
                const T* values = copy_.data();
                op.norms(&values, 1, row.count, norms_.data() + q);
            }
        }
    }

    /// Lines 1, 2, ... for the columns that occur; line 0 is zero and stands for all others.
    template <class S, class I> void assign_slots(const CsrRows<S, I>& x, Ids ids) {
        if (slots_.size() != x.d) {
            if (x.d > INT32_MAX) throw std::invalid_argument("X has more than 2**31 - 1 features");
            slots_.assign(x.d, 0);
            used_.clear();
        }
        for (const Index column : used_) slots_[column] = 0;
        used_.clear();
        for (int q = 0; q < count_; ++q) {
            const auto row = x.row(ids[q]);
            for (Index j = 0; j < row.count; ++j) {
                auto& slot = slots_[row.column[j]];
                if (slot) continue;
                used_.push_back(row.column[j]);
                slot = static_cast<std::int32_t>(used_.size());
            }
        }
    }

    Aligned<T> values_, norms_, copy_;
    Array<const T*> lanes_;
    Array<std::int32_t> slots_;
    Array<Index> used_;
    bool compact_ = false;
    int vectors_ = 0, count_ = 0;
};

}  // namespace hingeline
