"""The law of changelogs, for queries of every operator: what comes out is what comes of one row at a time.

However the input is cut into batches, the changes are the same and in the same order (those of windows that close
together, in any order); dealt out by key, they are the same changes; and what they leave is what one batch leaves.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import (
    Column,
    Scan,
    UnionAll,
)
from funke.engine.sql.parsing import parse
from funke.engine.sql.plan.changelogs.changelog_mode import for_consumer
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS, INSERTS, ChangeSettings
from funke.engine.sql.plan.joins.semi_join import SemiJoin
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.plan.pruning import without_unused
from funke.engine.sql.rules.ranks import with_ranks
from funke.engine.sql.rules.set_comparisons import with_set_comparisons
from funke.engine.sql.rules.stream_orders import with_stream_orders
from funke.engine.sql.syntax.statements import QueryStatement
from funke.engine.sql.syntax.user_function import UserFunction
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical.sql_text import from_sql_text
from funke.table import TableAggregateFunction
from tests.harness.operator_harness import OperatorHarness, Watermark
from tests.harness.plan_nodes import factories_of, joined
from tests.harness.sql_changelogs import Change, batch_of, changes_of, folded

COLUMNS = (
    Column("k", from_sql_text("INT")),
    Column("name", from_sql_text("STRING")),
    Column("v", from_sql_text("BIGINT")),
    Column("ts", from_sql_text("TIMESTAMP(3)"), TimeAttribute.ROWTIME),
)
EPOCH = datetime.datetime(2024, 1, 1)
EPOCH_MS = int(EPOCH.replace(tzinfo=datetime.UTC).timestamp() * 1000)
SECOND = "INTERVAL '1' SECOND"
FRAME = "OVER (PARTITION BY k ORDER BY ts {} BETWEEN {} PRECEDING AND CURRENT ROW)"

NUMBERED = "(SELECT k, name, v, ts, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {}) AS n FROM t)"

# Queries whose rows may be taken back, then those of rows that stay.
CHANGING = {
    "calculate": "SELECT k, v + 1, UPPER(name) FROM t WHERE v > 0",
    "groups": "SELECT k, COUNT(*), SUM(v), MAX(name), COUNT(DISTINCT v) FROM t GROUP BY k",
    "conditions": "SELECT k, MIN(v) FROM t GROUP BY k HAVING COUNT(*) < 3",
    "sets": "SELECT k, name, COUNT(*) FROM t GROUP BY GROUPING SETS ((k, name), (k))",
    "groups of groups": "SELECT c, COUNT(*) FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) GROUP BY c",
    "distinct": "SELECT DISTINCT k, name FROM t",
    "unnest": "SELECT k, e FROM t CROSS JOIN UNNEST(ARRAY[v, v + 1]) AS u (e)",
    "rows of a function": "SELECT k, top2(v) FROM t GROUP BY k",
    "one of two": "SELECT k, name FROM t WHERE v > 0 UNION SELECT k, UPPER(name) FROM t",
    "both": "SELECT k FROM t WHERE v > 0 INTERSECT SELECT k FROM t WHERE name = 'a'",
    "not on the other side": "SELECT k, name FROM t WHERE v > 0 EXCEPT SELECT k, name FROM t WHERE v < 2",
    "as often": "SELECT k FROM t EXCEPT ALL SELECT k FROM t WHERE name = 'a'",
    "an order": "SELECT k, name, v FROM t ORDER BY v DESC, name LIMIT 3",
    "an order behind rows": "SELECT k, name, v FROM t ORDER BY name, v LIMIT 2 OFFSET 1",
    "some rows": "SELECT k, v FROM t LIMIT 2 OFFSET 1",
    "the first of each": f"SELECT k, v FROM {NUMBERED.format('v DESC, name')} WHERE n <= 2",
    "numbers of each": f"SELECT k, v, n FROM {NUMBERED.format('name DESC, v')} WHERE n BETWEEN 2 AND 3",
    "the first of all": f"SELECT k, v FROM {NUMBERED.format('v')} WHERE n = 1",
    "an order of groups": "SELECT k, COUNT(*) AS c, MAX(v) AS m FROM t GROUP BY k ORDER BY c DESC, k LIMIT 2",
    "numbers of groups": """
        SELECT k, name, c, n FROM (
            SELECT k, name, c, ROW_NUMBER() OVER (PARTITION BY k ORDER BY c DESC, name) AS n
            FROM (SELECT k, name, COUNT(*) AS c FROM t GROUP BY k, name)
        ) WHERE n <= 2
    """,
}
STAYING = {
    "rows of windows": f"""
        SELECT k, v, window_start FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), {SECOND}, INTERVAL '2' SECOND))
    """,
    "rows of sessions": f"""
        SELECT k, v, window_end FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), {SECOND}))
    """,
    "frames of rows": f"SELECT k, v, SUM(v) {FRAME.format('ROWS', 1)} FROM t",
    "frames of time": f"SELECT k, v, COUNT(name) {FRAME.format('RANGE', SECOND)} FROM t",
    "all before": f"SELECT k, v, MAX(v) {FRAME.format('RANGE', 'UNBOUNDED')} FROM t",
    "windows": f"SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k, TUMBLE(ts, {SECOND})",
    "sessions": f"SELECT k, MIN(name), SUM(v) FROM t GROUP BY k, SESSION(ts, {SECOND})",
    "growing windows": f"""
        SELECT k, window_end, COUNT(DISTINCT v) FROM
        TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), {SECOND}, INTERVAL '3' SECOND)) GROUP BY k, window_start, window_end
    """,
    "early windows": f"SELECT k, MAX(v), COUNT(name) FROM t GROUP BY k, HOP(ts, {SECOND}, INTERVAL '2' SECOND)",
    "the first rows": "SELECT k, v FROM t OFFSET 1 ROW FETCH NEXT 3 ROWS ONLY",
    "the last of each": f"SELECT k, name, v FROM {NUMBERED.format('ts DESC')} WHERE n = 1",
    "the earliest of each": f"SELECT k, name, v FROM {NUMBERED.format('ts')} WHERE n = 1",
}
IN_ORDER = {*CHANGING, "rows of windows", "the first rows", "the last of each"}
# All rows of a key of these stay together, whatever else does.
BY_KEY = {*CHANGING, *STAYING} - {
    "groups of groups",
    "the first rows",
    "an order",
    "an order behind rows",
    "an order of groups",
    "some rows",
}
# Rows of two inputs meet in any order.
IN_ANY_ORDER = {"one of two", "both", "not on the other side", "as often"}
EARLY = {"table.exec.emit.early-fire.enabled": "true", "table.exec.emit.early-fire.delay": "0 ms"}


class Query:
    """The operators of a query over the table t."""

    def __init__(self, text: str, has_changes: bool, is_folded: bool = False) -> None:
        (statement,) = parse(text)
        assert isinstance(statement, QueryStatement)
        scan = Scan(COLUMNS, None, ("t",), ALL_KINDS if has_changes else INSERTS)
        bound = QueryBinder({("t",): scan}.get).bind(with_function(statement.query))
        lowered = lower(bound, EARLY if text == STAYING["early windows"] else None)
        bound = with_stream_orders(with_ranks(with_set_comparisons(lowered, is_streaming=True)))
        self.relation = for_consumer(without_unused(lower(bound)), ALL_KINDS, ChangeSettings(is_folded))

    def run(self, elements: Iterable[Any]) -> list[Any]:
        """The changes that come out of batches and watermarks, and the watermarks."""
        results: list[Any] = []
        for each in _through(self.relation, elements):
            results += changes_of(each, self.relation) if isinstance(each, ColumnBatch) else [each]
        return results


query_of = cache(Query)


class Top2(TableAggregateFunction[Any, Any]):
    """The two greatest values."""

    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator.append(args[0])

    def retract(self, accumulator: Any, *args: Any) -> None:
        accumulator.remove(args[0])

    def emit_value(self, accumulator: Any) -> Any:
        yield from sorted((each for each in accumulator if each is not None), reverse=True)[:2]


TOP2 = UserFunction("top2", "table aggregate", Top2(), None, (from_sql_text("BIGINT"),))


def with_function(query: Any) -> Any:
    """A query that calls the function by its name."""
    items = getattr(query, "items", ())
    calls = [replace(each, function=TOP2) if getattr(each, "name", None) == "top2" else each for each in items]
    return replace(query, items=tuple(calls)) if items else query


def _through(relation: Any, elements: Iterable[Any]) -> Iterable[Any]:
    if isinstance(relation, Scan):
        return elements
    if isinstance(relation, UnionAll):
        every = list(elements)
        return [each for side in relation.inputs for each in _through(side, every) if isinstance(each, ColumnBatch)]
    if isinstance(relation, SemiJoin):
        every = list(elements)
        return joined(relation, [_through(side, every) for side in relation.inputs])
    elements = _through(relation.input, elements)
    for create in factories_of(relation):
        harness = OperatorHarness(ColumnOperator(create), keeps_columns=True)
        for each in elements:
            if isinstance(each, ColumnBatch):
                harness.operator.process_columns(each)
            else:
                harness.watermark(each.timestamp)
        elements = harness.elements()
    return elements


def batches_of(steps: list[Any], size: int) -> list[Any]:
    """Changes in batches of so many at most, which no watermark stands in."""
    results: list[Any] = []
    waiting: list[Change] = []

    def send() -> None:
        if waiting:
            batch = batch_of(waiting, COLUMNS)
            results.append(batch.with_timestamps(np.asarray(batch.data.column(3).view("int64"))))
            waiting.clear()

    for each in [*steps, Watermark(MAX_WATERMARK)]:
        if isinstance(each, Watermark):
            send()
            results.append(each)
        else:
            waiting.append(each)
            if len(waiting) == size:
                send()
    return results


def settled(name: str, elements: list[Any]) -> list[Any]:
    """What closes together has no order."""
    if name in IN_ORDER:
        return elements
    results: list[Any] = []
    for each in elements:
        if isinstance(each, Watermark):
            results.append(each)
        elif results and isinstance(results[-1], list):
            results[-1] = sorted([*results[-1], each], key=repr)
        else:
            results.append([each])
    return results


ROWS = st.tuples(st.integers(1, 3), st.sampled_from([None, "a", "b"]), st.none() | st.integers(-2, 3))


@st.composite
def steps_of(draw: st.DrawFn, has_changes: bool) -> list[Any]:
    """Rows that come and go, with watermarks among them."""
    steps: list[Any] = []
    present: list[Any] = []
    watermark = EPOCH_MS - 1
    for row in draw(st.lists(ROWS, max_size=14)):
        ahead_ms = draw(st.integers(0, 40)) * 100
        if has_changes and present and draw(st.booleans()):
            steps.append((draw(st.sampled_from(["-U", "-D"])), present.pop(draw(st.integers(0, len(present) - 1)))))
            continue
        whole = (*row, EPOCH + datetime.timedelta(milliseconds=ahead_ms))
        steps.append(("+I", whole))
        present.append(whole)
        if draw(st.integers(0, 3)) == 0:
            watermark = max(watermark, EPOCH_MS + ahead_ms - 500)
            steps.append(Watermark(watermark))
    return steps


def check(name: str, text: str, has_changes: bool, steps: list[Any], size: int) -> None:
    query = query_of(text, has_changes)
    one_by_one = query.run(batches_of(steps, 1))
    if name in IN_ANY_ORDER:
        assert _left(query.run(batches_of(steps, size))) == _left(one_by_one)
    else:
        assert settled(name, query.run(batches_of(steps, size))) == settled(name, one_by_one)
    if name in BY_KEY - IN_ANY_ORDER:
        parts = [[each for each in steps if isinstance(each, Watermark) or each[1][0] % 2 == part] for part in (0, 1)]
        dealt = [change for part in parts for change in query.run(batches_of(part, size))]
        assert _changes(dealt) == _changes(one_by_one)
    in_one = query_of(text, has_changes, is_folded=True).run(batches_of(steps, 100))
    assert _left(in_one) == _left(one_by_one)


def _changes(elements: list[Any]) -> list[Any]:
    return sorted((each for each in elements if not isinstance(each, Watermark)), key=repr)


def _left(elements: list[Any]) -> list[Any]:
    return folded([each for each in elements if not isinstance(each, Watermark)])


LAW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", CHANGING)
@LAW
@given(steps=steps_of(True), size=st.integers(2, 15))
def test_changes_of_rows_that_come_and_go(name: str, steps: list[Any], size: int) -> None:
    check(name, CHANGING[name], True, steps, size)


@pytest.mark.parametrize("name", [*CHANGING, *STAYING])
@LAW
@given(steps=steps_of(False), size=st.integers(2, 15))
def test_changes_of_rows_that_stay(name: str, steps: list[Any], size: int) -> None:
    check(name, {**CHANGING, **STAYING}[name], False, steps, size)
