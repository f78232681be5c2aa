// Storage that is overwritten before it is released, so that rows a model has forgotten do not stay in memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "hingeline/core/array.hpp"

namespace hingeline {

/// Write zeros. The barrier keeps the compiler from removing stores to memory that is not read again.
inline void wipe(void* p, std::size_t bytes) {
    if (bytes == 0) return;
#if defined(__GNUC__) || defined(__clang__)
    std::memset(p, 0, bytes);
    __asm__ __volatile__("" : : "r"(p) : "memory");
#else
    volatile unsigned char* at = static_cast<unsigned char*>(p);
    for (std::size_t i = 0; i < bytes; ++i) at[i] = 0;
#endif
}

/// Write zeros to the part of the stack that earlier calls have used.
#if defined(__GNUC__) || defined(__clang__)
__attribute__((noinline))
#endif
inline void wipe_stack() {
    unsigned char below[1 << 16];
    wipe(below, sizeof(below));
}

template <class T> struct WipingAllocator {
    using value_type = T;
    WipingAllocator() = default;
    template <class U> WipingAllocator(const WipingAllocator<U>&) {}
    T* allocate(std::size_t n) { return std::allocator<T>().allocate(n); }
    void deallocate(T* p, std::size_t n) {
        wipe(p, n * sizeof(T));
        std::allocator<T>().deallocate(p, n);
    }
    template <class U> bool operator==(const WipingAllocator<U>&) const { return true; }
};

/// An array that overwrites the memory it releases.
template <class T> using Wiped = Array<T, WipingAllocator<T>>;

}  // namespace hingeline
