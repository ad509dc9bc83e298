"""Who is let in: those who show the token, and browsers that have followed a link which works once."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from funke.engine.errors import UntrustedError
from funke.ops.dashboard.pages import dashboard_pages
from funke.ops.rest.app import make_app
from funke.ops.rest.cluster_state import Cluster, LogFolder
from funke.ops.rest.guard import Access
from funke.ops.rest.job_directory import JobDirectory
from funke.ops.rest.login import LoginLinks, read_token, token_path
from funke.ops.rest.routes import ROUTES
from tests.harness.stranger import as_root_only, give_away, stranger_doing


def client_of(home: Path, access: Access, scheme: str = "http") -> TestClient:
    pages = dashboard_pages(LogFolder(str(home)))
    app = make_app(Cluster(JobDirectory(str(home))), access, pages)
    return TestClient(app, base_url=f"{scheme}://localhost:8081", follow_redirects=False)


def test_the_token_is_made_once_for_its_user_alone(tmp_path: Path) -> None:
    home = tmp_path / "a" / "home"
    token = read_token(str(home))
    assert len(token) == 43 and read_token(str(home)) == token
    assert stat.S_IMODE(os.stat(token_path(str(home))).st_mode) == 0o600
    assert [each.name for each in home.iterdir()] == ["rest-token"]


def test_a_token_that_others_know_or_have_made_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_token(str(tmp_path))
    os.chmod(token_path(str(tmp_path)), 0o640)
    with pytest.raises(UntrustedError, match="others may read the token"):
        read_token(str(tmp_path))
    os.chmod(token_path(str(tmp_path)), 0o600)
    give_away(token_path(str(tmp_path)), monkeypatch)
    with pytest.raises(UntrustedError, match="belongs to"):
        read_token(str(tmp_path))


@as_root_only
def test_another_user_of_the_machine_cannot_read_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    read_token(str(home))
    for folder in (home, *list(home.parents)[:-2]):  # as open as folders can be
        os.chmod(folder, 0o755)

    def look(say: Callable[[str], None]) -> None:
        say(str(os.access(token_path(str(home)), os.F_OK)))
        say(str(os.access(token_path(str(home)), os.R_OK)))

    with stranger_doing(look) as said:
        assert (said.readline(), said.readline()) == ("True\n", "False\n")


def test_every_path_but_the_static_ones_needs_the_token(tmp_path: Path) -> None:
    client = client_of(tmp_path, Access("secret"))
    paths = {route.full_path.replace("{", "").replace("}", ""): route.method for route in ROUTES}
    for path, method in [*paths.items(), ("/metrics", "GET"), ("/openapi.json", "GET"), ("/v1/funke/live", "GET")]:
        for prefix in ("", "/v1"):
            expected = 200 if path == "/healthz" else 401
            assert client.request(method, prefix + path).status_code == expected, (method, prefix + path)
    for path in ("/", "/dashboard/main.js", "/healthz"):
        assert client.get(path).status_code == 200


def test_a_link_lets_one_browser_in(tmp_path: Path) -> None:
    access = Access("secret")
    client = client_of(tmp_path, access)
    link = access.dashboard_url("http://localhost:8081")
    assert client.head(link).status_code == 403, "looking at a link does not use it up"
    answer = client.get(link)
    assert answer.status_code == 303 and answer.headers["location"].startswith("/#login=")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Secure" not in cookie and "secret" not in cookie
    headers = {"x-funke-page": answer.headers["location"].removeprefix("/#login=")}
    assert client.get("/jobs", headers=headers).status_code == 200
    # One half alone: what the browser also sends to the ports of others, or what the page keeps.
    assert client.get("/jobs").status_code == 401
    assert client.get("/jobs", headers={"x-funke-page": "0" * 64}).status_code == 401
    stranger = client_of(tmp_path, access)
    assert stranger.get("/jobs", headers=headers).status_code == 401
    second = stranger.get(link)
    assert second.status_code == 403 and "funke dashboard" in second.text and "set-cookie" not in second.headers


def test_pages_of_other_ports_change_nothing_with_its_cookie(tmp_path: Path) -> None:
    access = Access("secret")
    client = client_of(tmp_path, access)
    half = client.get(access.dashboard_url("")).headers["location"].removeprefix("/#login=")
    for headers in ({"sec-fetch-site": "same-site"}, {"origin": "http://localhost:9999"}):
        assert client.post("/jobs/x/stop", headers={**headers, "x-funke-page": half}).status_code == 403


def test_links_end(tmp_path: Path) -> None:
    now = [0.0]
    links = LoginLinks(lambda: now[0])
    old, later = (links.new_path().partition("=")[2] for _ in range(2))
    assert not links.redeem("") and not links.redeem("x" * 43) and not links.redeem("é")
    now[0] = 599
    assert links.redeem(old) and not links.redeem(old)
    now[0] = 601
    assert not links.redeem(later)
    first = links.new_path().partition("=")[2]
    for _ in range(16):
        links.new_path()
    assert not links.redeem(first), "only so many are kept"


def test_a_cookie_under_tls_stays_under_tls(tmp_path: Path) -> None:
    access = Access("secret")
    answer = client_of(tmp_path, access, "https").get(access.dashboard_url(""))
    assert answer.headers["set-cookie"].endswith("; Secure")


def test_without_a_token_nobody_needs_a_link(tmp_path: Path) -> None:
    access = Access()
    assert access.dashboard_url("http://x") == "http://x"
    client = client_of(tmp_path, access)
    assert client.get("/jobs").status_code == 200
    assert client.get("/login?code=x").headers["location"] == "/"
