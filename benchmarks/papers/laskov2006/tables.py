"""Tables of the report."""

from __future__ import annotations

from statistics import mean
from typing import Any

from benchmarks.papers.frame import exponent
from benchmarks.writing import number, table

from .figures import CURVE_STYLE, PARTS, SOLVER_TITLES, TRAIN_CURVES, WAY_STYLE, shares
from .settings import (
    ACTIVE_KERNELS,
    CLASS_RULES,
    CLASS_WINDOWS,
    DESIGN_RUNS,
    DESIGNS,
    KERNELS,
    PROFILE_KERNELS,
    PROFILED,
    SCALING_KERNELS,
    SIZES,
    WAYS_TO_LEARN,
    WINDOWS,
)
from .summary import Summary, hits, spread


def profile(summary: Summary) -> str:
    """Where the time goes."""
    rows = []
    for kernel in PROFILE_KERNELS:
        for n in SIZES:
            at_size = summary.grown(kernel, n).get(PROFILED)
            if at_size:
                row = [f"{KERNELS[kernel].title}, n = {n:,}", number(at_size["seconds"])]
                row += [f"{share:.0f}" for share in shares(at_size).values()]
                counts = ("steps", "n_support", "n_margin", "rebuilds")
                row += [*(number(at_size[key]) for key in counts), f"{100 * at_size['accuracy']:.2f}"]
                rows.append(row)
    header = ["", "s", *(f"{part} %" for part in PARTS), "minor steps", "SVs", "margin", "rebuilds", "accuracy %"]
    return table(header, rows)


def paths(summary: Summary) -> str:
    """Where the time of Algorithm 1 goes, and how long sets of points take."""
    rows = []
    for kernel in PROFILE_KERNELS:
        found = {solver: summary.one("path", kernel=kernel, solver=solver) for solver in WAYS_TO_LEARN}
        if not all(found.values()):
            continue
        pairs = list(zip(*(result["sizes"] for result in found.values()), strict=True))
        for by_path, by_sets in pairs:
            row = [f"{KERNELS[kernel].title}, n = {by_path['n']:,}", number(by_path["seconds"])]
            row += [f"{share:.0f}" for share in shares(by_path).values()]
            row += [number(by_path[key]) for key in ("steps", "n_support", "n_margin")]
            row += [number(by_sets["seconds"]), f"{by_path['seconds'] / by_sets['seconds']:.1f}"]
            rows.append(row)
        slopes = [exponent([(size["n"], size["seconds"]) for size in column]) for column in zip(*pairs, strict=True)]
        blank = [""] * (len(PARTS) + 3)
        rows.append([f"{KERNELS[kernel].title}, exponent of n", f"{slopes[0]:.2f}", *blank, f"{slopes[1]:.2f}", ""])
    header = ["", "path, s", *(f"{part} %" for part in PARTS), "minor steps", "SVs", "margin", "sets, s", "path / sets"]
    return table(header, rows)


def wall_per_cpu(summary: Summary) -> str:
    """Wall time over CPU time of the runs in the profile, smallest and largest."""
    runs = [at for kernel in PROFILE_KERNELS for n in SIZES if (at := summary.grown(kernel, n).get(PROFILED))]
    ratios = [at["wall_seconds"] / at["seconds"] for at in runs]
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-"


def scaling(summary: Summary) -> str:
    """Times, and the exponent of n."""
    rows = []
    for kernel in SCALING_KERNELS:
        columns = [dict(summary.middle(kernel, solver)) for solver in SOLVER_TITLES]
        for n in columns[0]:
            grown = summary.grown(kernel, n).values()
            means = [mean(s[key] for s in grown) for key in ("n_support", "n_margin", "steps")]
            row = [f"{KERNELS[kernel].title}, n = {n:,}", *(number(c.get(n)) for c in columns)]
            shown = (f"{100 * means[0] / n:.1f}", f"{means[1]:.0f}", f"{means[2] / n:.2f}")
            rows.append([*row, *shown, str(len(grown))])
        slopes = [summary.slope(kernel, solver) for solver in SOLVER_TITLES]
        if columns[0]:
            rows.append([f"{KERNELS[kernel].title}, exponent of n", *(number(s) for s in slopes), "", "", "", ""])
    titles = [f"{title}, s" for title in SOLVER_TITLES.values()]
    return table(["", *titles, "SVs %", "margin", "minor steps per row", "digits"], rows)


def designs(summary: Summary) -> str:
    """Figures 6 and 7: CPU seconds of both designs and of our core, and ratios."""
    rows = []
    for kernel, digit in DESIGN_RUNS:
        for n in SIZES:
            at = summary.designs(kernel, digit, n)
            if set(at) != set(DESIGNS):
                continue
            new, before, core = (at[design] for design in DESIGNS)
            times = [new["seconds"], before["seconds"], core["seconds"], new["gamma_seconds"], before["gamma_seconds"]]
            pairs = ((1, 0), (4, 3), (1, 2))
            row = [f"{KERNELS[kernel].title}, digit {digit}, n = {n:,}", *map(number, times)]
            row += [f"{times[a] / times[b]:.1f}" for a, b in pairs]
            rows.append([*row, number(new["steps"]), number(new["n_margin"])])
    header = ["", "Algorithm 3, s", "Algorithm 4, s", "our core, s", "gamma by 3, s", "gamma by 4, s"]
    header += ["4 / 3", "gamma: 4 / 3", "4 / our core", "minor steps", "margin"]
    return table(header, rows)


def designs_differ(summary: Summary) -> str:
    """Largest difference of a coefficient from `fit` in all runs of the designs."""
    found = [result["differ_by"] for _, result in summary.of("design")]
    return f"{max(found):.0e}" if found else "-"


