"""``sklearn.svm``, name for name: ``from hingeline import svm`` replaces ``from sklearn import svm``."""

from sklearn.svm import l1_min_c

from .batch.svc import SVC
from .linear.svr import LinearSVR

__all__ = ["SVC", "LinearSVR", "l1_min_c"]
