"""Model files: without pickle, and in the text format of LIBSVM; checkpoints of streams."""

from .checkpoint import Checkpoint
from .forgetting import forget_in_file
from .libsvm import load_libsvm, save_libsvm
from .models import TRUSTED_TYPES, load, save

__all__ = ["TRUSTED_TYPES", "Checkpoint", "forget_in_file", "load", "load_libsvm", "save", "save_libsvm"]
