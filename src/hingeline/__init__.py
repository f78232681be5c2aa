"""hingeline: support vector machines that learn online, forget exactly and scale."""

from importlib.metadata import version

from . import datasets
from .ollawv import WorstViolatorSVC

__version__ = version("hingeline")
__all__ = ["WorstViolatorSVC", "__version__", "datasets"]
