"""The values that groups have had, as integers in one table for all groups; snapshots have a dict for each group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.kernels.value_bits import take_values

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["GroupValues", "ValueTable"]

_FIRST_SLOTS = 1 << 10
_FACTOR, _OTHER_FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_FEW_GROUPS = 1 << 10

# Integers as keys of snapshots, and back.
ToKeys = Callable[[Any], list[Any]]
FromKeys = Callable[[list[Any]], Any]


class GroupValues:
    """The state of a group, which refers to the table; in a snapshot it is a dict from values to bits."""

    __slots__ = ("_table", "number")

    def __init__(self, table: ValueTable, number: int) -> None:
        self._table, self.number = table, number

    def __del__(self) -> None:
        # State drops this object when the group goes, by its time to live for instance: that frees its values.
        self._table.released.append(self.number)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self._table.items(self.number),)


_number_of = attrgetter("number")


class ValueTable:
    """NULL of a group is 0 of a group of its own."""

    def __init__(self, to_keys: ToKeys, from_keys: FromKeys) -> None:
        self._to_keys, self._from_keys = to_keys, from_keys
        self._next = self._forgotten = 0
        # The numbers of groups that are gone.
        self.released: list[int] = []
        # By group, for a snapshot; None once something has changed.
        self._sorted: tuple[Any, Any, Any] | None = None
        self._clear(_FIRST_SLOTS)

    def _clear(self, slots: int) -> None:
        self._groups: Array = np.empty(slots, np.int64)
        self._values: Array = np.empty(slots, np.int64)
        self._bits: Array = np.zeros(slots, np.int64)
        self._slots_in_use: Array = np.zeros(1, np.int64)

    def numbers(self, group_values: Any) -> Array:
        """The numbers of groups, of which some are new (None), and others come from a snapshot (dicts)."""
        groups = group_values.tolist()
        if set(map(type, groups)) != {GroupValues}:
            for index, each in enumerate(groups):
                if type(each) is not GroupValues:
                    new_group = group_values[index] = groups[index] = GroupValues(self, self._next)
                    self._next += 1
                    if each:
                        self._restore(new_group.number, each)
        return np.fromiter(map(_number_of, groups), np.int64, len(groups))

    def _restore(self, group: int, bits: Mapping[Any, int]) -> None:
        keys = [key for key in bits if key is not None]
        values = self._from_keys(keys)
        self.take_in(np.full(len(keys), group), values, np.array([bits[key] for key in keys], np.int64))
        if None in bits:
            self.take_in(np.array([-1 - group]), np.zeros(1, np.int64), np.array([bits[None]]))

    def take_in(self, groups: Array, values: Array, bits: Array) -> Array:
        """The bits that are new for pairs of a group and a value; the group of a NULL is -1 - its number."""
        self._sorted = None
        new: Array = np.empty(len(groups), np.int64)
        if len(self.released) > _FEW_GROUPS and 2 * len(self.released) > self._next - self._forgotten:
            self._forget_released()
        hashes, row = _hashes(groups, values), 0
        while row < len(groups):
            slots = len(self._bits)
            row = take_values.run(
                len(groups),
                groups,
                values,
                hashes,
                bits,
                row,
                len(groups),
                self._groups,
                self._values,
                self._bits,
                slots - 1,
                slots // 2,
                self._slots_in_use,
                new,
            )
            if row < len(groups):
                self._put(4 * slots, *self._pairs())
        return new

    def _pairs(self) -> tuple[Array, Array, Array]:
        slots = np.flatnonzero(self._bits)
        return self._groups[slots], self._values[slots], self._bits[slots]

    def _put(self, slots: int, groups: Array, values: Array, bits: Array) -> None:
        """Makes a new table with these pairs."""
        self._clear(slots)
        if len(groups):
            self.take_in(groups, values, bits)

    def _forget_released(self) -> None:
        groups, values, bits = self._pairs()
        kept = ~np.isin(np.where(groups < 0, -1 - groups, groups), self.released)
        self._forgotten += len(self.released)
        self.released.clear()
        self._put(len(self._bits), groups[kept], values[kept], bits[kept])

    def items(self, group: int) -> list[tuple[Any, int]]:
        """The values of a group with their bits."""
        if self._sorted is None:
            groups, values, bits = self._pairs()
            order = groups.argsort(kind="stable")
            self._sorted = groups[order], values[order], bits[order]
        groups, values, bits = self._sorted
        ends: Any = np.searchsorted(groups, [group, group + 1, -1 - group, -group])
        own, nulls = slice(ends[0], ends[1]), slice(ends[2], ends[3])
        return [*((None, each) for each in bits[nulls].tolist()), *zip(self._to_keys(values[own]), bits[own].tolist())]


def _hashes(groups: Array, values: Array) -> Array:
    """Not below 0; all bits of both have a share in the lowest ones."""
    mixed = values.view(np.uint64) * _FACTOR + groups.view(np.uint64) * _OTHER_FACTOR
    return ((mixed ^ (mixed >> np.uint64(32))) >> np.uint64(1)).view(np.int64)
