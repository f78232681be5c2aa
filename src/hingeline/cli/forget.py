"""``hingeline forget``: remove rows from a model file or a checkpoint, with a receipt."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from .console import Console, count_words
from .errors import DataError, UsageError, translate_write_errors
from .options import add_common, split_words

HELP = "remove rows from a model file or a checkpoint, with a receipt"
USAGE = "MODEL"
EXAMPLES = ("hingeline forget people.model --ids p3,p7",)


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    parser.add_argument(
        "model", metavar="MODEL", help="model file of hingeline, trained with ids, or folder of a checkpoint"
    )
    parser.add_argument("--ids", type=split_words, required=True, metavar="ID,...", help="ids of the rows to remove")
    parser.add_argument("--receipt", metavar="FILE", help="file of the receipt; default: the model's name + .receipt")
    add_common(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from ..files import forget_in_file
    from ..files.fixed import parts_of
    from .models import open_model, require_outputs

    console = Console(arguments)
    path = arguments.receipt or f"{arguments.model.rstrip('/')}.receipt"
    require_outputs([arguments.model], [path])
    with console.collect_warnings():
        ids = _known_ids(parts_of(open_model(arguments.model))[-1], arguments.ids)
        with translate_write_errors(arguments.model):
            receipt = forget_in_file(arguments.model, ids)
        with translate_write_errors(path):
            receipt.save(path)
    console.put(model=arguments.model, receipt=path, rows=receipt.rows, ids=receipt.ids, digest=receipt.after)
    rows = count_words(receipt.rows, "row")
    console.say(f"{arguments.model}: removed {rows}; {receipt.certificate['n_rows']:,} left")
    console.say(f"{path}: receipt")
    console.end()
    return 0


def _known_ids(model: Any, words: list[str]) -> list[Any]:
    """Ids of a model that are written as these words; UsageError or DataError if there are none."""
    if not hasattr(model, "forget"):
        try:
            model.forget  # noqa: B018
        except AttributeError as error:
            raise UsageError(str(error)) from error
    if not hasattr(model, "ids_"):
        raise UsageError("the model keeps no rows: train it with ids (hingeline train --id COLUMN), or as a stream.")
    known = {str(one): one for one in model.ids_.tolist()}
    missing = [word for word in words if word not in known]
    if missing:
        raise DataError("--ids", f"the model holds no row with the id {', '.join(missing)}")
    return [known[word] for word in words]
