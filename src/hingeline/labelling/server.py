"""HTTP server of the page, for the browser on this machine only."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from .access import Access
from .pools import ImagePool
from .session import Outdated, Session

__all__ = ["PageServer"]

#: Files of the page and their content types.
PAGE = {
    "": ("index.html", "text/html; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}
#: Content types of exports.
EXPORTS = {
    "labels.csv": "text/csv; charset=utf-8",
    "labels.json": "application/json",
    "predictions.csv": "text/csv; charset=utf-8",
}
#: Largest request in bytes, and seconds after which a silent connection is closed.
LARGEST, PATIENCE = 65_536, 60
#: Largest number of search results in one answer.
MOST_FOUND = 200
#: Headers of all answers. Nothing from elsewhere is loaded, and no other page can embed or read this one.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refused(Exception):
    """A request that is answered with an error.

    Parameters
    ----------
    status : HTTPStatus
        Status of the answer.
    message : str
        What is wrong.
    """

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class PageServer(ThreadingHTTPServer):
    """Server of the page of a session, bound to the loopback interface.

    Parameters
    ----------
    session : Session
        Session.
    port : int, default=0
        Port; 0: any that is free.
    """

    daemon_threads = False
    allow_reuse_address = os.name != "nt"  # on Windows it would allow two servers on one port

    def __init__(self, session: Session, port: int = 0) -> None:
        self._connections: set[socket.socket] = set()  # server_close, which needs it, is called if the port is in use
        super().__init__(("127.0.0.1", port), PageHandler)
        self.session, self.access = session, Access(self.server_address[1])
        self.page = {
            name: ((files(__package__) / "page" / file).read_bytes(), kind) for name, (file, kind) in PAGE.items()
        }

    def stop(self) -> None:
        """End :meth:`serve_forever`, from any thread."""
        Thread(target=self.shutdown).start()

    def server_close(self) -> None:
        """Close all connections and wait for their threads."""
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        super().server_close()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection."""
        self._connections.add(request)
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report errors of the program; a browser that closes a connection is none."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class PageHandler(BaseHTTPRequestHandler):
    """Answers to the requests of one connection."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "hingeline", ""
    timeout = PATIENCE
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer a request that only reads."""
        self._answer(self._get, changes=False)

    def do_POST(self) -> None:
        """Answer a request that changes something."""
        self._answer(self._post, changes=True)

    def _answer(self, method: Any, changes: bool) -> None:
        try:
            self._require_known_end(content=changes)
            reason = self.server.access.refuses(self.headers, changes=changes)  # type: ignore[arg-type]
            if reason is not None:
                raise Refused(HTTPStatus.FORBIDDEN, reason)
            address = self._address()
            if not address.path.startswith(self.server.access.base):
                raise Refused(HTTPStatus.NOT_FOUND, "There is no such page. Open the link printed in the terminal.")
            query = {name: values[-1] for name, values in parse_qs(address.query).items()}
            method(address.path.removeprefix(self.server.access.base), query)
        except Refused as refused:
            self.close_connection = True  # the body of the request may not have been read
            self._send_json({"error": str(refused)}, refused.status)

    def _require_known_end(self, *, content: bool) -> None:
        """Refuse a request whose end is not known for certain: what follows would be read as another request."""
        lengths = self.headers.get_all("Content-Length", [])
        defects = getattr(self.headers, "defects", [])  # headers after a line that is none are not read
        if defects or len(lengths) > 1 or "Transfer-Encoding" in self.headers:
            raise Refused(HTTPStatus.BAD_REQUEST, "The request must give its length in one header Content-Length.")
        if not content and lengths not in ([], ["0"]):
            raise Refused(HTTPStatus.BAD_REQUEST, "A request that only reads must have no content.")

    def _address(self) -> SplitResult:
        try:
            return urlsplit(self.path)
        except ValueError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, f"The address is wrong: {error}.") from error

    # ---- requests ------------------------------------------------------------------------------------

    def _get(self, name: str, query: dict[str, str]) -> None:
        if name == "" and "token" in query:
            return self._enter(query["token"])
        self._require_cookie()
        if name in self.server.page:
            return self._send(*self.server.page[name])
        if name == "state":
            return self._send_json(self.server.session.state())
        if name == "find":
            return self._find(query)
        if name in EXPORTS:
            return self._export(name)
        kind, _, number = name.partition("/")
        row = int(number) if number.isdecimal() and len(number) < 12 else -1
        if kind in ("image", "example") and 0 <= row < len(self.server.session.pool):
            return self._image(row) if kind == "image" else self._send_json(self.server.session.example(row))
        raise Refused(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _post(self, name: str, query: dict[str, str]) -> None:
        self._require_cookie()
        request = self._body()
        if name == "act":
            try:
                return self._send_json(self.server.session.act(request))
            except Outdated:
                return self._send_json(self.server.session.state(), HTTPStatus.CONFLICT)
            except ValueError as error:
                raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from error
            except OSError as error:
                message = f"The answer could not be written to the journal: {error}. It was not counted."
                raise Refused(HTTPStatus.INSUFFICIENT_STORAGE, message) from error
        if name == "finish":
            try:
                written = self.server.session.finish()
            except OSError as error:
                message = f"The files could not be written: {error}. The answers are saved."
                raise Refused(HTTPStatus.INSUFFICIENT_STORAGE, message) from error
            self._send_json({"written": [str(path) for path in (self.server.session.journal.path, *written)]})
            return self.server.stop()
        raise Refused(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _require_cookie(self) -> None:
        if not self.server.access.knows(self.headers):  # type: ignore[arg-type]
            raise Refused(HTTPStatus.FORBIDDEN, "Open the link printed in the terminal. It works once, in one browser.")

    def _enter(self, token: str) -> None:
        """Exchange the token for a cookie."""
        cookie = self.server.access.enter(token)
        if cookie is None:
            if self.server.access.knows(self.headers):  # type: ignore[arg-type]
                return self._redirect(None)
            message = "This link has been used. Press Enter in the terminal for another one."
            raise Refused(HTTPStatus.FORBIDDEN, message)
        self._redirect(cookie)

    def _redirect(self, cookie: str | None) -> None:
        headers = {"Location": self.server.access.base} | ({} if cookie is None else {"Set-Cookie": cookie})
        self._send(b"", "text/plain", HTTPStatus.SEE_OTHER, headers)

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The content must be JSON.")
        if not length.isdecimal() or len(length) > 12:
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "The request must give its length.")
        if int(length) > LARGEST:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request may have {LARGEST} bytes.")
        try:
            request = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise Refused(HTTPStatus.BAD_REQUEST, f"The content is not JSON: {error}.") from error
        if not isinstance(request, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "The content must be an object.")
        return request

    def _find(self, query: dict[str, str]) -> None:
        try:
            label = int(query["class"]) if "class" in query else None
            start = max(0, int(query.get("start", 0)))
            found = self.server.session.find(
                query.get("text", ""), query.get("scope", "answered"), label, start, MOST_FOUND
            )
        except ValueError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from error
        self._send_json(found)

    def _export(self, name: str) -> None:
        try:
            content = self.server.session.export(name)
        except ValueError as error:
            raise Refused(HTTPStatus.CONFLICT, str(error)) from error
        self._send(content, EXPORTS[name], headers={"Content-Disposition": f'attachment; filename="{name}"'})

    def _image(self, row: int) -> None:
        pool = self.server.session.pool
        if not isinstance(pool, ImagePool):
            raise Refused(HTTPStatus.NOT_FOUND, "There is no such image.")
        try:
            content = pool.path(row).read_bytes()
        except OSError as error:
            raise Refused(HTTPStatus.NOT_FOUND, f"The image cannot be read: {error.strerror}.") from error
        self._send(content, pool.content_type(row))

    # ---- answers -------------------------------------------------------------------------------------

    def _send_json(self, value: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        self._send(content, "application/json", status)

    def _send(
        self,
        content: bytes,
        kind: str,
        status: HTTPStatus = HTTPStatus.OK,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        everything = HEADERS | {"Content-Type": kind, "Content-Length": str(len(content))} | (headers or {})
        for name, value in everything.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: addresses may hold the token, and the terminal belongs to the user."""
