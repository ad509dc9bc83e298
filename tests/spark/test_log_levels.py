"""The level of functions' log lines changes while their job runs, in its slots and those of its next attempt."""

from __future__ import annotations

import logging
import threading

import pytest

from funke.common import Types, WatermarkStrategy
from funke.datastream import RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.functions import MapFunction
from funke.engine.errors import ConfigurationError

pytestmark = pytest.mark.spark


class Chatty(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.log = logging.getLogger("shop.prices")

    def map(self, value: int) -> int:
        self.log.debug("saw %d", value)
        return value


def test_it_is_changed(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    source = DataGeneratorSource(
        lambda number: number, 10**9, Types.LONG(), rate_limiter_strategy=RateLimiterStrategy.per_second(50)
    )
    env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(Chatty(), Types.LONG()).print()
    heard = threading.Event()

    class Hearing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.name == "shop.prices" and "(1/1): saw" in record.getMessage():
                heard.set()

    handler = Hearing()
    logger = logging.getLogger("shop.prices")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    client = env.execute_async("chatty")
    job = client._job
    try:
        with pytest.raises(ConfigurationError, match="there is no log level 'LOUD'"):
            job.set_log_levels("LOUD", {})
        while job.status().name != "RUNNING":
            heard.wait(0.05)
        assert not heard.is_set()
        job.set_log_levels("INFO", {"shop": "DEBUG"})
        assert heard.wait(30)
        stacks = {each.name: each.stack for each in job.thread_stacks()[0]}
        assert "slot_loop.py" in stacks["MainThread"]
        assert job.view().configuration["python.logging.level.overrides"] == "shop:DEBUG"
    finally:
        logger.removeHandler(handler)
        client.cancel().result()
