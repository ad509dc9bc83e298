"""A browser without a window, of two widths and two themes."""

from __future__ import annotations

import base64
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).with_name("vendor") / "axe.min.js"
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)
WIDTHS = {1440: 900, 390: 844}
THEMES = ("light", "dark")


class Browser:
    """One page of a browser."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self._driver.execute_cdp_cmd("Page.enable", {})

    ENTER, ESCAPE, DOWN = "\ue007", "\ue00c", "\ue015"

    def open(self, url: str) -> None:
        self._driver.get("about:blank")
        self._driver.get(url)

    def go(self, address: str) -> None:
        """To another page of what is open, which is no longer the one before."""
        script = (
            "const next = '#/' + arguments[0]; if (location.hash === next) return;"
            "const changed = new Promise((resolve) => addEventListener('hashchange', resolve, {once: true}));"
            "location.hash = next; await changed; await new Promise((resolve) => setTimeout(resolve))"
        )
        self.run(script, address)

    def address(self) -> str:
        return str(self.run("return location.hash"))

    def show(self, width: int, theme: str) -> None:
        """Of another width, in another theme."""
        metrics = {"width": width, "height": WIDTHS[width], "deviceScaleFactor": 1, "mobile": False}
        self._driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        feature = {"name": "prefers-color-scheme", "value": theme}
        self._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns; a promise is waited for."""
        body = (
            "const done = arguments[arguments.length - 1];"
            f"(async () => {{ {script} }})().then(done, (error) => done({{failed: String(error)}}))"
        )
        result = self._driver.execute_async_script(body, *arguments)
        assert not (isinstance(result, dict) and "failed" in result), result
        return result

    def wait(self, what: str, is_so: Callable[[], Any], limit_s: float = 30) -> Any:
        """Until something is so; what it is then."""
        until = time.monotonic() + limit_s
        while not (result := is_so()):
            assert time.monotonic() < until, f"waited for {what}; the page says: {self.text()[:2000]}"
            time.sleep(0.02)
        return result

    def text(self) -> str:
        return str(self.run("return document.body.innerText"))

    def first_line(self) -> str:
        return str(self.run("return document.querySelector('.answer h1')?.innerText ?? ''"))

    def click(self, selector: str, text: str = "") -> None:
        """An element, by what it is and says; waited for."""
        script = (
            "const fits = (each) => each.innerText.trim().startsWith(arguments[1]) && !each.disabled;"
            "const found = [...document.querySelectorAll(arguments[0])].find(fits);"
            "found?.click(); return Boolean(found)"
        )
        self.wait(f"{selector} {text}", lambda: self.run(script, selector, text))

    def fill(self, selector: str, text: str) -> None:
        self.run("document.querySelector(arguments[0]).focus()", selector)
        self.keys(*text)

    def keys(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        ActionChains(self._driver).send_keys(*keys).perform()

    def screenshot(self, path: Path) -> None:
        shot = self._driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": False})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def console_errors(self) -> list[str]:
        """What the console has complained of since this was asked last."""
        return [each["message"] for each in self._driver.get_log("browser") if each["level"] in ("SEVERE", "WARNING")]

    def accessibility(self, *rules: str) -> list[str]:
        """Serious findings of axe, with what they are of."""
        if not self.run("return Boolean(window.axe)"):
            self._driver.execute_script(AXE.read_text(encoding="utf-8"))
        options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
        results = self.run("return (await axe.run(document, arguments[0])).violations", options)
        return [
            f"{each['id']}: {node['html'][:200]}\n  {node.get('failureSummary', '')}"
            for each in results
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"][:3]
        ]


@contextmanager
def started_browser(profile: Path) -> Iterator[Browser]:
    """Until the end of the block; skips the test where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install '.[dev]'")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("no browser for the dashboard's tests: tools/test-packages installs it")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(chromedriver))
    driver.set_script_timeout(60)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
