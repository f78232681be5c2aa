// The inverse of the margin system, as points enter and leave.
#include "check.hpp"
#include "incremental_runs.hpp"

namespace hingeline::incremental {
namespace {

/// R = [[0, 1], [1, K]] of some points.
Array<Array<double>> bordered(const Array<double>& k, Index n, const Array<Index>& points) {
    const Index m = points.size() + 1;
    Array<Array<double>> r(m, Array<double>(m, 1.0));
    r[0][0] = 0;
    for (Index i = 1; i < m; ++i)
        for (Index j = 1; j < m; ++j) r[i][j] = k[points[i - 1] * n + points[j - 1]];
    return r;
}

/// How far Q R is from the identity.
double distance(const Inverse& q, const Array<double>& k, Index n, const Array<Index>& points) {
    if (points.empty()) return q.size() == 0 ? 0.0 : 1.0;
    const auto r = bordered(k, n, points);
    if (q.size() != r.size()) return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (Index i = 0; i < r.size(); ++i) {
        Array<double> y(r.size());
        q.multiply(r[i].data(), y.data());
        for (Index j = 0; j < r.size(); ++j) worst = std::max(worst, std::abs(y[j] - (i == j ? 1.0 : 0.0)));
    }
    return worst;
}

/// b = -Q (1, K_Mk).
Numbers column(const Inverse& q, const Array<double>& k, Index n, const Array<Index>& points, Index p) {
    Numbers eta{1.0}, b(points.size() + 1);
    for (const Index i : points) eta.push_back(k[p * n + i]);
    q.multiply(eta.data(), b.data());
    for (double& x : b) x = -x;
    return b;
}
double schur(const Numbers& b, const Array<double>& k, Index n, const Array<Index>& points, Index p, Index o) {
    double sum = k[p * n + o] + b[0];
    for (Index j = 0; j < points.size(); ++j) sum += b[j + 1] * k[o * n + points[j]];
    return sum;
}

CASE(inverse_follows_its_points) {
    const Data data(60, 5, Kernel{KernelKind::rbf, 0.8, 0, 3}, 1);
    Random random(2);
    Inverse q;
    Array<Index> points;
    Array<char> in(60, 0);
    for (int step = 0; step < 400; ++step) {
        Array<Index> some;
        if (below(random, 2) && points.size() < 40) {
            for (Index i = 0, most = 1 + below(random, 6); i < 60 && some.size() < most; ++i)
                if (const Index p = below(random, 60); !in[p]) some.push_back(p), in[p] = 1;
            if (points.empty() && !some.empty()) {
                q.start(data.k[some[0] * 61]);
                points.push_back(some[0]);
                some.erase(some.begin());
            }
            if (some.size() == 1) {
                const Numbers b = column(q, data.k, 60, points, some[0]);
                q.append(b.data(), schur(b, data.k, 60, points, some[0], some[0]));
                points.push_back(some[0]);
            } else if (!some.empty()) {
                Array<Numbers> b, kappa;
                for (const Index p : some) {
                    b.push_back(column(q, data.k, 60, points, p));
                    kappa.emplace_back();
                    for (Index l = 0; l < b.size(); ++l)
                        kappa.back().push_back(schur(b[l], data.k, 60, points, some[l], p));
                }
                const auto kept = q.append(b, kappa, 1e-6);
                for (Index i = 0; i < some.size(); ++i) {
                    if (kept[i]) points.push_back(some[i]);
                    in[some[i]] = kept[i];
                }
            }
        } else if (!points.empty()) {
            Array<Index> where;
            for (Index p = points.size() - 1; p >= 0; --p)
                if (below(random, 4) == 0) where.push_back(p + 1);
            if (where.size() == points.size() || where.empty()) where.assign(1, points.size());
            for (const Index p : where) {
                in[points[p - 1]] = 0;
                points[p - 1] = points.back();
                points.pop_back();
            }
            if (where.size() == 1)
                q.remove(where[0]);
            else
                q.remove(where);
        }
        CHECK(distance(q, data.k, 60, points) < 1e-9, step, points.size(), distance(q, data.k, 60, points));
    }
}

CASE(inverse_leaves_dependent_points_out) {
    const Data data(6, 1, Kernel{KernelKind::linear, 1, 0, 3}, 3);  // in one dimension two points span all others
    Inverse q;
    q.start(data.k[0]);
    const Array<Index> points{0}, some{1, 2, 3};
    Array<Numbers> b, kappa;
    for (const Index p : some) {
        b.push_back(column(q, data.k, 6, points, p));
        kappa.emplace_back();
        for (Index l = 0; l < b.size(); ++l) kappa.back().push_back(schur(b[l], data.k, 6, points, some[l], p));
    }
    CHECK((q.append(b, kappa, 1e-9) == Array<char>{1, 0, 0}));
    CHECK(distance(q, data.k, 6, {0, 1}) < 1e-12);
}

}  // namespace
}  // namespace hingeline::incremental
