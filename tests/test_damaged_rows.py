"""Damaged sparse rows are refused by every method that takes rows, before SciPy uses them."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from hingeline.base.rows import require_places

from .damaged_rows import COMPRESSED, FORMS, SUBJECTS, damaged, problem


@pytest.mark.parametrize("part", range(2))
def test_damaged_rows_are_refused(part):
    """In two processes: the start of one takes as long as the cases of several subjects."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.damaged_rows", *list(SUBJECTS)[part::2]]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600)
    last = found.stdout.splitlines()[-1:]
    assert found.returncode == 0 and last == ["done"], f"{last} ends with {found.returncode}\n{found.stderr[-3000:]}"


@pytest.mark.parametrize("form", FORMS)
def test_each_damage_is_named(form):
    require_places(FORMS[form][0](problem()[0]), "X")
    for damage in FORMS[form][1]:
        with pytest.raises(ValueError, match=r"^X: "):
            require_places(damaged(form, damage), "X")


def test_the_check_changes_nothing():
    """Spare room at the end of the arrays, read-only arrays and arrays with gaps are sound."""
    X = sp.csr_matrix(problem()[0])
    X.indices, X.data = np.append(X.indices, -1), np.append(X.data, 0.0)
    X.indices.flags.writeable = X.indptr.flags.writeable = False
    before = X.indices, X.indptr, X.data
    require_places(X, "X")
    assert all(a is b for a, b in zip(before, (X.indices, X.indptr, X.data), strict=True))
    X.indices, X.indptr = np.repeat(X.indices, 2)[::2], np.repeat(X.indptr, 2)[::2]
    require_places(X, "X")
    assert len(COMPRESSED) > 10
    require_places(sp.csr_matrix((3, 0)), "X")
    require_places(sp.csc_array((0, 4)), "X")
