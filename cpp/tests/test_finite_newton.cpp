// Linear machines: sums over rows, along lines and after steps against plain sums in double.
#include "finite_newton_cases.hpp"

namespace hingeline::finite_newton {
namespace {

// ---- blocks of rows ----------------------------------------------------------------------------------

template <class T, class Form>
void lines_case(Random& random, const Matrix<T>& m, const Form& form, const std::vector<Index>& ids) {
    const Index n = static_cast<Index>(ids.size()), d = m.d;
    Lines<Form> lines(form);
    CHECK(lines.d() == d && lines.block() >= 16 && lines.block() <= lines_most, lines.block());
    lines.gather(Ids::of(ids));
    CHECK(lines.count() == n);
    const Numbers w = random_numbers(random, d);
    Numbers dots(n + 1, 7.0), expected(n + 1, 7.0), c = random_numbers(random, n), sums = random_numbers(random, d);
    for (Index i = 0; i < n; i += 3) c[i] = 0;
    Numbers back = sums;
    lines.dots(w.data(), dots.data());
    lines.add(c.data(), sums.data());
    for (Index i = 0; i < n; ++i) {
        expected[i] = 0;
        for (Index j = 0; j < d; ++j) {
            expected[i] += m.at(ids[i], j) * w[j];
            back[j] += m.at(ids[i], j) * c[i];
        }
    }
    CHECK(near(dots, expected), n, d);
    CHECK(near(sums, back), n, d);
    if (n == 0) return;
    const int lanes = tile_ops<double>().lanes;
    for (int vectors = 1; vectors <= tile_ops<double>().max_vectors; ++vectors) {
        const Index width = vectors * lanes;
        Numbers panel = random_numbers(random, d * width), tile((n + row_step) * width), product(n * width, 0.0);
        lines.tile_dots(panel.data(), vectors, tile.data());
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < d; ++j)
                for (Index q = 0; q < width; ++q) product[i * width + q] += m.at(ids[i], j) * panel[j * width + q];
        tile.resize(product.size());
        CHECK(near(tile, product), n, d, vectors);
        tile = random_numbers(random, n * width);
        Numbers added = panel;
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < d; ++j)
                for (Index q = 0; q < width; ++q) added[j * width + q] += m.at(ids[i], j) * tile[i * width + q];
        lines.tile_add(tile.data(), vectors, panel.data());
        CHECK(near(panel, added), n, d, vectors);
    }
}

template <class T> void all_lines_case() {
    Random random(1);
    for (Index d = 0; d <= 70; d += d < 20 ? 1 : 5) {  // short of, at and beyond whole vectors
        const Matrix<T> m(random, 12, d, d % 2 ? 0.3 : 1.0);
        for (int kind = 0; kind < Matrix<T>::forms; ++kind) {
            const Index most = kind % 2 ? 9 : 20;
            for (Index n = d % 5 ? most - d % 9 : 0; n <= most; ++n) {
                std::vector<Index> ids;
                for (Index i = 0; i < n; ++i) ids.push_back(below(random, 12));
                std::visit([&](const auto& form) { lines_case(random, m, form, ids); }, m.form(kind));
            }
        }
    }
}

CASE_ONCE(blocks_of_rows) {
    all_lines_case<float>();
    all_lines_case<double>();
}

template <class V, class T, class Form>
void moments_case(Random& random, const Matrix<T>& m, const Form& form, Index ld) {
    const Index d = m.d;
    Numbers a = random_numbers(random, d * ld), expected = a;
    Lines<Form> lines(form);
    Moments<Form, V> moments(d, a.data(), ld);
    // Rows are multiplied by the hundred, not block by block. Wide rows are about blocks of features: few will do.
    for (const Index n : d < 500 ? Array<Index>{1, 0, 100, 256, 255, 256, 3} : Array<Index>{1, 100, 3}) {
        std::vector<Index> ids;
        Numbers h;
        for (Index i = 0; i < n; ++i) {
            ids.push_back(below(random, m.n));
            h.push_back(i % 4 == 1 ? 0.0 : uniform(random, -1.0, 1.0));
            for (Index j = 0; j < d; ++j)
                for (Index k = 0; k <= j; ++k) expected[j * ld + k] += h[i] * m.at(ids[i], j) * m.at(ids[i], k);
        }
        lines.gather(Ids::of(ids));
        moments.add(lines, h.data());
        if (n == 100) moments.flush();
    }
    moments.flush();
    moments.flush();
    const double size = std::is_same_v<V, float> && std::is_same_v<Form, DenseRows<T>> ? 1e8 : 10.0;
    for (Index j = 0; j < d; ++j) {
        for (Index k = 0; k <= j; ++k)
            CHECK(near(a[j * ld + k], expected[j * ld + k], size), d, j, k, a[j * ld + k], expected[j * ld + k]);
        CHECK(same_bits(a.data() + j * ld + d, expected.data() + j * ld + d, ld - d), d, j);  // not of features
    }
}

