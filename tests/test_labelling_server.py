"""The server of the labelling page: who may use it, what it answers, and that answers are kept."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread, Timer

import pytest

from hingeline.cli.main import main
from hingeline.labelling import server as server_module
from hingeline.labelling.access import Access

from .labelling import NASTY, Client, served, session, small_table, truth

PAGE = Path(server_module.__file__).parent / "page"


@pytest.fixture
def pool(tmp_path):
    return small_table(tmp_path)


@pytest.fixture
def client(pool):
    with served(pool, "--classes", "no,yes") as found:
        yield found


# ---- who may use it -------------------------------------------------------------------------------------


def test_a_link_works_once(client):
    link = client.server.access.link().partition(client.origin)[2]
    status, headers, body = client.request("GET", link)
    assert (status, headers["Location"], body) == (303, client.base, b"")
    assert re.fullmatch(
        rf"hingeline-{client.port}=[\w-]{{43}}; Path={client.base}; HttpOnly; SameSite=Strict", headers["Set-Cookie"]
    )
    status, headers, body = client.request("GET", link)
    assert status == 403 and headers["Set-Cookie"] is None and b"has been used" in body


def test_a_used_link_leads_its_own_browser_to_the_page(client):
    link = client.server.access.link().partition(client.origin)[2]
    _, headers, _ = client.request("GET", link)
    client.cookie = headers["Set-Cookie"].partition(";")[0]
    status, headers, _ = client.request("GET", link)
    assert (status, headers["Location"], headers["Set-Cookie"]) == (303, client.base, None)


def test_a_new_link_replaces_the_one_before(client):
    old = client.server.access.link().partition(client.origin)[2]
    new = client.server.access.link().partition(client.origin)[2]
    assert client.request("GET", old)[0] == 403
    assert client.request("GET", new)[0] == 303


@pytest.mark.parametrize(
    "name", ["", "page.js", "state", "find", "example/0", "image/0", "labels.csv", "predictions.csv"]
)
@pytest.mark.parametrize("cookie", [None, "", "x=1", "hingeline-{port}=wrong", '"; =,\\'])
def test_nothing_is_read_without_the_cookie(client, name, cookie):
    client.cookie = cookie and cookie.format(port=client.port)
    status, _, body = client.get(name)
    assert status == 403 and b"terminal" in body and b"size" not in body


@pytest.mark.parametrize("name", ["act", "finish"])
def test_nothing_is_changed_without_the_cookie(client, name):
    client.enter()
    client.cookie = None
    assert client.request("POST", client.base + name, {"action": "undo", "turn": 1})[0] == 403


def test_cookies_of_other_runs_are_refused(client):
    client.enter()
    other = Access(client.port)
    other.base = client.base
    client.cookie = other.enter(other.link().partition("token=")[2]).partition(";")[0]
    assert client.get("state")[0] == 403


def test_everything_is_below_a_path_that_cannot_be_guessed(client):
    client.enter()
    assert len(client.base) > 12 and client.base != Access(client.port).base
    for path in ("/", "/state", "/favicon.ico", client.base[:-1], "//", "*"):
        assert client.request("GET", path)[0] == 404


@pytest.mark.parametrize(
    "host", ["example.com", "127.0.0.1", "127.0.0.1:1", "localhost.evil.com:{port}", "", "[::1]:{port}"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_foreign_names_of_this_machine_are_refused(client, method, host):
    client.enter()
    content = {"action": "undo", "turn": 0} if method == "POST" else None
    name = {"GET": "state", "POST": "act"}[method]
    status, _, body = client.request(method, client.base + name, content, Host=host.format(port=client.port))
    assert status == 403 and b"host" in body


def test_localhost_is_a_name_of_the_page(client):
    client.enter()
    host = f"localhost:{client.port}"
    assert client.request("GET", client.base + "state", Host=host)[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": None},
        {"Origin": "null"},
        {"Origin": "http://example.com"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://localhost:{port}"},  # the host is 127.0.0.1
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
    ],
)
def test_changes_from_elsewhere_are_refused(client, headers):
    client.enter()
    headers = {name: value and value.format(port=client.port) for name, value in headers.items()}
    request = {"action": "skip", "turn": client.state["turn"], "row": 0}
    assert client.request("POST", client.base + "act", request, **headers)[0] == 403
    assert client.json("state")["turn"] == client.state["turn"]


def test_reading_from_elsewhere_is_refused(client):
    client.enter()
    assert client.request("GET", client.base + "state", Sec_Fetch_Site="cross-site")[0] == 403
    assert client.request("GET", client.base + "state", Origin="http://example.com")[0] == 403
    assert client.request("GET", client.base + "state", Sec_Fetch_Site="none")[0] == 200


def test_it_listens_on_the_loopback_interface_only(client):
    assert client.server.socket.getsockname()[0] == "127.0.0.1"


# ---- what it answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "page.css", "page.js", "icon.svg", "state", "missing", "labels.csv"])
def test_all_answers_forbid_foreign_content(client, name):
    client.enter()
    _, headers, _ = client.get(name)
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin" and "Python" not in headers["Server"]


def test_the_page_is_complete_and_has_no_inline_code(client):
    client.enter()
    text = client.get("")[2].decode()
    assert not re.search(r"\son\w+=|style=|<style|javascript:", text)
    named = set(re.findall(r'(?:src|href)="([\w.]+)"', text))
    assert named == {"icon.svg", "page.css", "page.js", "labels.csv", "labels.json", "predictions.csv"}
    assert all(client.get(name)[0] == 200 for name in named - {"predictions.csv"})
    assert all('src="page.js"' in script for script in re.findall(r"<script[^>]*>", text))
    ids = re.findall(r'id="([\w-]+)"', text)
    assert len(set(ids)) == len(ids)
    script = (PAGE / "page.js").read_text()
    assert set(re.findall(r'\$\("([\w-]+)"\)', script)) <= set(ids)
    for words in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "https:"):
        assert words not in script
    for file in PAGE.iterdir():
        assert not re.search(r"(?<!xmlns=.)https?://(?!www\.w3\.org)", file.read_text()), file


def test_content_of_the_data_is_sent_as_json(client):
    client.enter()
    _, headers, body = client.get("state")
    assert headers["Content-Type"] == "application/json"
    assert dict(json.loads(body)["question"]["fields"])["<b>note</b>"] == NASTY
    assert NASTY not in client.get("")[2].decode()


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{}", {"Content_Type": "text/plain"}, 415),
        (b"{}", {"Content_Type": "application/x-www-form-urlencoded"}, 415),
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b"\xff", {}, 400),
        (b"[" * 60_000, {}, 400),
        (b"{}", {}, 400),
        (b"{}", {"Content_Length": "-1"}, 411),
        (b"{}", {"Content_Length": "9" * 30}, 411),
        (b"{}", {"Content_Length": "99999999"}, 413),
        (b" " * 70_000, {}, 413),
    ],
)
def test_bad_requests_are_refused(client, content, headers, status):
    client.enter()
    try:
        found = client.request("POST", client.base + "act", content, **headers)[0]
    except ConnectionError:  # the server has answered and closed before all was sent
        found = status
    assert found == status
    client.connection.close()
    assert client.get("state")[0] == 200


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"action": "drop"}, "action must be one of"),
        ({"action": "label", "row": 0}, "class must be an integer"),
        ({"action": "label", "row": 0, "class": True}, "class must be an integer"),
        ({"action": "label", "row": 0, "class": 2}, "class must be at least 0 and below 2"),
        ({"action": "label", "row": 0, "class": -1}, "class must be at least 0"),
        ({"action": "label", "row": 40, "class": 0}, "from 0 to 39"),
        ({"action": "skip", "row": -1}, "from 0 to 39"),
        ({"action": "skip", "row": "0"}, "row must be an integer"),
        ({"action": "skip", "row": 10**30}, "row"),
        ({"action": "undo"}, "nothing to undo"),
        ({"action": "classes", "names": "ab"}, "list of strings"),
        ({"action": "classes", "names": [1]}, "list of strings"),
        ({"action": "classes", "names": ["a\ud800"]}, "1 to 100 printable characters"),
        ({"action": "classes", "names": ["a\nb"]}, "1 to 100 printable characters"),
        ({"action": "classes", "names": [" "]}, "1 to 100 printable characters"),
        ({"action": "classes", "names": ["x" * 101]}, "1 to 100 printable characters"),
        ({"action": "classes", "names": [str(k) for k in range(300)]}, "200 classes"),
    ],
)
def test_wrong_answers_are_refused_and_change_nothing(client, request_, words):
    client.enter()
    status, _, body = client.request("POST", client.base + "act", {"turn": client.state["turn"], **request_})
    assert status == 400 and words in json.loads(body)["error"]
    assert client.json("state") == client.state


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\r\n\r\n",
        b"\0\xff\xfe\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"POST {base}act HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
        b"POST {base}act HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {cookie}\r\n"
        b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{}",
        b"GET {base}?token=%ff%00 HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"GET {base}find?class=%ED%A0%80&start=9999999999999999 HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
        b"GET {base}?token=\xe9 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    ],
)
def test_garbage_does_no_harm(client, sent, capfd):
    client.enter()
    for name, value in (("base", client.base), ("host", client.origin[7:]), ("cookie", client.cookie)):
        sent = sent.replace(b"{%s}" % name.encode(), value.encode())
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while connection.recv(65536):
                pass
    assert client.json("state") == client.state
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "headers",
    [
        "Content-Length: {length}",
        "Content-Length: 0\r\nContent-Length: {length}",
        "Transfer-Encoding: chunked",
        "Content-Length: 0\r\nTransfer-Encoding: chunked",
        "Odd header: x\r\nContent-Length: {length}",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_content_of_a_request_is_no_second_request(client, method, headers):
    """A request within the content of another one would pass the checks of a proxy."""
    client.enter()
    common = f"Host: 127.0.0.1:{client.port}\r\nCookie: {client.cookie}\r\n"
    inner = f"GET {client.base}labels.csv HTTP/1.1\r\n{common}\r\n"
    if method == "POST":  # its content is read, and its answer keeps the connection
        common += f"Origin: {client.origin}\r\nContent-Type: application/json\r\n"
        outdated = json.dumps({"action": "undo", "turn": -1})
        headers = f"Content-Length: {len(outdated)}\r\n{headers}"
        inner = outdated + inner
    name = "state" if method == "GET" else "act"
    first = f"{method} {client.base}{name} HTTP/1.1\r\n{common}{headers.format(length=len(inner))}\r\n\r\n{inner}"
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(first.encode())
        connection.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.startswith(b"HTTP/1.1 400 ") and b"Connection: close" in received
    assert received.count(b"HTTP/1.1 ") == 1 and b"text/csv" not in received


def test_unknown_pages(client):
    client.enter()
    for name in (
        "x",
        "example/40",
        "example/-1",
        "example/",
        "image/0",
        "image/../pool.csv",
        "..%2fpool.csv",
        "example/²",
    ):
        assert client.request("GET", client.base + name.replace("²", "%C2%B2"))[0] == 404, name
    assert client.request("POST", client.base + "state", {})[0] == 404
    assert client.request("GET", "HTTP://[")[0] == 400
    assert client.request("PUT", client.base + "act", {})[0] == 501


def test_connections_are_kept_and_ended_with_the_server(pool):
    freed = []

    def free():  # what ends the test if the server waits for the connection
        freed.append(True)
        silent.shutdown(socket.SHUT_RDWR)

    rescue = Timer(20, free)
    with served(pool, "--classes", "no,yes") as client:
        client.enter()
        silent = socket.create_connection(("127.0.0.1", client.port))
        used = client.connection.sock
        client.json("state")
        assert client.connection.sock is used
        rescue.start()
    rescue.cancel()
    silent.close()
    assert not freed


# ---- answers --------------------------------------------------------------------------------------------


def lines(client):
    return [json.loads(line) for line in client.server.session.journal.path.read_text().splitlines()]


def test_an_answer_is_on_disk_before_the_next_question(client, monkeypatch):
    client.enter()
    flushed = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (real(file), flushed.append(lines(client)[-1])))
    row = client.state["question"]["row"]
    assert client.label(1) == 200
    assert flushed[0]["kind"] == "answer" and flushed[0]["rows"] == [row] and flushed[0]["labels"] == ["yes"]
    assert client.state["question"]["row"] != row and client.state["n_labelled"] == 1


def test_a_full_disk_loses_nothing(client, monkeypatch):
    client.enter()
    for _ in range(4):
        client.label()
    before, journal = client.state, lines(client)

    def full(file):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert client.label(0) == 507
        assert client.act("undo") == 507
        assert client.act("classes", names=["more"]) == 507
        assert client.act("skip", row=before["question"]["row"]) == 507
    after = client.json("state")
    assert lines(client) == journal
    for name in ("turn", "question", "classes", "n_labelled", "n_open", "last"):
        assert after[name] == before[name]
    assert client.label() == 200
    assert [line["kind"] for line in lines(client)][2:] == ["answer"] * 5


def test_a_request_that_comes_twice_counts_once(client):
    client.enter()
    request = {"action": "label", "turn": client.state["turn"], "row": client.state["question"]["row"], "class": 1}
    assert client.request("POST", client.base + "act", request)[0] == 200
    status, _, body = client.request("POST", client.base + "act", request)
    assert status == 409 and json.loads(body) == client.json("state")
    assert client.json("state")["n_labelled"] == 1


def test_two_windows_do_not_answer_the_same_question(client):
    client.enter()
    old = client.state
    client.label(1)
    client.state = old
    assert client.label(0) == 409
    assert client.state["classes"][0]["count"] == 0


def test_undo_skip_unsure_relabel_reopen(client):
    client.enter()
    assert client.act("undo") == 400 and client.state["last"] is None
    first = client.state["question"]
    client.label(0)
    assert client.state["last"] == {"kind": "answer", "row": first["row"], "title": first["title"], "label": "no"}
    assert client.act("undo") == 200
    assert client.state["question"] == first and client.state["n_labelled"] == 0
    client.act("skip", row=first["row"])
    second = client.state["question"]
    client.act("unsure", row=second["row"])
    assert client.state["n_passed"] == 2 and client.state["n_open"] == 38
    assert client.json(f"example/{first['row']}")["status"] == "skipped"
    client.label(1)
    row = client.state["last"]["row"]
    client.label(0, row=row)  # another label for an earlier answer
    assert client.state["last"]["kind"] == "relabel"
    assert [known["count"] for known in client.state["classes"]] == [1, 0]
    client.label(1, row=first["row"])  # a row that was skipped
    assert client.json(f"example/{first['row']}")["label"] == 1
    client.act("reopen", row=row)
    assert client.json(f"example/{row}")["status"] == "open"


def test_the_page_asks_for_classes(pool):
    with served(pool) as client:
        client.enter()
        assert client.state["classes"] == [] and client.state["question"] is None
        assert client.act("classes", names=["yes"]) == 200 and client.state["question"] is None
        assert client.act("classes", names=[" no ", "yes", NASTY]) == 200
        assert [known["name"] for known in client.state["classes"]] == ["yes", "no", NASTY]
        assert client.label(2) == 200 and client.label(0) == 200 and client.label(1) == 200
        assert client.act("classes", names=["a longer name than before"]) == 200
        assert client.label(3) == 200
    with served(pool) as client:
        client.enter()
        assert [known["count"] for known in client.state["classes"]] == [1, 1, 1, 1]


def test_curves_and_advice(client):
    client.enter()
    for _ in range(30):
        client.label()
    curves = client.state["curves"]
    assert curves["n_labelled"][-1] == 30 and len(curves["guessed"]) == len(curves["kept"]) == len(curves["n_labelled"])
    assert all(0 <= share <= 1 for share in curves["guessed"] + curves["kept"])
    hits = [event.predicted == event.labels for event in client.server.session.learner.history if event.predicted]
    assert curves["guessed"][-1] == pytest.approx(sum(hits[-20:]) / 20)
    assert set(client.state["advice"]) == {
        "stop", "reason", "agreement", "expected_change", "surprise", "inside_margin",
    }  # fmt: skip
    assert client.state["advice"]["surprise"] == pytest.approx(1 - curves["guessed"][-1])


def test_search(client):
    client.enter()
    for _ in range(6):
        client.label()
    skipped = client.state["question"]["row"]
    client.act("skip", row=skipped)
    found = client.json("find", scope="answered")
    newest = [event.rows[0] for event in reversed(client.server.session.learner.history) if event.kind == "answer"]
    assert found["total"] == 6 and [item["row"] for item in found["items"]] == newest
    assert [item["row"] for item in client.json("find", scope="passed")["items"]] == [skipped]
    assert client.json("find", scope="open")["total"] == 33
    everything = client.json("find", scope="all", text="RED onerror")
    assert 0 < everything["total"] < 40
    assert all("red" in item["snippet"] for item in everything["items"])
    assert client.json("find", scope="all", text="red nothing")["total"] == 0
    label = found["items"][0]["label"]
    assert {item["label"] for item in client.json("find", **{"class": label})["items"]} == {label}
    assert len(client.json("find", scope="all", start=35)["items"]) == 5
    for query in ({"scope": "x"}, {"class": "x"}, {"start": "x"}):
        assert client.get("find", **query)[0] == 400


def test_all_rows_can_be_answered(tmp_path):
    with served(small_table(tmp_path, 5), "--classes", "no,yes") as client:
        client.enter()
        for _ in range(5):
            assert client.label() == 200
        assert client.state["question"] is None and client.state["n_open"] == 0
        assert client.label(0, row=3) == 200


def test_exports_are_downloads(client):
    client.enter()
    assert client.get("predictions.csv")[0] == 409  # there is no model yet
    for _ in range(8):
        client.label()
    for name in ("labels.csv", "labels.json", "predictions.csv"):
        status, headers, body = client.get(name)
        assert status == 200 and headers["Content-Disposition"] == f'attachment; filename="{name}"'
        assert body == client.server.session.export(name)


# ---- the program ----------------------------------------------------------------------------------------


def test_sessions_resume(pool):
    with served(pool, "--classes", "no,yes") as client:
        client.enter()
        for _ in range(12):
            client.label()
        client.act("undo")
        client.act("skip", row=client.state["question"]["row"])
        before = client.state
    with served(pool) as client:
        client.enter()
        for name in ("question", "classes", "n_labelled", "n_open", "n_passed", "curves", "advice", "last"):
            assert client.state[name] == before[name], name
        assert client.act("undo") == 200


def test_two_servers_on_one_journal_are_refused(pool):
    with session(pool), pytest.raises(RuntimeError, match="in use by another labelling page"), session(pool):
        pass


def run_and_finish(monkeypatch, *words):
    """Run the command; a client labels six examples and ends the page. Returns the answer to its last request."""
    found = []
    real = server_module.PageServer.serve_forever

    def serve(server, **keywords):
        def use():
            client = Client(server).enter()
            for _ in range(6):
                client.label()
            found.append(client.request("POST", client.base + "finish", {}))
            client.connection.close()

        thread = Thread(target=use)
        thread.start()
        real(server, **keywords)
        thread.join()

    monkeypatch.setattr(server_module.PageServer, "serve_forever", serve)
    assert main(["label", "--no-browser", *map(str, words)]) == 0
    return found[0]


def test_the_page_can_end_the_program(pool, tmp_path, monkeypatch, capsys):
    status, _, body = run_and_finish(monkeypatch, pool, "--classes", "no,yes", "--export", tmp_path / "labels.csv")
    assert status == 200
    names = ("pool.answers.jsonl", "labels.csv", "pool.model.safetensors")
    assert json.loads(body)["written"] == [str(tmp_path / name) for name in names]
    assert "6 of 40 examples are labelled" in capsys.readouterr().out
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 7


def test_the_program_prints_json(pool, tmp_path, monkeypatch, capsys):
    run_and_finish(monkeypatch, pool, "--classes", "no,yes", "--json")
    out, err = capsys.readouterr()
    (line,) = out.splitlines()
    found = json.loads(line)
    assert "/?token=" in err and "labelled" not in err
    guide = (Path(__file__).parents[1] / "docs/guide/cli.md").read_text()
    assert not [key for key in found if f"`{key}`" not in guide]
    assert found["pool"] == str(pool) and found["rule"] == "margin" and found["examples"] == 40
    assert found["labelled"] == sum(found["classes"].values()) == 6 and list(found["classes"]) == ["no", "yes"]
    assert found["answers"] == str(tmp_path / "pool.answers.jsonl") and found["export"] is None
    assert found["model"] == str(tmp_path / "pool.model.safetensors") and Path(found["model"]).exists()


def test_quiet_prints_the_link_only(pool, monkeypatch, capsys):
    run_and_finish(monkeypatch, pool, "--classes", "no,yes", "-q")
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 3 and "/?token=" in out and err == ""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_browser_that_waits_and_a_signal_at_once(pool):
    """The page answers while the browser runs, and SIGTERM just after the link saves and ends."""
    words = [sys.executable, "-m", "hingeline", "label", str(pool), "--classes", "no,yes"]
    environment = {**os.environ, "BROWSER": f"{sys.executable} -c 'import time; time.sleep(60)' %s"}
    pipes = {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(words, env=environment, **pipes) as program:
        link = next(line.strip() for line in program.stdout if "http://" in line)
        client = http.client.HTTPConnection(link.split("/")[2], timeout=20)
        client.request("GET", "/" + link.split("/", 3)[3])
        assert client.getresponse().status == 303
        client.close()
        program.terminate()
        assert program.wait(timeout=20) == 0
    with subprocess.Popen([*words, "--no-browser"], **pipes) as program:
        next(line for line in program.stdout if "http://" in line)
        program.terminate()
        assert program.wait(timeout=20) == 0


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_no_answer_is_lost_by_a_kill(pool):
    """The real command in a process: kill -9, a torn line, and resuming in this process."""
    words = [sys.executable, "-m", "hingeline", "label", str(pool), "--classes", "no,yes", "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as program:
        link = next(line.strip() for line in program.stdout if "http://" in line)
        client = http.client.HTTPConnection(link.split("/")[2])
        client.request("GET", "/" + link.split("/", 3)[3])
        answer = client.getresponse()
        answer.read()
        headers = {"Cookie": answer.headers["Set-Cookie"].partition(";")[0], "Origin": "/".join(link.split("/")[:3])}
        headers["Content-Type"] = "application/json"
        base = answer.headers["Location"]
        client.request("GET", base + "state", headers=headers)
        state = json.loads(client.getresponse().read())
        rows = []
        for _ in range(7):
            question = state["question"]
            rows.append(question["row"])
            request = {"action": "label", "turn": state["turn"], "row": question["row"], "class": truth(question)}
            client.request("POST", base + "act", json.dumps(request), headers)
            state = json.loads(client.getresponse().read())
        program.send_signal(signal.SIGKILL)
        program.wait()
    client.close()
    journal = pool.with_name("pool.answers.jsonl")
    with open(journal, "ab") as file:
        file.write(b'{"kind": "answer", "rows": [3')
    with session(pool) as resumed:
        assert resumed.journal.dropped and list(resumed.learner.labels) == rows
        assert resumed.state()["question"]["row"] == state["question"]["row"]
