"""A slot as a process, without Spark: deliveries, repetitions, breaks, and its end."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.graph.operations import WriteSink
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.segments import Plan, to_plan
from funke.engine.runtime.block_codec import decode, encode
from funke.engine.runtime.delivery import connect, consumed_at, deliver, end_slots, start_slot
from funke.engine.runtime.frames import Frame, FrameSocket
from funke.engine.runtime.results import DriverMessage, Failure, SubtaskReport
from funke.engine.runtime.slot import EpochHeader
from funke.engine.runtime.slot_process import SlotAddress
from funke.engine.runtime.worker_setup import JobPackage, pack_code
from tests.unit.graph.sample_graphs import GraphBuilder

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
SECRET = b"s" * 32


def counting_plan(marker: str) -> Plan:
    class Counting:
        """Numbers its values; refuses zero."""

        def __init__(self) -> None:
            self.count = 0

        def __call__(self, value: int) -> Any:
            self.count += 1
            return self.count, 10 // value

    class Closing(CollectSink):
        """Leaves a mark when it is closed."""

        def create_writer(self, context: Any, restored: Any = None) -> Any:
            writer = super().create_writer(context, restored)
            writer.close = lambda: open(marker, "w").close()
            return writer

    builder = GraphBuilder(parallelism=1)
    counted = builder.map(builder.source(), "count", function=Counting())
    builder._add(WriteSink(Closing("out")), "out", [counted])
    return to_plan(to_job_graph(builder.graph))


class SlotUnderTest:
    """A running slot and what a delivery task says to it."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker
        self.plan = counting_plan(str(marker))
        self.exchange = self.plan.exchanges[0].id
        package = JobPackage("job", "job", 0, SECRET, pack_code(self.plan))
        self.address: SlotAddress = start_slot(0, package)

    def frame(self, *values: int) -> Frame:
        return Frame(0, self.exchange, 0, encode([("r", list(values), None)]))

    def deliver(self, epoch: int, *values: int, is_final: bool = False) -> list[Any]:
        """Everything that comes back, as objects."""
        header = EpochHeader(epoch, is_final)
        answers = deliver(self.address, SECRET, header, 1, consumed_at(self.plan, 1), iter([self.frame(*values)]))
        return [decode(frame.payload) for frame in answers]

    @property
    def is_alive(self) -> bool:
        try:
            return Path(f"/proc/{self.address.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[SlotUnderTest]:
    started = SlotUnderTest(tmp_path / "closed")
    yield started
    end_slots([started.address], SECRET)
    assert wait_until(lambda: not started.is_alive)


def wait_until(condition: Any, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.02)
    return bool(condition())


def collected(answers: list[Any]) -> list[Any]:
    messages = [answer for answer in answers if isinstance(answer, DriverMessage)]
    return [value for message in messages for value in message.payload]


def test_fields_live_from_epoch_to_epoch(slot: SlotUnderTest) -> None:
    assert collected(slot.deliver(1, 1, 2)) == [(1, 10), (2, 5)]
    answers = slot.deliver(2, 5)
    assert collected(answers) == [(3, 2)]
    (report,) = [answer for answer in answers if isinstance(answer, SubtaskReport)]
    assert report.records_in == 3


def test_a_repeated_delivery_gets_the_same_answer_and_changes_nothing(slot: SlotUnderTest) -> None:
    first = slot.deliver(1, 1, 2)
    assert slot.deliver(1, 1, 2) == first
    assert collected(slot.deliver(2, 1)) == [(3, 10)]


def test_a_delivery_of_an_earlier_epoch_is_refused(slot: SlotUnderTest) -> None:
    slot.deliver(1, 1)
    slot.deliver(2, 1)
    (failure,) = slot.deliver(1, 1)
    assert isinstance(failure, Failure) and failure.is_slot_lost
    assert collected(slot.deliver(3, 1)) == [(3, 10)], "a refusal changes nothing"


def test_a_failing_function_is_reported_and_spoils_the_slot(slot: SlotUnderTest) -> None:
    (failure,) = [answer for answer in slot.deliver(1, 1, 0) if isinstance(answer, Failure)]
    assert (failure.operator_name, failure.error_type) == ("count", "ZeroDivisionError")
    (refusal,) = slot.deliver(2, 1)
    assert refusal.is_slot_lost


def test_a_delivery_that_breaks_off_spoils_the_slot(slot: SlotUnderTest) -> None:
    connection: FrameSocket = connect(slot.address, SECRET, (EpochHeader(1), 1))
    connection.send(slot.frame(1))
    connection.close()
    (refusal,) = slot.deliver(1, 1)
    assert refusal.is_slot_lost and "broke off" in refusal.message


def test_frames_for_others_pass_by(slot: SlotUnderTest) -> None:
    later = Frame(0, slot.exchange + 1, 0, b"for another level")
    frames = iter([later, slot.frame(1)])
    answers = list(deliver(slot.address, SECRET, EpochHeader(1), 1, consumed_at(slot.plan, 1), frames))
    assert later in answers


def test_nobody_talks_to_a_slot_without_its_secret(slot: SlotUnderTest) -> None:
    stranger = connect(slot.address, b"x" * 32, "end")
    with pytest.raises(OSError):
        stranger.receive()
    assert slot.is_alive
    assert collected(slot.deliver(1, 1)) == [(1, 10)]


def test_functions_are_closed_when_the_slot_is_told_to_end(slot: SlotUnderTest) -> None:
    slot.deliver(1, 1)
    assert not slot.marker.exists()
    assert end_slots([slot.address], SECRET) == []
    assert slot.marker.exists()
    assert not os.path.exists(os.path.dirname(slot.address.path))


def test_a_slot_that_is_gone_is_reported_and_tidied_up(slot: SlotUnderTest) -> None:
    slot.deliver(1, 1)
    os.kill(slot.address.pid, 9)
    assert wait_until(lambda: not slot.is_alive)
    (failure,) = slot.deliver(2, 1)
    assert failure.is_slot_lost and str(slot.address.pid) in failure.message
    assert end_slots([slot.address], SECRET) == [slot.address]
    assert not os.path.exists(os.path.dirname(slot.address.path))
