"""Decision values of several classes: LIBSVM's layout, signs, votes and their ties."""

import copy
import warnings
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import linear_kernel as sklearn_linear
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

from hingeline import LASVC, KernelSGDClassifier, WorstViolatorSVC

from .citizens import linear_function, problem

KERNELS = {
    "linear": lambda A, B: sklearn_linear(A, B),
    "rbf": lambda A, B: rbf_kernel(A, B, gamma=0.3),
    "poly": lambda A, B: polynomial_kernel(A, B, gamma=0.3, degree=2, coef0=1.0),
    "sigmoid": lambda A, B: sigmoid_kernel(A, B, gamma=0.3, coef0=1.0),
}


def libsvm_decisions(model, K):
    """Decision values of all pairs as LIBSVM's README lays its model out.

    The support vectors of class i have one coefficient for each other class: line j - 1 for a class j > i, line j
    for j < i.
    """
    if len(model.classes_) == 2:
        return K @ model.dual_coef_[0] + model.intercept_[0]
    begin = np.concatenate([[0], np.cumsum(model.n_support_)])
    columns = []
    for (i, j), b in zip(combinations(range(len(model.classes_)), 2), model.intercept_, strict=True):
        of_i, of_j = slice(begin[i], begin[i + 1]), slice(begin[j], begin[j + 1])
        columns.append(K[:, of_i] @ model.dual_coef_[j - 1, of_i] + K[:, of_j] @ model.dual_coef_[i, of_j] + b)
    return np.column_stack(columns)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "model",
    [WorstViolatorSVC(), LASVC(variant="lasvm"), KernelSGDClassifier(fit_intercept=True)],
    ids=lambda m: type(m).__name__,
)
def test_libsvm_layout(model, kernel, n_classes, container):
    X, y = problem(n_classes=n_classes)
    model = clone(model).set_params(kernel=kernel, gamma=0.3, degree=2, coef0=1.0, decision_function_shape="ovo")
    model.fit(container(X), y)
    queries = problem(seed=1)[0]
    expected = libsvm_decisions(model, KERNELS[kernel](queries, model.support_vectors_))
    np.testing.assert_allclose(model.decision_function(queries), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_libsvm_layout_precomputed(n_classes):
    X, y = problem(n_classes=n_classes)
    K = rbf_kernel(X)
    model = WorstViolatorSVC(kernel="precomputed", decision_function_shape="ovo").fit(K, y)
    np.testing.assert_allclose(
        model.decision_function(K), libsvm_decisions(model, K[:, model.support_]), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_coef(n_classes, container):
    X, y = problem(n_classes=n_classes)
    model = WorstViolatorSVC(kernel="linear", decision_function_shape="ovo").fit(container(X), y)
    assert model.coef_.shape == (n_classes * (n_classes - 1) // 2, 5)
    values = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(
        model.decision_function(X), values.ravel() if n_classes == 2 else values, rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize(
    "kernel", ["rbf", "poly", "sigmoid", linear_function], ids=["rbf", "poly", "sigmoid", "function"]
)
@pytest.mark.parametrize("learner", [WorstViolatorSVC, LASVC, KernelSGDClassifier])
def test_no_coef_without_a_linear_kernel(kernel, learner):
    model = learner(kernel=kernel).fit(*problem())
    with pytest.raises(AttributeError, match="linear"):
        model.coef_  # noqa: B018
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("n_classes", "shape", "columns"), [(2, "ovr", ()), (2, "ovo", ()), (4, "ovr", (4,)), (4, "ovo", (6,))]
)
def test_decision_shapes(n_classes, shape, columns):
    X, y = problem(n_classes=n_classes)
    model = WorstViolatorSVC(decision_function_shape=shape).fit(X, y)
    assert model.decision_function(X).shape == (len(X), *columns)
    assert model.decision_function(X[:1]).shape == (1, *columns)


def test_binary_sign():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    model = WorstViolatorSVC(kernel="linear").fit(X, ["a", "a", "b", "b"])
    values = model.decision_function(X)
    assert (values[2:] > 0).all()
    assert (values[:2] < 0).all()
    assert model.predict(X).tolist() == ["a", "a", "b", "b"]
    assert model.coef_[0, 0] > 0


def test_sign_of_pairs():
    """A positive value of the pair (i, j) speaks for class i."""
    X = np.repeat([[5.0, 0.0], [0.0, 5.0], [-5.0, -5.0]], 10, axis=0)
    X += np.random.default_rng(0).standard_normal(X.shape)
    y = np.repeat(np.arange(3), 10)
    values = WorstViolatorSVC(kernel="linear", decision_function_shape="ovo").fit(X, y).decision_function(X)
    for column, (i, j) in enumerate(combinations(range(3), 2)):
        assert (values[y == i, column] > 0).all()
        assert (values[y == j, column] < 0).all()


def test_ovo_shape_does_not_change_predict():
    X, y = problem(n_classes=4)
    model = WorstViolatorSVC().fit(X, y)
    labels = model.predict(X)
    assert (labels == model.decision_function(X).argmax(axis=1)).all()
    assert (model.set_params(decision_function_shape="ovo").predict(X) == labels).all()


# ---- votes ---------------------------------------------------------------------------------------------


def scripted(values, scale, n_classes):
    """A model and queries such that pair p of query q has the decision value values[q, p].

    The kernel values of a query are its decision values: pair (i, j) has one support vector, of class i.
    """
    first, second = np.array([*combinations(range(n_classes), 2)]).T
    n_pairs = len(first)
    model = WorstViolatorSVC(kernel="precomputed").fit(np.eye(n_pairs), np.arange(n_pairs) % n_classes)
    model.support_ = np.arange(n_pairs, dtype=np.int32)
    model.n_support_ = np.bincount(first, minlength=n_classes).astype(np.int32)
    model.dual_coef_ = np.zeros((n_classes - 1, n_pairs))
    model.dual_coef_[second - 1, np.arange(n_pairs)] = 1.0
    model.intercept_ = np.zeros(n_pairs)
    model.decision_scale_ = np.array(scale, dtype=float)
    ovo = copy.copy(model).set_params(decision_function_shape="ovo").decision_function(values)
    assert (ovo == values).all()
    return model


def winner(values, scale, n_classes):
    """The documented rule, one query at a time and in exact arithmetic; also whether votes were tied."""
    votes, confidence = [0] * n_classes, [Fraction(0)] * n_classes
    for (i, j), value, largest in zip(combinations(range(n_classes), 2), values, scale, strict=True):
        votes[i if value > 0 else j] += 1
        share = Fraction(float(value)) / Fraction(float(largest))
        confidence[i] += share
        confidence[j] -= share
    tied = [c for c in range(n_classes) if votes[c] == max(votes)]
    return min(tied, key=lambda c: (-confidence[c], c)), len(tied) > 1


@pytest.mark.parametrize(
    ("n_classes", "levels", "scale"),
    [
        (3, [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0], [1.0, 1.0, 1.0]),
        (3, [-3.0, -1.0, 0.0, 1.0, 2.0], [1.0, 4.0, 0.5]),
        (4, [-1.0, 0.25, 2.0], [2.0, 1.0, 8.0, 1.0, 0.5, 4.0]),
    ],
)
def test_tie_rule(n_classes, levels, scale):
    values = np.array([*product(levels, repeat=len(scale))])
    model = scripted(values, scale, n_classes)
    expected, tied = np.array([winner(row, scale, n_classes) for row in values]).T
    assert tied.sum() > 20
    assert (model.predict(values) == expected).all()
    decisions = model.decision_function(values)
    assert (decisions.argmax(axis=1) == expected).all()
    votes = np.rint(decisions)
    assert (votes.sum(axis=1) == len(scale)).all()
    assert (np.abs(decisions - votes) < 1 / 3).all()


def test_cyclic_votes():
    """0 beats 1, 1 beats 2, 2 beats 0: the sums of scaled values are 1/1 - 2/4, 3/2 - 1/1 and 2/4 - 3/2."""
    values, scale = np.array([[1.0, -2.0, 3.0]]), [1.0, 4.0, 2.0]
    decisions = scripted(values, scale, 3).decision_function(values)[0]
    sums = np.array([0.5, 0.5, -1.0])
    np.testing.assert_allclose(decisions, 1 + sums / (3 * (np.abs(sums) + 1)), rtol=1e-15)
    assert scripted(values, scale, 3).predict(values).tolist() == [0]
    assert scripted(values, [1.0, 4.0, 1.5], 3).predict(values).tolist() == [1]


def test_denormal_scales():
    """Machines that have only seen denormal values: the quotients overflow, the decisions are finite."""
    values = np.array([[1.0, -2.0, 3.0], [-1.0, 2.0, -3.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decisions = scripted(values, [5e-324] * 3, 3).decision_function(values)
    assert np.isfinite(decisions).all()
