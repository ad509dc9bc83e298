"""When checkpoints are due, where they are, and how many are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from funke.engine.config import Settings
from funke.engine.errors import StateError
from funke.engine.jobs.checkpoints import CheckpointKeeper, read_checkpoint


class MovedClock:
    """The clock that the keeper reads, in seconds."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> MovedClock:
    clock = MovedClock()
    monkeypatch.setattr("funke.engine.jobs.checkpoints.time.monotonic", clock)
    return clock


def keeper_in(folder: Path, **options: Any) -> CheckpointKeeper:
    keys = {key.replace("__", ".").replace("_", "-"): str(value) for key, value in options.items()}
    settings = {"execution.checkpointing.interval": "1 s", "state.checkpoints.dir": str(folder), **keys}
    keeper = CheckpointKeeper.from_settings("job-1", Settings(settings))
    assert keeper is not None
    # Its first interval begins at the clock's first moment.
    keeper._last_started = MovedClock.now
    return keeper


def complete(keeper: CheckpointKeeper) -> None:
    keeper.complete(1, (), {"source": 5}, {}, is_final=False)


def kept(folder: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(folder)) for path in folder.rglob("_metadata"))


def test_checkpointing_is_off_unless_an_interval_is_set() -> None:
    assert CheckpointKeeper.from_settings("job-1", Settings()) is None


def test_one_is_due_when_the_interval_has_passed(tmp_path: Path, clock: MovedClock) -> None:
    keeper = keeper_in(tmp_path)
    clock.now = 100.999
    assert keeper.next_folder() is None
    clock.now = 101.0
    assert keeper.next_folder() == f"{tmp_path}/job-1/chk-1"
    assert keeper.next_folder() is None


def test_the_pause_counts_from_the_end_of_the_last_one(tmp_path: Path, clock: MovedClock) -> None:
    keeper = keeper_in(tmp_path, execution__checkpointing__min_pause="500 ms")
    clock.now = 101.0
    assert keeper.next_folder() is not None
    # It takes 900 ms; without the pause the next one would start 100 ms later.
    clock.now = 101.9
    complete(keeper)
    clock.now = 102.39
    assert keeper.next_folder() is None
    clock.now = 102.41
    assert keeper.next_folder() is not None


@pytest.mark.parametrize(
    ("options", "expected"), [({}, ["chk-4"]), ({"state__checkpoints__num_retained": 2}, ["chk-3", "chk-4"])]
)
def test_only_the_newest_are_kept(tmp_path: Path, options: dict[str, Any], expected: list[str]) -> None:
    keeper = keeper_in(tmp_path, **options)
    for _ in range(4):
        keeper.start()
        complete(keeper)
    assert kept(tmp_path) == [f"job-1/{name}" for name in expected]


def test_what_was_written_is_read_back_and_damage_is_noticed(tmp_path: Path) -> None:
    keeper = keeper_in(tmp_path)
    folder = keeper.start()
    complete(keeper)
    assert read_checkpoint(folder) == keeper.latest
    path = Path(folder) / "_metadata"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(StateError, match="damaged"):
        read_checkpoint(folder)


@pytest.mark.parametrize(
    ("retention", "is_cancelled", "is_kept"),
    [
        ("RETAIN_ON_CANCELLATION", True, True),
        ("RETAIN_ON_CANCELLATION", False, False),
        ("DELETE_ON_CANCELLATION", True, False),
    ],
)
def test_a_cancelled_job_leaves_checkpoints_only_when_told_to(
    tmp_path: Path, retention: str, is_cancelled: bool, is_kept: bool
) -> None:
    keeper = keeper_in(tmp_path, execution__checkpointing__externalized_checkpoint_retention=retention)
    keeper.start()
    complete(keeper)
    keeper.end(is_cancelled, has_failed=False)
    assert kept(tmp_path) == (["job-1/chk-1"] if is_kept else [])
