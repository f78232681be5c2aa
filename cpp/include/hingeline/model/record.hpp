// Record: named values, the form in which models are saved and results leave the core.
//
// A state lists its fields once, in a function fields(archive, state) that calls archive("name", value) for each. A
// Writer stores the values; a Reader restores them and rejects a record in which a field is missing or has another type
// or length. Ranges of values are checked by the model before a restored state is used.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hingeline/core/wipe.hpp"
#include "hingeline/run/trace.hpp"

namespace hingeline {

/// A saved state that cannot be restored.
struct Damaged : std::invalid_argument {
    explicit Damaged(const std::string& what) : std::invalid_argument("the saved state is damaged: " + what) {}
};

inline void require_sound(bool holds, const char* what) {
    if (!holds) throw Damaged(what);
}
/// Whether a saved number can be a count. Sums of counts do not overflow.
inline bool is_count(Index n) { return n >= 0 && n <= Index{1} << 53; }

/// Numbers in row-major order; an empty shape means one dimension. They may come from rows, so their memory is
/// overwritten when released.
template <class T> struct Numeric {
    Wiped<T> values;
    std::vector<std::size_t> shape{};
};

/// Lengths of the dimensions.
template <class... Lengths> std::vector<std::size_t> shape(Lengths... lengths) {
    return {static_cast<std::size_t>(lengths)...};
}

struct Record;
using Value = std::variant<bool, Index, double, std::string, Numeric<Index>, Numeric<double>, Numeric<std::int8_t>,
                           std::vector<std::string>, std::vector<Record>>;

struct Record {
    std::vector<std::pair<std::string, Value>> fields;

    void put(std::string name, Value value) { fields.emplace_back(std::move(name), std::move(value)); }
    const Value* find(const std::string& name) const {
        for (const auto& [key, value] : fields)
            if (key == name) return &value;
        return nullptr;
    }
    template <class T> const T& get(const std::string& name) const {
        const Value* value = find(name);
        if (!value) throw Damaged("field '" + name + "' is missing");
        const T* typed = std::get_if<T>(value);
        if (!typed) throw Damaged("field '" + name + "' has another type");
        return *typed;
    }
};

/// Stores fields in a record.
struct Writer {
    static constexpr bool reads = false;
    Record record;

    template <class T> void operator()(const char* name, const T& value) {
        if constexpr (requires { value.data(); })
            array(name, value.data(), std::ssize(value));
        else if constexpr (std::is_same_v<T, bool>)
            record.put(name, value);
        else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>)
            record.put(name, static_cast<Index>(value));
        else
            record.put(name, static_cast<double>(value));
    }
    void operator()(const char* name, const Trace& trace) {
        Record columns;
        for (const Trace::Column& c : trace.columns())
            columns.put(c.name, Numeric<double>{{c.values.begin(), c.values.end()}});
        columns.put("paused_at", trace.paused_at());
        record.put(name, std::vector<Record>{std::move(columns)});
    }
    /// `count` consecutive numbers; the reader knows `count`.
    template <class T> void array(const char* name, const T* values, Index count) {
        using Stored = std::conditional_t<std::is_floating_point_v<T>, double,
                                          std::conditional_t<sizeof(T) == 1, std::int8_t, Index>>;
        Numeric<Stored> out;
        out.values.reserve(count);
        for (Index i = 0; i < count; ++i) out.values.push_back(static_cast<Stored>(values[i]));
        record.put(name, std::move(out));
    }
};

/// Restores fields from a record.
struct Reader {
    static constexpr bool reads = true;
    const Record& record;

    template <class T> void operator()(const char* name, T& value) const {
        if constexpr (requires { value.data(); }) {
            const auto& from = numbers<typename T::value_type>(name);
            value.resize(from.size());
            copy(name, from, value.data());
        } else if constexpr (std::is_same_v<T, bool>)
            value = record.get<bool>(name);
        else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>)
            value = static_cast<T>(record.get<Index>(name));
        else
            value = finite(name, record.get<double>(name));
    }
    void operator()(const char* name, Trace& trace) const {
        const auto& nested = record.get<std::vector<Record>>(name);
        require_sound(nested.size() == 1, name);
        const Reader columns{nested.front()};
        const Index rows = std::ssize(columns.numbers<double>(trace.columns().front().name.c_str()));
        for (Trace::Column& c : trace.columns()) {
            const auto& from = columns.numbers<double>(c.name.c_str());
            c.values.assign(from.begin(), from.end());
            require_sound(std::ssize(c.values) == rows, name);
        }
        double paused = 0;
        columns("paused_at", paused);
        trace.resume_from(paused);
    }
    template <class T> void array(const char* name, T* values, Index count) const {
        const auto& from = numbers<T>(name);
        require_sound(std::ssize(from) == count, name);
        copy(name, from, values);
    }

  private:
    template <class T> using Stored =
        std::conditional_t<std::is_floating_point_v<T>, double, std::conditional_t<sizeof(T) == 1, std::int8_t, Index>>;
    template <class T> const Wiped<Stored<T>>& numbers(const char* name) const {
        return record.get<Numeric<Stored<T>>>(name).values;
    }
    template <class T, class From> static void copy(const char* name, const From& from, T* to) {
        for (Index i = 0; i < std::ssize(from); ++i)
            if constexpr (std::is_floating_point_v<T>)
                to[i] = static_cast<T>(finite(name, from[i]));
            else
                to[i] = static_cast<T>(from[i]);
    }
    static double finite(const char* name, double value) {
        require_sound(std::isfinite(value), name);
        return value;
    }
};

/// The state of one model: its kind, the version of its fields, and the fields.
inline void put_header(Record& record, const char* kind, Index version) {
    record.put("kind", std::string(kind));
    record.put("version", version);
}
inline void check_header(const Record& record, const char* kind, Index version) {
    if (const auto& found = record.get<std::string>("kind"); found != kind)
        throw std::invalid_argument("the saved state is of kind '" + found + "'; expected '" + kind + "'");
    if (const Index found = record.get<Index>("version"); found != version)
        throw std::invalid_argument("the saved state has version " + std::to_string(found) +
                                    "; this hingeline reads version " + std::to_string(version) +
                                    ". Load it with the hingeline that saved it");
}

}  // namespace hingeline
