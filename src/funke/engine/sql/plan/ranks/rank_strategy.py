"""How the first rows of a key are known: by the changes of the input, its upsert keys, and how its columns change."""

from __future__ import annotations

from enum import Enum

from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.plan import INSERTS, PlanNode, containing, smallest_key
from funke.engine.sql.plan.changelogs.monotonicity import Direction, directions_of

__all__ = ["RankStrategy", "rank_strategy"]


class RankStrategy(Enum):
    """The strategies, with the names of Flink's plans."""

    # Rows stay, so that those behind the last one that counts are forgotten.
    APPEND = "AppendFastStrategy"
    # Rows are replaced by key, and never stand further behind than before.
    UPDATE = "UpdateFastStrategy"
    # Rows come and go: all of them are kept.
    RETRACT = "RetractStrategy"


def rank_strategy(
    source: PlanNode, keys: tuple[int, ...], order: tuple[SortKey, ...]
) -> tuple[RankStrategy, tuple[int, ...]]:
    """The strategy for the rows of a node, and the columns by which they replace each other (UPDATE)."""
    if source.changelog() == INSERTS:
        return RankStrategy.APPEND, ()
    row_key = smallest_key(containing(source.upsert_keys(), keys))
    if not row_key or not order:
        return RankStrategy.RETRACT, ()
    directions = directions_of(source)
    never_worse = all(
        directions[key.index] in (Direction.CONSTANT, Direction.FALLING if key.is_ascending else Direction.RISING)
        for key in order
    )
    return (RankStrategy.UPDATE, row_key) if never_worse else (RankStrategy.RETRACT, ())
