"""Settings of checkpoints that depend on each other."""

from __future__ import annotations

import pytest

from funke.engine.config.settings import Settings
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings


@pytest.mark.parametrize(("is_unaligned", "expected"), [("true", 1), ("false", 3)])
def test_one_that_overtakes_is_alone(is_unaligned: str, expected: int) -> None:
    several = {"execution.checkpointing.max-concurrent-checkpoints": "3"}
    settings = CheckpointSettings.of(Settings({**several, "execution.checkpointing.unaligned": is_unaligned}), "/place")
    assert settings.max_concurrent == expected
