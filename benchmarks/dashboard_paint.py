"""How long the dashboard's first page takes on this machine, and how much it loads: the service and a cold browser."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

RUNS = 7
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage")
# Notes when the first line of the page has its text.
_WATCH = """
new MutationObserver(() => {
  const line = document.querySelector('.answer h1');
  if (!window.usefulAt && line && line.textContent) window.usefulAt = performance.now();
}).observe(document, {subtree: true, childList: true, characterData: true});
"""
_READ = """
const done = arguments[0];
const look = () => {
  const [paint] = performance.getEntriesByName('first-contentful-paint');
  if (!window.usefulAt || !paint) return setTimeout(look, 10);
  const loaded = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
  const bytes = loaded.reduce((sum, each) => sum + each.transferSize, 0);
  done({paint: paint.startTime, useful: window.usefulAt, bytes});
};
look();
"""


@dataclass(frozen=True)
class Paint:
    """Medians: the first paint, and the moment the first line stands, in milliseconds; and what was sent until then."""

    first_ms: float
    useful_ms: float
    kilobytes: float


@cache
def first_paint() -> Paint:
    """Measures with nothing in the browser's cache."""
    with _service() as url, open_browser() as browser:
        browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _WATCH})
        browser.execute_cdp_cmd("Network.enable", {})
        browser.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
        times = []
        for _ in range(RUNS + 1):
            browser.get("about:blank")
            browser.get(url)
            times.append(browser.execute_async_script(_READ))
    # The first one finds a browser that has only just started.
    kept = times[1:]
    return Paint(
        statistics.median(each["paint"] for each in kept),
        statistics.median(each["useful"] for each in kept),
        statistics.median(each["bytes"] for each in kept) / 1000,
    )


@contextmanager
def _service() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "FUNKE_HOME": folder}

        def funke(*arguments: str) -> str:
            command = [sys.executable, "-m", "funke", *arguments]
            return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

        url = re.search(r"http://[\d.:]+", funke("start-cluster", "-D", "rest.bind-port=0"))
        assert url is not None
        try:
            yield f"{url[0]}/"
        finally:
            funke("stop-cluster")


@contextmanager
def open_browser() -> Iterator[Any]:
    """The system's Chromium, without a window."""
    from selenium import webdriver

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise SystemExit("no browser to measure with: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in _FLAGS:
        options.add_argument(flag)
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    browser.set_script_timeout(30)
    try:
        yield browser
    finally:
        browser.quit()
