"""scikit-learn's own tests of ``sklearn.svm``, run with ``hingeline.svm``.

The modules in ``sklearn/svm/tests`` are imported from the installed package while ``sklearn.svm`` has our classes, so
that decorators see them too. A test that is listed here must fail: one that passes is to be removed from the list.
"""

import inspect

import pytest
import sklearn.svm

from hingeline import svm

from .foreign import module_with

#: Why tests fail, by their names here: of all cases of a test, or of one.
EXCEPTIONS = {
    "test_libsvm_convergence_warnings_dense": "wants a second step; our first pair solves the problem",
    "test_svc_nonfinite_params_dense": "the error names the row that is too large instead of the coefficients",
    "test_svr_errors_dense": "a kernel function that returns one value for two samples is refused by fit already",
    "test_custom_kernel_not_array_input_dense[SVR]": "compares scores to the bit; 'linear' sums features, not samples",
    "test_tweak_params_dense": "sets the private attribute _dual_coef_",
    "test_svc_raises_error_internal_representation_dense": "sets the private attribute _n_support",
    "test_linearsvc_crammer_singer_dense": "multi_class='crammer_singer' is refused",
    "test_crammer_singer_binary_dense": "multi_class='crammer_singer' is refused",
    "test_linear_svm_convergence_warnings_dense": "the warning names the duality gap, not LIBLINEAR",
}
#: Why tests of older versions fail, by the message that they expect.
OLD_MESSAGES = {
    "(negative dimensions are not allowed|nu is infeasible)": "the error names the weights, as in later versions",
}
OURS = {name: getattr(svm, name) for name in svm.__all__}
FILES = {"dense": "test_svm", "sparse": "test_sparse", "bounds": "test_bounds"}

for _form, _file in FILES.items():
    _module = module_with(f"sklearn.svm.tests.{_file}", sklearn.svm, OURS)
    for _name, _test in vars(_module).items():
        if _name.startswith("test_") and inspect.isfunction(_test) and _test.__module__ == _module.__name__:
            globals()[f"{_name}_{_form}"] = _test


def test_names_are_those_of_scikit_learn():
    assert set(svm.__all__) <= set(sklearn.svm.__all__)
    assert svm.l1_min_c is sklearn.svm.l1_min_c


def test_exceptions_exist():
    assert {name.partition("[")[0] for name in EXCEPTIONS} <= globals().keys()


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(autouse=True)
def expect_failure(request):
    """Mark the test as one that must fail, if it is listed."""
    test = request.node
    reason = EXCEPTIONS.get(test.name, EXCEPTIONS.get(test.originalname))
    if hasattr(test, "callspec"):
        reason = reason or OLD_MESSAGES.get(test.callspec.params.get("err_msg"))
    if reason:
        test.add_marker(pytest.mark.xfail(reason=reason, strict=True))
