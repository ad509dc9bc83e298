"""The operator that makes the first state of another: it takes all records, and in the end writes a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from funke.engine.graph.operations import Operation
from funke.engine.jobs.checkpoints.savepoint_files import write_snapshot
from funke.engine.operators.factory import create_operator
from funke.engine.operators.operator import Operator, OperatorContext, Output, TaskInfo
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle, join_path
from funke.engine.state.snapshot.file_format import SnapshotWriter

__all__ = ["Bootstrap", "BootstrapOperator"]


@dataclass(frozen=True)
class Bootstrap:
    """Makes the operator for one subtask; it runs `operation` and writes what that keeps under `operator_id`."""

    operation: Operation
    operator_id: str
    folder: str
    # Which of the operation's inputs the records are for.
    input_index: int = 0

    def __call__(self, task: TaskInfo) -> BootstrapOperator:
        """The operator of a subtask."""
        return BootstrapOperator(self, task)


class BootstrapOperator(Operator):
    """Runs an operator without ever letting time pass: timers stay set and windows stay open.

    What the operator emits is dropped; instead, the handle of its snapshot is sent on.
    """

    def __init__(self, bootstrap: Bootstrap, task: TaskInfo) -> None:
        self._bootstrap = bootstrap
        # In batch mode state goes with the last record of its key.
        self._inner_task = replace(task, is_batch=False)
        self._inner = create_operator(bootstrap.operation, self._inner_task)
        self._handle: Callable[[list[Any], list[int] | None], None] | None = None

    def setup(self, context: OperatorContext) -> None:
        """Sets the inner operator up under the id that its state is to have."""
        super().setup(context)
        self._inner.setup(
            replace(context, task=self._inner_task, operator_id=self._bootstrap.operator_id, output=Output())
        )

    def open(self) -> None:
        """Opens the inner operator."""
        self._inner.open()
        self._handle = self._inner.input_handler(self._bootstrap.input_index)

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Hands records on."""
        assert self._handle is not None
        self._handle(values, timestamps)

    def process_watermark(self, watermark: int) -> None:
        """Passes the watermark on; the inner operator does not hear of it."""
        self.output.emit_watermark(watermark)

    def end_input(self) -> None:
        """Writes the snapshot."""
        task, operator_id = self.context.task, self._bootstrap.operator_id
        name = f"{operator_id}-{task.subtask}-{task.attempt}"
        self._inner.end_epoch()
        self._inner.prepare_snapshot(1)
        size = write_snapshot(join_path(self._bootstrap.folder, name), self._fill)
        handle = SnapshotHandle((operator_id,), task.subtask, task.parallelism, name, size)
        self.output.emit([handle], None)

    def _fill(self, writer: SnapshotWriter) -> None:
        operator_id = self._bootstrap.operator_id
        own = self._inner.snapshot()
        if own is not None:
            writer.write_own(operator_id, own)
        for key_group, part in self._inner.snapshot_keyed():
            writer.write_keyed(operator_id, key_group, part)

    def close(self) -> None:
        """Closes the inner operator."""
        self._inner.close()
