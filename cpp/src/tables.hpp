// The tables that tables.cpp defines, one set per instruction set of the build.
#pragma once

#include "hingeline/vector/bytes.hpp"
#include "hingeline/vector/linear.hpp"
#include "hingeline/vector/passes.hpp"
#include "hingeline/vector/tiles.hpp"

namespace hingeline {

template <class T> struct TypedTables {
    const char* name;  // of the instruction set
    TileOps<T> tiles;
    PassOps<T> passes;
    LinearOps<T> linear;
};

struct ByteTables {
    ByteOps<float> f32;
    ByteOps<double> f64;
};

struct Tables {
    TypedTables<float> f32;
    TypedTables<double> f64;
    CoarseOps coarse;
    JointOps<float> joint;
    JointOps<Coarse> coarse_joint;
    PackedOps packed;
    MarginOps margins;
    ByteTables bytes;
};

namespace baseline {
extern const Tables tables;
}
#ifdef HINGELINE_X86
namespace avx2 {
extern const Tables tables;
}
namespace avx512 {
extern const Tables tables;
}
namespace avx512vnni {
extern const ByteTables byte_tables;
}
#endif

}  // namespace hingeline
