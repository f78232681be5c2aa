"""Callable kernels of samples that are no rows of numbers: strings, graphs, images."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hingeline import L2SVC, SVC, WorstViolatorSVC

each_learner = pytest.mark.parametrize("learner", [SVC, L2SVC, WorstViolatorSVC])


def count_common_letters(A, B):
    """Numbers of equal letters at equal places, between words."""
    return np.array([[sum(x == y for x, y in zip(a, b, strict=False)) for b in B] for a in A], dtype=float)


class Graph:
    """A graph without a length or an order, which NumPy could take for a sequence."""

    def __init__(self, edges):
        self.edges = frozenset(edges)

    def __getitem__(self, node):
        raise KeyError(node)


def count_common_edges(A, B):
    return np.array([[1.0 + len(a.edges & b.edges) for b in B] for a in A])


def words(n=60, seed=0):
    """Words, and whether they have more of the letter a than of the letter b."""
    rng = np.random.default_rng(seed)
    found = ["".join(letters) for letters in rng.choice(list("abc"), (n, 7))]
    return found, np.array([word.count("a") > word.count("b") for word in found]).astype(int)


@each_learner
@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series], ids=lambda form: form.__name__)
def test_words(learner, form):
    X, y = words()
    model = learner(kernel=count_common_letters).fit(form(X), y)
    given = learner(kernel="precomputed").fit(count_common_letters(X, X), y)
    np.testing.assert_array_equal(model.dual_coef_, given.dual_coef_)
    fresh, _ = words(seed=1)
    decisions = given.decision_function(count_common_letters(fresh, X))
    np.testing.assert_allclose(model.decision_function(form(fresh)), decisions, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(form(fresh)), given.predict(count_common_letters(fresh, X)))
    assert model.score(form(X), y) > 0.9
    assert not hasattr(model, "n_features_in_")


@each_learner
def test_several_classes_and_copies(learner):
    X, y = words(90)
    y = y + (np.array([word[0] for word in X]) == "c")
    model = learner(kernel=count_common_letters).fit(X, y, sample_weight=np.linspace(1, 2, 90))
    expected = model.predict(X)
    assert len(model.classes_) == 3 and (expected == y).mean() > 0.8
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    np.testing.assert_array_equal(clone(model).fit(X, y, np.linspace(1, 2, 90)).predict(X), expected)


@each_learner
def test_graphs(learner):
    rng = np.random.default_rng(0)
    X = [Graph(map(tuple, rng.integers(0, 4, (5, 2)))) for _ in range(40)]
    y = [int((0, 0) in graph.edges) for graph in X]
    model = learner(kernel=count_common_edges).fit(X, y)
    assert model.predict(X[:3]).shape == (3,) and np.isfinite(model.decision_function(X)).all()


@each_learner
def test_images_and_rows_of_several_lengths(learner):
    rng = np.random.default_rng(0)
    images, y = rng.normal(size=(30, 4, 5)), np.arange(30) % 2
    model = learner(kernel=lambda A, B: np.einsum("ijk,ljk->il", np.stack(A), np.stack(B))).fit(images, y)
    flat = learner(kernel="linear").fit(images.reshape(30, 20), y)
    np.testing.assert_allclose(
        model.decision_function(images), flat.decision_function(images.reshape(30, 20)), atol=2e-3
    )
    ragged = [list(range(1 + k % 3)) for k in range(30)]
    kernel = lambda A, B: np.array([[1.0 + min(len(a), len(b)) for b in B] for a in A])  # noqa: E731
    assert learner(kernel=kernel).fit(ragged, y).predict(ragged).shape == (30,)


@each_learner
def test_tables_of_words(learner):
    frame = pd.DataFrame({"a": list("xyxy") * 5, "b": list("uuvv") * 5})
    y = (frame["a"] == "x").to_numpy()
    model = learner(kernel=lambda A, B: np.array([[(np.array(a) == b).sum() for b in B] for a in A], dtype=float))
    assert model.fit(frame.to_numpy(), y).score(frame.to_numpy(), y) == 1.0


@pytest.mark.parametrize("learner", [L2SVC, WorstViolatorSVC])
def test_tables_of_numbers_are_checked(learner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    seen = []

    def kernel(A, B):
        seen.append((type(A), A.dtype, A.ndim))
        return A @ B.T

    for rows in (pd.DataFrame(X, columns=list("abc")), X.tolist(), X.astype(object), X):
        model = learner(kernel=kernel).fit(rows, y)
        assert model.n_features_in_ == 3 and set(seen) == {(np.ndarray, np.dtype(float), 2)}
    with pytest.raises(ValueError, match="3 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="X must be a table of numbers"):
        model.predict(["a", "b"])
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        learner(kernel=kernel).fit(X, y)


@each_learner
def test_errors(learner):
    X, y = words()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        learner(kernel=count_common_letters).fit(X[1:], y)
    with pytest.raises(NotFittedError):
        learner(kernel=count_common_letters).predict(X)
    with pytest.raises(ValueError, match="could not convert string to float"):
        learner().fit(X, y)
    model = learner(kernel=lambda A, B: np.ones((len(A), len(B) + 1)))
    with pytest.raises(ValueError, match="must return an array of shape"):
        model.fit(X, y)


@pytest.mark.parametrize("learner", [L2SVC, WorstViolatorSVC])
def test_words_after_numbers(learner):
    """Nothing is left of the rows of the fit before."""
    rng = np.random.default_rng(0)
    model = learner(kernel=lambda A, B: A @ B.T).fit(rng.normal(size=(30, 3)), np.arange(30) % 2)
    X, y = words()
    model.set_params(kernel=count_common_letters).fit(X, y)
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match="at least one sample"):
        model.predict([])
