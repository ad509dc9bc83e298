"""Partial matches outlive a killed slot and a savepoint with another parallelism; another pattern gets none."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from funke.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternProcessFunction
from funke.common import Row, Time, Types
from funke.datastream import DataStream, MapFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.state import ValueStateDescriptor
from funke.engine.errors import StateError
from funke.engine.operators.patterns.runs import EVENT, KeyRuns, path_of
from funke.state_api import KeyedStateReaderFunction, SavepointReader
from funke.table import DataTypes, Schema, StreamTableEnvironment
from tests.faults.test_savepoints import KEYS, RECORDS, Timestamps, new_environment, numbers, wait_for_records
from tests.harness.exact_files import committed, sink

pytestmark = pytest.mark.spark

RESTARTS = {
    "restart_strategy__type": "fixed-delay",
    "restart_strategy__fixed_delay__attempts": "3",
    "restart_strategy__fixed_delay__delay": "100 ms",
}


class KillOnce(MapFunction):
    """Ends its process when it sees a number in the first attempt."""

    def __init__(self, number: int) -> None:
        self.number = number

    def open(self, runtime_context: RuntimeContext) -> None:
        self.attempt = runtime_context.get_attempt_number()

    def map(self, value: int) -> int:
        if value == self.number and self.attempt == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return value


class ReadPartialMatches(KeyedStateReaderFunction):
    """The key of each partial match, and the numbers that it has taken."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("partial-matches", Types.PICKLED_BYTE_ARRAY())
        self.runs = runtime_context.get_state(descriptor)

    def read_key(self, key: Any, ctx: Any) -> Iterator[tuple[int, list[int]]]:
        for run in KeyRuns.of(self.runs.value()).runs:
            yield key, [link[EVENT] for link in path_of(run)]


def rounds(stream: DataStream, length: int) -> DataStream:
    """Each key's events, so many at a time."""
    pattern = Pattern.begin("first", AfterMatchSkipStrategy.skip_past_last_event()).next("rest").times(length - 1)
    matches = CEP.pattern(stream.key_by(lambda number: number % KEYS), pattern.consecutive())
    return matches.select(
        lambda match: ",".join(map(str, [*match["first"], *match["rest"]])), output_type=Types.STRING()
    ).uid("rounds")


def expected(length: int) -> Counter[str]:
    of_keys = [list(range(key, RECORDS, KEYS)) for key in range(KEYS)]
    starts = [(of_key, start) for of_key in of_keys for start in range(0, len(of_key) - length + 1, length)]
    return Counter(",".join(map(str, of_key[start : start + length])) for of_key, start in starts)


def test_kill_and_rescale_in_the_middle_of_a_match(spark: Any, tmp_path: Path) -> None:
    env = new_environment()
    rounds(numbers(env), 5).sink_to(sink(tmp_path / "out")).uid("out")
    client = env.execute_async("first")
    wait_for_records(client)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    before = committed(tmp_path / "out")
    assert 0 < sum(before.values()) < sum(expected(5).values())
    with (
        SavepointReader.read(new_environment(), path)
        .read_keyed_state("rounds", ReadPartialMatches())
        .execute_and_collect() as results
    ):
        partial = sorted(results, key=lambda actual: len(actual[1]))
    # Of the partial matches of a key the longest has begun where the last round has ended.
    longest = dict(partial)
    assert longest and set(longest) <= set(range(KEYS))
    for key, part in longest.items():
        start = part[0] // KEYS
        assert start % 5 == 0 and part == [(start + index) * KEYS + key for index in range(len(part))]

    env = new_environment(start_from=path)
    rounds(numbers(env, per_checkpoint=None), 4).sink_to(sink(tmp_path / "other")).uid("out")
    with pytest.raises(StateError, match=r"it was written with the pattern .*'rest' .4,4. next"):
        env.execute("another pattern")

    env = new_environment(3, path, state__backend__type="rocksdb", **RESTARTS)
    stream = numbers(env, per_checkpoint=None).map(KillOnce(RECORDS - 100), Types.LONG())
    rounds(stream, 5).sink_to(sink(tmp_path / "out")).uid("out")
    env.execute("second")
    assert committed(tmp_path / "out") == expected(5)


class Joined(PatternProcessFunction):
    def process_match(self, match: Mapping[str, list[Any]], ctx: PatternProcessFunction.Context) -> Iterator[str]:
        numbers = [each[0] for name in ("first", "rest") for each in match[name]]
        yield f"{ctx.pattern_version()}:{','.join(map(str, numbers))}"


