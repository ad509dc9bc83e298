"""What travels between processes arrives as it was sent, also what plain pickle cannot do."""

from __future__ import annotations

import datetime
import decimal
import threading
from collections import OrderedDict, namedtuple
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as some

from funke.engine.errors import SerializationError
from funke.engine.operators.block_parts import ColumnsPart, RecordsPart, StatusPart, WatermarkPart
from funke.engine.runtime.blocks.block_codec import decode, decode_block, encode, encode_block
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import Row, RowKind

values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text() | some.binary(),
    lambda inner: some.lists(inner) | some.tuples(inner, inner) | some.dictionaries(some.text(), inner),
    max_leaves=20,
)
Point = namedtuple("Point", ["x", "y"])


@given(some.lists(values))
def test_records_come_back_as_they_were(records: list[Any]) -> None:
    assert decode_block(encode_block([RecordsPart(records)])) == [RecordsPart(records)]


def test_a_block_is_written_as_earlier_versions_have_stored_it() -> None:
    batch = ColumnBatch(pa.record_batch({"id": [1, 2]}))
    stored = [("r", [1, 2], [7, 8]), ("w", 9), ("c", batch), ("s", True)]
    parts = [RecordsPart([1, 2], [7, 8]), WatermarkPart(9), ColumnsPart(batch), StatusPart(True)]
    assert encode_block(parts) == encode(stored)
    first, watermark, columns, status = decode_block(encode(stored))
    assert [first, watermark, status] == [parts[0], parts[1], parts[3]]
    assert isinstance(columns, ColumnsPart) and columns.batch.data.equals(batch.data)


def test_an_unknown_part_is_an_error() -> None:
    with pytest.raises(SerializationError, match="a block with a part of unknown kind 'x'; expected one of r, c, w, s"):
        decode_block(encode([("x", 1)]))


@pytest.mark.parametrize(
    "value",
    [
        Point(1, 2),
        OrderedDict(b=1, a=2),
        datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC),
        decimal.Decimal("1.10"),
        {1, 2},
        range(3),
        Row(id=1, name="a"),
        1 << 100,
    ],
    ids=lambda value: type(value).__name__,
)
def test_kinds_of_values(value: Any) -> None:
    assert decode(encode(value)) == value


def test_a_row_keeps_its_kind() -> None:
    row = Row(1)
    row.set_row_kind(RowKind.DELETE)
    assert decode(encode([row]))[0].get_row_kind() is RowKind.DELETE


def test_one_object_sent_twice_arrives_as_two() -> None:
    shared = [1]
    first, second = decode(encode([shared, shared]))
    first.append(2)
    assert second == [1]


def test_an_object_of_a_local_class() -> None:
    class Local:
        def __init__(self, number: int) -> None:
            self.number = number

    assert decode(encode([Local(7)]))[0].number == 7


def test_many_frozensets() -> None:
    records = [(number, frozenset({number})) for number in range(200)]
    assert decode_block(encode_block([RecordsPart(records)])) == [RecordsPart(records)]


def test_a_lambda() -> None:
    assert decode(encode(lambda number: number + 1))(1) == 2


def test_a_list_that_contains_itself() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    back = decode(encode([loop]))[0]
    assert back[0] == 1 and back[1] is back


def test_what_cannot_be_sent_is_named() -> None:
    with pytest.raises(SerializationError, match="lock"):
        encode([threading.Lock()])
