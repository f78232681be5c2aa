"""The labelling page in a real browser, by keyboard and by mouse, in wide and narrow windows.

Needs playwright and Chromium (the variable HINGELINE_BROWSER names the program, otherwise it is looked for).
"""

import csv
import os
import shutil
from contextlib import contextmanager

import pytest

from .labelling import NASTY, served, small_table, write_csv

pytestmark = pytest.mark.slow
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROGRAM = os.environ.get("HINGELINE_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
if PROGRAM is None:
    pytest.skip(f"needs a browser: none of {', '.join(NAMES)} was found", allow_module_level=True)

WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=PROGRAM)
        yield opened
        opened.close()


@contextmanager
def window(browser, client, size=WIDE, **options):
    """A window that has opened the link. Errors, foreign requests and dialogs fail the test."""
    context = browser.new_context(viewport=size, **options)
    page = context.new_page()
    faults = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda sent: sent.url.startswith(client.origin) or faults.append(sent.url))
    page.set_default_timeout(5000)
    page.goto(client.server.access.link())
    playwright.expect(page).not_to_have_title("hingeline label")
    yield page
    context.close()
    assert faults == []


def title(page):
    return page.inner_text("#title")


def changed(page, act):
    """Do something and wait for the next question."""
    before = title(page)
    act()
    playwright.expect(page.locator("#title")).not_to_have_text(before)


def truth(page):
    return int(float(page.inner_text("#content dd >> nth=0")) > 0)


def n_labelled(page):
    return int(page.inner_text("#n-labelled"))


def press(page, key):
    changed(page, lambda: page.keyboard.press(key))


def click(page, name):
    changed(page, lambda: page.get_by_role("button", name=name).first.click())


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_by_keyboard(browser, tmp_path, size):
    """Label 20 examples, close, open again, go on, undo, search and change an answer."""
    pool = small_table(tmp_path, 80)
    with served(pool, "--classes", "no,yes") as client, window(browser, client, size) as page:
        for _ in range(20):
            press(page, "12"[truth(page)])
        assert n_labelled(page) == 20
        asked = title(page)
    with served(pool) as client, window(browser, client, size) as page:
        assert n_labelled(page) == 20 and title(page) == asked
        for _ in range(5):
            press(page, "12"[truth(page)])
        before = title(page)
        press(page, "1")
        press(page, "z")
        assert title(page) == before and n_labelled(page) == 25
        press(page, "u")
        press(page, "s")
        assert "2 passed" in page.inner_text("#n-rest")
        learner = client.server.session.learner
        row, label = list(learner.labels.items())[-1]
        page.keyboard.press("/")
        page.wait_for_selector("#found button")
        assert page.input_value("#find-scope") == "all" and page.inner_text("#find-count") == "80 examples"
        assert page.inner_text("#found .row >> nth=0") == "Row 0"
        page.select_option("#find-scope", "answered")
        playwright.expect(page.locator("#find-count")).to_have_text("25 examples")
        page.focus("#find-text")
        page.keyboard.press("Tab")  # over the two lists to the newest answer
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector("#notice:not([hidden])")
        assert title(page) == f"Row {row}" and f"labelled {label}" in page.inner_text("#notice")
        press(page, "2" if label == "no" else "1")
        assert learner.labels[row] != label and n_labelled(page) == 25
        page.keyboard.press("?")
        assert page.is_visible("#help")
        page.keyboard.press("1")  # keys do nothing behind a dialog
        page.keyboard.press("Escape")
        assert n_labelled(page) == 25 and fits(page)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_by_mouse(browser, tmp_path, size):
    pool = small_table(tmp_path, 60)
    touch = {"has_touch": True, "is_mobile": True} if size is NARROW else {}
    with served(pool, "--export", tmp_path / "labels.csv") as client, window(browser, client, size, **touch) as page:
        page.fill("#names", "no\nyes\n")
        page.click("#setup button")
        page.wait_for_selector(".choice")
        place = page.locator(".choice").first.bounding_box()
        for _ in range(8):
            click(page, ("no", "yes")[truth(page)])
            assert page.locator(".choice").first.bounding_box() == place  # buttons stay under the pointer
        assert place["y"] + place["height"] < size["height"] and place["height"] >= 44 and fits(page)
        page.fill("#new-class", "maybe")
        page.click("#add-class button")
        playwright.expect(page.locator(".choice")).to_have_count(3)
        click(page, "maybe")
        click(page, "Unsure")
        click(page, "Skip")
        click(page, "Undo")
        page.get_by_role("button", name="Search").click()
        page.fill("#find-text", "red")
        playwright.expect(page.locator("#find-count")).not_to_have_text("60 examples")
        playwright.expect(page.locator("#find-count")).not_to_have_text("9 examples")
        page.locator("#found button").last.click()
        page.wait_for_selector("#notice:not([hidden])")
        click(page, "Back to the questions")
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.click("text=Labels, CSV")
        with open(download.value.path(), newline="") as file:
            assert len(list(csv.DictReader(file))) == 9
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Finish").click()
        page.click("#finish-now")
        page.wait_for_selector("#done:not([hidden])")
        assert "labels.csv" in page.inner_text("#done")
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 10


