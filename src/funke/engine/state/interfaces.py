"""The state handles a user function works with; each state backend supplies its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from funke.engine.state.descriptors import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        ValueStateDescriptor,
    )

__all__ = [
    "AggregatingState",
    "AppendingState",
    "BroadcastState",
    "KeyedStateStore",
    "ListState",
    "MapState",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "State",
    "ValueState",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class OperatorStateStore(ABC):
    """Gives access to state that belongs to an operator instead of a key.

    >>> from funke.common import Types
    >>> from funke.datastream import CheckpointedFunction, MapFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import ListStateDescriptor, OperatorStateStore
    >>> class Last(MapFunction, CheckpointedFunction):
    ...     def initialize_state(self, context):
    ...         store: OperatorStateStore = context.get_operator_state_store()
    ...         self.last = store.get_list_state(ListStateDescriptor("last", Types.STRING()))
    ...     def snapshot_state(self, context):
    ...         pass
    ...     def map(self, value):
    ...         before = list(self.last.get())
    ...         self.last.update([value])
    ...         return before, value
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> list(env.from_collection(["a", "b"]).map(Last()).execute_and_collect())
    [([], 'a'), (['a'], 'b')]
    """

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[K, V]:
        """Return the broadcast state described by `state_descriptor`."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[T]:
        """Return a list whose elements are dealt out to the subtasks anew when the parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[T]:
        """Return a list that every subtask gets back with the elements of all subtasks."""

    @abstractmethod
    def get_registered_state_names(self) -> set[str]:
        """Return the names of the list states there are."""

    @abstractmethod
    def get_registered_broadcast_state_names(self) -> set[str]:
        """Return the names of the broadcast states there are."""


class KeyedStateStore(ABC):
    """Gives access to state of the current key.

    >>> from funke.common import Types
    >>> from funke.datastream import RuntimeContext
    >>> from funke.datastream.state import KeyedStateStore, ValueStateDescriptor
    >>> def count_of(store: KeyedStateStore):
    ...     return store.get_state(ValueStateDescriptor("count", Types.LONG()))
    >>> issubclass(RuntimeContext, KeyedStateStore)  # so open() can call count_of(runtime_context)
    True
    """

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[T]:
        """Return a handle on one value per key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[T]:
        """Return a handle on one list per key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[K, V]:
        """Return a handle on one map per key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[T]:
        """Return a handle on one value per key that a reduce function keeps up to date."""

    @abstractmethod
    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[IN, OUT]:
        """Return a handle on one accumulator per key that an aggregate function keeps up to date."""


class State(ABC):
    """What all kinds of state have in common.

    >>> from funke.datastream.state import ListState, MapState, State, ValueState
    >>> def forget(state: State):
    ...     state.clear()  # for the current key
    >>> [issubclass(each, State) for each in (ValueState, ListState, MapState)]
    [True, True, True]
    """

    @abstractmethod
    def clear(self) -> None:
        """Forget what is stored for the current key."""


class ValueState(State, Generic[T]):
    """One value per key.

    >>> from funke.common import Types
    >>> from funke.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import ValueState, ValueStateDescriptor
    >>> class Change(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.last: ValueState = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))
    ...     def process_element(self, value, ctx):
    ...         yield value - (self.last.value() or 0)
    ...         self.last.update(value)
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> list(env.from_collection([5, 7, 4]).key_by(lambda number: "all").process(Change()).execute_and_collect())
    [5, 2, -3]
    """

    @abstractmethod
    def value(self) -> T | None:
        """Return the value, or None when there is none."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Replace the value; None clears it."""


class AppendingState(State, Generic[IN, OUT]):
    """State that grows by adding elements.

    >>> from funke.datastream.state import AppendingState, ListState, ReducingState
    >>> def add_twice(state: AppendingState, value):
    ...     state.add(value)
    ...     state.add(value)
    >>> issubclass(ListState, AppendingState), issubclass(ReducingState, AppendingState)
    (True, True)
    """

    @abstractmethod
    def get(self) -> OUT | None:
        """Return what the added elements amount to."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add one element."""


class MergingState(AppendingState[IN, OUT]):
    """Appending state whose contents of two windows can be merged.

    >>> from funke.datastream.state import AggregatingState, ListState, MapState, MergingState, ReducingState
    >>> [issubclass(each, MergingState) for each in (ListState, ReducingState, AggregatingState, MapState)]
    [True, True, True, False]
    """


class ReducingState(MergingState[T, T]):
    """Elements are combined by a reduce function as they are added.

    >>> from funke.common import Types
    >>> from funke.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import ReducingState, ReducingStateDescriptor
    >>> class Record(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         descriptor = ReducingStateDescriptor("largest", max, Types.INT())
    ...         self.largest: ReducingState = runtime_context.get_reducing_state(descriptor)
    ...     def process_element(self, value, ctx):
    ...         self.largest.add(value)
    ...         yield self.largest.get()
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> list(env.from_collection([3, 9, 4]).key_by(lambda number: "all").process(Record()).execute_and_collect())
    [3, 9, 9]
    """


