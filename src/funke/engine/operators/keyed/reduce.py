"""Running reduce on a keyed stream: every record yields the value of its key so far."""

from __future__ import annotations

from typing import Any

from funke.engine.graph.operations import KeySelector
from funke.engine.operators.function_operator import method_of
from funke.engine.operators.keyed.keyed_operator import KeyedOperator
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.operators.record_copy import ATOMS, detached
from funke.engine.state.descriptors import ReducingStateDescriptor
from funke.engine.types.information.type_information import PickledBytesTypeInfo

__all__ = ["ReduceOperator"]

_STATE_NAME = "_reduce_state"


class ReduceOperator(KeyedOperator):
    """Runs a ReduceFunction; in batch mode each key yields once, when all its records are in."""

    def __init__(self, function: Any, key_selector: KeySelector, is_batch: bool = False) -> None:
        super().__init__(function, key_selector)
        self._reduce = method_of(function, "reduce")
        self._is_batch = is_batch

    def open(self) -> None:
        super().open()
        descriptor = ReducingStateDescriptor(_STATE_NAME, self._reduce, PickledBytesTypeInfo())
        self._state = self.backend.get_state(descriptor)

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Reduces every record into the value of its key."""
        self.records_in += len(values)
        keys = self.keys_of(values)
        if self._is_batch:
            for key, value in zip(keys, values, strict=True):
                self.backend.current_key = key
                self._state.add(value)
            return
        results = self._running(keys, values)
        self.guard.check(results)
        self.output.emit(results, timestamps)

    def _running(self, keys: list[Any], values: list[Any]) -> list[Any]:
        reduce, table, is_careful, backend = self._reduce, self._state.table, self.guard.is_careful, self.backend
        current_of = table.get
        results: list[Any] = []
        append = results.append
        for key, value in zip(keys, values, strict=True):
            # State of the function's own belongs to the key too.
            backend.current_key = key
            current = current_of(key)
            table[key] = reduced = value if current is None else reduce(current, value)
            # The state holds on to the value, and the function may change it in place.
            append(detached(reduced) if is_careful and type(reduced) not in ATOMS else reduced)
        return results

    def finish_key(self, key: Any) -> None:
        """In batch mode, yields the value of the key; like in PyFlink, with the time of the end of input."""
        self.backend.current_key = key
        value = self._state.get()
        if value is not None:
            self.output.emit([value], [MAX_WATERMARK])
        super().finish_key(key)
