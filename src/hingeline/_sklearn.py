"""The one door to the insides of scikit-learn: no other module uses its private or experimental names.

These names may change with every release. Each line has a test in ``tests/test_sklearn_names.py``.

==================================================  ==============================================================
name in scikit-learn                                name here
==================================================  ==============================================================
``sklearn.callback`` (experimental, since 1.9)      CallbackSupportMixin, with_callbacks, context_of, callbacks_of,
                                                    forget_callbacks; older versions have no callbacks
``_skl_callbacks``, ``_metadata_request``, ...      UNSAVED
``utils.validation._check_sample_weight``           check_sample_weight
``utils.validation._num_samples``                   n_samples
``utils.validation._check_method_params``           check_method_params
``utils._safe_indexing``                            safe_indexing
``utils._param_validation``                         Interval, StrOptions, validate_params
``base._fit_context``, ``_parameter_constraints``   fit_context, constrain, constraints_of
``model_selection._validation``                     fit_and_score, score, insert_error_scores, judge_failures
private methods of GridSearchCV                     scorers_of, route_parameters, format_results, require_refit_score,
                                                    best_index
``metrics._scorer``, attributes of scorers          scorers_in, response_methods, is_accuracy
private attributes of SVC and OneClassSVM           restore_machine, sigmoids_of; ``_gamma``, as in estimators here
``_get_doc_link`` of BaseEstimator                  DocumentationLink
==================================================  ==============================================================

Modules that take long to import are imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import metadata
from inspect import signature
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions, validate_params
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight
from sklearn.utils.validation import _num_samples as n_samples

from ._registry import row_of

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAVE_CALLBACKS = True
except ImportError:
    HAVE_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement of scikit-learn's mixin where it does not exist."""

    def with_callbacks(method: Any) -> Any:
        """Replacement of scikit-learn's decorator."""
        return method


__all__ = [
    "HAVE_CALLBACKS",
    "CallbackSupportMixin",
    "DocumentationLink",
    "Interval",
    "StrOptions",
    "check_method_params",
    "fit_context",
    "n_samples",
    "safe_indexing",
    "validate_params",
    "with_callbacks",
]

T = TypeVar("T", bound=type)


class DocumentationLink:
    """Mixin: the diagram of an estimator in a notebook links to its page in our documentation."""

    def _get_doc_link(self) -> str:
        """Address of the page; empty for derived classes, and if the package names no documentation."""
        urls = dict(line.split(", ", 1) for line in metadata(__package__).get_all("Project-URL") or ())
        if row_of(type(self)) is None or "Documentation" not in urls:
            return ""
        return f"{urls['Documentation'].rstrip('/')}/docs/reference/{type(self).__name__}.html"


#: Attributes of estimators that are not saved: callbacks, which are code, and requests of metadata routing.
UNSAVED = ("_skl_callbacks", "_skl_callbacks_to_teardown", "_parent_callback_ctx", "_metadata_request")


# ---- callbacks ---------------------------------------------------------------------------------------


class NoContext:
    """Context of a task without callbacks, with the methods of scikit-learn's."""

    def subcontext(self, **_: Any) -> Self:
        return self

    def call_on_fit_task_begin(self, **_: Any) -> Self:
        return self

    def call_on_fit_task_end(self, **_: Any) -> bool:
        return False

    def propagate_callback_context(self, _: Any) -> AbstractContextManager[None]:
        return nullcontext()


def context_of(estimator: Any, max_subtasks: int) -> Any:
    """Context of the callbacks of a fit that begins."""
    return estimator._init_callback_context(max_subtasks=max_subtasks) if HAVE_CALLBACKS else NoContext()


def callbacks_of(estimator: Any) -> list[Any]:
    """Callbacks that were set on an estimator."""
    return getattr(estimator, "_skl_callbacks", [])


def forget_callbacks(estimator: Any) -> None:
    """Remove the callbacks of an estimator."""
    vars(estimator).pop("_skl_callbacks", None)


# ---- validation --------------------------------------------------------------------------------------


def _choose_options(function: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """Those options that a function has in the installed version."""
    return {name: value for name, value in options.items() if name in signature(function).parameters}


def check_sample_weight(sample_weight: Any, X: Any, *, all_zero: bool, negative: bool = False) -> np.ndarray:
    """Weights in double; `all_zero` and `negative` say whether they may be so (scikit-learn 1.9 rejects zeros)."""
    options = _choose_options(_check_sample_weight, allow_all_zero_weights=True)
    weights: np.ndarray = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=not negative, **options
    )
    if not all_zero and not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def constraints_of(kind: type) -> dict[str, Any]:
    """Constraints of the parameters of a class."""
    return dict(kind._parameter_constraints)  # type: ignore[attr-defined]


def constrain(more: Mapping[str, list[Any]]) -> Callable[[T], T]:
    """Decorator of a class derived from one of scikit-learn's: allow more values of its parameters."""

    def add_constraints(kind: T) -> T:
        known = constraints_of(kind)
        added = {name: [*known.get(name, []), *values] for name, values in more.items()}
        kind._parameter_constraints = known | added  # type: ignore[attr-defined]
        return kind

    return add_constraints


