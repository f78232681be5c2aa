"""The battery `hingeline.testing`: a sound estimator passes, and each way to break it is found by the check for it."""

import contextlib
import copy
import signal
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from hingeline.testing import check_online_estimator, online_checks, parametrize_with_online_checks


class Parzen(ClassifierMixin, BaseEstimator):
    """Sum of kernel values per class: the simplest classifier that learns online and forgets."""

    def __init__(self, *, kernel="linear", class_weight=None, cache_size=200, n_jobs=None, window=None):
        self.kernel = kernel
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.window = window

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Points are tuples (id, row, label, weight); a list of them is never changed but replaced.

    def fit(self, X, y, sample_weight=None):
        before = dict(vars(self))
        self.reset()
        try:
            return self.partial_fit(X, y, np.unique(y), sample_weight)
        except (Exception, SystemExit):
            vars(self).clear()
            vars(self).update(before)
            raise

    def reset(self):
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if not hasattr(self, "points_"):
            self.require_classes(classes)
        self.learn(X, y, classes, sample_weight)
        return self

    def add(self, X, y, sample_weight=None):
        return self.learn(X, y, None, sample_weight)

    def learn(self, X, y, classes, sample_weight):
        before = dict(vars(self))
        try:
            rows, y, weights = self.validate(X, y, sample_weight)
            self.classes_ = self.union(getattr(self, "classes_", ()), [] if classes is None else classes, y)
            seen = getattr(self, "n_samples_seen_", 0)
            points = list(getattr(self, "points_", []))
            self.learn_rows(points, zip(range(seen, seen + len(y)), rows, y.tolist(), weights.tolist(), strict=True))
        except (Exception, SystemExit) as error:
            self.restore(before, error)
            raise
        return [point[0] for point in self.points_[-len(y) :]]

    def restore(self, before, error):
        vars(self).clear()
        vars(self).update(before)

    def learn_rows(self, points, new):
        n = getattr(self, "n_samples_seen_", 0)
        try:
            for point in new:
                self.values(point[1][None], point[1][None])
                points.append(point)
                n += 1
        except KeyboardInterrupt:
            self.publish(points, n)
            raise
        self.publish(points, n)

    def publish(self, points, n):
        self.points_, self.n_samples_seen_ = points[-(self.window or 10**9) :], n

    def validate(self, X, y, sample_weight):
        first = not hasattr(self, "points_")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, reset=first)
        if y.dtype.kind == "f" and (y != np.round(y)).any():
            raise ValueError("labels are continuous")
        if not first and self.classes_.dtype.kind != y.dtype.kind:
            raise ValueError("labels of another type")
        rows = self.dense(X)
        if np.abs(rows).max() > 1e100:
            raise ValueError("rows are too large")
        weights = np.ones(len(y)) if sample_weight is None else np.array(sample_weight, dtype=float)
        if weights.shape != y.shape or not (weights >= 0).all() or weights.max() > 1e100:
            raise ValueError("sample_weight")
        return rows, y, weights * self.weights_of(y)

    def dense(self, X):
        return X.toarray() if sp.issparse(X) else np.array(X)

    def weights_of(self, y):
        weights = self.class_weight or {}
        if not isinstance(weights, dict) or any(isinstance(key, str) != (y.dtype.kind == "U") for key in weights):
            raise ValueError("class_weight")
        if any(weight < 0 for weight in weights.values()):
            raise ValueError("class_weight is negative")
        return np.array([weights.get(label, 1.0) for label in y.tolist()])

    def require_classes(self, classes):
        if classes is None or np.ndim(classes) != 1 or len(np.unique(classes)) < 2:
            raise ValueError("classes: two labels or more")
        if np.asarray(classes).dtype.kind == "f" and np.isnan(classes).any():
            raise ValueError("classes: NaN")

    @staticmethod
    def union(*parts):
        return np.unique(np.concatenate([np.asarray(part) for part in parts if len(part)]))

    def values(self, A, B):
        if not callable(self.kernel):
            return np.einsum("ik,jk->ij", A, B) ** 2 + 1.0
        values = np.asarray(self.kernel(A, B))
        if values.shape != (len(A), len(B)) or values.dtype.kind != "f" or not np.isfinite(values).all():
            raise ValueError("kernel values")
        return values

    @property
    def ids_(self):
        return [point[0] for point in self.points_]

    @property
    def n_samples_(self):
        return len(self.points_)

    def forget(self, ids):
        check_is_fitted(self)
        ids = [ids] if isinstance(ids, str | int) else list(ids)
        if any(isinstance(name, bool) or not isinstance(name, str | int) for name in ids):
            raise TypeError("ids are numbers or words")
        if not set(ids) <= set(self.ids_):
            raise KeyError("not held")
        self.points_ = self.without(ids)
        return self

    def without(self, ids):
        return [point for point in self.points_ if point[0] not in ids]

    def decision_function(self, X):
        check_is_fitted(self)
        points, classes = self.points_, self.classes_
        if not points:
            raise NotFittedError("nothing is held")
        X = self.dense(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False))
        _, rows, labels, weights = zip(*points, strict=True)
        sums = np.array([self.values(x[None], np.array(rows))[0] * np.array(weights) for x in X])
        votes = np.array([[line[np.array(labels) == label].sum() for label in classes.tolist()] for line in sums])
        votes /= sum(weights)
        return votes[:, 1] - votes[:, 0] if len(classes) == 2 else votes

    def predict(self, X):
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]


