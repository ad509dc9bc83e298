"""Runs SQL cases without Spark: on both state backends, with several batch cuts, parallelisms and modes."""

from __future__ import annotations

import datetime
import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any
from unittest.mock import patch

from funke.datastream import StreamExecutionEnvironment
from funke.engine.config.option_values import parse_duration
from funke.engine.errors import FunkeError
from funke.engine.flink_exceptions import JavaException
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.external_text import external_text
from funke.engine.sql.functions.values import to_values
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.driver_messages import CollectedRecords
from funke.engine.types.logical import atomic_types, time_types
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.row import RowKind
from funke.table import EnvironmentSettings, TableEnvironment
from tests.harness.backends import choice_of
from tests.harness.case_connector import PREFIX, columns_of_tables, rows_of_lookups
from tests.harness.case_files import Case, Step, cells_of
from tests.harness.graph_text import graph_lines
from tests.harness.local_graph import LocalJob
from tests.harness.sql_changelogs import batch_of

__all__ = ["Difference", "batches_in", "check", "graph_of", "graph_started_by", "outcome_of"]

_SIGNS = {kind.value: str(kind) for kind in RowKind}
_SET = re.compile(r"^SET\s+'(?P<key>[^']+)'\s*=\s*'(?P<value>[^']*)'\s*;?$", re.IGNORECASE)
_INSERT = re.compile(r"^\s*INSERT\s+INTO\s+(?P<table>[\w`.]+)", re.IGNORECASE)
EVERYTHING = 1 << 30


class Difference(AssertionError):
    """A case that gives something else than its file says; the text shows the query, the run and the lines."""


@dataclass(frozen=True)
class Run:
    """One way to run a query: what comes out must not depend on it."""

    parallelism: int = 1
    rows_per_batch: int = 1
    backend: str = "hashmap"
    is_batch: bool = False
    # Stops in the middle of the input with a checkpoint, and goes on from it.
    is_restarted: bool = False

    def __str__(self) -> str:
        rows = "all rows in one batch" if self.rows_per_batch == EVERYTHING else f"{self.rows_per_batch} rows per batch"
        mode = "batch mode" if self.is_batch else "streaming mode"
        restart = ", restarted in the middle" if self.is_restarted else ""
        return f"{mode}, parallelism {self.parallelism}, {rows}, state backend {self.backend}{restart}"


FIRST = Run()
_OTHERS = (
    Run(rows_per_batch=2, backend="rocksdb-without-cache"),
    Run(rows_per_batch=EVERYTHING),
    Run(is_restarted=True),
    Run(2, 1, "rocksdb"),
    Run(2, EVERYTHING),
)
_BATCHES = (Run(is_batch=True, rows_per_batch=2), Run(2, EVERYTHING, is_batch=True))


class _Submitted(BaseException):
    """In place of a job's start; no caller takes it for an error."""

    def __init__(self, graph: StreamGraph) -> None:
        self.graph = graph


@contextmanager
def _no_jobs() -> Iterator[None]:
    def submit(env: StreamExecutionEnvironment, graph: StreamGraph) -> None:
        raise _Submitted(graph)

    with patch.object(StreamExecutionEnvironment, "_submit", submit):
        yield


def graph_of(t_env: TableEnvironment, text: str) -> StreamGraph:
    """The job that a statement would start."""
    return graph_started_by(lambda: t_env.execute_sql(text))


def graph_started_by(call: Callable[[], Any]) -> StreamGraph:
    """The job that a call would start."""
    with _no_jobs():
        try:
            call()
        except _Submitted as submitted:
            return submitted.graph
    raise ValueError("nothing starts a job")


class _Session:
    """A table environment in which the statements of a file have been executed."""

    def __init__(self, statements: Sequence[str], parallelism: int, is_batch: bool) -> None:
        settings = EnvironmentSettings.in_batch_mode() if is_batch else EnvironmentSettings.in_streaming_mode()
        self.t_env = TableEnvironment.create(settings)
        config = self.t_env.get_config()
        config.set("parallelism.default", str(parallelism))
        # What Spark computes needs Spark; `tests/spark` compares it with slots.
        config.set("funke.table.batch-plan", "slots")
        for text in statements:
            self.execute(text)

    def execute(self, text: str) -> None:
        setting = _SET.match(text.strip())
        if setting is not None:
            self.t_env.get_config().set(setting["key"], setting["value"])
        else:
            self.t_env.execute_sql(text)

    def graph_of(self, text: str) -> StreamGraph:
        return graph_of(self.t_env, text)

    def types_of(self, text: str) -> tuple[list[str], list[DataType]]:
        """The columns of a query's rows, or of the table that they are written to."""
        insert = _INSERT.match(text)
        table = self.t_env.sql_query(text) if insert is None else self.t_env.from_path(insert["table"])
        schema = table.get_schema()
        return schema.get_field_names(), schema.get_field_data_types()


