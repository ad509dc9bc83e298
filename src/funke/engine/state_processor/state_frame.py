"""Spark DataFrames of state: one partition per piece of a snapshot file, read where the partition is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from funke.engine.connectors.remote.access import install_access, installed_access
from funke.engine.errors import TypeMismatchError
from funke.engine.runtime.slots.worker_setup import main_classes
from funke.engine.state_processor.state_parts import StatePiece, read_chunks
from funke.engine.state_processor.state_table import Columns
from funke.engine.types.information.spark_types import to_spark_ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Table", "run_on_pieces", "state_names", "to_data_frame"]

_ROWS_PER_BATCH = 10_000


class Table(Protocol):
    """Makes rows of pieces of state; is pickled into the reading tasks."""

    @property
    def columns(self) -> Columns:
        """Names and types of the columns."""
        ...

    def rows(self, piece: StatePiece) -> Iterator[tuple[Any, ...]]:
        """The rows of one piece."""
        ...


def to_data_frame(spark: SparkSession, pieces: Sequence[StatePiece], table: Table) -> DataFrame:
    """A DataFrame of the rows; nothing is read before Spark needs it."""
    columns, classes = table.columns, _UserClasses()
    ddl = ", ".join(f"{name} {to_spark_ddl(kind)}" for name, kind in columns)
    numbered = list(pieces)

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        classes.install()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _record_batches(table.rows(numbered[number]), columns)

    # One number per partition stands for one piece.
    return spark.range(0, len(numbered), 1, max(1, len(numbered))).mapInArrow(read, ddl)


def run_on_pieces(spark: SparkSession, items: Sequence[Any], run: Callable[[Any], Any]) -> list[Any]:
    """Runs a function for each item in a Spark task of its own; returns the results in order."""
    if not items:
        return []
    classes = _UserClasses()

    def run_with_classes(item: Any) -> Any:
        classes.install()
        return run(item)

    results: list[Any] = spark.sparkContext.parallelize(list(items), len(items)).map(run_with_classes).collect()
    return results


def state_names(spark: SparkSession, pieces: Sequence[StatePiece]) -> set[str]:
    """The names of all keyed states in some pieces."""
    return set().union(*run_on_pieces(spark, pieces, _names_in))


def _names_in(piece: StatePiece) -> set[str]:
    return {table_id.name for _, part in read_chunks(piece) for table_id in part.tables}


class _UserClasses:
    """What a worker needs to read state: classes of the user's script, places to import from, access to storage."""

    def __init__(self) -> None:
        self._classes = main_classes()
        self._paths = [path for path in sys.path if path]
        self._storage = installed_access()

    def install(self) -> None:
        """Makes them known in this process."""
        sys.path.extend(path for path in self._paths if path not in sys.path)
        install_access(self._storage)
        for name, value in self._classes.items():
            setattr(sys.modules["__main__"], name, value)


def _record_batches(rows: Iterator[tuple[Any, ...]], columns: Columns) -> Iterator[Any]:
    # Not at the top: writing savepoints does not need pyarrow.
    import pyarrow as pa

    from funke.engine.types.information.arrow_types import to_arrow
    from funke.engine.types.information.arrow_values import to_arrow_value

    names = [name for name, _ in columns]
    kinds = [to_arrow(kind) for _, kind in columns]
    converters = [to_arrow_value(kind) for _, kind in columns]
    while batch := list(islice(rows, _ROWS_PER_BATCH)):
        arrays = []
        for name, kind, convert, cells in zip(names, kinds, converters, zip(*batch)):
            try:
                arrays.append(pa.array(cells if convert is None else [convert(cell) for cell in cells], kind))
            except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
                raise TypeMismatchError(f"column '{name}' of type {kind} cannot take its values: {error}") from error
        yield pa.RecordBatch.from_arrays(arrays, names=names)
