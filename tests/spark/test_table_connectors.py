"""Tables of connectors as jobs: read, computed and written by slots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from funke.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark


@pytest.fixture
def tables(spark: Any) -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("parallelism.default", "2")
    return environment


def lines_below(folder: Path) -> dict[str, list[str]]:
    """The lines of the files in each folder."""
    lines_of: dict[str, list[str]] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
        lines_of.setdefault(str(path.parent.relative_to(folder)), []).extend(path.read_text().splitlines())
    return {name: sorted(lines) for name, lines in lines_of.items()}


def test_from_files_to_files(tables: TableEnvironment, tmp_path: Path) -> None:
    for kind in ("a", "b"):
        folder = tmp_path / "in" / f"kind={kind}"
        folder.mkdir(parents=True)
        folder.joinpath("x.csv").write_text(
            "".join(f"{number},2020-01-01 00:00:{number % 60:02}.500,left out,{number}.25\n" for number in range(500))
        )
    tables.execute_sql(f"""
        CREATE TABLE t (
            id INT, ts TIMESTAMP(3), other STRING, price DECIMAL(10, 2), kind STRING,
            file STRING METADATA FROM 'file.name', twice AS id * 2, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
        ) PARTITIONED BY (kind) WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{tmp_path}/in')
    """)
    tables.execute_sql(f"""
        CREATE TABLE o (file STRING, kind STRING, twice INT, price DECIMAL(10, 2), ts TIMESTAMP(3))
        PARTITIONED BY (kind) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}/out')
    """)
    tables.execute_sql("INSERT INTO o SELECT file, kind, twice, price, ts FROM t WHERE id >= 498").wait()
    lines = [
        f'{{"file":"x.csv","twice":{number * 2},"price":{number}.25,"ts":"2020-01-01 00:00:{number % 60:02}.5"}}'
        for number in (498, 499)
    ]
    assert lines_below(tmp_path / "out") == {"kind=a": lines, "kind=b": lines}


def test_from_made_up_rows_to_the_console(tables: TableEnvironment, capfd: pytest.CaptureFixture[str]) -> None:
    tables.execute_sql("""
        CREATE TABLE g (n BIGINT, s STRING) WITH (
            'connector' = 'datagen', 'rows-per-second' = '100000', 'fields.s.length' = '3',
            'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '5'
        )
    """)
    tables.execute_sql(
        "CREATE TABLE p (n BIGINT, l INT) WITH ('connector' = 'print', 'print-identifier' = 'P', "
        "'sink.parallelism' = '1')"
    )
    tables.execute_sql("INSERT INTO p SELECT n, CHAR_LENGTH(s) FROM g").wait()
    printed = [line for line in capfd.readouterr().out.splitlines() if line.startswith("P")]
    assert sorted(printed) == [f"P> +I[{number}, 3]" for number in range(1, 6)]


def test_what_spark_writes_and_reads(tables: TableEnvironment, tmp_path: Path) -> None:
    columns = "id INT, price DECIMAL(5, 2), ts TIMESTAMP(3)"
    tables.execute_sql(
        f"CREATE TABLE o ({columns}) WITH ('connector' = 'spark', 'format' = 'parquet', 'path' = '{tmp_path}/out')"
    )
    rows = "(1, CAST(1.5 AS DECIMAL(5, 2)), TIMESTAMP '2020-01-02 03:04:05.678'), (2, NULL, NULL)"
    tables.execute_sql(f"INSERT INTO o VALUES {rows}").wait()
    with tables.execute_sql("SELECT ts, id + 1 FROM o WHERE price > 1").collect() as results:
        assert [tuple(map(str, row)) for row in results] == [("2020-01-02 03:04:05.678000", "2")]


def test_bids_are_looked_up_in_files_and_in_what_spark_reads(
    tables: TableEnvironment, spark: Any, tmp_path: Path
) -> None:
    # The bids have no end: whoever looks them up waits for the table, not for them.
    tables.execute_sql("""
        CREATE TABLE bid (seq INT, auction INT, p AS PROCTIME()) WITH (
            'connector' = 'datagen', 'rows-per-second' = '1000', 'fields.auction.min' = '0', 'fields.auction.max' = '9',
            'fields.seq.kind' = 'sequence', 'fields.seq.start' = '1', 'fields.seq.end' = '100000000'
        )
    """)
    (tmp_path / "side").mkdir()
    (tmp_path / "side" / "a.csv").write_text("0,zero\n1,one\n2,two\n")
    names = {0: "zero", 1: "one", 2: "two"}
    spark.createDataFrame(list(names.items()), "k bigint, name string").write.parquet(f"{tmp_path}/frames")
    for name, options in {
        "side": f"'filesystem', 'format' = 'csv', 'path' = '{tmp_path}/side'",
        "frames": f"'spark', 'format' = 'parquet', 'path' = '{tmp_path}/frames'",
    }.items():
        tables.execute_sql(f"CREATE TABLE {name} (k BIGINT, name STRING) WITH ('connector' = {options})")
        result = tables.execute_sql(
            f"SELECT auction, name FROM bid JOIN {name} FOR SYSTEM_TIME AS OF bid.p AS s ON MOD(auction, 3) = s.k"
        )
        with result.collect() as rows:
            results = [tuple(row) for _, row in zip(range(20), rows)]
        assert [name for _, name in results] == [names[auction % 3] for auction, _ in results]
