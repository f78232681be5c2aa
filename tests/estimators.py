"""All estimators of the package, and a small model of each: the one list for tests that go through all of them."""

from sklearn.base import is_classifier
from sklearn.utils import get_tags

from hingeline import (
    L2SVC,
    LASVC,
    SVC,
    SVR,
    IncrementalOneClassSVM,
    IncrementalSVC,
    KernelSGDClassifier,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    NuSVC,
    NuSVR,
    NystroemSVC,
    OneClassSVM,
    OrdinalSVC,
    WorstViolatorSVC,
)
from hingeline._registry import ESTIMATORS as REGISTRY
from hingeline._registry import class_of
from hingeline.base.kernel import KernelEstimator

#: Classes of all estimators.
PUBLIC = [class_of(name) for name in REGISTRY]
#: Those that predict; NystroemMap, a transformer, is saved as a part of NystroemSVC.
ESTIMATORS = [learner for learner in PUBLIC if hasattr(learner, "predict")]
CLASSIFIERS = [learner for learner in ESTIMATORS if is_classifier(learner())]
#: Classifiers with an exact kernel, whose callables take sets of rows, and those that learn from streams.
KERNEL = [learner for learner in CLASSIFIERS if issubclass(learner, KernelEstimator)]
STREAMS = [learner for learner in CLASSIFIERS if REGISTRY[learner.__name__].streams]

#: A model of each class for problems of a hundred rows, and variants that save other fields.
MODELS = {
    "SVC": SVC(gamma=0.5, C=10.0),
    "NuSVC": NuSVC(gamma=0.5, nu=0.2),
    "SVR": SVR(gamma=0.5, C=10.0),
    "NuSVR": NuSVR(gamma=0.5, C=10.0),
    "OneClassSVM": OneClassSVM(gamma=0.5, nu=0.2),
    "WorstViolatorSVC": WorstViolatorSVC(gamma=0.5),
    "L2SVC": L2SVC(gamma=0.5, C=10.0),
    "LASVC": LASVC(gamma=0.5, C=10.0, random_state=0),
    "LASVC-lasvm": LASVC(gamma=0.5, C=10.0, variant="lasvm", multi_class="ovr"),
    "KernelSGDClassifier": KernelSGDClassifier(gamma=0.5, variant="norma", average=True, random_state=0),
    "IncrementalSVC": IncrementalSVC(gamma=0.5, C=10.0),
    "IncrementalOneClassSVM": IncrementalOneClassSVM(gamma=0.5, nu=0.2),
    "LinearSVC": LinearSVC(C=10.0),
    "LinearSVR": LinearSVR(C=10.0, epsilon=0.1),
    "LinearSVCCV": LinearSVCCV(Cs=3, cv=3),
    "OrdinalSVC": OrdinalSVC(C=10.0),
    "NystroemSVC": NystroemSVC(gamma=0.5, C=10.0, n_components=20),
}


def needs_y(model):
    """Whether ``fit`` takes labels or targets."""
    return get_tags(model).target_tags.required
