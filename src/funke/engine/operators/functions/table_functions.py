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
    """What a function learns in `open()` about where it runs.

    >>> from funke.table import DataTypes
    >>> from funke.table.udf import FunctionContext, ScalarFunction, udf
    >>> class Greet(ScalarFunction):
    ...     def open(self, function_context: FunctionContext):
    ...         self.greeting = function_context.get_job_parameter("greeting", "Hello")
    ...     def eval(self, name):
    ...         return f"{self.greeting}, {name}"
    >>> greet = udf(Greet(), result_type=DataTypes.STRING())
    >>> function = Greet()
    >>> function.open(FunctionContext(None, {"greeting": "Welcome"}))  # a job does this
    >>> function.eval("Ada")
    'Welcome, Ada'
    """

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
    """Base of all functions for tables.

    >>> from funke.table.udf import AggregateFunction, ScalarFunction, TableFunction, UserDefinedFunction
    >>> [issubclass(each, UserDefinedFunction) for each in (ScalarFunction, TableFunction, AggregateFunction)]
    [True, True, True]
    """

    def open(self, function_context: FunctionContext) -> None:
        """Prepare for work; called once before the first row."""

    def close(self) -> None:
        """Clean up; called after the last row."""

    def is_deterministic(self) -> bool:
        """Tell whether equal arguments always give equal results."""
        return True


class ScalarFunction(UserDefinedFunction):
    """From values to a value.

    >>> from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col
    >>> from funke.table.udf import ScalarFunction, udf
    >>> class Price(ScalarFunction):
    ...     def open(self, function_context):
    ...         self.prices = {"tea": 3, "milk": 1}
    ...     def eval(self, item):
    ...         return self.prices.get(item)
    >>> price = udf(Price(), result_type=DataTypes.INT())
    >>> items = TableEnvironment.create(EnvironmentSettings.in_streaming_mode()).from_elements([("tea",)], ["item"])
    >>> list(items.select(col("item"), price(col("item"))).execute().collect())
    [<Row('tea', 3)>]
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Return the result for one row."""


class AsyncScalarFunction(UserDefinedFunction):
    """From values to a value, with many rows under way at the same time.

    >>> from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col
    >>> from funke.table.udf import AsyncScalarFunction, udf
    >>> class Price(AsyncScalarFunction):
    ...     async def eval(self, item):
    ...         return len(item)  # here `await` asks a server
    >>> price = udf(Price(), result_type=DataTypes.INT())
    >>> items = TableEnvironment.create(EnvironmentSettings.in_streaming_mode()).from_elements([("tea",)], ["item"])
    >>> list(items.select(price(col("item"))).execute().collect())
    [<Row(3)>]
    """

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """Return the result for one row."""


class TableFunction(UserDefinedFunction):
    """From values to rows.

    >>> from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col
    >>> from funke.table.udf import TableFunction, udtf
    >>> class Split(TableFunction):
    ...     def eval(self, line):
    ...         yield from line.split()
    >>> split = udtf(Split(), result_types=DataTypes.STRING())
    >>> lines = TableEnvironment.create(EnvironmentSettings.in_streaming_mode()).from_elements([("to be",)], ["line"])
    >>> words = lines.join_lateral(split(col("line")).alias("word")).select(col("word"))
    >>> list(words.execute().collect())
    [<Row('to')>, <Row('be')>]
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Give the rows for one row: as an iterator, a list, or one row alone."""


class ImperativeAggregateFunction(UserDefinedFunction, Generic[T, ACC]):
    """From many rows to one or several, by way of an accumulator that each row changes.

    >>> from funke.table.udf import AggregateFunction, ImperativeAggregateFunction, TableAggregateFunction
    >>> [issubclass(each, ImperativeAggregateFunction) for each in (AggregateFunction, TableAggregateFunction)]
    [True, True]
    """

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
    """From many rows to a value.

    >>> from funke.table import AggregateFunction, DataTypes, EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col
    >>> from funke.table.udf import udaf
    >>> class Mean(AggregateFunction):
    ...     def create_accumulator(self):
    ...         return [0, 0]
    ...     def accumulate(self, accumulator, value):
    ...         accumulator[0] += value
    ...         accumulator[1] += 1
    ...     def get_value(self, accumulator):
    ...         return accumulator[0] / accumulator[1] if accumulator[1] else None
    >>> mean = udaf(Mean(), result_type=DataTypes.DOUBLE(), accumulator_type=DataTypes.ARRAY(DataTypes.BIGINT()))
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> readings = t_env.from_elements([("a", 3), ("a", 9), ("a", 3)], ["sensor", "value"])
    >>> means = readings.group_by(col("sensor")).select(col("sensor"), mean(col("value")))
    >>> list(means.execute().collect())[-1]  # after all rows
    <Row('a', 5.0)>
    """

    @abstractmethod
    def get_value(self, accumulator: ACC) -> T:
        """Return the result for an accumulator."""


class TableAggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """From many rows to rows.

    >>> from funke.common import Row
    >>> from funke.table import DataTypes, EnvironmentSettings, TableAggregateFunction, TableEnvironment
    >>> from funke.table.expressions import col
    >>> from funke.table.udf import udtaf
    >>> class TopTwo(TableAggregateFunction):
    ...     def create_accumulator(self):
    ...         return []
    ...     def accumulate(self, accumulator, value):
    ...         accumulator[:] = sorted([*accumulator, value], reverse=True)[:2]
    ...     def emit_value(self, accumulator):
    ...         for value in accumulator:
    ...             yield Row(value)
    ...     def get_result_type(self):
    ...         return DataTypes.ROW([DataTypes.FIELD("top", DataTypes.BIGINT())])
    ...     def get_accumulator_type(self):
    ...         return DataTypes.ARRAY(DataTypes.BIGINT())
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> grouped = t_env.from_elements([("a", 3), ("a", 9)], ["sensor", "value"]).group_by(col("sensor"))
    >>> top = grouped.flat_aggregate(udtaf(TopTwo())(col("value")).alias("top")).select(col("sensor"), col("top"))
    >>> top.get_schema().get_field_names()
    ['sensor', 'top']
    """

    @abstractmethod
    def emit_value(self, accumulator: ACC) -> Iterable[T]:
        """Give the result rows for an accumulator."""


class DelegatingScalarFunction(ScalarFunction):
    """A plain function as a scalar function.

    >>> from funke.table.udf import DelegatingScalarFunction
    >>> DelegatingScalarFunction(str.upper).eval("tea")  # what udf() makes of a function
    'TEA'
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def eval(self, *args: Any) -> Any:
        return self.func(*args)


class DelegatingAsyncScalarFunction(AsyncScalarFunction):
    """A coroutine function as an asynchronous scalar function.

    >>> import asyncio
    >>> from funke.table.udf import DelegatingAsyncScalarFunction
    >>> async def price(item):
    ...     return len(item)
    >>> asyncio.run(DelegatingAsyncScalarFunction(price).eval("tea"))  # what udf() makes of a coroutine function
    3
    """

    def __init__(self, func: Callable[..., Awaitable[Any]]) -> None:
        self.func = func

    async def eval(self, *args: Any) -> Any:
        return await self.func(*args)


class DelegationTableFunction(TableFunction):
    """A plain function as a table function.

    >>> from funke.table.udf import DelegationTableFunction
    >>> DelegationTableFunction(str.split).eval("to be")  # what udtf() makes of a function
    ['to', 'be']
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def eval(self, *args: Any) -> Any:
        return self.func(*args)


class DelegatingPandasAggregateFunction(AggregateFunction[Any, list[Any]]):
    """A plain function of pandas.Series as an aggregate function, called once with all rows.

    >>> import pandas as pd
    >>> from funke.table.udf import DelegatingPandasAggregateFunction
    >>> mean = DelegatingPandasAggregateFunction(lambda values: values.mean())  # what udaf(func_type="pandas") makes
    >>> accumulator = mean.create_accumulator()
    >>> mean.accumulate(accumulator, pd.Series([1, 2, 3]))
    >>> float(mean.get_value(accumulator))
    2.0
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[0]

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.append(self.func(*args))


class PandasAggregateFunctionWrapper:
    """An aggregate function of pandas.Series with the methods of a scalar one.

    >>> import pandas as pd
    >>> from funke.table.udf import DelegatingPandasAggregateFunction, PandasAggregateFunctionWrapper
    >>> mean = PandasAggregateFunctionWrapper(DelegatingPandasAggregateFunction(lambda values: values.mean()))
    >>> float(mean.eval(pd.Series([1, 2, 3])))
    2.0
    """

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