def sound():
    """All checks of an estimator without a window, and those that are for windows only."""
    mark = parametrize_with_online_checks([Parzen(), Parzen(window=30)], attributes=["n_samples_seen_"])
    names, parameters = mark.args
    general = {check.name for check in online_checks(Parzen())}
    return names, [one for one in parameters if one.values[0].window is None or one.values[1].name not in general]


@pytest.mark.parametrize(*sound())
def test_a_sound_estimator_passes(estimator, check):
    check(estimator)


# ---- ways to break it ------------------------------------------------------------------------------------------

BROKEN = {}


def breaks(*checks, **parameters):
    """Register a broken estimator and the checks that must find it."""

    def register(kind):
        BROKEN[kind.__name__] = (kind(**parameters), checks)
        return kind

    return register


@breaks("check_chunks", "check_fit_goes_on", "check_new_labels")
class FadesWithEachCall(Parzen):
    def publish(self, points, n):
        super().publish([(name, row, label, 0.9 * weight) for name, row, label, weight in points], n)


@breaks("check_fit_starts_again")
class FitGoesOn(Parzen):
    def reset(self):
        pass


@breaks("check_fit_goes_on")
class PartialFitStartsAgain(Parzen):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.fresh = True
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if vars(self).pop("fresh", False):
            self.points_ = []
        return super().partial_fit(X, y, classes, sample_weight)


@breaks("check_clone_is_unfitted")
class KeepsSomethingBeside(Parzen):
    def __init__(self, **parameters):
        super().__init__(**parameters)
        self.model = None

    @classmethod
    def _get_param_names(cls):
        return Parzen._get_param_names()


@breaks("check_copies[deepcopy]")
class SharedByDeepcopy(Parzen):
    def __deepcopy__(self, memo):
        other = copy.copy(self)
        other.points_ = self.points_
        return other

    def publish(self, points, n):
        super().publish(points, n)
        if hasattr(self, "kept"):
            self.kept.extend(self.points_[len(self.kept) :])
            self.points_ = self.kept
        else:
            self.kept = self.points_


@breaks("check_copies[pickle]", "check_copies[joblib]", "check_copies[oldest pickle]")
class LosesWeightsWhenSaved(Parzen):
    def __getstate__(self):
        state = {**super().__getstate__()}
        state["points_"] = [(name, row, label, 1.0) for name, row, label, _ in state["points_"]]
        state["class_weight"] = None
        return state

    def weights_of(self, y):
        return 1.5 + 0.0 * y if y.dtype.kind != "U" else super().weights_of(y)


