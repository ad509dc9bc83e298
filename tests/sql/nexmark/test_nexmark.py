"""Nexmark's queries over one file of events: what changes leave, and what batches give, is what DuckDB answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.auction_events import auction_files, side_input
from benchmarks.programs.nexmark_queries import EVENTS, QUERIES, SIDE_INPUT, VIEWS
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.functions.values import to_values
from funke.table import EnvironmentSettings, TableEnvironment
from tests.harness.backends import choice_of
from tests.harness.case_runs import batches_in, graph_of
from tests.harness.local_graph import LocalJob
from tests.harness.sql_changelogs import Change, folded
from tests.sql.nexmark.duckdb_answers import Answers

# Some windows, and no two events at the same time: whichever of two comes first would be nobody's to say.
EVENT_COUNT, EVENTS_PER_SECOND = 3000, 100
STREAMS = [f"q{number}" for number in range(24)]
# Processing time is no matter of batches.
BATCHES = [each for each in STREAMS if each not in ("q12", "q13")]
# Columns that depend on the clock of the machine.
KEPT_COLUMNS = {"q12": 2}


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return auction_files(tmp_path_factory.mktemp("nexmark"), EVENT_COUNT, 1, EVENTS_PER_SECOND)


@pytest.fixture(scope="module")
def answers(events: Path) -> Answers:
    return Answers(events)


def changes_of(query: str, events: Path, settings: EnvironmentSettings, parallelism: int, backend: str) -> list[Change]:
    t_env = TableEnvironment.create(settings)
    t_env.get_config().set("parallelism.default", str(parallelism))
    t_env.get_config().set("funke.table.batch-plan", "slots")
    t_env.execute_sql(EVENTS.format(path=events))
    t_env.execute_sql(SIDE_INPUT.format(path=side_input(events.parent)))
    for view in VIEWS.values():
        t_env.execute_sql(view)
    _, text = QUERIES[query]
    types = t_env.sql_query(text).get_schema().get_field_data_types()
    job = LocalJob(graph_of(t_env, text), choice_of(backend), ManualClock())
    job.read_sources(())
    # Windows by the clock end.
    job.advance(60_000)
    job.end()
    job.close()
    return list(_changes(job.collected, types))


def _changes(collected: list[Any], types: list[Any]) -> Iterator[Change]:
    for batch in batches_in(collected):
        rows = zip(*(to_values(column, each) for column, each in zip(batch.data.columns, types)))
        kinds = [0] * len(batch) if batch.kinds is None else batch.kinds.tolist()
        yield from zip((("+I", "-U", "+U", "-D")[kind] for kind in kinds), rows)


def in_order(rows: list[tuple[Any, ...]], query: str) -> list[tuple[Any, ...]]:
    return sorted((row[: KEPT_COLUMNS.get(query)] for row in rows), key=repr)


@pytest.mark.parametrize("query", STREAMS)
def test_streams_come_to_what_a_database_answers(query: str, events: Path, answers: Answers) -> None:
    expected = in_order(answers.rows(query), query)
    assert expected
    settings = EnvironmentSettings.in_streaming_mode()
    for parallelism, backend in ((1, "hashmap"), (2, "rocksdb")):
        changes = changes_of(query, events, settings, parallelism, backend)
        assert in_order(folded(changes), query) == expected


@pytest.mark.parametrize("query", BATCHES)
def test_batches_give_what_a_database_answers(query: str, events: Path, answers: Answers) -> None:
    changes = changes_of(query, events, EnvironmentSettings.in_batch_mode(), 2, "hashmap")
    assert {sign for sign, _ in changes} == {"+I"}
    assert in_order([row for _, row in changes], query) == in_order(answers.rows(query), query)
