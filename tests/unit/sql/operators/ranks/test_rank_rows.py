"""Top-N sends the changes that Flink's rules make of one row after the other, in both forms of its loop."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.relations import Column, Scan, SortKey
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.operators.ranks.sort_tuples import sort_tuples
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS, INSERTS
from funke.engine.sql.plan.ranks.rank import Rank
from funke.engine.sql.plan.ranks.rank_strategy import RankStrategy
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.backends import choice_of
from tests.harness.kernel_forms import use_form
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import factory_of, rows_of
from tests.harness.sql_changelogs import Change, batch_of, changes_of, inserts

COLUMNS = tuple(Column(name, from_sql_text(kind)) for name, kind in (("k", "INT"), ("id", "INT"), ("v", "BIGINT")))
ORDERS = {
    "no order": (),
    "falling": (SortKey(2, False, False),),
    "by two": (SortKey(2, True, True), SortKey(1, False, False)),
}
_by_order: Callable[[Any], Any] = itemgetter(0)


def node_of(strategy: RankStrategy, order: Sequence[SortKey] = (), **fields: Any) -> Rank:
    kinds = INSERTS if strategy is RankStrategy.APPEND else ALL_KINDS
    row_key = (0, 1) if strategy is RankStrategy.UPDATE else ()
    node = Rank(COLUMNS, rows_of(COLUMNS, kinds), (0,), tuple(order), 1, 3, strategy=strategy, row_key=row_key)
    node = replace(node, **fields)
    number = (Column("n", from_sql_text("BIGINT NOT NULL")),)
    return replace(node, columns=COLUMNS + number) if node.has_number else node


class Model:
    """Flink's rules, row by row, on a sorted list for each key."""

    def __init__(self, node: Rank) -> None:
        self.node = node
        self.lists: dict[Any, list[Any]] = {}
        self.sent: list[Change] = []

    def take(self, change: Change) -> list[Change]:
        sign, row = change
        (order,) = sort_tuples(batch_of([change], COLUMNS).data, self.node.order)
        entries = self.lists.setdefault(row[0], [])
        self.sent = []
        if sign in ("-U", "-D"):
            self._remove(entries, (order, row))
        elif self.node.strategy is RankStrategy.RETRACT:
            self._insert(entries, (order, row))
        elif self.node.strategy is RankStrategy.UPDATE:
            self._update(entries, (order, row))
        else:
            self._append(entries, (order, row))
        return self.sent

    def send(self, sign: str, entry: Any, number: int) -> None:
        node = self.node
        if node.first <= number <= node.last and (sign != "-U" or node.sends_before):
            self.sent.append((sign, (*entry[1], number) if node.has_number else entry[1]))

    def replace(self, before: list[Any], after: list[Any], start: int, end: int) -> None:
        for index in range(start, end):
            self.send("-U", before[index], index + 1)
            self.send("+U", after[index], index + 1)

    def _append(self, entries: list[Any], entry: Any) -> None:
        if len(entries) < self.node.last or (entries and entry[0] < entries[-1][0]):
            self._insert(entries, entry)
            del entries[self.node.last :]

    def _insert(self, entries: list[Any], entry: Any) -> None:
        last, index = self.node.last, bisect_right(entries, entry[0], key=_by_order)
        before = entries[:last]
        entries.insert(index, entry)
        if self.node.sends_numbers:
            self.replace(before, entries, index, len(before))
            if len(entries) <= last:
                self.send("+I", entries[-1], len(entries))
        elif index < last:
            if len(entries) > last:
                self.send("-D", entries[last], last)
            self.send("+I", entry, index + 1)

    def _update(self, entries: list[Any], entry: Any) -> None:
        index = next((at for at, each in enumerate(entries) if each[1][:2] == entry[1][:2]), None)
        if index is None:
            self._append(entries, entry)
            return
        old, before, at = entries[index], entries[:], index
        del entries[index]
        if old[0] != entry[0]:
            at = bisect_right(entries, entry[0], key=_by_order)
        entries.insert(at, entry)
        if self.node.sends_numbers:
            moved = range(min(at, index), max(at, index) + 1)
            for number in moved:
                self.send("-U", before[number], number + 1)
            for number in moved:
                self.send("+U", entries[number], number + 1)
        else:
            self.send("-U", old, index + 1)
            self.send("+U", entry, at + 1)

    def _remove(self, entries: list[Any], entry: Any) -> None:
        start, end = (find(entries, entry[0], key=_by_order) for find in (bisect_left, bisect_right))
        index = next((at for at in range(start, end) if entries[at][1] == entry[1]), None)
        if index is None:
            return
        last, before = self.node.last, entries[:]
        gone = entries.pop(index)
        if self.node.sends_numbers:
            self.replace(before, entries, index, min(last, len(entries)))
            if len(entries) < last:
                self.send("-D", before[-1], len(before))
        elif index < last:
            self.send("-D", gone, index + 1)
            if len(entries) >= last:
                self.send("+I", entries[last - 1], last)


class Running:
    """One subtask."""

    def __init__(self, node: Rank, **harness: Any) -> None:
        self._results = Scan(node.columns, None)
        self.harness = OperatorHarness(ColumnOperator(factory_of(node)), keeps_columns=True, **harness)

    def feed(self, changes: Sequence[Change]) -> list[Change]:
        if changes:
            self.harness.operator.process_columns(batch_of(changes, COLUMNS))
        return [each for batch in self.harness.elements() for each in changes_of(batch, self._results)]


