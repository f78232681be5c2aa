"""Command line of the comparison of linear machines."""

import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import Case, Program, main

from . import settings
from .contestants import contestants


def figure(results: list[tuple[Case, dict[str, Any]]], path: Path) -> bool:
    from .figure import draw  # loads numpy

    return draw(results, path)


if __name__ == "__main__":
    packages = ("liblinear-official", "mord", "skordinal")
    sys.exit(
        main(Program("linear", "Finite Newton machines against linear peers", settings, contestants, packages, figure))
    )
