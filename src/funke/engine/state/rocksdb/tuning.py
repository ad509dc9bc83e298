"""RocksDB's options: our own defaults, Flink's sets for kinds of disks, what the user sets, and the user's factory."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

from funke.engine.errors import ConfigurationError, StateError
from funke.engine.state.rocksdb.memory import SlotMemory
from funke.engine.state.rocksdb.settings import RocksDBSettings

__all__ = ["COMPRESSIONS", "create_options"]

_MIB = 1 << 20
_LARGEST_BUFFER = 8 * _MIB
# RocksDB notes every change of its files there, 150 bytes for each, and every checkpoint has a copy of it: it begins
# anew from there on, with the files that there are (as many as 7 GB have).
_LARGEST_MANIFEST = 128 << 10

_DEFAULTS: dict[str, Any] = {
    "thread.num": 2,
    "files.open": 256,
    "log.file-num": 1,
    "log.max-file-size": _MIB,
    "writebuffer.count": 4,
    "block.blocksize": 4096,
    "compaction.level.use-dynamic-size": True,
    # Small files, so that an incremental checkpoint need not write again what did not change.
    "compaction.level.target-file-size-base": 8 * _MIB,
    "compression.per.level": ("LZ4_COMPRESSION",),
    "use-bloom-filter": True,
    "bloom-filter.bits-per-key": 10.0,
}
# A database that has memory of its own has as much as in Flink.
_UNMANAGED: dict[str, Any] = {"writebuffer.size": 64 * _MIB, "writebuffer.count": 2, "block.cache-size": 8 * _MIB}

_MANY_THREADS: dict[str, Any] = {"thread.num": 4, "files.open": -1}
_SPINNING: dict[str, Any] = {
    **_MANY_THREADS,
    "compaction.style": "LEVEL",
    "compaction.level.use-dynamic-size": True,
    "compaction.level.target-file-size-base": 64 * _MIB,
}
_PREDEFINED: dict[str, dict[str, Any]] = {
    "DEFAULT": {},
    "FLASH_SSD_OPTIMIZED": _MANY_THREADS,
    "SPINNING_DISK_OPTIMIZED": _SPINNING,
    "SPINNING_DISK_OPTIMIZED_HIGH_MEM": {
        **_SPINNING,
        "compaction.level.target-file-size-base": 256 * _MIB,
        "compaction.level.max-size-level-base": 1024 * _MIB,
        "writebuffer.size": 64 * _MIB,
        "writebuffer.count": 4,
        "writebuffer.number-to-merge": 3,
        "block.blocksize": 128 * 1024,
        "block.cache-size": 256 * _MIB,
        "use-bloom-filter": True,
    },
}

COMPRESSIONS = {
    "NO_COMPRESSION": "none",
    "SNAPPY_COMPRESSION": "snappy",
    "ZLIB_COMPRESSION": "zlib",
    "BZLIB2_COMPRESSION": "bz2",
    "LZ4_COMPRESSION": "lz4",
    "LZ4HC_COMPRESSION": "lz4hc",
    "ZSTD_COMPRESSION": "zstd",
}


def _chosen_tuning(settings: RocksDBSettings, memory: SlotMemory | None) -> dict[str, Any]:
    """All options by Flink's names: the user's before what is predefined, that before our own."""
    # Small buffers: what is in one when a checkpoint begins is written to a file while processing waits.
    own = _UNMANAGED if memory is None else {"writebuffer.size": min(_LARGEST_BUFFER, memory.buffer_bytes // 3)}
    return {**_DEFAULTS, **own, **_PREDEFINED[settings.predefined_options], **dict(settings.tuning)}


def create_options(rocks: Any, settings: RocksDBSettings, memory: SlotMemory | None, kept: list[Any]) -> Any:
    """The options of a database; `kept` gets what must live as long as the database."""
    tuning = _chosen_tuning(settings, memory)
    options = rocks.Options(raw_mode=True)
    options.set_stats_dump_period_sec(0)
    options.set_max_manifest_file_size(_LARGEST_MANIFEST)
    table = _table(rocks, settings, memory, tuning)
    for name, value in tuning.items():
        setter = _SETTERS.get(name)
        if setter is not None:
            setter(rocks, options, table, value)
    options.set_block_based_table_factory(table)
    if settings.options_factory is not None:
        _ask_factory(pickle.loads(settings.options_factory), options, kept)
    # What users may not change: the budget of the slot, and what forked processes rely on.
    if memory is not None:
        options.set_write_buffer_manager(memory.buffers)
    options.create_if_missing(True)
    options.set_is_fd_close_on_exec(True)
    return options


def _table(rocks: Any, settings: RocksDBSettings, memory: SlotMemory | None, tuning: Mapping[str, Any]) -> Any:
    table = rocks.BlockBasedOptions()
    table.set_format_version(5)
    table.set_block_cache(memory.cache if memory is not None else rocks.Cache(tuning["block.cache-size"]))
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(settings.holds_indexes)
    if settings.has_partitioned_filters:
        # The whole filter of a file does not fit into a shard of the cache, and would be read every time.
        table.set_index_type(rocks.BlockBasedIndexType.two_level_index_search())
        table.set_partition_filters(True)
        table.set_pin_top_level_index_and_filter(settings.holds_indexes)
    if tuning["use-bloom-filter"]:
        table.set_bloom_filter(tuning["bloom-filter.bits-per-key"], False)
    return table


def _ask_factory(factory: Any, options: Any, kept: list[Any]) -> None:
    for method in ("create_db_options", "create_column_options"):
        try:
            answer = getattr(factory, method)(options, kept)
        except Exception as error:
            raise StateError(f"{type(factory).__name__}.{method} failed: {type(error).__name__}: {error}") from error
        # Others would not be set up for the bytes that are stored.
        if answer is not None and answer is not options:
            raise ConfigurationError(f"{type(factory).__name__}.{method} must return the options it was given")


Setter = Callable[[Any, Any, Any, Any], None]


def _of_options(method: str) -> Setter:
    return lambda rocks, options, table, value: getattr(options, method)(value)


def _of_table(method: str) -> Setter:
    return lambda rocks, options, table, value: getattr(table, method)(value)


def _set_compaction_style(rocks: Any, options: Any, table: Any, style: str) -> None:
    if style == "NONE":
        options.set_disable_auto_compactions(True)
    else:
        options.set_compaction_style(getattr(rocks.DBCompactionStyle, style.lower())())


def _set_compressions(rocks: Any, options: Any, table: Any, names: tuple[str, ...]) -> None:
    levels = [getattr(rocks.DBCompressionType, COMPRESSIONS[name])() for name in names]
    # Levels that are not named have the compression of the last one that is.
    options.set_compression_type(levels[-1])
    if len(levels) > 1:
        options.set_compression_per_level(levels)


_SETTERS: dict[str, Setter] = {
    "thread.num": _of_options("set_max_background_jobs"),
    "files.open": _of_options("set_max_open_files"),
    "log.dir": _of_options("set_db_log_dir"),
    "log.file-num": _of_options("set_keep_log_file_num"),
    "log.max-file-size": _of_options("set_max_log_file_size"),
    "writebuffer.size": _of_options("set_write_buffer_size"),
    "writebuffer.count": _of_options("set_max_write_buffer_number"),
    "writebuffer.number-to-merge": _of_options("set_min_write_buffer_number_to_merge"),
    "block.blocksize": _of_table("set_block_size"),
    "block.metadata-blocksize": _of_table("set_metadata_block_size"),
    "compaction.style": _set_compaction_style,
    "compaction.level.use-dynamic-size": _of_options("set_level_compaction_dynamic_level_bytes"),
    "compaction.level.target-file-size-base": _of_options("set_target_file_size_base"),
    "compaction.level.max-size-level-base": _of_options("set_max_bytes_for_level_base"),
    "compression.per.level": _set_compressions,
}