ROWS = st.tuples(st.none() | st.integers(1, 2), st.integers(1, 5), st.none() | st.integers(-2, 3))


@st.composite
def change_lists(draw: st.DrawFn, strategy: RankStrategy) -> list[Change]:
    changes = inserts(draw(st.lists(ROWS, max_size=25)))
    if strategy is not RankStrategy.RETRACT:
        return changes
    back = draw(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["-D", "-U"])), max_size=15))
    for index, sign in back if changes else ():
        row = changes[index % len(changes)][1]
        changes.insert(index % len(changes) + 1 + index % 3, (sign, row))
    return changes


@pytest.mark.parametrize("form", ["compiled", "none"])
@pytest.mark.parametrize("strategy", RankStrategy, ids=lambda each: each.name)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_changes_are_those_of_one_row_after_the_other(form: str, strategy: RankStrategy, data: st.DataObject) -> None:
    changes = data.draw(change_lists(strategy))
    order = ORDERS[
        data.draw(st.sampled_from([each for each in ORDERS if each != "no order" or strategy.name != "UPDATE"]))
    ]
    node = node_of(
        strategy,
        order,
        first=data.draw(st.integers(1, 2)),
        last=data.draw(st.integers(2, 9)),
        has_number=data.draw(st.booleans()),
        sends_before=data.draw(st.booleans()),
    )
    size = data.draw(st.integers(1, 8))
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        patch.setattr("funke.engine.sql.state.rows.ordered_rows._SMALL_BATCH", size % 2 * 4)
        running, model = Running(node), Model(node)
        for start in range(0, len(changes), size):
            batch = changes[start : start + size]
            expected = [sent for change in batch for sent in model.take(change)]
            assert running.feed(batch) == expected


@pytest.mark.parametrize("has_number", [True, False])
def test_many_rows_of_a_key_and_many_keys(has_number: bool) -> None:
    """Runs move to larger ones, rows that are gone are packed, and changes have more room than a batch has at first."""
    node = node_of(RankStrategy.APPEND, ORDERS["falling"], last=700, has_number=has_number, sends_before=True)
    rows = [(index % 3, index, index) for index in range(1500)]
    model, running = Model(node), Running(node)
    expected = [sent for row in rows for sent in model.take(("+I", row))]
    with pytest.MonkeyPatch.context() as patch:
        use_form("compiled", patch)
        patch.setattr("funke.engine.sql.operators.keyed_rows._FEW_ROWS", 100)
        assert [sent for start in range(0, 1500, 500) for sent in running.feed(inserts(rows[start : start + 500]))] == (
            expected
        )


@pytest.mark.parametrize("strategy", [RankStrategy.APPEND, RankStrategy.RETRACT], ids=lambda each: each.name)
def test_rows_that_are_gone_take_no_room(strategy: RankStrategy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("funke.engine.sql.operators.keyed_rows._FEW_ROWS", 10)
    node = node_of(strategy, ORDERS["falling"], last=2)
    running, model = Running(node), Model(node)
    for value in range(60):
        changes = inserts([(value % 7 if strategy is RankStrategy.APPEND else value, 1, value)])
        if strategy is RankStrategy.RETRACT and value:
            changes.append(("-D", (value - 1, 1, value - 1)))
        assert running.feed(changes) == [sent for each in changes for sent in model.take(each)]
    state: Any = running.harness.operator
    assert state.state._rows.count <= 40
    assert len(state.state._numbers) <= 30


@pytest.mark.parametrize("backends", [("hashmap", "rocksdb"), ("rocksdb", "hashmap")], ids="-".join)
@pytest.mark.parametrize("strategy", RankStrategy, ids=lambda each: each.name)
def test_ranks_go_on_in_another_backend(backends: tuple[str, str], strategy: RankStrategy) -> None:
    node = node_of(strategy, ORDERS["by two"], has_number=True)
    rows = inserts([(None if index % 4 == 0 else index % 4, index % 5, index * 7 % 6) for index in range(40)])
    model = Model(node)
    expected = [sent for change in rows for sent in model.take(change)]
    first = Running(node, backend=choice_of(backends[0]))
    changes = first.feed(rows[:20])
    second = Running(node, backend=choice_of(backends[1]), restored=[first.harness.snapshot()])
    assert changes + second.feed(rows[20:]) == expected
    first.harness.close()
    second.harness.close()


def test_entries_are_those_of_the_last_release() -> None:
    """Lists of rows, each with what it is sorted by in front: savepoints have them."""
    running = Running(node_of(RankStrategy.APPEND, ORDERS["falling"]))
    running.feed(inserts([(1, 1, 5), (1, 2, None), (1, 3, 7)]))
    ((_, part),) = running.harness.operator.snapshot_keyed()
    ((_, table),) = part.tables.items()
    assert table == {1: ([(((1, -7),), (1, 3, 7)), (((1, -5),), (1, 1, 5)), (((2,),), (1, 2, None))],)}
    assert schema_of(COLUMNS).names == ["k", "id", "v"]
