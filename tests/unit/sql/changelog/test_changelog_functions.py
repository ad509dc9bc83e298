"""TO_CHANGELOG and FROM_CHANGELOG; what is expected was recorded with PyFlink 2.3."""

from __future__ import annotations

import pytest

from funke.engine.errors import SqlParserError, SqlValidationError
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import EnvironmentSettings, Table, TableEnvironment
from funke.table.expressions import col, descriptor, map_
from tests.harness.local_jobs import changes_in

CODES = "MAP['c, r', 'INSERT', 'ub', 'UPDATE_BEFORE', 'ua', 'UPDATE_AFTER', 'd', 'DELETE']"


def environment(mode: str = "streaming") -> TableEnvironment:
    t_env = TableEnvironment.create(getattr(EnvironmentSettings, f"in_{mode}_mode")())
    t_env.execute_sql(
        "CREATE TEMPORARY VIEW v AS SELECT k, COUNT(*) AS c FROM (VALUES ('a'), ('b'), ('a')) AS t (k) GROUP BY k"
    )
    for name, op, codes in (
        ("w", "op", ["INSERT", "INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"]),
        ("x", "o", ["c", "r", "ub", "ua", "d"]),
    ):
        names = zip((1, 2, 1, 1, 2), codes, ("Alice", "Bob", "Alice", "Alice2", "Bob"))
        values = ", ".join(f"({number}, '{code}', '{person}')" for number, code, person in names)
        t_env.execute_sql(f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM (VALUES {values}) AS t (id, {op}, name)")
    return t_env


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    return environment()


def changes(table: Table) -> list[str]:
    sent = changes_in(planned_rows(table._t_env._session, table._relation))
    return [f"{kind} {', '.join(map(str, row))}" for kind, row in sent]


PEOPLE = ["+I 1, Alice", "+I 2, Bob", "-U 1, Alice", "+U 1, Alice2", "-D 2, Bob"]


@pytest.mark.parametrize(
    ("source", "actual"),
    [
        (
            "TO_CHANGELOG(input => TABLE v)",
            ["INSERT, a, 1", "INSERT, b, 1", "UPDATE_BEFORE, a, 1", "UPDATE_AFTER, a, 2"],
        ),
        ("TABLE(TO_CHANGELOG(TABLE v, DESCRIPTOR(o), MAP['INSERT', 'I']))", ["I, a, 1", "I, b, 1"]),
        (
            "TO_CHANGELOG(input => (SELECT * FROM v), op_mapping => MAP['INSERT, UPDATE_AFTER', 'no', 'DELETE', 'x'])",
            ["no, a, 1", "no, b, 1", "no, a, 2"],
        ),
        ("TO_CHANGELOG(TABLE v, uid => 'x') WHERE c = 2", ["UPDATE_AFTER, a, 2"]),
    ],
)
def test_changes_as_rows(t_env: TableEnvironment, source: str, actual: list[str]) -> None:
    assert changes(t_env.sql_query(f"SELECT * FROM {source}")) == [f"+I {each}" for each in actual]


@pytest.mark.parametrize(
    ("query", "actual"),
    [
        ("SELECT * FROM FROM_CHANGELOG(input => TABLE w)", PEOPLE),
        (f"SELECT * FROM FROM_CHANGELOG(TABLE x, DESCRIPTOR(o), {CODES})", PEOPLE),
        ("SELECT * FROM FROM_CHANGELOG(TABLE w) WHERE id = 1", [PEOPLE[0], *PEOPLE[2:4]]),
        (
            "SELECT name, COUNT(*) FROM FROM_CHANGELOG(TABLE w) GROUP BY name",
            ["+I Alice, 1", "+I Bob, 1", "-D Alice, 1", "+I Alice2, 1", "-D Bob, 1"],
        ),
        (
            "SELECT * FROM FROM_CHANGELOG(TABLE x, DESCRIPTOR(o), MAP['c, r, ub, ua, d', 'INSERT'])",
            [f"+I {each[3:]}" for each in PEOPLE],
        ),
        (
            "SELECT * FROM FROM_CHANGELOG((SELECT * FROM TO_CHANGELOG(TABLE v)))",
            ["+I a, 1", "+I b, 1", "-U a, 1", "+U a, 2"],
        ),
    ],
)
def test_rows_as_changes(t_env: TableEnvironment, query: str, actual: list[str]) -> None:
    assert changes(t_env.sql_query(query)) == actual


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("TO_CHANGELOG(TABLE v, DESCRIPTOR(k))", ValidationException, r"Found duplicates: \[k\]"),
        ("TO_CHANGELOG(TABLE v, DESCRIPTOR(a, b))", ValidationException, "must contain exactly one column name"),
        (
            "TO_CHANGELOG(TABLE v, op_mapping => MAP['insert', 'I'])",
            ValidationException,
            "Unknown change operation: 'in",
        ),
        (
            "TO_CHANGELOG(TABLE v, op_mapping => MAP['INSERT, DELETE', 'A', 'DELETE', 'B'])",
            ValidationException,
            r"Duplicate change operation: 'DELETE'\.",
        ),
        ("TO_CHANGELOG(TABLE v, op_mapping => MAP[1, 2])", ValidationException, "must be a constant MAP literal"),
        ("TO_CHANGELOG(TABLE v PARTITION BY k)", SqlValidationError, "Only tables with set semantics"),
        ("TO_CHANGELOG(TABLE v, nosuch => 1)", SqlParserError, "needs .input, op, op_mapping, uid."),
        ("TO_CHANGELOG(input => 1)", SqlParserError, "needs .input"),
        ("FROM_CHANGELOG(TABLE v)", ValidationException, "The op column 'op' does not exist in the input schema"),
        (
            "FROM_CHANGELOG(TABLE w, DESCRIPTOR(id))",
            ValidationException,
            "The op column 'id' must be of STRING type, but was 'INT NOT NULL'",
        ),
        (
            "FROM_CHANGELOG(TABLE x, DESCRIPTOR(o), MAP['c', 'INSERT', 'r', 'INSERT'])",
            ValidationException,
            "Duplicate change operation: 'INSERT'. Use comma-separated keys",
        ),
        (
            "FROM_CHANGELOG(TABLE x, DESCRIPTOR(o), MAP['c, r', 'INSERT', 'ua', 'UPDATE_AFTER'])",
            ValidationException,
            "must include UPDATE_BEFORE for retract mode",
        ),
        (
            "FROM_CHANGELOG((SELECT k AS op, c FROM v))",
            TableException,
            "StreamPhysicalProcessTableFunction doesn't support consuming update changes which is produced by node "
            "GroupAggregate",
        ),
        (
            "FROM_CHANGELOG(TABLE x, DESCRIPTOR(o))",
            TableException,
            "Received invalid op code 'c'. Defined op codes are",
        ),
        ("FROM_CHANGELOG((SELECT id, CAST(NULL AS STRING) AS op FROM w))", TableException, "Received NULL op code"),
    ],
)
def test_what_fails(t_env: TableEnvironment, source: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        changes(t_env.sql_query(f"SELECT * FROM {source}"))


def test_methods_of_tables(t_env: TableEnvironment) -> None:
    counts, people = t_env.from_path("v"), t_env.from_path("x")
    named = counts.to_changelog(
        descriptor("code").as_argument("op"), map_("INSERT", "i", "UPDATE_AFTER", "u").as_argument("op_mapping")
    )
    assert changes(named.select(col("code"), col("c"))) == ["+I i, 1", "+I i, 1", "+I u, 2"]
    codes = map_("c, r", "INSERT", "ub", "UPDATE_BEFORE", "ua", "UPDATE_AFTER", "d", "DELETE")
    assert changes(people.from_changelog(descriptor("o"), codes)) == PEOPLE
    assert changes(t_env.from_path("w").from_changelog()) == PEOPLE
    assert changes(counts.to_changelog().from_changelog()) == changes(counts)
    with pytest.raises(ValidationException, match="takes the arguments op, op_mapping and uid"):
        counts.to_changelog(descriptor("code").as_argument("nosuch"))


def test_event_time_stays(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE timed (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'datagen', 'number-of-rows' = '3')"
    )
    log = t_env.sql_query("SELECT * FROM TO_CHANGELOG(TABLE timed)")
    assert "`ts` TIMESTAMP(3) *ROWTIME*" in str(log.get_resolved_schema())


def test_batches_have_no_changes() -> None:
    query = environment("batch").sql_query("SELECT * FROM TO_CHANGELOG(TABLE v)")
    with pytest.raises(TableException, match="needs the changes of a stream"):
        query.explain()


def test_the_plan_names_them(t_env: TableEnvironment) -> None:
    plan = t_env.explain_sql("SELECT * FROM FROM_CHANGELOG(TABLE w)")
    assert "ProcessTableFunction(invocation=[FROM_CHANGELOG(TABLE(#0))], select=[id,name])" in plan
