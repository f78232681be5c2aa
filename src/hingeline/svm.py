"""``sklearn.svm``, name for name: ``from hingeline import svm`` replaces ``from sklearn import svm``."""

from sklearn.svm import l1_min_c

from .batch.nu_svc import NuSVC
from .batch.one_class import OneClassSVM
from .batch.svc import SVC
from .batch.svr import SVR, NuSVR
from .linear.finite_newton import LinearSVC
from .linear.svr import LinearSVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM", "l1_min_c"]