@breaks("check_models_in_threads")
class ModelsShareAScratch(Parzen):
    scratch = {}

    def learn_rows(self, points, new):
        new = list(new)
        ModelsShareAScratch.scratch["points"] = points
        time.sleep(0.002)
        super().learn_rows(ModelsShareAScratch.scratch["points"], new)


@breaks("check_predictions_in_threads")
class PredictionsShareAScratch(Parzen):
    def decision_function(self, X):
        values = super().decision_function(X)
        mine = self._scratch = object()
        time.sleep(0.005)
        if self._scratch is not mine:
            values = values + 1.0
        return values


@breaks("check_predictions_while_learning")
class PublishesInTwoSteps(Parzen):
    def publish(self, points, n):
        if hasattr(self, "points_"):
            self.points_ = []
            time.sleep(0.005)
        super().publish(points, n)


@breaks("check_predict_is_pure")
class CountsPredictions(Parzen):
    def predict(self, X):
        self.n_predictions_ = getattr(self, "n_predictions_", 0) + 1
        return super().predict(X)


@breaks("check_predict_is_pure")
class DependsOnTheBatch(Parzen):
    def decision_function(self, X):
        values = super().decision_function(X)
        return values + 1e-9 * len(values)


@breaks("check_data_are_copied")
class KeepsTheCallersRows(Parzen):
    def dense(self, X):
        return X.toarray() if sp.issparse(X) else np.asarray(X)


@breaks("check_memory")
class Leaks(Parzen):
    leaked = []

    def decision_function(self, X):
        self.leaked.append(np.array(X, dtype=float, copy=True) if not sp.issparse(X) else None)
        return super().decision_function(X)


@breaks("check_interrupt[first chunk]", "check_interrupt[later chunk]", "check_interrupt[fit]")
class SwallowsCtrlC(Parzen):
    def learn_rows(self, points, new):
        with contextlib.suppress(KeyboardInterrupt):
            super().learn_rows(points, new)


@breaks("check_interrupt[later chunk]", "check_interrupt[later chunk with a new label]")
class MiscountsAfterCtrlC(Parzen):
    def learn_rows(self, points, new):
        try:
            super().learn_rows(points, new)
        except KeyboardInterrupt:
            self.points_ = self.points_[:-1]
            raise


@breaks("check_interrupt_by_signal")
class BrokenByASignal(Parzen):
    def learn_rows(self, points, new):
        try:
            if points:
                signal.raise_signal(signal.SIGINT)
            super().learn_rows(points, new)
        except KeyboardInterrupt:
            self.points_ = None
            raise


@breaks("check_bad_chunk[NaN]", "check_bad_chunk[other labels]", "check_bad_chunk[number of weights]")
class CountsBadChunks(Parzen):
    def restore(self, before, error):
        super().restore(before, error)
        if "n_samples_seen_" in before:
            self.n_samples_seen_ += 1


@breaks("check_failing_kernel[error]", "check_failing_kernel[NaN]", "check_failing_kernel[exit]")
class KeepsRowsBeforeAnError(Parzen):
    def learn_rows(self, points, new):
        at = len(points)
        try:
            super().learn_rows(points, new)
        except BaseException:
            if at:
                self.points_[at:] = points[at:]
            raise

    def restore(self, before, error):
        if "points_" not in before:
            super().restore(before, error)


@breaks("check_failing_kernel[NaN]", "check_failing_kernel[shape]")
class TrustsItsKernel(Parzen):
    def values(self, A, B):
        return np.nan_to_num(np.asarray(self.kernel(A, B)).sum()) if callable(self.kernel) else super().values(A, B)


@breaks("check_bad_first_chunk[NaN]", "check_bad_first_chunk[infinity]", "check_bad_first_chunk[negative weights]")
class FittedAfterABadChunk(Parzen):
    def restore(self, before, error):
        super().restore(before, error)
        self.n_features_in_ = 5


