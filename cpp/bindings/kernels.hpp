// The Gram object as Python holds it: either precision behind one name.
#pragma once

#include "arrays.hpp"
#include "hingeline/kernel/gram.hpp"

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

}  // namespace hingeline::bindings
