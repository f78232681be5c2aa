"""scikit-learn's own tests of SVC, run with hingeline's.

The modules ``sklearn/svm/tests/test_svm.py`` and ``test_sparse.py`` are imported from the installed package while
``sklearn.svm.SVC`` is replaced, so that decorators see our class too. Tests that do not use SVC are not collected.
"""

import inspect

import pytest
import sklearn.svm

from hingeline import SVC

from .foreign import module_with

# Why a test does not apply.
EXCEPTIONS = {
    "test_libsvm_convergence_warnings": "wants a second step; our first pair solves the problem",
    "test_svc_nonfinite_params": "the error names the row that is too large instead of the coefficients",
    "test_tweak_params": "sets the private attribute _dual_coef_",
    "test_svc_raises_error_internal_representation": "sets the private attribute _n_support",
}


def _uses_svc(test):
    marks = " ".join(repr(mark.args) for mark in getattr(test, "pytestmark", []))
    return "svm.SVC(" in inspect.getsource(test) or "hingeline" in marks or "SVC(" in marks


MODULES = [module_with(f"sklearn.svm.tests.{name}", sklearn.svm, "SVC", SVC) for name in ("test_svm", "test_sparse")]
for _at, _one in enumerate(MODULES):
    for _name, _test in vars(_one).items():
        if _name.startswith("test_") and inspect.isfunction(_test) and _uses_svc(_test):
            if _name in EXCEPTIONS:
                _test = pytest.mark.skip(reason=EXCEPTIONS[_name])(_test)
            globals()[f"{_name}_{('dense', 'sparse')[_at]}"] = _test


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(autouse=True)
def our_svc(monkeypatch):
    monkeypatch.setattr(sklearn.svm, "SVC", SVC)
