"""Windows over two streams at once: the operator for windows over one, with a second input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.graph.operations import WindowJoin
from funke.engine.operators.joins.tagged_union import TaggedUnion
from funke.engine.operators.windowing.factory import create_window
from funke.engine.operators.windowing.window_operator import WindowOperator
from funke.engine.state.storage_keys import storage_keys

__all__ = ["create_window_join"]

# The input index of elements that carry their own.
_TAGGED = -1


def create_window_join(operation: WindowJoin) -> WindowOperator:
    """The operator for a window join or coGroup: the one that is best for its windows, with a second input."""
    operator = create_window(operation)
    operator.__class__ = _with_two_inputs(type(operator))
    return operator


def _with_two_inputs(kind: type[WindowOperator]) -> type[WindowOperator]:
    return type(f"TwoInput{kind.__name__}", (_TwoInputs, kind), {})


class _TwoInputs(WindowOperator):
    """Elements of both inputs get into the same windows, marked with the input they came from."""

    operation: WindowJoin

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
        selectors = (self.operation.key_selector, self.operation.second_key_selector)
        if input_index == _TAGGED:
            return storage_keys([selectors[tagged.index](tagged.value) for tagged in values])
        return storage_keys(list(map(selectors[input_index], values)))

    def evaluate(self, window: Any, elements: list[Any], timestamp: int | None) -> None:
        """Flink's rule for joins: results carry the last timestamp of the window, whatever fired it."""
        super().evaluate(window, elements, window.max_timestamp())
