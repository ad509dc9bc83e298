"""The documentation site: it builds without a broken link, has every public name, and works in a browser."""

from __future__ import annotations

import importlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from funke.ops import dashboard
from funke.ops.cli import docs
from funke.ops.cli.docs import site_server
from funke.ops.cli.main import main
from tests.unit.ops.dashboard.browser import THEMES, WIDTHS, Browser, started_browser
from tools.docs_site import PACKAGES, build


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(folder)
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site as `funke docs` serves it."""
    with site_server(site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started_browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


def test_the_reference_has_every_public_name(site: Path) -> None:
    for package in PACKAGES:
        page = (site / "reference" / f"{package}.html").read_text(encoding="utf-8")
        names = importlib.import_module(f"funke.{package}").__all__
        assert [name for name in names if f">{name}<" not in page and f"{name}</" not in page] == [], package


def test_methods_have_signatures_and_descriptions(site: Path) -> None:
    page = (site / "reference" / "datastream.html").read_text(encoding="utf-8")
    assert 'id="funke.datastream.DataStream.key_by"' in page and "key_selector" in page


def test_examples_are_on_one_page(site: Path) -> None:
    page = (site / "examples.html").read_text(encoding="utf-8")
    assert 'id="fraud_detector"' in page and "FraudDetector" in page


def test_the_dashboard_links_to_what_to_do_about_an_error(site: Path) -> None:
    script = (Path(dashboard.__path__[0]) / "static/pages/exceptions.js").read_text(encoding="utf-8")
    (names,) = re.findall(r"const OWN = /\^\(\?:(.*?)\)Error\$/", script)
    page = (site / "errors.html").read_text(encoding="utf-8")
    linked = [f"{name.lower()}error" for name in names.split("|")] + ["errors-of-your-functions"]
    assert [each for each in linked if f'id="{each}"' not in page] == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_in_a_browser(address: str, browser: Browser, width: int, theme: str) -> None:
    browser.show(width, theme)
    for name in ("index.html", "tutorial.html", "runbook.html", "reference/cep.html"):
        browser.open(f"{address}/{name}")
        browser.wait("the page", lambda: browser.run("return document.readyState") == "complete")
        assert browser.console_errors() == []
        assert browser.accessibility() == []
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth + 1"), "nothing is cut off"


def test_the_search_finds_a_page(address: str, browser: Browser) -> None:
    browser.show(max(WIDTHS), THEMES[0])
    browser.open(f"{address}/index.html")
    browser.fill(".md-search__input", "interval join")
    browser.wait("results", lambda: browser.run("return document.querySelectorAll('.md-search-result__item').length"))
    assert "joins.html" in browser.run("return document.querySelector('.md-search-result__list').innerHTML")


def test_the_command_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docs, "SITE", tmp_path)
    assert main(["docs", "--path"]) == 1
    assert "run `make docs`" in capsys.readouterr().err
    (tmp_path / "index.html").touch()
    assert main(["docs", "--path"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path)
