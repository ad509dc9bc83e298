"""Which inserts keep rows by primary key, or need rows before updates, and which are rejected; as in PyFlink 2.3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from funke.datastream import StreamExecutionEnvironment
from funke.engine.flink_exceptions import ValidationException
from funke.table import (
    EnvironmentSettings,
    ExplainDetail,
    PlanReference,
    Schema,
    StreamTableEnvironment,
    TableEnvironment,
)
from funke.table.changelog_mode import ChangelogMode

KAFKA = "'topic' = 'x', 'properties.bootstrap.servers' = 'localhost:1'"
CONNECTORS = {
    "upsert": f"'connector' = 'upsert-kafka', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json'",
    "jdbc": "'connector' = 'jdbc', 'url' = 'jdbc:sqlite:/tmp/x', 'table-name' = 'x'",
    "hole": "'connector' = 'blackhole'",
    "retract": f"'connector' = 'kafka', {KAFKA}, 'format' = 'debezium-json'",
    "files": "'connector' = 'filesystem', 'path' = '/tmp/x', 'format' = 'json'",
}
MAXIMA = "SELECT k, MAX(v) FROM t GROUP BY k"
DEDUPLICATE = " ON CONFLICT DO DEDUPLICATE"
MATERIALIZED, STRATEGY = ", upsertMaterialize=[true]", ", conflictStrategy=[DEDUPLICATE]"


@pytest.fixture
def t_env() -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql("CREATE TABLE t (k STRING, v INT) WITH ('connector' = 'datagen')")
    environment.execute_sql(
        "CREATE TABLE timed (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen')"
    )
    environment.execute_sql(
        "CREATE TABLE u (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'datagen')"
    )
    for name, options in CONNECTORS.items():
        for key in ("k", "v", "k, v"):
            environment.execute_sql(
                f"CREATE TABLE {name}_{key.replace(', ', '')} (k STRING, v INT, PRIMARY KEY ({key}) NOT ENFORCED) "
                f"WITH ({options})"
            )
    return environment


def planned(t_env: TableEnvironment, statement: str) -> tuple[str, str]:
    """What the sink says of conflicts, and the kinds of changes that come to it."""
    plan = t_env.explain_sql(statement, ExplainDetail.CHANGELOG_MODE)
    sink, below = plan.split("== Optimized Physical Plan ==\n")[1].splitlines()[:2]
    return sink.split("fields=[k, v]")[1].removesuffix(", changelogMode=[NONE])"), below.split("changelogMode=")[1][:-1]


@pytest.mark.parametrize(
    ("table", "query", "materialize", "said", "kinds"),
    [
        ("upsert_k", MAXIMA, "AUTO", "", "[I,UA]"),
        ("jdbc_k", MAXIMA, "AUTO", "", "[I,UA]"),
        ("hole_k", MAXIMA, "AUTO", "", "[I,UA]"),
        # A row moves to another key of the table when its update does.
        ("upsert_kv", MAXIMA, "AUTO", "", "[I,UB,UA]"),
        ("jdbc_kv", MAXIMA, "AUTO", "", "[I,UB,UA]"),
        ("upsert_v", MAXIMA + DEDUPLICATE, "AUTO", MATERIALIZED + STRATEGY, "[I,UB,UA]"),
        ("jdbc_v", MAXIMA + DEDUPLICATE, "AUTO", MATERIALIZED + STRATEGY, "[I,UB,UA]"),
        ("upsert_k", MAXIMA + DEDUPLICATE, "AUTO", STRATEGY, "[I,UA]"),
        # What is inserted later replaces what was there.
        ("upsert_v", "SELECT k, v FROM t" + DEDUPLICATE, "AUTO", STRATEGY, "[I]"),
        ("upsert_k", "SELECT k, v FROM u", "AUTO", "", "[I]"),
        ("upsert_k", MAXIMA, "FORCE", MATERIALIZED, "[I,UA]"),
        ("upsert_v", MAXIMA, "FORCE", MATERIALIZED, "[I,UB,UA]"),
        ("upsert_v", "SELECT k, v FROM t", "FORCE", MATERIALIZED, "[I]"),
        ("files_k", "SELECT k, v FROM t", "FORCE", MATERIALIZED, "[I]"),
        ("upsert_v", MAXIMA, "none", "", "[I,UB,UA]"),
        # Who takes all changes needs nobody to tell it what was before.
        ("retract_v", MAXIMA, "AUTO", "", "[I,UB,UA]"),
        ("retract_v", MAXIMA, "FORCE", "", "[I,UB,UA]"),
        ("files_k", "SELECT k, v FROM t", "AUTO", "", "[I]"),
    ],
)
def test_what_is_planned(
    t_env: TableEnvironment, table: str, query: str, materialize: str, said: str, kinds: str
) -> None:
    t_env.get_config().set("table.exec.sink.upsert-materialize", materialize)
    assert planned(t_env, f"INSERT INTO {table} {query}") == (said, kinds)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (f"INSERT INTO upsert_v {MAXIMA}", "Primary key: [v], upsert key: [k]. This"),
        (f"INSERT INTO jdbc_v {MAXIMA}", "Primary key: [v], upsert key: [k]. This"),
        ("INSERT INTO upsert_k SELECT k, v FROM t", "Primary key: [k], upsert key: none. This"),
        ("INSERT INTO upsert_k SELECT k, v + 1 FROM t", "Primary key: [k], upsert key: . This"),
        ("INSERT INTO jdbc_k VALUES ('a', 1)", "Primary key: [k], upsert key: "),
        (
            f"INSERT INTO retract_v {MAXIMA}{DEDUPLICATE}",
            "The sink 'default_catalog.default_database.retract_v' is not an upsert sink because it requires "
            "UPDATE_BEFORE (retract mode).",
        ),
        (f"INSERT INTO files_k SELECT k, v FROM t{DEDUPLICATE}", "it only accepts INSERT (append-only) changes."),
        ("INSERT INTO upsert_k SELECT k, v FROM u ON CONFLICT DO ERROR", "do not: default_catalog.default_database.u."),
        (
            "CREATE TABLE made (PRIMARY KEY (c) NOT ENFORCED) WITH ('connector' = 'print') "
            "AS SELECT COUNT(*) AS c, k FROM t GROUP BY k",
            "sink table 'default_catalog.default_database.made'. Primary key: [c], upsert key: [k]. This",
        ),
        (f"COMPILE PLAN '/tmp/never-written.json' FOR INSERT INTO upsert_v {MAXIMA}", "upsert key: [k]. This"),
    ],
)  # fmt: skip
def test_what_is_rejected(t_env: TableEnvironment, statement: str, words: str) -> None:
    t_env.get_config().set("table.exec.sink.require-on-conflict", "true")
    with pytest.raises(ValidationException) as caught:
        t_env.execute_sql(statement)
    assert words in str(caught.value)


def test_who_says_nothing_gets_the_last_row(t_env: TableEnvironment, caplog: pytest.LogCaptureFixture) -> None:
    assert planned(t_env, f"INSERT INTO upsert_v {MAXIMA}") == (MATERIALIZED, "[I,UB,UA]")
    (warning,) = {each.getMessage() for each in caplog.records}
    assert "upsert_v are kept by its primary key [v], which is not the upsert key of the query ([k])" in warning
    caplog.clear()
    # Programs that only add rows have always written them by key.
    for table in ("upsert_k", "jdbc_k", "hole_k"):
        assert planned(t_env, f"INSERT INTO {table} SELECT k, v FROM t") == ("", "[I]")
    assert not caplog.records


def test_other_strategies(t_env: TableEnvironment) -> None:
    timed = MAXIMA.replace("FROM t", "FROM timed")
    said, _ = planned(t_env, f"INSERT INTO upsert_k {timed} ON CONFLICT DO NOTHING")
    assert said == ", conflictStrategy=[NOTHING]"
    said, kinds = planned(t_env, f"INSERT INTO upsert_v {timed} ON CONFLICT DO ERROR")
    assert (said, kinds) == (f"{MATERIALIZED}, conflictStrategy=[ERROR]", "[I,UB,UA]")
    # Rows that are only added may be in each other's way too.
    said, kinds = planned(t_env, "INSERT INTO upsert_v SELECT k, v FROM timed ON CONFLICT DO NOTHING")
    assert (said, kinds) == (f"{MATERIALIZED}, conflictStrategy=[NOTHING]", "[I]")


def test_a_batch_has_no_conflicts() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.execute_sql("CREATE TABLE t (k STRING, v INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')")
    t_env.execute_sql("CREATE TABLE s (k STRING, v INT, PRIMARY KEY (v) NOT ENFORCED) WITH ('connector' = 'print')")
    for clause in ("", DEDUPLICATE, " ON CONFLICT DO NOTHING"):
        assert "upsertMaterialize" not in t_env.explain_sql(f"INSERT INTO s {MAXIMA}{clause}")


def test_a_stored_plan_keeps_what_is_done(t_env: TableEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    t_env.execute_sql(f"COMPILE PLAN '{file}' FOR INSERT INTO upsert_v {MAXIMA}{DEDUPLICATE}")
    assert MATERIALIZED + STRATEGY in t_env.load_plan(PlanReference.from_file(str(file))).explain()


@pytest.mark.parametrize(
    ("key", "mode", "is_rejected"),
    [
        ("c", ChangelogMode.upsert(), True),
        ("c", None, True),
        ("c", ChangelogMode.all(), False),
        ("k", ChangelogMode.upsert(), False),
        ("k", None, False),
    ],
)
def test_streams_with_a_primary_key(key: str, mode: Any, is_rejected: bool) -> None:
    t_env = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    t_env.get_config().set("table.exec.sink.require-on-conflict", "true")
    t_env.execute_sql("CREATE TABLE t (k STRING) WITH ('connector' = 'datagen')")
    counts = t_env.sql_query("SELECT COUNT(*) AS c, k FROM t GROUP BY k")
    schema = Schema.new_builder().column("c", "BIGINT NOT NULL").column("k", "STRING NOT NULL").primary_key(key).build()
    if not is_rejected:
        t_env.to_changelog_stream(counts, schema, mode)
        return
    with pytest.raises(ValidationException, match=r"sink\$1\*'. Primary key: \[c\], upsert key: \[k\]"):
        t_env.to_changelog_stream(counts, schema, mode)
