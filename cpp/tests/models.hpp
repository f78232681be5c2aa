// Models that learn from chunks, as tests need them: data, learners, comparison of saved states.
#pragma once

#include "check.hpp"
#include "data.hpp"
#include "hingeline/model/incremental.hpp"
#include "hingeline/model/kernel_sgd.hpp"
#include "hingeline/model/lasvm.hpp"

namespace hingeline::testing {

using incremental::Incremental;
using kernel_sgd::KernelSgd;
using lasvm::Lasvm;

inline bool same(const Value& a, const Value& b);
inline bool same(const Record& a, const Record& b) {
    if (a.fields.size() != b.fields.size()) return false;
    for (std::size_t i = 0; i < a.fields.size(); ++i)
        if (a.fields[i].first != b.fields[i].first || !same(a.fields[i].second, b.fields[i].second)) return false;
    return true;
}
/// Bit for bit. Clocks are not compared.
inline bool same(const Value& a, const Value& b) {
    if (a.index() != b.index()) return false;
    return std::visit(
        [&](const auto& x) {
            using V = std::decay_t<decltype(x)>;
            const V& y = std::get<V>(b);
            if constexpr (std::is_same_v<V, std::vector<Record>>) {
                if (x.size() != y.size()) return false;
                for (std::size_t i = 0; i < x.size(); ++i)
                    if (!same(x[i], y[i])) return false;
                return true;
            } else if constexpr (requires { x.shape; }) {
                return x.shape == y.shape && std::ssize(x.values) == std::ssize(y.values) &&
                       same_bits(x.values.data(), y.values.data(), std::ssize(x.values));
            } else {
                return x == y;
            }
        },
        a);
}
inline void drop_clocks(Record& record) {
    std::erase_if(record.fields, [](const auto& field) {
        return field.first == "seconds" || field.first == "paused_at" || field.first == "kernel_seconds" ||
               field.first == "profile";
    });
    for (auto& [name, value] : record.fields)
        if (auto* nested = std::get_if<std::vector<Record>>(&value))
            for (Record& one : *nested) drop_clocks(one);
}
inline Record without_clocks(Record record) {
    drop_clocks(record);
    return record;
}

/// Rows of three classes around three centres, dense or CSR; class 2 first comes late.
struct Data {
    Index n, d = 3;
    std::vector<double> x;
    OwnedCsr<double, std::int32_t> csr;
    std::vector<Index> id, code;
    std::vector<double> box;
    AnyRows rows;
    explicit Data(Index n_, std::uint64_t seed, Index late = 30, bool sparse = false) : n(n_) {
        Random random(seed);
        x = random_values<double>(random, n, d, sparse ? 0.6 : 1.0);
        for (Index i = 0; i < n; ++i) {
            const Index label = i < late ? below(random, 2) : below(random, 3);
            x[static_cast<std::size_t>(i * d + label)] += 0.8;
            id.push_back(i), code.push_back(label), box.push_back(below(random, 9) ? 1.0 : 0.0);
        }
        rows = Rows<double>(dense_view(x, n, d));
        if (!sparse) return;
        csr = to_csr<double, std::int32_t>(x, n, d);
        rows = Rows<double>(csr.view());
    }
    Data(const Data&) = delete;
    /// Examples [from, to); labels that are not among the first `known` arrive with their first example, in the order
    /// of their codes.
    Chunk chunk(Index from, Index to, Index known) const {
        Chunk c{&rows, Ids::run(from, to - from), id.data() + from, code.data() + from, box.data() + from, {}};
        for (Index fresh = known; fresh < 3; ++fresh)
            for (Index i = from; i < to; ++i)
                if (code[static_cast<std::size_t>(i)] == fresh) {
                    c.arrivals.push_back({i - from, fresh});
                    break;
                }
        return c;
    }
};

inline Source rbf() { return {Kernel{KernelKind::rbf, 1.0, 0.0, 3}}; }

/// A kernel function over the rows held that fails, or asks to stop, at one of its calls.
struct Asked {
    std::function<AnyRows()> view;
    Index fails_at = -1, stops_at = -1;
    Interrupt* interrupt = nullptr;
    Index calls = 0;
    Source source() {
        return {Called<double>::Function([this](Ids queries, Ids base, double* const* columns) {
            ++calls;
            if (calls == fails_at) throw std::runtime_error("trouble");
            if (calls == stops_at) {
                interrupt->request();
                throw Interrupted();
            }
            const AnyRows rows = view();
            const Gram<double> gram(Kernel{KernelKind::rbf, 1.0, 0.0, 3}, std::get<Rows<double>>(rows), 0);
            Scratch<double> scratch;
            for (Index q = 0; q < queries.count; ++q) gram.columns(queries.part(q, 1), base, columns + q, scratch);
        })};
    }
};

/// One kind of model that learns from chunks, with its other arguments bound.
template <class M> struct Learner;
template <> struct Learner<Lasvm> {
    static Lasvm fresh(bool one_vs_rest) {
        Lasvm model(lasvm::Variant::nc, one_vs_rest);
        model.params.period = 16, model.params.warm_support = 5, model.params.most_non_sv = 3;
        return model;
    }
    static AnyRows rows(const Lasvm& m) { return m.rows.view(); }
};
template <> struct Learner<KernelSgd> {
    static KernelSgd fresh(bool one_vs_rest) {
        KernelSgd model(one_vs_rest);
        model.params.variant = kernel_sgd::Variant::norma, model.params.average = kernel_sgd::Averaging::half;
        return model;
    }
    static AnyRows rows(const KernelSgd& m) { return m.rows.view(); }
};
template <> struct Learner<Incremental> {
    static Incremental fresh(bool) {
        Incremental model(incremental::Problem::classes, 2.0, 0.0);
        model.cache_bytes = std::size_t{1} << 24;
        return model;
    }
    static AnyRows rows(const Incremental& m) { return m.rows().view(); }
};

template <class M> void learn(M& model, const Source& source, const Chunk& chunk, Interrupt* interrupt) {
    if constexpr (std::is_same_v<M, Incremental>) {
        model.learn(source, chunk, 1, interrupt);
    } else {
        const Index classes = model.classes.size() + std::ssize(chunk.arrivals);
        std::vector<double> margins(static_cast<std::size_t>(chunk.size() * classes));
        model.learn(source, chunk, {margins.data(), chunk.size(), classes}, 1, interrupt);
    }
}
template <class M> void learn(M& model, const Data& data, Index from, Index to) {
    learn(model, rbf(), data.chunk(from, to, model.classes.size()), nullptr);
}

/// A copy through a saved state.
template <class M> M copied(M& model, bool one_vs_rest) {
    M other = Learner<M>::fresh(one_vs_rest);
    const Record saved = model.save();
    const AnyRows rows = Learner<M>::rows(model);
    other.restore(saved, row_count(rows) ? &rows : nullptr);
    return other;
}

}  // namespace hingeline::testing