template <class T> void all_moments_case() {
    Random random(2);
    for (const Index d : {1, 2, 3, 7, 15, 16, 17, 23, 24, 25, 31, 33, 48, 70, 520})
        for (int kind = d < 500 ? 0 : 3; kind < Matrix<T>::forms; ++kind) {
            const Matrix<T> m(random, 40, d, d % 2 ? 0.3 : 1.0);
            std::visit(
                [&](const auto& form) {
                    moments_case<double>(random, m, form, d + kind % 4);
                    if constexpr (std::is_same_v<T, float>) moments_case<float>(random, m, form, d + 1);
                },
                m.form(kind));
        }
}

CASE(second_moments) {
    all_moments_case<float>();
    all_moments_case<double>();
}

// ---- outputs and margins -----------------------------------------------------------------------------

/// Quarters: sums are exact, and many residuals lie on a bound of the clip.
Numbers quarters(Random& random, Index n, Index most) {
    Numbers out;
    for (Index i = 0; i < n; ++i) out.push_back(static_cast<double>(below(random, 2 * most + 1) - most) / 4);
    return out;
}

void margins_case(Random& random, Index n, const Clip& clip, bool exact) {
    const auto draw = [&] { return exact ? quarters(random, n, 12) : random_numbers(random, n, 3.0); };
    const Numbers y = draw(), target = draw(), start = draw();
    Numbers v = draw();
    for (double& s : v)
        if (uniform(random) < 0.15) s = uniform(random) < 0.5 ? 0.0 : -0.0;
    const auto& op = margin_ops();
    const double offset = n % 3 ? 0.25 : 0.0, aimed = n % 2 ? -0.5 : 0.25;

    MarginSums sums{};
    Numbers pull = start, expected = start, h(n, 7.0), curved(n);
    for (Index i = 0; i < n; ++i) {
        const Loss at(clip, y[i] - offset, v[i]);
        at.add_to(sums);
        sums.hinge += hinge(y[i] - offset, v[i]);
        expected[i] += at.weight * at.pull * at.sign;
        curved[i] = at.curved;
    }
    CHECK(near(op.margins(y.data(), v.data(), n, offset, clip, pull.data()), sums), n, clip.high);
    CHECK(near(pull, expected), n, clip.high);
    op.weights(y.data(), v.data(), n, offset, clip, h.data());
    CHECK(h == curved, n, clip.high);

    for (const double flat : {0.0, 1.0})
        for (const double margin : {1.0, 1.25, -20.0}) {  // far below everything: what is not too low is too high
            double worst = 0;
            for (Index i = 0; i < n; ++i)
                worst =
                    std::max(worst, distance(Loss(clip, y[i] - offset, v[i]), clip, target[i] - aimed, margin, flat));
            const double offsets[] = {offset, aimed};
            const double found = op.violation(y.data(), target.data(), v.data(), n, offsets, clip, margin, flat);
            CHECK(near(found, worst, worst), n, clip.high, flat, margin, found, worst);
        }

    for (const double delta : {0.0, 0.25, 1.0, 1.75, 0.3}) {
        if (exact && delta == 0.3) continue;  // on which side of a bound is a matter of rounding
        Slope slope{0, 0};
        MarginSums there{};
        Numbers moved(n), bend = start, turn = start, bends = start, turns = start;
        for (Index i = 0; i < n; ++i) {
            const double from = y[i] - offset, change = target[i] - aimed - from;
            moved[i] = y[i] + delta * (target[i] - y[i]);
            const double now_at = offset + delta * (aimed - offset);
            const Loss before(clip, from, v[i]), ahead(clip, from + change, v[i]), now(clip, moved[i] - now_at, v[i]);
            slope.first -= now.weight * now.pull * now.sign * change;
            slope.second += now.curved * change * change;
            now.add_to(there);
            there.hinge += hinge(moved[i] - now_at, v[i]);
            bends[i] += v[i] * (now.pull - (before.pull + delta * (ahead.pull - before.pull)));
            turns[i] += now.curved - before.curved;
        }
        const Slope found = op.slope(y.data(), target.data(), v.data(), n, offset, aimed, clip, delta);
        CHECK(near(found.first, slope.first, std::abs(slope.first)), n, clip.high, delta, found.first, slope.first);
        CHECK(near(found.second, slope.second, slope.second), n, clip.high, delta, found.second, slope.second);
        const double offsets[] = {offset, aimed, offset + delta * (aimed - offset)};
        const MarginSums after = op.shift(y.data(), target.data(), moved.data(), v.data(), n, offsets, clip, delta,
                                          bend.data(), turn.data());
        CHECK(near(after, there), n, clip.high, delta);
        CHECK(near(bend, bends), n, clip.high, delta);
        CHECK(near(turn, turns), n, clip.high, delta);
    }
}

