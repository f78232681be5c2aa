"""Options that several commands share."""

from __future__ import annotations

import re
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _registry

if TYPE_CHECKING:
    from .data.examples import Form

#: Kernels at the places of LIBSVM's numbers.
KERNELS = tuple(row.name for row in _registry.KERNELS.values() if row.libsvm)
#: LIBSVM's types of problems, in the order of its numbers.
PROBLEMS = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")


def types(*, streams: bool) -> dict[str, str]:
    """LIBSVM's numbers of problems, and for each the first estimator that solves it (and learns from streams)."""
    rows = [row for row in _registry.ESTIMATORS.values() if row.command_line and row.streams >= streams]
    first = {row.libsvm: row.name for row in reversed(rows)}
    return {str(number): first[problem] for number, problem in enumerate(PROBLEMS) if problem in first}


#: Formats of data files.
FORMATS = ("auto", "libsvm", "csv", "npz", "parquet")
#: Numbers between commas, the first of which is negative.
NUMBERS = re.compile(r"-[0-9.][0-9.,eE+-]*")
LETTER = re.compile(r"-[a-zA-Z]")


def add_common(parser: ArgumentParser) -> None:
    """Options of all commands."""
    group = parser.add_argument_group("output")
    group.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    group.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")


def add_data(parser: ArgumentParser, *, target: bool = True) -> None:
    """Options that say how data files are read."""
    group = parser.add_argument_group("data files (LIBSVM, CSV, NPZ, Parquet; gzip; - is standard input)")
    group.add_argument("--input-format", choices=FORMATS, default="auto", help="default: by name and content")
    if target:
        group.add_argument("--target", metavar="COLUMN", help=_COLUMN + " of the labels; 'none'; default: the last one")
    group.add_argument(
        "--header", choices=("auto", "yes", "no"), default="auto",
        help="whether the first line of CSV has names; default: auto, if a cell of a feature is no number",
    )  # fmt: skip
    group.add_argument(
        "--delimiter", metavar="C", type=_character, help="between cells of CSV; default: comma, semicolon or tab"
    )
    group.add_argument("--drop", metavar="COLUMN", action="append", default=[], help="column of a table to ignore")
    group.add_argument(
        "--dtype", choices=("float64", "float32"), default="float64", help="precision of the features, default float64"
    )


_COLUMN = "name or number (from 1; negative: from the end) of the column"


def form_of(arguments: Namespace, **known: Any) -> Form:
    """The `Form` of the options and of what the command knows."""
    from .data.examples import Form

    return Form(
        format=arguments.input_format,
        target=arguments.target,
        header=arguments.header,
        delimiter=arguments.delimiter,
        drop=tuple(arguments.drop),
        dtype=arguments.dtype,
        **known,
    )


def add_estimator(parser: ArgumentParser, default: str, *, streams: bool = False) -> None:
    """Options that choose an estimator and its parameters; a command for `streams` sets the default itself."""
    numbers = types(streams=streams)
    group = parser.add_argument_group("estimator", "Without an option a parameter has the default of the Python class.")
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--estimator",
        metavar="CLASS",
        default=None if streams else default,
        help=f"name as in Python, default {default}",
    )
    which.add_argument(
        "-s", dest="estimator", action=_Type, const=numbers, metavar="TYPE", help=f"LIBSVM's number: {_list(numbers)}"
    )
    group.add_argument(
        "--param", metavar="NAME=VALUE", type=pair, action="append", default=[], help="any parameter of the class"
    )
    for flags, name, kind, text, of_streams in _LETTERS:
        if of_streams or not streams:
            group.add_argument(*flags, dest=f"param_{name}", metavar="X", type=kind, help=text)
    group.add_argument(
        "--class-weight", metavar="LABEL=WEIGHT", type=pair, action="append", default=[],
        help="factor on C of a class, or 'balanced'; LIBSVM's -wLABEL WEIGHT is the same",
    )  # fmt: skip


