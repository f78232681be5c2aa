// Groups: the weight vectors of several machines as panels (vector/tiles.hpp), a single one as a plain vector; and sums
// of the same form, collected from the pieces of a pass.
#pragma once

#include <vector>

#include "hingeline/vector/tiles.hpp"

namespace hingeline::finite_newton {

struct Groups {
    struct Group {
        Index first, count;
        int vectors;  // registers per line of the panel; 0: a plain vector
        Index at;     // offset of its panel
    };
    std::vector<Group> list;
    Index width = 0;  // of all panels together

    /// `machines` lines of `length` values, of which the first d are weights of features.
    /// They must outlive this.
    Groups(Index machines, Index d, Index length, const double* lines) : d_(d), length_(length), lines_(lines) {
        const auto& op = tile_ops<double>();
        const Index most = Index{op.lanes} * op.max_vectors;
        for (Index first = 0; first < machines; first += most) {
            const Index count = std::min(most, machines - first);
            const int vectors = count == 1 ? 0 : static_cast<int>((count + op.lanes - 1) / op.lanes);
            list.push_back({first, count, vectors, width * d});
            width += lanes_of(list.back());
        }
        if (machines == 1) return;
        panels_.assign(static_cast<std::size_t>(width * d), 0.0);
        for (const Group& g : list)
            for (Index q = 0; q < g.count; ++q) {
                const double* from = lines + (g.first + q) * length;
                double* to = panels_.data() + g.at + q;
                for (Index j = 0, w = lanes_of(g); j < d; ++j) to[j * w] = from[j];
            }
    }
    const double* panel(const Group& g) const { return g.vectors ? panels_.data() + g.at : lines_ + g.first * length_; }
    static Index lanes_of(const Group& g) { return g.vectors ? Index{g.vectors} * tile_ops<double>().lanes : 1; }
    /// Set the lanes of a tile without a machine to zero.
    static void clear_spare(const Group& g, Index rows, std::vector<double>& tile) {
        for (Index i = 0, w = lanes_of(g); i < rows; ++i)
            std::fill(tile.begin() + i * w + g.count, tile.begin() + (i + 1) * w, 0.0);
    }
    /// Sums of the pieces, as lines. A piece holds the panels and then `tail` values for each machine; an empty piece
    /// was interrupted.
    std::vector<double> collect(std::vector<std::vector<double>>& pieces, Index machines, Index tail) const {
        if (machines == 1 && pieces.size() == 1 && !pieces[0].empty()) return std::move(pieces[0]);
        std::vector<double> out(static_cast<std::size_t>(machines * length_), 0.0);
        for (const auto& piece : pieces) {
            if (piece.empty()) continue;
            for (const Group& g : list)
                for (Index q = 0; q < g.count; ++q) {
                    const double* from = piece.data() + g.at + q;
                    double* to = out.data() + (g.first + q) * length_;
                    for (Index j = 0, w = lanes_of(g); j < d_; ++j) to[j] += from[j * w];
                }
            const double* rest = piece.data() + width * d_;
            for (Index q = 0; q < machines; ++q)
                for (Index r = 0; r < tail; ++r)
                    out[static_cast<std::size_t>(q * length_ + d_ + r)] += rest[q * tail + r];
        }
        return out;
    }

  private:
    Index d_, length_;
    const double* lines_;
    std::vector<double> panels_;
};

}  // namespace hingeline::finite_newton
