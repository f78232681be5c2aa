"""Data sets that OpenML has too: how to recognise them, and their download."""

from __future__ import annotations

import math
import zlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .files import Dataset, Samples


class Remote(NamedTuple):
    """A set on OpenML, and what must hold for a download to be that set.

    `counts` maps our label to its number of rows, in the order of the sorted source labels; it is empty if the target
    is a number that is kept. `label_crc` is the CRC-32 of the labels (little-endian int64) in published order. The
    first `n_train` rows are known to be the training part only if it agrees.
    """

    data_id: int
    shape: tuple[int, int]
    abs_sum: float
    counts: dict[int, int]
    n_train: int | None = None
    label_crc: int | None = None


def _counts(first: int, *numbers: int) -> dict[int, int]:
    return dict(enumerate(numbers, start=first))


# Left out: satimage (OpenML has 6430 of the 6435 rows), ijcnn1 (the training rows occur twice there), usps (another
# scaling), and sets with nominal attributes, which are coded differently there.
# Comments in the table: source labels in their order, where they are words.
# fmt: off
OPENML = {
    "adult": Remote(1430, (48842, 123), 677323.0, {-1: 37155, 1: 11687}, 32561, 2825222670),
    "banana": Remote(1460, (5300, 2), 8962.03082, {-1: 2924, 1: 2376}),
    "cpu_act": Remote(197, (8192, 21), 1.33192402e10, {}),
    "era": Remote(1030, (1000, 4), 27433.0, _counts(1, 92, 142, 181, 172, 158, 118, 88, 31, 18)),
    "esl": Remote(1027, (488, 4), 10514.0, _counts(1, 2, 12, 38, 100, 116, 135, 62, 19, 4)),
    # build wind float, build wind non-float, containers, headlamps, tableware, vehic wind float
    "glass": Remote(41, (214, 9), 21698.0302, {1: 70, 2: 76, 5: 13, 7: 29, 6: 9, 3: 17}),
    # absent, present
    "heart": Remote(53, (270, 13), 161586.5, {-1: 150, 1: 120}),
    "letter": Remote(6, (20000, 16), 1896149.0, _counts(
        0, 789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792,
        783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734,
    ), 16000, 1957180833),
    "lev": Remote(1029, (1000, 4), 7819.0, _counts(0, 93, 280, 403, 197, 27)),
    "mnist": Remote(554, (70000, 784), 1832221745.0, _counts(
        0, 6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958,
    ), 60000, 1738369666),
    "optdigits": Remote(28, (5620, 64), 1766476.0, _counts(
        0, 554, 571, 557, 572, 568, 558, 558, 566, 554, 562,
    ), 3823, 1055913854),
    "pendigits": Remote(32, (10992, 16), 8918653.0, _counts(
        0, 1143, 1143, 1144, 1055, 1144, 1055, 1056, 1142, 1055, 1055,
    ), 7494, 1220674787),
    "shuttle": Remote(40685, (58000, 9), 16926082.0, _counts(
        1, 45586, 50, 171, 8903, 3267, 10, 13,
    ), 43500, 1987674673),
    # Mine, Rock
    "sonar": Remote(40, (208, 60), 3510.8897, {2: 111, 1: 97}),
    "swd": Remote(1028, (1000, 10), 20360.0, _counts(1, 32, 352, 399, 217)),
    "winequality_red": Remote(40691, (1599, 11), 143072.782, _counts(3, 10, 53, 681, 638, 199, 18)),
    "winequality_white": Remote(40498, (4898, 11), 993116.314, _counts(3, 20, 163, 1457, 2198, 880, 175, 5)),
}
# fmt: on


def fetch(name: str) -> tuple[Samples, npt.NDArray[Any]]:
    """Samples and target values as OpenML has them; scikit-learn caches the download."""
    from sklearn import datasets

    # This parser does not need pandas.
    options = {"return_X_y": True, "as_frame": False, "parser": "liac-arff"}
    X, target = datasets.fetch_openml(data_id=OPENML[name].data_id, **options)
    return X, np.asarray(target)


def recognise(name: str, X: Samples, target: npt.NDArray[Any]) -> Dataset:
    """Data set with our labels; a ValueError says how the download differs from the set."""
    remote = OPENML[name]
    if tuple(X.shape) != remote.shape:
        raise ValueError(f"its shape is {tuple(X.shape)}, not {remote.shape}")
    values = X.data if sparse.issparse(X) else X
    total = float(np.abs(values).sum(dtype=np.float64))
    if not math.isclose(total, remote.abs_sum, rel_tol=1e-4):
        raise ValueError(f"its absolute values sum to {total:.9g}, not {remote.abs_sum:.9g}")

    if remote.counts:
        y = _translate(target, remote.counts)
    else:
        y = target.astype(np.float64)
        if np.array_equal(y, np.rint(y)):
            y = y.astype(np.int64)

    if name == "adult":  # a sparse set in our files; OpenML may serve either form
        X = sparse.csr_matrix(X)
        X.sum_duplicates()
    n_train = None
    if remote.label_crc is not None and zlib.crc32(y.astype("<i8").tobytes()) == remote.label_crc:
        n_train = remote.n_train
    return Dataset(name, X, y, n_train)


def _translate(target: npt.NDArray[Any], counts: dict[int, int]) -> npt.NDArray[Any]:
    """Labels of OpenML as ours; the numbers of rows of the classes must agree."""
    source, codes, sizes = np.unique(target.astype(str), return_inverse=True, return_counts=True)
    # Numbers are sorted as numbers ("10" after "9"), other labels as strings.
    try:
        order = np.argsort(source.astype(np.float64), kind="stable")
    except ValueError:
        order = np.arange(len(source))
    found, expected = sizes[order].tolist(), list(counts.values())
    if found != expected:
        raise ValueError(f"its classes have {found} rows, not {expected}")
    labels = np.empty(len(source), dtype=np.int64)
    labels[order] = list(counts)
    return labels[codes]