class _Type(Action):
    """LIBSVM's -s."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        if values not in self.const:
            parser.error(f"-s must be {_list(self.const)}. Got {values}. See --estimator for other methods.")
        setattr(namespace, self.dest, self.const[values])


def _list(numbers: Mapping[str, str]) -> str:
    """Numbers of problems and their estimators in words."""
    return " or ".join(f"{number} ({name})" for number, name in numbers.items())


def _character(text: str) -> str:
    text = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(text) != 1:
        raise ArgumentTypeError(f"expected one character. Got {text!r}")
    return text


def pair(text: str) -> tuple[str, str]:
    """NAME=VALUE, or 'balanced'."""
    name, equals, value = text.partition("=")
    if text != "balanced" and not (name and equals):
        raise ArgumentTypeError(f"expected NAME=VALUE. Got {text!r}")
    return name, value


def _kernel(text: str) -> str:
    if text.isdecimal() and int(text) < len(KERNELS):
        return KERNELS[int(text)]
    if text not in KERNELS:
        raise ArgumentTypeError(f"expected 0 to 4 or one of {', '.join(KERNELS)}. Got {text!r}")
    return text


def _gamma(text: str) -> float | str:
    return text if text in ("scale", "auto") else _real(text)


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"expected a number. Got {text!r}") from None


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ArgumentTypeError(f"expected 0 or 1. Got {text!r}")
    return text == "1"


def positive(text: str) -> int:
    """Integer >= 1."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"expected an integer >= 1. Got {text!r}")
    return int(text)


def seed(text: str) -> int:
    """Seed of random numbers of NumPy."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise ArgumentTypeError(f"expected an integer from 0 to {2**32 - 1}. Got {text!r}")
    return int(text)


def suggest(name: str, known: Iterable[str]) -> str:
    """Words that name what is meant by a misspelt name; empty if nothing is close. Case does not count."""
    import difflib

    folded: dict[str, str] = {}
    for one in known:
        folded.setdefault(one.lower(), one)
    close = difflib.get_close_matches(name.lower(), folded, 1)
    return f" Did you mean {folded[close[0]]}?" if close else ""


def split_words(text: str) -> list[str]:
    """Words between commas."""
    return [word.strip() for word in text.split(",")]


#: Flags, parameter, type and help of the parameters that have an option of their own, and whether estimators that learn
#: from streams have it.
_LETTERS: tuple[tuple[tuple[str, ...], str, Callable[[str], Any], str, bool], ...] = (
    (
        ("-t", "--kernel"),
        "kernel",
        _kernel,
        "0 linear, 1 poly, 2 rbf (default), 3 sigmoid, 4 precomputed; or the name",
        True,
    ),
    (("-d", "--degree"), "degree", int, "degree of poly", True),
    (
        ("-g", "--gamma"),
        "gamma",
        _gamma,
        "gamma: a number, scale, or auto (LIBSVM's default, 1/number of features)",
        True,
    ),
    (("-r", "--coef0"), "coef0", _real, "constant of poly and sigmoid", True),
    (("-c", "--C"), "C", _real, "penalty of errors", True),
    (("-n", "--nu"), "nu", _real, "share of support vectors (NuSVC, NuSVR) or of outliers (one-class SVMs)", True),
    (("-p", "--epsilon"), "epsilon", _real, "difference from the target without loss (SVR)", False),
    (("-e", "--tol"), "tol", _real, "tolerance of the stopping rule", True),
    (("-m", "--cache-size"), "cache_size", _real, "memory for kernel values in MB", True),
    (("-h", "--shrinking"), "shrinking", _flag, "0 or 1: whether to use shrinking; -h alone prints this help", False),
    (("-b", "--probability"), "probability", _flag, "0 or 1: whether to fit probabilities", True),
    (("-j", "--jobs"), "n_jobs", int, "number of threads, -1 for all processors", True),
)


def normalise(argv: list[str]) -> list[str]:
    """Arguments in a form that argparse understands.

    LIBSVM's ``-wLABEL WEIGHT`` becomes ``--class-weight=LABEL=WEIGHT``, and ``--classes -1,1`` becomes
    ``--classes=-1,1``, and ``-r -1e-3`` becomes ``-r-1e-3``: a word that begins with a minus sign would be taken for an
    option.
    """
    result: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word == "--":
            return [*result, word, *rest]
        if word.startswith("-w") and len(word) > 2:
            result.append(f"--class-weight={word[2:]}={next(rest, '')}")
        elif NUMBERS.fullmatch(word) and result and result[-1].startswith("--") and "=" not in result[-1]:
            result[-1] += f"={word}"
        elif NUMBERS.fullmatch(word) and result and LETTER.fullmatch(result[-1]):
            result[-1] += word
        else:
            result.append(word)
    return result
