"""Nasty numbers: extreme rows, labels, weights and parameters, in random sequences of calls.

A call raises a clear ValueError and leaves the model as it was, or the model is finite. The exact estimators reach
their KKT conditions, or warn. No call takes long.
"""

import inspect
import pickle
import sys
import warnings

import numpy as np
import scipy.sparse as sp

from tests.data import wide_indices
from tests.private import read_state

from .faults import require
from .signals import changes
from .subjects import SUBJECTS, ids, require_finite

TRIALS, LIMIT = 40_000, 30.0
CALLS = 7
#: KKT violation allowed, times max(1, C max K).
KKT_TOL = 1e-8
EXTREMES = (5e-324, 1e-310, 1e-300, 1e-150, 1e-100, 1e-30, 1e-6, 1e6, 1e30, 1e99, 1e100, 1e101, 1e150, 1e300)


def cases():
    return list(SUBJECTS)


# ---- numbers -------------------------------------------------------------------------------------------


def nasty_rows(rng, n, d):
    X = rng.standard_normal((n, d))
    kinds = {
        "plain": lambda: X,
        "tiny": lambda: X * 10.0 ** -rng.integers(3, 200),
        "large": lambda: X * 10.0 ** rng.integers(3, 151),
        "denormal": lambda: rng.integers(-3, 4, (n, d)) * 5e-324,
        "columns": lambda: X * 10.0 ** rng.uniform(-8, 8, (1, d)),
        "rows": lambda: X * 10.0 ** rng.uniform(-8, 8, (n, 1)),
        "duplicates": lambda: X[rng.integers(0, max(1, n // 5), n)],
        "nearly equal": lambda: 1.0 + 1e-15 * X,
        "constant column": lambda: np.where(np.arange(d) == 0, 3.0, X),
        "constant": lambda: np.full((n, d), float(rng.choice([0.0, -0.0, 1.0, 1e10]))),
        "rank one": lambda: np.outer(X[:, 0], rng.standard_normal(d)),
        "grid": lambda: rng.integers(-1, 2, (n, d)).astype(float),
        "outlier": lambda: np.where(np.arange(n)[:, None] == 0, 10.0 ** rng.integers(3, 60), X),
        "sparse": lambda: X * (rng.random((n, d)) < 0.1),
    }
    return kinds[rng.choice(list(kinds))]()


def nasty_number(rng):
    return float(rng.choice(EXTREMES)) if rng.random() < 0.3 else 10.0 ** rng.uniform(-4, 5)


def nasty_weights(rng, n):
    some = [0.0, 5e-324, 1e-300, 1e-8, 0.5, 1.0, 1e8, 1e100] if rng.random() < 0.3 else [0.0, 0.5, 1.0, 2.0]
    return rng.choice(some, n)


def nasty_parameters(rng, estimator):
    known = estimator.get_params()
    found = {}
    if known.get("C") is not None and not isinstance(known["C"], str):
        found["C"] = nasty_number(rng)
    if "nu" in known:
        found["nu"] = min(1.0, nasty_number(rng))
    if "kernel" in known:
        found["kernel"] = str(rng.choice(["linear", "rbf", "poly"]))
        found["gamma"] = str(rng.choice(["scale", "auto"])) if rng.random() < 0.2 else nasty_number(rng)
        found["degree"] = int(rng.integers(0, 6))
        found["coef0"] = float(rng.choice([0.0, 1.0, 1e-3, 1e6]))
    if "tol" in known and rng.random() < 0.2:
        found["tol"] = float(rng.choice([0.0, 1e-15, 1e-6, 0.5]))
    if "window" in known and rng.random() < 0.3:
        found["window"] = int(rng.integers(2, 12))
    return found


# ---- calls ---------------------------------------------------------------------------------------------


class Stream:
    """One model, random calls on it, and the largest row and bound so far."""

    def __init__(self, case, rng):
        self.subject, self.rng = SUBJECTS[case], rng
        self.d = int(rng.choice([1, 2, 5, 60], p=[0.2, 0.3, 0.4, 0.1]))
        self.form = rng.choice([0, 1, 2])
        self.parameters = nasty_parameters(rng, self.subject.estimator)
        self.model = self.subject.new(**self.parameters)
        self.fitted = False
        self.warned = False  # that the model is not the optimum
        self.weight, self.norm = 1.0, 0.0

    def rows(self, n):
        X = nasty_rows(self.rng, n, self.d)
        self.norm = max(self.norm, float(np.square(X).sum(axis=1).max(initial=0.0)))
        return (np.asarray, sp.csr_matrix, wide_indices)[self.form](X)

    def data(self, n):
        """Rows, labels or targets if the estimator takes them, and weights."""
        y = self.rng.integers(0, self.rng.choice([1, 2, 2, 2, 3]), n)
        labels = self.subject.labels(y)
        more = {}
        if self.subject.needs_y and self.rng.random() < 0.4 and self._takes_weights():
            more["sample_weight"] = nasty_weights(self.rng, n)
            self.weight = max(self.weight, float(more["sample_weight"].max(initial=0.0)))
        return (self.rows(n), *labels), more

    def _takes_weights(self):
        return "sample_weight" in inspect.signature(type(self.model).fit).parameters

    def call(self):
        """Name of a random call and the call."""
        subject, model, rng = self.subject, self.model, self.rng
        size = int(rng.choice([0, 1, 2, 3, 10, 40], p=[0.03, 0.17, 0.2, 0.2, 0.2, 0.2]))
        names = ["fit"]
        if subject.stream:
            names += ["partial_fit"] * 3
        if self.fitted:
            names += ["predict", "pickle"]
            names += ["add", "forget", "set_C", "forget"] if subject.exact else []
            names += ["set_nu"] if subject.exact and not subject.labelled else []
            names += ["leave_one_out", "c_path"] if hasattr(model, "leave_one_out") else []
        name = str(rng.choice(names)) if self.fitted or rng.random() < 0.7 else names[-1]
        if name in ("fit", "partial_fit", "add"):
            given, more = self.data(size if name != "fit" else max(1, size))
            if name == "partial_fit" and subject.labelled:
                more["classes"] = [0, 1, 2] if rng.random() < 0.5 else [0, 1]
            return name, lambda: getattr(model, name)(*given, **more)
        if name == "forget":
            held = ids(model)
            some = rng.permutation(np.array(held, dtype=object))[: rng.integers(0, len(held) + 1)].tolist()
            return name, lambda: model.forget(some)
        if name in ("set_C", "set_nu"):
            value = nasty_number(rng) if name == "set_C" else min(1.0, nasty_number(rng))
            return f"{name}({value:.1e})", lambda: getattr(model, name)(value)
        if name == "c_path":
            values = [nasty_number(rng) for _ in range(3)]
            return f"c_path({values})", lambda: model.c_path(values)
        if name == "leave_one_out":
            return name, lambda: model.leave_one_out(progress=False)
        if name == "pickle":
            return name, lambda: pickle.loads(pickle.dumps(model))
        X = self.rows(max(1, size))
        return name, lambda: model.predict(X)

    # ---- what must hold ------------------------------------------------------------------------------

    def require_finite(self):
        try:
            require_finite(self.model, np.zeros((2, self.d)))
        except ValueError as error:
            require(str(error).strip(), "ValueError without a message")

    def require_optimum(self, warned):
        """KKT conditions are met, or a warning was issued."""
        if not len(ids(self.model)) or warned:
            return
        found, C = self.model.kkt_violation_, getattr(self.model, "C", None) or 1.0
        scale = max(1.0, C * self.weight * self.largest_kernel_value())
        require(found <= KKT_TOL * scale, f"KKT violation {found:.1e}, allowed {KKT_TOL * scale:.1e}, and no warning")

    def largest_kernel_value(self):
        chosen, gamma = self.model.get_params(), getattr(self.model, "_gamma", 1.0)
        if chosen["kernel"] == "rbf":
            return 1.0
        with np.errstate(over="ignore"):
            return (
                self.norm
                if chosen["kernel"] == "linear"
                else (np.float64(gamma * self.norm + chosen["coef0"]) ** chosen["degree"])
            )


def trial(case, rng, number):
    stream, outcomes, story = Stream(case, rng), {}, []
    try:
        for _ in range(CALLS):
            name, call = stream.call()
            kind = _one_call(stream, name, call, story)
            outcomes[kind] = outcomes.get(kind, 0) + 1
    except BaseException as error:
        error.add_note(f"{stream.parameters}: {story}")
        raise
    return outcomes


def _one_call(stream, name, call, story):
    story.append(name)
    print(stream.parameters, name, file=sys.stderr)  # the last words of a worker that hangs
    model, before = stream.model, read_state(stream.model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except ValueError as error:
            message = str(error)
            require(message.strip(), "ValueError without a message")
            require("semi-definite" not in message, message)
            changed = changes(before, read_state(model))
            require(not changed, f"a refused call has changed the model: {changed}")
            return "refused"
    stream.fitted = stream.fitted or hasattr(model, "n_features_in_")
    if stream.fitted:
        stream.require_finite()
        if stream.subject.exact:
            warned = any(issubclass(one.category, UserWarning) for one in caught)
            if warned or changes(before, read_state(model)):  # a call that only reads does not warn again
                stream.warned = warned
            stream.require_optimum(stream.warned)
    return "works"
