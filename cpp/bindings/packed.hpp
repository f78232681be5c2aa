// Support vectors or landmarks, shared by the bindings of kernels and of linear machines.
#pragma once

#include "arrays.hpp"
#include "hingeline/model/packed.hpp"

namespace hingeline::bindings {

/// Packed support vectors, and the matrix that they refer to.
struct PyPacked {
    nb::object matrix;
    Packed packed;
    template <class F> static void each_kept(PyPacked& p, F&& f) { f(p.matrix); }
    PyPacked(const Kernel& kernel, nb::object support)
        : matrix(support), packed(kernel, nb::cast<const Matrix&>(support).rows) {}
};

}  // namespace hingeline::bindings
