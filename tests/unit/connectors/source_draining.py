"""Reads a source as the engine does, without the engine: poll, read, report, until it is finished."""

from __future__ import annotations

from typing import Any

import cloudpickle

from funke.engine.connectors.source import ReadOutcome, Source, Split, SplitEnumerator, SplitReader
from funke.engine.types.columns.form_change import ColumnsToRows


def read_split(reader: SplitReader, split: Split) -> tuple[list[Any], list[Any], Any]:
    """The values and the timestamps of a split, and what the reader returned; reader and split travel pickled."""
    reader, split = cloudpickle.loads(cloudpickle.dumps((reader, split)))
    values: list[Any] = []
    timestamps: list[Any] = []
    batches = reader.read(split)
    while True:
        try:
            batch, times = next(batches)
        except StopIteration as end:
            return values, timestamps, end.value
        assert batch, "an empty batch is of no use"
        assert times is None or len(times) == len(batch)
        values += batch
        timestamps += [None] * len(batch) if times is None else times


def run_epoch(source: Source, enumerator: SplitEnumerator, max_records: int) -> list[Any]:
    """The values of one epoch."""
    results: list[Any] = []
    for split in enumerator.poll(max_records):
        values, _, result = read_split(source.create_reader(), split)
        assert_columns_agree(source, split, values)
        enumerator.report(ReadOutcome(split, len(values), result))
        results += values
    return results


def assert_columns_agree(source: Source, split: Split, values: list[Any]) -> None:
    """A reader that can give columns gives the same records in the same order."""
    batches = source.create_reader().read_columns(split)
    if batches is not None:
        to_rows = ColumnsToRows(source.produced_type)
        results = [value for batch in batches for value in to_rows.convert(batch)[0]]
        assert repr(results) == repr(values)


def drain(source: Source, parallelism: int = 2, max_records: int = 1000, restored: Any = None) -> list[Any]:
    """All values of a source that ends."""
    enumerator = source.create_enumerator(parallelism, restored)
    results: list[Any] = []
    while not enumerator.is_finished:
        results += run_epoch(source, enumerator, max_records)
    assert enumerator.poll(max_records) == []
    enumerator.close()
    return results


def drain_with_restart(source: Source, epochs: int, parallelism: int = 2, max_records: int = 1000) -> list[Any]:
    """All values of a source whose enumerator is replaced by a restored one after some epochs."""
    enumerator = source.create_enumerator(parallelism)
    results: list[Any] = []
    for _ in range(epochs):
        results += run_epoch(source, enumerator, max_records)
    snapshot = cloudpickle.loads(cloudpickle.dumps(enumerator.snapshot()))
    # What is read after the snapshot is lost with the failed attempt, and must not change the snapshot.
    run_epoch(source, enumerator, max_records)
    enumerator.close()
    restored = source.create_enumerator(parallelism + 1, snapshot)
    while not restored.is_finished:
        results += run_epoch(source, restored, max_records)
    return results
