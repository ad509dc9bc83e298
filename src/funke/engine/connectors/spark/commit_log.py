"""What a target has got already: the last unit of every writer, and a commit that was under way."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from funke.engine.connectors.file_sink.storage import open_storage
from funke.engine.connectors.staging import StagedData

__all__ = ["CommitLog", "StorageStrings", "TextFiles", "Moves"]


class TextFiles(Protocol):
    """Small texts by name; writing one is done completely or not at all."""

    def read(self, name: str) -> str | None:
        """The text, None when there is none."""

    def write(self, name: str, text: str) -> None:
        """Replaces the text."""

    def delete(self, name: str) -> None:
        """Removes the text if it is there."""


@dataclass(frozen=True)
class Moves:
    """Files that a commit moves to their places, and the units whose data they hold."""

    staging: str
    files: list[str] = field(default_factory=list)
    units: dict[str, int] = field(default_factory=dict)


class CommitLog:
    """Remembers units by writer, since each writer counts its own; so it does not grow with time."""

    def __init__(self, strings: TextFiles) -> None:
        self._strings = strings

    def missing(self, units: Iterable[StagedData]) -> list[StagedData]:
        """The units that are not committed yet."""
        numbers = self._last_numbers()
        return [unit for unit in units if unit.number > numbers.get(unit.writer, -1)]

    def add(self, units: dict[str, int]) -> None:
        """Notes the last unit of writers."""
        self._strings.write("committed.json", json.dumps({**self._last_numbers(), **units}))

    def begin(self, moves: Moves) -> None:
        """From here on the commit is completed, whatever happens."""
        self._strings.write("moves.json", json.dumps(vars(moves)))

    def begun(self) -> Moves | None:
        """The commit that was under way."""
        text = self._strings.read("moves.json")
        return None if text is None else Moves(**json.loads(text))

    def end(self) -> None:
        """All files of the commit are in their places."""
        self._strings.delete("moves.json")

    def _last_numbers(self) -> dict[str, int]:
        text = self._strings.read("committed.json")
        numbers: dict[str, int] = {} if text is None else json.loads(text)
        return numbers


def last_numbers(units: Iterable[StagedData]) -> dict[str, int]:
    """The last unit of every writer."""
    numbers: dict[str, int] = {}
    for unit in units:
        numbers[unit.writer] = max(unit.number, numbers.get(unit.writer, -1))
    return numbers


class StorageStrings:
    """Texts beside the staged data of a sink."""

    def __init__(self, folder: str) -> None:
        self._storage: Any = open_storage(folder)

    def _path(self, name: str) -> str:
        path: str = self._storage.join(self._storage.root, name)
        return path

    def read(self, name: str) -> str | None:
        """The text of a file."""
        if self._storage.size(self._path(name)) is None:
            return None
        with self._storage.read(self._path(name)) as stream:
            return bytes(stream.read()).decode()

    def write(self, name: str, text: str) -> None:
        """Writes a new file and renames it."""
        part = self._path(f"{name}.part")
        # Of a write that died.
        self._storage.delete(part)
        with self._storage.create(part) as stream:
            stream.write(text.encode())
            self._storage.sync(stream)
        self._storage.move(part, self._path(name))

    def delete(self, name: str) -> None:
        """Removes a file."""
        self._storage.delete(self._path(name))
