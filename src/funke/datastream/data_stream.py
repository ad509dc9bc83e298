"""Streams and the operations on them; every method appends a node to the environment's graph."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn, overload

from funke.datastream.closeable_iterator import CloseableIterator
from funke.datastream.connected_streams import BroadcastConnectedStream, BroadcastStream, ConnectedStreams
from funke.datastream.engine_values import (
    OutputType,
    declared_type,
    feedback_ends,
    keyed_type,
    print_sink,
    reported_type,
    to_engine_sink,
    to_engine_sink_function,
)
from funke.datastream.html_view import html_view
from funke.datastream.joined_streams import CoGroupedStreams, IntervalJoin, JoinedStreams
from funke.datastream.operator_settings import (
    DataStreamSink,
    OperatorSettings,
    RejectedSettings,
    require_max_parallelism,
)
from funke.datastream.output_selector import OutputSelector, Selected
from funke.datastream.windowed_stream import AllWindowedStream, WindowedStream, count_windows, time_windows
from funke.engine.errors import (
    ConfigurationError,
    GraphError,
    TypeMismatchError,
    at_user_line,
    did_you_mean,
    shown_shortly,
)
from funke.engine.graph import operations as op
from funke.engine.graph import partitioners
from funke.engine.graph.builder import CURRENT, OF_INPUT, Parallelism, StreamRef
from funke.engine.graph.stream_graph import ChainingStrategy, StreamNode
from funke.engine.operators.functions.process_functions import KeyedProcessFunction, ProcessFunction
from funke.engine.operators.keyed.aggregations import (
    FieldAggregation,
    FoldFunction,
    Kind,
    RunningFold,
    identity,
    projection,
)
from funke.engine.operators.keyed.key_functions import (
    KeyFunction,
    key_function,
    keyed_row,
    opener_of,
    partition_function,
)
from funke.engine.operators.windowing.assigner import WindowAssigner
from funke.engine.state.descriptors import MapStateDescriptor
from funke.engine.types import Duration, Time, TupleTypeInfo, TypeInformation
from funke.engine.types.functions import FilterFunction, FlatMapFunction, KeySelector, MapFunction, ReduceFunction
from funke.engine.types.functions import Partitioner as UserPartitioner
from funke.engine.types.output_tag import OutputTag
from funke.passed_on_names import pass_on_names

if TYPE_CHECKING:
    from funke.common.execution_config import ExecutionConfig
    from funke.common.watermark_strategy import WatermarkStrategy
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = [
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "IterativeStream",
    "KeyedStream",
    "WindowedStream",
]

pass_on_names(__name__)


_CLOSE_METHOD = 0.75


class DataStream(OperatorSettings):
    """A stream of elements of one type.

    A stream is immutable: operations return new ones, and nothing runs before `execute()`.

    >>> from funke.datastream import DataStream, StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers: DataStream = env.from_collection([1, 2, 3, 4])
    >>> squares = numbers.map(lambda number: number * number).filter(lambda square: square > 1)
    >>> sorted(squares.execute_and_collect())  # nothing runs before
    [4, 9, 16]
    """

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        ref: StreamRef,
        node: StreamNode | None = None,
    ) -> None:
        self._env = env
        self._ref = ref
        # What setters change; None if the stream is not an operator (after rebalance(), union() and the like).
        self._node = node

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError; methods of keyed streams get a message of their own."""
        message = f"'{type(self).__name__}' object has no attribute '{name}'"
        if not name.startswith("_"):
            own = [each for each in dir(type(self)) if not each.startswith("_")]
            message += did_you_mean(name, own, _CLOSE_METHOD)
            if hasattr(KeyedStream, name):
                otherwise = f", or {name}_all() for all elements" if hasattr(self, f"{name}_all") else ""
                message = f"{name}() needs a keyed stream: call key_by() before it{otherwise}"
        raise shown_shortly(AttributeError(at_user_line(message) if "key_by" in message else message))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={text}' for name, text in self._shown_properties())})"

    def _repr_html_(self) -> str:
        note = "execute_and_collect() gives its elements"
        return html_view(type(self).__name__, ("property", "value"), self._shown_properties(), note)

    def _shown_properties(self) -> list[tuple[str, str]]:
        operator = self._env._builder.graph.nodes[self._ref.upstreams[0].node_id]
        parallelism = operator.parallelism or self._env.get_parallelism()
        return [("operator", operator.name), ("type", str(self.get_type())), ("parallelism", str(parallelism))]

    def get_name(self) -> str:
        """Return the name of the operator that produces this stream."""
        return self._settable("get_name()").name

    def set_max_parallelism(self, max_parallelism: int) -> DataStream:
        """Set the number of key groups, which bounds the parallelism that a snapshot can be restored to."""
        node = self._settable("set_max_parallelism()")
        require_max_parallelism(max_parallelism, f"the maximum parallelism of '{node.title}'")
        if node.is_parallelism_fixed and max_parallelism != 1:
            raise ConfigurationError(
                at_user_line(f"'{node.title}' cannot run in parallel: its maximum parallelism must be 1")
            )
        node.max_parallelism = max_parallelism
        return self

    def get_type(self) -> TypeInformation:
        """Return the type of the elements."""
        return reported_type(self._type_info)

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment that this stream belongs to."""
        return self._env

    def get_execution_config(self) -> ExecutionConfig:
        """Return the settings of the job."""
        return self._env.get_config()

    def force_non_parallel(self) -> DataStream:
        """Let the operator have one subtask, and reject any other parallelism from now on."""
        node = self._settable("force_non_parallel()")
        node.parallelism = node.max_parallelism = 1
        node.is_parallelism_fixed = True
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> DataStream:
        """Set how long records of this operator may wait to be sent together; -1 is the timeout of the job."""
        if timeout_millis < -1:
            raise ConfigurationError(at_user_line(f"a buffer timeout must be at least -1, got {timeout_millis}"))
        node = self._settable("set_buffer_timeout()")
        node.buffer_timeout_ms = None if timeout_millis == -1 else timeout_millis
        return self

    def start_new_chain(self) -> DataStream:
        """Begin a chain with this operator: it is not fused with the one before it."""
        self._settable("start_new_chain()").chaining = ChainingStrategy.HEAD
        return self

    def map(self, func: Callable[..., Any] | MapFunction, output_type: OutputType = None) -> DataStream:
        """Replace every element by the function's result."""
        _require_function(func, MapFunction, "map()")
        return self._add(op.Map(func, self._key), "Map", declared_type(output_type))

    def flat_map(self, func: Callable[..., Any] | FlatMapFunction, output_type: OutputType = None) -> DataStream:
        """Replace every element by any number of elements."""
        _require_function(func, FlatMapFunction, "flat_map()")
        return self._add(op.FlatMap(func, self._key), "FlatMap", declared_type(output_type))

    def filter(self, func: Callable[..., Any] | FilterFunction) -> DataStream:
        """Keep the elements for which the function is true."""
        _require_function(func, FilterFunction, "filter()")
        return self._add(op.Filter(func, self._key), "Filter", self._type_info)

    def process(self, func: ProcessFunction | KeyedProcessFunction, output_type: OutputType = None) -> DataStream:
        """Apply a process function, which sees timestamps and can emit to side outputs."""
        # As in PyFlink, a KeyedProcessFunction will do as long as it uses neither state nor timers.
        if not isinstance(func, (ProcessFunction, KeyedProcessFunction)):
            raise TypeError(f"process() needs a ProcessFunction, got {type(func).__name__}")
        return self._add(op.Process(func), "PROCESS", declared_type(output_type))

    def key_by(
        self, key_selector: Callable[..., Any] | KeySelector, key_type: TypeInformation | None = None
    ) -> KeyedStream:
        """Send all elements with the same key to the same subtask, where state is kept per key."""
        key = key_function(key_selector, key_type)
        return KeyedStream(self._opening("_stream_key_by_map_operator", key), key, key_type)

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Group the elements of all keys into windows."""
        return AllWindowedStream(self, window_assigner)

    def split(self, output_selector: Callable[..., Any] | OutputSelector) -> SplitStream:
        """Give elements names, by which `select` picks them, as in Flink 1.x; goes beyond PyFlink."""
        _require_function(output_selector, OutputSelector, "split()")
        return SplitStream(self, output_selector)

    def iterate(self, max_wait_time_ms: int = 0) -> IterativeStream:
        """Start an iteration (beyond PyFlink): what `close_with` feeds back joins this stream.

        The job ends by itself once its input has ended and nothing circulates; it does not wait.
        """
        return IterativeStream(self)

    def union(self, *streams: DataStream) -> DataStream:
        """Merge this stream with others of the same type."""
        other = next((stream for stream in streams if _value_type(stream) != _value_type(self)), None)
        if other is not None:
            raise TypeMismatchError(
                at_user_line(f"union() needs streams of one type, got {_value_type(self)} and {_value_type(other)}")
            )
        return DataStream(self._env, self._ref.union(*(each._ref for each in streams)))

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams | BroadcastConnectedStream:
        """Bring two streams of any types together in one function."""
        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        if not isinstance(ds, DataStream):
            raise TypeError(f"connect() needs a DataStream or a BroadcastStream, got {type(ds).__name__}")
        return ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream) -> JoinedStreams:
        """Join elements of this and another stream that have the same key and lie in the same window."""
        return JoinedStreams(self, _require_stream(other_stream, "join()"))

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """Bring together the elements of this and another stream that have the same key and lie in the same window."""
        return CoGroupedStreams(self, _require_stream(other_stream, "co_group()"))

    def shuffle(self) -> DataStream:
        """Send every element to a random subtask."""
        return self._partitioned(partitioners.Shuffle())

    def project(self, *field_indexes: int) -> DataStream:
        """Keep some fields of a stream of tuples, in the given order."""
        if not isinstance(self._type_info, TupleTypeInfo):
            raise TypeMismatchError(at_user_line(f"project() needs a stream of tuples, got {self.get_type()}"))
        fields = self._type_info.get_field_types()
        if not field_indexes or any(not 0 <= index < len(fields) for index in field_indexes):
            raise ConfigurationError(
                at_user_line(f"project() needs positions from 0 to {len(fields) - 1}, got {list(field_indexes)}")
            )
        output_type = TupleTypeInfo([fields[index] for index in field_indexes])
        return self._values()._add(op.BuiltInMap(projection(field_indexes)), "Projection", output_type)

    def rescale(self) -> DataStream:
        """Send elements in turn to the subtasks that belong to the sending one."""
        return self._partitioned(partitioners.Rescale())

    def rebalance(self) -> DataStream:
        """Send elements to all subtasks in turn."""
        return self._partitioned(partitioners.Rebalance())

    def forward(self) -> DataStream:
        """Send elements to the subtask with the same number; both operators need the same parallelism."""
        return self._partitioned(partitioners.Forward())

    def global_(self) -> DataStream:
        """Send all elements to the first subtask."""
        return self._partitioned(partitioners.Global())

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Send every element to every subtask; with descriptors, to be connected as broadcast state."""
        everywhere = self._partitioned(partitioners.Broadcast())
        if broadcast_state_descriptor is None:
            return everywhere
        descriptors = [broadcast_state_descriptor, *other_broadcast_state_descriptors]
        for descriptor in descriptors:
            if not isinstance(descriptor, MapStateDescriptor):
                raise TypeError(f"broadcast() needs MapStateDescriptors, got {type(descriptor).__name__}")
        return BroadcastStream(everywhere, descriptors)

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Give elements event times, and the stream watermarks."""
        spec = watermark_strategy.to_spec()
        # PyFlink takes timestamps from elements in an operator of its own, with the parallelism of the environment.
        parallelism = OF_INPUT if spec.timestamp_assigner is None else CURRENT
        operation, name = op.AssignTimestamps(spec), "Timestamps/Watermarks"
        return self._values()._add(operation, name, self._type_info, parallelism=parallelism)

    def partition_custom(
        self, partitioner: Callable[..., Any] | UserPartitioner, key_selector: Callable[..., Any] | KeySelector
    ) -> DataStream:
        """Send elements where the partitioner says, by their key and the number of subtasks."""
        rule = partitioners.Custom(partition_function(partitioner), key_function(key_selector))
        opened = self._opening("_partition_custom_map_operator", rule.partition, rule.key_selector)
        # An operator of its own, as in PyFlink; the partitioner counts the subtasks of the one that follows.
        partitioned = opened._partitioned(rule)._add(op.Map(identity), "Partition", self._type_info)
        partitioned._settable("partition_custom()").follows_receiver = True
        return partitioned

    def add_sink(self, sink_func: Any) -> DataStreamSink:
        """Write the stream to a sink function."""
        return self._add_sink(to_engine_sink_function(sink_func), "Unnamed")

    def sink_to(self, sink: Any) -> DataStreamSink:
        """Write the stream to a sink."""
        get_transformer = getattr(sink, "get_transformer", None)
        transformer = get_transformer() if get_transformer is not None else None
        stream = self if transformer is None else transformer.apply(self)
        return stream._add_sink(sink, "Writer")

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print every element on the standard output, with the subtask's number when there are several."""
        return self._add_sink(print_sink(sink_identifier), "Print to Std. Out")

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the job that computes this stream and return its elements: an iterator, or a list of at most `limit`."""
        if limit is not None and limit < 1:
            raise ConfigurationError(f"execute_and_collect() needs a limit of at least 1, got {limit}")
        results = self._env._collect(self._ref, job_execution_name)
        if limit is None:
            return results
        with results:
            return list(itertools.islice(results, limit))

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """Return the stream of elements that the operator emits with the given tag."""
        self._settable("get_side_output()").has_side_outputs = True
        # An operator of its own, as in PyFlink: elements are made to fit the tag's type, and it can be named.
        side = DataStream(self._env, self._ref.side_output(output_tag))
        return side._add(op.Map(identity), "Map", output_tag.type_info)

    def cache(self) -> CachedDataStream:
        """Keep the elements of this bounded stream when a job computes them, for later jobs to read."""
        node = self._settable("cache()")
        self._env._cache(node)
        return CachedDataStream(self._env, self._ref, node)

    _key: KeyFunction | None = None

    @property
    def _type_info(self) -> TypeInformation | None:
        return self._ref.type_info

    def _values(self) -> DataStream:
        return self

    def _partitioned(self, partitioner: partitioners.Partitioner | None) -> DataStream:
        return DataStream(self._env, self._ref.partitioned(partitioner))

    def _opening(self, name: str, *functions: Callable[..., Any]) -> DataStream:
        """This stream; behind an operator that opens the functions if any of them must be opened."""
        opener = opener_of(*functions)
        if opener is None:
            return self
        # Like PyFlink's operator of this name: chained to the one before it, whatever its parallelism.
        return self._values()._add(op.Map(opener), name, self._type_info, parallelism=OF_INPUT)

    def _add(
        self,
        operation: op.Operation,
        name: str,
        output_type: TypeInformation | None,
        *others: DataStream,
        parallelism: Parallelism = CURRENT,
    ) -> DataStream:
        """The stream of a new node that reads this stream, as its first input, and others."""
        builder, inputs = self._env._builder, [self._ref, *(each._ref for each in others)]
        ref = builder.add(operation, inputs, name=name, type_info=output_type, parallelism=parallelism)
        return DataStream(self._env, ref, builder.node(ref))

    def _add_sink(self, sink: Any, name: str) -> DataStreamSink:
        return DataStreamSink(self._env._builder.add_sink(to_engine_sink(sink), self._ref, name=name))


class IterativeStream(DataStream):
    """The head of an iteration: the records of the input, and those that `close_with` feeds back.

    Records that are fed back enter at once, or the next epoch if the job runs in epochs. It ends when its input has
    ended and nothing circulates.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_collection([3, 5]).iterate()
    >>> less = numbers.map(lambda number: number - 1)
    >>> _ = numbers.close_with(less.filter(lambda number: number > 0))
    """

    def __init__(self, input_stream: DataStream) -> None:
        env = input_stream._env
        source, self._feedback_sink = feedback_ends()
        self._is_closed = False
        read = op.ReadSource(source)
        head = env._builder.add(read, name="Iteration", type_info=input_stream._type_info, parallelism=1)
        env._builder.node(head).is_parallelism_fixed = True
        super().__init__(env, input_stream._ref.union(head))

    def close_with(self, feedback_stream: DataStream) -> DataStream:
        """Feed a stream of the same type back to the head; returns it."""
        if self._is_closed:
            raise GraphError(at_user_line("this iteration is closed already; use union() to feed back several streams"))
        self._is_closed = True
        feedback_stream._add_sink(self._feedback_sink, "Feedback")
        return feedback_stream


class SplitStream(DataStream):
    """A stream whose elements have the names of outputs; `select` picks those of some names."""

    def __init__(self, stream: DataStream, output_selector: Callable[..., Any] | OutputSelector) -> None:
        super().__init__(stream._env, stream._ref, stream._node)
        self._output_selector = output_selector

    def select(self, *output_names: str) -> DataStream:
        """Return the elements that go to any of the outputs."""
        if not output_names:
            raise ConfigurationError(at_user_line("select() needs at least one name of an output"))
        return self._values().filter(Selected(self._output_selector, output_names)).name("Select")


class KeyedStream(RejectedSettings, DataStream):
    """A stream whose elements are partitioned by key; functions on it have state and timers per key.

    >>> from funke.common import Types
    >>> from funke.datastream import KeyedStream, StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> pair = Types.TUPLE([Types.STRING(), Types.INT()])
    >>> orders = env.from_collection([("tea", 3), ("milk", 1), ("tea", 4)], pair)
    >>> by_item: KeyedStream = orders.key_by(lambda order: order[0])
    >>> sorted(by_item.sum(1).execute_and_collect())  # a result for each element
    [('milk', 1), ('tea', 3), ('tea', 7)]
    """

    class AccumulateType(Enum):
        """The running aggregates of a keyed stream."""

        MIN = 1
        MAX = 2
        MIN_BY = 3
        MAX_BY = 4
        SUM = 5

    def __init__(self, origin_stream: DataStream, key: KeyFunction, key_type: TypeInformation | None = None) -> None:
        super().__init__(origin_stream._env, origin_stream._ref.partitioned(partitioners.Hash(key)))
        self._origin_stream = origin_stream
        self._key = key
        self._key_type = key_type

    def get_type(self) -> TypeInformation:
        """Return the type of the rows of key and element that a keyed stream consists of."""
        return keyed_type(self._key_type, self._type_info)

    def reduce(self, func: Callable[..., Any] | ReduceFunction) -> DataStream:
        """Combine each element with the result so far of its key, and emit the new result."""
        _require_function(func, ReduceFunction, "reduce()")
        assert self._key is not None
        return self._add(op.Reduce(func, self._key), "Reduce", self._type_info)

    def fold(self, initial_value: Any, func: Callable[..., Any] | FoldFunction) -> DataStream:
        """Fold each element into the value of its key and emit it, as in Flink 1.x; goes beyond PyFlink."""
        _require_function(func, FoldFunction, "fold()")
        return self._add(op.Process(RunningFold(initial_value, func), self._key), "Fold", None)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """Emit the running sum of a field per key."""
        return self._accumulate("sum", position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """Emit the running minimum of a field per key."""
        return self._accumulate("min", position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """Emit the running maximum of a field per key."""
        return self._accumulate("max", position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """Emit per key the element with the smallest field so far."""
        return self._accumulate("min_by", position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """Emit per key the element with the largest field so far."""
        return self._accumulate("max_by", position_to_max_by)

    def _accumulate(self, kind: Kind, position: int | str) -> DataStream:
        return self.reduce(FieldAggregation(kind, position))

    def key_by(
        self, key_selector: Callable[..., Any] | KeySelector, key_type: TypeInformation | None = None
    ) -> KeyedStream:
        """Partition the elements by another key."""
        return self._origin_stream.key_by(key_selector, key_type)

    def process(self, func: KeyedProcessFunction, output_type: OutputType = None) -> DataStream:  # type: ignore[override]
        """Apply a process function with state and timers per key."""
        if not isinstance(func, KeyedProcessFunction):
            raise TypeError(f"process() of a keyed stream needs a KeyedProcessFunction, got {type(func).__name__}")
        return self._add(op.Process(func, self._key), "KEYED PROCESS", declared_type(output_type))

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Group the elements of each key into windows."""
        return WindowedStream(self, window_assigner)

    def time_window(self, size: Time | Duration, slide: Time | Duration | None = None) -> WindowedStream:
        """Group the elements of each key into windows of the program's time, as in Flink 1.x; goes beyond PyFlink."""
        return WindowedStream(self, time_windows(self._env.get_stream_time_characteristic(), size, slide))

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Group the elements of each key into windows of `size` elements, a new one every `slide` elements."""
        return WindowedStream(self, count_windows(size, slide))

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Group the elements of all keys into windows."""
        return AllWindowedStream(self._origin_stream, window_assigner)

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Join each element with those of another keyed stream that have the same key and a time close to its own."""
        if not isinstance(other_stream, KeyedStream):
            raise TypeError(
                f"interval_join() needs a keyed stream, got {type(other_stream).__name__}; call key_by() on it"
            )
        return IntervalJoin(self, other_stream)

    def union(self, *streams: DataStream) -> DataStream:
        """Merge the elements, without their keys, with other streams."""
        return self._values().union(*streams)

    def add_sink(self, sink_func: Any) -> DataStreamSink:
        """Write the elements, without their keys, to a sink function."""
        return self._values().add_sink(sink_func)

    def sink_to(self, sink: Any) -> DataStreamSink:
        """Write rows of key and element to a sink."""
        return self._rows_with_key().sink_to(sink)

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print the elements, without their keys."""
        return self._values().print(sink_identifier)

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the job that computes this stream and return rows of key and element, in the order of the elements."""
        with self._env._builder.temporary_nodes():
            # Nothing has to meet where the program collects: elements stay where they were made, in their order.
            values = self._values()._partitioned(None)
            rows = values._add(*self._keyed_rows(), parallelism=OF_INPUT)
            return rows.execute_and_collect(job_execution_name, limit)

    def _values(self) -> DataStream:
        """The same elements where their keys put them, as a stream without keys."""
        return DataStream(self._env, self._ref)

    def _rows_with_key(self) -> DataStream:
        return self._values()._add(*self._keyed_rows())

    def _keyed_rows(self) -> tuple[op.BuiltInMap, str, TypeInformation | None]:
        """The operation that makes rows of key and element, its name, and their type."""
        assert self._key is not None
        return op.BuiltInMap(keyed_row(self._key)), "Key", keyed_type(self._key_type, self._type_info)

    def shuffle(self) -> NoReturn:
        """Not possible: the key decides where an element goes."""
        self._reject("shuffle()")

    def rescale(self) -> NoReturn:
        """Not possible: the key decides where an element goes."""
        self._reject("rescale()")

    def rebalance(self) -> NoReturn:
        """Not possible: the key decides where an element goes."""
        self._reject("rebalance()")

    def forward(self) -> NoReturn:
        """Not possible: the key decides where an element goes."""
        self._reject("forward()")

    def global_(self) -> NoReturn:
        """Not possible: the key decides where an element goes."""
        self._reject("global_()")

    def broadcast(self, *args: Any) -> NoReturn:
        """Not possible: the key decides where an element goes."""
        self._reject("broadcast()")

    def partition_custom(
        self, partitioner: Callable[..., Any] | UserPartitioner, key_selector: Callable[..., Any] | KeySelector
    ) -> NoReturn:
        """Not possible: the key decides where an element goes."""
        self._reject("partition_custom()")

    def cache(self) -> NoReturn:
        """Not possible: a keyed stream is not an operator."""
        self._reject("cache()")


class CachedDataStream(RejectedSettings, DataStream):
    """A stream that is computed once and then read from memory."""

    def invalidate(self) -> None:
        """Forget the elements; the next job computes them again."""
        assert self._node is not None
        self._env._forget_cached(self._node)


def _require_function(func: Any, function_class: type, method: str) -> None:
    if not isinstance(func, function_class) and not callable(func):
        raise TypeError(f"{method} needs a {function_class.__name__} or a callable, got {type(func).__name__}")


def _require_stream(stream: Any, method: str) -> DataStream:
    if not isinstance(stream, DataStream):
        raise TypeError(f"{method} needs a DataStream, got {type(stream).__name__}")
    return stream


def _value_type(stream: DataStream) -> TypeInformation:
    return reported_type(stream._type_info)
