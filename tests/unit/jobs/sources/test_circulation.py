"""What goes round in iterations: which checkpoint it belongs to, and when nothing does any more."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.connectors.feedback import FeedbackSource
from funke.engine.connectors.source import ReadOutcome, Split
from funke.engine.graph.operations import ReadSource
from funke.engine.jobs.sources.circulation import Circulation
from funke.engine.jobs.sources.source_coordinator import SourceCoordinator, SourceState
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.operators.source import ReadReport
from funke.engine.planner.chaining import to_job_graph
from funke.engine.runtime.blocks.block_codec import decode
from funke.engine.types.driver_messages import FeedbackRecords
from tests.unit.graph.sample_graphs import GraphBuilder


class Head:
    """The head of an iteration in a job of two slots."""

    def __init__(self) -> None:
        builder = GraphBuilder(2)
        source = FeedbackSource("loop")
        builder.map(builder._add(ReadSource(source), "head", [], parallelism=1))
        vertex = to_job_graph(builder.graph).vertices[0]
        self.coordinator = SourceCoordinator(vertex, 0, source, source.create_enumerator(1))
        self.circulation = Circulation([self.coordinator], range(2))

    def take(self, slot: int, *values: Any) -> None:
        self.circulation.take(slot, FeedbackRecords("loop", list(values), None))

    def hand_out(self) -> list[list[Any]]:
        [command] = self.coordinator.commands(self.coordinator.poll(100))
        return [split.payload[0] for split in command.splits]

    def read(self, splits: int = 0, *left: int) -> ReadReport:
        outcomes = tuple(ReadOutcome(Split("feedback", None), 1) for _ in range(splits))
        return ReadReport(outcomes, left, MIN_WATERMARK, True, splits)

    def cut(self, report: ReadReport) -> None:
        self.coordinator.cut(0, report)
        self.circulation.write_down()
        self.coordinator.end_cut()

    def written(self) -> tuple[list[tuple[list[Any], int]], list[list[Any]]]:
        """What was handed out, with how many records were read of it, and what waited."""
        assert self.circulation.is_written
        [content] = self.circulation.snapshot().values()
        state: SourceState = decode(content)
        handed_out = [(split.payload[0], read) for split, read in state.unfinished.get(0, ())]
        return handed_out, [values for values, _ in state.position]


@pytest.fixture
def head() -> Head:
    return Head()


def test_a_checkpoint_has_what_was_sent_back_before_the_slots_were_captured(head: Head) -> None:
    head.take(0, "read")
    head.take(0, "begun", "left")
    assert head.hand_out() == [["read"], ["begun", "left"]]
    head.coordinator.begin_cut()
    head.take(1, "before the cut")
    head.circulation.capture(0)
    head.take(0, "too late")
    assert not head.circulation.is_written
    assert head.hand_out() == [["before the cut"]]
    head.cut(head.read(1, 1))
    assert not head.circulation.is_written
    head.take(1, "behind the cut")
    head.take(0, "later still")
    assert head.hand_out() == [["too late"], ["behind the cut"], ["later still"]]
    head.circulation.capture(1)
    head.take(1, "at last")
    assert head.written() == ([(["begun", "left"], 1), (["before the cut"], 0)], [["behind the cut"]])
    head.circulation.end_cut()
    assert head.hand_out() == [["at last"]]


def test_a_checkpoint_that_is_given_up_holds_nothing_back(head: Head) -> None:
    head.coordinator.begin_cut()
    head.circulation.capture(0)
    head.take(0, "behind")
    assert head.hand_out() == []
    head.circulation.end_cut()
    assert head.hand_out() == [["behind"]]


def test_a_job_without_iterations_waits_for_no_slot() -> None:
    circulation = Circulation([], range(2))
    circulation.write_down()
    assert circulation.is_written
    assert circulation.snapshot() == {}
    assert not circulation.begin_probe()


def test_it_is_over_when_a_probe_comes_through_and_nothing_has_come_back(head: Head) -> None:
    assert head.circulation.begin_probe()
    assert not head.circulation.begin_probe()
    head.circulation.end_probe(0)
    assert not head.coordinator.is_over
    head.circulation.end_probe(1)
    assert head.coordinator.is_over
    assert not head.circulation.begin_probe()


def test_what_comes_back_meanwhile_goes_round_before_the_next_probe(head: Head) -> None:
    assert head.circulation.begin_probe()
    head.take(1, "again")
    for slot in range(2):
        head.circulation.end_probe(slot)
    assert not head.coordinator.is_over
    assert not head.circulation.begin_probe()
    assert head.hand_out() == [["again"]]
    assert not head.circulation.begin_probe()
    head.coordinator.accept(0, head.read(1))
    assert head.circulation.begin_probe()


def test_a_timer_that_sends_something_back_opens_the_loop_again(head: Head) -> None:
    head.circulation.begin_probe()
    for slot in range(2):
        head.circulation.end_probe(slot)
    head.take(0, "after all")
    assert not head.coordinator.is_over
    assert head.hand_out() == [["after all"]]
