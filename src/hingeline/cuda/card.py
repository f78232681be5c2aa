"""A graphics card as a device for the solver: CuPy arrays, kernels that NVRTC compiles when they are first used."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._extras import optional
from .source import Form, step_source, value_source

#: Points of a thread and threads of a block in a cluster, by size: a kernel is compiled for each. Measured: 2 x 512 is
#: faster than 1 x 1024 and 4 x 256, 4 x 1024 faster than 8 x 512. With more points or threads registers run out.
SHAPES = ((1, 512), (2, 512), (4, 512), (4, 1024), (8, 640), (8, 768), (16, 512))
#: The same for a block alone.
SHAPES_ALONE = tuple((points, 1024) for points in (1, 2, 4, 8, 16, 32))
#: Blocks of a cluster: the most that every card with clusters allows.
CLUSTER = 8
#: Bytes of beta and of the box of a point.
BOX_BYTES = 24
#: Most blocks of a launch that computes kernel values; a block takes several rows.
MOST_BLOCKS = 1 << 16
#: Share of the free memory that training may take: the rest is for other programs and for fragments.
SHARE = 0.9


class Card:
    """The current CUDA device.

    Attributes
    ----------
    xp : module
        CuPy.
    clusters : bool
        Whether blocks of a launch can work in clusters; may be set to False to work as on older cards.
    """

    def __init__(self) -> None:
        with optional("device='cuda'"):
            import cupy
        self.xp = cupy
        self._require_driver()
        self.clusters = int(cupy.cuda.Device().compute_capability) >= 90

    def _require_driver(self) -> None:
        runtime = self.xp.cuda.runtime
        try:
            count = runtime.getDeviceCount()
        except runtime.CUDARuntimeError as error:
            raise RuntimeError(
                f"device='cuda' found no usable CUDA driver ({error}). Install NVIDIA's driver, or use device='cpu'."
            ) from error
        if count == 0:
            raise RuntimeError("device='cuda' found no CUDA device. Use device='cpu'.")

    # ---- memory --------------------------------------------------------------------------------------

    def free_bytes(self) -> int:
        """Bytes that training may take: of the card, or of the limit of CuPy's memory pool if that is less."""
        pool = self.xp.get_default_memory_pool()
        free = self.xp.cuda.Device().mem_info[0] + pool.free_bytes()
        limit = pool.get_limit()
        return int(SHARE * min(free, limit - pool.used_bytes() if limit else free))

    def release(self) -> None:
        """Give memory that is not in use back to the driver."""
        self.xp.get_default_memory_pool().free_all_blocks()

    def wait(self) -> None:
        self.xp.cuda.get_current_stream().synchronize()

    def read(self, *values: Any) -> list[float]:
        """Scalars of the device as numbers, in one transfer."""
        stacked = self.xp.stack([self.xp.asarray(value, dtype=np.float64) for value in values])
        return stacked.get().tolist()

    def to_device(self, X: Any) -> Any:
        """Rows in the memory of the card; sparse rows become dense there."""
        if not sp.issparse(X):
            return self.xp.asarray(X, order="C")
        from cupyx.scipy.sparse import csr_matrix

        return csr_matrix(X).toarray(order="C")

    @staticmethod
    def address(array: Any) -> int:
        return int(array.data.ptr)

    def to_host(self, array: Any) -> np.ndarray:
        return self.xp.asnumpy(array)

    # ---- kernels -------------------------------------------------------------------------------------

    def _shapes(self) -> tuple[tuple[tuple[int, int], ...], int]:
        """Shapes of a launch, and the blocks of a cluster. Without clusters (before Hopper) one block does a step."""
        return (SHAPES, CLUSTER) if self.clusters else (SHAPES_ALONE, 1)

    def most_points(self) -> int:
        """Largest working set."""
        shapes, cluster = self._shapes()
        points, threads = shapes[-1]
        return points * threads * cluster

    def solve(self, form: Form, tasks: np.ndarray) -> None:
        """Make steps on working sets, a cluster for each.

        Parameters
        ----------
        form : Form
            Form of their matrices.
        tasks : ndarray of TASK
            Working sets, with addresses in the memory of the card.
        """
        shapes, cluster = self._shapes()
        most = int(tasks["size"].max())
        points, threads = next((p, t) for p, t in shapes if p * t * cluster >= most)
        kernel, shared = _steps(form, points, threads, cluster)
        table = self.xp.asarray(tasks.view(np.uint8))
        clusters = min(len(tasks), max(1, self._processors() // cluster))
        kernel((clusters * cluster,), (threads,), (table, np.int32(len(tasks))), shared_mem=shared)

    def _processors(self) -> int:
        return int(self.xp.cuda.Device().attributes["MultiProcessorCount"])

    def value_kernel(self, name: str, kind: str, dtype: np.dtype[Any], form: Form) -> Any:
        """Function of (blocks, parameters, arrays, numbers) that launches a kernel of values.cu."""
        kernel = _values(kind, dtype, form.element, form.code).get_function(name)

        def launch(blocks: int, parameters: tuple[float, float, int], arrays: Any, numbers: Any) -> None:
            gamma, coef0, degree = parameters
            rows, columns, *others = numbers
            scalars = np.int64(rows), np.int32(columns), *map(np.int64, others)
            first = np.float64(gamma), np.float64(coef0), np.int64(degree)
            kernel((min(blocks, MOST_BLOCKS),), (256,), (*first, *arrays, *scalars))

        return launch

    def factor(self, A: Any) -> Any:
        """Lower Cholesky factor of a matrix; None if it is not positive definite."""
        import cupyx

        try:
            with cupyx.errstate(linalg="raise"):
                return self.xp.linalg.cholesky(A)
        except np.linalg.LinAlgError:
            return None

    def solve_factored(self, factor: Any, right: Any) -> Any:
        """Solution of the system whose matrix has a Cholesky factor."""
        from cupyx.scipy.linalg import solve_triangular

        half = solve_triangular(factor, right, lower=True)
        return solve_triangular(factor, half, lower=True, trans=1)


@cache
def _steps(form: Form, points: int, threads: int, cluster: int) -> tuple[Any, int]:
    """The kernel of one shape, and its bytes of shared memory."""
    import cupy

    source = step_source(form, points, threads, cluster)
    kernel = cupy.RawModule(code=source, options=("-std=c++17",), backend="nvrtc").get_function("solve_all")
    shared = BOX_BYTES * points * threads if cluster > 1 else 0
    if shared:
        kernel.max_dynamic_shared_size_bytes = shared
    return kernel, shared


@cache
def _values(kind: str, dtype: np.dtype[Any], element: np.dtype[Any], code: int) -> Any:
    import cupy

    source = value_source(kind, dtype, element, code)
    return cupy.RawModule(code=source, options=("-std=c++17",), backend="nvrtc")


def is_usable() -> bool:
    """Whether there are CuPy, a driver and a card."""
    try:
        Card()
    except (ImportError, RuntimeError):
        return False
    return True
