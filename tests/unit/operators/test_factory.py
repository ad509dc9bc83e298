"""Every operation has an operator, or a clear rejection; several receivers do not disturb each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.graph import operations
from funke.engine.graph.operations import Operation, ReadSource
from funke.engine.operators.factory import _OPERATORS, create_operator
from funke.engine.operators.operator import Output, TaskInfo
from funke.engine.types.operator_location import OperatorLocation
from tests.harness.operator_harness import Record, Recorder


@dataclass(frozen=True)
class Unknown(Operation):
    """An operation that nobody implements."""


def test_an_operation_without_operator_is_rejected() -> None:
    with pytest.raises(UnsupportedFeatureError, match="Unknown is not supported"):
        create_operator(Unknown(), TaskInfo())


def test_every_operation_but_the_source_has_an_operator() -> None:
    defined = {
        value
        for value in vars(operations).values()
        if isinstance(value, type) and issubclass(value, Operation) and value not in (Operation, ReadSource)
    }
    assert defined == set(_OPERATORS)


class Spoiling(Recorder):
    """Changes every record that it gets."""

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        for value in values:
            value.append("spoiled")


def test_a_receiver_that_changes_its_records_does_not_change_those_of_others() -> None:
    output = Output()
    spoiling, second, third = Spoiling(), Recorder(), Recorder()
    for receiver in (spoiling, second, third):
        output.connect(receiver, OperatorLocation("receiver"))
    output.emit([[1], [2]], None)
    assert second.elements == third.elements == [Record([1]), Record([2])]