CASE(margins_slopes_and_shifts) {
    Random random(3);
    for (Index n = 0; n <= 70; ++n)
        for (const Clip& clip : clips)
            for (const bool exact : {true, false}) margins_case(random, n, clip, exact);
}

/// Rounding errors would make every row one that the gradient needs.
CASE(rows_that_stay_on_their_piece_have_no_bend) {
    Random random(4);
    const Index n = 999;
    const Numbers y = random_numbers(random, n, 3.0), target = random_numbers(random, n, 3.0),
                  v = random_numbers(random, n);
    for (const Clip& clip : clips)
        for (const double delta : {0.3, 1.0, 1.7}) {
            Numbers moved, bend(n, 0.0), turn(n, 0.0);
            for (Index i = 0; i < n; ++i) moved.push_back(y[i] + delta * (target[i] - y[i]));
            const double offsets[] = {0, 0, 0};
            margin_ops().shift(y.data(), target.data(), moved.data(), v.data(), n, offsets, clip, delta, bend.data(),
                               turn.data());
            Index bent = 0, flat = 0, stayed = 0;
            for (Index i = 0; i < n; ++i) {
                const Loss a(clip, y[i], v[i]), b(clip, target[i], v[i]), c(clip, moved[i], v[i]);
                const auto piece = [&](const Loss& x) { return (x.xi > clip.low) + (x.xi >= clip.high); };
                const bool same = piece(a) == piece(b) && piece(a) == piece(c);
                flat += same && a.curved == 0;
                stayed += same && a.curved > 0;
                bent += bend[i] != 0;
                if (same) CHECK(bend[i] == 0 && turn[i] == 0, delta, i, bend[i]);
            }
            CHECK(stayed > 3 && (clip.low < -1 || flat > 0), clip.high, stayed, flat);
            CHECK(delta == 1.0 || (bent > 0) == (clip.low > -1), clip.high, delta, bent);
        }
}

/// Largest output against the first threshold among the rows with a weight.
template <class T> double largest(const Problem<T>& p, Index k, const Truth& t, const double* b) {
    double most = 0;
    for (Index i = 0; i < p.n; ++i)
        if (p.signed_weight(k, i, 0) != 0) most = std::max(most, std::abs(t.outputs[i] - p.shift(b, 0)));
    return most;
}

// ---- one part against the reference --------------------------------------------------------------------

