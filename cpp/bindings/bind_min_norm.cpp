#include "hingeline/algo/min_norm.hpp"
#include "l2.hpp"

namespace hingeline::bindings {

namespace {

struct MinNormSteps {
    bool improved = true;
    template <class Source>
    void learn(l2::State& s, const l2::Params& p, const Source& source, const Stop& stop) const {
        min_norm::learn(s, p, source, stop, improved);
    }
    l2::Solution solution(const l2::State& s) const { return min_norm::solution(s); }
};
using MinNorm = L2Machines<MinNormSteps>;

}  // namespace

void bind_min_norm(nb::module_& m) {
    nb::class_<MinNorm> c(m, "MinNorm", "Minimal-norm points of all class pairs, or of all classes at once.");
    c.def(
        "__init__",
        [](MinNorm* self, Contiguous1<std::int64_t> codes, Contiguous1<double> penalties, Index classes, bool bias,
           double tol, Index max_iter, std::size_t cache_bytes, bool improved, bool all_at_once) {
            new (self) MinNorm(codes, penalties, classes, all_at_once, {bias, tol, max_iter, cache_bytes}, {improved});
        },
        nb::arg("codes"), nb::arg("penalties"), nb::arg("classes"), nb::kw_only(), nb::arg("bias"), nb::arg("tol"),
        nb::arg("max_iter"), nb::arg("cache_bytes"), nb::arg("improved"), nb::arg("all_at_once"));
    define(c);
}

}  // namespace hingeline::bindings
