// Chooses the widest instruction set that both the build and the processor have.
#include <cstdlib>
#include <cstring>

#include "tables.hpp"

#ifdef HINGELINE_X86
#include <cpuid.h>
#endif

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

/// What the processor has and the system saves when it changes threads. Not __builtin_cpu_supports: its table is in the
/// run-time library of the compiler, which the linkers of clang-cl and zig do not add.
struct Features {
    bool avx2 = false, avx512 = false, vnni = false;

    Features() {
        unsigned a = 0, b = 0, c = 0, d = 0;
        constexpr unsigned fma = 1u << 12, popcnt = 1u << 23, xgetbv = 1u << 27;
        if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, fma | popcnt | xgetbv)) return;
        unsigned saved = 0, high = 0;  // registers that the system saves
        __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
        constexpr unsigned xmm_ymm = 0x6, masks_zmm = 0xe0;
        if (!has(saved, xmm_ymm) || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
        avx2 = has(b, 1u << 5);
#ifdef __APPLE__  // macOS saves these registers from their first use in a thread on, and does not tell before
        saved |= masks_zmm;
#endif
        constexpr unsigned f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31;
        avx512 = avx2 && has(saved, masks_zmm) && has(b, f | dq | bw | vl);
        vnni = avx512 && has(c, 1u << 11);
    }

  private:
    static bool has(unsigned word, unsigned bits) { return (word & bits) == bits; }
};

Isa choose() {
    const Features features;
    Isa isa = features.avx512 ? Isa::avx512 : features.avx2 ? Isa::avx2 : Isa::baseline;
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
    static const bool vnni = choose() == Isa::avx512 && Features().vnni && !is_requested("avx512");
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
