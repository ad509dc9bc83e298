"""Printing, collecting and discarding."""

from __future__ import annotations

import pickle

import pytest

from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.connectors.discard import DiscardSink
from funke.engine.connectors.print_sink import PrintSink
from funke.engine.types.driver_messages import CollectedRecords, PrintedText
from funke.engine.types.information.type_catalog import Types
from tests.unit.connectors.sink_harness import SinkHarness


@pytest.mark.parametrize(
    ("identifier", "subtask", "parallelism", "expected"),
    [
        (None, 0, 1, "a\nb\n"),
        ("out", 0, 1, "out> a\nout> b\n"),
        (None, 1, 2, "2> a\n2> b\n"),
        ("out", 0, 2, "out:1> a\nout:1> b\n"),
        ("", 0, 1, "a\nb\n"),
    ],
)
def test_lines_carry_identifier_and_subtask(identifier, subtask, parallelism, expected):
    harness = SinkHarness()
    writer = PrintSink(identifier).create_writer(harness.context(Types.STRING(), subtask, parallelism))
    writer.write(["a", "b"], None)
    assert harness.sent == [PrintedText(expected)]


def test_an_empty_batch_prints_nothing():
    harness = SinkHarness()
    PrintSink().create_writer(harness.context()).write([], None)
    assert harness.sent == []


def test_typed_values_have_flinks_text_form():
    harness = SinkHarness()
    writer = PrintSink().create_writer(harness.context(Types.TUPLE([Types.STRING(), Types.BOOLEAN()])))
    writer.write([("a", True), (None, False)], None)
    assert harness.sent == [PrintedText("(a,true)\n(null,false)\n")]


def test_untyped_values_have_pythons_text_form():
    harness = SinkHarness()
    PrintSink().create_writer(harness.context()).write([("a", True)], None)
    assert harness.sent == [PrintedText("('a', True)\n")]


def test_collected_records_arrive_as_lists_under_their_name():
    harness = SinkHarness()
    sink = pickle.loads(pickle.dumps(CollectSink("result-1")))
    writer = sink.create_writer(harness.context())
    writer.write([1, {"a": 2}], [5, 6])
    writer.write([], None)
    assert harness.sent == [CollectedRecords("result-1", [1, {"a": 2}])]


def test_the_discarding_sink_sends_nothing():
    harness = SinkHarness()
    DiscardSink().create_writer(harness.context()).write([1, 2, 3], None)
    assert harness.sent == []
