// Parallel: several arrays of one length, aligned and padded for the passes (vector/passes.hpp).
#pragma once

#include <algorithm>

#include "hingeline/core/aligned.hpp"
#include "hingeline/vector/layout.hpp"

namespace hingeline {

/// Parallel arrays, zero up to the next multiple of `pass_step`.
template <class T, int Count> class Parallel {
  public:
    Parallel() = default;
    Parallel(const Parallel& o) { *this = o; }
    Parallel& operator=(const Parallel& o) {
        if (this == &o) return *this;
        Parallel fresh;
        fresh.resize(o.size_);
        for (int k = 0; k < Count; ++k) std::copy_n(o[k], o.size_, fresh[k]);
        return *this = std::move(fresh);
    }
    Parallel(Parallel&&) = default;
    Parallel& operator=(Parallel&&) = default;

    T* operator[](int k) { return data_.data() + k * pitch(); }
    const T* operator[](int k) const { return data_.data() + k * pitch(); }
    Index size() const { return size_; }

    /// New values are zero, and so is the padding.
    void resize(Index n) {
        if (n > capacity_) {
            Parallel wider;
            wider.capacity_ = (n + n / 4 + pass_step) / pass_step * pass_step;
            wider.size_ = size_;
            const Index all = Count * wider.pitch();
            std::fill_n(wider.data_.reserve(all), all, T(0));
            for (int k = 0; k < Count && size_ > 0; ++k) std::copy_n((*this)[k], size_, wider[k]);
            *this = std::move(wider);
        }
        for (int k = 0; k < Count && n < size_; ++k) std::fill((*this)[k] + n, (*this)[k] + size_, T(0));
        size_ = n;
    }
    void move(Index from, Index to) {
        for (int k = 0; k < Count; ++k) (*this)[k][to] = (*this)[k][from];
    }

  private:
    /// An odd number of cache lines beyond the capacity: with arrays a whole number of pages apart, a load would wait
    /// for an unrelated store to the same page offset (4K aliasing).
    Index pitch() const { return capacity_ + 17 * Index{64 / sizeof(T)}; }
    Aligned<T> data_;
    Index capacity_ = 0, size_ = 0;
};

}  // namespace hingeline
