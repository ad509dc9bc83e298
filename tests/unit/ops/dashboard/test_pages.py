"""Every page in a browser: what its first line says, at two widths and in two themes, without errors or barriers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from funke.ops.rest.guard import Access
from tests.unit.ops.dashboard.browser import Browser, started_browser
from tests.unit.ops.dashboard.recorded_service import RecordedService, recorded_service
from tests.unit.ops.dashboard.shown_jobs import all_jobs, job_id

# Left for whoever has changed the pages to look at.
SHOTS = Path(__file__).parents[4] / "artifacts" / "dashboard"
_LOG = """2026-11-16 12:00:01,204 INFO  funke.service: listening on 127.0.0.1:8081
2026-11-16 12:00:03,110 INFO  funke.service: job orders has been submitted
2026-11-16 12:00:05,871 WARNING funke.config: 'taskmanager.network.sort-shuffle' has no effect here
2026-11-16 12:00:09,002 ERROR funke.service: job sensors failed: KeyError: 'price'
"""


_JOB_LOG = """2026-11-16 12:00:05,104 INFO  shop - enrich (1/4): rates are loaded
2026-11-16 12:00:06,110 WARNING shop - enrich (2/4): no rate of XAU
Traceback (most recent call last):
KeyError: 'XAU'
printed by the program
2026-11-16 12:00:07,871 INFO  shop - parse (1/2): 9 rows
{"time": "2026-11-16T12:00:08.120Z", "level": "ERROR", "operator": "parse", "subtask": "2/2", "message": "x"}
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started_browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def service(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordedService]:
    folder = tmp_path_factory.mktemp("service")
    for name, text in (("", _JOB_LOG), (".1", "earlier\n")):
        log = folder / f"run-{job_id('orders')[:8]}{name}.log"
        log.write_text(text)
        os.utime(log, (1_700_000_000, 1_700_000_000))
    (folder / "service.log").write_text(_LOG * 12)
    (folder / "programs").mkdir(mode=0o700)
    (folder / "programs" / f"{'a' * 32}_orders.py").write_text("print(1)\n")
    with recorded_service(folder, all_jobs()) as started:
        browser.open(f"{started.url}/")
        yield started


def _of(name: str, page: str = "") -> str:
    return f"jobs/{job_id(name)}/{page}"


