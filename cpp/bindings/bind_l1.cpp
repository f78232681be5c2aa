#include "arrays.hpp"
#include "hingeline/algo/l1_descent.hpp"

namespace hingeline::bindings {

namespace {

auto descend_hessian(Contiguous2<double> hessian, Contiguous1<double> gradient, Contiguous1<double> point, double lam,
                     double tol, Index sweeps) {
    const std::size_t n = point.shape(0);
    if (hessian.shape(0) != n || hessian.shape(1) != n || gradient.shape(0) != n)
        throw std::invalid_argument("a square matrix and a gradient of the length of the point expected");
    std::vector<double> q = listed(gradient), z = listed(point);
    const double violation =
        l1_descent::descend(hessian.data(), static_cast<Index>(n), q.data(), z.data(), lam, tol, sweeps);
    return std::make_tuple(to_numpy(std::move(z)), to_numpy(std::move(q)), violation);
}

auto descend_columns(const Matrix& columns, Contiguous1<double> weights, Contiguous1<double> gradient,
                     Contiguous1<double> point, bool threshold, double offset, double lam, double tol, Index sweeps) {
    if (static_cast<Index>(weights.shape(0)) != columns.d) throw std::invalid_argument("one weight per row expected");
    if (static_cast<Index>(point.shape(0)) != columns.n + threshold || gradient.shape(0) != point.shape(0))
        throw std::invalid_argument("a weight for every feature and threshold expected");
    std::vector<double> z = listed(point);
    const double entries = Session().run([&](Interrupt* interrupt) {
        return std::visit(
            [&]<class T>(const Rows<T>& rows) {
                return l1_descent::Model<T>(rows, weights.data(), columns.d, threshold, offset)
                    .descend(gradient.data(), z.data(), lam, tol, sweeps, interrupt);
            },
            columns.rows);
    });
    return std::make_tuple(to_numpy(std::move(z)), entries);
}

}  // namespace

void bind_l1(nb::module_& m) {
    m.def("descend_hessian", &descend_hessian, nb::arg("hessian"), nb::arg("gradient"), nb::arg("point"), nb::kw_only(),
          nb::arg("lam"), nb::arg("tol"), nb::arg("sweeps"),
          "Coordinate descent on a quadratic model with an L1 penalty. Returns the point, the gradient of the model "
          "there and the largest violation.");
    m.def("descend_columns", &descend_columns, nb::arg("columns"), nb::arg("weights"), nb::arg("gradient"),
          nb::arg("point"), nb::kw_only(), nb::arg("threshold"), nb::arg("offset"), nb::arg("lam"), nb::arg("tol"),
          nb::arg("sweeps"),
          "The same with a Hessian given by rows with weights; a line of `columns` is a feature. Returns the point and "
          "the number of entries visited.");
}

}  // namespace hingeline::bindings
