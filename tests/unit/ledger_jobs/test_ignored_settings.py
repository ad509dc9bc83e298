"""Settings without effect are told, once for each."""

from __future__ import annotations

import pytest

from funke.engine.config.settings import Settings
from funke.engine.jobs.ignored_settings import warn_of_ignored


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ({}, []),
        ({"metrics.latency.interval": "0"}, []),
        ({"metrics.latency.interval": "1 s"}, ["metrics.latency.interval"]),
        ({"execution.checkpointing.incremental": "true"}, ["execution.checkpointing.incremental"]),
        ({"execution.checkpointing.incremental": "true", "state.backend.type": "rocksdb"}, []),
    ],
)
def test_who_hears_what(options: dict[str, str], warned: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    warn_of_ignored(Settings(options))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == warned
    assert all("has no effect: " in line for line in lines)
