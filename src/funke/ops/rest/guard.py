"""Guards the interface: which callers are accepted, from where, and how much they may send in which time."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from funke.ops.rest.login import LOGIN_PATH, PAGE_HEADER, BrowserKey, LoginLinks

__all__ = ["Access", "Guard", "read_body"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
_OPEN_PATHS = frozenset({"/", "/healthz", "/v1/healthz", LOGIN_PATH})
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# How long a caller may take to send what it has announced.
_BODY_S = 30.0
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
    ),
)


@dataclass(frozen=True)
class Access:
    """Who may call."""

    # Without one, all callers that reach the port are accepted.
    token: str | None = None
    # Only hosts of this machine are named in requests: a page of a foreign site that has had its name point here is
    # recognised by that.
    is_local: bool = True
    # Let browsers in, which are given a key of their own instead of the token.
    links: LoginLinks = field(default_factory=LoginLinks, compare=False)

    def dashboard_url(self, url: str) -> str:
        """Where a browser gets to see the dashboard: a link that works once, if a token is needed."""
        return url if self.token is None else url + self.links.new_path()


class Guard:
    """Lets requests through that may be answered."""

    def __init__(self, app: App, access: Access) -> None:
        self._app = app
        self._access = access
        self._key = None if access.token is None else BrowserKey(access.token)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        rejection = self._rejection(scope["method"], scope["path"], headers)
        with_headers = _adding_headers(send)
        if rejection is not None:
            await _reject(with_headers, *rejection)
        elif scope["path"] == LOGIN_PATH:
            await self._let_in(scope, with_headers)
        else:
            await self._app(scope, receive, with_headers)

    def _rejection(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if self._access.is_local and _host_name(host) not in _LOCAL_NAMES:
            return 403, "Only this machine may be named in requests; see docs/service.md for other addresses"
        if method not in _SAFE_METHODS and _is_foreign(headers, host):
            return 403, "Pages of other sites may change nothing here"
        # The dashboard's files tell nothing; the page that they make asks for the token. Nor does that the service is
        # there, which those who start it again want to know.
        if path in _OPEN_PATHS or path.startswith(("/dashboard/", "/docs/")):
            return None
        if not self._is_known(headers):
            return 401, "A token is needed: Authorization: Bearer … (`funke dashboard` opens the pages with one)"
        return None

    def _is_known(self, headers: dict[str, str]) -> bool:
        if self._access.token is None or self._key is None:
            return True
        kind, _, credentials = headers.get("authorization", "").partition(" ")
        if kind.lower() in ("bearer", "basic"):
            token = credentials.strip() if kind.lower() == "bearer" else _password(credentials)
            return hmac.compare_digest(token.encode(), self._access.token.encode())
        return self._key.is_shown(headers.get("cookie", ""), headers.get(PAGE_HEADER, ""))

    async def _let_in(self, scope: Message, send: Send) -> None:
        """Gives the browser that follows a link its key, and sends it to the dashboard."""
        if self._key is None:
            await _answer(send, 303, b"", [(b"location", b"/")])
            return
        code = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("code", [""])[0]
        # A HEAD request does not use the link up: mail programs send one before the user follows a link.
        if scope["method"] != "GET" or not self._access.links.redeem(code):
            text = b"This link has been used, or is too old. `funke dashboard` makes a new one.\n"
            await _answer(send, 403, text, [(b"content-type", b"text/plain; charset=utf-8")])
            return
        # Behind `#`: browsers keep it for the page and do not send it.
        location = f"/#login={self._key.page_half}".encode()
        cookie = self._key.to_cookie(is_secure=scope.get("scheme") == "https").encode()
        await _answer(send, 303, b"", [(b"location", location), (b"set-cookie", cookie)])


def _password(credentials: str) -> str:
    """The password of Basic credentials: programs that can show no header of their own take them from ~/.netrc."""
    try:
        return base64.b64decode(credentials.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _host_name(host: str) -> str:
    """The name without the port."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0].lower()


def _is_foreign(headers: dict[str, str], host: str) -> bool:
    """Whether a browser sends the request for a page of another site; other programs send neither header."""
    if headers.get("sec-fetch-site", "none") in ("cross-site", "same-site"):
        return True
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc.lower() != host.lower()


def _adding_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message.get("headers", [])}
            message["headers"] = [
                *message.get("headers", []),
                *(each for each in _HEADERS if each[0] not in present),
            ]
        await send(message)

    return sending


async def _reject(send: Send, status: int, message: str) -> None:
    body = json.dumps({"errors": [message]}).encode()
    headers = [(b"content-type", b"application/json")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await _answer(send, status, body, headers)


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


class BodyError(Exception):
    """A body that is too long, or takes too long to come."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def read_body(receive: Receive, limit: int, limit_s: float = _BODY_S) -> bytes:
    """The body of a request, within limits of size and time."""

    async def read() -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise BodyError(400, "The connection was closed before the request was complete")
            part = message.get("body", b"")
            size += len(part)
            if size > limit:
                raise BodyError(413, f"The request has more than {limit} bytes")
            parts.append(part)
            if not message.get("more_body"):
                return b"".join(parts)

    try:
        return await asyncio.wait_for(read(), limit_s)
    except TimeoutError:
        raise BodyError(408, f"The request was not complete after {limit_s:g} s") from None
