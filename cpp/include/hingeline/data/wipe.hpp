// What a model has forgotten must not lie about in memory that was given back: storage that is overwritten first.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace hingeline {

/// Zeros, whatever the compiler thinks of writing to memory that nobody reads again.
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

/// Zeros on the part of the stack that calls from here have used.
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

/// A vector that overwrites what it gives back.
template <class T> using Wiped = std::vector<T, WipingAllocator<T>>;

}  // namespace hingeline
