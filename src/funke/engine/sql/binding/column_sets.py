"""Rewrites expressions that only the Table API has, such as sets of columns and flattened rows, to those of SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from funke.engine.errors import FunkeError, did_you_mean
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.parsing import parse_expression
from funke.engine.sql.parsing.literals import string_literal
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.text_form import DEFINITION_NAMES
from funke.engine.types.logical import CharType, DataType, DataTypes, RowType, VarCharType, to_sql_text

__all__ = ["ColumnSets"]


@dataclass(frozen=True)
class ColumnSets:
    """Writes out the expressions of one call of the Table API.

    `other_names` are names of windows, which are not columns. Types are computed only where a row is flattened, and
    where `+` may join texts.
    """

    columns: Sequence[Column]
    type_of: Callable[[syntax.Expression], DataType]
    other_names: frozenset[str] = frozenset()
    # Whether a user function hides the built-in function of the same name.
    is_user_function: Callable[[str], bool] = lambda name: False

    def written_out(self, expression: syntax.Expression) -> syntax.Expression:
        """An expression that stands for one value."""
        several = self.all_written_out([expression])
        if len(several) != 1:
            raise ValidationException(f"one column was expected, got {len(several)}")
        return several[0]

    def all_written_out(self, expressions: Iterable[syntax.Expression]) -> list[syntax.Expression]:
        """Expressions that may stand for several columns each."""
        return [each for expression in expressions for each in self._parts_of(expression)]

    def named(self, expressions: Iterable[syntax.Expression]) -> tuple[syntax.Expression, ...]:
        """The same for the columns of a result: those without a name get Flink's, and no name occurs twice."""
        items = self.with_names(expressions)
        names = [name for name, _ in items]
        twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
        if twice is not None:
            raise ValidationException(f"Ambiguous column name: {twice}")
        return tuple(item for _, item in items)

    def with_names(
        self, expressions: Iterable[syntax.Expression], first: int = 0
    ) -> list[tuple[str, syntax.Expression]]:
        """The columns of a result with their names; numbers in names that Flink makes up begin with `first`."""
        items: list[tuple[str, syntax.Expression]] = []
        for expression in expressions:
            # As in Flink `call_sql("b")` has no name of its own, although the text is the name of a column.
            is_text = isinstance(expression, syntax.Call) and expression.name == "call_sql"
            for each in self._parts_of(expression):
                derived = None if is_text else _derived_name(each)
                item = _with_name(each, derived or f"_c{first + len(items)}")
                items.append((_name_of(item), item))
        return items

    def _parts_of(self, expression: syntax.Expression) -> list[syntax.Expression]:
        if isinstance(expression, syntax.Star) or expression == _STAR_NAME:
            return [syntax.Name((column.name,)) for column in self.columns]
        if isinstance(expression, syntax.Name):
            self._require(expression)
            return [expression]
        if not isinstance(expression, syntax.Call):
            return [self._rebuilt(expression)]
        if expression.name == "with_columns":
            return self._names(self._positions(expression))
        if expression.name == "without_columns":
            left_out = set(self._positions(expression))
            return self._names(index for index in range(len(self.columns)) if index not in left_out)
        if expression.name == "call_sql":
            (text,) = expression.arguments
            assert isinstance(text, syntax.Literal)
            return self._parts_of(parse_expression(text.value))
        if expression.name == "flatten":
            return self._flattened(self.written_out(expression.arguments[0]))
        definition_name = DEFINITION_NAMES.get(expression.name)
        if (
            definition_name is not None
            and not expression.path
            and expression.function is None
            and self.is_user_function(definition_name)
        ):
            # As in Flink: a temporary system function `plus` is what `+` of the Table API calls.
            return [self._rebuilt(replace(expression, name=definition_name.lower(), path=(definition_name,)))]
        rebuilt = self._rebuilt(expression)
        return [self._concatenated(rebuilt) if expression.name == "+" else rebuilt]

    def _concatenated(self, plus: syntax.Call) -> syntax.Expression:
        """Unlike in SQL, `+` concatenates a string with any value."""
        if len(plus.arguments) != 2 or not self._is_text(plus.arguments[0]):
            return plus
        left, right = plus.arguments
        return syntax.Call("concat", (left, right if self._is_text(right) else syntax.Cast(right, DataTypes.STRING())))

    def _is_text(self, expression: syntax.Expression) -> bool:
        try:
            return isinstance(self.type_of(expression), (CharType, VarCharType))
        except FunkeError:
            # Aggregates have no type before their rows are grouped. Errors are reported when the query is bound.
            return False

    def _rebuilt(self, expression: syntax.Expression) -> Any:
        """The same node with everything in it written out."""
        changes = {each.name: self._changed(getattr(expression, each.name)) for each in fields(expression)}
        return replace(expression, **changes)

    def _changed(self, value: Any) -> Any:
        if isinstance(value, syntax.Expression):
            return self.written_out(value)
        if isinstance(value, tuple) and value and all(isinstance(each, syntax.Expression) for each in value):
            return tuple(self.all_written_out(value))
        return tuple(map(self._changed, value)) if isinstance(value, tuple) else value

    def _flattened(self, operand: syntax.Expression) -> list[syntax.Expression]:
        data_type = self.type_of(operand)
        if not isinstance(data_type, RowType):
            return [operand]
        return [syntax.Call("get", (operand, string_literal(name))) for name in data_type.names]

    def _positions(self, call: syntax.Call) -> list[int]:
        return [index for argument in call.arguments for index in self._positions_of(argument)]

    def _positions_of(self, argument: syntax.Expression) -> Sequence[int]:
        if isinstance(argument, syntax.Call) and argument.name == "range":
            first, last = map(self._position, argument.arguments)
            if first > last:
                raise ValidationException(f"The start:{first + 1} of range should not bigger than the end:{last + 1}.")
            return range(first, last + 1)
        if isinstance(argument, syntax.Star) or argument == _STAR_NAME:
            return range(len(self.columns))
        return [self._position(argument)]

    def _position(self, argument: syntax.Expression) -> int:
        """The index of a column that was given by its name, or by its number from 1."""
        if isinstance(argument, syntax.Literal) and isinstance(argument.value, int):
            if not 1 <= argument.value <= len(self.columns):
                raise ValidationException(
                    f"the number of a column is between 1 and {len(self.columns)}, got {argument.value}"
                )
            return argument.value - 1
        if not isinstance(argument, syntax.Name):
            raise ValidationException("columns are given by their names, their numbers or range_()")
        self._require(argument)
        return [column.name for column in self.columns].index(argument.parts[0])

    def _names(self, positions: Iterable[int]) -> list[syntax.Expression]:
        return [syntax.Name((self.columns[index].name,)) for index in positions]

    def _require(self, name: syntax.Name) -> None:
        names = [column.name for column in self.columns]
        if name.parts[0] not in names and name.parts[0] not in self.other_names:
            hint = did_you_mean(name.parts[0], names, begin=" Did")
            raise ValidationException(
                f"Cannot resolve field [{name.parts[0]}], input field list:[{', '.join(names)}].{hint}"
            )


