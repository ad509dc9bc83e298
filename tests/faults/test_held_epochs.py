"""Epochs that fail or do not end: whoever waits for a savepoint is answered, checkpoints expire, and it is told why."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from funke.common import Configuration, JobClient, Types, WatermarkStrategy
from funke.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.engine.errors import JobExecutionError, StateError
from tests.harness.exact_files import sink, wait_until

pytestmark = pytest.mark.spark


class Held(MapFunction):
    """Stands still as long as there is a file `hold`, in the second subtask of the first attempt."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        subtask = runtime_context.get_index_of_this_subtask()
        (self.folder / f"pid-{subtask}-{runtime_context.get_attempt_number()}-{os.getpid()}").touch()
        self.is_held = subtask == 1 and runtime_context.get_attempt_number() == 0

    def map(self, value: int) -> str:
        while self.is_held and (self.folder / "hold").exists():
            time.sleep(0.01)
        return str(value)


@pytest.fixture(autouse=True)
def functions_by_value(request: pytest.FixtureRequest) -> Iterator[None]:
    cloudpickle.register_pickle_by_value(request.module)
    yield
    cloudpickle.unregister_pickle_by_value(request.module)


def start(folder: Path, **options: str) -> JobClient:
    configuration = Configuration()
    settings = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "10 ms",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        **{key.replace("__", ".").replace("_", "-"): value for key, value in options.items()},
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    rate = RateLimiterStrategy.per_second(100)
    source = DataGeneratorSource(lambda index: index, 1_000_000, Types.LONG(), rate_limiter_strategy=rate)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").rebalance()
    numbers.map(Held(folder), Types.STRING()).name("held").sink_to(sink(folder / "out"))
    return env.execute_async("held")


def pid_of(folder: Path, subtask: int, attempt: int = 0) -> int:
    wait_until(lambda: list(folder.glob(f"pid-{subtask}-{attempt}-*")))
    return int(next(folder.glob(f"pid-{subtask}-{attempt}-*")).name.rpartition("-")[2])


@pytest.mark.parametrize("afterwards", ["go on", "stop"])
def test_a_savepoint_whose_slot_dies_is_answered(spark: Any, tmp_path: Path, afterwards: Any) -> None:
    marks = tmp_path / "marks"
    client = start(tmp_path, funke__fault=f"before-snapshot:1:hold@{marks}")
    pid_of(tmp_path, 1)
    saved = client._job.savepoint(str(tmp_path / "savepoints"), afterwards)
    wait_until(lambda: marks.is_dir() and list(marks.glob("*.*")))
    os.kill(int(next(marks.glob("*.*")).suffix[1:]), signal.SIGKILL)
    (marks / "go").touch()
    with pytest.raises(StateError, match="the savepoint failed: the job did"):
        saved.result(60)
    # The next attempt takes one.
    assert client._job.savepoint(str(tmp_path / "savepoints"), afterwards).result(60).startswith(str(tmp_path))
    client.cancel().result()


def test_checkpoints_expire_while_a_slot_is_stopped(spark: Any, tmp_path: Path) -> None:
    client = start(
        tmp_path,
        execution__checkpointing__interval="100 ms",
        execution__checkpointing__timeout="1 s",
        execution__checkpointing__tolerable_failed_checkpoints="1000",
    )
    wait_until(lambda: client.get_metrics().get("numberOfCompletedCheckpoints", 0) > 0)
    pid, before = pid_of(tmp_path, 1), client.get_metrics()["numberOfFailedCheckpoints"]
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: client.get_metrics()["numberOfFailedCheckpoints"] >= before + 2)
        assert client.get_metrics()["numRestarts"] == 0
    finally:
        os.kill(pid, signal.SIGCONT)
    done = client.get_metrics()["numberOfCompletedCheckpoints"]
    wait_until(lambda: client.get_metrics()["numberOfCompletedCheckpoints"] > done)
    client.cancel().result()


def test_a_job_whose_epoch_does_not_end_fails_and_names_who_holds_it(spark: Any, tmp_path: Path) -> None:
    client = start(
        tmp_path,
        restart_strategy__type="none",
        execution__checkpointing__interval="200 ms",
        # Not before it is held, on a machine that has other things to do.
        execution__checkpointing__timeout="4 s",
    )
    wait_until(lambda: client.get_metrics().get("numberOfCompletedCheckpoints", 0) > 0)
    (tmp_path / "hold").touch()
    with pytest.raises(JobExecutionError) as failed:
        client._job.result_future.result(90)
    assert "checkpoint" in str(failed.value) and "1 in a row, 0 are tolerated" in str(failed.value)
    assert "; it waits for 'held" in str(failed.value) and "(subtask 1, slot 1)" in str(failed.value)
    assert "(subtask 0, slot 0)" not in str(failed.value)
