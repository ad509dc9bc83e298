"""Savepoints of releases so far: this version starts from each of them and loses nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from funke import __version__
from funke.common import Configuration
from funke.datastream import StreamExecutionEnvironment
from tests.harness.kept_savepoint import FOLDER, KEYS, RECORDS, TIMER_MS, WINDOW_MS, expected_line, results

pytestmark = pytest.mark.spark
KEPT = sorted(path.name for path in FOLDER.iterdir())


def test_there_is_one_of_this_version() -> None:
    assert __version__ in KEPT, "python -m tests.harness.kept_savepoint makes it"


@pytest.mark.parametrize("version", KEPT)
def test_a_savepoint_of_an_earlier_release_is_started_from(spark: Any, version: str, tmp_path: Path) -> None:
    configuration = Configuration().set_string("execution.state-recovery.path", str(FOLDER / version))
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    with results(env).execute_and_collect() as found:
        lines = [str(each) for each in found]
    told = {kind: [each for each in lines if each.startswith(kind)] for kind in ("state", "timer", "window", "total")}
    assert sum(map(len, told.values())) == len(lines)
    # The job goes on in the middle, with all that it knew of the first part.
    read = RECORDS - len(told["state"])
    assert 0 < read < RECORDS
    firsts = [min(int(each.split()[2]) for each in told["state"] if each.split()[1] == str(key)) for key in range(KEYS)]
    assert sum(first - 1 for first in firsts) == read
    per_key = RECORDS // KEYS
    expected = [expected_line(key, count) for key in range(KEYS) for count in range(firsts[key], per_key + 1)]
    assert sorted(told["state"]) == sorted(expected)
    last = {key: RECORDS - KEYS + key for key in range(KEYS)}
    assert sorted(told["timer"]) == [f"timer {key} {TIMER_MS} {per_key} {last[key]}" for key in range(KEYS)]
    assert told["window"] and {each.split()[2] for each in told["window"]} == {str(WINDOW_MS // KEYS)}
    assert sorted(int(each.split()[1]) for each in told["total"]) == list(range(read + 1, RECORDS + 1))
