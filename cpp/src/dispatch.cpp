// Chooses the widest instruction set that both the build and the processor have.
#include <cstdlib>
#include <cstring>

#include "tables.hpp"

namespace hingeline {

namespace {

#ifdef HINGELINE_X86
enum class Isa { baseline, avx2, avx512 };

/// HINGELINE_ISA in the environment may ask for a narrower set (tests, comparisons), never a wider one. "avx512" asks
/// for AVX-512 without its integer products.
bool is_requested(const char* name) {
    const char* wish = std::getenv("HINGELINE_ISA");
    return wish && std::strcmp(wish, name) == 0;
}

Isa choose() {
    Isa isa = Isa::baseline;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt"))
        isa = Isa::avx2;
    if (isa == Isa::avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        isa = Isa::avx512;
    if (is_requested("baseline")) isa = Isa::baseline;
    if (is_requested("avx2") && isa == Isa::avx512) isa = Isa::avx2;
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

/// Integer products have an instruction that not every processor with AVX-512 has.
const ByteTables& byte_tables() {
#ifdef HINGELINE_X86
    static const bool vnni = choose() == Isa::avx512 && __builtin_cpu_supports("avx512vnni") && !is_requested("avx512");
    if (vnni) return avx512vnni::byte_tables;
#endif
    return tables().bytes;
}

}  // namespace

const char* instruction_set() { return tables().f32.name; }

template <> const TileOps<float>& tile_ops<float>() { return tables().f32.tiles; }
template <> const TileOps<double>& tile_ops<double>() { return tables().f64.tiles; }
template <> const PassOps<float>& pass_ops<float>() { return tables().f32.passes; }
template <> const PassOps<double>& pass_ops<double>() { return tables().f64.passes; }
template <> const LinearOps<float>& linear_ops<float>() { return tables().f32.linear; }
template <> const LinearOps<double>& linear_ops<double>() { return tables().f64.linear; }
template <> const ByteOps<float>& byte_ops<float>() { return byte_tables().f32; }
template <> const ByteOps<double>& byte_ops<double>() { return byte_tables().f64; }
const CoarseOps& coarse_ops() { return tables().coarse; }
template <> const JointOps<float>& joint_ops<float>() { return tables().joint; }
template <> const JointOps<Coarse>& joint_ops<Coarse>() { return tables().coarse_joint; }
const PackedOps& packed_ops() { return tables().packed; }
const MarginOps& margin_ops() { return tables().margins; }

}  // namespace hingeline
