"""FOO: what the letters stand for."""

from __future__ import annotations

from typing import Any

from hingeline import _core
from hingeline.base import params
from hingeline.base.classifier import KernelClassifier
from hingeline.base.fit import run, with_callbacks
from hingeline.base.kernel import KERNEL_RULES
from hingeline.base.rows import LARGEST
from hingeline.batch.training import BatchTraining


class FooSVC(KernelClassifier):
    """One sentence: what it does and for whom.

    Parameters, attributes, references and an example that runs, in numpydoc format; see ``WorstViolatorSVC``.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Any = None,
        cache_size: float = 200,
        n_jobs: int | None = None,
        decision_function_shape: str = "ovr",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.decision_function_shape = decision_function_shape

    _rules = {
        "C": params.real(above=0.0, most=LARGEST),
        **KERNEL_RULES,
        "decision_function_shape": params.one_of("ovr", "ovo"),
    }

    @with_callbacks
    def fit(self, X: Any, y: Any) -> FooSVC:
        """Learn from training data."""
        run(self, self._prepare, X, y)
        return self

    def _prepare(self, X: Any, y: Any) -> BatchTraining:
        X, self.classes_, codes = self._validate_fit(X, y)
        self._gamma = self._resolve_gamma(X)
        training = BatchTraining(self, X, codes)
        training.core = _core.Foo(codes, len(self.classes_), C=float(self.C), cache_bytes=training.cache_bytes)
        training.n_steps = training.largest_pair
        return training
