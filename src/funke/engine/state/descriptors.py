"""Descriptions of state: a name, a type, how elements are combined, and how long entries live."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import Any

from funke.engine.state.ttl.config import StateTtlConfig
from funke.engine.types import ListTypeInfo, MapTypeInfo, TypeInformation
from funke.engine.types.functions import AggregateFunction, ReduceFunction, ReduceFunctionWrapper

__all__ = [
    "AggregatingStateDescriptor",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "ReducingStateDescriptor",
    "StateDescriptor",
    "ValueStateDescriptor",
]


class StateDescriptor(ABC):
    """What all kinds of state descriptors have in common.

    >>> from funke.common import Time, Types
    >>> from funke.datastream.state import StateDescriptor, StateTtlConfig, ValueStateDescriptor
    >>> last_visit = ValueStateDescriptor("last-visit", Types.LONG())
    >>> last_visit.enable_time_to_live(StateTtlConfig.new_builder(Time.days(30)).build())
    >>> isinstance(last_visit, StateDescriptor), last_visit.get_name()
    (True, 'last-visit')
    """

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        self.name = name
        self.type_info = type_info
        self._ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """Return the name under which the operator keeps the state."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let entries expire."""
        self._ttl_config = ttl_config

    @property
    def ttl_config(self) -> StateTtlConfig | None:
        """When entries expire; None when they do not."""
        config = self._ttl_config
        return config if config is not None and config.is_enabled() else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, type_info={self.type_info!r})"


class ValueStateDescriptor(StateDescriptor):
    """Describes one value per key.

    >>> from funke.common import Types
    >>> from funke.datastream import KeyedProcessFunction
    >>> from funke.datastream.state import ValueStateDescriptor
    >>> class Last(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))
    ...     def process_element(self, value, ctx):
    ...         yield value, self.last.value()  # None for the first element of a key
    ...         self.last.update(value)
    >>> ValueStateDescriptor("last", Types.INT()).get_name()
    'last'
    """

    def __init__(self, name: str, value_type_info: TypeInformation) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """Describes one list per key.

    >>> from funke.common import Types
    >>> from funke.datastream.state import ListStateDescriptor
    >>> ListStateDescriptor("readings", Types.DOUBLE()).elem_type_info  # for runtime_context.get_list_state()
    Double
    """

    def __init__(self, name: str, elem_type_info: TypeInformation) -> None:
        super().__init__(name, ListTypeInfo(elem_type_info))
        self.elem_type_info = elem_type_info


class MapStateDescriptor(StateDescriptor):
    """Describes one map per key, or a broadcast state.

    >>> from funke.common import Types
    >>> from funke.datastream.state import MapStateDescriptor
    >>> visits = MapStateDescriptor("visits-by-page", Types.STRING(), Types.LONG())
    >>> visits.key_type_info, visits.value_type_info  # for runtime_context.get_map_state(), or for broadcast()
    (String, Long)
    """

    def __init__(self, name: str, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        super().__init__(name, MapTypeInfo(key_type_info, value_type_info))
        self.key_type_info = key_type_info
        self.value_type_info = value_type_info


class ReducingStateDescriptor(StateDescriptor):
    """Describes one value per key that a reduce function keeps up to date.

    >>> from funke.common import Types
    >>> from funke.datastream.state import ReducingStateDescriptor
    >>> largest = ReducingStateDescriptor("largest", max, Types.INT())  # for runtime_context.get_reducing_state()
    >>> largest.get_reduce_function().reduce(3, 7)
    7
    """

    def __init__(
        self, name: str, reduce_function: ReduceFunction | Callable[[Any, Any], Any], type_info: TypeInformation
    ) -> None:
        super().__init__(name, type_info)
        self._reduce_function = _to_reduce_function(reduce_function)

    def get_reduce_function(self) -> ReduceFunction | ReduceFunctionWrapper:
        """Return the function that combines elements."""
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """Describes one accumulator per key that an aggregate function keeps up to date.

    >>> from funke.common import Types
    >>> from funke.datastream import AggregateFunction
    >>> from funke.datastream.state import AggregatingStateDescriptor
    >>> class Count(AggregateFunction):
    ...     def create_accumulator(self):
    ...         return 0
    ...     def add(self, value, accumulator):
    ...         return accumulator + 1
    ...     def get_result(self, accumulator):
    ...         return accumulator
    ...     def merge(self, acc_a, acc_b):
    ...         return acc_a + acc_b
    >>> counts = AggregatingStateDescriptor("count", Count(), Types.LONG())  # for get_aggregating_state()
    >>> counts.get_agg_function().add("an element", 4)
    5
    """

    def __init__(self, name: str, agg_function: AggregateFunction, state_type_info: TypeInformation) -> None:
        super().__init__(name, state_type_info)
        if not isinstance(agg_function, AggregateFunction):
            raise TypeError(f"state '{name}' needs an AggregateFunction, got {type(agg_function).__name__}")
        self._agg_function = agg_function

    def get_agg_function(self) -> AggregateFunction:
        """Return the function that folds elements into the accumulator."""
        return self._agg_function


def _to_reduce_function(function: Any) -> ReduceFunction | ReduceFunctionWrapper:
    if isinstance(function, (ReduceFunction, ReduceFunctionWrapper)):
        return function
    if callable(function):
        return ReduceFunctionWrapper(function)
    raise TypeError(f"reducing state needs a ReduceFunction or a callable, got {type(function).__name__}")
