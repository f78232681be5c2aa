// FOO for Python. Move `define` of bind_batch.cpp to arrays.hpp if several files need it.
#include "arrays.hpp"
#include "hingeline/model/foo.hpp"

namespace hingeline::bindings {

void bind_foo(nb::module_& m) {
    using L = Locked<Foo>;
    nb::class_<L>(m, "Foo", "FOO of all class pairs.")
        .def(
            "__init__",
            [](L* self, Contiguous1<std::int64_t> codes, Index classes, double C, std::size_t cache_bytes) {
                new (self) L(start_foo({C, cache_bytes}, listed(codes), classes));
            },
            nb::arg("codes"), nb::arg("classes"), nb::kw_only(), nb::arg("C"), nb::arg("cache_bytes"))
        .def(
            "learn",
            [](L& l, const PyValues& values, int threads, Index most) {
                bool more = false;
                l.change([&](Foo& model, Interrupt* interrupt) {
                    more = model.learn(values.values, threads, most, interrupt);
                });
                return more;
            },
            nb::arg("values"), nb::arg("threads"), nb::arg("most"))
        .def(
            "attributes",
            [](L& l, const std::string& unfinished) {
                return l.read([&](Foo& model) { return to_dict(model.attributes(unfinished)); });
            },
            nb::arg("unfinished"));
}

}  // namespace hingeline::bindings
