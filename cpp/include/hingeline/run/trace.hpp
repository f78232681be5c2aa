// Trace: what an algorithm records while it runs, as columns of numbers, one row per record. It never prints.
#pragma once

#include <chrono>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "hingeline/core/array.hpp"

namespace hingeline {

class Trace {
  public:
    struct Column {
        std::string name;
        bool whole;  // holds integers
        Array<double> values{};
    };
    /// Columns in the order of the values that `add` takes; a column named "seconds" is filled by the clock.
    Trace(std::initializer_list<Column> columns) : columns_(columns) {}

    const Array<Column>& columns() const { return columns_; }
    Array<Column>& columns() { return columns_; }
    const Array<double>& column(const std::string& name) const {
        for (const Column& c : columns_)
            if (c.name == name) return c.values;
        throw std::out_of_range("no such column: " + name);
    }
    Index size() const { return columns_.front().values.size(); }

    void add(std::initializer_list<double> values) {
        auto value = values.begin();
        for (Column& c : columns_) c.values.push_back(c.name == "seconds" ? elapsed() : *value++);
    }
    /// Keep every second row, the later of each pair.
    void thin() {
        for (Column& c : columns_) {
            Index kept = 0;
            for (Index i = 1; i < c.values.size(); i += 2) c.values[kept++] = c.values[i];
            c.values.resize(kept);
        }
    }
    /// The clock runs only between start and pause.
    void start() { started_ = Clock::now(); }
    void pause() { before_ += std::chrono::duration<double>(Clock::now() - started_).count(); }
    /// The clock runs while this lives.
    struct Running {
        explicit Running(Trace& trace) : trace(trace) { trace.start(); }
        Running(const Running&) = delete;
        ~Running() { trace.pause(); }
        Trace& trace;
    };
    double paused_at() const { return before_; }
    void resume_from(double seconds) { before_ = seconds; }

  private:
    using Clock = std::chrono::steady_clock;
    double elapsed() const { return before_ + std::chrono::duration<double>(Clock::now() - started_).count(); }
    Array<Column> columns_;
    Clock::time_point started_{};
    double before_ = 0;
};

}  // namespace hingeline
