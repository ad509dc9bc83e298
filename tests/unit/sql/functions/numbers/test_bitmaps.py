"""Sets of numbers as values; what is expected was recorded with PyFlink 2.3, as texts and bytes of each."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import SqlValidationError, UnsupportedFeatureError
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import DataTypes, EnvironmentSettings, Table, TableEnvironment
from funke.table.expressions import col
from tests.harness.local_jobs import changes_in

SMALL = "BITMAP_BUILD(ARRAY[1, 2, 3])"
OTHER = "BITMAP_BUILD(ARRAY[2, 3, -4])"
# Changes of two keys, with NULLs, and with something taken back that was never there.
CHANGES = """(VALUES ('a', 'INSERT', ARRAY[1, 2, 3]), ('a', 'INSERT', ARRAY[2, 3, -4]),
    ('a', 'INSERT', CAST(NULL AS ARRAY<INT>)), ('b', 'INSERT', ARRAY[7]), ('a', 'UPDATE_BEFORE', ARRAY[1, 2, 3]),
    ('a', 'UPDATE_AFTER', ARRAY[3]), ('a', 'DELETE', ARRAY[2, 3, -4]), ('b', 'DELETE', ARRAY[7]),
    ('b', 'DELETE', ARRAY[9]), ('b', 'INSERT', ARRAY[8, 9]), ('b', 'INSERT', ARRAY[9]),
    ('a', 'DELETE', CAST(NULL AS ARRAY<INT>)), ('a', 'INSERT', ARRAY_REMOVE(ARRAY[1], 1)), ('a', 'DELETE', ARRAY[3]),
    ('b', 'INSERT', ARRAY[9, 8])) AS t (k, op, a)"""
COMBINED = ", ".join(
    f"BITMAP_TO_STRING(BITMAP_{name}_AGG(b)), BITMAP_{name}_CARDINALITY_AGG(b)" for name in ("AND", "OR", "XOR")
)
BUILT = "BITMAP_TO_STRING(BITMAP_BUILD_AGG(a[1])), BITMAP_BUILD_CARDINALITY_AGG(a[1])"


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def changes(table: Table) -> list[str]:
    """The changes, each as a text; rows before updates are left out."""
    sent = changes_in(planned_rows(table._t_env._session, table._relation))
    return [f"{kind} {', '.join(map(str, row))}" for kind, row in sent if str(kind) != "-U"]


def rows(table: Table) -> list[Any]:
    return [row for _, row in changes_in(planned_rows(table._t_env._session, table._relation))]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (f"BITMAP_TO_STRING({SMALL})", "{1,2,3}"),
        ("BITMAP_TO_STRING(BITMAP_BUILD(ARRAY[-1, 0, 1, -2147483648]))", "{0,1,2147483648,4294967295}"),
        ("BITMAP_TO_ARRAY(BITMAP_BUILD(ARRAY[-1, 0, 5, 1, -2147483648]))", [0, 1, 5, -2147483648, -1]),
        ("BITMAP_CARDINALITY(BITMAP_BUILD(ARRAY[1, 1, 2]))", 2),
        ("BITMAP_TO_STRING(BITMAP_BUILD(ARRAY[1, CAST(NULL AS INT)]))", "{1}"),
        ("BITMAP_TO_STRING(BITMAP_BUILD(ARRAY[CAST(1 AS SMALLINT)]))", "{1}"),
        ("BITMAP_CARDINALITY(BITMAP_BUILD(CAST(NULL AS ARRAY<INT>)))", None),
        (f"BITMAP_TO_STRING(BITMAP_AND({SMALL}, {OTHER}))", "{2,3}"),
        (f"BITMAP_TO_STRING(BITMAP_OR({SMALL}, {OTHER}))", "{1,2,3,4294967292}"),
        (f"BITMAP_TO_STRING(BITMAP_XOR({SMALL}, {OTHER}))", "{1,4294967292}"),
        (f"BITMAP_TO_STRING(BITMAP_ANDNOT({SMALL}, {OTHER}))", "{1}"),
        (f"BITMAP_TO_STRING(BITMAP_OR({SMALL}, CAST(NULL AS BITMAP)))", None),
        (f"BITMAP_TO_BYTES({SMALL})", "3a300000010000000000020010000000010002000300"),
        ("BITMAP_TO_BYTES(BITMAP_BUILD(ARRAY[1, 2, 3, 4]))", "3b3000000100000300010001000300"),
        (
            "BITMAP_TO_BYTES(BITMAP_BUILD(ARRAY[-1, 70000, 140000, 210000, 1]))",
            "3a300000050000000000000001000000020000000300000"
            "0ffff00003000000032000000340000003600000038000000010070" + "11e0225034ffff",
        ),
        ("BITMAP_TO_BYTES(BITMAP_BUILD(ARRAY_REMOVE(ARRAY[1], 1)))", "3a30000000000000"),
        ("BITMAP_TO_STRING(BITMAP_FROM_BYTES(x'3b3000000100000200010001000200'))", "{1,2,3}"),
        (f"CAST({SMALL} AS STRING)", "{1,2,3}"),
        (f"CAST({SMALL} AS VARCHAR(3))", "{1,"),
        (f"CAST({SMALL} AS CHAR(10))", "{1,2,3}   "),
        (f"CAST(ROW({SMALL}) AS STRING)", "({1,2,3})"),
        (f"{SMALL} = BITMAP_BUILD(ARRAY[3, 2, 1, 1])", True),
        (f"{SMALL} = BITMAP_FROM_BYTES(x'3b3000000100000200010001000200')", True),
        (f"{SMALL} <> {OTHER}", True),
        (f"{SMALL} IN ({OTHER}, {SMALL})", True),
        (f"{SMALL} IS NOT DISTINCT FROM {OTHER}", False),
        (f"BITMAP_TO_STRING(COALESCE(CAST(NULL AS BITMAP), {SMALL}))", "{1,2,3}"),
        (f"BITMAP_TO_STRING(ARRAY[{SMALL}, {OTHER}][2])", "{2,3,4294967292}"),
        (f"TYPEOF({SMALL})", "BITMAP NOT NULL"),
        ("TYPEOF(BITMAP_BUILD(CAST(NULL AS ARRAY<INT>)))", "BITMAP"),
        (f"TYPEOF(BITMAP_TO_ARRAY({SMALL}))", "ARRAY<INT> NOT NULL"),
    ],
)
def test_sets_and_what_is_made_of_them(t_env: TableEnvironment, expression: str, value: Any) -> None:
    (result_rows,) = rows(t_env.sql_query(f"SELECT {expression}"))[0]
    assert (result_rows.hex() if isinstance(result_rows, bytes) else result_rows) == value


@pytest.mark.parametrize(
    "expression",
    [
        "BITMAP_BUILD(ARRAY[CAST(1 AS BIGINT)])",
        "BITMAP_BUILD(ARRAY['1'])",
        "BITMAP_BUILD(1)",
        "BITMAP_FROM_BYTES('abc')",
        f"CAST({SMALL} AS BYTES)",
        f"CAST({SMALL} AS ARRAY<INT>)",
        "CAST('{1}' AS BITMAP)",
        f"{SMALL} < {OTHER}",
        f"JSON_STRING({SMALL})",
        f"MAX({SMALL})",
        "BITMAP_BUILD_AGG(CAST(1 AS BIGINT))",
        "BITMAP_OR_AGG(1)",
    ],
)
def test_what_flink_does_not_have_either(t_env: TableEnvironment, expression: str) -> None:
    with pytest.raises(SqlValidationError):
        t_env.sql_query(f"SELECT {expression}")


@pytest.mark.parametrize("data", ["x''", "x'696e76616c6964'"])
def test_bytes_that_are_no_bitmap(t_env: TableEnvironment, data: str) -> None:
    with pytest.raises(ValueError, match="Failed to deserialize bitmap from bytes"):
        rows(t_env.sql_query(f"SELECT BITMAP_CARDINALITY(BITMAP_FROM_BYTES({data}))"))


@pytest.mark.parametrize("file_format", ["json", "csv", "parquet", "orc", "avro"])
def test_files_have_none(t_env: TableEnvironment, file_format: str) -> None:
    t_env.execute_sql(
        f"CREATE TABLE files_{file_format} (b BITMAP) WITH ('connector' = 'filesystem', 'path' = '/no', "
        f"'format' = '{file_format}')"
    )
    with pytest.raises(UnsupportedFeatureError, match="BITMAP"):
        t_env.explain_sql(f"INSERT INTO files_{file_format} SELECT {SMALL}")


def test_groups_of_sets(t_env: TableEnvironment) -> None:
    strings = f"(SELECT BITMAP_BUILD(a) AS b FROM {CHANGES} WHERE k = 'b')"
    result_rows = rows(t_env.sql_query(f"SELECT BITMAP_TO_STRING(b), COUNT(*) FROM {strings} GROUP BY b"))
    assert dict(result_rows) == {"{7}": 2, "{9}": 2, "{8,9}": 2}
    assert rows(t_env.sql_query(f"SELECT COUNT(DISTINCT b) FROM {strings}"))[-1] == (3,)


def test_aggregates_of_rows(t_env: TableEnvironment) -> None:
    sets = f"(SELECT k, BITMAP_BUILD(a) AS b FROM {CHANGES})"
    assert changes(t_env.sql_query(f"SELECT k, {COMBINED} FROM {sets} GROUP BY k")) == [
        "+I a, {1,2,3}, 3, {1,2,3}, 3, {1,2,3}, 3",
        "+U a, {2,3}, 2, {1,2,3,4294967292}, 4, {1,4294967292}, 2",
        "+I b, {7}, 1, {7}, 1, {7}, 1",
        "+U a, {2,3}, 2, {1,2,3,4294967292}, 4, {2,3,4294967292}, 3",
        "+U a, {3}, 1, {1,2,3,4294967292}, 4, {2,4294967292}, 2",
        "+U a, {3}, 1, {1,2,3,4294967292}, 4, {3}, 1",
        "+U b, {7}, 1, {7}, 1, {}, 0",
        "+U b, {}, 0, {7,9}, 2, {9}, 1",
        "+U b, {}, 0, {7,8,9}, 3, {8}, 1",
        "+U b, {}, 0, {7,8,9}, 3, {8,9}, 2",
        "+U a, {}, 0, {1,2,3,4294967292}, 4, {3}, 1",
        "+U a, {}, 0, {1,2,3,4294967292}, 4, {}, 0",
        "+U b, {}, 0, {7,8,9}, 3, {}, 0",
    ]
    assert changes(t_env.sql_query(f"SELECT k, {BUILT} FROM {CHANGES} GROUP BY k")) == [
        "+I a, {1}, 1",
        "+U a, {1,2}, 2",
        "+I b, {7}, 1",
        "+U a, {1,2,3}, 3",
        "+U b, {7,9}, 2",
        "+U b, {7,8,9}, 3",
    ]


def test_aggregates_of_changes(t_env: TableEnvironment) -> None:
    log = f"FROM_CHANGELOG(input => (SELECT * FROM {CHANGES}))"
    sets = f"(SELECT k, BITMAP_BUILD(a) AS b FROM {log})"
    assert changes(t_env.sql_query(f"SELECT k, {COMBINED} FROM {sets} GROUP BY k")) == [
        "+I a, {1,2,3}, 3, {1,2,3}, 3, {1,2,3}, 3",
        "+U a, {2,3}, 2, {1,2,3,4294967292}, 4, {1,4294967292}, 2",
        "+I b, {7}, 1, {7}, 1, {7}, 1",
        "+U a, {2,3,4294967292}, 3, {2,3,4294967292}, 3, {2,3,4294967292}, 3",
        "+U a, {3}, 1, {2,3,4294967292}, 3, {2,4294967292}, 2",
        "+U a, {3}, 1, {3}, 1, {3}, 1",
        "-D b, {7}, 1, {7}, 1, {7}, 1",
        "+I b, {8,9}, 2, {8,9}, 2, {8,9}, 2",
        "+U b, {9}, 1, {8,9}, 2, {8}, 1",
        "+U a, {}, 0, {3}, 1, {3}, 1",
        "+U a, {}, 0, {}, 0, {}, 0",
        "+U b, {9}, 1, {8,9}, 2, {9}, 1",
    ]
    assert changes(t_env.sql_query(f"SELECT k, {BUILT} FROM {log} GROUP BY k")) == [
        "+I a, {1}, 1",
        "+U a, {1,2}, 2",
        "+I b, {7}, 1",
        "+U a, {2}, 1",
        "+U a, {2,3}, 2",
        "+U a, {3}, 1",
        "-D b, {7}, 1",
        "+I b, {8}, 1",
        "+U b, {8,9}, 2",
        "+U a, None, None",
    ]


def test_methods_of_expressions(t_env: TableEnvironment) -> None:
    arrays = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.ARRAY(DataTypes.INT()))])
    table = t_env.from_elements([([1, 2, -1],)], arrays)
    built = col("a").bitmap_build()
    strings = table.select(
        built.bitmap_to_string(), built.bitmap_or(built).bitmap_cardinality(), built.bitmap_to_array()
    )
    assert rows(strings) == [("{1,2,4294967295}", 3, [1, 2, -1])]
    numbers = t_env.from_elements([(1,), (2,), (1,)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]))
    result = numbers.select(col("a").bitmap_build_agg().bitmap_to_string(), col("a").bitmap_build_cardinality_agg())
    assert changes(result) == ["+I {1}, 1", "+U {1,2}, 2"]
