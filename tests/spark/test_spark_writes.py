"""Tables of the connector spark that a query in batch mode fills: Spark writes what it has computed, without slots."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import Any

import pytest

from funke.engine.connectors.spark.sink import SparkSink
from funke.engine.errors import JobExecutionError
from funke.engine.types.logical.sql_text import from_sql_text
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from funke.table.udf import udf

pytestmark = pytest.mark.spark

UTC = datetime.UTC
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 123000)
KINDS = (
    "i INT, b BIGINT, s STRING, ts TIMESTAMP(3), moment TIMESTAMP_LTZ(6), p DECIMAL(20, 3), d DATE, f DOUBLE, "
    "many ARRAY<TIMESTAMP(3)>, inside ROW<x INT, y STRING>"
)


@udf(result_type=DataTypes.INT())
def checked(number: int) -> int:
    if number == 7:
        raise ValueError("seven")
    return number


@udf(result_type=DataTypes.INT())
def slowly(number: int) -> int:
    time.sleep(0.2)
    return number


@pytest.fixture
def t_env(spark: Any, tmp_path: Path) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.create_temporary_function("checked", checked)
    t_env.create_temporary_function("slowly", slowly)
    t_env.create_temporary_view("numbers", t_env.from_elements([(n, n % 3) for n in range(10)], ["n", "k"]))
    for name, columns, form in (("a", "n BIGINT, k BIGINT", "parquet"), ("b", "n BIGINT, k BIGINT", "json")):
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}) "
            f"WITH ('connector' = 'spark', 'format' = '{form}', 'path' = '{tmp_path}/{name}')"
        )
    return t_env


def files_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.rglob("part-*")) if folder.exists() else []


def rows_of(spark: Any, folder: Path, form: str = "parquet") -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.format(form).load(str(folder)).collect())


def test_rows_are_those_that_slots_would_send(t_env: TableEnvironment, spark: Any, tmp_path: Path) -> None:
    rows = [
        (1, 2**60, "ß", NOON, NOON.replace(tzinfo=UTC), None, NOON.date(), 0.5, [NOON], (1, "x")),
        (None,) * 10,
    ]
    t_env.create_temporary_view("kinds", t_env.from_elements(rows, from_sql_text(f"ROW<{KINDS}>")))
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frames = []
        for mode in ("auto", "slots"):
            t_env.get_config().set("funke.table.batch-plan", mode)
            t_env.execute_sql(
                f"CREATE TABLE {mode}_out ({KINDS}) "
                f"WITH ('connector' = 'spark', 'format' = 'parquet', 'path' = '{tmp_path}/{mode}')"
            )
            t_env.execute_sql(f"INSERT INTO {mode}_out SELECT * FROM kinds").wait()
            frames.append(spark.read.parquet(f"{tmp_path}/{mode}"))
        assert frames[0].schema == frames[1].schema
        assert sorted(frames[0].collect(), key=str) == sorted(frames[1].collect(), key=str)
        # What was written is read again, by slots and by Spark.
        for query in ("SELECT ts, moment FROM slots_out WHERE i = 1", "SELECT MAX(ts), MAX(moment) FROM auto_out"):
            with t_env.execute_sql(query).collect() as rows:
                assert [tuple(row) for row in rows] == [(NOON, NOON.replace(tzinfo=UTC))]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_a_failure_half_way_leaves_a_table_as_it_was(t_env: TableEnvironment, spark: Any, tmp_path: Path) -> None:
    t_env.execute_sql("INSERT INTO a SELECT n, k FROM numbers WHERE n < 2").wait()
    before = files_in(tmp_path / "a")
    for kind in ("INTO", "OVERWRITE"):
        with pytest.raises(JobExecutionError, match="ValueError: seven"):
            t_env.execute_sql(f"INSERT {kind} a SELECT checked(CAST(n AS INT)), k FROM numbers").wait()
        assert files_in(tmp_path / "a") == before
    assert rows_of(spark, tmp_path / "a") == [(0, 0), (1, 1)]
    # What is read may be what is replaced; and all of it may go.
    t_env.execute_sql("INSERT OVERWRITE a SELECT n * 10, COUNT(*) FROM a GROUP BY n").wait()
    assert rows_of(spark, tmp_path / "a") == [(0, 1), (10, 1)]
    t_env.execute_sql("INSERT OVERWRITE a SELECT * FROM a WHERE n > 100").wait()
    assert rows_of(spark, tmp_path / "a") == []


def test_one_job_writes_several_tables(
    t_env: TableEnvironment, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t_env.execute_sql(
        f"CREATE TABLE c (n BIGINT) WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{tmp_path}/c')"
    )
    sent: list[str | None] = []
    write = SparkSink.write_epoch
    monkeypatch.setattr(SparkSink, "write_epoch", lambda sink, *rest: (sent.append(sink.format), write(sink, *rest)))
    t_env.execute_sql(
        "CREATE TABLE made (n BIGINT) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', "
        "'fields.n.start' = '1', 'fields.n.end' = '3')"
    )
    together = t_env.create_statement_set()
    together.add_insert_sql("INSERT INTO a SELECT k, COUNT(*) FROM numbers GROUP BY k")
    together.add_insert_sql("INSERT INTO b SELECT n, n FROM made")
    together.add_insert_sql("INSERT INTO c SELECT n FROM numbers WHERE n > 7")
    assert together.explain().partition("== Batch Execution ==\n")[2].splitlines() == [
        "Spark: Sink(table=[default_catalog.default_database.a], fields=[n, k])"
    ]
    result = together.execute()
    result.wait()
    assert [tuple(row) for row in result.collect()] == [(-1, -1, -1)]
    assert rows_of(spark, tmp_path / "a") == [(0, 4), (1, 3), (2, 3)]
    assert [n for _, n in rows_of(spark, tmp_path / "b", "json")] == [1, 2, 3]
    assert sorted(line for file in (tmp_path / "c").glob("part-*") for line in file.read_text().split()) == ["8", "9"]
    # Those of Spark's own plan did not come by way of the slots.
    assert set(sent) == {"json"}


def test_a_write_that_is_cancelled_leaves_nothing(t_env: TableEnvironment, tmp_path: Path) -> None:
    many = t_env.from_elements([(n,) for n in range(1000)], DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT())]))
    t_env.create_temporary_view("many", many)
    job = t_env.execute_sql("INSERT INTO a SELECT slowly(n), 1 FROM many").get_job_client()
    assert job is not None
    deadline = time.monotonic() + 60
    while not (tmp_path / "a").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    job.cancel().result()
    assert str(job.get_job_status().result()).endswith("CANCELED")
    assert files_in(tmp_path / "a") == []
