"""Nexmark's queries as jobs: what they write, and what Spark computes of them, is what DuckDB answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.auction_events import auction_files
from benchmarks.programs.nexmark_queries import EVENTS, QUERIES, SINKS, VIEWS
from funke.table import EnvironmentSettings, TableEnvironment
from tests.sql.nexmark.duckdb_answers import Answers

pytestmark = pytest.mark.spark

EVENT_COUNT, EVENTS_PER_SECOND = 3000, 20


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return auction_files(tmp_path_factory.mktemp("nexmark"), EVENT_COUNT, 2, EVENTS_PER_SECOND)


def tables(events: Path, settings: EnvironmentSettings) -> TableEnvironment:
    t_env = TableEnvironment.create(settings)
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(EVENTS.format(path=events))
    for view in VIEWS.values():
        t_env.execute_sql(view)
    return t_env


def test_partitions_of_files(spark: Any, events: Path, tmp_path: Path) -> None:
    """q10: a folder for each minute, with a mark that it is complete."""
    t_env = tables(events, EnvironmentSettings.in_streaming_mode())
    columns, text = QUERIES["q10"]
    t_env.execute_sql(f"CREATE TABLE sink ({columns}) {SINKS['q10'].format(path=tmp_path)}")
    t_env.execute_sql(f"INSERT INTO sink {text}").wait()
    written = []
    for path in sorted(tmp_path.glob("dt=*/hm=*")):
        assert (path / "_SUCCESS").exists()
        day, minute = (part.partition("=")[2].replace("%3A", ":") for part in path.parts[-2:])
        lines = [line for file in path.iterdir() if file.name[0] not in "._" for line in file.read_text().splitlines()]
        assert lines
        written += [(*map(int, line.split(",")[:3]), day, minute) for line in lines]
    expected = [(*row[:3], *row[-2:]) for row in Answers(events).rows("q10")]
    assert sorted(written) == sorted(expected)


@pytest.mark.parametrize("query", ["q4", "q20", "q23"])
def test_joins_that_spark_computes(spark: Any, events: Path, query: str) -> None:
    t_env = tables(events, EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("funke.table.batch-plan", "spark")
    _, text = QUERIES[query]
    with t_env.execute_sql(text).collect() as rows:
        results = [tuple(row) for row in rows]
    assert sorted(results, key=repr) == sorted(Answers(events).rows(query), key=repr)
