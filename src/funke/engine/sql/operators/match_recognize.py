"""MATCH_RECOGNIZE: rows are matched as columns as far as that goes, and one by one where a match may move."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.formats.column_types import to_type_info
from funke.engine.operators.keyed.key_watch import KeyWatch
from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.patterns.conditions import Condition, MatchSoFar
from funke.engine.operators.patterns.pattern import Element, Group, Pattern, Stage
from funke.engine.operators.patterns.pattern_matching import Completed, PatternMatching
from funke.engine.operators.patterns.runs import KeyRuns, MatchContext, Run, StoredRuns, path_of
from funke.engine.sql.binding.current_time import BatchTime, with_clock
from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    BoundSymbol,
    column_of,
)
from funke.engine.sql.binding.patterns.match_relations import Lookup
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.opened_functions import OpenedFunctions
from funke.engine.sql.operators.windows.local_time import LocalTime
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical.column_types import to_column_type

if TYPE_CHECKING:
    from funke.engine.sql.plan.match_recognize import MatchRecognize
    from funke.engine.types.columns.arrays import Array

__all__ = ["MatchOperator"]

# A row of a match: the values of the columns that are kept.
_Row = tuple[Any, ...]
_WAITING = "waiting-rows"


class MatchOperator(PatternMatching):
    """Rows wait for the watermark, and are matched key by key in the order of their times."""

    takes_rows = False
    takes_columns = True
    watermark_advice = "Give the table a WATERMARK, or its source an idle timeout"

    def __init__(self, node: MatchRecognize) -> None:
        self._node = node
        columns = node.input.columns
        self._kept = node.kept_columns()
        places = {column: place for place, column in enumerate(self._kept)}
        definitions = {each.stage: each for each in node.definitions}
        # What is computed of rows alone, for all rows of a batch.
        self._masks: dict[Condition, Any] = {}
        conditions: dict[int, Condition] = {}
        for stage, definition in definitions.items():
            if definition.lookups is None:
                mask = _OfRow()
                self._masks[mask] = column_of(definition.condition)
                conditions[stage] = mask
            else:
                looked_up = [_looked_up(each, places) for each in definition.lookups]
                conditions[stage] = _OfRows(stage, looked_up, _value_of(definition.condition))
        pattern = _with_conditions(node.pattern, conditions)
        super().__init__(None, pattern, node.time.is_event_time)
        self._input, self._output_schema = schema_of(columns), schema_of(node.columns)
        types = [columns[each].type for each in node.partition_by]
        self._keys = KeyColumns(node.partition_by, types)
        self._key_places = [places[each] for each in node.partition_by]
        self._key_watch = KeyWatch(node.partition_by)
        self._waiting = RowBuffer(_WAITING, node.partition_by, list(map(to_type_info, types)), self._input)
        self._results = [(measure, [_looked_up(each, places) for each in measure.lookups]) for measure in node.measures]
        expressions = [each.condition for each in node.definitions] + [each.expression for each in node.measures]
        self._functions = OpenedFunctions(
            expressions, [each.aggregate.call.function for each in node.lookups() if each.aggregate is not None]
        )
        automaton = self.automaton
        self._bits = [
            (1 << index, self._masks[each]) for index, each in enumerate(automaton.conditions) if each in self._masks
        ]
        self._known = sum(bit for bit, _ in self._bits)
        self._without_time = 0

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._timestamp = BatchTime(context.task.clock)
        self._getters = [column_of(with_clock(measure.expression, self._timestamp)) for measure, _ in self._results]

    def open(self) -> None:
        self._functions.open(self.context)
        super().open()

    def close(self) -> None:
        try:
            self._functions.close()
        finally:
            super().close()

    def hottest_key(self) -> dict[str, Any]:
        return self._key_watch.hottest()

    def metrics(self) -> dict[str, Any]:
        return super().metrics() | self._functions.metrics()

    def process_columns(self, batch: ColumnBatch) -> None:
        """Rows wait for the watermark; those that it has passed are dropped."""
        self.records_in += len(batch)
        self._key_watch.look(batch.data)
        now = self.context.task.clock.now_ms()
        timed, times = with_times(as_schema(batch, self._input), self._node.time, LocalTime(None), now)
        if not self.is_event_time:
            self._match(timed.with_timestamps(times), now)
            return
        self._without_time += len(batch) - len(timed)
        is_late = times <= self.timer_service.watermark
        if is_late.any():
            self.late_dropped.inc(int(np.count_nonzero(is_late)))
            timed, times = timed.take(np.flatnonzero(~is_late)), times[~is_late]
        self._waiting.add(timed.with_timestamps(times))

    def advance_event_time(self, watermark: int) -> None:
        """Matches the rows that the watermark has passed, then ends what is over."""
        self.input_watermark = self.timer_service.watermark = watermark
        first = self._waiting.first_time() if self.is_event_time else None
        if first is not None and first <= watermark:
            rows = self._waiting.all()
            assert rows is not None and rows.timestamps is not None
            self._match(self._waiting.take_out(rows.timestamps <= watermark), watermark)
        super().advance_event_time(watermark)

    def _match(self, rows: ColumnBatch, now: int) -> None:
        """Matches rows; nothing before `now` comes after them."""
        rows, bits = self._without_idle(rows)
        if not len(rows):
            return
        assert rows.timestamps is not None
        codes, _ = self._keys.encode(rows.data)
        order = np.lexsort((*reversed(self._order_ranks(rows.data)), rows.timestamps, codes))
        codes, bits, times = codes[order], bits[order], rows.timestamps[order]
        first_rows = np.flatnonzero(np.diff(codes, prepend=-1))
        keys = self._keys.stored(rows.data.take(pa.array(order[first_rows])))
        self.backend.prefetch(keys)
        stored = self.stored_runs(keys)
        lengths = np.diff(first_rows, append=len(codes))
        is_moved = self._may_move(bits, first_rows, lengths, np.array([each is not None for each in stored], bool))
        counts = np.add.reduceat(is_moved, first_rows, dtype=np.int64).tolist()
        moved = rows.data.take(pa.array(order[is_moved]))
        waiting = zip(self._rows_of(moved), times[is_moved].tolist(), bits[is_moved].tolist())
        completed: list[Completed] = []
        for key, before, count in zip(keys, stored, counts):
            if count:
                self._match_key(key, before, islice(waiting, count), now, completed)
        self.send(completed)

    def _may_move(self, bits: Array, first_rows: Array, lengths: Array, has_runs: Array) -> Array:
        """Which rows, sorted by key, may move a run: those of keys that have any, and those behind a first one."""
        automaton = self.automaton
        looked = automaton.looks_at[automaton.start]
        if looked & automaton.iterative:
            return np.ones(len(bits), bool)
        distinct, places = np.unique(bits & looked, return_inverse=True)
        begins = np.array([bool(automaton.steps(automaton.start, int(each))) for each in distinct], bool)[places]
        before = np.cumsum(begins) - begins
        is_behind = np.cumsum(begins) > np.repeat(before[first_rows], lengths)
        moved: Array = is_behind | np.repeat(has_runs, lengths)
        return moved

    def _without_idle(self, rows: ColumnBatch) -> tuple[ColumnBatch, Array]:
        """The rows that may change something, and the conditions that hold of each of them alone."""
        bits = self._bits_of(rows.data)
        if self.automaton.iterative:
            return rows, bits
        distinct, places = np.unique(bits, return_inverse=True)
        is_idle = np.array([self.automaton.idle_bits(int(each)) for each in distinct], bool)
        if not is_idle.any():
            return rows, bits
        chosen = np.flatnonzero(~is_idle[places])
        return rows.take(chosen), bits[chosen]

    def _match_key(
        self,
        key: Any,
        before: StoredRuns | None,
        rows: Iterable[tuple[_Row, int, int]],
        now: int,
        completed: list[Completed],
    ) -> None:
        runs = KeyRuns.of(before)
        matcher, known = self.matcher, self._known
        for row, time, bits in rows:
            if runs.runs and matcher.is_due(runs.runs, time):
                self.expire(runs, time, completed)
            for match in matcher.advance(runs, row, time, bits, known):
                completed.append(Completed(time, match, True))
        if self.is_event_time:
            self.expire(runs, now, completed)
        self.store(key, before, runs)

    def _bits_of(self, data: pa.RecordBatch) -> Array:
        """For each row the conditions that hold of it alone."""
        bits: Array = np.zeros(data.num_rows, np.int64)
        for bit, getter in self._bits:
            mask = getter(data)
            if isinstance(mask, pa.Scalar):
                bits |= bit if mask.as_py() else 0
            else:
                bits[np.asarray(mask.fill_null(False))] |= bit
        return bits

    def _order_ranks(self, data: pa.RecordBatch) -> list[Array]:
        ranks = []
        for key in self._node.order:
            direction = "ascending" if key.is_ascending else "descending"
            column = pa.record_batch([data.column(key.index)], ["key"])
            order = np.asarray(pc.sort_indices(column, sort_keys=[("key", direction)]))
            # Equal values have one rank: the next key decides.
            in_order = column.column(0).take(pa.array(order)).dictionary_encode(null_encoding="encode").indices
            rank: Array = np.empty(len(order), np.int64)
            rank[order] = np.asarray(in_order)
            if key.nulls_first:
                rank[np.asarray(column.column(0).is_null())] = -1
            ranks.append(rank)
        return ranks

    def _rows_of(self, data: pa.RecordBatch) -> Sequence[_Row]:
        if not self._kept:
            return [()] * data.num_rows
        columns = self._node.input.columns
        return list(zip(*(to_values(data.column(column), columns[column].type) for column in self._kept)))

    def handle(self, completed: list[Completed]) -> None:
        """Sends the measures of matches."""
        self._timestamp.begin()
        paths = [path_of(each.run) for each in completed]
        input_columns = self._node.input.columns
        arrays = [
            from_values([path[0][2][place] for path in paths], input_columns[column].type)
            for place, column in zip(self._key_places, self._node.partition_by)
        ]
        for getter, (measure, lookups) in zip(self._getters, self._results):
            looked_up = [
                from_values([get(path, None) for path in paths], lookup.type)
                for get, lookup in zip(lookups, measure.lookups)
            ]
            # A batch without columns has no rows.
            looked_up = looked_up or [pa.nulls(len(paths))]
            column = getter(pa.RecordBatch.from_arrays(looked_up, [str(place) for place in range(len(looked_up))]))
            column = pa.repeat(column, len(paths)) if isinstance(column, pa.Scalar) else column
            wanted = to_column_type(measure.expression.type)
            arrays.append(column if column.type == wanted else column.cast(wanted))
        data = pa.RecordBatch.from_arrays(arrays, schema=self._output_schema)
        times = np.array([each.time for each in completed], np.int64) if self.is_event_time else None
        self.output.emit_columns(ColumnBatch(data, times))

    # Snapshots: rows that wait are in memory, whatever the backend.

    def snapshot_timers(self) -> Iterator[tuple[int, GroupPart]]:
        yield from super().snapshot_timers()
        yield from self._waiting.snapshot_parts(self.context.task.key_groups)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        every = list(parts)
        self._waiting.restore(every)
        super().restore_keyed(
            (
                group,
                GroupPart(
                    {table: entries for table, entries in part.tables.items() if table.name != _WAITING},
                    part.event_timers,
                    part.processing_timers,
                ),
            )
            for group, part in every
        )


class _OfRow(Condition):
    """A condition that is computed for whole batches; each is known by itself."""

    def holds(self, event: Any, match: MatchSoFar) -> bool:
        raise AssertionError("conditions of rows are computed before the rows are matched")


class _OfRows(Condition):
    """A condition that looks at the rows of the match so far, the row that is to be taken among them."""

    is_iterative = True

    def __init__(self, stage: int, lookups: Sequence[_LookedUp], value: Callable[[Sequence[Any]], Any]) -> None:
        self._stage = stage
        self._lookups = lookups
        self._value = value

    def holds(self, event: Any, match: MatchSoFar) -> bool:
        assert isinstance(match, MatchContext)
        path = [] if match.run is None else path_of(match.run)
        own = (self._stage, event)
        return self._value([get(path, own) for get in self._lookups]) is True


# What a lookup gives for the events of a match, and maybe a row behind them: its stage and its values.
_LookedUp = Callable[[list[Run], "tuple[int, _Row] | None"], Any]


def _looked_up(lookup: Lookup, places: dict[int, int]) -> _LookedUp:
    stages = frozenset(lookup.stages)

    def rows(path: list[Run], own: tuple[int, _Row] | None) -> list[_Row]:
        found = [link[2] for link in path if not stages or link[1] in stages]
        if own is not None and (not stages or own[0] in stages):
            found.append(own[1])
        return found

    if lookup.aggregate is not None:
        return _aggregated(lookup, places, rows)
    place, offset, is_first = places[lookup.column], lookup.offset, lookup.is_first

    def value(path: list[Run], own: tuple[int, _Row] | None) -> Any:
        found = rows(path, own)
        if offset >= len(found):
            return None
        return found[offset if is_first else -1 - offset][place]

    return value


def _aggregated(lookup: Lookup, places: dict[int, int], rows: Callable[..., list[_Row]]) -> _LookedUp:
    assert lookup.aggregate is not None
    call = lookup.aggregate.call
    body = call.body
    columns = [-1 if index < 0 else places[index] for index in lookup.aggregate.arguments]
    constants = [argument.value for argument in call.arguments]

    def value(path: list[Run], own: tuple[int, _Row] | None) -> Any:
        accumulator = body.create()
        for row in rows(path, own):
            body.accumulate(accumulator, *(constants[n] if c < 0 else row[c] for n, c in enumerate(columns)))
        return body.value(accumulator)

    return value


def _value_of(expression: BoundExpression) -> Callable[[Sequence[Any]], Any]:
    """What computes an expression of the values that were looked up, one row at a time."""
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
    return lambda values: body(*(get(values) for get in arguments))


def _with_conditions(pattern: Pattern, conditions: dict[int, Condition]) -> Pattern:
    """The pattern with the conditions of its stages, which have a number each."""
    numbers = {name: number for number, name in enumerate(pattern.names)}

    def changed(element: Element) -> Element:
        if isinstance(element, Group):
            return replace(element, elements=tuple(map(changed, element.elements)))
        assert isinstance(element, Stage)
        return replace(element, condition=conditions.get(numbers[element.name]))

    return Pattern(tuple(map(changed, pattern.elements)), pattern.within_ms, pattern.skip)
