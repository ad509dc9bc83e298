"""Functions that users write for tables: from values to a value, to rows, and from many rows to one or several."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from funke.engine.types.logical.data_type import DataType
from funke.engine.types.metrics import MetricGroup

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "DelegatingAsyncScalarFunction",
    "DelegatingPandasAggregateFunction",
    "DelegatingScalarFunction",
    "DelegationTableFunction",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "PandasAggregateFunctionWrapper",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunction",
]

T = TypeVar("T")
ACC = TypeVar("ACC")


class FunctionContext:
    """What a function learns in `open()` about where it runs."""

    def __init__(
        self,
        base_metric_group: MetricGroup | None,
        job_parameters: Mapping[str, str],
        task_name: str | None = None,
        task_name_with_subtasks: str | None = None,
        number_of_parallel_subtasks: int | None = None,
        max_number_of_parallel_subtasks: int | None = None,
        index_of_this_subtask: int | None = None,
        attempt_number: int | None = None,
    ) -> None:
        self._base_metric_group = base_metric_group
        self._job_parameters = job_parameters
        self._task_name = task_name
        self._task_name_with_subtasks = task_name_with_subtasks
        self._number_of_parallel_subtasks = number_of_parallel_subtasks
        self._max_number_of_parallel_subtasks = max_number_of_parallel_subtasks
        self._index_of_this_subtask = index_of_this_subtask
        self._attempt_number = attempt_number

    def get_metric_group(self) -> MetricGroup:
        """Return the group that the function's metrics belong to."""
        if self._base_metric_group is None:
            raise RuntimeError(
                "Metric has not been enabled. You can enable metric with the 'python.metric.enabled' configuration."
            )
        return self._base_metric_group

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a parameter of the job (`pipeline.global-job-parameters`)."""
        return self._job_parameters.get(key, default_value)

    def get_task_name(self) -> str | None:
        """Return the name of the step."""
        return self._task_name

    def get_task_name_with_subtasks(self) -> str | None:
        """Return the name of the step with the number of the subtask, `name (1/4)`."""
        return self._task_name_with_subtasks

    def get_number_of_parallel_subtasks(self) -> int | None:
        """Return the parallelism of the step."""
        return self._number_of_parallel_subtasks

    def get_max_number_of_parallel_subtasks(self) -> int | None:
        """Return the greatest parallelism that the step can be rescaled to."""
        return self._max_number_of_parallel_subtasks

    def get_index_of_this_subtask(self) -> int | None:
        """Return the number of the subtask, from 0."""
        return self._index_of_this_subtask

    def get_attempt_number(self) -> int | None:
        """Return how often the job has been started before."""
        return self._attempt_number


class UserDefinedFunction(ABC):
    """Base of all functions for tables."""

    def open(self, function_context: FunctionContext) -> None:
        """Prepare for work; called once before the first row."""

    def close(self) -> None:
        """Clean up; called after the last row."""

    def is_deterministic(self) -> bool:
        """Tell whether equal arguments always give equal results."""
        return True


class ScalarFunction(UserDefinedFunction):
    """From values to a value."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Return the result for one row."""


class AsyncScalarFunction(UserDefinedFunction):
    """From values to a value, with many rows under way at the same time."""

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """Return the result for one row."""


class TableFunction(UserDefinedFunction):
    """From values to rows."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Give the rows for one row: as an iterator, a list, or one row alone."""


class ImperativeAggregateFunction(UserDefinedFunction, Generic[T, ACC]):
    """From many rows to one or several, by way of an accumulator that each row changes."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Return the accumulator of a group without rows."""

    @abstractmethod
    def accumulate(self, accumulator: ACC, *args: Any) -> None:
        """Take a row in."""

    def retract(self, accumulator: ACC, *args: Any) -> None:
        """Take back a row that was taken in before."""
        raise RuntimeError("Method retract is not implemented")

    def merge(self, accumulator: ACC, accumulators: Iterable[ACC]) -> None:
        """Take in everything that other accumulators hold."""
        raise RuntimeError("Method merge is not implemented")

    def get_result_type(self) -> DataType | str:
        """Return the type of the result."""
        raise RuntimeError("Method get_result_type is not implemented")

    def get_accumulator_type(self) -> DataType | str:
        """Return the type of the accumulator."""
        raise RuntimeError("Method get_accumulator_type is not implemented")


class AggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """From many rows to a value."""

    @abstractmethod
    def get_value(self, accumulator: ACC) -> T:
        """Return the result for an accumulator."""


class TableAggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """From many rows to rows."""

    @abstractmethod
    def emit_value(self, accumulator: ACC) -> Iterable[T]:
        """Give the result rows for an accumulator."""


class DelegatingScalarFunction(ScalarFunction):
    """A plain function as a scalar function."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def eval(self, *args: Any) -> Any:
        return self.func(*args)


class DelegatingAsyncScalarFunction(AsyncScalarFunction):
    """A coroutine function as an asynchronous scalar function."""

    def __init__(self, func: Callable[..., Awaitable[Any]]) -> None:
        self.func = func

    async def eval(self, *args: Any) -> Any:
        return await self.func(*args)


class DelegationTableFunction(TableFunction):
    """A plain function as a table function."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def eval(self, *args: Any) -> Any:
        return self.func(*args)


class DelegatingPandasAggregateFunction(AggregateFunction[Any, list[Any]]):
    """A plain function of pandas.Series as an aggregate function, called once with all rows."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[0]

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.append(self.func(*args))


class PandasAggregateFunctionWrapper:
    """An aggregate function of pandas.Series with the methods of a scalar one."""

    def __init__(self, func: AggregateFunction[Any, Any]) -> None:
        self.func = func

    def open(self, function_context: FunctionContext) -> None:
        self.func.open(function_context)

    def eval(self, *args: Any) -> Any:
        accumulator = self.func.create_accumulator()
        self.func.accumulate(accumulator, *args)
        return self.func.get_value(accumulator)

    def close(self) -> None:
        self.func.close()
