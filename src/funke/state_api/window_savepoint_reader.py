"""Reads the contents of windows in a savepoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from funke.datastream.data_stream import DataStream
from funke.engine.operators.function_operator import method_of
from funke.engine.operators.windowing.window_operator import CONTENTS
from funke.engine.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from funke.engine.state_processor.functions import WindowReaderFunction
from funke.engine.state_processor.window_combining import aggregating, reducing
from funke.engine.state_processor.window_reading import PassThroughReader, WindowReading
from funke.engine.types.functions import AggregateFunction, ReduceFunction
from funke.engine.types.information.type_information import PickledBytesTypeInfo, TypeInformation
from funke.state_api.operator_identifier import OperatorIdentifier

if TYPE_CHECKING:
    from funke.state_api.savepoint_reader import SavepointReader

__all__ = ["EvictingWindowSavepointReader", "WindowSavepointReader"]

Reader = WindowReaderFunction[Any, Any, Any, Any]


class WindowSavepointReader:
    """Reads windows; the way to read them is the way in which the job combines their elements.

    >>> import tempfile
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import CountTumblingWindowAssigner
    >>> from funke.state_api import OperatorTransformation, SavepointReader, SavepointWriter, WindowSavepointReader
    >>> folder = tempfile.TemporaryDirectory()
    >>> path, fives = f"{folder.name}/first", CountTumblingWindowAssigner.of(5)
    >>> windows = OperatorTransformation.bootstrap_with([1, 2]).key_by(lambda number: "all").window(fives)
    >>> sums = windows.reduce(lambda a, b: a + b)
    >>> _ = SavepointWriter.new_savepoint(128).with_operator("sums", sums).write(path)
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> reader: WindowSavepointReader = SavepointReader.read(env, path).window(fives)
    >>> list(reader.reduce("sums", lambda a, b: a + b).execute_and_collect())  # of a window that is not full yet
    [3]
    """

    def __init__(self, reader: SavepointReader) -> None:
        self._reader = reader

    def evictor(self) -> EvictingWindowSavepointReader:
        """Read windows that have an evictor: they keep all their elements."""
        return EvictingWindowSavepointReader(self._reader)

    def reduce(
        self,
        identifier: OperatorIdentifier | str,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        reader_function: Reader | None = None,
        key_type: TypeInformation | None = None,
        reduce_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Return the reduced value of every window, or what the reader function makes of it."""
        if not callable(reduce_function) and not isinstance(reduce_function, ReduceFunction):
            raise TypeError(f"reduce() needs a ReduceFunction or a callable, got {type(reduce_function).__name__}")
        reduce = method_of(reduce_function, "reduce")
        contents = ReducingStateDescriptor(CONTENTS, reduce, PickledBytesTypeInfo())
        declared = output_type if reader_function is not None else output_type or reduce_type
        return self._read(identifier, contents, reducing(reduce), reader_function, declared)

    def aggregate(
        self,
        identifier: OperatorIdentifier | str,
        aggregate_function: AggregateFunction,
        reader_function: Reader | None = None,
        key_type: TypeInformation | None = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Return the result of every window's accumulator, or what the reader function makes of it."""
        contents = AggregatingStateDescriptor(CONTENTS, aggregate_function, PickledBytesTypeInfo())
        return self._read(identifier, contents, aggregating(aggregate_function), reader_function, output_type)

    def process(
        self,
        identifier: OperatorIdentifier | str,
        reader_function: Reader,
        key_type: TypeInformation | None = None,
        state_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Return what the reader function makes of the elements of every window."""
        contents = ListStateDescriptor(CONTENTS, PickledBytesTypeInfo())
        return self._read(identifier, contents, None, reader_function, output_type)

    def _read(
        self,
        identifier: OperatorIdentifier | str,
        contents: StateDescriptor,
        combine: Callable[[list[Any]], Any] | None,
        reader_function: Reader | None,
        output_type: TypeInformation | None,
    ) -> DataStream:
        return self._stream(identifier, contents, None, reader_function, output_type)

    def _stream(
        self,
        identifier: OperatorIdentifier | str,
        contents: StateDescriptor,
        combine: Callable[[list[Any]], Any] | None,
        reader_function: Reader | None,
        output_type: TypeInformation | None,
    ) -> DataStream:
        function = PassThroughReader() if reader_function is None else reader_function
        if not isinstance(function, WindowReaderFunction):
            raise TypeError(f"windows are read by a WindowReaderFunction, got {type(function).__name__}")
        return self._reader._stream_of_keys(identifier, WindowReading(contents, function, combine), output_type)


class EvictingWindowSavepointReader(WindowSavepointReader):
    """Reads windows that keep all their elements, and combines them as the job would when they fire.

    >>> import tempfile
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import CountEvictor, CountTumblingWindowAssigner
    >>> from funke.state_api import EvictingWindowSavepointReader, OperatorTransformation
    >>> from funke.state_api import SavepointReader, SavepointWriter
    >>> folder = tempfile.TemporaryDirectory()
    >>> path, fives = f"{folder.name}/first", CountTumblingWindowAssigner.of(5)
    >>> windows = OperatorTransformation.bootstrap_with([1, 2]).key_by(lambda number: "all").window(fives)
    >>> latest = windows.evictor(CountEvictor.of(3)).reduce(lambda a, b: a + b)
    >>> _ = SavepointWriter.new_savepoint(128).with_operator("latest", latest).write(path)
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> reader: EvictingWindowSavepointReader = SavepointReader.read(env, path).window(fives).evictor()
    >>> list(reader.reduce("latest", lambda a, b: a + b).execute_and_collect())
    [3]
    """

    def _read(
        self,
        identifier: OperatorIdentifier | str,
        contents: StateDescriptor,
        combine: Callable[[list[Any]], Any] | None,
        reader_function: Reader | None,
        output_type: TypeInformation | None,
    ) -> DataStream:
        elements = ListStateDescriptor(CONTENTS, PickledBytesTypeInfo())
        return self._stream(identifier, elements, combine, reader_function, output_type)
