"""Query rules against their definitions, written as loops."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hingeline.active import (
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
from hingeline.active.advice import Watch, kappa
from hingeline.active.rules import as_rule

FEW = st.integers(-3, 3).map(float)  # many ties
UTILITIES = st.integers(0, 20).flatmap(lambda n: arrays(float, n, elements=FEW))


# ---- rules -------------------------------------------------------------------------------------------


def test_rules_by_hand():
    scores = [-3.0, 0.5, -0.25, 2.0]
    assert near_boundary(scores).tolist() == [-3, -0.5, -0.25, -2]
    assert largest_positive(scores).tolist() == scores
    assert margin(scores).tolist() == near_boundary(scores).tolist()
    assert equal(scores).tolist() == [0, 0, 0, 0]


@settings(max_examples=40, deadline=None)
@given(arrays(float, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=st.floats(-1e6, 1e6)))
def test_margin_is_the_difference_of_the_two_largest(scores):
    for utility, row in zip(margin(scores), scores.tolist(), strict=True):
        best = max(row)
        row.remove(best)
        assert utility == max(row) - best


@pytest.mark.parametrize("rule", [near_boundary, largest_positive])
def test_rules_of_two_classes_refuse_more(rule):
    with pytest.raises(ValueError, match=r"two classes.*'margin'"):
        rule(np.zeros((4, 3)))


@pytest.mark.parametrize("rule", [near_boundary, largest_positive, margin, equal, pick])
@pytest.mark.parametrize("bad", [[np.nan, 1.0], [np.inf, 1.0], np.zeros((2, 2, 2))])
def test_bad_scores_are_refused(rule, bad):
    with pytest.raises(ValueError, match="scores must"):
        rule(bad)


def test_one_column_is_no_score_of_classes():
    with pytest.raises(ValueError, match="2 or more"):
        margin(np.zeros((3, 1)))


# ---- small pools -------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 0.9999), st.floats(1e-4, 1))
def test_pool_size_is_the_smallest_that_suffices(p, q):
    size = pool_size(p, q)
    assert 1 - (1 - q) ** size >= p - 1e-12
    assert size == 1 or 1 - (1 - q) ** (size - 1) < p + 1e-12


def test_pool_size_by_hand():
    assert pool_size(0.95, 0.05) == 59 == RULES["small_pool"].candidates
    assert [pool_size(0.5, 0.5), pool_size(0.75, 0.5), pool_size(0.76, 0.5)] == [1, 2, 3]
    assert pool_size(0, 0.1) == pool_size(0.9, 1) == 1


def test_the_best_of_a_small_pool_is_among_the_best():
    rng, n, q = np.random.default_rng(0), 1000, 0.05
    hits = [rng.choice(n, pool_size(0.95, q), replace=False).max() >= n * (1 - q) for _ in range(2000)]
    assert 0.94 < np.mean(hits) < 0.97  # 0.954 without replacement, standard deviation 0.005


@pytest.mark.parametrize("p, q", [(1, 0.1), (-0.1, 0.1), (0.5, 0), (0.5, 1.1), (np.nan, 0.1)])
def test_pool_size_refuses(p, q):
    with pytest.raises(ValueError, match="must be a"):
        pool_size(p, q)


def test_as_rule():
    assert as_rule("margin") is RULES["margin"] and as_rule(margin) == Rule(margin)
    assert as_rule(small_pool(near_boundary)) == Rule(near_boundary, candidates=59)
    for bad in ("nearest", None, 3):
        with pytest.raises(ValueError, match="rule must be one of"):
            as_rule(bad)
    for wrong in ({"candidates": 0}, {"ties": "last"}):
        with pytest.raises(ValueError, match="must be"):
            Rule(margin, **wrong)


# ---- choice ------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(UTILITIES, st.integers(0, 25))
def test_pick_takes_the_first_of_the_largest(utilities, n):
    order = sorted(range(len(utilities)), key=lambda row: (-utilities[row], row))
    assert pick(utilities, n).tolist() == order[:n]


@settings(max_examples=40, deadline=None)
@given(UTILITIES, st.integers(0, 25), st.integers(0, 2**31))
def test_random_ties_change_rows_but_not_utilities(utilities, n, seed):
    chosen = pick(utilities, n, seed)
    assert len(set(chosen.tolist())) == len(chosen)
    assert utilities[chosen].tolist() == sorted(utilities, reverse=True)[:n]
    assert chosen.tolist() == pick(utilities, n, seed).tolist()


def test_random_ties_are_uniform():
    found = Counter(tuple(pick([1.0, 5.0, 1.0, 1.0], 2, seed)) for seed in range(600))
    assert set(found) == {(1, 0), (1, 2), (1, 3)} and min(found.values()) > 150
    source = np.random.RandomState(0)
    assert len({int(pick(np.zeros(50), 1, source)[0]) for _ in range(20)}) > 10


@settings(max_examples=40, deadline=None)
@given(UTILITIES, st.integers(0, 8), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(0, 1000))
def test_pick_diverse_twin(utilities, n, diversity, seed):
    similarity = np.round(np.random.default_rng(seed).uniform(-1, 1, (len(utilities), len(utilities))), 1)
    chosen = pick_diverse(utilities, n, similarity, diversity).tolist()
    low, high = min(utilities, default=0), max(utilities, default=0)
    expected = []
    while len(expected) < min(n, len(utilities)):
        values = {}
        for row, utility in enumerate(utilities):
            near = max((abs(similarity[other, row]) for other in expected), default=0.0)
            scaled = (utility - low) / (high - low) if high > low else 1.0
            if row not in expected:
                values[row] = (1 - diversity) * scaled - diversity * near
        expected.append(max(values, key=lambda row: (values[row], -row)))
    assert chosen == expected
    if diversity == 0:
        assert chosen == pick(utilities, n).tolist()


def test_choice_refuses():
    for n in (-1, 1.5, True):
        with pytest.raises(ValueError, match="n must be an integer"):
            pick([1.0], n)
    with pytest.raises(ValueError, match="similarity must have shape"):
        pick_diverse([1.0, 2.0], 1, np.eye(3))
    with pytest.raises(ValueError, match="diversity must be"):
        pick_diverse([1.0, 2.0], 1, np.eye(2), 1.5)


# ---- agreement ---------------------------------------------------------------------------------------


def test_kappa_by_hand():
    # 4 rows, 3 equal: agreement 0.75; by chance 0.5 * 0.25 + 0.5 * 0.75 = 0.5.
    assert kappa(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])) == pytest.approx(0.5)
    assert kappa(np.array(["a", "a"]), np.array(["a", "a"])) == 1
    assert kappa(np.array([0, 0]), np.array([1, 1])) == 0


def test_movement_counts_rows_that_go_back_and_forth():
    watch = Watch(np.arange(4))
    a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    assert np.isnan(watch.movement(1)[0])
    assert [watch.note(n, n, labels) for n, labels in enumerate([a, b, a])] == [None, 0.25, 0.25]
    assert watch.movement(2) == (1.0, 0.5)
    assert watch.movement(1) == (pytest.approx(0.5), 0.25)
    assert np.isnan(watch.movement(3)[0])
    watch.rewind(1)
    assert watch.movement(1) == (pytest.approx(0.5), 0.25)
