"""Fuzz the readers of model files: ``python -m tests.fuzz_models --count N``.

Valid files are damaged, as bytes and as structures whose checksums are made to match. A reader refuses a file with a
ValueError, or returns a model that predicts, learns and is saved again, or refuses that with a ValueError (or with the
MemoryError of a cache_size that is too small). All else is a fault: another exception, a crash, a hang, memory beyond
16 times the size of the file.

Case k is made from the number k alone: ``--first k --count 1`` repeats it.
"""

import argparse
import contextlib
import io
import json
import mmap
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from hingeline import LASVC, SVC, IncrementalOneClassSVM, IncrementalSVC, NystroemMap, OrdinalSVC
from hingeline._registry import ESTIMATORS, class_of
from hingeline.files import layout, libsvm, models

from .estimators import MODELS

#: Classes that are written as files of LIBSVM.
LIBSVM = (SVC, IncrementalOneClassSVM)
#: Seconds until a case counts as a hang; memory of a process; cases between two measurements of memory.
LIMIT, MEMORY, MEASURED = 10.0, 4 << 30, 20
rng = np.random.default_rng(0)
X = rng.standard_normal((30, 3))
y = np.arange(30) % 3


# ---- valid files ---------------------------------------------------------------------------------------


@cache
def valid_files():
    """Files of all estimators, small ones."""
    sparse = sp.csr_array(np.where(X > 0, X, 0.0))
    fitted = [clone(model).fit(X, y) for model in MODELS.values()]
    fitted += [
        SVC().fit(sparse, y),
        SVC(kernel="precomputed").fit(X @ X.T, y),
        LASVC(gamma=0.5).partial_fit(sparse, np.array(["a", "b", "c"])[y], classes=["a", "b", "c", "d"]),
        IncrementalSVC(gamma=0.5, window=20).fit(X, y > 0, ids=[f"id {k}" for k in range(30)]),
        IncrementalOneClassSVM(shape="sphere", gamma=0.5).fit(sparse),
        OrdinalSVC(),
        NystroemMap(n_components=5).fit(X),
    ]
    return [b"".join(map(bytes, layout.pieces(*without_times(*models.pack(model))))) for model in fitted]


def without_times(texts, arrays):
    """The same without measured times: a case is the same in every process."""
    texts = {name: re.sub(r'("kernel_seconds"|"paused_at"): ?[^,}]*', r"\1: 0.5", text) for name, text in texts.items()}
    return texts, {name: 0 * array if name.endswith("seconds") else array for name, array in arrays.items()}


@cache
def valid_texts():
    """Files of LIBSVM."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = [
            SVC(gamma=0.5).fit(X, y),
            SVC(kernel="poly", gamma=0.5, coef0=1.0).fit(X, y > 0),
            SVC(kernel="linear", probability=True, random_state=0).fit(X, y),
            SVC(kernel="precomputed").fit(X @ X.T, y),
            IncrementalOneClassSVM(gamma=0.5).fit(X),
        ]
    return [b"".join(libsvm._lines(libsvm._read_model(model))) for model in fitted]


# ---- damage --------------------------------------------------------------------------------------------

NUMBERS = [0, 1, -1, 2, 3, 7, 255, 2**31 - 1, 2**31, -(2**31), 2**53, 2**62, 2**63, -(2**63), 10**30]
REALS = [0.0, -0.0, 0.5, -1.0, 1e-300, 1e100, 1e308, -1e308, 5e-324]
WORDS = [
    "",
    "rbf",
    "linear",
    "poly",
    "sigmoid",
    "precomputed",
    "nc",
    "SVC",
    "\0",
    "é" * 50,
    "a" * 1000,
    "__class__",
    "\ud800",
]
SPECIAL = [None, True, False, [], {}, [[]], {"dict": {}}, {"array": "classes_"}, {"float": "nan"}, {"tuple": []}]
BYTES = [b"\0", b"\xff", b"{", b"}", b'"', b"\\", b"9", b" ", b"\n", b":", b"-", b"e", b"nan", b"inf", b"1e999", b"0x1"]


def damaged_bytes(random_, content):
    """Change bytes anywhere."""
    content = bytearray(content)
    for _ in range(random_.choice([1, 1, 1, 2, 5, 50])):
        at = (
            random_.randrange(len(content) + 1) if random_.random() < 0.5 else min(random_.randrange(400), len(content))
        )
        kind = random_.randrange(7)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << random_.randrange(8)
        elif kind == 1:
            content[at:at] = random_.choice(BYTES) * random_.choice([1, 1, 2, 1000])
        elif kind == 2:
            del content[at : at + random_.choice([1, 2, 8, 100, 10**6])]
        elif kind == 3:
            content[at : at + 8] = struct.pack("<Q", random_.choice(NUMBERS) % 2**64)
        elif kind == 4:
            begin = random_.randrange(len(content) + 1)
            content[at:at] = content[begin : begin + random_.randrange(100)]
        elif kind == 5 and at < len(content):
            content[at] = random_.randrange(256)
        else:
            content[at : at + random_.randrange(9)] = random_.choice(BYTES)
        content = content or bytearray(b"\0")
    return bytes(content)


def places(node, path=()):
    """Paths to all parts of a nested value."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, part in items:
        yield from places(part, (*path, key))


