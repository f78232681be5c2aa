// Threads: run_team runs one function on every rank; rank 0 is the calling thread. An exception of any rank is thrown
// to the caller after all ranks have ended. While other ranks work, rank 0 keeps polling the interrupt. If a thread
// cannot be created, the team is smaller.
#pragma once

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "hingeline/run/crew.hpp"
#include "hingeline/run/stop.hpp"

namespace hingeline {

/// A barrier for short steps: a thread spins for some ten microseconds before it sleeps. Steps last a few microseconds,
/// less than a sleep; longer spinning would starve other threads if there are more threads than cores.
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
    /// Leave: the others no longer wait for this thread. They must not meet again after the current meeting.
    void leave() {
        const int others =
            size_.fetch_sub(1) - 1;  // sequentially consistent with `wait`: one of the two sees the other
        if (arrived_.load() >= others) open();
    }

  private:
    void open() {
        arrived_.store(0, std::memory_order_relaxed);
        phase_.fetch_add(1, std::memory_order_release);
        phase_.notify_all();
    }
    std::atomic<int> size_;
    std::atomic<int> arrived_{0};
    std::atomic<int> phase_{0};
};

/// Cores that this process may use.
inline int cores() {
#ifdef __linux__  // older C libraries count all cores that are online
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return CPU_COUNT(&allowed);
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Run work(rank, size) on `wanted` threads, or on as many as can be created: those of the crew in scope, if it is
/// idle.
template <class F> void run_team(int wanted, Interrupt* interrupt, F&& work) {
    if (wanted <= 1) {
        work(0, 1);
        return;
    }
    if (Crew* const crew = Crew::idle()) {
        crew->run(crew->size(wanted), interrupt, work);
        return;
    }
    std::mutex mutex;
    std::condition_variable changed;
    int size = 0;  // 0 until all threads have been created
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
    threads.reserve(wanted - 1);
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
        } catch (const std::exception&) {  // no thread, or no memory for one
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

/// Hand out tasks 0..count-1 one after another: f(task, rank). No task starts after an interrupt.
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
