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

# A function that takes a millisecond for each record, after a source that is faster.
PROGRAM = """
import time
from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy

def slow(value):
    time.sleep(0.001)
    return value

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.enable_checkpointing(500)
source = DataGeneratorSource(
    lambda number: number, 10**9, Types.LONG(), rate_limiter_strategy=RateLimiterStrategy.per_second(20000)
)
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
slowly = numbers.key_by(lambda value: value % 100).map(slow, Types.LONG()).name("slow").uid("slow")
slowly.filter(lambda value: False).print()
env.execute("watched")
"""


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with started_browser(tmp_path / "profile") as found:
        yield found


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
    found = Funke(tmp_path)
    yield found
    found("stop-cluster")


def test_a_job_is_watched_saved_and_cancelled(browser: Browser, funke: Funke) -> None:
    (funke.folder / "job.py").write_text(PROGRAM)
    started = funke("start-cluster", "-D", "rest.bind-port=0")
    url = re.search(r"http://[\d.:]+", started)
    assert url is not None
    submitted = re.search(r"JobID ([0-9a-f]{32})", funke("run", "-d", "job.py"))
    assert submitted is not None

    browser.show(1440, "light")
    browser.open(f"{url[0]}/#/jobs/{submitted[1]}")
    browser.wait("the bottleneck", lambda: browser.first_line().startswith("“slow” is the bottleneck: busy "), 60)
    browser.wait("that it is live", lambda: "\nlive\n" in browser.text())
    rate = "return document.querySelector('.edge-text b')?.innerText ?? ''"
    browser.wait(
        "a rate on the edge", lambda: re.fullmatch(r"[\d.]+( k)?/s", browser.run(rate)) and browser.run(rate) != "0/s"
    )
    browser.screenshot(SHOTS / "watched-graph.png")

    browser.go(f"jobs/{submitted[1]}/checkpoints")
    browser.wait("a checkpoint", lambda: browser.first_line().startswith("Last checkpoint "), 60)
    browser.click("button", "Savepoint")
    browser.fill("dialog input", str(funke.folder / "savepoints"))
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

    browser.click(".actions button", "Cancel")
    browser.click("dialog button", "Cancel job")
    browser.click("dialog button", "Close")
    browser.wait(
        "that it is cancelled",
        lambda: "cancelled" in browser.run("return document.querySelector('.job-title').innerText"),
        60,
    )
    browser.go(f"jobs/{submitted[1]}/graph")
    browser.wait("how it ended", lambda: browser.first_line().startswith("Was cancelled "))
    assert browser.console_errors() == []
