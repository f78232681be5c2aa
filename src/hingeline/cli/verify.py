"""``hingeline verify``: check a receipt of ``hingeline forget`` against a model."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from .console import Console, count_words
from .errors import DataError, InputError
from .options import add_common, split_words

HELP = "check the receipt of a deletion against a model"
USAGE = "RECEIPT MODEL"
EXAMPLES = ("hingeline verify people.model.receipt people.model --ids p3",)


def add_arguments(parser: ArgumentParser) -> None:
    """Define the arguments."""
    parser.add_argument("receipt", metavar="RECEIPT", help="file of the receipt")
    parser.add_argument("model", metavar="MODEL", help="model file of hingeline, or folder of a checkpoint")
    parser.add_argument("--ids", type=split_words, default=[], metavar="ID,...", help="ids that must be in the receipt")
    add_common(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from ..base.receipt import Receipt, hash_file
    from ..files.fixed import parts_of
    from .models import open_model

    console = Console(arguments)
    try:
        receipt = Receipt.load(arguments.receipt)
    except OSError as error:
        raise InputError(f"cannot read {arguments.receipt}: {error.strerror or error}") from error
    except ValueError as error:
        raise DataError(arguments.receipt, str(error)) from error
    path = Path(arguments.model)
    with console.collect_warnings():
        model = parts_of(open_model(arguments.model))[-1]
        try:
            receipt.verify(model)
        except ValueError as error:
            raise DataError(arguments.model, str(error)) from error
        recorded = receipt.files.get(path.name) if path.is_file() else None
        if recorded is not None and recorded != hash_file(path):
            raise DataError(
                arguments.model, "the file was written again since the receipt, although its model is equal"
            )
        missing = [word for word in arguments.ids if not any(map(receipt.covers, _readings(word)))]
        if missing:
            raise DataError(arguments.receipt, f"the receipt does not name the id {', '.join(missing)}")
    console.put(receipt=arguments.receipt, model=os.fspath(path), rows=receipt.rows, ids=receipt.ids, valid=True)
    console.say(f"{arguments.receipt}: right for {path}; {count_words(receipt.rows, 'row')} removed at {receipt.time}")
    console.end()
    return 0


def _readings(word: str) -> list[int | str | UUID]:
    """Ids that may be written as a word."""
    found: list[int | str | UUID] = [word]
    with suppress(ValueError):
        found.append(int(word))
    with suppress(ValueError):
        found.append(UUID(word))
    return found
