// Choice of the active set and of the working set of the block solver (solve.hpp).
#pragma once

#include "hingeline/algo/engine/state.hpp"

namespace hingeline::engine {

/// splitmix64: the choice of violators must be the same everywhere.
inline std::uint64_t draw(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/// Move `count` random elements to the front.
inline void shuffle_front(Array<Index>& list, Index count, std::uint64_t& random) {
    for (Index i = 0; i < count; ++i) {
        const auto left = static_cast<std::uint64_t>(list.size() - i);
        std::swap(list[i], list[i + static_cast<Index>(draw(random) % left)]);
    }
}

/// How to fill the working set: `random` while violators are drawn at random. `wide`: with room for more points than
/// there are free ones. These change in every outer step, so fewer outer steps save kernel values, but the steps on a
/// larger set cost more. `light`: the last set took few steps for each point, so kernel values are most of the time.
struct Filling {
    bool random = true, wide = false, light = false;
};

/// Size of the working set. It must exceed the number of free support vectors: otherwise every block undoes part of the
/// last one, and the number of outer steps explodes. While violators are drawn at random it has room for many of them,
/// and if it is `light` it need not hold the free points.
inline Index block_size(const BlockSizes& b, Index n, Index active, Index free, const Filling& f) {
    const Index share = n / 13, usual = std::max(share, f.random ? b.smallest : b.finishing);
    const Index roomy = std::max(usual, !f.random ? free + free / 4 : f.wide ? 2 * free + free / 2 : free + free / 2);
    const Index widest = f.random && f.wide ? b.widest_coarse : b.widest;
    return std::min(active, std::max(std::min(roomy, widest), f.light ? share : free + free / 5));
}

/// Positions that may still change: the free ones, and those within `band` of violating.
inline Array<Index> near_margin(const State& s, const Pair& levels, double band) {
    Array<Index> out;
    for (Index i = 0; i < s.n(); ++i) {
        const double b = levels[s.group(i)];
        if (s.is_free(i) || (s.is_up(i) && s.rise(i) > b - band) || (s.is_low(i) && s.fall(i) < b + band))
            out.push_back(i);
    }
    return out;
}

/// Width of the band of the active set: half of the 90th percentile of the violations, and at least half of the margin.
/// A narrow band saves little, and points that come in later cost a synchronisation.
inline double active_band(const State& s, const Pair& levels) {
    Array<double> sizes;
    for (Index i = 0; i < s.n(); ++i) {
        const double b = levels[s.group(i)], above = s.rise(i) - b, below = s.fall(i) - b;
        if (above > 0 ? s.is_up(i) : below <= 0 && s.is_low(i)) sizes.push_back(std::abs(above > 0 ? above : below));
    }
    const double least = 0.5 * s.unit;
    if (sizes.empty()) return least;
    const auto at = sizes.begin() + static_cast<Index>(0.9 * static_cast<double>(sizes.size() - 1));
    std::nth_element(sizes.begin(), at, sizes.end());
    return std::max(least, 0.5 * *at);
}

/// A working set, ascending, and whether it holds random violators rather than the worst ones.
struct Working {
    Array<Index> positions;
    bool random = false;
};

/// The pair that violates most, free points (those of the last working set first), at most `most_free`, then violators
/// of the middle: random ones while there are many (the worst ones are near copies of each other), else the worst, up
/// and low by turns. With `light` free points that are left out do not count as violators.
inline Working choose_working(State& s, const Looks& l, Index q, Index most_free, bool light = false) {
    Working out;
    Array<char> chosen(s.n(), 0);
    const auto add = [&](Index i) {
        if (chosen[i]) return;
        chosen[i] = 1;
        out.positions.push_back(i);
    };
    for (const Look& one : l.of)
        for (const Index i : {one.top_at, one.bottom_at})
            if (i >= 0) add(i);
    for (const Index i : s.working)
        if (out.positions.size() < most_free && s.is_free(i)) add(i);
    for (const Index i : s.active)
        if (out.positions.size() < most_free && s.is_free(i)) add(i);
    const Pair middle = l.middles();
    const bool relative = s.groups() > 1 || s.e > 0;  // slopes relative to the middle of their group
    const auto rise = [&](Index i) { return relative ? s.rise(i) - middle[s.group(i)] : s.rise(i); };
    const auto fall = [&](Index i) { return relative ? s.fall(i) - middle[s.group(i)] : s.fall(i); };
    const auto kinked = [&](Index i) { return s.e > 0 && s.beta[i] == 0; };
    Array<Index> up, low;
    for (const Index i : s.active) {
        if (chosen[i] || (light && s.is_free(i))) continue;
        const double between = middle[s.group(i)];
        if (s.is_up(i) && s.rise(i) > between) up.push_back(i);
        if (s.is_low(i) && s.fall(i) < between) low.push_back(i);
    }
    const Index room = q - out.positions.size();
    out.random = up.size() + low.size() > 2 * room;
    if (!out.random) {  // points that do not violate yet are welcome: some will
        up.clear(), low.clear();
        for (const Index i : s.active)
            if (!chosen[i]) (s.is_up(i) && !(kinked(i) && rise(i) + fall(i) < 0) ? up : low).push_back(i);
    }
    const Index from_low = std::min(low.size(), std::max(room / 2, room - up.size()));
    const Index from_up = std::min(up.size(), room - from_low);
    if (out.random) {
        shuffle_front(up, from_up, s.random);
        shuffle_front(low, from_low, s.random);
    } else {
        const auto front = [](Array<Index>& list, Index count, auto&& before) {
            if (count < list.size()) std::nth_element(list.begin(), list.begin() + count, list.end(), before);
        };
        const auto higher = [&](Index a, Index b) { return rise(a) > rise(b) || (rise(a) == rise(b) && a < b); };
        const auto lower = [&](Index a, Index b) { return fall(a) < fall(b) || (fall(a) == fall(b) && a < b); };
        front(up, from_up, higher);
        front(low, from_low, lower);
    }
    std::for_each(up.begin(), up.begin() + from_up, add);
    std::for_each(low.begin(), low.begin() + from_low, add);
    std::sort(out.positions.begin(), out.positions.end());
    return out;
}

}  // namespace hingeline::engine
