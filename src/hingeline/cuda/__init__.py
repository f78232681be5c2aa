"""The block solver on a CUDA device. CuPy is imported when a fit needs it."""

from .card import Card, is_usable
from .machine import Limits, Machine
from .values import Kernel, Values

__all__ = ["Card", "Kernel", "Limits", "Machine", "Values", "is_usable"]
