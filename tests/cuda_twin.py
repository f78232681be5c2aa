"""The device of `hingeline.cuda` without a card: NumPy, and the kernels compiled as C++ with one thread."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from hingeline.cuda.source import Form, step_source, value_source

COMPILER = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")


class Twin:
    """Stands in for `hingeline.cuda.card.Card`; `memory` is what `free_bytes` says."""

    xp = np
    clusters = False

    def __init__(self, memory: int = 1 << 34, most: int = 65536) -> None:
        self.memory, self.most, self.launches = memory, most, 0

    def free_bytes(self) -> int:
        return self.memory

    def release(self) -> None:
        pass

    def wait(self) -> None:
        pass

    def read(self, *values: Any) -> list[float]:
        return [float(value) for value in values]

    def to_device(self, X: Any) -> np.ndarray:
        return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)

    @staticmethod
    def address(array: np.ndarray) -> int:
        return array.ctypes.data

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array

    def most_points(self) -> int:
        return self.most

    def solve(self, form: Form, tasks: np.ndarray) -> None:
        self.launches += 1
        compile_steps(form).solve_all(ctypes.c_void_p(tasks.ctypes.data), ctypes.c_int(len(tasks)))

    def value_kernel(self, name: str, kind: str, dtype: Any, form: Form) -> Any:
        kernel = getattr(compile_values(kind, dtype, form.element, form.code), name)

        def launch(blocks: int, parameters: tuple[float, float, int], arrays: Any, numbers: Any) -> None:
            gamma, coef0, degree = parameters
            rows, columns, *others = numbers
            for array in arrays:
                assert array.flags.c_contiguous
            kernel(
                ctypes.c_double(gamma),
                ctypes.c_double(coef0),
                ctypes.c_longlong(degree),
                *(ctypes.c_void_p(array.ctypes.data) for array in arrays),
                ctypes.c_longlong(rows),
                ctypes.c_int(columns),
                *map(ctypes.c_longlong, others),
            )

        return launch

    def factor(self, A: np.ndarray) -> np.ndarray | None:
        try:
            return np.linalg.cholesky(A)
        except np.linalg.LinAlgError:
            return None

    def solve_factored(self, factor: np.ndarray, right: np.ndarray) -> np.ndarray:
        return solve_triangular(factor, solve_triangular(factor, right, lower=True), lower=True, trans=1)


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="hingeline-twin-", ignore_cleanup_errors=True)


def compile_source(source: str) -> ctypes.CDLL:
    count = len(list(Path(folder().name).glob("*.cpp")))
    path = Path(folder().name) / f"twin{count}.cpp"
    path.write_text(source, encoding="utf-8")
    flags = ["-std=c++17", "-O2", "-shared", "-fPIC", "-Wall", "-Werror", "-Wno-unknown-pragmas"]
    subprocess.run([str(COMPILER), *flags, "-o", str(path.with_suffix(".so")), str(path)], check=True)
    return ctypes.CDLL(str(path.with_suffix(".so")))


@cache
def compile_steps(form: Form) -> ctypes.CDLL:
    return compile_source(step_source(form, points=1, threads=1, cluster=1))


@cache
def compile_values(kind: str, dtype: Any, element: Any, code: int) -> ctypes.CDLL:
    return compile_source(value_source(kind, dtype, element, code))
