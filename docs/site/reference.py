"""Sphinx extension: pages of the reference from the tables of estimators, and links between guides and these pages.

Before the build it writes docs/reference/*.rst, which git ignores. While it reads a guide, it inserts below its title
the classes and the mathematics that belong to it; the mathematics become pages below the guide.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hingeline
from hingeline._registry import ESTIMATORS, FUNCTIONS, Estimator

#: Pages of docs/math by guide.
MATH = {
    "svc": ("engine",),
    "svr": ("engine",),
    "one_class": ("engine", "incremental"),
    "incremental": ("incremental",),
    "lasvm": ("lasvm",),
    "kernel_sgd": ("kernel_sgd",),
    "ollawv": ("ollawv",),
    "l2_svc": ("nnisda", "min_norm"),
    "finite_newton": ("finite_newton",),
    "nystroem": ("finite_newton",),
    "ordinal": ("finite_newton",),
}
#: The guide under which a page of docs/math stands.
HOME = {page: guide for guide, pages in reversed(MATH.items()) for page in pages} | {"incremental": "incremental"}
#: Public modules and what they are for (docs/develop/api_stability.md).
MODULES = {
    "model_selection": "Searches and nested cross-validation",
    "active": "Active learning",
    "active.scikit_activeml": "Query strategies for scikit-activeml",
    "compare": "Comparison of methods over data sets",
    "datasets": "Data sets",
    "metrics": "Metrics",
    "onnx": "Export to ONNX",
    "linear.dask": "Dask",
    "streams": "Drift in streams",
    "streams.river": "Adapters to river",
    "svm": "Drop-in for sklearn.svm",
    "testing": "Checks for estimators that learn online",
}


def public_names() -> dict[str, list[str]]:
    """Names of the reference by module; estimators are in the first one."""
    names = {"hingeline": [*ESTIMATORS, *(name for group in FUNCTIONS.values() for name in group)]}
    for module in MODULES:
        names[f"hingeline.{module}"] = list(importlib.import_module(f"hingeline.{module}").__all__)
    return names


def title(text: str, line: str = "=") -> str:
    """A heading in reStructuredText."""
    return f"{text}\n{line * len(text)}\n\n"


def members(learner: type) -> tuple[list[str], list[str]]:
    """Public methods and properties: those of hingeline with a docstring, and those of scikit-learn."""
    ours, theirs = [], []
    row = ESTIMATORS.get(learner.__name__)
    refused = {"add", "forget", "ids_"} if row is not None and not row.forgets else set()  # they raise AttributeError
    for name in dir(learner):
        if name.startswith("_") or name in refused:
            continue
        found = inspect.getattr_static(learner, name)
        code = getattr(found, "fget", None) or getattr(learner, name)
        home = getattr(inspect.unwrap(code) if callable(code) else code, "__module__", None) or ""
        if home.startswith("hingeline") and inspect.getdoc(code):
            ours.append(name)
        elif home.startswith("sklearn"):
            theirs.append(name)
    return ours, theirs


def facts(row: Estimator) -> Iterator[tuple[str, str]]:
    """Left and right column of the table of an estimator."""
    yield "learns from streams", "yes, ``partial_fit``" if row.streams else "no"
    how = {"exactly": "exactly, to rounding", "to tol": "to ``tol``, after a fit with ``ids``", "": "no"}[row.forgets]
    yield "forgets rows", f":doc:`{how.replace('``', '')} </docs/guide/forgetting>`"
    yield (
        "saved without pickle",
        ":doc:`yes </docs/guide/model_files>`" + (", as LIBSVM's text, too" if row.libsvm else ""),
    )
    yield "ONNX", "yes"
    yield "command line", ":doc:`yes </docs/guide/cli>`" if row.command_line else "no"


def estimator_page(row: Estimator) -> str:
    """Page of an estimator: what it is for, guide and mathematics, facts, the class, examples."""
    learner = getattr(hingeline, row.name)
    ours, theirs = members(learner)
    links = [f":doc:`Guide </docs/guide/{row.guide}>`"]
    links += [f":doc:`Mathematics </docs/math/{page}>`" for page in MATH[row.guide][:1]]
    links += [f":doc:`Second solver </docs/math/{page}>`" for page in MATH[row.guide][1:] if row.guide == "l2_svc"]
    task = row.task.replace("`", "``")
    lines = [title(row.name), ".. currentmodule:: hingeline\n", f"*For* {task}.\n", " · ".join(links) + "\n"]
    lines += [".. list-table::\n   :widths: auto\n   :class: facts\n"]
    lines += [f"   * - {name}\n     - {value}" for name, value in facts(row)]
    lines += ["", f".. autoclass:: {row.name}\n   :members: {', '.join(ours)}\n"]
    lines += [f"Methods of scikit-learn: {', '.join(f'``{name}``' for name in theirs)}.\n"]
    lines += [f".. minigallery:: hingeline.{row.name}\n   :add-heading: Examples\n   :heading-level: -\n"]
    return "\n".join(lines)


def directive(module: str, name: str) -> str:
    """Autodoc of a name that is no estimator."""
    found = getattr(importlib.import_module(module), name)
    if getattr(found, "__module__", "").startswith("sklearn"):
        return f"``{name}``: that of scikit-learn.\n"
    if inspect.isclass(found):
        own = [word for word in members(found)[0] if word in dir(found)]
        return f".. autoclass:: {name}\n" + (f"   :members: {', '.join(own)}\n" if own else "")
    return f".. autofunction:: {name}\n" if callable(found) else f".. autodata:: {name}\n   :no-value:\n"


def module_page(module: str, names: list[str], heading: str) -> str:
    """Page of a module; names that have a page of their own are links."""
    lines = [title(f"{heading}: ``{module}``" if heading else module), f".. currentmodule:: {module}\n"]
    summary = inspect.getdoc(importlib.import_module(module)) or ""
    if heading:
        lines.append(summary.partition("\n\n")[0] + "\n")
    for name in names:
        if name in ESTIMATORS:
            lines.append(f"- :class:`hingeline.{name}`")
        else:
            lines += ["", directive(module, name)]
    return "\n".join(lines)


def index_page() -> str:
    """All public names on one page."""
    lines = [title("Reference"), "All public names; what else there is may change "]
    lines[-1] += "(:doc:`API stability </docs/develop/api_stability>`).\n"
    lines += [title("Estimators", "-"), ".. list-table::\n   :widths: auto\n   :class: facts\n"]
    for row in ESTIMATORS.values():
        lines.append(f"   * - :class:`~hingeline.{row.name}`\n     - {row.task.replace('`', '``')}")
    lines += ["", title("Functions and modules", "-"), "- :doc:`files, paths, versions <functions>`"]
    lines += [f"- :doc:`hingeline.{name} <{name}>`: {what}" for name, what in MODULES.items()]
    lines += ["- :doc:`the command line </docs/guide/cli>`\n", ".. toctree::\n   :hidden:\n"]
    lines += [f"   {name}" for name in (*ESTIMATORS, "functions", *MODULES)]
    return "\n".join(lines) + "\n"


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of each page of the reference."""
    names = public_names()
    yield "index", index_page()
    for row in ESTIMATORS.values():
        yield row.name, estimator_page(row)
    rest = [name for name in names.pop("hingeline") if name not in ESTIMATORS]
    yield "functions", module_page("hingeline", rest, "Files, paths, versions")
    for module, found in names.items():
        short = module.removeprefix("hingeline.")
        yield short, module_page(module, found, MODULES[short])


