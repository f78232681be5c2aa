// Library for LD_PRELOAD whose operator new fails on demand.
//
// c++ -O2 -shared -fPIC fail_new.cpp -o fail_new.so
//
// fail_new_at(k): allocation k from now on fails, once (k >= 1). fail_new_stop(): end, and return whether it has
// failed. fail_new_count(): allocations since fail_new_at. Allocations of all threads are counted.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> seen{0}, fails_at{0};
std::atomic<bool> counting{false}, failed{false};

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (counting.load(std::memory_order_relaxed) && seen.fetch_add(1) + 1 == fails_at.load()) {
        failed = true;
        return nullptr;
    }
    if (bytes == 0) bytes = 1;
    if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* required(std::size_t bytes, std::size_t alignment) {
    if (void* p = allocate(bytes, alignment)) return p;
    throw std::bad_alloc();
}

}  // namespace

extern "C" {
void fail_new_at(long k) {
    seen = 0, failed = false, fails_at = k;
    counting = true;
}
int fail_new_stop() {
    counting = false;
    return failed ? 1 : 0;
}
long fail_new_count() { return seen; }
}

void* operator new(std::size_t n) { return required(n, 1); }
void* operator new[](std::size_t n) { return required(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return required(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return required(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
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
