"""KernelSearchCV: scores of separate fits, to the bit, and the interface of GridSearchCV."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, RepeatedStratifiedKFold, ShuffleSplit

from hingeline import LASVC, SVC, MinNormSVC, NNISDAClassifier, WorstViolatorSVC
from hingeline.model_selection import KernelSearchCV, default_param_grid

GRIDS = {
    SVC: {"C": [100.0, 0.1, 1.0, 10.0], "gamma": [0.05, 1.0, 5.0]},
    WorstViolatorSVC: {"margin": [0.3, 0.01, 1.0], "gamma": [0.05, 1.0, 5.0]},
    MinNormSVC: {"C": [0.5, 20.0], "gamma": [0.1, 1.0]},
    NNISDAClassifier: {"C": [0.5, 20.0], "gamma": [0.1, 1.0]},
}


def samples(n=90, n_classes=3, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return (rng.normal(size=(n, 4)) + 1.5 * np.eye(n_classes, 4)[y]).astype(dtype), y


def test_scores(search):
    """Return all scores of a search by name."""
    return {name: value for name, value in search.cv_results_.items() if "score" in name and "time" not in name}


test_scores.__test__ = False


def assert_same(ours, theirs):
    """Both searches have the same results, to the bit."""
    expected = test_scores(theirs)
    assert test_scores(ours).keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(ours.cv_results_[name], value, err_msg=name)
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_


def both(estimator, grid, X, y, fit=None, **options):
    """Search by KernelSearchCV and by GridSearchCV."""
    ours = KernelSearchCV(estimator, grid, **options).fit(X, y, **(fit or {}))
    return ours, GridSearchCV(clone(estimator), grid, **options).fit(X, y, **(fit or {}))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", list(GRIDS))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_are_those_of_separate_fits(estimator, n_classes, dtype):
    X, y = samples(n_classes=n_classes, dtype=dtype)
    scoring = ["accuracy", "neg_log_loss"][:1]
    ours, theirs = both(
        estimator(), GRIDS[estimator], X, y, scoring=[*scoring, "roc_auc_ovr" if n_classes > 2 else "roc_auc"],
        refit="accuracy", return_train_score=True, error_score=-1.0,
    )
    assert ours.kernel_storage_ == "matrix"
    assert_same(ours, theirs)
    np.testing.assert_array_equal(ours.decision_function(X), theirs.decision_function(X))
