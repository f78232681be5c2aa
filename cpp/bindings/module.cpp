#include "arrays.hpp"
#include "hingeline/vector/layout.hpp"

namespace hingeline::bindings {

#define HINGELINE_BIND(name) void name(nb::module_&);
#include "bindings.inc"
#undef HINGELINE_BIND

namespace {

template <class T> bool dense(Matrix& m, nb::handle x) {
    Array2<T> a;
    if (!nb::try_cast(x, a, false)) return false;
    m.n = static_cast<Index>(a.shape(0));
    m.d = static_cast<Index>(a.shape(1));
    m.rows = Rows<T>(DenseRows<T>{a.data(), m.n, m.d, a.stride(0), a.stride(1)});
    return true;
}

template <class T, class I> bool csr(Matrix& m, nb::handle x) {
    Contiguous1<T> values;
    Contiguous1<I> columns, starts;
    const nb::object data = x.attr("data"), indices = x.attr("indices"), indptr = x.attr("indptr");
    if (!nb::try_cast(data, values, false) || !nb::try_cast(indices, columns, false) ||
        !nb::try_cast(indptr, starts, false))
        return false;
    std::pair<Index, Index> shape;
    const nb::object given = x.attr("shape");  // may raise, which try_cast must not
    if (!nb::try_cast(given, shape)) throw nb::type_error("CSR matrix: a shape of two integers expected");
    m.n = shape.first;
    m.d = shape.second;
    if (static_cast<Index>(starts.shape(0)) != m.n + 1)
        throw std::invalid_argument("CSR: indptr must have n + 1 entries");
    const CsrRows<T, I> view{values.data(), columns.data(), starts.data(), m.n, m.d};
    if (auto copy = canonical(view, static_cast<Index>(std::min(values.shape(0), columns.shape(0))))) {
        auto owned = std::make_shared<OwnedCsr<T, I>>(std::move(*copy));
        m.rows = Rows<T>(owned->view());
        m.sorted = owned;
    } else {
        m.rows = Rows<T>(view);
        m.keep = {data, indices, indptr};
    }
    return true;
}

/// Check the places of a compressed sparse matrix with `major` rows (CSC: columns) over `minor` columns.
template <class I> bool checked_places(const nb::object& indptr, const nb::object& indices, Index major, Index minor) {
    Contiguous1<I> starts, columns;
    if (!nb::try_cast(indptr, starts, false) || !nb::try_cast(indices, columns, false)) return false;
    if (static_cast<Index>(starts.shape(0)) != major + 1)
        throw std::invalid_argument("indptr must have " + std::to_string(major + 1) + " entries. Got " +
                                    std::to_string(starts.shape(0)));
    require_starts(starts.data(), major, static_cast<Index>(columns.shape(0)));
    bool inside = true;
    for (Index j = 0; j < starts.data()[major]; ++j) inside &= columns.data()[j] >= 0 && columns.data()[j] < minor;
    if (!inside) throw std::invalid_argument("indices must be in the range from 0 to " + std::to_string(minor - 1));
    return true;
}

void require_places(const nb::object& indptr, const nb::object& indices, Index major, Index minor) {
    if (!checked_places<std::int32_t>(indptr, indices, major, minor) &&
        !checked_places<std::int64_t>(indptr, indices, major, minor))
        throw std::invalid_argument("indptr and indices must be arrays of int32 or of int64, with one dimension");
}

}  // namespace

Matrix::Matrix(nb::object x) {
    if (nb::hasattr(x, "indptr")) {
        if (csr<float, std::int32_t>(*this, x) || csr<double, std::int32_t>(*this, x) ||
            csr<float, std::int64_t>(*this, x) || csr<double, std::int64_t>(*this, x))
            return;
        throw nb::type_error("CSR matrix: float32 or float64 data, int32 or int64 indices of one type expected");
    }
    keep = {x};
    if (dense<float>(*this, x) || dense<double>(*this, x)) return;
    throw nb::type_error("2-D float32 or float64 array or CSR matrix expected");
}

namespace {

template <class T> void put(nb::dict& d, const std::string& name, Numeric<T>&& numbers) {
    d[name.c_str()] = to_numpy(std::move(numbers.values), std::move(numbers.shape));
}
template <class T> bool take(Record& record, const std::string& name, nb::handle value) {
    nb::ndarray<const T, nb::c_contig, nb::device::cpu> a;
    if (!nb::try_cast(value, a, false)) return false;
    record.put(name, Numeric<T>{{a.data(), a.data() + a.size()}});
    return true;
}

/// Python strings; equal ones in a row are one object.
nb::list words(const std::vector<std::string>& all) {
    nb::list out;
    nb::object last;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (k == 0 || all[k] != all[k - 1]) last = nb::cast(all[k]);
        out.append(last);
    }
    return out;
}

/// A Python string of a saved state. nanobind's own conversion terminates the program when an allocation fails.
std::string text(nb::handle value) {
    Py_ssize_t size = 0;
    const char* const bytes = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (bytes) return {bytes, static_cast<std::size_t>(size)};
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
    PyErr_Clear();
    throw Damaged("a text holds half of a surrogate pair");
}

/// A value of a saved state as a T.
template <class T> T sound(nb::handle value, const std::string& name) {
    T out;
    if (!nb::try_cast(value, out)) throw Damaged("field '" + name + "' has another type or is out of range");
    return out;
}

}  // namespace

