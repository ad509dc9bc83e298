"""The small figures: latency of a tiny job and of an epoch, and memory per key of state."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

_MEMORY = """
import resource
from funke.engine.types.keys.key_groups import KeyGroups
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.heap.backend import HashMapBackend
from funke.engine.types.information.type_catalog import Types

def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()

backend = HashMapBackend(KeyGroups(128), lambda: 0)
state = backend.get_state(ValueStateDescriptor("count", Types.LONG()))
before = resident()
for number in range(1_000_000):
    backend.set_current_key(f"key-{number}")
    state.update(number + 1_000)
print((resident() - before) / 1_000_000)
"""


def ten_elements_s() -> float:
    """Seconds from building a ten-element keyed job to its last result, with a session that is up."""
    return statistics.median(_ten_elements() for _ in range(6))


def _ten_elements() -> float:
    from funke.datastream import StreamExecutionEnvironment

    started = time.perf_counter()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    pairs = env.from_collection(list(range(10))).map(lambda number: (number % 3, number))
    sums = pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    with sums.execute_and_collect() as results:
        assert len(list(results)) == 10
    return time.perf_counter() - started


def first_select_s() -> float:
    """Seconds from a query's text to the last of ten rows, with a session that is up."""
    from funke.table import EnvironmentSettings, TableEnvironment

    def first() -> float:
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        started = time.perf_counter()
        table = t_env.from_elements([(number, f"row {number}") for number in range(10)], ["id", "name"])
        with t_env.sql_query(f"SELECT id, UPPER(name) FROM {table} WHERE id >= 0").execute().collect() as results:
            assert len(list(results)) == 10
        return time.perf_counter() - started

    return statistics.median(first() for _ in range(5))


def epoch_latency_ms() -> float:
    """Milliseconds of an epoch with one exchange that carries a few records."""
    from funke.common import Configuration, WatermarkStrategy
    from funke.datastream import StreamExecutionEnvironment
    from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
    from funke.datastream.connectors.discard import DiscardingSink

    configuration = Configuration().set_string("funke.exchange", "blocking")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    source = DataGeneratorSource(lambda index: index, 200, rate_limiter_strategy=RateLimiterStrategy.per_second(30))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda number: number % 10).reduce(lambda a, b: a + b).sink_to(DiscardingSink())
    client = env.execute_async()
    client.get_job_execution_result().result()
    return float(client.get_metrics()["epoch_ms_median"])


def memory_per_key() -> float:
    """Bytes of memory per key of a value state that holds an int, with a million keys."""
    done = subprocess.run([sys.executable, "-c", _MEMORY], capture_output=True, text=True, check=True)
    return float(done.stdout)
