// The LASVM family as a model: machines over shared rows that learn from chunks, finish, and are saved.
#pragma once

#include <limits>
#include <mutex>

#include "hingeline/algo/lasvm/definite.hpp"
#include "hingeline/algo/lasvm/full_svm.hpp"
#include "hingeline/algo/lasvm/lasvm.hpp"
#include "hingeline/algo/lasvm/lasvm_i.hpp"
#include "hingeline/algo/lasvm/lasvm_nc.hpp"
#include "hingeline/model/ensemble.hpp"

namespace hingeline::lasvm {

enum class Variant { lasvm, g, nc, i, full };

/// One machine and its kernel rows, which are recomputed after a release.
struct Machine : Sides {
    online::State state{};
    std::variant<std::monostate, std::unique_ptr<SelfGram<float>>, std::unique_ptr<SelfGram<double>>> kernel_rows{};

    template <class T> SelfGram<T>& kernel(std::size_t bytes) {
        using Held = std::unique_ptr<SelfGram<T>>;
        if (!std::holds_alternative<Held>(kernel_rows)) kernel_rows = std::make_unique<SelfGram<T>>(bytes);
        std::get<Held>(kernel_rows)->allow(bytes);
        return *std::get<Held>(kernel_rows);
    }
    /// Without the kernel rows.
    Machine copy() const { return {Sides(*this), state}; }
    void release() { kernel_rows = std::monostate{}; }
    std::size_t kernel_bytes() const {
        if (const auto* narrow = std::get_if<1>(&kernel_rows)) return (*narrow)->bytes();
        if (const auto* wide = std::get_if<2>(&kernel_rows)) return (*wide)->bytes();
        return 0;
    }
};

template <class Archive, class M> void fields(Archive& a, M& m) {
    auto& s = m.state;
    a("positive", m.positive), a("negative", m.negative);
    a("row", s.row), a("id", s.id), a("code", s.code), a("zone", s.zone), a("dead", s.dead);
    if constexpr (Archive::reads) {
        s.n = static_cast<Index>(s.row.size());
        s.lines.resize(s.n);
    }
    const char* names[] = {"alpha", "gradient", "lower", "upper", "box", "diagonal"};
    for (int k = 0; k < online::line::count; ++k) a.array(names[k], s.lines[k], s.n);
    a("ascent_gap", s.ascent.gap), a("ascent_worst", s.ascent.worst), a("ascent_at", s.ascent.at);
    a("share", s.share), a("lag", s.lag), a("intercept", s.b), a("target", s.target), a("largest", s.largest),
        a("last_margin", s.last_margin);
    a("visited", s.visited), a("steps", s.steps), a("refreshed_at", s.refreshed_at), a("note_every", s.note_every);
    a("kernel_evals", s.kernel_evals), a("kernel_needed", s.kernel_needed);
    a("kernel_recomputed", s.kernel_recomputed), a("reason", s.reason);
    a.array("admitted", s.admitted.count, 3), a.array("cleaned", s.cleaned.count, 3);
    a.array("skipped", s.skipped.count, 3);
    a.array("seen", s.runs.seen, 2), a.array("last", s.runs.last, 2), a.array("removed", s.runs.removed, 2);
    a("missing_at", s.runs.missing_at);
    a("trace", s.trace);
}

/// Reject values that no machine can have, and compute the counters that are not saved.
inline void check(Machine& m) {
    online::State& s = m.state;
    const Index n = s.n;
    require_sound(std::ssize(s.zone) == n && std::ssize(s.dead) == n, "lengths of a machine's arrays");
    for (Index t = 0; t < n; ++t)
        require_sound(
            static_cast<int>(s.zone[t]) >= 0 && static_cast<int>(s.zone[t]) <= 2 && (s.dead[t] == 0 || s.dead[t] == 1),
            "zone or dead");
    require_sound(s.lag >= 0, "lag");
    require_sound(s.share > 0 && s.share <= 1, "share");
    require_sound(s.ascent.at >= -1 && s.ascent.at < s.n, "ascent_at");
    for (const Index count : {s.visited, s.steps, s.refreshed_at, s.kernel_evals, s.kernel_needed, s.kernel_recomputed})
        require_sound(is_count(count), "counts");
    for (const online::Tally* tally : {&s.admitted, &s.cleaned, &s.skipped})
        for (const Index count : tally->count) require_sound(is_count(count), "tallies");
    for (const Index* count : {s.runs.seen, s.runs.last})
        require_sound(is_count(count[0]) && is_count(count[1]) && std::max(count[0], count[1]) <= s.visited, "runs");
    require_sound(s.runs.missing_at >= -1 && s.runs.missing_at <= s.visited, "missing_at");
    for (const double removed : s.runs.removed) require_sound(removed >= 0 && std::isfinite(removed), "removed");
    require_sound(s.note_every > 0 && is_count(s.note_every), "note_every");
    require_sound(s.reason >= Reason::running && s.reason <= Reason::indefinite, "reason");
    for (Index t = 0; t < s.n; ++t) {
        const double alpha = s[online::line::alpha][t];
        require_sound(s[online::line::lo][t] <= alpha && alpha <= s[online::line::hi][t], "alpha");
        s.n_dead += s.dead[t];
        s.support[s.y(t) > 0] += alpha != 0;
    }
}

class Lasvm : public Ensemble<Machine> {
  public:
    static constexpr const char* kind = "lasvm";
    static constexpr Index version = 2;

