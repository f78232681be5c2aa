// Runs of one label in a stream, and a sample of the label that is missing meanwhile.
//
// While examples of one label come, nothing contests those of the other: they have coefficient 0 or get there, and
// CLEAN removes them. A stream sorted by class would end with the last class only. So while a label is *missing* a
// cleaning keeps a uniform sample of the examples without coefficient, for each label those with the smallest hash of
// the id; and as soon as the other label comes, the bounds of the sample are raised so that it stands for the examples
// removed. The ramp loss does not apply meanwhile: margins in a run say nothing about outliers.
//
// A label is missing after a run of the other one whose probability in random order would be at most e^-20.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hingeline/core/index.hpp"

namespace hingeline::online {

/// -log of the probability of a run in random order from which on a label is missing.
inline constexpr double run_surprise = 20;
/// A sample has so many times the number of examples that an ordinary cleaning keeps.
inline constexpr Index sample_factor = 10;

/// Labels (0: -1, 1: +1) of the examples visited.
struct Runs {
    Index seen[2] = {0, 0};      // examples of each label
    Index last[2] = {0, 0};      // examples visited up to the last one of each label
    double removed[2] = {0, 0};  // bounds of the examples that the sample stands for, not yet added to its own
    Index missing_at = -1;       // examples visited when a label was last missing

    /// An example of label `side` is visited, after `visited` others.
    void see(bool side, Index visited) {
        ++seen[side];
        last[side] = visited + 1;
        const Index absent = visited + 1 - last[!side];
        // Without any example of the other label it is taken to have a share of all, so that a run of 20 counts.
        const double share =
            last[!side] == 0 ? 1.0 : static_cast<double>(seen[!side]) / static_cast<double>(last[!side]);
        if (share * static_cast<double>(absent) >= run_surprise) missing_at = visited + 1;
    }
    /// Whether a label was missing during the last `period` examples, the one at hand included.
    bool missing(Index period) const { return missing_at >= 0 && std::max(last[0], last[1]) - missing_at <= period; }
};

/// Order of the examples in a sample: splitmix64 of the id, so that a sample does not depend on chunks.
inline std::uint64_t sample_order(Index id) {
    auto z = static_cast<std::uint64_t>(id) + 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

}  // namespace hingeline::online
