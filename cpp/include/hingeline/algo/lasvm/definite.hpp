// Whether the kernel is positive semi-definite on an expansion. If it is not, a small duality gap says that the
// coefficients are stationary, not that they are optimal.
//
// LDL' factorisation of the kernel matrix of at most `most` positions, support vectors first. A principal submatrix of
// a positive semi-definite matrix is positive semi-definite; therefore `false` is certain, up to rounding.
#pragma once

#include "hingeline/algo/lasvm/search.hpp"

namespace hingeline::online {

/// Positions whose kernel matrix is factorised: 512^3 / 3 multiplications.
inline constexpr Index most_factorised = 512;

template <class Source> bool is_definite(Search<Source>& search) {
    State& s = search.s;
    Array<Index> at;
    for (const bool support : {true, false})
        for (Index t = 0; t < s.n && std::ssize(at) < most_factorised; ++t)
            if (!s.dead[t] && (s[line::alpha][t] != 0) == support) at.push_back(t);
    const Index n = std::ssize(at);
    Array<double> K(n * n);
    double largest = 0;
    for (Index i = 0; i < n; ++i) {
        const auto* row = search.expansion.row(at[i]);
        if (!row) return true;  // interrupted: not known
        for (Index j = 0; j < n; ++j) K[i * n + j] = static_cast<double>(row[at[j]]);
        largest = std::max(largest, std::abs(K[i * n + i]));
    }
    // Values in double may come from a function that computes in single precision.
    const double rounding = static_cast<double>(n + 8) * largest * 2e-7;
    for (Index k = 0; k < n; ++k) {
        const double pivot = K[k * n + k];
        if (pivot < -rounding) return false;
        for (Index i = k + 1; i < n; ++i) {
            const double below = K[i * n + k];
            if (pivot <= rounding) {  // then the column must vanish: |below|^2 <= pivot * K_ii
                if (below * below > 4.0 * rounding * (largest + rounding)) return false;
                continue;
            }
            const double factor = below / pivot;
            for (Index j = k + 1; j <= i; ++j) K[i * n + j] -= factor * K[j * n + k];
        }
    }
    return true;
}

}  // namespace hingeline::online
