"""Savepoints: taken from running jobs, and started from by changed programs with another parallelism."""

from __future__ import annotations

import json
import shutil
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, JobClient, Time, Types, WatermarkStrategy
from funke.common.job_status import JobStatus
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.functions import CheckpointedFunction
from funke.datastream.state import ListStateDescriptor, ValueStateDescriptor
from funke.datastream.window import TumblingEventTimeWindows
from funke.engine.errors import JobCancelledError, StateError
from funke.engine.jobs.checkpoints.checkpoints import read_checkpoint
from tests.harness.exact_files import committed, sink, wait_until

pytestmark = pytest.mark.spark

RECORDS = 900
# By checkpoints and not by time, so that the input does not end before the savepoint on a machine that is busy.
PER_CHECKPOINT = 20
KEYS = 11
WINDOW_MS = 20


class Timestamps(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Count(KeyedProcessFunction):
    """The how-manieth record of its key each one is."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value % KEYS}:{count}"


def new_environment(parallelism: int = 2, start_from: str | None = None, **options: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    if start_from is not None:
        configuration.set_string("execution.savepoint.path", start_from)
    for key, value in options.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)
    env.enable_checkpointing(200)
    return env


def numbers(
    env: StreamExecutionEnvironment, per_checkpoint: int | None = PER_CHECKPOINT, uid: str = "numbers"
) -> DataStream:
    rate = RateLimiterStrategy.per_checkpoint(per_checkpoint) if per_checkpoint is not None else None
    source = DataGeneratorSource(lambda index: index, RECORDS, Types.LONG(), rate_limiter_strategy=rate)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Timestamps())
    return env.from_source(source, strategy, "numbers").uid(uid)


def wait_for_records(client: JobClient, expected: int = 60) -> None:
    wait_until(lambda: client.get_metrics().get("records_read", 0) >= expected, 90)


def counted() -> Counter[str]:
    return Counter(f"{value % KEYS}:{value // KEYS + 1}" for value in range(RECORDS))


def test_a_changed_program_goes_on_from_a_savepoint(spark: Any, tmp_path: Path) -> None:
    env = new_environment()
    counts = numbers(env).key_by(lambda number: number % KEYS).process(Count(), Types.STRING()).uid("count")
    counts.sink_to(sink(tmp_path / "out")).uid("out")
    client = env.execute_async("first")
    wait_for_records(client)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    assert client.get_job_execution_result().result() is not None
    assert client.get_job_status().result() is JobStatus.FINISHED
    before = committed(tmp_path / "out")
    assert 0 < sum(before.values()) < RECORDS
    written = read_checkpoint(path)
    assert {written.operators[each].uid for each in written.stateful_ids()} == {"numbers", "count", "out"}
    assert not (tmp_path / "savepoints").joinpath("shared").exists()
    assert [each for each in (tmp_path / "savepoints").rglob("*") if each.stat().st_mode & 0o077] == []

    # The folder may be moved. The new program has a filter, an operator with state and another sink more, another name
    # for the one it keeps, and nothing is chained.
    shutil.move(path, tmp_path / "moved")
    env = new_environment(start_from=str(tmp_path / "moved")).disable_operator_chaining()
    stream = numbers(env, per_checkpoint=None).filter(lambda number: number >= 0)
    stream.key_by(lambda number: number % 2).process(Count(), Types.STRING()).uid("new").sink_to(sink(tmp_path / "new"))
    again = stream.key_by(lambda number: number % KEYS).process(Count(), Types.STRING()).uid("count").name("renamed")
    again.map(lambda line: line, Types.STRING()).sink_to(sink(tmp_path / "out")).uid("out")
    env.execute("second")
    assert committed(tmp_path / "out") == counted()
    assert sum(committed(tmp_path / "new").values()) == RECORDS - sum(before.values())


class PassOn(KeyedProcessFunction):
    """Counts per key, and passes its input on with the count."""

    def __init__(self, name: str, keys: int) -> None:
        self.name, self.keys = name, keys

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: tuple[int, list[str]], ctx: KeyedProcessFunction.Context) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], [*value[1], f"{self.name} {value[0] % self.keys}:{count}"]


def test_operators_may_swap_positions(spark: Any, tmp_path: Path) -> None:
    indexes = [("sevens", 7), ("elevens", 11)]

    def build(env: StreamExecutionEnvironment, order: list[tuple[str, int]], per_checkpoint: int | None) -> None:
        stream = numbers(env, per_checkpoint).map(lambda number: (number, []))
        for name, keys in order:
            stream = stream.key_by(lambda pair, keys=keys: pair[0] % keys).process(PassOn(name, keys)).uid(name)
        stream.flat_map(lambda pair: pair[1], Types.STRING()).sink_to(sink(tmp_path / "out")).uid("out")

    env = new_environment()
    build(env, indexes, PER_CHECKPOINT)
    client = env.execute_async("first")
    wait_for_records(client)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    client.get_job_execution_result().result()
    env = new_environment(start_from=path)
    build(env, indexes[::-1], None)
    env.execute("second")
    assert committed(tmp_path / "out") == Counter(
        f"{name} {number % keys}:{number // keys + 1}" for name, keys in indexes for number in range(RECORDS)
    )


def test_state_that_nobody_claims_is_named(spark: Any, tmp_path: Path) -> None:
    env = new_environment()
    stream = numbers(env).key_by(lambda number: number % KEYS)
    stream.process(Count(), Types.STRING()).uid("count").name("per key").sink_to(sink(tmp_path / "a")).uid("out")
    client = env.execute_async("first")
    wait_for_records(client)
    path = client.trigger_savepoint(str(tmp_path / "savepoints")).result()
    assert client.get_job_status().result() is JobStatus.RUNNING
    client.cancel().result()

    def removed(**options: str) -> None:
        env = new_environment(start_from=path, **options)
        numbers(env, per_checkpoint=None).map(str, Types.STRING()).sink_to(sink(tmp_path / "b"))
        env.execute("second")

    unclaimed = r"no operator of this job claims: 'Sink.*' \(uid 'out'\), 'per key' \(uid 'count'\)"
    with pytest.raises(StateError, match=unclaimed):
        removed()
    removed(execution__savepoint__ignore_unclaimed_state="true")
    written = [int(line) for line in committed(tmp_path / "b")]
    assert len(written) == RECORDS - min(written) and max(written) == RECORDS - 1


def windowed(
    env: StreamExecutionEnvironment, out: Path, per_checkpoint: int | None, notes: Path | None = None
) -> DataStream:
    """Sums per key and window, behind marks that note what state they begin with."""
    stream = numbers(env, per_checkpoint).map(Marking(notes)).uid("marks")
    windows = stream.key_by(lambda number: number % KEYS).window(
        TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))
    )
    sums = windows.reduce(lambda a, b: a + b).uid("windows")
    sums.map(str, Types.STRING()).sink_to(sink(out)).uid("out")
    return stream


class Marking(MapFunction, CheckpointedFunction):
    """Keeps the numbers it has seen in a list that is dealt out, and how many in a union list; notes what it finds."""

    def __init__(self, notes: Path | None) -> None:
        self.notes = notes
        self.seen: list[int] = []

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.list = store.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.union = store.get_union_list_state(ListStateDescriptor("counts", Types.LONG()))
        self.seen = list(self.list.get())
        if self.notes is not None:
            (self.notes / uuid.uuid4().hex).write_text(json.dumps([self.seen, sum(self.union.get())]))

    def snapshot_state(self, context: Any) -> None:
        self.list.update(self.seen)
        self.union.update([len(self.seen)])

    def map(self, value: int) -> int:
        self.seen.append(value)
        return value


def sums_of_windows() -> Counter[str]:
    sums: Counter[tuple[int, int]] = Counter()
    for value in range(RECORDS):
        sums[value % KEYS, value // WINDOW_MS] += value
    return Counter(str(total) for total in sums.values())


@pytest.mark.timeout(480)
def test_the_result_does_not_depend_on_how_often_the_parallelism_changes(spark: Any, tmp_path: Path) -> None:
    path, read = None, 0
    for step, parallelism in enumerate((1, 3, 7, 4, 2)):
        notes = tmp_path / f"notes-{step}"
        notes.mkdir()
        env = new_environment(parallelism, path)
        is_last = step == 4
        windowed(env, tmp_path / "out", None if is_last else PER_CHECKPOINT, notes)
        client = env.execute_async(f"with {parallelism}")
        if not is_last:
            wait_for_records(client, read + 40)
            path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
        client.get_job_execution_result().result()
        # Lists are dealt out, each number to one subtask; unions are given to all.
        results = [json.loads(note.read_text()) for note in notes.iterdir()]
        assert len(results) == parallelism and {total for _, total in results} == {read}
        assert sorted(number for seen, _ in results for number in seen) == list(range(read))
        read = client.get_metrics()["records_read"]
    assert committed(tmp_path / "out") == sums_of_windows()


@pytest.mark.parametrize("is_draining", [True, False])
def test_a_drained_job_has_fired_all_its_windows(spark: Any, tmp_path: Path, is_draining: bool) -> None:
    env = new_environment()
    windowed(env, tmp_path / "out", PER_CHECKPOINT)
    client = env.execute_async("drained")
    wait_for_records(client)
    client.stop_with_savepoint(is_draining, str(tmp_path / "savepoints")).result()
    client.get_job_execution_result().result()
    total = sum(int(line) * count for line, count in committed(tmp_path / "out").items())
    last = client.get_metrics()["records_read"]
    everything = sum(range(last))
    assert (total == everything) if is_draining else (0 < total < everything)


def test_cancelled_with_a_savepoint(spark: Any, tmp_path: Path) -> None:
    env = new_environment(state__savepoints__dir=str(tmp_path / "savepoints"))
    windowed(env, tmp_path / "out", PER_CHECKPOINT)
    client = env.execute_async("cancelled")
    wait_for_records(client)
    path = client.cancel_with_savepoint().result()
    with pytest.raises(JobCancelledError):
        client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    env = new_environment(1, path)
    windowed(env, tmp_path / "out", None)
    env.execute("again")
    assert committed(tmp_path / "out") == sums_of_windows()


def test_the_number_of_key_groups_stays(spark: Any, tmp_path: Path) -> None:
    env = new_environment().set_max_parallelism(5)
    windowed(env, tmp_path / "out", PER_CHECKPOINT)
    client = env.execute_async("five groups")
    wait_for_records(client)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()

    def start(change: Callable[[StreamExecutionEnvironment], Any], parallelism: int = 2) -> None:
        env = new_environment(parallelism, path)
        change(env)
        windowed(env, tmp_path / "out", None)
        env.execute("again")

    with pytest.raises(StateError, match="maximum parallelism of 5, and this job sets 64"):
        start(lambda env: env.set_max_parallelism(64))
    with pytest.raises(StateError, match="maximum parallelism of 5, so it cannot run with a parallelism of 6"):
        start(lambda env: None, 6)
    # Whoever sets nothing gets what the state was written with.
    start(lambda env: None)
    assert committed(tmp_path / "out") == sums_of_windows()
