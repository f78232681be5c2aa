// How many kernel columns to compute ahead of need.
#pragma once

#include <algorithm>

#include "hingeline/core/index.hpp"

namespace hingeline {

/// How many columns to compute together. Where the order of violators is stable most of a large block is
/// used; where every step upsets it (wide kernels, noisy labels) hardly any is. A block doubles when at
/// least half of the last one served and shrinks to the least when less than a quarter did; where the least
/// is a single column, a block is tried again after longer and longer waits.
class Speculation {
  public:
    template <class Source> Speculation(const Source& source, Index t)
        : least_(source.grain()),
          most_(source.blocks_pay() ? source.block() : source.grain()),
          size_(least_),
          since_(t) {}

    /// Called at a step whose column is missing.
    Index next(Index t) {
        const Index served = t - since_;
        since_ = t;
        if (size_ == 1) {
            if (most_ > 1 && ++misses_ >= wait_) misses_ = 0, size_ = std::min<Index>(most_, trial);
        } else if (served * 4 < size_) {
            if (size_ > least_ && least_ == 1) wait_ = std::min<Index>(2 * wait_, 1024);
            size_ = least_;
        } else if (served * 2 >= size_) {
            size_ = std::min(most_, 2 * size_);
        }
        return size_;
    }

  private:
    static constexpr Index trial = 16;  // enough columns to fill the lanes of one register
    const Index least_, most_;
    Index size_, since_, misses_ = 0, wait_ = 8;
};

}  // namespace hingeline
