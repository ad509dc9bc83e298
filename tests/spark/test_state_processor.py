"""State in savepoints is read as streams and DataFrames, changed, and made of data; jobs go on from it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, Time, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from funke.datastream.functions import BroadcastProcessFunction
from funke.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from funke.datastream.window import TumblingEventTimeWindows
from funke.engine.errors import FunkeError, JobExecutionError, StateError
from funke.engine.jobs.checkpoints.checkpoints import read_checkpoint
from funke.engine.state.checkpointed import CheckpointedFunction
from funke.engine.types.keys.key_groups import FIRST_KEY_HASH, NEWEST_KEY_HASH
from funke.state_api import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    OperatorIdentifier,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
    StateBootstrapFunction,
    WindowReaderFunction,
)
from tests.harness.first_key_hash import first_key_hash_start
from tests.spark.job_running import collect, wait_until

pytestmark = pytest.mark.spark

KEYS = 7
COUNT = ValueStateDescriptor("count", Types.LONG())


def environment(savepoint: str | None = None, parallelism: int = 2, **settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    if savepoint is not None:
        configuration.set_string("execution.savepoint.path", savepoint)
    for key, value in settings.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)


class CountPerKey(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.values = runtime_context.get_map_state(MapStateDescriptor("values", Types.LONG(), Types.BOOLEAN()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.values.put(value % 3, True)
        ctx.timer_service().register_event_time_timer(10**15)
        yield value, count


def by_remainder(value: int) -> int:
    return value % KEYS


def counts(env: StreamExecutionEnvironment, readers: int = 2) -> Any:
    """Numbers, each with how many of its remainder have come so far; one reader gives them in order."""
    source = DataGeneratorSource(
        lambda index: index, 10**9, Types.LONG(), rate_limiter_strategy=RateLimiterStrategy.per_second(400)
    )
    numbers = (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers").set_parallelism(readers)
    )
    return numbers.key_by(by_remainder).process(CountPerKey()).uid("count").name("Counting")


def stopped_with_savepoint(env: StreamExecutionEnvironment, records: int, folder: Path) -> str:
    client = env.execute_async("count")
    assert wait_until(lambda: client._job.metrics().get("records_read", 0) >= records)
    path: str = client.stop_with_savepoint(False, str(folder)).result()
    client.get_job_execution_result().result()
    return path


@pytest.fixture(scope="module")
def savepoint(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A savepoint of the counting job."""
    env = environment()
    counts(env).print()
    return stopped_with_savepoint(env, 200, tmp_path_factory.mktemp("savepoints"))


def expected_counts(savepoint: str) -> dict[int, int]:
    """The job reads numbers in order, so the number of records tells all counts."""
    rows = SavepointReader.read(environment(), savepoint).read_state("count", COUNT, Types.LONG()).collect()
    total = sum(row.value for row in rows)
    assert total >= 200
    return {key: len(range(key, total, KEYS)) for key in range(KEYS)}


def test_one_state_as_a_data_frame(savepoint: str) -> None:
    frame = SavepointReader.read(environment(), savepoint).read_state("count", COUNT, Types.LONG())
    assert frame.schema.simpleString() == (
        "struct<key:bigint,namespace:string,value:bigint,key_group:int,ttl_time:bigint>"
    )
    assert {row.key: row.value for row in frame.collect()} == expected_counts(savepoint)


def test_all_state_as_a_data_frame(savepoint: str) -> None:
    frame = SavepointReader.read(environment(), savepoint).to_data_frame("count")
    assert {(row.operator, row.uid) for row in frame.select("operator", "uid").distinct().collect()} == {
        ("Counting", "count")
    }
    by_kind = {row["kind"]: row["count"] for row in frame.groupBy("kind").count().collect()}
    assert by_kind == {"value": KEYS, "map": KEYS, "event-timer": KEYS}
    values_by_key = {row.key: row.value for row in frame.where("state = 'count'").collect()}
    assert values_by_key == {str(key): str(value) for key, value in expected_counts(savepoint).items()}
    values = [json.loads(row.value) for row in frame.where("state = 'values'").collect()]
    assert values == [{"0": True, "1": True, "2": True}] * KEYS
    # Reading is parallel: one partition per file at least.
    assert frame.rdd.getNumPartitions() >= 2


def test_operators_are_listed(savepoint: str) -> None:
    operators = SavepointReader.read(environment(), savepoint).operators()
    results = [(entry.uid, entry.name, entry.parallelism) for entry in operators]
    assert results == [("count", "Counting", 2), ("numbers", "Source: numbers", 2)]


