"""``hingeline convert``: between formats of data files, or between formats of model files; decided by content."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import PurePath

from .console import Console
from .errors import UsageError
from .options import add_common, add_data, form_of, positive

HELP = "convert data files or model files"
USAGE = "INPUT OUTPUT"
EXAMPLES = (
    "hingeline convert iris.csv iris.svm.gz",
    "hingeline convert iris.model iris.onnx",
)
MODEL_ENDINGS = {".onnx": "onnx", ".safetensors": "hingeline"}
FORMATS = ("libsvm", "csv", "npz", "parquet", "hingeline", "onnx")


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    parser.add_argument("input", metavar="INPUT", help="data file, model file, or folder of a checkpoint")
    parser.add_argument("output", metavar="OUTPUT", help="file to write; - is standard output (LIBSVM and CSV)")
    group = parser.add_argument_group("conversion")
    group.add_argument("--to", choices=FORMATS, help="format of the output; default: by its name")
    group.add_argument("--n-features", type=positive, metavar="N", help="number of features; default: that of the file")
    add_data(parser)
    add_common(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from .models import kind_of, require_other

    console = Console(arguments, arguments.output)
    require_other([arguments.input], [arguments.output])
    with console.collect_warnings():
        kind = None if arguments.input == "-" else kind_of(arguments.input)
        if kind is None:
            _convert_data(console, arguments)
        else:
            _convert_model(console, arguments, kind)
    console.put(input=arguments.input, output=arguments.output)
    console.end()
    return 0


def _convert_model(console: Console, arguments: Namespace, kind: str) -> None:
    from .models import FOREIGN, FORMATS, open_model, write

    to = str(arguments.to or MODEL_ENDINGS.get(PurePath(arguments.output).suffix))
    if to not in FORMATS and kind not in FOREIGN:
        raise UsageError(f"{arguments.input} is a model. Give --to: {', '.join(FORMATS)}.")
    model = open_model(arguments.input, arguments.n_features)
    write(model, arguments.output, to)
    console.put(kind="model", source_format=kind, format=to, estimator=type(model).__name__)
    console.say(f"{arguments.output}: {type(model).__name__} in the format {to}")


def _convert_data(console: Console, arguments: Namespace) -> None:
    from .data.sources import name_of
    from .data.writers import write_rows

    to = arguments.to or MODEL_ENDINGS.get(PurePath(arguments.output).suffix)
    if to in MODEL_ENDINGS.values():
        raise UsageError(f"{name_of(arguments.input)} holds data, which cannot become {to}, a format of models.")
    form = form_of(arguments, n_features=arguments.n_features, labels=False)
    n, d, to = write_rows(arguments.input, form, arguments.output, arguments.to)
    console.put(kind="data", format=to, rows=n, features=d)
    console.say(f"{arguments.output}: {n:,} rows, {d:,} features in the format {to}")
