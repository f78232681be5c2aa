"""FOO: worked by hand, against the naive twin, and invariants of the algorithm."""

import numpy as np
import pytest

from .oracle.naive_foo import naive_foo

pytest.skip("a skeleton", allow_module_level=True)


def test_four_points_by_hand():
    """The expected result is worked out in this comment."""


def test_same_steps_as_the_naive_twin():
    K, y = np.eye(4), np.array([1.0, 1.0, -1.0, -1.0])
    np.testing.assert_array_equal(naive_foo(K, y), y)


@pytest.mark.parametrize("options", [{"cache_size": 0.001}, {"n_jobs": 2}])
def test_cache_and_threads_do_not_change_results(options):
    """assert_array_equal, not allclose."""


def test_dense_equals_sparse():
    """To the bit."""
