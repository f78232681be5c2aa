"""NORMA, Pegaz and OL-SVM as the lists say them, on a whole kernel matrix, in NumPy: every step is O(n).

Variants: "norma", "pegaz", "olsvm_reg" (list 3a, regularised), "olsvm" (list 3b, hinge only).
"""

import math
from dataclasses import dataclass, field

import numpy as np

VARIANTS = ("norma", "pegaz", "olsvm_reg", "olsvm")
RATES = {"sqrt": lambda C, t: C * math.sqrt(2 / t), "inverse": lambda C, t: C / t}


@dataclass
class Result:
    coef: np.ndarray
    b: float
    outputs: np.ndarray
    steps: int  # t of the last one
    last: tuple  # what to go on from: coefficients that are no average (Pegaz: counts of violations) and fit_intercept
    violated: list = field(default_factory=list)

    @property
    def violations(self):
        return sum(self.violated)


def naive_kernel_sgd(
    K,
    y,
    *,
    variant,
    C=1.0,
    n_epochs=1,
    learning_rate="sqrt",
    decay_first=False,
    fit_intercept=False,
    average=False,
    literal=False,
    weight=None,
    start=0,
    state=None,
    order=None,
):
    """K: kernel matrix; y: labels +1 and -1; weight: factor of each sample's own step.

    average: the mean of what the steps of the last half left; 'all': of all steps.  literal: list 1 of the paper as
    printed, or list 3a without a limit of its first step.  start: steps taken before, the first one here has
    t = start + 1; state: result to go on from, of the first samples at least.  order: samples of one pass, by default
    all as they come.
    """
    assert variant in VARIANTS
    assert not decay_first or variant == "norma"
    assert not literal or variant in ("norma", "olsvm_reg")
    assert not (literal and decay_first)
    n = len(y)
    order = range(n) if order is None else order
    weight = np.ones(n) if weight is None else weight
    a, b = np.zeros(n), 0.0
    if state is not None:
        a[: len(state.last[0])], b = state.last
    o = K @ a
    alpha, mean, mean_b, violated = a, np.zeros(n), 0.0, []
    T = n_epochs * len(order)
    begin = 0 if average == "all" else T // 2
    for s in range(1, T + 1):
        i = order[(s - 1) % len(order)]
        eta = RATES[learning_rate](C, start + s)
        step = eta * weight[i] * y[i]
        if variant == "pegaz":
            hit = y[i] * (K[i] @ (eta * a) + b) <= 1
            if hit:
                a[i] += weight[i] * y[i]
            alpha = eta * a
        elif variant == "norma" and literal:
            hit = y[i] * (K[i] @ a + b) <= 1
            own = a[i]
            a *= max(0.0, 1 - eta / C)
            a[i] = step if hit else own
        elif variant == "norma":
            phi = max(0.0, 1 - eta / C)
            if decay_first:
                a, o = phi * a, phi * o
            hit = y[i] * (o[i] + b) <= 1
            if not decay_first:
                a, o = phi * a, phi * o
            if hit:
                a[i] += step
                o += step * K[:, i]
            alpha = a
        else:
            v = y[i] * (o[i] + b)
            hit = v < 1
            if variant == "olsvm":
                d = step if hit else 0.0
            else:
                rho = eta / C if literal else min(1.0, eta / C)
                d = rho * (C * weight[i] * y[i] - a[i]) if hit else -rho * a[i] if v > 1 else 0.0
            o += d * K[:, i]
            a[i] += d
        if fit_intercept and hit:
            b += step
        violated.append(bool(hit))
        if s > begin:
            mean += alpha / (T - begin)
            mean_b += b / (T - begin)
    coef, intercept = (mean, mean_b) if average else (alpha, b)
    kept = not average and variant != "pegaz" and not (literal and variant == "norma")
    outputs = (o if kept else K @ coef) + intercept
    return Result(coef, intercept, outputs, start + T, (a, b), violated)
