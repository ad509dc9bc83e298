"""Completed checkpoints on disk: found again, passed over when they are damaged, and their shared files counted."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path

import pytest

from funke.engine.errors import StateError
from funke.engine.jobs.checkpoints import checkpoints
from funke.engine.jobs.checkpoints.checkpoint_store import CheckpointStore
from funke.engine.jobs.checkpoints.checkpoints import (
    Checkpoint,
    OperatorEntry,
    read_checkpoint,
    verify_content,
    verify_files,
    write_checkpoint,
)
from funke.engine.jobs.checkpoints.savepoint_files import write_snapshot
from funke.engine.runtime.snapshots.snapshot_files import NativeFile, SnapshotHandle
from funke.engine.types.keys.key_groups import FIRST_KEY_HASH, NEWEST_KEY_HASH


def written(folder: Path, number: int, shared: tuple[str, ...] = ()) -> Checkpoint:
    path = folder / f"chk-{number}"
    path.mkdir(parents=True)
    (path / "1-0-0").write_bytes(b"state")
    (folder / "shared").mkdir(exist_ok=True)
    for name in shared:
        (folder / "shared" / name).write_bytes(b"sst")
    native = (("counter", tuple(NativeFile(f"../shared/{name}", name, 3) for name in shared)),) if shared else ()
    handle = SnapshotHandle(("counter",), 0, 1, "1-0-0", 5, native)
    entry = OperatorEntry("counter", "count", 1, 128, True)
    checkpoint = Checkpoint(
        "job", number, number, snapshots=(handle,), sources={"s": b"1"}, operators={"counter": entry}
    )
    return write_checkpoint(str(path), checkpoint)


def test_metadata_says_what_it_was_given(tmp_path: Path) -> None:
    checkpoint = written(tmp_path, 3, ("000012.sst",))
    assert checkpoint.checkpoint_id == 3 and checkpoint.operators["counter"].has_user_uid
    assert checkpoint.stateful_ids() == {"counter", "s"} and checkpoint.state_size == 5 + 3
    (handle,) = checkpoint.located()
    assert [path for path, _ in handle.files()] == [
        str(tmp_path / "chk-3" / "1-0-0"),
        str(tmp_path / "shared" / "000012.sst"),
    ]
    assert read_checkpoint(str(tmp_path / "chk-3" / "_metadata")) == checkpoint


def test_metadata_has_the_version_of_the_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Path(__file__).parents[3] / "faults" / "savepoints" / "0.1.0"
    assert read_checkpoint(str(kept)).key_hash == FIRST_KEY_HASH, "which is not written down there"
    path = written(tmp_path, 1).path
    assert read_checkpoint(path).key_hash == NEWEST_KEY_HASH
    monkeypatch.setattr(checkpoints, "NEWEST_KEY_HASH", FIRST_KEY_HASH)
    with pytest.raises(StateError, match=r"version 2 of the hash.* up to 1: it was written by a later version"):
        read_checkpoint(path)


def test_a_folder_may_be_moved(tmp_path: Path) -> None:
    written(tmp_path / "a", 1)
    shutil.move(tmp_path / "a", tmp_path / "b")
    moved = read_checkpoint(str(tmp_path / "b" / "chk-1"))
    verify_files(moved)
    assert moved.located()[0].path == str(tmp_path / "b" / "chk-1" / "1-0-0")


def test_those_of_an_earlier_driver_are_found(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        written(tmp_path, number)
    (tmp_path / "chk-4").mkdir()
    store = CheckpointStore(str(tmp_path))
    store.find(str(tmp_path / "chk-2"))
    assert [checkpoint.checkpoint_id for checkpoint in store.completed] == [1, 2]
    assert store.highest_id() == 4
    everything = CheckpointStore(str(tmp_path))
    everything.find()
    assert [checkpoint.checkpoint_id for checkpoint in everything.completed] == [1, 2, 3]


@pytest.mark.parametrize("is_claimed", [False, True])
def test_what_a_job_starts_from_goes_only_when_it_was_claimed(tmp_path: Path, is_claimed: bool) -> None:
    origin = written(tmp_path / "a", 7, ("000012.sst",))
    store = CheckpointStore(str(tmp_path / "b"), retained=2, origin=origin, is_origin_claimed=is_claimed)
    store.add(written(tmp_path / "b", 1, ("000012.sst",)))
    assert store.latest() is not origin and Path(origin.path).is_dir()
    store.add(written(tmp_path / "b", 2, ("000012.sst",)))
    assert Path(origin.path).is_dir() is not is_claimed
    assert (tmp_path / "a" / "shared" / "000012.sst").exists() is not is_claimed
    assert (tmp_path / "b" / "shared" / "000012.sst").exists()


@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_a_damaged_one_is_passed_over_for_the_one_before(
    tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = CheckpointStore(str(tmp_path), retained=2, completed=[written(tmp_path, 1), written(tmp_path, 2)])
    path = tmp_path / "chk-2" / "1-0-0"
    path.unlink() if damage == "missing" else path.write_bytes(b"stat")
    latest = store.latest()
    assert latest is not None and latest.checkpoint_id == 1
    (loss,) = store.losses
    assert f"'{path}' {'is missing' if damage == 'missing' else 'has 4 bytes instead of 5'}" in loss
    store.go_back(latest)
    assert f"going back to the checkpoint before it, '{latest.path}'" in capsys.readouterr().err and not store.losses


def test_damaged_metadata_of_an_earlier_driver(tmp_path: Path) -> None:
    written(tmp_path, 1)
    written(tmp_path, 2)
    (tmp_path / "chk-2" / "_metadata").write_bytes(b"FUNKE CHECKPOINT 2\nrubbish")
    store = CheckpointStore(str(tmp_path))
    store.find(str(tmp_path / "chk-2"))
    latest = store.latest()
    assert latest is not None and latest.checkpoint_id == 1
    assert [loss for loss in store.losses if "chk-2' is damaged" in loss]


def test_damage_that_is_older_than_the_newest_one_is_nobodys_loss(tmp_path: Path) -> None:
    written(tmp_path, 1)
    written(tmp_path, 2)
    (tmp_path / "chk-1" / "_metadata").write_bytes(b"FUNKE CHECKPOINT 2\nrubbish")
    store = CheckpointStore(str(tmp_path))
    store.find(str(tmp_path / "chk-2"))
    assert store.latest() is not None and not store.losses


def test_the_newest_one_is_gone(tmp_path: Path) -> None:
    written(tmp_path, 1)
    store = CheckpointStore(str(tmp_path))
    store.find(str(tmp_path / "chk-2"))
    latest = store.latest()
    assert latest is not None and latest.checkpoint_id == 1
    assert store.losses == [f"the checkpoint '{tmp_path}/chk-2' is gone"]
    written(tmp_path, 3)
    shutil.rmtree(tmp_path / "chk-1")
    store = CheckpointStore(str(tmp_path))
    store.find(str(tmp_path / "chk-2"))
    with pytest.raises(StateError, match=r"chk-2' is gone, and the record does not mention these later ones: chk-3"):
        store.latest()


@pytest.mark.parametrize("damaged", ["1-0-0", "../shared/a"])
def test_content_is_read_before_somebody_acts_on_it(tmp_path: Path, damaged: str) -> None:
    folder = tmp_path / "chk-1"
    size = write_snapshot(str(folder / "1-0-0"), lambda writer: writer.write_own("counter", {"n": 1}) and None)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "a").write_bytes(b"sst")
    native = (("counter", (NativeFile("../shared/a", "a", 3, zlib.crc32(b"sst")),)),)
    handle = SnapshotHandle(("counter",), 0, 1, "1-0-0", size, native)
    taken_checkpoints = write_checkpoint(str(folder), Checkpoint("job", 1, 1, snapshots=(handle,)))
    verify_content(taken_checkpoints)
    path = folder / damaged
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    verify_files(taken_checkpoints)
    with pytest.raises(StateError, match="damaged"):
        verify_content(taken_checkpoints)


def test_a_job_never_starts_anew_because_its_checkpoints_are_damaged(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path), completed=[written(tmp_path, 1)])
    (tmp_path / "chk-1" / "1-0-0").unlink()
    with pytest.raises(StateError, match=r"no intact checkpoint is left.*1-0-0' is missing.*on-damage=restart"):
        store.latest()
    store.may_restart = True
    assert store.latest() is None


def test_a_job_falls_back_to_the_savepoint_it_was_started_from(tmp_path: Path) -> None:
    origin = written(tmp_path / "old", 5)
    store = CheckpointStore(str(tmp_path / "new"), origin=origin)
    assert store.latest() == origin
    store.add(written(tmp_path / "new", 6))
    store.discard(StateError("a slot found a wrong checksum"))
    assert store.latest() == origin
    with pytest.raises(StateError, match="the job cannot be restored"):
        store.discard(StateError("a slot found a wrong checksum"))


def test_shared_files_go_with_the_last_checkpoint_that_needs_them(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path), retained=1)
    store.add(written(tmp_path, 1, ("a", "b")))
    store.add(written(tmp_path, 2, ("b", "c")))
    assert sorted(path.name for path in (tmp_path / "shared").iterdir()) == ["b", "c"]
    assert not (tmp_path / "chk-1").exists()


def test_a_number_belongs_to_one_driver(tmp_path: Path) -> None:
    first, second = CheckpointStore(str(tmp_path / "job")), CheckpointStore(str(tmp_path / "job"))
    assert [first.reserve(1), second.reserve(1), first.reserve(2), second.reserve(3)] == [1, 2, 3, 4]
    assert sorted(path.name for path in (tmp_path / "job").iterdir()) == ["chk-1", "chk-2", "chk-3", "chk-4"]
