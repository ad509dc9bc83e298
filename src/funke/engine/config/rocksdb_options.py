"""The options of Flink's RocksDB backend that mean something here."""

from __future__ import annotations

from typing import Any

from funke.engine.config.config_option import (
    ConfigOption,
    boolean_option,
    choice_option,
    float_option,
    integer_option,
    list_option,
    memory_option,
    string_option,
)

PREFIX = "state.backend.rocksdb."

LOCAL_DIRECTORIES = string_option(f"{PREFIX}localdir", None, "Folders of RocksDB on workers.", f"{PREFIX}checkpointdir")
IS_MEMORY_MANAGED = boolean_option(
    f"{PREFIX}memory.managed", True, "Whether all databases of a slot share its managed memory."
)
MEMORY_PER_SLOT = memory_option(
    f"{PREFIX}memory.fixed-per-slot", None, "The size they share, instead of the slot's managed memory."
)
MEMORY_PER_WORKER = memory_option(f"{PREFIX}memory.fixed-per-tm", None, "The size that the slots of a worker share.")
WRITE_BUFFER_RATIO = float_option(f"{PREFIX}memory.write-buffer-ratio", 0.5, "The part of it for write buffers.")
HIGH_PRIORITY_RATIO = float_option(
    f"{PREFIX}memory.high-prio-pool-ratio", 0.1, "With 0, indexes and filters of new files are not held in memory."
)
HAS_PARTITIONED_FILTERS = boolean_option(
    f"{PREFIX}memory.partitioned-index-filters", True, "Whether indexes and filters are read in parts."
)
PREDEFINED_OPTIONS = choice_option(
    f"{PREFIX}predefined-options",
    "DEFAULT",
    ("DEFAULT", "SPINNING_DISK_OPTIMIZED", "SPINNING_DISK_OPTIMIZED_HIGH_MEM", "FLASH_SSD_OPTIMIZED"),
    "Settings for a kind of disk.",
)
OPTIONS_FACTORY = string_option(f"{PREFIX}options-factory", None, "A class that changes RocksDB's options.")
TIMER_STORE = choice_option(f"{PREFIX}timer-service.factory", "ROCKSDB", ("ROCKSDB", "HEAP"), "Where timers are kept.")
TIMER_CACHE_SIZE = integer_option(
    f"{PREFIX}timer-service.cache-size", 128, "By how much more or less than Flink's 128 timers are kept in memory."
)
WRITE_BATCH_SIZE = memory_option(f"{PREFIX}write-batch-size", 2 << 20, "Bytes that are written at once.")

# What goes to RocksDB as it is; the names are the keys without the prefix.
TUNING: tuple[ConfigOption[Any], ...] = (
    integer_option(f"{PREFIX}thread.num", None, "Threads that write and compact files."),
    integer_option(f"{PREFIX}files.open", None, "Open files of a database; -1 for no limit."),
    string_option(f"{PREFIX}log.dir", None, "Folder of RocksDB's own log."),
    integer_option(f"{PREFIX}log.file-num", None, "Files of RocksDB's own log to keep."),
    memory_option(f"{PREFIX}log.max-file-size", None, "Size of a file of it."),
    memory_option(f"{PREFIX}writebuffer.size", None, "Size of a write buffer."),
    integer_option(f"{PREFIX}writebuffer.count", None, "Write buffers of a database."),
    integer_option(f"{PREFIX}writebuffer.number-to-merge", None, "Write buffers that make a file."),
    memory_option(f"{PREFIX}block.blocksize", None, "Size of a block of a file."),
    memory_option(f"{PREFIX}block.metadata-blocksize", None, "Size of a part of an index or filter."),
    memory_option(f"{PREFIX}block.cache-size", None, "Blocks in memory of a database, unless memory is managed."),
    choice_option(
        f"{PREFIX}compaction.style", "LEVEL", ("LEVEL", "UNIVERSAL", "FIFO", "NONE"), "How files are merged."
    ),
    boolean_option(f"{PREFIX}compaction.level.use-dynamic-size", True, "Whether levels grow from the last one."),
    memory_option(f"{PREFIX}compaction.level.target-file-size-base", None, "Size of a file."),
    memory_option(f"{PREFIX}compaction.level.max-size-level-base", None, "Size of the first level."),
    list_option(f"{PREFIX}compression.per.level", "Compression, by level; the last one for the levels that follow."),
    boolean_option(f"{PREFIX}use-bloom-filter", True, "Whether files have filters."),
    float_option(f"{PREFIX}bloom-filter.bits-per-key", None, "Size of a filter."),
)
