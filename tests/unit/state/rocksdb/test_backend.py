"""What is particular to state in RocksDB: copies, rows, files of its own, snapshots from a forked process."""

from __future__ import annotations

import math
import os
import pickle
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.common.types import Row
from funke.engine.errors import ConfigurationError, StateError
from funke.engine.operators.windowing.windows import TimeWindow
from funke.engine.state.backend_choice import BackendChoice, create_backend
from funke.engine.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.rocksdb.rows import (
    after_prefix,
    decode_key,
    encode_key,
    encode_namespace,
    is_bucket,
    row_prefix,
    split_row,
)
from funke.engine.types import Types
from funke.engine.types.keys.key_groups import KeyGroups
from tests.harness.backends import backend_factory

VALUE = ValueStateDescriptor("value", Types.PICKLED_BYTE_ARRAY())
LIST = ListStateDescriptor("list", Types.PICKLED_BYTE_ARRAY())
MAP = MapStateDescriptor("map", Types.STRING(), Types.PICKLED_BYTE_ARRAY())
PLAIN_KEYS = st.recursive(
    st.one_of(st.text(), st.integers(), st.binary(), st.none()), lambda items: st.lists(items, max_size=3).map(tuple)
)
new_backend: Callable[..., Any]


@pytest.fixture(autouse=True)
def backends() -> Iterator[None]:
    global new_backend
    with backend_factory("rocksdb") as new_backend:
        yield


def filled(number: int = 1000, first: int = 0) -> Any:
    backend = new_backend()
    fill(backend, range(first, first + number))
    return backend


def fill(backend: KeyedBackend, keys: Any) -> None:
    state = backend.get_state(VALUE)
    for key in keys:
        backend.set_current_key(key)
        state.update(key * 2)
        backend.get_state(LIST, TimeWindow(0, key % 3)).add(key)


def values_of(backend: KeyedBackend, keys: Any) -> list[Any]:
    values = []
    for key in keys:
        backend.set_current_key(key)
        values.append((backend.get_state(VALUE).value(), backend.get_state(LIST, TimeWindow(0, key % 3)).get()))
    return values


def expected_of(keys: Any) -> list[Any]:
    return [(key * 2, [key]) for key in keys]


@given(PLAIN_KEYS, PLAIN_KEYS)
def test_plain_keys_have_a_form_that_is_equal_when_they_are(left: Any, right: Any) -> None:
    assert decode_key(encode_key(left)) == left
    assert not is_bucket(encode_key(left))
    assert (encode_key(left) == encode_key(right)) == (left == right)


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), st.sampled_from([None, "w", TimeWindow(3, 9)]), PLAIN_KEYS)
def test_rows_are_taken_apart(group: int, number: int, namespace: Any, key: Any) -> None:
    prefix = row_prefix(group, number, encode_namespace(namespace))
    assert split_row(prefix + encode_key(key)) == (group, number, encode_namespace(namespace), encode_key(key))
    end = after_prefix(prefix)
    assert end is None or (prefix + encode_key(key) < end and not end.startswith(prefix))


@pytest.mark.parametrize("has_cache", [True, False])
def test_keys_that_only_python_distinguishes_have_state_of_their_own(has_cache: bool) -> None:
    keys = [1, 1.0, True, 1.5, math.nan, (1, 2.5), (1.0,), frozenset({1}), {"a": 1}, [1], Row(1, 2), Row(x=1), b"1"]
    backend = new_backend()
    state = backend.get_state(VALUE)
    for number, key in enumerate(keys):
        backend.set_current_key(key)
        assert state.value() is None
        state.update(number)
        if not has_cache:
            state.table.release()
    for number, key in enumerate(keys):
        backend.set_current_key(pickle.loads(pickle.dumps(key)))
        assert state.value() == number
    backend.set_current_key(True)
    state.clear()
    state.table.release()
    backend.set_current_key(1.0)
    assert state.value() == 1
    again = new_backend()
    again.restore(pickle.loads(pickle.dumps(list(backend.snapshot_parts()))))
    assert len(list(again.get_state(VALUE).table.items())) == len(keys) - 1


