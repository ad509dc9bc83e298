"""Map, flat map and filter: functions of one record, with or without keyed state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from funke.engine.graph.operations import Filter, FlatMap, KeySelector, Map
from funke.engine.operators.function_operator import FunctionOperator, method_of
from funke.engine.operators.keyed.keyed_operator import KeyedOperator
from funke.engine.operators.record_copy import ATOMS, detached, keeps_nothing
from funke.engine.types.functions import Function

__all__ = ["FilterOperator", "FlatMapOperator", "KeyedFilterOperator", "KeyedFlatMapOperator", "KeyedMapOperator"]
__all__ += ["MapOperator", "create_filter", "create_flat_map", "create_map"]


class MapOperator(FunctionOperator):
    """One result per record."""

    def open(self) -> None:
        super().open()
        self._map = method_of(self.function, "map")
        self._is_safe = keeps_nothing(self.function)

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        if self.output.has_side_outputs:
            self.results.send_each(map(self._map, values), timestamps)
            return
        if self._is_safe:
            self.output.emit(list(map(self._map, values)), timestamps)
            return
        if self.guard.is_careful:
            results = []
            for result in map(self._map, values):
                results.append(result if type(result) in ATOMS else detached(result))
        else:
            results = list(map(self._map, values))
        self.guard.check(results)
        self.output.emit(results, timestamps)


class FlatMapOperator(FunctionOperator):
    """Any number of results per record."""

    def open(self) -> None:
        super().open()
        self._flat_map = method_of(self.function, "flat_map")

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        batch = self.results
        if self.guard.is_careful:
            stamps = timestamps if timestamps is not None else [None] * len(values)
            for results, stamp in zip(map(self._flat_map, values), stamps, strict=True):
                if results is not None:
                    batch.take(results, stamp)
        elif timestamps is None:
            extend = batch.values.extend
            for results in map(self._flat_map, values):
                if results is not None:
                    extend(results)
        else:
            append, stamp_next = batch.values.append, batch.timestamps.append
            for results, timestamp in zip(map(self._flat_map, values), timestamps, strict=True):
                if results is not None:
                    for result in results:
                        append(result)
                        stamp_next(timestamp)
        self.guard.check(batch.values)
        batch.send()


class FilterOperator(FunctionOperator):
    """Keeps records."""

    def open(self) -> None:
        super().open()
        self._filter = method_of(self.function, "filter")

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        if timestamps is None:
            self.output.emit(list(filter(self._filter, values)), None)
            return
        kept = list(map(self._filter, values))
        self.output.emit(
            [value for value, is_kept in zip(values, kept, strict=True) if is_kept],
            [timestamp for timestamp, is_kept in zip(timestamps, kept, strict=True) if is_kept],
        )


class KeyedMapOperator(KeyedOperator):
    """Map with state."""

    def open(self) -> None:
        super().open()
        self._map = method_of(self.function, "map")

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        if self.output.has_side_outputs:
            self.results.send_each(self._results(values), timestamps)
            return
        is_careful = self.guard.is_careful
        results = [detached(result) if is_careful else result for result in self._results(values)]
        self.guard.check(results)
        self.output.emit(results, timestamps)

    def _results(self, values: list[Any]) -> Iterator[Any]:
        map_value, backend = self._map, self.backend
        for key, value in zip(self.keys_of(values), values, strict=True):
            backend.current_key = key
            yield map_value(value)


class KeyedFlatMapOperator(KeyedOperator):
    """Flat map with state."""

    def open(self) -> None:
        super().open()
        self._flat_map = method_of(self.function, "flat_map")

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        flat_map, backend, take = self._flat_map, self.backend, self.results.take
        stamps = timestamps if timestamps is not None else [None] * len(values)
        for key, value, timestamp in zip(self.keys_of(values), values, stamps, strict=True):
            backend.current_key = key
            results = flat_map(value)
            if results is not None:
                take(results, timestamp)
        self.results.send()


class KeyedFilterOperator(KeyedOperator):
    """Filter with state."""

    def open(self) -> None:
        super().open()
        self._filter = method_of(self.function, "filter")

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        is_kept, backend = self._filter, self.backend
        kept: list[int] = []
        for position, key in enumerate(self.keys_of(values)):
            backend.current_key = key
            if is_kept(values[position]):
                kept.append(position)
        kept_timestamps = None if timestamps is None else [timestamps[position] for position in kept]
        self.output.emit([values[position] for position in kept], kept_timestamps)


def create_map(operation: Map) -> FunctionOperator:
    keyed = _selector_if_state_is_possible(operation)
    return MapOperator(operation.function) if keyed is None else KeyedMapOperator(operation.function, keyed)


def create_flat_map(operation: FlatMap) -> FunctionOperator:
    keyed = _selector_if_state_is_possible(operation)
    return FlatMapOperator(operation.function) if keyed is None else KeyedFlatMapOperator(operation.function, keyed)


def create_filter(operation: Filter) -> FunctionOperator:
    keyed = _selector_if_state_is_possible(operation)
    return FilterOperator(operation.function) if keyed is None else KeyedFilterOperator(operation.function, keyed)


def _selector_if_state_is_possible(operation: Map | FlatMap | Filter) -> KeySelector | None:
    # A plain callable has no open(), so it can have no state and needs no key.
    function = operation.function
    is_plain = callable(function) and not isinstance(function, Function)
    return None if is_plain else operation.key_selector
