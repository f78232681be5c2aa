// Stochastic-gradient kernel machines as a model: machines over shared rows that learn from chunks or in epochs.
#pragma once

#include <limits>

#include "hingeline/algo/kernel_sgd.hpp"
#include "hingeline/model/ensemble.hpp"

namespace hingeline::kernel_sgd {

/// A machine, the examples it is learning from, and their positions in the chunk.
struct Machine : Sides {
    State state{};
    Window window{};
    Array<Index> where{};
    Machine copy() const { return *this; }
    void release() { window = {}, where.clear(); }
};

template <class Archive, class M> void fields(Archive& a, M& m) {
    auto& s = m.state;
    a("positive", m.positive), a("negative", m.negative);
    a("row", s.row), a("id", s.id), a("code", s.code), a("coefficient", s.a);
    a("scale", s.sigma), a("intercept", s.b), a("flushed", s.flushed), a("dropped", s.dropped), a("largest", s.largest);
    a("step", s.t), a("violations", s.violations), a("kernel_evals", s.kernel_evals), a("note_every", s.note_every);
    a("reason", s.reason), a("trace", s.trace);
    Array<Index> from;
    Array<double> scales, intercepts, held;
    for (const auto& mean : s.averages) {
        from.push_back(mean.from), scales.push_back(mean.scales), intercepts.push_back(mean.b);
        held.insert(held.end(), mean.held.begin(), mean.held.end());
    }
    a("average_from", from), a("average_scales", scales), a("average_intercept", intercepts), a("average_held", held);
    if constexpr (Archive::reads) {
        const Index count = from.size(), n = std::ssize(s.row);
        require_sound(count <= 2 && scales.size() == count && intercepts.size() == count && held.size() == count * n,
                      "averages");
        for (Index k = 0; k < count; ++k)
            s.averages.push_back(
                {from[k], scales[k], intercepts[k], {held.begin() + k * n, held.begin() + (k + 1) * n}});
    }
}

/// Reject values that no machine can have.
inline void check(const Machine& m) {
    const State& s = m.state;
    require_sound(s.a.size() == s.row.size(), "lengths of a machine's arrays");
    require_sound(is_count(s.t) && is_count(s.violations) && is_count(s.kernel_evals), "counts");
    require_sound(s.note_every > 0 && is_count(s.note_every), "note_every");
    require_sound(s.reason >= Reason::running && s.reason <= Reason::precision, "reason");
    require_sound(s.sigma > 0 && s.flushed > 0, "scale");
    for (const Average& mean : s.averages) require_sound(mean.from >= 0 && mean.from <= s.t, "average_from");
}

class KernelSgd : public Ensemble<Machine> {
  public:
    static constexpr const char* kind = "kernel_sgd";
    static constexpr Index version = 2;

    explicit KernelSgd(bool one_vs_rest) : Ensemble(one_vs_rest) {}
    KernelSgd like() const {
        KernelSgd other(classes.one_vs_rest);
        other.params = params;
        return other;
    }
    Params params;

    /// One pass over a chunk of a stream.
    void learn(const Source& source, const Chunk& chunk, const Margins& margins, int threads, Interrupt* interrupt) {
        Index first = -1;
        bool appended = false;
        learn_chunk(chunk, 4096, interrupt, [&](Index from, Index to) {
            if (!std::exchange(appended, true)) first = append(source, chunk);
            open(chunk, first, from, to, 1, true);
            try {
                run(source, chunk, std::numeric_limits<Index>::max(), margins, threads, interrupt);
            } catch (const Interrupted&) {
            }
            Index reached = to;
            for (const Machine& m : machines)
                if (m.window.running()) reached = std::min(reached, m.where[m.window.cursor]);
            return reached;
        });
    }
    /// Assign to every machine its examples for `advance`, each visited `epochs` times.
    void begin(const Source& source, const Chunk& chunk, Index epochs) {
        Array<Index> codes(chunk.code, chunk.code + chunk.size());
        transact(nullptr, false, [&] { open(chunk, append(source, chunk), 0, chunk.size(), epochs, false); });
        codes_ = std::move(codes);
    }
    /// Make up to `steps` steps of every machine. Returns whether steps are left.
    bool advance(const Source& source, Index steps, const Margins& margins, int threads, Interrupt* interrupt) {
        if (margins.rows != std::ssize(codes_)) throw std::invalid_argument("one line of margins per example expected");
        transact(interrupt, false,
                 [&] { run(source, {nullptr, {}, nullptr, codes_.data()}, steps, margins, threads, interrupt); });
        return std::any_of(machines.begin(), machines.end(), [](const Machine& m) { return m.window.running(); });
    }
    void end() {
        settle();
        release();
        codes_.clear();
    }
    /// Largest number of examples of a machine.
    Index most_examples() const {
        Index most = 0;
        for (const Machine& m : machines) most = std::max(most, static_cast<Index>(m.window.examples.size()));
        return most;
    }

