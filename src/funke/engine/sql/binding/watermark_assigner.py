"""The relation whose rows have event time, and whose watermarks a table's WATERMARK FOR computes."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding import BoundExpression, Relation

__all__ = ["WatermarkAssigner"]


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