def write_pages(app: Any, config: Any) -> None:
    """Write the pages that have changed."""
    folder = Path(app.srcdir) / "docs" / "reference"
    folder.mkdir(exist_ok=True)
    wanted = {f"{name}.rst": text for name, text in pages()}
    for path in folder.glob("*.rst"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def insert_links(app: Any, name: str, source: list[str]) -> None:
    """Below the title of a guide: its classes and mathematics. Below that of the mathematics: its guides."""
    _, _, place = name.partition("docs/")
    folder, _, page = place.partition("/")
    links, tree = "", ""
    if name.startswith("benchmarks/results/"):
        source[0] = f"---\norphan: true\n---\n\n{source[0]}"
    if name == "docs/guide/index" and not (Path(app.srcdir) / "docs" / "guide" / "gpu.md").exists():
        source[0] = source[0].replace("\ngpu\n", "\n")
    if folder == "guide" and page in MATH:
        classes = (f"{{py:class}}`~hingeline.{row.name}`" for row in ESTIMATORS.values() if row.guide == page)
        maths = (f"[{word}](../math/{one}.md)" for one, word in zip(MATH[page], ("mathematics", "more"), strict=False))
        links = f"**Reference** {', '.join(classes)} · **Theory** {', '.join(maths)}"
        below = [f"../math/{one}" for one in MATH[page] if HOME[one] == page]
        tree = "\n".join(["", ":::{toctree}", ":hidden:", "", *below, ":::"]) if below else ""
    elif folder == "math":
        guides = (f"[](../guide/{guide}.md)" for guide, maths in MATH.items() if page in maths)
        links = f"**Guides** {', '.join(guides)}"
    if links:
        source[0] = re.sub(r"\A(# .*\n)", lambda found: f"{found[1]}\n{links}\n{tree}\n", source[0], count=1)


def escape_names(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Attributes in the types of docstrings, such as `(n_features_in_,)`, are no references."""
    lines[:] = [re.sub(r"(?<=[a-z])_(?=[,)] ?)", r"\_", line) if " of shape (" in line else line for line in lines]


def setup(app: Any) -> dict[str, Any]:
    """Connect to the events of Sphinx."""
    app.connect("config-inited", write_pages)
    app.connect("source-read", insert_links)
    app.connect("autodoc-process-docstring", escape_names, priority=900)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
