"""Programs in the style of the documentation of Flink 1.9 to 1.14 run as they are, from the first line to the last.

A file `old_programs/*.programs` holds programs of one version: behind `=== what it shows` its input files, the program,
and what it leaves: printed lines, and the lines of the files below a folder. Lines have no order unless it says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from funke import alias

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

FILES = sorted((Path(__file__).parent / "old_programs").glob("*.programs"))
_PRINTS = ("prints", "prints in order")


@dataclass(frozen=True)
class Program:
    """One program with its sections by title: `file orders.csv`, `program`, `prints`, `rows of out`."""

    file: Path
    name: str
    sections: dict[str, str]

    def expected(self) -> dict[str, list[str]]:
        return {title: text.splitlines() for title, text in self.sections.items() if _is_result(title)}


def _is_result(title: str) -> bool:
    return title in _PRINTS or title.startswith("rows of ")


def programs_of(file: Path) -> Iterator[Program]:
    _, *parts = re.split(r"^=== ", file.read_text(), flags=re.MULTILINE)
    for part in parts:
        name, _, body = part.partition("\n")
        pieces = re.split(r"^--- (.+)\n", body, flags=re.MULTILINE)[1:]
        yield Program(file, name, {title: text.rstrip("\n") + "\n" for title, text in zip(pieces[::2], pieces[1::2])})


PROGRAMS = [program for file in FILES for program in programs_of(file)]


@pytest.fixture(autouse=True)
def pyflink_is_funke() -> Iterator[None]:
    alias.install()
    yield
    alias.uninstall()


def test_there_are_a_hundred_programs_with_results() -> None:
    assert [file.stem for file in FILES] == [f"flink_1_{minor}" for minor in (10, 11, 12, 13, 14, 9)]
    assert len(PROGRAMS) >= 100
    assert [each.name for each in PROGRAMS if not any(each.expected().values())] == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{program.file.stem}-{program.name}")
def test_a_program_runs_from_first_to_last_line(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for title, text in program.sections.items():
        if title.startswith("file "):
            (tmp_path / title.removeprefix("file ")).write_text(text)
    script = tmp_path / "program.py"
    script.write_text(program.sections["program"])
    capsys.readouterr()
    exec(compile(script.read_text(), script, "exec"), {"__name__": "__main__", "__file__": str(script)})
    printed = capsys.readouterr().out.splitlines()
    left = {title: _left(title, printed, tmp_path) for title in program.expected()}
    expected = program.expected()
    assert left == {title: text if title.endswith("order") else sorted(text) for title, text in expected.items()}


def _left(title: str, printed: list[str], folder: Path) -> list[str]:
    if title in _PRINTS:
        return printed if title.endswith("order") else sorted(printed)
    path = folder / title.removeprefix("rows of ")
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sorted(
        line for file in files if not file.name.startswith((".", "_")) for line in file.read_text().splitlines()
    )
