"""How large states are, by operator and name, from what is written anyway."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart, HeldState, LocalFile, TableId
from funke.engine.state.snapshot.state_sizes import StateSize, StateSizes
from funke.engine.types.columns.column_batch import ColumnBatch


def table(name: str, namespace: Any = None, kind: str = "value") -> TableId:
    return TableId(name, namespace, False, kind)


def test_a_state_by_itself_has_all_of_its_piece() -> None:
    sizes = StateSizes()
    sizes.add_part("a", GroupPart({table("count"): {"x": 1, "y": 2}}, [], []), 60)
    sizes.add_part("a", GroupPart({table("count"): {"z": 1}}, [], []), 40)
    sizes.add_part("b", GroupPart({}, [(1, "x"), (2, "y")], []), 20)
    assert sizes.all() == (
        StateSize("a", "count", "value", 3, 100),
        StateSize("b", "event-time timers", "timers", 2, 20),
    )


def test_rows_in_columns_are_counted_one_by_one() -> None:
    sizes = StateSizes()
    rows = ColumnBatch(pa.RecordBatch.from_pydict({"x": range(30)}))
    sizes.add_part("a", GroupPart({table("left-rows"): {0: rows}, table("right-rows"): {0: rows, 1: rows}}, [], []), 90)
    assert {each.name: each.entries for each in sizes.all()} == {"right-rows": 60, "left-rows": 30}


def test_states_that_share_a_piece_are_distinguished_by_some_of_their_entries() -> None:
    sizes = StateSizes()
    windows = {table("sums", number, "reducing"): {f"key {number}": bytes([number]) * 1000} for number in range(50)}
    small = {table("seen"): {f"key {number}": True for number in range(500)}}
    sizes.add_part("a", GroupPart({**windows, **small}, [], []), 100_000)
    large, little = sizes.all()
    assert (large.name, large.kind, large.entries) == ("sums", "reducing", 50)
    assert (little.name, little.entries) == ("seen", 500)
    assert large.bytes + little.bytes == 100_000 and large.bytes > 5 * little.bytes


def test_state_that_is_not_keyed() -> None:
    sizes = StateSizes()
    own = OperatorStateSnapshot({"buffer": ["a", "b"]}, {"all": [1]}, {"rules": {"x": "y" * 500}})
    sizes.add_own("a", own, 700)
    sizes.add_own("source", {"split 1": 5, "split 2": 9}, 44)
    sizes_by_name = {(each.operator_id, each.name): each for each in sizes.all()}
    assert sizes_by_name["a", "rules"].kind == "broadcast" and sizes_by_name["a", "rules"].bytes > 400
    assert sizes_by_name["a", "buffer"].entries == 2 and sizes_by_name["a", "all"].kind == "union list"
    assert sizes_by_name["source", "positions and buffers"][2:] == ("operator", 2, 44)


def test_files_of_a_backend_and_sums_of_subtasks() -> None:
    held = (HeldState("count", "value", 30, 100), HeldState("list", "list", 10, 300))
    one, two = StateSizes(), StateSizes()
    one.add_files("a", [LocalFile("/x/1.sst", "1.sst"), LocalFile("/x/contents", "contents", holds=held)], 1000)
    two.add(one.all())
    two.add(one.all())
    assert two.all() == (StateSize("a", "list", "list", 20, 1500), StateSize("a", "count", "value", 60, 500))
    one.add_files("b", [LocalFile("/x/2.sst", "2.sst")], 10)
    assert all(each.operator_id == "a" for each in one.all()), "nothing is known of it"
