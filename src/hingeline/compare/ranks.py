"""Friedman and Iman-Davenport tests, and the post-hoc tests of Nemenyi, Bonferroni-Dunn and Holm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from numbers import Real
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from .tables import Table, read_table

if TYPE_CHECKING:
    from .diagram import Axes, Figure

__all__ = ["Comparison", "MethodRank", "Pair", "RankTest", "critical_distance", "rank_methods"]

PostHoc = Literal["nemenyi", "bonferroni-dunn"]
Numbers = npt.NDArray[np.float64]


class RankTest(NamedTuple):
    """Test of the hypothesis that all methods perform equally."""

    statistic: float
    df: tuple[int, ...]
    p_value: float


class MethodRank(NamedTuple):
    """Mean rank of one method, with the mean of its scores and the number of data sets on which no method is better."""

    method: str
    mean_rank: float
    mean_score: float
    wins: int


class Pair(NamedTuple):
    """Comparison of two methods by a post-hoc test.

    `difference` is the mean rank of `other` minus that of `method`: positive if `method` is better. `p_value` is
    adjusted for the number of pairs.
    """

    method: str
    other: str
    difference: float
    z: float
    p_value: float
    significant: bool


def critical_distance(n_methods: int, n_datasets: int, *, alpha: float = 0.05, test: PostHoc = "nemenyi") -> float:
    """Difference of mean ranks from which two methods differ significantly.

    Parameters
    ----------
    n_methods : int
        Number of methods k, at least 2.
    n_datasets : int
        Number of data sets N, at least 1.
    alpha : float, default=0.05
        Probability of finding any difference where there is none, in (0, 1).
    test : {'nemenyi', 'bonferroni-dunn'}, default='nemenyi'
        'nemenyi' compares all pairs of methods, 'bonferroni-dunn' compares all methods with one control.

    Returns
    -------
    float
        q √(k (k + 1) / (6 N)), where q is the quantile of the test.

    Examples
    --------
    >>> from hingeline.compare import critical_distance
    >>> round(critical_distance(3, 23, test="bonferroni-dunn"), 4)
    0.661
    >>> round(critical_distance(6, 23), 4)
    1.5721
    """
    if not n_methods >= 2:
        raise ValueError(f"n_methods must be at least 2; got {n_methods!r}.")
    if not n_datasets >= 1:
        raise ValueError(f"n_datasets must be at least 1; got {n_datasets!r}.")
    _check_alpha(alpha)
    if test == "nemenyi":
        q = _studentized_range_isf(alpha, n_methods) / np.sqrt(2)
    elif test == "bonferroni-dunn":
        q = stats.norm.isf(alpha / (2 * (n_methods - 1)))
    else:
        raise ValueError(f"test must be 'nemenyi' or 'bonferroni-dunn'; got {test!r}.")
    return float(q * _standard_error(n_methods, n_datasets))


def rank_methods(
    table: Table,
    *,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    higher_is_better: bool = True,
    control: str | None = None,
    alpha: float = 0.05,
    tie_correction: bool = False,
) -> Comparison:
    """Compare methods by their ranks on several data sets.

    On each data set the best method has rank 1; equal scores get the average of their ranks. The tests ask whether the
    mean ranks differ by more than chance.

    Parameters
    ----------
    table : DataFrame, mapping or array-like of shape (n_datasets, n_methods)
        Scores: one row for each data set, one column for each method. A mapping has the name of a method as key and
        its scores as value, a sequence or a mapping from data sets to scores. Rows of averages do not belong into the
        table.
    methods, datasets : sequence of str, default=None
        Names for a table without names. None: 'method 1', 'data set 1', …
    higher_is_better : bool, default=True
        True for accuracies, False for errors and times.
    control : str, default=None
        Method that Bonferroni-Dunn and Holm compare the others with. None: the method with the best mean rank. Such
        a choice uses the scores, so the tests find differences somewhat too often.
    alpha : float, default=0.05
        Level of significance, in (0, 1).
    tie_correction : bool, default=False
        Whether the Friedman statistic is corrected for ties, as in :func:`scipy.stats.friedmanchisquare`. Without the
        correction the test is conservative if there are ties.

    Returns
    -------
    Comparison
        Mean ranks, tests, critical distances, and the diagram.

    Raises
    ------
    ValueError
        If a cell is missing, names occur twice, or there are fewer than two methods or two data sets.

    References
    ----------
    J. Demšar: Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning Research 7,
    2006.

    Examples
    --------
    >>> from hingeline.compare import rank_methods
    >>> accuracy = {
    ...     "A": [97.3, 80.4, 92.3, 72.4, 96.5, 82.2],
    ...     "B": [94.0, 81.9, 89.5, 67.8, 96.1, 83.3],
    ...     "C": [90.7, 73.8, 75.2, 65.6, 96.1, 80.7],
    ... }
    >>> rank_methods(accuracy, control="A")
    Comparison of 3 methods on 6 data sets (higher is better)
      method  mean rank  mean score  wins
      A           1.333       86.85     4
      B           1.750       85.43     2
      C           2.917       80.35     0
    Friedman: chi2 = 8.083 (2 d.f.), p = 0.01757
    Iman-Davenport: F = 10.32 (2, 10 d.f.), p = 0.003704: significant at alpha = 0.05
    Critical distance: Nemenyi 1.353, Bonferroni-Dunn 1.294
    Differs from A: Bonferroni-Dunn C; Holm C
    """
    scores, names, places = read_table(table, methods, datasets)
    _check_alpha(alpha)
    ranks = stats.rankdata(-scores if higher_is_better else scores, axis=1)
    if control is None:
        control = names[int(np.argmin(ranks.mean(axis=0)))]
    elif control not in names:
        raise ValueError(f"control must be one of the methods {list(names)}; got {control!r}.")
    friedman = _friedman(ranks, tie_correction)
    return Comparison(
        methods=names,
        datasets=places,
        scores=scores,
        ranks=ranks,
        higher_is_better=higher_is_better,
        control=control,
        alpha=alpha,
        friedman=friedman,
        iman_davenport=_iman_davenport(friedman.statistic, *ranks.shape),
    )


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Ranks of methods over data sets, and what the tests say. Made by :func:`rank_methods`.

    The methods `summary`, `nemenyi`, `bonferroni_dunn` and `holm` return lists of named tuples:
    ``pandas.DataFrame(result.holm())`` is a table with named columns.

    Attributes
    ----------
    methods : tuple of str
        Names of the methods, in the order of the table.
    datasets : tuple of str
        Names of the data sets.
    scores, ranks : ndarray of shape (n_datasets, n_methods)
        The scores, and the ranks on each data set (1 is best, ties are averaged).
    mean_ranks : ndarray of shape (n_methods,)
        Mean of the ranks over the data sets.
    higher_is_better : bool
        Whether the best method has the highest score.
    control : str
        Method that Bonferroni-Dunn and Holm compare the others with.
    alpha : float
        Level of significance.
    friedman : RankTest
        Friedman's chi-squared test.
    iman_davenport : RankTest
        F test of Iman and Davenport, which is less conservative.
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    scores: npt.NDArray[np.float64]
    ranks: npt.NDArray[np.float64]
    higher_is_better: bool
    control: str
    alpha: float
    friedman: RankTest
    iman_davenport: RankTest
    mean_ranks: npt.NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean_ranks", self.ranks.mean(axis=0))

    def critical_distance(self, test: PostHoc = "nemenyi") -> float:
        """Difference of mean ranks that is significant at `alpha`; see :func:`critical_distance`."""
        return critical_distance(len(self.methods), len(self.datasets), alpha=self.alpha, test=test)

    def summary(self) -> list[MethodRank]:
        """Methods from the best mean rank to the worst."""
        best = self.scores.max(axis=1) if self.higher_is_better else self.scores.min(axis=1)
        wins = np.sum(self.scores == best[:, None], axis=0)
        rows = zip(self.methods, self.mean_ranks, self.scores.mean(axis=0), wins, strict=True)
        found = [MethodRank(name, float(rank), float(score), int(won)) for name, rank, score, won in rows]
        return sorted(found, key=lambda row: row.mean_rank)

    def nemenyi(self) -> list[Pair]:
        """All pairs of methods, by Nemenyi's test."""
        pairs = list(combinations(self.methods, 2))
        return self._pairs(pairs, lambda z: _studentized_range_sf(np.sqrt(2) * z, len(self.methods)))

    def bonferroni_dunn(self) -> list[Pair]:
        """The control with every other method, by the test of Bonferroni and Dunn."""
        pairs = self._compare_with_control()
        return self._pairs(pairs, lambda z: np.minimum(1.0, 2 * len(pairs) * stats.norm.sf(z)))

    def holm(self, *, all_pairs: bool = False) -> list[Pair]:
        """Pairs by Holm's step-down procedure, which finds at least the differences of Bonferroni-Dunn.

        Parameters
        ----------
        all_pairs : bool, default=False
            False: the control with every other method. True: all pairs of methods.
        """
        pairs = list(combinations(self.methods, 2)) if all_pairs else self._compare_with_control()
        return self._pairs(pairs, lambda z: _holm(2 * stats.norm.sf(z)))

    def plot(self, test: PostHoc = "nemenyi", *, ax: Axes | None = None) -> Figure:
        """Draw the critical-difference diagram.

        Mean ranks are marked on an axis, the best on the left. With 'nemenyi', bars join methods that do not differ
        significantly. With 'bonferroni-dunn', methods in the grey band do not differ significantly from the control.

        Parameters
        ----------
        test : {'nemenyi', 'bonferroni-dunn'}, default='nemenyi'
            Test whose critical distance is drawn.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw into. None: those of a new figure of suitable size.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; its method `savefig` writes a file.
        """
        from .diagram import draw

        return draw(self, test, ax)

    def _compare_with_control(self) -> list[tuple[str, str]]:
        return [(self.control, name) for name in self.methods if name != self.control]

    def _pairs(self, pairs: list[tuple[str, str]], adjusted: Callable[[Numbers], Numbers]) -> list[Pair]:
        rank = dict(zip(self.methods, self.mean_ranks.tolist(), strict=True))
        differences = np.array([rank[other] - rank[method] for method, other in pairs])
        z = differences / _standard_error(len(self.methods), len(self.datasets))
        p_values = adjusted(np.abs(z))
        rows = zip(pairs, differences.tolist(), z.tolist(), p_values.tolist(), strict=True)
        return [Pair(*pair, apart, at, p, p <= self.alpha) for pair, apart, at, p in rows]

    def __repr__(self) -> str:
        direction = "higher" if self.higher_is_better else "lower"
        lines = [f"Comparison of {len(self.methods)} methods on {len(self.datasets)} data sets ({direction} is better)"]
        width = max(len("method"), *map(len, self.methods))
        lines.append(f"  {'method':{width}}  mean rank  mean score  wins")
        lines += [
            f"  {row.method:{width}}  {row.mean_rank:9.3f}  {row.mean_score:10.4g}  {row.wins:4d}"
            for row in self.summary()
        ]
        for title, symbol, test in (
            ("Friedman", "chi2", self.friedman),
            ("Iman-Davenport", "F", self.iman_davenport),
        ):
            df = ", ".join(map(str, test.df))
            lines.append(f"{title}: {symbol} = {test.statistic:.4g} ({df} d.f.), p = {test.p_value:.4g}")
        verdict = "significant" if self.iman_davenport.p_value <= self.alpha else "no significant difference"
        lines[-1] += f": {verdict} at alpha = {self.alpha:g}"
        lines.append(
            f"Critical distance: Nemenyi {self.critical_distance():.4g}, "
            f"Bonferroni-Dunn {self.critical_distance('bonferroni-dunn'):.4g}"
        )
        found = {"Bonferroni-Dunn": self.bonferroni_dunn(), "Holm": self.holm()}
        words = (f"{name} {_names(pair.other for pair in pairs if pair.significant)}" for name, pairs in found.items())
        lines.append(f"Differs from {self.control}: {'; '.join(words)}")
        return "\n".join(lines)


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _check_alpha(alpha: float) -> None:
    if not isinstance(alpha, Real) or not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; got {alpha!r}.")