def designs_steps(summary: Summary) -> str:
    """Whether all designs take the same number of minor steps."""
    counts: dict[tuple[Any, ...], set[int]] = {}
    for at, result in summary.of("design"):
        for s in result["sizes"]:
            counts.setdefault((at["kernel"], at["digit"], s["n"]), set()).add(s["steps"])
    differ = [max(found) / min(found) - 1 for found in counts.values() if len(found) > 1]
    return f"differ by up to {100 * max(differ):.1g} %" if differ else "are equal"


def capacity(summary: Summary) -> str:
    """Rows learnt in the memory of the paper's program."""
    rows = []
    for at, result in summary.of("capacity"):
        shown = [s for s in result["sizes"] if s["n"] in (4000, 12_000, 20_000, 28_000, 40_000, at["n"])]
        for s in shown:
            row = [f"{KERNELS[at['kernel']].title}, run to {at['n']:,}: n = {s['n']:,}", number(s["seconds"])]
            rows.append([*row, f"{s['memory'] / 2**20:,.0f}", number(s["n_support"]), number(s["n_margin"])])
    return table(["", "CPU s", "memory, MB", "SVs", "margin"], rows)


def capacity_need(summary: Summary) -> str:
    """Memory for the kernel rows of the margin set at the end of the longest run."""
    found = [result["sizes"][-1] for _, result in summary.of("capacity")]
    last = max(found, key=lambda s: s["n"], default=None)
    return f"{8 * last['n'] * last['n_margin'] / 2**20:.0f} MB at {last['n']:,} rows" if last else "not run"


def class_windows(summary: Summary) -> str:
    """Errors with a window for each class."""
    rows = []
    for window in CLASS_WINDOWS:
        found = [summary.one("class_window", window=window, rule=rule) for rule in CLASS_RULES]
        if any(found):
            held = next(f["n_held"] for f in found if f)
            errors = [f"{100 * f['error']:.2f}" if f else "-" for f in found]
            rows.append([str(window), number(held), *errors])
    return table(["window", "points held", *(f"{rule}: error %" for rule in CLASS_RULES)], rows)


def digits_alone(summary: Summary) -> str:
    """One by one: CPU seconds of each digit and their exponent of n."""
    rows = []
    for kernel in SCALING_KERNELS:
        for at, result in sorted(summary.of("grow", kernel=kernel), key=lambda run: run[0]["digit"]):
            last, points = result["sizes"][-1], [(s["n"], s["seconds"]) for s in result["sizes"]]
            if last["n"] == SIZES[-1]:
                row = [f"{KERNELS[kernel].title}, digit {at['digit']}", *(number(seconds) for _, seconds in points)]
                share = f"{100 * last['n_support'] / last['n']:.1f}"
                rows.append([*row, f"{exponent(points):.2f}", share, number(last["n_margin"]), number(last["steps"])])
    return table(["", *(f"n = {n:,}, s" for n in SIZES), "exponent of n", "SVs %", "margin", "minor steps"], rows)


def digits(summary: Summary) -> str:
    """Digits of the scaling plots that have results with every kernel."""
    found = [set(summary.times(kernel, None)) for kernel in SCALING_KERNELS]
    return ", ".join(map(str, sorted(set.intersection(*found)))) or "none"


def windows(summary: Summary) -> str:
    """Errors by the size of the window."""
    rows = []
    for window in WINDOWS:
        row = [str(window or "no limit")]
        for way in WAY_STYLE:
            seconds = [r["seconds"] for _, r in summary.of("window", way=way, window=window)]
            row += [spread(summary.errors(way, window)), number(mean(seconds)) if seconds else "-"]
        rows.append(row)
    header = ["window"]
    for title, _, _ in WAY_STYLE.values():
        header += [f"{title}: error %", "s"]
    return table(header, rows)


def usps_readings(summary: Summary) -> str:
    """Readings of the setting on usps."""
    rows = []
    for r in _readings(summary):
        width = "sigma²" if r["times"] == 1 else "(2 sigma²)"
        title = f"{r['images']} images in [{r['low']}, 1], exp(-d²/{width})"
        rows.append([title, f"{100 * r['error']:.2f}", f"{r['n_support']:.0f}"])
    return table(["", "test error %", "SVs per machine"], rows)


def chosen_reading(summary: Summary) -> str:
    """Support vectors per machine of the reading that is used."""
    readings = _readings(summary)
    return f"{readings[0]['n_support']:.0f}" if readings else "-"


def _readings(summary: Summary) -> list[dict[str, Any]]:
    found = summary.one("usps_readings")
    return found["rows"] if found else []


def active(summary: Summary, part: str) -> str:
    """Figures 9 and 10 in numbers; `part` is "train" or "test"."""
    methods = TRAIN_CURVES if part == "train" else tuple(CURVE_STYLE)
    rows, rates = [], (0.01, 0.05, 0.1, 0.3)
    for kernel in ACTIVE_KERNELS:
        for method in methods:
            curves = summary.curves(kernel, part, method)
            if curves:
                more = [c["found"] if part == "train" else c["n_support"] or 0 for c in curves]
                row = [f"{KERNELS[kernel].title}: {method}", spread([100 * c["auc"] for c in curves])]
                row += [spread([hits(c, rate) for c in curves], 1) for rate in rates]
                rows.append([*row, "-" if method == "anomaly detection" and part == "test" else spread(more, 1)])
    last = "found" if part == "train" else "SVs"
    return table(["", "AUC %", *(f"TP at FP {100 * rate:g} %" for rate in rates), last], rows)
