"""Key groups: the shares of all keys that state and work are divided into.

Which group a key belongs to is written down in every checkpoint, so the rule has versions. A job keeps the version of
the state it starts from for as long as it lives, at all its exchanges; a job that starts from nothing takes the newest.

| version | key group of a key with the stable hash h |
|---|---|
| 1 | `h mod max parallelism`; keys that differ in one digit may all go to the same subtask, since a CRC is linear |
| 2 | `mixed(h) mod max parallelism` |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from funke.engine.types.keys.stable_hash import stable_hash

__all__ = ["FIRST_KEY_HASH", "NEWEST_KEY_HASH", "KeyGroups"]

FIRST_KEY_HASH = 1
NEWEST_KEY_HASH = 2

_LOW_32 = 0xFFFFFFFF
# Arrays cost 40 µs, however few keys there are.
_FEWEST_IN_BULK = 32
_Hashed = TypeVar("_Hashed", int, Any)


def _mixed(hashed: _Hashed) -> _Hashed:
    """The finaliser of MurmurHash3 for 32 bits: every bit of a hash changes half of all bits.

    Of a number, or of an array of 64-bit numbers without a sign: products of 32 bits fit.
    """
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & _LOW_32
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & _LOW_32
    return hashed ^ hashed >> 16


@dataclass(frozen=True)
class KeyGroups:
    """How many key groups an operator has, its maximum parallelism, and by which hash keys are dealt out to them."""

    max_parallelism: int
    key_hash: int = NEWEST_KEY_HASH

    def of(self, key: Any) -> int:
        """The group of a key."""
        hashed = stable_hash(key)
        return (hashed if self.key_hash == FIRST_KEY_HASH else _mixed(hashed)) % self.max_parallelism

    def of_each(self, keys: list[Any]) -> list[int]:
        """The group of every key."""
        if len(keys) < _FEWEST_IN_BULK:
            return list(map(self.of, keys))
        from funke.engine.types.keys.bulk_hash import hash_keys

        return list(self.of_hashes(hash_keys(keys)).tolist())

    def of_hashes(self, hashes: Any) -> Any:
        """The groups of keys with these stable hashes, arrays of int64 both."""
        if self.key_hash == FIRST_KEY_HASH:
            return hashes % self.max_parallelism
        return (_mixed(hashes.view("uint64")) % self.max_parallelism).view("int64")

    def subtask_of(self, group: int, parallelism: int) -> int:
        """Which of the subtasks of an operator has a group."""
        return group * parallelism // self.max_parallelism
