"""Loop of active learning: ask for rows, learn the answers, take them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from ..base.kernel import KernelEstimator
from ..base.state import lock_of
from .advice import Advice, Watch, advise, share_inside
from .book import AFTER, LABELLED, Book, Event, check_labels
from .memory import Forgetting, Memory, Snapshots, check_pool, is_fitted, take
from .pool_scores import PoolScores
from .rules import RULES, Rule, as_rule, pick, pick_diverse, slope_of
from .scoring import scores_of, similarity_of

__all__ = ["ActiveLearner"]

#: Version of :meth:`ActiveLearner.state`.
STATE_VERSION = 1
#: Models whose predictions for the watched rows are computed together.
MARKED = 20
#: Rows among which a diverse batch is chosen, for each row that is asked.
SHORTLIST = 10
F = TypeVar("F")


def _alone(method: F) -> F:
    """Decorator of a method during which other threads wait."""

    @wraps(cast(Any, method))
    def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
        with lock_of(self):
            return cast(Any, method)(self, *args, **kwargs)

    return cast(F, wait)


class ActiveLearner:
    """Asks for the labels of rows of a pool, and learns from the answers.

    The model is never fitted again from the beginning: each answer is one call of ``partial_fit``. An estimator that
    forgets exactly (:class:`hingeline.IncrementalSVC` without a window) takes back any answer at any time. For other
    estimators copies of the last models are kept.

    Questions depend on the answers and on `random_state` only: :meth:`ask` returns the same rows until something has
    been answered, skipped, changed or undone, and after :meth:`undo` it asks the same question again.

    Calls from several threads wait for one another.

    Parameters
    ----------
    estimator : estimator
        Classifier with ``partial_fit``, of this package or another, and ``decision_function`` or ``predict_proba``. It
        is changed, not copied. It may be fitted already. ``gamma='scale'`` of an estimator that is not fitted is
        replaced by its value for the pool: the first answers alone would give a poor one.
    rule : str, callable or Rule, default='margin'
        'margin', 'near_boundary' or 'largest_positive' (two classes), 'small_pool', 'random'; a function of scores that
        returns utilities; a :class:`Rule`; or an adapted query strategy of scikit-activeml.
    pool : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        Rows that may be asked. The pool is not copied and must not change. With :class:`hingeline.IncrementalSVC` and
        an RBF kernel, rules that look at all rows keep kernel values of the pool, in a quarter of its `cache_size`.
    classes : array-like, default=None
        Labels that may occur. Required unless the estimator is fitted or has a method ``add``.
    diversity : float, default=0.0
        Weight of the similarity between rows asked together, in [0, 1]; see :func:`pick_diverse`.
    n_snapshots : int, default=10
        Number of models kept to take back answers, if the estimator cannot forget. With 0 nothing can be taken back,
        and Ctrl-C may leave part of an answer in the model.
    n_watched : int, default=500
        Number of random rows whose predictions are compared after each answer, for :meth:`advice`. 0: no advice.
    random_state : int, RandomState instance or None, default=None
        Draws and ties. None means 0.

    See Also
    --------
    hingeline.IncrementalSVC : Exact learning and forgetting.

    References
    ----------
    P. Laskov, C. Gehl, S. Krueger, K.-R. Mueller, "Incremental support vector learning: analysis, implementation and
    applications", JMLR 7, 2006, section 6.2.

    S. Ertekin, L. Bottou, C. L. Giles, "Nonconvex online support vector machines", TPAMI 33, 2011, section 8.1.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hingeline import IncrementalSVC
    >>> from hingeline.active import ActiveLearner
    >>> X, y = make_moons(500, noise=0.1, random_state=0)
    >>> learner = ActiveLearner(IncrementalSVC(C=10, gamma=2.0), "near_boundary", pool=X, random_state=0)
    >>> for _ in range(40):
    ...     rows = learner.ask()
    ...     event = learner.answer(rows, y[rows])
    >>> learner.estimator.score(X, y) > 0.98
    True
    >>> learner.undo().rows == tuple(rows)
    True
    >>> learner.n_labelled
    39
    """

    def __init__(
        self,
        estimator: Any,
        rule: Any = "margin",
        *,
        pool: Any,
        classes: Any = None,
        diversity: float = 0.0,
        n_snapshots: int = 10,
        n_watched: int = 500,
        random_state: Any = None,
    ) -> None:
        if not is_classifier(estimator) or not hasattr(estimator, "partial_fit"):
            raise TypeError(f"estimator must be a classifier with partial_fit. Got {type(estimator).__name__}.")
        if not 0 <= diversity <= 1:
            raise ValueError(f"diversity must be a number >= 0 and <= 1. Got {diversity!r}.")
        for name, value in (("n_snapshots", n_snapshots), ("n_watched", n_watched)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
                raise ValueError(f"{name} must be an integer >= 0. Got {value!r}.")
        self.rule, self.diversity = as_rule(rule), float(diversity)
        self.pool = check_pool(pool)
        self.seed = int(check_random_state(0 if random_state is None else random_state).randint(2**31))
        self._had_model = is_fitted(estimator)
        self._memory = _memory(estimator, self.pool, self._had_model, classes, n_snapshots)
        self._book = Book(self.pool.shape[0])
        self._asked: np.ndarray | None = None
        self._pool_scores: PoolScores | None = None
        self._watch = self._make_watch(min(n_watched, self.pool.shape[0]))

    # ---- questions -----------------------------------------------------------------------------------

    @_alone
    def ask(self, n: int = 1) -> np.ndarray:
        """Rows whose labels are wanted next.

        While fewer than two labels have been seen and the estimator was not fitted before, there are no scores. All
        rows are equal then, and the ties of the rule decide: a random row, unless the rule has ``ties='first'``.

        Parameters
        ----------
        n : int, default=1
            Number of rows; fewer are returned if fewer are open.

        Returns
        -------
        ndarray of int64
            Numbers of the rows in the pool, the most useful first.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"n must be an integer >= 1. Got {n!r}.")
        if self._asked is None or len(self._asked) != min(n, self.n_open):
            self._asked = self._choose(int(n))
        return self._asked.copy()

    def _choose(self, n: int) -> np.ndarray:
        rows, draws = self.open_rows, self._draws(1 + len(self._book.history))
        if not len(rows):
            return rows
        rule = self.rule if self.is_ready or isinstance(self.rule, Rule) else RULES["random"]
        if not isinstance(rule, Rule):
            return rule.query(self, rows, min(n, len(rows)), draws)
        if rule.candidates is not None and len(rows) > n * rule.candidates:
            rows = np.sort(draws.choice(rows, n * rule.candidates, replace=False))
        n_best = n if n == 1 or not self.diversity or not self.is_ready else SHORTLIST * n
        rows = self._contenders(rule, rows, n_best)
        if len(rows) == 1:
            return rows
        utilities = rule.utility(self.scores(rows)) if self.is_ready else np.zeros(len(rows))
        few = pick(utilities, n_best, None if rule.ties == "first" else draws)
        if n_best == n:
            return rows[few]
        similarity = similarity_of(self.estimator, take(self.pool, rows[few]))
        return rows[few[pick_diverse(utilities[few], n, similarity, self.diversity)]]

    def _contenders(self, rule: Rule, rows: np.ndarray, n: int) -> np.ndarray:
        """Those of the rows that may have one of the `n` largest utilities: few, if scores are known up to rounding.

        The choice among them by :meth:`scores` is the same as among all rows.
        """
        estimator, slope = self.estimator, slope_of(rule.utility)
        usable = self.is_ready and isinstance(self._memory, Forgetting) and PoolScores.suits(estimator)
        if slope is None or not usable or 2 * len(rows) <= self.pool.shape[0] or n >= len(rows):
            return rows
        if self._pool_scores is None or not self._pool_scores.belong_to(estimator):
            self._pool_scores = PoolScores(estimator, self.pool)
        scores, error = self._pool_scores.current(estimator)
        utilities = rule.utility(scores[rows])
        least = np.partition(utilities, len(rows) - n)[len(rows) - n]
        return rows[utilities >= least - 2 * slope * error]

    def _draws(self, purpose: int) -> np.random.Generator:
        """Random numbers of the seed and of a purpose: 0 for the watched rows, 1 and more for questions."""
        return np.random.default_rng([self.seed, purpose])

    def _make_watch(self, n: int) -> Watch:
        return Watch(np.sort(self._draws(0).choice(self.pool.shape[0], n, replace=False)))

    @_alone
    def scores(self, rows: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """Scores of rows of the pool: decision values, or probabilities if the estimator has no decision values.

        Parameters
        ----------
        rows : array-like of int, default=None
            Rows; None: all.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Scores: with two classes positive for the second class.
        """
        if rows is None:
            return scores_of(self.estimator, self.pool)
        if 2 * len(rows) > self.pool.shape[0]:  # cheaper than a copy of the rows
            return scores_of(self.estimator, self.pool)[rows]
        return scores_of(self.estimator, take(self.pool, rows))

    # ---- answers -------------------------------------------------------------------------------------

    @_alone
    def answer(self, rows: npt.ArrayLike, labels: npt.ArrayLike) -> Event:
        """Learn the labels of rows. They need not have been asked for.

        An error, or Ctrl-C while the model learns, leaves the learner as it was. This holds for all methods.

        Parameters
        ----------
        rows : int or array-like of int
            Rows without label.
        labels : object or array-like
            One label per row.

        Returns
        -------
        Event
            Entry of the history.
        """
        found = self._book.check_rows(rows)
        known = [row for row in found if row in self._book.labels]
        if known:
            raise ValueError(f"rows must have no label yet. Row {known[0]} has one; use relabel.")
        return self._apply("answer", found, check_labels(labels, len(found)))

    @_alone
    def relabel(self, rows: npt.ArrayLike, labels: npt.ArrayLike) -> Event:
        """Replace the labels of rows.

        Parameters
        ----------
        rows : int or array-like of int
            Labelled rows.
        labels : object or array-like
            One label per row.

        Returns
        -------
        Event
            Entry of the history.
        """
        found = self._book.check_rows(rows)
        unknown = [row for row in found if row not in self._book.labels]
        if unknown:
            raise ValueError(f"rows must have a label. Row {unknown[0]} has none; use answer.")
        return self._apply("relabel", found, check_labels(labels, len(found)))

    @_alone
    def skip(self, rows: npt.ArrayLike) -> Event:
        """Do not ask for rows any more, until :meth:`reopen`. Labels that they have are forgotten.

        Parameters
        ----------
        rows : int or array-like of int
            Rows.

        Returns
        -------
        Event
            Entry of the history.
        """
        return self._apply("skip", self._book.check_rows(rows))

    @_alone
    def unsure(self, rows: npt.ArrayLike) -> Event:
        """Note that the label of rows cannot be told. They are treated as in :meth:`skip`.

        Parameters
        ----------
        rows : int or array-like of int
            Rows.

        Returns
        -------
        Event
            Entry of the history.
        """
        return self._apply("unsure", self._book.check_rows(rows))

    @_alone
    def reopen(self, rows: npt.ArrayLike) -> Event:
        """Allow to ask for rows again. Labels that they have are forgotten.

        Parameters
        ----------
        rows : int or array-like of int
            Rows.

        Returns
        -------
        Event
            Entry of the history.
        """
        return self._apply("reopen", self._book.check_rows(rows))

    @_alone
    def undo(self) -> Event:
        """Take back the last event of the history, of any kind.

        With an estimator that forgets exactly the model is the optimum without the event. With other estimators it is a
        copy of the model before; ``estimator`` is then another object.

        Returns
        -------
        Event
            The event, which is no longer in the history.
        """
        if not self._book.history:
            raise ValueError("There is nothing to undo: the history is empty.")
        event = self._book.history[-1]
        self._teach(event.rows, event.labels_before)
        self._book.take_back()
        self._watch.rewind(len(self._book.history))
        self._asked = None
        return event

    def _apply(self, kind: str, rows: tuple[int, ...], labels: tuple[Any, ...] = ()) -> Event:
        book, predicted = self._book, ()
        if self.is_ready:
            if labels:
                predicted = tuple(self.estimator.predict(take(self.pool, list(rows))).tolist())
            if self._watch.is_empty:
                self._note()
        before = book.status_of(rows), book.labels_of(rows)
        taught = self._teach(rows, labels or (None,) * len(rows))
        n_labelled = self.n_labelled - sum(label is not None for label in before[1]) + len(labels)
        book.apply(Event(kind, rows, labels, *before, predicted, None, n_labelled))
        self._asked = None
        changed = self._note() if taught else 0.0
        if changed is not None:
            book.history[-1] = replace(book.history[-1], changed=changed)
        return book.history[-1]

    def _teach(self, rows: tuple[int, ...], labels: tuple[Any, ...]) -> bool:
        """Give rows other labels (None: no label) in the model. Returns whether the model changed."""
        pairs = zip(rows, zip(self._book.labels_of(rows), labels, strict=True), strict=True)
        changes = {row: (old, new) for row, (old, new) in pairs if old != new}
        if any(old is not None for old, _ in changes.values()):
            self._settle()  # points that are forgotten cannot be asked for predictions any more
        if changes:
            self._memory.update(changes)
        return bool(changes)

    def _note(self) -> float | None:
        """Keep the predictions of the watched rows, if there is a model. Returns the share that has changed.

        A model that forgets exactly can be asked later: its predictions follow in :meth:`_settle`, many models at once.
        """
        watch, n_events = self._watch, len(self._book.history)
        if not len(watch.rows) or not self.is_ready:
            return None
        if not isinstance(self._memory, Forgetting) or not hasattr(self.estimator, "_mark"):
            predictions = self.estimator.predict(take(self.pool, watch.rows))
            return watch.note(n_events, self.n_labelled, predictions)
        watch.marks.append((n_events, self.n_labelled, self.estimator._mark()))
        if len(watch.marks) >= MARKED:
            self._settle()
        return None

    def _settle(self) -> None:
        """Compute the predictions of the models that were marked, and what each event has changed."""
        watch, history = self._watch, self._book.history
        if watch.marks:
            models = [model for *_, model in watch.marks]
            changed = watch.settle(self.estimator._predict_marked(models, take(self.pool, watch.rows)))
            for n_events, share in changed.items():
                history[n_events - 1] = replace(history[n_events - 1], changed=share)

    # ---- what is known -------------------------------------------------------------------------------

    @property
    def estimator(self) -> Any:
        """The model."""
        return self._memory.estimator

    @property
    def is_ready(self) -> bool:
        """Whether the model has scores: it was fitted before, or it has seen two labels."""
        return self._had_model or self._book.has_two_classes

    @property
    def history(self) -> tuple[Event, ...]:
        """Events, oldest first, without those that were undone."""
        with lock_of(self):
            self._settle()
            return tuple(self._book.history)

    @property
    def labels(self) -> dict[int, Any]:
        """Labels by row."""
        return dict(self._book.labels)

    @property
    def counts(self) -> dict[Any, int]:
        """Number of labelled rows of each class that has any."""
        return {label: count for label, count in self._book.counts.items() if count}

    @property
    def open_rows(self) -> np.ndarray:
        """Rows that may be asked, in ascending order."""
        return self._book.open_rows

    @property
    def n_open(self) -> int:
        """Number of rows that may be asked."""
        return len(self._book.open_rows)

    @property
    def n_labelled(self) -> int:
        """Number of labelled rows."""
        return len(self._book.labels)

    def status_of(self, row: int) -> str:
        """Status of a row.

        Parameters
        ----------
        row : int
            Row of the pool.

        Returns
        -------
        {'open', 'labelled', 'skipped', 'unsure'}
            Status.
        """
        return self._book.status_of(self._book.check_rows(row))[0]

    @_alone
    def advice(self, window: int = 20, agreement: float = 0.99) -> Advice:
        """Whether more answers are likely to change the predictions.

        Parameters
        ----------
        window : int, default=20
            Number of answers that the model is compared over.
        agreement : float, default=0.99
            Cohen's kappa from which on predictions count as stable.

        Returns
        -------
        Advice
            The advice, and the numbers behind it.
        """
        self._settle()
        recent = [event for event in self._book.history if event.kind == "answer" and event.predicted]
        pairs = [pair for event in recent[-window:] for pair in zip(event.predicted, event.labels, strict=True)]
        surprise = float(np.mean([a != b for a, b in pairs[-window:]])) if pairs else np.nan
        rows = self._watch.rows[self._book.status[self._watch.rows] != LABELLED]
        inside = share_inside(self.scores(rows)) if self.is_ready and len(rows) else np.nan
        return advise(self._watch, window, agreement, surprise, inside)

    # ---- saved states --------------------------------------------------------------------------------

    @_alone
    def state(self) -> dict[str, Any]:
        """State without the pool and the model, of plain objects that JSON can hold.

        Save the model beside it. ``ActiveLearner.from_state`` continues from both.

        Returns
        -------
        dict
            The state.
        """
        self._settle()
        ids = self._memory.ids if isinstance(self._memory, Forgetting) else {}
        return {
            "version": STATE_VERSION,
            "n_rows": self.pool.shape[0],
            "seed": self.seed,
            "had_model": self._had_model,
            "ids": [[row, ids[row]] for row in self._book.labels] if ids else [],
            "history": [asdict(event) for event in self._book.history],
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], estimator: Any, rule: Any = "margin", **settings: Any) -> Any:
        """Learner that continues from a state.

        Questions and answers go on as if there had been no break. Models for undo of an estimator that cannot forget,
        and the predictions that :meth:`advice` compares, are collected again from then on.

        Parameters
        ----------
        state : dict
            Result of :meth:`state`.
        estimator : estimator
            Model saved together with the state.
        rule : object
            As in the constructor.
        **settings : object
            Other arguments of the constructor: `pool` and, if they were given, the others. `random_state` is taken from
            the state.

        Returns
        -------
        ActiveLearner
            The learner.
        """
        if state.get("version") != STATE_VERSION:
            raise ValueError(f"state must have version {STATE_VERSION}. Got {state.get('version')!r}.")
        learner = cls(estimator, rule, **settings)
        if learner.pool.shape[0] != state["n_rows"]:
            raise ValueError(f"pool must have {state['n_rows']} rows, as saved. Got {learner.pool.shape[0]}.")
        learner._restore(state)
        return learner

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.seed, self._had_model = int(state["seed"]), bool(state["had_model"])
        self._watch = self._make_watch(len(self._watch.rows))
        for saved in state["history"]:
            self._book.apply(Event.load(saved))
        if isinstance(self._memory, Forgetting):
            self._memory.ids = dict(state["ids"])
        if not self._memory.holds(self._book.labels, alone=not self._had_model):
            raise ValueError(
                "estimator must be the model saved together with the state. Load it, or pass the history to replay."
            )

    @_alone
    def replay(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Apply events of a journal in their order.

        Parameters
        ----------
        events : iterable of dict
            Dictionaries with 'kind', 'rows' and, for answers, 'labels'; kind 'undo' has no rows.
        """
        for event in events:
            kind = event["kind"]
            if kind not in (*AFTER, "undo"):
                raise ValueError(f"kind must be one of {', '.join(map(repr, AFTER))} or 'undo'. Got {kind!r}.")
            given = () if kind == "undo" else (event["rows"],)
            getattr(self, kind)(*given, *((event["labels"],) if AFTER.get(kind) == LABELLED else ()))


def _memory(estimator: Any, pool: Any, fitted: bool, classes: Any, n_snapshots: int) -> Memory:
    """Checked model that learns answers and takes them back."""
    if classes is None and not fitted and not hasattr(estimator, "add"):
        raise ValueError(f"classes must be given, because {type(estimator).__name__} needs all labels at the start.")
    if not fitted and isinstance(estimator, KernelEstimator) and estimator._uses_scale():
        values = pool.to_numpy() if hasattr(pool, "to_numpy") else pool
        estimator.set_params(gamma=estimator._resolve_gamma(values))
    declared = None if classes is None else np.asarray(classes)
    if Forgetting.suits(estimator):
        return Forgetting(estimator, pool, declared)
    return Snapshots(estimator, pool, declared, n_snapshots)
