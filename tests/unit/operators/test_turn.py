"""Whose turn it is, as another process reads it."""

from __future__ import annotations

from funke.engine.operators.turn import Turn
from funke.engine.types.operator_location import NOWHERE, OperatorLocation


def test_operators_with_one_name_and_line_are_distinguished() -> None:
    turn = Turn()
    first, second = (OperatorLocation("Map", "job.py:3", operator_id, 4, 1) for operator_id in ("a" * 32, "b" * 32))
    numbers = turn.number_of(first), turn.number_of(second)
    assert numbers == (1, 2) and turn.number_of(first) == 1
    assert turn.now() == NOWHERE
    for number, index in zip(numbers, (first, second)):
        turn.cell[0] = number
        assert turn.now() == index


def test_long_strings_are_cut_and_ids_stay() -> None:
    turn = Turn()
    turn.cell[0] = turn.number_of(OperatorLocation("ü" * 400, "x" * 400, "a" * 32))
    location = turn.now()
    assert location.name.startswith("üü") and (location.operator_id, location.vertex_id, location.subtask) == (
        "a" * 32,
        None,
        None,
    )
