"""A query that starts from the state of another one: what only moved goes on exactly, what changed is rejected."""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from funke.engine.errors import StateError
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS
from funke.engine.sql.plan.changelogs.sink_materialize import SinkMaterialize
from funke.engine.types.logical.sql_text import from_sql_text
from funke.engine.types.row import RowKind
from tests.harness.restored_queries import FedTable, Query, Rows, Savepoint, Unclaimed
from tests.harness.sql_changelogs import Change

BACKENDS = ("hashmap", "rocksdb")
_TYPES = {"k": "STRING", "k2": "STRING", "v": "BIGINT", "i": "BIGINT", "d": "DOUBLE"}
_TIME = Column("ts", from_sql_text("TIMESTAMP(3)"), TimeAttribute.ROWTIME)
COLUMNS = (*(Column(name, from_sql_text(each)) for name, each in _TYPES.items()), _TIME)
_KEYED = (Column("k", from_sql_text("STRING NOT NULL")), *COLUMNS[1:])
TABLES = {
    "t": FedTable("t", COLUMNS),
    "u": FedTable("u", COLUMNS),
    "c": FedTable("c", COLUMNS, ALL_KINDS),
    # Updates come without the rows before them.
    "upserts": FedTable("upserts", _KEYED, ALL_KINDS - {RowKind.UPDATE_BEFORE}, ("k",)),
    "others": FedTable("others", _KEYED, ALL_KINDS - {RowKind.UPDATE_BEFORE}, ("k",)),
    "versions": FedTable("versions", _KEYED, ALL_KINDS, ("k",)),
}
_EPOCH = datetime.datetime(1970, 1, 1)


def rows(seed: int, first_second: int, count: int = 12) -> dict[str, Rows]:
    """Rows of all tables; those of the table that changes are taken back now and then."""
    random_rows = random.Random(seed)

    def row(second: float) -> tuple[Any, ...]:
        choose = random_rows.choice
        values = (choose("ab"), choose("ab"), choose((None, 1, 2, 3, 4)), choose((1, 2, 3)), choose((0.5, 1.5)))
        return (*values, _EPOCH + datetime.timedelta(seconds=first_second + second))

    created = {name: [("+I", row(index * 0.5)) for index in range(count)] for name in ("t", "u")}
    changes: list[Change] = []
    for index in range(count):
        values_of_row = row(index * 0.5)
        changes.append(("+I", values_of_row))
        if random_rows.random() < 0.3:
            changes.append(("-D", values_of_row))
    updates = [("+U", row(index * 0.5)) for index in range(count)]
    return {**created, "c": changes, "upserts": updates, "versions": [("+I", values) for _, values in updates]}


FIRST, SECOND = rows(1, 0), rows(2, 6)
AT_FIRST, AT_SECOND, AT_END = 5_000, 10_000, 100_000


def saved(
    text: str, backend: str = "hashmap", settings: Mapping[str, str] | None = None, **arguments: Any
) -> Savepoint:
    """The state of a query after the first rows."""
    query = Query(text, TABLES, backend=backend, settings=settings, **arguments)
    query.feed(FIRST, AT_FIRST)
    return query.savepoint()


def went_on(query: Query, fed: Mapping[str, Rows] = SECOND) -> list[Change]:
    """What comes out for the other rows, in an order of its own."""
    changes = [*query.feed(fed, AT_SECOND), *query.feed({}, AT_END)]
    query.close()
    return sorted(changes, key=repr)


def undisturbed(text: str, **arguments: Any) -> list[Change]:
    """The same of a query that has seen all rows."""
    query = Query(text, TABLES, **arguments)
    query.feed(FIRST, AT_FIRST)
    return went_on(query)


TUMBLE = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '{0}' SECOND))"
SESSION = "TABLE(SESSION(TABLE t PARTITION BY {0}, DESCRIPTOR(ts), INTERVAL '{1}' SECOND))"


def grouped(calls: str, key: str = "k", source: str = "t") -> str:
    return f"SELECT {key}, {calls} FROM {source} GROUP BY {key}"


