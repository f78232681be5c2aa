"""FOO: what the letters stand for."""

from __future__ import annotations

from typing import Any

from hingeline.base import params
from hingeline.base.classifier import KernelClassifier
from hingeline.base.fit import run_in_slices, with_callbacks
from hingeline.base.kernel import KERNEL_RULES


class FooSVC(KernelClassifier):
    """One sentence: what it does and for whom.

    Parameters, attributes, references and a runnable example in numpydoc; see ``WorstViolatorSVC``.
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

    _rules = {"C": params.real(above=0.0), **KERNEL_RULES}

    @with_callbacks
    def fit(self, X: Any, y: Any) -> FooSVC:
        """Learn from training data."""
        params.check(self, self._rules)
        X, codes = self._validate_fit(X, y)
        self._gamma = self._resolve_gamma(X)

        def advance(steps: int | None) -> bool:
            return False  # one call into the core

        run_in_slices(self, X, self.classes_[codes], advance=advance, most_steps=len(codes), attributes=dict)
        return self
