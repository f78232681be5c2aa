"""PRBEP and g-mean: by hand, against scikit-learn, ties, bad input."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, precision_recall_curve, recall_score
from sklearn.model_selection import cross_val_score

from hingeline.metrics import g_mean_score, prbep_score


def test_prbep_by_hand():
    # Three positives; the three highest scores are of samples 5, 0, 3: two of them positive.
    y = [1, 0, 1, 0, 0, 1]
    score = [4.0, 1.0, 2.0, 3.0, 0.0, 5.0]
    assert prbep_score(y, score) == pytest.approx(2 / 3)
    assert prbep_score(y, np.negative(score)) == pytest.approx(1 / 3)
    assert prbep_score([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4]) == 1.0
    assert prbep_score([1, 0, 0, 0], [0.1, 0.2, 0.3, 0.4]) == 0.0
    assert prbep_score([1, 1], [0.3, 0.1]) == 1.0


def test_prbep_ties_by_hand():
    # One place left at score 2 for three samples, one of them positive: (1 + 1/3) / 2.
    assert prbep_score([1, 0, 1, 0, 0], [3, 2, 2, 2, 1]) == pytest.approx(2 / 3)
    # Two places for the same three: (0 + 2/3) / 2.
    assert prbep_score([0, 0, 1, 0, 1], [2, 2, 2, 1, 0]) == pytest.approx(1 / 3)
    # A constant score finds the share of positives.
    assert prbep_score([1, 0, 0, 0, 1], np.ones(5)) == pytest.approx(0.4)


def test_prbep_ties_are_the_average_over_orders():
    y = np.array([1, 0, 1, 0, 0, 1])
    score = np.array([2, 2, 1, 1, 1, 0])
    values = []
    for order in itertools.permutations(range(6)):
        best = sorted(order, key=lambda i: -score[i])[:3]  # stable: ties as in `order`
        values.append(y[best].mean())
        assert prbep_score(y[list(order)], score[list(order)]) == prbep_score(y, score)
    assert prbep_score(y, score) == pytest.approx(np.mean(values))


@pytest.mark.parametrize("seed", range(10))
def test_prbep_is_where_precision_equals_recall(seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(200) < 0.2).astype(int)
    score = y + rng.standard_normal(200)
    precision, recall, _ = precision_recall_curve(y, score)
    even = np.flatnonzero((precision == recall) & (recall > 0))
    assert len(even) == 1 and 0 < recall[even[0]] < 1
    assert prbep_score(y, score) == pytest.approx(recall[even[0]])


def test_prbep_labels():
    score = [0.9, 0.8, 0.7, 0.6, 0.5]
    assert prbep_score([1, -1, 1, -1, -1], score) == 0.5
    assert prbep_score([True, False, True, False, False], score) == 0.5
    names = ["b", "a", "b", "a", "a"]
    assert prbep_score(names, score, pos_label="b") == 0.5
    assert prbep_score(names, score, pos_label="a") == pytest.approx(1 / 3)
    assert prbep_score([1, 0, 1, 0, 0], score, pos_label=0) == pytest.approx(1 / 3)
    assert isinstance(prbep_score([1, 0], [1, 2]), float)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("y", "score", "options", "word"),
    [
        ([0, 0, 0], [1.0, 2.0, 3.0], {}, "no positive"),
        ([0, 1, 0], [1.0, 2.0, 3.0], {"pos_label": 7}, "no positive"),
        ([0, 1, 2], [1.0, 2.0, 3.0], {}, "two classes"),
        ([0, 1, 2], [1.0, 2.0, 3.0], {"pos_label": 1}, "two classes"),
        ([1, 2, 1], [1.0, 2.0, 3.0], {}, "pos_label"),
        (["a", "b", "a"], [1.0, 2.0, 3.0], {}, "pos_label"),
        ([0, 1, 0], [1.0, np.nan, 3.0], {}, "NaN"),
        ([0, 1, 0], [1.0, np.inf, 3.0], {}, "infinity"),
        ([0, 1, 0], [1.0, 2.0], {}, "inconsistent"),
        ([0, 1, 0], [[1.0, 2.0]] * 3, {}, "1d array"),
        ([0.5, 1.5, 0.2], [1.0, 2.0, 3.0], {}, "class labels"),
        ([[0, 1], [1, 0], [1, 1]], [1.0, 2.0, 3.0], {}, "1d array"),
        ([0.0, np.nan, 1.0], [1.0, 2.0, 3.0], {}, "NaN"),
        ([], [], {}, "no positive"),
    ],
)
def test_prbep_bad_input(y, score, options, word):
    with pytest.raises(ValueError, match=word):
        prbep_score(y, score, **options)


def test_g_mean_by_hand():
    # Sensitivity 1/4, specificity 1.
    assert g_mean_score([1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0]) == 0.5
    # Recalls 1/2, 1/4, 1: the cube root of 1/8.
    y = ["a"] * 2 + ["b"] * 4 + ["c"]
    guess = ["a", "c", "b", "a", "a", "c", "c"]
    assert g_mean_score(y, guess) == pytest.approx(0.5)
    # a against the rest: 1/2, and 3 of the other 5 are not called a.
    assert g_mean_score(y, guess, pos_label="a") == pytest.approx(np.sqrt(0.5 * 0.6))
    assert g_mean_score([0, 0, 1], [0, 0, 0]) == 0.0
    assert g_mean_score([0, 1, 2], [0, 1, 2]) == pytest.approx(1.0)
    # A label that only the prediction has is a miss, not a class.
    assert g_mean_score([0, 0, 1], [0, 2, 1]) == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_g_mean_against_recall_score(n_classes):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 300)
    guess = np.where(rng.random(300) < 0.6, y, rng.integers(0, n_classes, 300))
    recalls = recall_score(y, guess, average=None)
    assert g_mean_score(y, guess) == pytest.approx(np.exp(np.mean(np.log(recalls))))
    if n_classes == 2:
        both = [recall_score(y, guess, pos_label=k) for k in (0, 1)]
        assert g_mean_score(y, guess) == pytest.approx(np.sqrt(np.prod(both)))
        assert g_mean_score(y, guess, pos_label=0) == g_mean_score(y, guess, pos_label=1) == g_mean_score(y, guess)


@pytest.mark.parametrize(
    ("y", "guess", "options", "word"),
    [
        ([1, 1], [1, 0], {}, "one class"),
        ([1, 1], [1, 0], {"pos_label": 1}, "one class"),
        ([1, 0], [1, 0], {"pos_label": 2}, "pos_label"),
        ([1, 0], [1, 0, 1], {}, "inconsistent"),
        ([1, 0], [0.3, 0.7], {}, "y_pred"),
        ([1.5, 0.2], [1, 0], {}, "y_true"),
        ([], [], {}, "one class"),
    ],
)
def test_g_mean_bad_input(y, guess, options, word):
    with pytest.raises(ValueError, match=word):
        g_mean_score(y, guess, **options)


def test_as_scorers():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :2]
    names = np.array(["malignant", "benign"])[y]
    model = LogisticRegression(max_iter=1000)
    prbep = make_scorer(prbep_score, response_method="decision_function")
    values = cross_val_score(model, X, y, scoring=prbep, error_score="raise")
    assert np.all((values > 0.8) & (values < 1))
    # "benign" is the positive class of y and the first of the names: the scorer turns the decision values round.
    named = make_scorer(prbep_score, response_method="decision_function", pos_label="benign")
    np.testing.assert_allclose(cross_val_score(model, X, names, scoring=named, error_score="raise"), values)
    g_mean = make_scorer(g_mean_score)
    values = cross_val_score(model, X, names, scoring=g_mean, error_score="raise")
    assert np.all((values > 0.7) & (values < 1))
