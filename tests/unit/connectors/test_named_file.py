"""An error of the disk names the file."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

import pytest

from funke.engine.connectors.named_file import open_to_write, sync
from funke.engine.runtime.epochs.results import describe
from funke.engine.runtime.snapshots.chain_snapshot import ChainSnapshot
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand
from tests.unit.runtime.snapshots.test_state_restore import Remembering, chain_of

needs_full_disk = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device without room")


def test_a_file_is_written(tmp_path: Path) -> None:
    for mode, content in (("x", b"one"), ("a", b"onetwo"), ("w", b"two")):
        with open_to_write(str(tmp_path / "file"), mode) as file:
            file.write(b"one" if mode == "x" else b"two")
            sync(file)
        assert (tmp_path / "file").read_bytes() == content


@needs_full_disk
@pytest.mark.parametrize("size", [10, 1 << 20])
def test_a_full_disk_is_named_whatever_call_notices(size: int) -> None:
    file = open_to_write("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'") as caught:
        file.write(b"x" * size)
        sync(file)
    assert caught.value.errno == errno.ENOSPC
    with contextlib.suppress(OSError):
        file.close()


@needs_full_disk
def test_a_snapshot_without_room_names_its_file(tmp_path: Path) -> None:
    command = CheckpointCommand(1, str(tmp_path), inline_bytes=0)
    ChainSnapshot(command, str(tmp_path), "1-0-0").write(chain_of(Remembering([1])), 0, 1)
    (written,) = tmp_path.rglob("1-0-0*")
    written.with_name(f"{written.name}.part").symlink_to("/dev/full")
    with pytest.raises(OSError) as caught:
        ChainSnapshot(command, str(tmp_path), "1-0-0").write(chain_of(Remembering([1])), 0, 1)
    assert describe(caught.value)[1].endswith(f"No space left on device: '{written}.part'")
