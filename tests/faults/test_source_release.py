"""A source hears of completed checkpoints, and may let go of what lies before them: it is not read again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, WatermarkStrategy
from funke.datastream import MapFunction, StreamExecutionEnvironment
from funke.datastream.connectors.python import PythonSource
from funke.datastream.functions import CheckpointListener

pytestmark = pytest.mark.spark


class Mailbox(PythonSource, CheckpointListener):
    """Numbers in files; a checkpoint removes the files that were handed out before it, and brings the next one."""

    is_bounded = False
    discovery_interval_ms = 20

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def enumerate_splits(self) -> Iterable[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def read_split(self, split: str) -> Iterable[int]:
        yield int((self.folder / split).read_text())

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        old = sorted(self.folder.iterdir())
        (self.folder / f"{len(old)}-{checkpoint_id:03}").write_text(str(checkpoint_id))
        for path in old[:-1]:
            path.unlink()


class FailOnce(MapFunction):
    """Fails in the first attempt, when a few checkpoints are complete."""

    def open(self, runtime_context: Any) -> None:
        self.is_first = runtime_context.get_attempt_number() == 0

    def map(self, value: int) -> int:
        if self.is_first and value >= 3:
            raise ValueError("the first attempt fails")
        return value


def test_what_a_completed_checkpoint_covers_can_be_removed(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "0-000").write_text("0")
    configuration = Configuration.from_dict(
        {"execution.checkpointing.interval": "50 ms", "restart-strategy.type": "fixed-delay"}
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    stream = env.from_source(Mailbox(tmp_path), WatermarkStrategy.no_watermarks(), "mailbox").map(FailOnce())
    numbers = list(stream.execute_and_collect(limit=12))
    assert len(numbers) == 12 and max(numbers) > 3
    assert not (tmp_path / "0-000").exists()
