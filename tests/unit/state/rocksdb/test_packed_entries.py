"""Large tables keep their entries packed in arrays: as a dict would, within the memory, and in every snapshot."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.rocksdb import backend as backend_module
from funke.engine.state.rocksdb import copies, tables
from funke.engine.state.rocksdb import packed_entries as packed_module
from funke.engine.state.rocksdb.copies import DatabaseCopy
from funke.engine.state.rocksdb.entry_memory import ABSENT, EntryMemory
from funke.engine.state.rocksdb.packed_entries import PackedEntries, packed_entries
from funke.engine.state.rocksdb.states import FrozenTable
from funke.engine.state.storage_keys import storage_key
from funke.engine.types.information.type_information import PickledBytesTypeInfo
from funke.engine.types.keys.key_groups import KeyGroups
from tests.harness.backends import backend_factory
from tests.harness.kernel_forms import use_form

VALUE = ValueStateDescriptor("value", PickledBytesTypeInfo())
MakeKey = Callable[[int], Any]
KEYS: dict[str, MakeKey] = {
    "integers": lambda number: number * 7919 - 50_000,
    "texts": "käy-{}".format,
    "some of other kinds": lambda number: [number, 1 << 70, "text", (number, "a"), storage_key(True)][number % 5],
}
VALUES: dict[str, Callable[[int], Any]] = {
    "integers": lambda number: number,
    "floats": lambda number: number / 3,
    "several kinds": lambda number: [number, 1 << 80, "text", (number, None), [number], True, 0.5][number % 7],
}


@pytest.fixture(autouse=True)
def small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that few entries do what many do."""
    monkeypatch.setattr(tables, "_PACKED_FROM", 20)
    monkeypatch.setattr(tables, "_MOST_OBJECTS", 20)
    monkeypatch.setattr(tables, "_FEW", 10)
    monkeypatch.setattr(packed_module, "_STEP", 64)
    monkeypatch.setattr(packed_module, "_FIRST_SIZE", 16)
    monkeypatch.setattr(packed_module, "_MOST_SORTED", 100)
    monkeypatch.setattr(copies, "CHUNK_ENTRIES", 30)
    use_form("plain", monkeypatch)


@pytest.fixture
def make_backend() -> Iterator[Callable[..., Any]]:
    with backend_factory("rocksdb") as make:
        yield make


def new_table(backend: Any, memory: EntryMemory) -> FrozenTable:
    return FrozenTable(backend.store, 0, b"", KeyGroups(8), set(), 30, memory)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize(("budget", "most_changed"), [(30_000, 0), (30_000, 1 << 20), (1 << 20, 0), (1 << 20, 1 << 20)])
