"""Data sets that OpenML has too, and how to recognise them."""

from __future__ import annotations

from typing import NamedTuple


class Remote(NamedTuple):
    """A set on OpenML, with what must hold for it to be the set we mean.

    `counts` maps our label to its number of rows and is listed in the order of the sorted source
    labels; it is empty where the target is a number to be kept as it is.  `label_crc` is the CRC-32
    of the labels (little-endian int64) in published order: the split is only known to be the
    first `n_train` rows when it agrees.
    """

    data_id: int
    shape: tuple[int, int]
    abs_sum: float
    counts: dict[int, int]
    n_train: int | None = None
    label_crc: int | None = None


def _counts(first: int, *numbers: int) -> dict[int, int]:
    return dict(enumerate(numbers, start=first))


# fmt: off
_LETTERS = _counts(
    0, 789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792,
    783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734,
)
# fmt: on

# Not here on purpose: satimage (OpenML has 6430 of the 6435 rows), ijcnn1 (the training rows occur
# twice there), usps (another scaling), and sets with nominal attributes, coded differently there.
OPENML = {
    "adult": Remote(
        1430,
        (48842, 123),
        677323.0,
        {-1: 37155, 1: 11687},
        n_train=32561,
        label_crc=2825222670,
    ),
    "banana": Remote(1460, (5300, 2), 8962.03082, {-1: 2924, 1: 2376}),
    "cpu_act": Remote(197, (8192, 21), 1.33192402e10, {}),
    "era": Remote(1030, (1000, 4), 27433.0, _counts(1, 92, 142, 181, 172, 158, 118, 88, 31, 18)),
    "esl": Remote(1027, (488, 4), 10514.0, _counts(1, 2, 12, 38, 100, 116, 135, 62, 19, 4)),
    # Source labels in order: build wind float, build wind non-float, containers, headlamps,
    # tableware, vehic wind float.
    "glass": Remote(41, (214, 9), 21698.0302, {1: 70, 2: 76, 5: 13, 7: 29, 6: 9, 3: 17}),
    # absent, present
    "heart": Remote(53, (270, 13), 161586.5, {-1: 150, 1: 120}),
    "letter": Remote(
        6,
        (20000, 16),
        1896149.0,
        _LETTERS,
        n_train=16000,
        label_crc=1957180833,
    ),
    "lev": Remote(1029, (1000, 4), 7819.0, _counts(0, 93, 280, 403, 197, 27)),
    "mnist": Remote(
        554,
        (70000, 784),
        1832221745.0,
        _counts(0, 6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958),
        n_train=60000,
        label_crc=1738369666,
    ),
    "optdigits": Remote(
        28,
        (5620, 64),
        1766476.0,
        _counts(0, 554, 571, 557, 572, 568, 558, 558, 566, 554, 562),
        n_train=3823,
        label_crc=1055913854,
    ),
    "pendigits": Remote(
        32,
        (10992, 16),
        8918653.0,
        _counts(0, 1143, 1143, 1144, 1055, 1144, 1055, 1056, 1142, 1055, 1055),
        n_train=7494,
        label_crc=1220674787,
    ),
    "shuttle": Remote(
        40685,
        (58000, 9),
        16926082.0,
        _counts(1, 45586, 50, 171, 8903, 3267, 10, 13),
        n_train=43500,
        label_crc=1987674673,
    ),
    # Mine, Rock
    "sonar": Remote(40, (208, 60), 3510.8897, {2: 111, 1: 97}),
    "swd": Remote(1028, (1000, 10), 20360.0, _counts(1, 32, 352, 399, 217)),
    "winequality_red": Remote(
        40691,
        (1599, 11),
        143072.782,
        _counts(3, 10, 53, 681, 638, 199, 18),
    ),
    "winequality_white": Remote(
        40498,
        (4898, 11),
        993116.314,
        _counts(3, 20, 163, 1457, 2198, 880, 175, 5),
    ),
}
