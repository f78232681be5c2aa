// Allocations that fail on demand: replaces the global operator new of a program or of a preloaded library.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace failing_new {

/// Allocations until one fails; it does not fail below 1. Counted in all threads.
inline std::atomic<long> left{0};
inline std::atomic<bool> counting{false}, failed{false};

inline void* allocate(std::size_t bytes, std::size_t alignment) {
    if (counting.load(std::memory_order_relaxed) && left.fetch_sub(1) == 1) {
        failed = true;
        return nullptr;
    }
    if (bytes == 0) bytes = 1;
    if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
inline void* required(std::size_t bytes, std::size_t alignment) {
    if (void* p = allocate(bytes, alignment)) return p;
    throw std::bad_alloc();
}

/// Allocation number `at` (from 1) fails.
inline void start(long at) {
    left = at, failed = false;
    counting = true;
}
inline void stop() { counting = false; }

/// While it lives, allocation number `at` (from 1) fails.
struct Fails {
    explicit Fails(long at) { start(at); }
    Fails(const Fails&) = delete;
    ~Fails() { stop(); }
};

}  // namespace failing_new

void* operator new(std::size_t n) { return failing_new::required(n, 1); }
void* operator new[](std::size_t n) { return failing_new::required(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return failing_new::required(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) {
    return failing_new::required(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return failing_new::allocate(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return failing_new::allocate(n, 1); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
