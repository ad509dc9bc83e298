"""Makes savepoints of single operators without Spark, with the operator that bootstraps state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from funke.engine.graph.operations import Operation
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint, OperatorEntry, write_checkpoint
from funke.engine.jobs.checkpoints.savepoint_files import Savepoint, open_savepoint
from funke.engine.operators.operator import OperatorContext, Output, TaskInfo
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.state_processor.bootstrap_operator import Bootstrap
from funke.engine.state_processor.state_parts import StatePiece
from funke.engine.state_processor.state_source import PieceReading, StateNames
from funke.engine.types.keys.key_groups import KeyGroups
from funke.engine.types.operator_location import OperatorLocation
from funke.state_api import OperatorIdentifier
from tests.harness.operator_harness import Recorder

UID = "operator"
OPERATOR_ID = OperatorIdentifier.for_uid(UID).operator_id
MAX_PARALLELISM = 16
KEY_GROUPS = KeyGroups(MAX_PARALLELISM)


def write_state(
    folder: Path,
    operation: Operation,
    values: list[Any],
    timestamps: list[int] | None = None,
    *,
    key: Any = None,
    parallelism: int = 1,
    input_index: int = 0,
    backend: str = "hashmap",
) -> list[SnapshotHandle]:
    """Feeds records to the operator's subtasks, by key if there is one, and lets each write its snapshot."""
    handles = []
    for subtask in range(parallelism):
        task = TaskInfo(
            subtask=subtask,
            parallelism=parallelism,
            max_parallelism=MAX_PARALLELISM,
            backend=BackendChoice(backend, local_directories=(str(folder / "working"),)),
        )
        share = _share(values, timestamps, key, subtask, parallelism)
        recorder = _run(Bootstrap(operation, OPERATOR_ID, str(folder), input_index), task, share)
        handles.extend(record.value for record in recorder.elements)
    return handles


def _run(bootstrap: Bootstrap, task: TaskInfo, share: tuple[list[Any], list[int] | None]) -> Recorder:
    operator = bootstrap(task)
    output, recorder = Output(), Recorder()
    output.connect(recorder, OperatorLocation("recorder"))
    operator.setup(OperatorContext(task, "bootstrap", "bootstrap", output))
    operator.open()
    operator.process_batch(*share)
    operator.end_input()
    operator.close()
    return recorder


def _share(
    values: list[Any], timestamps: list[int] | None, key: Any, subtask: int, parallelism: int
) -> tuple[list[Any], list[int] | None]:
    def owner(number: int) -> int:
        if key is None:
            return number % parallelism
        return KEY_GROUPS.subtask_of(KEY_GROUPS.of(key(values[number])), parallelism)

    mine = [number for number in range(len(values)) if owner(number) == subtask]
    return [values[n] for n in mine], None if timestamps is None else [timestamps[n] for n in mine]


def savepoint_of(folder: Path, handles: list[SnapshotHandle]) -> Savepoint:
    """Writes the metadata and opens the savepoint."""
    entry = OperatorEntry(OPERATOR_ID, "Operator", handles[0].parallelism, MAX_PARALLELISM, has_user_uid=True, uid=UID)
    write_checkpoint(str(folder), Checkpoint("job", 1, 1, "savepoint", tuple(handles), operators={OPERATOR_ID: entry}))
    return open_savepoint(str(folder))


def read_all(pieces: list[StatePiece], reading: PieceReading) -> tuple[list[Any], StateNames]:
    """The elements of all pieces, and the names of states in them."""
    names = StateNames()

    def elements() -> Iterator[Any]:
        for piece in pieces:
            of_piece = StateNames()
            yield from reading(piece, of_piece)
            names.add(of_piece)

    return list(elements()), names
