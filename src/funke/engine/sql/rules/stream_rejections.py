"""Rejects queries that a stream, or a batch, cannot run, before their job starts."""

from __future__ import annotations

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.changelog_functions import FromChangelog, ToChangelog
from funke.engine.sql.binding.patterns.match_relations import Matches
from funke.engine.sql.binding.relations import Aggregation, Relation, inputs_of
from funke.engine.sql.binding.windows.window_relations import OverAggregation
from funke.engine.sql.functions.users.user_aggregates import UserAggregate
from funke.engine.sql.plan import INSERTS, PREFIX, as_node
from funke.engine.sql.plan.changelogs.changelog_mode import require_kinds
from funke.engine.sql.plan.joins.interval_join import IntervalJoin
from funke.engine.sql.plan.joins.lateral_snapshot_join import LateralSnapshotJoin
from funke.engine.sql.plan.joins.window_join import WindowJoin

__all__ = ["has_pandas", "reject_changes", "reject_in_batches", "reject_in_streams"]

# Operators that accept inserts only, by the names in Flink's messages.
_OF_ROWS_THAT_STAY: dict[type[Relation], str] = {
    IntervalJoin: "StreamPhysicalIntervalJoin",
    Matches: "Match Recognize",
    OverAggregation: "StreamPhysicalOverAggregate",
    WindowJoin: "StreamPhysicalWindowJoin",
}


def reject_in_streams(relation: Relation) -> None:
    """Rejects a relation with a part that needs the end of the input, or that is not supported."""
    if isinstance(relation, Aggregation) and has_pandas(relation):
        # It wants all rows of a group at once.
        raise TableException("Pandas UDAFs are not supported in streaming mode currently.")
    if isinstance(relation, FromChangelog):
        require_kinds(relation.input, INSERTS, "StreamPhysicalProcessTableFunction")
    for each in inputs_of(relation):
        reject_in_streams(each)


def reject_changes(relation: Relation) -> None:
    """Rejects updates where time decides what is emitted: results are final there."""
    for kind, name in _OF_ROWS_THAT_STAY.items():
        if isinstance(relation, kind):
            for each in inputs_of(relation):
                require_kinds(each, INSERTS, name)
    if isinstance(relation, LateralSnapshotJoin):
        require_kinds(relation.left, INSERTS, "The probe (left) input of LATERAL SNAPSHOT join")
    for each in inputs_of(relation):
        reject_changes(each)


def reject_in_batches(relation: Relation) -> None:
    """Rejects a relation of which some part looks at changes: a batch has results alone."""
    if isinstance(relation, (ToChangelog, FromChangelog)):
        raise TableException(f"{as_node(relation).title(PREFIX)} needs the changes of a stream; batch mode has none.")
    for each in inputs_of(relation):
        reject_in_batches(each)


def has_pandas(aggregation: Aggregation) -> bool:
    """True if a pandas function is among the aggregates: it needs all rows of a group at once."""
    functions = [each.call.function for each in aggregation.aggregates]
    return any(isinstance(each, UserAggregate) and each.user is not None and each.user.is_pandas for each in functions)
