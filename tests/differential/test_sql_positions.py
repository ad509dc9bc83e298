"""A function gives the same wherever it stands: in a projection, a filter, a computed column, a watermark; in streams
and in batches.

For every function of the catalogue some of the recorded expressions that call it, over the table of
`sql/nasty_values.py`.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from funke.engine.sql.binding.expressions import calls_in, column_of
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.values import from_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.logical.atomic_types import BooleanType
from funke.table import EnvironmentSettings, TableEnvironment
from tests.differential.sql.nasty_values import COLUMNS, COMPUTED, ROWS, python_values
from tests.differential.sql.recorded_form import plain
from tests.differential.test_sql_expressions import RECORDED, TABLE, bound, outcome
from tests.harness.sql_plans import RunningPlan

FOR_EACH_FUNCTION = 2
# Many expressions in one query: to plan one takes longer than to compute it.
IN_A_QUERY = 60
SOME_TIME = datetime.datetime(2024, 5, 1, 12)
SCHEMA = ", ".join(
    [
        "n INT",
        "wt TIMESTAMP(3)",
        *(f"`{name}` {each[0]}" for name, each in COLUMNS.items()),
        *(f"`{name}` AS {each[1]}" for name, each in COMPUTED.items()),
    ]
)
WITH = "WITH ('connector' = 'filesystem', 'path' = '/tmp/nothing', 'format' = 'json')"
# What has no value of its own, or is made by the parser of other functions: each has tests elsewhere.
# Intervals become numbers in INSERT and in the Table API only.
ELSEWHERE = frozenset(["current_watermark", "current_database", "interval number", "interval units"])


# Functions that no recorded expression calls.
MORE = (
    "BITMAP_TO_STRING(BITMAP_AND(BITMAP_BUILD(ai), BITMAP_BUILD(ak)))",
    "BITMAP_TO_ARRAY(BITMAP_ANDNOT(BITMAP_BUILD(ai), BITMAP_BUILD(ak)))",
    "BITMAP_TO_ARRAY(BITMAP_OR(BITMAP_BUILD(ai), BITMAP_BUILD(ak)))",
    "BITMAP_CARDINALITY(BITMAP_XOR(BITMAP_BUILD(ai), BITMAP_BUILD(ak)))",
    "BITMAP_TO_STRING(BITMAP_FROM_BYTES(BITMAP_TO_BYTES(BITMAP_BUILD(ai))))",
    "INET_ATON(INET_NTOA(bi))",
    "js IS JSON ARRAY",
    "js IS NOT JSON",
    "js IS NOT JSON OBJECT",
    "js IS NOT JSON SCALAR",
    "IS_ALPHA(s)",
    "IS_DECIMAL(num)",
    "IS_DIGIT(num)",
    "JSON_OBJECT('k' VALUE JSON('{\"a\": 1}'))",
    "OBJECT_UPDATE(OBJECT_OF('some.Name', 'a', i), 'a', j)",
    "OCTET_LENGTH(s)",
    "JSON_STRING(TRY_PARSE_JSON(js))",
    "JSON_STRING(PARSE_JSON('{\"a\": [1, 2]}'))",
    "TYPEOF(de)",
)


def table_rows() -> list[dict[str, Any]]:
    columns = {name: python_values(name) for name in COLUMNS}
    return [
        {"n": index, "wt": SOME_TIME, **{name: values[index] for name, values in columns.items()}}
        for index in range(ROWS)
    ]


@cache
def chosen() -> dict[str, list[Any]]:
    """Expression -> its values, in the form of the recording."""
    batch = own_batch()
    words: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    values_of: dict[str, list[Any]] = {}
    for entry in [*RECORDED, *({"e": each, "v": None} for each in MORE)]:
        # A look at the text is cheaper than its meaning.
        own = set(re.findall(r"[A-Z_]+|[^\w\s]+", entry["e"]))
        is_known = all(words[each] >= FOR_EACH_FUNCTION for each in own) and entry["e"] not in MORE
        if "v" not in entry or is_known:
            continue
        inputs = outcome(entry, batch)
        if "v" not in inputs:
            continue
        names = {each.call.function.name for each in calls_in(bound(entry["e"]))}
        if any(calls[name] < FOR_EACH_FUNCTION for name in names):
            values_of[entry["e"]] = inputs["v"]
            calls.update(names)
            words.update(own)
    return values_of


def own_batch() -> Any:
    arrays = [from_values(python_values(each.name), each.type) for each in TABLE.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema_of(TABLE.columns))


def environment(mode: str) -> TableEnvironment:
    tables = TableEnvironment.create(getattr(EnvironmentSettings, f"in_{mode}_mode")())
    tables.get_config().set_local_timezone("UTC")
    tables.get_config().set("funke.table.batch-plan", "slots")
    tables.execute_sql(f"CREATE TABLE t ({SCHEMA}) {WITH}")
    return tables


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    return environment("streaming")


def planned(t_env: TableEnvironment, query: str) -> Relation:
    return planned_rows(t_env._session, t_env.sql_query(query)._relation)


def rows_of(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return [row for _, row in RunningPlan(planned(t_env, query)).feed(*table_rows())]


def parts() -> Iterator[dict[str, list[Any]]]:
    items = list(chosen().items())
    for start in range(0, len(items), IN_A_QUERY):
        yield dict(items[start : start + IN_A_QUERY])


def differences(part: dict[str, list[Any]], rows: list[tuple[Any, ...]]) -> list[str]:
    columns = [[plain(each) for each in values] for values in zip(*rows)]
    return [
        f"{expression}\n  wanted {expected}\n  found  {item}"
        for (expression, expected), item in zip(part.items(), columns, strict=True)
        if item != expected
    ]


def test_every_function_is_among_them() -> None:
    called = {each.call.function.name for text in chosen() for each in calls_in(bound(text))}
    deterministic = {each.name for each in FUNCTIONS.values() if each.is_deterministic and each.current_time is None}
    assert sorted(deterministic - called - ELSEWHERE) == []


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_projections(mode: str) -> None:
    t_env = environment(mode)
    different = []
    for part in parts():
        different += differences(part, rows_of(t_env, f"SELECT {', '.join(part)} FROM t"))
    assert not different, "\n".join(different)


def of_physical_columns(expression: str) -> str:
    """The same without computed columns, of which no other may be computed."""
    for name, each in COMPUTED.items():
        expression = re.sub(rf"\b{name}\b(?!')", f"({each[1]})", expression)
    return expression


def test_computed_columns(t_env: TableEnvironment) -> None:
    different = []
    for number, part in enumerate(parts()):
        names = [f"x{index}" for index in range(len(part))]
        computed = ", ".join(f"{name} AS {of_physical_columns(each)}" for name, each in zip(names, part))
        t_env.execute_sql(f"CREATE TABLE c{number} ({SCHEMA}, {computed}) {WITH}")
        different += differences(part, rows_of(t_env, f"SELECT {', '.join(names)} FROM c{number}"))
    assert not different, "\n".join(different)


def test_filters(t_env: TableEnvironment) -> None:
    different = []
    for expression, values in chosen().items():
        nulls = [row for (row,) in rows_of(t_env, f"SELECT n FROM t WHERE ({expression}) IS NULL")]
        if nulls != [index for index, each in enumerate(values) if each is None]:
            different.append(f"{expression} IS NULL: {nulls} of {values}")
        if isinstance(bound(expression).type, BooleanType):
            kept = [row for (row,) in rows_of(t_env, f"SELECT n FROM t WHERE {expression}")]
            if kept != [index for index, each in enumerate(values) if each is True]:
                different.append(f"{expression}: {kept} of {values}")
    assert not different, "\n".join(different)


def test_watermarks(t_env: TableEnvironment) -> None:
    """The delay of a row's watermark says for which of some expressions there is a value."""
    different = []
    items = list(chosen().items())
    for number, start in enumerate(range(0, len(items), 10)):
        part = items[start : start + 10]
        delays = [
            f"CASE WHEN ({each}) IS NULL THEN INTERVAL '0' SECOND ELSE INTERVAL '{1 << index}' SECOND END"
            for index, (each, _) in enumerate(part)
        ]
        watermark = " - ".join(["wt", *delays])
        t_env.execute_sql(f"CREATE TABLE w{number} ({SCHEMA}, WATERMARK FOR wt AS {watermark}) {WITH}")
        relation: Any = planned(t_env, f"SELECT * FROM w{number}")
        while not isinstance(relation, WatermarkAssigner):
            relation = relation.input
        (batch,) = RunningPlan(relation.input)._elements(relation.input, table_rows())
        results = [(SOME_TIME - each.as_py()).total_seconds() for each in column_of(relation.expression)(batch.data)]
        expected = [
            sum(1 << index for index, (_, values) in enumerate(part) if values[row] is not None) for row in range(ROWS)
        ]
        if results != expected:
            different.append(f"{[each for each, _ in part]}\n  wanted {expected}\n  found  {results}")
    assert not different, "\n".join(different)