_ENRICH = next(view for view in all_jobs() if view.name == "orders").vertices[2].operators[0].id
_SESSIONS = next(view for view in all_jobs() if view.name == "clicks-to-sessions").vertices[1].operators[0].id
_BOTTLENECK = (
    r"“enrich” is the bottleneck: busy 97 %, “Source: orders” waits for it\. 62 % of its records go to subtask 0\."
    r" Most of its time it is at orders\.py:35 in enrich\."
)
PAGES = {
    "overview": ("", r"5 jobs run, 4 need you: clicks-to-sessions has not completed a checkpoint .+ sensors, .+"),
    "jobs": (
        "jobs",
        r"8 jobs: 5 running, 1 finished, 1 cancelled and 1 failed\. The newest is backfill-2026, .+ ago\.",
    ),
    "graph": (_of("orders"), _BOTTLENECK),
    "vertex": (_of("orders", f"graph?vertex={_ENRICH}"), _BOTTLENECK),
    "pattern": (
        _of("clicks-to-sessions", f"graph?vertex={_SESSIONS}"),
        r"Nothing waits. The busiest is “sessions”, busy 52 % of its time\.",
    ),
    "checkpoints": (
        _of("orders", "checkpoints?checkpoint=408"),
        r"Last checkpoint .+ ago, 216 MB in 2 s\. A failure now repeats at most .+\.",
    ),
    "exceptions": (_of("sensors", "exceptions"), r"orders\.py:42 raised KeyError: 'price' in “parse”, 3 times in .+\."),
    "timeline": (_of("sensors", "timeline"), r"Restarting, started .+ ago\. Restarted 3 times, the last time .+ ago\."),
    "state": (
        _of("orders", "state"),
        r"It remembers 180 MB, 78 % of it in “window-contents” of “sum_by_region”\. It grows by 1\.6 GB per hour\.",
    ),
    "history": (_of("orders", "history"), r"1 look so far; an hour is kept\."),
    "metrics": (_of("orders", "metrics"), r"4 charts of \d+ metrics; the address keeps the pick\."),
    "sql": (_of("top-bids", "sql"), r"1 statement became 5 relational operators in 2 vertices\."),
    "job-configuration": (
        _of("orders", "configuration"),
        r"Parallelism 4, checkpoints every 1 min, state in rocksdb; 10 settings in all\.",
    ),
    "workers": (
        f"workers?worker=worker-1-{job_id('orders')[:12]}",
        r"8 workers on 2 hosts have 10 slots\. 3 of 13 slots are free\.",
    ),
    "logs": ("logs?file=service.log", r"3 files; service\.log was written last, .+ ago\."),
    "job-logs": (_of("orders", "logs"), r"Its program wrote last .+ ago; \d+ B in all\."),
    "configuration": ("configuration", r"The service has 4 settings of its own; everything else has its default\."),
    "submit": ("submit", r"1 program can be run; the newest is orders\.py, sent .+ ago\."),
}
# Other states of the same pages.
STATES = {
    "ended": (_of("export-invoices"), r"Failed 4 h.* ago after 2 h; its operators took 80 k records\."),
    "waiting": (_of("backfill-2026"), r"Not begun yet: waits for 4 slots: 0 of 12 are free\."),
    "checkpoints-late": (
        _of("clicks-to-sessions", "checkpoints"),
        r"No checkpoint completed for 1\d min, sink \"pg\" holds the epoch: .+\. A failure now repeats 1\d min .+",
    ),
    "state-by-slot": (_of("top-bids", "state"), r"It remembers 14 MB, 67 % of it in slot 1\."),
    "no-sql": (_of("orders", "sql"), r"This job is not a query: its graph was made with the DataStream API\."),
}
# What else a page must show.
SHOWN = {
    "vertex": (
        "to_euro",
        "orders.py:36",
        "4 subtasks",
        "118 M",
        "enrich orders.py:35",
        "69 %",
        "computing",
        "112 MB",
        "1.2 M",
    ),
    "pattern": (
        "42 k partial matches wait, most for “large”.",
        "The condition of “large” fails most: 95 % of 120 k times.",
        "takes the event if amount > 500 → match",
        "ignores the event if not (amount > 500) → large",
        "114 k of 120 k false",
    ),
    "exceptions": ("your line", "return Order(", "Java's stack, 3 lines", "Row(id=17, card=******)"),
    "timeline": ("0 · 3 attempts", "a failure"),
    "checkpoints": ("Checkpoint 408", "rocksdb", "exactly once"),
    "state": ("window-contents", "2.3 M"),
    "metrics": ("numRecordsInPerSecond", "412 k/s"),
    "sql": ("GroupWindowAggregate", "INSERT INTO"),
    "job-configuration": ("region", "******"),
    "configuration": ("Subtasks per operator", "options are known"),
    "workers": ("Network buffers", "419 MB of 2.1 GB"),
    "logs": ("KeyError: 'price'", "orders, part 1 before"),
    "job-logs": ("rates are loaded", "Functions log from"),
}


# Figures whose box is lower than they are, and links to the page one is on that lie beside the screen.
CUT_OFF = """
const low = [...document.querySelectorAll('.facts')].filter((each) => each.scrollHeight > each.clientHeight + 1);
const beside = [...document.querySelectorAll('nav [aria-current]')].filter((each) => {
  const {left, right} = each.getBoundingClientRect();
  return left < 0 || right > innerWidth;
});
return [...low, ...beside].map((each) => each.innerText);
"""


