// When to stop: a budget of steps and a request from outside (Ctrl-C); why an algorithm returned.
#pragma once

#include <limits>

#include "hingeline/core/index.hpp"
#include "hingeline/core/interrupt.hpp"

namespace hingeline {

/// Why an algorithm returned.
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
    indefinite,
    unbounded
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
        case Reason::unbounded:
            return "unbounded";
    }
    return "unknown";
}

/// The budget of one call.
struct Stop {
    Index max_steps = std::numeric_limits<Index>::max();
    Interrupt* interrupt = nullptr;
};

}  // namespace hingeline