def test_a_table_is_a_dict(
    keys: str, values: str, budget: int, most_changed: int, make_backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_MOST_CHANGED", most_changed)
    chance, memory = random.Random(f"{keys} {values} {budget}"), EntryMemory(budget)
    backend = make_backend()
    table, model = new_table(backend, memory), dict[Any, Any]()
    for step in range(80):
        batch = [KEYS[keys](chance.randrange(600 if step < 40 else 2000)) for _ in range(chance.randrange(1, 40))]
        table.prefetch(batch)
        assert table.get_all(batch) == [model.get(key, ABSENT) for key in batch]
        for key in batch:
            assert table.get(key, ABSENT) == model.get(key, ABSENT)
            if chance.random() < 0.2:
                model.pop(key, None)
                del table[key]
            elif chance.random() < 0.7:
                model[key] = table[key] = VALUES[values](chance.randrange(1000))
        if step % 10 == 0:
            table.flush_some(chance.randrange(50))
            fresh = list(table.fresh_rows())
            assert fresh == sorted(fresh)
    assert dict(table.items()) == model
    table.release()
    assert dict(table.items()) == model


@pytest.mark.parametrize("form", ["none", "plain"])
def test_packed_integers_stay_within_the_memory(form: str, make_backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use_form(form, monkeypatch)
    memory = EntryMemory(250_000)
    backend = make_backend()
    first, second = (FrozenTable(backend.store, number, b"", KeyGroups(8), set(), 30, memory) for number in (0, 1))
    most = 0
    for start in range(0, 20_000, 500):
        table = first if start < 10_000 else second
        batch = list(range(start, start + 500))
        table.put_all(batch, batch)
        table.settle()
        most = max(most, first.kept_bytes + second.kept_bytes)
    assert 150_000 < most < 260_000
    assert first.kept_bytes > 50_000 and second.kept_bytes > 50_000
    assert first.get_all(list(range(10_000))) == list(range(10_000))
    assert second.get_all(list(range(10_000, 20_000))) == list(range(10_000, 20_000))


def test_entries_in_use_stay_longer() -> None:
    written: list[Any] = []
    packed = packed_entries(dict.fromkeys(range(100), 1), lambda keys, stored: written.extend(keys))
    assert packed is not None
    packed.put(dict.fromkeys(range(100), 1), lambda: 1 << 20, is_changed=False)
    packed.shrink_to(90)
    packed.find(list(range(20)))
    packed.shrink_to(40)
    assert written == [] and len(packed) == 40
    in_use = packed.find(list(range(20)))[0]
    assert len(in_use) >= 15, "but for those that went at first"


def test_keys_do_not_crowd_where_nothing_was_removed_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    use_form("compiled", monkeypatch)
    monkeypatch.setattr(packed_module, "_STEP", 1 << 12)
    packed, chance = packed_entries({0: 0}, lambda keys, stored: None), random.Random(1)
    assert packed is not None
    for _ in range(400):
        packed.put({chance.getrandbits(60): 1 for _ in range(512)}, lambda: 1_400_000, is_changed=True)
    numbers = packed._index._numbers
    assert len(packed) > 0.6 * len(numbers)
    # How many slots are looked through for a key that is not there: 9 on average with keys at random.
    ways = np.diff(np.flatnonzero(numbers == -1))
    assert (ways * ways).sum() / 2 / len(numbers) < 100


def test_what_has_changed_is_written_before_it_goes() -> None:
    written: dict[Any, Any] = {}
    packed = packed_entries({0: 0}, lambda keys, stored: written.update(zip(keys, stored)))
    assert isinstance(packed, PackedEntries)
    packed.put({key: key for key in range(50)}, lambda: 1 << 20, is_changed=False)
    packed.put({key: ABSENT if key % 2 else -key for key in range(10)}, lambda: 1 << 20, is_changed=True)
    assert packed.changed == 10 and packed.is_changed(3) and not packed.is_changed(30)
    packed.halve()
    packed.halve()
    packed.write()
    assert written == {key: ABSENT if key % 2 else -key for key in range(10)} and packed.changed == 0


def fill(backend: KeyedBackend, numbers: range, offset: int) -> None:
    state = backend.get_state(VALUE)
    for number in numbers:
        backend.current_key = number
        state.update(number + offset)


def values_of(backend: KeyedBackend, numbers: range) -> list[Any]:
    state, values = backend.get_state(VALUE), []
    for number in numbers:
        backend.current_key = number
        values.append(state.value())
    return values


@pytest.mark.parametrize("is_native", [False, True])
def test_snapshots_have_what_rocksdb_does_not_have(
    is_native: bool, make_backend: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend_module, "_FLUSHED_AT_ONCE", 50)
    backend = make_backend()
    fill(backend, range(400), 0)
    backend.prepare_snapshot(1)
    fill(backend, range(100, 300), 1000)
    backend.get_state(VALUE).clear()
    backend.prepare_snapshot(2)
    expected = [*range(100), *range(1100, 1299), None, *range(300, 400)]
    again = make_backend()
    if is_native:
        assert backend._plain_tables["value"]._packed.changed > 0
        for file in backend.native_files():
            shutil.copyfile(file.path, tmp_path / file.name)
        again.restore_native([str(tmp_path)], range(128))
    else:
        again.restore(backend.snapshot_parts())
    assert values_of(again, range(400)) == expected
    assert values_of(backend, range(400)) == expected


def test_a_table_that_fits_is_not_written_before_a_checkpoint(make_backend: Any) -> None:
    backend = make_backend()
    table = new_table(backend, EntryMemory(1 << 20))
    for offset in range(5):
        for number in range(5_000):
            table[number] = number + offset
    # The first ones came before it was packed.
    assert backend.store.measure("num-entries-active-mem-table") < 100
    assert dict(table.items()) == {number: number + 4 for number in range(5_000)}


@pytest.mark.parametrize(("budget", "least", "most"), [(100_000, 900, 1_000), (1 << 20, 3_800, 4_000)])
def test_beyond_a_number_and_a_part_of_the_memory_changed_entries_are_written(
    budget: int, least: int, most: int, make_backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_MOST_CHANGED", 1_000)
    table, changed = new_table(make_backend(), EntryMemory(budget)), 0
    for start in range(0, 4_000, 100):
        batch = list(range(start, start + 100))
        table.put_all(batch, batch)
        table.settle()
        changed = max(changed, table._packed.changed if table._packed is not None else 0)
    assert least < changed <= most
    assert table.get_all(list(range(4_000))) == list(range(4_000))


@pytest.mark.parametrize("keys", ["integers", "texts"])
def test_key_groups_are_dealt_out_with_what_a_checkpoint_wrote_beside_the_database(
    keys: str, make_backend: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend_module, "_FLUSHED_AT_ONCE", 50)
    backend = make_backend()
    for name in ("first", "second"):
        state = backend.get_state(ValueStateDescriptor(name, PickledBytesTypeInfo()))
        for number in range(700):
            backend.current_key = KEYS[keys](number)
            state.update((name, number))
    backend.prepare_snapshot(1)
    for file in backend.native_files():
        shutil.copyfile(file.path, tmp_path / file.name)
    rows = [row for row, _ in DatabaseCopy.open(str(tmp_path)).overlay()]
    assert len(rows) > 1_000 and rows == sorted(rows)
    entries: dict[Any, Any] = {}
    for half in (range(64), range(64, 128)):
        again = make_backend()
        again.restore_native([str(tmp_path)], half)
        for name in ("first", "second"):
            again.get_state(ValueStateDescriptor(name, PickledBytesTypeInfo()))
            for key, stored in again._plain_tables[name].items():
                assert KeyGroups(128).of(key) in half and (name, key) not in entries
                entries[name, key] = stored
    assert entries == {
        (name, KEYS[keys](number)): (name, number) for number in range(700) for name in ("first", "second")
    }


def test_what_a_checkpoint_wrote_beside_the_database_goes_there_with_the_next_batches(make_backend: Any) -> None:
    backend = make_backend()
    fill(backend, range(400), 0)
    table = backend._plain_tables["value"]
    table.flush_some(30)
    assert table._packed.changed > 300
    for start in range(0, 2000, 10):
        table.prefetch(list(range(start, start + 10)))
    assert table._packed.changed == 0


def test_a_closed_backend_is_not_asked_for_memory(make_backend: Any) -> None:
    closed, other = make_backend(), make_backend()
    fill(closed, range(400), 0)
    closed.prepare_snapshot(1)
    table, memory = closed._plain_tables["value"], closed._memory
    assert table._packed is not None and table in memory.caches
    closed.close()
    assert table not in memory.caches
    fill(other, range(400), 0)
    assert values_of(other, range(400)) == list(range(400))


def test_a_new_table_that_has_all_entries_does_not_ask_rocksdb(make_backend: Any) -> None:
    backend = make_backend()
    state = backend.get_state(VALUE)
    requests: list[Any] = []
    read = backend.store.get

    def noted(rows: Any) -> Any:
        requests.append(rows)
        return read(rows)

    backend.store.get = noted
    fill(backend, range(100), 0)
    assert values_of(backend, range(200)) == [*range(100), *[None] * 100] and not requests
    state.table.release()
    assert values_of(backend, range(200)) == [*range(100), *[None] * 100] and requests
