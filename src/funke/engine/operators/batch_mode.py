"""Runtime mode BATCH: keyed operators get their input key by key, in order of time, when all of it is there.

Operators get no watermark before the end. Then, for each key in a fixed order: its records, its timers (event time has
reached its end for them), and its state is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from funke.engine.operators.function_operator import FunctionOperator
from funke.engine.operators.keyed.keyed_operator import KeyedOperator
from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK, Operator, OperatorContext
from funke.engine.operators.records.co_operators import BatchHandler
from funke.engine.state.storage_keys import original_key
from funke.engine.types.keys.stable_hash import stable_hash

__all__ = ["BatchBroadcastOperator", "BatchKeyedOperator"]

# (timestamp or MIN_WATERMARK, input index, value)
_Record = tuple[int, int, Any]


class _BatchOperator(Operator):
    """Holds an operator's input back until its end; everything else goes straight to the operator."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self.inner.setup(context)

    def open(self) -> None:
        self.inner.open()

    def process_watermark(self, watermark: int) -> None:
        """Only the end of input counts."""
        if watermark == MAX_WATERMARK:
            self.process_all()
            self.inner.process_watermark(watermark)

    def process_all(self) -> None:
        """Processes what was held back."""
        raise NotImplementedError

    def process_status(self, is_idle: bool) -> None:
        """Nothing can be late, so nothing can be idle."""

    def end_input(self) -> None:
        """Passes the end on."""
        self.inner.end_input()

    def end_epoch(self) -> None:
        """Passes the end of the epoch on."""
        self.inner.end_epoch()

    def metrics(self) -> dict[str, Any]:
        inner_metrics: dict[str, Any] = self.inner.metrics()
        return inner_metrics

    def close(self) -> None:
        self.inner.close()


class BatchKeyedOperator(_BatchOperator):
    """Gives a keyed operator its input key by key; inputs that are not keyed (broadcast) are processed first."""

    def __init__(self, inner: KeyedOperator, keyed_inputs: tuple[int, ...] = (0,)) -> None:
        super().__init__(inner)
        self._keyed_inputs = keyed_inputs
        self._records: dict[Any, list[_Record]] = {}
        self._has_timestamps = True

    def input_handler(self, input_index: int) -> BatchHandler:
        if input_index not in self._keyed_inputs:
            handler: BatchHandler = self.inner.input_handler(input_index)
            return handler

        def buffer(values: list[Any], timestamps: list[int] | None) -> None:
            self._buffer(values, timestamps, input_index)

        return buffer

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._buffer(values, timestamps, 0)

    def _buffer(self, values: list[Any], timestamps: list[int] | None, input_index: int) -> None:
        if timestamps is None:
            self._has_timestamps = False
        stamps = timestamps if timestamps is not None else [MIN_WATERMARK] * len(values)
        records = self._records
        for key, value, timestamp in zip(self.inner.keys_of(values, input_index), values, stamps, strict=True):
            record = (timestamp, input_index, value)
            if key in records:
                records[key].append(record)
            else:
                records[key] = [record]

    def process_all(self) -> None:
        """Processes key after key."""
        handlers = {index: self.inner.input_handler(index) for index in self._keyed_inputs}
        for key in _in_stable_order(list(self._records)):
            records = self._records.pop(key)
            records.sort(key=itemgetter(0))
            for index, run in _runs_of_one_input(records):
                timestamps = [record[0] for record in run] if self._has_timestamps else None
                handlers[index]([record[2] for record in run], timestamps)
            self.inner.finish_key(key)


class BatchBroadcastOperator(_BatchOperator):
    """Gives a broadcast operator without keys the whole broadcast side first, then the data."""

    def __init__(self, inner: FunctionOperator) -> None:
        super().__init__(inner)
        self._batches: list[tuple[list[Any], list[int] | None]] = []

    def input_handler(self, input_index: int) -> BatchHandler:
        if input_index == 0:
            return lambda values, timestamps: self._batches.append((values, timestamps))
        handler: BatchHandler = self.inner.input_handler(input_index)
        return handler

    def process_all(self) -> None:
        handle: Callable[..., None] = self.inner.input_handler(0)
        batches, self._batches = self._batches, []
        for values, timestamps in batches:
            handle(values, timestamps)


def _in_stable_order(keys: list[Any]) -> list[Any]:
    """Keys in an order that does not depend on when their records came."""
    try:
        return sorted(keys, key=original_key)
    except TypeError:
        return sorted(keys, key=lambda key: stable_hash(original_key(key)))


def _runs_of_one_input(records: list[_Record]) -> list[tuple[int, list[_Record]]]:
    runs: list[tuple[int, list[_Record]]] = []
    for record in records:
        if runs and runs[-1][0] == record[1]:
            runs[-1][1].append(record)
        else:
            runs.append((record[1], [record]))
    return runs
