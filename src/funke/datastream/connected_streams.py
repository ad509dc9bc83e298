"""Two streams in one function: connected, or one of them broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from funke.datastream.engine_values import OutputType, declared_type
from funke.engine.graph import operations as op
from funke.engine.operators.functions.broadcast_functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from funke.engine.operators.functions.process_functions import CoProcessFunction, KeyedCoProcessFunction
from funke.engine.state.descriptors import MapStateDescriptor
from funke.engine.types.functions import CoFlatMapFunction, CoMapFunction, KeySelector
from funke.engine.types.information.type_information import TypeInformation

if TYPE_CHECKING:
    from funke.datastream.data_stream import DataStream

__all__ = ["BroadcastConnectedStream", "BroadcastStream", "ConnectedStreams"]


class ConnectedStreams:
    """Two streams whose elements meet in one function; keyed alike, they share its state per key.

    >>> from funke.datastream import CoMapFunction, ConnectedStreams, StreamExecutionEnvironment
    >>> class Merge(CoMapFunction):
    ...     def map1(self, value):
    ...         return value
    ...     def map2(self, value):
    ...         return int(value)
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> connected: ConnectedStreams = env.from_collection([1]).connect(env.from_collection(["2"]))
    >>> sorted(connected.map(Merge()).execute_and_collect())
    [1, 2]
    """

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: Callable[..., Any] | KeySelector,
        key_selector2: Callable[..., Any] | KeySelector,
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams:
        """Partition both streams by keys of the same type."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type), self.stream2.key_by(key_selector2, key_type)
        )

    def map(self, func: CoMapFunction, output_type: OutputType = None) -> DataStream:
        """Map the elements of both streams to one."""
        if not isinstance(func, CoMapFunction):
            raise TypeError(f"map() of connected streams needs a CoMapFunction, got {type(func).__name__}")
        return self._apply(op.CoMap(func, self._keys), "Co-Map", output_type)

    def flat_map(self, func: CoFlatMapFunction, output_type: OutputType = None) -> DataStream:
        """Replace each element of both streams by any number of elements."""
        if not isinstance(func, CoFlatMapFunction):
            raise TypeError(f"flat_map() of connected streams needs a CoFlatMapFunction, got {type(func).__name__}")
        return self._apply(op.CoFlatMap(func, self._keys), "Co-Flat Map", output_type)

    def process(self, func: CoProcessFunction | KeyedCoProcessFunction, output_type: OutputType = None) -> DataStream:
        """Apply a process function to both streams."""
        if not isinstance(func, (CoProcessFunction, KeyedCoProcessFunction)):
            raise TypeError(
                f"process() of connected streams needs a CoProcessFunction or a KeyedCoProcessFunction, "
                f"got {type(func).__name__}"
            )
        name = "Keyed Co-Process" if self._keys else "Co-Process"
        return self._apply(op.CoProcess(func, self._keys), name, output_type)

    @property
    def _keys(self) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
        key1, key2 = self.stream1._key, self.stream2._key
        return None if key1 is None or key2 is None else (key1, key2)

    def _apply(self, operation: op.Operation, name: str, output_type: OutputType) -> DataStream:
        return self.stream1._add(operation, name, declared_type(output_type), self.stream2)


class BroadcastStream:
    """A stream whose elements reach every subtask, with the state they are kept in.

    >>> from funke.common import Types
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.state import MapStateDescriptor
    >>> rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> stream = env.from_collection([("limit", 10)]).broadcast(rules)
    >>> type(stream).__name__, [each.get_name() for each in stream.broadcast_state_descriptors]
    ('BroadcastStream', ['rules'])
    """

    def __init__(self, input_stream: DataStream, broadcast_state_descriptors: list[MapStateDescriptor]) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors


class BroadcastConnectedStream:
    """A stream, keyed or not, connected with a broadcast stream.

    >>> from funke.common import Types
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.state import MapStateDescriptor
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> rules = env.from_collection([("limit", 10)]).broadcast(MapStateDescriptor("r", Types.STRING(), Types.INT()))
    >>> connected = env.from_collection([4, 12]).connect(rules)  # next: connected.process(a BroadcastProcessFunction)
    >>> type(connected).__name__
    'BroadcastConnectedStream'
    """

    def __init__(
        self,
        non_broadcast_stream: DataStream,
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: list[MapStateDescriptor],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors

    @overload
    def process(self, func: BroadcastProcessFunction[Any, Any, Any], output_type: OutputType = None) -> DataStream: ...

    @overload
    def process(
        self, func: KeyedBroadcastProcessFunction[Any, Any, Any, Any], output_type: OutputType = None
    ) -> DataStream: ...

    def process(
        self,
        func: BroadcastProcessFunction[Any, Any, Any] | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
        output_type: OutputType = None,
    ) -> DataStream:
        """Apply a function that sees elements of both streams and the broadcast state."""
        key = self.non_broadcast_stream._key
        needed = BroadcastProcessFunction if key is None else KeyedBroadcastProcessFunction
        if not isinstance(func, needed):
            kind = "a stream without keys" if key is None else "a keyed stream"
            raise TypeError(f"process() of {kind} needs a {needed.__name__}, got {type(func).__name__}")
        operation = op.BroadcastProcess(func, tuple(self.broadcast_state_descriptors), key)
        name = "Co-Process-Broadcast" if key is None else "Keyed-Co-Process-Broadcast"
        return self.non_broadcast_stream._add(
            operation, name, declared_type(output_type), self.broadcast_stream.input_stream
        )
