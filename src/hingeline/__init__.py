"""hingeline: support vector machines that learn online, forget exactly and scale.

Names are imported when they are first used, so that the command line starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import active, compare, datasets, metrics, model_selection
    from .batch.min_norm import MinNormSVC
    from .batch.nnisda import NNISDAClassifier
    from .batch.ollawv import WorstViolatorSVC
    from .batch.svc import SVC
    from .exact.incremental import IncrementalSVC
    from .exact.one_class import IncrementalOneClassSVM
    from .files import TRUSTED_TYPES, Checkpoint, load, load_libsvm, save, save_libsvm
    from .linear.cv import LinearSVCCV
    from .linear.finite_newton import LinearSVC
    from .linear.nystroem import NystroemSVC, nystroem_path
    from .linear.nystroem_map import NystroemMap
    from .linear.ordinal import OrdinalSVC
    from .linear.path import linear_svc_path
    from .online.kernel_sgd import KernelSGDClassifier
    from .online.lasvm import LASVC

    __version__: str

__all__ = [
    "LASVC",
    "SVC",
    "TRUSTED_TYPES",
    "Checkpoint",
    "IncrementalOneClassSVM",
    "IncrementalSVC",
    "KernelSGDClassifier",
    "LinearSVC",
    "LinearSVCCV",
    "MinNormSVC",
    "NNISDAClassifier",
    "NystroemMap",
    "NystroemSVC",
    "OrdinalSVC",
    "WorstViolatorSVC",
    "__version__",
    "active",
    "compare",
    "datasets",
    "linear_svc_path",
    "load",
    "load_libsvm",
    "metrics",
    "model_selection",
    "nystroem_path",
    "save",
    "save_libsvm",
]

#: Modules of the public names.
_HOMES = {
    "LASVC": "online.lasvm",
    "SVC": "batch.svc",
    "TRUSTED_TYPES": "files",
    "Checkpoint": "files",
    "OrdinalSVC": "linear.ordinal",
    "LinearSVC": "linear.finite_newton",
    "LinearSVCCV": "linear.cv",
    "IncrementalOneClassSVM": "exact.one_class",
    "IncrementalSVC": "exact.incremental",
    "KernelSGDClassifier": "online.kernel_sgd",
    "MinNormSVC": "batch.min_norm",
    "NNISDAClassifier": "batch.nnisda",
    "NystroemMap": "linear.nystroem_map",
    "NystroemSVC": "linear.nystroem",
    "WorstViolatorSVC": "batch.ollawv",
    "linear_svc_path": "linear.path",
    "load": "files",
    "load_libsvm": "files",
    "nystroem_path": "linear.nystroem",
    "save": "files",
    "save_libsvm": "files",
}
#: Sub-packages and modules that ``import hingeline`` makes available.
_PARTS = (
    "_core",
    "active",
    "base",
    "batch",
    "compare",
    "datasets",
    "exact",
    "files",
    "linear",
    "metrics",
    "model_selection",
    "online",
    "onnx",
    "testing",
)


def __getattr__(name: str) -> Any:
    value: Any
    if name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    elif name in _PARTS:
        value = import_module(f".{name}", __name__)
    elif name == "__version__":
        value = import_module("importlib.metadata").version(__name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
