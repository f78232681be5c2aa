// Interrupt: a request from outside (Ctrl-C) to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

namespace hingeline {

/// Any thread may ask `requested`. Only the thread that made the object calls the poll, at most every 20 ms, so that
/// acquiring the GIL in the poll costs nothing.
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
    /// Ask for a stop without the poll.
    void request() { flag_.store(true, std::memory_order_relaxed); }
    /// The poll raised an error of its own: what the call has done is to be undone, not kept as after Ctrl-C.
    void fail() { failed_.store(true, std::memory_order_relaxed); }
    bool failed() const { return failed_.load(std::memory_order_relaxed); }

  private:
    std::function<bool()> poll_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::atomic<bool> flag_{false}, failed_{false};
    std::chrono::steady_clock::time_point next_{};
};

/// Thrown where a stop was asked for in the middle of a computation, such as in a kernel function.
struct Interrupted : std::exception {};

}  // namespace hingeline
