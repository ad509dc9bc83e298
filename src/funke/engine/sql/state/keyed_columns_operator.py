"""An operator whose keyed state is columns: made for the backend of the job, kept in its snapshots."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from funke.engine.operators.operator import Operator, OperatorContext
from funke.engine.sql.state.heap_columns import HeapColumns
from funke.engine.sql.state.keyed_columns import ColumnLayout, KeyedColumns, KeyedTable
from funke.engine.state.backend_choice import create_backend
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile

if TYPE_CHECKING:
    from funke.engine.state.rocksdb.backend import RocksDBBackend

__all__ = ["KeyedColumnsOperator", "KeyedTableOperator", "create_columns", "create_database", "is_in_memory"]


def is_in_memory(context: OperatorContext) -> bool:
    """True if keyed state is in the memory of the slot."""
    # As in Flink the option `state.backend.type` is for streaming jobs.
    return context.task.is_batch or context.task.backend.name == "hashmap"


def create_columns(layout: ColumnLayout, context: OperatorContext) -> KeyedColumns:
    """The keyed state of an operator, in the backend of the job."""
    task = context.task
    if is_in_memory(context):
        return HeapColumns(layout, task.key_groups, task.clock.now_ms)
    # Not at the top: a slot starts faster without what its job does not use.
    from funke.engine.sql.state.backend_columns import BackendColumns

    return BackendColumns(layout, create_database(context), task.clock.now_ms)


def create_database(context: OperatorContext) -> RocksDBBackend:
    """An empty database for the state of an operator."""
    from funke.engine.state.rocksdb.backend import RocksDBBackend

    task = context.task
    folder = task.backend.folder_for(task.job_id, context.operator_id, task.subtask, task.attempt)
    backend = create_backend(task.backend, task.key_groups, task.clock.now_ms, folder)
    assert isinstance(backend, RocksDBBackend)
    return backend


State = TypeVar("State", bound=KeyedTable)


class KeyedTableOperator(Operator, Generic[State]):
    """Works on batches of columns; subclasses say what their state is."""

    takes_rows = False
    takes_columns = True

    state: State

    def create_state(self, context: OperatorContext) -> State:
        """The state, in the backend of the job."""
        raise NotImplementedError

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self.state = self.create_state(context)

    def end_epoch(self) -> None:
        self.state.prune()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        self.state.prepare_snapshot(checkpoint_id)

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        return self.state.snapshot_parts()

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        self.state.restore(parts)

    def native_files(self) -> tuple[LocalFile, ...]:
        return self.state.native_files()

    def restore_native(self, folders: Sequence[str], groups: Container[int]) -> None:
        self.state.restore_native(folders, groups)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.state.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.state.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        self.state.close()


class KeyedColumnsOperator(KeyedTableOperator[KeyedColumns]):
    """Subclasses say what columns their state has."""

    def layout(self) -> ColumnLayout:
        """The columns of the state."""
        raise NotImplementedError

    def create_state(self, context: OperatorContext) -> KeyedColumns:
        return create_columns(self.layout(), context)
