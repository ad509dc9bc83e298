"""The position of a Spark streaming query: the newest files of its log, saved in checkpoints and put back."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from funke.engine.errors import UnsupportedFeatureError

__all__ = ["QueryPosition", "QueryLog"]

# Spark reads the last two entries of its offset log when a query starts again.
_OFFSETS_KEPT = 2


@dataclass(frozen=True)
class QueryPosition:
    """Everything up to a micro-batch, which a restarted query need not read again; -1 for none."""

    batch_id: int = -1
    # By path below the query's folder.
    files: dict[str, bytes] = field(default_factory=dict)


class QueryLog:
    """The folder that a query keeps its log in.

    Spark writes the offsets of a batch before it is handed out, and a mark when it is done. What is taken along has the
    offsets and not always the mark: then the restarted query hands the same batch out again, and it is left out.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def names_at(self, batch_id: int) -> list[str]:
        """The files that belong to a position; called while the query waits in that batch, so that none is newer."""
        paths = []
        for directory, _, names in os.walk(self.folder):
            below = os.path.relpath(directory, self.folder)
            paths += [os.path.normpath(os.path.join(below, name)) for name in names if not name.startswith(".")]
        return sorted(name for name in paths if _is_wanted(name, batch_id))

    def take(self, batch_id: int, names: list[str]) -> QueryPosition:
        """Reads the files of a position."""
        if os.path.isdir(os.path.join(self.folder, "state")):
            raise UnsupportedFeatureError(
                "a Spark query with state of its own as the source of a job with checkpoints",
                "aggregate, join or deduplicate with Funke's operators behind the source",
            )
        files = {}
        for name in _newest_compaction(names):
            try:
                with open(os.path.join(self.folder, name), "rb") as file:
                    files[name] = file.read()
            except FileNotFoundError:  # Spark has dropped it, since newer files hold the same
                continue
        return QueryPosition(batch_id, files)

    def put_back(self, position: QueryPosition) -> None:
        """Makes a new folder look as it did at a position."""
        for name, content in position.files.items():
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)


def _is_wanted(name: str, batch_id: int) -> bool:
    head, _, number = name.partition("/")
    if head in ("offsets", "commits") and number.isdecimal():
        return batch_id - _OFFSETS_KEPT < int(number) <= batch_id
    return head in ("metadata", "sources")


def _newest_compaction(names: list[str]) -> list[str]:
    """Without what a compacted file of a source's log holds already: `sources/0/19.compact` has 0 to 19."""
    newest: dict[str, int] = {}
    for name in names:
        folder, _, file = name.rpartition("/")
        if file.endswith(".compact") and file.removesuffix(".compact").isdecimal():
            newest[folder] = max(newest.get(folder, -1), int(file.removesuffix(".compact")))
    kept = []
    for name in names:
        folder, _, file = name.rpartition("/")
        number = file.removesuffix(".compact")
        if folder in newest and number.isdecimal() and int(number) < newest[folder]:
            continue
        kept.append(name)
    return kept
