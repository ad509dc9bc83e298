"""Queries in jobs whose slots are killed: groups, windows and frames go on where the checkpoint left them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from funke.common import Row, Types
from funke.datastream import DataStream
from funke.datastream.connectors.datagen import RateLimiterStrategy
from funke.engine.errors import StateError
from funke.engine.jobs.checkpoints.checkpoints import read_checkpoint
from funke.engine.types.keys.key_groups import FIRST_KEY_HASH, NEWEST_KEY_HASH
from funke.table import Schema, StreamTableEnvironment
from tests.faults import test_savepoints, test_sinks_restart
from tests.faults.test_savepoints import KEYS, counted, wait_for_records
from tests.faults.test_savepoints import RECORDS as NUMBERS
from tests.faults.test_savepoints import new_environment as new_savepoint_environment
from tests.faults.test_savepoints import numbers as some_numbers
from tests.faults.test_sinks_restart import RECORDS, ToRow, Transactions, kill_one, new_environment, rows
from tests.harness.exact_files import committed, sink
from tests.harness.first_key_hash import first_key_hash_start

pytestmark = [pytest.mark.spark, pytest.mark.timeout(480)]

GROUPS = 7
NUMBER = Types.ROW_NAMED(["number"], [Types.LONG()])


@pytest.fixture(scope="module", autouse=True)
def functions_by_value(request: pytest.FixtureRequest) -> Iterator[None]:
    modules = (request.module, test_savepoints, test_sinks_restart)
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    yield
    for module in modules:
        cloudpickle.unregister_pickle_by_value(module)


def as_number(row: Row) -> Row:
    """A group and how many rows it has by now, as one number."""
    return Row(row[0] * 10_000 + row[1])


def every_count() -> Counter[int]:
    sizes = Counter(number % GROUPS for number in range(RECORDS))
    return Counter(group * 10_000 + count for group, size in sizes.items() for count in range(1, size + 1))


WINDOWS = f"""
    SELECT MIN(id), COUNT(*) FROM TABLE(TUMBLE(TABLE numbers, DESCRIPTOR(ts), INTERVAL '0.1' SECOND))
    GROUP BY MOD(id, {GROUPS}), window_start, window_end
    UNION ALL
    SELECT MOD(id, {GROUPS}), COUNT(*) FROM numbers GROUP BY MOD(id, {GROUPS}), SESSION(ts, INTERVAL '1' SECOND)
"""


def every_window() -> Counter[int]:
    firsts: dict[tuple[int, int], int] = {}
    sizes: Counter[tuple[int, int]] = Counter()
    for number in range(RECORDS):
        window = number // 100, number % GROUPS
        firsts.setdefault(window, number)
        sizes[window] += 1
    sessions = Counter(number % GROUPS for number in range(RECORDS))
    tumbling = Counter(first * 10_000 + sizes[window] for window, first in firsts.items())
    return tumbling + Counter(group * 10_000 + size for group, size in sessions.items())


NUMBERED = f"""
    SELECT MOD(id, {GROUPS}) AS g, id, ROW_NUMBER() OVER (PARTITION BY MOD(id, {GROUPS}) ORDER BY %s) AS place
    FROM numbers
"""


GREATEST_OF_WINDOWS = f"""
    SELECT g, id FROM (
        SELECT MOD(id, {GROUPS}) AS g, id,
            ROW_NUMBER() OVER (PARTITION BY window_start, window_end, MOD(id, {GROUPS}) ORDER BY id DESC) AS place
        FROM TABLE(TUMBLE(TABLE numbers, DESCRIPTOR(ts), INTERVAL '0.1' SECOND))
    ) WHERE place <= 1
