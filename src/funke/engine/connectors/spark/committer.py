"""Writes, with Spark, what slots have staged: exactly once where the target lets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.sink import Committer
from funke.engine.connectors.spark.arrow_messages import to_frame
from funke.engine.connectors.spark.catalog_table import CatalogTable
from funke.engine.connectors.spark.commit_log import CommitLog, StorageStrings, last_numbers
from funke.engine.connectors.spark.file_table import FileTable
from funke.engine.connectors.spark.spark_files import SparkFiles
from funke.engine.connectors.staging import StagedData

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from funke.engine.connectors.spark.sink import SparkSink

__all__ = ["SparkCommitter"]

# Formats that are nothing but data files in a folder.
FILE_FORMATS = frozenset({"parquet", "orc", "json", "csv", "text", "avro", "xml"})


class SparkCommitter(Committer):
    """Commits an epoch's units: into data files by moving them, into Delta by its transaction ids, else by writing."""

    def __init__(self, sink: SparkSink, session: Callable[[], SparkSession]) -> None:
        self._sink = sink
        self._session = session

    def commit(self, committables: list[Any]) -> None:
        """Commits units without an epoch."""
        self.commit_epoch(0, committables)

    def commit_epoch(self, epoch: int, committables: list[Any]) -> None:
        """Writes what the target has not got yet."""
        by_owner: dict[str, list[StagedData]] = {}
        for unit in committables:
            by_owner.setdefault(unit.owner, []).append(unit)
        for owner, units in by_owner.items():
            self._commit_owner(owner, units, epoch)
            # Not before the commit: one that fails is repeated from them.
            for unit in units:
                unit.delete()

    def _commit_owner(self, owner: str, units: list[StagedData], epoch: int) -> None:
        sink, spark = self._sink, self._session()
        is_appending = sink.write is None and sink.mode == "append"
        if is_appending and sink.path is not None and sink.format in FILE_FORMATS:
            self._append_files(spark, owner, units, sink.path)
            return
        table = CatalogTable.find(spark, sink.table) if is_appending and sink.table is not None else None
        if table is None and is_appending and sink.table is not None:
            table = self._create_table(spark, sink.table, units)
        if table is not None and table.provider in FILE_FORMATS and not table.is_bucketed:
            self._append_to_table(spark, owner, units, table)
            return
        self._write(spark, owner, units, epoch)

    def _append_files(self, spark: SparkSession, owner: str, units: list[StagedData], path: str) -> None:
        def write(missing: list[StagedData], staging: str) -> None:
            self._sink.writer_of(_frame(spark, missing), "overwrite").save(staging)

        FileTable(SparkFiles(spark, path), owner).commit(units, write)

    def _append_to_table(self, spark: SparkSession, owner: str, units: list[StagedData], table: CatalogTable) -> None:
        def write(missing: list[StagedData], staging: str) -> None:
            frame = table.fitted(_frame(spark, missing))
            writer = frame.write.mode("overwrite").options(**self._sink.options).format(table.provider)
            (writer.partitionBy(*table.partitions) if table.partitions else writer).save(staging)

        if FileTable(SparkFiles(spark, table.location), owner).commit(units, write):
            table.refresh(spark)

    def _create_table(self, spark: SparkSession, name: str, units: list[StagedData]) -> CatalogTable | None:
        """An empty table: creating it with data could not be told from creating it twice."""
        if not all(unit.is_there for unit in units):
            return None
        self._sink.writer_of(_frame(spark, units).where("false"), "ignore").saveAsTable(name)
        return CatalogTable.find(spark, name)

    def _write(self, spark: SparkSession, owner: str, units: list[StagedData], epoch: int) -> None:
        folder = units[0].folder
        # The note is made after the write: a crash in between writes the epoch again.
        log = CommitLog(StorageStrings(folder)) if folder is not None else None
        missing = units if log is None else log.missing(units)
        if not missing:
            return
        sink = self._sink
        if sink.format == "delta" and sink.write is None:
            # Delta leaves out a version that it has, for each id; an attempt that starts further back has another id.
            attempt = missing[0].writer.partition("-")[0]
            ids = {"txnAppId": f"funke-{owner}-{attempt}", "txnVersion": str(epoch)}
            sink = replace(sink, options={**sink.options, **ids})
        sink.write_frame(_frame(spark, missing), epoch)
        if log is not None:
            log.add(last_numbers(missing))


def _frame(spark: SparkSession, units: list[StagedData]) -> Any:
    return to_frame(spark, [chunk for unit in units for chunk in unit.chunks()])
