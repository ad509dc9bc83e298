"""OVER by values in streams, and OVER of groups; recorded with PyFlink 2.3 and parallelism 1."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from funke.engine.errors import FunkeError
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.binding.relations import BoundAggregate, Column, SortKey
from funke.engine.sql.functions.aggregates.aggregate import bind_aggregate
from funke.engine.sql.functions.aggregates.catalog import find_aggregate
from funke.engine.sql.functions.aggregates.ranking import RANKING
from funke.engine.sql.functions.function import Argument
from funke.engine.sql.operators.windows.over import sorted_aggregate
from funke.engine.sql.plan.over.sorted_over_aggregate import SortedOverAggregate
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import EnvironmentSettings, TableEnvironment
from tests.harness.kernel_forms import use_form
from tests.harness.local_jobs import changes_in
from tests.harness.plan_nodes import rows_of
from tests.harness.sql_changelogs import Change, folded
from tests.unit.sql.operators.test_ranks import COLUMNS, ROWS, Running

RECORDED = json.loads((Path(__file__).parent / "reference_sorted_over.json").read_text())
_BY_KEY = "OVER (PARTITION BY k ORDER BY v)"
_RANKED = "its ranks count rows that are equal"
_FAILED = "its job fails"
_BOUNDED = "a number of rows bounds frames by values here"
# Queries that Flink answers otherwise, and why.
KNOWN = {
    f"SELECT k, v, n FROM (SELECT k, v, RANK() {_BY_KEY} AS n FROM t) WHERE v > 6": _RANKED,
    f"SELECT k, v, RANK() {_BY_KEY} FROM t": _RANKED,
    "SELECT k, v, DENSE_RANK() OVER (ORDER BY v) FROM t": _RANKED,
    "SELECT k, v, LISTAGG(k, '-') OVER (ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t": _FAILED,
    "SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM t": _BOUNDED,
}
ANSWERED = [each for each in RECORDED["cases"] if "changes" in each and each["query"] not in KNOWN]
REJECTED = [each for each in RECORDED["cases"] if "refused" in each and each["query"] not in KNOWN]


@pytest.fixture(scope="module")
def t_env(tmp_path_factory: pytest.TempPathFactory) -> TableEnvironment:
    folder = tmp_path_factory.mktemp("sorted")
    (folder / "t.json").write_text("\n".join(map(json.dumps, RECORDED["rows"])))
    (folder / "c.json").write_text("\n".join(map(json.dumps, RECORDED["changes"])))
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql(f"""
        CREATE TABLE t (
            k STRING, ts TIMESTAMP(3), v INT, pt AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
        ) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{folder}/t.json')
    """)
    environment.execute_sql(f"""
        CREATE TABLE c (id INT, k STRING, v INT, w INT)
        WITH ('connector' = 'filesystem', 'format' = 'debezium-json', 'path' = '{folder}/c.json')
    """)
    return environment


def changes(t_env: TableEnvironment, query: str) -> list[Any]:
    relation = planned_rows(t_env._session, t_env.sql_query(query)._relation)
    return [[sign, [str(each) for each in row]] for sign, row in changes_in(relation, is_batch=False)]


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case["query"])
def test_changes_are_those_of_flink(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    sent, expected = changes(t_env, case["query"]), case["changes"]
    if any(word in case["query"] for word in ("TUMBLE", "UNION")):
        # Windows that end together, and parts of a union, are told in any order.
        sent, expected = sorted(sent), sorted(expected)
    assert sent == expected != []


@pytest.mark.parametrize(
    "query",
    [
        *KNOWN,
        "SELECT k, COUNT(DISTINCT v) OVER (ORDER BY k) FROM t",
        "SELECT k, v, SUM(v) FILTER (WHERE v > 1) OVER (PARTITION BY k ORDER BY v) FROM t",
        "SELECT k, v, FIRST_VALUE(v) OVER (ORDER BY v), LAST_VALUE(v) OVER (ORDER BY v) FROM t",
    ],
)
def test_what_is_left_is_what_a_batch_gives(t_env: TableEnvironment, query: str) -> None:
    """Where Flink's streams give something else, time and again the same, or nothing."""
    batch = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    table = t_env.execute_sql("SHOW CREATE TABLE t").collect()
    batch.execute_sql(next(iter(table))[0])
    batch.get_config().set("funke.table.batch-plan", "slots")
    relation = planned_rows(batch._session, batch.sql_query(query)._relation)
    expected = [[sign, [str(each) for each in row]] for sign, row in changes_in(relation)]
    assert folded_rows(changes(t_env, query)) == folded_rows(expected) != []


