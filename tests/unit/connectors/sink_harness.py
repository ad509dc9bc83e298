"""Runs sinks in a test without any runtime: a clock that the test moves, and a record of what was sent."""

from __future__ import annotations

import os
import re
from pathlib import Path

from funke.engine.connectors.sink import WriterContext
from funke.engine.operators.time.clock import ManualClock
from funke.engine.types.driver_messages import DriverMessage
from funke.engine.types.information.type_information import TypeInformation

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


class SinkHarness:
    """Makes writer contexts; `sent` holds what writers sent to the driver."""

    def __init__(self, now_ms: int = 0) -> None:
        self.clock = ManualClock(now_ms)
        self.sent: list[DriverMessage] = []

    def context(
        self,
        input_type: TypeInformation | None = None,
        subtask: int = 0,
        parallelism: int = 1,
        staging_folder: str | None = None,
    ) -> WriterContext:
        return WriterContext(
            job_id="job",
            subtask=subtask,
            parallelism=parallelism,
            attempt=0,
            input_type=input_type,
            now_ms=self.clock.now_ms,
            send_to_driver=self.sent.append,
            staging_folder=staging_folder,
        )


def files_below(root: Path) -> dict[str, bytes]:
    """Every file by its path below `root`, with all unique ids replaced by `#`."""
    contents = {}
    for directory, _, names in os.walk(root):
        for name in names:
            path = Path(directory, name)
            contents[re.sub(UUID, "#", str(path.relative_to(root)))] = path.read_bytes()
    return contents