    Lasvm(Variant variant, bool one_vs_rest) : Ensemble(one_vs_rest), variant_(variant) {}
    Lasvm like() const {
        Lasvm other(variant_, classes.one_vs_rest);
        other.params = params;
        return other;
    }
    online::Params params;

    /// Learn from a chunk of a stream.
    void learn(const Source& source, const Chunk& chunk, const Margins& margins, int threads, Interrupt* interrupt) {
        Index first = -1;
        bool appended = false;
        learn_chunk(chunk, 256, interrupt, [&](Index from, Index to) {
            if (!std::exchange(appended, true)) first = append(source, chunk);
            return pass(source, chunk, first, from, to, margins, threads, interrupt, false, true);
        });
        outside_loss_.clear();
    }
    /// Learn from examples of a fit. `known`: they may be in the expansion from an earlier epoch. `evicts`: LASVM
    /// removes examples that it does not need.
    void visit(const Source& source, const Chunk& chunk, const Margins& margins, int threads, Interrupt* interrupt,
               bool known, bool evicts) {
        transact(interrupt, true, [&] {
            const Index first = append(source, chunk);
            pass(source, chunk, first, 0, chunk.size(), margins, threads, interrupt, known, evicts);
        });
        outside_loss_.clear();
    }
    /// Optimise the expansions. Returns the largest number of steps of a machine. `definite`: the kernel is positive
    /// semi-definite, which is not checked then.
    Index finish(const Source& source, double tol, Index most, bool definite, int threads, Interrupt* interrupt) {
        Array<Index> steps(machines.size(), 0);
        transact(interrupt, false, [&] {
            each(source, threads, interrupt, [&](auto& search, Index m) {
                steps[m] = variant_ == Variant::lasvm ? online::finish_pairs(search, tol, most)
                                                      : online::finish(search, tol, most);
                Reason& reason = machines[m].state.reason;
                if (reason == Reason::gap && !definite && !online::is_definite(search)) reason = Reason::indefinite;
            });
        });
        return steps.empty() ? 0 : *std::max_element(steps.begin(), steps.end());
    }
    /// Bring the expansions to a small gap after the passes of a fit, in a limited number of steps.
    void settle(const Source& source, int threads, Interrupt* interrupt) {
        transact(interrupt, false, [&] {
            each(source, threads, interrupt, [&](auto& search, Index) {
                if (variant_ == Variant::lasvm) {
                    online::PairSearch pairs(search);
                    pairs.look();
                    online::settle_last(search, pairs);
                } else {
                    search.rescan();
                    online::Axes axes{search};
                    online::settle_last(search, axes);
                }
            });
        });
    }
    /// Final cleaning: keeps the support vectors, for LASVM and FULL SVM all live examples. Frees the kernel rows.
    void end(const Source& source) {
        release();
        transact(nullptr, true, [&] {
            each(source, 1, nullptr, [&](auto& search, Index) {
                if (variant_ == Variant::lasvm)
                    online::sweep_pairs(search);
                else if (variant_ != Variant::full)
                    search.clean(0);
                search.note();
            });
        });
        release();
    }
    /// Add the losses of the examples of a chunk that are outside the expansions to the duality gaps. Returns the
    /// positions in the chunk of the examples with a loss.
    Array<Index> outside(const Source& source, const Chunk& chunk, int threads, Interrupt* interrupt) {
        Array<char> marked(chunk.size(), 0);
        Array<double> losses = outside_loss_;
        losses.resize(machines.size(), 0.0);
        Array<Index> out;
        out.reserve(chunk.size());
        std::mutex mutex;
        transact(interrupt, true, [&] {
            const Index first = append(source, chunk);
            each(source, threads, interrupt, [&](auto& search, Index m) {
                Array<Index> where, with_loss;
                const auto some = examples(m, chunk, first, 0, chunk.size(), where);
                const auto loss = online::outside(search, some, with_loss);
                std::lock_guard lock(mutex);
                losses[m] += loss.value_or(std::numeric_limits<double>::quiet_NaN());
                for (const Index i : with_loss) marked[where[i]] = 1;
            });
        });
        outside_loss_ = std::move(losses);
        for (Index i = 0; i < chunk.size(); ++i)
            if (marked[i]) out.push_back(i);
        return out;
    }
    void forget_outside() { outside_loss_.clear(); }

