"""How finely watermarks stand among rows: as finely as those look at them who use them.

Rows are cut where watermarks stand, and short batches cost more. Where nobody looks at event time they are not cut at
all; windows whose bounds are whole multiples of a step see no difference between watermarks within one; and windows and
OVER see none between those that no late row follows.
"""

from __future__ import annotations

import math
from dataclasses import replace

from funke.engine.sql.binding.changelog_functions import FromChangelog, ToChangelog
from funke.engine.sql.binding.correlations import Correlation
from funke.engine.sql.binding.expressions import calls_in
from funke.engine.sql.binding.final_rows import FinalRows
from funke.engine.sql.binding.lookup_joins import LookupJoin
from funke.engine.sql.binding.not_nulls import NotNulls
from funke.engine.sql.binding.ranks import Deduplication, Normalization, Rank, WindowRank
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
from funke.engine.sql.binding.semi_joins import SemiJoin
from funke.engine.sql.binding.stream_orders import TemporalSort
from funke.engine.sql.binding.table_aggregations import TableAggregation
from funke.engine.sql.binding.temporal_joins import TemporalJoin
from funke.engine.sql.binding.watermark_assigner import EVERY_WATERMARK, WatermarkAssigner, WatermarkStep
from funke.engine.sql.binding.window_grouping import window_columns
from funke.engine.sql.binding.window_relations import (
    OverAggregation,
    PartitionAggregation,
    SortedAggregation,
    WindowAggregation,
    Windows,
    WindowTable,
)
from funke.engine.sql.functions.surroundings import CURRENT_WATERMARK

__all__ = ["with_watermark_steps"]

# What lets watermarks pass and does not look at them.
_PASSING = (
    Aggregation,
    Calculation,
    Constants,
    Correlation,
    Deduplication,
    Expansion,
    FinalRows,
    FromChangelog,
    Limit,
    LookupJoin,
    Normalization,
    NotNulls,
    PartitionAggregation,
    Rank,
    Scan,
    SemiJoin,
    Sort,
    SortedAggregation,
    TableAggregation,
    ToChangelog,
    UnionAll,
)
_FOR_LATE_ROWS = WatermarkStep(1, is_for_late_rows=True)


def with_watermark_steps(relation: Relation, step: WatermarkStep | None) -> Relation:
    """The relation for somebody who needs watermarks that finely; None looks at none."""
    if isinstance(relation, WatermarkAssigner):
        return replace(relation, input=with_watermark_steps(relation.input, None), step=step)
    if isinstance(relation, WindowAggregation | WindowTable | OverAggregation | WindowRank):
        step = _both(step, _step_of(relation))
    elif isinstance(relation, TemporalJoin | TemporalSort) or _waits_for_time(relation):
        step = _both(step, _FOR_LATE_ROWS)
    elif not isinstance(relation, _PASSING) or _tells_watermark(relation):
        step = EVERY_WATERMARK
    return with_inputs(relation, lambda each: with_watermark_steps(each, step))


def _waits_for_time(relation: Relation) -> bool:
    return isinstance(relation, Deduplication) and relation.rowtime is not None and not relation.keeps_last


def _tells_watermark(relation: Relation) -> bool:
    expressions = (*relation.expressions, relation.condition) if isinstance(relation, Calculation) else ()
    return any(call.call.function.name == CURRENT_WATERMARK for each in expressions for call in calls_in(each))


def _step_of(relation: WindowAggregation | WindowTable | OverAggregation | WindowRank) -> WatermarkStep | None:
    if not relation.time.is_event_time:
        return None
    if isinstance(relation, OverAggregation):
        return _FOR_LATE_ROWS
    windows = _windows_of(relation) if isinstance(relation, WindowRank) else relation.windows
    is_session = windows is not None and windows.kind == "session"
    if isinstance(relation, WindowTable) and not is_session:
        # Rows get their windows as they come.
        return None
    if isinstance(relation, WindowAggregation) and relation.firing is not None:
        # What windows tell at their ends stands between what single rows change.
        return EVERY_WATERMARK
    if relation.time.zone is not None:
        # Clocks are set back: a window may be open again for a row that is not late.
        return EVERY_WATERMARK
    if windows is None or is_session:
        # Their bounds are nobody's multiples.
        return _FOR_LATE_ROWS
    return WatermarkStep(math.gcd(windows.size_ms, windows.slide_ms), windows.offset_ms, is_for_late_rows=True)


def _windows_of(rank: WindowRank) -> Windows | None:
    found = window_columns(rank.input)
    return None if found is None else found.maker.windows


def _both(one: WatermarkStep | None, other: WatermarkStep | None) -> WatermarkStep | None:
    if one is None or other is None:
        return one or other
    size_ms = math.gcd(one.size_ms, other.size_ms, one.offset_ms - other.offset_ms)
    return WatermarkStep(size_ms, one.offset_ms, one.is_for_late_rows and other.is_for_late_rows)
