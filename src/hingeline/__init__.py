"""hingeline: support vector machines that learn online, forget exactly and scale."""

from importlib.metadata import version

from . import datasets, metrics
from .lasvm import LASVC
from .ollawv import WorstViolatorSVC

__version__ = version("hingeline")
__all__ = ["LASVC", "WorstViolatorSVC", "__version__", "datasets", "metrics"]
