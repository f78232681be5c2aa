"""Kernel classifiers that learn from a stream: what they do with a chunk of it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from .. import _core
from ..base import params
from ..base.classifier import KernelClassifier
from ..base.ensemble import ReadsMachines
from ..base.fit import all_or_nothing
from .ensemble import StreamMachines


class StreamClassifier(ReadsMachines, KernelClassifier):
    """Base of the kernel classifiers with :meth:`partial_fit`.

    A subclass has ``multi_class`` among its parameters, ``_rules`` for all of them, and the methods below.
    """

    _rules: dict[str, Any]
    #: Keyword arguments of the core in a stream.
    _in_stream: dict[str, Any] = {}

    _options: Callable[[], dict[str, Any]]
    _machines: Callable[[Any], Any]
    _boxes: Callable[[np.ndarray, Any], np.ndarray]

    def _has_rows(self) -> bool:
        if self.kernel == "precomputed":
            raise AttributeError("partial_fit needs rows to compute kernel values from; a precomputed kernel has none.")
        return True

    @available_if(_has_rows)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the next samples of a stream, in the order given.

        An error leaves the model as it was. Ctrl-C leaves a usable model that has learnt from some of the samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; they are converted to the precision of the first call.
        y : array-like of shape (n_samples,)
            Labels. One that was not known before is accepted from then on.
        classes : array-like, default=None
            Labels that may come; needed in the first call, and enough if they are those that are known by then.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C. Samples of weight zero are left out.

        Returns
        -------
        object
            The estimator.
        """
        params.check(self, self._rules)
        self._require_no_balance()
        if "_online" not in vars(self) and classes is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: the labels known by then; others may follow."
            )
        with all_or_nothing(self) as keep:
            self._learn_chunk(X, y, classes, sample_weight, keep)
        return self

    def _learn_chunk(self, X: Any, y: Any, classes: Any, sample_weight: Any, keep: Callable[[], None]) -> None:
        first = "_online" not in vars(self)
        X, y = self._validate_rows(X, y, reset=first)
        weights = self._sample_weights(sample_weight, X, all_zero=True) * self._weights_of(y)
        if first:
            self._gamma = self._resolve_gamma(X)
        machines = self._machines(X) if first else self._online
        X = X.astype(machines.dtype, copy=False)
        boxes = self._boxes(weights, machines.dtype)
        self._require_moderate(X)
        machines.require_weights(self.class_weight, y)
        declared = machines.unknown(classes)
        parts = machines.parts(y, declared)
        if first and len(declared) < 2:
            raise ValueError(f"classes must have at least two labels. Got {declared.tolist()}.")
        if not first and (len(declared) or len(parts) > 1):  # several calls of the core, and an error may come in any
            machines = copy.deepcopy(machines)
        machines.configure(self._options(), self._frozen())
        machines.know(declared)
        unfinished = machines.unfinished
        matrix, start = _core.Matrix(X), machines.n_seen
        margins = np.full((len(y), len(machines.labels) + len(parts) - 1), np.nan)
        machines.n_seen += len(y)
        machines.unfinished = "interrupted"
        try:
            for begin, end, label in parts:
                machines.know(label)
                rows = np.arange(begin, end)
                machines.learn(
                    self._source(matrix),
                    matrix,
                    rows,
                    start + rows,
                    machines.codes(y[begin:end]),
                    boxes[begin:end],
                    margins=margins[begin:end],
                    threads=self._training_threads(),
                    **self._in_stream,
                )
        except KeyboardInterrupt:
            self._publish(machines, margins)
            keep()
            raise
        except BaseException:
            machines.n_seen, machines.unfinished = start, unfinished
            raise
        machines.unfinished = ""
        self._publish(machines, margins)

    # ---- parts ---------------------------------------------------------------------------------------

    def _frozen(self) -> dict[str, Any]:
        """Parameters that a stream cannot change; a kernel function may be replaced by its copy."""
        names = ("multi_class", "gamma", "degree", "coef0")
        kernel = "a function" if callable(self.kernel) else self.kernel
        return {"kernel": kernel, **{name: getattr(self, name) for name in names}}

    def _source(self, matrix: _core.Matrix) -> Any:
        """Where kernel values come from."""
        if self.kernel == "precomputed":
            return matrix
        if callable(self.kernel):
            return self._call_kernel
        return self._kernel()

    @property
    def _one_vs_rest(self) -> bool:
        machines = vars(self).get("_online")
        multi_class = self.multi_class if machines is None else machines.multi_class
        return bool(multi_class == "ovr" and len(self.classes_) > 2)

    def _publish(self, machines: StreamMachines, margins: np.ndarray) -> None:
        """What the estimator shows; most of it is read from the core when somebody asks (`__getattr__`)."""
        self._online = machines
        self.classes_ = machines.classes
        if len(machines.labels) == 2:
            self.admission_margin_ = np.where(np.isnan(margins[:, 0]), margins[:, 1], margins[:, 0])
        else:
            self.admission_margin_ = margins[:, np.argsort(machines.labels)]
