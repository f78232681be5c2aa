"""Many fits to parts of the same samples, from one kernel matrix per kernel.

A *cell* is one candidate of a search on one split. Cells that differ only in the parameter along which a training can
go on (C of SVC and SVR, margin of WorstViolatorSVC) form a *run*: they are trained one after another, in ascending
order. Decision values have the bits of a separate fit to the training rows of the split.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from threading import Semaphore
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .. import _core
from .._registry import COMPUTED, ESTIMATORS, class_of, row_of
from .._sklearn import score
from ..base import params as rules
from ..base.frame import choose_frame
from ..base.platt import wants_probability
from ..base.rows import require_finite, row_blocks
from ..base.state import snapshot
from ..batch.engine import SINGLE_ROWS, EngineEstimator
from ..batch.training import BatchTraining
from .kernels import Kernels, Key
from .scores import accuracy
from .tasks import task_of

#: Key of a kernel matrix that is given.
PRECOMPUTED: Key = ("precomputed", 0.0, 0.0, 0)
#: Seconds of a run from which threads pay: shorter ones are mostly Python, which has one thread at a time.
WORTH_THREADS = 2e-3
#: Samples up to which kernel matrices stay in the processor's cache.
FEW_SAMPLES = 2000
#: Share of the memory that kernel matrices may take; the rest is for the caches of the solvers.
MATRIX_SHARE = 0.75
#: Classes of scikit-learn that have the problems of those of this package with the same names.
REPLACED = (sklearn.svm.SVC, sklearn.svm.NuSVC, sklearn.svm.SVR, sklearn.svm.NuSVR, sklearn.svm.OneClassSVM)
#: Stop reasons of machines that are finished.
FINISHED = {"tol", "margin", "exhausted"}


@dataclass(eq=False)
class Cell:
    """One candidate on one split: rows to train on, rows to score."""

    params: dict[str, Any]
    train: np.ndarray
    test: np.ndarray
    candidate: int = 0
    split: int = 0
    #: Context of scikit-learn's callbacks.
    context: Any = None


@dataclass
class SearchData:
    """What all cells have in common."""

    estimator: Any
    X: Any
    y: Any
    scorer: Any
    fit_params: dict[str, Any] = field(default_factory=dict)
    score_params: dict[str, Any] = field(default_factory=dict)
    return_train_score: bool = False
    error_score: Any = np.nan


@dataclass(eq=False)
class Run:
    """Cells of one split that differ in one parameter only, by its value in ascending order."""

    estimator: Any
    key: Key | None  # None: the kernel depends on the training rows
    train: np.ndarray
    test: np.ndarray
    members: dict[Any, list[Cell]]


def drop_ineffective(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Parameters without those that have no effect on an estimator and that it therefore does not have."""
    prefix = ""
    if isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix = f"{name}__"
    ignored = {prefix + name for name in getattr(type(estimator), "_without_effect", ())}
    return {name: value for name, value in params.items() if name not in ignored}


def counterpart(estimator: Any) -> Any:
    """Estimator of this package that solves the problem of an estimator; None if there is none."""
    if type(estimator) in REPLACED:
        return class_of(type(estimator).__name__)(**estimator.get_params(deep=False))
    row = row_of(type(estimator))  # None also for a subclass, which may have a fit of its own
    return estimator if row is not None and row.path else None


def _restarts(estimator: Any) -> bool:
    """Whether an estimator is trained from zero for each value on the path."""
    return ESTIMATORS[type(estimator).__name__].restarts


