// Expansion: the positions of an online SVM at work. Examples are appended ahead of their visit, admitted or rejected
// when visited, removed when they are no longer needed.
//
// While an Expansion exists it holds g and the room in the box (up = hi - alpha, dn = alpha - lo) in the precision of
// the kernel values, padded for the passes; `store_gradients` copies g back into the state.
//
// Invariants. Dead and pending positions have up = dn = 0. A kernel row has a value for every position, pending ones
// included. Removal moves the last positions into the holes (data/store.hpp).
#pragma once

#include <exception>

#include "hingeline/algo/example.hpp"
#include "hingeline/algo/lasvm/kernel_rows.hpp"
#include "hingeline/algo/lasvm/state.hpp"

namespace hingeline::online {

template <class Source> class Expansion {
  public:
    using T = typename Source::Value;

    Expansion(State& state, const Source& source, SelfGram<T>& kernel, int threads, Interrupt* interrupt)
        : s(state), kernel(source, kernel, threads, interrupt) {
        quick_.resize(s.n);
        for (Index t = 0; t < s.n; ++t) {
            g()[t] = static_cast<T>(s[line::g][t]);
            if (!s.dead[t]) set_room(t);
        }
    }
    Expansion(const Expansion&) = delete;
    ~Expansion() {
        store_gradients();
        s.kernel_recomputed += kernel.take_recomputed();
    }

    State& s;
    KernelRows<Source> kernel;

    T* g() { return quick_[0]; }
    T* up() { return quick_[1]; }
    T* dn() { return quick_[2]; }
    void set_room(Index t) {
        up()[t] = static_cast<T>(s[line::hi][t] - s[line::alpha][t]);
        dn()[t] = static_cast<T>(s[line::alpha][t] - s[line::lo][t]);
    }
    void store_gradients() { std::copy_n(g(), s.n, s[line::g]); }

    const T* row(Index t) { return kernel.at(t, s.row); }
    /// sum alpha K over a kernel row, and the sums that the duality gap target needs.
    Glance glance(const T* row) { return pass_ops<T>().glance(row, s[line::alpha], g(), s[line::box], s.n); }
    /// f(i, sum alpha K) for rows of the source that are not held, at most `kernel.block()`; false when interrupted.
    template <class F> bool outputs(const Array<Index>& rows, F&& f) {
        Array<Aligned<T>> lines(rows.size());
        const Index length = s.n + pass_step;
        for (Aligned<T>& line : lines) std::fill_n(line.reserve(length), length, T(0));
        if (s.n > 0 && !kernel.compute(rows, s.row, lines)) return false;
        for (Index i = 0; i < rows.size(); ++i) f(i, glance(lines[i].data()).output);
        return true;
    }

    // ---- examples come ---------------------------------------------------------------------------

    /// Append pending examples and compute their kernel rows; false when interrupted.
    bool append(const Array<Example>& next) {
        for (const Example& e : next) {
            s.row.push_back(e.row);
            s.id.push_back(e.id);
            s.code.push_back(e.code);
        }
        const Index all = s.row.size();
        s.zone.resize(all, Zone::ramp);
        s.dead.resize(all, 0);
        s.lines.resize(all);
        quick_.resize(all);
        const bool done = kernel.append(s.row, next.size());
        if (!done) drop_pending();
        return done;
    }
    /// Remove the pending examples; the search counts as interrupted.
    void drop_pending() noexcept {
        kernel.halt();
        resize(s.n);
        s.dead.resize(s.n);
        kernel.truncate(s.n);
    }
    /// A callable kernel may throw: then the pending examples are removed and the state is consistent.
    struct DropOnError {
        Expansion& expansion;
        const int before = std::uncaught_exceptions();
        ~DropOnError() {
            if (std::uncaught_exceptions() > before) expansion.drop_pending();
        }
    };

    /// Reject the example at position n.
    void reject() {
        g()[s.n] = 0;
        s.dead[s.n++] = 1;
        ++s.n_dead;
    }
    /// Admit the example at position n with alpha = 0. Its box is shifted if it is `flagged` as an outlier.
    void admit(const Example& e, double gradient, Zone zone, bool flagged) {
        const Index t = s.n++;
        const double shift = flagged ? e.box : 0.0;
        g()[t] = static_cast<T>(gradient);
        s[line::box][t] = e.box;
        s[line::lo][t] = s.share * (std::min(0.0, e.box) - shift);
        s[line::hi][t] = s.share * (std::max(0.0, e.box) - shift);
        set_room(t);
        s.zone[t] = zone;
        ++s.admitted[zone];
    }

    // ---- and go ----------------------------------------------------------------------------------

    /// A live position becomes dead.
    void kill(Index t) {
        s.dead[t] = 1;
        ++s.n_dead;
        up()[t] = dn()[t] = 0;
        ++s.cleaned[s.zone[t]];
    }
    /// A position that was killed becomes live again, with alpha = 0. Its g has been kept up to date.
    void revive(Index t, Zone zone) {
        s.dead[t] = 0;
        --s.n_dead;
        set_room(t);
        s.zone[t] = zone;
        ++s.admitted[zone];
    }
    /// Remove the dead positions; false if there were none.
    bool sweep() {
        if (s.n_dead == 0) return false;
        Array<char> keep(s.n);
        for (Index t = 0; t < keep.size(); ++t) keep[t] = !s.dead[t];
        const Closing c = close_up(keep);
        if (kernel.size() == s.n)
            kernel.close(keep, c);
        else
            kernel.clear();
        for (const auto& [from, to] : c.moves) {
            s.lines.move(from, to);
            quick_.move(from, to);
            s.row[to] = s.row[from], s.id[to] = s.id[from], s.code[to] = s.code[from], s.zone[to] = s.zone[from];
        }
        s.n = c.size;
        s.n_dead = 0;
        resize(s.n);
        s.dead.assign(s.n, 0);
        ++sweeps_;
        return true;
    }
    /// Number of sweeps that moved positions.
    Index sweeps() const { return sweeps_; }

  private:
    void resize(Index n) {
        s.row.resize(n), s.id.resize(n), s.code.resize(n), s.zone.resize(n);
        s.lines.resize(n);
        quick_.resize(n);
    }
    Parallel<T, 3> quick_;
    Index sweeps_ = 0;
};

}  // namespace hingeline::online
