"""What snapshots store of state that expires, taken apart into values and times."""

from __future__ import annotations

from typing import Any

from funke.engine.state.snapshot.file_format import TableId

__all__ = ["value_and_time"]


def value_and_time(table_id: TableId, stored: Any) -> tuple[Any, int | None]:
    """The value as the user knows it, and when it was last used (of lists and maps: the latest element)."""
    if not table_id.has_ttl:
        return stored, None
    if table_id.kind == "list":
        return [value for value, _ in stored], max(time for _, time in stored)
    if table_id.kind == "map":
        return {key: value for key, (value, _) in stored.items()}, max(time for _, time in stored.values())
    value, time = stored
    return value, time
