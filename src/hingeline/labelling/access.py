"""Who may use the page: a link that works once, a cookie, and checks of where requests come from."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from threading import Lock

__all__ = ["Access"]

#: Values of Sec-Fetch-Site: the page itself, or an address that the user has typed.
OWN_SITE, OWN_OR_TYPED = ("same-origin",), ("same-origin", "none")


class Access:
    """Keys of one run of the server.

    The cookie belongs to a path that is not known to other servers on this machine: browsers send a cookie to all
    ports of a host, but only to its path.

    Parameters
    ----------
    port : int
        Port of the server.

    Attributes
    ----------
    base : str
        Path below which everything is, with slashes at both ends.
    """

    def __init__(self, port: int) -> None:
        suffix = "" if port == 80 else f":{port}"  # browsers leave it out
        self.hosts = (f"127.0.0.1{suffix}", f"localhost{suffix}")
        self.base = f"/{secrets.token_urlsafe(9)}/"
        self._name = f"hingeline-{port}"
        self._cookie = secrets.token_urlsafe(32)
        self._token: str | None = None
        self._lock = Lock()

    def link(self) -> str:
        """New address that opens the page once. Earlier ones become void."""
        with self._lock:
            self._token = secrets.token_urlsafe(32)
            return f"http://{self.hosts[0]}{self.base}?token={self._token}"

    def enter(self, token: str) -> str | None:
        """Value of the header Set-Cookie if the token is right; the token is void from then on."""
        with self._lock:
            if self._token is None or not hmac.compare_digest(self._token.encode(), token.encode()):
                return None
            self._token = None
        return f"{self._name}={self._cookie}; Path={self.base}; HttpOnly; SameSite=Strict"

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Whether a request has the cookie."""
        try:
            cookie = SimpleCookie(headers.get("Cookie") or "").get(self._name)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self._cookie.encode())

    def refuses(self, headers: Mapping[str, str], *, changes: bool) -> str | None:
        """Reason why a request is refused because of where it comes from; None if it is not.

        Parameters
        ----------
        headers : mapping
            Headers of the request.
        changes : bool
            Whether the request changes anything. It must come from the page then, and say so.
        """
        host = headers.get("Host")
        if host not in self.hosts:  # a foreign name that leads to this machine (DNS rebinding)
            return "The name of the host is not that of this page."
        if headers.get("Sec-Fetch-Site", "same-origin") not in (OWN_SITE if changes else OWN_OR_TYPED):
            return "The request comes from another site."
        origin = headers.get("Origin")
        if origin != f"http://{host}" and (changes or origin is not None):
            return "The request comes from another origin."
        return None
