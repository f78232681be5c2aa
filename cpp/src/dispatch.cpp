// Chooses the widest instruction set that both the build and the processor have.
#include <cstdlib>
#include <cstring>

#include "tables.hpp"

namespace hingeline {

namespace {

#ifdef HINGELINE_X86
enum class Isa { baseline, avx2, avx512 };

/// HINGELINE_ISA in the environment may ask for a narrower set (tests, comparisons), never a wider one.
Isa choose() {
    Isa isa = Isa::baseline;
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
    return isa;
}
#endif

const Tables& find() {
#ifdef HINGELINE_X86
    const Isa isa = choose();
    if (isa == Isa::avx512) return avx512::tables;
    if (isa == Isa::avx2) return avx2::tables;
#endif
    return baseline::tables;
}

const Tables& tables() {
    static const Tables& chosen = find();
    return chosen;
}

}  // namespace

const char* instruction_set() { return tables().f32.name; }

template <> const TileOps<float>& tile_ops<float>() { return tables().f32.tiles; }
template <> const TileOps<double>& tile_ops<double>() { return tables().f64.tiles; }
template <> const PassOps<float>& pass_ops<float>() { return tables().f32.passes; }
template <> const PassOps<double>& pass_ops<double>() { return tables().f64.passes; }
template <> const LinearOps<float>& linear_ops<float>() { return tables().f32.linear; }
template <> const LinearOps<double>& linear_ops<double>() { return tables().f64.linear; }
const PackedOps& packed_ops() { return tables().packed; }
const MarginOps& margin_ops() { return tables().margins; }

}  // namespace hingeline
