"""A slot as a process, without Spark: deliveries, repetitions, breaks, and its end."""

from __future__ import annotations

import contextlib
import os
import pickle
import platform
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.errors import ConfigurationError, UntrustedError
from funke.engine.graph.operations import WriteSink
from funke.engine.graph.partitioners import Rebalance
from funke.engine.jobs.submission.job_code import pack_plan
from funke.engine.operators.block_parts import RecordsPart
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import Plan, to_plan
from funke.engine.runtime.blocks.block_codec import decode, encode_block
from funke.engine.runtime.blocks.frames import RESULT, Frame, FrameSocket
from funke.engine.runtime.epochs.delivery import connect, consumed_at, deliver, end_slots, start_slot
from funke.engine.runtime.epochs.results import Failure, SubtaskReport
from funke.engine.runtime.monitoring.flame_samples import SLOT_LOOP, WAITING, SampleCommand
from funke.engine.runtime.slots.fork_server import open_fork_server
from funke.engine.runtime.slots.process_ties import children_of
from funke.engine.runtime.slots.slot import Delivery, EpochHeader
from funke.engine.runtime.slots.slot_address import SlotAddress
from funke.engine.runtime.slots.slot_calls import sample
from funke.engine.runtime.slots.slot_process import main
from funke.engine.runtime.slots.worker_setup import JobDeployment
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.trust.credentials import Credentials
from funke.engine.trust.peers import listen_at
from funke.engine.types.driver_messages import CollectedRecords
from tests.harness.certificates import own_tls
from tests.harness.stranger import give_away
from tests.unit.graph.sample_graphs import GraphBuilder

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
SECRET = Credentials(b"s" * 32)


def counting_plan(marker: str) -> Plan:
    class Counting:
        """Numbers its values; rejects zero."""

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
    counted = builder.map(builder.source(), "count", function=Counting(), partitioner=Rebalance())
    builder._add(WriteSink(Closing("out")), "out", [counted])
    return to_plan(to_job_graph(builder.graph))


