"""What operators send to the driver: a warning is told once for each operator, whoever sends it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from funke.engine.jobs.checkpoint_keeper import CheckpointKeeper
from funke.engine.jobs.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoint_store import CheckpointStore
from funke.engine.jobs.coordinator import Coordinator
from funke.engine.jobs.job_sources import JobSources
from funke.engine.operators.type_watch import warnings_channel
from funke.engine.runtime.epoch_runner import EpochRunner
from funke.engine.runtime.results import DriverMessage


def test_the_first_warning_of_an_operator_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    keeper = CheckpointKeeper("job", CheckpointSettings(), CheckpointStore("/nowhere"))
    nobody = cast(Any, None)
    coordinator = Coordinator(
        cast(EpochRunner, None), {}, JobSources([]), nobody, {}, nobody, 0, keeper, 0, executions=nobody, watch=nobody
    )
    for subtask, operator_id in ((0, "a"), (1, "a"), (0, "b"), (0, "a")):
        message = DriverMessage(warnings_channel(operator_id), subtask, f"{operator_id} of {subtask}")
        coordinator._deliver_messages([message])
    assert capfd.readouterr().err == "warning: a of 0\nwarning: b of 0\n"
