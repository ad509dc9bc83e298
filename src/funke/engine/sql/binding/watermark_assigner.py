"""The relation whose rows have event time, and whose watermarks a table's WATERMARK FOR computes."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding.expressions import BoundExpression
from funke.engine.sql.binding.relations import Relation

__all__ = ["EVERY_WATERMARK", "WatermarkAssigner", "WatermarkStep"]


@dataclass(frozen=True)
class WatermarkStep:
    """Who looks at watermarks sees only which multiple of the size (and the offset) they have passed."""

    size_ms: int
    offset_ms: int = 0
    # Whether a watermark is seen only by rows that come behind it with a time that it has passed: the others find the
    # same windows open, whether it stands in front of them or behind.
    is_for_late_rows: bool = False


EVERY_WATERMARK = WatermarkStep(1)


@dataclass(frozen=True)
class WatermarkAssigner(Relation):
    """The rows of the input; the event time is the column at `rowtime`, watermarks are what `expression` gives."""

    input: Relation
    rowtime: int
    expression: BoundExpression
    # None: never.
    idle_timeout_ms: int | None = None
    # Behind every so many rows a watermark may be sent; None: as time goes on.
    rows_per_watermark: int | None = None
    # How finely watermarks must stand among the rows; None: nobody looks at them.
    step: WatermarkStep | None = EVERY_WATERMARK