def folded_rows(arguments: list[Any]) -> list[Any]:
    return folded([(sign, tuple(row)) for sign, row in arguments])


@pytest.mark.parametrize("case", REJECTED, ids=lambda case: case["query"])
def test_what_flink_rejects(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    with pytest.raises(FunkeError, match=re.escape(case["refused"][:60])):
        t_env.explain_sql(case["query"])


@pytest.mark.parametrize(
    "query", [each["query"] for each in ANSWERED if "COUNT(*) OVER (PARTITION BY k" in each["query"]]
)
def test_plans_say_what_flink_says(t_env: TableEnvironment, query: str) -> None:
    (expected,) = next(each["nodes"] for each in ANSWERED if each["query"] == query)
    window = expected.split(", select=")[0]
    assert window in t_env.explain_sql(query)


def over(is_rows: bool, calls: Sequence[tuple[str, int]], **more: Any) -> SortedOverAggregate:
    """Of rows with the key k, in the order of d."""
    uses = [use(name, index) for name, index in calls]
    result_columns = [Column(f"r{index}", each.call.result) for index, each in enumerate(uses)]
    columns = (*COLUMNS, *result_columns)
    return SortedOverAggregate(columns, rows_of(COLUMNS), (0,), SortKey(2), is_rows, tuple(uses), **more)


def use(name: str, index: int) -> BoundAggregate:
    function = {each.name: each for each in RANKING}.get(name) or find_aggregate(name)
    assert function is not None
    return BoundAggregate(bind_aggregate(function, [Argument(COLUMNS[index].type)]), (index,))


class Model:
    """Takes changes one by one, and looks at whole partitions."""

    def __init__(self, is_rows: bool, calls: Sequence[tuple[str, int]], preceding: int | None = None) -> None:
        self._is_rows, self._calls, self._preceding = is_rows, calls, preceding
        self._partitions: dict[int, list[Any]] = {}

    def change(self, sign: str, row: tuple[Any, ...]) -> list[Change]:
        rows = self._partitions.setdefault(row[0], [])
        before = [(each, self._results(rows, index)) for index, each in enumerate(rows)]
        own = next((at for at, each in enumerate(rows) if repr(each) == repr(row)), None)
        if sign == "+I":
            own = sum(by_value(each) <= by_value(row) for each in rows)
            rows.insert(own, row)
        elif own is None:
            return []
        else:
            del rows[own]
        after = [(each, self._results(rows, index)) for index, each in enumerate(rows)]
        (before if sign == "+I" else after).insert(own, None)  # type: ignore[arg-type]
        changes: list[Change] = []
        for index, (old, new) in enumerate(zip(before, after)):
            if index == own:
                changes.append((sign, (*(new or old)[0], *(new or old)[1])))
            elif old != new:
                changes += [("-U", (*old[0], *old[1])), ("+U", (*new[0], *new[1]))]
        return changes

    def _results(self, rows: list[Any], index: int) -> tuple[Any, ...]:
        value = by_value(rows[index])
        frame = [
            each for other, each in enumerate(rows) if other <= index or (not self._is_rows and by_value(each) == value)
        ]
        if self._preceding is not None:
            frame = frame[max(0, index - self._preceding) :]
        earlier = [by_value(each) for each in rows if by_value(each) < value]
        ranks = {"rank": len(earlier) + 1, "dense_rank": len({*earlier}) + 1}
        return tuple(
            ranks.get(name) or of_values(name, [each[at] for each in frame if each[at] is not None])
            for name, at in self._calls
        )


def by_value(row: tuple[Any, ...]) -> tuple[int, float]:
    value = row[2]
    if value is None:
        return (0, 0.0)
    return (2, 0.0) if isnan(value) else (1, value)


def of_values(name: str, values: list[Any]) -> Any:
    if name == "count":
        return len(values)
    functions: dict[str, Callable[[list[Any]], Any]] = {
        "sum": sum,
        "max": max,
        "listagg": ",".join,
        "first_value": operator.itemgetter(0),
    }
    return functions[name](values) if values else None


FRAMES: dict[str, Any] = {
    "numbers": (False, [("sum", 0), ("max", 3), ("rank", 2), ("dense_rank", 2)]),
    "rows": (True, [("count", 1), ("sum", 0)]),
    "the most": (True, [("max", 3)]),
    "texts": (False, [("listagg", 1), ("max", 1)]),
    "each row": (True, [("sum", 0), ("count", 1)], 0),
    "two rows": (True, [("sum", 0), ("first_value", 3)], 1),
    "four rows": (True, [("max", 3), ("listagg", 1)], 3),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("most_rows", [1 << 18, 5])
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROWS, max_size=14), cut=st.integers(0, 20), signs=st.lists(st.booleans(), min_size=14))
def test_changes_are_those_of_a_model(
    name: str, most_rows: int, rows: list[Any], cut: int, signs: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One batch, then another one after a restart on the other backend, is the same as row by row."""
    monkeypatch.setattr(sorted_aggregate, "_MOST_ROWS", most_rows)
    assert_same_as_model(name, rows, cut, signs)


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("form", ["compiled", "plain"])
@settings(max_examples=10, deadline=None)
@given(rows=st.lists(ROWS, max_size=40), cut=st.integers(0, 60), signs=st.lists(st.booleans(), min_size=40))
def test_both_forms_of_the_loops_are_the_same(
    name: str, form: str, rows: list[Any], cut: int, signs: list[bool]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        patch.setattr(sorted_aggregate, "_MOST_ROWS", 40)
        assert_same_as_model(name, rows, cut, signs)


def assert_same_as_model(name: str, rows: list[Any], cut: int, signs: list[bool]) -> None:
    changes: list[Change] = []
    for row, is_gone in zip(rows, signs):
        changes.append(("+I", row))
        if is_gone:
            changes.append(("-D", changes[len(changes) // 2][1]))
    is_rows, calls, *bounds = FRAMES[name]
    preceding = bounds[0] if bounds else None
    model, spec = Model(is_rows, calls, preceding), over(is_rows, calls, preceding=preceding)
    first, second = ("hashmap", "rocksdb") if cut % 2 else ("rocksdb", "hashmap")
    before = Running(spec, first)
    match = before.feed(changes[:cut])
    behind = Running(spec, second, before.ended())
    match += behind.feed(changes[cut:])
    behind.ended()
    assert match == [repr(each) for change in changes for each in model.change(*change)]


def test_updates_come_without_the_rows_before_where_nobody_needs_them() -> None:
    running = Running(over(True, [("count", 1)], sends_before=False), "hashmap")
    sent = running.feed([("+I", (1, "a", 2.0, None)), ("+I", (1, "b", 1.0, None))])
    assert [each[2:4] for each in sent] == ["+I", "+I", "+U"]


def test_a_key_without_new_rows_is_forgotten() -> None:
    clock = ManualClock()
    running = Running(over(False, [("count", 1)], ttl_ms=1000), "hashmap", clock=clock)
    functions = []
    for now in (0, 900, 1800, 3000):
        clock.set(now)
        functions += running.feed([("+I", (1, "a", 0.5 + now, None))])
    assert [each.split(", ")[-1] for each in functions] == ["1))", "2))", "3))", "1))"]


def test_an_order_of_values_needs_a_sink_that_takes_updates(t_env: TableEnvironment, tmp_path: Path) -> None:
    t_env.execute_sql(f"""
        CREATE TEMPORARY TABLE s (k STRING, n BIGINT)
        WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}')
    """)
    with pytest.raises(FunkeError, match="update and delete changes which is produced by node OverAggregate"):
        t_env.explain_sql("INSERT INTO s SELECT k, COUNT(*) OVER (ORDER BY v) FROM t")
