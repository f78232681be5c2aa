"""Model files: without pickle, and in the text format of LIBSVM."""

from .libsvm import load_libsvm, save_libsvm
from .models import load, save

__all__ = ["load", "load_libsvm", "save", "save_libsvm"]
