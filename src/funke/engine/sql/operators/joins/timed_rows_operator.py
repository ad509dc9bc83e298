"""What joins have in common that forget rows by times of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.binding.expressions import BoundExpression
from funke.engine.sql.operators.joins.join_rows_operator import JoinRowsOperator
from funke.engine.sql.operators.joins.timed_rows import TimedInput, TimedRows
from funke.engine.sql.state.keyed_columns_operator import create_database, is_in_memory

__all__ = ["TimedRowsOperator"]

# Rows that are not in memory are looked for so often in the time that rows live.
_SLICES = 64


class TimedRowsOperator(JoinRowsOperator[TimedRows]):
    """Its rows are in the backend of the job."""

    def __init__(
        self, inputs: Sequence[TimedInput], conditions: Iterable[BoundExpression | None], clock: Clock
    ) -> None:
        self._timed_inputs = inputs
        super().__init__(inputs, conditions, clock)

    @property
    @abstractmethod
    def _life_ms(self) -> int | None:
        """About how long rows live; None for ever."""

    def _create_rows(self, context: OperatorContext) -> TimedRows:
        if is_in_memory(context):
            return TimedRows(self._timed_inputs, context.task.key_groups)
        # Not at the top: a slot starts faster without what its job does not use.
        from funke.engine.sql.operators.joins.stored_timed_rows import StoredTimedRows

        life_ms = self._life_ms
        slice_ms = None if life_ms is None else max(1, life_ms // _SLICES)
        return StoredTimedRows(self._timed_inputs, context.task, create_database(context), slice_ms)
