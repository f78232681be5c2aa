// FOO for Python.
#include "hingeline/model/foo.hpp"
#include "machines.hpp"

namespace hingeline::bindings {

void bind_foo(nb::module_& m) {
    nb::class_<Locked<Foo>> foo(m, "Foo", "FOO of all class pairs.");
    foo.def(
        "__init__",
        [](Locked<Foo>* self, Contiguous1<std::int64_t> codes, Index classes, double C, std::size_t cache_bytes) {
            new (self) Locked<Foo>(start_foo({C, cache_bytes}, listed(codes), classes));
        },
        nb::arg("codes"), nb::arg("classes"), nb::kw_only(), nb::arg("C"), nb::arg("cache_bytes"));
    define_machines<PyValues>(foo);
}

}  // namespace hingeline::bindings
