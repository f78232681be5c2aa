"""Add and forget rows of batch estimators at random, and compare with fresh fits; run as a program: many operations.

``python -m tests.retained 5000`` prints a line for each estimator.
"""

import sys
import warnings

import numpy as np
from sklearn.base import clone

from hingeline import (
    L2SVC,
    SVC,
    SVR,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    NystroemSVC,
    OneClassSVM,
    OrdinalSVC,
)

#: Estimators whose tolerance makes decision values agree to about as much. Landmarks of NystroemSVC are all rows.
MODELS = {
    "SVC": SVC(gamma=0.5, C=2.0, decision_function_shape="ovo"),
    "SVC, scale": SVC(C=2.0, class_weight="balanced", decision_function_shape="ovo"),
    "SVC, probability": SVC(gamma=0.5, probability=True, random_state=0, decision_function_shape="ovo"),
    "NuSVC": NuSVC(gamma=0.5, nu=0.2, decision_function_shape="ovo", tol=1e-5),
    "SVR": SVR(gamma=0.5, C=2.0),
    "NuSVR": NuSVR(gamma=0.5, C=2.0),
    "OneClassSVM": OneClassSVM(gamma=0.5, nu=0.2),
    "L2SVC": L2SVC(gamma=0.5, C=2.0, decision_function_shape="ovo"),
    "L2SVC, all": L2SVC(gamma=0.5, C=2.0, multi_class="all"),
    "LinearSVC": LinearSVC(tol=1e-8),
    "LinearSVC, l1": LinearSVC(penalty="l1", tol=1e-9),
    "LinearSVC, pairs": LinearSVC(multi_class="ovo", decision_function_shape="ovo", tol=1e-8),
    "LinearSVR": LinearSVR(loss="squared_epsilon_insensitive", tol=1e-8),
    "OrdinalSVC": OrdinalSVC(tol=1e-8),
    "NystroemSVC": NystroemSVC(gamma=0.5, n_components=10**6, tol=1e-8),
}
#: Largest difference of decision values, in units of the tolerance of those with one that bounds it.
FEW = {name: 10 * MODELS[name].tol for name in MODELS} | dict.fromkeys(
    [name for name in MODELS if name.startswith(("Linear", "Ordinal", "Nystroem"))], 1e-2
)


def problem(rng, n):
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=n)


def targets(model, values):
    """Targets of an estimator: three classes, numbers, or none."""
    kind = type(model).__name__
    if kind == "OneClassSVM":
        return None
    names = [3, 5, 8] if kind == "OrdinalSVC" else ["a", "b", "c"]
    return values if kind.endswith("SVR") else np.array(names)[np.digitize(values, [-0.6, 0.6])]


def arguments(X, y, rows):
    return (X[rows],) if y is None else (X[rows], y[rows])


def outputs(model, X):
    return (model.decision_function if hasattr(model, "decision_function") else model.predict)(X)


def scale(model):
    """Factor of decision values on the tolerance.

    Coefficients and decision values of NuSVC are divided by the margin r of the problem that `tol` belongs to. The
    largest coefficient is then 1 / r, up to 900 in these problems, where classes touch.
    """
    return max(1.0, np.abs(model.dual_coef_).max()) if isinstance(model, NuSVC) else 1.0


def check(model, name, X, y, held):
    """Compare with a fresh fit to the rows held, in their order."""
    fresh = clone(MODELS[name]).fit(*arguments(X, y, held))
    difference = np.abs(outputs(model, X) - outputs(fresh, X)).max()
    assert difference <= FEW[name] * scale(fresh), (name, difference)
    assert model.ids_.tolist() == (held // 2).tolist()
    assert model.n_features_in_ == 3
    if hasattr(fresh, "classes_"):
        assert np.array_equal(model.classes_, fresh.classes_)
    if hasattr(fresh, "shape_fit_"):
        assert model.shape_fit_ == fresh.shape_fit_ and np.all(np.atleast_1d(model.stop_reason_) == "tol")
        assert np.all(model.kkt_violation_ <= model.tol)
    if hasattr(fresh, "support_vectors_"):
        assert np.array_equal(model.support_vectors_, X[held][model.support_])
    if "probability" in name:
        np.testing.assert_allclose(model.predict_proba(X), fresh.predict_proba(X), atol=1e-2)


def play(name, n_operations, seed, every=1):
    """Random operations on one model; two rows have one id. Returns their number."""
    rng = np.random.default_rng(seed)
    X, values = problem(rng, 90)
    y = targets(MODELS[name], values)
    held = np.arange(40)
    model = clone(MODELS[name])
    model.fit(*arguments(X, y, held), ids=(held // 2).tolist())
    for k in range(n_operations):
        absent = np.setdiff1d(np.arange(len(X)), held)
        names = np.unique(held // 2)
        if len(absent) and (len(held) < 30 or (rng.random() < 0.5 and len(held) < 70)):
            coming = rng.choice(np.unique(absent // 2), size=rng.integers(1, 4))
            rows = np.flatnonzero(np.isin(np.arange(len(X)) // 2, coming) & np.isin(np.arange(len(X)), absent))
            model.add(*arguments(X, y, rows), ids=(rows // 2).tolist())
            held = np.concatenate([held, rows])
        else:
            gone = rng.choice(names, size=rng.integers(1, 4), replace=False)
            receipt = model.forget(gone.tolist())
            assert receipt.rows == np.isin(held // 2, gone).sum()
            held = held[~np.isin(held // 2, gone)]
        if k % every == 0:
            check(model, name, X, y, held)
    return n_operations


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    total = int(sys.argv[1])
    for name in MODELS:
        count = sum(play(name, 50, seed) for seed in range(-(-total // (50 * len(MODELS)))))
        print(f"{name}: {count} operations", flush=True)
