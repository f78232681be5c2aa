// Example: one example of a two-class problem, as the online algorithms receive it.
#pragma once

#include "hingeline/core/index.hpp"

namespace hingeline::online {

struct Example {
    Index row = 0;   // row number in the source of kernel values
    Index id = 0;    // number given by the caller
    Index code = 0;  // class number given by the caller
    double box = 0;  // C_i y_i
    double y() const { return box > 0 ? 1.0 : -1.0; }
};

}  // namespace hingeline::online
