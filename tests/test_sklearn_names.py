"""Private names of scikit-learn, one test for each line of the table in hingeline/_sklearn.py: they do what is assumed.

A failure after an update of scikit-learn says which name changed.
"""

import email
from numbers import Integral

import numpy as np
import pandas as pd
import pytest
import sklearn
import sklearn.svm
from sklearn.base import BaseEstimator
from sklearn.datasets import make_moons
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import check_scoring, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from hingeline import _sklearn
from hingeline._registry import ESTIMATORS, class_of

from .watching import needs_callbacks

X, y = make_moons(60, random_state=0)


class Counter:
    """Callback that counts calls."""

    def __init__(self):
        self.calls = []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def on_fit_task_begin(self, estimator, context, **_):
        self.calls.append("begin")

    def on_fit_task_end(self, estimator, context, **_):
        self.calls.append("end")

    def teardown(self, estimator, context):
        self.calls.append("teardown")


class Fitted(_sklearn.CallbackSupportMixin, BaseEstimator):
    @_sklearn.with_callbacks
    def fit(self):
        context = _sklearn.context_of(self, 1)
        context.call_on_fit_task_begin(estimator=self)
        task = context.subcontext(task_name="task")
        with task.propagate_callback_context(BaseEstimator()):
            task.call_on_fit_task_begin(estimator=self)
        assert not task.call_on_fit_task_end(estimator=self)
        assert not context.call_on_fit_task_end(estimator=self)
        return self


# ---- callbacks, saved attributes -------------------------------------------------------------------------


@needs_callbacks
def test_callbacks():
    counter, model = Counter(), Fitted()
    assert list(_sklearn.callbacks_of(model)) == []
    model.set_callbacks(counter).fit()
    assert counter.calls == ["setup", "begin", "begin", "end", "end", "teardown"]
    assert _sklearn.callbacks_of(model) == [counter]
    assert set(vars(model)) <= {*_sklearn.UNSAVED}
    _sklearn.forget_callbacks(model)
    assert list(_sklearn.callbacks_of(model)) == [] and not vars(model)


def test_without_callbacks(monkeypatch):
    monkeypatch.setattr(_sklearn, "HAVE_CALLBACKS", False)
    assert isinstance(_sklearn.context_of(Fitted(), 1), _sklearn.NoContext)
    Fitted().fit()


def test_the_version_has_callbacks_or_not():
    assert _sklearn.HAVE_CALLBACKS == (tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9))


def test_requests_of_metadata_are_not_saved():
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
    assert {name for name in vars(model) if name.startswith("_")} <= set(_sklearn.UNSAVED)


# ---- validation ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_diagrams_link_to_the_documentation(name, monkeypatch):
    """As soon as [project.urls] has it; the reference has a page for each estimator."""
    model = class_of(name)()
    page = f"https://x.org/docs/reference/{name}.html"
    told = email.message_from_string("Project-URL: Documentation, https://x.org/\nProject-URL: Repository, https://y\n")
    monkeypatch.setattr(_sklearn, "metadata", lambda package: told)
    assert model._get_doc_link() == page and f'href="{page}"' in model._repr_html_()
    assert type(name, (type(model),), {})()._get_doc_link() == ""  # a derived class has no page
    monkeypatch.setattr(_sklearn, "metadata", lambda package: email.message_from_string("Name: hingeline\n"))
    assert model._get_doc_link() == "" and 'href="https://scikit-learn.org' not in model._repr_html_()


def test_check_sample_weight():
    for given in (2, np.full(60, 2, dtype=np.float32), [2.0] * 60):
        weights = _sklearn.check_sample_weight(given, X, all_zero=False)
        assert weights.dtype == np.float64 and (weights == 2).all() and weights.shape == (60,)
    assert not _sklearn.check_sample_weight(np.zeros(60), X, all_zero=True).any()
    for wrong in (np.zeros(60), -np.ones(60), np.ones(59), np.ones((60, 1)), np.full(60, np.nan)):
        with pytest.raises(ValueError, match=r"(?i)sample.weight"):
            _sklearn.check_sample_weight(wrong, X, all_zero=False)


