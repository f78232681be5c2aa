// Tables of vector functions of one instruction set (include/hingeline/vector/).
//
// Compiled once per instruction set with HINGELINE_ISA (a namespace) and HINGELINE_VECTOR_BYTES set. Nothing here may
// emit a function that another translation unit could share: the linker would be free to keep the copy built for the
// widest set. So there are no standard library templates, everything is in the namespace of the set, and everything
// except the tables has internal linkage.
#include "tables.hpp"

#include "algebra.hpp"
#include "bytes.hpp"
#include "linear.hpp"
#include "passes.hpp"
#include "tiles.hpp"

namespace hingeline::HINGELINE_ISA {
namespace {

template <class T> constexpr TypedTables<T> typed_tables() {
    return {HL_STRING(HINGELINE_ISA),
            {lanes<T>, max_vectors, dense<T>, sparse<T, std::int32_t>, sparse<T, std::int64_t>,
             sparse_one<T, std::int32_t>, sparse_one<T, std::int64_t>, bits_one<T>, norms<T>, pack<T>, to_rows<T>,
             to_columns<T>, to_line<T>, accumulate<T>},
            {add_and_least<T>, add_and_peaks<T>, best_partner<T>, ascend<T>, ascend_both<T>, ascend_pair<T>, rise<T, T>,
             partner<T>, glance<T>, combine<T>, combine_and_inner<T>, inner<T>},
            {line_dots<T>, sparse_line_dots<T, std::int32_t>, sparse_line_dots<T, std::int64_t>, line_add<T>,
             sparse_line_add<T, std::int32_t>, sparse_line_add<T, std::int64_t>, sparse_pairs<T, std::int32_t>,
             sparse_pairs<T, std::int64_t>, sparse_tile_dots<T, std::int32_t>, sparse_tile_dots<T, std::int64_t>,
             tile_add, sparse_tile_add<T, std::int32_t>, sparse_tile_add<T, std::int64_t>}};
}

}  // namespace

extern const Tables tables;
const Tables tables = {typed_tables<float>(),
                       typed_tables<double>(),
                       {coarsen, rise<float, Coarse>, coarse_partner, turn},
                       {joint_move<float>, joint_partner<float>},
                       {joint_move<Coarse>, joint_partner<Coarse>},
                       {packed_multiply, packed_update},
                       {margins, weights, violation, slope, shift},
                       {byte_table<float>(), byte_table<double>()}};

}  // namespace hingeline::HINGELINE_ISA
