// Batch machines for Python: OLLAWV and the solvers of the L2-SVM.
#include "hingeline/model/batch.hpp"
#include "machines.hpp"

namespace hingeline::bindings {

void bind_batch(nb::module_& m) {
    nb::class_<Locked<Ollawv>> ollawv(m, "Ollawv", "Worst-violator learning of all class pairs.");
    ollawv.def(
        "__init__",
        [](Locked<Ollawv>* self, Contiguous1<std::int64_t> codes, Contiguous1<double> class_weights,
           Contiguous1<std::int64_t> first, Contiguous1<double> weights, double C, double margin, double cap,
           bool fit_intercept, std::size_t cache_bytes, bool inverse) {
            new (self) Locked<Ollawv>(start_ollawv({C, margin, cap, fit_intercept, cache_bytes, inverse}, listed(codes),
                                                   listed(class_weights), listed(first), listed(weights)));
        },
        nb::arg("codes"), nb::arg("class_weights"), nb::arg("first"), nb::arg("weights"), nb::kw_only(), nb::arg("C"),
        nb::arg("margin"), nb::arg("cap"), nb::arg("fit_intercept"), nb::arg("cache_bytes"), nb::arg("inverse"));
    ollawv.def(
        "raise_margin",
        [](Locked<Ollawv>& l, double margin) { l.read([&](Ollawv& all) { raise_margin(all, margin); }); },
        nb::arg("margin"), "Go on from the result for a smaller margin.");
    define_machines<PyValues>(ollawv);

    nb::class_<Locked<L2Machines>> l2(m, "L2Machines", "L2-SVM of all class pairs, or of all classes at once.");
    l2.def(
          "__init__",
          [](Locked<L2Machines>* self, const std::string& solver, bool at_once, Contiguous1<std::int64_t> codes,
             Contiguous1<double> penalties, Index classes, bool fit_intercept, double tol, Index max_iter,
             std::size_t cache_bytes) {
              const auto rule = choice<L2Rule>(solver, {{"auto", L2Rule::imdm},
                                                        {"min_norm", L2Rule::imdm},
                                                        {"min_norm_mdm", L2Rule::mdm},
                                                        {"nnisda", L2Rule::nnisda}});
              const bool newton = solver == "auto";  // others make the steps of the papers only
              new (self) Locked<L2Machines>(start_l2(rule, at_once, {fit_intercept, tol, max_iter, cache_bytes, newton},
                                                     listed(codes), classes, listed(penalties)));
          },
          nb::arg("solver"), nb::arg("at_once"), nb::arg("codes"), nb::arg("penalties"), nb::arg("classes"),
          nb::kw_only(), nb::arg("fit_intercept"), nb::arg("tol"), nb::arg("max_iter"), nb::arg("cache_bytes"))
        .def(
            "guess",
            [](Locked<L2Machines>& l, Index machine, Contiguous1<double> v) {
                l.read([&](L2Machines& model) { guess(model, machine, v.data(), static_cast<Index>(v.size())); });
            },
            nb::arg("machine"), nb::arg("v"), "Starting values of a machine, by row.");
    define_machines<PyValues>(l2);
}

}  // namespace hingeline::bindings
