// Methods that all batch machines have.
#pragma once

#include "arrays.hpp"

namespace hingeline::bindings {

/// `V`: kernel values with the Python objects behind them.
template <class V, class M> void define_machines(nb::class_<Locked<M>>& c) {
    using L = Locked<M>;
    c.def(
         "learn",
         [](L& l, const V& values, int threads, Index most) {
             return l.change(
                 [&](M& model, Interrupt* interrupt) { return model.learn(values.values, threads, most, interrupt); });
         },
         nb::arg("values"), nb::arg("threads"), nb::arg("most"),
         "Make up to `most` steps of every machine, or solve so many working sets. Returns whether steps are left.")
        .def(
            "attributes",
            [](L& l, const std::string& unfinished) {
                return l.read([&](M& model) { return to_dict(model.attributes(unfinished)); });
            },
            nb::arg("unfinished"), "Fitted attributes by name.")
        .def_prop_ro("n_machines", [](L& l) { return l.read([](M& model) { return model.n_machines(); }); });
}

}  // namespace hingeline::bindings
