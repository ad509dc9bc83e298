"""The routes of the dashboard: its files, and what it needs beside Flink's paths."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Message

from funke.ops.cli.docs import SITE
from funke.ops.rest.call import Answer
from funke.ops.rest.cluster_state import LogFolder

__all__ = ["dashboard_pages", "read_static"]

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".LICENSE": "text/plain; charset=utf-8",
}
_MOST_PATHS = 64
_MOST_STREAMS = 16
_BEAT_S = 1.0
_MOST_LOG_BYTES = 256_000


@cache
def _static() -> dict[str, tuple[bytes, str]]:
    """All files by name, with their content types: those that are asked for can only be among them."""
    folder = Path(str(files("funke.ops.dashboard"))) / "static"
    return {
        each.relative_to(folder).as_posix(): (each.read_bytes(), _TYPES[each.suffix])
        for each in sorted(folder.rglob("*"))
        if each.is_file() and each.suffix in _TYPES
    }


def read_static(name: str) -> tuple[bytes, str] | None:
    """A file of the dashboard and its content type."""
    return _static().get(name)


# What answers a path each time anew, if it is one of those.
Direct = Callable[[str], Callable[[], Answer] | None]


def dashboard_pages(logs: LogFolder, direct: Direct = lambda _: None) -> list[BaseRoute]:
    """The routes, to stand beside those of the REST interface in one application; `direct` answers without it."""
    watchers = _Watchers(direct)

    async def log(request: Request) -> Response:
        return await run_in_threadpool(_log_part, logs, request)

    return [
        *_documentation(),
        Route("/", _index),
        Route("/dashboard/{name:path}", _file),
        Route("/v1/funke", _offers),
        Route("/v1/funke/live", watchers.live),
        Route("/v1/funke/logs/{name}", log),
    ]


def _documentation() -> list[BaseRoute]:
    """The documentation, where the installation carries it."""
    if not (SITE / "index.html").exists():
        return []
    return [Mount("/docs", StaticFiles(directory=SITE, html=True))]


async def _index(request: Request) -> Response:
    return _answer(request, "index.html")


async def _file(request: Request) -> Response:
    return _answer(request, request.path_params["name"])


def _answer(request: Request, name: str) -> Response:
    static_file = read_static(name)
    if static_file is None:
        return Response(b"There is no such file", 404, media_type="text/plain")
    content, media_type = static_file
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    # Asked for again after an update, and not sent again before.
    headers = {"etag": tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


async def _offers(request: Request) -> Response:
    """The paths that the pages ask for only where they are served."""
    paths = [each.path for each in request.app.routes if isinstance(each, Route)]
    targets = [path.removeprefix("/v1") for path in paths if path.startswith("/v1/")]
    offered = [path for path in targets if path.startswith("/funke") or path.endswith("/flamegraph")]
    mounted = [each.path for each in request.app.routes if isinstance(each, Mount)]
    return _json(200, {"paths": [*offered, *mounted]})


def _log_part(logs: LogFolder, request: Request) -> Response:
    """A part of a log file from an offset on; a negative one counts from the end."""
    name, text = request.path_params["name"], request.query_params.get("offset", "0")
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 18:
        return _json(400, {"errors": [f"'offset' must be a whole number, got '{text[:100]}'"]})
    log = next((each for each in logs.files() if each.name == name), None)
    if log is None:
        return _json(404, {"errors": ["There is no such log file; /jobmanager/logs lists those that there are"]})
    offset = int(text) if int(text) >= 0 else max(0, log.size + int(text))
    # A file that is shorter than it was has begun anew.
    start = 0 if offset > log.size else offset
    with open(os.open(log.path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        file.seek(start)
        content = file.read(_MOST_LOG_BYTES)
    part = {"name": name, "offset": start, "next": start + len(content), "size": log.size}
    return _json(200, {**part, "text": content.decode("utf-8", "replace")})


class _Watchers:
    """Streams of events: the answers to subscribed paths, whenever they change."""

    def __init__(self, direct: Direct) -> None:
        self._direct = direct
        self._open = 0

    async def live(self, request: Request) -> Response:
        """One stream."""
        paths = request.query_params.getlist("path")
        if not paths or len(paths) > _MOST_PATHS or any(not _is_watchable(path) for path in paths):
            return _json(
                400,
                {"errors": [f"'path' must name 1 to {_MOST_PATHS} paths of this interface, such as /jobs/overview"]},
            )
        if self._open >= _MOST_STREAMS:
            return _json(503, {"errors": [f"{_MOST_STREAMS} pages are watching already; close one, or poll"]})
        return StreamingResponse(self._events(request, paths), media_type="text/event-stream")

    async def _events(self, request: Request, paths: list[str]) -> AsyncIterator[bytes]:
        self._open += 1
        try:
            sent: dict[str, bytes] = {}
            direct = {path: answer for path in paths if (answer := self._direct(path)) is not None}
            while not await request.is_disconnected():
                answers = await run_in_threadpool(_all, direct)
                for path in paths:
                    if path not in direct:
                        answers[path] = await _get(request, path)
                events = [_event(path, *each) for path, each in answers.items() if sent.get(path) != each[1]]
                sent = {path: body for path, (_, body) in answers.items()}
                # Together, so that a page draws itself once: drawing takes more of a processor than all of this.
                yield b"".join([*events, b"event: beat\ndata: %d\n\n" % int(time.time() * 1000)])
                await asyncio.sleep(_BEAT_S)
        finally:
            self._open -= 1


def _all(direct: Mapping[str, Callable[[], Answer]]) -> dict[str, tuple[int, bytes]]:
    answers = {path: answer() for path, answer in direct.items()}
    return {path: (each.status, each.content) for path, each in answers.items()}


def _is_watchable(path: str) -> bool:
    """Not a stream itself, and nothing that is long."""
    return path.startswith("/") and not path.startswith(("/v1/", "/funke/live")) and "/logs/" not in path


def _event(path: str, status: int, body: bytes) -> bytes:
    head = json.dumps({"path": path, "status": status})[:-1].encode()
    # An event ends with an empty line; between JSON's values a line break is the same as a space.
    return b"data: " + head + b', "body": ' + body.replace(b"\n", b" ") + b"}\n\n"


def _json(status: int, content: dict[str, Any]) -> Response:
    return Response(json.dumps(content), status, media_type="application/json")


async def _get(request: Request, path: str) -> tuple[int, bytes]:
    """What this application answers to a GET; the caller is already authorised."""
    target, _, query = path.partition("?")
    scope: dict[str, Any] = {
        **{
            key: request.scope[key] for key in ("type", "asgi", "http_version", "scheme", "server", "client", "headers")
        },
        "method": "GET",
        "path": f"/v1{target}",
        "raw_path": f"/v1{target}".encode(),
        "query_string": query.encode(),
        "root_path": "",
    }
    status, is_json, parts = 500, False, []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, is_json
        if message["type"] == "http.response.start":
            status = message["status"]
            is_json = (b"content-type", b"application/json") in message["headers"]
        else:
            parts.append(message.get("body", b""))

    await request.app(scope, receive, send)
    body = b"".join(parts)
    return status, body if is_json else json.dumps(body.decode("utf-8", "replace")).encode()
