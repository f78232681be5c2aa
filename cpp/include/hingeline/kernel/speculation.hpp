// Speculation: how many kernel columns to compute ahead of need.
#pragma once

#include <algorithm>

#include "hingeline/core/index.hpp"

namespace hingeline {

/// If the order of violators is stable, most columns of a large block are used; if every step changes it (wide kernels,
/// noisy labels), few are. The block size doubles if at least half of the last block was used and falls to the minimum
/// if less than a quarter was. If the minimum is a single column, a block is tried again after longer and longer waits.
class Speculation {
  public:
    template <class Source> Speculation(const Source& source, Index t)
        : least_(source.grain()),
          most_(source.blocks_pay() ? source.block() : source.grain()),
          size_(least_),
          since_(t) {}

    /// Number of columns to compute at step t, whose column is missing.
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
