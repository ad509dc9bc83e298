"""State in RocksDB's own files is read like any other, and becomes a savepoint in the common form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from funke.common import Time, Types
from funke.datastream import RuntimeContext
from funke.datastream.state import MapStateDescriptor, ReducingStateDescriptor, ValueStateDescriptor
from funke.datastream.window import EventTimeTrigger, TumblingEventTimeWindows
from funke.engine.errors import StateError
from funke.engine.graph.operations import Operation, Process, Window
from funke.engine.jobs.checkpoints.savepoint_files import Savepoint, open_savepoint, write_snapshot
from funke.engine.operators.factory import create_operator
from funke.engine.operators.operator import OperatorContext, Output, TaskInfo
from funke.engine.operators.windowing.window_operator import CONTENTS
from funke.engine.runtime.snapshots.snapshot_files import NativeFile, SnapshotHandle, copy_file
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.state_processor.key_reading import KeyReading
from funke.engine.state_processor.savepoint_writing import Changes, copy_commands, copy_snapshot_file, write_metadata
from funke.engine.state_processor.state_parts import keyed_pieces
from funke.engine.state_processor.state_table import StateTable, TypedStateTable
from funke.engine.state_processor.window_reading import PassThroughReader, WindowReading
from funke.engine.types.information.type_information import PickledBytesTypeInfo
from funke.state_api import KeyedStateBootstrapFunction, KeyedStateReaderFunction
from tests.unit.state_processor.savepoint_making import (
    MAX_PARALLELISM,
    OPERATOR_ID,
    UID,
    read_all,
    savepoint_of,
    write_state,
)

pytest.importorskip("rocksdict")

KEYS = 300
COUNT = ValueStateDescriptor("count", Types.INT())
SEEN = MapStateDescriptor("seen", Types.INT(), Types.STRING())


class Counts(KeyedStateBootstrapFunction[int, int]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.seen = runtime_context.get_map_state(SEEN)

    def process_element(self, value: int, ctx: KeyedStateBootstrapFunction.Context) -> None:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.put(value, "yes")
        ctx.timer_service().register_event_time_timer(value)


class ReadCounts(KeyedStateReaderFunction[int, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.seen = runtime_context.get_map_state(SEEN)

    def read_key(self, key: int, ctx: KeyedStateReaderFunction.Context) -> Iterator[Any]:
        yield key, self.count.value(), sorted(self.seen.keys()), sorted(ctx.registered_event_time_timers())


def remainder(value: int) -> int:
    return value % KEYS


def expected() -> list[Any]:
    return [(key, 2, [key, key + KEYS], [key, key + KEYS]) for key in range(KEYS)]


def native_checkpoint(folder: Path, operation: Operation, values: list[Any], times: list[int] | None) -> Savepoint:
    """A checkpoint as incremental ones are: state in files of RocksDB, timers in the snapshot file."""
    task = TaskInfo(
        max_parallelism=MAX_PARALLELISM,
        backend=BackendChoice("rocksdb", local_directories=(str(folder / "working"),)),
    )
    operator = create_operator(operation, task)
    operator.setup(OperatorContext(task, "operator", OPERATOR_ID, Output()))
    operator.open()
    operator.process_batch(values, times)
    operator.prepare_snapshot(1)
    files = []
    for file in operator.native_files():
        copy_file(file.path, str(folder / "shared" / file.name))
        files.append(NativeFile(f"shared/{file.name}", file.name, Path(file.path).stat().st_size))
    size = write_snapshot(
        str(folder / "file"),
        lambda writer: [writer.write_keyed(OPERATOR_ID, *part) for part in operator.snapshot_timers()] and None,
    )
    operator.close()
    return savepoint_of(folder, [SnapshotHandle((OPERATOR_ID,), 0, 1, "file", size, ((OPERATOR_ID, tuple(files)),))])


@pytest.fixture
def checkpoint(tmp_path: Path) -> Savepoint:
    return native_checkpoint(tmp_path / "chk-1", Process(Counts(), remainder), list(range(2 * KEYS)), None)


def test_every_key_is_read_once_with_its_states_and_timers(checkpoint: Savepoint) -> None:
    elements, names = read_all(keyed_pieces(checkpoint, OPERATOR_ID), KeyReading(ReadCounts()))
    assert sorted(elements) == expected()
    assert names.found == {"count", "seen"}


def test_tables_have_the_same_rows(checkpoint: Savepoint) -> None:
    pieces = keyed_pieces(checkpoint, OPERATOR_ID)
    table = TypedStateTable.of(SEEN, Types.INT())
    rows = {key: value for piece in pieces for key, _, value, _, _ in table.rows(piece)}
    assert rows == {key: {key: "yes", key + KEYS: "yes"} for key in range(KEYS)}
    kinds = [row[3] for piece in pieces for row in StateTable({OPERATOR_ID: ("Operator", UID)}).rows(piece)]
    assert {kind: kinds.count(kind) for kind in kinds} == {"value": KEYS, "map": KEYS, "event-timer": 2 * KEYS}


def test_a_savepoint_of_a_native_checkpoint_stands_alone(checkpoint: Savepoint, tmp_path: Path) -> None:
    folder = str(tmp_path / "savepoint")
    handles = [copy_snapshot_file(command) for command in copy_commands(folder, checkpoint, Changes())]
    write_metadata(folder, checkpoint, Changes(), handles, [])
    for path in Path(checkpoint.path, "shared").iterdir():
        path.unlink()
    savepoint = open_savepoint(folder)
    assert [handle.native for handle in savepoint.snapshots] == [()]
    elements, _ = read_all(keyed_pieces(savepoint, OPERATOR_ID), KeyReading(ReadCounts()))
    assert sorted(elements) == expected()


def test_windows_are_read_from_the_files_too(tmp_path: Path) -> None:
    def add(left: int, right: int) -> int:
        return left + right

    operation = Window(
        assigner=TumblingEventTimeWindows.of(Time.seconds(1)),
        trigger=EventTimeTrigger(),
        key_selector=lambda value: value % 2,
        reduce=add,
    )
    checkpoint = native_checkpoint(tmp_path, operation, [1, 2, 3, 4], [100, 200, 300, 1400])
    contents = ReducingStateDescriptor(CONTENTS, add, PickledBytesTypeInfo())
    elements, _ = read_all(keyed_pieces(checkpoint, OPERATOR_ID), WindowReading(contents, PassThroughReader()))
    assert sorted(elements) == [2, 4, 4]


def test_a_missing_file_is_named(checkpoint: Savepoint) -> None:
    for path in Path(checkpoint.path, "shared").glob("MANIFEST*"):
        path.unlink()
    with pytest.raises(StateError, match=r"MANIFEST.*cannot be read"):
        read_all(keyed_pieces(checkpoint, OPERATOR_ID), KeyReading(ReadCounts()))


def test_damaged_files_are_reported(checkpoint: Savepoint) -> None:
    for path in Path(checkpoint.path, "shared").glob("MANIFEST*"):
        path.write_bytes(b"nothing of use")
    with pytest.raises(StateError, match=r"RocksDB files of .* cannot be read"):
        read_all(keyed_pieces(checkpoint, OPERATOR_ID), KeyReading(ReadCounts()))


def test_first_state_may_be_made_in_rocksdb(tmp_path: Path) -> None:
    operation = Process(Counts(), remainder)
    values = list(range(2 * KEYS))
    handles = write_state(tmp_path, operation, values, key=remainder, parallelism=2, backend="rocksdb")
    savepoint = savepoint_of(tmp_path, [replace(handle, native=()) for handle in handles])
    elements, _ = read_all(keyed_pieces(savepoint, OPERATOR_ID), KeyReading(ReadCounts()))
    assert sorted(elements) == expected()
    assert not list((tmp_path / "working").glob("*"))
