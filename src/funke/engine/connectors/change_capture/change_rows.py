"""Changes of a log, gathered until they are a record: a batch of columns with kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, NoReturn, TypeVar

import pyarrow as pa

from funke.engine.connectors.change_capture.seam import Seam
from funke.engine.connectors.change_capture.settings import CaptureSettings
from funke.engine.errors import SourceError
from funke.engine.formats.table.table_format import schema_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

__all__ = ["GatheredChanges", "metadata_columns", "reject_lost_rows"]

S = TypeVar("S", bound=CaptureSettings)


class GatheredChanges(ABC, Generic[S]):
    """Changes that come one after the other; subclasses know how the log of their database holds them."""

    # Changes in one record, and their bytes: records must be the same when a piece is read again, so nothing else may
    # cut them.
    max_changes = 10_000
    max_bytes: int

    def __init__(self, settings: S) -> None:
        self._settings = settings
        self._schema = schema_of(settings.output_fields)
        self._seam: Seam | None = None
        self._decoded: list[ColumnBatch] = []
        # How many changes there are, decoded or not, and how many bytes.
        self._count = self._size = 0

    def meet(self, seam: Seam | None) -> None:
        """What follows may have been read with the tables."""
        self._seam = seam

    @property
    def is_full(self) -> bool:
        return self._count >= self.max_changes or self._size >= self.max_bytes

    def take(self) -> ColumnBatch | None:
        """The rows so far, but for those that were read with the tables; None if there are none."""
        self._decode()
        decoded, self._decoded = self._decoded, []
        self._count = self._size = 0
        return ColumnBatch.concat(decoded) if decoded else None

    @abstractmethod
    def _decode(self) -> None:
        """Makes a batch of what has come so far."""


def reject_lost_rows(path: str, what: str, restart: str) -> NoReturn:
    """A table has lost rows, and the log does not say which."""
    hint = ", or set 'debezium.skipped.operations' = 't' to go on without their deletion"
    raise SourceError(
        f"the table {path} was {what}, and the log does not say which rows it had. Restart the job {restart}"
        f"{hint if what == 'truncated' else ''}"
    )


def metadata_columns(
    settings: CaptureSettings, origins: Mapping[str, Callable[[], Any]], times_ms: Any, kinds: Any
) -> list[Any]:
    """The METADATA columns of rows: where they are from, when they were changed, and how."""
    columns: dict[str, Callable[[], Any]] = {
        **origins,
        "op_ts": lambda: pa.array(times_ms, pa.int64()).cast(pa.timestamp("ms", "UTC")),
        "row_kind": lambda: pa.array([str(kind) for kind in RowKind], pa.string()).take(pa.array(kinds)),
    }
    return [columns[key]() for key, _ in settings.metadata]
