"""Two tables: the public estimators and the kernels. Modules, tests and docs read them instead of listing names.

A new estimator or kernel is one row here. Nothing is imported but the standard library, so that ``import hingeline``
and the command line start quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from math import inf
from typing import Any, Literal, NamedTuple, TypeAlias


class Estimator(NamedTuple):
    """What is known about a public estimator without importing it."""

    name: str
    #: Module that defines the class, relative to the package.
    module: str
    #: Page in ``docs/guide``.
    guide: str
    #: Table of docs/guide/which.md: the task, and what the user gets.
    task: str
    gives: str
    #: Whether it learns from streams (``partial_fit``).
    streams: bool = False
    #: How ``forget`` removes rows: 'exactly', to rounding; 'to tol', of a fit with ids; empty: not at all.
    forgets: Literal["exactly", "to tol", ""] = ""
    #: Why it does not forget, and what to use.
    no_forgetting: str = ""
    #: Parameter whose values a search tries on one kernel matrix, in ascending order; empty: it shares no matrix.
    path: str = ""
    #: Whether the training restarts for each value on the path.
    restarts: bool = False
    #: Whether the command line offers it.
    command_line: bool = True
    #: Function of ``onnx/models.py`` that exports it.
    onnx: str = "kernel_classifier"
    #: LIBSVM's type of the problem; empty: LIBSVM's text cannot hold the model.
    libsvm: str = "c_svc"

    @property
    def forgets_streams(self) -> bool:
        """Whether it learns from streams and forgets their points."""
        return self.streams and bool(self.forgets)


class Kernel(NamedTuple):
    """What is known about a kernel."""

    name: str
    #: Parameters, in the order of LIBSVM's text.
    parameters: tuple[str, ...] = ()
    #: Least coef0 with which it is positive semi-definite; None: it is not, or that is unknown.
    definite_from: float | None = None
    #: K(x, x): a number, or a function of x.x, gamma, coef0 and degree; None: neither.
    diagonal: float | Callable[[Any, float, float, float], Any] | None = None
    #: Whether the compiled core computes it; otherwise scikit-learn does, for the Nystroem estimators only.
    core: bool = False
    #: Name in LIBSVM's text; empty: LIBSVM does not have it. These rows are in the order of LIBSVM's numbers.
    libsvm: str = ""
    #: Function of ``onnx/kernels.py``; empty: it cannot be exported.
    onnx: str = ""
    #: Default of gamma in scikit-learn; None: 1 / n_features.
    gamma: float | None = None


#: Public estimators by name, in the order of docs/guide/which.md.
ESTIMATORS = {
    row.name: row
    for row in (
        Estimator(
            "SVC",
            "batch.svc",
            guide="svc",
            task="batch, kernel, exact: `sklearn.svm.SVC`, faster",
            gives="the same parameters, attributes and optimum; change the import",
            path="C",
            forgets="to tol",
        ),
        Estimator(
            "NuSVC",
            "batch.nu_svc",
            guide="svc",
            task="the same with a share of support vectors instead of C",
            gives="`sklearn.svm.NuSVC`, faster",
            path="nu",
            restarts=True,
            libsvm="nu_svc",
            forgets="to tol",
        ),
        Estimator(
            "SVR",
            "batch.svr",
            guide="svr",
            task="regression, batch, kernel, exact",
            gives="`sklearn.svm.SVR`, faster",
            path="C",
            onnx="kernel_regressor",
            libsvm="epsilon_svr",
            forgets="to tol",
        ),
        Estimator(
            "NuSVR",
            "batch.svr",
            guide="svr",
            task="the same with a share of support vectors instead of epsilon",
            gives="`sklearn.svm.NuSVR`, faster",
            path="nu",
            restarts=True,
            onnx="kernel_regressor",
            libsvm="nu_svr",
            forgets="to tol",
        ),
        Estimator(
            "OneClassSVM",
            "batch.one_class",
            guide="one_class",
            task="outliers, batch, kernel, exact",
            gives="`sklearn.svm.OneClassSVM`, faster",
            path="nu",
            restarts=True,
            onnx="outlier_detector",
            libsvm="one_class",
            forgets="to tol",
        ),
        Estimator(
            "LASVC",
            "online.lasvm",
            guide="lasvm",
            task="stream, or noisy labels, kernel",
            gives="online SVM (LASVM, LASVM-NC, -G, -I, FULL SVM) with few support vectors; with `tol` the optimum",
            streams=True,
            no_forgetting="which points it keeps depends on all that it has seen. Use IncrementalSVC, or SVC with ids.",
        ),
        Estimator(
            "KernelSGDClassifier",
            "online.kernel_sgd",
            guide="kernel_sgd",
            task="stream that drifts, first model quickly",
            gives="NORMA, Pegaz or OL SVM in a known number of steps",
            streams=True,
            no_forgetting="each step depends on all steps before it. Use IncrementalSVC, or SVC with ids.",
        ),
        Estimator(
            "NystroemSVC",
            "linear.nystroem",
            guide="nystroem",
            task="batch, kernel, up to millions of rows",
            gives="approximate kernel, minimum to a relative duality gap; also with Dask; `nystroem_svc_path`: many C",
            onnx="linear_classifier",
            libsvm="",
            forgets="to tol",
        ),
        Estimator(
            "NystroemMap",
            "linear.nystroem_map",
            guide="nystroem",
            task="approximate kernel as features, for any linear estimator",
            gives="kernel values against landmarks, normalised; a transformer",
            command_line=False,
            onnx="map",
            libsvm="",
            no_forgetting="it is fitted once, and its features are the input of other estimators. "
            "Use NystroemSVC with ids.",
        ),
        Estimator(
            "IncrementalSVC",
            "exact.incremental",
            guide="incremental",
            task="add, delete, leave one out, change C, exactly",
            gives="the optimum of SVC after every call; up to some 10,000 points",
            streams=True,
            forgets="exactly",
        ),
        Estimator(
            "IncrementalOneClassSVM",
            "exact.one_class",
            guide="one_class",
            task="outliers in a stream",
            gives="exact one-class SVM or sphere, with windows and forgetting",
            streams=True,
            forgets="exactly",
            onnx="one_class",
            libsvm="one_class",
        ),
        Estimator(
            "WorstViolatorSVC",
            "batch.ollawv",
            guide="ollawv",
            task="batch, kernel, a known number of steps",
            gives="OLLAWV: approximate, at most one step per row, no C; `SVC` is as fast and more often right",
            path="margin",
            no_forgetting="which points become support vectors depends on all steps before. Use SVC or L2SVC with ids.",
        ),
        Estimator(
            "L2SVC",
            "batch.l2_svc",
            guide="l2_svc",
            task="batch, kernel, exact, many classes or many C",
            gives="L2-SVM (MNSVM, NNISDA) to a tolerance, with duality gap and warm starts",
            path="C",
            restarts=True,
            forgets="to tol",
        ),
        Estimator(
            "LinearSVC",
            "linear.finite_newton",
            guide="finite_newton",
            task="linear, many rows, also with Dask",
            gives="minimum to a relative duality gap; [more rows than memory](distributed.md); "
            "`linear_svc_path` for many C",
            onnx="linear_classifier",
            libsvm="",
            forgets="to tol",
        ),
        Estimator(
            "LinearSVR",
            "linear.svr",
            guide="finite_newton",
            task="linear regression, many rows, also with Dask",
            gives="`sklearn.svm.LinearSVR`, faster: minimum to a relative duality gap",
            onnx="linear_regressor",
            libsvm="",
            forgets="to tol",
        ),
        Estimator(
            "LinearSVCCV",
            "linear.cv",
            guide="finite_newton",
            task="linear, with C chosen by cross-validation",
            gives="as `LinearSVC`; each fit starts from the last",
            onnx="linear_classifier",
            libsvm="",
            no_forgetting="C was chosen with all rows. Use LinearSVC with ids and the value of C_.",
        ),
        Estimator(
            "OrdinalSVC",
            "linear.ordinal",
            guide="ordinal",
            task="linear, ordered classes",
            gives="one direction and ascending thresholds, also with Dask",
            onnx="ordinal",
            libsvm="",
            forgets="to tol",
        ),
    )
}

#: Other public names by module.
FUNCTIONS = {
    "_versions": ("show_versions",),
    "base.receipt": ("Receipt",),
    "files": ("TRUSTED_TYPES", "Checkpoint", "forget_in_file", "load", "load_libsvm", "save", "save_libsvm"),
    "linear.nystroem": ("nystroem_svc_path",),
    "linear.path": ("linear_svc_path",),
}


def _power(squares: Any, gamma: float, coef0: float, degree: float) -> Any:
    return (gamma * squares + coef0) ** degree


#: Kernels by name.
KERNELS = {
    row.name: row
    for row in (
        Kernel("linear", (), -inf, lambda squares, *_: squares, core=True, libsvm="linear", onnx="linear"),
        Kernel("poly", ("degree", "gamma", "coef0"), 0.0, _power, core=True, libsvm="polynomial", onnx="poly"),
        Kernel("rbf", ("gamma",), -inf, 1.0, core=True, libsvm="rbf", onnx="rbf"),
        Kernel("sigmoid", ("gamma", "coef0"), core=True, libsvm="sigmoid", onnx="sigmoid"),
        Kernel("precomputed", libsvm="precomputed"),
        Kernel("polynomial", ("degree", "gamma", "coef0"), 0.0, _power, onnx="poly"),
        Kernel("cosine", (), -inf, onnx="cosine"),
        Kernel("laplacian", ("gamma",), -inf, 1.0, onnx="laplacian"),
        Kernel("chi2", ("gamma",), -inf, 1.0, onnx="chi2", gamma=1.0),
        Kernel("additive_chi2", (), None, 0.0, onnx="additive_chi2"),
    )
}
#: The same names for type checkers: of kernel machines, and of the Nystroem estimators.
KernelName: TypeAlias = Literal["linear", "poly", "rbf", "sigmoid", "precomputed"]
MapKernelName: TypeAlias = Literal[
    "additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid"
]
#: Kernels that the compiled core computes.
COMPUTED = tuple(row.name for row in KERNELS.values() if row.core)
#: Those among them that are definite for some coef0.
DEFINITE = tuple(name for name in COMPUTED if KERNELS[name].definite_from is not None)


def kernel_parameters(kernel: Any) -> tuple[str, ...]:
    """Parameters of a kernel by its name; none for functions."""
    return KERNELS[kernel].parameters if isinstance(kernel, str) and kernel in KERNELS else ()


def estimators(fact: str) -> tuple[str, ...]:
    """Names of the estimators whose rows have a fact: a field that is true or not empty."""
    return tuple(row.name for row in ESTIMATORS.values() if getattr(row, fact))


def row_of(learner: type) -> Estimator | None:
    """Row of a class; None for classes that are not public estimators, derived ones included."""
    row = ESTIMATORS.get(learner.__name__)
    return row if row is not None and learner.__module__ == f"{__package__}.{row.module}" else None


def class_of(name: str) -> Any:
    """Class of a public estimator by its name."""
    return getattr(import_module(f".{ESTIMATORS[name].module}", __package__), name)


def phrase(fact: str, word: str = "and") -> str:
    """Names of these estimators as a part of a sentence, the last one after `word`."""
    *names, last = estimators(fact)
    return f" {word} ".join([", ".join(names), last] if names else [last])
