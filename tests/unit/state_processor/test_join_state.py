"""The rows of joins are read from savepoints and from the files of a backend, and a copy of these is a savepoint."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from funke.engine.graph.operations import ColumnOperator
from funke.engine.jobs.checkpoints.savepoint_files import Savepoint, open_savepoint, write_snapshot
from funke.engine.operators.factory import create_operator
from funke.engine.operators.operator import Operator, OperatorContext, Output, TaskInfo
from funke.engine.runtime.snapshots.snapshot_files import NativeFile, SnapshotHandle, copy_file
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.state_processor.savepoint_writing import Changes, copy_commands, copy_snapshot_file, write_metadata
from funke.engine.state_processor.state_parts import keyed_pieces, read_chunks
from funke.engine.state_processor.state_table import StateTable
from tests.harness.sql_changelogs import batch_of, inserts
from tests.unit.sql.operators import test_window_join
from tests.unit.sql.operators.joins import test_interval_join, test_join, test_multi_join
from tests.unit.state_processor.savepoint_making import MAX_PARALLELISM, OPERATOR_ID, UID, savepoint_of

pytest.importorskip("rocksdict")

SECOND = datetime.datetime(1970, 1, 1, 0, 0, 1)
LATER = SECOND + datetime.timedelta(seconds=1)
# The node, the rows of its inputs, and what is kept of them by the name of the state.
JOINS: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "regular": (
        test_join.join_of("left"),
        [(test_join.LEFT, [(1, 2), (4, 3)]), (test_join.RIGHT, [(1, 5), (1, 6)])],
        [
            ("left-rows", {"k": 1, "x": 2, "$matches": 2}),
            ("left-rows", {"k": 4, "x": 3, "$matches": 0}),
            ("right-rows", {"k": 1, "y": 5}),
            ("right-rows", {"k": 1, "y": 6}),
        ],
    ),
    "interval": (
        test_interval_join.join_of("left", -1000, 1000),
        [(test_interval_join.SIDE, [(1, 2, SECOND), (None, 3, SECOND)]), (test_interval_join.SIDE, [(1, 5, LATER)])],
        [
            ("left-rows", {"k": 1, "x": 2, "t": "1970-01-01T00:00:01", "$has_match": True}),
            ("left-rows", {"k": None, "x": 3, "t": "1970-01-01T00:00:01", "$has_match": False}),
            ("right-rows", {"k": 1, "x": 5, "t": "1970-01-01T00:00:02"}),
        ],
    ),
    "window": (
        test_window_join.join_of("inner"),
        [(test_window_join.SIDE, [(1, 2, SECOND, LATER)]), (test_window_join.SIDE, [])],
        [
            ("left-rows", {"k": 1, "x": 2, "s": "1970-01-01T00:00:01", "e": "1970-01-01T00:00:02"}),
        ],
    ),
    "several": (
        test_multi_join.plan_of(test_multi_join.INNER, True),
        [(test_multi_join.COLUMNS, [(1, 2)]), (test_multi_join.COLUMNS, [(1, 3)]), (test_multi_join.COLUMNS, [])],
        [("rows-of-input-0", {"k": 1, "x": 2}), ("rows-of-input-1", {"k": 1, "x": 3})],
    ),
}


def written(folder: Path, name: str, backend: str) -> Savepoint:
    """A savepoint, or with RocksDB a checkpoint as incremental ones are, of a join that has got its rows."""
    node, inputs, _ = JOINS[name]
    choice = BackendChoice(backend, local_directories=(str(folder / "working"),))
    task = TaskInfo(max_parallelism=MAX_PARALLELISM, backend=choice)
    operator = create_operator(ColumnOperator(node.detached().create), task)
    operator.setup(OperatorContext(task, "operator", OPERATOR_ID, Output()))
    operator.open()
    for number, (columns, rows) in enumerate(inputs):
        operator.columns_handler(number)(batch_of(inserts(rows), columns))
    operator.prepare_snapshot(1)
    files = []
    for file in operator.native_files():
        copy_file(file.path, str(folder / "shared" / file.name))
        files.append(NativeFile(f"shared/{file.name}", file.name, Path(file.path).stat().st_size))
    assert bool(files) == (backend == "rocksdb")
    size = write_snapshot(str(folder / "file"), lambda writer: _write(operator, writer, bool(files)))
    operator.close()
    native = ((OPERATOR_ID, tuple(files)),) if files else ()
    return savepoint_of(folder, [SnapshotHandle((OPERATOR_ID,), 0, 1, "file", size, native)])


def _write(operator: Operator, writer: Any, is_native: bool) -> None:
    writer.write_own(OPERATOR_ID, operator.snapshot())
    for part in () if is_native else operator.snapshot_keyed():
        writer.write_keyed(OPERATOR_ID, *part)


def rows_in(savepoint: Savepoint) -> list[Any]:
    table = StateTable({OPERATOR_ID: ("Join", UID)})
    rows = [row for piece in keyed_pieces(savepoint, OPERATOR_ID) for row in table.rows(piece)]
    assert {row[3] for row in rows} == {"value"}
    return sorted([(row[2], json.loads(row[7])) for row in rows], key=str)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("name", JOINS)
def test_rows_of_each_input_are_read(tmp_path: Path, name: str, backend: str) -> None:
    assert rows_in(written(tmp_path, name, backend)) == sorted(JOINS[name][2], key=str)


def test_files_of_a_backend_become_a_savepoint(tmp_path: Path) -> None:
    checkpoint = written(tmp_path / "chk-1", "regular", "rocksdb")
    folder = str(tmp_path / "savepoint")
    handles = [copy_snapshot_file(command) for command in copy_commands(folder, checkpoint, Changes())]
    write_metadata(folder, checkpoint, Changes(), handles, [])
    savepoint = open_savepoint(folder)
    assert [handle.native for handle in savepoint.snapshots] == [()]
    again = test_join.Running(JOINS["regular"][0])
    for piece in keyed_pieces(savepoint, OPERATOR_ID):
        again.harness.operator.restore_keyed(read_chunks(piece))
    assert again.feed(1, [("-D", (1, 5)), ("+I", (4, 7))]) == [
        ("-D", (1, 2, 1, 5)),
        ("-D", (4, 3, None, None)),
        ("+I", (4, 3, 4, 7)),
    ]
