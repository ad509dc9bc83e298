"""What a program can ask of a job that runs: status, cancellation, results, metrics."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, JobStatus, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import DataStream, KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.engine.errors import JobCancelledError, SlotLostError
from funke.engine.operators.operator import MAX_WATERMARK
from tests.spark.job_running import collect, left_over_slots, new_environment, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def endless(env: StreamExecutionEnvironment, per_second: float = 200) -> DataStream:
    source = DataGeneratorSource(lambda index: index, rate_limiter_strategy=RateLimiterStrategy.per_second(per_second))
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


class ProcessId(MapFunction):
    def map(self, value: Any) -> int:
        return os.getpid()


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_job_goes_from_created_to_finished(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection(list(range(10)))
    numbers.key_by(lambda number: number % 2).reduce(lambda a, b: a + b).print()
    client = env.execute_async("sums")
    seen = []
    result = client.get_job_execution_result()
    while not result.done():
        seen.append(client.get_job_status().result())
        time.sleep(0.01)
    seen.append(client.get_job_status().result())
    order = [JobStatus.CREATED, JobStatus.RUNNING, JobStatus.FINISHED]
    changes = [status for status, previous in zip(seen, [None, *seen]) if status is not previous]
    assert changes == [status for status in order if status in changes]
    assert changes[-1] is JobStatus.FINISHED
    assert str(result.result().get_job_id()) == str(client.get_job_id())
    assert result.result().get_net_runtime() > 0


def test_a_failed_job_says_so(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(lambda number: number // 0).print()
    client = env.execute_async()
    with pytest.raises(Exception, match="ZeroDivisionError"):
        client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FAILED


def test_an_endless_job_is_cancelled(env: StreamExecutionEnvironment) -> None:
    before = left_over_slots()
    endless(env).key_by(lambda number: number % 3).reduce(lambda a, b: a + b).print()
    client = env.execute_async()
    assert wait_until(lambda: client.get_metrics().get("records_read", 0) > 20)
    assert client.get_job_status().result() is JobStatus.RUNNING
    started = time.monotonic()
    client.cancel().result()
    assert time.monotonic() - started < 12
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError):
        client.get_job_execution_result().result()
    assert wait_until(lambda: left_over_slots() <= before)
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_a_job_is_cancelled_before_it_runs(env: StreamExecutionEnvironment) -> None:
    before = left_over_slots()
    endless(env).key_by(lambda number: number).reduce(lambda a, b: a + b).print()
    client = env.execute_async()
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert wait_until(lambda: left_over_slots() <= before)


class Sleepy(MapFunction):
    def map(self, value: Any) -> Any:
        time.sleep(30)
        return value


def test_cancelling_does_not_wait_for_a_slow_function(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 2, 3]).map(Sleepy()).print()
    client = env.execute_async()
    assert wait_until(lambda: client.get_job_status().result() is JobStatus.RUNNING)
    time.sleep(0.5)
    started = time.monotonic()
    client.cancel().result()
    assert time.monotonic() - started < 12
    # The next job is not held up either.
    assert sorted(collect(new_environment(2).from_collection([1, 2]).map(abs))) == [1, 2]
    assert time.monotonic() - started < 25


def test_a_killed_slot_fails_the_job_within_seconds(env: StreamExecutionEnvironment) -> None:
    before = left_over_slots()
    results = endless(env).map(ProcessId()).execute_and_collect()
    pids = {next(results)}
    while len(pids) < 2:
        pids.add(next(results))
    victim, other = pids
    started = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    with pytest.raises(SlotLostError, match=str(victim)):
        list(results)
    assert time.monotonic() - started < 20
    assert wait_until(lambda: not is_alive(other))
    assert wait_until(lambda: left_over_slots() <= before), "the killed slot's folder is removed too"


class Measured(MapFunction):
    def open(self, context: Any) -> None:
        group = context.get_metrics_group()
        self.counter = group.counter("seen")
        self.meter = group.add_group("speed").meter("rate")
        self.distribution = group.distribution("size")
        self.last = 0
        group.gauge("last", lambda: self.last)

    def map(self, value: int) -> int:
        self.counter.inc()
        self.meter.mark_event()
        self.distribution.update(value)
        self.last = value
        return value


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) * 1000


def test_metrics_of_operators_and_functions(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    numbers = env.from_collection([1, 2, 3, 4]).assign_timestamps_and_watermarks(strategy)
    numbers.filter(lambda number: number != 2).name("some").map(Measured()).name("measured").print().name("out")
    client = env.execute_async("measuring")
    client.get_job_execution_result().result()
    metrics = client.get_metrics()
    assert metrics["records_read"] == 4
    assert metrics["watermark"] == MAX_WATERMARK
    assert metrics["Source: Collection Source.0.numRecordsOut"] == 4
    assert metrics["some.0.numRecordsIn"] == 4
    assert metrics["some.0.numRecordsOut"] == 3
    assert metrics["measured.0.numRecordsIn"] == 3
    assert metrics["measured.0.numRecordsOut"] == 3
    assert metrics["measured.0.currentInputWatermark"] == MAX_WATERMARK
    assert metrics["measured.0.seen"] == 3
    assert metrics["measured.0.last"] == 4
    assert metrics["measured.0.speed.rate"]["count"] == 3
    size = metrics["measured.0.size"]
    assert (size["min"], size["max"], size["count"], size["sum"]) == (1, 4, 3, 8)
    assert metrics["Sink: out.0.numRecordsIn"] == 3
    busy = {name: value for name, value in metrics.items() if name.endswith(".0.busyTimeMsPerSecond")}
    assert [0 < value <= 1000 for value in busy.values()] == [True], busy
    for usage in ("inPoolUsage", "exclusiveBuffersUsage", "floatingBuffersUsage", "outPoolUsage"):
        assert [value for name, value in metrics.items() if name.endswith(f".0.{usage}")] == [0.0]


def test_a_slow_function_is_found_and_little_is_on_its_way_to_it(env: StreamExecutionEnvironment) -> None:
    env.configure(Configuration().set_string("taskmanager.network.memory.buffer-debloat.enabled", "true"))
    env.set_parallelism(1)
    slow = endless(env, 5_000).rebalance().map(lambda number: time.sleep(0.005)).name("slow").set_parallelism(2)
    slow.print().name("out").set_parallelism(2)
    client = env.execute_async()
    metrics: dict[str, Any] = {}

    def is_seen() -> bool:
        metrics.update(client.get_metrics())
        return metrics.get("slow -> Sink: out.1.busyTimeMsPerSecond", 0) > 500

    assert wait_until(is_seen), sorted(metrics)
    assert 256 <= metrics["slow -> Sink: out.1.debloatedBufferSize"] <= 2_048
    assert metrics["slow -> Sink: out.1.isBackPressured"] is False
    client.cancel().result()


def test_watermark_and_counts_of_a_job_that_still_runs(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    stream = endless(env).assign_timestamps_and_watermarks(strategy)
    stream.key_by(lambda number: 0).reduce(max).name("latest").print()
    client = env.execute_async()
    assert wait_until(lambda: 0 < client.get_metrics().get("watermark", -1) < MAX_WATERMARK)
    before = client.get_metrics()["records_read"]
    assert wait_until(lambda: client.get_metrics()["records_read"] > before)
    client.cancel().result()


def test_results_of_an_endless_job_until_the_block_is_left(env: StreamExecutionEnvironment) -> None:
    with endless(env).map(ProcessId()).execute_and_collect() as results:
        pids = {next(results) for _ in range(30)}
    assert pids and wait_until(lambda: not any(map(is_alive, pids)))
    with pytest.raises(StopIteration):
        next(results)


def test_a_limit_ends_an_endless_job(env: StreamExecutionEnvironment) -> None:
    first = list(endless(env).map(lambda number: number * 2).execute_and_collect(limit=5))
    assert len(first) == 5
    assert all(number % 2 == 0 for number in first)


class CountToThree(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), value


def test_two_jobs_at_once(spark: Any) -> None:
    outcomes: dict[int, list[Any]] = {}

    def run(number: int) -> None:
        stream = new_environment(2).from_collection([number] * 50)
        outcomes[number] = collect(stream.key_by(lambda value: value).process(CountToThree()))

    threads = [threading.Thread(target=run, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {1: [(1, 1)] * 50, 2: [(2, 2)] * 50}


def test_a_job_beside_an_endless_one_and_jobs_one_after_the_other(env: StreamExecutionEnvironment) -> None:
    endless(env).key_by(lambda number: 0).reduce(max).print()
    client = env.execute_async("endless")
    for number in range(3):
        assert collect(new_environment(1).from_collection([number]).map(ProcessId()).map(abs))
    assert client.get_job_status().result() is JobStatus.RUNNING
    client.cancel().result()


def test_one_environment_runs_several_jobs(env: StreamExecutionEnvironment, capfd: pytest.CaptureFixture[str]) -> None:
    env.set_parallelism(1)
    env.from_collection(["first"]).print()
    env.execute()
    env.from_collection(["second"]).print()
    env.execute()
    assert capfd.readouterr().out.split() == ["first", "second"]