/// All calls of a Part, with machines in the order `which`. Returns how often a Hessian was computed from scratch.
template <class T> int walk(Random& random, Problem<T>& p, int kind, const std::vector<Index>& which, int threads) {
    Part<T> part = p.part(kind);
    const Index count = static_cast<Index>(which.size()), length = p.length;
    const Ids ids = Ids::of(which);
    part.set_sketch(p.sketch, p.precise);
    const bool precise = p.precise || kind > 3;
    Numbers at = random_numbers(random, count * length, 3.0);
    std::vector<Truth> here;
    for (Index q = 0; q < count; ++q) here.push_back(p.at(which[q], at.data() + q * length));

    const auto same = [&](const Sums& sums, const std::vector<Truth>& truth) {
        CHECK(static_cast<Index>(sums.margins.size()) == count && static_cast<Index>(sums.changed.size()) == count);
        CHECK(static_cast<Index>(sums.gradient.size()) == count * length);
        for (Index q = 0; q < count; ++q) {
            CHECK(near(sums.margins[q], truth[q].sums), kind, count, q);
            CHECK(near(line(sums.gradient, q, length), truth[q].gradient), kind, count, q);
        }
    };
    const auto reached = [&] {
        const Numbers directions = random_numbers(random, count * length);
        const Numbers bent = part.curvature(ids, directions.data(), threads, nullptr);
        for (Index q = 0; q < count; ++q) {
            const Truth& t = here[q];
            CHECK(near(part.outputs(which[q]), t.outputs.data(), p.n), kind, count, q);
            CHECK(near(part.pulls(which[q]), t.pulls), kind, count, q);
            CHECK(near(part.largest_output(which[q]), largest(p, which[q], t, at.data() + q * length)), kind, count, q);
            Numbers h(length * length, 0.5), diagonal(length), expected = t.hessian;
            for (double& x : expected) x += 0.5;
            part.hessian(which[q], h.data(), threads, nullptr);
            CHECK(near(h, expected, length, precise), kind, count, q);
            for (Index j = 0; j < length; ++j) diagonal[j] = t.hessian[j * length + j];
            CHECK(near(part.diagonal(which[q], nullptr), diagonal), kind, count, q);
            if (p.sketch == 1)
                CHECK(near(line(bent, q, length), times(t.hessian, directions.data() + q * length, length)), kind,
                      count, q);
        }
    };
    same(part.start(ids, at.data(), threads, nullptr), here);
    reached();

    int rebuilt = 0;
    std::vector<Numbers> hessians;
    for (const Truth& t : here) hessians.push_back(t.hessian);
    for (int step = 0; step < 3; ++step) {
        const Numbers aim = random_numbers(random, count * length, step == 1 ? 0.1 : 3.0);
        std::vector<Truth> ahead, next;
        Numbers deltas, point(count * length);
        for (Index q = 0; q < count; ++q) {
            const double delta = std::vector{1.0, 0.3, 1.7, 0.0}[(q + step + kind) % 4];
            deltas.push_back(delta);
            for (Index j = q * length; j < (q + 1) * length; ++j)
                point[j] = delta == 1.0 ? aim[j] : at[j] + delta * (aim[j] - at[j]);
            ahead.push_back(p.at(which[q], aim.data() + q * length));
            next.push_back(p.at(which[q], point.data() + q * length));
        }
        same(part.aim(ids, aim.data(), threads, nullptr), ahead);
        const std::vector<Slope> slopes = part.slopes(ids, deltas.data(), threads, nullptr);
        CHECK(static_cast<Index>(slopes.size()) == count);
        std::vector<double*> to;
        for (Index q = 0; q < count; ++q) {
            const Slope truth = p.slope(which[q], at.data() + q * length, aim.data() + q * length, deltas[q]);
            CHECK(near(slopes[q].first, truth.first, std::abs(truth.first) + truth.second), kind, count, q, deltas[q]);
            CHECK(near(slopes[q].second, truth.second, truth.second), kind, count, q, deltas[q]);
            CHECK(near(part.outputs(which[q]), here[q].outputs.data(), p.n), kind, count, q);  // not moved yet
            hessians[q][0] += 1000.0;  // lost where the matrix is computed from scratch
            to.push_back(q % 5 == 3 ? nullptr : hessians[q].data());
        }
        Sums moved = part.move(ids, deltas.data(), point.data(), to.data(), threads, nullptr);
        for (Index q = 0; q < count; ++q) {
            for (Index j = 0; j < length; ++j)
                moved.gradient[q * length + j] +=
                    (1 - deltas[q]) * here[q].gradient[j] + deltas[q] * ahead[q].gradient[j];
            Index changed = 0;
            for (Index i = 0; i < p.n; ++i)
                changed += !std::equal(next[q].curved.begin() + i * p.s, next[q].curved.begin() + (i + 1) * p.s,
                                       here[q].curved.begin() + i * p.s);
            CHECK(moved.changed[q] == changed, kind, count, q, moved.changed[q], changed);
            CHECK(deltas[q] != 0 || changed == 0);
            const bool fresh = to[q] && static_cast<double>(changed) > next[q].sums.active;
            rebuilt += fresh;
            CHECK(moved.rebuilt[q] == fresh, kind, count, q);
            if (!fresh) hessians[q][0] -= 1000.0;
            if (to[q]) CHECK(near(hessians[q], next[q].hessian, length, precise), kind, count, q, fresh, changed);
            hessians[q] = next[q].hessian;
        }
        same(moved, next);
        here = std::move(next);
        at = point;
        reached();
    }

    const Numbers made = random_numbers(random, count * length, 2.0);
    for (const bool curved : {true, false})
        for (const double margin : {1.0, -30.0}) {
            const Numbers worst = part.violation(ids, made.data(), margin, curved, threads, nullptr);
            CHECK(static_cast<Index>(worst.size()) == count);
            for (Index q = 0; q < count; ++q) {
                const double truth =
                    p.violation(which[q], at.data() + q * length, made.data() + q * length, margin, curved);
                CHECK(near(worst[q], truth, truth), kind, count, q, curved, worst[q], truth);
            }
        }
    return rebuilt;
}

std::vector<Index> shuffled(Random& random, Index n) {
    std::vector<Index> out(n);
    std::iota(out.begin(), out.end(), Index{0});
    for (Index i = n - 1; i > 0; --i) std::swap(out[i], out[below(random, i + 1)]);
    return out;
}

// ---- parts -------------------------------------------------------------------------------------------

