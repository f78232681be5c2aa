"""Callable kernels on samples of any kind: strings, graphs, sequences of different length."""

import copy
import pickle
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import hingeline
from hingeline import LASVC, IncrementalOneClassSVM, IncrementalSVC, KernelSGDClassifier

from .copies import COPIES


def spectrum(A, B):
    """Normalised spectrum kernel of strings: cosine of the counts of their pairs of letters."""
    left, right = ([Counter(pairwise(s)) for s in some] for some in (A, B))
    dots = np.array([[sum(n * b[pair] for pair, n in a.items()) for b in right] for a in left], dtype=float)
    size = [[sum(n * n for n in one.values()) ** 0.5 for one in some] for some in (left, right)]
    return dots.reshape(len(left), len(right)) / np.outer(*size)


def words(n, seed=0, n_classes=2):
    """Random strings of different length; the letters of a class are more frequent in it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    letters = np.array(list("abcdefgh"))
    weight = np.ones((n_classes, 8)) + 2.0 * np.eye(n_classes, 8)
    drawn = (rng.choice(letters, rng.integers(5, 25), p=weight[label] / weight[label].sum()) for label in y)
    return ["".join(one) for one in drawn], y


def as_array(strings):
    found = np.empty(len(strings), dtype=object)
    found[:] = strings
    return found


CLASSIFIERS = {
    "LASVC": LASVC(kernel=spectrum, C=5.0),
    "LASVC-lasvm": LASVC(kernel=spectrum, variant="lasvm", tol=1e-3),
    "KernelSGDClassifier": KernelSGDClassifier(kernel=spectrum, variant="norma", C=20.0),
    "IncrementalSVC": IncrementalSVC(kernel=spectrum, C=5.0),
}
MODELS = {**CLASSIFIERS, "IncrementalOneClassSVM": IncrementalOneClassSVM(kernel=spectrum, nu=0.3)}
each_classifier = pytest.mark.parametrize("name", CLASSIFIERS)
each_model = pytest.mark.parametrize("name", MODELS)


def learn(model, X, y, **more):
    if isinstance(model, IncrementalOneClassSVM):
        return model.partial_fit(X)
    return model.partial_fit(X, y, **more)


@pytest.mark.parametrize("n_classes", [2, 3])
@each_classifier
def test_strings_are_learnt_as_their_numbers_are(name, n_classes):
    """The same model as from numbers of rows and a kernel that looks up the strings; text of any container."""
    X, y = words(120, n_classes=n_classes)
    table = as_array(X)
    numbers = np.arange(120.0)[:, np.newaxis]

    def lookup(A, B):
        return spectrum(table[A[:, 0].astype(int)], table[B[:, 0].astype(int)])

    model, other = clone(MODELS[name]).fit(X, y), clone(MODELS[name]).set_params(kernel=lookup).fit(numbers, y)
    assert model.dual_coef_.tobytes() == other.dual_coef_.tobytes()
    assert model.decision_function(X).tobytes() == other.decision_function(numbers).tobytes()
    assert model.predict(X).tolist() == other.predict(numbers).tolist()
    assert model.support_vectors_.tolist() == table[model.support_].tolist()
    assert model.score(X, y) > 0.7
    assert not hasattr(model, "n_features_in_")
    for container in (tuple, np.array, as_array):
        assert model.decision_function(container(X)).tobytes() == model.decision_function(X).tobytes()


@each_model
def test_streams_of_strings(name):
    X, y = words(150)
    model = clone(MODELS[name])
    learn(model, X[:40], y[:40], **({} if name == "IncrementalOneClassSVM" else {"classes": [0, 1]}))
    whole = pickle.loads(pickle.dumps(model))
    for at in range(40, 150, 11):
        learn(model, X[at : at + 11], y[at : at + 11])
        for copied in COPIES.values():
            assert copied(model).decision_function(X[:5]).tobytes() == model.decision_function(X[:5]).tobytes()
    learn(whole, as_array(X[40:]), y[40:])
    assert model.n_samples_seen_ == whole.n_samples_seen_ == 150
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-9)
    assert set(model.support_vectors_) <= set(X)
    again = pickle.loads(pickle.dumps(model))
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    np.testing.assert_allclose(
        learn(again, X[:9], y[:9]).decision_function(X), learn(model, X[:9], y[:9]).decision_function(X), atol=1e-12
    )


@pytest.mark.parametrize("name", ["IncrementalSVC", "IncrementalOneClassSVM"])
def test_strings_are_forgotten(name):
    X, y = words(60)
    model = clone(MODELS[name])
    if name == "IncrementalSVC":
        model.fit(X, y)
        ids = model.add(["aab" * 5, "bbc" * 5, "hgh" * 5], [0, 1, 0])
        alone = clone(model).fit(X[5:], y[5:])
    else:
        model.fit(X)
        ids = model.add(["aab" * 5, "bbc" * 5, "hgh" * 5])
        alone = clone(model).fit(X[5:])
    model.forget([*ids, *range(5)])
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-9)
    assert model.kkt_violation_ < 1e-9
    saved = pickle.dumps(model)
    assert b"aabaab" not in saved and b"hghhgh" not in saved and not any(one.encode() in saved for one in X[:5])


def test_a_window_of_strings_keeps_no_others():
    X, _ = words(200)
    model = IncrementalOneClassSVM(kernel=spectrum, nu=0.3, window=20)
    for one in X:
        model.partial_fit([one])
    saved = pickle.dumps(model)
    assert [one.encode() in saved for one in X] == [k >= 180 for k in range(200)]
    assert len(model._model.objects) <= 60


def test_paths_and_leave_one_out_of_strings():
    X, y = words(40)
    model = IncrementalSVC(kernel=spectrum, C=2.0).fit(X, y)
    path = model.c_path([0.5, 2.0], X)
    np.testing.assert_allclose(path.decision[1], model.decision_function(X), atol=1e-9)
    left = model.leave_one_out()
    rest = IncrementalSVC(kernel=spectrum, C=2.0).fit(X[1:], y[1:])
    np.testing.assert_allclose(left.decision[0], rest.decision_function(X[:1])[0], atol=1e-9)


class Tree:
    """A sample that is no sequence."""

    def __init__(self, size):
        self.size = size


def tree_kernel(A, B):
    return np.exp(-(np.subtract.outer([tree.size for tree in A], [tree.size for tree in B]) ** 2.0))


def ends(A, B):
    """Kernel of sequences by their first and last numbers."""
    left, right = (np.array([(one[0], one[-1]) for one in some], dtype=float).reshape(-1, 2) for some in (A, B))
    return np.exp(-np.square(left[:, np.newaxis] - right).sum(axis=2))


@each_classifier
def test_other_objects(name):
    y = np.arange(30) % 2
    trees = [Tree(k % 2 + 0.01 * k) for k in range(30)]
    model = clone(MODELS[name]).set_params(kernel=tree_kernel).fit(trees, y)
    assert model.score(trees, y) == 1.0
    series = [np.linspace(k % 2, k % 2 + 1, 3 + k % 4) for k in range(30)]
    model = clone(model).set_params(kernel=ends).fit(series, y)
    assert model.score(series, y) == 1.0
    assert model.predict(series[:1]).tolist() == [0]
    # Sequences of one length are still objects in this model.
    assert model.predict([[0.0, 0.5, 1.0], [1.0, 1.5, 2.0]]).tolist() == [0, 1]


@each_model
def test_objects_and_numbers_do_not_mix(name):
    X, y = words(30)
    model = clone(MODELS[name])
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, y)
    before = model.decision_function(X).tobytes()
    for bad in ([], as_array([])):
        with pytest.raises(ValueError, match="at least one sample"):
            model.predict(bad)
    with pytest.raises(ValueError, match="X must be a sequence of objects"):
        model.predict("abcdef")
    if name != "IncrementalOneClassSVM":
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.partial_fit(X, y[:-1])
        with pytest.raises(ValueError, match="y to be passed"):
            model.fit(X, None)
    assert model.decision_function(X).tobytes() == before
    rows = np.random.default_rng(0).normal(size=(30, 2))
    model.set_params(kernel=lambda A, B: A @ B.T).fit(rows, y)
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match=r"X must be a table of numbers, as in the first call. Got list"):
        model.predict(X)
    model.set_params(kernel=spectrum).fit(X, y)
    assert not hasattr(model, "n_features_in_") and model.decision_function(X).tobytes() == before


@each_model
def test_a_failing_chunk_of_strings_changes_nothing(name):
    X, y = words(40)
    model = clone(MODELS[name]).fit(X[:30], y[:30])
    before = model.decision_function(X).tobytes()
    with pytest.raises(TypeError):
        learn(model, [*X[30:35], None], y[30:36])
    assert model.decision_function(X).tobytes() == before and model.n_samples_seen_ == 30
    other = copy.deepcopy(model)
    assert learn(other, X[30:], y[30:]).decision_function(X).tobytes() == (
        learn(model, X[30:], y[30:]).decision_function(X).tobytes()
    )


@each_model
def test_model_files_hold_strings_but_no_other_objects(name, tmp_path):
    X, y = words(30)
    model = clone(MODELS[name]).fit(X, y)
    hingeline.save(model, tmp_path / "model")
    again = hingeline.load(tmp_path / "model", functions={"kernel": spectrum})
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    learn(again, X[:3], y[:3])
    model = clone(model).set_params(kernel=tree_kernel).fit([Tree(k % 2) for k in range(30)], y)
    with pytest.raises(TypeError, match=r"Tree, which a model file cannot store. Use .* or pickle"):
        hingeline.save(model, tmp_path / "other")


def test_checkpoints_of_strings(tmp_path):
    X, y = words(60)
    functions = {"kernel": spectrum}
    with hingeline.Checkpoint(tmp_path / "run", LASVC(kernel=spectrum), every=20, functions=functions) as run:
        for at in range(0, 50, 10):
            run.learn(X[at : at + 10], y[at : at + 10], classes=[0, 1])
        expected = run.model.decision_function(X)
    with hingeline.Checkpoint(tmp_path / "run", functions=functions) as run:
        assert run.model.n_samples_seen_ == 50
        assert run.model.decision_function(X).tobytes() == expected.tobytes()
    with hingeline.Checkpoint(tmp_path / "trees", LASVC(kernel=tree_kernel)) as run:
        with pytest.raises(TypeError, match="Tree, which a model file cannot store"):
            run.learn([Tree(1), Tree(2)], [0, 1], classes=[0, 1])
        with pytest.raises(NotFittedError):
            run.model.predict([Tree(1)])
