"""Helpers for tests of the command line: commands run in this process."""

import io
import json
import sys

import numpy as np
import pytest

from hingeline.cli.main import main


class Commands:
    """Runs commands and keeps what they print."""

    def __init__(self, capfd, monkeypatch):
        self.capfd, self.monkeypatch = capfd, monkeypatch
        self.out = self.err = ""

    def __call__(self, *words, stdin=b"", code=0):
        """Run a command and check its exit code; returns standard output."""
        stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))
        self.monkeypatch.setattr(sys, "stdin", stream)
        found = main(list(map(str, words)))
        self.out, self.err = self.capfd.readouterr()
        assert found == code, (found, self.out, self.err)
        return self.out

    def json(self, *words, **options):
        """Run a command with --json; returns the object."""
        (line,) = self(*words, "--json", **options).splitlines()
        return json.loads(line)


@pytest.fixture
def command(capsys, monkeypatch):
    return Commands(capsys, monkeypatch)


def svmlight(X, y):
    """Rows in LIBSVM's format."""
    rows = zip(np.asarray(X).tolist(), list(y), strict=True)
    return "".join(f"{label} {' '.join(f'{k}:{v!r}' for k, v in enumerate(row, 1) if v)}\n" for row, label in rows)


def table(X, y, names=None):
    """Rows as CSV, labels last."""
    head = "" if names is None else ",".join(names) + "\n"
    rows = zip(np.asarray(X).tolist(), list(y), strict=True)
    return head + "".join(",".join(map(repr, row)) + f",{label}\n" for row, label in rows)
