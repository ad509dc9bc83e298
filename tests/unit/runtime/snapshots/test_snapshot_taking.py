"""Snapshots that a forked process writes while its parent goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand, CheckpointNotifications, SnapshotAck
from funke.engine.runtime.snapshots.snapshot_files import NativeFile, SnapshotHandle
from funke.engine.runtime.snapshots.snapshot_taking import SnapshotTaker, WrittenSnapshots

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def taker(tmp_path: Path) -> Iterator[SnapshotTaker]:
    snapshot_taker = SnapshotTaker(3, str(tmp_path / "spool"))
    yield snapshot_taker
    snapshot_taker.close()


def handle(path: str = "1-0-0") -> SnapshotHandle:
    return SnapshotHandle(("op",), 0, 1, path, 2)


def answers(taker: SnapshotTaker) -> list[SnapshotAck]:
    end = time.monotonic() + 10
    while not (acks := taker.acks()):
        assert time.monotonic() < end, "no answer"
        time.sleep(0.005)
    return acks


def wait_for_the_end(taker: SnapshotTaker) -> None:
    end = time.monotonic() + 20
    while taker._running:
        assert time.monotonic() < end, "still running"
        time.sleep(0.005)


def writing(content: Callable[[], bytes]) -> Callable[[str], WrittenSnapshots]:
    def write(folder: str) -> WrittenSnapshots:
        os.makedirs(folder, exist_ok=True)
        Path(folder, "1-0-0").write_bytes(content())
        return WrittenSnapshots((handle(),), 2)

    return write


def test_the_state_is_written_as_it_was_when_the_epoch_ended(taker: SnapshotTaker, tmp_path: Path) -> None:
    state = [b"old"]

    def slowly() -> bytes:
        time.sleep(1)
        return state[0]

    started = time.monotonic()
    taker.start(CheckpointCommand(7, str(tmp_path / "chk-7")), writing(slowly), stall_ms=1.0)
    assert time.monotonic() - started < 0.9, "nobody waits for the writing"
    state[0] = b"new"
    (ack,) = answers(taker)
    assert (ack.checkpoint_id, ack.slot, ack.handles, ack.failure) == (7, 3, (handle(),), None)
    assert ack.new_bytes == 2 and ack.stall_ms >= 1.0 and ack.write_ms >= 900
    assert (tmp_path / "chk-7" / "1-0-0").read_bytes() == b"old"


def test_an_answer_is_repeated_until_the_driver_has_decided(taker: SnapshotTaker, tmp_path: Path) -> None:
    taker.start(CheckpointCommand(1, str(tmp_path / "chk-1")), writing(lambda: b"ok"), 0.0)
    assert answers(taker) == taker.acks()
    taker.learn(CheckpointNotifications(completed=(2,)))
    assert taker.acks() == []


def test_what_goes_wrong_is_reported(taker: SnapshotTaker, tmp_path: Path) -> None:
    def full() -> bytes:
        raise OSError("no space left on device")

    taker.start(CheckpointCommand(1, str(tmp_path / "chk-1")), writing(full), 0.0)
    assert answers(taker)[0].failure == "OSError: no space left on device"


def test_a_writer_that_is_killed_is_noticed(taker: SnapshotTaker, tmp_path: Path) -> None:
    def die() -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    taker.start(CheckpointCommand(1, str(tmp_path / "chk-1")), writing(die), 0.0)
    assert answers(taker)[0].failure == "the process that wrote it ended with status 9"


@pytest.mark.parametrize("is_at_the_end", [False, True])
def test_a_writer_whose_checkpoint_is_not_wanted_any_more_ends_and_is_not_heard_of(
    taker: SnapshotTaker, tmp_path: Path, is_at_the_end: bool
) -> None:
    child = tmp_path / "child"

    def write_for_ever() -> bytes:
        child.write_text(str(os.getpid()))
        time.sleep(60)
        return b""

    taker.start(CheckpointCommand(1, str(tmp_path / "chk-1")), writing(write_for_ever), 0.0)
    while not (child.exists() and child.read_text()):
        time.sleep(0.01)
    if is_at_the_end:
        taker.close()
    else:
        taker.learn(CheckpointNotifications(aborted=(1,)))
    wait_for_the_end(taker)
    with pytest.raises(ProcessLookupError):
        os.kill(int(child.read_text()), 0)
    assert taker.acks() == []


def test_a_writer_holds_no_socket_of_the_slot(taker: SnapshotTaker, tmp_path: Path) -> None:
    reading, kept = os.pipe()
    taker.start(CheckpointCommand(1, str(tmp_path / "chk-1")), writing(lambda: time.sleep(60) or b""), 0.0)  # type: ignore[func-returns-value]
    os.close(kept)
    started = time.monotonic()
    assert os.read(reading, 1) == b"", "the end is seen although the child lives"
    os.close(reading)
    assert time.monotonic() - started < 20
    taker.close()


def test_files_for_another_file_system_are_written_here_and_copied_there(
    taker: SnapshotTaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("funke.engine.runtime.snapshots.snapshot_taking.local_path", lambda path: None)
    taker.start(CheckpointCommand(1, str(tmp_path / "remote" / "chk-1")), writing(lambda: b"ok"), 0.0)
    assert answers(taker)[0].failure is None
    assert (tmp_path / "remote" / "chk-1" / "1-0-0").read_bytes() == b"ok"
    assert not list((tmp_path / "spool").rglob("*-*-*"))


def test_shared_files_of_a_completed_checkpoint_need_not_be_written_again(taker: SnapshotTaker, tmp_path: Path) -> None:
    native = (("op", (NativeFile("../shared/a.sst", "a.sst", 3, 77),)),)

    def write(folder: str) -> WrittenSnapshots:
        return WrittenSnapshots((SnapshotHandle(("op",), 0, 1, "1-0-0", 2, native),), 5)

    folder = str(tmp_path / "chk-1")
    taker.start(CheckpointCommand(1, folder, is_incremental=True), write, 0.0)
    answers(taker)
    assert taker.known_files(str(tmp_path / "chk-2")) == {}, "nobody said that it is complete"
    taker.learn(CheckpointNotifications(completed=(1,)))
    assert taker.known_files(str(tmp_path / "chk-2")) == {"../shared/a.sst": 77}
    assert taker.known_files(str(tmp_path / "elsewhere" / "chk-2")) == {}


def test_a_copy_for_another_file_system_that_nobody_wants_any_more_ends(
    taker: SnapshotTaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []
    is_aborted = threading.Event()

    def copy(source: str, target: str) -> None:
        copied.append(target)
        assert is_aborted.wait(10)

    def write(folder: str) -> WrittenSnapshots:
        os.makedirs(folder)
        for name in ("1-0-0", "2-0-0"):
            Path(folder, name).write_bytes(b"ok")
        return WrittenSnapshots((handle("1-0-0"), handle("2-0-0")), 4)

    monkeypatch.setattr("funke.engine.runtime.snapshots.snapshot_taking.copy_file", copy)
    taker.start(CheckpointCommand(1, "s3a://bucket/chk-1"), write, 0.0)
    while not copied:
        time.sleep(0.005)
    taker.learn(CheckpointNotifications(aborted=(1,)))
    is_aborted.set()
    wait_for_the_end(taker)
    assert taker.acks() == []
    assert copied == ["s3a://bucket/chk-1/1-0-0"] and not list((tmp_path / "spool").rglob("*-*-*"))
