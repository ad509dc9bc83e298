"""A user function for the binder: its kind, its argument types, its result type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from funke.engine.types.logical.data_type import DataType

__all__ = ["FunctionKind", "UserFunction"]

FunctionKind = Literal["scalar", "async scalar", "table", "aggregate", "table aggregate"]


@dataclass(frozen=True)
class UserFunction:
    """A function with `eval`, or with `accumulate` and its kin; types may be given as SQL texts."""

    name: str
    kind: FunctionKind
    # A UserDefinedFunction of funke.engine.operators.functions.table_functions.
    function: Any
    # None: whatever the call passes.
    input_types: tuple[DataType | str, ...] | None
    # Of a table function the types of its columns, or one text of a row type; of others one type.
    result_types: tuple[DataType | str, ...]
    accumulator_type: DataType | str | None = None
    is_deterministic: bool = True
    # It takes pandas.Series, a batch at a time.
    is_pandas: bool = False
    # It takes the whole row as one argument (`Table.map` and its kin).
    takes_row: bool = False
