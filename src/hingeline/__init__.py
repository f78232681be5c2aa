"""hingeline: support vector machines that learn online, forget exactly and scale.

Names are imported when they are first used, so that the command line starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ._registry import ESTIMATORS, FUNCTIONS

if TYPE_CHECKING:  # for editors and type checkers
    from . import active as active
    from . import compare as compare
    from . import datasets as datasets
    from . import metrics as metrics
    from . import model_selection as model_selection
    from . import streams as streams
    from . import svm as svm
    from ._versions import show_versions as show_versions
    from .base.receipt import Receipt as Receipt
    from .batch.l2_svc import L2SVC as L2SVC
    from .batch.nu_svc import NuSVC as NuSVC
    from .batch.ollawv import WorstViolatorSVC as WorstViolatorSVC
    from .batch.one_class import OneClassSVM as OneClassSVM
    from .batch.svc import SVC as SVC
    from .batch.svr import SVR as SVR
    from .batch.svr import NuSVR as NuSVR
    from .exact.incremental import IncrementalSVC as IncrementalSVC
    from .exact.one_class import IncrementalOneClassSVM as IncrementalOneClassSVM
    from .files import TRUSTED_TYPES as TRUSTED_TYPES
    from .files import Checkpoint as Checkpoint
    from .files import forget_in_file as forget_in_file
    from .files import load as load
    from .files import load_libsvm as load_libsvm
    from .files import save as save
    from .files import save_libsvm as save_libsvm
    from .linear.cv import LinearSVCCV as LinearSVCCV
    from .linear.finite_newton import LinearSVC as LinearSVC
    from .linear.nystroem import NystroemSVC as NystroemSVC
    from .linear.nystroem import nystroem_svc_path as nystroem_svc_path
    from .linear.nystroem_map import NystroemMap as NystroemMap
    from .linear.ordinal import OrdinalSVC as OrdinalSVC
    from .linear.path import linear_svc_path as linear_svc_path
    from .linear.svr import LinearSVR as LinearSVR
    from .online.kernel_sgd import KernelSGDClassifier as KernelSGDClassifier
    from .online.lasvm import LASVC as LASVC

    __version__: str

#: Modules of the public names.
_HOMES = {row.name: row.module for row in ESTIMATORS.values()} | {
    name: module for module, names in FUNCTIONS.items() for name in names
}

__all__ = sorted(
    [*_HOMES, "__version__", "active", "compare", "datasets", "metrics", "model_selection", "streams", "svm"]
)


def __getattr__(name: str) -> Any:
    value: Any
    if name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    elif name == "__version__":
        value = import_module("importlib.metadata").version(__name__)
    elif not name.startswith("__") and find_spec(f".{name}", __name__) is not None:
        try:
            value = import_module(f".{name}", __name__)
        except ImportError as error:  # of an optional library: hasattr must not raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {error}") from error
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
