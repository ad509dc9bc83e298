"""Flink's keys for buffers between subtasks, and what they may hold."""

from __future__ import annotations

import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.submission.job_code import network_settings
from funke.engine.runtime.pipelined.network_settings import DebloatSettings, NetworkSettings

DEBLOAT = "taskmanager.network.memory.buffer-debloat."


def test_defaults_are_flinks() -> None:
    assert network_settings(Settings()) == NetworkSettings(32 << 10, 2, 8, None, 5.0)
    enabled = network_settings(Settings({f"{DEBLOAT}enabled": "true"}))
    assert enabled.debloat == DebloatSettings(1.0, 0.2, 20, 0.25, 1024, 256)


def test_every_key_counts() -> None:
    match = network_settings(
        Settings(
            {
                f"{DEBLOAT}enabled": "true",
                f"{DEBLOAT}target": "500 ms",
                f"{DEBLOAT}period": "1 s",
                f"{DEBLOAT}samples": "5",
                f"{DEBLOAT}threshold-percentages": "10",
                "taskmanager.memory.segment-size": "16 kb",
                "taskmanager.memory.starting-segment-size": "64 kb",
                "taskmanager.memory.min-segment-size": "1 kb",
                "web.backpressure.num-samples": "10",
                "jobmanager.web.backpressure.delay-between-samples": "200",
            }
        )
    )
    assert match == NetworkSettings(
        16 << 10, 2, 8, DebloatSettings(0.5, 1.0, 5, 0.1, 16 << 10, 1 << 10), 2.0, total_buffers=4096
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {f"{DEBLOAT}target": "0 ms"},
        {f"{DEBLOAT}period": "0 ms"},
        {f"{DEBLOAT}samples": "0"},
        {f"{DEBLOAT}threshold-percentages": "101"},
        {"taskmanager.memory.min-segment-size": "0"},
        {"taskmanager.memory.min-segment-size": "64 kb"},
        {"web.backpressure.num-samples": "0"},
        {"web.backpressure.delay-between-samples": "-1"},
    ],
)
def test_what_makes_no_sense_is_rejected(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="must be"):
        network_settings(Settings({f"{DEBLOAT}enabled": "true", **wrong}))
