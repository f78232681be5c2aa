#include "hingeline/algo/foo.hpp"
#include "kernels.hpp"

namespace hingeline::bindings {

namespace {

struct Foo {
    foo::Params params;
    foo::State state;
};

void learn(Foo& f, const AnyGram& gram, int threads, Index max_steps) {
    Session().run([&](Interrupt* interrupt) {
        std::visit([&](const auto& g) { foo::learn(f.state, f.params, *g, Stop{max_steps, interrupt}, threads); },
                   gram.gram);
    });
}

}  // namespace

void bind_foo(nb::module_& m) {
    nb::class_<Foo>(m, "Foo", "One sentence.")
        .def(nb::init<>())
        .def("learn", &learn, nb::arg("source"), nb::arg("threads"), nb::arg("max_steps"))
        .def_prop_ro("coef", [](const Foo& f) { return to_numpy(f.state.alpha); });
}

}  // namespace hingeline::bindings
