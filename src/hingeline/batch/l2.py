"""What the machines of the L2-SVM with penalised bias share: NNISDAClassifier and MinNormSVC."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..base import params
from ..base.classifier import KernelClassifier
from ..base.fit import all_or_nothing, run_in_slices, with_callbacks
from ..base.kernel import KERNEL_RULES
from ..base.labels import assemble, pairs, require_two_weighted
from ..base.rows import LARGEST

#: Fitted attributes that say where another fit may begin.
GUESS = ("shape_fit_", "classes_", "support_", "n_support_", "dual_coef_")
#: Steps per sample that a fit is expected to take, for progress bars.
STEPS_PER_SAMPLE = 4
ADVICE = {
    "max_iter": "Raise max_iter or tol, scale the features, or lower C.",
    "precision": "This is as near as rounding errors allow: raise tol, scale the features, or lower C.",
    "indefinite": "The kernel is not positive semi-definite on these samples, so there is no optimum: change the "
    "kernel, or lower C.",
}

L2_RULES = {
    "C": params.real(above=0.0, most=LARGEST),
    "tol": params.real(least=0.0),
    "max_iter": params.integer(least=-1),
    "bias": params.boolean(),
    **KERNEL_RULES,
    "class_weight": params.one_of("balanced") | params.mapping() | params.nothing(),
    "decision_function_shape": params.one_of("ovr", "ovo"),
    "warm_start": params.boolean(),
}


class L2Classifier(KernelClassifier):
    """Base of the two. A subclass has the parameters of `L2_RULES`, and makes its machines in ``_machines``."""

    _rules = L2_RULES

    #: The core's machines, from codes, penalties and options.
    _machines: Callable[..., Any]

    @property
    def _one_vs_rest(self) -> bool:
        """Whether all classes are in one machine, and each has a line of coefficients."""
        return len(self.classes_) > 2 and _all_at_once(self)

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
            A fitted machine, of the same samples and labels, whose coefficients are the first guess; the penalty, the
            kernel and the class may be others.

        Returns
        -------
        object
            The fitted estimator.
        """
        params.check(self, self._rules)
        begin = self._begin(dual_init)
        with all_or_nothing(self) as keep:
            X, codes = self._validate_fit(X, y)
            weights = self._class_weights(codes)[codes] * self._sample_weights(sample_weight, X)
            require_two_weighted(codes, weights)
            self._gamma = self._resolve_gamma(X)
            self._require_moderate(X)
            machine, advance = self._machine(X, codes, self._penalties(weights))
            for k, guess in enumerate(self._guesses(begin, dual_init is not None, codes, machine.n_machines)):
                machine.guess(k, guess)
            largest = int(np.sort(np.bincount(codes))[-2:].sum())
            try:
                run_in_slices(
                    self,
                    X,
                    self.classes_[codes],
                    advance=advance,
                    most_steps=self.max_iter if self.max_iter >= 0 else STEPS_PER_SAMPLE * largest,
                    attributes=lambda: self._attributes(machine, X, codes),
                )
            except KeyboardInterrupt:
                self._publish(self._attributes(machine, X, codes, unfinished="interrupted"))
                keep()
                raise
            self._publish(self._attributes(machine, X, codes))
        self._warn()
        return self

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

    def _machine(self, X: Any, codes: np.ndarray, penalties: np.ndarray) -> tuple[Any, Callable[[int | None], bool]]:
        """The core's machines, and a function that lets them learn."""
        gram, cache_bytes = self._gram_within(X)
        machine = self._machines(
            codes,
            penalties,
            bias=bool(self.bias),
            tol=float(self.tol),
            max_iter=2**62 if self.max_iter < 0 else int(self.max_iter),
            cache_bytes=cache_bytes,
        )
        return machine, self._advance(machine, X, gram, self._training_threads())

    # ---- where to begin ------------------------------------------------------------------------------

    def _begin(self, dual_init: Any) -> Any:
        """Where to begin, as it is before this fit changes anything."""
        if dual_init is None:
            return _guess_of(self) if self.warm_start else None
        if not isinstance(dual_init, L2Classifier):
            raise TypeError(
                f"dual_init must be a fitted NNISDAClassifier or MinNormSVC. Got {type(dual_init).__name__}."
            )
        check_is_fitted(dual_init)
        return _guess_of(dual_init)

    def _guesses(self, begin: Any, wanted: bool, codes: np.ndarray, n_machines: int) -> list[np.ndarray]:
        """Coefficients of every machine by sample, or nothing where they do not fit and were not asked for."""
        if begin is None:
            return []
        mismatch = self._mismatch(begin, codes, n_machines)
        if not mismatch:
            return _coefficients(begin, codes)
        if wanted:
            raise ValueError(f"dual_init must have been fitted to the same samples and labels: {mismatch}.")
        return []

    def _mismatch(self, guess: Any, codes: np.ndarray, n_machines: int) -> str:
        """Why a fit cannot begin where another ended; empty if it can."""
        if guess.shape_fit_[0] != len(codes):
            return f"it has seen {guess.shape_fit_[0]} samples, X has {len(codes)}"
        if not np.array_equal(guess.classes_, self.classes_):
            return "its classes are others"
        if not np.array_equal(codes[guess.support_], np.repeat(np.arange(len(self.classes_)), guess.n_support_)):
            return "its support vectors have other labels"
        if len(self.classes_) > 2 and _all_at_once(guess) != (n_machines == 1):
            return "one has a machine for each pair of classes, the other one for all"
        return ""

    # ---- results -------------------------------------------------------------------------------------

    def _attributes(self, machine: Any, X: Any, codes: np.ndarray, unfinished: str = "stopped") -> dict[str, Any]:
        """Fitted attributes of the machines as they are now; `unfinished` is the reason of those that could go on."""
        n_classes = len(self.classes_)
        results = [machine.result(k) for k in range(machine.n_machines)]
        at_once = n_classes > 2 and len(results) == 1
        lines = (
            _lines(results[0], n_classes) if at_once else [_pair(r, -1.0 if n_classes == 2 else 1.0) for r in results]
        )
        for line in lines:
            line["code"] = codes[line["chosen"]]
        union = assemble(lines, n_classes, one_vs_rest=at_once)
        histories = [r["history"] for r in results]
        history = {key: np.concatenate([h[key] for h in histories]) for key in histories[0]}
        lengths = [len(h["step"]) for h in histories]
        scale = np.array([r["largest"] for r in results])
        return {
            "classes_": self.classes_,
            "_gamma": self._gamma,
            "shape_fit_": X.shape,
            "support_": union["support"],
            "n_support_": union["n_support"],
            "dual_coef_": union["dual_coef"],
            "support_vectors_": np.empty((0, 0)) if self.kernel == "precomputed" else X[union["support"]],
            "intercept_": np.array([line["coef"].sum() if self.bias else 0.0 for line in lines]),
            "decision_scale_": np.repeat(scale, n_classes) if at_once else scale,
            "n_iter_": np.array([r["steps"] for r in results]),
            "objective_": np.array([r["dual"] for r in results]),
            "duality_gap_": np.array([r["primal"] - r["dual"] for r in results]),
            "violation_": np.array([r["violation"] for r in results]),
            "n_kernel_evals_": sum(int(r["kernel_evals"]) for r in results),
            "stop_reason_": np.array([r["reason"].replace("running", unfinished) for r in results]),
            "history_": {"pair": np.repeat(np.arange(len(results)), lengths), **history},
        }

    def _publish(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def _warn(self) -> None:
        for reason, advice in ADVICE.items():
            late = np.flatnonzero(self.stop_reason_ == reason)
            if len(late):
                warnings.warn(
                    f"{len(late)} of {len(self.stop_reason_)} machines stopped ({reason}) before the largest violation "
                    f"was down to tol={self.tol:g}: it is {self.violation_[late].max():.3g}. {advice}",
                    ConvergenceWarning,
                    stacklevel=4,
                )


def _all_at_once(fitted: Any) -> bool:
    return bool(fitted.dual_coef_.shape[0] == len(fitted.classes_))


def _guess_of(estimator: Any) -> Any:
    """What another fit may begin with, if there has been one."""
    fitted = vars(estimator)
    return SimpleNamespace(**{name: fitted[name] for name in GUESS}) if "dual_coef_" in fitted else None


def _coefficients(guess: Any, codes: np.ndarray) -> list[np.ndarray]:
    """Coefficients of every machine by sample."""
    n_classes = len(guess.classes_)
    code = codes[guess.support_]
    columns = np.arange(len(code))
    sizes = np.abs(guess.dual_coef_)
    if n_classes > 2 and _all_at_once(guess):
        values = [sizes[code, columns]]
    else:
        values = [
            np.where(code == i, sizes[j - 1], np.where(code == j, sizes[i], 0.0))
            for i, j in zip(*pairs(n_classes), strict=True)
        ]
    out = []
    for value in values:
        v = np.zeros(len(codes))
        v[guess.support_] = value
        out.append(v)
    return out


def _pair(result: dict[str, Any], first_label: float) -> dict[str, Any]:
    """Signed coefficients of a machine for two classes."""
    return {"chosen": result["chosen"], "coef": result["v"] * np.where(result["side"] == 0, first_label, -first_label)}


def _lines(result: dict[str, Any], n_classes: int) -> list[dict[str, Any]]:
    """Coefficients of every class, from a machine for all of them."""
    return [
        {"chosen": result["chosen"], "coef": result["v"] * np.where(result["side"] == k, 1.0, result["other"])}
        for k in range(n_classes)
    ]
