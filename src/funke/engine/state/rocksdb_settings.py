"""What may be set of the state backend 'rocksdb'."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RocksDBSettings"]

_MIB = 1 << 20


@dataclass(frozen=True)
class RocksDBSettings:
    """What may be set of RocksDB; sizes in bytes, for all states of a slot together."""

    # Blocks read from disk, indexes and filters, and what is not yet written to files.
    memory_bytes: int = 96 * _MIB
    # The part of the memory for what is not yet written to files.
    write_buffer_ratio: float = 0.5
    # Changed entries per state that RocksDB need not have yet; three times as many unchanged ones are kept at hand.
    cached_entries: int = 50_000
    block_bytes: int = 4096
    background_jobs: int = 2
    compression: str = "lz4"
    has_bloom_filter: bool = True
    # Kinds of disks, by Flink's names.
    predefined_options: str = "DEFAULT"