template <class T> void forms_case() {
    Random random(5);
    int turn = 0, rebuilt = 0;
    for (const Index count : {1, 2, 9, 33})
        for (const Index thresholds : {0, 1, 3})
            for (int kind = 0; kind < Matrix<T>::forms; ++kind, ++turn) {
                const Matrix<T> m(random, count > 10 ? 70 : 200, 1 + turn % 11, turn % 3 ? 0.5 : 1.0);
                Problem<T> p(random, m, clips[(turn / 3) % 4], count, thresholds, thresholds > 1 || turn % 4 == 0,
                             turn % 5 < 2);
                p.precise = turn % 4 != 1;
                rebuilt += walk(random, p, kind, shuffled(random, count), 1 + turn % 3);
            }
    CHECK(rebuilt > 60, rebuilt);
}

CASE(every_form_and_number_of_machines) {
    forms_case<float>();
    forms_case<double>();
}

CASE(every_loss_and_number_of_thresholds) {
    Random random(6);
    const Matrix<double> m(random, 200, 6, 0.6);
    for (const Clip& clip : clips)
        for (const Index thresholds : {0, 1, 3})
            for (const bool codes : {false, true})
                for (const bool subset : {false, true}) {
                    if (thresholds > 1 && !codes) continue;
                    Problem<double> p(random, m, clip, 4, thresholds, codes, subset);
                    for (const int kind : {0, 4}) {
                        walk(random, p, kind, {2}, 1);
                        walk(random, p, kind, {3, 0, 2}, 1);
                    }
                }
}

template <class T> void many_rows_case(int kind) {  // several pieces
    Random random(7);
    const Matrix<T> m(random, 9001, 4, 0.7);
    for (const Index thresholds : {0, 3}) {
        Problem<T> p(random, m, clips[1], 5, thresholds, thresholds > 0, kind == 4);
        walk(random, p, kind, {4}, 2);
        walk(random, p, kind, {3, 0, 1, 4, 2}, 2);
    }
}

CASE_ONCE(many_rows) {
    many_rows_case<float>(2);
    many_rows_case<double>(4);
}

template <class T> void wide_rows_case() {  // the blocks are smaller, and the sums of all machines are much to hold
    Random random(8);
    for (const Index d : {70, 600}) {
        const Matrix<T> m(random, d == 70 ? 300 : 120, d, 0.1);
        for (const int kind : {0, 2, 5}) {
            Problem<T> p(random, m, clips[0], 3, 1, false, false);
            walk(random, p, kind, {1}, 1);
            if (d == 70) walk(random, p, kind, {1, 2, 0}, 1);
        }
    }
}

CASE_ONCE(wide_rows) {
    wide_rows_case<float>();
    wide_rows_case<double>();
}

CASE(machines_not_asked_for_stay_where_they_are) {
    Random random(9);
    const Matrix<double> m(random, 150, 5, 0.8);
    Problem<double> p(random, m, clips[1], 6, 1, false, true);
    Part<double> part = p.part(0);
    part.set_sketch(1, true);
    const std::vector<Index> all{0, 1, 2, 3, 4, 5}, some{4, 1, 2};
    const Numbers b = random_numbers(random, 6 * p.length, 2.0), other = random_numbers(random, 3 * p.length, 2.0);
    part.start(Ids::of(all), b.data(), 1, nullptr);
    part.aim(Ids::of(all), b.data(), 1, nullptr);
    Numbers deltas{1.0, 0.5, 0.3};
    double* const none[] = {nullptr, nullptr, nullptr};
    part.aim(Ids::of(some), other.data(), 1, nullptr);
    part.move(Ids::of(some), deltas.data(), other.data(), none, 1, nullptr);
    for (const Index k : {0, 3, 5}) {
        const Truth t = p.at(k, b.data() + k * p.length);
        CHECK(near(part.pulls(k), t.pulls), k);
        Numbers h(p.length * p.length, 0.0);
        part.hessian(k, h.data(), 1, nullptr);
        CHECK(near(h, t.hessian, p.length), k);
        const double zero = 0.5;
        CHECK(near(part.slopes({&k, 0, 1}, &zero, 1, nullptr)[0].second, 0.0));  // aimed at where they are
    }
    // A whole step ends where it was aimed at, to the bit.
    Part<double> fresh = p.part(0);
    fresh.start(Ids::of(some), other.data(), 1, nullptr);
    CHECK(same_bits(part.outputs(4), fresh.outputs(4), p.n));
    // Machines of a run.
    const Sums sums = part.start(Ids::run(2, 3), b.data() + 2 * p.length, 1, nullptr);
    for (Index q = 0; q < 3; ++q) CHECK(near(sums.margins[q], p.at(2 + q, b.data() + (2 + q) * p.length).sums), q);
}

