"""Whose turn it is, as another process reads it."""

from __future__ import annotations

from funke.engine.operators.turn import Turn
from funke.engine.types.operator_place import NOWHERE, OperatorPlace


def test_operators_with_one_name_and_line_are_told_apart() -> None:
    turn = Turn()
    first, second = (OperatorPlace("Map", "job.py:3", operator_id, 4, 1) for operator_id in ("a" * 32, "b" * 32))
    numbers = turn.number_of(first), turn.number_of(second)
    assert numbers == (1, 2) and turn.number_of(first) == 1
    assert turn.now() == NOWHERE
    for number, place in zip(numbers, (first, second)):
        turn.cell[0] = number
        assert turn.now() == place


def test_long_texts_are_cut_and_ids_stay() -> None:
    turn = Turn()
    turn.cell[0] = turn.number_of(OperatorPlace("ü" * 400, "x" * 400, "a" * 32))
    found = turn.now()
    assert found.name.startswith("üü") and (found.operator_id, found.vertex_id, found.subtask) == ("a" * 32, None, None)
