"""The results of MATCH_RECOGNIZE: measures, which are expressions over what they look up, beside columns of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.patterns.runs import EVENT, Run, path_of
from funke.engine.operators.time.clock import Clock
from funke.engine.sql.binding.current_time import BatchTime, with_clock
from funke.engine.sql.binding.expressions import column_of
from funke.engine.sql.functions.values import from_values
from funke.engine.sql.operators.match_programs import MatchPrograms, result_column, words_of_column
from funke.engine.types.logical import to_column_type

if TYPE_CHECKING:
    from funke.engine.operators.patterns.pattern_matching import Completed
    from funke.engine.sql.operators.compiled_matching import MatchedRows
    from funke.engine.sql.operators.match_lookups import MatchLookups
    from funke.engine.sql.plan.match_recognize import MatchRecognize
    from funke.engine.types.columns.arrays import Array

__all__ = ["MatchMeasures"]

# A row of the result: the match up to it, all of the match, and the index of that.
_Result = tuple[Run, Run, int]


class MatchMeasures:
    """Computes results for the matches of a batch, in columns or of their runs."""

    def __init__(
        self,
        node: MatchRecognize,
        schema: pa.Schema,
        lookups: MatchLookups,
        clock: Clock,
        programs: MatchPrograms | None,
    ) -> None:
        self._node = node
        self._schema = schema
        # Where each column is in the events of a match.
        self._positions = {column: position for position, column in enumerate(node.kept_columns())}
        self._lookups = [
            [None if each.kind == "match number" else lookups.of(each) for each in measure.lookups]
            for measure in node.measures
        ]
        self._timestamp = BatchTime(clock)
        self._getters = [column_of(with_clock(measure.expression, self._timestamp)) for measure in node.measures]
        # The compiled loop's lookups, if it knows all of them.
        looked_up = [each for measure in node.measures for each in measure.lookups]
        self._numbers = None if node.is_all_rows or programs is None else programs.add_lookups(looked_up)

    def words_with(self, events: list[Any], rows: pa.RecordBatch, column: int) -> tuple[Array, Array | None]:
        """The values of a column of the input: of events of matches, and behind them of rows."""
        return words_of_column(self._column_with(events, rows, column))

    def _column_with(self, events: list[Any], rows: pa.RecordBatch, column: int) -> pa.Array:
        own = rows.column(column)
        return pa.concat_arrays([self._column_in(events, column), own]) if events else own

    def key_columns(self, completed: Sequence[Completed]) -> list[pa.Array]:
        """The columns of PARTITION BY for each match."""
        return [self._column_in([each.run[EVENT] for each in completed], column) for column in self._node.partition_by]

    def of_runs(self, completed: Sequence[Completed], match_numbers: Sequence[int]) -> tuple[pa.RecordBatch, Array]:
        """The results of matches, or of all their rows, and their times."""
        results: list[_Result] = [(each.run, each.run, number) for number, each in enumerate(completed)]
        if self._node.is_all_rows:
            results = [(link, run, number) for run, _, number in results for link in path_of(run)]
        looked_up = [
            [
                from_values(
                    [match_numbers[number] for _, _, number in results]
                    if get is None
                    else [get(run if lookup.is_final else link, None) for link, run, _ in results],
                    lookup.type,
                )
                for get, lookup in zip(lookups, measure.lookups)
            ]
            for measure, lookups in zip(self._node.measures, self._lookups)
        ]
        times = np.array([completed[number].time for _, _, number in results], np.int64)
        events = [link[EVENT] for link, _, _ in results]
        return self._results(looked_up, lambda column: self._column_in(events, column), len(results)), times

    def of_matched(self, matched: MatchedRows, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Array] | None:
        """The same for what the compiled loop has found; None if it does not know all that is looked up."""
        if self._numbers is None:
            return None
        order = matched.times.argsort(kind="stable")
        columns: dict[int, pa.Array] = {}

        def column_at(column: int, chosen: Array) -> pa.Array:
            if column not in columns:
                columns[column] = self._column_with(matched.held_events, rows, column)
            return columns[column].take(pa.array(chosen[order], mask=(chosen < 0)[order]))

        chosen_rows, words, nulls = matched.look_up(self._numbers)
        lookups = [each for measure in self._node.measures for each in measure.lookups]
        values = iter(
            [
                column_at(lookup.column, chosen_rows[index])
                if lookup.aggregate is None
                else result_column(words[index][order], nulls[index][order], lookup.type)
                for index, lookup in enumerate(lookups)
            ]
        )
        looked_up = [[next(values) for _ in measure.lookups] for measure in self._node.measures]
        last_rows = matched.last_rows
        return self._results(looked_up, lambda column: column_at(column, last_rows), len(order)), matched.times[order]

    def _results(
        self, looked_up: list[list[pa.Array]], column_at: Callable[[int], pa.Array], count: int
    ) -> pa.RecordBatch:
        self._timestamp.begin()
        arrays = [column_at(each) for each in self._node.before_measures]
        for getter, measure, columns in zip(self._getters, self._node.measures, looked_up):
            # A batch without columns has no rows.
            columns = columns or [pa.nulls(count)]
            column = getter(pa.RecordBatch.from_arrays(columns, list(map(str, range(len(columns))))))
            column = pa.repeat(column, count) if isinstance(column, pa.Scalar) else column
            column_type = to_column_type(measure.expression.type)
            arrays.append(column if column.type == column_type else column.cast(column_type))
        arrays += [column_at(each) for each in self._node.behind_measures]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _column_in(self, events: Sequence[Any], column: int) -> pa.Array:
        index = self._positions[column]
        return from_values([event[index] for event in events], self._node.input.columns[column].type)
