"""Who holds a job up, as a job that runs tells it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from funke.common import Types, WatermarkStrategy
from funke.datastream import StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource
from funke.datastream.connectors.python import PythonSink, PythonSinkWriter
from funke.engine.jobs.views.bottleneck import find_bottleneck
from tests.spark.job_running import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


class SlowWriter(PythonSinkWriter):
    """Sends what it has in one go, which takes long."""

    def write(self, value: Any) -> None:
        pass

    def flush(self) -> None:
        time.sleep(0.3)


class SlowSink(PythonSink):
    def create_writer(self) -> PythonSinkWriter:
        return SlowWriter()


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_slow_sink(env: StreamExecutionEnvironment, parallelism: int) -> None:
    env.set_parallelism(parallelism)
    source = DataGeneratorSource(lambda index: index, 10**12, type_info=Types.LONG())
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    enriched = numbers.key_by(lambda number: number % 100).map(lambda number: number).name("enrich")
    enriched.key_by(lambda number: number % 5000).map(lambda number: number).name("last").sink_to(SlowSink()).name(
        "slow"
    )
    client = env.execute_async("slow sink")
    seen: list[str] = []

    def is_named() -> bool:
        bottleneck = find_bottleneck(client._job.view())
        if bottleneck is not None:
            seen.append(bottleneck.sentence)
        return bottleneck is not None and "slow" in bottleneck.sentence.partition(" is the bottleneck: busy")[0]

    try:
        # Before every subtask has taken records, one of them has all there are.
        assert wait_until(lambda: is_named() and "skewed" not in seen[-1], 60), seen
        del seen[:]
        assert wait_until(lambda: is_named() and len(seen) >= 20, 60)
        assert not [sentence for sentence in seen if "skewed" in sentence]
    finally:
        client.cancel().result()
