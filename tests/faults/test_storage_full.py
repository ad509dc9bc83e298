"""The disk of the checkpoints is full in the middle of a write: the checkpoint fails, the job does not."""

from __future__ import annotations

import os
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from funke.common import Configuration, Encoder, Types, WatermarkStrategy
from funke.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.connectors.file_system import FileSink, RollingPolicy
from funke.datastream.state import ValueStateDescriptor
from tests.harness.exact_files import wait_until
from tools import soak_job

pytestmark = pytest.mark.spark

RECORDS = 1500
KEYS = 11


class Bulky:
    """A value of state that takes a kilobyte; while the flag is there, no file may grow beyond half of one.

    The limit is set where the snapshot is written, in the child of the slot, and ends with it.
    """

    def __init__(self, flag: str, count: int) -> None:
        self.flag = flag
        self.count = count
        self.pid = os.getpid()

    def __reduce__(self) -> tuple[Any, ...]:
        if os.getpid() != self.pid and os.path.exists(self.flag):
            Path(self.flag).with_name("hit").touch()
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
        return restored, (self.flag, self.count, os.urandom(1024))


def restored(flag: str, count: int, _filling: bytes) -> Bulky:
    return Bulky(flag, count)


class Count(KeyedProcessFunction):
    def __init__(self, flag: str) -> None:
        self.flag = flag

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        current = self.state.value()
        count = 1 if current is None else current.count + 1
        self.state.update(Bulky(self.flag, count))
        yield f"{value % KEYS} {count}"


@pytest.fixture(autouse=True)
def functions_by_value(request: pytest.FixtureRequest) -> Iterator[None]:
    cloudpickle.register_pickle_by_value(request.module)
    yield
    cloudpickle.unregister_pickle_by_value(request.module)


def start(folder: Path, **options: str) -> Any:
    configuration = Configuration()
    settings = {
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "execution.checkpointing.tolerable-failed-checkpoints": "1000",
        # In files, however few of the keys a subtask has.
        "execution.checkpointing.data-inline-threshold": "0",
        **options,
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    source = DataGeneratorSource(
        slowly, RECORDS, Types.LONG(), rate_limiter_strategy=RateLimiterStrategy.per_second(500)
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    sink = (
        FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )
    numbers.key_by(lambda number: number % KEYS).process(Count(str(folder / "full")), Types.STRING()).sink_to(sink)
    return env.execute_async("bulky")


def slowly(index: int) -> int:
    time.sleep(0.003)
    return index


def expected() -> Counter[str]:
    return Counter(f"{value % KEYS} {value // KEYS + 1}" for value in range(RECORDS))


def test_a_full_disk_that_is_cleared_loses_nothing(
    spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full").touch()
    client = start(tmp_path)
    wait_until(lambda: (tmp_path / "hit").exists() and client.get_metrics().get("numberOfFailedCheckpoints", 0) > 0)
    (tmp_path / "full").unlink()
    client.get_job_execution_result().result()
    metrics = client.get_metrics()
    assert metrics["numberOfFailedCheckpoints"] >= 1 and metrics["numberOfCompletedCheckpoints"] >= 1
    assert metrics["numRestarts"] == 0
    assert "File too large" in capfd.readouterr().err
    assert soak_job.committed(tmp_path / "out") == expected()
