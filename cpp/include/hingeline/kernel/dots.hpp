// Kernel values from a matrix of dot products: several kernels of the same rows cost one matrix product.
#pragma once

#include "hingeline/kernel/gram.hpp"
#include "hingeline/run/team.hpp"

namespace hingeline {

/// out[i * n + j] = K(x_i, x_j) from dots[i * n + j] = x_i . x_j, with the bits of `Gram`. False when interrupted.
template <class T>
bool map_dots(const Kernel& kernel, const T* dots, Index n, int threads, Interrupt* interrupt, T* out) {
    constexpr Index rows_at_once = 16;
    const Index room = (n + line_step - 1) / line_step * line_step;
    Aligned<T> norms;
    std::fill_n(norms.reserve(room), room, T(0));
    double largest = 0;
    for (Index i = 0; i < n; ++i) {
        norms.data()[i] = dots[i * n + i];
        largest = std::max(largest, static_cast<double>(dots[i * n + i]));
    }
    require_finite_poly<T>(kernel, largest, largest);
    Array<Aligned<T>> lines(std::max(threads, 1));
    run_tasks((n + rows_at_once - 1) / rows_at_once, threads, interrupt, [&](Index task, int rank) {
        T* line = lines[rank].reserve(room);
        std::fill(line + n, line + room, T(0));
        for (Index i = task * rows_at_once; i < std::min(n, (task + 1) * rows_at_once); ++i) {
            std::copy_n(dots + i * n, n, line);
            tile_ops<T>().to_line(kernel, line, n, norms.data(), norms.data()[i], out + i * n);
        }
    });
    return !(interrupt && interrupt->requested());
}

}  // namespace hingeline
