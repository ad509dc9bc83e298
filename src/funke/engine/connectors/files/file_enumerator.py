"""Cuts files into splits, epoch by epoch."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace

from funke.engine.connectors.files.file_listing import list_files
from funke.engine.connectors.source import ReadOutcome, Split, SplitEnumerator
from funke.engine.errors import SourceError
from funke.engine.formats.file_format import FileFormat
from funke.engine.formats.input_file import InputFile, reading_errors
from funke.engine.operators.time.clock import Clock

__all__ = ["FileRange", "FileSplitEnumerator"]

_FIRST_GUESS_BYTES = 100
_FIRST_GUESS_COMPRESSED_BYTES = 25
# A range below this size costs more to open than to read.
_SMALLEST_RANGE_BYTES = 1 << 16
# A rest of a share below this part of it is not worth a range of its own.
_FEWEST_OF_SHARE = 20


@dataclass(frozen=True)
class FileRange:
    """A part of a file; `start` and `end` count bytes, or units when the format knows units."""

    file: InputFile
    start: int
    end: int


@dataclass
class RecordSize:
    """A guess of the bytes that a record takes in its file, from what was read before."""

    records: float = 1.0
    bytes: float = _FIRST_GUESS_BYTES

    def learn(self, records: int, size: int) -> None:
        """Take what was read into account; older ranges count less and less."""
        self.records = self.records * 0.75 + records
        self.bytes = self.bytes * 0.75 + size

    def records_in(self, size: int) -> int:
        """Return how many records so many bytes may hold."""
        return max(1, round(size * self.records / self.bytes))

    def bytes_of(self, records: int) -> int:
        """Return how many bytes so many records may take."""
        return max(1, round(records * self.bytes / self.records))


@dataclass
class FilePositions:
    """Where a file source stands: the snapshot of its enumerator."""

    waiting: list[InputFile] = field(default_factory=list)
    # How far the first waiting file has been handed out.
    position: int = 0
    # The names of all files ever found; empty for a source that looks once.
    seen: frozenset[str] = frozenset()
    plain: RecordSize = field(default_factory=RecordSize)
    compressed: RecordSize = field(default_factory=lambda: RecordSize(bytes=_FIRST_GUESS_COMPRESSED_BYTES))


class FileSplitEnumerator(SplitEnumerator):
    """Hands out the files in order, big ones in ranges of bytes.

    Without a discovery interval the files are those that are there at the start. With one, new files are looked for as
    time passes; a file is read once, as long as it was when it was found, even when it grows or changes later.
    """

    def __init__(
        self,
        paths: tuple[str, ...],
        file_format: FileFormat,
        parallelism: int,
        clock: Clock,
        discovery_interval_ms: int | None = None,
        restored: FilePositions | None = None,
        path_pattern: str | None = None,
    ) -> None:
        self._path_pattern = None if path_pattern is None else re.compile(path_pattern)
        self._paths = paths
        self._format = file_format
        self._parallelism = parallelism
        self._clock = clock
        self._interval_ms = discovery_interval_ms
        positions = restored or FilePositions()
        self._waiting = deque(positions.waiting)
        self._position = positions.position
        self._seen = set(positions.seen)
        self._plain = replace(positions.plain)
        self._compressed = replace(positions.compressed)
        self._units: list[int] | None = None
        self._next_discovery_ms = clock.now_ms()
        if restored is None:
            self._discover()

    def poll(self, max_records: int) -> list[Split]:
        """Return ranges of the next files, together about `max_records` records."""
        if self._interval_ms is not None and self._clock.now_ms() >= self._next_discovery_ms:
            self._discover()
        splits: list[Split] = []
        left = max_records
        share = -(-min(max_records, self._records_left()) // self._parallelism)
        room = share
        while left > 0 and self._waiting:
            split = self._next_split(self._waiting[0], min(left, room))
            if split is not None:
                splits.append(split)
                left -= split.weight
                room -= split.weight
            # The ranges between two refills make up the share of one subtask.
            room = share if room <= share // _FEWEST_OF_SHARE else room
        return splits

    def _records_left(self) -> int:
        """A guess of how many records are not handed out yet, so that the last of them are spread evenly too."""
        plain = sum(file.size for file in self._waiting if not file.is_compressed) - self._position
        compressed = sum(file.size for file in self._waiting if file.is_compressed)
        return self._plain.records_in(max(0, plain)) + self._compressed.records_in(compressed)

    def _next_split(self, file: InputFile, records: int) -> Split | None:
        try:
            start, end, weight, is_end = self._next_range(file, records)
        except reading_errors() as error:
            raise SourceError(f"cannot read file '{file.name}': {error}") from error
        self._position = end
        if is_end:
            self._waiting.popleft()
            self._position, self._units = 0, None
        if start >= end:
            return None
        return Split(f"{file.name}:{start}", FileRange(file, start, end), weight=weight)

    def _next_range(self, file: InputFile, records: int) -> tuple[int, int, int, bool]:
        if self._units is None:
            self._units = self._format.units(file)
        if self._units is not None:
            return self._next_units(self._units, records)
        start, size = self._position, file.size
        guess = self._compressed if file.is_compressed else self._plain
        end = size
        if self._format.is_cuttable and not file.is_compressed:
            length = max(_SMALLEST_RANGE_BYTES, guess.bytes_of(records))
            # A small rest is read along rather than on its own.
            if size - start > length * 1.25:
                end = self._format.cut_at(file, start, start + length)
        return start, end, guess.records_in(end - start), end >= size

    def _next_units(self, units: list[int], records: int) -> tuple[int, int, int, bool]:
        start = end = self._position
        weight = 0
        while end < len(units) and (end == start or weight + units[end] <= records):
            weight += units[end]
            end += 1
        return start, end, max(1, weight), end >= len(units)

    def _discover(self) -> None:
        if self._interval_ms is None:
            self._waiting.extend(self._list())
            return
        self._next_discovery_ms = self._clock.now_ms() + self._interval_ms
        new = [file for file in self._list(is_pattern_optional=True) if file.name not in self._seen]
        self._seen.update(file.name for file in new)
        self._waiting.extend(new)

    def _list(self, is_pattern_optional: bool = False) -> list[InputFile]:
        files = list_files(self._paths, is_pattern_optional)
        pattern = self._path_pattern
        return files if pattern is None else [file for file in files if pattern.fullmatch(file.path)]

    @property
    def is_finished(self) -> bool:
        """True when all files have been handed out and no more are looked for."""
        return self._interval_ms is None and not self._waiting

    def report(self, outcome: ReadOutcome) -> None:
        """Learn how long records are."""
        part: FileRange = outcome.split.payload
        if type(self._format).units is FileFormat.units:
            guess = self._compressed if part.file.is_compressed else self._plain
            guess.learn(outcome.records, part.end - part.start)

    def next_poll_ms(self) -> int:
        """Wait until the next look for files."""
        if self._interval_ms is None:
            return super().next_poll_ms()
        return max(1, self._next_discovery_ms - self._clock.now_ms())

    def snapshot(self) -> FilePositions:
        """Return what has not been handed out, and which files are known."""
        return FilePositions(
            list(self._waiting), self._position, frozenset(self._seen), replace(self._plain), replace(self._compressed)
        )
