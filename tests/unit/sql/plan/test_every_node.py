"""Every class of plan nodes is asked every question: forgetting an answer is an error here, not a silent default."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import cloudpickle
import pytest

from funke.common import Row
from funke.engine.sql import plan
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.meaning.column_strings import ColumnStrings
from funke.engine.sql.operators import loaded
from funke.engine.sql.parsing import parse
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS, ChangeSettings
from funke.engine.sql.plan.explain_text import ExplainStyle
from funke.engine.sql.plan.node import DetachedInput, PlanNode
from funke.engine.sql.plan.over.numbered_rows import NumberedRowsStep
from funke.engine.sql.plan.watermarks import EVERY_WATERMARK
from funke.engine.sql.statements.plans.insert_plans import plan_insert
from funke.engine.sql.statements.plans.job_plans import planned_inserts, planned_rows
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from funke.table.expressions import col
from funke.table.udf import TableAggregateFunction, udtaf
from tests.harness.case_connector import case_connector

TABLES = """
CREATE TABLE t (k STRING, v INT, l ARRAY<INT>, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts)
    WITH ('connector' = 'case');
CREATE TABLE versions (k STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED)
    WITH ('connector' = 'case', 'lookup' = 'true');
CREATE TABLE changes (k STRING, v INT) WITH ('connector' = 'case', 'changelog-mode' = 'I,UB,UA,D');
CREATE TABLE upserts (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED)
    WITH ('connector' = 'case', 'changelog-mode' = 'I,UA,D');
