"""Targets of regressors: what is accepted, what is rejected, and with which words."""

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.exceptions import DataConversionWarning

from hingeline.base.regressor import WeightedTargets, check_targets
from hingeline.base.rows import RowEstimator

X = np.arange(6.0).reshape(3, 2)


class Constant(WeightedTargets, RowEstimator):
    """Predicts zero."""

    def fit(self, X, y, sample_weight=None):
        self.rows_, self.targets_ = self._validate_targets(X, y)
        self.weights_ = self._sample_weights(sample_weight, X)
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize("y", [[1, 2, 3], np.float32([1, 2, 3]), np.array([1, 2, 3], dtype=object), ["1", "2", "3"]])
def test_targets_are_contiguous_doubles(y):
    targets = Constant().fit(X, y).targets_
    assert targets.dtype == np.float64 and targets.flags.c_contiguous
    np.testing.assert_array_equal(targets, [1.0, 2.0, 3.0])


def test_a_column_of_targets_causes_a_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        model = Constant().fit(X, [[1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(model.targets_, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "requires y to be passed"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
        ([1.0, np.nan, 2.0], "Input y contains NaN"),
        ([1.0, np.inf, 2.0], "Input y contains infinity"),
        ([1.0, 1e101, 2.0], "Scale the targets"),
        ([1j, 2, 3], "Complex data not supported"),
        (["a", "b", "c"], "y must hold numbers"),
        (np.array([1.0, None, 2.0], dtype=object), "contains NaN|y must hold numbers"),
        (np.zeros((3, 2)), "should be a 1d array"),
    ],
)
def test_bad_targets_are_rejected(y, words):
    with pytest.raises(ValueError, match=words):
        Constant().fit(X, y)


def test_targets_that_need_no_conversion_are_not_copied():
    y = np.zeros(3)
    assert np.shares_memory(check_targets(y), y)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, 2.0], "sample_weight.shape"),
        ([1.0, np.nan, 2.0], "Input sample_weight contains NaN"),
        ([1.0, -1.0, 2.0], "Negative values"),
        ([0.0, 0.0, 0.0], "at least one non-zero"),
        ([1.0, 1e101, 2.0], "must not exceed"),
    ],
)
def test_bad_weights_are_rejected(weights, words):
    with pytest.raises(ValueError, match=words):
        Constant().fit(X, [1.0, 2.0, 3.0], weights)


def test_the_score_is_the_coefficient_of_determination():
    model = Constant().fit(X, [1.0, 2.0, 3.0])
    assert is_regressor(model) and model.__sklearn_tags__().target_tags.required
    assert model.score(X, [-1.0, 0.0, 1.0]) == 0.0
