// A small test harness: CASE(name) { ... } registers a case and `main` runs them all; a failed CHECK prints its
// place, with whatever follows the expression, and the program returns 1. CASE_ONCE is for laws about threads, cuts and
// interrupts, which do not depend on the instruction set: it runs on the widest one only.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace check {

inline std::atomic<int> count{0}, failures{0};
inline std::vector<std::pair<const char*, void (*)()>> cases;

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

#define CASE(name)                                                                     \
    static void name();                                                                \
    static const bool name##_listed = (check::cases.emplace_back(#name, &name), true); \
    static void name()
#define CASE_ONCE(name)                                                                                                \
    static void name();                                                                                                \
    static const bool name##_listed = std::getenv("HINGELINE_ISA") || (check::cases.emplace_back(#name, &name), true); \
    static void name()
#define CHECK(expression, ...) \
    (++check::count, (expression) ? void() : check::fail(__FILE__, __LINE__, #expression __VA_OPT__(, ) __VA_ARGS__))
#define CHECK_THROWS(expression, type) CHECK(check::throws<type>([&] { (void)(expression); }), "should throw " #type)

int main() {
    for (const auto& [name, run] : check::cases) try {
            run();
        } catch (const std::exception& e) {
            check::fail(name, 0, "no exception", e.what());
        }
    std::printf("%d checks, %d failures\n", check::count.load(), check::failures.load());
    return check::failures ? 1 : 0;
}