def at_place(node, path):
    for key in path:
        node = node[key]
    return node


@cache
def places_in(text):
    """Paths to all parts of a JSON text."""
    return list(places(json.loads(text)))


def damaged_node(random_, text):
    """The value of a JSON text with one part changed."""
    node, paths = json.loads(text), (places_in if text in pristine() else places_in.__wrapped__)(text)
    path = random_.choice(paths)
    if not path:
        return random_.choice(SPECIAL)
    parent, key = at_place(node, path[:-1]), path[-1]
    kind = random_.randrange(7)
    if kind == 0:
        del parent[key]
    elif kind == 1:
        parent[key] = json.loads(json.dumps(at_place(node, random_.choice(paths))))
    elif kind == 2 and isinstance(parent, dict):
        parent[random_.choice([*WORDS, *parent, "_model", "classes_", "support_", "object"])] = parent.pop(key)
    elif kind == 3 and isinstance(parent[key], list):
        parent[key] = parent[key] * random_.choice([2, 3, 20])
    else:
        parent[key] = random_.choice([*NUMBERS, *REALS, *WORDS, *SPECIAL])
    return node


def damaged_array(random_, array):
    """Change type, shape or values of an array."""
    kind = random_.randrange(7)
    if kind == 0:
        dtype = np.dtype(random_.choice(list(layout.TYPES.values())))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return array.astype(dtype)
    if kind == 1:
        return np.ascontiguousarray(array.reshape(-1)[: random_.randrange(array.size + 1)])
    if kind == 2:
        return np.concatenate([array.reshape(-1)] * random_.choice([2, 3]))
    if kind == 3:
        return array.reshape(random_.choice([(-1, 1), (1, -1), (1, 1, -1)])) if array.size else array[()]
    if kind == 4:
        return np.ascontiguousarray(array[:-1]) if array.ndim and len(array) else np.zeros((0, 7))
    array = array.copy()
    flat = array.reshape(-1)
    for _ in range(random_.choice([1, 1, 3]) if flat.size else 0):
        value = random_.choice([*NUMBERS, *REALS, np.nan, np.inf, -np.inf])
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bits = (
                np.float64(value)
                if array.dtype.kind == "f"
                else np.array(int(value) % 2**64 if value == value and abs(value) != np.inf else 5, dtype=np.uint64)
            )
            flat[random_.randrange(flat.size)] = bits.astype(array.dtype)
    return array


@cache
def parts_of(content):
    """Texts and arrays of a valid file, without the checksums."""
    texts, arrays = layout.read(content)
    return {name: text for name, text in texts.items() if name not in (layout.ARRAY_SUMS, layout.TEXT_SUM)}, arrays


@cache
def pristine():
    """Texts of the valid files that are JSON; what is computed from them is kept."""
    found = {content[8 : 8 + int.from_bytes(content[:8], "little")].decode() for content in valid_files()}
    return found | {parts_of(content)[0][name] for content in valid_files() for name in ("parameters", "state")}


