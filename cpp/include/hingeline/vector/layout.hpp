// Shapes and types that all tables of vector functions share.
//
// `src/` is compiled once for each instruction set (AVX-512, AVX2 with FMA, the baseline of the compiler). The
// accessors
// (`tile_ops<T>()`, `pass_ops<T>()`, `linear_ops<T>()`, ...) return the table of the widest set that the processor has;
// it is chosen once per process. A compiler without vector types builds the same source with one lane.
//
// These headers hold plain structs only: a standard library template that is instantiated in `src/` could be shared
// between instruction sets by the linker.
#pragma once

#include "hingeline/core/index.hpp"

namespace hingeline {

/// Instruction set in use: "avx512", "avx2" or "baseline".
const char* instruction_set();

/// Base rows in a tile: a multiple of the height of the register tile and of every lane count.
inline constexpr int tile_rows = 48;
/// Rows that the tile functions read and compute at a time: a multiple of the height of every register tile and of the
/// number of registers that are mapped together.
inline constexpr int row_step = 24;
/// Rows of a register tile.
inline constexpr int strip_rows = 6;
/// Values that `TileOps::to_line` reads at a time: a multiple of eight registers of every set.
inline constexpr Index line_step = 128;
/// Values that a pass reads at a time. Its arrays and kernel rows are padded with zeros up to the next multiple.
inline constexpr Index pass_step = 128;

/// n rounded up to a multiple of `pass_step`.
constexpr Index padded(Index n) { return (n + pass_step - 1) / pass_step * pass_step; }

/// One CSR row: `count` pairs (column, value), columns ascending.
template <class T, class I> struct SparseRow {
    const T* value;
    const I* column;
    Index count;
};

}  // namespace hingeline