"""


def every_greatest() -> Counter[int]:
    greatest = {(number // 100, number % GROUPS): number for number in range(RECORDS)}
    return Counter(group * 10_000 + number for (_, group), number in greatest.items())


COUNTS = f"SELECT MOD(id, {GROUPS}) AS g, COUNT(*) AS n FROM numbers WHERE MOD(id, 2) = {{}} GROUP BY MOD(id, {GROUPS})"


IN_WINDOWS = (
    "(SELECT {}, window_start, window_end FROM TABLE(TUMBLE(TABLE numbers, DESCRIPTOR(ts), INTERVAL '0.1' SECOND))) {}"
)
# Queries whose results change, and what they leave, as `as_number` has it.
CHANGING = {
    "greatest": (
        f"SELECT g, id FROM ({NUMBERED % 'id DESC'}) WHERE place <= 2",
        [(number % GROUPS, number) for number in range(RECORDS - 2 * GROUPS, RECORDS)],
    ),
    "by value": (
        f"SELECT g, COUNT(*) OVER (PARTITION BY g ORDER BY id) FROM (SELECT MOD(id, {GROUPS}) AS g, id FROM numbers)",
        [(number % GROUPS, number // GROUPS + 1) for number in range(RECORDS)],
    ),
    "odd": (
        f"SELECT MOD(id, {GROUPS}), id FROM numbers EXCEPT "
        f"SELECT MOD(id, {GROUPS}), id FROM numbers WHERE MOD(id, 2) = 0",
        [(number % GROUPS, number) for number in range(1, RECORDS, 2)],
    ),
    "sets": (
        "(SELECT MOD(id, 5), 0 FROM numbers EXCEPT SELECT MOD(id, 2), 0 FROM numbers) INTERSECT ALL "
        "SELECT MOD(id, 4), 0 FROM numbers",
        [(2, 0), (3, 0)],
    ),
    "joined": (
        f"SELECT MOD(a.id, {GROUPS}), a.id FROM numbers a JOIN numbers b ON a.id = 2 * b.id",
        [(number % GROUPS, number) for number in range(0, RECORDS, 2)],
    ),
    "unmatched": (
        f"SELECT MOD(a.id, {GROUPS}), a.id FROM numbers a LEFT JOIN (SELECT 2 * id AS id FROM numbers) b "
        "ON a.id = b.id WHERE b.id IS NULL",
        [(number % GROUPS, number) for number in range(1, RECORDS, 2)],
    ),
    "chained": (
        f"SELECT /*+ MULTI_JOIN(a, b, c) */ MOD(a.id, {GROUPS}), a.id FROM numbers a "
        "LEFT JOIN (SELECT 2 * id AS id FROM numbers) b ON a.id = b.id "
        "JOIN (SELECT 3 * id AS id FROM numbers) c ON a.id = c.id WHERE b.id IS NULL",
        [(number % GROUPS, number) for number in range(3, RECORDS, 6)],
    ),
    "near": (
        f"SELECT MOD(a.id, {GROUPS}), a.id FROM numbers a LEFT JOIN numbers b "
        "ON a.id = 2 * b.id AND a.ts BETWEEN b.ts - INTERVAL '1' SECOND AND b.ts + INTERVAL '1' HOUR "
        "WHERE MOD(a.id, 2) <> 0 OR b.id >= 0",
        [(number % GROUPS, number) for number in range(RECORDS)],
    ),
    "in windows": (
        f"SELECT MOD(a.id, {GROUPS}), a.id FROM {IN_WINDOWS.format('id', 'a')} JOIN "
        f"{IN_WINDOWS.format('id + 1 AS id', 'b')} "
        "ON a.id = b.id AND a.window_start = b.window_start AND a.window_end = b.window_end",
        [(number % GROUPS, number) for number in range(RECORDS) if number % 100],
    ),
    "joined groups": (
        f"SELECT COALESCE(a.g, b.g), COALESCE(a.n, 0) + COALESCE(b.n, 0) FROM ({COUNTS.format(0)}) a "
        f"FULL JOIN ({COUNTS.format(1)}) b ON a.g = b.g",
        [(group, size) for group, size in Counter(number % GROUPS for number in range(RECORDS)).items()],
    ),
}
# Several groups have the same primary key: the rows of all of them are kept.
SAME_KEYS = f"""
    SELECT MOD(g, 2) AS h, CASE WHEN n > 0 THEN 5 END AS five
    FROM (SELECT MOD(id, {GROUPS}) AS g, COUNT(*) AS n FROM numbers GROUP BY MOD(id, {GROUPS}))
