// Another solver of the same problem (hingeline.cuda): it gets the problem of a machine of the block solver with its
// starting point, and gives back where it stands. Everything that is published comes from the machine then.
#pragma once

#include "hingeline/algo/engine/state.hpp"
#include "hingeline/model/record.hpp"

namespace hingeline::engine {

/// The problem of a machine, by position, and its starting point. `stale`: v does not belong to beta. `resumed`: beta
/// may break bounds and sums.
inline Record problem(const State& s) {
    Record out;
    const auto put = [&](const char* name, const Array<double>& x) {
        out.put(name, Numeric<double>{{x.begin(), x.end()}});
    };
    out.put("row", Numeric<Index>{{s.row.begin(), s.row.end()}});
    put("p", s.p), put("lower", s.lower), put("upper", s.upper), put("beta", s.beta), put("v", s.v);
    out.put("total", Numeric<double>{{s.total[0], s.total[1]}});
    out.put("e", s.e);
    out.put("split", s.split);
    out.put("stale", s.stale);
    out.put("resumed", s.resumed);
    out.put("reason", std::string(name(s.reason)));
    return out;
}

/// Where another solver stands. v of all positions, or of the `active` ones with beta, v and D when v of all was known.
struct Standing {
    Array<double> beta, v;
    Array<Index> active;
    Array<double> synced, synced_v;
    double synced_dual = 0;
    Index outer = 0, steps = 0, kernel_evals = 0;
    std::string reason;                        // a name of `Reason`
    std::vector<std::vector<double>> records;  // lines of the trace

    void require(const State& s) const {
        const auto wrong = [](const char* what) { throw std::invalid_argument(what); };
        if (beta.size() != s.n() || v.size() != s.n()) wrong("one coefficient and one slope per position expected");
        const bool part = !active.empty();
        if (part && (synced.size() != s.n() || synced_v.size() != s.n())) wrong("one value per position expected");
        for (Index k = 0; k < active.size(); ++k)
            if (active[k] < 0 || active[k] >= s.n() || (k > 0 && active[k] <= active[k - 1]))
                wrong("active positions must ascend");
        for (const auto& record : records)
            if (std::ssize(record) != s.trace.columns().size()) wrong("a record of the trace has another length");
    }
};

/// Reason of a name; `running` for other names.
inline Reason reason_of(const std::string& word) {
    for (const Reason one : {Reason::tolerance, Reason::steps, Reason::precision})
        if (word == name(one)) return one;
    return Reason::running;
}

/// Put a machine where another solver stands. If it throws, nothing has changed.
inline void adopt(State& s, Standing found) {
    found.require(s);
    s.shrunk = !found.active.empty();
    if (s.shrunk) {
        s.active = std::move(found.active);
    } else {
        s.active.resize(s.n());
        std::iota(s.active.begin(), s.active.end(), Index{0});
    }
    s.beta = std::move(found.beta), s.v = std::move(found.v);
    s.synced = std::move(found.synced), s.synced_v = std::move(found.synced_v), s.synced_dual = found.synced_dual;
    s.stale = s.resumed = false, s.carried = true;
    constexpr double almost = 1 - 1e-9;  // rounding errors leave coefficients beside their bounds
    for (Index i = 0; i < s.n(); ++i) s.bounded = s.bounded || std::abs(s.beta[i]) >= almost * s.bound(i);
    s.outer = found.outer, s.steps = found.steps, s.kernel_evals = found.kernel_evals;
    s.reason = reason_of(found.reason);
    const Looks l = look(s, s.active);
    s.violation = l.gap();
    s.level = levels(s, s.active, l);
    for (Index c = 0; c < s.trace.columns().size(); ++c) {
        auto& values = s.trace.columns()[c].values;
        values.clear();
        for (const auto& record : found.records) values.push_back(record[static_cast<std::size_t>(c)]);
    }
    if (!found.records.empty()) s.trace.resume_from(found.records.back()[1]);
}

}  // namespace hingeline::engine