    Index n_expansion() const {
        Index sum = 0;
        for (const Machine& m : machines) sum += m.state.n_live();
        return sum;
    }
    /// Whether the duality gap of every machine is at most `tol` of its primal objective.
    bool reached(double tol) const {
        for (Index m = 0; m < std::ssize(machines); ++m) {
            const double gap = gap_of(m);
            if (!(gap <= tol * (machines[m].state.dual() + gap))) return false;
        }
        return true;
    }
    /// Number of machines whose solution depends on bounds that were lowered.
    Index n_lowered() const {
        return std::count_if(machines.begin(), machines.end(),
                             [](const Machine& m) { return online::depends_on_share(m.state); });
    }
    /// Smallest C whose bounds are in force in a machine.
    double least_C() const {
        double share = 1;
        for (const Machine& m : machines) share = std::min(share, m.state.share);
        return share * params.C;
    }
    std::size_t kernel_bytes() const {
        std::size_t all = 0;
        for (const Machine& m : machines) all += m.kernel_bytes();
        return all;
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
        put("n_iter", [](const auto& s) { return s.steps; });
        put("effective_C", [&](const auto& s) { return s.share * params.C; });
        put("n_expansion", [](const auto& s) { return s.n_live(); });
        put("dual_objective", [](const auto& s) { return s.dual(); });
        put("duality_gap_target", [](const auto& s) { return s.target; });
        put("stop_reason",
            [&](const auto& s) { return unfinished.empty() ? std::string(name(s.reason)) : unfinished; });
        Numeric<double> gap;
        for (const Index m : by_class) gap.values.push_back(gap_of(m));
        out.put("duality_gap", std::move(gap));
        Index evals = 0, needed = 0, recomputed = 0;
        for (const Machine& m : machines) {
            evals += m.state.kernel_evals, needed += m.state.kernel_needed, recomputed += m.state.kernel_recomputed;
        }
        out.put("n_kernel_evals", evals);
        out.put("n_kernel_needed", needed);
        out.put("n_kernel_recomputed", recomputed);
        Record ramp;
        put_tally(ramp, "admitted", by_class, &online::State::admitted);
        put_tally(ramp, "cleaned", by_class, &online::State::cleaned);
        put_tally(ramp, "skipped", by_class, &online::State::skipped);
        out.put("ramp_counts", std::vector<Record>{std::move(ramp)});
        put_history(out, machines, by_class, [](const Machine& m) -> const Trace& { return m.state.trace; });
        out.put("n_samples_seen", n_seen);
        return out;
    }
    Record save() {
        Record out = saved_ensemble(*this, kind, version);
        put_list(out, "outside_loss", outside_loss_);
        return out;
    }
    void restore(const Record& record, const AnyRows* held) {
        Lasvm fresh = restored_ensemble(*this, record, kind, version, held, [](Machine& m) { check(m); });
        const Reader in{record};
        in("outside_loss", fresh.outside_loss_);
        require_sound(fresh.outside_loss_.empty() || fresh.outside_loss_.size() == fresh.machines.size(),
                      "outside_loss");
        *this = std::move(fresh);
    }

  private:
    static Terms terms_of(const online::State& s) {
        Terms out;
        for (Index t = 0; t < s.n; ++t)
            if (const double alpha = s[online::line::alpha][t]; alpha != 0)
                out.add(s.row[t], s.id[t], s.code[t], alpha);
        out.intercept = s.b;
        return out;
    }
    double gap_of(Index m) const {
        return machines[m].state.ascent.gap + (outside_loss_.empty() ? 0.0 : outside_loss_[m]);
    }
    void put_tally(Record& to, const char* name, const Array<Index>& by_class,
                   online::Tally online::State::* tally) const {
        Numeric<Index> out{{}, shape(by_class.size(), 3)};
        for (const Index m : by_class) {
            const auto& count = (machines[m].state.*tally).count;
            out.values.insert(out.values.end(), count, count + 3);
        }
        to.put(name, std::move(out));
    }

