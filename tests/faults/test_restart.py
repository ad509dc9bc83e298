"""A job that fails or loses a slot goes on from its last checkpoint: nothing is lost, nothing is written twice."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, Types, WatermarkStrategy
from funke.common.job_status import JobStatus
from funke.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.connectors.number_seq import NumberSequenceSource
from funke.datastream.state import ValueStateDescriptor
from funke.engine.errors import JobExecutionError
from tests.harness.exact_files import committed, sink, wait_until

pytestmark = pytest.mark.spark

RECORDS = 600
KEYS = 7
ROUNDS = 40


class CountPerKey(KeyedProcessFunction):
    """Counts; fails once, in the first attempt, when it has seen `fail_at` in one subtask's input."""

    def __init__(self, fail_at: int | None = None, pid_folder: str | None = None) -> None:
        self.fail_at = fail_at
        self.pid_folder = pid_folder

    def open(self, runtime_context: RuntimeContext) -> None:
        self.attempt = runtime_context.get_attempt_number()
        if self.pid_folder is not None and self.attempt == 0:
            Path(self.pid_folder, str(os.getpid())).touch()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        if value == self.fail_at and self.attempt == 0:
            raise RuntimeError("planned failure")
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


def start(
    folder: Path, checkpoints: Path, fail_at: int | None = None, pid_folder: Path | None = None, **settings: str
) -> Any:
    configuration = Configuration()
    configuration.set_string("state.checkpoints.dir", str(checkpoints))
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "3")
    configuration.set_string("restart-strategy.fixed-delay.delay", "100 ms")
    for key, value in settings.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    env.enable_checkpointing(300)
    source = DataGeneratorSource(
        lambda index: index, RECORDS, Types.LONG(), rate_limiter_strategy=RateLimiterStrategy.per_second(200)
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    counts = numbers.key_by(lambda number: number % KEYS).process(
        CountPerKey(fail_at, str(pid_folder) if pid_folder else None), Types.STRING()
    )
    counts.sink_to(sink(folder))
    return env.execute_async("count")


def test_a_failing_function_is_restarted_without_loss_or_repetition(spark: Any, tmp_path: Path) -> None:
    client = start(tmp_path / "out", tmp_path / "checkpoints", fail_at=400)
    client.get_job_execution_result().result()
    states = ["CREATED", "RUNNING", "FAILING", "RESTARTING", "CREATED", "RUNNING", "FINISHED"]
    assert [status.name for status, _ in client._job.status_history()] == states
    assert {(each.attempt, each.state.name) for each in client.get_executions()} == {(1, "FINISHED")}
    earlier = [
        run for each in client.get_executions() for run in client._job.prior_executions(each.vertex_id, each.subtask)
    ]
    assert sorted((run.attempt, run.state.name) for run in earlier) == [
        (0, "CANCELED"),
        (0, "CANCELED"),
        (0, "CANCELED"),
        (0, "FAILED"),
    ]
    assert client.get_job_status().result() == JobStatus.FINISHED
    assert committed(tmp_path / "out") == expected()


def test_a_killed_slot_is_replaced_and_its_state_restored(spark: Any, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    client = start(tmp_path / "out", tmp_path / "checkpoints", pid_folder=pids)
    wait_until(lambda: list((tmp_path / "checkpoints").rglob("_metadata")))
    os.kill(int(min(pids.iterdir()).name), signal.SIGKILL)
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    assert {(each.attempt, each.state.name) for each in client.get_executions()} == {(1, "FINISHED")}
    (failure,) = client.get_exceptions()
    assert (failure.attempt, failure.error_type) == (0, "SlotLostError")
    assert committed(tmp_path / "out") == expected()


def test_at_least_once_nothing_is_lost(spark: Any, tmp_path: Path) -> None:
    client = start(
        tmp_path / "out", tmp_path / "checkpoints", fail_at=400, execution__checkpointing__mode="AT_LEAST_ONCE"
    )
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    assert not expected() - committed(tmp_path / "out"), "each count was reached, some may have come again"


def test_restarts_end_when_the_strategy_says_so(spark: Any, tmp_path: Path) -> None:
    client = start(tmp_path / "out", tmp_path / "checkpoints", fail_at=200, restart_strategy__type="none")
    with pytest.raises(JobExecutionError, match="planned failure"):
        client.get_job_execution_result().result()
    assert client.get_job_status().result() == JobStatus.FAILED


class FailOnce(MapFunction):
    """Passes numbers on, and fails once when most are read."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.is_first = runtime_context.get_attempt_number() == 0

    def map(self, value: int) -> int:
        if value == RECORDS * 3 // 4 and self.is_first:
            raise RuntimeError("planned failure")
        return value


def test_a_batch_job_is_run_again_from_its_beginning(spark: Any, tmp_path: Path) -> None:
    configuration = Configuration()
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.delay", "10 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    numbers = env.from_source(NumberSequenceSource(0, RECORDS - 1), WatermarkStrategy.no_watermarks(), "numbers")
    keyed = numbers.map(FailOnce(), Types.LONG()).key_by(lambda number: number % KEYS)
    keyed.reduce(lambda a, b: a + b).map(str, Types.STRING()).sink_to(sink(tmp_path / "out"))
    client = env.execute_async("batch")
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    assert committed(tmp_path / "out") == Counter(str(sum(range(key, RECORDS, KEYS))) for key in range(KEYS))


class CountBoth(KeyedCoProcessFunction):
    """Counts the records of either input, per key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.first = runtime_context.get_state(ValueStateDescriptor("first", Types.LONG()))
        self.second = runtime_context.get_state(ValueStateDescriptor("second", Types.LONG()))

    def process_element1(self, value: int, ctx: Any) -> Any:
        self.first.update((self.first.value() or 0) + 1)
        yield f"first {value % KEYS}:{self.first.value()}"

    def process_element2(self, value: int, ctx: Any) -> Any:
        self.second.update((self.second.value() or 0) + 1)
        yield f"second {value % KEYS}:{self.second.value()}"


def test_a_checkpoint_holds_the_same_point_of_a_fast_and_of_a_slow_input(spark: Any, tmp_path: Path) -> None:
    """What the fast input is ahead with after the checkpoint's end would be counted twice were it in the state."""
    configuration = Configuration()
    configuration.set_string("state.checkpoints.dir", str(tmp_path / "checkpoints"))
    configuration.set_string("restart-strategy.fixed-delay.delay", "10 ms")
    configuration.set_string("restart-strategy.type", "fixed-delay")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    env.enable_checkpointing(100)

    def numbers(name: str, count: int, per_checkpoint: int) -> DataStream:
        rate = RateLimiterStrategy.per_checkpoint(per_checkpoint)
        source = DataGeneratorSource(lambda index: index, count, Types.LONG(), rate)
        return env.from_source(source, WatermarkStrategy.no_watermarks(), name)

    fast = numbers("fast", RECORDS, 100).map(FailOnce(), Types.LONG()).key_by(lambda number: number % KEYS)
    slow = numbers("slow", RECORDS // 10, 10).key_by(lambda number: number % KEYS)
    fast.connect(slow).process(CountBoth(), Types.STRING()).sink_to(sink(tmp_path / "out"))
    client = env.execute_async("both")
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    assert committed(tmp_path / "out") == Counter(
        f"{name} {number % KEYS}:{number // KEYS + 1}"
        for name, count in (("first", RECORDS), ("second", RECORDS // 10))
        for number in range(count)
    )


def test_without_checkpoints_no_record_comes_twice_and_nothing_is_recovered(spark: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    source = DataGeneratorSource(lambda index: index, RECORDS, Types.LONG())
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    counts = numbers.key_by(lambda number: number % KEYS).process(CountPerKey(400, None), Types.STRING())
    seen: Counter[str] = Counter()
    with pytest.raises(JobExecutionError, match="planned failure"), counts.execute_and_collect() as results:
        seen.update(results)
    assert not seen - expected()


class Once(KeyedProcessFunction):
    """Passes on what it has not seen before, and fails once."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.is_first = runtime_context.get_attempt_number() == 0
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        if value == RECORDS // 2 and self.is_first:
            raise RuntimeError("planned failure")
        if not self.seen.value():
            self.seen.update(True)
            yield str(value)


def test_what_is_delivered_at_least_once_is_written_once_by_a_function_that_remembers(
    spark: Any, tmp_path: Path
) -> None:
    """Every number comes three times, as from a sender that does not know what has arrived."""
    configuration = Configuration()
    configuration.set_string("state.checkpoints.dir", str(tmp_path / "checkpoints"))
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.delay", "10 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    env.enable_checkpointing(100)
    rate = RateLimiterStrategy.per_checkpoint(RECORDS)
    source = DataGeneratorSource(lambda index: index % RECORDS, 3 * RECORDS, Types.LONG(), rate)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda number: number).process(Once(), Types.STRING()).sink_to(sink(tmp_path / "out"))
    client = env.execute_async("once")
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    assert committed(tmp_path / "out") == Counter(str(number) for number in range(RECORDS))


class Visits(KeyedProcessFunction):
    """Counts the visits of a key; fails once, when some numbers have been round half as often as they will."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.attempt = runtime_context.get_attempt_number()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: tuple[int, int], ctx: KeyedProcessFunction.Context) -> Any:
        number, rounds = value
        if (number, rounds) == (30, ROUNDS // 2) and self.attempt == 0:
            raise RuntimeError("planned failure")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield number, rounds, count


def test_what_goes_round_in_an_iteration_is_restored(spark: Any, tmp_path: Path) -> None:
    configuration = Configuration()
    configuration.set_string("state.checkpoints.dir", str(tmp_path / "checkpoints"))
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.delay", "10 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    env.enable_checkpointing(30)
    source = DataGeneratorSource(
        lambda index: (index, 0), 60, rate_limiter_strategy=RateLimiterStrategy.per_checkpoint(20)
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").iterate()
    visits = numbers.key_by(lambda value: value[0] % KEYS).process(Visits())
    again = visits.map(lambda visit: (visit[0], visit[1] + 1))
    numbers.close_with(again.filter(lambda value: value[1] < ROUNDS))
    visits.map(lambda visit: f"{visit[0] % KEYS}:{visit[2]}", Types.STRING()).sink_to(sink(tmp_path / "out"))
    client = env.execute_async("round and round")
    client.get_job_execution_result().result()
    assert client.get_metrics()["numRestarts"] == 1
    lengths = [len(range(key, 60, KEYS)) * ROUNDS for key in range(KEYS)]
    assert committed(tmp_path / "out") == Counter(
        f"{key}:{count}" for key, length in enumerate(lengths) for count in range(1, length + 1)
    )


def test_checkpoints_are_removed_when_the_job_is_done(spark: Any, tmp_path: Path) -> None:
    client = start(tmp_path / "out", tmp_path / "checkpoints")
    client.get_job_execution_result().result()
    assert not list((tmp_path / "checkpoints").rglob("_metadata"))
    assert committed(tmp_path / "out") == expected()
