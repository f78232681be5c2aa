"""scikit-learn's own tests of GridSearchCV, run with KernelSearchCV.

The module ``sklearn/model_selection/tests/test_search.py`` is imported from the installed package while
``sklearn.model_selection.GridSearchCV`` is replaced. Tests that do not use GridSearchCV are not collected.
"""

import inspect
import sys

import pytest
import sklearn.model_selection

from hingeline.model_selection import KernelSearchCV

from .foreign import module_with

pytestmark = pytest.mark.slow  # 10 s
NAME = "sklearn.model_selection.tests.test_search"

# Why a test does not apply.
EXCEPTIONS = {"test_custom_run_search": "compares all attributes with those of another class; ours has more"}


def _uses_grid_search(test):
    marks = " ".join(repr(mark.args) for mark in getattr(test, "pytestmark", []))
    if "array_api" in test.__name__:  # skipped without array_api_strict, torch and others
        return False
    return "GridSearchCV" in inspect.getsource(test) or "KernelSearchCV" in marks


MODULE = module_with(NAME, sklearn.model_selection, {"GridSearchCV": KernelSearchCV})
for _name, _test in vars(MODULE).items():
    if _name.startswith("test_") and inspect.isfunction(_test) and _uses_grid_search(_test):
        globals()[_name] = pytest.mark.skip(reason=EXCEPTIONS[_name])(_test) if _name in EXCEPTIONS else _test


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(autouse=True)
def our_module(monkeypatch, request):
    """Pickle finds the classes of our copy. Cases of other searches are skipped."""
    if "RandomizedSearch" in request.node.name or "Halving" in request.node.name:
        pytest.skip("a test of another class")
    monkeypatch.setitem(sys.modules, NAME, MODULE)
