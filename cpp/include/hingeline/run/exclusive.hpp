// Exclusive: the lock of one model. One thread holds it at a time, and may take it again.
//
// A child of fork() has only the thread that called fork(). A lock that another thread held at that moment would stay
// taken for ever. Therefore the holder is stored with its process: a child takes over the lock of a thread that was
// reading, and refuses to use what a thread was changing.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace hingeline {

/// The model was being changed by another thread when the process was forked.
struct Forked : std::runtime_error {
    Forked()
        : std::runtime_error(
              "the process was forked while another thread was changing this model, which is incomplete here. Fork "
              "when no call is running, or start processes with 'spawn' or 'forkserver'") {}
};

class Exclusive {
  public:
    /// Whether this thread holds the lock now; it does not wait.
    bool try_take() {
        const std::uint64_t me = thread();
        std::uint64_t holder = 0;
        if (holder_.compare_exchange_strong(holder, me)) return depth_ = 1, true;
        const bool of_this_process = holder >> 32 == me >> 32;
        if (static_cast<std::uint32_t>(holder) == static_cast<std::uint32_t>(me)) {
            if (!of_this_process) holder_.store(me);  // this thread called fork()
            return ++depth_, true;
        }
        if (of_this_process) return false;
        if (changing_.load()) throw Forked();
        return holder_.compare_exchange_strong(holder, me) && (depth_ = 1, true);
    }
    void take() {
        while (!try_take())
            if (const std::uint64_t holder = holder_.load()) holder_.wait(holder);
    }
    void release() {
        if (--depth_ > 0) return;
        holder_.store(0);
        holder_.notify_one();
    }

    /// Mark what the lock protects as incomplete. Only the holder calls these three.
    void begin_change() { changing_.store(true); }
    void end_change() { changing_.store(false); }
    bool changing() const { return changing_.load(); }

  private:
    /// Number of the process and of the thread; not 0.
    static std::uint64_t thread() {
        static std::atomic<std::uint32_t> count{0};
        static thread_local const std::uint32_t mine = ++count;
#if defined(__unix__) || defined(__APPLE__)
        const auto process = static_cast<std::uint64_t>(getpid());
#else
        const std::uint64_t process = 1;  // no fork()
#endif
        return process << 32 | mine;
    }
    std::atomic<std::uint64_t> holder_{0};
    std::atomic<bool> changing_{false};
    int depth_ = 0;
};

}  // namespace hingeline