"""


def as_signed_number(row: Row) -> Row:
    """A group and the number behind one of its numbers, which is not 0; what is taken back has a minus."""
    is_added = row.get_row_kind().name in ("INSERT", "UPDATE_AFTER")
    return Row((1 if is_added else -1) * (as_number(row)[0] + 1))


def folded(signed: Counter[int]) -> Counter[int]:
    """What is left of numbers that were written and taken back."""
    left: Counter[int] = Counter()
    for number, count in signed.items():
        left[abs(number)] += count if number > 0 else -count
    return Counter({number: count for number, count in left.items() if count})


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_slot_is_killed(spark: Any, tmp_path: Path, backend: str) -> None:
    """Every count of a group is written once, by its changes and by the frames of an OVER, and every window once.

    Each group has one first row, and each of its windows one greatest number; what queries whose results change leave
    is right.
    """
    pids = tmp_path / "pids"
    pids.mkdir()
    env = new_environment(tmp_path / "checkpoints")
    env.configure(_with_backend(backend))
    t_env = StreamTableEnvironment.create(env)
    # By checkpoints and not by time: one is complete before the input ends, however busy the machine is.
    numbers = rows(env, ToRow(pid_folder=str(pids)), RateLimiterStrategy.per_checkpoint(100))
    schema = Schema.new_builder().column("id", "BIGINT").column("name", "STRING")
    schema = schema.column_by_expression("p", "PROCTIME()").column_by_expression("ts", "TO_TIMESTAMP_LTZ(id, 3)")
    # No number is late, whatever was read before it; windows are open until all have come.
    t_env.create_temporary_view("numbers", numbers, schema.watermark("ts", "ts - INTERVAL '1' HOUR").build())
    counts = t_env.sql_query(f"SELECT MOD(id, {GROUPS}) AS g, COUNT(*) AS n FROM numbers GROUP BY MOD(id, {GROUPS})")
    changes = t_env.to_changelog_stream(counts).filter(
        lambda row: row.get_row_kind().name in ("INSERT", "UPDATE_AFTER")
    )
    frames = t_env.to_data_stream(
        t_env.sql_query(
            f"SELECT g, COUNT(*) OVER (PARTITION BY g ORDER BY p) FROM (SELECT MOD(id, {GROUPS}) AS g, p FROM numbers)"
        )
    )
    windows = t_env.to_data_stream(t_env.sql_query(WINDOWS))
    firsts = t_env.to_data_stream(t_env.sql_query(f"SELECT g, 1 FROM ({NUMBERED % 'p'}) WHERE place = 1"))
    greatest = t_env.to_data_stream(t_env.sql_query(GREATEST_OF_WINDOWS))
    streams = {"groups": changes, "frames": frames, "windows": windows, "firsts": firsts, "greatest of": greatest}
    sinks = [_written(stream, tmp_path / name) for name, stream in streams.items()]
    changing = {name: t_env.to_changelog_stream(t_env.sql_query(query)) for name, (query, _) in CHANGING.items()}
    by_key = Schema.new_builder().column("h", "BIGINT NOT NULL").column("five", "INT").primary_key("h").build()
    changing["same keys"] = t_env.to_changelog_stream(t_env.sql_query(SAME_KEYS), by_key)
    signed = {name: _written(stream, tmp_path / name, as_signed_number) for name, stream in changing.items()}
    killer = kill_one(pids, tmp_path / "checkpoints")
    client = env.execute_async("counts")
    client.get_job_execution_result().result()
    killer.join()
    one_each = Counter(group * 10_000 + 1 for group in range(GROUPS))
    expected = [every_count(), every_count(), every_window(), one_each, every_greatest()]
    assert [sink.committed() for sink in sinks] == expected
    for name, (_, left) in CHANGING.items():
        assert folded(signed[name].committed()) == Counter(group * 10_000 + n + 1 for group, n in left), name
    # Updates by key take nothing back.
    assert set(folded(signed["same keys"].committed())) == {6, 10_006}
    assert client.get_metrics()["numRestarts"] >= 1


def _with_backend(backend: str) -> Any:
    from funke.common import Configuration

    return Configuration().set_string("state.backend.type", backend)


def _written(stream: DataStream, folder: Path, to_number: Callable[[Row], Row] = as_number) -> Transactions:
    sink = Transactions(folder)
    stream.map(to_number, NUMBER).add_sink(sink)
    return sink


def counted_numbers(t_env: StreamTableEnvironment, numbers: DataStream, condition: str) -> DataStream:
    """Lines: the how-manieth number of its key each one is, and how many there are in each window."""
    schema = (
        Schema.new_builder()
        .column("f0", "BIGINT")
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(f0, 3)")
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    t_env.create_temporary_view("numbers", numbers, schema)
    counts = t_env.sql_query(f"SELECT MOD(f0, {KEYS}), COUNT(*) FROM numbers {condition} GROUP BY MOD(f0, {KEYS})")
    changes = t_env.to_changelog_stream(counts).filter(lambda row: row.get_row_kind().name != "UPDATE_BEFORE")
    windows = t_env.sql_query(f"""
        SELECT MIN(f0), COUNT(*) FROM TABLE(TUMBLE(TABLE numbers, DESCRIPTOR(ts), INTERVAL '0.1' SECOND)) {condition}
        GROUP BY window_start, window_end, MOD(f0, {GROUPS})
    """)
    lines = changes.map(lambda row: f"{row[0]}:{row[1]}", Types.STRING())
    return lines.union(t_env.to_data_stream(windows).map(lambda row: f"{row[0]}:{row[1]} in a window", Types.STRING()))


def totals(t_env: StreamTableEnvironment, numbers: DataStream, *queries: str) -> DataStream:
    """Lines of several queries over the numbers: the values of each row by their names."""
    t_env.create_temporary_view("numbers", numbers, Schema.new_builder().column("f0", "BIGINT").build())
    streams = []
    for query in queries:
        rows = t_env.to_changelog_stream(t_env.sql_query(query))
        latest = rows.filter(lambda row: row.get_row_kind().name != "UPDATE_BEFORE")
        streams.append(latest.map(lambda row: str(sorted(row.as_dict().items())), Types.STRING()))
    first, *others = streams
    return first.union(*others)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_queries_whose_parts_have_moved_go_on_and_changed_ones_are_rejected(
    spark: Any, tmp_path: Path, backend: str
) -> None:
    """Aggregates change places, and so do queries that differ in their conditions alone."""
    grouped = f"SELECT MOD(f0, {KEYS}) AS k, {{}} FROM numbers WHERE MOD(f0, 2) = {{}} GROUP BY MOD(f0, {KEYS})"
    odd, even = (grouped.format("SUM(f0) AS s, COUNT(*) AS n, MIN(f0) AS m", part) for part in (1, 0))
    env = new_savepoint_environment(**{"state.backend.type": backend})
    written = totals(StreamTableEnvironment.create(env), some_numbers(env), odd, even)
    written.sink_to(sink(tmp_path / "out")).uid("out")
    client = env.execute_async("first")
    wait_for_records(client)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    client.get_job_execution_result().result()
    assert 0 < sum(committed(tmp_path / "out").values()) < NUMBERS

    env = new_savepoint_environment(1, path)
    changed = grouped.format("MAX(f0) AS s, COUNT(*) AS n, MIN(f0) AS m", 0)
    rejected = totals(StreamTableEnvironment.create(env), some_numbers(env, None), odd, changed)
    rejected.sink_to(sink(tmp_path / "other")).uid("out")
    with pytest.raises(StateError, match=r"no aggregate MAX\(f0 BIGINT\), .* written with SUM\(f0 BIGINT\), COUNT"):
        env.execute("refused")

    env = new_savepoint_environment(3, path, **{"state.backend.type": backend})
    moved = [grouped.format("COUNT(*) AS n, MIN(f0) AS m, SUM(f0) AS s", part) for part in (0, 1)]
    again = totals(StreamTableEnvironment.create(env), some_numbers(env, None), *moved)
    again.sink_to(sink(tmp_path / "out")).uid("out")
    env.execute("second")
    groups: dict[tuple[int, int], list[int]] = {}
    for number in range(NUMBERS):
        groups.setdefault((number % KEYS, number % 2), []).append(number)
    lines = committed(tmp_path / "out")
    assert sum(lines.values()) == NUMBERS
    for (key, _), own in groups.items():
        values = {"k": key, "s": sum(own), "n": len(own), "m": own[0]}
        # The last line of each group, whatever order the numbers came in.
        assert lines[str(sorted(values.items()))] == 1


@pytest.mark.parametrize("key_hash", [FIRST_KEY_HASH, NEWEST_KEY_HASH])
def test_a_changed_query_goes_on_from_a_savepoint(spark: Any, tmp_path: Path, key_hash: int) -> None:
    """With a condition more, another parallelism and another backend; also by an old hash for keys."""
    start = first_key_hash_start(tmp_path / "old") if key_hash == FIRST_KEY_HASH else None
    env = new_savepoint_environment(2, start, **{"state.backend.type": "rocksdb"})
    counted_numbers(StreamTableEnvironment.create(env), some_numbers(env), "").sink_to(sink(tmp_path / "out")).uid(
        "out"
    )
    client = env.execute_async("first")
    wait_for_records(client)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    client.get_job_execution_result().result()
    assert 0 < sum(committed(tmp_path / "out").values()) < NUMBERS
    assert read_checkpoint(path).key_hash == key_hash

    env = new_savepoint_environment(3, path)
    again = counted_numbers(StreamTableEnvironment.create(env), some_numbers(env, None), "WHERE f0 >= 0")
    again.sink_to(sink(tmp_path / "out")).uid("out")
    env.execute("second")
    windows = Counter((number // 100, number % GROUPS) for number in range(NUMBERS))
    firsts = {(number // 100, number % GROUPS): number for number in reversed(range(NUMBERS))}
    expected = Counter(f"{firsts[window]}:{size} in a window" for window, size in windows.items())
    assert committed(tmp_path / "out") == counted() + expected
