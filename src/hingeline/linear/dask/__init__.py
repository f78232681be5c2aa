"""Linear estimators on Dask collections; needs the extra ``dask``."""

from .libsvm import read_libsvm

__all__ = ["read_libsvm"]
