"""Savepoints of releases so far: this version starts from each of them and loses nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from funke import __version__
from funke.common import Configuration
from funke.datastream import StreamExecutionEnvironment
from funke.engine.jobs.checkpoints.checkpoints import read_checkpoint
from tests.harness.exact_files import committed, sink, wait_until
from tests.harness.kept_savepoint import FOLDER, KEYS, RECORDS, TIMER_MS, WINDOW_MS, expected_line, results

pytestmark = pytest.mark.spark
KEPT = sorted(path.name for path in FOLDER.iterdir())


def test_there_is_one_of_this_version() -> None:
    assert __version__ in KEPT, "python -m tests.harness.kept_savepoint makes it"


def new_environment(path: str, parallelism: int, backend: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.state-recovery.path", path)
    configuration.set_string("state.backend.type", backend)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)


def require_all(lines: list[str]) -> list[int]:
    """The job has gone on in the middle, with all that it knew of the first part; the totals that it has told."""
    lines_by_kind = {
        kind: [each for each in lines if each.startswith(kind)] for kind in ("state", "timer", "window", "total")
    }
    assert sum(map(len, lines_by_kind.values())) == len(lines)
    read = RECORDS - len(lines_by_kind["state"])
    assert 0 < read < RECORDS
    firsts = [
        min(int(each.split()[2]) for each in lines_by_kind["state"] if each.split()[1] == str(key))
        for key in range(KEYS)
    ]
    assert sum(first - 1 for first in firsts) == read
    per_key = RECORDS // KEYS
    expected = [expected_line(key, count) for key in range(KEYS) for count in range(firsts[key], per_key + 1)]
    assert sorted(lines_by_kind["state"]) == sorted(expected)
    last = {key: RECORDS - KEYS + key for key in range(KEYS)}
    assert sorted(lines_by_kind["timer"]) == [f"timer {key} {TIMER_MS} {per_key} {last[key]}" for key in range(KEYS)]
    assert lines_by_kind["window"] and {each.split()[2] for each in lines_by_kind["window"]} == {str(WINDOW_MS // KEYS)}
    return sorted(int(each.split()[1]) for each in lines_by_kind["total"])


@pytest.mark.parametrize("version", KEPT)
def test_a_savepoint_of_an_earlier_release_is_started_from(spark: Any, version: str) -> None:
    env = new_environment(str(FOLDER / version), 1, "hashmap")
    with results(env).execute_and_collect() as result:
        lines = [str(each) for each in result]
    totals = require_all(lines)
    assert totals == list(range(RECORDS - len(totals) + 1, RECORDS + 1))


@pytest.mark.parametrize("version", KEPT)
def test_its_keys_stay_in_their_groups(spark: Any, version: str, tmp_path: Path) -> None:
    """Started with more subtasks and in RocksDB, stopped with a savepoint of this version, and started from that."""
    start = read_checkpoint(str(FOLDER / version))
    env = new_environment(start.path, 3, "rocksdb").enable_checkpointing(200)
    results(env, per_checkpoint=20).sink_to(sink(tmp_path / "out"))
    client = env.execute_async("kept")
    wait_until(lambda: client.get_metrics().get("records_read", 0) >= 60)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    client.get_job_execution_result().result()
    assert read_checkpoint(path).key_hash == start.key_hash
    env = new_environment(path, 2, "hashmap")
    results(env).sink_to(sink(tmp_path / "out"))
    env.execute("again")
    require_all(list(committed(tmp_path / "out").elements()))
