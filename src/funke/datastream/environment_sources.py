"""The ways in which an environment makes a stream: collections, sources, files, sockets, sequences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from funke.common.watermark_strategy import WatermarkStrategy
from funke.datastream.connectors.base import BatchedSource
from funke.datastream.data_stream import DataStream
from funke.datastream.engine_values import to_engine_source
from funke.datastream.environment_graph import EnvironmentGraph
from funke.engine.connectors.collection import CollectionSource
from funke.engine.connectors.sequence import SequenceSource
from funke.engine.connectors.socket import SocketSource
from funke.engine.connectors.source import Source
from funke.engine.graph.builder import OF_INPUT
from funke.engine.graph.operations import CustomOperator
from funke.engine.types import TypeInformation, Types, WatermarkSpec

if TYPE_CHECKING:
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment


class EnvironmentSources(EnvironmentGraph):
    """Adds sources to the graph of the environment."""

    def from_collection(self, collection: Iterable[Any], type_info: TypeInformation | None = None) -> DataStream:
        """Make a stream of the elements of a collection; it has one subtask."""
        return self._add_source(CollectionSource(list(collection), type_info), "Collection Source", type_info)

    def from_elements(self, *elements: Any, type_info: TypeInformation | None = None) -> DataStream:
        """Make a stream of the given elements (beyond PyFlink)."""
        return self.from_collection(elements, type_info)

    def from_sequence(self, start: int, end: int) -> DataStream:
        """Make a stream of the numbers from `start` to `end`, both included (beyond PyFlink)."""
        return self._add_source(SequenceSource(start, end), "Sequence Source", Types.LONG())

    def from_source(
        self,
        source: Any,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Make a stream of what a source reads; watermarks are generated for each of its splits."""
        if isinstance(source, BatchedSource):
            return self._unpacked(source, source_name).assign_timestamps_and_watermarks(watermark_strategy)
        engine_source = to_engine_source(source)
        output_type = type_info if type_info is not None else engine_source.produced_type
        return self._add_source(engine_source, source_name, output_type, watermark_strategy.to_spec())

    def _unpacked(self, source: BatchedSource, name: str) -> DataStream:
        # Not at the top: batches of columns need pyarrow.
        from funke.engine.sql.operators.batch_elements import unpack_batches

        batches = self._add_source(source.engine_source, name, None)
        operation = CustomOperator(unpack_batches)
        return batches._add(operation, f"{name} Rows", source.row_type, parallelism=OF_INPUT)

    def add_source(
        self, source_func: Any, source_name: str = "Custom Source", type_info: TypeInformation | None = None
    ) -> DataStream:
        """Make a stream of what a source function reads."""
        engine_source = to_engine_source(source_func, type_info)
        output_type = type_info if type_info is not None else engine_source.produced_type
        return self._add_source(engine_source, source_name, output_type)

    def create_input(self, input_format: Any, type_info: TypeInformation | None = None) -> DataStream:
        """Make a stream of what an input format reads."""
        if type_info is None and hasattr(input_format, "get_produced_type"):
            type_info = input_format.get_produced_type()
        return self.add_source(input_format, "Custom File source", type_info)

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream:
        """Make a stream of the lines of a file, or of all files in a folder."""
        # Not at the top: files need pyarrow, which takes a worker 0.2 s to load.
        from funke.engine.connectors.files.file_source import FileSource
        from funke.engine.formats.text_lines import TextLineFormat

        source = FileSource([file_path], TextLineFormat(charset_name))
        return self._add_source(source, "Custom File Source", Types.STRING())

    def socket_text_stream(self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0) -> DataStream:
        """Make a stream of the lines that a server sends (beyond PyFlink); it has one subtask."""
        return self._add_source(SocketSource(hostname, port, delimiter, max_retry), "Socket Stream", Types.STRING())

    def _add_source(
        self, source: Source, name: str, output_type: TypeInformation | None, watermarks: WatermarkSpec | None = None
    ) -> DataStream:
        stream = self._builder.add_source(source, name=name, type_info=output_type, watermarks=watermarks)
        return DataStream(cast("StreamExecutionEnvironment", self), stream, self._builder.node(stream))
