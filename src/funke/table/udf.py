"""Functions that users write for tables, and the decorators that make them callable in expressions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from funke.engine.operators.functions.table_functions import (
    ACC,
    AggregateFunction,
    AsyncScalarFunction,
    DelegatingAsyncScalarFunction,
    DelegatingPandasAggregateFunction,
    DelegatingScalarFunction,
    DelegationTableFunction,
    FunctionContext,
    ImperativeAggregateFunction,
    PandasAggregateFunctionWrapper,
    ScalarFunction,
    T,
    TableAggregateFunction,
    TableFunction,
    UserDefinedFunction,
)
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.user_function import FunctionKind, UserFunction
from funke.metrics import MetricGroup
from funke.table.expression import Expression
from funke.table.expression_members.call_arguments import named_arguments
from funke.table.flink_1.old_name_notes import note_old_name
from funke.table.types import DataType, MapType, RowType
from funke.util import java_utils

__all__ = [
    "FunctionContext",
    "AggregateFunction",
    "ScalarFunction",
    "TableFunction",
    "TableAggregateFunction",
    "AsyncScalarFunction",
    "udf",
    "udtf",
    "udaf",
    "udtaf",
    "ACC",
    "DataType",
    "DelegatingAsyncScalarFunction",
    "DelegatingPandasAggregateFunction",
    "DelegatingScalarFunction",
    "DelegationTableFunction",
    "Expression",
    "ImperativeAggregateFunction",
    "MetricGroup",
    "PandasAggregateFunctionWrapper",
    "T",
    "UserDefinedAggregateFunctionWrapper",
    "UserDefinedAsyncScalarFunctionWrapper",
    "UserDefinedFunction",
    "UserDefinedFunctionWrapper",
    "UserDefinedScalarFunctionWrapper",
    "UserDefinedTableFunctionWrapper",
    "java_utils",
]

Types = Iterable[DataType | str] | DataType | str | None


class UserDefinedFunctionWrapper:
    """A user function with its types; calling it makes an expression.

    >>> from funke.table import DataTypes
    >>> from funke.table.expressions import col
    >>> from funke.table.udf import UserDefinedFunctionWrapper, udf
    >>> double = udf(lambda x: 2 * x, result_type=DataTypes.BIGINT(), name="double")
    >>> isinstance(double, UserDefinedFunctionWrapper), str(double(col("a")))
    (True, 'double(a)')
    """

    _kind: FunctionKind = "scalar"

    def __init__(
        self, func: Any, input_types: Types, func_type: str, deterministic: bool | None = None, name: str | None = None
    ) -> None:
        is_function_object = isinstance(func, UserDefinedFunction)
        if inspect.isclass(func) or not (is_function_object or callable(func)):
            raise TypeError(f"Invalid function: not a function or callable (__call__ is not defined): {type(func)}")
        if deterministic is not None and is_function_object and deterministic != func.is_deterministic():
            raise ValueError(f"Inconsistent deterministic: {deterministic} and {func.is_deterministic()}")
        self._func = func
        self._input_types = None if input_types is None else _type_list(input_types, "input_type")
        self._name = name or str(getattr(func, "__name__", type(func).__name__))
        own_answer = func.is_deterministic() if is_function_object else True
        self._deterministic: bool = own_answer if deterministic is None else deterministic
        self._func_type = func_type
        self._takes_row_as_input = False
        self._alias_names: tuple[str, ...] = ()

    def __call__(self, *args: Any) -> Expression[Any]:
        """Make an expression that calls this function.

        >>> from funke.table import DataTypes
        >>> from funke.table.expressions import col
        >>> @udf(result_type=DataTypes.BIGINT())
        ... def double(x):
        ...     return 2 * x
        >>> str(double(col("a")))
        'double(a)'
        """
        arguments, names = named_arguments(args)
        call = syntax.Call(
            self._name.lower(), arguments, argument_names=names, path=(self._name,), function=self._to_user_function()
        )
        return Expression(call)

    def alias(self, *alias_names: str) -> UserDefinedFunctionWrapper:
        """Name the columns that this function gives (`Table.map`, `Table.flat_aggregate` and their kin)."""
        self._alias_names = alias_names
        return self

    def _set_takes_row_as_input(self) -> UserDefinedFunctionWrapper:
        self._takes_row_as_input = True
        return self

    def _on_row(self, row: syntax.Expression) -> Expression[Any]:
        """Make an expression that calls this function with a whole row as its only argument."""
        function = replace(self._to_user_function(), takes_row=True)
        return Expression(syntax.Call(self._name.lower(), (row,), path=(self._name,), function=function))

    def _to_user_function(self) -> UserFunction:
        """Return what the engine needs."""
        return UserFunction(
            name=self._name,
            kind=self._kind,
            function=self._function_object,
            input_types=None if self._input_types is None else tuple(self._input_types),
            result_types=self._all_result_types(),
            accumulator_type=self._type_of_accumulator(),
            is_deterministic=self._deterministic,
            is_pandas=self._func_type == "pandas",
            takes_row=self._takes_row_as_input,
        )

    @functools.cached_property
    def _function_object(self) -> UserDefinedFunction:
        """One for all calls: by it the engine sees that `f(a)` here and there are the same."""
        return self._func if isinstance(self._func, UserDefinedFunction) else self._create_delegate_function()

    def _create_delegate_function(self) -> UserDefinedFunction:
        raise NotImplementedError

    def _all_result_types(self) -> tuple[DataType | str, ...]:
        raise NotImplementedError

    def _type_of_accumulator(self) -> DataType | str | None:
        return None


class UserDefinedScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A scalar function with its types.

    >>> from funke.table import DataTypes
    >>> from funke.table.udf import UserDefinedScalarFunctionWrapper, udf
    >>> isinstance(udf(str.upper, result_type=DataTypes.STRING()), UserDefinedScalarFunctionWrapper)
    True
    """

    def __init__(
        self,
        func: Any,
        input_types: Types,
        result_type: DataType | str | None,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        super().__init__(func, input_types, func_type, deterministic, name)
        self._result_type = _result_type(result_type)

    def _create_delegate_function(self) -> UserDefinedFunction:
        return DelegatingScalarFunction(self._func)

    def _all_result_types(self) -> tuple[DataType | str, ...]:
        return (self._result_type,)


class UserDefinedAsyncScalarFunctionWrapper(UserDefinedScalarFunctionWrapper):
    """An asynchronous scalar function with its types.

    >>> from funke.table import DataTypes
    >>> from funke.table.udf import UserDefinedAsyncScalarFunctionWrapper, udf
    >>> @udf(result_type=DataTypes.INT())
    ... async def price(item):
    ...     return len(item)
    >>> isinstance(price, UserDefinedAsyncScalarFunctionWrapper)
    True
    """

    _kind = "async scalar"

    def _create_delegate_function(self) -> UserDefinedFunction:
        return DelegatingAsyncScalarFunction(self._func)


class UserDefinedTableFunctionWrapper(UserDefinedFunctionWrapper):
    """A table function with its types.

    >>> from funke.table import DataTypes
    >>> from funke.table.udf import UserDefinedTableFunctionWrapper, udtf
    >>> isinstance(udtf(str.split, result_types=DataTypes.STRING()), UserDefinedTableFunctionWrapper)
    True
    """

    _kind = "table"

    def __init__(
        self,
        func: Any,
        input_types: Types,
        result_types: Types,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(func, input_types, "general", deterministic, name)
        # A text is kept whole: `ROW<a INT, b STRING>` names several columns.
        self._result_types = result_types if isinstance(result_types, str) else _type_list(result_types, "result_type")

    def _create_delegate_function(self) -> UserDefinedFunction:
        return DelegationTableFunction(self._func)

    def _all_result_types(self) -> tuple[DataType | str, ...]:
        return (self._result_types,) if isinstance(self._result_types, str) else tuple(self._result_types)


class UserDefinedAggregateFunctionWrapper(UserDefinedFunctionWrapper):
    """An aggregate or table aggregate function with its types.

    >>> from funke.table import DataTypes
    >>> from funke.table.udf import UserDefinedAggregateFunctionWrapper, udaf
    >>> mean = udaf(lambda values: values.mean(), result_type=DataTypes.DOUBLE(), func_type="pandas")
    >>> isinstance(mean, UserDefinedAggregateFunctionWrapper)
    True
    """

    def __init__(
        self,
        func: Any,
        input_types: Types,
        result_type: DataType | str | None,
        accumulator_type: DataType | str | None,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
        is_table_aggregate: bool = False,
    ) -> None:
        super().__init__(func, input_types, func_type, deterministic, name)
        if accumulator_type is None and func_type == "general":
            accumulator_type = func.get_accumulator_type()
        self._result_type = _result_type(func.get_result_type() if result_type is None else result_type)
        self._accumulator_type = accumulator_type
        self._is_table_aggregate = is_table_aggregate
        self._kind = "table aggregate" if is_table_aggregate else "aggregate"
        self._check_types()

    def _check_types(self) -> None:
        if self._func_type == "pandas":
            if isinstance(self._result_type, MapType):
                raise TypeError(
                    f"Invalid returnType: Pandas UDAF doesn't support DataType type {self._result_type} currently"
                )
        elif isinstance(self._result_type, DataType) and not isinstance(self._accumulator_type, DataType):
            _require_type(self._accumulator_type, "accumulator_type")
            raise TypeError("result_type and accumulator_type should be DataType or str at the same time.")
        if self._accumulator_type is not None:
            _require_type(self._accumulator_type, "accumulator_type")

    def _create_delegate_function(self) -> UserDefinedFunction:
        if self._func_type != "pandas":
            raise AssertionError(
                f"the aggregate function {self._name!r} must extend AggregateFunction; "
                "a plain function can only be one with func_type='pandas'"
            )
        return DelegatingPandasAggregateFunction(self._func)

    def _all_result_types(self) -> tuple[DataType | str, ...]:
        return (self._result_type,)

    def _type_of_accumulator(self) -> DataType | str | None:
        return self._accumulator_type


def udf(
    f: Any = None,
    input_types: Types = None,
    result_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    udf_type: str | None = None,
) -> Any:
    """Make a scalar function of a function, a coroutine function or a ScalarFunction; also a decorator.

    With `func_type="pandas"` it takes and gives pandas.Series, a batch at a time; Flink 1.11 called it `udf_type`.

    >>> from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col
    >>> from funke.table.udf import udf
    >>> @udf(result_type=DataTypes.BIGINT())
    ... def double(x):
    ...     return 2 * x
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> numbers = t_env.from_elements([(21,)], ["x"])
    >>> list(numbers.select(double(col("x"))).execute().collect())
    [<Row(42)>]
    """
    if udf_type is not None:
        note_old_name("udf_type")
        func_type = udf_type
    _require_func_type(func_type)
    if f is None:
        return functools.partial(
            _create_udf,
            input_types=input_types,
            result_type=result_type,
            func_type=func_type,
            deterministic=deterministic,
            name=name,
        )
    return _create_udf(f, input_types, result_type, func_type, deterministic, name)


def udtf(
    f: Any = None,
    input_types: Types = None,
    result_types: Types = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """Make a table function of a function or a TableFunction; also a decorator.

    >>> from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
    >>> from funke.table.udf import udtf
    >>> @udtf(result_types=[DataTypes.STRING(), DataTypes.INT()])
    ... def words(line):
    ...     for word in line.split():
    ...         yield word, len(word)
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> t_env.create_temporary_function("words", words)
    >>> t_env.create_temporary_view("texts", t_env.from_elements([("to be",)], ["line"]))
    >>> query = "SELECT word, size FROM texts, LATERAL TABLE(words(line)) AS t (word, size)"
    >>> list(t_env.sql_query(query).execute().collect())
    [<Row('to', 2)>, <Row('be', 2)>]
    """
    if f is None:
        return functools.partial(
            UserDefinedTableFunctionWrapper,
            input_types=input_types,
            result_types=result_types,
            deterministic=deterministic,
            name=name,
        )
    return UserDefinedTableFunctionWrapper(f, input_types, result_types, deterministic, name)


def udaf(
    f: Any = None,
    input_types: Types = None,
    result_type: DataType | str | None = None,
    accumulator_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Make an aggregate function of an AggregateFunction, or of a function of pandas.Series; also a decorator.

    >>> from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
    >>> from funke.table.expressions import col
    >>> from funke.table.udf import udaf
    >>> @udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
    ... def mean(values):
    ...     return values.mean()
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    >>> readings = t_env.from_elements([("a", 3), ("a", 4)], ["sensor", "value"])
    >>> means = readings.group_by(col("sensor")).select(col("sensor"), mean(col("value")).alias("mean"))
    >>> str(mean(col("value"))), means.get_schema().get_field_data_type("mean")
    ('mean(value)', DoubleType(true))
    """
    _require_func_type(func_type)
    if f is None:
        return functools.partial(
            UserDefinedAggregateFunctionWrapper,
            input_types=input_types,
            result_type=result_type,
            accumulator_type=accumulator_type,
            func_type=func_type,
            deterministic=deterministic,
            name=name,
        )
    return UserDefinedAggregateFunctionWrapper(
        f, input_types, result_type, accumulator_type, func_type, deterministic, name
    )


def udtaf(
    f: Any = None,
    input_types: Types = None,
    result_type: DataType | str | None = None,
    accumulator_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Make a table aggregate function of a TableAggregateFunction; also a decorator.

    >>> from funke.common import Row
    >>> from funke.table import DataTypes
    >>> from funke.table.expressions import col
    >>> from funke.table.udf import TableAggregateFunction, udtaf
    >>> class Both(TableAggregateFunction):
    ...     def create_accumulator(self):
    ...         return [0, 0]
    ...     def accumulate(self, accumulator, value):
    ...         accumulator[:] = [min(accumulator[0], value), max(accumulator[1], value)]
    ...     def emit_value(self, accumulator):
    ...         yield from (Row(value) for value in accumulator)
    >>> row_type = DataTypes.ROW([DataTypes.FIELD("value", DataTypes.BIGINT())])
    >>> both = udtaf(Both(), result_type=row_type, accumulator_type=DataTypes.ARRAY(DataTypes.BIGINT()), name="both")
    >>> str(both(col("value")))  # for GroupedTable.flat_aggregate()
    'both(value)'
    """
    if func_type != "general":
        raise ValueError(f"The func_type must be 'general', got {func_type}.")
    if f is None:
        return functools.partial(
            UserDefinedAggregateFunctionWrapper,
            input_types=input_types,
            result_type=result_type,
            accumulator_type=accumulator_type,
            func_type=func_type,
            deterministic=deterministic,
            name=name,
            is_table_aggregate=True,
        )
    return UserDefinedAggregateFunctionWrapper(
        f, input_types, result_type, accumulator_type, func_type, deterministic, name, True
    )


def _create_udf(
    f: Any,
    input_types: Types,
    result_type: DataType | str | None,
    func_type: str,
    deterministic: bool | None,
    name: str | None,
) -> UserDefinedFunctionWrapper:
    if not (isinstance(f, AsyncScalarFunction) or inspect.iscoroutinefunction(f)):
        return UserDefinedScalarFunctionWrapper(f, input_types, result_type, func_type, deterministic, name)
    if func_type == "pandas":
        raise ValueError(
            "Async scalar functions do not support pandas func_type. "
            "Please use func_type='general' (default) for async functions."
        )
    return UserDefinedAsyncScalarFunctionWrapper(f, input_types, result_type, func_type, deterministic, name)


def _require_func_type(func_type: str) -> None:
    if func_type not in ("general", "pandas"):
        raise ValueError(f"The func_type must be one of 'general, pandas', got {func_type}.")


def _type_list(types: Types, what: str) -> list[DataType | str]:
    """Return types as a list: those of a row's fields, one alone, or several."""
    if types is None:
        raise TypeError(f"{what}s are needed: a DataType or str, or a list of them")
    if isinstance(types, RowType):
        return [*types.field_types()]
    listed = [types] if isinstance(types, DataType | str) else list(types)
    for each in listed:
        if not isinstance(each, DataType | str):
            raise TypeError(f"Invalid {what}: {what} should be DataType or str but contains {each}")
    return listed


def _result_type(result_type: DataType | str | None) -> DataType | str:
    if not isinstance(result_type, DataType | str):
        raise TypeError(f"Invalid returnType: returnType should be DataType or str but is {result_type}")
    return result_type


def _require_type(data_type: Any, what: str) -> None:
    if not isinstance(data_type, DataType | str):
        raise TypeError(f"Invalid {what}: {what} should be DataType or str but is {data_type}")
