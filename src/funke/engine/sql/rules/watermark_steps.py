"""How finely watermarks stand among rows: as finely as those look at them who use them.

Rows are cut where watermarks stand, and short batches cost more. Where nobody looks at event time they are not cut at
all; windows whose bounds are whole multiples of a step see no difference between watermarks within one.
"""

from __future__ import annotations

import math
from dataclasses import replace

from funke.engine.sql.binding.final_rows import FinalRows
from funke.engine.sql.binding.lookup_joins import LookupJoin
from funke.engine.sql.binding.not_nulls import NotNulls
from funke.engine.sql.binding.relations import (
    Aggregation,
    Calculation,
    Constants,
    Expansion,
    Limit,
    Relation,
    Scan,
    Sort,
    UnionAll,
    with_inputs,
)
from funke.engine.sql.binding.watermark_assigner import EVERY_WATERMARK, WatermarkAssigner, WatermarkStep
from funke.engine.sql.binding.window_relations import WindowAggregation

__all__ = ["with_watermark_steps"]

# What lets watermarks pass and does not look at them.
_PASSING = (
    Aggregation,
    Calculation,
    Constants,
    Expansion,
    FinalRows,
    Limit,
    LookupJoin,
    NotNulls,
    Scan,
    Sort,
    UnionAll,
)


def with_watermark_steps(relation: Relation, step: WatermarkStep | None) -> Relation:
    """The relation for somebody who needs watermarks that finely; None looks at none."""
    if isinstance(relation, WatermarkAssigner):
        return replace(relation, input=with_watermark_steps(relation.input, None), step=step)
    if isinstance(relation, WindowAggregation):
        step = _both(step, _step_of(relation))
    elif not isinstance(relation, _PASSING):
        step = EVERY_WATERMARK
    return with_inputs(relation, lambda each: with_watermark_steps(each, step))


def _step_of(relation: WindowAggregation) -> WatermarkStep | None:
    windows, time = relation.windows, relation.time
    if not time.is_event_time:
        return None
    # The bounds of sessions are nobody's multiples, nor are those of hours in zones whose clocks change.
    if windows is None or windows.kind == "session" or time.zone is not None:
        return EVERY_WATERMARK
    return WatermarkStep(math.gcd(windows.size_ms, windows.slide_ms), windows.offset_ms)


def _both(one: WatermarkStep | None, other: WatermarkStep | None) -> WatermarkStep | None:
    if one is None or other is None:
        return one or other
    return WatermarkStep(math.gcd(one.size_ms, other.size_ms, one.offset_ms - other.offset_ms), one.offset_ms)
