// What a learner writes down as it goes: columns of numbers, one row per moment. It never prints.
#pragma once

#include <chrono>
#include <vector>

#include "hingeline/kernel/ops.hpp"

namespace hingeline {

class Trace {
  public:
    void add(Index step_now, Index support, double violation_now, Index evaluations) {
        step.push_back(step_now);
        seconds.push_back(elapsed());
        n_support.push_back(support);
        violation.push_back(violation_now);
        kernel_evals.push_back(evaluations);
    }
    /// The clock runs only between start and pause.
    void start() { started_ = Clock::now(); }
    void pause() { before_ += std::chrono::duration<double>(Clock::now() - started_).count(); }

    std::vector<Index> step, n_support, kernel_evals;
    std::vector<double> seconds, violation;

  private:
    using Clock = std::chrono::steady_clock;
    double elapsed() const { return before_ + std::chrono::duration<double>(Clock::now() - started_).count(); }
    Clock::time_point started_{};
    double before_ = 0;
};

}  // namespace hingeline
