// KernelRows: the kernel rows that an exact machine needs. Those of the margin set M and of the drivers stay held.
#pragma once

#include "hingeline/algo/incremental/state.hpp"
#include "hingeline/kernel/self_gram.hpp"

namespace hingeline::incremental {

template <class Source> class KernelRows {
  public:
    KernelRows(State& state, SelfGram<double>& kernel, const Source& source, std::vector<Scratch<double>>& scratch)
        : s(state), kernel_(kernel), source_(source), scratch_(scratch) {}

    Index driver = -1;  // position whose coefficient is being moved
    Index outer = -1;   // a driver that is interrupted by this one

    /// Compute the rows of `some` that are not held, all together. The rows of M stay.
    void hold(const Array<Index>& some) {
        Array<Index> missing;
        Index others = 0;
        for (const Index k : s.margin) kernel_.touch(k);
        for (const Index k : some) {
            kernel_.touch(k);
            others += s.place[k] != Place::margin;
            if (!kernel_.find(k)) missing.push_back(k);
        }
        require_room(others);
        if (missing.empty()) return;
        const Clock clock(s.counts, Part::kernel);
        if (!kernel_.fetch(missing, source_, Ids::run(0, kernel_.size()), scratch_)) throw Interrupted();
    }
    /// Row of position p. The rows of M and of the drivers stay.
    const double* at(Index p) {
        if (const double* held = kernel_.find(p)) {
            kernel_.touch(p);
            return held;
        }
        const Clock clock(s.counts, Part::kernel);
        require_room(1);
        for (const Index k : s.margin) kernel_.touch(k);
        for (const Index k : {driver, outer})
            if (k >= 0) kernel_.touch(k);
        const double* found = kernel_.row(p, source_, Ids::run(0, kernel_.size()), scratch_);
        if (!found) throw Interrupted();
        return found;
    }
    /// out += K alpha over the rows of the support vectors in their order. With `recompute` no held row is used.
    void outputs(double* out, bool recompute = false) {
        constexpr Index together = 64;
        Array<Index> support, missing;
        for (Index i = 0; i < s.n; ++i)
            if (s[line::alpha][i] != 0) support.push_back(i);
        Array<Aligned<double>> lines;
        Array<const double*> from;
        Numbers weights;
        for (Index at = 0; at < support.size(); at += together) {
            const Index some = std::min(together, support.size() - at);
            missing.clear();
            const auto find = [&](Index k) { return recompute ? nullptr : kernel_.find(k); };
            for (Index i = at; i < at + some; ++i)
                if (!find(support[i])) missing.push_back(support[i]);
            lines.clear();
            for (Index i = 0; i < missing.size(); ++i) {
                lines.emplace_back();
                std::fill_n(lines.back().reserve(padded(s.n)), padded(s.n), 0.0);
            }
            if (!missing.empty() &&
                !SelfGram<double>::compute(source_, Ids::of(missing), Ids::run(0, s.n), lines, scratch_))
                throw Interrupted();
            from.clear();
            weights.clear();
            Index next = 0;
            for (Index i = at; i < at + some; ++i) {
                const double* held = find(support[i]);
                from.push_back(held ? held : lines[next++].data());
                weights.push_back(s[line::alpha][support[i]]);
            }
            pass_ops<double>().combine(from.data(), weights.data(), static_cast<Index>(some), 0, padded(s.n), out);
        }
    }

    void poll() {
        if (scratch_[0].interrupted()) throw Interrupted();
    }
    Index threads() const { return static_cast<Index>(scratch_.size()); }
    Interrupt* interrupt() const { return scratch_[0].interrupt; }

  private:
    /// Throw unless the rows of M, of `others` more points, of two drivers and one more fit.
    void require_room(Index others) const {
        const Index needed = s.margin.size() + others + 3;
        if (needed > kernel_.room()) throw Full(needed, kernel_.size(), kernel_.room());
    }
    State& s;
    SelfGram<double>& kernel_;
    const Source& source_;
    std::vector<Scratch<double>>& scratch_;
};

}  // namespace hingeline::incremental
