// One-vs-one: the two-class problems of c classes over shared rows, in the order (0,1), (0,2), ..., (c-2,c-1).
#pragma once

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "hingeline/core/array.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline {

/// Row numbers of each class, ascending.
inline Array<Array<Index>> rows_by_class(const std::int64_t* codes, Index n, Index classes) {
    Array<Array<Index>> rows(classes);
    for (Index i = 0; i < n; ++i) {
        if (codes[i] < 0 || codes[i] >= classes) throw std::invalid_argument("class code out of range");
        rows[codes[i]].push_back(i);
    }
    return rows;
}

/// Run work(pair, threads, share), the largest pairs first: many pairs in parallel with one thread each, few pairs one
/// after another with all threads. `share` is the number of pairs that run at a time, for dividing memory.
template <class Size, class Work>
void run_pairs(Index count, int threads, Interrupt* interrupt, Size&& size_of, Work&& work) {
    Array<Index> order(count);
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return size_of(a) > size_of(b); });
    if (count >= threads && threads > 1) {
        run_tasks(count, threads, interrupt, [&](Index i, int) { work(order[i], 1, threads); });
        return;
    }
    for (const Index pair : order) {
        if (interrupt && interrupt->requested()) return;
        work(pair, threads, 1);
    }
}

}  // namespace hingeline
