"""Collects what a function yields, apart for the main output and each side output, and sends it as batches."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any

from funke.engine.operators.operator import Output
from funke.engine.operators.record_copy import ATOMS, detached
from funke.engine.types.output_tag import OutputTag

__all__ = ["ResultBatch"]


class ResultBatch:
    """The results of one batch of records, or of the timers that one watermark fired."""

    __slots__ = ("_has_side_outputs", "_output", "_sides", "timestamps", "values")

    def __init__(self, output: Output) -> None:
        self._output = output
        # As in PyFlink, a pair with a tag is an ordinary record while the program wants no side output of the operator.
        self._has_side_outputs = output.has_side_outputs
        self.values: list[Any] = []
        self.timestamps: list[int] = []
        self._sides: dict[OutputTag, tuple[list[Any], list[int]]] = {}

    def take(self, results: Iterable[Any], timestamp: int | None) -> None:
        """Takes what one call yielded; each result is looked at the moment it is yielded."""
        values, timestamps, has_side_outputs = self.values, self.timestamps, self._has_side_outputs
        for result in results:
            if type(result) not in ATOMS:
                if has_side_outputs and isinstance(result, tuple) and result and isinstance(result[0], OutputTag):
                    self.take_side(result[0], result[1], timestamp)
                    continue
                result = detached(result)
            values.append(result)
            if timestamp is not None:
                timestamps.append(timestamp)

    def take_side(self, tag: OutputTag, value: Any, timestamp: int | None) -> None:
        """Takes one record for a side output."""
        values, timestamps = self._sides.setdefault(tag, ([], []))
        values.append(detached(value))
        if timestamp is not None:
            timestamps.append(timestamp)

    def send_each(self, results: Iterable[Any], timestamps: list[int] | None) -> None:
        """Takes one result for each record, and sends them."""
        for result, timestamp in zip(results, repeat(None) if timestamps is None else timestamps):
            self.take((result,), timestamp)
        self.send()

    def send(self) -> None:
        """Sends everything, and starts anew."""
        values, timestamps, sides = self.values, self.timestamps, self._sides
        self.values, self.timestamps = [], []
        if sides:
            self._sides = {}
        self._output.emit(values, timestamps if timestamps else None)
        for tag, (side_values, side_timestamps) in sides.items():
            coerced = tag.type_info.coerce_list(side_values)
            self._output.emit_side(tag.tag_id, coerced, side_timestamps if side_timestamps else None)
