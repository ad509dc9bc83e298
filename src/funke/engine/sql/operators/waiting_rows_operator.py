"""The base of keyed operators that also have rows that wait in memory, whatever the backend of their state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.state.keyed_columns_operator import KeyedColumnsOperator
from funke.engine.state.snapshot.file_format import GroupPart

__all__ = ["WaitingRowsOperator"]


class WaitingRowsOperator(KeyedColumnsOperator):
    """Snapshots have the waiting rows beside the state; subclasses create `_waiting`, or several buffers."""

    _waiting: RowBuffer

    @property
    def buffers(self) -> tuple[RowBuffer, ...]:
        """The buffers of waiting rows."""
        return (self._waiting,)

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        yield from super().snapshot_keyed()
        yield from self.snapshot_timers()

    def snapshot_timers(self) -> Iterator[tuple[int, GroupPart]]:
        """The rows, which are never in the files of a backend."""
        # An incremental checkpoint copies the files of the backend, and asks for no other keyed state than this.
        for buffer in self.buffers:
            yield from buffer.snapshot_parts(self.context.task.key_groups)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        every = list(parts)
        for buffer in self.buffers:
            buffer.restore(every)
        own = self.layout().name
        super().restore_keyed(
            (group, GroupPart({name: table for name, table in part.tables.items() if name.name == own}, [], []))
            for group, part in every
        )
