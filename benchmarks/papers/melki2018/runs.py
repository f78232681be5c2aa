"""One run of each kind; the functions are named by Job.kind. Seconds are processor time."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import mode
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.neighbors import NearestNeighbors

from benchmarks.papers.frame import cpu_timed
from hingeline.model_selection import KernelSearchCV

from . import data, settings
from .methods import MACHINES, make

Grid = dict[str, tuple[Any, ...]]


def warm_up() -> None:
    """What is loaded at first use is not part of the first time."""
    X, y = np.eye(8), np.tile([0, 1], 4)
    for method in settings.METHODS:
        cell = {key: values[0] for key, values in settings.METHODS[method].grid.items()}
        _quiet_fit(make(method, 1, **cell | ({"n_neighbors": 1} if method == settings.KNN else {})), X, y).predict(X)


def nested(name: str, method: str, fold: int, n_jobs: int) -> dict[str, Any]:
    """One outer fold: choose a cell by inner cross-validation, fit it to the training part, predict the test part."""
    X, y, X_test, y_test = data.fold(name, fold)
    (cell, inner), searching = cpu_timed(
        lambda: _search(method, settings.METHODS[method].grid, X, y, n_jobs, settings.strategy(name, method))
    )
    model, fitting = cpu_timed(lambda: _quiet_fit(make(method, n_jobs, **cell), X, y))
    predicted, predicting = cpu_timed(lambda: model.predict(X_test))
    correct = int(np.sum(predicted == y_test))
    told = {"correct": correct, "rows": len(y_test), "n_train": len(y), "chosen": cell, "inner": inner}
    told |= {"searching": searching, "seconds": searching + fitting + predicting}
    if method in MACHINES:
        told["n_support"] = len(model.support_)
    return told


def cell(name: str, method: str, n_jobs: int) -> dict[str, Any]:
    """One fit to the training part of the first outer fold, and the accuracy on its test part."""
    X, y, X_test, y_test = data.fold(name, 0)
    values = {"C": settings.CELL_C, "gamma": settings.CELL_GAMMA}
    values = {key: value for key, value in values.items() if key in settings.METHODS[method].grid}
    model = make(method, n_jobs, **values)
    _, seconds, finished = _within_limit(lambda: _quiet_fit(model, X, y))
    told: dict[str, Any] = {"seconds": seconds, "finished": finished, "n_train": len(y)}
    return told | ({"correct": int(np.sum(model.predict(X_test) == y_test)), "rows": len(y_test)} if finished else {})


def limited(name: str, method: str, n_jobs: int) -> dict[str, Any]:
    """CPU seconds of the first outer fold by the steps of a paper, at most settings.LIMIT."""
    _, seconds, finished = _within_limit(lambda: nested(name, method, 0, n_jobs))
    return {"seconds": seconds, "finished": finished}


def _within_limit(work: Callable[[], Any]) -> tuple[Any, float, bool]:
    """What `work` returns, its CPU seconds, and whether it ended; it is stopped after settings.LIMIT."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, settings.LIMIT)
    try:
        return *cpu_timed(work), True
    except TimeoutError:
        return None, float(settings.LIMIT), False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _search(
    method: str, grid: Grid, X: Any, y: np.ndarray, n_jobs: int, strategy: str = "grid"
) -> tuple[dict[str, Any], float]:
    """First cell with the highest mean accuracy over the inner folds, and this accuracy."""
    folds = StratifiedKFold(settings.INNER, shuffle=True, random_state=settings.SEED)
    if method in MACHINES:
        search = KernelSearchCV(
            make(method, 1),
            grid,
            search=strategy,
            cv=folds,
            refit=False,
            n_jobs=n_jobs,
            memory_limit=settings.MEMORY_MB,
        )
        _quiet_fit(search, X, y)
        return search.best_params_, float(search.best_score_)
    cells = list(ParameterGrid(grid))
    scores = np.zeros((settings.INNER, len(cells)))
    predictions = _neighbours if method == settings.KNN else partial(_fits, method, n_jobs)
    for k, (train, test) in enumerate(folds.split(np.zeros(len(y)), y)):
        for place, found in enumerate(predictions(cells, X[train], y[train], X[test])):
            scores[k, place] = np.mean(found == y[test])
    means = scores.mean(axis=0)
    best = int(np.argmax(means))
    return cells[best], float(means[best])


def _fits(method: str, n_jobs: int, cells: list[Any], X: Any, y: np.ndarray, X_test: Any) -> Iterator[np.ndarray]:
    """Predictions of each cell, by a fit of its own."""
    for cell in cells:
        yield _quiet_fit(make(method, n_jobs, **cell), X, y).predict(X_test)


def _neighbours(cells: list[Any], X: Any, y: np.ndarray, X_test: Any) -> Iterator[np.ndarray]:
    """Predictions of KNN for each number of neighbours, from one list of neighbours."""
    classes, codes = np.unique(y, return_inverse=True)
    most = min(max(cell["n_neighbors"] for cell in cells), len(y))
    near = codes[NearestNeighbors(n_neighbors=most).fit(X).kneighbors(X_test, return_distance=False)]
    for cell in cells:
        yield classes[mode(near[:, : cell["n_neighbors"]], axis=1).mode]


def _quiet_fit(model: Any, X: Any, y: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Feature .* is constant", UserWarning)
        return model.fit(X, y)


def boundary(n: int, n_jobs: int) -> dict[str, Any]:
    """Figure 1.1: decision values of OLLAWV and SVC on a grid of points, and errors on many new points."""
    X, y = data.two_normals(n, settings.SEED)
    X_test, y_test = data.two_normals(settings.TEST_POINTS, settings.SEED + 1)
    x0, x1, y0, y1 = settings.PLANE
    across, up = np.linspace(x0, x1, settings.GRID_POINTS), np.linspace(y0, y1, settings.GRID_POINTS)
    plane = np.column_stack([part.ravel() for part in np.meshgrid(across, up)])
    best = np.where(data.bayes_margin(X_test) > 0, 1, -1)
    told: dict[str, Any] = {"bayes": float(np.mean(best != y_test))}
    for method in (settings.OLLAWV, settings.SVC_):
        cells = {"gamma": settings.BOUNDARY_GAMMAS}
        if method == settings.SVC_:
            cells["C"] = settings.BOUNDARY_CS
        cell, _ = _search(method, cells, X, y, n_jobs)
        model = _quiet_fit(make(method, n_jobs, **cell), X, y)
        found = model.predict(X_test)
        values = {"plane": [float(f"{v:.4g}") for v in model.decision_function(plane)], "chosen": cell}
        values |= {"error": float(np.mean(found != y_test)), "unlike_bayes": float(np.mean(found != best))}
        told[method] = {**values, "n_support": len(model.support_)}
    return told
