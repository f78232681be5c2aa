"""The incremental machines under random sequences of operations: optimal after each of them.

The tests keep the rows themselves, compute kernels with NumPy, and read nothing but published attributes. Short
sequences come from hypothesis, long ones from numbered seeds; a long one that fails is cut down to the operations that
are needed and printed as a program.
"""

import pickle
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sklearn.exceptions import NotFittedError

from hingeline import IncrementalOneClassSVM, IncrementalSVC

from .oracle.equality_qp import classifier_box, kkt_violation

GAMMA = 0.7
KERNELS = {
    "rbf": ({"kernel": "rbf", "gamma": GAMMA}, lambda A, B: np.exp(-GAMMA * ((A[:, None] - B) ** 2).sum(axis=2))),
    "linear": ({"kernel": "linear"}, lambda A, B: A @ B.T),
    "poly": (
        {"kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 1.0},
        lambda A, B: (A @ B.T + 1.0) ** 2,
    ),
}
PRECISION = 1e-8  # of decision values, beside max(1, C * largest kernel value)
#: The same for rows that are nearly equal: those that cannot be told from others on the margin to 1e-11 in squared
#: distance may be off by the root of that, 3e-6.
NEAR = 1e-5


class Watched:
    """A model, what it has been told, and the conditions that must hold after each operation.

    declared: labels that are known from the start, with which points are known by their numbers; None: labels are known
    when they come, and points have names. precision: of decision values.

    Operations are tuples: a word and its arguments. One that makes no sense in the present state is passed over, so
    that any selection of a sequence is a sequence.
    """

    def __init__(self, kernel, parameters, declared=None, precision=PRECISION):
        self.declared, self.precision = declared, precision
        options, self.kernel = KERNELS[kernel]
        self.parameters = {**options, **parameters}
        self.model = self.create()
        self.rows, self.ids, self.numbers, self.labels, self.weights = [], [], [], [], []
        self.seen = 0

    def do(self, word, *arguments):
        getattr(self, word)(*arguments)
        self.check()

    def add(self, row, label=None, weight=1.0, name=None):
        name = self.seen if name is None or self.declared else name
        before = list(self.ids)
        assert self.teach(np.array([row], dtype=np.float64), label, weight, name) == [name]
        by_class = getattr(self.model, "window_scope", "all") == "class"
        rivals = [k for k in range(len(before)) if not by_class or self.labels[k] == label]
        if len(rivals) == self.model.window:
            gone = [k for k in rivals if [*before[:k], *before[k + 1 :], name] == self.model.ids_.tolist()]
            assert gone, f"{before} and {name} became {self.model.ids_}"
            self.drop([gone[0]])
        for values, value in zip(
            (self.rows, self.ids, self.numbers, self.labels, self.weights),
            (row, name, self.seen, label, weight),
            strict=True,
        ):
            values.append(value)
        self.seen += 1

    def drop(self, positions):
        for values in (self.rows, self.ids, self.numbers, self.labels, self.weights):
            values[:] = [value for k, value in enumerate(values) if k not in positions]

    def forget(self, name):
        if name in self.ids and self.may_forget(name):
            self.model.forget(name)
            self.drop([k for k, other in enumerate(self.ids) if other == name])

    def forget_nth(self, n):
        if self.ids:
            self.forget(self.ids[n % len(self.ids)])

    def copy(self):
        if self.seen:
            self.model = pickle.loads(pickle.dumps(self.model))

    def matrix(self):
        X = np.array(self.rows, dtype=np.float64).reshape(len(self.rows), -1)
        return X, self.kernel(X, X)

    def coefficients(self):
        """Coefficients of what is held, machine by machine, from `support_` and `dual_coef_`."""
        place = {number: k for k, number in enumerate(self.numbers)}
        coef = np.atleast_2d(self.model.dual_coef_)
        assert set(self.model.support_.tolist()) <= place.keys()
        alpha = np.zeros((len(coef), len(self.rows)))
        alpha[:, [place[number] for number in self.model.support_.tolist()]] = coef
        return alpha

    def check(self):
        if not self.seen:
            return
        assert self.model.ids_.tolist() == self.ids
        assert self.model.n_samples_ == len(self.ids)
        assert self.model.n_samples_seen_ == self.seen
        self.check_model()


class Classifier(Watched):
    def create(self):
        return IncrementalSVC(**self.parameters)

    def may_forget(self, name):
        return True

    def teach(self, X, label, weight, name):
        if not self.declared:
            return self.model.add(X, [label], ids=[name], sample_weight=[weight])
        if self.seen:
            return self.model.add(X, [label], sample_weight=[weight])
        self.model.partial_fit(X, [label], self.declared, sample_weight=[weight])
        return [0]

    def set_C(self, C):
        if self.seen:
            assert self.model.set_C(C) is self.model
            assert self.model.C == C

    def leave_one_out(self):
        if len(self.model_classes()) > 1 and self.ids:
            before = self.model.dual_coef_.tobytes(), self.model.intercept_.tobytes()
            assert self.model.leave_one_out().ids.tolist() == self.ids
            assert (self.model.dual_coef_.tobytes(), self.model.intercept_.tobytes()) == before

    def model_classes(self):
        return self.model.classes_.tolist() if self.seen else []

    def check_model(self):
        classes = self.model_classes()
        assert classes == sorted(classes) and set(self.labels) <= set(classes)
        if len(classes) < 2 or not self.ids:
            return
        X, K = self.matrix()
        alpha, b = self.coefficients(), self.model.intercept_
        machines = classes[1:] if len(classes) == 2 else classes
        assert len(alpha) == len(b) == len(machines)
        C, scale = self.model.C, max(1.0, self.model.C * K.diagonal().max())
        for label, a, mu in zip(machines, alpha, b, strict=True):
            y = np.where(np.array(self.labels) == label, 1.0, -1.0)
            lo, hi = classifier_box(y, C * np.array(self.weights))
            violation = kkt_violation(K, a, mu, lo, hi, y, 0.0)
            assert violation <= self.precision * scale, f"machine of {label}: {violation:.3g}, scale {scale:.3g}"
        assert self.model.kkt_violation_ <= self.precision * scale
        values = (K @ alpha.T + b).reshape(len(X), -1)
        computed = self.model.decision_function(X).reshape(len(X), -1)
        tolerance = 1e-12 * (1 + np.abs(alpha).sum() * np.abs(K).max())
        np.testing.assert_allclose(computed, values, rtol=0, atol=tolerance)


class OneClass(Watched):
    def create(self):
        return IncrementalOneClassSVM(**self.parameters)

    def may_forget(self, name):
        """What happens with fewer points than 1 / C is for other tests."""
        left = sum(other != name for other in self.ids)
        return self.C(left) * left >= 1 if left else False

    def teach(self, X, label, weight, name):
        return self.model.add(X, ids=[name])

    def C(self, n):
        return 1 / (self.model.nu * n) if self.model.C is None else self.model.C

    def set_C(self, C):
        if self.model.C is not None and C * len(self.ids) >= 1:
            self.model.set_C(C)
            assert self.model.C == C

    def set_nu(self, nu):
        if self.model.C is None and self.ids:
            self.model.set_nu(nu)
            assert self.model.nu == nu

    def check_model(self):
        n = len(self.ids)
        X, K = self.matrix()
        C = self.C(n)
        if C * n < 1 - 1e-12:
            with pytest.raises(NotFittedError):
                self.model.predict(X)
            return
        (a,) = self.coefficients()
        if self.model.shape == "plane":
            a, p, mu = a * C, np.zeros(n), -self.model.offset_ * C
            values = (K @ a + mu) / C
        else:
            p, mu = K.diagonal() / 2, (-self.model.offset_ - a @ K @ a) / 2
            values = -self.model.offset_ - (K.diagonal() - 2 * K @ a + a @ K @ a)
        scale = max(1.0, C * K.diagonal().max())
        violation = kkt_violation(K, a, mu, np.zeros(n), np.full(n, C), p, 1.0, slack=1e-12)
        assert violation <= self.precision * scale, f"{violation:.3g}, scale {scale:.3g}"
        assert self.model.kkt_violation_ <= self.precision * scale
        rounding = 1e-11 if self.precision == PRECISION else NEAR
        np.testing.assert_allclose(
            self.model.decision_function(X), values, rtol=0, atol=rounding * (1 + np.abs(K).max()) / min(C, 1.0)
        )


# ---- long sequences --------------------------------------------------------------------------------------------


def some_row(rng, kind, earlier=()):
    """A row of real numbers; one of few rows, so that many come again, with the same label or another; or a row that is
    nearly one of the `earlier`."""
    if kind == "grid":
        return tuple(rng.integers(-2, 3, 2).astype(float).tolist())
    row = rng.standard_normal(3)
    if kind == "near" and earlier and rng.random() < 0.4:
        row = earlier[rng.integers(len(earlier))] + 10.0 ** rng.integers(-12, -3) * row
    return tuple(row.tolist())


def some_C(rng):
    return float(rng.choice([0.01, 1.0, 100.0, 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-2, 2)]))