@pytest.mark.parametrize("name", PAGES)
def test_page(browser: Browser, service: RecordedService, name: str) -> None:
    address, expected = PAGES[name]
    browser.show(1440, "light")
    browser.go(address)
    browser.wait(f"'{expected}'", lambda: re.fullmatch(expected, browser.first_line()))
    browser.wait("what the page shows", lambda: all(text in browser.text() for text in SHOWN.get(name, ())))
    browser.screenshot(SHOTS / f"{name}-1440-light.png")
    barriers = browser.accessibility()
    browser.show(1440, "dark")
    browser.screenshot(SHOTS / f"{name}-1440-dark.png")
    browser.show(390, "light")
    browser.screenshot(SHOTS / f"{name}-390-light.png")
    assert browser.run("return document.documentElement.scrollWidth") <= 390, "wider than a phone"
    assert browser.run(CUT_OFF) == []
    browser.show(390, "dark")
    browser.screenshot(SHOTS / f"{name}-390-dark.png")
    barriers += browser.accessibility("color-contrast", "scrollable-region-focusable")
    assert barriers == []
    assert browser.console_errors() == []


@pytest.mark.parametrize("name", STATES)
def test_state(browser: Browser, service: RecordedService, name: str) -> None:
    address, expected = STATES[name]
    browser.show(1440, "light")
    browser.go(address)
    browser.wait(f"'{expected}'", lambda: re.fullmatch(expected, browser.first_line()))
    browser.screenshot(SHOTS / f"{name}-1440-light.png")
    assert browser.console_errors() == []


def test_barriers_would_be_found(browser: Browser, service: RecordedService) -> None:
    browser.run("const each = document.createElement('button'); each.id = 'mute'; document.body.append(each)")
    assert any("button-name" in each for each in browser.accessibility("button-name"))
    browser.run("document.getElementById('mute').remove()")


WORDS = [
    ("behind(1e12 - 4000, 1e12)", "−4 s"),
    ("behind(4000, 1.7e12)", "test data"),
    ("behind(-9223372036854775808, 1.7e12)", "not started"),
    ("behind(9223372036854775807, 1.7e12)", "end"),
    ("count(0)", "0"),
    ("count(1234567)", "1.2 M"),
    ("rate(412000)", "412 k/s"),
    ("bytes(999999)", "1 MB"),
    ("bytes(210e6)", "210 MB"),
    ("percent(0.974)", "97 %"),
    ("duration(1300)", "1.3 s"),
    ("duration(840000)", "14 min"),
    ("duration(95 * 60000)", "1 h 35 min"),
    ("ago(1000, 5400)", "4 s ago"),
    ("list(['a', 'b', 'c'])", "a, b and c"),
    ("chainParts('Source: a<br/>+- Map')[1]", "Map"),
    (f"withoutUpload('parse {'a1' * 16}_job.py:3')", "parse job.py:3"),
]


def test_numbers_are_reported_as_people_do(browser: Browser, service: RecordedService) -> None:
    names = "behind, count, rate, bytes, percent, duration, ago, list, chainParts, withoutUpload"
    cases = ", ".join(expression for expression, _ in WORDS)
    script = f"const {{{names}}} = await import('/dashboard/words.js'); return [{cases}]"
    assert browser.run(script) == [expected for _, expected in WORDS]


def test_a_chart_has_a_minute_at_least(browser: Browser, service: RecordedService) -> None:
    cases = "[spanOf([1000]), spanOf([1000, 1010]), spanOf([1000, 1100])]"
    result = browser.run(f"const {{spanOf}} = await import('/dashboard/chart.js'); return {cases}")
    assert result == [[940, 1000], [950, 1010], [1000, 1100]]


