"""Hundreds of classes: votes have the bits of the plain formula, and memory does not grow with rows times pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.multiclass import _ovr_decision_function

from hingeline import (
    LASVC,
    SVC,
    FiniteNewtonSVC,
    KernelSGDClassifier,
    MinNormSVC,
    WorstViolatorSVC,
    _core,
)
from hingeline.base.labels import n_pairs, pair_outputs, pairs

from .citizens import linear_function
from .oracle.votes import most_votes, scaled_votes

#: One-vs-one classifiers.
PAIRWISE = {
    "SVC": SVC(),
    "SVC, ties": SVC(break_ties=True),
    "SVC, precomputed": SVC(kernel="precomputed"),
    "SVC, function": SVC(kernel=linear_function),
    "SVC, linear": SVC(kernel="linear"),
    "WorstViolatorSVC": WorstViolatorSVC(),
    "WorstViolatorSVC, function": WorstViolatorSVC(kernel=linear_function),
    "MinNormSVC": MinNormSVC(multi_class="ovo"),
    "LASVC": LASVC(multi_class="ovo", random_state=0),
    "KernelSGDClassifier": KernelSGDClassifier(multi_class="ovo", random_state=0),
    "FiniteNewtonSVC": FiniteNewtonSVC(multi_class="ovo"),
}


def classes_problem(n_classes, per_class=2, seed=0, n_features=6):
    rng = np.random.default_rng(seed)
    y = np.arange(n_classes * per_class) % n_classes
    return rng.normal(size=(n_classes, n_features))[y] + 0.5 * rng.normal(size=(len(y), n_features)), y


def expected(model, decisions):
    """Scores and indices of the classes by the formulas, from the decision values of pairs."""
    if not isinstance(model, SVC):
        scores = scaled_votes(decisions, model.decision_scale_)
        return scores, scores.argmax(axis=1)
    scores = _ovr_decision_function(decisions < 0, -decisions, len(model.classes_))
    return scores, scores.argmax(axis=1) if model.break_ties else most_votes(decisions)


@pytest.mark.parametrize("n_classes", [3, 4, 9, 41])
@pytest.mark.parametrize("name", PAIRWISE)
def test_votes_have_the_bits_of_the_formula(name, n_classes):
    X, y = classes_problem(n_classes)
    queries = classes_problem(n_classes, 3, seed=1)[0]
    if "precomputed" in name:
        X, queries = X @ X.T, queries @ X.T
    model = clone(PAIRWISE[name]).fit(X, y)
    shape, ties = model.decision_function_shape, getattr(model, "break_ties", None)
    if ties:
        model.set_params(break_ties=False)
    decisions = model.set_params(decision_function_shape="ovo").decision_function(queries)
    model.set_params(decision_function_shape=shape, **({"break_ties": True} if ties else {}))
    scores, winners = expected(model, decisions)
    np.testing.assert_array_equal(model.decision_function(queries), scores)
    np.testing.assert_array_equal(model.predict(queries), model.classes_[winners])
    # Products of NumPy, which these use, depend on the number of rows.
    subsets = () if "function" in name or name == "FiniteNewtonSVC" else (slice(1), slice(5, 14), slice(0, None, 3))
    for some in subsets:
        np.testing.assert_array_equal(model.decision_function(queries[some]), scores[some])
        np.testing.assert_array_equal(model.predict(queries[some]), model.classes_[winners[some]])


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_sparse_rows_count_the_same_votes(threads):
    X, y = classes_problem(60)
    dense = SVC(n_jobs=threads).fit(X, y)
    sparse = SVC().fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(dense.decision_function(X), sparse.decision_function(sp.csr_matrix(X)))
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csr_matrix(X)))


@pytest.mark.parametrize("n_classes", [3, 8, 30])
def test_votes_of_given_decisions(n_classes):
    """Zeros, ties and values of all sizes."""
    rng = np.random.default_rng(n_classes)
    decisions = rng.choice([0.0, -0.0, 1.0, -1.0, 1e-320, -1e300, 0.3], size=(29, n_pairs(n_classes)))
    scale = rng.choice([0.0, 1e-320, 1.0, 1e10], size=n_pairs(n_classes))
    divisors = np.where(scale > 0, scale, 1.0)
    scores = scaled_votes(decisions, scale)
    votes = _core.Votes(n_classes, scale=divisors, labels=False)
    np.testing.assert_array_equal(votes.count(decisions), scores)
    votes = _core.Votes(n_classes, scale=divisors, labels=True)
    np.testing.assert_array_equal(votes.count(decisions), scores.argmax(axis=1))
    votes = _core.Votes(n_classes, sums=False, labels=True)
    np.testing.assert_array_equal(votes.count(decisions), most_votes(decisions))
    with pytest.raises(ValueError, match="one decision per pair"):
        votes.count(decisions[:, 1:])


def test_pair_outputs():
    """The layout that the core computes is that of the table."""
    for n_classes in (2, 3, 7):
        first, second = pairs(n_classes)
        table = pair_outputs(n_classes)
        for k, (i, j) in enumerate(zip(first, second, strict=True)):
            assert table[i, j - 1] == table[j, i] == k


def test_decisions_that_overflow_are_an_error():
    X, y = classes_problem(5)
    model = SVC().fit(X, y)
    model.dual_coef_ = np.full_like(model.dual_coef_, 1e308)
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="leave the range"):
            method(X)
