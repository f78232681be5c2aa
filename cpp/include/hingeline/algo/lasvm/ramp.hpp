// The ramp loss R_s(z) = H_1(z) - H_s(z), H_a(z) = max(0, a - z), s < 1: the hinge loss that stops rising at z = s.
#pragma once

namespace hingeline {

/// Zone of a margin z = y f(x): the left flat part (a confident error), the ramp, or the right flat part.
enum class Zone : signed char { left, ramp, right };

struct Ramp {
    double s = -1.0;
    Zone zone(double z) const { return z < s ? Zone::left : z > 1.0 ? Zone::right : Zone::ramp; }
};

}  // namespace hingeline