def test_what_a_function_mutates_is_not_changed_in_the_state() -> None:
    backend = new_backend()
    backend.set_current_key("k")
    value, elements, entries = backend.get_state(VALUE), backend.get_state(LIST), backend.get_state(MAP)
    mine = [1]
    value.update(mine)
    elements.add(mine)
    entries.put("x", mine)
    mine.append(2)
    value.value().append(3)
    elements.get()[0].append(3)
    entries.get("x").append(3)
    next(iter(entries.values())).append(4)
    assert (value.value(), elements.get(), dict(entries.items())) == ([1], [[1]], {"x": [1]})


def test_a_table_can_be_larger_than_its_cache() -> None:
    with backend_factory("rocksdb-without-cache") as make:
        backend = make()
        fill(backend, range(500))
        assert values_of(backend, range(500)) == expected_of(range(500))
        assert backend.get_state(VALUE).table.cached <= 2
        assert sorted(backend.get_state(VALUE).table.values()) == list(range(0, 1000, 2))
        assert [len(chunk) for chunk in backend.get_state(VALUE).table.chunks()] == [500]


def test_a_snapshot_shows_the_state_as_it_was_when_it_was_prepared() -> None:
    backend = filled(40_000)
    backend.prepare_snapshot(1)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:  # as a slot does it
        try:
            parts = list(backend.snapshot_parts())
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(parts, pipe)
        finally:
            os._exit(0)
    os.close(writing)
    fill_again = backend.get_state(VALUE)
    for key in range(40_000):
        backend.current_key = key
        fill_again.update(-1)
    with os.fdopen(reading, "rb") as pipe:
        parts = pickle.load(pipe)
    os.waitpid(pid, 0)
    with backend_factory("hashmap") as make:
        restored = make()
        restored.restore(parts)
        assert values_of(restored, range(40_000)) == expected_of(range(40_000))
    assert max(len(table) for _, part in parts for table in part.tables.values()) <= 2000


@pytest.mark.parametrize(("source", "target"), [("hashmap", "rocksdb"), ("rocksdb", "hashmap")])
def test_snapshots_move_between_backends(source: str, target: str) -> None:
    with backend_factory(source) as make, backend_factory(target) as make_other:
        backend, other = make(), make_other()
        fill(backend, range(300))
        other.restore(backend.snapshot_parts())
        assert values_of(other, range(300)) == expected_of(range(300))
        with pytest.raises(StateError, match=r"'value' is already a value state, in .* and cannot be used as a map"):
            other.get_state(MapStateDescriptor("value", Types.STRING(), Types.INT()))


def store_files(backend: Any, folder: Path, shared_ids: set[str]) -> tuple[Path, int]:
    """Keeps the files of a snapshot as checkpoints do; returns where, and how many bytes were new."""
    target, size = folder / f"chk-{len(list(folder.iterdir()))}", 0
    target.mkdir()
    (folder / "shared").mkdir(exist_ok=True)
    for file in backend.native_files():
        kept = folder / "shared" / file.shared_id if file.shared_id else target / file.name
        if file.shared_id is None or file.shared_id not in shared_ids:
            shutil.copyfile(file.path, kept)
            size += kept.stat().st_size
        if file.shared_id:
            shared_ids.add(file.shared_id)
            os.link(kept, target / file.name)
    return target, size


