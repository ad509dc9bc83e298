"""What joins share: the condition on pairs of rows, and how many pairs are made at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.operators.time.clock import Clock
from funke.engine.sql.binding.current_time import with_clock
from funke.engine.sql.binding.expressions import BoundExpression, column_of, columns_in, moved

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["MOST_PAIRS", "PairCondition", "slices"]

# So many pairs are made at once.
MOST_PAIRS = 1 << 17

# Gives some columns of the rows of one side, as often as they are in pairs.
TakeColumns = Callable[[Sequence[int]], Sequence[Any]]


class PairCondition:
    """Computed of the columns that it looks at, whatever else rows have."""

    def __init__(self, condition: BoundExpression | None, width: int, clock: Clock) -> None:
        """`width` is the number of columns of the left side."""
        used = sorted(set(columns_in(() if condition is None else (condition,))))
        self._left, self._right = (
            [each for each in used if each < width],
            [each - width for each in used if each >= width],
        )
        self._compute = None
        if condition is not None:
            indexes = {old: new for new, old in enumerate(used)}
            self._compute = column_of(with_clock(moved(condition, indexes), clock))

    def fulfilled(self, left: TakeColumns, right: TakeColumns, count: int) -> Array | None:
        """Which of so many pairs fulfil it; None if all do."""
        if self._compute is None or not count:
            return None
        columns = [*left(self._left), *right(self._right)]
        # A condition on no column at all still has a value for each pair.
        data = pa.RecordBatch.from_arrays(columns, [str(number) for number in range(len(columns))])
        mask = self._compute(data if columns else pa.record_batch([pa.nulls(count)], [""]))
        if isinstance(mask, pa.Scalar):
            return np.full(count, bool(mask.as_py()))
        return mask.fill_null(False).to_numpy(zero_copy_only=False)


def slices(counts: Array) -> Iterator[tuple[int, int]]:
    """Ranges of rows with a bounded number of pairs; a single row may have more."""
    if counts.sum() <= MOST_PAIRS:
        yield 0, len(counts)
        return
    total = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        done = 0 if begin == 0 else int(total[begin - 1])
        end = max(begin + 1, int(np.searchsorted(total, done + MOST_PAIRS, "right")))
        yield begin, end
        begin = end
