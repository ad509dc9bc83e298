"""SQL cases as text: what a case file holds, and how it is read and written again.

The format is described in CONTRIBUTING.md, under "SQL cases". A file is a list of records with empty lines between
them; lines that begin with # are comments. The first line of a record says what it is:

    statement            a statement that changes the session: CREATE …, SET …
    statement error      one that is rejected, and after ---- the text of the error
    input                rows for tables, and steps of processing time, for the queries below
    query …              a query or an INSERT, and after ---- its changes
    query error          one that is rejected
    plan …               a query or an INSERT, and after ---- its plan and its operators
    reset                from here on there is a new session without tables
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Case", "CaseFile", "Record", "Step", "cells_of", "read_case_file"]

_WORDS = ("statement", "input", "query", "plan", "reset")
_ROW = re.compile(r"^(?P<table>\w+)\s+(?P<sign>[+-][IUD])?\[(?P<cells>.*)\]$")
_CLOCK = re.compile(r"^clock (?P<time>.+)$")


@dataclass(frozen=True)
class Step:
    """A row of a table, or a step of processing time; without both it says that input does not end."""

    table: str = ""
    sign: str = "+I"
    cells: tuple[str, ...] = ()
    clock: str = ""


@dataclass(frozen=True)
class Record:
    """Some lines of a file, which begin at line `number` (the first is 1)."""

    number: int
    lines: tuple[str, ...]

    @property
    def header(self) -> list[str]:
        return self.lines[0].split()

    @property
    def body(self) -> str:
        """What stands before the line ----."""
        return "\n".join(self.lines[1 : self._divider])

    @property
    def expected(self) -> list[str]:
        """What stands behind it."""
        return list(self.lines[self._divider + 1 :])

    @property
    def has_divider(self) -> bool:
        return "----" in self.lines

    @property
    def _divider(self) -> int:
        return self.lines.index("----") if self.has_divider else len(self.lines)

    def with_expected(self, lines: Sequence[str]) -> Record:
        """The same with another outcome."""
        return Record(self.number, (*self.lines[: self._divider], "----", *lines))


@dataclass(frozen=True)
class Case:
    """A record that is checked, with the session and the input that it finds."""

    path: Path
    record: Record
    statements: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def kind(self) -> str:
        return self.record.header[0]

    @property
    def is_error(self) -> bool:
        return "error" in self.record.header

    @property
    def has_batch(self) -> bool:
        """Whether a query gives the same rows in batch mode, or a plan is that of batch mode."""
        return "batch" in self.record.header

    @property
    def order(self) -> str:
        """What is said of the order of changes: "" (all of it), "unordered", "final" or "by"."""
        return next((each for each in ("by", "unordered", "final") if each in self.record.header), "")

    @property
    def keys(self) -> list[str]:
        """The columns within whose values changes have an order."""
        header = " ".join(self.record.header)
        match = re.search(r"\bby ([\w$]+(?:, ?[\w$]+)*)", header)
        return [] if match is None else [each.strip() for each in match.group(1).split(",")]

    @property
    def is_row_by_row(self) -> bool:
        """Whether the query depends on how rows are cut into batches, and is defined for single rows alone."""
        return "row-by-row" in self.record.header

    @property
    def name(self) -> str:
        text = " ".join(self.record.body.split())
        return f"{self.record.number}: {text[:70]}"


@dataclass
class CaseFile:
    """The records of a file, and comments between them, in order."""

    path: Path
    records: list[Record] = field(default_factory=list)

    def cases(self) -> Iterator[Case]:
        """What is to be checked."""
        statements: list[str] = []
        steps: tuple[Step, ...] = ()
        for record in self.records:
            word = record.header[0]
            if word == "input":
                steps = tuple(map(self._step, record.lines[1:]))
            elif word == "reset":
                statements, steps = [], ()
            elif word == "statement" and "error" not in record.header:
                statements.append(record.body)
            elif word in _WORDS:
                yield Case(self.path, record, tuple(statements), steps)

    def _step(self, line: str) -> Step:
        if line.strip() == "no end":
            return Step()
        clock = _CLOCK.match(line)
        if clock is not None:
            return Step(clock=clock["time"])
        row = _ROW.match(line)
        if row is None:
            raise ValueError(f"{self.path}: expected 'table +I[value, …]', 'clock 5 s' or 'no end', got {line!r}")
        return Step(row["table"], row["sign"] or "+I", tuple(cells_of(row["cells"])))

    def replaced(self, record: Record) -> None:
        """Puts a record in the place of the one that began at the same line."""
        index = next(index for index, each in enumerate(self.records) if each.number == record.number)
        self.records[index] = record

    def write(self) -> None:
        self.path.write_text("\n\n".join("\n".join(each.lines) for each in self.records) + "\n")


def read_case_file(path: Path) -> CaseFile:
    """Reads a file; ValueError with the line if it is none."""
    file, lines = CaseFile(path), path.read_text().split("\n")
    start = 0
    for number, line in enumerate([*lines, ""]):
        if line.strip():
            continue
        if start < number:
            file.records.append(_record(path, start + 1, lines[start:number]))
        start = number + 1
    return file


def _record(path: Path, number: int, lines: Sequence[str]) -> Record:
    is_comment = all(line.startswith("#") for line in lines)
    if not is_comment and lines[0].split()[0] not in _WORDS:
        raise ValueError(f"{path}:{number}: expected one of {', '.join(_WORDS)}, got {lines[0]!r}")
    return Record(number, tuple(line.rstrip() for line in lines))


def cells_of(text: str) -> Iterator[str]:
    """The values between commas that stand in no brackets and quotes."""
    depth, start, quote = 0, 0, ""
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        elif char == "," and not depth:
            yield text[start:index].strip()
            start = index + 1
    yield text[start:].strip()
