// From Python objects to views and back. No arithmetic.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "hingeline/core/wipe.hpp"
#include "hingeline/model/ensemble.hpp"
#include "hingeline/model/guarded.hpp"

namespace hingeline::bindings {

namespace nb = nanobind;

template <class T> using Array1 = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>;
template <class T> using Array2 = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Contiguous1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Contiguous2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = Contiguous1<std::int64_t>;
template <class T> using Writable2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Slots of a class that keeps Python objects, for Python's garbage collector. T::each_kept(self, f) calls f(object)
/// for each object.
template <class T> struct Collected {
    static int traverse(PyObject* self, visitproc visit, void* arg) {
        Py_VISIT(Py_TYPE(self));
        if (!nb::inst_ready(self)) return 0;
        int result = 0;
        T::each_kept(*nb::inst_ptr<T>(self), [&](nb::object& o) {
            if (result == 0 && o.is_valid()) result = visit(o.ptr(), arg);
        });
        return result;
    }
    static int clear(PyObject* self) {
        if (nb::inst_ready(self)) T::each_kept(*nb::inst_ptr<T>(self), [](nb::object& o) { o.reset(); });
        return 0;
    }
    static inline PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                                         {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                                         {0, nullptr}};
};

/// View of a NumPy array or CSR matrix, kept alive and checked once.
struct Matrix {
    AnyRows rows;
    Index n = 0, d = 0;
    std::vector<nb::object> keep;
    std::shared_ptr<void> sorted;  // copy in canonical format, if the matrix was not canonical
    explicit Matrix(nb::object x);
    template <class F> static void each_kept(Matrix& m, F&& f) {
        for (nb::object& o : m.keep) f(o);
    }
    template <class T, class I, template <class...> class Array> explicit Matrix(OwnedCsr<T, I, Array> owned) {
        auto kept = std::make_shared<OwnedCsr<T, I, Array>>(std::move(owned));
        rows = Rows<T>(kept->view());
        n = row_count(std::get<Rows<T>>(rows));
        d = kept->d;
        sorted = kept;
    }
};

inline Ids ids(const Numbers& a, Index bound) {
    for (std::size_t i = 0; i < a.shape(0); ++i)
        if (a.data()[i] < 0 || a.data()[i] >= bound) throw std::invalid_argument("row number out of range");
    return {a.data(), 0, static_cast<Index>(a.shape(0))};
}

/// NumPy array that owns a moved vector and overwrites its memory when released, since it may hold rows.
template <class T, class A>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T, A> v, std::vector<std::size_t> shape = {}) {
    if (shape.empty()) shape = {v.size()};
    auto owned = std::make_unique<std::vector<T, A>>(std::move(v));
    nb::capsule owner(owned.get(), [](void* p) noexcept {
        auto* gone = static_cast<std::vector<T, A>*>(p);
        wipe(gone->data(), gone->size() * sizeof(T));
        delete gone;
    });
    return nb::ndarray<nb::numpy, T>(owned.release()->data(), shape.size(), shape.data(), owner);
}

template <class T> std::vector<T> listed(const Contiguous1<T>& a) { return {a.data(), a.data() + a.size()}; }

