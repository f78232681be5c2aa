"""hingeline: support vector machines that learn online, forget exactly and scale."""

from importlib.metadata import version

from . import active, compare, datasets, metrics
from .batch.min_norm import MinNormSVC
from .batch.nnisda import NNISDAClassifier
from .batch.ollawv import WorstViolatorSVC
from .batch.svc import SVC
from .exact.incremental import IncrementalSVC
from .exact.one_class import IncrementalOneClassSVM
from .files import TRUSTED_TYPES, Checkpoint, load, load_libsvm, save, save_libsvm
from .linear.cv import FiniteNewtonSVCCV
from .linear.finite_newton import FiniteNewtonSVC
from .linear.nystroem import NystroemSVC, nystroem_path
from .linear.nystroem_map import NystroemMap
from .linear.ordinal import FiniteNewtonOrdinal
from .linear.path import FiniteNewtonPath, finite_newton_path
from .online.kernel_sgd import KernelSGDClassifier
from .online.lasvm import LASVC

__version__ = version("hingeline")
__all__ = [
    "LASVC",
    "SVC",
    "TRUSTED_TYPES",
    "Checkpoint",
    "FiniteNewtonOrdinal",
    "FiniteNewtonPath",
    "FiniteNewtonSVC",
    "FiniteNewtonSVCCV",
    "IncrementalOneClassSVM",
    "IncrementalSVC",
    "KernelSGDClassifier",
    "MinNormSVC",
    "NNISDAClassifier",
    "NystroemMap",
    "NystroemSVC",
    "WorstViolatorSVC",
    "__version__",
    "active",
    "compare",
    "datasets",
    "finite_newton_path",
    "load",
    "load_libsvm",
    "metrics",
    "nystroem_path",
    "save",
    "save_libsvm",
]