def _standard_error(k: int, n: int) -> float:
    """Standard deviation of the difference of two mean ranks if all methods perform equally."""
    return float(np.sqrt(k * (k + 1) / (6 * n)))


def _friedman(ranks: npt.NDArray[np.float64], tie_correction: bool) -> RankTest:
    n, k = ranks.shape
    spread = float(np.sum((ranks.mean(axis=0) - (k + 1) / 2) ** 2))
    statistic = 12 * n / (k * (k + 1)) * spread
    if tie_correction:
        # Ratio of the variance of the ranks with ties to that without; 0 only if every row is one tie.
        share = float(np.sum((ranks - (k + 1) / 2) ** 2)) / (n * k * (k * k - 1) / 12)
        statistic = statistic / share if share > 0 else 0.0
    return RankTest(statistic, (k - 1,), float(stats.chi2.sf(statistic, k - 1)))


def _iman_davenport(chi2: float, n: int, k: int) -> RankTest:
    df = (k - 1, (k - 1) * (n - 1))
    rest = n * (k - 1) - chi2
    if rest <= 1e-12 * n * k:  # the same ranks on all data sets
        return RankTest(float("inf"), df, 0.0)
    statistic = (n - 1) * chi2 / rest
    return RankTest(statistic, df, float(stats.f.sf(statistic, *df)))


