// Large: long arrays in large pages (2 MB). The first access to a small page costs as much as the arithmetic on its
// values. On Linux a program has to ask for large pages.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "hingeline/core/array.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace hingeline {

template <class T> struct LargePages {
    using value_type = T;
    LargePages() = default;
    template <class U> LargePages(const LargePages<U>&) {}
    T* allocate(std::size_t count) {
        void* memory = ::operator new(count * sizeof(T), alignment(count));
#ifdef MADV_HUGEPAGE
        if (large(count)) madvise(memory, count * sizeof(T), MADV_HUGEPAGE);  // a hint: the system may ignore it
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t count) { ::operator delete(memory, alignment(count)); }
    friend bool operator==(const LargePages&, const LargePages&) { return true; }

  private:
    static constexpr std::size_t page = std::size_t{2} << 20;
    static bool large(std::size_t count) { return count * sizeof(T) >= 2 * page; }
    static std::align_val_t alignment(std::size_t count) { return std::align_val_t{large(count) ? page : 64}; }
};

template <class T> using Large = Array<T, LargePages<T>>;

/// Memory of plain values that is neither initialised nor overwritten.
template <class T> class LargeMemory {
  public:
    LargeMemory() = default;
    explicit LargeMemory(Index size) : data_(LargePages<T>().allocate(static_cast<std::size_t>(size))), size_(size) {}
    LargeMemory(LargeMemory&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
    LargeMemory& operator=(LargeMemory&& o) noexcept {
        std::swap(data_, o.data_);
        std::swap(size_, o.size_);
        return *this;
    }
    ~LargeMemory() {
        if (data_) LargePages<T>().deallocate(data_, static_cast<std::size_t>(size_));
    }
    T* data() { return data_; }
    Index size() const { return size_; }

  private:
    T* data_ = nullptr;
    Index size_ = 0;
};

}  // namespace hingeline
