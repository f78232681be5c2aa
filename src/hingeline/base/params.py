"""Constructor parameters: stored by name, checked by one short table per estimator, one clear sentence per error."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from numbers import Integral, Real
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

Check = Callable[[Any], bool]


class Rule:
    """A predicate and the words that complete "must be ..."."""

    def __init__(self, holds: Check, words: str, kinds: type | tuple[type, ...]) -> None:
        self.holds = holds
        self.words = words
        self.kinds = kinds

    def __or__(self, other: Rule) -> Rule:
        def either(value: Any) -> bool:
            return self.accepts(value) or other.accepts(value)

        return Rule(either, f"{self.words} or {other.words}", object)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.kinds) and self.holds(value)


def real(
    *, above: float | None = None, least: float | None = None, most: float = math.inf, below: float = math.inf
) -> Rule:
    """Finite real number in an interval; bool is rejected."""

    def holds(value: Any) -> bool:
        try:
            number = float(value)  # NumPy compares a float32 with bounds in its own range
        except OverflowError:  # an integer beyond the range of a float
            return False
        return (
            math.isfinite(number)
            and not isinstance(value, bool)
            and (above is None or number > above)
            and (least is None or number >= least)
            and number <= most
            and number < below
        )

    words = "a finite number"
    if above is not None:
        words += f" > {above:g}"
    if least is not None:
        words += f" >= {least:g}"
    if most < math.inf:
        words += f" and <= {most:g}"
    if below < math.inf:
        words += f" < {below:g}"
    return Rule(holds, words, Real)


def integer(*, least: int, most: int = 2**31 - 1) -> Rule:
    """Integer in an interval; bool is rejected."""
    return Rule(
        lambda v: not isinstance(v, bool) and least <= v <= most, f"an integer >= {least} and <= {most}", Integral
    )


def boolean() -> Rule:
    """True or False, of Python or NumPy."""
    import numpy as np

    return Rule(lambda v: True, "a boolean", (bool, np.bool_))


def one_of(*words: str) -> Rule:
    """One of several strings."""
    return Rule(lambda v: v in words, "one of " + ", ".join(map(repr, words)), str)


def function() -> Rule:
    """Anything callable."""
    return Rule(callable, "a function", object)


def mapping() -> Rule:
    """A dictionary."""
    return Rule(lambda v: True, "a dict", Mapping)


def entries(rules: Mapping[str, Rule]) -> Rule:
    """A dictionary with some of these names as keys, and a rule for each value."""
    words = "; ".join(f"{name!r}: {rule.words}" for name, rule in rules.items())
    return Rule(
        lambda v: all(name in rules and rules[name].accepts(one) for name, one in v.items()),
        f"a dict with entries out of {{{words}}}",
        Mapping,
    )


#: More threads than any machine runs at once; each takes memory.
MOST_JOBS = 4096


def jobs() -> Rule:
    """Number of threads by joblib's rules."""
    words = f"a nonzero integer between -{MOST_JOBS} and {MOST_JOBS}"
    return Rule(lambda v: not isinstance(v, bool) and 0 < abs(v) <= MOST_JOBS, words, Integral) | nothing()


def generator(random_state: Any) -> Any:
    """Random numbers of a fit. None gives the same numbers in every fit, unlike in scikit-learn."""
    from sklearn.utils import check_random_state

    return check_random_state(0 if random_state is None else random_state)


def nothing() -> Rule:
    """None."""
    return Rule(lambda v: v is None, "None", object)


def defaults(learner: type) -> dict[str, Any]:
    """Default values of the constructor parameters of a class."""
    given = signature(learner).parameters.values()
    return {one.name: one.default for one in given if one.default is not Parameter.empty}


def assign(estimator: object, arguments: Mapping[str, Any]) -> None:
    """Set the arguments of a constructor, given as its ``locals()``, as attributes of the same names."""
    vars(estimator).update({name: value for name, value in arguments.items() if name != "self"})


def check_one(estimator: object, name: str, value: Any, rule: Rule) -> None:
    """Raise ValueError if the value of a parameter breaks its rule."""
    if not rule.accepts(value):
        raise ValueError(
            f"The {name!r} parameter of {type(estimator).__name__} must be {rule.words}. Got {value!r} instead."
        )


#: Types of values that cannot change and refer to nothing.
PLAIN = (str, int, float, type(None))
#: Parameters that were checked in the last call, by estimator.
_ACCEPTED: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()


def check(estimator: object, rules: Mapping[str, Rule]) -> None:
    """Raise ValueError for the first parameter that breaks its rule, as scikit-learn does.

    The same objects are not checked twice: a stream of single rows calls this for every row. Others than numbers and
    strings are: entries of a dictionary may have changed, and a kernel function may refer to its estimator, which could
    never be freed.
    """
    values = tuple(getattr(estimator, name) for name in rules)
    before = _ACCEPTED.get(estimator, ())
    if len(before) == len(values) and all(map(is_, before, values)):
        return
    for (name, rule), value in zip(rules.items(), values, strict=True):
        check_one(estimator, name, value, rule)
    if all(isinstance(value, PLAIN) for value in values):
        _ACCEPTED[estimator] = values
