"""The database of one operator: rows in RocksDB, written in batches, and copies of it made with hard links."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any

from funke.engine.errors import StateError
from funke.engine.state.rocksdb_rows import after_prefix
from funke.engine.state.rocksdb_settings import RocksDBSettings

__all__ = ["RocksDBStore"]

_MIB = 1 << 20
_LARGEST_BUFFER = 4 * _MIB
# Flink's sets of settings for kinds of disks; those for spinning disks ask for larger files.
_FILE_BYTES = {
    "DEFAULT": 8 * _MIB,
    "FLASH_SSD_OPTIMIZED": 8 * _MIB,
    "SPINNING_DISK_OPTIMIZED": 64 * _MIB,
    "SPINNING_DISK_OPTIMIZED_HIGH_MEM": 256 * _MIB,
}
# What the databases of a process share, by settings.
_SHARED: dict[RocksDBSettings, tuple[Any, Any]] = {}


def _rocksdict() -> Any:
    try:
        import rocksdict
    except ImportError as error:
        raise StateError(
            "the state backend 'rocksdb' needs the package rocksdict; install it on all workers"
        ) from error
    return rocksdict


class RocksDBStore:
    """Rows by their bytes. There is no log: what a crash loses comes back from the last checkpoint."""

    def __init__(self, folder: str, settings: RocksDBSettings) -> None:
        self._rocks = _rocksdict()
        os.makedirs(folder, exist_ok=True)
        self._unlogged = self._rocks.WriteOptions()
        self._unlogged.disable_wal = True
        self._db = self._rocks.Rdict(folder, self._options(settings))
        self.get = self._db.get

    def _options(self, settings: RocksDBSettings) -> Any:
        rocks = self._rocks
        cache, buffers = self._shared(settings)
        table = rocks.BlockBasedOptions()
        table.set_block_cache(cache)
        table.set_block_size(settings.block_bytes)
        table.set_cache_index_and_filter_blocks(True)
        table.set_pin_l0_filter_and_index_blocks_in_cache(True)
        # In parts: the whole filter of a file does not fit into a shard of the cache, and would be read every time.
        table.set_index_type(rocks.BlockBasedIndexType.two_level_index_search())
        table.set_partition_filters(True)
        table.set_pin_top_level_index_and_filter(True)
        table.set_format_version(5)
        if settings.has_bloom_filter:
            table.set_bloom_filter(10, False)
        options = rocks.Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_block_based_table_factory(table)
        options.set_write_buffer_manager(buffers)
        # Small ones: what is in the buffer when a checkpoint begins is written to a file while processing waits.
        buffer_bytes = int(settings.memory_bytes * settings.write_buffer_ratio / 4)
        options.set_write_buffer_size(min(_LARGEST_BUFFER, buffer_bytes))
        options.set_max_write_buffer_number(4)
        options.set_compression_type(getattr(rocks.DBCompressionType, settings.compression)())
        options.set_max_background_jobs(settings.background_jobs)
        # Small files, so that an incremental checkpoint need not write again what did not change.
        options.set_target_file_size_base(_FILE_BYTES[settings.predefined_options])
        options.set_level_compaction_dynamic_level_bytes(True)
        options.set_max_open_files(256)
        options.set_keep_log_file_num(1)
        options.set_max_log_file_size(_MIB)
        options.set_stats_dump_period_sec(0)
        options.set_is_fd_close_on_exec(True)
        return options

    def _shared(self, settings: RocksDBSettings) -> tuple[Any, Any]:
        found = _SHARED.get(settings)
        if found is None:
            cache = self._rocks.Cache(settings.memory_bytes)
            size = int(settings.memory_bytes * settings.write_buffer_ratio)
            buffers = self._rocks.WriteBufferManager.new_write_buffer_manager_with_cache(size, False, cache)
            found = _SHARED[settings] = cache, buffers
        return found

    def write(self, rows: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Puts rows; None deletes."""
        batch = self._rocks.WriteBatch(raw_mode=True)
        for row, value in rows:
            if value is None:
                batch.delete(row)
            else:
                batch.put(row, value)
        if len(batch):
            self._db.write(batch, self._unlogged)

    def delete_prefix(self, prefix: bytes) -> None:
        """Deletes all rows that begin with `prefix`."""
        end = after_prefix(prefix)
        if end is not None:
            self._db.delete_range(prefix, end, self._unlogged)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All rows that begin with `prefix`, in order, as they are now."""
        # Not an upper bound in the read options: the iterator would use it after it was freed.
        return takewhile(lambda found: found[0].startswith(prefix), self._db.items(from_key=prefix))

    def link_to(self, folder: str) -> None:
        """Makes a copy of the database: its files are linked, since they never change."""
        self._rocks.Checkpoint(self._db).create_checkpoint(folder)

    def close(self) -> None:
        """Closes the database."""
        self._db.close()
