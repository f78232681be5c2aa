// From Python objects to views and back. No arithmetic.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <concepts>
#include <mutex>

#include "hingeline/core/wipe.hpp"
#include "hingeline/model/ensemble.hpp"

namespace hingeline::bindings {

namespace nb = nanobind;

template <class T> using Array1 = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>;
template <class T> using Array2 = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Contiguous1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Contiguous2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T> using Writable2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// View of a NumPy array or CSR matrix, kept alive and checked once.
struct Matrix {
    AnyRows rows;
    Index n = 0, d = 0;
    std::vector<nb::object> keep;
    std::shared_ptr<void> sorted;  // copy in canonical format, if the matrix was not canonical
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

/// NumPy array that owns a moved vector and overwrites its memory when released, since it may hold rows.
template <class T, class A>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T, A> v, std::vector<std::size_t> shape = {}) {
    if (shape.empty()) shape = {v.size()};
    auto* owned = new std::vector<T, A>(std::move(v));
    nb::capsule owner(owned, [](void* p) noexcept {
        auto* gone = static_cast<std::vector<T, A>*>(p);
        wipe(gone->data(), gone->size() * sizeof(T));
        delete gone;
    });
    return nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner);
}

template <class T> std::vector<T> listed(const Contiguous1<T>& a) { return {a.data(), a.data() + a.size()}; }

/// Runs a call without the GIL and polls for Ctrl-C: the poll takes the GIL and handles signals. The exception of the
/// signal handler, or a KeyboardInterrupt raised by a kernel function, is rethrown after the work has stopped.
class Session {
  public:
    Session() : interrupt_([this] { return poll(); }), outer_(std::exchange(current_, this)) {}
    Session(const Session&) = delete;
    ~Session() { current_ = outer_; }
    template <class F> void run(F&& f) {
        {
            nb::gil_scoped_release release;
            try {
                f(&interrupt_);
            } catch (const Interrupted&) {
            }
        }
        if (error_) std::rethrow_exception(error_);
    }
    /// The session of this thread.
    static Session* current() { return current_; }
    /// A kernel function raised KeyboardInterrupt.
    void interrupt(std::exception_ptr error) {
        error_ = std::move(error);
        interrupt_.request();
    }

  private:
    bool poll() {
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() == 0) return false;
        try {
            nb::raise_python_error();
        } catch (const nb::python_error& error) {
            error_ = std::current_exception();
            if (!error.matches(PyExc_KeyboardInterrupt)) interrupt_.fail();
        }
        return true;
    }
    static inline thread_local Session* current_ = nullptr;
    Interrupt interrupt_;
    std::exception_ptr error_;
    Session* outer_;
};

/// A model with its lock: one call at a time, other threads wait without the GIL. A kernel function may read the model
/// that it is called for, but not change it.
template <class M> class Locked {
  public:
    template <class... Args>
        requires std::constructible_from<M, Args...>
    explicit Locked(Args&&... args) : model(std::forward<Args>(args)...) {}
    Locked(const Locked&) = delete;
    M model;

    template <class F> decltype(auto) read(F&& f) {
        const auto lock = hold();
        return f(model);
    }
    /// Set options of the next call.
    template <class F> void configure(F&& f) {
        const auto lock = hold();
        require_idle();
        f(model);
    }
    /// f(model, interrupt) without the GIL.
    template <class F> void change(F&& f) {
        const auto lock = hold();
        require_idle();
        running_ = true;
        struct Rest {
            Locked& self;
            ~Rest() { self.running_ = false, ++self.version_; }
        } rest{*this};
        Session().run([&](Interrupt* interrupt) { f(model, interrupt); });
    }

    /// Number of changes so far: what was read from the model at one version is true of it.
    Index version() const { return version_; }

  private:
    void require_idle() const {
        if (running_) throw std::runtime_error("a kernel function must not change the model that it is called for");
    }
    std::unique_lock<std::recursive_mutex> hold() {
        nb::gil_scoped_release release;
        return std::unique_lock(busy_);
    }
    std::recursive_mutex busy_;
    bool running_ = false;
    std::atomic<Index> version_{0};
};

/// Enumerator for a string.
template <class T> T choice(const std::string& word, std::initializer_list<std::pair<const char*, T>> table) {
    for (const auto& [name, value] : table)
        if (word == name) return value;
    throw std::invalid_argument("unknown option: " + word);
}

/// Rows as an array, or as the arrays (values, columns, starts) of a CSR matrix.
template <class T> nb::object taken(const Store<T>& store, Ids ids) {
    Store<T> out(store.columns(), store.sparse());
    out.append(store.view(), ids);
    return std::visit(
        [&](const auto& x) -> nb::object {
            if constexpr (std::is_same_v<std::decay_t<decltype(x)>, DenseRows<T>>) {
                return nb::cast(to_numpy(std::vector<T>(x.data, x.data + x.n * x.d),
                                         {static_cast<std::size_t>(x.n), static_cast<std::size_t>(x.d)}));
            } else {
                using I = std::decay_t<decltype(*x.starts)>;
                const auto stored = x.starts[x.n];
                return nb::make_tuple(to_numpy(std::vector<T>(x.values, x.values + stored)),
                                      to_numpy(std::vector<I>(x.columns, x.columns + stored)),
                                      to_numpy(std::vector<I>(x.starts, x.starts + x.n + 1)));
            }
        },
        out.view());
}

/// Named values as a dictionary of numbers, strings, arrays and dictionaries.
nb::dict to_dict(Record record);
Record from_dict(const nb::dict& dict);

/// Source of kernel values, with the Python objects behind it.
struct PySource {
    nb::object keep;
    nb::callable function;
    Source source;
    /// From a Kernel, a Matrix of kernel values, or a function.
    explicit PySource(nb::object from);
    PySource(const PySource&) = delete;
};

/// Kernel values between the rows of a matrix, with the objects behind them.
struct PyValues {
    nb::object source, matrix;
    Values values;
    PyValues(nb::object s, nb::object x, std::size_t copy_bytes)
        : source(s),
          matrix(x),
          values(nb::cast<const PySource&>(s).source, nb::cast<const Matrix&>(x).rows, copy_bytes) {}
};

/// Examples as Python gives them: rows of x, their numbers, classes and boxes, and the labels that become known.
struct PyChunk {
    const Matrix* x;
    Contiguous1<std::int64_t> rows, id, code;
    Contiguous1<double> box;
    std::vector<std::pair<Index, Index>> arrivals;
    /// Checked against `known` labels and those that arrive.
    Chunk checked(Index known) const;
};

void bind_kernel(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_svc(nb::module_& m);
void bind_online(nb::module_& m);
void bind_incremental(nb::module_& m);
void bind_finite_newton(nb::module_& m);

}  // namespace hingeline::bindings
