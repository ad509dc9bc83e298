"""A pattern of a stream whose conditions are expressions over columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.errors import GraphError
from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.operations import KeySelector
from funke.engine.operators.keyed.key_lists import key_list
from funke.engine.operators.keyed.key_watch import KeyWatch
from funke.engine.operators.operator import Operator, TaskInfo
from funke.engine.operators.patterns.conditions import OfColumns, masks_in
from funke.engine.operators.patterns.match_results import NO_TIMESTAMPS, MatchResults
from funke.engine.operators.patterns.pattern import Pattern, conditions_in
from funke.engine.sql.binding import BoundExpression, column_of
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.column_matching import WAITING, ColumnMatching
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.opened_functions import OpenedFunctions
from funke.engine.sql.operators.stream_conditions import StreamRows, columns_of_stream
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.state.storage_keys import groups_of, storage_keys
from funke.engine.types import KeyGroups
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.columns.form_change import ColumnsToRows
from funke.engine.types.information.arrow_types import field_names, to_arrow
from funke.engine.types.output_tag import OutputTag
from funke.engine.types.watermark_spec import NO_TIMESTAMP

if TYPE_CHECKING:
    from funke.engine.types.columns import Array

__all__ = ["MatchColumns"]


@dataclass(frozen=True)
class MatchColumns:
    """Makes the operator; the conditions of the pattern are bound."""

    pattern: Pattern
    function: Any
    # None: all rows have one key.
    key_selector: KeySelector | None
    rows: StreamRows
    is_event_time: bool = True
    comparator: Callable[[Any, Any], int] | None = None
    late_tag: OutputTag | None = None

    def __call__(self, task: TaskInfo) -> Operator:
        return _MatchColumnsOperator(self)


class _MatchColumnsOperator(MatchResults, ColumnMatching):
    """Events are rows or tuples, made of the columns when a match may move."""

    def __init__(self, factory: MatchColumns) -> None:
        conditions = conditions_in(factory.pattern.elements)
        bound: dict[OfColumns, BoundExpression] = {
            mask: mask.expression for condition in conditions for mask in masks_in(condition)
        }
        columns = columns_of_stream(factory.rows)
        self._stream_schema = pa.schema(list(to_arrow(factory.rows)))
        self._typed_schema = schema_of(columns)
        self._events = ColumnsToRows(factory.rows)
        names = list(field_names(factory.rows))
        self._key_watch: KeyWatch | None = None
        if factory.key_selector is None:
            keys: Any = KeyColumns((), ())
            waiting = RowBuffer(WAITING, [], [], self._stream_schema)
        elif isinstance(factory.key_selector, ColumnKey):
            indexes = [names.index(each) for each in factory.key_selector.names]
            keys = KeyColumns(indexes, [columns[index].type for index in indexes])
            types = [factory.rows.get_field_types()[index] for index in indexes]
            waiting = RowBuffer(WAITING, indexes, types, self._stream_schema)
            self._key_watch = KeyWatch(indexes)
        else:
            keys = _SelectedKeys(factory.key_selector, self._events)
            waiting = _SelectedKeysBuffer(keys, self._stream_schema)
        getters = {mask: column_of(expression) for mask, expression in bound.items()}
        # Functions of the program are opened.
        selectors = [] if factory.key_selector is None else [factory.key_selector]
        super().__init__(factory.function, factory.pattern, factory.is_event_time, getters, keys, waiting, *selectors)
        self._functions = OpenedFunctions(bound.values())
        self._comparator = factory.comparator
        self._late_tag = factory.late_tag

    def open(self) -> None:
        self._functions.open(self.context)
        super().open()

    def close(self) -> None:
        try:
            self._functions.close()
        finally:
            super().close()

    def hottest_key(self) -> dict[str, Any]:
        return {} if self._key_watch is None else self._key_watch.hottest()

    def metrics(self) -> dict[str, Any]:
        return super().metrics() | self._functions.metrics()

    def process_columns(self, batch: ColumnBatch) -> None:
        """Events wait for the watermark; those that it has passed are late."""
        self.records_in += len(batch)
        batch = as_schema(batch, self._stream_schema)
        if self._key_watch is not None:
            self._key_watch.look(batch.data)
        if not self.is_event_time:
            now = self.context.task.clock.now_ms()
            batch = batch.with_timestamps(np.full(len(batch), now, np.int64))
        elif batch.timestamps is None or (len(batch) and batch.timestamps.min() == NO_TIMESTAMP):
            raise GraphError(NO_TIMESTAMPS)
        self.match_or_wait(batch)

    def condition_columns(self, data: pa.RecordBatch) -> pa.RecordBatch:
        return data if data.schema == self._typed_schema else data.cast(self._typed_schema, safe=False)

    def take_late(self, rows: ColumnBatch) -> None:
        if self._late_tag is None:
            super().take_late(rows)
            return
        events, times = self._events.convert(rows)
        for event, time in zip(events, times or ()):
            self.results.take_side(self._late_tag, event, time)
        self.results.send()

    def events_of(self, rows: ColumnBatch) -> Sequence[Any]:
        return self._events.convert(rows)[0]

    def order_ranks(self, rows: ColumnBatch) -> list[Array]:
        if self._comparator is None:
            return []
        order = cmp_to_key(self._comparator)
        keys = [order(event) for event in self.events_of(rows)]
        ranks: Array = np.empty(len(keys), np.int64)
        ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        return [ranks]


class _SelectedKeys:
    """The keys that a function of the program selects from rows."""

    def __init__(self, select: KeySelector, events: ColumnsToRows) -> None:
        self._select = key_list(select)
        self._events = events

    def encode(self, data: pa.RecordBatch) -> tuple[Array, Any]:
        numbers: dict[Any, int] = {}
        codes = [numbers.setdefault(key, len(numbers)) for key in self.stored(data)]
        return np.array(codes, np.int64), list(numbers)

    def stored(self, data: pa.RecordBatch) -> list[Any]:
        return storage_keys(self._select(self._events.convert(ColumnBatch(data))[0]))


class _SelectedKeysBuffer(RowBuffer):
    def __init__(self, keys: _SelectedKeys, schema: pa.Schema) -> None:
        super().__init__(WAITING, [], [], schema)
        self._selected = keys

    def _groups(self, rows: ColumnBatch, key_groups: KeyGroups) -> Array:
        return np.array(groups_of(self._selected.stored(rows.data), key_groups), np.int64)
