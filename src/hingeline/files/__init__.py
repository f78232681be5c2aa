"""Model files: without pickle, and in the text format of LIBSVM; checkpoints of streams."""

from .checkpoint import Checkpoint
from .libsvm import load_libsvm, save_libsvm
from .models import TRUSTED_TYPES, load, save

__all__ = ["TRUSTED_TYPES", "Checkpoint", "load", "load_libsvm", "save", "save_libsvm"]
