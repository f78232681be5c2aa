// Guarded: a model with its lock. Calls on one model are atomic: each sees the state between two other calls.
#pragma once

#include <concepts>
#include <utility>

#include "hingeline/core/index.hpp"
#include "hingeline/run/exclusive.hpp"

namespace hingeline {

/// An object of type Wait lives while a thread waits for the lock. A kernel function may read the model that it is
/// called for, but not change it.
template <class M, class Wait> class Guarded {
  public:
    template <class... Args>
        requires std::constructible_from<M, Args...>
    explicit Guarded(Args&&... args) : model_(std::forward<Args>(args)...) {}
    Guarded(const Guarded&) = delete;

    /// f(model), which changes nothing.
    template <class F> decltype(auto) read(F&& f) {
        const Hold hold(lock_);
        return f(model_);
    }
    /// f(model), which sets options of the next call.
    template <class F> void configure(F&& f) {
        const Hold hold(lock_);
        require_idle();
        f(model_);
    }
    /// f(model), which changes the model; its result.
    template <class F> auto change(F&& f) {
        const Hold hold(lock_);
        require_idle();
        struct Change {
            Guarded& self;
            explicit Change(Guarded& of) : self(of) { self.lock_.begin_change(); }
            Change(const Change&) = delete;
            ~Change() {
                ++self.version_;
                self.lock_.end_change();
            }
        };
        const Change now(*this);
        return f(model_);
    }
    /// Number of changes so far. What was read from the model at one version is true of it.
    Index version() const { return version_; }

  private:
    struct Hold {
        Exclusive& lock;
        explicit Hold(Exclusive& of) : lock(of) {
            if (lock.try_take()) return;
            const Wait wait;
            lock.take();
        }
        Hold(const Hold&) = delete;
        ~Hold() { lock.release(); }
    };
    void require_idle() const {
        if (lock_.changing())
            throw std::runtime_error("a kernel function must not change the model that it is called for");
    }
    M model_;
    Exclusive lock_;
    std::atomic<Index> version_{0};
};

}  // namespace hingeline
