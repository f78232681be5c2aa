"""What the store holds, by kind, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.papers import frame

from .settings import CS, FOLDS, GRID_METHODS, LARGE_C, LARGE_METHODS, LARGE_SIGMAS, OL, SETS, SIGMAS, large

Cell = dict[str, Any]
Place = tuple[float, float]


class Summary(frame.Summary):
    """What the stored runs say."""

    # ---- the grid ----

    @property
    def folds(self) -> int:
        """Folds that are run over the whole grid."""
        return 1 if self.quick else FOLDS

    def grid(self, name: str, method: str) -> dict[Place, Cell]:
        """By C and sigma, in the order of the paper: sums over the folds. Empty unless the grid is whole."""
        folds: dict[Place, list[Cell]] = {}
        for at, result in self.of("cv", name=name, method=method):
            if at["fold"] < self.folds:
                for cell in result["cells"]:
                    folds.setdefault((at["C"], cell["sigma"]), []).append(cell)
        wanted = [(C, s) for C in CS for s in SIGMAS if not self.quick or any(C == at for at, _ in folds)]
        if not wanted or any(len(folds.get(place, ())) < self.folds for place in wanted):
            return {}
        return {place: _sum(folds[place]) for place in wanted}

    def whole(self) -> Iterator[tuple[str, list[dict[Place, Cell]]]]:
        """Sets whose grid is whole for all methods of the grid, with the grids."""
        for name in self.names("cv", SETS):
            grids = [self.grid(name, method) for method in GRID_METHODS]
            if all(grids):
                yield name, grids

    def online(self, way: str, method: str) -> dict[Place, Cell]:
        """The same for the chessboard of Figures 5 to 8."""
        folds: dict[Place, list[Cell]] = {}
        for _, result in self.of("online", way=way, method=method):
            for cell in result["cells"]:
                folds.setdefault((cell["C"], cell["sigma"]), []).append(cell)
        return {place: _sum(cells) for place, cells in folds.items()}

    def correlation(self, name: str) -> float | None:
        """Of the time of OL SVM with its violations, over the grid."""
        cells = self.grid(name, OL).values()
        if len(cells) < 3:
            return None
        return float(np.corrcoef([c["seconds"] for c in cells], [c["violations"] for c in cells])[0, 1])

    # ---- one fit at a large C ----

    def by_sigma(self, name: str, method: str) -> dict[float, Cell]:
        """At the large C, over all folds."""
        found: dict[float, list[Cell]] = {}
        for _, result in self.of("cv", name=name, method=method, C=LARGE_C):
            for cell in result["cells"]:
                found.setdefault(cell["sigma"], []).append(cell)
        return {s: _sum(cells) for s, cells in found.items() if len(cells) == FOLDS}

    def later(self) -> list[frame.Job]:
        """Runs at the large C whose cross-validation is done, each method with the sigma of its lowest error."""
        found = []
        for name in LARGE_SIGMAS:
            errors = {m: {s: error(c) for s, c in self.by_sigma(name, m).items()} for m in LARGE_METHODS}
            if all(errors.values()):
                sigmas = {m: min(known, key=lambda s: known[s]) for m, known in errors.items()}
                found.append(large(name, self.quick, sigmas))
        return found


def _sum(cells: list[Cell]) -> Cell:
    keys = [key for key in cells[0] if key not in ("C", "sigma")]
    return {key: sum(cell[key] for cell in cells) for key in keys} | {"folds": len(cells)}


def error(cell: Cell) -> float:
    """Percent, over all folds."""
    return 100 * cell["wrong"] / cell["rows"]


def average(grid: dict[Place, Cell]) -> float:
    return mean(error(cell) for cell in grid.values())


def best(grid: dict[Place, Cell]) -> Place:
    """The first with the lowest error."""
    return min(grid, key=lambda place: grid[place]["wrong"])


def total(grid: dict[Place, Cell], *keys: str) -> float:
    return sum(cell[key] for cell in grid.values() for key in keys)


def spread(grid: dict[Place, Cell], key: str = "seconds") -> float:
    """Largest over smallest."""
    values = [cell[key] for cell in grid.values()]
    return max(values) / max(min(values), 1e-9)
