// From Python objects to views and back. No arithmetic.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "hingeline/data/rows.hpp"
#include "hingeline/core/wipe.hpp"
#include "hingeline/run/stop.hpp"

namespace hingeline::bindings {

namespace nb = nanobind;

template <class T> using Array1 = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>;
template <class T> using Array2 = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Contiguous1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Contiguous2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T> using Writable2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using AnyRows = std::variant<Rows<float>, Rows<double>>;

/// A matrix of Python's, dense or CSR, kept alive and checked once.
struct Matrix {
    AnyRows rows;
    Index n = 0, d = 0;
    std::vector<nb::object> keep;
    std::shared_ptr<void> sorted;  // the canonical copy where one was needed
    explicit Matrix(nb::object x);
    template <class T, class I, template <class...> class Array> explicit Matrix(OwnedCsr<T, I, Array> owned) {
        auto kept = std::make_shared<OwnedCsr<T, I, Array>>(std::move(owned));
        rows = Rows<T>(kept->view());
        n = row_count(std::get<Rows<T>>(rows));
        d = kept->d;
        sorted = kept;
    }
};

inline Ids ids(const Contiguous1<std::int64_t>& a, Index bound) {
    for (std::size_t i = 0; i < a.shape(0); ++i)
        if (a.data()[i] < 0 || a.data()[i] >= bound) throw std::invalid_argument("row number out of range");
    return {a.data(), 0, static_cast<Index>(a.shape(0))};
}

/// A NumPy array that owns a moved vector, and overwrites it in the end: it may hold rows.
template <class T> nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> v, std::vector<std::size_t> shape = {}) {
    if (shape.empty()) shape = {v.size()};
    auto* owned = new std::vector<T>(std::move(v));
    nb::capsule owner(owned, [](void* p) noexcept {
        auto* gone = static_cast<std::vector<T>*>(p);
        wipe(gone->data(), gone->size() * sizeof(T));
        delete gone;
    });
    return nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner);
}

/// Runs a call without Python's lock and lets Ctrl-C in: the poll takes the lock, asks for signals, and the
/// exception of the signal handler leaves after the work has come to rest.
class Session {
  public:
    Session() : interrupt_([this] { return poll(); }) {}
    template <class F> void run(F&& f) {
        {
            nb::gil_scoped_release release;
            f(&interrupt_);
        }
        if (error_) std::rethrow_exception(error_);
    }

  private:
    bool poll() {
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() == 0) return false;
        try {
            nb::raise_python_error();
        } catch (...) {
            error_ = std::current_exception();
        }
        return true;
    }
    Interrupt interrupt_;
    std::exception_ptr error_;
};

void bind_expansion(nb::module_& m);
void bind_ollawv(nb::module_& m);
void bind_nnisda(nb::module_& m);
void bind_min_norm(nb::module_& m);
void bind_lasvm(nb::module_& m);
void bind_kernel_sgd(nb::module_& m);
void bind_incremental(nb::module_& m);
void bind_finite_newton(nb::module_& m);

}  // namespace hingeline::bindings
