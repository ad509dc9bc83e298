"""Joins send the changes that Flink's rules make of one row after the other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.expressions import BoundColumn, BoundExpression, BoundFunction
from funke.engine.sql.binding.joins.regular_joins import JoinKind, columns_of_join
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import bind
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS, INSERTS
from funke.engine.sql.plan.changelogs.upsert_keys import NO_KEYS, UpsertKeys, one_key
from funke.engine.sql.plan.joins.join import Join
from funke.engine.sql.plan.node import DetachedInput
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.backends import choice_of
from tests.harness.join_state import JOIN_BACKENDS, join_backend, subtask_of
from tests.harness.kernel_forms import use_form
from tests.harness.operator_harness import OperatorHarness
from tests.harness.sql_changelogs import Change, batch_of, changes_of

LEFT = (Column("k", from_sql_text("INT")), Column("x", from_sql_text("BIGINT")))
RIGHT = (Column("k", from_sql_text("INT")), Column("y", from_sql_text("BIGINT")))
KINDS: list[JoinKind] = ["inner", "left", "right", "full", "semi", "anti"]
_TAKING_IN = ("+I", "+U")
# A change, and the side that it is of.
Step = tuple[int, Change]


def less() -> BoundExpression:
    """x < y"""
    arguments = BoundColumn(LEFT[1].type, 1, "x"), BoundColumn(RIGHT[1].type, 3, "y")
    call = bind(FUNCTIONS["<"], [each.as_argument() for each in arguments])
    return BoundFunction(call.result, call, arguments)


def join_of(
    kind: JoinKind, has_condition: bool = False, keys: Sequence[UpsertKeys] = (NO_KEYS, NO_KEYS), **fields: Any
) -> Join:
    left, right = (DetachedInput(each, ALL_KINDS, own) for each, own in zip((LEFT, RIGHT), keys))
    condition = less() if has_condition else None
    return Join(columns_of_join(LEFT, RIGHT, kind), left, right, (0,), (0,), kind, condition, **fields)


class Running:
    """A join in one subtask."""

    def __init__(self, join: Join, **harness: Any) -> None:
        self.join = join
        self.harness = OperatorHarness(ColumnOperator(join.detached().create), keeps_columns=True, **harness)

    def feed(self, side: int, changes: Sequence[Change]) -> list[Change]:
        return self.feed_rows(side, changes, (LEFT, RIGHT)[side])

    def feed_rows(self, side: int, changes: Sequence[Change], columns: tuple[Column, ...]) -> list[Change]:
        self.harness.operator.columns_handler(side)(batch_of(changes, columns))
        return [change for batch in self.harness.elements() for change in changes_of(batch, self.join)]


class Model:
    """Flink's rules, row by row."""

    def __init__(self, kind: JoinKind, has_condition: bool) -> None:
        self.kind, self.has_condition = kind, has_condition
        # A row and how many matches it has, as far as that counts.
        self.sides: tuple[list[list[Any]], list[list[Any]]] = ([], [])
        self.outer = (kind in ("left", "full"), kind in ("right", "full"))
        # One of several equal rows was taken back. Which one that is decides the order of later matches, and is as open
        # as the order of rows in Flink's map state.
        self.has_open_order = False

    def in_order(self, changes: list[Change]) -> list[Change]:
        """Changes in an order in which they can be compared."""
        return sorted(changes, key=repr) if self.has_open_order else changes

    def take(self, side: int, change: Change) -> list[Change]:
        sign, row = change
        matches = [each for each in self.sides[1 - side] if self._is_match(row, each[0], side)]
        half = self.kind in ("semi", "anti")
        sent = self._half(sign, row, matches, side) if half else self._pairs(sign, row, matches, side)
        own = self.sides[side]
        if sign in _TAKING_IN:
            own.append([row, len(matches)])
        else:
            equal = [each for each in own if each[0] == row]
            self.has_open_order |= len(equal) > 1
            if equal:
                own.remove(equal[0])
        return sent

    def _is_match(self, row: Any, other: Any, side: int) -> bool:
        left, right = (row, other) if side == 0 else (other, row)
        if left[0] is None or left[0] != right[0]:
            return False
        return not self.has_condition or (left[1] is not None and right[1] is not None and left[1] < right[1])

    def _pairs(self, sign: str, row: Any, matches: list[Any], side: int) -> list[Change]:
        takes_in, is_outer, other_is_outer = sign in _TAKING_IN, self.outer[side], self.outer[1 - side]
        if not matches:
            return [("+I" if takes_in else "-D", self._pair(row, None, side))] if is_outer else []
        if is_outer or (other_is_outer and takes_in):
            sign = "+I" if takes_in else "-D"
        sent: list[Change] = []
        for each in matches:
            if takes_in and other_is_outer:
                if each[1] == 0:
                    sent.append(("-D", self._pair(None, each[0], side)))
                each[1] += 1
            sent.append((sign, self._pair(row, each[0], side)))
            if not takes_in and other_is_outer:
                if each[1] == 1:
                    sent.append(("+I", self._pair(None, each[0], side)))
                each[1] -= 1
        return sent

    @staticmethod
    def _pair(row: Any, other: Any, side: int) -> Any:
        left, right = (row, other) if side == 0 else (other, row)
        return (*(left or (None, None)), *(right or (None, None)))

    def _half(self, sign: str, row: Any, matches: list[Any], side: int) -> list[Change]:
        is_anti, takes_in = self.kind == "anti", sign in _TAKING_IN
        if side == 0:
            return [(sign, row)] if bool(matches) != is_anti else []
        sent: list[Change] = []
        for each in matches:
            if each[1] == (0 if takes_in else 1):
                sent.append((("-D" if takes_in else "+I") if is_anti else sign, each[0]))
            each[1] += 1 if takes_in else -1
        return sent