def test_keys(browser: Browser, service: RecordedService) -> None:
    browser.show(1440, "light")
    browser.go("")
    browser.run("document.activeElement.blur()")
    browser.keys("g", "j")
    browser.wait("the list of jobs", lambda: browser.address() == "#/jobs")
    browser.run("document.querySelector('tbody tr').focus()")
    browser.keys(Browser.DOWN)
    assert browser.run("return [...document.querySelectorAll('tbody tr')].indexOf(document.activeElement)") == 1
    browser.keys(Browser.ENTER)
    browser.wait("a job", lambda: browser.address().startswith("#/jobs/"))
    browser.run("document.activeElement.blur()")
    browser.keys("/", "o", "r", "d", "e", "r", "s", Browser.ENTER)
    browser.wait("the job that was looked for", lambda: browser.address() == f"#/jobs/{job_id('orders')}")
    browser.click(".node", "enrich")
    browser.wait("its panel", lambda: "4 subtasks" in browser.text())
    assert f"vertex={_ENRICH}" in browser.address()
    browser.keys(Browser.ESCAPE)
    browser.wait("no panel", lambda: not browser.run("return Boolean(document.querySelector('.side'))"))


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        ("level=WARN", [1, 2, 3, 4, 6]),
        ("task=enrich", [0, 1, 2, 3, 4]),
        ("task=enrich&part=2", [1, 2, 3, 4]),
        ("task=parse&level=ERROR", [6]),
        ("part=3", []),
    ],
)
def test_lines_of_a_subtask(browser: Browser, service: RecordedService, chosen: str, text: list[int]) -> None:
    browser.go(_of("orders", f"logs?{chosen}"))
    expected = [line for number, line in enumerate(_JOB_LOG.splitlines()) if number in text]
    lines = "return [...document.querySelectorAll('.log span')].map((each) => each.innerText.trim()).filter(Boolean)"
    browser.wait("the lines", lambda: browser.run(lines) == expected)


def test_levels_are_changed(browser: Browser, service: RecordedService) -> None:
    browser.go(_of("orders", "logs"))
    browser.wait("the levels", lambda: "Functions log from" in browser.text())
    change = "const found = document.querySelector('.levels select'); found.value = 'DEBUG';"
    browser.run(change + "found.dispatchEvent(new Event('change', {bubbles: true}))")
    browser.wait("that it is told", lambda: ("log levels", ("DEBUG", {})) in _commands(service, "orders"))
    service.jobs["orders"].commands.clear()


def test_threads_are_shown(browser: Browser, service: RecordedService) -> None:
    browser.show(1440, "light")
    browser.go(PAGES["workers"][0])
    browser.click("button", "Take a thread dump")
    browser.wait("a stack", lambda: "line 35, in enrich" in browser.text())
    assert browser.accessibility() == []


def test_every_option_is_explained(browser: Browser, service: RecordedService) -> None:
    browser.show(1440, "light")
    browser.go("configuration")
    browser.wait("the options", lambda: "options are known" in browser.text())
    browser.fill("[aria-label='Only options that have']", "execution.attached")
    browser.wait("what it means", lambda: "No effect: execute() waits for the job" in browser.text())
    browser.screenshot(SHOTS / "options-1440-light.png")
    assert browser.accessibility() == []
    browser.fill("[aria-label='Only options that have']", " nothing")
    browser.wait("that there is none", lambda: "No option is like that" in browser.text())
    assert browser.console_errors() == []


def test_the_theme_can_be_switched(browser: Browser, service: RecordedService) -> None:
    browser.show(1440, "light")
    browser.go("")
    paper = "return getComputedStyle(document.documentElement).backgroundColor"
    light = browser.run(paper)
    browser.click("[aria-label^='Theme']")
    browser.click("[aria-label^='Theme']")
    browser.wait("the dark theme", lambda: browser.run(paper) != light)
    browser.click("[aria-label^='Theme']")
    browser.wait("the theme of the system", lambda: browser.run(paper) == light)


def _commands(service: RecordedService, name: str) -> list[tuple[str, Any]]:
    return service.jobs[name].commands


def test_a_savepoint(browser: Browser, service: RecordedService) -> None:
    browser.show(1440, "light")
    browser.go(_of("orders"))
    browser.click("button", "Savepoint")
    browser.wait("what will happen", lambda: "The job goes on while its state is written" in browser.text())
    assert f"funke savepoint {job_id('orders')}" in browser.text()
    browser.screenshot(SHOTS / "savepoint-1440-light.png")
    assert browser.accessibility() == []
    browser.click("dialog button", "Take savepoint")
    browser.wait("its path", lambda: "file:///var/funke/savepoints/savepoint-409" in browser.text())
    browser.click("dialog button", "Close")
    assert _commands(service, "orders") == [("savepoint", (None, "go on"))]
    assert browser.console_errors() == []