def test_n_samples():
    assert _sklearn.n_samples(X) == _sklearn.n_samples(X.tolist()) == _sklearn.n_samples(pd.DataFrame(X)) == 60
    with pytest.raises(TypeError):
        _sklearn.n_samples(3)


def test_check_method_params():
    given = {"sample_weight": [1.0] * 59 + [2.0], "other": [1, 2], "flag": True}
    found = _sklearn.check_method_params(X, params=given, indices=np.array([0, 59]))
    assert np.asarray(found["sample_weight"]).tolist() == [1.0, 2.0]
    assert found["other"] == [1, 2] and found["flag"] is True


def test_safe_indexing():
    rows = np.array([3, 1])
    for data in (X, X.tolist(), pd.DataFrame(X)):
        np.testing.assert_array_equal(np.asarray(_sklearn.safe_indexing(data, rows)), X[rows])


def test_parameter_validation():
    @_sklearn.validate_params(
        {"n": [_sklearn.Interval(Integral, 1, None, closed="left")], "way": [_sklearn.StrOptions({"a", "b"})]},
        prefer_skip_nested_validation=False,
    )
    def function(n, way):
        return n, way

    assert function(1, "a") == (1, "a")
    for wrong in ((0, "a"), (1, "c")):
        with pytest.raises(ValueError, match=r"The '(n|way)' parameter of .*function must be"):
            function(*wrong)


def test_constraints_and_fit_context():
    @_sklearn.constrain({"C": [_sklearn.StrOptions({"best"})], "new": [int]})
    class Model(LinearSVC):
        def __init__(self, C=1.0, new=1):
            super().__init__(C=C)
            self.new = new

        @_sklearn.fit_context(prefer_skip_nested_validation=True)
        def fit(self, X, y):
            assert sklearn.get_config()["skip_parameter_validation"]
            return self

    assert _sklearn.constraints_of(Model).keys() == {*_sklearn.constraints_of(LinearSVC), "new"}
    assert "best" not in map(str, _sklearn.constraints_of(LinearSVC)["C"])  # the base class stays as it is
    for model in (Model(), Model(C="best")):
        model.fit(X, y)
    for model in (Model(C="worst"), Model(new="a")):
        with pytest.raises(ValueError, match="parameter of Model must be"):
            model.fit(X, y)


# ---- searches --------------------------------------------------------------------------------------------


class Failing(DummyClassifier):
    def fit(self, X, y):
        raise ValueError("cannot be fitted")


def cell(estimator, **more):
    options = {
        **{"scorer": check_scoring(LogisticRegression()), "train": np.arange(40), "test": np.arange(40, 60)},
        **{"verbose": 0, "parameters": {}, "fit_params": {}, "score_params": {}, "error_score": np.nan},
        **{"return_n_test_samples": True, "return_times": True, "caller": None, "callback_ctx": None},
    }
    return _sklearn.fit_and_score(estimator, X, y, **{**options, **more})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_fit_and_score():
    out = cell(LogisticRegression(), parameters={"C": 2.0}, return_train_score=True)
    model = LogisticRegression(C=2.0).fit(X[:40], y[:40])
    assert out["test_scores"] == model.score(X[40:], y[40:]) and out["train_scores"] == model.score(X[:40], y[:40])
    assert out["fit_error"] is None and out["n_test_samples"] == 20 and out["fit_time"] > 0 and out["score_time"] > 0
    assert "cannot be fitted" in cell(Failing())["fit_error"]


