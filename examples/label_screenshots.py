"""Pictures of the labelling page for the guide: a table in a wide window, images in a narrow one, the search.

Needs playwright and Chromium. The data sets are those of scikit-learn; a program presses the keys.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from PIL import Image
from playwright.sync_api import expect, sync_playwright
from sklearn.datasets import load_digits, load_wine

from hingeline.cli import label as command
from hingeline.cli.console import Console
from hingeline.labelling.server import PageServer

WIDE, NARROW = {"width": 1200, "height": 780}, {"width": 390, "height": 780}
GROWERS = ("Alba", "Barolo", "Canelli")  # invented names of the three growers


@contextmanager
def served(*words: Any) -> Iterator[PageServer]:
    """Server of a page."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    parser.set_defaults(command="label")
    arguments = parser.parse_args(list(map(str, words)))
    session = command.open_session(arguments, Console(arguments))
    with PageServer(session) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
    session.journal.close()


def wine(folder: Path) -> Path:
    """Write the wine data as a table."""
    data = load_wine()
    with open(folder / "wine.csv", "w", newline="") as file:
        names = [name.replace("_", " ") for name in data.feature_names]
        csv.writer(file).writerows([names, *data.data.tolist()])
    return folder / "wine.csv"


def digits(folder: Path) -> Path:
    """Write digits as a folder of images."""
    (folder / "digits").mkdir()
    for k, image in enumerate(load_digits().images[:500]):
        small = Image.fromarray((255 - 15.9 * image).astype("uint8"))
        small.resize((96, 96), Image.Resampling.BICUBIC).save(folder / "digits" / f"{k:03d}.png")
    return folder / "digits"


def answer(page: Any, server: PageServer, truth: Any, n: int) -> None:
    """Press the key of the right class `n` times."""
    for _ in range(n):
        title = page.inner_text("#title")
        place = int(truth[server.session.learner.ask()[0]])
        page.keyboard.press(str(place) if server.session.pool.kind == "image" else str(place + 1))
        expect(page.locator("#title")).not_to_have_text(title)


def photograph(page: Any, server: PageServer, truth: Any, n: int, path: Path) -> None:
    """Open the page, answer `n` questions and take a picture."""
    page.goto(server.access.link())
    page.wait_for_selector(".choice")
    answer(page, server, truth, n)
    page.wait_for_timeout(300)
    page.screenshot(path=path)


def main(output: Path) -> None:
    """Make the pictures."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program)
        with served(wine(Path(name)), "--classes", ",".join(GROWERS)) as server:
            page = browser.new_page(viewport=WIDE)
            photograph(page, server, load_wine().target, 45, output / "label_table.png")
            page.emulate_media(color_scheme="dark")
            page.keyboard.press("/")
            page.wait_for_selector("#found button")
            page.wait_for_timeout(300)
            page.screenshot(path=output / "label_search.png")
        with served(digits(Path(name)), "--classes", ",".join(map(str, range(10)))) as server:
            page = browser.new_page(viewport=NARROW)
            photograph(page, server, load_digits().target, 80, output / "label_image.png")
            page.locator(".side").scroll_into_view_if_needed()
            page.evaluate("document.querySelector('.side').scrollIntoView()")
            page.wait_for_timeout(200)
            page.screenshot(path=output / "label_progress.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "guide" / "img")
