"""Reads files: text lines, CSV, JSON lines, Parquet, also compressed, once or as they arrive."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterable, Iterator
from typing import Any

from funke.engine.connectors.files.file_enumerator import FileRange, FileSplitEnumerator
from funke.engine.connectors.source import Batch, Source, Split, SplitReader
from funke.engine.errors import ConfigurationError, SourceError, at_user_line
from funke.engine.formats.file_format import FileFormat
from funke.engine.formats.input_file import reading_errors
from funke.engine.operators.time.clock import Clock, SystemClock
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["FileSource", "FileSplitReader"]


class FileSource(Source):
    """Reads the files under some paths; with a discovery interval, also those that come later.

    >>> from funke.engine.formats.text_lines import TextLineFormat
    >>> source = FileSource(["logs/*.txt", "more/logs.gz"], TextLineFormat())
    >>> source.is_bounded, source.produced_type
    (True, String)
    """

    def __init__(
        self,
        paths: Iterable[str],
        file_format: FileFormat,
        discovery_interval_ms: int | None = None,
        clock: Clock | None = None,
        path_pattern: str | None = None,
    ) -> None:
        self._paths = (paths,) if isinstance(paths, str) else tuple(map(str, paths))
        if not self._paths:
            raise ConfigurationError("a file source needs at least one path")
        if not all(path.strip() for path in self._paths):
            raise ConfigurationError(at_user_line("The file path must not be null or blank."))
        if discovery_interval_ms is not None and discovery_interval_ms <= 0:
            raise ConfigurationError(f"the discovery interval must be positive, not {discovery_interval_ms} ms")
        self._format = file_format
        self._discovery_interval_ms = discovery_interval_ms
        self._clock = clock or SystemClock()
        # Of the files found, those whose whole paths match are read.
        self._path_pattern = path_pattern
        self.is_bounded = discovery_interval_ms is None
        self.produced_type = file_format.produced_type

    @property
    def paths(self) -> tuple[str, ...]:
        """Those that were given; of a pattern, the folder in which it begins."""
        return tuple(map(_beginning, self._paths))

    def create_enumerator(self, parallelism: int, restored: Any = None) -> FileSplitEnumerator:
        """Look for the files, or go on with those that an earlier enumerator had left."""
        return FileSplitEnumerator(
            self._paths,
            self._format,
            parallelism,
            self._clock,
            self._discovery_interval_ms,
            restored,
            self._path_pattern,
        )

    def create_reader(self) -> FileSplitReader:
        """Return the reader of the format."""
        return FileSplitReader(self._format)


class FileSplitReader(SplitReader):
    """Reads ranges of files."""

    def __init__(self, file_format: FileFormat) -> None:
        self._format = file_format

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """Yield the records of a range; no format knows timestamps."""
        part: FileRange = split.payload
        for values in _reporting_errors(part, self._format.read(part.file, part.start, part.end)):
            yield values, None

    def read_columns(self, split: Split) -> Generator[ColumnBatch, None, Any] | None:
        """Return the records of a range as columns, if the format has them."""
        part: FileRange = split.payload
        batches = self._format.read_columns(part.file, part.start, part.end)
        if batches is None:
            return None
        reported_batches = _reporting_errors(part, batches)
        return (batch if isinstance(batch, ColumnBatch) else ColumnBatch(batch) for batch in reported_batches)


def _reporting_errors(part: FileRange, batches: Iterable[Any]) -> Iterator[Any]:
    iterator = iter(batches)
    while True:
        try:
            batch = next(iterator)
        except StopIteration:
            return
        except FileNotFoundError:
            raise SourceError(f"file '{part.file.name}' was there and has disappeared") from None
        except reading_errors() as error:
            raise SourceError(f"cannot read file '{part.file.name}': {error}") from error
        yield batch


def _beginning(path: str) -> str:
    """
    >>> _beginning("/logs/*/part"), _beginning("/logs/part")
    ('/logs', '/logs/part')
    """
    wildcard = re.search(r"[*?\[]", path)
    return path if wildcard is None else os.path.dirname(path[: wildcard.start()]) or "."
