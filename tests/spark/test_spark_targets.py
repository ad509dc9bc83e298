"""What the Spark sink relies on: files through Spark's own file systems, and tables of its catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from funke.engine.connectors.spark.arrow_messages import to_message
from funke.engine.connectors.spark.catalog_table import CatalogTable
from funke.engine.connectors.spark.committer import SparkCommitter
from funke.engine.connectors.spark.sink import SparkSink
from funke.engine.connectors.spark.spark_files import SparkFiles
from funke.engine.connectors.staging import StagedData
from funke.engine.errors import SinkError

pytestmark = pytest.mark.spark


def unit(number: int, **columns: list[Any]) -> StagedData:
    import pyarrow as pa

    return StagedData("job/op", "0-0", number, None, 0, (to_message(pa.table(columns)),))


def test_strings_are_replaced_and_removed(spark: Any, tmp_path: Path) -> None:
    files = SparkFiles(spark, str(tmp_path))
    assert files.read("a/b.json") is None
    for text in ("first", "second ü"):
        files.write("a/b.json", text)
        assert files.read("a/b.json") == text
    assert [path.name for path in (tmp_path / "a").iterdir() if path.name[0] != "."] == ["b.json"]
    files.delete("a/b.json")
    files.delete("a/b.json")
    assert files.read("a/b.json") is None


def test_files_are_listed_and_moved(spark: Any, tmp_path: Path) -> None:
    for name in ("_SUCCESS", ".part.crc", "part-1", "_day=1/part-2", "_temporary/part-3"):
        path = tmp_path / "_funke" / "staging" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    files = SparkFiles(spark, tmp_path.as_uri())
    assert files.list_data("_funke/staging") == ["_day=1/part-2", "part-1"]
    for _ in range(2):  # the second time it was moved before
        files.move("_funke/staging/_day=1/part-2", "_day=1/part-2")
    assert (tmp_path / "_day=1" / "part-2").read_text() == "_day=1/part-2"
    with pytest.raises(SinkError, match="data was lost"):
        files.move("nothing", "nowhere")
    files.delete_folder("_funke")
    assert not (tmp_path / "_funke").exists()


@pytest.mark.parametrize("format", ["parquet", "orc", "json", "csv"])
def test_partitions_are_appended_once(spark: Any, tmp_path: Path, format: str) -> None:
    sink = SparkSink(format=format, path=str(tmp_path), partition_by=("_day",))
    committer = SparkCommitter(sink, lambda: spark)
    first, second = unit(0, id=[1, 2], _day=["mon", "tue"]), unit(1, id=[3], _day=["mon"])
    for units in ([first], [first], [first, second]):
        committer.commit_epoch(1, units)
    frame = spark.read.schema("id long, _day string").format(format).load(str(tmp_path))
    assert sorted((row.id, row._day) for row in frame.collect()) == [(1, "mon"), (2, "tue"), (3, "mon")]


def test_a_table_that_is_there_keeps_its_columns(spark: Any) -> None:
    spark.sql("create table wide (name string, id long) using parquet")
    try:
        committer = SparkCommitter(SparkSink(table="wide"), lambda: spark)
        for _ in range(2):
            committer.commit_epoch(1, [unit(0, id=[1], name=["a"])])
        assert [(row.name, row.id) for row in spark.table("wide").collect()] == [("a", 1)]
        with pytest.raises(SinkError, match="do not fit the table wide: it has name, id, they have id"):
            committer.commit_epoch(2, [unit(1, id=[2])])
        frame = CatalogTable.find(spark, "wide")
        assert frame is not None and (frame.provider, frame.partitions) == ("parquet", ())
    finally:
        spark.sql("drop table wide")


def test_a_table_is_replaced_when_that_is_the_mode(spark: Any) -> None:
    committer = SparkCommitter(SparkSink(table="latest_only", format="parquet", mode="overwrite"), lambda: spark)
    try:
        committer.commit_epoch(1, [unit(0, id=[1, 2])])
        committer.commit_epoch(2, [unit(1, id=[3])])
        assert [row.id for row in spark.table("latest_only").collect()] == [3]
    finally:
        spark.sql("drop table latest_only")
