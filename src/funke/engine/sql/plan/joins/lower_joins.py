"""The rules of `lower` for joins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from funke.engine.sql.binding import Relation
from funke.engine.sql.binding.joins.lookup_joins import LookupJoin
from funke.engine.sql.binding.joins.regular_joins import Join
from funke.engine.sql.binding.joins.snapshot_joins import SnapshotJoin
from funke.engine.sql.binding.joins.temporal_joins import VersionJoin
from funke.engine.sql.plan import PlanNode
from funke.engine.sql.plan.joins.join_keys import join_of, temporal_join_of
from funke.engine.sql.plan.joins.lateral_snapshot_join import lateral_snapshot_join_of
from funke.engine.sql.plan.joins.lookup_keys import lookup_join_of
from funke.engine.sql.plan.joins.time_joins import time_join_of, without_times

__all__ = ["JOIN_RULES", "STREAM_JOIN_RULES"]


def _stream_join(join: Join, settings: object) -> PlanNode:
    # Bounds of time first: they let a stream forget rows. A batch keeps all rows until its end in any case.
    return time_join_of(join) or join_of(without_times(join))


JOIN_RULES: Mapping[type[Relation], Callable[[Any], PlanNode]] = {
    Join: join_of,
    LookupJoin: lookup_join_of,
    SnapshotJoin: lateral_snapshot_join_of,
    VersionJoin: temporal_join_of,
}
STREAM_JOIN_RULES: Mapping[type[Relation], Callable[[Any, object], PlanNode]] = {Join: _stream_join}