class SlotUnderTest:
    """A running slot and what a delivery task says to it."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker
        self.plan = counting_plan(str(marker))
        self.exchange = self.plan.graph.edges[0].id
        deployment = JobDeployment("job", "job", 0, SECRET, pack_plan(self.plan))
        self.address: SlotAddress = start_slot(0, deployment)

    def frame(self, *values: int) -> Frame:
        return Frame(0, self.exchange, 0, encode_block([RecordsPart(list(values), None)]))

    def deliver(self, epoch: int, *values: int, is_final: bool = False) -> list[Any]:
        """Everything that comes back, as objects."""
        header = EpochHeader(epoch, is_final)
        answers = deliver(
            self.address, SECRET, Delivery(header, 1), consumed_at(self.plan, 1), iter([self.frame(*values)])
        )
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
    messages = [answer for answer in answers if isinstance(answer, CollectedRecords)]
    return [value for message in messages for value in message.values]


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


def test_a_delivery_of_an_earlier_epoch_is_rejected(slot: SlotUnderTest) -> None:
    slot.deliver(1, 1)
    slot.deliver(2, 1)
    (failure,) = slot.deliver(1, 1)
    assert isinstance(failure, Failure) and failure.is_slot_lost
    assert collected(slot.deliver(3, 1)) == [(3, 10)], "a rejection changes nothing"


def test_a_failing_function_is_reported_and_spoils_the_slot(slot: SlotUnderTest) -> None:
    (failure,) = [answer for answer in slot.deliver(1, 1, 0) if isinstance(answer, Failure)]
    assert (failure.location.name, failure.error_type) == ("count", "ZeroDivisionError")
    (rejection,) = slot.deliver(2, 1)
    assert rejection.is_slot_lost


def test_a_delivery_that_breaks_off_spoils_the_slot(slot: SlotUnderTest) -> None:
    connection: FrameSocket = connect(slot.address, SECRET, Delivery(EpochHeader(1), 1))
    connection.send(slot.frame(1))
    connection.close()
    (rejection,) = slot.deliver(1, 1)
    assert rejection.is_slot_lost and "broke off" in rejection.message


def test_frames_for_others_pass_by(slot: SlotUnderTest) -> None:
    later = Frame(0, slot.exchange + 1, 0, b"for another level")
    frames = iter([later, slot.frame(1)])
    answers = list(deliver(slot.address, SECRET, Delivery(EpochHeader(1), 1), consumed_at(slot.plan, 1), frames))
    assert later in answers


def test_nobody_talks_to_a_slot_without_its_secret(slot: SlotUnderTest) -> None:
    with pytest.raises(OSError):
        connect(slot.address, Credentials(b"x" * 32), "end")
    assert slot.is_alive
    assert collected(slot.deliver(1, 1)) == [(1, 10)]


def test_a_slot_shows_what_it_does_to_its_driver_alone(slot: SlotUnderTest) -> None:
    command = SampleCommand(samples=3, delay_ms=5, depth=10)
    stacks = sample(slot.address, SECRET, command)
    # It waits, or has only just been loaded.
    assert {(each.vertex_id, each.frames) for each in stacks} <= {(None, (WAITING,)), (None, (SLOT_LOOP,))}
    assert sum(each.times for each in stacks) == 3
    with pytest.raises((UntrustedError, OSError)):
        sample(slot.address, Credentials(b"x" * 32), command)
    assert collected(slot.deliver(1, 5)) == [(1, 2)], "it works as before"


def test_silent_callers_keep_nobody_waiting(slot: SlotUnderTest) -> None:
    assert slot.address.port is not None
    strangers = [socket.create_connection((slot.address.host, slot.address.port)) for _ in range(100)]
    started = time.monotonic()
    over_tcp = replace(slot.address, path="/nowhere")
    answers = deliver(over_tcp, SECRET, Delivery(EpochHeader(1), 1), consumed_at(slot.plan, 1), iter([slot.frame(1)]))
    assert collected([decode(frame.payload) for frame in answers]) == [(1, 10)]
    assert time.monotonic() - started < 8, "less than one of them may be silent"
    for stranger in strangers:
        stranger.close()


def test_a_stranger_cannot_make_a_slot_read_more_than_a_handshake(slot: SlotUnderTest) -> None:
    assert slot.address.port is not None
    with socket.create_connection((slot.address.host, slot.address.port)) as stranger:
        stranger.settimeout(10)
        sent = 0
        with pytest.raises(OSError):
            # As before: a length, then as much as that.
            stranger.sendall((1 << 40).to_bytes(8, "big"))
            while sent < 1 << 28:
                sent += stranger.send(b"x" * (1 << 20))
        assert sent < 1 << 26, "what the system itself had room for"
    assert collected(slot.deliver(1, 1)) == [(1, 10)]


def test_from_host_to_host_a_slot_speaks_tls_alone(tmp_path: Path) -> None:
    credentials = Credentials(SECRET.secret, own_tls(tmp_path))
    plan = counting_plan(str(tmp_path / "closed"))
    address = start_slot(0, JobDeployment("job", "job", 0, credentials, pack_plan(plan)))
    over_tcp = replace(address, path="/nowhere")
    frame = Frame(0, plan.graph.edges[0].id, 0, encode_block([RecordsPart([1] * 100_000, None)]))
    answers = deliver(over_tcp, credentials, Delivery(EpochHeader(1), 1), consumed_at(plan, 1), iter([frame] * 5))
    assert len(collected([decode(frame.payload) for frame in answers])) == 500_000
    with socket.create_connection((address.host, address.port or 0), 10) as plain:
        plain.sendall(b"x" * 64)
        received = b""
        with contextlib.suppress(ConnectionError):
            while more := plain.recv(100):
                received += more
    assert len(received) < 32, "nothing but an alert of TLS"
    assert end_slots([over_tcp], credentials) == []


def test_a_host_without_the_certificates_starts_no_slot(tmp_path: Path) -> None:
    tls = own_tls(tmp_path)
    (tmp_path / "trust.pem").unlink()
    with pytest.raises(ConfigurationError, match=r"truststore: '.*/trust.pem' cannot be read on host"):
        start_slot(0, JobDeployment("job", "job", 0, Credentials(SECRET.secret, tls), b""))


@pytest.mark.parametrize("kind", ["a socket that cannot prove anything", "a link"])
def test_a_strangers_socket_instead_of_a_slots_is_not_trusted(slot: SlotUnderTest, kind: str, tmp_path: Path) -> None:
    """The driver of a cluster looks for a path of another host's on its own: whoever put something there is no slot."""
    planted = tmp_path / "s"
    with listen_at(str(tmp_path / "real")) as listener:
        threading.Thread(target=answer_with_a_pickle, args=(listener,), daemon=True).start()
        if kind == "a link":
            planted.symlink_to(tmp_path / "real")
        else:
            os.rename(tmp_path / "real", planted)
        answers = deliver(
            replace(slot.address, path=str(planted), port=None),
            SECRET,
            Delivery(EpochHeader(1), 1),
            consumed_at(slot.plan, 1),
            iter([slot.frame(1)]),
        )
        (failure,) = [decode(frame.payload) for frame in answers]
    assert isinstance(failure, Failure) and failure.is_slot_lost
    assert not Boom.was_loaded


class Boom:
    """What must never be unpickled."""

    was_loaded = False

    def __reduce__(self) -> Any:
        return setattr, (Boom, "was_loaded", True)