CASE(another_loss_from_here) {
    Random random(10);
    const Matrix<float> m(random, 100, 5, 0.8);
    Problem<float> p(random, m, clips[0], 1, 1, false, false);
    Part<float> part = p.part(0);
    part.set_sketch(1, true);
    const Numbers b = random_numbers(random, p.length, 2.0);
    part.start(Ids::run(0, 1), b.data(), 1, nullptr);
    for (const Clip& clip : clips) {
        p.clip = clip;
        part.set_clip(clip);
        const Truth t = p.at(0, b.data());
        CHECK(near(part.pulls(0), t.pulls), clip.high);
        Numbers h(p.length * p.length, 0.0);
        part.hessian(0, h.data(), 1, nullptr);
        CHECK(near(h, t.hessian, p.length), clip.high);
        CHECK(near(part.start(Ids::run(0, 1), b.data(), 1, nullptr).margins[0], t.sums), clip.high);
    }
}

/// Whole passes count one, passes over some rows by the share of these.
CASE(passes_are_counted) {
    Random random(9);
    const Matrix<double> m(random, 200, 3, 1.0);
    Problem<double> p(random, m, clips[0], 2, 1, false, false);
    Part<double> part = p.part(0);
    const Numbers b = random_numbers(random, 2 * p.length), aim = random_numbers(random, 2 * p.length);
    CHECK(part.passes() == 0);
    const Sums sums = part.start(Ids::run(0, 2), b.data(), 1, nullptr);
    const double active = std::max(sums.margins[0].active, sums.margins[1].active) / 200;
    CHECK(part.passes() == 1 && active > 0 && active < 1, active);
    part.curvature(Ids::run(0, 2), aim.data(), 1, nullptr);
    CHECK(part.passes() == 1 + active, part.passes());
    Numbers h(p.length * p.length, 0.0);
    part.set_sketch(4, true);
    part.hessian(0, h.data(), 1, nullptr);
    CHECK(near(part.passes(), 1 + active + active / 4), part.passes());
    part.aim(Ids::run(0, 2), aim.data(), 1, nullptr);
    const double deltas[] = {1.0, 0.5}, before = part.passes();
    double* none[] = {nullptr, nullptr};
    const Sums moved = part.move(Ids::run(0, 2), deltas, aim.data(), none, 1, nullptr);
    CHECK(near(part.passes(), before + static_cast<double>(moved.changed[0] + moved.changed[1]) / 400));
    CHECK(near(before, 2 + active + active / 4), before);
}

// ---- sketches ----------------------------------------------------------------------------------------

/// What each row counts for in a Hessian: every row has a feature of its own.
Numbers shares_of(Index n, Index sketch) {
    OwnedCsr<double, std::int32_t> x;
    x.d = n;
    x.starts.push_back(0);
    for (Index i = 0; i < n; ++i) {
        x.values.push_back(1.0);
        x.columns.push_back(static_cast<std::int32_t>(i));
        x.starts.push_back(static_cast<std::int32_t>(i + 1));
    }
    const Numbers ones(n, 1.0);
    Machines machines;
    machines.planes = ones.data();
    machines.plane_count = 1;
    machines.plane_of = {0};
    machines.thresholds = 0;
    Part<double> part(x.view(), {}, machines, clips[2]);
    part.set_sketch(sketch, true);
    Numbers h(n * n, 0.0), out;
    part.hessian(0, h.data(), 1, nullptr);
    for (Index i = 0; i < n; ++i) out.push_back(h[i * n + i]);
    return out;
}

CASE(a_sketch_takes_neighbours) {
    const Index n = 16 * 64 + 5;
    CHECK(shares_of(50, 1) == Numbers(50, 1.0));
    for (const Index sketch : {2, 4, 8}) {
        const Numbers shares = shares_of(n, sketch);
        double all = 0;
        for (Index i = 0; i < n; ++i) {
            CHECK(shares[i] == 0 || shares[i] == static_cast<double>(sketch), i, shares[i]);
            CHECK(shares[i] == shares[i / 16 * 16], i);
            all += shares[i];
        }
        CHECK(all > 0.6 * n && all < 1.6 * n, sketch, all);
    }
}

template <class T> void sketch_case() {
    Random random(11);
    const Index n = 700;
    const Matrix<T> m(random, n, 4, 0.7);
    const Numbers shares = shares_of(n, 4);
    for (const Index thresholds : {0, 3})
        for (const int kind : {0, 2, 4})
            for (const bool subset : {false, true}) {
                Problem<T> p(random, m, clips[kind / 2], 3, thresholds, thresholds > 0, subset);
                p.shares.assign(shares.begin(), shares.begin() + p.n);
                p.sketch = 4;
                p.precise = subset;
                walk(random, p, kind, {1, 0, 2}, 2);
                walk(random, p, kind, {2}, 1);
            }
}

CASE(sketches_follow_the_steps) {
    sketch_case<float>();
    sketch_case<double>();
}

// ---- threads, interrupts, bad input ------------------------------------------------------------------

