"""Several threads, and arrays that their owner changes later."""

import copy

import pytest

from hingeline import LASVC, KernelSGDClassifier, WorstViolatorSVC

from .citizens import MODELS, fingerprint, linear_function, problem
from .private import at_once, saved


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kernel", ["rbf", linear_function], ids=["rbf", "function"])
def test_two_fits_at_once(kernel, n_jobs):
    sets = [problem(n=700, seed=seed) for seed in (1, 2)]

    def fit(X, y):
        return fingerprint(WorstViolatorSVC(kernel=kernel, n_jobs=n_jobs).fit(X, y), X)

    alone = [fit(X, y) for X, y in sets]
    assert alone[0] != alone[1]
    assert at_once(*(lambda X=X, y=y: fit(X, y) for X, y in sets)) == alone


def test_fit_away_from_the_main_thread():
    X, y = problem()
    (model,) = at_once(lambda: WorstViolatorSVC(n_jobs=2).fit(X, y))
    assert fingerprint(model, X) == fingerprint(WorstViolatorSVC().fit(X, y), X)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("learner", [WorstViolatorSVC, LASVC, KernelSGDClassifier])
def test_predict_is_pure_and_thread_safe(learner, kind):
    make, parameters = MODELS[kind]
    X, y = problem(n=300)
    X = make(X)
    model = learner(**parameters, n_jobs=2, random_state=0).fit(X, y)
    before, expected = saved(model), fingerprint(model, X)
    again = copy.deepcopy(model)  # packed support vectors are built on demand: here by four at once
    assert at_once(*[lambda: fingerprint(again, X)] * 4) == [expected] * 4
    model.predict(X)
    assert saved(model) == before

    def learn():
        return fingerprint(learner(**parameters, random_state=0).fit(X, y), X)

    assert at_once(learn, learn) == [expected] * 2


def test_model_does_not_alias_the_data():
    X, y = problem()
    model = WorstViolatorSVC().fit(X, y)
    queries = X.copy()
    expected = fingerprint(model, queries)
    X[:] = 0.0
    y[:] = 0
    assert fingerprint(model, queries) == expected
