// LASVM-NC: LASVM-G on the ramp loss, which is not convex.
//
// Problem. min 1/2 |w|^2 + C sum R_s(y f(x)), R_s the ramp loss (ramp.hpp). The part -C H_s(z) is concave; at an
// example with z < s it is replaced by its tangent, which shifts the box of alpha by -C y: y alpha lies in [-C, 0], so
// the example can no longer pull the decision towards its label. This is one step of CCCP, taken once, when the example
// is first visited.
//
// The duality gap is that of the convex problem with the shifted boxes. With s = -infinity this is LASVM-G.
//
// Paper. Ertekin, Bottou, Giles 2011, section 5.
#pragma once

#include "hingeline/algo/lasvm/lasvm_g.hpp"

namespace hingeline::online {

struct RuleNC : RuleG {
    /// The hinge loss applies until there are enough support vectors for margins to be meaningful.
    static bool flags(const State& s, const Params& p, double z) {
        return z < p.s && s.n_support() > p.warm_support && !s.in_run(p);
    }
};

}  // namespace hingeline::online
