// FULL SVM: LASVM-G that never cleans. Every example stays in the expansion, so `finish` reaches the optimum of the
// whole problem (no intercept).
//
// Paper. Ertekin, Bottou, Giles 2011, section 7.
#pragma once

#include "hingeline/algo/lasvm/lasvm_g.hpp"

namespace hingeline::online {

struct RuleFull : RuleG {
    static constexpr bool cleans = false;
};

}  // namespace hingeline::online