def test_score():
    scorer = check_scoring(LogisticRegression(), ["accuracy", "f1"])
    model = LogisticRegression().fit(X, y)
    assert set(_sklearn.score(model, X, y, scorer, {}, "raise")) == {"accuracy", "f1"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_failures_are_judged():
    good, bad = cell(LogisticRegression()), cell(Failing())
    with pytest.warns(sklearn.exceptions.FitFailedWarning, match="1 fits failed out of a total of 2"):
        _sklearn.judge_failures([good, bad], np.nan)
    with pytest.raises(ValueError, match="All the 1 fits failed"):
        _sklearn.judge_failures([bad], np.nan)
    outs = [{**good, "test_scores": {"a": 1.0}}, {**bad, "test_scores": np.nan}]
    _sklearn.insert_error_scores(outs, 0.5)
    assert outs[1]["test_scores"] == {"a": 0.5}


def test_parts_of_searches():
    search = GridSearchCV(LogisticRegression(), {"C": [1.0, 2.0]}, scoring=["accuracy", "f1"], refit="f1")
    scorer, metric = _sklearn.scorers_of(search)
    assert set(_sklearn.scorers_in(scorer)) == {"accuracy", "f1"} and metric == "f1"
    routed = _sklearn.route_parameters(search, {"groups": y, "sample_weight": np.ones(60)})
    assert routed.splitter.split["groups"] is y and set(routed.estimator.fit) == {"sample_weight"}
    assert set(routed.scorer.score) <= {"sample_weight"}
    outs = [{"fit_time": 1.0, "score_time": 1.0, "test_scores": {"accuracy": 1 - k / 9, "f1": k / 9}} for k in range(4)]
    results = _sklearn.format_results(search, [{"C": 1.0}, {"C": 2.0}], 2, outs, {"iter": [0, 0]})
    assert results["mean_test_f1"].tolist() == pytest.approx([1 / 18, 5 / 18]) and results["iter"].tolist() == [0, 0]
    assert _sklearn.best_index(search, metric, results) == 1
    _sklearn.require_refit_score(search, {"f1": 1.0})
    with pytest.raises(ValueError, match="refit"):
        _sklearn.require_refit_score(search, {"recall": 1.0})


# ---- scorers ---------------------------------------------------------------------------------------------


def test_scorers():
    plain, auc = check_scoring(LogisticRegression()), check_scoring(LogisticRegression(), "roc_auc")
    named = check_scoring(LogisticRegression(), "accuracy")
    for scorer in (plain, auc, named, len):
        assert _sklearn.scorers_in(scorer) is None
    assert _sklearn.response_methods(plain) == _sklearn.response_methods(named) == ("predict",)
    assert _sklearn.response_methods(auc) == ("decision_function", "predict_proba")
    assert _sklearn.response_methods(len) == ()
    weighted = make_scorer(sklearn.metrics.accuracy_score, normalize=False)
    assert [_sklearn.is_accuracy(one) for one in (plain, named, auc, weighted, len)] == [
        True,
        True,
        False,
        False,
        False,
    ]


# ---- machines --------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("probability", [False, True])
def test_machines_of_sklearn_svm(probability):
    model = sklearn.svm.SVC(gamma=0.5, random_state=0)
    if probability:
        model.set_params(probability=True)
    model.fit(X, y)
    sigmoids = _sklearn.sigmoids_of(model)
    assert sigmoids.shape == (2, int(probability)) and _sklearn.sigmoids_of(LinearSVC()) is None
    names = ("support_", "support_vectors_", "dual_coef_", "intercept_", "shape_fit_", "fit_status_", "classes_")
    public = {name: getattr(model, name) for name in (*names, "class_weight_", "n_features_in_", "_gamma")}
    made = _sklearn.restore_machine(
        sklearn.svm.SVC(**model.get_params()),
        public,
        coef=-model.dual_coef_,
        intercept=-model.intercept_,
        counts=model.n_support_,
        sigmoids=sigmoids,
    )
    np.testing.assert_array_equal(made.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(made.predict(X), model.predict(X))
    if probability:
        np.testing.assert_array_equal(made.predict_proba(X), model.predict_proba(X))
