// FOO as a model: one machine per class pair, over rows owned by the caller.
#pragma once

#include "hingeline/algo/foo.hpp"
#include "hingeline/model/batch.hpp"

namespace hingeline {

struct FooKind {
    using Params = foo::Params;
    using State = foo::State;
    static Index size(const State& s) { return s.row.size(); }
    template <class V> static void learn(State& s, const Params& p, const V& values, const Stop& stop, int) {
        foo::learn(s, p, values, stop);
    }
    /// Fitted attributes; the names get a trailing underscore in Python.
    static void put(Record& out, const Array<State>& machines, const Array<Index>& order, const Array<Index>& codes,
                    Index classes, const Params&) {
        Array<Terms> terms;
        for (const State& s : machines) {
            Terms one;
            for (Index i = 0; i < s.row.size(); ++i)
                if (s.alpha[i] != 0) one.add(s.row[i], s.row[i], codes[s.row[i]], s.alpha[i]);
            one.intercept = s.b;
            terms.push_back(std::move(one));
        }
        put_joint(out, terms, classes, false);
        put_each(out, "n_iter", machines, order, [](const State& s) { return s.steps; });
        put_each(out, "decision_scale", machines, order, [](const State&) { return 1.0; });
    }
};
using Foo = Batch<FooKind>;

/// Machines of all class pairs.
inline Foo start_foo(const foo::Params& params, Array<Index> codes, Index classes) {
    const auto rows = rows_by_class(codes.data(), codes.size(), classes);
    const double label = first_label(classes);
    Foo out({}, params, std::move(codes), classes);
    for (Index i = 0; i < classes; ++i)
        for (Index j = i + 1; j < classes; ++j) {
            foo::State s;
            for (const Index k : rows[i]) s.row.push_back(k), s.y.push_back(label);
            for (const Index k : rows[j]) s.row.push_back(k), s.y.push_back(-label);
            s.alpha.assign(s.row.size(), 0.0);
            out.machines.push_back(std::move(s));
        }
    return out;
}

}  // namespace hingeline
