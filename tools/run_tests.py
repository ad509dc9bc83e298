"""Runs pytest, then the failed tests once more and alone: what passes then is flaky, what fails again is broken.

`tools/run_tests.py [arguments of pytest]`. More than three flaky tests are a failure like a broken one. The last line
has the form of pytest's own: it counts flaky tests as passed, or as failed if there are too many. So it says `failed`
exactly when the exit code is 1.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

FLAKY_TESTS_ALLOWED = 3
# More failures than this are no accident: the change is broken, and their second run would only take time.
FAILURES_REPEATED = 30
_RECORD = "--write-outcome-to="


@dataclass(frozen=True)
class Failure:
    """A test's failure in one phase: setup, call or teardown."""

    test: str
    phase: str
    text: str


@dataclass(frozen=True)
class Outcome:
    """What a run of pytest has counted, as in its last line, and its failures."""

    counts: Counter[str]
    passed: frozenset[str]
    failures: tuple[Failure, ...]

    def failed_tests(self) -> list[str]:
        return list(dict.fromkeys(failure.test for failure in self.failures))


class _Recorder:
    """Writes the outcome of the run that it watches."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._passed: set[str] = set()
        self._failures: list[Failure] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failures.append(Failure(report.nodeid, report.when or "call", report.longreprtext))
        elif report.passed and report.when == "call":
            self._passed.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        counts = {kind: len(reports) for kind, reports in terminalreporter.stats.items() if kind}
        outcome = {
            "counts": counts,
            "passed": sorted(self._passed),
            "failures": [asdict(failure) for failure in self._failures],
        }
        self._file.write_text(json.dumps(outcome), encoding="utf-8")


def run_recorded(arguments: Sequence[str]) -> tuple[int, Outcome | None]:
    """Runs pytest in a process of its own; no outcome if it did not get as far as its summary."""
    with tempfile.TemporaryDirectory(prefix="test-outcome-") as folder:
        file = Path(folder, "outcome.json")
        code = subprocess.run([sys.executable, __file__, f"{_RECORD}{file}", *arguments], check=False).returncode
        if not file.exists():
            return code, None
        record = json.loads(file.read_text(encoding="utf-8"))
    failures = tuple(Failure(**failure) for failure in record["failures"])
    return code, Outcome(Counter(record["counts"]), frozenset(record["passed"]), failures)


def flaky_tests(first: Outcome, second: Outcome | None) -> list[str]:
    """Those that failed in the first run and passed in the second; one that was skipped there has not passed."""
    if second is None:
        return []
    broken = second.failed_tests()
    return [test for test in first.failed_tests() if test in second.passed and test not in broken]


def counts_without(first: Outcome, flaky: Iterable[str]) -> Counter[str]:
    """The first run's counts, with these tests as passed."""
    tests, counts = set(flaky), first.counts.copy()
    for failure in first.failures:
        if failure.test in tests:
            counts["error" if failure.phase in ("setup", "teardown") else "failed"] -= 1
    counts["passed"] += len(tests - first.passed)
    return counts


def closing_line(counts: Counter[str], flaky: int, seconds: float) -> str:
    """In the form of pytest's last line."""
    kinds = ("failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "warnings", "error")
    plural = {"error": "errors"}
    parts = [f"{counts[kind]} {plural.get(kind, kind) if counts[kind] > 1 else kind}" for kind in kinds if counts[kind]]
    if flaky:
        parts.append(f"{flaky} flaky")
    return f"{', '.join(parts)} in {seconds:.2f}s"


def _print_flaky(first: Outcome, flaky: Sequence[str]) -> None:
    print(f"\n{len(flaky)} flaky: failed beside other tests, passed alone. The first failure of each:")
    for failure in first.failures:
        if failure.test in flaky:
            print(f"\nFLAKY {failure.test} ({failure.phase})\n{failure.text}")


def run_tests(arguments: Sequence[str]) -> int:
    started = time.monotonic()
    code, first = run_recorded(arguments)
    failed = first.failed_tests() if first else []
    if code != pytest.ExitCode.TESTS_FAILED or first is None or not failed:
        return code  # green, or something that a second run does not clear up
    if len(failed) > FAILURES_REPEATED:
        return code
    print(f"\nOnce more, alone: {len(failed)} failed {'test' if len(failed) == 1 else 'tests'}.", flush=True)
    _, second = run_recorded(["-q", "-n", "0", *failed])
    flaky = flaky_tests(first, second)
    if flaky:
        _print_flaky(first, flaky)
    accepted = flaky if len(flaky) <= FLAKY_TESTS_ALLOWED else []
    if flaky and not accepted:
        print(f"\nMore than {FLAKY_TESTS_ALLOWED} flaky tests: they count as failed.")
    broken = [test for test in failed if test not in accepted]
    for test in broken:
        print(f"{'FLAKY' if test in flaky else 'FAILED TWICE'} {test}")
    print(closing_line(counts_without(first, accepted), len(flaky), time.monotonic() - started), flush=True)
    return int(pytest.ExitCode.TESTS_FAILED if broken else pytest.ExitCode.OK)


def main(arguments: Sequence[str]) -> int:
    if arguments and arguments[0].startswith(_RECORD):
        sys.path[0] = os.getcwd()  # as `python -m pytest` does
        recorder = _Recorder(Path(arguments[0].removeprefix(_RECORD)))
        return int(pytest.main(list(arguments[1:]), plugins=[recorder]))
    return run_tests(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
