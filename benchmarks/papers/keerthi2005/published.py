"""Tables 1 and 3 to 6 of the paper, as printed. Seconds are of a Xeon with 2.4 GHz."""

from __future__ import annotations

#: Seconds for 21 values of C.
SEEDING = {
    "none": {"adult-9": 60.26, "web-8": 105.16, "news20": 1321.87},
    "seeded": {"adult-9": 36.80, "web-8": 24.43, "news20": 944.27},
}

#: Seconds at C = 1.
HEURISTICS = {
    "none": {"adult-9": 7.28, "web-8": 11.79, "news20": 98.06},
    "first": {"adult-9": 5.12, "web-8": 9.24, "news20": 67.85},
    "second": {"adult-9": 3.57, "web-8": 4.17, "news20": 90.54},
    "both": {"adult-9": 3.00, "web-8": 3.90, "news20": 52.73},
}
SV_FRACTION = {"adult-9": 0.605, "web-8": 0.219, "news20": 0.650}

#: Methods of Tables 4 to 6, in the order of their columns. The first two have the hinge loss.
METHODS = {"light": "SVM-light", "bsvm": "BSVM", "mfn": "L2-SVM-MFN"}

_Row = tuple[float | None, ...]
#: For each C of the grid: seconds and CV error in percent of each method.
_RESULTS: dict[str, tuple[_Row, ...]] = {
    "adult-9": (
        (16.8, 15.29, 7.3, 15.29, 1.2, 15.30),
        (15.3, 15.28, 8.1, 15.27, 1.3, 15.26),
        (18.6, 15.25, 8.9, 15.27, 1.4, 15.22),
        (21.1, 15.23, 10.0, 15.23, 1.6, 15.21),
        (25.8, 15.24, 11.7, 15.23, 1.8, 15.21),
        (44.4, 15.25, 13.3, 15.24, 1.9, 15.23),
        (47.0, 15.23, 15.9, 15.24, 2.2, 15.23),
        (58.9, 15.26, 20.3, 15.25, 3.1, 15.22),
        (80.9, 15.23, 25.8, 15.24, 2.9, 15.22),
        (112.6, 15.22, 32.4, 15.22, 2.9, 15.23),
        (189.2, 15.23, 41.7, 15.23, 3.1, 15.23),
        (235.9, 15.24, 54.4, 15.22, 3.5, 15.23),
    ),
    "web-8": (
        (14.3, 1.36, 11.4, 1.35, 3.2, 1.34),
        (14.9, 1.35, 15.8, 1.35, 4.2, 1.34),
        (19.6, 1.34, 20.7, 1.34, 5.0, 1.33),
        (29.1, 1.34, 28.4, 1.34, 5.0, 1.33),
        (46.8, 1.33, None, 1.33, 4.7, 1.33),
        (60.3, 1.33, 61.4, 1.33, 5.7, 1.33),
        (110.5, 1.33, 82.4, 1.33, 7.6, 1.33),
        (131.6, 1.33, 139.0, 1.33, 8.9, 1.34),
        (232.6, 1.33, 191.4, 1.33, 10.8, 1.34),
        (279.8, 1.34, 282.9, 1.34, 10.8, 1.34),
        (347.5, 1.35, 441.1, 1.35, 11.6, 1.34),
        (615.1, 1.35, 647.1, 1.34, 11.2, 1.34),
    ),
    "news20": (
        (335.9, 2.93, 330.4, 2.93, 69.3, 3.35),
        (407.6, 2.82, 392.6, 2.81, 55.4, 3.16),
        (437.1, 2.78, 436.1, 2.78, 84.5, 3.07),
        (442.2, 2.78, 434.4, 2.78, 62.7, 2.98),
        (466.8, 2.74, 437.3, 2.73, 76.0, 2.89),
        (466.9, 2.77, 432.3, 2.78, 75.0, 2.88),
        (455.9, 2.85, 450.4, 2.85, 91.6, 2.88),
        (471.3, 3.02, 439.0, 3.02, 98.0, 2.86),
        (513.7, 3.07, 432.2, 3.07, 114.0, 2.86),
        (554.7, 3.07, 437.0, 3.07, 120.4, 2.89),
        (525.7, 7.76, 421.6, 3.07, 159.2, 2.90),
        (535.7, 3.07, 426.5, 3.08, 193.9, 2.97),
    ),
}


def seconds(name: str, method: str) -> list[float | None]:
    """Along the grid of C; empty for a set without a table."""
    return [row[2 * list(METHODS).index(method)] for row in _RESULTS.get(name, ())]


def errors(name: str, method: str) -> list[float]:
    """CV error in percent along the grid of C."""
    return [row[2 * list(METHODS).index(method) + 1] or 0.0 for row in _RESULTS.get(name, ())]
