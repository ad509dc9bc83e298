"""Folding as in Flink 1.x: elements are added one by one to a value that may have another type."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.operators.function_operator import method_of
from funke.engine.operators.functions.process_functions import KeyedProcessFunction
from funke.engine.operators.functions.runtime_context import RuntimeContext
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.interfaces import ValueState
from funke.engine.types.functions import AggregateFunction, Function
from funke.engine.types.information.type_information import PickledBytesTypeInfo

__all__ = ["FoldAggregation", "FoldFunction", "RunningFold"]

Fold = Callable[[Any, Any], Any]


class FoldFunction(Function):
    """Adds an element to what was folded so far."""

    @abstractmethod
    def fold(self, accumulator: Any, value: Any) -> Any:
        """Return the value that takes the place of `accumulator`."""


class RunningFold(KeyedProcessFunction):
    """Emits, for every element, what its key was folded to."""

    def __init__(self, initial_value: Any, function: Fold | FoldFunction) -> None:
        self._initial_value = initial_value
        self._function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._function, FoldFunction):
            self._function.open(runtime_context)
        self._fold = method_of(self._function, "fold")
        self._folded: ValueState[Any] = runtime_context.get_state(
            ValueStateDescriptor("_fold_state", PickledBytesTypeInfo())
        )

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        folded = self._folded.value()
        # A copy: the function may change what it is given, and all keys begin with the same value.
        folded = self._fold(copy.deepcopy(self._initial_value) if folded is None else folded, value)
        self._folded.update(folded)
        yield folded

    def close(self) -> None:
        if isinstance(self._function, FoldFunction):
            self._function.close()


class FoldAggregation(AggregateFunction):
    """Folds the elements of a window."""

    def __init__(self, initial_value: Any, function: Fold | FoldFunction) -> None:
        self._initial_value = initial_value
        self._function = function
        self._fold = method_of(function, "fold")

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._function, FoldFunction):
            self._function.open(runtime_context)

    def create_accumulator(self) -> Any:
        """Return a copy of the initial value."""
        return copy.deepcopy(self._initial_value)

    def add(self, value: Any, accumulator: Any) -> Any:
        return self._fold(accumulator, value)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> NoReturn:
        """Reject: two folded values cannot become one."""
        raise UnsupportedFeatureError(
            "fold() of windows that merge", "use aggregate(), whose accumulators can be merged"
        )

    def close(self) -> None:
        if isinstance(self._function, FoldFunction):
            self._function.close()
