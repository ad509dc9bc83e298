"""A program that is handed to the service, seen and commanded in a browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.ops.dashboard.browser import Browser, started_browser
from tests.unit.ops.dashboard.test_pages import SHOTS

pytestmark = pytest.mark.spark

# A function that takes a millisecond for each record, after a source that is faster; most records have one key. It
# fails when a file is there.
PROGRAM = """
import os
import sys
import time
from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from pyflink.datastream.state import ValueStateDescriptor

folder = sys.argv[1]
config = Configuration()
config.set_string("execution.checkpointing.interval", "500 ms")
config.set_string("execution.checkpointing.savepoint-dir", folder + "/savepoints")
config.set_string("restart-strategy.type", "none")
config.set_string("rest.flamegraph.num-samples", "20")
config.set_string("funke.exceptions.show-records", "true")
# Barriers need not wait for long behind records that take their time.
config.set_string("taskmanager.memory.segment-size", "256b")
config.set_string("taskmanager.network.memory.buffer-debloat.enabled", "true")
config.set_string("taskmanager.network.memory.buffers-per-channel", "1")
config.set_string("taskmanager.network.memory.floating-buffers-per-gate", "1")

class Slow(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, context):
        time.sleep(0.001)
        if os.path.exists(folder + "/fail"):
            raise ValueError(f"{value} is a bad number")
        self.count.update((self.count.value() or 0) + 1)
        if value < 0:
            yield value