def some_sequence(seed, length):
    """(kind of model, its arguments, operations)."""
    rng = np.random.default_rng(seed)
    kernel, data = rng.choice(list(KERNELS)), rng.choice(["real", "grid", "near"], p=[0.4, 0.4, 0.2])
    window = int(rng.choice([2, 5, 20])) if rng.random() < 0.3 else None
    rule_ = str(rng.choice(["relevance", "oldest"]))
    parameters = {"window": window, "window_rule": rule_}
    few = rng.random() < 0.3  # often down to nothing
    forgets = 0.42 if few else rng.choice([0.15, 0.3])
    operations = []
    groups = window is None and rng.random() < 0.3
    kind = Classifier if rng.random() < 0.7 else OneClass
    if kind is Classifier:
        parameters["C"] = some_C(rng)
        n_classes, noisy, weighted = rng.choice([2, 2, 3]), rng.random() < 0.5, rng.random() < 0.3
    else:
        parameters["shape"] = str(rng.choice(["plane", "sphere"]))
        small = rng.choice([0.05, 1 / 15, 0.07, 0.3, 1.0])
        parameters |= {"C": float(small)} if rng.random() < 0.5 and window is None else {"nu": float(small)}
    declared = list(range(n_classes)) if kind is Classifier and not groups and rng.random() < 0.6 else None
    for k in range(length):
        chance = rng.random()
        if chance < forgets:
            name = f"group {rng.integers(8)}" if groups and rng.random() < 0.1 else None
            operations.append(("forget", name) if name else ("forget_nth", int(rng.integers(1000))))
        elif chance < forgets + 0.1:
            if kind is Classifier:
                operations.append(("set_C", some_C(rng)))
            else:
                operations.append((str(rng.choice(["set_C", "set_nu"])), float(rng.uniform(0.02, 1.0))))
        elif chance < forgets + 0.12:
            operations.append(("copy",))
        elif chance < forgets + 0.13 and kind is Classifier:
            operations.append(("leave_one_out",))
        else:
            row = some_row(rng, data, [operation[1] for operation in operations if operation[0] == "add"])
            name = f"group {rng.integers(8)}" if groups and rng.random() < 0.3 else f"point {k}"
            if kind is Classifier:
                tidy = int(np.sum(np.sum(row) > np.arange(n_classes - 1)))
                label = int(rng.integers(n_classes)) if noisy else tidy
                operations.append(("add", row, label, float(rng.choice([0.5, 1.0, 3.0])) if weighted else 1.0, name))
            else:
                operations.append(("add", row, None, 1.0, name))
    return kind, (str(kernel), parameters, declared, NEAR if data == "near" else PRECISION), operations


