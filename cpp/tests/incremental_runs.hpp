// Exact machines over random data, and an independent measure of how far they are from the optimum.
#pragma once

#include <memory>

#include "data.hpp"
#include "hingeline/algo/incremental/model.hpp"

namespace hingeline::incremental {

using namespace hingeline::testing;

struct Data {
    Index n, d;
    Array<double> x, k, y;
    std::unique_ptr<Gram<double>> gram;
    Data(Index n_, Index d_, const Kernel& kernel, std::uint64_t seed, bool grid = false) : n(n_), d(d_) {
        Random random(seed);
        x = random_values<double>(random, n, d);
        if (grid)
            for (double& value : x) value = std::round(2 * value);
        gram = std::make_unique<Gram<double>>(kernel, dense_view(x, n, d), std::size_t{0});
        k = kernel_values(*gram, Ids::run(0, n), Ids::run(0, n));
        for (Index i = 0; i < n; ++i) y.push_back(x[i * d] + uniform(random, -0.7, 0.7) > 0);
    }
};

struct Run {
    const Data& data;
    Model model;
    std::vector<Scratch<double>> scratch{1};
    Array<Index> rows;  // of the data, by position
    Run(const Data& data_, Problem problem, double C, double nu = 0) : data(data_) {
        model.problem = problem, model.C = C, model.nu = nu;
        model.kernel.allow(1u << 22);
        model.add(1);
    }
    /// Positions are rows of the source: a store of their own.
    Array<double> x;
    std::unique_ptr<Gram<double>> source() {
        x.clear();
        for (const Index i : rows) x.insert(x.end(), &data.x[i * data.d], &data.x[(i + 1) * data.d]);
        return std::make_unique<Gram<double>>(kernel, dense_view(x, rows.size(), data.d), std::size_t{0});
    }
    Kernel kernel{};
    void push(Index row, double weight = 1.0) {
        model.points.push(next++, static_cast<Index>(data.y[row]), weight);
        rows.push_back(row);
    }
    Index next = 0;
    void add(const Array<Index>& some) {
        for (const Index row : some) push(row);
        model.learn(*source(), scratch, some.size());
        close();
    }
    void forget(const Array<Index>& positions) {
        model.forget(*source(), scratch, positions);
        close();
    }
    void close() {
        Model::Removal removal(model.points.size());
        model.close(removal);
        for (const auto& [from, to] : removal.closing.moves) rows[to] = rows[from];
        rows.resize(removal.closing.size);
    }
    double value(Index i, Index j) const { return data.k[rows[i] * data.n + rows[j]]; }
    /// Violation of the optimality conditions, from the matrix alone.
    double violation() const {
        double worst = 0;
        for (const Unit& u : model.units) {
            const State& s = u.state;
            if (!s.ready) continue;
            double sum = -s.total;
            for (Index i = 0; i < s.n; ++i) {
                double f = s.mu;
                for (Index j = 0; j < s.n; ++j) f += s[line::alpha][j] * value(i, j);
                const double y = model.label(u, i);
                const double p = model.problem == Problem::classes  ? y
                                 : model.problem == Problem::sphere ? value(i, i) / 2
                                                                    : 0.0;
                const double a = s[line::alpha][i], C = model.C * model.points.weight[i];
                const double low = y > 0 ? 0 : -C, high = y > 0 ? C : 0;
                if (a > low) worst = std::max(worst, f - p);
                if (a < high) worst = std::max(worst, p - f);
                worst = std::max({worst, low - a, a - high});
                sum += a;
            }
            worst = std::max(worst, std::abs(sum));
        }
        return worst;
    }
    double scale() const {
        double largest = 0;
        for (Index i = 0; i < data.n; ++i) largest = std::max(largest, data.k[i * (data.n + 1)]);
        return std::max(1.0, model.C * largest);
    }
};

/// Violation, and how far the gradients and sets kept are from what they should be.
inline double wrong(const Run& run) {
    double worst = run.violation();
    for (const Unit& u : run.model.units)
        for (Index i = 0; u.state.ready && i < u.state.n; ++i) {
            double g = u.state.mu - u.state[line::p][i];
            for (Index j = 0; j < u.state.n; ++j) g += u.state[line::alpha][j] * run.value(i, j);
            worst = std::max(worst, std::abs(g - u.state[line::g][i]));
            const Place place = u.state.place[i];  // says where the coefficient is
            if (place == Place::low) worst = std::max(worst, u.state[line::alpha][i] - u.state.low(i));
            if (place == Place::high) worst = std::max(worst, u.state.high(i) - u.state[line::alpha][i]);
        }
    return worst;
}
/// Points on a line with a linear kernel; negative ones are of class 0.
inline Data on_a_line(Array<double> x) {
    const Index n = x.size();
    Data data(n, 1, Kernel{KernelKind::linear, 1, 0, 3}, 1);
    data.x = std::move(x);
    for (Index i = 0; i < n; ++i) {
        data.y[i] = data.x[i] > 0;
        for (Index j = 0; j < n; ++j) data.k[i * n + j] = data.x[i] * data.x[j];
    }
    return data;
}
struct Line : Run {
    Line(const Data& data, double C) : Run(data, Problem::classes, C) { kernel.kind = KernelKind::linear; }
    void add_weighted(Index row, double weight) {
        push(row, weight);
        model.learn(*source(), scratch, 1);
        close();
    }
    /// Where they are on the line, in the order in which they came.
    Array<double> held() const {
        Array<std::pair<Index, double>> all;
        for (Index i = 0; i < rows.size(); ++i) all.emplace_back(model.points.serial[i], data.x[rows[i]]);
        std::sort(all.begin(), all.end());
        Array<double> x;
        for (const auto& point : all) x.push_back(point.second);
        return x;
    }
};
/// Three classes, by the first feature.
inline Data three_classes(Index n, const Kernel& kernel, std::uint64_t seed) {
    Data data(n, 3, kernel, seed);
    for (Index i = 0; i < n; ++i) {
        const double x = data.x[i * 3] + 0.3 * data.x[i * 3 + 1];
        data.y[i] = x < -0.3 ? 0 : x < 0.3 ? 1 : 2;
    }
    return data;
}
inline double output(const Run& run, const State& s, Index row) {
    double f = s.constant();
    for (Index j = 0; j < s.n; ++j) f += s[line::alpha][j] * run.data.k[row * run.data.n + run.rows[j]];
    return f;
}

}  // namespace hingeline::incremental
