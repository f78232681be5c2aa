// Meeting: threads that tell each other something every microsecond. Each writes its message on its own cache line and
// reads those of the others: one transfer between cores, where a barrier around shared memory takes three.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "hingeline/run/crew.hpp"

namespace hingeline {

/// Whether a thread of a meeting has waited long for another one, which has no core then.
class Waiting {
  public:
    bool lost() const { return lost_.load(std::memory_order_relaxed); }
    /// Forget what was; only one thread calls this, when no other waits for long.
    void begin() { lost_.store(false, std::memory_order_relaxed); }
    /// Wait until `ready`. A thread that has no core cannot come: leave the core to it.
    template <class F> void wait(F&& ready) {
        for (int k = 0; k < spins; ++k) {
            if (ready()) return;
            relax();
        }
        const auto start = std::chrono::steady_clock::now();
        while (!ready()) {
            std::this_thread::yield();
            if (std::chrono::steady_clock::now() - start > most) lost_.store(true, std::memory_order_relaxed);
        }
    }

  private:
    static constexpr int spins = 128;                     // a few microseconds; a message takes a tenth of one
    static constexpr std::chrono::microseconds most{50};  // less than a time slice of the system
    std::atomic<bool> lost_{false};
};

/// Meetings have ascending numbers. Threads meet again only after another meeting of the same threads elsewhere:
/// otherwise a message could be overwritten before all have read it.
template <class Message, int Most> class Meeting {
  public:
    /// Give `mine` to the other threads and call see(message) with those of the others.
    template <class F>
    void meet(int rank, int size, std::uint64_t number, Waiting& waiting, const Message& mine, F&& see) {
        places_[rank].message = mine;
        places_[rank].number.store(number, std::memory_order_release);
        for (int k = 1; k < size; ++k) {
            const Place& other = places_[rank + k < size ? rank + k : rank + k - size];
            waiting.wait([&] { return other.number.load(std::memory_order_acquire) == number; });
            see(other.message);
        }
    }

  private:
    /// Two cache lines: processors fetch them in pairs.
    struct alignas(128) Place {
        Message message;
        std::atomic<std::uint64_t> number{0};
    };
    std::array<Place, Most> places_;
};

}  // namespace hingeline
