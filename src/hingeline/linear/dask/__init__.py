"""Linear estimators on Dask collections; needs the extra ``dask``."""

from .reader import read_libsvm

__all__ = ["read_libsvm"]
