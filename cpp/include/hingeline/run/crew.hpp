// Crew: threads that wait for work as long as the crew exists. An algorithm that needs a team hundreds of times a
// second has one in scope: to create threads takes longer than to wake them, and to wake them longer than to find them
// waiting.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

#include "hingeline/core/interrupt.hpp"

namespace hingeline {

/// A hint to the processor that a thread waits in a loop.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

class Crew {
  public:
    /// Teams that this thread starts while the crew exists use its threads, up to `threads` together with this one.
    explicit Crew(int threads) : outer_(current()), most_(threads) { current() = this; }
    ~Crew() {
        current() = outer_;
        ending_.store(true, std::memory_order_relaxed);
        for (Worker& one : workers_) call(one);
        for (Worker& one : workers_) one.thread.join();
    }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    /// The crew in scope if it is idle, else null.
    static Crew* idle() {
        Crew* const crew = current();
        return crew && !crew->busy_ ? crew : nullptr;
    }
    /// Number of threads in all, fewer than asked for if the system refuses some. They are created here.
    int size(int wanted) {
        const int most = std::min(wanted, most_);
        while (!refused_ && static_cast<int>(workers_.size()) + 1 < most) add();
        return std::min(most, static_cast<int>(workers_.size()) + 1);
    }
    /// Run work(rank, size) on that many threads, at most `size(size)`; the calling thread has rank 0.
    template <class F> void run(int size, Interrupt* interrupt, F&& work) {
        job_.call = [](const void* f, int rank, int of) {
            (*static_cast<std::remove_reference_t<F>*>(const_cast<void*>(f)))(rank, of);
        };
        job_.work = std::addressof(work), job_.size = size;
        busy_ = true;
        pending_.store(size - 1, std::memory_order_relaxed);
        for (int rank = 1; rank < size; ++rank) call(workers_[rank - 1]);
        do_job(0);
        wait_for_others(interrupt);
        busy_ = false;
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

  private:
    /// Iterations of waiting loops, some ten microseconds: then a thread sleeps, because others may need the core.
    static constexpr int spins = 1024, few_spins = 128;

    struct Job {
        void (*call)(const void*, int, int) = nullptr;
        const void* work = nullptr;
        int size = 0;
    };
    /// On cache lines of its own: a waiting thread reads only these.
    struct alignas(128) Worker {
        std::atomic<int> calls{0};
        std::atomic<bool> asleep{false};
        std::thread thread;
    };

    static Crew*& current() {
        static thread_local Crew* crew = nullptr;
        return crew;
    }
    void add() {
        const int rank = static_cast<int>(workers_.size()) + 1;
        Worker& one = workers_.emplace_back();
        try {
            one.thread = std::thread([this, &one, rank] { work(one, rank); });
        } catch (const std::exception&) {  // no thread, or no memory for one
            workers_.pop_back();
            refused_ = true;
        }
    }
    static void call(Worker& one) {
        one.calls.fetch_add(1, std::memory_order_seq_cst);
        if (one.asleep.load(std::memory_order_seq_cst)) one.calls.notify_one();
    }
    void work(Worker& self, int rank) {
        const auto called = [&](int seen) { return self.calls.load(std::memory_order_acquire) != seen; };
        for (int seen = 0, patience = spins;; ++seen) {
            int k = 0;
            while (k < patience && !called(seen)) ++k, relax();
            patience = k < patience ? spins : few_spins;  // calls that come soon come in numbers
            if (!called(seen)) sleep(self, seen);
            if (ending_.load(std::memory_order_relaxed)) return;
            do_job(rank);
            if (pending_.fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
            std::lock_guard lock(mutex_);
            done_.notify_one();
        }
    }
    /// Sequentially consistent with `call`: one of the two sees the other.
    static void sleep(Worker& self, int seen) {
        self.asleep.store(true, std::memory_order_seq_cst);
        self.calls.wait(seen, std::memory_order_seq_cst);
        self.asleep.store(false, std::memory_order_relaxed);
    }
    void do_job(int rank) {
        try {
            job_.call(job_.work, rank, job_.size);
        } catch (...) {
            std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
        }
    }
    void wait_for_others(Interrupt* interrupt) {
        const auto ended = [&] { return pending_.load(std::memory_order_acquire) == 0; };
        for (int k = 0; k < spins; ++k) {
            if (ended()) return;
            relax();
        }
        std::unique_lock lock(mutex_);
        while (!done_.wait_for(lock, std::chrono::milliseconds(20), ended)) {
            if (!interrupt) continue;
            lock.unlock();
            interrupt->requested();
            lock.lock();
        }
    }

    Crew* const outer_;
    const int most_;
    bool refused_ = false, busy_ = false;
    std::deque<Worker> workers_;  // their addresses do not change
    Job job_;
    std::atomic<int> pending_{0};
    std::atomic<bool> ending_{false};
    std::mutex mutex_;
    std::condition_variable done_;
    std::exception_ptr failure_;
};

}  // namespace hingeline
