// Library for LD_PRELOAD whose operator new fails on demand.
//
// c++ -std=c++20 -O2 -shared -fPIC fail_new.cpp -o fail_new.so
//
// fail_new_at(k): allocation k from now on fails, once (k >= 1). fail_new_stop(): end, and return whether it has
// failed. Allocations of all threads are counted.
#include "../../cpp/tests/failing_new.hpp"

extern "C" {
void fail_new_at(long k) { failing_new::start(k); }
int fail_new_stop() {
    failing_new::stop();
    return failing_new::failed ? 1 : 0;
}
}