# Planning changes nothing in a session: the plans of a file share it.
@lru_cache(maxsize=2)
def _planning_session(statements: tuple[str, ...], is_batch: bool) -> _Session:
    return _Session(statements, 2, is_batch)


def outcome_of(case: Case) -> list[str]:
    """What a case gives in its first run: the lines behind its ----."""
    if case.is_error:
        return _error_of(case)
    if case.kind == "plan":
        return graph_lines(_planning_session(case.statements, case.has_batch).graph_of(case.record.body))
    _, changes = _changes(case, FIRST)
    return _folded(changes) if case.order == "final" else changes


def check(case: Case) -> None:
    """Difference if a case gives something else than its file says, in any run."""
    expected = case.record.expected
    if case.is_error:
        (text,), expected_values = _error_of(case), "\n".join(expected)
        if not expected_values or expected_values not in text:
            raise Difference(_text(case, "the error", expected, text.split("\n")))
        return
    if case.kind == "plan":
        if (lines := outcome_of(case)) != expected:
            raise Difference(_text(case, "the plan", expected, lines))
        return
    for run in (FIRST, *(() if case.is_row_by_row else _OTHERS), *(_BATCHES if case.has_batch else ())):
        names, changes = _changes(case, run)
        if run.is_batch and not all(each.startswith("+I") for each in changes):
            raise Difference(_text(case, f"{run}: not all are inserts", expected, changes))
        comparable = _comparable(case, run, names)
        if comparable(changes) != comparable(expected):
            raise Difference(_text(case, str(run), comparable(expected), comparable(changes)))


def _text(case: Case, run: str, expected: Sequence[str], lines: Sequence[str]) -> str:
    difference = difflib.unified_diff(expected, lines, "expected", "actual", lineterm="", n=3)
    return "\n".join([f"{case.path}:{case.record.number}, {run}", "", case.record.body, "", *difference])


def _error_of(case: Case) -> list[str]:
    session = _Session(case.statements, 1, case.has_batch)
    try:
        session.graph_of(case.record.body) if case.kind == "query" else session.execute(case.record.body)
    except (FunkeError, JavaException) as error:
        # Empty lines would end the record.
        return ["\n".join(line for line in str(error).split("\n") if line.strip() and "in your job:" not in line)]
    return ["no error"]


def _comparable(case: Case, run: Run, names: list[str]) -> Callable[[Sequence[str]], list[str]]:
    if case.order == "final" or run.is_batch:
        return _folded
    if case.order == "by":
        indexes = [names.index(key) for key in case.keys]
        return partial(_by_key, indexes=indexes)
    return sorted if case.order == "unordered" or run.parallelism > 1 else list


def _folded(changes: Sequence[str]) -> list[str]:
    """The rows that are there after all changes."""
    rows: list[str] = []
    for change in changes:
        if change[0] == "+":
            rows.append(f"+I{change[2:]}")
        else:
            assert f"+I{change[2:]}" in rows, f"{change} takes back a row that is not there"
            rows.remove(f"+I{change[2:]}")
    return sorted(rows)


def _by_key(changes: Sequence[str], indexes: Sequence[int]) -> list[str]:
    def key(change: str) -> list[str]:
        cells = list(cells_of(change[3:-1]))
        return [cells[index] for index in indexes]

    return sorted(changes, key=key)


@dataclass(frozen=True)
class _Job:
    """What a query becomes, and the columns of its changes."""

    graph: StreamGraph
    names: list[str]
    types: list[DataType]
    # The physical columns of the tables that it reads.
    tables: dict[str, tuple[Column, ...]]


# The runs of a case with the same parallelism share it.
@lru_cache(maxsize=4)
def _job(case: Case, parallelism: int, is_batch: bool) -> _Job:
    columns_of_tables.clear()
    session = _Session(case.statements, parallelism, is_batch)
    graph = session.graph_of(case.record.body)
    return _Job(graph, *session.types_of(case.record.body), dict(columns_of_tables))


