"""DISTINCT: an aggregate accumulates each value once, and retracts it with its last row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.sql.functions.aggregates.aggregate import AggregateCall
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel, Fields
from funke.engine.sql.functions.aggregates.rows import AggregateRows, ArgumentColumn
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.functions.aggregates.value_table import ValueTable
from funke.engine.sql.functions.function import SymbolType
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.state.storage_keys import original_key, storage_keys
from funke.engine.types.logical.column_types import to_column_type

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["DistinctKernel", "DistinctValues"]


class DistinctValues:
    """The arguments of a call as keys."""

    def __init__(self, call: AggregateCall) -> None:
        self._types = [(index, each.type) for index, each in enumerate(call.arguments)]
        own = [(index, each) for index, each in self._types if not isinstance(each, SymbolType)]
        self._own = own
        # Whether keys are values themselves, not tuples of them.
        self._is_single = len(own) == 1 and not _is_compared_by_value(to_column_type(own[0][1]))

    def of_rows(self, rows: AggregateRows) -> tuple[list[Any], Array]:
        """The different values of the batch as keys, and the number of each row's."""
        columns = [rows.arguments[index].array for index, _ in self._own]
        if self._is_single:
            encoded = columns[0].dictionary_encode(null_encoding="encode")
            return storage_keys(to_values(encoded.dictionary, self._own[0][1])), np.asarray(encoded.indices)
        lists = [to_values(column, each) for column, (_, each) in zip(columns, self._own)]
        numbers: dict[Any, int] = {}
        codes = [numbers.setdefault(key, len(numbers)) for key in storage_keys(list(zip(*lists)))]
        return list(numbers), np.array(codes, np.int64)

    def single_column(self, rows: AggregateRows) -> ArgumentColumn:
        """The only argument."""
        return rows.arguments[self._own[0][0]]

    def integer_table(self) -> ValueTable | None:
        """A table for values of one argument, if these are integers or times."""
        kind = to_column_type(self._own[0][1]) if self._is_single else None
        if kind is None or not (pa.types.is_integer(kind) or pa.types.is_date32(kind) or pa.types.is_timestamp(kind)):
            return None
        data_type, stored = self._own[0][1], pa.int64() if kind.bit_width == 64 else pa.int32()

        def to_keys(values: Array) -> list[Any]:
            column = pa.array(values)
            if not pa.types.is_integer(kind):
                column = column.cast(stored)
            return storage_keys(to_values(column.cast(kind), data_type))

        def from_keys(keys: list[Any]) -> Array:
            column = from_values([original_key(each) for each in keys], data_type)
            return np.asarray(column if pa.types.is_integer(kind) else column.view(stored)).astype(np.int64)

        return ValueTable(to_keys, from_keys)

    def columns_of(self, keys: list[Any]) -> list[ArgumentColumn]:
        """Keys as the columns of arguments."""
        values = [original_key(each) for each in keys]
        lists = iter([values] if self._is_single else zip(*values))
        return [
            ArgumentColumn(pa.nulls(0) if isinstance(each, SymbolType) else from_values(list(next(lists)), each))
            for _, each in self._types
        ]


