// LASVM-I: LASVM-G that learns only from examples on the ramp, s <= y f(x) <= 1, and ignores the others.
//
// Paper. Ertekin, Bottou, Giles 2011, section 6.
//
// Where we differ. At the start f = 0, so with s > 0 every example would be ignored forever, and with s < 0 perhaps
// nearly all of one label after some steps on the other. Nothing is ignored until both labels occur among the support
// vectors and there are more than `warm_support` of them.
#pragma once

#include "hingeline/algo/lasvm/lasvm_g.hpp"

namespace hingeline::online {

struct RuleI : RuleG {
    static bool skips(const State& s, const Params& p, double z) {
        const bool warm = s.support[0] > 0 && s.support[1] > 0 && s.n_support() > p.warm_support;
        return warm && !s.in_run(p) && Ramp{p.s}.zone(z) != Zone::ramp;
    }
};

}  // namespace hingeline::online
