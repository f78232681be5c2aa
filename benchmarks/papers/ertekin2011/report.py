"""The page that shows everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.environment import machine
from benchmarks.papers.files import write_csv, write_whole
from benchmarks.writing import machine_lines, number, table

from . import published
from .claims import claims_table
from .differences import differences
from .figures import write_figures
from .published import METRICS
from .settings import CACHE_MB, FULL_CACHE_MB, METHODS, SETS, S
from .summary import Summary
from .tables import MISSING, block, difference, table_1, write_tables

#: Differences beyond these are listed: points of the table, or a fraction of the published number.
NOTABLE = {"accuracy": 0.5, "prbep": 1.0, "auc": 0.003, "g_mean": 1.0, "n_support": 0.1, "kernel_needed": 0.25}
CAPTIONS = {
    "figure2": "Figure 2. LASVM against LASVM-G on Adult.",
    "figure4": "Figure 4. PRBEP against training examples. The axes begin near the worst value after a tenth of the "
    "examples; figure4.csv has all.",
    "figure5": "Figure 5. Test error against support vectors: LASVM-NC and LASVM-I for s from -4 (right) to 0.9 "
    "(left, where 0.9 is written), one point for the others.",
    "figure6": "Figure 6. Support vectors against training examples.",
    "figure7": "Figure 7. Kernel values that the algorithm needs against training examples.",
    "figure8": "Figure 8. Training times.",
}


def write_report(summary: Summary, readings: list[dict[str, Any]], folder: Path) -> Path:
    """Tables, figures, page."""
    write_tables(summary, folder)
    columns = ("digit", "images", "scaling", "split", "C", "n_support", "accuracy", "prbep", "auc", "g_mean")
    write_csv(folder / "usps_readings.csv", columns, [[row[c] for c in columns] for row in readings])
    figures = write_figures(summary, folder)
    parts = [
        "# Ertekin, Bottou, Giles 2011: ours and theirs",
        "Nonconvex online support vector machines, IEEE TPAMI 33(2). Made by `make paper-ertekin2011`.",
        "## What was run",
        _what(summary),
        "## Tables",
        "Ours: mean ± standard deviation over the runs (no ± where there is one run). In brackets: published, and ours "
        "less published, in percent or as a factor for counts and times. † training ended early, see above. * looks "
        f"like a misprint, see below; compared as printed. {MISSING} not run.",
        "### Table 1. Adult at the end of training",
        "L and R: left and right of the ramp when the example came.",
        table_1(summary),
    ]
    for table_number in (3, 4):
        for metric in (m for m in METRICS if m.table == table_number):
            parts += [f"### Table {table_number}. {metric.title}", block(summary, metric)]
    parts.append("## Figures")
    parts.append(
        "Lines are means over the runs (bands in figure 2: one standard deviation; the CSV files have it for all); "
        "open symbols are the published end values of Tables 3 and 4."
    )
    for name, caption in CAPTIONS.items():
        parts.append(f"![{caption}]({name}.png)\n\n{caption}" if name in figures else f"{caption} Not run.")
    parts += [
        "## Claims of the paper",
        "By our means: yes, no, or tie, where the difference is within the larger standard deviation of the two. "
        f"{MISSING} not run, or training ended early.",
        claims_table(summary),
        "## Where we differ most",
        _notable(summary),
        "## Differences",
        differences(readings),
    ]
    path = folder / "report.md"
    write_whole(path, "\n\n".join(parts) + "\n")
    return path


def _what(summary: Summary) -> str:
    results = summary.everything()
    threads = sorted({result["threads"] for result in results}) or [1]
    lines = [machine_lines(machine(), threads[0])]
    if len(threads) > 1:
        lines.append(f"- **Numbers of threads differ between runs: {threads}. Compare times with care.**")
    builds = {result["build"] for result in results if "build" in result}
    if len(builds) > 1:
        lines.append(
            f"- **The runs were made with {len(builds)} builds of the core; `--fresh` makes all of them again.**"
        )
    caches = ", ".join(f"{mb} MB on {SETS[name].title}" for name, mb in FULL_CACHE_MB.items())
    lines += [
        f"- One epoch, s = {S:g}; `cache_size` {CACHE_MB} MB, of FULL SVM {caches}; all else are defaults of `LASVC`",
        "- LIBSVM is `sklearn.svm.SVC` in float64; *LASVM, finished* is `LASVC(variant='lasvm', finish=True)`",
        _agreement(results),
        *_early(summary),
    ]
    return "\n".join(lines) + "\n\n" + _sizes(summary) + "\n\nRuns of each method:\n\n" + _counts(summary)


def _agreement(results: list[dict[str, Any]]) -> str:
    checked = [result["stream_agrees"] for result in results if "stream_agrees" in result]
    return (
        "- Curves are from a second pass by `partial_fit`; it ended with the steps, support vectors, kernel values and "
        f"accuracy of `fit` in {sum(checked)} of {len(checked)} runs"
    )


def _early(summary: Summary) -> list[str]:
    return [
        f"- **† FULL SVM on {data.title} ended after {result['n_seen']:,} of {result['n_train']:,} examples: "
        f"its time ({result['minutes']:g} minutes) was up**"
        for data in SETS.values()
        for result in summary.results(data, METHODS["full"])
        if not result["complete"]
    ]


def _sizes(summary: Summary) -> str:
    rows = []
    for data in SETS.values():
        found = [result for method in METHODS.values() for result in summary.results(data, method)]
        ours = f"{found[0]['n_train']} / {found[0]['n_test']}" if found else MISSING
        theirs = "{} / {}".format(*data.published)
        rows.append(
            [
                data.title,
                ours,
                theirs,
                f"{data.C:g}",
                f"{data.gamma:g}",
                "1" if data.scale == 1 else f"1/{1 / data.scale:g}",
            ]
        )
    return table(["", "train / test, ours", "published", "C", "gamma", "features times"], rows)


def _counts(summary: Summary) -> str:
    rows = []
    for method in METHODS.values():
        counts = [len(summary.results(data, method)) for data in SETS.values()]
        rows.append([method.title, *(str(n) if n else MISSING for n in counts)])
    return table(["", *(data.title for data in SETS.values())], rows)


def _notable(summary: Summary) -> str:
    found = []
    for metric in METRICS:
        limit = NOTABLE.get(metric.key)
        for data in SETS.values() if limit else ():
            for method in METHODS.values():
                known = published.value(metric.key, method.published, data.name)
                ours = summary.cell(metric, data, method)
                if known is None or ours is None:
                    continue
                off = abs(ours.mean - known) / (known if metric.relative else 1)
                if off > limit:
                    shown = f"{ours.mean:.{metric.digits}f}" + ("†" if ours.seen else "")
                    change = difference(ours.mean, known, metric.digits, metric.relative)
                    row = [metric.title, data.title, method.title, shown, number(known, 6)]
                    found.append((off / limit, [*row, change]))
    limits = ", ".join(
        f"{m.title} {100 * NOTABLE[m.key]:g} %" if m.relative else f"{m.title} {NOTABLE[m.key]:g}"
        for m in METRICS
        if m.key in NOTABLE
    )
    rows = [row for _, row in sorted(found, key=lambda pair: -pair[0])]
    listed = table(["metric", "set", "method", "ours", "published", "difference"], rows) if rows else "None."
    return f"Cells that are off by more than these limits: {limits}. Times are left out.\n\n{listed}"
