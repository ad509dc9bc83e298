"""MATCH_RECOGNIZE: conditions and measures are expressions over what they look up in matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.formats.column_types import to_type_info
from funke.engine.operators.keyed.key_watch import KeyWatch
from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.patterns.conditions import Condition, OfColumns
from funke.engine.operators.patterns.pattern import Stage, with_stages
from funke.engine.operators.patterns.pattern_matching import Completed
from funke.engine.operators.patterns.runs import EVENT, Run, path_of
from funke.engine.sql.binding.current_time import BatchTime, with_clock
from funke.engine.sql.binding.expressions import column_of
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.column_matching import WAITING, ColumnMatching
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.match_lookups import MatchLookups, OfRows, Row, alone
from funke.engine.sql.operators.opened_functions import OpenedFunctions
from funke.engine.sql.operators.windows.local_time import LocalTime
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.interfaces import ValueState
from funke.engine.types import Types
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical import DataType, to_column_type

if TYPE_CHECKING:
    from funke.engine.sql.plan.match_recognize import MatchRecognize
    from funke.engine.types.columns.arrays import Array

__all__ = ["MatchOperator"]

_MATCH_NUMBERS = "match-numbers"
# A row of the result: the match up to it, all of the match, and the number and the time of that.
_Result = tuple[Run, Run, int, int]


class MatchOperator(ColumnMatching):
    """The events are the columns that conditions and measures look up."""

    watermark_advice = "Give the table a WATERMARK, or its source an idle timeout"

    def __init__(self, node: MatchRecognize) -> None:
        self._node = node
        columns = node.input.columns
        self._kept = node.kept_columns()
        positions = {column: position for position, column in enumerate(self._kept)}
        definitions = {each.stage: each for each in node.definitions}
        first = node.pattern.elements[0]
        head = (
            0 if isinstance(first, Stage) and first.quantifier.is_single and not first.quantifier.is_optional else None
        )
        lookups = MatchLookups(node.pattern.names, positions, head)
        # What is computed of rows alone, for all rows of a batch.
        masks: dict[OfColumns, Any] = {}
        conditions: dict[str, Condition] = {}
        for stage, definition in definitions.items():
            name = node.pattern.names[stage]
            if definition.lookups is None:
                mask = conditions[name] = OfColumns("", definition.condition)
                masks[mask] = column_of(definition.condition)
            else:
                condition = OfRows(stage, [lookups.of(each) for each in definition.lookups], definition.condition)
                conditions[name] = condition
                masks[condition.at_start] = alone(stage, name, definition.lookups, definition.condition)
        pattern = with_stages(node.pattern, lambda stage: replace(stage, condition=conditions.get(stage.name)))
        self._input, self._output_schema = schema_of(columns), schema_of(node.columns)
        types = [columns[each].type for each in node.partition_by]
        waiting = RowBuffer(WAITING, node.partition_by, list(map(to_type_info, types)), self._input)
        keys = KeyColumns(node.partition_by, types)
        super().__init__(None, pattern, node.time.is_event_time, masks, keys, waiting)
        self._before = [(positions[each], columns[each].type) for each in node.before_measures]
        self._behind = [(positions[each], columns[each].type) for each in node.behind_measures]
        self._key_indexes = [(positions[each], columns[each].type) for each in node.partition_by]
        self._stored_keys = KeyColumns(tuple(range(len(types))), types)
        self._key_watch = KeyWatch(node.partition_by)
        self._results = [
            (measure, [None if each.kind == "match number" else lookups.of(each) for each in measure.lookups])
            for measure in node.measures
        ]
        self._kept_results = lookups.results
        expressions = [each.condition for each in node.definitions] + [each.expression for each in node.measures]
        self._functions = OpenedFunctions(
            expressions, [each.aggregate.call.function for each in node.lookups() if each.aggregate is not None]
        )
        self._without_time = 0

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self.matcher.results = self._kept_results
        self._timestamp = BatchTime(context.task.clock)
        self._getters = [column_of(with_clock(measure.expression, self._timestamp)) for measure, _ in self._results]

    def open(self) -> None:
        self._functions.open(self.context)
        super().open()
        self._match_numbers: ValueState[int] | None = None
        if self._node.counts_matches():
            self._match_numbers = self.backend.get_state(ValueStateDescriptor(_MATCH_NUMBERS, Types.LONG()))

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
        self._without_time += len(batch) - len(timed)
        self.match_or_wait(timed.with_timestamps(times))

    def order_ranks(self, rows: ColumnBatch) -> list[Array]:
        data = rows.data
        ranks: list[Array] = []
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

    def events_of(self, rows: ColumnBatch) -> Sequence[Row]:
        if not self._kept:
            return [()] * len(rows)
        columns = self._node.input.columns
        return list(zip(*(to_values(rows.data.column(column), columns[column].type) for column in self._kept)))

    def handle(self, completed: list[Completed]) -> None:
        """Sends the measures of matches, or of all their rows."""
        self._timestamp.begin()
        numbers = self._numbers_of(completed) if self._match_numbers is not None else [0] * len(completed)
        results: list[_Result] = [(each.run, each.run, number, each.time) for each, number in zip(completed, numbers)]
        if self._node.is_all_rows:
            results = [(link, run, number, time) for run, _, number, time in results for link in path_of(run)]
        arrays = _columns_of(self._before, results)
        for getter, (measure, lookups) in zip(self._getters, self._results):
            looked_up = [
                from_values(
                    [number for _, _, number, _ in results]
                    if get is None
                    else [get(run if lookup.is_final else link, None) for link, run, _, _ in results],
                    lookup.type,
                )
                for get, lookup in zip(lookups, measure.lookups)
            ]
            # A batch without columns has no rows.
            looked_up = looked_up or [pa.nulls(len(results))]
            column = getter(pa.RecordBatch.from_arrays(looked_up, list(map(str, range(len(looked_up))))))
            column = pa.repeat(column, len(results)) if isinstance(column, pa.Scalar) else column
            column_type = to_column_type(measure.expression.type)
            arrays.append(column if column.type == column_type else column.cast(column_type))
        arrays += _columns_of(self._behind, results)
        data = pa.RecordBatch.from_arrays(arrays, schema=self._output_schema)
        times = np.array([time for _, _, _, time in results], np.int64) if self.is_event_time else None
        self.output.emit_columns(ColumnBatch(data, times))

    def _numbers_of(self, completed: list[Completed]) -> list[int]:
        """Counts the matches of each key."""
        assert self._match_numbers is not None
        results: list[_Result] = [(each.run, each.run, 0, each.time) for each in completed]
        # A batch without columns has no rows.
        columns = [*_columns_of(self._key_indexes, results), pa.nulls(len(results))]
        keys = self._stored_keys.stored(pa.RecordBatch.from_arrays(columns, list(map(str, range(len(columns))))))
        numbers = []
        for key in keys:
            self.backend.current_key = key
            numbers.append((self._match_numbers.value() or 0) + 1)
            self._match_numbers.update(numbers[-1])
        return numbers


def _columns_of(chosen: Sequence[tuple[int, DataType]], results: Sequence[_Result]) -> list[pa.Array]:
    return [from_values([link[EVENT][index] for link, _, _, _ in results], data_type) for index, data_type in chosen]
