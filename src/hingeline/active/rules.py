"""Query rules: functions of scores, and the choice of rows by their utilities.

A rule turns scores into utilities; the row with the largest utility is asked first. Scores of two classes are decision
values of shape (n_rows,), positive for the second class. Scores of more classes have one column per class.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "RULES",
    "Rule",
    "as_rule",
    "equal",
    "generator",
    "largest_positive",
    "margin",
    "near_boundary",
    "pick",
    "pick_diverse",
    "pool_size",
    "slope_of",
    "small_pool",
]

Utility = Callable[[np.ndarray], np.ndarray]


# ---- scores to utilities -----------------------------------------------------------------------------


def near_boundary(scores: Any) -> np.ndarray:
    """Utility of the rule "near boundary": minus the absolute decision value.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Decision values of two classes.

    Returns
    -------
    ndarray of shape (n_rows,)
        Utilities.

    Examples
    --------
    >>> from hingeline.active import near_boundary, pick
    >>> pick(near_boundary([-3.0, 0.5, -0.1, 2.0]), 2)
    array([2, 1])
    """
    return -np.abs(_two_classes(scores, "near_boundary"))


def largest_positive(scores: Any) -> np.ndarray:
    """Utility of the rule "largest positive": the decision value.

    It finds rows of the second class fast. It does not look for the boundary.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Decision values of two classes.

    Returns
    -------
    ndarray of shape (n_rows,)
        Utilities.
    """
    return _two_classes(scores, "largest_positive")


def margin(scores: Any) -> np.ndarray:
    """Utility of margin sampling: minus the difference between the two largest scores of a row.

    Parameters
    ----------
    scores : array-like of shape (n_rows,) or (n_rows, n_classes)
        Scores. With two classes the rule is :func:`near_boundary`.

    Returns
    -------
    ndarray of shape (n_rows,)
        Utilities.

    Examples
    --------
    >>> from hingeline.active import margin
    >>> margin([[0.5, 0.25, -1.0], [3.0, 0.0, 1.0]])
    array([-0.25, -2.  ])
    """
    scores = _check_scores(scores)
    if scores.ndim == 1:
        return -np.abs(scores)
    if scores.shape[1] < 2:
        raise ValueError(f"scores must have one column per class, 2 or more. Got shape {scores.shape}.")
    largest = np.partition(scores, -2, axis=1)[:, -2:]
    return largest[:, 0] - largest[:, 1]


def equal(scores: Any) -> np.ndarray:
    """Utility of random sampling: zero for all rows, so that the choice is left to the treatment of ties.

    Parameters
    ----------
    scores : array-like of shape (n_rows,) or (n_rows, n_classes)
        Scores; only their number matters.

    Returns
    -------
    ndarray of shape (n_rows,)
        Zeros.
    """
    return np.zeros(len(_check_scores(scores)))


def _check_scores(scores: Any) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim not in (1, 2):
        raise ValueError(f"scores must have shape (n_rows,) or (n_rows, n_classes). Got {scores.shape}.")
    if not np.isfinite(scores).all():
        raise ValueError(f"scores must be finite. Got {scores[~np.isfinite(scores)][0]} among them.")
    return scores


def _two_classes(scores: Any, rule: str) -> np.ndarray:
    scores = _check_scores(scores)
    if scores.ndim != 1:
        raise ValueError(
            f"{rule} needs decision values of two classes, shape (n_rows,). Got shape {scores.shape}. Use the rule "
            "'margin' for several classes."
        )
    return scores


# ---- small pools -------------------------------------------------------------------------------------


def pool_size(p: float = 0.95, q: float = 0.05) -> int:
    """Smallest number of random rows whose best is among the best fraction `q` of all with probability `p`.

    All of M random rows miss the best fraction q with probability ``(1 - q) ** M`` (less if they are drawn without
    replacement), so M is the smallest integer with ``1 - (1 - q) ** M >= p``. It does not depend on the number of rows.

    Parameters
    ----------
    p : float, default=0.95
        Probability, at least 0 and below 1.
    q : float, default=0.05
        Fraction, above 0 and at most 1.

    Returns
    -------
    int
        Number of rows, at least 1.

    References
    ----------
    S. Ertekin, J. Huang, L. Bottou, L. Giles, "Learning on the border: active learning in imbalanced data
    classification", CIKM 2007.

    Examples
    --------
    >>> from hingeline.active import pool_size
    >>> pool_size(p=0.95, q=0.05)
    59
    """
    if not 0 <= p < 1:
        raise ValueError(f"p must be a probability >= 0 and < 1. Got {p!r}.")
    if not 0 < q <= 1:
        raise ValueError(f"q must be a fraction > 0 and <= 1. Got {q!r}.")
    if q == 1:
        return 1
    size = max(1, round(math.log1p(-p) / math.log1p(-q)))  # the quotient may be off by rounding
    while -math.expm1(size * math.log1p(-q)) < p:
        size += 1
    while size > 1 and -math.expm1((size - 1) * math.log1p(-q)) >= p:
        size -= 1
    return size


@dataclass(frozen=True)
class Rule:
    """How rows are chosen for a question.

    Parameters
    ----------
    utility : callable
        Function of scores that returns utilities, such as :func:`near_boundary`.
    candidates : int or None, default=None
        Number of rows, drawn at random, that take part for each row that is asked. None: all rows.
    ties : {'random', 'first'}, default='random'
        Row that is asked among rows of equal utility.
    """

    utility: Utility
    candidates: int | None = None
    ties: str = "random"

    def __post_init__(self) -> None:
        if not callable(self.utility):
            raise ValueError(f"utility must be a function of scores. Got {self.utility!r}.")
        if self.candidates is not None and self.candidates < 1:
            raise ValueError(f"candidates must be an integer >= 1 or None. Got {self.candidates!r}.")
        if self.ties not in ("random", "first"):
            raise ValueError(f"ties must be 'random' or 'first'. Got {self.ties!r}.")


def small_pool(utility: Utility = margin, *, p: float = 0.95, q: float = 0.05) -> Rule:
    """Rule that looks at a small random pool for each question.

    The row that is asked is among the best fraction `q` of all rows with probability `p` or more, at a cost that does
    not depend on the number of rows.

    Parameters
    ----------
    utility : callable, default=margin
        Function of scores.
    p, q : float, default=0.95, 0.05
        As in :func:`pool_size`.

    Returns
    -------
    Rule
        The rule.

    Examples
    --------
    >>> from hingeline.active import near_boundary, small_pool
    >>> small_pool(near_boundary, p=0.99, q=0.01).candidates
    459
    """
    return Rule(utility, candidates=pool_size(p, q))


#: Rules by name. Random sampling is a pool of one row: no scores are compared.
RULES = {
    "near_boundary": Rule(near_boundary),
    "largest_positive": Rule(largest_positive),
    "margin": Rule(margin),
    "small_pool": small_pool(),
    "random": Rule(equal, candidates=1),
}


def slope_of(utility: Utility) -> float | None:
    """Largest change of a row's utility if its scores change by 1; None if it is not known.

    Parameters
    ----------
    utility : callable
        Function of scores.

    Returns
    -------
    float or None
        Slope of a utility that depends on the scores of its row only.
    """
    known = ((near_boundary, 1.0), (largest_positive, 1.0), (margin, 2.0))
    return next((slope for function, slope in known if function is utility), None)


def as_rule(rule: Any) -> Any:
    """Rule of a name, of a function of scores, or the rule itself.

    Parameters
    ----------
    rule : str, callable, Rule or object with a method ``query``
        A name out of ``RULES``, a function of scores, a rule, or an adapted query strategy.

    Returns
    -------
    Rule or object with a method ``query``
        The rule.
    """
    if isinstance(rule, Rule) or hasattr(rule, "query"):
        return rule
    if isinstance(rule, str) and rule in RULES:
        return RULES[rule]
    if callable(rule):
        return Rule(rule)
    raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, a Rule or a function. Got {rule!r}.")


# ---- utilities to rows -------------------------------------------------------------------------------


def generator(random_state: Any) -> np.random.Generator | None:
    """Random numbers for ties.

    Parameters
    ----------
    random_state : int, sequence of int, Generator, RandomState or None
        Seed or source of random numbers.

    Returns
    -------
    Generator or None
        None if `random_state` is None.
    """
    if random_state is None:
        return None
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    return np.random.default_rng(random_state)


def pick(utilities: Any, n: int = 1, random_state: Any = None) -> np.ndarray:
    """Positions of the `n` largest utilities, largest first.

    Parameters
    ----------
    utilities : array-like of shape (n_rows,)
        Finite utilities.
    n : int, default=1
        Number of positions; all if there are fewer.
    random_state : int, sequence of int, Generator, RandomState or None, default=None
        Ties are broken at random. None: the first position wins.

    Returns
    -------
    ndarray of int64
        Positions.

    Examples
    --------
    >>> from hingeline.active import pick
    >>> pick([0.0, 2.0, 1.0, 2.0], 3)
    array([1, 3, 2])
    """
    utilities, draw = _check_scores(utilities), generator(random_state)
    if utilities.ndim != 1:
        raise ValueError(f"utilities must have shape (n_rows,). Got {utilities.shape}.")
    n = _number(n, len(utilities))
    if n == 0:
        return np.empty(0, dtype=np.int64)
    if n == 1:
        best = np.flatnonzero(utilities == utilities.max())
        return best[:1] if draw is None else draw.choice(best, 1, replace=False)
    least = np.partition(utilities, len(utilities) - n)[len(utilities) - n]
    level = np.flatnonzero(utilities == least)
    above = np.flatnonzero(utilities > least)
    wanted = n - len(above)
    chosen = np.concatenate([above, level[:wanted] if draw is None else draw.choice(level, wanted, replace=False)])
    if draw is not None:
        chosen = draw.permutation(chosen)
    return chosen[np.argsort(-utilities[chosen], kind="stable")]


def pick_diverse(utilities: Any, n: int, similarity: Any, diversity: float = 0.5) -> np.ndarray:
    """Positions of `n` rows with large utilities that are not similar to one another.

    Rows are chosen one by one. The next row has the largest ``(1 - diversity) * u - diversity * s``, where u is its
    utility, scaled to [0, 1], and s its largest absolute similarity to a row chosen before (Brinker 2003). On ties the
    first row wins.

    Parameters
    ----------
    utilities : array-like of shape (n_rows,)
        Utilities.
    n : int
        Number of positions; all if there are fewer.
    similarity : array-like of shape (n_rows, n_rows)
        Similarities in [-1, 1], such as cosines in the feature space of a kernel.
    diversity : float, default=0.5
        Weight of the similarities in [0, 1]. 0: the largest utilities, as in :func:`pick`.

    Returns
    -------
    ndarray of int64
        Positions, in the order of the choice.

    References
    ----------
    K. Brinker, "Incorporating diversity in active learning with support vector machines", ICML 2003.

    Examples
    --------
    Two equal rows are not asked together:

    >>> from hingeline.active import pick_diverse
    >>> pick_diverse([3.0, 2.9, 2.0], 2, [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    array([0, 2])
    """
    utilities, similarity = _check_scores(utilities), np.abs(_check_scores(similarity))
    if similarity.shape != (len(utilities), len(utilities)):
        raise ValueError(f"similarity must have shape {(len(utilities),) * 2}. Got {similarity.shape}.")
    if not 0 <= diversity <= 1:
        raise ValueError(f"diversity must be a number >= 0 and <= 1. Got {diversity!r}.")
    gain = (1 - diversity) * _scale(utilities)
    nearest = np.zeros(len(utilities))
    chosen: list[int] = []
    open_rows = np.ones(len(utilities), dtype=bool)
    for _ in range(_number(n, len(utilities))):
        row = int(np.argmax(np.where(open_rows, gain - diversity * nearest, -np.inf)))
        chosen.append(row)
        open_rows[row] = False
        nearest = np.maximum(nearest, similarity[row])
    return np.array(chosen, dtype=np.int64)


def _scale(utilities: np.ndarray) -> np.ndarray:
    """Utilities as numbers in [0, 1]."""
    if not len(utilities):
        return utilities
    low, high = utilities.min(), utilities.max()
    return (utilities - low) / (high - low) if high > low else np.ones(len(utilities))


def _number(n: Any, most: int) -> int:
    """Checked number of rows, at most `most`."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise ValueError(f"n must be an integer >= 0. Got {n!r}.")
    return min(int(n), most)
