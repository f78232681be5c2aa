"""Tables of the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import mean
from typing import Any

import numpy as np
import scipy.stats

from benchmarks.writing import number, table
from hingeline.compare import Comparison

from . import data
from .settings import (
    CAPPED,
    CELL_METHODS,
    CELL_SETS,
    FIRST,
    METHODS,
    MNSVM,
    MORE,
    NNISDA,
    OLLAWV,
    PUBLISHED,
    SEARCHED,
    SECOND,
    SETS,
    SVC_,
)
from .summary import Row, Summary, recomputed

#: Fewest sets of a signed-rank test.
FEWEST = 10
UNITS = {"accuracy": "accuracy, %", "seconds": "s", "support": "support vectors, %"}


def missing(summary: Summary) -> str:
    """Which sets are not complete."""
    wanted = (*FIRST, *MORE, *SECOND[1:])
    none = [name for name in SETS if not any(summary.row(name, method) for method in wanted)]
    parts = []
    for name in SETS:
        left = [METHODS[m].title for m in wanted if name not in none and not summary.row(name, m)]
        if left:
            parts.append(f"{name} (without {', '.join(left)})")
    words = f"- Sets that have not been run: {', '.join(none) or 'none'}"
    words += f"\n- Sets that have been run in part: {'; '.join(parts)}" if parts else ""
    return words


def cells(summary: Summary) -> str:
    """One fit on each large set."""
    lines = []
    for name in CELL_SETS:
        for method in CELL_METHODS:
            found = summary.one("cell", name=name, method=method)
            if found:
                known = "-" if "correct" not in found else f"{100 * found['correct'] / found['rows']:.2f}"
                seconds = _cell("seconds", found["seconds"], not found["finished"])
                lines.append([f"{name}: {METHODS[method].title}", f"{found['n_train']:,}", seconds, known])
    return table(["one fit", "rows", "s", "accuracy, %"], lines)


def sizes(summary: Summary) -> str:
    """Table 1.2."""
    lines = []
    for name in SETS:
        printed = [f"{v:,}" for v in PUBLISHED["sizes"][name]]
        if summary.of("nested", name=name):
            X, y = data.load(name)
            ours = [f"{X.shape[0]:,}", f"{X.shape[1]:,}", str(len(set(y.tolist())))]
        else:
            ours = ["-"] * 3
        lines.append([f"{name} ({SETS[name].group})", *printed, *ours, SETS[name].note or "-"])
    header = ["", "published: samples", "attributes", "classes", "ours: samples", "attributes", "classes", "difference"]
    return table(header, lines)


def first(summary: Summary, what: str) -> str:
    """One third of Table 1.3: published, ours, and what we add."""
    methods = (*FIRST, *MORE)
    lines = []
    for name in SETS:
        rows = [summary.row(name, method) for method in methods]
        if any(rows):
            printed = [_cell(what, value) for value in PUBLISHED[what][name]]
            lines.append([name, *printed, *(_ours(what, row) for row in rows)])
    if not lines:
        return "Not run."
    for words, values in (("average", _averages(summary, what, methods)), ("mean rank", _ranks(summary, what))):
        lines.append([words, *values])
    titles = [METHODS[method].title for method in methods]
    header = [UNITS[what], *(f"published: {t}" for t in titles[:3]), *(f"ours: {t}" for t in titles)]
    return table(header, lines)


def _cell(what: str, value: float, censored: bool = False) -> str:
    return ("> " * censored + number(value)) if what == "seconds" else f"{value:.2f}"


def _ours(what: str, row: Row | None) -> str:
    return "-" if row is None else _cell(what, getattr(row, what), row.censored)


def _averages(summary: Summary, what: str, methods: Sequence[str]) -> list[str]:
    """Over the sets that all methods of ours have; the published ones over the same sets."""
    names = summary.done(methods)
    if not names:
        return ["-"] * (3 + len(methods))
    printed = [mean(PUBLISHED[what][name][k] for name in names) for k in range(3)]
    ours = [mean(getattr(summary.row(name, m), what) for name in names) for m in methods]
    return [_cell(what, v) for v in (*printed, *ours)]


def _ranks(summary: Summary, what: str) -> list[str]:
    """Of the three methods of the chapter, over all 23 sets as published and over ours."""
    ours = summary.compared(what)
    known = [f"{r:.3f}" for r in recomputed(what).mean_ranks]
    return [*known, *("-" * 3 if ours is None else (f"{r:.3f}" for r in ours.mean_ranks)), *["-"] * len(MORE)]


def second(summary: Summary) -> str:
    """Table 1.5."""
    lines = []
    for name in SETS:
        rows = [summary.row(name, method) for method in (*SECOND, SVC_)]
        if any(rows):
            printed = [f"{v:.2f}" for v in (PUBLISHED["accuracy"][name][0], *PUBLISHED["others"][name])]
            lines.append(
                [name, *printed, *("-" if r is None else f"{r.accuracy:.2f} ± {r.deviation:.2f}" for r in rows)]
            )
    ours = summary.compared("accuracy", SECOND)
    if ours is not None:
        known = recomputed("accuracy", SECOND)
        lines.append(["mean rank", *(f"{r:.3f}" for r in (*known.mean_ranks, *ours.mean_ranks)), "-"])
    titles = [METHODS[method].title for method in (*SECOND, SVC_)]
    return table(["accuracy, %", *(f"published: {t}" for t in titles[:-1]), *(f"ours: {t}" for t in titles)], lines)


def others(_: Summary) -> str:
    """Table 1.4: the values searched, and the stand-ins."""
    known = {
        "knn": "number of neighbours 1, 3, 5, 7",
        "j48": "pruning or none; confidence 0.1, 0.25, 0.5",
        "jrip": "pruning or none",
        "bayes": "kernel estimation or none",
        "logistic": "log-likelihood 1e-7, 1e-8, 1e-9 (ridge)",
    }
    lines = []
    for method, words in known.items():
        ours = "; ".join(f"{key}: {', '.join(map(str, values))}" for key, values in METHODS[method].grid.items())
        lines.append([METHODS[method].title, words, METHODS[method].note, ours])
    return table(["Weka", "published", "here", "searched"], lines)


def tests(summary: Summary) -> str:
    """Ranks and tests of the printed tables, computed again, and of ours."""
    lines = []
    for what, methods, title in (
        ("accuracy", FIRST, "accuracy (Figure 1.3)"),
        ("seconds", FIRST, "runtime (Figure 1.4)"),
        ("support", FIRST, "support vectors (Figure 1.5)"),
        ("accuracy", SECOND, "accuracy, other methods (Figure 1.8)"),
    ):
        key = "others" if methods == SECOND else what
        printed = ", ".join(f"{r:.3f}" for r in PUBLISHED["ranks"][key])
        known = recomputed(what, methods)
        lines.append([f"{title}: printed", str(len(known.datasets)), printed, "-", "-", "-", "-"])
        lines.append([f"{title}: computed again", *_test(known)])
        ours = summary.compared(what, methods)
        if ours is not None:
            lines.append([f"{title}: ours", *_test(ours)])
    # NNISDA and MNSVM have one optimum: counted once here.
    for what, methods, title in (
        ("accuracy", (OLLAWV, MNSVM, SVC_), "accuracy with SVC, NNISDA and MNSVM once: ours"),
        ("seconds", (OLLAWV, NNISDA, MNSVM, SVC_), "runtime with SVC: ours"),
        ("support", (OLLAWV, MNSVM, SVC_), "support vectors with SVC, NNISDA and MNSVM once: ours"),
        ("accuracy", (*SECOND, SVC_), "accuracy, other methods and SVC: ours"),
    ):
        found = summary.compared(what, methods)
        if found is not None:
            lines.append([title, *_test(found)])
    header = ["", "sets", "mean ranks", "F", "p", "critical distance", "differ from OLLAWV (Holm in brackets)"]
    return table(header, lines)


def wilcoxon(summary: Summary) -> str:
    """Signed-rank tests of OLLAWV and its variants against the optima."""
    lines = []
    for ours in (OLLAWV, CAPPED, SEARCHED):
        for other in (MNSVM, SVC_):
            for what in ("accuracy", "support"):
                values = summary.values(what, (ours, other))
                a, b = (np.array(list(values[METHODS[m].title].values())) for m in (ours, other))
                if len(a) >= FEWEST:
                    p = scipy.stats.wilcoxon(a, b, zero_method="zsplit").pvalue
                    row = [f"{METHODS[ours].title} against {METHODS[other].title}: {UNITS[what]}", str(len(a))]
                    lines.append([*row, f"{np.median(a - b):+.2f}", f"{int(np.sum(a > b))}", f"{p:.3g}"])
    return table(["", "sets", "median difference", "larger on", "p"], lines)


def shares(summary: Summary) -> str:
    """Support vectors of OLLAWV against the published share."""
    lines = []
    for method in (OLLAWV, CAPPED, SEARCHED):
        names = summary.done([method])
        ratios = [summary.row(name, method).support / PUBLISHED["support"][name][0] for name in names]
        counts = [sum(r > 1.1 for r in ratios), sum(r < 0.9 for r in ratios)]
        row = [METHODS[method].title, str(len(names)), *map(str, counts)]
        lines.append([*row, f"{np.median(ratios):.2f}" if ratios else "-"])
    header = ["share of support vectors", "sets", "over 10 % more than published", "over 10 % fewer"]
    return table([*header, "median of ours / published"], lines)


def _test(result: Comparison) -> list[str]:
    ranks = ", ".join(f"{rank:.3f}" for rank in result.mean_ranks)
    differ, holm = (_differ(pairs) for pairs in (result.bonferroni_dunn(), result.holm()))
    test = result.iman_davenport
    line = [str(len(result.datasets)), ranks, f"{test.statistic:.4g}", f"{test.p_value:.3g}"]
    return [*line, f"{result.critical_distance('bonferroni-dunn'):.3f}", f"{differ} ({holm})"]


def _differ(pairs: Any) -> str:
    return ", ".join(pair.other for pair in pairs if pair.significant) or "none"


def chosen(summary: Summary) -> str:
    """Most frequent choice of the inner search."""
    methods = (*FIRST, *MORE)
    lines = []
    for name in SETS:
        rows = [summary.row(name, method) for method in methods]
        if any(rows):
            lines.append([name, *("-" if row is None else _frequent(row.chosen) for row in rows)])
    return table(["C or margin; gamma (folds)", *(METHODS[m].title for m in methods)], lines)


def _frequent(cells: list[dict[str, Any]]) -> str:
    texts = ["; ".join(f"{value:g}" for _, value in sorted(cell.items())) for cell in cells]
    text, count = Counter(texts).most_common(1)[0]
    gamma_last = "; ".join(reversed(text.split("; "))) if "margin" in cells[0] else text
    return f"{gamma_last} ({count})"


def boundaries(summary: Summary) -> str:
    """Figure 1.1 in numbers."""
    lines = []
    for at, result in summary.of("boundary"):
        for method in (OLLAWV, SVC_):
            found = result[method]
            line = [f"{at['n']:,} points, {METHODS[method].title}", f"{100 * found['error']:.2f}"]
            line += [f"{100 * result['bayes']:.2f}", f"{100 * found['unlike_bayes']:.2f}", str(found["n_support"])]
            lines.append(line)
    header = ["", "test error, %", "Bayes error, %", "predictions unlike Bayes, %", "support vectors"]
    return table(header, lines)
