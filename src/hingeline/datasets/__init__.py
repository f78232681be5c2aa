"""Data sets of the SVM literature: a loader for prepared files and two generators.

:func:`load` reads ``NAME.npz`` from the folder named by the environment variable ``HINGELINE_DATA``. If the variable is
not set or the file does not exist, it uses the copy of scikit-learn or OpenML for the sets that are known there.
:func:`make_chessboard` and :func:`make_two_normals` draw the artificial sets of Kecman and Melki.
"""

from .files import Dataset
from .generators import make_chessboard, make_two_normals
from .loading import available, load

__all__ = ["Dataset", "available", "load", "make_chessboard", "make_two_normals"]