def windowed(calls: str, size: object = 4, key: str = "k", source: str = TUMBLE) -> str:
    return f"SELECT {key}, {calls}, window_end FROM {source.format(size)} GROUP BY {key}, window_start, window_end"


def in_sessions(calls: str, gap: int = 2, key: str = "k") -> str:
    return f"SELECT {key}, {calls}, window_end FROM {SESSION.format(key, gap)} GROUP BY {key}, window_start, window_end"


def over(calls: str, key: str = "k", frame: str = "", columns: str = "k, v") -> str:
    window = f"OVER (PARTITION BY {key} ORDER BY ts {frame})"
    return f"SELECT {columns}, {', '.join(f'{each} {window}' for each in calls.split('; '))} FROM t"


def top(last: int = 2, key: str = "k", order: str = "v DESC", columns: str = "k, v, i", source: str = "t") -> str:
    number = f"ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {order}) AS n"
    return f"SELECT {columns} FROM (SELECT *, {number} FROM {source}) WHERE n <= {last}"


def window_top(last: int = 2, key: str = "k", order: str = "v DESC", size: int = 4, columns: str = "k, v, i") -> str:
    number = f"ROW_NUMBER() OVER (PARTITION BY window_start, window_end, {key} ORDER BY {order}) AS n"
    return f"SELECT {columns} FROM (SELECT *, {number} FROM {TUMBLE.format(size)}) WHERE n <= {last}"


HOP = "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '{0}' SECOND))"
CUMULATE = "TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '{0}' SECOND))"
OFFSET = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '{0}' SECOND, INTERVAL '1' SECOND))"

VERSIONED = "SELECT {0} FROM t JOIN versions FOR SYSTEM_TIME AS OF t.ts ON {1} = versions.k"

