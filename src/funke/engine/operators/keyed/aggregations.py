"""The functions behind `sum`, `min`, `max`, `min_by`, `max_by` and `fold` of a keyed stream, and behind `project`."""

from __future__ import annotations

import copy
import operator
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Literal, NoReturn

from funke.engine.errors import TypeMismatchError, UnsupportedFeatureError
from funke.engine.operators.function_operator import method_of
from funke.engine.operators.functions.process_functions import KeyedProcessFunction
from funke.engine.operators.functions.runtime_context import RuntimeContext
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.interfaces import ValueState
from funke.engine.types.functions import AggregateFunction, Function, ReduceFunction
from funke.engine.types.information.type_information import PickledBytesTypeInfo
from funke.engine.types.row import Row

__all__ = [
    "FieldAggregation",
    "FoldAggregation",
    "FoldFunction",
    "RunningFold",
    "identity",
    "projection",
]

Kind = Literal["sum", "min", "max", "min_by", "max_by"]
_Combine = Callable[[Any, Any], Any]


def _smaller(first: Any, second: Any) -> Any:
    return second if second < first else first


def _larger(first: Any, second: Any) -> Any:
    return second if second > first else first


_COMBINE: dict[str, _Combine] = {"sum": operator.add, "min": _smaller, "max": _larger}


class FieldAggregation(ReduceFunction):
    """Combines two elements by one field, or by their whole value when they have no fields.

    `sum`, `min` and `max` keep the first element's other fields; `min_by` and `max_by` keep the whole element that has
    the smaller or larger field, the first one when both are equal.
    """

    def __init__(self, kind: Kind, position: int | str) -> None:
        if not isinstance(position, (int, str)):
            raise TypeError(f"{kind}() needs the position or the name of a field, got {type(position).__name__}")
        self._kind = kind
        self._position = position
        self._reduce: _Combine | None = None

    def reduce(self, value1: Any, value2: Any) -> Any:
        # The elements of a stream have one shape: the way to combine them is chosen once, by the first.
        if self._reduce is None:
            self._reduce = self._combination_for(value2)
        return self._reduce(value1, value2)

    def _combination_for(self, sample: Any) -> _Combine:
        has_fields = isinstance(sample, (tuple, list, Row))
        if self._kind in ("min_by", "max_by"):
            return self._by_field() if has_fields else _COMBINE[self._kind.removesuffix("_by")]
        if isinstance(sample, tuple):
            return self._in_tuple()
        if has_fields:
            return self._in_copy()
        if self._position != 0:
            raise TypeMismatchError(
                f"{self._kind}({self._position!r}) needs elements with fields, got {type(sample).__name__}; "
                f"{self._kind}(0) takes the whole element"
            )
        return _COMBINE[self._kind]

    def _by_field(self) -> _Combine:
        position: Any = self._position
        if self._kind == "min_by":
            return lambda first, second: second if second[position] < first[position] else first
        return lambda first, second: second if second[position] > first[position] else first

    def _in_tuple(self) -> _Combine:
        position: Any = self._position
        combine = _COMBINE[self._kind]

        def combined(first: Any, second: Any) -> Any:
            fields = list(first)
            fields[position] = combine(first[position], second[position])
            return tuple(fields)

        return combined

    def _in_copy(self) -> _Combine:
        position: Any = self._position
        combine = _COMBINE[self._kind]

        def combined(first: Any, second: Any) -> Any:
            result = copy.copy(first)
            result[position] = combine(first[position], second[position])
            return result

        return combined

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reduce": None}


def identity(value: Any) -> Any:
    """Return the element itself."""
    return value


def projection(indexes: tuple[int, ...]) -> Callable[[Any], Any]:
    """Return the function that keeps the fields of a tuple at the given positions, in this order."""
    if len(indexes) > 1:
        return operator.itemgetter(*indexes)
    (index,) = indexes
    return lambda value: (value[index],)


Fold = Callable[[Any, Any], Any]


class FoldFunction(Function):
    """Adds an element to what was folded so far, as in Flink 1.x; the value may have another type than elements.

    >>> from funke.datastream.functions import FoldFunction
    >>> class Lengths(FoldFunction):
    ...     def fold(self, accumulator, value):
    ...         return accumulator + len(value)
    >>> Lengths().fold(3, "word")
    7
    """

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
