// Aligned: 64-byte aligned storage for vector loads. Not initialised, grown but never shrunk, overwritten before it is
// released.
#pragma once

#include <new>
#include <utility>

#include "hingeline/core/index.hpp"
#include "hingeline/core/wipe.hpp"

namespace hingeline {

template <class T> class Aligned {
  public:
    Aligned() = default;
    Aligned(Aligned&& o) noexcept : data_(o.data_), size_(o.size_) { o.data_ = nullptr, o.size_ = 0; }
    Aligned& operator=(Aligned&& o) noexcept {
        std::swap(data_, o.data_);
        std::swap(size_, o.size_);
        return *this;
    }
    ~Aligned() { release(); }
    /// Make room for at least `size` values. The values held are lost if it has to grow.
    T* reserve(Index size) {
        if (size > size_) {
            release();
            data_ = static_cast<T*>(::operator new(bytes(size), std::align_val_t{64}));
            size_ = size;
        }
        return data_;
    }
    T* data() { return data_; }
    const T* data() const { return data_; }
    Index size() const { return size_; }

  private:
    static std::size_t bytes(Index size) { return static_cast<std::size_t>(size) * sizeof(T); }
    void release() {
        wipe(data_, bytes(size_));
        ::operator delete(data_, std::align_val_t{64});
        data_ = nullptr;
        size_ = 0;
    }
    T* data_ = nullptr;
    Index size_ = 0;
};

}  // namespace hingeline
