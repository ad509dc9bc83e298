"""What may be set of the state backend 'rocksdb'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["RocksDBSettings"]

_MIB = 1 << 20
_UNMANAGED_ENTRIES = 64 * _MIB


@dataclass(frozen=True)
class RocksDBSettings:
    """What may be set of RocksDB; sizes in bytes."""

    # For all states of a slot together: entries at hand as objects; blocks read from disk, indexes and filters, and
    # what is not yet written to files. None: every database has memory of its own.
    memory_bytes: int | None = 256 * _MIB
    # The part of the memory for what is not yet written to files.
    write_buffer_ratio: float = 0.5
    # Whether the top of all indexes and filters, and those of new files, stay in memory.
    holds_indexes: bool = True
    has_partitioned_filters: bool = True
    # Changed entries per state that RocksDB need not have yet, fewer if they are large.
    cached_entries: int = 50_000
    write_batch_bytes: int = 2 * _MIB
    # Kinds of disks, by Flink's names.
    predefined_options: str = "DEFAULT"
    # Options of RocksDB by Flink's names (see `tuning`), in place of what is predefined.
    tuning: tuple[tuple[str, Any], ...] = ()
    # A pickled object that has the last word about RocksDB's options.
    options_factory: bytes | None = None
    has_timers_in_memory: bool = False
    # Timers that are kept in memory, those that are due first; the others are in RocksDB.
    cached_timers: int = 50_000

    @property
    def entry_bytes(self) -> int:
        """The memory for entries at hand: most of all, since an entry that has to be read costs 50 times as much."""
        return _UNMANAGED_ENTRIES if self.memory_bytes is None else self.memory_bytes * 2 // 3

    @property
    def database_bytes(self) -> int | None:
        """The memory that RocksDB itself has."""
        return None if self.memory_bytes is None else self.memory_bytes - self.entry_bytes
