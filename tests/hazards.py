"""Cases that could take the interpreter down. As a program, this file runs those that it is given."""

import copy
import json
import sys
import warnings

import numpy as np
import scipy.sparse as sp
import sklearn

from hingeline import LASVC, KernelSGDClassifier, WorstViolatorSVC
from tests.citizens import fingerprint
from tests.data import noise as problem
from tests.data import wide_indices, with_entry
from tests.test_bad_kernels import FAILURES, MoodyKernel, indefinite, linear_kernel

HAZARDS = {}


def hazard(name, outcome):
    """Register a case that must end in this way: 'fine' or the name of an exception."""

    def register(case):
        HAZARDS[name] = (case, outcome)
        return case

    return register


# ---- damaged sparse matrices ---------------------------------------------------------------------------


def corrupt(X, part, at, value):
    """Write into a CSR matrix behind scipy's back; its flags stay as they were."""
    assert X.has_canonical_format
    getattr(X, part)[at] = value
    return X


DAMAGE = {
    "column too large": ("indices", 5, 10**6),
    "column just too large": ("indices", -1, 6),
    "column negative": ("indices", 0, -1),
    "columns all large": ("indices", slice(None), 2**31 - 1),
    "indptr descends": ("indptr", 3, 10**6),
    "indptr past the end": ("indptr", -1, 10**9),
    "indptr negative": ("indptr", 4, -(10**6)),
    "indptr begins late": ("indptr", 0, 2),
    "indptr ends at 0": ("indptr", -1, 0),
}


def damaged_at_fit(damage, make):
    X, y = problem()
    WorstViolatorSVC(gamma=0.1).fit(corrupt(make(X), *damage), y)


def damaged_at_predict(damage, make):
    X, y = problem()
    WorstViolatorSVC(gamma=0.1).fit(X, y).predict(corrupt(make(X), *damage))


for what, damage in DAMAGE.items():
    for width, make in {"int32": sp.csr_matrix, "int64": wide_indices}.items():
        hazard(f"fit: {what} {width}", "ValueError")(lambda d=damage, m=make: damaged_at_fit(d, m))
        hazard(f"predict: {what} {width}", "ValueError")(lambda d=damage, m=make: damaged_at_predict(d, m))


def damaged_stream(damage, make, first, learner):
    X, y = problem()
    model = learner(gamma=0.1)
    if not first:
        model.partial_fit(X, y, [0, 1])
    try:
        model.partial_fit(corrupt(make(X), *damage), y, [0, 1])
    finally:
        if not first:
            assert model.n_samples_seen_ == len(y)
            model.partial_fit(X, y).predict(X)


for what, damage in DAMAGE.items():
    for width, make in {"int32": sp.csr_matrix, "int64": wide_indices}.items():
        for first in (True, False):
            for learner in (LASVC, KernelSGDClassifier):
                hazard(f"stream: {what} {width} {first} {learner.__name__}", "ValueError")(
                    lambda d=damage, m=make, f=first, c=learner: damaged_stream(d, m, f, c)
                )

# ---- fitted attributes that do not fit together --------------------------------------------------------


def tampered(kernel="rbf", **changes):
    """Predict with fitted attributes replaced by change(model)."""
    X, y = problem(n_classes=3)
    X = X @ X.T if kernel == "precomputed" else X
    model = WorstViolatorSVC(kernel=kernel).fit(X, y)
    model.predict(X)
    odd = copy.deepcopy(model)
    for name, change in changes.items():
        setattr(odd, f"{name}_", change(model))
    odd.predict(X)


def sizes(*counts):
    """n_support_ in 64 bits; the number of support vectors is added to the last."""
    return lambda m: np.array([*counts[:-1], counts[-1] + len(m.support_)], dtype=np.int64)


TAMPERED = {
    "n_support_ too large": {"n_support": lambda m: m.n_support_ + 1},
    "n_support_ too small": {"n_support": lambda m: m.n_support_ - 1},
    "n_support_ negative": {"n_support": sizes(-5, 0, 5)},
    "n_support_ wraps around": {"n_support": sizes(2**63 - 1, 2**63 - 1, 2)},
    "n_support_ short": {"n_support": lambda m: m.n_support_[:-1]},
    "n_support_ long": {"n_support": lambda m: np.append(m.n_support_, 0)},
    "dual_coef_ fewer columns": {"dual_coef": lambda m: m.dual_coef_[:, :-1]},
    "dual_coef_ fewer rows": {"dual_coef": lambda m: m.dual_coef_[:-1]},
    "dual_coef_ transposed": {"dual_coef": lambda m: m.dual_coef_.T},
    "support_vectors_ fewer rows": {"support_vectors": lambda m: m.support_vectors_[:-1]},
    "support_vectors_ more rows": {"support_vectors": lambda m: np.tile(m.support_vectors_, (2, 1))},
    "support_vectors_ fewer columns": {"support_vectors": lambda m: m.support_vectors_[:, :-1]},
    "support_vectors_ more columns": {"support_vectors": lambda m: np.tile(m.support_vectors_, (1, 2))},
    "support_vectors_ NaN": {"support_vectors": lambda m: m.support_vectors_ * np.nan},
    "support_vectors_ damaged": {
        "support_vectors": lambda m: corrupt(sp.csr_matrix(m.support_vectors_), "indices", 0, 10**6)
    },
    "intercept_ short": {"intercept": lambda m: m.intercept_[:-1]},
    "intercept_ long": {"intercept": lambda m: np.append(m.intercept_, 0.0)},
    "decision_scale_ short": {"decision_scale": lambda m: m.decision_scale_[:-1]},
    "classes_ short": {"classes": lambda m: m.classes_[:-1]},
    "classes_ long": {"classes": lambda m: np.arange(4)},
    "support_ out of range": {"kernel": "precomputed", "support": lambda m: m.support_ + len(m.support_)},
    "support_ negative": {"kernel": "precomputed", "support": lambda m: m.support_ - len(m.support_)},
    "support_ short": {"kernel": "precomputed", "support": lambda m: m.support_[:-1]},
}

