"""The first rows of each key and window by an order, once the window has ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.state_meaning import StateMeaning, StateMoves
from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.binding.ranks import WindowRank
from funke.engine.sql.binding.relations import Column, SortKey
from funke.engine.sql.binding.window_relations import WindowTime
from funke.engine.sql.meaning.column_texts import ColumnTexts
from funke.engine.sql.meaning.state_parts import COLUMNS, columns_of, key_fact, window_fact
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.sort_limit import order_of
from funke.engine.sql.operators.windows.key_codes import first_rows, key_codes
from funke.engine.sql.operators.windows.row_buffer import RowBuffer
from funke.engine.sql.operators.windows.window_operator import WindowOperator
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["RankWindows", "WindowRankOperator"]

# So many rows may wait before those that cannot be among the first are looked for.
_FEW_ROWS = 4096


@dataclass(frozen=True)
class RankWindows:
    """Makes the operator of ranks in windows for a subtask."""

    inputs: tuple[Column, ...]
    columns: tuple[Column, ...]
    keys: tuple[int, ...]
    window_columns: tuple[int, int]
    time: WindowTime
    order: tuple[SortKey, ...]
    first: int
    last: int
    has_number: bool = False
    # Of rows that are equal by the order the last one stands first.
    is_from_last: bool = False

    @staticmethod
    def of(rank: WindowRank) -> RankWindows:
        """What a subtask has to know of a rank."""
        return RankWindows(
            rank.input.columns,
            rank.columns,
            rank.keys,
            rank.window_columns,
            rank.time,
            rank.order,
            rank.first,
            rank.last,
            rank.has_number,
            rank.keeps_last,
        )

    @staticmethod
    def meaning(rank: WindowRank) -> StateMeaning:
        """What its state means: the rows of windows that are open, those behind the last number left out."""
        texts, source = ColumnTexts(), rank.input
        facts = (
            key_fact(texts, source, rank.keys, "PARTITION BY"),
            window_fact(texts, source, None, rank.time, rank.window_columns),
            ("ORDER BY", texts.order(source, rank.order)),
            ("numbers", f"{rank.first} to {rank.last}"),
            ("of equal rows the", "last one first" if rank.keeps_last else "first one first"),
        )
        return StateMeaning("WindowRank", facts, ((COLUMNS, columns_of(texts, source)),))

    def __call__(self, task: TaskInfo) -> WindowRankOperator:
        return WindowRankOperator(self)


class WindowRankOperator(WindowOperator):
    """Keeps rows, by the local ends of their windows, until these close."""

    def __init__(self, spec: RankWindows) -> None:
        super().__init__(spec.time, spec.keys)
        self._spec = spec
        self._start, self._end = spec.window_columns
        self._input, self._output_schema = schema_of(spec.inputs), schema_of(spec.columns)
        key_types = [to_type_info(spec.inputs[key].type) for key in spec.keys]
        self._rows = RowBuffer("ranked-rows", spec.keys, key_types, self._input)
        self._most = _FEW_ROWS

    def add_rows(self, batch: ColumnBatch, now_ms: int) -> None:
        batch = as_schema(batch, self._input)
        ends = _stamps(batch.data.column(self._end))
        kept = ends > self.closed
        self.late += int(np.count_nonzero(~kept))
        self._rows.add(batch.with_timestamps(ends).take(np.flatnonzero(kept)))
        if len(self._rows) > self._most:
            self._forget_others()

    def _forget_others(self) -> None:
        """Removes rows that are behind the last number; those that stay have to double before it is done again."""
        rows = self._rows.all()
        assert rows is not None
        order, numbers = self._numbered(rows.data, self._groups(rows.data)[0])
        self._rows.take_out(_marked(order[numbers > self._spec.last], len(rows)))
        self._most = max(_FEW_ROWS, 2 * len(self._rows))

    def close_windows(self, before: int) -> None:
        first = self.next_end()
        if first is None or first > self.closed:
            return
        rows = self._rows.all()
        assert rows is not None and rows.timestamps is not None
        due = self._rows.take_out(rows.timestamps <= self.closed)
        order, numbers = self._numbered(due.data, self._in_order_of_windows(due))
        is_told = (numbers >= self._spec.first) & (numbers <= self._spec.last)
        if is_told.any():
            self._send(due.take(order[is_told]), numbers[is_told])

    def _groups(self, data: Any) -> tuple[Any, int]:
        columns = [data.column(place) for place in (*self._spec.keys, self._start, self._end)]
        return key_codes(columns, data.num_rows)

    def _in_order_of_windows(self, rows: ColumnBatch) -> Any:
        """Numbers of keys and windows: windows that end first, then keys as they came."""
        codes, count = self._groups(rows.data)
        firsts = first_rows(codes, count)
        ends: Any = rows.timestamps
        starts = _stamps(rows.data.column(self._start))
        places: Any = np.empty(count, np.int64)
        places[np.lexsort((firsts, starts[firsts], ends[firsts]))] = np.arange(count)
        return places[codes]

    def _numbered(self, data: Any, groups: Any) -> tuple[Any, Any]:
        """The places of rows in the order of groups and then their own, and the number of each within its group."""
        if self._spec.is_from_last:
            last = data.num_rows - 1
            order = last - order_of(data.take(pa.array(np.arange(last, -1, -1))), self._spec.order)
        else:
            order = order_of(data, self._spec.order)
        order = order[np.argsort(groups[order], kind="stable")]
        ordered = groups[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        lengths = np.diff(np.r_[starts, len(ordered)])
        return order, np.arange(1, len(ordered) + 1) - np.repeat(starts, lengths)

    def _send(self, rows: ColumnBatch, numbers: Any) -> None:
        more: Sequence[Any] = [pa.array(numbers)] if self._spec.has_number else []
        data = pa.RecordBatch.from_arrays([*rows.data.columns, *more], schema=self._output_schema)
        ends: Any = rows.timestamps
        self.output.emit_columns(ColumnBatch(data, self.local.to_instants(ends - 1)))

    def next_end(self) -> int | None:
        return self._rows.first_time()

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        return self._rows.snapshot_parts(self.context.task.key_groups)

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return self._rows.moved(part, moves[COLUMNS])

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        self._rows.restore(parts)


def _stamps(column: Any) -> Any:
    return np.asarray(column.cast(pa.timestamp("ms")).view(pa.int64()))


def _marked(places: Any, count: int) -> Any:
    marks: Any = np.zeros(count, bool)
    marks[places] = True
    return marks