void append(Numbers& out, const Sums& sums) {
    for (const MarginSums& m : sums.margins)
        out.insert(out.end(), {m.loss, m.pull, m.weighted, m.squares, m.active, m.hinge});
    out.insert(out.end(), sums.gradient.begin(), sums.gradient.end());
    for (const Index changed : sums.changed) out.push_back(static_cast<double>(changed));
}

template <class T> void threads_case() {
    Random random(12);
    const Matrix<T> m(random, 14000, 5, 0.7);
    for (const int kind : {0, 4})
        for (const Index count : {1, 6}) {
            Problem<T> p(random, m, clips[1], count, 3, true, kind == 4);
            const Numbers start = random_numbers(random, count * p.length, 3.0),
                          aim = random_numbers(random, count * p.length, 3.0),
                          near_zero = random_numbers(random, count * p.length, 0.1);
            Numbers expected;
            for (const int threads : {1, 3, 16}) {
                Part<T> part = p.part(kind);
                const Ids all = Ids::run(0, count);
                Numbers found;
                append(found, part.start(all, start.data(), threads, nullptr));
                std::vector<Numbers> hessians(count, Numbers(p.length * p.length, 0.0));
                std::vector<double*> to;
                for (Index k = 0; k < count; ++k) {
                    part.hessian(k, hessians[k].data(), threads, nullptr);
                    to.push_back(hessians[k].data());
                }
                for (const double delta : {0.3, 1.0}) {
                    const Numbers deltas(count, delta), &b = delta < 1 ? aim : near_zero;
                    append(found, part.aim(all, b.data(), threads, nullptr));
                    for (const Slope& s : part.slopes(all, deltas.data(), threads, nullptr))
                        found.insert(found.end(), {s.first, s.second});
                    append(found, part.move(all, deltas.data(), b.data(), to.data(), threads, nullptr));
                    for (const Numbers& h : hessians) found.insert(found.end(), h.begin(), h.end());
                }
                for (const Numbers& some : {part.curvature(all, aim.data(), threads, nullptr),
                                            part.violation(all, aim.data(), 1.0, true, threads, nullptr)})
                    found.insert(found.end(), some.begin(), some.end());
                if (expected.empty()) expected = found;
                CHECK(same_bits(expected, found), kind, count, threads);
            }
        }
}

CASE_ONCE(threads_do_not_change_the_numbers) {
    threads_case<float>();
    threads_case<double>();
}

CASE(an_interrupt_ends_every_call) {
    Random random(13);
    const Matrix<double> m(random, 9000, 4, 0.7);
    for (const int kind : {0, 4})
        for (const Index count : {1, 6})
            for (const int threads : {1, 3}) {
                Problem<double> p(random, m, clips[0], count, 1, false, false);
                Part<double> part = p.part(kind);
                const Index length = p.length;
                const Ids all = Ids::run(0, count);
                const Numbers b = random_numbers(random, count * length), aim = random_numbers(random, count * length),
                              deltas(count, 0.5);
                std::vector<Numbers> hessians(count, Numbers(length * length, 0.0));
                std::vector<double*> to;
                for (Numbers& h : hessians) to.push_back(h.data());
                part.start(all, b.data(), threads, nullptr);
                part.aim(all, aim.data(), threads, nullptr);
                const Numbers before(part.outputs(0), part.outputs(0) + p.n);
                const auto whole = [&](const Sums& sums) {
                    return static_cast<Index>(sums.margins.size()) == count &&
                           static_cast<Index>(sums.gradient.size()) == count * length &&
                           static_cast<Index>(sums.changed.size()) == count;
                };
                int asked = 0;
                const auto stop = [&] { return ++asked, true; };
                // A new one for every call, asked within it; and one that has been requested before.
                Interrupt requested(stop);
                CHECK(requested.requested());
                for (const bool old : {true, false}) {
                    const auto with = [&](auto&& call) {
                        asked = 0;
                        Interrupt fresh(stop);
                        call(old ? &requested : &fresh);
                        CHECK(threads > 1 ? asked <= !old : asked == !old, asked);  // others may be done before
                    };
                    with([&](Interrupt* i) {
                        CHECK(whole(part.move(all, deltas.data(), b.data(), to.data(), threads, i)));
                    });
                    CHECK(same_bits(before.data(), part.outputs(0), p.n));
                    with([&](Interrupt* i) {
                        CHECK(static_cast<Index>(part.slopes(all, deltas.data(), threads, i).size()) == count);
                    });
                    with([&](Interrupt* i) {
                        CHECK(static_cast<Index>(part.curvature(all, b.data(), threads, i).size()) == count * length);
                    });
                    with([&](Interrupt* i) { CHECK(static_cast<Index>(part.diagonal(0, i).size()) == length); });
                    with([&](Interrupt* i) { part.hessian(0, to[0], threads, i); });
                    with([&](Interrupt* i) {
                        CHECK(static_cast<Index>(part.violation(all, b.data(), 1, true, threads, i).size()) == count);
                    });
                    with([&](Interrupt* i) { CHECK(whole(part.aim(all, aim.data(), threads, i))); });
                    with([&](Interrupt* i) { CHECK(whole(part.start(all, aim.data(), threads, i))); });
                }
                // One that is not requested changes nothing, and neither do calls that were interrupted.
                Interrupt quiet([] { return false; });
                const Sums sums = part.start(all, aim.data(), threads, &quiet);
                for (Index q = 0; q < count; ++q) {
                    const Truth t = p.at(q, aim.data() + q * length);
                    CHECK(near(sums.margins[q], t.sums) && near(line(sums.gradient, q, length), t.gradient), q);
                }
            }
}