def damaged_structure(random_, content):
    """Change texts and arrays of a file; the checksums match."""
    texts, arrays = map(dict, parts_of(content))
    for _ in range(random_.choice([1, 1, 1, 2, 4])):
        kind = random_.randrange(10)
        if kind < 4:
            name = random_.choice(["parameters", "state", "state"])
            try:
                texts[name] = json.dumps(damaged_node(random_, texts[name]))
            except (ValueError, KeyError):
                texts[name] = "{}"
        elif kind < 8 and arrays:
            name = random_.choice(list(arrays))
            arrays[name] = damaged_array(random_, arrays[name])
        elif kind == 8:
            texts[random_.choice([*texts, "other"])] = random_.choice([*WORDS, *texts.values(), *ESTIMATORS])
        elif arrays:
            a, b = random_.choice(list(arrays)), random_.choice(list(arrays))
            arrays[a], arrays[b] = arrays[b], arrays[a]
            if random_.random() < 0.3:
                del arrays[a]
    return b"".join(map(bytes, layout.pieces(texts, arrays)))


def damaged_header(random_, content):
    """Change the table of arrays in the header; checksums may match."""
    length = int.from_bytes(content[:8], "little")
    header = damaged_node(random_, content[8 : 8 + length].decode())
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


def damaged_text(random_, content):
    """Change words and lines of a LIBSVM model."""
    lines = content.split(b"\n")
    for _ in range(random_.choice([1, 1, 2, 4])):
        at = random_.randrange(len(lines)) if random_.random() < 0.5 else random_.randrange(min(12, len(lines)))
        kind = random_.randrange(6)
        if kind == 0:
            del lines[at]
            lines = lines or [b""]
        elif kind == 1:
            lines.insert(at, random_.choice(lines))
        elif kind == 2:
            other = random_.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            words = lines[at].split(b" ")
            place = random_.randrange(len(words))
            number = str(random_.choice([*NUMBERS, *REALS, "nan", "inf", "1e999", "0x10", "1_0", "+", "."])).encode()
            pair = str(random_.choice(NUMBERS)).encode() + b":" + number
            words[place] = random_.choice([number, pair, number, b"", words[place] * 2, random_.choice(words)])
            lines[at] = b" ".join(words)
    return b"\n".join(lines)


def case(number):
    """Name of the reader and damaged content of a case."""
    random_ = random.Random(number)
    if number % 3 == 2:
        content = random_.choice(valid_texts())
        return "libsvm", (damaged_text if random_.random() < 0.8 else damaged_bytes)(random_, content)
    content = random_.choice(valid_files())
    damage = random_.choices([damaged_bytes, damaged_structure, damaged_header], [2, 6, 2])[0]
    return "own", damage(random_, content)


# ---- what readers do with them -------------------------------------------------------------------------


class Hang(BaseException):
    """A case took too long."""


def read(reader, content):
    if reader == "libsvm":
        model = libsvm._parse(io.BytesIO(content), len(content))
        return libsvm._estimator(libsvm._sort(model), None, "hingeline")
    return models.unpack(*layout.read(content), len(content), functions={"kernel": lambda A, B: A @ B.T})


def refusable(call):
    """Call what may be refused with a ValueError, or with the TypeError of a model of another kind."""
    with contextlib.suppress(ValueError):
        call()


