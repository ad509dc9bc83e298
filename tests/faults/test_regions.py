"""A part of a job that is not connected with the others fails and restarts alone; the others go on."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, Types, WatermarkStrategy
from funke.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.state import ValueStateDescriptor
from tests.harness.exact_files import committed, sink, wait_until

pytestmark = pytest.mark.spark

RECORDS = 600
KEYS = 7


class CountPerKey(KeyedProcessFunction):
    """Counts, and leaves a file that names its process, its subtask and its attempt."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def open(self, runtime_context: RuntimeContext) -> None:
        attempt, subtask = runtime_context.get_attempt_number(), runtime_context.get_index_of_this_subtask()
        Path(self.folder, f"{attempt}-{subtask}-{os.getpid()}").touch()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value % KEYS}:{count}"


def expected() -> Counter[str]:
    counts: Counter[int] = Counter()
    lines: Counter[str] = Counter()
    for value in range(RECORDS):
        counts[value % KEYS] += 1
        lines[f"{value % KEYS}:{counts[value % KEYS]}"] += 1
    return lines


class TwoRegions:
    """A job of two pipelines that share nothing; each in a folder of its own."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        configuration = Configuration()
        given = {
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "3",
            "restart-strategy.fixed-delay.delay": "100 ms",
            **{key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()},
        }
        for key, value in given.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(2)
        env.enable_checkpointing(300)
        for name in ("left", "right"):
            (folder / name).mkdir(parents=True)
            source = DataGeneratorSource(
                lambda index: index, RECORDS, Types.LONG(), rate_limiter_strategy=RateLimiterStrategy.per_second(200)
            )
            numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), f"{name} numbers")
            counted = numbers.key_by(lambda number: number % KEYS).process(CountPerKey(folder / name), Types.STRING())
            counted.name(f"{name} counts").sink_to(sink(folder / f"{name}-out"))
        self.client = env.execute_async("regions")

    def slots(self, name: str) -> list[tuple[int, int, int]]:
        """Attempt, subtask and process of each counting subtask that has been opened, in order."""
        found = (each.name.split("-") for each in (self.folder / name).iterdir())
        return sorted((int(attempt), int(subtask), int(pid)) for attempt, subtask, pid in found)

    def kill(self, name: str, attempt: int = 0) -> None:
        """Kills the process of a slot of a pipeline."""
        os.kill(next(pid for each, _, pid in self.slots(name) if each == attempt), signal.SIGKILL)

    def await_checkpoint(self) -> None:
        wait_until(lambda: list((self.folder / "checkpoints").rglob("_metadata")))

    def attempts(self, name: str) -> set[int]:
        """The attempts that subtasks of a pipeline have come to."""
        return {each.attempt for each in self.client.get_executions() if name in each.name}

    def require_exact(self) -> None:
        for name in ("left", "right"):
            assert committed(self.folder / f"{name}-out") == expected(), name


@pytest.mark.parametrize("victim", ["left", "right"])
def test_a_region_restarts_alone(spark: Any, tmp_path: Path, victim: str) -> None:
    job = TwoRegions(tmp_path)
    other = "right" if victim == "left" else "left"
    job.await_checkpoint()
    job.kill(victim)
    job.client.get_job_execution_result().result()
    assert (job.attempts(victim), job.attempts(other)) == ({1}, {0})
    assert len(job.slots(other)) == 2, "its functions were opened once in each of its slots"
    states = ["CREATED", "RUNNING", "RESTARTING", "RUNNING", "FINISHED"]
    assert [status.name for status, _ in job.client._job.status_history()] == states
    assert job.client.get_metrics()["numRestarts"] == 1
    job.require_exact()
