"""Copies of checkpoints on a worker's disk: taken, found again, superseded, and passed over when they are damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from funke.engine.runtime.snapshots.local_copies import LocalCopies, remove_copies
from funke.engine.runtime.snapshots.snapshot_files import NativeFile, SnapshotHandle

FOLDER = "s3a://bucket/job/chk-{}"


def handle(shared: str = "a.sst") -> SnapshotHandle:
    return SnapshotHandle(("op",), 0, 1, "1-0-0", 3, (("op", (NativeFile(f"../shared/{shared}", "a.sst", 3),)),))


def copies(folder: Path, attempt: int = 0) -> LocalCopies:
    return LocalCopies([str(folder)], "job", attempt, 0)


def keep(kept: LocalCopies, number: int, spool: Path, shared: str = "a.sst", has_shared: bool = True) -> None:
    (spool / f"chk-{number}").mkdir(parents=True)
    (spool / f"chk-{number}" / "1-0-0").write_bytes(b"abc")
    (spool / "shared").mkdir(exist_ok=True)
    if has_shared:
        (spool / "shared" / shared).write_bytes(b"def")
    kept.keep(number, FOLDER.format(number), [handle(shared)], str(spool / f"chk-{number}"))


def content_of(kept: LocalCopies, number: int, shared: str = "a.sst") -> list[bytes | None]:
    uris = (f"{FOLDER.format(number)}/1-0-0", f"s3a://bucket/job/shared/{shared}")
    paths = [kept.find(uri, 3) for uri in uris]
    return [None if path is None else Path(path).read_bytes() for path in paths]


def files(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def test_the_next_attempt_finds_what_was_kept(tmp_path: Path) -> None:
    keep(copies(tmp_path / "local"), 1, tmp_path / "spool")
    assert files(tmp_path / "spool") == 0, "moved, not copied"
    assert content_of(copies(tmp_path / "local", attempt=1), 1) == [b"abc", b"def"]


@pytest.mark.parametrize("content", [b"abx", b"abcd", None], ids=["altered", "longer", "gone"])
def test_a_damaged_copy_is_none(tmp_path: Path, content: bytes | None) -> None:
    kept = copies(tmp_path / "local")
    keep(kept, 1, tmp_path / "spool")
    path = kept.find(f"{FOLDER.format(1)}/1-0-0", 3)
    assert path is not None
    if content is None:
        Path(path).unlink()
    else:
        Path(path).write_bytes(content)
    assert content_of(kept, 1) == [None, b"def"]


def test_only_the_newest_completed_checkpoint_is_kept(tmp_path: Path) -> None:
    kept = copies(tmp_path / "local")
    keep(kept, 1, tmp_path / "spool")
    kept.supersede(1, ())
    keep(kept, 2, tmp_path / "spool", has_shared=False)
    assert content_of(kept, 1) == [b"abc", b"def"], "the second one may still fail"
    kept.supersede(2, ())
    assert content_of(kept, 1)[0] is None and content_of(kept, 2) == [b"abc", b"def"], (
        "what it shares with the first one stays"
    )
    keep(kept, 3, tmp_path / "spool", shared="b.sst")
    kept.supersede(-1, (3,))
    assert content_of(kept, 3, "b.sst") == [None, None] and content_of(kept, 2) == [b"abc", b"def"]
    assert files(tmp_path / "local") == 2


def test_what_a_former_attempt_has_kept_goes_with_the_first_checkpoint_of_this_one(tmp_path: Path) -> None:
    keep(copies(tmp_path / "local"), 1, tmp_path / "spool")
    kept = copies(tmp_path / "local", attempt=1)
    keep(kept, 2, tmp_path / "spool", has_shared=False)
    kept.supersede(2, ())
    assert content_of(kept, 2) == [b"abc", b"def"], "the shared file was taken over"
    assert files(tmp_path / "local") == 2
    remove_copies([str(tmp_path / "local")], "job", 1)
    assert list((tmp_path / "local").iterdir()) == []
