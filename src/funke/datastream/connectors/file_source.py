"""Reading files, once or as they arrive."""

from __future__ import annotations

from funke.common.time import Duration
from funke.common.typeinfo import TypeInformation
from funke.datastream.connectors.base import Source
from funke.engine.connectors.files.file_source import FileSource as EngineFileSource
from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.formats.column_types import to_row_type
from funke.engine.formats.file_format import FileFormat
from funke.engine.formats.json_lines_reader import JsonLinesFormat
from funke.engine.formats.text_lines import TextLineFormat
from funke.engine.formats.whole_files import WholeFileFormat

__all__ = [
    "BulkFormat",
    "FileEnumeratorProvider",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "StreamFormat",
]


class FileEnumeratorProvider:
    """How files are found and cut into splits.

    >>> from funke.datastream.connectors.file_system import FileEnumeratorProvider, FileSource, StreamFormat
    >>> whole_files = FileEnumeratorProvider.default_non_splittable_file_enumerator()
    >>> builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/tmp/logs")
    >>> source = builder.set_file_enumerator(whole_files).build()
    >>> whole_files.is_splittable
    False
    """

    def __init__(self, is_splittable: bool = True) -> None:
        self.is_splittable = is_splittable

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Cut large files into several splits, unless they are compressed; hidden files are left out."""
        return FileEnumeratorProvider()

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Read each file as one split; hidden files are left out."""
        return FileEnumeratorProvider(is_splittable=False)


class FileSplitAssignerProvider:
    """Which reader gets which split.

    >>> from funke.datastream.connectors.file_system import FileSource, FileSplitAssignerProvider, StreamFormat
    >>> builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/tmp/logs")
    >>> source = builder.set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner()).build()
    >>> type(source).__name__
    'FileSource'
    """

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Prefer splits that lie on the reader's host; Spark's scheduler sees to that."""
        return FileSplitAssignerProvider()


class StreamFormat:
    """A format that is read record by record; `engine_format` is what the engine reads with.

    >>> from funke.common import Types
    >>> from funke.datastream.connectors.file_system import FileSource, StreamFormat
    >>> lines = FileSource.for_record_stream_format(StreamFormat.text_line_format("ISO-8859-1"), "/tmp/logs").build()
    >>> row_type = Types.ROW_NAMED(["id", "item"], [Types.INT(), Types.STRING()])
    >>> rows = FileSource.for_record_stream_format(StreamFormat.json_line_format(row_type), "/tmp/orders").build()
    >>> type(rows).__name__
    'FileSource'
    """

    def __init__(self, engine_format: FileFormat) -> None:
        self.engine_format = engine_format

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Return the format of text files whose lines are the records."""
        return StreamFormat(TextLineFormat(charset_name))

    @staticmethod
    def json_line_format(row_type: TypeInformation | None = None, ignore_parse_errors: bool = False) -> StreamFormat:
        """Return the format of files with one JSON value per line; goes beyond PyFlink.

        Records are rows of the given type, or what `json.loads` gives. With `ignore_parse_errors` lines that are not
        JSON are left out, and fields that do not fit are None.
        """
        return StreamFormat(JsonLinesFormat(None if row_type is None else to_row_type(row_type), ignore_parse_errors))


class BulkFormat:
    """A format that is read in batches, such as Parquet; `engine_format` is what the engine reads with.

    >>> from funke.common import Types
    >>> from funke.datastream.connectors.file_system import BulkFormat, FileSource
    >>> from funke.datastream.formats.parquet import ParquetColumnarRowInputFormat
    >>> parquet: BulkFormat = ParquetColumnarRowInputFormat(Types.ROW_NAMED(["id"], [Types.INT()]))
    >>> type(FileSource.for_bulk_file_format(parquet, "/tmp/orders").build()).__name__
    'FileSource'
    """

    def __init__(self, engine_format: FileFormat) -> None:
        self.engine_format = engine_format


class FileSourceBuilder:
    """Collects the settings of a file source.

    >>> from funke.common import Duration
    >>> from funke.datastream.connectors.file_system import FileSource, StreamFormat
    >>> builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/tmp/logs")
    >>> source = builder.monitor_continuously(Duration.of_seconds(10)).build()  # also files to come
    >>> type(builder).__name__
    'FileSourceBuilder'
    """

    def __init__(self, engine_format: FileFormat, paths: tuple[str, ...]) -> None:
        self._format = engine_format
        self._paths = paths
        self._discovery_interval_ms: int | None = None
        self._is_splittable = True

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Keep the job running and look for new files every `discovery_interval`."""
        interval_ms = discovery_interval.to_millis()
        if interval_ms <= 0:
            raise ConfigurationError(f"the discovery interval must be positive, got {discovery_interval}")
        self._discovery_interval_ms = interval_ms
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there when the job starts, and end; this is the default."""
        self._discovery_interval_ms = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Choose how files are found and cut."""
        self._is_splittable = file_enumerator.is_splittable
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Choose which reader gets which split; there is one choice only."""
        return self

    def build(self) -> FileSource:
        """Return the source."""
        file_format = self._format if self._is_splittable else WholeFileFormat(self._format)
        return FileSource(EngineFileSource(self._paths, file_format, self._discovery_interval_ms))


class FileSource(Source):
    """Reads all files under the given paths, once or continuously.

    >>> import pathlib, tempfile
    >>> from funke.common import WatermarkStrategy
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.file_system import FileSource, StreamFormat
    >>> folder = tempfile.TemporaryDirectory()
    >>> for word in ("to", "be"):
    ...     _ = pathlib.Path(folder.name, word).write_text(word)
    >>> source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), folder.name).build()
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> words = env.from_source(source, WatermarkStrategy.no_watermarks(), "words")
    >>> sorted(words.execute_and_collect())
    ['be', 'to']
    """

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """Start building a source for a format that is read record by record."""
        return FileSourceBuilder(_engine_format(stream_format), paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> FileSourceBuilder:
        """Start building a source for a format that is read in batches."""
        return FileSourceBuilder(_engine_format(bulk_format), paths)


def _engine_format(file_format: StreamFormat | BulkFormat) -> FileFormat:
    engine_format = getattr(file_format, "engine_format", None)
    if not isinstance(engine_format, FileFormat):
        raise ConfigurationError(
            at_user_line(f"a file source needs a format such as StreamFormat or BulkFormat, got {file_format!r}")
        )
    return engine_format