_STAR_NAME = syntax.Name(("*",))


def _with_name(expression: syntax.Expression, name: str) -> syntax.Expression:
    is_named = isinstance(expression, syntax.Alias) or (
        isinstance(expression, syntax.Name) and expression.parts[-1] == name
    )
    return expression if is_named else syntax.Alias(expression, (name,))


# `a.cast(INT)` is `a-INT`, `r.get("x")` is `r$x`; other expressions are `_c0`, `_c1` … by their index.
def _derived_name(expression: syntax.Expression) -> str | None:
    """The name that Flink gives to columns, their fields, and casts of both."""
    if isinstance(expression, syntax.Name):
        return expression.parts[-1]
    if isinstance(expression, syntax.Cast):
        inner = _derived_name(expression.operand)
        return None if inner is None else f"{inner}-{to_sql_text(expression.type)}"
    if isinstance(expression, syntax.Call) and expression.name == "get":
        row, field = expression.arguments
        inner = _derived_name(row)
        if inner is not None and isinstance(field, syntax.Literal):
            return f"{inner}${field.value if isinstance(field.value, str) else f'_{field.value}'}"
    return None


def _name_of(item: syntax.Expression) -> str:
    if isinstance(item, syntax.Alias):
        return item.names[0]
    assert isinstance(item, syntax.Name)
    return item.parts[-1]