# What is written, what starts from it: only places, names and what is left out have changed.
MOVED = {
    "calls swapped": (grouped("SUM(v), COUNT(*)"), grouped("COUNT(*), SUM(v)")),
    "a call left out": (grouped("SUM(v), COUNT(*), MAX(i)"), grouped("MAX(i), SUM(v)")),
    "all calls left out": (grouped("SUM(v)"), "SELECT DISTINCT k FROM t"),
    "other names": (
        grouped("SUM(v), AVG(d)"),
        "SELECT x, AVG(z), SUM(y) FROM (SELECT d z, v y, k x FROM t) GROUP BY x",
    ),
    "distinct calls swapped": (
        grouped("COUNT(DISTINCT v), COUNT(DISTINCT i), SUM(DISTINCT v), COUNT(*)"),
        grouped("SUM(DISTINCT v), COUNT(*), COUNT(DISTINCT v), COUNT(DISTINCT i)"),
    ),
    "a distinct call left out": (
        grouped("COUNT(DISTINCT v) FILTER (WHERE i > 1), SUM(DISTINCT v), AVG(d)"),
        grouped("AVG(d), SUM(DISTINCT v)"),
    ),
    "changes": (grouped("SUM(v), MIN(i), COUNT(DISTINCT v)", source="c"), grouped("MIN(i), SUM(v)", source="c")),
    "windows": (windowed("SUM(v), MAX(i), AVG(d)"), windowed("AVG(d), SUM(v)")),
    "windows of objects": (windowed("COUNT(DISTINCT v), LISTAGG(k2)"), windowed("LISTAGG(k2), COUNT(DISTINCT v)")),
    "hopping": (windowed("SUM(v), MAX(i)", source=HOP), windowed("MAX(i), SUM(v)", source=HOP)),
    "cumulating": (windowed("SUM(v), MAX(i)", source=CUMULATE), windowed("MAX(i)", source=CUMULATE)),
    "sessions": (in_sessions("SUM(v), COUNT(*)"), in_sessions("COUNT(*), SUM(v)")),
    "over": (over("SUM(v); COUNT(i)"), over("COUNT(i); SUM(v)", columns="v AS w, k AS l")),
    "over rows": (
        over("SUM(v); COUNT(i)", frame="ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
        over("COUNT(i)", frame="ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", columns="k"),
    ),
    "over values": (
        "SELECT i, SUM(v) OVER (PARTITION BY k ORDER BY i), COUNT(*) OVER (PARTITION BY k ORDER BY i) FROM t",
        "SELECT COUNT(*) OVER (PARTITION BY k ORDER BY i), i FROM t",
    ),
    "first rows": (top(), top(columns="i, k AS l")),
    "the first row": (top(1), top(1, columns="i, v")),
    "rows that change": (top(source="c"), top(source="c", columns="i, v, k")),
    "first rows of windows": (window_top(), window_top(columns="i, v, k")),
    "the earliest row": (top(1, order="ts"), top(1, order="ts", columns="v, k")),
    "the latest row": (top(1, order="ts DESC"), top(1, order="ts DESC", columns="v, k")),
    "rows of both": (
        "SELECT k, v FROM t INTERSECT SELECT k, v FROM u",
        "SELECT k a, v b FROM t INTERSECT SELECT k, v FROM u",
    ),
    "unions in another order": (
        grouped("SUM(v)", source="(SELECT k, v FROM t UNION ALL SELECT k, v FROM u)"),
        grouped("SUM(v)", source="(SELECT k, v FROM u UNION ALL SELECT k, v FROM t)"),
    ),
    "groups of groups": (
        "SELECT s, COUNT(*), MAX(k) FROM (SELECT k, k2, SUM(v) s FROM t GROUP BY k, k2) GROUP BY s",
        "SELECT s, COUNT(*) FROM (SELECT k2, COUNT(*), SUM(v) s, k FROM t GROUP BY k, k2) GROUP BY s",
    ),
    "by time": ("SELECT k, v FROM t ORDER BY ts", "SELECT k AS l, v AS w FROM t ORDER BY ts"),
    "first ones of all": ("SELECT k, v FROM t ORDER BY v LIMIT 3", "SELECT k AS l, v AS w FROM t ORDER BY v LIMIT 3"),
    "versions": (
        VERSIONED.format("t.v, t.i, versions.d, versions.v", "t.k"),
        VERSIONED.format("versions.v, t.i", "t.k"),
    ),
    "updates by key": ("SELECT k, v, i FROM upserts", "SELECT i, k FROM upserts"),
}

# What is written, what starts from it, and what the error says of both.
CHANGED = {
    "function": (
        grouped("SUM(v)"),
        grouped("MAX(v)"),
        r"no aggregate MAX\(t.v BIGINT\).* written with SUM\(t.v BIGINT\)",
    ),
    "argument": (grouped("SUM(v)"), grouped("SUM(i)"), r"no aggregate SUM\(t.i BIGINT\).* with SUM\(t.v BIGINT\)"),
    "computed": (grouped("SUM(v + 1)"), grouped("SUM(v + 2)"), r"no aggregate SUM\(\+\(t.v, 2\) .*SUM\(\+\(t.v, 1\)"),
    "distinct": (grouped("SUM(v)"), grouped("SUM(DISTINCT v)"), r"no aggregate .*DISTINCT"),
    "not distinct": (grouped("SUM(DISTINCT v)"), grouped("SUM(v)"), r"no aggregate SUM\(t.v"),
    "filter": (grouped("SUM(v)"), grouped("SUM(v) FILTER (WHERE i > 1)"), r"no aggregate SUM\(t.v BIGINT\) FILTER"),
    "other filter": (
        grouped("SUM(v) FILTER (WHERE i > 1)"),
        grouped("SUM(v) FILTER (WHERE i > 2)"),
        r"FILTER .*t.i, 2.*FILTER .*t.i, 1",
    ),
    "type": (grouped("SUM(v)"), grouped("SUM(CAST(v AS INT))"), r"no aggregate SUM\(CAST\(t.v, INT\) INT\)"),
    "added": (grouped("SUM(v)"), grouped("SUM(v), COUNT(*)"), r"no aggregate COUNT\(\*\)"),
    "key": (grouped("SUM(v)"), grouped("SUM(v)", "k2"), "GROUP BY t.k STRING, and this job has GROUP BY t.k2 STRING"),
    "keys": (grouped("SUM(v)", "k, k2"), grouped("SUM(v)", "k2, k"), "GROUP BY t.k STRING, t.k2 STRING, and this job"),
    "table": (grouped("SUM(v)"), grouped("SUM(v)", source="u"), r"GROUP BY t.k STRING, and this job has GROUP BY u.k"),
    "changes": (grouped("SUM(v)", source="c"), grouped("SUM(v)", source="(SELECT * FROM c WHERE i > 1)"), "condition"),
    "window size": (windowed("SUM(v)", 4), windowed("SUM(v)", 3), "size 4000 ms.* and this job has .*size 3000 ms"),
    "window kind": (windowed("SUM(v)", 4), windowed("SUM(v)", 4, source=HOP), "TUMBLE.* and this job has windows HOP"),
    "window offset": (windowed("SUM(v)", 4), windowed("SUM(v)", 4, source=OFFSET), "this job has .*offset 1000 ms"),
    "window key": (windowed("SUM(v)"), windowed("SUM(v)", key="k2"), "GROUP BY t.k STRING, and this job has"),
    "window function": (windowed("SUM(v)"), windowed("MIN(v)"), r"no aggregate MIN\(t.v BIGINT\)"),
    "session gap": (in_sessions("SUM(v)", 2), in_sessions("SUM(v)", 3), "SESSION.*size 2000 ms.*size 3000 ms"),
    "session function": (in_sessions("SUM(v)"), in_sessions("MAX(v)"), r"no aggregate MAX\(t.v BIGINT\)"),
    "rows of sessions": (
        f"SELECT k, v, window_end FROM {SESSION.format('k', 2)}",
        f"SELECT k, v, window_end FROM {SESSION.format('k', 3)}",
        "SESSION.*size 2000 ms.*size 3000 ms",
    ),
    "over function": (over("SUM(v)"), over("SUM(i)"), r"no aggregate SUM\(t.i BIGINT\)"),
    "over key": (over("SUM(v)"), over("SUM(v)", "k2"), "PARTITION BY t.k STRING, and this job has PARTITION BY t.k2"),
    "over frame": (
        over("SUM(v)", frame="ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
        over("SUM(v)", frame="ROWS BETWEEN 3 PRECEDING AND CURRENT ROW"),
        "the frame 2 rows PRECEDING, and this job has the frame 3 rows PRECEDING",
    ),
    "over columns": (over("SUM(v)"), over("SUM(v)", columns="k, v, d"), "no column t.d DOUBLE"),
    "over values": (
        "SELECT i, SUM(v) OVER (PARTITION BY k ORDER BY i) FROM t",
        "SELECT i, MAX(v) OVER (PARTITION BY k ORDER BY i) FROM t",
        "no aggregate MAX",
    ),
    "over other values": (
        "SELECT i, v, SUM(v) OVER (PARTITION BY k ORDER BY i) FROM t",
        "SELECT i, v, SUM(v) OVER (PARTITION BY k ORDER BY v) FROM t",
        "ORDER BY t.i .* this job has ORDER BY t.v",
    ),
    "rank order": (top(), top(order="i DESC"), "ORDER BY t.v BIGINT DESC.* this job has ORDER BY t.i BIGINT DESC"),
    "rank direction": (top(), top(order="v ASC"), "ORDER BY t.v BIGINT DESC.* this job has ORDER BY t.v BIGINT ASC"),
    "rank range": (top(2), top(3), "numbers 1 to 2, and this job has numbers 1 to 3"),
    "rank key": (top(), top(key="k2"), "PARTITION BY t.k STRING, and this job has PARTITION BY t.k2 STRING"),
    "rank columns": (top(), top(columns="k, v, d"), "no column t.d DOUBLE"),
    "rank number": (top(), top(columns="k, v, i, n"), "rows told by themselves, and this job has rows told by number"),
    "one row": (top(1), top(1, order="i DESC"), "ORDER BY t.v BIGINT DESC"),
    "one row's column": (top(1), top(1, columns="k, v, d"), "no column t.d DOUBLE"),
    "rank of changes": (top(source="c"), top(source="c", order="i"), "ORDER BY c.v"),
    "window rank": (window_top(), window_top(order="i"), "ORDER BY t.v"),
    "window rank's windows": (window_top(), window_top(size=3), "size 4000 ms.* this job has .*size 3000 ms"),
    "window rank's range": (window_top(2), window_top(3), "numbers 1 to 2"),
    "earliest": (top(1, order="ts"), top(1, key="k2", order="ts"), "PARTITION BY t.k "),
    "latest": (top(1, order="ts DESC"), top(1, key="k2", order="ts DESC"), "PARTITION BY t.k "),
    "sides": (
        "SELECT k FROM t EXCEPT SELECT k FROM u",
        "SELECT k FROM u EXCEPT SELECT k FROM t",
        "the left side t.k STRING, and this job has the left side u.k STRING",
    ),
    "sides counted": (
        "SELECT k FROM t EXCEPT ALL SELECT k FROM u",
        "SELECT k FROM u EXCEPT ALL SELECT k FROM t",
        "no aggregate SUM",
    ),
    "in or not": (
        "SELECT k FROM t INTERSECT SELECT k FROM u",
        "SELECT k FROM t EXCEPT SELECT k FROM u",
        "an input of rows that stay, and this job has an input of rows that may be taken back",
    ),
    "groups of other groups": (
        "SELECT s, COUNT(*) FROM (SELECT k, SUM(v) s FROM t GROUP BY k) GROUP BY s",
        "SELECT s, COUNT(*) FROM (SELECT k, MAX(v) s FROM t GROUP BY k) GROUP BY s",
        "no aggregate MAX|GROUP BY",
    ),
    "by time": ("SELECT k, v FROM t ORDER BY ts", "SELECT k, i FROM t ORDER BY ts", "rows of t.k STRING, t.v"),
    "versions": (
        VERSIONED.format("t.v, versions.v", "t.k"),
        VERSIONED.format("t.v, versions.v", "t.k2"),
        "the key t.k STRING, and this job has the key t.k2 STRING",
    ),
    "updates by key": ("SELECT k FROM upserts", "SELECT k FROM others", "the unique key upserts.k .* others.k"),
    "first ones of all": ("SELECT k, v FROM t ORDER BY v LIMIT 3", "SELECT k, v FROM t ORDER BY v LIMIT 4", "1 to 3"),
    "first ones by another": (
        "SELECT k, v FROM t ORDER BY v LIMIT 3",
        "SELECT k, v FROM t ORDER BY k LIMIT 3",
        "ORDER BY",
    ),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MOVED)
def test_what_only_moved_goes_on_exactly(name: str, backend: str) -> None:
    before, after = MOVED[name]
    assert went_on(Query(after, TABLES, saved(before, backend), backend=backend)) == undisturbed(after)


@pytest.mark.parametrize("name", MOVED)
def test_what_only_moved_goes_on_in_another_backend(name: str) -> None:
    before, after = MOVED[name]
    assert went_on(Query(after, TABLES, saved(before, "rocksdb"))) == undisturbed(after)


@pytest.mark.parametrize("name", CHANGED)
def test_what_changed_is_rejected_with_both(name: str) -> None:
    before, after, message = CHANGED[name]
    savepoint = saved(before)
    with pytest.raises(StateError, match=message) as rejection:
        Query(after, TABLES, savepoint)
    assert "is not that of this job" in str(rejection.value)
    # The query that has written it goes on.
    assert went_on(Query(before, TABLES, savepoint)) == undisturbed(before)


_EARLY = {"table.exec.emit.early-fire.enabled": "true", "table.exec.emit.early-fire.delay": "0 s"}


def legacy(calls: str, size: int = 4) -> str:
    return f"SELECT k, {calls} FROM t GROUP BY k, TUMBLE(ts, INTERVAL '{size}' SECOND)"


@pytest.mark.parametrize("backend", BACKENDS)
def test_windows_that_tell_early_results_are_the_same_or_rejected(backend: str) -> None:
    """Results that were told stand in the state as they were."""
    before = legacy("SUM(v), COUNT(*)")
    savepoint = saved(before, backend, _EARLY)
    renamed = (
        "SELECT l, SUM(w), COUNT(*) FROM (SELECT k AS l, v AS w, ts FROM t) GROUP BY l, TUMBLE(ts, INTERVAL '4' SECOND)"
    )
    for same in (before, renamed):
        went = went_on(Query(same, TABLES, savepoint, backend=backend, settings=_EARLY))
        assert went == undisturbed(before, settings=_EARLY)
    for changed in (legacy("COUNT(*), SUM(v)"), legacy("SUM(v)"), legacy("SUM(v), COUNT(*)", 3)):
        with pytest.raises(StateError, match=r"and this job has (aggregates|windows)"):
            Query(changed, TABLES, savepoint, settings=_EARLY)
    slower = {**_EARLY, "table.exec.emit.early-fire.delay": "1 s"}
    with pytest.raises(StateError, match=r"results told early 0 ms.* results told early 1000 ms"):
        Query(before, TABLES, savepoint, settings=slower)


def materialized(keys: tuple[int, ...], strategy: str = "deduplicate") -> Any:
    """Lets a query have a primary key."""
    return lambda relation: SinkMaterialize(relation.columns, relation, keys, None, 0, strategy)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("strategy", ["deduplicate", "nothing"])
def test_rows_of_a_primary_key(strategy: str, backend: str) -> None:
    before, after = "SELECT k, v, i FROM c", "SELECT k, i FROM c"
    wrap = materialized((0,), strategy)
    savepoint = saved(before, backend, wrap=wrap)
    moved = went_on(Query(after, TABLES, savepoint, backend=backend, wrap=wrap))
    assert moved == undisturbed(after, wrap=wrap)
    for text, other, message in (
        ("SELECT k, v, d FROM c", wrap, "no column c.d DOUBLE"),
        ("SELECT k2, v, i FROM c", wrap, "the primary key c.k STRING, and this job has the primary key c.k2 STRING"),
        (before, materialized((0, 1), strategy), "the primary key c.k STRING, and this job has"),
    ):
        with pytest.raises(StateError, match=message):
            Query(text, TABLES, savepoint, wrap=other)


def test_what_a_conflict_does_is_part_of_the_state() -> None:
    text = "SELECT k, v FROM c"
    savepoint = saved(text, wrap=materialized((0,), "nothing"))
    with pytest.raises(StateError, match="ON CONFLICT DO NOTHING, and this job has ON CONFLICT DO ERROR"):
        Query(text, TABLES, savepoint, wrap=materialized((0,), "error"))


# The law, for random pairs of queries: starting one from the state of another is exact or rejected.

_CALLS = (
    "SUM(v)",
    "SUM(i)",
    "COUNT(*)",
    "COUNT(v)",
    "MIN(v)",
    "MAX(v)",
    "AVG(d)",
    "SUM(d)",
    "COUNT(DISTINCT v)",
    "SUM(DISTINCT i)",
    "SUM(DISTINCT v)",
    "SUM(v) FILTER (WHERE i > 1)",
    "COUNT(DISTINCT v) FILTER (WHERE i > 1)",
    "SUM(v + i)",
    "LISTAGG(k2)",
    "FIRST_VALUE(v)",
)
_WINDOW_CALLS = ("SUM(v)", "SUM(i)", "COUNT(*)", "MAX(v)", "COUNT(DISTINCT v)", "LISTAGG(k2)")
_OVER_CALLS = ("SUM(v)", "SUM(i)", "COUNT(*)", "MIN(v)", "MAX(i)", "AVG(d)")
_FRAMES = ("", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW")
_SOURCES = ("t", "(SELECT k2 AS k, k AS k2, v, i, d, ts FROM t)", "(SELECT i AS v, v AS i, k, k2, d, ts FROM t)", "u")


class _Random:
    """Random queries, of which many have something in common."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def some(self, arguments: Sequence[str], most: int = 3) -> list[str]:
        return self._random.sample(arguments, self._random.randint(1, most))

    def one(self, arguments: Sequence[Any]) -> Any:
        return self._random.choice(arguments)

    def source(self) -> str:
        return str(self._random.choices(_SOURCES, (4, 1, 1, 1))[0])

    def key(self) -> str:
        return str(self._random.choices(("k", "k2", "k, k2", "k2, k"), (5, 1, 1, 1))[0])

    def grouped(self) -> str:
        source = self.one((self.source(), self.source(), "c"))
        return grouped(", ".join(self.some(_CALLS)), self.key(), source)

    def windowed(self) -> str:
        source, calls = self.one((TUMBLE, HOP, CUMULATE, TUMBLE)), ", ".join(self.some(_WINDOW_CALLS))
        return windowed(calls, self.one((4, 4, 6)), self.one(("k", "k", "k2")), source)

    def in_sessions(self) -> str:
        return in_sessions(", ".join(self.some(_WINDOW_CALLS)), self.one((2, 2, 3)), self.one(("k", "k", "k2")))

    def over(self) -> str:
        calls, key = "; ".join(self.some(_OVER_CALLS, 2)), self.one(("k", "k", "k2"))
        columns = ", ".join(self.some(("k", "v", "i", "d")))
        return over(calls, key, self.one(_FRAMES), columns)

    def over_values(self) -> str:
        calls, window = self.some(_OVER_CALLS, 2), f"OVER (PARTITION BY k ORDER BY {self.one(('i', 'i', 'v'))})"
        return f"SELECT k, {', '.join(f'{each} {window}' for each in calls)} FROM t"

    def top(self) -> str:
        columns = ", ".join(self.some(("k", "v", "i", "d")))
        order = self.one(("v DESC", "v DESC", "v", "i", "ts", "ts DESC"))
        return top(self.one((1, 2, 2, 3)), self.one(("k", "k", "k2")), order, columns, self.one(("t", "t", "c")))

    def window_top(self) -> str:
        columns = ", ".join(self.some(("k", "v", "i", "d")))
        order = self.one(("v DESC", "v DESC", "i"))
        return window_top(self.one((2, 2, 3)), self.one(("k", "k", "k2")), order, self.one((4, 4, 3)), columns)

    def sets(self) -> str:
        columns = self.one(("k", "k", "k2", "k, v"))
        words = self.one(("EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL", "UNION"))
        left, right = self.one((("t", "u"), ("t", "u"), ("u", "t")))
        return f"SELECT {columns} FROM {left} {words} SELECT {columns} FROM {right}"

    def nested(self) -> str:
        inner = self.one(("SUM(v)", "SUM(v)", "MAX(v)", "COUNT(*)"))
        outer = ", ".join(self.some(("COUNT(*)", "MAX(k)", "SUM(s)", "COUNT(DISTINCT k)"), 2))
        key = self.one(("k2", "k2", "k"))
        return f"SELECT {key}, {outer} FROM (SELECT k, k2, {inner} s FROM t GROUP BY k, k2) GROUP BY {key}"


_FAMILIES = ("grouped", "windowed", "in_sessions", "over", "over_values", "top", "window_top", "sets", "nested")


@pytest.mark.parametrize("family", _FAMILIES)
def test_a_query_goes_on_exactly_from_the_state_of_another_one_or_is_rejected(family: str) -> None:
    created = _Random(_FAMILIES.index(family))
    queries = [getattr(created, family)() for _ in range(16)]
    changes_by_text = {text: undisturbed(text) for text in dict.fromkeys(queries)}
    states = {text: saved(text) for text in changes_by_text}
    exact = rejected = 0
    for (before, state), (after, expected) in product(states.items(), changes_by_text.items()):
        try:
            query = Query(after, TABLES, state)
        except (StateError, Unclaimed):
            rejected += 1
            continue
        assert went_on(query) == expected, f"{before} -> {after}"
        exact += 1
    # Every query goes on from its own state; some of the others do, and some do not.
    assert exact > len(changes_by_text) and rejected > len(changes_by_text)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_condition_in_front_holds_for_the_rows_that_come_from_then_on(backend: str) -> None:
    """The state is that of the query with the condition of before."""
    calls, reordered = "SUM(v), COUNT(*), COUNT(DISTINCT i)", "COUNT(DISTINCT i), SUM(v)"
    odd, even = ("(SELECT * FROM t WHERE MOD(i, 2) = 1)", "(SELECT * FROM t WHERE MOD(i, 2) = 0)")
    savepoint = saved(grouped(calls, source=odd), backend)
    changed = went_on(Query(grouped(reordered, source=even), TABLES, savepoint, backend=backend))
    only_odd = {"t": [each for each in FIRST["t"] if each[1][3] % 2 == 1]}
    whole = Query(grouped(reordered), TABLES)
    whole.feed(only_odd, AT_FIRST)
    assert changed == went_on(whole, {"t": [each for each in SECOND["t"] if each[1][3] % 2 == 0]})


@pytest.mark.parametrize("name", MOVED)
def test_state_without_a_description_goes_on_in_the_same_query(name: str) -> None:
    """As earlier versions have written it."""
    text, _ = MOVED[name]
    assert went_on(Query(text, TABLES, saved(text).without_meanings())) == undisturbed(text)


@pytest.mark.parametrize("backend", BACKENDS)
def test_state_without_a_description_is_rejected_where_its_fields_are_not_those_of_the_query(backend: str) -> None:
    savepoint = saved(grouped("SUM(v), COUNT(*)"), backend).without_meanings()
    with pytest.raises(StateError, match="has 3 fields, and this query keeps 1"):
        went_on(Query(grouped("COUNT(*)"), TABLES, savepoint, backend=backend))
    strings = saved(grouped("COUNT(DISTINCT v)", source="c"), backend).without_meanings()
    with pytest.raises(StateError, match="another query"):
        went_on(Query(grouped("MAX(v)"), TABLES, strings, backend=backend))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (windowed("SUM(v), COUNT(*)"), windowed("SUM(v)")),
        (in_sessions("SUM(v), COUNT(*)"), in_sessions("SUM(v)")),
        (top(), top(columns="v")),
        (top(1), top(1, columns="v")),
        (window_top(), window_top(columns="v")),
        (over("SUM(v); COUNT(i)"), over("SUM(v)")),
        MOVED["over values"],
    ],
)
def test_no_operator_takes_other_fields_for_its_own(before: str, after: str, backend: str) -> None:
    """In state without a description."""
    with pytest.raises(StateError, match="another query"):
        went_on(Query(after, TABLES, saved(before, backend).without_meanings(), backend=backend))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", [grouped("SUM(v), COUNT(*)"), top(), top(1), top(1, order="ts")])
def test_a_time_to_live_comes_and_goes(text: str, backend: str) -> None:
    """Nothing has expired by then."""
    lives = {"table.exec.state.ttl": "1 h"}

    def last(changes: list[Change]) -> list[Change]:
        return [each for each in changes if each[0] == "+U"]

    forever = saved(text, backend)
    begins = Query(text, TABLES, forever, backend=backend, settings=lives)
    ends = Query(text, TABLES, saved(text, backend, lives), backend=backend)
    assert last(went_on(ends)) == last(undisturbed(text))
    assert set(last(undisturbed(text))) <= set(last(went_on(begins)))


def test_every_operator_with_state_says_what_it_means() -> None:
    strings = [text for pair in MOVED.values() for text in pair]
    for text in strings:
        query = Query(text, TABLES)
        query.feed(FIRST, AT_FIRST)
        savepoint = query.savepoint()
        assert all(savepoint.meanings[uid] for uid in savepoint.states), text
