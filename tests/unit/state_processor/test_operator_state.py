"""Operator state: lists, union lists and broadcast maps are written by bootstrap functions and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from funke.common import Types
from funke.datastream.state import ListStateDescriptor, MapStateDescriptor
from funke.engine.graph.operations import BroadcastProcess, Process
from funke.engine.state_processor.bootstrap_functions import BootstrapProcess, BroadcastBootstrapProcess
from funke.engine.state_processor.own_reading import OwnReading
from funke.engine.state_processor.state_parts import keyed_pieces, own_pieces
from funke.engine.state_processor.state_table import StateTable
from funke.state_api import BroadcastStateBootstrapFunction, StateBootstrapFunction
from tests.unit.state_processor.savepoint_making import OPERATOR_ID, UID, read_all, savepoint_of, write_state

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Buffer(StateBootstrapFunction[int]):
    """Gathers elements and hands them over at the end."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.buffered = store.get_list_state(ListStateDescriptor("buffered", Types.INT()))
        self.offsets = store.get_union_list_state(ListStateDescriptor("offsets", Types.INT()))
        self.elements: list[int] = []

    def process_element(self, value: int, ctx: StateBootstrapFunction.Context) -> None:
        assert ctx.current_processing_time() > 0
        self.elements.append(value)

    def snapshot_state(self, context: Any) -> None:
        self.buffered.update(self.elements)
        self.offsets.add(max(self.elements))


class Rules(BroadcastStateBootstrapFunction[tuple[str, int]]):
    def process_element(self, value: tuple[str, int], ctx: BroadcastStateBootstrapFunction.Context) -> None:
        assert ctx.current_processing_time() > 0
        ctx.get_broadcast_state(RULES).put(*value)


def test_lists_of_all_subtasks_are_read(tmp_path: Path) -> None:
    handles = write_state(tmp_path, Process(BootstrapProcess(Buffer())), list(range(10)), parallelism=3)
    pieces = own_pieces(savepoint_of(tmp_path, handles), OPERATOR_ID)
    buffered, names = read_all(pieces, OwnReading("list", "buffered"))
    assert sorted(buffered) == list(range(10))
    assert names.found == {"buffered"}
    offsets, _ = read_all(pieces, OwnReading("union", "offsets"))
    assert sorted(offsets) == [7, 8, 9]


def test_asking_for_a_list_that_is_not_there_is_noted(tmp_path: Path) -> None:
    handles = write_state(tmp_path, Process(BootstrapProcess(Buffer())), [1])
    elements, names = read_all(own_pieces(savepoint_of(tmp_path, handles), OPERATOR_ID), OwnReading("list", "offsets"))
    assert (elements, names.wanted, names.found) == ([], {"offsets"}, {"buffered"})


def test_broadcast_state_is_read_once(tmp_path: Path) -> None:
    operation = BroadcastProcess(BroadcastBootstrapProcess(Rules()), ())
    values = [("a", 1), ("b", 2)]
    handles = [
        *write_state(tmp_path / "0", operation, values, input_index=1),
        *write_state(tmp_path / "1", operation, values, input_index=1),
    ]
    from dataclasses import replace

    placed = [replace(handle, subtask=n, path=f"{n}/{handle.path}") for n, handle in enumerate(handles)]
    savepoint = savepoint_of(tmp_path, placed)
    pieces = own_pieces(savepoint, OPERATOR_ID)
    assert [piece.subtask for piece in pieces] == [0, 1]
    elements, _ = read_all(pieces, OwnReading("broadcast", "rules"))
    assert sorted(elements) == values
    table = StateTable({OPERATOR_ID: ("Operator", UID)})
    rows = [row[2:8] for piece in pieces for row in table.rows(piece)]
    assert sorted(rows) == [
        ("rules", "broadcast", None, None, "a", "1"),
        ("rules", "broadcast", None, None, "b", "2"),
    ]
    assert keyed_pieces(savepoint, OPERATOR_ID) == []