/// Runs a call without the GIL and polls for Ctrl-C: the poll takes the GIL and handles signals. The exception of the
/// signal handler, or a KeyboardInterrupt raised by a kernel function, is rethrown after the work has stopped.
class Session {
  public:
    Session() : interrupt_([this] { return poll(); }), outer_(std::exchange(current_, this)) {}
    Session(const Session&) = delete;
    ~Session() { current_ = outer_; }
    /// f(interrupt); its result.
    template <class F> auto run(F&& f) {
        using Result = std::invoke_result_t<F, Interrupt*>;
        std::conditional_t<std::is_void_v<Result>, std::monostate, Result> out{};
        {
            nb::gil_scoped_release release;
            try {
                if constexpr (std::is_void_v<Result>)
                    f(&interrupt_);
                else
                    out = f(&interrupt_);
            } catch (const Interrupted&) {
            }
        }
        if (error_) std::rethrow_exception(error_);
        if constexpr (!std::is_void_v<Result>) return out;
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

/// A model with its lock. Other threads wait without the GIL.
template <class M> class Locked : public Guarded<M, nb::gil_scoped_release> {
  public:
    using Base = Guarded<M, nb::gil_scoped_release>;
    using Base::Base;
    /// f(model, interrupt) without the GIL; its result.
    template <class F> auto change(F&& f) {
        return Base::change([&](M& model) { return Session().run([&](Interrupt* i) { return f(model, i); }); });
    }
};

/// Enumerator for a string.
template <class T> T choice(const std::string& word, std::initializer_list<std::pair<const char*, T>> table) {
    for (const auto& [name, value] : table)
        if (word == name) return value;
    throw std::invalid_argument("unknown option: " + word);
}

/// Rows as an array, or as the arrays (values, columns, starts) of a CSR matrix.
template <class T> nb::object take_rows(const Store<T>& store, Ids ids) {
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
    std::optional<Numbers> numbers;
    Source source;
    /// From a Kernel, a Matrix of kernel values (of which only `rows` are used, if given), or a function.
    explicit PySource(nb::object from, std::optional<Numbers> rows = std::nullopt);
    template <class F> static void each_kept(PySource& s, F&& f) { f(s.keep), f(s.function); }
    PySource(const PySource&) = delete;
};

/// Kernel values between the rows of a matrix, with the objects behind them.
struct PyValues {
    nb::object source, matrix;
    Values values;
    template <class F> static void each_kept(PyValues& v, F&& f) { f(v.source), f(v.matrix); }
    PyValues(nb::object s, nb::object x, std::size_t copy_bytes)
        : source(s),
          matrix(x),
          values(nb::cast<const PySource&>(s).source, nb::cast<const Matrix&>(x).rows, copy_bytes) {}
};

/// Labels that become known: (example, rank among the labels known then). It is converted in the body of a function,
/// because nanobind's conversion of arguments terminates the program when an allocation fails.
using Arrivals = nb::typed<nb::list, nb::typed<nb::tuple, Index, Index>>;
std::vector<std::pair<Index, Index>> listed(const Arrivals& arrivals);

/// Examples as Python gives them: rows of x, their numbers, classes and boxes, and the labels that become known.
struct PyChunk {
    nb::object matrix;
    const Matrix* x;
    Numbers rows, id, code;
    Contiguous1<double> box;
    std::vector<std::pair<Index, Index>> arrivals;
    PyChunk(nb::object of, Numbers r, Numbers i, Numbers c, Contiguous1<double> b, const Arrivals& a)
        : matrix(of), x(&nb::cast<const Matrix&>(of)), rows(r), id(i), code(c), box(b), arrivals(listed(a)) {}
    template <class F> static void each_kept(PyChunk& c, F&& f) { f(c.matrix); }
    /// Checked against `known` labels and those that arrive.
    Chunk check(Index known) const;
};

/// Methods that all models of streams have: labels, attributes, saved states.
template <class M> void define_stream(nb::class_<Locked<M>>& c) {
    using L = Locked<M>;
    c.def(
         "add_class", [](L& l, Index place) { l.change([&](M& model, Interrupt*) { model.add_class(place); }); },
         nb::arg("place"), "Add a label with rank `place` among the sorted labels.")
        .def("save", [](L& l) { return l.read([](M& model) { return to_dict(model.save()); }); })
        .def(
            "restore",
            [](L& l, nb::dict state, nb::object rows) {
                const Record record = from_dict(state);
                const AnyRows* held = rows.is_none() ? nullptr : &nb::cast<const Matrix&>(rows).rows;
                l.change([&](M& model, Interrupt*) { model.restore(record, held); });
            },
            nb::arg("state"), nb::arg("rows").none(),
            "Restore a state made by `save`; `rows` are the rows held at that time.")
        .def_prop_ro("version", &L::version)
        .def_prop_ro("n_classes", [](L& l) { return l.read([](M& model) { return model.classes.size(); }); });
}

}  // namespace hingeline::bindings
