"""Shared by NNISDAClassifier and MinNormSVC, the solvers of the L2-SVM with penalised intercept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..base import params
from ..base.classifier import CLASSIFIER_RULES, KernelClassifier
from ..base.duration import Work
from ..base.fit import run, with_callbacks
from ..base.rows import LARGEST
from .start import coefficients, guess_of, mismatch
from .training import BatchTraining

#: Steps per sample assumed for the length of progress bars.
STEPS_PER_SAMPLE = 4
#: Limits of Newton's method in the core (algo/l2): rows whose kernel values are held, rows of a Cholesky factor,
#: landmarks of the approximation of low rank.
HELD_ROWS, FACTORED_ROWS, LANDMARKS = 8192, 4096, 512
ADVICE = {
    "max_iter": "Raise max_iter or tol, scale the features, or lower C.",
    "precision": "Progress ended because of rounding errors: raise tol, scale the features, or lower C.",
    "indefinite": "The kernel is not positive semi-definite on these samples, so the problem has no optimum: change "
    "the kernel, or lower C.",
}

L2_RULES = {
    "C": params.real(above=0.0, most=LARGEST),
    "tol": params.real(least=0.0),
    "max_iter": params.integer(least=-1),
    "fit_intercept": params.boolean(),
    **CLASSIFIER_RULES,
    "newton": params.boolean(),
    "warm_start": params.boolean(),
}


class L2Classifier(KernelClassifier):
    """Base of both. A subclass has the parameters of `L2_RULES`, and names its algorithm in ``_rule``."""

    _work = Work(values=1.0, updates=10.0)
    _rules = L2_RULES

    def _rule(self) -> tuple[str, bool]:
        """Name of the algorithm in the core, and whether one machine separates all classes."""
        raise NotImplementedError

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, dual_init: Any = None) -> Any:
        """Learn from training data.

        Ctrl-C ends training early and leaves a usable model behind.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, float32 or float64 (kernel values are computed in the precision of X); with
            ``kernel='precomputed'`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C. Samples of weight zero are left out.
        dual_init : NNISDAClassifier or MinNormSVC, default=None
            Fitted estimator for the same samples and labels whose coefficients are the starting point. Its class, C and
            kernel may differ.

        Returns
        -------
        object
            The fitted estimator.
        """
        run(self, type(self)._prepare, X, y, sample_weight, dual_init)
        return self

    def _prepare(self, X: Any, y: Any, sample_weight: Any, dual_init: Any) -> L2Training:
        begin = self._begin(dual_init)
        X, self.classes_, codes = self._validate_fit(X, y)
        given = None if sample_weight is None else self._sample_weights(sample_weight, X)
        self._set_kernel(X, given)
        self._require_moderate(X)
        training = self._training(X, codes, given)
        for k, guess in enumerate(self._guesses(begin, dual_init is not None, codes, training.core.n_machines)):
            training.core.guess(k, guess)
        return training

    def _training(
        self, X: Any, codes: np.ndarray, sample_weight: np.ndarray | None, rows: np.ndarray | None = None
    ) -> L2Training:
        weights = self._weights(self.classes_, codes, self._sample_weights(sample_weight, codes))
        return L2Training(self, X, codes, self._penalties(weights), rows)

    def _machines(self, codes: np.ndarray, penalties: np.ndarray, cache_bytes: int) -> _core.L2Machines:
        return _core.L2Machines(
            *self._rule(),
            codes,
            penalties,
            len(self.classes_),
            fit_intercept=bool(self.fit_intercept),
            tol=float(self.tol),
            max_iter=2**62 if self.max_iter < 0 else int(self.max_iter),
            cache_bytes=cache_bytes,
            newton=bool(self.newton),
        )

    def _work_bytes(self, n: int) -> int:
        """Most memory of a machine with n samples besides the cache: kernel values that Newton's method holds."""
        held, factored = min(n, HELD_ROWS), min(n, FACTORED_ROWS)
        return 2 * held**2 + 4 * factored**2 + 8 * LANDMARKS * n if self.newton else 0

    def _penalties(self, weights: np.ndarray) -> np.ndarray:
        """C of every sample."""
        penalties: np.ndarray = self.C * weights
        some = penalties[weights > 0]
        if some.max() > LARGEST or some.min() < 1 / LARGEST:
            raise ValueError(
                f"C times the weights must lie between {1 / LARGEST:g} and {LARGEST:g}. Got {some.min():g} to "
                f"{some.max():g}; change C or the weights."
            )
        return penalties

    # ---- starting point ------------------------------------------------------------------------------

    def _begin(self, dual_init: Any) -> Any:
        """Starting point, read before this fit changes any attribute."""
        if dual_init is None:
            return guess_of(self) if self.warm_start else None
        if not isinstance(dual_init, L2Classifier):
            raise TypeError(
                f"dual_init must be a fitted NNISDAClassifier or MinNormSVC. Got {type(dual_init).__name__}."
            )
        check_is_fitted(dual_init)
        return guess_of(dual_init)

    def _guesses(self, begin: Any, wanted: bool, codes: np.ndarray, n_machines: int) -> list[np.ndarray]:
        """Starting coefficients of every machine by sample. A `wanted` start that does not fit is an error."""
        if begin is None:
            return []
        obstacle = mismatch(begin, codes, self.classes_, n_machines == 1)
        if not obstacle:
            return coefficients(begin, codes)
        if wanted:
            raise ValueError(f"dual_init must have been fitted to the same samples and labels: {obstacle}.")
        return []


class L2Training(BatchTraining):
    """One fit of a solver of the L2-SVM."""

    def __init__(
        self, estimator: L2Classifier, X: Any, codes: np.ndarray, penalties: np.ndarray, rows: np.ndarray | None
    ) -> None:
        super().__init__(estimator, X, codes, rows=rows)
        self.core = estimator._machines(codes, penalties, self.cache_bytes)
        self.n_steps = estimator.max_iter if estimator.max_iter >= 0 else STEPS_PER_SAMPLE * self.largest_pair

    def attributes(self, unfinished: str) -> dict[str, Any]:
        return {**super().attributes(unfinished), "shape_fit_": self.X.shape}

    def complaints(self) -> Iterator[str]:
        """Machines that did not reach the tolerance."""
        est = self.estimator
        for reason, advice in ADVICE.items():
            late = np.flatnonzero(est.stop_reason_ == reason)
            if len(late):
                yield (
                    f"{len(late)} of {len(est.stop_reason_)} machines stopped ({reason}) before the largest KKT "
                    f"violation reached tol={est.tol:g}: it is {est.kkt_violation_[late].max():.3g}. {advice}"
                )
