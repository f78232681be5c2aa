"""hingeline: support vector machines that learn online, forget exactly and scale."""

from importlib.metadata import version

from . import datasets, metrics
from .incremental import IncrementalSVC
from .lasvm import LASVC
from .ollawv import WorstViolatorSVC
from .one_class import IncrementalOneClassSVM

__version__ = version("hingeline")
__all__ = [
    "LASVC",
    "IncrementalOneClassSVM",
    "IncrementalSVC",
    "WorstViolatorSVC",
    "__version__",
    "datasets",
    "metrics",
]
