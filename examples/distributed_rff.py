"""A kernel machine for more rows than fit into memory: random features, partition by partition, and a linear machine.

scikit-learn's ``RBFSampler`` (or ``Nystroem``) maps rows to features whose inner products approximate an RBF kernel.
Fitted on a few rows it is a function of one row, so Dask can apply it to each partition; ``LinearSVC`` then
learns from the partitions without loading all of them. The same pipeline on NumPy arrays gives the same model.
"""

from __future__ import annotations

import sys

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline

from hingeline import LinearSVC

PARTITIONS, ROWS, FEATURES, COMPONENTS = 8, 5_000, 5, 200


def partition(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels that no plane separates, in place of a file."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((ROWS, FEATURES))
    return X, (np.linalg.norm(X, axis=1) + 0.2 * rng.standard_normal(ROWS) > 2.1).astype(int)


def collection(count: int) -> tuple[da.Array, da.Array]:
    """Dask arrays of so many partitions; nothing is computed."""
    both = [dask.delayed(partition, nout=2)(k) for k in range(count)]
    X = [da.from_delayed(one[0], shape=(ROWS, FEATURES), dtype=float) for one in both]
    y = [da.from_delayed(one[1], shape=(ROWS,), dtype=int) for one in both]
    return da.concatenate(X), da.concatenate(y)


def main() -> None:
    """Fit on a cluster and on NumPy; compare."""
    X, y = collection(PARTITIONS)
    test_X, test_y = partition(PARTITIONS)
    few = partition(0)[0][:1000]
    for mapping in (
        RBFSampler(gamma=0.1, n_components=COMPONENTS, random_state=0),
        Nystroem(gamma=0.1, n_components=COMPONENTS, random_state=0),
    ):
        mapping.fit(few)
        # .persist() keeps the features in the workers' memory; without it they are made again for each round.
        Z = X.map_blocks(mapping.transform, chunks=(X.chunks[0], (COMPONENTS,)), dtype=float).persist()
        model = LinearSVC(C=0.05).fit(Z, y)
        pipeline = make_pipeline(mapping, model)  # both are fitted: it takes NumPy's rows
        local = LinearSVC(C=0.05).fit(mapping.transform(X.compute()), y.compute())
        print(
            f"{type(mapping).__name__:10}  accuracy {pipeline.score(test_X, test_y):.4f}, on NumPy "
            f"{local.score(mapping.transform(test_X), test_y):.4f};  passes {model.n_passes_:.1f};  objectives differ "
            f"by {abs(model.objective_[0] / local.objective_[0] - 1):.1e} of their value"
        )


if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        main()
    sys.exit(0)