class DistinctKernel(AggregateKernel):
    """Fields: the count of each value, then those of the aggregate itself."""

    def __init__(self, call: AggregateCall, inner: AggregateKernel) -> None:
        self._values = DistinctValues(call)
        self._inner = inner
        self.dtypes = (object, *inner.dtypes)
        self.initial = (dict, *inner.initial)

    def accumulate(self, before: Fields, rows: AggregateRows) -> Fields:
        return before[0], *self._inner.accumulate(before[1:], self._once(before[0], rows))

    def running(self, before: Fields, rows: AggregateRows) -> tuple[Fields, pa.Array]:
        after, values = self._inner.running(before[1:], self._once(before[0], rows))
        return (before[0], *after), values

    def merge(self, left: Fields, right: Fields) -> Fields:
        """Merges groups: the values that only the right group has are accumulated in the left one."""
        groups, keys, signs = self._joined(left[0], right[0])
        if not groups:
            return left
        changed, starts = np.unique(groups, return_index=True)
        arguments = self._values.columns_of(keys)
        rows = AggregateRows(
            Segments(starts, len(groups)), arguments, np.array(signs, np.int8) if -1 in signs else None
        )
        after = self._inner.accumulate(tuple(field[changed] for field in left[1:]), rows)
        merged = tuple(field.copy() for field in left[1:])
        for mine, values in zip(merged, after):
            mine[changed] = values
        return left[0], *merged

    @staticmethod
    def _joined(left: Array, right: Array) -> tuple[list[int], list[Any], list[int]]:
        """Adds the counts of the right side to the left; the groups, values and signs of those that appear or go."""
        groups, keys, signs = [], [], []
        for group, (own, others) in enumerate(zip(left, right)):
            for key, count in others.items():
                before = own.get(key, 0)
                own[key] = after = before + count
                if not after:
                    del own[key]
                if (before > 0) != (after > 0):
                    groups.append(group)
                    keys.append(key)
                    signs.append(1 if after > 0 else -1)
        return groups, keys, signs

    def values(self, fields: Fields) -> pa.Array:
        return self._inner.values(fields[1:])

    def _once(self, counts: Array, rows: AggregateRows) -> AggregateRows:
        """The same rows, masked to those that add a value to the group or remove one."""
        keys, codes = self._values.of_rows(rows)
        if rows.signs is None:
            chosen = self._first_ones(counts, rows, keys, codes)
        else:
            chosen = self._changing_ones(counts, rows, keys, codes)
        mask: Array = np.zeros(len(rows), np.bool_)
        mask[chosen] = True
        return AggregateRows(rows.segments, rows.arguments, rows.signs, mask)

    @staticmethod
    def _first_ones(counts: Array, rows: AggregateRows, keys: list[Any], codes: Array) -> list[int]:
        """The first row of each value that a group does not know; one lookup for each value of a group in the batch."""
        segment_of_row = rows.segments.segment_of_row
        combined = segment_of_row * len(keys) + codes
        indexes = np.arange(len(rows)) if rows.mask is None else np.flatnonzero(rows.mask)
        pairs, first, times = np.unique(combined[indexes], return_index=True, return_counts=True)
        first = indexes[first]
        chosen = []
        steps = zip(first.tolist(), segment_of_row[first].tolist(), codes[first].tolist(), times.tolist(), pairs)
        for row, segment, code, count, pair in steps:
            own, key = counts[segment], keys[code]
            before = own.get(key, 0)
            own[key] = after = before + count
            if not after:
                del own[key]
            elif before <= 0 < after:
                # Retractions that came before their rows are cancelled first.
                chosen.append(row if not before else int(indexes[combined[indexes] == pair][-before]))
        return chosen

    @staticmethod
    def _changing_ones(counts: Array, rows: AggregateRows, keys: list[Any], codes: Array) -> list[int]:
        """Row by row, since values come and go."""
        chosen = []
        mask = None if rows.mask is None else rows.mask.tolist()
        steps = zip(rows.segments.segment_of_row.tolist(), codes.tolist(), rows.signs.tolist())  # type: ignore[union-attr]
        for row, (segment, code, sign) in enumerate(steps):
            if mask is not None and not mask[row]:
                continue
            own, key = counts[segment], keys[code]
            count = own.get(key, 0) + sign
            if count:
                own[key] = count
            else:
                own.pop(key, None)
            # Of +7, +7, -7, -7 the first and the last row count: in between 7 is there, whichever row it is from.
            if (sign > 0 and count == 1) or (sign < 0 and count == 0):
                chosen.append(row)
        return chosen


def _is_compared_by_value(arrow_type: pa.DataType) -> bool:
    # -0.0 and 0.0 are two values to Arrow.
    return bool(pa.types.is_nested(arrow_type) or pa.types.is_floating(arrow_type))
