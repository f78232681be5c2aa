// StepTeam: how many threads make the steps of a working set together, by the measured time of steps. A step takes a
// few microseconds and two meetings; whether more threads pay depends on the size of the working set, on how fast the
// cores of a machine exchange cache lines, and on whether there are idle cores.
#pragma once

#include <algorithm>

#include "hingeline/core/index.hpp"

namespace hingeline::engine {

class StepTeam {
  public:
    /// A new working set, with room for `most` threads.
    void begin(int most) {
        top_ = 0;
        while ((2 << top_) <= most) ++top_;
        level_ = std::min(level_, top_);
        trial_ = 0, wait_ = std::min(wait_, soon), fresh_ = true;
    }
    /// Always so many threads, in tests; 0: by time.
    void fix(int size) { fixed_ = size; }
    /// Whether steps may have more than one thread.
    bool varies() const { return fixed_ > 0 ? fixed_ > 1 : top_ > 0; }
    /// Threads of the next run of steps.
    int size() const { return fixed_ > 0 ? fixed_ : 1 << (level_ + trial_); }
    /// The last run took so long; `late`: a thread had no core for a while.
    void note(Index steps, double seconds, bool late) {
        const double rate = seconds / static_cast<double>(std::max<Index>(steps, 1));
        lateness_ = late ? 0.75 * lateness_ + 0.25 * std::max(0.0, 1 - rate_ / rate) : 0.9 * lateness_;
        if (lateness_ > 0.45) return rest();  // most of three runs was lost; a single time is no reason
        if (late || steps < fewest_steps) return;
        if (level_ > 0 && ++good_ >= recovered) good_ = 0, pause_ = usual;
        constexpr double clear = 0.97;  // of the time: smaller gains are noise
        if (fresh_) {                   // threads have fetched their parts of the working set
            fresh_ = false;
        } else if (trial_ == 0) {
            rate_ = rate;
            if (--wait_ <= 0) try_next();
        } else if (rate < clear * rate_) {
            level_ += trial_, rate_ = rate, trial_ = 0;
            try_next();
        } else {
            trial_ = 0, direction_ = -direction_, wait_ = usual, fresh_ = true;
        }
    }

  private:
    static constexpr Index fewest_steps = 64;                                   // for a measurement
    static constexpr int soon = 8, usual = 24, recovered = 64, longest = 4096;  // runs of steps

    /// The system has other work for the cores: steps alone for a while, longer each time.
    void rest() {
        level_ = trial_ = 0, direction_ = 1, good_ = 0, lateness_ = 0.25;
        wait_ = pause_, pause_ = std::min(2 * pause_, longest);
    }
    void try_next() {
        const auto inside = [&](int level) { return level >= 0 && level <= top_; };
        if (!inside(level_ + direction_)) direction_ = -direction_;
        if (inside(level_ + direction_)) trial_ = direction_, fresh_ = true;
        wait_ = usual;
    }

    int fixed_ = 0;
    int top_ = 0;                // powers of two: the largest,
    int level_ = 2, trial_ = 0;  // the best so far, and the difference that is tried
    int direction_ = 1;          // of the next trial
    int wait_ = 1;               // runs until then
    int pause_ = usual;          // runs alone after the next delay
    int good_ = 0;               // runs together without one
    bool fresh_ = true;          // the next run is the first of its threads
    double lateness_ = 0;        // part of the last runs that was lost by waiting
    double rate_ = 0;            // seconds of a step
};

}  // namespace hingeline::engine