CREATE TABLE strict_rows (k STRING NOT NULL, v INT) WITH ('connector' = 'case')
"""
TUMBLE = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND))"
SESSION = "TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' SECOND))"
FIRST_OF_WINDOW = "ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY {}) AS n"
QUERIES = [
    "SELECT k, v + 1 FROM t WHERE v > 0 UNION ALL SELECT k, v FROM t",
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS x (a, b)",
    "SELECT k, SUM(v) FROM t GROUP BY GROUPING SETS ((k), ())",
    "SELECT k, e FROM t CROSS JOIN UNNEST(l) AS u (e)",
    "SELECT t.k, r.rate FROM t JOIN versions FOR SYSTEM_TIME AS OF t.ts AS r ON t.k = r.k",
    "SELECT t.k, r.rate FROM t JOIN versions FOR SYSTEM_TIME AS OF t.p AS r ON t.k = r.k",
    "SELECT t.k, r.rate FROM t JOIN LATERAL SNAPSHOT(TABLE versions, DESCRIPTOR(ts)) AS r ON t.k = r.k",
    "SELECT t.k, r.rate FROM t JOIN versions AS r ON t.k = r.k AND t.v < r.rate",
    "SELECT t.k, r.rate FROM t FULL JOIN versions AS r ON t.k = r.k",
    "SELECT /*+ MULTI_JOIN(r, c), STATE_TTL('c' = '1 d') */ t.k, r.rate, c.v FROM t "
    "LEFT JOIN versions AS r ON t.k = r.k JOIN changes AS c ON t.k = c.k AND t.v < c.v",
    "SELECT v, rate FROM t LEFT JOIN versions AS r ON t.k = r.k AND t.ts BETWEEN r.ts - INTERVAL '1' SECOND AND r.ts",
    f"SELECT l.v, r.v FROM {TUMBLE} AS l FULL JOIN {TUMBLE} AS r "
    "ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end AND l.v < r.v",
    "SELECT k FROM t INTERSECT SELECT k FROM versions",
    "SELECT k FROM t EXCEPT SELECT k FROM versions",
    f"SELECT k, v, window_start FROM {TUMBLE}",
    f"SELECT k, v, window_start FROM {SESSION}",
    f"SELECT k, COUNT(*), window_start, window_end FROM {TUMBLE} GROUP BY k, window_start, window_end",
    f"SELECT * FROM (SELECT *, {FIRST_OF_WINDOW.format('v')} FROM {TUMBLE}) WHERE n <= 2",
    f"SELECT * FROM (SELECT *, {FIRST_OF_WINDOW.format('ts')} FROM {TUMBLE}) WHERE n = 1",
    "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM t",
    "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY v) FROM t",
    "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM t) WHERE n <= 3",
    "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM t) WHERE n = 1",
    "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES SUM(A.v) AS s, A.l AS l, LAST(v, 1) AS b "
    "PATTERN (A+ B) DEFINE A AS A.v > LAST(A.v, 1), B AS B.v < 3)",
    "SELECT * FROM t ORDER BY ts",
    "SELECT k, v FROM t LIMIT 3",
    "SELECT k, SUM(v) FROM upserts GROUP BY k",
    "SELECT * FROM TO_CHANGELOG(TABLE changes)",
    "SELECT * FROM FROM_CHANGELOG((SELECT k AS op, v FROM t))",
]
BATCH_QUERIES = [
    "SELECT t.k, r.rate FROM t FULL JOIN versions AS r ON t.k = r.k AND t.v < r.rate",
    "SELECT k, RANK() OVER (PARTITION BY k ORDER BY v DESC) FROM t",
    "SELECT k, v FROM t ORDER BY v LIMIT 3",
    "SELECT k, SUM(v) FROM t GROUP BY k",
    "SELECT a, COUNT(*) FROM (VALUES (1), (2)) AS x (a) GROUP BY a",
]
EARLY = {"table.exec.emit.early-fire.enabled": "true", "table.exec.emit.early-fire.delay": "1 s"}
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "10",
}


class Largest(TableAggregateFunction[Any, Any]):
    """Gives the largest value."""

    def create_accumulator(self) -> Any:
        return [0]

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator[0] = max(accumulator[0], args[0] or 0)

    def emit_value(self, accumulator: Any) -> Iterator[Any]:
        yield Row(accumulator[0])

    def get_result_type(self) -> Any:
        return DataTypes.ROW([DataTypes.FIELD("a", DataTypes.BIGINT())])

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())


def environment(is_streaming: bool, settings: dict[str, str]) -> TableEnvironment:
    mode = EnvironmentSettings.in_streaming_mode() if is_streaming else EnvironmentSettings.in_batch_mode()
    t_env = TableEnvironment.create(mode)
    for statement in TABLES.split(";"):
        if statement.strip():
            t_env.execute_sql(statement)
    for key, value in settings.items():
        t_env.get_config().set(key, value)
    return t_env


def plans() -> Iterator[Relation]:
    stream = environment(True, {})
    session = stream._session
    for text in QUERIES:
        yield planned_rows(session, stream.sql_query(text)._relation)
    groups = stream.from_path("t").group_by(col("k"))
    largest = groups.flat_aggregate(udtaf(Largest())(col("v"))).select(col("k"), col("a"))
    yield planned_rows(session, largest._relation)
    for insert in (
        "INSERT INTO upserts SELECT CAST(v AS STRING), v FROM changes",
        "INSERT INTO upserts SELECT CAST(v AS STRING), v FROM t ON CONFLICT DO NOTHING",
        "INSERT INTO strict_rows SELECT k, v FROM t",
    ):
        (statement,) = parse(insert)
        yield from (each.relation for each in planned_inserts(session, [plan_insert(session, statement)]))
    grouped = "SELECT k, COUNT(*) FROM t GROUP BY k, TUMBLE(ts, INTERVAL '1' SECOND)"
    for settings, text in ((EARLY, grouped), (MINI_BATCH, "SELECT k, SUM(v) FROM t GROUP BY k")):
        t_env = environment(True, settings)
        yield planned_rows(t_env._session, t_env.sql_query(text)._relation)
    for choice in ("slots", "auto"):
        batch = environment(False, {"funke.table.batch-plan": choice})
        for text in BATCH_QUERIES:
            yield planned_rows(batch._session, batch.sql_query(text)._relation)


def nodes_in(relation: Any) -> Iterator[PlanNode]:
    yield relation
    # Phases are nodes too, the first of which reads what the whole reads.
    yield from relation.phases()
    for each in relation.inputs:
        yield from nodes_in(each)


@pytest.fixture(scope="module")
def nodes() -> dict[type[PlanNode], list[PlanNode]]:
    nodes_by_type: dict[type[PlanNode], list[PlanNode]] = {}
    with case_connector():
        for relation in plans():
            for node in nodes_in(relation):
                nodes_by_type.setdefault(type(node), []).append(node)
    return nodes_by_type


def node_classes() -> list[type[PlanNode]]:
    for module in pkgutil.walk_packages(plan.__path__, f"{plan.__name__}."):
        importlib.import_module(module.name)

    def below(parent: type[PlanNode]) -> Iterator[type[PlanNode]]:
        for each in parent.__subclasses__():
            yield each
            yield from below(each)

    # A detached input stands for a node, and a step is replaced before any job runs it.
    others = {DetachedInput, NumberedRowsStep}
    return [each for each in dict.fromkeys(below(PlanNode)) if not inspect.isabstract(each) and each not in others]


@pytest.mark.parametrize("kind", node_classes(), ids=lambda each: each.__name__)
def test_a_node_answers_every_question(nodes: dict[type[PlanNode], list[PlanNode]], kind: type[PlanNode]) -> None:
    assert kind in nodes, f"no query of this test has a {kind.__name__}"
    for node in nodes[kind]:
        _check_inputs(node)
        _check_columns(node)
        _check_state(node)


def _check_inputs(node: PlanNode) -> None:
    count = len(node.inputs)
    assert len(node.distributions()) == count
    assert node.changelog() <= ALL_KINDS
    assert {len(node.needs_before(expected)) for expected in (False, True)} == {count}
    for step in (None, EVERY_WATERMARK):
        assert isinstance(node.with_watermarks(step), PlanNode)
        node.watermark_step(step)
    assert isinstance(node.for_consumer(True, ChangeSettings()), PlanNode)


def _check_columns(node: PlanNode) -> None:
    indexes = range(len(node.columns))
    for key in node.upsert_keys() | node.unique_keys():
        assert key <= set(indexes)
    for needed in (frozenset(), *(frozenset({index}) for index in indexes), frozenset(indexes)):
        pruned, moves = node.pruned(needed)
        assert needed <= moves.keys()
        for index in needed:
            assert pruned.columns[moves[index]].type == node.columns[index].type
    for style in (ExplainStyle(), ExplainStyle(is_infix=True)):
        assert node.title(style).endswith(")")


def _check_state(node: PlanNode) -> None:
    strings = ColumnStrings()
    whole = node.phases()[-1] is node
    if whole and node.inputs:
        assert all(node.column_text(strings, index) for index in range(len(node.columns)))
        list(node.row_conditions(strings))
        meaning = node.state_meaning(strings)
        assert meaning is None or node.state_name
    assert node.state_version >= 1
    detached = node.detached()
    assert all(isinstance(each, DetachedInput) for each in detached.inputs)
    assert pickle.loads(cloudpickle.dumps(detached)).columns == node.columns


def test_slots_are_forked_with_all_operators_loaded() -> None:
    node_classes()
    names = {each.__name__ for each in loaded.MODULES}
    for module in pkgutil.walk_packages(plan.__path__, f"{plan.__name__}."):
        source = inspect.getsource(importlib.import_module(module.name))
        imported = set(re.findall(r"^ +from (funke\.engine\.sql\.operators[\w.]*) import", source, re.MULTILINE))
        assert imported <= names, f"{module.name} imports an operator that operators/loaded.py does not list"
