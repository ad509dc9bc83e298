"""The interface of table sinks: the kinds of changes that they take, and the parts of an INSERT that change them."""

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
    """Writes a table. It is a frozen value: parts of an INSERT, such as OVERWRITE, give a changed copy."""

    # How many subtasks write, if the table says so.
    parallelism: int | None = None
    # Whether Spark can write rows that it computes, without slots (`with_frame`).
    takes_frames: bool = False

    @property
    def needs_watermarks(self) -> bool:
        """Whether it uses the watermark when a checkpoint begins or the input ends."""
        return False

    @property
    def partitioner(self) -> Partitioner | None:
        """The partitioner in front of the writing subtasks; None leaves it to the query."""
        return None

    @property
    @abstractmethod
    def summary(self) -> str:
        """Its name in plans and of its operators."""

    @abstractmethod
    def accepted_kinds(self, requested: frozenset[RowKind]) -> frozenset[RowKind]:
        """Return the kinds of changes that it takes, given those of the query; a query with others is rejected."""

    @abstractmethod
    def create_sink(self, columns: Sequence[Column], upsert_key: Sequence[int] = ()) -> Sink:
        """Return the sink of rows with these columns; `upsert_key` has the indexes of the key of updates, if any."""

    @property
    def metadata(self) -> Mapping[str, DataType]:
        """The metadata that can be written, as METADATA columns behind the physical ones: key -> type."""
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
