"""Hundreds of classes: votes have the bits of the plain formula, and memory does not grow with rows times pairs."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.multiclass import _ovr_decision_function

import hingeline
from hingeline import (
    L2SVC,
    LASVC,
    SVC,
    KernelSGDClassifier,
    LinearSVC,
    NuSVC,
    WorstViolatorSVC,
    _core,
)
from hingeline.base.labels import n_pairs, pair_outputs, pairs
from hingeline.model_selection import KernelSearchCV

from .citizens import linear_function
from .oracle.votes import most_votes, scaled_votes

#: One-vs-one classifiers.
PAIRWISE = {
    "SVC": SVC(),
    "SVC, ties": SVC(break_ties=True),
    "SVC, precomputed": SVC(kernel="precomputed"),
    "SVC, function": SVC(kernel=linear_function),
    "SVC, linear": SVC(kernel="linear"),
    "NuSVC": NuSVC(nu=0.3),
    "WorstViolatorSVC": WorstViolatorSVC(),
    "WorstViolatorSVC, function": WorstViolatorSVC(kernel=linear_function),
    "L2SVC": L2SVC(multi_class="ovo"),
    "LASVC": LASVC(multi_class="ovo", random_state=0),
    "KernelSGDClassifier": KernelSGDClassifier(multi_class="ovo", random_state=0),
    "LinearSVC": LinearSVC(multi_class="ovo"),
}


def classes_problem(n_classes, per_class=2, seed=0, n_features=6):
    rng = np.random.default_rng(seed)
    y = np.arange(n_classes * per_class) % n_classes
    return rng.normal(size=(n_classes, n_features))[y] + 0.5 * rng.normal(size=(len(y), n_features)), y


def expected(model, decisions):
    """Scores and indices of the classes by the formulas, from the decision values of pairs."""
    if not isinstance(model, SVC | NuSVC):
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
    subsets = () if "function" in name or name == "LinearSVC" else (slice(1), slice(5, 14), slice(0, None, 3))
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


def test_probabilities_do_not_depend_on_blocks(monkeypatch):
    X, y = classes_problem(7, 6)
    with pytest.warns(FutureWarning):
        model = SVC(probability=True, random_state=0).fit(X, y)
    whole = model.predict_proba(X)
    monkeypatch.setattr("hingeline.base.rows.BLOCK_BYTES", 8 * 3 * 5 * 7**2)  # three rows
    np.testing.assert_array_equal(model.predict_proba(X), whole)


def test_linear_votes_are_counted_in_blocks(monkeypatch):
    X, y = classes_problem(6, 6)
    model = LinearSVC(multi_class="ovo").fit(X, y)
    scores, labels = model.decision_function(X), model.predict(X)
    sizes, honest = [], model._decisions
    monkeypatch.setattr(model, "_decisions", lambda X: sizes.append(len(X)) or honest(X), raising=False)
    monkeypatch.setattr("hingeline.base.rows.BLOCK_BYTES", 8 * 15 * 7)  # seven rows
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-12)
    assert sizes == [7, 7, 7, 7, 7, 1]
    assert (model.predict(X) == labels).all()


def test_machines_that_are_put_away_have_the_bits_of_others():
    """SVC keeps the machines of 4,096 pairs or fewer, and only the results of more."""
    X, y = classes_problem(92, 4)
    most, few = SVC(gamma=0.1).fit(X, y), SVC(gamma=0.1).fit(X[y < 90], y[y < 90])
    second = pairs(92)[1]
    common = np.flatnonzero(second < 90)  # first < second
    for name in ("intercept_", "n_iter_", "kkt_violation_", "dual_objective_", "duality_gap_", "stop_reason_"):
        np.testing.assert_array_equal(getattr(most, name)[common], getattr(few, name), err_msg=name)
    dense = np.zeros((2, 91, len(y)))
    for k, model in enumerate((most, few)):
        support = model.support_ if k == 0 else np.flatnonzero(y < 90)[model.support_]
        dense[k][: len(model.dual_coef_), support] = model.dual_coef_
    np.testing.assert_array_equal(dense[0, :89, y < 90], dense[1, :89, y < 90])
    own = np.isin(most.history_["machine"], common)
    for name in ("step", "n_support", "kkt_violation"):
        np.testing.assert_array_equal(most.history_[name][own], few.history_[name])
    assert (np.diff(most.history_["machine"]) >= 0).all()
    # Values within a class are computed once, and not for each pair.
    assert most.n_kernel_evals_ == len(y) * 4 + len(second) * 4**2


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_small_classes_of_different_weights(name):
    """The bounds of a pair are those of its own rows; machines with nu start elsewhere. scikit-learn decides."""
    X, y = classes_problem(92, 4)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    given = {"gamma": 0.2, "tol": 1e-10} | ({"nu": 0.1} if name == "NuSVC" else {"C": 0.1})
    ours, theirs = (
        getattr(module, name)(decision_function_shape="ovo", **given).fit(X, y, sample_weight=weights)
        for module in (hingeline, sklearn.svm)
    )
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


def test_a_search_over_C_with_many_classes():
    """Larger bounds start machines that were put away again."""
    X, y = classes_problem(92, 4)
    Cs = [0.01, 1.0, 100.0]
    found = KernelSearchCV(SVC(gamma=0.1), {"C": Cs}, cv=2).fit(X, y)
    expected = [cross_val_score(SVC(gamma=0.1, C=C), X, y, cv=2).mean() for C in Cs]
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], expected, atol=1e-12)


# ---- memory ------------------------------------------------------------------------------------------

#: One matrix of decision values of this problem takes 150 MB, and so does a matrix of votes by pair and class.
CHILD = """
import sys, warnings
warnings.simplefilter("ignore")
from benchmarks.memory import Growth
from tests.test_many_classes import PAIRWISE, classes_problem
X, y = classes_problem(250)
queries = classes_problem(250, 3)[0]
name, *methods = sys.argv[1:]
model = PAIRWISE[name]
if "predict_proba" in methods:
    model.set_params(probability=True)
model.fit(X, y)
for method in methods:
    getattr(model, method)(queries[:2])
    with Growth() as growth:
        getattr(model, method)(queries)
    print(growth.bytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory as Linux counts it")
@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("SVC", ["predict", "decision_function", "predict_proba"]),
        ("WorstViolatorSVC", ["predict", "decision_function"]),
    ],
)
def test_predictions_take_bounded_memory(name, methods):
    found = subprocess.run([sys.executable, "-c", CHILD, name, *methods], capture_output=True, text=True, check=True)
    for method, taken in zip(methods, found.stdout.split(), strict=True):
        assert int(taken) < 100e6, f"{method}: {int(taken) / 1e6:.0f} MB"