def changing_rounds(stream: DataStream, change_ms: int) -> DataStream:
    """Rounds of five, of four from an event time on."""

    def definition(version: int, length: int, from_ms: int) -> str:
        pattern = Pattern.begin("first", AfterMatchSkipStrategy.skip_past_last_event()).next("rest").times(length - 1)
        text = pattern.consecutive().within(Time.days(1)).to_json()
        return json.dumps({"id": "rounds", "version": version, "from": from_ms, "pattern": text})

    env = stream.get_execution_environment()
    definitions = env.from_collection([definition(1, 5, 0), definition(2, 4, change_ms)], Types.STRING())
    keyed = stream.map(lambda number: (number,), Types.TUPLE([Types.LONG()])).key_by(lambda row: row[0] % KEYS)
    return CEP.dynamic_patterns(keyed, definitions.uid("definitions")).process(Joined(), Types.STRING()).uid("rounds")


def expected_changing(change: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for key in range(KEYS):
        of_key = list(range(key, RECORDS, KEYS))
        for version, length, own in (
            (1, 5, [each for each in of_key if each < change]),
            (2, 4, [each for each in of_key if each >= change]),
        ):
            for start in range(0, len(own) - length + 1, length):
                counts[f"{version}:{','.join(map(str, own[start : start + length]))}"] += 1
    return counts


def test_patterns_that_change_survive_a_kill_and_other_parallelism_and_backend(spark: Any, tmp_path: Path) -> None:
    change = RECORDS // 2
    env = new_environment(state__backend__type="rocksdb")
    change_ms = Timestamps().extract_timestamp(change, 0)
    changing_rounds(numbers(env), change_ms).sink_to(sink(tmp_path / "out")).uid("out")
    client = env.execute_async("first")
    wait_for_records(client)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    before = committed(tmp_path / "out")
    assert sum(before.values()) < sum(expected_changing(change).values())

    env = new_environment(3, path, **RESTARTS)
    stream = numbers(env, per_checkpoint=None).map(KillOnce(RECORDS - 100), Types.LONG())
    changing_rounds(stream, change_ms).sink_to(sink(tmp_path / "out")).uid("out")
    env.execute("second")
    assert committed(tmp_path / "out") == expected_changing(change)


QUERY = """SELECT * FROM numbers MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ts
    MEASURES MATCH_NUMBER() AS number, CLASSIFIER() AS kind, PREV(n) AS n_before, SUM(n) AS so_far
    ALL ROWS PER MATCH AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A (B | C) D{2}) DEFINE B AS MOD(B.n, 8) < %d, C AS C.n > A.n, D AS SUM(D.n) > PREV(D.n))"""


def matched_rows(env: StreamExecutionEnvironment, stream: DataStream, folder: Path, limit: int = 4) -> None:
    """Rounds of four rows, each row with the number of its round and its part in it."""
    t_env = StreamTableEnvironment.create(env)
    rows = stream.map(
        lambda number: Row(number % KEYS, number), Types.ROW_NAMED(["k", "n"], [Types.LONG(), Types.LONG()])
    ).uid("rows")
    schema = Schema.new_builder().column("k", DataTypes.BIGINT()).column("n", DataTypes.BIGINT())
    schema = schema.column_by_metadata("ts", DataTypes.TIMESTAMP_LTZ(3), "rowtime").watermark(
        "ts", "SOURCE_WATERMARK()"
    )
    t_env.create_temporary_view("numbers", t_env.from_data_stream(rows, schema.build()))
    matches = t_env.to_data_stream(t_env.sql_query(QUERY % limit))
    lines = matches.map(
        lambda row: f"{row.k} {row.number} {row.kind} {row.n_before} {row.n} {row.so_far}", Types.STRING()
    )
    lines.uid("lines").sink_to(sink(folder)).uid("out")


def expected_rows() -> Counter[str]:
    lines: Counter[str] = Counter()
    for key in range(KEYS):
        of_key = list(range(key, RECORDS, KEYS))
        for start in range(0, len(of_key) - 3, 4):
            second = "B" if of_key[start + 1] % 8 < 4 else "C"
            for index, kind in enumerate(("A", second, "D", "D"), start):
                before = of_key[index - 1] if index else None
                so_far = sum(of_key[start : index + 1])
                lines[f"{key} {start // 4 + 1} {kind} {before} {of_key[index]} {so_far}"] += 1
    return lines


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_rows_of_matches_survive_a_kill_and_other_parallelism(spark: Any, tmp_path: Path, backend: str) -> None:
    env = new_environment(state__backend__type=backend)
    matched_rows(env, numbers(env), tmp_path / "out")
    client = env.execute_async("first")
    wait_for_records(client)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    before = committed(tmp_path / "out")
    assert 0 < sum(before.values()) < sum(expected_rows().values())

    env = new_environment(start_from=path)
    matched_rows(env, numbers(env, per_checkpoint=None), tmp_path / "other", limit=3)
    with pytest.raises(StateError, match="the pattern"):
        env.execute("another pattern")

    env = new_environment(3, path, state__backend__type="rocksdb" if backend == "hashmap" else "hashmap", **RESTARTS)
    stream = numbers(env, per_checkpoint=None).map(KillOnce(RECORDS - 100), Types.LONG()).uid("kill")
    matched_rows(env, stream, tmp_path / "out")
    env.execute("second")
    assert committed(tmp_path / "out") == expected_rows()
