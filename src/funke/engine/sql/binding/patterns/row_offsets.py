"""PREV and NEXT: columns of a row before or behind a row of the match, in the order of its partition.

They are LAG and LEAD over the rows of the pattern, so that they also see rows that are part of no match.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

from funke.engine.errors import SqlValidationError, UnsupportedFeatureError
from funke.engine.sql.binding.patterns.match_patterns import names_in
from funke.engine.sql.binding.scope import rejected
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.types.logical.atomic_types import IntType

__all__ = ["offset_of", "with_children", "with_row_offsets", "without_variables"]

_FUNCTIONS = {"prev": "lag", "next": "lead"}


def with_row_offsets(match: queries.Pattern, is_streaming: bool) -> tuple[queries.Pattern, int]:
    """The pattern over rows with a column for each PREV and NEXT, and the number of these columns."""
    offsets = _Offsets({*names_in(match.pattern), *(name for name, _ in match.subsets)}, is_streaming)
    definitions = tuple((name, offsets.replaced(each)) for name, each in match.definitions)
    measures = tuple(offsets.replaced(each) for each in match.measures)
    if not offsets.columns:
        return replace(match, definitions=definitions, measures=measures), 0
    if is_streaming and len(match.order_by) > 1:
        raise UnsupportedFeatureError("PREV in MATCH_RECOGNIZE over a stream with several columns in ORDER BY")
    window = syntax.OverWindow(match.partition_by, match.order_by)
    columns = tuple(syntax.Alias(replace(call, over=window), (name,)) for call, name in offsets.columns.items())
    path = match.input.path if isinstance(match.input, queries.TableRef) else ("",)
    rows = queries.SubQuery(
        queries.Select((syntax.Star(), *columns), match.input), alias=match.input.alias or path[-1] or None
    )
    return replace(match, input=rows, definitions=definitions, measures=measures), len(columns)


class _Offsets:
    def __init__(self, variables: Container[str], is_streaming: bool) -> None:
        self._variables = variables
        self._is_streaming = is_streaming
        # LAG or LEAD of an expression, and the name of its column.
        self.columns: dict[syntax.Call, str] = {}

    def replaced(self, expression: syntax.Expression) -> syntax.Expression:
        """The expression with columns in place of PREV and NEXT."""
        if isinstance(expression, syntax.Call) and expression.name in _FUNCTIONS:
            return self._column(expression)
        return with_children(expression, self.replaced)

    def _column(self, call: syntax.Call) -> syntax.Expression:
        name = call.name.upper()
        offset = offset_of(call, 1)
        if name == "NEXT" and offset and self._is_streaming:
            raise UnsupportedFeatureError(
                "NEXT in MATCH_RECOGNIZE over a stream", "the next row has not come; use a variable behind it"
            )
        of_row = call.arguments[0]
        navigation = of_row if isinstance(of_row, syntax.Call) and of_row.name in ("first", "last") else None
        if navigation is not None:
            offset_of(navigation, 0)
            of_row = navigation.arguments[0]
        variables: set[str] = set()
        plain = without_variables(of_row, self._variables, variables)
        if len(variables) > 1:
            raise SqlValidationError(f"SQL validation failed. {name} must be applied to a single pattern variable")
        if not variables:
            raise rejected(f"{name} needs a column", call.position)
        column = of_row
        if offset:
            added = syntax.Call(_FUNCTIONS[call.name], (plain, syntax.Literal(offset, IntType(False))))
            (variable,) = variables
            own = self.columns.setdefault(added, f"${call.name}{len(self.columns)}")
            column = syntax.Name((variable, own) if variable else (own,), position=call.position)
        return column if navigation is None else replace(navigation, arguments=(column, *navigation.arguments[1:]))


def offset_of(call: syntax.Call, default: int) -> int:
    """The offset of FIRST, LAST, PREV or NEXT."""
    if not 1 <= len(call.arguments) <= 2:
        raise rejected(f"{call.name.upper()} needs an expression, and maybe an offset", call.position)
    if len(call.arguments) == 1:
        return default
    literal = call.arguments[1]
    if not isinstance(literal, syntax.Literal) or not isinstance(literal.value, int) or literal.value < 0:
        raise rejected(f"{call.name.upper()} needs a constant offset that is not negative", call.position)
    return literal.value


def without_variables(expression: syntax.Expression, variables: Container[str], in_use: set[str]) -> syntax.Expression:
    """An expression on single rows. The variables of its columns are added to `in_use`, "" for a column without one."""
    if not isinstance(expression, syntax.Name):
        return with_children(expression, lambda each: without_variables(each, variables, in_use))
    if len(expression.parts) == 1 or expression.parts[0] not in variables:
        in_use.add("")
        return expression
    in_use.add(expression.parts[0])
    return syntax.Name(expression.parts[1:], position=expression.position, positions=expression.positions[1:])


def with_children(
    expression: syntax.Expression, change: Callable[[syntax.Expression], syntax.Expression]
) -> syntax.Expression:
    """The same expression of changed operands."""
    if isinstance(expression, syntax.Call):
        return replace(expression, arguments=tuple(map(change, expression.arguments)))
    if isinstance(expression, (syntax.Cast, syntax.Alias)):
        return replace(expression, operand=change(expression.operand))
    if isinstance(expression, syntax.Case):
        branches = tuple((change(condition), change(result)) for condition, result in expression.branches)
        operand = None if expression.operand is None else change(expression.operand)
        otherwise = None if expression.otherwise is None else change(expression.otherwise)
        return replace(expression, operand=operand, branches=branches, otherwise=otherwise)
    return expression
