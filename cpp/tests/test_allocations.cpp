// Allocations of every operation of a model fail in turn, the first ones and ever fewer later (`make torture`
// has all): the call throws std::bad_alloc, the model is as before to the bit, and the same call then gives the result
// of a model that never failed.
#include "failing_new.hpp"
#include "hingeline/model/packed.hpp"
#include "models.hpp"

namespace hingeline {
namespace {

using namespace testing;

/// What a model is: its saved state and its rows.
struct Picture {
    Record state;
    std::vector<double> rows;
};
template <class M> Picture picture(M& model) {
    Picture out{without_clocks(model.save()), {}};
    const AnyRows held = Learner<M>::rows(model);
    const Index n = row_count(held), d = column_count(held);
    out.rows.resize(static_cast<std::size_t>(n * d));
    for (Index i = 0; i < n; ++i) spread(std::get<Rows<double>>(held), i, out.rows.data() + i * d);
    return out;
}
bool same(const Picture& a, const Picture& b) { return testing::same(a.state, b.state) && same_bits(a.rows, b.rows); }

/// Coefficients, intercepts and support vectors: what predictions depend on.
template <class M> Record expansion(const M& model) {
    Record out;
    const Record all = model.attributes();
    for (const char* name : {"dual_coef", "intercept", "support", "n_support"})
        if (const Value* value = all.find(name)) out.put(name, *value);
    return out;
}

constexpr long next(long at) { return at + 1 + at / 12; }

/// Fail allocations of work(model) in turn, each on a model of make().
template <class Make, class Work> void check_operation(const char* name, Make&& make, Work&& work) {
    auto undisturbed = make();
    work(undisturbed);
    const Record expected = expansion(undisturbed);
    Index failures = 0;
    for (long at = 1;; at = next(at)) {
        auto model = make();
        const Picture before = picture(model);
        bool threw = false;
        {
            const failing_new::Fails fails(at);
            try {
                work(model);
            } catch (const std::bad_alloc&) {
                threw = true;
            }
        }
        if (!failing_new::failed) break;
        if (threw) {  // otherwise the operation went on without the memory, as with fewer threads
            ++failures;
            CHECK(same(picture(model), before), name, at);
            work(model);
        }
        CHECK(testing::same(expansion(model), expected), name, at);
    }
    CHECK(failures > 0, name);
}

constexpr Index first = 14, all = 24;  // the third class comes after the first chunk

template <class M> M trained(const Data& data, bool one_vs_rest) {
    M model = Learner<M>::fresh(one_vs_rest);
    learn(model, data, 0, first);
    return model;
}

template <class M> void check_streams() {
    for (const bool sparse : {false, true}) {
        const Data data(all, 29, first + 2, sparse);
        for (const bool one_vs_rest : {false, true}) {
            if (one_vs_rest && (sparse || std::is_same_v<M, Incremental>)) continue;
            const auto make = [&] { return trained<M>(data, one_vs_rest); };
            check_operation(
                "first chunk", [&] { return Learner<M>::fresh(one_vs_rest); },
                [&](M& model) { learn(model, data, 0, first); });
            check_operation("chunk", make, [&](M& model) { learn(model, data, first, all); });
            M other = trained<M>(data, one_vs_rest);
            learn(other, data, first, all);
            const Record saved = other.save();
            const AnyRows rows = Learner<M>::rows(other);
            check_operation("restore", make, [&](M& model) { model.restore(saved, &rows); });
            if (sparse) continue;  // the others do not depend on the form of the rows
            check_operation("example", make, [&](M& model) { learn(model, data, first, first + 1); });
            check_operation("label", make, [&](M& model) { model.add_class(1); });
            const auto restored = [&] {
                M model = make();
                return copied(model, one_vs_rest);
            };
            check_operation("chunk after restore", restored, [&](M& model) { learn(model, data, first, all); });
            check_operation("save", make, [&](M& model) { (void)model.save(); });
            check_operation("attributes", make, [&](M& model) { (void)model.attributes(); });
        }
    }
}

CASE(lasvm_allocations) { check_streams<Lasvm>(); }
CASE(kernel_sgd_allocations) { check_streams<KernelSgd>(); }
CASE(incremental_allocations) { check_streams<Incremental>(); }

/// Passes, optimisation and final cleaning of a fit, for the variants with their own loops.
CASE(lasvm_fits) {
    for (const auto variant : {lasvm::Variant::nc, lasvm::Variant::g, lasvm::Variant::lasvm}) {
        const Data data(all, 31, 0, variant == lasvm::Variant::g);
        std::vector<double> margins(all * 3);
        const Margins table{margins.data(), all, 3, true};
        const auto made = [&] {
            Lasvm model(variant, false);
            model.params.period = 8, model.params.warm_support = 5, model.params.most_non_sv = 3;
            for (Index place = 0; place < 3; ++place) model.add_class(place);
            return model;
        };
        const auto visit = [&](Lasvm& model, Index from, Index to, bool known) {
            model.visit(rbf(), data.chunk(from, to, 3), table, 1, nullptr, known, true);
        };
        const auto visited = [&] {
            Lasvm model = made();
            visit(model, 0, first, false);
            return model;
        };
        check_operation("visit", made, [&](Lasvm& model) { visit(model, 0, first, false); });
        check_operation("next visit", visited, [&](Lasvm& model) { visit(model, first, all, false); });
        check_operation("second epoch", visited, [&](Lasvm& model) { visit(model, 0, first, true); });
        check_operation("finish", visited, [&](Lasvm& model) { model.finish(rbf(), 1e-3, 1000, true, 1, nullptr); });
        check_operation("end", visited, [&](Lasvm& model) { model.end(rbf()); });
        check_operation("outside", visited,
                        [&](Lasvm& model) { model.outside(rbf(), data.chunk(0, all, 3), 1, nullptr); });
    }
}

CASE(lasvm_threads) {
    const Data data(all, 37, first + 2);
    const auto make = [&] { return trained<Lasvm>(data, false); };
    check_operation("chunk by two threads", make, [&](Lasvm& model) {
        const Chunk chunk = data.chunk(first, all, model.classes.size());
        const Index classes = model.classes.size() + std::ssize(chunk.arrivals);
        std::vector<double> margins(static_cast<std::size_t>(chunk.size() * classes));
        model.learn(rbf(), chunk, {margins.data(), chunk.size(), classes}, 2, nullptr);
    });
}

CASE(kernel_sgd_fits) {
    const Data data(all, 41, 0);
    std::vector<double> margins(all * 3);
    const Margins table{margins.data(), all, 3};
    const auto made = [&] {
        KernelSgd model = Learner<KernelSgd>::fresh(false);
        for (Index place = 0; place < 3; ++place) model.add_class(place);
        return model;
    };
    const auto begin = [&](KernelSgd& model) { model.begin(rbf(), data.chunk(0, all, 3), 2); };
    const auto advance = [&](KernelSgd& model) { model.advance(rbf(), 20, table, 1, nullptr); };
    check_operation("begin", made, begin);
    const auto begun = [&] {
        KernelSgd model = made();
        begin(model);
        return model;
    };
    check_operation("advance", begun, advance);
    const auto advanced = [&] {
        KernelSgd model = begun();
        advance(model);
        return model;
    };
    check_operation("next advance", advanced, advance);
    check_operation("end", advanced, [](KernelSgd& model) { model.end(); });
}

/// Operations of the exact machines; windows, nu and several points at once take their own ways.
CASE(incremental_operations) {
    for (const bool sparse : {false, true}) {
        const Data data(all, 43, 0, sparse);
        const auto made = [&] { return trained<Incremental>(data, false); };
        const auto forget = [](const Array<Index>& serials) {
            return [serials](Incremental& model) { model.forget(rbf(), serials, 1, nullptr); };
        };
        check_operation("forget several", made, forget({3, 0, 12, 13, 9}));
        if (sparse) continue;  // the others do not depend on the form of the rows
        check_operation("forget one", made, forget({3}));
        check_operation("bound", made, [](Incremental& model) { model.bound(rbf(), 9.0, 0, 1, nullptr); });
        check_operation("leave one out", made,
                        [](Incremental& model) { model.leave_one_out(rbf(), {0, 4, 11}, 1, nullptr); });
        check_operation("path", made, [](Incremental& model) { model.path(rbf(), {1.0, 4.0}, {2, 5}, 1, nullptr); });
        check_operation("violation", made, [](Incremental& model) { model.violation(rbf(), 1, nullptr); });
        check_operation("condition", made, [](Incremental& model) { model.condition(rbf(), 1, nullptr); });
        check_operation("points", made, [](Incremental& model) { (void)model.points(); });
        const auto windowed = [&] {
            Incremental model = Learner<Incremental>::fresh(false);
            model.model.window = 11;
            learn(model, data, 0, first);
            return model;
        };
        check_operation("window, one point", windowed, [&](Incremental& m) { learn(m, data, first, first + 1); });
        check_operation("window, several points", windowed, [&](Incremental& m) { learn(m, data, first, all); });
        check_operation("smaller window", windowed, [&](Incremental& m) {
            m.model.window = 9;
            learn(m, data, first, first + 1);
        });
        check_operation("windows of the classes", windowed, [&](Incremental& m) {
            m.model.window = 3;
            m.model.scope = incremental::Scope::each_class;
            learn(m, data, first, all);
        });
        const auto small = [&] {
            Incremental model = windowed();
            model.cache_bytes = 0;
            return model;
        };
        check_operation("small cache", small, [&](Incremental& m) {
            try {
                learn(m, data, first, all);
            } catch (const incremental::Full&) {
            }
        });
        const auto plane = [&] {
            Incremental model(incremental::Problem::plane, 1.0, 0.3);
            model.cache_bytes = std::size_t{1} << 24;
            Chunk chunk = data.chunk(0, first, 3);
            const std::vector<Index> zeros(all, 0);
            chunk.code = zeros.data();
            model.learn(rbf(), chunk, 1, nullptr);
            return model;
        };
        check_operation("nu: forget", plane, forget({1, 2}));
        check_operation("nu: bound", plane, [](Incremental& model) { model.bound(rbf(), 1.0, 0.5, 1, nullptr); });
    }
}

/// Predictions leave nothing behind.
CASE(packed_predictions) {
    const Data data(all, 47);
    std::vector<double> coef(all, 0.5), expected(all), out(all);
    const auto decide = [&](std::vector<double>& to) {
        const SupportLines lines(coef.data(), 1, all, {all}, {0}, {0.25});
        Packed(Kernel{KernelKind::rbf, 1.0, 0.0, 3}, data.rows).decide(lines, data.rows, 2, nullptr, to.data());
    };
    decide(expected);
    Index failures = 0;
    for (long at = 1;; at = next(at)) {
        {
            const failing_new::Fails fails(at);
            failures += check::throws<std::bad_alloc>([&] { decide(out); });
        }
        if (!failing_new::failed) break;
        decide(out);
        CHECK(same_bits(out, expected), at);
    }
    CHECK(failures > 0);
}

}  // namespace
}  // namespace hingeline
