// When to stop: a budget of steps and a request from outside (Ctrl-C).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <thread>

#include "hingeline/kernel/ops.hpp"

namespace hingeline {

/// Why a learner returned.
enum class Reason : int {
    running,
    margin,
    cap,
    exhausted,
    interrupted,
    pass,
    gap,
    steps,
    precision,
    tolerance,
    indefinite
};

inline const char* name(Reason r) {
    switch (r) {
        case Reason::running:
            return "running";
        case Reason::margin:
            return "margin";
        case Reason::cap:
            return "cap";
        case Reason::exhausted:
            return "exhausted";
        case Reason::interrupted:
            return "interrupted";
        case Reason::pass:
            return "pass";
        case Reason::gap:
            return "gap";
        case Reason::steps:
            return "max_iter";
        case Reason::precision:
            return "precision";
        case Reason::tolerance:
            return "tol";
        case Reason::indefinite:
            return "indefinite";
    }
    return "unknown";
}

/// A request to stop. Any thread may look; only the thread that made the object asks the poll, and at most
/// every 20 ms, so that taking Python's lock costs nothing.
class Interrupt {
  public:
    explicit Interrupt(std::function<bool()> poll) : poll_(std::move(poll)) {}
    bool requested() {
        if (std::this_thread::get_id() == owner_ && !flag_.load(std::memory_order_relaxed)) {
            const auto now = std::chrono::steady_clock::now();
            if (now >= next_) {
                next_ = now + std::chrono::milliseconds(20);
                if (poll_()) flag_.store(true, std::memory_order_relaxed);
            }
        }
        return flag_.load(std::memory_order_relaxed);
    }
    void request() { flag_.store(true, std::memory_order_relaxed); }

  private:
    std::function<bool()> poll_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::atomic<bool> flag_{false};
    std::chrono::steady_clock::time_point next_{};
};

/// The budget of one call.
struct Stop {
    Index max_steps = std::numeric_limits<Index>::max();
    Interrupt* interrupt = nullptr;
};

}  // namespace hingeline