env = StreamExecutionEnvironment.get_execution_environment(config)
source = DataGeneratorSource(
    lambda number: number, 10**9, Types.LONG(), rate_limiter_strategy=RateLimiterStrategy.per_second(20000)
)
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
keyed = numbers.key_by(lambda value: "hot" if value % 4 else f"key {value % 100}")
keyed.process(Slow(), Types.LONG()).name("slow").uid("slow").print()
env.execute("watched")
"""
LINE = PROGRAM.splitlines().index('            raise ValueError(f"{value} is a bad number")') + 1


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with started_browser(tmp_path / "profile") as started:
        yield started


class Funke:
    """The command line, for a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {**os.environ, "FUNKE_HOME": str(folder / "home"), "PYTHONPATH": os.pathsep.join(sys.path)}

    def __call__(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "funke", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def funke(browser: Browser, tmp_path: Path) -> Iterator[Funke]:
    result = Funke(tmp_path)
    yield result
    result("stop-cluster")


def field(label: str) -> str:
    """The field of a dialog that is called so."""
    return f"[...document.querySelectorAll('dialog label')].find((each) => each.innerText.startsWith('{label}'))"


def put(browser: Browser, label: str, text: str) -> None:
    """Writes into a field, as if typed."""
    script = (
        f"const found = {field(label)}.querySelector('input,textarea'); found.value = arguments[0];"
        "found.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    browser.run(script, text)


def run_program(browser: Browser, **fields: str) -> str:
    """Runs the program from the page Submit; the id of its job, whose page is shown then."""
    browser.go("submit")
    browser.click("td button", "Run")
    browser.wait("the question", lambda: browser.run(f"return Boolean({field('Parallelism')})"))
    for label, text in fields.items():
        put(browser, label, text)
    browser.click("dialog button", "Run")
    browser.wait("its job", lambda: browser.address().startswith("#/jobs/"), 120)
    return browser.address().split("/")[2]


def title(browser: Browser) -> str:
    return str(browser.run("return document.querySelector('.job-title')?.innerText ?? ''"))


def test_a_job_is_watched_saved_and_cancelled(browser: Browser, funke: Funke) -> None:
    (funke.folder / "data").mkdir()
    folder = str(funke.folder / "data")
    started = funke("start-cluster", "-D", "rest.bind-port=0", "-D", "web.submit.enable=true")
    url, link = re.search(r"http://[\d.:]+", started), re.search(r"http://\S+/login\?code=\S+", started)
    assert url is not None and link is not None
    browser.show(1440, "light")
    browser.open(link[0])
    browser.wait("the dashboard", lambda: "No job has run here yet" in browser.text())
    browser.open(f"{url[0]}/#/submit")
    browser.wait("the page", lambda: browser.first_line() == "No program has been sent yet.")
    browser.run(
        "const data = new DataTransfer(); data.items.add(new File([arguments[0]], 'job.py'));"
        "document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true}))",
        PROGRAM,
    )
    first = run_program(browser, Parallelism="2", Arguments=folder)

    # Watched.
    browser.wait("the bottleneck", lambda: browser.first_line().startswith("“slow” is the bottleneck: busy "), 180)
    browser.wait("that it is live", lambda: "\nlive\n" in browser.text())
    browser.wait("the key", lambda: re.search(r"\d\d % of its records have the key 'hot'", browser.first_line()))
    rate = "return document.querySelector('.edge-text b')?.innerText ?? ''"
    browser.wait(
        "a rate on the edge", lambda: re.fullmatch(r"[\d.]+( k)?/s", browser.run(rate)) and browser.run(rate) != "0/s"
    )
    browser.click(".node", "slow")
    page_text = "return document.querySelector('.flame')?.innerText ?? ''"
    browser.wait("the flame graph", lambda: re.search(r"process_element \w+\.py:\d+", browser.run(page_text)), 60)
    browser.screenshot(SHOTS / "watched-graph.png")

    # Saved.
    browser.go(f"jobs/{first}/checkpoints")
    browser.wait("a checkpoint", lambda: browser.first_line().startswith("Last checkpoint "), 60)
    browser.click("button", "Savepoint")
    browser.click("dialog button", "Take savepoint")
    path = browser.wait(
        "the savepoint's path", lambda: browser.run("return document.querySelector('dialog .path code')?.innerText"), 60
    )
    assert os.path.isdir(str(path).removeprefix("file://"))
    browser.click("dialog button", "Close")
    browser.wait(
        "it in the history", lambda: "savepoint" in browser.run("return document.querySelector('table').innerText")
    )
    browser.screenshot(SHOTS / "watched-checkpoints.png")
    browser.go(f"jobs/{first}/state")
    browser.wait("what it remembers", lambda: re.search(r"“count” of “slow”", browser.first_line()))
    browser.screenshot(SHOTS / "watched-state.png")

    # Rescaled: it is another job then.
    browser.click("button", "Rescale")
    browser.wait("the question", lambda: browser.run(f"return Boolean({field('Parallelism')})"))
    put(browser, "Parallelism", "1")
    browser.click("dialog button", "Rescale job")
    browser.wait("that it goes on", lambda: "goes on with the new parallelism" in browser.text(), 120)
    browser.click("dialog button", "Open the new job")
    browser.wait("the new job", lambda: first not in browser.address() and "running" in title(browser), 120)
    second = browser.address().split("/")[2]
    browser.wait("one subtask of each", lambda: "× 1" in browser.text() and "× 2" not in browser.text())
    browser.screenshot(SHOTS / "rescaled-graph.png")

    # Broken: the user's line is told.
    (funke.folder / "data" / "fail").touch()
    browser.go(f"jobs/{second}/exceptions")
    expected = rf"job\.py:{LINE} raised ValueError: \d+ is a bad number in “slow”.*"
    browser.wait("what broke", lambda: re.fullmatch(expected, browser.first_line()), 120)
    assert 'raise ValueError(f"{value} is a bad number")' in browser.text()
    assert re.search(r"at the record \d+", browser.text())
    browser.wait("that it has failed", lambda: "failed" in title(browser), 60)
    browser.screenshot(SHOTS / "broken-exceptions.png")

    # Resumed, and cancelled.
    (funke.folder / "data" / "fail").unlink()
    third = run_program(browser, Parallelism="1", Arguments=folder, **{"Start from": str(path)})
    browser.wait("that it runs", lambda: "running" in title(browser), 120)
    browser.go(f"jobs/{third}/checkpoints")
    restored = "Restored from"
    browser.wait("where it comes from", lambda: restored in browser.text() and "savepoint-" in browser.text())
    browser.screenshot(SHOTS / "resumed-checkpoints.png")
    browser.click(".actions button", "Cancel")
    browser.click("dialog button", "Cancel job")
    browser.click("dialog button", "Close")
    browser.wait("that it is cancelled", lambda: "cancelled" in title(browser), 60)
    browser.go(f"jobs/{third}/graph")
    browser.wait("how it ended", lambda: browser.first_line().startswith("Was cancelled "))
    assert browser.console_errors() == []
