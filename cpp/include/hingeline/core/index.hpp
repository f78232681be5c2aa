// Index: the signed type of sizes, positions and row numbers.
#pragma once

#include <cstdint>

namespace hingeline {

using Index = std::int64_t;

}  // namespace hingeline
