// Tables of vector functions of every instruction set that this processor has.
#pragma once

#include <limits>
#include <type_traits>
#include <vector>

#include "../src/tables.hpp"

namespace hingeline::testing {

/// The sets that this processor has, the baseline first.
inline std::vector<const Tables*> instruction_sets() {
    std::vector<const Tables*> out{&baseline::tables};
#ifdef HINGELINE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) out.push_back(&avx2::tables);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        out.push_back(&avx512::tables);
#endif
    return out;
}

template <class T> std::vector<const TypedTables<T>*> tables() {
    std::vector<const TypedTables<T>*> out;
    for (const Tables* set : instruction_sets()) {
        if constexpr (std::is_same_v<T, float>)
            out.push_back(&set->f32);
        else
            out.push_back(&set->f64);
    }
    return out;
}

/// f(table) for all sets and both precisions.
template <class F> void each_table(F&& f) {
    for (const auto* op : tables<float>()) f(*op);
    for (const auto* op : tables<double>()) f(*op);
}
template <class Table> struct ValueOf;
template <class T> struct ValueOf<TypedTables<T>> {
    using type = T;
};
template <class Table> using Value = typename ValueOf<std::decay_t<Table>>::type;

template <class T> constexpr T epsilon = std::numeric_limits<T>::epsilon();

}  // namespace hingeline::testing
