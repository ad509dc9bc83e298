"""Watermark alignment: a source that runs ahead of its group pauses until the others have caught up."""

from __future__ import annotations

from funke.engine.connectors.collection import CollectionSource
from funke.engine.graph.job_graph import ChainedOperator, JobVertex
from funke.engine.graph.operations import ReadSource
from funke.engine.jobs.sources.job_sources import JobSources
from funke.engine.jobs.sources.source_coordinator import SourceCoordinator
from funke.engine.types.watermark_spec import WatermarkSpec

ALIGNED = WatermarkSpec("monotonous", alignment_group="orders", alignment_drift_ms=1000)


def coordinator(number: int, watermark: int, spec: WatermarkSpec | None = ALIGNED) -> SourceCoordinator:
    source = CollectionSource([1, 2, 3])
    head = ChainedOperator(number, f"source {number}", ReadSource(source), None, f"id {number}", False, None)
    vertex = JobVertex(number, (head,), 1, 128, "default")
    return SourceCoordinator(vertex, 0, source, source.create_enumerator(1), spec, watermarks={0: watermark})


def who_reads(*coordinators: SourceCoordinator) -> list[bool]:
    return [bool(splits) for _, splits in JobSources(list(coordinators)).poll(100)]


def test_a_source_ahead_of_its_group_pauses() -> None:
    assert who_reads(coordinator(0, 5_001), coordinator(1, 4_000)) == [False, True]


def test_a_source_within_the_drift_reads_on() -> None:
    assert who_reads(coordinator(0, 5_000), coordinator(1, 4_000)) == [True, True]


def test_other_groups_and_unaligned_sources_do_not_count() -> None:
    other = WatermarkSpec("monotonous", alignment_group="clicks", alignment_drift_ms=1000)
    assert who_reads(coordinator(0, 9_000), coordinator(1, 0, other), coordinator(2, 0, None)) == [True, True, True]


def test_a_source_that_has_ended_holds_nobody_back() -> None:
    ended = coordinator(1, 0)
    ended.enumerator.poll(10)
    assert who_reads(coordinator(0, 9_000), ended) == [True, False]