for what, changes in TAMPERED.items():
    hazard(f"tampered: {what}", "ValueError")(lambda c=changes: tampered(**c))

hazard("tampered: nothing", "fine")(lambda: tampered())


@hazard("tampered: binary intercept_ long", "ValueError")
def tampered_binary():
    X, y = problem()
    model = WorstViolatorSVC().fit(X, y)
    model.intercept_ = np.append(model.intercept_, 0.0)
    model.predict(X)


@hazard("kernel changed after fit", "ValueError")
def kernel_changed():
    X, y = problem()
    WorstViolatorSVC().fit(X, y).set_params(kernel="precomputed").predict(X)


# ---- memory, numbers out of range, threads -------------------------------------------------------------


def stream_memory_limit(make, n, spare):
    """No memory for what a chunk needs: MemoryError, and the model is as it was."""
    import resource

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 5)), rng.integers(0, 2, n)
    model = make().partial_fit(X[:200], y[:200], [0, 1])
    expected = fingerprint(model, X[:300])
    with open("/proc/self/statm") as f:
        in_use = int(f.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (in_use + (spare << 20), before[1]))
    try:
        model.partial_fit(X, y)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        assert fingerprint(model, X[:300]) == expected
        model.partial_fit(X[:200], y[:200])


def memory_limit(n_jobs):
    """A cache larger than what the system gives: MemoryError, and a usable process afterwards."""
    import resource

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20_000, 5)), rng.integers(0, 2, 20_000)
    small = WorstViolatorSVC(n_jobs=n_jobs).fit(X[:200], y[:200])
    with open("/proc/self/statm") as f:
        in_use = int(f.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (in_use + (30 << 20), before[1]))
    try:
        WorstViolatorSVC(cache_size=4096, n_jobs=n_jobs).fit(X, y)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        again = WorstViolatorSVC(n_jobs=n_jobs).fit(X[:200], y[:200])
        assert fingerprint(again, X) == fingerprint(small, X)


if sys.platform == "linux":
    hazard("lasvc memory limit", "MemoryError")(
        lambda: stream_memory_limit(lambda: LASVC(variant="full", cache_size=4096), 20_000, 30)
    )
    for spare in (8, 20, 30):
        hazard(f"sgd memory limit {spare}", "MemoryError")(
            lambda mb=spare: stream_memory_limit(lambda: KernelSGDClassifier(gamma=1.0), 500_000, mb)
        )

if sys.platform == "linux":
    for n_jobs in (1, 2):
        hazard(f"memory limit {n_jobs}", "MemoryError")(lambda j=n_jobs: memory_limit(j))


def overflow(scale, n_jobs=1):
    """Kernel values whose sums leave the range of double: the loop must still end."""
    X, y = problem(n_classes=3)
    K = indefinite(X, X) * scale
    warnings.simplefilter("ignore")
    WorstViolatorSVC(kernel="precomputed", n_jobs=n_jobs).fit(K, y).predict(K)


for n_jobs in (1, 2):
    hazard(f"overflow {n_jobs}", "ValueError")(lambda j=n_jobs: overflow(1e308, j))


def unchecked(kernel):
    """NaN where the user has told scikit-learn not to look."""
    X, y = problem(n_classes=3)
    X = with_entry(X @ X.T if kernel == "precomputed" else X, np.nan)
    warnings.simplefilter("ignore")
    with sklearn.config_context(assume_finite=True):
        WorstViolatorSVC(kernel=kernel, gamma=0.1).fit(X, y).predict(X)


for kernel in ("linear", "poly", "rbf", "sigmoid", "precomputed"):
    hazard(f"unchecked NaN {kernel}", "ValueError")(lambda k=kernel: unchecked(k))


@hazard("more threads than rows", "fine")
def more_threads_than_rows():
    X, y = np.array([[0.0], [1.0], [3.0]]), [0, 1, 1]
    expected = fingerprint(WorstViolatorSVC().fit(X, y), X)
    assert fingerprint(WorstViolatorSVC(n_jobs=16).fit(X, y), X) == expected


@hazard("many failures", "fine")
def many_failures():
    """Errors of every origin, then a good fit: nothing is left behind."""
    X, y = problem()
    expected = fingerprint(WorstViolatorSVC(kernel=linear_kernel).fit(X, y), X)
    for _ in range(20):
        for failure in FAILURES.values():
            model = WorstViolatorSVC(kernel=MoodyKernel())
            try:
                failure(model, X, y)
            except (ValueError, ZeroDivisionError):
                continue
            raise AssertionError("the failure did not fail")
    assert fingerprint(WorstViolatorSVC(kernel=linear_kernel).fit(X, y), X) == expected


# ---- the program ---------------------------------------------------------------------------------------


def run_hazards(names):
    """In the child: one line of JSON for each case, as soon as it has ended."""
    for name in names:
        try:
            HAZARDS[name][0]()
            outcome = ["fine", ""]
        except BaseException as e:
            outcome = [type(e).__name__, str(e)]
        print(json.dumps([name, *outcome]), flush=True)


if __name__ == "__main__":
    run_hazards(sys.argv[1:])
