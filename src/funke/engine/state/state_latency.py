"""How long functions wait for their state: some accesses are measured, as Flink's latency tracking does."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from funke.engine.state.descriptors import StateDescriptor

__all__ = ["LatencyTracking", "StateLatencies"]

# Flink's words for what is done with a state, by the methods here.
_ACCESSES = {
    "value": "Get",
    "get": "Get",
    "update": "Update",
    "add": "Add",
    "add_all": "AddAll",
    "put": "Put",
    "put_all": "PutAll",
    "remove": "Remove",
    "contains": "Contains",
    "is_empty": "IsEmpty",
    "clear": "Clear",
}
_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True)
class LatencyTracking:
    """Every so-manieth access of each kind is measured; so many of the last ones are kept."""

    sample_interval: int = 100
    history_size: int = 128


class StateLatencies:
    """The measured accesses to the states of one function, by Flink's names, in nanoseconds."""

    def __init__(self, tracking: LatencyTracking) -> None:
        self._tracking = tracking
        self._measured: dict[str, deque[int]] = {}

    def of(self, descriptor: StateDescriptor, state: Any) -> Any:
        """A handle on the same state that measures; it is of the same class, since programs may look."""
        kind = type(descriptor).__name__.removesuffix("StateDescriptor").lower()
        methods = {
            name: self._timed(getattr(type(state), name), f"{descriptor.name}.{kind}State{access}Latency")
            for name, access in _ACCESSES.items()
            if hasattr(type(state), name)
        }
        timed = type(f"Measured{type(state).__name__}", (type(state),), methods)
        return _with_fields_of(state, object.__new__(timed))

    def _timed(self, method: Callable[..., Any], name: str) -> Callable[..., Any]:
        measured = self._measured.setdefault(name, deque(maxlen=self._tracking.history_size))
        every, count = self._tracking.sample_interval, 0

        def call(*arguments: Any) -> Any:
            nonlocal count
            count += 1
            if count < every:
                return method(*arguments)
            count = 0
            began = time.perf_counter_ns()
            try:
                return method(*arguments)
            finally:
                measured.append(time.perf_counter_ns() - began)

        return call

    def metrics(self) -> dict[str, Any]:
        """Statistics of every access that was measured at all."""
        return {name: _statistics(sorted(each)) for name, each in self._measured.items() if each}


def _with_fields_of(state: Any, other: Any) -> Any:
    slots = [name for each in type(state).__mro__ for name in getattr(each, "__slots__", ())]
    for name in [*slots, *getattr(state, "__dict__", ())]:
        setattr(other, name, getattr(state, name))
    return other


def _statistics(measured: list[int]) -> dict[str, float]:
    last = len(measured) - 1
    quantiles = {name: float(measured[round(share * last)]) for name, share in _QUANTILES.items()}
    return {"min": float(measured[0]), "max": float(measured[-1]), "mean": sum(measured) / len(measured), **quantiles}
