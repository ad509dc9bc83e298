"""Cuts state into chunks by key group, so that a snapshot is written without being built in memory first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from funke.engine.state.snapshot.file_format import GroupPart, TableId, empty_part
from funke.engine.state.storage_keys import group_of, groups_of
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["PartChunks", "chunks_of", "joined_parts"]

# Entries per chunk: enough that what belongs to a chunk as such does not count.
CHUNK_ENTRIES = 2000


class PartChunks:
    """Collects entries by key group and gives away a group's part as soon as it is large enough."""

    def __init__(self, key_groups: KeyGroups) -> None:
        self._key_groups = key_groups
        self._parts: dict[int, GroupPart] = {}
        self._sizes: dict[int, int] = {}

    def add(
        self, key: Any, entries: Iterable[tuple[TableId, Any]], event_timers: Iterable[tuple[int, Any]] = ()
    ) -> Iterator[tuple[int, GroupPart]]:
        """Adds what belongs to a stored key; yields the part that is full, if any."""
        group = group_of(key, self._key_groups)
        part = self._parts.get(group)
        if part is None:
            part = self._parts[group] = empty_part()
            self._sizes[group] = 0
        for table_id, stored in entries:
            part.tables.setdefault(table_id, {})[key] = stored
        part.event_timers.extend(event_timers)
        self._sizes[group] += 1
        if self._sizes[group] >= CHUNK_ENTRIES:
            yield group, self._parts.pop(group)

    def rest(self) -> Iterator[tuple[int, GroupPart]]:
        """What is left, at the end."""
        parts, self._parts = self._parts, {}
        yield from sorted(parts.items())


def chunks_of(
    tables: Iterable[tuple[TableId, Iterable[tuple[Any, Any]]]], key_groups: KeyGroups
) -> Iterator[tuple[int, GroupPart]]:
    """The entries of tables, cut into parts."""
    for table_id, entries in tables:
        buckets: dict[int, dict[Any, Any]] = {}
        for key, stored, group in _with_groups(entries, key_groups):
            bucket = buckets.get(group)
            if bucket is None:
                buckets[group] = {key: stored}
                continue
            bucket[key] = stored
            if len(bucket) >= CHUNK_ENTRIES:
                yield group, GroupPart({table_id: buckets.pop(group)}, [], [])
        for group, bucket in sorted(buckets.items()):
            yield group, GroupPart({table_id: bucket}, [], [])


def _with_groups(entries: Iterable[tuple[Any, Any]], key_groups: KeyGroups) -> Iterator[tuple[Any, Any, int]]:
    left = iter(entries)
    while some := list(islice(left, CHUNK_ENTRIES)):
        for (key, stored), group in zip(some, groups_of([key for key, _ in some], key_groups)):
            yield key, stored, group


def joined_parts(parts: Iterable[tuple[int, GroupPart]]) -> dict[int, GroupPart]:
    """One part for each key group; for state that is known to be small."""
    joined: dict[int, GroupPart] = {}
    for group, part in parts:
        target = joined.setdefault(group, empty_part())
        for table_id, table in part.tables.items():
            target.tables.setdefault(table_id, {}).update(table)
        target.event_timers.extend(part.event_timers)
        target.processing_timers.extend(part.processing_timers)
    return joined