class ReadCount(KeyedStateReaderFunction[int, Any]):
    def __init__(self, name: str = "count") -> None:
        self.name = name

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor(self.name, Types.LONG()))

    def read_key(self, key: int, ctx: KeyedStateReaderFunction.Context) -> Iterator[Any]:
        yield key, self.count.value(), sorted(ctx.registered_event_time_timers())


def test_keyed_state_as_a_stream(savepoint: str) -> None:
    reader = SavepointReader.read(environment(), savepoint)
    result = collect(reader.read_keyed_state("count", ReadCount()))
    assert sorted(result) == [(key, value, [10**15]) for key, value in sorted(expected_counts(savepoint).items())]


class Shifted(KeyedStateBootstrapFunction[int, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        self.count.update(value[1] + 1000)


def first(value: Any) -> Any:
    return value[0]


def test_a_job_goes_on_with_changed_state_where_its_source_stood(savepoint: str, tmp_path: Path) -> None:
    env = environment()
    old = SavepointReader.read(env, savepoint).read_keyed_state("count", ReadCount())
    changed = OperatorTransformation.bootstrap_with(old).key_by(first).transform(Shifted())
    count = OperatorIdentifier.for_uid("count")
    writer = SavepointWriter.from_existing_savepoint(savepoint)
    writer.remove_operator(count).with_operator(count, changed).write(str(tmp_path / "changed"))
    # With another parallelism, so that key groups move too.
    with counts(environment(str(tmp_path / "changed"), parallelism=3)).execute_and_collect() as results:
        counts_of_rows = list(itertools.islice(results, 100))
    before = expected_counts(savepoint)
    assert min(value for value, _ in counts_of_rows) >= sum(before.values())
    for key in range(KEYS):
        # Subtasks of the source may overtake each other; the counts of a key go on one by one.
        seen = [count for value, count in counts_of_rows if value % KEYS == key]
        assert seen == [before[key] + 1000 + number for number in range(1, len(seen) + 1)]


@pytest.mark.parametrize("key_hash", [FIRST_KEY_HASH, NEWEST_KEY_HASH])
def test_a_kept_checkpoint_of_rocksdb_is_read_and_becomes_a_savepoint(
    spark: Any, tmp_path: Path, key_hash: int
) -> None:
    env = environment(
        first_key_hash_start(tmp_path / "old") if key_hash == FIRST_KEY_HASH else None,
        state__backend__type="rocksdb",
        execution__checkpointing__incremental="true",
        execution__checkpointing__interval="300 ms",
        execution__checkpointing__dir=str(tmp_path / "checkpoints"),
        execution__checkpointing__externalized_checkpoint_retention="RETAIN_ON_CANCELLATION",
    )
    counts(env, readers=1).print()
    client = env.execute_async("count")
    assert wait_until(lambda: len(list((tmp_path / "checkpoints").rglob("_metadata"))) > 0)
    assert wait_until(lambda: client._job.metrics().get("records_read", 0) >= 300)
    client.cancel().result()
    kept = max((tmp_path / "checkpoints").rglob("_metadata"), key=lambda path: int(path.parent.name.split("-")[1]))
    reader = SavepointReader.read(environment(), str(kept.parent))
    assert any(handle.native for handle in reader._savepoint.snapshots)
    assert reader._savepoint.checkpoint.key_hash == key_hash
    values_by_key = {row.key: row.value for row in reader.read_state("count", COUNT, Types.LONG()).collect()}
    assert values_by_key == {key: len(range(key, sum(values_by_key.values()), KEYS)) for key in values_by_key}
    assert {(key, count) for key, count, _ in collect(reader.read_keyed_state("count", ReadCount()))} == set(
        values_by_key.items()
    )
    writer = SavepointWriter.from_existing_savepoint(str(kept.parent)).remove_operator("numbers")
    writer.write(str(tmp_path / "copy"))
    assert continued(str(tmp_path / "copy")) == [(key, values_by_key.get(key, 0) + 1) for key in range(KEYS)]


def test_a_renamed_operator_finds_its_state(savepoint: str, tmp_path: Path) -> None:
    writer = SavepointWriter.from_existing_savepoint(savepoint).change_operator_identifier("count", "tally")
    writer.remove_operator("numbers").write(str(tmp_path / "renamed"))
    env = environment(str(tmp_path / "renamed"))
    stream = env.from_collection([0, 1, 1], Types.LONG()).key_by(by_remainder).process(CountPerKey()).uid("tally")
    before = expected_counts(savepoint)
    assert sorted(collect(stream)) == [(0, before[0] + 1), (1, before[1] + 1), (1, before[1] + 2)]


class FirstCounts(KeyedStateBootstrapFunction[int, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        self.count.update(value[1])


def continued(path: str, parallelism: int = 2) -> list[Any]:
    """What the counting operator makes of a few numbers when it starts from a savepoint."""
    env = environment(path, parallelism)
    stream = env.from_collection(list(range(KEYS)), Types.LONG()).key_by(by_remainder).process(CountPerKey())
    return sorted(collect(stream.uid("count")))


def from_collection(spark: Any) -> Any:
    return [(key, 10 * key) for key in range(KEYS)]


def from_data_frame(spark: Any) -> Any:
    return spark.createDataFrame(from_collection(spark), "key bigint, count bigint")


def from_stream(spark: Any) -> Any:
    return environment(parallelism=2).from_collection(from_collection(spark)).map(lambda pair: pair)


@pytest.mark.parametrize("make_data", [from_collection, from_data_frame, from_stream])
def test_a_job_starts_from_state_that_was_made_of_data(
    spark: Any, tmp_path: Path, make_data: Callable[[Any], Any]
) -> None:
    transformation = OperatorTransformation.bootstrap_with(make_data(spark)).key_by(first).transform(FirstCounts())
    writer = SavepointWriter.new_savepoint(128).with_operator("count", transformation)
    if make_data is from_stream:
        writer.with_configuration("state.backend.type", "rocksdb")
    writer.write(str(tmp_path / "made"))
    assert read_checkpoint(str(tmp_path / "made")).key_hash == NEWEST_KEY_HASH
    assert continued(str(tmp_path / "made"), parallelism=3) == [(key, 10 * key + 1) for key in range(KEYS)]


def test_state_that_is_made_goes_with_old_state(spark: Any, tmp_path: Path) -> None:
    """Keys are dealt out as in the savepoint that it is added to."""
    transformation = (
        OperatorTransformation.bootstrap_with(from_collection(spark)).key_by(first).transform(FirstCounts())
    )
    writer = SavepointWriter.from_existing_savepoint(first_key_hash_start(tmp_path / "old"))
    writer.with_operator("count", transformation).write(str(tmp_path / "made"))
    assert read_checkpoint(str(tmp_path / "made")).key_hash == FIRST_KEY_HASH
    assert continued(str(tmp_path / "made"), parallelism=3) == [(key, 10 * key + 1) for key in range(KEYS)]


class Buffered(StateBootstrapFunction[int]):
    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("buffer", Types.INT()))

    def process_element(self, value: int, ctx: StateBootstrapFunction.Context) -> None:
        self.state.add(value)


class SumOfBuffer(MapFunction, CheckpointedFunction):
    """Tells what its subtask found in the state it started with."""

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("buffer", Types.INT()))
        self.kept = list(self.state.get())

    def snapshot_state(self, context: Any) -> None:
        pass

    def map(self, value: int) -> Any:
        results, self.kept = self.kept, []
        return results


class Rules(BroadcastStateBootstrapFunction[Any]):
    def process_element(self, value: Any, ctx: BroadcastStateBootstrapFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class ApplyRules(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.get_broadcast_state(RULES).get(value)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        raise AssertionError("nothing is broadcast")


def test_operator_and_broadcast_state_are_made_read_and_used(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "made")
    env = environment(parallelism=3)
    buffer = OperatorTransformation.bootstrap_with(env.from_collection(range(10)).rebalance()).transform(Buffered())
    rules = OperatorTransformation.bootstrap_with(env.from_collection([("a", 1), ("b", 2)])).transform(Rules())
    SavepointWriter.new_savepoint(env, 64).with_operator("buffer", buffer).with_operator("rules", rules).write(path)

    reader = SavepointReader.read(environment(), path)
    assert sorted(collect(reader.read_list_state("buffer", "buffer", Types.INT()))) == list(range(10))
    assert sorted(collect(reader.read_broadcast_state("rules", "rules", Types.STRING(), Types.INT()))) == [
        ("a", 1),
        ("b", 2),
    ]
    kinds = [(row.uid, row.kind, row.key, row.value) for row in reader.to_data_frame().collect()]
    assert sorted(kinds, key=repr) == sorted(
        [
            *(("buffer", "operator-list", None, str(value)) for value in range(10)),
            ("rules", "broadcast", "a", "1"),
            ("rules", "broadcast", "b", "2"),
        ],
        key=repr,
    )

    env = environment(path, parallelism=2)
    result = env.from_collection(range(20)).rebalance().map(SumOfBuffer()).uid("buffer")
    words = env.from_collection(["a", "b", "c"])
    nothing = env.from_collection([], Types.STRING()).broadcast(RULES)
    ruled = words.connect(nothing).process(ApplyRules()).uid("rules")
    results = collect(result.map(lambda each: ("buffer", each)).union(ruled.map(lambda each: ("rule", each))))
    assert sorted(itertools.chain.from_iterable(each for kind, each in results if kind == "buffer")) == list(range(10))
    assert sorted(each for kind, each in results if kind == "rule" and each[1]) == [("a", 1), ("b", 2)]


def stamped(env: StreamExecutionEnvironment, records: list[Any]) -> Any:
    """Records whose last field is their time."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(LastField())
    return env.from_collection(records).assign_timestamps_and_watermarks(strategy)


class LastField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[-1])


def add(left: Any, right: Any) -> Any:
    return left[0], left[1] + right[1], max(left[2], right[2])


class ReadWindow(WindowReaderFunction[Any, Any, str, Any]):
    def read_window(self, key: str, context: WindowReaderFunction.Context[Any], elements: Any) -> Iterator[Any]:
        yield key, context.window().start, next(iter(elements))[1]


def test_windows_are_made_read_and_go_on(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "made")
    env = environment()
    assigner = TumblingEventTimeWindows.of(Time.seconds(1))
    data = stamped(env, [("a", 1, 100), ("a", 2, 200), ("b", 5, 300), ("a", 7, 1500)])
    transformation = OperatorTransformation.bootstrap_with(data).key_by(first).window(assigner).reduce(add)
    SavepointWriter.new_savepoint(128).with_operator("sums", transformation).write(path)

    windows = SavepointReader.read(environment(), path).window(assigner)
    assert sorted(collect(windows.reduce("sums", add, ReadWindow()))) == [("a", 0, 3), ("a", 1000, 7), ("b", 0, 5)]
    assert len(collect(windows.reduce("sums", add))) == 3

    late = stamped(environment(path), [("a", 100, 400), ("c", 1, 500)])
    sums = late.key_by(first).window(assigner).reduce(add).uid("sums")
    assert sorted(each[:2] for each in collect(sums)) == [("a", 7), ("a", 103), ("b", 5), ("c", 1)]


def test_unknown_names_are_rejected(savepoint: str) -> None:
    reader = SavepointReader.read(environment(), savepoint)
    with pytest.raises(StateError, match=r"no state of an operator with uid 'cuont'; .*'Counting'"):
        reader.read_keyed_state("cuont", ReadCount())
    with pytest.raises(StateError, match=r"uid 'count' has no state named 'cuont' in .*; it has 'count', 'values'"):
        reader.read_state("count", ValueStateDescriptor("cuont", Types.LONG()))
    with pytest.raises(JobExecutionError, match=r"no state named 'cuont' in .*; it has 'count', 'values'"):
        collect(reader.read_keyed_state("count", ReadCount("cuont")))
    writer = SavepointWriter.from_existing_savepoint(savepoint)
    with pytest.raises(StateError, match="no state of an operator with uid 'cuont'"):
        writer.remove_operator("cuont")
    transformation = OperatorTransformation.bootstrap_with([(1, 1)]).key_by(first).transform(FirstCounts())
    with pytest.raises(StateError, match="has an operator with uid 'count' already"):
        writer.with_operator("count", transformation)


def test_a_damaged_file_is_named(spark: Any, tmp_path: Path) -> None:
    transformation = (
        OperatorTransformation.bootstrap_with([(key, 1) for key in range(100)]).key_by(first).transform(FirstCounts())
    )
    SavepointWriter.new_savepoint(128).with_operator("count", transformation).write(str(tmp_path / "made"))
    frame = SavepointReader.read(environment(), str(tmp_path / "made")).to_data_frame()
    for path in (tmp_path / "made").iterdir():
        if path.name != "_metadata":
            content = bytearray(path.read_bytes())
            content[50] ^= 1
            path.write_bytes(bytes(content))
    with pytest.raises(Exception, match=r"made/[0-9a-f]+-\d-0' is damaged: the checksum"):
        frame.collect()
    with pytest.raises(FunkeError, match=r"made/[0-9a-f]+-\d-0' is damaged: the checksum"):
        continued(str(tmp_path / "made"))


def test_a_failed_bootstrap_leaves_no_savepoint(spark: Any, tmp_path: Path) -> None:
    transformation = OperatorTransformation.bootstrap_with([(1, "no number")]).key_by(first).transform(Shifted())
    writer = SavepointWriter.new_savepoint(128).with_operator("count", transformation)
    with pytest.raises(JobExecutionError, match="TypeError"):
        writer.write(str(tmp_path / "made"))
    assert not (tmp_path / "made").exists()
