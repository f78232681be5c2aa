// The Gram object as Python holds it: either precision behind one name.
#pragma once

#include "arrays.hpp"
#include "hingeline/kernel/gram.hpp"
#include "hingeline/run/trace.hpp"

namespace hingeline::bindings {

struct AnyGram {
    std::variant<std::unique_ptr<Gram<float>>, std::unique_ptr<Gram<double>>> gram;
    Index n = 0, d = 0;
    AnyGram(const Kernel& kernel, const Matrix& x, std::size_t copy_bytes) : n(x.n), d(x.d) {
        std::visit(
            [&](const auto& rows) {
                using T = typename std::decay_t<decltype(std::get<0>(rows))>;
                using V = std::remove_const_t<std::remove_pointer_t<decltype(T::data)>>;
                gram = std::make_unique<Gram<V>>(kernel, rows, copy_bytes);
            },
            x.rows);
    }
};

/// Kernel values from function(queries, base) -> float64 array of shape (len(queries), len(base)), called with Python's
/// lock; it must outlive the result, which may be copied without the lock.
inline Called<double>::Function called(const nb::callable& function) {
    return [&function](Ids queries, Ids base, double* const* columns) {
        nb::gil_scoped_acquire acquire;
        const auto listed = [](Ids ids) {
            std::vector<Index> list(static_cast<std::size_t>(ids.count));
            for (Index i = 0; i < ids.count; ++i) list[static_cast<std::size_t>(i)] = ids[i];
            return to_numpy(std::move(list));
        };
        const nb::object result = function(listed(queries), listed(base));
        Contiguous2<double> k;
        if (!nb::try_cast(result, k, false) || static_cast<Index>(k.shape(0)) != queries.count ||
            static_cast<Index>(k.shape(1)) != base.count)
            throw std::invalid_argument("the kernel function must return a float64 array, one row per query");
        for (Index q = 0; q < queries.count; ++q) std::copy_n(k.data() + q * base.count, base.count, columns[q]);
    };
}

/// The columns of a trace as arrays.
inline nb::dict history(const Trace& trace) {
    nb::dict d;
    for (const Trace::Column& c : trace.columns())
        if (c.whole)
            d[c.name.c_str()] = to_numpy(std::vector<std::int64_t>(c.values.begin(), c.values.end()));
        else
            d[c.name.c_str()] = to_numpy(c.values);
    return d;
}

}  // namespace hingeline::bindings
