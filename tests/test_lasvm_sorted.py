"""Streams sorted by class, and labels that come late."""

import warnings

import numpy as np
import pytest

from hingeline import LASVC, KernelSGDClassifier

from .data import blobs
from .online import VARIANTS, same, stream
from .private import machine_state


def overlapping(n, seed=0):
    """Samples and test samples of two classes, one after the other, 2 to 1."""
    random = np.random.default_rng(seed)

    def draw(n):
        y = np.repeat([0, 1], [2 * n // 3, n - 2 * n // 3])
        return random.normal(size=(n, 2)) + 1.7 * y[:, None], y

    return *draw(n), *draw(2000)


def accuracy(model, order, data, **options):
    X, y, X_test, y_test = data
    return stream(model, X[order], y[order], [500, 1300], **options).score(X_test, y_test)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_sorted_streams_are_learnt_like_shuffled_ones(variant, backwards):
    data = overlapping(2400)
    by_class = np.arange(2400)[:: -1 if backwards else 1]
    shuffled = np.random.default_rng(1).permutation(2400)
    options = {"variant": variant, "gamma": 0.5}
    wanted = accuracy(LASVC(**options), shuffled, data)
    assert accuracy(LASVC(**options), by_class, data) > wanted - 0.03
    paper = {**options, "solver_options": {"reprocess": "paper"}}
    if variant != "full":  # as published: what is cleaned is forgotten
        assert accuracy(LASVC(**paper), by_class, data) < wanted - 0.03


@pytest.mark.parametrize("variant", ["nc", "g", "i", "lasvm"])
def test_a_sample_stands_for_the_examples_removed(variant):
    X, y, _, _ = overlapping(2400)
    weights = np.random.default_rng(2).uniform(0.5, 1.5, 2400)
    options = {"clean_period": 64, "max_non_sv": 5}
    model = LASVC(variant=variant, C=2.0, gamma=0.5, solver_options=options)
    model.partial_fit(X[:1600], y[:1600], [0, 1], sample_weight=weights[:1600])
    state = machine_state(model)
    assert (~state["dead"]).sum() < 64 + 50 + len(model.support_) and state["removed"][0] > 0
    model.partial_fit(X[1600:1601], y[1600:1601], sample_weight=weights[1600:1601])
    state = machine_state(model)
    of_zero = ~state["dead"] & (state["box"] < 0)
    np.testing.assert_allclose(-state["box"][of_zero].sum(), 2.0 * weights[:1600].sum(), rtol=1e-12)
    assert state["removed"].tolist() == [0.0, 0.0]


def test_random_order_has_no_runs():
    X, y, _, _ = overlapping(2400)
    order = np.random.default_rng(0).permutation(2400)
    state = machine_state(stream(LASVC(gamma=0.5), X[order], y[order]))
    assert set(np.abs(state["box"])) == {1.0} and state["removed"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_label_that_comes_late_meets_the_examples_held(variant, multi_class):
    X, y = blobs(600, 3, seed=5)
    order = np.argsort(y, kind="stable")
    options = {"variant": variant, "multi_class": multi_class, "gamma": 0.3}
    late = stream(LASVC(**options), X[order], y[order], classes=[0, 1])
    cut = stream(LASVC(**options), X[order], y[order], [7, 250, 411, 412], classes=[0, 1])
    same(late, cut)
    shuffled = LASVC(**options).fit(X, y)
    assert late.score(X, y) > shuffled.score(X, y) - 0.05
    assert late.n_samples_seen_ == 600


# ---- warnings ------------------------------------------------------------------------------------------


def warned(X, y, cuts, learner=KernelSGDClassifier, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stream(learner(gamma=0.5, **options), X, y, cuts)
    return [str(w.message) for w in caught if "random order" in str(w.message)]


@pytest.mark.parametrize("cuts", [(), range(1, 1200), range(100, 1200, 100)], ids=["one", "rows", "chunks"])
def test_a_sorted_stream_of_gradients_warns_once(cuts):
    X, y, _, _ = overlapping(1200)
    (only,) = warned(X, y, cuts)
    assert "label 0 has been missing for" in only
    shuffled = np.random.default_rng(0).permutation(1200)
    assert not warned(X[shuffled], y[shuffled], cuts)


@pytest.mark.parametrize("cuts", [(), range(1, 2400, 7), range(100, 2400, 100)], ids=["one", "few", "chunks"])
def test_lasvc_warns_where_its_sample_is_not_all(cuts):
    X, y, _, _ = overlapping(2400)
    (only,) = warned(X, y, cuts, LASVC)
    assert "label 0 has been missing for" in only and "at most 1,000 of its 1,600 samples" in only
    enough = {"solver_options": {"max_non_sv": 160}}
    for options in (enough, {"solver_options": {"clean_period": None}}, {"variant": "full"}):
        assert not warned(X, y, cuts, LASVC, **options)
    assert warned(X, y, cuts, LASVC, solver_options={"reprocess": "paper", "max_non_sv": 160})
    shuffled = np.random.default_rng(0).permutation(2400)
    assert not warned(X[shuffled], y[shuffled], cuts, LASVC, solver_options={"max_non_sv": 1})


def test_rare_labels_in_random_order_do_not_warn():
    random = np.random.default_rng(0)
    y = (random.uniform(size=20_000) < 0.003).astype(int)
    assert not warned(random.normal(size=(20_000, 1)) + 3.0 * y[:, None], y, range(50, 20_000, 50), C=0.1)


def test_the_warning_of_a_sorted_stream_names_the_line():
    X, y, _, _ = overlapping(600)
    with pytest.warns(UserWarning, match="forgets what does not come again") as caught:
        KernelSGDClassifier(gamma=0.5).partial_fit(X, y, [0, 1])
    assert caught[0].filename == __file__
