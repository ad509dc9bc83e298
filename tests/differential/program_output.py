"""How the output of a differential program is captured and brought into comparable form."""

from __future__ import annotations

import os
import re
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
GOLDEN = HERE / "golden"

# Times are printed in the zone of the process; one zone makes the recorded text hold everywhere.
TIME_ZONE = "UTC"

_METADATA = re.compile(r"^# (compare|parallelism|prefix): (\S+)$")
# The subtask number that a print sink puts before a line: "3> x" or, with an identifier, "id:3> x".
_SUBTASK = re.compile(r"^(?:(?P<identifier>[\w-]+):)?\d+> ")
_NOISE = re.compile(r"^(WARNING: |SLF4J|log4j|OpenJDK|Picked up |\d\d/\d\d/\d\d \d\d:\d\d:\d\d (WARN|INFO|ERROR) )")


@dataclass(frozen=True)
class Program:
    """One program with the metadata of its first comment lines."""

    path: Path
    is_ordered: bool
    parallelism: int
    strips_subtask_prefix: bool

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def golden_path(self) -> Path:
        return GOLDEN / f"{self.name}.txt"


def program_names() -> list[str]:
    return sorted(path.stem for path in PROGRAMS.glob("*.py"))


def load_program(name: str) -> Program:
    path = PROGRAMS / f"{name}.py"
    metadata: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        if match := _METADATA.match(line):
            metadata[match[1]] = match[2]
    compare = metadata.get("compare")
    if compare not in ("ordered", "unordered") or "parallelism" not in metadata:
        raise ValueError(f"{path.name} needs '# compare: ordered|unordered' and '# parallelism: N' in its first lines")
    return Program(path, compare == "ordered", int(metadata["parallelism"]), metadata.get("prefix") == "strip")


def normalised(program: Program, output: str) -> list[str]:
    """The program's own lines: without the runtime's warnings, sorted when their order means nothing."""
    lines = [line.rstrip() for line in output.split("\n") if line.strip() and not _NOISE.match(line)]
    if program.strips_subtask_prefix:
        lines = [_SUBTASK.sub(_identifier_only, line) for line in lines]
    return lines if program.is_ordered else sorted(lines)


def _identifier_only(actual: re.Match[str]) -> str:
    return f"{actual['identifier']}> " if actual["identifier"] else ""


class StdoutFile:
    """A file that takes the place of descriptor 1: print sinks write there from other processes, past `sys.stdout`.

    One file serves many programs, because a process started by the first keeps writing to the same file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._start = 0
        path.touch()

    @contextmanager
    def captured(self) -> Iterator[None]:
        sys.stdout.flush()
        self._start = self._path.stat().st_size
        saved_descriptor, saved_stdout = os.dup(1), sys.stdout
        target = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        os.dup2(target, 1)
        os.close(target)
        try:
            with open(1, "w", encoding="utf-8", buffering=1, closefd=False) as sys.stdout:
                yield
        finally:
            sys.stdout = saved_stdout
            os.dup2(saved_descriptor, 1)
            os.close(saved_descriptor)

    def text(self) -> str:
        """What was written since the last capture began."""
        return self._path.read_bytes()[self._start :].decode("utf-8")


def run_as_script(program: Program) -> None:
    """Run the program as `python program.py` would, in this interpreter."""
    saved_arguments = sys.argv
    sys.argv = [str(program.path)]
    try:
        runpy.run_path(str(program.path), run_name="__main__")
    finally:
        sys.argv = saved_arguments
