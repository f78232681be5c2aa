"""The tables of estimators and kernels say what is true, and nothing that goes by estimator lacks one of them."""

import ast
import inspect
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise

import hingeline
from hingeline import _core, _registry
from hingeline._registry import COMPUTED, ESTIMATORS, KERNELS, class_of, row_of

from . import test_common
from .estimators import MODELS

ROOT = Path(__file__).parents[1]
rng = np.random.default_rng(0)


# ---- estimators ------------------------------------------------------------------------------------------


def test_names_are_found_where_the_table_says():
    tree = ast.parse(Path(hingeline.__file__).read_text())
    told = {
        (node.module, alias.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    for name, home in hingeline._HOMES.items():
        assert (home, name) in told, f"add {name} to the imports for type checkers in hingeline/__init__.py"
        assert getattr(hingeline, name) is not None and name in dir(hingeline)
    modules = {"active", "compare", "datasets", "metrics", "model_selection", "streams", "svm"}
    assert set(hingeline.__all__) == {*hingeline._HOMES, "__version__", *modules}
    for name in modules:
        assert getattr(hingeline, name).__name__ == f"hingeline.{name}"
    for name in ("nonsense", "__main__"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(hingeline, name)


def test_the_guide_has_the_table():
    text = (ROOT / "docs" / "guide" / "which.md").read_text()
    table = "\n".join(f"| {row.task} | [`{row.name}`]({row.guide}.md) | {row.gives} |" for row in ESTIMATORS.values())
    assert f"| task | class | what you get |\n|---|---|---|\n{table}\n\n" in text, (
        f"put this into docs/guide/which.md:\n{table}"
    )


@pytest.mark.parametrize("name", ESTIMATORS)
def test_facts_are_true(name):
    row, learner = ESTIMATORS[name], class_of(name)
    assert row_of(learner) is row and getattr(hingeline, name) is learner
    assert row_of(type(name, (learner,), {})) is None  # a subclass may differ
    assert (ROOT / "docs" / "guide" / f"{row.guide}.md").is_file()
    assert row.streams == hasattr(learner, "partial_fit") and bool(row.forgets) == hasattr(learner(), "forget")
    assert bool(row.no_forgetting) != bool(row.forgets) and row.forgets_streams == (row.forgets == "exactly")
    assert row.command_line == hasattr(learner, "predict")
    assert row.path in {"", *learner().get_params()} and (row.path or not row.restarts)


def test_lists_of_tests_are_complete():
    assert {type(model).__name__ for model in MODELS.values()} == {
        name for name in ESTIMATORS if hasattr(class_of(name), "predict")
    }
    assert test_common.FIRST.keys() <= ESTIMATORS.keys()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_model_formats(name, tmp_path):
    """Every estimator is saved; ONNX and LIBSVM's text are where the table says."""
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    model = clone(MODELS.get(name) or class_of(name)(n_components=5)).fit(X, y)
    hingeline.save(model, tmp_path / "model")
    assert type(hingeline.load(tmp_path / "model")) is type(model)
    if ESTIMATORS[name].libsvm:
        hingeline.save_libsvm(model, tmp_path / "text")
        assert (tmp_path / "text").read_text().startswith(f"svm_type {ESTIMATORS[name].libsvm}\n")
    else:
        with pytest.raises(TypeError):
            hingeline.save_libsvm(model, tmp_path / "text")
    pytest.importorskip("onnx", reason="onnx is not installed (group test-onnx)")
    assert hingeline.onnx.export(model).graph.name == name


def test_only_public_estimators_are_saved(tmp_path):
    derived = type("SVC", (hingeline.SVC,), {})
    with pytest.raises(TypeError, match="must be an estimator of hingeline"):
        hingeline.save(derived(), tmp_path / "model")


def test_names_become_phrases():
    assert _registry.phrase("forgets_streams") == "IncrementalSVC and IncrementalOneClassSVM"
    assert _registry.phrase("forgets_streams", "or") == "IncrementalSVC or IncrementalOneClassSVM"


# ---- kernels ---------------------------------------------------------------------------------------------


def test_the_core_has_the_kernels_of_the_table():
    for name in KERNELS:
        if name in COMPUTED:
            _core.Kernel(name)
        else:
            with pytest.raises(ValueError, match=f"unknown option: {name}"):
                _core.Kernel(name)


def test_type_checkers_know_the_kernels_of_the_table():
    assert get_args(_registry.KernelName) == (*COMPUTED, "precomputed")
    assert set(get_args(_registry.MapKernelName)) == KERNELS.keys() - {"precomputed"}


def test_kernels_of_scikit_learn():
    known = {name: set(pairwise.KERNEL_PARAMS[name]) for name in pairwise.PAIRWISE_KERNEL_FUNCTIONS}
    assert {name: set(row.parameters) for name, row in KERNELS.items() if name in known} == known
    for name, function in pairwise.PAIRWISE_KERNEL_FUNCTIONS.items():
        parameters = inspect.signature(function).parameters
        assert KERNELS[name].gamma == (parameters["gamma"].default if "gamma" in parameters else None)


@pytest.mark.parametrize("name", pairwise.PAIRWISE_KERNEL_FUNCTIONS)
@pytest.mark.parametrize("coef0", [0.0, 0.7])
def test_diagonals_and_definiteness(name, coef0):
    row, X = KERNELS[name], np.abs(rng.standard_normal((30, 4)))
    given = {key: {"gamma": 0.3, "coef0": coef0, "degree": 3}[key] for key in row.parameters}
    K = pairwise.pairwise_kernels(X, metric=name, **given)
    if callable(row.diagonal):
        np.testing.assert_allclose(row.diagonal((X**2).sum(axis=1), 0.3, coef0, 3), np.diagonal(K), rtol=1e-12)
    elif row.diagonal is not None:
        np.testing.assert_allclose(np.diagonal(K), row.diagonal, atol=1e-12)
    least = np.linalg.eigvalsh(K)[0] / np.abs(K).max()
    if row.definite_from is not None and coef0 >= row.definite_from:
        assert least > -1e-12
    elif name != "sigmoid":  # which is definite for some matrices
        assert least < -1e-6


def test_libsvm_has_the_kernels_in_this_order():
    """`-t` of svm-train counts them."""
    assert [row.libsvm for row in KERNELS.values() if row.libsvm] == [
        "linear", "polynomial", "rbf", "sigmoid", "precomputed"
    ]  # fmt: skip


def test_the_guide_says_who_forgets():
    text = (ROOT / "docs" / "guide" / "forgetting.md").read_text()
    table = text.partition("| estimator | `forget` | how |")[2].partition("\n\n")[0]
    lines = [line.split(" | ") for line in table.splitlines()[2:]]
    said = {name: (how, why) for cell, how, why in lines for name in re.findall(r"`(\w+)`", cell)}
    assert said.keys() == ESTIMATORS.keys()
    for name, (how, why) in said.items():
        row = ESTIMATORS[name]
        assert how == (row.forgets or "no") and (
            row.forgets or why.removesuffix(" |") == row.no_forgetting.split(".")[0]
        )
