// Exact incremental machines as arrays, and back. What comes from a file is not believed.
#pragma once

#include <unordered_map>

#include "hingeline/algo/incremental_model.hpp"
#include "online.hpp"

namespace hingeline::bindings {

inline void require_sound(bool holds) {
    if (!holds) throw std::invalid_argument("the saved state of a machine is damaged");
}

/// All that learning on needs of a machine, but for the points and their rows.
inline nb::dict saved_unit(const incremental::Unit& u) {
    using namespace hingeline::incremental;
    const State& s = u.state;
    const auto n = static_cast<std::size_t>(s.n);
    nb::dict d;
    d["whole"] = to_numpy(std::vector<Index>{u.positive, s.ready, s.refreshed_at, s.counts.steps, s.counts.rebuilds,
                                             s.counts.corrections, s.counts.restarts, s.counts.refinements});
    d["real"] = to_numpy(std::vector<double>{s.C, s.mu, s.counts.bytes});
    d["seconds"] = to_numpy(std::vector<double>(s.counts.seconds, s.counts.seconds + static_cast<int>(Part::count)));
    std::vector<double> lines;
    for (int k = 0; k < line::count; ++k) lines.insert(lines.end(), s.lines[k], s.lines[k] + s.n);
    d["lines"] = to_numpy(std::move(lines), {line::count, n});
    std::vector<std::int8_t> place;
    for (const Place p : s.place) place.push_back(static_cast<std::int8_t>(p));
    d["place"] = to_numpy(std::move(place));
    d["margin"] = to_numpy(s.margin);
    d["inverse"] = to_numpy(std::vector<double>(s.q.packed().begin(), s.q.packed().end()));
    return d;
}

/// The points held, in the order of the stored rows.
inline nb::dict saved_points(const incremental::Model& model) {
    nb::dict d;
    d["serial"] = to_numpy(model.points.serial);
    d["code"] = to_numpy(model.points.code);
    d["weight"] = to_numpy(model.points.weight);
    d["diagonal"] = to_numpy(std::vector<double>(model.points.diagonal.begin(), model.points.diagonal.end()));
    d["real"] = to_numpy(std::vector<double>{model.C, model.nu, model.kernel_seconds});
    return d;
}

inline incremental::Unit loaded_unit(const nb::dict& d, const incremental::Model& model, Index classes) {
    using namespace hingeline::incremental;
    const auto whole = nb::cast<Contiguous1<std::int64_t>>(d["whole"]),
               margin = nb::cast<Contiguous1<std::int64_t>>(d["margin"]);
    const auto real = nb::cast<Contiguous1<double>>(d["real"]), seconds = nb::cast<Contiguous1<double>>(d["seconds"]),
               inverse = nb::cast<Contiguous1<double>>(d["inverse"]);
    const auto lines = nb::cast<Contiguous2<double>>(d["lines"]);
    const auto place = nb::cast<Contiguous1<std::int8_t>>(d["place"]);
    const std::size_t n = static_cast<std::size_t>(model.n), m = margin.shape(0);
    require_sound(whole.shape(0) == 8 && real.shape(0) == 3 &&
                  seconds.shape(0) == static_cast<std::size_t>(Part::count) && lines.shape(0) == line::count &&
                  lines.shape(1) == n && place.shape(0) == n && m <= n &&
                  inverse.shape(0) == (m ? (m + 1) * (m + 2) / 2 : 0));
    for (const auto* values : {&real, &seconds, &inverse})
        for (std::size_t i = 0; i < values->size(); ++i) require_sound(std::isfinite(values->data()[i]));
    for (std::size_t i = 0; i < lines.size(); ++i) require_sound(std::isfinite(lines.data()[i]));
    const std::int64_t* w = whole.data();
    for (int i = 0; i < 8; ++i) require_sound(w[i] >= 0);
    require_sound(w[0] < std::max<Index>(classes, 1) && real.data()[0] > 0);
    Unit u{w[0], {}};
    State& s = u.state;
    s.total = model.problem == Problem::classes ? 0.0 : 1.0;
    s.C = real.data()[0], s.mu = real.data()[1], s.counts.bytes = real.data()[2];
    s.ready = w[1] != 0, s.refreshed_at = w[2];
    s.counts.steps = w[3], s.counts.rebuilds = w[4], s.counts.corrections = w[5], s.counts.restarts = w[6];
    s.counts.refinements = w[7];
    std::copy_n(seconds.data(), static_cast<int>(Part::count), s.counts.seconds);
    s.n = model.n;
    s.lines.resize(s.n);
    for (int k = 0; k < line::count; ++k) std::copy_n(lines.data() + static_cast<std::size_t>(k) * n, n, s.lines[k]);
    std::size_t inside = 0;
    for (std::size_t i = 0; i < n; ++i) {
        require_sound(place.data()[i] >= 0 && place.data()[i] <= static_cast<int>(Place::high));
        s.place.push_back(static_cast<Place>(place.data()[i]));
        inside += s.place.back() == Place::margin;
    }
    std::vector<char> named(n, 0);
    for (std::size_t j = 0; j < m; ++j) {
        const Index k = margin.data()[j];
        require_sound(k >= 0 && k < s.n && s.place[static_cast<std::size_t>(k)] == Place::margin &&
                      !std::exchange(named[static_cast<std::size_t>(k)], 1));
        s.margin.push_back(k);
    }
    require_sound(inside == m);
    if (m) s.q.load(inverse.data(), static_cast<Index>(m) + 1);
    return u;
}

/// A model without rows, from what `saved_points` and `saved_unit` gave.
inline incremental::Model loaded_model(incremental::Problem problem, const nb::list& units, const nb::dict& points,
                                       Index classes) {
    using namespace hingeline::incremental;
    const auto serial = nb::cast<Contiguous1<std::int64_t>>(points["serial"]),
               code = nb::cast<Contiguous1<std::int64_t>>(points["code"]);
    const auto weight = nb::cast<Contiguous1<double>>(points["weight"]),
               diagonal = nb::cast<Contiguous1<double>>(points["diagonal"]),
               real = nb::cast<Contiguous1<double>>(points["real"]);
    const std::size_t n = serial.shape(0);
    require_sound(code.shape(0) == n && weight.shape(0) == n && diagonal.shape(0) == n && real.shape(0) == 3);
    Model fresh;
    fresh.problem = problem;
    fresh.C = real.data()[0], fresh.nu = real.data()[1], fresh.kernel_seconds = real.data()[2];
    require_sound(std::isfinite(fresh.C) && fresh.C > 0 && fresh.nu >= 0 &&
                  fresh.nu <= (fresh.problem == Problem::classes ? 0 : 1));
    std::unordered_map<Index, bool> seen;
    for (std::size_t i = 0; i < n; ++i) {
        require_sound(code.data()[i] >= 0 && code.data()[i] < std::max<Index>(classes, 1) && serial.data()[i] >= 0 &&
                      !std::exchange(seen[serial.data()[i]], true) && std::isfinite(weight.data()[i]) &&
                      weight.data()[i] >= 0 && std::isfinite(diagonal.data()[i]));
        fresh.points.push(serial.data()[i], code.data()[i], weight.data()[i]);
        fresh.points.diagonal[i] = diagonal.data()[i];
    }
    fresh.n = static_cast<Index>(n);
    for (nb::handle state : units) fresh.units.push_back(loaded_unit(nb::cast<nb::dict>(state), fresh, classes));
    return fresh;
}

}  // namespace hingeline::bindings
