"""WATERMARK FOR of a table as a relation."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding import BoundExpression, Relation

__all__ = ["WatermarkAssigner"]


@dataclass(frozen=True)
class WatermarkAssigner(Relation):
    """The rows of the input, with the event time of the column `rowtime` and watermarks by `expression`."""

    input: Relation
    rowtime: int
    expression: BoundExpression
    # None: never.
    idle_timeout_ms: int | None = None
    # The number of rows between two watermarks (on-event); None: watermarks are sent periodically.
    rows_per_watermark: int | None = None
