"""Base of the kernel classifiers that learn from a stream, and one call of ``partial_fit``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if

from .. import _core
from ..base import params
from ..base.classifier import CLASSIFIER_RULES, KernelClassifier
from ..base.ensemble import ReadsEnsemble
from ..base.fit import Training, run
from ..base.objects import is_objects
from ..base.retained import RefusesToForget
from ..base.types import Rows
from .ensemble import StreamEnsemble

STREAM_RULES = {**CLASSIFIER_RULES, "multi_class": params.one_of("ovo", "ovr")}


class StreamClassifier(RefusesToForget, ReadsEnsemble, KernelClassifier):
    """Base of the kernel classifiers with :meth:`partial_fit`.

    A subclass has ``multi_class`` among its parameters, and the methods ``_options``, ``_boxes``, ``_ensemble``,
    ``_training`` and ``_describe_loss``.
    """

    def _has_rows(self) -> bool:
        if self.kernel == "precomputed":
            raise AttributeError("partial_fit is not available with kernel='precomputed', which has no rows.")
        return True

    @available_if(_has_rows)
    def partial_fit(
        self,
        X: Rows,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from the next samples of a stream, in the order given.

        An error leaves the model as it was. Ctrl-C leaves the model of the samples learnt so far: ``n_samples_seen_``
        counts them, so that a later call can go on with the others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; converted to the precision of the first call.
        y : array-like of shape (n_samples,)
            Labels. New labels are accepted.
        classes : array-like, default=None
            Labels that may occur. Required on the first call; new labels may appear later.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C; for KernelSGDClassifier on the steps. Samples of weight zero are ignored.

        Returns
        -------
        object
            The estimator.
        """
        run(self, type(self)._prepare_chunk, X, y, classes, sample_weight, callbacks=False)
        return self

    def _prepare_chunk(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> ChunkTraining:
        self._require_no_balance()
        first = "_model" not in vars(self)
        if first and classes is None:
            raise ValueError("Pass classes on the first call of partial_fit; new labels may appear later.")
        X, y = self._validate_rows(X, y, reset=first)
        given = self._sample_weights(sample_weight, X, all_zero=True)
        self._set_kernel_once(X, None if sample_weight is None else given, first=first)
        ensemble: StreamEnsemble = self._ensemble(X) if first else self._model
        X = X if is_objects(X) else X.astype(ensemble.dtype, copy=False)
        boxes = self._boxes(given * self._weights_of(y), ensemble.dtype)
        self._require_moderate(X)
        ensemble.require_weights(self.class_weight, y)
        declared = ensemble.find_unknown(classes)
        if first and len(declared) < 2:
            raise ValueError(f"classes must have at least two labels. Got {declared.tolist()}.")
        ensemble.configure(self._options(), self._frozen_parameters())
        return self._chunk_training(ensemble, X, y, boxes, classes)

    # ---- parts ---------------------------------------------------------------------------------------

    def _options(self) -> dict[str, Any]:
        """Options of the core that may change between calls."""
        raise NotImplementedError

    def _boxes(self, weights: np.ndarray, dtype: Any) -> np.ndarray:
        """Checked weights of the samples in the form of the core."""
        raise NotImplementedError

    def _ensemble(self, X: Any) -> StreamEnsemble:
        """New ensemble."""
        raise NotImplementedError

    def _frozen_parameters(self) -> dict[str, Any]:
        """Parameters that cannot change in a stream. A callable kernel may be replaced by a copy of itself."""
        names = ("multi_class", "gamma", "degree", "coef0")
        kernel = "a function" if callable(self.kernel) else self.kernel
        return {"kernel": kernel, **{name: getattr(self, name) for name in names}}

    def _describe_loss(self, count: int) -> str:
        """What the model loses of a label with `count` samples that is missing from a stream; '' for nothing."""
        raise NotImplementedError

    def _chunk_training(self, *given: Any) -> ChunkTraining:
        """One call of ``partial_fit``: the ensemble, X, y, boxes and classes."""
        return ChunkTraining(self, *given)

    def _training(self, X: Any, classes: np.ndarray, codes: np.ndarray, boxes: np.ndarray) -> FitTraining:
        """Training on all data."""
        raise NotImplementedError

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> FitTraining:
        X, classes, codes, weights, given = self._validate_weighted(X, y, sample_weight)
        self._set_kernel(X, given)
        boxes = self._boxes(weights, self._row_dtype(X))
        self._require_moderate(X)
        return self._training(X, classes, codes, boxes)


class StreamTraining(Training):
    """One call that learns: the ensemble, the rows, the source of their kernel values."""

    def __init__(self, estimator: Any, ensemble: StreamEnsemble, X: Any) -> None:
        self.estimator, self.ensemble, self.X = estimator, ensemble, X
        self.matrix = estimator._matrix(ensemble.encode_rows(X))
        self.source = estimator._source(self.matrix, ensemble.take)
        self.threads = estimator._training_threads()

    def attributes(self, unfinished: str) -> dict[str, Any]:
        return {"_model": self.ensemble}

    def snapshot(self) -> dict[str, Any]:
        return {**self.ensemble.attributes(), "_gamma": self.estimator._gamma, "_frame": self.estimator._frame}


class FitTraining(StreamTraining):
    """One call of ``fit``: a new ensemble that knows all labels."""

    margins: np.ndarray

    def __init__(self, estimator: Any, X: Any, classes: np.ndarray, codes: np.ndarray) -> None:
        super().__init__(estimator, estimator._ensemble(X), X)
        self.core = self.ensemble.core
        self.ensemble.know(classes)
        self.y = classes[codes]

    def n_seen(self, unfinished: str) -> int:
        """Number of samples of a fit, or of those visited if it ended early."""
        return int(np.isfinite(self.margins).any(axis=1).sum()) if unfinished else len(self.margins)

    def attributes(self, unfinished: str) -> dict[str, Any]:
        self.ensemble.end_fit(self.margins)
        return super().attributes(unfinished)


class ChunkTraining(StreamTraining):
    """One call of ``partial_fit``, which warns when a label has been missing for too long to be in random order."""

    def __init__(
        self, estimator: Any, ensemble: StreamEnsemble, X: Any, y: np.ndarray, boxes: np.ndarray, classes: Any
    ) -> None:
        super().__init__(estimator, ensemble, X)
        self.y, self.boxes, self.classes = y, boxes, classes

    def has_learned(self) -> bool:
        return self.ensemble.core.n_classes > 0

    def advance(self, steps: int | None) -> bool:
        ensemble, core, y = self.ensemble, self.ensemble.core, self.y
        with ensemble.lock:
            before = ensemble.labels
            self.runs, self.runs_before = ensemble.runs.after(y), ensemble.runs
            labels, arrivals, codes = ensemble.encode(y, self.classes)
            margins = np.full((len(y), len(labels)), np.nan)
            rows = np.arange(len(y))
            chunk = _core.Chunk(self.matrix, rows, core.n_seen + rows, codes, self.boxes, arrivals)
            ensemble.labels = labels
            ensemble.expect(margins)
            try:
                core.learn(self.source, chunk, margins=margins, threads=self.threads)
                ensemble.runs = self.runs
            finally:
                n_known = core.n_classes
                ensemble.labels = labels[:n_known] if n_known > len(before) else before
        return False

    def complaints(self) -> Iterator[str]:
        """The chunk has been learnt: reading attributes of the model, which allocates, could fail now."""
        missing = [] if self.runs_before.missing() else self.runs.missing()
        for label in missing:
            loss = self.estimator._describe_loss(self.runs.counts[label])
            if loss:
                absent = self.runs.n_samples - self.runs.last[label]
                yield (
                    f"The stream is not in random order: label {label!r} has been missing for {absent:,} samples. "
                    + loss
                )
                return