class AggregatingState(MergingState[IN, OUT]):
    """Elements are folded into an accumulator; reading yields the aggregate's result.

    >>> from funke.common import Types
    >>> from funke.datastream import AggregateFunction, KeyedProcessFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import AggregatingState, AggregatingStateDescriptor
    >>> class Count(AggregateFunction):
    ...     def create_accumulator(self):
    ...         return 0
    ...     def add(self, value, accumulator):
    ...         return accumulator + 1
    ...     def get_result(self, accumulator):
    ...         return f"{accumulator} so far"
    ...     def merge(self, acc_a, acc_b):
    ...         return acc_a + acc_b
    >>> class CountAll(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         descriptor = AggregatingStateDescriptor("count", Count(), Types.LONG())
    ...         self.count: AggregatingState = runtime_context.get_aggregating_state(descriptor)
    ...     def process_element(self, value, ctx):
    ...         self.count.add(value)
    ...         yield self.count.get()
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> list(env.from_collection(["a", "b"]).key_by(lambda word: "all").process(CountAll()).execute_and_collect())
    ['1 so far', '2 so far']
    """


class ListState(MergingState[T, Iterable[T]]):
    """A list of elements per key.

    >>> from funke.common import Types
    >>> from funke.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import ListState, ListStateDescriptor
    >>> class Pairs(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.waiting: ListState = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.INT()))
    ...     def process_element(self, value, ctx):
    ...         self.waiting.add(value)
    ...         if len(list(self.waiting)) == 2:
    ...             yield list(self.waiting)
    ...             self.waiting.clear()
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> list(env.from_collection([1, 2, 3, 4]).key_by(lambda number: "all").process(Pairs()).execute_and_collect())
    [[1, 2], [3, 4]]
    """

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replace the list."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Append all elements of `values`."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get() or ())


class _ReadableMap(State, Generic[K, V]):
    """Reading access that map state and broadcast state share."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Return the value of `key`, or None."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Tell whether there is an entry for `key`."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Iterate over the entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Iterate over the keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Iterate over the values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Tell whether there is no entry."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class _WritableMap(_ReadableMap[K, V]):
    """Writing access that map state and broadcast state share."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of `key`."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set all entries of `dict_value`."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove the entry of `key`, if any."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class MapState(_WritableMap[K, V]):
    """A map per key.

    >>> from funke.common import Types
    >>> from funke.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import MapState, MapStateDescriptor
    >>> class Visits(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         descriptor = MapStateDescriptor("visits", Types.STRING(), Types.INT())
    ...         self.visits: MapState = runtime_context.get_map_state(descriptor)
    ...     def process_element(self, value, ctx):
    ...         _, page = value
    ...         self.visits[page] = (self.visits[page] or 0) + 1
    ...         yield dict(self.visits.items())
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> visits = env.from_collection([("ada", "home"), ("ada", "cart"), ("ada", "home")])
    >>> list(visits.key_by(lambda visit: visit[0]).process(Visits()).execute_and_collect())[-1]
    {'home': 2, 'cart': 1}
    """

    def get_internal_state(self) -> MapState[K, V]:
        """Return the map itself; in PyFlink, programs find the map of the current key here."""
        return self


class ReadOnlyBroadcastState(_ReadableMap[K, V]):
    """Broadcast state as the side that is not broadcast sees it.

    >>> from funke.common import Types
    >>> from funke.datastream import BroadcastProcessFunction, StreamExecutionEnvironment
    >>> from funke.datastream.state import MapStateDescriptor, ReadOnlyBroadcastState
    >>> limits = MapStateDescriptor("limits", Types.STRING(), Types.INT())
    >>> class Limit(BroadcastProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         state: ReadOnlyBroadcastState = ctx.get_broadcast_state(limits)
    ...         yield value, state.get(value) if state.contains(value) else 100
    ...     def process_broadcast_element(self, value, ctx):
    ...         ctx.get_broadcast_state(limits).put(*value)
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> users, changes = env.from_collection(["ada"]), env.from_collection([("bob", 5)])
    >>> list(users.connect(changes.broadcast(limits)).process(Limit()).execute_and_collect())
    [('ada', 100)]
    """


class BroadcastState(_WritableMap[K, V], ReadOnlyBroadcastState[K, V]):
    """A map that every subtask of an operator holds in full.

    >>> from funke.common import Types
    >>> from funke.datastream import BroadcastProcessFunction
    >>> from funke.datastream.state import BroadcastState, MapStateDescriptor
    >>> limits = MapStateDescriptor("limits", Types.STRING(), Types.INT())
    >>> class Limit(BroadcastProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         user, amount = value
    ...         if amount > (ctx.get_broadcast_state(limits).get(user) or 100):
    ...             yield value
    ...     def process_broadcast_element(self, value, ctx):
    ...         state: BroadcastState = ctx.get_broadcast_state(limits)
    ...         state.put(*value)
    >>> limits.get_name()
    'limits'
    """
