"""Describes how the first state of an operator is made of data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from funke.common.watermark_strategy import WatermarkStrategy
from funke.datastream.connectors.spark import SparkSource
from funke.datastream.data_stream import DataStream, KeyedStream
from funke.datastream.engine_values import OutputType
from funke.datastream.operator_settings import require_max_parallelism
from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
from funke.datastream.windowed_stream import WindowedStream
from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.graph.operations import BroadcastProcess, Operation, Process
from funke.engine.operators.windowing.assigner import WindowAssigner
from funke.engine.operators.windowing.evictor import Evictor
from funke.engine.operators.windowing.trigger import Trigger
from funke.engine.state_processor.bootstrap_functions import BootstrapProcess, BroadcastBootstrapProcess
from funke.engine.state_processor.functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)
from funke.engine.types.functions import KeySelector
from funke.engine.types.information.type_information import TypeInformation

__all__ = [
    "KeyedStateTransformation",
    "OneInputStateTransformation",
    "OperatorTransformation",
    "StateBootstrapTransformation",
    "WindowedStateTransformation",
]

T = TypeVar("T", bound="_Transformation")


@dataclass(frozen=True)
class StateBootstrapTransformation:
    """Data, and the operation whose state it becomes; `SavepointWriter.with_operator` says for which operator.

    >>> from funke.datastream.window import CountTumblingWindowAssigner
    >>> from funke.state_api import OperatorTransformation, StateBootstrapTransformation
    >>> windows = OperatorTransformation.bootstrap_with([1, 2]).key_by(lambda number: "all")
    >>> sums = windows.window(CountTumblingWindowAssigner.of(5)).reduce(lambda a, b: a + b)
    >>> isinstance(sums, StateBootstrapTransformation)
    True
    """

    stream: DataStream
    operation: Operation
    max_parallelism: int | None = None
    input_index: int = 0
    # Broadcast state is the same in all subtasks, so one writes it.
    is_parallel: bool = True


class OperatorTransformation:
    """Where making state begins.

    >>> from funke.state_api import OperatorTransformation
    >>> data = OperatorTransformation.bootstrap_with([("ada", 100)])  # or a DataStream, or a Spark DataFrame
    >>> type(data).__name__, type(data.key_by(lambda account: account[0])).__name__
    ('OneInputStateTransformation', 'KeyedStateTransformation')
    """

    @staticmethod
    def bootstrap_with(data: Any, type_info: TypeInformation | None = None) -> OneInputStateTransformation:
        """Take data: a bounded DataStream, a Spark DataFrame (its rows), or any collection."""
        return OneInputStateTransformation(_to_stream(data, type_info))


def _to_stream(data: Any, type_info: TypeInformation | None) -> DataStream:
    if isinstance(data, KeyedStream):
        raise ConfigurationError(at_user_line("bootstrap_with() needs a stream without keys; call its key_by() then"))
    if isinstance(data, DataStream):
        return data
    env = StreamExecutionEnvironment.get_execution_environment()
    if hasattr(data, "rdd") and hasattr(data, "schema"):
        return env.from_source(SparkSource(lambda spark: data), WatermarkStrategy.no_watermarks(), "DataFrame")
    if isinstance(data, Iterable):
        return env.from_collection(data, type_info)
    raise TypeError(f"bootstrap_with() needs a DataStream, a DataFrame or a collection, got {type(data).__name__}")


class _Transformation:
    """What all steps share."""

    def __init__(self, stream: DataStream, max_parallelism: int | None) -> None:
        self._stream = stream
        self._max_parallelism = max_parallelism

    def set_max_parallelism(self: T, max_parallelism: int) -> T:
        """Set the operator's number of key groups, where it is not that of the savepoint."""
        require_max_parallelism(max_parallelism, "the maximum parallelism of an operator")
        self._max_parallelism = max_parallelism
        return self


class OneInputStateTransformation(_Transformation):
    """Makes state that is not keyed, or begins to make keyed state.

    >>> from funke.state_api import OneInputStateTransformation, OperatorTransformation
    >>> data: OneInputStateTransformation = OperatorTransformation.bootstrap_with([("ada", 100)])
    >>> keyed = data.set_max_parallelism(720).key_by(lambda account: account[0])  # or data.transform(...)
    >>> type(keyed).__name__
    'KeyedStateTransformation'
    """

    def __init__(self, stream: DataStream) -> None:
        super().__init__(stream, None)

    def key_by(
        self, key_selector: Callable[..., Any] | KeySelector, key_type: TypeInformation | None = None
    ) -> KeyedStateTransformation:
        """Make keyed state; keys are to be those of the job's own `key_by`."""
        return KeyedStateTransformation(self._stream.key_by(key_selector, key_type), self._max_parallelism)

    def transform(
        self, function: StateBootstrapFunction[Any] | BroadcastStateBootstrapFunction[Any]
    ) -> StateBootstrapTransformation:
        """Make operator state or broadcast state with a function."""
        if isinstance(function, StateBootstrapFunction):
            operation: Operation = Process(BootstrapProcess(function))
            return StateBootstrapTransformation(self._stream, operation, self._max_parallelism)
        if isinstance(function, BroadcastStateBootstrapFunction):
            operation = BroadcastProcess(BroadcastBootstrapProcess(function), ())
            return StateBootstrapTransformation(self._stream, operation, self._max_parallelism, 1, is_parallel=False)
        raise TypeError(
            "transform() without key_by() needs a StateBootstrapFunction or a BroadcastStateBootstrapFunction, "
            f"got {type(function).__name__}"
        )


