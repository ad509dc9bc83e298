"""Runs a streaming job without Spark: slots are threads of the test, connected by pairs of sockets."""

from __future__ import annotations

import contextlib
import select
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any
from uuid import uuid4

from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.attempts.attempt import Attempt
from funke.engine.jobs.attempts.job_executions import JobExecutions
from funke.engine.jobs.attempts.job_sinks import JobCommits
from funke.engine.jobs.attempts.stream_coordinator import StreamCoordinator
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator, CheckpointedJob
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoints.checkpoint_store import CheckpointStore
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint
from funke.engine.jobs.sources.job_sources import JobSources
from funke.engine.jobs.submission.job_code import pack_plan
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import Plan, to_plan
from funke.engine.runtime.blocks.block_codec import decode, encode
from funke.engine.runtime.monitoring.flame_samples import SampleCommand, SampledStack, SampledThread, take_samples
from funke.engine.runtime.pipelined.connection import MESSAGE, Connection
from funke.engine.runtime.pipelined.messages import Ready
from funke.engine.runtime.pipelined.network_settings import NetworkSettings
from funke.engine.runtime.pipelined.slot_loop import SlotLoop
from funke.engine.runtime.slots.worker_setup import ControlAddress, JobDeployment, unpack
from funke.engine.runtime.snapshots.checkpoint_command import AlignmentStatistics, CheckpointCommand, SnapshotAck
from funke.engine.runtime.snapshots.snapshot_taking import SnapshotTaker, WriteSnapshots
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.trust.credentials import Credentials

SocketPair = Callable[[], tuple[socket.socket, socket.socket]]

__all__ = ["StreamRun", "ThreadRunner", "give_up", "run_stream", "write_at_once"]


class ThreadRunner:
    """What a coordinator needs of its slots, with threads in their place."""

    def __init__(
        self, plan: Plan, deployment: JobDeployment, around: Callable[[Callable[[], None]], None], pair: SocketPair
    ) -> None:
        self._plan = plan
        self._ends: dict[int, Connection] = {}
        self._waking, self._woken = socket.socketpair()
        self.threads: list[threading.Thread] = []
        folder = tempfile.mkdtemp()
        loops = [SlotLoop(slot, unpack(deployment), deployment, folder) for slot in range(plan.slots)]
        self._loops = loops
        peers: dict[int, dict[int, socket.socket]] = {slot: {} for slot in range(plan.slots)}
        for left, right in combinations(range(plan.slots), 2):
            peers[left][right], peers[right][left] = pair()
        for slot, loop in enumerate(loops):
            own, other = pair()
            self._ends[slot] = Connection(own)
            thread = threading.Thread(
                target=_run, args=(loop, peers[slot], other, around), name=f"slot {slot}", daemon=True
            )
            self.threads.append(thread)
        for thread in self.threads:
            thread.start()

    def sample(self, slot: int, command: SampleCommand) -> tuple[SampledStack, ...]:
        thread = self.threads[slot]
        assert thread.ident is not None and thread.native_id is not None
        return take_samples(command, SampledThread(thread.ident, thread.native_id, self._loops[slot].busy_vertex))

    def wake(self) -> None:
        with contextlib.suppress(OSError):  # the job has ended
            self._woken.send(b"\0")

    def send(self, slot: int, message: Any) -> None:
        self._ends[slot].send(MESSAGE, encode(message))

    def send_all(self, message: Any) -> None:
        for slot in self._ends:
            self.send(slot, message)

    def flush(self) -> None:
        for connection in self._ends.values():
            connection.flush()

    def receive(self, wait_s: float) -> Iterator[tuple[int, Any]]:
        self.flush()
        ready = select.select([*self._ends.values(), self._waking], [], [], wait_s)[0]
        if self._waking in ready:
            self._waking.recv(1 << 10)
        for slot, connection in self._ends.items():
            if connection in ready:
                for packet in connection.receive():
                    message = decode(packet.payload)
                    if not isinstance(message, Ready):
                        yield slot, message

    def close(self) -> None:
        for connection in self._ends.values():
            connection.shut_down()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive(), "a slot does not end"
        for connection in self._ends.values():
            connection.close()

    def release(self) -> None:
        """Nobody is left who could wake it."""
        self._waking.close()
        self._woken.close()


