// Soft-margin SVMs as models: the machines of all class pairs over rows owned by the caller.
#pragma once

#include <array>
#include <mutex>

#include "hingeline/algo/engine/solve.hpp"
#include "hingeline/algo/platt.hpp"
#include "hingeline/model/batch.hpp"
#include "hingeline/model/handover.hpp"
#include "hingeline/model/small_pairs.hpp"

namespace hingeline {

/// Where the block solver gets kernel values: rows that are copied when needed, or a precomputed matrix.
class RowValues {
  public:
    /// The rows must outlive this.
    RowValues(const Source& source, const AnyRows& rows) {
        if (const auto* kernel = std::get_if<0>(&source.from))
            std::visit([&](const auto& x) { values_ = form(*kernel, x); }, rows);
        else if (const auto* matrix = std::get_if<1>(&source.from))
            std::visit([&](const auto& k) { values_ = gather_values(source, k); }, *matrix);
        else
            throw std::invalid_argument("a kernel function must be evaluated before training");
        single_ = std::visit([](const auto& v) { return single_suffices(v); }, values_);
    }
    template <class F> decltype(auto) visit(F&& f) const { return std::visit(f, values_); }
    Index size() const {
        return visit([](const auto& v) { return v.size(); });
    }
    /// Whether kernel values in single precision are good approximations.
    bool single() const { return single_; }

  private:
    /// Few rows stay as they are: there is little to gain, and other forms round differently.
    template <class S> static RowKernel<S> form(const Kernel& kernel, const Rows<S>& rows) {
        constexpr Index few = 1000;
        return row_count(rows) < few ? RowKernel<S>{kernel, rows} : row_kernel(kernel, rows);
    }
    template <class S> static bool single_suffices(const Gathered<S>&) { return false; }
    template <class S> static bool single_suffices(const RowKernel<S>& k) {
        return hingeline::single_suffices(k.kernel, k.rows);
    }

    std::variant<RowKernel<float>, RowKernel<double>, Gathered<float>, Gathered<double>> values_ =
        RowKernel<double>{{}, DenseRows<double>{}};
    bool single_ = false;
};

/// Objects that are reused: a thread takes one and gives it back.
template <class T> class Pool {
  public:
    template <class F> void with(F&& f) {
        std::unique_ptr<T> mine = take();
        f(*mine);
        std::lock_guard lock(mutex_);
        idle_.push_back(std::move(mine));
    }

  private:
    std::unique_ptr<T> take() {
        std::lock_guard lock(mutex_);
        if (idle_.empty()) return std::make_unique<T>();
        std::unique_ptr<T> one = std::move(idle_.back());
        idle_.pop_back();
        return one;
    }
    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> idle_;
};

/// Buffers for machines of all kinds of sources.
template <class... Sources> using SvcPoolsOf = std::tuple<Pool<engine::Workspace<Sources>>...>;
using SvcPools = SvcPoolsOf<RowKernel<float>, RowKernel<double>, Gathered<float>, Gathered<double>>;

/// Soft-margin machines of all class pairs. With many pairs, a machine exists only while it learns: what remains is its
/// coefficients, in a table of all machines, and a few numbers.
class Svc {
  public:
    engine::Params params;