    /// Fitted attributes by name; `brief`: only those that decision values need.
    Record attributes(bool brief = false) const {
        Record out;
        const Array<Index> by_class = order();
        put_decisions(out, by_class, terms_of);
        if (brief) return out;
        const auto put = [&](const char* name, auto&& f) {
            put_each(out, name, machines, by_class, [&](const Machine& m) { return f(m.state); });
        };
        put("n_iter", [](const auto& s) { return s.t; });
        put("n_violations", [](const auto& s) { return s.violations; });
        put("truncated", [](const auto& s) { return s.sigma * s.dropped; });
        put("stop_reason", [&](const auto& s) {
            return unfinished.empty() || s.reason == Reason::pass ? std::string(name(s.reason)) : unfinished;
        });
        Index evals = 0;
        for (const Machine& m : machines) evals += m.state.kernel_evals;
        out.put("n_kernel_evals", evals);
        put_history(out, machines, by_class, [](const Machine& m) -> const Trace& { return m.state.trace; });
        out.put("n_samples_seen", n_seen);
        return out;
    }
    Record save() { return saved_ensemble(*this, kind, version); }
    void restore(const Record& record, const AnyRows* held) {
        *this = restored_ensemble(*this, record, kind, version, held, [](Machine& m) { check(m); });
    }

  private:
    static Terms terms_of(const State& s) {
        Terms out;
        const Array<double> all = s.coefficients(out.intercept);
        for (Index e = 0; e < std::ssize(all); ++e)
            if (all[e] != 0) out.add(s.row[e], s.id[e], s.code[e], all[e]);
        return out;
    }
    void open(const Chunk& chunk, Index first, Index from, Index to, Index epochs, bool stream) {
        for (Index m = 0; m < std::ssize(machines); ++m) {
            Machine& machine = machines[m];
            machine.where.clear();
            machine.window = Window(examples(m, chunk, first, from, to, machine.where), epochs);
            plan_average(machine.state, params, stream ? 0 : machine.window.total);
        }
    }
    void run(const Source& source, const Chunk& chunk, Index steps, const Margins& margins, int threads,
             Interrupt* interrupt) {
        constexpr std::size_t everything = std::numeric_limits<std::size_t>::max() / 2;
        Values(source, rows.view(), everything).visit([&](const auto& values) {
            const Index count = std::ssize(machines);
            require_rows(values.size());
            run_tasks(count, threads, interrupt, [&](Index m, int) {
                Machine& machine = machines[m];
                double largest = 0;
                for (const Example& e : machine.window.examples) largest = std::max(largest, std::abs(e.box));
                require_range(values, params.C * largest, false);
                Params mine = params;
                mine.cache_bytes /= static_cast<std::size_t>(std::clamp<Index>(threads, 1, count));
                const MarginColumn z(margins, machine, chunk, machine.where);
                kernel_sgd::learn(machine.state, machine.window, mine, values, Stop{steps, interrupt}, z.data());
            });
        });
    }
    Array<Index> codes_;  // of the examples given to `begin`
};

}  // namespace hingeline::kernel_sgd
