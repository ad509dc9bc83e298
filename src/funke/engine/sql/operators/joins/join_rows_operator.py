"""What operators have in common that keep the rows of their inputs: their state, in the backend of the job."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.binding.expressions import BoundExpression
from funke.engine.sql.operators.joins.input_metrics import input_metrics
from funke.engine.sql.operators.joins.join_rows import JoinInput, JoinRows
from funke.engine.sql.operators.opened_functions import FunctionsOperator, OpenedFunctions
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["JoinRowsOperator"]

Rows = TypeVar("Rows", bound=JoinRows)


class JoinRowsOperator(FunctionsOperator, Generic[Rows]):
    """Subclasses say what is done with a batch."""

    takes_rows = False
    takes_columns = True

    _rows: Rows

    def __init__(self, inputs: Sequence[JoinInput], conditions: Iterable[BoundExpression | None], clock: Clock) -> None:
        self._inputs, self._clock = inputs, clock
        self.functions = OpenedFunctions(conditions)

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._rows = self._create_rows(context)

    @abstractmethod
    def _create_rows(self, context: OperatorContext) -> Rows:
        """The state, in the backend of the job."""

    def columns_handler(self, input_index: int) -> Callable[[ColumnBatch], None]:
        return lambda batch: self._process(batch, input_index)

    @abstractmethod
    def _process(self, batch: ColumnBatch, side: int) -> None:
        """A batch of an input has come."""

    @property
    def _now_ms(self) -> int:
        """What rows expire by."""
        # By default nothing expires by the clock, which then is never read.
        return 0

    def end_epoch(self) -> None:
        self._rows.end_epoch(self._now_ms)

    # Snapshots

    def snapshot(self) -> OperatorStateSnapshot | None:
        marks = self._rows.marks()
        return OperatorStateSnapshot(unions=marks) if marks else None

    def restore(self, state: OperatorStateSnapshot) -> None:
        self._rows.restore_marks(state.unions)

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        self._rows.prepare_snapshot(checkpoint_id)

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        return self._rows.snapshot_parts()

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        self._rows.restore(parts, self._now_ms)

    def native_files(self) -> tuple[LocalFile, ...]:
        return self._rows.native_files()

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        self._rows.restore_native(folders, groups)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._rows.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._rows.notify_checkpoint_aborted(checkpoint_id)

    def metrics(self) -> dict[str, Any]:
        """Of each input the rows that are in memory, which a larger backend has not all of, and the size of all."""
        return super().metrics() | {
            name: value
            for number, side in enumerate(self._rows.sides)
            for name, value in input_metrics(number, len(side), self._rows.state_bytes(number)).items()
        }

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._rows.close()
