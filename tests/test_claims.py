"""Numbers in README.md and docs agree with the result files, and links lead to files."""

import re

import numpy as np
import pytest
from benchmarks import claims
from benchmarks.against.data import apart
from benchmarks.papers.frame import faster

from .test_snippets import blocks

RESULT = """# Page

Took 7.6 s in three seeds.

## Training

`train`, repeats: 5.

|      | fit, s            | ratio | predict, s | ratio | rows  |
| ---- | ----------------: | ----: | ---------: | ----: | ----: |
| a, x | 1.37 (1.3 .. 1.4) |     1 |       0.05 |     1 | 4,864 |
| a, y |              42.9 |  31.3 |        8.7 |   156 | 5,287 |
"""
TEXT = """## Speed

Training takes 1.4 s, or **43 s**; 5,300 rows.

## Install
"""
TIES = {"Speed": ["@ page # train", "a, x | fit, s -> 1.4", "a, y | fit, s -> 43 | rows -> 5,300"]}


@pytest.fixture
def check(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text(RESULT)
    monkeypatch.setattr(claims, "RESULTS", tmp_path)
    return lambda text, ties=TIES, strict="Install": list(claims.mistakes(text, ties, strict))


def test_numbers_agree_with_the_result_files():
    assert list(claims.all_mistakes()) == []


def test_ties_are_read_by_page_and_heading():
    lines = claims.read_ties("[a.md # Speed: `SVC`]\n@ page # train\nx | y -> 1\n\n[a.md # Size]\n[b.md # Speed]\nz\n")
    assert lines == {"a.md": {"Speed: `SVC`": ["@ page # train", "x | y -> 1"], "Size": []}, "b.md": {"Speed": ["z"]}}


def test_ties_without_a_section_are_noticed(check, tmp_path, monkeypatch):
    assert any("0 sections have the heading 'Sped'" in found for found in check(TEXT, {"Sped": []}, None))
    assert any("2 sections have the heading 'Speed'" in found for found in check(TEXT + TEXT, TIES, None))
    (tmp_path / "claims.txt").write_text("[no_page.md # Speed]\n" + claims.TIES.read_text(encoding="utf-8"))
    monkeypatch.setattr(claims, "TIES", tmp_path / "claims.txt")
    monkeypatch.setattr(claims, "RESULTS", claims.ROOT / "benchmarks" / "results")
    assert list(claims.all_mistakes()) == ["no_page.md: not a page whose numbers are compared"]


@pytest.mark.parametrize("name", ["README.md", "docs/guide/svc.md"])
def test_another_number_on_a_page_is_noticed(name):
    text, strict = (claims.ROOT / name).read_text(encoding="utf-8"), claims.STRICT.get(name)
    ties, changes = claims.read_ties(claims.TIES.read_text(encoding="utf-8"))[name], 0
    for heading, lines in ties.items():
        for value in {value for _, value in claims.tied(lines)} - {""}:
            begin = text.index(f"# {heading}\n")
            part = text[begin : text.find("\n#", begin)]
            if part.count(value) == 1:
                other = value[:-1] + str((int(value[-1]) + 1) % 10)
                changed = text.replace(part, part.replace(value, other))
                assert list(claims.mistakes(changed, ties, strict)) != [], (heading, value)
                changes += 1
    assert changes >= 15


VERDICTS = """# Page

## Claims

| claim     | A   | B   |
| --------- | --- | --- |
| a is less | yes | yes |
| b is less | yes | tie |
"""


@pytest.mark.parametrize(
    ("named", "found", "good"),
    [
        ("a is less | *", "agrees: both", True),
        ("a is less | *", "differs: both", False),
        ("a is less | *; b is less | A", "corrected (N1: 0.5, not 0.4); agrees", True),
        ("b is | *", "agrees", False),
        ("b is | B", "differs, as Figure 1", True),
        ("c is less | *", "differs", False),
        ("a is less | C", "agrees", False),
    ],
)
def test_verdicts_are_computed_again(named, found, good, tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text(VERDICTS)
    monkeypatch.setattr(claims, "RESULTS", tmp_path)
    text = f"## Items\n\n| x | Figure 1: a | | | {found} |\n| x | Figure 10: a | | | agrees |\n"
    ties = {"Items": ["@ page # Claims", f"= x | Figure 1: <- {named}"]}
    assert (list(claims.mistakes(text, ties)) == []) is good


def test_numbers_that_round_are_accepted(check):
    assert check(TEXT) == []


@pytest.mark.parametrize("wrong", [("1.37 (", "1.34 ("), ("42.9", "44.1"), ("5,287", "5,401")])
def test_a_new_result_is_noticed(check, tmp_path, wrong):
    (tmp_path / "page.md").write_text(RESULT.replace(*wrong))
    assert any("in the result file" in found for found in check(TEXT))


@pytest.mark.parametrize(
    "wrong", [("takes 1.4 s", "takes 1.3 s"), ("**43 s**", "**42 s**"), ("5,300 rows", "5,200 rows")]
)
def test_a_new_number_in_the_text_is_noticed(check, wrong):
    assert any("not in the section" in found for found in check(TEXT.replace(*wrong)))


@pytest.mark.parametrize(
    "loose",
    ["It takes 9 s.", "It errs in 3.5 % of cases.", "| | s |\n|---|---|\n| b | 8.1 |", "A fit takes 1.4 s again."],
)
def test_numbers_without_a_source_are_noticed(check, loose):
    assert any("has no source" in found for found in check(TEXT.replace("## Install", f"{loose}\n\n## Install")))
    assert any("has no source" in found for found in check(f"# Page\n\n{loose}\n\n{TEXT}"))


@pytest.mark.parametrize(
    ("line", "accepted"),
    [
        ("a | fit, s -> 1.4 to 43", False),  # 43 is not in the text
        ("a | ratio (2) -> 1 to 156", False),  # 1 is not in the text
        ("a | fit, s -> 1.4 to 31", False),  # the largest is 42.9
        ("a | fit, s -> 31 to 156", False),
        ("a | predict, s -> 0.05 to 8.7", False),
        ("a | fit, s -> 1.4", False),  # one of the two cells
        ("a | fit, s -> < 31", False),
        ("a, x | fit, s -> < 31", True),
        ("a | fit, s -> 1.4 to 42.9", True),
        ("a, y | ratio -> 31", True),
        ("a, y | ratio (2) -> 156", True),
        ("a, y | ratio (2) -> 31", False),
        ("a, z | ratio -> 31", False),
        ("a, y | ratios -> 31", False),
        ('"Took 7.6 s" -> 7.6', True),
        ('"in three seeds"', True),
        ('"in four seeds"', False),
        ("from python -m benchmarks.claims", True),
        ("from README.md, by hand", True),
        ("from python -m benchmarks.nothing", False),
    ],
)
def test_lines_of_a_section(check, line, accepted):
    text = "## Speed\n\n1.4, 31, 156 and 7.6; 1.4 to 42.9\n"
    assert (check(text, {"Speed": ["@ page # train", line]}, None) == []) is accepted


def test_links_to_result_files_need_ties(check):
    text = "## Speed\n\nIt takes 9 s ([table](results/page.md)).\n\n## Other\n"
    assert len(check(text, {}, None)) == 1
    assert check(text.replace("It takes 9 s", "All times"), {}, None) == []
    table = "## Speed\n\nAll times ([table](results/page.md)).\n\n| data | s |\n|---|---|\n| a | CELL |\n\n## Other\n"
    assert len(check(table.replace("CELL", "9.5 | 8"), {}, None)) == 1
    assert check(table.replace("CELL", "1e-3"), {}, None) == []  # a default
    assert len(check(table.replace("CELL", "words") + "\nIt takes 9 s.\n", {}, None)) == 0  # in another section
    assert len(check(text.replace("It takes 9 s", "All times").replace("## Other", "It takes 9 s."), {}, None)) == 1
    assert check(table.replace("CELL", "since 1995"), {}, None) == []


@pytest.mark.parametrize(
    ("source", "shown", "accepted"),
    [(9.9, "10", True), (9.4, "10", False), (259_458, "260,000", True), (254_000, "260,000", False),
     (1.37, "1.40", False), (6.07e-7, "6e-7", True), (0.000247, "2.5e-4", True), (2.56e-4, "2.5e-4", False),
     (96.95, "96.9", True)],
)  # fmt: skip
def test_rounding(source, shown, accepted):
    assert claims.rounds_to(source, shown) is accepted


def test_equal_rows_are_on_one_side():
    X = np.random.default_rng(0).integers(0, 3, size=(400, 4)).astype(float)
    train, test = apart(X)
    assert sorted([*train, *test]) == list(range(400))
    assert len(test) > 40
    assert not {row.tobytes() for row in X[train]} & {row.tobytes() for row in X[test]}


def test_ten_lines_give_the_numbers_in_their_comments():
    text = (claims.ROOT / "README.md").read_text(encoding="utf-8")
    code = re.search(r"^## Ten lines\n+```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL).group(1)
    assert "# 0.99\n" in code
    assert "# 12 of 1,345, below 1e-11\n" in code
    *lines, last = code.strip().splitlines()
    found = {}
    exec("\n".join(line.replace("clf.score", "score = clf.score") for line in lines), found)
    errors, violation = eval(last.partition("#")[0], found)
    assert f"{found['score']:.2f}" == "0.99"
    assert (errors, len(found["clf"].ids_)) == (12, 1345)
    assert violation < 1e-11


@pytest.mark.parametrize("page", claims.pages(), ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_links_lead_to_files(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        assert target.startswith("http") or (page.parent / target).exists(), target


def run_page(name, until):
    """Namespace after the code of a guide up to the block that contains `until`."""
    found = {}
    for _, code in blocks(claims.ROOT / "docs" / "guide" / name):
        exec(code, found)
        if until in code:
            return found
    raise AssertionError(f"no code with {until!r} in {name}")


def table_row(name, label):
    text = (claims.ROOT / "docs" / "guide" / name).read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith(f"| {label} |"))
    return [cell.strip(" *") for cell in line.strip("|").split("|")[1:]]


def test_the_table_of_C_is_that_of_the_code_above():
    found = run_page("incremental.md", "c_path")
    path = found["path"]
    wrong = ((path.decision > 0).astype(int) != found["y"]).sum(axis=-1).ravel()
    assert table_row("incremental.md", "C") == [f"{C:g}" for C in path.C]
    assert table_row("incremental.md", "support vectors") == [str(k) for k in path.n_support.ravel()]
    assert table_row("incremental.md", "on the margin") == [str(k) for k in path.n_margin.ravel()]
    assert table_row("incremental.md", "training errors, of 569") == [str(k) for k in wrong]
    assert table_row("incremental.md", "leave-one-out errors") == [str(k) for k in found["errors"]]


def test_the_table_of_ordered_classes_is_that_of_the_code_above():
    found = run_page("ordinal.md", "cross_val_predict")["found"]
    for label, name in (
        ("`OrdinalSVC`", "OrdinalSVC"),
        ("`LinearSVC`, one class against the rest", "LinearSVC"),
    ):
        assert table_row("ordinal.md", label) == [f"{value:.3f}" for value in found[name]]


@pytest.mark.parametrize(("small", "large", "holds"), [(0.364, 0.361, "no"), (0.364, 0.354, "yes"), (0.35, 0.36, "no")])
def test_shares_are_compared_as_printed(small, large, holds):
    pytest.importorskip("matplotlib")
    from benchmarks.papers.laskov2006.claims import _mnist

    class Summary:
        def grown(self, kernel, n):
            return {
                8: {"profile": {"kernel": small if n == 1000 else large}, "wall_seconds": 1.0, "n_support": n // 10}
            }

        def middle(self, kernel, solver):
            return []

    words, verdict, numbers = next(_mnist(Summary()))
    assert "falls with n" in words
    assert (verdict, numbers) == (holds, f"{100 * small:.0f} % at 1,000, {100 * large:.0f} % at 10,000")


def test_ratios_are_compared_as_printed():
    assert [faster(ratio) for ratio in (1.104, 1.106, 0.92, 0.904, 3.0)] == ["tie", "yes", "tie", "no", "yes"]


def test_accuracies_of_w8a_say_that_the_test_rows_were_seen():
    """Every part of a page that has accuracies and names w8a says so, or the page does before its first part."""
    found = 0
    for page in [claims.ROOT / "README.md", *(claims.ROOT / "docs").rglob("*.md"), *claims.RESULTS.rglob("*.md")]:
        first, *parts = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for part in parts:
            if "w8a" in part and re.search(r"accuracy|\d %", part):
                found += 1
                warned = re.search(r"occur in (the|its)\s+training part|seen in training", first + part)
                assert warned, (page, part[:60])
    assert found >= 3