    /// `bounds` are C times the weights, by row; with `nu` (0: none), which asks for NuSVC, the weights. Rows of bound
    /// zero are left out. `single` asks for kernel values in single precision.
    Svc(const engine::Params& p, Array<Index> codes, Index classes, Array<double> bounds, bool single, double nu = 0)
        : params(p), classes_(classes), n_(codes.size()), nu_(nu), bounds_(std::move(bounds)), single_(single) {
        if (bounds_.size() != n_) throw std::invalid_argument("one bound per row expected");
        rows_ = rows_by_class(codes.data(), n_, classes);
        for (auto& some : rows_) std::erase_if(some, [&](Index row) { return !(bounds_[row] > 0); });
        check_nu();
        pairs_.reserve(classes * (classes - 1) / 2);
        for (Index i = 0; i < classes; ++i)
            for (Index j = i + 1; j < classes; ++j)
                pairs_.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)});
        states_.resize(pairs_.size());
        sparing_ = pairs_.size() > most_kept;
        if (sparing_) {
            ended_.resize(pairs_.size());
            coefficients_.assign(lines() * n_, 0.0);
        } else {
            for (Index k = 0; k < pairs_.size(); ++k) states_[k] = begin(k);
        }
    }

    Index n_machines() const { return pairs_.size(); }

    /// Solve up to `most` working sets of every machine. Returns whether steps are left.
    bool learn(const RowValues& values, int threads, Index most, Interrupt* interrupt) {
        if (values.size() != n_) throw std::invalid_argument("one label per row of the kernel matrix expected");
        values.visit([&](const auto& v) {
            using V = std::decay_t<decltype(v)>;
            if (sparing_) learn_small(v, threads, most, interrupt);
            const Array<Index> left = unfinished();
            run_pairs(
                left.size(), threads, interrupt, [&](Index at) { return pair_size(left[at]); },
                [&](Index at, int team, int at_a_time) {
                    const Index k = left[at];
                    if (!states_[k]) states_[k] = begin(k);
                    auto mine = params;
                    mine.cache_bytes /= static_cast<std::size_t>(at_a_time);
                    std::get<Pool<engine::Workspace<V>>>(*pools_).with([&](engine::Workspace<V>& work) {
                        engine::learn(*states_[k], mine, v, Stop{most, interrupt}, team, work);
                    });
                    if (sparing_) put_away(k);
                });
        });
        return !unfinished().empty();
    }

    /// Fitted attributes by name; `unfinished` is the stop reason of machines with steps left.
    Record attributes(const std::string& unfinished) {
        Record out;
        put_coefficients(out);
        Numeric<double> intercept, violation, dual, gap;
        Numeric<Index> steps, machine;
        std::vector<std::string> reasons;
        const Trace empty = engine::State{}.trace;
        const auto& columns = empty.columns();
        Array<Numeric<double>> history(columns.size());
        Index evals = own_evals_;
        for (const bool counts : {true, false}) {  // all lengths, then the values
            Index records = 0;
            for (Index k = 0; k < pairs_.size(); ++k) {
                const auto put = [&](const Ended& e) {
                    records += e.records();
                    if (counts) return;
                    intercept.values.push_back(e.intercept + 0.0);  // no negative zeros
                    violation.values.push_back(std::max(e.violation, 0.0));
                    dual.values.push_back(e.value.dual), gap.values.push_back(e.value.primal - e.value.dual);
                    steps.values.push_back(e.steps);
                    evals += e.kernel_evals;
                    reasons.push_back(e.reason == Reason::running ? unfinished : std::string(name(e.reason)));
                    for (Index record = 0; record < e.records(); ++record)
                        for (Index c = 0; c < columns.size(); ++c) history[c].values.push_back(e.record(record)[c]);
                    machine.values.insert(machine.values.end(), e.records(), k);
                };
                if (states_[k])
                    put(summary(*states_[k]));
                else if (ended_[k].reason != Reason::running)
                    put(ended_[k]);
                else
                    put(summary(*begin(k)));
            }
            if (!counts) break;
            for (Numeric<double>* one : {&intercept, &violation, &dual, &gap}) one->values.reserve(pairs_.size());
            for (auto& column : history) column.values.reserve(records);
            steps.values.reserve(pairs_.size()), machine.values.reserve(records), reasons.reserve(pairs_.size());
        }
        out.put("intercept", std::move(intercept));
        out.put("n_iter", std::move(steps));
        out.put("kkt_violation", std::move(violation));
        out.put("dual_objective", std::move(dual));
        out.put("duality_gap", std::move(gap));
        out.put("stop_reason", std::move(reasons));
        out.put("n_kernel_evals", evals);
        if (pairs_.empty()) return out;
        std::vector<Record> tables(1);  // a list in braces would be copied
        tables[0].put("machine", std::move(machine));
        for (Index c = 0; c < columns.size(); ++c) {
            if (columns[c].whole)
                tables[0].put(columns[c].name, Numeric<Index>{{history[c].values.begin(), history[c].values.end()}});
            else
                tables[0].put(columns[c].name, std::move(history[c]));
            history[c] = Numeric<double>{};
        }
        out.put("history", std::move(tables));
        return out;
    }
    /// What predictions need, and the number of machines that have not reached the tolerance.
    Record solution() {
        Record out;
        put_coefficients(out);
        Numeric<double> intercept;
        Index unfinished = 0;
        for (Index k = 0; k < pairs_.size(); ++k) {
            intercept.values.push_back((states_[k] ? constant(*states_[k]) : ended_[k].intercept) + 0.0);
            unfinished += reason(k) != Reason::tolerance;
        }
        out.put("intercept", std::move(intercept));
        out.put("unfinished", unfinished);
        return out;
    }

    /// Prepare for larger bounds. Machines in which no coefficient has reached its bound have their result already; the
    /// others start again from zero. The result is that of training with `bounds` from the start.
    void raise_bounds(Array<double> bounds, bool single) {
        if (bounds.size() != n_) throw std::invalid_argument("one bound per row expected");
        for (const auto& some : rows_)
            for (const Index row : some)
                if (!(bounds[row] >= bounds_[row])) throw std::invalid_argument("bounds must not decrease");
        bounds_ = std::move(bounds), single_ = single;
        if (sparing_) {
            for (auto& state : states_) state.reset();
            for (Ended& one : ended_) one = {};
            std::fill(coefficients_.begin(), coefficients_.end(), 0.0);
            return;
        }
        for (const auto& state : states_) {
            engine::State& s = *state;
            const auto endless = [&](Index row) { return std::isinf(bounds_[row]); };
            if (!s.bounded && s.reason == Reason::tolerance && std::none_of(s.row.begin(), s.row.end(), endless)) {
                engine::set_box(s, bounds_.data(), [&](Index i) { return s.p[i]; });
                continue;
            }
            engine::restart(s, bounds_.data());
            s.single = single && s.n() >= fewest_single;
        }
    }

    /// Starting values of y beta, by row, of a machine that has made no step. They are clipped to the box, and those of
    /// the class with the larger sum are scaled down until the sums agree. NuSVC divides its coefficients by the
    /// margin, so those of each class are scaled to their fixed sum first.
    void guess(Index machine, const double* v, Index n) {
        engine::State& s = first_state(machine, n);
        Array<double> beta = signed_values(s, v);
        if (nu_ > 0) {
            engine::Pair sum{};
            for (Index i = 0; i < s.n(); ++i) sum[s.group(i)] += beta[i];
            for (Index i = 0; i < s.n(); ++i)
                if (sum[s.group(i)] != 0) {
                    constexpr double rounding = 1e-12;  // beside a bound
                    beta[i] *= s.total[s.group(i)] / sum[s.group(i)];
                    if (std::abs(beta[i]) > (1 - rounding) * s.bound(i)) beta[i] = std::copysign(s.bound(i), beta[i]);
                }
        }
        engine::guess(s, beta);
    }
    /// Continue a machine that has made no step from `y_beta` and `v`, by row, that belong together; see
    /// engine::resume.
    void resume(Index machine, const double* y_beta, const double* v, Index n) {
        engine::State& s = first_state(machine, n);
        Array<double> slopes(s.n());
        for (Index i = 0; i < s.n(); ++i) slopes[i] = v[s.row[i]];
        engine::resume(s, signed_values(s, y_beta), std::move(slopes));
    }
    /// The problem of a machine and where it stands, for another solver; see handover.hpp.
    Record problem(Index machine) const {
        require_machine(machine);
        return engine::problem(states_[machine] ? *states_[machine] : *begin(machine));
    }
    /// Continue a machine from where another solver stands.
    void adopt(Index machine, engine::Standing found) {
        require_machine(machine);
        if (sparing_ && ended_[machine].reason != Reason::running) throw std::invalid_argument("a machine has ended");
        if (!states_[machine]) states_[machine] = begin(machine);
        engine::adopt(*states_[machine], std::move(found));
        if (sparing_) put_away(machine);
    }
    /// v of all machines, a line for each with a value for each row, zero where the row is in another machine; empty
    /// when interrupted, or where machines are not kept.
    Array<double> slopes(const RowValues& values, int threads, Interrupt* interrupt) {
        if (sparing_) return {};
        Array<double> out(pairs_.size() * n_, 0.0);
        bool complete = true;
        values.visit([&](const auto& v) {
            engine::Workspace<std::decay_t<decltype(v)>> work;
            for (Index k = 0; k < pairs_.size() && complete; ++k) {
                engine::State& s = *states_[k];
                complete = engine::complete(s, params, v, Stop{0, interrupt}, threads, work);
                for (Index i = 0; i < s.n(); ++i) out[k * n_ + s.row[i]] = s.v[i];
            }
        });
        return complete ? out : Array<double>{};
    }

  private:
    void require_machine(Index machine) const {
        if (machine < 0 || machine >= pairs_.size()) throw std::invalid_argument("no such machine");
    }
    /// State of a machine that has made no step. `n` is the number of values of a starting point.
    engine::State& first_state(Index machine, Index n) {
        if (machine < 0 || machine >= pairs_.size() || n != n_)
            throw std::invalid_argument("a guess names a machine and has one value per row");
        if (!states_[machine] && ended_[machine].reason == Reason::running) states_[machine] = begin(machine);
        if (!states_[machine] || states_[machine]->outer > 0)
            throw std::invalid_argument("a guess comes before the first step");
        return *states_[machine];
    }
    /// beta from values of y beta by row.
    static Array<double> signed_values(const engine::State& s, const double* v) {
        Array<double> beta(s.n());
        for (Index i = 0; i < s.n(); ++i) beta[i] = s.upper[i] > 0 ? v[s.row[i]] : -v[s.row[i]];
        return beta;
    }

    static constexpr Index most_kept = 4096;    // pairs whose machines stay, for larger bounds
    using Line = std::array<double, 5>;         // of a trace
    static constexpr Index fewest_single = 64;  // rows of a machine; to verify fewer takes longer than double precision

    /// What remains of a machine, beside its coefficients.
    struct Ended {
        engine::Objectives value;
        double violation = 0, intercept = 0;
        Index steps = 0, kernel_evals = 0;
        double seconds = 0;
        std::int32_t support = 0;
        Reason reason = Reason::running;
        std::unique_ptr<Array<Line>> trace;  // null after a single working set: two records that the other fields give

        Index records() const { return trace ? trace->size() : 2; }
        Line record(Index i) const {
            if (trace) return (*trace)[i];
            return {1.0, seconds, static_cast<double>(support), std::max(violation, 0.0),
                    static_cast<double>(kernel_evals)};
        }
    };
    Ended summary(const engine::State& s) const {
        Ended out;
        out.value = engine::objectives(s), out.violation = s.violation, out.intercept = constant(s);
        out.steps = s.steps, out.kernel_evals = s.kernel_evals, out.reason = s.reason;
        const auto& columns = s.trace.columns();
        const Index records = s.trace.size();
        const auto line = [&](Index i) {
            Line values{};
            for (Index c = 0; c < columns.size(); ++c) values[c] = columns[c].values[i];
            return values;
        };
        bool plain = records == 2;
        if (plain) {
            out.seconds = line(1)[1], out.support = static_cast<std::int32_t>(line(1)[2]);
            for (Index c = 0; c < columns.size(); ++c)
                plain &= c == 1 || (line(0)[c] == line(1)[c] && line(1)[c] == out.record(1)[c]);
        }
        if (plain) return out;
        out.trace = std::make_unique<Array<Line>>();
        out.trace->reserve(records);
        for (Index i = 0; i < records; ++i) out.trace->push_back(line(i));
        return out;
    }

    std::unique_ptr<engine::State> begin(Index k) const {
        const auto [i, j] = pairs_[k];
        const double label = first_label(classes_);
        auto out = std::make_unique<engine::State>(
            nu_ > 0 ? engine::start_nu_svc(rows_[i], rows_[j], label, nu_, bounds_.data())
                    : engine::start(rows_[i], rows_[j], label, bounds_.data()));
        out->single = single_ && out->n() >= fewest_single;
        return out;
    }
    /// NuSVC: as in LIBSVM, a pair of classes must have room for the sums of both.
    void check_nu() const {
        if (!(nu_ > 0)) return;
        Array<double> sums;
        for (const auto& some : rows_) {
            double sum = 0;
            for (const Index row : some) sum += bounds_[row];
            sums.push_back(sum);
        }
        for (Index i = 0; i < classes_; ++i)
            for (Index j = i + 1; j < classes_; ++j)
                if (nu_ * (sums[i] + sums[j]) / 2 > std::min(sums[i], sums[j]))
                    throw std::invalid_argument("specified nu is infeasible");
    }
    double constant(const engine::State& s) const {
        return nu_ > 0 ? engine::nu_intercept(s, first_label(classes_)) : s.intercept();
    }
    Reason reason(Index k) const {
        return states_[k] ? states_[k]->reason : sparing_ ? ended_[k].reason : Reason::running;
    }
    /// Keep the result of a machine only, if it has ended.
    void put_away(Index k) {
        if (reason(k) == Reason::running || reason(k) == Reason::interrupted) return;
        ended_[k] = summary(*states_[k]);
        write(k, *states_[k]);
        states_[k].reset();
    }
    /// Machines with steps left.
    Array<Index> unfinished() const {
        Array<Index> out;
        for (Index k = 0; k < pairs_.size(); ++k)
            if (reason(k) == Reason::running || reason(k) == Reason::interrupted) out.push_back(k);
        return out;
    }
    Index pair_size(Index k) const { return rows_[pairs_[k].first].size() + rows_[pairs_[k].second].size(); }

    // ---- pairs of small classes -------------------------------------------------------------------------------------

    /// Buffers of a thread.
    struct SmallPairs {
        engine::State state;
        engine::Workspace<PairValues> work;
        Array<Index> rows, seconds;
        Array<double> bounds;
    };
    /// Whether a machine has not begun, and kernel values of its pair are best computed together with those of others.
    bool is_small(Index k) const {
        const Index first = rows_[pairs_[k].first].size(), second = rows_[pairs_[k].second].size();
        return nu_ == 0 && !states_[k] && ended_[k].reason == Reason::running && std::min(first, second) > 0 &&
               first + second < fewest_single;
    }
    /// Machines of pairs of small classes. Those with steps left begin again as others do.
    template <class V> void learn_small(const V& values, int threads, Index most, Interrupt* interrupt) {
        constexpr Index at_once = 2048;  // rows of other classes whose kernel values are computed together
        Index first = 0;
        while (first < pairs_.size() && !is_small(first)) ++first;
        if (first == pairs_.size()) return;
        auto& workspaces = std::get<Pool<engine::Workspace<V>>>(*pools_);
        Array<Array<double>> own(classes_);  // kernel values of each small class
        run_tasks(classes_, threads, interrupt, [&](Index c, int) {
            const Index n = rows_[c].size();
            if (n == 0 || n >= fewest_single) return;
            workspaces.with([&](engine::Workspace<V>& work) {
                RowBlock<V> block;
                block.compute(values, rows_[c], n, work);
                own[c].reserve(n * n);
                for (Index i = 0; i < n; ++i) own[c].insert(own[c].end(), block.line(i), block.line(i) + n);
            });
        });
        for (const Array<double>& block : own) own_evals_ += block.size();
        run_tasks(classes_ - 1, threads, interrupt, [&](Index i, int) {
            workspaces.with([&](engine::Workspace<V>& work) {
                small_->with([&](SmallPairs& mine) {
                    RowBlock<V> block;
                    const Index n = rows_[i].size();
                    for (Index j = i + 1; j < classes_;) {
                        mine.rows = rows_[i], mine.seconds.clear();
                        for (; j < classes_ && mine.rows.size() < n + at_once; ++j) {
                            if (!is_small(pair(i, j))) continue;
                            mine.rows.insert(mine.rows.end(), rows_[j].begin(), rows_[j].end());
                            mine.seconds.push_back(j);
                        }
                        if (mine.seconds.empty()) return;
                        block.compute(values, mine.rows, n, work);
                        Index at = n;
                        for (const Index second : mine.seconds) {
                            if (interrupt && interrupt->requested()) return;
                            const Index m = rows_[second].size();
                            learn_small({own[i].data(), own[second].data(), block.line(0) + at, n, m, block.pitch()},
                                        pair(i, second), Stop{most, interrupt}, mine);
                            at += m;
                        }
                    }
                });
            });
        });
    }
    void learn_small(const PairValues& values, Index k, const Stop& stop, SmallPairs& mine) {
        static const engine::State blank;
        const auto [i, j] = pairs_[k];
        engine::State& s = mine.state;
        s = blank;  // its arrays keep their memory
        const Index n = values.size();
        s.row.resize(n);
        std::iota(s.row.begin(), s.row.end(), Index{0});
        s.p.assign(n, -first_label(classes_));
        std::fill_n(s.p.begin(), values.n_first, first_label(classes_));
        mine.bounds.clear();
        for (const Index c : {i, j})
            for (const Index row : rows_[c]) mine.bounds.push_back(bounds_[row]);
        engine::begin(s);
        engine::set_box(s, mine.bounds.data(), [&](Index k) { return s.p[k]; });
        engine::learn(s, params, values, stop, 1, mine.work);
        if (s.reason == Reason::running || s.reason == Reason::interrupted) return;
        s.kernel_evals = values.n_first * values.n_second;  // SMO has counted values that it has read
        for (double& evals : s.trace.columns().back().values) evals = static_cast<double>(s.kernel_evals);
        ended_[k] = summary(s);
        write(k, s);
    }

    // ---- coefficients: line m of a row of class i belongs to the machine of i and the m-th other class --------------

    Index lines() const { return std::max<Index>(classes_ - 1, 1); }
    void write(Index k, const engine::State& s) {
        const auto [i, j] = pairs_[k];
        const Index of_first = rows_[i].size();
        const double unit = nu_ > 0 ? engine::margin(s, first_label(classes_)) : 1.0;
        for (Index p = 0; p < of_first; ++p) coefficients_[(j - 1) * n_ + rows_[i][p]] = s.beta[p] / unit;
        for (Index p = of_first; p < s.n(); ++p) coefficients_[i * n_ + rows_[j][p - of_first]] = s.beta[p] / unit;
    }
    /// Number of the machine of two classes, i < j.
    Index pair(Index i, Index j) const { return i * classes_ - i * (i + 1) / 2 + j - i - 1; }
    /// Fields 'support', 'row', 'n_support' and 'dual_coef'.
    void put_coefficients(Record& out) {
        coefficients_.resize(lines() * n_);
        for (Index k = 0; k < pairs_.size(); ++k)
            if (states_[k]) write(k, *states_[k]);
        Array<char> used(n_, 0);
        for (Index line = 0; line < lines(); ++line)
            for (Index row = 0; row < n_; ++row) used[row] |= coefficients_[line * n_ + row] != 0;
        Numeric<Index> support, n_support;
        for (const Array<Index>& some : rows_) {
            const std::size_t before = support.values.size();
            std::copy_if(some.begin(), some.end(), std::back_inserter(support.values),
                         [&](Index r) { return used[r]; });
            n_support.values.push_back(static_cast<Index>(support.values.size() - before));
        }
        const Index width = support.values.size();
        Numeric<double> dual_coef{{}, shape(lines(), width)};
        dual_coef.values.reserve(lines() * width);
        for (Index line = 0; line < lines(); ++line)
            for (const Index row : support.values)
                dual_coef.values.push_back(coefficients_[line * n_ + row] + 0.0);  // no negative zeros
        out.put("row", Numeric<Index>{support.values});
        out.put("support", std::move(support));
        out.put("n_support", std::move(n_support));
        out.put("dual_coef", std::move(dual_coef));
    }

    Index classes_, n_;
    double nu_;
    Array<double> bounds_;
    bool single_, sparing_ = false;
    Array<Array<Index>> rows_;  // by class
    Array<std::pair<std::int32_t, std::int32_t>> pairs_;
    Array<std::unique_ptr<engine::State>> states_;
    Array<Ended> ended_;          // if sparing
    Index own_evals_ = 0;         // kernel values within small classes
    Array<double> coefficients_;  // a line after another, each with a value for each row
    std::shared_ptr<SvcPools> pools_ = std::make_shared<SvcPools>();
    std::shared_ptr<Pool<SmallPairs>> small_ = std::make_shared<Pool<SmallPairs>>();
};