CASE(sizes) {
    Random random(14);
    const Matrix<float> m(random, 30, 7, 0.5);
    for (const bool subset : {false, true})
        for (int kind = 0; kind < Matrix<float>::forms; ++kind) {
            Problem<float> p(random, m, clips[0], 5, 2, true, subset);
            const Part<float> part = p.part(kind);
            double entries = 0;
            for (Index i = 0; i < p.n; ++i)
                for (Index j = 0; j < 7; ++j) entries += kind < 4 || m.at(p.row(i), j) != 0;
            CHECK(part.rows() == p.n && part.machines() == 5 && part.length() == 9);
            CHECK(near(part.entries_per_row(), entries / p.n), kind, part.entries_per_row());
        }
}

CASE(nothing_asked_for) {
    const std::vector<double> x(6, 1.0);
    const Numbers planes(3, 1.0), b(3, 0.25);
    for (const Index d : {0, 2}) {
        Machines machines;
        machines.planes = planes.data();
        machines.plane_count = 1;
        machines.plane_of = {0};
        machines.thresholds = 0;
        Part<double> part(dense_view(x, 3, d), {}, std::move(machines), clips[0]);
        CHECK(part.start(Ids::run(0, 0), b.data(), 1, nullptr).margins.empty());
        CHECK(part.curvature(Ids::run(0, 0), b.data(), 1, nullptr).empty());
        CHECK(part.start(Ids::run(0, 1), b.data(), 1, nullptr).margins.size() == 1);
        Numbers h(4, 0.0);
        part.hessian(0, h.data(), 1, nullptr);
        CHECK(h[0] == (d == 0 ? 0.0 : 3.0), h[0]);
    }
}

CASE(bad_input) {
    const std::vector<double> x(6, 1.0);
    const Numbers planes(6, 1.0);
    const auto make = [&](std::vector<Index> ids, std::vector<Index> plane_of, Index thresholds,
                          std::vector<std::int32_t> codes, Index n = 3) {
        Machines machines;
        machines.planes = planes.data();
        machines.plane_count = 2;
        machines.plane_of = std::move(plane_of);
        machines.codes = std::move(codes);
        machines.thresholds = thresholds;
        return Part<double>(dense_view(x, n, 2), std::move(ids), std::move(machines), clips[0]);
    };
    CHECK(make({}, {0, 1, 1}, 1, {}).machines() == 3);
    CHECK(make({0, 2, 2, 1}, {1}, 0, {}).rows() == 4);
    CHECK(make({0, 2}, {1}, 4, {1, 0}).length() == 6);
    CHECK(make({}, {1}, 0, {1, 0, 3}).length() == 2);
    CHECK_THROWS(make({0, 3}, {0}, 1, {}), std::invalid_argument);
    CHECK_THROWS(make({-1}, {0}, 1, {}), std::invalid_argument);
    CHECK_THROWS(make({}, {0}, 1, {}, 0), std::invalid_argument);
    CHECK_THROWS(make({}, {0, 2}, 1, {}), std::invalid_argument);
    CHECK_THROWS(make({}, {-1}, 1, {}), std::invalid_argument);
    CHECK_THROWS(make({}, {0}, 2, {}), std::invalid_argument);
    CHECK_THROWS(make({}, {0}, -1, {}), std::invalid_argument);
    CHECK_THROWS(make({}, {0}, -1, {0, 0, 0}), std::invalid_argument);
    CHECK_THROWS(make({}, {0}, 2, {0, 1}), std::invalid_argument);
    CHECK_THROWS(make({0, 1}, {0}, 2, {0, 1, 2}), std::invalid_argument);
    Part<double> part = make({}, {0}, 1, {});
    for (const Index rows : {-4, -1, 0, 3, 6, 12}) CHECK_THROWS(part.set_sketch(rows, true), std::invalid_argument);
    for (const Index rows : {64, 2, 1}) part.set_sketch(rows, false);
}

}  // namespace
}  // namespace hingeline::finite_newton
