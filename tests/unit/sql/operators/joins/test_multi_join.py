"""Chains of joins as one operator leave what joins of two inputs leave, and keep only the rows of their inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Column, Scan, inputs_of
from funke.engine.sql.operators.joins import pair_condition
from funke.engine.sql.parsing import parse
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS
from funke.engine.sql.plan.changelogs.upsert_keys import one_key
from funke.engine.sql.plan.joins.multi_join import MultiJoin
from funke.engine.sql.plan.node import PlanNode
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.sql.syntax.statements import QueryStatement
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.backends import choice_of
from tests.harness.join_state import JOIN_BACKENDS, join_backend, subtask_of
from tests.harness.kernel_forms import use_form
from tests.harness.operator_harness import OperatorHarness
from tests.harness.sql_changelogs import Change, batch_of, changes_of

TABLES = ("a", "b", "c", "d")
COLUMNS = (Column("k", from_sql_text("INT")), Column("x", from_sql_text("BIGINT")))
Row = tuple[Any, ...]
# A change, and the number of the table that it is of.
Step = tuple[int, Change]


@dataclass(frozen=True)
class Level:
    """How a table joins those before it."""

    is_left: bool
    # The table whose key its key is equal to, and a table whose x is compared with its own.
    source: int
    compared: int | None = None
    sign: str = "<"

    def text(self, number: int) -> str:
        own = TABLES[number]
        more = "" if self.compared is None else f" AND {TABLES[self.compared]}.x {self.sign} {own}.x"
        return f"{'LEFT ' if self.is_left else ''}JOIN {own} ON {TABLES[self.source]}.k = {own}.k{more}"

    def is_match(self, rows: Sequence[Row | None], row: Row) -> bool:
        key = rows[self.source]
        if key is None or key[0] is None or key[0] != row[0]:
            return False
        other = None if self.compared is None else rows[self.compared]
        if self.compared is None:
            return True
        if other is None or other[1] is None or row[1] is None:
            return False
        return bool(other[1] < row[1] if self.sign == "<" else other[1] == row[1])


Levels = tuple[Level, ...]
INNER = (Level(False, 0), Level(False, 0))
LEFT = (Level(True, 0), Level(True, 0))


@st.composite
def chains(draw: st.DrawFn) -> Levels:
    count = draw(st.integers(2, 3))
    levels = []
    for number in range(1, count + 1):
        before = st.integers(0, number - 1)
        level = Level(draw(st.booleans()), draw(before), draw(st.none() | before), draw(st.sampled_from("<=")))
        levels.append(level)
    return tuple(levels)


def batch_result(levels: Levels, tables: Sequence[Sequence[Row]]) -> Counter[Row]:
    """What the joins of whole tables have."""
    joined: list[list[Row | None]] = [[row] for row in tables[0]]
    for level, table in zip(levels, tables[1:]):
        following: list[list[Row | None]] = []
        for rows in joined:
            matches: list[Row | None] = [row for row in table if level.is_match(rows, row)]
            following += [[*rows, each] for each in matches or ([None] if level.is_left else [])]
        joined = following
    return Counter(tuple(value for row in rows for value in (row or (None, None))) for rows in joined)


@cache
def plan_of(levels: Levels, is_enabled: bool) -> PlanNode:
    names = TABLES[: len(levels) + 1]
    joins = " ".join(level.text(number) for number, level in enumerate(levels, 1))
    return planned(f"SELECT {', '.join(f'{each}.*' for each in names)} FROM a {joins}", is_enabled)


def planned(text: str, is_enabled: bool = True) -> PlanNode:
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    scans = {(name,): Scan(COLUMNS, None, (name,), ALL_KINDS) for name in TABLES}
    options = {"table.optimizer.multi-join.enabled": str(is_enabled).lower()}
    session: Any = SimpleNamespace(is_streaming=True, settings=options)
    return planned_rows(session, QueryBinder(scans.get).bind(statement.query))


def nodes_of(node: Any, kind: type[PlanNode] = MultiJoin) -> Iterator[Any]:
    if isinstance(node, kind):
        yield node
    for each in inputs_of(node):
        yield from nodes_of(each, kind)


def chain_of(levels: Levels, **fields: Any) -> MultiJoin:
    (node,) = nodes_of(plan_of(levels, is_enabled=True))
    return replace(node, **fields)


class RunningPlan:
    """All operators of a plan, whose tables get batches one at a time."""

    def __init__(self, plan: PlanNode) -> None:
        self.plan = plan
        self.harnesses: dict[int, OperatorHarness] = {}

    def feed(self, table: int, changes: Sequence[Change]) -> list[Change]:
        batches = self._batches(self.plan, TABLES[table], changes)
        return [change for batch in batches for change in changes_of(batch, self.plan)]

    def _batches(self, node: Any, table: str, changes: Sequence[Change]) -> list[Any]:
        if isinstance(node, Scan):
            return [batch_of(changes, COLUMNS)] if node.path == (table,) else []
        if id(node) not in self.harnesses:
            self.harnesses[id(node)] = OperatorHarness(ColumnOperator(node.detached().create), keeps_columns=True)
        harness = self.harnesses[id(node)]
        for index, each in enumerate(inputs_of(node)):
            for batch in self._batches(each, table, changes):
                harness.operator.columns_handler(index)(batch)
        return harness.elements()

    def kept_rows(self) -> int:
        """How many rows all operators keep."""
        sides = [side for each in self.harnesses.values() for side in getattr(each.operator, "_sides", ())]
        return sum(map(len, sides))


class RunningNode:
    """One subtask of a chain."""

    def __init__(self, node: MultiJoin, **harness: Any) -> None:
        self.node = node
        self.harness = OperatorHarness(ColumnOperator(node.detached().create), keeps_columns=True, **harness)

    def feed(self, table: int, changes: Sequence[Change]) -> list[Change]:
        self.harness.operator.columns_handler(table)(batch_of(changes, COLUMNS))
        return [change for batch in self.harness.elements() for change in changes_of(batch, self.node)]


class Tables:
    """The rows that tables have, as changes come."""

    def __init__(self, count: int) -> None:
        self.rows: list[list[Row]] = [[] for _ in range(count)]

    def take(self, table: int, changes: Sequence[Change]) -> None:
        for sign, row in changes:
            (self.rows[table].append if sign[0] == "+" else self.rows[table].remove)(row)

    @property
    def count(self) -> int:
        """Rows with a key: the others have no match, and are not kept."""
        return sum(row[0] is not None for each in self.rows for row in each)


def fold(result: Counter[Row], changes: Sequence[Change]) -> None:
    """What changes leave; a row that is not there is never taken back."""
    for sign, row in changes:
        result[row] += 1 if sign[0] == "+" else -1
        assert result[row] >= 0, (sign, row)
        if not result[row]:
            del result[row]


FEW_ROWS = st.tuples(st.none() | st.integers(0, 2), st.none() | st.integers(0, 3))


@st.composite
def batches(draw: st.DrawFn, count: int = 4, row: st.SearchStrategy[Row] = FEW_ROWS) -> list[tuple[int, list[Change]]]:
    """Batches of rows that come, and go again."""
    there: list[list[Row]] = [[] for _ in range(count)]
    result: list[tuple[int, list[Change]]] = []
    every = st.lists(st.tuples(st.integers(0, count - 1), st.integers(1, 6)), max_size=12)
    for table, size in draw(every):
        changes: list[Change] = []
        for _ in range(size):
            own = there[table]
            if own and draw(st.integers(0, 2)) == 0:
                changes.append((draw(st.sampled_from(["-U", "-D"])), own.pop(draw(st.integers(0, len(own) - 1)))))
            else:
                own.append(draw(row))
                changes.append((draw(st.sampled_from(["+I", "+U"])), own[-1]))
        result.append((table, changes))
    return result


@pytest.fixture(params=JOIN_BACKENDS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> BackendChoice:
    return join_backend(request.param, monkeypatch)


@pytest.mark.parametrize(("form", "most_pairs"), [("compiled", 1 << 17), ("plain", 3)])
@settings(max_examples=150)
@given(levels=chains(), changes=batches())
def test_what_comes_out_is_what_joins_of_two_inputs_and_whole_tables_have(
    form: str, most_pairs: int, levels: Levels, changes: list[tuple[int, list[Change]]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        patch.setattr(pair_condition, "MOST_PAIRS", most_pairs)
        together, apart = (RunningPlan(plan_of(levels, is_enabled)) for is_enabled in (True, False))
        tables, results = Tables(len(levels) + 1), (Counter[Row](), Counter[Row]())
        for table, batch in changes:
            if table > len(levels):
                continue
            tables.take(table, batch)
            for running, result in zip((together, apart), results):
                fold(result, running.feed(table, batch))
            assert results[0] == results[1] == batch_result(levels, tables.rows)
        assert together.kept_rows() <= tables.count


ROWS_BY_KEY = st.tuples(st.none() | st.integers(0, 12), st.none() | st.integers(0, 3))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(levels=chains(), changes=batches(row=ROWS_BY_KEY))
def test_rows_in_a_backend_are_those_in_memory(
    levels: Levels, backend: BackendChoice, changes: list[tuple[int, list[Change]]]
) -> None:
    running, memory = RunningNode(chain_of(levels), backend=backend), RunningNode(chain_of(levels))
    for number, (table, batch) in enumerate(changes):
        if table <= len(levels):
            assert sorted(running.feed(table, batch), key=repr) == sorted(memory.feed(table, batch), key=repr)
        if number % 3 == 2:
            running.harness.snapshot()
    running.harness.close()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(levels=chains(), changes=batches(row=ROWS_BY_KEY), point=st.integers(1, 4))
def test_a_restored_chain_goes_on(
    levels: Levels, backend: BackendChoice, changes: list[tuple[int, list[Change]]], point: int
) -> None:
    """With another backend, and with other numbers of subtasks."""
    other = choice_of("rocksdb" if backend.name == "hashmap" else "hashmap")
    plans = [(1, backend), (2, backend), (5, other), (1, backend), (3, backend)]
    changes = [each for each in changes if each[0] <= len(levels)]
    tables, result = Tables(len(levels) + 1), Counter[Row]()
    snapshots: list[bytes] = []
    for number, (parallelism, choice) in enumerate(plans):
        subtasks = [
            RunningNode(chain_of(levels), restored=snapshots, backend=choice, parallelism=parallelism, subtask=subtask)
            for subtask in range(parallelism)
        ]
        end = None if number == len(plans) - 1 else (number + 1) * point
        for table, batch in changes[number * point : end]:
            tables.take(table, batch)
            for subtask, running in enumerate(subtasks):
                fold(
                    result,
                    running.feed(table, [each for each in batch if subtask_of(each[1][0], parallelism) == subtask]),
                )
            assert result == batch_result(levels, tables.rows)
        snapshots = [each.harness.snapshot() for each in subtasks]
        for each in subtasks:
            each.harness.close()


def test_nothing_is_kept_between_the_joins() -> None:
    """Ten rows of each table with one key are 1110 rows in the state of joins of two inputs."""
    running = [RunningPlan(plan_of((*INNER, Level(False, 0)), is_enabled)) for is_enabled in (True, False)]
    for table in range(4):
        for each in running:
            each.feed(table, [("+I", (1, number)) for number in range(10)])
    assert [each.kept_rows() for each in running] == [40, 1140]


def test_a_match_has_the_kind_of_the_row_that_came() -> None:
    running = RunningNode(chain_of(LEFT))
    assert running.feed(0, [("+I", (1, 10))]) == [("+I", (1, 10, None, None, None, None))]
    assert running.feed(2, [("+U", (1, 30))]) == [
        ("-D", (1, 10, None, None, None, None)),
        ("+U", (1, 10, None, None, 1, 30)),
    ]
    assert running.feed(1, [("+I", (1, 20)), ("+I", (1, 21)), ("-U", (1, 20)), ("-D", (1, 21))]) == [
        ("-D", (1, 10, None, None, 1, 30)),
        ("+I", (1, 10, 1, 20, 1, 30)),
        ("+I", (1, 10, 1, 21, 1, 30)),
        ("-U", (1, 10, 1, 20, 1, 30)),
        ("-D", (1, 10, 1, 21, 1, 30)),
        ("+I", (1, 10, None, None, 1, 30)),
    ]


def test_a_row_with_a_known_key_replaces_the_former_one(backend: BackendChoice) -> None:
    chain = chain_of(INNER)
    first, *others = chain.detached().sources
    node = replace(chain, sources=(replace(first, keys=one_key([0])), *others))
    running = RunningNode(node, backend=backend)
    assert running.feed(0, [("+I", (1, 10)), ("+U", (1, 11))]) == []
    running.feed(1, [("+I", (1, 20))])
    assert running.feed(2, [("+I", (1, 30))]) == [("+I", (1, 11, 1, 20, 1, 30))]
    running.harness.close()


def test_rows_of_each_input_expire_by_themselves(backend: BackendChoice) -> None:
    clock = ManualClock(10_000)
    node = chain_of(INNER, ttls_ms=(1000, 0, 5000))
    running = RunningNode(node, backend=backend, clock=clock)
    running.feed(0, [("+I", (1, 10))])
    running.feed(1, [("+I", (1, 20))])
    clock.set(10_999)
    assert running.feed(2, [("+I", (1, 30))]) == [("+I", (1, 10, 1, 20, 1, 30))]
    # A match is not written anywhere, so that nothing lives longer by it.
    clock.set(11_000)
    assert running.feed(2, [("+I", (1, 31))]) == []
    running.harness.operator.end_epoch()
    if backend.name == "hashmap":
        assert [len(each) for each in running.harness.operator._sides] == [0, 1, 2]
    restored = RunningNode(node, backend=backend, restored=[running.harness.snapshot()], clock=clock)
    assert len(restored.feed(0, [("+I", (1, 11))])) == 2
    clock.set(15_999)
    assert restored.feed(0, [("+I", (1, 12))]) == [("+I", (1, 12, 1, 20, 1, 31))]
    for each in (running, restored):
        each.harness.close()


def test_matches_that_have_expired_do_not_count() -> None:
    """As in Flink: nothing is sent when a row expires, and the next match takes back a row with NULLs."""
    clock = ManualClock(10_000)
    running = RunningNode(chain_of(LEFT, ttls_ms=(0, 1000, 0)), clock=clock)
    running.feed(0, [("+I", (1, 10))])
    running.feed(1, [("+I", (1, 20))])
    clock.set(11_000)
    assert running.feed(1, [("+I", (1, 21))]) == [
        ("-D", (1, 10, None, None, None, None)),
        ("+I", (1, 10, 1, 21, None, None)),
    ]


def test_files_of_a_backend_come_back() -> None:
    first = RunningNode(chain_of(LEFT), backend=choice_of("rocksdb"))
    for table in range(3):
        first.feed(table, [("+I", (key, table)) for key in range(50)])
        first.harness.operator.prepare_snapshot(table + 1)
    assert first.harness.operator.native_files()
    folder = first.harness.operator._rows._backend._latest.folder
    second = RunningNode(
        chain_of(LEFT),
        backend=choice_of("rocksdb"),
        before_open=lambda operator: operator.restore_native([folder], range(128)),
    )
    assert second.feed(1, [("-D", (7, 1))]) == [("-D", (7, 0, 7, 1, 7, 2)), ("+I", (7, 0, None, None, 7, 2))]
    assert second.harness.operator.metrics()["numRowsInMemoryOfInput0"] == 1
    for each in (first, second):
        each.harness.close()


A_B = "SELECT a.k, a.x, b.x AS y FROM a JOIN b ON a.k = b.k"
SPLIT: dict[str, tuple[str, int]] = {
    "three": ("SELECT * FROM a JOIN b ON a.k = b.k JOIN c ON b.k = c.k", 3),
    "columns of a subquery": (f"SELECT * FROM ({A_B}) t JOIN c ON t.k = c.k", 3),
    "USING": ("SELECT * FROM a JOIN b USING (k) JOIN c USING (k)", 3),
    "WHERE": ("SELECT * FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND a.x < c.x", 3),
    "a part of the key": ("SELECT * FROM a JOIN b ON a.k = b.k AND a.x = b.x JOIN c ON a.x = c.x", 3),
    "two keys": ("SELECT * FROM a JOIN b ON a.k = b.k JOIN c ON a.x = c.x", 0),
    "two tables": ("SELECT * FROM a JOIN b ON a.k = b.k", 0),
    "a computed column": (f"SELECT * FROM (SELECT k, x + y AS z FROM ({A_B})) t JOIN c ON t.k = c.k", 0),
    "chance": ("SELECT * FROM a JOIN b ON a.k = b.k JOIN c ON a.k = c.k AND b.x < c.x * RAND()", 0),
    "RIGHT": ("SELECT * FROM a JOIN b ON a.k = b.k RIGHT JOIN c ON a.k = c.k", 0),
    "FULL": ("SELECT * FROM a JOIN b ON a.k = b.k FULL JOIN c ON a.k = c.k", 0),
    "equal NULLs": ("SELECT * FROM a JOIN b ON a.k = b.k JOIN c ON a.k IS NOT DISTINCT FROM c.k", 0),
    "the lower joins of a longer chain": (
        "SELECT * FROM a JOIN b ON a.k = b.k JOIN c ON a.k = c.k JOIN d ON c.x = d.x",
        3,
    ),
    "a time to live between": (f"SELECT /*+ STATE_TTL('t' = '1 h') */ * FROM ({A_B}) t JOIN c ON t.k = c.k", 0),
}


@pytest.mark.parametrize("name", SPLIT)
def test_which_joins_become_one(name: str) -> None:
    text, count = SPLIT[name]
    assert [len(each.sources) for each in nodes_of(planned(text))] == ([count] if count else [])
    assert not list(nodes_of(planned(text, is_enabled=False)))


@pytest.mark.parametrize(("tables", "count"), [("a, b, c", 1), ("b, c", 1), ("a, b", 0), ("c", 0)])
def test_a_hint_asks_for_it(tables: str, count: int) -> None:
    """Every join of the chain has a table that the hint names."""
    text = f"SELECT /*+ MULTI_JOIN({tables}) */ * FROM a JOIN b ON a.k = b.k JOIN c ON a.k = c.k"
    assert len(list(nodes_of(planned(text, is_enabled=False)))) == count
