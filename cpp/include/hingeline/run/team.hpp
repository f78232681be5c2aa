// Threads: one function run by every rank, rank 0 being the caller. An exception of any rank reaches the
// caller after all have ended. While others still work, rank 0 keeps answering the interrupt. A system that
// refuses a thread gets a smaller team.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "hingeline/run/stop.hpp"

namespace hingeline {

/// A meeting point for threads that have little to do between meetings: it spins for some ten microseconds
/// before it sleeps. Steps last a few microseconds, less than a sleep; spinning on would starve the others where
/// there are more threads than cores.
class Barrier {
  public:
    explicit Barrier(int size) : size_(size) {}
    void wait() {
        const int phase = phase_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1) + 1 >= size_.load()) {
            open();
            return;
        }
        for (int spins = 0; spins < 1024; ++spins) {
            if (phase_.load(std::memory_order_acquire) != phase) return;
            relax();
        }
        phase_.wait(phase, std::memory_order_acquire);
    }
    /// Leave for good: the others no longer wait for this thread. They must not meet again after this meeting.
    void leave() {
        const int others = size_.fetch_sub(1) - 1;  // in one order with `wait`: one of the two sees the other
        if (arrived_.load() >= others) open();
    }

  private:
    void open() {
        arrived_.store(0, std::memory_order_relaxed);
        phase_.fetch_add(1, std::memory_order_release);
        phase_.notify_all();
    }
    static void relax() {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    std::atomic<int> size_;
    std::atomic<int> arrived_{0};
    std::atomic<int> phase_{0};
};

/// work(rank, size) on `wanted` threads or as many as there are to be had.
template <class F> void run_team(int wanted, Interrupt* interrupt, F&& work) {
    if (wanted <= 1) {
        work(0, 1);
        return;
    }
    std::mutex mutex;
    std::condition_variable changed;
    int size = 0;  // 0 until every thread has been asked for
    int running = 0;
    std::exception_ptr failure;
    auto guarded = [&](int rank, int of) {
        try {
            work(rank, of);
        } catch (...) {
            std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(wanted - 1));
    for (int rank = 1; rank < wanted; ++rank) {
        try {
            threads.emplace_back([&, rank] {
                std::unique_lock lock(mutex);
                changed.wait(lock, [&] { return size > 0; });
                lock.unlock();
                guarded(rank, size);
                lock.lock();
                --running;
                changed.notify_all();
            });
        } catch (const std::exception&) {  // no thread, or no memory for one: a smaller team
            break;
        }
    }
    {
        std::lock_guard lock(mutex);
        running = static_cast<int>(threads.size());
        size = running + 1;
        changed.notify_all();
    }
    guarded(0, size);
    {
        std::unique_lock lock(mutex);
        while (running > 0) {
            changed.wait_for(lock, std::chrono::milliseconds(20));
            if (!interrupt) continue;
            lock.unlock();
            interrupt->requested();
            lock.lock();
        }
    }
    for (auto& t : threads) t.join();
    if (failure) std::rethrow_exception(failure);
}

/// Tasks 0..count-1 handed out one after another: f(task, rank). No task begins after an interrupt.
template <class F> void run_tasks(Index count, int threads, Interrupt* interrupt, F&& f) {
    std::atomic<Index> next{0};
    const int wanted = static_cast<int>(std::min<Index>(threads, count));
    run_team(wanted, interrupt, [&](int rank, int) {
        for (Index task; (task = next.fetch_add(1)) < count;) {
            if (interrupt && interrupt->requested()) return;
            f(task, rank);
        }
    });
}

}  // namespace hingeline
