"""hingeline: support vector machines that learn online, forget exactly and scale."""

from importlib.metadata import version

from . import datasets, metrics
from .finite_newton import FiniteNewtonPath, FiniteNewtonSVC, FiniteNewtonSVCCV, finite_newton_path
from .incremental import IncrementalSVC
from .kernel_sgd import KernelSGDClassifier
from .lasvm import LASVC
from .min_norm import MinNormSVC
from .nnisda import NNISDAClassifier
from .ollawv import WorstViolatorSVC
from .one_class import IncrementalOneClassSVM
from .ordinal import FiniteNewtonOrdinal

__version__ = version("hingeline")
__all__ = [
    "LASVC",
    "FiniteNewtonOrdinal",
    "FiniteNewtonPath",
    "FiniteNewtonSVC",
    "FiniteNewtonSVCCV",
    "IncrementalOneClassSVM",
    "IncrementalSVC",
    "KernelSGDClassifier",
    "MinNormSVC",
    "NNISDAClassifier",
    "WorstViolatorSVC",
    "__version__",
    "datasets",
    "finite_newton_path",
    "metrics",
]