// ---- probabilities ---------------------------------------------------------------------------------------

/// Rows of two classes in random order. Folds are stretches of it, of equal sizes up to one.
struct Shuffled {
    Array<Index> rows;
    Array<char> first;  // whether a row is of the first class

    static constexpr Index folds = 5;
    Index begin(Index fold) const { return fold * (rows.size() / folds) + std::min(fold, rows.size() % folds); }
    /// Rows of one class outside a fold, ascending.
    Array<Index> others(Index fold, bool of_first) const {
        Array<Index> out;
        for (Index k = 0; k < rows.size(); ++k)
            if ((k < begin(fold) || k >= begin(fold + 1)) && (first[k] != 0) == of_first) out.push_back(rows[k]);
        std::sort(out.begin(), out.end());
        return out;
    }
};

/// Sigmoids of pairs of classes, from decision values of the rows of each fold by a machine of the rows outside it,
/// positive for the first class. `bounds` by row, and `nu`, as for `Svc`; machines of `single_rows` or more begin in
/// single precision.
class CrossValidated {
  public:
    CrossValidated(const engine::Params& params, Array<double> bounds, Index single_rows, double nu = 0)
        : params_(params), bounds_(std::move(bounds)), single_rows_(single_rows), nu_(nu) {}

    /// Without meaning when interrupted.
    Array<Sigmoid> sigmoids(const RowValues& values, const Array<Shuffled>& pairs, int threads,
                            Interrupt* interrupt) const {
        for (const Shuffled& pair : pairs)
            for (const Index row : pair.rows)
                if (row < 0 || row >= std::min(values.size(), bounds_.size()))
                    throw std::invalid_argument("row number out of range");
        Array<Array<double>> decisions;
        for (const Shuffled& pair : pairs) decisions.emplace_back(pair.rows.size(), 0.0);
        SvcPools pools;
        values.visit([&](const auto& v) {
            run_pairs(
                pairs.size() * Shuffled::folds, threads, interrupt,
                [&](Index task) { return pairs[task / Shuffled::folds].rows.size(); },
                [&](Index task, int team, int at_a_time) {
                    const Index pair = task / Shuffled::folds, fold = task % Shuffled::folds;
                    auto mine = params_;
                    mine.cache_bytes /= static_cast<std::size_t>(at_a_time);
                    const Stop stop{std::numeric_limits<Index>::max(), interrupt};
                    leave_out(v, pairs[pair], fold, mine, stop, team, pools, decisions[pair].data());
                });
        });
        Array<Sigmoid> out;
        for (Index k = 0; k < pairs.size(); ++k)
            out.push_back(PlattFit(decisions[k].data(), pairs[k].first.data(), pairs[k].rows.size()).run());
        return out;
    }

