"""How long records wait for others: not at all, for some time, or until a block is full; by operator."""

from __future__ import annotations

import time
from collections import defaultdict

import pytest

from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.connectors.sequence import SequenceSource
from funke.engine.graph.job_graph import JobEdge
from funke.engine.graph.operations import ReadSource, WriteSink
from funke.engine.graph.partitioners import Hash
from funke.engine.operators.block_parts import Part, RecordsPart
from funke.engine.runtime.pipelined.slot_loop import SlotLoop
from tests.harness.stream_threads import run_stream
from tests.unit.graph.sample_graphs import GraphBuilder

RECORDS = 200


def slow(number: int) -> int:
    """So slow that a source reads a few records in a turn."""
    time.sleep(0.001)
    return number


# The records of each block, by the source that it comes from and the channel.
Blocks = dict[str, dict[tuple[int, int], list[int]]]


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> Blocks:
    """The blocks that slots send."""
    blocks_by_name: Blocks = defaultdict(lambda: defaultdict(list))
    carry = SlotLoop._carry

    def noted(self: SlotLoop, exchange: JobEdge, sender: int, receiver: int, parts: list[Part]) -> int:
        name = self._plan.by_id[exchange.source_vertex].operators[-1].name
        records = sum(len(part.values) for part in parts if isinstance(part, RecordsPart))
        if records:
            blocks_by_name[name][sender, receiver].append(records)
        return carry(self, exchange, sender, receiver, parts)

    monkeypatch.setattr(SlotLoop, "_carry", noted)
    return blocks_by_name


def run(job_timeout_ms: int, **timeouts_ms: int | None) -> None:
    """Two maps with timeouts of their own, or that of the job; all records must arrive."""
    builder = GraphBuilder(2)
    maps = []
    for name, timeout_ms in timeouts_ms.items():
        numbers = builder._add(ReadSource(SequenceSource(0, RECORDS - 1)), "numbers", [])
        maps.append(builder.map(numbers, name, slow, buffer_timeout_ms=timeout_ms))
    builder._add(WriteSink(CollectSink("out")), "out", maps, Hash(lambda number: number))
    collected = run_stream(builder.graph, buffer_timeout_ms=job_timeout_ms).collected
    assert sorted(collected) == sorted(2 * list(range(RECORDS)))


def test_blocks_leave_at_once_or_when_they_are_full(blocks: Blocks) -> None:
    run(-1, hasty=0, patient=None)
    assert [len(sent) for sent in blocks["patient"].values()] == [1] * 4, "one for each channel, at the end"
    assert max(map(len, blocks["hasty"].values())) > 1


def test_operators_without_a_timeout_have_that_of_the_job(blocks: Blocks) -> None:
    run(0, hasty=None, patient=60_000)
    hasty, patient = (sum(map(len, blocks[name].values())) for name in ("hasty", "patient"))
    assert hasty > patient