def _changes(case: Case, run: Run) -> tuple[list[str], list[str]]:
    job = _job(case, run.parallelism, run.is_batch)
    writers = [external_text(each) for each in job.types]
    lines: list[str] = []
    for batch in batches_in(_collected(case, run, job)):
        values = [to_values(column, each) for column, each in zip(batch.data.columns, job.types)]
        columns = [list(map(write, each)) for write, each in zip(writers, values)]
        kinds = [0] * len(batch) if batch.kinds is None else batch.kinds.tolist()
        lines += [f"{_SIGNS[kind]}[{', '.join(row)}]" for kind, row in zip(kinds, zip(*columns))]
    return job.names, lines


def _collected(case: Case, run: Run, job: _Job) -> list[Any]:
    rows_of_lookups.clear()
    clock, backend = ManualClock(), choice_of(run.backend)
    running = LocalJob(job.graph, backend, clock)
    running.read_sources({*_fed(job.graph)})
    groups = list(_groups(case.steps, run.rows_per_batch))
    collected: list[Any] = []
    for number, steps in enumerate(groups):
        if run.is_restarted and number == len(groups) // 2:
            state = running.snapshot()
            running.close()
            collected += running.collected
            running = LocalJob(job.graph, backend, clock, state)
        _feed(running, clock, steps, job.tables)
    if Step() not in case.steps:
        running.end()
    running.close()
    return collected + running.collected


def _fed(graph: StreamGraph) -> Iterator[str]:
    return (node.name for node in graph.nodes.values() if node.name.startswith(PREFIX))


def _groups(steps: Sequence[Step], size: int) -> Iterator[list[Step]]:
    """Rows of one table that follow each other, some at a time."""
    group: list[Step] = []
    for step in steps:
        if group and (len(group) == size or not step.table or step.table != group[0].table):
            yield group
            group = []
        group.append(step)
    if group:
        yield group


def _feed(job: LocalJob, clock: ManualClock, steps: list[Step], tables: Mapping[str, Sequence[Column]]) -> None:
    first = steps[0]
    if first.clock:
        job.advance(clock.now_ms() + parse_duration(first.clock).to_millis())
    if not first.table:
        return
    columns = tables.get(first.table)
    if columns is None:
        return  # the query does not read it
    changes = [(step.sign, _row(step, columns)) for step in steps]
    # Rows of tables that are looked up only come.
    rows_of_lookups.setdefault(first.table, []).extend(row for _, row in changes)
    job.feed(f"{PREFIX}{first.table} Source", batch_of(changes, columns))


def _row(step: Step, columns: Sequence[Column]) -> tuple[Any, ...]:
    return tuple(_value(cell, each.type) for cell, each in zip(step.cells, columns, strict=True))


def _value(cell: str, data_type: DataType) -> Any:
    """A cell as a value of its column's type."""
    if cell == "null":
        return None
    for kinds, convert in _VALUES.items():
        if isinstance(data_type, kinds):
            return convert(cell)
    return json.loads(cell)


def _plain_text(cell: str) -> str:
    return cell[1:-1] if cell[:1] == cell[-1:] == "'" else cell


_VALUES: dict[Any, Callable[[str], Any]] = {
    (atomic_types.TinyIntType, atomic_types.SmallIntType, atomic_types.IntType, atomic_types.BigIntType): int,
    (atomic_types.FloatType, atomic_types.DoubleType): float,
    atomic_types.DecimalType: Decimal,
    atomic_types.BooleanType: lambda cell: cell == "true",
    (atomic_types.CharType, atomic_types.VarCharType): _plain_text,
    time_types.DateType: datetime.date.fromisoformat,
    time_types.TimeType: datetime.time.fromisoformat,
    time_types.TimestampType: datetime.datetime.fromisoformat,
    time_types.LocalZonedTimestampType: lambda cell: datetime.datetime.fromisoformat(cell.replace("Z", "+00:00")),
}


def batches_in(collected: Sequence[Any]) -> Iterator[ColumnBatch]:
    """The rows among what a job has sent to the driver."""
    for each in collected:
        if isinstance(each, CollectedRecords):
            yield from each.values
        elif isinstance(each, ColumnBatch):
            yield each