nb::dict to_dict(Record record) {
    nb::dict d;
    for (auto& [name, value] : record.fields)
        std::visit(
            [&, &name = name](auto& v) {
                using V = std::decay_t<decltype(v)>;
                if constexpr (std::is_same_v<V, std::vector<Record>>) {
                    nb::list all;
                    for (Record& one : v) all.append(to_dict(std::move(one)));
                    d[name.c_str()] = all;
                } else if constexpr (std::is_same_v<V, std::vector<std::string>>) {
                    d[name.c_str()] = words(v);
                } else if constexpr (requires { v.shape; }) {
                    put(d, name, std::move(v));
                } else {
                    d[name.c_str()] = nb::cast(v);
                }
            },
            value);
    return d;
}

Record from_dict(const nb::dict& dict) {
    Record record;
    for (const auto& [key, value] : dict) {
        if (!nb::isinstance<nb::str>(key)) throw Damaged("a name is no string");
        const std::string name = text(key);
        if (nb::isinstance<nb::bool_>(value))
            record.put(name, sound<bool>(value, name));
        else if (nb::isinstance<nb::int_>(value))
            record.put(name, sound<Index>(value, name));
        else if (nb::isinstance<nb::float_>(value))
            record.put(name, sound<double>(value, name));
        else if (nb::isinstance<nb::str>(value))
            record.put(name, text(value));
        else if (nb::isinstance<nb::list>(value)) {
            std::vector<Record> all;
            for (nb::handle one : nb::borrow<nb::list>(value)) all.push_back(from_dict(sound<nb::dict>(one, name)));
            record.put(name, std::move(all));
        } else if (!take<Index>(record, name, value) && !take<double>(record, name, value) &&
                   !take<std::int8_t>(record, name, value)) {
            throw Damaged("field '" + name + "' has a type that is not known");
        }
    }
    return record;
}

/// Array that is overwritten when it is released.
template <class T> nb::ndarray<nb::numpy, T> wiped(std::size_t n) {
    struct Owner {
        std::unique_ptr<T[]> values;
        std::size_t n;
    };
    auto owned = std::make_unique<Owner>(Owner{std::unique_ptr<T[]>(new T[n]), n});
    nb::capsule owner(owned.get(), [](void* p) noexcept {
        auto* gone = static_cast<Owner*>(p);
        wipe(gone->values.get(), gone->n * sizeof(T));
        delete gone;
    });
    return nb::ndarray<nb::numpy, T>(owned.release()->values.get(), {n}, owner);
}

}  // namespace hingeline::bindings

NB_MODULE(_core, m) {
    using namespace hingeline::bindings;
    m.doc() = "Compiled core of hingeline; see the estimators for documentation.";
    m.def(
        "isa", [] { return std::string(hingeline::instruction_set()); },
        "Instruction set in use: 'avx512', 'avx2' or 'baseline'.");
    nb::class_<Matrix>(m, "Matrix", nb::type_slots(Collected<Matrix>::slots), "View of a dense or CSR matrix.")
        .def(nb::init<nb::object>(), nb::arg("x"))
        .def_prop_ro("shape", [](const Matrix& x) { return nb::make_tuple(x.n, x.d); })
        .def_prop_ro("entries",
                     [](const Matrix& x) {
                         return std::visit([](const auto& rows) { return hingeline::entry_count(rows); }, x.rows);
                     })
        .def(
            "compressed",
            [](const Matrix& x, double most) -> std::optional<Matrix> {
                return std::visit(
                    [&](const auto& rows) -> std::optional<Matrix> {
                        const auto* dense = std::get_if<0>(&rows);
                        if (!dense) return std::nullopt;
                        auto copy = hingeline::compressed(*dense, std::size_t{1} << 62, most);
                        if (!copy) return std::nullopt;
                        return Matrix(std::move(*copy));
                    },
                    x.rows);
            },
            nb::arg("most"), "CSR copy of dense rows if the share of nonzero entries is at most `most`, else None.")
        .def_prop_ro("is_dense", [](const Matrix& x) {
            return std::visit([](const auto& rows) { return rows.index() == 0; }, x.rows);
        });
    m.def(
        "wiped",
        [](std::size_t n, std::size_t width) -> nb::object {
            switch (width) {
                case 8:
                    return nb::cast(wiped<std::uint64_t>(n));
                case 4:
                    return nb::cast(wiped<std::uint32_t>(n));
                case 1:
                    return nb::cast(wiped<std::uint8_t>(n));
                default:
                    throw std::invalid_argument("width must be 1, 4 or 8");
            }
        },
        nb::arg("n"), nb::arg("width"),
        "Array of integers, not initialised, that is overwritten with zeros when it is released.");
    m.def("require_places", &require_places, nb::arg("indptr"), nb::arg("indices"), nb::arg("major"), nb::arg("minor"),
          "Raise ValueError if places of a compressed sparse matrix lie outside of it.");
#define HINGELINE_BIND(name) name(m);
#include "bindings.inc"
#undef HINGELINE_BIND
}