    /// work(search, machine number) for every machine, in parallel if there are threads.
    template <class Work> void each(const Source& source, int threads, Interrupt* interrupt, Work&& work) {
        constexpr std::size_t everything = std::numeric_limits<std::size_t>::max() / 2;
        Values(source, rows.view(), everything).visit([&](const auto& values) {
            using K = std::decay_t<decltype(values)>;
            const Index count = std::ssize(machines);
            require_rows(values.size());
            run_tasks(count, threads, interrupt, [&](Index m, int) {
                Machine& machine = machines[m];
                online::Params mine = params;
                mine.threads = static_cast<int>(std::max<Index>(1, threads / std::max<Index>(count, 1)));
                auto& kernel = machine.kernel<typename K::Value>(params.cache_bytes / static_cast<std::size_t>(count));
                online::Search<K> search(machine.state, mine, values, kernel, interrupt);
                const Trace::Running clock(machine.state.trace);
                work(search, m);
            });
        });
    }
    /// One visit of the examples [from, to) of a chunk by every machine. Returns the end of those that all machines
    /// have visited: `to` unless interrupted.
    Index pass(const Source& source, const Chunk& chunk, Index first, Index from, Index to, const Margins& margins,
               int threads, Interrupt* interrupt, bool known, bool evicts) {
        using namespace online;
        Array<Index> reached(machines.size(), from);
        Array<Array<Example>> held(machines.size());
        for (Index m = 0; evicts && !params.paper && m < std::ssize(machines); ++m)
            if (machines[m].state.visited == 0 && starts(m, chunk, from, to)) held[m] = held_by_others(m);
        each(source, threads, interrupt, [&](auto& search, Index m) {
            search.require_range(chunk.largest_box());
            Array<Index> where;
            const auto some = examples(m, chunk, first, from, to, where);
            const MarginColumn z(margins, machines[m], chunk, where);
            const Index before = search.s.visited + std::ssize(held[m]);
            try {
                Array<double> unused(held[m].size());
                if (!held[m].empty()) learn_in_order(search, held[m], known, evicts, unused.data());
                if (search.s.visited == before) learn_in_order(search, some, known, evicts, z.data());
            } catch (const Interrupted&) {  // by a kernel function; the poll stops the other machines
            }
            // None, if interrupted while it learnt from examples that others hold.
            const Index visited = std::max<Index>(search.s.visited - before, 0);
            reached[m] = visited < some.size() ? where[visited] : to;
        });
        return reached.empty() ? to : *std::min_element(reached.begin(), reached.end());
    }

    template <class Search> void learn_in_order(Search& search, const Array<online::Example>& examples, bool known,
                                                bool evicts, double* margins) {
        switch (variant_) {
            case Variant::lasvm:
                online::learn_pairs(search, examples, known, evicts, margins);
                break;
            case Variant::g:
                online::learn<online::RuleG>(search, examples, known, margins);
                break;
            case Variant::nc:
                online::learn<online::RuleNC>(search, examples, known, margins);
                break;
            case Variant::i:
                online::learn<online::RuleI>(search, examples, known, margins);
                break;
            case Variant::full:
                online::learn<online::RuleFull>(search, examples, known, margins);
        }
    }
    /// Whether machine m learns from one of the examples [from, to) of a chunk.
    bool starts(Index m, const Chunk& chunk, Index from, Index to) const {
        for (Index i = from; i < to; ++i)
            if (chunk.box[i] != 0 && machines[m].label(chunk.code[i]) != 0) return true;
        return false;
    }
    /// Examples of a machine that comes late, because a label does: a sample of those that other machines hold.
    Array<online::Example> held_by_others(Index m) const {
        Array<online::Example> out;
        std::unordered_set<Index> found;
        for (const Machine& other : machines) {
            const online::State& s = other.state;
            for (Index t = 0; t < s.n; ++t)
                if (const double y = machines[m].label(s.code[t]); y != 0 && !s.dead[t] && found.insert(s.id[t]).second)
                    out.push_back({s.row[t], s.id[t], s.code[t], y * std::abs(s[online::line::box][t])});
        }
        std::sort(out.begin(), out.end(),
                  [](const auto& a, const auto& b) { return online::sample_order(a.id) < online::sample_order(b.id); });
        out.resize(std::min(std::ssize(out), online::sample_size(params)));
        return out;
    }

    Variant variant_;
    Array<double> outside_loss_;  // by machine; set by `outside`
};

}  // namespace hingeline::lasvm