def test_data_is_shown_as_text(browser, tmp_path):
    """HTML in cells, names of columns, names of classes, names of files and texts stays text."""
    table = small_table(tmp_path)
    folder = tmp_path / "texts"
    folder.mkdir()
    for k in range(4):
        (folder / f"{k} <img src=x onerror=alert(1)>.txt").write_text(NASTY * 3)
    for pool in (table, folder):
        with served(pool, "--classes", f"{NASTY},<b>b</b>") as client, window(browser, client) as page:
            assert NASTY in page.inner_text("#content") and NASTY in page.inner_text("#choices")
            press(page, "1")
            press(page, "2")
            page.keyboard.press("/")
            page.wait_for_selector("#found button")
            assert NASTY[:30] in page.inner_text("#found")
            assert page.locator("main img, main script, main b, dialog img, dialog script").count() == 0
            assert "attacked" not in page.title()


def test_dark_images_and_the_end_of_the_pool(browser, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "images"
    folder.mkdir()
    for k in range(3):
        Image.new("RGB", (40, 30), (60 * k, 80, 90)).save(folder / f"{k}.png")
    with served(folder, "--classes", "0,1") as client, window(browser, client, color_scheme="dark") as page:
        playwright.expect(page.locator(".picture")).to_have_js_property("naturalWidth", 40)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(246, 246, 243)"
        press(page, "0")  # classes called 0 and 1 have these keys
        press(page, "1")
        page.keyboard.press("1")
        page.wait_for_selector("#done:not([hidden])")
        assert [known["count"] for known in client.server.session.state()["classes"]] == [1, 2]
        page.keyboard.press("z")
        page.wait_for_selector("#done", state="hidden")


WORDS = {"sport": "the team won the match after extra time", "kitchen": "bake the bread with salt and warm water"}


def text_folder(tmp_path, n=24):
    """Texts of two topics, each of them long; the answers by file."""
    folder = tmp_path / "letters"
    folder.mkdir()
    names = {}
    for k in range(n):
        topic = ("sport", "kitchen")[k % 2]
        names[f"{k:02d}.txt"] = topic
        (folder / f"{k:02d}.txt").write_text(f"Letter {k}. " + f"{WORDS[topic]}, and so on. " * (30 if k == 0 else 4))
    return folder, names


def image_folder(tmp_path, n=24):
    """Dark and light images, large and small; the answers by file."""
    Image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "photos"
    (folder / "sub").mkdir(parents=True)
    names = {}
    for k in range(n):
        name = f"sub/{k:02d}.png" if k % 3 == 0 else f"{k:02d}.png"
        names[name] = ("dark", "light")[k % 2]
        size = (1600, 1200) if k % 5 == 0 else (64, 64)
        Image.new("RGB", size, (40 + k, 30, 20) if k % 2 == 0 else (220, 230 - k, 200)).save(folder / name)
    return folder, names


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("make", [text_folder, image_folder])
def test_folders_of_texts_and_images(browser, tmp_path, make, size):
    """Label most of a folder, by keyboard and by mouse; the model learns, search, undo, export and reopen work."""
    folder, names = make(tmp_path)
    classes = list(dict.fromkeys(names.values()))
    kind = ".text" if make is text_folder else ".picture"
    touch = {"has_touch": True, "is_mobile": True} if size is NARROW else {}
    with served(folder, "--classes", ",".join(classes)) as client, window(browser, client, size, **touch) as page:
        pool = client.server.session.pool

        def known():
            return names[pool.title(client.server.session.learner.ask()[0])]

        for k in range(16):
            page.wait_for_selector(f"#content {kind}")
            if kind == ".picture":
                playwright.expect(page.locator(".picture")).not_to_have_js_property("naturalWidth", 0)
            assert fits(page)
            if k % 2:
                click(page, known())
            else:
                press(page, str(1 + classes.index(known())))
        assert n_labelled(page) == 16
        before = title(page)
        press(page, "u")
        press(page, "z")
        assert title(page) == before and n_labelled(page) == 16
        page.locator("#show-guess").check()
        assert page.inner_text("#guess") == f"Model: {known()}"
        page.get_by_role("button", name="Search").click()
        playwright.expect(page.locator("#find-count")).to_have_text("24 examples")
        if make is text_folder:
            page.fill("#find-text", "bread SALT")
            playwright.expect(page.locator("#find-count")).to_have_text("12 examples")
        else:
            page.fill("#find-text", "sub/")
            playwright.expect(page.locator("#find-count")).to_have_text("8 examples")
            playwright.expect(page.locator("#found img").first).not_to_have_js_property("naturalWidth", 0)
        page.locator("#found button").first.click()
        page.wait_for_selector("#notice:not([hidden])")
        assert page.is_visible(f"#content {kind}") and fits(page)
        click(page, "Back to the questions")
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.click("text=Labels, CSV")
        with open(download.value.path(), newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 16 and {row["label"] for row in rows} == set(classes)
    with served(folder) as client, window(browser, client, size) as page:
        assert n_labelled(page) == 16 and title(page) == before


def test_long_numbers_stay_on_one_line_on_a_phone(browser, tmp_path):
    rows = [[f"{k}.{'123456789' * 2}", f"-{k}2345678.25", f"{k % 7}e-{10 + k % 5}", str(k % 3)] for k in range(1, 31)]
    write_csv(tmp_path / "numbers.csv", rows, ["a", "b", "c", "d"])
    touch = {"has_touch": True, "is_mobile": True}
    with (
        served(tmp_path / "numbers.csv", "--classes", "no,yes") as client,
        window(browser, client, NARROW, **touch) as page,
    ):
        for _ in range(3):
            boxes = page.locator("#content dd").evaluate_all(
                "all => all.map(one => [one.clientHeight / parseFloat(getComputedStyle(one).lineHeight), "
                "one.scrollWidth - one.clientWidth])"
            )
            assert len(boxes) == 4 and all(lines < 1.5 and over <= 0 for lines, over in boxes), boxes
            assert fits(page)
            press(page, "1")


def test_the_advice_has_plain_words(browser, tmp_path):
    pool = small_table(tmp_path, 80)
    with served(pool, "--classes", "no,yes") as client, window(browser, client) as page:
        seen = set()
        for _ in range(30):
            press(page, "12"[truth(page)])
            seen.add(page.inner_text("#advice").split(":")[0])
        assert "kappa" not in page.inner_text("body")
        assert seen & {"Go on. Predictions still change", "You may stop. Predictions are stable"}


def test_a_window_that_is_too_late_shows_the_current_question(browser, tmp_path):
    with served(small_table(tmp_path), "--classes", "no,yes") as client, window(browser, client) as page:
        other = page.context.new_page()
        other.goto(page.url)
        other.wait_for_selector(".choice")
        press(page, "1")
        other.keyboard.press("2")
        other.wait_for_selector("#error:not([hidden])")
        assert title(other) == title(page) and n_labelled(other) == 1
        other.close()


def test_keys_and_screen_readers(browser, tmp_path):
    write_csv(tmp_path / "many.csv", [[str(k % 7), str(k % 5)] for k in range(50)], ["a", "b"])
    classes = [f"class {k}" for k in range(14)]
    with served(tmp_path / "many.csv", "--classes", ",".join(classes)) as client, window(browser, client) as page:
        keys = page.locator(".choice").evaluate_all("all => all.map(one => one.getAttribute('aria-keyshortcuts'))")
        assert keys == [*"1234567890qwer"]
        press(page, "e")
        assert "class 12" in page.inner_text("#announce") and title(page) in page.inner_text("#announce")
        page.focus(".choice >> nth=3")
        press(page, "Enter")  # the focus stays on the button
        assert page.evaluate("document.activeElement.textContent").startswith("class 3")
        assert list(client.server.session.learner.labels.values()) == ["class 12", "class 3"]
        page.keyboard.press("Control+1")  # not ours
        assert page.locator("button:not([aria-label])").evaluate_all("all => all.every(one => one.textContent.trim())")
