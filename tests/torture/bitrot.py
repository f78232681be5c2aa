"""One flipped bit in a file of a checkpoint, a search or a labelling session: an error, or nothing is lost.

Trial n of a case flips a bit of one byte; the trials of a case reach each byte of each file once, in a mixed order.
"""

import atexit
import functools
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone

from hingeline import LASVC, Checkpoint, IncrementalSVC
from hingeline.cli.errors import CommandError
from hingeline.files.log import line
from hingeline.model_selection.cells import CellJournal
from tests.labelling import session, small_table, truth
from tests.private import bits, crash

from .faults import Fault, require
from .runner import END
from .subjects import problem

TRIALS, LIMIT = 1_000_000, 20.0
#: Step from one byte to the next, a prime number: neighbouring trials damage different files.
STEP = 100_003
MODELS = {"LASVC": LASVC(gamma=0.3), "IncrementalSVC": IncrementalSVC(gamma=0.3)}


def cases():
    return list(CASES)


def trial(case, rng, number):
    _, reopen, error = CASES[case]
    source, expected = prepared(case)
    files = sorted(path for path in source.iterdir() if path.is_file())
    sizes = [path.stat().st_size for path in files]
    total = sum(sizes)
    if number >= total:
        return END
    place = number * STEP % total
    which = int(np.searchsorted(np.cumsum(sizes), place, side="right"))
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(shutil.copytree(source, Path(parent) / "copy"))
        content = bytearray(files[which].read_bytes())
        at = place - sum(sizes[:which])
        content[at] ^= 1 << int(rng.integers(8))
        (folder / files[which].name).write_bytes(content)
        return outcome(functools.partial(reopen, folder, expected), error, folder, f"{files[which].name}, byte {at}")


def outcome(reopen, refusal, folder, where):
    """What opening the damaged folder does; Fault if that loses something without an error or a warning."""
    before = contents(folder)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            complete = reopen()
        except Fault as error:
            raise Fault(f"{where}: {error}") from error
        except refusal as error:
            require(contents(folder) == before, f"{where}: an error has changed the files")
            require(str(folder) in str(error), f"{where}: the error does not name the file: {error}")
            return "refused"
        warned = any(issubclass(one.category, UserWarning) for one in said)
        require(complete or warned, f"{where}: something is lost without a word")
        if warned:
            reopen()  # what was written because of the damage
    return "warned" if warned else "nothing lost"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.stat().st_size}


@functools.cache
def prepared(case):
    """Folder with the files of a case, the same in all processes, and what is in them."""
    folder = Path(tempfile.mkdtemp(prefix="bitrot-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder, CASES[case][0](folder)


# ---- checkpoints ---------------------------------------------------------------------------------------


def make_checkpoint(folder, name, forget=()):
    """A stream that has crashed, with two generations and their journals."""
    task = problem(np.random.default_rng(0), n=40, d=2)
    run = Checkpoint(folder, clone(MODELS[name]), every=12)
    for at in range(0, 40, 5):
        part = slice(at, at + 5)
        run.learn(task.X[part], task.y[part], classes=[0, 1], note={"chunk": at})
    model = run.model
    crash(run)
    if forget:
        (folder / "forget.json").write_bytes(line({"points": list(forget)}))
        model.forget(list(forget))
    return bits(model), run.note


def reopen_checkpoint(folder, expected):
    run = Checkpoint(folder)
    found = bits(run.model), run.note
    crash(run)
    require(found == expected, f"{run.model.n_samples_seen_} samples of 40, note {run.note}")
    return True


# ---- searches ------------------------------------------------------------------------------------------


def make_search(folder):
    journal = CellJournal(folder / "cells", "identity", train=True)
    for k in range(4):
        times = {"fit_error": None, "fit_time": 0.25, "score_time": 0.5, "n_test_samples": 7}
        journal.add(f"cell {k}", {**times, "test_scores": 0.1 * k, "train_scores": 1.0 / (k + 1)})
    journal.close()
    return journal.cells


def reopen_search(folder, expected):
    """A damaged line may be left out with a warning, because its cell can be computed again."""
    journal = CellJournal(folder / "cells", "identity", train=True)
    journal.close()
    require(all(expected.get(name) == out for name, out in journal.cells.items()), "a cell has changed")
    return len(journal.cells) == len(expected)


# ---- labelling -----------------------------------------------------------------------------------------


def make_labelling(folder):
    pool = small_table(folder, 8)
    with session(pool, "--classes", "no,yes") as opened:
        for action in ("label", "label", "skip", "label", "undo", "unsure", "label", "label"):
            state = opened.state()
            row, place = state["question"]["row"], truth(state["question"])
            opened.act({"action": action, "turn": state["turn"], "row": row, "class": place})
        return answers(opened)


def answers(opened):
    rows = range(len(opened.pool))
    return opened.classes, opened.learner.labels, [opened.learner.status_of(row) for row in rows]


def reopen_labelling(folder, expected):
    with session(folder / "pool.csv") as opened:
        found = answers(opened)
    require(found == expected, f"answers {found}, expected {expected}")
    return True


CASES = {
    **{
        f"checkpoint: {name}": (functools.partial(make_checkpoint, name=name), reopen_checkpoint, ValueError)
        for name in MODELS
    },
    "checkpoint: forgetting": (
        functools.partial(make_checkpoint, name="IncrementalSVC", forget=(3, 38)),
        reopen_checkpoint,
        ValueError,
    ),
    "search": (make_search, reopen_search, ValueError),
    "labelling": (make_labelling, reopen_labelling, CommandError),
}
