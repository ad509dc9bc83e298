"""Windows over two streams at once: the window operator with a second input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.graph.operations import WindowJoin
from funke.engine.operators.joins.tagged_union import TaggedUnion
from funke.engine.operators.windowing.evicting_window_operator import EvictingWindowOperator
from funke.engine.operators.windowing.window_operator import WindowOperator
from funke.engine.state.storage_keys import storage_keys

__all__ = ["create_window_join"]

# The input index of elements that carry their own.
_TAGGED = -1


class _TwoInputs(WindowOperator):
    """Elements of both inputs get into the same windows, marked with the input they came from."""

    def __init__(self, operation: WindowJoin) -> None:
        super().__init__(operation)
        self._selectors = (operation.key_selector, operation.second_key_selector)

    @property
    def number_of_inputs(self) -> int:
        """Both."""
        return 2

    def input_handler(self, input_index: int) -> Callable[[list[Any], list[int] | None], None]:
        """The method for batches of one input."""
        if input_index not in (0, 1):
            raise IndexError(input_index)
        return lambda values, timestamps: self.process_batch(
            [TaggedUnion(input_index, value) for value in values], timestamps
        )

    def keys_of(self, values: list[Any], input_index: int = _TAGGED) -> list[Any]:
        """The stored keys of a batch of one input, or of elements that are marked."""
        if input_index == _TAGGED:
            selectors = self._selectors
            return storage_keys([selectors[tagged.index](tagged.value) for tagged in values])
        return storage_keys(list(map(self._selectors[input_index], values)))

    def evaluate(self, window: Any, elements: list[Any], timestamp: int | None) -> None:
        """Flink's rule for joins: results carry the last timestamp of the window, whatever fired it."""
        super().evaluate(window, elements, window.max_timestamp())


class _EvictingTwoInputs(_TwoInputs, EvictingWindowOperator):
    """The same with an evictor."""


def create_window_join(operation: WindowJoin) -> WindowOperator:
    """The operator for a window join or coGroup."""
    return _TwoInputs(operation) if operation.evictor is None else _EvictingTwoInputs(operation)
