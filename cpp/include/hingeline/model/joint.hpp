// From machines to LIBSVM's arrays: the union of their support vectors, with the coefficients of all machines in the
// order of the classes.
//
// Pairs have the order (0, 1), (0, 2), ..., (c-2, c-1). The support vectors of class i have one coefficient for each
// other class, in order; one-vs-rest machines have one line of coefficients each.
#pragma once

#include <algorithm>
#include <numeric>

#include "hingeline/model/record.hpp"

namespace hingeline {

/// Support vectors of one machine.
struct Terms {
    Array<Index> row;    // in the rows held
    Array<Index> id;     // number of the example in its stream or training set
    Array<Index> code;   // class, as it sorts among the labels
    Array<double> coef;  // signed
    double intercept = 0;
    void add(Index r, Index number, Index label, double value) {
        row.push_back(r), id.push_back(number), code.push_back(label), coef.push_back(value);
    }
};

/// The union of the support vectors: class after class, ascending within a class.
struct Joint {
    Array<Index> id, row, n_support;
    Array<double> dual_coef;  // one line after another
    Index lines = 0;
};

/// The joint of one machine whose examples have different numbers: nothing to unite.
inline Joint join_one(const Terms& m, Index classes) {
    Array<std::pair<Index, Index>> order;  // number of an example, and its place in m
    Joint out;
    out.lines = 1;
    out.n_support.assign(classes, 0);
    for (Index code = 0; code < classes; ++code) {
        order.clear();
        for (Index i = 0; i < std::ssize(m.id); ++i)
            if (m.code[i] == code) order.push_back({m.id[i], i});
        std::sort(order.begin(), order.end());
        out.n_support[code] = std::ssize(order);
        for (const auto& [id, i] : order)
            out.id.push_back(id), out.row.push_back(m.row[i]), out.dual_coef.push_back(m.coef[i]);
    }
    return out;
}

inline Joint join(const Array<Terms>& machines, Index classes, bool one_vs_rest) {
    if (machines.size() == 1 && classes <= 2) return join_one(machines.front(), classes);
    struct Entry {
        Index id, code, row;
    };
    Array<Entry> all;
    for (const Terms& m : machines)
        for (Index i = 0; i < std::ssize(m.id); ++i) all.push_back({m.id[i], m.code[i], m.row[i]});
    std::stable_sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.id < b.id; });
    all.erase(std::unique(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.id == b.id; }),
              all.end());
    Array<Index> place(all.size());  // of an entry in the union
    std::iota(place.begin(), place.end(), Index{0});
    Array<Index> order = place;
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return all[a].code < all[b].code; });
    Joint out;
    out.lines = one_vs_rest ? classes : std::max<Index>(classes - 1, 1);
    out.n_support.assign(classes, 0);
    for (Index k = 0; k < std::ssize(order); ++k) {
        const Entry& e = all[order[k]];
        place[order[k]] = static_cast<Index>(k);
        out.id.push_back(e.id), out.row.push_back(e.row);
        ++out.n_support[e.code];
    }
    const auto find = [&](Index id) {
        const auto at = std::lower_bound(all.begin(), all.end(), id, [](const Entry& e, Index x) { return e.id < x; });
        return place[at - all.begin()];
    };
    const Index width = all.size();
    out.dual_coef.assign(out.lines * width, 0.0);
    Index first = 0, second = 1;
    for (Index m = 0; m < std::ssize(machines); ++m) {
        for (Index i = 0; i < std::ssize(machines[m].id); ++i) {
            const Index line = one_vs_rest ? m : machines[m].code[i] == first ? second - 1 : first;
            out.dual_coef[line * width + find(machines[m].id[i])] = machines[m].coef[i];
        }
        if (++second == classes) second = ++first + 1;
    }
    return out;
}

/// A field with the numbers of a list.
template <class List> void put_list(Record& record, const char* name, const List& list) {
    using T = std::conditional_t<std::is_floating_point_v<typename List::value_type>, double, Index>;
    record.put(name, Numeric<T>{{list.begin(), list.end()}});
}

/// Fields 'support', 'row', 'n_support', 'dual_coef' and 'intercept' of the machines, which are in order.
inline void put_joint(Record& record, const Array<Terms>& machines, Index classes, bool one_vs_rest) {
    Joint joint = join(machines, classes, one_vs_rest);
    Numeric<double> intercept;
    for (const Terms& m : machines) intercept.values.push_back(m.intercept + 0.0);  // no negative zeros
    const Index width = joint.id.size();
    put_list(record, "support", joint.id);
    put_list(record, "row", joint.row);
    put_list(record, "n_support", joint.n_support);
    record.put("dual_coef",
               Numeric<double>{{joint.dual_coef.begin(), joint.dual_coef.end()}, shape(joint.lines, width)});
    record.put("intercept", std::move(intercept));
}

/// A field with one number per machine: f(machine), for machines in the given order.
template <class Machines, class F>
void put_each(Record& record, const char* name, const Machines& machines, const Array<Index>& order, F&& f) {
    using T = std::decay_t<decltype(f(machines.front()))>;
    if constexpr (std::is_convertible_v<T, std::string>) {
        std::vector<std::string> out;
        for (const Index m : order) out.push_back(f(machines[m]));
        record.put(name, std::move(out));
    } else {
        Numeric<std::conditional_t<std::is_floating_point_v<T>, double, Index>> out;
        for (const Index m : order) out.values.push_back(f(machines[m]));
        record.put(name, std::move(out));
    }
}

/// Field 'history': the traces of the machines one after another, with a column 'machine'.
template <class Machines, class F>
void put_history(Record& record, const Machines& machines, const Array<Index>& order, F&& trace_of) {
    if (order.empty()) return;
    std::vector<Record> tables(1);  // a list in braces would be copied
    Record& out = tables[0];
    Numeric<Index> which;
    for (Index k = 0; k < std::ssize(order); ++k)
        which.values.insert(which.values.end(), trace_of(machines[order[k]]).size(), static_cast<Index>(k));
    out.put("machine", std::move(which));
    const auto& columns = trace_of(machines.front()).columns();
    for (Index c = 0; c < std::ssize(columns); ++c) {
        Array<double> values;
        for (const Index m : order) {
            const auto& some = trace_of(machines[m]).columns()[c].values;
            values.insert(values.end(), some.begin(), some.end());
        }
        if (columns[c].whole)
            out.put(columns[c].name, Numeric<Index>{{values.begin(), values.end()}});
        else
            out.put(columns[c].name, Numeric<double>{{values.begin(), values.end()}});
    }
    record.put("history", std::move(tables));
}

}  // namespace hingeline
