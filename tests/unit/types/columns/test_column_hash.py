"""The hashes of columns are the hashes of the keys that stand in their rows, for every type."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.types import Types, stable_hash
from funke.engine.types.columns.arrow_records import column_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.column_hash import groups_of_batch, hash_columns
from funke.engine.types.columns.form_change import RowsToColumns
from funke.engine.types.keys.key_groups import KeyGroups
from funke.engine.types.row import Row
from tests.unit.types.columns.typed_values import TYPED, optional_values


@pytest.mark.parametrize("name", TYPED)
@settings(max_examples=50)
@given(some.data())
def test_a_column_hashes_like_its_values(name: str, data: some.DataObject) -> None:
    type_info, values = TYPED[name][0], data.draw(optional_values(name))
    column = column_of(name, values, type_info)
    assert hash_columns([column], [type_info]).tolist() == [stable_hash(value) for value in values]


@settings(max_examples=50)
@given(some.lists(some.tuples(*(some.none() | TYPED[name][1] for name in ("long", "string", "double", "date")))))
def test_a_key_of_several_columns_hashes_like_the_tuple(keys: list[tuple[Any, ...]]) -> None:
    names = ("long", "string", "double", "date")
    types = [TYPED[name][0] for name in names]
    columns = [column_of(name, [key[at] for key in keys], types[at]) for at, name in enumerate(names)]
    assert hash_columns(columns, types).tolist() == list(map(stable_hash, keys))


@settings(max_examples=50)
@given(optional_values("long"), some.builds(KeyGroups, some.integers(1, 1 << 15), some.sampled_from((1, 2))))
def test_key_groups_of_named_columns(values: list[int | None], key_groups: KeyGroups) -> None:
    row_type = Types.ROW_NAMED(["n", "text"], [Types.LONG(), Types.STRING()])
    batch = RowsToColumns(row_type).convert([Row(n=value, text=str(value)) for value in values], None)
    one = groups_of_batch(batch, ["n"], row_type, key_groups)
    two = groups_of_batch(batch, ["text", "n"], row_type, key_groups)
    assert one.tolist() == [key_groups.of(value) for value in values]
    assert two.tolist() == [key_groups.of((str(value), value)) for value in values]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**64 - 1, 2**61 - 1, 0, None], pa.uint64()),
        pa.array([255, None], pa.uint8()),
        pa.array([1.5, float("nan"), None], pa.float16()),
        pa.array(["a", None, "b", "a"]).dictionary_encode(),
        pa.array([3, None, 3], pa.int64()).dictionary_encode(),
        pa.array(["a", None, "ü"], pa.large_string()),
        pa.array(["a", None, "ü"], pa.string_view()),
        pa.array([b"a", None], pa.large_binary()),
        pa.array([None, None], pa.null()),
        pa.array([datetime.date(1969, 1, 1), None], pa.date64()),
        pa.array([-1, 1_500_000_000_000, None], pa.timestamp("ms")),
        pa.array([-1, 1_500_000_000_000_000_000, None], pa.timestamp("ns")),
        pa.array([1, None], pa.time32("s")),
    ],
    ids=lambda column: str(column.type),
)
def test_types_that_only_files_have(column: Any) -> None:
    values = column.cast(pa.timestamp("us"), safe=False).to_pylist() if "ns" in str(column.type) else column.to_pylist()
    assert hash_columns([column], [None]).tolist() == [stable_hash(value) for value in values]


def test_a_slice_hashes_only_what_it_shows() -> None:
    column = pa.array([1, None, -1, 2, None])
    assert hash_columns([column.slice(1, 3)], [None]).tolist() == [stable_hash(key) for key in (None, -1, 2)]
    strings = pa.array(["a", "b", None, "c"])
    assert hash_columns([strings.slice(2)], [None]).tolist() == [stable_hash(None), stable_hash("c")]


def test_an_empty_batch_has_no_groups() -> None:
    batch = ColumnBatch(pa.record_batch({"a": pa.array([], pa.string())}))
    assert groups_of_batch(batch, ["a"], None, KeyGroups(128)).dtype == np.int64
