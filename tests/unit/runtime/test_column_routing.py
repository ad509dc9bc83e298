"""Columns between subtasks: the same records to the same receivers, in the same order, as in the form of rows."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.partitioners import (
    Broadcast,
    Custom,
    Forward,
    Global,
    Hash,
    Partitioner,
    Rebalance,
    Rescale,
    Shuffle,
)
from funke.engine.operators.block_parts import ColumnsPart, RecordsPart
from funke.engine.runtime.blocks.block_codec import decode_block, encode_block
from funke.engine.runtime.blocks.router import Router, create_router
from funke.engine.types import Row, Types
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.edge_forms import EdgeForms
from funke.engine.types.keys.key_groups import KeyGroups

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
FORMS = EdgeForms(ROW)
PARTITIONERS: dict[str, Partitioner] = {
    "forward": Forward(),
    "rebalance": Rebalance(),
    "rescale": Rescale(),
    "broadcast": Broadcast(),
    "global": Global(),
    "hash of a column": Hash(ColumnKey(("name",))),
    "hash of two columns": Hash(ColumnKey(("name", "id"))),
    "hash by a function": Hash(lambda row: row["id"] % 7),
    "custom": Custom(lambda key, receivers: key % receivers, lambda row: row.id),
}

Blocks = list[tuple[int, list[Any]]]


def router_to(partitioner: Partitioner, receivers: int = 3) -> tuple[Router, Blocks]:
    blocks: Blocks = []

    def send(receiver: int, parts: list[Any]) -> int:
        payload = encode_block(parts)
        blocks.append((receiver, decode_block(payload)))
        return len(payload)

    return create_router(partitioner, 1, 2, receivers, KeyGroups(128), send, FORMS), blocks


def elements(blocks: Blocks) -> dict[int, list[Any]]:
    """What each receiver gets in order: rows with their timestamps, and marks."""
    by_receiver: dict[int, list[Any]] = {}
    for receiver, parts in blocks:
        for part in parts:
            if isinstance(part, ColumnsPart):
                part = RecordsPart(*FORMS.rows_of(part.batch))
            if isinstance(part, RecordsPart):
                stamps = part.timestamps or [None] * len(part.values)
                by_receiver.setdefault(receiver, []).extend(zip(part.values, stamps, strict=True))
            else:
                by_receiver.setdefault(receiver, []).append(part)
    return by_receiver


def rows(ids: list[int]) -> list[Row]:
    return [Row(id=number, name=f"n{number % 5}") for number in ids]


@pytest.mark.parametrize("name", PARTITIONERS)
@settings(max_examples=20)
@given(batches=some.lists(some.lists(some.integers(-5, 50), max_size=20), max_size=4), stamped=some.booleans())
def test_columns_go_where_their_rows_go(name: str, batches: list[list[int]], stamped: bool) -> None:
    by_rows, row_blocks = router_to(PARTITIONERS[name])
    by_columns, column_blocks = router_to(PARTITIONERS[name])
    for number, ids in enumerate(batches):
        stamps = [10 * value for value in ids] if stamped else None
        if ids:
            by_rows.process_batch(rows(ids), stamps)
            by_columns.process_columns(FORMS.columns_of(rows(ids), stamps))
        for router in (by_rows, by_columns):
            router.process_watermark(number)
    for router in (by_rows, by_columns):
        router.process_status(True)
        router.flush()
    assert elements(column_blocks) == elements(row_blocks)


def test_shuffle_loses_nothing_and_keeps_the_order_within_a_receiver() -> None:
    router, blocks = router_to(Shuffle())
    router.process_columns(FORMS.columns_of(rows(list(range(300))), None))
    router.flush()
    ids = {receiver: [row.id for row, _ in each] for receiver, each in elements(blocks).items()}
    assert set(ids) == {0, 1, 2} and sorted(chain.from_iterable(ids.values())) == list(range(300))
    assert all(each == sorted(each) for each in ids.values())


def test_forms_and_timestamps_may_change_on_the_way() -> None:
    router, blocks = router_to(Forward())
    router.process_columns(FORMS.columns_of(rows([1]), None))
    router.process_batch(rows([2]), None)
    router.process_columns(FORMS.columns_of(rows([3]), [30]))
    router.process_columns(FORMS.columns_of(rows([4]), None))
    router.process_batch(rows([5]), [50])
    router.flush()
    kinds = [type(part) for _, parts in blocks for part in parts]
    assert kinds == [ColumnsPart, RecordsPart, ColumnsPart, ColumnsPart, RecordsPart]
    assert [row.id for row, _ in elements(blocks)[1]] == [1, 2, 3, 4, 5]


def test_batches_are_joined_into_blocks_of_some_size() -> None:
    router, blocks = router_to(Forward())
    for _ in range(40):
        router.process_columns(FORMS.columns_of(rows(list(range(1_000))), None))
    router.flush()
    sizes = [len(part.batch) for _, parts in blocks for part in parts]
    assert sum(sizes) == 40_000 and 2 <= len(sizes) <= 6


def test_kinds_travel_with_their_rows() -> None:
    router, blocks = router_to(Hash(ColumnKey(("id",))))
    batch = FORMS.columns_of(rows(list(range(50))), None)
    kinds = np.arange(50, dtype=np.int8) % 4
    router.process_columns(ColumnBatch(batch.data, None, kinds))
    router.flush()
    for row, _ in chain.from_iterable(elements(blocks).values()):
        assert row.get_row_kind().value == row.id % 4


def test_only_the_receiver_decides_whether_columns_are_wanted() -> None:
    assert not router_to(Forward())[0].wants_columns
    router = create_router(Forward(), 0, 1, 1, KeyGroups(128), lambda _, parts: 0, EdgeForms(ROW, wants_columns=True))
    assert router.wants_columns and router.takes_rows and router.takes_columns


def test_blocks_of_columns_have_no_more_bytes_than_their_receiver_wants() -> None:
    router, blocks = router_to(Global(), receivers=1)
    router.bound(0, 4_000)
    router.process_columns(FORMS.columns_of(rows(list(range(2_000))), None))
    router.flush()
    lengths = [len(part.batch) for _, parts in blocks for part in parts]
    assert sum(lengths) == 2_000 and 100 < max(lengths) < 300
    assert [row for row, _ in elements(blocks)[0]] == rows(list(range(2_000)))


def test_the_key_that_most_rows_have_is_known_to_whoever_sends_them() -> None:
    names = ["EU"] * 300 + [str(number) for number in range(100)]
    rows = [Row(id=number, name=name) for number, name in enumerate(names)]
    router = create_router(Hash(ColumnKey(("name",))), 0, 1, 2, KeyGroups(128), lambda receiver, parts: 100, FORMS)
    router.process_columns(FORMS.columns_of(rows, None))
    assert router.hottest_key() == {"hottestKey": "'EU'", "hottestKeyShare": 0.75}