  private:
    /// Decision values of the rows of a fold; if all other rows are of one class, that one is certain.
    template <class V> void leave_out(const V& values, const Shuffled& pair, Index fold, const engine::Params& params,
                                      const Stop& stop, int threads, SvcPools& pools, double* decisions) const {
        const Index begin = pair.begin(fold), count = pair.begin(fold + 1) - begin;
        if (count == 0) return;
        const Array<Index> first = pair.others(fold, true), second = pair.others(fold, false);
        if (first.empty() || second.empty()) {
            std::fill_n(decisions + begin, count, first.empty() ? (second.empty() ? 0.0 : -1.0) : 1.0);
            return;
        }
        engine::State state = nu_ > 0 ? engine::start_nu_svc(second, first, -1.0, nu_, bounds_.data())
                                      : engine::start(second, first, -1.0, bounds_.data());
        state.single = state.n() >= single_rows_;
        std::get<Pool<engine::Workspace<V>>>(pools).with([&](engine::Workspace<V>& work) {
            engine::learn(state, params, values, stop, threads, work);
            engine::outputs(state, values, Ids::of(pair.rows).part(begin, count), work, decisions + begin);
            if (nu_ == 0) return;
            const double change = engine::nu_intercept(state, -1.0), unit = engine::margin(state, -1.0);
            for (Index k = begin; k < begin + count; ++k)
                decisions[k] = (decisions[k] - state.intercept()) / unit + change;
        });
    }

    engine::Params params_;
    Array<double> bounds_;
    Index single_rows_;
    double nu_;
};

}  // namespace hingeline
