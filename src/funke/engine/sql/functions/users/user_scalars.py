"""Scalar functions of users as functions of SQL: on values, on pandas.Series, and as coroutines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.functions.function import Body, BoundCall, Function, Kernel
from funke.engine.sql.functions.type_rules import always
from funke.engine.sql.functions.values import from_values, to_value, to_values
from funke.engine.sql.syntax.user_function import UserFunction
from funke.engine.sql.user_values import from_user_value, to_user_value
from funke.engine.types.logical import DataType, from_sql_text, to_column_type

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Datum
    from funke.engine.types.logical import SqlValue

__all__ = ["UserScalar", "as_scalar", "pandas_argument"]


@dataclass(frozen=True)
class UserScalar(Function):
    """A user function; its evaluator opens and closes `user.function`."""

    user: UserFunction | None = None

    @property
    def may_skip_repeats(self) -> bool:
        """False: a function of a user may count its calls."""
        return False

    @property
    def takes_row(self) -> bool:
        """Whether its only argument is a whole row, even if types were declared."""
        return self.user is not None and self.user.takes_row

    @property
    def input_types(self) -> tuple[DataType, ...] | None:
        """The types that its arguments are cast to; None if it takes them as they are."""
        assert self.user is not None
        declared = self.user.input_types
        return None if declared is None else tuple(map(_data_type, declared))


def as_scalar(user: UserFunction) -> UserScalar:
    """Return a user's scalar function as an SQL function."""
    if user.kind not in ("scalar", "async scalar"):
        raise UnsupportedFeatureError(f"the {user.kind} function '{user.name}' in an expression of rows")
    result = always(_data_type(user.result_types[0]))
    # Any arguments, or none; the function sees NULLs.
    return UserScalar(
        (user.name,),
        "any... |",
        result,
        body_for=_body,
        kernel_for=_kernel,
        is_strict=False,
        is_deterministic=user.is_deterministic,
        user=user,
    )


def _data_type(declared: DataType | str) -> DataType:
    return from_sql_text(declared) if isinstance(declared, str) else declared


def _user_of(call: BoundCall) -> UserFunction:
    assert isinstance(call.function, UserScalar) and call.function.user is not None
    return call.function.user


def _body(call: BoundCall) -> Body:
    user = _user_of(call)
    evaluate: Body = user.function.eval
    converts = [to_user_value(each) for each in call.types]
    # `eval` of an asynchronous function returns a coroutine, whose result comes later.
    to_result = None if user.kind == "async scalar" else from_user_value(call.result)
    if not any(converts) and to_result is None:
        return evaluate

    def converted(*values: SqlValue) -> SqlValue:
        result = evaluate(*(each if convert is None else convert(each) for convert, each in zip(converts, values)))
        return result if to_result is None else to_result(result)

    return converted


def _kernel(call: BoundCall) -> Kernel | None:
    if _user_of(call).is_pandas:
        return _pandas_kernel(call)
    return _async_kernel(call) if _user_of(call).kind == "async scalar" else None


def _pandas_kernel(call: BoundCall) -> Kernel:
    import pandas as pd

    user = _user_of(call)
    arrow_type = to_column_type(call.result)

    # As in PyFlink a pandas function never gets more than `python.fn-execution.arrow.batch.size` rows at once.
    most = call.session.pandas_rows

    def evaluate(*columns: Datum) -> pa.Array:
        length = next((len(each) for each in columns if not isinstance(each, pa.Scalar)), None)
        if length is None or length <= most:
            return evaluate_part(length, *columns)
        parts = [
            evaluate_part(
                min(most, length - start),
                *(each if isinstance(each, pa.Scalar) else each.slice(start, most) for each in columns),
            )
            for start in range(0, length, most)
        ]
        return pa.concat_arrays(parts)

    def evaluate_part(length: int | None, *columns: Datum) -> pa.Array:
        result = user.function.eval(*(pandas_argument(each, user.takes_row) for each in columns))
        if not isinstance(result, (pd.Series, pd.DataFrame)):
            raise TypeError(
                f"The result type of Pandas UDF '{user.name}' must be pandas.Series or pandas.DataFrame, "
                f"got {type(result)}"
            )
        if length is not None and len(result) != length:
            raise ValueError(
                f"The result length '{len(result)}' of Pandas UDF '{user.name}' is not equal to the input length "
                f"'{length}'."
            )
        return _from_pandas(result, arrow_type)

    return evaluate


def pandas_argument(column: Datum, is_whole_row: bool) -> Any:
    """A column for pandas: a row is a DataFrame, a constant itself.

    As in PyFlink, in a whole row (`Table.map` and its kin) the fields of rows stand beside the other columns.
    """
    if isinstance(column, pa.Scalar):
        return column.as_py()
    if not pa.types.is_struct(column.type):
        return column.to_pandas()
    table = pa.Table.from_struct_array(column)
    if not is_whole_row or not any(pa.types.is_struct(each.type) for each in table.schema):
        return table.to_pandas()
    fields = [each for name in table.column_names for each in _field_columns(name, table.column(name))]
    return pa.table([column for _, column in fields], [name for name, _ in fields]).to_pandas()


def _field_columns(name: str, column: pa.ChunkedArray) -> list[tuple[str, pa.ChunkedArray]]:
    if not pa.types.is_struct(column.type):
        return [(name, column)]
    return list(zip((each.name for each in column.type), column.flatten()))


def _from_pandas(result: Any, arrow_type: pa.DataType) -> pa.Array:
    if not pa.types.is_struct(arrow_type):
        return pa.Array.from_pandas(result, type=arrow_type, safe=False)
    # Several columns, by their indexes.
    parts = [pa.Array.from_pandas(result.iloc[:, index], type=each.type) for index, each in enumerate(arrow_type)]
    return pa.StructArray.from_arrays(parts, fields=list(arrow_type))


def _async_kernel(call: BoundCall) -> Kernel:
    body, types = _body(call), call.types

    def evaluate(*columns: Datum) -> pa.Array:
        length = next((len(each) for each in columns if not isinstance(each, pa.Scalar)), 1)
        rows = zip(*(_values(column, data_type, length) for column, data_type in zip(columns, types)))
        results = call.session.async_calls.results(body, rows if columns else [()])
        return from_values(results, call.result)

    return evaluate


def _values(column: Datum, data_type: DataType, length: int) -> Sequence[SqlValue]:
    if isinstance(column, pa.Scalar):
        return [to_value(column, data_type)] * length
    return to_values(column, data_type)
