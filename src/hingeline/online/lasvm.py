"""The LASVM family of online kernel SVMs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from .. import _core
from ..base import params
from ..base.duration import Work
from ..base.rows import LARGEST
from ..base.types import ClassWeight, Gamma, Kernel, RandomState
from .ensemble import StreamEnsemble
from .stream import STREAM_RULES, ChunkTraining, FitTraining, StreamClassifier

#: Rows that `fit` passes to the core at a time; results do not depend on it.
CHUNK = 4096

#: Largest C times weight for float32 data: products with kernel values stay in the range of float32.
LARGEST_SINGLE = 1e30
#: Compaction period used when `clean_period` is None.
SWEEP_PERIOD = 256
#: While a label is missing from a stream, so many times 'max_non_sv' of its examples are kept. The core has the same
#: number (algo/lasvm/runs.hpp).
SAMPLE_FACTOR = 10
#: Steps after the passes with ``max_iter=-1``, as in LIBSVM: at least this number, and this number for each sample.
MOST_STEPS, MOST_STEPS_PER_SAMPLE = 10_000_000, 100

#: Defaults of the entries of `solver_options`, and their rules.
SOLVER_OPTIONS: dict[str, Any] = {
    "reprocess": "bounded",
    "tau": 1e-3,
    "clean_period": 256,
    "max_non_sv": 100,
    "warm_sv": 100,
    "finish": "all",
}
SOLVER_RULES = {
    "reprocess": params.one_of("bounded", "paper"),
    "tau": params.real(least=0.0),
    "clean_period": params.integer(least=1) | params.nothing(),
    "max_non_sv": params.integer(least=0),
    "warm_sv": params.integer(least=0),
    "finish": params.one_of("all", "expansion"),
}


class LASVC(StreamClassifier):
    """Online kernel SVM: LASVM-NC, LASVM-G, LASVM-I, FULL SVM or LASVM.

    Examples are visited one by one. An example may enter the expansion; then a few optimisation steps are made on the
    expansion, and examples that do not become support vectors are removed. One pass is usually enough.

    ===========  =========  ======================================================================================
    `variant`    intercept  method
    ===========  =========  ======================================================================================
    ``'nc'``     no         ramp loss: examples with ``y f(x) < s`` have no influence. Sparsest on noisy labels.
    ``'i'``      no         ignores examples that are not on the ramp when visited. Fewest kernel values.
    ``'g'``      no         hinge loss; steps until the duality gap is below its standard deviation.
    ``'full'``   no         as ``'g'``, but no example is removed; with `tol` the exact optimum.
    ``'lasvm'``  yes        one pair of steps per example; with `tol` the optimum of `sklearn.svm.SVC`.
    ===========  =========  ======================================================================================

    :meth:`partial_fit` learns from a stream. The model after any number of chunks has the same bits as the model after
    one call with all rows (for a numeric `gamma`). Results do not depend on `n_jobs` or `cache_size`. This requires
    that a callable kernel returns the same value for the same two rows in every call (BLAS does so only up to
    rounding), and that a precomputed kernel is symmetric.

    Parameters
    ----------
    variant : {'nc', 'g', 'i', 'full', 'lasvm'}, default='nc'
        Algorithm.
    C : float, default=1.0
        Weight of the loss.
    s : float, default=-1.0
        Left end of the ramp, below 1. Examples with ``y f(x) < s`` are outliers in 'nc' and are ignored in 'i'. The
        other variants only count them.
    n_epochs : int, default=1
        Passes over the data in :meth:`fit`, each in a new random order.
    tol : float, default=None
        Relative duality gap. If given, :meth:`fit` continues to optimise after its passes, until the duality gap is at
        most ``tol`` times the primal objective: the gap of the whole problem for 'full' and 'lasvm', for other variants
        of the problem restricted to the expansion. None: :meth:`fit` ends after its passes.
    max_iter : int, default=-1
        Maximum number of steps after the passes for each machine; -1: LIBSVM's limit, ``max(10**7, 100 * n_samples)``.
    solver_options : dict, default=None
        Options that rarely need a change. Entries that are left out have these defaults:

        - ``'reprocess': 'bounded'``. Steps after each example. 'bounded': at most 8 steps on one or two coefficients,
          until the gap is below its target or steps hardly raise the dual objective. Where they cannot keep up with C,
          the bounds are lowered to those of a smaller C (`effective_C_`), and a ConvergenceWarning says so. While one
          of two labels is missing from a stream, a sample of its examples is kept, and a ConvergenceWarning says if
          that is not all of them. 'paper': the published rules. Steps on one coefficient, until the gap is below its
          target; their number may grow like C, up to a million for each example. With 'lasvm' two steps for each
          example.
        - ``'tau': 1e-3``. Tolerance of these steps: they stop when the extreme gradients differ by at most 'tau'.
        - ``'clean_period': 256``. Number of examples between cleanings of 'nc', 'g' and 'i', which remove examples with
          coefficient zero. None: no cleaning before the end.
        - ``'max_non_sv': 100``. Number of examples with coefficient zero that a cleaning keeps; for each label ten
          times this number while one label is missing from a stream.
        - ``'warm_sv': 100``. Number of support vectors that must be exceeded before the ramp loss applies in 'nc' and
          'i'. 0 is 'i' as published, which may ignore nearly all examples after its first steps.
        - ``'finish': 'all'``. What `tol` refers to with 'lasvm': the whole problem, or with 'expansion' the problem
          restricted to the expansion, as in the published FINISHING; examples removed during the passes do not come
          back.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        A callable gets two sets of rows and returns the matrix of kernel values between them. Samples may then be
        anything, such as strings or graphs: it gets them as arrays of objects with one dimension.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf', 'poly' and 'sigmoid'. 'scale' is ``1 / (n_features * X.var())``, with a weighted variance
        if `sample_weight` is given; :meth:`partial_fit` uses X of its first call. 'auto' is ``1 / n_features``.
    degree : int, default=3
        Degree of 'poly'.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    class_weight : dict or 'balanced', default=None
        Factor on C for the samples of a class; 'balanced' only in :meth:`fit`.
    cache_size : float, default=200
        Memory in MB for kernel values of the expansion. Values that do not fit are computed again.
    random_state : int, RandomState instance or None, default=None
        Order of the examples in :meth:`fit`. None means 0: two fits give the same model.
    n_jobs : int, default=None
        Threads for training and prediction. None means 1 (unless in a :obj:`joblib.parallel_backend` context), -1 all
        processors.
    multi_class : {'ovo', 'ovr'}, default='ovo'
        One machine for each pair of classes, or for each class against the rest.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of :meth:`decision_function` with more than two classes and ``multi_class='ovo'``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels known so far.
    support_ : ndarray of shape (n_support,)
        Numbers of the support vectors, class after class. In :meth:`fit` they are rows of X; :meth:`partial_fit`
        continues to count.
    support_vectors_ : {ndarray, sparse array} of shape (n_support, n_features)
        Support vectors; empty with ``kernel='precomputed'``.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_support)
        Signed coefficients in LIBSVM's layout; one line per class with ``multi_class='ovr'`` and more than two classes.
    intercept_ : ndarray of shape (n_machines,)
        Intercepts; zero unless ``variant='lasvm'``.
    coef_ : ndarray of shape (n_machines, n_features)
        Weights of the features, with a linear kernel only.
    n_iter_ : ndarray of shape (n_machines,)
        Number of optimisation steps.
    n_samples_seen_ : int
        Number of samples learnt so far. After a :meth:`fit` that ended early: number of samples visited, whose
        ``admission_margin_`` is not NaN.
    n_expansion_ : ndarray of shape (n_machines,)
        Number of examples in the expansion, support vectors or not.
    effective_C_ : ndarray of shape (n_machines,)
        C whose bounds were in force at the end: `C`, or `C` divided by a power of two if the steps could not keep up
        with `C`. Coefficients below these bounds do not depend on it.
    duality_gap_ : ndarray of shape (n_machines,)
        Duality gap of the problem with `effective_C_` restricted to the expansion; with `tol` and 'full' or 'lasvm'
        of the whole problem.
    duality_gap_target_ : ndarray of shape (n_machines,)
        Standard deviation of the gap at the last example, the target of the variants without intercept.
    dual_objective_ : ndarray of shape (n_machines,)
        Dual objective.
    stop_reason_ : ndarray of str of shape (n_machines,)
        'pass' (all examples visited), 'gap' (`tol` was reached), 'max_iter', 'precision' (rounding errors prevent
        further progress), 'indefinite' (the gap is small, but the kernel is not positive semi-definite on the
        expansion: the solution is stationary, perhaps not optimal), 'interrupted' (Ctrl-C) or 'stopped' (by a
        callback).
    ramp_counts_ : dict of ndarray of shape (n_machines, 3)
        Number of examples left of, on and right of the ramp when visited: 'admitted' to the expansion, 'cleaned' (later
        removed from it), 'skipped'.
    admission_margin_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        ``y f(x)`` of the samples of the last call when they were visited. With more than two classes: column k is the
        value of the machine for the class of the sample and class k, or of class k with ``multi_class='ovr'``. NaN if
        that machine has not visited the sample.
    n_kernel_evals_, n_kernel_needed_, n_kernel_recomputed_ : int
        Kernel values computed in training; values that the algorithm needs; values computed again because they did not
        fit in memory or the model was loaded from a file.
    history_ : dict of ndarray
        Columns 'machine', 'step' (examples visited), 'seconds', 'n_support', 'n_expansion', 'dual_objective',
        'duality_gap', 'duality_gap_target', 'kernel_evals', 'kernel_needed'.
    decision_scale_ : ndarray of shape (n_machines,)
        Largest absolute decision value of each machine in training, to break ties between votes.
    n_features_in_ : int
        Features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when X has string names.

    See Also
    --------
    WorstViolatorSVC : Faster on data without label noise; not online.
    IncrementalSVC : Exact after every sample; for at most some ten thousand samples.
    sklearn.svm.SVC : The exact optimum of the soft-margin problem.

    Notes
    -----
    The model stores its support vectors and some other rows of the training data.

    References
    ----------
    S. Ertekin, L. Bottou, C. L. Giles, "Nonconvex online support vector machines", IEEE TPAMI 33(2), 2011.

    A. Bordes, S. Ertekin, J. Weston, L. Bottou, "Fast kernel classifiers with online and active learning", JMLR 6,
    2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from hingeline import LASVC
    >>> X, y = make_moons(500, noise=0.15, random_state=0)
    >>> LASVC(C=10, gamma=2, random_state=0).fit(X, y).score(X, y) > 0.95
    True

    A stream, in two chunks:

    >>> clf = LASVC(C=10, gamma=2)
    >>> clf = clf.partial_fit(X[:200], y[:200], classes=[0, 1]).partial_fit(X[200:], y[200:])
    >>> clf.n_samples_seen_
    500
    """

    def __init__(
        self,
        *,
        variant: Literal["nc", "g", "i", "full", "lasvm"] = "nc",
        C: float = 1.0,
        s: float = -1.0,
        n_epochs: int = 1,
        tol: float | None = None,
        max_iter: int = -1,
        solver_options: dict[str, Any] | None = None,
        kernel: Kernel = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        cache_size: float = 200,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
    ) -> None:
        params.assign(self, locals())

    _rules = {
        "variant": params.one_of("nc", "g", "i", "full", "lasvm"),
        "C": params.real(above=0.0, most=LARGEST),
        "s": params.real(below=1.0),
        "n_epochs": params.integer(least=1),
        "tol": params.real(least=0.0) | params.nothing(),
        "max_iter": params.integer(least=-1),
        "solver_options": params.entries(SOLVER_RULES) | params.nothing(),
        **STREAM_RULES,
    }

    @property
    def _work(self) -> Work:
        updates = (1.2 if self.variant in ("nc", "i") else 4.5) * self.n_epochs
        return Work(values=0.25, updates=updates + (0.0 if self.tol is None else 2.5))

    def _chunk_training(self, *given: Any) -> LasvmChunk:
        return LasvmChunk(self, *given)

    def _training(self, X: Any, classes: np.ndarray, codes: np.ndarray, boxes: np.ndarray) -> LasvmTraining:
        return LasvmTraining(self, X, classes, codes, boxes)

    def _options(self) -> dict[str, Any]:
        """Options of the core."""
        solver = self._solver()
        return {
            "C": float(self.C),
            "s": float(self.s),
            "tau": float(solver["tau"]),
            "period": solver["clean_period"] or SWEEP_PERIOD,
            "most_non_sv": 2**62 if solver["clean_period"] is None else int(solver["max_non_sv"]),
            "warm_support": int(solver["warm_sv"]),
            "cache_bytes": int(self.cache_size * 2**20),
            "paper": solver["reprocess"] == "paper",
        }

    def _solver(self) -> dict[str, Any]:
        """All entries of `solver_options`."""
        return {**SOLVER_OPTIONS, **(self.solver_options or {})}

    def _ensemble(self, X: Any) -> StreamEnsemble:
        given_once = (self.variant, self.multi_class == "ovr")
        return StreamEnsemble(
            "Lasvm", given_once, self._options(), self._frozen_parameters(), self._row_dtype(X), self._frame
        )

    def _frozen_parameters(self) -> dict[str, Any]:
        return {**super()._frozen_parameters(), "variant": self.variant}

    def _describe_loss(self, count: int) -> str:
        options = self._options()
        kept = options["most_non_sv"] * (1 if options["paper"] else SAMPLE_FACTOR)
        if self.variant == "full" or count <= kept:
            return ""
        return (
            f"LASVC keeps at most {kept:,} of its {count:,} samples that are not support vectors, which may not make "
            "up for it. Shuffle the samples."
        )

    def _boxes(self, weights: np.ndarray, dtype: Any) -> np.ndarray:
        """C times the weights: the bounds of the coefficients."""
        boxes: np.ndarray = self.C * weights
        largest = LARGEST if dtype == np.float64 else LARGEST_SINGLE
        if boxes.max(initial=0.0) > largest:
            raise ValueError(
                f"C times the weights must not exceed {largest:g} for {dtype} data. Got {boxes.max():g}; lower C or "
                "the weights."
            )
        return boxes


def describe_lower_bounds(estimator: LASVC, core: Any) -> Iterator[str]:
    """Text about machines whose bounds are lower than C."""
    n_lowered = core.n_lowered
    if n_lowered:
        yield (
            f"C={estimator.C:g} is larger than the steps of one pass can reach in {n_lowered} of {core.n_machines} "
            f"machines: they are models for a smaller C, at least {core.least_C:.2g} (effective_C_). Lower C, scale "
            "the features, or set tol or solver_options={'reprocess': 'paper'}, which may take much longer."
        )


class LasvmChunk(ChunkTraining):
    """One call of ``partial_fit``, which warns when the first machine gets bounds lower than C."""

    estimator: LASVC

    def advance(self, steps: int | None) -> bool:
        self.was_lowered = self.ensemble.core.n_lowered > 0
        return super().advance(steps)

    def complaints(self) -> Iterator[str]:
        yield from super().complaints()
        if not self.was_lowered:
            yield from describe_lower_bounds(self.estimator, self.ensemble.core)


class LasvmTraining(FitTraining):
    """One fit: passes over the data in pieces, then steps until the duality gap is `tol`."""

    def __init__(self, estimator: LASVC, X: Any, classes: np.ndarray, codes: np.ndarray, boxes: np.ndarray) -> None:
        super().__init__(estimator, X, classes, codes)
        self.codes, self.boxes = codes, boxes
        self.margins = np.full((len(codes), len(classes)), np.nan)
        self.random = params.generator(estimator.random_state)
        self.order = self.random.permutation(np.flatnonzero(boxes))
        self.n_steps = estimator.n_epochs * len(self.order)
        self.epoch = self.at = 0

    def advance(self, steps: int | None) -> bool:
        """Visit at most `steps` examples (None: all); after the last one optimise if there is a `tol`."""
        left, n_epochs = 2**62 if steps is None else steps, self.estimator.n_epochs
        while left > 0 and self.epoch < n_epochs:
            piece = self.order[self.at : self.at + min(left, CHUNK)]
            how = {"threads": self.threads, "known": self.epoch > 0, "evicts": True}
            self.core.visit(*self._examples(piece), margins=self.margins, **how)
            self.at += len(piece)
            left -= len(piece)
            if self.at == len(self.order):
                self.epoch, self.at = self.epoch + 1, 0
                if self.epoch < n_epochs:
                    self.order = self.random.permutation(self.order)
        if self.epoch < n_epochs:
            return True
        if self.estimator.tol is not None:
            self._finish()
        else:
            self.core.settle(self.source, threads=self.threads)
        return False

    def _examples(self, rows: np.ndarray) -> tuple[Any, ...]:
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        return self.source, _core.Chunk(self.matrix, rows, rows, self.codes[rows], self.boxes[rows])

    def _finish(self) -> None:
        """Reduce the duality gap on the expansion, and of LASVM also on the examples that it has evicted."""
        est, core = self.estimator, self.core
        whole = est.variant == "lasvm" and est._solver()["finish"] == "all"
        tol = est.tol / 2 if whole else est.tol
        most = int(est.max_iter)
        if most < 0:
            most = max(MOST_STEPS, MOST_STEPS_PER_SAMPLE * len(self.order))
        definite = est._is_definite()
        most -= core.finish(self.source, tol, most, definite, self.threads)
        held = -1
        while whole:
            core.forget_outside()
            pieces = [self.order[at : at + CHUNK] for at in range(0, len(self.order), CHUNK)]
            outside = np.concatenate(
                [piece[core.outside(*self._examples(piece), threads=self.threads)] for piece in pieces]
            )
            before, held = held, core.n_expansion
            if most <= 0 or not len(outside) or core.reached(est.tol) or held == before:
                break
            how = {"threads": self.threads, "known": True, "evicts": False}
            core.visit(*self._examples(outside), margins=self.margins, **how)
            most -= core.finish(self.source, tol, most, definite, self.threads)

    def has_learned(self) -> bool:
        return bool(np.isfinite(self.margins).any())

    def end(self, unfinished: str) -> None:
        self.core.end(self.source)
        self.core.end_early(unfinished, self.n_seen(unfinished))

    def complaints(self) -> Iterator[str]:
        """Machines that have not reached the optimum after finishing."""
        est = self.estimator
        if est.tol is None:
            yield from describe_lower_bounds(est, self.core)
            return
        doubtful = np.flatnonzero(est.stop_reason_ == "indefinite")
        if len(doubtful):
            yield (
                f"{len(doubtful)} of {len(est.stop_reason_)} machines are stationary, perhaps not optimal: the kernel "
                "is not positive semi-definite on their samples. Change the kernel or its parameters."
            )
        gap, primal = est.duality_gap_, est.dual_objective_ + est.duality_gap_
        missed = np.flatnonzero(gap > est.tol * primal)
        if not len(missed) or "stopped" in est.stop_reason_:
            return
        worst = missed[np.argmax(gap[missed] / primal[missed])]
        yield (
            f"{len(missed)} of {len(primal)} machines did not reach the duality gap wanted: it is {gap[worst]:.3g}, "
            f"wanted {est.tol * primal[worst]:.3g} (tol={est.tol:g}); stop reason '{est.stop_reason_[worst]}'. "
            "Raise max_iter or tol, scale the features, or lower C."
        )
