"""Search over the parameters of kernel estimators, at the price of a few kernel matrices."""

from .nested import NestedResult, nested_cross_validate
from .search import KernelSearchCV
from .space import default_param_grid

__all__ = ["KernelSearchCV", "NestedResult", "default_param_grid", "nested_cross_validate"]
