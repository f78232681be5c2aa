// What a fitted model keeps: joint expansions, chunks that fail, saved states, packed support vectors.
#include "hingeline/model/batch.hpp"
#include "hingeline/model/packed.hpp"
#include "models.hpp"

namespace hingeline {
namespace {

using namespace testing;

template <class M> void check_stream(bool one_vs_rest) {
    const Data data(120, 7);
    M whole = Learner<M>::fresh(one_vs_rest), cut = Learner<M>::fresh(one_vs_rest);
    learn(whole, data, 0, 120);
    learn(cut, data, 0, 20);
    M resumed = copied(cut, one_vs_rest);
    CHECK(same(without_clocks(resumed.save()), without_clocks(cut.save())));
    learn(cut, data, 20, 75);
    learn(cut, data, 75, 120);
    learn(resumed, data, 20, 75);
    learn(resumed, data, 75, 120);
    const Record expected = without_clocks(cut.attributes());
    CHECK(expected.find("dual_coef") && expected.get<Numeric<double>>("dual_coef").values.size() > 0);
    CHECK(same(without_clocks(resumed.attributes()), expected) ||
          (std::is_same_v<M, Lasvm>));  // kernel rows recomputed
    const auto& coef = expected.template get<Numeric<double>>("dual_coef");
    CHECK(same(Value(resumed.attributes().template get<Numeric<double>>("dual_coef")), Value(coef)));
    if constexpr (!std::is_same_v<M, Incremental>)  // exact machines agree to rounding
        CHECK(same(Value(whole.attributes().template get<Numeric<double>>("dual_coef")), Value(coef)));
}

/// A kernel function fails at each of its calls in turn: the model is as before, and goes on as if nothing had been.
template <class M> void check_failures(bool one_vs_rest) {
    const Data data(60, 11);
    M reference = Learner<M>::fresh(one_vs_rest);
    learn(reference, data, 0, 25);
    M undisturbed = copied(reference, one_vs_rest);
    learn(undisturbed, data, 25, 60);
    const Record before = without_clocks(reference.save());
    Index failed = 0;
    for (Index at = 1; at < 200; ++at) {
        M model = copied(reference, one_vs_rest);
        Asked asked{[&] { return Learner<M>::rows(model); }, at};
        try {
            learn(model, asked.source(), data.chunk(25, 60, model.classes.size()), nullptr);
            break;
        } catch (const std::runtime_error&) {
            ++failed;
        }
        CHECK(same(without_clocks(model.save()), before), at);
        CHECK(row_count(Learner<M>::rows(model)) == row_count(Learner<M>::rows(reference)), at);
        learn(model, data, 25, 60);
        CHECK(same(Value(model.attributes().template get<Numeric<double>>("dual_coef")),
                   Value(undisturbed.attributes().template get<Numeric<double>>("dual_coef"))),
              at);
    }
    CHECK(failed > 0);
}

/// Ctrl-C out of a kernel function leaves a usable model with some of the examples.
template <class M> void check_interrupts(bool one_vs_rest) {
    const Data data(60, 13);
    for (Index at = 1; at < 40; at += 3) {
        M model = Learner<M>::fresh(one_vs_rest);
        learn(model, data, 0, 25);
        Interrupt interrupt([] { return false; });
        Asked asked{[&] { return Learner<M>::rows(model); }, -1, at, &interrupt};
        learn(model, asked.source(), data.chunk(25, 60, model.classes.size()), &interrupt);
        M copy = copied(model, one_vs_rest);  // a sound state
        CHECK(same(without_clocks(copy.save()), without_clocks(model.save())), at);
        if (asked.calls >= at && !std::is_same_v<M, Incremental>)
            CHECK(model.save().template get<std::string>("unfinished") == "interrupted", at);
    }
}

/// Each field in turn is missing, of another type, too long, or out of range: refused, and the model is as before.
template <class M> void check_damage() {
    const Data data(60, 17);
    M model = Learner<M>::fresh(false);
    learn(model, data, 0, 60);
    const Record saved = model.save();
    const AnyRows rows = Learner<M>::rows(model);
    M other = Learner<M>::fresh(false);
    const auto refused = [&](const Record& record) {
        return check::throws<std::invalid_argument>([&] { other.restore(record, &rows); });
    };
    for (std::size_t f = 0; f < saved.fields.size(); ++f) {
        Record missing = saved, typed = saved;
        missing.fields.erase(missing.fields.begin() + static_cast<std::ptrdiff_t>(f));
        CHECK(refused(missing), saved.fields[f].first);
        typed.fields[f].second = std::vector<std::string>{"other"};
        CHECK(refused(typed), saved.fields[f].first);
    }
    const auto& machines = saved.get<std::vector<Record>>("machines");
    for (std::size_t f = 0; f < machines.front().fields.size(); ++f) {
        const auto damaged = [&](auto&& change) {
            Record record = saved;
            for (auto& [name, value] : record.fields)
                if (name == "machines") change(std::get<std::vector<Record>>(value).front().fields[f].second);
            return record;
        };
        const std::string& name = machines.front().fields[f].first;
        CHECK(refused(damaged([](Value& v) { v = std::vector<std::string>{}; })), name);
        const Value& value = machines.front().fields[f].second;
        if (std::holds_alternative<double>(value))
            CHECK(refused(damaged([](Value& v) { v = std::numeric_limits<double>::infinity(); })), name);
        if (const auto* numbers = std::get_if<Numeric<Index>>(&value); numbers && std::ssize(numbers->values)) {
            CHECK(refused(damaged([](Value& v) { std::get<Numeric<Index>>(v).values[0] = Index{1} << 40; })) ||
                      name == "id" || name == "admitted" || name == "cleaned" || name == "skipped" ||
                      name == "average_from",
                  name);
            CHECK(refused(damaged([](Value& v) { std::get<Numeric<Index>>(v).values.push_back(0); })), name);
        }
        if (const auto* numbers = std::get_if<Numeric<double>>(&value); numbers && std::ssize(numbers->values))
            CHECK(refused(damaged([](Value& v) {
                      std::get<Numeric<double>>(v).values[0] = std::numeric_limits<double>::quiet_NaN();
                  })),
                  name);
    }
    Record newer = saved;
    for (auto& [name, value] : newer.fields)
        if (name == "version") value = Index{99};
    try {
        other.restore(newer, &rows);
        CHECK(false);
    } catch (const std::invalid_argument& error) {
        CHECK(std::string(error.what()).find("version 99") != std::string::npos, error.what());
    }
    other.restore(saved, &rows);
    CHECK(same(without_clocks(other.save()), without_clocks(saved)));
}

template <class M> void check_all() {
    for (const bool one_vs_rest : {false, true}) {
        check_stream<M>(one_vs_rest);
        check_failures<M>(one_vs_rest);
        check_interrupts<M>(one_vs_rest);
    }
    check_damage<M>();
}

CASE(lasvm_streams) { check_all<Lasvm>(); }
CASE(kernel_sgd_streams) { check_all<KernelSgd>(); }
CASE(incremental_streams) { check_all<Incremental>(); }

/// The union against a table built entry by entry.
CASE(joint_expansions) {
    Random random(3);
    for (int trial = 0; trial < 40; ++trial) {
        const Index classes = 2 + below(random, 4), n = 30;
        const bool one_vs_rest = classes > 2 && trial % 2;
        std::vector<Index> code;
        for (Index i = 0; i < n; ++i) code.push_back(below(random, classes));
        Array<Terms> machines;
        std::vector<std::pair<Index, Index>> sides;
        for (Index i = 0; i < classes; ++i) {
            if (one_vs_rest) sides.push_back({i, -1});
            for (Index j = i + 1; !one_vs_rest && j < classes; ++j) sides.push_back({i, j});
        }
        for (const auto& [first, second] : sides) {
            Terms terms;
            for (Index i = n - 1; i >= 0; --i) {
                const Index c = code[static_cast<std::size_t>(i)];
                if ((second < 0 || c == first || c == second) && below(random, 3) == 0)
                    terms.add(i, 100 + i, c, uniform(random, -1, 1));
            }
            machines.push_back(std::move(terms));
        }
        const Joint joint = join(machines, classes, one_vs_rest);
        const Index width = std::ssize(joint.id);
        CHECK(joint.lines == (one_vs_rest ? classes : classes - 1));
        CHECK(std::accumulate(joint.n_support.begin(), joint.n_support.end(), Index{0}) == width);
        for (Index k = 0; k < width; ++k) {
            const Index row = joint.row[k], c = code[static_cast<std::size_t>(row)];
            CHECK(joint.id[k] == 100 + row);
            const Index before = k ? code[static_cast<std::size_t>(joint.row[k - 1])] : 0;
            CHECK(before < c || (before == c && (k == 0 || joint.id[k - 1] < joint.id[k])));
            for (std::size_t m = 0; m < sides.size(); ++m) {
                const auto [first, second] = sides[m];
                if (!one_vs_rest && c != first && c != second) continue;
                const Index line = one_vs_rest ? static_cast<Index>(m) : c == first ? second - 1 : first;
                double expected = 0;
                for (Index t = 0; t < std::ssize(machines[static_cast<Index>(m)].id); ++t)
                    if (machines[static_cast<Index>(m)].row[t] == row)
                        expected = machines[static_cast<Index>(m)].coef[t];
                CHECK(joint.dual_coef[line * width + k] == expected);
            }
        }
    }
}

/// Packed support vectors against plain sums; the same bits for any number of queries at a time.
CASE(packed_support_vectors) {
    Random random(5);
    const Index n = 70, queries = 90, d = 20;
    const auto x = random_values<double>(random, n, d, 0.2), z = random_values<double>(random, queries, d);
    const AnyRows support = Rows<double>(dense_view(x, n, d)), asked = Rows<double>(dense_view(z, queries, d));
    Array<double> coef;
    for (Index i = 0; i < 2 * n; ++i) coef.push_back(uniform(random, -1, 1));
    const SupportLines lines(coef.data(), 2, n, {30, 40}, {0, 1, 0, 2}, {0.5, -1.0, 2.0});
    const Packed packed(Kernel{KernelKind::linear, 1.0, 0.0, 3}, support);
    std::vector<double> out(queries * 3), one(3);
    CHECK(packed.decide(lines, asked, 1, nullptr, out.data()));
    for (Index q = 0; q < queries; ++q) {
        double expected[3] = {0.5, -1.0, 2.0};
        for (Index s = 0; s < n; ++s) {
            double k = 0;
            for (Index j = 0; j < d; ++j)
                k += x[static_cast<std::size_t>(s * d + j)] * z[static_cast<std::size_t>(q * d + j)];
            expected[0] += coef[s] * k;
            expected[s < 30 ? 1 : 2] += coef[n + s] * k;
        }
        for (Index o = 0; o < 3; ++o)
            CHECK(std::abs(out[static_cast<std::size_t>(3 * q + o)] - expected[o]) <
                  1e-12 * (1 + std::abs(expected[o])));
        const AnyRows single = Rows<double>(DenseRows<double>{z.data() + q * d, 1, d, d, 1});
        packed.decide(lines, single, 1, nullptr, one.data());
        CHECK(same_bits(one.data(), out.data() + 3 * q, 3));
    }
    const double two[] = {1.0, 2.0};
    CHECK_THROWS(SupportLines(two, 1, 2, {1}, {0}, {0.0}), std::invalid_argument);
    CHECK_THROWS(SupportLines(two, 1, 2, {2}, {1}, {0.0}), std::invalid_argument);
    CHECK_THROWS(SupportLines(two, 1, 2, {2}, {}, {0.0}), std::invalid_argument);
    CHECK_THROWS(SupportLines(two, 1, 2, {1, 1}, {}, {0.0, 0.0}), std::invalid_argument);
}

/// Exact machines: forgetting what was added gives the machines before, ids that are not held are refused.
CASE(incremental_forgets) {
    const Data data(50, 19, 0);
    Incremental model = Learner<Incremental>::fresh(false);
    learn(model, data, 0, 40);
    const auto before = model.attributes().get<Numeric<double>>("dual_coef");
    learn(model, data, 40, 50);
    CHECK_THROWS(model.forget(rbf(), {40, 77}, 1, nullptr), std::invalid_argument);
    Array<Index> added;
    for (Index i = 40; i < 50; ++i) added.push_back(i);
    model.forget(rbf(), added, 1, nullptr);
    CHECK(model.n_rows() == 40 && model.n_seen() == 50);
    const auto after = model.attributes().get<Numeric<double>>("dual_coef");
    CHECK(after.shape == before.shape);
    for (Index i = 0; i < std::min(std::ssize(before.values), std::ssize(after.values)); ++i)
        CHECK(std::abs(after.values[i] - before.values[i]) < 1e-9);
    CHECK(model.violation(rbf(), 1, nullptr) < 1e-9);
}

/// A signal handler that raises undoes the call, also if points have left the window by then.
CASE(incremental_failed_polls_undo_a_window) {
    const Data data(500, 29);
    Incremental model = Learner<Incremental>::fresh(false);
    model.model.window = 250;
    learn(model, data, 0, 250);
    const Record before = without_clocks(model.save());
    Interrupt* self = nullptr;
    Index looks = 0;
    Interrupt later([&] {  // in the middle; the sleep makes the next step look again
        std::this_thread::sleep_for(std::chrono::milliseconds(21));
        if (++looks < 30) return false;
        self->fail();
        return true;
    });
    self = &later;
    learn(model, rbf(), data.chunk(250, 250 + model.model.kernel.block(), model.classes.size()), &later);
    CHECK(later.failed());
    CHECK(same(before, without_clocks(model.save())));
    CHECK(model.n_rows() == 250 && model.violation(rbf(), 1, nullptr) < 1e-9);
}

/// Batch machines: attributes of all pairs, and sums by halves.
CASE(batch_machines) {
    const Data data(60, 23, 0);
    const Values values(rbf(), data.rows, 0);
    Array<Index> codes(data.code), first;
    for (const auto& [i, j] : {std::pair<Index, Index>{0, 1}, {0, 2}, {1, 2}})
        for (Index r = 0;; ++r)
            if (codes[r] == i || codes[r] == j) {
                first.push_back(r);
                break;
            }
    Ollawv pairs = start_ollawv({1.0, 0.1, 1.0, true, std::size_t{1} << 20}, codes, {1.0, 1.0, 1.0}, first);
    CHECK(pairs.learn(values, 1, 1, nullptr));
    CHECK(pairs.attributes("stopped").get<std::vector<std::string>>("stop_reason")[0] == "stopped");
    CHECK(!pairs.learn(values, 2, Index{1} << 60, nullptr));
    CHECK(pairs.attributes("stopped").get<Numeric<double>>("dual_coef").shape[0] == 2);
    CHECK_THROWS(start_ollawv({}, codes, {1.0, 1.0, 1.0}, {-1, 0, 0}), std::invalid_argument);
    Ollawv at_once = start_ollawv({1.0, 0.8, 1.0, true, std::size_t{1} << 20}, codes, {1.0, 1.0, 1.0}, first);
    CHECK(!at_once.learn(values, 1, Index{1} << 60, nullptr));
    raise_margin(pairs, 0.8);  // goes on from margin 0.1
    CHECK(!pairs.learn(values, 1, Index{1} << 60, nullptr));
    for (Index m = 0; m < 3; ++m) {
        CHECK(same_bits(pairs.machines[m].a, at_once.machines[m].a) && pairs.machines[m].b == at_once.machines[m].b);
        CHECK(pairs.machines[m].chosen == at_once.machines[m].chosen);
        CHECK(ollawv::largest_output(pairs.machines[m]) == ollawv::largest_output(at_once.machines[m]));
    }
    CHECK_THROWS(raise_margin(pairs, 0.5), std::invalid_argument);
    Array<double> penalties(60, 2.0);
    L2Machines all = start_l2(L2Rule::imdm, true, {true, 1e-3, 1 << 20, std::size_t{1} << 20}, codes, 3, penalties);
    CHECK(!all.learn(values, 1, Index{1} << 60, nullptr));
    CHECK(all.attributes("stopped").get<Numeric<double>>("dual_coef").shape[0] == 3);
    CHECK_THROWS(guess(all, 0, penalties.data(), 60), std::invalid_argument);
    for (const Index n : {0, 5, 8, 100, 129, 1000}) {
        std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
        CHECK(pairwise_sum(ones.data(), n) == static_cast<double>(n));
    }
}

}  // namespace
}  // namespace hingeline
