"""INTERSECT and EXCEPT: which rows there are, and how they change; recorded with PyFlink 2.3 and parallelism 1."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.binding.relations import Column, Scan
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS
from funke.engine.sql.plan.changelogs.upsert_keys import NO_KEYS
from funke.engine.sql.plan.joins.semi_join import SemiJoin
from funke.engine.sql.plan.node import DetachedInput
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.logical.data_types import DataTypes
from funke.table import EnvironmentSettings, ExplainDetail, TableEnvironment
from tests.harness.backends import choice_of
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import factory_of
from tests.harness.sql_changelogs import Change, batch_of, changes_of, folded
from tests.harness.sql_plans import RunningPlan, SmallTable, changes_from, planned

COLUMNS = (Column("a", DataTypes.INT()), Column("b", DataTypes.STRING()))
LEFT = [(1, "x"), (1, "x"), (1, "x"), (2, "y"), (None, None), (None, None), (3, "z")]
RIGHT = [(1, "x"), (1, "x"), (2, "y"), (2, "y"), (None, None), (4, "w")]
TABLES = {"l": SmallTable(COLUMNS, LEFT), "r": SmallTable(COLUMNS, RIGHT)}
RECORDED = json.loads((Path(__file__).parent / "reference_sets.json").read_text())
CASES = [each for each in RECORDED["cases"] if "COUNT(*) FROM (SELECT k, v FROM cl INTERSECT ALL" not in each["query"]]


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql("CREATE TABLE g (side STRING, op STRING, k STRING, v INT) WITH ('connector' = 'datagen')")
    for side in ("l", "r"):
        rows = f"FROM g WHERE side = '{side}'"
        environment.execute_sql(f"CREATE TEMPORARY VIEW {side} AS SELECT k, v {rows} AND op = '+I'")
        kinds = "MAP['+I', 'INSERT', '-U', 'UPDATE_BEFORE', '+U', 'UPDATE_AFTER', '-D', 'DELETE']"
        changes = f"FROM_CHANGELOG((SELECT op, k, v {rows}), DESCRIPTOR(op), {kinds})"
        environment.execute_sql(f"CREATE TEMPORARY VIEW c{side} AS SELECT * FROM {changes}")
    return environment


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["query"])
def test_changes_are_those_of_flink(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    plan = RunningPlan(planned_rows(t_env._session, t_env.sql_query(case["query"])._relation))
    input_rows = [dict(zip(("side", "op", "k", "v"), each)) for each in RECORDED["changes"]]
    changes = [[sign, [_text(each) for each in row]] for row in input_rows for sign, row in plan.feed(row)]
    assert changes == case["changes"]


def _text(value: Any) -> str:
    return "null" if value is None else str(value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["query"])
def test_plans_have_the_nodes_of_flink(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    plan = t_env.explain_sql(case["query"], ExplainDetail.CHANGELOG_MODE)
    physical = plan.split("== Optimized Physical Plan ==\n")[1].split("\n== ")[0]
    expected = "\n".join(case["plan"])
    assert _nodes(physical) == _nodes(expected)
    assert _joins(physical) == _joins(expected)


def _joins(plan: str) -> list[str]:
    """Who explains a query looks at no rows before updates in Flink."""
    return [each.replace("UB,", "") for each in re.findall(r"Join\(.*", plan)]


def _nodes(plan: str) -> list[str]:
    """The nodes but for those that only choose columns."""
    names = re.findall(r"^[ :+-]*(\w+)\(", plan, re.MULTILINE)
    return [each for each in names if each not in ("Calc", "TableSourceScan")]


def test_what_was_asked_for(t_env: TableEnvironment) -> None:
    asked = [
        t_env.explain_sql(f"SELECT k FROM l {each} SELECT k FROM r").splitlines()[1]
        for each in ("INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
    ]
    assert asked == [
        f"Logical{name}(all=[{is_all}])" for name in ("Intersect", "Minus") for is_all in ("false", "true")
    ]


@pytest.mark.parametrize("is_streaming", [True, False])
@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    ("operation", "rows"),
    [
        ("INTERSECT ALL", [(1, "x"), (1, "x"), (2, "y"), (None, None)]),
        ("EXCEPT ALL", [(1, "x"), (3, "z"), (None, None)]),
        ("INTERSECT", [(1, "x"), (2, "y"), (None, None)]),
        ("EXCEPT", [(3, "z")]),
    ],
)
def test_rows_are_counted(operation: str, rows: list[object], size: int, is_streaming: bool) -> None:
    plan = planned(f"SELECT a, b FROM l {operation} SELECT a, b FROM r", TABLES, is_streaming)
    assert folded(changes_from(plan, size)) == sorted(rows, key=repr)


def test_types_meet() -> None:
    plan = planned("SELECT a FROM l INTERSECT ALL SELECT CAST(a AS BIGINT) FROM r", TABLES)
    assert folded(changes_from(plan, 100)) == [(1,), (1,), (2,), (None,)]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_distinct_values_that_are_taken_back_in_another_batch(size: int) -> None:
    """A value that two rows have is still there when one of them goes."""
    rows = [(1, "x"), (2, "x"), (1, "y"), (2, "y")]
    tables = {"t": SmallTable(COLUMNS, rows)}
    text = "SELECT COUNT(DISTINCT b) FROM (SELECT a, LAST_VALUE(b) AS b FROM t GROUP BY a)"
    assert changes_from(planned(text, tables), size) == [
        ("+I", (1,)),
        ("-U", (1,)),
        ("+U", (2,)),
        ("-U", (2,)),
        ("+U", (1,)),
    ]


ROWS = st.tuples(st.none() | st.integers(1, 2), st.sampled_from([None, "a"]), st.booleans())


def join_of(is_anti: bool = False, ttl_ms: int = 0) -> SemiJoin:
    side = DetachedInput(COLUMNS, ALL_KINDS, NO_KEYS)
    return SemiJoin(COLUMNS, side, side, is_anti, ttl_ms)


class Running:
    """One subtask of a join, on a state backend, which may begin with the state of another."""

    def __init__(self, join: SemiJoin, backend: str = "hashmap", **more: Any) -> None:
        choice = choice_of(backend)
        self.harness = OperatorHarness(ColumnOperator(factory_of(join)), keeps_columns=True, backend=choice, **more)

    def feed(self, changes: Sequence[Change]) -> list[Change]:
        """Rows that say whether they are of the right side; those of one side that follow each other are a batch."""
        for is_right, some in groupby(changes, lambda change: change[1][-1]):
            batch = batch_of([(sign, row[:-1]) for sign, row in some], COLUMNS)
            self.harness.operator.columns_handler(int(is_right))(batch)
        return [each for batch in self.harness.elements() for each in changes_of(batch, Scan(COLUMNS, None))]

    def ended(self) -> list[bytes]:
        state = self.harness.snapshot()
        self.harness.close()
        return [state]


@pytest.mark.parametrize("is_anti", [False, True])
@settings(max_examples=20, deadline=None)
@given(
    rows=st.lists(ROWS, max_size=14),
    signs=st.lists(st.sampled_from(["", "-U", "-D"]), min_size=14),
    cut=st.integers(0, 20),
)
def test_state_moves_between_backends(is_anti: bool, rows: list[Any], signs: list[str], cut: int) -> None:
    """A row at a time in one go gives what two batches give with a restart on the other backend between them."""
    changes: list[Change] = []
    for index, (row, sign) in enumerate(zip(rows, signs)):
        changes.append(("+I" if index % 2 else "+U", row))
        if sign:
            changes.append((sign, rows[index // 2]))
    spec = join_of(is_anti)
    alone = Running(spec)
    expected = [each for change in changes for each in alone.feed([change])]
    alone.harness.close()
    for first, second in (("hashmap", "rocksdb"), ("rocksdb", "hashmap")):
        before = Running(spec, first)
        match = before.feed(changes[:cut])
        after = Running(spec, second, restored=before.ended())
        assert match + after.feed(changes[cut:]) == expected
        after.ended()


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_each_side_is_forgotten_by_itself(backend: str) -> None:
    clock = ManualClock(0)
    running = Running(join_of(ttl_ms=100), backend, clock=clock)
    left, right = (1, "a", False), (1, "a", True)
    assert running.feed([("+I", right)]) == []
    clock.set(60)
    # A row that looks does not make what it sees live longer.
    assert running.feed([("+I", left)]) == [("+I", (1, "a"))]
    clock.set(120)
    assert running.feed([("+I", left)]) == []
    # The rows of the left side have met none since, so that all of them are sent.
    assert running.feed([("+I", right)]) == [("+I", (1, "a"))] * 2
    running.ended()
