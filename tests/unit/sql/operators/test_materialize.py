"""Rows of a primary key that a query tells apart by something else; recorded with PyFlink 2.3 and parallelism 1."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.errors import FunkeError
from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.binding.relations import Column, Relation, Scan
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS
from funke.engine.sql.plan.changelogs.sink_materialize import SinkMaterialize
from funke.engine.sql.statements.plans.insert_plans import plan_insert
from funke.engine.sql.statements.plans.job_plans import planned_inserts
from funke.engine.sql.statements.plans.stored_plans import insert_in
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from tests.harness.backends import choice_of
from tests.harness.local_jobs import changes_in
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import rows_of
from tests.harness.sql_changelogs import Change, batch_of, changes_of

RECORDED = json.loads((Path(__file__).parent / "reference_conflicts.json").read_text())
ANSWERED = [each for each in RECORDED["cases"] if "changes" in each and "failed" not in each]
FAILED = [each for each in RECORDED["cases"] if "failed" in each]
REJECTED = [each for each in RECORDED["cases"] if "refused" in each]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    record_folder = tmp_path_factory.mktemp("conflicts")
    (record_folder / "t.json").write_text("\n".join(map(json.dumps, RECORDED["rows"])))
    (record_folder / "w.json").write_text("\n".join(map(json.dumps, RECORDED["together"])))
    return record_folder


def environment(folder: Path, case: dict[str, Any], mode: EnvironmentSettings | None = None) -> TableEnvironment:
    tables = TableEnvironment.create(mode or EnvironmentSettings.in_streaming_mode())
    options = f"'connector' = 'filesystem', 'format' = 'json', 'path' = '{folder}"
    times = ", WATERMARK FOR ts AS ts"
    for name, time, file in (("t", times, "t"), ("w", times, "w"), ("plain", "", "t")):
        tables.execute_sql(
            f"CREATE TABLE {name} (k STRING, v INT, ts TIMESTAMP(3){time}) WITH ({options}/{file}.json')"
        )
    key = f"PRIMARY KEY ({case['key']}) NOT ENFORCED"
    tables.execute_sql(f"CREATE TABLE s ({case['columns']}, {key}) WITH ('connector' = 'print')")
    # The default of the reference.
    for name, value in {"table.exec.sink.require-on-conflict": "true", **case["options"]}.items():
        tables.get_config().set(name, value)
    return tables


def planned(decoder: TableEnvironment, case: dict[str, Any]) -> Relation:
    plan = plan_insert(decoder._session, insert_in(f"INSERT INTO s {case['query']}"))
    return planned_inserts(decoder._session, [plan])[0].relation


def name_of(case: dict[str, Any]) -> str:
    return f"{case['key']}: {case['query']} {' '.join(case['options'].values())}"


@pytest.mark.parametrize("case", ANSWERED, ids=name_of)
def test_a_table_gets_what_flink_writes(folder: Path, case: dict[str, Any]) -> None:
    relation = planned(environment(folder, case), case)
    changes = [[sign, [str(each) for each in row]] for sign, row in changes_in(relation, is_batch=False)]
    if isinstance(relation, SinkMaterialize) and relation.strategy != "deduplicate":
        # Keys that change at the same watermark are told in any order.
        assert by_key(changes, relation.keys) == by_key(case["changes"], relation.keys)
    else:
        assert changes == case["changes"]


def by_key(changes: list[Any], key: Sequence[int]) -> dict[tuple[str, ...], list[Any]]:
    by_name: dict[tuple[str, ...], list[Any]] = {}
    for sign, row in changes:
        by_name.setdefault(tuple(row[index] for index in key), []).append((sign, row))
    return by_name


@pytest.mark.parametrize("case", FAILED, ids=name_of)
def test_conflicts_that_fail_a_job(folder: Path, case: dict[str, Any]) -> None:
    relation = planned(environment(folder, case), case)
    with pytest.raises(FunkeError) as caught:
        changes_in(relation, is_batch=False)
    assert case["failed"] in str(caught.value)


@pytest.mark.parametrize("case", ANSWERED, ids=name_of)
def test_plans_say_what_those_of_flink_say(folder: Path, case: dict[str, Any]) -> None:
    explained = environment(folder, case).explain_sql(f"INSERT INTO s {case['query']}")
    line = explained.split("== Optimized Execution Plan ==\n")[1].splitlines()[0]
    assert line.split("]", 2)[2] == case["plan"].split("]", 2)[2]


@pytest.mark.parametrize("case", REJECTED, ids=name_of)
def test_what_flink_rejects(folder: Path, case: dict[str, Any]) -> None:
    with pytest.raises(FunkeError) as caught:
        environment(folder, case).explain_sql(f"INSERT INTO s {case['query']}")
    assert str(caught.value) == case["refused"]


def last_rows(changes: Sequence[Change], key: Sequence[int]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """What a table with a primary key has in the end."""
    table: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for sign, row in changes:
        of_row = tuple(row[index] for index in key)
        if sign in ("+I", "+U"):
            assert (sign == "+U") == (of_row in table)
            table[of_row] = row
        else:
            del table[of_row]
    return table


_UNION = {
    "columns": "v BIGINT, k STRING",
    "query": "SELECT COUNT(*), k FROM t GROUP BY k UNION ALL SELECT MAX(v), k FROM t GROUP BY k "
    "ON CONFLICT DO DEDUPLICATE",
    "options": {},
}
LAWFUL = [
    *(each for each in ANSWERED if "Materialize" in each["plan"] and "DO NOTHING" not in each["query"]),
    {**_UNION, "key": "k"},
    {**_UNION, "key": "v"},
]


@pytest.mark.parametrize("case", LAWFUL, ids=name_of)
def test_the_table_has_rows_of_the_query(folder: Path, case: dict[str, Any]) -> None:
    """One for each primary key that the query has in the end, as a batch tells it, and no other."""
    relation = planned(environment(folder, case), case)
    assert isinstance(relation, SinkMaterialize)
    changes = last_rows(changes_in(relation, is_batch=False), relation.keys)
    in_batch = environment(folder, case, EnvironmentSettings.in_batch_mode())
    in_batch.get_config().set("funke.table.batch-plan", "slots")
    rows = [row for _, row in changes_in(planned(in_batch, case))]
    assert changes.keys() == {tuple(row[index] for index in relation.keys) for row in rows}
    assert {*changes.values()} <= {*rows}


COLUMNS = (
    Column("k", DataTypes.INT()),
    Column("name", DataTypes.STRING()),
    Column("d", DataTypes.DOUBLE()),
    Column("day", DataTypes.DATE()),
    Column("many", DataTypes.ARRAY(DataTypes.INT())),
)
INPUT = rows_of(COLUMNS, ALL_KINDS)
BY_NAME = SinkMaterialize(COLUMNS, INPUT, (0,), (1,))
WHOLE = SinkMaterialize(COLUMNS, INPUT, (0,))


class Running:
    """One subtask, on a state backend, which may begin with the state of another."""

    def __init__(self, node: SinkMaterialize, backend: str, restored: list[bytes] | None = None, **more: Any) -> None:
        self.harness = OperatorHarness(
            ColumnOperator(node.create), keeps_columns=True, backend=choice_of(backend), restored=restored, **more
        )

    def feed(self, changes: Sequence[Change]) -> list[Change]:
        if changes:
            self.harness.operator.process_columns(batch_of(changes, COLUMNS))
        return [each for batch in self.harness.elements() for each in changes_of(batch, Scan(COLUMNS, None))]

    def ended(self) -> list[bytes]:
        state = self.harness.snapshot()
        self.harness.close()
        return [state]


def row(name: str | None, d: float | None = None, k: int = 1) -> tuple[Any, ...]:
    return (k, name, d, None, [1, None])


ROWS = st.builds(row, st.sampled_from([None, "a", "b"]), st.sampled_from([None, -1.5, float("nan")]), st.integers(1, 2))
CHANGES = st.lists(st.tuples(st.sampled_from(["+I", "-U", "+U", "-D"]), ROWS), max_size=12)


@pytest.mark.parametrize("node", [BY_NAME, WHOLE], ids=["by key", "whole rows"])
@settings(max_examples=25, deadline=None)
@given(changes=CHANGES, cut=st.integers(0, 12))
def test_cuts_and_backends_change_nothing(node: SinkMaterialize, changes: list[Change], cut: int) -> None:
    """A row at a time in one go gives what two batches give with a restart on the other backend between them."""
    whole = Running(node, "hashmap")
    expected = [match for each in changes for match in whole.feed([each])]
    first, second = ("hashmap", "rocksdb") if cut % 2 else ("rocksdb", "hashmap")
    before = Running(node, first)
    match = before.feed(changes[:cut])
    behind = Running(node, second, before.ended())
    assert repr(match + behind.feed(changes[cut:])) == repr(expected)
    last_rows(expected, (0,))
    whole.ended()
    behind.ended()


def test_rows_without_a_key_stand_beside_each_other() -> None:
    running = Running(WHOLE, "hashmap")
    a, b, nan = row("a"), row("b"), row("a", float("nan"))
    assert running.feed([("+I", a), ("+U", b), ("+I", a)]) == [("+I", a), ("+U", b), ("+U", a)]
    # Of equal rows the first one goes, which is not the last one.
    assert running.feed([("-U", a)]) == []
    assert running.feed([("-D", a)]) == [("+U", b)]
    assert running.feed([("-D", b)]) == [("-D", b)]
    assert repr(running.feed([("+I", nan), ("-D", nan)])) == repr([("+I", nan), ("-D", nan)])
    running.ended()


def test_rows_with_a_key_replace_each_other_where_they_stand() -> None:
    running = Running(BY_NAME, "hashmap")
    a, b, better = row("a"), row("b"), row("a", 2.0)
    assert running.feed([("+I", a), ("+I", b), ("+U", better)]) == [("+I", a), ("+U", b), ("+U", better)]
    assert running.feed([("-D", b)]) == [("+U", better)]
    # The key alone says which row goes.
    assert running.feed([("-D", a)]) == [("-D", a)]
    running.ended()


def test_what_is_not_known_is_not_taken_back(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    running = Running(replace(BY_NAME, ttl_ms=1000), "hashmap", clock=clock)
    assert running.feed([("+I", row("a"))]) == [("+I", row("a"))]
    clock.set(1001)
    with caplog.at_level(logging.WARNING):
        assert running.feed([("-U", row("a")), ("-D", row("b"))]) == []
    assert [each.getMessage().split(":")[0] for each in caplog.records] == [
        "An unknown row is retracted, because its state has expired"
    ]
    running.ended()
