// Problems of the block solver, and its quantities from scratch.
#pragma once

#include "check.hpp"
#include "data.hpp"
#include "hingeline/model/svc.hpp"

namespace hingeline::engine {

using namespace testing;

/// Overlapping clouds: some bounded, some free support vectors.
template <class T> struct Clouds {
    Array<T> x;
    Array<Index> rows[2];
    Array<double> bound;
    Index d;
    Clouds(Index n, Index d, double distance, double C) : d(d) {
        Random random(11);
        for (Index i = 0; i < n; ++i) {
            const Index code = below(random, 2);
            for (Index k = 0; k < d; ++k)
                x.push_back(static_cast<T>((code && k < 2 ? distance : 0.0) + uniform(random, -1.0, 1.0)));
            rows[code].push_back(i);
            bound.push_back(C * uniform(random, 0.5, 1.5));
        }
    }
    Index n() const { return bound.size(); }
    State start(bool single) const {
        State s = engine::start(rows[0], rows[1], -1.0, bound.data());
        s.single = single;
        return s;
    }
    DenseRows<T> view() const { return dense_view(x, n(), d); }
};

template <class Source>
State solved(State s, const Source& source, const Params& p, int threads = 1, Index slice = 1 << 30) {
    engine::Workspace<Source> work;
    while (s.reason == Reason::running) engine::learn(s, p, source, Stop{slice, nullptr}, threads, work);
    return s;
}

inline Array<double> kernel_matrix(const Kernel& k, const State& s, const double* x, Index d) {
    Array<double> out(s.n() * s.n());
    for (Index i = 0; i < s.n(); ++i)
        for (Index j = 0; j < s.n(); ++j) out[i * s.n() + j] = kernel_value(k, x + s.row[i] * d, x + s.row[j] * d, d);
    return out;
}
/// v of all points from scratch.
inline void recompute(State& s, const Array<double>& K) {
    s.shrunk = false;
    s.active.resize(s.n());
    std::iota(s.active.begin(), s.active.end(), Index{0});
    for (Index i = 0; i < s.n(); ++i) {
        s.v[i] = s.p[i];
        for (Index j = 0; j < s.n(); ++j) s.v[i] -= K[i * s.n() + j] * s.beta[j];
    }
}

}  // namespace hingeline::engine