@breaks("check_bad_chunk[overflow]")
class AcceptsLargeRows(Parzen):
    def validate(self, X, y, sample_weight):
        with np.errstate(all="ignore"):
            large = not sp.issparse(X) and np.asarray(X).dtype.kind == "f" and (np.abs(X) > 1e199).any()
        return super().validate(np.where(np.abs(X) > 1e199, 0.0, X) if large else X, y, sample_weight)


@breaks("check_new_labels")
class ClassesInOrderOfArrival(Parzen):
    @staticmethod
    def union(*parts):
        labels = np.concatenate([np.asarray(part) for part in parts if len(part)])
        return labels[np.sort(np.unique(labels, return_index=True)[1])]


@breaks("check_declared_labels")
class KnowsOnlyWhatHasCome(Parzen):
    def learn_rows(self, points, new):
        super().learn_rows(points, new)
        self.classes_ = np.unique([point[2] for point in self.points_])


@breaks("check_first_call")
class NeedsNoClasses(Parzen):
    def require_classes(self, classes):
        pass


@breaks("check_weight_zero")
class NoWeightIsZero(Parzen):
    def validate(self, X, y, sample_weight):
        rows, y, weights = super().validate(X, y, sample_weight)
        return rows, y, np.maximum(weights, 1e-3)


@breaks("check_weight_one", "check_weight_two")
class IgnoresWeights(Parzen):
    def validate(self, X, y, sample_weight):
        rows, y, weights = super().validate(X, y, sample_weight)
        return rows, y, np.sign(weights)


@breaks("check_class_weight")
class IgnoresClassWeights(Parzen):
    def weights_of(self, y):
        return 0.0 * super().weights_of(y) + 1.0


@breaks("check_dense_and_sparse")
class RoundsSparseRows(Parzen):
    def dense(self, X):
        return X.toarray().astype(np.float32).astype(float) if sp.issparse(X) else super().dense(X)


@breaks("check_cache_size")
class CacheMatters(Parzen):
    def values(self, A, B):
        return super().values(A, B) + 1.0 * (self.cache_size < 50)


@breaks("check_n_jobs")
class ThreadsMatter(Parzen):
    def decision_function(self, X):
        return super().decision_function(X) * (1.0 + 1e-15 * (self.n_jobs or 1) ** 2)


@breaks("check_forget")
class ForgetsTheOldest(Parzen):
    def without(self, ids):
        return self.points_[len(ids) :]


@breaks("check_unknown_ids")
class ForgetsBeforeItLooks(Parzen):
    def forget(self, ids):
        if hasattr(self, "points_") and isinstance(ids, list):
            self.points_ = self.without([name for name in ids if isinstance(name, int)])
        return super().forget(ids)


@breaks("check_window", window=30)
class HasNoWindow(Parzen):
    def publish(self, points, n):
        self.points_, self.n_samples_seen_ = points, n


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_estimator_is_found(name):
    estimator, expected = BROKEN[name]
    checks = {check.name: check for check in online_checks(estimator)}
    for check in expected:
        with pytest.raises((AssertionError, TypeError, NotFittedError)):
            checks[check](estimator)


def test_every_check_finds_something():
    found = {check.partition("[")[0] for _, checks in BROKEN.values() for check in checks}
    assert found == {check.name.partition("[")[0] for e in (Parzen(), Parzen(window=9)) for check in online_checks(e)}


def test_the_first_failure_is_named():
    with pytest.raises(AssertionError) as caught:
        check_online_estimator(FadesWithEachCall())
    assert caught.value.__notes__ == ["in check_chunks"]


def test_expected_failures_are_left_out():
    ignored = {check.name: "too slow here" for check in online_checks(Parzen()) if "weight" not in check.name}
    check_online_estimator(Parzen(), expected_failed_checks=ignored)
    with pytest.raises(AssertionError, match="weights do not matter"):
        check_online_estimator(IgnoresWeights(), expected_failed_checks=ignored)
    del ignored["check_clone_is_unfitted"]
    ignored |= dict.fromkeys(["check_weight_one", "check_weight_two"], "weights are ignored")
    check_online_estimator(IgnoresWeights(), expected_failed_checks=ignored)
