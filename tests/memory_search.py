"""Search the memory of this process for what a model has forgotten; run as a program, it prints one report per case.

It imports little beside the estimators: all writable memory is searched.
"""

import json

import numpy as np
import scipy.sparse as sp

from hingeline import (
    L2SVC,
    SVC,
    SVR,
    IncrementalOneClassSVM,
    IncrementalSVC,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    NystroemSVC,
    OneClassSVM,
    OrdinalSVC,
)

#: Bits times this odd number are other bits, and so are those times this number: unlike with an exclusive or, looking
#: at what is disguised does not bring the original back.
DISGUISE = np.uint64(0x9E3779B97F4A7C15)
CASES = [f"{estimator}, {form}" for estimator in ("classifier", "one class") for form in ("dense", "csr")]
CASES += ["classifier, used before, dense", "classifier, used before, csr"]
#: Batch estimators, which keep their rows.
BATCH = {
    "SVC": SVC(kernel="linear", C=1e-3),
    "NuSVC": NuSVC(kernel="linear"),
    "SVR": SVR(kernel="linear", C=1e-3),
    "NuSVR": NuSVR(kernel="linear", C=1e-3),
    "OneClassSVM": OneClassSVM(kernel="linear"),
    "L2SVC": L2SVC(kernel="linear", C=1e-3),
    "LinearSVC": LinearSVC(),
    "LinearSVR": LinearSVR(),
    "OrdinalSVC": OrdinalSVC(),
    "NystroemSVC": NystroemSVC(kernel="linear", n_components=30),
}
CASES += [f"{name}, dense" for name in BATCH] + [f"{name}, csr" for name in ("NuSVC", "L2SVC", "NystroemSVC")]


def disguised(values, out):
    """Bits of doubles in a form that a search for them does not find."""
    np.multiply(values.view(np.uint64), DISGUISE, out=out)


def find_in_memory(patterns):
    """Which of the disguised doubles are anywhere in the writable memory of this process."""
    begins = np.zeros(1 << 16, dtype=bool)
    begins[patterns >> np.uint64(48)] = True
    wanted = set(patterns.tolist())
    found = set()
    buffer = np.zeros(1 << 17, dtype=np.uint64)
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        regions = [line.split() for line in maps]
        for address, access, *rest in regions:
            if "rw" not in access or rest[-1] in ("[vvar]", "[vsyscall]"):
                continue
            at, end = (int(part, 16) for part in address.split("-"))
            while at < end:
                part = buffer[: min(buffer.size, (end - at) // 8)]
                part[:] = 0
                memory.seek(at)
                try:
                    n = memory.readinto(part.view(np.uint8).data)
                except OSError:
                    break
                np.multiply(part, DISGUISE, out=part)  # at once: the next look at this buffer must not find it
                found.update(wanted.intersection(part[begins[part >> np.uint64(48)]].tolist()))
                if n <= 0:
                    break
                at += n
    return found


def traces(case, seed):
    """What can be found of a row, and of kernel values with it, before and after it is forgotten.

    Entries are multiples of 2^-20 with 22 bits: their products and sums are exact in any order.
    """
    rng = np.random.default_rng(seed)
    used = "used before" in case  # rows have been through predictions, paths and copies
    n, d = (300, 6) if used else (40, 6)
    X = np.ldexp(rng.integers(-(2**22), 2**22, (n, d)).astype(np.float64), -20)
    y = [np.arange(n) % 2] if case.startswith("classifier") else []
    secret = 11
    entries, products = np.empty(d, dtype=np.uint64), np.empty(n - 1, dtype=np.uint64)
    disguised(X[secret], entries)
    scratch = np.delete(X, secret, axis=0) @ X[secret]
    disguised(scratch, products)
    scratch[:] = 0.0
    wanted = np.concatenate([entries, products])

    def found():
        seen = find_in_memory(wanted)
        return {"entries": sum(int(e) in seen for e in entries), "products": sum(int(p) in seen for p in products)}

    given = X
    if case.endswith("csr"):  # of the same numbers, not of a copy
        indices, starts = np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)
        given = sp.csr_array((X.reshape(-1), indices, starts), shape=X.shape)
    if case.split(",")[0] in BATCH:
        return traces_of_batch(BATCH[case.split(",")[0]], given, X, secret, found)
    linear = {"kernel": "linear"}
    model = IncrementalSVC(C=1.0, **linear) if y else IncrementalOneClassSVM(nu=0.5, shape="sphere", **linear)
    model.add(given, *y)
    X[secret] = 0.0
    if used:
        model.predict(X[:2])
        model.c_path([0.5, 1.0], X[:2])
        model.leave_one_out()
        model.add(X[:1], [2])  # a new class: all is copied
    report = {"before": found()}
    model.forget(secret)
    report["after"] = found()
    model.forget([k for k in range(n) if k % 5 == 0])
    model.add(X[:3] + 1.0, *(labels[:3] for labels in y))
    report["later"] = found()
    return report


def traces_of_batch(model, given, X, secret, found):
    """The same for a batch estimator."""
    n = len(X)
    target = [] if isinstance(model, OneClassSVM) else [np.arange(n) % 2]
    model.fit(given, *target, ids=range(n))
    X[secret] = 0.0
    model.predict(given[:2])
    report = {"before": found()}
    model.forget(secret)
    report["after"] = found()
    model.predict(given[:2])
    model.forget([k for k in range(n) if k % 5 == 0])
    model.add(X[:3] + 1.0, *(values[:3] for values in target), ids=range(n, n + 3))
    report["later"] = found()
    return report


if __name__ == "__main__":
    for seed, case in enumerate(CASES):
        print(json.dumps([case, traces(case, seed)]))
