"""What the process of a slot may take."""

from __future__ import annotations

import pytest

from funke.engine.config.memory_model import MemoryModelError
from funke.engine.config.settings import Settings
from funke.engine.config.slot_memory import slot_memory_limit

MB = 1 << 20
PROCESS = "taskmanager.memory.process.size"
FLINK = "taskmanager.memory.flink.size"
SLOTS = "taskmanager.numberOfTaskSlots"


@pytest.mark.parametrize(
    ("options", "size", "origin"),
    [
        ({PROCESS: "1728m"}, 1728 * MB, f"{PROCESS}, divided by {SLOTS} (1)"),
        ({PROCESS: "1728m", SLOTS: "4"}, 432 * MB, f"{PROCESS}, divided by {SLOTS} (4)"),
        # With metaspace and at least 192 MB of overhead.
        ({FLINK: "1000m", SLOTS: "2"}, 644 * MB, f"{FLINK}, divided by {SLOTS} (2)"),
        ({PROCESS: "1728m", "funke.slot-memory-limit": "300m"}, 300 * MB, "funke.slot-memory-limit"),
        ({"funke.slot-memory-limit": "300m"}, 300 * MB, "funke.slot-memory-limit"),
    ],
)
def test_a_limit(options: dict[str, str], size: int, origin: str) -> None:
    limit = slot_memory_limit(Settings(options))
    assert limit is not None and (limit.size, limit.origin) == (size, origin)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {SLOTS: "4"},
        {"taskmanager.memory.managed.size": "64m"},
        {PROCESS: "1728m", "funke.slot-memory-limit": "0"},
    ],
)
def test_no_limit(options: dict[str, str]) -> None:
    assert slot_memory_limit(Settings(options)) is None


def test_sizes_that_contradict_each_other_are_rejected() -> None:
    with pytest.raises(MemoryModelError, match="are more than"):
        slot_memory_limit(Settings({PROCESS: "100m"}))
