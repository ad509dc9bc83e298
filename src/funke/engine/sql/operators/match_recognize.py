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
from funke.engine.sql.binding.expressions import column_of
from funke.engine.sql.functions.values import to_values
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.column_matching import WAITING, ColumnMatching
from funke.engine.sql.operators.compiled_matching import CompiledMatching, MatchedRows
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.match_lookups import MatchLookups, OfRows, Row, alone
from funke.engine.sql.operators.match_measures import MatchMeasures
from funke.engine.sql.operators.opened_functions import OpenedFunctions
from funke.engine.sql.operators.windows.local_time import LocalTime
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.operators.windows.time_column import with_times
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.interfaces import ValueState
from funke.engine.types import Types
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.match_recognize import MatchRecognize
    from funke.engine.types.columns.arrays import Array

__all__ = ["MatchOperator"]

_MATCH_NUMBERS = "match-numbers"


class MatchOperator(ColumnMatching):
    """The events are the columns that conditions and measures look up."""

    watermark_advice = "Give the table a WATERMARK, or its source an idle timeout"

    def __init__(self, node: MatchRecognize) -> None:
        self._node = node
        columns = node.input.columns
        types = [each.type for each in columns]
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
                condition = OfRows(definition, [lookups.of(each) for each in definition.lookups])
                conditions[name] = condition
                masks[condition.at_start] = alone(stage, name, definition.lookups, definition.condition)
        pattern = with_stages(node.pattern, lambda stage: replace(stage, condition=conditions.get(stage.name)))
        self._input = schema_of(columns)
        key_types = [types[each] for each in node.partition_by]
        waiting = RowBuffer(WAITING, node.partition_by, list(map(to_type_info, key_types)), self._input)
        keys = KeyColumns(node.partition_by, key_types)
        super().__init__(None, pattern, node.time.is_event_time, masks, keys, waiting)
        self._stored_keys = KeyColumns(tuple(range(len(key_types))), key_types)
        self._key_watch = KeyWatch(node.partition_by)
        self._lookups = lookups
        expressions = [each.condition for each in node.definitions] + [each.expression for each in node.measures]
        self._functions = OpenedFunctions(
            expressions, [each.aggregate.call.function for each in node.lookups() if each.aggregate is not None]
        )
        self._without_time = 0

    def setup(self, context: OperatorContext) -> None:
        node = self._node
        programs = self._lookups.programs(self.automaton.conditions, [each.type for each in node.input.columns])
        self._measures = MatchMeasures(node, schema_of(node.columns), self._lookups, context.task.clock, programs)
        super().setup(context)
        self.matcher.results = self._lookups.results
        self.use_loop(CompiledMatching.of(self.matcher, programs))

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

    def words_of(self, column: int, events: list[Any], rows: ColumnBatch) -> tuple[Array, Array | None]:
        return self._measures.words_with(events, rows.data, column)

    def send_matched(self, matched: MatchedRows, rows: ColumnBatch) -> None:
        results = self._measures.of_matched(matched, rows.data) if len(matched) else None
        if results is None:
            super().send_matched(matched, rows)
        else:
            self._emit(*results)

    def handle(self, completed: list[Completed]) -> None:
        """Sends the measures of matches, or of all their rows."""
        numbers = [] if self._match_numbers is None else self._numbers_of(completed)
        self._emit(*self._measures.of_runs(completed, numbers))

    def _emit(self, data: pa.RecordBatch, times: Array) -> None:
        self.output.emit_columns(ColumnBatch(data, times if self.is_event_time else None))

    def _numbers_of(self, completed: list[Completed]) -> list[int]:
        """Counts the matches of each key."""
        assert self._match_numbers is not None
        # A batch without columns has no rows.
        columns = [*self._measures.key_columns(completed), pa.nulls(len(completed))]
        keys = self._stored_keys.stored(pa.RecordBatch.from_arrays(columns, list(map(str, range(len(columns))))))
        numbers = []
        for key in keys:
            self.backend.current_key = key
            numbers.append((self._match_numbers.value() or 0) + 1)
            self._match_numbers.update(numbers[-1])
        return numbers
