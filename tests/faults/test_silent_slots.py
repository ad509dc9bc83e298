"""A slot that does not answer is lost: the job goes on from its last checkpoint, and nothing is written twice."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, Types, WatermarkStrategy
from funke.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from tests.faults.test_restart import KEYS, RECORDS, CountPerKey, expected
from tests.harness.exact_files import committed, sink

pytestmark = pytest.mark.spark


class StopsOnce(CountPerKey):
    """Counts; in the first attempt its process is stopped by the system."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        if value == RECORDS // 2 and self.attempt == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
        yield from super().process_element(value, ctx)


def test_a_stopped_slot_is_replaced_after_the_heartbeat_timeout(spark: Any, tmp_path: Path) -> None:
    configuration = Configuration()
    settings = {
        "state.checkpoints.dir": str(tmp_path / "checkpoints"),
        "restart-strategy.type": "fixed-delay",
        "heartbeat.interval": "200 ms",
        "heartbeat.timeout": "3 s",
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    env.enable_checkpointing(300)
    pace = RateLimiterStrategy.per_second(400)
    source = DataGeneratorSource(lambda index: index, RECORDS, Types.LONG(), rate_limiter_strategy=pace)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    counted = numbers.key_by(lambda number: number % KEYS).process(StopsOnce(), Types.STRING())
    counted.sink_to(sink(tmp_path / "out"))
    client = env.execute_async("count")
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    (lost,) = client._job.exceptions()
    assert "heartbeat.timeout" in lost.message
    assert committed(tmp_path / "out") == expected()