def _holm(p_values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Adjusted p-values of Holm's procedure."""
    order = np.argsort(p_values, kind="stable")
    steps = np.arange(len(p_values), 0, -1) * p_values[order]
    adjusted = np.empty_like(steps)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def _studentized_range_isf(alpha: float, k: int) -> float:
    """Range of k normal variables that is exceeded with probability `alpha`."""
    return float(optimize.brentq(lambda q: _studentized_range_sf(np.array([q]), k)[0] / alpha - 1, 0.0, 70.0))


def _studentized_range_sf(q: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.float64]:
    """Survival function of the range of k normal variables.

    SciPy computes 1 - cdf, which is 0 from p = 1e-16 on. Here the difference is taken under the integral: k ∫ φ(z)
    [Φ(z)^(k-1) - (Φ(z) - Φ(z - q))^(k-1)] dz. The trapezoidal rule converges exponentially for this integrand.
    """
    z, step = np.linspace(-12.0, 50.0, 4001, retstep=True)
    log_share = stats.norm.logcdf(z - q[:, None]) - stats.norm.logcdf(z)
    with np.errstate(divide="ignore"):  # q = 0: the share is 1, and the bracket is Φ(z)^(k-1)
        bracket = -np.expm1((k - 1) * np.log1p(-np.exp(log_share)))
    density = np.exp(stats.norm.logpdf(z) + (k - 1) * stats.norm.logcdf(z))
    return np.asarray(np.minimum(1.0, k * step * np.sum(density * bracket, axis=1)))