class KeyedStateTransformation(_Transformation):
    """Makes keyed state.

    >>> from funke.state_api import KeyedStateBootstrapFunction, KeyedStateTransformation, OperatorTransformation
    >>> class Reminders(KeyedStateBootstrapFunction):
    ...     def process_element(self, value, ctx):
    ...         ctx.timer_service().register_event_time_timer(value[1])
    >>> keyed: KeyedStateTransformation = OperatorTransformation.bootstrap_with([("ada", 9)]).key_by(lambda r: r[0])
    >>> type(keyed.transform(Reminders())).__name__
    'StateBootstrapTransformation'
    """

    _stream: KeyedStream

    def transform(self, function: KeyedStateBootstrapFunction[Any, Any]) -> StateBootstrapTransformation:
        """Make keyed state and timers with a function."""
        if not isinstance(function, KeyedStateBootstrapFunction):
            raise TypeError(
                f"transform() after key_by() needs a KeyedStateBootstrapFunction, got {type(function).__name__}"
            )
        return StateBootstrapTransformation(self._stream, Process(function, self._stream._key), self._max_parallelism)

    def window(self, assigner: WindowAssigner[Any, Any]) -> WindowedStateTransformation:
        """Make the contents of windows."""
        return WindowedStateTransformation(self._stream.window(assigner), self._stream, self._max_parallelism)


class WindowedStateTransformation:
    """Makes the contents of windows; the job's windows must have the same assigner, trigger and functions.

    >>> from funke.datastream.window import CountTumblingWindowAssigner
    >>> from funke.state_api import OperatorTransformation, WindowedStateTransformation
    >>> keyed = OperatorTransformation.bootstrap_with([1, 2]).key_by(lambda number: "all")
    >>> windows: WindowedStateTransformation = keyed.window(CountTumblingWindowAssigner.of(5))
    >>> type(windows.reduce(lambda a, b: a + b)).__name__
    'StateBootstrapTransformation'
    """

    def __init__(self, windowed: WindowedStream, stream: KeyedStream, max_parallelism: int | None) -> None:
        self._windowed = windowed
        self._stream = stream
        self._max_parallelism = max_parallelism

    def trigger(self, trigger: Trigger[Any, Any]) -> WindowedStateTransformation:
        """Set the trigger, which may keep state of its own."""
        self._windowed.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> WindowedStateTransformation:
        """Set an evictor: windows then keep all their elements."""
        self._windowed.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: int) -> WindowedStateTransformation:
        """Set how long windows are kept for late elements."""
        self._windowed.allowed_lateness(time_ms)
        return self

    def reduce(
        self, reduce_function: Any, window_function: Any = None, output_type: OutputType = None
    ) -> StateBootstrapTransformation:
        """Combine elements by a reduce function."""
        return self._with_windows(lambda: self._windowed.reduce(reduce_function, window_function, output_type))

    def aggregate(
        self,
        aggregate_function: Any,
        window_function: Any = None,
        accumulator_type: OutputType = None,
        output_type: OutputType = None,
    ) -> StateBootstrapTransformation:
        """Fold elements into accumulators."""
        return self._with_windows(
            lambda: self._windowed.aggregate(aggregate_function, window_function, accumulator_type, output_type)
        )

    def apply(self, window_function: Any, output_type: OutputType = None) -> StateBootstrapTransformation:
        """Keep all elements, for a window function."""
        return self._with_windows(lambda: self._windowed.apply(window_function, output_type))

    def process(self, process_window_function: Any, output_type: OutputType = None) -> StateBootstrapTransformation:
        """Keep all elements, for a process window function."""
        return self._with_windows(lambda: self._windowed.process(process_window_function, output_type))

    def _with_windows(self, windows: Callable[[], DataStream]) -> StateBootstrapTransformation:
        # The job's own methods know how to describe the operation; their node is not wanted.
        with self._stream.get_execution_environment()._builder.temporary_nodes():
            node = windows()._node
        assert node is not None
        return StateBootstrapTransformation(self._stream, node.operation, self._max_parallelism)
