"""Estimators of the study by name, with the parameters of one cell of their grid."""

from __future__ import annotations

from typing import Any

from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer
from sklearn.tree import DecisionTreeClassifier

from hingeline import L2SVC, SVC, WorstViolatorSVC

from .settings import CAPPED, HALF, MARGIN, MNSVM, NNISDA, OLLAWV, OPTIMUM, SEARCHED, SEED, SOLVERS, SVC_

BINS = 10
MACHINES = {
    OLLAWV: WorstViolatorSVC,
    CAPPED: WorstViolatorSVC,
    SEARCHED: WorstViolatorSVC,
    OPTIMUM: L2SVC,
    NNISDA: L2SVC,
    MNSVM: L2SVC,
    SVC_: SVC,
}
#: Parameters that are not searched, other than the defaults.
FIXED = {
    OLLAWV: {"margin": MARGIN},
    CAPPED: {"margin": MARGIN, "cap": HALF},
    **{method: {"solver": solver} for method, solver in SOLVERS.items()},
}


def make(method: str, n_jobs: int, **cell: Any) -> BaseEstimator:
    """Estimator with the parameters of a cell."""
    if method in MACHINES:
        return MACHINES[method](n_jobs=n_jobs, **FIXED.get(method, {}), **cell)
    return OTHERS[method](**cell)


def _bayes(kernel_estimation: bool) -> BaseEstimator:
    dense = FunctionTransformer(_dense)
    if not kernel_estimation:
        return make_pipeline(dense, GaussianNB())
    bins = KBinsDiscretizer(BINS, encode="ordinal", strategy="uniform", subsample=None)
    return make_pipeline(dense, bins, CategoricalNB(min_categories=BINS))


def _dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X


def _j48(ccp_alpha: float) -> BaseEstimator:
    return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, ccp_alpha=ccp_alpha, random_state=SEED)


def _jrip(max_leaf_nodes: int | None) -> BaseEstimator:
    return DecisionTreeClassifier(max_leaf_nodes=max_leaf_nodes, min_samples_leaf=2, random_state=SEED)


def _logistic(C: float) -> BaseEstimator:
    return LogisticRegression(C=C, max_iter=200)


OTHERS = {"knn": KNeighborsClassifier, "j48": _j48, "jrip": _jrip, "bayes": _bayes, "logistic": _logistic}
