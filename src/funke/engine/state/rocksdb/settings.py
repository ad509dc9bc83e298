"""What may be set of the state backend 'rocksdb'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["RocksDBSettings"]

_MIB = 1 << 20


@dataclass(frozen=True)
class RocksDBSettings:
    """What may be set of RocksDB; sizes in bytes."""

    # For all databases of a slot together: blocks read from disk, indexes and filters, and what is not yet written to
    # files. None: every database has memory of its own.
    memory_bytes: int | None = 96 * _MIB
    # The part of the memory for what is not yet written to files.
    write_buffer_ratio: float = 0.5
    # Whether the top of all indexes and filters, and those of new files, stay in memory.
    holds_indexes: bool = True
    has_partitioned_filters: bool = True
    # Changed entries per state that RocksDB need not have yet, fewer if they are large; three times as many unchanged
    # ones are kept at hand.
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
