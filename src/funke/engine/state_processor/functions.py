"""The functions with which users read the state of operators, and give operators their first state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from funke.engine.operators.functions.runtime_context import TimerService
from funke.engine.state.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from funke.engine.state.descriptors import MapStateDescriptor, StateDescriptor
from funke.engine.state.interfaces import BroadcastState, KeyedStateStore, State
from funke.engine.types.functions import Function

__all__ = [
    "BroadcastStateBootstrapFunction",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "StateBootstrapFunction",
    "WindowReaderFunction",
]

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")


class KeyedStateReaderFunction(Function, Generic[KEY, OUT]):
    """Reads the state of one key after the other; `open` asks the runtime context for the states to read.

    >>> import tempfile
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.state_api import (
    ...     KeyedStateBootstrapFunction, KeyedStateReaderFunction,
    ...     OperatorTransformation, SavepointReader, SavepointWriter,
    ... )
    >>> class Remind(KeyedStateBootstrapFunction):
    ...     def process_element(self, value, ctx):
    ...         ctx.timer_service().register_event_time_timer(value[1])
    >>> class Timers(KeyedStateReaderFunction):
    ...     def read_key(self, key, ctx):
    ...         yield key, ctx.registered_event_time_timers()
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/first"
    >>> reminders = OperatorTransformation.bootstrap_with([("ada", 9)]).key_by(lambda each: each[0]).transform(Remind())
    >>> _ = SavepointWriter.new_savepoint(128).with_operator("reminders", reminders).write(path)
    >>> reader = SavepointReader.read(StreamExecutionEnvironment.get_execution_environment(), path)
    >>> list(reader.read_keyed_state("reminders", Timers()).execute_and_collect())
    [('ada', {9})]
    """

    class Context(ABC):
        """What `read_key` can ask."""

        @abstractmethod
        def registered_event_time_timers(self) -> set[int]:
            """Return the times of the key's event-time timers."""

        @abstractmethod
        def registered_processing_time_timers(self) -> set[int]:
            """Return the times of the key's processing-time timers."""

    @abstractmethod
    def read_key(self, key: KEY, ctx: KeyedStateReaderFunction.Context) -> Iterable[OUT] | None:
        """Yield what is to be known about a key."""


class WindowReaderFunction(Function, Generic[IN, OUT, KEY, W]):
    """Reads the contents of one window of one key after the other.

    >>> from funke.state_api import WindowReaderFunction
    >>> class Contents(WindowReaderFunction):
    ...     def read_window(self, key, context, elements):
    ...         yield key, sum(elements)
    >>> def read(reader, assigner):  # a SavepointReader, and the assigner of the job's windows
    ...     return reader.window(assigner).process("windows", Contents())
    >>> list(Contents().read_window("ada", None, [1, 2]))
    [('ada', 3)]
    """

    class Context(ABC, Generic[W2]):
        """What `read_window` can ask."""

        @abstractmethod
        def window(self) -> W2:
            """Return the window."""

        @abstractmethod
        def trigger_state(self, descriptor: StateDescriptor) -> State:
            """Return state that the trigger keeps for this key and window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return state that the window function keeps for this key and window."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return state of this key that all windows share."""

        @abstractmethod
        def registered_event_time_timers(self) -> set[int]:
            """Return the times of the event-time timers of this key and window."""

        @abstractmethod
        def registered_processing_time_timers(self) -> set[int]:
            """Return the times of the processing-time timers of this key and window."""

    @abstractmethod
    def read_window(
        self, key: KEY, context: WindowReaderFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT] | None:
        """Yield what is to be known about a window; `elements` has one element where contents are combined."""


class KeyedStateBootstrapFunction(Function, Generic[KEY, IN]):
    """Writes keyed state and timers; what it writes is what the job's operator finds.

    >>> from funke.common import Types
    >>> from funke.datastream.state import ValueStateDescriptor
    >>> from funke.state_api import KeyedStateBootstrapFunction, OperatorTransformation
    >>> class Balances(KeyedStateBootstrapFunction):
    ...     def open(self, runtime_context):
    ...         self.balance = runtime_context.get_state(ValueStateDescriptor("balance", Types.LONG()))
    ...     def process_element(self, value, ctx):
    ...         self.balance.update(value[1])
    >>> accounts = OperatorTransformation.bootstrap_with([("ada", 100)]).key_by(lambda account: account[0])
    >>> type(accounts.transform(Balances())).__name__  # for SavepointWriter.with_operator()
    'StateBootstrapTransformation'
    """

    class Context(ABC):
        """What `process_element` can ask and do."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the service that sets timers of the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the element."""

    @abstractmethod
    def process_element(self, value: IN, ctx: KeyedStateBootstrapFunction.Context) -> None:
        """Write state for one element."""


class StateBootstrapFunction(Function, CheckpointedFunction, Generic[IN]):
    """Writes operator state: lists and union lists that `initialize_state` asks the context for.

    >>> from funke.common import Types
    >>> from funke.datastream.state import ListStateDescriptor
    >>> from funke.state_api import OperatorTransformation, StateBootstrapFunction
    >>> class Waiting(StateBootstrapFunction):
    ...     def initialize_state(self, context):
    ...         descriptor = ListStateDescriptor("waiting", Types.INT())
    ...         self.waiting = context.get_operator_state_store().get_list_state(descriptor)
    ...     def process_element(self, value, ctx):
    ...         self.waiting.add(value)
    >>> type(OperatorTransformation.bootstrap_with([1, 2]).transform(Waiting())).__name__
    'StateBootstrapTransformation'
    """

    class Context(ABC):
        """What `process_element` can ask."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the processing time in milliseconds."""

    @abstractmethod
    def process_element(self, value: IN, ctx: StateBootstrapFunction.Context) -> None:
        """Take one element."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Get the states to write, from `context.get_operator_state_store()`."""

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Called when all elements have come, before the state is written."""


class BroadcastStateBootstrapFunction(Function, Generic[IN]):
    """Writes broadcast state.

    >>> from funke.common import Types
    >>> from funke.datastream.state import MapStateDescriptor
    >>> from funke.state_api import BroadcastStateBootstrapFunction, OperatorTransformation
    >>> limits = MapStateDescriptor("limits", Types.STRING(), Types.INT())
    >>> class Limits(BroadcastStateBootstrapFunction):
    ...     def process_element(self, value, ctx):
    ...         ctx.get_broadcast_state(limits).put(*value)
    >>> type(OperatorTransformation.bootstrap_with([("ada", 100)]).transform(Limits())).__name__
    'StateBootstrapTransformation'
    """

    class Context(ABC):
        """What `process_element` can ask and do."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the processing time in milliseconds."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
            """Return the broadcast state for reading and writing."""

    @abstractmethod
    def process_element(self, value: IN, ctx: BroadcastStateBootstrapFunction.Context) -> None:
        """Write state for one element."""
