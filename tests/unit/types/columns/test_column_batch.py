"""Batches of columns: their parts, their rows, and their way through a block."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.errors import TypeMismatchError
from funke.engine.runtime.blocks.block_codec import decode, encode
from funke.engine.types import Row, RowKind, Types
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.form_change import ColumnsToRows, RowsToColumns
from tests.unit.types.columns.typed_values import TYPED, optional_values

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


def batch_of(ids: list[int], timestamps: bool = False, kinds: list[int] | None = None) -> ColumnBatch:
    data = pa.record_batch({"id": ids, "name": [f"n{number}" for number in ids]})
    stamps = np.array(ids, np.int64) * 10 if timestamps else None
    return ColumnBatch(data, stamps, None if kinds is None else np.array(kinds, np.int8))


def content(batch: ColumnBatch) -> tuple[Any, ...]:
    beside = [None if array is None else array.tolist() for array in (batch.timestamps, batch.kinds)]
    return batch.data.to_pylist(), *beside


class TestParts:
    def test_slice_take_and_filter_keep_what_stands_beside_the_columns(self) -> None:
        batch = batch_of([1, 2, 3, 4], timestamps=True, kinds=[0, 1, 2, 3])
        assert content(batch.slice(1, 2)) == content(take(batch, [1, 2]))
        assert content(batch.filter(pa.array([False, True, True, False]))) == content(take(batch, [1, 2]))
        assert batch.take(np.array([3, 0])).timestamps.tolist() == [40, 10]  # type: ignore[union-attr]
        assert len(batch.slice(3)) == 1

    def test_batches_can_be_joined(self) -> None:
        joined = ColumnBatch.concat([batch_of([1]), batch_of([2, 3], kinds=[0, 3])])
        assert joined.data.column("id").to_pylist() == [1, 2, 3]
        assert joined.kinds is not None and joined.kinds.tolist() == [0, 0, 3]
        assert joined.timestamps is None

    def test_what_stands_beside_is_as_long_as_the_columns(self) -> None:
        with pytest.raises(ValueError, match="1 timestamps for 2 rows"):
            ColumnBatch(batch_of([1, 2]).data, np.array([1]))


def take(batch: ColumnBatch, positions: list[int]) -> ColumnBatch:
    return batch.take(np.array(positions))


class TestRows:
    def test_rows_have_kinds_and_timestamps(self) -> None:
        values, timestamps = ColumnsToRows(ROW).convert(batch_of([1, 2], timestamps=True, kinds=[0, 3]))
        assert values == [Row(id=1, name="n1"), Row.of_kind(RowKind.DELETE, id=2, name="n2")]
        assert timestamps == [10, 20]

    def test_without_a_type_rows_are_what_arrow_says(self) -> None:
        assert ColumnsToRows(None).convert(batch_of([1])) == ([Row(id=1, name="n1")], None)

    def test_rows_become_columns_and_rows_again(self) -> None:
        rows = [Row(id=1, name=None), Row.of_kind(RowKind.UPDATE_AFTER, id=None, name="b")]
        batch = RowsToColumns(ROW).convert(rows, [5, 6])
        assert batch.kinds is not None and batch.kinds.tolist() == [0, 2]
        assert ColumnsToRows(ROW).convert(batch) == (rows, [5, 6])

    def test_tuples_stay_tuples(self) -> None:
        pairs = Types.TUPLE([Types.LONG(), Types.STRING()])
        batch = RowsToColumns(pairs).convert([(1, "a"), (2, None)], None)
        assert batch.data.schema.names == ["f0", "f1"]
        assert ColumnsToRows(pairs).convert(batch) == ([(1, "a"), (2, None)], None)

    def test_no_rows_are_no_rows(self) -> None:
        batch = RowsToColumns(ROW).convert([], None)
        assert batch.data.schema.names == ["id", "name"] and ColumnsToRows(ROW).convert(batch) == ([], None)

    @pytest.mark.parametrize("edge_type", [None, Types.LONG()], ids=str)
    def test_what_is_no_row_cannot_become_columns(self, edge_type: Any) -> None:
        with pytest.raises(TypeMismatchError, match="ROW_NAMED"):
            RowsToColumns(edge_type)

    def test_a_tuple_cannot_be_a_deletion(self) -> None:
        with pytest.raises(TypeMismatchError, match="-D"):
            ColumnsToRows(Types.TUPLE([Types.LONG(), Types.STRING()])).convert(batch_of([1], kinds=[3]))


class TestBlocks:
    @pytest.mark.parametrize("name", TYPED)
    @settings(max_examples=20)
    @given(some.data())
    def test_every_type_travels(self, name: str, data: some.DataObject) -> None:
        values = data.draw(optional_values(name))
        row_type = Types.ROW_NAMED(["v"], [TYPED[name][0]])
        batch = RowsToColumns(row_type).convert([Row(v=value) for value in values], None)
        ((_, back), _) = decode(encode([("c", batch), ("w", 7)]))
        assert same(back.data.to_pylist(), batch.data.to_pylist()) and back.data.schema == batch.data.schema
        rows, _ = ColumnsToRows(row_type).convert(back)
        assert same([row.v for row in rows], values)

    def test_timestamps_and_kinds_travel(self) -> None:
        batch = batch_of([1, 2, 3], timestamps=True, kinds=[0, 1, 2])
        assert content(decode(encode(batch))) == content(batch)

    @pytest.mark.parametrize(
        "column",
        [
            pa.array(["a", None, "b"]).dictionary_encode(),
            pa.array([["a"], None, ["b", "a"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
            pa.array([None, None, None], pa.null()),
            pa.array(["a", None, "a string that is longer than a view"], pa.string_view()),
            pa.array([[1], None, []], pa.large_list(pa.int64())),
            pa.array([1, None, 2], pa.uint64()),
        ],
        ids=lambda column: str(column.type),
    )
    def test_types_that_only_files_have_travel(self, column: Any) -> None:
        back = decode(encode(ColumnBatch(pa.record_batch({"v": column}))))
        assert back.data.column("v").equals(column)

    def test_only_a_slice_travels(self) -> None:
        batch = batch_of(list(range(10_000)), timestamps=True)
        small = batch.slice(5_000, 2)
        assert len(encode(small)) < 2_000
        assert content(decode(encode(small))) == content(small)


def same(left: Any, right: Any) -> bool:
    """Equality for which a NaN is like another."""
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    if isinstance(left, (list, tuple)) and isinstance(right, type(left)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)
