"""Labelling pages for tests: pools, sessions, servers, and a client that behaves as a browser does."""

import argparse
import csv
import http.client
import json
from contextlib import contextmanager
from threading import Thread
from urllib.parse import urlencode, urlsplit

import numpy as np

from hingeline.cli import label
from hingeline.cli.console import Console
from hingeline.labelling.server import PageServer

NASTY = "<script>document.title='attacked'</script><img src=x onerror=alert(1)>&amp;\"'"


def write_csv(path, rows, header=None):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([*([] if header is None else [header]), *rows])
    return path


def small_table(folder, n_rows=40, name="pool.csv"):
    """A table whose first column tells the class, with cells that look like HTML."""
    draws = np.random.default_rng(0)
    rows = [[f"{a:.3f}", f"{b:.3f}", "red" if a > b else "blue", NASTY] for a, b in draws.normal(size=(n_rows, 2))]
    return write_csv(folder / name, rows, ["size", "weight", "colour", "<b>note</b>"])


def arguments(*words):
    parser = argparse.ArgumentParser()
    label.add_arguments(parser)
    parser.set_defaults(command="label")
    return parser.parse_args([str(word) for word in (*words, "--no-browser")])


@contextmanager
def session(*words):
    """An open session, as the command opens it."""
    given = arguments(*words)
    opened = label.open_session(given, Console(given))
    try:
        yield opened
    finally:
        opened.journal.close()


@contextmanager
def served(*words):
    """A client that has entered the page of a new server."""
    with session(*words) as opened, PageServer(opened) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        client = Client(server)
        try:
            yield client
        finally:
            client.connection.close()
            server.shutdown()
            thread.join()


def truth(example):
    """Class of an example of `small_table`."""
    cells = dict(example["fields"])
    return int(float(cells["size"]) > 0)


class Client:
    """A browser without a screen."""

    def __init__(self, server):
        self.server, self.port = server, server.server_address[1]
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        self.base, self.cookie, self.state = server.access.base, None, None

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    def request(self, method, address, content=None, **headers):
        """Status, headers and body. Header names have _ for -; None leaves a header out."""
        given = {"Cookie": self.cookie}
        if method == "POST":
            given |= {"Origin": self.origin, "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = json.dumps(content) if content is not None and not isinstance(content, bytes) else content
        self.connection.request(method, address, body, {name: v for name, v in given.items() if v is not None})
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def get(self, name, **query):
        return self.request("GET", self.base + name + (f"?{urlencode(query)}" if query else ""))

    def json(self, name, **query):
        status, _, body = self.get(name, **query)
        assert status == 200, body
        return json.loads(body)

    def enter(self):
        address = urlsplit(self.server.access.link())
        status, headers, _ = self.request("GET", f"{address.path}?{address.query}")
        assert status == 303
        self.cookie = headers["Set-Cookie"].partition(";")[0]
        self.state = self.json("state")
        return self

    def act(self, action, **more):
        status, _, body = self.request(
            "POST", self.base + "act", {"action": action, "turn": self.state["turn"], **more}
        )
        value = json.loads(body)
        if status in (200, 409):
            self.state = value
        return status

    def label(self, place=None, row=None):
        question = self.state["question"]
        place = truth(question) if place is None else place
        return self.act("label", **{"row": question["row"] if row is None else row, "class": place})