def _freeze(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return pickle.dumps(value)
    return type(value), value  # True is not 1


class SharedKernel:
    """Trains cells from shared kernel matrices.

    Parameters
    ----------
    problem : SearchData
        Estimator and data.
    limit : float
        Bytes that kernel values may take.
    threads : int
        Number of threads.
    """

    def __init__(self, problem: SearchData, limit: float, threads: int) -> None:
        self.problem, self.limit, self.threads = problem, limit, threads
        weight = problem.fit_params.get("sample_weight")
        self.sample_weight = None if weight is None else np.asarray(weight, dtype=np.float64)
        self.templates: dict[Hashable, Any] = {}
        #: Number of trainings by kernel.
        self.n_trainings: Counter[Key] = Counter()
        self.folds: dict[int, tuple[np.ndarray, tuple[np.ndarray, np.ndarray, dict[str, Any]]]] = {}
        self.complaints: list[str] = []
        #: Set when the search is interrupted: threads end after their current fit.
        self.stopped = False
        #: Size of a kernel matrix if it exceeded the limit, and kernel values were computed in blocks therefore.
        self.too_large = 0
        #: Whether a matrix was used.
        self.in_matrix = False
        checker = counterpart(problem.estimator)
        #: Parameter along which a run goes.
        self.path = ESTIMATORS[type(checker).__name__].path
        self.task = task_of(checker, problem.X, problem.y)
        self.X, self.y = self.task.X, self.task.y
        self.accuracy = self.task.scores_accuracy(problem.scorer)
        #: Threads at work; the first runs are made by one.
        self.workers = 1
        #: Place of each sample in the kernel matrices.
        self.place = np.empty_like(self.task.order)
        self.place[self.task.order] = np.arange(len(self.place))
        self.kernels = Kernels(self.X, self.task.order, MATRIX_SHARE * limit, threads)

    # ---- planning ------------------------------------------------------------------------------------

    def template(self, fixed: dict[str, Any], name: Hashable) -> Any:
        """Estimator with these parameters, checked; None if it cannot be trained here. `name` identifies them."""
        if name not in self.templates:
            self.templates[name] = self._template(fixed)
        return self.templates[name]

    def _template(self, fixed: dict[str, Any]) -> Any:
        try:
            estimator = clone(self.problem.estimator).set_params(**clone(fixed, safe=False))
            ours = counterpart(estimator)
            rules.check(ours, ours._rules)
        except Exception:  # the fit of the cell reports it
            return None
        suits = (
            (ours.kernel in COMPUTED or ours.kernel == "precomputed")
            and isinstance(getattr(ours, "random_state", None), Integral | None)
            and not (hasattr(ours, "probability") and wants_probability(ours))
            and not getattr(ours, "verbose", False)
            and not (ours._uses_scale() and self.sample_weight is not None)
        )
        if not suits:
            return None
        ours.n_jobs = 1  # threads are for cells
        return ours

    def runs(self, cells: list[Cell]) -> tuple[list[Run], list[Cell]]:
        """Runs in an order that needs few kernel matrices, and cells that cannot be trained here."""
        found: dict[Hashable, Run] = {}
        others = []
        names: dict[int, tuple[Hashable, dict[str, Any]]] = {}
        for cell in cells:
            if id(cell.params) not in names:  # all splits of a candidate have the same parameters
                own = drop_ineffective(self.problem.estimator, cell.params)
                fixed = {name: value for name, value in own.items() if name != self.path}
                names[id(cell.params)] = tuple((k, _freeze(v)) for k, v in sorted(fixed.items())), own
            name, own = names[id(cell.params)]
            estimator = self.template({k: v for k, v in own.items() if k != self.path}, name)
            value = own.get(self.path, getattr(estimator, self.path, None))
            if estimator is None or not estimator._rules[self.path].accepts(value):
                others.append(cell)
                continue
            group = (name, id(cell.train), id(cell.test))
            if group not in found:
                found[group] = Run(estimator, self._key(estimator), cell.train, cell.test, {})
            found[group].members.setdefault(value, []).append(cell)
        order = sorted(found.values(), key=lambda run: (run.key is None, run.key or ()))
        self.n_trainings = Counter()
        for run in order:
            if run.key is not None:
                self.n_trainings[run.key] += len(run.members) if _restarts(run.estimator) else 1
        return order, others

    def _key(self, estimator: Any) -> Key | None:
        if estimator._uses_scale():
            return None
        if estimator.kernel == "precomputed":
            return PRECOMPUTED
        gamma = estimator._resolve_gamma(self.X) if estimator.kernel != "linear" else 0.0
        key: Key = (estimator.kernel, gamma, float(estimator.coef0), int(estimator.degree))
        return key if choose_frame(self.X, *key) is None else None  # each split has a frame of its own

    # ---- training ------------------------------------------------------------------------------------

    def work(self, cells: list[Cell], done: Callable[[Cell, dict[str, Any]], None]) -> list[Cell]:
        """Train cells; `done` gets each cell and its scores. Returns the cells that are left."""
        runs, others = self.runs(cells)
        return others + self.evaluate(runs, done)

    def evaluate(self, runs: list[Run], done: Callable[[Cell, dict[str, Any]], None]) -> list[Cell]:
        """Train all runs; `done` gets each cell and its scores. Returns the cells that failed."""
        if not runs:
            return []
        backend, workers = get_active_backend(prefer="threads")
        if not getattr(backend, "supports_sharedmem", False) and workers != 1:
            return self._work_elsewhere(runs, done, getattr(backend, "supports_return_generator", False))
        failed, seconds = [], 0.0
        for run in runs[:2]:  # the first one also computes a matrix
            begin = perf_counter()
            failed += self._attempt(run, done)
            seconds = perf_counter() - begin
        if self.threads == 1 or seconds < WORTH_THREADS:
            for run in runs[2:]:
                failed += self._attempt(run, done)
            return failed
        pool = ThreadPoolExecutor(self.threads)
        try:
            for some in _by_key(runs[2:], split=False):
                if self._in_matrix(some[0]):
                    self._matrices(some[0])  # before threads ask for it
                self.workers = self._count_workers(some)
                gate = Semaphore(self.workers)
                for cells in pool.map(partial(self._pass, gate, done), some):
                    failed += cells
        except BaseException:
            self.stopped = True
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        return failed

    def _pass(self, gate: Semaphore, done: Callable[[Cell, dict[str, Any]], None], run: Run) -> list[Cell]:
        with gate:
            return self._attempt(run, done)

    def _work_elsewhere(
        self, runs: list[Run], done: Callable[[Cell, dict[str, Any]], None], one_by_one: bool
    ) -> list[Cell]:
        """Train runs in other processes, those of one kernel together; `one_by_one`: take results as they come."""
        parts = list(_by_key(runs))
        parallel = Parallel(return_as="generator" if one_by_one else "list")
        found = parallel(
            delayed(_work_remotely)(self.problem, self.limit, list(map(_strip, part)), self.n_trainings)
            for part in parts
        )
        failed: list[Cell] = []
        for part, (outs, complaints, too_large, in_matrix) in zip(parts, found, strict=True):
            cells = [cell for run in part for some in run.members.values() for cell in some]
            for cell, out in zip(cells, outs, strict=True):
                failed.append(cell) if out is None else done(cell, out)
            self.complaints += complaints
            self.too_large = max(self.too_large, too_large)
            self.in_matrix = self.in_matrix or in_matrix
        return failed

    def _attempt(self, run: Run, done: Callable[[Cell, dict[str, Any]], None]) -> list[Cell]:
        """Train one run. Cells left when an error occurs are returned: a fit of their own reports it."""
        left = [cell for some in run.members.values() for cell in some]
        steps = self.train(run)
        while left:
            try:
                some, out = next(steps)
            except StopIteration:  # the search was interrupted
                return []
            except Exception:
                return left
            for cell in some:
                left.remove(cell)
                done(cell, dict(out))
        return []

    def fold(self, train: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Training rows, what machines learn for them, and attributes that the estimator has before training."""
        if id(train) not in self.folds:
            rows = np.ascontiguousarray(train, dtype=np.int64)
            found = rows, *self.task.lesson(rows)
            self.folds[id(train)] = train, found  # kept, so that no other array has its id
        return self.folds[id(train)][1]

    def train(self, run: Run) -> Iterator[tuple[list[Cell], dict[str, Any]]]:
        """Yield cells of a run with equal parameters and their scores."""
        rows, learnt, attributes = self.fold(run.train)
        estimator = snapshot(run.estimator)
        vars(estimator).update(attributes)
        estimator.cache_size = min(estimator.cache_size, self._cache_size(run))
        machine = (Gathered if self._in_matrix(run) else Computed)(self, run, estimator, rows, learnt)
        training = None
        for value in sorted(run.members):
            if self.stopped:
                return
            begin = perf_counter()
            setattr(estimator, self.path, value)
            if training is None or _restarts(estimator):
                training = machine.training(self._weights(rows))
            else:
                training.follow(value)
            training.advance(None)
            fitted = machine.read_fitted(training)
            middle = perf_counter()
            out = {"fit_error": None, "fit_time": middle - begin, "n_test_samples": len(run.test)}
            out["test_scores"] = self._score(estimator, machine, fitted, run.test)
            out["score_time"] = perf_counter() - middle
            if self.problem.return_train_score:
                out["train_scores"] = self._score(estimator, machine, fitted, run.train)
            self._note(training, fitted)
            yield run.members[value], out

    def _weights(self, rows: np.ndarray) -> np.ndarray | None:
        return None if self.sample_weight is None else self.sample_weight[rows]

    def _score(self, estimator: Any, machine: Any, fitted: Any, rows: np.ndarray) -> Any:
        answers, shaped = [], []
        for some in row_blocks(len(rows), len(fitted.intercept_)):
            decisions = require_finite(machine.decide(fitted, rows[some]))
            answers.append(self.task.answer(estimator, decisions, fitted))
            if not self.accuracy:
                shaped.append(self.task.shape(estimator, decisions, fitted))
        return self._score_of(fitted, np.concatenate(answers), shaped, rows)

    def _score_of(self, fitted: Any, answers: np.ndarray, shaped: list[np.ndarray], rows: np.ndarray) -> Any:
        """Score of predictions, and of decision values in blocks, of some rows."""
        if self.accuracy:
            weight = self.problem.score_params.get("sample_weight")
            return accuracy(answers, self.y[rows], None if weight is None else np.asarray(weight)[rows])
        params = {
            name: np.asarray(value)[rows] for name, value in self.problem.score_params.items() if value is not None
        }
        decided = self.task.decided(fitted, answers, np.concatenate(shaped))
        empty = np.empty((len(rows), 0))  # scorers pass it to the answers, which do not need it
        return score(decided, empty, self.y[rows], self.problem.scorer, params, self.problem.error_score)

    def _note(self, training: BatchTraining, fitted: Any) -> None:
        """Keep the warnings of machines that have not converged."""
        if not FINISHED.issuperset(fitted.stop_reason_):
            vars(training.estimator).update(stop_reason_=np.array(fitted.stop_reason_), **fitted.more)
            self.complaints += training.complaints()

    # ---- memory --------------------------------------------------------------------------------------

    def _work(self, run: Run) -> int:
        """Bytes that training takes besides matrices and cache."""
        if not hasattr(run.estimator, "_work_bytes"):
            return 0
        together = getattr(run.estimator, "multi_class", "ovo") == "all"
        return run.estimator._work_bytes(len(self.y) if together else self.task.largest)

    def _count_workers(self, runs: list[Run]) -> int:
        """Number of threads whose work fits the memory that the matrices leave."""
        most = max(map(self._work, runs))
        left = self.limit - self.kernels.bytes_held()
        return self.threads if most == 0 else int(np.clip(left // most, 1, self.threads))

    def _cache_size(self, run: Run) -> float:
        """Megabytes for the cache of a solver: half of what matrices and work leave to a thread."""
        left = (self.limit - self.kernels.bytes_held()) / self.workers - self._work(run)
        return max(0.5 * left / 2**20, 0.1)

    def _dtypes(self, estimator: Any) -> tuple[Any, Any]:
        """Precisions of kernel values in training and in predictions."""
        return (np.float64 if isinstance(estimator, EngineEstimator) else self.X.dtype), self.X.dtype

    def _in_matrix(self, run: Run) -> bool:
        """Whether to gather kernel values from a matrix of all samples rather than compute them for the split."""
        if run.key == PRECOMPUTED:
            self.in_matrix = True
            return True
        if isinstance(run.estimator, EngineEstimator) and len(run.train) >= SINGLE_ROWS:
            return False  # a fit would use single precision and other forms of the rows
        if run.key is None or not self._pays(run.key):
            return False
        fits = self.kernels.fit(*set(map(np.dtype, self._dtypes(run.estimator))))
        if not fits:
            self.too_large = self.kernels.bytes()
        self.in_matrix = self.in_matrix or fits
        return fits

    def _pays(self, key: Key) -> bool:
        """Whether a matrix is faster than computing the kernel values of each split.

        Few samples: the matrix stays in the processor's cache. Many samples: reading a value takes longer than
        computing it from few features, and the matrix has many values that no split needs.
        """
        n, d = self.X.shape
        if n <= FEW_SAMPLES:
            return True
        entries = self.X.nnz / n if sp.issparse(self.X) else d
        computed, read, needed = 1.5 + 0.08 * entries, 4.0, 0.2 * self.n_trainings[key]  # ns, ns, shares of the matrix
        made = 2.5 + 0.16 * entries / len(self.n_trainings)  # the map, and a part of the dot products
        return made + needed * read < needed * computed

    def _matrices(self, run: Run) -> tuple[np.ndarray, np.ndarray]:
        """Kernel matrices for training and for predictions."""
        if run.key is None or run.key == PRECOMPUTED:
            return self.X, self.X
        trained, decided = self._dtypes(run.estimator)
        return self.kernels.matrix(run.key, trained), self.kernels.matrix(run.key, decided)


class Gathered:
    """One split, with kernel values from matrices of all samples."""

    def __init__(self, shared: SharedKernel, run: Run, estimator: Any, rows: np.ndarray, learnt: np.ndarray) -> None:
        self.shared, self.estimator, self.rows, self.learnt = shared, estimator, rows, learnt
        #: Place of each sample in the matrices.
        self.place = np.arange(len(shared.y)) if run.key == PRECOMPUTED else shared.place
        self.matrix, decided = shared._matrices(run)
        self.decided = _core.Matrix(decided)
        self.linear = estimator.kernel == "linear"
        if self.linear:  # decision values are computed from rows, see `decide`
            estimator._set_kernel(shared.X)

    def training(self, weights: np.ndarray | None) -> BatchTraining:
        return self.estimator._training(self.matrix, self.learnt, weights, self.place[self.rows])

    def read_fitted(self, training: BatchTraining) -> Any:
        return _read_fitted(self.estimator, training)

    def decide(self, fitted: Any, rows: np.ndarray) -> np.ndarray:
        samples = self.rows[fitted.row]
        if self.linear:  # through the weights of the features, as the estimator does
            if "support_vectors_" not in vars(fitted):  # packed once for all blocks of rows
                fitted.support_vectors_ = self.shared.X[samples]
            return self.estimator._sums(self.shared.X[rows], fitted)
        if not len(samples):
            return np.tile(fitted.intercept_, (len(rows), 1))
        lines = self.estimator._lines(fitted)
        return _core.decide_gathered(lines, self.decided, self.place[samples], 1, self.place[rows])


class Computed:
    """One split, with kernel values computed from its rows."""

    def __init__(self, shared: SharedKernel, run: Run, estimator: Any, rows: np.ndarray, learnt: np.ndarray) -> None:
        self.shared, self.estimator, self.learnt = shared, estimator, learnt
        self.X = shared.X[rows]
        estimator._set_kernel(self.X)

    def training(self, weights: np.ndarray | None) -> BatchTraining:
        return self.estimator._training(self.X, self.learnt, weights)

    def read_fitted(self, training: BatchTraining) -> Any:
        fitted = _read_fitted(self.estimator, training)
        fitted.support_vectors_ = self.X[fitted.row]
        return fitted

    def decide(self, fitted: Any, rows: np.ndarray) -> np.ndarray:
        return self.estimator._sums(self.shared.X[rows], fitted)


def _read_fitted(estimator: Any, training: BatchTraining) -> Any:
    """Attributes that predictions need."""
    found = training.solution()
    return SimpleNamespace(
        classes_=getattr(estimator, "classes_", None),
        dual_coef_=found["dual_coef"],
        intercept_=found["intercept"],
        n_support_=found["n_support"],
        decision_scale_=found.get("decision_scale"),
        row=found["row"],
        stop_reason_=found.get("stop_reason", ()),
        more={f"{name}_": found[name] for name in ("worst_margin", "kkt_violation", "n_iter") if name in found},
    )


def _by_key(runs: list[Run], split: bool = True) -> Iterator[list[Run]]:
    """Runs with the same kernel together; runs whose kernel depends on the split one by one if `split`, or together."""
    some: list[Run] = []
    for run in runs:
        if some and ((split and run.key is None) or run.key != some[0].key):
            yield some
            some = []
        some.append(run)
    if some:
        yield some


def _strip(run: Run) -> Run:
    """Copy of a run for another process: cells without parameters and contexts, which are not needed there."""
    members = {value: [Cell({}, run.train, run.test) for _ in cells] for value, cells in run.members.items()}
    return replace(run, members=members)


def _work_remotely(
    problem: SearchData, limit: float, runs: list[Run], n_trainings: Counter[Key]
) -> tuple[list[Any], list[str], int, bool]:
    """Scores of the cells of some runs, None for cells that failed; and what the search tells about its work."""
    shared = SharedKernel(problem, limit, 1)
    shared.n_trainings = n_trainings
    outs: dict[int, Any] = {}
    for run in runs:
        shared._attempt(run, lambda cell, out: outs.__setitem__(id(cell), out))
    cells = [cell for run in runs for some in run.members.values() for cell in some]
    return [outs.get(id(cell)) for cell in cells], shared.complaints, shared.too_large, shared.in_matrix
