"""``hingeline datasets``: list, describe and write out the data sets of hingeline.datasets."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from .console import Console
from .errors import DataError, InputError, UsageError
from .options import add_common

HELP = "list, describe and write out data sets"
USAGE = "[NAME [OUTPUT]]"
EXAMPLES = (
    "hingeline datasets",
    "hingeline datasets iris iris.csv",
)


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="data set; without it all are listed")
    parser.add_argument(
        "output", metavar="OUTPUT", nargs="?", help="file to write (LIBSVM, CSV, NPZ, Parquet); - is standard output"
    )
    parser.add_argument("--part", choices=("all", "train", "test"), default="all", help="part to write, default: all")
    parser.add_argument("--to", choices=("libsvm", "csv", "npz", "parquet"), help="format; default: by the name")
    parser.add_argument("--no-download", action="store_true", help="never use the network")
    add_common(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    console = Console(arguments, arguments.output, "the data")
    with console.collect_warnings():
        if arguments.name is None:
            _list(console)
        else:
            data = _load(arguments)
            _describe(console, data)
            if arguments.output is not None:
                _write(console, data, arguments)
    console.end()
    return 0


def _list(console: Console) -> None:
    from ..datasets import available
    from ..datasets.loading import ENVIRONMENT, KNOWN, SHIPPED
    from ..datasets.openml import OPENML

    here = set(available())
    sources = {
        name: "file" if name in here else "scikit-learn" if name in SHIPPED else "OpenML" if name in OPENML else None
        for name in sorted(KNOWN | here)
    }
    console.put(datasets=sources)
    for name, source in sources.items():
        console.say(f"{name:20} {source or f'not here: set {ENVIRONMENT} to a folder with {name}.npz'}")


def _load(arguments: Namespace) -> Any:
    import numpy as np

    from ..datasets import load

    try:
        return load(arguments.name, dtype=np.float64, download_if_missing=not arguments.no_download)
    except (FileNotFoundError, ConnectionError) as error:
        raise InputError(str(error)) from error
    except ValueError as error:
        if str(error).startswith(("unknown data set", "name must")):
            raise UsageError(str(error)) from error
        raise DataError(arguments.name, str(error)) from error


def _describe(console: Console, data: Any) -> None:
    import numpy as np
    import scipy.sparse as sp

    names, counts = np.unique(data.y, return_counts=True)
    if data.class_names is not None:
        names = np.array(data.class_names)[names]
    stored = data.X.nnz if sp.issparse(data.X) else int(np.count_nonzero(data.X))
    n, d = data.X.shape
    classes = dict(zip(map(str, names.tolist()), counts.tolist(), strict=True))
    console.put(
        name=data.name, rows=n, features=d, train_rows=data.n_train, sparse=sp.issparse(data.X),
        density=stored / max(n * d, 1), classes=classes,
    )  # fmt: skip
    split = "no published split" if data.n_train is None else f"{data.n_train:,} to train, {n - data.n_train:,} to test"
    console.say(f"{data.name}: {n:,} rows, {d:,} features, {100 * stored / max(n * d, 1):.3g} % nonzero, {split}")
    shown = [f"{name}: {count:,}" for name, count in classes.items()]
    console.say(f"{len(classes)} labels: {', '.join(shown[:12])}{', ...' if len(shown) > 12 else ''}")


def _write(console: Console, data: Any, arguments: Namespace) -> None:
    import numpy as np
    import scipy.sparse as sp

    from .data.examples import Rows
    from .data.writers import format_of, write

    if arguments.part != "all" and data.n_train is None:
        raise UsageError(f"--part {arguments.part}: {data.name} has no published split.")
    part = {"train": slice(data.n_train), "test": slice(data.n_train, None)}.get(arguments.part, slice(None))
    labels = data.y if data.class_names is None else np.array(data.class_names)[data.y]
    X, to = data.X[part], format_of(arguments.output, arguments.to)
    if to == "libsvm":
        labels = data.y
    write(Rows(sp.csr_array(X) if sp.issparse(X) else X, labels[part]), arguments.output, to)
    console.put(output=arguments.output, format=to, part=arguments.part, written_rows=X.shape[0])
    console.say(f"{arguments.output}: {X.shape[0]:,} rows in the format {to}")