def test_stop_and_cancel(browser: Browser, service: RecordedService) -> None:
    browser.go(_of("top-bids"))
    browser.click("button", "Stop")
    browser.click("dialog button", "Stop job")
    browser.wait("the outcome", lambda: "its savepoint is complete" in browser.text())
    at_once = "document.querySelector('dialog .primary').click(); await new Promise((resolve) => setTimeout(resolve));"
    browser.run(at_once + "document.querySelector('.actions .danger').click()")
    browser.wait("a warning", lambda: "Work since the last checkpoint is lost" in browser.text())
    browser.click("dialog button", "Cancel job")
    browser.wait("the outcome", lambda: "is being cancelled" in browser.text())
    browser.click("dialog button", "Close")
    assert _commands(service, "top-bids") == [("savepoint", (None, "stop")), ("cancel", None)]


def test_a_program_is_run(browser: Browser, service: RecordedService) -> None:
    browser.go("submit")
    sent = "const data = new DataTransfer(); data.items.add(new File(['print(2)'], 'second.py'));"
    drop = "document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true}))"
    browser.wait("the page", lambda: browser.first_line().startswith("1 program can be run"))
    browser.run(sent + drop)
    browser.wait(
        "that it is here", lambda: browser.first_line().startswith("2 programs can be run; the newest is second")
    )
    browser.click("td button", "Run")
    browser.click("dialog button", "Run")
    browser.wait("its job", lambda: browser.address() == f"#/jobs/{job_id('orders')}")
    [arguments] = service.programs.submitted
    assert arguments[0].endswith(".py")


def test_a_job_that_is_not_there(browser: Browser, service: RecordedService) -> None:
    browser.go(f"jobs/{'0' * 32}")
    browser.wait("that it is not there", lambda: "Not there" in browser.text())
    assert all("404" in each for each in browser.console_errors())


def test_nothing_yet_then_silence(browser: Browser, tmp_path: Path) -> None:
    browser.show(1440, "light")
    with recorded_service(tmp_path, []) as empty:
        browser.open(f"{empty.url}/")
        browser.wait("the first line", lambda: browser.first_line() == "No job has run here yet.")
        assert "funke run -d -py job.py" in browser.text()
        browser.screenshot(SHOTS / "empty-1440-light.png")
        assert browser.accessibility() == []
        assert browser.console_errors() == []
        empty.stop()
        browser.wait("that it is silent", lambda: "Last heard from the service" in browser.text())
        browser.screenshot(SHOTS / "stale-1440-light.png")
        assert browser.first_line() == "No job has run here yet.", "what was seen stays"
    browser.console_errors()


def test_a_link_opens_the_dashboard_without_a_token_to_enter(browser: Browser, tmp_path: Path) -> None:
    access = Access("open-sesame")
    with recorded_service(tmp_path, all_jobs(), access) as guarded:
        browser.open(access.dashboard_url(guarded.url))
        browser.wait("the address", lambda: browser.run("return location.pathname + location.hash") == "/#/")
        browser.open(f"{guarded.url}/#/jobs")
        browser.wait("the jobs", lambda: browser.first_line().startswith("8 jobs"))
        assert browser.run("return document.cookie") == "", "scripts do not see it"
    browser.console_errors()


def test_a_token_is_asked_for(browser: Browser, tmp_path: Path) -> None:
    with recorded_service(tmp_path, all_jobs(), Access("open-sesame")) as guarded:
        browser.open(f"{guarded.url}/#/jobs")
        browser.wait("a field", lambda: "This service asks for a token" in browser.text())
        assert browser.first_line() == ""
        browser.fill("[aria-label=Token]", "open-sesame")
        browser.click("button", "Use it")
        browser.wait("the jobs", lambda: browser.first_line().startswith("8 jobs"))
    browser.console_errors()
