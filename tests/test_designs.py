"""The baseline of Figures 6 and 7 of Laskov et al.: both designs learn the machine of IncrementalSVC."""

import numpy as np
import pytest
from benchmarks.incremental.designs import Machine, kernel_of

from hingeline import IncrementalSVC

from .exact import KERNELS, noisy


@pytest.mark.parametrize("design", ["gaxpy", "selection"])
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_designs_are_the_incremental_svm(kernel, C, design):
    d = 20 if kernel == "linear" else 4  # the baseline does not accept linearly dependent rows
    X, y = noisy(200, d, seed=6)
    machine = Machine(kernel_of(KERNELS[kernel]), C, design, len(X))
    for part in (slice(0, 37), slice(37, 200)):
        machine.learn(X[part], np.where(y[part] == 1, 1.0, -1.0))
    model = IncrementalSVC(C=C, **KERNELS[kernel]).fit(X, y)
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(machine.alpha, alpha, atol=1e-8 * C)
    np.testing.assert_allclose(machine.mu, model.intercept_[0], atol=1e-7)
    assert machine.steps > 200 * 0.2 and len(machine.S) == model.n_margin_[0]


@pytest.mark.parametrize(("slow", "holds"), [(4.94, "no"), (4.96, "yes"), (20.04, "yes"), (20.06, "no")])
def test_gains_are_compared_as_printed(slow, holds):
    pytest.importorskip("matplotlib")
    from benchmarks.papers.laskov2006.claims import _designs

    class Summary:
        def designs(self, kernel, digit, n):
            seconds = {"gaxpy": 1.0, "selection": slow, "core": 0.5}
            return {design: {"seconds": value, "gamma_seconds": value} for design, value in seconds.items()}

    words, verdict, numbers = next(_designs(Summary()))
    assert "5 to 20 times" in words
    assert (verdict, numbers) == (holds, f"{slow:.1f} to {slow:.1f} times, n = 1,000 to 10,000")