def use(model):
    """Predict, learn, follow paths and save."""
    if hasattr(model, "n_jobs"):
        model.n_jobs = None
    width = vars(model).get("n_features_in_")
    if not isinstance(width, int) or not 0 < width < 10_000:
        return "accepted"
    rows = np.resize(X, (4, width))
    if not hasattr(model, "predict"):
        assert np.isfinite(model.transform(rows)).all(), "features are not finite"
        return "used"
    labels = model.predict(rows)
    assert len(labels) == 4
    if hasattr(model, "decision_function"):
        decisions = model.decision_function(rows)
        allowed = np.isfinite(decisions) if not isinstance(model, OrdinalSVC) else ~np.isnan(decisions)
        assert allowed.all(), "decision values are not finite"
    if hasattr(model, "predict_proba"):
        assert np.isfinite(model.predict_proba(rows)).all(), "probabilities are not finite"
    if type(model) in LIBSVM and model.kernel != "precomputed":
        refusable(lambda: libsvm._read_model(model))
    if hasattr(model, "leave_one_out"):
        refusable(model.leave_one_out)
    if hasattr(model, "set_C"):
        refusable(lambda: model.set_C(2.0))
    if hasattr(model, "set_nu"):
        refusable(lambda: model.set_nu(0.5))
    if hasattr(model, "_model") and isinstance(model, LASVC | IncrementalSVC):
        model.partial_fit(rows, labels)
    if type(model) in map(class_of, ESTIMATORS):
        models.pack(model)
    return "used"


def outcome(number):
    """What became of a case; AssertionError and other exceptions are faults."""
    reader, content = case(number)
    measured = number % MEASURED == 0
    if measured:
        tracemalloc.start()
    try:
        model = read(reader, content)
    except ValueError:
        return f"{reader} refused"
    finally:
        if measured:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 16 * len(content) + (2 << 20), f"{peak} bytes of memory for a file of {len(content)}"
    try:
        return f"{reader} {use(model)}"
    except (ValueError, MemoryError) as error:
        if isinstance(error, MemoryError) and "cache_size" not in str(error):  # a cache of a few bytes is allowed
            raise
        return f"{reader} refused later"


# ---- processes -----------------------------------------------------------------------------------------


def work(first, count, step, progress):
    """Try cases in this process; tell the number of the current one through a file."""

    def too_long(*_):
        raise Hang

    signal.signal(signal.SIGALRM, too_long)
    for reader, contents in (("own", valid_files()), ("libsvm", valid_texts())):
        for content in contents:
            read(reader, content)  # imports what is imported when needed
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # the address sanitizer reserves terabytes
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    models.version = cache(models.version)  # it reads and parses a file
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    tally = Counter()
    with open(progress, "r+b") as file:
        told = mmap.mmap(file.fileno(), 8)
    for number in range(first, first + count, step):
        told[:] = struct.pack("<q", number)
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        try:
            tally[outcome(number)] += 1
        except BaseException as error:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            if isinstance(error, KeyboardInterrupt):
                raise
            tally["faults"] += 1
            print(f"FAULT {number}: {type(error).__name__}: {str(error)[:300]} [{place_of(error)}]", flush=True)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    print("TALLY " + json.dumps(tally), flush=True)


def place_of(error):
    """Last place of the package in a traceback."""
    found, trace = "?", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "hingeline" in name:
            found = f"{Path(name).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_models", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="number of cases (default 10000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (default 0)")
    parser.add_argument("--batch", type=int, default=20_000, help="cases per process (default 20000)")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        return work(chosen.first, chosen.count, 1, chosen.work)
    total, begin = Counter(), time.time()
    folder = tempfile.TemporaryDirectory()
    progress = Path(folder.name) / "progress"
    progress.write_bytes(bytes(8))
    at, end = chosen.first, chosen.first + chosen.count
    while at < end:
        size = min(chosen.batch, end - at)
        command = [sys.executable, "-m", "tests.fuzz_models", "--work", str(progress)]
        command += ["--first", str(at), "--count", str(size)]
        child = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in child.stdout.splitlines():
            if line.startswith("TALLY "):
                total.update(json.loads(line[6:]))
            else:
                print(line, flush=True)
        at += size
        if child.returncode != 0:
            (number,) = struct.unpack("<q", progress.read_bytes())
            print(f"CRASH {number}: exit code {child.returncode}: {child.stderr[-500:]}", flush=True)
            total["crashes"] += 1
            at = number + 1
        done = at - chosen.first
        print(f"{done} of {chosen.count} cases, {time.time() - begin:.0f} s: {dict(total)}", flush=True)
    folder.cleanup()
    return int(total["faults"] + total["crashes"] > 0)


if __name__ == "__main__":
    sys.exit(main())