def test_files_of_the_database_come_back(tmp_path: Path) -> None:
    backend = filled(20_000)
    backend.prepare_snapshot(1)
    folder, _ = store_files(backend, tmp_path, set())
    fill(backend, [5])
    again = new_backend()
    again.restore_native([str(folder)], range(128))
    assert values_of(again, range(20_000)) == expected_of(range(20_000))
    with pytest.raises(StateError, match="already a value state"):
        again.get_state(ListStateDescriptor("value", Types.INT()))


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_files_of_several_databases_are_dealt_out(tmp_path: Path, parallelism: int) -> None:
    folders = []
    for first in (0, 500):
        backend = filled(500, first)
        if first:
            backend.get_state(MAP)
        backend.prepare_snapshot(1)
        folders.append(str(store_files(backend, tmp_path, set())[0]))
    values: list[Any] = []
    for subtask in range(parallelism):
        own = [group for group in range(128) if group * parallelism // 128 == subtask]
        again = new_backend()
        again.restore_native(folders, own)
        values += [value for value in values_of(again, range(1000)) if value[0] is not None]
    assert sorted(values) == expected_of(range(1000))


def test_an_incremental_snapshot_is_small_and_files_are_shared_over_restarts(tmp_path: Path) -> None:
    # A compaction, which comes when it likes, writes files anew: the next snapshot would have all of them once more.
    with backend_factory("rocksdb-without-compaction") as create:
        shared_ids: set[str] = set()
        backend = create()
        state: Any = backend.get_state(VALUE)
        for key in range(60_000):
            backend.current_key = key
            state.update(key)
        backend.prepare_snapshot(1)
        folder, full = store_files(backend, tmp_path, shared_ids)
        for attempt in range(3):
            for key in range(attempt, 60_000, 100):
                backend.current_key = key
                backend.get_state(VALUE).update(-1)
            backend.prepare_snapshot(attempt + 2)
            folder, added = store_files(backend, tmp_path, shared_ids)
            assert added < full * 0.1
            backend = create()
            backend.restore_native([str(folder)], range(128))
        restored: Any = backend.get_state(VALUE)
        assert sum(1 for value in restored.table.values() if value == -1) == 1800


def test_checkpoints_that_are_over_leave_no_files() -> None:
    backend = filled(10)
    for checkpoint_id in (1, 2, 3):
        backend.prepare_snapshot(checkpoint_id)
    folder = Path(backend._folder)
    backend.notify_checkpoint_aborted(3)
    assert {path.name for path in folder.iterdir()} == {"db", "chk-1", "chk-2"}
    backend.notify_checkpoint_complete(2)
    assert {path.name for path in folder.iterdir()} == {"db"}
    backend.close()
    assert not folder.exists()


def test_the_backend_in_memory_has_no_files() -> None:
    with backend_factory("hashmap") as make:
        assert make().native_files() == ()
        with pytest.raises(StateError, match="start from a savepoint"):
            make().restore_native(["x"], range(128))


def test_a_folder_that_is_no_snapshot_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="is not a snapshot of RocksDB state"):
        new_backend().restore_native([str(tmp_path)], range(128))


def test_only_known_backends_are_made() -> None:
    with pytest.raises(ConfigurationError, match="unknown state backend 'jobmanager'; expected hashmap or rocksdb"):
        create_backend(BackendChoice("jobmanager"), KeyGroups(128), lambda: 0, None)


def test_each_operator_has_a_folder_of_its_own() -> None:
    choice = BackendChoice("rocksdb", local_directories=("/a", "/b"))
    folders = [choice.folder_for("job", operator, subtask, 0) for operator in ("x", "y/z") for subtask in (0, 1)]
    assert len(set(folders)) == 4
    assert [os.path.dirname(folder or "") for folder in folders] == ["/a", "/b", "/a", "/b"]
    assert BackendChoice().folder_for("job", "x", 0, 0) is None


def test_what_a_killed_attempt_left_behind_is_removed(tmp_path: Path) -> None:
    choice = BackendChoice("rocksdb", local_directories=(str(tmp_path),))
    for subtask, attempt in ((0, 0), (1, 0)):
        os.makedirs(choice.folder_for("job", "op", subtask, attempt) or "")
    own = choice.folder_for("job", "op", 0, 1)
    backend = create_backend(choice, KeyGroups(128), lambda: 0, own)
    assert sorted(path.name.rpartition("-")[0] for path in tmp_path.iterdir()) == [
        "funke-rocksdb-job-op-0-1", "funke-rocksdb-job-op-1-0"
    ]  # fmt: skip
    assert stat.S_IMODE(os.stat(own or "").st_mode) == 0o700, "nobody else may read the state"
    backend.close()
    assert not os.path.exists(own or "")


def test_working_files_are_in_the_slots_folder_unless_another_is_set() -> None:
    choice = BackendChoice("rocksdb").within("/slot")
    assert (choice.folder_for("job", "op", 0, 0) or "").startswith("/slot/")
    configured = BackendChoice("rocksdb", local_directories=("/fast",)).within("/slot")
    assert (configured.folder_for("job", "op", 0, 0) or "").startswith("/fast/")
