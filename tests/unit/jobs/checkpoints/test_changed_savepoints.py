"""Whatever is changed in a savepoint's files is rejected or changes nothing."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from funke.engine.errors import FunkeError
from funke.engine.jobs.checkpoints.checkpoints import verify_content, verify_files
from funke.engine.jobs.checkpoints.savepoint_files import open_savepoint, open_snapshot
from tests.harness.kept_savepoint import FOLDER

KEPT = max(path for path in FOLDER.iterdir())
FILES = sorted(path.name for path in KEPT.iterdir() if path.stat().st_size)
PER_FILE = 80


def content_of(folder: Path) -> list[Any]:
    """All that a job would take from it, without what makes it: pickled objects are compared as they are."""
    savepoint = open_savepoint(str(folder))
    verify_files(savepoint.checkpoint)
    verify_content(savepoint.checkpoint)
    results: list[Any] = [savepoint.checkpoint.sources, savepoint.checkpoint.committables]
    for handle in savepoint.snapshots:
        with open_snapshot(handle.path, handle.inline) as reader:
            results.append(
                (handle.operator_ids, handle.subtask, [reader.key_groups(each) for each in reader.operator_ids])
            )
            results.append([reader._read_frame(entry.offset)[0] for entry in reader._entries])
    return results


def _flipped(content: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :]


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content))]


def _filled(content: bytes, chance: random.Random) -> bytes:
    return content + bytes(chance.randrange(1, 64))


def _moved(content: bytes, chance: random.Random) -> bytes:
    """Two pieces have changed places."""
    one, other, size = chance.randrange(len(content)), chance.randrange(len(content)), chance.randrange(1, 40)
    first, second = sorted((one, other))
    a, b = content[first : first + size], content[second : second + size]
    return content[:first] + b + content[first + size : second] + a + content[second + size :]


CHANGES: list[Callable[[bytes, random.Random], bytes]] = [_flipped, _flipped, _cut, _filled, _moved]


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_rejected_or_harmless(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "savepoint"
    shutil.copytree(KEPT, folder)
    expected, path, chance = content_of(folder), folder / name, random.Random(name)
    original = path.read_bytes()
    for number in range(PER_FILE):
        path.write_bytes(CHANGES[number % len(CHANGES)](original, chance))
        try:
            content = content_of(folder)
        except FunkeError:
            continue
        assert content == expected, f"change {number} of {name} was not noticed"
    path.unlink()
    with pytest.raises(FunkeError):
        content_of(folder)