def _run(loop: SlotLoop, peers: dict[int, socket.socket], driver: socket.socket, around: Any) -> None:
    def run() -> None:
        try:
            loop.open()
            loop.connect(peers)
            loop.run(driver)
        except ConnectionError:
            pass
        except BaseException as error:
            loop.fail(error)
        finally:
            loop.close()
            for own in (driver, *peers.values()):
                own.close()

    around(run)


@dataclass
class StreamRun:
    """What came of a job."""

    collected: list[Any]
    coordinator: StreamCoordinator
    checkpoint_coordinator: CheckpointCoordinator


def run_stream(
    graph: StreamGraph,
    network: NetworkSettings | None = None,
    settings: CheckpointSettings | None = None,
    start: Checkpoint | None = None,
    around: Callable[[Callable[[], None]], None] = lambda run: run(),
    disturb: Callable[[CheckpointCoordinator], None] = lambda checkpoint_coordinator: None,
    pair: SocketPair = socket.socketpair,
    on_start: Callable[[StreamCoordinator], None] = lambda coordinator: None,
    number: int = 0,
    backend: BackendChoice | None = None,
    buffer_timeout_ms: int = 100,
) -> StreamRun:
    """Runs a job's attempt to its end, from a checkpoint if there is one; `disturb` runs beside it."""
    job_graph = to_job_graph(graph)
    plan = to_plan(job_graph)
    deployment = JobDeployment(
        "job" if number else uuid4().hex,
        "job",
        number,
        Credentials(b"s" * 32),
        pack_plan(plan),
        control=ControlAddress("nowhere"),
        network=network or NetworkSettings(),
        backend=backend or BackendChoice(),
        restore=start.located() if start is not None else (),
        buffer_timeout_ms=buffer_timeout_ms,
    )
    sources = JobSources(list(JobSources.of_plan(plan, None, start, True)))  # type: ignore[arg-type]
    settings = settings or CheckpointSettings()
    store = CheckpointStore(tempfile.mkdtemp(), settings.retained)
    store.make_folders()
    job = CheckpointedJob("job", fingerprint=plan.fingerprint)
    checkpoint_coordinator = CheckpointCoordinator(job, settings, store, store.highest_id())
    collected: list[Any] = []
    commits = JobCommits(job_graph, lambda: None, 0)  # type: ignore[arg-type,return-value]
    if start is not None:
        commits.recover(start)
    runner: Any = ThreadRunner(plan, deployment, around, pair)
    attempt = Attempt(
        plan,
        sources,
        checkpoint_coordinator,
        commits.commit,
        lambda records: collected.extend(records.values),
        JobExecutions(job_graph, plan),
    )
    coordinator = StreamCoordinator(attempt, runner)
    on_start(coordinator)
    disturbing = threading.Thread(target=disturb, args=(checkpoint_coordinator,), daemon=True)
    disturbing.start()
    try:
        coordinator.run()
    finally:
        runner.close()
        checkpoint_coordinator.answer_requests()
    disturbing.join(10)
    runner.release()
    return StreamRun(collected, coordinator, checkpoint_coordinator)


def write_at_once(
    taker: SnapshotTaker,
    command: CheckpointCommand,
    write: WriteSnapshots,
    stall_ms: float,
    alignments: tuple[AlignmentStatistics, ...] = (),
) -> None:
    """In place of `SnapshotTaker.start`: threads do not fork."""
    ack = SnapshotAck(command.checkpoint_id, taker._slot, folder=command.folder, alignments=alignments)
    try:
        taker.acknowledge(replace(ack, **write(command.folder)._asdict()))
    except OSError as error:
        taker.acknowledge(replace(ack, failure=str(error)))


def give_up(checkpoint_coordinator: CheckpointCoordinator) -> None:
    """For a second every checkpoint that is under way has taken too long."""
    end = time.monotonic() + 1
    while time.monotonic() < end:
        for pending in list(checkpoint_coordinator._pending.values()):
            pending.started -= 1_000_000
        time.sleep(0.002)
