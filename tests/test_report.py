"""The page of all results: well-formed, without other files, readable at the width of a phone."""

import base64
import shutil
from html.parser import HTMLParser

import pytest

pytest.importorskip("markdown_it")
from benchmarks import report

#: Elements without an end tag.
VOID = {"meta", "img", "br", "hr", "link", "input"}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
PAGE = """# Kecman 2016: ours

A <script>alert(1)</script> and [the other](table2.md#part), [a program](../../runs.py), [a site](https://example.org).

| claim | published | holds here |
| ----- | --------- | ---------: |
| one   | yes       |        yes |
| two   | yes       |         no |

![A figure](figure.png)
"""


class Reader(HTMLParser):
    """Collects ids, references and texts; checks that elements are nested."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.references, self.tags = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        self.references += [(tag, attributes[key]) for key in ("href", "src", "data", "srcset") if key in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check(text):
    """Return the reader of a page that needs no other file."""
    reader = Reader(text)
    assert reader.open == []
    assert len(set(reader.ids)) == len(reader.ids)
    assert not {"script", "link", "iframe", "object"} & set(reader.tags)
    for tag, target in reader.references:
        if target.startswith("#"):
            assert target[1:] in reader.ids, target
        elif tag != "a":
            assert target.startswith("data:image/png;base64,"), target[:80]
        else:
            assert target.startswith("https://"), target
    style = text.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    return reader


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "kecman2016"
    folder.mkdir()
    (folder / "report.md").write_text(PAGE)
    (folder / "table2.md").write_text("# Table II\n\nSee [the report](report.md).\n")
    (folder / "figure.png").write_bytes(PIXEL)
    (tmp_path / "2026-01-01.md").write_text("# Speed\n")
    (tmp_path / "other-2026-01-01.md").write_text("# Speed\n")
    return tmp_path


def test_a_page_is_made_of_all_files(results):
    text = report.page(results)
    reader = check(text)
    assert reader.ids == ["top", "kecman2016-report", "kecman2016-table2", "2026-01-01", "other-2026-01-01"]
    assert ("a", "#kecman2016-table2") in reader.references
    assert ("a", "https://example.org") in reader.references
    assert '<a class="file" title="../../runs.py">a program</a>' in text
    assert f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}" in text
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "Speed (2026-01-01)" in text
    assert "Speed (other-2026-01-01)" in text


def test_claims_are_counted(results):
    text = report.page(results)
    assert "Kecman 2016: ours</a></td><td>2</td><td>1</td><td>0</td><td>1</td></tr>" in text
    (results / "kecman2016" / "table2.md").write_text(
        "# By set\n\n| | x |\n|-|-|\n| a | yes |\n\n| claim | x | y |\n|-|-|-|\n| a | yes | tie |\n| b | | no |\n"
    )
    assert "By set</a></td><td>3</td><td>1</td><td>1</td><td>1</td></tr>" in report.page(results)


def test_a_missing_figure_is_an_error(results):
    (results / "kecman2016" / "figure.png").unlink()
    with pytest.raises(FileNotFoundError, match=r"figure\.png"):
        report.page(results)


def test_the_page_of_this_repository():
    text = report.page(report.HERE / "results")
    reader = check(text)
    assert len(reader.ids) > 15
    assert reader.tags.count("img") > 20
    assert reader.tags.count("table") > 40


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_in_a_browser(width, scheme, tmp_path):
    api = pytest.importorskip("playwright.sync_api")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("needs Chromium")
    path = tmp_path / "report.html"
    path.write_text(report.page(report.HERE / "results"), encoding="utf-8")
    with api.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser)
        page = chromium.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        asked, said = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.goto(path.as_uri())
        assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
        assert said == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
        narrow = page.evaluate("[...document.querySelectorAll('p, li')].filter(e => e.clientWidth < 100).length")
        assert narrow == 0
        shade = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert shade == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(22, 24, 28)")
        chromium.close()
