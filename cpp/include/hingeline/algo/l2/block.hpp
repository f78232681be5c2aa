// Block: Q of some positions of a machine, scaled to a unit diagonal, as an operator.
//
//     A = Q without its penalties: A_ij = sign (K_ij + 1);  Q = A + 1 / c
//     block = scale A scale + diag(own),  scale_i = Q_ii^(-1/2),  own_i = scale_i^2 / c_i + damping
//
// Form. `exact`: kernel values are held in the precision of the source; `single`: in single precision, half the memory;
// `none`: they are computed again for every product. The caller chooses by the number of positions alone, so that
// results do not depend on the cache. Held values are the rows of the lower triangle without the diagonal.
#pragma once

#include "hingeline/algo/l2/cholesky.hpp"
#include "hingeline/algo/l2/walk.hpp"

namespace hingeline::l2 {

enum class Form { exact, single, none };

template <class Source> class Block {
    using T = typename Source::Value;

  public:
    Block(Walk<Source>& walk, bool bias) : walk_(walk), s(walk.s), bias_(bias) {}

    Array<Index> at;           // positions, ascending
    Array<double> scale, own;  // of each
    Index size() const { return at.size(); }

    /// False when interrupted.
    bool take(Array<Index> positions, Form form, double damping) {
        at = std::move(positions);
        form_ = form, damping_ = damping;
        if (!walk_.columns.diagonals(at)) return false;
        scale.clear(), own.clear();
        for (const Index i : at) {
            scale.push_back(1 / std::sqrt(s.q[i]));
            own.push_back(1 / (s.q[i] * s.c[i]) + damping);
        }
        return form == Form::none || (form == Form::exact ? hold(exact_) : hold(single_));
    }
    /// Element (i, j) of the block without `own`, from the kernel value of the two.
    double entry(Index i, Index j, T value) const {
        const double sign = s.sign(s.code[at[i]], s.code[at[j]]);
        return scale[i] * scale[j] * sign * (static_cast<double>(value) + (bias_ ? 1.0 : 0.0));
    }
    /// Diagonal element without `own`.
    double diagonal(Index i) const { return std::max(0.0, 1 - (own[i] - damping_)); }
    /// f(j, column) for members j of the block; false when interrupted.
    template <class F> bool each(const Array<Index>& members, F&& f) {
        Array<Index> positions;
        for (const Index j : members) positions.push_back(at[j]);
        return walk_.columns.each(positions, [&](Index k, const T* column) { f(members[k], column); });
    }

    /// Whether kernel values are held.
    bool held() const { return form_ != Form::none; }
    /// Element (i, j), j <= i, with `own`; of held values only.
    double held_entry(Index i, Index j) const {
        const double value = form_ == Form::exact ? static_cast<double>(exact_.row(i)[j]) : single_.row(i)[j];
        return i == j ? diagonal(i) + own[i] : value;
    }

    /// out = block p, both of padded size; p is zero beyond the block. Only the elements `wanted` are complete. False
    /// when interrupted.
    bool multiply(const double* p, const Array<char>& wanted, double* out) {
        std::fill_n(out, padded(size()), 0.0);
        if (form_ == Form::exact)
            exact_.multiply(p, wanted, out);
        else if (form_ == Form::single)
            single_.multiply(p, wanted, out);
        else if (!compute(p, wanted, out))
            return false;
        for (Index i = 0; i < size(); ++i) out[i] += ((held() ? diagonal(i) : 0.0) + own[i]) * p[i];
        return !walk_.interrupted();
    }

  private:
    template <class V> bool hold(Triangle<V>& values) {
        values.resize(size());
        if (!walk_.columns.all_fit()) {
            return walk_.columns.pairs(at, [&](Index j, const T* value) {
                for (Index i = 0; i < j; ++i) values.row(j)[i] = static_cast<V>(entry(i, j, value[i]));
            });
        }
        Array<Index> all(size());
        std::iota(all.begin(), all.end(), Index{0});
        return each(all, [&](Index j, const T* column) {
            for (Index i = 0; i < j; ++i) values.row(j)[i] = static_cast<V>(entry(i, j, column[at[i]]));
        });
    }
    /// Without `own`.
    bool compute(const double* p, const Array<char>& wanted, double* out) {
        if (s.other != -1) return compute_columns(p, out);  // more than two classes: signs are no products
        Array<Index> from, to, members;
        bool inside = true;
        for (Index i = 0; i < size(); ++i) {
            if (p[i] != 0) from.push_back(at[i]), inside = inside && wanted[i];
            if (wanted[i]) to.push_back(at[i]), members.push_back(i);
        }
        const bool pairs = inside && 2 * from.size() >= to.size();
        Array<double> given(padded(pairs ? to.size() : from.size()), 0.0), sums(padded(to.size()));
        Index next = 0;
        double total = 0;
        for (Index i = 0; i < size(); ++i) {
            if (!(pairs ? wanted[i] : p[i] != 0)) continue;
            given[next] = label(i) * scale[i] * p[i];
            total += bias_ ? given[next] : 0.0;
            ++next;
        }
        if (!(pairs ? walk_.columns.products(to, given.data(), sums.data())
                    : walk_.columns.products(from, to, given.data(), sums.data())))
            return false;
        for (Index k = 0; k < members.size(); ++k) {
            const Index i = members[k];
            const double rest = pairs && bias_ ? total - given[k] : total;
            out[i] = label(i) * scale[i] * (sums[k] + rest) + (pairs ? diagonal(i) * p[i] : 0.0);
        }
        return true;
    }
    /// y of two classes, up to a common sign.
    double label(Index i) const { return s.code[at[i]] == s.code[at[0]] ? 1.0 : -1.0; }
    bool compute_columns(const double* p, double* out) {
        Array<double> given(s.n(), 0.0), product;
        for (Index i = 0; i < size(); ++i) given[at[i]] = scale[i] * p[i];
        if (!walk_.multiply(given, product)) return false;
        for (Index i = 0; i < size(); ++i) out[i] = scale[i] * product[at[i]] - (own[i] - damping_) * p[i];
        return true;
    }

    Walk<Source>& walk_;
    State& s;
    const bool bias_;
    Form form_ = Form::none;
    double damping_ = 0.0;
    Triangle<T> exact_;
    Triangle<float> single_;
};

}  // namespace hingeline::l2
