"""hingeline.compare: numbers worked out by hand, by SciPy and by scikit-posthocs, and the published tables."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from benchmarks.papers.melki2018.settings import PUBLISHED
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from hingeline.compare import critical_distance, rank_methods
from hingeline.compare.diagram import groups, levels
from hingeline.compare.ranks import _holm, _studentized_range_sf

SVMS = ["OLLAWV", "NNISDA", "MNSVM"]
OTHERS = ["OLLAWV", "KNN", "J48", "JRip", "naive Bayes", "logistic"]


def published(key):
    """A table of the OLLAWV chapter: one row for each data set."""
    return np.array(list(PUBLISHED[key].values()), dtype=float)


def second_study():
    return np.column_stack([published("accuracy")[:, 0], published("others")])


def tables(**more):
    """Random tables of integers, hence with ties."""
    shapes = st.tuples(st.integers(2, 8), st.integers(2, 6))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=st.integers(0, 4).map(float), **more))


# ---- the published tables, with the errors of the chapter corrected ---------------------------------------


def test_accuracies_of_the_chapter():
    result = rank_methods(published("accuracy"), methods=SVMS, control="OLLAWV")
    assert result.mean_ranks == pytest.approx([2.2609, 1.9783, 1.7609], abs=5e-5)
    assert result.friedman.statistic == pytest.approx(2.8913, abs=5e-5)
    assert result.iman_davenport.statistic == pytest.approx(1.4755, abs=5e-5)
    assert result.iman_davenport.p_value == pytest.approx(0.23975, abs=5e-6)
    assert not any(pair.significant for pair in result.bonferroni_dunn() + result.nemenyi() + result.holm())


@pytest.mark.parametrize(
    ("key", "ranks", "F"),
    [("seconds", [1.2174, 1.9130, 2.8696], 48.5), ("support", [1.0870, 2.6087, 2.3043], 40.6)],
)
def test_times_and_support_vectors_of_the_chapter(key, ranks, F):
    result = rank_methods(published(key), methods=SVMS, higher_is_better=False)
    assert result.control == "OLLAWV"
    assert result.mean_ranks == pytest.approx(ranks, abs=5e-5)
    assert result.iman_davenport.statistic == pytest.approx(F, abs=0.05)
    assert all(pair.significant for pair in result.bonferroni_dunn())
    assert result.critical_distance("bonferroni-dunn") == pytest.approx(0.6610, abs=5e-5)


def test_other_methods_of_the_chapter():
    result = rank_methods(second_study(), methods=OTHERS, control="OLLAWV")
    assert result.mean_ranks == pytest.approx([1.522, 2.522, 4.043, 4.000, 5.022, 3.891], abs=5e-4)
    assert result.iman_davenport.statistic == pytest.approx(18.04, abs=0.005)
    assert result.iman_davenport.p_value == pytest.approx(5e-13, rel=0.1)
    assert result.critical_distance("bonferroni-dunn") == pytest.approx(1.4210, abs=5e-5)
    assert [pair.other for pair in result.bonferroni_dunn() if not pair.significant] == ["KNN"]
    assert result.bonferroni_dunn()[0].difference == pytest.approx(1.0)


def test_printed_ranks_of_the_chapter_come_from_its_errors():
    turned = rank_methods(published("accuracy"), higher_is_better=False)
    assert turned.mean_ranks == pytest.approx(PUBLISHED["ranks"]["accuracy"], abs=1e-3)
    with_average = np.vstack([second_study(), PUBLISHED["averages"]["others"]])
    assert rank_methods(with_average).mean_ranks == pytest.approx(PUBLISHED["ranks"]["others"], abs=1e-3)
    distance = critical_distance(6, 24, test="bonferroni-dunn")
    assert distance == pytest.approx(PUBLISHED["text"]["second"], abs=5e-4)


# ---- critical distances -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "alpha", "test", "q"),
    [  # Table 5 of Demšar 2006
        (2, 0.05, "nemenyi", 1.960), (3, 0.05, "nemenyi", 2.343), (10, 0.05, "nemenyi", 3.164),
        (2, 0.10, "nemenyi", 1.645), (6, 0.10, "nemenyi", 2.589), (2, 0.05, "bonferroni-dunn", 1.960),
        (6, 0.05, "bonferroni-dunn", 2.576), (10, 0.10, "bonferroni-dunn", 2.539),
    ],
)  # fmt: skip
def test_critical_distances_are_the_published_quantiles(k, alpha, test, q):
    found = critical_distance(k, 14, alpha=alpha, test=test)
    assert found / np.sqrt(k * (k + 1) / (6 * 14)) == pytest.approx(q, abs=1e-3)


@pytest.mark.parametrize("alpha", [1e-100, 0.001, 0.01, 0.05, 0.3])
@pytest.mark.parametrize("test", ["nemenyi", "bonferroni-dunn"])
def test_a_difference_of_the_critical_distance_has_p_value_alpha(alpha, test):
    """Two constructed mean ranks: z of the critical distance gives back alpha."""
    k, n = 5, 12
    z = critical_distance(k, n, alpha=alpha, test=test) / np.sqrt(k * (k + 1) / (6 * n))
    p = _studentized_range_sf(np.sqrt(2) * np.array([z]), k)[0] if test == "nemenyi" else 2 * 4 * stats.norm.sf(z)
    assert p == pytest.approx(alpha, rel=1e-6)


@pytest.mark.parametrize("k", [2, 3, 6, 20])
def test_p_values_of_the_range_agree_with_scipy_and_have_a_tail(k):
    q = np.array([0.0, 0.5, 1.0, 2.0, 3.5, 5.0])
    assert _studentized_range_sf(q, k) == pytest.approx(stats.studentized_range.sf(q, k, np.inf), abs=1e-10)
    far = np.array([12.0, 30.0])  # P(any of the k (k - 1) / 2 pairs), up to a smaller term
    tail = k * (k - 1) / 2 * 2 * stats.norm.sf(far / np.sqrt(2))
    assert _studentized_range_sf(far, k) == pytest.approx(tail, rel=1e-4)


# ---- other programs ---------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(tables())
def test_friedman_with_tie_correction_is_scipys(table):
    result = rank_methods(table, tie_correction=True)
    if np.all(table == table[:, :1]):
        assert result.friedman.statistic == 0
        assert result.friedman.p_value == 1
    elif table.shape[1] > 2:
        expected = stats.friedmanchisquare(*table.T)
        assert tuple(result.friedman)[::2] == pytest.approx(tuple(expected), rel=1e-9, abs=1e-12)
    assert rank_methods(table).friedman.statistic <= result.friedman.statistic + 1e-12


def test_post_hoc_tests_are_those_of_scikit_posthocs():
    posthocs = pytest.importorskip("scikit_posthocs")
    result = rank_methods(second_study(), methods=OTHERS)
    nemenyi = posthocs.posthoc_nemenyi_friedman(pd.DataFrame(second_study(), columns=OTHERS))
    for pair in result.nemenyi():
        assert pair.p_value == pytest.approx(nemenyi.loc[pair.method, pair.other], abs=1e-6)


def test_holm_by_hand():
    """Adjusted p-values, smallest first: m p(1), then the larger of it and (m - 1) p(2), ..."""
    result = rank_methods(second_study(), methods=OTHERS, control="OLLAWV")
    pairs = result.holm()
    plain = {pair.other: 2 * stats.norm.sf(abs(pair.z)) for pair in pairs}
    largest = 0.0
    for left, name in zip(range(5, 0, -1), sorted(plain, key=plain.get), strict=True):
        largest = max(largest, min(1.0, left * plain[name]))
        assert next(p.p_value for p in pairs if p.other == name) == pytest.approx(largest)
    assert len(result.holm(all_pairs=True)) == 15
    # values of R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
    assert _holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])


# ---- laws -------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(tables())
def test_laws(table):
    k = table.shape[1]
    result = rank_methods(table)
    assert result.mean_ranks.sum() == pytest.approx(k * (k + 1) / 2)
    lower = rank_methods(-table, higher_is_better=False)
    assert np.array_equal(result.ranks, lower.ranks)
    order = np.arange(k)[::-1]
    assert rank_methods(table[:, order]).mean_ranks == pytest.approx(result.mean_ranks[order])
    assert rank_methods(3 * table + 1).friedman == result.friedman
    for pair in result.nemenyi():
        assert pair.significant == (abs(pair.difference) >= result.critical_distance())
    dunn = {pair.other for pair in result.bonferroni_dunn() if pair.significant}
    assert dunn <= {pair.other for pair in result.holm() if pair.significant}


def test_perfect_agreement_has_infinite_F():
    result = rank_methods([[3, 2, 1], [9, 8, 7], [1, 0, -1]])
    assert result.iman_davenport.statistic == np.inf
    assert result.iman_davenport.p_value == 0
    assert [row.wins for row in result.summary()] == [3, 0, 0]


# ---- tables -----------------------------------------------------------------------------------------------


def test_forms_of_the_table_are_equal():
    scores = [[0.9, 0.8], [0.7, 0.75], [0.6, 0.5]]
    frame = pd.DataFrame(scores, columns=["a", "b"], index=["x", "y", "z"])
    forms = [
        rank_methods(scores, methods=["a", "b"], datasets="xyz"),
        rank_methods(frame),
        rank_methods({"a": [0.9, 0.7, 0.6], "b": [0.8, 0.75, 0.5]}, datasets=["x", "y", "z"]),
        rank_methods({"a": {"x": 0.9, "y": 0.7, "z": 0.6}, "b": {"z": 0.5, "y": 0.75, "x": 0.8}}),
        rank_methods(frame.astype("Float64")),
    ]
    for form in forms:
        assert form.datasets == ("x", "y", "z")
        assert form.methods == ("a", "b")
        assert np.array_equal(form.scores, scores)
        assert repr(form) == repr(forms[0])


@pytest.mark.parametrize(
    "table",
    [
        {"a": {"x": 1, "y": 2}, "b": {"x": 3}},
        {"a": [1, 2], "b": [3, None]},
        pd.DataFrame({"a": [1, 2], "b": [3, np.nan]}, index=["x", "y"]),
        pd.DataFrame({"a": [1, 2], "b": [3, pd.NA]}, index=["x", "y"]),
        pd.DataFrame({"a": [1, 2], "b": [3, None]}, index=["x", "y"], dtype="Int64"),
    ],
)
def test_missing_cells_are_named(table):
    with pytest.raises(ValueError, match=r"missing: b on (y|data set 2)\. Leave out"):
        rank_methods(table)


def test_masked_cells_are_missing():
    with pytest.raises(ValueError, match="missing: method 1 on data set 2"):
        rank_methods(np.ma.masked_equal([[1, 2], [0, 3]], 0))


@pytest.mark.parametrize(
    ("table", "more", "words"),
    [
        ([[1, 2]], {}, "at least two data sets"),
        ([[1], [2]], {}, "at least two methods"),
        ([1, 2, 3], {}, "two dimensions"),
        ([[1, 2], [3]], {}, "must hold numbers"),
        ([["a", "b"], ["c", "d"]], {}, "must hold numbers"),
        ({"a": [1, 2], "b": [1]}, {}, "as many scores for every method; got {'a': 2, 'b': 1}"),
        ({"a": [1, 2], "b": [1, 3]}, {"methods": ["a", "b"]}, "methods must be None"),
        ([[1, 2], [3, 4]], {"methods": ["a"]}, "methods must have 2 names"),
        ([[1, 2], [3, 4]], {"methods": ["a", "a"]}, "more than once: a"),
        ([[1, 2], [3, 4]], {"control": "a"}, r"control must be one of the methods \['method 1', 'method 2'\]; got 'a'"),
        ([[1, 2], [3, 4]], {"alpha": 0}, "alpha must be between 0 and 1; got 0"),
        ([[1, 2], [3, 4]], {"alpha": "x"}, "alpha must be between 0 and 1; got 'x'"),
    ],
)
def test_bad_tables_are_refused(table, more, words):
    with pytest.raises(ValueError, match=words):
        rank_methods(table, **more)


@pytest.mark.parametrize(
    "arguments", [{"n_methods": 1}, {"n_datasets": 0}, {"alpha": 1}, {"test": "tukey"}], ids=lambda a: next(iter(a))
)
def test_bad_arguments_of_the_distance_are_refused(arguments):
    name = next(iter(arguments))
    with pytest.raises(ValueError, match=f"^{name} must be"):
        critical_distance(**{"n_methods": 3, "n_datasets": 5} | arguments)


def test_runs_without_end_are_the_worst():
    result = rank_methods([[1, np.inf], [2, np.inf]], higher_is_better=False)
    assert result.mean_ranks.tolist() == [1, 2]


def test_lists_are_tables_of_pandas():
    result = rank_methods(second_study(), methods=OTHERS)
    frame = pd.DataFrame(result.nemenyi())
    assert list(frame.columns) == ["method", "other", "difference", "z", "p_value", "significant"]
    assert len(frame) == 15
    assert pd.DataFrame(result.summary()).set_index("method").loc["KNN", "mean_rank"] == pytest.approx(2.5217, abs=5e-5)


def test_matplotlib_and_pandas_are_not_needed():
    code = "import sys; sys.modules['pandas'] = sys.modules['matplotlib'] = None; import hingeline.compare as c; "
    code += "result = c.rank_methods([[1, 2], [3, 4]]); print(result); result.plot()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Comparison of 2 methods" in done.stdout
    assert "ImportError: plot needs matplotlib, which is not installed: pip install" in done.stderr


# ---- diagram ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranks", "distance", "expected"),
    [
        ([1.0, 1.5, 3.0, 3.2, 4.0], 1.1, [(0, 1), (2, 4)]),
        ([1.0, 2.0, 3.0], 1.5, [(0, 1), (1, 2)]),
        ([1.0, 2.0, 3.0], 0.5, []),
        ([1.0, 2.0, 3.0], 9.0, [(0, 2)]),
        ([1.0, 2.0], 1.0, []),  # the distance itself is significant
    ],
)
def test_bars_join_what_does_not_differ(ranks, distance, expected):
    assert groups(np.array(ranks), distance) == expected


def test_bars_that_overlap_are_stacked():
    assert levels([(0, 2), (1, 3), (3, 5), (4, 6)]) == [0, 1, 0, 1]


@pytest.mark.parametrize("test", ["nemenyi", "bonferroni-dunn"])
def test_the_diagram_has_all_names_inside(test):
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    result = rank_methods(second_study(), methods=OTHERS)
    figure = result.plot(test)
    figure.canvas.draw()
    frame = figure.bbox
    texts = {text.get_text().strip(): text.get_window_extent() for text in figure.axes[0].texts}
    assert {"OLLAWV  1.52", "5.02  naive Bayes", "1", "6"} <= set(texts)
    for words, box in texts.items():
        assert frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1, words
    assert len(figure.axes[0].collections) == (test == "bonferroni-dunn")
    axes = plt.figure().add_subplot()
    assert result.plot(test, ax=axes) is axes.figure
    plt.close("all")
