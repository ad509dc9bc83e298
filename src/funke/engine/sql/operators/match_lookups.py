"""The lookups of MATCH_RECOGNIZE: the values that conditions and measures read from a match."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.patterns.conditions import Condition, MatchSoFar, OfColumns
from funke.engine.operators.patterns.runs import BEFORE, EVENT, FIRST, RESULTS, STAGE, MatchContext, Run, path_of
from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    BoundSymbol,
    column_of,
)
from funke.engine.sql.binding.patterns.match_relations import Definition, Lookup
from funke.engine.sql.binding.relations import BoundAggregate
from funke.engine.sql.functions.aggregates.catalog import create_kernel
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.functions.values import from_values
from funke.engine.sql.operators.match_programs import MatchPrograms
from funke.engine.sql.operators.windows.over.framed_rows import framed_rows
from funke.engine.types.logical import DataType, to_column_type

__all__ = ["LookedUp", "MatchLookups", "OfRows", "Row", "alone"]

# A row of a match: the values of the columns that are kept.
Row = tuple[Any, ...]
# What a lookup gives for a match, and maybe a row behind it: its stage and its values.
LookedUp = Callable[["Run | None", "tuple[int, Row] | None"], Any]


class MatchLookups:
    """Makes what looks values up; results of aggregates are kept with the partial matches."""

    def __init__(self, names: Sequence[str], positions: Mapping[int, int], head: int | None) -> None:
        self._names = names
        # Where each column is in the rows of a match.
        self._positions = positions
        # The stage that has the first row of every match, and no other.
        self._head = head
        self._kept: dict[tuple[BoundAggregate, tuple[int, ...]], int] = {}

    @property
    def results(self) -> int:
        """The number of results that are kept with a partial match."""
        return len(self._kept)

    def programs(self, conditions: Sequence[Condition], types: Sequence[DataType]) -> MatchPrograms | None:
        """Conditions over columns of some types for the compiled loop; None if there is one that it does not know."""
        programs = MatchPrograms(types, self._head)
        definitions = [each.definition if isinstance(each, OfRows) else None for each in conditions]
        return programs if all(map(programs.add_condition, definitions)) else None

    def of(self, lookup: Lookup) -> LookedUp:
        """Looks up a value."""
        stages = frozenset(lookup.stages)
        if lookup.aggregate is not None:
            return self._aggregated(lookup.aggregate, lookup.stages)
        offset = lookup.offset
        value_of = self._value_of(lookup)

        def of_head(run: Run | None, own: tuple[int, Row] | None) -> Any:
            if run is None:
                return None if own is None or own[0] not in stages else value_of(*own)
            first = run[FIRST] or run
            return value_of(first[STAGE], first[EVENT])

        # The first variable with exactly one row is the usual reference (`A.price`): every run has a link to its first
        # row, so this lookup costs the same however long the match is.
        if lookup.stages == (self._head,) and not offset:
            return of_head

        def first(run: Run | None, own: tuple[int, Row] | None) -> Any:
            rows = _rows(run, own, stages)
            return value_of(*rows[offset]) if offset < len(rows) else None

        def last(run: Run | None, own: tuple[int, Row] | None) -> Any:
            # From the last row back: matches may be long.
            left = offset
            if own is not None and (not stages or own[0] in stages):
                if not left:
                    return value_of(*own)
                left -= 1
            while run is not None:
                if not stages or run[STAGE] in stages:
                    if not left:
                        return value_of(run[STAGE], run[EVENT])
                    left -= 1
                run = run[BEFORE]
            return None

        return first if lookup.is_first else last

    def _value_of(self, lookup: Lookup) -> Callable[[int, Row], Any]:
        if lookup.kind == "classifier":
            names = self._names
            return lambda stage, row: names[stage]
        index = self._positions[lookup.column]
        return lambda stage, row: row[index]

    def _aggregated(self, aggregate: BoundAggregate, stages: tuple[int, ...]) -> LookedUp:
        body, chosen = aggregate.call.body, frozenset(stages)
        columns = [-1 if index < 0 else self._positions[index] for index in aggregate.arguments]
        constants = [argument.value for argument in aggregate.call.arguments]

        accumulate, only = body.accumulate, columns[0] if len(columns) == 1 else -1

        def take(accumulator: Any, row: Row) -> None:
            if only >= 0:
                # Most have one argument (half of the time of any number of them).
                accumulate(accumulator, row[only])
            else:
                accumulate(accumulator, *(constants[n] if c < 0 else row[c] for n, c in enumerate(columns)))

        if not body.is_flat:

            def anew(run: Run | None, own: tuple[int, Row] | None) -> Any:
                accumulator = body.create()
                for _, row in _rows(run, own, chosen):
                    take(accumulator, row)
                return body.value(accumulator)

            return anew

        # The accumulator is kept with the run and goes on from row to row: COUNT or SUM over a match of n rows costs n
        # steps, where computing it anew for each row would cost n².
        slot = self._kept.setdefault((aggregate, stages), len(self._kept))

        def accumulated(run: Run) -> list[Any]:
            """The accumulator of all rows of a run, which is not to be changed."""
            links: list[Run] = []
            accumulator: list[Any] | None = None
            each: Run | None = run
            while each is not None and accumulator is None:
                accumulator = each[RESULTS][slot] if len(each) > RESULTS else None
                if accumulator is None:
                    links.append(each)
                    each = each[BEFORE]
            if not links:
                assert accumulator is not None
                return accumulator
            accumulator = body.create() if accumulator is None else accumulator.copy()
            for link in reversed(links):
                if not chosen or link[STAGE] in chosen:
                    take(accumulator, link[EVENT])
            if len(run) > RESULTS:
                run[RESULTS][slot] = accumulator
            return accumulator

        def value(run: Run | None, own: tuple[int, Row] | None) -> Any:
            if own is not None and (not chosen or own[0] in chosen):
                accumulator = body.create() if run is None else accumulated(run).copy()
                take(accumulator, own[1])
            else:
                accumulator = body.create() if run is None else accumulated(run)
            return body.value(accumulator)

        return value


class OfRows(Condition):
    """A condition that looks at the rows of the match so far, the row that is to be taken among them."""

    is_iterative = True

    def __init__(self, definition: Definition, lookups: Sequence[LookedUp]) -> None:
        self.definition = definition
        self.stage = definition.stage
        self._lookups = lookups
        self._value = _value_of(definition.condition)
        self.at_start: OfColumns = OfColumns("", definition.condition)

    def holds(self, event: Any, match: MatchSoFar) -> bool:
        assert isinstance(match, MatchContext)
        run, own = match.run, (self.stage, event)
        return self._value([get(run, own) for get in self._lookups]) is True


def alone(
    stage: int, name: str, lookups: Sequence[Lookup], condition: BoundExpression
) -> Callable[[pa.RecordBatch], Any]:
    """Computes a condition for rows that would begin a match, as a column."""
    compute = column_of(condition)
    columns = [_of_first_row(lookup, stage, name) for lookup in lookups]
    names = list(map(str, range(len(columns))))

    def computed(data: pa.RecordBatch) -> Any:
        return compute(pa.RecordBatch.from_arrays([get(data) for get in columns], names))

    return computed


def _of_first_row(lookup: Lookup, stage: int, name: str) -> Callable[[pa.RecordBatch], pa.Array]:
    is_own = not lookup.stages or stage in lookup.stages
    aggregate = lookup.aggregate
    if aggregate is None:
        if is_own and not lookup.offset:
            if lookup.kind == "classifier":
                return lambda data: pa.repeat(pa.scalar(name), data.num_rows)
            return lambda data: data.column(lookup.column)
        return lambda data: pa.nulls(data.num_rows, to_column_type(lookup.type))
    call = aggregate.call
    if not is_own:
        of_nothing = from_values([call.body.value(call.body.create())], lookup.type)[0]
        return lambda data: pa.repeat(of_nothing, data.num_rows)
    kernel = create_kernel(call)

    def of_each_row(data: pa.RecordBatch) -> pa.Array:
        count = data.num_rows
        rows = framed_rows(aggregate, data, Segments(np.arange(count), count))
        return kernel.values(kernel.accumulate(kernel.create(count), rows))

    return of_each_row


def _rows(run: Run | None, own: tuple[int, Row] | None, stages: frozenset[int]) -> list[tuple[int, Row]]:
    path = [] if run is None else path_of(run)
    rows = [(link[STAGE], link[EVENT]) for link in path if not stages or link[STAGE] in stages]
    if own is not None and (not stages or own[0] in stages):
        rows.append(own)
    return rows


def _value_of(expression: BoundExpression) -> Callable[[Sequence[Any]], Any]:
    """A function that computes an expression from the looked-up values of one row."""
    if isinstance(expression, BoundColumn):
        index = expression.index
        return lambda values: values[index]
    if isinstance(expression, BoundConstant):
        value = expression.value
        return lambda values: value
    if isinstance(expression, BoundSymbol):
        word = expression.word
        return lambda values: word
    assert isinstance(expression, BoundFunction)
    body, arguments = expression.call.body(), [_value_of(each) for each in expression.arguments]
    if len(arguments) == 2:
        # Half of the time of any number of arguments.
        left, right = arguments
        return lambda values: body(left(values), right(values))
    return lambda values: body(*(get(values) for get in arguments))
