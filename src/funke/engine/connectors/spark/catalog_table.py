"""A table of Spark's catalog: where its files are, and what a DataFrame must look like to be appended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.engine.errors import SinkError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["CatalogTable"]


@dataclass(frozen=True)
class CatalogTable:
    """What the catalog says about a table."""

    name: str
    provider: str
    location: str
    schema: Any
    partitions: tuple[str, ...] = ()
    is_bucketed: bool = False

    @staticmethod
    def find(spark: SparkSession, name: str) -> CatalogTable | None:
        """Asks the catalog; None when there is no such table."""
        if not spark.catalog.tableExists(name):
            return None
        described = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        details = {row["col_name"].strip(): (row["data_type"] or "").strip() for row in described}
        columns = spark.catalog.listColumns(name)
        return CatalogTable(
            name,
            details.get("Provider", "").lower(),
            details.get("Location", ""),
            spark.table(name).schema,
            tuple(column.name for column in columns if column.isPartition),
            any(column.isBucket for column in columns),
        )

    def fitted(self, frame: DataFrame) -> DataFrame:
        """The columns by their names, with the table's types."""
        missing = [field.name for field in self.schema if field.name not in frame.columns]
        unknown = [name for name in frame.columns if name not in self.schema.names]
        if missing or unknown:
            raise SinkError(
                f"the records do not fit the table {self.name}: it has {', '.join(self.schema.names)}, "
                f"they have {', '.join(frame.columns)}"
            )
        return frame.select(*[frame[field.name].cast(field.dataType).alias(field.name) for field in self.schema])

    def refresh(self, spark: SparkSession) -> None:
        """Tells the catalog about new partitions and files."""
        if self.partitions:
            spark.catalog.recoverPartitions(self.name)
        spark.catalog.refreshTable(self.name)
