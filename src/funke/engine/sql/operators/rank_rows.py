"""Knows the first rows of each key by an order and says how they change, as rows come, are replaced, or go.

Flink's rules: rows that are equal by the order stand as they came. Where the number of a row is told, or the first ones
are left out, each number whose row is another one changes; else the row that leaves is deleted, the new one inserted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.graph.state_meaning import StateMoves
from funke.engine.sql.meaning.state_parts import COLUMNS
from funke.engine.sql.operators.aggregate import signs_of
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.plain_rows import column_of, moved_lists, plain_values, require_rows, row_lists
from funke.engine.sql.operators.sort_tuples import sort_tuples
from funke.engine.sql.plan.rank_strategy import RankStrategy
from funke.engine.sql.state.keyed_columns import ColumnLayout
from funke.engine.sql.state.keyed_columns_operator import KeyedColumnsOperator
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.plan.rank import Rank

__all__ = ["RankRowsOperator"]

_INSERT, _BEFORE, _AFTER, _DELETE = (
    kind.value for kind in (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
)

# What rows of a key are sorted by, and their values.
Entry = tuple[tuple[Any, ...], tuple[Any, ...]]
_sorted_by: Callable[[Entry], tuple[Any, ...]] = itemgetter(0)


@dataclass
class _Changes:
    """What is sent: kinds, rows with their numbers, and the row of the input that each change comes from."""

    node: Rank
    kinds: list[int] = field(default_factory=list)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    source: int = 0

    def add(self, kind: int, entry: Entry, number: int) -> None:
        """A change of the row with a number, if that is told."""
        if self.node.first <= number <= self.node.last and (kind != _BEFORE or self.node.sends_before):
            self.kinds.append(kind)
            self.rows.append((*entry[1], number) if self.node.has_number else entry[1])
            self.sources.append(self.source)

    def replace(self, before: list[Entry], after: list[Entry], start: int, end: int) -> None:
        """Changes of the places from `start` to before `end`."""
        for place in range(start, end):
            self.add(_BEFORE, before[place], place + 1)
            self.add(_AFTER, after[place], place + 1)


class RankRowsOperator(KeyedColumnsOperator):
    """Takes rows one by one: where each one stands depends on those before it."""

    def __init__(self, node: Rank) -> None:
        self._node = node
        self._last = node.last
        inputs = node.input.columns
        self._input, self._output_schema = schema_of(inputs), schema_of(node.columns)
        self._keys = KeyColumns(node.keys, [inputs[index].type for index in node.keys])
        self._tells_numbers = node.tells_numbers
        self._row_key = itemgetter(*node.row_key) if node.row_key else None
        takes_in = {
            RankStrategy.APPEND: self._append,
            RankStrategy.UPDATE: self._update,
            RankStrategy.RETRACT: self._insert,
        }
        self._take_in = takes_in[node.strategy]

    def layout(self) -> ColumnLayout:
        return ColumnLayout("ranked-rows", row_lists, self._node.ttl_ms)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        super().restore_keyed(require_rows(parts, self.layout().name, len(self._input), is_sorted=True))

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return moved_lists(part, self.layout().name, moves[COLUMNS], is_sorted=True)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes rows in, or back, and sends what changes."""
        self.records_in += len(batch)
        if not len(batch):
            return
        batch = as_schema(batch, self._input)
        codes, keys = self._keys.encode(batch.data)
        fetched = self.state.fetch(keys)
        (known,) = fetched.columns
        signs = signs_of(batch)
        changes = _Changes(self._node)
        steps = [1] * len(batch) if signs is None else signs.tolist()
        for source, (code, step, entry) in enumerate(zip(codes.tolist(), steps, self._entries(batch.data))):
            changes.source = source
            (self._take_in if step > 0 else self._remove)(known[code], entry, changes)
        self.state.store(fetched, (known,), np.fromiter(map(bool, known), np.bool_, len(known)))
        self._send(batch, changes)

    def _entries(self, data: Any) -> Iterator[Entry]:
        columns = [plain_values(column) for column in data.columns]
        return zip(sort_tuples(data, self._node.order), zip(*columns))

    # Rows that come

    def _append(self, known: list[Entry], entry: Entry, changes: _Changes) -> None:
        """A row that stays: those behind the last number never come back."""
        if len(known) < self._last or (known and entry[0] < known[-1][0]):
            self._insert(known, entry, changes)
            del known[self._last :]

    def _insert(self, known: list[Entry], entry: Entry, changes: _Changes) -> None:
        last, place = self._last, bisect_right(known, entry[0], key=_sorted_by)
        if not self._tells_numbers:
            known.insert(place, entry)
            if place < last:
                if len(known) > last:
                    changes.add(_DELETE, known[last], last)
                changes.add(_INSERT, entry, place + 1)
            return
        before = known[:last]
        known.insert(place, entry)
        changes.replace(before, known, place, len(before))
        if len(known) <= last:
            changes.add(_INSERT, known[-1], len(known))

    def _update(self, known: list[Entry], entry: Entry, changes: _Changes) -> None:
        """A row that replaces the one with the same key, if that is among the first."""
        assert self._row_key is not None
        key = self._row_key(entry[1])
        place = next((at for at, each in enumerate(known) if self._row_key(each[1]) == key), None)
        if place is None:
            self._append(known, entry, changes)
            return
        old, before = known[place], known[:]
        if old[0] == entry[0]:
            known[place] = entry
            at = place
        else:
            del known[place]
            at = bisect_right(known, entry[0], key=_sorted_by)
            known.insert(at, entry)
        if self._tells_numbers:
            # As in Flink: first what all of them were.
            moved = range(min(at, place), max(at, place) + 1)
            for number in moved:
                changes.add(_BEFORE, before[number], number + 1)
            for number in moved:
                changes.add(_AFTER, known[number], number + 1)
        else:
            changes.add(_BEFORE, old, place + 1)
            changes.add(_AFTER, entry, at + 1)

    # Rows that go

    def _remove(self, known: list[Entry], entry: Entry, changes: _Changes) -> None:
        """The first row that is equal goes; one that is not there was forgotten."""
        start, end = (find(known, entry[0], key=_sorted_by) for find in (bisect_left, bisect_right))
        place = next((at for at in range(start, end) if known[at][1] == entry[1]), None)
        if place is None:
            return
        last = self._last
        before = known[: last + 1] if self._tells_numbers else []
        gone = known.pop(place)
        if self._tells_numbers:
            changes.replace(before, known, place, min(last, len(known)))
            if len(known) < last:
                changes.add(_DELETE, before[-1], len(before))
        elif place < last:
            changes.add(_DELETE, gone, place + 1)
            if len(known) >= last:
                changes.add(_INSERT, known[last - 1], last)

    def _send(self, batch: ColumnBatch, changes: _Changes) -> None:
        if not changes.rows:
            return
        schema = self._output_schema
        columns = [column_of(values, each.type) for values, each in zip(zip(*changes.rows), schema)]
        timestamps = None if batch.timestamps is None else batch.timestamps[changes.sources]
        kinds = np.array(changes.kinds, np.int8)
        data = pa.RecordBatch.from_arrays(columns, schema=schema)
        self.output.emit_columns(ColumnBatch(data, timestamps, kinds if kinds.any() else None))
