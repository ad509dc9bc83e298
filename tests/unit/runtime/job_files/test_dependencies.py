"""What a job brings along for its workers."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from funke.engine.errors import ConfigurationError
from funke.engine.runtime.job_files.dependencies import stage

ISOLATION = "--no-build-isolation"


@pytest.fixture
def requirements(tmp_path: Path) -> str:
    file = tmp_path / "requirements.txt"
    file.write_text("package==1.0")
    return str(file)


def run_pip(monkeypatch: pytest.MonkeyPatch, *return_codes: int) -> list[list[str]]:
    """Let pip end with these codes; returns the commands, which fill up as it runs."""
    commands: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, return_codes[len(commands) - 1], "", "first\nlast line")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_packages_of_a_folder_are_built_with_what_is_installed_if_need_be(
    monkeypatch: pytest.MonkeyPatch, requirements: str, tmp_path: Path
) -> None:
    commands = run_pip(monkeypatch, 1, 0)
    stage((), (), (requirements, str(tmp_path))).remove()
    assert [ISOLATION in each for each in commands] == [False, True]
    assert all(str(tmp_path) in each and "--no-index" in each for each in commands)


@pytest.mark.parametrize(("has_folder", "tries"), [(False, 1), (True, 2)])
def test_what_cannot_be_installed_is_reported(
    monkeypatch: pytest.MonkeyPatch, requirements: str, tmp_path: Path, has_folder: bool, tries: int
) -> None:
    commands = run_pip(monkeypatch, 1, 1)
    with pytest.raises(ConfigurationError, match="cannot be installed: last line"):
        stage((), (), (requirements, str(tmp_path) if has_folder else None))
    assert len(commands) == tries