def first_failure(kind, arguments, operations):
    """(Number of operations done, exception), or None."""
    watched = kind(*arguments)
    for k, operation in enumerate(operations):
        try:
            watched.do(*operation)
        except Exception as error:
            return k + 1, error
    return None


def reduced(kind, arguments, operations, seconds=20.0):
    """Operations that still fail in the same way after none of them can be left out, if time allows."""
    end = time.monotonic() + seconds
    error = type(first_failure(kind, arguments, operations)[1])
    size = max(1, len(operations) // 2)
    while time.monotonic() < end:
        at = 0
        while at < len(operations) and time.monotonic() < end:
            shorter = operations[:at] + operations[at + size :]
            failure = first_failure(kind, arguments, shorter)
            if failure and type(failure[1]) is error:
                operations = shorter[: failure[0]]
            else:
                at += size
        if size == 1:
            break
        size //= 2
    return operations


def run(seed, length):
    """One sequence; a failure is printed as a program."""
    kind, arguments, operations = some_sequence(seed, length)
    failure = first_failure(kind, arguments, operations)
    if failure is None:
        return
    needed = reduced(kind, arguments, operations[: failure[0]])
    again = first_failure(kind, arguments, needed)
    error = again[1] if again else failure[1]
    program = [
        f"from tests.test_incremental_machine import {kind.__name__}",
        f"watched = {kind.__name__}(*{arguments!r})",
        *(f"watched.do(*{operation!r})" for operation in needed),
    ]
    pytest.fail(
        f"seed {seed}, operation {failure[0]}: {type(failure[1]).__name__}: {failure[1]}\n"
        f"after leaving out what is not needed: {type(error).__name__}: {error}\n" + "\n".join(program),
        pytrace=False,
    )


@pytest.mark.parametrize("first", range(0, 24, 4))
def test_random_operations(first):
    for seed in range(first, first + 4):
        run(seed, 100)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1900, 50))
def test_many_random_operations(first):
    for seed in range(first, first + 50):
        run(seed, 100)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5000, 5010))
def test_long_random_operations(seed):
    run(seed, 1000)


