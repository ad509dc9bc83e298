"""Appends to a folder of data files: written out of sight by Spark, then moved to their places one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from funke.engine.connectors.spark.commit_log import CommitLog, Moves, TextFiles, last_numbers
from funke.engine.connectors.staging import StagedData

__all__ = ["FileTable", "TableFiles"]

# Spark and other readers of data folders ignore names that begin with an underscore.
LOG_FOLDER = "_funke"


class TableFiles(TextFiles, Protocol):
    """The files of a table; names are relative to its folder."""

    def path(self, name: str) -> str:
        """The full path, for Spark."""

    def list_data(self, folder: str) -> list[str]:
        """The data files below a folder, relative to it; marks and logs are left out."""

    def move(self, source: str, target: str) -> None:
        """Renames a file, making the folder it goes to; a source that is gone was moved before."""

    def delete_folder(self, name: str) -> None:
        """Removes a folder with all it holds."""


class FileTable:
    """Commits units of staged data exactly once.

    Until the list of moves is written, nothing has happened and everything can be done again. After that the moves are
    done, by the first to come: this commit, or the next one after a crash. Spark gives its files unique names.
    """

    def __init__(self, files: TableFiles, owner: str) -> None:
        self._files = files
        self._folder = f"{LOG_FOLDER}/{owner.replace('/', '-')}"
        self._log = CommitLog(_Below(files, self._folder))

    def commit(self, units: list[StagedData], write: Callable[[list[StagedData], str], None]) -> bool:
        """Writes what is not there yet, with `write(units, path)`; tells whether anything was done."""
        pending = self._log.begun()
        if pending is not None:
            self._finish(pending)
        missing = self._log.missing(units)
        if missing:
            staging = f"{self._folder}/staging"
            self._files.delete_folder(staging)
            write(missing, self._files.path(staging))
            moves = Moves(staging, self._files.list_data(staging), last_numbers(missing))
            self._log.begin(moves)
            self._finish(moves)
        return bool(missing) or pending is not None

    def _finish(self, moves: Moves) -> None:
        # The list of moves goes last: after a crash anywhere, all of this can be done again and changes nothing.
        for name in moves.files:
            self._files.move(f"{moves.staging}/{name}", name)
        self._log.add(moves.units)
        self._files.delete_folder(moves.staging)
        self._log.end()


class _Below:
    """The texts in a folder of the table."""

    def __init__(self, files: TextFiles, folder: str) -> None:
        self._files = files
        self._folder = folder

    def read(self, name: str) -> str | None:
        return self._files.read(f"{self._folder}/{name}")

    def write(self, name: str, text: str) -> None:
        self._files.write(f"{self._folder}/{name}", text)

    def delete(self, name: str) -> None:
        self._files.delete(f"{self._folder}/{name}")
