"""Export to ONNX: models that run without Python.

Needs the package `onnx`; :func:`register` needs `skl2onnx`. Both are optional.
"""

from .export import export
from .skl2onnx import register

__all__ = ["export", "register"]
