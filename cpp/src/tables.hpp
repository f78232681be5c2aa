// The tables that ops.cpp defines, one pair per instruction set of the build.
#pragma once

#include "hingeline/kernel/ops.hpp"

namespace hingeline {

namespace baseline {
extern const Ops<float> table_f32;
extern const Ops<double> table_f64;
}  // namespace baseline
#ifdef HINGELINE_X86
namespace avx2 {
extern const Ops<float> table_f32;
extern const Ops<double> table_f64;
}  // namespace avx2
namespace avx512 {
extern const Ops<float> table_f32;
extern const Ops<double> table_f64;
}  // namespace avx512
#endif

}  // namespace hingeline
