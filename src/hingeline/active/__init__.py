"""Active learning: query rules, and a learner that asks for labels."""

from .advice import Advice
from .book import Event
from .learner import ActiveLearner
from .rules import (
    RULES,
    Rule,
    equal,
    largest_positive,
    margin,
    near_boundary,
    pick,
    pick_diverse,
    pool_size,
    small_pool,
)

__all__ = [
    "RULES",
    "ActiveLearner",
    "Advice",
    "Event",
    "Rule",
    "equal",
    "largest_positive",
    "margin",
    "near_boundary",
    "pick",
    "pick_diverse",
    "pool_size",
    "small_pool",
]
