"""RocksDB as users set it up: the options a database has, and the memory that databases of a slot share."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from funke.engine.errors import ConfigurationError, StateError
from funke.engine.state.rocksdb import store as store_module
from funke.engine.state.rocksdb.memory import slot_memory
from funke.engine.state.rocksdb.settings import RocksDBSettings
from funke.engine.state.rocksdb.store import RocksDBStore

MIB = 1 << 20
MakeStore = Callable[..., RocksDBStore]


@pytest.fixture
def make_store(tmp_path: Path) -> Iterator[MakeStore]:
    stores: list[RocksDBStore] = []

    def make(name: str = "db", **settings: Any) -> RocksDBStore:
        stores.append(RocksDBStore(str(tmp_path / name), RocksDBSettings(**{"memory_bytes": 16 * MIB, **settings})))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def options_of(make_store: MakeStore, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """What RocksDB writes down about itself when a database is opened with such settings."""

    def read(**settings: Any) -> dict[str, str]:
        make_store(**settings)
        [path] = (tmp_path / "db").glob("OPTIONS-*")
        return dict(re.findall(r"^\s*(\w+)=(.*)$", path.read_text(), re.MULTILINE))

    return read


TUNED: dict[str, tuple[Any, str, str]] = {
    "thread.num": (5, "max_background_jobs", "5"),
    "files.open": (77, "max_open_files", "77"),
    "log.file-num": (3, "keep_log_file_num", "3"),
    "log.max-file-size": (4096, "max_log_file_size", "4096"),
    "writebuffer.size": (3 * MIB, "write_buffer_size", str(3 * MIB)),
    "writebuffer.count": (6, "max_write_buffer_number", "6"),
    "writebuffer.number-to-merge": (2, "min_write_buffer_number_to_merge", "2"),
    "block.blocksize": (8192, "block_size", "8192"),
    "block.metadata-blocksize": (2048, "metadata_block_size", "2048"),
    "compaction.style": ("UNIVERSAL", "compaction_style", "kCompactionStyleUniversal"),
    "compaction.level.use-dynamic-size": (False, "level_compaction_dynamic_level_bytes", "false"),
    "compaction.level.target-file-size-base": (MIB, "target_file_size_base", str(MIB)),
    "compaction.level.max-size-level-base": (9 * MIB, "max_bytes_for_level_base", str(9 * MIB)),
    "compression.per.level": (("NO_COMPRESSION", "ZSTD_COMPRESSION"), "compression_per_level", "kNoCompression:kZSTD"),
}


@pytest.mark.parametrize("name", TUNED)
def test_an_option_reaches_rocksdb(name: str, options_of: Callable[..., dict[str, str]]) -> None:
    value, option, expected = TUNED[name]
    assert options_of(tuning=((name, value),))[option] == expected


def test_larger_filters_are_better(make_store: MakeStore) -> None:
    sizes = {}
    for bits in (2.0, 20.0):
        store = make_store(f"{bits}", tuning=(("bloom-filter.bits-per-key", bits),))
        fill(store, 20_000)
        store.empty_buffers()
        sizes[bits] = store.measure("live-sst-files-size")
    assert sizes[20.0] - sizes[2.0] == pytest.approx(20_000 * 18 / 8, rel=0.2)


def test_indexes_and_filters_go_before_data(options_of: Callable[..., dict[str, str]]) -> None:
    options = options_of()
    for option in (
        "cache_index_and_filter_blocks",
        "cache_index_and_filter_blocks_with_high_priority",
        "pin_l0_filter_and_index_blocks_in_cache",
        "pin_top_level_index_and_filter",
        "partition_filters",
    ):
        assert options[option] == "true"


def test_without_filters_and_without_compaction(options_of: Callable[..., dict[str, str]]) -> None:
    options = options_of(
        tuning=(("use-bloom-filter", False), ("compaction.style", "NONE")),
        has_partitioned_filters=False,
        holds_indexes=False,
    )
    assert options["filter_policy"] == "nullptr"
    assert options["disable_auto_compactions"] == "true"
    assert options["partition_filters"] == "false"
    assert options["pin_l0_filter_and_index_blocks_in_cache"] == "false"


@pytest.mark.parametrize("compression", ["SNAPPY", "ZLIB", "BZLIB2", "LZ4", "LZ4HC", "ZSTD"])
def test_all_compressions_can_be_read_again(compression: str, make_store: MakeStore) -> None:
    store = make_store(tuning=(("compression.per.level", (f"{compression}_COMPRESSION",)),))
    rows = [(b"%06d" % number, b"value" * 20) for number in range(20_000)]
    store.write(rows)
    assert list(store.scan(b"")) == rows


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("DEFAULT", {"max_open_files": "256", "target_file_size_base": str(8 * MIB)}),
        ("FLASH_SSD_OPTIMIZED", {"max_open_files": "-1", "max_background_jobs": "4"}),
        ("SPINNING_DISK_OPTIMIZED", {"max_open_files": "-1", "target_file_size_base": str(64 * MIB)}),
        (
            "SPINNING_DISK_OPTIMIZED_HIGH_MEM",
            {
                "target_file_size_base": str(256 * MIB),
                "max_bytes_for_level_base": str(1024 * MIB),
                "write_buffer_size": str(64 * MIB),
                "min_write_buffer_number_to_merge": "3",
                "block_size": str(128 * 1024),
            },
        ),
    ],
)
def test_sets_for_kinds_of_disks(
    name: str, expected: dict[str, str], options_of: Callable[..., dict[str, str]]
) -> None:
    options = options_of(predefined_options=name, tuning=(("writebuffer.count", 7),))
    assert {option: options[option] for option in expected} == expected
    assert options["max_write_buffer_number"] == "7", "what the user sets comes before what is predefined"


class Handle:
    is_closed = False

    def close(self) -> None:
        Handle.is_closed = True


class Tuned:
    def create_db_options(self, current_options: Any, handles_to_close: list[Any]) -> Any:
        current_options.set_max_background_jobs(9)
        handles_to_close.append(Handle())
        return current_options

    def create_column_options(self, current_options: Any, handles_to_close: list[Any]) -> None:
        current_options.set_arena_block_size(1024 * 1024)


class Wrong(Tuned):
    def create_column_options(self, current_options: Any, handles_to_close: list[Any]) -> Any:
        return object()


class Failing(Tuned):
    def create_db_options(self, current_options: Any, handles_to_close: list[Any]) -> Any:
        current_options.set_no_such_thing(1)


def test_a_factory_has_the_last_word(options_of: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    options = options_of(tuning=(("thread.num", 3),), options_factory=pickle.dumps(Tuned()))
    assert (options["max_background_jobs"], options["arena_block_size"]) == ("9", str(MIB))
    RocksDBStore(str(tmp_path / "other"), RocksDBSettings(options_factory=pickle.dumps(Tuned()))).close()
    assert Handle.is_closed


def test_a_factory_that_goes_wrong_is_named(make_store: MakeStore) -> None:
    with pytest.raises(ConfigurationError, match=r"Wrong\.create_column_options must return the options it was given"):
        make_store(options_factory=pickle.dumps(Wrong()))
    with pytest.raises(StateError, match=r"Failing\.create_db_options failed: AttributeError"):
        make_store("other", options_factory=pickle.dumps(Failing()))


def fill(store: RocksDBStore, count: int) -> None:
    for start in range(0, count, 1000):
        store.write((b"%09d" % number, b"x" * 200) for number in range(start, start + 1000))


def test_databases_of_a_slot_share_one_cache_and_one_budget_of_write_buffers(make_store: MakeStore) -> None:
    stores = [make_store(f"db-{number}") for number in range(4)]
    budget = RocksDBSettings(memory_bytes=16 * MIB).database_bytes
    assert budget is not None and budget + RocksDBSettings(memory_bytes=16 * MIB).entry_bytes == 16 * MIB
    memory = slot_memory(stores[0]._rocks, budget, 0.5)
    # Cache and write buffers, which may be half more than they should.
    assert memory.cache_bytes + memory.buffer_bytes // 2 == pytest.approx(budget, abs=2)
    assert {store.measure("block-cache-capacity") for store in stores} == {memory.cache_bytes}
    largest_buffers = 0
    for _ in range(3):
        for store in stores:
            fill(store, 20_000)
            largest_buffers = max(largest_buffers, memory.buffers.get_usage())
    for store in stores:
        assert sum(1 for _ in store.scan(b"")) == 20_000
    # 16 MB of rows in each database, but no more memory than for one.
    assert 0 < largest_buffers <= memory.buffer_bytes * 1.5
    assert {store.measure("block-cache-usage") for store in stores} == {memory.cache.get_usage()}
    # Write buffers are a part of it.
    assert memory.cache.get_usage() <= 16 * MIB


def test_the_ratio_divides_the_memory(make_store: MakeStore) -> None:
    rocks = make_store()._rocks
    sizes = [slot_memory(rocks, 30 * MIB, ratio).buffers.get_buffer_size() for ratio in (0.2, 0.5, 0.8)]
    assert sizes == [4 * MIB, 10 * MIB, 16 * MIB]
    assert slot_memory(rocks, 30 * MIB, 0.5) is slot_memory(rocks, 30 * MIB, 0.5)


def test_without_managed_memory_every_database_has_its_own(make_store: MakeStore) -> None:
    first, second = (make_store(name, memory_bytes=None) for name in ("first", "second"))
    fill(first, 20_000)
    sum(1 for _ in first.scan(b""))
    assert first.measure("block-cache-capacity") == second.measure("block-cache-capacity") == 8 * MIB
    # Nothing was written to files: a write buffer has 64 MB.
    assert first.measure("cur-size-all-mem-tables") > 4 * MIB
    assert first.measure("num-entries-active-mem-table") == 20_000
    third = make_store("third", memory_bytes=None, tuning=(("block.cache-size", 3 * MIB),))
    assert third.measure("block-cache-capacity") == 3 * MIB


def test_rows_are_written_in_batches_and_have_a_largest_size(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store(write_batch_bytes=100)
    assert store.write((b"%09d" % number, b"x" * 200) for number in range(1000)) == 209_000
    assert sum(1 for _ in store.scan(b"")) == 1000
    monkeypatch.setattr(store_module, "_LARGEST_ROW", 1000)
    store.write([(b"large", b"x" * 1000)])
    with pytest.raises(StateError, match="takes 1001 bytes, and RocksDB allows 1000"):
        store.write([(b"larger", b"x" * 1001)])
