"""Adapters to the query strategies of scikit-activeml, both ways. This module needs that package.

:class:`StrategyRule` makes a query strategy of scikit-activeml a rule of :class:`hingeline.active.ActiveLearner`.
:class:`RuleStrategy` makes a rule of this package a query strategy of scikit-activeml.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import clone

from .._extras import optional
from ..base.types import MatrixLike
from .rules import Rule, as_rule, pick
from .scoring import scores_of

with optional("hingeline.active.scikit_activeml"):
    from skactiveml.base import SingleAnnotatorPoolQueryStrategy, SkactivemlClassifier
    from skactiveml.utils import MISSING_LABEL, is_labeled

__all__ = ["RuleStrategy", "StrategyRule"]


class StrategyRule:
    """Query strategy of scikit-activeml as a rule of an active learner.

    The strategy sees the whole pool, the labels as numbers of ``classes_``, and the current model as `clf`. The model
    is not fitted again (``fit_clf=False``). If it has no ``predict_proba``, its probabilities are the softmax of its
    scores, which keeps the order of the classes. The random numbers of the strategy come from the learner.

    Parameters
    ----------
    strategy : skactiveml.base.SingleAnnotatorPoolQueryStrategy
        Strategy for one annotator, with NaN for missing labels.
    **arguments : object
        Further arguments of its method ``query``.

    Examples
    --------
    >>> from skactiveml.pool import UncertaintySampling
    >>> from sklearn.datasets import make_moons
    >>> from hingeline import LASVC
    >>> from hingeline.active import ActiveLearner
    >>> from hingeline.active.scikit_activeml import StrategyRule
    >>> X, y = make_moons(100, random_state=0)
    >>> rule = StrategyRule(UncertaintySampling(method="entropy"))
    >>> learner = ActiveLearner(LASVC(), rule, pool=X, classes=[0, 1])
    >>> event = learner.answer(range(10), y[:10])
    >>> len(learner.ask(3))
    3
    """

    def __init__(self, strategy: Any, **arguments: Any) -> None:
        if not isinstance(strategy, SingleAnnotatorPoolQueryStrategy):
            raise TypeError(
                f"strategy must be a query strategy for a pool and one annotator. Got {type(strategy).__name__}."
            )
        if strategy.missing_label is not MISSING_LABEL and not np.isnan(strategy.missing_label):
            raise ValueError(f"missing_label of the strategy must be NaN. Got {strategy.missing_label!r}.")
        self.strategy, self.arguments = strategy, arguments

    def query(self, learner: Any, rows: np.ndarray, n: int, draws: np.random.Generator) -> np.ndarray:
        """Rows that the strategy asks for.

        Parameters
        ----------
        learner : ActiveLearner
            Learner with a model.
        rows : ndarray of int64
            Rows that may be asked.
        n : int
            Number of rows.
        draws : Generator
            Random numbers.

        Returns
        -------
        ndarray of int64
            Rows.
        """
        classes = learner.estimator.classes_.tolist()
        y = np.full(learner.pool.shape[0], np.nan)
        for row, label in learner.labels.items():
            y[row] = classes.index(label)
        strategy = clone(self.strategy).set_params(random_state=int(draws.integers(2**31)))
        offered = {"clf": _Model(learner.estimator), "fit_clf": False}
        accepted = signature(strategy.query).parameters
        arguments = {name: value for name, value in offered.items() if name in accepted} | self.arguments
        return strategy.query(X=learner.pool, y=y, candidates=rows, batch_size=n, **arguments)


class _Model(SkactivemlClassifier):
    """Model with numbers of its classes for labels, as scikit-activeml sees it."""

    def __init__(self, estimator: Any) -> None:
        super().__init__()
        self.estimator = estimator

    @property
    def classes_(self) -> np.ndarray:
        return np.arange(len(self.estimator.classes_))

    def fit(self, X: MatrixLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> _Model:
        """Fit the model to the rows with labels, for strategies that compare models."""
        known = is_labeled(y)
        weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[known]}
        self.estimator.fit(np.asarray(X)[known], np.asarray(y)[known].astype(np.int64), **weights)
        return self

    def predict(self, X: MatrixLike) -> np.ndarray:
        return np.searchsorted(self.estimator.classes_, self.estimator.predict(X))

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        if hasattr(self.estimator, "predict_proba"):
            return self.estimator.predict_proba(X)
        scores = scores_of(self.estimator, X)
        return softmax(np.column_stack([-scores / 2, scores / 2]) if scores.ndim == 1 else scores, axis=1)


class RuleStrategy(SingleAnnotatorPoolQueryStrategy):
    """Rule of this package as a query strategy of scikit-activeml.

    Parameters
    ----------
    rule : str, callable or Rule, default='margin'
        As in :class:`hingeline.active.ActiveLearner`.
    missing_label : scalar, str or None, default=NaN
        Value of a missing label.
    random_state : int, RandomState instance or None, default=None
        Draws and ties.

    Examples
    --------
    >>> import numpy as np
    >>> from skactiveml.classifier import SklearnClassifier
    >>> from sklearn.datasets import make_moons
    >>> from hingeline import SVC
    >>> from hingeline.active.scikit_activeml import RuleStrategy
    >>> X, y = make_moons(100, random_state=0)
    >>> labels = np.where(np.arange(100) < 10, y, np.nan)
    >>> clf = SklearnClassifier(SVC(), classes=[0, 1])
    >>> len(RuleStrategy("near_boundary", random_state=0).query(X, labels, clf, batch_size=2))
    2
    """

    def __init__(self, rule: Any = "margin", missing_label: Any = MISSING_LABEL, random_state: Any = None) -> None:
        super().__init__(missing_label=missing_label, random_state=random_state)
        self.rule = rule

    def query(
        self,
        X: MatrixLike,
        y: npt.ArrayLike,
        clf: Any,
        fit_clf: bool = True,
        candidates: Any = None,
        batch_size: int = 1,
        return_utilities: bool = False,
    ) -> Any:
        """Choose samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels, with the missing label for samples without.
        clf : classifier
            Classifier of scikit-activeml around one with ``decision_function`` or ``predict_proba``.
        fit_clf : bool, default=True
            Whether a copy of `clf` is fitted to X and y first. Use False for a model that learns incrementally.
        candidates : array-like, default=None
            Numbers of samples of X, or other samples; None: all without label.
        batch_size : int, default=1
            Number of samples to choose.
        return_utilities : bool, default=False
            Whether to return utilities too.

        Returns
        -------
        query_indices : ndarray of shape (batch_size,)
            Numbers of samples in X, or in `candidates` if these are samples.
        utilities : ndarray of shape (batch_size, n_samples) or (batch_size, n_candidates)
            Only with `return_utilities`: utilities before each choice; NaN for samples that do not take part.
        """
        X, y, candidates, batch_size, return_utilities = self._validate_data(
            X, y, candidates, batch_size, return_utilities, reset=True
        )
        samples, mapping = self._transform_candidates(candidates, X, y)
        rule, draws = as_rule(self.rule), np.random.default_rng(self.random_state_.randint(2**31))
        if not isinstance(rule, Rule):
            raise ValueError(f"rule must be a rule of hingeline. Got {rule!r}.")
        some = np.arange(len(samples))
        if rule.candidates is not None and len(some) > batch_size * rule.candidates:
            some = np.sort(draws.choice(some, batch_size * rule.candidates, replace=False))
        utilities = np.full(len(samples), np.nan)
        utilities[some] = self._utilities(rule, X, y, clf, fit_clf, samples[some])
        chosen = some[pick(utilities[some], batch_size, None if rule.ties == "first" else draws)]
        if mapping is not None:
            spread = np.full(len(X), np.nan)
            spread[mapping] = utilities
            utilities, chosen = spread, mapping[chosen]
        if not return_utilities:
            return chosen
        before = np.tile(utilities, (len(chosen), 1))
        for k, row in enumerate(chosen):
            before[k + 1 :, row] = np.nan
        return chosen, before

    def _utilities(self, rule: Rule, X: Any, y: Any, clf: Any, fit_clf: bool, samples: Any) -> np.ndarray:
        known = is_labeled(y, missing_label=self.missing_label_)
        if fit_clf:
            if len(np.unique(y[known])) < 2:
                return np.zeros(len(samples))  # no model: the choice is random
            clf = clone(clf).fit(X, y)
        return rule.utility(scores_of(clf, samples))
