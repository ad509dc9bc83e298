"""Where an ingest task stops when its epoch has taken long enough, and what the next one reads again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import pytest

from funke.engine.connectors.generator import GeneratorSource
from funke.engine.connectors.python_source import PythonSource
from funke.engine.connectors.source import Source
from funke.engine.graph.operations import ReadSource
from funke.engine.jobs.job_code import pack_plan
from funke.engine.operators import slice_pacer
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.segments import to_plan
from funke.engine.runtime import ingest
from funke.engine.runtime.block_codec import decode, encode
from funke.engine.runtime.ingest import IngestOrder, run_ingest
from funke.engine.runtime.results import Failure, IngestReport
from funke.engine.runtime.worker_setup import JobPackage
from tests.unit.graph.sample_graphs import GraphBuilder
from tests.unit.jobs.test_pacing import FakeTime

CLOCK = FakeTime()
CALLS: list[int] = []


@pytest.fixture(autouse=True)
def fake_time(monkeypatch: pytest.MonkeyPatch) -> None:
    CLOCK.now = 0.0
    CALLS.clear()
    monkeypatch.setattr(slice_pacer, "time", CLOCK)
    monkeypatch.setattr(ingest, "time", CLOCK)


def slowly(index: int) -> int:
    CLOCK.now += 0.01
    CALLS.append(index)
    return index


class SlowSource(PythonSource):
    """One split that takes ten milliseconds per record."""

    def enumerate_splits(self) -> Iterable[Any]:
        return ["all"]

    def read_split(self, split: Any) -> Iterable[Any]:
        return map(slowly, range(500))


def epochs(source: Source) -> list[int]:
    """How many records each epoch of one second reads until all 500 are."""
    builder = GraphBuilder(1)
    head = builder._add(ReadSource(source), "numbers", [])
    builder.sink(builder.map(head))
    plan = to_plan(to_job_graph(builder.graph))
    package = JobPackage(uuid4().hex, "job", 0, b"s" * 32, pack_plan(plan))
    segment = next(segment for segment in plan.segments if segment.is_ingest)
    (split,) = source.create_enumerator(1).poll(500)
    skip, carry, found = 0, None, []
    while True:
        order = IngestOrder(segment.id, 0, (split,), carry, False, (skip,), deadline_ms=1000)
        results = [decode(frame.payload) for frame in run_ingest(package, encode(order)) if frame.exchange_id == -1]
        assert not [result for result in results if isinstance(result, Failure)]
        (report,) = [result for result in results if isinstance(result, IngestReport)]
        (outcome,) = report.outcomes
        found.append(outcome.records - skip)
        if outcome.is_complete:
            return found
        skip, carry = outcome.records, report.carry


def test_a_generator_goes_on_where_it_was_without_making_anything_again() -> None:
    found = epochs(GeneratorSource(slowly, 500))
    assert sum(found) == 500 and 5 <= len(found) <= 7 and min(found[:-1]) > 80
    assert sorted(CALLS) == list(range(500))


def test_a_slow_source_that_would_begin_again_is_read_to_its_end() -> None:
    assert epochs(SlowSource()) == [500]
    assert list(range(500)) == CALLS
