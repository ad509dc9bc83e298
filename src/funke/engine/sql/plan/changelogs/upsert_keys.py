"""Upsert keys: the columns by which an update replaces an earlier row of the same node.

All rows with the same key come from one subtask, so updates cannot be reordered. A node may have several keys; the key
of a node with at most one row has no columns.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["NO_KEYS", "UpsertKeys", "containing", "identifying_key", "one_key", "smallest_key"]

UpsertKeys = frozenset[frozenset[int]]
NO_KEYS: UpsertKeys = frozenset()


def one_key(indexes: Iterable[int]) -> UpsertKeys:
    """A single key of these columns."""
    return frozenset({frozenset(indexes)})


def containing(keys: UpsertKeys, indexes: Iterable[int]) -> UpsertKeys:
    """The keys that survive a hash exchange by these columns: rows of the others may come from two subtasks."""
    # With an exchange by user, -U of id 7 may come from one subtask and +U, with another user, from a second one: {id}
    # is no upsert key any more, {id, user} still is.
    needed = frozenset(indexes)
    return frozenset(each for each in keys if each >= needed)


def smallest_key(keys: UpsertKeys) -> tuple[int, ...] | None:
    """The key with the fewest columns, the first ones if there are several; None without a key."""
    return min((tuple(sorted(each)) for each in keys), key=lambda each: (len(each), each), default=None)


def identifying_key(keys: UpsertKeys, join_keys: Iterable[int]) -> tuple[int, ...] | None:
    """The key by which a join tells the rows of an input apart: one within its own key if there is one."""
    within = frozenset(each for each in keys if each <= frozenset(join_keys))
    return smallest_key(within or keys)
