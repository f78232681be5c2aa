// Walk: the passes that one step of an L2-SVM algorithm consists of.
//
// Positions are stored class after class, so a pass runs over the stretch of each class with one factor for its sign.
#pragma once

#include "hingeline/algo/l2/columns.hpp"

namespace hingeline::l2 {

/// Passes over r with the columns of one machine.
template <class Source> class Walk {
  public:
    using T = typename Source::Value;

    Walk(State& state, bool bias, std::size_t cache_bytes, const Source& source, Interrupt* interrupt)
        : s(state), columns(state, bias, cache_bytes, source, interrupt), bias_(bias), interrupt_(interrupt) {}

    State& s;
    HeldColumns<Source> columns;

    /// Q(i, j), i != j; k is the column of j.
    double entry(Index i, Index j, const T* k) const {
        const double sign = s.sign(s.code[i], s.code[j]);
        return sign * (static_cast<double>(k[i]) + (bias_ ? 1.0 : 0.0));
    }

    /// r -= d Q(., i) + e Q(., j) after v has changed; k and l are the columns (l null: only one).
    void move(Index i, double d, const T* k, Index j = -1, double e = 0, const T* l = nullptr) {
        s.peaks = add(s.r.data(), i, d, k, j, e, l);
    }
    /// Find the peaks of r as it is.
    void look() {
        s.peaks = none;
        over_classes([&](int, Index from, Index count) {
            merge(s.peaks,
                  pass_ops<T>().add_and_peaks(s.r.data() + from, nullptr, 0, nullptr, 0, 0, s.v.data() + from, count),
                  from);
        });
    }

    /// The position with v > 0 whose step together with `at`, whose column is k, gains most (min_norm.hpp); -1: none.
    Index partner(Index at, const T* k) const {
        Most best{0, -1};
        const double top = s.r[at], own = s.q[at];
        over_classes([&](int code, Index from, Index count) {
            const double a = -2 * s.sign(code, s.code[at]);
            const Most some = pass_ops<T>().best_partner(s.r.data() + from, k + from, s.q.data() + from,
                                                         s.v.data() + from, top, a, own + (bias_ ? a : 0.0), count);
            if (some.at < 0 || some.value < best.value) return;
            if (some.value > best.value || row(from + some.at) < row(best.at)) best = {some.value, from + some.at};
        });
        return best.at;
    }

    bool at_once = false;  // whether `refresh` computes kernel values again, in blocks; two classes only

    /// r = start - Qv, computed from v. False when interrupted; then nothing has changed.
    bool refresh(double start) {
        if (at_once) return refresh_at_once(start);
        Array<double> r(s.v.size(), start);
        Peaks peaks = none;
        bool any = false;
        for (Index at = 0; at < s.n(); ++at) {
            if (!(s.v[at] > 0)) continue;
            const T* k = columns.at(at);
            if (!k || (at % 64 == 0 && interrupted())) return false;
            peaks = add(r.data(), at, s.v[at], k, -1, 0, nullptr);
            any = true;
        }
        s.r = std::move(r);
        s.peaks = peaks;
        s.since = 0;
        if (!any) look();
        return true;
    }

    /// product = Q p; false when interrupted.
    bool multiply(const Array<double>& p, Array<double>& product) {
        product.assign(p.size(), 0.0);
        Array<Index> some;
        for (Index at = 0; at < s.n(); ++at)
            if (p[at] != 0) some.push_back(at);
        return columns.each(
            some, [&](Index k, const T* column) { add(product.data(), some[k], -p[some[k]], column, -1, 0, nullptr); });
    }

    Interrupt* interrupt() const { return interrupt_; }
    bool interrupted() { return interrupt_ && interrupt_->requested(); }
    Index row(Index at) const { return s.row[at]; }

  private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr Peaks none{-infinity, infinity, -1, -1};

    bool refresh_at_once(double start) {
        Array<Index> from, all(s.n());
        Array<double> given, sums(padded(s.n()));
        std::iota(all.begin(), all.end(), Index{0});
        double total = 0;
        for (Index i = 0; i < s.n(); ++i) {
            if (!(s.v[i] > 0)) continue;
            from.push_back(i), given.push_back(s.sign(s.code[i], s.code[0]) * s.v[i]);
            total += bias_ ? given.back() : 0.0;
        }
        if (!columns.diagonals(from) || !columns.products(from, all, given.data(), sums.data())) return false;
        for (Index i = 0; i < s.n(); ++i)
            s.r[i] = start - s.sign(s.code[i], s.code[0]) * (sums[i] + total) - s.v[i] / s.c[i];
        s.since = 0;
        look();
        return true;
    }
    /// f(code, from, count) for the stretch of positions of each class.
    template <class F> void over_classes(F&& f) const {
        Index from = 0;
        for (Index code = 0; code < s.end.size(); ++code) {
            if (s.end[code] > from) f(static_cast<int>(code), from, s.end[code] - from);
            from = s.end[code];
        }
    }
    /// Ties go to the lowest row.
    void merge(Peaks& all, const Peaks& some, Index from) const {
        if (some.high_at >= 0 &&
            (some.high > all.high || (some.high == all.high && before(from + some.high_at, all.high_at))))
            all.high = some.high, all.high_at = from + some.high_at;
        if (some.low_at >= 0 && (some.low < all.low || (some.low == all.low && before(from + some.low_at, all.low_at))))
            all.low = some.low, all.low_at = from + some.low_at;
    }
    bool before(Index one, Index another) const { return another < 0 || row(one) < row(another); }

    Peaks add(double* r, Index i, double d, const T* k, Index j, double e, const T* l) const {
        r[i] -= d / s.c[i];
        if (l) r[j] -= e / s.c[j];
        Peaks all = none;
        over_classes([&](int code, Index from, Index count) {
            const double a = -d * s.sign(code, s.code[i]);
            const double c = l ? -e * s.sign(code, s.code[j]) : 0.0;
            merge(all,
                  pass_ops<T>().add_and_peaks(r + from, k + from, a, l ? l + from : nullptr, c, bias_ ? a + c : 0.0,
                                              s.v.data() + from, count),
                  from);
        });
        return all;
    }

    const bool bias_;
    Interrupt* interrupt_;
};

}  // namespace hingeline::l2
