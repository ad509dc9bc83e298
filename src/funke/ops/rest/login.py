"""How callers of the interface show who they are: the token, or a browser that a link has let in, once.

A browser has two halves of a key, made from the token: a cookie, which no script can read but which it sends to every
port of this machine, and a part that the page keeps for its own address alone. Neither is enough by itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import tempfile
import threading
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie

from funke.engine.errors import UntrustedError
from funke.engine.trust.private_files import open_own_file

__all__ = ["LOGIN_PATH", "PAGE_HEADER", "BrowserKey", "LoginLinks", "read_token", "token_path"]

LOGIN_PATH = "/login"
PAGE_HEADER = "x-funke-page"
_LINK_S = 600.0
_MOST_LINKS = 16


def token_path(home: str) -> str:
    """Where the token of a folder of job records is, for those who may read it."""
    return os.path.join(home, "rest-token")


def read_token(home: str) -> str:
    """The token that callers must show: made at the first time, for this user alone."""
    path = token_path(home)
    if not os.path.lexists(path):
        _make_token(home, path)
    with open_own_file(path) as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise UntrustedError(f"others may read the token in '{path}'; remove the file, and a new one is created")
        token = file.read(1000).decode("ascii", "replace").strip()
    if not token:
        raise UntrustedError(f"there is no token in '{path}'; remove the file, and a new one is created")
    return token


def _make_token(home: str, path: str) -> None:
    os.makedirs(home, 0o700, exist_ok=True)
    number, part = tempfile.mkstemp(prefix=".rest-token-", dir=home)  # for this user alone
    try:
        with open(number, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        with contextlib.suppress(FileExistsError):  # another process was faster: its token counts
            os.link(part, path)
    finally:
        os.unlink(part)


class BrowserKey:
    """What a browser that was let in shows; another token makes another key."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        # The jobs of another folder have another cookie, though the browser sends it to them too.
        self.cookie_name = f"funke-{self._derived('name')[:8]}"
        self.page_half = self._derived("page")

    def _derived(self, purpose: str) -> str:
        return hmac.new(self._token, f"funke dashboard {purpose}".encode(), hashlib.sha256).hexdigest()

    def to_cookie(self, is_secure: bool) -> str:
        """The header that gives a browser its half."""
        secure = "; Secure" if is_secure else ""
        return f"{self.cookie_name}={self._derived('cookie')}; Path=/; HttpOnly; SameSite=Strict{secure}"

    def is_shown(self, cookies: str, page_half: str) -> bool:
        """Whether a request has both halves."""
        try:
            sent = SimpleCookie(cookies).get(self.cookie_name)
        except CookieError:
            return False
        cookie = "" if sent is None else sent.value
        has_cookie = hmac.compare_digest(cookie.encode(), self._derived("cookie").encode())
        return hmac.compare_digest(page_half.encode(), self.page_half.encode()) and has_cookie


class LoginLinks:
    """Codes in links to the dashboard: each lets one browser in, within ten minutes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._ends: dict[str, float] = {}

    def new_path(self) -> str:
        """Where a browser is let in, below the address of the interface."""
        code = secrets.token_urlsafe(32)
        with self._lock:
            self._ends[code] = self._clock() + _LINK_S
            for oldest in list(self._ends)[:-_MOST_LINKS]:
                del self._ends[oldest]
        return f"{LOGIN_PATH}?code={code}"

    def redeem(self, code: str) -> bool:
        """Whether a code lets in; from now on it does not."""
        with self._lock:
            match = next((each for each in self._ends if hmac.compare_digest(each.encode(), code.encode())), None)
            return match is not None and self._ends.pop(match) > self._clock()
