"""All aggregate functions in one table, and the kernel of a call."""

from __future__ import annotations

from dataclasses import replace

from funke.engine.sql.functions.aggregates.aggregate import AggregateCall, AggregateFunction
from funke.engine.sql.functions.aggregates.bitmaps import BITMAP_AGGREGATES
from funke.engine.sql.functions.aggregates.body_kernel import BodyKernel
from funke.engine.sql.functions.aggregates.counting import COUNT
from funke.engine.sql.functions.aggregates.distinct import DistinctKernel
from funke.engine.sql.functions.aggregates.extremes import MAX, MIN
from funke.engine.sql.functions.aggregates.gathering import (
    ARRAY_AGG,
    COLLECT,
    JSON_ARRAYAGG,
    JSON_OBJECTAGG,
    LISTAGG,
)
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel
from funke.engine.sql.functions.aggregates.percentiles import PERCENTILE
from funke.engine.sql.functions.aggregates.positions import FIRST_VALUE, LAST_VALUE
from funke.engine.sql.functions.aggregates.spreads import SPREADS
from funke.engine.sql.functions.aggregates.sums import AVG, SUM, SUM0

__all__ = ["AGGREGATES", "create_kernel", "find_aggregate"]

AGGREGATES: tuple[AggregateFunction, ...] = (
    COUNT,
    SUM,
    SUM0,
    MIN,
    MAX,
    AVG,
    FIRST_VALUE,
    LAST_VALUE,
    LISTAGG,
    ARRAY_AGG,
    COLLECT,
    JSON_ARRAYAGG,
    JSON_OBJECTAGG,
    PERCENTILE,
    *SPREADS,
    *BITMAP_AGGREGATES,
)

_BY_NAME = {name: function for function in AGGREGATES for name in function.names}


def find_aggregate(name: str) -> AggregateFunction | None:
    """The aggregate function of a name in any case; None if there is none."""
    return _BY_NAME.get(name.lower())


def create_kernel(call: AggregateCall, has_retractions: bool = False) -> AggregateKernel:
    """The kernel of a call on batches; `has_retractions` if rows may be retracted."""
    call = replace(call, has_retractions=has_retractions)
    # DISTINCT is a layer in front of any kernel: it masks the rows that bring nothing new.
    own = None if call.function.kernel_for is None else call.function.kernel_for(call)
    kernel = BodyKernel(call) if own is None else own
    return DistinctKernel(call, kernel) if call.is_distinct else kernel
