// A small test harness: CASE(name) { ... } registers a case and `main` runs them; a failed CHECK prints its
// place, with the values that follow the expression, and the program returns 1. CASE_ONCE is for laws about threads,
// cuts and interrupts, which do not depend on the instruction set: it runs on the widest one only. Cases that take
// longer than a second are printed with their time.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace check {

inline std::atomic<int> count{0}, failures{0};
struct Case {
    const char *file, *name;
    void (*run)();
};
inline std::vector<Case> cases;

template <class... Context> void fail(const char* file, int line, const char* text, const Context&... context) {
    constexpr int most = 5;  // of one place: one mistake can fail a thousand times
    static std::mutex mutex;
    static std::map<std::pair<std::string, int>, int> seen;
    ++failures;
    std::lock_guard lock(mutex);
    if (++seen[{file, line}] > most) return;
    std::ostringstream words;
    words.precision(17);
    ((words << ' ' << context), ...);
    std::fprintf(stderr, "%s:%d: failed: %s %s\n", file, line, text, words.str().c_str());
}

template <class E, class F> bool throws(F&& f) {
    try {
        f();
    } catch (const E&) {
        return true;
    }
    return false;
}

}  // namespace check

#define CASE(name)                                                                              \
    static void name();                                                                         \
    static const bool name##_listed = (check::cases.push_back({__FILE__, #name, &name}), true); \
    static void name()
#define CASE_ONCE(name)                                                                           \
    static void name();                                                                           \
    static const bool name##_listed =                                                             \
        std::getenv("HINGELINE_ISA") || (check::cases.push_back({__FILE__, #name, &name}), true); \
    static void name()
#define CHECK(expression, ...) \
    (++check::count, (expression) ? void() : check::fail(__FILE__, __LINE__, #expression __VA_OPT__(, ) __VA_ARGS__))
#define CHECK_THROWS(expression, type) CHECK(check::throws<type>([&] { (void)(expression); }), "should throw " #type)

/// With an argument: only the cases of files whose name contains it.
int main(int count, char** arguments) {
    for (const auto& [file, name, run] : check::cases) {
        if (count > 1 && !std::strstr(file, arguments[1])) continue;
        const std::clock_t start = std::clock();
        try {
            run();
        } catch (const std::exception& e) {
            check::fail(name, 0, "no exception", e.what());
        }
        const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        if (seconds > 1) std::printf("%s: %.1f s\n", name, seconds);
    }
    std::printf("%d checks, %d failures\n", check::count.load(), check::failures.load());
    return check::failures || check::count == 0 ? 1 : 0;
}
