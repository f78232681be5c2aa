"""FOO: what the letters stand for."""

from __future__ import annotations

from typing import Any

from hingeline import _core
from hingeline.base import params
from hingeline.base.classifier import CLASSIFIER_RULES, KernelClassifier
from hingeline.base.duration import Work
from hingeline.base.fit import run, with_callbacks
from hingeline.base.rows import LARGEST
from hingeline.batch.training import ClassTraining


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
        params.assign(self, locals())

    _work = Work(values=0.5, updates=2.0)  # measured: it announces fits that may take minutes
    _rules = {
        "C": params.real(above=0.0, most=LARGEST),
        **CLASSIFIER_RULES,
    }

    @with_callbacks
    def fit(self, X: Any, y: Any) -> FooSVC:
        """Learn from training data."""
        run(self, type(self)._prepare, X, y)
        return self

    def _prepare(self, X: Any, y: Any) -> ClassTraining:
        X, self.classes_, codes = self._validate_fit(X, y)
        self._set_kernel(X)
        training = ClassTraining(self, X, codes)
        training.core = _core.Foo(codes, len(self.classes_), C=float(self.C), cache_bytes=training.cache_bytes)
        training.n_steps = training.largest_pair
        return training
