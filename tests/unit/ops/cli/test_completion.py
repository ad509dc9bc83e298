"""Scripts for shells: every command, its options, ids of jobs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from funke.ops.cli.completion import completion_script, options_of
from funke.ops.cli.main import COMMANDS, main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for command in COMMANDS:
        assert command in script, command
    assert "fromSavepoint" in script


def test_options_are_those_of_the_parsers() -> None:
    assert {"-f", "--follow", "--level", "--json"} <= set(options_of("logs"))
    assert {"-p", "--parallelism", "-pyfs"} <= set(options_of("run"))
    assert "-c" not in options_of("run"), "Flink has it, and it is rejected here"
    assert main(["memory", "--json"]) == 0, "parsers parse again"


def _completed(folder: Path, shell: str, *words: str) -> set[str]:
    """What bash offers for the last of some words."""
    script = folder / "funke.sh"
    script.write_text(completion_script("bash"))
    (folder / "funke").write_text(f"#!/bin/sh\necho 01.01.2026 : {'a' * 32} : orders\n")
    (folder / "funke").chmod(0o700)
    typed = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}"
    asked = f'source {script}; {typed}; _funke; printf "%s\\n" "${{COMPREPLY[@]}}"'
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [shell, "-c", asked], env={"PATH": path}, cwd=folder, capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completes(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    (tmp_path / "orders.py").touch()
    assert _completed(tmp_path, bash, "funke", "sta") == {"start-cluster", "status"}
    assert _completed(tmp_path, bash, "funke", "top", "--o") == {"--once"}
    assert _completed(tmp_path, bash, "funke", "status", "aa") == {"a" * 32}
    assert _completed(tmp_path, bash, "funke", "run", "ord") == {"orders.py"}


@pytest.mark.parametrize(("shell", "check"), [("zsh", "-n"), ("fish", "--no-execute")])
def test_other_shells_can_read_theirs(shell: str, check: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(completion_script(shell))
    command = [program, check, str(tmp_path / "script")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
