#include "hingeline/algo/nnisda.hpp"
#include "l2.hpp"

namespace hingeline::bindings {

namespace {

struct NnisdaSteps {
    template <class Source>
    void learn(l2::State& s, const l2::Params& p, const Source& source, const Stop& stop) const {
        nnisda::learn(s, p, source, stop);
    }
    l2::Solution solution(const l2::State& s) const { return nnisda::solution(s); }
};
using Nnisda = L2Machines<NnisdaSteps>;

}  // namespace

void bind_nnisda(nb::module_& m) {
    nb::class_<Nnisda> c(m, "Nnisda", "NNISDA of all class pairs.");
    c.def(
        "__init__",
        [](Nnisda* self, Contiguous1<std::int64_t> codes, Contiguous1<double> penalties, Index classes, bool bias,
           double tol, Index max_iter, std::size_t cache_bytes) {
            new (self) Nnisda(codes, penalties, classes, false, {bias, tol, max_iter, cache_bytes}, {});
        },
        nb::arg("codes"), nb::arg("penalties"), nb::arg("classes"), nb::kw_only(), nb::arg("bias"), nb::arg("tol"),
        nb::arg("max_iter"), nb::arg("cache_bytes"));
    define(c);
}

}  // namespace hingeline::bindings