def answer_with_a_pickle(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection, _ = listener.accept()
        frames = FrameSocket(connection)
        connection.sendall(b"n" * 32)
        frames.send(Frame(0, RESULT, 0, pickle.dumps(Boom())))
        frames.send_end()


def test_on_embedded_spark_no_port_is_opened(tmp_path: Path) -> None:
    plan = counting_plan(str(tmp_path / "closed"))
    host = open_fork_server()
    address = start_slot(0, JobDeployment("job", "job", 0, SECRET, pack_plan(plan), driver_host=host))
    try:
        assert address.port is None
        assert address.path.startswith(f"{host.run_folder}/slot-")
        sockets = {os.readlink(link) for link in Path(f"/proc/{address.pid}/fd").iterdir() if link.is_symlink()}
        inodes = {name[8:-1] for name in sockets if name.startswith("socket:")}
        tables = Path(f"/proc/{address.pid}/net/tcp").read_text() + Path(f"/proc/{address.pid}/net/tcp6").read_text()
        assert not [line for line in tables.splitlines() if set(line.split()) & inodes]
    finally:
        assert end_slots([address], SECRET) == []


def test_what_a_function_has_started_ends_also_when_the_slots_watcher_is_killed() -> None:
    builder = GraphBuilder(parallelism=1)
    started = builder.map(
        builder.source(),
        function=lambda value: subprocess.Popen(["sleep", "60"], start_new_session=True).pid,
        partitioner=Rebalance(),
    )
    builder._add(WriteSink(CollectSink("out")), "out", [started])
    plan = to_plan(to_job_graph(builder.graph))
    address = start_slot(0, JobDeployment("job", "job", 0, SECRET, pack_plan(plan), driver_host=open_fork_server()))
    frame = Frame(0, plan.graph.edges[0].id, 0, encode_block([RecordsPart([1], None)]))
    answers = deliver(address, SECRET, Delivery(EpochHeader(1), 1), consumed_at(plan, 1), iter([frame]))
    (sleeper,) = collected([decode(answer.payload) for answer in answers])
    assert Path(f"/proc/{sleeper}").exists()
    slots = children_of(address.pid)
    os.kill(address.pid, signal.SIGKILL)
    assert wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in (sleeper, *slots)))
    end_slots([address], SECRET)


def test_nothing_is_left_of_a_restore_that_failed(tmp_path: Path) -> None:
    builder = GraphBuilder(parallelism=1)
    builder.sink(builder.reduce(builder.source()))
    plan = to_plan(to_job_graph(builder.graph))
    (operator_id,) = {
        spec.operator_id for vertex in plan.graph.vertices for spec in vertex.operators if spec.name == "Reduce"
    }
    damaged = SnapshotHandle((operator_id,), 0, 1, str(tmp_path / "missing"), 3)
    backend = BackendChoice("rocksdb", local_directories=(str(tmp_path / "fast"),))
    deployment = JobDeployment("job", "job", 0, SECRET, pack_plan(plan), restore=(damaged,), backend=backend)
    address = start_slot(0, deployment)
    answers = deliver(address, SECRET, Delivery(EpochHeader(1), 1), consumed_at(plan, 1), iter([]))
    (failure,) = [decode(frame.payload) for frame in answers]
    assert "missing" in failure.message
    assert end_slots([address], SECRET) == []
    assert list((tmp_path / "fast").iterdir()) == []
    assert not os.path.exists(os.path.dirname(address.path))


def test_a_launch_message_serves_once(slot: SlotUnderTest, tmp_path: Path) -> None:
    (tmp_path / "launch").write_bytes(b"")
    for expected in (EOFError, FileNotFoundError):  # empty, then taken
        with pytest.raises(expected):
            main(str(tmp_path / "launch"), ())


def test_a_strangers_launch_message_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = tmp_path / "launch"
    launch.write_bytes(pickle.dumps(Boom()))
    give_away(launch, monkeypatch)
    with pytest.raises(UntrustedError):
        main(str(launch), ())
    assert not Boom.was_loaded


def test_functions_are_closed_when_the_slot_is_asked_to_end(slot: SlotUnderTest) -> None:
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


_IN_HEAP = """
import numpy as np
from funke.engine.runtime.slots.slot_process import keep_large_blocks_apart

{call}
# From now on glibc by itself has blocks as large as this one in the heap.
np.empty(16 << 20, np.uint8)
block = np.empty(8 << 20, np.uint8)
heaps = [line.split()[0].split("-") for line in open("/proc/self/maps") if "[heap]" in line]
print(any(int(begin, 16) <= block.ctypes.data < int(end, 16) for begin, end in heaps))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such threshold")
@pytest.mark.parametrize("call", ["", "keep_large_blocks_apart()"])
def test_large_blocks_are_outside_of_the_heap(call: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", _IN_HEAP.format(call=call)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{not call}\n"
