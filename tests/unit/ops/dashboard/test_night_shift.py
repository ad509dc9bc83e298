"""The night operator's test: from the overview alone, each of five jobs is named with its cause."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from funke.engine.jobs.views.job_view import JobView
from tests.unit.ops.dashboard.browser import THEMES, WIDTHS, Browser, started_browser
from tests.unit.ops.dashboard.night_shift import CAUSES, night_history, night_jobs
from tests.unit.ops.dashboard.recorded_service import RecordedService, recorded_service
from tests.unit.ops.dashboard.shown_jobs import all_jobs, job_id
from tests.unit.ops.dashboard.test_pages import SHOTS

_FIRST = r"5 jobs run, 4 need you: invoices fails again and again, \d\d times .+ in “parse”\. Also .+\."


@pytest.fixture(scope="module")
def jobs() -> list[JobView]:
    all_jobs()  # sets the clock of jobs that are made up
    return night_jobs()


@pytest.fixture(scope="module")
def service(jobs: list[JobView], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordedService]:
    with recorded_service(tmp_path_factory.mktemp("night"), jobs, history=night_history(jobs)) as started:
        yield started


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started_browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


def test_the_answer_names_each_job_with_its_cause(service: RecordedService) -> None:
    answer = httpx.get(f"{service.url}/v1/funke/jobs/overview").json()
    assert re.fullmatch(_FIRST, answer["sentence"]), answer["sentence"]
    assert answer["level"] == "bad"
    strings = {each["jid"]: each["alarm"]["text"] if each["alarm"] else "" for each in answer["jobs"]}
    for name, cause in CAUSES.items():
        assert re.fullmatch(cause, strings[job_id(name)]), (name, strings[job_id(name)])


def test_the_page_shows_them(browser: Browser, service: RecordedService) -> None:
    browser.open(f"{service.url}/")
    barriers = []
    for width in WIDTHS:
        for theme in THEMES:
            browser.show(width, theme)
            browser.wait("the first line", lambda: re.fullmatch(_FIRST, browser.first_line()))
            page_text = browser.text()
            for cause in filter(None, CAUSES.values()):
                assert re.search(cause, page_text), cause
            browser.screenshot(SHOTS / f"night-{width}-{theme}.png")
            barriers += browser.accessibility()
            assert browser.run("return document.documentElement.scrollWidth") <= width
    assert barriers == []
    assert browser.console_errors() == []


def test_when_it_began_and_that_it_was_seen(browser: Browser, service: RecordedService) -> None:
    browser.show(1440, "light")
    browser.go(f"jobs/{job_id('clicks')}/history")
    expected = r"It falls behind: 1\d min behind, more and more since about \d\d:\d\d:\d\d, when it was .+\."
    browser.wait("since when", lambda: re.fullmatch(expected, browser.first_line()))
    for width in WIDTHS:
        for theme in THEMES:
            browser.show(width, theme)
            browser.screenshot(SHOTS / f"history-{width}-{theme}.png")
    browser.show(1440, "light")
    assert browser.accessibility() == []
    browser.go("")
    browser.click("[aria-label='Acknowledge the alarm of invoices']")
    browser.wait("one less", lambda: browser.first_line().startswith("5 jobs run, 3 need you: "))
    browser.screenshot(SHOTS / "acknowledged-1440-light.png")
    browser.click("button", "Alarm again")
    browser.wait("all of them", lambda: re.fullmatch(_FIRST, browser.first_line()))
    assert browser.console_errors() == []
