// The block solver of the soft-margin SVM: a hand-worked problem, a naive SMO on the whole kernel matrix, and what must
// not change a bit.
#include "engine_problems.hpp"

namespace hingeline::engine {
namespace {

/// SMO with the pair that violates most, on the whole matrix.
State naive(State s, const Array<double>& K, double tol) {
    const Index n = s.n();
    for (;;) {
        const engine::Looks l = look(s, s.active);
        if (l.gap() <= tol) break;
        const Index i = l.of[0].top_at, j = l.of[0].bottom_at;
        const double curve = K[i * n + i] + K[j * n + j] - 2 * K[i * n + j];
        const double d = std::min({l.gap() / (curve > 0 ? curve : 1e-12), s.high(i) - s.beta[i], s.beta[j] - s.low(j)});
        s.beta[i] = d == s.high(i) - s.beta[i] ? s.high(i) : s.beta[i] + d;
        s.beta[j] = d == s.beta[j] - s.low(j) ? s.low(j) : s.beta[j] - d;
        for (Index t = 0; t < n; ++t) s.v[t] -= d * (K[t * n + i] - K[t * n + j]);
    }
    recompute(s, K);
    s.level = look(s, s.active).levels();
    return s;
}

// Linear kernel, points -1 (-) and 1 (+): f(x) = x, beta = -1/2, 1/2, D = 1/2. With C = 1/4 both are at their bound.
CASE(two_points_by_hand) {
    const Array<double> x{-1, 1};
    const RowKernel<double> source{{KernelKind::linear, 1.0, 0.0, 3}, dense_view(x, 2, 1)};
    for (const double C : {1.0, 0.25, engine::infinity}) {
        const double beta = std::min(0.5, C);
        const Array<double> bounds{C, C};
        const State s = solved(engine::start({0}, {1}, -1.0, bounds.data()), source, {});
        CHECK(s.reason == Reason::tolerance);
        CHECK(s.beta[0] == -beta && s.beta[1] == beta && s.intercept() == 0, C, s.beta[1]);
        CHECK(objectives(s).dual == 2 * beta - 2 * beta * beta);
        CHECK(C != 1.0 || objectives(s).primal == 0.5);
        CHECK(s.steps == 1 && s.outer == 1);
    }
}

CASE(same_optimum_as_naive_smo) {
    for (const Kernel& kernel : {Kernel{KernelKind::rbf, 0.5, 0.0, 3}, Kernel{KernelKind::linear, 1.0, 0.0, 3},
                                 Kernel{KernelKind::poly, 0.7, 1.0, 3}})
        for (const double C : {0.01, 1.0, 100.0}) {
            const Clouds<double> data(150, 4, 0.8, C);
            const RowKernel<double> source{kernel, data.view()};
            Params p;
            p.tol = 1e-9;
            const State s = solved(data.start(false), source, p);
            const Array<double> K = kernel_matrix(kernel, s, data.x.data(), data.d);
            const State twin = naive(data.start(false), K, 1e-9);
            const double dual = objectives(twin).dual;
            CHECK(s.reason == Reason::tolerance, C);
            CHECK(std::abs(objectives(s).dual - dual) <= 1e-9 * (1 + dual), C, objectives(s).dual, dual);
            CHECK(std::abs(s.intercept() - twin.intercept()) <= 1e-6, C, s.intercept(), twin.intercept());
            CHECK(std::abs(objectives(s).primal - dual) <= 1e-6 * (1 + dual), C);
            double sum = 0;
            for (Index i = 0; i < s.n(); ++i) {
                sum += s.beta[i];
                CHECK(s.beta[i] >= s.low(i) && s.beta[i] <= s.high(i));
            }
            CHECK(std::abs(sum) <= 1e-11 * (1 + C), sum);
        }
}

/// Several outer steps, shrinking, single precision: the tolerance holds in double for all points. In the second
/// problem points outside the active set become violators.
CASE_ONCE(blocks_meet_the_tolerance_in_double) {
    for (const bool second : {false, true}) {
        const Kernel kernel{KernelKind::rbf, second ? 20.0 : 2.0, 0.0, 3};
        const Clouds<double> data(second ? 4000 : 5000, 3, second ? 0.3 : 0.7, 5.0);
        const RowKernel<double> source{kernel, data.view()};
        const Array<double> K = kernel_matrix(kernel, data.start(false), data.x.data(), data.d);
        for (const bool single : {false, true}) {
            State s = solved(data.start(single), source, {});
            CHECK(s.reason == Reason::tolerance && s.outer > 1, s.outer);
            CHECK(s.single == single);
            // v of points far from the margin is not up to date at the end; the objectives are.
            CHECK(s.shrunk && s.active.size() < s.n(), single, s.active.size());
            const Objectives told = objectives(s);
            recompute(s, K);
            const engine::Looks l = look(s, s.active);
            CHECK(l.gap() <= 1e-3 * (1 + 1e-9), single, l.gap());
            CHECK(std::abs(l.gap() - s.violation) <= 1e-9, l.gap(), s.violation);
            const Objectives found = objectives(s);
            const double accuracy = single ? 1e-5 : 1e-9;
            CHECK(std::abs(told.dual - found.dual) <= accuracy * found.dual, single, told.dual, found.dual);
            CHECK(std::abs(told.primal - found.primal) <= accuracy * found.dual, single, told.primal, found.primal);
            CHECK(found.primal > found.dual && found.primal < 1.001 * found.dual, found.primal, found.dual);
        }
    }
}

CASE_ONCE(same_bits_for_threads_caches_slices_and_sparse_rows) {
    const Kernel kernel{KernelKind::rbf, 1.0, 0.0, 3};
    Clouds<float> data(4200, 20, 0.7, 3.0);
    Random random(3);
    for (float& value : data.x)
        if (uniform(random) < 0.7) value = 0;
    const RowKernel<float> dense{kernel, data.view()};
    const OwnedCsr<float, std::int64_t> csr = to_csr<float, std::int64_t>(data.x, data.n(), data.d);
    const RowKernel<float> sparse{kernel, csr.view()};
    const State s = solved(data.start(true), dense, {});
    CHECK(s.outer > 2, s.outer);
    const auto same = [&](const State& other, const char* what) {
        CHECK(same_bits(s.beta, other.beta) && same_bits(s.v, other.v), what);
        CHECK(same_bits(s.intercept(), other.intercept()) && s.steps == other.steps, what, s.steps, other.steps);
    };
    Params little;
    little.cache_bytes = 1 << 20;
    same(solved(data.start(true), dense, little, 3, 1), "cache, threads, slices");
    same(solved(data.start(true), sparse, {}), "sparse");
    for (const int threads : {2, 3, 8}) {  // make the steps together, also more of them than there are pieces
        Params together = little;
        together.blocks.step_threads = threads;
        same(solved(data.start(true), dense, together, threads), "steps of several threads");
    }
    Params fine;
    fine.blocks.step_threads = 3;
    const State twice = solved(data.start(false), dense, {});
    const State other = solved(data.start(false), dense, fine, 4);
    CHECK(same_bits(twice.beta, other.beta) && same_bits(twice.v, other.v) && twice.steps == other.steps);
}

/// Of equal gains a partner is chosen that does not depend on the pieces.
CASE(partners_of_equal_rows) {
    const Kernel kernel{KernelKind::rbf, 1.0, 0.0, 3};
    Clouds<float> data(3200, 3, 0.7, 3.0);
    for (float& value : data.x) value = std::round(value * 2) / 2;  // many equal rows
    const RowKernel<float> source{kernel, data.view()};
    Params together;
    together.blocks.step_threads = 2;
    const State alone = solved(data.start(true), source, {}), other = solved(data.start(true), source, together, 2);
    CHECK(same_bits(alone.beta, other.beta) && same_bits(alone.v, other.v) && alone.steps == other.steps);
}

CASE(as_many_threads_make_steps_as_are_fastest) {
    const auto settle = [](auto&& seconds_of) {  // of 16 threads; the number after many runs
        StepTeam team;
        team.begin(16);
        for (int run = 0; run < 400; ++run) team.note(256, 256 * seconds_of(team.size()), false);
        int often = 0;
        for (int run = 0; run < 64; ++run) {
            often += team.size() == 4;
            team.note(256, 256 * seconds_of(team.size()), false);
        }
        return often;
    };
    CHECK(settle([](int size) { return size == 4 ? 1e-6 : 2e-6; }) > 48);
    CHECK(settle([](int size) { return 1e-6 * size; }) < 8);
    StepTeam team;
    team.begin(2);
    CHECK(team.varies() && team.size() == 2);
    for (int run = 0; run < 4; ++run) team.note(10, 1e-2, true);  // others have the cores
    CHECK(team.size() == 1);
    int together = 0;
    for (int run = 0; run < 10'000; ++run) {
        together += team.size() > 1;
        const bool late = team.size() > 1;
        team.note(256, late ? 1e-2 : 1e-4, late);
    }
    CHECK(together > 0 && together < 60, together);
    StepTeam other;  // short delays are no reason to rest
    other.begin(2);
    for (int run = 0; run < 400; ++run) other.note(256, run % 3 == 1 ? 1.3e-4 : 1e-4, run % 3 == 1);
    int alone = 0;
    for (int run = 0; run < 100; ++run, other.note(256, other.size() > 1 ? 1e-4 : 2e-4, run % 3 == 1))
        alone += other.size() == 1;
    CHECK(alone < 30, alone);
    team.begin(1);
    CHECK(!team.varies() && team.size() == 1);
}

/// The matrix that is filled by blocks has the bits of rows that are computed one by one.
/// Small blocks, so that a small noisy problem has more free points than the widest of them.
engine::BlockSizes small_blocks() {
    return {
        .largest_whole = 1000, .smallest = 256, .finishing = 200, .widest = 300, .widest_coarse = 400, .sampled = 64};
}

CASE_ONCE(more_free_points_than_the_widest_block) {
    // With working sets of 400 points at most, this problem takes 944 outer steps.
    const Kernel kernel{KernelKind::rbf, 0.05, 0.0, 3};
    const Clouds<float> data(4000, 30, 0.6, 10.0);
    const RowKernel<float> source{kernel, data.view()};
    Params p;
    p.blocks = small_blocks();
    const State s = solved(data.start(true), source, p);
    Index free = 0;
    for (Index i = 0; i < s.n(); ++i) free += s.is_free(i);
    CHECK(free > 8 * p.blocks.sampled && free > 3 * p.blocks.widest_coarse, free);
    CHECK(s.reason == Reason::tolerance && s.single && s.outer < 60, s.outer);
    // The optimum, and the tolerance in double.
    Params exact;
    exact.tol = 1e-6;
    const State best = solved(data.start(false), source, exact);
    CHECK(std::abs(objectives(s).dual - objectives(best).dual) <= 1e-5 * objectives(best).dual, objectives(s).dual);
    const Array<double> x(data.x.begin(), data.x.end());
    State found = s;
    recompute(found, kernel_matrix(kernel, s, x.data(), data.d));
    const double gap = look(found, found.active).gap();
    CHECK(gap <= 1e-3 * (1 + 1e-9) && std::abs(gap - s.violation) <= 1e-9, gap, s.violation);
    // The same bits with few rows and with all of them.
    for (const std::size_t bytes : {std::size_t{1} << 17, std::size_t{1} << 30}) {
        p.cache_bytes = bytes;
        const State other = solved(data.start(true), source, p, bytes < (1 << 20) ? 3 : 1, 2);
        CHECK(same_bits(s.beta, other.beta) && same_bits(s.v, other.v) && s.steps == other.steps, s.steps, other.steps);
    }
}

CASE(filled_rows) {
    const Kernel kernel{KernelKind::rbf, 0.3, 0.0, 3};
    for (const Index n : {1, 47, 64, 65, 97, 333}) {
        Clouds<float> plain(n, 20, 1.0, 1.0), sparse = plain, bytes = plain;
        for (Index i = 0; i < n * 20; ++i) {
            if (i % 3) sparse.x[i] = 0.25f;
            bytes.x[i] = static_cast<float>(i * i % 5);
        }
        for (const Clouds<float>* clouds : {&plain, &sparse, &bytes}) {
            const RowKernel<float> source = row_kernel<float>(kernel, clouds->view());
            Local<RowKernel<float>, float> local;
            Array<Index> all(n);
            std::iota(all.begin(), all.end(), Index{0});
            local.take(source, Ids::of(all));
            for (const int threads : {1, 3}) {
                std::vector<SumScratch<float>> scratch(threads);
                WorkingRows<float> filled, fetched;
                for (WorkingRows<float>* rows : {&filled, &fetched}) rows->reset(n, n, 1 << 22, sizeof(Coarse));
                CHECK(filled.holds_all() && filled.fill(local, scratch, nullptr) >= n * (n + 1) / 2, n);
                for (const Index p : all) {
                    fetched.fetch<Coarse>({p}, 1, local, scratch);
                    const Coarse *one = filled.find<Coarse>(p), *other = fetched.find<Coarse>(p);
                    CHECK(one && std::equal(one, one + n, other), n, p, threads);
                }
            }
        }
    }
}

CASE(coarse_rows) {
    // Kernel values of 16 bits: the optimum of the rounded problem, whose v differ by the errors of the values.
    const Clouds<float> clouds(900, 3, 1.0, 5.0);
    const RowKernel<float> source{{KernelKind::rbf, 0.7}, clouds.view()};
    Local<RowKernel<float>, float> local;
    std::vector<SumScratch<float>> scratch(1);
    Array<double> dual;
    for (const bool coarse : {false, true}) {
        State s = clouds.start(true);
        local.take(source, Ids::of(s.row));
        engine::Smo<float> smo;
        const auto end = smo.solve(s, s.active, local, {}, 1e-3, 1 << 20, 1 << 24, scratch, nullptr, coarse);
        CHECK(end == engine::SmoEnd::tolerance, coarse);
        Array<double> sums(s.n());
        double length = 0, sum = 0, error = 0;
        local.take(source, Ids::of(s.row));
        for (Index i = 0; i < s.n(); i += local.block())
            local.sums(source, Ids::of(s.row).part(i, std::min<Index>(local.block(), s.n() - i)), s.beta.data(),
                       scratch[0], sums.data() + i);
        for (Index i = 0; i < s.n(); ++i) {
            CHECK(s.beta[i] >= s.low(i) && s.beta[i] <= s.high(i), i);
            length += s.beta[i] * s.beta[i], sum += s.beta[i];
            s.v[i] = s.p[i] - sums[i];
            error = std::max(error, std::abs(s.v[i] - smo.value(s, i, i)));
        }
        CHECK(std::abs(sum) < 1e-9, coarse, sum);
        CHECK(error <= (coarse ? 2 * coarse_unit * std::sqrt(length) : 1e-4), coarse, error);
        CHECK(coarse == (error > 1e-4), coarse, error);  // the rounded values were used
        CHECK(engine::look(s, s.active).gap() <= 1e-3 + 2 * error, coarse);
        dual.push_back(objectives(s).dual);
    }
    CHECK(std::abs(dual[1] - dual[0]) <= 1e-4 * dual[0], dual[0], dual[1]);
}

/// A precomputed matrix gives the same machine to rounding.
CASE(gathered_values) {
    const Kernel kernel{KernelKind::rbf, 1.0, 0.0, 3};
    const Clouds<double> data(300, 3, 0.7, 3.0);
    Params p;
    p.tol = 1e-6;
    const State s = solved(data.start(false), RowKernel<double>{kernel, data.view()}, p);
    const Gram<double> gram(kernel, data.view(), 0);
    const Array<double> K = kernel_values(gram, Ids::run(0, 300), Ids::run(0, 300));
    const State twin = solved(data.start(false), Gathered<double>(dense_view(K, 300, 300)), p);
    CHECK(s.steps == twin.steps && same_bits(s.beta, twin.beta), s.steps, twin.steps);
}

/// Without a coefficient at its bound, larger bounds give the same steps; with one they do not.
CASE(bounds_that_are_not_reached) {
    const Kernel kernel{KernelKind::rbf, 1.0, 0.0, 3};
    for (const double distance : {0.7, 2.5}) {
        Clouds<double> data(200, 3, distance, 30.0);
        const RowKernel<double> source{kernel, data.view()};
        const State s = solved(data.start(false), source, {});
        bool reached = false;
        for (Index i = 0; i < s.n(); ++i) reached = reached || std::abs(s.beta[i]) == s.bound(i);
        CHECK(s.bounded == (distance < 1) && (s.bounded || !reached), distance);
        for (double& c : data.bound) c *= 7;
        const State larger = solved(data.start(false), source, {});
        CHECK(same_bits(larger.beta, s.beta) == !s.bounded, distance);
        CHECK((larger.steps == s.steps && larger.intercept() == s.intercept()) == !s.bounded, distance);
    }
}

/// tanh is not positive semi-definite: the box is respected and the tolerance reached.
CASE(indefinite_kernels_end) {
    for (const double coef0 : {-1.0, 0.5}) {
        const Clouds<double> data(300, 4, 0.8, 10.0);
        const State s =
            solved(data.start(false), RowKernel<double>{{KernelKind::sigmoid, 1.0, coef0, 3}, data.view()}, {});
        CHECK(s.reason == Reason::tolerance && s.violation <= 1e-3, coef0, name(s.reason), s.violation);
        for (Index i = 0; i < s.n(); ++i) CHECK(s.beta[i] >= s.low(i) && s.beta[i] <= s.high(i));
    }
}

/// Points of bound zero keep a zero coefficient; the same row with both labels is no obstacle.
CASE(zero_bounds_and_contradictions) {
    Clouds<double> data(200, 2, 0.8, 10.0);
    std::copy_n(data.x.begin() + data.rows[0][0] * 2, 2, data.x.begin() + data.rows[1][0] * 2);
    data.bound[5] = data.bound[17] = 0;
    const State s = solved(data.start(false), RowKernel<double>{{KernelKind::rbf, 1.0, 0.0, 3}, data.view()}, {});
    CHECK(s.reason == Reason::tolerance);
    for (Index i = 0; i < s.n(); ++i) CHECK(s.row[i] != 5 && s.row[i] != 17 ? true : s.beta[i] == 0);
}

CASE(max_steps_and_interrupts) {
    const Clouds<double> data(4000, 3, 0.5, 5.0);
    const RowKernel<double> source{{KernelKind::rbf, 2.0, 0.0, 3}, data.view()};
    Params p;
    p.max_steps = 7;
    State s = solved(data.start(true), source, p);
    CHECK(s.reason == Reason::steps && s.steps == 7, s.steps);
    for (const int after : {0, 1, 3}) {
        engine::Workspace<RowKernel<double>> work;
        State t = data.start(true);
        Interrupt interrupt([count = after]() mutable { return count-- <= 0; });
        engine::learn(t, {}, source, Stop{1 << 30, &interrupt}, 1, work);
        CHECK(t.reason == Reason::interrupted || t.reason == Reason::tolerance);
        CHECK(std::isfinite(t.intercept()));
        engine::learn(t, {}, source, {}, 1, work);
        CHECK(t.reason == Reason::tolerance && t.violation <= 1e-3, after, name(t.reason));
    }
}

CASE(limit_of_steps) {
    CHECK(engine::most_steps({}, 100) == 10'000'000 && engine::most_steps({}, 1'000'000) == 1'000'000'000);
    CHECK(engine::most_steps({.max_steps = 7}, 100) == 7 && engine::most_steps({.max_steps = 0}, 100) == 0);
}

/// v after a Newton step is equal for all free points; points at their bounds stay, and so does the sum of beta.
CASE(newton_step_on_free_points) {
    constexpr Index n = 7;
    Random random(3);
    Array<double> x(n * 4), K(n * n), v(n), diagonal(n);
    const Array<Index> free{0, 1, 3, 4, 6};
    for (double& value : x) value = uniform(random, -1.0, 1.0);
    for (double& value : v) value = uniform(random, -1.0, 1.0);
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j)
            K[i * n + j] = kernel_value({KernelKind::rbf, 1.0, 0.0, 3}, x.data() + 4 * i, x.data() + 4 * j, 4);
    for (Index i = 0; i < n; ++i) diagonal[i] = K[i * n + i];
    const auto row_of = [&](Index p) { return K.data() + p * n; };
    engine::FreeStep<double> step;
    const auto slope_of = [&](Index p) { return v[p]; };
    CHECK(step.find(free, n, slope_of, diagonal.data(), n, row_of));
    CHECK(step.positions().size() == n - 2);
    double sum = 0;
    Array<double> after;
    for (const Index p : step.positions()) {
        after.push_back(v[p]);
        for (Index k = 0; k < n - 2; ++k) after.back() -= K[p * n + step.positions()[k]] * step.direction()[k];
    }
    for (const double d : step.direction()) sum += d;
    CHECK(std::abs(sum) < 1e-12, sum);
    for (const double one : after) CHECK(std::abs(one - after[0]) < 1e-8, one, after[0]);
    CHECK(step.find(free, n, slope_of, diagonal.data(), 4, row_of));
    CHECK(step.positions().size() == 4);  // the two largest v and the two smallest
    for (const Index p : step.positions()) {
        Index above = 0;
        for (Index q = 0; q < n; ++q) above += q != 2 && q != 5 && v[q] > v[p];
        CHECK(above != 2);
    }
    CHECK(!step.find(Array<Index>{6}, n, slope_of, diagonal.data(), n, row_of));
}

/// A start from the coefficients of a solution ends at once.
CASE(newton_step_with_held_points) {
    constexpr Index n = 9;
    Random random(4);
    Array<double> x(n * 4), K(n * n), v(n), diagonal(n, 1.0);
    Array<Index> all(n);
    std::iota(all.begin(), all.end(), Index{0});
    for (double& value : x) value = uniform(random, -1.0, 1.0);
    for (double& value : v) value = uniform(random, -1.0, 1.0);
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j)
            K[i * n + j] = kernel_value({KernelKind::rbf, 1.0, 0.0, 3}, x.data() + 4 * i, x.data() + 4 * j, 4);
    const auto row_of = [&](Index p) { return K.data() + p * n; };
    engine::FreeStep<double> step;
    const auto slope_of = [&](Index p) { return v[p]; };
    CHECK(step.find_all(all, n, slope_of, diagonal.data(), 1e-12, row_of, nullptr));
    const Array<std::pair<Index, double>> held{{3, 0.25}, {0, -0.5}, {8, 0.125}};  // the reference among them
    for (const auto& [k, value] : held) CHECK(step.hold(k, value), k);
    double sum = 0;
    for (const double d : step.direction()) sum += d;
    CHECK(std::abs(sum) < 1e-10, sum);
    double level = engine::infinity;
    for (Index i = 0; i < n; ++i) {
        const auto found = std::find_if(held.begin(), held.end(), [&](const auto& one) { return one.first == i; });
        if (found != held.end()) {
            CHECK(std::abs(step.direction()[i] - found->second) < 1e-8, i, step.direction()[i]);
            continue;
        }
        double after = v[i];
        for (Index j = 0; j < n; ++j) after -= K[i * n + j] * step.direction()[j];
        if (std::isinf(level)) level = after;
        CHECK(std::abs(after - level) < 1e-8, i, after, level);  // v is equal on the others
    }
}

CASE(newton_steps_with_clipping) {
    // An ill-conditioned working set that is part of a larger problem, without these steps and with them.
    const Clouds<double> clouds(700, 8, 0.3, 1000.0);
    const RowKernel<double> source{{KernelKind::rbf, 0.1}, clouds.view()};
    Local<RowKernel<double>, float> local;
    std::vector<SumScratch<float>> scratch(1);
    Array<Index> steps;
    Array<double> dual;
    for (const double wait : {1e9, 1.0}) {
        State s = clouds.start(true);
        s.filling = false, s.newton_wait = wait;
        Array<Index> positions(s.n() - 50), rows;
        std::iota(positions.begin(), positions.end(), Index{0});
        for (const Index i : positions) rows.push_back(s.row[i]);
        local.take(source, Ids::of(rows));
        engine::Smo<float> smo;
        const auto end = smo.solve(s, positions, local, {}, 1e-3, 1'000'000, 1 << 24, scratch, nullptr);
        CHECK(end == engine::SmoEnd::tolerance, static_cast<int>(end), s.steps);
        CHECK((s.newton_wait < 1) == (wait == 1.0), s.newton_wait);
        double sum = 0, top = -engine::infinity, bottom = engine::infinity, objective = 0;
        Array<double> sums(local.block());
        for (Index at = 0; at < positions.size(); at += local.block()) {
            const Index some = std::min<Index>(local.block(), positions.size() - at);
            local.sums(source, Ids::of(rows).part(at, some), s.beta.data(), scratch[0], sums.data());
            for (Index k = 0; k < some; ++k) {
                const Index i = positions[at + k];
                CHECK(s.beta[i] >= s.low(i) && s.beta[i] <= s.high(i), i);
                sum += s.beta[i];
                const double v = s.p[i] - sums[k];
                objective += 0.5 * s.beta[i] * (s.p[i] + v);
                if (s.is_up(i)) top = std::max(top, v);
                if (s.is_low(i)) bottom = std::min(bottom, v);
            }
        }
        CHECK(std::abs(sum) < 1e-6, sum);
        CHECK(top - bottom < 1e-2, wait, top - bottom);  // with the errors of v in single precision
        steps.push_back(s.steps), dual.push_back(objective);
    }
    CHECK(2 * steps[1] < steps[0], steps[0], steps[1]);
    CHECK(std::abs(dual[1] - dual[0]) < 1e-5 * dual[0], dual[0], dual[1]);
}

CASE(warm_start) {
    const Clouds<double> data(500, 3, 0.5, 5.0);
    const RowKernel<double> source{{KernelKind::rbf, 2.0, 0.0, 3}, data.view()};
    const State s = solved(data.start(false), source, {});
    State t = data.start(false);
    t.beta = s.beta;
    t.stale = true;
    t = solved(t, source, {});
    CHECK(t.reason == Reason::tolerance && t.steps == 0, t.steps);
    CHECK(same_bits(t.beta, s.beta) && std::abs(t.intercept() - s.intercept()) < 1e-9);
}

/// A solution continues without some of its rows, given v, and without a full computation of v: the tolerance holds in
/// double for all points, the sum is zero, and v is what beta says.
CASE_ONCE(resumed_without_some_rows) {
    const Kernel kernel{KernelKind::rbf, 2.0, 0.0, 3};
    for (const Index n : {300, 5000}) {
        const Clouds<double> data(n, 3, 0.7, 5.0);
        const RowKernel<double> source{kernel, data.view()};
        const bool single = n == 5000;
        State old = solved(data.start(single), source, {});
        engine::Workspace<RowKernel<double>> work;
        CHECK(engine::complete(old, {}, source, Stop{0, nullptr}, 1, work) && !old.shrunk);
        Array<Index> rows[2], stays;
        for (Index i = 0; i < n; ++i)
            if (i % 37 != 5) rows[i >= data.rows[0].size()].push_back(old.row[i]), stays.push_back(i);
        State s = engine::start(rows[0], rows[1], -1.0, data.bound.data());
        s.single = single;
        Array<double> beta, v;
        for (const Index i : stays) {
            const double* x = data.x.data();
            double slope = old.v[i];
            for (Index j = 5; j < n; j += 37)
                slope += old.beta[j] * kernel_value(kernel, x + old.row[i] * 3, x + old.row[j] * 3, 3);
            beta.push_back(old.beta[i]), v.push_back(slope);
        }
        beta[7] = 3 * data.bound[s.row[7]];  // beyond its box, with its v
        for (Index k = 0; k < s.n(); ++k)
            v[k] -= (beta[7] - old.beta[stays[7]]) *
                    kernel_value(kernel, data.x.data() + s.row[k] * 3, data.x.data() + s.row[7] * 3, 3);
        engine::resume(s, beta, v);
        s = solved(std::move(s), source, {});
        CHECK(s.reason == Reason::tolerance);
        const State fresh = solved(
            [&] {
                State one = engine::start(rows[0], rows[1], -1.0, data.bound.data());
                one.single = single;
                return one;
            }(),
            source, {});
        CHECK(!single || s.kernel_evals < fresh.kernel_evals, s.kernel_evals, fresh.kernel_evals);
        CHECK(engine::complete(s, {}, source, Stop{0, nullptr}, 1, work));
        const Array<double> carried = s.v;
        double sum = 0;
        for (Index i = 0; i < s.n(); ++i) {
            sum += s.beta[i];
            CHECK(s.beta[i] >= s.low(i) && s.beta[i] <= s.high(i));
        }
        CHECK(std::abs(sum) <= 1e-9, sum);
        recompute(s, kernel_matrix(kernel, s, data.x.data(), 3));
        CHECK(look(s, s.active).gap() <= 1e-3 * (1 + 1e-9));
        for (Index i = 0; i < s.n(); ++i) CHECK(std::abs(s.v[i] - carried[i]) <= (single ? 1e-3 : 1e-9), s.v[i]);
        const double dual = objectives(fresh).dual;
        CHECK(std::abs(objectives(s).dual - dual) <= 1e-4 * dual, objectives(s).dual, dual);
    }
}

/// Machines that start again with larger bounds have the bits of new ones.
CASE(restart) {
    const Clouds<double> data(300, 3, 0.5, 1.0);
    const RowKernel<double> source{{KernelKind::rbf, 2.0, 0.0, 3}, data.view()};
    Array<double> larger = data.bound;
    for (double& c : larger) c *= 4;
    State s = solved(data.start(false), source, {});
    engine::restart(s, larger.data());
    const State fresh = solved(engine::start(data.rows[0], data.rows[1], -1.0, larger.data()), source, {});
    s = solved(std::move(s), source, {});
    CHECK(same_bits(s.beta, fresh.beta) && same_bits(s.v, fresh.v) && s.steps == fresh.steps);
}

/// Sigmoids do not depend on threads. A fold without whose rows one class is left, and pairs with few rows, are fitted.
CASE(sigmoids) {
    const Clouds<double> data(200, 3, 0.5, 2.0);
    const AnyRows rows = Rows<double>(data.view());
    const RowValues values(Source{Kernel{KernelKind::rbf, 1.0, 0.0, 3}}, rows);
    Array<Shuffled> pairs(3);
    for (Index code = 0; code < 2; ++code)
        for (Index k = 0; k < data.rows[code].size(); ++k)
            for (Index pair = 0; pair < 3; ++pair) {
                if (pair > 0 && code == 0 && k > 0) continue;
                if (pair > 1 && k > 0) continue;
                pairs[pair].rows.push_back(data.rows[code][k]);
                pairs[pair].first.push_back(static_cast<char>(code == 0));
            }
    const CrossValidated fit({}, data.bound, 1000);
    const Array<Sigmoid> one = fit.sigmoids(values, pairs, 1, nullptr), many = fit.sigmoids(values, pairs, 3, nullptr);
    for (Index k = 0; k < 3; ++k) {
        CHECK(one[k].slope == many[k].slope && one[k].offset == many[k].offset, k);
        CHECK(std::isfinite(one[k].slope) && std::isfinite(one[k].offset), one[k].slope, one[k].offset);
    }
    CHECK(one[0].slope < 0, one[0].slope);
}

}  // namespace
}  // namespace hingeline::engine
