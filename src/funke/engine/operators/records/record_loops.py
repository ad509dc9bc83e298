"""The loops that call process functions record by record.

They are the hot path: with a counter in value state, 0.45 µs per record, of which the function itself takes 0.35. So
each case has a loop of its own, and the careful one, which looks at every result, is left as soon as `ResultGuard`
allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from funke.engine.operators.record_copy import ResultGuard
from funke.engine.operators.result_batch import ResultBatch
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.types.watermark_spec import NO_TIMESTAMP

__all__ = ["run_keyed", "run_unkeyed"]

ProcessElement = Callable[[Any, Any], Iterable[Any] | None]


def run_unkeyed(
    process: ProcessElement,
    context: Any,
    values: list[Any],
    timestamps: list[int] | None,
    batch: ResultBatch,
    guard: ResultGuard,
) -> None:
    """Calls `process(value, context)` for every record and sends the results."""
    context.element_timestamp = NO_TIMESTAMP
    if guard.is_careful:
        for value, timestamp in zip(values, repeat(None) if timestamps is None else timestamps):
            if timestamp is not None:
                context.element_timestamp = timestamp
            results = process(value, context)
            if results is not None:
                batch.take(results, timestamp)
    elif timestamps is None:
        extend = batch.values.extend
        for value in values:
            results = process(value, context)
            if results is not None:
                extend(results)
    else:
        append, stamp = batch.values.append, batch.timestamps.append
        for value, timestamp in zip(values, timestamps, strict=True):
            context.element_timestamp = timestamp
            results = process(value, context)
            if results is not None:
                for result in results:
                    append(result)
                    stamp(timestamp)
    guard.check(batch.values)
    batch.send()


def run_keyed(
    process: ProcessElement,
    context: Any,
    backend: KeyedBackend,
    keys: list[Any],
    values: list[Any],
    timestamps: list[int] | None,
    batch: ResultBatch,
    guard: ResultGuard,
) -> None:
    """Calls `process(value, context)` for every record under its key and sends the results."""
    context.element_timestamp = NO_TIMESTAMP
    if guard.is_careful:
        stamps = repeat(None) if timestamps is None else timestamps
        for key, value, timestamp in zip(keys, values, stamps):
            backend.current_key = key
            if timestamp is not None:
                context.element_timestamp = timestamp
            results = process(value, context)
            if results is not None:
                batch.take(results, timestamp)
    elif timestamps is None:
        extend = batch.values.extend
        for key, value in zip(keys, values, strict=True):
            backend.current_key = key
            results = process(value, context)
            if results is not None:
                extend(results)
    else:
        append, stamp = batch.values.append, batch.timestamps.append
        for key, value, timestamp in zip(keys, values, timestamps, strict=True):
            backend.current_key = key
            context.element_timestamp = timestamp
            results = process(value, context)
            if results is not None:
                for result in results:
                    append(result)
                    stamp(timestamp)
    guard.check(batch.values)
    batch.send()