# ---- searches ----------------------------------------------------------------------------------------


def fit_and_score(*args: Any, caller: Any, callback_ctx: Any, **options: Any) -> dict[str, Any]:
    """Fit one candidate of a search on one split, and score it. Older versions do not call callbacks."""
    from sklearn.model_selection._validation import _fit_and_score

    found: dict[str, Any] = _fit_and_score(
        *args, **options, **_choose_options(_fit_and_score, caller=caller, callback_ctx=callback_ctx)
    )
    return found


def score(*args: Any) -> Any:
    """Score of a fitted estimator by a scorer, or by name from a scorer for several scores."""
    from sklearn.model_selection._validation import _score

    return _score(*args)


def insert_error_scores(outs: list[dict[str, Any]], error_score: Any) -> None:
    """Replace the scores of fits that failed."""
    from sklearn.model_selection._validation import _insert_error_scores

    _insert_error_scores(outs, error_score)


def judge_failures(outs: list[dict[str, Any]], error_score: Any) -> None:
    """Warn of fits that failed; raise ValueError if all did."""
    from sklearn.model_selection._validation import _warn_or_raise_about_fit_failures

    _warn_or_raise_about_fit_failures(outs, error_score)


def scorers_of(search: Any) -> tuple[Any, Any]:
    """Scorer of a search and the name of the score that decides."""
    scorer, metric = search._get_scorers()
    return scorer, metric


def route_parameters(search: Any, params: Mapping[str, Any]) -> Any:
    """Parameters of ``fit`` of a search by receiver: ``estimator.fit``, ``splitter.split``, ``scorer.score``."""
    return search._get_routed_params_for_fit(params)


def format_results(search: Any, *args: Any) -> dict[str, Any]:
    """Attribute ``cv_results_`` from candidates, the number of splits, results of cells, and more columns."""
    results: dict[str, Any] = search._format_results(*args)
    return results


def require_refit_score(search: Any, scores: Mapping[str, Any]) -> None:
    """Raise ValueError if `refit` of a search is none of several scores."""
    search._check_refit_for_multimetric(scores)


def best_index(search: Any, metric: Any, results: dict[str, Any]) -> int:
    """Index of the best candidate."""
    index: int = search._select_best_index(search.refit, metric, results)
    return index


# ---- scorers -----------------------------------------------------------------------------------------


def scorers_in(scorer: Any) -> dict[str, Any] | None:
    """Scorers by name of a scorer for several scores; None for other scorers."""
    from sklearn.metrics._scorer import _MultimetricScorer

    return scorer._scorers if isinstance(scorer, _MultimetricScorer) else None


def response_methods(scorer: Any) -> tuple[str, ...]:
    """Methods of an estimator, the first of which that exists a scorer for one score calls; none if unknown."""
    from sklearn.metrics._scorer import _BaseScorer, _PassthroughScorer

    if isinstance(scorer, _PassthroughScorer):  # score() of a classifier
        return ("predict",)
    method = scorer._response_method if isinstance(scorer, _BaseScorer) else ()
    return (method,) if isinstance(method, str) else tuple(method)


def is_accuracy(scorer: Any) -> bool:
    """Whether a scorer of classifiers is the accuracy: ``scoring=None`` or 'accuracy'."""
    from sklearn.metrics import accuracy_score
    from sklearn.metrics._scorer import _BaseScorer, _PassthroughScorer

    if isinstance(scorer, _PassthroughScorer):
        return True
    return isinstance(scorer, _BaseScorer) and scorer._score_func is accuracy_score and not scorer._kwargs


# ---- machines of sklearn.svm -------------------------------------------------------------------------


def sigmoids_of(model: Any) -> np.ndarray | None:
    """Slopes and offsets of the sigmoids of a fitted SVC of scikit-learn; None for other estimators."""
    return np.array([model._probA, model._probB]) if hasattr(model, "_probA") else None


def restore_machine(
    estimator: Any, attributes: Mapping[str, Any], *, coef: Any, intercept: Any, counts: Any, sigmoids: np.ndarray
) -> Any:
    """Estimator of :mod:`sklearn.svm` with fitted attributes, and with private ones that have LIBSVM's signs.

    Parameters
    ----------
    estimator : SVC or OneClassSVM
        Estimator of scikit-learn.
    attributes : dict
        Public attributes, and ``_gamma``.
    coef, intercept, counts : array-like
        Coefficients, intercepts and numbers of support vectors by class, as in LIBSVM.
    sigmoids : ndarray of shape (2, n_pairs)
        Slopes and offsets.
    """
    vars(estimator).update(
        attributes,
        _sparse=not isinstance(attributes["support_vectors_"], np.ndarray),
        _n_support=np.asarray(counts, dtype=np.int32),
        _dual_coef_=coef,
        _intercept_=intercept,
        _probA=sigmoids[0],
        _probB=sigmoids[1],
        _effective_probability=bool(sigmoids.size),  # since 1.9
        _num_iter=np.zeros(1, dtype=np.int32),
    )
    return estimator
