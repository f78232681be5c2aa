// Guarded models in threads: calls are atomic, readers see one state; a child of fork() neither waits for ever nor
// reads what was being changed.
#include <thread>

#include "hingeline/model/guarded.hpp"
#include "hingeline/model/packed.hpp"
#include "models.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace hingeline {
namespace {

using namespace testing;

/// Counts the threads that had to wait.
struct Waiting {
    static inline std::atomic<int> count{0};
    Waiting() { ++count; }
};
template <class M> using Shared = Guarded<M, Waiting>;

/// Two values that are equal between two changes.
struct Pair {
    Index a = 0, b = 0;
};

CASE(calls_are_atomic) {
    Shared<Pair> pair;
    constexpr Index each = 2000;
    std::atomic<int> mixed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&] {
            for (Index i = 0; i < each; ++i)
                pair.change([](Pair& p) {
                    ++p.a;
                    std::this_thread::yield();
                    ++p.b;
                });
        });
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&] {
            for (Index i = 0; i < each; ++i) mixed += pair.read([](const Pair& p) { return p.a != p.b; });
        });
    for (auto& t : threads) t.join();
    CHECK(mixed == 0);
    CHECK(pair.read([](const Pair& p) { return p.a; }) == 2 * each);
    CHECK(pair.version() == 2 * each);
}

CASE(a_call_may_read_but_not_change_its_own_model) {
    Shared<Pair> pair;
    pair.change([&](Pair& p) {
        p.a = 1;
        CHECK(pair.read([](const Pair& q) { return q.a; }) == 1);
        CHECK_THROWS(pair.change([](Pair&) {}), std::runtime_error);
        CHECK_THROWS(pair.configure([](Pair&) {}), std::runtime_error);
    });
    CHECK_THROWS(pair.change([](Pair&) { throw std::invalid_argument("trouble"); }), std::invalid_argument);
    pair.change([](Pair& p) { p.b = 1; });  // free again
    CHECK(pair.version() == 3);
}

/// One writer learns, forgets and saves; readers compute with the support vectors of one state.
template <class M> void check_readers() {
    const Data data(160, 53, 20);
    Shared<M> model(Learner<M>::fresh(false));
    std::atomic<bool> done{false};
    std::atomic<Index> reads{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 2; ++t)
        readers.emplace_back([&] {
            while (!done || reads == 0)
                model.read([&](M& m) {
                    const Record now = m.attributes();
                    const Value* found = now.find("dual_coef");
                    if (!found) return;
                    const auto& coef = std::get<Numeric<double>>(*found);
                    const auto& row = now.template get<Numeric<Index>>("row").values;
                    CHECK(coef.shape[1] == static_cast<std::size_t>(row.size()));
                    for (const Index r : row) CHECK(r >= 0 && r < row_count(Learner<M>::rows(m)));
                    M copy = copied(m, false);  // a sound state
                    CHECK(same(without_clocks(copy.save()), without_clocks(m.save())));
                    ++reads;
                });
        });
    for (Index at = 0; at < data.n; at += 8)
        model.change([&](M& m) {
            learn(m, data, at, at + 8);
            if constexpr (std::is_same_v<M, Incremental>)
                if (at > 0) m.forget(rbf(), {at - 3, at - 7}, 1, nullptr);
        });
    done = true;
    for (auto& t : readers) t.join();
    M alone = Learner<M>::fresh(false);
    for (Index at = 0; at < data.n; at += 8) {
        learn(alone, data, at, at + 8);
        if constexpr (std::is_same_v<M, Incremental>)
            if (at > 0) alone.forget(rbf(), {at - 3, at - 7}, 1, nullptr);
    }
    CHECK(model.read([&](M& m) { return same(without_clocks(m.save()), without_clocks(alone.save())); }));
}
CASE(lasvm_readers) { check_readers<Lasvm>(); }
CASE(kernel_sgd_readers) { check_readers<KernelSgd>(); }
CASE(incremental_readers) { check_readers<Incremental>(); }

/// Packed support vectors are immutable: threads share them.
CASE(shared_predictions) {
    const Data data(60, 59);
    const Array<double> coef(60, 0.5);
    const SupportLines lines(coef.data(), 1, 60, {60}, {0}, {0.25});
    const Packed packed(Kernel{KernelKind::rbf, 1.0, 0.0, 3}, data.rows);
    std::vector<double> expected(60);
    packed.decide(lines, data.rows, 1, nullptr, expected.data());
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            std::vector<double> out(60);
            packed.decide(lines, data.rows, 2, nullptr, out.data());
            CHECK(same_bits(out, expected));
        });
    for (auto& t : threads) t.join();
}

#if (defined(__unix__) || defined(__APPLE__)) && !defined(__SANITIZE_THREAD__)  // which cannot follow fork()
/// Exit status of f() in a child.
template <class F> int in_child(F&& f) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);  // a lock that is never released ends the child
        _exit(f());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Exit status of child() in a child that is forked while a thread is in hold(stay), which calls stay().
template <class Hold, class Child> int forked_during(Hold&& hold, Child&& child) {
    std::atomic<bool> inside{false}, leave{false};
    std::thread thread([&] {
        hold([&] {
            inside = true;
            while (!leave) std::this_thread::yield();
        });
    });
    while (!inside) std::this_thread::yield();
    const int status = in_child(child);
    leave = true;
    thread.join();
    return status;
}

CASE(children_take_over_the_lock_of_a_reader) {
    Shared<Pair> pair;
    const auto read = [&](const auto& stay) { pair.read([&](Pair&) { stay(); }); };
    CHECK(forked_during(read, [&] { return pair.read([](const Pair& p) { return p.a == p.b ? 7 : 1; }); }) == 7);
}

CASE(children_refuse_what_was_being_changed) {
    Shared<Pair> pair;
    const auto change = [&](const auto& stay) {
        pair.change([&](Pair& p) {
            ++p.a;
            stay();
            ++p.b;
        });
    };
    const auto refused = [&] {
        const bool read = check::throws<Forked>([&] { pair.read([](const Pair& p) { return p.a; }); });
        const bool changed = check::throws<Forked>([&] { pair.change([](Pair&) {}); });
        return read && changed && pair.version() == 0 ? 7 : 1;
    };
    CHECK(forked_during(change, refused) == 7);
    CHECK(pair.read([](const Pair& p) { return p.a == 1 && p.b == 1; }));
}

/// The thread that forks in the middle of its own call goes on in the child.
CASE(a_call_that_forks_goes_on) {
    Shared<Pair> pair;
    int status = -1;
    pair.change([&](Pair& p) {
        p.a = 5;
        status = in_child([&] { return static_cast<int>(pair.read([](const Pair& q) { return q.a; })); });
    });
    CHECK(status == 5);
}
#endif

}  // namespace
}  // namespace hingeline
