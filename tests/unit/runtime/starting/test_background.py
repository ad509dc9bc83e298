"""When the making of an archive is started."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from funke.engine.runtime.starting import background


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    results: list[Any] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *arguments, **options: results.append(arguments))
    monkeypatch.setattr(background, "_successes", [])
    return results


def test_a_program_whose_jobs_have_failed_leaves_no_process_behind(started: list[Any]) -> None:
    background._start_building(os.getpid())
    assert started == []


def test_after_a_job_that_went_well_an_archive_is_made(started: list[Any]) -> None:
    background.note_success()
    background._start_building(os.getpid())
    assert len(started) == 1


def test_forks_of_the_driver_make_none(started: list[Any]) -> None:
    background.note_success()
    background._start_building(os.getpid() + 1)
    assert started == []
