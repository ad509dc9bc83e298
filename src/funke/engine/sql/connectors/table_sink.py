"""What writes a table: a sink for streams, which kinds of changes it takes, and how an INSERT may change it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.connectors.table_option import TableOption
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from funke.engine.connectors.sink import Sink
    from funke.engine.graph.partitioners import Partitioner
    from funke.engine.sql.binding.relations import Column
    from funke.engine.types.logical.data_type import DataType

__all__ = ["ALL_CHANGES", "SINK_PARALLELISM", "UPSERTS", "FrameMaker", "TableSink"]

ALL_CHANGES = frozenset(RowKind)
UPSERTS = ALL_CHANGES - {RowKind.UPDATE_BEFORE}


SINK_PARALLELISM = TableOption(
    "sink.parallelism", "Integer", None, "The number of writing subtasks; by default that of the input."
)


# Makes a DataFrame with the columns of a table; called in the driver.
FrameMaker = Callable[["SparkSession"], "DataFrame"]


class TableSink(ABC):
    """Writes a table. Is a frozen value: what an INSERT asks of it gives a changed copy."""

    # How many subtasks write, if the table says so.
    parallelism: int | None = None
    # Whether Spark can write rows that it computes, without slots (`with_frame`).
    takes_frames: bool = False

    @property
    def needs_watermarks(self) -> bool:
        """Whether it looks at event time, when a checkpoint begins or input ends."""
        return False

    @property
    def partitioner(self) -> Partitioner | None:
        """How rows are sent to the subtasks that write, whatever the query says; None leaves it to the query."""
        return None

    @property
    @abstractmethod
    def summary(self) -> str:
        """What plans and operators call it."""

    @abstractmethod
    def accepted_kinds(self, requested: frozenset[RowKind]) -> frozenset[RowKind]:
        """Return the kinds of changes that it takes of a query that has those; what lacks one is rejected."""

    @abstractmethod
    def create_sink(self, columns: Sequence[Column], upsert_key: Sequence[int] = ()) -> Sink:
        """Return what writes rows with these columns; the indexes of the key of its updates, if it has one."""

    @property
    def metadata(self) -> Mapping[str, DataType]:
        """What METADATA columns, which follow the physical ones, may write: key -> type."""
        return {}

    def with_metadata(self, keys: Sequence[str]) -> TableSink:
        """Return the sink whose rows have metadata of these keys behind the physical columns."""
        raise NotImplementedError

    def with_frame(self, make: FrameMaker) -> TableSink:
        """Return the sink that writes the rows of a DataFrame instead of those that come to it."""
        raise NotImplementedError

    def with_overwrite(self) -> TableSink:
        """Return the sink of INSERT OVERWRITE."""
        raise UnsupportedFeatureError(f"INSERT OVERWRITE into {self.summary}")

    def with_partition(self, values: Mapping[str, str]) -> TableSink:
        """Return the sink of INSERT INTO … PARTITION (…); rows have those columns with these values too."""
        raise UnsupportedFeatureError(f"INSERT INTO … PARTITION into {self.summary}")