def test_a_failure_is_cut_down(monkeypatch):
    """What a failing sequence leaves in the report: the two operations that matter."""
    monkeypatch.setattr(Watched, "drop", lambda self, positions: None)
    kind, arguments = Classifier, ("linear", {"C": 1.0}, [0, 1])
    operations = [("add", (float(k),), k % 2) for k in range(6)] + [("set_C", 2.0), ("forget_nth", 3), ("copy",)]
    done, error = first_failure(kind, arguments, operations)
    assert done == 8 and isinstance(error, AssertionError)
    needed = reduced(kind, arguments, operations)
    assert [word for word, *_ in needed] == ["add", "forget_nth"]


def test_a_wrong_model_is_noticed():
    """The check itself: a coefficient, a constant or a row that is not what it should be."""
    rng = np.random.default_rng(0)
    for change in ("alpha", "mu", "row", "label"):
        watched = Classifier("rbf", {"C": 1.0}, [0, 1])
        for k in range(12):
            watched.do("add", some_row(rng, "real"), k % 2)
        X, K = watched.matrix()
        y = np.where(np.array(watched.labels) == 1, 1.0, -1.0)
        (a,), mu = watched.coefficients(), watched.model.intercept_[0]
        if change == "alpha":
            a[np.argmax(np.abs(a))] *= 1 - 1e-6
        elif change == "mu":
            mu += 1e-6
        elif change == "row":
            X[np.argmax(np.abs(a))] += 1e-4
            K = watched.kernel(X, X)
        else:
            y[0] *= -1
        assert kkt_violation(K, a, mu, *classifier_box(y, 1.0), y, 0.0) > 1e-8


# ---- short sequences -------------------------------------------------------------------------------------------

GRID = st.tuples(*[st.integers(-2, 2).map(float)] * 2)
REAL = st.tuples(*[st.integers(-300, 300).map(lambda k: k / 100)] * 2)  # not nearly equal
LOG_C = st.one_of(st.sampled_from([0.01, 0.5, 1.0, 100.0]), st.floats(-2, 2).map(lambda e: 10.0**e))


class ClassifierMachine(RuleBasedStateMachine):
    @initialize(
        kernel=st.sampled_from(sorted(KERNELS)),
        C=LOG_C,
        window=st.sampled_from([None, None, 2, 4]),
        rule_=st.sampled_from(["relevance", "oldest"]),
        scope=st.sampled_from(["all", "class"]),
        declared=st.sampled_from([None, [0, 1], [0, 1, 2]]),
    )
    def start(self, kernel, C, window, rule_, scope, declared):
        parameters = {"C": C, "window": window, "window_rule": rule_, "window_scope": scope}
        self.watched = Classifier(kernel, parameters, declared)

    @rule(row=GRID, label=st.integers(0, 1))
    def add_point_of_grid(self, row, label):
        self.watched.add(row, label)

    @rule(row=REAL, label=st.integers(0, 2), weight=st.sampled_from([0.5, 1.0, 2.0]))
    def add_point(self, row, label, weight):
        self.watched.add(row, label, weight)

    @precondition(lambda self: self.watched.ids)
    @rule(n=st.integers(0, 50))
    def again(self, n):
        """The same row with the other label."""
        n %= len(self.watched.ids)
        self.watched.add(self.watched.rows[n], 1 - min(self.watched.labels[n], 1))

    @precondition(lambda self: self.watched.ids)
    @rule(n=st.integers(0, 50))
    def forget(self, n):
        self.watched.forget_nth(n)

    @precondition(lambda self: self.watched.seen)
    @rule(C=LOG_C)
    def set_C(self, C):
        self.watched.set_C(C)

    @invariant()
    def optimal(self):
        if hasattr(self, "watched"):
            self.watched.check()


class OneClassMachine(RuleBasedStateMachine):
    @initialize(
        kernel=st.sampled_from(sorted(KERNELS)),
        shape=st.sampled_from(["plane", "sphere"]),
        bound=st.sampled_from([{"nu": 0.3}, {"nu": 1.0}, {"nu": 0.01}, {"C": 1.0}, {"C": 0.25}, {"C": 0.3}]),
    )
    def start(self, kernel, shape, bound):
        self.watched = OneClass(kernel, {"shape": shape, **bound})

    @rule(row=st.one_of(GRID, REAL))
    def add_point(self, row):
        self.watched.add(row)

    @precondition(lambda self: self.watched.ids)
    @rule(n=st.integers(0, 50))
    def forget(self, n):
        self.watched.forget_nth(n)

    @precondition(lambda self: self.watched.ids)
    @rule(value=st.floats(0.02, 1.0))
    def change(self, value):
        self.watched.set_nu(value)
        self.watched.set_C(value)

    @invariant()
    def optimal(self):
        if hasattr(self, "watched"):
            self.watched.check()


for machine in (ClassifierMachine, OneClassMachine):
    machine.TestCase.settings = settings(
        max_examples=60, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
    )
TestClassifierMachine = ClassifierMachine.TestCase
TestOneClassMachine = OneClassMachine.TestCase
