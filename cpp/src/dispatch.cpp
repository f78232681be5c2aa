// Picks the widest instruction set that both the build and the processor have.
#include <cstdlib>
#include <cstring>

#include "tables.hpp"

namespace hingeline {

namespace {

enum class Isa { baseline, avx2, avx512 };

/// HINGELINE_ISA in the environment may ask for a narrower set (tests, comparisons), never a wider one.
Isa choose() {
    Isa isa = Isa::baseline;
#ifdef HINGELINE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt"))
        isa = Isa::avx2;
    if (isa == Isa::avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        isa = Isa::avx512;
    if (const char* wish = std::getenv("HINGELINE_ISA")) {
        if (std::strcmp(wish, "baseline") == 0) isa = Isa::baseline;
        if (std::strcmp(wish, "avx2") == 0 && isa == Isa::avx512) isa = Isa::avx2;
    }
#endif
    return isa;
}

Isa isa() {
    static const Isa chosen = choose();
    return chosen;
}

}  // namespace

template <> const Ops<float>& ops<float>() {
#ifdef HINGELINE_X86
    if (isa() == Isa::avx512) return avx512::table_f32;
    if (isa() == Isa::avx2) return avx2::table_f32;
#endif
    return baseline::table_f32;
}
template <> const Ops<double>& ops<double>() {
#ifdef HINGELINE_X86
    if (isa() == Isa::avx512) return avx512::table_f64;
    if (isa() == Isa::avx2) return avx2::table_f64;
#endif
    return baseline::table_f64;
}

}  // namespace hingeline