FEW_ROWS = st.tuples(st.none() | st.integers(0, 2), st.none() | st.integers(0, 3))


@st.composite
def steps(draw: st.DrawFn, row: st.SearchStrategy[Any] = FEW_ROWS) -> list[Step]:
    """Rows that come, and go again."""
    there: tuple[list[Any], list[Any]] = ([], [])
    result: list[Step] = []
    for side, is_new, number in draw(st.lists(st.tuples(st.integers(0, 1), st.booleans(), st.integers(0, 9)))):
        own = there[side]
        if is_new or not own:
            own.append(draw(row))
            result.append((side, (draw(st.sampled_from(["+I", "+U"])), own[-1])))
        else:
            gone = own.pop(number % len(own))
            result.append((side, (draw(st.sampled_from(["-U", "-D"])), gone)))
    return result


def cut(changes: list[Step], sizes: list[int]) -> list[tuple[int, list[Change]]]:
    """Batches of changes of one side each."""
    batches: list[tuple[int, list[Change]]] = []
    room = 0
    for number, (side, change) in enumerate(changes):
        if not batches or batches[-1][0] != side or not room:
            batches.append((side, []))
            room = sizes[number % len(sizes)]
        batches[-1][1].append(change)
        room -= 1
    return batches


@pytest.fixture(params=JOIN_BACKENDS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> BackendChoice:
    return join_backend(request.param, monkeypatch)


@pytest.mark.parametrize("form", ["compiled", "plain"])
@pytest.mark.parametrize("has_condition", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(changes=steps(), sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_changes_are_those_of_one_row_after_the_other(
    form: str, has_condition: bool, kind: JoinKind, changes: list[Step], sizes: list[int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        running, model = Running(join_of(kind, has_condition)), Model(kind, has_condition)
        for side, batch in cut(changes, sizes):
            expected = [sent for change in batch for sent in model.take(side, change)]
            assert model.in_order(running.feed(side, batch)) == model.in_order(expected)


ROWS_BY_KEY = st.tuples(st.none() | st.integers(0, 12), st.none() | st.integers(0, 3))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=steps(ROWS_BY_KEY), sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_rows_in_a_backend_are_those_in_memory(
    kind: JoinKind, backend: BackendChoice, changes: list[Step], sizes: list[int]
) -> None:
    running, model = Running(join_of(kind), backend=backend), Model(kind, has_condition=False)
    for number, (side, batch) in enumerate(cut(changes, sizes)):
        expected = [sent for change in batch for sent in model.take(side, change)]
        assert model.in_order(running.feed(side, batch)) == model.in_order(expected)
        if number % 3 == 2:
            running.harness.snapshot()
    running.harness.close()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=steps(ROWS_BY_KEY), point=st.integers(1, 10))
def test_a_restored_join_goes_on(kind: JoinKind, backend: BackendChoice, changes: list[Step], point: int) -> None:
    """With another backend, and with other numbers of subtasks."""
    other = choice_of("rocksdb" if backend.name == "hashmap" else "hashmap")
    plans = [(1, backend), (2, backend), (5, other), (1, backend), (3, backend)]
    batches, model = cut(changes, [2]), Model(kind, has_condition=True)
    snapshots: list[bytes] = []
    for number, (parallelism, choice) in enumerate(plans):
        subtasks = [
            Running(
                join_of(kind, has_condition=True),
                restored=snapshots,
                backend=choice,
                parallelism=parallelism,
                subtask=subtask,
            )
            for subtask in range(parallelism)
        ]
        end = None if number == len(plans) - 1 else (number + 1) * point
        for side, batch in batches[number * point : end]:
            expected = [sent for change in batch for sent in model.take(side, change)]
            sent = [
                change
                for subtask, running in enumerate(subtasks)
                for change in running.feed(
                    side, [each for each in batch if subtask_of(each[1][0], parallelism) == subtask]
                )
            ]
            # Rows of a key may come back in another order, and subtasks have none among them.
            assert sorted(sent, key=repr) == sorted(expected, key=repr)
        snapshots = [each.harness.snapshot() for each in subtasks]
        for each in subtasks:
            each.harness.close()


def test_a_row_with_a_known_key_replaces_the_former_one() -> None:
    running = Running(join_of("inner", keys=(one_key([0]), NO_KEYS)))
    assert running.feed(0, [("+I", (1, 10)), ("+I", (1, 11))]) == []
    assert running.feed(1, [("+I", (1, 5))]) == [("+I", (1, 11, 1, 5))]


def test_a_row_with_another_key_of_its_own_stays() -> None:
    running = Running(join_of("inner", keys=(one_key([1]), NO_KEYS)))
    assert running.feed(0, [("+I", (1, 10)), ("+I", (1, 11)), ("+I", (1, 10))]) == []
    assert sorted(running.feed(1, [("+I", (1, 5))])) == [("+I", (1, 10, 1, 5)), ("+I", (1, 11, 1, 5))]


def test_rows_expire(backend: BackendChoice) -> None:
    running = Running(join_of("left", left_ttl_ms=1000, right_ttl_ms=5000), backend=backend)
    clock = running.harness.clock
    running.feed(0, [("+I", (1, 10))])
    clock.set(999)
    assert running.feed(1, [("+I", (1, 5))]) == [("-D", (1, 10, None, None)), ("+I", (1, 10, 1, 5))]
    # The match was written to the row of the left side, which so lives on.
    clock.set(1998)
    assert running.feed(1, [("+I", (1, 6))]) == [("+I", (1, 10, 1, 6))]
    clock.set(2998)
    assert running.feed(1, [("+I", (1, 7))]) == []
    running.harness.operator.end_epoch()
    if backend.name == "hashmap":
        assert [len(each) for each in running.harness.operator._sides] == [0, 3]
    restored = Running(
        join_of("left", left_ttl_ms=1000, right_ttl_ms=5000),
        backend=backend,
        restored=[running.harness.snapshot()],
        clock=clock,
    )
    assert len(restored.feed(0, [("+I", (1, 11))])) == 3
    clock.set(7998)
    assert restored.feed(0, [("+I", (1, 11))]) == [("+I", (1, 11, None, None))]
    restored.harness.close()
    running.harness.close()


def test_rows_that_are_gone_take_no_room() -> None:
    running = Running(join_of("full"))
    for number in range(40):
        rows = [(key, number) for key in range(500)]
        running.feed(0, [("+I", row) for row in rows])
        running.feed(0, [("-D", row) for row in rows])
        running.harness.operator.end_epoch()
    left = running.harness.operator._sides[0]
    assert len(left) == 0 and left.gone <= 4096


def test_a_hot_key_is_found_without_a_walk() -> None:
    """Rows of one key that are taken back are found by their hash: each costs as much as any other."""
    running = Running(join_of("inner"))
    rows = [(1, number) for number in range(5000)]
    running.feed(0, [("+I", row) for row in rows])
    running.feed(0, [("-D", row) for row in reversed(rows[1:])])
    assert running.feed(1, [("+I", (1, 5))]) == [("+I", (1, 0, 1, 5))]


def test_inserts_alone_need_no_hashes() -> None:
    left, right = (DetachedInput(each, INSERTS, NO_KEYS) for each in (LEFT, RIGHT))
    join = Join(columns_of_join(LEFT, RIGHT, "inner"), left, right, (0,), (0,), "inner", None)
    running = Running(join)
    running.feed(0, [("+I", (1, 2))])
    assert len(running.harness.operator._sides[0]._hashes) == 0
    assert running.feed(1, [("+I", (1, 3)), ("+I", (2, 3))]) == [("+I", (1, 2, 1, 3))]


def test_files_of_a_backend_come_back() -> None:
    first = Running(join_of("full"), backend=choice_of("rocksdb"))
    rows = [("+I", (key, key % 3)) for key in range(50)]
    first.feed(0, rows)
    first.harness.operator.prepare_snapshot(1)
    first.feed(0, [("-D", (7, 1)), ("+I", (60, 1))])
    first.harness.operator.prepare_snapshot(2)
    assert first.harness.operator.native_files()
    folder = first.harness.operator._rows._backend._latest.folder
    second = Running(
        join_of("full"),
        backend=choice_of("rocksdb"),
        before_open=lambda operator: operator.restore_native([folder], range(128)),
    )
    assert second.feed(1, [("+I", (60, 5)), ("+I", (7, 5)), ("-D", (7, 5))]) == [
        ("-D", (60, 1, None, None)),
        ("+I", (60, 1, 60, 5)),
        ("+I", (None, None, 7, 5)),
        ("-D", (None, None, 7, 5)),
    ]
    assert second.harness.operator.metrics()["numRowsInMemoryOfInput0"] == 1
    for each in (first, second):
        each.harness.close()


def test_rows_that_were_not_asked_for_are_added_to() -> None:
    """Rows of an input without retractions need not be read to get more: they come together when they are."""
    left, right = (DetachedInput(each, INSERTS, NO_KEYS) for each in (LEFT, RIGHT))
    join = Join(columns_of_join(LEFT, RIGHT, "inner"), left, right, (0,), (0,), "inner", None)
    running = Running(join, backend=choice_of("rocksdb"))
    for number in range(4):
        running.feed(0, [("+I", (1, number))])
        snapshot = running.harness.snapshot()
        running.harness.close()
        running = Running(join, backend=choice_of("rocksdb"), restored=[snapshot])
    assert running.feed(1, [("+I", (1, 9))]) == [("+I", (1, number, 1, 9)) for number in range(4)]
    running.harness.close()


KEYS: dict[str, list[Any]] = {
    "STRING": ["", "a", "bé"],
    "BIGINT": [-1, 0, 1 << 40],
    "DECIMAL(10, 2)": [Decimal("1.50"), Decimal("-7.00")],
    "DOUBLE": [0.0, 1.5, -2.25],
    "TIMESTAMP(3)": [datetime(2020, 1, 1), datetime(1960, 1, 1)],
    "DATE": [date(2020, 1, 1), date(1960, 1, 1)],
    "BOOLEAN": [True, False],
    "BYTES": [b"", b"ab"],
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_any_type_are_found_again(kind: str, backend: BackendChoice) -> None:
    """Also where several keys share a place in the database."""
    columns = (Column("k", from_sql_text(kind)), Column("x", from_sql_text("BIGINT")))
    left, right = (DetachedInput(columns, ALL_KINDS, NO_KEYS) for _ in range(2))
    join = Join(columns_of_join(columns, columns, "full"), left, right, (0,), (0,), "full", None)
    snapshot: list[bytes] = []
    for number, key in enumerate(KEYS[kind]):
        running = Running(join, backend=backend, restored=snapshot)
        running.feed_rows(0, [("+I", (key, number)), ("+I", (None, number))], columns)
        snapshot = [running.harness.snapshot()]
        running.harness.close()
    running = Running(join, backend=backend, restored=snapshot)
    for number, key in enumerate(KEYS[kind]):
        assert running.feed_rows(1, [("+I", (key, 9))], columns) == [
            ("-D", (key, number, None, None)),
            ("+I", (key, number, key, 9)),
        ]
    running.harness.close()
