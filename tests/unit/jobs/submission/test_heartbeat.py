"""From Flink's options to the silence after which a slot is lost."""

from __future__ import annotations

import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.submission.job_code import heartbeat_settings
from funke.engine.runtime.slots.slot_watch import Heartbeat


def test_the_defaults_are_flinks() -> None:
    assert heartbeat_settings(Settings()) == Heartbeat(10_000, 50_000)


def test_numbers_are_milliseconds_and_durations_have_a_unit() -> None:
    configured = Settings({"heartbeat.interval": "500", "heartbeat.timeout": "3 s"})
    assert heartbeat_settings(configured) == Heartbeat(500, 3000)


@pytest.mark.parametrize(("interval", "timeout"), [("10 s", "10 s"), ("60 s", "50 s"), ("0", "50 s")])
def test_a_timeout_that_cannot_work_is_rejected(interval: str, timeout: str) -> None:
    with pytest.raises(ConfigurationError, match=r"heartbeat\.timeout"):
        heartbeat_settings(Settings({"heartbeat.interval": interval, "heartbeat.timeout": timeout}))
