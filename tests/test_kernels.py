"""The kernel engine as Python sees it: accuracy, one value wherever it is computed, every instruction set."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

from hingeline import _core

from .private import kernel_values

ISAS = ["baseline", "avx2", "avx512"]


def gram(X, name="rbf", copy_bytes=0, **parameters):
    return kernel_values(X, name, copy_bytes, **parameters)


def ids(values):
    return np.ascontiguousarray(values, dtype=np.int64)


def data(n, d, dtype, density=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return np.where(rng.random((n, d)) < density, X, 0.0).astype(dtype)


def exact_rbf(X, gamma):
    X = X.astype(np.longdouble)
    d2 = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-np.longdouble(gamma) * d2)


@pytest.mark.parametrize("d", [1, 3, 17, 120, 700])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_against_scikit_learn(d, dtype):
    X = data(130, d, dtype)
    everything = ids(np.arange(130))
    X64, eps = X.astype(np.float64), np.finfo(dtype).eps
    cases = {
        "linear": (X64 @ X64.T, {}),
        "rbf": (rbf_kernel(X64, gamma=1 / d), {"gamma": 1 / d}),
        "poly": (polynomial_kernel(X64, gamma=1 / d, coef0=1.0, degree=4), {"gamma": 1 / d, "coef0": 1.0, "degree": 4}),
        "sigmoid": (sigmoid_kernel(X64, gamma=0.5 / d, coef0=0.1), {"gamma": 0.5 / d, "coef0": 0.1}),
    }
    for name, (expected, parameters) in cases.items():
        K = gram(X, name, **parameters).columns(everything, everything)
        assert K.dtype == dtype
        np.testing.assert_allclose(K, expected, rtol=0, atol=40 * eps * np.abs(expected).max() * np.sqrt(d))
        np.testing.assert_array_equal(K, K.T)
    K = gram(X, gamma=1 / d).columns(everything, everything)
    assert (np.diag(K) == 1).all()


@pytest.mark.parametrize("dtype, bound", [(np.float32, 2e-7), (np.float64, 1e-15)])
def test_exponential_is_accurate_over_its_whole_range(dtype, bound):
    # One feature, gamma 1, points x and 0 with x = k / 64: the squared distance is exact, so is the argument.
    limit = 87 if dtype is np.float32 else 708
    top = int(np.sqrt(limit) * 64)
    X = np.concatenate([[0.0], np.arange(top + 1) / 64]).astype(dtype)[:, None]
    K = gram(X).columns(ids([0]), ids(np.arange(1, len(X))))[0]
    exact = np.exp(-(X[1:, 0].astype(np.longdouble) ** 2))
    assert (np.abs(K / exact - 1)).max() <= bound
    far = np.array([[0.0], [1e4], [3e5]], dtype=dtype)
    assert gram(far).columns(ids([0]), ids([1, 2])).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("gamma", [1e-6, 0.37, 40.0])
def test_exponential_of_large_arguments(gamma):
    # gamma d2 is not rounded before the exponential: the error stays small for large arguments too.
    if _core.isa() == "baseline" and platform.machine() in ("x86_64", "AMD64"):
        pytest.skip("this instruction set has no fused multiply-add")
    X = (np.arange(60) / 8).astype(np.float32)[:, None]
    everything = ids(np.arange(60))
    K = gram(X, gamma=float(np.float32(gamma))).columns(everything, everything)
    exact = exact_rbf(X, np.float32(gamma))
    normal = exact > 1e-37
    assert (np.abs(K / exact - 1))[normal].max() <= 2e-7


@pytest.mark.parametrize("d, density", [(3, 1.0), (40, 1.0), (150, 1.0), (600, 1.0), (100, 0.1), (700, 0.05)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_value_wherever_it_is_computed(d, density, dtype):
    n = 210
    X = data(n, d, dtype, density)
    everything = ids(np.arange(n))
    K = gram(X, gamma=0.7 / d).columns(everything, everything)
    strided = np.empty((2 * n, 2 * d + 1), dtype)[::2, 1::2]
    strided[:] = X
    csr = sp.csr_matrix(X)
    wide = sp.csr_matrix((csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)), shape=csr.shape)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    forms = {
        "Fortran": np.asfortranarray(X),
        "reversed": X[::-1, ::-1].copy()[::-1, ::-1],
        "strided": strided,
        "csr": csr,
        "csr64": wide,
    }
    rng = np.random.default_rng(1)
    for name, form in forms.items():
        for copy_bytes in (0, 1 << 30):
            g = gram(form, gamma=0.7 / d, copy_bytes=copy_bytes)
            np.testing.assert_array_equal(g.columns(everything, everything), K, err_msg=name)
            for queries in (1, 2, 5, 16, 33, 64, 65):
                q, base = ids(rng.choice(n, queries)), ids(rng.permutation(n)[: rng.integers(1, n)])
                np.testing.assert_array_equal(g.columns(q, base), K[np.ix_(q, base)], err_msg=f"{name} {queries}")


def test_one_value_in_many_features():
    # More features than a panel keeps lines for.
    X = sp.random(90, 20_000, density=0.004, random_state=0, format="csr", dtype=np.float32)
    everything = ids(np.arange(90))
    K = gram(X, gamma=0.1).columns(everything, everything)
    np.testing.assert_array_equal(K, gram(X.toarray(), gamma=0.1).columns(everything, everything))
    np.testing.assert_array_equal(K[[3]], gram(X, gamma=0.1).columns(ids([3]), everything))


def test_rows_of_bits():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 123)) < 0.12).astype(np.float32)
    everything = ids(np.arange(300))
    plain, bits = gram(X, gamma=0.05), gram(X, gamma=0.05, copy_bytes=1 << 20)
    assert plain.copy_bytes == 0 < bits.copy_bytes <= 1 << 20
    np.testing.assert_array_equal(plain.columns(everything, everything), bits.columns(everything, everything))


def lines(coef, sizes, outputs, intercept):
    return _core.Lines(
        np.ascontiguousarray(coef, dtype=np.float64), ids(sizes), ids(outputs), np.asarray(intercept, float)
    )


def packed(X, gamma):
    return _core.Packed(_core.Kernel("rbf", gamma), _core.Matrix(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse_support", [False, True])
@pytest.mark.parametrize("sparse_queries", [False, True])
def test_decisions_do_not_depend_on_company_or_threads(dtype, sparse_support, sparse_queries):
    support, queries = data(333, 50, dtype, 0.3, seed=1), data(500, 50, dtype, 0.3, seed=2)
    rng = np.random.default_rng(0)
    coef = rng.standard_normal((2, 333))
    w = lines(coef, [100, 133, 100], [[0, 1], [0, 2], [1, 2]], [0.5, -1.0, 2.0])
    p = packed(sp.csr_matrix(support) if sparse_support else support, 0.02)
    view = sp.csr_matrix(queries) if sparse_queries else queries
    f = p.decide(w, _core.Matrix(view), 1)
    K = rbf_kernel(queries.astype(float), support.astype(float), gamma=0.02)
    a, b, c = slice(0, 100), slice(100, 233), slice(233, 333)
    expected = np.stack(
        [
            K[:, a] @ coef[0, a] + K[:, b] @ coef[0, b] + 0.5,
            K[:, a] @ coef[1, a] + K[:, c] @ coef[0, c] - 1.0,
            K[:, b] @ coef[1, b] + K[:, c] @ coef[1, c] + 2.0,
        ],
        axis=1,
    )
    np.testing.assert_allclose(f, expected, atol=2e-4 if dtype is np.float32 else 1e-11)
    for threads in (2, 3):
        np.testing.assert_array_equal(f, p.decide(w, _core.Matrix(view), threads))
    for part in (slice(0, 1), slice(17, 18), slice(3, 20), slice(100, 233)):
        np.testing.assert_array_equal(f[part], p.decide(w, _core.Matrix(view[part]), 1))


def test_queries_of_another_precision():
    support, queries = data(60, 20, np.float32, seed=1), data(40, 20, np.float64, seed=2)
    w = lines(np.ones((1, 60)), [60], [[0]], [0.0])
    f = packed(support, 0.1).decide(w, _core.Matrix(queries), 1)
    np.testing.assert_array_equal(f, packed(support, 0.1).decide(w, _core.Matrix(queries.astype(np.float32)), 1))


def test_the_set_that_was_asked_for():
    assert _core.isa() == os.environ.get("HINGELINE_ISA", _core.isa())


@pytest.mark.parametrize("isa", ISAS)
def test_every_instruction_set(isa):
    # The set is chosen once per process. This file's own tests run again under the narrower ones.
    if ISAS.index(isa) >= ISAS.index(_core.isa()):
        pytest.skip(f"this process runs {_core.isa()} already")
    environment = {**os.environ, "HINGELINE_ISA": isa}
    select = "set_that_was_asked_for or against_scikit_learn or accurate or one_value or bits or company"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        __file__,
        "-k",
        select,
    ]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:]
