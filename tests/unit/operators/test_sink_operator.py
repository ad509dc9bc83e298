"""The sink operator drives one writer: batches, the end of epochs, commits, wake-ups, restarts."""

from __future__ import annotations

from typing import Any

from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext
from funke.engine.graph.operations import WriteSink
from funke.engine.types import Types
from funke.engine.types.driver_messages import PreparedCommits
from tests.harness.operator_harness import OperatorHarness


class Writer(SinkWriter):
    def __init__(self, context: WriterContext, restored: Any) -> None:
        self.context = context
        self.calls: list[Any] = [("restored", restored)] if restored is not None else []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.calls.append(("write", values, timestamps))

    def flush(self, end_of_input: bool) -> None:
        self.calls.append(("flush", end_of_input))

    def prepare_commit(self) -> list[Any]:
        self.calls.append("prepare_commit")
        return ["file-1"] if any(call[0] == "write" for call in self.calls) else []

    def snapshot(self) -> Any:
        return "state"

    def next_wakeup_ms(self) -> int | None:
        return 50

    def on_processing_time(self, now_ms: int) -> None:
        self.calls.append(("time", now_ms))

    def close(self) -> None:
        self.calls.append("close")


class Recording(Sink):
    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        self.writer = Writer(context, restored)
        return self.writer


def test_the_life_of_a_writer() -> None:
    sink = Recording()
    harness = OperatorHarness(WriteSink(sink), parallelism=3, subtask=2, input_type=Types.INT())
    context = sink.writer.context
    assert (context.job_id, context.subtask, context.parallelism, context.input_type) == ("job-1", 2, 3, Types.INT())
    harness.process_batch([1, 2], [10, 20])
    harness.process_batch([3])
    harness.watermark(5)
    harness.end_epoch()
    assert sink.writer.calls == [("write", [1, 2], [10, 20]), ("write", [3], None), ("flush", False)]
    sink.writer.calls = [("write", [], None)]
    harness.end_input()
    harness.end_epoch()
    harness.close()
    harness.close()
    assert sink.writer.calls[1:] == [("flush", True), "prepare_commit", "close"]
    assert harness.sent_to_driver == [PreparedCommits("op-1", ["file-1"])]
    metrics = harness.operator.metrics()
    assert metrics.pop("currentSendTime") >= 0
    assert metrics == {"numRecordsIn": 3, "numRecordsSend": 3, "currentInputWatermark": 2**63 - 1}


def test_a_sink_passes_the_clock_on() -> None:
    sink = Recording()
    harness = OperatorHarness(WriteSink(sink))
    assert context_time(sink, harness) == 7
    harness.set_processing_time(49)
    harness.set_processing_time(50)
    assert sink.writer.calls == [("time", 50)]


def context_time(sink: Recording, harness: OperatorHarness) -> int:
    harness.clock.set(7)
    return sink.writer.context.now_ms()


def test_a_writer_without_output_commits_nothing() -> None:
    harness = OperatorHarness(WriteSink(Recording()))
    harness.end_input()
    assert harness.sent_to_driver == []


def test_a_checkpoint_commits_what_was_written_and_keeps_the_writers_state() -> None:
    sink = Recording()
    harness = OperatorHarness(WriteSink(sink))
    harness.process(1)
    snapshot = harness.snapshot()
    assert harness.sent_to_driver == [PreparedCommits("op-1", ["file-1"])]
    again = Recording()
    OperatorHarness(WriteSink(again), restored=[snapshot])
    assert again.writer.calls == [("restored", "state")]
