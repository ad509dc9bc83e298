"""DISTINCT: an aggregate takes in each value once, and takes it back when its last row is taken back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.sql.functions.aggregates.aggregate import AggregateCall
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel, Fields
from funke.engine.sql.functions.aggregates.rows import AggregateRows
from funke.engine.sql.functions.function import SymbolType
from funke.engine.sql.functions.values import to_values
from funke.engine.state.storage_keys import storage_keys

__all__ = ["DistinctKernel"]


class DistinctKernel(AggregateKernel):
    """Fields: how often each value is there, then those of the aggregate itself."""

    def __init__(self, call: AggregateCall, inner: AggregateKernel) -> None:
        self._types = [(place, each.type) for place, each in enumerate(call.arguments)]
        self._inner = inner
        self.dtypes = (object, *inner.dtypes)
        self.initial = (dict, *inner.initial)

    def accumulate(self, before: Fields, rows: AggregateRows) -> Fields:
        return before[0], *self._inner.accumulate(before[1:], self._once(before[0], rows))

    def running(self, before: Fields, rows: AggregateRows) -> tuple[Fields, Any]:
        after, values = self._inner.running(before[1:], self._once(before[0], rows))
        return (before[0], *after), values

    def merge(self, left: Fields, right: Fields) -> Fields:
        raise NotImplementedError("what two groups have in common must be counted once")

    def values(self, fields: Fields) -> Any:
        return self._inner.values(fields[1:])

    def _once(self, counts: Any, rows: AggregateRows) -> AggregateRows:
        """The same rows, of which those count that change which values are there."""
        keys, codes = self._keys(rows)
        if rows.signs is None:
            chosen = self._first_ones(counts, rows, keys, codes)
        else:
            chosen = self._changing_ones(counts, rows, keys, codes)
        mask: Any = np.zeros(len(rows), np.bool_)
        mask[chosen] = True
        return AggregateRows(rows.segments, rows.arguments, rows.signs, mask)

    def _keys(self, rows: AggregateRows) -> tuple[list[Any], Any]:
        """The different values of the batch as keys, and the number of each row's."""
        columns = [rows.arguments[place].array for place, each in self._types if not isinstance(each, SymbolType)]
        types = [each for _, each in self._types if not isinstance(each, SymbolType)]
        if len(columns) == 1 and not _is_compared_by_value(columns[0]):
            encoded = columns[0].dictionary_encode(null_encoding="encode")
            return storage_keys(to_values(encoded.dictionary, types[0])), np.asarray(encoded.indices)
        lists = [to_values(column, each) for column, each in zip(columns, types)]
        numbers: dict[Any, int] = {}
        codes = [numbers.setdefault(key, len(numbers)) for key in storage_keys(list(zip(*lists)))]
        return list(numbers), np.array(codes, np.int64)

    @staticmethod
    def _first_ones(counts: Any, rows: AggregateRows, keys: list[Any], codes: Any) -> list[int]:
        """The first row of each value that a group does not know; one lookup for each value of a group in the batch."""
        segment_of_row = rows.segments.segment_of_row
        combined = segment_of_row * len(keys) + codes
        places = np.arange(len(rows)) if rows.mask is None else np.flatnonzero(rows.mask)
        _, first = np.unique(combined[places], return_index=True)
        first = places[first]
        chosen = []
        for row, segment, code in zip(first.tolist(), segment_of_row[first].tolist(), codes[first].tolist()):
            known, key = counts[segment], keys[code]
            if key not in known:
                known[key] = 1
                chosen.append(row)
        return chosen

    @staticmethod
    def _changing_ones(counts: Any, rows: AggregateRows, keys: list[Any], codes: Any) -> list[int]:
        """Row by row, since values come and go."""
        chosen = []
        mask = None if rows.mask is None else rows.mask.tolist()
        steps = zip(rows.segments.segment_of_row.tolist(), codes.tolist(), rows.signs.tolist())
        for row, (segment, code, sign) in enumerate(steps):
            if mask is not None and not mask[row]:
                continue
            known, key = counts[segment], keys[code]
            count = known.get(key, 0) + sign
            if count:
                known[key] = count
            else:
                known.pop(key, None)
            if (sign > 0 and count == 1) or (sign < 0 and count == 0):
                chosen.append(row)
        return chosen


def _is_compared_by_value(column: Any) -> bool:
    # -0.0 and 0.0 are two values to Arrow.

    return bool(pa.types.is_nested(column.type) or pa.types.is_floating(column.type))
