"""Blocks of aggregates as keyed state: split by key group for a snapshot, and read back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.errors import StateError
from funke.engine.sql.operators.windows.slices.aggregate_block import AggregateBlock
from funke.engine.sql.state.moved_state import moved_part
from funke.engine.state.snapshot.file_format import GroupPart, TableId
from funke.engine.types import KeyGroups, TypeInformation
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.columns.column_hash import groups_of_columns

if TYPE_CHECKING:
    from funke.engine.types.columns import Array

__all__ = ["blocks_of_parts", "moved_blocks", "parts_of_blocks"]

_TABLE = TableId("window-aggregates", None, False, "value")


def parts_of_blocks(
    blocks: Iterable[tuple[Any, AggregateBlock]], key_types: Sequence[TypeInformation], key_groups: KeyGroups
) -> Iterator[tuple[int, GroupPart]]:
    """The entries of blocks by key group; each block has a name, such as the end of its slice.

    `key_types` are those of the first columns of the key, by which rows were sent here.
    """
    for name, block in blocks:
        for group, part in _by_group(block, key_types, key_groups):
            # An entry is the whole block of a slice, or of sessions: this state is never read key by key.
            yield group, GroupPart({_TABLE: {name: _stored(part)}}, [], [])


def blocks_of_parts(
    parts: Iterable[tuple[int, GroupPart]], widths: Sequence[int]
) -> Iterator[tuple[Any, AggregateBlock]]:
    """The blocks of a snapshot, part by part, with their names; StateError unless accumulators have so many fields."""
    for _, part in parts:
        for name, stored in part.tables.get(_TABLE, {}).items():
            keys, counts, fields = stored
            if [len(each) for each in fields] != list(widths):
                raise StateError(
                    f"the accumulators of '{_TABLE.name}' have {[len(each) for each in fields]} fields, and this query "
                    f"keeps {list(widths)}: it is the state of another query"
                )
            columns = () if keys is None else tuple(keys.data.columns)
            yield name, AggregateBlock(columns, counts, fields)


def moved_blocks(part: GroupPart, indexes: Sequence[int]) -> GroupPart:
    """The same entries, with the accumulators of the aggregates at these indexes."""

    def moved(stored: tuple[Any, ...]) -> tuple[Any, ...]:
        keys, counts, fields = stored
        return keys, counts, tuple(fields[index] for index in indexes)

    return moved_part(part, {_TABLE.name: moved})


def _by_group(
    block: AggregateBlock, key_types: Sequence[TypeInformation], key_groups: KeyGroups
) -> Iterator[tuple[int, AggregateBlock]]:
    if not key_types:
        yield 0, block
        return
    groups = groups_of_columns(block.keys[: len(key_types)], key_types, key_groups)
    order = groups.argsort(kind="stable")
    borders: Array = np.flatnonzero(np.diff(groups[order])) + 1
    for indexes in np.split(order, borders) if len(order) else ():
        yield int(groups[indexes[0]]), block.take(indexes)


def _stored(block: AggregateBlock) -> tuple[Any, ...]:
    names = [str(index) for index in range(len(block.keys))]
    # Without GROUP BY there is no key column, and a batch without columns has no rows.
    keys = ColumnBatch(pa.RecordBatch.from_arrays(list(block.keys), names=names)) if block.keys else None
    return keys, block.counts, block.fields
