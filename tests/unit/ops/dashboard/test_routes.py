"""What the dashboard serves: its files, streams of events, parts of log files."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from funke.ops.dashboard import pages
from funke.ops.dashboard.pages import dashboard_pages, read_static
from funke.ops.rest.call import Answer
from funke.ops.rest.cluster_state import LogFolder

STATIC = Path(str(files("funke.ops.dashboard"))) / "static"
OWN = [path for path in STATIC.rglob("*") if path.suffix in (".js", ".css", ".html") and "vendor" not in path.parts]


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    (tmp_path / "service.log").write_text("0123456789")
    (tmp_path / "secret.txt").write_text("x")
    return TestClient(_app(tmp_path))


def _app(folder: Path) -> Starlette:
    async def overview(request: Request) -> JSONResponse:
        return JSONResponse({"jobs": [], "asked": dict(request.query_params)})

    return Starlette(routes=[Route("/v1/overview", overview), *dashboard_pages(LogFolder(str(folder)))])


# Files


def test_everything_together_is_small() -> None:
    assert sum(path.stat().st_size for path in STATIC.rglob("*")) < 600_000


def test_nothing_comes_from_elsewhere() -> None:
    addresses = {each for path in OWN for each in re.findall(r"https?://[^\s\"'`)]+", path.read_text("utf-8"))}
    assert addresses == set()


def test_every_import_is_served_from_the_wheel(client: TestClient) -> None:
    for path in (each for each in STATIC.rglob("*.js") if each.stat().st_size < 100_000):
        for target in re.findall(r"from ?\"(\.[^\"]+)\"", path.read_text("utf-8")):
            name = (path.parent / target).resolve().relative_to(STATIC.resolve()).as_posix()
            assert client.get(f"/dashboard/{name}").headers["content-type"] == "text/javascript; charset=utf-8", name


def test_libraries_have_their_licences() -> None:
    listed = (STATIC / "vendor" / "README.md").read_text("utf-8")
    for path in (STATIC / "vendor").iterdir():
        assert path.name == "README.md" or f"`{path.name}`" in listed, path.name


def test_files_are_sent_once(client: TestClient) -> None:
    first = client.get("/")
    assert first.status_code == 200
    assert "<title>Funke</title>" in first.text
    assert client.get("/", headers={"if-none-match": first.headers["etag"]}).status_code == 304


@pytest.mark.parametrize("name", ["nothing.js", "../pages.py", "%2e%2e/pages.py", "..%2fpages.py", "vendor", ""])
def test_only_the_dashboards_files_are_served(client: TestClient, name: str) -> None:
    assert client.get(f"/dashboard/{name}").status_code == 404
    assert read_static(name) is None


# Beside Flink's paths


def test_what_is_offered(client: TestClient) -> None:
    paths = client.get("/v1/funke").json()["paths"]
    assert "/funke/live" in paths
    assert "/overview" not in paths


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        ("", (0, 10, "0123456789")),
        ("?offset=4", (4, 10, "456789")),
        ("?offset=-3", (7, 10, "789")),
        ("?offset=-99", (0, 10, "0123456789")),
        ("?offset=10", (10, 10, "")),
        # The file has begun anew.
        ("?offset=11", (0, 10, "0123456789")),
    ],
)
def test_a_part_of_a_log(client: TestClient, offset: str, message: tuple[int, int, str]) -> None:
    part = client.get(f"/v1/funke/logs/service.log{offset}").json()
    assert (part["offset"], part["next"], part["text"]) == message
    assert part["size"] == 10


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("logs/secret.txt", 404),
        ("logs/..%2fsecret.txt", 404),
        ("logs/service.log?offset=x", 400),
        ("logs/service.log?offset=1e9", 400),
        ("logs/service.log?offset=" + "9" * 40, 400),
        ("live", 400),
        ("live?path=overview", 400),
        ("live?path=/funke/live", 400),
        ("live?path=/jobmanager/logs/service.log", 400),
        ("live?" + "path=/overview&" * 65, 400),
    ],
)
def test_what_is_rejected(client: TestClient, path: str, status: int) -> None:
    answer = client.get(f"/v1/funke/{path}")
    assert answer.status_code == status


class _Asked:
    """A request for a stream, of somebody who goes away after some beats."""

    def __init__(self, app: Starlette, beats: int) -> None:
        self.app = app
        self.beats = beats
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "server": ("localhost", 80),
            "client": None,
            "headers": [],
        }

    async def is_disconnected(self) -> bool:
        self.beats -= 1
        return self.beats < 0


async def _stream(app: Starlette, paths: list[str], beats: int) -> list[str]:
    watchers = pages._Watchers({"/direct": lambda: Answer(b'{"a": 1}', 200)}.get)
    results = [event.decode() async for event in watchers._events(_Asked(app, beats), paths)]  # type: ignore[arg-type]
    assert watchers._open == 0
    return results


def test_a_stream_shows_what_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_BEAT_S", 0)
    parts = asyncio.run(_stream(_app(tmp_path), ["/overview?a=1", "/direct", "/nothing"], beats=3))
    assert len(parts) == 3, "all of a beat at once: a page draws itself whenever something comes"
    events = "".join(parts).split("\n\n")
    beats = [event for event in events if event.startswith("event: beat\n")]
    answers = [json.loads(event.removeprefix("data: ")) for event in events if event.startswith("data: {")]
    assert len(beats) == 3
    assert answers.pop(0) == {"path": "/direct", "status": 200, "body": {"a": 1}}
    assert answers[0] == {"path": "/overview?a=1", "status": 200, "body": {"jobs": [], "asked": {"a": "1"}}}
    assert [each["path"] for each in answers] == ["/overview?a=1", "/nothing"], "each once: nothing has changed"
    assert (answers[1]["status"], answers[1]["body"]) == (404, "Not Found")
