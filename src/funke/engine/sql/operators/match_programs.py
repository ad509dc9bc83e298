"""Conditions of MATCH_RECOGNIZE as programs for the compiled loop, and what conditions and measures look up there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.kernels import aggregate_rows, match_rows
from funke.engine.sql.binding.expressions import BoundColumn, BoundConstant, BoundExpression, BoundFunction
from funke.engine.sql.functions.aggregates.counting import CountBody
from funke.engine.sql.functions.aggregates.extremes import ExtremeBody
from funke.engine.sql.functions.aggregates.number_columns import number_column
from funke.engine.sql.functions.aggregates.sums import SumBody
from funke.engine.sql.functions.casts.value_casts import BITS, value_cast
from funke.engine.sql.functions.comparison import compared_type
from funke.engine.sql.functions.function import Session
from funke.engine.types.logical import (
    INTEGRAL,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    LocalZonedTimestampType,
    TimestampType,
    to_column_type,
    with_nullable,
)

if TYPE_CHECKING:
    from funke.engine.sql.binding.patterns.match_relations import Definition, Lookup
    from funke.engine.sql.binding.relations import BoundAggregate
    from funke.engine.types.columns.arrays import Array
    from funke.engine.types.logical import SqlValue

__all__ = ["MatchPrograms", "result_column", "words_of_column"]

_COMPARISONS = {name: number for number, name in enumerate(("=", "<>", "<", "<=", ">", ">="))}
# Of integers and dates, and of floats.
_SUMS = (
    (aggregate_rows.SUM, aggregate_rows.SUM_OF_FLOATS),
    (aggregate_rows.AVERAGE, aggregate_rows.AVERAGE_OF_FLOATS),
)
_EXTREMES = (
    (aggregate_rows.LEAST, aggregate_rows.LEAST_FLOAT),
    (aggregate_rows.GREATEST, aggregate_rows.GREATEST_FLOAT),
)
_ARITHMETIC = {"+": match_rows.ADD, "-": match_rows.SUBTRACT, "*": match_rows.MULTIPLY}


class _NoProgram(Exception):
    """The compiled loop does not know something."""


def _is_word(data_type: DataType) -> bool:
    """Whether values are numbers of 64 bits at most, which are compared as such."""
    if isinstance(data_type, TimestampType | LocalZonedTimestampType):
        return data_type.precision <= 3
    return isinstance(data_type, (*INTEGRAL, DoubleType, BooleanType, DateType))


def words_of_column(column: pa.Array) -> tuple[Array, Array | None]:
    """The values of a column as words of 64 bits, and which of them are not NULL (None: all)."""
    validity = np.asarray(column.is_valid()).astype(np.uint8) if column.null_count else None
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    if pa.types.is_floating(column.type):
        return column.fill_null(0.0).to_numpy().view(np.int64), validity
    return column.cast(pa.int64()).fill_null(0).to_numpy(), validity


def result_column(words: Array, nulls: Array, data_type: DataType) -> pa.Array:
    """Results of an aggregate as a column."""
    values = words.view(np.float64) if isinstance(data_type, DoubleType) else words
    return number_column(values, nulls.astype(bool) if nulls.any() else None, to_column_type(data_type))


class MatchPrograms:
    """The tables of `kernels/match_rows.py`; they grow by what is asked for."""

    def __init__(self, types: Sequence[DataType], head: int | None) -> None:
        # Of the columns of the input.
        self._types = types
        # The stage that has the first row of every match, and no other.
        self._head = head
        # The columns of the input whose values count, in the order of their numbers here.
        self.columns: list[int] = []
        self._aggregates: dict[tuple[int, ...], int] = {}
        self._lookups: list[tuple[int, ...]] = []
        self._programs: list[list[tuple[int, int, int]]] = []
        self._stages: list[int] = []

    @property
    def aggregate_count(self) -> int:
        """How many accumulators stand beside a link."""
        return len(self._aggregates)

    @property
    def aggregates(self) -> Array:
        """A table."""
        return np.array(list(self._aggregates) or [()], np.int64).reshape(-1)

    @property
    def lookups(self) -> Array:
        """A table."""
        return np.array(self._lookups or [()], np.int64).reshape(-1)

    @property
    def code(self) -> Array:
        """All programs behind each other, behind the numbers of their first instructions."""
        # Instructions are counted from the begin of the table.
        head = -(-(len(self._programs) + 1) // match_rows.INSTRUCTION_WIDTH)
        begins = head + np.cumsum([0, *map(len, self._programs)])
        table: Array = np.zeros((head + sum(map(len, self._programs))) * match_rows.INSTRUCTION_WIDTH, np.int64)
        table[: len(begins)] = begins
        instructions = [each for program in self._programs for each in program]
        if instructions:
            table[head * match_rows.INSTRUCTION_WIDTH :] = np.array(instructions, np.int64).reshape(-1)
        return table

    @property
    def stages(self) -> Array:
        """The stage of each program."""
        return np.array(self._stages, np.int64)

    @property
    def depth(self) -> int:
        """How many values a program has at most."""
        return max(map(len, self._programs), default=0) + 1

    def add_condition(self, definition: Definition | None) -> bool:
        """Adds the program of the next condition, which is empty without a definition; False if there is none."""
        program: list[tuple[int, int, int]] = []
        try:
            if definition is not None:
                assert definition.lookups is not None
                self._compile(definition.condition, definition.lookups, program)
        except _NoProgram:
            return False
        self._programs.append(program)
        self._stages.append(0 if definition is None else definition.stage)
        return True

    def add_lookups(self, lookups: Sequence[Lookup]) -> list[int] | None:
        """Adds what a measure looks up; the numbers of these lookups, None if the loop does not know one of them."""
        try:
            return [self._lookup(each, has_value=False) for each in lookups]
        except _NoProgram:
            return None

    def _lookup(self, lookup: Lookup, *, has_value: bool) -> int:
        if lookup.kind != "column":
            raise _NoProgram
        stages = sum(1 << each for each in lookup.stages)
        if max(lookup.stages, default=0) >= 62:
            raise _NoProgram
        if lookup.aggregate is not None:
            entry = match_rows.OF_ROWS, 0, 0, 0, self._aggregate(lookup.aggregate, stages)
        else:
            if has_value and not _is_word(lookup.type):
                raise _NoProgram
            # The row of the head is the first one: there is no need to go through the others.
            is_first = lookup.is_first or (lookup.stages == (self._head,) and not lookup.offset)
            kind = match_rows.FIRST_ROW if is_first else match_rows.LAST_ROW
            entry = kind, stages, self._column(lookup.column) if has_value else 0, lookup.offset, 0
        self._lookups.append(entry)
        return len(self._lookups) - 1

    def _column(self, index: int) -> int:
        if index not in self.columns:
            self.columns.append(index)
        return self.columns.index(index)

    def _aggregate(self, aggregate: BoundAggregate, stages: int) -> int:
        call, body = aggregate.call, aggregate.call.body
        if call.is_distinct or aggregate.condition is not None or len(aggregate.arguments) > 1:
            raise _NoProgram
        types = [self._types[each] for each in aggregate.arguments if each >= 0]
        if len(types) < len(aggregate.arguments) or not all(map(_is_word, types)):
            raise _NoProgram
        column = self._column(aggregate.arguments[0]) if types else -1
        has_floats = isinstance(types[0], DoubleType) if types else False
        sum_bits = bits = BITS.get(type(call.result), 64)
        # Functions come from another process: they are known by their bodies.
        if isinstance(body, CountBody):
            operation = aggregate_rows.COUNT
        elif (
            isinstance(body, SumBody) and not body.is_zero_when_empty and isinstance(types[0], (*INTEGRAL, DoubleType))
        ):
            operation = _SUMS[body.is_average][has_floats]
            # On the way to an average sums have 64 bits.
            sum_bits = 64 if body.is_average else bits
        elif isinstance(body, ExtremeBody):
            operation = _EXTREMES[body.is_max][has_floats]
        else:
            raise _NoProgram
        entry = operation, column, stages, sum_bits, bits
        return self._aggregates.setdefault(entry, len(self._aggregates))

    def _compile(
        self,
        expression: BoundExpression,
        lookups: Sequence[Lookup],
        program: list[tuple[int, int, int]],
        target: DataType | None = None,
    ) -> None:
        """Adds the instructions of an expression, whose value becomes one of a type (None: of its own)."""
        target = expression.type if target is None else target
        if isinstance(expression, BoundConstant):
            program.append(_constant(expression, target))
            return
        if not _is_word(expression.type):
            raise _NoProgram
        if isinstance(expression, BoundColumn):
            program.append((match_rows.LOOK_UP, self._lookup(lookups[expression.index], has_value=True), 0))
        elif isinstance(expression, BoundFunction):
            self._compile_call(expression, lookups, program)
        else:
            raise _NoProgram
        if isinstance(target, DoubleType) and isinstance(expression.type, INTEGRAL):
            program.append((match_rows.TO_FLOAT, 0, 0))
        elif not _is_same(expression.type, target):
            raise _NoProgram

    def _compile_call(
        self, call: BoundFunction, lookups: Sequence[Lookup], program: list[tuple[int, int, int]]
    ) -> None:
        name, arguments = call.call.function.name, call.arguments
        if name in _COMPARISONS:
            self._compare(name, [arguments], compared_type([each.type for each in arguments]), lookups, program)
            return
        if name in ("between", "not between"):
            value, low, high = arguments
            operand_type = compared_type([each.type for each in arguments])
            self._compare("<=", [(low, value), (value, high)], operand_type, lookups, program)
            program += [(match_rows.ALL_OF, 2, 0), (match_rows.NOT, 0, 0)][: 1 + (name == "not between")]
            return
        operand = call.type if name in _ARITHMETIC and isinstance(call.type, DoubleType) else None
        instruction = _instruction(call)
        for each in arguments:
            self._compile(each, lookups, program, operand)
        program.append(instruction)

    def _compare(
        self,
        name: str,
        pairs: Sequence[Sequence[BoundExpression]],
        operand: DataType,
        lookups: Sequence[Lookup],
        program: list[tuple[int, int, int]],
    ) -> None:
        """Adds comparisons of values that become those of one type."""
        for pair in pairs:
            for each in pair:
                self._compile(each, lookups, program, operand)
            program.append((match_rows.COMPARE, _COMPARISONS[name], isinstance(operand, DoubleType)))


def _instruction(call: BoundFunction) -> tuple[int, int, int]:
    """What combines the values of arguments."""
    name, count = call.call.function.name, len(call.arguments)
    if name in _ARITHMETIC and count == 2:
        types = [call.type, *(each.type for each in call.arguments)]
        if not isinstance(call.type, DoubleType) and not all(isinstance(each, INTEGRAL) for each in types):
            raise _NoProgram
        return _ARITHMETIC[name], BITS.get(type(call.type), 0), 0
    if name in ("and", "or"):
        return match_rows.ALL_OF if name == "and" else match_rows.ANY_OF, count, 0
    if name == "not":
        return match_rows.NOT, 0, 0
    if name in ("is null", "is not null"):
        return match_rows.IS_NULL, int(name == "is null"), 0
    raise _NoProgram


def _is_same(one: DataType, other: DataType) -> bool:
    """Whether values of both types are the same words."""
    if isinstance(one, INTEGRAL) and isinstance(other, INTEGRAL):
        return BITS[type(one)] <= BITS[type(other)]
    return with_nullable(one, True) == with_nullable(other, True)


def _constant(constant: BoundConstant, target: DataType) -> tuple[int, int, int]:
    if constant.value is None:
        return match_rows.NULL, 0, 0
    value: SqlValue = constant.value
    if not _is_same(constant.type, target):
        value = _cast(constant, target)
    if isinstance(target, DoubleType) and isinstance(value, float):
        return match_rows.CONSTANT, int(np.float64(value).view(np.int64)), 0
    if isinstance(value, int) and isinstance(target, (*INTEGRAL, BooleanType)):
        return match_rows.CONSTANT, int(value), 0
    raise _NoProgram


def _cast(constant: BoundConstant, target: DataType) -> Any:
    try:
        return value_cast(constant.type, target, Session())(constant.value)
    except Exception as error:
        raise _NoProgram from error
