// Interrupts, traces, threads and class pairs.
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include "hingeline/algo/pairs.hpp"
#include "hingeline/run/meeting.hpp"
#include "hingeline/run/team.hpp"
#include "hingeline/run/trace.hpp"

namespace hingeline {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// ---- stop ----------------------------------------------------------------------------------------

CASE(an_interrupt_polls_every_20_ms) {
    int polls = 0;
    Interrupt interrupt([&] { return ++polls, false; });
    const auto start = Clock::now();
    int asked = 0;
    for (; seconds_since(start) < 0.11; ++asked) CHECK(!interrupt.requested());
    const double seconds = seconds_since(start);
    CHECK(polls >= 2 && asked > polls, polls);
    CHECK(polls <= 1 + seconds / 0.020, polls, seconds);
}

CASE(only_the_owner_polls) {
    std::atomic<int> polls{0};
    std::atomic<bool> answer{false};
    Interrupt interrupt([&] { return ++polls, answer.load(); });
    const auto seen_by_another = [&] {
        bool seen = false;
        std::thread([&] { seen = interrupt.requested(); }).join();
        return seen;
    };
    answer = true;
    CHECK(!seen_by_another());
    CHECK(polls == 0);
    CHECK(interrupt.requested());  // the first question is never too early
    CHECK(polls == 1);
    CHECK(seen_by_another());
    answer = false;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    CHECK(interrupt.requested());  // once is for good, and no more is asked
    CHECK(polls == 1);
}

CASE(reasons_have_names) {
    CHECK(std::string(name(Reason::running)) == "running");
    CHECK(std::string(name(Reason::margin)) == "margin");
    CHECK(std::string(name(Reason::cap)) == "cap");
    CHECK(std::string(name(Reason::exhausted)) == "exhausted");
    CHECK(std::string(name(Reason::interrupted)) == "interrupted");
    CHECK(Stop{}.interrupt == nullptr && Stop{}.max_steps == std::numeric_limits<Index>::max());
}

// ---- trace ---------------------------------------------------------------------------------------

CASE(a_trace_keeps_columns_and_time) {
    Trace trace{{"step", true}, {"seconds", false}, {"violation", false}};
    trace.start();
    trace.add({1, -0.5});
    trace.pause();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // does not count
    const auto start = Clock::now();
    trace.start();
    trace.add({4, 0.25});
    const double second_part = seconds_since(start);
    trace.pause();
    CHECK(trace.column("step") == (Array<double>{1, 4}));
    CHECK(trace.column("violation") == (Array<double>{-0.5, 0.25}));
    CHECK_THROWS(trace.column("gap"), std::out_of_range);
    const Array<double> seconds = trace.column("seconds");
    CHECK(seconds.size() == 2 && seconds[0] >= 0 && seconds[1] >= seconds[0]);
    CHECK(seconds[1] <= seconds[0] + second_part + 0.09, seconds[0], seconds[1]);
    trace.add({9, 1.0});
    trace.add({16, 2.0});
    trace.thin();
    CHECK(trace.size() == 2 && trace.column("step") == (Array<double>{4, 16}));
    CHECK(trace.column("violation") == (Array<double>{0.25, 2.0}));
}

// ---- team ----------------------------------------------------------------------------------------

CASE(a_team_runs_every_rank_once) {
    for (int wanted = -1; wanted <= 5; ++wanted) {
        const int expected = std::max(wanted, 1);
        Array<int> runs(expected, 0), sizes(runs);
        std::thread::id first;
        run_team(wanted, nullptr, [&](int rank, int size) {
            ++runs[rank];
            sizes[rank] = size;
            if (rank == 0) first = std::this_thread::get_id();
        });
        CHECK(runs == Array<int>(runs.size(), 1), wanted);
        CHECK(sizes == Array<int>(runs.size(), expected), wanted);
        CHECK(first == std::this_thread::get_id(), wanted);
    }
}

CASE(a_team_passes_on_exceptions_when_all_have_ended) {
    for (int size = 1; size <= 4; ++size)
        for (int bad = 0; bad < size; ++bad) {
            std::atomic<int> ended{0};
            bool thrown = false;
            try {
                run_team(size, nullptr, [&](int rank, int) {
                    if (rank == bad) throw std::runtime_error("rank " + std::to_string(rank));
                    std::this_thread::sleep_for(std::chrono::milliseconds(2));
                    ++ended;
                });
            } catch (const std::runtime_error& e) {
                thrown = e.what() == "rank " + std::to_string(bad);
            }
            CHECK(thrown && ended == size - 1, size, bad);
        }
    CHECK_THROWS(run_team(4, nullptr, [](int, int) { throw std::out_of_range("all"); }), std::out_of_range);
}

CASE(rank_0_answers_the_interrupt_while_others_work) {
    Interrupt interrupt([start = Clock::now()] { return seconds_since(start) > 0.05; });
    const auto start = Clock::now();
    run_team(3, &interrupt, [&](int rank, int) {
        if (rank == 0) return;
        while (!interrupt.requested() && seconds_since(start) < 20)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    CHECK(seconds_since(start) < 10);
}

CASE(tasks_run_once_each) {
    for (const Index count : {0, 1, 2, 5, 1000})
        for (int threads = 0; threads <= 5; ++threads) {
            Array<std::atomic<int>> runs(count);
            std::atomic<int> highest{0};
            run_tasks(count, threads, nullptr, [&](Index task, int rank) {
                ++runs[task];
                for (int seen = highest; rank > seen && !highest.compare_exchange_weak(seen, rank);) {
                }
            });
            CHECK(std::all_of(runs.begin(), runs.end(), [](const auto& n) { return n == 1; }), count, threads);
            CHECK(highest < std::max(threads, 1), count, threads);
        }
    CHECK_THROWS(run_tasks(100, 3, nullptr,
                           [](Index task, int) {
                               if (task == 57) throw std::range_error("57");
                           }),
                 std::range_error);
}

CASE(no_task_begins_after_an_interrupt) {
    for (int threads = 1; threads <= 3; ++threads) {
        Interrupt now([] { return true; });
        std::atomic<int> runs{0};
        run_tasks(1000, threads, &now, [&](Index, int) {
            ++runs;
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        });
        CHECK(runs < 1000, threads);
        if (threads == 1) CHECK(runs == 0);
    }
}

// ---- crew ----------------------------------------------------------------------------------------

CASE(a_crew_lends_its_threads_to_teams) {
    std::mutex mutex;
    std::map<int, std::set<std::thread::id>> ids;  // by rank
    const auto note = [&](int rank, int) {
        std::lock_guard lock(mutex);
        ids[rank].insert(std::this_thread::get_id());
    };
    {
        const Crew crew(3);
        for (int run = 0; run < 50; ++run) run_team(3, nullptr, note);
        CHECK(ids.size() == 3 && ids[0].count(std::this_thread::get_id()) == 1);
        for (const auto& [rank, threads] : ids) CHECK(threads.size() == 1, rank);
        std::atomic<int> ranks{0};
        run_team(5, nullptr, [&](int, int size) { ranks += size; });  // more than the crew has
        CHECK(ranks == 9, ranks.load());
        std::atomic<int> inside{0};
        run_team(2, nullptr, [&](int, int) { run_team(2, nullptr, [&](int, int) { ++inside; }); });
        CHECK(inside == 4, inside.load());
        {
            const Crew inner(2);
            ids.clear();
            for (int run = 0; run < 9; ++run) run_team(2, nullptr, note);
            CHECK(ids[1].size() == 1);
        }
        bool other = false;
        std::thread([&] { other = Crew::idle() == nullptr; }).join();
        CHECK(other && Crew::idle() == &crew);
    }
    CHECK(Crew::idle() == nullptr);
}

CASE(a_crew_passes_on_exceptions_and_works_on) {
    const Crew crew(3);
    for (int bad = 0; bad < 3; ++bad) {
        std::atomic<int> ended{0};
        const auto work = [&](int rank, int) {
            if (rank == bad) throw std::range_error("bad");
            ++ended;
        };
        CHECK_THROWS(run_team(3, nullptr, work), std::range_error);
        CHECK(ended == 2, bad);
        run_team(3, nullptr, [&](int, int) { ++ended; });
        CHECK(ended == 5, bad);
    }
}

CASE(a_crew_answers_the_interrupt_and_wakes_up) {
    const Crew crew(2);
    std::atomic<bool> asked{false};
    Interrupt interrupt([&] { return asked = true; });
    run_team(2, &interrupt, [&](int rank, int) {
        while (rank == 1 && !asked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // the threads sleep by now
    std::atomic<int> runs{0};
    run_team(2, nullptr, [&](int, int) { ++runs; });
    CHECK(asked && runs == 2);
}

CASE(threads_tell_each_other_something) {
    struct Message {
        int from = 0;
        int round = 0;
    };
    for (const int size : {1, 2, 3}) {
        Meeting<Message, 4> odd, even;
        Waiting waiting;
        std::atomic<int> wrong{0};
        run_team(size, nullptr, [&](int rank, int of) {
            for (int round = 1; round <= 2000; ++round) {
                int sum = rank, met = 1;
                (round % 2 ? odd : even)
                    .meet(rank, of, static_cast<std::uint64_t>(round), waiting, {rank, round}, [&](const Message& m) {
                        wrong += m.round != round;
                        sum += m.from, ++met;
                    });
                wrong += met != of || sum != of * (of - 1) / 2;
            }
        });
        CHECK(wrong == 0, size, wrong.load());
    }
}

CASE(a_long_wait_is_noticed) {
    Waiting waiting;
    CHECK(!waiting.lost());
    waiting.wait([] { return true; });
    CHECK(!waiting.lost());
    const auto start = Clock::now();
    waiting.wait([&] { return seconds_since(start) > 0.01; });
    CHECK(waiting.lost());
    waiting.begin();
    CHECK(!waiting.lost());
}

// ---- barrier -------------------------------------------------------------------------------------

struct alignas(64) Own {
    int value = 0;
};

/// Rank 0 ends a loop early where threads have to wait for a processor: the others see it after the next meeting.
class Patience {
  public:
    explicit Patience(int most) : end_(most) {}
    bool over(int round, int rank, Barrier& meeting) {
        if (rank == 0 && seconds_since(start_) > 0.2) end_ = std::min(round, end_.load());
        meeting.wait();
        return round >= end_;
    }

  private:
    Clock::time_point start_ = Clock::now();
    std::atomic<int> end_;
};

CASE(a_barrier_keeps_threads_in_step) {
    for (int size = 1; size <= 4; ++size) {
        Barrier barrier(size);
        Patience patience(20'000);
        Array<Own> rounds(size);
        std::atomic<int> wrong{0};
        run_team(size, nullptr, [&](int rank, int) {
            for (int round = 1; !patience.over(round, rank, barrier); ++round) {
                rounds[rank].value = round;
                barrier.wait();
                for (const Own& other : rounds) wrong += other.value != round;
            }
        });
        CHECK(wrong == 0, size, wrong.load());
    }
}

/// Some threads leave while the others arrive: every thread is counted. It is the last meeting of such a barrier.
CASE(leaving_and_arriving_at_once) {
    for (const auto& [size, leavers] : {std::pair{2, 1}, {3, 1}, {3, 2}, {4, 2}}) {
        const int trials = 20'000;
        Array<std::unique_ptr<Barrier>> barriers;
        for (int i = 0; i < trials; ++i) barriers.push_back(std::make_unique<Barrier>(size));
        Array<Own> progress(size);
        Barrier start(size);
        Patience patience(trials);
        std::atomic<int> wrong{0};
        const int stay = size - leavers;
        run_team(size, nullptr, [&](int rank, int) {
            for (int i = 0; !patience.over(i, rank, start); ++i) {
                progress[rank].value = i;
                if (i % 2) {  // an ordinary meeting before the last
                    barriers[i]->wait();
                    for (const Own& other : progress) wrong += other.value != i;
                }
                std::atomic<int> delay{(i * (rank + 7)) % 61};  // they come together at another point in each trial
                while (delay.load() > 0) --delay;
                if (rank < stay)
                    barriers[i]->wait();
                else
                    barriers[i]->leave();
                if (rank < stay)
                    for (int other = 0; other < stay; ++other) wrong += progress[other].value != i;
            }
        });
        CHECK(wrong == 0, size, wrong.load());
    }
}

// ---- pairs ---------------------------------------------------------------------------------------

CASE(rows_of_each_class) {
    const Array<std::int64_t> codes{1, 0, 3, 1, 1, 0};
    const auto rows = rows_by_class(codes.data(), 6, 4);
    CHECK(rows == (Array<Array<Index>>{{1, 5}, {0, 3, 4}, {}, {2}}));
    CHECK_THROWS(rows_by_class(codes.data(), 6, 3), std::invalid_argument);
    const Array<std::int64_t> negative{0, -1};
    CHECK_THROWS(rows_by_class(negative.data(), 2, 3), std::invalid_argument);
    CHECK(rows_by_class(nullptr, 0, 2).size() == 2);
}

CASE(pairs_run_once_each_and_the_largest_first) {
    const Array<Index> sizes{3, 9, 1, 9, 5, 7};
    for (const Index count : {0, 1, 3, 6})
        for (int threads = 1; threads <= 4; ++threads) {
            std::mutex mutex;
            Array<Index> order;
            run_pairs(
                count, threads, nullptr, [&](Index i) { return sizes[i]; },
                [&](Index pair, int team, int at_a_time) {
                    std::lock_guard lock(mutex);
                    order.push_back(pair);
                    CHECK(team * at_a_time == threads, count, threads);
                    CHECK(at_a_time <= std::max<Index>(count, 1), count, threads);
                });
            CHECK(order.size() == count);
            if (threads == 1)
                for (Index i = 1; i < order.size(); ++i) CHECK(sizes[order[i - 1]] >= sizes[order[i]]);
            std::sort(order.begin(), order.end());
            for (Index i = 0; i < count; ++i) CHECK(order[i] == i, count, threads);
        }
    Interrupt now([] { return true; });
    for (int threads = 1; threads <= 2; ++threads) {
        int runs = 0;
        run_pairs(1, threads, &now, [](Index) { return 1; }, [&](Index, int, int) { ++runs; });
        CHECK(runs == 0, threads);
    }
}

}  // namespace
}  // namespace hingeline
